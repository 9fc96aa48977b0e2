/* Quantised values: integers and what they stand for. */
#include "core/xnn/raising.h"

#include <string.h>

#define QD(op) "quantized_decomposed." op

static const struct integers { enum dtype dtype; int64_t min, max; } integers[XD_COUNT] = {
	[XD_FP32] = { DTYPE_F32, 0, 0 }, [XD_FP16] = { DTYPE_F16, 0, 0 }, [XD_BF16] = { DTYPE_BF16, 0, 0 },
	[XD_INT32] = { DTYPE_I32, 0, 0 }, [XD_PFP32] = { DTYPE_CODES, 0, 0 }, [XD_QPINT8] = { DTYPE_CODES, 0, 0 },
	[XD_INVALID] = { DTYPE_CODES, 0, 0 },
	[XD_QINT8] = { DTYPE_I8, -128, 127 }, [XD_QCINT8] = { DTYPE_I8, -128, 127 },
	[XD_QDINT8] = { DTYPE_I8, -128, 127 }, [XD_QUINT8] = { DTYPE_U8, 0, 255 }, [XD_QINT32] = { DTYPE_I32, INT32_MIN, INT32_MAX },
	[XD_QCINT32] = { DTYPE_I32, INT32_MIN, INT32_MAX }, [XD_QCINT4] = { DTYPE_INT4, -8, 7 },
	[XD_QBINT4] = { DTYPE_INT4, -8, 7 },
};

enum dtype raise_dtype(enum xdatatype t)
{
	return integers[t].dtype;
}

/* The dtype argument of the (de)quantise operators: 4-bit weights count as bytes there. */
static struct arg dtype_arg(const struct integers *t)
{
	return I(t->dtype == DTYPE_INT4 ? DTYPE_I8 : t->dtype);
}

static struct value *some_node(struct raising *r, bool is_main, const char *op, const struct arg *arg, int nargs)
{
	return is_main ? raise_main(r, op, arg, nargs) : raise_side(r, op, arg, nargs);
}

static struct value *quantize(struct raising *r, const struct xvalue *x, struct value *real, bool is_main)
{
	const struct integers *t = &integers[x->datatype];

	if (x->quant != XQ_TENSOR)
		return raise_fail(r, "a result of type %s", xdatatype_name(x->datatype)), NULL;
	return some_node(r, is_main, QD("quantize_per_tensor.default"), ARGS(V(real),
			 D((double)x->scale), I(x->zero_point), I(t->min), I(t->max), dtype_arg(t)));
}

struct value *raise_quantize(struct raising *r, const struct xvalue *x, struct value *real)
{
	return quantize(r, x, real, false);
}

static struct value *scales_of(struct raising *r, const struct xvalue *x, enum dtype t, int rank, const int64_t *size)
{
	struct raised *of = &r->value[x->id];
	size_t bytes;

	if (of->stored_scales)
		return of->stored_scales;
	if (!dtype_tensor_bytes(t, rank, size, &bytes) || (x->scales.data && x->scales.bytes < bytes))
		return raise_fail(r, "value %u has %zu bytes of scales, not %zu", x->id, x->scales.bytes, bytes), NULL;
	of->stored_scales = graph_value(r->g, VALUE_CONSTANT, t, rank, size);
	of->stored_scales->data = x->scales.data;
	return of->stored_scales;
}

static struct value *by_channel(struct raising *r, const struct xvalue *x, struct value *plain, int axis, bool is_main)
{
	const struct integers *t = &integers[x->datatype];
	struct value *scales = scales_of(r, x, DTYPE_F32, 1, (const int64_t[]){ x->nscales });

	if (!scales)
		return NULL;
	if (axis >= plain->rank || plain->size[axis] != scales->size[0])
		return raise_fail(r, "value %u has %u scales for another number of channels", x->id, x->nscales), NULL;
	return some_node(r, is_main, QD("dequantize_per_channel.default"), ARGS(V(plain),
			 V(scales), NONE, I(axis), I(t->min), I(t->max), dtype_arg(t), NONE));
}

