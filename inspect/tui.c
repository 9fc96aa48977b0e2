#include "inspect/tui.h"

#include "core/xnn/live.h"
#include "inspect/background.h"
#include "inspect/config.h"
#include "inspect/edits.h"
#include "inspect/keys.h"
#include "inspect/prompt.h"
#include "inspect/task.h"
#include "inspect/terminal.h"
#include "views/screen.h"

#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HISTORY = 64,
	WHEEL_LINES = 3,
	IDLE_MS = 500,	/* a signal that comes just before poll is noticed this late */
	END_MS = 2000,	/* what works in a thread has so long to stop when we leave */
};

struct place { enum page_index page; int method; char id[256]; };

/* An edit, or the writing of the current version, in a thread. */
struct draft {
	struct session *s;		/* NULL: none */
	enum apply_step step[3];
	int nsteps;			/* 0: it is written */
	const char *nothing;		/* what to say when nothing came of it */
	char path[1024];
};

struct tui {
	struct session *s;
	struct ui ui;
	struct page page[PAGES];
	enum page_index at;
	struct place history[HISTORY];
	int nhistory;
	struct edits edits;
	struct background run;
	struct task task;
	struct draft draft;
	struct prompt prompt;
	struct config config;
	char search[256], message[512], write_to[1024];
	bool bad, quit, timing;	/* timing: what runs in the background is a bench */
};

static void say(struct tui *t, bool bad, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(struct tui *t, bool bad, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->message, sizeof t->message, fmt, ap);
	va_end(ap);
	t->bad = bad;
}

static struct page *here(struct tui *t)
{
	return &t->page[t->at];
}

/* Going from place to place. */

static void remember(struct tui *t)
{
	struct page *p = here(t);
	struct place *h;
	const char *id = p->ops->node && page_row(p) >= 0 ? p->ops->node(p, &t->ui, page_row(p)) : NULL;

	if (t->nhistory == HISTORY)
		memmove(t->history, t->history + 1, (size_t)--t->nhistory * sizeof *t->history);
	h = &t->history[t->nhistory++];
	*h = (struct place){ t->at, t->ui.method, "" };
	snprintf(h->id, sizeof h->id, "%s", id ? id : "");
}

static void set_method(struct tui *t, int method)
{
	if (method == t->ui.method)
		return;
	for (int i = 0; i < PAGES; i++)
		page_forget(&t->page[i], &t->ui);
	t->ui.method = method;
}

static void open_page(struct tui *t, enum page_index to, int method, const char *id)
{
	set_method(t, method);
	t->at = to;
	page_build(here(t), &t->ui);
	if (*id && !page_to_node(here(t), &t->ui, id))
		say(t, false, "%s is not on this page", id);
}

static void go_back(struct tui *t)
{
	struct place p;

	if (!t->nhistory) {
		say(t, false, "nowhere to go back to");
		return;
	}
	p = t->history[--t->nhistory];
	open_page(t, p.page, p.method < t->s->program->nmethods ? p.method : 0, p.id);
}

static void next_method(struct tui *t, int dir)
{
	int n = t->s->program->nmethods, to = (t->ui.method + dir + n) % n;

	open_page(t, t->at, to, t->at == PAGE_OVERVIEW ? t->s->program->method[to]->method : "");
	if (n == 1)
		say(t, false, "there is one method only");
}

/* Searching. */

static void search_on(struct tui *t, int dir)
{
	if (!*t->search)
		say(t, false, "nothing was searched for yet");
	else if (!page_search(here(t), &t->ui, t->search, dir))
		say(t, false, "not found: %s", t->search);
}

static void search_for(void *ctx, const char *words)
{
	struct tui *t = ctx;

	if (*words)
		snprintf(t->search, sizeof t->search, "%s", words);
	search_on(t, 1);
}

/* Editing. */

static void rebuild(struct tui *t)
{
	page_build(here(t), &t->ui);
}

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
static bool may_edit(struct tui *t)
{
	if (t->task.running || (background_fd(&t->run) >= 0 && t->timing)) {
		say(t, true, t->task.running ? "the last one is still going on; Esc stops it" :
		    "a run is going on; Esc stops it");
		return false;
	}
	background_stop(&t->run);
	return true;
}

