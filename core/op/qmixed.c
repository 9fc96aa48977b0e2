/* Operators with quantised weights in them: embeddings of 8, 4 and 2 bits, mixed_mm and mixed_linear (int8 weight, float
 * input), and the sum of two quantised tensors.
 *
 * 4-bit embeddings hold the even column in the high nibble, 2-bit ones the first of four columns in the low bits; both
 * are stored offset by half their range. */
#include "core/op/matmul.h"

#include <math.h>
#include <string.h>

/* ---- embeddings: (weight, weight_scales, weight_zero_points, weight_quant_min, weight_quant_max, indices[, dtype]) ---- */

static bool is_short_float(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16;
}

/* Rows of weights have one scale, or one for each of the groups that divide them. */
static bool check_row_params(struct call *c, int64_t columns, struct error *err)
{
	struct tensor *w = call_tensor(c, 0), *scale = call_tensor(c, 1), *zero = call_tensor(c, 2);

	if (!is_short_float(scale->dtype) || (scale->rank != 1 && scale->rank != 2) || scale->size[0] != w->size[0])
		return call_fail(c, err, "scales must be floats, one or more for each of %lld rows", (long long)w->size[0]);
	if (scale->rank == 2 && (scale->size[1] < 1 || columns % scale->size[1]))
		return call_fail(c, err, "%lld groups do not divide %lld columns", (long long)scale->size[1], (long long)columns);
	if (zero && (zero->rank != scale->rank || zero->dtype != scale->dtype ||
		     memcmp(zero->size, scale->size, (size_t)scale->rank * sizeof *scale->size)))
		return call_fail(c, err, "zero points must be of the scales' type and sizes");
	return true;
}

static bool embedding_shape(struct call *c, int bits, struct error *err)
{
	struct tensor *w, *index;
	int64_t size[MAX_RANK], columns;
	enum dtype t;

	if (!call_check(c, err))
		return false;
	w = call_tensor(c, 0), index = call_tensor(c, 5);
	t = c->nargs > 6 ? call_dtype(c, 6, call_tensor(c, 1)->dtype) : call_tensor(c, 1)->dtype;
	if (w->rank != 2 || !tensor_is_default_order(w))
		return call_fail(c, err, "the weight must be a matrix in the default dim order");
	if (index->dtype != DTYPE_I64 && (bits == 8 || index->dtype != DTYPE_I32))
		return call_fail(c, err, "indices are %s", dtype_name(index->dtype));
	if (index->rank >= MAX_RANK || !is_short_float(t))
		return call_fail(c, err, "a result of %s", dtype_name(t));
	if (call_int(c, 3, 0) > call_int(c, 4, INT64_MAX))
		return call_fail(c, err, "weight_quant_min is above weight_quant_max");
	columns = w->size[1] * (8 / bits);
	memcpy(size, index->size, sizeof size);
	size[index->rank] = columns;
	tensor_set_type(c->out[0], t, index->rank + 1, size);
	return check_row_params(c, columns, err) && call_sizes_ok(c, t, index->rank + 1, size, err);
}

static void unpack_row(const struct tensor *w, int bits, int64_t row, float *to)
{
	const uint8_t *b = (const uint8_t *)w->data + row * w->size[1];

	for (int64_t i = 0; i < w->size[1]; i++)
		switch (bits) {
		case 2:
			for (int k = 0; k < 4; k++)
				*to++ = (float)((b[i] >> 2 * k & 3) - 2);
			break;
		case 4:
			*to++ = (float)((b[i] >> 4) - 8);
			*to++ = (float)((b[i] & 15) - 8);
			break;
		default:
			*to++ = w->dtype == DTYPE_I8 ? (int8_t)b[i] : b[i];
		}
}

static bool embedding_kernel(struct call *c, int bits, struct error *err)
{
	struct tensor *w = call_tensor(c, 0), *scales = call_tensor(c, 1), *zeros = call_tensor(c, 2);
	const float *scale = plain_read(c, scales, KIND_F32, err), *zero = zeros ? plain_read(c, zeros, KIND_F32, err) : NULL;
	const int64_t *index = plain_read(c, call_tensor(c, 5), KIND_I64, err);
	float *out = plain_out(c, c->out[0], KIND_F32, err), *to = out;
	int64_t columns = w->size[1] * (8 / bits), groups = scales->rank == 2 ? scales->size[1] : 1;

	if (!scale || (zeros && !zero) || !index || !out)
		return false;
	for (int64_t i = 0; i < tensor_numel(call_tensor(c, 5)); i++) {
		if (index[i] < 0 || index[i] >= w->size[0])
			return call_fail(c, err, "index %lld is outside %lld rows", (long long)index[i], (long long)w->size[0]);
		unpack_row(w, bits, index[i], to);
		for (int64_t p = index[i] * groups; p < (index[i] + 1) * groups; p++)
			for (int64_t j = 0; j < columns / groups; j++, to++)
				*to = (*to - (zero ? zero[p] : 0)) * scale[p];
	}
	plain_store(c->out[0], KIND_F32, out);
	return true;
}

