/* Elements of any dtype to the types that kernels compute in, and back. */
#include "core/op/loop.h"

#include <complex.h>
#include <string.h>

enum kind kind_of(enum dtype t)
{
	if (dtype_in(t, DTYPES_COMPLEX))
		return KIND_C128;
	return t == DTYPE_F64 ? KIND_F64 : dtype_is_float(t) ? KIND_F32 : KIND_I64;
}

enum dtype kind_dtype(enum kind k)
{
	static const enum dtype type[] = { DTYPE_F32, DTYPE_F64, DTYPE_I64, DTYPE_BOOL, DTYPE_I32, DTYPE_C128 };

	return type[k];
}

/* One loop for rows side by side, which vectorises, and one for the rest. */
#define EACH(step, n, at, statement) \
	if ((step) == 1) \
		for (int64_t i = 0; i < (n); i++) { const int64_t at = i; statement; } \
	else \
		for (int64_t i = 0; i < (n); i++) { const int64_t at = i * (step); statement; }

#define LOAD(T, expr) { const T *s = src; EACH(step, n, at, d[i] = (expr)) } break
#define DEFINE_LOAD(name, D) \
static void name(void *dst, enum dtype t, const void *src, int64_t step, int64_t n) \
{ \
	D *d = dst; \
 \
	switch ((int)t) { \
	case DTYPE_U8: case DTYPE_QU8: LOAD(uint8_t, (D)s[at]); \
	case DTYPE_I8: case DTYPE_QI8: LOAD(int8_t, (D)s[at]); \
	case DTYPE_I16: LOAD(int16_t, (D)s[at]); \
	case DTYPE_I32: case DTYPE_QI32: LOAD(int32_t, (D)s[at]); \
	case DTYPE_I64: LOAD(int64_t, (D)s[at]); \
	case DTYPE_F16: LOAD(uint16_t, (D)half_to_float(s[at])); \
	case DTYPE_F32: LOAD(float, (D)s[at]); \
	case DTYPE_F64: LOAD(double, (D)s[at]); \
	case DTYPE_BOOL: LOAD(uint8_t, (D)(s[at] != 0)); \
	case DTYPE_BF16: LOAD(uint16_t, (D)bf16_to_float(s[at])); \
	case DTYPE_U16: LOAD(uint16_t, (D)s[at]); \
	case DTYPE_U32: LOAD(uint32_t, (D)s[at]); \
	case DTYPE_U64: LOAD(uint64_t, (D)s[at]); \
	} \
}
static void load_bool(void *dst, enum dtype t, const void *src, int64_t step, int64_t n)
{
	uint8_t *d = dst;

	switch ((int)t) {
	case DTYPE_U8: case DTYPE_I8: case DTYPE_BOOL: LOAD(uint8_t, s[at] != 0);
	case DTYPE_I16: case DTYPE_U16: LOAD(uint16_t, s[at] != 0);
	case DTYPE_I32: case DTYPE_U32: LOAD(uint32_t, s[at] != 0);
	case DTYPE_I64: case DTYPE_U64: LOAD(uint64_t, s[at] != 0);
	case DTYPE_F16: case DTYPE_BF16: LOAD(uint16_t, (s[at] & 0x7fff) != 0);
	case DTYPE_F32: LOAD(float, s[at] != 0);
	case DTYPE_F64: LOAD(double, s[at] != 0);
	}
}
DEFINE_LOAD(load_f32, float)
DEFINE_LOAD(load_f64, double)
DEFINE_LOAD(load_i64, int64_t)
DEFINE_LOAD(load_i32, int32_t)

/* Small integers go through int32, as a C compiler does on the machines that stock kernels run on. */
#define STORE(T, expr) { T *d = dst; EACH(step, n, at, d[at] = (T)(expr)) } break
#define DEFINE_STORE(name, S, VIA) \
static void name(const void *src, enum dtype t, void *dst, int64_t step, int64_t n) \
{ \
	const S *s = src; \
 \
	switch ((int)t) { \
	case DTYPE_U8: case DTYPE_QU8: STORE(uint8_t, (VIA)s[i]); \
	case DTYPE_I8: case DTYPE_QI8: STORE(int8_t, (VIA)s[i]); \
	case DTYPE_I16: STORE(int16_t, (VIA)s[i]); \
	case DTYPE_I32: case DTYPE_QI32: STORE(int32_t, s[i]); \
	case DTYPE_I64: STORE(int64_t, s[i]); \
	case DTYPE_F16: STORE(uint16_t, half_from_float((float)s[i])); \
	case DTYPE_F32: STORE(float, s[i]); \
	case DTYPE_F64: STORE(double, s[i]); \
	case DTYPE_BOOL: STORE(uint8_t, s[i] != 0); \
	case DTYPE_BF16: STORE(uint16_t, bf16_from_float((float)s[i])); \
	case DTYPE_U16: STORE(uint16_t, (VIA)s[i]); \
	case DTYPE_U32: STORE(uint32_t, (int64_t)s[i]); \
	case DTYPE_U64: STORE(uint64_t, s[i]); \
	} \
}
DEFINE_STORE(store_f32, float, int32_t)
DEFINE_STORE(store_f64, double, int32_t)
DEFINE_STORE(store_i64, int64_t, int64_t)
DEFINE_STORE(store_i32, int32_t, int32_t)
DEFINE_STORE(store_bool, uint8_t, uint8_t)

