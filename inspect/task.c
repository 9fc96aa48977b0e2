#include "inspect/task.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

int64_t task_clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *body(void *arg)
{
	struct task *t = arg;

	t->ok = t->run(t->ctx, &t->err);
	while (write(t->fd, &(uint64_t){ 1 }, sizeof(uint64_t)) < 0 && errno == EINTR)
		;
	return NULL;
}

/* Signals are for the thread that has the terminal. */
static int start_thread(struct task *t)
{
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&t->thread, NULL, body, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

bool task_start(struct task *t, bool (*run)(void *ctx, struct error *err), void *ctx, struct error *err)
{
	int failed;

	*t = (struct task){ .run = run, .ctx = ctx, .since_ms = task_clock_ms(), .fd = eventfd(0, EFD_CLOEXEC) };
	if (t->fd < 0)
		return error_set(err, ERROR_IO, "no descriptor for a thread: %s", strerror(errno));
	failed = start_thread(t);
	if (failed) {
		close(t->fd);
		return error_set(err, ERROR_IO, "no thread: %s", strerror(failed));
	}
	return t->running = true;
}

int task_fd(const struct task *t)
{
	return t->running ? t->fd : -1;
}

bool task_wait(struct task *t, int ms)
{
	return !t->running || poll(&(struct pollfd){ .fd = t->fd, .events = POLLIN }, 1, ms) > 0;
}

bool task_end(struct task *t, struct error *err)
{
	pthread_join(t->thread, NULL);
	close(t->fd);
	t->running = false;
	if (!t->ok && err)
		*err = t->err;
	return t->ok;
}

void task_what(const struct task *t, char *buf, size_t bytes)
{
	const char *what = t->work.what;
	int done = t->work.done, total = t->work.total;
	long seconds = (long)((task_clock_ms() - t->since_ms) / 1000);

	if (t->work.stop)
		snprintf(buf, bytes, "stopping, %ld s", seconds);
	else if (total > 0)
		snprintf(buf, bytes, "%s, %.0f %%, %ld s", what, 100.0 * done / total, seconds);
	else
		snprintf(buf, bytes, "%s, %ld s", what ? what : "working", seconds);
}
