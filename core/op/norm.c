/* The normalisations. Computed in float (double for f64), sums in double, so that a mean far from zero costs no digits
 * where the stock kernels' E[x^2] - E[x]^2 in float does. Stock takes the default dim order only; here all but layer norm
 * take channels last as well. */
#include "core/op/clones.h"
#include "core/op/plain.h"

#include <math.h>
#include <string.h>

/* ---- what the normalisations share ---- */

#define MOMENTS_BODY \
	double s[8] = { 0 }, q[8] = { 0 }; \
	int64_t j = 0; \
	for (; j + 8 <= n; j += 8) \
		for (int l = 0; l < 8; l++) { \
			double v = (double)x[j + l]; \
			s[l] += v; \
			q[l] += v * v; \
		} \
	for (; j < n; j++) { \
		s[j & 7] += (double)x[j]; \
		q[j & 7] += (double)x[j] * (double)x[j]; \
	} \
	for (int l = 0; l < 8; l++) { \
		*sum += s[l]; \
		*squares += q[l]; \
	}

CLONES static void moments_f32(const float *x, int64_t n, double *sum, double *squares) { MOMENTS_BODY }
CLONES static void moments_f64(const double *x, int64_t n, double *sum, double *squares) { MOMENTS_BODY }

static void moments(enum kind k, const void *x, int64_t n, double *sum, double *squares)
{
	if (k == KIND_F32)
		moments_f32(x, n, sum, squares);
	else
		moments_f64(x, n, sum, squares);
}

/* 1 / standard deviation. */
static double inverse_std(double sum, double squares, int64_t n, double eps)
{
	double mean = sum / (double)n, variance = squares / (double)n - mean * mean;

	return 1 / sqrt((variance < 0 ? 0 : variance) + eps);
}

/* y = (x - mean) * scale + shift, over n elements of one channel. */
#define AFFINE_BODY(T) \
	T m = (T)mean, s = (T)scale, b = (T)shift; \
	for (int64_t j = 0; j < n; j++) \
		y[j] = (x[j] - m) * s + b;

CLONES static void affine_f32(const float *restrict x, float *restrict y, int64_t n, double mean, double scale, double shift)
{
	AFFINE_BODY(float)
}

CLONES static void affine_f64(const double *restrict x, double *restrict y, int64_t n, double mean, double scale, double shift)
{
	AFFINE_BODY(double)
}

static void affine(enum kind k, const void *x, void *y, int64_t at, int64_t n, double mean, double scale, double shift)
{
	if (k == KIND_F32)
		affine_f32((const float *)x + at, (float *)y + at, n, mean, scale, shift);
	else
		affine_f64((const double *)x + at, (double *)y + at, n, mean, scale, shift);
}

static double get(enum kind k, const void *data, int64_t i, double otherwise)
{
	return data ? dtype_get(kind_dtype(k), data, (size_t)i) : otherwise;
}

static void put(enum kind k, void *data, int64_t i, double v)
{
	dtype_put(kind_dtype(k), data, (size_t)i, v);
}

/* An optional parameter: a vector of n elements of the input's dtype. */
static bool check_vector(struct call *c, int i, int64_t n, struct error *err)
{
	struct tensor *t = call_tensor(c, i), *in = call_tensor(c, 0);

	return !t || (t->rank == 1 && t->size[0] == n && t->dtype == in->dtype) ||
	       call_fail(c, err, "argument %d must be %s[%lld]", i, dtype_name(in->dtype), (long long)n);
}

struct norm {
	enum kind kind;
	const void *x, *weight, *bias;	/* weight and bias may be NULL: 1 and 0 */
	void *out[3];			/* result, mean, 1 / std */
	double eps;
};

