/* graph.h - the IR: one method as values and functional nodes in program order.
 *
 * A graph owns its nodes and values (one arena); bytes of constants belong to the mapped file, or to the arena
 * of the graph that made them, which must outlive its clones (versions are dropped youngest first).
 * Every tensor value has one definition: input, constant, state or node. Nodes are a list in an order that may
 * be run as it stands. Nodes that write state have the op flag OP_MUTATES; their order against other
 * readers and writers of that state is meaning and is never changed. Edits go through the functions below,
 * which keep the lists of users right; graph_check states the invariants. */
#ifndef CORE_GRAPH_GRAPH_H
#define CORE_GRAPH_GRAPH_H

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/work.h"

struct op;	/* core/op/op.h: a row of the op table */
struct node;

enum value_kind { VALUE_INPUT, VALUE_CONSTANT, VALUE_STATE, VALUE_NODE };

/* Where stored bytes live, and so where a folded tensor has to go. */
enum value_home {
	HOME_PROGRAM = -1,	/* the .pte */
	/* 0, 1, ...: that .ptd of the program */
};

struct value {
	int id;			/* index in graph->value; stays through clones */
	enum value_kind kind;
	const char *name;	/* fully qualified name when the file has one; "constant<N>", "input<N>", "state<N>"; "" for nodes */
	enum dtype dtype;
	int rank;
	int64_t size[MAX_RANK];	/* upper bounds where dynamic */
	uint8_t dim_order[MAX_RANK];	/* dimensions from outermost to innermost in memory */
	bool dynamic;		/* sizes may be smaller at run time */
	bool scalar;		/* a run-time number (symbolic size, item(), non-tensor input), not a tensor: rank 0, i64, f64 or bool */
	const uint8_t *data;	/* CONSTANT: bytes in dim order, NULL when their .ptd is missing. STATE: initial bytes or NULL */
	size_t bytes;		/* of the tensor */
	int home;		/* enum value_home */
	const char *folded;	/* the name a fold gave it, or NULL */
	int state_slot;		/* STATE: which state; equal slots share memory, in all methods. else -1 */
	int file_value;		/* index in the method's values as filed, or -1 */
	struct node *def;	/* NODE: its producer */
	struct use *use;	/* who reads it; order means nothing */
	int nuses, capuses;
	int noutputs;		/* how many method outputs it is */
};

struct use { struct node *node; };	/* one entry for each time it stands in the node's arguments */

enum arg_kind { ARG_NONE, ARG_VALUE, ARG_INT, ARG_DOUBLE, ARG_BOOL, ARG_STRING, ARG_LIST };

struct arg {
	enum arg_kind kind;
	union {
		struct value *value;	/* tensor, or run-time scalar */
		int64_t i;
		double d;
		bool b;
		const char *s;
		struct { struct arg *at; int n; } list;
	};
};

enum origin_kind {
	ORIGIN_FILE,		/* an instruction, or a node inside its delegate */
	ORIGIN_VIEW,		/* a view that the exporter elided */
	ORIGIN_PASS,		/* made here, in place of the node that the numbers name */
};

struct origin {
	enum origin_kind kind;
	int chain, instruction;
	int delegate;		/* number in the file, or -1 */
	int dnode;		/* node inside that delegate, or -1 */
	int serial;		/* VIEW and PASS: makes the id unique */
	uint32_t debug_handle;	/* 0: none */
	int doubt;		/* core/xnn/doubt.h: its delegate gets it wrong; 0: not known to */
};

struct node {
	struct node *prev, *next;
	const struct op *op;	/* never NULL */
	struct arg *arg;	/* by schema position */
	int nargs;
	struct value **out;
	int nouts;
	int group;		/* the delegate it runs in: index in graph->group, or -1: a portable kernel */
	struct origin origin;
	int order;		/* position; right after graph_number */
	int mark;		/* scratch for one pass at a time */
};

/* Nodes that run together in one delegate call. */
struct group {
	int filed;		/* the delegate of the file it was lifted from, or -1 */
	bool foreign;		/* another backend's, or cannot be read: one opaque node, kept byte for byte */
	const char *why;	/* foreign: why, one sentence */
	bool changed;		/* an edit touched it: the blob has to be made anew */
	struct value **arg;	/* while unchanged: what the filed call's arguments are, in its order; NULL: nothing reads it */
	int nargs;
};

