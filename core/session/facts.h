/* facts.h - what there is to say about a method: the rows behind every page and every report section. */
#ifndef CORE_SESSION_FACTS_H
#define CORE_SESSION_FACTS_H

#include "core/program/program.h"
#include "core/xnn/rule.h"

enum runs_on { RUNS_XNNPACK, RUNS_PORTABLE, RUNS_OTHER };

struct node_row {
	const struct node *node;
	const char *id;
	enum runs_on runs;
	int delegate;			/* number of the delegate call in the method, or -1 */
	const char *module;		/* "" when the file has no names */
	bool constant_only;		/* depends on constants alone */
	struct verdict verdict;		/* for portable nodes code "not_partitioned" when XNNPACK would take it */
	const char *fix;		/* "fold", "linear", "partition", "re-export", "none" */
	double flops;
	uint64_t bytes;			/* read and written */
	double ms;			/* measured, or < 0 */
	const char *story;		/* one or two sentences for the pane: what it is, why it is slow, what would help */
};

struct delegate_row { const char *backend; int nodes; uint64_t bytes; };

struct warning { const struct node *node; const char *id, *code, *text; double max_abs_diff; /* < 0: not measured */ };

struct method_facts {
	const struct graph *graph;
	struct node_row *row;		/* program order; views that cost nothing are among them */
	int nrows;
	struct delegate_row *delegate;
	int ndelegates;
	const char **left_out;		/* kernel calls outside delegates, "aten::sum.IntList_out", in order */
	int nleft_out;
	struct warning *warning;
	int nwarnings;
	uint64_t planned_bytes, constant_bytes, external_bytes;
	int worst;			/* row of the worst offender, or -1 */
};

bool facts_make(struct method_facts *f, const struct program *p, const struct graph *g, struct arena *a, struct error *err);

#endif
