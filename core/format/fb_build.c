#include "core/format/fb.h"

#include "core/base/num.h"

#include <assert.h>
#include <string.h>

enum {
	MAX_BYTES = INT32_MAX,
	INTERN_BYTES = 4096,	/* objects larger than this are not looked up: they hardly repeat */
	KEY_BYTES = INTERN_BYTES + 32,
};

static void reserve(struct fbb *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 4096;
	uint8_t *buf;

	while (cap - b->n < more)
		cap *= 2;
	if (cap == b->cap)
		return;
	buf = mem_alloc(cap);
	if (b->n)
		memcpy(buf + cap - b->n, b->buf + b->cap - b->n, b->n);
	mem_free(b->buf);
	b->buf = buf;
	b->cap = cap;
}

/* Room for n more bytes in front of all others; zeroed. */
static uint8_t *push(struct fbb *b, size_t n)
{
	reserve(b, n);
	b->n += n;
	return b->buf + b->cap - b->n;
}

static void push_bits(struct fbb *b, uint64_t bits, size_t width)
{
	memcpy(push(b, width), &bits, width);
}

/* Pads so that what is pushed now and ends after `bytes` starts on a multiple of `align` from the end. */
static void prepare(struct fbb *b, size_t bytes, size_t align)
{
	size_t whole;

	if (!size_add(b->n, bytes, &whole) || whole > MAX_BYTES - 64) {
		b->too_big = true;
		return;
	}
	if (align > b->align)
		b->align = align;
	push(b, size_align(whole, align) - whole);
}

/* An object that was made already, by its content. */

struct key { size_t n; uint8_t bytes[KEY_BYTES]; };	/* not initialised as a whole: it is large */

static void key_start(struct key *k, char kind)
{
	k->bytes[0] = (uint8_t)kind;
	k->n = 1;
}

static void key_add(struct key *k, const void *data, size_t n)
{
	if (n)
		memcpy(k->bytes + k->n, data, n);
	k->n += n;
}

static fbref recall(const struct fbb *b, const struct key *k)
{
	return (fbref)(uintptr_t)map_get(&b->made, k->bytes, k->n);
}

static fbref remember(struct fbb *b, const struct key *k)
{
	map_put(&b->made, &b->mem, arena_copy(&b->mem, k->bytes, k->n), k->n, (void *)(uintptr_t)b->n);
	return (fbref)b->n;
}

static fbref put_vector(struct fbb *b, const void *data, size_t n, size_t width, size_t align, size_t tail)
{
	size_t bytes = n * width;

	prepare(b, bytes + tail, n ? align : 4);
	if (b->too_big)
		return 0;
	push(b, tail);
	if (bytes)
		memcpy(push(b, bytes), data, bytes);
	push_bits(b, n, 4);
	return (fbref)b->n;
}

/* kind: 's' for a string, which has a NUL behind it, or 'v'. */
static fbref vector(struct fbb *b, char kind, const void *data, size_t n, size_t width, size_t align)
{
	uint32_t head[2] = { (uint32_t)width, (uint32_t)align };
	struct key k;
	fbref made;

	if (n > INTERN_BYTES / width)
		return n > MAX_BYTES / width ? (b->too_big = true, 0)
					     : put_vector(b, data, n, width, align, kind == 's');
	key_start(&k, kind);
	key_add(&k, head, sizeof head);
	key_add(&k, data, n * width);
	made = recall(b, &k);
	if (made)
		return made;
	return put_vector(b, data, n, width, align, kind == 's') ? remember(b, &k) : 0;
}

fbref fbb_stringn(struct fbb *b, const char *s, size_t n)
{
	return s ? vector(b, 's', s, n, 1, 4) : 0;
}

fbref fbb_string(struct fbb *b, const char *s)
{
	return s ? fbb_stringn(b, s, strlen(s)) : 0;
}

fbref fbb_vector(struct fbb *b, const void *data, size_t n, size_t width, size_t align)
{
	size_t least = width > 4 ? width : 4;

	return vector(b, 'v', data, n, width, align > least ? align : least);
}

fbref fbb_refs(struct fbb *b, const fbref *ref, size_t n)
{
	struct key k;
	bool small = n <= INTERN_BYTES / sizeof *ref;
	fbref made = 0;

	if (small) {
		key_start(&k, 'r');
		key_add(&k, ref, n * sizeof *ref);
		made = recall(b, &k);
	}
	if (made)
		return made;
	prepare(b, n * 4, 4);
	if (b->too_big)
		return 0;
	for (size_t i = n; i-- > 0;)
		push_bits(b, b->n + 4 - ref[i], 4);
	push_bits(b, n, 4);
	return small ? remember(b, &k) : (fbref)b->n;
}

/* Tables */

static void put(struct fbb *b, int id, size_t width, bool ref, uint64_t bits)
{
	assert(id >= 0 && id < FBB_FIELDS);
	b->field[id].width = (uint8_t)width;
	b->field[id].ref = ref;
	b->field[id].bits = bits;
}

