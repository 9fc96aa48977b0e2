/* Images upsampled: nearest, bilinear and anti-aliased. Source positions and weights are computed in float, as in stock
 * and eager. Bilinear values of every dtype but f64 are weighted in float and rounded (integers: cut) once. */
#include "core/op/plain.h"

#include <math.h>
#include <string.h>

static bool set_size(struct call *c, int64_t h, int64_t w, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];

	tensor_set_like(out, in);
	out->size[in->rank - 2] = h;
	out->size[in->rank - 1] = w;
	tensor_set_strides(out);
	return call_sizes_ok(c, out->dtype, out->rank, out->size, err);
}

static bool check_image(struct call *c, struct error *err)
{
	if (!call_check(c, err))
		return false;
	if (call_tensor(c, 0)->rank != 4)
		return call_fail(c, err, "the input has rank %d, must have 4", call_tensor(c, 0)->rank);
	return call_image_order(c, 0, err);
}

/* ---- upsample: output_size, or scale_factors, being arguments `size` and `factors` ---- */

static bool target_size(struct call *c, int size, int factors, int64_t *hw, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);
	int64_t given[MAX_RANK];
	int n;

	if (call_has(c, size) == call_has(c, factors))
		return call_fail(c, err, "one of output size and scale factors must be given");
	if (call_has(c, size) && (n = call_ints(c, size, given, err)) < 0)
		return false;
	if (call_length(c, call_has(c, size) ? size : factors) != 2)
		return call_fail(c, err, "output size or scale factors must be two numbers");
	for (int d = 0; d < 2; d++) {
		double to = call_has(c, size) ? (double)given[d] : (double)in->size[2 + d] * call_item_double(c, factors, d);

		if (!(to >= 1 && to <= INT32_MAX) || in->size[2 + d] <= 0)
			return call_fail(c, err, "%lld positions cannot become %g", (long long)in->size[2 + d], to);
		hw[d] = (int64_t)to;
	}
	return true;
}

/* Input positions for one output step, of dimension d (0: height). */
static float source_scale(struct call *c, int d, int factors, bool align)
{
	double in = (double)call_tensor(c, 0)->size[2 + d], out = (double)c->out[0]->size[2 + d];

	if (align)
		return out > 1 ? (float)((in - 1) / (out - 1)) : 0;
	return (float)(1 / (call_has(c, factors) ? call_item_double(c, factors, d) : out / in));
}

static bool nearest_shape(struct call *c, struct error *err)
{
	int64_t hw[2];

	return check_image(c, err) && target_size(c, 1, 2, hw, err) && set_size(c, hw[0], hw[1], err);
}

static bool nearest_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	int64_t h = out->size[2], w = out->size[3], *at = plain_alloc(c, KIND_I64, tensor_numel(out) ? h + w : 0, err);
	enum kind k = kind_of(in->dtype);
	size_t bytes = kind_bytes(k);
	const char *x = plain_read(c, in, k, err);
	char *y = plain_out(c, out, k, err), *to = y;

	if (!at || !x || !y)
		return false;
	if (!tensor_numel(out))
		return true;
	for (int64_t i = 0; i < h + w; i++) {
		int d = i >= h;
		int64_t from = (int64_t)floorf((float)(d ? i - h : i) * source_scale(c, d, 2, false));

		at[i] = from < in->size[2 + d] ? from : in->size[2 + d] - 1;
	}
	for (int64_t i = 0; i < tensor_numel(out) / w; i++) {
		const char *row = x + (size_t)((i / h * in->size[2] + at[i % h]) * in->size[3]) * bytes;

		for (int64_t j = 0; j < w; j++, to += bytes)
			memcpy(to, row + (size_t)at[h + j] * bytes, bytes == 4 ? 4 : 8);
	}
	plain_store(out, k, y);
	return true;
}

static bool bilinear_shape(struct call *c, struct error *err)
{
	int64_t hw[2];

	return check_image(c, err) && target_size(c, 1, 3, hw, err) && set_size(c, hw[0], hw[1], err);
}