/* Every edit is tried out: both versions on the same inputs. */
static void compare(struct tui *t)
{
	struct error err = { 0 };

	t->timing = false;
	if (t->s->current && !background_verify(&t->run, t->s, &err))
		say(t, true, "%s", err.text);
}

/* What the comparison gave, once all of it has ended. */
static void say_compared(struct tui *t)
{
	double worst = 0;
	bool ok = true;

	if (*t->run.failed) {
		say(t, true, "outputs not compared: %s", t->run.failed);
		return;
	}
	for (int i = 0; i < t->s->nverify; i++) {
		worst = worst > t->s->verify[i].max_abs_diff ? worst : t->s->verify[i].max_abs_diff;
		ok = ok && t->s->verify[i].ok;
	}
	if (t->s->nverify)
		say(t, !ok, ok ? "same outputs, largest difference %.1e.  b times it, w writes it, u undoes" :
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
		say(t, true, "%s", err.text);
	}
}

static void apply(struct tui *t, const enum apply_step *step, int n, const char *nothing)
{
	if (!may_edit(t))
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
		say(t, false, "left out %d, now %d; delegates %d, now %d", out, sum(t, left_out), parts, sum(t, delegates));
		compare(t);
	} else {
		say(t, false, "%s", t->draft.nothing);
	}
	rebuild(t);
}

static void take_written(struct tui *t)
{
	session_take(t->s, t->draft.s);
	t->edits.saved = t->s->current;
	say(t, false, "written to %s", t->draft.path);
}

static void end_draft(struct tui *t)
{
	struct error err = { 0 };
	bool stop = t->task.work.stop, ok = task_end(&t->task, &err);

	if (!ok) {
		session_drop(t->s, t->draft.s);
		say(t, !stop, "%s", stop ? "stopped; nothing was changed" : err.text);
	} else {
		t->draft.s->work = NULL;
		if (t->draft.nsteps)
			take_edit(t);
		else
			take_written(t);
	}
	t->draft.s = NULL;
}

static void apply_fold(struct tui *t)
{
	apply(t, (const enum apply_step[]){ APPLY_FOLD, APPLY_PARTITION }, 2, "nothing to fold; page 4 says why");
}

static void apply_linear(struct tui *t)
{
	apply(t, (const enum apply_step[]){ APPLY_LINEAR, APPLY_PARTITION }, 2,
	      "nothing to make linear; page 5 says why");
}

static void apply_partition(struct tui *t)
{
	apply(t, (const enum apply_step[]){ APPLY_PARTITION }, 1,
	      "the partition is as good as it can be; page 3 says why");
}

static void apply_all(struct tui *t)
{
	apply(t, (const enum apply_step[]){ APPLY_LINEAR, APPLY_FOLD, APPLY_PARTITION }, 3,
	      "nothing to fix; page 3 says why");
}

static void apply_marked(struct tui *t)
{
	if (t->at == PAGE_LINEAR)
		apply_linear(t);
	else if (t->at == PAGE_FOLD)
		apply_fold(t);
	else
		say(t, false, "candidates are marked on pages 4 and 5");
}

static void mark(struct tui *t)
{
	struct page *p = here(t);
	struct version *v = &t->s->version[t->s->current];
	int row = page_row(p), i = row >= 0 && p->ops->candidate ? p->ops->candidate(p, &t->ui, row) : -1;

	if (i < 0)
		say(t, false, "candidates are marked on pages 4 and 5");
	else if (t->task.running)
		say(t, true, "an edit is going on; Esc stops it");
	else if (t->at == PAGE_FOLD && v->fold.fold[i].folds)
		v->fold.fold[i].marked = !v->fold.fold[i].marked;
	else if (t->at == PAGE_LINEAR && v->linear.linear[i].converts)
		v->linear.linear[i].marked = !v->linear.linear[i].marked;
	else
		say(t, false, "it stays as it is; the pane says why");
	page_move(p, &t->ui, REQ_DOWN, 1);
}

