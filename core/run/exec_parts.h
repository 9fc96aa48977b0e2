/* exec_parts.h - what the parts of exec share: a graph made ready to run.
 *
 * exec.c opens and runs, exec_plan.c decides where each value lives, exec_bind.c prepares the calls, exec_group.c
 * makes XNNPACK delegates. A run walks the steps; everything a step needs was made when the exec was opened. */
#ifndef CORE_RUN_EXEC_PARTS_H
#define CORE_RUN_EXEC_PARTS_H

#include "core/base/map.h"
#include "core/graph/units.h"
#include "core/run/exec.h"
#include "core/xnn/live.h"

/* XNNPACK may read this far past what it is given (XNN_EXTRA_BYTES). */
enum { OVER_READ = 128, TENSOR_ALIGN = 64 };

/* An operand whose number is only known at run time. */
struct number { struct operand *to; const struct tensor *from; };

/* One kernel call, or one delegate call. */
struct step {
	const struct node *node;	/* the kernel's; the first of a delegate */
	const char *id;			/* WHERE_BYTES of it */
	bool view;			/* the output lies where the input does: only its shape is computed */
	struct call call;
	struct number *number;
	int nnumbers;
	struct live *live;		/* NULL: a kernel */
	struct value **value;		/* of the delegate's arguments; NULL: nothing reads it */
	struct tensor **arg;
	bool *written;			/* by argument: an output */
	int nargs;
	uint64_t ns;
};

/* Where a value lives; by id. */
struct place {
	int root;		/* whose memory: itself, or what it is a view of */
	int first, last;	/* of a root: steps it lives through, from 1; last < 0: no step touches it */
	bool mutated;		/* a node writes into it */
	bool padded;		/* XNNPACK reads it */
};

/* What a slot holds. */
struct state { uint8_t *data; const uint8_t *initial; size_t initial_bytes, bytes; bool begun; };

struct exec_state {
	struct arena mem;
	vec(struct state) slot;
};

struct exec {
	const struct program *program;
	const struct graph *graph;	/* what is run */
	struct graph *own;		/* the same, when it was made here: freed with us */
	struct exec_options option;
	struct arena mem, scratch;
	struct step *step;
	int nsteps;
	struct map step_of;		/* by node pointer */
	struct place *place;
	struct tensor **tensor;		/* by value id */
	struct tensor *literal;		/* by output: numbers that the method returns */
	struct exec_state *state, *own_state;	/* own: freed with us */
	uint64_t seed;
	struct live_pool *pool;
	size_t cache_bytes;		/* set with the pool */
	vec(const char *) missing;
};

/* exec_group.c: the delegate of a unit; *made false: it has to run portably, and that is noted. */
bool exec_open_group(struct exec *e, const struct unit *u, struct step *s, bool *made, struct error *err);
bool exec_run_group(const struct exec *e, struct step *s, struct error *err);
void exec_close_groups(struct exec *e);

/* exec_plan.c: gives every value a tensor, and memory if it needs some. */
bool exec_plan(struct exec *e, struct error *err);

bool exec_no_memory(const struct exec *e, size_t bytes, struct error *err);

/* exec_state.c */
bool exec_plan_state(struct exec *e, struct error *err);
void exec_state_reset(struct exec_state *s);

/* exec_bind.c: the operands of a kernel's call, with these tensors by value id. */
bool exec_bind(struct step *s, const struct graph *g, struct tensor *const *tensor, struct arena *a, struct error *err);
/* Run-time numbers become operands. */
void exec_read_numbers(struct step *s);
/* Computes shapes and then the kernel; checks outputs against what the graph promises. */
bool exec_call(struct step *s, struct arena *scratch, struct error *err);
bool exec_check_output(const struct value *v, const struct tensor *t, struct error *err);

#endif
