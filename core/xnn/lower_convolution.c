/* Lowering of convolutions (facts: partition, 6.4) and of batch norm on its own. */
#include "core/xnn/lowering.h"

#include <string.h>

struct conv {
	int64_t kernel[2], stride[2], pad[2], dilation[2], adjust[2];	/* height, width; width 1 in 1-D */
	int64_t groups, group_in, group_out;
	bool transposed, depthwise;
};

/* Spatial arguments of one or two dimensions; the second of a 1-D convolution is `otherwise`. */
static bool spatial(const struct node *n, int arg, int dims, int64_t otherwise, int64_t *at)
{
	at[1] = otherwise;
	return node_ints_spread(n, arg, otherwise, at, dims);
}

static bool read_conv(const struct node *n, const struct value *w, struct conv *c, struct error *err)
{
	int dims = w->rank - 2;

	c->transposed = node_int(n, 6, 0);
	c->groups = node_int(n, 8, 1);
	if ((dims != 1 && dims != 2) || c->groups < 1 || !spatial(n, 3, dims, 1, c->stride) ||
	    !spatial(n, 4, dims, 0, c->pad) || !spatial(n, 5, dims, 1, c->dilation) ||
	    !spatial(n, 7, dims, 0, c->adjust))
		return error_set(err, ERROR_UNSUPPORTED, "arguments are not those of a 1-D or 2-D convolution");
	c->kernel[0] = w->size[2];
	c->kernel[1] = dims == 2 ? w->size[3] : 1;
	c->group_in = c->transposed ? w->size[0] / c->groups : w->size[1];
	c->group_out = c->transposed ? w->size[1] : w->size[0] / c->groups;
	c->depthwise = !c->transposed && c->group_in == 1;
	return true;
}

static void put(struct layout_of *l, int64_t size, int64_t stride)
{
	l->size[l->rank] = size;
	l->stride[l->rank++] = stride;
}

static void filter_layout(const struct value *w, const struct conv *c, struct filter *f)
{
	int64_t stride[MAX_RANK], out = c->groups * c->group_out, kh = c->kernel[0], kw = c->kernel[1];
	int64_t step[2];
	struct layout_of *l = &f->layout;

	value_strides(w, stride);
	step[0] = stride[2];
	step[1] = w->rank == 4 ? stride[3] : 0;
	f->rank = 4;
	f->channels = out;
	f->widen = c->transposed;	/* XNNPACK's deconvolution has no f16 filters */
	if (c->depthwise) {		/* [1, kh, kw, out] */
		put(l, kh, step[0]);
		put(l, kw, step[1]);
		put(l, out, stride[0]);
		memcpy(f->dim, (uint32_t[]){ 1, (uint32_t)kh, (uint32_t)kw, (uint32_t)out }, sizeof f->dim);
		f->channel_last = true;
		f->channel_dim = 3;
		return;
	}
	if (c->transposed) {		/* [in, out/g, kh, kw], in split into [g, in/g] -> [out, kh, kw, in/g] */
		put(l, c->groups, c->group_in * stride[0]);
		put(l, c->group_out, stride[1]);
	} else {
		put(l, out, stride[0]);
	}
	put(l, kh, step[0]);
	put(l, kw, step[1]);
	put(l, c->group_in, c->transposed ? stride[0] : stride[1]);
	memcpy(f->dim, (uint32_t[]){ (uint32_t)out, (uint32_t)kh, (uint32_t)kw, (uint32_t)c->group_in }, sizeof f->dim);
}

bool convolution_keeps_bytes(const struct node *n, const struct value *w)
{
	struct filter f = { 0 };
	struct conv c = { 0 };

	if (!read_conv(n, w, &c, NULL))
		return false;
	filter_layout(w, &c, &f);
	return layout_is_dense(&f.layout) && !(f.widen && w->dtype == DTYPE_F16);
}

static void fill(struct xnode *node, const struct conv *c, uint32_t in, uint32_t filter, uint32_t bias, uint32_t out)
{
	const uint32_t field[] = {
		[XC_PAD_TOP] = (uint32_t)c->pad[0], [XC_PAD_RIGHT] = (uint32_t)c->pad[1],
		[XC_PAD_BOTTOM] = (uint32_t)c->pad[0], [XC_PAD_LEFT] = (uint32_t)c->pad[1],
		[XC_KERNEL_H] = (uint32_t)c->kernel[0], [XC_KERNEL_W] = (uint32_t)c->kernel[1],
		[XC_STRIDE_H] = (uint32_t)c->stride[0], [XC_STRIDE_W] = (uint32_t)c->stride[1],
		[XC_DILATION_H] = (uint32_t)c->dilation[0], [XC_DILATION_W] = (uint32_t)c->dilation[1],
		[XC_GROUP_IN] = (uint32_t)c->group_in, [XC_GROUP_OUT] = (uint32_t)c->group_out,
		[XC_GROUPS] = (uint32_t)c->groups,
		[XC_ADJUST_H] = c->transposed ? (uint32_t)c->adjust[0] : 0,
		[XC_ADJUST_W] = c->transposed ? (uint32_t)c->adjust[1] : 0,
		[XC_IN] = in, [XC_FILTER] = filter, [XC_BIAS] = bias, [XC_OUT] = out, [XC_FLAGS] = 0,
	};

	memcpy(node->field, field, sizeof field);
}

