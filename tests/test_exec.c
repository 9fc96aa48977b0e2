/* The interpreter, on graphs made by hand from operators of its own. */
#include "core/op/loop.h"
#include "core/run/exec.h"
#include "tests/tap.h"

/* Operators */

static bool like_first(struct call *c, struct error *err)
{
	if (!call_check(c, err))
		return false;
	for (int i = 0; i < c->nouts; i++)
		tensor_set_like(c->out[i], c->arg[0].tensor);
	return true;
}

static float *floats(const struct tensor *t) { return t->data; }

static bool run_add(struct call *c, struct error *err)
{
	for (int64_t i = 0; i < tensor_numel(c->out[0]); i++)
		floats(c->out[0])[i] = floats(c->arg[0].tensor)[i] + floats(c->arg[1].tensor)[i];
	return true;
}

static bool run_scale(struct call *c, struct error *err)	/* uses scratch as well */
{
	memset(arena_alloc(c->scratch, 20000), 1, 20000);
	if (c->arg[1].kind == ARG_VALUE || (uintptr_t)c->arg[0].tensor->data % sizeof(float))
		return error_set(err, ERROR_RUN, "a number that is a tensor, or a tensor at an odd place");
	for (int64_t i = 0; i < tensor_numel(c->out[0]); i++)
		floats(c->out[0])[i] = floats(c->arg[0].tensor)[i] * (float)call_double(c, 1, 0);
	return true;
}

static bool shape_sum(struct call *c, struct error *err)
{
	tensor_set_type(c->out[0], DTYPE_F64, 0, NULL);
	return call_check(c, err);
}

static bool run_sum(struct call *c, struct error *err)
{
	double sum = 0;

	for (int64_t i = 0; i < tensor_numel(c->arg[0].tensor); i++)
		sum += floats(c->arg[0].tensor)[i];
	*(double *)c->out[0]->data = sum;
	return true;
}

static bool shape_flat(struct call *c, struct error *err)
{
	int64_t n = tensor_numel(c->arg[0].tensor);

	tensor_set_type(c->out[0], c->arg[0].tensor->dtype, 1, &n);
	return call_check(c, err);
}

static bool run_flat(struct call *c, struct error *err)
{
	memcpy(c->out[0]->data, c->arg[0].tensor->data, c->arg[0].tensor->capacity);
	return true;
}

static bool run_accumulate(struct call *c, struct error *err)
{
	for (int64_t i = 0; i < tensor_numel(c->arg[0].tensor); i++)
		floats(c->arg[0].tensor)[i] += floats(c->arg[1].tensor)[i];
	return true;
}

static bool run_halves(struct call *c, struct error *err)	/* x/2 and x - x/2 */
{
	for (int64_t i = 0; i < tensor_numel(c->out[0]); i++) {
		floats(c->out[0])[i] = floats(c->arg[0].tensor)[i] / 2;
		floats(c->out[1])[i] = floats(c->arg[0].tensor)[i] - floats(c->out[0])[i];
	}
	return true;
}

static bool shape_turned(struct call *c, struct error *err)
{
	tensor_set_like(c->out[0], c->arg[0].tensor);
	c->out[0]->dim_order[0] = 1;
	c->out[0]->dim_order[1] = 0;
	tensor_set_strides(c->out[0]);
	return true;
}

static const struct op
	op_turned = { "test.turned", NULL, "T>T", "self", DTYPES_ANY, 0, shape_turned, run_flat },
	op_add = { "test.add", NULL, "TT>T", "self, other", DTYPES_ANY, 0, like_first, run_add },
	op_scale = { "test.scale", NULL, "TS>T", "self, by", DTYPES_ANY, 0, like_first, run_scale },
	op_sum = { "test.sum", NULL, "T>N", "self", DTYPES_ANY, 0, shape_sum, run_sum },
	op_flat = { "test.flat", NULL, "T>T", "self", DTYPES_ANY, OP_VIEW, shape_flat, run_flat },
	op_look = { "test.look", NULL, "T>T", "self", DTYPES_ANY, OP_VIEW, shape_flat, NULL },	/* can only be looked through */
	op_accumulate = { "test.accumulate_", NULL, "TT>", "self, by", DTYPES_ANY, OP_MUTATES, like_first, run_accumulate },
	op_halves = { "test.halves", NULL, "T>TT", "self", DTYPES_ANY, 0, like_first, run_halves },
	op_unknown = { "other.op", NULL, "T>T", "self", DTYPES_ANY, OP_OPAQUE, NULL, NULL };

