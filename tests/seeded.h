/* seeded.h - random programs whose weights are computed: the same from the same seed, on every machine.
 *
 * One or two methods with one to four GEMMs each. Weights and biases are random expressions: arithmetic, layout, parts
 * of larger tensors, reductions, products of matrices, numbers read from tensors; over sources that expressions and
 * methods share, in the program or in one of two data files; some of state, some of the input, some quantised, some
 * filled. Values stay moderate, so that results are finite and comparable. */
#ifndef TESTS_SEEDED_H
#define TESTS_SEEDED_H

#include "core/graph/graph.h"
#include "core/program/program.h"

enum { SEEDED_METHODS = 2, SEEDED_FILES = 2 };

struct seeded {
	struct arena mem;
	struct graph *g[SEEDED_METHODS];
	int n;			/* methods */
	const char *program, *data[SEEDED_FILES];	/* paths */
};

/* Makes graphs, and in the folder program.pte, a.ptd and b.ptd, over those of the last seed. */
void seeded_make(struct seeded *s, uint64_t seed, const char *folder);
void seeded_free(struct seeded *s);

#endif