static struct value *by_group(struct raising *r, const struct xvalue *x, struct value *plain, int axis, bool is_main)
{
	const struct integers *t = &integers[x->datatype];
	struct value *scales;

	if (axis != 0 || plain->rank != 2 || plain->size[1] % x->group_size)
		return raise_fail(r, "value %u has groups of %d", x->id, x->group_size), NULL;
	scales = scales_of(r, x, DTYPE_BF16, 2, (const int64_t[]){ plain->size[0], plain->size[1] / x->group_size });
	if (!scales)
		return NULL;
	return some_node(r, is_main, QD("dequantize_per_channel_group.default"), ARGS(V(plain),
			 V(scales), NONE, I(t->min), I(t->max), dtype_arg(t), I(x->group_size),
			 I(DTYPE_F32)));
}

struct value *raise_dequantize(struct raising *r, const struct xvalue *x, struct value *plain, int axis, bool is_main)
{
	const struct integers *t = &integers[x->datatype];

	switch (x->quant) {
	case XQ_TENSOR:
		return some_node(r, is_main, QD("dequantize_per_tensor.default"), ARGS(V(plain),
				 D((double)x->scale), I(x->zero_point), I(t->min), I(t->max), dtype_arg(t),
				 NONE));
	case XQ_CHANNEL: return by_channel(r, x, plain, axis, is_main);
	case XQ_GROUP: return by_group(r, x, plain, axis, is_main);
	case XQ_TOKEN: case XQ_NONE: break;
	}
	raise_fail(r, "value %u of type %s is read where it has no scales", x->id, xdatatype_name(x->datatype));
	return NULL;
}

/* ---- dynamic quantisation ---- */

/* One scale for all: what quantised convolutions are exported as. */
static struct value *dynamic_tensor(struct raising *r, struct value *real, struct value **plain, bool is_main)
{
	const double eps = 1.1920928955078125e-07;	/* float's, as torch's choose_qparams has it */
	struct value *scale = raise_side(r, QD("choose_qparams.tensor"), ARGS(V(real), I(-128),
					 I(127), D(eps), I(DTYPE_I8)));
	struct value *zero = scale && scale->def->nouts == 2 ? scale->def->out[1] : NULL;

	if (!zero)
		return NULL;
	*plain = some_node(r, is_main, QD("quantize_per_tensor.tensor"), ARGS(V(real), V(scale),
			   V(zero), I(-128), I(127), I(DTYPE_I8)));
	if (!*plain)
		return NULL;
	return raise_side(r, QD("dequantize_per_tensor.tensor"), ARGS(V(*plain), V(scale),
			  V(zero), I(-128), I(127), I(DTYPE_I8), NONE));
}

/* One scale a row of the last dimension. */
static struct value *dynamic_token(struct raising *r, struct value *real, struct value **plain, bool is_main)
{
	struct value *scale = raise_side(r, QD("choose_qparams_per_token_asymmetric.default"),
					 ARGS(V(real), I(DTYPE_I8)));
	struct value *zero = scale && scale->def->nouts == 2 ? scale->def->out[1] : NULL;

	if (!zero)
		return NULL;
	*plain = some_node(r, is_main, QD("quantize_per_token.default"), ARGS(V(real), V(scale),
			   V(zero), I(-128), I(127), I(DTYPE_I8)));
	if (!*plain)
		return NULL;
	return raise_side(r, QD("dequantize_per_token.default"), ARGS(V(*plain), V(scale),
			  V(zero), I(-128), I(127), I(DTYPE_I8), I(real->dtype)));
}

struct value *raise_dynamic(struct raising *r, const struct xvalue *x, struct value *real, struct value **plain,
			    bool is_main)
{
	int64_t row[2] = { 1, 1 }, batch = real->rank - x->nonbatch_dims;
	struct value *rows;

	real = raise_cast(r, real, DTYPE_F32);	/* the quantisation operators know no f16 */
	if (!real)
		return NULL;
	for (int d = 0; d < real->rank; d++)
		row[d >= batch] *= real->size[d];
	if (batch < 0)
		return raise_fail(r, "%d dimensions a token in a value of rank %d", x->nonbatch_dims, real->rank), NULL;
	if (x->nonbatch_dims == 1)
		return dynamic_token(r, real, plain, is_main);
	if (row[0] == 1 && !real->dynamic)
		return dynamic_tensor(r, real, plain, is_main);
	if (real->dynamic)
		return raise_fail(r, "tokens of %d dimensions of a dynamic value", x->nonbatch_dims), NULL;
	rows = raise_view(r, real, 2, row);
	rows = rows ? dynamic_token(r, rows, plain, is_main) : NULL;
	if (!rows || !(*plain = raise_view(r, *plain, real->rank, real->size)))
		return NULL;
	return raise_view(r, rows, real->rank, real->size);
}

