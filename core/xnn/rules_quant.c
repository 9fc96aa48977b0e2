/* Quantise and dequantise. The per-tensor pair with literal parameters is an operator of its own; all others
 * only go along with a convolution or linear that reads them in a form XNNPACK takes. */
#include "core/xnn/check.h"
#include "core/xnn/lowering.h"

static void check_parameters(struct rule_run *r, const struct node *n, const struct value *ints)
{
	struct quant_op q;

	quant_find(n->op, &q);
	rule_check(r, ints && ints->dtype == DTYPE_I8, "the integers are int8", "quant_params",
		   "the integers are %s: unsigned and wide quantisation is not supported",
		   ints ? dtype_name(ints->dtype) : "?");
	rule_check(r, n->arg[q.scale].kind == ARG_DOUBLE && n->arg[q.scale].d > 0, "the scale is a positive number",
		   "quant_params", "the scale is not a positive number");
	if (q.role == QUANT_QUANTIZE)	/* a dequantise node does not look at it */
		rule_check(r, node_int(n, q.low, -128) == -128 && node_int(n, q.high, 127) == 127,
			   "the range is that of int8", "quant_params", "the range is %lld to %lld, must be -128 to 127",
			   (long long)node_int(n, q.low, -128), (long long)node_int(n, q.high, 127));
}

static void accept_quantize(struct rule_run *r, const struct node *n)
{
	check_quantized_tensors(r);
	check_parameters(r, n, n->nouts ? n->out[0] : NULL);
}

/* All readers of an int8 value must agree with each other, and with what made it: XNNPACK keeps the parameters
 * with the value. */
static bool same_parameters(const struct node *a, const struct node *b)
{
	struct quant_op x, y;

	return !quant_find(a->op, &x) || !quant_find(b->op, &y) || x.scheme != SCHEME_TENSOR ||
	       y.scheme != SCHEME_TENSOR || (node_double(a, x.scale, 0) == node_double(b, y.scale, 0) &&
					     node_int(a, x.zero_point, 0) == node_int(b, y.zero_point, 0));
}

static void accept_dequantize(struct rule_run *r, const struct node *n)
{
	const struct value *in = node_input(n, 0);
	bool same = true;

	if (in && in->kind == VALUE_CONSTANT && part_of_gemm(n, r->graph, r->mem)) {
		rule_check(r, true, "a convolution or linear takes it along", "no_rule", " ");
		return;
	}
	check_quantized_tensors(r);
	check_parameters(r, n, in);
	for (int i = 0; in && i < in->nuses; i++)
		same &= same_parameters(n, in->use[i].node);
	if (in && in->kind == VALUE_NODE)
		same &= same_parameters(n, in->def);
	rule_check(r, same, "all that read the integers use one scale", "quant_params",
		   "the integers are read with different scales");
}

/* Quantisation nodes that a convolution or linear takes along. */
static void accept_part(struct rule_run *r, const struct node *n)
{
	rule_check(r, part_of_gemm(n, r->graph, r->mem), "a convolution or linear takes it along", "no_rule",
		   "no XNNPACK rule for %s on its own", n->op->name);
}

enum { S = PRECISION_STATIC, D = PRECISION_DYNAMIC };

#define INT8 "the integers are int8; the scale is a positive number"
#define PART(name, precision) \
	{ name, "implicit", precision, "a convolution or linear takes it along", accept_part, lower_quant_part, 0, XRULE_PART }

const struct xrule rules_quant[] = {
	{ "quantized_decomposed.quantize_per_tensor.default", "Convert, or implicit", S,
	  INT8 "; the range is that of int8", accept_quantize, lower_quantize, 0, 0 },
	{ "quantized_decomposed.dequantize_per_tensor.default", "Convert, or implicit", S,
	  INT8 "; all that read the integers use one scale; or: a convolution or linear takes it along", accept_dequantize, lower_quant_part, 0, 0 },
	PART("quantized_decomposed.dequantize_per_channel.default", S | D),
	PART("quantized_decomposed.dequantize_per_channel_group.default", D),
	PART("quantized_decomposed.quantize_per_tensor.tensor", D),
	PART("quantized_decomposed.dequantize_per_tensor.tensor", D),
	PART("quantized_decomposed.choose_qparams.tensor", D),
	PART("quantized_decomposed.quantize_per_token.default", D),
	PART("quantized_decomposed.dequantize_per_token.default", D),
	PART("quantized_decomposed.choose_qparams_per_token_asymmetric.default", D),
	PART("torchao.quantize_affine.default", D),
	PART("torchao.dequantize_affine.default", D),
	PART("torchao.choose_qparams_affine.default", D),
	{ 0 },
};
