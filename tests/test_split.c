/* Filters split for the cache: the same results, from smaller filters. */
#include "core/xnn/live.h"
#include "core/xnn/split.h"
#include "tests/lab.h"
#include "tests/tap.h"

#include <math.h>

static struct tensor *run(const struct lab *lab, const struct xlowered *low, const struct xgraph *x, struct arena *mem, double scale)
{
	struct tensor **arg = arena_array(mem, (size_t)low->nargs, sizeof *arg);
	struct live_pool *pool;
	struct live *live;
	struct error err = { 0 };

	for (int i = 0; i < low->nargs; i++) {
		const struct value *v = low->arg[i];
		struct tensor *t = arg[i] = arena_alloc(mem, sizeof *t);

		tensor_set_type(t, v->dtype, v->rank, v->size);
		memcpy(t->dim_order, v->dim_order, sizeof t->dim_order);
		if (v->dynamic && i < low->ninputs)
			t->size[0] = (int64_t)((double)t->size[0] * scale);
		tensor_set_strides(t);
		t->capacity = v->bytes;
		t->data = arena_alloc(mem, v->bytes + 128);
		for (int64_t k = 0; i < low->ninputs && k < tensor_numel(t); k++)
			((float *)t->data)[k] = v->kind == VALUE_CONSTANT ? ((const float *)(const void *)v->data)[k] : (float)(k * 37 % 101) / 50 - 1;
	}
	if (!live_supports(x, NULL, &err) || !live_pool_open(&pool, 1, &err) || !live_open(&live, x, pool, false, &err) ||
	    !live_run(live, arg, low->nargs, &err))
		fail_msg("%s", err.text);
	live_close(live);
	live_pool_close(pool);
	return arg[low->nargs - 1];
}

/* Lowers the lab's nodes, splits, and compares; the number of nodes that were split. */
static int split(struct lab *lab, struct value *out, size_t cache, bool dynamic, struct xgraph *x)
{
	struct arena mem = { 0 }, packed = { 0 };
	const struct tensor *want, *got;
	struct xlowered low;
	int n;

	lab_output(lab, out);
	assert_true(lab_run(lab, &low, 1) < 1e-4);
	want = run(lab, &low, &low.graph, &mem, 0.5);
	*x = low.graph;
	n = xnn_split(x, cache, dynamic, &lab->g->mem, &packed);
	got = run(lab, &low, x, &mem, 0.5);
	for (int64_t i = 0; i < tensor_numel(want); i++)
		if (!(fabsf(((float *)got->data)[i] - ((float *)want->data)[i]) < 1e-5))
			fail_msg("element %lld is %.9g, expected %.9g", (long long)i, ((float *)got->data)[i], ((float *)want->data)[i]);
	arena_free(&packed);
	arena_free(&mem);
	return n;
}

static int count(const struct xgraph *x, enum xtag tag)
{
	int n = 0;

	for (int i = 0; i < x->nnodes; i++)
		n += x->node[i].tag == tag;
	return n;
}

static void a_linear_is_split(void **state)
{
	struct lab *lab = lab_new();
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(40, 64)), *w = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(330, 64));
	struct value *b = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(330));
	struct xgraph g;

	x->dynamic = true;
	/* half of 16 KiB holds 32 columns of 64 floats: 11 parts, joined by fives, then three, the last alone */
	assert_int_equal(split(lab, lab_node(lab, "aten.linear.default", V(x), V(w), V(b)), 16384, true, &g), 1);
	assert_int_equal(count(&g, X_FULLY_CONNECTED), 11);
	assert_int_equal(count(&g, X_CONCATENATE5), 2);
	assert_int_equal(count(&g, X_CONCATENATE3), 1);
	lab_free(lab);
}

static void a_convolution_is_split(void **state)
{
	for (int groups = 1; groups <= 4; groups *= 2) {
		struct lab *lab = lab_new();
		struct value *x = lab_input(lab, DTYPE_F32, SIZES(1, 16, 9, 9)), *b = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(groups * 80));
		struct value *w = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(groups * 80, 16 / groups, 3, 3)), *y;
		struct xgraph g;

		y = lab_node(lab, "aten.convolution.default", V(x), V(w), V(b), INTS(1, 1), INTS(1, 1), INTS(1, 1), B(false), INTS(0, 0), I(groups));
		y = lab_node(lab, "aten.relu.default", V(y));	/* fused, and so on each part */
		assert_int_equal(split(lab, y, 8192, false, &g), 1);
		assert_int_equal(count(&g, X_CONV2D), 3);
		assert_int_equal(count(&g, X_STATIC_RESHAPE), groups > 1 ? 4 : 0);
		lab_free(lab);
	}
}

static void what_fits_or_has_few_rows_stays(void **state)
{
	static const struct { int rows; size_t cache; } stay[] = { { 40, 1 << 20 }, { 8, 16384 }, { 40, 0 } };

	for (int i = 0; i < 3; i++) {
		struct lab *lab = lab_new();
		struct value *x = lab_input(lab, DTYPE_F32, SIZES(stay[i].rows, 64)), *w = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(330, 64));
		struct xgraph g;

		assert_int_equal(split(lab, lab_node(lab, "aten.linear.default", V(x), V(w), NONE), stay[i].cache, false, &g), 0);
		lab_free(lab);
	}
}

static void groups_of_unknown_sizes_stay(void **state)
{
	struct lab *lab = lab_new();
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 16, 9, 9)), *w = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(160, 8, 3, 3)), *y;
	struct xgraph g;

	x->dynamic = true;
	y = lab_node(lab, "aten.convolution.default", V(x), V(w), NONE, INTS(1, 1), INTS(1, 1), INTS(1, 1), B(false), INTS(0, 0), I(2));
	assert_int_equal(split(lab, y, 8192, true, &g), 0);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_linear_is_split),
		cmocka_unit_test(a_convolution_is_split),
		cmocka_unit_test(what_fits_or_has_few_rows_stays),
		cmocka_unit_test(groups_of_unknown_sizes_stay),
	};

	return RUN_TAP(tests);
}
