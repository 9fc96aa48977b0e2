/* aten.convolution: 1-D, 2-D and 3-D, transposed, grouped, dilated, any weight order.
 *
 * The stock portable kernel refuses 3-D (rank 5) and so a program with one does not run there; here it is computed, so
 * that an edit around it can be checked. Three ways through: a matrix product over patches (im2col, never stored whole);
 * direct loops where a group has few output channels (depthwise); and, transposed, a product of weights and input
 * whose rows are added to where they fall. The first two sum in the stock order: channel, then tap. */
#include "core/op/conv.h"
#include "core/op/matmul.h"

#include <math.h>
#include <string.h>

enum { SPATIAL = CONV_SPATIAL, FEW_CHANNELS = 4, STRIP_BYTES = 16384, COLUMNS_BYTES = 1 << 22 };

/* Every convolution as a 3-D one: leading spatial dimensions of size 1 are put in. */
struct conv {
	int64_t batch, groups, in_c, out_c;	/* channels in each group */
	int64_t in[SPATIAL], k[SPATIAL], out[SPATIAL];
	int64_t stride[SPATIAL], pad[SPATIAL], dilation[SPATIAL];
	int64_t in_plane, out_plane, taps;	/* products of the above */
	enum kind kind;
	const void *src;	/* [in_c, in plane] of one batch and group */
	const void *weight;	/* [out_c, in_c, taps] of one group; transposed: [in_c, out_c, taps] */
	void *dst;		/* [out_c, out plane] */
};

/* ---- checks ---- */

/* One number stands for all dimensions. */
static bool read_list(struct call *c, int i, const char *what, int nd, int64_t min, int64_t *at, struct error *err)
{
	int64_t given[MAX_RANK];
	int n = call_ints(c, i, given, err);

	if (n < 0)
		return false;
	if (n != 1 && n != nd)
		return call_fail(c, err, "%s has %d numbers, must have 1 or %d", what, n, nd);
	for (int d = 0; d < nd; d++) {
		at[d] = given[n == 1 ? 0 : d];
		if (at[d] < min || at[d] > INT32_MAX)
			return call_fail(c, err, "%s is %lld, must be at least %lld", what, (long long)at[d], (long long)min);
	}
	return true;
}

bool conv_read_args(struct call *c, int first, int nd, struct conv_args *a, struct error *err)
{
	a->nd = nd;
	a->transposed = call_bool(c, first + 3, false);
	a->groups = call_int(c, first + 5, 1);
	if (!read_list(c, first, "stride", nd, 1, a->stride, err) || !read_list(c, first + 1, "padding", nd, 0, a->pad, err) ||
	    !read_list(c, first + 2, "dilation", nd, 1, a->dilation, err))
		return false;
	if (!a->transposed)
		return true;
	if (!read_list(c, first + 4, "output padding", nd, 0, a->out_pad, err))
		return false;
	for (int d = 0; d < nd; d++)
		if (a->out_pad[d] >= a->stride[d] && a->out_pad[d] >= a->dilation[d])
			return call_fail(c, err, "output padding %lld is not smaller than stride or dilation",
					 (long long)a->out_pad[d]);
	return true;
}

static bool check_tensors(struct call *c, struct error *err)
{
	struct tensor *in, *w;

	if (!call_check(c, err))
		return false;
	in = call_tensor(c, 0), w = call_tensor(c, 1);
	if (in->dtype != w->dtype)
		return call_fail(c, err, "input and weight are %s and %s, must be one dtype", dtype_name(in->dtype),
				 dtype_name(w->dtype));
	if (in->rank < 3 || in->rank > 5 || w->rank != in->rank)
		return call_fail(c, err, "input and weight have ranks %d and %d, must have one of 3 to 5", in->rank, w->rank);
	return call_image_order(c, 0, err);
}

static bool check_channels(struct call *c, const struct conv_args *a, const struct tensor *in, const struct tensor *w,
			   int64_t *makes, struct error *err)
{
	int64_t takes = a->transposed ? w->size[0] : 0;

	*makes = w->size[0];
	if (a->groups < 1 || w->size[0] < a->groups || w->size[0] % a->groups)
		return call_fail(c, err, "%lld groups do not divide a weight of %lld", (long long)a->groups,
				 (long long)w->size[0]);
	if (__builtin_mul_overflow(a->groups, w->size[1], a->transposed ? makes : &takes))
		return call_fail(c, err, "too many channels");
	if (in->size[1] != takes)
		return call_fail(c, err, "the input has %lld channels, the weight takes %lld", (long long)in->size[1],
				 (long long)takes);
	return true;
}

