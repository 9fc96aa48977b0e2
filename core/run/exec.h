/* exec.h - runs one graph: portable kernels node by node, and groups through XNNPACK if asked.
 *
 * exec_open does what the runtime does at load: plans memory, lowers and creates the delegates. State starts
 * from its initial bytes and is kept between runs until exec_reset. */
#ifndef CORE_RUN_EXEC_H
#define CORE_RUN_EXEC_H

#include "core/op/op.h"
#include "core/program/program.h"

enum engine {
	ENGINE_FILED,		/* groups as they are through XNNPACK, the rest portable */
	ENGINE_PORTABLE,	/* every node by its portable kernel */
	ENGINE_XNNPACK,		/* partitioned anew (on a clone), then as FILED */
	ENGINES,
};
extern const char *const engine_names[ENGINES];	/* "filed", "portable", "xnnpack" */

/* What the methods of a program keep between runs: execs that are given the same one share it, as methods of one
 * loaded program do. It must outlive them. */
struct exec_state;
struct exec_state *exec_state_new(void);
void exec_state_free(struct exec_state *s);

struct exec_options {
	enum engine engine;
	int threads;
	bool time_nodes;	/* keep a time for every node and group */
	uint64_t seed;		/* of random operators */
	char *where;		/* WHERE_BYTES that get the id of what is being made or run, for whoever may have to
				 * tell what we died of; NULL: nobody asks */
	struct exec_state *state;	/* NULL: its own */
};
enum { WHERE_BYTES = 64 };

struct exec;

bool exec_open(struct exec **out, const struct program *p, const struct graph *g, const struct exec_options *o,
	       struct error *err);
/* One run. input[i]: tensors (or rank-0 tensors for numbers) for the graph's inputs, in order; what the file
 * demands a certain number or string for may be NULL. Inputs are copied. */
bool exec_run(struct exec *e, struct tensor *const *input, int ninputs, struct error *err);
/* Output i of the last run; lives until the next. NULL where the method returns no tensor and no number. */
const struct tensor *exec_output(const struct exec *e, int i);
int exec_noutputs(const struct exec *e);
void exec_reset(struct exec *e);	/* state, all that is shared, back to its initial bytes */
void exec_close(struct exec *e);

/* The graph that is run: the one given, or for ENGINE_XNNPACK its clone. */
const struct graph *exec_graph(const struct exec *e);
/* Nanoseconds of the last run spent in a node of it (a group's time stands at its first node). */
uint64_t exec_node_ns(const struct exec *e, const struct node *n);

/* What could not go through the host's XNNPACK and ran portable instead: node id and why. */
int exec_nmissing(const struct exec *e);
const char *exec_missing(const struct exec *e, int i);

/* Evaluates constant-only nodes for the fold, each once: the n values of v, in arena memory. Portable kernels only. */
bool exec_constants(const struct graph *g, struct value **v, int n, struct arena *a, struct tensor *out,
		    struct error *err);

#endif
