#include "core/format/npy.h"
#include "core/format/ptd.h"
#include "tests/tap.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each test works in a directory of its own, and says what is left in it. */
static int make_dir(void **state)
{
	char dir[] = "/tmp/etinspect-test-XXXXXX";

	if (!mkdtemp(dir) || chdir(dir))
		return -1;
	*state = strdup(dir);
	return 0;
}

static int remove_dir(void **state)
{
	DIR *d = opendir(".");

	for (struct dirent *e; (e = readdir(d));)
		unlink(e->d_name);
	closedir(d);
	if (chdir("/") || rmdir(*state))
		return -1;
	free(*state);
	return 0;
}

static int entries(void)
{
	DIR *d = opendir(".");
	int n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void put(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	fclose(f);
}

static void assert_holds(const char *path, const char *text)
{
	struct file f;

	assert_true(file_open(&f, path, NULL));
	assert_int_equal(f.bytes, strlen(text));
	assert_memory_equal(f.data, text, f.bytes);
	file_close(&f);
}

static void a_file_is_mapped_with_slack(void **state)
{
	size_t sizes[] = { 1, 4095, 4096, 4097 };
	uint8_t bytes[4097];
	struct file f;

	memset(bytes, 7, sizeof bytes);
	for (int i = 0; i < 4; i++) {
		put("a", bytes, sizes[i]);
		assert_true(file_open(&f, "a", NULL));
		assert_int_equal(f.bytes, sizes[i]);
		assert_memory_equal(f.data, bytes, sizes[i]);
		for (int k = 0; k < FILE_SLACK; k++)
			assert_int_equal(f.data[sizes[i] + (size_t)k], 0);
		file_close(&f);
	}
}

static void a_pipe_is_read(void **state)
{
	enum { BYTES = 3 << 20 };
	uint8_t *bytes = malloc(BYTES);
	struct file f;
	struct error e;
	int fd[2];

	for (int i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 999);
	assert_int_equal(pipe(fd), 0);
	if (!fork()) {
		for (size_t at = 0; at < BYTES;)
			at += (size_t)write(fd[1], bytes + at, BYTES - at);
		_exit(0);
	}
	close(fd[1]);
	assert_true(file_open_fd(&f, fd[0], "-", &e));
	assert_int_equal(f.bytes, BYTES);
	assert_memory_equal(f.data, bytes, BYTES);
	file_close(&f);
	close(fd[0]);
	free(bytes);
}

static void what_cannot_be_opened_is_said(void **state)
{
	struct file f;
	struct error e;

	assert_false(file_open(&f, "nowhere", &e));
	assert_int_equal(e.code, ERROR_IO);
	assert_string_equal(e.text, "nowhere: cannot open: No such file or directory");
	assert_false(file_open(&f, ".", &e));
	assert_string_equal(e.text, ".: is a directory");
}

static void a_wrong_file_says_what_it_is(void **state)
{
	static const struct { const char *bytes; size_t n; const char *error; } row[] = {
		{ "", 0, "offset 0: is empty" },
		{ "\x20\0\0\0" "FT01", 8, "offset 0: is an ExecuTorch data file (.ptd)" },
		{ "\x20\0\0\0" "BP08", 8, "offset 0: is a bundled program" },
		{ "\x99\0\0\0\x20\0\0\0" "ED00", 12, "offset 0: is an ETDump" },
		{ "PK\3\4........", 12, "offset 0: is a zip archive" },
		{ "\x1f\x8b\x08.......", 10, "offset 0: is compressed with gzip" },
		{ "version https://git-lfs.github.com/spec/v1\n", 43, "offset 0: is a Git LFS pointer" },
		{ "\x93NUMPY\1\0", 8, "offset 0: is a NumPy array" },
		{ "\x20\0\0\0" "ET11", 8,
		 "offset 4: identifier \"ET11\": an ExecuTorch program of another format version" },
		{ "\x20\0\0\0" "ET13", 8,
		 "offset 4: identifier \"ET13\": an ExecuTorch program of another format version" },
		{ "\x20\0\0\0" "WHAT", 8, "offset 4: identifier \"WHAT\": no format known here" },
		{ "abc", 3, "offset 0: is no format known here" },
		{ "\x20\0\0\0" "ET12", 8, "offset 0: 8 bytes, a program has at least 64" },
	};
	struct arena a = { 0 };
	struct file f;
	struct pte p;
	struct error e;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		put("x.pte", row[i].bytes, row[i].n);
		assert_true(file_open(&f, "x.pte", NULL));
		assert_false(pte_read(&p, &f, &a, &e));
		assert_int_equal(e.code, ERROR_FORMAT);
		assert_int_equal(strncmp(e.text, "x.pte: ", 7), 0);
		assert_int_equal(strncmp(e.text + 7, row[i].error, strlen(row[i].error)), 0);
		file_close(&f);
	}
	arena_free(&a);
}

static void no_memory_for_a_pipe_is_an_error(void **state)
{
	struct file f;
	struct error e;
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "abc", 3), 3);
	close(fd[1]);
	mem_fail_at(1);
	assert_false(file_open_fd(&f, fd[0], "-", &e));
	mem_fail_at(0);
	assert_int_equal(e.code, ERROR_MEMORY);
	close(fd[0]);
}

