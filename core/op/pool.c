/* Pooling. As in stock, a NaN wins a maximum only where it comes first, a window whose taps all fall into the padding
 * gives 0, and adaptive averages are summed in float whatever the dtype. Stock averages take the default dim order
 * only; here channels last goes as well. */
#include "core/op/plain.h"

#include <math.h>
#include <string.h>

/* Height and width; planes are batch times channels. */
struct pool {
	int64_t planes, in[2], out[2], k[2], stride[2], pad[2], dilation[2];
	bool count_padding;
	int64_t divisor;	/* 0: the count */
};

/* Reads one or two numbers; `absent` stands for an empty list. */
static bool read_pair(struct call *c, int i, const char *what, int64_t min, const int64_t *absent, int64_t *at,
		      struct error *err)
{
	int64_t given[MAX_RANK];
	int n = call_ints(c, i, given, err);

	if (n < 0)
		return false;
	if (n > 2 || (!n && !absent))
		return call_fail(c, err, "%s has %d numbers, must have 1 or 2", what, n);
	for (int d = 0; d < 2; d++) {
		at[d] = !n ? absent[d] : given[n == 1 ? 0 : d];
		if (at[d] < min || at[d] > INT32_MAX)
			return call_fail(c, err, "%s is %lld, must be at least %lld", what, (long long)at[d], (long long)min);
	}
	return true;
}

static bool check_image(struct call *c, int i, struct error *err)
{
	struct tensor *in = call_tensor(c, i);

	if (in->rank != 3 && in->rank != 4)
		return call_fail(c, err, "the input has rank %d, must have 3 or 4", in->rank);
	for (int d = in->rank - 3; d < in->rank; d++)
		if (in->size[d] <= 0 || in->size[d] > INT32_MAX)
			return call_fail(c, err, "dimension %d is %lld", d, (long long)in->size[d]);
	return call_image_order(c, i, err);
}

static void set_image(struct pool *p, const struct tensor *in)
{
	*p = (struct pool){ .planes = dtype_numel(in->rank - 2, in->size), .dilation = { 1, 1 }, .count_padding = true };
	p->in[0] = in->size[in->rank - 2];
	p->in[1] = in->size[in->rank - 1];
}

/* Sets the output sizes of the windows. */
static bool windows(struct call *c, struct pool *p, bool ceil_mode, struct error *err)
{
	for (int d = 0; d < 2; d++) {
		int64_t room = p->in[d] + 2 * p->pad[d] - p->dilation[d] * (p->k[d] - 1) - 1;

		if (p->pad[d] > p->k[d] / 2)
			return call_fail(c, err, "padding %lld is more than half the kernel", (long long)p->pad[d]);
		if (room < 0 && (!ceil_mode || room + p->stride[d] - 1 < 0))
			return call_fail(c, err, "%lld input positions are too few for a kernel of %lld", (long long)p->in[d],
					 (long long)p->k[d]);
		p->out[d] = (room + (ceil_mode ? p->stride[d] - 1 : 0)) / p->stride[d] + 1;
		if (ceil_mode && (p->out[d] - 1) * p->stride[d] >= p->in[d] + p->pad[d])
			p->out[d]--;	/* the last window has to start inside */
		if (p->out[d] <= 0)
			return call_fail(c, err, "no output positions");
	}
	return true;
}

static bool set_output(struct call *c, struct tensor *out, const struct tensor *in, const struct pool *p, enum dtype t,
		       struct error *err)
{
	tensor_set_like(out, in);
	out->dtype = t;
	out->size[in->rank - 2] = p->out[0];
	out->size[in->rank - 1] = p->out[1];
	tensor_set_strides(out);
	return call_sizes_ok(c, t, out->rank, out->size, err);
}

/* ---- maxima: (self, kernel_size, stride, padding, dilation, ceil_mode), self being argument i ---- */

static bool read_max(struct call *c, int i, struct pool *p, struct error *err)
{
	set_image(p, call_tensor(c, i));
	return read_pair(c, i + 1, "kernel size", 1, NULL, p->k, err) && read_pair(c, i + 2, "stride", 1, p->k, p->stride, err) &&
	       read_pair(c, i + 3, "padding", 0, NULL, p->pad, err) &&
	       read_pair(c, i + 4, "dilation", 1, NULL, p->dilation, err) && windows(c, p, call_bool(c, i + 5, false), err);
}

