/* Convolutions and linears: what they read, in which precision, and the checks they share (facts: partition, 3). */
#include "core/xnn/check.h"

static void find_activation(struct gemm *m)
{
	struct quant_op q;

	m->act_dq = quant_def(m->act, QUANT_DEQUANTIZE);
	if (!m->act_dq)
		return;
	quant_find(m->act_dq->op, &q);
	m->act_source = node_input(m->act_dq, 0);
	if (!quant_is_dynamic(m->act_dq))
		return;
	m->choose = quant_def(node_input(m->act_dq, q.scale), QUANT_CHOOSE);
	m->act_q = quant_def(node_input(m->act_dq, 0), QUANT_QUANTIZE);
	m->act_source = m->act_q ? node_input(m->act_q, 0) : NULL;
}

const struct value *cast_source(const struct value *v, int group)
{
	const struct node *cast = v && v->kind == VALUE_NODE ? v->def : NULL;
	const struct value *from = cast ? node_input(cast, 0) : NULL;

	return from && cast->group >= 0 && cast->group == group && v->dtype == DTYPE_F16 &&
	       from->dtype == DTYPE_F32 && from->kind == VALUE_CONSTANT &&
	       op_is(cast->op, "dim_order_ops._to_dim_order_copy.default") ? from : NULL;
}

static void see_through_casts(struct gemm *m, int group)
{
	const struct value *weight = cast_source(m->weight, group), *bias = cast_source(m->bias, group);

	m->weight = weight ? weight : m->weight;
	m->bias = bias ? bias : m->bias;
}

/* Zeros around the image alone, which only this convolution reads. */
static const struct node *zero_pad(const struct node *n, const struct gemm *m)
{
	const struct node *pad = m->act && m->act->kind == VALUE_NODE && only_user(m->act) ? m->act->def : NULL;
	int64_t amount[2 * MAX_RANK];
	int count;

	if (!pad || !op_is(n->op, "aten.convolution.default") || !op_is(pad->op, "aten.constant_pad_nd.default") ||
	    node_int(n, 6, 0) || node_double(pad, 2, 0) != 0 || !node_ints(pad, 1, amount, 2 * MAX_RANK, &count))
		return NULL;
	for (int i = 0; i < count; i++)
		if (amount[i] < 0 || (amount[i] && i >= 2 * (m->act->rank - 2)))
			return NULL;
	return pad;
}

/* An activation of integers goes through zero padding as integers. */
static void see_through_pad(const struct node *n, struct gemm *m)
{
	const struct node *pad = zero_pad(n, m), *dq = pad ? quant_def(node_input(pad, 0), QUANT_DEQUANTIZE) : NULL;

	if (!dq || quant_is_dynamic(dq))
		return;
	m->pad = pad;
	m->act_dq = dq;
	m->act_source = node_input(dq, 0);
}

struct gemm gemm_of(const struct node *n)
{
	struct gemm m = {
		.act = node_input(n, op_activation_arg(n->op)),
		.weight = node_input(n, op_weight_arg(n->op)),
		.bias = node_input(n, op_bias_arg(n->op)),
	};

	if (op_is(n->op, "aten.convolution.default"))
		see_through_casts(&m, n->group);
	m.quantized = weight_quant_of(m.weight, &m.quant);
	m.bias_quantized = weight_quant_of(m.bias, &m.bias_quant) && m.bias_quant.data->dtype == DTYPE_I32;
	find_activation(&m);
	if (m.quantized && !m.act_dq)
		see_through_pad(n, &m);
	m.precision = !m.quantized ? PRECISION_FLOAT : m.choose ? PRECISION_DYNAMIC : m.act_dq ? PRECISION_STATIC : 0;
	return m;
}

const struct node *fused_activation(const struct node *n)
{
	const struct node *user = n->nouts ? only_user(n->out[0]) : NULL;

	return user && (op_is(user->op, "aten.relu.default") || op_is(user->op, "aten.hardtanh.default")) ? user : NULL;
}

const struct node *quantized_output(const struct node *n)
{
	const struct node *act = fused_activation(n), *user = n->nouts ? only_user((act ? act : n)->out[0]) : NULL;
	struct quant_op q;

	return user && quant_find(user->op, &q) && q.role == QUANT_QUANTIZE && q.scheme == SCHEME_TENSOR ? user : NULL;
}