/* Sizes stay far below overflow: a file's sizes are int32, and so are the numbers that read_list lets through. */
static int64_t out_size(const struct conv_args *a, int64_t in, int64_t k, int d)
{
	if (a->transposed)
		return (in - 1) * a->stride[d] - 2 * a->pad[d] + a->dilation[d] * (k - 1) + a->out_pad[d] + 1;
	if (in + 2 * a->pad[d] < a->dilation[d] * (k - 1) + 1)
		return 0;
	return (in + 2 * a->pad[d] - a->dilation[d] * (k - 1) - 1) / a->stride[d] + 1;
}

bool conv_output(struct call *c, const struct conv_args *a, const struct tensor *in, const struct tensor *w, struct tensor *out,
		 struct error *err)
{
	int64_t makes;

	if (!check_channels(c, a, in, w, &makes, err))
		return false;
	tensor_set_like(out, in);
	out->size[1] = in->size[1] ? makes : 0;
	for (int d = 0; d < a->nd; d++) {
		if (in->size[2 + d] > INT32_MAX || w->size[2 + d] > INT32_MAX)
			return call_fail(c, err, "a dimension is too large");
		out->size[2 + d] = out_size(a, in->size[2 + d], w->size[2 + d], d);
		if (out->size[2 + d] <= 0)
			return call_fail(c, err, "%lld input positions are too few for a kernel of %lld",
					 (long long)in->size[2 + d], (long long)w->size[2 + d]);
	}
	tensor_set_strides(out);
	return call_sizes_ok(c, out->dtype, out->rank, out->size, err);
}

static bool convolution_shape(struct call *c, struct error *err)
{
	struct tensor *in, *w, *bias, *out = c->out[0];
	struct conv_args a;
	int64_t makes;

	if (!check_tensors(c, err))
		return false;
	in = call_tensor(c, 0), w = call_tensor(c, 1), bias = call_tensor(c, 2);
	if (!conv_read_args(c, 3, in->rank - 2, &a, err) || !conv_output(c, &a, in, w, out, err))
		return false;
	makes = a.transposed ? a.groups * w->size[1] : w->size[0];
	if (bias && (bias->rank != 1 || bias->size[0] != makes || !dtype_in(bias->dtype, DTYPES_REAL)))
		return call_fail(c, err, "the bias must be one number for each of %lld channels", (long long)makes);
	return true;
}

/* ---- geometry ---- */

/* Output positions o in [*from, *to) for which o * stride + offset lies in [0, size). */
static void valid_range(int64_t size, int64_t stride, int64_t offset, int64_t count, int64_t *from, int64_t *to)
{
	*from = offset < 0 ? (-offset + stride - 1) / stride : 0;
	*to = size > offset ? (size - offset - 1) / stride + 1 : 0;
	if (*to > count)
		*to = count;
	if (*from > *to)
		*from = *to;
}

/* Which tap, and how far from o * stride it reads. */
static void tap_offset(const struct conv *v, int64_t tap, int64_t *offset)
{
	for (int d = SPATIAL - 1; d >= 0; d--) {
		offset[d] = tap % v->k[d] * v->dilation[d] - v->pad[d];
		tap /= v->k[d];
	}
}

/* The input row that output row ROW (z * out height + y) reads through a tap, or -1 when it is all padding. */
static int64_t input_row(const struct conv *v, int64_t row, const int64_t *offset)
{
	int64_t z = row / v->out[1] * v->stride[0] + offset[0], y = row % v->out[1] * v->stride[1] + offset[1];

	return z >= 0 && z < v->in[0] && y >= 0 && y < v->in[1] ? z * v->in[1] + y : -1;
}

/* ---- im2col: row k of B is (channel, tap), column j an output position ---- */

