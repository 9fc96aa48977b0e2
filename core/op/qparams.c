/* Scales and zero points chosen from data. Two rules live side by side: that of the stock quantised library (choose_qparams,
 * per token; scale below 6.1e-5 cut off, eps ignored) and torchao's affine one, which no stock kernel has. */
#include "core/op/plain.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- the stock rule ---- */

static const float small_scale = 6.1e-5f;

static void choose(float min, float max, int32_t qmin, int32_t qmax, double *scale, int64_t *zero)
{
	double from_min, from_max, at;

	min = min < 0 ? min : 0;	/* zero has to be in the range */
	max = max > 0 ? max : 0;
	*scale = ((double)max - min) / ((double)qmax - qmin);
	if ((float)*scale == 0 || isinf(1 / (float)*scale))
		*scale = 0.1;
	if (*scale < small_scale) {
		float amplifier = small_scale / (float)*scale;

		*scale = small_scale;
		if (min == 0) {
			max = small_scale * (float)((double)qmax - qmin);
		} else if (max == 0) {
			min = -small_scale * (float)((double)qmax - qmin);
		} else {
			min *= amplifier;
			max *= amplifier;
		}
	}
	from_min = qmin - min / *scale;
	from_max = qmax - max / *scale;
	at = fabs((double)qmin) - fabs(min / *scale) < fabs((double)qmax) - fabs(max / *scale) ? from_min : from_max;
	*zero = at < qmin ? qmin : at > qmax ? qmax : (int64_t)nearbyintf((float)at);
}

static void min_max(const float *x, int64_t n, float *min, float *max)
{
	*min = *max = n ? x[0] : 0;
	for (int64_t i = 1; i < n; i++) {
		*min = x[i] < *min ? x[i] : *min;
		*max = *max < x[i] ? x[i] : *max;
	}
}

static bool choose_rows(struct call *c, int64_t n, int64_t qmin, int64_t qmax, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);
	const float *x = plain_read(c, in, KIND_F32, err);
	float min, max;

	if (!x)
		return false;
	for (int64_t i = 0; i < tensor_numel(c->out[0]); i++, x += n) {
		min_max(x, n, &min, &max);
		if (!(max - min <= FLT_MAX))
			return call_fail(c, err, "the input is not finite");
		choose(min, max, (int32_t)qmin, (int32_t)qmax, (double *)c->out[0]->data + i, (int64_t *)c->out[1]->data + i);
	}
	return true;
}

/* (input, quant_min, quant_max, eps, dtype) */
static bool tensor_shape(struct call *c, struct error *err)
{
	int64_t min, max;

	if (!call_check(c, err) || !call_known(c, 1, err) || !call_known(c, 2, err))
		return false;
	min = call_int(c, 1, 0), max = call_int(c, 2, 0);
	if (min >= max || min < INT32_MIN || max > INT32_MAX)
		return call_fail(c, err, "the range %lld to %lld", (long long)min, (long long)max);
	tensor_set_type(c->out[0], DTYPE_F64, 1, (int64_t[]){ 1 });
	tensor_set_type(c->out[1], DTYPE_I64, 1, (int64_t[]){ 1 });
	return true;
}

static bool tensor_kernel(struct call *c, struct error *err)
{
	return choose_rows(c, tensor_numel(call_tensor(c, 0)), call_int(c, 1, 0), call_int(c, 2, 0), err);
}

/* (input, dtype); the range is always that of int8 */
static bool token_shape(struct call *c, struct error *err)
{
	struct tensor *in;
	int64_t size[MAX_RANK];

	if (!call_check(c, err))
		return false;
	in = call_tensor(c, 0);
	if (in->rank < 1 || !tensor_is_default_order(in))
		return call_fail(c, err, "the input must have a dimension and the default dim order");
	memcpy(size, in->size, sizeof size);
	size[in->rank - 1] = 1;
	tensor_set_type(c->out[0], DTYPE_F64, in->rank, size);
	tensor_set_type(c->out[1], DTYPE_I64, in->rank, size);
	return true;
}

static bool token_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);

	return choose_rows(c, in->size[in->rank - 1], -128, 127, err);
}

/* ---- torchao: (input, mapping_type, block_size, target_dtype, quant_min, quant_max, eps, scale_dtype,
 *      zero_point_dtype, keepdim) ---- */

static bool read_blocks(struct call *c, int64_t *block, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);
	int n = call_ints(c, 2, block, err);

	if (n < 0)
		return false;
	if (n != in->rank)
		return call_fail(c, err, "%d block sizes for rank %d", n, in->rank);
	for (int d = 0; d < n; d++)
		if (block[d] < 1 || in->size[d] % block[d])
			return call_fail(c, err, "blocks of %lld do not divide %lld", (long long)block[d], (long long)in->size[d]);
	return true;
}

static bool is_symmetric(struct call *c)
{
	return strcmp(call_string(c, 1), "ASYMMETRIC");
}

static bool affine_dtypes(struct call *c, struct error *err)
{
	enum dtype t = call_dtype(c, 3, DTYPE_I8), zero = call_dtype(c, 8, DTYPE_I32);
	const char *how = call_string(c, 1);

	if (strcmp(how, "SYMMETRIC") && strcmp(how, "SYMMETRIC_NO_CLIPPING_ERR") && strcmp(how, "ASYMMETRIC"))
		return call_fail(c, err, "mapping type \"%s\"", how);
	if (t != DTYPE_U8 && t != DTYPE_I8 && t != DTYPE_I16 && t != DTYPE_I32)
		return call_fail(c, err, "%s is no type to quantise to", dtype_name(t));
	return dtype_in(call_dtype(c, 7, DTYPE_F32), DTYPES_FLOAT) && (dtype_in(zero, DTYPES_FLOAT) || dtype_in(zero, DTYPES_INT)) ?
	       true : call_fail(c, err, "types of scale and zero point");
}

