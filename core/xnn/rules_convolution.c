/* Convolutions, and batch norm, which goes into the weights before it or becomes a 1x1 depthwise convolution. */
#include "core/xnn/check.h"
#include "core/xnn/lowering.h"

#include <math.h>

enum { WEIGHT = 1, TRANSPOSED = 6, GROUPS = 8 };	/* arguments of aten.convolution.default */

static void check_transposed_quant(struct rule_run *r, const struct gemm *m, int64_t groups)
{
	if (m->quantized && m->quant.kind == WEIGHT_CHANNEL)
		rule_check(r, groups == 1 && m->quant.axis == 1,
			   "a transposed convolution per channel has one group and axis 1", "quant_params",
			   "transposed convolution per channel has %lld groups and axis %d, must have 1 and 1",
			   (long long)groups, m->quant.axis);
}

static void check_dynamic_convolution(struct rule_run *r, const struct value *w, bool transposed, int64_t groups)
{
	int64_t in = transposed ? w->size[0] / (groups > 0 ? groups : 1) : w->size[1];

	rule_check(r, w->rank == 4 && in != 1, "dynamic quantisation only for plain 2-D convolutions", "quant_params",
		   "dynamic quantisation of a %s convolution is not supported", w->rank == 4 ? "depthwise" : "1-D");
}

static void accept_convolution(struct rule_run *r, const struct node *n)
{
	struct gemm m = gemm_of(n);
	const struct value *w = m.weight;
	bool transposed = node_int(n, TRANSPOSED, 0);
	int64_t groups = node_int(n, GROUPS, 1);
	int at;

	check_tensors(r);
	check_gemm(r, &m);
	if (!rule_check(r, w && (w->rank == 3 || w->rank == 4), "the convolution is 1-D or 2-D", "rank",
			"convolution is %d-D, must be 1-D or 2-D", w ? w->rank - 2 : 0))
		return;
	if (m.bias)
		rule_check(r, m.bias->rank == 1, "bias is 1-D", "shape", "bias has %d dimensions, must have 1",
			   m.bias->rank);
	if (transposed)
		check_transposed_quant(r, &m, groups);
	if (m.precision == PRECISION_DYNAMIC)
		check_dynamic_convolution(r, w, transposed, groups);
	if (m.quantized)
		rule_check(r, m.quant.kind != WEIGHT_GROUP && !m.quant.int4, "weight is int8 per tensor or channel",
			   "quant_params", "a convolution's weight must be int8 per tensor or channel");
	if (w->rank == 3 && m.act)
		rule_check(r, reshape_holds(m.act, 1 << 1, &at) && reshape_holds(n->out[0], 1 << 1, &at),
			   "the reshape to 4-D holds for all sizes", "dynamic_shape",
			   "sizes are dynamic in more than one dimension: the reshape to 4-D would not hold");
}

static void accept_batch_norm(struct rule_run *r, const struct node *n)
{
	static const char *const what[] = { "weight", "bias", "running mean", "running variance" };
	const struct value *in = node_input(n, 0);
	int at;

	check_tensors(r);
	check_first_output(r, "the statistics");
	check_rank(r, in, 2, 4);
	for (int i = 0; i < 4; i++)
		if (node_input(n, 1 + i) || i >= 2)
			check_static(r, node_input(n, 1 + i), what[i]);
	rule_check(r, !isnan(node_double(n, 6, NAN)), "eps is a number", "argument", "eps is known only at run time");
	if (in && in->rank < 4)
		rule_check(r, reshape_holds(in, 1 << 1, &at), "the reshape to 4-D holds for all sizes", "dynamic_shape",
			   "sizes are dynamic in more than one dimension: the reshape to 4-D would not hold");
}

enum { F = PRECISION_FLOAT, ALL = F | PRECISION_STATIC | PRECISION_DYNAMIC };

const struct xrule rules_convolution[] = {
	{ "aten.convolution.default", "Conv2d, DepthwiseConv2d, ConvTranspose2d", ALL,
	  "weight is a static parameter; bias is a static parameter; the convolution is 1-D or 2-D; bias is 1-D; "
	  "1-D: the reshape to 4-D holds for all sizes; quantised: weight is int8 per tensor or channel; "
	  "quantised: a transposed convolution per channel has one group and axis 1; "
	  "quantised: dynamic quantisation only for plain 2-D convolutions",
	  accept_convolution, lower_convolution, X_CONV2D, XRULE_BOUNDS },
	{ "aten._native_batch_norm_legit_no_training.default",
	  "DepthwiseConv2d, or folded into a convolution or linear", F,
	  "only the first output is read; input is 2-D to 4-D; weight is a static parameter; "
	  "bias is a static parameter; running mean is a static parameter; running variance is a static parameter; "
	  "eps is a number; below 4-D: the reshape to 4-D holds for all sizes", accept_batch_norm, lower_batch_norm,
	  X_DEPTHWISE_CONV2D, XRULE_BOUNDS },
	{ 0 },
};
