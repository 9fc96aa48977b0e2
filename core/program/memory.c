#include "core/program/memory.h"

#include "core/base/mem.h"
#include "core/base/num.h"

#include <stdlib.h>
#include <string.h>

/* Above this many pairs that live together, the neighbours of each tensor are not looked at one by one. */
enum { MAX_PAIRS = 40000000 };
/* Above this many tensors the exporter's own way, which looks at all of them for each, is not tried as well. */
enum { MAX_IN_OBJECTS = 10000 };

struct range { size_t at, end; };

struct link { int life; struct link *next; };

/* One placement. Steps are ranks of distinct first steps: whether two lifetimes meet depends on nothing else.
 * A placed lifetime stands in `begins` at its first rank and in the O(log n) nodes of a segment tree over ranks
 * that cover it; so those that meet [a, b] are the ones that cover a, and the ones that begin in (a, b]. */
struct planner {
	struct arena mem;
	const struct lifetime *life;
	int n, nranks, leaves;
	size_t align;
	int *first, *last;	/* by lifetime, as ranks */
	struct link **begins;	/* by rank */
	struct link **covers;	/* by tree node: root 1, leaves from `leaves` */
	size_t *offset;		/* by lifetime */
	struct range *near;	/* scratch */
	int nnear;
	size_t bytes;		/* the arena so far */
};

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
	struct link *l = arena_alloc(&p->mem, sizeof *l);

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

enum order { BY_SIZE, BY_AREA, BY_TIME, ORDERS };

static struct key *order_keys(struct planner *p, enum order order)
{
	struct key *key = arena_array(&p->mem, (size_t)p->n, sizeof *key);

	for (int i = 0; i < p->n; i++) {
		const struct lifetime *l = &p->life[i];
		size_t span = (size_t)(p->last[i] - p->first[i]) + 1, area;

		if (!size_mul(l->bytes, span, &area))
			area = SIZE_MAX - 1;
		key[i] = (struct key){ l->bytes, order == BY_SIZE ? l->bytes : order == BY_AREA ? area :
			(size_t)(p->nranks - p->first[i]), i };
		if (l->fixed)
			key[i].weight = SIZE_MAX;
	}
	qsort(key, (size_t)p->n, sizeof *key, by_key);
	return key;
}

static void place_all(struct planner *p, enum order order)
{
	struct key *key = order_keys(p, order);

	p->bytes = 0;
	p->begins = arena_array(&p->mem, (size_t)p->nranks, sizeof *p->begins);
	p->covers = arena_array(&p->mem, 2 * (size_t)p->leaves, sizeof *p->covers);
	for (int k = 0; k < p->n; k++)
		place(p, key[k].life);
}

/* For programs in which too many tensors live together: in order of time, from a list of free ranges. */
struct free_list { struct range *at; int n; size_t top; };

static void free_add(struct free_list *f, struct range r)
{
	int i = f->n;

	while (i && f->at[i - 1].at > r.at)
		i--;
	if (i && f->at[i - 1].end == r.at) {
		f->at[--i].end = r.end;
	} else {
		memmove(&f->at[i + 1], &f->at[i], (size_t)(f->n++ - i) * sizeof *f->at);
		f->at[i] = r;
	}
	if (i + 1 < f->n && f->at[i].end == f->at[i + 1].at) {
		f->at[i].end = f->at[i + 1].end;
		f->n--;
		memmove(&f->at[i + 1], &f->at[i + 2], (size_t)(f->n - i - 1) * sizeof *f->at);
	}
	if (f->n && f->at[f->n - 1].end == f->top)	/* free up to the top: the top comes down */
		f->top = f->at[--f->n].at;
}

static size_t free_take(struct free_list *f, size_t bytes)
{
	int best = -1;
	size_t at;

	for (int i = 0; i < f->n; i++)
		if (f->at[i].end - f->at[i].at >= bytes &&
		    (best < 0 || f->at[i].end - f->at[i].at < f->at[best].end - f->at[best].at))
			best = i;
	if (best < 0) {
		at = f->top;
		f->top += bytes;
		return at;
	}
	at = f->at[best].at;
	f->at[best].at += bytes;
	if (f->at[best].at == f->at[best].end)
		memmove(&f->at[best], &f->at[best + 1], (size_t)(--f->n - best) * sizeof *f->at);
	return at;
}

static int by_last(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return x->weight != y->weight ? (x->weight < y->weight ? -1 : 1) : x->life - y->life;
}

