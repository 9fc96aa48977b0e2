#include "inspect/loading.h"

#include "inspect/batch.h"
#include "inspect/task.h"
#include "inspect/terminal.h"
#include "views/screen.h"

#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
	AT_ONCE_MS = 150,	/* what takes no longer is not worth a screen */
	TICK_MS = 100,
	END_MS = 2000,		/* the thread has so long to stop */
	ESCAPE = 27,
};

struct loading {
	struct task task;
	const struct options *o;
	const struct model_path *model;		/* NULL: the demo */
	struct session *s;
	int status;				/* of a failure */
};

static bool load(void *ctx, struct error *err)
{
	struct loading *l = ctx;
	bool ok;

	l->status = EXIT_READ;
	if (!batch_open(l->o, l->model, &l->task.work, &l->s, err))
		return false;
	l->status = EXIT_RUN;
	l->s->work = &l->task.work;
	ok = session_facts(l->s, 0, err);
	l->s->work = NULL;
	if (!ok) {
		session_close(l->s);
		l->s = NULL;
	}
	return ok;
}

static bool wants_to_leave(void)
{
	wint_t c;
	int kind;

	while ((kind = get_wch(&c)) != ERR)
		if (kind == OK && (c == ESCAPE || c == 'q'))
			return true;
	return false;
}

/* Until it has ended (-1), or is not wanted any more: the exit status then. */
static int watch(struct loading *l)
{
	char what[160];

	while (!task_wait(&l->task, 0)) {
		struct pollfd fd[2] = { { STDIN_FILENO, POLLIN, 0 }, { task_fd(&l->task), POLLIN, 0 } };
		int sig;

		task_what(&l->task, what, sizeof what);
		screen_draw_loading(l->model ? l->model->path : "the demo", what, l->task.work.total > 0 ?
				    (double)l->task.work.done / l->task.work.total : 0, !terminal_is_utf8());
		if (poll(fd, 2, TICK_MS) < 0 && errno != EINTR)
			return EXIT_RUN;
		sig = terminal_signal();
		if (sig)
			return 128 + sig;
		if (wants_to_leave())
			return EXIT_FINE;
		if (fd[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			return 128 + SIGHUP;
	}
	return -1;
}

/* A thread that does not stop ends with us: it has written nothing. */
static void leave(struct loading *l, int status)
{
	l->task.work.stop = true;
	terminal_close();
	if (!task_wait(&l->task, END_MS))
		_exit(status);
	if (task_end(&l->task, NULL))
		session_close(l->s);
}

struct session *loading_run(const struct options *o, int *status, struct error *err)
{
	struct loading l = { .o = o, .model = o->model.n ? &o->model.at[0] : NULL };
	int left = -1;

	*status = EXIT_RUN;
	if (!task_start(&l.task, load, &l, err))
		return NULL;
	if (!task_wait(&l.task, AT_ONCE_MS) && terminal_open(NULL))
		left = watch(&l);
	if (left >= 0) {
		*status = left;
		leave(&l, left);
		return NULL;
	}
	if (task_end(&l.task, err))
		return l.s;
	terminal_close();
	*status = l.status;
	return NULL;
}
