/* Searching: as one types, from where one was; Esc goes back there. */
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

static void to_start(struct tui *t)
{
	struct page *p = tui_here(t);

	page_to_line(p, t->from.cursor);
	p->top = t->from.top;
}

static void typed(void *ctx, const char *expression)
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

static void take(void *ctx, const char *expression)
{
	struct tui *t = ctx;

	if (!*expression) {
		find_set(&t->find, t->search, t->prompt.note);
		tui_search_on(t, 1);
		return;
	}
	snprintf(t->search, sizeof t->search, "%s", expression);
	say_found(t, page_search(tui_here(t), &t->ui, &t->find, tui_here(t)->cursor - 1, 1));
}

static void give_up(void *ctx)
{
	struct tui *t = ctx;

	find_set(&t->find, t->search, t->prompt.note);
	to_start(t);
}

void tui_ask_search(struct tui *t)
{
	struct page *p = tui_here(t);

	t->from.cursor = p->cursor;
	t->from.top = p->top;
	find_set(&t->find, "", t->prompt.note);
	t->ui.find = &t->find;
	prompt_ask(&t->prompt, "/", "", take, t);
	t->prompt.typed = typed;
	t->prompt.given_up = give_up;
}
