/* What facts are made of: costs by shape, modules by name or by weight. */
#include "core/op/op.h"
#include "core/session/cost.h"
#include "core/session/module.h"
#include "tests/lab.h"
#include "tests/tap.h"

static void flops_are(const struct value *v, double want)
{
	double got = cost_flops(v->def);

	if (got != want)
		fail_msg("%s: %g, expected %g", v->def->op->name, got, want);
}

static void costs_follow_shapes(void **state)
{
	struct lab *lab = lab_new();
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(2, 6, 8, 8)), *w = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(12, 3, 3, 3));
	struct value *t = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(6, 4, 3, 3)), *rows = lab_input(lab, DTYPE_F32, SIZES(5, 7));
	struct value *lin = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(11, 7)), *mat = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(7, 3));
	struct value *conv, *v;

	/* 2 x 12 x 6 x 6 results, each from 3 x 3 x 3 products */
	conv = lab_node(lab, "aten.convolution.default", V(x), V(w), NONE, INTS(1, 1), INTS(0, 0), INTS(1, 1), B(false), INTS(0, 0), I(2));
	flops_are(conv, 2.0 * (2 * 12 * 6 * 6) * 27);
	assert_int_equal(cost_bytes(conv->def), 4 * (2 * 6 * 8 * 8 + 12 * 27 + 2 * 12 * 6 * 6));
	/* transposed: each of 2 x 6 x 8 x 8 inputs goes into 4 x 3 x 3 products */
	v = lab_node(lab, "aten.convolution.default", V(x), V(t), NONE, INTS(1, 1), INTS(0, 0), INTS(1, 1), B(true), INTS(0, 0), I(1));
	flops_are(v, 2.0 * (2 * 6 * 8 * 8) * 36);
	flops_are(lab_node(lab, "aten.linear.default", V(rows), V(lin), NONE), 2.0 * 5 * 11 * 7);
	flops_are(lab_node(lab, "aten.mm.default", V(rows), V(mat)), 2.0 * 5 * 3 * 7);
	v = lab_node(lab, "aten.relu.default", V(x));
	flops_are(v, 2 * 6 * 8 * 8);
	flops_are(lab_node(lab, "aten.max_pool2d.default", V(x), INTS(2, 2), INTS(2, 2), INTS(0, 0), INTS(1, 1), B(false)), 4.0 * 2 * 6 * 4 * 4);
	flops_are(lab_node(lab, "aten.mean.dim", V(x), INTS(2, 3), B(true), NONE), 2 * 6 * 8 * 8);
	v = lab_node(lab, "aten.view_copy.default", V(x), INTS(2, 384));
	flops_are(v, 0);
	assert_int_equal(cost_bytes(v->def), 0);
	v = lab_node(lab, "aten.permute_copy.default", V(x), INTS(0, 2, 3, 1));
	flops_are(v, 0);
	assert_int_equal(cost_bytes(v->def), 2 * 4 * 2 * 6 * 8 * 8);
	lab_free(lab);
}

/* x -> linear(w1 * 2) -> relu -> linear(w2); and something before any weight. */
struct chain { struct value *first, *scaled, *one, *relu, *two; };

static struct chain chain(struct lab *lab, const char *name1, const char *name2)
{
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(5, 7)), *w1 = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(7, 7));
	struct value *w2 = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(7, 7));
	struct chain c;

	w1->name = name1;
	w2->name = name2;
	c.first = lab_node(lab, "aten.relu.default", V(x));
	c.scaled = lab_node(lab, "aten.abs.default", V(w1));
	c.one = lab_node(lab, "aten.linear.default", V(c.first), V(c.scaled), NONE);
	c.relu = lab_node(lab, "aten.relu.default", V(c.one));
	c.two = lab_node(lab, "aten.linear.default", V(c.relu), V(w2), NONE);
	return c;
}

static void modules_are(const struct lab *lab, const struct chain *c, const char *const *want)
{
	bool *constant = arena_array(&lab->g->mem, (size_t)lab->g->nvalues, sizeof *constant);
	const struct value *v[] = { c->first, c->scaled, c->one, c->relu, c->two };
	const char **name;

	for (int i = 0; i < lab->g->nvalues; i++)
		constant[i] = lab->g->value[i]->kind == VALUE_CONSTANT || lab->g->value[i] == c->scaled;
	name = module_names(lab->g, constant, &lab->g->mem);
	for (int i = 0; i < 5; i++)
		assert_string_equal(name[v[i]->def->order], want[i]);
}

static void modules_by_weight(void **state)
{
	struct lab *lab = lab_new();
	struct chain c = chain(lab, "constant0", "constant1");

	modules_are(lab, &c, (const char *const[]){ "", "linear", "linear", "linear", "linear_1" });
	lab_free(lab);
}

static void modules_by_name(void **state)
{
	struct lab *lab = lab_new();
	struct chain c = chain(lab, "head.up.parametrizations.weight.original0", "head.down.weight");

	modules_are(lab, &c, (const char *const[]){ "", "head.up", "head.up", "head.up", "head.down" });
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_follow_shapes),
		cmocka_unit_test(modules_by_weight),
		cmocka_unit_test(modules_by_name),
	};

	return RUN_TAP(tests);
}
