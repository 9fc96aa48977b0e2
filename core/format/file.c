#include "core/format/file.h"

#include "core/base/mem.h"
#include "core/base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool io_error(struct error *err, const char *path, const char *what)
{
	return error_set(err, ERROR_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* Pages of the mapping: those of the file, and one that holds the slack. */
static size_t map_bytes(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return size_align(bytes, page) + page;
}

static bool map(struct file *f, int fd, size_t bytes, struct error *err)
{
	void *at = mmap(NULL, map_bytes(bytes), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return io_error(err, f->path, "cannot map");
	f->data = at;
	f->bytes = bytes;
	f->map = 1;
	if (bytes && mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
		io_error(err, f->path, "cannot map");
		file_close(f);
		return false;
	}
	return true;
}

/* Twice the room for what does not fit; false when there is no memory. */
static bool more_room(uint8_t **block, size_t used, size_t *cap)
{
	size_t twice = *cap ? *cap * 2 : 1 << 20;
	uint8_t *p = mem_try(twice);

	if (!p)
		return false;
	if (used)
		memcpy(p, *block, used);
	mem_free(*block);
	*block = p;
	*cap = twice;
	return true;
}

static bool slurp(struct file *f, int fd, struct error *err)
{
	uint8_t *block = NULL;
	size_t used = 0, cap = 0;
	ssize_t n;

	do {
		if (used + FILE_SLACK >= cap && !more_room(&block, used, &cap)) {
			mem_free(block);
			return error_set(err, ERROR_MEMORY, "%s: no memory for more than %zu bytes", f->path, used);
		}
		do
			n = read(fd, block + used, cap - FILE_SLACK - used);
		while (n < 0 && errno == EINTR);
		if (n < 0) {
			io_error(err, f->path, "cannot read");
			mem_free(block);
			return false;
		}
		used += (size_t)n;
	} while (n);
	f->data = block;
	f->bytes = used;
	return true;
}

bool file_open_fd(struct file *f, int fd, const char *path, struct error *err)
{
	struct stat st;

	*f = (struct file){ .path = path };
	if (fstat(fd, &st))
		return io_error(err, path, "cannot look at");
	if (S_ISDIR(st.st_mode))
		return error_set(err, ERROR_IO, "%s: is a directory", path);
	return S_ISREG(st.st_mode) ? map(f, fd, (size_t)st.st_size, err) : slurp(f, fd, err);
}

bool file_open(struct file *f, const char *path, struct error *err)
{
	bool ok;
	int fd;

	if (!strcmp(path, "-"))
		return file_open_fd(f, STDIN_FILENO, path, err);
	*f = (struct file){ .path = path };
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return io_error(err, path, "cannot open");
	ok = file_open_fd(f, fd, path, err);
	close(fd);
	return ok;
}

void file_forget(const struct file *f)
{
	if (f->map && f->bytes)
		madvise((void *)(uintptr_t)f->data, f->bytes, MADV_DONTNEED);	/* never written to: nothing is lost */
}

void file_close(struct file *f)
{
	if (f->map)
		munmap((void *)f->data, map_bytes(f->bytes));
	else
		mem_free((void *)f->data);
	f->data = NULL;
	f->bytes = 0;
	f->map = 0;
}

static const struct { size_t at; const char *bytes; size_t n; enum file_kind kind; } marks[] = {
	{ 4, "ET12", 4, FILE_PTE },
	{ 4, "FT01", 4, FILE_PTD },
	{ 4, "BP08", 4, FILE_BUNDLED },
	{ 8, "ED00", 4, FILE_ETDUMP },		/* behind the size prefix */
	{ 4, "ED00", 4, FILE_ETDUMP },
	{ 0, "PK\3\4", 4, FILE_ZIP },
	{ 0, "PK\5\6", 4, FILE_ZIP },		/* an empty archive */
	{ 0, "\x1f\x8b", 2, FILE_GZIP },
	{ 0, "version https://git-lfs", 23, FILE_LFS },
	{ 0, "\x93NUMPY", 6, FILE_NPY },
};

enum file_kind file_kind(const uint8_t *data, size_t bytes)
{
	if (!bytes)
		return FILE_EMPTY;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (size_inside(marks[i].at, marks[i].n, bytes)
		    && !memcmp(data + marks[i].at, marks[i].bytes, marks[i].n))
			return marks[i].kind;
	if (bytes >= 8 && data[4] == 'E' && data[5] == 'T' && data[6] >= '0' && data[6] <= '9'
	    && data[7] >= '0' && data[7] <= '9')
		return FILE_PTE_OLD;
	return FILE_UNKNOWN;
}

const char *file_kind_text(enum file_kind k)
{
	static const char *const text[] = {
		[FILE_EMPTY] = "empty",
		[FILE_PTE] = "an ExecuTorch program (.pte)",
		[FILE_PTE_OLD] = "an ExecuTorch program of another format version",
		[FILE_PTD] = "an ExecuTorch data file (.ptd), which holds no program",
		[FILE_BUNDLED] = "a bundled program (.bpte): a program packed together with test cases",
		[FILE_ETDUMP] = "an ETDump (a profile of a run)",
		[FILE_ZIP] = "a zip archive (a .pt2 or ETRecord, perhaps)",
		[FILE_GZIP] = "compressed with gzip",
		[FILE_LFS] = "a Git LFS pointer (the file itself was not fetched)",
		[FILE_NPY] = "a NumPy array",
		[FILE_UNKNOWN] = "no format known here",
	};

	return text[k];
}

bool file_not(const struct file *f, const char *wanted, struct error *err)
{
	enum file_kind k = file_kind(f->data, f->bytes);

	if (k == FILE_PTE_OLD || (k == FILE_UNKNOWN && f->bytes >= 8))
		return error_set(err, ERROR_FORMAT, "%s: offset 4: identifier \"%.4s\": %s, not %s", f->path,
				 (const char *)f->data + 4, file_kind_text(k), wanted);
	return error_set(err, ERROR_FORMAT, "%s: offset 0: is %s, not %s", f->path, file_kind_text(k), wanted);
}
