#include "inspect/prompt.h"

#include <limits.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void prompt_ask(struct prompt *p, const char *question, const char *suggestion,
		void (*done)(void *ctx, const char *answer), void *ctx)
{
	*p = (struct prompt){ .open = true, .done = done, .ctx = ctx };
	snprintf(p->question, sizeof p->question, "%s", question);
	snprintf(p->answer, sizeof p->answer, "%s", suggestion);
	p->at = strlen(p->answer);
}

void prompt_confirm(struct prompt *p, const char *question, void (*done)(void *ctx, const char *answer), void *ctx)
{
	prompt_ask(p, question, "", done, ctx);
	p->yes_no = true;
}

void prompt_remember(const struct history *past, struct prompt *p)
{
	p->history = past;
	p->past = past->n;
}

void history_add(struct history *h, struct arena *a, const char *line)
{
	if (*line && !(h->n && !strcmp(h->at[h->n - 1], line)))
		vec_push(a, h, arena_string(a, line));
}

void prompt_set(struct prompt *p, const char *answer)
{
	snprintf(p->answer, sizeof p->answer, "%s", answer);
	p->at = strlen(p->answer);
	p->note[0] = '\0';
	if (p->typed)
		p->typed(p->ctx, p->answer);
}

/* Where the character before or behind the cursor begins, which may be several bytes. */
static size_t before(const struct prompt *p, size_t at)
{
	while (at && ((unsigned char)p->answer[--at] & 0xc0) == 0x80)
		;
	return at;
}

static size_t behind(const struct prompt *p, size_t at)
{
	if (p->answer[at])
		for (at++; ((unsigned char)p->answer[at] & 0xc0) == 0x80; at++)
			;
	return at;
}

static size_t word_before(const struct prompt *p)
{
	size_t at = p->at;

	while (at && p->answer[at - 1] == ' ')
		at--;
	while (at && p->answer[at - 1] != ' ')
		at--;
	return at;
}

static void cut(struct prompt *p, size_t from, size_t to)
{
	memmove(p->answer + from, p->answer + to, strlen(p->answer + to) + 1);
	p->at = from;
}

static void add(struct prompt *p, int code)
{
	size_t n = strlen(p->answer);
	char utf8[MB_LEN_MAX];
	int len = wctomb(utf8, (wchar_t)code);

	if (len <= 0 || n + (size_t)len >= sizeof p->answer)
		return;
	memmove(p->answer + p->at + len, p->answer + p->at, n - p->at + 1);
	memcpy(p->answer + p->at, utf8, (size_t)len);
	p->at += (size_t)len;
}

static void give_up(struct prompt *p)
{
	p->open = false;
	if (p->given_up)
		p->given_up(p->ctx);
}

static void remember(struct prompt *p, int dir)
{
	int n = p->history ? p->history->n : 0, to = p->past + dir;

	if (to < 0 || to > n)
		return;
	if (p->past == n)
		snprintf(p->typing, sizeof p->typing, "%s", p->answer);
	p->past = to;
	prompt_set(p, to == n ? p->typing : p->history->at[to]);
}

/* True: the cursor has moved, the text has not changed. */
static bool move_cursor(struct prompt *p, struct key k)
{
	enum { CTRL_A = 1, CTRL_E = 5 };

	if (k.special && k.code == KEY_LEFT)
		p->at = before(p, p->at);
	else if (k.special && k.code == KEY_RIGHT)
		p->at = behind(p, p->at);
	else if (k.special ? k.code == KEY_HOME : k.code == CTRL_A)
		p->at = 0;
	else if (k.special ? k.code == KEY_END : k.code == CTRL_E)
		p->at = strlen(p->answer);
	else
		return false;
	return true;
}

static void edit(struct prompt *p, struct key k)
{
	enum { CTRL_U = 21, CTRL_W = 23 };

	if (k.special ? k.code == KEY_BACKSPACE : k.code == 127 || k.code == 8)
		cut(p, before(p, p->at), p->at);
	else if (k.special && k.code == KEY_DC)
		cut(p, p->at, behind(p, p->at));
	else if (!k.special && k.code == CTRL_U)
		cut(p, 0, p->at);
	else if (!k.special && k.code == CTRL_W)
		cut(p, word_before(p), p->at);
	else if (!k.special && k.code >= ' ')
		add(p, k.code);
	else
		return;
	p->note[0] = '\0';
	if (p->typed)
		p->typed(p->ctx, p->answer);
}

void prompt_key(struct prompt *p, struct key k)
{
	bool enter = k.special ? k.code == KEY_ENTER : k.code == '\r' || k.code == '\n';

	if (p->yes_no) {
		p->open = false;
		if (!k.special && (k.code == 'y' || k.code == 'Y'))
			p->done(p->ctx, "y");
	} else if (enter && !p->bad) {
		p->open = false;
		p->done(p->ctx, p->answer);
	} else if (!k.special && (k.code == 27 || k.code == 7)) {	/* Esc, ^G */
		give_up(p);
	} else if (!k.special && k.code == '\t') {
		if (p->complete)
			p->complete(p->ctx, p);
	} else if (k.special && (k.code == KEY_UP || k.code == KEY_DOWN)) {
		remember(p, k.code == KEY_UP ? -1 : 1);
	} else if (!move_cursor(p, k)) {
		edit(p, k);
	}
}
