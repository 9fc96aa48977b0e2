/* Raising: what a delegate's nodes become computes what XNNPACK computes, with and without its permutes cancelled. */
#include "tests/tap.h"
#include "tests/xmake.h"

#include <math.h>

static struct xmake *m;

static int setup(void **state)
{
	m = xmake_new();
	return 0;
}

static int teardown(void **state)
{
	xmake_free(m);
	return 0;
}

static uint32_t input(int rank, const uint32_t *dim) { return xmake_input(m, XD_FP32, rank, dim)->id; }
static uint32_t inner(int rank, const uint32_t *dim) { return xmake_inner(m, XD_FP32, rank, dim)->id; }
static uint32_t output(int rank, const uint32_t *dim) { return xmake_output(m, XD_FP32, rank, dim)->id; }
static uint32_t weight(int rank, const uint32_t *dim) { return xmake_static(m, XD_FP32, -1, 1, rank, dim)->id; }

static void assert_same(double allowed)
{
	double d = xmake_compare(m);

	if (d > allowed)
		fail_msg("off by %g", d);
}

/* ---- one table of elementwise types ---- */

struct unary { enum xtag tag; const char *op; };

static void unary_nodes(void **state)
{
	static const struct unary types[] = {
		{ X_SIGMOID, "aten.sigmoid.default" }, { X_FLOOR, "aten.floor.default" }, { X_CEILING, "aten.ceil.default" },
		{ X_HARDSWISH, "aten.hardswish.default" }, { X_NEGATE, "aten.neg.default" }, { X_SQUARE, "aten.pow.Tensor_Scalar" },
		{ X_ABS, "aten.abs.default" }, { X_GELU, "aten.gelu.default" }, { X_TANH, "aten.tanh.default" },
		{ X_EXP, "aten.exp.default" }, { X_SIN, "aten.sin.default" }, { X_COS, "aten.cos.default" },
		{ X_COPY, "dim_order_ops._clone_dim_order.default" },
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		xmake_free(m);
		m = xmake_new();
		xmake_node(m, types[i].tag, input(DIMS(3, 5)), output(DIMS(3, 5)));
		assert_same(1e-3);
		assert_int_equal(m->g->nnodes, 1);
		assert_int_equal(xmake_count(m, types[i].op), 1);
	}
}

/* Square roots and logarithms: of squares plus something. */
static void positive_nodes(void **state)
{
	static const enum xtag types[] = { X_SQUARE_ROOT, X_RSQRT, X_LOG };

	for (int i = 0; i < 3; i++) {
		uint32_t in, sum, half;

		xmake_free(m);
		m = xmake_new();
		in = input(DIMS(4, 6));
		half = xmake_static(m, XD_FP32, 0.5, 0.6, DIMS(1))->id;
		sum = inner(DIMS(4, 6));
		xmake_node(m, X_SQUARE, in, inner(DIMS(4, 6)));
		xmake_node(m, X_ADD, m->x.node[0].field[XU_OUT], half, sum);
		xmake_node(m, types[i], sum, output(DIMS(4, 6)));
		assert_same(1e-3);
	}
}

static void binary_nodes(void **state)
{
	static const struct unary types[] = {
		{ X_ADD, "aten.add.Tensor" }, { X_SUBTRACT, "aten.sub.Tensor" }, { X_MULTIPLY, "aten.mul.Tensor" },
		{ X_DIV, "aten.div.Tensor" }, { X_MINIMUM, "aten.minimum.default" }, { X_MAXIMUM, "aten.maximum.default" },
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		xmake_free(m);
		m = xmake_new();
		xmake_node(m, types[i].tag, input(DIMS(2, 3, 4)), xmake_static(m, XD_FP32, 1, 2, DIMS(3, 1))->id, output(DIMS(2, 3, 4)));
		assert_same(1e-4);
		assert_int_equal(xmake_count(m, types[i].op), 1);
	}
}

static struct xnode *bounded(struct xnode *n, float min, float max)
{
	n->has_min_max = true;
	n->min = min;
	n->max = max;
	return n;
}