/* Graphs */

static const int64_t two_by_three[] = { 2, 3 };

static struct value *node(struct graph *g, const struct op *op, struct arg a, struct arg b)
{
	struct arg arg[] = { a, b };
	struct node *n = graph_node(g, NULL, op, arg, op_nargs(op));
	struct value *first = a.value;

	if (op->flags & OP_MUTATES)
		return NULL;
	for (int i = 0; i < op_nouts(op); i++) {
		int64_t flat = dtype_numel(first->rank, first->size);

		if (op == &op_sum)
			node_add_output(g, n, DTYPE_F64, 0, NULL)->scalar = true;
		else if (op->flags & OP_VIEW)
			node_add_output(g, n, first->dtype, 1, &flat);
		else
			node_add_output(g, n, first->dtype, first->rank, first->size);
		n->out[i]->dynamic = first->dynamic;
	}
	return n->out[0];
}

static struct value *input(struct graph *g)
{
	struct value *v = graph_value(g, VALUE_INPUT, DTYPE_F32, 2, two_by_three);

	graph_add_input(g, v, arg_none());
	return v;
}

static struct value *constant(struct graph *g, const void *data)
{
	struct value *v = graph_value(g, VALUE_CONSTANT, DTYPE_F32, 2, two_by_three);

	v->name = "w";
	v->data = data;
	return v;
}

static struct value *state(struct graph *g, int slot, const void *initial)
{
	struct value *v = graph_value(g, VALUE_STATE, DTYPE_F32, 2, two_by_three);

	v->state_slot = slot;
	v->data = initial;
	return v;
}

static struct exec *open_portable(const struct graph *g)
{
	struct exec_options o = { .engine = ENGINE_PORTABLE, .threads = 1, .time_nodes = true, .seed = 1 };
	struct error err = { 0 };
	struct exec *e = NULL;

	if (!graph_check(g, &err) || !exec_open(&e, NULL, g, &o, &err))
		fail_msg("%s", err.text);
	return e;
}

