#include "core/program/memory_parts.h"

#include "core/base/num.h"

#include <stdlib.h>
#include <string.h>

/* Above this many pairs that live together, the neighbours of each tensor are not looked at one by one. */
enum { MAX_PAIRS = 40000000 };
/* How many of these a search for something smaller may look at. */
enum { SEARCH_PAIRS = 2000000 };
/* Above this many tensors the exporter's own way, which looks at all of them for each, is not tried as well. */
enum { MAX_IN_OBJECTS = 10000 };

static int by_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static int rank_of(const int *step, int n, int s)	/* of the last step <= s */
{
	int lo = 0, hi = n;

	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (step[mid] <= s)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

static void rank_steps(struct planner *p)
{
	int *step = arena_array(&p->mem, (size_t)p->n, sizeof *step), k = 0;

	for (int i = 0; i < p->n; i++)
		step[i] = p->life[i].first;
	qsort(step, (size_t)p->n, sizeof *step, by_int);
	for (int i = 0; i < p->n; i++)
		if (!i || step[i] != step[k - 1])
			step[k++] = step[i];
	p->nranks = k;
	p->first = arena_array(&p->mem, (size_t)p->n, sizeof *p->first);
	p->last = arena_array(&p->mem, (size_t)p->n, sizeof *p->last);
	for (int i = 0; i < p->n; i++) {
		p->first[i] = rank_of(step, k, p->life[i].first);
		p->last[i] = rank_of(step, k, p->life[i].last);
	}
	for (p->leaves = 1; p->leaves < k; p->leaves *= 2)
		;
}

static uint64_t count_pairs(const struct planner *p)
{
	struct arena mem = { 0 };
	uint64_t *upto = arena_array(&mem, (size_t)p->nranks + 1, sizeof *upto), pairs = 0;

	for (int i = 0; i < p->n; i++)
		upto[p->first[i] + 1]++;
	for (int r = 0; r < p->nranks; r++)
		upto[r + 1] += upto[r];
	for (int i = 0; i < p->n; i++)
		pairs += upto[p->last[i] + 1] - upto[p->first[i]];
	arena_free(&mem);
	return pairs;
}

static void push_link(struct planner *p, struct link **list, int life)
{
	struct link *l = arena_alloc(&p->links, sizeof *l);

	*l = (struct link){ life, *list };
	*list = l;
}

static void add_placed(struct planner *p, int i)
{
	push_link(p, &p->begins[p->first[i]], i);
	for (int a = p->first[i] + p->leaves, b = p->last[i] + p->leaves + 1; a < b; a /= 2, b /= 2) {
		if (a & 1)
			push_link(p, &p->covers[a++], i);
		if (b & 1)
			push_link(p, &p->covers[--b], i);
	}
}

static void add_near(struct planner *p, const struct link *l)
{
	for (; l; l = l->next)
		p->near[p->nnear++] = (struct range){ p->offset[l->life],
			size_align(p->offset[l->life] + p->life[l->life].bytes, p->align) };
}

static int by_offset(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void find_near(struct planner *p, int i)
{
	p->nnear = 0;
	for (int node = p->first[i] + p->leaves; node; node /= 2)
		add_near(p, p->covers[node]);
	for (int r = p->first[i] + 1; r <= p->last[i]; r++)
		add_near(p, p->begins[r]);
	qsort(p->near, (size_t)p->nnear, sizeof *p->near, by_offset);
}

/* The start of the smallest gap that holds `bytes`, else the end of what is there. */
static size_t best_gap(const struct planner *p, size_t bytes)
{
	size_t top = 0, best = 0, best_bytes = SIZE_MAX;

	for (int k = 0; k < p->nnear; k++) {
		if (p->near[k].at > top && p->near[k].at - top >= bytes && p->near[k].at - top < best_bytes) {
			best = top;
			best_bytes = p->near[k].at - top;
		}
		if (p->near[k].end > top)
			top = p->near[k].end;
	}
	return best_bytes < SIZE_MAX ? best : top;
}

static void place(struct planner *p, int i)
{
	if (p->life[i].fixed) {
		p->offset[i] = p->life[i].offset;
	} else {
		find_near(p, i);
		p->offset[i] = best_gap(p, p->life[i].bytes);
	}
	if (p->offset[i] + p->life[i].bytes > p->bytes)
		p->bytes = p->offset[i] + p->life[i].bytes;
	if (p->life[i].bytes)
		add_placed(p, i);
}

struct key { size_t bytes, weight; int life; };

static int by_key(const void *a, const void *b)	/* fixed first, then heavy, large, early */
{
	const struct key *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->life - y->life;
}

static size_t weight_of(const struct planner *p, int i, enum order order)
{
	size_t area;

	switch (order) {
	case BY_SIZE: break;
	case BY_AREA:
		return size_mul(p->life[i].bytes, (size_t)(p->last[i] - p->first[i]) + 1, &area) ? area : SIZE_MAX - 1;
	case BY_START: return (size_t)(p->nranks - p->first[i]);
	case BY_END: return (size_t)(p->nranks - p->last[i]);
	}
	return p->life[i].bytes;
}

int *memory_order(struct planner *p, enum order order)
{
	struct key *key = arena_array(&p->mem, (size_t)p->n, sizeof *key);
	int *life = arena_array(&p->mem, (size_t)p->n, sizeof *life);

	for (int i = 0; i < p->n; i++)
		key[i] = (struct key){ p->life[i].bytes, p->life[i].fixed && order != BY_END ? SIZE_MAX :
			weight_of(p, i, order), i };
	qsort(key, (size_t)p->n, sizeof *key, by_key);
	for (int k = 0; k < p->n; k++)
		life[k] = key[k].life;
	return life;
}

void memory_place(struct planner *p, const int *order)
{
	p->bytes = 0;
	arena_reset(&p->links);
	p->begins = arena_array(&p->links, (size_t)p->nranks, sizeof *p->begins);
	p->covers = arena_array(&p->links, 2 * (size_t)p->leaves, sizeof *p->covers);
	for (int k = 0; k < p->n; k++)
		place(p, order[k]);
}

static bool sum_fits(const struct lifetime *life, int n, size_t align)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++)
		if (!size_add(sum, life[i].bytes, &sum) || !size_add(sum, align, &sum) ||
		    (life[i].fixed && !size_add(sum, life[i].offset, &sum)))
			return false;
	return true;
}

