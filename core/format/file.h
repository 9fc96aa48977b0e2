/* file.h - a file as bytes: mapped, not read, so that looking at a program never touches its weights.
 *
 * file_open maps PATH; "-" and pipes are read into memory. The bytes live until file_close. FILE_SLACK zero bytes
 * behind them can be read as well: XNNPACK's kernels read a little past a constant that ends the file. */
#ifndef CORE_FORMAT_FILE_H
#define CORE_FORMAT_FILE_H

#include "core/base/work.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FILE_SLACK = 64 };

struct file {
	const char *path;	/* as given */
	const uint8_t *data;
	size_t bytes;
	int map;		/* 1: data is a mapping, 0: a block of ours */
};

bool file_open(struct file *f, const char *path, struct error *err);
/* Maps an open descriptor (a memfd, say) under the name PATH; the descriptor is not closed. */
bool file_open_fd(struct file *f, int fd, const char *path, struct error *err);
void file_close(struct file *f);
/* The bytes stay readable, but need not be in memory until they are read again. */
void file_forget(const struct file *f);

/* What the first bytes say a file is, for a clear message when it is not what was asked for. */
enum file_kind {
	FILE_EMPTY, FILE_PTE, FILE_PTE_OLD, FILE_PTD, FILE_BUNDLED, FILE_ETDUMP, FILE_ZIP, FILE_GZIP, FILE_LFS,
	FILE_NPY, FILE_UNKNOWN,
};
enum file_kind file_kind(const uint8_t *data, size_t bytes);
const char *file_kind_text(enum file_kind k);	/* "a Git LFS pointer (the file itself was not fetched)" */
/* The one-line error for a file that should have been WANTED: place, what it is. Returns false. */
bool file_not(const struct file *f, const char *wanted, struct error *err);

/* Writes bytes to PATH: into a file without a name (or beside it, where the file system has no such files), synced,
 * renamed over it (through a symbolic link: over what it points to). On failure PATH is as it was and nothing is left
 * behind; if the process dies it is the old file or the new one. Without REPLACE an existing PATH is an error. */
bool file_write(const char *path, const void *data, size_t bytes, bool replace, struct error *err);
/* The same when the bytes lie in pieces (a program is its tables and then its segments, padding in between). */
struct file_piece { const void *data; size_t bytes; };
bool file_write_pieces(const char *path, const struct file_piece *piece, int n, bool replace, struct error *err);

/* The same in two steps, for files that belong together: all are written before the first is put in its place. */
struct file_new {
	struct work *work;		/* who looks on, or NULL: set by the caller */
	const char *path;		/* as given; for messages */
	char target[PATH_MAX];		/* links resolved */
	char beside[PATH_MAX];		/* where its bytes are; "" when they have no name yet */
	int fd;
	bool open;			/* fd is */
	bool replace;
	bool replaced;			/* there was one before */
};
bool file_new_write(struct file_new *w, const char *path, const struct file_piece *piece, int n, bool replace,
		    struct error *err);
bool file_new_place(struct file_new *w, struct error *err);
void file_new_drop(struct file_new *w);	/* one that was not put in its place, or zeroes */

#endif
