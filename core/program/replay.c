#include "core/program/replay.h"

#include <string.h>

void replay_open(struct replay *r, const struct pte_plan *plan, struct arena *mem)
{
	*r = (struct replay){ .plan = plan, .mem = mem, .nmemories = plan->nbuffers };
	r->value = arena_array(mem, (size_t)plan->nvalues, sizeof *r->value);
	r->memory = arena_array(mem, (size_t)plan->nbuffers, sizeof *r->memory);
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

	return t->has_allocation && t->bytes && t->memory_id < (uint32_t)r->nmemories ? &r->memory[t->memory_id] : NULL;
}

static int new_content(struct replay *r, int32_t v)
{
	const struct pte_tensor *t = place_of(r, v);

	if (r->ncontents == r->capcontents)
		r->content = vec_grow(r->mem, r->content, r->ncontents, &r->capcontents, sizeof *r->content);
	r->content[r->ncontents] = (struct replay_content){ t->memory_offset, t->memory_offset + t->bytes, false };
	return r->ncontents++;
}

int replay_first_after(const struct replay_memory *m, uint64_t at)
{
	int low = 0, high = m->n;

	while (low < high) {
		int mid = low + (high - low) / 2;

		if (m->at[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Puts an extent where it lies; what it covers of others goes. */
static void put(struct replay *r, struct replay_memory *m, struct replay_extent x)
{
	int i = replay_first_after(m, x.begin), j = i, n = 0;
	struct replay_extent piece[3];

	if (i < m->n && m->at[i].begin < x.begin)
		piece[n++] = (struct replay_extent){ m->at[i].begin, x.begin, m->at[i].content };
	piece[n++] = x;
	for (; j < m->n && m->at[j].begin < x.end; j++) {
		if (r->content[m->at[j].content].held && m->at[j].content != x.content)
			r->clash = true;
		if (m->at[j].end > x.end)
			piece[n++] = (struct replay_extent){ x.end, m->at[j].end, m->at[j].content };
	}
	while (m->n + n - (j - i) > m->cap)
		m->at = vec_grow(r->mem, m->at, m->n, &m->cap, sizeof *m->at);
	memmove(m->at + i + n, m->at + j, (size_t)(m->n - j) * sizeof *m->at);
	memcpy(m->at + i, piece, (size_t)n * sizeof *piece);
	m->n += n - (j - i);
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
	int i;

	*place = x->place;
	if (!r->value[x->place].input && (t->storage == PTE_CONSTANT || t->storage == PTE_EXTERNAL))
		return REPLAY_STORED;
	*content = r->value[x->place].content;
	if (!m)
		return *content < 0 ? REPLAY_NOBODY : *content == x->content ? REPLAY_OWN : REPLAY_OTHER;
	i = replay_first_after(m, t->memory_offset);
	if (i == m->n || m->at[i].begin >= t->memory_offset + t->bytes)
		return REPLAY_NOBODY;
	*content = m->at[i].content;
	if (m->at[i].begin != t->memory_offset || m->at[i].end != t->memory_offset + t->bytes ||
	    r->content[*content].begin != m->at[i].begin || r->content[*content].end != m->at[i].end)
		return REPLAY_MIXED;
	return *content == x->content ? REPLAY_OWN : REPLAY_OTHER;
}

void replay_settle(struct replay *r, int32_t v, int content)
{
	r->value[v].content = content;
}