static void keep_best(struct planner *p, struct lifetime *life, size_t *best)
{
	if (p->bytes >= *best)
		return;
	*best = p->bytes;
	for (int i = 0; i < p->n; i++)
		life[i].offset = p->offset[i];
}

/* The most bytes that live at one step. */
static size_t least_bytes(const struct planner *p)
{
	struct arena mem = { 0 };
	size_t *more = arena_array(&mem, (size_t)p->nranks, sizeof *more), now = 0, most = 0;
	size_t *less = arena_array(&mem, (size_t)p->nranks + 1, sizeof *less);

	for (int i = 0; i < p->n; i++) {
		more[p->first[i]] += size_align(p->life[i].bytes, p->align);
		less[p->last[i] + 1] += size_align(p->life[i].bytes, p->align);
	}
	for (int r = 0; r < p->nranks; r++) {
		now += more[r] - less[r];
		most = now > most ? now : most;
	}
	arena_free(&mem);
	return most;
}

static void place_by_neighbours(struct planner *p, struct lifetime *life, size_t *best, uint64_t pairs, size_t bound)
{
	enum order kept = BY_SIZE;

	for (enum order o = BY_SIZE; o <= BY_START; o++) {
		size_t before = *best;

		memory_place(p, memory_order(p, o));
		keep_best(p, life, best);
		kept = *best < before ? o : kept;
	}
	memory_search(p, memory_order(p, kept), bound, SEARCH_PAIRS / (pairs + (uint64_t)p->n));
	keep_best(p, life, best);
}

size_t memory_plan(struct lifetime *life, int n, size_t align)
{
	struct planner p = { .life = life, .n = n, .align = align };
	size_t best = SIZE_MAX;
	uint64_t pairs;

	if (!n)
		return 0;
	if (!sum_fits(life, n, align))
		return SIZE_MAX;
	rank_steps(&p);
	p.offset = arena_array(&p.mem, (size_t)n, sizeof *p.offset);
	p.near = arena_array(&p.mem, 2 * (size_t)n, sizeof *p.near);
	pairs = count_pairs(&p);
	if (n <= MAX_IN_OBJECTS) {
		memory_place_in_objects(&p);
		keep_best(&p, life, &best);
	}
	if (pairs > MAX_PAIRS)
		memory_place_by_time(&p);
	else
		place_by_neighbours(&p, life, &best, pairs, least_bytes(&p));
	keep_best(&p, life, &best);
	arena_free(&p.links);
	arena_free(&p.mem);
	return best;
}
