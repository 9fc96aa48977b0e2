/* replay.h - a method's memory plan, replayed: what a value's memory holds at each step.
 *
 * Values of a file are places in memory, and the planner gives one place to many values: equal offsets alone prove
 * nothing (facts: partition, 4.1). So the instructions are walked in order; every write makes a new content, and
 * the memory map knows which content holds which bytes. A value that no instruction writes holds what its bytes
 * were last written with: that is how a view without instruction is found, and state is memory that is read before
 * anything wrote it. Memory of both is the arena's. */
#ifndef CORE_PROGRAM_REPLAY_H
#define CORE_PROGRAM_REPLAY_H

#include "core/base/intset.h"
#include "core/format/pte.h"

enum replay_kind {
	REPLAY_OWN,	/* what was last written to this very value, or settled for it */
	REPLAY_OTHER,	/* one content, of exactly these bytes, that was written as another value */
	REPLAY_NOBODY,	/* nothing wrote here */
	REPLAY_STORED,	/* a constant's bytes */
	REPLAY_MIXED,	/* parts of several contents, or a part of one */
};

struct replay_extent { uint64_t begin, end; int content; };

/* Extents are disjoint, and one begins or ends only where some value of the plan does. */
struct replay_memory {
	uint64_t *edge;			/* those places, in order */
	int nedges;
	struct replay_extent *at;	/* by the edge where it begins */
	struct intset there;
};

struct replay_content {
	uint64_t begin, end;	/* its bytes in its memory */
	bool held;		/* state: nothing may run over it */
};

struct replay_value {
	int place;		/* the value whose storage it points to: itself unless a view took a pointer over */
	int content;		/* the content it was last written with or settled to; -1: none */
	bool input;		/* the caller brings its bytes, whatever the file stores */
};

struct replay {
	const struct pte_plan *plan;
	struct arena *mem;
	struct replay_value *value;
	struct replay_memory *memory;	/* by memory id */
	int nmemories;
	struct replay_content *content;
	int ncontents, capcontents;
	bool clash;			/* something wrote over state that is another value's */
};

void replay_open(struct replay *r, const struct pte_plan *plan, struct arena *mem);
/* An instruction, or the caller, writes all of v: the new content. */
int replay_write(struct replay *r, int32_t v);
/* v's memory is state and holds `content` (-1: a new one) from the start to the end. Returns the content. */
int replay_hold(struct replay *r, int32_t v, int content);
/* v points to where `from` points from now on. */
void replay_point(struct replay *r, int32_t v, int32_t from);
/* What v's bytes hold now; *content is it (OWN, OTHER), *place the constant (STORED). */
enum replay_kind replay_read(const struct replay *r, int32_t v, int *content, int32_t *place);
/* The caller of replay_read has made a value of v's own out of that content. */
void replay_settle(struct replay *r, int32_t v, int content);
/* The extents of a memory in order: the first that ends behind `at`, and the one after another; NULL: none. */
const struct replay_extent *replay_first_after(const struct replay_memory *m, uint64_t at);
const struct replay_extent *replay_next(const struct replay_memory *m, const struct replay_extent *x);

#endif