static void fused_bounds_become_nodes(void **state)
{
	uint32_t a = input(DIMS(4, 5)), b = input(DIMS(4, 5)), s = inner(DIMS(4, 5)), t = inner(DIMS(4, 5)), out = output(DIMS(4, 5));

	bounded(xmake_node(m, X_ADD, a, b, s), 0, INFINITY);
	bounded(xmake_node(m, X_MULTIPLY, s, b, t), -1, 1);
	bounded(xmake_node(m, X_CLAMP, t, out), -0.5f, INFINITY);
	assert_same(1e-5);
	assert_int_equal(xmake_count(m, "aten.relu.default"), 1);
	assert_int_equal(xmake_count(m, "aten.hardtanh.default"), 1);
	assert_int_equal(xmake_count(m, "aten.clamp.default"), 1);
	assert_int_equal(m->g->first->origin.dnode, 0);
	assert_int_equal(m->g->first->origin.kind, ORIGIN_FILE);
	assert_int_equal(m->g->first->next->origin.dnode, 0);	/* the bound of node 0, made beside it */
	assert_int_equal(m->g->first->next->origin.kind, ORIGIN_PASS);
}

static uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static void slopes(void **state)
{
	uint32_t in = input(DIMS(2, 3, 4, 5)), a = inner(DIMS(2, 3, 4, 5)), b = inner(DIMS(2, 3, 4, 5)), out = output(DIMS(2, 3, 4, 5));

	xmake_node(m, X_LEAKY_RELU, bits(0.125f), in, a);
	xmake_node(m, X_ELU, bits(0.75f), a, b);
	xmake_node(m, X_PRELU, b, weight(DIMS(5)), out);
	assert_same(1e-3);
	assert_int_equal(xmake_count(m, "aten.prelu.default"), 1);
}

/* ---- shapes ---- */

static void shapes(void **state)
{
	uint32_t in = input(DIMS(2, 3, 4)), t = inner(DIMS(4, 2, 3)), r = inner(DIMS(4, 6)), s = inner(DIMS(2, 5)), out = output(DIMS(5, 5));
	struct xnode *n = xmake_node(m, X_STATIC_TRANSPOSE, 3, 0, in, t);

	xmake_list(m, n, 0, DIMS(2, 0, 1));
	n = xmake_node(m, X_STATIC_RESHAPE, 2, 0, t, r);
	xmake_list(m, n, 0, DIMS(4, 0));
	n = xmake_node(m, X_STATIC_SLICE, 2, 0, 1, r, s);
	xmake_list(m, n, 0, DIMS(1, 1));
	xmake_list(m, n, 1, DIMS(2, 5));
	n = xmake_node(m, X_STATIC_CONSTANT_PAD, 0, 1, bits(3), s, out);
	xmake_list(m, n, 0, DIMS(1, 0));
	xmake_list(m, n, 1, DIMS(2, 0));
	assert_same(0);
	assert_int_equal(xmake_count(m, "aten.slice_copy.Tensor"), 2);
	assert_int_equal(xmake_count(m, "aten.constant_pad_nd.default"), 1);
}

static void concatenations(void **state)
{
	uint32_t a = input(DIMS(2, 3)), b = input(DIMS(2, 1)), c = weight(DIMS(2, 2)), two = inner(DIMS(2, 4)), out = output(DIMS(2, 17));

	xmake_node(m, X_CONCATENATE2, 1, a, b, XNONE, XNONE, two, 0, XNONE);
	xmake_node(m, X_CONCATENATE5, 1, two, c, two, a, out, 0, two);
	assert_same(0);
	assert_int_equal(xmake_count(m, "aten.cat.default"), 2);
}

