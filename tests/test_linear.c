/* The linear conversion, rule by rule, on graphs made by hand: x is 2 x 4, weights are 3 x 4 (out, in). */
#include "tests/tap.h"

#include "core/op/op.h"
#include "core/pass/linear.h"

struct fixture {
	struct graph *g;
	struct value *x;
	struct linear_plan plan;
	struct error err;
};

static const int64_t out_in[] = { 3, 4 }, in_out[] = { 4, 3 };
static float numbers[64];

static struct value *input(struct graph *g, int rank, const int64_t *size)
{
	struct value *v = graph_value(g, VALUE_INPUT, DTYPE_F32, rank, size);

	graph_add_input(g, v, arg_none());
	return v;
}

static void setup(struct fixture *f)
{
	memset(f, 0, sizeof *f);
	f->g = graph_new("forward");
	f->x = input(f->g, 2, (int64_t[]){ 2, 4 });
}

static void teardown(struct fixture *f)
{
	linear_plan_free(&f->plan);
	graph_free(f->g);
}

static struct value *constant(struct graph *g, int rank, const int64_t *size)
{
	struct value *v = graph_value(g, VALUE_CONSTANT, DTYPE_F32, rank, size);

	v->name = "w";
	v->data = (const uint8_t *)numbers;
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

static struct value *permute(struct graph *g, struct value *a)
{
	return build(g, "aten.permute_copy.default", (struct arg[]){ arg_value(a), arg_ints(g, (int64_t[]){ 1,
		0 }, 2) }, 2);
}

static struct value *view(struct graph *g, struct value *a, int rank, const int64_t *size)
{
	return build(g, "aten.view_copy.default", (struct arg[]){ arg_value(a), arg_ints(g, size, rank) }, 2);
}

static struct value *expand(struct graph *g, struct value *a, int rank, const int64_t *size)
{
	return build(g, "aten.expand_copy.default", (struct arg[]){ arg_value(a), arg_ints(g, size, rank),
		arg_bool(false) }, 3);
}

static struct value *add(struct graph *g, struct value *a, struct value *b)
{
	return build(g, "aten.add.Tensor", (struct arg[]){ arg_value(a), arg_value(b), arg_int(1) }, 3);
}

static struct value *mm(struct graph *g, struct value *x, struct value *w)
{
	return build(g, x->rank == 3 ? "aten.bmm.default" : "aten.mm.default", (struct arg[]){ arg_value(x),
		arg_value(w) }, 2);
}

static struct value *addmm(struct graph *g, struct value *bias, struct value *x, struct value *w, int64_t beta,
	int64_t alpha)
{
	return build(g, "aten.addmm.default", (struct arg[]){ arg_value(bias), arg_value(x), arg_value(w),
		arg_int(beta), arg_int(alpha) }, 5);
}

static void plan(struct fixture *f, struct value *out)
{
	graph_add_output(f->g, arg_value(out));
	if (!linear_plan(&f->plan, &f->g, 1, &f->err))
		fail_msg("%s", f->err.text);
}

static void assert_stays(struct fixture *f, const char *code)
{
	assert_int_equal(f->plan.nlinears, 1);
	assert_false(f->plan.linear[0].converts);
	assert_string_equal(f->plan.linear[0].code, code);
	assert_true(strlen(f->plan.linear[0].text) > 10);
	assert_int_equal(linear_apply(&f->plan, &f->g, 1, &f->err), 0);
}

/* Converts: what makes the method's only output is returned, after views. */
static const struct node *convert(struct fixture *f)
{
	const struct node *n;

	assert_int_equal(f->plan.nlinears, 1);
	if (!f->plan.linear[0].converts)
		fail_msg("stays: %s, %s", f->plan.linear[0].code, f->plan.linear[0].text);
	if (linear_apply(&f->plan, &f->g, 1, &f->err) != 1)
		fail_msg("%s", f->err.text);
	if (!graph_check(f->g, &f->err))
		fail_msg("%s", f->err.text);
	for (n = f->g->output[0].value->def; op_is(n->op, "aten.view_copy.default");)
		n = node_input(n, 0)->def;
	return n;
}

static void assert_linear(const struct node *n, const struct value *x, const struct value *w,
	const struct value *bias)
{
	assert_string_equal(n->op->name, "aten.linear.default");
	assert_ptr_equal(node_input(n, 0), x);
	assert_ptr_equal(node_input(n, 1), w);
	assert_ptr_equal(node_input(n, 2), bias);
}

/* ---- what converts ---- */

static void mm_and_addmm_with_a_permuted_weight_convert(void **state)
{
	for (int biased = 0; biased < 2; biased++) {
		struct fixture f;
		struct value *w, *b;

		setup(&f);
		w = constant(f.g, 2, out_in);
		b = constant(f.g, 1, (int64_t[]){ 3 });
		plan(&f, biased ? addmm(f.g, b, f.x, permute(f.g, w), 1, 1) : mm(f.g, f.x, permute(f.g, w)));
		assert_string_equal(f.plan.linear[0].op, biased ? "addmm" : "mm");
		assert_linear(convert(&f), f.x, w, biased ? b : NULL);
		assert_int_equal(f.g->nnodes, 1);
		teardown(&f);
	}
}

static void views_round_the_product_go(void **state)
{
	struct fixture f;
	struct value *x, *w, *y;

	setup(&f);
	x = input(f.g, 3, (int64_t[]){ 2, 5, 4 });
	w = constant(f.g, 2, out_in);
	y = mm(f.g, view(f.g, x, 2, (int64_t[]){ 10, 4 }), permute(f.g, w));
	plan(&f, view(f.g, y, 3, (int64_t[]){ 2, 5, 3 }));
	assert_linear(convert(&f), x, w, NULL);
	assert_int_equal(f.g->nnodes, 1);
	teardown(&f);
}

static void three_permutes_are_one_transpose(void **state)
{
	struct fixture f;
	struct value *w;

	setup(&f);
	w = constant(f.g, 2, out_in);
	plan(&f, mm(f.g, f.x, permute(f.g, permute(f.g, permute(f.g, w)))));
	assert_linear(convert(&f), f.x, w, NULL);
	teardown(&f);
}

static void a_computed_weight_converts_behind_its_permute(void **state)
{
	struct fixture f;
	struct value *w;

	setup(&f);
	w = add(f.g, constant(f.g, 2, out_in), constant(f.g, 2, out_in));
	plan(&f, mm(f.g, f.x, permute(f.g, w)));
	assert_linear(convert(&f), f.x, w, NULL);
	teardown(&f);
}

static void views_that_add_ones_are_walked_through(void **state)
{
	struct fixture f;
	struct value *w;

	setup(&f);
	w = constant(f.g, 2, out_in);
	plan(&f, mm(f.g, f.x, view(f.g, view(f.g, permute(f.g, w), 3, (int64_t[]){ 4, 1, 3 }), 2, in_out)));
	assert_linear(convert(&f), f.x, w, NULL);
	teardown(&f);
}

static struct value *batched(struct fixture *f, struct value *w, int64_t batch)
{
	struct value *v = expand(f->g, w, 3, (int64_t[]){ batch, 4, 3 });

