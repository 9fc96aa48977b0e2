/* Node types that take values as they lie, and the table of all types. */
#include "core/xnn/raising.h"

#include <string.h>

enum {	/* flags of xnnpack.h, as they stand in blobs */
	FLAG_TRANSPOSE_WEIGHTS = 1, FLAG_TRANSPOSE_B = 1, FLAG_TRANSPOSE_A = 2,
};

static bool no_flags(struct raising *r, const struct xnode *n, uint32_t known)
{
	const struct xnode_type *type = &xnode_types[n->tag];

	for (int i = 0; i < type->nfields; i++)
		if (!strcmp(type->field[i].name, "flags") && n->field[i] & ~known)
			return raise_fail(r, "flags %#x of %s", n->field[i], type->name);
	return true;
}

/* ---- elementwise ---- */

static bool raise_unary(struct raising *r, const struct xnode *n)
{
	struct value *v = raise_real(r, n->field[XU_IN]);

	return v && no_flags(r, n, 0) &&
	       raise_result(r, n->field[XU_OUT], raise_main(r, raise_rules[n->tag].op, ARGS(V(v))));
}

static bool raise_gelu(struct raising *r, const struct xnode *n)
{
	struct value *v = raise_real(r, n->field[XU_IN]);

	return v && raise_result(r, n->field[XU_OUT], raise_main(r, "aten.gelu.default", ARGS(V(v),
				 (struct arg){ .kind = ARG_STRING, .s = "none" })));
}

static bool raise_square(struct raising *r, const struct xnode *n)
{
	struct value *v = raise_real(r, n->field[XU_IN]);

	return v && raise_result(r, n->field[XU_OUT], raise_main(r, "aten.pow.Tensor_Scalar", ARGS(V(v), I(2))));
}

static struct value *copy(struct raising *r, struct value *v)
{
	return raise_main(r, "dim_order_ops._clone_dim_order.default", ARGS(V(v), B(false), NONE));
}

static bool raise_copy(struct raising *r, const struct xnode *n)
{
	struct value *v = raise_real(r, n->field[XU_IN]);

	return v && raise_result(r, n->field[XU_OUT], copy(r, v));
}

static bool raise_bounds(struct raising *r, const struct xnode *n)
{
	struct value *v = raise_real(r, n->field[XU_IN]), *out = v ? raise_clamp(r, v, n->min, n->max, true) : NULL;

	return out && raise_result(r, n->field[XU_OUT], out == v ? copy(r, v) : out);
}

enum { XS_SLOPE, XS_IN, XS_OUT };	/* LeakyReLU, ELU */

static bool raise_leaky_relu(struct raising *r, const struct xnode *n)
{
	struct value *v = raise_real(r, n->field[XS_IN]);

	return v && raise_result(r, n->field[XS_OUT], raise_main(r, "aten.leaky_relu.default", ARGS(V(v),
				 D((double)xnode_f32(n, XS_SLOPE)))));
}

static bool raise_elu(struct raising *r, const struct xnode *n)
{
	struct value *v = raise_real(r, n->field[XS_IN]);

	return v && raise_result(r, n->field[XS_OUT], raise_main(r, "aten.elu.default", ARGS(V(v),
				 D((double)xnode_f32(n, XS_SLOPE)), I(1), I(1))));
}

/* add and sub have a factor for the second operand. */
static bool raise_binary(struct raising *r, const struct xnode *n)
{
	const char *op = raise_rules[n->tag].op;
	struct value *a = raise_real(r, n->field[XB_IN1]), *b = raise_real(r, n->field[XB_IN2]);
	struct arg arg[] = { V(a), V(b), I(1) };
	const struct op *row = op_find(op);

	return a && b && row && no_flags(r, n, 0) &&
	       raise_clamped(r, n, n->field[XB_OUT], raise_main(r, op, arg, op_nargs(row)));
}

/* ---- shapes ---- */

