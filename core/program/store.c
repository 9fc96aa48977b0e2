#include "core/program/store.h"

struct content {
	struct span span;
	uint32_t constant;	/* its number, 0: none yet */
	uint32_t mutable;
};

void store_init(struct store *s, struct arena *mem)
{
	*s = (struct store){ .mem = mem, .same = { .mem = mem } };
	vec_push(mem, &s->constant, ((struct span){ 0 }));
	vec_push(mem, &s->mutable, ((struct span){ 0 }));
}

/* The content of equal bytes, which are new perhaps. */
static struct content *find_content(struct store *s, struct span b)
{
	struct content *c = arena_alloc(s->mem, sizeof *c), *same;

	c->span = b;
	same = b.bytes ? same_find(&s->same, b.data, b.bytes, c) : s->empty;
	if (same)
		return same;
	s->bytes += b.bytes;
	if (!b.bytes)
		s->empty = c;
	return c;
}

static struct content *intern(struct store *s, struct span b)
{
	struct content *c = map_get(&s->by_pointer, &b.data, sizeof b.data);

	if (c && b.bytes <= c->span.bytes)
		return c;
	if (c && c->span.data == b.data) {	/* a longer tensor over the same bytes */
		s->bytes += b.bytes - c->span.bytes;
		c->span.bytes = b.bytes;
		if (c->constant)
			s->constant.at[c->constant].bytes = b.bytes;
		return c;
	}
	c = find_content(s, b);
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

struct span store_find_named(const struct store *s, const char *key, size_t key_bytes)
{
	uintptr_t n = (uintptr_t)map_get(&s->by_key, key, key_bytes);

	return n ? s->named.at[n - 1].data : (struct span){ 0 };
}