static bool norm_open(struct call *c, struct norm *n, int weight, int bias, double eps, struct error *err)
{
	struct tensor *w = call_tensor(c, weight), *b = call_tensor(c, bias);

	n->kind = kind_of(call_tensor(c, 0)->dtype);
	n->eps = eps;
	n->x = plain_read(c, call_tensor(c, 0), n->kind, err);
	n->weight = w ? plain_read(c, w, n->kind, err) : NULL;
	n->bias = b ? plain_read(c, b, n->kind, err) : NULL;
	for (int i = 0; i < 3; i++)
		if (!(n->out[i] = plain_out(c, c->out[i], n->kind, err)))
			return false;
	return n->x && (n->weight || !w) && (n->bias || !b);
}

static bool norm_close(struct call *c, struct norm *n)
{
	for (int i = 0; i < 3; i++)
		plain_store(c->out[i], n->kind, n->out[i]);
	return true;
}

/* ---- batch norm ---- */

/* mean: number of the argument running_mean, which running_var follows, or -1. */
static bool batch_norm_shape(struct call *c, int mean, struct error *err)
{
	struct tensor *in;

	if (!call_check(c, err) || !call_image_order(c, 0, err))
		return false;
	in = call_tensor(c, 0);
	if (in->rank < 2)
		return call_fail(c, err, "the input has rank %d, must have 2 or more", in->rank);
	if (!check_vector(c, 1, in->size[1], err) || !check_vector(c, 2, in->size[1], err) ||
	    (mean >= 0 && (!check_vector(c, mean, in->size[1], err) || !check_vector(c, mean + 1, in->size[1], err))))
		return false;
	tensor_set_like(c->out[0], in);
	for (int i = 1; i < 3; i++)
		tensor_set_type(c->out[i], in->dtype, 1, (int64_t[]){ mean >= 0 ? 0 : in->size[1] });
	return true;
}

static bool inference_shape(struct call *c, struct error *err)
{
	return batch_norm_shape(c, 3, err);
}

static bool legit_shape(struct call *c, struct error *err)
{
	return batch_norm_shape(c, 3, err) &&
	       (!call_bool(c, 5, false) || call_fail(c, err, "only inference is supported, training is not"));
}

static bool no_stats_shape(struct call *c, struct error *err)
{
	return batch_norm_shape(c, -1, err);
}

static bool inference_run(struct call *c, double eps, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);
	int64_t channels = in->size[1], inner = dtype_numel(in->rank - 2, in->size + 2);
	struct norm n;
	const void *mean, *var;

	if (!norm_open(c, &n, 1, 2, eps, err))
		return false;
	mean = plain_read(c, call_tensor(c, 3), n.kind, err);
	var = plain_read(c, call_tensor(c, 4), n.kind, err);
	if (!mean || !var)
		return false;
	for (int64_t i = 0; i < in->size[0] * channels; i++) {
		int64_t ch = i % channels;
		double scale = get(n.kind, n.weight, ch, 1) / sqrt(get(n.kind, var, ch, 0) + eps);

		affine(n.kind, n.x, n.out[0], i * inner, inner, get(n.kind, mean, ch, 0), scale, get(n.kind, n.bias, ch, 0));
	}
	return norm_close(c, &n);
}

static bool inference_kernel(struct call *c, struct error *err)
{
	return inference_run(c, call_double(c, 6, 0), err);
}

static bool legit_kernel(struct call *c, struct error *err)
{
	return inference_run(c, call_double(c, 7, 0), err);
}

static bool no_stats_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);
	int64_t channels = in->size[1], inner = dtype_numel(in->rank - 2, in->size + 2), count = in->size[0] * inner;
	struct norm n;

	if (!norm_open(c, &n, 1, 2, call_double(c, 5, 0), err))
		return false;
	for (int64_t ch = 0; ch < channels; ch++) {
		double sum = 0, squares = 0, inv;

		for (int64_t b = 0; b < in->size[0]; b++)
			moments(n.kind, (const char *)n.x + (size_t)((b * channels + ch) * inner) * kind_bytes(n.kind), inner,
				&sum, &squares);
		inv = inverse_std(sum, squares, count, n.eps);
		for (int64_t b = 0; b < in->size[0]; b++)
			affine(n.kind, n.x, n.out[0], (b * channels + ch) * inner, inner, sum / (double)count,
			       inv * get(n.kind, n.weight, ch, 1), get(n.kind, n.bias, ch, 0));
		put(n.kind, n.out[1], ch, sum / (double)count);
		put(n.kind, n.out[2], ch, inv);
	}
	return norm_close(c, &n);
}

