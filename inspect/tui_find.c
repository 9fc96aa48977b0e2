/* Searching and filtering: as one types; Esc goes back to where one was. */
#include "inspect/tui_parts.h"

#include <stdio.h>

static void say_found(struct tui *t, struct found f)
{
	if (!f.n)
		tui_say(t, false, "not found: %s", t->search);
	else
		tui_say(t, false, "/%s  %d of %d%s", t->search, f.n, f.of, f.round ? ", round the end" : "");
}

void tui_search_on(struct tui *t, int dir)
{
	struct page *p = tui_here(t);

	if (!t->find.set)
		tui_say(t, false, "nothing was searched for yet");
	else
		say_found(t, page_search(p, &t->ui, &t->find, p->cursor, dir));
	t->ui.find = &t->find;
}

static void from_here(struct tui *t)
{
	struct page *p = tui_here(t);

	t->from.cursor = p->cursor;
	t->from.top = p->top;
	t->from.row = page_row(p);
}

static void to_start(struct tui *t)
{
	struct page *p = tui_here(t);

	page_to_line(p, t->from.cursor);
	p->top = t->from.top;
}

static void search_typed(void *ctx, const char *expression)
{
	struct tui *t = ctx;
	struct prompt *p = &t->prompt;
	struct found f;

	p->bad = !find_set(&t->find, expression, p->note);
	if (p->bad)
		return;
	to_start(t);
	if (!*expression)
		return;
	f = page_search(tui_here(t), &t->ui, &t->find, t->from.cursor - 1, 1);
	if (f.n)
		snprintf(p->note, sizeof p->note, "%d of %d", f.n, f.of);
	else
		snprintf(p->note, sizeof p->note, "not found");
}

static void search_take(void *ctx, const char *expression)
{
	struct tui *t = ctx;

	if (!*expression) {
		find_set(&t->find, t->search, t->prompt.note);
		tui_search_on(t, 1);
		return;
	}
	snprintf(t->search, sizeof t->search, "%s", expression);
	history_add(&t->searches, &t->command_mem, expression);
	say_found(t, page_search(tui_here(t), &t->ui, &t->find, tui_here(t)->cursor - 1, 1));
}

static void search_give_up(void *ctx)
{
	struct tui *t = ctx;

	find_set(&t->find, t->search, t->prompt.note);
	to_start(t);
}

void tui_search(struct tui *t, const char *expression)
{
	if (!find_set(&t->find, expression, t->prompt.note)) {
		tui_say(t, true, "%s", t->prompt.note);
		return;
	}
	t->ui.find = &t->find;
	snprintf(t->search, sizeof t->search, "%s", expression);
	tui_search_on(t, 1);
}

void tui_ask_search(struct tui *t)
{
	from_here(t);
	find_set(&t->find, "", t->prompt.note);
	t->ui.find = &t->find;
	prompt_ask(&t->prompt, "/", "", search_take, t);
	prompt_remember(&t->searches, &t->prompt);
	t->prompt.typed = search_typed;
	t->prompt.given_up = search_give_up;
}

/* The filter. */

static void filter_typed(void *ctx, const char *words)
{
	struct tui *t = ctx;
	struct prompt *p = &t->prompt;
	struct page *page = tui_here(t);

	p->bad = !page_filter(page, &t->ui, words, p->note);
	if (p->bad)
		return;
	page_to_row(page, t->from.row);
	if (page->filter.n)
		snprintf(p->note, sizeof p->note, "%d of %d", page->nshown, page->nrows);
}

static void filter_take(void *ctx, const char *words)
{
	struct tui *t = ctx;

	history_add(&t->filters, &t->command_mem, words);
	page_filter(tui_here(t), &t->ui, words, t->prompt.note);	/* taken as it was suggested it was not typed */
}

static void filter_give_up(void *ctx)
{
	struct tui *t = ctx;

	page_filter(tui_here(t), &t->ui, t->filter_before, t->prompt.note);
	to_start(t);
}

void tui_ask_filter(struct tui *t)
{
	struct page *p = tui_here(t);

	from_here(t);
	snprintf(t->filter_before, sizeof t->filter_before, "%s", p->filter.words);
	prompt_ask(&t->prompt, "Filter: ", p->filter.words, filter_take, t);
	prompt_remember(&t->filters, &t->prompt);
	t->prompt.typed = filter_typed;
	t->prompt.given_up = filter_give_up;
}

void tui_filter(struct tui *t, const char *words)
{
	if (!page_filter(tui_here(t), &t->ui, words, t->prompt.note))
		tui_say(t, true, "%s", t->prompt.note);
}

bool tui_drop_filter(struct tui *t)
{
	char why[FIND_WHY_BYTES];

	return tui_here(t)->filter.n && page_filter(tui_here(t), &t->ui, "", why);
}
