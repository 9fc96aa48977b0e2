#include "core/xnn/live_define.h"

#include <math.h>

/* One row a node type: its function, and the library's operator where many share one. */
typedef enum xnn_status define_fn(const struct live_build *b, const struct xnode *n);
struct definition { define_fn *define; int operator; };

static uint32_t id(const struct live_build *b, uint32_t id_in_x)
{
	const struct live_id *i = live_id(b, id_in_x);

	return i ? i->xnn : XNN_INVALID_VALUE_ID;
}

static float low(const struct xnode *n) { return n->has_min_max ? n->min : -INFINITY; }
static float high(const struct xnode *n) { return n->has_min_max ? n->max : INFINITY; }

static const struct definition definitions[X_TAGS];

static enum xnn_status unary_with(const struct live_build *b, const struct xnode *n,
				  const union xnn_unary_params *p, int in, int out)
{
	return xnn_define_unary(b->subgraph, (enum xnn_unary_operator)definitions[n->tag].operator, p,
				id(b, n->field[in]), id(b, n->field[out]), 0);
}

static enum xnn_status unary(const struct live_build *b, const struct xnode *n)
{
	return unary_with(b, n, NULL, XU_IN, XU_OUT);
}

static enum xnn_status clamp(const struct live_build *b, const struct xnode *n)
{
	return unary_with(b, n, &(union xnn_unary_params){ .clamp = { low(n), high(n) } }, XU_IN, XU_OUT);
}

static enum xnn_status leaky_relu(const struct live_build *b, const struct xnode *n)
{
	return unary_with(b, n, &(union xnn_unary_params){ .leaky_relu = { xnode_f32(n, 0) } }, 1, 2);
}

static enum xnn_status elu(const struct live_build *b, const struct xnode *n)
{
	return unary_with(b, n, &(union xnn_unary_params){ .elu = { xnode_f32(n, 0) } }, 1, 2);
}

static enum xnn_status binary(const struct live_build *b, const struct xnode *n)
{
	struct xnn_binary_params p = { low(n), high(n) };

	return xnn_define_binary(b->subgraph, (enum xnn_binary_operator)definitions[n->tag].operator,
				 n->has_min_max ? &p : NULL, id(b, n->field[XB_IN1]), id(b, n->field[XB_IN2]),
				 id(b, n->field[XB_OUT]), 0);
}

static enum xnn_status fully_connected(const struct live_build *b, const struct xnode *n)
{
	const uint32_t *f = n->field;

	return xnn_define_fully_connected(b->subgraph, low(n), high(n), id(b, f[XFC_IN]), id(b, f[XFC_FILTER]),
					  id(b, f[XFC_BIAS]), id(b, f[XFC_OUT]), f[XFC_FLAGS]);
}

static enum xnn_status softmax(const struct live_build *b, const struct xnode *n)
{
	return xnn_define_softmax(b->subgraph, id(b, n->field[XU_IN]), id(b, n->field[XU_OUT]), 0);
}

static enum xnn_status copy(const struct live_build *b, const struct xnode *n)
{
	return xnn_define_copy(b->subgraph, id(b, n->field[XU_IN]), id(b, n->field[XU_OUT]), 0);
}

static enum xnn_status batch_matmul(const struct live_build *b, const struct xnode *n)
{
	return xnn_define_batch_matrix_multiply(b->subgraph, id(b, n->field[XB_IN1]), id(b, n->field[XB_IN2]),
						id(b, n->field[XB_OUT]), n->field[XB_FLAGS]);
}

static enum xnn_status conv2d(const struct live_build *b, const struct xnode *n)
{
	const uint32_t *f = n->field;

	return xnn_define_convolution_2d(b->subgraph, f[XC_PAD_TOP], f[XC_PAD_RIGHT], f[XC_PAD_BOTTOM],
					 f[XC_PAD_LEFT], f[XC_KERNEL_H], f[XC_KERNEL_W], f[XC_STRIDE_H],
					 f[XC_STRIDE_W], f[XC_DILATION_H], f[XC_DILATION_W], f[XC_GROUPS],
					 f[XC_GROUP_IN], f[XC_GROUP_OUT], low(n), high(n), id(b, f[XC_IN]),
					 id(b, f[XC_FILTER]), id(b, f[XC_BIAS]), id(b, f[XC_OUT]), f[XC_FLAGS]);
}

static enum xnn_status depthwise(const struct live_build *b, const struct xnode *n)
{
	const uint32_t *f = n->field;

	return xnn_define_depthwise_convolution_2d(b->subgraph, f[XC_PAD_TOP], f[XC_PAD_RIGHT], f[XC_PAD_BOTTOM],
						   f[XC_PAD_LEFT], f[XC_KERNEL_H], f[XC_KERNEL_W], f[XC_STRIDE_H],
						   f[XC_STRIDE_W], f[XC_DILATION_H], f[XC_DILATION_W],
						   f[XC_GROUP_OUT] / f[XC_GROUP_IN], f[XC_GROUPS], low(n), high(n),
						   id(b, f[XC_IN]), id(b, f[XC_FILTER]), id(b, f[XC_BIAS]),
						   id(b, f[XC_OUT]), f[XC_FLAGS]);
}

