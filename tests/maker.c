#include "tests/maker.h"

#include "tests/tap.h"

struct maker *maker_new(void)
{
	struct maker *m = mem_alloc(sizeof *m);

	vec_push(&m->mem, &m->constant, ((struct span){ 0 }));
	vec_push(&m->mem, &m->mutable, ((struct span){ 0 }));
	maker_method(m, "forward");
	return m;
}

void maker_free(struct maker *m)
{
	arena_free(&m->mem);
	mem_free(m);
}

static void end_method(struct maker *m)
{
	struct pte_plan *p = &m->plan.at[m->plan.n - 1];
	struct pte_chain chain = { m->code.at, m->code.n };

	if (p->chain)
		return;
	p->value = m->value.at;
	p->nvalues = m->value.n;
	p->input = m->input.at;
	p->ninputs = m->input.n;
	p->output = m->output.at;
	p->noutputs = m->output.n;
	p->operator = m->operator.at;
	p->noperators = m->operator.n;
	p->delegate = m->delegate.at;
	p->ndelegates = m->delegate.n;
	p->buffer_bytes = arena_copy(&m->mem, m->arena, sizeof m->arena);
	p->nbuffers = m->narenas;
	p->chain = arena_copy(&m->mem, &chain, sizeof chain);
	p->nchains = 1;
}

void maker_method(struct maker *m, const char *name)
{
	if (m->plan.n)
		end_method(m);
	vec_push(&m->mem, &m->plan, ((struct pte_plan){ .name = name }));
	memset(&m->value, 0, sizeof m->value);
	memset(&m->input, 0, sizeof m->input);
	memset(&m->output, 0, sizeof m->output);
	memset(&m->code, 0, sizeof m->code);
	memset(&m->operator, 0, sizeof m->operator);
	memset(&m->delegate, 0, sizeof m->delegate);
	memset(m->arena, 0, sizeof m->arena);
	m->narenas = 1;
}

static int add(struct maker *m, struct pte_value v)
{
	vec_push(&m->mem, &m->value, v);
	return m->value.n - 1;
}

struct pte_tensor *maker_tensor(struct maker *m, int v)
{
	return m->value.at[v].tensor;
}

static int add_tensor(struct maker *m, enum dtype t, enum pte_storage storage, int rank, const int32_t *size)
{
	struct pte_tensor *x = arena_alloc(&m->mem, sizeof *x);

	x->dtype = t;
	x->storage = storage;
	x->rank = rank;
	x->bytes = dtype_bytes(t);
	for (int d = 0; d < rank; d++) {
		x->size[d] = size[d];
		x->dim_order[d] = (uint8_t)d;
		x->bytes *= (size_t)size[d];
	}
	return add(m, (struct pte_value){ PTE_TENSOR, .tensor = x });
}

static void allocate(struct maker *m, int v, uint32_t memory, uint64_t offset)
{
	struct pte_tensor *x = maker_tensor(m, v);

	x->has_allocation = true;
	x->memory_id = memory;
	x->memory_offset = offset;
	while (m->narenas <= (int)memory)
		m->narenas++;
	if (m->arena[memory] < (int64_t)(offset + x->bytes))
		m->arena[memory] = (int64_t)(offset + x->bytes);
}

int maker_planned(struct maker *m, enum dtype t, uint32_t memory, uint64_t offset, int rank, const int32_t *size)
{
	int v = add_tensor(m, t, PTE_PLANNED, rank, size);

	allocate(m, v, memory, offset);
	return v;
}

int maker_constant(struct maker *m, enum dtype t, const void *data, int rank, const int32_t *size)
{
	int v = add_tensor(m, t, PTE_CONSTANT, rank, size);
	struct pte_tensor *x = maker_tensor(m, v);

	vec_push(&m->mem, &m->constant, ((struct span){ arena_copy(&m->mem, data, x->bytes), x->bytes }));
	x->data_index = (uint32_t)m->constant.n - 1;
	return v;
}

int maker_again(struct maker *m, int constant, int rank, const int32_t *size)
{
	int v = add_tensor(m, maker_tensor(m, constant)->dtype, PTE_CONSTANT, rank, size);

	maker_tensor(m, v)->data_index = maker_tensor(m, constant)->data_index;
	return v;
}

int maker_mutable(struct maker *m, enum dtype t, const void *data, uint32_t memory, uint64_t offset, int rank, const int32_t *size)
{
	int v = add_tensor(m, t, PTE_MUTABLE, rank, size);
	struct pte_tensor *x = maker_tensor(m, v);

	vec_push(&m->mem, &m->mutable, ((struct span){ arena_copy(&m->mem, data, x->bytes), x->bytes }));
	x->data_index = (uint32_t)m->mutable.n - 1;
	allocate(m, v, memory, offset);
	return v;
}

