/* Writing is all or nothing: a process that dies at any of its system calls leaves the old files or the new ones, and
 * a call that fails leaves the old ones and nothing beside them. */
#include "core/program/emit.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TABLES = 300, WEIGHTS = 70000, DATA = 5000, MAX_CALLS = 200 };

static uint8_t tables[TABLES], weights[WEIGHTS], data[DATA];
static char was[PATH_MAX], folder[PATH_MAX];

/* A program in two pieces and, with `ndata`, a data file that changed. */
static bool write_program(int ndata, bool replace, struct error *err)
{
	struct file_piece program[] = { { tables, TABLES }, { weights, WEIGHTS } }, ptd[] = { { data, DATA } };
	struct ptd of = { .path = "base.ptd" };
	struct program p = { .data = &of, .ndata = 1 };
	struct emitted e = { .program = { program, 2, TABLES + WEIGHTS, NULL }, .ndata = ndata };

	e.data = malloc(sizeof *e.data);
	e.data->data = 0;
	e.data->file = (struct pte_output){ ptd, 1, DATA, NULL };
	bool ok = emitted_write(&e, &p, "out.pte", replace, err);
	free(e.data);
	return ok;
}

/* ---- what is in the folder ---- */

enum content { ABSENT, OLD, NEW, HALF };

static enum content content_of(const char *name, const void *first, size_t bytes, const void *rest, size_t more)
{
	static uint8_t got[TABLES + WEIGHTS + 1];
	FILE *f = fopen(name, "rb");
	size_t n;

	if (!f)
		return ABSENT;
	n = fread(got, 1, sizeof got, f);
	fclose(f);
	if (n == 3 && !memcmp(got, "old", 3))
		return OLD;
	return n == bytes + more && !memcmp(got, first, bytes) && !memcmp(got + bytes, rest, more) ? NEW : HALF;
}

static enum content program_content(const char *name)
{
	return content_of(name, tables, TABLES, weights, WEIGHTS);
}

static enum content data_content(const char *name)
{
	return content_of(name, data, DATA, "", 0);
}

/* Files that are neither; *half: one of them is not whole. */
static int others(bool *half)
{
	DIR *d = opendir(".");
	int n = 0;

	for (struct dirent *e; (e = readdir(d));)
		if (*e->d_name != '.' && strcmp(e->d_name, "out.pte") && strcmp(e->d_name, "out.base.ptd")) {
			*half |= program_content(e->d_name) != NEW && data_content(e->d_name) != NEW;
			n++;
		}
	closedir(d);
	return n;
}

static void empty_folder(void)
{
	DIR *d = opendir(".");

	for (struct dirent *e; (e = readdir(d));)
		if (*e->d_name != '.')
			unlink(e->d_name);
	closedir(d);
}

static void put_old(const char *name)
{
	FILE *f = fopen(name, "wb");

	fputs("old", f);
	fclose(f);
}

/* ---- calls that fail ---- */

/* From here on, system call `call` fails with `why` when argument `arg` has all bits of `bits`. */
static void let_fail(int call, int arg, uint32_t bits, int why)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (uint32_t)arg),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)why),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof code / sizeof *code, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(99);
}

/* As on a file system that has no nameless files. */
static void no_nameless_files(void)
{
	let_fail(SYS_openat, 2, O_TMPFILE, EOPNOTSUPP);
}

struct failing { const char *what; int call, arg; uint32_t bits; int why; bool named; const char *said; };

static const struct failing failing[] = {
	{ "write", SYS_write, 0, 0, ENOSPC, false, ": cannot write: No space left on device" },
	{ "write", SYS_write, 0, 0, ENOSPC, true, ": cannot write: No space left on device" },
	{ "fsync", SYS_fsync, 0, 0, EIO, false, ": cannot sync: Input/output error" },
	{ "fsync", SYS_fsync, 0, 0, EIO, true, ": cannot sync: Input/output error" },
	{ "linkat", SYS_linkat, 0, 0, EIO, false, ": cannot name the new file: Input/output error" },
	{ "openat", SYS_openat, 2, O_CREAT, EROFS, true, ": cannot create a file beside it: Read-only file system" },
	{ 0 },
};

/* 0: it failed as it should, at the first file: data is written before the program. */
static int child_of_failing(const struct failing *f, int ndata, bool replace)
{
	struct error err = { 0 };

	if (f->named)
		no_nameless_files();
	let_fail(f->call, f->arg, f->bits, f->why);
	if (write_program(ndata, replace, &err))
		return 1;
	return strncmp(err.text, ndata ? "out.base.ptd" : "out.pte", strcspn(err.text, ":")) ||
		strcmp(strchr(err.text, ':'), f->said) ? 2 : 0;
}

