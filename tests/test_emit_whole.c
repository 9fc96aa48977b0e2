/* Emitting whole programs: delegates, named data, data files, order of calls, writing. Programs are made here,
 * emitted, and opened again as any file would be. */
#include "tests/tap.h"

#include "core/op/op.h"
#include "core/program/emit.h"
#include "core/program/lift.h"
#include "core/xnn/lower.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t square[] = { 4, 4 };
static float numbers[4][16];

/* A program to start from: values it is said to hold, and the graph to be written. */
struct fixture {
	struct arena mem;
	struct program p;
	struct pte_plan plan;
	struct graph *filed, *g;
	struct emitted out;
	struct error err;
};

static void setup(struct fixture *f)
{
	memset(f, 0, sizeof *f);
	f->filed = graph_new("forward");
	f->g = graph_new("forward");
	f->plan.name = "forward";
	f->plan.buffer_bytes = arena_array(&f->mem, 2, sizeof(int64_t));
	f->plan.nbuffers = 2;
	f->p.pte.plan = &f->plan;
	f->p.pte.nplans = f->p.nmethods = 1;
	f->p.method = arena_array(&f->mem, 1, sizeof(struct graph *));
	f->p.method[0] = f->filed;
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 16; k++)
			numbers[i][k] = (float)(i * 16 + k);
}

static void teardown(struct fixture *f)
{
	emitted_free(&f->out);
	graph_free(f->g);
	graph_free(f->filed);
	arena_free(&f->mem);
}

static struct value *input(struct graph *g)
{
	struct value *v = graph_value(g, VALUE_INPUT, DTYPE_F32, 2, square);

	graph_add_input(g, v, arg_none());
	return v;
}

static struct value *constant(struct graph *g, const char *name, int content)
{
	struct value *v = graph_value(g, VALUE_CONSTANT, DTYPE_F32, 2, square);

	v->name = name;
	v->data = (const uint8_t *)numbers[content];
	return v;
}

static struct value *build(struct graph *g, const char *op, const struct arg *arg, int nargs)
{
	struct error err = { 0 };
	struct value *v = op_build(g, NULL, op, arg, nargs, &err);

	if (!v)
		fail_msg("%s", err.text);
	return v;
}

static struct value *linear(struct graph *g, struct value *x, struct value *w)
{
	return build(g, "aten.linear.default", (struct arg[]){ arg_value(x), arg_value(w), arg_none() }, 3);
}

static struct value *add(struct graph *g, struct value *a, struct value *b)
{
	return build(g, "aten.add.Tensor", (struct arg[]){ arg_value(a), arg_value(b), arg_int(1) }, 3);
}

static struct value *exp_of(struct graph *g, struct value *a)
{
	return build(g, "aten.exp.default", (struct arg[]){ arg_value(a) }, 1);
}

static void output(struct graph *g, struct value *v)
{
	graph_add_output(g, arg_value(v));
}

static void delegate(struct graph *g, struct value *v, int group)
{
	graph_set_group(g, v->def, group);
}

static void emit(struct fixture *f)
{
	if (!program_emit(&f->out, &f->p, &f->g, &f->err))
		fail_msg("%s", f->err.text);
}

static void open_emitted(struct program **p, const struct emitted *e)
{
	int fd = memfd_create("emitted", MFD_CLOEXEC);
	struct file file;
	struct error err;

	for (int i = 0; i < e->program.npieces; i++)
		assert_int_equal(write(fd, e->program.piece[i].data, e->program.piece[i].bytes),
			e->program.piece[i].bytes);
	assert_true(file_open_fd(&file, fd, "emitted", &err));
	close(fd);
	if (!program_open_file(p, file, NULL, 0, &err))
		fail_msg("%s", err.text);
}

/* A second edit, of what was written and opened again. */
struct again {
	struct program *p;
	struct graph *g;
	struct emitted out;
	struct program *then;
	struct error err;
};

static void open_again(struct again *a, const struct fixture *f)
{
	memset(a, 0, sizeof *a);
	open_emitted(&a->p, &f->out);
	a->g = graph_clone(a->p->method[0]);
}

static void emit_again(struct again *a)
{
	if (!program_emit(&a->out, a->p, &a->g, &a->err))
		fail_msg("%s", a->err.text);
	open_emitted(&a->then, &a->out);
}