static enum xnn_status deconv2d(const struct live_build *b, const struct xnode *n)
{
	const uint32_t *f = n->field;

	return xnn_define_deconvolution_2d(b->subgraph, f[XC_PAD_TOP], f[XC_PAD_RIGHT], f[XC_PAD_BOTTOM],
					   f[XC_PAD_LEFT], f[XC_ADJUST_H], f[XC_ADJUST_W], f[XC_KERNEL_H],
					   f[XC_KERNEL_W], f[XC_STRIDE_H], f[XC_STRIDE_W], f[XC_DILATION_H],
					   f[XC_DILATION_W], f[XC_GROUPS], f[XC_GROUP_IN], f[XC_GROUP_OUT], low(n),
					   high(n), id(b, f[XC_IN]), id(b, f[XC_FILTER]), id(b, f[XC_BIAS]),
					   id(b, f[XC_OUT]), f[XC_FLAGS]);
}

static enum xnn_status avg_pool(const struct live_build *b, const struct xnode *n)
{
	const uint32_t *f = n->field;

	return xnn_define_average_pooling_2d(b->subgraph, f[XP_PAD_TOP], f[XP_PAD_RIGHT], f[XP_PAD_BOTTOM],
					     f[XP_PAD_LEFT], f[XP_KERNEL_H], f[XP_KERNEL_W], f[XP_STRIDE_H],
					     f[XP_STRIDE_W], low(n), high(n), id(b, f[XP_IN]), id(b, f[XP_OUT]), 0);
}

static enum xnn_status max_pool(const struct live_build *b, const struct xnode *n)
{
	const uint32_t *f = n->field;

	return xnn_define_max_pooling_2d(b->subgraph, f[XP_PAD_TOP], f[XP_PAD_RIGHT], f[XP_PAD_BOTTOM],
					 f[XP_PAD_LEFT], f[XP_KERNEL_H], f[XP_KERNEL_W], f[XP_STRIDE_H],
					 f[XP_STRIDE_W], f[XP_DILATION_H], f[XP_DILATION_W], low(n), high(n),
					 id(b, f[XP_IN]), id(b, f[XP_OUT]), 0);
}

/* Mean over height and width: the dimensions before the last. */
static enum xnn_status global_avg_pool(const struct live_build *b, const struct xnode *n)
{
	const struct live_id *in = live_id(b, n->field[XU_IN]);
	int64_t axis[2] = { in->value->rank - 3, in->value->rank - 2 };

	return xnn_define_static_reduce_v2(b->subgraph, xnn_reduce_mean, 2, axis, in->xnn, id(b, n->field[XU_OUT]),
					   n->field[XU_FLAGS]);
}

static const size_t *sizes(const struct xlist *l, size_t *at)
{
	for (int i = 0; i < l->n; i++)
		at[i] = l->at[i];
	return at;
}

static enum xnn_status transpose(const struct live_build *b, const struct xnode *n)
{
	const struct xlist *perm = &n->list[n->field[1]];
	size_t at[XMAX_RANK];

	return xnn_define_static_transpose(b->subgraph, (size_t)perm->n, sizes(perm, at), id(b, n->field[2]),
					   id(b, n->field[3]), 0);
}

static enum xnn_status reshape(const struct live_build *b, const struct xnode *n)
{
	const struct xlist *shape = &n->list[n->field[1]];
	size_t at[XMAX_RANK];

	return xnn_define_static_reshape(b->subgraph, (size_t)shape->n, sizes(shape, at), id(b, n->field[2]),
					 id(b, n->field[3]), 0);
}

static enum xnn_status slice(const struct live_build *b, const struct xnode *n)
{
	const struct xlist *offsets = &n->list[n->field[1]], *size = &n->list[n->field[2]];
	size_t from[XMAX_RANK], count[XMAX_RANK];

	return xnn_define_static_slice(b->subgraph, (size_t)offsets->n, sizes(offsets, from), sizes(size, count),
				       id(b, n->field[3]), id(b, n->field[4]), 0);
}

static enum xnn_status pad(const struct live_build *b, const struct xnode *n)
{
	size_t pre[XMAX_RANK], post[XMAX_RANK];

	return xnn_define_static_constant_pad(b->subgraph, sizes(&n->list[n->field[0]], pre),
					      sizes(&n->list[n->field[1]], post), xnode_f32(n, 2),
					      id(b, n->field[3]), id(b, n->field[4]), 0);
}

static enum xnn_status resize(const struct live_build *b, const struct xnode *n)
{
	return xnn_define_static_resize_bilinear_2d(b->subgraph, n->field[0], n->field[1], id(b, n->field[2]),
						    id(b, n->field[3]), n->field[4]);
}

