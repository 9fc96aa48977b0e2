/* Memory that runs out, at one allocation after the other: status 4, one line, and no file left behind. Each try is a
 * child of its own, which does what the program does for a command line. */
#include "core/run/worker.h"
#include "inspect/batch.h"
#include "tests/tap.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEMO "tests/demo/demo.pte"

static char folder[] = "/tmp/memory-test-XXXXXX";

static void out_of_memory(size_t bytes)
{
	fprintf(stderr, "etinspect: out of memory, %zu bytes were asked for\n", bytes);
	_exit(EXIT_RUN);
}

static void be_the_program(long nth, int argc, char **argv)
{
	struct options o;
	struct error err = { 0 };

	mem_on_failure(out_of_memory);
	if (!freopen("/dev/null", "w", stdout) || !options_parse(&o, argc, argv, &err))
		_exit(EXIT_USAGE);
	mem_fail_at(nth);
	_exit(batch_run(&o));
}

struct end { int status, lines; char text[2000]; };

static void run(struct end *e, long nth, int argc, char **argv)
{
	int pipes[2], status;
	size_t n = 0;
	ssize_t k;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		be_the_program(nth, argc, argv);
	}
	close(pipes[1]);
	while ((k = read(pipes[0], e->text + n, sizeof e->text - 1 - n)) > 0)
		n += (size_t)k;
	close(pipes[0]);
	e->text[n] = '\0';
	e->lines = 0;
	for (const char *c = e->text; *c; c++)
		e->lines += *c == '\n';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	e->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int files_in_folder(void)
{
	DIR *d = opendir(folder);
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static off_t size_of(const char *path)
{
	struct stat st;

	return path && !stat(path, &st) ? st.st_size : -1;
}

/* Nothing is left, or (the report about it failed) the whole output. */
static bool is_tidy(const char *output, off_t whole)
{
	int n = files_in_folder();

	return !n || (n == 1 && size_of(output) == whole);
}

/* All of the first points, then fewer and fewer (MEMORY_TEST_STEP=1: all), until some lie behind the end. */
static void try_points(int argc, char **argv, const char *output)
{
	const char *asked = getenv("MEMORY_TEST_STEP");
	double step = asked ? atof(asked) : 1.05;
	off_t whole;
	struct end e;
	int fine = 0;

	run(&e, 0, argc, argv);
	if (e.status)
		fail_msg("%s", e.text);
	whole = size_of(output);
	for (long nth = 1; fine < 5; nth = nth < 20 ? nth + 1 : (long)((double)nth * step) + 1) {
		if (output)
			unlink(output);
		run(&e, nth, argc, argv);
		if (e.status == EXIT_FINE) {
			assert_true(size_of(output) == whole && nth > 100);
			fine++;
		} else if (e.status != EXIT_RUN || e.lines != 1 || strncmp(e.text, "etinspect: ", 11) || fine) {
			fail_msg("allocation %ld: status %d, \"%s\"", nth, e.status, e.text);
		}
		if (!is_tidy(output, whole))
			fail_msg("allocation %ld: something is left", nth);
	}
	if (output)
		unlink(output);
}

static void a_report(void **state)
{
	char *argv[] = { "etinspect", "--report=json", DEMO, NULL };

	try_points(3, argv, NULL);
}

static void a_report_as_text(void **state)
{
	char *argv[] = { "etinspect", "--report=text", "--hash", DEMO, NULL };

	try_points(4, argv, NULL);
}

static void an_optimised_file(void **state)
{
	char path[100];
	char *argv[] = { "etinspect", "--report=json", "--optimize", "-o", path, DEMO, NULL };

	snprintf(path, sizeof path, "%s/out.pte", folder);
	try_points(6, argv, path);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report),
		cmocka_unit_test(a_report_as_text),
		cmocka_unit_test(an_optimised_file),
	};
	int failed;

	if (argc > 1 && !strcmp(argv[1], "--worker"))
		return worker_main();
	if (!mkdtemp(folder))
		return 1;
	failed = RUN_TAP(tests);
	return rmdir(folder) ? 1 : failed;
}