static void close_again(struct again *a)
{
	program_close(a->then);
	emitted_free(&a->out);
	graph_free(a->g);
	program_close(a->p);
}

/* linear(x, w) in a delegate, on x itself; behind it exp outside. */
static void make_delegated(struct fixture *f)
{
	struct value *x, *y;

	setup(f);
	x = input(f->g);
	y = linear(f->g, x, constant(f->g, "w", 0));
	delegate(f->g, y, graph_add_group(f->g, -1));
	output(f->g, exp_of(f->g, y));
	emit(f);
}

/* ---- delegates ---- */

static void a_group_becomes_one_delegate_call(void **state)
{
	struct fixture f;
	struct again a;
	const struct pte_plan *p;

	make_delegated(&f);
	open_again(&a, &f);
	p = &a.p->pte.plan[0];
	assert_int_equal(p->ndelegates, 1);
	assert_string_equal(p->delegate[0].id, "XnnpackBackend");
	assert_int_equal(p->chain[0].ninstructions, 2);
	assert_int_equal(p->chain[0].instruction[0].call, PTE_DELEGATE);
	assert_int_equal(p->chain[0].instruction[0].nargs, 2);	/* inputs, outputs, no return slot */
	assert_int_equal(p->chain[0].instruction[0].arg[0], p->input[0]);
	assert_int_equal(a.p->pte.nnamed, 1);
	assert_int_equal(a.p->pte.named[0].key_bytes, 64);
	assert_memory_equal(a.p->pte.named[0].data.data, numbers[0], 64);
	emit_again(&a);
	close_again(&a);
	teardown(&f);
}

static void an_untouched_delegate_keeps_its_bytes(void **state)
{
	struct fixture f;
	struct again a;
	struct pte_delegate *was;
	const struct pte_delegate *is;
	uint8_t *longer;

	make_delegated(&f);
	open_again(&a, &f);
	was = &a.p->pte.plan[0].delegate[0];
	longer = arena_alloc(&f.mem, was->blob.bytes + 16);	/* so that it is not what lowering would make */
	memcpy(longer, was->blob.data, was->blob.bytes);
	was->blob = (struct span){ longer, was->blob.bytes + 16 };
	output(a.g, exp_of(a.g, a.g->output[0].value));
	emit_again(&a);
	is = &a.then->pte.plan[0].delegate[0];
	assert_int_equal(is->blob.bytes, was->blob.bytes);
	assert_memory_equal(is->blob.data, was->blob.data, was->blob.bytes);
	assert_int_equal(a.then->pte.plan[0].chain[0].ninstructions, 3);
	assert_int_equal(a.then->pte.nnamed, 1);
	close_again(&a);
	teardown(&f);
}

static void a_delegate_that_an_edit_touches_is_made_anew(void **state)
{
	struct fixture f;
	struct again a;
	struct node *n;

	make_delegated(&f);
	open_again(&a, &f);
	for (n = a.g->first; !(n->op->flags & OP_GEMM);)
		n = n->next;
	graph_set_arg(a.g, n, 1, arg_value(constant(a.g, "other", 1)));
	emit_again(&a);
	assert_int_equal(a.then->pte.plan[0].ndelegates, 1);
	assert_int_equal(a.then->pte.nnamed, 1);	/* and what nobody reads any more is gone */
	assert_memory_equal(a.then->pte.named[0].data.data, numbers[1], 64);
	close_again(&a);
	teardown(&f);
}

static void a_delegate_without_nodes_goes_with_its_data(void **state)
{
	struct fixture f;
	struct again a;

	make_delegated(&f);
	open_again(&a, &f);
	graph_replace(a.g, a.g->output[0].value, exp_of(a.g, a.g->input[0]));
	graph_sweep(a.g);
	emit_again(&a);
	assert_int_equal(a.then->pte.plan[0].ndelegates, 0);
	assert_int_equal(a.then->pte.nnamed, 0);
	assert_int_equal(a.out.tensor_bytes, 0);
	close_again(&a);
	teardown(&f);
}