bool lower_convolution(struct xlower *x, const struct node *n, struct error *err)
{
	const struct xmember *m = lower_member(x, n);
	struct gemm g = gemm_of(n);
	const struct value *w = g.quantized ? g.quant.data : g.weight;
	double *scale = NULL, *shift = NULL;
	uint32_t in, filter, bias, out;
	struct filter f = { 0 };
	struct conv c = { 0 };
	struct xnode *node;

	if (!g.act || !w || !g.precision)
		return error_set(err, ERROR_UNSUPPORTED, "weight or activation is not as it has to be");
	if (!read_conv(n, w, &c, err))
		return false;
	filter_layout(w, &c, &f);
	if (m->norm && !batch_norm_read(m->norm, f.channels, &x->scratch, &scale, &shift, err))
		return false;
	if (!lower_activation(x, n, &g, NHWC, &in, err) || !lower_filter(x, &g, &f, scale, &filter, err) ||
	    !lower_bias(x, &g, f.channels, f.widen, scale, shift, &bias, err))
		return false;
	out = lower_out(x, n, NHWC);
	node = lower_node(x, n, c.transposed ? X_CONV_TRANSPOSE_2D : c.depthwise ? X_DEPTHWISE_CONV2D : X_CONV2D);
	fill(node, &c, in, filter, bias, out);
	lower_bounds(x, n, node);
	return true;
}

/* [N, C] is [N, 1, 1, C] already: only N can vary. */
static bool norm_2d(struct xlower *x, const struct node *n, uint32_t *in, struct error *err)
{
	const struct value *v = node_input(n, 0);
	uint32_t shape[4] = { (uint32_t)v->size[0], 1, 1, (uint32_t)v->size[1] }, flat;

	if (!lower_in(x, n, v, NCHW, &flat, err))
		return false;
	*in = lower_out_raw(x, v, 4, shape);
	shape[0] = v->dynamic ? 0 : shape[0];
	lower_emit_reshape(x, flat, *in, shape, 4);
	return true;
}

static bool norm_filter(struct xlower *x, const struct node *n, int64_t channels, uint32_t *filter, uint32_t *bias,
			struct error *err)
{
	const struct value *mean = node_input(n, 3);
	enum dtype t = node_input(n, 0)->dtype;
	struct xvalue v = { .datatype = t == DTYPE_F16 ? XD_FP16 : XD_FP32 };
	double *scale, *shift;
	void *w = arena_array(x->mem, (size_t)channels, dtype_bytes(t));
	void *b = arena_array(x->mem, (size_t)channels, dtype_bytes(t));

	if (!batch_norm_read(n, channels, &x->scratch, &scale, &shift, err))
		return false;
	for (int64_t c = 0; c < channels; c++) {
		dtype_put(t, w, (size_t)c, scale[c]);
		dtype_put(t, b, (size_t)c, shift[c]);
	}
	v.data = (struct span){ w, (size_t)channels * dtype_bytes(t) };
	v.rank = 4;
	memcpy(v.dim, (uint32_t[]){ 1, 1, 1, (uint32_t)channels }, 4 * sizeof *v.dim);
	*filter = lower_static(x, mean->home, v);
	v.data.data = b;
	v.rank = 1;
	memcpy(v.dim, (uint32_t[]){ (uint32_t)channels, 0, 0, 0 }, 4 * sizeof *v.dim);
	*bias = lower_static(x, mean->home, v);
	return true;
}

bool lower_batch_norm(struct xlower *x, const struct node *n, struct error *err)
{
	const struct value *v = node_input(n, 0);
	struct conv c = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = v->size[1],
			  .group_in = 1, .group_out = 1 };
	uint32_t in, filter, bias, out, wide = XNONE;
	struct xnode *node;

	if (v->rank < 2 || v->rank > 4)
		return error_set(err, ERROR_UNSUPPORTED, "input has %d dimensions, must have 2 to 4", v->rank);
	if (!(v->rank == 2 ? norm_2d(x, n, &in, err) : lower_in(x, n, v, NHWC, &in, err)) ||
	    !norm_filter(x, n, c.groups, &filter, &bias, err))
		return false;
	if (v->rank == 2)
		wide = lower_out_raw(x, v, 4, x->value.at[in].dim);
	out = v->rank == 2 ? wide : lower_out(x, n, NHWC);
	node = lower_node(x, n, X_DEPTHWISE_CONV2D);
	fill(node, &c, in, filter, bias, out);
	lower_bounds(x, n, node);
	if (v->rank == 2)
		lower_emit_reshape(x, wide, lower_out(x, n, NCHW),
				   (uint32_t[]){ v->dynamic ? 0 : (uint32_t)v->size[0], (uint32_t)v->size[1] }, 2);
	return true;
}
