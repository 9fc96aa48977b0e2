/* Workers: this program started again, as etinspect does. WORKER_TEST makes the child misbehave. */
#include "core/run/wire.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEMO "tests/demo/demo.pte"

static struct job demo(enum engine engine)
{
	return (struct job){ .path = DEMO, .fd = -1, .method = "forward", .engine = engine, .threads = 2, .warmup = 1, .runs = 5,
		.max_seconds = 10, .calls = 1, .outputs = true, .node_times = true };
}

static void nobody_is_left(void **state)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static struct job_result run(const struct job *job)
{
	struct job_result r = { 0 };
	struct error err = { 0 };

	if (!worker_run(job, &r, NULL, &err))
		fail_msg("%s", err.text);
	nobody_is_left(NULL);
	return r;
}

static void fails(const struct job *job, const char *why)
{
	struct job_result r;
	struct error err = { 0 };

	assert_false(worker_run(job, &r, NULL, &err));
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
	nobody_is_left(NULL);
}

static double difference(const struct job_result *a, const struct job_result *b)
{
	double most = 0;

	assert_int_equal(a->noutputs, b->noutputs);
	for (int i = 0; i < a->noutputs; i++) {
		const struct tensor *x = &a->output[i], *y = &b->output[i];

		assert_int_equal(tensor_numel(x), tensor_numel(y));
		for (int64_t k = 0; k < tensor_numel(x); k++)
			most = fmax(most, fabs(dtype_get(x->dtype, x->data, (size_t)k) - dtype_get(y->dtype, y->data, (size_t)k)));
	}
	return most;
}

static void three_engines_agree(void **state)
{
	struct job_result r[ENGINES];

	for (enum engine e = 0; e < ENGINES; e++) {
		struct job job = demo(e);

		r[e] = run(&job);
		assert_int_equal(r[e].stats.runs, 5);
		assert_true(r[e].stats.min > 0 && r[e].stats.median >= r[e].stats.min && r[e].stats.p90 >= r[e].stats.median);
		assert_true(r[e].setup_ms > 0 && r[e].first_ms > 0);
		assert_true(r[e].noutputs > 0 && r[e].nnodes > 0);
		assert_true(!strncmp(r[e].node[0].id, "forward/", 8));
	}
	assert_true(difference(&r[ENGINE_PORTABLE], &r[ENGINE_FILED]) < 1e-4);
	assert_true(difference(&r[ENGINE_PORTABLE], &r[ENGINE_XNNPACK]) < 1e-4);
	assert_true(r[ENGINE_PORTABLE].nnodes > r[ENGINE_FILED].nnodes);
	for (enum engine e = 0; e < ENGINES; e++)
		job_result_free(&r[e]);
}

static void calls_without_timing(void **state)
{
	struct job job = demo(ENGINE_PORTABLE);
	struct job_result r;

	job.calls = 3;
	job.runs = 0;
	job.node_times = false;
	r = run(&job);
	assert_int_equal(r.ncalls, 3);
	assert_int_equal(r.stats.runs, 0);
	assert_int_equal(r.nnodes, 0);
	for (int i = 0; i < r.noutputs; i++)	/* no state in it: all calls alike */
		assert_memory_equal(r.output[i].data, r.output[2 * r.noutputs + i].data, r.output[i].capacity);
	job_result_free(&r);
}

static void a_program_may_come_as_a_descriptor(void **state)
{
	struct job job = demo(ENGINE_PORTABLE);
	int fd = open(DEMO, O_RDONLY | O_CLOEXEC);
	struct job_result r;

	assert_true(fd >= 0);
	job.path = "nowhere.pte";
	job.fd = fd;
	r = run(&job);
	job_result_free(&r);
	close(fd);
	job.fd = -1;
	fails(&job, "nowhere.pte: cannot open");
}

static void what_the_child_finds_wrong_comes_back(void **state)
{
	struct job job = demo(ENGINE_PORTABLE);

	job.method = "backward";
	fails(&job, "has no method backward");
	job = demo(ENGINE_PORTABLE);
	job.nshapes = 1;
	job.shape = &(struct input_shape){ .input = 7, .rank = 1, .size = { 1 } };
	fails(&job, "no input 7");
}

static void a_time_limit_ends_the_runs(void **state)
{
	struct job job = demo(ENGINE_PORTABLE);
	struct job_result r;

	job.runs = 100000000;
	job.max_seconds = 0.05;
	job.node_times = false;
	r = run(&job);
	assert_true(r.stats.runs >= 1 && r.stats.runs < job.runs);
	job_result_free(&r);
}

static void death_is_told(void **state)
{
	struct job job = demo(ENGINE_FILED);

	setenv("WORKER_TEST", "abort", 1);
	fails(&job, "the XNNPACK worker died (SIGABRT) while starting: something.c:12: failed assertion");
	job.engine = ENGINE_PORTABLE;
	setenv("WORKER_TEST", "exit", 1);
	fails(&job, "the portable worker ended with status 3 while starting");
	setenv("WORKER_TEST", "nonsense", 1);
	fails(&job, "said something unheard of");
	setenv("WORKER_TEST", "alarm", 1);	/* ends it in the middle of its runs */
	job.runs = 100000000;
	job.max_seconds = 1000;
	job.node_times = false;
	fails(&job, "the portable worker died (SIGALRM) while running");
	unsetenv("WORKER_TEST");
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + t.tv_nsec / 1e9;
}

