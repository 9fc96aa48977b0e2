/* Copies that are more than one view: repeating, reversing, rotating, and copies to another dtype or dim order.
 * Tensors of any dim order are copied right (see view.c). */
#include "core/op/loop.h"

#include <string.h>

/* repeat: the result seen as [r0, s0, r1, s1, ...], where a repetition or a size of one needs no dimension. */

static bool repeat_shape(struct call *c, struct error *err)
{
	int64_t size[MAX_RANK];
	int n, more, rank = 0;
	const struct tensor *in;

	if (!call_check(c, err) || (n = call_ints(c, 1, size, err)) < 0)
		return false;
	in = call_tensor(c, 0);
	more = n - in->rank;
	if (more < 0)
		return call_fail(c, err, "%d repeats are given for rank %d", n, in->rank);
	for (int d = 0; d < n; d++) {
		int64_t s = d < more ? 1 : in->size[d - more];

		rank += (size[d] != 1) + (s != 1);
		if (size[d] < 0 || __builtin_mul_overflow(size[d], s, &size[d]))
			return call_fail(c, err, "a repeat is negative or too large");
	}
	if (rank > MAX_RANK)
		return call_fail(c, err, "too many dimensions are repeated");
	if (!call_sizes_ok(c, in->dtype, n, size, err))
		return false;
	tensor_set_type(c->out[0], in->dtype, n, size);
	return true;
}

static void push_dim(struct tensor *t, int64_t size, int64_t stride)
{
	t->size[t->rank] = size;
	t->stride[t->rank++] = stride;
}

static bool repeat_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0], dst = *out, src = *in;
	int more = out->rank - in->rank;

	dst.rank = src.rank = 0;
	for (int d = 0; d < out->rank; d++) {
		int64_t s = d < more ? 1 : in->size[d - more], times = call_item(c, 1, d);

		if (times != 1) {
			push_dim(&dst, times, out->stride[d] * s);
			push_dim(&src, times, 0);
		}
		if (s != 1) {
			push_dim(&dst, s, out->stride[d]);
			push_dim(&src, s, in->stride[d - more]);
		}
	}
	tensor_copy(&dst, &src);
	return true;
}

/* Reversing and rotating keep the dim order. */

