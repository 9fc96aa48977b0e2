/* lowering.h - what the rows' lower functions share: IR values as XNNPACK values in two layouts, static data, nodes.
 *
 * Every IR value of rank 3 or 4 may exist in two layouts, made when asked for with a StaticTranspose between
 * them: NCHW (its own order of dimensions) and NHWC; rank 3 in NHWC is [N, L, 1, C], so that convolutions
 * and what follows them need no reshape. Values of other ranks have the first only. A node computes in the layout
 * it must have (convolutions and pooling NHWC, reshapes and linears NCHW) or in that of its inputs. */
#ifndef CORE_XNN_LOWERING_H
#define CORE_XNN_LOWERING_H

#include "core/base/map.h"
#include "core/op/op.h"
#include "core/xnn/check.h"
#include "core/xnn/lower.h"

enum layout { NCHW, NHWC };

struct xslot {			/* an IR value in the XNNPACK graph */
	uint32_t id[2];		/* by layout; XNONE: not made yet */
	enum layout native;	/* the one it was made in */
};

struct xmember {		/* a node of the group; found by node->mark */
	const struct node *node;
	const struct xrule *rule;
	bool absorbed;			/* another node does its work */
	bool quantized;			/* on int8: reads behind dequantise nodes, writes what `quantize` makes */
	const struct node *norm, *act, *quantize;	/* absorbed by this node, in this order; NULL: none */
};

struct xlower {
	const struct graph *graph;
	int group;
	bool keys;			/* make the keys of static data */
	struct arena *mem;		/* of the result */
	struct arena scratch;
	struct map slot;		/* struct value * -> struct xslot */
	struct map shared;		/* what a static value was made from -> its id */
	vec(struct xvalue) value;
	vec(struct xnode) node;
	vec(struct xmember) member;
	vec(struct value *) arg;	/* inputs, in order of first use */
	vec(struct pte_named) named;
	vec(int) home;
};

/* Field numbers of the node types that have a shape of their own. */
enum { XT_RANK, XT_PERM, XT_IN, XT_OUT, XT_FLAGS };			/* StaticTranspose; StaticReshape with its shape */
enum { XS_RANK, XS_OFFSETS, XS_SIZES, XS_IN, XS_OUT, XS_FLAGS };	/* StaticSlice */
enum { XPAD_PRE, XPAD_POST, XPAD_VALUE, XPAD_IN, XPAD_OUT, XPAD_FLAGS };	/* StaticConstantPad */
enum { XR_HEIGHT, XR_WIDTH, XR_IN, XR_OUT, XR_FLAGS };			/* StaticResizeBilinear2D */
enum { XL_SLOPE, XL_IN, XL_OUT, XL_FLAGS };				/* LeakyReLU; ELU with its alpha */
enum { XFLAG_TRANSPOSE_WEIGHTS = 1, XFLAG_ALIGN_CORNERS = 8, XFLAG_KEEP_DIMS = 64 };

/* lower_fuse.c: what goes into one XNNPACK node. */
void lower_plan(struct xlower *x);
struct xmember *lower_member(struct xlower *x, const struct node *n);	/* NULL: not of this group */
const struct value *lower_result(struct xlower *x, const struct node *n);	/* what n writes, over all it absorbed */
/* The channels' factor and offset of a batch norm: y = x * scale + shift. Arrays of `channels` in the arena. */
bool batch_norm_read(const struct node *norm, int64_t channels, struct arena *a, double **scale, double **shift,
		     struct error *err);

/* lower_value.c: values. */
bool lower_in(struct xlower *x, const struct node *n, const struct value *v, enum layout l, uint32_t *id,
	      struct error *err);
/* The same for an operand that broadcasts to `rank` dimensions. */
bool lower_in_broadcast(struct xlower *x, const struct node *n, const struct value *v, int rank, enum layout l,
			uint32_t *id, struct error *err);
