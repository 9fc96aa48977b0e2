/* Bytes that are found by key. A delegate looks into the .ptd files first, then into the program (facts:
 * formats 3.3); a program tensor looks into the .ptd files alone. */
#include "core/program/emission.h"

#include "core/xnn/lower.h"

#include <string.h>

/* Marks to set for what is read by key: as filed (`was`), or by what is kept. */
struct marking { struct emission *e; bool was; };

static const struct ptd_entry *find_in_data(const struct program *p, const char *key, size_t bytes, int *data)
{
	for (int d = 0; d < p->ndata; d++) {
		const struct ptd_entry *entry = ptd_find(&p->data[d], key, bytes);

		if (entry) {
			*data = d;
			return entry;
		}
	}
	return NULL;
}

static void mark_key(struct marking *m, const char *key, size_t bytes)
{
	const struct program *p = m->e->p;
	const struct ptd_entry *entry;
	const struct pte_named *named;
	int d;

	if (!key)
		return;
	entry = find_in_data(p, key, bytes, &d);
	if (entry) {
		(m->was ? m->e->data[d].was_needed : m->e->data[d].needed)[entry - p->data[d].entry] = true;
		return;
	}
	named = pte_named_find(&p->pte, key, bytes);
	if (named)
		(m->was ? m->e->named_was_needed : m->e->named_needed)[named - p->pte.named] = true;
}

static void count_blob(struct emission *e, const struct xgraph *x, const uint8_t *blob)
{
	if (map_get(&e->counted, &blob, sizeof blob))
		return;
	map_put(&e->counted, e->mem, arena_copy(e->mem, &blob, sizeof blob), sizeof blob, e);
	for (int i = 0; i < x->nvalues; i++) {
		if (x->value[i].data.data && !x->value[i].key)
			e->blob_bytes += x->value[i].data.bytes;
		if (x->value[i].scales.data && !x->value[i].scales_key)
			e->blob_bytes += x->value[i].scales.bytes;
	}
}

static void mark_delegate(struct marking *m, int plan, int delegate)
{
	const struct program_delegate *d = &m->e->p->delegate[plan][delegate];

	if (d->why)
		return;
	for (int i = 0; i < d->x.nvalues; i++) {
		const struct xvalue *v = &d->x.value[i];

		mark_key(m, v->key, v->key ? strlen(v->key) : 0);
		mark_key(m, v->scales_key, v->scales_key ? strlen(v->scales_key) : 0);
	}
	if (!m->was)
		count_blob(m->e, &d->x, m->e->p->pte.plan[plan].delegate[delegate].blob.data);
}

static void mark_plan(struct marking *m, int plan)
{
	const struct pte_plan *f = &m->e->p->pte.plan[plan];

	for (int i = 0; i < f->nvalues; i++)
		if (f->value[i].tag == PTE_TENSOR && f->value[i].tensor->storage >= PTE_EXTERNAL &&
		    f->value[i].tensor->name)
			mark_key(m, f->value[i].tensor->name, strlen(f->value[i].tensor->name));
	for (int i = 0; i < f->ndelegates; i++)
		mark_delegate(m, plan, i);
}

void emit_data_init(struct emission *e)
{
	struct marking m = { e, true };

	e->named_was_needed = arena_array(e->mem, (size_t)e->p->pte.nnamed, sizeof *e->named_was_needed);
	e->named_needed = arena_array(e->mem, (size_t)e->p->pte.nnamed, sizeof *e->named_needed);
	e->data = arena_array(e->mem, (size_t)e->p->ndata, sizeof *e->data);
	for (int d = 0; d < e->p->ndata; d++) {
		e->data[d].was_needed = arena_array(e->mem, (size_t)e->p->data[d].nentries, sizeof(bool));
		e->data[d].needed = arena_array(e->mem, (size_t)e->p->data[d].nentries, sizeof(bool));
	}
	for (int i = 0; i < e->p->pte.nplans; i++)
		mark_plan(&m, i);
}

void emit_data_delegate(struct emission *e, const struct pte_plan *filed, int delegate)
{
	mark_delegate(&(struct marking){ e, false }, (int)(filed - e->p->pte.plan), delegate);
}

void emit_data_plan(struct emission *e, const struct pte_plan *filed)
{
	mark_plan(&(struct marking){ e, false }, (int)(filed - e->p->pte.plan));
}

static bool same_span(struct span a, struct span b)
{
	return a.bytes == b.bytes && (a.data == b.data || !a.bytes || !memcmp(a.data, b.data, a.bytes));
}

static bool same_entry(const struct ptd_entry *a, const struct ptd_entry *b)
{
	return a->has_layout == b->has_layout && a->dtype == b->dtype && a->rank == b->rank &&
		!memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size) &&
		!memcmp(a->dim_order, b->dim_order, (size_t)a->rank) && same_span(a->data, b->data);
}

