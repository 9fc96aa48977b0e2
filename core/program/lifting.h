/* lifting.h - what the parts of lift share: one method on its way from instructions to a graph.
 *
 * lift_value.c turns file values into graph values and arguments, lift_call.c kernel calls into nodes,
 * lift_delegate.c delegate calls; lift.c drives them. Nodes, values and rows are the graph's; scratch dies with
 * the lifting. */
#ifndef CORE_PROGRAM_LIFTING_H
#define CORE_PROGRAM_LIFTING_H

#include "core/program/calls.h"
#include "core/program/lift.h"
#include "core/program/replay.h"

struct lifting {
	struct program *p;
	int plan;
	const struct pte_plan *pte;
	struct graph *g;
	struct arena scratch;
	struct call_table calls;
	struct replay r;
	const int *uses;		/* for foreign delegates */
	const int *slot;		/* state slot of each file value, or -1 */
	struct value **own;		/* by file value: what it is now; a number only once it was computed */
	bool *as_literal;		/* by file value: a number that was read before any instruction wrote it */
	bool *viewed;			/* by file value: an elided view of it was made */
	vec(struct value *) made;	/* by content of the replay */
	vec(int) held_slot;		/* by content: the state slot that it is, or -1 */
	int *content_of_slot;		/* or -1 */
	bool *pointed;			/* by slot: a view of it follows its sizes at run time */
	struct origin at;		/* the instruction being lifted */
	bool as_meant;			/* doubtful nodes of delegates as the program said */
	struct error *err;
};

/* The graph cannot be rewritten or run; the first reason is kept. "forward/6: <sentence>" */
void lift_rigid(struct lifting *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Counts n things that a small file may ask for without end; false and an error when there are too many. */
bool lift_spend(struct lifting *l, size_t n);

/* A tensor of the file as it is now. Never NULL; makes constants, state and elided views as they are met. */
struct value *lift_tensor(struct lifting *l, int32_t v);
/* A file value as an argument. */
bool lift_arg(struct lifting *l, int32_t v, struct arg *a);
/* Gives a graph value the type of a file tensor. */
void lift_type(struct value *v, const struct pte_tensor *t);
/* A new output of n for file value v, typed; call lift_written when the node is complete. */
struct value *lift_add_output(struct lifting *l, struct node *n, int32_t v);
/* An instruction wrote file value v, which is `made` from now on. Writing state becomes a copy_. */
void lift_written(struct lifting *l, int32_t v, struct value *made);
void lift_hold_states(struct lifting *l);
/* State that file value v is or lies in; NULL: it is not state now. */
struct value *lift_state(struct lifting *l, int32_t v);
void lift_name_values(struct lifting *l);

/* A node at the end of the graph, from the instruction being lifted. */
struct node *lift_node(struct lifting *l, const struct op *op, const struct arg *arg, int nargs);

bool lift_kernel(struct lifting *l, const struct pte_instruction *in);
bool lift_delegate(struct lifting *l, const struct pte_instruction *in);

#endif