/* Where an output position lies between two input positions. */
struct between {
	int64_t low, high;
	float low_weight, high_weight;
};

static struct between between(int64_t o, int64_t in, int64_t out, float scale, bool align)
{
	struct between b = { o, o, 1, 0 };
	float at;

	if (in == out)
		return b;
	at = align ? scale * (float)o : scale * ((float)o + 0.5f) - 0.5f;
	if (at < 0)
		at = 0;
	b.low = (int64_t)floorf(at) < in - 1 ? (int64_t)floorf(at) : in - 1;
	b.high = b.low + (b.low < in - 1);
	b.high_weight = fminf(fmaxf(at - (float)b.low, 0), 1);
	b.low_weight = 1 - b.high_weight;
	return b;
}

#define BILINEAR_ROW(T, name) \
static void name(const T *top, const T *bottom, const struct between *y, const struct between *x, int64_t n, T *out) \
{ \
	for (int64_t j = 0; j < n; j++) { \
		T a = top[x[j].low] * x[j].low_weight + top[x[j].high] * x[j].high_weight; \
		T b = bottom[x[j].low] * x[j].low_weight + bottom[x[j].high] * x[j].high_weight; \
		out[j] = a * y->low_weight + b * y->high_weight; \
	} \
}
BILINEAR_ROW(float, bilinear_row_f32)
BILINEAR_ROW(double, bilinear_row_f64)

static enum kind float_kind(const struct tensor *t)
{
	return t->dtype == DTYPE_F64 ? KIND_F64 : KIND_F32;
}

static bool bilinear_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	int64_t h = out->size[2], w = out->size[3], iw = in->size[3];
	enum kind k = float_kind(in);
	bool align = call_bool(c, 2, false);
	const void *x = plain_read(c, in, k, err);
	void *y = plain_out(c, out, k, err);
	struct between *col = plain_scratch(c, tensor_numel(out) ? w : 0, sizeof *col, err);

	if (!x || !y || !col)
		return false;
	if (!tensor_numel(out))
		return true;
	for (int64_t j = 0; j < w; j++)
		col[j] = between(j, iw, w, source_scale(c, 1, 3, align), align);
	for (int64_t i = 0; i < tensor_numel(out) / w; i++) {
		struct between row = between(i % h, in->size[2], h, source_scale(c, 0, 3, align), align);
		int64_t top = (i / h * in->size[2] + row.low) * iw, bottom = (i / h * in->size[2] + row.high) * iw;

		if (k == KIND_F32)
			bilinear_row_f32((const float *)x + top, (const float *)x + bottom, &row, col, w, (float *)y + i * w);
		else
			bilinear_row_f64((const double *)x + top, (const double *)x + bottom, &row, col, w, (double *)y + i * w);
	}
	plain_store(out, k, y);
	return true;
}

/* ---- anti-aliased: (self, output_size, align_corners, scales_h, scales_w) ---- */

static bool aa_shape(struct call *c, struct error *err)
{
	int64_t size[MAX_RANK];
	int n;

	if (!check_image(c, err) || (n = call_ints(c, 1, size, err)) < 0)
		return false;
	if (n != 2 || size[0] <= 0 || size[1] <= 0 || call_tensor(c, 0)->size[2] <= 0 || call_tensor(c, 0)->size[3] <= 0)
		return call_fail(c, err, "the output size must be two positive numbers, the input must not be empty");
	for (int i = 3; i < 5; i++)
		if (call_has(c, i) && !(call_double(c, i, 1) > 1e-6 && call_double(c, i, 1) < 1e6))
			return call_fail(c, err, "a scale of %g is out of range", call_double(c, i, 1));
	return set_size(c, size[0], size[1], err);
}

/* The triangle around one output position: input positions [from, to) and their weights. */
struct window {
	int64_t from, to;
	float *weight;
};

