/* tui_parts.h - what the parts of the terminal share. tui.c goes from page to page, takes keys and draws; tui_edit.c
 * edits and writes, in a thread beside the pages; tui_find.c searches and filters; tui_columns.c
 * chooses columns; tui_command.c is the `:` line. */
#ifndef INSPECT_TUI_PARTS_H
#define INSPECT_TUI_PARTS_H

#include "inspect/background.h"
#include "inspect/config.h"
#include "inspect/edits.h"
#include "inspect/prompt.h"
#include "inspect/task.h"
#include "inspect/tui.h"
#include "views/screen.h"

enum { HISTORY = 64, DRAFT_STEPS = 8 };

struct place { enum page_index page; int method; char id[256]; };

/* An edit, or the writing of the current version, in a thread. */
struct draft {
	struct session *s;		/* NULL: none */
	enum apply_step step[DRAFT_STEPS];
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
	struct screen_popup popup;	/* of the columns */
	struct config config;
	struct find find;		/* what was searched for last, or is being typed */
	struct { int cursor, top, row; } from;	/* where a search or a filter began */
	char filter_before[FILTER_BYTES];
	struct str text;		/* of the page of text */
	struct arena command_mem;	/* of what commands set, and of what was typed: */
	struct history commands, searches, filters;
	char search[256], message[512], write_to[1024];
	bool bad, quit, timing;	/* timing: what runs in the background is a bench */
};

/* tui.c */
void tui_say(struct tui *t, bool bad, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
struct page *tui_here(struct tui *t);
void tui_rebuild(struct tui *t);	/* the page that is shown */
/* To a page and, unless id is "", to a node on it; `back` comes back. */
void tui_go(struct tui *t, enum page_index to, int method, const char *id);
void tui_handle(struct tui *t, enum request r);
void tui_bench(struct tui *t);
void tui_export(void *tui, const char *path);	/* the page that is shown */

/* tui_command.c */
void tui_ask_command(struct tui *t);

/* tui_find.c */
void tui_ask_search(struct tui *t);
void tui_search_on(struct tui *t, int dir);
void tui_search(struct tui *t, const char *expression);
void tui_ask_filter(struct tui *t);
void tui_filter(struct tui *t, const char *words);
bool tui_drop_filter(struct tui *t);	/* false: the page has none */

/* tui_columns.c */
void tui_ask_columns(struct tui *t);
void tui_columns_key(struct tui *t, enum request r);	/* while the list is open */
void tui_draw_columns(struct tui *t);

/* tui_edit.c: the requests; each says what came of it. */
void tui_apply_fold(struct tui *t);
void tui_apply_linear(struct tui *t);
void tui_apply_partition(struct tui *t);
void tui_apply_all(struct tui *t);
void tui_apply_marked(struct tui *t);
void tui_mark(struct tui *t);
void tui_step_back(struct tui *t);
void tui_step_forth(struct tui *t);
void tui_apply(struct tui *t, const enum apply_step *step, int n, const char *nothing);	/* at most as many as a draft has */
void tui_compare(struct tui *t);
void tui_ask_write(struct tui *t);
void tui_write(void *tui, const char *path);		/* asks where it replaces a file, and where it is larger */
void tui_write_now(void *tui, const char *answer);	/* to write_to */
/* Sets write_to; asks first if that file is there. */
void tui_ask_replace(struct tui *t, const char *path, void (*then)(void *ctx, const char *answer));
/* False, and said: something runs that an edit would pull the ground from under. Ends a comparison. */
bool tui_may_edit(struct tui *t);
/* The thread has ended: takes over what it made. */
void tui_end_draft(struct tui *t);
/* What the comparison after an edit gave, once all of it has ended. */
void tui_say_compared(struct tui *t);
/* On the way out, when a thread may still be at work. */
void tui_leave_draft(struct tui *t, int status);

#endif