uint32_t lower_out(struct xlower *x, const struct node *n, enum layout l);
uint32_t lower_out_raw(struct xlower *x, const struct value *v, int rank, const uint32_t *dim);	/* an intermediate */
/* n's result is the value that is there already under `id`, in this layout. */
void lower_alias(struct xlower *x, const struct node *n, enum layout l, uint32_t id);
/* The layout in which a node that does not care computes: NHWC when an input is there and the others can be. */
enum layout lower_layout(struct xlower *x, const struct node *n);
enum layout value_layout(struct xlower *x, const struct value *v);
/* A result of the group, in its memory order. */
bool lower_output(struct xlower *x, const struct value *v, uint32_t *id, struct error *err);
int layout_dim(enum layout l, int rank, int dim);		/* where logical dimension dim lies */
int layout_rank(enum layout l, int rank);
void layout_sizes(enum layout l, const struct value *v, uint32_t *dim);
struct xslot *lower_slot(struct xlower *x, const struct value *v);
/* lower.c: nodes. The pointer is good until the next node is made. */
struct xnode *lower_node(struct xlower *x, const struct node *n, enum xtag tag);
void lower_list(struct xlower *x, struct xnode *node, int field, const uint32_t *at, int count);
void lower_emit_unary(struct xlower *x, const struct node *n, enum xtag tag, uint32_t in, uint32_t out);
void lower_emit_transpose(struct xlower *x, uint32_t in, uint32_t out, const uint32_t *perm, int rank);
void lower_emit_reshape(struct xlower *x, uint32_t in, uint32_t out, const uint32_t *shape, int rank);
void lower_bounds(struct xlower *x, const struct node *n, struct xnode *node);	/* of an absorbed activation */

/* lower_static.c: static data. */
struct layout_of {		/* the order XNNPACK wants a filter in, and where its elements are now */
	int rank;
	int64_t size[6], stride[6];	/* outermost first, in elements */
};

/* Adds a value with data, or finds the one that is the same; home: of the constant it was made from. */
uint32_t lower_static(struct xlower *x, int home, struct xvalue v);
/* The elements of a constant in that order: its own bytes where they lie so, else a copy. */
bool static_gather(struct xlower *x, const struct value *from, const struct layout_of *l, struct span *out,
		   struct error *err);
/* As static_gather, each element times its channel's scale; channels are outermost, or innermost. */
bool static_scaled(struct xlower *x, const struct value *from, const struct layout_of *l, const double *scale,
		   int64_t channels, bool channel_last, struct span *out, struct error *err);
bool static_as(struct xlower *x, const struct value *from, enum dtype t, struct span *out, struct error *err);
bool static_widen(struct xlower *x, const char *name, struct span *data, struct error *err);	/* f16 to f32 */
/* A weight [rows, n] of int4 values, two a byte, rows padded to whole bytes with the value 0. */
bool static_int4(struct xlower *x, const struct value *from, struct span *out, struct error *err);
bool layout_is_dense(const struct layout_of *l);
void value_strides(const struct value *v, int64_t *stride);

/* lower_weight.c: what convolutions and linears read. */
struct filter {
	struct layout_of layout;
	int rank;			/* of the XNNPACK value */
	uint32_t dim[4];
	int64_t channels;		/* outputs */
	bool channel_last;
	int channel_dim;		/* of the XNNPACK value */
	bool widen;			/* f16 must be stored as f32 */
};

bool lower_filter(struct xlower *x, const struct gemm *g, const struct filter *f, const double *scale, uint32_t *id,
		  struct error *err);
/* XNONE when there is none. scale and shift: of a batch norm that went in, else NULL. wide: f32 always. */
bool lower_bias(struct xlower *x, const struct gemm *g, int64_t channels, bool wide, const double *scale,
		const double *shift, uint32_t *id, struct error *err);
/* The activation: float, int8, or quantised at run time (one Convert for all that read the same quantise node). */
bool lower_activation(struct xlower *x, const struct node *n, const struct gemm *g, enum layout l, uint32_t *id,
		      struct error *err);

bool convolution_keeps_bytes(const struct node *n, const struct value *w);	/* lower_convolution.c */

typedef bool lower_fn(struct xlower *x, const struct node *n, struct error *err);

lower_fn lower_unary, lower_binary, lower_clamp, lower_leaky_relu, lower_elu, lower_prelu;	/* lower_elementwise.c */
lower_fn lower_linear, lower_bmm;								/* lower_gemm.c */
lower_fn lower_convolution, lower_batch_norm;							/* lower_convolution.c */
lower_fn lower_avg_pool, lower_max_pool, lower_max_dim, lower_mean, lower_upsample;		/* lower_pool.c */
lower_fn lower_cat, lower_same, lower_pad, lower_permute, lower_slice, lower_softmax, lower_view;	/* lower_shape.c */
lower_fn lower_quantize, lower_quant_part;							/* lower_value.c */

#endif
