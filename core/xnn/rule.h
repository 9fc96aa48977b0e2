/* rule.h - does XNNPACK take this node, and if not, why not.
 *
 * Verdicts are those of the target runtime: the partitioner of ExecuTorch 1.5.1, rule by rule (facts:
 * partition), plus our own refusals of what it takes and gets wrong. One row an operator, in
 * core/xnn/rules_<family>.c: accept-or-reason, lowering to XNNPACK nodes, and the words for --list-ops.
 * accept runs every check of the row and records each one; the first that fails is the reason. */
#ifndef CORE_XNN_RULE_H
#define CORE_XNN_RULE_H

#include "core/graph/graph.h"

enum verdict_kind { VERDICT_TAKES, VERDICT_DECLINES, VERDICT_NO_RULE };

struct rule_check {
	const char *rule;	/* what is asked: "weight is a static parameter" */
	const char *code;	/* reason code when it fails: "weight_not_static" */
	bool ok;
	const char *found;	/* when it fails, one short sentence: "weight is computed by aten.mul.Tensor" */
};

struct verdict {
	enum verdict_kind kind;
	const char *code, *text;	/* the reason; NULL when taken */
	const struct rule_check *check;
	int nchecks;
};

/* Precisions a row supports. */
enum { PRECISION_FLOAT = 1, PRECISION_STATIC = 2, PRECISION_DYNAMIC = 4 };

struct rule_run {	/* one evaluation of a row */
	const struct graph *graph;
	const struct node *node;
	struct arena *mem;
	vec(struct rule_check) checks;
};

/* Records one check; returns ok. The sentence is only made when it fails. */
bool rule_check(struct rule_run *r, bool ok, const char *rule, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

struct xlower;	/* core/xnn/lowering.h */

struct xrule {
	const char *op;			/* "aten.add.Tensor" */
	const char *xnode;		/* "Add" */
	unsigned precisions;
	const char *constraints;	/* what it asks beyond the lists below: the rules of its checks, "; " between them */
	void (*accept)(struct rule_run *r, const struct node *n);
	bool (*lower)(struct xlower *x, const struct node *n, struct error *err);
	int tag;			/* enum xtag of the main XNNPACK node, where lower is shared by several rows */
	unsigned flags;			/* enum xrule_flag */
};

enum xrule_flag {
	XRULE_BOUNDS = 1,	/* its XNNPACK node has output bounds: takes in a relu, hardtanh or clamp */
	XRULE_SAME_QUANT = 2,	/* on int8 only when input and output have the same parameters */
	XRULE_PART = 4,		/* no node of its own: goes along with a convolution or linear */
};

extern const struct xrule *const xrule_families[];	/* NULL-terminated; each ends with an empty row */
/* What every rule asks, and what convolutions and linears ask of a quantised weight. "when: rule" asks it then only. */
extern const char xrule_common[], xrule_quantized[];
const struct xrule *xrule_find(const struct op *op);	/* NULL: no XNNPACK rule for this operator */

/* The verdict on a node, wherever it runs now. Texts and checks are in the arena. */
struct verdict xnn_verdict(const struct graph *g, const struct node *n, struct arena *a);

#endif