static void a_worker_can_be_stopped(void **state)
{
	struct job job = demo(ENGINE_PORTABLE);
	struct error err = { 0 };
	struct job_result r;
	struct worker *w;
	double start = seconds(), part = 0;
	int stop = 1;

	job.runs = 100000000;
	job.max_seconds = 1000;
	job.node_times = false;
	assert_true(worker_start(&w, &job, &err));
	assert_false(worker_result(w, &r, &err));
	while (part == 0 && seconds() - start < 20) {
		poll(&(struct pollfd){ .fd = worker_fd(w), .events = POLLIN }, 1, 100);
		assert_int_equal(worker_step(w, &err), WORKER_RUNNING);
		part = worker_progress(w);
	}
	assert_true(part > 0 && part < 1);
	worker_stop(w);
	nobody_is_left(NULL);
	assert_false(worker_run(&job, &r, &stop, &err));
	assert_string_equal(err.text, "stopped");
	nobody_is_left(NULL);
	setenv("WORKER_TEST", "hang", 1);	/* one that ignores all it can */
	assert_true(worker_start(&w, &job, &err));
	assert_int_equal(worker_step(w, &err), WORKER_RUNNING);
	start = seconds();
	worker_stop(w);
	assert_true(seconds() - start < 5);
	nobody_is_left(NULL);
	unsetenv("WORKER_TEST");
	worker_stop(NULL);
}

static int open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void nothing_stays_open(void **state)
{
	struct job job = demo(ENGINE_PORTABLE);
	int before = open_files();
	struct job_result r = run(&job);

	job_result_free(&r);
	job.method = "backward";
	fails(&job, "no method");
	assert_int_equal(open_files(), before);
}

static void a_job_crosses_whole_or_not_at_all(void **state)
{
	const char *data[] = { "a.ptd", "b.ptd" }, *npy[] = { NULL, "x.npy" };
	struct input_shape shape = { 1, 2, { 3, 4 } };
	struct job out = { .path = "m.pte", .fd = 7, .data = data, .ndata = 2, .method = "forward", .engine = ENGINE_XNNPACK,
		.threads = 3, .warmup = 4, .runs = 30, .max_seconds = 2.5, .calls = 3, .outputs = true, .seed = UINT64_MAX, .npy = npy,
		.nnpy = 2, .shape = &shape, .nshapes = 1 }, in;
	struct wire_out w = { 0 };
	struct arena mem = { 0 };

	wire_put_job(&w, &out);
	assert_true(wire_get_job(&(struct wire_in){ w.data, w.n, 0, false }, &in, &mem));
	assert_string_equal(in.path, "m.pte");
	assert_int_equal(in.fd, 0);	/* there is one */
	assert_string_equal(in.data[1], "b.ptd");
	assert_int_equal(in.engine, ENGINE_XNNPACK);
	assert_true(in.max_seconds == 2.5 && in.seed == UINT64_MAX && in.outputs && !in.node_times);
	assert_null(in.npy[0]);
	assert_string_equal(in.npy[1], "x.npy");
	assert_memory_equal(in.shape, &shape, sizeof shape);
	for (size_t n = 0; n < w.n; n++)
		assert_false(wire_get_job(&(struct wire_in){ w.data, n, 0, false }, &in, &mem));
	wire_put(&w, 0);	/* nor with something behind it */
	assert_false(wire_get_job(&(struct wire_in){ w.data, w.n, 0, false }, &in, &mem));
	wire_free(&w);
	arena_free(&mem);
}

static int child(const char *how)
{
	if (!strcmp(how, "abort")) {
		fprintf(stderr, "a line before\nsomething.c:12: failed assertion\n");
		abort();
	}
	if (!strcmp(how, "exit"))
		return 3;
	if (!strcmp(how, "nonsense"))
		return write(0, "nonsensenonsensenonsense", 24) == 24 ? 0 : 1;
	if (!strcmp(how, "hang")) {
		signal(SIGTERM, SIG_IGN);
		signal(SIGINT, SIG_IGN);
		for (;;)
			pause();
	}
	if (!strcmp(how, "alarm"))
		alarm(1);
	return worker_main();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_engines_agree),
		cmocka_unit_test(calls_without_timing),
		cmocka_unit_test(a_program_may_come_as_a_descriptor),
		cmocka_unit_test(what_the_child_finds_wrong_comes_back),
		cmocka_unit_test(a_time_limit_ends_the_runs),
		cmocka_unit_test(death_is_told),
		cmocka_unit_test(a_worker_can_be_stopped),
		cmocka_unit_test(nothing_stays_open),
		cmocka_unit_test(a_job_crosses_whole_or_not_at_all),
		cmocka_unit_test(nobody_is_left),
	};
	const char *how = getenv("WORKER_TEST");

	if (argc > 1 && !strcmp(argv[1], "--worker"))
		return child(how ? how : "");
	return RUN_TAP(tests);
}