enum { XT_PERM = 1, XT_IN, XT_OUT };			/* StaticTranspose */
enum { XR_SHAPE = 1, XR_IN, XR_OUT };			/* StaticReshape */
enum { XL_OFFSETS = 1, XL_SIZES, XL_IN, XL_OUT };	/* StaticSlice */
enum { XA_PRE, XA_POST, XA_VALUE, XA_IN, XA_OUT };	/* StaticConstantPad */

static bool raise_transpose(struct raising *r, const struct xnode *n)
{
	const struct xlist *perm = xnode_list(n, XT_PERM);
	struct value *v = raise_dims(r, n->field[XT_IN]);
	int64_t at[XMAX_RANK];

	if (!v || v->rank != perm->n)
		return v && raise_fail(r, "a permutation of %d dimensions for %d", perm->n, v->rank);
	for (int d = 0; d < perm->n; d++)
		at[d] = perm->at[d];
	return raise_result(r, n->field[XT_OUT], raise_main(r, "aten.permute_copy.default", ARGS(V(v),
			    arg_ints(r->g, at, perm->n))));
}

static bool raise_reshape(struct raising *r, const struct xnode *n)
{
	const struct xlist *shape = xnode_list(n, XR_SHAPE);
	struct value *v = raise_real(r, n->field[XR_IN]);
	int64_t size[XMAX_RANK];
	int inferred = 0;

	for (int d = 0; d < shape->n; d++) {
		size[d] = shape->at[d] ? (int64_t)shape->at[d] : -1;
		inferred += !shape->at[d];
	}
	if (!v || inferred > 1)
		return v && raise_fail(r, "%d dimensions to be inferred", inferred);
	return raise_result(r, n->field[XR_OUT], raise_main(r, "aten.view_copy.default", ARGS(V(v),
			    arg_ints(r->g, size, shape->n))));
}

/* One slice a dimension that is cut; sizes are clamped to what is there, as slice_copy does with ends. */
static bool raise_slice(struct raising *r, const struct xnode *n)
{
	const struct xlist *offset = xnode_list(n, XL_OFFSETS), *size = xnode_list(n, XL_SIZES);
	struct value *v = raise_dims(r, n->field[XL_IN]);
	int last = -1;

	if (!v || offset->n != v->rank || size->n != v->rank)
		return v && raise_fail(r, "a slice of %d and %d dimensions of %d", offset->n, size->n, v->rank);
	for (int d = 0; d < v->rank; d++)
		if (offset->at[d] || size->at[d] < v->size[d])
			last = d;
	for (int d = 0; d <= last && v; d++)
		if (offset->at[d] || size->at[d] < v->size[d])
			v = (d == last ? raise_main : raise_side)(r, "aten.slice_copy.Tensor", ARGS(V(v), I(d),
				I(offset->at[d]), I((int64_t)offset->at[d] + size->at[d]), I(1)));
	if (last < 0)
		v = copy(r, v);
	return raise_result(r, n->field[XL_OUT], v);
}

static bool raise_pad(struct raising *r, const struct xnode *n)
{
	const struct xlist *pre = xnode_list(n, XA_PRE), *post = xnode_list(n, XA_POST);
	struct value *v = raise_dims(r, n->field[XA_IN]);
	int64_t amount[2 * XMAX_RANK];
	int first = 0;

	if (!v || pre->n != v->rank || post->n != v->rank)
		return v && raise_fail(r, "padding of %d and %d dimensions of %d", pre->n, post->n, v->rank);
	while (first < v->rank - 1 && !pre->at[first] && !post->at[first])
		first++;
	for (int d = v->rank - 1, i = 0; d >= first; d--, i += 2) {
		amount[i] = pre->at[d];
		amount[i + 1] = post->at[d];
	}
	return raise_result(r, n->field[XA_OUT], raise_main(r, "aten.constant_pad_nd.default", ARGS(V(v),
			    arg_ints(r->g, amount, 2 * (v->rank - first)), D((double)xnode_f32(n, XA_VALUE)))));
}

