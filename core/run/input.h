/* input.h - inputs for a method: from .npy files, or seeded random (floats normal; integers bounded by the table
 * they index, else 0 or 1). */
#ifndef CORE_RUN_INPUT_H
#define CORE_RUN_INPUT_H

#include "core/op/op.h"

struct input_shape { int input; int rank; int64_t size[MAX_RANK]; };	/* --shape I=D,D,... */

/* npy[i] may be NULL: random. All memory is the arena's. */
bool input_make(struct tensor ***out, const struct graph *g, const char *const *npy, int nnpy,
		const struct input_shape *shape, int nshapes, uint64_t seed, struct arena *a, struct error *err);

#endif
