#include "inspect/background.h"

#include <stdio.h>
#include <string.h>

static const struct background_job *current(const struct background *b)
{
	return &b->queue.at[b->at];
}

static void add_row(struct background *b, struct bench_row row)
{
	struct session *s = b->s;

	if (s->nbench == s->capbench)
		s->bench = vec_grow(&s->mem, s->bench, s->nbench, &s->capbench, sizeof *s->bench);
	row.method = current(b)->method;
	row.version = current(b)->version;
	row.engine = current(b)->engine;
	s->bench[s->nbench++] = row;
}

static void add_failure(struct background *b, const struct error *err)
{
	add_row(b, (struct bench_row){ .failed = arena_string(&b->s->mem, err->text) });
}

/* Starts the job at b->at, or the first one after it that starts. */
static bool start_next(struct background *b)
{
	bool added = false;

	for (; b->at < b->queue.n; b->at++) {
		struct job job;
		struct error err = { 0 };

		if (session_job(b->s, current(b)->version, current(b)->method, &job, &err)) {
			job.engine = current(b)->engine;
			if (worker_start(&b->worker, &job, &err))
				return added;
		}
		add_failure(b, &err);
		added = true;
	}
	background_stop(b);
	return added;
}

bool background_start(struct background *b, struct session *s, struct error *err)
{
	if (b->worker)
		return error_set(err, ERROR_REFUSED, "a run is going on already; Esc stops it");
	*b = (struct background){ .s = s };
	for (int v = 0; v <= s->current; v += s->current ? s->current : 1)
		for (int m = 0; m < s->program->nmethods; m++)
			for (enum engine e = 0; e < ENGINES; e++)
				vec_push(&b->mem, &b->queue, ((struct background_job){ v, m, e }));
	start_next(b);
	return true;
}

int background_fd(const struct background *b)
{
	return b->worker ? worker_fd(b->worker) : -1;
}

static void finish(struct background *b)
{
	struct job_result r = { 0 };
	struct error err = { 0 };

	if (worker_result(b->worker, &r, &err))
		add_row(b, (struct bench_row){ .setup_ms = r.setup_ms, .first_ms = r.first_ms, .stats = r.stats, .share = 1 });
	else
		add_failure(b, &err);
	job_result_free(&r);
}

bool background_step(struct background *b)
{
	struct error err = { 0 };

	if (!b->worker)
		return false;
	switch (worker_step(b->worker, &err)) {
	case WORKER_RUNNING: return false;
	case WORKER_DONE: finish(b); break;
	case WORKER_FAILED: add_failure(b, &err); break;
	}
	worker_stop(b->worker);
	b->worker = NULL;
	b->at++;
	start_next(b);
	return true;
}

void background_stop(struct background *b)
{
	if (b->worker)
		worker_stop(b->worker);
	b->worker = NULL;
	arena_free(&b->mem);
	b->queue.n = b->queue.cap = b->at = 0;
	b->queue.at = NULL;
}

void background_what(const struct background *b, char *buf, size_t bytes, double *part)
{
	const struct background_job *j = current(b);

	snprintf(buf, bytes, "%s %s, %s", b->s->program->method[j->method]->method, j->version ? "after" : "before",
		 engine_names[j->engine]);
	*part = worker_progress(b->worker);
}