static void step_back(struct tui *t)
{
	if (!may_edit(t))
		return;
	forget_all(t);
	say(t, false, edits_undo(&t->edits, t->s) ? "undone; r brings it back" : "nothing to undo");
	rebuild(t);
}

static void step_forth(struct tui *t)
{
	if (!may_edit(t))
		return;
	forget_all(t);
	say(t, false, edits_redo(&t->edits, t->s) ? "done again" : "nothing to redo");
	rebuild(t);
}

/* Writing. */

static void write_now(void *ctx, const char *answer)
{
	struct tui *t = ctx;

	if (!may_edit(t))
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
		write_now(ctx, answer);
		return;
	}
	snprintf(question, sizeof question, "It is larger than before: %s bytes, was %s. Write it? y/n ",
		 text_exact(a, after),
		 text_exact(b, before));
	prompt_confirm(&t->prompt, question, write_now, t);
}

static void write_to(void *ctx, const char *path)
{
	struct tui *t = ctx;
	char question[200];

	snprintf(t->write_to, sizeof t->write_to, "%s", path);
	if (!*path) {
		say(t, false, "not written");
	} else if (access(path, F_OK) == 0) {
		snprintf(question, sizeof question, "%.120s is there already. Replace it? y/n ", path);
		prompt_confirm(&t->prompt, question, write_smaller, t);
	} else {
		write_smaller(t, "");
	}
}

static void ask_write(struct tui *t)
{
	struct str name = { 0 };

	look_fast_name(look_path(t->s), &name);
	prompt_ask(&t->prompt, "Write to: ", str_text(&name), write_to, t);
	str_free(&name);
}

static void export_to(void *ctx, const char *path)
{
	struct tui *t = ctx;
	struct text text = { 0 };
	struct error err = { 0 };

	page_export(here(t), &t->ui, &text);
	if (file_write(path, str_text(&text.s), text.s.n, false, &err))
		say(t, false, "written to %s", path);
	else
		say(t, true, "%s", err.text);
	text_free(&text);
}

static void ask_export(struct tui *t)
{
	char name[64];

	snprintf(name, sizeof name, "%s.txt", here(t)->ops->name);
	prompt_ask(&t->prompt, "Write this page to: ", name, export_to, t);
}

static void quit_now(void *ctx, const char *answer)
{
	((struct tui *)ctx)->quit = true;
}

static void ask_quit(struct tui *t)
{
	if (edits_unsaved(&t->edits, t->s))
		prompt_confirm(&t->prompt, "The program was changed and not written. Quit? y/n ", quit_now, t);
	else
		t->quit = true;
}

/* Running. */

static void bench(struct tui *t)
{
	struct error err = { 0 };

	if (!may_edit(t))
		return;
	if (!background_bench(&t->run, t->s, &err)) {
		say(t, true, "%s", err.text);
	} else {
		t->timing = true;
		open_page(t, PAGE_BENCH, t->ui.method, "");
	}
}

static void stop(struct tui *t)
{
	if (t->task.running)
		t->task.work.stop = true;
	else if (background_fd(&t->run) >= 0)
		say(t, false, "stopped");
	background_stop(&t->run);
}

/* Requests. */

static const struct { enum request request; void (*act)(struct tui *t); } acts[] = {
	{ REQ_BACK, go_back }, { REQ_OPTIMIZE, apply_all }, { REQ_FOLD, apply_fold }, { REQ_LINEAR, apply_linear },
	{ REQ_PARTITION, apply_partition }, { REQ_MARK, mark }, { REQ_APPLY, apply_marked }, { REQ_UNDO, step_back },
	{ REQ_REDO, step_forth }, { REQ_WRITE, ask_write }, { REQ_EXPORT, ask_export }, { REQ_BENCH, bench },
	{ REQ_STOP, stop },
	{ REQ_QUIT, ask_quit },
};