	return view(f->g, v, 3, (int64_t[]){ batch, 4, 3 });
}

static void a_bmm_over_one_repeated_weight_converts(void **state)
{
	struct fixture f;
	struct value *x, *w;

	setup(&f);
	x = input(f.g, 3, (int64_t[]){ 2, 5, 4 });
	w = constant(f.g, 2, out_in);
	plan(&f, mm(f.g, expand(f.g, x, 3, x->size), batched(&f, permute(f.g, w),
		2)));	/* x goes through one as well */
	assert_linear(convert(&f), x, w, NULL);
	assert_int_equal(f.g->nnodes, 1);
	teardown(&f);
}

static void a_bias_behind_a_view_comes_along_if_rows_stay_whole(void **state)
{
	struct fixture f;
	struct value *x, *w, *b, *y;

	setup(&f);
	x = input(f.g, 3, (int64_t[]){ 2, 5, 4 });
	w = constant(f.g, 2, out_in);
	b = constant(f.g, 1, (int64_t[]){ 3 });
	y = view(f.g, mm(f.g, x, batched(&f, permute(f.g, w), 2)), 2, (int64_t[]){ 10, 3 });
	plan(&f, add(f.g, y, b));
	assert_linear(convert(&f), x, w, b);
	assert_int_equal(f.g->nnodes, 2);	/* and the view */
	teardown(&f);
}

static void another_addend_stays_where_it_is(void **state)
{
	struct fixture f;
	struct value *x, *w, *b, *y;
	const struct node *n;

	setup(&f);
	x = input(f.g, 3, (int64_t[]){ 2, 5, 4 });
	w = constant(f.g, 2, out_in);
	b = constant(f.g, 1, (int64_t[]){ 15 });	/* rows do not stay whole */
	y = view(f.g, mm(f.g, x, batched(&f, permute(f.g, w), 2)), 2, (int64_t[]){ 2, 15 });
	plan(&f, add(f.g, y, b));
	n = convert(&f);
	assert_string_equal(n->op->name, "aten.add.Tensor");
	assert_linear(node_input(n, 0)->def->arg[0].value->def, x, w, NULL);
	teardown(&f);
}

static void a_repeated_row_is_no_weight(void **state)
{
	struct fixture f;
	struct value *rows;

	setup(&f);
	rows = expand(f.g, constant(f.g, 2, (int64_t[]){ 1, 4 }), 2, out_in);
	plan(&f, mm(f.g, f.x, permute(f.g, rows)));
	assert_linear(convert(&f), f.x, rows, NULL);	/* what the expand makes is */
	teardown(&f);
}

/* A view that mixes rows is no layout: what it gives is the weight, not what it reads. */
static void a_view_that_mixes_rows_ends_the_walk(void **state)
{
	struct fixture f;
	struct value *x, *mixed;

	setup(&f);
	x = input(f.g, 2, (int64_t[]){ 5, 6 });
	mixed = view(f.g, constant(f.g, 2, out_in), 2, (int64_t[]){ 2, 6 });
	plan(&f, mm(f.g, x, permute(f.g, mixed)));
	assert_linear(convert(&f), x, mixed, NULL);
	teardown(&f);
}

/* ---- what stays ---- */

static void one_number_without_a_permute_stays(void **state)
{
	const int64_t one[] = { 1, 1 };
	struct fixture f;

	setup(&f);
	plan(&f, mm(f.g, input(f.g, 2, (int64_t[]){ 5, 1 }), view(f.g, constant(f.g, 2, one), 2, one)));
	assert_stays(&f, "transpose_folded");
	teardown(&f);
}

static void what_is_not_understood_stays(void **state)
{
	struct fixture f;

	setup(&f);
	f.g->rigid = true;
	plan(&f, mm(f.g, f.x, permute(f.g, constant(f.g, 2, out_in))));
	assert_stays(&f, "control_flow");
	teardown(&f);
}

/* Times two, or to what others read as well: that addend is no bias. */
static void an_addend_that_is_no_bias_stays(void **state)
{
	for (int read = 0; read < 2; read++) {
		struct fixture f;
		struct value *x, *b, *y;
		const struct node *n;

		setup(&f);
		x = input(f.g, 3, (int64_t[]){ 2, 5, 4 });
		b = constant(f.g, 1, (int64_t[]){ 3 });
		y = mm(f.g, x, batched(&f, permute(f.g, constant(f.g, 2, out_in)), 2));
		if (read)
			graph_add_output(f.g, arg_value(y));
		plan(&f, build(f.g, "aten.add.Tensor", (struct arg[]){ arg_value(y), arg_value(b), arg_int(read ? 1 : 2) }, 3));
		assert_int_equal(linear_apply(&f.plan, &f.g, 1, &f.err), 1);
		n = f.g->output[read].value->def;
		assert_string_equal(n->op->name, "aten.add.Tensor");
		assert_null(node_input(node_input(n, 0)->def, 2));
		teardown(&f);
	}
}

static void a_weight_transposed_already_stays(void **state)
{
	struct fixture f;

	setup(&f);
	plan(&f, mm(f.g, f.x, constant(f.g, 2, in_out)));
	assert_stays(&f, "transpose_folded");
	teardown(&f);
}

static void two_transposes_are_none(void **state)
{
	struct fixture f;

	setup(&f);
	plan(&f, mm(f.g, f.x, permute(f.g, permute(f.g, constant(f.g, 2, in_out)))));
	assert_stays(&f, "transpose_folded");
	teardown(&f);
}

static void a_square_weight_is_not_taken_for_its_transpose(void **state)
{
	struct fixture f;
	const int64_t square[] = { 4, 4 };

	setup(&f);
	plan(&f, mm(f.g, f.x, view(f.g, constant(f.g, 2, square), 2, square)));
	assert_stays(&f, "transpose_folded");
	teardown(&f);
}

static void a_view_that_only_looks_like_a_transpose_stays(void **state)
{
	struct fixture f;

	setup(&f);
	plan(&f, mm(f.g, f.x, view(f.g, constant(f.g, 2, out_in), 2, in_out)));
	assert_false(f.plan.linear[0].converts);
	teardown(&f);
}

static void alpha_and_beta_other_than_one_stay(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct fixture f;

		setup(&f);
		plan(&f, addmm(f.g, constant(f.g, 1, (int64_t[]){ 3 }), f.x, permute(f.g, constant(f.g, 2,
			out_in)), i ? 2 : 1, i ? 1 : 2));
		assert_stays(&f, "scaled");
		teardown(&f);
	}
}