struct graph {
	struct arena mem;
	const char *method;
	int plan;		/* index of the method in the file */
	struct value **value;
	int nvalues, capvalues;
	struct node *first, *last;
	int nnodes;
	struct value **input;
	int ninputs;
	struct arg *input_literal;	/* for non-tensor inputs: the number or string the file demands; else ARG_NONE */
	struct arg *output;	/* values, or literals that the file returns */
	int noutputs;
	struct group *group;
	int ngroups, capgroups;
	bool training;		/* the program holds __et_training_* methods */
	bool control_flow;	/* has MoveCall or JumpFalseCall */
	bool rigid;		/* cannot be rewritten or run by us; rigid_why says why */
	const char *rigid_why;
	int serial;		/* the last origin serial given */
	struct work *work;	/* who looks on while it is edited or emitted, or NULL (core/base/work.h) */
};

/* Making. */
struct graph *graph_new(const char *method);
struct graph *graph_clone(const struct graph *g);	/* same ids, same order */
void graph_free(struct graph *g);

struct value *graph_value(struct graph *g, enum value_kind kind, enum dtype t, int rank, const int64_t *size);
void graph_add_input(struct graph *g, struct value *v, struct arg literal);
void graph_add_output(struct graph *g, struct arg a);
int graph_add_group(struct graph *g, int filed);

/* A new node before BEFORE (NULL: at the end), with copies of the arguments. Outputs are made by
 * node_add_output; their types by op_infer (core/op/op.h). */
struct node *graph_node(struct graph *g, struct node *before, const struct op *op, const struct arg *arg, int nargs);
struct value *node_add_output(struct graph *g, struct node *n, enum dtype t, int rank, const int64_t *size);

struct arg arg_none(void);
struct arg arg_value(struct value *v);	/* NULL gives arg_none */
struct arg arg_int(int64_t i);
struct arg arg_double(double d);
struct arg arg_bool(bool b);
struct arg arg_ints(struct graph *g, const int64_t *at, int n);	/* a list of ARG_INT */
struct arg arg_values(struct graph *g, struct value *const *at, int n);

/* Editing. A group that a node enters, leaves, or is edited in becomes `changed`. */
void graph_remove(struct graph *g, struct node *n);		/* its outputs must have no users */
void graph_move(struct graph *g, struct node *n, struct node *before);
void graph_set_arg(struct graph *g, struct node *n, int i, struct arg a);
void graph_set_group(struct graph *g, struct node *n, int group);
void graph_replace(struct graph *g, struct value *old, struct value *by);	/* all uses and method outputs */
void graph_replace_in(struct graph *g, struct node *n, struct value *old, struct value *by);
int graph_sweep(struct graph *g);	/* removes pure nodes that nobody reads; how many */
void graph_number(const struct graph *g);	/* node->order = 0, 1, ... */

/* Looking. */
/* Calls f for each value the arguments hold, lists included, as often as it stands there. */
void node_each_input(const struct node *n, void (*f)(struct value *v, void *ctx), void *ctx);
struct value *node_input(const struct node *n, int arg);	/* arg i when it is a value, else NULL */
int64_t node_int(const struct node *n, int arg, int64_t otherwise);	/* ARG_INT or BOOL; NONE or absent: otherwise */
double node_double(const struct node *n, int arg, double otherwise);	/* any number */
bool node_ints(const struct node *n, int arg, int64_t *at, int max, int *count);	/* all literal, else false */
bool value_is_static(const struct value *v);	/* sizes are exact */
bool value_is_default_order(const struct value *v);	/* dim_order 0, 1, 2, ... */
bool value_same_shape(const struct value *a, const struct value *b);	/* rank and sizes */

/* "forward/6", "forward/3/2" (node 2 of the delegate called by instruction 3), "forward/v12" for elided
 * views, "forward/6+1" for nodes made by a pass. Chains beyond the first: "forward/c1.6". */
const char *node_id(const struct graph *g, const struct node *n, char *buf, size_t bytes);
struct node *graph_find(const struct graph *g, const char *id);

/* One node a line, for tests, --explain and debugging: "%5 = aten.add.Tensor(%1, %2, 1) f32[2,3] @0". */
void graph_print(const struct graph *g, struct str *s);
void node_print(const struct graph *g, const struct node *n, struct str *s);
/* "f32[1,1024,500]"; dynamic sizes are written "<=500". */
void value_type_print(const struct value *v, struct str *s);

/* The invariants: definitions before uses, users lists exact, one writer, sizes and bytes consistent, groups in range. */
bool graph_check(const struct graph *g, struct error *err);

#endif
