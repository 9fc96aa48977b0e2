#include "core/format/fb.h"

#include "core/base/num.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_BYTES = INT32_MAX,		/* offsets are signed 32 bit in places */
	MAX_TABLES = 1000000,
	ENTER_FLOOR = 16 << 20,		/* vectors and strings: this much, and */
	ENTER_TIMES = 8,		/* this many times the buffer */
	ARRAY_FLOOR = 32 << 20,		/* one array of ours: likewise */
	ARRAY_TIMES = 4,
};

bool fb_ok(const struct fb *fb)
{
	return fb->err->code == ERROR_NONE;
}

bool fb_fail(struct fb *fb, size_t at, const char *fmt, ...)
{
	char text[384];
	va_list ap;

	if (!fb_ok(fb))
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return error_set(fb->err, ERROR_FORMAT, "%s: offset %zu: %s", fb->name, fb->base + at, text);
}

/* The one place where bytes become numbers; every caller has checked at + n against the buffer. */
#define GET(T, fb, at) ({ T v_; memcpy(&v_, (fb)->data + (at), sizeof v_); v_; })

static uint64_t room(const struct fb *fb)
{
	return ENTER_FLOOR + ENTER_TIMES * (uint64_t)fb->bytes - fb->entered;
}

static bool enter_bytes(struct fb *fb, uint32_t at, uint64_t bytes)
{
	if (bytes > room(fb))
		return fb_fail(fb, at, "shared vectors and strings add up to more than %d times the file", ENTER_TIMES);
	fb->entered += bytes;
	return true;
}

static struct fb_table enter_table(struct fb *fb, uint64_t at)
{
	const struct fb_table none = { .fb = fb };
	struct fb_table t = { .fb = fb, .at = (uint32_t)at };
	int64_t vtable;

	if (!size_inside(at, 4, fb->bytes) || at % 4 || !at)
		return fb_fail(fb, (size_t)at, "table lies outside the %zu bytes or is not aligned", fb->bytes), none;
	vtable = (int64_t)at - GET(int32_t, fb, at);
	if (vtable < 0 || vtable % 2 || !size_inside((uint64_t)vtable, 4, fb->bytes))
		return fb_fail(fb, (size_t)at, "vtable at %" PRId64 " is outside the %zu bytes or odd", vtable,
			       fb->bytes), none;
	t.vtable = (uint32_t)vtable;
	t.vtable_bytes = GET(uint16_t, fb, vtable);
	t.table_bytes = GET(uint16_t, fb, vtable + 2);
	if (t.vtable_bytes < 4 || t.vtable_bytes % 2 || !size_inside(t.vtable, t.vtable_bytes, fb->bytes))
		return fb_fail(fb, t.vtable, "vtable of %u bytes does not fit", t.vtable_bytes), none;
	if (t.table_bytes < 4 || !size_inside(at, t.table_bytes, fb->bytes))
		return fb_fail(fb, (size_t)at, "table of %u bytes does not fit", t.table_bytes), none;
	if (++fb->tables > MAX_TABLES)
		return fb_fail(fb, (size_t)at, "more than %d tables", MAX_TABLES), none;
	return t;
}

bool fb_open(struct fb *fb, const uint8_t *data, size_t bytes, size_t base, const char *name, const char *id,
	     struct fb_table *root, struct error *err)
{
	*fb = (struct fb){ .data = data, .bytes = bytes, .base = base, .name = name, .err = err };
	*root = (struct fb_table){ .fb = fb };
	err->code = ERROR_NONE;
	if (bytes < 8)
		return fb_fail(fb, 0, "%zu bytes are too few for a flatbuffer", bytes);
	if (bytes > MAX_BYTES)
		return fb_fail(fb, 0, "flatbuffer of %zu bytes, at most %d are allowed", bytes, MAX_BYTES);
	if (id && memcmp(data + 4, id, 4))
		return fb_fail(fb, 4, "identifier is \"%.4s\", not \"%s\"", (const char *)data + 4, id);
	*root = enter_table(fb, GET(uint32_t, fb, 0));
	return fb_ok(fb);
}

/* Where the field lies, or 0 when it is absent. */
static uint32_t field(struct fb_table *t, int id, size_t bytes)
{
	uint32_t slot = 4 + 2 * (uint32_t)id, v;

	if (!t->at || slot + 2 > t->vtable_bytes || !fb_ok(t->fb))
		return 0;
	v = GET(uint16_t, t->fb, t->vtable + slot);
	if (!v)
		return 0;
	if (v < 4 || v + bytes > t->table_bytes || (t->at + v) % bytes)
		return fb_fail(t->fb, t->vtable + slot,
			       "field %d at %u of a table of %u bytes does not fit or is not aligned",
			       id, v, t->table_bytes), 0;
	return t->at + v;
}

bool fb_has(struct fb_table *t, int id)
{
	return field(t, id, 1) != 0;
}

#define READ(name, T) \
T name(struct fb_table *t, int id, T otherwise) \
{ \
	uint32_t at = field(t, id, sizeof otherwise); \
\
	return at ? GET(T, t->fb, at) : otherwise; \
}

