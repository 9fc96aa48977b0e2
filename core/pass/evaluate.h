/* evaluate.h - values that depend on constants alone, computed with the portable kernels.
 *
 * Each node is computed once, whatever number of values needs it; what lies between is freed as soon as its last
 * reader is done. Fails on a node without kernel, an input, a state, or a constant without bytes. */
#ifndef CORE_PASS_EVALUATE_H
#define CORE_PASS_EVALUATE_H

#include "core/op/op.h"

/* out[i] becomes the value of want[i]; bytes of node values are the arena's, those of constants stay where they are. */
bool evaluate(const struct graph *g, struct value *const *want, int nwant, struct arena *a, struct tensor *out,
	      struct error *err);

#endif
