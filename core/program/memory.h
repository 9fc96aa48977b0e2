/* memory.h - memory planning: offsets for tensors that live from one step to another, so that what lives at
 * the same time never overlaps. Used when a program is written, and by the interpreter.
 *
 * The smallest arena of several wins, and none is looked for once it is as small as what lives at one step: in order of
 * time; as the exporter does; the largest first, each in the smallest gap that its neighbours in time leave (Pisarchyk
 * and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020), and in two other orders; then by
 * trial. Near-linear: where too many tensors live together, the first ways are all that is tried. */
#ifndef CORE_PROGRAM_MEMORY_H
#define CORE_PROGRAM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lifetime {
	size_t bytes;
	int first, last;	/* steps, both inclusive */
	bool fixed;		/* offset is given and stays (shared state) */
	size_t offset;		/* the answer, aligned */
};

/* Sets every offset; returns the arena's size, SIZE_MAX if it does not fit in memory. */
size_t memory_plan(struct lifetime *life, int n, size_t align);

#endif
