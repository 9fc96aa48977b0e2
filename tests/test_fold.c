/* The weight fold, rule by rule, on graphs made by hand. x is the input, w, v are constants of 4 x 4 floats. */
#include "tests/fold_fixture.h"
#include "tests/lab.h"

/* ---- what folds ---- */

static void a_computed_weight_folds(void **state)
{
	struct fixture f;
	struct graph *g;

	setup(&f);
	g = f.g[0];
	output(g, mm(g, input(g), mul(g, constant(g, "w", 0), number(g, "scale", 1))));
	plan(&f);
	assert_int_equal(f.plan.nfolds, 1);
	assert_folds(&f, 0);
	assert_string_equal(f.plan.fold[0].position, "weight");
	assert_int_equal(f.plan.fold[0].nnodes, 1);
	assert_int_equal(f.plan.fold[0].nsources, 2);
	assert_int_equal(f.plan.fold[0].bytes_added, 64);
	assert_int_equal(f.plan.fold[0].bytes_erased, 68);
	apply(&f, 1);
	assert_int_equal(g->nnodes, 1);
	for (int i = 0; i < 16; i++)
		assert_true(weight_of_mm(g)[i] == numbers[0][i] * numbers[1][0]);
	teardown(&f);
}

static void a_view_of_a_weight_folds(void **state)
{
	struct fixture f;
	struct graph *g;

	setup(&f);
	g = f.g[0];
	output(g, mm(g, input(g), permute(g, constant(g, "w", 0))));
	plan(&f);
	assert_folds(&f, 0);
	apply(&f, 1);
	assert_true(weight_of_mm(g)[1] == numbers[0][4]);
	teardown(&f);
}

static void bias_and_weight_are_two_candidates(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *b;
	const int64_t four[] = { 4 };

	setup(&f);
	g = f.g[0];
	b = mul(g, constant_of(g, "b", 2, 1, four), number(g, "s", 3));
	output(g, build(g, "aten.addmm.default", (struct arg[]){ arg_value(b), arg_value(input(g)),
		arg_value(permute(g, constant(g, "w", 0))), arg_int(1), arg_int(1) }, 5));
	plan(&f);
	assert_int_equal(f.plan.nfolds, 2);
	assert_string_equal(f.plan.fold[1].position, "bias");
	assert_folds(&f, 0);
	assert_folds(&f, 1);
	apply(&f, 2);
	assert_int_equal(g->nnodes, 1);
	teardown(&f);
}

static void a_plain_weight_is_no_candidate(void **state)
{
	struct fixture f;
	struct graph *g;

	setup(&f);
	g = f.g[0];
	output(g, mm(g, input(g), constant(g, "w", 0)));
	output(g, mul(g, constant(g, "v", 1), number(g, "s", 2)));	/* computed, but it feeds no GEMM */
	plan(&f);
	assert_int_equal(f.plan.nfolds, 0);
	apply(&f, 0);
	assert_int_equal(g->nnodes, 2);
	teardown(&f);
}

static void a_chain_of_100000_folds(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w, *one;
	float want = 1;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	one = number(g, "one", 0);
	for (int i = 0; i < 100000; i++)
		w = add(g, w, one);
	for (int i = 0; i < 100000; i++)
		want += 1;
	output(g, mm(g, input(g), w));
	plan(&f);
	assert_folds(&f, 0);
	assert_int_equal(f.plan.fold[0].nnodes, 100000);
	apply(&f, 1);
	assert_int_equal(g->nnodes, 1);
	assert_true(weight_of_mm(g)[0] == want);
	teardown(&f);
}

static void squarings_are_described_once_each(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	for (int i = 0; i < 60; i++)	/* 2^60 paths */
		w = mul(g, w, w);
	output(g, mm(g, input(g), w));
	plan(&f);
	assert_folds(&f, 0);
	assert_int_equal(f.plan.fold[0].nnodes, 60);
	teardown(&f);
}

static void the_computed_weight_may_have_other_readers(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w;

	setup(&f);
	g = f.g[0];
	w = mul(g, constant(g, "w", 0), number(g, "s", 1));
	output(g, mm(g, input(g), w));
	output(g, add(g, w, w));
	plan(&f);
	assert_folds(&f, 0);
	apply(&f, 1);
	assert_int_equal(count_op(g, "aten.mul.Tensor"), 0);
	teardown(&f);
}

static void equal_expressions_are_stored_once(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w, *x;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	x = input(g);
	for (int i = 0; i < 3; i++)
		x = mm(g, x, permute(g, w));
	output(g, x);
	plan(&f);
	for (int i = 0; i < 3; i++)
		assert_folds(&f, i);
	assert_int_equal(f.plan.fold[0].bytes_added, 64);
	assert_string_equal(f.plan.fold[0].name, f.plan.fold[2].name);
	apply(&f, 1);
	assert_ptr_equal(node_input(g->first, 1), node_input(g->last, 1));
	teardown(&f);
}

