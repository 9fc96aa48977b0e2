#include "tests/image.h"

#include "core/format/pte_schema.h"
#include "tests/tap.h"

const float image_weight[6] = { 1, 2, 3, 4, 5, 6 }, image_state[2] = { 10, 20 };
const uint8_t image_bytes[3] = { 7, 8, 9 }, image_blob[20] = "a delegate's blob", image_named[8] = "named!!";
static const uint8_t spec[4] = { 1, 0, 2, 3 };

static struct pte_tensor *tensor(struct arena *a, enum dtype t, enum pte_storage storage, int rank, const int32_t *size)
{
	struct pte_tensor *x = arena_alloc(a, sizeof *x);

	x->dtype = t;
	x->storage = storage;
	x->rank = rank;
	x->bytes = dtype_bytes(t);
	for (int d = 0; d < rank; d++) {
		x->size[d] = size[d];
		x->dim_order[d] = (uint8_t)d;
		x->bytes *= (size_t)size[d];
	}
	return x;
}
#define SIZES(...) N(((int32_t[]){ __VA_ARGS__ })), (int32_t[]){ __VA_ARGS__ }

static struct pte_tensor *planned(struct pte_tensor *x, uint32_t id, uint64_t offset)
{
	x->has_allocation = true;
	x->memory_id = id;
	x->memory_offset = offset;
	return x;
}

static struct pte_tensor *stored(struct pte_tensor *x, uint32_t index)
{
	x->data_index = index;
	return x;
}

static struct pte_tensor *external(struct pte_tensor *x, const char *name)
{
	x->has_extra = true;
	x->name = name;
	x->location = LOCATION_EXTERNAL;
	return x;
}

static void make_values(struct arena *a, struct pte_value *v)
{
	static int32_t ints[] = { V_SEVEN, V_MINUS }, tensors[] = { V_WEIGHT, V_DYNAMIC };
	static int32_t optionals[] = { -1, V_NONE, V_DYNAMIC };
	static double doubles[] = { 1.5, -0.0 };
	static uint8_t bools[] = { 1, 0, 1 };
	const struct pte_value made[V_COUNT] = {
		[V_WEIGHT] = { PTE_TENSOR, .tensor = stored(tensor(a, DTYPE_F32, PTE_CONSTANT, SIZES(2, 3)), 1) },
		[V_BYTES] = { PTE_TENSOR, .tensor = stored(tensor(a, DTYPE_U8, PTE_CONSTANT, SIZES(3)), 2) },
		[V_STATE] = { PTE_TENSOR, .tensor = planned(stored(tensor(a, DTYPE_F32, PTE_MUTABLE, SIZES(2)), 1), 1,
							    0) },
		[V_DYNAMIC] = { PTE_TENSOR, .tensor = planned(tensor(a, DTYPE_F32, PTE_PLANNED, SIZES(2, 3)), 1, 16) },
		[V_BARE] = { PTE_TENSOR, .tensor = tensor(a, DTYPE_I64, PTE_UNPLANNED, SIZES(5)) },
		[V_EXTERNAL] = { PTE_TENSOR, .tensor = external(tensor(a, DTYPE_F32, PTE_EXTERNAL, SIZES(3, 2)),
								"fc.weight") },
		[V_EXTERNAL_STATE] = { PTE_TENSOR,
			.tensor = planned(external(tensor(a, DTYPE_F32, PTE_EXTERNAL_MUTABLE, SIZES(4)), "fc.state"),
					  1, 48) },
		[V_SEVEN] = { PTE_INT, .i = 7 },
		[V_MINUS] = { PTE_INT, .i = -1 },
		[V_TRUE] = { PTE_BOOL, .b = true },
		[V_HALF] = { PTE_DOUBLE, .d = 0.5 },
		[V_TEXT] = { PTE_STRING, .s = { "me\0an", 5 } },
		[V_NONE] = { PTE_NULL },
		[V_INTS] = { PTE_INT_LIST, .index = { ints, N(ints) } },
		[V_DOUBLES] = { PTE_DOUBLE_LIST, .doubles = { doubles, N(doubles) } },
		[V_BOOLS] = { PTE_BOOL_LIST, .bools = { bools, N(bools) } },
		[V_TENSORS] = { PTE_TENSOR_LIST, .index = { tensors, N(tensors) } },
		[V_OPTIONALS] = { PTE_OPTIONAL_TENSOR_LIST, .index = { optionals, N(optionals) } },
		[V_NHWC] = { PTE_TENSOR, .tensor = planned(tensor(a, DTYPE_F32, PTE_PLANNED, SIZES(1, 2, 3, 4)), 2,
							   (uint64_t)1 << 33) },
		[V_FLAG] = { PTE_TENSOR, .tensor = tensor(a, DTYPE_BOOL, PTE_UNPLANNED, 0, NULL) },
	};

	memcpy(v, made, sizeof made);
	v[V_DYNAMIC].tensor->dynamism = PTE_DYNAMIC_BOUND;
	memcpy(v[V_NHWC].tensor->dim_order, (uint8_t[]){ 0, 2, 3, 1 }, 4);
}

