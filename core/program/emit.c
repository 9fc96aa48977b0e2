#include "core/program/emission.h"

#include "core/format/xblob.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one image out of kept and new plans ---- */

static struct pte_tensor *keep_tensor(struct emission *e, const struct pte_tensor *from)
{
	struct pte_tensor *t = arena_copy(e->mem, from, sizeof *t);
	struct span bytes = { t->data, t->bytes };

	if (t->storage == PTE_CONSTANT)
		t->data_index = store_constant(&e->store, bytes);
	else if (t->storage == PTE_MUTABLE)
		t->data_index = store_mutable(&e->store, bytes);
	return t;
}

/* A method that did not change: value by value, only its stored bytes are counted anew. */
static struct pte_plan keep_plan(struct emission *e, const struct pte_plan *filed)
{
	struct pte_plan plan = *filed;

	plan.value = arena_copy(e->mem, filed->value, (size_t)filed->nvalues * sizeof *filed->value);
	for (int i = 0; i < plan.nvalues; i++)
		if (plan.value[i].tag == PTE_TENSOR)
			plan.value[i].tensor = keep_tensor(e, plan.value[i].tensor);
	emit_data_plan(e, filed);
	return plan;
}

struct losses { vec(const char *) said; vec(struct call_map) moved; };

static void note_losses(struct emission *e, struct losses *l, const struct call_map *map)
{
	int filed = map->moved + map->ngone;
	const char *name = map->method;

	if (filed)
		vec_push(e->mem, &l->said, arena_printf(e->mem, "debug handles of %s: %d calls have other numbers, %d are "
			"gone; result.calls of the JSON report maps them", name, map->moved, map->ngone));
	if (map->delegates_anew)
		vec_push(e->mem, &l->said, arena_printf(e->mem, "delegate debug ids of %s: operators numbered anew, delegates: %d",
			name, map->delegates_anew));
	if (filed)
		vec_push(e->mem, &l->moved, *map);
}

static bool make_plans(struct emission *e, struct graph *const *method, struct emitted *out, struct pte_image *image,
		       struct error *err)
{
	struct losses lost = { 0 };

	image->nplans = e->p->nmethods;
	image->plan = arena_array(e->mem, (size_t)image->nplans, sizeof *image->plan);
	e->value_of = arena_array(e->mem, (size_t)image->nplans, sizeof *e->value_of);
	for (int i = 0; i < image->nplans; i++) {
		const struct pte_plan *filed = &e->p->pte.plan[i];
		struct call_map map = { .method = filed->name };

		if (method[i] == e->p->method[i])
			image->plan[i] = keep_plan(e, filed);
		else if (!emit_method(e, method[i], filed, &image->plan[i], &map, err))
			return false;
		note_losses(e, &lost, &map);
		if (filed->has_stacktrace && e->changed)
			vec_push(e->mem, &lost.said, arena_printf(e->mem, "stack traces of %s", filed->name));
	}
	out->lost = lost.said.at;
	out->nlost = lost.said.n;
	out->moved = lost.moved.at;
	out->nmoved = lost.moved.n;
	return true;
}

static void finish_image(struct emission *e, struct pte_image *image)
{
	struct store *s = &e->store;

	for (int i = 0; i < s->named.n; i++)	/* what grew since, or is a constant now, has one place */
		s->named.at[i].data = store_bytes(s, s->named.at[i].data);
	image->constant = s->constant.at;
	image->nconstants = s->constant.n;
	image->mutable = s->mutable.at;
	image->nmutable = s->mutable.n;
	image->named = s->named.at;
	image->nnamed = s->named.n;
}

static void count_planned(struct emitted *out, const struct pte_image *image)
{
	for (int p = 0; p < image->nplans; p++)
		for (int i = 1; i < image->plan[p].nbuffers; i++)
			out->planned_bytes += (uint64_t)image->plan[p].buffer_bytes[i];
}

