/* The child's side: one job, read from descriptor 0, answered there. */
#include "core/program/meant.h"
#include "core/run/cpu.h"
#include "core/run/wire.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SOCKET = 0, PROGRAM = 3, WHERE = 4 };

struct times { double *at; int n, cap; };	/* one a run */

struct child {
	struct arena mem;
	struct job job;
	struct wire_where *where;
	struct program *program;
	struct graph *graph;
	struct graph *meant;		/* or NULL: ours to free */
	struct tensor **input;
	struct exec *exec;
	struct job_result result;
	const struct node **timed;	/* nodes that times are kept for: those that steps begin with */
	struct times *node_ms;		/* by timed node */
	int done, total;		/* runs, for progress */
	double told;			/* when progress was last told */
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void stage(struct child *c, const char *what)
{
	snprintf(c->where->stage, sizeof c->where->stage, "%s", what);
	memset(c->where->at, 0, sizeof c->where->at);
}

/* Talking. A parent that is gone ends it all: there is nobody to work for. */

static bool say(const void *data, size_t n)
{
	for (const uint8_t *p = data; n;) {
		ssize_t k = send(SOCKET, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static bool say_message(enum wire_kind kind, const struct wire_out *out)
{
	struct wire_head head = { kind, out->n };

	return say(&head, sizeof head) && say(out->data, out->n);
}

static bool say_progress(struct child *c)
{
	struct wire_out out = { 0 };
	bool ok;

	c->done++;
	if (now_ms() - c->told < 50)
		return true;
	c->told = now_ms();
	wire_put_double(&out, (double)c->done / c->total);
	ok = say_message(WIRE_PROGRESS, &out);
	wire_free(&out);
	return ok;
}

static bool say_output(const struct tensor *t)
{
	struct wire_tensor w = { .there = t != NULL };
	struct wire_head head = { WIRE_OUTPUT, sizeof w };
	size_t bytes = 0;

	if (t) {
		dtype_tensor_bytes(t->dtype, t->rank, t->size, &bytes);
		w.dtype = t->dtype;
		w.rank = (uint64_t)t->rank;
		memcpy(w.size, t->size, sizeof w.size);
		memcpy(w.dim_order, t->dim_order, sizeof w.dim_order);
	}
	w.bytes = bytes;
	head.bytes += bytes;
	return say(&head, sizeof head) && say(&w, sizeof w) && (!bytes || say(t->data, bytes));
}

static bool gone(struct error *err)
{
	return error_set(err, ERROR_IO, "nobody listens");
}

/* The job */

static bool hear(void *data, size_t n)
{
	for (uint8_t *p = data; n;) {
		ssize_t k = recv(SOCKET, p, n, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static bool read_job(struct child *c)
{
	struct wire_head head;
	struct wire_in in = { 0 };
	uint8_t *body;

	if (!hear(&head, sizeof head) || head.kind != WIRE_JOB || head.bytes > 1 << 24)
		return false;
	body = arena_alloc(&c->mem, head.bytes + 1);
	in.data = body;
	in.n = head.bytes;
	return hear(body, head.bytes) && wire_get_job(&in, &c->job, &c->mem);
}

static bool open_program(struct child *c, struct error *err)
{
	const struct job *j = &c->job;
	struct file f;

	stage(c, "opening");
	snprintf(c->where->at, sizeof c->where->at, "%s", j->path);
	if (j->fd < 0)
		return program_open(&c->program, j->path, j->data, j->ndata, err);
	return file_open_fd(&f, PROGRAM, j->path, err) && program_open_file(&c->program, f, j->data, j->ndata, err);
}

static bool find_method(struct child *c, struct error *err)
{
	for (int i = 0; i < c->program->nmethods; i++)
		if (!strcmp(c->program->method[i]->method, c->job.method)) {
			if (c->job.as_meant)
				c->meant = program_as_meant(c->program, i, err);
			c->graph = c->job.as_meant ? c->meant : c->program->method[i];
			return c->graph;
		}
	return error_set(err, ERROR_RUN, "%s has no method %s", c->job.path, c->job.method);
}

static bool set_up(struct child *c, struct error *err)
{
	struct cpu cpu;
	struct exec_options o = { .engine = c->job.engine, .threads = c->job.threads, .time_nodes = c->job.node_times,
		.seed = c->job.seed, .where = c->where->at };
	double t;

	if (!o.threads) {
		cpu_read(&cpu);
		o.threads = cpu.cores;
	}
	stage(c, "setting up");
	t = now_ms();
	if (!exec_open(&c->exec, c->program, c->graph, &o, err))
		return false;
	c->result.setup_ms = now_ms() - t;
	return true;
}

/* Runs */

static bool run(struct child *c, double *ms, struct error *err)
{
	double t = now_ms();

	if (!exec_run(c->exec, c->input, c->graph->ninputs, err))
		return false;
	*ms = now_ms() - t;
	return say_progress(c) || gone(err);
}

static bool run_calls(struct child *c, struct error *err)
{
	int calls = c->job.calls > 1 ? c->job.calls : 1;
	double ms;

	stage(c, "running");
	for (int k = 0; k < calls; k++) {
		if (!run(c, &ms, err))
			return false;
		if (!k)
			c->result.first_ms = ms;
		for (int i = 0; c->job.outputs && i < exec_noutputs(c->exec); i++)
			if (!say_output(exec_output(c->exec, i)))
				return gone(err);
	}
	c->result.ncalls = calls;
	c->result.noutputs = exec_noutputs(c->exec);
	return true;
}

static bool warm_up(struct child *c, struct error *err)
{
	double end = now_ms() + c->job.max_seconds * 1e3, ms;

	for (int i = 0; i < c->job.warmup && now_ms() < end; i++) {
		exec_reset(c->exec);
		if (!run(c, &ms, err))
			return false;
	}
	return true;
}

static void find_timed_nodes(struct child *c)
{
	const struct graph *g = exec_graph(c->exec);

	c->timed = arena_array(&c->mem, (size_t)g->nnodes, sizeof *c->timed);
	for (const struct node *n = g->first; c->job.node_times && n; n = n->next)
		if (exec_node_ns(c->exec, n))
			c->timed[c->result.nnodes++] = n;
	c->node_ms = arena_array(&c->mem, (size_t)c->result.nnodes, sizeof *c->node_ms);
}

static void finish_times(struct child *c, struct times *ms)
{
	struct job_result *r = &c->result;

	r->stats = stats_of(ms->at, ms->n);
	r->node = arena_array(&c->mem, (size_t)r->nnodes, sizeof *r->node);
	for (int i = 0; i < r->nnodes; i++) {
		char id[256];

		r->node[i].id = arena_string(&c->mem, node_id(exec_graph(c->exec), c->timed[i], id, sizeof id));
		r->node[i].ms = stats_of(c->node_ms[i].at, c->node_ms[i].n).median;
	}
}

static bool time_runs(struct child *c, struct error *err)
{
	struct times all = { 0 };
	double end, ms;

	if (!c->job.runs)
		return true;
	if (!warm_up(c, err))
		return false;
	find_timed_nodes(c);
	end = now_ms() + c->job.max_seconds * 1e3;
	while (all.n < c->job.runs && (!all.n || now_ms() < end)) {
		exec_reset(c->exec);
		if (!run(c, &ms, err))
			return false;
		vec_push(&c->mem, &all, ms);
		for (int i = 0; i < c->result.nnodes; i++)
			vec_push(&c->mem, &c->node_ms[i], (double)exec_node_ns(c->exec, c->timed[i]) / 1e6);
	}
	finish_times(c, &all);
	return true;
}

static bool do_job(struct child *c, struct error *err)
{
	const struct job *j = &c->job;

	c->total = 1 + j->calls + j->warmup + j->runs;
	if (!open_program(c, err) || !find_method(c, err) ||
	    !input_make(&c->input, c->graph, j->npy, j->nnpy, j->shape, j->nshapes, j->seed, &c->mem, err) ||
	    !set_up(c, err) || !run_calls(c, err) || !time_runs(c, err))
		return false;
	c->result.nmissing = exec_nmissing(c->exec);
	c->result.missing = arena_array(&c->mem, (size_t)c->result.nmissing, sizeof *c->result.missing);
	for (int i = 0; i < c->result.nmissing; i++)
		c->result.missing[i] = exec_missing(c->exec, i);
	return true;
}

static int answer(struct child *c)
{
	struct error err = { 0 };
	struct wire_out out = { 0 };
	bool ok = do_job(c, &err);

	if (ok) {
		wire_put_result(&out, &c->result);
	} else {
		wire_put(&out, err.code);
		wire_put_text(&out, err.text);
	}
	ok = say_message(ok ? WIRE_RESULT : WIRE_FAILED, &out);
	wire_free(&out);
	return ok ? 0 : 1;
}

static void no_memory(size_t bytes)
{
	dprintf(STDERR_FILENO, "%zu bytes of memory are not to be had\n", bytes);
	abort();
}

int worker_main(void)
{
	struct child c = { 0 };
	struct rlimit no_core = { 0, 0 };
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	mem_on_failure(no_memory);
	c.where = mmap(NULL, sizeof *c.where, PROT_READ | PROT_WRITE, MAP_SHARED, WHERE, 0);
	if (c.where == MAP_FAILED || !read_job(&c)) {
		dprintf(STDERR_FILENO, "--worker is for etinspect itself: there is no job on standard input\n");
		return 2;
	}
	status = answer(&c);
	exec_close(c.exec);
	graph_free(c.meant);
	program_close(c.program);
	arena_free(&c.mem);
	return status;
}