static void search_or_turn(struct tui *t, enum request r)
{
	switch (r) {
	case REQ_SEARCH: prompt_ask(&t->prompt, "/", "", search_for, t); break;
	case REQ_SEARCH_NEXT: search_on(t, 1); break;
	case REQ_SEARCH_PREV: search_on(t, -1); break;
	case REQ_NEXT_METHOD: next_method(t, 1); break;
	case REQ_PREV_METHOD: next_method(t, -1); break;
	case REQ_REDRAW: clearok(curscr, TRUE); break;
	default: break;
	}
}

static void handle(struct tui *t, enum request r)
{
	struct page *p = here(t);
	enum page_answer answer = p->ops->request ? p->ops->request(p, &t->ui, page_row(p), r) : PAGE_IGNORED;

	if (answer == PAGE_REBUILD)
		rebuild(t);
	if (answer == PAGE_GO) {
		struct place to = { p->go.page, p->go.method, "" };

		memcpy(to.id, p->go.id, sizeof to.id);
		remember(t);
		open_page(t, to.page, to.method, to.id);
	}
	if (answer != PAGE_IGNORED || page_move(p, &t->ui, r, screen_list_height(LINES)))
		return;
	if ((r >= REQ_PAGE_1 && r <= REQ_PAGE_8) || r == REQ_HELP) {
		remember(t);
		if (r == REQ_HELP && t->at != PAGE_HELP) {
			t->ui.help_of = t->at;
			t->page[PAGE_HELP].cursor = 0;
		}
		open_page(t, r == REQ_HELP ? PAGE_HELP : (enum page_index)(r - REQ_PAGE_1), t->ui.method, "");
		return;
	}
	for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
		if (acts[i].request == r) {
			acts[i].act(t);
			return;
		}
	search_or_turn(t, r);
}

/* The wheel scrolls what it is over; a press goes to a tab or a line, once more follows it, and sorts by a column. */
static void handle_mouse(struct tui *t)
{
	struct page *p = here(t);
	struct screen_hit hit;
	MEVENT m;

	if (getmouse(&m) != OK)
		return;
	hit = screen_hit(p, m.y, m.x);
	if (m.bstate & (BUTTON4_PRESSED | BUTTON5_PRESSED)) {
		bool down = m.bstate & BUTTON5_PRESSED;

		if (hit.what == HIT_PANE)
			page_move(p, &t->ui, down ? REQ_PANE_DOWN : REQ_PANE_UP, 0);
		else
			page_to_line(p, p->cursor + (down ? WHEEL_LINES : -WHEEL_LINES));
	} else if (hit.what == HIT_TAB) {
		handle(t, hit.n == PAGE_HELP ? REQ_HELP : (enum request)(REQ_PAGE_1 + hit.n));
	} else if (hit.what == HIT_TITLE) {
		page_sort(p, &t->ui, hit.n, p->sort == hit.n && !p->descending);
	} else if (hit.what == HIT_ROW && hit.n == p->cursor) {
		handle(t, REQ_FOLLOW);
	} else if (hit.what == HIT_ROW) {
		page_to_line(p, hit.n);
	}
}

/* All keys that are there. A byte that is no character is an error to get_wch, with keys behind it perhaps. */
static void take_keys(struct tui *t)
{
	enum { ERRORS = 4 };
	wint_t c;
	int kind;

	for (int errors = 0; errors < ERRORS;) {
		struct key k;

		kind = get_wch(&c);
		if (kind == ERR) {
			errors++;
			continue;
		}
		k = (struct key){ (int)c, kind == KEY_CODE_YES };
		if (k.special && k.code == KEY_RESIZE)
			continue;
		if (t->prompt.open) {
			prompt_key(&t->prompt, k);
			continue;
		}
		*t->message = '\0';
		if (k.special && k.code == KEY_MOUSE)
			handle_mouse(t);
		else
			handle(t, key_request(&t->config.keys, k));
		if (t->quit)
			break;
	}
}

