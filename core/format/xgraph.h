/* xgraph.h - a neutral picture of an XNNPACK graph: values and nodes, as ExecuTorch's XNNPACK schema has them.
 *
 * Four users: the blob reader and writer (xblob.h), raising and lowering (core/xnn), and the live subgraph
 * (core/xnn/live.h). Node fields are numbers in schema order; `xnode_type` tells what each one is, so that
 * readers, writers and printers need no code for single node types. Shapes are physical (NHWC where XNNPACK
 * wants NHWC). Memory: everything is in the arena of whoever made the graph; data points into a file. */
#ifndef CORE_FORMAT_XGRAPH_H
#define CORE_FORMAT_XGRAPH_H

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/format/pte.h"

#define XNONE UINT32_MAX	/* no value id, not external */

enum xdatatype {	/* numbers of the blob schema, not of xnnpack.h */
	XD_INVALID, XD_FP32, XD_FP16, XD_QINT8, XD_QUINT8, XD_QINT32, XD_QCINT8, XD_QCINT32, XD_QCINT4, XD_QDINT8,
	XD_QBINT4, XD_QPINT8, XD_INT32, XD_PFP32, XD_BF16, XD_COUNT,
};

enum xquant { XQ_NONE, XQ_CHANNEL, XQ_TENSOR, XQ_TOKEN, XQ_GROUP };	/* tags of the quant_params union */

enum { XMAX_RANK = 6, XFLAG_INPUT = 1, XFLAG_OUTPUT = 2 };

struct xvalue {
	uint32_t id;			/* id_out: what nodes refer to */
	enum xdatatype datatype;
	int rank;
	uint32_t dim[XMAX_RANK];	/* upper bounds */
	uint32_t flags;			/* XFLAG_INPUT, XFLAG_OUTPUT */
	uint32_t external_id;		/* index into the delegate call's arguments, or XNONE */
	enum xdatatype dq_datatype;	/* legacy: XD_QINT8 on an input asks for a convert; else XD_INVALID */
	struct span data;		/* constant bytes, at any alignment; see xvalue_is_constant */
	const char *key;		/* the named-data key the bytes came from or go to; NULL: in the blob */
	enum xquant quant;
	float scale;			/* XQ_TENSOR */
	int32_t zero_point;		/* XQ_TENSOR */
	int32_t channel_dim, group_size, nonbatch_dims;
	struct span scales;		/* XQ_CHANNEL: f32 each; XQ_GROUP: bf16 each; no data: .ptd is missing */
	const char *scales_key;
	uint32_t nscales;
};

/* XF_UNUSED: in the schema of the type, but without meaning (a third input of Concatenate2): XNONE. */
enum xfield_kind { XF_U32, XF_F32, XF_IN, XF_OUT, XF_LIST, XF_UNUSED };

enum xtag {	/* XNodeUnion */
	X_ADD = 1, X_FULLY_CONNECTED, X_SOFTMAX, X_SIGMOID, X_STATIC_TRANSPOSE, X_CLAMP, X_CONV2D, X_DIV,
	X_STATIC_RESIZE_BILINEAR_2D, X_STATIC_CONSTANT_PAD, X_AVG_POOLING_2D, X_MINIMUM, X_DEPTHWISE_CONV2D,
	X_MAX_POOLING_2D, X_MULTIPLY, X_SUBTRACT, X_FLOOR, X_CONVERT, X_GLOBAL_AVG_POOLING_2D, X_STATIC_RESHAPE,
	X_ARGMAX_POOLING_2D, X_SQUARE_ROOT, X_CEILING, X_HARDSWISH, X_LEAKY_RELU, X_MAXIMUM, X_NEGATE, X_SQUARE, X_ELU,
	X_ABS, X_PRELU, X_CONCATENATE2, X_CONCATENATE3, X_CONCATENATE4, X_STATIC_SLICE, X_SDPA, X_BATCH_MATMUL,
	X_CONCATENATE5, X_CONV_TRANSPOSE_2D, X_RSQRT, X_LOG, X_GELU, X_TANH, X_EXP, X_SIN, X_COPY, X_COS, X_TAGS,
};

