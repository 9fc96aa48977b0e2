#include "core/base/dtype.h"

#include "core/base/num.h"

#include <string.h>

static const struct { uint8_t bytes; const char *name; } types[DTYPE_CODES] = {
	{ 1, "u8" }, { 1, "i8" }, { 2, "i16" }, { 4, "i32" }, { 8, "i64" }, { 2, "f16" }, { 4, "f32" }, { 8, "f64" },
	{ 4, "c32" }, { 8, "c64" }, { 16, "c128" }, { 1, "bool" }, { 1, "qi8" }, { 1, "qu8" }, { 4, "qi32" },
	{ 2, "bf16" }, { 1, "qu4x2" }, { 1, "qu2x4" }, { 1, "b1x8" }, { 1, "b2x4" }, { 1, "b4x2" }, { 1, "b8" },
	{ 2, "b16" }, { 1, "f8e5m2" }, { 1, "f8e4m3fn" }, { 1, "f8e5m2fnuz" }, { 1, "f8e4m3fnuz" },
	{ 2, "u16" }, { 4, "u32" }, { 8, "u64" },
};

size_t dtype_bytes(enum dtype t)
{
	return (unsigned)t < DTYPE_CODES ? types[t].bytes : 0;
}

const char *dtype_name(enum dtype t)
{
	return t == DTYPE_INT4 ? "i4" : (unsigned)t < DTYPE_CODES ? types[t].name : "?";
}

bool dtype_is_float(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_F64 || t == DTYPE_BF16;
}

bool dtype_is_int(enum dtype t)
{
	return (t >= DTYPE_U8 && t <= DTYPE_I64) || (t >= DTYPE_U16 && t <= DTYPE_U64);
}

int64_t dtype_numel(int rank, const int64_t *size)
{
	uint64_t n = 1;

	for (int d = 0; d < rank; d++)
		n *= (uint64_t)size[d];
	return (int64_t)n;
}

bool dtype_tensor_bytes(enum dtype t, int rank, const int64_t *size, size_t *bytes)
{
	size_t n = t == DTYPE_INT4 ? 1 : dtype_bytes(t);

	for (int d = 0; d < rank; d++) {
		size_t s = (size_t)size[d];

		if (size[d] < 0)
			return false;
		if (t == DTYPE_INT4 && d == rank - 1)
			s = s / 2 + s % 2;
		if (!size_mul(n, s, &n) || n > INT64_MAX)
			return false;
	}
	*bytes = n;
	return true;
}

#define AS(T) (((const T *)data)[i])
double dtype_get(enum dtype t, const void *data, size_t i)
{
	switch ((int)t) {
	case DTYPE_U8: case DTYPE_QU8: return AS(uint8_t);
	case DTYPE_I8: case DTYPE_QI8: return AS(int8_t);
	case DTYPE_I16: return AS(int16_t);
	case DTYPE_I32: case DTYPE_QI32: return AS(int32_t);
	case DTYPE_I64: return (double)AS(int64_t);
	case DTYPE_F16: return half_to_float(AS(uint16_t));
	case DTYPE_F32: return AS(float);
	case DTYPE_F64: return AS(double);
	case DTYPE_BOOL: return AS(uint8_t) != 0;
	case DTYPE_BF16: return bf16_to_float(AS(uint16_t));
	case DTYPE_U16: return AS(uint16_t);
	case DTYPE_U32: return AS(uint32_t);
	case DTYPE_U64: return (double)AS(uint64_t);
	case DTYPE_INT4: return (AS(uint8_t) & 15) - 8;
	}
	return 0;
}
#undef AS

#define SET(T) (((T *)data)[i] = (T)v)
void dtype_put(enum dtype t, void *data, size_t i, double v)
{
	switch ((int)t) {
	case DTYPE_U8: case DTYPE_QU8: ((uint8_t *)data)[i] = (uint8_t)(int64_t)v; break;
	case DTYPE_I8: case DTYPE_QI8: ((int8_t *)data)[i] = (int8_t)(int64_t)v; break;
	case DTYPE_I16: ((int16_t *)data)[i] = (int16_t)(int64_t)v; break;
	case DTYPE_I32: case DTYPE_QI32: ((int32_t *)data)[i] = (int32_t)(int64_t)v; break;
	case DTYPE_I64: SET(int64_t); break;
	case DTYPE_F16: ((uint16_t *)data)[i] = half_from_float((float)v); break;
	case DTYPE_F32: SET(float); break;
	case DTYPE_F64: SET(double); break;
	case DTYPE_BOOL: ((uint8_t *)data)[i] = v != 0; break;
	case DTYPE_BF16: ((uint16_t *)data)[i] = bf16_from_float((float)v); break;
	case DTYPE_U16: ((uint16_t *)data)[i] = (uint16_t)(int64_t)v; break;
	case DTYPE_U32: ((uint32_t *)data)[i] = (uint32_t)(int64_t)v; break;
	case DTYPE_U64: SET(uint64_t); break;
	}
}
#undef SET