static void softmax_and_products(void **state)
{
	uint32_t a = input(DIMS(2, 3, 4)), b = input(DIMS(2, 4, 5)), p = inner(DIMS(2, 3, 5)), s = inner(DIMS(2, 3, 5));
	uint32_t t = inner(DIMS(2, 3, 6)), out = output(DIMS(2, 3, 3));

	xmake_node(m, X_BATCH_MATMUL, a, b, p);
	xmake_node(m, X_SOFTMAX, p, s);
	bounded(xmake_node(m, X_FULLY_CONNECTED, s, weight(DIMS(6, 5)), weight(DIMS(6)), t), 0, INFINITY);
	xmake_node(m, X_FULLY_CONNECTED, t, weight(DIMS(6, 3)), XNONE, out, 1);	/* stored [in, out] */
	assert_same(1e-4);
	assert_int_equal(xmake_count(m, "aten.linear.default"), 2);
	assert_int_equal(xmake_count(m, "aten.permute_copy.default"), 0);
}

static void transposed_second_operand(void **state)
{
	xmake_node(m, X_BATCH_MATMUL, input(DIMS(2, 3, 4)), input(DIMS(2, 5, 4)), output(DIMS(2, 3, 5)), 1);
	assert_same(1e-4);
}

/* ---- convolutions and pools ---- */

/* pad t r b l, kernel, stride, dilation, group in/out, groups, adjustment, ids, flags */
static void convolutions(void **state)
{
	uint32_t in = input(DIMS(1, 9, 8, 4)), a = inner(DIMS(1, 9, 4, 6)), b = inner(DIMS(1, 9, 4, 12)), c = inner(DIMS(1, 18, 8, 3));
	uint32_t out = output(DIMS(1, 18, 8, 4));

	bounded(xmake_node(m, X_CONV2D, 1, 1, 1, 1, 3, 3, 1, 2, 1, 1, 2, 3, 2, 0, 0, in, weight(DIMS(6, 3, 3, 2)), weight(DIMS(6)), a), 0, 6);
	xmake_node(m, X_DEPTHWISE_CONV2D, 2, 1, 2, 1, 5, 3, 1, 1, 1, 1, 1, 2, 6, 0, 0, a, weight(DIMS(1, 5, 3, 12)), weight(DIMS(12)), b);
	xmake_node(m, X_CONV_TRANSPOSE_2D, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 12, 3, 1, 0, 0, b, weight(DIMS(3, 2, 2, 12)), XNONE, c);
	xmake_node(m, X_CONV2D, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 3, 4, 1, 0, 0, c, weight(DIMS(4, 1, 1, 3)), weight(DIMS(4)), out);
	assert_same(1e-4);
	assert_int_equal(xmake_count(m, "aten.convolution.default"), 4);
	assert_int_equal(xmake_count(m, "aten.permute_copy.default"), 2);	/* in and out: the graph is NHWC */
}

/* Uneven padding, dilation and a grouped transposed convolution, whose filter has to be copied. */
static void odd_convolutions(void **state)
{
	uint32_t in = input(DIMS(2, 7, 7, 4)), a = inner(DIMS(2, 6, 5, 4)), out = output(DIMS(2, 12, 10, 6));

	xmake_node(m, X_CONV2D, 2, 1, 1, 1, 3, 3, 1, 1, 2, 2, 4, 4, 1, 0, 0, in, weight(DIMS(4, 3, 3, 4)), weight(DIMS(4)), a);
	xmake_node(m, X_CONV_TRANSPOSE_2D, 1, 1, 1, 1, 3, 3, 2, 2, 1, 1, 2, 3, 2, 1, 1, a, weight(DIMS(6, 3, 3, 2)), weight(DIMS(6)), out);
	assert_same(1e-4);
	assert_int_equal(xmake_count(m, "aten.constant_pad_nd.default"), 1);
}