int maker_external(struct maker *m, enum dtype t, const char *name, int rank, const int32_t *size)
{
	int v = add_tensor(m, t, PTE_EXTERNAL, rank, size);

	maker_tensor(m, v)->has_extra = true;
	maker_tensor(m, v)->name = name;
	maker_tensor(m, v)->location = 1;
	return v;
}

int maker_bare(struct maker *m, enum dtype t, int rank, const int32_t *size)
{
	return add_tensor(m, t, PTE_UNPLANNED, rank, size);
}

int maker_int(struct maker *m, int64_t i) { return add(m, (struct pte_value){ PTE_INT, .i = i }); }
int maker_bool(struct maker *m, bool b) { return add(m, (struct pte_value){ PTE_BOOL, .b = b }); }
int maker_double(struct maker *m, double d) { return add(m, (struct pte_value){ PTE_DOUBLE, .d = d }); }
int maker_none(struct maker *m) { return add(m, (struct pte_value){ .tag = PTE_NULL }); }

int maker_string(struct maker *m, const char *s)
{
	return add(m, (struct pte_value){ PTE_STRING, .s = { s, strlen(s) } });
}

int maker_list(struct maker *m, enum pte_tag tag, int n, const int32_t *value)
{
	return add(m, (struct pte_value){ tag, .index = { arena_copy(&m->mem, value, (size_t)n * sizeof *value), n } });
}

int maker_ints(struct maker *m, int n, const int32_t *at)
{
	int32_t value[16];

	for (int i = 0; i < n; i++)
		value[i] = maker_int(m, at[i]);
	return maker_list(m, PTE_INT_LIST, n, value);
}

void maker_in(struct maker *m, int v) { vec_push(&m->mem, &m->input, v); }
void maker_out(struct maker *m, int v) { vec_push(&m->mem, &m->output, v); }

void maker_call(struct maker *m, const char *kernel, int n, const int32_t *arg)
{
	const char *dot = strrchr(kernel, '.');
	struct pte_operator o = { kernel, "" };

	if (dot) {
		o.name = arena_printf(&m->mem, "%.*s", (int)(dot - kernel), kernel);
		o.overload = dot + 1;
	}
	vec_push(&m->mem, &m->operator, o);
	vec_push(&m->mem, &m->code, ((struct pte_instruction){ PTE_KERNEL, m->operator.n - 1,
		 .arg = arena_copy(&m->mem, arg, (size_t)n * sizeof *arg), .nargs = n }));
}

void maker_delegate(struct maker *m, const char *id, struct span blob, int n, const int32_t *arg)
{
	vec_push(&m->mem, &m->delegate, ((struct pte_delegate){ .id = id, .blob = blob, .in_segment = true }));
	vec_push(&m->mem, &m->code, ((struct pte_instruction){ PTE_DELEGATE, m->delegate.n - 1,
		 .arg = arena_copy(&m->mem, arg, (size_t)n * sizeof *arg), .nargs = n }));
}

void maker_jump(struct maker *m, enum pte_call call, int from, int to)
{
	vec_push(&m->mem, &m->code, ((struct pte_instruction){ call, from, .to = to }));
}

static void write_out(struct maker *m, struct pte_output *out)
{
	struct pte_image image;
	struct error err = { 0 };

	end_method(m);
	image = (struct pte_image){ m->plan.at, m->plan.n, m->constant.at, m->constant.n, m->mutable.at, m->mutable.n, m->named.at, m->named.n };
	if (!pte_write(out, &image, &err))
		fail_msg("%s", err.text);
}

void maker_save(struct maker *m, const char *path)
{
	struct pte_output out;
	struct error err = { 0 };

	write_out(m, &out);
	if (!file_write_pieces(path, out.piece, out.npieces, true, &err))
		fail_msg("%s", err.text);
	pte_output_free(&out);
}

struct program *maker_open(struct maker *m, const char *const *data, int ndata, struct error *err)
{
	struct error own = { 0 };
	struct pte_output out;
	struct file file = { .path = "made.pte" };
	struct program *p = NULL;
	uint8_t *bytes;

	write_out(m, &out);
	file.data = bytes = mem_try(out.bytes + FILE_SLACK);
	for (int i = 0; i < out.npieces; file.bytes += out.piece[i++].bytes)
		memcpy(bytes + file.bytes, out.piece[i].data, out.piece[i].bytes);
	pte_output_free(&out);
	if (!program_open_file(&p, file, data, ndata, err ? err : &own) && !err)
		fail_msg("%s", own.text);
	return p;
}
