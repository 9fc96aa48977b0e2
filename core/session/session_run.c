/* Runs of versions in workers: comparing what they give, timing them. */
#include "core/session/session_parts.h"

#include "core/op/op.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Jobs */

static bool is_for(const char *wanted, const struct graph *g)
{
	return !wanted || !strcmp(wanted, g->method);
}

static bool is_asked_for(const struct session *s, const struct graph *g)
{
	for (int i = 0; i < s->run.nmethods; i++)
		if (!strcmp(s->run.method[i], g->method))
			return true;
	return !s->run.nmethods;
}

static void choose_inputs(struct session *s, const struct graph *g, struct job *job)
{
	const struct run_options *o = &s->run;
	const char **npy = arena_array(&s->mem, (size_t)o->ninputs, sizeof *npy);
	struct input_shape *shape = arena_array(&s->mem, (size_t)o->nshapes, sizeof *shape);

	for (int i = 0; i < o->ninputs; i++)
		if (is_for(o->input[i].method, g))
			npy[job->nnpy++] = o->input[i].path;
	for (int i = 0; i < o->nshapes; i++)
		if (is_for(o->shape[i].method, g))
			shape[job->nshapes++] = o->shape[i].shape;
	job->npy = npy;
	job->shape = shape;
}

static bool keeps_state(const struct graph *g)
{
	for (int i = 0; i < g->nvalues; i++)
		if (g->value[i]->kind == VALUE_STATE && g->value[i]->nuses)
			return true;
	return false;
}

bool session_job(struct session *s, int version, int method, struct job *job, struct error *err)
{
	const struct graph *g = s->version[version].method[method];
	struct files_of_version *f;

	if (!session_files(s, version, &f, err))
		return false;
	*job = (struct job){ .path = s->program->file.path, .fd = f->program, .data = f->path, .ndata = s->ndata_paths,
		.method = g->method, .engine = ENGINE_FILED, .threads = s->run.threads, .warmup = s->run.warmup, .runs = s->run.runs,
		.max_seconds = s->run.max_seconds, .calls = keeps_state(s->program->method[method]) ? 3 : 1, .seed = s->run.seed };
	choose_inputs(s, g, job);
	return true;
}

/* Verifying */

static bool run_for_outputs(struct session *s, int version, int method, enum engine engine, struct job_result *r,
			    struct error *err)
{
	struct job job;

	if (!session_job(s, version, method, &job, err))
		return false;
	job.engine = engine;
	job.outputs = true;
	job.runs = 0;
	return worker_run(&job, r, s->stop, err);
}

static size_t offset_of(const struct tensor *t, int64_t i)
{
	int64_t at = 0;

	for (int d = t->rank - 1; d >= 0; d--) {
		at += i % t->size[d] * t->stride[d];
		i /= t->size[d];
	}
	return (size_t)at;
}

static void compare(const struct tensor *a, const struct tensor *b, struct verify_row *row)
{
	bool alike = a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size);

	if (!alike)
		row->max_abs_diff = row->max_rel_diff = INFINITY;
	for (int64_t i = 0, n = alike && a->data && b->data ? tensor_numel(a) : 0; i < n; i++) {
		double x = dtype_get(a->dtype, a->data, offset_of(a, i)), y = dtype_get(b->dtype, b->data, offset_of(b, i));
		double diff = fabs(x - y);

		if (x == y || (isnan(x) && isnan(y)))
			continue;
		if (isnan(diff))
			diff = INFINITY;
		row->max_abs_diff = fmax(row->max_abs_diff, diff);
		row->max_rel_diff = fmax(row->max_rel_diff, diff / fmax(fabs(x), 1e-30));
	}
}

static double largest(const struct job_result *r, int output)
{
	double most = 0;

	for (int c = 0; c < r->ncalls; c++) {
		const struct tensor *t = &r->output[c * r->noutputs + output];

		for (int64_t i = 0, n = t->data ? tensor_numel(t) : 0; i < n; i++)
			most = fmax(most, fabs(dtype_get(t->dtype, t->data, (size_t)i)));
	}
	return most;
}