static bool max_shape(struct call *c, struct error *err)
{
	struct pool p;

	if (!call_check(c, err) || !check_image(c, 0, err) || !read_max(c, 0, &p, err))
		return false;
	return set_output(c, c->out[0], call_tensor(c, 0), &p, call_tensor(c, 0)->dtype, err) &&
	       (c->nouts < 2 || set_output(c, c->out[1], call_tensor(c, 0), &p, DTYPE_I64, err));
}

/* Taps [*from, *to) of output position o that lie inside the input. */
static void taps_inside(const struct pool *p, int d, int64_t o, int64_t *from, int64_t *to)
{
	int64_t start = o * p->stride[d] - p->pad[d], step = p->dilation[d];

	*from = start < 0 ? (-start + step - 1) / step : 0;
	*to = p->in[d] > start ? (p->in[d] - start - 1) / step + 1 : 0;
	if (*to > p->k[d])
		*to = p->k[d];
}

#define MAX_PLANE(T, name) \
static void name(const struct pool *p, const T *x, T *y, int64_t *index) \
{ \
	for (int64_t oy = 0; oy < p->out[0]; oy++) \
		for (int64_t ox = 0; ox < p->out[1]; ox++, y++) { \
			int64_t y0, y1, x0, x1, at = 0, base; \
			T max = 0; \
			bool any = false; \
			taps_inside(p, 0, oy, &y0, &y1); \
			taps_inside(p, 1, ox, &x0, &x1); \
			for (int64_t ky = y0; ky < y1; ky++) { \
				base = (oy * p->stride[0] - p->pad[0] + ky * p->dilation[0]) * p->in[1] + \
				       ox * p->stride[1] - p->pad[1]; \
				for (int64_t kx = x0; kx < x1; kx++) { \
					int64_t i = base + kx * p->dilation[1]; \
					if (!any || x[i] > max) { \
						max = x[i]; \
						at = i; \
						any = true; \
					} \
				} \
			} \
			*y = max; \
			if (index) \
				*index++ = at; \
		} \
}
MAX_PLANE(float, max_plane_f32)
MAX_PLANE(double, max_plane_f64)
MAX_PLANE(int64_t, max_plane_i64)

static bool max_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	enum kind k = kind_of(in->dtype);
	const void *x = plain_read(c, in, k, err);
	void *y = plain_out(c, out, k, err);
	int64_t *index = c->nouts > 1 ? plain_out(c, c->out[1], KIND_I64, err) : NULL;
	struct pool p;

	if (!x || !y || (c->nouts > 1 && !index) || !read_max(c, 0, &p, err))
		return false;
	for (int64_t i = 0; i < p.planes; i++) {
		int64_t from = i * p.in[0] * p.in[1], to = i * p.out[0] * p.out[1];

		if (k == KIND_F32)
			max_plane_f32(&p, (const float *)x + from, (float *)y + to, index ? index + to : NULL);
		else if (k == KIND_F64)
			max_plane_f64(&p, (const double *)x + from, (double *)y + to, index ? index + to : NULL);
		else
			max_plane_i64(&p, (const int64_t *)x + from, (int64_t *)y + to, index ? index + to : NULL);
	}
	plain_store(out, k, y);
	if (index)
		plain_store(c->out[1], KIND_I64, index);
	return true;
}

/* ---- the gradient of a maximum: (grad_output, self, kernel_size, ..., ceil_mode, indices) ---- */

static bool max_backward_shape(struct call *c, struct error *err)
{
	struct tensor *grad, *in, *index;
	struct pool p;

	if (!call_check(c, err) || !check_image(c, 1, err) ||
	    !read_max(c, 1, &p, err))
		return false;
	grad = call_tensor(c, 0), in = call_tensor(c, 1), index = call_tensor(c, 7);
	if (!set_output(c, c->out[0], in, &p, in->dtype, err))
		return false;
	if (grad->dtype != in->dtype || index->dtype != DTYPE_I64 || grad->rank != in->rank || index->rank != in->rank ||
	    memcmp(grad->size, c->out[0]->size, (size_t)in->rank * sizeof *in->size) ||
	    memcmp(index->size, c->out[0]->size, (size_t)in->rank * sizeof *in->size))
		return call_fail(c, err, "gradient and indices do not have the output's type");
	tensor_set_like(c->out[0], in);
	return true;
}