/* What another backend's bytes name may be read by it, even when no delegate of ours reads it any more. */
static void data_that_another_backend_names_stays(void **state)
{
	struct fixture f;
	struct again a;
	struct pte_plan *p;
	struct program_delegate *read;
	struct pte_delegate *both;
	char blob[100];

	make_delegated(&f);
	open_again(&a, &f);
	snprintf(blob, sizeof blob, "it reads %.64s", a.p->pte.named[0].key);
	p = &a.p->pte.plan[0];
	both = arena_array(&f.mem, 2, sizeof *both);
	both[0] = p->delegate[0];
	both[1] = (struct pte_delegate){ .id = "QnnBackend", .blob = { (const uint8_t *)blob, strlen(blob) } };
	for (int named = 0; named < 2; named++) {
		if (named) {
			p->delegate = both;
			p->ndelegates = 2;
			read = arena_array(&f.mem, 2, sizeof *read);
			read[0] = a.p->delegate[0][0];
			read[1].why = arena_alloc(&f.mem, sizeof(struct error));
			a.p->delegate[0] = read;
		} else {
			graph_replace(a.g, a.g->output[0].value, exp_of(a.g, a.g->input[0]));
			graph_sweep(a.g);
		}
		assert_true(program_emit(&a.out, a.p, &a.g, &a.err));
		assert_int_equal(a.out.tensor_bytes, named ? 64 : 0);
		emitted_free(&a.out);
	}
	close_again(&a);
	teardown(&f);
}

static void stack_traces_that_go_are_said(void **state)
{
	struct fixture f;
	struct again a;
	bool said = false;

	make_delegated(&f);
	open_again(&a, &f);
	a.p->pte.plan[0].has_stacktrace = true;
	output(a.g, exp_of(a.g, a.g->output[0].value));
	emit_again(&a);
	for (int i = 0; i < a.out.nlost; i++)
		said |= !strcmp(a.out.lost[i], "stack traces of forward");
	assert_true(said);
	close_again(&a);
	teardown(&f);
}

static void a_weight_of_kernel_and_delegate_is_stored_once(void **state)
{
	struct fixture f;
	struct again a;
	struct value *x, *w, *y;
	const struct pte_tensor *t;

	setup(&f);
	x = input(f.g);
	w = constant(f.g, "w", 0);
	y = linear(f.g, x, w);
	delegate(f.g, y, graph_add_group(f.g, -1));
	output(f.g, add(f.g, y, w));
	emit(&f);
	assert_int_equal(f.out.tensor_bytes, 64);
	open_again(&a, &f);
	t = a.p->pte.plan[0].value[a.p->pte.plan[0].chain[0].instruction[1].arg[1]].tensor;
	assert_int_equal(t->storage, PTE_CONSTANT);
	assert_ptr_equal(t->data, a.p->pte.named[0].data.data);
	emit_again(&a);
	close_again(&a);
	teardown(&f);
}

static void compile_specs_are_kept(void **state)
{
	static struct pte_spec spec = { "key", { (const uint8_t *)"value", 5 } };
	static struct pte_delegate filed = { .id = "XnnpackBackend", .spec = &spec, .nspecs = 1 };
	struct fixture f;
	struct again a;
	struct value *y;

	setup(&f);
	f.p.delegate = arena_array(&f.mem, 1, sizeof *f.p.delegate);
	f.p.delegate[0] = arena_array(&f.mem, 1, sizeof **f.p.delegate);
	f.p.delegate[0][0].why = arena_alloc(&f.mem, sizeof(struct error));
	f.plan.delegate = &filed;
	f.plan.ndelegates = 1;
	y = linear(f.g, input(f.g), constant(f.g, "w", 0));
	delegate(f.g, y, graph_add_group(f.g, -1));
	output(f.g, y);
	emit(&f);
	open_again(&a, &f);
	assert_int_equal(a.p->pte.plan[0].delegate[0].nspecs, 1);
	assert_string_equal(a.p->pte.plan[0].delegate[0].spec[0].key, "key");
	assert_memory_equal(a.p->pte.plan[0].delegate[0].spec[0].value.data, "value", 5);
	emit_again(&a);
	close_again(&a);
	teardown(&f);
}

static bool has_data(const struct pte *p, struct span data)
{
	for (int i = 0; i < p->nnamed; i++)
		if (p->named[i].data.bytes == data.bytes && !memcmp(p->named[i].data.data, data.data, data.bytes))
			return true;
	return false;
}