static bool embedding8_shape(struct call *c, struct error *err) { return embedding_shape(c, 8, err); }
static bool embedding4_shape(struct call *c, struct error *err) { return embedding_shape(c, 4, err); }
static bool embedding2_shape(struct call *c, struct error *err) { return embedding_shape(c, 2, err); }
static bool embedding8_kernel(struct call *c, struct error *err) { return embedding_kernel(c, 8, err); }
static bool embedding4_kernel(struct call *c, struct error *err) { return embedding_kernel(c, 4, err); }
static bool embedding2_kernel(struct call *c, struct error *err) { return embedding_kernel(c, 2, err); }

/* ---- mixed products: (input, weight, weight_scales, weight_zero_points[, dtype]) ---- */

static bool check_mixed(struct call *c, struct error *err)
{
	struct tensor *in, *w;

	if (!call_check(c, err))
		return false;
	in = call_tensor(c, 0), w = call_tensor(c, 1);
	if (in->rank != 2 || w->rank != 2 || w->dtype != DTYPE_I8)
		return call_fail(c, err, "input and weight must be matrices, the weight of i8");
	if (!tensor_is_default_order(in) || !tensor_is_default_order(w) || call_tensor(c, 2)->dtype != in->dtype)
		return call_fail(c, err, "operands must have the default dim order, scales the input's dtype");
	return !call_tensor(c, 3) || call_fail(c, err, "zero points are not supported");
}

static bool mixed_mm_shape(struct call *c, struct error *err)
{
	struct tensor *in, *w, *scale;

	if (!check_mixed(c, err))
		return false;
	in = call_tensor(c, 0), w = call_tensor(c, 1), scale = call_tensor(c, 2);
	if (in->size[1] != w->size[0] || scale->rank != 1 || scale->size[0] != w->size[0])
		return call_fail(c, err, "%lld columns meet %lld rows and %lld scales", (long long)in->size[1], (long long)w->size[0],
				 (long long)(scale->rank ? scale->size[0] : 0));
	tensor_set_type(c->out[0], in->dtype, 2, (int64_t[]){ in->size[0], w->size[1] });
	return true;
}

static bool mixed_linear_shape(struct call *c, struct error *err)
{
	struct tensor *in, *w, *scale;
	enum dtype t;

	if (!check_mixed(c, err))
		return false;
	in = call_tensor(c, 0), w = call_tensor(c, 1), scale = call_tensor(c, 2);
	t = call_dtype(c, 4, in->dtype);
	if (t != DTYPE_F32 && t != DTYPE_F16)
		return call_fail(c, err, "a result of %s", dtype_name(t));
	if (in->size[1] != w->size[1] || (scale->rank != 1 && scale->rank != 2) || scale->size[0] != w->size[0] ||
	    (scale->rank == 2 && scale->size[1] < 1))
		return call_fail(c, err, "input, weight and scales do not fit together");
	tensor_set_type(c->out[0], t, 2, (int64_t[]){ in->size[0], w->size[0] });
	return true;
}

/* The weight in float. linear: [out, in] with a scale by row and group of columns; mm: [in, out] with one by row. */
static float *scaled_weight(struct call *c, int64_t groups, struct error *err)
{
	struct tensor *w = call_tensor(c, 1);
	int64_t columns = w->size[1], group = (columns + groups - 1) / groups, per_row = group ? (columns + group - 1) / group : 1;
	const float *scale = plain_read(c, call_tensor(c, 2), KIND_F32, err);
	float *f = plain_alloc(c, KIND_F32, tensor_numel(w), err);

	for (int64_t i = 0; scale && f && i < tensor_numel(w); i++)
		f[i] = (float)((const int8_t *)w->data)[i] * scale[i / columns * per_row + i % columns / group];
	return scale ? f : NULL;
}

static bool mixed_run(struct call *c, bool linear, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *w = call_tensor(c, 1), *scale = call_tensor(c, 2), *out = c->out[0];
	const float *x = plain_read(c, in, KIND_F32, err), *f = scaled_weight(c, scale->rank == 2 ? scale->size[1] : 1, err);
	float *y = plain_out(c, out, KIND_F32, err);
	struct matmul mm = { .kind = KIND_F32, .m = in->size[0], .k = in->size[1], .n = out->size[1], .a = { x, in->size[1], 1 },
			     .b = { f, linear ? 1 : w->size[1], linear ? w->size[1] : 1 }, .c = y, .c_row = out->size[1], .c_col = 1 };

	if (!x || !f || !y || !matmul_run(c, &mm, err))
		return false;
	plain_store(out, KIND_F32, y);
	return true;
}

