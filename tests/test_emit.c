/* Emitting: graphs as programs that the stock runtime takes. Every program here is read back with pte_read;
 * graphs are made by hand, the file they claim to come from is a few values. */
#include "tests/tap.h"

#include "core/op/op.h"
#include "core/program/emit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A program of one method that holds one file's worth of tensors, and the graph to be written. */
struct fixture {
	struct arena mem;
	struct program p;
	struct graph *filed, *g;
	struct pte_plan plan;
	struct emitted out;
	struct pte read;
	struct file file;
	struct error err;
};

static void setup(struct fixture *f)
{
	memset(f, 0, sizeof *f);
	f->filed = graph_new("forward");
	f->g = graph_new("forward");
	f->plan.name = "forward";
	f->plan.buffer_bytes = arena_array(&f->mem, 4, sizeof(int64_t));
	f->plan.nbuffers = 2;
	f->plan.value = arena_array(&f->mem, 64, sizeof *f->plan.value);
	f->plan.input = arena_array(&f->mem, 8, sizeof(int32_t));
	f->plan.output = arena_array(&f->mem, 8, sizeof(int32_t));
	f->p.pte.plan = &f->plan;
	f->p.pte.nplans = 1;
	f->p.method = arena_array(&f->mem, 1, sizeof(struct graph *));
	f->p.method[0] = f->filed;
	f->p.nmethods = 1;
}

static struct pte_tensor *file_tensor(struct fixture *f, struct value *v, enum pte_storage storage)
{
	struct pte_tensor *t = arena_alloc(&f->mem, sizeof *t);

	v->file_value = f->plan.nvalues;
	f->plan.value[f->plan.nvalues++] = (struct pte_value){ .tag = PTE_TENSOR, .tensor = t };
	t->dtype = v->dtype;
	t->rank = v->rank;
	for (int d = 0; d < v->rank; d++) {
		t->size[d] = (int32_t)v->size[d];
		t->dim_order[d] = v->dim_order[d];
	}
	t->bytes = v->bytes;
	t->storage = storage;
	t->has_allocation = storage == PTE_PLANNED || storage == PTE_MUTABLE;
	t->memory_id = t->has_allocation;
	return t;
}

static struct value *input(struct fixture *f, enum dtype t, int rank, const int64_t *size, enum pte_storage storage)
{
	struct value *v = graph_value(f->g, VALUE_INPUT, t, rank, size);

	file_tensor(f, v, storage);
	f->plan.input[f->plan.ninputs++] = v->file_value;
	graph_add_input(f->g, v, arg_none());
	return v;
}

static struct value *constant(struct fixture *f, int rank, const int64_t *size, const float *data)
{
	struct value *v = graph_value(f->g, VALUE_CONSTANT, DTYPE_F32, rank, size);

	v->data = (const uint8_t *)data;
	v->name = "w";
	return v;
}

static void output(struct fixture *f, struct value *v, enum pte_storage storage)
{
	struct value *filed = graph_value(f->filed, VALUE_NODE, v->dtype, v->rank, v->size);

	file_tensor(f, filed, storage);
	f->plan.output[f->plan.noutputs++] = filed->file_value;
	graph_add_output(f->g, arg_value(v));
}

static struct value *build(struct fixture *f, const char *op, const struct arg *arg, int nargs)
{
	struct value *v = op_build(f->g, NULL, op, arg, nargs, &f->err);

	if (!v)
		print_message("# %s\n", f->err.text);
	assert_non_null(v);
	return v;
}

static struct value *view(struct fixture *f, struct value *v, int rank, const int64_t *size)
{
	return build(f, "aten.view_copy.default", (struct arg[]){ arg_value(v), arg_ints(f->g, size, rank) }, 2);
}

static struct value *add(struct fixture *f, struct value *a, struct value *b)
{
	return build(f, "aten.add.Tensor", (struct arg[]){ arg_value(a), arg_value(b), arg_int(1) }, 3);
}

