/* Checks before the library sees a node: it meets some mistakes with an assertion, which ends the process. */
#include "core/xnn/live_define.h"

#include <math.h>

bool live_is_packed(const struct xnode *n, int field)
{
	const char *name = xnode_types[n->tag].field[field].name;

	return name[0] == 'f' || name[0] == 'b';	/* filter_id, bias_id */
}

bool live_check_value(const struct xvalue *v, struct error *err)
{
	if (v->rank > XMAX_RANK)
		return error_set(err, ERROR_UNSUPPORTED, "a value has %d dimensions", v->rank);
	if (v->datatype == XD_BF16 || v->datatype == XD_PFP32 || v->datatype == XD_QPINT8 || v->datatype == XD_INT32 ||
	    v->datatype == XD_INVALID || v->datatype >= XD_COUNT)
		return error_set(err, ERROR_MISSING, "this XNNPACK has no nodes on %s",
				 v->datatype == XD_BF16 ? "bf16" : "this datatype");
	if (v->quant == XQ_TENSOR && !(isnormal(v->scale) && v->scale > 0))
		return error_set(err, ERROR_UNSUPPORTED, "a quantisation scale is no positive number");
	if ((v->quant == XQ_CHANNEL || v->quant == XQ_GROUP) &&
	    (!v->scales.data || v->channel_dim < 0 || v->channel_dim >= v->rank))
		return error_set(err, ERROR_UNSUPPORTED, "quantisation by channel without scales or dimension");
	if (v->quant == XQ_GROUP && (v->rank != 2 || v->group_size < 32 || v->group_size % 32 ||
				     v->dim[1] % (uint32_t)v->group_size))
		return error_set(err, ERROR_UNSUPPORTED, "groups of %d do not fit the weight", v->group_size);
	return true;
}

static const struct xvalue *at(const struct live_build *b, const struct xnode *n, int field)
{
	const struct live_id *i = live_id(b, n->field[field]);

	return i ? i->value : NULL;
}

static bool check_conv(const struct live_build *b, const struct xnode *n, struct error *err)
{
	const uint32_t *f = n->field;
	const struct xvalue *in = at(b, n, XC_IN), *filter = at(b, n, XC_FILTER), *bias = at(b, n, XC_BIAS);
	bool depthwise = n->tag == X_DEPTHWISE_CONV2D;
	uint64_t outs = (uint64_t)f[XC_GROUPS] * f[XC_GROUP_OUT];
	bool ok = in->rank == 4 && filter->rank == 4 && filter->data.data && f[XC_GROUP_IN] && f[XC_GROUPS] &&
		in->dim[3] == (uint64_t)f[XC_GROUPS] * f[XC_GROUP_IN] && filter->dim[1] == f[XC_KERNEL_H] &&
		filter->dim[2] == f[XC_KERNEL_W] &&
		(!bias || (bias->rank == 1 && bias->dim[0] == outs && bias->data.data));

	ok = ok && (depthwise ? f[XC_GROUP_IN] == 1 && filter->dim[0] == 1 && filter->dim[3] == outs :
				filter->dim[0] == outs && filter->dim[3] == f[XC_GROUP_IN]);
	return ok || error_set(err, ERROR_UNSUPPORTED, "sizes of input, filter and bias of a %s do not fit",
			       xnode_types[n->tag].name);
}

static bool check_linear(const struct live_build *b, const struct xnode *n, struct error *err)
{
	const struct xvalue *in = at(b, n, XFC_IN), *filter = at(b, n, XFC_FILTER), *bias = at(b, n, XFC_BIAS);
	bool swapped = n->field[XFC_FLAGS] & XNN_FLAG_TRANSPOSE_WEIGHTS;

	if (filter->rank != 2 || in->rank < 1 || in->dim[in->rank - 1] != filter->dim[!swapped] ||
	    (bias && (bias->rank != 1 || bias->dim[0] != filter->dim[swapped])))
		return error_set(err, ERROR_UNSUPPORTED,
				 "sizes of input, filter and bias of a FullyConnected do not fit");
	return !(swapped && filter->datatype == XD_QBINT4) ||
	       error_set(err, ERROR_MISSING, "this XNNPACK has no groupwise filter that is transposed");
}

static bool check_image(const struct live_build *b, const struct xnode *n, int field, struct error *err)
{
	return at(b, n, field)->rank == 4 ||
	       error_set(err, ERROR_UNSUPPORTED, "the input of a %s has %d dimensions, must have 4",
			 xnode_types[n->tag].name, at(b, n, field)->rank);
}

static bool check_pool(const struct live_build *b, const struct xnode *n, struct error *err)
{
	const uint32_t *f = n->field;

	if (f[XP_KERNEL_H] == 1 && f[XP_KERNEL_W] == 1)
		return error_set(err, ERROR_MISSING, "this XNNPACK has no pooling with a window of one element");
	/* The 2024 library picks elements outside the window, or the image, where padding meets dilation. */
	if (n->tag == X_MAX_POOLING_2D && (f[XP_DILATION_H] > 1 || f[XP_DILATION_W] > 1) &&
	    (f[XP_PAD_TOP] || f[XP_PAD_LEFT] || f[XP_PAD_BOTTOM] || f[XP_PAD_RIGHT]))
		return error_set(err, ERROR_MISSING, "this XNNPACK pools wrongly where padding meets dilation");
	return check_image(b, n, XP_IN, err);
}