static bool mixed_mm_kernel(struct call *c, struct error *err)
{
	return mixed_run(c, false, err);
}

static bool mixed_linear_kernel(struct call *c, struct error *err)
{
	return mixed_run(c, true, err);
}

/* ---- add: for a, b and the result scale, zero_point, quant_min, quant_max ---- */

static bool add_shape(struct call *c, struct error *err)
{
	struct tensor *a, *b;

	if (!call_check(c, err))
		return false;
	a = call_tensor(c, 0), b = call_tensor(c, 5);
	if (a->dtype != b->dtype || a->rank != b->rank || memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size) ||
	    memcmp(a->dim_order, b->dim_order, (size_t)a->rank))
		return call_fail(c, err, "operands must be of one type");
	for (int i = 0; i < 3; i++) {
		static const int at[] = { 3, 8, 12 };
		int64_t min = call_int(c, at[i], 0), max = call_int(c, at[i] + 1, 0);

		if (min < 0 || max > 255 || min > max)
			return call_fail(c, err, "the range %lld to %lld is not within 0 to 255", (long long)min, (long long)max);
	}
	tensor_set_like(c->out[0], a);
	return true;
}

static bool add_kernel(struct call *c, struct error *err)
{
	struct tensor *a = call_tensor(c, 0), *b = call_tensor(c, 5);
	float a_scale = (float)call_double(c, 1, 1), b_scale = (float)call_double(c, 6, 1);
	float inverse = 1 / (float)call_double(c, 10, 1);
	int32_t a_zero = (int32_t)call_int(c, 2, 0), b_zero = (int32_t)call_int(c, 7, 0), zero = (int32_t)call_int(c, 11, 0);
	double min = (double)call_int(c, 12, 0), max = (double)call_int(c, 13, 255);

	for (int64_t i = 0; i < tensor_numel(a); i++) {
		float x = ((float)dtype_get(a->dtype, a->data, (size_t)i) - (float)a_zero) * a_scale;
		float y = ((float)dtype_get(b->dtype, b->data, (size_t)i) - (float)b_zero) * b_scale;
		double v = (float)zero + nearbyintf(inverse * (x + y));

		v = v > min ? v : min;
		dtype_put(a->dtype, c->out[0]->data, (size_t)i, v < max ? v : max);
	}
	return true;
}

#define QD(op) "quantized_decomposed." op
#define QDK(op) "quantized_decomposed::" op
#define EMBEDDING_ARGS "weight, weight_scales, weight_zero_points, weight_quant_min, weight_quant_max, indices"
#define EMBEDDING(name, dtypes, shape, kernel) \
	{ QD(name) ".default", QDK(name) ".out", "TTtIIT>T", EMBEDDING_ARGS, dtypes, 0, shape, kernel }, \
	{ QD(name) ".dtype", QDK(name) ".dtype_out", "TTtIITM>T", EMBEDDING_ARGS ", dtype", dtypes, 0, shape, kernel }

const struct op op_qmixed[] = {
	{ QD("add.default"), QDK("add.out"), "TDIIITDIIIDIII>T",
	  "a, a_scale, a_zero_point, a_quant_min, a_quant_max, b, b_scale, b_zero_point, b_quant_min, b_quant_max, "
	  "out_scale, out_zero_point, out_quant_min, out_quant_max", DTYPES_INT, 0, add_shape, add_kernel },
	EMBEDDING("embedding_byte", DTYPES(U8, I8), embedding8_shape, embedding8_kernel),
	EMBEDDING("embedding_4bit", DTYPE_BIT(DTYPE_U8), embedding4_shape, embedding4_kernel),
	EMBEDDING("embedding_2bit", DTYPE_BIT(DTYPE_U8), embedding2_shape, embedding2_kernel),
	{ QD("mixed_linear.default"), QDK("mixed_linear.out"), "TTTtM>T", "input, weight, weight_scales, weight_zero_points, dtype",
	  DTYPES(F16, F32), 0, mixed_linear_shape, mixed_linear_kernel },
	{ QD("mixed_mm.default"), QDK("mixed_mm.out"), "TTTt>T", "input, weight, weight_scales, weight_zero_points",
	  DTYPES(F16, F32), 0, mixed_mm_shape, mixed_mm_kernel },
	{ 0 },
};