static struct value *exp_of(struct fixture *f, struct value *a)
{
	return build(f, "aten.exp.default", (struct arg[]){ arg_value(a) }, 1);
}

static void read_emitted(struct fixture *f)
{
	int fd = memfd_create("emitted", MFD_CLOEXEC);
	const char *keep = getenv("KEEP_EMITTED");

	for (int i = 0; i < f->out.program.npieces; i++)
		assert_int_equal(write(fd, f->out.program.piece[i].data, f->out.program.piece[i].bytes),
				 f->out.program.piece[i].bytes);
	assert_true(file_open_fd(&f->file, fd, "emitted", &f->err));
	close(fd);
	if (keep)	/* to be tried in the stock runtime */
		file_write(keep, f->file.data, f->file.bytes, true, NULL);
	if (!pte_read(&f->read, &f->file, &f->mem, &f->err))
		fail_msg("%s", f->err.text);
}

static const struct pte_plan *emit(struct fixture *f)
{
	if (!program_emit(&f->out, &f->p, &f->g, &f->err))
		fail_msg("%s", f->err.text);
	read_emitted(f);
	return &f->read.plan[0];
}

static void teardown(struct fixture *f)
{
	file_close(&f->file);
	emitted_free(&f->out);
	graph_free(f->g);
	graph_free(f->filed);
	arena_free(&f->mem);
}

/* ---- looking at what was read ---- */

static const char *call_name(const struct pte_plan *p, int i)
{
	static char name[128];
	const struct pte_instruction *in = &p->chain[0].instruction[i];

	snprintf(name, sizeof name, "%s.%s", p->operator[in->index].name, p->operator[in->index].overload);
	return name;
}

static const struct pte_value *call_arg(const struct pte_plan *p, int call, int arg)
{
	assert_true(arg < p->chain[0].instruction[call].nargs);
	return &p->value[p->chain[0].instruction[call].arg[arg]];
}

static int ncalls(const struct pte_plan *p)
{
	return p->chain[0].ninstructions;
}

static const int64_t two_two[] = { 2, 2 }, four[] = { 4 };

/* ---- tests ---- */

static void one_out_stands_twice(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	const struct pte_instruction *in;
	struct value *x;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_PLANNED);
	output(&f, add(&f, x, x), PTE_PLANNED);
	p = emit(&f);
	assert_int_equal(ncalls(p), 1);
	assert_string_equal(call_name(p, 0), "aten::add.out");
	in = &p->chain[0].instruction[0];
	assert_int_equal(in->nargs, 5);	/* self, other, alpha, out, out */
	assert_int_equal(in->arg[0], p->input[0]);
	assert_int_equal(in->arg[1], p->input[0]);
	assert_int_equal(call_arg(p, 0, 2)->tag, PTE_INT);
	assert_int_equal(call_arg(p, 0, 2)->i, 1);
	assert_int_equal(in->arg[3], p->output[0]);
	assert_int_equal(in->arg[4], p->output[0]);
	assert_int_equal(p->nvalues, 3);
	teardown(&f);
}

static void lists_of_numbers_hold_indices_and_literals_are_shared(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	const struct pte_value *dims;
	const int64_t dim[] = { 1 };
	struct value *x, *s;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_PLANNED);
	s = build(&f, "aten.sum.dim_IntList", (struct arg[]){ arg_value(x), arg_ints(f.g, dim, 1),
		arg_bool(true), arg_none() }, 4);
	s = build(&f, "aten.sum.dim_IntList", (struct arg[]){ arg_value(s), arg_ints(f.g, dim, 1),
		arg_bool(true), arg_none() }, 4);
	output(&f, s, PTE_PLANNED);
	p = emit(&f);
	assert_string_equal(call_name(p, 0), "aten::sum.IntList_out");
	dims = call_arg(p, 0, 1);
	assert_int_equal(dims->tag, PTE_INT_LIST);
	assert_int_equal(p->value[dims->index.at[0]].tag, PTE_INT);
	assert_int_equal(p->value[dims->index.at[0]].i, 1);
	assert_int_equal(call_arg(p, 0, 2)->tag, PTE_BOOL);
	assert_int_equal(call_arg(p, 0, 3)->tag, PTE_NULL);
	assert_ptr_equal(dims, call_arg(p, 1, 1));
	assert_ptr_equal(call_arg(p, 0, 3), call_arg(p, 1, 3));
	teardown(&f);
}

