/* memory.h - memory planning: offsets for tensors that live from one step to another, so that what lives at
 * the same time never overlaps. Used when a program is written, and by the interpreter.
 *
 * The largest tensors are placed first, each in the smallest gap that its neighbours in time leave (Pisarchyk
 * and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020), and again in two other orders, and
 * as the exporter does; then orders are tried as long as the arena is larger than what must live at one step. The
 * smallest arena wins. Near-linear for programs whose tensors are short-lived. */
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