static void fails_to_open(const struct graph *g, const char *why)
{
	struct exec_options o = { .engine = ENGINE_PORTABLE, .threads = 1 };
	struct error err = { 0 };
	struct exec *e = NULL;

	assert_false(exec_open(&e, NULL, g, &o, &err));
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static struct tensor tensor(float *data, int64_t rows)
{
	struct tensor t = { 0 };

	tensor_set_type(&t, DTYPE_F32, 2, (int64_t[]){ rows, 3 });
	t.data = data;
	t.capacity = (size_t)rows * 3 * sizeof *data;
	return t;
}

static void run(struct exec *e, struct tensor *in)
{
	struct error err = { 0 };

	if (!exec_run(e, &in, in ? 1 : 0, &err))
		fail_msg("%s", err.text);
}

static void fails_to_run(struct exec *e, struct tensor *in, const char *why)
{
	struct error err = { 0 };

	assert_false(exec_run(e, &in, in ? 1 : 0, &err));
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void is(const struct exec *e, int output, const float *want, int n)
{
	const struct tensor *t = exec_output(e, output);

	assert_int_equal(tensor_numel(t), n);
	for (int i = 0; i < n; i++)
		if (floats(t)[i] != want[i])
			fail_msg("output %d: element %d is %g, expected %g", output, i, floats(t)[i], want[i]);
}

/* Tests */

static void values_and_literals_come_out(void **state_)
{
	struct graph *g = graph_new("forward");
	float w[] = { 1, 1, 1, 2, 2, 2 }, x[] = { 1, 2, 3, 4, 5, 6 };
	struct value *in = input(g), *c = constant(g, w), *sum = node(g, &op_add, arg_value(in), arg_value(c));
	struct tensor t = tensor(x, 2);
	struct exec *e;

	graph_add_output(g, arg_value(node(g, &op_add, arg_value(sum), arg_value(in))));
	graph_add_output(g, arg_value(in));
	graph_add_output(g, arg_value(c));
	graph_add_output(g, arg_int(7));
	graph_add_output(g, arg_none());
	e = open_portable(g);
	run(e, &t);
	memset(x, 0, sizeof x);		/* the caller's memory is the caller's */
	is(e, 0, (float[]){ 3, 5, 7, 10, 12, 14 }, 6);
	is(e, 1, (float[]){ 1, 2, 3, 4, 5, 6 }, 6);
	is(e, 2, w, 6);
	assert_int_equal(*(int64_t *)exec_output(e, 3)->data, 7);
	assert_null(exec_output(e, 4));
	assert_int_equal(exec_noutputs(e), 5);
	exec_close(e);
	graph_free(g);
}

/* Many values of different lifetimes in one block: nothing may run over what is still read. */
static void memory_is_reused_but_never_too_early(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[6] = { 1, 1, 1, 1, 1, 1 };
	struct value *in = input(g), *v[64] = { in };
	struct tensor t = tensor(x, 2);
	double want[64] = { 1 };
	struct exec *e;

	for (int i = 1; i < 64; i++) {
		int a = i - 1, b = i / 3;

		v[i] = node(g, &op_add, arg_value(v[a]), arg_value(v[b]));
		want[i] = want[a] + want[b];
		if (want[i] > 1e5) {
			v[i] = node(g, &op_scale, arg_value(v[i]), arg_double(0.0009765625));
			want[i] = (float)want[i] * 0.0009765625;
		}
		want[i] = (float)want[i];
		if (i % 7 == 0)
			graph_add_output(g, arg_value(v[i]));
	}
	e = open_portable(g);
	run(e, &t);
	for (int i = 7, k = 0; i < 64; i += 7, k++)
		if (floats(exec_output(e, k))[5] != (float)want[i])
			fail_msg("value %d is %g, expected %g", i, floats(exec_output(e, k))[5], want[i]);
	exec_close(e);
	graph_free(g);
}

static void views_share_memory(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[] = { 1, 2, 3, 4, 5, 6 };
	struct value *in = input(g), *a = node(g, &op_add, arg_value(in), arg_value(in));
	struct value *view = node(g, &op_look, arg_value(node(g, &op_look, arg_value(a), arg_none())), arg_none());
	struct tensor t = tensor(x, 2);
	struct exec *e;

	/* something that would take the place of `a`, if the view did not keep it */
	node(g, &op_add, arg_value(in), arg_value(in));
	graph_add_output(g, arg_value(node(g, &op_scale, arg_value(view), arg_double(1))));
	graph_add_output(g, arg_value(view));
	e = open_portable(g);
	run(e, &t);
	is(e, 0, (float[]){ 2, 4, 6, 8, 10, 12 }, 6);
	is(e, 1, (float[]){ 2, 4, 6, 8, 10, 12 }, 6);
	exec_close(e);
	graph_free(g);
}

static void a_view_of_state_is_taken_before_it_is_written(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[] = { 1, 2, 3, 4, 5, 6 }, first[] = { 10, 10, 10, 10, 10, 10 };
	struct value *in = input(g), *s = state(g, 2, first), *same = state(g, 2, NULL);
	struct value *before = node(g, &op_flat, arg_value(s), arg_none());
	struct tensor t = tensor(x, 2);
	struct exec *e;

	node(g, &op_accumulate, arg_value(same), arg_value(in));
	graph_add_output(g, arg_value(before));
	graph_add_output(g, arg_value(s));
	e = open_portable(g);
	run(e, &t);
	is(e, 0, first, 6);
	is(e, 1, (float[]){ 11, 12, 13, 14, 15, 16 }, 6);
	run(e, &t);		/* state is kept */
	is(e, 0, (float[]){ 11, 12, 13, 14, 15, 16 }, 6);
	is(e, 1, (float[]){ 12, 14, 16, 18, 20, 22 }, 6);
	exec_reset(e);
	run(e, &t);
	is(e, 1, (float[]){ 11, 12, 13, 14, 15, 16 }, 6);
	assert_true(first[0] == 10);	/* the file's bytes are not touched */
	exec_close(e);
	graph_free(g);
}

static void a_group_is_one_call_in_its_place(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[] = { 1, 2, 3, 4, 5, 6 };
	struct value *in = input(g), *a, *b, *c;
	struct tensor t = tensor(x, 2);
	struct exec *e;

	a = node(g, &op_add, arg_value(in), arg_value(in));
	b = node(g, &op_scale, arg_value(a), arg_double(3));	/* stands between the members, must come after */
	c = node(g, &op_scale, arg_value(in), arg_double(5));
	graph_add_output(g, arg_value(node(g, &op_add, arg_value(b), arg_value(c))));
	a->def->group = c->def->group = graph_add_group(g, -1);
	e = open_portable(g);
	run(e, &t);
	is(e, 0, (float[]){ 11, 22, 33, 44, 55, 66 }, 6);
	exec_close(e);
	b->def->group = -1;
	a->def->group = -1;
	a->def->group = b->def->next->next->group = c->def->group;
	c->def->group = -1;
	fails_to_open(g, "before and after");	/* the last add with the first, what is between waits for both */
	graph_free(g);
}

static void a_group_reads_state_in_its_turn(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[] = { 1, 2, 3, 4, 5, 6 };
	struct value *in = input(g), *s = state(g, 0, NULL), *a, *b;
	struct tensor t = tensor(x, 2);
	struct exec *e;

	a = node(g, &op_add, arg_value(s), arg_value(in));
	node(g, &op_accumulate, arg_value(s), arg_value(in));
	b = node(g, &op_add, arg_value(a), arg_value(in));
	a->def->group = b->def->group = graph_add_group(g, -1);
	graph_add_output(g, arg_value(b));
	e = open_portable(g);
	run(e, &t);
	is(e, 0, (float[]){ 2, 4, 6, 8, 10, 12 }, 6);
	exec_close(e);
	graph_free(g);
}

static void a_result_in_another_order_is_refused(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[6] = { 0 };
	struct tensor t = tensor(x, 2);
	struct exec *e;

	graph_add_output(g, arg_value(node(g, &op_turned, arg_value(input(g)), arg_none())));
	e = open_portable(g);
	fails_to_run(e, &t, "dim order");
	exec_close(e);
	graph_free(g);
}

static void numbers_are_read_when_they_are_there(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[] = { 1, 2, 3, 4, 5, 6 };
	struct value *in = input(g), *sum = node(g, &op_sum, arg_value(in), arg_none());
	struct tensor t = tensor(x, 2);
	struct exec *e;

	graph_add_output(g, arg_value(node(g, &op_scale, arg_value(in), arg_value(sum))));
	graph_add_output(g, arg_value(sum));
	e = open_portable(g);
	run(e, &t);
	is(e, 0, (float[]){ 21, 42, 63, 84, 105, 126 }, 6);
	assert_true(*(double *)exec_output(e, 1)->data == 21);
	x[0] = 2;
	run(e, &t);
	is(e, 0, (float[]){ 44, 44, 66, 88, 110, 132 }, 6);
	exec_close(e);
	graph_free(g);
}

static void sizes_may_shrink_but_not_grow(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct value *in = input(g);
	struct tensor one = tensor(x, 1), two = tensor(x, 2), three = tensor(x, 3);
	struct exec *e;

	in->dynamic = true;
	graph_add_output(g, arg_value(node(g, &op_look, arg_value(node(g, &op_add, arg_value(in), arg_value(in))), arg_none())));
	e = open_portable(g);
	run(e, &two);
	is(e, 0, (float[]){ 2, 4, 6, 8, 10, 12 }, 6);
	run(e, &one);
	is(e, 0, (float[]){ 2, 4, 6 }, 3);
	fails_to_run(e, &three, "input 0 is f32[3,3], the program takes f32[<=2,<=3]");
	run(e, &two);
	is(e, 0, (float[]){ 2, 4, 6, 8, 10, 12 }, 6);
	exec_close(e);
	g->first->out[0]->size[0] = 1;		/* a bound that is too small */
	g->first->out[0]->bytes = 12;
	g->first->next->out[0]->size[0] = 3;
	g->first->next->out[0]->bytes = 12;
	e = open_portable(g);
	fails_to_run(e, &two, "has room for f32[<=1,<=3]");
	run(e, &one);
	exec_close(e);
	graph_free(g);
}

static void static_sizes_are_exact(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[9] = { 0 };
	struct value *in = input(g);
	struct tensor one = tensor(x, 1);
	struct exec *e;

	graph_add_output(g, arg_value(in));
	e = open_portable(g);
	fails_to_run(e, &one, "f32[1,3]");
	fails_to_run(e, NULL, "0 inputs given");
	one = tensor(x, 2);
	one.dtype = DTYPE_I32;
	fails_to_run(e, &one, "i32[2,3]");
	exec_close(e);
	graph_free(g);
}

static void an_input_may_come_in_another_order(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[] = { 1, 4, 2, 5, 3, 6 };
	struct value *in = input(g);
	struct tensor t = tensor(x, 2);
	struct exec *e;

	t.dim_order[0] = 1;
	t.dim_order[1] = 0;
	tensor_set_strides(&t);
	graph_add_output(g, arg_value(in));
	e = open_portable(g);
	run(e, &t);
	is(e, 0, (float[]){ 1, 2, 3, 4, 5, 6 }, 6);
	exec_close(e);
	graph_free(g);
}

static void a_demanded_number_is_demanded(void **state_)
{
	struct graph *g = graph_new("forward");
	struct value *in = graph_value(g, VALUE_INPUT, DTYPE_I64, 0, NULL);
	struct tensor t = { .dtype = DTYPE_I64 }, *none = NULL;
	struct error err = { 0 };
	int64_t n = 4;
	struct exec *e;

	in->scalar = true;
	graph_add_input(g, in, arg_int(5));
	graph_add_output(g, arg_value(in));
	e = open_portable(g);
	assert_true(exec_run(e, &none, 1, &err));
	assert_int_equal(*(int64_t *)exec_output(e, 0)->data, 5);
	t.data = &n;
	fails_to_run(e, &t, "input 0 must be 5");
	n = 5;
	run(e, &t);
	exec_close(e);
	graph_free(g);
}

static void running_again_allocates_nothing(void **state_)
{
	struct graph *g = graph_new("forward");
	float x[] = { 1, 2, 3, 4, 5, 6 };
	struct value *in = input(g), *v = in;
	struct tensor t = tensor(x, 2);
	struct exec *e;

	for (int i = 0; i < 10; i++)
		v = node(g, &op_scale, arg_value(v), arg_double(2));
	graph_add_output(g, arg_value(v));
	e = open_portable(g);
	run(e, &t);
	mem_fail_at(1);
	run(e, &t);
	mem_fail_at(0);
	assert_true(floats(exec_output(e, 0))[0] == 1024);
	exec_close(e);
	graph_free(g);
}

static void what_cannot_run_says_so(void **state_)
{
	struct graph *g = graph_new("forward");
	float w[7] = { 0, 1, 2, 3, 4, 5, 6 };
	struct value *in = input(g), *c = constant(g, NULL);

	node(g, &op_add, arg_value(in), arg_value(c));
	fails_to_open(g, "w is in a data file that was not given");
	c->data = (const uint8_t *)w;
	node(g, &op_accumulate, arg_value(c), arg_value(in));
	fails_to_open(g, "test.accumulate_ would write into a constant");
	graph_remove(g, g->last);
	node(g, &op_unknown, arg_value(in), arg_none());
	fails_to_open(g, "no kernel here for other.op");
	g->rigid = true;
	g->rigid_why = "it jumps";
	fails_to_open(g, "it jumps");
	graph_free(g);
}

static void a_constant_may_lie_anywhere(void **state_)
{
	struct graph *g = graph_new("forward");
	uint8_t bytes[sizeof(float) * 6 + 1];
	float w[] = { 1, 2, 3, 4, 5, 6 };
	struct value *c = constant(g, bytes + 1);
	struct exec *e;

	memcpy(bytes + 1, w, sizeof w);
	graph_add_output(g, arg_value(node(g, &op_scale, arg_value(c), arg_double(2))));
	e = open_portable(g);
	run(e, NULL);
	is(e, 0, (float[]){ 2, 4, 6, 8, 10, 12 }, 6);
	exec_close(e);
	graph_free(g);
}

/* exec_constants */

static void constant_is(const struct graph *g, struct value *v, float first, float last)
{
	struct arena mem = { 0 };
	struct error err = { 0 };
	struct tensor t;

	if (!exec_constants(g, &v, 1, &mem, &t, &err))
		fail_msg("%s", err.text);
	assert_int_equal(tensor_numel(&t), 6);
	if (floats(&t)[0] != first || floats(&t)[5] != last)
		fail_msg("%g .. %g, expected %g .. %g", floats(&t)[0], floats(&t)[5], first, last);
	arena_free(&mem);
}

static void constants_are_evaluated_once_each(void **state_)
{
	struct graph *g = graph_new("forward");
	float w[] = { 1, 2, 3, 4, 5, 6 };
	struct value *v = constant(g, w), *half, *other;

	constant_is(g, v, 1, 6);
	for (int i = 0; i < 20; i++)		/* 2^20 paths */
		v = node(g, &op_add, arg_value(v), arg_value(v));
	constant_is(g, v, 1048576, 6291456);
	half = node(g, &op_halves, arg_value(v), arg_none());
	other = half->def->out[1];
	v = node(g, &op_add, arg_value(other), arg_value(half));
	constant_is(g, other, 524288, 3145728);
	constant_is(g, v, 1048576, 6291456);
	v = node(g, &op_flat, arg_value(v), arg_none());
	v = node(g, &op_scale, arg_value(v), arg_value(node(g, &op_sum, arg_value(half), arg_none())));
	constant_is(g, v, 1048576.0f * 11010048, 6291456.0f * 11010048);
	graph_free(g);
}

/* Y needs X, and X was seen first as a neighbour: it must still be computed before Y. */
static void order_follows_need(void **state_)
{
	struct graph *g = graph_new("forward");
	float w[] = { 1, 2, 3, 4, 5, 6 };
	struct value *c = constant(g, w), *x = node(g, &op_scale, arg_value(c), arg_double(10));
	struct value *y = node(g, &op_scale, arg_value(x), arg_double(10));

	constant_is(g, node(g, &op_add, arg_value(y), arg_value(x)), 110, 660);
	constant_is(g, node(g, &op_add, arg_value(x), arg_value(y)), 110, 660);
	graph_free(g);
}

static void a_long_chain_needs_little(void **state_)
{
	struct graph *g = graph_new("forward");
	float w[] = { 0, 0, 0, 0, 0, 1 };
	struct value *c = constant(g, w), *v = c;

	for (int i = 0; i < 100000; i++)
		v = node(g, &op_add, arg_value(v), arg_value(c));
	constant_is(g, v, 0, 100001);
	graph_free(g);
}

static void what_is_no_constant_is_refused(void **state_)
{
	struct graph *g = graph_new("forward");
	float w[6] = { 0 };
	struct value *c = constant(g, w), *in = input(g), *s = state(g, 0, NULL);
	struct arena mem = { 0 };
	struct error err = { 0 };
	struct tensor t;

	assert_false(exec_constants(g, (struct value *[]){ node(g, &op_add, arg_value(c), arg_value(in)) }, 1, &mem, &t, &err));
	assert_non_null(strstr(err.text, "no constant"));
	assert_false(exec_constants(g, (struct value *[]){ node(g, &op_add, arg_value(c), arg_value(s)) }, 1, &mem, &t, &err));
	assert_false(exec_constants(g, (struct value *[]){ node(g, &op_unknown, arg_value(c), arg_none()) }, 1, &mem, &t, &err));
	arena_free(&mem);
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_and_literals_come_out),
		cmocka_unit_test(memory_is_reused_but_never_too_early),
		cmocka_unit_test(views_share_memory),
		cmocka_unit_test(a_view_of_state_is_taken_before_it_is_written),
		cmocka_unit_test(a_group_is_one_call_in_its_place),
		cmocka_unit_test(a_group_reads_state_in_its_turn),
		cmocka_unit_test(a_result_in_another_order_is_refused),
		cmocka_unit_test(numbers_are_read_when_they_are_there),
		cmocka_unit_test(sizes_may_shrink_but_not_grow),
		cmocka_unit_test(static_sizes_are_exact),
		cmocka_unit_test(an_input_may_come_in_another_order),
		cmocka_unit_test(a_demanded_number_is_demanded),
		cmocka_unit_test(running_again_allocates_nothing),
		cmocka_unit_test(what_cannot_run_says_so),
		cmocka_unit_test(a_constant_may_lie_anywhere),
		cmocka_unit_test(constants_are_evaluated_once_each),
		cmocka_unit_test(order_follows_need),
		cmocka_unit_test(a_long_chain_needs_little),
		cmocka_unit_test(what_is_no_constant_is_refused),
	};

	return RUN_TAP(tests);
}
