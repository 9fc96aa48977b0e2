/* Padding: with a number, with a mirror image, with the border. Channels last stays. */
#include "core/op/plain.h"

#include <string.h>

/* Padding, in pairs from the last dimension on. A negative pad cuts off (stock kernels refuse that). */

static bool pad_shape(struct call *c, int64_t *pad, int *npads, struct error *err)
{
	struct tensor in = *call_tensor(c, 0), *out = c->out[0];
	int64_t size[MAX_RANK];

	if (call_length(c, 1) % 2 || call_length(c, 1) / 2 > in.rank)
		return call_fail(c, err, "%d paddings do not fit rank %d", call_length(c, 1), in.rank);
	if (!call_known(c, 1, err))
		return false;
	*npads = call_length(c, 1) / 2;
	memcpy(size, in.size, sizeof size);
	for (int i = 0; i < *npads; i++) {
		int d = in.rank - 1 - i;

		pad[2 * i] = call_item(c, 1, 2 * i);
		pad[2 * i + 1] = call_item(c, 1, 2 * i + 1);
		if (__builtin_add_overflow(size[d], pad[2 * i], &size[d]) ||
		    __builtin_add_overflow(size[d], pad[2 * i + 1], &size[d]) || size[d] < 0 ||
		    pad[2 * i] < -in.size[d] || pad[2 * i + 1] < -in.size[d])
			return call_fail(c, err, "paddings %lld and %lld do not fit size %lld", (long long)pad[2 * i],
					 (long long)pad[2 * i + 1], (long long)in.size[d]);
	}
	if (!call_sizes_ok(c, in.dtype, in.rank, size, err))
		return false;
	tensor_set_type(out, in.dtype, in.rank, size);
	if (tensor_is_channels_last(&in))
		tensor_set_channels_last(out);
	return true;
}

static bool constant_pad_shape(struct call *c, struct error *err)
{
	int64_t pad[2 * MAX_RANK];
	int n;

	return call_check(c, err) && pad_shape(c, pad, &n, err) &&
	       call_fits(c, 2, c->out[0]->dtype, err);
}

/* The border slab by slab, each between those of the dimensions before; then what is inside. */
static bool constant_pad_kernel(struct call *c, struct error *err)
{
	struct tensor in = *call_tensor(c, 0), out = *c->out[0];

	for (int i = call_length(c, 1) / 2 - 1; i >= 0; i--) {
		int64_t before = call_item(c, 1, 2 * i), after = call_item(c, 1, 2 * i + 1);
		int64_t cut = before < 0 ? -before : 0;
		int d = in.rank - 1 - i;
		struct tensor slab;

		in = tensor_narrow(in, d, cut, in.size[d] - cut + (after < 0 ? after : 0));
		before = before < 0 ? 0 : before;
		slab = tensor_narrow(out, d, 0, before);
		tensor_fill(&slab, &c->arg[2]);
		slab = tensor_narrow(out, d, before + in.size[d], after < 0 ? 0 : after);
		tensor_fill(&slab, &c->arg[2]);
		out = tensor_narrow(out, d, before, in.size[d]);
	}
	tensor_copy(&out, &in);
	return true;
}

/* reflection_pad and replication_pad: which, and of how many dimensions, stands in the name. */

static bool mirrors(const struct call *c)
{
	return c->op->name[strlen("aten.re")] == 'f';
}

static bool border_pad_shape(struct call *c, struct error *err)
{
	int want = c->op->name[strlen(c->op->name) - strlen("d.default") - 1] - '0', n;
	int64_t pad[2 * MAX_RANK];
	const struct tensor *in;

	if (!call_check(c, err))
		return false;
	in = call_tensor(c, 0);
	if (call_length(c, 1) != 2 * want || (in->rank != want + 1 && in->rank != want + 2))
		return call_fail(c, err, "%d paddings and rank %d", call_length(c, 1), in->rank);
	if (!pad_shape(c, pad, &n, err))
		return false;
	for (int i = 0; i < n; i++) {
		int64_t size = in->size[in->rank - 1 - i];

		if (!size || (mirrors(c) && (pad[2 * i] >= size || pad[2 * i + 1] >= size)))
			return call_fail(c, err, "paddings %lld and %lld do not fit size %lld", (long long)pad[2 * i],
					 (long long)pad[2 * i + 1], (long long)size);
	}
	return true;
}

