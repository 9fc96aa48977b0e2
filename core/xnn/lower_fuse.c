/* What goes into one XNNPACK node: batch norm and activation into what they follow, quantisation around both. */
#include "core/xnn/lowering.h"

#include <math.h>

struct xmember *lower_member(struct xlower *x, const struct node *n)
{
	return n && n->group == x->group ? &x->member.at[n->mark] : NULL;
}

static bool number(const struct node *n, int arg, double otherwise, float *f)
{
	const struct arg *a = arg < n->nargs ? &n->arg[arg] : NULL;

	if (a && a->kind != ARG_NONE && a->kind != ARG_INT && a->kind != ARG_DOUBLE && a->kind != ARG_BOOL)
		return false;
	*f = (float)node_double(n, arg, otherwise);
	return !isnan(*f);
}

bool activation_bounds(const struct node *n, float *min, float *max)
{
	*min = 0;
	*max = INFINITY;
	if (op_is(n->op, "aten.relu.default"))
		return true;
	if (op_is(n->op, "aten.hardtanh.default"))
		return number(n, 1, -1, min) && number(n, 2, 1, max);
	return op_is(n->op, "aten.clamp.default") && number(n, 1, -INFINITY, min) && number(n, 2, INFINITY, max);
}

static void plan_norm(struct xlower *x, struct xmember *m, const struct gemm *g)
{
	const struct node *user = only_user(m->node->out[0]);
	struct xmember *norm = lower_member(x, user);

	if (!norm || norm->absorbed || !op_is(user->op, "aten._native_batch_norm_legit_no_training.default") ||
	    g->precision != PRECISION_FLOAT || !only_user(g->weight) || node_input(user, 0) != m->node->out[0])
		return;
	if (op_is(m->node->op, "aten.convolution.default") || m->node->out[0]->rank == 2) {
		m->norm = user;
		norm->absorbed = true;
	}
}

static void plan_activation(struct xlower *x, struct xmember *m)
{
	const struct node *user = only_user(m->norm ? m->norm->out[0] : m->node->out[0]);
	struct xmember *act = lower_member(x, user);
	float min, max;

	if (!act || act->absorbed || !(m->rule->flags & XRULE_BOUNDS) || !activation_bounds(user, &min, &max) ||
	    !(min < max))
		return;
	m->act = user;
	act->absorbed = true;
}

struct dequantized {
	struct xlower *x;
	bool all;
	const struct node *quantize;	/* where parameters have to be the same */
};

static bool same_quant(const struct node *dq, const struct node *q)
{
	struct quant_op a, b;

	return quant_find(dq->op, &a) && quant_find(q->op, &b) &&
	       node_double(dq, a.scale, 0) == node_double(q, b.scale, 0) &&
	       node_int(dq, a.zero_point, 0) == node_int(q, b.zero_point, 0);
}

static void look(struct value *v, void *ctx)
{
	struct dequantized *d = ctx;
	const struct node *dq = quant_def(v, QUANT_DEQUANTIZE);
	struct quant_op q;

	if (!dq || !lower_member(d->x, dq) || !quant_find(dq->op, &q) || q.scheme != SCHEME_TENSOR)
		d->all = false;
	else if (d->quantize && !same_quant(dq, d->quantize))
		d->all = false;
}

/* Whether an operator other than a GEMM runs on int8 (facts: partition, 2.2). */
static void plan_quantized(struct xlower *x, struct xmember *m)
{
	const struct node *n = m->node, *act, *q = quantized_output(n);
	struct xmember *after = lower_member(x, q);
	struct dequantized d = { x, true, m->rule->flags & XRULE_SAME_QUANT ? q : NULL };

	if (!(m->rule->precisions & PRECISION_STATIC) || !after || n->op->flags & OP_QUANTIZE)
		return;
	act = fused_activation(n);
	if (act && (!(m->rule->flags & XRULE_BOUNDS) || !lower_member(x, act)))
		return;
	node_each_input(n, look, &d);
	if (!d.all)
		return;
	m->quantized = after->absorbed = true;
	m->quantize = q;
	if ((m->act = act))
		lower_member(x, act)->absorbed = true;
}

static void plan_gemm(struct xlower *x, struct xmember *m)
{
	const struct node *n = m->node;
	struct gemm g = gemm_of(n);

	if (g.precision != PRECISION_STATIC) {
		plan_norm(x, m, &g);
		plan_activation(x, m);
		return;
	}
	m->quantized = true;
	if (lower_member(x, g.pad))
		lower_member(x, g.pad)->quantized = true;
	m->quantize = quantized_output(n);
	m->act = fused_activation(n);
	if (lower_member(x, m->quantize))
		lower_member(x, m->quantize)->absorbed = true;
	if (lower_member(x, m->act))
		lower_member(x, m->act)->absorbed = true;
}

void lower_plan(struct xlower *x)
{
	for (int i = 0; i < x->member.n; i++) {
		struct xmember *m = &x->member.at[i];

		if (m->absorbed || !m->rule || m->node->op->flags & OP_QUANTIZE || !m->node->nouts)
			continue;
		if (m->rule->tag == X_FULLY_CONNECTED || m->rule->tag == X_CONV2D) {
			plan_gemm(x, m);
			continue;
		}
		plan_quantized(x, m);
		if (!m->quantized)
			plan_activation(x, m);
	}
}

const struct value *lower_result(struct xlower *x, const struct node *n)
{
	const struct xmember *m = lower_member(x, n);

	return (m->quantize ? m->quantize : m->act ? m->act : m->norm ? m->norm : n)->out[0];
}

void lower_bounds(struct xlower *x, const struct node *n, struct xnode *node)
{
	const struct xmember *m = lower_member(x, n);

	node->has_min_max = m->act != NULL;
	node->min = -INFINITY;
	node->max = INFINITY;
	if (m->act)
		activation_bounds(m->act, &node->min, &node->max);
}

static double channel_number(const struct value *v, int64_t c, double otherwise)
{
	return v ? dtype_get(v->dtype, v->data, (size_t)c) : otherwise;
}

bool batch_norm_read(const struct node *norm, int64_t channels, struct arena *a, double **scale, double **shift,
		     struct error *err)
{
	double eps = node_double(norm, 6, 1e-5);

	for (int i = 1; i <= 4; i++) {
		const struct value *v = node_input(norm, i);

		if (v && (!v->data || dtype_numel(v->rank, v->size) < channels))
			return error_set(err, ERROR_UNSUPPORTED, "the batch norm's %s is not at hand", v->name);
	}
	*scale = arena_array(a, (size_t)channels, sizeof **scale);
	*shift = arena_array(a, (size_t)channels, sizeof **shift);
	for (int64_t c = 0; c < channels; c++) {
		double gamma = channel_number(node_input(norm, 1), c, 1), beta = channel_number(node_input(norm, 2), c, 0);
		double mean = channel_number(node_input(norm, 3), c, 0), var = channel_number(node_input(norm, 4), c, 1);

		(*scale)[c] = gamma / sqrt(var + eps);
		(*shift)[c] = beta - mean * (*scale)[c];
	}
	return true;
}