static bool raise_concatenate(struct raising *r, const struct xnode *n)
{
	static const int fields[] = { XK_IN1, XK_IN2, XK_IN3, XK_IN4, XK_IN5 };
	struct value *v[5];
	int count = 0;

	for (int i = 0; i < 5; i++) {
		uint32_t id = n->field[fields[i]];

		if (id == XNONE)
			continue;
		v[count] = raise_dims(r, id);
		if (!v[count++])
			return false;
	}
	if (!count || n->field[XK_AXIS] >= (uint32_t)v[0]->rank)
		return raise_fail(r, "axis %u", n->field[XK_AXIS]);
	return raise_result(r, n->field[XK_OUT], raise_main(r, "aten.cat.default", ARGS(arg_values(r->g, v, count),
			    I(n->field[XK_AXIS]))));
}

/* ---- products ---- */

/* The weight as [out, in]: a filter that is stored [in, out] is the same bytes seen the other way. */
static struct value *fully_connected_weight(struct raising *r, const struct xnode *n)
{
	uint32_t id = n->field[XFC_FILTER];
	const struct xvalue *x = &r->x->value[id];
	bool swapped = n->field[XFC_FLAGS] & FLAG_TRANSPOSE_WEIGHTS;
	int64_t size[2] = { x->dim[swapped], x->dim[!swapped] };
	struct value *v;

	if (x->rank != 2)
		return raise_fail(r, "a weight of rank %d", x->rank), NULL;
	if (!xvalue_is_constant(x)) {
		v = raise_dims(r, id);
		return swapped && v ? raise_permute(r, v, (const int64_t[]){ 1, 0 }) : v;
	}
	v = raise_constant(r, id, 2, size, (const uint8_t[]){ swapped, !swapped });
	if (v && x->quant)
		v = raise_dequantize(r, x, v, swapped ? !x->channel_dim : x->channel_dim, false);
	return v;
}

/* A bias of any shape, as addmm takes it. */
static bool raise_addmm(struct raising *r, const struct xnode *n, struct value *v, struct value *w)
{
	struct value *product = raise_main(r, "aten.linear.default", ARGS(V(v), V(w), NONE));
	struct value *bias = raise_dims(r, n->field[XFC_BIAS]);

	bias = bias ? raise_cast(r, bias, v->dtype) : NULL;
	return product && bias && raise_clamped(r, n, n->field[XFC_OUT], raise_side(r, "aten.add.Tensor",
						ARGS(V(product), V(bias), I(1))));
}

static bool raise_fully_connected(struct raising *r, const struct xnode *n)
{
	struct value *v = raise_dims(r, n->field[XFC_IN]), *bias = NULL;
	struct value *w = no_flags(r, n, FLAG_TRANSPOSE_WEIGHTS) ? fully_connected_weight(r, n) : NULL;

	if (!v || !w)
		return false;
	w = raise_cast(r, w, v->dtype);
	if (w && r->as_meant && r->origin.doubt == DOUBT_BIAS)
		return raise_addmm(r, n, v, w);
	if (w && n->field[XFC_BIAS] != XNONE) {
		bias = raise_bias(r, n->field[XFC_BIAS], w->size[0]);
		bias = bias ? raise_cast(r, bias, v->dtype) : NULL;
		if (!bias)
			return false;
	}
	return w && raise_clamped(r, n, n->field[XFC_OUT], raise_main(r, "aten.linear.default", ARGS(V(v), V(w),
				  V(bias))));
}

static struct value *swap_last(struct raising *r, struct value *v)
{
	int64_t perm[XMAX_RANK];

	for (int d = 0; d < v->rank; d++)
		perm[d] = d < v->rank - 2 ? d : 2 * v->rank - 3 - d;
	return raise_permute(r, v, perm);
}

