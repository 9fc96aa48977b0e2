#include "core/op/qloop.h"

#include "core/op/clones.h"

#include <math.h>

/* To types of at most 16 bits, whose values floats hold exactly. */
#define ROUND(T) \
CLONES static void round_##T(const float *x, T *to, int64_t n, float scale, float zero, float min, float max, bool whole) \
{ \
	for (int64_t i = 0; i < n; i++) { \
		float v = whole ? rintf(x[i] * scale + zero) : rintf(x[i] * scale) + zero; \
\
		v = v > min ? v : min;		/* not a number: min */ \
		to[i] = (T)(int32_t)(v < max ? v : max); \
	} \
}
ROUND(int8_t)
ROUND(uint8_t)
ROUND(int16_t)
ROUND(uint16_t)

static void round_int32(const float *x, int32_t *to, int64_t n, float scale, float zero, double min, double max, bool whole)
{
	for (int64_t i = 0; i < n; i++) {
		double v = whole ? rintf(x[i] * scale + zero) : rintf(x[i] * scale) + zero;

		v = v > min ? v : min;
		to[i] = (int32_t)(v < max ? v : max);
	}
}

#define ROUND_TO(name, LIMIT) \
	name(x, to, n, q->inverse, (float)q->zero, (LIMIT)q->min, (LIMIT)q->max, q->whole_zero); \
	break

void qloop_quantize(enum dtype t, const float *x, void *to, int64_t n, const struct qparam *q)
{
	switch ((int)t) {
	case DTYPE_I8: ROUND_TO(round_int8_t, float);
	case DTYPE_U8: ROUND_TO(round_uint8_t, float);
	case DTYPE_I16: ROUND_TO(round_int16_t, float);
	case DTYPE_U16: ROUND_TO(round_uint16_t, float);
	case DTYPE_I32: ROUND_TO(round_int32, double);
	}
}

/* Differences of 32-bit numbers wrap, as they do in stock. */
#define SHIFT(T) \
CLONES static void shift_##T(const T *q, float *to, int64_t n, int32_t zero, float scale) \
{ \
	for (int64_t i = 0; i < n; i++) \
		to[i] = (float)(int32_t)((uint32_t)q[i] - (uint32_t)zero) * scale; \
} \
static void shift_row_##T(const T *q, float *to, int64_t n, const int64_t *zero, const double *scale, int64_t step) \
{ \
	for (int64_t i = 0; i < n; i++) \
		to[i] = (float)(int32_t)((uint32_t)q[i] - (uint32_t)(zero ? zero[i * step] : 0)) * (float)scale[i * step]; \
}
SHIFT(int8_t)
SHIFT(uint8_t)
SHIFT(int16_t)
SHIFT(uint16_t)

static void shift_int32(const int32_t *q, float *to, int64_t n, const int64_t *zero, const double *scale, int64_t step)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = (float)(int32_t)((uint32_t)q[i] - (uint32_t)(zero ? zero[i * step] : 0)) * (float)scale[i * step];
}

#define SHIFT_BY(T) \
	if (step) \
		shift_row_##T((const T *)q, to, n, zero, scale, step); \
	else \
		shift_##T((const T *)q, to, n, zero ? (int32_t)*zero : 0, (float)*scale); \
	break

void qloop_dequantize(enum dtype t, const void *q, float *to, int64_t n, const int64_t *zero, const double *scale, int64_t step)
{
	switch ((int)t) {
	case DTYPE_I8: SHIFT_BY(int8_t);
	case DTYPE_U8: SHIFT_BY(uint8_t);
	case DTYPE_I16: SHIFT_BY(int16_t);
	case DTYPE_U16: SHIFT_BY(uint16_t);
	case DTYPE_I32: shift_int32(q, to, n, zero, scale, step); break;
	}
}