static bool triangle(struct call *c, int64_t o, int64_t in, float scale, struct window *found, struct error *err)
{
	float center = scale * ((float)o + 0.5f), support = scale >= 1 ? scale : 1, inverse = 1 / support, total = 0;
	int64_t from = (int64_t)(center - support + 0.5f), to = (int64_t)(center + support + 0.5f);
	struct window w = { from < 0 ? 0 : from, to > in ? in : to, NULL };

	w.weight = plain_scratch(c, w.from < w.to ? w.to - w.from : 1, sizeof *w.weight, err);
	if (!w.weight)
		return false;
	if (w.from < w.to) {
		for (int64_t x = w.from; x < w.to; x++) {
			float d = fabsf(((float)x - center + 0.5f) * inverse);

			total += w.weight[x - w.from] = d < 1 ? 1 - d : 0;
		}
	}
	if (total > 0) {
		for (int64_t x = w.from; x < w.to; x++)
			w.weight[x - w.from] /= total;
		*found = w;
		return true;
	}
	w.from = (int64_t)center < in - 1 ? (int64_t)center : in - 1;
	w.from = w.from < 0 ? 0 : w.from;
	w.to = w.from + 1;
	*w.weight = 1;
	*found = w;
	return true;
}

/* Both scales count, or neither. */
static float aa_scale(struct call *c, int d)
{
	double in = (double)call_tensor(c, 0)->size[2 + d], out = (double)c->out[0]->size[2 + d];
	double given = call_has(c, 3) && call_has(c, 4) ? call_double(c, 3 + d, 1) : out / in;

	if (call_bool(c, 2, false))
		return out > 1 ? (float)((in - 1) / (out - 1)) : 0;
	return (float)(1 / given);
}

#define WEIGHTED(T, name) \
static T name(const T *plane, int64_t width, const struct window *h, const struct window *w) \
{ \
	T sum = 0; \
	for (int64_t y = h->from; y < h->to; y++) \
		for (int64_t x = w->from; x < w->to; x++) \
			sum += plane[y * width + x] * h->weight[y - h->from] * w->weight[x - w->from]; \
	return sum; \
}
WEIGHTED(float, weighted_f32)
WEIGHTED(double, weighted_f64)

static bool aa_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	int64_t h = out->size[2], w = out->size[3], plane = in->size[2] * in->size[3];
	enum kind k = float_kind(in);
	const void *x = plain_read(c, in, k, err);
	void *y = plain_out(c, out, k, err);
	struct window *row = plain_scratch(c, tensor_numel(out) ? h : 0, sizeof *row, err), *col = plain_scratch(c, tensor_numel(out) ? w : 0, sizeof *col, err);

	if (!x || !y || !row || !col)
		return false;
	if (!tensor_numel(out))
		return true;
	for (int64_t i = 0; i < h; i++)
		if (!triangle(c, i, in->size[2], aa_scale(c, 0), &row[i], err))
			return false;
	for (int64_t i = 0; i < w; i++)
		if (!triangle(c, i, in->size[3], aa_scale(c, 1), &col[i], err))
			return false;
	for (int64_t i = 0; i < tensor_numel(out); i++) {
		int64_t at = i / (h * w) * plane;

		if (k == KIND_F32)
			((float *)y)[i] = weighted_f32((const float *)x + at, in->size[3], &row[i / w % h], &col[i % w]);
		else
			((double *)y)[i] = weighted_f64((const double *)x + at, in->size[3], &row[i / w % h], &col[i % w]);
	}
	plain_store(out, k, y);
	return true;
}

const struct op op_resize[] = {
	{ "aten._upsample_bilinear2d_aa.default", "aten::_upsample_bilinear2d_aa.out", "TAB?" "?>T",
	  "self, output_size, align_corners, scales_h, scales_w", DTYPES_REAL, 0, aa_shape, aa_kernel },
	{ "aten.upsample_bilinear2d.vec", "aten::upsample_bilinear2d.vec_out", "TABF>T",
	  "input, output_size, align_corners, scale_factors", DTYPES_REAL, 0, bilinear_shape, bilinear_kernel },
	{ "aten.upsample_nearest2d.vec", "aten::upsample_nearest2d.vec_out", "TAF>T",
	  "input, output_size, scale_factors", DTYPES_REAL, 0, nearest_shape, nearest_kernel },
	{ 0 },
};