static bool raise_batch_matmul(struct raising *r, const struct xnode *n)
{
	struct value *a = raise_dims(r, n->field[XB_IN1]), *b = raise_dims(r, n->field[XB_IN2]);

	if (!a || !b || !no_flags(r, n, FLAG_TRANSPOSE_A | FLAG_TRANSPOSE_B))
		return false;
	if (a->rank != 3 || b->rank != 3)
		return raise_fail(r, "a product of ranks %d and %d", a->rank, b->rank);
	if (n->field[XB_FLAGS] & FLAG_TRANSPOSE_A)
		a = swap_last(r, a);
	if (n->field[XB_FLAGS] & FLAG_TRANSPOSE_B)
		b = swap_last(r, b);
	return a && b && raise_result(r, n->field[XB_OUT], raise_main(r, "aten.bmm.default", ARGS(V(a), V(b))));
}

static bool raise_softmax(struct raising *r, const struct xnode *n)
{
	struct value *v = raise_dims(r, n->field[XU_IN]);
	bool over_width = r->as_meant && r->origin.doubt == DOUBT_SOFTMAX;	/* [N, H, W, C] */

	return v && raise_result(r, n->field[XU_OUT], raise_main(r, "aten._softmax.default", ARGS(V(v),
				 I(v->rank - 1 - over_width), B(false))));
}

const struct raise_rule raise_rules[X_TAGS] = {
	[X_ADD] = { raise_binary, "aten.add.Tensor" },
	[X_FULLY_CONNECTED] = { raise_fully_connected },
	[X_SOFTMAX] = { raise_softmax },
	[X_SIGMOID] = { raise_unary, "aten.sigmoid.default" },
	[X_STATIC_TRANSPOSE] = { raise_transpose },
	[X_CLAMP] = { raise_bounds },
	[X_CONV2D] = { raise_conv },
	[X_DIV] = { raise_binary, "aten.div.Tensor" },
	[X_STATIC_RESIZE_BILINEAR_2D] = { raise_resize },
	[X_STATIC_CONSTANT_PAD] = { raise_pad },
	[X_AVG_POOLING_2D] = { raise_avg_pool },
	[X_MINIMUM] = { raise_binary, "aten.minimum.default" },
	[X_DEPTHWISE_CONV2D] = { raise_depthwise },
	[X_MAX_POOLING_2D] = { raise_max_pool },
	[X_MULTIPLY] = { raise_binary, "aten.mul.Tensor" },
	[X_SUBTRACT] = { raise_binary, "aten.sub.Tensor" },
	[X_FLOOR] = { raise_unary, "aten.floor.default" },
	[X_CONVERT] = { raise_convert },
	[X_GLOBAL_AVG_POOLING_2D] = { raise_global_avg_pool },
	[X_STATIC_RESHAPE] = { raise_reshape },
	[X_SQUARE_ROOT] = { raise_unary, "aten.sqrt.default" },
	[X_CEILING] = { raise_unary, "aten.ceil.default" },
	[X_HARDSWISH] = { raise_unary, "aten.hardswish.default" },
	[X_LEAKY_RELU] = { raise_leaky_relu },
	[X_MAXIMUM] = { raise_binary, "aten.maximum.default" },
	[X_NEGATE] = { raise_unary, "aten.neg.default" },
	[X_SQUARE] = { raise_square },
	[X_ELU] = { raise_elu },
	[X_ABS] = { raise_unary, "aten.abs.default" },
	[X_PRELU] = { raise_prelu },
	[X_CONCATENATE2] = { raise_concatenate },
	[X_CONCATENATE3] = { raise_concatenate },
	[X_CONCATENATE4] = { raise_concatenate },
	[X_STATIC_SLICE] = { raise_slice },
	[X_BATCH_MATMUL] = { raise_batch_matmul },
	[X_CONCATENATE5] = { raise_concatenate },
	[X_CONV_TRANSPOSE_2D] = { raise_deconv },
	[X_RSQRT] = { raise_unary, "aten.rsqrt.default" },
	[X_LOG] = { raise_unary, "aten.log.default" },
	[X_GELU] = { raise_gelu },
	[X_TANH] = { raise_unary, "aten.tanh.default" },
	[X_EXP] = { raise_unary, "aten.exp.default" },
	[X_SIN] = { raise_unary, "aten.sin.default" },
	[X_COPY] = { raise_copy },
	[X_COS] = { raise_unary, "aten.cos.default" },
};
