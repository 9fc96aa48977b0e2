#include "core/op/index.h"

#include "core/op/plain.h"

#include <string.h>

/* Offsets */

struct offsets_run {
	enum dtype dtype;
	int64_t size, stride;
	bool wrap;		/* -1 is the last */
	bool bad;
	int64_t worst;		/* one that is out of range */
};

static void offsets_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	struct offsets_run *r = ctx;
	int64_t *out = (int64_t *)p[0], index[LOOP_CHUNK], width = (int64_t)dtype_bytes(r->dtype);

	for (int64_t at = 0; at < n; at += LOOP_CHUNK) {
		int64_t len = n - at < LOOP_CHUNK ? n - at : LOOP_CHUNK;

		kind_load(KIND_I64, index, r->dtype, p[1] + at * step[1] * width, step[1], len);
		for (int64_t i = 0; i < len; i++) {
			int64_t k = index[i] + (r->wrap && index[i] < 0 ? r->size : 0);

			if (k < 0 || k >= r->size) {
				r->bad = true;
				r->worst = index[i];
				continue;
			}
			out[(at + i) * step[0]] += k * r->stride;
		}
	}
}

bool index_offsets(struct call *c, struct tensor *offsets, int rank, const int64_t *size, struct error *err)
{
	tensor_set_type(offsets, DTYPE_I64, rank, size);
	return (offsets->data = plain_scratch(c, tensor_numel(offsets), 8, err));
}

/* Adds to the offsets those of one more index tensor, broadcast. */
bool index_offsets_add(const struct call *c, struct tensor *offsets, const struct tensor *index, int64_t size,
			int64_t stride, bool wrap, struct error *err)
{
	struct offsets_run r = { .dtype = index->dtype, .size = size, .stride = stride, .wrap = wrap };
	struct loop l;

	loop_start(&l, offsets->rank, offsets->size);
	loop_add(&l, offsets);
	loop_add(&l, index);
	loop_run(&l, offsets_row, &r);
	return !r.bad ||
	       call_fail(c, err, "index %lld is out of range for size %lld", (long long)r.worst, (long long)size);
}

static void check_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	struct offsets_run *r = ctx;
	const int64_t *index = (const int64_t *)p[0];

	for (int64_t i = 0; i < n; i++)
		if ((uint64_t)index[i * step[0]] >= (uint64_t)r->size) {
			r->bad = true;
			r->worst = index[i * step[0]];
		}
}

bool index_offsets_of(struct call *c, const struct tensor *index, int64_t size, int64_t stride, struct tensor *offsets,
		      int64_t *scale, struct error *err)
{
	struct offsets_run r = { .dtype = index->dtype, .size = size };
	struct loop l;

	*scale = 1;
	if (index->dtype != DTYPE_I64)
		return index_offsets(c, offsets, index->rank, index->size, err) &&
		       index_offsets_add(c, offsets, index, size, stride, false, err);
	*offsets = *index;
	*scale = stride;
	loop_start(&l, index->rank, index->size);
	loop_add(&l, index);
	loop_run(&l, check_row, &r);
	return !r.bad ||
	       call_fail(c, err, "index %lld is out of range for size %lld", (long long)r.worst, (long long)size);
}

/* The walk. Tensors: other, base, offsets. */

struct move_run {
	enum index_move how;
	enum dtype dtype;	/* of both */
	size_t width;
	int64_t scale;		/* of the offsets */
};

/* Sums are rounded to the dtype at every step. */
static void add_one(enum dtype t, void *to, const void *from)
{
	enum kind k = kind_of(t);
	union { float f; double d; uint64_t i; } a, b;

	kind_load(k, &a, t, to, 1, 1);
	kind_load(k, &b, t, from, 1, 1);
	if (k == KIND_F32)
		a.f += b.f;
	else if (k == KIND_F64)
		a.d += b.d;
	else
		a.i += b.i;
	kind_store(k, &a, t, to, 1, 1);
}

static void add_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	const struct move_run *r = ctx;
	const int64_t *at = (const int64_t *)p[2];
	int64_t width = (int64_t)r->width;
	float *base = (float *)p[1];
	const float *other = (const float *)p[0];

	for (int64_t i = 0; i < n && r->dtype == DTYPE_F32; i++)
		base[i * step[1] + at[i * step[2]] * r->scale] += other[i * step[0]];
	for (int64_t i = 0; i < n && r->dtype != DTYPE_F32; i++)
		add_one(r->dtype, p[1] + (i * step[1] + at[i * step[2]] * r->scale) * width,
			p[0] + i * step[0] * width);
}

#define MOVE(T) { \
	T *o = (T *)(p[0] + row * b->next[0]), *base = (T *)(p[1] + row * b->next[1]); \
	const int64_t *at = (const int64_t *)(p[2] + row * b->next[2]); \
	if (r->how == INDEX_TAKE) \
		for (int64_t i = 0; i < b->n; i++) \
			o[i * b->step[0]] = base[i * b->step[1] + at[i * b->step[2]] * r->scale]; \
	else \
		for (int64_t i = 0; i < b->n; i++) \
			base[i * b->step[1] + at[i * b->step[2]] * r->scale] = o[i * b->step[0]]; } break

static void move_elements(const struct move_run *r, char *const *p, const struct block *b)
{
	for (int64_t row = 0; row < b->rows; row++)
		switch (r->width) {
		case 1: MOVE(uint8_t);
		case 2: MOVE(uint16_t);
		case 4: MOVE(uint32_t);
		case 8: MOVE(uint64_t);
		}
}

/* One index for a whole row: moved at once. A constant size lets the compiler do it in registers. */
#define MOVE_ROWS(bytes) \
	for (int64_t row = 0; row < b->rows; row++) { \
		char *o = p[0] + row * b->next[0]; \
		char *base = p[1] + row * b->next[1] + *(const int64_t *)(p[2] + row * b->next[2]) * bytes_each; \
 \
		memcpy(r->how == INDEX_TAKE ? o : base, r->how == INDEX_TAKE ? base : o, (bytes)); \
	} \
	break

static void move_block(void *ctx, char *const *p, const struct block *b)
{
	const struct move_run *r = ctx;
	const size_t bytes = r->width * (size_t)b->n;
	const int64_t bytes_each = (int64_t)r->width * r->scale;

	if (b->step[2] || b->step[0] != 1 || b->step[1] != 1) {
		move_elements(r, p, b);
		return;
	}
	switch (bytes) {
	case 8: MOVE_ROWS(8);
	case 16: MOVE_ROWS(16);
	case 32: MOVE_ROWS(32);
	case 64: MOVE_ROWS(64);
	case 128: MOVE_ROWS(128);
	default: MOVE_ROWS(bytes);
	}
}

void index_move(enum index_move how, const struct tensor *other, const struct tensor *base,
		const struct tensor *offsets, int64_t scale)
{
	struct move_run r = { .how = how, .dtype = base->dtype, .width = dtype_bytes(base->dtype), .scale = scale };
	struct loop l;

	loop_start(&l, other->rank, other->size);
	loop_add(&l, other);
	loop_add(&l, base);
	loop_add(&l, offsets);
	l.lead = how == INDEX_TAKE ? 0 : 2;
	if (how == INDEX_ADD)
		loop_run(&l, add_row, &r);
	else
		loop_blocks(&l, move_block, &r);
}

bool index_is_list(const struct tensor *t)
{
	return t->dtype == DTYPE_I64 || t->dtype == DTYPE_I32;
}