static void place_by_time(struct planner *p)
{
	struct key *start = order_keys(p, BY_TIME), *end = arena_copy(&p->mem, start, (size_t)p->n * sizeof *end);
	struct free_list f = { arena_array(&p->mem, (size_t)p->n + 1, sizeof *f.at), 0, 0 };
	int gone = 0;

	for (int k = 0; k < p->n; k++)
		end[k].weight = (size_t)p->last[end[k].life];
	qsort(end, (size_t)p->n, sizeof *end, by_last);
	p->bytes = 0;
	for (int k = 0; k < p->n; k++) {
		int i = start[k].life;

		for (; !p->life[i].fixed && p->last[end[gone].life] < p->first[i]; gone++)
			if (!p->life[end[gone].life].fixed && p->life[end[gone].life].bytes)
				free_add(&f, (struct range){ p->offset[end[gone].life], p->offset[end[gone].life] +
					size_align(p->life[end[gone].life].bytes, p->align) });
		p->offset[i] = p->life[i].fixed ? p->life[i].offset : free_take(&f, size_align(p->life[i].bytes,
			p->align));
		if (p->offset[i] + p->life[i].bytes > p->bytes)
			p->bytes = p->offset[i] + p->life[i].bytes;
		if (p->life[i].fixed && size_align(p->bytes, p->align) > f.top)
			f.top = size_align(p->bytes, p->align);
	}
}

/* The exporter's plan, so that ours is never larger: objects as large as their first tensor, one behind the
 * other; a tensor goes to the first object that is free for its life, else behind what meets it there. */
struct object { size_t at, bytes; struct link *held; };

static size_t object_end(const struct planner *p, const struct object *o, int i)
{
	size_t end = 0;

	for (const struct link *l = o->held; l; l = l->next)
		if (p->first[l->life] <= p->last[i] && p->first[i] <= p->last[l->life]) {
			size_t e = p->offset[l->life] - o->at + size_align(p->life[l->life].bytes, p->align);

			end = e > end ? e : end;
		}
	return end;
}

static struct object *pick_object(struct planner *p, struct object *object, int nobjects, int i, size_t *at)
{
	struct object *behind = NULL;

	for (struct object *o = object; o < object + nobjects; o++) {
		size_t end = object_end(p, o, i);

		if (!end) {
			*at = 0;
			return o;
		}
		if (!behind && size_inside(end, size_align(p->life[i].bytes, p->align), o->bytes)) {
			behind = o;
			*at = end;
		}
	}
	return behind;
}

static void place_in_objects(struct planner *p)
{
	struct key *key = order_keys(p, BY_SIZE);
	struct object *object = arena_array(&p->mem, (size_t)p->n, sizeof *object);
	int nobjects = 0;

	p->bytes = 0;
	for (int k = 0; k < p->n; k++) {
		int i = key[k].life;
		size_t at = 0;
		struct object *o = p->life[i].fixed ? NULL : pick_object(p, object, nobjects, i, &at);

		if (p->life[i].fixed) {
			p->offset[i] = p->life[i].offset;
			if (p->offset[i] + p->life[i].bytes > p->bytes)
				p->bytes = size_align(p->offset[i] + p->life[i].bytes, p->align);
			continue;
		}
		if (!o) {
			o = &object[nobjects++];
			*o = (struct object){ p->bytes, size_align(p->life[i].bytes, p->align), NULL };
			p->bytes += o->bytes;
		}
		p->offset[i] = o->at + at;
		push_link(p, &o->held, i);
	}
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

size_t memory_plan(struct lifetime *life, int n, size_t align)
{
	struct planner p = { .life = life, .n = n, .align = align };
	size_t best = SIZE_MAX;

	if (!n)
		return 0;
	if (!sum_fits(life, n, align))
		return SIZE_MAX;
	rank_steps(&p);
	p.offset = arena_array(&p.mem, (size_t)n, sizeof *p.offset);
	p.near = arena_array(&p.mem, 2 * (size_t)n, sizeof *p.near);
	if (count_pairs(&p) > MAX_PAIRS) {
		place_by_time(&p);
		keep_best(&p, life, &best);
	} else {
		for (enum order o = BY_SIZE; o < ORDERS; o++) {
			place_all(&p, o);
			keep_best(&p, life, &best);
		}
	}
	if (n <= MAX_IN_OBJECTS) {
		place_in_objects(&p);
		keep_best(&p, life, &best);
	}
	arena_free(&p.mem);
	return best;
}
