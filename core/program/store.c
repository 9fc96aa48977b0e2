#include "core/program/store.h"

#include <string.h>

struct content {
	struct span span;
	uint32_t constant;	/* its number, 0: none yet */
	uint32_t mutable;
	struct content *next;	/* same sample */
};

enum { SAMPLES = 8 };

/* What equal contents have in common, read from few places: comparing all bytes is for those that agree here. */
struct sample {
	size_t bytes;
	uint64_t at[SAMPLES];
};

void store_init(struct store *s, struct arena *mem)
{
	*s = (struct store){ .mem = mem };
	vec_push(mem, &s->constant, ((struct span){ 0 }));
	vec_push(mem, &s->mutable, ((struct span){ 0 }));
}

static struct sample *take_sample(struct arena *a, struct span b)
{
	struct sample *s = arena_alloc(a, sizeof *s);
	size_t whole = b.bytes / sizeof *s->at;

	s->bytes = b.bytes;
	if (!whole && b.bytes)
		memcpy(s->at, b.data, b.bytes);
	for (size_t i = 0; i < SAMPLES && whole; i++)
		memcpy(&s->at[i], b.data + (whole - 1) * i / (SAMPLES - 1) * sizeof *s->at, sizeof *s->at);
	return s;
}

static struct content *find_equal(struct content *c, struct span b)
{
	for (; c; c = c->next)
		if (!b.bytes || !memcmp(c->span.data, b.data, b.bytes))
			return c;
	return NULL;
}

static struct content *add_content(struct store *s, struct sample *sample, struct content *others, struct span b)
{
	struct content *c = arena_alloc(s->mem, sizeof *c);

	*c = (struct content){ .span = b, .next = others };
	map_put(&s->by_sample, s->mem, sample, sizeof *sample, c);
	s->bytes += b.bytes;
	return c;
}

static struct content *intern(struct store *s, struct span b)
{
	struct content *c = map_get(&s->by_pointer, &b.data, sizeof b.data), *others;
	struct sample *sample;

	if (c && b.bytes <= c->span.bytes)
		return c;
	if (c && c->span.data == b.data) {	/* a longer tensor over the same bytes */
		s->bytes += b.bytes - c->span.bytes;
		c->span.bytes = b.bytes;
		if (c->constant)
			s->constant.at[c->constant].bytes = b.bytes;
		return c;
	}
	sample = take_sample(s->mem, b);
	others = map_get(&s->by_sample, sample, sizeof *sample);
	c = find_equal(others, b);
	if (!c)
		c = add_content(s, sample, others, b);
	map_put(&s->by_pointer, s->mem, arena_copy(s->mem, &b.data, sizeof b.data), sizeof b.data, c);
	return c;
}

struct span store_bytes(struct store *s, struct span b)
{
	return (struct span){ intern(s, b)->span.data, b.bytes };
}

uint32_t store_constant(struct store *s, struct span b)
{
	struct content *c = intern(s, b);

	if (!c->constant) {
		c->constant = (uint32_t)s->constant.n;
		vec_push(s->mem, &s->constant, c->span);
	}
	return c->constant;
}

uint32_t store_mutable(struct store *s, struct span b)
{
	struct content *c = intern(s, b);

	if (!c->mutable) {
		c->mutable = (uint32_t)s->mutable.n;
		vec_push(s->mem, &s->mutable, ((struct span){ c->span.data, b.bytes }));
	} else if (s->mutable.at[c->mutable].bytes < b.bytes) {
		s->mutable.at[c->mutable].bytes = b.bytes;
	}
	return c->mutable;
}

bool store_named(struct store *s, const char *key, size_t key_bytes, struct span b, struct error *err)
{
	uintptr_t n = (uintptr_t)map_get(&s->by_key, key, key_bytes);

	b = store_bytes(s, b);
	if (n) {
		struct pte_named *e = &s->named.at[n - 1];

		return (e->data.data == b.data && e->data.bytes == b.bytes) ||
			error_set(err, ERROR_REFUSED,
				"named data: two different contents, of %zu and %zu bytes, have the key %.64s",
				  e->data.bytes, b.bytes, key);
	}
	vec_push(s->mem, &s->named, ((struct pte_named){ .key = key, .key_bytes = key_bytes, .data = b }));
	map_put(&s->by_key, s->mem, key, key_bytes, (void *)(uintptr_t)s->named.n);
	return true;
}