/* With keepdim the blocks' grid; without, torch's reduced view: whole dimensions fall away. */
static bool affine_shape(struct call *c, struct error *err)
{
	struct tensor *in;
	int64_t block[MAX_RANK], size[MAX_RANK];
	enum dtype zero = DTYPE_I32;
	int rank = 0;

	if (!call_check(c, err) || !affine_dtypes(c, err) || !read_blocks(c, block, err))
		return false;
	in = call_tensor(c, 0);
	for (int d = 0; d < in->rank; d++)
		if (call_bool(c, 9, false) || block[d] == 1 || block[d] != in->size[d])
			size[rank++] = in->size[d] / block[d];
	if (!call_has(c, 8) && is_symmetric(c))
		zero = in->dtype;	/* of the scale that was computed */
	tensor_set_type(c->out[0], call_dtype(c, 7, in->dtype), rank, size);
	tensor_set_type(c->out[1], call_dtype(c, 8, zero), rank, size);
	return true;
}

struct affine_range { float min, max, eps; const char *how; };

static void affine_choose(const struct affine_range *r, float min, float max, float *scale, float *zero)
{
	float neg = min < 0 ? min : 0, pos = max > 0 ? max : 0;

	if (!strcmp(r->how, "SYMMETRIC")) {
		*scale = (-neg > pos ? -neg : pos) / ((r->max - r->min) / 2);
	} else if (!strcmp(r->how, "ASYMMETRIC")) {
		*scale = (pos - neg) / (r->max - r->min);
	} else {
		float low = neg / r->min, high = pos / r->max;

		*scale = low > high ? low : high;
	}
	*scale = *scale < r->eps ? r->eps : *scale;
	if (strcmp(r->how, "ASYMMETRIC")) {
		*zero = truncf((r->max + r->min + 1) / 2);
		return;
	}
	*zero = r->min - rintf(neg / *scale);
	*zero = *zero < r->min ? r->min : *zero > r->max ? r->max : *zero;
}

static void read_range(struct call *c, struct affine_range *r)
{
	enum dtype t = call_dtype(c, 3, DTYPE_I8), in = call_tensor(c, 0)->dtype;
	int bits = (int)dtype_bytes(t) * 8 - (t != DTYPE_U8);

	r->min = (float)call_double(c, 4, t == DTYPE_U8 ? 0 : -ldexp(1, bits));
	r->max = (float)call_double(c, 5, ldexp(1, bits) - 1);
	r->eps = (float)call_double(c, 6, in == DTYPE_F16 ? 0x1p-14 : FLT_MIN);
	r->how = call_string(c, 1);
}

static bool affine_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);
	int64_t block[MAX_RANK], n = tensor_numel(c->out[0]);
	const float *x = plain_read(c, in, KIND_F32, err);
	float *min = plain_alloc(c, KIND_F32, n, err), *max = plain_alloc(c, KIND_F32, n, err);
	struct affine_range r;

	if (!x || !min || !max || !read_blocks(c, block, err))
		return false;
	read_range(c, &r);
	for (int64_t b = 0; b < n; b++)
		min[b] = max[b] = 0;	/* the range is widened to zero anyhow */
	for (int64_t i = 0; i < tensor_numel(in); i++) {
		int64_t rest = i, at = 0, step = 1;

		for (int d = in->rank - 1; d >= 0; d--) {
			at += rest % in->size[d] / block[d] * step;
			step *= in->size[d] / block[d];
			rest /= in->size[d];
		}
		min[at] = x[i] < min[at] ? x[i] : min[at];
		max[at] = x[i] > max[at] ? x[i] : max[at];
	}
	for (int64_t b = 0; b < n; b++)
		affine_choose(&r, min[b], max[b], &min[b], &max[b]);	/* scale and zero point in place of the range */
	kind_store(KIND_F32, min, c->out[0]->dtype, c->out[0]->data, 1, n);
	kind_store(KIND_F32, max, c->out[1]->dtype, c->out[1]->data, 1, n);
	return true;
}

const struct op op_qparams[] = {
	{ "quantized_decomposed.choose_qparams.tensor", "quantized_decomposed::choose_qparams.Tensor_out", "TIIDM>TT",
	  "input, quant_min, quant_max, eps, dtype", DTYPE_BIT(DTYPE_F32), OP_QUANTIZE, tensor_shape, tensor_kernel },
	{ "quantized_decomposed.choose_qparams_per_token_asymmetric.default",
	  "quantized_decomposed::choose_qparams_per_token_asymmetric.out", "TM>TT", "input, dtype",
	  DTYPE_BIT(DTYPE_F32), OP_QUANTIZE, token_shape, token_kernel },
	{ "torchao.choose_qparams_affine.default", NULL, "TZAMss?MMB>TT",
	  "input, mapping_type, block_size, target_dtype, quant_min, quant_max, eps, scale_dtype, zero_point_dtype, keepdim",
	  DTYPES_FLOAT, OP_QUANTIZE, affine_shape, affine_kernel },
	{ 0 },
};
