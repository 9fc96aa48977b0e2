#include "core/format/xgraph.h"

#include "core/base/num.h"

#include <string.h>

#define NUM(f) { #f, XF_U32, false }
#define REAL(f) { #f, XF_F32, false }
#define LIST(f) { #f, XF_LIST, false }
#define IN(f) { #f, XF_IN, false }
#define MAYBE(f) { #f, XF_IN, true }
#define FILTER(f) { #f, XF_IN, .packed = true }
#define BIAS(f) { #f, XF_IN, true, true }
#define OUT(f) { #f, XF_OUT, false }

/* Shapes that node types share; field ids are positions. */
#define U_FIELDS .nfields = 3, .field = { IN(input_id), OUT(output_id), NUM(flags) }
#define U(n) { .name = #n, U_FIELDS }
#define U_CLAMPED(n) { .name = #n, .has_min_max = true, U_FIELDS }
#define B_FIELDS .nfields = 4, .field = { IN(input1_id), IN(input2_id), OUT(output_id), NUM(flags) }
#define B(n) { .name = #n, B_FIELDS }
#define B_CLAMPED(n) { .name = #n, .has_min_max = true, B_FIELDS }
#define C(n) \
	{ .name = #n, .has_min_max = true, .nfields = 20, .field = { \
		NUM(padding_top), NUM(padding_right), NUM(padding_bottom), NUM(padding_left), \
		NUM(kernel_height), NUM(kernel_width), NUM(subsampling_height), NUM(subsampling_width), \
		NUM(dilation_height), NUM(dilation_width), NUM(group_input_channels), NUM(group_output_channels), \
		NUM(groups), NUM(adjustment_height), NUM(adjustment_width), \
		IN(input1_id), FILTER(filter_id), BIAS(bias_id), OUT(output_id), NUM(flags) } }
#define P(n) \
	{ .name = #n, .has_min_max = true, .nfields = 13, .field = { \
		NUM(padding_top), NUM(padding_right), NUM(padding_bottom), NUM(padding_left), \
		NUM(pooling_height), NUM(pooling_width), NUM(stride_height), NUM(stride_width), \
		NUM(dilation_height), NUM(dilation_width), IN(input_id), OUT(output_id), NUM(flags) } }
#define K(n, third, fourth, fifth) \
	{ .name = #n, .nfields = 8, .field = { \
		NUM(axis), IN(input1_id), IN(input2_id), { "input3_id", third, false }, \
		{ "input4_id", fourth, false }, OUT(output_id), NUM(flags), { "input5_id", fifth, false } } }

const struct xnode_type xnode_types[X_TAGS] = {
	[X_ADD] = B_CLAMPED(Add),
	[X_FULLY_CONNECTED] = { .name = "FullyConnected", .has_min_max = true, .nfields = 5, .field = {
		IN(input1_id), FILTER(filter_id), BIAS(bias_id), OUT(output_id),
		NUM(flags) } },
	[X_SOFTMAX] = U(Softmax),
	[X_SIGMOID] = U(Sigmoid),
	[X_STATIC_TRANSPOSE] = { .name = "StaticTranspose", .nfields = 5, .field = {
		NUM(num_dims), LIST(perm), IN(input_id), OUT(output_id), NUM(flags) } },
	[X_CLAMP] = U_CLAMPED(Clamp),
	[X_CONV2D] = C(Conv2d),
	[X_DIV] = B_CLAMPED(Div),
	[X_STATIC_RESIZE_BILINEAR_2D] = { .name = "StaticResizeBilinear2D", .nfields = 5, .field = {
		NUM(new_height), NUM(new_width), IN(input_id), OUT(output_id),
		NUM(flags) } },
	[X_STATIC_CONSTANT_PAD] = { .name = "StaticConstantPad", .nfields = 6, .field = {
		LIST(pre_paddings), LIST(post_paddings), REAL(padding_value), IN(input_id),
		OUT(output_id), NUM(flags) } },
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
		NUM(num_dims), LIST(new_shape), IN(input_id), OUT(output_id),
		NUM(flags) } },
	[X_ARGMAX_POOLING_2D] = { .name = "ArgMaxPooling2d", .nfields = 10, .field = {
		NUM(padding_top), NUM(padding_right), NUM(padding_bottom), NUM(padding_left),
		NUM(pooling_height), NUM(pooling_width), IN(input_id), OUT(output_value_id),
		OUT(output_index_id), NUM(flags) } },
	[X_SQUARE_ROOT] = U(SquareRoot),
	[X_CEILING] = U(Ceiling),
	[X_HARDSWISH] = U(Hardswish),
	[X_LEAKY_RELU] = { .name = "LeakyReLU", .nfields = 4, .field = {
		REAL(negative_slope), IN(input_id), OUT(output_id), NUM(flags) } },
	[X_MAXIMUM] = B(Maximum),
	[X_NEGATE] = U(Negate),
	[X_SQUARE] = U(Square),
	[X_ELU] = { .name = "ELU", .nfields = 4, .field = {
		REAL(alpha), IN(input_id), OUT(output_id), NUM(flags) } },
	[X_ABS] = U(Abs),
	[X_PRELU] = B(PReLU),
	[X_CONCATENATE2] = K(Concatenate2, XF_UNUSED, XF_UNUSED, XF_UNUSED),
	[X_CONCATENATE3] = K(Concatenate3, XF_IN, XF_UNUSED, XF_UNUSED),
	[X_CONCATENATE4] = K(Concatenate4, XF_IN, XF_IN, XF_UNUSED),
	[X_STATIC_SLICE] = { .name = "StaticSlice", .nfields = 6, .field = {
		NUM(num_dims), LIST(offsets), LIST(sizes), IN(input_id),
		OUT(output_id), NUM(flags) } },
	[X_SDPA] = { .name = "ScaledDotProductAttention", .nfields = 7, .field = {
		IN(query_id), IN(key_id), IN(value_id), IN(scale_id), MAYBE(mask_id),
		OUT(output_id), NUM(flags) } },
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
	[XD_INVALID] = { "invalid", 0 }, [XD_FP32] = { "fp32", 32 }, [XD_FP16] = { "fp16", 16 },
	[XD_QINT8] = { "qint8", 8 }, [XD_QUINT8] = { "quint8", 8 }, [XD_QINT32] = { "qint32", 32 },
	[XD_QCINT8] = { "qcint8", 8 },
	[XD_QCINT32] = { "qcint32", 32 }, [XD_QCINT4] = { "qcint4", 4 }, [XD_QDINT8] = { "qdint8", 8 },
	[XD_QBINT4] = { "qbint4", 4 }, [XD_QPINT8] = { "qpint8", 8 }, [XD_INT32] = { "int32", 32 },
	[XD_PFP32] = { "pfp32", 32 }, [XD_BF16] = { "bf16", 16 },
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

const struct xvalue *xgraph_read_unpacked(const struct xgraph *g)
{
	for (int i = 0; i < g->nnodes; i++) {
		const struct xnode_type *t = &xnode_types[g->node[i].tag];

		for (int k = 0; k < t->nfields; k++) {
			const struct xvalue *v = t->field[k].kind == XF_IN ? xgraph_value(g, g->node[i].field[k]) : NULL;

			if (v && xvalue_is_constant(v) && !t->field[k].packed)
				return v;
		}
	}
	return NULL;
}
