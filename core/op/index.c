/* Moving elements by index: gather and scatter, select by list, embedding. */
#include "core/op/index.h"

#include <string.h>

/* gather, scatter: the index has self's rank; its sizes are at most self's but in dim. */

/* Rank 0 as one element of rank 1. */
static struct tensor at_least_1d(struct tensor t)
{
	if (!t.rank) {
		t.rank = 1;
		t.size[0] = t.stride[0] = 1;
		t.dim_order[0] = 0;
	}
	return t;
}

static bool along_shape(struct call *c, const struct tensor *src, struct error *err)
{
	struct tensor self, index;
	int d;

	if (!call_dim(c, 1, call_tensor(c, 0)->rank, &d, err))
		return false;
	self = at_least_1d(*call_tensor(c, 0));
	index = at_least_1d(*call_tensor(c, 2));
	if (index.dtype != DTYPE_I64)
		return call_fail(c, err, "index is %s, not i64", dtype_name(index.dtype));
	if (!tensor_numel(&index))
		return true;
	for (int k = 0; k < self.rank; k++)
		if (index.rank != self.rank || (k != d && index.size[k] > self.size[k]))
			return call_fail(c, err, "index does not fit into self");
	if (!src)
		return true;
	self = at_least_1d(*src);
	for (int k = 0; k < index.rank; k++)
		if (self.rank != index.rank || index.size[k] > self.size[k])
			return call_fail(c, err, "index does not fit into src");
	return src->dtype == call_tensor(c, 0)->dtype ||
	       call_fail(c, err, "src is %s, self is %s", dtype_name(src->dtype),
			 dtype_name(call_tensor(c, 0)->dtype));
}

static bool gather_shape(struct call *c, struct error *err)
{
	if (!call_check(c, err) || !along_shape(c, NULL, err))
		return false;
	tensor_set_type(c->out[0], call_tensor(c, 0)->dtype, call_tensor(c, 2)->rank, call_tensor(c, 2)->size);
	return true;
}

