#include "core/format/xgraph.h"

#include "core/base/num.h"

#include <string.h>

/* Shapes that node types share; field ids are positions. */
#define U(n) { .name = #n, .nfields = 3, .field = { { "input_id", XF_IN }, { "output_id", XF_OUT }, { "flags", XF_U32 } } }
#define U_CLAMPED(n) \
	{ .name = #n, .has_min_max = true, .nfields = 3, \
	  .field = { { "input_id", XF_IN }, { "output_id", XF_OUT }, { "flags", XF_U32 } } }
#define B_FIELDS { { "input1_id", XF_IN }, { "input2_id", XF_IN }, { "output_id", XF_OUT }, { "flags", XF_U32 } }
#define B(n) { .name = #n, .nfields = 4, .field = B_FIELDS }
#define B_CLAMPED(n) { .name = #n, .has_min_max = true, .nfields = 4, .field = B_FIELDS }
#define C(n) \
	{ .name = #n, .has_min_max = true, .nfields = 20, .field = { \
		{ "padding_top", XF_U32 }, { "padding_right", XF_U32 }, { "padding_bottom", XF_U32 }, { "padding_left", XF_U32 }, \
		{ "kernel_height", XF_U32 }, { "kernel_width", XF_U32 }, { "subsampling_height", XF_U32 }, \
		{ "subsampling_width", XF_U32 }, { "dilation_height", XF_U32 }, { "dilation_width", XF_U32 }, \
		{ "group_input_channels", XF_U32 }, { "group_output_channels", XF_U32 }, { "groups", XF_U32 }, \
		{ "adjustment_height", XF_U32 }, { "adjustment_width", XF_U32 }, { "input1_id", XF_IN }, { "filter_id", XF_IN }, \
		{ "bias_id", XF_IN, true }, { "output_id", XF_OUT }, { "flags", XF_U32 } } }
#define P(n) \
	{ .name = #n, .has_min_max = true, .nfields = 13, .field = { \
		{ "padding_top", XF_U32 }, { "padding_right", XF_U32 }, { "padding_bottom", XF_U32 }, { "padding_left", XF_U32 }, \
		{ "pooling_height", XF_U32 }, { "pooling_width", XF_U32 }, { "stride_height", XF_U32 }, { "stride_width", XF_U32 }, \
		{ "dilation_height", XF_U32 }, { "dilation_width", XF_U32 }, { "input_id", XF_IN }, { "output_id", XF_OUT }, \
		{ "flags", XF_U32 } } }
#define K(n, third, fourth, fifth) \
	{ .name = #n, .nfields = 8, .field = { \
		{ "axis", XF_U32 }, { "input1_id", XF_IN }, { "input2_id", XF_IN }, { "input3_id", third }, { "input4_id", fourth }, \
		{ "output_id", XF_OUT }, { "flags", XF_U32 }, { "input5_id", fifth } } }