/* Puts an entry into a .ptd, unless it is there. Two different tensors under one name: the runtime would read
 * one of them in both places. */
static bool add_entry(struct emission *e, int home, const struct ptd_entry *want, const char *by, struct error *err)
{
	int d = home;
	const struct ptd_entry *there = find_in_data(e->p, want->key, want->key_bytes, &d);
	struct added *added = map_get(&e->added, want->key, want->key_bytes);

	if (there && d == home && same_entry(there, want)) {
		e->data[d].needed[there - e->p->data[d].entry] = true;
		return true;
	}
	if (there)
		return error_set(err, ERROR_REFUSED,
			"two different tensors have the name %s: the one that %s reads, and one in %s",
				 want->key, by, e->p->data[d].path);
	if (added)
		return (added->home == home && same_entry(&added->entry, want)) ||
			error_set(err, ERROR_REFUSED,
				"two different tensors have the name %s: one is read by %s, the other by %s", want->key, added->by, by);
	vec_push(e->mem, &e->data[home].added, *want);
	added = arena_copy(e->mem, &(struct added){ home, *want, by }, sizeof *added);
	map_put(&e->added, e->mem, added->entry.key, want->key_bytes, added);
	return true;
}

bool emit_data_tensor(struct emission *e, const struct value *v, struct span bytes, const uint8_t *dim_order,
		      const char *by, const char **name, struct error *err)
{
	struct ptd_entry want = { .has_layout = true, .dtype = v->dtype, .rank = v->rank, .data = bytes };
	const struct ptd_entry *there;

	*name = v->folded ? v->folded : v->name;
	if (v->home >= e->p->ndata || !bytes.data)
		return !v->folded || error_set(err, ERROR_REFUSED, "%s: its data file is not at hand", *name);
	for (int d = 0; d < v->rank; d++) {
		want.size[d] = (int32_t)v->size[d];
		want.dim_order[d] = dim_order[d];
	}
	there = ptd_find(&e->p->data[v->home], *name, strlen(*name));
	if (!v->folded && !(there && same_entry(there, &want)))	/* in another layout, or for delegates alone */
		*name = data_key(e->mem, arena_printf(e->mem, "%s_", v->name), bytes.data, bytes.bytes);
	want.key = *name;
	want.key_bytes = strlen(*name);
	return add_entry(e, v->home, &want, by, err);
}

bool emit_data_named(struct emission *e, const struct pte_named *n, int home, struct error *err)
{
	struct ptd_entry want = { .key = n->key, .key_bytes = n->key_bytes, .data = n->data };
	const struct ptd_entry *there;
	int d;

	if (home == HOME_PROGRAM)
		return store_named(&e->store, n->key, n->key_bytes, n->data, err);
	there = find_in_data(e->p, n->key, n->key_bytes, &d);
	if (there && same_span(there->data, n->data)) {
		e->data[d].needed[there - e->p->data[d].entry] = true;
		return true;
	}
	return add_entry(e, home, &want, "a delegate", err);
}

/* Another backend may look for any key; ours are digests, so a blob that uses one holds its text. */
static bool foreign_reads(const struct emission *e, const struct pte_named *n)
{
	for (int p = 0; p < e->p->pte.nplans; p++)
		for (int d = 0; d < e->p->pte.plan[p].ndelegates; d++) {
			const struct pte_delegate *x = &e->p->pte.plan[p].delegate[d];

			if (strcmp(x->id, "XnnpackBackend") &&
			    memmem(x->blob.data, x->blob.bytes, n->key, n->key_bytes))
				return true;
		}
	return false;
}

bool emit_data_keep_named(struct emission *e, struct error *err)
{
	for (int i = 0; i < e->p->pte.nnamed; i++) {
		const struct pte_named *n = &e->p->pte.named[i];

		if ((e->named_needed[i] || !e->named_was_needed[i] || foreign_reads(e, n)) &&
		    pte_named_find(&e->p->pte, n->key, n->key_bytes) == n &&
		    !store_named(&e->store, n->key, n->key_bytes, n->data, err))
			return false;
	}
	return true;
}

bool emit_data_entries(struct emission *e, int data, struct ptd_entry **entry, int *n)
{
	const struct ptd *f = &e->p->data[data];
	struct data_file *d = &e->data[data];
	int kept = 0;

	*entry = arena_array(e->mem, (size_t)f->nentries + (size_t)d->added.n, sizeof **entry);
	for (int i = 0; i < f->nentries; i++)
		if (d->needed[i] || !d->was_needed[i])
			(*entry)[kept++] = f->entry[i];
	*n = kept;
	for (int i = 0; i < d->added.n; i++)
		(*entry)[(*n)++] = d->added.at[i];
	return kept != f->nentries || d->added.n;
}