static bool scatter_shape(struct call *c, struct error *err)
{
	if (!call_check(c, err) || !along_shape(c, call_tensor(c, 3), err) ||
	    !call_fits(c, 3, call_tensor(c, 0)->dtype, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

/* Moves between `base` (self, or what becomes of it) and `other` by the index of argument 2. */
static bool move_along(struct call *c, enum index_move how, const struct tensor *self, const struct tensor *with,
		       struct error *err)
{
	struct tensor index = at_least_1d(*call_tensor(c, 2)), base = at_least_1d(*self),
		      other = at_least_1d(*with), offsets;
	int64_t size, stride, scale;
	int d;

	if (!tensor_numel(&index))
		return true;
	if (!call_dim(c, 1, base.rank, &d, err))
		return false;
	size = base.size[d];
	stride = base.stride[d];
	if (!index_offsets_of(c, &index, size, stride, &offsets, &scale, err))
		return false;
	base.size[d] = 1;
	for (int k = 0; k < index.rank; k++) {	/* only what the index covers; nothing is broadcast */
		base.size[k] = k == d ? 1 : index.size[k];
		other.size[k] = index.size[k];
	}
	index_move(how, &other, &base, &offsets, scale);
	return true;
}

static bool gather_kernel(struct call *c, struct error *err)
{
	return move_along(c, INDEX_TAKE, call_tensor(c, 0), c->out[0], err);
}

static bool scatter_kernel(struct call *c, struct error *err)
{
	tensor_copy(c->out[0], call_tensor(c, 0));
	return move_along(c, INDEX_PUT, c->out[0], call_tensor(c, 3), err);
}

static bool scatter_value_kernel(struct call *c, struct error *err)
{
	struct tensor value = *call_operand(c, 3, c->out[0]->dtype), index = at_least_1d(*call_tensor(c, 2));

	tensor_copy(c->out[0], call_tensor(c, 0));
	value.rank = index.rank;
	for (int d = 0; d < index.rank; d++)
		value.size[d] = index.size[d], value.stride[d] = 0;
	return move_along(c, INDEX_PUT, c->out[0], &value, err);
}

static bool scatter_add_kernel(struct call *c, struct error *err)
{
	tensor_copy(c->out[0], call_tensor(c, 0));
	return move_along(c, INDEX_ADD, c->out[0], call_tensor(c, 3), err);
}

/* index_select and embedding: a list of indices in one dimension. */

static bool index_select_shape(struct call *c, struct error *err)
{
	const struct tensor *self, *index;
	int64_t size[MAX_RANK];
	int d;

	if (!call_check(c, err) || !call_dim(c, 1, call_tensor(c, 0)->rank, &d, err))
		return false;
	self = call_tensor(c, 0);
	index = call_tensor(c, 2);
	if (!index_is_list(index) || index->rank > 1 || (!self->rank && tensor_numel(index) != 1))
		return call_fail(c, err, "index is no list of i64 or i32");
	memcpy(size, self->size, sizeof size);
	size[d] = tensor_numel(index);
	if (!call_sizes_ok(c, self->dtype, self->rank, size, err))
		return false;
	tensor_set_type(c->out[0], self->dtype, self->rank, size);
	return true;
}

static bool index_select_kernel(struct call *c, struct error *err)
{
	struct tensor base = at_least_1d(*call_tensor(c, 0)), out = at_least_1d(*c->out[0]), offsets;
	struct tensor index = at_least_1d(*call_tensor(c, 2));
	int64_t scale;
	int d;

	if (!call_dim(c, 1, base.rank, &d, err))
		return false;
	if (!index_offsets_of(c, &index, base.size[d], base.stride[d], &offsets, &scale, err))
		return false;
	base.size[d] = 1;
	for (int k = 0; k < out.rank; k++) {	/* as [1, .., n, .., 1] */
		offsets.size[k] = k == d ? out.size[d] : 1;
		offsets.stride[k] = k == d;
	}
	offsets.rank = out.rank;
	index_move(INDEX_TAKE, &out, &base, &offsets, scale);
	return true;
}

static bool embedding_shape(struct call *c, struct error *err)
{
	const struct tensor *weight, *index;
	int64_t size[MAX_RANK + 1];

	if (!call_check(c, err))
		return false;
	weight = call_tensor(c, 0);
	index = call_tensor(c, 1);
	if (weight->rank != 2 || !index_is_list(index))
		return call_fail(c, err, "weight has rank %d, indices are %s: they must be 2, and i64 or i32",
				 weight->rank, dtype_name(index->dtype));
	memcpy(size, index->size, sizeof index->size);
	size[index->rank] = weight->size[1];
	if (!call_sizes_ok(c, weight->dtype, index->rank + 1, size, err))
		return false;
	tensor_set_type(c->out[0], weight->dtype, index->rank + 1, size);
	return true;
}

static bool embedding_kernel(struct call *c, struct error *err)
{
	const struct tensor *weight = call_tensor(c, 0), *index = call_tensor(c, 1);
	struct tensor offsets, row = *weight;
	int64_t scale;

	if (!index_offsets_of(c, index, weight->size[0], weight->stride[0], &offsets, &scale, err))
		return false;
	row.rank = 1;
	row.size[0] = weight->size[1];
	row.stride[0] = weight->stride[1];
	offsets.size[offsets.rank] = 1;
	offsets.stride[offsets.rank++] = 0;
	index_move(INDEX_TAKE, c->out[0], &row, &offsets, scale);
	return true;
}

const struct op op_index[] = {
	{ "aten.embedding.default", "aten::embedding.out", "TTIBB>T",
	  "weight, indices, padding_idx, scale_grad_by_freq, sparse", DTYPES_REALB | DTYPES_UNSIGNED, 0,
	  embedding_shape, embedding_kernel },
	{ "aten.gather.default", "aten::gather.out", "TITB>T", "self, dim, index, sparse_grad", DTYPES_REALB,
	  0, gather_shape, gather_kernel },
	{ "aten.index_select.default", "aten::index_select.out", "TIT>T", "self, dim, index", DTYPES_REALB,
	  0, index_select_shape, index_select_kernel },
	{ "aten.scatter.src", "aten::scatter.src_out", "TITT>T", "self, dim, index, src", DTYPES_REALB,
	  0, scatter_shape, scatter_kernel },
	{ "aten.scatter.value", "aten::scatter.value_out", "TITS>T", "self, dim, index, value", DTYPES_REALB,
	  0, scatter_shape, scatter_value_kernel },
	{ "aten.scatter_add.default", "aten::scatter_add.out", "TITT>T", "self, dim, index, src", DTYPES_REALB,
	  0, scatter_shape, scatter_add_kernel },
	{ 0 },
};
