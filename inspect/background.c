#include "inspect/background.h"

#include "inspect/task.h"

#include <stdio.h>
#include <string.h>

static const struct background_job *current(const struct background *b)
{
	return &b->queue.at[b->at];
}

static void drop_before(struct background *b)
{
	if (b->has_before)
		job_result_free(&b->before);
	b->has_before = false;
}

static void add_failure(struct background *b, const struct error *err)
{
	drop_before(b);
	if (current(b)->outputs)
		snprintf(b->failed, sizeof b->failed, "%s", err->text);
	else
		session_add_failure(b->s, current(b)->version, current(b)->method, "module", current(b)->engine, err->text);
}

static bool start(struct background *b, struct error *err)
{
	const struct background_job *j = current(b);

	if (j->as_meant)
		return session_job_as_meant(b->s, j->method, &b->job, err) && worker_start(&b->worker, &b->job, err);
	if (!session_job(b->s, j->version, j->method, &b->job, err))
		return false;
	b->job.engine = j->engine;
	b->job.outputs = j->outputs;
	b->job.node_times = !j->outputs;
	if (j->outputs)
		b->job.runs = 0;
	return worker_start(&b->worker, &b->job, err);
}

/* Starts the job at b->at, or the first one after it that starts. */
static void start_next(struct background *b)
{
	for (; b->at < b->queue.n; b->at++) {
		struct error err = { 0 };

		if (start(b, &err))
			return;
		add_failure(b, &err);
	}
	background_stop(b);
}

static bool begin(struct background *b, struct session *s, bool timed, struct error *err)
{
	if (b->worker)
		return error_set(err, ERROR_REFUSED, "a run is going on already; Esc stops it");
	*b = (struct background){ .s = s, .since_ms = task_clock_ms() };
	s->nverify = 0;
	for (int m = 0; m < s->program->nmethods && s->current; m++)
		for (int after = 0; after < 2; after++)
			vec_push(&b->mem, &b->queue,
				 ((struct background_job){ after ? s->current : 0, m, ENGINE_FILED, true, false }));
	for (int m = 0; timed && m < s->program->nmethods; m++)
		for (int meant = 0; meant < 2 && session_can_measure(s, m); meant++)
			vec_push(&b->mem, &b->queue, ((struct background_job){ 0, m, meant ? ENGINE_PORTABLE : ENGINE_FILED, true, meant }));
	for (int v = 0; timed && v <= s->current; v += s->current ? s->current : 1)
		for (int m = 0; m < s->program->nmethods; m++)
			for (int e = 0; e < ENGINES; e++)
				vec_push(&b->mem, &b->queue, ((struct background_job){ v, m, (enum engine)e, false, false }));
	start_next(b);
	return true;
}

bool background_bench(struct background *b, struct session *s, struct error *err)
{
	return begin(b, s, true, err);
}

bool background_verify(struct background *b, struct session *s, struct error *err)
{
	return begin(b, s, false, err);
}

int background_fd(const struct background *b)
{
	return b->worker ? worker_fd(b->worker) : -1;
}

static bool take(struct background *b, struct error *err)
{
	const struct background_job *j = current(b);
	struct job_result r = { 0 };

	if (!worker_result(b->worker, &r, err))
		return false;
	if (!j->outputs) {
		bool ok = session_add_bench(b->s, j->version, j->method, "module", &b->job, &r, err);

		job_result_free(&r);
		return ok;
	}
	if (j->version || j->as_meant) {
		if (b->has_before && j->as_meant)
			session_add_measure(b->s, j->method, &b->before, &r);
		else if (b->has_before)
			session_add_verify(b->s, j->method, "before-after", &b->before, &r);
		job_result_free(&r);
		drop_before(b);
	} else {
		b->before = r;
		b->has_before = true;
	}
	return true;
}

bool background_step(struct background *b)
{
	struct error err = { 0 };
	enum worker_state state;

	if (!b->worker)
		return false;
	state = worker_step(b->worker, &err);
	if (state == WORKER_RUNNING)
		return false;
	if (state == WORKER_FAILED || !take(b, &err))
		add_failure(b, &err);
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
	drop_before(b);
	arena_free(&b->mem);
	b->queue.n = b->queue.cap = b->at = 0;
	b->queue.at = NULL;
}

void background_what(const struct background *b, char *buf, size_t bytes)
{
	const struct background_job *j = current(b);
	double part = (b->at + worker_progress(b->worker)) / b->queue.n;
	double spent = (double)(task_clock_ms() - b->since_ms) / 1000, left = part > 0 ? spent * (1 - part) / part : 0;
	char time[48] = "";

	if (spent >= 1)
		snprintf(time, sizeof time, left < 90 ? ", about %.0f s left" : ", about %.0f min left",
			 left < 90 ? left : left / 60);
	snprintf(buf, bytes, "%d of %d: %s %s %s, %s, %.0f %%%s", b->at + 1, b->queue.n, j->outputs ? "outputs of" : "timing",
		 b->s->program->method[j->method]->method, j->as_meant ? "as meant" : j->version ? "after" : "before",
		 engine_names[j->engine],
		 part * 100, time);
}
