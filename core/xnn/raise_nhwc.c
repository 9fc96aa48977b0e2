/* Node types that XNNPACK wants in NHWC: permute to NCHW, the operator as it is outside delegates, permute back.
 * Filters are not moved: they are the same bytes in another dim order. */
#include "core/xnn/raising.h"

#include <math.h>
#include <string.h>

enum { FLAG_ALIGN_CORNERS = 8, FLAG_KEEP_DIMS = 64 };

static const int64_t to_nchw[] = { 0, 3, 1, 2 }, to_nhwc[] = { 0, 2, 3, 1 };

static struct value *image(struct raising *r, uint32_t id)
{
	struct value *v = raise_dims(r, id);

	if (v && v->rank != 4)
		return raise_fail(r, "an image of rank %d", v->rank), NULL;
	return raise_permute(r, v, to_nchw);
}

static bool image_result(struct raising *r, const struct xnode *n, uint32_t id, struct value *v)
{
	if (v && n->has_min_max && xnode_types[n->tag].has_min_max)
		v = raise_clamp(r, v, n->min, n->max, false);
	return v && raise_result(r, id, raise_permute(r, v, to_nhwc));
}

static struct arg pair(struct raising *r, uint32_t h, uint32_t w)
{
	return arg_ints(r->g, (const int64_t[]){ h, w }, 2);
}

struct padding { uint32_t top, right, bottom, left; };	/* the first four fields of convolutions and pools */

static struct padding padding_of(const struct xnode *n)
{
	const uint32_t *f = n->field;

	return (struct padding){ f[XC_PAD_TOP], f[XC_PAD_RIGHT], f[XC_PAD_BOTTOM], f[XC_PAD_LEFT] };
}

static bool symmetric(const struct padding *p)
{
	return p->top == p->bottom && p->left == p->right;
}

static struct value *pad(struct raising *r, struct value *v, const struct padding *p, double fill)
{
	const int64_t amount[] = { p->left, p->right, p->top, p->bottom };

	return raise_side(r, "aten.constant_pad_nd.default", ARGS(V(v), arg_ints(r->g, amount, 4), D(fill)));
}

/* ---- convolutions ---- */

struct filter {
	int64_t size[4];	/* logical */
	uint8_t dim_order[4];
	int channel_dim, axis;	/* of per-channel scales: as stored, and as seen */
	bool fits;		/* its stored sizes are what the node says */
};

/* [out, kh, kw, in/g] */
static struct filter conv_filter(const struct xnode *n, const uint32_t *dim)
{
	uint64_t out = (uint64_t)n->field[XC_GROUP_OUT] * n->field[XC_GROUPS];

	return (struct filter){ { dim[0], dim[3], dim[1], dim[2] }, { 0, 2, 3, 1 }, 0, 0,
				dim[0] == out && dim[3] == n->field[XC_GROUP_IN] };
}

/* [1, kh, kw, channels * multiplier] */
static struct filter depthwise_filter(const struct xnode *n, const uint32_t *dim)
{
	const uint32_t *f = n->field;
	uint64_t out = f[XC_GROUP_IN] ? (uint64_t)(f[XC_GROUP_OUT] / f[XC_GROUP_IN]) * f[XC_GROUPS] : 0;

	return (struct filter){ { dim[3], 1, dim[1], dim[2] }, { 1, 2, 3, 0 }, 3, 0, dim[0] == 1 && dim[3] == out };
}

/* [out, kh, kw, in/g], for the weight [in, out/g, kh, kw] of a transposed convolution */
static struct filter deconv_filter(const struct xnode *n, const uint32_t *dim)
{
	uint64_t out = (uint64_t)n->field[XC_GROUP_OUT] * n->field[XC_GROUPS];

	return (struct filter){ { (int64_t)dim[3] * n->field[XC_GROUPS], n->field[XC_GROUP_OUT], dim[1], dim[2] },
				{ 1, 2, 3, 0 }, 0, 1, dim[0] == out && dim[3] == n->field[XC_GROUP_IN] };
}

/* Of a grouped transposed convolution the filter is [g, out/g, kh, kw, in/g] and the weight [g, in/g, out/g, kh, kw]:
 * no order of its four dimensions says so, it has to be copied. */
static struct value *regroup(struct raising *r, const struct xnode *n, uint32_t id, const struct filter *f)
{
	const struct xvalue *x = &r->x->value[id];
	struct value *v = graph_value(r->g, VALUE_CONSTANT, raise_dtype(x->datatype), 4, f->size);
	size_t each = dtype_bytes(v->dtype), taps = (size_t)(f->size[2] * f->size[3]), groups = n->field[XC_GROUPS];
	size_t in = n->field[XC_GROUP_IN], out = n->field[XC_GROUP_OUT];
	uint8_t *to;