/* A delegate that is made anew stores its quantised weights, their scales and biases as they were. */
static void packed_weights_go_through(void **state)
{
	static const char *const files[] = { "conv_qs8", "linear_int4" };

	for (int i = 0; i < 2; i++) {
		struct fixture f;
		struct again a = { 0 };

		setup(&f);
		if (!program_open(&a.p, arena_printf(&f.mem, "tests/fixtures/programs/%s.pte", files[i]), NULL, 0, &a.err))
			fail_msg("%s", a.err.text);
		a.g = graph_clone(a.p->method[0]);
		a.g->group[0].changed = true;
		emit_again(&a);
		assert_memory_not_equal(a.then->pte.plan[0].delegate[0].blob.data, a.p->pte.plan[0].delegate[0].blob.data, 64);
		assert_int_equal(a.then->pte.nnamed, a.p->pte.nnamed);
		for (int k = 0; k < a.p->pte.nnamed; k++)
			assert_true(has_data(&a.then->pte, a.p->pte.named[k].data));
		close_again(&a);
		teardown(&f);
	}
}

/* ---- order ---- */

static void what_stands_between_members_of_a_group_moves(void **state)
{
	struct fixture f;
	struct again a;
	struct value *x, *first, *between, *second;
	int group;

	setup(&f);
	x = input(f.g);
	group = graph_add_group(f.g, -1);
	first = linear(f.g, x, constant(f.g, "w", 0));
	between = exp_of(f.g, x);
	second = linear(f.g, between, constant(f.g, "v", 1));
	delegate(f.g, first, group);
	delegate(f.g, second, group);
	output(f.g, add(f.g, first, second));
	emit(&f);
	open_again(&a, &f);
	assert_int_equal(a.p->pte.plan[0].chain[0].ninstructions, 3);
	assert_int_equal(a.p->pte.plan[0].chain[0].instruction[0].call, PTE_KERNEL);
	assert_int_equal(a.p->pte.plan[0].chain[0].instruction[1].call, PTE_DELEGATE);
	emit_again(&a);
	close_again(&a);
	teardown(&f);
}

static void a_group_with_a_way_out_and_back_is_refused(void **state)
{
	struct fixture f;
	struct value *y;
	int group;

	setup(&f);
	group = graph_add_group(f.g, -1);
	y = linear(f.g, input(f.g), constant(f.g, "w", 0));
	delegate(f.g, y, group);
	y = linear(f.g, exp_of(f.g, y), constant(f.g, "v", 1));
	delegate(f.g, y, group);
	output(f.g, y);
	assert_false(program_emit(&f.out, &f.p, &f.g, &f.err));
	assert_int_equal(f.err.code, ERROR_REFUSED);
	assert_non_null(strstr(f.err.text, "before and after"));
	teardown(&f);
}

static void handles_are_lost_where_calls_move(void **state)
{
	for (int moves = 0; moves < 2; moves++) {
		struct fixture f;
		struct again a;

		make_delegated(&f);
		open_again(&a, &f);
		if (moves) {
			graph_replace(a.g, a.g->output[0].value, exp_of(a.g, a.g->input[0]));
			graph_sweep(a.g);
		}
		emit_again(&a);
		assert_int_equal(a.out.nlost, moves);
		if (moves)
			assert_string_equal(a.out.lost[0], "debug handles of forward: 0 calls have other numbers, "
				"1 are gone; result.calls of the JSON report maps them");
		close_again(&a);
		teardown(&f);
	}
}

