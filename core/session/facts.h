/* facts.h - what there is to say about a method: the rows behind every page and every report section.
 *
 * Of the bytes of a weight a few are looked at, for warnings (weights.h). Memory is the arena given. */
#ifndef CORE_SESSION_FACTS_H
#define CORE_SESSION_FACTS_H

#include "core/pass/fold.h"
#include "core/pass/linear.h"
#include "core/program/planned.h"
#include "core/program/program.h"
#include "core/xnn/rule.h"

enum runs_on { RUNS_XNNPACK, RUNS_PORTABLE, RUNS_OTHER };

struct node_row {
	const struct node *node;
	const char *id;
	enum runs_on runs;
	int delegate;			/* number of the delegate call in the method, or -1 */
	const char *module;		/* module.h; "" where there is none */
	bool constant_only;		/* depends on constants alone */
	struct verdict verdict;		/* for portable nodes code "not_partitioned" when XNNPACK would take it, or "would_grow" */
	const char *fix;		/* "fold", "linear", "partition", "re-export", "none" */
	double flops;
	uint64_t bytes;			/* read and written */
	double ms;			/* measured, or < 0 */
	const char *story;		/* one or two sentences for the pane: what it is, why it is slow, what would help */
};

struct delegate_row { const char *backend; int nodes; uint64_t bytes; /* blob and weights */ };

struct warning {
	const struct node *node;
	const char *id, *code, *text;
	double max_abs_diff;		/* of the method's outputs from what they were meant to be; < 0: not measured */
	bool measurable;		/* what was meant can be run */
};

struct method_facts {
	const struct graph *graph;
	struct node_row *row;		/* program order; views that cost nothing are among them */
	int nrows;
	struct delegate_row *delegate;	/* a row a delegate call */
	int ndelegates;
	const char **left_out;		/* kernel calls outside delegates, "aten::sum.IntList_out", in order */
	int nleft_out;
	struct warning *warning;
	int nwarnings, capwarnings;
	uint64_t planned_bytes, constant_bytes, external_bytes;
	struct planned plan;		/* memory over the run; its by and is are this graph's */
	int worst;			/* row of the worst offender, or -1 */
};

/* What the facts of a method are taken from: its graph among those of its version, the plan as it stands in the
 * file (of version 0) or as it will (of later ones), and what the rewrites plan on these graphs. */
struct facts_source {
	const struct program *program;
	struct graph *const *method;
	int nmethods, at;
	const struct pte_plan *plan;
	const struct value *const *value_of;	/* what its values are; NULL: as filed */
	const struct fold_plan *fold;
	const struct linear_plan *linear;
};

bool facts_make(struct method_facts *f, const struct facts_source *s, struct arena *a, struct error *err);
void facts_warn(struct method_facts *f, struct arena *a, struct warning w);
/* The row with this id, or NULL. */
struct node_row *facts_find(const struct method_facts *f, const char *id);
/* The row that costs most of those that XNNPACK does not run: measured, or else computed and moved; -1: none. */
int facts_worst(const struct method_facts *f);

#endif
