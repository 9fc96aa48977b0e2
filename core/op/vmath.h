/* vmath.h - expf without branches or calls, so that loops over it vectorise; within 1 ulp of the library's, and the
 * same on every machine. exp(x) = 2^n * p(r), r = x - n ln 2 in [-ln 2 / 2, ln 2 / 2]. */
#ifndef CORE_OP_VMATH_H
#define CORE_OP_VMATH_H

#include <stdint.h>
#include <string.h>

static inline float vmath_power_of_two(int32_t n)	/* -126 <= n <= 127 */
{
	uint32_t u = (uint32_t)(n + 127) << 23;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline float vmath_expf(float x)
{
	const float round = 12582912;	/* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
	float t, n, r, p;
	int32_t i, half;

	x = x < -104 ? -104 : x;	/* below: 0; a NaN stays */
	x = x > 89 ? 89 : x;		/* above: infinity */
	t = x * 1.44269504f + round;
	n = t - round;
	r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
	p = 1.9875691500e-4f;
	p = p * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * (r * r) + r + 1;
	memcpy(&i, &t, 4);
	i -= 0x4b400000;		/* the bits of 1.5 * 2^23 */
	half = i >> 1;			/* in two steps, for results below the smallest normal number */
	return p * vmath_power_of_two(half) * vmath_power_of_two(i - half);
}

#endif