/* Constants keep the order of the file, those of a pass come behind them, and then inputs, however calls use them. */
static void stored_values_and_inputs_keep_their_order(void **state)
{
	struct fixture f;
	struct again a;
	struct value *x[2], *y;
	const struct pte_plan *plan;

	setup(&f);
	x[0] = input(f.g);
	x[1] = input(f.g);
	y = add(f.g, x[0], x[1]);
	for (int i = 0; i < 3; i++)
		y = add(f.g, y, constant(f.g, "w", i));
	output(f.g, y);
	emit(&f);
	open_again(&a, &f);
	y = add(a.g, a.g->input[1], constant(a.g, "folded", 3));
	for (const struct node *n = a.g->output[0].value->def; node_input(n, 1)->kind == VALUE_CONSTANT;
	     n = node_input(n, 0)->def)
		y = add(a.g, y, node_input(n, 1));	/* last one first */
	y = add(a.g, y, a.g->input[0]);
	graph_replace(a.g, a.g->output[0].value, y);
	graph_sweep(a.g);
	emit_again(&a);
	plan = a.then->pte.plan;
	for (int i = 0; i < 4; i++)
		assert_memory_equal(plan->value[i].tensor->data, numbers[i], 64);
	for (int i = 0; i < 2; i++)
		assert_int_equal(plan->input[i], 4 + i);
	close_again(&a);
	teardown(&f);
}

static void calls_that_move_are_mapped(void **state)
{
	struct fixture f;
	struct again a;
	struct value *in, *y;

	make_delegated(&f);
	open_again(&a, &f);
	in = a.g->input[0];	/* the file: delegate, exp; now: a new exp, the delegate, exp */
	y = exp_of(a.g, in);
	y->def->origin.instruction = -1;
	graph_move(a.g, y->def, a.g->first);
	graph_replace_in(a.g, y->def->next, in, y);
	emit_again(&a);
	assert_int_equal(a.out.nlost, 2);
	assert_string_equal(a.out.lost[0], "debug handles of forward: 2 calls have other numbers, 0 are gone; "
		"result.calls of the JSON report maps them");
	assert_string_equal(a.out.lost[1], "delegate debug ids of forward: operators numbered anew, delegates: 1");
	assert_int_equal(a.out.nmoved, 1);
	assert_string_equal(a.out.moved->method, "forward");
	assert_int_equal(a.out.moved->ncalls, 3);
	assert_int_equal(a.out.moved->call[0].n, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(a.out.moved->call[1 + i].n, 1);
		assert_int_equal(a.out.moved->call[1 + i].was[0], i);
	}
	assert_int_equal(a.out.moved->ngone, 0);
	close_again(&a);
	teardown(&f);
}

/* ---- operators without a row ---- */

static void a_call_of_an_unknown_operator_is_written_as_it_was(void **state)
{
	/* my::op(self, none, [none, self], out) as the file calls it, then my::op_(state, 3, state), in place */
	static int32_t args[] = { 0, 2, 3, 1, 1 }, inplace[] = { 5, 4, 5 };
	static struct pte_instruction calls[] = { { PTE_KERNEL, 0, 0, args, 5 }, { PTE_KERNEL, 1, 0, inplace, 3 } };
	static struct pte_chain chain = { calls, 2 };
	static struct pte_operator operators[] = { { "my::op", "out" }, { "my::op_", "" } };
	static int32_t items[] = { -1, 0 }, in[] = { 0 }, out[] = { 1 };
	static struct pte_tensor t[3];
	static struct pte_value values[6];
	static struct span mutable[2];
	struct pte_image image = { 0 };
	struct pte_output written;
	struct emitted first = { 0 };
	struct fixture f;
	struct again a;
	const struct pte_plan *p;

	setup(&f);
	for (int i = 0; i < 3; i++) {
		t[i] = (struct pte_tensor){ .dtype = DTYPE_F32, .rank = 2, .size = { 4, 4 }, .dim_order = { 0,
			1 }, .bytes = 64,
			.storage = PTE_PLANNED, .has_allocation = true, .memory_id = 1,
				.memory_offset = 64 * (uint64_t)i };
		values[i < 2 ? i : 5] = (struct pte_value){ .tag = PTE_TENSOR, .tensor = &t[i] };
	}
	t[2].storage = PTE_MUTABLE;
	t[2].data_index = 1;
	mutable[1] = (struct span){ (const uint8_t *)numbers[0], 64 };
	values[2] = (struct pte_value){ .tag = PTE_NULL };
	values[3] = (struct pte_value){ .tag = PTE_OPTIONAL_TENSOR_LIST, .index = { items, 2 } };
	values[4] = (struct pte_value){ .tag = PTE_INT, .i = 3 };
	f.plan.value = values;
	f.plan.nvalues = 6;
	f.plan.input = in;
	f.plan.output = out;
	f.plan.ninputs = f.plan.noutputs = 1;
	f.plan.chain = &chain;
	f.plan.nchains = 1;
	f.plan.operator = operators;
	f.plan.noperators = 2;
	f.plan.buffer_bytes[1] = 192;
	image.plan = &f.plan;
	image.nplans = image.nconstants = 1;
	image.constant = arena_array(&f.mem, 1, sizeof(struct span));
	image.mutable = mutable;
	image.nmutable = 2;
	assert_true(pte_write(&written, &image, &f.err));
	first.program = written;
	memset(&a, 0, sizeof a);
	open_emitted(&a.p, &first);
	pte_output_free(&written);
	a.g = graph_clone(a.p->method[0]);
	output(a.g, exp_of(a.g, a.g->output[0].value));	/* some change */
	emit_again(&a);
	p = &a.then->pte.plan[0];
	assert_int_equal(p->chain[0].ninstructions, 3);
	assert_string_equal(p->operator[p->chain[0].instruction[0].index].name, "my::op");
	assert_int_equal(p->chain[0].instruction[0].nargs, 5);
	assert_int_equal(p->value[p->chain[0].instruction[0].arg[1]].tag, PTE_NULL);
	assert_int_equal(p->value[p->chain[0].instruction[0].arg[2]].tag, PTE_OPTIONAL_TENSOR_LIST);
	assert_int_equal(p->value[p->chain[0].instruction[0].arg[2]].index.at[0], -1);
	assert_int_equal(p->chain[0].instruction[0].arg[3], p->chain[0].instruction[0].arg[4]);
	assert_int_equal(p->chain[0].instruction[1].arg[0], p->chain[0].instruction[1].arg[2]);
	close_again(&a);
	teardown(&f);
}