/* Entries of data files, each content of a file once. */
static bool write_data(struct emission *e, struct emitted *out, bool changed, struct error *err)
{
	out->data = arena_array(e->mem, (size_t)e->p->ndata, sizeof *out->data);
	for (int d = 0; d < e->p->ndata; d++) {
		struct ptd_entry *entry;
		struct store count;
		int n;

		store_init(&count, e->mem);
		if (emit_data_entries(e, d, &entry, &n) && changed) {
			out->data[out->ndata].data = d;
			if (!ptd_write(&out->data[out->ndata].file, entry, n, err))
				return false;
			out->ndata++;
		}
		for (int i = 0; i < n; i++)
			store_bytes(&count, entry[i].data);
		out->tensor_bytes += count.bytes;
	}
	return true;
}

static void as_filed(struct emission *e, struct emitted *out)
{
	out->program.piece = arena_alloc(e->mem, sizeof *out->program.piece);
	*out->program.piece = (struct file_piece){ e->p->file.data, e->p->file.bytes };
	out->program.npieces = 1;
	out->program.bytes = e->p->file.bytes;
}

/* ---- reading back ---- */

/* The written program as a file whose tables are there and whose weights are holes: reading checks tables, and
 * never looks at weights. */
static bool map_tables(struct file *f, const struct pte_output *o, struct error *err)
{
	enum { SMALL = 1 << 16 };
	int fd = memfd_create("etinspect-check", MFD_CLOEXEC);
	off_t at = 0;
	bool ok = fd >= 0 && !ftruncate(fd, (off_t)o->bytes);

	for (int i = 0; ok && i < o->npieces; at += (off_t)o->piece[i++].bytes)
		if (!i || o->piece[i].bytes <= SMALL)
			ok = pwrite(fd, o->piece[i].data, o->piece[i].bytes, at) == (ssize_t)o->piece[i].bytes;
	if (!ok)
		error_set(err, ERROR_IO, "the written program: no memory to read it back: %s", strerror(errno));
	ok = ok && file_open_fd(f, fd, "the written program", err);
	if (fd >= 0)
		close(fd);
	return ok;
}

struct reading {
	const struct pte_output *out;
	const uint64_t *start;		/* by piece */
	const struct file *file;
	struct error *err;
};

static const uint64_t *find_starts(const struct pte_output *o, struct arena *a)
{
	uint64_t *start = arena_array(a, (size_t)o->npieces + 1, sizeof *start);

	for (int i = 0; i < o->npieces; i++)
		start[i + 1] = start[i] + o->piece[i].bytes;
	return start;
}

