/* map.h - a hash map from byte strings to pointers, in an arena. Keys are not copied: they must outlive
 * the map. Values may not be NULL, which stands for "not there". */
#ifndef CORE_BASE_MAP_H
#define CORE_BASE_MAP_H

#include "core/base/mem.h"

struct map {
	struct map_slot *slot;
	size_t n, cap;
};

void *map_get(const struct map *m, const void *key, size_t bytes);
/* Sets key to value; an entry that is there already is replaced. */
void map_put(struct map *m, struct arena *a, const void *key, size_t bytes, void *value);

#endif
