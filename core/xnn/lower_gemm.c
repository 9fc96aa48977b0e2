/* Lowering of linears and matrix products. */
#include "core/xnn/lowering.h"

/* The weight as it lies: [out, in], or [in, out] with a flag for XNNPACK. Quantised ones must be [out, in]. */
static uint32_t filter_layout(const struct gemm *g, bool linear, struct filter *f)
{
	const struct value *w = g->quantized ? g->quant.data : g->weight;
	int out = linear ? 0 : 1, in = 1 - out;
	int64_t stride[MAX_RANK];
	bool swapped;

	value_strides(w, stride);
	swapped = !g->quantized && stride[out] < stride[in];
	f->rank = f->layout.rank = 2;
	for (int d = 0; d < 2; d++) {
		int from = (d == 0) != swapped ? out : in;

		f->layout.size[d] = w->size[from];
		f->layout.stride[d] = stride[from];
		f->dim[d] = (uint32_t)w->size[from];
	}
	f->channels = w->size[out];
	f->channel_last = swapped;
	f->channel_dim = swapped;
	return swapped ? XFLAG_TRANSPOSE_WEIGHTS : 0;
}

bool lower_linear(struct xlower *x, const struct node *n, struct error *err)
{
	const struct xmember *m = lower_member(x, n);
	struct gemm g = gemm_of(n);
	double *scale = NULL, *shift = NULL;
	uint32_t in, filter, bias, out, flags;
	struct filter f = { 0 };
	struct xnode *node;

	if (!g.act || !g.weight || g.weight->rank != 2 || !g.precision)
		return error_set(err, ERROR_UNSUPPORTED, "weight or activation is not as it has to be");
	flags = filter_layout(&g, op_is(n->op, "aten.linear.default"), &f);
	if (m->norm && !batch_norm_read(m->norm, f.channels, &x->scratch, &scale, &shift, err))
		return false;
	if (!lower_activation(x, n, &g, NCHW, &in, err) || !lower_filter(x, &g, &f, scale, &filter, err) ||
	    !lower_bias(x, &g, f.channels, false, scale, shift, &bias, err))
		return false;
	out = lower_out(x, n, NCHW);
	node = lower_node(x, n, X_FULLY_CONNECTED);
	node->field[XFC_IN] = in;
	node->field[XFC_FILTER] = filter;
	node->field[XFC_BIAS] = bias;
	node->field[XFC_OUT] = out;
	node->field[XFC_FLAGS] = flags;
	lower_bounds(x, n, node);
	return true;
}

bool lower_bmm(struct xlower *x, const struct node *n, struct error *err)
{
	uint32_t a, b, out;
	struct xnode *node;

	if (!lower_in(x, n, node_input(n, 0), NCHW, &a, err) || !lower_in(x, n, node_input(n, 1), NCHW, &b, err))
		return false;
	out = lower_out(x, n, NCHW);
	node = lower_node(x, n, X_BATCH_MATMUL);
	node->field[XB_IN1] = a;
	node->field[XB_IN2] = b;
	node->field[XB_OUT] = out;
	return true;
}