static void several_outs_stand_before_their_list(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	const struct pte_instruction *in;
	const struct pte_value *list;
	struct value *x, *v;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_PLANNED);
	v = build(&f, "aten.max.dim", (struct arg[]){ arg_value(x), arg_int(1), arg_bool(false) }, 3);
	output(&f, v, PTE_PLANNED);
	p = emit(&f);
	assert_string_equal(call_name(p, 0), "aten::max.dim_max");
	in = &p->chain[0].instruction[0];
	assert_int_equal(in->nargs, 6);	/* self, dim, keepdim, max, max_values, list */
	assert_int_equal(in->arg[3], p->output[0]);
	list = call_arg(p, 0, 5);
	assert_int_equal(list->tag, PTE_TENSOR_LIST);
	assert_int_equal(list->index.n, 2);
	assert_int_equal(list->index.at[0], in->arg[3]);
	assert_int_equal(list->index.at[1], in->arg[4]);
	assert_true(in->arg[5] > in->arg[3] && in->arg[5] > in->arg[4]);
	teardown(&f);
}

static void a_static_view_is_a_second_tensor_on_the_same_memory(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	const struct pte_tensor *a, *b;
	struct value *x;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_PLANNED);
	output(&f, exp_of(&f, view(&f, exp_of(&f, x), 1, four)), PTE_PLANNED);
	p = emit(&f);
	assert_int_equal(ncalls(p), 2);
	a = call_arg(p, 0, 1)->tensor;
	b = call_arg(p, 1, 0)->tensor;
	assert_int_equal(a->rank, 2);
	assert_int_equal(b->rank, 1);
	assert_int_equal(a->memory_id, b->memory_id);
	assert_int_equal(a->memory_offset, b->memory_offset);
	teardown(&f);
}

static void a_view_keeps_the_memory_of_what_it_views(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	const struct pte_tensor *a, *b;
	struct value *x, *y, *v, *z;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_PLANNED);
	y = exp_of(&f, x);
	v = view(&f, y, 1, four);
	z = view(&f, exp_of(&f, exp_of(&f, y)), 1, four);
	output(&f, add(&f, v, z), PTE_PLANNED);	/* v lives on while others come and go */
	p = emit(&f);
	a = call_arg(p, 0, 1)->tensor;
	for (int i = 1; i < 3; i++) {
		b = call_arg(p, i, 1)->tensor;
		assert_true(b->memory_offset + b->bytes <= a->memory_offset ||
			a->memory_offset + a->bytes <= b->memory_offset);
	}
	teardown(&f);
}

static void a_view_that_is_an_output_is_copied(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	struct value *x;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_PLANNED);
	output(&f, view(&f, x, 1, four), PTE_PLANNED);
	p = emit(&f);
	assert_int_equal(ncalls(p), 1);
	assert_string_equal(call_name(p, 0), "aten::view_copy.out");
	teardown(&f);
}

static void a_view_of_the_callers_memory_takes_its_pointer(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	struct value *x;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_UNPLANNED);
	output(&f, exp_of(&f, view(&f, x, 1, four)), PTE_UNPLANNED);
	p = emit(&f);
	assert_int_equal(ncalls(p), 2);
	assert_string_equal(call_name(p, 0), "executorch_prim::et_view.default");
	assert_int_equal(p->chain[0].instruction[0].nargs, 3);
	assert_int_equal(call_arg(p, 0, 1)->tag, PTE_INT_LIST);
	assert_int_equal(call_arg(p, 0, 2)->tensor->storage, PTE_UNPLANNED);
	assert_int_equal(p->value[p->input[0]].tensor->storage, PTE_UNPLANNED);
	assert_int_equal(p->value[p->output[0]].tensor->storage, PTE_UNPLANNED);
	assert_int_equal(p->buffer_bytes[1], 0);
	teardown(&f);
}

