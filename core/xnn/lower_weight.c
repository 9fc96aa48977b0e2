/* What convolutions and linears read: activation, filter and bias, in every precision (facts: partition, 3.5). */
#include "core/xnn/lowering.h"

#include <math.h>
#include <string.h>

bool lower_activation(struct xlower *x, const struct node *n, const struct gemm *g, enum layout l, uint32_t *id,
		      struct error *err)
{
	struct xslot *s;
	uint32_t in;

	if (g->precision != PRECISION_DYNAMIC)
		return lower_in(x, n, g->act, l, id, err);
	s = lower_slot(x, g->act_q->out[0]);
	if (s->id[l] == XNONE) {
		if (!lower_in(x, n, g->act_source, l, &in, err))
			return false;
		s->id[l] = lower_out_raw(x, g->act_source, x->value.at[in].rank, x->value.at[in].dim);
		x->value.at[s->id[l]].datatype = XD_QDINT8;
		x->value.at[s->id[l]].quant = XQ_TOKEN;
		x->value.at[s->id[l]].nonbatch_dims = l == NHWC ? 3 : 1;
		lower_emit_unary(x, g->act_q, X_CONVERT, in, s->id[l]);
	}
	*id = s->id[l];
	return true;
}

static bool set_scales(struct xlower *x, const struct weight_quant *w, const struct filter *f, struct xvalue *v,
		       struct error *err)
{
	if (w->kind == WEIGHT_TENSOR) {
		v->quant = XQ_TENSOR;
		v->scale = (float)w->scale;
		v->datatype = XD_QINT8;
		return true;
	}
	v->channel_dim = f->channel_dim;
	v->nscales = (uint32_t)dtype_numel(w->scales->rank, w->scales->size);
	if (w->kind == WEIGHT_GROUP) {
		v->quant = XQ_GROUP;
		v->group_size = w->group_size;
		v->datatype = XD_QBINT4;
		return static_as(x, w->scales, DTYPE_BF16, &v->scales, err);
	}
	v->quant = XQ_CHANNEL;
	v->datatype = w->int4 ? XD_QCINT4 : XD_QCINT8;
	return static_as(x, w->scales, DTYPE_F32, &v->scales, err);
}

bool lower_filter(struct xlower *x, const struct gemm *g, const struct filter *f, const double *scale, uint32_t *id,
		  struct error *err)
{
	const struct value *from = g->quantized ? g->quant.data : g->weight;
	struct xvalue v = { .datatype = from->dtype == DTYPE_F16 ? XD_FP16 : XD_FP32, .rank = f->rank };

	if (from->kind != VALUE_CONSTANT)
		return error_set(err, ERROR_UNSUPPORTED, "the weight is no constant");
	memcpy(v.dim, f->dim, sizeof f->dim);
	if (g->quantized && !set_scales(x, &g->quant, f, &v, err))
		return false;
	if (g->quantized && g->quant.int4) {
		if (!static_int4(x, from, &v.data, err))
			return false;
	} else if (scale) {
		if (!static_scaled(x, from, &f->layout, scale, f->channels, f->channel_last, &v.data, err))
			return false;
	} else if (!static_gather(x, from, &f->layout, &v.data, err)) {
		return false;
	}
	if (f->widen && v.datatype == XD_FP16) {
		if (!static_widen(x, from->name, &v.data, err))
			return false;
		v.datatype = XD_FP32;
	}
	*id = lower_static(x, from->home, v);
	return true;
}

/* The bias as a number: behind its own scale where it is int32 already. */
static double bias_number(const struct gemm *g, int64_t c)
{
	const struct weight_quant *q = &g->bias_quant;
	double scale = 1;

	if (!g->bias_quantized)
		return dtype_get(g->bias->dtype, g->bias->data, (size_t)c);
	scale = q->kind == WEIGHT_TENSOR ? (float)q->scale : dtype_get(q->scales->dtype, q->scales->data, (size_t)c);
	return scale * (dtype_get(DTYPE_I32, q->data->data, (size_t)c) - (double)q->zero_point);
}

/* int32 with the scale of the products: scale of the activation times scale of the weight. */
static bool quantized_bias(struct xlower *x, const struct gemm *g, int64_t channels, struct xvalue *v,
			   struct error *err)
{
	const struct value *b = g->bias_quantized ? g->bias_quant.data : g->bias, *s = g->quant.scales;
	float *scale = arena_array(x->mem, (size_t)channels, sizeof *scale);
	int32_t *to = arena_array(x->mem, (size_t)channels, sizeof *to);
	struct quant_op q;
	double act;

