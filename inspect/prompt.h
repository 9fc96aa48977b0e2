/* prompt.h - a question on the last line: a text, or yes and no. It never waits: keys are handed to it. */
#ifndef INSPECT_PROMPT_H
#define INSPECT_PROMPT_H

#include "inspect/keys.h"

struct prompt {
	bool open, yes_no;
	char question[256];
	char answer[1024];
	char note[160];		/* what is said about it */
	bool bad;		/* it cannot be taken, as the note says */
	void (*done)(void *ctx, const char *answer);	/* not called when it is given up */
	void (*typed)(void *ctx, const char *answer);	/* after each change; NULL: nothing to do */
	void (*given_up)(void *ctx);			/* may be NULL */
	void *ctx;
};

void prompt_ask(struct prompt *p, const char *question, const char *suggestion,
		void (*done)(void *ctx, const char *answer), void *ctx);
/* done is called (with "y") for yes only. */
void prompt_confirm(struct prompt *p, const char *question, void (*done)(void *ctx, const char *answer), void *ctx);
void prompt_key(struct prompt *p, struct key k);

#endif