static void a_bias_that_is_no_row_stays(void **state)
{
	static const struct { int rank; int64_t size[2]; } shape[] = { { 1, { 1 } }, { 2, { 1, 3 } }, { 2, { 2,
		3 } }, { 0, { 0 } } };

	for (int i = 0; i < 4; i++) {
		struct fixture f;

		setup(&f);
		plan(&f, addmm(f.g, constant(f.g, shape[i].rank, shape[i].size), f.x, permute(f.g, constant(f.g,
			2, out_in)), 1, 1));
		assert_stays(&f, "bias_shape");
		teardown(&f);
	}
}

static void a_transpose_upstream_is_not_the_weights_own(void **state)
{
	struct fixture f;
	struct value *a;

	setup(&f);
	a = permute(f.g, constant(f.g, 2, out_in));
	plan(&f, mm(f.g, f.x, add(f.g, a, constant(f.g, 2, in_out))));
	assert_stays(&f, "transpose_upstream");
	teardown(&f);
}

static void a_product_that_reads_a_cat_stays(void **state)
{
	struct fixture f;
	struct value *part[2], *w;

	setup(&f);
	part[0] = constant(f.g, 2, (int64_t[]){ 4, 1 });
	part[1] = constant(f.g, 2, (int64_t[]){ 4, 2 });
	w = build(f.g, "aten.cat.default", (struct arg[]){ arg_values(f.g, part, 2), arg_int(1) }, 2);
	plan(&f, mm(f.g, f.x, w));
	assert_stays(&f, "not_a_transpose");
	teardown(&f);
}