static bool check_list(const struct xnode *n, int field, int rank, struct error *err)
{
	return n->list[n->field[field]].n == rank ||
	       error_set(err, ERROR_UNSUPPORTED, "a %s has %d numbers for %d dimensions", xnode_types[n->tag].name,
			 n->list[n->field[field]].n, rank);
}

static bool check_perm(const struct live_build *b, const struct xnode *n, struct error *err)
{
	const struct xlist *perm = &n->list[n->field[1]];
	uint32_t have = 0;

	if (!check_list(n, 1, at(b, n, 2)->rank, err))
		return false;
	for (int i = 0; i < perm->n; i++)
		have |= perm->at[i] < 32 ? 1u << perm->at[i] : 0;
	return have == (1u << perm->n) - 1 ||
	       error_set(err, ERROR_UNSUPPORTED, "the permutation of a StaticTranspose is none");
}

static bool check_binary(const struct live_build *b, const struct xnode *n, struct error *err)
{
	const struct xvalue *x = at(b, n, XB_IN1), *y = at(b, n, XB_IN2);

	for (int i = 1; i <= x->rank && i <= y->rank; i++) {
		uint32_t p = x->dim[x->rank - i], q = y->dim[y->rank - i];

		if (p != q && p != 1 && q != 1)
			return error_set(err, ERROR_UNSUPPORTED, "the inputs of a %s do not broadcast",
					 xnode_types[n->tag].name);
	}
	return true;
}

static bool check_concatenate(const struct live_build *b, const struct xnode *n, struct error *err)
{
	static const int fields[] = { XK_IN2, XK_IN3, XK_IN4, XK_IN5 };
	const struct xvalue *first = at(b, n, XK_IN1);

	for (int i = 0; i < 4; i++) {
		const struct xvalue *v = at(b, n, fields[i]);

		if (v && v->rank != first->rank)
			return error_set(err, ERROR_UNSUPPORTED, "the inputs of a Concatenate have different ranks");
	}
	return n->field[XK_AXIS] < (uint32_t)first->rank ||
	       error_set(err, ERROR_UNSUPPORTED, "the axis of a Concatenate is too large");
}

static bool check_matmul(const struct live_build *b, const struct xnode *n, struct error *err)
{
	const struct xvalue *x = at(b, n, XB_IN1), *y = at(b, n, XB_IN2);

	return (x->rank >= 2 && x->rank == y->rank) ||
	       error_set(err, ERROR_UNSUPPORTED, "a BatchMatrixMultiply of %d and %d dimensions", x->rank, y->rank);
}

static bool check_bounds(const struct xnode *n, struct error *err)
{
	return !n->has_min_max || n->min < n->max ||
	       error_set(err, ERROR_UNSUPPORTED, "the output bounds of a %s are not in order", xnode_types[n->tag].name);
}

static bool check_shape(const struct live_build *b, const struct xnode *n, struct error *err)
{
	switch (n->tag) {
	case X_CONV2D: case X_DEPTHWISE_CONV2D: case X_CONV_TRANSPOSE_2D: return check_conv(b, n, err);
	case X_FULLY_CONNECTED: return check_linear(b, n, err);
	case X_AVG_POOLING_2D: case X_MAX_POOLING_2D: return check_pool(b, n, err);
	case X_STATIC_RESIZE_BILINEAR_2D: return check_image(b, n, 2, err);
	case X_GLOBAL_AVG_POOLING_2D: return at(b, n, XU_IN)->rank >= 3 || check_image(b, n, XU_IN, err);
	case X_STATIC_TRANSPOSE: return check_perm(b, n, err);
	case X_STATIC_SLICE:
		return check_list(n, 1, at(b, n, 3)->rank, err) && check_list(n, 2, at(b, n, 3)->rank, err);
	case X_STATIC_CONSTANT_PAD:
		return check_list(n, 0, at(b, n, 3)->rank, err) && check_list(n, 1, at(b, n, 3)->rank, err);
	case X_STATIC_RESHAPE:
		return n->list[n->field[1]].n <= XMAX_RANK ||
		       error_set(err, ERROR_UNSUPPORTED, "a StaticReshape to more than 6 dimensions");
	case X_ADD: case X_SUBTRACT: case X_MULTIPLY: case X_DIV: case X_MAXIMUM: case X_MINIMUM: case X_PRELU:
		return check_binary(b, n, err);
	case X_CONCATENATE2: case X_CONCATENATE3: case X_CONCATENATE4: case X_CONCATENATE5:
		return check_concatenate(b, n, err);
	case X_BATCH_MATMUL: return check_matmul(b, n, err);
	default: return true;
	}
}

bool live_check(const struct live_build *b, const struct xnode *n, struct error *err)
{
	const struct xnode_type *t = &xnode_types[n->tag];

	for (int f = 0; f < t->nfields; f++) {
		bool optional = t->field[f].kind == XF_IN && n->field[f] == XNONE && t->field[f].optional;

		if ((t->field[f].kind == XF_IN || t->field[f].kind == XF_OUT) && !optional && !live_id(b, n->field[f]))
			return error_set(err, ERROR_UNSUPPORTED, "a %s refers to a value that is not there", t->name);
	}
	return check_bounds(n, err) && check_shape(b, n, err);
}
