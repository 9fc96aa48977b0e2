/* In order of time, each in the lowest free range that holds it.
 *
 * Free ranges are a treap by address: a search tree, and a heap by drawn numbers, so that it stays shallow. Each knows
 * the largest range under it. */
#include "core/program/memory_parts.h"

#include "core/base/num.h"

struct free_range {
	size_t at, end;
	size_t most;		/* bytes of the largest one from here down */
	uint32_t drawn;
	int below, above;	/* children, or 0 */
};

struct free_ranges {
	struct free_range *at;	/* from 1 on; at[0] is none, and empty */
	int root, n, unused;	/* unused: a list by `below` */
	uint32_t seed;
	size_t top;		/* nothing is used from here on */
};

static int most_of(struct free_ranges *f, int i)
{
	struct free_range *r = &f->at[i];
	size_t below = f->at[r->below].most, above = f->at[r->above].most;

	r->most = r->end - r->at;
	r->most = below > r->most ? below : r->most;
	r->most = above > r->most ? above : r->most;
	return i;
}

/* Those below an address, and the others. */
static void split(struct free_ranges *f, int i, size_t at, int *below, int *above)
{
	if (!i) {
		*below = *above = 0;
	} else if (f->at[i].at < at) {
		split(f, f->at[i].above, at, &f->at[i].above, above);
		*below = most_of(f, i);
	} else {
		split(f, f->at[i].below, at, below, &f->at[i].below);
		*above = most_of(f, i);
	}
}

static int join(struct free_ranges *f, int below, int above)
{
	if (!below || !above)
		return below + above;
	if (f->at[below].drawn > f->at[above].drawn) {
		f->at[below].above = join(f, f->at[below].above, above);
		return most_of(f, below);
	}
	f->at[above].below = join(f, below, f->at[above].below);
	return most_of(f, above);
}

static int make(struct free_ranges *f, struct range r)
{
	int i = f->unused ? f->unused : ++f->n;

	f->unused = f->unused ? f->at[i].below : 0;
	f->seed = f->seed * 1664525u + 1013904223u;
	f->at[i] = (struct free_range){ .at = r.at, .end = r.end, .drawn = f->seed };
	return most_of(f, i);
}

static void drop(struct free_ranges *f, int i)
{
	f->at[i].below = f->unused;
	f->unused = i;
}

static int lowest(const struct free_ranges *f, int i)
{
	while (f->at[i].below)
		i = f->at[i].below;
	return i;
}

static int highest(const struct free_ranges *f, int i)
{
	while (f->at[i].above)
		i = f->at[i].above;
	return i;
}

/* Free ranges that touch become one; one that reaches the top is no range any more: the top comes down. */
static void add_free(struct free_ranges *f, struct range r)
{
	int below, above, i;

	split(f, f->root, r.at, &below, &above);
	i = highest(f, below);
	if (i && f->at[i].end == r.at) {
		r.at = f->at[i].at;
		split(f, below, r.at, &below, &i);
		drop(f, i);
	}
	i = lowest(f, above);
	if (i && f->at[i].at == r.end) {
		r.end = f->at[i].end;
		split(f, above, r.end, &i, &above);
		drop(f, i);
	}
	if (r.end == f->top)
		f->top = r.at;
	else
		below = join(f, below, make(f, r));
	f->root = join(f, below, above);
}

static size_t take_free(struct free_ranges *f, size_t bytes)
{
	int i = f->root, below, above;
	struct range r;

	if (!bytes)
		return 0;
	if (f->at[i].most < bytes) {
		f->top += bytes;
		return f->top - bytes;
	}
	while (f->at[f->at[i].below].most >= bytes || f->at[i].end - f->at[i].at < bytes)
		i = f->at[f->at[i].below].most >= bytes ? f->at[i].below : f->at[i].above;
	r = (struct range){ f->at[i].at + bytes, f->at[i].end };
	split(f, f->root, f->at[i].at, &below, &above);
	split(f, above, f->at[i].end, &i, &above);
	drop(f, i);
	if (r.at < r.end)
		below = join(f, below, make(f, r));
	f->root = join(f, below, above);
	return r.at - bytes;
}

static void free_until(struct planner *p, struct free_ranges *f, const int *end, int *gone, int step)
{
	for (; p->last[end[*gone]] < step; ++*gone) {
		int i = end[*gone];

		if (!p->life[i].fixed && p->life[i].bytes)
			add_free(f, (struct range){ p->offset[i], p->offset[i] + size_align(p->life[i].bytes, p->align) });
	}
}

void memory_place_by_time(struct planner *p)
{
	int *start = memory_order(p, BY_START), *end = memory_order(p, BY_END), gone = 0;
	struct free_ranges f = { .at = arena_array(&p->mem, (size_t)p->n + 2, sizeof *f.at) };

	p->bytes = 0;
	for (int k = 0; k < p->n; k++) {
		int i = start[k];

		if (!p->life[i].fixed)
			free_until(p, &f, end, &gone, p->first[i]);
		p->offset[i] = p->life[i].fixed ? p->life[i].offset : take_free(&f, size_align(p->life[i].bytes,
			p->align));
		if (p->offset[i] + p->life[i].bytes > p->bytes)
			p->bytes = p->offset[i] + p->life[i].bytes;
		if (p->life[i].fixed && size_align(p->bytes, p->align) > f.top)
			f.top = size_align(p->bytes, p->align);
	}
}