/* ---- bytes ---- */

static void a_source_that_others_read_is_not_erased(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w, *x;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	x = input(g);
	output(g, mm(g, x, permute(g, w)));
	output(g, add(g, x, w));
	plan(&f);
	assert_stays(&f, 0, "would_grow");
	apply(&f, 0);
	assert_int_equal(count_op(g, "aten.permute_copy.default"), 1);
	teardown(&f);
}

static void a_copy_elsewhere_keeps_its_source(void **state)
{
	static float same[16];
	struct fixture f;
	struct graph *g;
	struct value *w, *copy, *x;

	setup(&f);
	g = f.g[0];
	memcpy(same, numbers[0], sizeof same);
	w = constant(g, "w", 0);
	copy = constant(g, "copy", 0);	/* a delegate's own copy, in other memory */
	copy->data = (const uint8_t *)same;
	x = input(g);
	output(g, mm(g, x, permute(g, w)));
	output(g, mm(g, x, copy));
	plan(&f);
	assert_stays(&f, 0, "would_grow");
	teardown(&f);
}

static void a_reader_that_nobody_reads_is_none(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	add(g, w, w);
	output(g, mm(g, input(g), permute(g, w)));
	plan(&f);
	assert_folds(&f, 0);
	apply(&f, 1);
	assert_int_equal(g->nnodes, 1);
	teardown(&f);
}

static void a_source_that_is_an_output_is_not_erased(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	output(g, mm(g, input(g), permute(g, w)));
	output(g, w);
	plan(&f);
	assert_stays(&f, 0, "would_grow");
	teardown(&f);
}

static void a_step_that_others_read_keeps_its_sources(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *step;

	setup(&f);
	g = f.g[0];
	step = mul(g, constant(g, "w", 0), number(g, "s", 1));
	output(g, mm(g, input(g), permute(g, step)));
	output(g, add(g, step, step));
	plan(&f);
	assert_stays(&f, 0, "would_grow");
	teardown(&f);
}

static void folds_of_one_source_are_weighed_together(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w, *x;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	x = input(g);
	output(g, mm(g, x, mul(g, w, number(g, "a", 1))));	/* two different tensors for one erased */
	output(g, mm(g, x, mul(g, w, number(g, "b", 2))));
	plan(&f);
	assert_stays(&f, 0, "would_grow");
	assert_stays(&f, 1, "would_grow");
	teardown(&f);
}

static void halves_of_one_source_fit_together(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w, *x, *half[2];
	const int64_t size[] = { 8, 4 };
	static float both[32];

	setup(&f);
	g = f.g[0];
	w = constant_of(g, "w", 0, 2, size);
	w->data = (const uint8_t *)both;
	x = input(g);
	for (int i = 0; i < 2; i++) {
		half[i] = build(g, "aten.slice_copy.Tensor", (struct arg[]){ arg_value(w), arg_int(0),
			arg_int(4 * i), arg_int(4 * i + 4), arg_int(1) }, 5);
		output(g, mm(g, x, half[i]));
	}
	plan(&f);
	assert_folds(&f, 0);
	assert_folds(&f, 1);
	assert_int_equal(f.plan.fold[0].bytes_added, 128);
	assert_int_equal(f.plan.fold[0].bytes_erased, 128);
	assert_int_equal(f.plan.fold[1].bytes_added, 0);
	f.plan.fold[1].marked = false;	/* one alone would grow the program */
	assert_int_equal(fold_apply(&f.plan, f.g, f.n, &f.err), -1);
	assert_int_equal(f.err.code, ERROR_REFUSED);
	f.plan.fold[1].marked = true;
	apply(&f, 2);
	teardown(&f);
}

static void an_unfit_member_does_not_spoil_its_group(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w, *v, *x;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	v = constant(g, "v", 1);
	x = input(g);
	output(g, mm(g, x, add(g, w, v)));	/* erases v; w stays for the others */
	output(g, mm(g, x, permute(g, w)));
	output(g, add(g, x, w));
	plan(&f);
	assert_folds(&f, 0);
	assert_stays(&f, 1, "would_grow");
	apply(&f, 1);
	teardown(&f);
}

/* ---- what never folds ---- */

static void state_never_folds(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *s;

	setup(&f);
	g = f.g[0];
	s = graph_value(g, VALUE_STATE, DTYPE_F32, 2, square);
	s->name = "cache";
	s->state_slot = 0;
	s->data = (const uint8_t *)numbers[0];
	output(g, mm(g, input(g), permute(g, s)));
	output(g, mm(g, g->input[0], permute(g, g->input[0])));
	plan(&f);
	assert_stays(&f, 0, "buffer");
	assert_non_null(strstr(f.plan.fold[0].text, "cache"));
	assert_stays(&f, 1, "not_constant");
	teardown(&f);
}