static void check_static_quant(struct rule_run *r, const struct gemm *m)
{
	struct quant_op q;
	const struct node *out = quantized_output(r->node);

	quant_find(m->act_dq->op, &q);
	rule_check(r, q.scheme == SCHEME_TENSOR, "activation is quantised per tensor", "quant_params",
		   "activation is dequantised by %s, must be per tensor", m->act_dq->op->name);
	rule_check(r, m->act_source && m->act_source->dtype == DTYPE_I8, "activation is int8", "quant_params",
		   "activation is %s: unsigned quantisation is not supported",
		   m->act_source ? dtype_name(m->act_source->dtype) : "?");
	rule_check(r, m->quant.kind != WEIGHT_GROUP && !m->quant.int4, "weight is int8 per tensor or channel",
		   "quant_params", "a static activation needs an int8 weight per tensor or channel");
	rule_check(r, out, "output is quantised, with one user", "quant_params",
		   "output is not quantised: a static quantised operator needs one user, a quantize_per_tensor");
	if (out)
		rule_check(r, out->nouts && out->out[0]->dtype == DTYPE_I8, "output is int8", "quant_params",
			   "output is %s: unsigned quantisation is not supported", dtype_name(out->out[0]->dtype));
}

static void check_dynamic_quant(struct rule_run *r, const struct gemm *m)
{
	struct quant_op q;

	rule_check(r, m->act_q, "activation is quantised at run time", "quant_params",
		   "activation is dequantised, but not by a quantise node with the same parameters");
	if (m->act_q && quant_find(m->act_q->op, &q))
		rule_check(r, quant_def(node_input(m->act_q, q.scale), QUANT_CHOOSE) == m->choose,
			   "parameters come from one choose_qparams", "quant_params",
			   "activation's parameters are not those it was quantised with");
	rule_check(r, m->quant.kind != WEIGHT_TENSOR, "weight is quantised per channel or group", "quant_params",
		   "a dynamic activation needs a weight quantised per channel or group, it is per tensor");
}

static void check_bias_quant(struct rule_run *r, const struct gemm *m)
{
	const struct weight_quant *b = &m->bias_quant;

	if (!check_static(r, b->data, "bias"))
		return;
	rule_check(r, m->precision == PRECISION_STATIC, "an int32 bias goes with int8 activation and weight",
		   "quant_params", "bias is quantised, activation and weight are not");
	rule_check(r, b->kind == WEIGHT_TENSOR || (b->kind == WEIGHT_CHANNEL && b->axis == 0 && b->scales &&
						   b->scales->kind == VALUE_CONSTANT),
		   "bias is quantised per tensor or channel", "quant_params",
		   "bias is quantised in a way XNNPACK has no form for");
}

const char xrule_quantized[] =
	"weight is int8 or int4; weight is quantised per tensor, channel or group; zero points of the weight are 0; "
	"weight scale is a static parameter; one scale a channel or group; activation is quantised as well; bias is quantised per tensor or channel; "
	"an int32 bias goes with int8 activation and weight; "
	"in groups: groupwise weights are int4; in groups: a groupwise weight is 2-D; "
	"in groups: groups are multiples of 32 that divide the row; "
	"static: activation is quantised per tensor; static: activation is int8; "
	"static: weight is int8 per tensor or channel; static: output is quantised, with one user; "
	"static: output is int8; "
	"dynamic: activation is quantised at run time; dynamic: parameters come from one choose_qparams; "
	"dynamic: weight is quantised per channel or group";

void check_gemm(struct rule_run *r, const struct gemm *m)
{
	if (m->quantized)
		check_weight_quant(r, &m->quant);
	else
		check_static(r, m->weight, "weight");
	if (m->bias_quantized)
		check_bias_quant(r, m);
	else if (m->bias)
		check_static(r, m->bias, "bias");
	if (!m->quantized)
		return;
	rule_check(r, m->precision, "activation is quantised as well", "quant_params",
		   "weight-only quantisation is not supported: the activation is float");
	if (m->precision == PRECISION_STATIC)
		check_static_quant(r, m);
	if (m->precision == PRECISION_DYNAMIC)
		check_dynamic_quant(r, m);
}

static bool takes(const struct graph *g, const struct node *n, struct arena *a)
{
	return n->op->flags & OP_GEMM && xnn_verdict(g, n, a).kind == VERDICT_TAKES;
}

/* Depth: choose -> quantise -> dequantise -> convolution or linear. */
static bool all_users_take(const struct graph *g, const struct node *n, int depth, struct arena *a)
{
	int users = 0;

	for (int i = 0; i < n->nouts; i++) {
		if (n->out[i]->noutputs)
			return false;
		for (int k = 0; k < n->out[i]->nuses; k++, users++) {
			const struct node *user = n->out[i]->use[k].node;

			if (!takes(g, user, a) && !(depth && user->op->flags & OP_QUANTIZE &&
						    all_users_take(g, user, depth - 1, a)))
				return false;
		}
	}
	return users > 0;
}

bool part_of_gemm(const struct node *n, const struct graph *g, struct arena *a)
{
	return all_users_take(g, n, 2, a);
}
