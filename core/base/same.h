/* same.h - which bytes are equal. Of each a few are looked at; all of them, once, only where a few are equal, so it is
 * near-linear in the number of pieces and in their bytes. Memory is the arena given. */
#ifndef CORE_BASE_SAME_H
#define CORE_BASE_SAME_H

#include "core/base/map.h"

#include <stdint.h>

struct same {
	struct arena *mem;
	struct map by_sample, by_hash;
};

/* What was given with the first bytes equal to these, or NULL: then `what`, not NULL, is kept for them. The bytes must
 * live as long as the struct. */
void *same_find(struct same *s, const uint8_t *data, size_t bytes, void *what);

#endif