/* ---- data files ---- */

static struct ptd_entry entry(const char *key, int content)
{
	return (struct ptd_entry){ .key = key, .key_bytes = strlen(key),
		.data = { (const uint8_t *)numbers[content], 64 },
		.has_layout = true, .dtype = DTYPE_F32, .rank = 2, .size = { 4, 4 }, .dim_order = { 0, 1 } };
}

/* base.ptd with w, which the program as filed reads, and another program's v. */
static void add_data_file(struct fixture *f)
{
	struct pte_tensor *t = arena_alloc(&f->mem, sizeof *t);

	f->p.ndata = 1;
	f->p.data = arena_alloc(&f->mem, sizeof *f->p.data);
	f->p.data->path = "there/base.ptd";
	f->p.data->entry = arena_array(&f->mem, 2, sizeof *f->p.data->entry);
	f->p.data->entry[0] = entry("w", 0);
	f->p.data->entry[1] = entry("v", 1);
	f->p.data->nentries = 2;
	for (int i = 0; i < 2; i++)
		map_put(&f->p.data->entry_by_key, &f->mem, f->p.data->entry[i].key, 1, &f->p.data->entry[i]);
	f->plan.value = arena_alloc(&f->mem, sizeof *f->plan.value);
	f->plan.value[0] = (struct pte_value){ .tag = PTE_TENSOR, .tensor = t };
	f->plan.nvalues = 1;
	*t = (struct pte_tensor){ .dtype = DTYPE_F32, .rank = 2, .size = { 4, 4 }, .dim_order = { 0, 1 }, .bytes = 64,
		.storage = PTE_EXTERNAL, .has_extra = true, .name = "w", .location = 1 };
}

static struct value *external(struct fixture *f, const char *name, const char *folded, int content)
{
	struct value *v = constant(f->g, folded ? folded : name, content);

	v->home = 0;
	v->folded = folded;
	return v;
}

static void an_external_constant_stays_external(void **state)
{
	struct fixture f;

	setup(&f);
	add_data_file(&f);
	output(f.g, add(f.g, input(f.g), external(&f, "w", NULL, 0)));
	emit(&f);
	assert_int_equal(f.out.ndata, 0);	/* the data file is only referenced */
	assert_int_equal(f.out.tensor_bytes, 128);
	teardown(&f);
}