static bool flip_shape(struct call *c, struct error *err)
{
	bool marked[MAX_RANK];

	if (!call_check(c, err) || !call_dims(c, 1, call_tensor(c, 0)->rank, marked, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

static bool flip_kernel(struct call *c, struct error *err)
{
	struct tensor in = *call_tensor(c, 0);
	bool marked[MAX_RANK];

	if (!call_dims(c, 1, in.rank, marked, err))
		return false;
	for (int d = 0; d < in.rank; d++)
		if (marked[d] && call_length(c, 1) && in.size[d]) {
			in.data = (char *)in.data + (in.size[d] - 1) * in.stride[d] * (int64_t)dtype_bytes(in.dtype);
			in.stride[d] = -in.stride[d];
		}
	tensor_copy(c->out[0], &in);
	return true;
}

static bool roll_shape(struct call *c, struct error *err)
{
	int64_t dims[MAX_RANK], shifts[MAX_RANK];
	int n, m;
	const struct tensor *in;

	if (!call_check(c, err))
		return false;
	in = call_tensor(c, 0);
	if ((n = call_ints(c, 1, shifts, err)) < 0 || (m = call_ints(c, 2, dims, err)) < 0)
		return false;
	if (!in->rank || !n || n != m)
		return call_fail(c, err, "%d shifts of %d dimensions at rank %d", n, m, in->rank);
	for (int i = 0; i < m; i++)
		if (dims[i] < -in->rank || dims[i] >= in->rank)
			return call_fail(c, err, "dimension %lld is out of range for rank %d", (long long)dims[i],
					 in->rank);
	tensor_set_like(c->out[0], in);
	return true;
}

/* Dimension d and the rest: two parts change places. */
static void roll_dim(const struct tensor *out, const struct tensor *in, int d, const int64_t *shift)
{
	struct tensor dst, src;
	int64_t head;

	while (d < in->rank && !shift[d])
		d++;
	if (d == in->rank) {
		tensor_copy(out, in);
		return;
	}
	head = in->size[d] - shift[d];
	dst = tensor_narrow(*out, d, shift[d], head);
	src = tensor_narrow(*in, d, 0, head);
	roll_dim(&dst, &src, d + 1, shift);
	dst = tensor_narrow(*out, d, 0, shift[d]);
	src = tensor_narrow(*in, d, head, shift[d]);
	roll_dim(&dst, &src, d + 1, shift);
}

static bool roll_kernel(struct call *c, struct error *err)
{
	const struct tensor *in = call_tensor(c, 0);
	int64_t shift[MAX_RANK] = { 0 };

	for (int i = 0; i < call_length(c, 2); i++) {
		int64_t d = call_item(c, 2, i), by, size;

		d += d < 0 ? in->rank : 0;
		size = in->size[d];
		if (!size)
			return true;
		by = call_item(c, 1, i) % size;
		shift[d] = (shift[d] + by + size) % size;
	}
	roll_dim(c->out[0], in, 0, shift);
	return true;
}

static bool tril_shape(struct call *c, struct error *err)
{
	if (!call_check(c, err))
		return false;
	if (call_tensor(c, 0)->rank < 2)
		return call_fail(c, err, "rank is %d, at least 2 is needed", call_tensor(c, 0)->rank);
	tensor_set_type(c->out[0], call_tensor(c, 0)->dtype, call_tensor(c, 0)->rank, call_tensor(c, 0)->size);
	return true;
}

static bool tril_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	int64_t rows = in->size[in->rank - 2], cols = in->size[in->rank - 1], diagonal = call_int(c, 1, 0),
		n = tensor_numel(in);
	size_t width = dtype_bytes(in->dtype);
	char *row = out->data;

	tensor_copy(out, in);
	for (int64_t r = 0; n && r < n / cols; r++, row += (size_t)cols * width) {
		int64_t keep = diagonal >= cols ? cols : r % rows + diagonal + 1;

		keep = keep < 0 ? 0 : keep > cols ? cols : keep;
		memset(row + (size_t)keep * width, 0, (size_t)(cols - keep) * width);
	}
	return true;
}

/* pixel_shuffle: [C r r, H, W] -> [C, H r, W r], and back. */

static bool pixel_shape(struct call *c, bool unshuffle, struct error *err)
{
	int64_t size[MAX_RANK], r, *last;
	const struct tensor *in;

	if (!call_check(c, err) || !call_known(c, 1, err))
		return false;
	in = call_tensor(c, 0);
	r = call_int(c, 1, 0);
	if (in->rank < 3 || in->rank > MAX_RANK - 2 || r < 1 || r > 32767)
		return call_fail(c, err, "factor %lld at rank %d is not possible", (long long)r, in->rank);
	memcpy(size, in->size, sizeof size);
	last = &size[in->rank - 3];
	if (unshuffle ? last[1] % r || last[2] % r : last[0] % (r * r))
		return call_fail(c, err, "the sizes do not divide by the factor %lld", (long long)r);
	last[0] = unshuffle ? last[0] * r * r : last[0] / (r * r);
	last[1] = unshuffle ? last[1] / r : last[1] * r;
	last[2] = unshuffle ? last[2] / r : last[2] * r;
	if (!call_sizes_ok(c, in->dtype, in->rank, size, err))
		return false;
	tensor_set_type(c->out[0], in->dtype, in->rank, size);
	if (tensor_is_channels_last(in))
		tensor_set_channels_last(c->out[0]);
	return true;
}

static bool pixel_shuffle_shape(struct call *c, struct error *err)
{
	return pixel_shape(c, false, err);
}

static bool pixel_unshuffle_shape(struct call *c, struct error *err)
{
	return pixel_shape(c, true, err);
}

/* Both as [..., C, H, r, W, r]; `wide` has the pixels, `deep` the channels. */
static void pixel_views(struct tensor *wide, struct tensor *deep, int64_t r)
{
	int n = wide->rank - 3;
	struct tensor w = *wide, d = *deep;

	wide->rank = deep->rank = n;
	push_dim(wide, w.size[n], w.stride[n]);
	push_dim(wide, w.size[n + 1] / r, w.stride[n + 1] * r);
	push_dim(wide, r, w.stride[n + 1]);
	push_dim(wide, w.size[n + 2] / r, w.stride[n + 2] * r);
	push_dim(wide, r, w.stride[n + 2]);
	push_dim(deep, w.size[n], d.stride[n] * r * r);
	push_dim(deep, d.size[n + 1], d.stride[n + 1]);
	push_dim(deep, r, d.stride[n] * r);
	push_dim(deep, d.size[n + 2], d.stride[n + 2]);
	push_dim(deep, r, d.stride[n]);
}

static bool pixel_shuffle_kernel(struct call *c, struct error *err)
{
	struct tensor wide = *c->out[0], deep = *call_tensor(c, 0);

	pixel_views(&wide, &deep, call_int(c, 1, 1));
	tensor_copy(&wide, &deep);
	return true;
}

static bool pixel_unshuffle_kernel(struct call *c, struct error *err)
{
	struct tensor wide = *call_tensor(c, 0), deep = *c->out[0];

	pixel_views(&wide, &deep, call_int(c, 1, 1));
	tensor_copy(&deep, &wide);
	return true;
}

/* Copies to a dtype, and to a dim order or a memory format. */

static bool set_order(const struct call *c, struct tensor *out, struct error *err)
{
	bool seen[MAX_RANK] = { false };
	int64_t order[MAX_RANK];
	int arg = op_arg(c->op, "dim_order"), format = op_arg(c->op, "memory_format"), n;

	if (format >= 0) {
		int64_t f = call_int(c, format, 1);	/* contiguous, preserve, channels last in 2-D, in 3-D */

		if (f < 0 || f > 3 || (f > 1 && out->rank != f + 2))
			return call_fail(c, err, "memory format %lld at rank %d is not possible", (long long)f,
					 out->rank);
		for (int d = 0; d < out->rank && f != 1; d++)
			out->dim_order[d] = (uint8_t)d;
		tensor_set_strides(out);
		if (f > 1)
			tensor_set_channels_last(out);
		return true;
	}
	if (!call_has(c, arg))
		return true;
	if ((n = call_ints(c, arg, order, err)) < 0)
		return false;
	for (int i = 0; i < n; i++) {
		if (n != out->rank || order[i] < 0 || order[i] >= n || seen[order[i]])
			return call_fail(c, err, "dim_order is no order of %d dimensions", out->rank);
		seen[order[i]] = true;
		out->dim_order[i] = (uint8_t)order[i];
	}
	if (n != out->rank)
		return call_fail(c, err, "dim_order is no order of %d dimensions", out->rank);
	tensor_set_strides(out);
	return true;
}

static bool to_shape(struct call *c, struct error *err)
{
	int dtype = op_arg(c->op, "dtype");

	if (!call_check(c, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	c->out[0]->dtype = call_dtype(c, dtype, c->out[0]->dtype);
	if (!dtype_in(c->out[0]->dtype, DTYPES_ALL))
		return call_fail(c, err, "cannot convert to dtype %d", (int)c->out[0]->dtype);
	return set_order(c, c->out[0], err);
}

static bool to_kernel(struct call *c, struct error *err)
{
	tensor_copy(c->out[0], call_tensor(c, 0));
	return true;
}

/* copy: self's type, src's elements. copy_ writes self itself. */

static bool copy_check(struct call *c, struct error *err)
{
	const struct tensor *self, *src;

	if (!call_check(c, err) || !call_dtype_in(c, 1, DTYPES_ALL, err))
		return false;
	self = call_tensor(c, 0);
	src = call_tensor(c, 1);
	for (int d = 0; d < src->rank; d++) {
		int at = d + self->rank - src->rank;

		if (at < 0 || (src->size[d] != 1 && src->size[d] != self->size[at]))
			return call_fail(c, err, "src does not broadcast to self");
	}
	return true;
}

static bool copy_shape(struct call *c, struct error *err)
{
	if (!copy_check(c, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

static bool copy_kernel(struct call *c, struct error *err)
{
	tensor_copy(c->out[0], call_tensor(c, 1));
	return true;
}

static bool copy_inplace_kernel(struct call *c, struct error *err)
{
	tensor_copy(call_tensor(c, 0), call_tensor(c, 1));
	return true;
}

#define TO "self, dtype, layout, device, pin_memory, non_blocking, "
const struct op op_shape[] = {
	{ "aten._to_copy.default", "aten::_to_copy.out", "TMMMbBM>T", TO "memory_format", DTYPES_ALL, 0, to_shape,
	  to_kernel },
	{ "aten.clone.default", "aten::clone.out", "TM>T", "self, memory_format", DTYPES_ALL, 0, to_shape, to_kernel },
	{ "aten.copy.default", "aten::copy.out", "TTB>T", "self, src, non_blocking", DTYPES_ALL, 0, copy_shape,
	  copy_kernel },
	{ "aten.copy_.default", "aten::copy_", "TTB>", "self, src, non_blocking", DTYPES_ALL,
	  OP_MUTATES, copy_check, copy_inplace_kernel },
	{ "aten.flip.default", "aten::flip.out", "TA>T", "self, dims", DTYPES_ALL, 0, flip_shape, flip_kernel },
	{ "aten.pixel_shuffle.default", "aten::pixel_shuffle.out", "TI>T", "self, upscale_factor", DTYPES_ALL,
	  0, pixel_shuffle_shape, pixel_shuffle_kernel },
	{ "aten.pixel_unshuffle.default", "aten::pixel_unshuffle.out", "TI>T", "self, downscale_factor", DTYPES_ALL,
	  0, pixel_unshuffle_shape, pixel_unshuffle_kernel },
	{ "aten.repeat.default", "aten::repeat.out", "TA>T", "self, repeats", DTYPES_ALL, 0, repeat_shape,
	  repeat_kernel },
	{ "aten.roll.default", "aten::roll.out", "TAA>T", "self, shifts, dims", DTYPES_ALL, 0, roll_shape,
	  roll_kernel },
	{ "aten.tril.default", "aten::tril.out", "TI>T", "self, diagonal", DTYPES_REALB, 0, tril_shape, tril_kernel },
	{ "dim_order_ops._clone_dim_order.default", "dim_order_ops::_clone_dim_order.out", "TBA>T",
	  "self, non_blocking, dim_order", DTYPES_ALL, 0, to_shape, to_kernel },
	{ "dim_order_ops._to_dim_order_copy.default", "dim_order_ops::_to_dim_order_copy.out", "TMMMbBA>T",
	  TO "dim_order", DTYPES_ALL, 0, to_shape, to_kernel },
	{ 0 },
};