/* pad t r b l, pool, stride, dilation, in, out, flags */
static void pools(void **state)
{
	uint32_t in = input(DIMS(1, 9, 9, 3)), a = inner(DIMS(1, 5, 5, 3)), b = inner(DIMS(1, 3, 3, 3)), c = inner(DIMS(1, 3, 3, 3));
	uint32_t d = inner(DIMS(1, 2, 2, 3)), e = inner(DIMS(1, 7, 5, 3)), out = output(DIMS(1, 1, 1, 3));

	xmake_node(m, X_MAX_POOLING_2D, 1, 1, 1, 1, 3, 3, 2, 2, 1, 1, in, a, 64);
	xmake_node(m, X_MAX_POOLING_2D, 0, 1, 1, 0, 2, 2, 2, 2, 1, 1, a, b, 64);	/* how ceil mode is lowered */
	xmake_node(m, X_AVG_POOLING_2D, 1, 1, 1, 1, 3, 3, 1, 1, 0, 0, b, c, 64);
	xmake_node(m, X_MAX_POOLING_2D, 1, 0, 0, 1, 3, 3, 2, 2, 1, 1, c, d, 64);	/* what no max_pool2d says */
	xmake_node(m, X_STATIC_RESIZE_BILINEAR_2D, 7, 5, d, e, 0);
	xmake_node(m, X_GLOBAL_AVG_POOLING_2D, e, out, 64);
	assert_same(1e-4);
	assert_int_equal(xmake_count(m, "aten.max_pool2d.default"), 3);
	assert_int_equal(xmake_count(m, "aten.mean.dim"), 1);
	assert_int_equal(node_int(m->g->first->next, 5, -1), 0);
}

static void resize_with_aligned_corners(void **state)
{
	xmake_node(m, X_STATIC_RESIZE_BILINEAR_2D, 6, 9, input(DIMS(2, 3, 4, 5)), output(DIMS(2, 6, 9, 5)), 8);
	assert_same(1e-4);
	assert_int_equal(xmake_count(m, "aten.upsample_bilinear2d.vec"), 1);
}

/* ---- layouts ---- */

static uint32_t transpose(uint32_t in, uint32_t out, int rank, const uint32_t *perm)
{
	xmake_list(m, xmake_node(m, X_STATIC_TRANSPOSE, (uint32_t)rank, 0, in, out), 0, rank, perm);
	return out;
}

/* As exported: NCHW outside, NHWC between, a residual, per-channel factors, padding and a slice on the way. */
static void permutes_cancel(void **state)
{
	uint32_t in = input(DIMS(1, 4, 6, 6)), out = output(DIMS(1, 6, 5, 8));
	uint32_t x = transpose(in, inner(DIMS(1, 6, 6, 4)), DIMS(0, 2, 3, 1));
	uint32_t c = inner(DIMS(1, 6, 6, 4)), s = inner(DIMS(1, 6, 6, 4)), f = inner(DIMS(1, 6, 6, 4)), k = inner(DIMS(1, 6, 6, 8));
	uint32_t l = inner(DIMS(1, 5, 6, 8)), p = inner(DIMS(1, 5, 8, 8)), q = inner(DIMS(1, 5, 8, 6));
	struct xnode *n;

	xmake_node(m, X_CONV2D, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 4, 4, 1, 0, 0, x, weight(DIMS(4, 3, 3, 4)), weight(DIMS(4)), c);
	xmake_node(m, X_ADD, c, x, s);
	xmake_node(m, X_MULTIPLY, s, weight(DIMS(4)), f);
	xmake_node(m, X_CONCATENATE2, 3, f, s, XNONE, XNONE, k, 0, XNONE);
	n = xmake_node(m, X_STATIC_SLICE, 4, 0, 1, k, l);
	xmake_list(m, n, 0, DIMS(0, 1, 0, 0));
	xmake_list(m, n, 1, DIMS(1, 5, 6, 8));
	n = xmake_node(m, X_STATIC_CONSTANT_PAD, 0, 1, 0, l, p);
	xmake_list(m, n, 0, DIMS(0, 0, 1, 0));
	xmake_list(m, n, 1, DIMS(0, 0, 1, 0));
	xmake_node(m, X_CONV2D, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 8, 6, 1, 0, 0, p, weight(DIMS(6, 1, 1, 8)), XNONE, q);
	transpose(q, out, DIMS(0, 3, 1, 2));
	assert_same(1e-4);
	assert_int_equal(xmake_count(m, "aten.permute_copy.default"), 0);
	assert_int_equal(m->g->nnodes, 7);
}