static void fills_and_what_comes_of_them_never_fold(void **state)
{
	for (int like = 0; like < 2; like++) {
		struct fixture f;
		struct graph *g;
		struct value *w, *ones;

		setup(&f);
		g = f.g[0];
		w = constant(g, "w", 0);
		ones = like ? build(g, "aten.full_like.default", (struct arg[]){ arg_value(w), arg_int(1),
			arg_none(), arg_none(), arg_none(),
				arg_none(), arg_none() }, 7) :
			build(g, "aten.full.default", (struct arg[]){ arg_ints(g, square, 2), arg_int(1),
				arg_int(DTYPE_F32), arg_none(),
				arg_none(), arg_none() }, 6);
		output(g, mm(g, input(g), add(g, w, ones)));
		plan(&f);
		assert_stays(&f, 0, "factory");
		teardown(&f);
	}
}

static void arange_takes_part_but_is_no_weight_of_its_own(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *row, *w;

	setup(&f);
	g = f.g[0];
	row = build(g, "aten.arange.start_step", (struct arg[]){ arg_int(0), arg_int(4), arg_int(1),
		arg_int(DTYPE_F32), arg_none(), arg_none(),
							   arg_none() }, 7);
	output(g, mm(g, input(g), mul(g, constant(g, "w", 0), row)));
	w = build(g, "aten.arange.start_step", (struct arg[]){ arg_int(0), arg_int(16), arg_int(1),
		arg_int(DTYPE_F32), arg_none(), arg_none(),
							   arg_none() }, 7);
	w = build(g, "aten.view_copy.default", (struct arg[]){ arg_value(w), arg_ints(g, square, 2) }, 2);
	output(g, mm(g, g->input[0], w));
	plan(&f);
	assert_folds(&f, 0);
	assert_stays(&f, 1, "would_grow");
	teardown(&f);
}

static void random_quantised_and_unknown_operators_never_fold(void **state)
{
	static const struct op rows[] = {
		{ "my.rand", NULL, "T>T", "self", DTYPES_ANY, OP_RANDOM, NULL, NULL }, { "my.dequantize", NULL, "T>T",
			"self", DTYPES_ANY, OP_QUANTIZE, NULL, NULL },
		{ "my.unknown", NULL, "T>T", "self", DTYPES_ANY, OP_OPAQUE, NULL, NULL }, { "my.slow", NULL, "T>T", "self",
			DTYPES_ANY, 0, NULL, NULL },
		{ "my.write_", NULL, "T>T", "self", DTYPES_ANY, OP_MUTATES, NULL, NULL },
	};
	static const char *const codes[] = { "impure", "quantized", "opaque", "no_kernel", "impure" };

	for (int i = 0; i < 5; i++) {
		struct fixture f;
		struct graph *g;
		struct node *n;

		setup(&f);
		g = f.g[0];
		n = graph_node(g, NULL, &rows[i], (struct arg[]){ arg_value(constant(g, "w", 0)) }, 1);
		node_add_output(g, n, DTYPE_F32, 2, square);
		output(g, mm(g, input(g), add(g, n->out[0], number(g, "s", 1))));
		plan(&f);
		assert_stays(&f, 0, codes[i]);
		teardown(&f);
	}
}

static void a_program_that_trains_never_folds(void **state)
{
	struct fixture f;
	struct graph *g;

	setup(&f);
	g = f.g[0];
	g->training = true;
	output(g, mm(g, input(g), permute(g, constant(g, "w", 0))));
	plan(&f);
	assert_stays(&f, 0, "training");
	teardown(&f);
}

static void control_flow_and_what_is_not_understood_never_fold(void **state)
{
	for (int flow = 0; flow < 2; flow++) {
		struct fixture f;
		struct graph *g;

		setup(&f);
		g = f.g[0];
		g->control_flow = flow;
		g->rigid = true;
		output(g, mm(g, input(g), permute(g, constant(g, "w", 0))));
		plan(&f);
		assert_stays(&f, 0, flow ? "control_flow" : "opaque");
		teardown(&f);
	}
}

/* What has another number of elements for other contents is no one tensor. */
static void a_size_that_the_contents_decide_never_folds(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *places;

	setup(&f);
	g = f.g[0];
	places = build(g, "aten.nonzero.default", (struct arg[]){ arg_value(constant(g, "w", 0)) }, 1);
	assert_true(places->dynamic);
	places = build(g, "aten._to_copy.default", (struct arg[]){ arg_value(places), arg_int(DTYPE_F32), arg_none(),
		arg_none(), arg_none(), arg_bool(false), arg_none() }, 7);
	output(g, mm(g, mm(g, input(g), constant_of(g, "y", 1, 2, (const int64_t[]){ 4, 16 })), places));
	plan(&f);
	for (int i = 0; i < f.plan.nfolds; i++)
		assert_stays(&f, i, "size_varies");
	assert_true(f.plan.nfolds > 0);
	teardown(&f);
}

