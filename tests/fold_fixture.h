/* fold_fixture.h - graphs made by hand, for the tests of the weight fold: up to two methods, constants of 4 x 4 floats,
 * and a plan that is looked at and applied. */
#ifndef TESTS_FOLD_FIXTURE_H
#define TESTS_FOLD_FIXTURE_H

#include "tests/tap.h"

#include "core/op/op.h"
#include "core/pass/fold.h"
#include "core/run/exec.h"

#include <stdlib.h>

enum { METHODS = 2 };

struct fixture {
	struct graph *g[METHODS];
	int n;
	struct fold_plan plan;
	struct error err;
};

static const int64_t square[] = { 4, 4 };
static float numbers[8][16];	/* contents, each another */

static inline void setup(struct fixture *f)
{
	memset(f, 0, sizeof *f);
	f->g[0] = graph_new("forward");
	f->g[1] = graph_new("decode");
	f->n = 1;
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < 16; k++)
			numbers[i][k] = (float)(i + 1) + (float)k / 8;
}

static inline void teardown(struct fixture *f)
{
	fold_plan_free(&f->plan);
	for (int i = 0; i < METHODS; i++)
		graph_free(f->g[i]);
}

static inline struct value *constant_of(struct graph *g, const char *name, int content, int rank, const int64_t *size)
{
	struct value *v = graph_value(g, VALUE_CONSTANT, DTYPE_F32, rank, size);

	v->name = name;
	v->data = (const uint8_t *)numbers[content];
	return v;
}

static inline struct value *constant(struct graph *g, const char *name, int content)
{
	return constant_of(g, name, content, 2, square);
}

static inline struct value *number(struct graph *g, const char *name, int content)
{
	return constant_of(g, name, content, 0, NULL);
}

static inline struct value *input(struct graph *g)
{
	struct value *v = graph_value(g, VALUE_INPUT, DTYPE_F32, 2, square);

	graph_add_input(g, v, arg_none());
	return v;
}

static inline struct value *build(struct graph *g, const char *op, const struct arg *arg, int nargs)
{
	struct error err = { 0 };
	struct value *v = op_build(g, NULL, op, arg, nargs, &err);

	if (!v)
		fail_msg("%s", err.text);
	return v;
}

static inline struct value *mul(struct graph *g, struct value *a, struct value *b)
{
	return build(g, "aten.mul.Tensor", (struct arg[]){ arg_value(a), arg_value(b) }, 2);
}

static inline struct value *add(struct graph *g, struct value *a, struct value *b)
{
	return build(g, "aten.add.Tensor", (struct arg[]){ arg_value(a), arg_value(b), arg_int(1) }, 3);
}

static inline struct value *permute(struct graph *g, struct value *a)
{
	return build(g, "aten.permute_copy.default", (struct arg[]){ arg_value(a), arg_ints(g, (int64_t[]){ 1,
		0 }, 2) }, 2);
}

static inline struct value *mm(struct graph *g, struct value *x, struct value *w)
{
	return build(g, "aten.mm.default", (struct arg[]){ arg_value(x), arg_value(w) }, 2);
}

static inline void output(struct graph *g, struct value *v)
{
	graph_add_output(g, arg_value(v));
}

static inline void plan(struct fixture *f)
{
	if (!fold_plan(&f->plan, f->g, f->n, &f->err))
		fail_msg("%s", f->err.text);
}

static inline void assert_folds(struct fixture *f, int i)
{
	assert_true(i < f->plan.nfolds);
	if (!f->plan.fold[i].folds)
		fail_msg("stays: %s, %s", f->plan.fold[i].code, f->plan.fold[i].text);
}

static inline void assert_stays(struct fixture *f, int i, const char *code)
{
	assert_true(i < f->plan.nfolds);
	assert_false(f->plan.fold[i].folds);
	assert_string_equal(f->plan.fold[i].code, code);
	assert_true(strlen(f->plan.fold[i].text) > 10);
}

static inline int count_op(const struct graph *g, const char *name)
{
	int n = 0;

	for (const struct node *x = g->first; x; x = x->next)
		n += op_is(x->op, name);
	return n;
}

static inline void apply(struct fixture *f, int tensors)
{
	int n = fold_apply(&f->plan, f->g, f->n, &f->err);

	if (n < 0)
		fail_msg("%s", f->err.text);
	assert_int_equal(n, tensors);
	for (int m = 0; m < f->n; m++)
		if (!graph_check(f->g[m], &f->err))
			fail_msg("%s", f->err.text);
}

/* The weight of the first mm, which must be a constant now. */
static inline const float *weight_of_mm(const struct graph *g)
{
	const struct node *n = g->first;

	while (n && !(n->op->flags & OP_GEMM))
		n = n->next;
	assert_non_null(n);
	assert_int_equal(node_input(n, op_weight_arg(n->op))->kind, VALUE_CONSTANT);
	return (const float *)node_input(n, op_weight_arg(n->op))->data;
}

#endif
