/* Where a fold begins: the weight and bias of every product, and nothing else. */
#include "tests/fold_fixture.h"

static float many[1024];

/* A constant of the shape, times a number. */
static struct value *computed(struct graph *g, int rank, const int64_t *size)
{
	struct value *w = graph_value(g, VALUE_CONSTANT, DTYPE_F32, rank, size);

	w->name = "w";
	w->data = (const uint8_t *)many;
	return mul(g, w, number(g, "s", 1));
}

static struct value *shaped_input(struct graph *g, int rank, const int64_t *size)
{
	struct value *v = graph_value(g, VALUE_INPUT, DTYPE_F32, rank, size);

	graph_add_input(g, v, arg_none());
	return v;
}

static struct value *convolution(struct graph *g, struct value *x, struct value *w, struct value *b, int dims,
	bool transposed, int groups)
{
	const int64_t ones[] = { 1, 1, 1 }, zeros[] = { 0, 0, 0 };

	return build(g, "aten.convolution.default", (struct arg[]){ arg_value(x), arg_value(w), arg_value(b),
		arg_ints(g, ones, dims), arg_ints(g, zeros, dims), arg_ints(g, ones, dims), arg_bool(transposed),
		arg_ints(g, zeros, dims), arg_int(groups) }, 9);
}

static void assert_weight_and_bias_fold(struct fixture *f)
{
	plan(f);
	assert_int_equal(f->plan.nfolds, 2);
	assert_folds(f, 0);
	assert_folds(f, 1);
	assert_string_equal(f->plan.fold[0].position, "weight");
	assert_string_equal(f->plan.fold[1].position, "bias");
	apply(f, 2);
	assert_int_equal(f->g[0]->nnodes, 1);
}

static void every_convolution(void **state)
{
	static const struct { int dims; bool transposed; int groups; } kinds[] = {
		{ 1, false, 1 }, { 2, false, 1 }, { 3, false, 1 }, { 1, true, 1 }, { 2, true, 1 }, { 3, true, 1 },
		{ 1, false, 4 }, { 2, false, 4 }, { 2, true, 4 }, { 2, false, 2 },
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const int64_t image[] = { 1, 4, 5, 5, 5 }, filter[] = { 4, 4 / kinds[i].groups, 3, 3, 3 }, four[] = { 4 };
		struct fixture f;
		struct graph *g;

		setup(&f);
		g = f.g[0];
		output(g, convolution(g, shaped_input(g, kinds[i].dims + 2, image),
				      computed(g, kinds[i].dims + 2, filter), computed(g, 1, four),
				      kinds[i].dims, kinds[i].transposed, kinds[i].groups));
		assert_weight_and_bias_fold(&f);
		teardown(&f);
	}
}

static void linear_and_addmm(void **state)
{
	for (int linear = 0; linear < 2; linear++) {
		const int64_t four[] = { 4 };
		struct fixture f;
		struct graph *g;
		struct arg x, w, b;

		setup(&f);
		g = f.g[0];
		x = arg_value(input(g));
		w = arg_value(computed(g, 2, square));
		b = arg_value(computed(g, 1, four));
		output(g, linear ? build(g, "aten.linear.default", (struct arg[]){ x, w, b }, 3) :
			build(g, "aten.addmm.default", (struct arg[]){ b, x, w, arg_int(1), arg_int(1) }, 5));
		assert_weight_and_bias_fold(&f);
		teardown(&f);
	}
}

/* A bmm whose weight is one matrix, repeated for each batch: the matrix folds, the repetition stays. */
static void the_matrix_under_a_bmm(void **state)
{
	for (int is_computed = 0; is_computed < 2; is_computed++) {
		const int64_t batch[] = { 3, 4, 4 };
		struct fixture f;
		struct graph *g;
		struct value *w;

		setup(&f);
		g = f.g[0];
		w = is_computed ? computed(g, 2, square) : permute(g, constant(g, "w", 0));
		w = build(g, "aten.expand_copy.default", (struct arg[]){ arg_value(w), arg_ints(g, batch, 3),
			arg_bool(false) }, 3);
		output(g, build(g, "aten.bmm.default", (struct arg[]){ arg_value(shaped_input(g, 3, batch)),
			arg_value(w) }, 2));
		plan(&f);
		assert_int_equal(f.plan.nfolds, is_computed);	/* nothing but layout is no work */
		if (is_computed) {
			assert_folds(&f, 0);
			assert_int_equal(f.plan.fold[0].bytes_added, 64);
			apply(&f, 1);
			assert_int_equal(count_op(g, "aten.expand_copy.default"), 1);
		}
		teardown(&f);
	}
}

static void a_product_that_nobody_reads_is_none(void **state)
{
	struct fixture f;
	struct graph *g;

	setup(&f);
	g = f.g[0];
	mm(g, input(g), mul(g, constant(g, "w", 0), number(g, "s", 1)));
	output(g, g->input[0]);
	plan(&f);
	assert_int_equal(f.plan.nfolds, 0);
	teardown(&f);
}

/* A product of constants alone feeds no weight: it stays, and says so. Where it feeds one, it folds with that. */
static void a_product_of_constants(void **state)
{
	for (int feeds = 0; feeds < 2; feeds++) {
		struct fixture f;
		struct graph *g;
		struct value *p;

		setup(&f);
		g = f.g[0];
		p = mm(g, constant(g, "v", 1), mul(g, constant(g, "w", 0), number(g, "s", 1)));
		output(g, feeds ? mm(g, input(g), p) : add(g, input(g), p));
		plan(&f);
		assert_int_equal(f.plan.nfolds, 1);
		if (feeds) {
			assert_folds(&f, 0);
			assert_int_equal(f.plan.fold[0].nnodes, 2);
		} else {
			assert_stays(&f, 0, "unlocks_nothing");
		}
		teardown(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_convolution),
		cmocka_unit_test(linear_and_addmm),
		cmocka_unit_test(the_matrix_under_a_bmm),
		cmocka_unit_test(a_product_that_nobody_reads_is_none),
		cmocka_unit_test(a_product_of_constants),
	};

	return RUN_TAP(tests);
}