static void missing_data_never_folds(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	w->data = NULL;
	w->home = 0;
	output(g, mm(g, input(g), permute(g, w)));
	plan(&f);
	assert_stays(&f, 0, "data_missing");
	teardown(&f);
}

/* ---- several outputs, numbers ---- */

static void all_outputs_fold_or_none(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w, *first;
	const int64_t wide[] = { 8, 4 };
	static float both[32];

	setup(&f);
	g = f.g[0];
	w = constant_of(g, "w", 0, 2, wide);
	w->data = (const uint8_t *)both;
	first = build(g, "aten.split_copy.Tensor", (struct arg[]){ arg_value(w), arg_int(4), arg_int(0) }, 3);
	output(g, mm(g, input(g), first));
	output(g, first->def->out[1]);
	plan(&f);
	assert_folds(&f, 0);
	assert_int_equal(f.plan.fold[0].bytes_added, 128);
	apply(&f, 2);
	assert_int_equal(g->nnodes, 1);
	assert_int_equal(g->output[1].value->kind, VALUE_CONSTANT);
	teardown(&f);
}

static void unread_outputs_are_not_stored_and_read_ones_count(void **state)
{
	for (int read = 0; read < 2; read++) {
		struct fixture f;
		struct graph *g;
		struct value *w, *max;
		const int64_t size[] = { 4, 4, 2 };	/* values 64 bytes, indices 128, source 128 */
		static float both[32];

		setup(&f);
		g = f.g[0];
		w = constant_of(g, "w", 0, 3, size);
		w->data = (const uint8_t *)both;
		max = build(g, "aten.max.dim", (struct arg[]){ arg_value(w), arg_int(2), arg_bool(false) }, 3);
		output(g, mm(g, input(g), max));
		if (read)
			output(g, max->def->out[1]);
		plan(&f);
		if (read)
			assert_stays(&f, 0, "would_grow");
		else
			assert_folds(&f, 0);
		teardown(&f);
	}
}

static void a_number_read_from_a_tensor_folds_and_stays_for_others(void **state)
{
	for (int outside = 0; outside < 2; outside++) {
		struct fixture f;
		struct graph *g;
		struct value *item;

		setup(&f);
		g = f.g[0];
		item = build(g, "aten._local_scalar_dense.default", (struct arg[]){ arg_value(number(g, "s",
			1)) }, 1);
		output(g, mm(g, input(g), build(g, "aten.mul.Scalar", (struct arg[]){ arg_value(constant(g, "w",
			0)), arg_value(item) }, 2)));
		if (outside)
			output(g, build(g, "aten.mul.Scalar", (struct arg[]){ arg_value(g->input[0]),
				arg_value(item) }, 2));
		plan(&f);
		assert_folds(&f, 0);
		assert_int_equal(f.plan.fold[0].bytes_erased, outside ? 64 : 68);
		apply(&f, 1);
		assert_int_equal(count_op(g, "aten._local_scalar_dense.default"), outside);
		assert_true(weight_of_mm(g)[3] == numbers[0][3] * numbers[1][0]);
		teardown(&f);
	}
}

/* ---- homes and methods ---- */

static void sources_in_different_files_stay_apart(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *base, *a, *b, *scale;

	setup(&f);
	g = f.g[0];
	base = constant(g, "base", 0);
	a = constant(g, "lora.a", 1);
	b = constant(g, "lora.b", 2);
	scale = number(g, "lora.s", 3);	/* a number does not count */
	base->home = 0;
	a->home = b->home = 1;
	output(g, mm(g, input(g), add(g, base, mul(g, mm(g, a, b), scale))));
	plan(&f);
	assert_int_equal(f.plan.nfolds, 2);
	assert_stays(&f, 0, "tags_differ");
	assert_folds(&f, 1);	/* the adapter's product alone, in the adapter's file */
	assert_int_equal(f.plan.fold[1].home, 1);
	apply(&f, 1);
	assert_int_equal(count_op(g, "aten.mm.default"), 1);
	assert_int_equal(count_op(g, "aten.add.Tensor"), 1);
	teardown(&f);
}

static void a_folded_tensor_lives_where_its_sources_live(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w;

	setup(&f);
	g = f.g[0];
	w = constant(g, "w", 0);
	w->home = 1;
	output(g, mm(g, input(g), mul(g, w, number(g, "s", 1))));
	plan(&f);
	assert_folds(&f, 0);
	assert_int_equal(f.plan.fold[0].home, 1);
	apply(&f, 1);
	assert_int_equal(node_input(g->first, 1)->home, 1);
	assert_string_equal(node_input(g->first, 1)->folded, f.plan.fold[0].name);
	teardown(&f);
}

