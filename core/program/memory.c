#include "core/program/memory_parts.h"

#include "core/base/num.h"

#include <stdlib.h>
#include <string.h>

/* Above this many pairs that live together, the neighbours of each tensor are not looked at one by one; above some of
 * them, not once for each order. */
enum { MAX_PAIRS = 40000000, ORDER_PAIRS = 10000000 };
/* How many of these a search for something smaller may look at. */
enum { SEARCH_PAIRS = 2000000 };

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

static void add_near(struct planner *p, const struct link *l)
{
	for (; l; l = l->next)
		p->near[p->nnear++] = l->life;
}

void memory_start(struct planner *p)
{
	p->bytes = 0;
	arena_reset(&p->links);
	p->begins = arena_array(&p->links, (size_t)p->nranks, sizeof *p->begins);
	p->covers = arena_array(&p->links, 2 * (size_t)p->leaves, sizeof *p->covers);
}

void memory_put(struct planner *p, int i, size_t offset)
{
	p->offset[i] = offset;
	if (offset + p->life[i].bytes > p->bytes)
		p->bytes = offset + p->life[i].bytes;
	if (!p->life[i].bytes)
		return;
	push_link(p, &p->begins[p->first[i]], i);
	for (int a = p->first[i] + p->leaves, b = p->last[i] + p->leaves + 1; a < b; a /= 2, b /= 2) {
		if (a & 1)
			push_link(p, &p->covers[a++], i);
		if (b & 1)
			push_link(p, &p->covers[--b], i);
	}
}

void memory_find_near(struct planner *p, int i)
{
	p->nnear = 0;
	for (int node = p->first[i] + p->leaves; node; node /= 2)
		add_near(p, p->covers[node]);
	for (int r = p->first[i] + 1; r <= p->last[i]; r++)
		add_near(p, p->begins[r]);
}

/* ---- the smallest gap ---- */

static void sort_few(struct range *at, int n)
{
	for (int i = 1; i < n; i++) {
		struct range r = at[i];
		int k = i;

		for (; k && at[k - 1].at > r.at; k--)
			at[k] = at[k - 1];
		at[k] = r;
	}
}

/* By where they start, a digit after the other, the lowest first. */
static void sort_ranges(struct planner *p)
{
	enum { DIGIT = 11, FEW = 64 };

	if (p->nnear <= FEW) {
		sort_few(p->range, p->nnear);
		return;
	}
	for (int shift = 0; shift < 64 && p->bytes >> shift; shift += DIGIT) {
		struct range *from = p->range;
		int start[(1 << DIGIT) + 1] = { 0 };

		for (int k = 0; k < p->nnear; k++)
			start[(from[k].at >> shift & ((1 << DIGIT) - 1)) + 1]++;
		for (int d = 0; d < 1 << DIGIT; d++)
			start[d + 1] += start[d];
		for (int k = 0; k < p->nnear; k++)
			p->spare[start[from[k].at >> shift & ((1 << DIGIT) - 1)]++] = from[k];
		p->range = p->spare;
		p->spare = from;
	}
}

/* The start of the smallest gap that holds `bytes`, else the end of what is there. */
static size_t best_gap(const struct planner *p, size_t bytes)
{
	size_t top = 0, best = 0, best_bytes = SIZE_MAX;

	for (int k = 0; k < p->nnear; k++) {
		const struct range *r = &p->range[k];

		if (r->at > top && r->at - top >= bytes && r->at - top < best_bytes) {
			best = top;
			best_bytes = r->at - top;
		}
		if (r->end > top)
			top = r->end;
	}
	return best_bytes < SIZE_MAX ? best : top;
}

static size_t find_gap(struct planner *p, int i)
{
	memory_find_near(p, i);
	for (int k = 0; k < p->nnear; k++) {
		const struct lifetime *l = &p->life[p->near[k]];
		size_t at = p->offset[p->near[k]];

		p->range[k] = (struct range){ at, size_align(at + l->bytes, p->align) };
	}
	sort_ranges(p);
	return best_gap(p, p->life[i].bytes);
}

void memory_place(struct planner *p, const int *order)
{
	memory_start(p);
	for (int k = 0; k < p->n; k++)
		memory_put(p, order[k], p->life[order[k]].fixed ? p->life[order[k]].offset : find_gap(p, order[k]));
}

/* ---- orders ---- */

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

static bool can_be_less(const struct planner *p, size_t best, size_t bound)
{
	return size_align(best, p->align) > bound;
}

static void place_by_neighbours(struct planner *p, struct lifetime *life, size_t *best, uint64_t pairs, size_t bound)
{
	uint64_t trials = SEARCH_PAIRS / (pairs + (uint64_t)p->n);
	enum order kept = BY_SIZE;

	for (enum order o = BY_SIZE; o <= BY_START && can_be_less(p, *best, bound); o++) {
		size_t before = *best;

		memory_place(p, memory_order(p, o));
		keep_best(p, life, best);
		kept = *best < before ? o : kept;
	}
	if (!trials || !can_be_less(p, *best, bound))
		return;
	memory_search(p, memory_order(p, kept), bound, trials);
	keep_best(p, life, best);
}

/* From what is quick to what takes longer, until it cannot be less. */
static size_t plan(struct planner *p, struct lifetime *life)
{
	size_t best = SIZE_MAX, bound = least_bytes(p);
	uint64_t pairs = count_pairs(p);

	memory_place_by_time(p);
	keep_best(p, life, &best);
	if (pairs <= MAX_PAIRS && can_be_less(p, best, bound)) {
		memory_place_in_objects(p);
		keep_best(p, life, &best);
	}
	if (pairs <= ORDER_PAIRS)
		place_by_neighbours(p, life, &best, pairs, bound);
	return best;
}

size_t memory_plan(struct lifetime *life, int n, size_t align)
{
	struct planner p = { .life = life, .n = n, .align = align };
	size_t best;

	if (!n)
		return 0;
	if (!sum_fits(life, n, align))
		return SIZE_MAX;
	rank_steps(&p);
	p.offset = arena_array(&p.mem, (size_t)n, sizeof *p.offset);
	p.near = arena_array(&p.mem, (size_t)n, sizeof *p.near);
	p.range = arena_array(&p.mem, (size_t)n, sizeof *p.range);
	p.spare = arena_array(&p.mem, (size_t)n, sizeof *p.spare);
	best = plan(&p, life);
	arena_free(&p.links);
	arena_free(&p.mem);
	return best;
}
