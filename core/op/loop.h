/* loop.h - moving through tensors: one loop nest for all kernels, element conversion, elementwise functors.
 *
 * Kernels see any strides (dim orders, views, broadcast with stride 0, flips with negative strides). A loop
 * runs over one logical shape with up to LOOP_MAX tensors; dimensions are ordered by the memory of one of them,
 * and merged where all allow it, so that contiguous work arrives as one long row. */
#ifndef CORE_OP_LOOP_H
#define CORE_OP_LOOP_H

#include "core/op/clones.h"
#include "core/op/kernel.h"

enum { LOOP_MAX = 6, LOOP_CHUNK = 512 };

struct pair { uint64_t half[2]; };	/* for elements of 16 bytes */

struct loop {
	int ntensors, rank;
	int lead;				/* the tensor whose order the loop takes; the first unless set */
	bool free_order;			/* elements may come in any order: short rows can be turned */
	int64_t size[MAX_RANK];
	int64_t step[LOOP_MAX][MAX_RANK];	/* elements; 0 where broadcast */
	size_t width[LOOP_MAX];			/* bytes an element */
	char *data[LOOP_MAX];
};

/* One row: n elements, tensor k from p[k] with step[k] elements between them. */
typedef void loop_fn(void *ctx, char *const *p, const int64_t *step, int64_t n);

/* Rows at equal distances: what is left of the nest when the two innermost dimensions are given away at once. */
struct block {
	int64_t rows, n;
	int64_t step[LOOP_MAX];		/* in a row, elements */
	int64_t next[LOOP_MAX];		/* from row to row, bytes */
};
typedef void block_fn(void *ctx, char *const *p, const struct block *b);

void loop_start(struct loop *l, int rank, const int64_t *size);
void loop_add(struct loop *l, const struct tensor *t);	/* aligned at the last dimension; size 1 is broadcast */
void loop_run(struct loop *l, loop_fn *f, void *ctx);
void loop_blocks(struct loop *l, block_fn *f, void *ctx);

/* The types kernels compute in: f16, bf16 and f32 in float, f64 in double, integers and bool in int64. */
enum kind {
	KIND_F32, KIND_F64, KIND_I64,
	KIND_BOOL,	/* uint8, 0 or 1: truth */
	KIND_I32,	/* in place of I64 where a functor has it and operands are no wider */
	KIND_C128,	/* double complex, for all complex dtypes */
	KINDS,
};
enum { KIND_BYTES = 16 };			/* at most, an element of a kind */
enum kind kind_of(enum dtype t);
enum dtype kind_dtype(enum kind k);
/* n elements of dtype t at src, step apart, to an array of the kind, and back. Conversion is C's; to bool: != 0. */
void kind_load(enum kind k, void *dst, enum dtype t, const void *src, int64_t step, int64_t n);
void kind_store(enum kind k, const void *src, enum dtype t, void *dst, int64_t step, int64_t n);
void kind_convert(enum dtype to, void *dst, int64_t dst_step, enum dtype from, const void *src, int64_t src_step,
		  int64_t n);

/* Elementwise functors work on rows: out and in are arrays of n (never aliasing). One for each kind that may be
 * computed in: row_fn *const f[KINDS] = { f32, f64, i64 }, and [KIND_BOOL], [KIND_I32]. */
typedef void row_fn(void *out, const void *const *in, int64_t n, void *ctx);
/* Writes the row of a functor: x, y, z are the elements of the inputs, of type T; expr is the result, of type R. */
#define ROW1(name, T, R, expr) \
CLONES static void name(void *out, const void *const *in, int64_t n, void *ctx) \
{ \
	const T *restrict a = in[0]; \
	R *restrict o = out; \
 \
	for (int64_t i = 0; i < n; i++) { const T x = a[i]; o[i] = (R)(expr); } \
}
#define ROW2(name, T, R, expr) \
CLONES static void name(void *out, const void *const *in, int64_t n, void *ctx) \
{ \
	const T *a = in[0], *b = in[1]; \
	R *restrict o = out; \
 \
	for (int64_t i = 0; i < n; i++) { const T x = a[i], y = b[i]; o[i] = (R)(expr); } \
}
#define ROW3(name, T, R, expr) \
static void name(void *out, const void *const *in, int64_t n, void *ctx) \
{ \
	const T *a = in[0], *b = in[1], *c = in[2]; \
	R *restrict o = out; \
 \
	for (int64_t i = 0; i < n; i++) { const T x = a[i], y = b[i], z = c[i]; o[i] = (R)(expr); } \
}
/* out = f(in...): inputs are broadcast to out and converted to kind k; the functor gives results of kind r. */
void map_run(row_fn *const *f, enum kind k, enum kind r, void *ctx, struct tensor *out,
	     struct tensor *const *in, int nin);

/* Copies src, broadcast, into dst; converts between dtypes. dst and src may be views of any strides. */
void tensor_copy(const struct tensor *dst, const struct tensor *src);
void tensor_fill(const struct tensor *dst, const struct operand *value);
/* v as dtype t holds it, at `at` (KIND_BYTES are enough). */
void scalar_put(enum dtype t, void *at, const struct operand *v);

#endif
