#include "core/format/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100 };	/* names tried for the file beside */

static bool fail(const struct file_new *w, const char *what, struct error *err)
{
	return error_set(err, ERROR_IO, "%s: %s: %s", w->path, what, strerror(errno));
}

static const char *folder_of(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return ".";
	snprintf(dir, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return dir;
}

/* Where the bytes are to end, and with which mode: an existing file keeps its own. */
static bool find_target(struct file_new *w, mode_t *mode, struct error *err)
{
	struct stat st;

	if (lstat(w->path, &st)) {
		if (errno != ENOENT)
			return fail(w, "cannot look at", err);
		if (snprintf(w->target, sizeof w->target, "%s", w->path) >= (int)sizeof w->target)
			return error_set(err, ERROR_IO, "%s: name is too long", w->path);
		return true;
	}
	if (!w->replace)
		return error_set(err, ERROR_IO, "%s: exists already", w->path);
	if (!realpath(w->path, w->target) || stat(w->target, &st))
		return fail(w, "cannot follow the link", err);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_IO, "%s: is not a regular file", w->path);
	*mode = st.st_mode & 07777;
	w->replaced = true;
	return true;
}

/* A file without a name yet, in the folder of the target: a crash leaves nothing behind. */
static bool create_nameless(struct file_new *w)
{
	char dir[PATH_MAX];

	w->fd = access("/proc/self/fd", X_OK) ? -1 : open(folder_of(w->target, dir), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	return w->open = w->fd >= 0;
}

static bool beside(const struct file_new *w, int i, char *name, size_t bytes, struct error *err)
{
	return snprintf(name, bytes, "%s.%ld-%d.tmp", w->target, (long)getpid(), i) < (int)bytes ||
	       error_set(err, ERROR_IO, "%s: name is too long", w->path);
}

static bool create_beside(struct file_new *w, struct error *err)
{
	char name[PATH_MAX];

	for (int i = 0; i < TRIES; i++) {
		if (!beside(w, i, name, sizeof name, err))
			return false;
		w->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		w->open = w->fd >= 0;
		if (w->open) {
			memcpy(w->beside, name, sizeof name);
			return true;
		}
		if (errno != EEXIST)
			break;
	}
	return fail(w, "cannot create a file beside it", err);
}

/* The nameless file gets a name. */
static bool link_as(const struct file_new *w, const char *name)
{
	char fd[64];

	snprintf(fd, sizeof fd, "/proc/self/fd/%d", w->fd);
	return !linkat(AT_FDCWD, fd, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static bool link_beside(struct file_new *w, struct error *err)
{
	char name[PATH_MAX];

	for (int i = 0; i < TRIES; i++) {
		if (!beside(w, i, name, sizeof name, err))
			return false;
		if (link_as(w, name)) {
			memcpy(w->beside, name, sizeof name);
			return true;
		}
		if (errno != EEXIST)
			break;
	}
	return fail(w, "cannot name the new file", err);
}

static bool put(const struct file_new *w, const uint8_t *data, size_t bytes, struct error *err)
{
	enum { CHUNK = 1 << 26 };

	while (bytes) {
		ssize_t n;

		if (!work_goes_on(w->work, "writing", 0, 0, err))
			return false;
		n = write(w->fd, data, bytes < CHUNK ? bytes : CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(w, "cannot write", err);
		data += n;
		bytes -= (size_t)n;
	}
	return true;
}

static bool move_into_place(struct file_new *w, struct error *err)
{
	if (!*w->beside && !w->replaced && link_as(w, w->target))
		return true;
	if (!*w->beside && !(w->replace ? link_beside(w, err) : fail(w, "cannot name the new file", err)))
		return false;
	if (w->replace ? !rename(w->beside, w->target)
		       : !renameat2(AT_FDCWD, w->beside, AT_FDCWD, w->target, RENAME_NOREPLACE))
		return true;
	/* File systems without RENAME_NOREPLACE: a hard link does not replace either. */
	if (!w->replace && (errno == EINVAL || errno == ENOSYS) && !link(w->beside, w->target))
		return unlink(w->beside), true;
	return fail(w, "cannot rename the new file to it", err);
}

/* After this a crash of the machine cannot bring the old directory entry back. The file itself is complete and in
 * place by now, so there is no failure left to report. */
static void sync_directory(const char *target)
{
	char dir[PATH_MAX];
	int fd = open(folder_of(target, dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

bool file_new_write(struct file_new *w, const char *path, const struct file_piece *piece, int n, bool replace,
		    struct error *err)
{
	mode_t mode = 0;
	bool ok;

	*w = (struct file_new){ .work = w->work, .path = path, .replace = replace };
	ok = find_target(w, &mode, err) && (create_nameless(w) || create_beside(w, err));
	for (int i = 0; ok && i < n; i++)
		ok = put(w, piece[i].data, piece[i].bytes, err);
	if (ok && mode && fchmod(w->fd, mode))
		ok = fail(w, "cannot set its mode", err);
	if (ok && fsync(w->fd))
		ok = fail(w, "cannot sync", err);
	if (!ok)
		file_new_drop(w);
	return ok;
}

bool file_new_place(struct file_new *w, struct error *err)
{
	bool ok = move_into_place(w, err);

	if (ok) {
		*w->beside = '\0';
		sync_directory(w->target);
	}
	file_new_drop(w);
	return ok;
}

void file_new_drop(struct file_new *w)
{
	if (*w->beside)
		unlink(w->beside);
	*w->beside = '\0';
	if (w->open)
		close(w->fd);
	w->open = false;
}

bool file_write_pieces(const char *path, const struct file_piece *piece, int n, bool replace, struct error *err)
{
	struct file_new w = { 0 };

	return file_new_write(&w, path, piece, n, replace, err) && file_new_place(&w, err);
}

bool file_write(const char *path, const void *data, size_t bytes, bool replace, struct error *err)
{
	return file_write_pieces(path, &(struct file_piece){ data, bytes }, 1, replace, err);
}