static void a_constant_that_another_method_reads_stays_out(void **state)
{
	for (int reads = 0; reads < 2; reads++) {
		struct fixture f;
		struct value *w;

		setup(&f);
		f.n = 2;
		output(f.g[0], mm(f.g[0], input(f.g[0]), permute(f.g[0], constant(f.g[0], "w", 0))));
		w = constant(f.g[1], "w", 0);	/* without readers it is no read */
		if (reads)
			output(f.g[1], add(f.g[1], input(f.g[1]), w));
		plan(&f);
		if (reads)
			assert_stays(&f, 0, "shared_across_methods");
		else
			assert_folds(&f, 0);
		teardown(&f);
	}
}

static void all_methods_fold_one_expression_if_bytes_shrink(void **state)
{
	for (int shrinks = 0; shrinks < 2; shrinks++) {
		struct fixture f;
		const char *name;

		setup(&f);
		f.n = 2;
		for (int m = 0; m < 2; m++) {
			struct value *w = constant(f.g[m], m ? "other name" : "w", 0), *v = constant(f.g[m], "v", 1);

			output(f.g[m], mm(f.g[m], input(f.g[m]), shrinks ? add(f.g[m], w, v) : permute(f.g[m], w)));
		}
		plan(&f);
		if (!shrinks) {
			assert_stays(&f, 0, "shared_across_methods");
			assert_stays(&f, 1, "shared_across_methods");
			teardown(&f);
			continue;
		}
		assert_folds(&f, 0);
		assert_folds(&f, 1);
		name = f.plan.fold[0].name;
		assert_string_equal(name, f.plan.fold[1].name);
		apply(&f, 1);
		assert_ptr_equal(weight_of_mm(f.g[0]), weight_of_mm(f.g[1]));
		teardown(&f);
	}
}

/* ---- names ---- */

static const char *name_of(struct fixture *f, const char *source, int content, double factor, bool twice)
{
	struct graph *g = f->g[0];
	struct value *w = constant(g, source, content);

	for (int i = 0; i < 1 + twice; i++)
		w = build(g, "aten.mul.Scalar", (struct arg[]){ arg_value(w), arg_double(factor) }, 2);
	output(g, mm(g, input(g), w));
	plan(f);
	assert_folds(f, 0);
	return f->plan.fold[0].name;
}

static void names_tell_the_expression_and_nothing_else(void **state)
{
	static const struct { const char *source; int content; double factor; bool twice, same; } other[] = {
		{ "w", 0, 3, false, true }, { "w", 5, 3, false, true }, { "v", 0, 3, false, false }, { "w", 0,
			3.5, false, false },
		{ "w", 0, 3, true, false },
	};

	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		struct fixture a, b;
		const char *x, *y;

		setup(&a);
		setup(&b);
		mul(b.g[0], constant(b.g[0], "unrelated", 7), number(b.g[0], "n", 7));	/* other numbering */
		x = name_of(&a, "w", 0, 3, false);
		y = name_of(&b, other[i].source, other[i].content, other[i].factor, other[i].twice);
		assert_memory_equal(x, "w_prop_", 7);
		assert_int_equal(strlen(x), 7 + 64);
		assert_int_equal(!strcmp(x, y), other[i].same);
		teardown(&a);
		teardown(&b);
	}
}

static void names_tell_operators_and_types(void **state)
{
	const int64_t wide[] = { 2, 8 };
	struct fixture f[3];

	for (int i = 0; i < 3; i++) {
		struct graph *g;
		struct value *w;

		setup(&f[i]);
		g = f[i].g[0];
		w = constant_of(g, "w", 0, 2, i == 2 ? wide : square);
		w = build(g, i == 1 ? "aten.div.Scalar" : "aten.mul.Scalar", (struct arg[]){ arg_value(w), arg_double(3) }, 2);
		if (i == 2)
			output(g, mm(g, mm(g, input(g), constant_of(g, "v", 1, 2, (const int64_t[]){ 4, 2 })), w));
		else
			output(g, mm(g, input(g), w));
		plan(&f[i]);
		assert_folds(&f[i], 0);
	}
	assert_string_not_equal(f[0].plan.fold[0].name, f[1].plan.fold[0].name);
	assert_string_not_equal(f[0].plan.fold[0].name, f[2].plan.fold[0].name);
	for (int i = 0; i < 3; i++)
		teardown(&f[i]);
}