/* ---- group norm: (input, weight, bias, N, C, HxW, group, eps) ---- */

static bool group_norm_shape(struct call *c, struct error *err)
{
	struct tensor *in;
	int64_t group;

	if (!call_check(c, err) || !call_image_order(c, 0, err) ||
	    !call_known(c, 6, err))
		return false;
	in = call_tensor(c, 0);
	group = call_int(c, 6, 0);
	if (in->rank < 2)
		return call_fail(c, err, "the input has rank %d, must have 2 or more", in->rank);
	if (group <= 0 || in->size[1] % group)
		return call_fail(c, err, "%lld groups do not divide %lld channels", (long long)group, (long long)in->size[1]);
	if (!check_vector(c, 1, in->size[1], err) || !check_vector(c, 2, in->size[1], err))
		return false;
	tensor_set_like(c->out[0], in);
	for (int i = 1; i < 3; i++)
		tensor_set_type(c->out[i], in->dtype, 2, (int64_t[]){ in->size[0], group });
	return true;
}

static bool group_norm_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);
	int64_t group = call_int(c, 6, 1), each = in->size[1] / group, inner = dtype_numel(in->rank - 2, in->size + 2);
	int64_t n = call_int(c, 3, 0), channels = call_int(c, 4, 0), plane = call_int(c, 5, 0), count = each * inner;
	struct norm v;

	/* Known only now where sizes are dynamic. */
	if (n != in->size[0] || channels != in->size[1] || (plane != inner && tensor_numel(in)))
		return call_fail(c, err, "N, C and HxW of %lld, %lld and %lld are not those of the input", (long long)n,
				 (long long)channels, (long long)plane);
	if (!norm_open(c, &v, 1, 2, call_double(c, 7, 0), err))
		return false;
	for (int64_t i = 0; i < in->size[0] * group; i++) {
		double sum = 0, squares = 0, inv;

		moments(v.kind, (const char *)v.x + (size_t)(i * count) * kind_bytes(v.kind), count, &sum, &squares);
		inv = count ? inverse_std(sum, squares, count, v.eps) : NAN;
		for (int64_t j = 0; j < each; j++) {
			int64_t ch = i % group * each + j;

			affine(v.kind, v.x, v.out[0], (i * each + j) * inner, inner, sum / (double)count,
			       inv * get(v.kind, v.weight, ch, 1), get(v.kind, v.bias, ch, 0));
		}
		put(v.kind, v.out[1], i, count ? sum / (double)count : 0);
		put(v.kind, v.out[2], i, inv);
	}
	return norm_close(c, &v);
}

/* ---- layer norm: (input, normalized_shape, weight, bias, eps) ---- */

static bool check_normalized(struct call *c, int i, int n, const int64_t *shape, struct error *err)
{
	struct tensor *t = call_tensor(c, i), *in = call_tensor(c, 0);
	bool ok = !t || (t->rank == n && t->dtype == in->dtype);

	for (int d = 0; ok && t && d < n; d++)
		ok = t->size[d] == shape[d];
	return ok || call_fail(c, err, "argument %d must be %s of the normalized shape", i, dtype_name(in->dtype));
}