static void a_dynamic_view_is_made_when_it_runs(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	struct value *x;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_PLANNED);
	x->dynamic = true;
	output(&f, exp_of(&f, view(&f, x, 1, (int64_t[]){ -1 })), PTE_PLANNED);
	p = emit(&f);
	assert_string_equal(call_name(p, 0), "executorch_prim::et_view.default");
	assert_int_equal(p->value[call_arg(p, 0, 1)->index.at[0]].i, -1);
	assert_int_equal(call_arg(p, 0, 2)->tensor->dynamism, PTE_DYNAMIC_BOUND);
	assert_int_equal(call_arg(p, 0, 2)->tensor->memory_offset, p->value[p->input[0]].tensor->memory_offset);
	assert_int_equal(p->value[p->output[0]].tensor->dynamism, PTE_DYNAMIC_BOUND);
	teardown(&f);
}

/* It has no list of sizes that holds for every run. */
static void a_dynamic_squeeze_stays_a_call(void **state)
{
	for (int placed = 0; placed < 2; placed++) {
		struct fixture f;
		const struct pte_plan *p;
		struct arg arg[2];

		setup(&f);
		arg[0] = arg_value(input(&f, DTYPE_F32, 2, two_two, placed ? PTE_PLANNED : PTE_UNPLANNED));
		arg[0].value->dynamic = true;
		arg[1] = arg_int(0);
		output(&f, exp_of(&f, build(&f, "aten.unsqueeze_copy.default", arg, 2)), PTE_PLANNED);
		p = emit(&f);
		assert_string_equal(call_name(p, 0), "aten::unsqueeze_copy.out");
		teardown(&f);
	}
}

static void constants_are_stored_once_by_content(void **state)
{
	static const float w[] = { 1, 2, 3, 4 }, same[] = { 1, 2, 3, 4 }, other[] = { 5, 6, 7, 8 };
	struct fixture f;
	const struct pte_plan *p;
	struct value *x;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_PLANNED);
	x = add(&f, x, constant(&f, 2, two_two, w));
	x = add(&f, x, constant(&f, 2, two_two, same));
	x = add(&f, x, constant(&f, 2, two_two, other));
	output(&f, x, PTE_PLANNED);
	p = emit(&f);
	assert_ptr_equal(call_arg(p, 0, 1)->tensor->data, call_arg(p, 1, 1)->tensor->data);
	assert_memory_equal(call_arg(p, 0, 1)->tensor->data, w, sizeof w);
	assert_memory_equal(call_arg(p, 2, 1)->tensor->data, other, sizeof other);
	assert_int_equal(f.out.tensor_bytes, 32);
	teardown(&f);
}

static void a_view_of_a_constant_shares_its_bytes(void **state)
{
	static const float w[] = { 1, 2, 3, 4 };
	struct fixture f;
	const struct pte_plan *p;
	struct value *x, *c;

	setup(&f);
	x = input(&f, DTYPE_F32, 1, four, PTE_PLANNED);
	c = constant(&f, 2, two_two, w);
	output(&f, add(&f, x, view(&f, c, 1, four)), PTE_PLANNED);
	p = emit(&f);
	assert_int_equal(ncalls(p), 1);
	assert_int_equal(call_arg(p, 0, 1)->tensor->storage, PTE_CONSTANT);
	assert_int_equal(call_arg(p, 0, 1)->tensor->rank, 1);
	teardown(&f);
}

