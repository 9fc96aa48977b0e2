/* Operators that work element by element. */
#include "core/xnn/check.h"
#include "core/xnn/lowering.h"

#include <math.h>

static void accept_plain(struct rule_run *r, const struct node *n)
{
	check_tensors(r);
}

static void accept_alpha(struct rule_run *r, const struct node *n)
{
	double alpha = node_double(n, 2, 1);

	check_tensors(r);
	rule_check(r, fabs(alpha - 1) < 1e-9, "alpha is 1", "argument", "alpha is %g, must be 1", alpha);
}

static void accept_pow(struct rule_run *r, const struct node *n)
{
	double e = node_double(n, 1, NAN);

	check_tensors(r);
	rule_check(r, e == 2, "exponent is 2", "argument", "exponent must be 2, is %g", e);
	rule_check(r, n->nargs > 1 && n->arg[1].kind == ARG_INT, "exponent is an integer", "argument",
		   "exponent must be the integer 2, is the real number %g", e);
}

static void accept_clamp(struct rule_run *r, const struct node *n)
{
	float min, max;

	check_tensors(r);
	rule_check(r, activation_bounds(n, &min, &max) && min < max, "the bounds are numbers, the lower one less",
		   "argument", "bounds are no two numbers of which the first is less");
}

static void accept_gelu(struct rule_run *r, const struct node *n)
{
	const char *how = n->nargs > 1 && n->arg[1].kind == ARG_STRING ? n->arg[1].s : "none";

	check_tensors(r);
	rule_check(r, n->nouts && n->out[0]->dtype != DTYPE_F16, "output is not f16", "dtype",
		   "gelu in f16 is not supported");
	rule_check(r, how[0] == 'n', "approximate is none", "argument",
		   "approximate is '%s': XNNPACK computes the exact form, which differs", how);
}

static void accept_elu(struct rule_run *r, const struct node *n)
{
	check_tensors(r);
	rule_check(r, false, "the rule is switched on", "no_rule",
		   "the partitioner has a rule for elu, but it is switched off");
}

static void accept_prelu(struct rule_run *r, const struct node *n)
{
	check_tensors(r);
	check_static(r, node_input(n, 1), "weight");
	check_rank(r, node_input(n, 0), 4, 4);
}

enum { F = PRECISION_FLOAT, FS = PRECISION_FLOAT | PRECISION_STATIC };

const struct xrule rules_elementwise[] = {
	{ "aten.abs.default", "Abs", F, "", accept_plain, lower_unary, X_ABS, 0 },
	{ "aten.add.Tensor", "Add", FS, "alpha is 1", accept_alpha, lower_binary, X_ADD, XRULE_BOUNDS },
	{ "aten.ceil.default", "Ceiling", F, "", accept_plain, lower_unary, X_CEILING, 0 },
	{ "aten.clamp.default", "Clamp", FS, "the bounds are numbers, the lower one less", accept_clamp, lower_clamp, X_CLAMP, XRULE_SAME_QUANT },
	{ "aten.cos.default", "Cos", F, "", accept_plain, lower_unary, X_COS, 0 },
	{ "aten.div.Tensor", "Div", F, "", accept_plain, lower_binary, X_DIV, XRULE_BOUNDS },
	{ "aten.elu.default", "ELU", 0, "the rule is switched on", accept_elu, lower_elu, X_ELU, 0 },
	{ "aten.exp.default", "Exp", F, "", accept_plain, lower_unary, X_EXP, 0 },
	{ "aten.floor.default", "Floor", F, "", accept_plain, lower_unary, X_FLOOR, 0 },
	{ "aten.gelu.default", "Gelu", F, "output is not f16; approximate is none", accept_gelu, lower_unary, X_GELU, 0 },
	{ "aten.hardswish.default", "Hardswish", F, "", accept_plain, lower_unary, X_HARDSWISH, 0 },
	{ "aten.hardtanh.default", "Clamp", FS, "the bounds are numbers, the lower one less", accept_clamp, lower_clamp, X_CLAMP, XRULE_SAME_QUANT },
	{ "aten.leaky_relu.default", "LeakyReLU", F, "", accept_plain, lower_leaky_relu, X_LEAKY_RELU, 0 },
	{ "aten.log.default", "Log", F, "", accept_plain, lower_unary, X_LOG, 0 },
	{ "aten.maximum.default", "Maximum", F, "", accept_plain, lower_binary, X_MAXIMUM, 0 },
	{ "aten.minimum.default", "Minimum", F, "", accept_plain, lower_binary, X_MINIMUM, 0 },
	{ "aten.mul.Tensor", "Multiply", FS, "", accept_plain, lower_binary, X_MULTIPLY, XRULE_BOUNDS },
	{ "aten.neg.default", "Negate", F, "", accept_plain, lower_unary, X_NEGATE, 0 },
	{ "aten.pow.Tensor_Scalar", "Square", F, "exponent is 2; exponent is an integer", accept_pow, lower_unary, X_SQUARE, 0 },
	{ "aten.prelu.default", "PReLU", F, "weight is a static parameter; input is 4-D", accept_prelu, lower_prelu, X_PRELU, 0 },
	{ "aten.relu.default", "Clamp", FS, "", accept_plain, lower_clamp, X_CLAMP, XRULE_SAME_QUANT },
	{ "aten.rsqrt.default", "ReciprocalSquareRoot", F, "", accept_plain, lower_unary, X_RSQRT, 0 },
	{ "aten.sigmoid.default", "Sigmoid", F, "", accept_plain, lower_unary, X_SIGMOID, 0 },
	{ "aten.sin.default", "Sin", F, "", accept_plain, lower_unary, X_SIN, 0 },
	{ "aten.sqrt.default", "SquareRoot", F, "", accept_plain, lower_unary, X_SQUARE_ROOT, 0 },
	{ "aten.sub.Tensor", "Subtract", FS, "alpha is 1", accept_alpha, lower_binary, X_SUBTRACT, XRULE_BOUNDS },
	{ "aten.tanh.default", "Tanh", F, "", accept_plain, lower_unary, X_TANH, 0 },
	{ 0 },
};
