/* doubt.h - nodes of a delegate that compute something else than the program they were lowered from said.
 *
 * The stock lowering (facts: partition, 7) takes some nodes and gets them wrong, without a word. Where the graph still
 * shows it, raising marks the node (origin.doubt); what it computes stays what XNNPACK computes, so that nothing that
 * is made of it changes. Raised `as_meant`, such nodes are what the program said, to measure how far off they are.
 * Left without a trace, and never told: alpha and beta of addmm, the tanh form of gelu, a weight transposed twice. */
#ifndef CORE_XNN_DOUBT_H
#define CORE_XNN_DOUBT_H

#include "core/format/xgraph.h"

enum doubt {
	DOUBT_NONE,
	DOUBT_SOFTMAX,	/* over the last dimension of an image that lies in NHWC: over channels, the width was meant */
	DOUBT_BIAS,	/* a linear's bias that is not one number an output: XNNPACK reads the first ones */
	DOUBT_SHORT_BIAS,	/* the same with too few numbers: XNNPACK reads past the end, and what is there nobody knows */
	DOUBTS,
};

/* doubt[i]: of node i, in the arena. type[k]: the tensor that argument k of the call is, as in xnn_raise. */
enum doubt *xnn_doubts(const struct xgraph *x, const struct pte_tensor *const *type, struct arena *a);
/* What is wrong, one sentence without a full stop. */
const char *doubt_text(enum doubt d);

/* What nodes that the exporter made itself have in place of a debug handle. */
enum { NO_HANDLE = 65535 };

#endif
