/* raising.h - what the parts of raise share: one XNNPACK graph on its way to nodes of the IR.
 *
 * raise.c has values, constants and arguments, raise_quant.c the integers and their scales, raise_nodes.c the node
 * types that keep their layout and the table of all types, raise_nhwc.c those that XNNPACK wants in NHWC.
 *
 * Until permutations are cancelled, values have XNNPACK's own shapes in the default dim order. Each quantised value
 * has its integers (`plain`) and, once somebody asks, the numbers they stand for (`real`). Ids of values are their
 * indices. A function that returns NULL or false has set r->err; the node then becomes an opaque one. */
#ifndef CORE_XNN_RAISING_H
#define CORE_XNN_RAISING_H

#include "core/op/op.h"
#include "core/xnn/doubt.h"
#include "core/xnn/raise.h"

struct raised {
	struct value *plain, *real;
	struct value *stored;		/* the last constant made of it: constants differ in how their bytes are seen */
	struct value *stored_scales;
};

struct raising {
	struct graph *g;
	const struct xgraph *x;
	struct value **arg;
	const struct pte_tensor *const *type;
	int nargs, group;
	struct origin origin;
	bool as_meant;
	const struct xnode *node;	/* the one being raised */
	struct raised *value;		/* by id */
	struct arena mem;
	struct error *err;
};

typedef bool raise_fn(struct raising *r, const struct xnode *n);

struct raise_rule {
	raise_fn *raise;
	const char *op;			/* what it becomes, where one function serves several types */
};

extern const struct raise_rule raise_rules[X_TAGS];	/* no function: cannot be raised */

bool raise_fail(struct raising *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A node of the group. raise_main: what the XNNPACK node is, under its own id; raise_side: what it takes beside
 * (permutes, quantisation, clamps). Returns the first output. */
struct value *raise_main(struct raising *r, const char *op, const struct arg *arg, int nargs);
struct value *raise_side(struct raising *r, const char *op, const struct arg *arg, int nargs);
#define ARGS(...) (const struct arg[]){ __VA_ARGS__ }, \
		  (int)(sizeof (const struct arg[]){ __VA_ARGS__ } / sizeof(struct arg))
#define V(v) arg_value(v)
#define I(i) arg_int(i)
#define D(d) arg_double(d)
#define B(b) arg_bool(b)
#define NONE arg_none()

struct value *raise_permute(struct raising *r, struct value *v, const int64_t *perm);	/* v's rank of them */
struct value *raise_cast(struct raising *r, struct value *v, enum dtype t);
struct value *raise_view(struct raising *r, struct value *v, int rank, const int64_t *size);

/* The value behind an id: as it is stored, and as real numbers. raise_dims: with the rank XNNPACK sees (a scalar of
 * the program is [1] there). */
struct value *raise_plain(struct raising *r, uint32_t id);
struct value *raise_real(struct raising *r, uint32_t id);
struct value *raise_dims(struct raising *r, uint32_t id);
/* Sets what an id is, from real numbers: quantised as the value demands. */
bool raise_result(struct raising *r, uint32_t id, struct value *real);
/* As raise_result, behind the node's fused minimum and maximum. */
bool raise_clamped(struct raising *r, const struct xnode *n, uint32_t id, struct value *real);
struct value *raise_clamp(struct raising *r, struct value *v, float min, float max, bool is_main);

/* The stored bytes of an id, in sizes and a dim order of the caller's choice. */
struct value *raise_constant(struct raising *r, uint32_t id, int rank, const int64_t *size, const uint8_t *dim_order);

/* One number a channel. XNNPACK does not look at the shape of a bias and reads the first ones. */
struct value *raise_bias(struct raising *r, uint32_t id, int64_t channels);

/* raise_quant.c. `axis`: the dimension of v that channel_dim of the value has become. */
struct value *raise_quantize(struct raising *r, const struct xvalue *x, struct value *real);
struct value *raise_dequantize(struct raising *r, const struct xvalue *x, struct value *plain, int axis, bool is_main);
raise_fn raise_convert;
/* The numbers that come back from quantising `real` by token, as dynamic quantisation does. */
struct value *raise_dynamic(struct raising *r, const struct xvalue *x, struct value *real, struct value **plain,
			    bool is_main);
/* raise_nhwc.c */
raise_fn raise_conv, raise_depthwise, raise_deconv, raise_max_pool, raise_avg_pool, raise_global_avg_pool, raise_resize,
	raise_prelu;

#endif
