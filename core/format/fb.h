/* fb.h - FlatBuffers: a reader that checks before it believes, and a builder.
 *
 * Source: the FlatBuffers binary format ("Internals" in its documentation).
 *   1. root: u32 at byte 0, offset of the root table; 4 identifier characters at byte 4
 *   2. table at P: i32 soff; its vtable is at P - soff (either side of it; vtables are shared)
 *   3. vtable: u16 own size, u16 table size, u16 offset in the table for each field id; 0 = absent
 *   4. string, vector, table fields: u32 forward offset from the field itself; vector: u32 count, elements;
 *      string: a vector of bytes and a NUL that is not counted
 *   5. union field: id n is the u8 tag, id n + 1 the offset
 *
 * Reading: a struct fb_table is a checked cursor. Nothing is read that was not checked to lie inside the
 * buffer and to be aligned. The first thing wrong is kept in fb->err with file, offset, found, allowed; every
 * later read returns the default, so a reader reads a whole table and asks once: if (!fb_ok(&fb)) return false.
 * Objects may be shared, so a small file can describe an endless one: as in the official verifier at most
 * 1,000,000 tables are entered, and the vectors and strings entered may not exceed a multiple of the buffer.
 * (Its limit on depth is not needed: no schema read here nests a table in itself.) */
#ifndef CORE_FORMAT_FB_H
#define CORE_FORMAT_FB_H

#include "core/base/error.h"
#include "core/base/map.h"
#include "core/base/mem.h"

#include <stdint.h>

struct fb {
	const uint8_t *data;
	size_t bytes;		/* offsets must stay below this */
	size_t base;		/* added to offsets in messages: where data lies in its file */
	const char *name;	/* file name for messages */
	uint32_t tables;	/* entered so far */
	uint64_t entered;	/* bytes of vectors and strings entered so far */
	struct error *err;	/* never NULL */
};

struct fb_table {
	struct fb *fb;
	uint32_t at;		/* 0: absent; every read gives its default */
	uint32_t vtable;
	uint16_t vtable_bytes, table_bytes;
};

struct fb_vector {
	struct fb *fb;
	uint32_t at;		/* offset of the first element; 0: absent */
	uint32_t n;
};

/* Starts reading; wrong: an error at once. id: 4 characters, or NULL when the caller checked them. */
bool fb_open(struct fb *fb, const uint8_t *data, size_t bytes, size_t base, const char *name, const char *id,
	     struct fb_table *root, struct error *err);
bool fb_ok(const struct fb *fb);
/* Records "NAME: offset N: ..." unless an error is kept already; returns false. */
bool fb_fail(struct fb *fb, size_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

bool fb_has(struct fb_table *t, int id);
uint8_t fb_u8(struct fb_table *t, int id, uint8_t otherwise);
int8_t fb_i8(struct fb_table *t, int id, int8_t otherwise);
bool fb_bool(struct fb_table *t, int id, bool otherwise);
uint16_t fb_u16(struct fb_table *t, int id, uint16_t otherwise);
int16_t fb_i16(struct fb_table *t, int id, int16_t otherwise);
uint32_t fb_u32(struct fb_table *t, int id, uint32_t otherwise);
int32_t fb_i32(struct fb_table *t, int id, int32_t otherwise);
uint64_t fb_u64(struct fb_table *t, int id, uint64_t otherwise);
int64_t fb_i64(struct fb_table *t, int id, int64_t otherwise);
float fb_f32(struct fb_table *t, int id, float otherwise);
double fb_f64(struct fb_table *t, int id, double otherwise);
/* NUL-terminated, in the buffer; NULL when absent. bytes (may be NULL) gets the length. */
const char *fb_string(struct fb_table *t, int id, size_t *bytes);
/* The same for a name: an error when it is not UTF-8 or holds a NUL, for C compares would cut it there. */
const char *fb_name(struct fb_table *t, int id, size_t *bytes);
struct fb_table fb_child(struct fb_table *t, int id);
struct fb_vector fb_vector(struct fb_table *t, int id, size_t element_bytes);
/* A vector of bytes that may be large (weights, blobs): it is not counted as entered, and not touched. */
struct fb_vector fb_data(struct fb_table *t, int id);
bool fb_vector_there(const struct fb_vector *v);	/* present, perhaps empty */
const uint8_t *fb_bytes(const struct fb_vector *v);	/* its elements, at any alignment; NULL when absent */
/* Room for a row of ours for each element; NULL and an error when no honest file has so many. */
void *fb_array(const struct fb_vector *v, struct arena *a, size_t bytes_each);
uint32_t fb_u32_at(const struct fb_vector *v, uint32_t i);
int32_t fb_i32_at(const struct fb_vector *v, uint32_t i);
int64_t fb_i64_at(const struct fb_vector *v, uint32_t i);
uint64_t fb_u64_at(const struct fb_vector *v, uint32_t i);
double fb_f64_at(const struct fb_vector *v, uint32_t i);
struct fb_table fb_table_at(const struct fb_vector *v, uint32_t i);	/* of a vector of tables */

/* Building: back to front, children before their parents. References are distances from the end, 0 = none.
 * Equal objects (strings, vectors, tables and vtables) are stored once, so a part that repeats costs its reference.
 * The builder owns its buffer; fbb_free frees everything, fbb_take gives the buffer away (mem_free). */
typedef uint32_t fbref;

enum { FBB_FIELDS = 24 };	/* field ids are below this */

struct fbb {
	uint8_t *buf;
	size_t cap, n;		/* n bytes used, at the end of buf */
	size_t align;		/* the largest alignment asked for so far */
	struct { uint8_t width; bool ref; uint64_t bits; } field[FBB_FIELDS];	/* the open table; width 0: absent */
	struct map made;	/* content -> fbref */
	struct arena mem;
	bool too_big;		/* grew past 2 GiB */
};

fbref fbb_string(struct fbb *b, const char *s);	/* NULL gives 0 */
fbref fbb_stringn(struct fbb *b, const char *s, size_t n);
/* A vector of n scalars of the given width, little-endian in memory; aligned to `align` at least. */
fbref fbb_vector(struct fbb *b, const void *data, size_t n, size_t width, size_t align);
fbref fbb_refs(struct fbb *b, const fbref *ref, size_t n);	/* a vector of tables or strings */

/* A table: fields in any order, then fbb_end; fields that hold their default are left out. Children are made before. */
void fbb_put8(struct fbb *b, int id, uint8_t v, uint8_t otherwise);
void fbb_put16(struct fbb *b, int id, uint16_t v, uint16_t otherwise);
void fbb_put32(struct fbb *b, int id, uint32_t v, uint32_t otherwise);
void fbb_put64(struct fbb *b, int id, uint64_t v, uint64_t otherwise);
void fbb_putf32(struct fbb *b, int id, float v, float otherwise);
void fbb_putf64(struct fbb *b, int id, double v, double otherwise);
void fbb_putref(struct fbb *b, int id, fbref ref);	/* left out when 0 */
fbref fbb_end(struct fbb *b);

/* Ends the buffer with root and identifier; *data stays the builder's. `gap` zero bytes are left behind the
 * identifier, for a header; the whole is a multiple of the largest alignment within. */
bool fbb_finish(struct fbb *b, fbref root, const char *id, size_t gap, uint8_t **data, size_t *bytes,
		struct error *err);
void fbb_free(struct fbb *b);
void *fbb_take(struct fbb *b);

#endif