static bool max_backward_kernel(struct call *c, struct error *err)
{
	struct tensor *grad = call_tensor(c, 0), *in = call_tensor(c, 1);
	enum kind k = kind_of(in->dtype);
	const void *g = plain_read(c, grad, k, err);
	const int64_t *index = plain_read(c, call_tensor(c, 7), KIND_I64, err);
	void *out = plain_out(c, c->out[0], k, err);
	int64_t each = dtype_numel(2, grad->size + grad->rank - 2), plane = dtype_numel(2, in->size + in->rank - 2);

	if (!g || !index || !out)
		return false;
	memset(out, 0, (size_t)tensor_numel(in) * kind_bytes(k));
	for (int64_t i = 0; i < tensor_numel(grad); i++) {
		if (index[i] == -1)
			continue;
		if (index[i] < 0 || index[i] >= plane)
			return call_fail(c, err, "index %lld is outside a plane of %lld", (long long)index[i], (long long)plane);
		if (k == KIND_F32)
			((float *)out)[i / each * plane + index[i]] += ((const float *)g)[i];
		else
			((double *)out)[i / each * plane + index[i]] += ((const double *)g)[i];
	}
	plain_store(c->out[0], k, out);
	return true;
}

/* ---- averages: (self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) ---- */

static bool read_avg(struct call *c, struct pool *p, struct error *err)
{
	set_image(p, call_tensor(c, 0));
	p->count_padding = call_bool(c, 5, true);
	p->divisor = call_int(c, 6, 0);
	if (call_has(c, 6) && !p->divisor)
		return call_fail(c, err, "a divisor of 0");
	return read_pair(c, 1, "kernel size", 1, NULL, p->k, err) && read_pair(c, 2, "stride", 1, p->k, p->stride, err) &&
	       read_pair(c, 3, "padding", 0, NULL, p->pad, err) && windows(c, p, call_bool(c, 4, false), err);
}

static bool avg_shape(struct call *c, struct error *err)
{
	struct pool p;

	if (!call_check(c, err) || !check_image(c, 0, err) || !read_avg(c, &p, err))
		return false;
	return set_output(c, c->out[0], call_tensor(c, 0), &p, call_tensor(c, 0)->dtype, err);
}

/* Of one dimension of a window: what is summed, and how many positions count. */
static int64_t window_span(const struct pool *p, int d, int64_t o, int64_t *from, int64_t *to)
{
	int64_t start = o * p->stride[d] - p->pad[d], end = start + p->k[d];

	if (end > p->in[d] + p->pad[d])
		end = p->in[d] + p->pad[d];
	*from = start < 0 ? 0 : start;
	*to = end > p->in[d] ? p->in[d] : end;
	return p->count_padding ? end - start : *to - *from;
}

#define AVG_PLANE(T, SUM, name) \
static void name(const struct pool *p, const T *x, T *y) \
{ \
	for (int64_t oy = 0; oy < p->out[0]; oy++) \
		for (int64_t ox = 0; ox < p->out[1]; ox++) { \
			int64_t y0, y1, x0, x1, count = window_span(p, 0, oy, &y0, &y1); \
			SUM sum = 0; \
			count *= window_span(p, 1, ox, &x0, &x1); \
			for (int64_t iy = y0; iy < y1; iy++) \
				for (int64_t ix = x0; ix < x1; ix++) \
					sum += (SUM)x[iy * p->in[1] + ix]; \
			*y++ = (T)sum / (T)(p->divisor ? p->divisor : count); \
		} \
}
AVG_PLANE(float, float, avg_plane_f32)
AVG_PLANE(double, double, avg_plane_f64)
AVG_PLANE(int64_t, uint64_t, avg_plane_i64)