static void draw(struct tui *t)
{
	char state[128];
	struct screen_title title = { state, edits_unsaved(&t->edits, t->s) };
	struct screen_bottom bottom = { t->prompt.open ? t->prompt.question : NULL, t->prompt.answer, t->message,
					t->bad };

	edits_describe(t->s, state, sizeof state);
	t->ui.width = COLS - 1;
	t->ui.works = t->task.running || background_fd(&t->run) >= 0;
	if (t->task.running)
		task_what(&t->task, t->ui.work, sizeof t->ui.work);
	else if (t->ui.works)
		background_what(&t->run, t->ui.work, sizeof t->ui.work);
	screen_draw(&t->ui, here(t), &title, &bottom);
}

/* Ctrl-C stops what runs, or asks to quit; what ends us ends the loop. */
static int signalled(struct tui *t)
{
	int sig = terminal_signal();

	if (sig == SIGINT) {
		if (t->task.running || background_fd(&t->run) >= 0)
			stop(t);
		else
			ask_quit(t);
		return 0;
	}
	return sig;
}

static int loop(struct tui *t)
{
	while (!t->quit) {
		struct pollfd fd[3] = { { STDIN_FILENO, POLLIN, 0 }, { background_fd(&t->run), POLLIN, 0 },
					{ task_fd(&t->task), POLLIN, 0 } };	/* those below 0 are passed over */
		int sig;

		draw(t);
		if (poll(fd, 3, IDLE_MS) < 0 && errno != EINTR)
			return 4;
		sig = signalled(t);
		if (sig)
			return 128 + sig;
		take_keys(t);
		if (fd[0].revents & (POLLHUP | POLLERR | POLLNVAL))	/* the terminal is gone */
			return 128 + SIGHUP;
		if (t->task.running && task_wait(&t->task, 0))
			end_draft(t);
		if (fd[1].fd >= 0 && fd[1].revents && background_fd(&t->run) == fd[1].fd && background_step(&t->run)) {
			rebuild(t);	/* times and warnings show on every page */
			if (background_fd(&t->run) < 0)
				say_compared(t);
		}
	}
	return 0;
}

/* What works in a thread is not waited for long: all it can leave behind is a file without a name. */
static void leave_draft(struct tui *t, int status)
{
	if (!t->task.running)
		return;
	t->task.work.stop = true;
	if (!task_wait(&t->task, END_MS))
		_exit(status);
	task_end(&t->task, NULL);
	session_drop(t->s, t->draft.s);
}

/* Colours, unless they are not wanted. */
static void set_colors(struct tui *t, const struct options *o)
{
	const char *no_color = getenv("NO_COLOR");

	if (o->color == COLOR_NEVER || (no_color && *no_color && o->color != COLOR_ALWAYS))
		return;
	screen_colors(&t->config.theme);
	t->ui.theme = &t->config.theme;
}

int tui_run(struct session *s, const struct options *o)
{
	struct tui *t = mem_alloc(sizeof *t);
	struct error err = { 0 }, bad = { 0 };
	int status = 4;

	t->s = s;
	t->ui = (struct ui){ .s = s, .ascii = !terminal_is_utf8(), .xnnpack = live_version(), .keys = &t->config.keys };
	for (int i = 0; i < s->program->nmethods && o->method.n; i++)
		if (!strcmp(s->program->method[i]->method, o->method.at[0]))
			t->ui.method = i;
	if (!config_read(&t->config, &bad))
		say(t, true, "%s", bad.text);
	if (terminal_open(&err)) {
		set_colors(t, o);
		if (t->config.mouse)
			terminal_mouse();
		for (int i = 0; i < PAGES; i++)
			page_open(&t->page[i], page_table[i]);
		rebuild(t);
		status = loop(t);
		background_stop(&t->run);
		terminal_close();
		leave_draft(t, status);
	}
	for (int i = 0; i < PAGES; i++)
		page_close(&t->page[i]);
	arena_free(&t->edits.mem);
	config_free(&t->config);
	mem_free(t);
	if (err.text[0])
		fprintf(stderr, "etinspect: %s\n", err.text);
	return status;
}
