/* linear.h - [add]mm and bmm back to linear where exactly one net transpose lies between the weight and the
 * matmul (proved through permute, view, expand and dequantise alone), alpha = beta = 1 and the bias is 1-D of
 * the right length. Plan and apply as in fold.h. */
#ifndef CORE_PASS_LINEAR_H
#define CORE_PASS_LINEAR_H

#include "core/graph/graph.h"

struct linear {
	int method;
	const struct node *at;		/* the mm, addmm or bmm */
	const char *op;			/* "mm", "addmm", "bmm" */
	bool converts;
	const char *code, *text;	/* why it stays */
	/* Of one that converts: what the linear reads, and the add behind a bmm that gives it its bias; or NULL. */
	const struct value *weight, *bias;
	const struct node *add;
	bool marked;
};

struct linear_plan {
	struct arena mem;
	struct linear *linear;
	int nlinears;
};

bool linear_plan(struct linear_plan *p, struct graph *const *g, int ngraphs, struct error *err);
int linear_apply(const struct linear_plan *p, struct graph **g, int ngraphs, struct error *err);
void linear_plan_free(struct linear_plan *p);

#endif