static void kernels_get_constants_in_default_dim_order(void **state)
{
	static const float w[] = { 1, 2, 3, 4, 5, 6 };	/* [2, 3], columns outermost: 1 3 5 / 2 4 6 */
	static const float rows[] = { 1, 3, 5, 2, 4, 6 };
	const int64_t size[] = { 2, 3 };
	struct fixture f;
	const struct pte_plan *p;
	struct value *x, *c;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, size, PTE_PLANNED);
	c = constant(&f, 2, size, w);
	c->dim_order[0] = 1;
	c->dim_order[1] = 0;
	x = build(&f, "aten.mul.Tensor", (struct arg[]){ arg_value(x), arg_value(x) }, 2);
	output(&f, x, PTE_PLANNED);
	graph_set_arg(f.g, x->def, 1, arg_value(c));
	p = emit(&f);
	assert_int_equal(call_arg(p, 0, 1)->tensor->dim_order[0], 0);
	assert_memory_equal(call_arg(p, 0, 1)->tensor->data, rows, sizeof rows);
	teardown(&f);
}

static void planned_and_unplanned_inputs_and_outputs_stay_so(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	struct value *x, *y;

	setup(&f);
	x = input(&f, DTYPE_F32, 2, two_two, PTE_PLANNED);
	y = input(&f, DTYPE_F32, 2, two_two, PTE_UNPLANNED);
	output(&f, add(&f, x, y), PTE_UNPLANNED);
	output(&f, add(&f, y, x), PTE_PLANNED);
	p = emit(&f);
	assert_int_equal(p->value[p->input[0]].tensor->storage, PTE_PLANNED);
	assert_int_equal(p->value[p->input[1]].tensor->storage, PTE_UNPLANNED);
	assert_int_equal(p->value[p->output[0]].tensor->storage, PTE_UNPLANNED);
	assert_int_equal(p->value[p->output[1]].tensor->storage, PTE_PLANNED);
	teardown(&f);
}

static const struct pte_tensor *tensor_at(const struct pte_plan *p, int32_t index)
{
	assert_int_equal(p->value[index].tag, PTE_TENSOR);
	return p->value[index].tensor;
}

static bool overlap(const struct pte_tensor *a, const struct pte_tensor *b)
{
	return a->memory_id == b->memory_id && a->memory_offset < b->memory_offset + b->bytes &&
		b->memory_offset < a->memory_offset + a->bytes;
}

/* An input is there before the first call, and an output until after the last, wherever they are used. */
static void memory_is_not_taken_from_inputs_and_outputs(void **state)
{
	static const int64_t three[] = { 3 };	/* 12 bytes */
	struct fixture f;
	const struct pte_plan *p;
	struct value *x, *late, *y, *z;

	setup(&f);
	x = input(&f, DTYPE_F32, 1, three, PTE_PLANNED);
	late = input(&f, DTYPE_F32, 1, three, PTE_PLANNED);
	y = exp_of(&f, exp_of(&f, exp_of(&f, x)));
	z = exp_of(&f, exp_of(&f, exp_of(&f, add(&f, y, late))));
	output(&f, y, PTE_PLANNED);
	output(&f, z, PTE_PLANNED);
	p = emit(&f);
	for (int i = 0; i < ncalls(p); i++) {
		const struct pte_tensor *out = call_arg(p, i, p->chain[0].instruction[i].nargs - 1)->tensor;

		assert_true(i > 3 || !overlap(out, tensor_at(p, p->input[1])));
		assert_true(i < 3 || !overlap(out, tensor_at(p, p->output[0])));
		assert_int_equal(out->memory_offset % 16, 0);
	}
	assert_int_equal(p->buffer_bytes[1] % 16, 0);
	assert_true(p->buffer_bytes[1] < 5 * 16);	/* the rest is used again */
	teardown(&f);
}

