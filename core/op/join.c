/* Joining and splitting. Tensors of any dim order are copied right (see view.c). Where stock kernels join dtypes of one
 * width bit by bit, here they are converted. */
#include "core/op/loop.h"

#include <string.h>

/* cat: channels last if all are. A 1-D tensor without elements joins anything. */

static bool skipped(const struct tensor *t)
{
	return t->rank == 1 && !t->size[0];
}

static bool cat_shape(struct call *c, struct error *err)
{
	const struct tensor *first = NULL;
	bool channels_last = true;
	int64_t size[MAX_RANK];
	enum dtype dtype;
	int n, d = 0;

	if (!call_check(c, err))
		return false;
	if (!(n = call_length(c, 0)))
		return call_fail(c, err, "no tensors are given");
	dtype = call_item_tensor(c, 0, 0)->dtype;
	for (int i = 0; i < n; i++) {
		const struct tensor *t = call_item_tensor(c, 0, i);

		dtype = dtype_promote(dtype, t->dtype);
		channels_last &= tensor_is_channels_last(t);
		first = first || skipped(t) ? first : t;
	}
	first = first ? first : call_item_tensor(c, 0, 0);
	if (!first->rank || !call_dim(c, 1, first->rank, &d, err))
		return first->rank ? false : call_fail(c, err, "tensors of rank 0 cannot be joined");
	memcpy(size, first->size, sizeof size);
	size[d] = 0;
	for (int i = 0; i < n; i++) {
		const struct tensor *t = call_item_tensor(c, 0, i);

		if (skipped(t))
			continue;
		for (int k = 0; k < first->rank; k++)
			if (t->rank != first->rank || (k != d && t->size[k] != size[k]))
				return call_fail(c, err, "tensor %d does not fit the first one", i);
		size[d] += t->size[d];
	}
	if (!call_sizes_ok(c, dtype, first->rank, size, err))
		return false;
	tensor_set_type(c->out[0], dtype, first->rank, size);
	if (channels_last)
		tensor_set_channels_last(c->out[0]);
	return true;
}

static bool cat_kernel(struct call *c, struct error *err)
{
	int64_t at = 0;
	int d;

	if (!call_dim(c, 1, c->out[0]->rank, &d, err))
		return false;
	for (int i = 0, n = call_length(c, 0); i < n; i++) {
		const struct tensor *t = call_item_tensor(c, 0, i);
		struct tensor part;

		if (skipped(t))
			continue;
		part = tensor_narrow(*c->out[0], d, at, t->size[d]);
		tensor_copy(&part, t);
		at += t->size[d];
	}
	return true;
}

static bool stack_shape(struct call *c, struct error *err)
{
	const struct tensor *first;
	int64_t size[MAX_RANK + 1];
	enum dtype dtype;
	int n, d;

	if (!call_check(c, err))
		return false;
	if (!(n = call_length(c, 0)))
		return call_fail(c, err, "no tensors are given");
	first = call_item_tensor(c, 0, 0);
	dtype = first->dtype;
	for (int i = 0; i < n; i++) {
		const struct tensor *t = call_item_tensor(c, 0, i);

		if (t->rank != first->rank || memcmp(t->size, first->size, (size_t)t->rank * sizeof *t->size))
			return call_fail(c, err, "tensor %d has not the sizes of the first one", i);
		dtype = dtype_promote(dtype, t->dtype);
	}
	if (!call_dim(c, 1, first->rank + 1, &d, err))
		return false;
	for (int k = 0; k <= first->rank; k++)
		size[k] = k == d ? n : first->size[k - (k > d)];
	if (!call_sizes_ok(c, dtype, first->rank + 1, size, err))
		return false;
	tensor_set_type(c->out[0], dtype, first->rank + 1, size);
	return true;
}

static bool stack_kernel(struct call *c, struct error *err)
{
	int d;

	if (!call_dim(c, 1, c->out[0]->rank, &d, err))
		return false;
	for (int i = 0, n = call_length(c, 0); i < n; i++) {
		struct tensor part = tensor_without(tensor_narrow(*c->out[0], d, i, 1), d);

		tensor_copy(&part, call_item_tensor(c, 0, i));
	}
	return true;
}