bool raise_convert(struct raising *r, const struct xnode *n)
{
	const struct xvalue *in = &r->x->value[n->field[XU_IN]], *out = &r->x->value[n->field[XU_OUT]];
	struct raised *to = &r->value[n->field[XU_OUT]];
	bool explicit = in->quant && in->quant != XQ_TOKEN && !out->quant;	/* nothing but a dequantisation */
	struct value *v = (explicit ? raise_plain : raise_real)(r, n->field[XU_IN]), *plain = NULL;

	if (!v)
		return false;
	if (out->quant == XQ_TOKEN) {
		v = raise_dynamic(r, out, v, &plain, true);
		*to = (struct raised){ .plain = plain, .real = v };
		return v;
	}
	if (out->quant) {
		plain = quantize(r, out, v, true);
		*to = (struct raised){ .plain = plain };
		return plain;
	}
	if (explicit)
		v = raise_dequantize(r, in, v, in->channel_dim, true);
	else if (v->dtype == raise_dtype(out->datatype))
		v = raise_main(r, "dim_order_ops._clone_dim_order.default", ARGS(V(v), B(false), NONE));
	return raise_result(r, n->field[XU_OUT], v);
}

/* ---- tidying ---- */

static bool same_literal(const struct arg *a, const struct arg *b)
{
	return a->kind == b->kind && (a->kind == ARG_INT ? a->i == b->i : a->kind == ARG_DOUBLE ? a->d == b->d : false);
}

/* The integers that n, a quantise node, only makes again. */
static struct value *same_integers(const struct node *n)
{
	struct value *v = node_input(n, 0);
	const struct node *d = v ? v->def : NULL;

	if (!op_is(n->op, QD("quantize_per_tensor.default")) || !d || d->group != n->group ||
	    !op_is(d->op, QD("dequantize_per_tensor.default")))
		return NULL;
	for (int i = 1; i <= 5; i++)
		if (!same_literal(&n->arg[i], &d->arg[i]))
			return NULL;
	return node_input(d, 0);
}

static bool leaves(const struct graph *g, const struct value *v, int group)
{
	bool out = v->noutputs > 0;

	for (int i = 0; i < v->nuses && !out; i++)
		out = v->use[i].node->group != group;
	for (int i = 0; i < g->group[group].nargs && !out; i++)
		out = g->group[group].arg[i] == v;
	return out;
}

static bool unread(const struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->nouts; i++)
		if (n->out[i]->nuses || leaves(g, n->out[i], n->group))
			return false;
	return true;
}

/* What leaves the group has to stay a value of its own that is made there. */
static bool may_stand_for(const struct graph *g, const struct value *v, const struct value *out, int group)
{
	return !leaves(g, out, group) || (v->def && v->def->group == group && !leaves(g, v, group));
}

void xnn_raise_tidy(struct graph *g, int group, struct node *behind)
{
	for (struct node *n = behind ? behind->next : g->first; n; n = n->next) {
		struct value *v = n->group == group ? same_integers(n) : NULL;

		if (!v || !may_stand_for(g, v, n->out[0], group))
			continue;
		if (v->file_value < 0 && v->kind == VALUE_NODE)
			v->file_value = n->out[0]->file_value;
		graph_replace(g, n->out[0], v);
	}
	for (struct node *n = g->last, *prev; n && n != behind; n = prev) {
		prev = n->prev;
		if (n->group == group && n->origin.kind == ORIGIN_PASS && op_is_pure(n->op) && unread(g, n))
			graph_remove(g, n);
	}
}
