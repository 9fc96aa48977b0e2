/* intset.h - a set of whole numbers below a bound, which also finds the neighbours of a number in it: bits, and above
 * them bits that tell which words are not empty, so that each step takes the logarithm to base 64. Memory is an
 * arena's. */
#ifndef CORE_BASE_INTSET_H
#define CORE_BASE_INTSET_H

#include "core/base/mem.h"

enum { INTSET_LEVELS = 6 };

struct intset {
	uint64_t *level[INTSET_LEVELS];
	int words[INTSET_LEVELS];
	int nlevels;
};

void intset_open(struct intset *s, int bound, struct arena *a);
void intset_add(struct intset *s, int i);
void intset_remove(struct intset *s, int i);
int intset_next(const struct intset *s, int i);	/* the least member >= i, or -1 */
int intset_prev(const struct intset *s, int i);	/* the greatest member <= i, or -1 */

#endif
