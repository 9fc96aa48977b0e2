/* Choosing by masks, and what else gives as many elements as the data say: nonzero, repeat_interleave. */
#include "core/op/plain.h"

#include <string.h>

/* where: the mask is bool or u8. */

static bool where_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && call_dtype_in(c, 1, DTYPES_REALB, err) && call_dtype_in(c, 2, DTYPES_REALB, err) &&
	       call_broadcast(c, "012", call_result_dtype(c, "12"), c->out[0], err);
}

ROW3(where_f32, float, float, x != 0 ? y : z)
ROW3(where_f64, double, double, x != 0 ? y : z)
ROW3(where_i64, int64_t, int64_t, x != 0 ? y : z)
ROW3(where_i32, int32_t, int32_t, x != 0 ? y : z)
static row_fn *const where_functor[KINDS] = { where_f32, where_f64, where_i64, [KIND_I32] = where_i32 };

static bool where_kernel(struct call *c, struct error *err)
{
	enum kind k = kind_of(call_common_dtype(c, "12"));

	map_run(where_functor, k, k, NULL, c->out[0],
		(struct tensor *[]){ call_tensor(c, 0), call_tensor(c, 1), call_tensor(c, 2) }, 3);
	return true;
}

/* masked_fill, masked_scatter, masked_select */

static bool mask_is_bool(struct call *c, struct error *err)
{
	return call_tensor(c, 1)->dtype == DTYPE_BOOL ||
	       call_fail(c, err, "mask is %s, not bool", dtype_name(call_tensor(c, 1)->dtype));
}

static bool masked_fill_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && mask_is_bool(c, err) &&
	       call_broadcast(c, "01", call_tensor(c, 0)->dtype, c->out[0], err);
}

static bool masked_fill_kernel(struct call *c, struct error *err)
{
	struct tensor *self = call_tensor(c, 0), *value = call_operand(c, 2, self->dtype);
	enum kind k = kind_of(self->dtype);

	map_run(where_functor, k, k, NULL, c->out[0], (struct tensor *[]){ call_tensor(c, 1), value, self }, 3);
	return true;
}

/* A tensor, converted and broadcast to a shape, in logical order. NULL: no memory. */
static void *spread(struct call *c, const struct tensor *t, enum dtype dtype, int rank, const int64_t *size,
		    struct error *err)
{
	struct tensor copy = { .dtype = dtype };

	tensor_set_type(&copy, dtype, rank, size);
	copy.data = plain_scratch(c, tensor_numel(&copy), dtype_bytes(dtype), err);
	if (copy.data)
		tensor_copy(&copy, t);
	return copy.data;
}

/* The same for a tensor that may lie as it should already. */
static void *in_order(struct call *c, const struct tensor *t, struct error *err)
{
	return tensor_is_default_order(t) ? t->data : spread(c, t, t->dtype, t->rank, t->size, err);
}

static bool masked_scatter_shape(struct call *c, struct error *err)
{
	if (!masked_fill_shape(c, err))
		return false;
	return call_tensor(c, 2)->dtype == call_tensor(c, 0)->dtype ||
	       call_fail(c, err, "source is %s, self is %s", dtype_name(call_tensor(c, 2)->dtype),
			 dtype_name(call_tensor(c, 0)->dtype));
}

static bool masked_scatter_kernel(struct call *c, struct error *err)
{
	const struct tensor *source = call_tensor(c, 2);
	struct tensor out = *c->out[0];
	size_t width = dtype_bytes(out.dtype);
	uint8_t *mask = spread(c, call_tensor(c, 1), DTYPE_BOOL, out.rank, out.size, err);
	char *to = spread(c, call_tensor(c, 0), out.dtype, out.rank, out.size, err), *from = in_order(c, source, err);
	int64_t left = tensor_numel(source);

	if (!mask || !to || (!from && left))
		return false;
	for (int64_t i = 0, n = tensor_numel(&out); i < n; i++) {
		if (!mask[i])
			continue;
		if (!left--)
			return call_fail(c, err, "source has too few elements");
		memcpy(to + (size_t)i * width, from, width);
		from += width;
	}
	tensor_set_type(&out, out.dtype, out.rank, out.size);
	out.data = to;
	tensor_copy(c->out[0], &out);
	return true;
}

/* In the order of the broadcast shape; while only bounds are asked for, everything is chosen. */
static bool masked_select_shape(struct call *c, struct error *err)
{
	struct tensor all, mask;
	int64_t n, chosen = 0;

	if (!call_check(c, err) || !mask_is_bool(c, err) ||
	    !call_broadcast(c, "01", call_tensor(c, 0)->dtype, &all, err))
		return false;
	c->dynamic = true;
	mask = *call_tensor(c, 1);
	n = tensor_numel(&mask);
	for (int64_t i = 0; mask.data && i < n; i++)
		chosen += ((const uint8_t *)mask.data)[i] != 0;
	n = mask.data && n ? chosen * (tensor_numel(&all) / n) : tensor_numel(&all);
	tensor_set_type(c->out[0], call_tensor(c, 0)->dtype, 1, &n);
	return true;
}