static void read_data(struct fixture *f, struct ptd *ptd)
{
	int fd = memfd_create("data", MFD_CLOEXEC);
	struct file file;

	assert_int_equal(f->out.ndata, 1);
	for (int i = 0; i < f->out.data[0].file.npieces; i++)
		assert_true(write(fd, f->out.data[0].file.piece[i].data, f->out.data[0].file.piece[i].bytes) >= 0);
	assert_true(file_open_fd(&file, fd, "data", &f->err));
	close(fd);
	if (!ptd_read(ptd, &file, &f->mem, &f->err))
		fail_msg("%s", f->err.text);
}

static void a_folded_external_constant_replaces_its_source(void **state)
{
	struct fixture f;
	struct ptd ptd;

	setup(&f);
	add_data_file(&f);
	output(f.g, add(f.g, input(f.g), external(&f, "w", "w_prop_0", 2)));
	emit(&f);
	read_data(&f, &ptd);
	assert_int_equal(ptd.nentries, 2);
	assert_null(ptd_find(&ptd, "w", 1));
	assert_non_null(ptd_find(&ptd, "v", 1));	/* not this program's: kept */
	assert_memory_equal(ptd_find(&ptd, "w_prop_0", 8)->data.data, numbers[2], 64);
	assert_int_equal(f.out.tensor_bytes, 128);
	teardown(&f);
}

/* In a delegate it is read by its digest, from the data file that held it; there it replaces the tensor. Where the
 * digest is in the file already, nothing is written. */
static void a_delegated_weight_from_a_data_file_stays_in_it(void **state)
{
	struct fixture f;
	struct value *y;
	const char *key;
	struct ptd ptd;

	for (int there = 0; there < 2; there++) {
		setup(&f);
		add_data_file(&f);
		key = data_key(&f.mem, "", (const uint8_t *)numbers[0], 64);
		assert_int_equal(strlen(key), 64);
		if (there) {
			f.p.data->entry[1] = entry(key, 0);
			map_put(&f.p.data->entry_by_key, &f.mem, key, 64, &f.p.data->entry[1]);
		}
		y = linear(f.g, input(f.g), external(&f, "w", NULL, 0));
		delegate(f.g, y, graph_add_group(f.g, -1));
		if (there)
			y = add(f.g, y, external(&f, "w", NULL, 0));
		output(f.g, y);
		emit(&f);
		assert_int_equal(f.out.tensor_bytes, there ? 64 : 128);
		if (there) {
			assert_int_equal(f.out.ndata, 0);
		} else {
			read_data(&f, &ptd);
			assert_null(ptd_find(&ptd, "w", 1));
			assert_non_null(ptd_find(&ptd, "v", 1));
			assert_memory_equal(ptd_find(&ptd, key, 64)->data.data, numbers[0], 64);
		}
		for (int i = 0; i < f.out.program.npieces; i++)
			assert_ptr_not_equal(f.out.program.piece[i].data, numbers[0]);
		teardown(&f);
	}
}

static void two_tensors_under_one_name_are_refused(void **state)
{
	struct fixture f;
	struct value *x;

	setup(&f);
	add_data_file(&f);
	x = add(f.g, input(f.g), external(&f, "w", "w_prop_0", 2));
	output(f.g, add(f.g, x, external(&f, "w", "w_prop_0", 3)));
	assert_false(program_emit(&f.out, &f.p, &f.g, &f.err));
	assert_int_equal(f.err.code, ERROR_REFUSED);
	assert_non_null(strstr(f.err.text, "w_prop_0"));
	teardown(&f);
}

/* ---- writing ---- */

static char *folder(struct fixture *f)
{
	char *dir = arena_string(&f->mem, "/tmp/etinspect-emit-XXXXXX");

	assert_non_null(mkdtemp(dir));
	return dir;
}

static void make_with_data(struct fixture *f)
{
	setup(f);
	add_data_file(f);
	output(f->g, add(f->g, input(f->g), external(f, "w", "w_prop_0", 2)));
	emit(f);
}