static void equal_names_do_not_make_equal_tensors(void **state)
{
	for (int external = 0; external < 2; external++) {
		struct fixture f;

		setup(&f);
		f.n = 2;
		for (int m = 0; m < 2; m++) {	/* unnamed constants are counted in each method */
			struct value *w = constant(f.g[m], "constant0", m);

			w->home = external ? 0 : HOME_PROGRAM;
			output(f.g[m], mm(f.g[m], input(f.g[m]), permute(f.g[m], w)));
		}
		plan(&f);
		if (external) {	/* a data file finds tensors by name */
			assert_stays(&f, 0, "name_clash");
			assert_stays(&f, 1, "name_clash");
		} else {
			apply(&f, 2);
			assert_true(weight_of_mm(f.g[0])[1] == numbers[0][4]);
			assert_true(weight_of_mm(f.g[1])[1] == numbers[1][4]);
		}
		teardown(&f);
	}
}

/* ---- the result ---- */

static void nothing_marked_changes_nothing_and_twice_is_once(void **state)
{
	struct fixture f;
	struct graph *g;

	setup(&f);
	g = f.g[0];
	output(g, mm(g, input(g), permute(g, constant(g, "w", 0))));
	plan(&f);
	f.plan.fold[0].marked = false;
	apply(&f, 0);
	assert_int_equal(g->nnodes, 2);
	f.plan.fold[0].marked = true;
	apply(&f, 1);
	fold_plan_free(&f.plan);
	plan(&f);
	assert_int_equal(f.plan.nfolds, 0);
	teardown(&f);
}

static void the_delegate_of_a_folded_node_is_made_anew(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *w;
	int group;

	setup(&f);
	g = f.g[0];
	group = graph_add_group(g, 0);
	graph_add_group(g, 1);
	w = mul(g, constant(g, "w", 0), number(g, "s", 1));
	w->def->group = group;
	output(g, mm(g, input(g), w));
	g->group[0].changed = g->group[1].changed = false;
	plan(&f);
	apply(&f, 1);
	assert_true(g->group[0].changed);
	assert_false(g->group[1].changed);
	teardown(&f);
}

/* Delegates hold filters of f16 convolutions as f32: the cast is how XNNPACK packs them, no work to be saved. */
static void the_cast_of_a_delegates_filter_stays(void **state)
{
	struct lab *lab = lab_new();
	struct value *w = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(2, 3, 1, 1)), *c, *y;
	struct error err = { 0 };
	struct fold_plan p;

	c = lab_node(lab, "dim_order_ops._to_dim_order_copy.default", V(w), I(DTYPE_F16), NONE, NONE, NONE, B(false), NONE);
	y = lab_node(lab, "aten.convolution.default", V(lab_input(lab, DTYPE_F16, SIZES(1, 3, 4, 4))), V(c), NONE, INTS(1, 1), INTS(0, 0),
		     INTS(1, 1), B(false), INTS(0, 0), I(1));
	lab_output(lab, y);
	assert_true(fold_plan(&p, &lab->g, 1, &err));
	assert_int_equal(p.nfolds, 1);
	fold_plan_free(&p);
	c->def->group = y->def->group = graph_add_group(lab->g, 0);
	assert_true(fold_plan(&p, &lab->g, 1, &err));
	assert_int_equal(p.nfolds, 0);
	fold_plan_free(&p);
	lab_free(lab);
}

/* Weights that share a number are weighed together: what one leaves over, another may take, and it is found at once. */
static void weights_of_one_number_are_one_group(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *x, *s;

	setup(&f);
	g = f.g[0];
	x = input(g);
	s = number(g, "s", 1);
	output(g, mm(g, x, mul(g, constant(g, "w", 0), s)));
	output(g, mm(g, x, mul(g, constant(g, "v", 2), s)));
	plan(&f);
	assert_folds(&f, 0);
	assert_folds(&f, 1);
	assert_int_equal(f.plan.fold[0].bytes_added + f.plan.fold[1].bytes_added, 128);
	assert_int_equal(f.plan.fold[0].bytes_erased + f.plan.fold[1].bytes_erased, 132);	/* s goes, too */
	teardown(&f);
}

/* Members of one group may live in different files: each tensor goes where its own sources were, under their name. */
static void members_of_a_group_keep_their_files(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *x, *w, *v, *s;

	setup(&f);
	g = f.g[0];
	x = input(g);
	s = number(g, "s", 1);
	w = constant(g, "w", 0);
	v = constant(g, "v", 2);
	w->home = 0;
	v->home = 1;
	output(g, mm(g, x, mul(g, w, s)));
	output(g, mm(g, x, mul(g, v, s)));
	plan(&f);
	apply(&f, 2);
	assert_int_equal(node_input(g->first, 1)->home, 0);
	assert_int_equal(node_input(g->first->next, 1)->home, 1);
	assert_int_equal(strncmp(node_input(g->first, 1)->name, "w_prop_", 7), 0);
	assert_int_equal(strncmp(node_input(g->first->next, 1)->name, "v_prop_", 7), 0);
	teardown(&f);
}

