/* Versions as files: on disk, and in memory for workers. */
#include "core/session/session_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool session_emit(struct session *s, int version, struct error *err)
{
	struct version *v = &s->version[version];

	if (v->has_emitted)
		return true;
	session_look_on(s, version, s->work);
	v->has_emitted = program_emit(&v->emitted, s->program, v->method, err);
	session_look_on(s, version, NULL);
	return v->has_emitted;
}

bool session_write(struct session *s, const char *path, bool replace, struct error *err)
{
	struct emitted *e = &session_version(s)->emitted;
	bool ok = session_emit(s, s->current, err);

	e->work = s->work;
	ok = ok && emitted_write(e, s->program, path, replace, err);
	e->work = NULL;
	return ok;
}

static bool write_all(int fd, const uint8_t *data, size_t n)
{
	while (n) {
		ssize_t k = write(fd, data, n < 1 << 30 ? n : 1 << 30);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		data += k;
		n -= (size_t)k;
	}
	return true;
}

int pieces_in_memory(const struct file_piece *piece, int n, struct error *err)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	bool ok = fd >= 0;

	for (int i = 0; ok && i < n; i++)
		ok = write_all(fd, piece[i].data, piece[i].bytes);
	if (ok)
		return fd;
	error_set(err, ERROR_IO, "no memory for the program: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

void files_close(struct files_of_version *f)
{
	if (!f)
		return;
	program_close(f->reopened);
	if (f->program >= 0)
		close(f->program);
	for (int i = 0; i < f->ndata; i++)
		close(f->data[i]);
	arena_free(&f->mem);
	mem_free(f);
}

static bool data_in_memory(struct files_of_version *f, const struct emitted *e, struct error *err)
{
	f->data = arena_array(&f->mem, (size_t)e->ndata, sizeof *f->data);
	for (int i = 0; i < e->ndata; i++) {
		int fd = pieces_in_memory(e->data[i].file.piece, e->data[i].file.npieces, err);

		if (fd < 0)
			return false;
		f->data[f->ndata++] = fd;
		f->path[e->data[i].data] = arena_printf(&f->mem, "/proc/%d/fd/%d", (int)getpid(), fd);
	}
	return true;
}

static bool make_files(struct session *s, int version, struct files_of_version *f, struct error *err)
{
	const struct emitted *e;

	f->path = arena_array(&f->mem, (size_t)s->ndata_paths, sizeof *f->path);
	for (int i = 0; i < s->ndata_paths; i++)
		f->path[i] = s->data_path[i];
	if (!version && !s->in_memory)
		return true;	/* a worker can open it itself */
	if (!session_emit(s, version, err))
		return false;
	e = &s->version[version].emitted;
	f->program = pieces_in_memory(e->program.piece, e->program.npieces, err);
	return f->program >= 0 && data_in_memory(f, e, err);
}

bool session_files(struct session *s, int version, struct files_of_version **out, struct error *err)
{
	struct version *v = &s->version[version];
	struct files_of_version *f = v->files;

	if (!f) {
		f = mem_alloc(sizeof *f);
		f->program = -1;
		if (!make_files(s, version, f, err)) {
			files_close(f);
			return false;
		}
		v->files = f;
	}
	*out = f;
	return true;
}

static bool facts_of_reopened(struct session *s, struct files_of_version *f, struct error *err)
{
	int n = s->program->nmethods;
	struct fold_plan fold = { .nfolds = 0 };
	struct linear_plan linear = { .nlinears = 0 };

	f->facts = arena_array(&f->mem, (size_t)n, sizeof *f->facts);
	for (int m = 0; m < n; m++) {
		struct facts_source source = { f->reopened, f->reopened->method, n, m, &f->reopened->pte.plan[m], NULL, &fold,
			&linear };

		if (!facts_make(&f->facts[m], &source, &f->mem, err))
			return false;
	}
	return true;
}

static bool reopen(struct session *s, struct files_of_version *f, struct error *err)
{
	struct file file;

	if (!file_open_fd(&file, f->program, s->program->file.path, err) ||
	    !program_open_file(&f->reopened, file, f->path, s->ndata_paths, err))
		return false;
	if (facts_of_reopened(s, f, err))
		return true;
	program_close(f->reopened);
	f->reopened = NULL;
	return false;
}

bool session_worker_facts(struct session *s, int version, const struct method_facts **facts, struct error *err)
{
	struct files_of_version *f;

	if (!version) {
		*facts = session_facts(s, 0, err) ? s->version[0].facts : NULL;
		return *facts;
	}
	if (!session_files(s, version, &f, err) || (!f->reopened && !reopen(s, f, err)))
		return false;
	*facts = f->facts;
	return true;
}