static bool masked_select_kernel(struct call *c, struct error *err)
{
	size_t width = dtype_bytes(c->out[0]->dtype);
	char *to = c->out[0]->data, *from;
	struct tensor all;
	uint8_t *mask;

	if (!call_broadcast(c, "01", c->out[0]->dtype, &all, err))
		return false;
	mask = spread(c, call_tensor(c, 1), DTYPE_BOOL, all.rank, all.size, err);
	from = spread(c, call_tensor(c, 0), all.dtype, all.rank, all.size, err);
	if (!mask || !from)
		return false;
	for (int64_t i = 0, n = tensor_numel(&all); i < n; i++)
		if (mask[i]) {
			memcpy(to, from + (size_t)i * width, width);
			to += width;
		}
	return true;
}

/* nonzero: the coordinates of what is not 0, in logical order. */

static bool nonzero_shape(struct call *c, struct error *err)
{
	const struct tensor *self;
	int64_t size[2];
	uint8_t *is;

	if (!call_check(c, err))
		return false;
	self = call_tensor(c, 0);
	c->dynamic = true;
	size[0] = tensor_numel(self);
	size[1] = self->rank;
	if (self->data) {
		if (!(is = spread(c, self, DTYPE_BOOL, self->rank, self->size, err)))
			return false;
		size[0] = 0;
		for (int64_t i = 0, n = tensor_numel(self); i < n; i++)
			size[0] += is[i];
	}
	tensor_set_type(c->out[0], DTYPE_I64, 2, size);
	return true;
}

static bool nonzero_kernel(struct call *c, struct error *err)
{
	const struct tensor *self = call_tensor(c, 0);
	uint8_t *is = spread(c, self, DTYPE_BOOL, self->rank, self->size, err);
	int64_t *out = c->out[0]->data;

	if (!is)
		return false;
	for (int64_t i = 0, n = tensor_numel(self); i < n; i++) {
		int64_t rest = i;

		if (!is[i])
			continue;
		for (int d = self->rank - 1; d >= 0; d--) {
			out[d] = rest % self->size[d];
			rest /= self->size[d];
		}
		out += self->rank;
	}
	return true;
}

/* repeat_interleave(repeats): index i as often as repeats[i] says. */

static bool repeat_shape(struct call *c, struct error *err)
{
	const struct tensor *repeats;
	int64_t n = call_int(c, 1, -1), sum = 0;

	if (!call_check(c, err))
		return false;
	repeats = call_tensor(c, 0);
	c->dynamic = true;
	if ((repeats->dtype != DTYPE_I64 && repeats->dtype != DTYPE_I32) || repeats->rank != 1)
		return call_fail(c, err, "repeats is no list of i64 or i32");
	if (!repeats->data && n < 0)
		return call_known(c, 0, err);
	for (int64_t i = 0; repeats->data && i < repeats->size[0]; i++) {
		int64_t r;

		kind_load(KIND_I64, &r, repeats->dtype,
			  (char *)repeats->data + (size_t)i * dtype_bytes(repeats->dtype), 1, 1);
		if (r < 0 || __builtin_add_overflow(sum, r, &sum))
			return call_fail(c, err, "a repeat is negative or too large");
	}
	if (repeats->data && n >= 0 && n != sum)
		return call_fail(c, err, "output_size is %lld, the repeats sum up to %lld", (long long)n,
				 (long long)sum);
	n = repeats->data ? sum : n;
	if (!call_sizes_ok(c, repeats->dtype, 1, &n, err))
		return false;
	tensor_set_type(c->out[0], repeats->dtype, 1, &n);
	return true;
}

static bool repeat_kernel(struct call *c, struct error *err)
{
	const struct tensor *repeats = call_tensor(c, 0);
	size_t width = dtype_bytes(repeats->dtype);
	char *out = c->out[0]->data;

	for (int64_t i = 0; i < repeats->size[0]; i++) {
		int64_t r;

		kind_load(KIND_I64, &r, repeats->dtype, (char *)repeats->data + (size_t)i * width, 1, 1);
		for (; r > 0; r--, out += width)
			kind_store(KIND_I64, &i, repeats->dtype, out, 1, 1);
	}
	return true;
}

const struct op op_mask[] = {
	{ "aten.masked_fill.Scalar", "aten::masked_fill.Scalar_out", "TTS>T", "self, mask, value", DTYPES_REALB,
	  OP_ELEMENTWISE, masked_fill_shape, masked_fill_kernel },
	{ "aten.masked_scatter.default", "aten::masked_scatter.out", "TTT>T", "self, mask, source", DTYPES_REALB,
	  0, masked_scatter_shape, masked_scatter_kernel },
	{ "aten.masked_select.default", "aten::masked_select.out", "TT>T", "self, mask", DTYPES_REALB,
	  0, masked_select_shape, masked_select_kernel },
	{ "aten.nonzero.default", "aten::nonzero.out", "T>T", "self", DTYPES_REALB, 0, nonzero_shape, nonzero_kernel },
	{ "aten.repeat_interleave.Tensor", "aten::repeat_interleave.Tensor_out", "Ti>T", "repeats, output_size",
	  DTYPES(I32, I64), 0, repeat_shape, repeat_kernel },
	{ "aten.where.self", "aten::where.self_out", "TTT>T", "condition, self, other", DTYPES(U8, BOOL),
	  OP_ELEMENTWISE, where_shape, where_kernel },
	{ 0 },
};