#define COPY_ROW(T) \
	do { \
		const T *s_ = (const T *)v->src + ic * v->in_plane + r * v->in[2] + offset[2]; \
		T *d_ = (T *)to; \
		memset(d_, 0, (size_t)(a - x) * sizeof(T)); \
		if (v->stride[2] == 1) \
			memcpy(d_ + a - x, s_ + a, (size_t)(b - a) * sizeof(T)); \
		else \
			for (int64_t i = a; i < b; i++) \
				d_[i - x] = s_[i * v->stride[2]]; \
		memset(d_ + b - x, 0, (size_t)(end - b) * sizeof(T)); \
	} while (0)

static void fetch_patches(const void *ctx, int64_t k, int64_t j, int64_t n, void *row)
{
	const struct conv *v = ctx;
	int64_t ic = k / v->taps, offset[SPATIAL], from, upto;
	size_t bytes = kind_bytes(v->kind);

	tap_offset(v, k % v->taps, offset);
	valid_range(v->in[2], v->stride[2], offset[2], v->out[2], &from, &upto);
	for (char *to = row; n; ) {
		int64_t x = j % v->out[2], end = x + n < v->out[2] ? x + n : v->out[2];
		int64_t r = input_row(v, j / v->out[2], offset), a = from > x ? from : x, b = upto < end ? upto : end;

		if (r < 0 || a >= b)
			memset(to, 0, (size_t)(end - x) * bytes);
		else if (bytes == 4)
			COPY_ROW(float);
		else
			COPY_ROW(double);
		to += (size_t)(end - x) * bytes;
		j += end - x;
		n -= end - x;
	}
}

static bool conv_product(struct call *c, const struct conv *v, struct matmul *mm, struct error *err)
{
	bool pointwise = v->taps == 1 && v->out_plane == v->in_plane;

	for (int d = 0; d < SPATIAL; d++)
		pointwise = pointwise && v->stride[d] == 1 && !v->pad[d];
	mm->kind = v->kind;
	mm->m = v->out_c, mm->n = v->out_plane, mm->k = v->in_c * v->taps;
	mm->a = (struct matrix){ v->weight, mm->k, 1 };
	mm->b = (struct matrix){ v->src, v->in_plane, 1 };
	mm->fetch = pointwise ? NULL : fetch_patches;
	mm->ctx = v;
	mm->c = v->dst, mm->c_row = v->out_plane, mm->c_col = 1;
	return matmul_run(c, mm, err);
}

/* ---- direct: strips of output rows that stay in the first-level cache ---- */

#define STRIP(T, SUM) \
	for (int64_t ic = 0; ic < v->in_c; ic++) \
		for (int64_t tap = 0; tap < v->taps; tap++) { \
			SUM w = (SUM)((const T *)v->weight)[(oc * v->in_c + ic) * v->taps + tap]; \
			tap_offset(v, tap, offset); \
			valid_range(v->in[2], v->stride[2], offset[2], v->out[2], &a, &b); \
			for (int64_t row = row0; row < row1; row++) { \
				int64_t r = input_row(v, row, offset); \
				const T *s = (const T *)v->src + ic * v->in_plane + r * v->in[2] + offset[2]; \
				T *d = (T *)v->dst + oc * v->out_plane + row * v->out[2]; \
				if (r < 0) \
					continue; \
				if (v->stride[2] == 1) \
					for (int64_t i = a; i < b; i++) \
						d[i] = (T)((SUM)d[i] + w * (SUM)s[i]); \
				else \
					for (int64_t i = a; i < b; i++) \
						d[i] = (T)((SUM)d[i] + w * (SUM)s[i * v->stride[2]]); \
			} \
		}

static void conv_strip(const struct conv *v, int64_t oc, int64_t row0, int64_t row1)
{
	int64_t offset[SPATIAL], a, b;

	switch (v->kind) {
	case KIND_F32: STRIP(float, float) break;
	case KIND_F64: STRIP(double, double) break;
	default: STRIP(int64_t, uint64_t) break;
	}
}

static void conv_direct(const struct conv *v)
{
	int64_t rows = v->out[0] * v->out[1], strip = STRIP_BYTES / (v->out[2] * (int64_t)kind_bytes(v->kind)) + 1;

	memset(v->dst, 0, (size_t)(v->out_c * v->out_plane) * kind_bytes(v->kind));
	for (int64_t oc = 0; oc < v->out_c; oc++)
		for (int64_t row = 0; row < rows; row += strip)
			conv_strip(v, oc, row, row + strip < rows ? row + strip : rows);
}

