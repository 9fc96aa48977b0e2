#include "core/xnn/doubt.h"

#include <stdint.h>
#include <string.h>

/* The stock lowering flags each value as NCHW or NHWC and permutes where the two meet; followed here by its rules, first
 * from what is read later (only NHWC is permuted to NCHW), then from what made it. A permutation of the program's own
 * that may as well be a copy to the other layout proves nothing, and without proof there is no doubt. */
struct following {
	const struct xgraph *x;
	const struct pte_tensor *const *type;
	bool *nhwc;		/* by value */
	bool *constant;
};

/* An argument in NHWC; one whose bytes are the same in NCHW counts as that. */
static bool lies_in_nhwc(const struct xvalue *v, const struct pte_tensor *t)
{
	static const uint8_t order[] = { 0, 2, 3, 1 };

	return v->rank == 4 && v->dim[3] > 1 && v->dim[1] * (uint64_t)v->dim[2] > 1 && t && t->rank == 4 &&
	       !memcmp(t->dim_order, order, sizeof order);
}

enum layout_rule { RULE_ANY, RULE_NHWC, RULE_NCHW, RULE_TRANSPOSE };

static enum layout_rule rule_of(const struct xnode *n)
{
	switch (n->tag) {
	case X_CONV2D: case X_DEPTHWISE_CONV2D: case X_CONV_TRANSPOSE_2D: case X_AVG_POOLING_2D: case X_MAX_POOLING_2D:
	case X_GLOBAL_AVG_POOLING_2D: case X_STATIC_RESIZE_BILINEAR_2D: case X_PRELU:
		return RULE_NHWC;
	case X_FULLY_CONNECTED: case X_STATIC_RESHAPE: case X_BATCH_MATMUL: case X_ARGMAX_POOLING_2D: case X_SDPA:
		return RULE_NCHW;
	case X_STATIC_TRANSPOSE:
		return RULE_TRANSPOSE;
	default:
		return RULE_ANY;
	}
}

static bool perm_is(const struct xnode *n, const uint32_t *perm)
{
	const struct xlist *l = xnode_list(n, 1);

	return l->n == 4 && !memcmp(l->at, perm, 4 * sizeof *perm);
}

static const uint32_t to_nhwc[] = { 0, 2, 3, 1 }, to_nchw[] = { 0, 3, 1, 2 };

/* Whether all, or some, of the values in a node's fields of this kind are NHWC; stored ones are of any layout. */
static bool are_nhwc(const struct following *f, const struct xnode *n, enum xfield_kind kind, bool all)
{
	const struct xnode_type *t = &xnode_types[n->tag];
	bool every = true, some = false;

	for (int i = 0; i < t->nfields; i++)
		if (t->field[i].kind == kind && n->field[i] != XNONE && !f->constant[n->field[i]]) {
			every &= f->nhwc[n->field[i]];
			some |= f->nhwc[n->field[i]];
		}
	return some && (every || !all);
}

static void set_nhwc(struct following *f, const struct xnode *n, enum xfield_kind kind)
{
	const struct xnode_type *t = &xnode_types[n->tag];

	for (int i = 0; i < t->nfields; i++)
		if (t->field[i].kind == kind && n->field[i] != XNONE && !f->constant[n->field[i]] &&
		    f->x->value[n->field[i]].rank == 4)
			f->nhwc[n->field[i]] = true;
}

static bool reads_nhwc(const struct following *f, const struct xnode *n)
{
	enum layout_rule rule = rule_of(n);

	if (rule != RULE_TRANSPOSE)
		return rule == RULE_NHWC || (rule == RULE_ANY && are_nhwc(f, n, XF_OUT, false));
	return n->debug_handle == NO_HANDLE ? perm_is(n, to_nchw) : are_nhwc(f, n, XF_OUT, false) && !perm_is(n, to_nhwc);
}

