/* Cancelling permutes: what is left computes the same, and is never more. */
#include "core/pass/transposes.h"
#include "core/run/exec.h"
#include "tests/lab.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

static struct lab *lab;

static int setup(void **state)
{
	lab = lab_new();
	return 0;
}

static int teardown(void **state)
{
	lab_free(lab);
	return 0;
}

static struct value *permute(struct value *v, const char *order)
{
	int64_t at[MAX_RANK];

	for (int d = 0; d < v->rank; d++)
		at[d] = order[d] - '0';
	return lab_node(lab, "aten.permute_copy.default", V(v), arg_ints(lab->g, at, v->rank));
}

static int count(const struct graph *g, const char *op)
{
	int n = 0;

	for (const struct node *x = g->first; x; x = x->next)
		n += op_is(x->op, op);
	return n;
}

static int permutes(void) { return count(lab->g, "aten.permute_copy.default"); }

static int apply(int group)
{
	struct error err = { 0 };
	int before = lab->g->nnodes, gone = transposes_apply(lab->g, group, &err);

	assert_true(gone >= 0);
	assert_int_equal(before - lab->g->nnodes, gone);
	if (!graph_check(lab->g, &err))
		fail_msg("%s", err.text);
	return gone;
}

/* ---- running before and after ---- */

static double element(const struct tensor *t, int64_t i)
{
	int64_t at = 0;

	for (int d = t->rank - 1; d >= 0; d--) {
		at += i % t->size[d] * t->stride[d];
		i /= t->size[d];
	}
	return dtype_get(t->dtype, t->data, (size_t)at);
}

static double *run(struct graph *g, struct arena *a, int64_t *n)
{
	const struct exec_options options = { .engine = ENGINE_PORTABLE, .threads = 1 };
	struct tensor *in[4], t[4];
	struct error err = { 0 };
	struct exec *e;
	double *out;

	for (int i = 0; i < g->ninputs; i++) {
		tensor_set_type(&t[i], g->input[i]->dtype, g->input[i]->rank, g->input[i]->size);
		t[i].capacity = g->input[i]->bytes;
		t[i].data = arena_alloc(a, g->input[i]->bytes);
		for (int64_t k = 0; k < tensor_numel(&t[i]); k++)
			dtype_put(t[i].dtype, t[i].data, (size_t)k, (double)((k * 37 + i * 11) % 64) / 8 - 4);
		in[i] = &t[i];
	}
	if (!exec_open(&e, NULL, g, &options, &err) || !exec_run(e, in, g->ninputs, &err))
		fail_msg("%s", err.text);
	*n = 0;
	for (int i = 0; i < exec_noutputs(e); i++)
		*n += tensor_numel(exec_output(e, i));
	out = arena_array(a, (size_t)*n, sizeof *out);
	*n = 0;
	for (int i = 0; i < exec_noutputs(e); i++)
		for (int64_t k = 0; k < tensor_numel(exec_output(e, i)); k++)
			out[(*n)++] = element(exec_output(e, i), k);
	exec_close(e);
	return out;
}

/* Applies, and holds the outputs of both against each other, bit for bit. */
static int apply_same(int group)
{
	struct graph *before = graph_clone(lab->g);
	struct arena a = { 0 };
	int64_t n, m;
	double *x, *y;
	int gone = apply(group);

	x = run(before, &a, &n);
	y = run(lab->g, &a, &m);
	assert_int_equal(n, m);
	for (int64_t i = 0; i < n; i++)
		if (x[i] != y[i])
			fail_msg("element %lld is %g, was %g", (long long)i, y[i], x[i]);
	arena_free(&a);
	graph_free(before);
	return gone;
}

/* ---- what goes ---- */

static void permutes_in_a_row_become_one(void **state)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 3, 4));

	lab_output(lab, permute(permute(x, "120"), "021"));
	assert_int_equal(apply_same(-2), 1);
	assert_int_equal(permutes(), 1);
}

static void pairs_vanish(void **state)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 3, 4));

	lab_output(lab, lab_node(lab, "aten.abs.default", V(permute(permute(x, "120"), "201"))));
	assert_int_equal(apply_same(-2), 2);
	assert_ptr_equal(node_input(lab->g->first, 0), x);
}

static void pairs_vanish_around_operators(void **state)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(1, 3, 5, 6)), *y = lab_input(lab, DTYPE_F32, SIZES(1, 3, 5, 6));
	struct value *scale = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(3)), *cat, *v = permute(x, "0231");

	v = lab_node(lab, "aten.mul.Tensor", V(v), V(scale));
	v = lab_node(lab, "aten.relu.default", V(v));
	cat = lab_node(lab, "aten.cat.default", VALUES(v, permute(y, "0231"), v), I(-1));	/* 9 channels */
	v = lab_node(lab, "aten.constant_pad_nd.default", V(cat), INTS(1, 2, 3, 4), D(0.5));	/* channels, then width */
	v = lab_node(lab, "aten.slice_copy.Tensor", V(v), I(2), I(1), I(9), I(1));		/* width */
	lab_output(lab, permute(v, "0312"));
	assert_int_equal(apply_same(-2), 3);
	assert_int_equal(permutes(), 0);
}

