#include "core/op/plain.h"

#include "core/base/num.h"

#include <string.h>

enum plain plain_of(enum dtype t)
{
	return t == DTYPE_F64 ? PLAIN_F64 : dtype_is_float(t) ? PLAIN_F32 : PLAIN_I64;
}

size_t plain_bytes(enum plain p)
{
	return p == PLAIN_F32 ? 4 : 8;
}

static bool same_type(enum plain p, enum dtype t)
{
	return t == (p == PLAIN_F32 ? DTYPE_F32 : p == PLAIN_F64 ? DTYPE_F64 : DTYPE_I64);
}

/* Conversions loop by loop, so that each vectorises. */
#define LOAD(T, FROM, EXPR) do { T *to_ = to; const FROM *from_ = from; \
	for (int64_t i = 0; i < n; i++) { FROM v = from_[i]; to_[i] = (T)(EXPR); } } while (0)
#define LOADS(T) \
	switch ((int)t) { \
	case DTYPE_U8: case DTYPE_QU8: LOAD(T, uint8_t, v); break; \
	case DTYPE_I8: case DTYPE_QI8: LOAD(T, int8_t, v); break; \
	case DTYPE_BOOL: LOAD(T, uint8_t, v != 0); break; \
	case DTYPE_I16: LOAD(T, int16_t, v); break; \
	case DTYPE_U16: LOAD(T, uint16_t, v); break; \
	case DTYPE_I32: case DTYPE_QI32: LOAD(T, int32_t, v); break; \
	case DTYPE_U32: LOAD(T, uint32_t, v); break; \
	case DTYPE_I64: LOAD(T, int64_t, v); break; \
	case DTYPE_U64: LOAD(T, uint64_t, v); break; \
	case DTYPE_F16: LOAD(T, uint16_t, half_to_float(v)); break; \
	case DTYPE_BF16: LOAD(T, uint16_t, bf16_to_float(v)); break; \
	case DTYPE_F32: LOAD(T, float, v); break; \
	case DTYPE_F64: LOAD(T, double, v); break; \
	}

void plain_load(enum plain p, void *to, enum dtype t, const void *from, int64_t n)
{
	switch (p) {
	case PLAIN_F32: LOADS(float); break;
	case PLAIN_F64: LOADS(double); break;
	case PLAIN_I64: LOADS(int64_t); break;
	}
}

#define SAVE(T, TO, EXPR) do { TO *to_ = to; const T *from_ = from; \
	for (int64_t i = 0; i < n; i++) { T v = from_[i]; to_[i] = (TO)(EXPR); } } while (0)
#define SAVES(T) \
	switch ((int)t) { \
	case DTYPE_U8: case DTYPE_QU8: SAVE(T, uint8_t, (int64_t)v); break; \
	case DTYPE_I8: case DTYPE_QI8: SAVE(T, int8_t, (int64_t)v); break; \
	case DTYPE_BOOL: SAVE(T, uint8_t, v != 0); break; \
	case DTYPE_I16: SAVE(T, int16_t, (int64_t)v); break; \
	case DTYPE_U16: SAVE(T, uint16_t, (int64_t)v); break; \
	case DTYPE_I32: case DTYPE_QI32: SAVE(T, int32_t, (int64_t)v); break; \
	case DTYPE_U32: SAVE(T, uint32_t, (int64_t)v); break; \
	case DTYPE_I64: SAVE(T, int64_t, v); break; \
	case DTYPE_U64: SAVE(T, uint64_t, v); break; \
	case DTYPE_F16: SAVE(T, uint16_t, half_from_float((float)v)); break; \
	case DTYPE_BF16: SAVE(T, uint16_t, bf16_from_float((float)v)); break; \
	case DTYPE_F32: SAVE(T, float, v); break; \
	case DTYPE_F64: SAVE(T, double, v); break; \
	}

void plain_save(enum plain p, const void *from, enum dtype t, void *to, int64_t n)
{
	switch (p) {
	case PLAIN_F32: SAVES(float); break;
	case PLAIN_F64: SAVES(double); break;
	case PLAIN_I64: SAVES(int64_t); break;
	}
}

