/* recompose.h - puts operators back together that the exporter's decomposition took apart.
 *
 * Each form is proved on the dataflow (facts: partition, 4.2), and values that something else reads stay:
 *   linear     [view to 2-D ->] mm or addmm (alpha = beta = 1, 1-D bias) with permute [1,0] of a stored weight, plain or
 *              dequantised [-> view back to N-D]; sizes in the views may be symbolic, and the view behind
 *              may be another one where the view before keeps rows, or the view before gives its sizes. Or, for
 *              a transposed activation, bmm with that permute expanded over the batch, of more dimensions by views
 *              [+ 1-D bias]
 *   hardswish  x * min(max(x + 3, 0), 6) / 6, the numbers being constants; of f16 [cast to f32 -> cast back]
 *   prelu      where(x > 0, x, w * x), w one number or one a channel
 * Only what XNNPACK then takes is put together. */
#ifndef CORE_PASS_RECOMPOSE_H
#define CORE_PASS_RECOMPOSE_H

#include "core/graph/graph.h"

enum { FORM_NODES = 10 };

struct form {
	const char *op;			/* what it is: "aten.linear.default" */
	struct arg arg[3];		/* of that operator */
	int nargs;
	struct node *node[FORM_NODES];	/* what it was taken apart into; the last one makes its result */
	int nnodes;
	struct node *anchor;		/* the one that stands for it: mm, addmm, div, where */
	bool viewed;			/* its result has other sizes than the last node's; what reads it is a view */
	struct node *turned;		/* the view before, not a part: it gives the sizes of the view behind, which goes */
	const struct value *slope;	/* prelu: stored as [1, C, 1, ...]; the weight is the same bytes as [C] */
};

/* The form whose anchor is n. */
bool recompose_match(const struct graph *g, struct node *n, struct form *f);
/* The form that n is a part of. */
bool recompose_part(const struct graph *g, const struct node *n, struct form *f);

int recompose_apply(struct graph *g, struct error *err);	/* how many, -1 on failure */

/* One mm, addmm or bmm as linear, whatever its weight's permute reads, taken by XNNPACK or not: for the linear
 * conversion, which has decided that it may. Views around it go where they fold. */
bool recompose_linear(struct graph *g, struct node *mm, struct error *err);

#endif
