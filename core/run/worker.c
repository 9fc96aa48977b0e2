/* The parent's side: starting a child, listening to it, telling what became of it. */
#include "core/run/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SILENT_SECONDS = 600, REAP_MS = 2000 };

struct worker {
	pid_t pid;			/* 0: there is no child any more */
	int fd, errors;			/* the socket; the child's stderr, a file in memory that never makes it wait */
	struct wire_where *where;
	enum engine engine;
	enum worker_state state;
	struct error error;
	double progress;
	struct wire_head head;		/* of the message that is coming in */
	size_t head_n, body_n;		/* bytes of it that are there */
	uint8_t *body;			/* in result.mem for outputs, else ours */
	struct job_result result;
	vec(struct tensor) outputs;
};

static const char *const engine_words[ENGINES] = { "XNNPACK", "portable", "XNNPACK" };

static bool system_error(struct error *err, const char *what)
{
	return error_set(err, ERROR_IO, "%s: %s", what, strerror(errno));
}

/* Starting */

/* Descriptors as the child gets them: 0 the socket, 1 and 2 the error file, then the program and `where`. */
enum { CHILD_PROGRAM = 3, CHILD_WHERE = 4, CHILD_FDS = 5, FREE_FDS = 16 };

/* A copy that is clear of the numbers above. */
static int high_copy(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, FREE_FDS);
}

static int spawn(struct worker *w, int socket, int program, int where)
{
	char *argv[] = { "etinspect", "--worker", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int status;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, socket, 0);
	posix_spawn_file_actions_adddup2(&files, w->errors, 1);
	posix_spawn_file_actions_adddup2(&files, w->errors, 2);
	if (program >= 0)
		posix_spawn_file_actions_adddup2(&files, program, CHILD_PROGRAM);
	posix_spawn_file_actions_adddup2(&files, where, CHILD_WHERE);
	posix_spawn_file_actions_addclosefrom_np(&files, CHILD_FDS);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	status = posix_spawn(&w->pid, "/proc/self/exe", &files, &attr, argv, environ);
	if (status)
		w->pid = 0;
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return status;
}

static bool send_all(int fd, const void *data, size_t n, struct error *err)
{
	for (const uint8_t *p = data; n;) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && (errno == EPIPE || errno == ECONNRESET))
			return true;	/* it died already: worker_step tells of what */
		if (k < 0)
			return system_error(err, "worker");
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static bool send_job(struct worker *w, const struct job *job, struct error *err)
{
	struct timeval patience = { .tv_sec = 10 };
	struct wire_out out = { 0 };
	struct wire_head head = { .kind = WIRE_JOB };
	bool ok;

	setsockopt(w->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	wire_put_job(&out, job);
	head.bytes = out.n;
	ok = send_all(w->fd, &head, sizeof head, err) && send_all(w->fd, out.data, out.n, err);
	wire_free(&out);
	return ok;
}

/* A file in memory; clear of the child's numbers. */
static int memory_file(const char *name, off_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC), high;

	if (fd < 0)
		return -1;
	high = ftruncate(fd, bytes) ? -1 : high_copy(fd);
	close(fd);
	return high;
}

/* What only the child keeps open. */
struct childs { int socket, where, program; };

static bool open_files(struct worker *w, const struct job *job, struct childs *c, struct error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return system_error(err, "socketpair");
	w->fd = high_copy(pair[0]);
	c->socket = high_copy(pair[1]);
	close(pair[0]);
	close(pair[1]);
	w->errors = memory_file("stderr", 0);
	c->where = memory_file("where", sizeof *w->where);
	if (w->fd < 0 || c->socket < 0 || w->errors < 0 || c->where < 0)
		return system_error(err, "worker");
	w->where = mmap(NULL, sizeof *w->where, PROT_READ | PROT_WRITE, MAP_SHARED, c->where, 0);
	if (w->where == MAP_FAILED) {
		w->where = NULL;
		return system_error(err, "worker");
	}
	if (job->fd >= 0 && (c->program = high_copy(job->fd)) < 0)
		return system_error(err, job->path);
	return true;
}

