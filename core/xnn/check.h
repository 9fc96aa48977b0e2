/* check.h - what the accept functions of the rules share: the checks that all rows make, where a weight comes
 * from, and what quantised operators mean. For the inside of core/xnn and core/pass. */
#ifndef CORE_XNN_CHECK_H
#define CORE_XNN_CHECK_H

#include "core/base/map.h"
#include "core/op/op.h"
#include "core/pass/recompose.h"
#include "core/xnn/rule.h"

/* The verdict on a node by itself, not as a part of a form. */
struct verdict rule_judge(const struct graph *g, const struct node *n, struct arena *a);
/* The verdict on a form as the operator that it was. */
struct verdict form_verdict(const struct graph *g, const struct form *f, struct arena *a);
/* Dtypes, sizes and ranks of everything the node reads and makes (facts: partition, 2.1). */
void check_tensors(struct rule_run *r);
/* The same where quantised integers are allowed as well. */
void check_quantized_tensors(struct rule_run *r);
bool check_rank(struct rule_run *r, const struct value *v, int low, int high);
/* v is a stored constant. `what` is "weight" or "bias"; says from what it is computed when it is not. */
bool check_static(struct rule_run *r, const struct value *v, const char *what);
/* Only the first output is read; `what` names the others. */
bool check_first_output(struct rule_run *r, const char *what);
bool check_static_shape(struct rule_run *r, const struct value *v, const char *why);

/* Whether literal sizes written for v hold at run time: static, or one dimension alone can vary (`fixed`: bits of
 * dimensions known not to). *inferred: that one, or -1. */
bool reshape_holds(const struct value *v, unsigned fixed, int *inferred);
/* Bounds of a relu, hardtanh or clamp; false when n is none of them. */
bool activation_bounds(const struct node *n, float *min, float *max);
/* Whether all that read this quantisation or cast node are convolutions and linears that take it in. */
bool part_of_gemm(const struct node *n, const struct graph *g, struct arena *a);

/* A list of n ints of a pooling or convolution: missing or empty gives `otherwise`, one entry counts for all. */
bool node_ints_spread(const struct node *n, int arg, int64_t otherwise, int64_t *at, int count);

/* What a quantise, dequantise or choose-qparams operator is. */
enum quant_role { QUANT_NONE, QUANT_QUANTIZE, QUANT_DEQUANTIZE, QUANT_CHOOSE };
enum quant_scheme { SCHEME_TENSOR, SCHEME_DYNAMIC, SCHEME_CHANNEL, SCHEME_GROUP, SCHEME_TOKEN, SCHEME_AFFINE };

struct quant_op {
	enum quant_role role;
	enum quant_scheme scheme;
	int scale, zero_point, low, high;	/* argument numbers, -1: none */
	int detail;				/* axis, group size or block size; -1: none */
};

bool quant_find(const struct op *op, struct quant_op *q);	/* false: no quantisation operator */
/* The node that makes v, when it has this role; else NULL. */
const struct node *quant_def(const struct value *v, enum quant_role role);
bool quant_is_dynamic(const struct node *n);	/* its scale is chosen at run time */

/* How a constant behind a dequantise node is quantised. */
enum weight_kind { WEIGHT_TENSOR, WEIGHT_CHANNEL, WEIGHT_GROUP, WEIGHT_OTHER };

struct weight_quant {
	const struct node *dequantize;
	const struct value *data;		/* the integers: i8 or int4; i32 of a bias */
	enum weight_kind kind;
	bool int4;				/* values in -8..7 */
	double scale;				/* TENSOR */
	int64_t zero_point;
	const struct value *scales, *zero_points;	/* CHANNEL, GROUP */
	int axis, group_size;
};

bool weight_quant_of(const struct value *weight, struct weight_quant *w);	/* false: not dequantised */
void check_weight_quant(struct rule_run *r, const struct weight_quant *w);

/* A convolution or linear as the rules see it. */
struct gemm {
	const struct value *act, *weight, *bias;	/* as the arguments say, or behind a cast; bias NULL: none */
	bool quantized;					/* weight comes from a dequantise node */
	struct weight_quant quant;
	bool bias_quantized;				/* int32 behind a dequantise node */
	struct weight_quant bias_quant;
	const struct node *act_dq;			/* the activation's dequantise node, or NULL */
	const struct node *pad;				/* between it and a convolution: zeros on int8, or NULL */
	const struct value *act_source;			/* dynamic: what is quantised; static: the integers */
	const struct node *act_q, *choose;		/* dynamic: the quantise and choose-qparams nodes */
	unsigned precision;				/* PRECISION_*; 0: quantised weight, float activation */
};

struct gemm gemm_of(const struct node *n);
/* The f32 constant that v is cast to f16 from in the same delegate, or NULL: delegates hold filters and biases of f16
 * convolutions as f32, and XNNPACK casts when it packs them. */
const struct value *cast_source(const struct value *v, int group);
void check_gemm(struct rule_run *r, const struct gemm *m);

/* Whether a delegate stores the constant c, static data of n, with the bytes that it has: another reader may then
 * share them. */
bool static_keeps_bytes(const struct node *n, const struct value *c);
/* relu or hardtanh, when it is the one user of n. */
const struct node *fused_activation(const struct node *n);
/* The quantize_per_tensor that alone reads n, over a fused activation; else NULL. */
const struct node *quantized_output(const struct node *n);

/* The only user of v when it is read once, and not by the method's outputs; else NULL. */
const struct node *only_user(const struct value *v);

#endif