/* Whether activations are quantised as the method runs. XNNPACK and the portable kernels round their ranges
 * differently, by up to a step of 1/255 here and there: no error of ours, and no smaller than that. */
static bool quantizes_as_it_runs(const struct graph *g)
{
	for (const struct node *n = g->first; n; n = n->next)
		if (n->op->flags & OP_QUANTIZE && strstr(n->op->name, "choose_qparams"))
			return true;
	return false;
}

static void add_verify(struct session *s, struct verify_row row, double allowed)
{
	if (s->nverify == s->capverify)
		s->verify = vec_grow(&s->mem, s->verify, s->nverify, &s->capverify, sizeof *s->verify);
	row.ok = row.max_abs_diff <= allowed;
	s->verify[s->nverify++] = row;
}

void session_add_verify(struct session *s, int method, const char *pair, const struct job_result *a, const struct job_result *b)
{
	bool rounds = quantizes_as_it_runs(s->program->method[method]);

	for (int i = 0; i < a->noutputs; i++) {
		struct verify_row row = { .method = method, .pair = pair, .output = i };

		if (a->noutputs != b->noutputs || a->ncalls != b->ncalls)
			row.max_abs_diff = row.max_rel_diff = INFINITY;
		for (int c = 0; c < a->ncalls && isfinite(row.max_abs_diff); c++)
			compare(&a->output[c * a->noutputs + i], &b->output[c * b->noutputs + i], &row);
		add_verify(s, row, fmax(s->run.tolerance, rounds ? 0.01 * largest(a, i) : 0));
	}
}

/* Measuring what comes out wrong */

bool session_can_measure(const struct session *s, int method)
{
	const struct version *v = &s->version[0];

	for (int i = 0; v->has_facts && i < v->facts[method].nwarnings; i++) {
		const struct warning *w = &v->facts[method].warning[i];

		if (w->measurable && w->max_abs_diff < 0 && !v->method[method]->rigid)
			return true;
	}
	return false;
}

bool session_job_as_meant(struct session *s, int method, struct job *job, struct error *err)
{
	if (!session_job(s, 0, method, job, err))
		return false;
	job->engine = ENGINE_PORTABLE;
	job->as_meant = job->outputs = true;
	job->runs = 0;
	return true;
}

/* Later versions compute what the file does, and warn of the same where the node is still there. */
static void keep_measure(struct session *s, int method, const struct warning *w)
{
	for (int v = 0; v < s->nversions; v++)
		for (int i = 0; s->version[v].has_facts && i < s->version[v].facts[method].nwarnings; i++) {
			struct warning *x = &s->version[v].facts[method].warning[i];

			if (x->measurable && !strcmp(x->id, w->id) && !strcmp(x->text, w->text))
				x->max_abs_diff = w->max_abs_diff;
		}
}

void session_add_measure(struct session *s, int method, const struct job_result *filed, const struct job_result *meant)
{
	struct method_facts *f = &s->version[0].facts[method];
	struct verify_row row = { 0 };

	if (filed->noutputs != meant->noutputs || filed->ncalls != meant->ncalls)
		return;
	for (int i = 0; i < filed->ncalls * filed->noutputs; i++)
		compare(&filed->output[i], &meant->output[i], &row);
	for (int i = 0; i < f->nwarnings; i++)
		if (f->warning[i].measurable) {
			f->warning[i].max_abs_diff = row.max_abs_diff;
			keep_measure(s, method, &f->warning[i]);
		}
}

void session_measure(struct session *s)
{
	for (int m = 0; m < s->program->nmethods; m++) {
		struct job_result filed = { 0 }, meant = { 0 };
		struct job job;

		if (!session_can_measure(s, m) || !is_asked_for(s, s->version[0].method[m]))
			continue;
		if (run_for_outputs(s, 0, m, ENGINE_FILED, &filed, NULL) && session_job_as_meant(s, m, &job, NULL) &&
		    worker_run(&job, &meant, s->stop, NULL))
			session_add_measure(s, m, &filed, &meant);
		job_result_free(&filed);
		job_result_free(&meant);
	}
}

