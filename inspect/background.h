/* background.h - a bench that runs while the pages live: jobs in a queue, one worker at a time, never waited for.
 *
 * Poll background_fd and call background_step when it is readable; rows are added to the session as jobs end. */
#ifndef INSPECT_BACKGROUND_H
#define INSPECT_BACKGROUND_H

#include "core/session/session.h"

struct background_job { int version, method; enum engine engine; };

struct background {
	struct session *s;
	struct arena mem;
	struct { struct background_job *at; int n, cap; } queue;
	int at;			/* the job that runs */
	struct worker *worker;	/* NULL: nothing runs */
};

/* All engines, for every method of the file and of the current version. */
bool background_start(struct background *b, struct session *s, struct error *err);
int background_fd(const struct background *b);	/* -1: nothing runs */
/* True when rows were added. A job that fails becomes a failed row; an error is one of our own. */
bool background_step(struct background *b);
void background_stop(struct background *b);
/* What runs now, for a line on the screen. */
void background_what(const struct background *b, char *buf, size_t bytes, double *part);

#endif
