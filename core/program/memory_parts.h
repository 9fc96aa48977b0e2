/* memory_parts.h - what the parts of memory planning share: one placement of all lifetimes.
 *
 * Steps are ranks of distinct first steps: whether two lifetimes meet depends on nothing else. A placed lifetime
 * stands in `begins` at its first rank and in the O(log n) nodes of a segment tree over ranks that cover it; so those
 * that meet [a, b] are the ones that cover a, and the ones that begin in (a, b]. */
#ifndef CORE_PROGRAM_MEMORY_PARTS_H
#define CORE_PROGRAM_MEMORY_PARTS_H

#include "core/base/mem.h"
#include "core/program/memory.h"

struct range { size_t at, end; };

struct link { int life; struct link *next; };

struct planner {
	struct arena mem;
	const struct lifetime *life;
	int n, nranks, leaves;
	size_t align;
	int *first, *last;	/* by lifetime, as ranks */
	struct arena links;	/* of the placement in the making */
	struct link **begins;	/* by rank */
	struct link **covers;	/* by tree node: root 1, leaves from `leaves` */
	size_t *offset;		/* by lifetime: the answer of the last placement */
	int *near;		/* the last memory_find_near: placed lifetimes that meet one, in no order */
	int nnear;
	struct range *range, *spare;	/* scratch: where those lie */
	size_t bytes;		/* the arena so far */
};

/* Lifetimes in an order of placement, fixed ones first; BY_END: all of them, by their last step. */
enum order { BY_SIZE, BY_AREA, BY_START, BY_END };

int *memory_order(struct planner *p, enum order order);

/* A placement starts; a lifetime is placed at an offset; which of those that were placed meet another. */
void memory_start(struct planner *p);
void memory_put(struct planner *p, int life, size_t offset);
void memory_find_near(struct planner *p, int life);

/* Each in the smallest gap that its neighbours in time leave. */
void memory_place(struct planner *p, const int *order);

/* memory_time.c: in order of time, without a look at neighbours. */
void memory_place_by_time(struct planner *p);

/* memory_objects.c: the exporter's plan, so that ours is never larger. */
void memory_place_in_objects(struct planner *p);

/* memory_search.c: the same, and then up to `trials` changes of the order, until the arena is as small as `bound`,
 * which no placement can be below. */
void memory_search(struct planner *p, int *order, size_t bound, uint64_t trials);

#endif