static void a_write_replaces_only_when_asked(void **state)
{
	struct error e;
	struct stat st;

	assert_true(file_write("out", "one", 3, false, &e));
	assert_holds("out", "one");
	assert_false(file_write("out", "two", 3, false, &e));
	assert_string_equal(e.text, "out: exists already");
	assert_holds("out", "one");
	chmod("out", 0640);
	assert_true(file_write("out", "three", 5, true, &e));
	assert_holds("out", "three");
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(entries(), 1);
}

static void a_write_follows_a_link(void **state)
{
	struct error e;
	struct stat st;

	put("real", "old", 3);
	assert_int_equal(symlink("real", "link"), 0);
	assert_false(file_write("link", "new", 3, false, &e));
	assert_true(file_write("link", "new", 3, true, &e));
	assert_holds("real", "new");
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(entries(), 2);
}

static void a_failed_write_leaves_nothing(void **state)
{
	static char big[1 << 16];
	struct rlimit old, little = { 1000, 0 };
	struct error e;

	assert_false(file_write("no/such/dir", "x", 1, false, &e));
	assert_false(file_write(".", "x", 1, true, &e));
	assert_string_equal(e.text, ".: is not a regular file");
	memset(big, 'n', 5000);
	assert_false(file_write(big, "x", 1, true, &e));
	assert_int_equal(e.code, ERROR_IO);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_false(file_write("dangling", "x", 1, true, &e));
	unlink("dangling");
	put("out", "old", 3);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	little.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &little);
	assert_false(file_write("out", big, sizeof big, true, &e));
	assert_false(file_write("new", big, sizeof big, false, &e));
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(e.code, ERROR_IO);
	assert_string_equal(e.text, "new: cannot write: File too large");
	assert_holds("out", "old");
	assert_int_equal(entries(), 1);
}

static void pieces_come_in_order(void **state)
{
	struct file_piece p[] = { { "ab", 2 }, { "", 0 }, { "cde", 3 } };

	assert_true(file_write_pieces("out", p, 3, false, NULL));
	assert_holds("out", "abcde");
}

static void arrays_come_back(void **state)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_F64, DTYPE_F16, DTYPE_BF16, DTYPE_I64, DTYPE_I32,
					   DTYPE_I16,
		DTYPE_I8, DTYPE_U8, DTYPE_BOOL, DTYPE_U16, DTYPE_U32, DTYPE_U64 };
	int64_t size[3] = { 2, 3, 5 };
	uint8_t data[240];
	struct file f;
	struct npy a;
	struct error e;

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (int rank = 0; rank <= 3; rank++) {
			assert_true(npy_write("a.npy", types[i], rank, size, data, &e));
			assert_true(file_open(&f, "a.npy", &e));
			assert_true(npy_read(&a, &f, &e));
			assert_int_equal(a.dtype, types[i]);
			assert_int_equal(a.rank, rank);
			assert_memory_equal(a.size, size, (size_t)rank * sizeof *size);
			assert_int_equal((a.data - f.data) % 64, 0);
			assert_int_equal(a.bytes, dtype_bytes(types[i]) * (size_t)dtype_numel(rank, size));
			assert_memory_equal(a.data, data, a.bytes);
			file_close(&f);
		}
	assert_false(npy_write("a.npy", DTYPE_QI8, 1, size, data, &e));
}

static void bad_arrays_are_refused(void **state)
{
	static const struct { const char *header, *error; } row[] = {
		{ "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "dtype is none of" },
		{ "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "fortran_order must be False" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }",
		 "4 bytes of data are fewer than the shape needs" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }", "shape is no tuple of sizes" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1", "shape is no tuple of sizes" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "size does not fit" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
		 "fewer than the shape" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
		 "more than 16" },
		{ "{'descr': '<f4', 'fortran_order': False }", "lacks descr" },
		{ "", "lacks descr" },
	};
	struct file f = { .path = "a.npy" };
	struct npy a;
	struct error e;
	uint8_t bytes[256];

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		size_t n = strlen(row[i].header);

		memcpy(bytes, "\x93NUMPY\1\0", 8);
		bytes[8] = (uint8_t)n;
		bytes[9] = 0;
		memcpy(bytes + 10, row[i].header, n);
		f.data = bytes;
		f.bytes = 10 + n + 4;
		assert_false(npy_read(&a, &f, &e));
		assert_non_null(strstr(e.text, row[i].error));
		f.bytes = 10 + n - 1;
		if (n)
			assert_false(npy_read(&a, &f, &e));
	}
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIR(a_file_is_mapped_with_slack),
		IN_DIR(a_pipe_is_read),
		IN_DIR(what_cannot_be_opened_is_said),
		IN_DIR(a_wrong_file_says_what_it_is),
		IN_DIR(no_memory_for_a_pipe_is_an_error),
		IN_DIR(a_write_replaces_only_when_asked),
		IN_DIR(a_write_follows_a_link),
		IN_DIR(a_failed_write_leaves_nothing),
		IN_DIR(pieces_come_in_order),
		IN_DIR(arrays_come_back),
		IN_DIR(bad_arrays_are_refused),
	};

	return RUN_TAP(tests);
}
