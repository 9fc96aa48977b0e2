/* num.h - size arithmetic that cannot wrap. Each returns false when the result does not fit. */
#ifndef CORE_BASE_NUM_H
#define CORE_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool size_add(size_t a, size_t b, size_t *sum)
{
	return !__builtin_add_overflow(a, b, sum);
}

static inline bool size_mul(size_t a, size_t b, size_t *product)
{
	return !__builtin_mul_overflow(a, b, product);
}

/* True if [at, at + bytes) lies inside [0, whole). */
static inline bool size_inside(uint64_t at, uint64_t bytes, uint64_t whole)
{
	return at <= whole && bytes <= whole - at;
}

static inline size_t size_align(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

#endif
