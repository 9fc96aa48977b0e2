#include "core/program/replay.h"

#include <stdlib.h>

static bool in_memory(const struct replay *r, const struct pte_tensor *t)
{
	return t->has_allocation && t->bytes && t->memory_id < (uint32_t)r->nmemories;
}

static int by_place(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void find_edges(struct replay *r)
{
	const struct pte_plan *plan = r->plan;

	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < plan->nvalues; i++) {
			const struct pte_tensor *t = plan->value[i].tag == PTE_TENSOR ? plan->value[i].tensor : NULL;
			struct replay_memory *m = t && in_memory(r, t) ? &r->memory[t->memory_id] : NULL;

			if (m && pass) {
				m->edge[m->nedges] = t->memory_offset;
				m->edge[m->nedges + 1] = t->memory_offset + t->bytes;
			}
			if (m)
				m->nedges += 2;
		}
		for (int i = 0; i < r->nmemories && !pass; i++) {
			r->memory[i].edge = arena_array(r->mem, (size_t)r->memory[i].nedges, sizeof *r->memory[i].edge);
			r->memory[i].nedges = 0;
		}
	}
}

static void open_memory(struct replay *r, struct replay_memory *m)
{
	int n = 0;

	qsort(m->edge, (size_t)m->nedges, sizeof *m->edge, by_place);
	for (int i = 0; i < m->nedges; i++)
		if (!n || m->edge[i] != m->edge[n - 1])
			m->edge[n++] = m->edge[i];
	m->nedges = n;
	m->at = arena_array(r->mem, (size_t)n, sizeof *m->at);
	intset_open(&m->there, n, r->mem);
}

void replay_open(struct replay *r, const struct pte_plan *plan, struct arena *mem)
{
	*r = (struct replay){ .plan = plan, .mem = mem, .nmemories = plan->nbuffers };
	r->value = arena_array(mem, (size_t)plan->nvalues, sizeof *r->value);
	r->memory = arena_array(mem, (size_t)plan->nbuffers, sizeof *r->memory);
	find_edges(r);
	for (int i = 0; i < r->nmemories; i++)
		open_memory(r, &r->memory[i]);
	for (int i = 0; i < plan->nvalues; i++)
		r->value[i] = (struct replay_value){ .place = i, .content = -1 };
	for (int i = 0; i < plan->ninputs; i++)
		r->value[plan->input[i]].input = true;
}

static const struct pte_tensor *place_of(const struct replay *r, int32_t v)
{
	return r->plan->value[r->value[v].place].tensor;
}

/* The map that knows about this value's bytes, NULL when they are not in an arena (or there are none). */
static struct replay_memory *memory_of(const struct replay *r, int32_t v)
{
	const struct pte_tensor *t = place_of(r, v);

	return in_memory(r, t) ? &r->memory[t->memory_id] : NULL;
}

static int new_content(struct replay *r, int32_t v)
{
	const struct pte_tensor *t = place_of(r, v);

	if (r->ncontents == r->capcontents)
		r->content = vec_grow(r->mem, r->content, r->ncontents, &r->capcontents, sizeof *r->content);
	r->content[r->ncontents] = (struct replay_content){ t->memory_offset, t->memory_offset + t->bytes, false };
	return r->ncontents++;
}

/* The last edge at or before a place, or -1. */
static int edge_at(const struct replay_memory *m, uint64_t at)
{
	int low = 0, high = m->nedges;

	while (low < high) {
		int mid = low + (high - low) / 2;

		if (m->edge[mid] <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low - 1;
}

static const struct replay_extent *extent(const struct replay_memory *m, int i)
{
	return i < 0 ? NULL : &m->at[i];
}

const struct replay_extent *replay_first_after(const struct replay_memory *m, uint64_t at)
{
	int before = intset_prev(&m->there, edge_at(m, at));

	return before >= 0 && m->at[before].end > at ? &m->at[before] : extent(m, intset_next(&m->there, before + 1));
}

const struct replay_extent *replay_next(const struct replay_memory *m, const struct replay_extent *x)
{
	return extent(m, intset_next(&m->there, (int)(x - m->at) + 1));
}

static void add(struct replay_memory *m, struct replay_extent x)
{
	int i = edge_at(m, x.begin);

	m->at[i] = x;
	intset_add(&m->there, i);
}

/* Puts an extent where it lies; what it covers of others goes. */
static void put(struct replay *r, struct replay_memory *m, struct replay_extent x)
{
	const struct replay_extent *next;

	for (const struct replay_extent *e = replay_first_after(m, x.begin); e && e->begin < x.end; e = next) {
		struct replay_extent old = *e;

		if (r->content[old.content].held && old.content != x.content)
			r->clash = true;
		next = replay_next(m, e);
		intset_remove(&m->there, (int)(e - m->at));
		if (old.begin < x.begin)
			add(m, (struct replay_extent){ old.begin, x.begin, old.content });
		if (old.end > x.end)
			add(m, (struct replay_extent){ x.end, old.end, old.content });
	}
	add(m, x);
}

static void store(struct replay *r, int32_t v, int content)
{
	const struct pte_tensor *t = place_of(r, v);
	struct replay_memory *m = memory_of(r, v);

	if (m)
		put(r, m, (struct replay_extent){ t->memory_offset, t->memory_offset + t->bytes, content });
	r->value[r->value[v].place].content = content;
	r->value[v].content = content;
}

int replay_write(struct replay *r, int32_t v)
{
	int content = new_content(r, v);

	store(r, v, content);
	return content;
}

int replay_hold(struct replay *r, int32_t v, int content)
{
	if (content < 0)
		content = new_content(r, v);
	r->content[content].held = true;
	store(r, v, content);
	return content;
}

void replay_point(struct replay *r, int32_t v, int32_t from)
{
	r->value[v].place = r->value[from].place;
	r->value[v].content = -1;
}

enum replay_kind replay_read(const struct replay *r, int32_t v, int *content, int32_t *place)
{
	const struct replay_value *x = &r->value[v];
	const struct pte_tensor *t = place_of(r, v);
	const struct replay_memory *m = memory_of(r, v);
	const struct replay_extent *e;

	*place = x->place;
	if (!r->value[x->place].input && (t->storage == PTE_CONSTANT || t->storage == PTE_EXTERNAL))
		return REPLAY_STORED;
	*content = r->value[x->place].content;
	if (!m)
		return *content < 0 ? REPLAY_NOBODY : *content == x->content ? REPLAY_OWN : REPLAY_OTHER;
	e = replay_first_after(m, t->memory_offset);
	if (!e || e->begin >= t->memory_offset + t->bytes)
		return REPLAY_NOBODY;
	*content = e->content;
	if (e->begin != t->memory_offset || e->end != t->memory_offset + t->bytes ||
	    r->content[*content].begin != e->begin || r->content[*content].end != e->end)
		return REPLAY_MIXED;
	return *content == x->content ? REPLAY_OWN : REPLAY_OTHER;
}

void replay_settle(struct replay *r, int32_t v, int content)
{
	r->value[v].content = content;
}