static bool makes_nhwc(const struct following *f, const struct xnode *n)
{
	enum layout_rule rule = rule_of(n);

	if (rule != RULE_TRANSPOSE)
		return rule == RULE_NHWC || (rule == RULE_ANY && are_nhwc(f, n, XF_IN, true));
	return n->debug_handle == NO_HANDLE ? perm_is(n, to_nhwc) : are_nhwc(f, n, XF_IN, true) && !perm_is(n, to_nchw);
}

static enum doubt doubt_of_bias(const struct xgraph *x, const struct xnode *n)
{
	const struct xvalue *b = &x->value[n->field[XFC_BIAS]], *w = &x->value[n->field[XFC_FILTER]];
	uint32_t outputs = w->dim[n->field[XFC_FLAGS] & 1];
	uint64_t numbers = 1;

	for (int d = 0; d < b->rank; d++)
		numbers *= b->dim[d];
	if (b->rank >= 1 && b->dim[b->rank - 1] == outputs && numbers == outputs)
		return DOUBT_NONE;
	return numbers < outputs ? DOUBT_SHORT_BIAS : DOUBT_BIAS;
}

/* Over the channels and over the width it is the same only where both are 1. */
static bool is_over_channels(const struct following *f, const struct xnode *n)
{
	const struct xvalue *in = &f->x->value[n->field[XU_IN]];

	return f->nhwc[n->field[XU_IN]] && (in->dim[2] > 1 || in->dim[3] > 1);
}

static enum doubt doubt_of(const struct following *f, const struct xnode *n)
{
	const struct xgraph *x = f->x;

	/* A softmax without a handle is not the exporter's. */
	if (n->tag == X_SOFTMAX && n->debug_handle != NO_HANDLE && is_over_channels(f, n))
		return DOUBT_SOFTMAX;
	if (n->tag == X_FULLY_CONNECTED && n->field[XFC_BIAS] != XNONE && x->value[n->field[XFC_FILTER]].rank == 2 &&
	    x->value[n->field[XFC_BIAS]].rank <= 2 && xvalue_is_constant(&x->value[n->field[XFC_BIAS]]))
		return doubt_of_bias(x, n);
	return DOUBT_NONE;
}

enum doubt *xnn_doubts(const struct xgraph *x, const struct pte_tensor *const *type, struct arena *a)
{
	struct following f = { x, type, arena_array(a, (size_t)x->nvalues, sizeof *f.nhwc),
			       arena_array(a, (size_t)x->nvalues, sizeof *f.constant) };
	enum doubt *doubt = arena_array(a, (size_t)x->nnodes, sizeof *doubt);

	for (int i = 0; i < x->nvalues; i++) {
		f.constant[i] = xvalue_is_constant(&x->value[i]);
		f.nhwc[i] = x->value[i].flags & XFLAG_INPUT && lies_in_nhwc(&x->value[i], type[x->value[i].external_id]);
	}
	for (int i = x->nnodes - 1; i >= 0; i--)
		if (reads_nhwc(&f, &x->node[i]))
			set_nhwc(&f, &x->node[i], XF_IN);
	for (int i = 0; i < x->nnodes; i++) {
		doubt[i] = doubt_of(&f, &x->node[i]);
		if (makes_nhwc(&f, &x->node[i]))
			set_nhwc(&f, &x->node[i], XF_OUT);
	}
	return doubt;
}

const char *doubt_text(enum doubt d)
{
	static const char *const text[DOUBTS] = {
		[DOUBT_NONE] = "",
		[DOUBT_SOFTMAX] = "what this softmax reads lies in NHWC, as convolutions and pooling make it: XNNPACK computes it over "
				  "the channels, where the program said its last dimension, the width; export it anew without this "
				  "softmax in the delegate, or partition the portable program here",
		[DOUBT_BIAS] = "the bias of this linear is not one number an output: XNNPACK adds its first numbers to every row; "
			       "export it anew with a bias of one number an output, or partition the portable program here",
		[DOUBT_SHORT_BIAS] = "the bias of this linear has fewer numbers than outputs: XNNPACK reads on past its end, and adds "
				     "what lies there; export it anew with a bias of one number an output, or partition the "
				     "portable program here",
	};

	return text[d];
}