static void changed_data_is_written_beside_the_program(void **state)
{
	struct fixture f;
	const char *dir, *path, *data;
	struct stat st;

	make_with_data(&f);
	dir = folder(&f);
	path = arena_printf(&f.mem, "%s/out.pte", dir);
	data = arena_printf(&f.mem, "%s/out.base.ptd", dir);
	if (!emitted_write(&f.out, &f.p, path, false, &f.err))
		fail_msg("%s", f.err.text);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, f.out.program.bytes);
	assert_int_equal(stat(data, &st), 0);
	assert_int_equal(st.st_size, f.out.data[0].file.bytes);
	assert_false(emitted_write(&f.out, &f.p, path, false, &f.err));	/* exists */
	assert_int_equal(f.err.code, ERROR_IO);
	assert_true(emitted_write(&f.out, &f.p, path, true, &f.err));
	unlink(path);
	unlink(data);
	assert_int_equal(rmdir(dir), 0);	/* nothing else was left */
	teardown(&f);
}

static void a_failed_write_leaves_nothing(void **state)
{
	struct fixture f;
	const char *dir, *data;

	make_with_data(&f);
	dir = folder(&f);
	data = arena_printf(&f.mem, "%s/out.base.ptd", dir);
	assert_int_equal(mkdir(data, 0700), 0);	/* a folder is in the way of the data file */
	assert_false(emitted_write(&f.out, &f.p, arena_printf(&f.mem, "%s/out.pte", dir), true, &f.err));
	assert_int_equal(f.err.code, ERROR_IO);
	rmdir(data);
	assert_int_equal(rmdir(dir), 0);
	teardown(&f);
}

static void what_is_no_file_is_not_replaced(void **state)
{
	struct fixture f;
	const char *dir, *path;
	struct stat st;

	make_with_data(&f);
	dir = folder(&f);
	path = arena_printf(&f.mem, "%s/out.pte", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(emitted_write(&f.out, &f.p, path, true, &f.err));
	assert_int_equal(f.err.code, ERROR_IO);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	unlink(path);
	assert_int_equal(rmdir(dir), 0);	/* nor is the data file left, which comes first */
	teardown(&f);
}

static void data_files_of_one_name_are_refused(void **state)
{
	struct fixture f;
	const char *dir;

	make_with_data(&f);
	dir = folder(&f);
	pte_output_free(&f.out.data[0].file);
	f.out.data = arena_array(&f.mem, 2, sizeof *f.out.data);
	f.out.data[0].file = f.out.data[1].file = (struct pte_output){ .bytes = 0 };	/* both of "base.ptd" */
	f.out.ndata = 2;
	assert_false(emitted_write(&f.out, &f.p, arena_printf(&f.mem, "%s/out.pte", dir), false, &f.err));
	assert_non_null(strstr(f.err.text, "two files would have this name"));
	assert_int_equal(rmdir(dir), 0);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_becomes_one_delegate_call),
			cmocka_unit_test(an_untouched_delegate_keeps_its_bytes),
		cmocka_unit_test(a_delegate_that_an_edit_touches_is_made_anew),
		cmocka_unit_test(a_delegate_without_nodes_goes_with_its_data),
		cmocka_unit_test(data_that_another_backend_names_stays),
		cmocka_unit_test(stack_traces_that_go_are_said),
		cmocka_unit_test(packed_weights_go_through),
		cmocka_unit_test(a_weight_of_kernel_and_delegate_is_stored_once),
			cmocka_unit_test(compile_specs_are_kept),
		cmocka_unit_test(what_stands_between_members_of_a_group_moves),
		cmocka_unit_test(a_group_with_a_way_out_and_back_is_refused),
			cmocka_unit_test(handles_are_lost_where_calls_move),
			cmocka_unit_test(calls_that_move_are_mapped),
		cmocka_unit_test(stored_values_and_inputs_keep_their_order),
		cmocka_unit_test(a_call_of_an_unknown_operator_is_written_as_it_was),
		cmocka_unit_test(an_external_constant_stays_external),
		cmocka_unit_test(a_folded_external_constant_replaces_its_source),
		cmocka_unit_test(a_delegated_weight_from_a_data_file_stays_in_it),
		cmocka_unit_test(two_tensors_under_one_name_are_refused),
		cmocka_unit_test(changed_data_is_written_beside_the_program),
		cmocka_unit_test(a_failed_write_leaves_nothing),
		cmocka_unit_test(what_is_no_file_is_not_replaced),
		cmocka_unit_test(data_files_of_one_name_are_refused),
	};

	return RUN_TAP(tests);
}
