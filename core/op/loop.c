#include "core/op/loop.h"

#include <string.h>

/* The nest */

void loop_start(struct loop *l, int rank, const int64_t *size)
{
	l->ntensors = l->lead = 0;
	l->free_order = false;
	l->rank = rank;
	memcpy(l->size, size, (size_t)rank * sizeof *size);
}

void loop_add(struct loop *l, const struct tensor *t)
{
	int k = l->ntensors++;

	for (int d = 0; d < l->rank; d++) {
		int at = d - (l->rank - t->rank);

		l->step[k][d] = at < 0 || t->size[at] == 1 ? 0 : t->stride[at];
	}
	l->width[k] = dtype_bytes(t->dtype);
	l->data[k] = t->data;
}

static int64_t magnitude(int64_t n)
{
	return n < 0 ? -n : n;
}

static void drop_dim(struct loop *l, int d)
{
	l->rank--;
	memmove(&l->size[d], &l->size[d + 1], (size_t)(l->rank - d) * sizeof *l->size);
	for (int k = 0; k < l->ntensors; k++)
		memmove(&l->step[k][d], &l->step[k][d + 1], (size_t)(l->rank - d) * sizeof *l->step[k]);
}

static void swap_dims(struct loop *l, int a, int b)
{
	int64_t s = l->size[a];

	l->size[a] = l->size[b];
	l->size[b] = s;
	for (int k = 0; k < l->ntensors; k++) {
		s = l->step[k][a];
		l->step[k][a] = l->step[k][b];
		l->step[k][b] = s;
	}
}

/* Is a walk over d, d + 1 one walk with d + 1's step, for every tensor? */
static bool dims_merge(const struct loop *l, int d)
{
	for (int k = 0; k < l->ntensors; k++)
		if (l->step[k][d] != l->step[k][d + 1] * l->size[d + 1])
			return false;
	return true;
}

/* Rows so short that the dimension outside makes better ones; not if they can be moved as a whole. */
static bool is_short(const struct loop *l)
{
	int last = l->rank - 1;
	bool whole = true;

	if (last < 1 || l->size[last] >= 8 || l->size[last - 1] <= 2 * l->size[last])
		return false;
	for (int k = 0; k < l->ntensors; k++)
		whole &= l->step[k][last] == 1;
	return !whole;
}

static void loop_merge(struct loop *l)
{
	for (int d = l->rank - 1; d >= 0; d--)
		if (l->size[d] == 1)
			drop_dim(l, d);
	for (int i = 1; i < l->rank; i++)	/* outermost first; stable */
		for (int d = i; d > 0 && magnitude(l->step[l->lead][d - 1]) < magnitude(l->step[l->lead][d]); d--)
			swap_dims(l, d - 1, d);
	for (int d = l->rank - 2; d >= 0; d--)
		if (dims_merge(l, d)) {
			l->size[d + 1] *= l->size[d];
			drop_dim(l, d);
		}
	if (l->free_order && is_short(l))
		swap_dims(l, l->rank - 2, l->rank - 1);
}

/* Next place in the dimensions outside d: false at the end. */
static bool advance(const struct loop *l, int64_t *index, char **p, int d)
{
	for (; d >= 0; d--) {
		bool wraps = ++index[d] == l->size[d];

		for (int k = 0; k < l->ntensors; k++)
			p[k] += (wraps ? l->step[k][d] * (1 - l->size[d]) : l->step[k][d]) * (int64_t)l->width[k];
		if (!wraps)
			return true;
		index[d] = 0;
	}
	return false;
}