static void reductions_take_other_dimensions(void **state)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 3, 5, 6)), *v = permute(x, "0231");

	lab_output(lab, permute(lab_node(lab, "aten.mean.dim", V(v), INTS(1, -2), B(true), NONE), "0312"));
	lab_output(lab, lab_node(lab, "aten.sum.dim_IntList", V(v), INTS(1, 2), B(false), NONE));	/* [2, 3] as it is */
	lab_output(lab, permute(lab_node(lab, "aten.amax.default", V(v), INTS(0), B(false)), "201"));	/* [5, 6, 3] */
	assert_int_equal(apply_same(-2), 3);
	assert_int_equal(permutes(), 0);
}

/* [8, 1, 1] and [1, 1, 8] are the same bytes in the same order. */
static void views_see_through_permutes_of_ones(void **state)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 8, 1, 1)), *v = permute(x, "0231");

	lab_output(lab, lab_node(lab, "aten.view_copy.default", V(v), INTS(2, 8)));
	lab_output(lab, lab_node(lab, "aten.view_copy.default", V(permute(lab_input(lab, DTYPE_F32, SIZES(2, 3, 4)), "021")), INTS(24)));
	assert_int_equal(apply_same(-2), 1);
	assert_int_equal(permutes(), 1);
}

static void quantisation_by_tensor_lets_through(void **state)
{
	struct value *v = permute(lab_input(lab, DTYPE_F32, SIZES(1, 3, 2, 2)), "0231");

	v = lab_node(lab, "quantized_decomposed.quantize_per_tensor.default", V(v), D(0.1), I(3), I(-128), I(127), I(DTYPE_I8));
	v = lab_node(lab, "quantized_decomposed.dequantize_per_tensor.default", V(v), D(0.1), I(3), I(-128), I(127), I(DTYPE_I8), NONE);
	lab_output(lab, permute(v, "0312"));
	assert_int_equal(apply_same(-2), 2);
}

/* A constant is only seen in another order. */
static void constants_are_not_copied(void **state)
{
	struct value *v = permute(lab_input(lab, DTYPE_F32, SIZES(2, 3, 4)), "120"), *c = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(3, 1, 2));
	struct value *now;

	lab_output(lab, permute(lab_node(lab, "aten.add.Tensor", V(v), V(c), I(1)), "201"));
	apply_same(-2);
	assert_int_equal(permutes(), 0);
	now = node_input(lab->g->first, 1);
	assert_ptr_equal(now->data, c->data);
	assert_int_equal(now->size[0], 2);
	assert_int_equal(now->size[1], 3);
	assert_int_equal(now->size[2], 1);
	assert_int_equal(now->dim_order[0], 1);
}

/* Its rank may be lower, and its own order another. */
static void constants_in_other_orders(void **state)
{
	struct value *v = permute(lab_input(lab, DTYPE_F32, SIZES(2, 3, 4)), "120"), *c = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(4, 2));

	lab_order(c, "10");
	lab_output(lab, permute(lab_node(lab, "aten.add.Tensor", V(v), V(c), I(1)), "201"));
	apply_same(-2);
	assert_int_equal(permutes(), 0);
}

/* ---- what stays ---- */

static void nothing_to_win_changes_nothing(void **state)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 3)), *v = permute(x, "10"), *sum;

	sum = lab_node(lab, "aten.add.Tensor", V(v), V(lab_constant(lab, DTYPE_F32, 1, 1, SIZES(1))), I(1));
	lab_output(lab, sum);
	assert_int_equal(apply_same(-2), 0);
	assert_ptr_equal(lab->g->first->out[0], v);
}

/* Two readers of the permuted value, one of what follows: moving would leave two permutes for one. */
static void fan_out_is_not_paid_for(void **state)
{
	struct value *v = permute(lab_input(lab, DTYPE_F32, SIZES(2, 3)), "10");

	lab_output(lab, v);
	lab_output(lab, lab_node(lab, "aten.neg.default", V(v)));
	assert_int_equal(apply_same(-2), 0);
	assert_int_equal(permutes(), 1);
}

static void other_operands_stop_it(void **state)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 3)), *y = lab_input(lab, DTYPE_F32, SIZES(3, 2));

	lab_output(lab, permute(lab_node(lab, "aten.sub.Tensor", V(permute(x, "10")), V(y), I(1)), "10"));
	assert_int_equal(apply_same(-2), 0);
	assert_int_equal(permutes(), 2);
}