/* Softmax over channels is not moved: over another dimension XNNPACK would not take it. */
static void softmax_keeps_its_layout(void **state)
{
	uint32_t x = transpose(input(DIMS(1, 4, 6, 6)), inner(DIMS(1, 6, 6, 4)), DIMS(0, 2, 3, 1)), c = inner(DIMS(1, 6, 6, 4));
	uint32_t s = inner(DIMS(1, 6, 6, 4));

	xmake_node(m, X_CONV2D, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 4, 4, 1, 0, 0, x, weight(DIMS(4, 3, 3, 4)), weight(DIMS(4)), c);
	xmake_node(m, X_SOFTMAX, c, s);
	transpose(s, output(DIMS(1, 4, 6, 6)), DIMS(0, 3, 1, 2));
	assert_same(1e-4);
	assert_int_equal(xmake_count(m, "aten.permute_copy.default"), 2);
}

/* An output that is the input again, and two outputs that are one value, are values of their own. */
static void outputs_are_made_in_the_delegate(void **state)
{
	uint32_t in = input(DIMS(1, 2, 3, 4)), a = output(DIMS(1, 2, 3, 4)), b = output(DIMS(1, 3, 4, 2));
	struct value *const *arg;

	transpose(in, b, DIMS(0, 2, 3, 1));
	transpose(b, a, DIMS(0, 3, 1, 2));
	assert_same(0);
	arg = m->g->group[0].arg;
	assert_ptr_not_equal(arg[1], arg[2]);
	assert_ptr_not_equal(arg[1], arg[0]);
	assert_int_equal(arg[1]->kind, VALUE_NODE);
	assert_int_equal(arg[1]->def->group, 0);
}

/* ---- quantised ---- */

static uint32_t qint8(struct xvalue *v, float scale, int32_t zero) { return xmake_per_tensor(v, scale, zero), v->id; }

static struct xvalue *channels(struct xvalue *v, int dim, double low, double high)
{
	xmake_per_channel(m, v, dim, low, high);
	return v;
}

static void static_quantisation(void **state)
{
	uint32_t in = input(DIMS(1, 6, 6, 4)), q = qint8(xmake_inner(m, XD_QINT8, DIMS(1, 6, 6, 4)), 0.02f, 3);
	uint32_t c = qint8(xmake_inner(m, XD_QINT8, DIMS(1, 6, 6, 8)), 0.05f, -128), out = output(DIMS(1, 6, 6, 8));
	uint32_t w = channels(xmake_static(m, XD_QCINT8, -127, 127, DIMS(8, 3, 3, 4)), 0, 0.001, 0.01)->id;
	struct xvalue *b = channels(xmake_static(m, XD_QCINT32, -500, 500, DIMS(8)), 0, 1, 1);

	for (int i = 0; i < 8; i++)	/* the bias is in units of input times weight */
		((float *)(uintptr_t)b->scales.data)[i] = 0.02f * ((const float *)m->x.value[w].scales.data)[i];
	xmake_node(m, X_CONVERT, in, q);
	bounded(xmake_node(m, X_CONV2D, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 4, 8, 1, 0, 0, q, w, b->id, c), 0, INFINITY);
	xmake_node(m, X_CONVERT, c, out);
	assert_same(0.051);		/* one step of the result */
	assert_int_equal(xmake_count(m, "quantized_decomposed.dequantize_per_channel.default"), 2);
}

/* Between integers, a permute is a permute: no node quantises what was not computed. */
static void integers_stay_integers(void **state)
{
	uint32_t in = qint8(xmake_input(m, XD_QINT8, DIMS(1, 3, 4, 4)), 0.1f, 5), t = qint8(xmake_inner(m, XD_QINT8, DIMS(1, 4, 4, 3)), 0.1f, 5);
	uint32_t p = qint8(xmake_inner(m, XD_QINT8, DIMS(1, 2, 2, 3)), 0.1f, 5), out = qint8(xmake_output(m, XD_QINT8, DIMS(1, 3, 2, 2)), 0.1f, 5);

	transpose(in, t, DIMS(0, 2, 3, 1));
	xmake_node(m, X_MAX_POOLING_2D, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, t, p, 64);
	transpose(p, out, DIMS(0, 3, 1, 2));
	assert_same(0);
	assert_int_equal(xmake_count(m, "aten.permute_copy.default"), 0);
	assert_int_equal(m->g->nnodes, 3);	/* dequantise, pool, quantise */
}

