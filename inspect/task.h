/* task.h - one piece of long work in a thread of its own, so that the pages live on: editing, writing.
 *
 * The work may touch nothing that the pages look at: it is given a draft of the session (session_draft). Poll
 * task_fd; when it is readable the work has ended, and task_end gives its result. */
#ifndef INSPECT_TASK_H
#define INSPECT_TASK_H

#include "core/base/work.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct task {
	bool running;
	struct work work;	/* set work.stop to end it early */
	int64_t since_ms;
	/* the task's own */
	pthread_t thread;
	int fd;
	bool (*run)(void *ctx, struct error *err);
	void *ctx;
	bool ok;
	struct error err;
};

bool task_start(struct task *t, bool (*run)(void *ctx, struct error *err), void *ctx, struct error *err);
int task_fd(const struct task *t);		/* -1: nothing runs */
bool task_wait(struct task *t, int ms);		/* whether it has ended by then */
bool task_end(struct task *t, struct error *err);	/* waits for it; what run returned */
void task_what(const struct task *t, char *buf, size_t bytes);	/* "making calls, 45 %, 3 s" */
int64_t task_clock_ms(void);

#endif