/* ---- transposed: columns[out channel, tap][input position], added where they fall ---- */

#define ADD_ROWS(T, SUM) \
	for (int64_t row = 0; row < v->in[0] * v->in[1]; row++) { \
		int64_t z = row / v->in[1] * v->stride[0] + offset[0], y = row % v->in[1] * v->stride[1] + offset[1]; \
		const T *s = (const T *)col + row * v->in[2]; \
		T *d = (T *)v->dst + oc * v->out_plane + (z * v->out[1] + y) * v->out[2] + offset[2]; \
		if (z < 0 || z >= v->out[0] || y < 0 || y >= v->out[1]) \
			continue; \
		for (int64_t i = a; i < b; i++) \
			d[i * v->stride[2]] = (T)((SUM)d[i * v->stride[2]] + (SUM)s[i]); \
	}

static void add_column(const struct conv *v, int64_t oc, int64_t tap, const void *col)
{
	int64_t offset[SPATIAL], a, b;

	tap_offset(v, tap, offset);
	valid_range(v->out[2], v->stride[2], offset[2], v->in[2], &a, &b);
	switch (v->kind) {
	case KIND_F32: ADD_ROWS(float, float) break;
	case KIND_F64: ADD_ROWS(double, double) break;
	default: ADD_ROWS(int64_t, uint64_t) break;
	}
}

static int64_t column_channels(const struct conv *v)
{
	int64_t each = v->taps * v->in_plane * (int64_t)kind_bytes(v->kind), n = each ? COLUMNS_BYTES / each : v->out_c;

	return n < 1 ? 1 : n > v->out_c ? v->out_c : n;
}

/* columns: room for column_channels() of them. */
static bool conv_transposed(struct call *c, const struct conv *v, struct matmul *mm, void *columns, struct error *err)
{
	int64_t step = column_channels(v);
	size_t bytes = kind_bytes(v->kind);

	mm->kind = v->kind;
	mm->n = v->in_plane, mm->k = v->in_c;
	mm->b = (struct matrix){ v->src, v->in_plane, 1 };
	mm->c = columns, mm->c_row = v->in_plane, mm->c_col = 1;
	for (int64_t oc = 0; oc < v->out_c; oc += step) {
		int64_t n = v->out_c - oc < step ? v->out_c - oc : step;

		mm->m = n * v->taps;
		mm->a = (struct matrix){ (const char *)v->weight + (size_t)(oc * v->taps) * bytes, 1, v->out_c * v->taps };
		if (!matmul_run(c, mm, err))
			return false;
		for (int64_t i = 0; i < mm->m; i++)
			add_column(v, oc + i / v->taps, i % v->taps, (char *)columns + (size_t)(i * v->in_plane) * bytes);
	}
	return true;
}

/* ---- the kernel ---- */

/* Padding that is multiplied is a NaN where the weight is infinite; the direct loops leave it out. */
static bool all_finite(enum kind k, const void *data, int64_t n)
{
	bool ok = true;

	for (int64_t i = 0; i < n && k == KIND_F32; i++)
		ok &= isfinite(((const float *)data)[i]) != 0;
	for (int64_t i = 0; i < n && k == KIND_F64; i++)
		ok &= isfinite(((const double *)data)[i]) != 0;
	return ok;
}

#define FILL(T, SUM) \
	for (int64_t i = 0; i < n; i++) { \
		T *o = (T *)out + i * plane, b = ((const T *)bias)[i % channels]; \
		for (int64_t j = 0; j < plane; j++) \
			o[j] = (T)((SUM)o[j] + (SUM)b); \
	}

static void add_bias(enum kind k, void *out, int64_t n, int64_t plane, const void *bias, int64_t channels)
{
	switch (k) {
	case KIND_F32: FILL(float, float) break;
	case KIND_F64: FILL(double, double) break;
	default: FILL(int64_t, uint64_t) break;
	}
}

/* A trailing dimension that is 1 throughout (a 1-D convolution that XNNPACK runs as a 2-D one) moves to the front,
 * so that rows are long. */
