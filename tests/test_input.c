/* Inputs: random ones that a program can take, and arrays from files that must fit. */
#include "core/format/npy.h"
#include "core/run/input.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const struct op
	op_lookup = { "test.lookup", NULL, "TT>T", "weight, indices", DTYPES_ANY, 0, NULL, NULL },
	op_pick = { "test.pick", NULL, "TIT>T", "self, dim, index", DTYPES_ANY, 0, NULL, NULL },
	op_at = { "test.at", NULL, "Tl>T", "self, indices", DTYPES_ANY, 0, NULL, NULL },
	op_view = { "test.view", NULL, "T>T", "self", DTYPES_ANY, OP_VIEW, NULL, NULL },
	op_add = { "test.add", NULL, "TT>T", "self, other", DTYPES_ANY, 0, NULL, NULL };

static struct value *made(struct graph *g, const struct op *op, struct arg a, struct arg b, struct arg c)
{
	struct arg arg[] = { a, b, c };

	return node_add_output(g, graph_node(g, NULL, op, arg, op_nargs(op)), DTYPE_I64, 1, (int64_t[]){ 1000 });
}

static struct value *integers(struct graph *g)
{
	struct value *v = graph_value(g, VALUE_INPUT, DTYPE_I64, 1, (int64_t[]){ 1000 });

	graph_add_input(g, v, arg_none());
	return v;
}

static int64_t largest(const struct tensor *t)
{
	int64_t most = INT64_MIN;

	for (int64_t i = 0; i < tensor_numel(t); i++) {
		int64_t x = ((const int64_t *)t->data)[i];

		assert_true(x >= 0);
		most = x > most ? x : most;
	}
	return most;
}

static struct tensor **make(const struct graph *g, struct arena *mem, uint64_t seed)
{
	struct tensor **in = NULL;
	struct error err = { 0 };

	if (!input_make(&in, g, NULL, 0, NULL, 0, seed, mem, &err))
		fail_msg("%s", err.text);
	return in;
}

static void integers_stay_in_the_table(void **state)
{
	struct graph *g = graph_new("forward");
	struct value *table = graph_value(g, VALUE_CONSTANT, DTYPE_F32, 3, (int64_t[]){ 50, 7, 20 });
	struct value *row = integers(g), *last = integers(g), *second = integers(g), *both = integers(g), *free = integers(g);
	struct value *view = made(g, &op_view, arg_value(row), arg_none(), arg_none());
	struct arena mem = { 0 };
	struct tensor **in;

	made(g, &op_lookup, arg_value(table), arg_value(view), arg_none());
	made(g, &op_pick, arg_value(table), arg_int(-1), arg_value(last));
	made(g, &op_at, arg_value(table), (struct arg){ .kind = ARG_LIST, .list = { (struct arg[]){ arg_none(), arg_value(second) }, 2 } },
	     arg_none());
	made(g, &op_lookup, arg_value(table), arg_value(both), arg_none());
	made(g, &op_pick, arg_value(table), arg_int(1), arg_value(both));
	made(g, &op_add, arg_value(free), arg_value(free), arg_none());
	in = make(g, &mem, 3);
	assert_int_equal(largest(in[0]), 49);
	assert_int_equal(largest(in[1]), 19);
	assert_int_equal(largest(in[2]), 6);
	assert_int_equal(largest(in[3]), 6);	/* the smaller of two tables */
	assert_int_equal(largest(in[4]), 1);
	arena_free(&mem);
	graph_free(g);
}

static void floats_are_normal_and_seeded(void **state)
{
	struct graph *g = graph_new("forward");
	struct arena mem = { 0 };
	struct tensor **a, **b, **c;
	double sum = 0, squares = 0;
	const float *x;

	for (int i = 0; i < 2; i++)
		graph_add_input(g, graph_value(g, VALUE_INPUT, DTYPE_F32, 1, (int64_t[]){ 100000 }), arg_none());
	a = make(g, &mem, 1);
	b = make(g, &mem, 1);
	c = make(g, &mem, 2);
	x = a[0]->data;
	for (int i = 0; i < 100000; i++) {
		sum += x[i];
		squares += (double)x[i] * x[i];
	}
	assert_true(fabs(sum / 100000) < 0.02);
	assert_true(fabs(squares / 100000 - 1) < 0.02);
	assert_memory_equal(a[0]->data, b[0]->data, 400000);
	assert_memory_not_equal(a[0]->data, c[0]->data, 400000);
	assert_memory_not_equal(a[0]->data, a[1]->data, 400000);
	arena_free(&mem);
	graph_free(g);
}

