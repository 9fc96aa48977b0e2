/* grid_sampler_2d (input [N, C, H, W], grid [N, h, w, 2], interpolation_mode, padding_mode, align_corners). Positions are
 * computed in float (double for f64); stock does so for bilinear, and in half for the two others. A position that is not
 * a number samples nothing: 0 with zeros padding, else the nearest border. */
#include "core/op/plain.h"

#include <math.h>

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

struct plane {
	enum kind kind;
	int64_t h, w;
	int padding;
	bool align;
};

static bool grid_shape(struct call *c, struct error *err)
{
	struct tensor *in, *grid;

	if (!call_check(c, err) || !call_known(c, 2, err) || !call_known(c, 3, err))
		return false;
	in = call_tensor(c, 0), grid = call_tensor(c, 1);
	if (in->rank != 4 || grid->rank != 4 || grid->size[3] != 2 || grid->size[0] != in->size[0] || grid->dtype != in->dtype)
		return call_fail(c, err, "input and grid must be [N, C, H, W] and [N, h, w, 2] of one dtype");
	if (!tensor_is_default_order(in) || in->size[2] < 1 || in->size[3] < 1)
		return call_fail(c, err, "the input must not be empty and have the default dim order");
	if (call_int(c, 2, 0) < BILINEAR || call_int(c, 2, 0) > BICUBIC || call_int(c, 3, 0) < ZEROS ||
	    call_int(c, 3, 0) > REFLECTION)
		return call_fail(c, err, "interpolation and padding modes go from 0 to 2");
	tensor_set_type(c->out[0], in->dtype, 4, (int64_t[]){ in->size[0], in->size[1], grid->size[1], grid->size[2] });
	return true;
}

/* Every step is rounded to float unless the kind is f64. */
static double fit(enum kind k, double v)
{
	return k == KIND_F32 ? (float)v : v;
}

static double unnormalize(const struct plane *p, double at, int64_t size)
{
	return p->align ? fit(p->kind, fit(p->kind, (at + 1) / 2) * (double)(size - 1)) :
			  fit(p->kind, (fit(p->kind, fit(p->kind, at + 1) * (double)size) - 1) / 2);
}

static double clip(double at, int64_t size)
{
	return at > 0 ? (at < (double)(size - 1) ? at : (double)(size - 1)) : 0;
}

/* Mirrors at the centres (align) or the edges of the outer pixels. */
static double reflect(const struct plane *p, double at, int64_t size)
{
	double low = p->align ? 0 : -0.5, span = p->align ? (double)(size - 1) : (double)size, extra;

	if (span == 0)
		return 0;
	at = fabs(at - low);
	extra = fit(p->kind, fmod(at, span));
	return fmod(floor(at / span), 2) == 0 ? extra + low : span - extra + low;
}

static double source(const struct plane *p, double at, int64_t size)
{
	at = unnormalize(p, at, size);
	if (p->padding == BORDER)
		at = clip(at, size);
	if (p->padding == REFLECTION)
		at = clip(reflect(p, at, size), size);
	return at;
}

/* What one output position takes: up to sixteen pixels of a plane, the same in all channels. */
struct taps {
	int n;
	int64_t at[16];
	double weight[16];
};

/* The pixel at whole-numbered coordinates, which may lie outside. */
static void add_tap(const struct plane *p, struct taps *t, double y, double x, double weight)
{
	if (p->padding == ZEROS && !(y >= 0 && y < (double)p->h && x >= 0 && x < (double)p->w))
		return;
	t->at[t->n] = (int64_t)clip(y, p->h) * p->w + (int64_t)clip(x, p->w);
	t->weight[t->n++] = weight;
}

static void bilinear(const struct plane *p, struct taps *t, double y, double x)
{
	double y0 = floor(y), x0 = floor(x), fy = fit(p->kind, y - y0), fx = fit(p->kind, x - x0);

	add_tap(p, t, y0, x0, (1 - fx) * (1 - fy));
	add_tap(p, t, y0, x0 + 1, fx * (1 - fy));
	add_tap(p, t, y0 + 1, x0, (1 - fx) * fy);
	add_tap(p, t, y0 + 1, x0 + 1, fx * fy);
}

/* Keys' cubic convolution with a = -0.75, at distance t + 1, t, 1 - t and 2 - t. */
static void cubic_weights(double t, double *w)
{
	double a = -0.75, u = 1 - t;

	w[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
	w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
	w[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
	w[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
}

/* Here padding applies to each of the sixteen pixels, not to the position. */
static void bicubic(const struct plane *p, struct taps *t, double y, double x)
{
	double y0 = floor(y), x0 = floor(x), wy[4], wx[4];

	cubic_weights(y - y0, wy);
	cubic_weights(x - x0, wx);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			double at_y = y0 + i - 1, at_x = x0 + j - 1;

			if (p->padding == REFLECTION) {
				at_y = reflect(p, at_y, p->h);
				at_x = reflect(p, at_x, p->w);
			}
			add_tap(p, t, at_y, at_x, wy[i] * wx[j]);
		}
}

static void find_taps(const struct plane *p, int mode, double y, double x, struct taps *t)
{
	t->n = 0;
	if (mode == BICUBIC) {
		bicubic(p, t, unnormalize(p, y, p->h), unnormalize(p, x, p->w));
		return;
	}
	y = source(p, y, p->h);
	x = source(p, x, p->w);
	if (mode == NEAREST)
		add_tap(p, t, nearbyint(y), nearbyint(x), 1);
	else
		bilinear(p, t, y, x);
}

/* The position in each of n planes. */
#define GATHER(T, name) \
static void name(const T *from, int64_t plane, const struct taps *t, int64_t n, T *to, int64_t step) \
{ \
	for (int64_t c = 0; c < n; c++, from += plane, to += step) { \
		T sum = 0; \
\
		for (int i = 0; i < t->n; i++) \
			sum += from[t->at[i]] * (T)t->weight[i]; \
		*to = sum; \
	} \
}
GATHER(float, gather_f32)
GATHER(double, gather_f64)

static bool grid_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	struct plane p = { .kind = kind_of(in->dtype), .h = in->size[2], .w = in->size[3], .padding = (int)call_int(c, 3, 0),
			   .align = call_bool(c, 4, false) };
	const void *x = plain_read(c, in, p.kind, err), *grid = plain_read(c, call_tensor(c, 1), p.kind, err);
	void *y = plain_out(c, out, p.kind, err);
	int64_t points = out->size[2] * out->size[3], channels = in->size[1], plane = p.h * p.w;
	enum dtype t = kind_dtype(p.kind);
	struct taps taps;

	if (!x || !grid || !y)
		return false;
	for (int64_t i = 0; i < in->size[0] * points; i++) {
		int64_t from = i / points * channels * plane, to = i / points * channels * points + i % points;

		find_taps(&p, (int)call_int(c, 2, 0), dtype_get(t, grid, (size_t)(2 * i + 1)), dtype_get(t, grid, (size_t)(2 * i)),
			  &taps);
		if (p.kind == KIND_F32)
			gather_f32((const float *)x + from, plane, &taps, channels, (float *)y + to, points);
		else
			gather_f64((const double *)x + from, plane, &taps, channels, (double *)y + to, points);
	}
	plain_store(out, p.kind, y);
	return true;
}

const struct op op_grid[] = {
	{ "aten.grid_sampler_2d.default", "aten::grid_sampler_2d.out", "TTIIB>T",
	  "input, grid, interpolation_mode, padding_mode, align_corners", DTYPES_FLOAT, 0, grid_shape, grid_kernel },
	{ 0 },
};
