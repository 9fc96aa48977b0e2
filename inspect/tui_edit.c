/* Edits and writing: each on a draft of the session, in a thread, while the pages live on. */
#include "inspect/tui_parts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { END_MS = 2000 };	/* what works in a thread has so long to stop when we leave */

/* Rows point into versions; before one may go, all pages let go of them. */
static void forget_all(struct tui *t)
{
	for (int i = 0; i < PAGES; i++)
		page_forget(&t->page[i], &t->ui);
}

static int sum(const struct tui *t, int (*of)(const struct method_facts *f))
{
	int n = 0;

	for (int m = 0; m < t->s->program->nmethods; m++)
		n += of(&ui_version(&t->ui)->facts[m]);
	return n;
}

static int left_out(const struct method_facts *f)
{
	return f->nleft_out;
}

static int delegates(const struct method_facts *f)
{
	return f->ndelegates;
}

/* A run is of versions that an edit may drop. Timing is stopped by a person only, comparing starts anew anyway. */
bool tui_may_edit(struct tui *t)
{
	if (t->task.running || (background_fd(&t->run) >= 0 && t->timing)) {
		tui_say(t, true, t->task.running ? "the last one is still going on; Esc stops it" :
		    "a run is going on; Esc stops it");
		return false;
	}
	background_stop(&t->run);
	return true;
}

/* Every edit is tried out: both versions on the same inputs. */
void tui_compare(struct tui *t)
{
	struct error err = { 0 };

	t->timing = false;
	if (t->s->current && !background_verify(&t->run, t->s, &err))
		tui_say(t, true, "%s", err.text);
}

/* What the comparison gave, once all of it has ended. */
void tui_say_compared(struct tui *t)
{
	double worst = 0;
	bool ok = true;

	if (*t->run.failed) {
		tui_say(t, true, "outputs not compared: %s", t->run.failed);
		return;
	}
	for (int i = 0; i < t->s->nverify; i++) {
		worst = worst > t->s->verify[i].max_abs_diff ? worst : t->s->verify[i].max_abs_diff;
		ok = ok && t->s->verify[i].ok;
	}
	if (t->s->nverify)
		tui_say(t, !ok, ok ? "same outputs, largest difference %.1e.  b times it, w writes it, u undoes" :
		    "OUTPUTS DIFFER by %.3g: do not use this.  u undoes", worst);
}

/* In the thread: only the draft is changed. */
static bool work_on_draft(void *ctx, struct error *err)
{
	struct draft *d = ctx;

	if (d->nsteps)
		return edits_apply(d->s, d->step, d->nsteps, err);
	return session_write(d->s, d->path, true, err);
}

static void start_draft(struct tui *t)
{
	struct error err = { 0 };

	t->draft.s = session_draft(t->s);
	t->draft.s->work = &t->task.work;
	if (!task_start(&t->task, work_on_draft, &t->draft, &err)) {
		session_drop(t->s, t->draft.s);
		tui_say(t, true, "%s", err.text);
	}
}

void tui_apply(struct tui *t, const enum apply_step *step, int n, const char *nothing)
{
	if (!tui_may_edit(t))
		return;
	t->draft = (struct draft){ .nsteps = n, .nothing = nothing };
	memcpy(t->draft.step, step, (size_t)n * sizeof *step);
	start_draft(t);
}

static void take_edit(struct tui *t)
{
	int out = sum(t, left_out), parts = sum(t, delegates), before = t->s->current;

	forget_all(t);
	session_take(t->s, t->draft.s);
	if (edits_note(&t->edits, t->s, before)) {
		tui_say(t, false, "left out %d, now %d; delegates %d, now %d", out, sum(t, left_out), parts, sum(t, delegates));
		tui_compare(t);
	} else {
		tui_say(t, false, "%s", t->draft.nothing);
	}
	tui_rebuild(t);
}

static void take_written(struct tui *t)
{
	session_take(t->s, t->draft.s);
	t->edits.saved = t->s->current;
	tui_say(t, false, "written to %s", t->draft.path);
}

void tui_end_draft(struct tui *t)
{
	struct error err = { 0 };
	bool stop = t->task.work.stop, ok = task_end(&t->task, &err);

	if (!ok) {
		session_drop(t->s, t->draft.s);
		tui_say(t, !stop, "%s", stop ? "stopped; nothing was changed" : err.text);
	} else {
		t->draft.s->work = NULL;
		if (t->draft.nsteps)
			take_edit(t);
		else
			take_written(t);
	}
	t->draft.s = NULL;
}

void tui_apply_fold(struct tui *t)
{
	tui_apply(t, (const enum apply_step[]){ APPLY_FOLD, APPLY_PARTITION }, 2, "nothing to fold; page 4 says why");
}