enum { XMAX_FIELDS = 20 };

struct xfield {
	const char *name;
	enum xfield_kind kind;
	bool optional;			/* XF_IN: may hold XNONE (no bias) */
	bool packed;			/* XF_IN: read when the node is made, if it is stored; not when it runs */
};

struct xnode_type {
	const char *name;		/* "Conv2d" */
	bool has_min_max;		/* the runtime reads output_min_max */
	int nfields;
	struct xfield field[XMAX_FIELDS];	/* in schema order: index = field id */
};

extern const struct xnode_type xnode_types[X_TAGS];	/* by tag; [0] is empty */

/* Field numbers of the shapes that many node types share (order of the schema). */
enum { XU_IN, XU_OUT, XU_FLAGS };				/* unary */
enum { XB_IN1, XB_IN2, XB_OUT, XB_FLAGS };			/* binary */
enum { XFC_IN, XFC_FILTER, XFC_BIAS, XFC_OUT, XFC_FLAGS };
enum { XC_PAD_TOP, XC_PAD_RIGHT, XC_PAD_BOTTOM, XC_PAD_LEFT, XC_KERNEL_H, XC_KERNEL_W, XC_STRIDE_H, XC_STRIDE_W,
	XC_DILATION_H, XC_DILATION_W, XC_GROUP_IN, XC_GROUP_OUT, XC_GROUPS, XC_ADJUST_H, XC_ADJUST_W, XC_IN, XC_FILTER,
	XC_BIAS, XC_OUT, XC_FLAGS };				/* convolutions */
enum { XP_PAD_TOP, XP_PAD_RIGHT, XP_PAD_BOTTOM, XP_PAD_LEFT, XP_KERNEL_H, XP_KERNEL_W, XP_STRIDE_H, XP_STRIDE_W,
	XP_DILATION_H, XP_DILATION_W, XP_IN, XP_OUT, XP_FLAGS };	/* pooling */
enum { XK_AXIS, XK_IN1, XK_IN2, XK_IN3, XK_IN4, XK_OUT, XK_FLAGS, XK_IN5 };	/* concatenate */

struct xlist { uint32_t *at; int n; };

struct xnode {
	enum xtag tag;
	uint32_t debug_handle;		/* 65535: made by the exporter */
	bool has_min_max;
	float min, max;			/* -inf, +inf when absent */
	uint32_t field[XMAX_FIELDS];	/* XF_F32 as its bits: xnode_f32; XF_LIST: number of a list below */
	struct xlist list[2];
};

struct xgraph {
	struct xvalue *value;
	int nvalues;
	struct xnode *node;
	int nnodes;
	uint32_t nexterns;		/* arguments that the delegate call needs: the largest external id + 1 */
};

float xnode_f32(const struct xnode *n, int field);
void xnode_set_f32(struct xnode *n, int field, float f);
/* The list of an XF_LIST field. */
const struct xlist *xnode_list(const struct xnode *n, int field);
/* The value with this id (first definition wins), or NULL. Graphs that were read have value[i].id == i, so that
 * this is one step; others should keep to it. */
struct xvalue *xgraph_value(const struct xgraph *g, uint32_t id);
/* Stored bytes stand behind the value, though data is NULL when they lie in a .ptd that is missing. */
bool xvalue_is_constant(const struct xvalue *v);
/* Bytes of the value as XNNPACK lays it out: 4-bit types two elements a byte, each row padded to a whole one;
 * false when the product overflows. */
bool xvalue_bytes(const struct xvalue *v, size_t *bytes);
/* A stored value that a node reads when it runs, and not when it is made: anything but a filter or bias. The stock
 * runtime has freed its bytes by then, if they lie in the blob or are packed by another node as well. NULL: none. */
const struct xvalue *xgraph_read_unpacked(const struct xgraph *g);
const char *xdatatype_name(enum xdatatype t);	/* "qcint8" */

#endif
