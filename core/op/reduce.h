/* reduce.h - how the functors of a reduction are written: `a` is accumulated, `x` the next element, `m` the mean of the
 * output (var only).
 *
 * They reduce the rows of a matrix to one row of accumulators: of one column; of few, of which several rows go side by
 * side in LANES; of many, where the elements of a single row may be `step` apart. Means stand as the accumulators do,
 * or mean is NULL. */
#ifndef CORE_OP_REDUCE_H
#define CORE_OP_REDUCE_H

#include "core/op/clones.h"
#include "core/op/loop.h"

enum { LANES = 64 };

typedef void reduce_fn(void *acc, const void *x, const void *mean, int64_t rows, int64_t columns, int64_t step);

struct reduction {
	reduce_fn *one[KINDS], *few[KINDS], *many[KINDS];
	double start;				/* what an empty reduction gives; for integers the limit of the dtype */
};

#define REDUCE_ONE(name, T, begin, expr, join) \
CLONES static void name##_one(void *acc, const void *in, const void *mean, int64_t rows, int64_t columns, int64_t step) \
{ \
	const int n = LANES / 8; \
	const T *p = in, m = mean ? *(const T *)mean : 0; \
	T *out = acc, lane[LANES / 8], a = begin, x; \
	int64_t i = 0; \
 \
	for (int l = 0; l < n && rows >= n; l++) { \
		x = p[l]; \
		lane[l] = (T)(expr); \
	} \
	for (i = rows < n ? 0 : n; i + n <= rows; i += n) \
		_Pragma("GCC unroll 1")	/* unrolled, it is not vectorised */ \
		for (int l = 0; l < n; l++) { \
			a = lane[l]; \
			x = p[i + l]; \
			lane[l] = (T)(expr); \
		} \
	for (int half = n / 2; i && half; half /= 2) \
		for (int l = 0; l < half; l++) { \
			a = lane[l]; \
			x = lane[l + half]; \
			lane[l] = (T)(join); \
		} \
	a = *out; \
	if (i) { \
		x = lane[0]; \
		a = (T)(join); \
	} \
	for (; i < rows; i++) { \
		x = p[i]; \
		a = (T)(expr); \
	} \
	*out = a; \
	(void)m; \
}

#define REDUCE_FEW(name, T, begin, expr, join) \
static void name##_few(void *acc, const void *in, const void *mean, int64_t rows, int64_t columns, int64_t step) \
{ \
	const int64_t width = LANES / columns * columns, total = rows * columns; \
	const T *p = in, *q = mean ? mean : in; \
	T *restrict out = acc, lane[LANES], means[LANES]; \
	int64_t at = 0; \
 \
	for (int64_t l = 0; l < width && width <= total; l++) { \
		lane[l] = begin; \
		means[l] = l < columns ? q[l] : means[l - columns]; \
	} \
	for (; at + width <= total; at += width) \
		for (int64_t l = 0; l < width; l++) { \
			const T a = lane[l], x = p[at + l], m = means[l]; \
 \
			lane[l] = (T)(expr); \
			(void)m; \
		} \
	for (int64_t l = 0; at && l < width; l += columns) \
		for (int64_t i = 0; i < columns; i++) { \
			const T a = out[i], x = lane[l + i]; \
 \
			out[i] = (T)(join); \
		} \
	for (; at < total; at += columns) \
		for (int64_t i = 0; i < columns; i++) { \
			const T a = out[i], x = p[at + i], m = q[i]; \
 \
			out[i] = (T)(expr); \
			(void)m; \
		} \
}

#define REDUCE_MANY(name, T, expr) \
static void name##_many(void *acc, const void *in, const void *mean, int64_t rows, int64_t columns, int64_t step) \
{ \
	const T *restrict p = in; \
	const T *restrict q = mean ? mean : in; \
	T *restrict out = acc; \
 \
	for (int64_t row = 0; row < rows; row++, p += columns) \
		for (int64_t i = 0; i < columns; i++) { \
			const T a = out[i], x = p[i * step], m = q[i]; \
 \
			out[i] = (T)(expr); \
			(void)m; \
		} \
}

#define REDUCE_KIND(name, T, begin, expr, join) \
REDUCE_ONE(name, T, begin, expr, join) \
REDUCE_FEW(name, T, begin, expr, join) \
REDUCE_MANY(name, T, expr)

#endif