void loop_blocks(struct loop *l, block_fn *f, void *ctx)
{
	int64_t index[MAX_RANK] = { 0 };
	struct block b = { .rows = 1, .n = 1 };
	char *p[LOOP_MAX];
	int last;

	for (int d = 0; d < l->rank; d++)
		if (!l->size[d])
			return;
	loop_merge(l);
	memcpy(p, l->data, sizeof p);
	last = l->rank - 1;
	for (int k = 0; k < l->ntensors && last >= 0; k++) {
		b.step[k] = l->step[k][last];
		b.next[k] = last ? l->step[k][last - 1] * (int64_t)l->width[k] : 0;
	}
	b.n = last >= 0 ? l->size[last] : 1;
	b.rows = last > 0 ? l->size[last - 1] : 1;
	do
		f(ctx, p, &b);
	while (advance(l, index, p, last - 2));
}

struct rows { loop_fn *f; void *ctx; };

static void each_row(void *ctx, char *const *p, const struct block *b)
{
	const struct rows *r = ctx;
	char *q[LOOP_MAX];

	memcpy(q, p, sizeof q);
	for (int64_t i = 0; i < b->rows; i++) {
		r->f(r->ctx, q, b->step, b->n);
		for (int k = 0; k < LOOP_MAX; k++)
			q[k] += b->next[k];
	}
}

void loop_run(struct loop *l, loop_fn *f, void *ctx)
{
	loop_blocks(l, each_row, &(struct rows){ f, ctx });
}

/* Copies */

#define COPY(T) { \
	T *d = (T *)to; const T *s = (const T *)from; \
	if (b->step[0] == 1 && !b->step[1]) { \
		const T v = *s; \
		for (int64_t i = 0; i < b->n; i++) d[i] = v; \
	} else { \
		for (int64_t i = 0; i < b->n; i++) d[i * b->step[0]] = s[i * b->step[1]]; \
	} } break

static void copy_strided(void *ctx, char *const *p, const struct block *b)
{
	size_t width = *(const size_t *)ctx;

	for (int64_t row = 0; row < b->rows; row++) {
		char *to = p[0] + row * b->next[0];
		const char *from = p[1] + row * b->next[1];

		switch (width) {
		case 1: COPY(uint8_t);
		case 2: COPY(uint16_t);
		case 4: COPY(uint32_t);
		case 8: COPY(uint64_t);
		case 16: COPY(struct pair);
		}
	}
}

/* Rows of so many bytes: a constant lets the compiler move them in registers. */
#define MOVE_ROWS(bytes) \
	for (int64_t row = 0; row < b->rows; row++) \
		memcpy(p[0] + row * b->next[0], p[1] + row * b->next[1], (bytes));

static void copy_block(void *ctx, char *const *p, const struct block *b)
{
	size_t bytes = *(const size_t *)ctx * (size_t)b->n;

	if (b->step[0] != 1 || b->step[1] != 1) {
		copy_strided(ctx, p, b);
		return;
	}
	switch (bytes) {
	case 4: MOVE_ROWS(4) break;
	case 8: MOVE_ROWS(8) break;
	case 12: MOVE_ROWS(12) break;
	case 16: MOVE_ROWS(16) break;
	case 24: MOVE_ROWS(24) break;
	case 32: MOVE_ROWS(32) break;
	case 64: MOVE_ROWS(64) break;
	default: MOVE_ROWS(bytes)
	}
}

static void convert_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	const enum dtype *t = ctx;

	kind_convert(t[0], p[0], step[0], t[1], p[1], step[1], n);
}

void tensor_copy(const struct tensor *dst, const struct tensor *src)
{
	enum dtype t[2] = { dst->dtype, src->dtype };
	size_t width = dtype_bytes(dst->dtype);
	struct loop l;

	loop_start(&l, dst->rank, dst->size);
	loop_add(&l, dst);
	loop_add(&l, src);
	l.free_order = true;
	if (t[0] == t[1])
		loop_blocks(&l, copy_block, &width);
	else
		loop_run(&l, convert_row, t);
}

void tensor_fill(const struct tensor *dst, const struct operand *value)
{
	struct tensor one = { .dtype = dst->dtype };
	char at[KIND_BYTES] = { 0 };

	scalar_put(dst->dtype, at, value);
	one.data = at;
	tensor_copy(dst, &one);
}
