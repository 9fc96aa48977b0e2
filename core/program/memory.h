/* memory.h - memory planning: offsets for tensors that live from one step to another, so that what lives at
 * the same time never overlaps. Used when a program is written, and by the interpreter. */
#ifndef CORE_PROGRAM_MEMORY_H
#define CORE_PROGRAM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct lifetime {
	size_t bytes;
	int first, last;	/* steps, both inclusive */
	size_t offset;		/* the answer, aligned */
};

/* Sets every offset; returns the arena's size: no larger than greedy by size (what the exporter does). */
size_t memory_plan(struct lifetime *life, int n, size_t align);

#endif