static void turn_trailing_ones(struct conv *v)
{
	int64_t *part[] = { v->in, v->out, v->k, v->stride, v->pad, v->dilation };

	for (int turn = 1; turn < SPATIAL && v->in[SPATIAL - 1] * v->out[SPATIAL - 1] * v->k[SPATIAL - 1] == 1 &&
			   !v->pad[SPATIAL - 1]; turn++)
		for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
			int64_t last = part[i][SPATIAL - 1];

			memmove(part[i] + 1, part[i], (SPATIAL - 1) * sizeof *part[i]);
			part[i][0] = last;
		}
}

static void set_geometry(struct conv *v, const struct conv_args *a, const struct tensor *in, const struct tensor *w,
			 const struct tensor *out)
{
	*v = (struct conv){ .batch = in->size[0], .groups = a->groups, .in_c = in->size[1] / a->groups,
			    .out_c = out->size[1] / a->groups, .kind = kind_of(in->dtype) };
	v->in_plane = v->out_plane = v->taps = 1;
	for (int s = 0; s < SPATIAL; s++) {
		int d = s - (SPATIAL - a->nd);	/* < 0: a dimension put in */

		v->in[s] = d < 0 ? 1 : in->size[2 + d];
		v->out[s] = d < 0 ? 1 : out->size[2 + d];
		v->k[s] = d < 0 ? 1 : w->size[2 + d];
		v->stride[s] = d < 0 ? 1 : a->stride[d];
		v->pad[s] = d < 0 ? 0 : a->pad[d];
		v->dilation[s] = d < 0 ? 1 : a->dilation[d];
		v->in_plane *= v->in[s];
		v->out_plane *= v->out[s];
		v->taps *= v->k[s];
	}
	turn_trailing_ones(v);
}

static bool run_groups(struct call *c, struct conv *v, bool transposed, struct error *err)
{
	size_t bytes = kind_bytes(v->kind);
	const char *src = v->src, *weight = v->weight;
	char *dst = v->dst;
	struct matmul mm = { .kind = v->kind };
	bool direct = !transposed && (v->out_c < FEW_CHANNELS ||
				      !all_finite(v->kind, weight, v->groups * v->out_c * v->in_c * v->taps));
	void *columns = NULL;

	if (transposed && !(columns = plain_alloc(c, v->kind, column_channels(v) * v->taps * v->in_plane, err)))
		return false;
	for (int64_t i = 0; i < v->batch * v->groups; i++) {
		v->src = src + (size_t)(i * v->in_c * v->in_plane) * bytes;
		v->weight = weight + (size_t)(i % v->groups * v->out_c * v->in_c * v->taps) * bytes;
		v->dst = dst + (size_t)(i * v->out_c * v->out_plane) * bytes;
		if (transposed)
			memset(v->dst, 0, (size_t)(v->out_c * v->out_plane) * bytes);
		if (direct)
			conv_direct(v);
		else if (!(transposed ? conv_transposed(c, v, &mm, columns, err) : conv_product(c, v, &mm, err)))
			return false;
	}
	return true;
}

static bool convolution_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *w = call_tensor(c, 1), *bias = call_tensor(c, 2), *out = c->out[0];
	struct conv_args a;
	struct conv v;
	const void *add = NULL;
	void *sums;

	if (!tensor_numel(out))
		return true;
	if (!conv_read_args(c, 3, in->rank - 2, &a, err))
		return false;
	set_geometry(&v, &a, in, w, out);
	v.src = plain_read(c, in, v.kind, err);
	v.weight = plain_read(c, w, v.kind, err);
	v.dst = sums = plain_out(c, out, v.kind, err);
	if (!v.src || !v.weight || !sums || (bias && !(add = plain_read(c, bias, v.kind, err))) ||
	    !run_groups(c, &v, a.transposed, err))
		return false;
	if (bias)
		add_bias(v.kind, sums, out->size[0] * out->size[1], v.out_plane, add, out->size[1]);
	plain_store(out, v.kind, sums);
	return true;
}

const struct op op_convolution[] = {
	{ "aten.convolution.default", "aten::convolution.out", "TTtAAABAI>T",
	  "input, weight, bias, stride, padding, dilation, transposed, output_padding, groups", DTYPES_REAL,
	  OP_GEMM, convolution_shape, convolution_kernel },
	{ 0 },
};
