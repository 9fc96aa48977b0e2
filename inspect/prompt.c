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
}

void prompt_confirm(struct prompt *p, const char *question, void (*done)(void *ctx, const char *answer), void *ctx)
{
	prompt_ask(p, question, "", done, ctx);
	p->yes_no = true;
}

/* The last character, which may be several bytes. */
static void drop_last(char *s)
{
	size_t n = strlen(s);

	while (n && ((unsigned char)s[--n] & 0xc0) == 0x80)
		;
	s[n] = '\0';
}

static void add(char *s, size_t bytes, int code)
{
	size_t n = strlen(s);
	char utf8[MB_LEN_MAX];
	int len = wctomb(utf8, (wchar_t)code);

	if (len > 0 && n + (size_t)len < bytes) {
		memcpy(s + n, utf8, (size_t)len);
		s[n + (size_t)len] = '\0';
	}
}

static void give_up(struct prompt *p)
{
	p->open = false;
	if (p->given_up)
		p->given_up(p->ctx);
}

static void edit(struct prompt *p, struct key k)
{
	if (k.special ? k.code == KEY_BACKSPACE : k.code == 127 || k.code == 8)
		drop_last(p->answer);
	else if (!k.special && k.code == 21)	/* ^U */
		p->answer[0] = '\0';
	else if (!k.special && k.code >= ' ')
		add(p->answer, sizeof p->answer, k.code);
	else
		return;
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
	} else {
		edit(p, k);
	}
}