void fbb_put8(struct fbb *b, int id, uint8_t v, uint8_t otherwise)
{
	if (v != otherwise)
		put(b, id, 1, false, v);
}

void fbb_put16(struct fbb *b, int id, uint16_t v, uint16_t otherwise)
{
	if (v != otherwise)
		put(b, id, 2, false, v);
}

void fbb_put32(struct fbb *b, int id, uint32_t v, uint32_t otherwise)
{
	if (v != otherwise)
		put(b, id, 4, false, v);
}

void fbb_put64(struct fbb *b, int id, uint64_t v, uint64_t otherwise)
{
	if (v != otherwise)
		put(b, id, 8, false, v);
}

/* Floats by their bits: -0.0 is not 0.0 here. */
void fbb_putf32(struct fbb *b, int id, float v, float otherwise)
{
	uint32_t bits, default_bits;

	memcpy(&bits, &v, 4);
	memcpy(&default_bits, &otherwise, 4);
	fbb_put32(b, id, bits, default_bits);
}

void fbb_putf64(struct fbb *b, int id, double v, double otherwise)
{
	uint64_t bits, default_bits;

	memcpy(&bits, &v, 8);
	memcpy(&default_bits, &otherwise, 8);
	fbb_put64(b, id, bits, default_bits);
}

void fbb_putref(struct fbb *b, int id, fbref ref)
{
	if (ref)
		put(b, id, 4, true, ref);
}

/* Writes the fields, the widest at the far end so that padding is least; at[id] is each one's distance from the
 * end of the buffer. Returns where the table ends. */
static size_t put_fields(struct fbb *b, size_t *at)
{
	size_t end = 0;
	bool first = true;

	for (size_t width = 8; width; width /= 2)
		for (int id = 0; id < FBB_FIELDS; id++) {
			if (b->field[id].width != width)
				continue;
			prepare(b, width, width);
			if (first)
				end = b->n;
			first = false;
			push_bits(b, b->field[id].ref ? b->n + 4 - b->field[id].bits : b->field[id].bits, width);
			at[id] = b->n;
		}
	prepare(b, 4, 4);
	if (first)
		end = b->n;
	push_bits(b, 0, 4);
	return end;
}

/* Distance of the vtable from the end; a new one is put right in front of its table. */
static fbref put_vtable(struct fbb *b, size_t table, size_t end, const size_t *at)
{
	uint16_t v[2 + FBB_FIELDS] = { 0 };
	struct key k;
	size_t fields = 0;
	fbref made;

	for (size_t id = 0; id < FBB_FIELDS; id++)
		if (b->field[id].width) {
			v[2 + id] = (uint16_t)(table - at[id]);
			fields = id + 1;
		}
	v[0] = (uint16_t)(4 + 2 * fields);
	v[1] = (uint16_t)(table - end);
	key_start(&k, 't');
	key_add(&k, v, v[0]);
	made = recall(b, &k);
	if (made)
		return made;
	memcpy(push(b, v[0]), v, v[0]);
	return remember(b, &k);
}

fbref fbb_end(struct fbb *b)
{
	struct key k;
	size_t at[FBB_FIELDS], end, table;
	int32_t vtable;
	fbref made;

	key_start(&k, 'T');
	for (uint8_t id = 0; id < FBB_FIELDS; id++)
		if (b->field[id].width) {
			uint8_t head[3] = { id, b->field[id].width, b->field[id].ref };

			key_add(&k, head, 3);
			key_add(&k, &b->field[id].bits, 8);
		}
	made = recall(b, &k);
	if (!made && !b->too_big) {
		end = put_fields(b, at);
		made = remember(b, &k);
		table = b->n;
		vtable = (int32_t)((int64_t)put_vtable(b, table, end, at) - (int64_t)table);
		memcpy(b->buf + b->cap - table, &vtable, 4);
	}
	memset(b->field, 0, sizeof b->field);
	return b->too_big ? 0 : made;
}

bool fbb_finish(struct fbb *b, fbref root, const char *id, size_t gap, uint8_t **data, size_t *bytes,
		struct error *err)
{
	prepare(b, 8 + gap, b->align > 4 ? b->align : 4);
	if (b->too_big)
		return error_set(err, ERROR_UNSUPPORTED, "the tables of the program would exceed 2 GiB");
	push(b, gap);
	memcpy(push(b, 4), id, 4);
	push_bits(b, b->n + 4 - root, 4);
	*data = b->buf + b->cap - b->n;
	*bytes = b->n;
	return true;
}

void fbb_free(struct fbb *b)
{
	mem_free(fbb_take(b));
}

void *fbb_take(struct fbb *b)
{
	void *buf = b->buf;

	arena_free(&b->mem);
	*b = (struct fbb){ 0 };
	return buf;
}