static void a_weight_of_the_run_stays(void **state)
{
	struct fixture f;

	setup(&f);
	plan(&f, mm(f.g, f.x, permute(f.g, input(f.g, 2, out_in))));
	assert_stays(&f, "weight_not_static");
	teardown(&f);
}

static void different_weights_in_a_batch_stay(void **state)
{
	struct fixture f;
	struct value *w;

	setup(&f);
	w = build(f.g, "aten.permute_copy.default", (struct arg[]){ arg_value(constant(f.g, 3, (int64_t[]){ 2,
		3, 4 })),
		arg_ints(f.g, (int64_t[]){ 0, 2, 1 }, 3) }, 2);
	plan(&f, mm(f.g, input(f.g, 3, (int64_t[]){ 2, 5, 4 }), w));
	assert_stays(&f, "not_a_transpose");
	teardown(&f);
}

static void different_columns_in_a_batch_stay(void **state)
{
	struct fixture f;
	struct value *w;

	setup(&f);
	w = view(f.g, constant(f.g, 2, (int64_t[]){ 2, 4 }), 3, (int64_t[]){ 2, 4, 1 });
	plan(&f, mm(f.g, input(f.g, 3, (int64_t[]){ 2, 5, 4 }), w));
	assert_stays(&f, "not_a_transpose");
	teardown(&f);
}

