/* background.h - runs while the pages live: jobs in a queue, one worker at a time, never waited for.
 *
 * Poll background_fd and call background_step when it is readable; rows are added to the session as jobs end. */
#ifndef INSPECT_BACKGROUND_H
#define INSPECT_BACKGROUND_H

#include "core/session/session.h"

/* Timed, or run once for its outputs; the outputs of two jobs in a row of one method are compared. */
struct background_job { int version, method; enum engine engine; bool outputs, as_meant; };

struct background {
	struct session *s;
	struct arena mem;
	struct { struct background_job *at; int n, cap; } queue;
	int at;				/* the job that runs */
	int64_t since_ms;
	struct job job;
	struct worker *worker;		/* NULL: nothing runs */
	struct job_result before;	/* outputs of the first of two */
	bool has_before;
	char failed[512];		/* why outputs could not be compared */
};

/* Times all engines, for every method of the file and of the current version; compares the outputs of both, and
 * those of methods with nodes that come out wrong with what was meant. */
bool background_bench(struct background *b, struct session *s, struct error *err);
/* Only compares the outputs of the file and the current version. */
bool background_verify(struct background *b, struct session *s, struct error *err);
int background_fd(const struct background *b);	/* -1: nothing runs */
bool background_step(struct background *b);	/* true when a job ended */
void background_stop(struct background *b);
/* What runs now, how far all of it is, and about how long it will take: for a line on the screen. */
void background_what(const struct background *b, char *buf, size_t bytes);

#endif
