#include "inspect/tui_parts.h"

#include "core/xnn/live.h"
#include "inspect/keys.h"
#include "inspect/terminal.h"

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
	WHEEL_LINES = 3,
	IDLE_MS = 500,	/* a signal that comes just before poll is noticed this late */
};

void tui_say(struct tui *t, bool bad, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->message, sizeof t->message, fmt, ap);
	va_end(ap);
	t->bad = bad;
}

struct page *tui_here(struct tui *t)
{
	return &t->page[t->at];
}

void tui_rebuild(struct tui *t)
{
	page_build(tui_here(t), &t->ui);
}

/* Going from place to place. */

static void remember(struct tui *t)
{
	struct page *p = tui_here(t);
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
	page_build(tui_here(t), &t->ui);
	if (!*id || page_to_node(tui_here(t), &t->ui, id))
		return;
	if (page_unhide(tui_here(t), &t->ui, id))
		tui_say(t, false, "all lines are shown: the filter hid %s", id);
	else
		tui_say(t, false, "%s is not on this page", id);
}

void tui_go(struct tui *t, enum page_index to, int method, const char *id)
{
	char own[256];	/* the page that is left may have it */

	snprintf(own, sizeof own, "%s", id);
	remember(t);
	open_page(t, to, method, own);
}

static void go_back(struct tui *t)
{
	struct place p;

	if (!t->nhistory) {
		tui_say(t, false, "nowhere to go back to");
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
		tui_say(t, false, "there is one method only");
}

static void export_now(void *ctx, const char *answer)
{
	struct tui *t = ctx;
	struct text text = { 0 };
	struct error err = { 0 };

	page_export(tui_here(t), &t->ui, &text);
	if (file_write(t->write_to, str_text(&text.s), text.s.n, true, &err))
		tui_say(t, false, "written to %s", t->write_to);
	else
		tui_say(t, true, "%s", err.text);
	text_free(&text);
}

void tui_export(void *ctx, const char *path)
{
	tui_ask_replace(ctx, path, export_now);
}

static void ask_export(struct tui *t)
{
	char name[64];

	snprintf(name, sizeof name, "%s.txt", tui_here(t)->ops->name);
	prompt_ask(&t->prompt, "Write this page to: ", name, tui_export, t);
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

void tui_bench(struct tui *t)
{
	struct error err = { 0 };

	if (!tui_may_edit(t))
		return;
	if (!background_bench(&t->run, t->s, &err)) {
		tui_say(t, true, "%s", err.text);
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
		tui_say(t, false, "stopped");
	else if (!tui_drop_filter(t))
		t->ui.find = NULL;
	background_stop(&t->run);
}

/* Requests. */

static const struct { enum request request; void (*act)(struct tui *t); } acts[] = {
	{ REQ_BACK, go_back }, { REQ_OPTIMIZE, tui_apply_all }, { REQ_FOLD, tui_apply_fold }, { REQ_LINEAR, tui_apply_linear },
	{ REQ_PARTITION, tui_apply_partition }, { REQ_MARK, tui_mark }, { REQ_APPLY, tui_apply_marked }, { REQ_UNDO, tui_step_back },
	{ REQ_REDO, tui_step_forth }, { REQ_WRITE, tui_ask_write }, { REQ_EXPORT, ask_export }, { REQ_COMMAND, tui_ask_command }, { REQ_BENCH, tui_bench },
	{ REQ_STOP, stop },
	{ REQ_QUIT, ask_quit },
};

static void search_or_turn(struct tui *t, enum request r)
{
	switch (r) {
	case REQ_SEARCH: tui_ask_search(t); break;
	case REQ_FILTER: tui_ask_filter(t); break;
	case REQ_COLUMNS: tui_ask_columns(t); break;
	case REQ_SEARCH_NEXT: tui_search_on(t, 1); break;
	case REQ_SEARCH_PREV: tui_search_on(t, -1); break;
	case REQ_NEXT_METHOD: next_method(t, 1); break;
	case REQ_PREV_METHOD: next_method(t, -1); break;
	case REQ_REDRAW: clearok(curscr, TRUE); break;
	default: break;
	}
}

void tui_handle(struct tui *t, enum request r)
{
	struct page *p = tui_here(t);
	enum page_answer answer = p->ops->request ? p->ops->request(p, &t->ui, page_row(p), r) : PAGE_IGNORED;

	if (answer == PAGE_REBUILD)
		tui_rebuild(t);
	if (answer == PAGE_GO)
		tui_go(t, p->go.page, p->go.method, p->go.id);
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
	struct page *p = tui_here(t);
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
		tui_handle(t, hit.n == PAGE_HELP ? REQ_HELP : (enum request)(REQ_PAGE_1 + hit.n));
	} else if (hit.what == HIT_TITLE) {
		page_sort(p, &t->ui, hit.n, p->sort == hit.n && !p->descending);
	} else if (hit.what == HIT_ROW && hit.n == p->cursor) {
		tui_handle(t, REQ_FOLLOW);
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
		if (t->popup.open) {
			tui_columns_key(t, key_request(&t->config.keys, k));
			continue;
		}
		if (k.special && k.code == KEY_MOUSE)
			handle_mouse(t);
		else
			tui_handle(t, key_request(&t->config.keys, k));
		if (t->quit)
			break;
	}
}

static void draw(struct tui *t)
{
	char state[128];
	struct screen_title title = { state, edits_unsaved(&t->edits, t->s) };
	struct screen_bottom bottom = { t->prompt.open ? t->prompt.question : NULL, t->prompt.answer, t->prompt.at, t->prompt.note,
					t->popup.open && !*t->message ? "space hides a column or shows it, Esc closes the list" :
					t->message, t->prompt.open ? t->prompt.bad : t->bad };

	edits_describe(t->s, state, sizeof state);
	t->ui.width = COLS - 1;
	t->ui.works = t->task.running || background_fd(&t->run) >= 0;
	if (t->task.running)
		task_what(&t->task, t->ui.work, sizeof t->ui.work);
	else if (t->ui.works)
		background_what(&t->run, t->ui.work, sizeof t->ui.work);
	screen_draw(&t->ui, tui_here(t), &title, &bottom);
	if (t->popup.open)
		tui_draw_columns(t);
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
			tui_end_draft(t);
		if (fd[1].fd >= 0 && fd[1].revents && background_fd(&t->run) == fd[1].fd && background_step(&t->run)) {
			tui_rebuild(t);	/* times and warnings show on every page */
			if (background_fd(&t->run) < 0)
				tui_say_compared(t);
		}
	}
	return 0;
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
		tui_say(t, true, "%s", bad.text);
	if (terminal_open(&err)) {
		set_colors(t, o);
		if (t->config.mouse)
			terminal_mouse(true);
		for (int i = 0; i < PAGES; i++)
			page_open(&t->page[i], page_table[i], t->config.hidden[i]);
		tui_rebuild(t);
		status = loop(t);
		background_stop(&t->run);
		terminal_close();
		tui_leave_draft(t, status);
	}
	for (int i = 0; i < PAGES; i++)
		page_close(&t->page[i]);
	find_free(&t->find);
	str_free(&t->text);
	arena_free(&t->command_mem);
	arena_free(&t->edits.mem);
	config_free(&t->config);
	mem_free(t);
	if (err.text[0])
		fprintf(stderr, "etinspect: %s\n", err.text);
	return status;
}