	if (!b->data || (s && !s->data) || (g->bias_quantized && g->bias_quant.scales && !g->bias_quant.scales->data))
		return error_set(err, ERROR_UNSUPPORTED, "the bytes of the bias or its scales are not at hand");
	quant_find(g->act_dq->op, &q);
	act = (float)node_double(g->act_dq, q.scale, 1);
	for (int64_t c = 0; c < channels; c++) {
		double w = (float)g->quant.scale;

		if (g->quant.kind != WEIGHT_TENSOR)
			w = dtype_get(s->dtype, s->data, (size_t)c);
		scale[c] = (float)(act * w);
		to[c] = (int32_t)fmax(INT32_MIN, fmin(INT32_MAX, nearbyint(bias_number(g, c) / (double)scale[c])));
	}
	v->data = (struct span){ (uint8_t *)to, (size_t)channels * sizeof *to };
	v->datatype = g->quant.kind == WEIGHT_TENSOR ? XD_QINT32 : XD_QCINT32;
	v->quant = g->quant.kind == WEIGHT_TENSOR ? XQ_TENSOR : XQ_CHANNEL;
	v->scale = channels ? scale[0] : 1;
	if (v->quant == XQ_CHANNEL) {
		v->scales = (struct span){ (uint8_t *)scale, (size_t)channels * sizeof *scale };
		v->nscales = (uint32_t)channels;
	}
	return true;
}

static bool normed_bias(struct xlower *x, const struct gemm *g, int64_t channels, bool wide, const double *scale,
			const double *shift, struct xvalue *v, struct error *err)
{
	const struct value *b = g->bias;
	enum dtype t = wide ? DTYPE_F32 : g->weight->dtype;
	void *to = arena_array(x->mem, (size_t)channels, dtype_bytes(t));

	if (b && !b->data)
		return error_set(err, ERROR_UNSUPPORTED, "the bytes of %s are not at hand", b->name);
	for (int64_t c = 0; c < channels; c++)
		dtype_put(t, to, (size_t)c, (b ? dtype_get(b->dtype, b->data, (size_t)c) * scale[c] : 0) + shift[c]);
	v->data = (struct span){ to, (size_t)channels * dtype_bytes(t) };
	v->datatype = t == DTYPE_F16 ? XD_FP16 : XD_FP32;
	return true;
}

bool lower_bias(struct xlower *x, const struct gemm *g, int64_t channels, bool wide, const double *scale,
		const double *shift, uint32_t *id, struct error *err)
{
	const struct value *b = g->bias;
	struct xvalue v = { .datatype = XD_FP32, .rank = 1, .dim = { (uint32_t)channels } };
	bool ok;

	*id = XNONE;
	if (!b && !scale)
		return true;
	if (g->bias_quantized && g->precision != PRECISION_STATIC)
		return error_set(err, ERROR_UNSUPPORTED, "an int32 bias needs an int8 activation and weight");
	if (g->bias_quantized)
		b = g->bias_quant.data;
	if (b && (b->kind != VALUE_CONSTANT || dtype_numel(b->rank, b->size) != channels))
		return error_set(err, ERROR_UNSUPPORTED, "the bias is no constant of %lld numbers",
				 (long long)channels);
	if (scale) {
		ok = normed_bias(x, g, channels, wide, scale, shift, &v, err);
	} else if (g->precision == PRECISION_STATIC) {
		ok = quantized_bias(x, g, channels, &v, err);
	} else {
		bool half = !wide && !g->quantized && g->weight->dtype == DTYPE_F16;	/* as the filter */

		v.datatype = half ? XD_FP16 : XD_FP32;
		ok = static_as(x, b, half ? DTYPE_F16 : DTYPE_F32, &v.data, err);
	}
	if (ok)
		*id = lower_static(x, b ? b->home : g->weight->home, v);
	return ok;
}

bool static_keeps_bytes(const struct node *n, const struct value *c)
{
	struct gemm g;

	if (!(n->op->flags & OP_GEMM))
		return false;		/* batch norm: computed anew */
	g = gemm_of(n);
	if (c == g.bias)
		return g.precision != PRECISION_STATIC && !(g.quantized && c->dtype != DTYPE_F32);
	if (g.quantized && c == g.quant.scales)
		return c->dtype == (g.quant.kind == WEIGHT_GROUP ? DTYPE_BF16 : DTYPE_F32);
	if (g.quantized && g.quant.int4)
		return c->dtype == DTYPE_INT4;
	if (op_is(n->op, "aten.convolution.default"))
		return convolution_keeps_bytes(n, c);
	return !g.quantized || value_is_default_order(c) == op_is(n->op, "aten.linear.default");
}