static void an_output_that_nothing_reads_any_more_keeps_its_memory(void **state)
{
	static const int64_t six[] = { 6 }, three[] = { 3 };
	struct fixture f;
	const struct pte_plan *p;
	struct value *x, *late, *y, *z;

	setup(&f);
	x = input(&f, DTYPE_F32, 1, six, PTE_PLANNED);
	late = input(&f, DTYPE_F32, 1, three, PTE_PLANNED);
	y = exp_of(&f, x);	/* read by nothing: its memory would be the gap for what follows */
	z = exp_of(&f, exp_of(&f, exp_of(&f, late)));
	output(&f, y, PTE_PLANNED);
	output(&f, z, PTE_PLANNED);
	output(&f, exp_of(&f, x), PTE_PLANNED);
	p = emit(&f);
	for (int i = 1; i < ncalls(p); i++)
		assert_false(overlap(call_arg(p, i, p->chain[0].instruction[i].nargs - 1)->tensor, tensor_at(p, p->output[0])));
	teardown(&f);
}

/* ---- state ---- */

static struct value *add_state(struct fixture *f, uint32_t memory_id, uint64_t offset, const float *data)
{
	struct value *v = graph_value(f->g, VALUE_STATE, DTYPE_F32, 1, four);
	struct pte_tensor *t = file_tensor(f, v, data ? PTE_MUTABLE : PTE_PLANNED);

	t->memory_id = memory_id;
	t->memory_offset = offset;
	t->data = v->data = (const uint8_t *)data;
	v->name = "state";
	v->state_slot = 0;
	if (f->plan.nbuffers <= (int)memory_id)
		f->plan.nbuffers = (int)memory_id + 1;
	f->plan.buffer_bytes[memory_id] = 128;
	return v;
}

static void copy_to(struct fixture *f, struct value *state, struct value *v)
{
	const struct op *op = op_find("aten.copy_.default");

	assert_non_null(op);
	graph_node(f->g, NULL, op, (struct arg[]){ arg_value(state), arg_value(v), arg_bool(false) }, 3);
}

static void what_writes_in_place_returns_its_first_argument(void **state)
{
	static const float zero[4];
	struct fixture f;
	const struct pte_plan *p;
	struct value *x, *s, *y;

	setup(&f);
	x = input(&f, DTYPE_F32, 1, four, PTE_PLANNED);
	s = add_state(&f, 1, 0, zero);
	y = add(&f, s, x);
	copy_to(&f, s, y);
	output(&f, y, PTE_PLANNED);
	p = emit(&f);
	assert_int_equal(ncalls(p), 2);
	assert_string_equal(call_name(p, 1), "aten::copy_.");
	assert_int_equal(p->chain[0].instruction[1].nargs, 4);
	assert_int_equal(p->chain[0].instruction[1].arg[3], p->chain[0].instruction[1].arg[0]);
	assert_int_equal(call_arg(p, 1, 0)->tensor->storage, PTE_MUTABLE);
	assert_memory_equal(call_arg(p, 1, 0)->tensor->data, zero, sizeof zero);
	teardown(&f);
}

static void state_in_an_arena_of_its_own_stays_there(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	struct value *x, *s, *y;

	setup(&f);
	x = input(&f, DTYPE_F32, 1, four, PTE_PLANNED);
	s = add_state(&f, 2, 96, NULL);
	y = add(&f, s, x);
	copy_to(&f, s, y);
	output(&f, y, PTE_PLANNED);
	p = emit(&f);
	assert_int_equal(call_arg(p, 0, 0)->tensor->memory_id, 2);
	assert_int_equal(call_arg(p, 0, 0)->tensor->memory_offset, 96);
	assert_int_equal(p->buffer_bytes[2], 128);
	assert_int_equal(call_arg(p, 0, 1)->tensor->memory_id, 1);
	teardown(&f);
}