READ(fb_u8, uint8_t)
READ(fb_i8, int8_t)
READ(fb_u16, uint16_t)
READ(fb_i16, int16_t)
READ(fb_u32, uint32_t)
READ(fb_i32, int32_t)
READ(fb_u64, uint64_t)
READ(fb_i64, int64_t)
READ(fb_f32, float)
READ(fb_f64, double)

bool fb_bool(struct fb_table *t, int id, bool otherwise)
{
	return fb_u8(t, id, otherwise) != 0;
}

/* Follows the offset at `at`; 0 when it leads out of the buffer. */
static uint64_t follow(struct fb *fb, uint32_t at)
{
	uint32_t step = GET(uint32_t, fb, at);
	uint64_t to = (uint64_t)at + step;

	if (!step || to % 4 || !size_inside(to, 4, fb->bytes))
		return fb_fail(fb, at, "offset %u leads outside the %zu bytes or is not aligned", step, fb->bytes), 0;
	return to;
}

struct fb_table fb_child(struct fb_table *t, int id)
{
	uint32_t at = field(t, id, 4);
	uint64_t to = at ? follow(t->fb, at) : 0;

	return to ? enter_table(t->fb, to) : (struct fb_table){ .fb = t->fb };
}

static struct fb_vector vector_at(struct fb *fb, uint32_t at, size_t width)
{
	const struct fb_vector none = { .fb = fb };
	uint64_t to = at ? follow(fb, at) : 0;
	struct fb_vector v = { .fb = fb, .at = (uint32_t)to + 4 };

	if (!to)
		return none;
	v.n = GET(uint32_t, fb, to);
	/* Elements are read with memcpy: like the official verifier, no alignment beyond the count's is asked for. */
	if (!size_inside(v.at, (uint64_t)v.n * width, fb->bytes))
		return fb_fail(fb, (size_t)to, "vector of %u elements of %zu bytes does not fit", v.n, width), none;
	return v;
}

struct fb_vector fb_vector(struct fb_table *t, int id, size_t width)
{
	struct fb_vector v = vector_at(t->fb, field(t, id, 4), width);

	return !v.at || enter_bytes(t->fb, v.at, (uint64_t)v.n * width) ? v : (struct fb_vector){ .fb = t->fb };
}

struct fb_vector fb_data(struct fb_table *t, int id)
{
	return vector_at(t->fb, field(t, id, 4), 1);
}

bool fb_vector_there(const struct fb_vector *v)
{
	return v->at != 0;
}

const uint8_t *fb_bytes(const struct fb_vector *v)
{
	return v->at ? v->fb->data + v->at : NULL;
}

const char *fb_string(struct fb_table *t, int id, size_t *bytes)
{
	struct fb_vector v = fb_vector(t, id, 1);

	if (bytes)
		*bytes = v.n;
	if (!v.at)
		return NULL;
	if (!size_inside(v.at, (uint64_t)v.n + 1, t->fb->bytes) || t->fb->data[v.at + v.n])
		return fb_fail(t->fb, v.at, "string of %u bytes has no NUL behind it", v.n), NULL;
	return (const char *)t->fb->data + v.at;
}

/* Length of the UTF-8 sequence at s (no surrogates, no overlong forms), or 0. */
static size_t utf8_bytes(const uint8_t *s, size_t left)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf8 ? 4 : 0;
	uint32_t c;

	if (n <= 1 || n > left)
		return n <= left ? n : 0;
	c = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

const char *fb_name(struct fb_table *t, int id, size_t *bytes)
{
	size_t n, step;
	const char *s = fb_string(t, id, &n);

	for (size_t i = 0; s && i < n; i += step) {
		step = s[i] ? utf8_bytes((const uint8_t *)s + i, n - i) : 0;
		if (!step)
			return fb_fail(t->fb, (size_t)((const uint8_t *)s - t->fb->data) + i, s[i] ? "name is not UTF-8"
				       : "name holds a NUL"), NULL;
	}
	if (bytes)
		*bytes = s ? n : 0;
	return s;
}

void *fb_array(const struct fb_vector *v, struct arena *a, size_t bytes_each)
{
	uint64_t bytes = (uint64_t)v->n * bytes_each;
	void *p;

	if (bytes > ARRAY_FLOOR + ARRAY_TIMES * (uint64_t)v->fb->bytes)
		return fb_fail(v->fb, v->at, "a vector of %u entries is more than this file can mean", v->n), NULL;
	p = arena_try(a, (size_t)bytes);
	if (!p && fb_ok(v->fb))
		error_set(v->fb->err, ERROR_MEMORY, "%s: no memory for a vector of %u entries", v->fb->name, v->n);
	return p;
}

#define AT(name, T) \
T name(const struct fb_vector *v, uint32_t i) \
{ \
	return v->at && i < v->n && fb_ok(v->fb) ? GET(T, v->fb, v->at + (size_t)i * sizeof(T)) : 0; \
}

AT(fb_u32_at, uint32_t)
AT(fb_i32_at, int32_t)
AT(fb_i64_at, int64_t)
AT(fb_u64_at, uint64_t)
AT(fb_f64_at, double)

struct fb_table fb_table_at(const struct fb_vector *v, uint32_t i)
{
	const struct fb_table none = { .fb = v->fb };
	uint64_t to;

	if (!v->at || i >= v->n || !fb_ok(v->fb))
		return none;
	to = follow(v->fb, v->at + i * 4);
	return to ? enter_table(v->fb, to) : none;
}