	if (!each || (x->data.data && x->data.bytes != v->bytes))
		return raise_fail(r, "a grouped filter of type %s", xdatatype_name(x->datatype)), NULL;
	if (!x->data.data || !v->bytes)
		return v;
	to = arena_try(&r->g->mem, v->bytes);
	if (!to)
		return raise_fail(r, "no memory for a filter of %zu bytes", v->bytes), NULL;
	v->data = to;
	for (size_t g = 0; g < groups; g++)
		for (size_t i = 0; i < in; i++)
			for (size_t o = 0; o < out; o++)
				for (size_t k = 0; k < taps; k++, to += each)
					memcpy(to, x->data.data + (((g * out + o) * taps + k) * in + i) * each, each);
	return v;
}

static struct value *weight(struct raising *r, const struct xnode *n, const struct filter *f, bool copied)
{
	uint32_t id = n->field[XC_FILTER];
	const struct xvalue *x = &r->x->value[id];
	struct value *v;

	if (!f->fits || x->dim[1] != n->field[XC_KERNEL_H] || x->dim[2] != n->field[XC_KERNEL_W])
		return raise_fail(r, "a filter that is not what the node says"), NULL;
	if (!xvalue_is_constant(x))
		return raise_fail(r, "a filter that is not static"), NULL;
	if (x->quant == XQ_CHANNEL && (x->channel_dim != f->channel_dim || copied))
		return raise_fail(r, "scales along dimension %d of a filter", x->channel_dim), NULL;
	v = copied ? regroup(r, n, id, f) : raise_constant(r, id, 4, f->size, f->dim_order);
	return v && x->quant ? raise_dequantize(r, x, v, f->axis, false) : v;
}

typedef struct filter filter_fn(const struct xnode *n, const uint32_t *dim);

static bool convolve(struct raising *r, const struct xnode *n, filter_fn *filter, bool transposed)
{
	const uint32_t *f = n->field;
	struct padding p = padding_of(n);
	struct filter shape;
	struct value *v, *w, *bias = NULL;

	if (r->x->value[f[XC_FILTER]].rank != 4 || f[XC_FLAGS] || (transposed && !symmetric(&p)))
		return raise_fail(r, "flags %#x, a filter of rank %d, or uneven padding", f[XC_FLAGS],
				  r->x->value[f[XC_FILTER]].rank);
	shape = filter(n, r->x->value[f[XC_FILTER]].dim);
	v = image(r, f[XC_IN]);
	w = v ? weight(r, n, &shape, transposed && f[XC_GROUPS] > 1) : NULL;
	w = w ? raise_cast(r, w, v->dtype) : NULL;
	if (w && f[XC_BIAS] != XNONE) {
		bias = raise_bias(r, f[XC_BIAS], shape.size[transposed] * (transposed ? f[XC_GROUPS] : 1));
		bias = bias ? raise_cast(r, bias, v->dtype) : NULL;
	}
	if (!w || (f[XC_BIAS] != XNONE && !bias))
		return false;
	if (!symmetric(&p)) {
		v = pad(r, v, &p, 0);
		p = (struct padding){ 0 };
	}
	return v && image_result(r, n, f[XC_OUT], raise_main(r, "aten.convolution.default", ARGS(V(v), V(w),
		V(bias), pair(r, f[XC_STRIDE_H], f[XC_STRIDE_W]), pair(r, p.top, p.left),
		pair(r, f[XC_DILATION_H], f[XC_DILATION_W]), B(transposed),
		pair(r, transposed ? f[XC_ADJUST_H] : 0, transposed ? f[XC_ADJUST_W] : 0), I(f[XC_GROUPS]))));
}

bool raise_conv(struct raising *r, const struct xnode *n) { return convolve(r, n, conv_filter, false); }
bool raise_depthwise(struct raising *r, const struct xnode *n) { return convolve(r, n, depthwise_filter, false); }
bool raise_deconv(struct raising *r, const struct xnode *n) { return convolve(r, n, deconv_filter, true); }

/* ---- pools ---- */

/* What XNNPACK makes of one dimension: windows that fit. */
static int64_t pooled(int64_t in, uint32_t before, uint32_t after, uint32_t kernel, uint32_t stride, uint32_t dilation)
{
	int64_t room = in + before + after - ((int64_t)kernel - 1) * dilation - 1;

	return room < 0 || !stride ? 0 : room / stride + 1;
}

static struct value *max_pool(struct raising *r, const uint32_t *f, struct value *v, const struct padding *p, bool ceil)
{
	return raise_main(r, "aten.max_pool2d.default", ARGS(V(v), pair(r, f[XP_KERNEL_H], f[XP_KERNEL_W]),
			  pair(r, f[XP_STRIDE_H], f[XP_STRIDE_W]), pair(r, p->top, p->left),
			  pair(r, f[XP_DILATION_H], f[XP_DILATION_W]), B(ceil)));
}

