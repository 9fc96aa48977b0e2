#include "core/program/program.h"

#include "core/format/xblob.h"
#include "core/program/lift.h"
#include "core/program/states.h"

#include <string.h>

static const char xnnpack_id[] = "XnnpackBackend";

int program_home(const struct program *p, const void *data)
{
	for (int i = 0; i < p->ndata; i++)
		if ((uintptr_t)data >= (uintptr_t)p->data_file[i].data &&
		    (uintptr_t)data - (uintptr_t)p->data_file[i].data < p->data_file[i].bytes)
			return i;
	return HOME_PROGRAM;
}

const struct ptd_entry *program_external(const struct program *p, const struct pte_tensor *t, int *home)
{
	for (*home = 0; t->name && *home < p->ndata; ++*home) {
		const struct ptd_entry *e = ptd_find(&p->data[*home], t->name, strlen(t->name));

		if (e)
			return e;
	}
	*home = 0;
	return NULL;
}

/* Delegate data: the data files come before the program's own named data. */
static struct span find_named(void *ctx, const char *key, size_t bytes)
{
	const struct program *p = ctx;
	const struct pte_named *n;

	for (int i = 0; i < p->ndata; i++) {
		const struct ptd_entry *e = ptd_find(&p->data[i], key, bytes);

		if (e)
			return e->data;
	}
	n = pte_named_find(&p->pte, key, bytes);
	return n ? n->data : (struct span){ 0 };
}

/* Blobs may be shared by delegates: each is read once. */
static struct program_delegate read_delegate(struct program *p, const struct pte_delegate *d, struct map *seen)
{
	struct program_delegate *same = map_get(seen, &d->blob, sizeof d->blob), *out;
	struct error err = { 0 };
	bool ours = d->id && !strcmp(d->id, xnnpack_id);

	if (ours && same)
		return *same;
	out = arena_alloc(&p->mem, sizeof *out);
	if (!ours)
		error_set(&err, ERROR_UNSUPPORTED, "%s: delegate of %s: only %s can be read", p->pte.path,
			  d->id ? d->id : "?", xnnpack_id);
	else
		map_put(seen, &p->mem, &d->blob, sizeof d->blob, out);
	if (!ours || !xblob_read(&out->x, d->blob, (size_t)(d->blob.data - p->file.data), p->pte.path, find_named, p,
				 &p->mem, &err))
		out->why = arena_copy(&p->mem, &err, sizeof err);
	return *out;
}

static bool read_delegates(struct program *p, struct error *err)
{
	struct map seen = { 0 };

	p->delegate = arena_array(&p->mem, (size_t)p->pte.nplans, sizeof *p->delegate);
	for (int i = 0; i < p->pte.nplans; i++) {
		const struct pte_plan *plan = &p->pte.plan[i];

		p->delegate[i] = arena_array(&p->mem, (size_t)plan->ndelegates, sizeof **p->delegate);
		for (int d = 0; d < plan->ndelegates; d++) {
			if (!work_goes_on(p->work, "reading delegates", d, plan->ndelegates, err))
				return false;
			p->delegate[i][d] = read_delegate(p, &plan->delegate[d], &seen);
		}
	}
	return true;
}

bool program_delegate(const struct program *p, int plan, int delegate, struct xgraph *x, struct arena *a,
		      struct error *err)
{
	const struct program_delegate *d = &p->delegate[plan][delegate];

	if (d->why)
		return error_set(err, d->why->code, "%s", d->why->text);
	*x = d->x;
	x->value = arena_copy(a, x->value, (size_t)x->nvalues * sizeof *x->value);
	x->node = arena_copy(a, x->node, (size_t)x->nnodes * sizeof *x->node);
	return true;
}