static void a_number_of_an_adapter_stays_with_it(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *s;

	setup(&f);
	g = f.g[0];
	s = number(g, "lora.scale", 1);
	s->home = 0;
	output(g, mm(g, input(g), mul(g, constant(g, "base", 0), s)));
	plan(&f);
	assert_stays(&f, 0, "tags_differ");
	teardown(&f);
}

/* Two that use up w and v between them stay together; the one that grows goes, though each alone stores as much. */
static void the_one_that_grows_is_taken_out(void **state)
{
	static const int64_t row[] = { 1, 4 };
	struct fixture f;
	struct graph *g;
	struct value *x, *w, *v, *s, *u;

	setup(&f);
	g = f.g[0];
	x = input(g);
	s = number(g, "s", 1);
	w = mul(g, constant(g, "w", 0), s);
	v = constant(g, "v", 2);
	u = mul(g, constant_of(g, "u", 3, 2, row), s);
	output(g, mm(g, x, add(g, w, v)));
	output(g, mm(g, x, mul(g, w, v)));
	output(g, mm(g, x, build(g, "aten.expand_copy.default", (struct arg[]){ arg_value(u), arg_ints(g, square, 2),
		arg_bool(false) }, 3)));
	plan(&f);
	assert_folds(&f, 0);
	assert_folds(&f, 1);
	assert_stays(&f, 2, "would_grow");
	teardown(&f);
}

/* Halves of w fit together, but not with what repeats the row that one of them reads, too. */
static void the_dearest_goes_first(void **state)
{
	const int64_t four[] = { 4 }, narrow[] = { 4, 2 };
	struct fixture f;
	struct graph *g;
	struct value *x, *x2, *w, *row, *half;

	setup(&f);
	g = f.g[0];
	x = input(g);
	x2 = mm(g, x, constant_of(g, "v", 1, 2, narrow));
	w = constant(g, "w", 0);
	row = constant_of(g, "row", 2, 1, four);
	output(g, mm(g, x, build(g, "aten.expand_copy.default", (struct arg[]){ arg_value(row), arg_ints(g, square, 2),
		arg_bool(false) }, 3)));
	for (int i = 0; i < 2; i++) {
		half = build(g, "aten.slice_copy.Tensor", (struct arg[]){ arg_value(w), arg_int(0), arg_int(2 * i),
			arg_int(2 * i + 2), arg_int(1) }, 5);
		output(g, mm(g, x2, i ? half : mul(g, half, row)));
	}
	plan(&f);
	assert_stays(&f, 0, "would_grow");
	assert_folds(&f, 1);
	assert_folds(&f, 2);
	apply(&f, 2);
	teardown(&f);
}

/* Two readers of one expression store one tensor: neither is dearer for the other. */
static void equal_weights_fold_together(void **state)
{
	const int64_t row[] = { 1, 4 }, narrow[] = { 4, 2 };
	struct fixture f;
	struct graph *g;
	struct value *x, *w, *v, *part;

	setup(&f);
	g = f.g[0];
	x = input(g);
	w = constant(g, "w", 0);
	v = constant(g, "v", 1);
	for (int i = 0; i < 2; i++)
		output(g, mm(g, x, mul(g, w, v)));
	part = build(g, "aten.slice_copy.Tensor", (struct arg[]){ arg_value(add(g, v, constant_of(g, "row", 2, 2, row))),
		arg_int(0), arg_int(0), arg_int(2), arg_int(1) }, 5);
	output(g, mm(g, mm(g, x, constant_of(g, "u", 3, 2, narrow)), part));	/* 32 bytes, and only the row goes */
	output(g, v);
	plan(&f);
	assert_folds(&f, 0);
	assert_folds(&f, 1);
	assert_stays(&f, 2, "would_grow");
	apply(&f, 1);
	teardown(&f);
}

/* The dearest goes first, though it is another that does not fit: it comes back once that one is gone. */
static void what_went_too_early_comes_back(void **state)
{
	const int64_t one[] = { 1, 1 }, column[] = { 4, 1 };
	struct fixture f;
	struct graph *g;
	struct value *w, *v, *both, *x;

	setup(&f);
	g = f.g[0];
	x = input(g);
	w = constant(g, "w", 0);
	v = constant(g, "v", 1);
	both = build(g, "aten.mean.dim", (struct arg[]){ arg_value(mul(g, w, v)), arg_ints(g, (const int64_t[]){ 0, 1 }, 2),
		arg_bool(true), arg_none() }, 4);
	output(g, mm(g, x, permute(g, w)));						/* 64 bytes */
	output(g, mm(g, graph_value(g, VALUE_INPUT, DTYPE_F32, 2, column), mul(g, both,
		constant_of(g, "t", 2, 2, one))));					/* 4 bytes, and erases t */
	graph_add_input(g, g->output[1].value->def->arg[0].value, arg_none());
	output(g, mm(g, x, build(g, "aten.slice_copy.Tensor", (struct arg[]){ arg_value(v), arg_int(1), arg_int(0),
		arg_int(3), arg_int(1) }, 5)));						/* 48 bytes, and v stays */
	output(g, v);
	plan(&f);
	assert_folds(&f, 0);
	assert_folds(&f, 1);
	assert_stays(&f, 2, "would_grow");
	assert_int_equal(f.plan.fold[0].bytes_erased, 68);
	apply(&f, 2);
	teardown(&f);
}

