/* fold.h - weight fold: parameter-only subgraphs that feed the weight or bias of a GEMM become constants.
 *
 * fold_plan looks at all methods of a program at once (a constant that several methods read decides across
 * them) and returns one candidate for each weight or bias that is computed: folds or stays, and why. Nothing is
 * evaluated and no weight is touched by the plan. fold_apply evaluates the marked candidates with the portable
 * kernels and edits the graphs (give it clones). The rules: facts and DESIGN "Soundness"; no fold may grow the
 * stored tensor bytes. */
#ifndef CORE_PASS_FOLD_H
#define CORE_PASS_FOLD_H

#include "core/graph/graph.h"

struct fold {
	int method;			/* index into the graphs given */
	const struct node *at;		/* the GEMM */
	const char *position;		/* "weight" or "bias" */
	bool folds;
	const char *code, *text;	/* why it stays; NULL when it folds */
	const struct value *value;	/* what is computed */
	const struct node **node;	/* the producers, in program order */
	int nnodes;
	const struct value **source;	/* constants they read, in order of first use */
	int nsources;
	uint64_t bytes_erased, bytes_added;	/* tensor bytes; a group of folds shares them: counted at the first */
	const char *name;		/* "<source>_prop_<64 hex digits>" */
	int home;			/* enum value_home: where the folded tensor goes */
	bool marked;			/* apply it; plan marks all that fold */
};

struct fold_plan {
	struct arena mem;
	struct fold *fold;
	int nfolds;
};

bool fold_plan(struct fold_plan *p, struct graph *const *g, int ngraphs, struct error *err);
/* The plan must be of these graphs (same ids; clones will do). Returns how many tensors were folded. */
int fold_apply(const struct fold_plan *p, struct graph **g, int ngraphs, struct error *err);	/* -1: failed */
void fold_plan_free(struct fold_plan *p);

#endif