struct pte_image make_image(struct arena *a)
{
	static int32_t inputs[] = { V_DYNAMIC, V_SEVEN }, outputs[] = { V_NHWC, V_DYNAMIC };
	static int32_t add[] = { V_WEIGHT, V_DYNAMIC, V_SEVEN }, call[] = { V_DYNAMIC, V_NHWC };
	static int64_t buffers[] = { 0, 128, ((int64_t)1 << 33) + 96 }, none[] = { 0 };
	static struct pte_instruction code[] = {
		{ PTE_KERNEL, 1, .arg = add, .nargs = 3 }, { PTE_DELEGATE, 0, .arg = call, .nargs = 2 },
		{ PTE_DELEGATE, 1, .arg = call, .nargs = 1 }, { PTE_MOVE, V_DYNAMIC, .to = V_NHWC },
		{ PTE_JUMP_FALSE, V_TRUE, .to = 6 }, { PTE_JUMP_FALSE, V_FLAG, .to = 1 }, { PTE_FREE, .index = V_BARE },
	};
	static struct pte_chain chains[] = { { code, N(code) }, { code, 0 } };
	static struct pte_operator operators[] = { { "aten::copy_", "" }, { "aten::add", "out" } };
	static struct pte_spec specs[] = { { "key", { spec, sizeof spec } } };
	static struct pte_delegate delegates[] = {
		{ "XnnpackBackend", { image_blob, sizeof image_blob }, .spec = specs, .nspecs = 1 },
		{ "Other", .blob = { image_blob, sizeof image_blob } },
	};
	static struct pte_device devices[] = { { 1, 1, 2 } };
	static struct span constants[] = { { NULL, 0 }, { (const uint8_t *)image_weight, sizeof image_weight },
					  { image_bytes, 3 } };
	static struct span mutables[] = { { NULL, 0 }, { (const uint8_t *)image_state, sizeof image_state } };
	struct pte_named named[] = {
		{ "abc", 3, .data = { image_named, 8 } },
		{ "weight", 6, .data = { (const uint8_t *)image_weight, sizeof image_weight } },
		{ "copy", 4, .data = { arena_copy(a, image_named, 8), 8 } },
	};
	struct pte_plan plans[] = {
		{ .name = "forward", .input_spec = "[1, in]", .output_spec = "[1, out]", .value = arena_array(a,
			V_COUNT, sizeof(struct pte_value)),
		  .nvalues = V_COUNT, .input = inputs, .ninputs = 2, .output = outputs, .noutputs = 2, .chain = chains,
		  .nchains = 2,
		  .operator = operators, .noperators = 2, .delegate = delegates, .ndelegates = 2,
		  .buffer_bytes = buffers, .nbuffers = 3,
		  .device = devices, .ndevices = 1 },
		{ .name = "other", .chain = chains + 1, .nchains = 1, .buffer_bytes = none, .nbuffers = 1 },
	};

	make_values(a, plans[0].value);
	return (struct pte_image){ arena_copy(a, plans, sizeof plans), 2, constants, 3, mutables, 2,
				   arena_copy(a, named, sizeof named), 3 };
}

struct edit write_image(const struct pte_image *m)
{
	struct pte_output out;
	struct error e = { 0 };
	struct edit data;

	if (!pte_write(&out, m, &e))
		fail_msg("%s", e.text);
	data = output_bytes(&out);
	pte_output_free(&out);
	return data;
}

bool read_bytes(struct pte *p, const struct edit *e, struct arena *a, struct error *err)
{
	struct file f = { .path = "a.pte", .data = e->data, .bytes = e->bytes };

	return pte_read(p, &f, a, err);
}

/* Equality of what stands in two programs. */

static void same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void same_tensor(const struct pte_tensor *a, const struct pte_tensor *b)
{
	assert_int_equal(a->dtype, b->dtype);
	assert_int_equal(a->rank, b->rank);
	assert_memory_equal(a->size, b->size, sizeof a->size);
	assert_memory_equal(a->dim_order, b->dim_order, sizeof a->dim_order);
	assert_int_equal(a->dynamism, b->dynamism);
	assert_int_equal(a->requires_grad, b->requires_grad);
	assert_int_equal(a->storage, b->storage);
	assert_int_equal(a->data_index, b->data_index);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->has_allocation, b->has_allocation);
	assert_int_equal(a->memory_id, b->memory_id);
	assert_true(a->memory_offset == b->memory_offset);
	assert_int_equal(a->location, b->location);
	same_text(a->name, b->name);
}