static int64_t border_index(const struct call *c, int64_t i, int64_t size)
{
	if (i < 0)
		return mirrors(c) ? -i : 0;
	return i < size ? i : mirrors(c) ? 2 * size - i - 2 : size - 1;
}

/* Fills the border of dimension d, which begins at `before`, from `in`, which begins at `from`. */
static void pad_dim(const struct call *c, const struct tensor *out, const struct tensor *in, int d, int64_t size,
		    int64_t before, int64_t from)
{
	for (int64_t i = 0; i < out->size[d]; i++) {
		struct tensor dst, src;

		if (i >= before && i < before + size)
			continue;
		dst = tensor_narrow(*out, d, i, 1);
		src = tensor_narrow(*in, d, from + border_index(c, i - before, size), 1);
		tensor_copy(&dst, &src);
	}
}

/* What is inside goes to its place; then, dimension by dimension, the border is filled from what is there. A
 * dimension that is cut takes its border from the whole, by way of a copy. */
static bool border_pad_kernel(struct call *c, struct error *err)
{
	struct tensor in = *call_tensor(c, 0), *out = c->out[0], done = *out, inside;
	int n = call_length(c, 1) / 2;

	for (int i = 0; i < n; i++) {
		int64_t before = call_item(c, 1, 2 * i), after = call_item(c, 1, 2 * i + 1);
		int d = in.rank - 1 - i;
		struct tensor cut = in;

		if (before >= 0 && after >= 0)
			continue;
		cut.size[d] = out->size[d];
		tensor_set_strides(&cut);
		cut.data = plain_scratch(c, tensor_numel(&cut), dtype_bytes(cut.dtype), err);
		if (!cut.data)
			return false;
		for (int64_t k = 0; k < cut.size[d]; k++) {
			struct tensor dst = tensor_narrow(cut, d, k, 1),
				      src = tensor_narrow(in, d, border_index(c, k - before, in.size[d]), 1);

			tensor_copy(&dst, &src);
		}
		in = cut;
	}
	for (int d = in.rank - n; d < in.rank; d++)
		if (in.size[d] != out->size[d])
			done = tensor_narrow(done, d, call_item(c, 1, 2 * (in.rank - 1 - d)), in.size[d]);
	inside = done;
	tensor_copy(&inside, &in);
	for (int d = in.rank - 1; d >= in.rank - n; d--) {
		int64_t before = call_item(c, 1, 2 * (in.rank - 1 - d));
		int64_t step = out->stride[d] * (int64_t)dtype_bytes(out->dtype);

		if (in.size[d] == out->size[d])
			continue;
		done.data = (char *)done.data - before * step;
		done.size[d] = out->size[d];
		pad_dim(c, &done, &done, d, in.size[d], before, before);
	}
	return true;
}

#define PAD "self, padding"
const struct op op_pad[] = {
	{ "aten.constant_pad_nd.default", "aten::constant_pad_nd.out", "TAS>T", "self, pad, value", DTYPES_REALB,
	  0, constant_pad_shape, constant_pad_kernel },
	{ "aten.reflection_pad1d.default", "aten::reflection_pad1d.out", "TA>T", PAD, DTYPES_REALB | DTYPES_COMPLEX,
	  0, border_pad_shape, border_pad_kernel },
	{ "aten.reflection_pad2d.default", "aten::reflection_pad2d.out", "TA>T", PAD, DTYPES_REALB | DTYPES_COMPLEX,
	  0, border_pad_shape, border_pad_kernel },
	{ "aten.reflection_pad3d.default", "aten::reflection_pad3d.out", "TA>T", PAD, DTYPES_REALB | DTYPES_COMPLEX,
	  0, border_pad_shape, border_pad_kernel },
	{ "aten.replication_pad1d.default", "aten::replication_pad1d.out", "TA>T", PAD, DTYPES_REALB | DTYPES_COMPLEX,
	  0, border_pad_shape, border_pad_kernel },
	{ "aten.replication_pad2d.default", "aten::replication_pad2d.out", "TA>T", PAD, DTYPES_REALB | DTYPES_COMPLEX,
	  0, border_pad_shape, border_pad_kernel },
	{ "aten.replication_pad3d.default", "aten::replication_pad3d.out", "TA>T", PAD, DTYPES_REALB | DTYPES_COMPLEX,
	  0, border_pad_shape, border_pad_kernel },
	{ 0 },
};