static void softmax_is_not_moved(void **state)
{
	struct value *v = permute(lab_input(lab, DTYPE_F32, SIZES(2, 3, 4)), "021");

	lab_output(lab, permute(lab_node(lab, "aten._softmax.default", V(v), I(2), B(false)), "021"));
	assert_int_equal(apply_same(-2), 0);
}

static void groups_keep_their_borders(void **state)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 3)), *a = permute(x, "10"), *b = permute(a, "10");
	int group = graph_add_group(lab->g, 0);

	a->def->group = group;
	lab_output(lab, b);
	assert_int_equal(apply_same(-2), 0);
	assert_false(lab->g->group[group].changed);
}

/* What a delegate gives stays a value that is made in it, once. */
static void outputs_of_groups_stay_made(void **state)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 3)), *a = lab_node(lab, "aten.abs.default", V(x)), *b = permute(permute(a, "10"), "10");
	struct value *c = permute(permute(x, "10"), "10"), *d = permute(permute(a, "10"), "10");
	int group = graph_add_group(lab->g, 0);

	for (struct node *n = lab->g->first; n; n = n->next)
		n->group = group;
	b->file_value = 7;
	lab_output(lab, b);
	lab_output(lab, c);
	lab_output(lab, d);
	assert_int_equal(apply_same(group), 2);
	assert_ptr_equal(lab->g->output[0].value, a);
	assert_int_equal(a->file_value, 7);
	assert_ptr_equal(lab->g->output[1].value, c);
	assert_ptr_equal(lab->g->output[2].value, d);
}

/* ---- at random ---- */

static uint32_t seed;

static int pick(int n)
{
	seed = seed * 1664525u + 1013904223u;
	return (int)((seed >> 10) % (uint32_t)n);
}

static struct value *random_node(struct value **pool, int n)
{
	static const char *const orders[] = { "0231", "0312", "0132", "1023", "3210" };
	struct value *v = pool[pick(n)], *w = pool[pick(n)];
	int d = pick(4);
	struct error err = { 0 };
	struct arg arg[4] = { V(v) };

	switch (pick(9)) {
	case 0: case 1: case 2: return permute(v, orders[pick(5)]);
	case 3: return lab_node(lab, "aten.relu.default", V(v));
	case 4: return lab_node(lab, "aten.constant_pad_nd.default", V(v), INTS(1, 0, 0, 2), D(1));
	case 5: return v->size[d] > 1 ? lab_node(lab, "aten.slice_copy.Tensor", V(v), I(d - 4), I(1), I(9), I(1)) : NULL;
	case 6: return lab_node(lab, "aten.amax.default", V(v), INTS(d), B(true));
	case 7:
		arg[1] = V(w);
		arg[2] = I(1);
		return op_build(lab->g, NULL, "aten.add.Tensor", arg, 3, &err);
	default:
		arg[0] = VALUES(v, w);
		arg[1] = I(d);
		return op_build(lab->g, NULL, "aten.cat.default", arg, 2, &err);
	}
}

static void random_graphs(void **state)
{
	int gone = 0;

	for (uint32_t i = 0; i < 600; i++) {
		struct value *pool[24];
		int n = 0;

		lab_free(lab);
		lab = lab_new();
		seed = i * 7919u + 1;
		pool[n++] = lab_input(lab, DTYPE_F32, SIZES(2, 3, 2, 4));
		pool[n++] = lab_input(lab, DTYPE_F32, SIZES(2, 3, 2, 4));
		pool[n++] = lab_constant(lab, DTYPE_F32, -2, 2, SIZES(2, 2, 4, 3));
		for (int k = 0; k < 14; k++) {
			struct value *v = random_node(pool, n);

			if (v && dtype_numel(v->rank, v->size) < 20000)
				pool[n++] = v;
		}
		for (int k = 3; k < n; k++)
			if (!pool[k]->nuses || pick(12) == 0)
				lab_output(lab, pool[k]);
		graph_sweep(lab->g);
		gone += apply_same(i % 2 ? -2 : -1);
	}
	assert_true(gone > 300);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(permutes_in_a_row_become_one), T(pairs_vanish), T(pairs_vanish_around_operators), T(reductions_take_other_dimensions),
		T(views_see_through_permutes_of_ones), T(quantisation_by_tensor_lets_through), T(constants_are_not_copied), T(constants_in_other_orders),
		T(nothing_to_win_changes_nothing), T(fan_out_is_not_paid_for), T(other_operands_stop_it), T(softmax_is_not_moved),
		T(groups_keep_their_borders), T(outputs_of_groups_stay_made), T(random_graphs),
	};

	return RUN_TAP(tests);
}