/* More padding behind than before is how ceil mode was lowered. What it cannot say is padded by a node. */
static struct value *uneven_max_pool(struct raising *r, const uint32_t *f, struct value *v, const struct padding *p)
{
	int64_t h = pooled(v->size[2], p->top, p->bottom, f[XP_KERNEL_H], f[XP_STRIDE_H], f[XP_DILATION_H]);
	int64_t w = pooled(v->size[3], p->left, p->right, f[XP_KERNEL_W], f[XP_STRIDE_W], f[XP_DILATION_W]);
	struct value *out = v->dynamic ? NULL : max_pool(r, f, v, p, true);

	if (out && out->size[2] == h && out->size[3] == w)
		return out;
	if (out)
		graph_remove(r->g, out->def);
	v = pad(r, v, p, -INFINITY);
	return v ? max_pool(r, f, v, &(struct padding){ 0 }, false) : NULL;
}

bool raise_max_pool(struct raising *r, const struct xnode *n)
{
	const uint32_t *f = n->field;
	struct padding p = padding_of(n);
	struct value *v = image(r, f[XP_IN]);

	if (!v || f[XP_FLAGS] & ~(uint32_t)FLAG_KEEP_DIMS)
		return v && raise_fail(r, "flags %#x of a pool", f[XP_FLAGS]);
	v = symmetric(&p) ? max_pool(r, f, v, &p, false) : uneven_max_pool(r, f, v, &p);
	return image_result(r, n, f[XP_OUT], v);
}

/* XNNPACK divides by the number of cells that are no padding. */
bool raise_avg_pool(struct raising *r, const struct xnode *n)
{
	const uint32_t *f = n->field;
	struct padding p = padding_of(n);
	struct value *v = image(r, f[XP_IN]);

	if (!v || f[XP_FLAGS] & ~(uint32_t)FLAG_KEEP_DIMS || !symmetric(&p))
		return v && raise_fail(r, "an average with flags %#x or uneven padding", f[XP_FLAGS]);
	return image_result(r, n, f[XP_OUT], raise_main(r, "aten.avg_pool2d.default", ARGS(V(v),
		pair(r, f[XP_KERNEL_H], f[XP_KERNEL_W]), pair(r, f[XP_STRIDE_H], f[XP_STRIDE_W]), pair(r, p.top, p.left),
		B(false), B(false), NONE)));
}

bool raise_global_avg_pool(struct raising *r, const struct xnode *n)
{
	bool keep = n->field[XU_FLAGS] & FLAG_KEEP_DIMS;
	struct value *v = image(r, n->field[XU_IN]);

	v = raise_main(r, "aten.mean.dim", ARGS(V(v), arg_ints(r->g, (const int64_t[]){ 2, 3 }, 2), B(keep),
			NONE));
	return keep ? image_result(r, n, n->field[XU_OUT], v) : raise_clamped(r, n, n->field[XU_OUT], v);
}

/* ---- others ---- */

enum { XZ_HEIGHT, XZ_WIDTH, XZ_IN, XZ_OUT, XZ_FLAGS };	/* StaticResizeBilinear2D */

bool raise_resize(struct raising *r, const struct xnode *n)
{
	const uint32_t *f = n->field;
	struct value *v = image(r, f[XZ_IN]);

	if (!v || f[XZ_FLAGS] & ~(uint32_t)FLAG_ALIGN_CORNERS)
		return v && raise_fail(r, "flags %#x of a resize", f[XZ_FLAGS]);
	return image_result(r, n, f[XZ_OUT], raise_main(r, "aten.upsample_bilinear2d.vec", ARGS(V(v),
		pair(r, f[XZ_HEIGHT], f[XZ_WIDTH]), B(f[XZ_FLAGS] & FLAG_ALIGN_CORNERS), NONE)));
}

/* One slope a channel, which is XNNPACK's last dimension and the operator's second. */
bool raise_prelu(struct raising *r, const struct xnode *n)
{
	uint32_t id = n->field[XB_IN2];
	const struct xvalue *x = &r->x->value[id];
	struct value *v = raise_dims(r, n->field[XB_IN1]), *slope;
	int64_t channels = 1;
	bool nhwc = v && v->rank == 4;

	if (!v || (v->rank != 2 && !nhwc))
		return v && raise_fail(r, "prelu of rank %d", v->rank);
	for (int d = 0; d < x->rank; d++)
		channels *= x->dim[d];
	slope = xvalue_is_constant(x) && !x->quant ? raise_constant(r, id, 1, &channels, (const uint8_t[]){ 0 }) :
		raise_real(r, id);
	slope = slope ? raise_cast(r, slope, v->dtype) : NULL;
	if (nhwc)
		v = raise_permute(r, v, to_nchw);
	v = slope && v ? raise_main(r, "aten.prelu.default", ARGS(V(v), V(slope))) : NULL;
	return nhwc ? image_result(r, n, n->field[XB_OUT], v) : raise_result(r, n->field[XB_OUT], v);
}