/* In an arena with other tensors a state may move, unless another method looks at the same memory. */
static void state_that_methods_share_stays_where_it_is(void **state)
{
	static struct pte_chain nothing;
	static int64_t none[1];

	for (int shared = 0; shared < 2; shared++) {
		struct graph *other = graph_new("other"), *methods[2];
		struct pte_plan plans[2];
		struct fixture f;
		const struct pte_plan *p;
		struct value *x, *s, *y;

		setup(&f);
		x = input(&f, DTYPE_F32, 1, four, PTE_PLANNED);
		s = add_state(&f, 1, 96, NULL);
		y = add(&f, s, x);
		copy_to(&f, s, y);
		output(&f, y, PTE_PLANNED);
		plans[0] = f.plan;
		plans[1] = (struct pte_plan){ .name = "other", .chain = &nothing, .nchains = 1, .buffer_bytes = none, .nbuffers = 1 };
		other->plan = 1;
		if (shared)
			graph_value(other, VALUE_STATE, DTYPE_F32, 1, four)->state_slot = 0;
		f.p.pte.plan = plans;
		f.p.pte.nplans = f.p.nmethods = 2;
		methods[0] = f.filed;
		methods[1] = other;
		f.p.method = methods;
		assert_true(program_emit(&f.out, &f.p, (struct graph *[]){ f.g, other }, &f.err));
		read_emitted(&f);
		p = &f.read.plan[0];
		assert_int_equal(call_arg(p, 0, 0)->tensor->memory_id, 1);
		if (shared)
			assert_int_equal(call_arg(p, 0, 0)->tensor->memory_offset, 96);
		else
			assert_int_not_equal(call_arg(p, 0, 0)->tensor->memory_offset, 96);
		graph_free(other);
		teardown(&f);
	}
}

static void nothing_shares_memory_with_state(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	struct value *x, *s, *y;

	setup(&f);
	x = input(&f, DTYPE_F32, 1, four, PTE_PLANNED);
	s = add_state(&f, 1, 0, NULL);
	y = exp_of(&f, exp_of(&f, exp_of(&f, x)));
	y = add(&f, s, y);
	copy_to(&f, s, y);
	output(&f, y, PTE_PLANNED);
	p = emit(&f);
	s = NULL;
	for (int i = 0; i < p->nvalues; i++) {
		const struct pte_tensor *held = call_arg(p, 3, 0)->tensor,
			*t = p->value[i].tag == PTE_TENSOR ? p->value[i].tensor : NULL;

		if (t && t != held)
			assert_true(t->memory_offset + t->bytes <= held->memory_offset ||
				held->memory_offset + held->bytes <= t->memory_offset);
	}
	teardown(&f);
}

static void a_view_of_state_that_is_written_before_it_is_read_is_copied(void **state)
{
	struct fixture f;
	const struct pte_plan *p;
	struct value *x, *s, *old;

	for (int written = 0; written < 2; written++) {
		setup(&f);
		x = input(&f, DTYPE_F32, 1, four, PTE_PLANNED);
		s = add_state(&f, 1, 0, NULL);
		old = view(&f, s, 2, two_two);
		if (written)
			copy_to(&f, s, x);
		output(&f, exp_of(&f, old), PTE_PLANNED);
		if (!written)
			copy_to(&f, s, x);
		p = emit(&f);
		assert_int_equal(ncalls(p), written ? 3 : 2);
		assert_string_equal(call_name(p, 0), written ? "aten::view_copy.out" : "aten::exp.out");
		teardown(&f);
	}
}

/* ---- whole programs ---- */

static void nothing_changed_gives_the_same_bytes(void **state)
{
	static const uint8_t bytes[] = "what was there";
	struct fixture f;

	setup(&f);
	f.p.file = (struct file){ "a.pte", bytes, sizeof bytes, 0 };
	assert_true(program_emit(&f.out, &f.p, &f.filed, &f.err));
	assert_int_equal(f.out.program.bytes, sizeof bytes);
	assert_ptr_equal(f.out.program.piece[0].data, bytes);
	assert_int_equal(f.out.nlost, 0);
	teardown(&f);
}