static bool start_child(struct worker *w, const struct childs *c, struct error *err)
{
	int status = spawn(w, c->socket, c->program, c->where);

	return !status || error_set(err, ERROR_IO, "the worker could not be started: %s", strerror(status));
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

bool worker_start(struct worker **out, const struct job *job, struct error *err)
{
	struct worker *w = mem_alloc(sizeof *w);
	struct childs c = { -1, -1, -1 };
	bool ok;

	w->fd = w->errors = -1;
	w->engine = job->engine;
	ok = open_files(w, job, &c, err) && start_child(w, &c, err);
	close_if_open(c.socket);
	close_if_open(c.where);
	close_if_open(c.program);
	if (!ok || !send_job(w, job, err)) {
		worker_stop(w);
		return false;
	}
	*out = w;
	return true;
}

int worker_fd(const struct worker *w)
{
	return w->fd;
}

double worker_progress(const struct worker *w)
{
	return w->progress;
}

/* Ending */

static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

/* Waits for a child whose socket is closed: it is about to be gone, so killing it is only for one that is not. */
static int reap(struct worker *w, int patience_ms)
{
	int status = 0;
	pid_t r = 0;

	for (; w->pid && patience_ms > 0; patience_ms -= 5) {
		r = waitpid(w->pid, &status, WNOHANG);
		if (r && !(r < 0 && errno == EINTR))
			break;
		pause_ms(5);
	}
	if (w->pid && r == 0) {
		kill(w->pid, SIGKILL);
		while ((r = waitpid(w->pid, &status, 0)) < 0 && errno == EINTR)
			;
	}
	w->pid = 0;
	return r < 0 ? 0 : status;
}

/* The last line that the child wrote to its stderr; "" when there is none. */
static void last_line(const struct worker *w, char *line, size_t bytes)
{
	off_t end = lseek(w->errors, 0, SEEK_END), from = end > (off_t)bytes ? end - (off_t)bytes + 1 : 0;
	ssize_t n = pread(w->errors, line, bytes - 1, from);
	char *start;

	while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
		n--;
	line[n > 0 ? n : 0] = '\0';
	start = strrchr(line, '\n');
	if (start)
		memmove(line, start + 1, strlen(start));
}

static void what_it_did(const struct worker *w, char *text, size_t bytes)
{
	struct wire_where at = *w->where;

	at.stage[WHERE_BYTES - 1] = at.at[WHERE_BYTES - 1] = '\0';
	snprintf(text, bytes, "%s%s%s", *at.stage ? at.stage : "starting", *at.at ? " " : "", at.at);
}

static enum worker_state fail(struct worker *w, const char *how)
{
	char line[300], what[2 * WHERE_BYTES + 2];

	if (w->pid)
		kill(w->pid, SIGKILL);
	last_line(w, line, sizeof line);
	what_it_did(w, what, sizeof what);
	error_set(&w->error, ERROR_RUN, "the %s worker %s while %s%s%s", engine_words[w->engine], how, what,
		  *line ? ": " : "", line);
	return w->state = WORKER_FAILED;
}

static enum worker_state ended(struct worker *w)
{
	int status = reap(w, REAP_MS);
	char how[64];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof how, "died (SIG%s)", sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
	else
		snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
	return fail(w, how);
}

void job_result_free(struct job_result *r)
{
	arena_free(&r->mem);
	*r = (struct job_result){ 0 };
}

void worker_stop(struct worker *w)
{
	if (!w)
		return;
	if (w->pid) {
		kill(w->pid, SIGKILL);
		reap(w, REAP_MS);
	}
	close_if_open(w->fd);
	close_if_open(w->errors);
	if (w->where)
		munmap(w->where, sizeof *w->where);
	if (w->head.kind != WIRE_OUTPUT)
		mem_free(w->body);
	job_result_free(&w->result);
	mem_free(w);
}

/* Listening */

static bool take_output(struct worker *w)
{
	const struct wire_tensor *t = (const struct wire_tensor *)w->body;
	struct tensor out = { .dtype = DTYPE_F32 };
	size_t bytes;

	if (w->head.bytes < sizeof *t || t->rank > MAX_RANK)
		return false;
	if (t->there) {
		out.dtype = (enum dtype)t->dtype;
		out.rank = (int)t->rank;
		memcpy(out.size, t->size, sizeof out.size);
		memcpy(out.dim_order, t->dim_order, sizeof out.dim_order);
		for (int d = 0; d < out.rank; d++)
			if (out.dim_order[d] >= out.rank)
				return false;
		if (!dtype_tensor_bytes(out.dtype, out.rank, out.size, &bytes) || bytes != w->head.bytes - sizeof *t)
			return false;
		tensor_set_strides(&out);
		out.data = w->body + sizeof *t;
		out.capacity = bytes;
	}
	vec_push(&w->result.mem, &w->outputs, out);
	return true;
}

static bool take_message(struct worker *w)
{
	struct wire_in in = { w->body, w->head.bytes, 0, false };
	const char *text;
	int code;

	switch (w->head.kind) {
	case WIRE_PROGRESS:
		w->progress = wire_get_double(&in);
		return !in.bad;
	case WIRE_OUTPUT:
		return take_output(w);
	case WIRE_RESULT:
		if (!wire_get_result(&in, &w->result) ||
		    (w->outputs.n && w->outputs.n != w->result.noutputs * (int64_t)w->result.ncalls))
			return false;
		w->result.output = w->outputs.at;
		w->progress = 1;
		w->state = WORKER_DONE;
		return true;
	case WIRE_FAILED:
		code = (int)wire_get(&in);
		text = wire_get_text(&in);
		/* Memory that the child lacks is a run that fails; ERROR_MEMORY is for what we lack. */
		error_set(&w->error, code == ERROR_MEMORY ? ERROR_RUN : (enum error_code)code, "%s", text ? text : "");
		w->state = WORKER_FAILED;
		return !in.bad;
	}
	return false;
}

static bool open_body(struct worker *w)
{
	size_t bytes = w->head.bytes + !w->head.bytes;

	if (w->head.kind <= WIRE_JOB || w->head.kind >= WIRE_KINDS) {
		fail(w, "said something unheard of");
		return false;
	}
	w->body = w->head.kind == WIRE_OUTPUT ? arena_try(&w->result.mem, bytes) : mem_try(bytes);
	w->body_n = 0;
	if (!w->body) {
		fail(w, "sent more than there is memory for");
		w->error.code = ERROR_MEMORY;
	}
	return w->body;
}

/* One recv; false: nothing more for now. */
static bool receive(struct worker *w)
{
	bool in_head = w->head_n < sizeof w->head;
	uint8_t *to = in_head ? (uint8_t *)&w->head + w->head_n : w->body + w->body_n;
	size_t want = in_head ? sizeof w->head - w->head_n : w->head.bytes - w->body_n;
	ssize_t n = want ? recv(w->fd, to, want, MSG_DONTWAIT) : 0;

	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (want && n <= 0) {
		ended(w);
		return false;
	}
	*(in_head ? &w->head_n : &w->body_n) += (size_t)n;
	if (in_head && w->head_n == sizeof w->head && !open_body(w))
		return false;
	if (w->head_n == sizeof w->head && w->body_n == w->head.bytes) {
		if (!take_message(w))
			fail(w, "said something wrong");
		if (w->head.kind != WIRE_OUTPUT)
			mem_free(w->body);
		w->body = NULL;
		w->head_n = w->body_n = 0;
		w->head = (struct wire_head){ 0 };
	}
	return true;
}

enum worker_state worker_step(struct worker *w, struct error *err)
{
	while (w->state == WORKER_RUNNING && receive(w))
		;
	if (w->state == WORKER_FAILED && err)
		*err = w->error;
	return w->state;
}

bool worker_result(struct worker *w, struct job_result *r, struct error *err)
{
	if (w->state != WORKER_DONE)
		return error_set(err, ERROR_RUN, "the %s worker has no result", engine_words[w->engine]);
	*r = w->result;
	w->result = (struct job_result){ 0 };
	return true;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + t.tv_nsec / 1e9;
}

bool worker_run(const struct job *job, struct job_result *r, const volatile int *stop, struct error *err)
{
	struct worker *w;
	double heard = seconds();
	bool ok = false;

	if (!worker_start(&w, job, err))
		return false;
	for (;;) {
		struct pollfd p = { .fd = w->fd, .events = POLLIN };

		if (stop && *stop) {
			error_set(err, ERROR_RUN, "stopped");
			break;
		}
		if (poll(&p, 1, 100) > 0)
			heard = seconds();
		else if (seconds() - heard > SILENT_SECONDS)
			fail(w, "gave no sign of life for ten minutes");
		if (worker_step(w, err) != WORKER_RUNNING) {
			ok = w->state == WORKER_DONE && worker_result(w, r, err);
			break;
		}
	}
	worker_stop(w);
	return ok;
}
