/* Elementwise functors over tensors. */
#include "core/op/loop.h"

#include <string.h>

struct map {
	row_fn *f;
	void *ctx;
	enum kind k, r;		/* computed in, and the results */
	enum dtype type[LOOP_MAX + 1];	/* output, inputs */
	int nin;
};

enum { SHORT_ROW = 64 };	/* shorter ones are computed several at a time */

/* Is tensor k an array of the kind, over g rows? */
static bool lies_ready(const struct block *b, int k, enum dtype t, enum kind kind, int64_t g)
{
	return t == kind_dtype(kind) && b->step[k] == 1 && (g == 1 || b->next[k] == b->n * (int64_t)dtype_bytes(t));
}

/* Spreads n numbers of the kind: each m times (each), or all of them m times. */
#define SPREAD(T) { \
	T *d = dst; const T *s = src; \
	for (int64_t i = 0; i < (each ? n : m); i++) \
		for (int64_t j = 0; j < (each ? m : n); j++) \
			*d++ = each ? s[i] : s[j]; } break
static void spread(size_t width, void *dst, const void *src, int64_t n, int64_t m, bool each)
{
	switch (width) {
	case 1: SPREAD(uint8_t);
	case 4: SPREAD(uint32_t);
	case 8: SPREAD(uint64_t);
	case 16: SPREAD(struct pair);
	}
}

/* Gathers g rows of n elements of input k. */
static void gather(const struct map *m, const struct block *b, int k, const char *src, void *dst, int64_t n, int64_t g)
{
	_Alignas(64) char row[LOOP_CHUNK * 8];
	size_t width = dtype_bytes(kind_dtype(m->k));
	enum dtype t = m->type[k];

	if (g == 1) {
		kind_load(m->k, dst, t, src, b->step[k], n);
	} else if (!b->step[k]) {	/* a number for each row */
		kind_load(m->k, row, t, src, b->next[k] / (int64_t)dtype_bytes(t), g);
		spread(width, dst, row, g, n, true);
	} else if (!b->next[k]) {	/* the same row again and again */
		kind_load(m->k, row, t, src, b->step[k], n);
		spread(width, dst, row, n, g, false);
	} else {
		for (int64_t i = 0; i < g; i++)
			kind_load(m->k, (char *)dst + (size_t)(i * n) * width, t, src + i * b->next[k], b->step[k], n);
	}
}

static void scatter(const struct map *m, const struct block *b, const void *src, char *dst, int64_t n, int64_t g)
{
	size_t width = dtype_bytes(kind_dtype(m->r));

	for (int64_t i = 0; i < g; i++)
		kind_store(m->r, (const char *)src + (size_t)(i * n) * width, m->type[0], dst + i * b->next[0],
			   b->step[0], n);
}

/* One part of a block: n elements of a row, or g whole rows, from p on. Inputs that lie ready are read in place, the
 * rest through a buffer, which keeps what is the same as in the part before; likewise the output. */
static void map_part(const struct map *m, const struct block *b, char (*buf)[LOOP_CHUNK * 8], char *const *p, int64_t n,
		     int64_t g, bool first, bool first_of_row)
{
	const void *in[LOOP_MAX];
	bool direct = lies_ready(b, 0, m->type[0], m->r, g);

	for (int k = 1; k <= m->nin; k++) {
		bool same_row = !b->next[k] && (!b->step[k] || n == b->n), same_number = !b->step[k] && g == 1;

		in[k - 1] = buf[k];
		if (lies_ready(b, k, m->type[k], m->k, g))
			in[k - 1] = p[k];
		else if (first || !(same_row || (same_number && !first_of_row)))
			gather(m, b, k, p[k], buf[k], n, g);
	}
	m->f(direct ? p[0] : buf[0], in, n * g, m->ctx);
	if (!direct)
		scatter(m, b, buf[0], p[0], n, g);
}

static void map_block(void *ctx, char *const *p, const struct block *b)
{
	_Alignas(64) char buf[LOOP_MAX][LOOP_CHUNK * 8];
	const struct map *m = ctx;
	const int64_t chunk = m->k == KIND_C128 ? LOOP_CHUNK / 2 : LOOP_CHUNK;
	const int64_t most = b->n < chunk ? b->n : chunk, group = b->n < SHORT_ROW ? chunk / b->n : 1;
	char *q[LOOP_MAX];

	for (int64_t row = 0; row < b->rows; row += group)
		for (int64_t at = 0; at < b->n; at += most) {
			for (int k = 0; k <= m->nin; k++)
				q[k] = p[k] + row * b->next[k] + at * b->step[k] * (int64_t)dtype_bytes(m->type[k]);
			map_part(m, b, buf, q, b->n - at < most ? b->n - at : most,
				 b->rows - row < group ? b->rows - row : group, !row && !at, !at);
		}
}

static bool is_narrow(enum dtype t)
{
	return t == DTYPE_I32 || t == DTYPE_I16 || t == DTYPE_I8 || t == DTYPE_U8 || t == DTYPE_BOOL;
}

/* 32 bits are enough for integers that come from no more and go to no more: both wrap alike. */
static enum kind narrow_kind(row_fn *const *f, enum kind k, const struct tensor *out, struct tensor *const *in, int nin)
{
	bool narrow = k == KIND_I64 && f[KIND_I32] && is_narrow(out->dtype);

	for (int i = 0; i < nin; i++)
		narrow = narrow && is_narrow(in[i]->dtype);
	return narrow ? KIND_I32 : k;
}

void map_run(row_fn *const *f, enum kind k, enum kind r, void *ctx, struct tensor *out,
	     struct tensor *const *in, int nin)
{
	enum kind n = narrow_kind(f, k, out, in, nin);
	struct map m = { .f = f[n], .ctx = ctx, .k = n, .r = r == k ? n : r, .nin = nin };
	struct loop l;

	loop_start(&l, out->rank, out->size);
	loop_add(&l, out);
	m.type[0] = out->dtype;
	for (int i = 0; i < nin; i++) {
		loop_add(&l, in[i]);
		m.type[i + 1] = in[i]->dtype;
	}
	loop_blocks(&l, map_block, &m);
}