static const uint8_t *piece_at(const struct reading *r, uint64_t at)
{
	int low = 0, high = r->out->npieces;

	while (low < high) {		/* the first that ends behind it */
		int mid = low + (high - low) / 2;

		if (r->start[mid + 1] <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < r->out->npieces ? (const uint8_t *)r->out->piece[low].data + (at - r->start[low]) : NULL;
}

static bool differs(const struct reading *r, const char *method, const char *what, int i)
{
	return error_set(r->err, ERROR_FORMAT, "the written program does not read back as meant: %s: %s %d",
		method, what, i);
}

/* Read bytes lie at the place in the file where the meant bytes will be. */
static bool same_data(const struct reading *r, const uint8_t *read, const uint8_t *meant, size_t bytes)
{
	const uint8_t *there = piece_at(r, (uint64_t)(read - r->file->data));

	return !bytes || there == meant || (there && !memcmp(there, meant, bytes));
}

static bool same_tensor(const struct reading *r, const struct pte_image *image, const struct pte_tensor *read,
			const struct pte_tensor *meant)
{
	const struct span *from = meant->storage == PTE_CONSTANT ? &image->constant[meant->data_index] :
		meant->storage == PTE_MUTABLE ? &image->mutable[meant->data_index] : NULL;

	return read->dtype == meant->dtype && read->rank == meant->rank && read->storage == meant->storage &&
		!memcmp(read->size, meant->size, (size_t)meant->rank * sizeof *meant->size) &&
		!memcmp(read->dim_order, meant->dim_order, (size_t)meant->rank) &&
		read->dynamism == meant->dynamism &&
		read->has_allocation == meant->has_allocation && read->memory_id == meant->memory_id &&
		read->memory_offset == meant->memory_offset &&
		(!from || same_data(r, read->data, from->data, meant->bytes));
}

static bool same_value(const struct reading *r, const struct pte_image *image, const struct pte_value *read,
		       const struct pte_value *meant)
{
	if (read->tag != meant->tag)
		return false;
	switch (read->tag) {
	case PTE_NULL: return true;
	case PTE_INT: return read->i == meant->i;
	case PTE_BOOL: return read->b == meant->b;
	case PTE_DOUBLE: return !memcmp(&read->d, &meant->d, sizeof read->d);
	case PTE_TENSOR: return same_tensor(r, image, read->tensor, meant->tensor);
	case PTE_STRING: return read->s.bytes == meant->s.bytes && !memcmp(read->s.at, meant->s.at, read->s.bytes);
	case PTE_DOUBLE_LIST:
		return read->doubles.n == meant->doubles.n &&
			(!read->doubles.n || !memcmp(read->doubles.at, meant->doubles.at,
				(size_t)read->doubles.n * sizeof(double)));
	case PTE_BOOL_LIST:
		return read->bools.n == meant->bools.n &&
			(!read->bools.n || !memcmp(read->bools.at, meant->bools.at, (size_t)read->bools.n));
	case PTE_INT_LIST: case PTE_TENSOR_LIST: case PTE_OPTIONAL_TENSOR_LIST:
		return read->index.n == meant->index.n &&
			(!read->index.n || !memcmp(read->index.at, meant->index.at,
				(size_t)read->index.n * sizeof(int32_t)));
	}
	return false;
}

static bool same_ints(const int32_t *a, int na, const int32_t *b, int nb)
{
	return na == nb && (!na || !memcmp(a, b, (size_t)na * sizeof *a));
}

static bool same_call(const struct pte_plan *a, const struct pte_instruction *x, const struct pte_plan *b,
		      const struct pte_instruction *y)
{
	if (x->call != y->call || x->index != y->index || x->to != y->to ||
	    !same_ints(x->arg, x->nargs, y->arg, y->nargs))
		return false;
	return x->call != PTE_KERNEL || (!strcmp(a->operator[x->index].name, b->operator[y->index].name) &&
		!strcmp(a->operator[x->index].overload, b->operator[y->index].overload));
}

static bool same_plan(const struct reading *r, const struct pte_image *image, const struct pte_plan *read,
		      const struct pte_plan *meant)
{
	if (strcmp(read->name, meant->name) || read->nvalues != meant->nvalues || read->nchains != meant->nchains ||
	    read->ndelegates != meant->ndelegates || read->nbuffers != meant->nbuffers ||
	    !same_ints(read->input, read->ninputs, meant->input, meant->ninputs) ||
	    !same_ints(read->output, read->noutputs, meant->output, meant->noutputs))
		return differs(r, meant->name, "number of values, calls or arenas", meant->nvalues);
	for (int i = 0; i < read->nvalues; i++)
		if (!same_value(r, image, &read->value[i], &meant->value[i]))
			return differs(r, meant->name, "value", i);
	for (int i = 0; i < read->nbuffers; i++)
		if (read->buffer_bytes[i] != meant->buffer_bytes[i])
			return differs(r, meant->name, "arena", i);
	for (int i = 0; i < read->ndelegates; i++)
		if (strcmp(read->delegate[i].id, meant->delegate[i].id) ||
		    read->delegate[i].blob.bytes != meant->delegate[i].blob.bytes ||
		    !same_data(r, read->delegate[i].blob.data, meant->delegate[i].blob.data,
			meant->delegate[i].blob.bytes))
			return differs(r, meant->name, "delegate", i);
	for (int c = 0; c < read->nchains; c++)
		for (int i = 0; i < meant->chain[c].ninstructions; i++)
			if (read->chain[c].ninstructions != meant->chain[c].ninstructions ||
			    !same_call(read, &read->chain[c].instruction[i], meant, &meant->chain[c].instruction[i]))
				return differs(r, meant->name, "instruction", i);
	return true;
}

static bool same_program(const struct reading *r, const struct pte *pte, const struct pte_image *image)
{
	if (pte->nplans != image->nplans)
		return differs(r, "program", "number of methods", pte->nplans);
	for (int i = 0; i < pte->nplans; i++)
		if (!same_plan(r, image, &pte->plan[i], &image->plan[i]))
			return false;
	for (int i = 0; i < image->nnamed; i++) {
		const struct pte_named *n = pte_named_find(pte, image->named[i].key, image->named[i].key_bytes);

		if (!n || n->data.bytes != image->named[i].data.bytes ||
		    !same_data(r, n->data.data, image->named[i].data.data, n->data.bytes))
			return differs(r, "program", "named data", i);
	}
	return true;
}

struct named_lookup { const struct program *p; const struct emission *e; };

static struct span look_up(void *ctx, const char *key, size_t bytes)
{
	const struct named_lookup *l = ctx;

	for (int d = 0; d < l->p->ndata; d++)
		if (ptd_find(&l->p->data[d], key, bytes))
			return ptd_find(&l->p->data[d], key, bytes)->data;
	return store_find_named(&l->e->store, key, bytes);
}

static bool is_filed(const struct program *p, struct span blob)
{
	return blob.data >= p->file.data && blob.data < p->file.data + p->file.bytes;
}

/* New blobs are read as the runtime will read them, which frees their bytes before it runs them. */
static bool check_blobs(struct emission *e, const struct pte_image *image, struct graph *const *method,
	struct error *err)
{
	struct named_lookup l = { e->p, e };
	bool ok = true;

	for (int p = 0; p < image->nplans && ok; p++)
		for (int d = 0; d < image->plan[p].ndelegates && ok && method[p] != e->p->method[p]; d++) {
			const struct pte_delegate *x = &image->plan[p].delegate[d];
			struct arena mem = { 0 };
			struct xgraph g;

			ok = work_goes_on(method[p]->work, "reading delegates back", d, image->plan[p].ndelegates, err);

			if (ok && !is_filed(e->p, x->blob))
				ok = xblob_read(&g, x->blob, 0, "the written delegate", look_up, &l, &mem, err) &&
					(!xgraph_read_unpacked(&g) || error_set(err, ERROR_FORMAT, "the written delegate: "
						"value %u is stored in it and read at run time", xgraph_read_unpacked(&g)->id));
			arena_free(&mem);
		}
	return ok;
}

static bool read_back(struct emission *e, const struct pte_output *out, const struct pte_image *image,
	struct error *err)
{
	struct file f = { 0 };
	struct pte pte = { 0 };
	struct arena mem = { 0 };
	struct reading r = { out, find_starts(out, &mem), &f, err };
	bool ok = map_tables(&f, out, err);

	if (ok) {
		ok = pte_read(&pte, &f, &mem, err) && same_program(&r, &pte, image);
		file_close(&f);
	}
	arena_free(&mem);
	return ok;
}

/* ---- the whole ---- */

static bool emit_changed(struct emission *e, struct emitted *out, struct graph *const *method,
			 struct pte_image *image, struct error *err)
{
	if (!make_plans(e, method, out, image, err) || !emit_data_keep_named(e, err))
		return false;
	finish_image(e, image);
	return true;
}

static bool emit_all(struct emitted *out, const struct program *p, struct graph *const *method, bool anew, struct error *err)
{
	struct emission e = { .mem = &out->mem, .p = p, .changed = anew };
	struct pte_image image = { 0 };
	bool ok;

	memset(out, 0, sizeof *out);
	for (int i = 0; i < p->nmethods; i++)
		e.changed |= method[i] != p->method[i];
	store_init(&e.store, e.mem);
	emit_data_init(&e);
	ok = emit_changed(&e, out, method, &image, err) && write_data(&e, out, e.changed, err);
	if (ok && e.changed)
		ok = pte_write(&out->program, &image, err) && read_back(&e, &out->program, &image, err) &&
			check_blobs(&e, &image, method, err);
	else if (ok)
		as_filed(&e, out);
	out->plan = e.changed ? image.plan : p->pte.plan;
	out->value_of = e.value_of;
	out->tensor_bytes += e.store.bytes + e.blob_bytes;
	count_planned(out, &image);
	if (!ok)
		emitted_free(out);
	return ok;
}

bool program_emit(struct emitted *out, const struct program *p, struct graph *const *method, struct error *err)
{
	return emit_all(out, p, method, false, err);
}

bool program_emit_anew(struct emitted *out, const struct program *p, struct error *err)
{
	return emit_all(out, p, p->method, true, err);
}

void emitted_free(struct emitted *e)
{
	if (e->program.own)
		pte_output_free(&e->program);
	for (int i = 0; i < e->ndata; i++)
		pte_output_free(&e->data[i].file);
	arena_free(&e->mem);
	memset(e, 0, sizeof *e);
}

/* ---- writing ---- */

/* "out.pte" and "dir/lora.ptd": "out.lora.ptd". */
static const char *data_path(struct arena *a, const char *path, const char *data)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.'), *base = strrchr(data, '/');
	size_t stem = dot && (!slash || dot > slash + 1) && dot > path ? (size_t)(dot - path) : strlen(path);

	return arena_printf(a, "%.*s.%s", (int)stem, path, base ? base + 1 : data);
}

struct target { const char *path; const struct pte_output *out; struct file_new file; };

/* Two data files of one name, from two folders, would end in one. */
static bool write_targets(struct target *t, int n, bool replace, struct error *err)
{
	for (int i = 0; i < n; i++) {
		if (!file_new_write(&t[i].file, t[i].path, t[i].out->piece, t[i].out->npieces, replace, err))
			return false;
		for (int k = 0; k < i; k++)
			if (!strcmp(t[i].file.target, t[k].file.target))
				return error_set(err, ERROR_IO, "%s: two files would have this name", t[i].path);
	}
	return true;
}

/* Data files first: a program never stands beside data that it cannot read. */
static bool place_targets(struct target *t, int n, struct error *err)
{
	int i = 0;

	while (i < n && file_new_place(&t[i].file, err))
		i++;
	for (int k = 0; k < i && i < n; k++)
		if (!t[k].file.replaced)
			unlink(t[k].file.target);
	return i == n;
}

bool emitted_write(const struct emitted *e, const struct program *p, const char *path, bool replace,
	struct error *err)
{
	struct arena mem = { 0 };
	int n = e->ndata;
	struct target *t = arena_array(&mem, (size_t)n + 1, sizeof *t);
	bool ok;

	for (int i = 0; i < n; i++) {
		t[i].path = data_path(&mem, path, p->data[e->data[i].data].path);
		t[i].out = &e->data[i].file;
	}
	t[n].path = path;
	t[n].out = &e->program;
	for (int i = 0; i <= n; i++)
		t[i].file.work = e->work;
	ok = write_targets(t, n + 1, replace, err) && place_targets(t, n + 1, err);
	for (int i = 0; i <= n; i++)
		file_new_drop(&t[i].file);
	arena_free(&mem);
	return ok;
}
