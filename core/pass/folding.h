/* folding.h - what the parts of the weight fold share: one look at all methods of a program.
 *
 * fold_trace.c says what is constant and collects candidates with their expressions; fold_source.c knows stored bytes
 * and all their readers; fold_name.c describes expressions; fold_group.c tells what hangs together; fold_weigh.c counts
 * bytes, and fold_decide.c lets them decide; fold.c is plan and apply. Nothing here recurses: a weight may be the end of
 * a chain of any length. */
#ifndef CORE_PASS_FOLDING_H
#define CORE_PASS_FOLDING_H

#include "core/base/map.h"
#include "core/pass/fold.h"

/* Why a value is not computed ahead, heaviest last: of several reasons the heaviest is told. */
enum why {
	WHY_UNKNOWN, WHY_CONSTANT, WHY_SIZE_VARIES, WHY_NO_KERNEL, WHY_DATA_MISSING, WHY_OPAQUE, WHY_FACTORY, WHY_QUANTIZED,
	WHY_IMPURE, WHY_NOT_CONSTANT, WHY_BUFFER,
};

/* Stored bytes, however many values stand for them. */
struct source {
	const struct value *first;	/* the first value that stands for it: its name */
	size_t bytes;
	int home;
	bool number;			/* one element: a literal of the model, in all likelihood */
	bool across;			/* read in more than one method */
	vec(struct value *) value;	/* all that stand for it */
	vec(int) method;		/* of those */
	int epoch, readers;		/* scratch of a weighing */
};

/* What is known of a method's values and nodes; nodes by their order. */
struct trace {
	struct graph *g;
	enum why *why;			/* by value */
	const struct value **culprit;	/* by value: what makes it so */
	const char **digest[2];		/* by value: 64 hex digits of its expression, or NULL; see fold_name.c */
	int *source;			/* by value: number of its source, or -1 */
	int *home;			/* by value: where its sources live; scratch of one expression */
	int *inside;			/* by node: how many of the candidates being weighed hold it */
	bool *survives;			/* by node: somebody reads it after the fold */
	bool *dead;			/* by node: nobody reads it now, so it reads nothing */
	bool *stored;			/* by value: one of the tensors that the group stores */
	int *seen, epoch;		/* by node: scratch of walks */
};

struct candidate {
	int method;
	struct node *at;
	const char *position;
	struct value *value;
	enum why why;
	const char *code, *text;	/* set: it stays */
	struct node **node;		/* the expression, in program order */
	int nnodes;
	int *source;			/* in order of first use */
	int nsources;
	int home;
	bool inner;			/* its GEMM is part of a constant expression itself */
	bool active;			/* being weighed, or folds */
	uint64_t added, erased;		/* of its group; at the first */
};

/* Numbers of candidates. */
struct members { const int *at; int n; };

/* Folds that share sources, and the clusters in it: those that share more than single numbers. */
struct fold_group { struct members all; int cluster, nclusters; };

struct folding {
	struct arena mem;
	struct trace *trace;		/* one a method */
	int ntraces;
	vec(struct source) sources;
	vec(struct candidate) list;
	vec(struct fold_group) groups;	/* of those that do not stay anyway */
	vec(struct members) clusters;	/* of all groups, in their order */
	bool training;
	int epoch;			/* of weighings */
};

/* A tensor that a group of folds stores; candidate: whose expression holds it. */
struct stored { int method; struct value *value; const char *digest; int candidate; };

struct balance {
	struct arena mem;
	vec(struct stored) stored;
	uint64_t added, erased;		/* equal expressions once; sources that nobody reads any more */
	bool across;
};

/* fold_trace.c */
void folding_open(struct folding *f, struct graph *const *g, int ngraphs);
void folding_open_traces(struct folding *f, struct graph *const *g, int ngraphs);	/* without candidates */
void folding_close(struct folding *f);
enum why trace_why(struct folding *f, int method, const struct value *v);
/* The nodes behind v, in program order. */
struct node **trace_nodes(struct folding *f, int method, const struct value *v, int *n);
const char *why_code(enum why w);
/* By a method output, or a node that is not dead. */
bool trace_is_read(const struct trace *t, const struct value *v);

/* fold_source.c */
void folding_find_sources(struct folding *f);
int source_of(const struct folding *f, int method, const struct value *v);

/* fold_name.c: equal digests mean equal values; a name holds what does not depend on where things are stored. */
const char *expression_digest(struct folding *f, int method, const struct value *v);
const char *folded_name(struct folding *f, const struct candidate *c, const struct value *v, struct arena *a);

/* fold_group.c: of the active candidates. */
void folding_find_groups(struct folding *f);

/* fold_weigh.c: weighs the active ones of these. */
void weigh(struct folding *f, struct members m, struct balance *b);
void balance_free(struct balance *b);
bool balance_fits(const struct balance *b);
/* Whether the candidate reads a constant, other than a number, that other methods read as well. */
bool reads_across(const struct folding *f, const struct candidate *c);

/* fold_decide.c: settles which fold. */
void folding_decide(struct folding *f);

#endif
