#include "core/base/same.h"

#include <stdbool.h>
#include <string.h>

enum { SAMPLE = 16 };

struct sample { size_t bytes; uint8_t at[3 * SAMPLE]; };	/* first, middle and last bytes */
struct hash { size_t bytes; uint64_t hash; };

/* Bytes that are kept: those of one hash are a list. */
struct piece { const uint8_t *data; size_t bytes; void *what; bool hashed; struct piece *next; };

static struct sample sample_of(const uint8_t *data, size_t bytes)
{
	struct sample s = { .bytes = bytes };
	size_t n = bytes < SAMPLE ? bytes : SAMPLE;

	memcpy(s.at, data, n);
	memcpy(s.at + SAMPLE, data + (bytes - n) / 2, n);
	memcpy(s.at + 2 * SAMPLE, data + bytes - n, n);
	return s;
}

/* Eight bytes at a time, each multiplied and turned in; four sums keep the multiplier busy. */
static uint64_t hash_of(const uint8_t *data, size_t bytes)
{
	const uint64_t odd = 0x9e3779b97f4a7c15;
	uint64_t sum[4] = { bytes, 1, 2, 3 }, word;
	size_t i = 0;

	for (; i + 8 <= bytes; i += 8) {
		memcpy(&word, data + i, 8);
		sum[i / 8 % 4] = (sum[i / 8 % 4] ^ word) * odd;
		sum[i / 8 % 4] ^= sum[i / 8 % 4] >> 29;
	}
	for (; i < bytes; i++)
		sum[0] = (sum[0] ^ data[i]) * odd;
	for (int k = 1; k < 4; k++)
		sum[0] = ((sum[0] ^ sum[k]) * odd) ^ (sum[0] >> 31);
	return sum[0];
}

static struct hash *key_of(struct same *s, const uint8_t *data, size_t bytes)
{
	struct hash *key = arena_alloc(s->mem, sizeof *key);

	key->bytes = bytes;
	key->hash = hash_of(data, bytes);
	return key;
}

/* Puts p to those of its hash, unless bytes equal to its are there: those are returned. */
static struct piece *file_by_hash(struct same *s, struct piece *p)
{
	struct hash *key = key_of(s, p->data, p->bytes);
	struct piece *first = map_get(&s->by_hash, key, sizeof *key);

	p->hashed = true;
	for (struct piece *q = first; q; q = q->next)
		if (!memcmp(q->data, p->data, p->bytes))
			return q;
	p->next = first;
	map_put(&s->by_hash, s->mem, key, sizeof *key, p);
	return NULL;
}

void *same_find(struct same *s, const uint8_t *data, size_t bytes, void *what)
{
	struct sample sample = sample_of(data, bytes);
	struct piece *first = map_get(&s->by_sample, &sample, sizeof sample), *same;
	struct piece *p = arena_alloc(s->mem, sizeof *p);

	*p = (struct piece){ .data = data, .bytes = bytes, .what = what };
	if (!first) {
		map_put(&s->by_sample, s->mem, arena_copy(s->mem, &sample, sizeof sample), sizeof sample, p);
		return NULL;
	}
	if (first->data == data && first->bytes == bytes)
		return first->what;
	if (!first->hashed)
		file_by_hash(s, first);
	same = file_by_hash(s, p);
	return same ? same->what : NULL;
}