static void a_quantised_weight_needs_a_quantised_activation(void **state)
{
	static const struct op dequantize = { "my.dequantize", NULL, "T>T", "self", DTYPES_ANY, OP_QUANTIZE, NULL, NULL };

	for (int both = 0; both < 2; both++) {
		struct fixture f;
		struct value *q, *x, *w;

		setup(&f);
		q = graph_value(f.g, VALUE_CONSTANT, DTYPE_I8, 2, out_in);
		q->data = (const uint8_t *)numbers;
		w = node_add_output(f.g, graph_node(f.g, NULL, &dequantize, (struct arg[]){ arg_value(q) }, 1),
			DTYPE_F32, 2, out_in);
		x = graph_value(f.g, VALUE_INPUT, DTYPE_I8, 2, (int64_t[]){ 2, 4 });
		graph_add_input(f.g, x, arg_none());
		x = node_add_output(f.g, graph_node(f.g, NULL, &dequantize, (struct arg[]){ arg_value(x) }, 1),
			DTYPE_F32, 2, (int64_t[]){ 2, 4 });
		plan(&f, mm(f.g, both ? x : f.x, permute(f.g, w)));
		if (both)
			assert_linear(convert(&f), x, w, NULL);
		else
			assert_stays(&f, "weight_only_quant");
		teardown(&f);
	}
}

static void a_program_that_trains_stays(void **state)
{
	struct fixture f;

	setup(&f);
	f.g->training = true;
	plan(&f, mm(f.g, f.x, permute(f.g, constant(f.g, 2, out_in))));
	assert_stays(&f, "training");
	teardown(&f);
}

static void what_is_not_marked_stays(void **state)
{
	struct fixture f;

	setup(&f);
	plan(&f, mm(f.g, f.x, permute(f.g, constant(f.g, 2, out_in))));
	f.plan.linear[0].marked = false;
	assert_int_equal(linear_apply(&f.plan, &f.g, 1, &f.err), 0);
	assert_int_equal(f.g->nnodes, 2);
	teardown(&f);
}

static void products_in_a_delegate_are_left_alone(void **state)
{
	struct fixture f;
	struct value *y;

	setup(&f);
	y = mm(f.g, f.x, permute(f.g, constant(f.g, 2, out_in)));
	y->def->group = graph_add_group(f.g, 0);
	plan(&f, y);
	assert_int_equal(f.plan.nlinears, 0);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mm_and_addmm_with_a_permuted_weight_convert),
			cmocka_unit_test(views_round_the_product_go),
		cmocka_unit_test(three_permutes_are_one_transpose),
			cmocka_unit_test(a_computed_weight_converts_behind_its_permute),
		cmocka_unit_test(views_that_add_ones_are_walked_through),
			cmocka_unit_test(a_bmm_over_one_repeated_weight_converts),
		cmocka_unit_test(a_bias_behind_a_view_comes_along_if_rows_stay_whole),
		cmocka_unit_test(another_addend_stays_where_it_is),
			cmocka_unit_test(a_weight_transposed_already_stays),
		cmocka_unit_test(two_transposes_are_none),
			cmocka_unit_test(a_square_weight_is_not_taken_for_its_transpose),
		cmocka_unit_test(a_view_that_only_looks_like_a_transpose_stays),
		cmocka_unit_test(alpha_and_beta_other_than_one_stay), cmocka_unit_test(a_bias_that_is_no_row_stays),
		cmocka_unit_test(a_transpose_upstream_is_not_the_weights_own),
			cmocka_unit_test(a_product_that_reads_a_cat_stays),
		cmocka_unit_test(a_weight_of_the_run_stays), cmocka_unit_test(different_weights_in_a_batch_stay),
		cmocka_unit_test(a_repeated_row_is_no_weight), cmocka_unit_test(different_columns_in_a_batch_stay),
		cmocka_unit_test(a_quantised_weight_needs_a_quantised_activation),
		cmocka_unit_test(a_program_that_trains_stays), cmocka_unit_test(what_is_not_marked_stays),
		cmocka_unit_test(products_in_a_delegate_are_left_alone),
		cmocka_unit_test(a_view_that_mixes_rows_ends_the_walk),
		cmocka_unit_test(one_number_without_a_permute_stays),
		cmocka_unit_test(what_is_not_understood_stays),
		cmocka_unit_test(an_addend_that_is_no_bias_stays),
	};

	return RUN_TAP(tests);
}