static int status_of(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_call_that_fails_leaves_things_as_they_were(void **state)
{
	for (const struct failing *f = failing; f->what; f++)
		for (int way = 0; way < 4; way++) {
			int ndata = way / 2, replace = way % 2;
			bool half = false;
			pid_t pid;

			empty_folder();
			if (replace) {
				put_old("out.pte");
				put_old("out.base.ptd");
			}
			pid = fork();
			if (!pid)
				_exit(child_of_failing(f, ndata, replace));
			assert_int_equal(status_of(pid), 0);
			assert_int_equal(program_content("out.pte"), replace ? OLD : ABSENT);
			assert_int_equal(data_content("out.base.ptd"), replace ? OLD : ABSENT);
			assert_int_equal(others(&half), 0);
		}
}

/* A rename that fails happens only where there was a file before, or where files have no nameless ones. */
static void a_rename_that_fails_leaves_things_as_they_were(void **state)
{
	static const int calls[] = { SYS_rename, SYS_renameat, SYS_renameat2 };
	bool half = false;
	pid_t pid;

	empty_folder();
	put_old("out.pte");
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 3; i++)
			let_fail(calls[i], 0, 0, EIO);
		_exit(write_program(0, true, NULL));
	}
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(program_content("out.pte"), OLD);
	assert_int_equal(others(&half), 0);
}

/* The data file is in its place when the program turns out not to get there: it goes again. */
static void a_program_that_cannot_be_placed_takes_its_data_along(void **state)
{
	bool half = false;
	pid_t pid;

	empty_folder();
	put_old("out.pte");
	pid = fork();
	if (!pid) {
		let_fail(SYS_rename, 0, 0, EIO);
		let_fail(SYS_renameat, 0, 0, EIO);
		_exit(write_program(1, true, NULL));
	}
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(program_content("out.pte"), OLD);
	assert_int_equal(data_content("out.base.ptd"), ABSENT);
	assert_int_equal(others(&half), 0);
}

/* ---- dying ---- */

struct dying { int ndata; bool replace, named; };

/* Runs the write in a child that is killed at its nth stop (a call begins or ends); false: it ended before. */
static bool kill_at(const struct dying *d, int stop)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct error err;

		if (d->named)
			no_nameless_files();
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(98);
		raise(SIGSTOP);
		_exit(write_program(d->ndata, d->replace, &err) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	for (int i = 0; i < stop && WIFSTOPPED(status); i++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		waitpid(pid, &status, 0);
	}
	if (WIFEXITED(status)) {
		assert_int_equal(WEXITSTATUS(status), 0);
		return false;
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		;
	assert_true(WIFSIGNALED(status));
	return true;
}

/* At each stop: old or new, data before the program, and what is left behind without a name of its own is whole,
 * unless the file system made us name it at the start. Gives how many stops left something. */
static int die_everywhere(const struct dying *d)
{
	int left = 0, stop = 1;
	bool ended = false;

	for (; !ended && stop < MAX_CALLS; stop++) {
		enum content program, ptd;
		bool half = false;

		empty_folder();
		if (d->replace)
			put_old("out.pte");
		if (d->replace && d->ndata)
			put_old("out.base.ptd");
		ended = !kill_at(d, stop);
		program = program_content("out.pte");
		ptd = data_content("out.base.ptd");
		left += others(&half) > 0;
		assert_int_not_equal(program, HALF);
		assert_int_not_equal(ptd, HALF);
		if (program == NEW && d->ndata && ptd != NEW)
			fail_msg("stop %d of %d, %d, %d: a program without its data", stop, d->ndata, d->replace, d->named);
		assert_true(program == NEW || program == (d->replace ? OLD : ABSENT));
		assert_true(d->named || !half);
		if (ended) {
			assert_int_equal(program, NEW);
			assert_int_equal(others(&half), 0);
		}
	}
	assert_true(ended && stop > 10);
	return left;
}

static bool has_nameless_files(void)
{
	int fd = open(".", O_WRONLY | O_TMPFILE, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool may_trace(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0);
	return status_of(pid) == 0;
}

static void dying_leaves_old_or_new(void **state)
{
	if (!may_trace())
		skip();
	for (int ndata = 0; ndata < 2; ndata++)
		for (int replace = 0; replace < 2; replace++)
			for (int named = 0; named < 2; named++) {
				int left = die_everywhere(&(struct dying){ ndata, replace, named });

				if (!named && !replace && has_nameless_files())
					assert_int_equal(left, 0);
			}
}

static int enter_folder(void **state)
{
	for (int i = 0; i < WEIGHTS; i++)
		weights[i] = (uint8_t)(i * 7 + i / 256);
	memset(tables, 1, TABLES);
	memset(data, 2, DATA);
	snprintf(folder, sizeof folder, "%s/etinspect-test-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return !getcwd(was, sizeof was) || !mkdtemp(folder) || chdir(folder);
}

static int leave_folder(void **state)
{
	empty_folder();
	return chdir(was) || rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_fails_leaves_things_as_they_were),
		cmocka_unit_test(a_rename_that_fails_leaves_things_as_they_were),
		cmocka_unit_test(a_program_that_cannot_be_placed_takes_its_data_along),
		cmocka_unit_test(dying_leaves_old_or_new),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