void *plain_alloc(struct call *c, enum plain p, int64_t count, struct error *err)
{
	size_t bytes = 0;
	void *mem = NULL;

	if (count >= 0 && size_mul((size_t)count, plain_bytes(p), &bytes))
		mem = arena_try(c->scratch, bytes ? bytes : 1);
	if (!mem)
		error_set(err, ERROR_MEMORY, "%s: no memory for %lld elements of scratch", c->op->name, (long long)count);
	return mem;
}

/* Copies elements of BYTES between two layouts of the same sizes; the innermost loop runs along the last dimension. */
static void reorder(int rank, const int64_t *size, size_t bytes, const char *from, const int64_t *from_stride,
		    char *to, const int64_t *to_stride)
{
	if (!rank) {
		memcpy(to, from, bytes);
		return;
	}
	for (int64_t i = 0; i < *size; i++) {
		if (rank > 1)
			reorder(rank - 1, size + 1, bytes, from, from_stride + 1, to, to_stride + 1);
		else if (bytes == 4)
			memcpy(to, from, 4);
		else
			memcpy(to, from, 8);
		from += *from_stride * (int64_t)bytes;
		to += *to_stride * (int64_t)bytes;
	}
}

static void default_strides(const struct tensor *t, int64_t *stride)
{
	int64_t step = 1;

	for (int d = t->rank - 1; d >= 0; d--) {
		stride[d] = step;
		step *= t->size[d];
	}
}

/* Dimensions of one element may stand anywhere in the order without a byte moving. */
static bool is_plain_order(const struct tensor *t)
{
	int64_t stride[MAX_RANK];

	default_strides(t, stride);
	for (int d = 0; d < t->rank; d++)
		if (t->size[d] != 1 && t->stride[d] != stride[d])
			return false;
	return true;
}

const void *plain_read(struct call *c, const struct tensor *t, enum plain p, struct error *err)
{
	int64_t n = tensor_numel(t), stride[MAX_RANK];
	bool plain = is_plain_order(t);
	void *typed, *ordered;

	if (same_type(p, t->dtype) && plain && n)
		return t->data;
	typed = plain_alloc(c, p, n, err);
	if (!typed || !n)
		return typed;
	plain_load(p, typed, t->dtype, t->data, n);
	if (plain)
		return typed;
	ordered = plain_alloc(c, p, n, err);
	default_strides(t, stride);
	if (ordered)
		reorder(t->rank, t->size, plain_bytes(p), typed, t->stride, ordered, stride);
	return ordered;
}

void *plain_out(struct call *c, struct tensor *t, enum plain p, struct error *err)
{
	if (same_type(p, t->dtype) && is_plain_order(t))
		return t->data;
	return plain_alloc(c, p, tensor_numel(t), err);
}

/* One element after the other in memory order, for the rare output that is neither plain in type nor in order. */
static void store_strided(struct tensor *t, enum plain p, const char *data)
{
	int64_t at[MAX_RANK] = { 0 }, n = tensor_numel(t), to = 0;
	size_t bytes = dtype_bytes(t->dtype);

	for (int64_t i = 0; i < n; i++) {
		plain_save(p, data + (size_t)i * plain_bytes(p), t->dtype, (char *)t->data + (size_t)to * bytes, 1);
		for (int d = t->rank - 1; d >= 0; d--) {
			to += t->stride[d];
			if (++at[d] < t->size[d])
				break;
			to -= at[d] * t->stride[d];
			at[d] = 0;
		}
	}
}

void plain_store(struct tensor *t, enum plain p, const void *data)
{
	int64_t stride[MAX_RANK];

	if (data == t->data)
		return;
	default_strides(t, stride);
	if (is_plain_order(t))
		plain_save(p, data, t->dtype, t->data, tensor_numel(t));
	else if (same_type(p, t->dtype))
		reorder(t->rank, t->size, plain_bytes(p), data, stride, t->data, t->stride);
	else
		store_strided(t, p, data);
}
