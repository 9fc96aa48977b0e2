/* Fourier transforms between real tensors and the half of their spectrum that is not redundant, over listed dimensions;
 * the last one listed is the halved one. Computed in double and rounded once. Only aten::_fft_r2c and _fft_c2r of the
 * optimised kernel library (facts: tried on the 1.5.1 runtime): a halved spectrum alone, no negative dimension, and
 * default or channels-last order. Where the stock kernel reads past the end of a spectrum that is too short, or has
 * nothing to transform, this one refuses. */
#include "core/op/fft_line.h"
#include "core/op/plain.h"

#include <math.h>

enum { DIM = 1, NORMALIZATION, LAST };	/* arguments */

struct spectrum {
	int64_t dim[MAX_RANK];
	int ndims, halved;		/* halved: the last of dim */
	double scale;
};

static bool read_dims(const struct call *c, int rank, struct spectrum *s, struct error *err)
{
	bool listed[MAX_RANK] = { false };

	s->ndims = call_ints(c, DIM, s->dim, err);
	if (s->ndims < 0)
		return false;
	if (!s->ndims)
		return call_fail(c, err, "no dimension is listed");
	for (int i = 0; i < s->ndims; i++) {
		if (s->dim[i] < 0 || s->dim[i] >= rank || listed[s->dim[i]])
			return call_fail(c, err, "dimension %lld is not one of %d, or listed twice", (long long)s->dim[i], rank);
		listed[s->dim[i]] = true;
	}
	s->halved = (int)s->dim[s->ndims - 1];
	return true;
}

/* size: of the real tensor. */
static bool read_scale(const struct call *c, const int64_t *size, struct spectrum *s, struct error *err)
{
	int64_t how = call_int(c, NORMALIZATION, 0);
	double n = 1;

	if (how < 0 || how > 2)
		return call_fail(c, err, "normalization is %lld, must be 0, 1 or 2", (long long)how);
	for (int i = 0; i < s->ndims; i++) {
		if (size[s->dim[i]] < 1)
			return call_fail(c, err, "dimension %lld has nothing to transform", (long long)s->dim[i]);
		n *= (double)size[s->dim[i]];
	}
	s->scale = how == 0 ? 1 : how == 1 ? 1 / sqrt(n) : 1 / n;
	return true;
}

static bool check_order(const struct call *c, struct error *err)
{
	const struct tensor *in = call_tensor(c, 0);

	return tensor_is_default_order(in) || tensor_is_channels_last(in) ||
	       call_fail(c, err, "the input is neither in the default dim order nor channels last");
}

static bool r2c_read(struct call *c, struct spectrum *s, struct error *err)
{
	const struct tensor *in = call_tensor(c, 0);

	if (!read_dims(c, in->rank, s, err) || !read_scale(c, in->size, s, err))
		return false;
	return call_bool(c, LAST, true) || call_fail(c, err, "the whole spectrum is not supported, only its half");
}

static bool r2c_shape(struct call *c, struct error *err)
{
	struct spectrum s;
	struct tensor *out = c->out[0];

	if (!call_check(c, err) || !call_known(c, NORMALIZATION, err) || !call_known(c, LAST, err) || !check_order(c, err) ||
	    !r2c_read(c, &s, err))
		return false;
	tensor_set_like(out, call_tensor(c, 0));
	out->dtype = out->dtype == DTYPE_F32 ? DTYPE_C64 : DTYPE_C128;
	out->size[s.halved] = out->size[s.halved] / 2 + 1;
	tensor_set_strides(out);
	return true;
}

static bool c2r_shape(struct call *c, struct error *err)
{
	struct spectrum s;
	struct tensor *in, *out = c->out[0];
	int64_t n = call_int(c, LAST, 0);

	if (!call_check(c, err) || !call_known(c, NORMALIZATION, err) || !call_known(c, LAST, err) || !check_order(c, err))
		return false;
	in = call_tensor(c, 0);
	if (!read_dims(c, in->rank, &s, err))
		return false;
	if (n < 1 || n / 2 + 1 > in->size[s.halved])
		return call_fail(c, err, "%lld real numbers have a spectrum of %lld, it has %lld", (long long)n,
				 (long long)(n / 2 + 1), (long long)in->size[s.halved]);
	tensor_set_like(out, in);
	out->dtype = in->dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
	out->size[s.halved] = n;
	tensor_set_strides(out);
	return read_scale(c, out->size, &s, err) && call_sizes_ok(c, out->dtype, out->rank, out->size, err);
}

/* The lines of a plain array along a dimension: `outer` times `step` of them, `step` elements apart inside. */
struct lines {
	int64_t outer, n, step;
};

static struct lines lines_along(const struct tensor *t, int dim)
{
	struct lines l = { 1, t->size[dim], 1 };

	for (int d = 0; d < t->rank; d++)
		if (d < dim)
			l.outer *= t->size[d];
		else if (d > dim)
			l.step *= t->size[d];
	return l;
}