static bool avg_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	enum kind k = kind_of(in->dtype);
	const void *x = plain_read(c, in, k, err);
	void *y = plain_out(c, out, k, err);
	struct pool p;

	if (!x || !y || !read_avg(c, &p, err))
		return false;
	for (int64_t i = 0; i < p.planes; i++) {
		int64_t from = i * p.in[0] * p.in[1], to = i * p.out[0] * p.out[1];

		if (k == KIND_F32)
			avg_plane_f32(&p, (const float *)x + from, (float *)y + to);
		else if (k == KIND_F64)
			avg_plane_f64(&p, (const double *)x + from, (double *)y + to);
		else
			avg_plane_i64(&p, (const int64_t *)x + from, (int64_t *)y + to);
	}
	plain_store(out, k, y);
	return true;
}

/* ---- adaptive averages: (self, output_size) ---- */

static bool adaptive_shape(struct call *c, struct error *err)
{
	struct tensor *in;
	int64_t size[MAX_RANK];
	struct pool p;
	int n;

	if (!call_check(c, err) || !check_image(c, 0, err) || (n = call_ints(c, 1, size, err)) < 0)
		return false;
	if (n != 2 || size[0] <= 0 || size[1] <= 0)
		return call_fail(c, err, "the output size must be two positive numbers");
	in = call_tensor(c, 0);
	set_image(&p, in);
	p.out[0] = size[0], p.out[1] = size[1];
	return set_output(c, c->out[0], in, &p, in->dtype, err);
}

struct span { int64_t from, to; };

/* In float, as stock has it. */
static struct span adaptive_span(int64_t o, int64_t out, int64_t in)
{
	int64_t to = (int64_t)ceilf((float)((o + 1) * in) / (float)out);

	return (struct span){ (int64_t)floorf((float)(o * in) / (float)out), to < in ? to : in };
}

static void adaptive_row(const float *plane, int64_t width, struct span row, const struct span *col, int64_t n, float *out)
{
	for (int64_t i = 0; i < n; i++) {
		float sum = 0;

		for (int64_t y = row.from; y < row.to; y++)
			for (int64_t x = col[i].from; x < col[i].to; x++)
				sum += plane[y * width + x];
		out[i] = sum / (float)((row.to - row.from) * (col[i].to - col[i].from));
	}
}

static bool adaptive_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	int64_t h = in->size[in->rank - 2], w = in->size[in->rank - 1], oh = out->size[in->rank - 2], ow = out->size[in->rank - 1];
	const float *x = plain_read(c, in, KIND_F32, err);
	float *y = plain_out(c, out, KIND_F32, err);
	struct span *col = plain_scratch(c, tensor_numel(out) ? ow : 0, sizeof *col, err);

	if (!x || !y || !col)
		return false;
	if (!tensor_numel(out))
		return true;
	for (int64_t i = 0; i < ow; i++)
		col[i] = adaptive_span(i, ow, w);
	for (int64_t i = 0; i < tensor_numel(out) / ow; i++)
		adaptive_row(x + i / oh * h * w, w, adaptive_span(i % oh, oh, h), col, ow, y + i * ow);
	plain_store(out, KIND_F32, y);
	return true;
}

#define MAX_ARGS "self, kernel_size, stride, padding, dilation, ceil_mode"
const struct op op_pool[] = {
	{ "aten._adaptive_avg_pool2d.default", "aten::_adaptive_avg_pool2d.out", "TA>T", "self, output_size",
	  DTYPES_FLOAT | DTYPE_BIT(DTYPE_I64), 0, adaptive_shape, adaptive_kernel },
	{ "aten.avg_pool2d.default", "aten::avg_pool2d.out", "TAAABBi>T",
	  "self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override",
	  DTYPES_FLOAT | DTYPE_BIT(DTYPE_I64), 0, avg_shape, avg_kernel },
	{ "aten.max_pool2d.default", NULL, "TAAAAB>T", MAX_ARGS, DTYPES_REAL, 0, max_shape, max_kernel },
	{ "aten.max_pool2d_with_indices.default", "aten::max_pool2d_with_indices.out", "TAAAAB>TT", MAX_ARGS,
	  DTYPES_REAL, 0, max_shape, max_kernel },
	{ "aten.max_pool2d_with_indices_backward.default", "aten::max_pool2d_with_indices_backward.grad_input",
	  "TTAAAABT>T", "grad_output, " MAX_ARGS ", indices", DTYPES_FLOAT, 0, max_backward_shape,
	  max_backward_kernel },
	{ 0 },
};