static void unsigned_quantisation(void **state)
{
	uint32_t in = input(DIMS(3, 7)), q = qint8(xmake_inner(m, XD_QUINT8, DIMS(3, 7)), 0.02f, 100), out = output(DIMS(3, 7));

	xmake_node(m, X_CONVERT, in, q);
	xmake_node(m, X_CONVERT, q, out);
	assert_same(1e-6);
}

static void dynamic_quantisation(void **state)
{
	uint32_t in = input(DIMS(3, 8)), out = output(DIMS(3, 5));
	struct xvalue *q = xmake_inner(m, XD_QDINT8, DIMS(3, 8));

	q->quant = XQ_TOKEN;
	q->nonbatch_dims = 1;
	xmake_node(m, X_CONVERT, in, q->id);
	xmake_node(m, X_FULLY_CONNECTED, q->id, channels(xmake_static(m, XD_QCINT8, -127, 127, DIMS(5, 8)), 0, 0.001, 0.01)->id,
		   weight(DIMS(5)), out);
	assert_same(0.02);
	assert_int_equal(xmake_count(m, "quantized_decomposed.dequantize_per_token.default"), 1);
}

/* Of halves: their quantisation is that of the same floats. */
static void dynamic_quantisation_of_halves(void **state)
{
	uint32_t in = xmake_input(m, XD_FP16, DIMS(3, 8))->id, out = xmake_output(m, XD_FP16, DIMS(3, 5))->id;
	struct xvalue *q = xmake_inner(m, XD_QDINT8, DIMS(3, 8));
	struct error err = { 0 };

	q->quant = XQ_TOKEN;
	q->nonbatch_dims = 1;
	xmake_node(m, X_CONVERT, in, q->id);
	xmake_node(m, X_FULLY_CONNECTED, q->id, channels(xmake_static(m, XD_QCINT8, -127, 127, DIMS(5, 8)), 0, 0.001, 0.01)->id,
		   XNONE, out);
	assert_true(xmake_raise(m, true, &err));
	assert_int_equal(xmake_count(m, "aten.linear.default"), 1);
	assert_int_equal(m->g->last->out[0]->dtype, DTYPE_F16);
}

/* Weights of -8 to 7 two a byte, as value + 8, the even one low; rows of 9 take 5 bytes. */
static void pack_weights(struct xmake *x)
{
	struct xvalue *w = &x->x.value[3];
	const int8_t *from = (const int8_t *)w->data.data;
	uint8_t *to = arena_alloc(&x->mem, 6 * 5);

	w->datatype = XD_QCINT4;
	w->data = (struct span){ to, 6 * 5 };
	for (int i = 0; i < 6 * 9; i++)
		to[i / 9 * 5 + i % 9 / 2] |= (uint8_t)((from[i] + 8) << (i % 9 % 2 * 4));
}

static void four_bit_channels(void **state)
{
	uint32_t in = input(DIMS(3, 9)), out = output(DIMS(3, 6));
	struct xvalue *q = xmake_inner(m, XD_QDINT8, DIMS(3, 9)), *w;
	double d;

	q->quant = XQ_TOKEN;
	q->nonbatch_dims = 1;
	xmake_node(m, X_CONVERT, in, q->id);
	w = channels(xmake_static(m, XD_QCINT8, -8, 8, DIMS(6, 9)), 0, 0.01, 0.1);
	xmake_node(m, X_FULLY_CONNECTED, q->id, w->id, XNONE, out);
	d = xmake_compare_changed(m, pack_weights);
	assert_true(d < 0.02);
	assert_int_equal(w->datatype, XD_QCINT4);
}

/* ---- refusals ---- */

