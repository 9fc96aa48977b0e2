/* session.h - what both sides of the screen share: program, versions, facts, edits, timings.
 *
 * `inspect` alone changes a session, through the functions here; `views` only read it. Versions are a stack:
 * applying pushes one, undo steps back, redo forward; a new edit drops what was undone. Version 0 is the file.
 * Methods that an edit leaves as they are share their graph with the version before. */
#ifndef CORE_SESSION_SESSION_H
#define CORE_SESSION_SESSION_H

#include "core/pass/fold.h"
#include "core/pass/linear.h"
#include "core/program/emit.h"
#include "core/run/cpu.h"
#include "core/run/worker.h"
#include "core/session/constants.h"
#include "core/session/facts.h"

enum apply_step { APPLY_FOLD, APPLY_LINEAR, APPLY_PARTITION };

struct version {
	struct graph **method;		/* version 0: the program's own */
	const char *applied;		/* "fold", "linear", "partition"; NULL for version 0 */
	struct method_facts *facts;	/* one a method, made when asked for */
	bool has_facts;
	struct emitted emitted;		/* made when asked for: sizes, and what is written */
	bool has_emitted;
	struct constant_row *constant;	/* made with the facts */
	int nconstants;
	struct fold_plan fold;		/* both made with the facts */
	struct linear_plan linear;
	bool has_plans;
	struct arena mem;		/* of the facts */
	struct files_of_version *files;	/* the emitted program in memory, for workers */
};

struct bench_row {
	int method;
	const char *subject;		/* module, operator or node; NULL: the whole method */
	int version;
	enum engine engine;
	double setup_ms, first_ms;
	struct stats stats;		/* of a subject: median only, summed over its nodes */
	double share, gflops;
	const char *failed;		/* why, or NULL */
};

struct verify_row {
	int method;
	const char *pair;		/* "before-after", "portable-xnnpack" */
	int output;
	double max_abs_diff, max_rel_diff;
	bool ok;
};

struct run_options {
	int threads, warmup, runs;
	double max_seconds, tolerance;
	uint64_t seed;
	const char *const *method;	/* session_bench times only these, and session_verify runs only these of a program
					 * that is as filed; none: all */
	int nmethods;
	struct { const char *method, *path; } *input;	/* --input; method NULL: any */
	int ninputs;
	struct { const char *method; struct input_shape shape; } *shape;
	int nshapes;
};

struct session {
	struct arena mem;
	struct program *program;
	const char *const *data_path;
	int ndata_paths;
	bool in_memory;			/* version 0 has no path that a worker could open: the demo, standard input */
	struct version *version;
	int nversions, capversions, current;
	struct run_options run;		/* session_open sets what REPORT says; the caller may change it */
	struct work *work;		/* who looks on while facts are made, it is edited, emitted, written; or NULL */
	const volatile int *stop;	/* set by a signal handler: runs end, with the error "stopped"; may be NULL */
	struct cpu cpu;
	struct bench_row *bench;
	int nbench, capbench;
	struct verify_row *verify;
	int nverify, capverify;
};

bool session_open(struct session **out, const char *path, const char *const *data, int ndata, struct error *err);
/* The same, with somebody who looks on and may stop it. */
bool session_open_watched(struct session **out, const char *path, const char *const *data, int ndata, struct work *work,
			  struct error *err);
bool session_open_demo(struct session **out, const void *bytes, size_t n, struct error *err);
void session_close(struct session *s);

struct version *session_version(struct session *s);	/* the current one */
/* Makes plans and facts of a version. Later ones are emitted first: facts are those of what would be written. */
bool session_facts(struct session *s, int version, struct error *err);
/* Applies a step to the current version (fold and linear: the marked candidates) and pushes the result when
 * anything changed; *changed tells. */
bool session_apply(struct session *s, enum apply_step step, bool *changed, struct error *err);
bool session_undo(struct session *s);
bool session_redo(struct session *s);
bool session_emit(struct session *s, int version, struct error *err);
bool session_write(struct session *s, const char *path, bool replace, struct error *err);	/* the current version */

/* A session beside this one, for another thread: it shares the versions up to the current one, and may be edited,
 * emitted and written while this one is only read. What it made is then taken over, or dropped with it. Between draft
 * and take or drop nothing may change this session, marks of candidates included. Both end the draft. */
struct session *session_draft(const struct session *s);
void session_take(struct session *s, struct session *draft);
void session_drop(const struct session *s, struct session *draft);

/* A job for a method of a version, with the session's run options; the caller sets the engine and may change
 * the rest. What it points to (fd is the emitted program in memory) is owned by the session. */
bool session_job(struct session *s, int version, int method, struct job *job, struct error *err);
/* What a job that has ended adds: bench rows for the method and, with `by`, for its modules, operators or nodes;
 * measured times of the version's nodes; warnings of what the host's XNNPACK lacks. why: it failed. */
bool session_add_bench(struct session *s, int version, int method, const char *by, const struct job *job,
		       const struct job_result *r, struct error *err);
/* A row for the method; and with `by` one for the module, operator or node that the error names. */
void session_add_failure(struct session *s, int version, int method, const char *by, enum engine engine, const char *why);

/* Compares the outputs of two jobs that were given the same inputs, and adds verify rows. */
void session_add_verify(struct session *s, int method, const char *pair, const struct job_result *a, const struct job_result *b);

/* Whether the file's method holds nodes with a wrong result that were not measured and can be. */
bool session_can_measure(const struct session *s, int method);
/* The job that runs it as it was meant; its outputs against those as filed go into the warnings. */
bool session_job_as_meant(struct session *s, int method, struct job *job, struct error *err);
void session_add_measure(struct session *s, int method, const struct job_result *filed, const struct job_result *meant);
/* All of that, for all methods; what cannot be run stays unmeasured. */
void session_measure(struct session *s);

/* Runs both versions (and portable against XNNPACK) on the same inputs and adds verify rows. ok: within the tolerance,
 * or within 1 % of the largest output where activations are quantised as the method runs. */
bool session_verify(struct session *s, int before, int after, struct error *err);
/* Times each method as filed, portable and through XNNPACK, for one version; adds bench rows, failed ones too. by:
 * "module", "op" or "node", or NULL. */
bool session_bench(struct session *s, int version, const char *by, void (*progress)(void *ctx, const char *what, double part),
		   void *ctx, struct error *err);

#endif
