#include "core/base/map.h"

#include <string.h>

struct map_slot {
	const void *key;
	size_t bytes;
	void *value;
};

static size_t hash(const void *key, size_t bytes)	/* FNV-1a */
{
	uint64_t h = 1469598103934665603u;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ ((const uint8_t *)key)[i]) * 1099511628211u;
	return (size_t)(h ^ h >> 32);
}

static struct map_slot *find(const struct map *m, const void *key, size_t bytes)
{
	size_t i = hash(key, bytes) & (m->cap - 1);

	while (m->slot[i].value && (m->slot[i].bytes != bytes || memcmp(m->slot[i].key, key, bytes)))
		i = (i + 1) & (m->cap - 1);
	return &m->slot[i];
}

void *map_get(const struct map *m, const void *key, size_t bytes)
{
	return m->cap ? find(m, key, bytes)->value : NULL;
}

static void grow(struct map *m, struct arena *a)
{
	struct map old = *m;

	m->cap = old.cap ? old.cap * 2 : 16;
	m->slot = arena_array(a, m->cap, sizeof *m->slot);
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i].value)
			*find(m, old.slot[i].key, old.slot[i].bytes) = old.slot[i];
}

void map_put(struct map *m, struct arena *a, const void *key, size_t bytes, void *value)
{
	struct map_slot *s;

	if (m->n * 2 >= m->cap)
		grow(m, a);
	s = find(m, key, bytes);
	if (!s->value)
		m->n++;
	*s = (struct map_slot){ key, bytes, value };
}
