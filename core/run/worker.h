/* worker.h - runs in a child: our own executable, started again with --worker.
 *
 * The parent runs no model and no XNNPACK; a child that crashes, hangs or is stopped costs one failed row. A
 * job names a program (a path, or a descriptor with emitted bytes), a method, an engine and how often; the child
 * opens, lifts and runs it, and sends progress and one result over a socket. The child is in a process group of
 * its own, so that a Ctrl-C reaches the parent alone, and dies when the parent dies. */
#ifndef CORE_RUN_WORKER_H
#define CORE_RUN_WORKER_H

#include "core/run/exec.h"
#include "core/run/input.h"
#include "core/run/stats.h"

struct job {
	const char *path;		/* the program; for messages only when fd >= 0 */
	int fd;				/* descriptor of the program's bytes, or -1 */
	const char *const *data;	/* .ptd files */
	int ndata;
	const char *method;
	enum engine engine;
	int threads, warmup, runs;	/* runs 0: one run for the outputs, no timing. Threads 0: all cores */
	double max_seconds;		/* of the timed runs; warm-ups stop at it as well */
	int calls;			/* consecutive calls from the initial state; outputs are those of all calls (stateful: 3) */
	bool outputs, node_times;
	bool as_meant;			/* core/program/meant.h; portably */
	uint64_t seed;
	const char *const *npy;
	int nnpy;
	const struct input_shape *shape;
	int nshapes;
};

struct job_node { const char *id; double ms; };	/* median; id as node_id gives it */

struct job_result {
	struct arena mem;
	double setup_ms, first_ms;
	struct stats stats;
	struct tensor *output;		/* call by call; data NULL where the method returns nothing */
	int noutputs;			/* of one call */
	int ncalls;
	struct job_node *node;		/* of what was run, delegates by their first node */
	int nnodes;
	const char **missing;		/* exec_missing */
	int nmissing;
};

struct worker;

/* Starts a job. Poll worker_fd for input and call worker_step until it says it is done. */
bool worker_start(struct worker **w, const struct job *job, struct error *err);
int worker_fd(const struct worker *w);
enum worker_state { WORKER_RUNNING, WORKER_DONE, WORKER_FAILED };
enum worker_state worker_step(struct worker *w, struct error *err);	/* does not block */
double worker_progress(const struct worker *w);	/* 0 to 1 */
bool worker_result(struct worker *w, struct job_result *r, struct error *err);	/* after WORKER_DONE; takes the memory */
void worker_stop(struct worker *w);	/* kills the child if it still runs, and frees; NULL is fine */
void job_result_free(struct job_result *r);

/* Starts, waits, stops: for batch use. A child that does not answer for a long time is killed. When *stop (may be
 * NULL) becomes true, by a signal handler say, the child is killed and the error says "stopped". */
bool worker_run(const struct job *job, struct job_result *r, const volatile int *stop, struct error *err);

/* The child: main calls this for `etinspect --worker`. Returns the exit status. */
int worker_main(void);

#endif
