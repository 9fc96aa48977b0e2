#include "core/op/index.h"

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

struct tensor index_offsets(struct call *c, int rank, const int64_t *size)
{
	struct tensor t = { .dtype = DTYPE_I64 };

	tensor_set_type(&t, DTYPE_I64, rank, size);
	t.data = arena_alloc(c->scratch, (size_t)tensor_numel(&t) * 8 + 8);
	return t;
}

/* The walk. Tensors: other, base, offsets. */

struct move_run {
	enum index_move how;
	enum dtype dtype;	/* of both */
	size_t width;
};

#define MOVE(T) { \
	T *o = (T *)p[0], *b = (T *)p[1]; \
	if (r->how == INDEX_TAKE) \
		for (int64_t i = 0; i < n; i++) o[i * step[0]] = b[i * step[1] + at[i * step[2]]]; \
	else \
		for (int64_t i = 0; i < n; i++) b[i * step[1] + at[i * step[2]]] = o[i * step[0]]; } break

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

static void move_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	const struct move_run *r = ctx;
	const int64_t *at = (const int64_t *)p[2];
	int64_t width = (int64_t)r->width;

	if (!step[2] && step[0] == 1 && step[1] == 1 && r->how != INDEX_ADD) {	/* one index for the whole row */
		char *base = p[1] + at[0] * width;

		memcpy(r->how == INDEX_TAKE ? p[0] : base, r->how == INDEX_TAKE ? base : p[0], (size_t)(n * width));
		return;
	}
	if (r->how == INDEX_ADD && r->dtype == DTYPE_F32) {
		float *base = (float *)p[1];
		const float *other = (const float *)p[0];

		for (int64_t i = 0; i < n; i++)
			base[i * step[1] + at[i * step[2]]] += other[i * step[0]];
		return;
	}
	if (r->how == INDEX_ADD) {
		for (int64_t i = 0; i < n; i++)
			add_one(r->dtype, p[1] + (i * step[1] + at[i * step[2]]) * width, p[0] + i * step[0] * width);
		return;
	}
	switch (r->width) {
	case 1: MOVE(uint8_t);
	case 2: MOVE(uint16_t);
	case 4: MOVE(uint32_t);
	case 8: MOVE(uint64_t);
	}
}

void index_move(enum index_move how, const struct tensor *other, const struct tensor *base,
		const struct tensor *offsets)
{
	struct move_run r = { .how = how, .dtype = base->dtype, .width = dtype_bytes(base->dtype) };
	struct loop l;

	loop_start(&l, other->rank, other->size);
	loop_add(&l, other);
	loop_add(&l, base);
	loop_add(&l, offsets);
	l.lead = how == INDEX_TAKE ? 0 : 2;
	loop_run(&l, move_row, &r);
}

bool index_is_list(const struct tensor *t)
{
	return t->dtype == DTYPE_I64 || t->dtype == DTYPE_I32;
}
