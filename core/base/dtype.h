/* dtype.h - element types, with the codes of ExecuTorch's ScalarType (schema program.fbs).
 *
 * INT4 is ours: two signed 4-bit values a byte, even element in the low nibble, stored as value + 8, each
 * row of the last dimension padded to a whole byte; it is how XNNPACK delegates hold int4 weights. */
#ifndef CORE_BASE_DTYPE_H
#define CORE_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum dtype {
	DTYPE_U8 = 0, DTYPE_I8, DTYPE_I16, DTYPE_I32, DTYPE_I64, DTYPE_F16, DTYPE_F32, DTYPE_F64,
	DTYPE_C32 = 8, DTYPE_C64 = 9, DTYPE_C128 = 10,	/* complex: a real and an imaginary f16, f32 or f64 */
	DTYPE_BOOL = 11, DTYPE_QI8 = 12, DTYPE_QU8 = 13, DTYPE_QI32 = 14, DTYPE_BF16 = 15,
	DTYPE_U16 = 27, DTYPE_U32 = 28, DTYPE_U64 = 29,
	DTYPE_CODES = 30,	/* codes a file may hold are below this */
	DTYPE_INT4 = 100,
};

enum { MAX_RANK = 16 };

size_t dtype_bytes(enum dtype t);		/* a whole element; 0 for an unknown code and INT4 */
const char *dtype_name(enum dtype t);		/* "f32": pages and reports */
bool dtype_is_float(enum dtype t);		/* f16, bf16, f32, f64 */
bool dtype_is_int(enum dtype t);		/* integers of any width, bool not among them */

/* Bytes of a tensor; false on a negative size or overflow. Rank 0 is one element. */
bool dtype_tensor_bytes(enum dtype t, int rank, const int64_t *size, size_t *bytes);
int64_t dtype_numel(int rank, const int64_t *size);	/* of sizes known to be good */

/* Halves. Rounding is to nearest even. Written without branches, so that loops over them vectorise. */
static inline float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, u = (uint32_t)(h & 0x7fff) << 13;
	float f;

	memcpy(&f, &u, 4);
	f *= 0x1p112f;	/* moves the exponent; subnormals come out right */
	memcpy(&u, &f, 4);
	u = (h & 0x7c00) == 0x7c00 ? 0x7f800000 | (uint32_t)(h & 0x3ff) << 13 : u;
	u |= sign;
	memcpy(&f, &u, 4);
	return f;
}

static inline uint16_t half_from_float(float f)
{
	const float half = 0.5f;	/* adding it leaves a subnormal's bits at the low end */
	uint32_t u, sign, tiny, normal, special;

	memcpy(&u, &f, 4);
	sign = u >> 16 & 0x8000;
	u &= 0x7fffffff;
	memcpy(&f, &u, 4);
	f += half;
	memcpy(&tiny, &f, 4);
	tiny -= 0x3f000000;
	normal = (u - (112u << 23) + 0xfff + (u >> 13 & 1)) >> 13;
	special = u > 0x7f800000 ? 0x7e00 | (u >> 13 & 0x3ff) : 0x7c00;
	return (uint16_t)(sign | (u >= 0x47800000 ? special : u < 0x38800000 ? tiny : normal));
}

static inline float bf16_to_float(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline uint16_t bf16_from_float(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* Element i of an array of dtype t as a number, and back (converted as C does). */
double dtype_get(enum dtype t, const void *data, size_t i);
void dtype_put(enum dtype t, void *data, size_t i, double v);

#endif
