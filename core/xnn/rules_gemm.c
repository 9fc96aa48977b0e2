/* Linears and matrix products (facts: partition, 3). */
#include "core/xnn/check.h"
#include "core/xnn/lowering.h"

static void check_bias_shape(struct rule_run *r, const struct gemm *m, int64_t out)
{
	const struct value *b = m->bias;

	if (b)
		rule_check(r, b->rank == 1 && b->size[0] == out, "bias is one number an output", "shape",
			   "bias has %d dimensions and %lld elements, must be 1-D with %lld", b->rank,
			   (long long)dtype_numel(b->rank, b->size), (long long)out);
}

/* One scale an output; groups lie along the rows of [out, in]. */
static void check_axis(struct rule_run *r, const struct gemm *m, int out)
{
	if (!m->quantized)
		return;
	if (m->quant.kind == WEIGHT_CHANNEL)
		rule_check(r, m->quant.axis == out, "one scale an output", "quant_params",
			   "weight has a scale for each index of axis %d, must be %d", m->quant.axis, out);
	if (m->quant.int4)
		rule_check(r, !out, "an int4 weight is [out, in]", "quant_params", "an int4 weight must be [out, in]");
}

static void accept_linear(struct rule_run *r, const struct node *n)
{
	struct gemm m = gemm_of(n);

	check_tensors(r);
	check_gemm(r, &m);
	rule_check(r, m.weight && m.weight->rank == 2, "weight is 2-D", "rank", "weight has %d dimensions, must have 2",
		   m.weight ? m.weight->rank : 0);
	check_axis(r, &m, 0);
	if (m.weight && m.weight->rank == 2)
		check_bias_shape(r, &m, m.weight->size[0]);
}

static void accept_mm(struct rule_run *r, const struct node *n)
{
	struct gemm m = gemm_of(n);

	check_tensors(r);
	check_gemm(r, &m);
	check_axis(r, &m, 1);
	if (m.weight && m.weight->rank == 2)
		check_bias_shape(r, &m, m.weight->size[1]);
}

static void accept_addmm(struct rule_run *r, const struct node *n)
{
	double beta = node_double(n, 3, 1), alpha = node_double(n, 4, 1);

	accept_mm(r, n);
	rule_check(r, alpha == 1 && beta == 1, "alpha and beta are 1", "argument",
		   "alpha is %g and beta is %g, both must be 1", alpha, beta);
}

static void accept_bmm(struct rule_run *r, const struct node *n)
{
	check_tensors(r);
}

enum { ALL = PRECISION_FLOAT | PRECISION_STATIC | PRECISION_DYNAMIC };

#define PARAMETERS "weight is a static parameter; bias is a static parameter"
#define BIAS "bias is one number an output"
#define SCALES "quantised: one scale an output; quantised: an int4 weight is [out, in]"

const struct xrule rules_gemm[] = {
	{ "aten.linear.default", "FullyConnected", ALL,
	  PARAMETERS "; weight is 2-D; " BIAS "; " SCALES, accept_linear, lower_linear, X_FULLY_CONNECTED, XRULE_BOUNDS },
	{ "aten.addmm.default", "FullyConnected", ALL, PARAMETERS "; alpha and beta are 1; " BIAS "; " SCALES,
	  accept_addmm, lower_linear, X_FULLY_CONNECTED, XRULE_BOUNDS },
	{ "aten.mm.default", "FullyConnected", ALL, "weight is a static parameter; " SCALES, accept_mm, lower_linear,
	  X_FULLY_CONNECTED, XRULE_BOUNDS },
	{ "aten.bmm.default", "BatchMatrixMultiply", PRECISION_FLOAT, "", accept_bmm, lower_bmm, X_BATCH_MATMUL, 0 },
	{ 0 },
};