const struct xnode_type xnode_types[X_TAGS] = {
	[X_ADD] = B_CLAMPED(Add),
	[X_FULLY_CONNECTED] = { .name = "FullyConnected", .has_min_max = true, .nfields = 5, .field = {
		{ "input1_id", XF_IN }, { "filter_id", XF_IN }, { "bias_id", XF_IN, true }, { "output_id", XF_OUT },
		{ "flags", XF_U32 } } },
	[X_SOFTMAX] = U(Softmax),
	[X_SIGMOID] = U(Sigmoid),
	[X_STATIC_TRANSPOSE] = { .name = "StaticTranspose", .nfields = 5, .field = {
		{ "num_dims", XF_U32 }, { "perm", XF_LIST }, { "input_id", XF_IN }, { "output_id", XF_OUT }, { "flags", XF_U32 } } },
	[X_CLAMP] = U_CLAMPED(Clamp),
	[X_CONV2D] = C(Conv2d),
	[X_DIV] = B_CLAMPED(Div),
	[X_STATIC_RESIZE_BILINEAR_2D] = { .name = "StaticResizeBilinear2D", .nfields = 5, .field = {
		{ "new_height", XF_U32 }, { "new_width", XF_U32 }, { "input_id", XF_IN }, { "output_id", XF_OUT },
		{ "flags", XF_U32 } } },
	[X_STATIC_CONSTANT_PAD] = { .name = "StaticConstantPad", .nfields = 6, .field = {
		{ "pre_paddings", XF_LIST }, { "post_paddings", XF_LIST }, { "padding_value", XF_F32 }, { "input_id", XF_IN },
		{ "output_id", XF_OUT }, { "flags", XF_U32 } } },
	[X_AVG_POOLING_2D] = P(AvgPooling2d),
	[X_MINIMUM] = B(Minimum),
	[X_DEPTHWISE_CONV2D] = C(DepthwiseConv2d),
	[X_MAX_POOLING_2D] = P(MaxPooling2d),
	[X_MULTIPLY] = B_CLAMPED(Multiply),
	[X_SUBTRACT] = B_CLAMPED(Subtract),
	[X_FLOOR] = U(Floor),
	[X_CONVERT] = U(Convert),
	[X_GLOBAL_AVG_POOLING_2D] = U_CLAMPED(GlobalAvgPooling2d),
	[X_STATIC_RESHAPE] = { .name = "StaticReshape", .nfields = 5, .field = {
		{ "num_dims", XF_U32 }, { "new_shape", XF_LIST }, { "input_id", XF_IN }, { "output_id", XF_OUT },
		{ "flags", XF_U32 } } },
	[X_ARGMAX_POOLING_2D] = { .name = "ArgMaxPooling2d", .nfields = 10, .field = {
		{ "padding_top", XF_U32 }, { "padding_right", XF_U32 }, { "padding_bottom", XF_U32 }, { "padding_left", XF_U32 },
		{ "pooling_height", XF_U32 }, { "pooling_width", XF_U32 }, { "input_id", XF_IN }, { "output_value_id", XF_OUT },
		{ "output_index_id", XF_OUT }, { "flags", XF_U32 } } },
	[X_SQUARE_ROOT] = U(SquareRoot),
	[X_CEILING] = U(Ceiling),
	[X_HARDSWISH] = U(Hardswish),
	[X_LEAKY_RELU] = { .name = "LeakyReLU", .nfields = 4, .field = {
		{ "negative_slope", XF_F32 }, { "input_id", XF_IN }, { "output_id", XF_OUT }, { "flags", XF_U32 } } },
	[X_MAXIMUM] = B(Maximum),
	[X_NEGATE] = U(Negate),
	[X_SQUARE] = U(Square),
	[X_ELU] = { .name = "ELU", .nfields = 4, .field = {
		{ "alpha", XF_F32 }, { "input_id", XF_IN }, { "output_id", XF_OUT }, { "flags", XF_U32 } } },
	[X_ABS] = U(Abs),
	[X_PRELU] = B(PReLU),
	[X_CONCATENATE2] = K(Concatenate2, XF_UNUSED, XF_UNUSED, XF_UNUSED),
	[X_CONCATENATE3] = K(Concatenate3, XF_IN, XF_UNUSED, XF_UNUSED),
	[X_CONCATENATE4] = K(Concatenate4, XF_IN, XF_IN, XF_UNUSED),
	[X_STATIC_SLICE] = { .name = "StaticSlice", .nfields = 6, .field = {
		{ "num_dims", XF_U32 }, { "offsets", XF_LIST }, { "sizes", XF_LIST }, { "input_id", XF_IN },
		{ "output_id", XF_OUT }, { "flags", XF_U32 } } },
	[X_SDPA] = { .name = "ScaledDotProductAttention", .nfields = 7, .field = {
		{ "query_id", XF_IN }, { "key_id", XF_IN }, { "value_id", XF_IN }, { "scale_id", XF_IN }, { "mask_id", XF_IN, true },
		{ "output_id", XF_OUT }, { "flags", XF_U32 } } },
	[X_BATCH_MATMUL] = B(BatchMatrixMultiply),
	[X_CONCATENATE5] = K(Concatenate5, XF_IN, XF_IN, XF_IN),
	[X_CONV_TRANSPOSE_2D] = C(ConvTranspose2d),
	[X_RSQRT] = U(ReciprocalSquareRoot),
	[X_LOG] = U(Log),
	[X_GELU] = U(Gelu),
	[X_TANH] = U(Tanh),
	[X_EXP] = U(Exp),
	[X_SIN] = U(Sin),
	[X_COPY] = U(Copy),
	[X_COS] = U(Cos),
};

static const struct { const char *name; uint8_t bits; } datatypes[XD_COUNT] = {
	[XD_INVALID] = { "invalid", 0 }, [XD_FP32] = { "fp32", 32 }, [XD_FP16] = { "fp16", 16 }, [XD_QINT8] = { "qint8", 8 },
	[XD_QUINT8] = { "quint8", 8 }, [XD_QINT32] = { "qint32", 32 }, [XD_QCINT8] = { "qcint8", 8 },
	[XD_QCINT32] = { "qcint32", 32 }, [XD_QCINT4] = { "qcint4", 4 }, [XD_QDINT8] = { "qdint8", 8 },
	[XD_QBINT4] = { "qbint4", 4 }, [XD_QPINT8] = { "qpint8", 8 }, [XD_INT32] = { "int32", 32 }, [XD_PFP32] = { "pfp32", 32 },
	[XD_BF16] = { "bf16", 16 },
};

const char *xdatatype_name(enum xdatatype t)
{
	return (unsigned)t < XD_COUNT ? datatypes[t].name : "?";
}

bool xvalue_bytes(const struct xvalue *v, size_t *bytes)
{
	unsigned bits = (unsigned)v->datatype < XD_COUNT ? datatypes[v->datatype].bits : 0;
	size_t n = bits >= 8 ? bits / 8 : 1;

	for (int d = 0; d < v->rank; d++) {
		size_t s = v->dim[d];

		if (bits == 4 && d == v->rank - 1)
			s = s / 2 + s % 2;
		if (!size_mul(n, s, &n) || n > INT64_MAX)
			return false;
	}
	*bytes = n;
	return bits != 0;
}

bool xvalue_is_constant(const struct xvalue *v)
{
	return v->data.data || v->key;
}

float xnode_f32(const struct xnode *n, int field)
{
	float f;

	memcpy(&f, &n->field[field], 4);
	return f;
}

void xnode_set_f32(struct xnode *n, int field, float f)
{
	memcpy(&n->field[field], &f, 4);
}

const struct xlist *xnode_list(const struct xnode *n, int field)
{
	return &n->list[n->field[field]];
}

struct xvalue *xgraph_value(const struct xgraph *g, uint32_t id)
{
	if (id < (uint32_t)g->nvalues && g->value[id].id == id)
		return &g->value[id];
	for (int i = 0; i < g->nvalues; i++)
		if (g->value[i].id == id)
			return &g->value[i];
	return NULL;
}
