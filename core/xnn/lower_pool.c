/* Lowering of pooling, of reductions that are pooling, and of resizing: all in NHWC. */
#include "core/xnn/lowering.h"

#include <string.h>

struct pool { int64_t kernel[2], stride[2], pad[2], end[2], dilation[2]; };	/* height, width; end: padding behind */

static bool read_pool(const struct node *n, struct pool *p, struct error *err)
{
	if (!node_ints_spread(n, 1, 0, p->kernel, 2) || !node_ints_spread(n, 2, 0, p->stride, 2) ||
	    !node_ints_spread(n, 3, 0, p->pad, 2) || node_input(n, 0)->rank != 4)
		return error_set(err, ERROR_UNSUPPORTED, "arguments are not those of a 2-D pooling");
	for (int i = 0; i < 2; i++) {
		p->stride[i] = p->stride[i] ? p->stride[i] : p->kernel[i];
		p->end[i] = p->pad[i];
		p->dilation[i] = 1;
	}
	return true;
}

static bool emit_pool(struct xlower *x, const struct node *n, enum xtag tag, const struct pool *p, uint32_t flags,
		      struct error *err)
{
	bool dilated = tag == X_MAX_POOLING_2D;
	struct xnode *node;
	uint32_t in, out;

	if (!lower_in(x, n, node_input(n, 0), NHWC, &in, err))
		return false;
	out = lower_out(x, n, NHWC);
	node = lower_node(x, n, tag);
	memcpy(node->field, (uint32_t[]){
		[XP_PAD_TOP] = (uint32_t)p->pad[0], [XP_PAD_RIGHT] = (uint32_t)p->end[1],
		[XP_PAD_BOTTOM] = (uint32_t)p->end[0], [XP_PAD_LEFT] = (uint32_t)p->pad[1],
		[XP_KERNEL_H] = (uint32_t)p->kernel[0], [XP_KERNEL_W] = (uint32_t)p->kernel[1],
		[XP_STRIDE_H] = (uint32_t)p->stride[0], [XP_STRIDE_W] = (uint32_t)p->stride[1],
		[XP_DILATION_H] = dilated ? (uint32_t)p->dilation[0] : 0, [XP_DILATION_W] = dilated ? (uint32_t)p->dilation[1] : 0,
		[XP_IN] = in, [XP_OUT] = out, [XP_FLAGS] = flags }, (XP_FLAGS + 1) * sizeof *node->field);
	return true;
}

bool lower_avg_pool(struct xlower *x, const struct node *n, struct error *err)
{
	struct pool p = { 0 };

	return read_pool(n, &p, err) && emit_pool(x, n, X_AVG_POOLING_2D, &p, XFLAG_KEEP_DIMS, err);
}

/* Ceil mode is padding behind, as much as the last window lacks (facts: partition, 6.5). */
static void extend(struct pool *p, const struct value *in)
{
	for (int i = 0; i < 2; i++) {
		int64_t s = p->stride[i], room = in->size[2 + i] + 2 * p->pad[i] - p->dilation[i] * (p->kernel[i] - 1) - 1;
		int64_t out = (room + s - 1) / s + 1;

		if ((out - 1) * s < in->size[2 + i] + p->pad[i] && room % s)
			p->end[i] += s - room % s;
	}
}

bool lower_max_pool(struct xlower *x, const struct node *n, struct error *err)
{
	struct pool p = { 0 };

	if (!read_pool(n, &p, err))
		return false;
	if (!node_ints_spread(n, 4, 1, p.dilation, 2))
		return error_set(err, ERROR_UNSUPPORTED, "dilation is no literal pair");
	if (node_int(n, 5, 0))
		extend(&p, node_input(n, 0));
	return emit_pool(x, n, X_MAX_POOLING_2D, &p, XFLAG_KEEP_DIMS, err);
}

bool lower_max_dim(struct xlower *x, const struct node *n, struct error *err)
{
	const struct value *in = node_input(n, 0);
	struct pool p = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } };
	int64_t dim = node_int(n, 1, 0);

	if (in->rank != 4 || dim < 2 || dim > 3)
		return error_set(err, ERROR_UNSUPPORTED, "dim must be 2 or 3 of a 4-D tensor");
	p.kernel[dim - 2] = p.stride[dim - 2] = in->size[dim];
	return emit_pool(x, n, X_MAX_POOLING_2D, &p, 0, err);
}

bool lower_mean(struct xlower *x, const struct node *n, struct error *err)
{
	struct xnode *node;
	uint32_t in, out;

	if (!lower_in(x, n, node_input(n, 0), NHWC, &in, err))
		return false;
	out = lower_out(x, n, NHWC);
	node = lower_node(x, n, X_GLOBAL_AVG_POOLING_2D);
	node->field[XU_IN] = in;
	node->field[XU_OUT] = out;
	node->field[XU_FLAGS] = XFLAG_KEEP_DIMS;
	return true;
}

bool lower_upsample(struct xlower *x, const struct node *n, struct error *err)
{
	struct xnode *node;
	uint32_t in, out;

	if (!lower_in(x, n, node_input(n, 0), NHWC, &in, err))
		return false;
	out = lower_out(x, n, NHWC);
	node = lower_node(x, n, X_STATIC_RESIZE_BILINEAR_2D);
	node->field[XR_HEIGHT] = (uint32_t)n->out[0]->size[2];
	node->field[XR_WIDTH] = (uint32_t)n->out[0]->size[3];
	node->field[XR_IN] = in;
	node->field[XR_OUT] = out;
	node->field[XR_FLAGS] = node_int(n, 2, 0) ? XFLAG_ALIGN_CORNERS : 0;
	return true;
}