/* As the stock module does: a key that two data files hold could mean either. */
static bool check_keys(const struct program *p, int file, struct error *err)
{
	for (int i = 0; i < p->data[file].nentries; i++) {
		const struct ptd_entry *e = &p->data[file].entry[i];

		for (int k = 0; k < file; k++)
			if (ptd_find(&p->data[k], e->key, e->key_bytes))
				return error_set(err, ERROR_FORMAT, "%s: %s: key %.*s is in %s as well", p->pte.path,
						 p->data_file[file].path, (int)e->key_bytes, e->key, p->data_file[k].path);
	}
	return true;
}

static bool open_data(struct program *p, const char *const *data, int ndata, struct error *err)
{
	p->data_file = arena_array(&p->mem, (size_t)ndata, sizeof *p->data_file);
	p->data = arena_array(&p->mem, (size_t)ndata, sizeof *p->data);
	for (; p->ndata < ndata; p->ndata++)
		if (!file_open(&p->data_file[p->ndata], data[p->ndata], err))
			return false;
	for (int i = 0; i < ndata; i++)
		if (!ptd_read(&p->data[i], &p->data_file[i], &p->mem, err) || !check_keys(p, i, err))
			return false;
	return true;
}

/* As the stock runtime demands: what a data file holds under a tensor's name is that tensor. */
static bool check_external(const struct program *p, const struct pte_tensor *t, struct error *err)
{
	int home;
	const struct ptd_entry *e = program_external(p, t, &home);

	if (!e || (t->storage != PTE_EXTERNAL && t->storage != PTE_EXTERNAL_MUTABLE) ||
	    (e->has_layout && e->dtype == t->dtype && e->rank == t->rank && e->data.bytes >= t->bytes &&
		   !memcmp(e->size, t->size, (size_t)t->rank * sizeof *t->size) &&
		   !memcmp(e->dim_order, t->dim_order, (size_t)t->rank)))
		return true;
	return error_set(err, ERROR_FORMAT, "%s: %s is another tensor than %s wants", p->data_file[home].path, t->name,
			 p->pte.path);
}

static bool check_externals(const struct program *p, struct error *err)
{
	for (int i = 0; p->ndata && i < p->pte.nplans; i++)
		for (int v = 0; v < p->pte.plan[i].nvalues; v++) {
			const struct pte_value *x = &p->pte.plan[i].value[v];

			if (x->tag == PTE_TENSOR && !check_external(p, x->tensor, err))
				return false;
		}
	return true;
}

static bool lift_methods(struct program *p, struct error *err)
{
	if (!read_delegates(p, err))
		return false;
	states_find(p);
	if (!work_goes_on(p->work, "reading methods", 0, 0, err))
		return false;
	p->method = arena_array(&p->mem, (size_t)p->pte.nplans, sizeof *p->method);
	for (; p->nmethods < p->pte.nplans; p->nmethods++)
		if (!(p->method[p->nmethods] = lift_method(p, p->nmethods, err)))
			return false;
	return true;
}

bool program_open_watched(struct program **out, struct file file, const char *const *data, int ndata, struct work *work,
			  struct error *err)
{
	struct program *p = mem_alloc(sizeof *p);

	p->file = file;
	p->work = work;
	if (work_goes_on(work, "reading the file", 0, 0, err) && pte_read(&p->pte, &p->file, &p->mem, err) && open_data(p, data, ndata, err) && check_externals(p, err) &&
	    lift_methods(p, err)) {
		p->work = NULL;
		*out = p;
		return true;
	}
	program_close(p);
	return false;
}

bool program_open_file(struct program **out, struct file file, const char *const *data, int ndata, struct error *err)
{
	return program_open_watched(out, file, data, ndata, NULL, err);
}

bool program_open(struct program **out, const char *path, const char *const *data, int ndata, struct error *err)
{
	struct file file;

	return file_open(&file, path, err) && program_open_file(out, file, data, ndata, err);
}

void program_close(struct program *p)
{
	if (!p)
		return;
	for (int i = 0; i < p->nmethods; i++)
		graph_free(p->method[i]);
	for (int i = 0; i < p->ndata; i++)
		file_close(&p->data_file[i]);
	file_close(&p->file);
	arena_free(&p->mem);
	mem_free(p);
}