/* Complex numbers: the parts of a complex dtype, or a real number with no imaginary part. Rare: one by one. */

static enum dtype part_dtype(enum dtype t)
{
	return t == DTYPE_C32 ? DTYPE_F16 : t == DTYPE_C64 ? DTYPE_F32 : t == DTYPE_C128 ? DTYPE_F64 : t;
}

static void load_c128(void *dst, enum dtype t, const void *src, int64_t step, int64_t n)
{
	enum dtype part = part_dtype(t);
	double complex *d = dst;

	for (int64_t i = 0; i < n; i++) {
		double v[2] = { 0 };

		load_f64(v, part, (const char *)src + i * step * (int64_t)dtype_bytes(t), 1, part == t ? 1 : 2);
		d[i] = CMPLX(v[0], v[1]);
	}
}

static void store_c128(const void *src, enum dtype t, void *dst, int64_t step, int64_t n)
{
	enum dtype part = part_dtype(t);
	const double complex *s = src;

	for (int64_t i = 0; i < n; i++)
		store_f64((double[]){ creal(s[i]), cimag(s[i]) }, part,
			  (char *)dst + i * step * (int64_t)dtype_bytes(t), 1, part == t ? 1 : 2);
}

/* The first element n times. */
#define SPLAT(T) { T *d = dst; const T v = *d; for (int64_t i = 1; i < n; i++) d[i] = v; } break
static void splat(size_t width, void *dst, int64_t n)
{
	switch (width) {
	case 1: SPLAT(uint8_t);
	case 4: SPLAT(uint32_t);
	case 8: SPLAT(uint64_t);
	case 16: SPLAT(struct pair);
	}
}

void kind_load(enum kind k, void *dst, enum dtype t, const void *src, int64_t step, int64_t n)
{
	static void (*const load[])(void *, enum dtype, const void *, int64_t, int64_t) = {
		load_f32, load_f64, load_i64, load_bool, load_i32, load_c128,
	};

	if (step || !n) {
		load[k](dst, t, src, step, n);
		return;
	}
	load[k](dst, t, src, 1, 1);
	splat(dtype_bytes(kind_dtype(k)), dst, n);
}

void kind_store(enum kind k, const void *src, enum dtype t, void *dst, int64_t step, int64_t n)
{
	static void (*const store[])(const void *, enum dtype, void *, int64_t, int64_t) = {
		store_f32, store_f64, store_i64, store_bool, store_i32, store_c128,
	};

	store[k](src, t, dst, step, n);
}

void kind_convert(enum dtype to, void *dst, int64_t dst_step, enum dtype from, const void *src, int64_t src_step,
		  int64_t n)
{
	_Alignas(64) char buf[LOOP_CHUNK * KIND_BYTES];
	enum kind k = kind_of(to) == KIND_C128 ? KIND_C128 : kind_of(from);

	for (int64_t at = 0; at < n; at += LOOP_CHUNK) {
		int64_t len = n - at < LOOP_CHUNK ? n - at : LOOP_CHUNK;

		kind_load(k, buf, from, (const char *)src + at * src_step * (int64_t)dtype_bytes(from), src_step, len);
		kind_store(k, buf, to, (char *)dst + at * dst_step * (int64_t)dtype_bytes(to), dst_step, len);
	}
}

void scalar_put(enum dtype t, void *at, const struct operand *v)
{
	static const enum dtype type[] = { [ARG_INT] = DTYPE_I64, [ARG_DOUBLE] = DTYPE_F64, [ARG_BOOL] = DTYPE_BOOL };
	enum dtype from = v->kind == ARG_VALUE ? v->tensor->dtype : type[v->kind];
	const void *src = v->kind == ARG_VALUE ? v->tensor->data : (const void *)&v->i;

	if (src && v->kind != ARG_NONE)
		kind_convert(t, at, 1, from, src, 1, 1);
}

struct tensor *call_operand(const struct call *c, int i, enum dtype t)
{
	struct tensor *n;

	if (!call_has(c, i) || (call_tensor(c, i) && strchr("Tt", c->op->schema[i])))
		return call_tensor(c, i);
	n = arena_alloc(c->scratch, sizeof *n);
	tensor_set_type(n, t, 0, NULL);
	n->data = arena_alloc(c->scratch, KIND_BYTES);
	n->capacity = KIND_BYTES;
	scalar_put(t, n->data, &c->arg[i]);
	return n;
}