/* Splitting: by one size, by a list of sizes, or in slices that lose the dimension. */

enum { SPLIT_MAX = 1 << 16 };	/* outputs: far above any program, so that a file cannot ask for millions */

/* Size of part i, and how many parts there are. */
static int64_t part_size(const struct call *c, int64_t whole, int i, int64_t *count)
{
	int64_t each;

	if (c->op->schema[1] == 'A') {
		*count = call_length(c, 1);
		return call_item(c, 1, i);
	}
	each = op_nargs(c->op) == 2 ? 1 : call_int(c, 1, 0);
	*count = each > 0 && each < whole ? (whole - 1) / each + 1 : 1;
	if (op_nargs(c->op) == 2)
		*count = whole;
	return *count > 1 && i == *count - 1 ? whole - each * (*count - 1) : each < whole ? each : whole;
}

static bool split_shape(struct call *c, struct error *err)
{
	struct tensor in;
	int64_t count, sum = 0;
	int last = op_nargs(c->op) - 1, d;
	bool unbind = last == 1;

	if (!call_check(c, err) || !call_known(c, 1, err) || !call_dim(c, last, call_tensor(c, 0)->rank, &d, err))
		return false;
	in = *call_tensor(c, 0);
	if (!in.rank)
		return call_fail(c, err, "rank is 0, at least 1 is needed");
	if (c->op->schema[1] == 'I' && !unbind && (call_int(c, 1, 0) < 0 || (!call_int(c, 1, 0) && in.size[d])))
		return call_fail(c, err, "parts of size %lld are not possible", (long long)call_int(c, 1, 0));
	if (!call_length(c, 1))
		count = 0;
	else
		part_size(c, in.size[d], 0, &count);
	if (count > SPLIT_MAX)
		return call_fail(c, err, "%lld results, at most %d are possible", (long long)count, SPLIT_MAX);
	call_outs(c, (int)count);
	for (int i = 0; i < c->nouts; i++) {
		int64_t size = part_size(c, in.size[d], i, &count);
		struct tensor part = tensor_narrow(in, d, 0, size);

		if (size < 0 || size > in.size[d])
			return call_fail(c, err, "a part of size %lld is not possible", (long long)size);
		sum += size;
		part = unbind ? tensor_without(part, d) : part;
		tensor_set_type(c->out[i], in.dtype, part.rank, part.size);
	}
	return sum == in.size[d] || call_fail(c, err, "the parts have %lld elements together, the dimension has %lld",
					      (long long)sum, (long long)in.size[d]);
}

static bool split_kernel(struct call *c, struct error *err)
{
	struct tensor in = *call_tensor(c, 0);
	int64_t at = 0, count;
	int last = op_nargs(c->op) - 1, d;

	if (!call_dim(c, last, in.rank, &d, err))
		return false;
	for (int i = 0; i < c->nouts; i++) {
		int64_t size = part_size(c, in.size[d], i, &count);
		struct tensor part = tensor_narrow(in, d, at, size);

		part = last == 1 ? tensor_without(part, d) : part;
		tensor_copy(c->out[i], &part);
		at += size;
	}
	return true;
}

const struct op op_join[] = {
	{ "aten.cat.default", "aten::cat.out", "LI>T", "tensors, dim", DTYPES_REALB | DTYPES_COMPLEX, 0, cat_shape,
	  cat_kernel },
	{ "aten.split_copy.Tensor", "aten::split_copy.Tensor_out", "TII>L", "self, split_size, dim", DTYPES_ANY,
	  0, split_shape, split_kernel },
	{ "aten.split_with_sizes_copy.default", "aten::split_with_sizes_copy.out", "TAI>L",
	  "self, split_sizes, dim", DTYPES_ANY, 0, split_shape, split_kernel },
	{ "aten.stack.default", "aten::stack.out", "LI>T", "tensors, dim", DTYPES_REALB, 0, stack_shape, stack_kernel },
	{ "aten.unbind_copy.int", "aten::unbind_copy.int_out", "TI>L", "self, dim", DTYPES_ANY, 0, split_shape,
	  split_kernel },
	{ 0 },
};