struct side { int version; enum engine engine; };

static bool verify_pair(struct session *s, int method, const char *pair, struct side x, struct side y, struct error *err)
{
	struct job_result a = { 0 }, b = { 0 };
	bool ok = run_for_outputs(s, x.version, method, x.engine, &a, err) && run_for_outputs(s, y.version, method, y.engine, &b, err);

	if (ok)
		session_add_verify(s, method, pair, &a, &b);
	job_result_free(&a);
	job_result_free(&b);
	return ok;
}

bool session_verify(struct session *s, int before, int after, struct error *err)
{
	struct error why, *first = err;
	bool ok = true;

	s->nverify = 0;
	for (int m = 0; m < s->program->nmethods; m++) {
		const struct graph *g = s->version[after].method[m];

		if (!after && !is_asked_for(s, g))
			continue;
		if (g->rigid && g == s->version[before].method[m])	/* cannot run here, and nobody touched it */
			continue;
		if (before != after && !verify_pair(s, m, "before-after", (struct side){ before, ENGINE_FILED },
						    (struct side){ after, ENGINE_FILED }, first)) {
			ok = false;
			first = &why;	/* the first failure is the one that is told */
		}
		if (!verify_pair(s, m, "portable-xnnpack", (struct side){ after, ENGINE_PORTABLE },
				 (struct side){ after, ENGINE_XNNPACK }, first)) {
			ok = false;
			first = &why;
		}
		if (s->stop && *s->stop)
			break;
	}
	return ok;
}

/* Timing */

struct telling { void (*progress)(void *ctx, const char *what, double part); void *ctx; const char *what; double from, share; };

static bool run_and_tell(struct session *s, const struct job *job, const struct telling *t, struct job_result *r, struct error *err)
{
	enum worker_state state;
	struct worker *w;
	bool ok;

	if (!worker_start(&w, job, err))
		return false;
	while ((state = worker_step(w, err)) == WORKER_RUNNING && !(s->stop && *s->stop)) {
		if (t->progress)
			t->progress(t->ctx, t->what, t->from + t->share * worker_progress(w));
		poll(&(struct pollfd){ .fd = worker_fd(w), .events = POLLIN }, 1, 100);
	}
	ok = state == WORKER_DONE ? worker_result(w, r, err) : state == WORKER_FAILED ? false :
	     error_set(err, ERROR_RUN, "stopped");
	worker_stop(w);
	return ok;
}

bool session_bench(struct session *s, int version, const char *by, void (*progress)(void *ctx, const char *what, double part),
		   void *ctx, struct error *err)
{
	int n = s->program->nmethods;

	for (int i = 0; i < n * ENGINES; i++) {
		int m = i / ENGINES;
		enum engine engine = (enum engine)(i % ENGINES);
		struct job_result r = { 0 };
		struct error why = { 0 };
		struct job job;
		char what[128];
		struct telling t = { progress, ctx, what, (double)i / (n * ENGINES), 1.0 / (n * ENGINES) };

		if (!is_asked_for(s, s->version[version].method[m]))
			continue;
		snprintf(what, sizeof what, "%s %s, %s", s->version[version].method[m]->method, version ? "after" : "before",
			 engine_names[engine]);
		if (!session_job(s, version, m, &job, err))
			return false;
		job.engine = engine;
		job.node_times = true;
		if (!run_and_tell(s, &job, &t, &r, &why))
			session_add_failure(s, version, m, by, engine, why.text);
		else if (!session_add_bench(s, version, m, by, &job, &r, err))
			return job_result_free(&r), false;
		job_result_free(&r);
		if (s->stop && *s->stop)
			return error_set(err, ERROR_RUN, "stopped");
	}
	if (progress)
		progress(ctx, "", 1);
	return true;
}