static enum xnn_status concatenate(const struct live_build *b, const struct xnode *n)
{
	uint32_t i1 = id(b, n->field[XK_IN1]), i2 = id(b, n->field[XK_IN2]), i3 = id(b, n->field[XK_IN3]),
		 i4 = id(b, n->field[XK_IN4]), i5 = id(b, n->field[XK_IN5]), out = id(b, n->field[XK_OUT]);
	int32_t axis = (int32_t)n->field[XK_AXIS];

	switch (definitions[n->tag].operator) {
	case 2: return xnn_define_concatenate2(b->subgraph, axis, i1, i2, out, 0);
	case 3: return xnn_define_concatenate3(b->subgraph, axis, i1, i2, i3, out, 0);
	case 4: return xnn_define_concatenate4(b->subgraph, axis, i1, i2, i3, i4, out, 0);
	default: return xnn_define_concatenate5(b->subgraph, axis, i1, i2, i3, i4, i5, out, 0);
	}
}

static const struct definition definitions[X_TAGS] = {
	[X_ADD] = { binary, xnn_binary_add },
	[X_FULLY_CONNECTED] = { fully_connected, 0 },
	[X_SOFTMAX] = { softmax, 0 },
	[X_SIGMOID] = { unary, xnn_unary_sigmoid },
	[X_STATIC_TRANSPOSE] = { transpose, 0 },
	[X_CLAMP] = { clamp, xnn_unary_clamp },
	[X_CONV2D] = { conv2d, 0 },
	[X_DIV] = { binary, xnn_binary_divide },
	[X_STATIC_RESIZE_BILINEAR_2D] = { resize, 0 },
	[X_STATIC_CONSTANT_PAD] = { pad, 0 },
	[X_AVG_POOLING_2D] = { avg_pool, 0 },
	[X_MINIMUM] = { binary, xnn_binary_minimum },
	[X_DEPTHWISE_CONV2D] = { depthwise, 0 },
	[X_MAX_POOLING_2D] = { max_pool, 0 },
	[X_MULTIPLY] = { binary, xnn_binary_multiply },
	[X_SUBTRACT] = { binary, xnn_binary_subtract },
	[X_FLOOR] = { unary, xnn_unary_floor },
	[X_CONVERT] = { unary, xnn_unary_convert },
	[X_GLOBAL_AVG_POOLING_2D] = { global_avg_pool, 0 },
	[X_STATIC_RESHAPE] = { reshape, 0 },
	[X_SQUARE_ROOT] = { unary, xnn_unary_square_root },
	[X_CEILING] = { unary, xnn_unary_ceiling },
	[X_HARDSWISH] = { unary, xnn_unary_hardswish },
	[X_LEAKY_RELU] = { leaky_relu, xnn_unary_leaky_relu },
	[X_MAXIMUM] = { binary, xnn_binary_maximum },
	[X_NEGATE] = { unary, xnn_unary_negate },
	[X_SQUARE] = { unary, xnn_unary_square },
	[X_ELU] = { elu, xnn_unary_elu },
	[X_ABS] = { unary, xnn_unary_abs },
	[X_PRELU] = { binary, xnn_binary_prelu },
	[X_CONCATENATE2] = { concatenate, 2 },
	[X_CONCATENATE3] = { concatenate, 3 },
	[X_CONCATENATE4] = { concatenate, 4 },
	[X_STATIC_SLICE] = { slice, 0 },
	[X_BATCH_MATMUL] = { batch_matmul, 0 },
	[X_CONCATENATE5] = { concatenate, 5 },
	[X_CONV_TRANSPOSE_2D] = { deconv2d, 0 },
	[X_RSQRT] = { unary, xnn_unary_reciprocal_square_root },
	[X_LOG] = { unary, xnn_unary_log },
	[X_GELU] = { unary, xnn_unary_gelu },
	[X_TANH] = { unary, xnn_unary_tanh },
	[X_EXP] = { unary, xnn_unary_exp },
	[X_SIN] = { unary, xnn_unary_sine },
	[X_COPY] = { copy, 0 },
	[X_COS] = { unary, xnn_unary_cosine },
};

const char *live_status(int status)
{
	static const char *const words[] = {
		"success", "not initialised", "an invalid parameter", "an invalid state", "an unsupported parameter",
		"unsupported hardware", "out of memory", "reallocation required", "deprecated",
	};

	return status >= 0 && status < (int)(sizeof words / sizeof *words) ? words[status] : "an unknown status";
}

bool live_has(const struct xnode *n, struct error *err)
{
	return ((unsigned)n->tag < X_TAGS && definitions[n->tag].define) ||
	       error_set(err, ERROR_MISSING, "this XNNPACK has no %s",
			 (unsigned)n->tag < X_TAGS && xnode_types[n->tag].name ? xnode_types[n->tag].name : "such node");
}

bool live_define(struct live_build *b, const struct xnode *n, struct error *err)
{
	enum xnn_status status;

	if (!live_has(n, err) || !live_check(b, n, err))
		return false;
	status = definitions[n->tag].define(b, n);
	return status == xnn_status_success ||
	       error_set(err, ERROR_UNSUPPORTED, "this XNNPACK refuses a %s: %s", xnode_types[n->tag].name,
			 live_status(status));
}