static void refuses(const struct graph *g, const char *npy, const struct input_shape *shape, const char *why)
{
	struct arena mem = { 0 };
	struct error err = { 0 };
	struct tensor **in;

	assert_false(input_make(&in, g, &npy, npy ? 1 : 0, shape, shape ? 1 : 0, 0, &mem, &err));
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
	arena_free(&mem);
}

static void sizes_within_bounds(void **state)
{
	struct graph *g = graph_new("forward");
	struct value *v = graph_value(g, VALUE_INPUT, DTYPE_F32, 2, (int64_t[]){ 4, 3 });
	struct input_shape smaller = { 0, 2, { 2, 3 } }, larger = { 0, 2, { 5, 3 } }, flat = { 0, 1, { 2 } }, nowhere = { 1, 1, { 2 } };
	struct arena mem = { 0 };
	struct tensor **in;

	graph_add_input(g, v, arg_none());
	refuses(g, NULL, &smaller, "f32[2,3] asked for, the program takes f32[4,3]");
	v->dynamic = true;
	assert_true(input_make(&in, g, NULL, 0, &smaller, 1, 0, &mem, NULL));
	assert_int_equal(in[0]->size[0], 2);
	refuses(g, NULL, &larger, "f32[5,3]");
	refuses(g, NULL, &flat, "f32[2]");
	refuses(g, NULL, &nowhere, "no input 1");
	in = make(g, &mem, 0);
	assert_int_equal(in[0]->size[0], 4);	/* the upper bound */
	arena_free(&mem);
	graph_free(g);
}

static void arrays_from_files(void **state)
{
	char path[] = "/tmp/input-XXXXXX";
	int fd = mkstemp(path);
	struct graph *g = graph_new("forward");
	struct value *v = graph_value(g, VALUE_INPUT, DTYPE_F32, 2, (int64_t[]){ 2, 3 });
	float x[] = { 1, 2, 3, 4, 5, 6 };
	struct arena mem = { 0 };
	struct error err = { 0 };
	struct tensor **in;

	assert_true(fd >= 0);
	close(fd);
	graph_add_input(g, v, arg_none());
	v->dim_order[0] = 1;
	v->dim_order[1] = 0;
	unlink(path);
	assert_true(npy_write(path, DTYPE_F32, 2, (int64_t[]){ 2, 3 }, x, &err));
	if (!input_make(&in, g, &(const char *){ path }, 1, NULL, 0, 0, &mem, &err))
		fail_msg("%s", err.text);
	assert_memory_equal(in[0]->data, ((float[]){ 1, 4, 2, 5, 3, 6 }), sizeof x);	/* in the order that the program has */
	v->size[0] = 4;
	refuses(g, path, NULL, "f32[2,3], the program takes f32[4,3]");
	v->size[0] = 2;
	v->dtype = DTYPE_I32;
	refuses(g, path, NULL, "the program takes i32[2,3]");
	unlink(path);
	refuses(g, path, NULL, path);
	assert_false(input_make(&in, g, (const char *[]){ NULL, NULL }, 2, NULL, 0, 0, &mem, &err));
	assert_non_null(strstr(err.text, "2 input files given"));
	arena_free(&mem);
	graph_free(g);
}

static void demanded_numbers_are_given(void **state)
{
	struct graph *g = graph_new("forward");
	struct value *v = graph_value(g, VALUE_INPUT, DTYPE_I64, 0, NULL);
	struct arena mem = { 0 };
	struct tensor **in;

	v->scalar = true;
	graph_add_input(g, v, arg_int(INT64_MAX));
	graph_add_input(g, NULL, (struct arg){ .kind = ARG_STRING, .s = "mode" });
	in = make(g, &mem, 0);
	assert_true(*(int64_t *)in[0]->data == INT64_MAX);
	assert_null(in[1]);
	arena_free(&mem);
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_stay_in_the_table),
		cmocka_unit_test(floats_are_normal_and_seeded),
		cmocka_unit_test(sizes_within_bounds),
		cmocka_unit_test(arrays_from_files),
		cmocka_unit_test(demanded_numbers_are_given),
	};

	return RUN_TAP(tests);
}