static void same_value(const struct pte_value *a, const struct pte_value *b)
{
	assert_int_equal(a->tag, b->tag);
	if (a->tag == PTE_TENSOR) {
		same_tensor(a->tensor, b->tensor);
	} else if (a->tag == PTE_STRING) {
		assert_int_equal(a->s.bytes, b->s.bytes);
		assert_memory_equal(a->s.at, b->s.at, a->s.bytes);
	} else if (a->tag == PTE_DOUBLE_LIST) {
		assert_int_equal(a->doubles.n, b->doubles.n);
		assert_memory_equal(a->doubles.at, b->doubles.at, (size_t)a->doubles.n * sizeof(double));
	} else if (a->tag == PTE_BOOL_LIST) {
		assert_int_equal(a->bools.n, b->bools.n);
		assert_memory_equal(a->bools.at, b->bools.at, (size_t)a->bools.n);
	} else if (a->tag == PTE_INT_LIST || a->tag == PTE_TENSOR_LIST || a->tag == PTE_OPTIONAL_TENSOR_LIST) {
		assert_int_equal(a->index.n, b->index.n);
		if (a->index.n)
			assert_memory_equal(a->index.at, b->index.at, (size_t)a->index.n * 4);
	} else if (a->tag == PTE_BOOL) {
		assert_int_equal(a->b, b->b);
	} else if (a->tag != PTE_NULL) {
		assert_memory_equal(&a->i, &b->i, 8);
	}
}

static void same_chain(const struct pte_chain *a, const struct pte_chain *b)
{
	assert_int_equal(a->ninstructions, b->ninstructions);
	for (int i = 0; i < a->ninstructions; i++) {
		const struct pte_instruction *x = &a->instruction[i], *y = &b->instruction[i];

		assert_int_equal(x->call, y->call);
		assert_int_equal(x->index, y->index);
		assert_int_equal(x->to, y->to);
		assert_int_equal(x->nargs, y->nargs);
		if (x->nargs)
			assert_memory_equal(x->arg, y->arg, (size_t)x->nargs * 4);
	}
}

static void same_delegate(const struct pte_delegate *a, const struct pte_delegate *b)
{
	same_text(a->id, b->id);
	assert_int_equal(a->blob.bytes, b->blob.bytes);
	assert_memory_equal(a->blob.data, b->blob.data, a->blob.bytes);
	assert_int_equal(a->nspecs, b->nspecs);
	for (int i = 0; i < a->nspecs; i++) {
		same_text(a->spec[i].key, b->spec[i].key);
		assert_int_equal(a->spec[i].value.bytes, b->spec[i].value.bytes);
		assert_memory_equal(a->spec[i].value.data, b->spec[i].value.data, a->spec[i].value.bytes);
	}
}

void same_plan(const struct pte_plan *a, const struct pte_plan *b)
{
	same_text(a->name, b->name);
	same_text(a->input_spec, b->input_spec);
	same_text(a->output_spec, b->output_spec);
	assert_int_equal(a->nvalues, b->nvalues);
	assert_int_equal(a->ninputs, b->ninputs);
	assert_int_equal(a->noutputs, b->noutputs);
	assert_int_equal(a->nchains, b->nchains);
	assert_int_equal(a->noperators, b->noperators);
	assert_int_equal(a->ndelegates, b->ndelegates);
	assert_int_equal(a->nbuffers, b->nbuffers);
	assert_int_equal(a->ndevices, b->ndevices);
	for (int i = 0; i < a->nvalues; i++)
		same_value(&a->value[i], &b->value[i]);
	if (a->ninputs)
		assert_memory_equal(a->input, b->input, (size_t)a->ninputs * 4);
	if (a->noutputs)
		assert_memory_equal(a->output, b->output, (size_t)a->noutputs * 4);
	for (int i = 0; i < a->nchains; i++)
		same_chain(&a->chain[i], &b->chain[i]);
	for (int i = 0; i < a->noperators; i++) {
		same_text(a->operator[i].name, b->operator[i].name);
		same_text(a->operator[i].overload, b->operator[i].overload);
	}
	for (int i = 0; i < a->ndelegates; i++)
		same_delegate(&a->delegate[i], &b->delegate[i]);
	assert_memory_equal(a->buffer_bytes, b->buffer_bytes, (size_t)a->nbuffers * 8);
	for (int i = 0; i < a->ndevices; i++)
		assert_memory_equal(&a->device[i], &b->device[i], 6);
}