static bool layer_norm_shape(struct call *c, struct error *err)
{
	struct tensor *in;
	int64_t shape[MAX_RANK], size[MAX_RANK];
	int n;

	if (!call_check(c, err) || (n = call_ints(c, 1, shape, err)) < 0)
		return false;
	in = call_tensor(c, 0);
	if (!tensor_is_default_order(in))
		return call_fail(c, err, "the input is not in the default dim order");
	if (n < 1 || n > in->rank)
		return call_fail(c, err, "the normalized shape has %d dimensions, the input has %d", n, in->rank);
	memcpy(size, in->size, sizeof size);
	for (int d = 0; d < n; d++) {
		if (shape[d] != in->size[in->rank - n + d])
			return call_fail(c, err, "normalized dimension %d is %lld, the input's is %lld", d, (long long)shape[d],
					 (long long)in->size[in->rank - n + d]);
		size[in->rank - n + d] = 1;
	}
	if (!check_normalized(c, 2, n, shape, err) || !check_normalized(c, 3, n, shape, err))
		return false;
	tensor_set_like(c->out[0], in);
	tensor_set_type(c->out[1], in->dtype, in->rank, size);
	tensor_set_type(c->out[2], in->dtype, in->rank, size);
	return true;
}

#define LAYER_ROW_BODY(T) \
	T m = (T)mean, s = (T)inv; \
	for (int64_t j = 0; j < n; j++) \
		y[j] = (x[j] - m) * s; \
	for (int64_t j = 0; j < n && w; j++) \
		y[j] *= w[j]; \
	for (int64_t j = 0; j < n && b; j++) \
		y[j] += b[j];

CLONES static void layer_row_f32(const float *restrict x, float *restrict y, int64_t n, const float *w, const float *b,
				 double mean, double inv)
{
	LAYER_ROW_BODY(float)
}

CLONES static void layer_row_f64(const double *restrict x, double *restrict y, int64_t n, const double *w, const double *b,
				 double mean, double inv)
{
	LAYER_ROW_BODY(double)
}

static bool layer_norm_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);
	int k = call_length(c, 1);
	int64_t n = dtype_numel(k, in->size + in->rank - k), rows = dtype_numel(in->rank - k, in->size);
	struct norm v;

	if (!norm_open(c, &v, 2, 3, call_double(c, 4, 0), err))
		return false;
	for (int64_t i = 0; i < rows; i++) {
		double sum = 0, squares = 0, inv, mean;
		size_t at = (size_t)(i * n) * kind_bytes(v.kind);

		moments(v.kind, (const char *)v.x + at, n, &sum, &squares);
		inv = n ? inverse_std(sum, squares, n, v.eps) : NAN;
		mean = n ? sum / (double)n : 0;
		if (v.kind == KIND_F32)
			layer_row_f32((const float *)v.x + i * n, (float *)v.out[0] + i * n, n, v.weight, v.bias, mean, inv);
		else
			layer_row_f64((const double *)v.x + i * n, (double *)v.out[0] + i * n, n, v.weight, v.bias, mean, inv);
		put(v.kind, v.out[1], i, mean);
		put(v.kind, v.out[2], i, inv);
	}
	return norm_close(c, &v);
}

const struct op op_norm[] = {
	{ "aten._native_batch_norm_legit.default", "aten::_native_batch_norm_legit.out", "TttTTBDD>TTT",
	  "input, weight, bias, running_mean, running_var, training, momentum, eps", DTYPES_FLOAT, 0, legit_shape,
	  legit_kernel },
	{ "aten._native_batch_norm_legit.no_stats", "aten::_native_batch_norm_legit.no_stats_out", "TttBDD>TTT",
	  "input, weight, bias, training, momentum, eps", DTYPES_FLOAT, 0, no_stats_shape, no_stats_kernel },
	{ "aten._native_batch_norm_legit_no_training.default", "aten::_native_batch_norm_legit_no_training.out",
	  "TttTTDD>TTT", "input, weight, bias, running_mean, running_var, momentum, eps", DTYPES_FLOAT, 0,
	  inference_shape, inference_kernel },
	{ "aten.native_group_norm.default", "aten::native_group_norm.out", "TttIIIID>TTT",
	  "input, weight, bias, N, C, HxW, group, eps", DTYPES_FLOAT, 0, group_norm_shape, group_norm_kernel },
	{ "aten.native_layer_norm.default", "aten::native_layer_norm.out", "TAttD>TTT",
	  "input, normalized_shape, weight, bias, eps", DTYPES_FLOAT, 0, layer_norm_shape, layer_norm_kernel },
	{ 0 },
};
