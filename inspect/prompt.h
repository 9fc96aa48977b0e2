/* prompt.h - a question on the last line: a text, or yes and no. It never waits: keys are handed to it. */
#ifndef INSPECT_PROMPT_H
#define INSPECT_PROMPT_H

#include "core/base/mem.h"
#include "inspect/keys.h"

/* What was answered before, oldest first; it lives as long as its arena. */
struct history { const char **at; int n, cap; };

struct prompt {
	bool open, yes_no;
	char question[256];
	char answer[1024];
	size_t at;		/* of the cursor, in bytes of the answer */
	char note[160];		/* what is said about it */
	bool bad;		/* it cannot be taken, as the note says */
	void (*done)(void *ctx, const char *answer);	/* not called when it is given up */
	void (*typed)(void *ctx, const char *answer);	/* after each change; NULL: nothing to do */
	void (*given_up)(void *ctx);			/* may be NULL */
	void (*complete)(void *ctx, struct prompt *p);	/* on Tab; NULL: nothing */
	void *ctx;
	const struct history *history;	/* up and down; NULL: none */
	int past;			/* which of it is shown; its length: what is typed */
	char typing[1024];		/* what was typed before going up */
};

void prompt_ask(struct prompt *p, const char *question, const char *suggestion,
		void (*done)(void *ctx, const char *answer), void *ctx);
/* done is called (with "y") for yes only. */
void prompt_confirm(struct prompt *p, const char *question, void (*done)(void *ctx, const char *answer), void *ctx);
void prompt_key(struct prompt *p, struct key k);
/* Sets the answer, with the cursor at its end, as if it had been typed. */
void prompt_set(struct prompt *p, const char *answer);
void prompt_remember(const struct history *past, struct prompt *p);	/* has up and down go through it */
void history_add(struct history *h, struct arena *a, const char *line);	/* once in a row */

#endif