/* Of complex numbers to as many, in place. */
static bool transform(struct call *c, struct complex_number *x, struct lines l, bool back, struct error *err)
{
	struct complex_number *line = plain_scratch(c, l.n, sizeof *line, err);
	struct fft_line f;

	if (!line || !fft_line_start(&f, c, l.n, err))
		return false;
	for (int64_t k = 0; k < l.outer * l.step; k++) {
		struct complex_number *at = x + k / l.step * l.n * l.step + k % l.step;

		for (int64_t i = 0; i < l.n; i++)
			line[i] = at[i * l.step];
		if (back)
			fft_line_backward(&f, line);
		else
			fft_line_forward(&f, line);
		for (int64_t i = 0; i < l.n; i++)
			at[i * l.step] = line[i];
	}
	return true;
}

static bool transform_others(struct call *c, const struct spectrum *s, const struct tensor *t, struct complex_number *x,
			     bool back, struct error *err)
{
	for (int i = 0; i + 1 < s->ndims; i++)
		if (!transform(c, x, lines_along(t, (int)s->dim[i]), back, err))
			return false;
	return true;
}

/* x: the real numbers; y: the first half of their spectrum. */
static bool halve(struct call *c, const double *x, struct complex_number *y, struct lines l, double scale, struct error *err)
{
	struct complex_number *line = plain_scratch(c, l.n, sizeof *line, err);
	int64_t half = l.n / 2 + 1;
	struct fft_line f;

	if (!line || !fft_line_start(&f, c, l.n, err))
		return false;
	for (int64_t k = 0; k < l.outer * l.step; k++) {
		int64_t o = k / l.step * l.step, i = k % l.step;

		for (int64_t j = 0; j < l.n; j++)
			line[j] = (struct complex_number){ x[o * l.n + j * l.step + i] * scale, 0 };
		fft_line_forward(&f, line);
		for (int64_t j = 0; j < half; j++)
			y[o * half + j * l.step + i] = line[j];
	}
	return true;
}

/* The other way: `has` numbers a line of the spectrum are there, the half of n is used. What is imaginary in the first
 * (and, for an even n, the last) is nobody's. */
static bool unhalve(struct call *c, const struct complex_number *x, int64_t has, double *y, struct lines l, double scale,
		    struct error *err)
{
	struct complex_number *line = plain_scratch(c, l.n, sizeof *line, err);
	struct fft_line f;

	if (!line || !fft_line_start(&f, c, l.n, err))
		return false;
	for (int64_t k = 0; k < l.outer * l.step; k++) {
		int64_t o = k / l.step * l.step, i = k % l.step;

		for (int64_t j = 0; j <= l.n / 2; j++) {
			struct complex_number v = x[o * has + j * l.step + i];

			v.im = j == 0 || 2 * j == l.n ? 0 : v.im;
			line[j] = v;
			if (j)
				line[l.n - j] = (struct complex_number){ v.re, -v.im };
		}
		fft_line_backward(&f, line);
		for (int64_t j = 0; j < l.n; j++)
			y[o * l.n + j * l.step + i] = line[j].re * scale;
	}
	return true;
}

static bool r2c_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	struct spectrum s;
	const double *x;
	struct complex_number *y;

	if (!r2c_read(c, &s, err) || !(x = plain_read(c, in, KIND_F64, err)) || !(y = plain_out(c, out, KIND_C128, err)))
		return false;
	if (!tensor_numel(out))
		return true;
	if (!halve(c, x, y, lines_along(in, s.halved), s.scale, err) || !transform_others(c, &s, out, y, false, err))
		return false;
	plain_store(out, KIND_C128, y);
	return true;
}

static bool c2r_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0], plain;
	struct spectrum s;
	struct complex_number *x = plain_alloc(c, KIND_C128, tensor_numel(in), err);
	double *y;

	if (!x || !read_dims(c, in->rank, &s, err) || !read_scale(c, out->size, &s, err) ||
	    !(y = plain_out(c, out, KIND_F64, err)))
		return false;
	if (!tensor_numel(out))
		return true;
	tensor_set_type(&plain, DTYPE_C128, in->rank, in->size);
	plain.data = x;
	tensor_copy(&plain, in);
	if (!transform_others(c, &s, in, x, true, err) ||
	    !unhalve(c, x, in->size[s.halved], y, lines_along(out, s.halved), s.scale, err))
		return false;
	plain_store(out, KIND_F64, y);
	return true;
}

const struct op op_fft[] = {
	{ "aten._fft_c2r.default", "aten::_fft_c2r.out", "TAII>T", "self, dim, normalization, last_dim_size",
	  DTYPES(C64, C128), 0, c2r_shape, c2r_kernel },
	{ "aten._fft_r2c.default", "aten::_fft_r2c.out", "TAIB>T", "self, dim, normalization, onesided", DTYPES(F32, F64), 0,
	  r2c_shape, r2c_kernel },
	{ 0 },
};