/* A node that has no operator here is kept as one, and what follows it can be read. */
static void unknown_nodes_are_opaque(void **state)
{
	struct error err = { 0 };
	uint32_t in = input(DIMS(1, 4, 4, 2)), a = inner(DIMS(1, 2, 2, 2)), b = inner(DIMS(1, 2, 2, 2)), out = output(DIMS(1, 2, 2, 2));

	xmake_node(m, X_ARGMAX_POOLING_2D, 0, 0, 0, 0, 2, 2, in, a, b);
	xmake_node(m, X_ABS, a, out);
	assert_true(xmake_raise(m, true, &err));
	assert_true(graph_check(m->g, &err));
	assert_int_equal(m->g->first->nouts, 2);
	assert_true(m->g->first->op->flags & OP_OPAQUE);
	assert_string_equal(m->g->first->op->name, "xnnpack::ArgMaxPooling2d");
	assert_int_equal(xmake_count(m, "aten.abs.default"), 1);
}

static void what_a_flag_means_is_not_guessed(void **state)
{
	struct error err = { 0 };

	xmake_node(m, X_MAX_POOLING_2D, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, input(DIMS(1, 4, 4, 2)), output(DIMS(1, 2, 2, 2)), 4);
	assert_true(xmake_raise(m, true, &err));
	assert_true(m->g->first->op->flags & OP_OPAQUE);
}

static void wrong_arguments_are_refused(void **state)
{
	struct error err = { 0 };

	xmake_node(m, X_ABS, input(DIMS(3, 4)), output(DIMS(3, 4)));
	m->x.value[1].dim[0] = 5;
	assert_false(xmake_raise(m, true, &err));
	assert_non_null(strstr(err.text, "argument 1"));
	assert_null(m->g->first);
}

/* Any numbers in the tables give a graph that keeps the invariants, or an error. */
static void damaged_graphs(void **state)
{
	int raised = 0;

	for (uint32_t run = 0; run < 3000; run++) {
		struct error err = { 0 };
		uint32_t r = run * 2654435761u;
		void (*const make[])(void **) = { convolutions, pools, permutes_cancel, static_quantisation, softmax_and_products };
		struct xnode *n;

		if (run % 600 == 0) {
			xmake_free(m);
			m = xmake_new();
			make[run / 600](state);
		}
		n = &m->x.node[r % (uint32_t)m->x.nnodes];
		for (int i = 0; i < 2; i++) {
			struct xvalue *v = &m->x.value[(r >> 8) % (uint32_t)m->x.nvalues];
			int field = (int)((r >> 16) % XMAX_FIELDS), kind = field < xnode_types[n->tag].nfields ? (int)xnode_types[n->tag].field[field].kind : -1;
			uint32_t was = v->dim[r >> 20 & 3], was_field = n->field[field], number = r >> 24 & 1 ? r >> 28 : (r >> 25 & 7) * 0x10000001u;

			if (r >> 7 & 1)
				v->dim[r >> 20 & 3] = number;
			else if (kind == XF_U32 || kind == XF_F32)
				n->field[field] = number;
			if (xmake_raise(m, true, &err)) {
				raised++;
				if (!graph_check(m->g, &err))
					fail_msg("run %u: %s", run, err.text);
			}
			v->dim[r >> 20 & 3] = was;
			n->field[field] = was_field;
			r = r * 1664525u + 1013904223u;
		}
	}
	assert_true(raised > 500);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(unary_nodes), T(positive_nodes), T(binary_nodes), T(fused_bounds_become_nodes), T(slopes), T(shapes), T(concatenations),
		T(softmax_and_products), T(transposed_second_operand), T(convolutions), T(odd_convolutions), T(pools),
		T(resize_with_aligned_corners), T(permutes_cancel), T(softmax_keeps_its_layout), T(outputs_are_made_in_the_delegate),
		T(static_quantisation), T(integers_stay_integers), T(unsigned_quantisation), T(dynamic_quantisation),
		T(dynamic_quantisation_of_halves),
		T(four_bit_channels), T(unknown_nodes_are_opaque), T(what_a_flag_means_is_not_guessed), T(wrong_arguments_are_refused),
		T(damaged_graphs),
	};

	return RUN_TAP(tests);
}