static void a_method_that_did_not_change_is_carried_over(void **state)
{
	static const float w[] = { 1, 2, 3, 4 };
	struct fixture f, g;
	struct graph *method[2];
	const struct pte_plan *p;
	struct value *x;

	setup(&g);	/* the other method, as the file has it */
	g.plan.name = "other";
	x = input(&g, DTYPE_F32, 1, four, PTE_PLANNED);
	output(&g, add(&g, x, constant(&g, 1, four, w)), PTE_PLANNED);
	p = emit(&g);
	setup(&f);
	x = input(&f, DTYPE_F32, 1, four, PTE_PLANNED);
	output(&f, add(&f, constant(&f, 1, four, w), x), PTE_PLANNED);
	f.p.pte.plan = arena_array(&f.mem, 2, sizeof *f.p.pte.plan);
	f.p.pte.plan[0] = f.plan;
	f.p.pte.plan[1] = *p;
	f.p.pte.nplans = f.p.nmethods = 2;
	f.p.method = arena_array(&f.mem, 2, sizeof *f.p.method);
	f.p.method[0] = f.filed;
	f.p.method[1] = method[1] = g.filed;
	method[0] = f.g;
	assert_true(program_emit(&f.out, &f.p, method, &f.err));
	read_emitted(&f);
	assert_int_equal(f.read.nplans, 2);
	assert_int_equal(f.read.plan[1].nvalues, p->nvalues);
	assert_int_equal(ncalls(&f.read.plan[1]), 1);
	assert_int_equal(f.read.nconstants, 2);	/* placeholder and w: shared by both */
	assert_int_equal(f.out.tensor_bytes, 16);
	teardown(&f);
	teardown(&g);
}

static void an_operator_without_a_stock_kernel_is_refused(void **state)
{
	static const struct op mine = { "my.op", NULL, "T>T", "self", DTYPES_ANY, 0, NULL, NULL };
	struct fixture f;
	struct value *x;
	struct node *n;

	setup(&f);
	x = input(&f, DTYPE_F32, 1, four, PTE_PLANNED);
	n = graph_node(f.g, NULL, &mine, (struct arg[]){ arg_value(x) }, 1);
	output(&f, node_add_output(f.g, n, DTYPE_F32, 1, four), PTE_PLANNED);
	assert_false(program_emit(&f.out, &f.p, &f.g, &f.err));
	assert_int_equal(f.err.code, ERROR_REFUSED);
	assert_non_null(strstr(f.err.text, "my.op"));
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_out_stands_twice),
		cmocka_unit_test(lists_of_numbers_hold_indices_and_literals_are_shared),
		cmocka_unit_test(several_outs_stand_before_their_list),
		cmocka_unit_test(a_static_view_is_a_second_tensor_on_the_same_memory),
		cmocka_unit_test(a_view_keeps_the_memory_of_what_it_views),
		cmocka_unit_test(a_view_that_is_an_output_is_copied),
		cmocka_unit_test(a_view_of_the_callers_memory_takes_its_pointer),
		cmocka_unit_test(a_dynamic_view_is_made_when_it_runs),
		cmocka_unit_test(a_dynamic_squeeze_stays_a_call),
		cmocka_unit_test(constants_are_stored_once_by_content),
		cmocka_unit_test(a_view_of_a_constant_shares_its_bytes),
		cmocka_unit_test(kernels_get_constants_in_default_dim_order),
		cmocka_unit_test(planned_and_unplanned_inputs_and_outputs_stay_so),
		cmocka_unit_test(memory_is_not_taken_from_inputs_and_outputs),
		cmocka_unit_test(an_output_that_nothing_reads_any_more_keeps_its_memory),
		cmocka_unit_test(what_writes_in_place_returns_its_first_argument),
		cmocka_unit_test(state_in_an_arena_of_its_own_stays_there),
		cmocka_unit_test(state_that_methods_share_stays_where_it_is),
		cmocka_unit_test(nothing_shares_memory_with_state),
		cmocka_unit_test(a_view_of_state_that_is_written_before_it_is_read_is_copied),
		cmocka_unit_test(nothing_changed_gives_the_same_bytes),
		cmocka_unit_test(a_method_that_did_not_change_is_carried_over),
		cmocka_unit_test(an_operator_without_a_stock_kernel_is_refused),
	};

	return RUN_TAP(tests);
}