void tui_apply_linear(struct tui *t)
{
	tui_apply(t, (const enum apply_step[]){ APPLY_LINEAR, APPLY_PARTITION }, 2,
	      "nothing to make linear; page 5 says why");
}

void tui_apply_partition(struct tui *t)
{
	tui_apply(t, (const enum apply_step[]){ APPLY_PARTITION }, 1,
	      "the partition is as good as it can be; page 3 says why");
}

void tui_apply_all(struct tui *t)
{
	tui_apply(t, (const enum apply_step[]){ APPLY_LINEAR, APPLY_FOLD, APPLY_PARTITION }, 3,
	      "nothing to fix; page 3 says why");
}

void tui_apply_marked(struct tui *t)
{
	if (t->at == PAGE_LINEAR)
		tui_apply_linear(t);
	else if (t->at == PAGE_FOLD)
		tui_apply_fold(t);
	else
		tui_say(t, false, "candidates are marked on pages 4 and 5");
}

void tui_mark(struct tui *t)
{
	struct page *p = tui_here(t);
	struct version *v = &t->s->version[t->s->current];
	int row = page_row(p), i = row >= 0 && p->ops->candidate ? p->ops->candidate(p, &t->ui, row) : -1;

	if (i < 0)
		tui_say(t, false, "candidates are marked on pages 4 and 5");
	else if (t->task.running)
		tui_say(t, true, "an edit is going on; Esc stops it");
	else if (t->at == PAGE_FOLD && v->fold.fold[i].folds)
		v->fold.fold[i].marked = !v->fold.fold[i].marked;
	else if (t->at == PAGE_LINEAR && v->linear.linear[i].converts)
		v->linear.linear[i].marked = !v->linear.linear[i].marked;
	else
		tui_say(t, false, "it stays as it is; the pane says why");
	page_stale(p);
	page_move(p, &t->ui, REQ_DOWN, 1);
}

void tui_step_back(struct tui *t)
{
	if (!tui_may_edit(t))
		return;
	forget_all(t);
	tui_say(t, false, edits_undo(&t->edits, t->s) ? "undone; r brings it back" : "nothing to undo");
	tui_rebuild(t);
}

void tui_step_forth(struct tui *t)
{
	if (!tui_may_edit(t))
		return;
	forget_all(t);
	tui_say(t, false, edits_redo(&t->edits, t->s) ? "done again" : "nothing to redo");
	tui_rebuild(t);
}

/* Writing. */

void tui_write_now(void *ctx, const char *answer)
{
	struct tui *t = ctx;

	if (!tui_may_edit(t))
		return;
	t->draft = (struct draft){ .nsteps = 0 };
	snprintf(t->draft.path, sizeof t->draft.path, "%s", t->write_to);
	start_draft(t);
}

static void write_smaller(void *ctx, const char *answer)
{
	struct tui *t = ctx;
	uint64_t before = t->s->program->file.bytes, after = ui_version(&t->ui)->emitted.program.bytes;
	char question[200], a[TEXT_NUMBER], b[TEXT_NUMBER];

	if (!t->s->current || after <= before) {
		tui_write_now(ctx, answer);
		return;
	}
	snprintf(question, sizeof question, "It is larger than before: %s bytes, was %s. Write it? y/n ",
		 text_exact(a, after),
		 text_exact(b, before));
	prompt_confirm(&t->prompt, question, tui_write_now, t);
}

void tui_ask_replace(struct tui *t, const char *path, void (*then)(void *ctx, const char *answer))
{
	char question[200];

	snprintf(t->write_to, sizeof t->write_to, "%s", path);
	if (!*path) {
		tui_say(t, false, "not written");
	} else if (access(path, F_OK) == 0) {
		snprintf(question, sizeof question, "%.120s is there already. Replace it? y/n ", path);
		prompt_confirm(&t->prompt, question, then, t);
	} else {
		then(t, "");
	}
}

void tui_write(void *ctx, const char *path)
{
	tui_ask_replace(ctx, path, write_smaller);
}

void tui_ask_write(struct tui *t)
{
	struct str name = { 0 };

	look_fast_name(look_path(t->s), &name);
	prompt_ask(&t->prompt, "Write to: ", str_text(&name), tui_write, t);
	str_free(&name);
}

/* What works in a thread is not waited for long: all it can leave behind is a file without a name. */
void tui_leave_draft(struct tui *t, int status)
{
	if (!t->task.running)
		return;
	t->task.work.stop = true;
	if (!task_wait(&t->task, END_MS))
		_exit(status);
	task_end(&t->task, NULL);
	session_drop(t->s, t->draft.s);
}