/* Weights that have nothing but a number in common do not pull each other down. */
static void a_common_number_spoils_nothing(void **state)
{
	struct fixture f;
	struct graph *g;
	struct value *x, *s;

	setup(&f);
	g = f.g[0];
	x = input(g);
	s = number(g, "s", 1);
	for (int i = 0; i < 3; i++) {
		struct value *w = constant(g, "w", i + 2);

		output(g, mm(g, x, mul(g, w, s)));
		if (i == 1)
			output(g, w);
	}
	plan(&f);
	assert_folds(&f, 0);
	assert_stays(&f, 1, "would_grow");
	assert_folds(&f, 2);
	assert_int_equal(f.plan.fold[0].bytes_erased, 128);	/* of the group; s stays */
	apply(&f, 2);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_computed_weight_folds), cmocka_unit_test(a_view_of_a_weight_folds),
		cmocka_unit_test(bias_and_weight_are_two_candidates),
			cmocka_unit_test(a_plain_weight_is_no_candidate),
		cmocka_unit_test(a_chain_of_100000_folds), cmocka_unit_test(squarings_are_described_once_each),
		cmocka_unit_test(the_computed_weight_may_have_other_readers),
			cmocka_unit_test(equal_expressions_are_stored_once),
		cmocka_unit_test(a_source_that_others_read_is_not_erased),
			cmocka_unit_test(a_copy_elsewhere_keeps_its_source),
		cmocka_unit_test(a_reader_that_nobody_reads_is_none),
		cmocka_unit_test(a_source_that_is_an_output_is_not_erased),
		cmocka_unit_test(a_step_that_others_read_keeps_its_sources),
		cmocka_unit_test(folds_of_one_source_are_weighed_together),
			cmocka_unit_test(halves_of_one_source_fit_together),
		cmocka_unit_test(an_unfit_member_does_not_spoil_its_group), cmocka_unit_test(state_never_folds),
		cmocka_unit_test(fills_and_what_comes_of_them_never_fold),
		cmocka_unit_test(arange_takes_part_but_is_no_weight_of_its_own),
		cmocka_unit_test(random_quantised_and_unknown_operators_never_fold),
		cmocka_unit_test(a_program_that_trains_never_folds),
		cmocka_unit_test(control_flow_and_what_is_not_understood_never_fold),
		cmocka_unit_test(a_size_that_the_contents_decide_never_folds),
		cmocka_unit_test(missing_data_never_folds), cmocka_unit_test(all_outputs_fold_or_none),
		cmocka_unit_test(unread_outputs_are_not_stored_and_read_ones_count),
		cmocka_unit_test(a_number_read_from_a_tensor_folds_and_stays_for_others),
		cmocka_unit_test(sources_in_different_files_stay_apart),
		cmocka_unit_test(a_folded_tensor_lives_where_its_sources_live),
		cmocka_unit_test(a_constant_that_another_method_reads_stays_out),
		cmocka_unit_test(all_methods_fold_one_expression_if_bytes_shrink),
		cmocka_unit_test(names_tell_the_expression_and_nothing_else),
		cmocka_unit_test(equal_names_do_not_make_equal_tensors),
		cmocka_unit_test(nothing_marked_changes_nothing_and_twice_is_once),
		cmocka_unit_test(the_delegate_of_a_folded_node_is_made_anew),
		cmocka_unit_test(the_cast_of_a_delegates_filter_stays),
		cmocka_unit_test(weights_of_one_number_are_one_group),
		cmocka_unit_test(members_of_a_group_keep_their_files),
		cmocka_unit_test(a_number_of_an_adapter_stays_with_it),
		cmocka_unit_test(the_one_that_grows_is_taken_out),
		cmocka_unit_test(what_went_too_early_comes_back),
		cmocka_unit_test(a_common_number_spoils_nothing),
		cmocka_unit_test(the_dearest_goes_first),
		cmocka_unit_test(equal_weights_fold_together),
		cmocka_unit_test(names_tell_operators_and_types),
	};

	return RUN_TAP(tests);
}
