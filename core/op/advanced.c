/* Advanced indexing: self[i, :, j, mask], read or written. */
#include "core/op/index.h"

#include <string.h>

/* Argument 1 has for each dimension an index, a mask over one or more dimensions (bool or u8: the places that are
 * true), or nothing. The shape of the indices, broadcast, stands in place of the indexed dimensions if these are
 * adjacent, else in front. */

struct advanced {
	int rank;			/* of the broadcast indices */
	int64_t size[MAX_RANK];
	int first;			/* where that shape stands in the result */
	int nresult;
	int64_t result[MAX_RANK];
	bool indexed[MAX_RANK];		/* dimensions of self */
	int64_t bound;			/* most elements that a mask without data may choose; 0: there is none */
};

static bool is_mask(const struct tensor *t)
{
	return t->dtype == DTYPE_BOOL || t->dtype == DTYPE_U8;
}

static int64_t count_true(const struct tensor *mask)
{
	const uint8_t *p = mask->data;
	int64_t n = 0;

	for (int64_t i = 0; i < tensor_numel(mask); i++)
		n += p[i] != 0;
	return n;
}

/* Broadcasts one more shape into that of the indices. */
static bool join_shape(struct advanced *a, int rank, const int64_t *size)
{
	if (rank > a->rank) {
		memmove(&a->size[rank - a->rank], a->size, (size_t)a->rank * sizeof *a->size);
		for (int d = 0; d < rank - a->rank; d++)
			a->size[d] = 1;
		a->rank = rank;
	}
	for (int d = 0; d < rank; d++) {
		int64_t *s = &a->size[d + a->rank - rank];

		if (*s != 1 && size[d] != 1 && *s != size[d])
			return false;
		*s = *s == 1 ? size[d] : *s;
	}
	return true;
}

static bool join_index(struct call *c, struct advanced *a, const struct tensor *index, const struct tensor *self, int d,
		       struct error *err)
{
	bool mask = is_mask(index);
	int64_t n = 1;

	if (!mask && !index_is_list(index))
		return call_fail(c, err, "an index is %s, not i64, i32, bool or u8", dtype_name(index->dtype));
	if (mask && !index->rank)
		return call_fail(c, err, "a mask has rank 0");
	for (int k = 0; k < (mask ? index->rank : 1); k++) {
		if (d + k >= self->rank || (mask && index->size[k] != self->size[d + k]))
			return call_fail(c, err, "the indices do not fit into self");
		a->indexed[d + k] = true;
	}
	if (mask) {
		c->dynamic = true;
		if (!index->data) {
			a->bound = tensor_numel(index);
			return true;
		}
		n = count_true(index);
	}
	return join_shape(a, mask ? 1 : index->rank, mask ? &n : index->size) ||
	       call_fail(c, err, "the indices do not broadcast");
}

/* Reads the list of indices: which dimensions are indexed, and the shape of the result. */
static bool advanced_read(struct call *c, struct advanced *a, struct error *err)
{
	const struct tensor *self = call_tensor(c, 0);
	int d = 0, blocks = 0;
	bool inside = false;

	memset(a, 0, sizeof *a);
	for (int i = 0; i < call_length(c, 1); i++) {
		const struct tensor *index = call_item_tensor(c, 1, i);

		if (index && !inside)
			a->first = blocks++ ? 0 : d;
		inside = index;
		if (index && !join_index(c, a, index, self, d, err))
			return false;
		d += index && is_mask(index) ? index->rank : 1;
	}
	if (d > self->rank)
		return call_fail(c, err, "%d indices for rank %d", d, self->rank);
	if (a->bound && (!a->rank || a->size[a->rank - 1] == 1))
		join_shape(a, 1, &a->bound);
	for (int k = d = 0; k < self->rank; k++)
		d += !a->indexed[k];
	if (d + a->rank > MAX_RANK)
		return call_fail(c, err, "the result would have rank %d, at most %d is possible", d + a->rank,
				 MAX_RANK);
	for (int k = 0; k <= self->rank; k++) {
		for (int i = 0; k == a->first && i < a->rank; i++)
			a->result[a->nresult++] = a->size[i];
		if (k < self->rank && !a->indexed[k])
			a->result[a->nresult++] = self->size[k];
	}
	return call_sizes_ok(c, self->dtype, a->nresult, a->result, err);
}

/* A mask as offsets of its true elements. */
static bool mask_offsets(struct call *c, struct tensor *offsets, const struct tensor *mask, const int64_t *stride,
			 struct error *err)
{
	int64_t n = count_true(mask), at[MAX_RANK] = { 0 }, offset = 0, *out;

	if (!index_offsets(c, offsets, 1, &n, err))
		return false;
	out = offsets->data;

	for (int64_t i = 0; i < tensor_numel(mask); i++) {
		int64_t in = 0;
		int d = mask->rank - 1;

		for (int k = 0; k < mask->rank; k++)
			in += at[k] * mask->stride[k];
		if (((const uint8_t *)mask->data)[in])
			*out++ = offset;
		for (; d >= 0 && ++at[d] == mask->size[d]; d--) {
			at[d] = 0;
			offset -= (mask->size[d] - 1) * stride[d];
		}
		offset += d >= 0 ? stride[d] : 0;
	}
	return true;
}

/* Offsets over the shape of the indices, and self without the indexed dimensions, both as they stand in the result. */
static bool advanced_views(struct call *c, const struct advanced *a, const struct tensor *self, struct tensor *base,
			   struct tensor *offsets, struct error *err)
{
	struct tensor all;
	int d = 0;

	if (!index_offsets(c, &all, a->rank, a->size, err))
		return false;

	for (int i = 0; i < call_length(c, 1); i++) {
		const struct tensor *index = call_item_tensor(c, 1, i);
		struct tensor list;

		if (index && is_mask(index)) {
			if (!mask_offsets(c, &list, index, &self->stride[d], err) ||
			    !index_offsets_add(c, &all, &list, INT64_MAX, 1, false, err))
				return false;
			d += index->rank;
			continue;
		}
		if (index && !index_offsets_add(c, &all, index, self->size[d], self->stride[d], true, err))
			return false;
		d++;
	}
	*base = *offsets = *self;
	offsets->dtype = DTYPE_I64;
	offsets->data = all.data;
	base->rank = offsets->rank = a->nresult;
	for (int k = 0, in = 0; k < a->nresult; k++) {
		bool index = k >= a->first && k < a->first + a->rank;

		while (!index && a->indexed[in])
			in++;
		base->size[k] = offsets->size[k] = a->result[k];
		offsets->stride[k] = index ? all.stride[k - a->first] : 0;
		base->stride[k] = index ? 0 : self->stride[in++];
	}
	return true;
}

static bool index_shape(struct call *c, struct error *err)
{
	struct advanced a;

	if (!call_check(c, err) || !advanced_read(c, &a, err))
		return false;
	tensor_set_type(c->out[0], call_tensor(c, 0)->dtype, a.nresult, a.result);
	return true;
}

static bool index_kernel(struct call *c, struct error *err)
{
	struct tensor base, offsets;
	struct advanced a;

	if (!advanced_read(c, &a, err) || !advanced_views(c, &a, call_tensor(c, 0), &base, &offsets, err))
		return false;
	index_move(INDEX_TAKE, c->out[0], &base, &offsets, 1);
	return true;
}

/* (self, indices, values, accumulate) */
static bool index_put_check(struct call *c, struct error *err)
{
	const struct tensor *values;
	struct advanced a;

	if (!call_check(c, err) || !advanced_read(c, &a, err))
		return false;
	values = call_tensor(c, 2);
	if (values->dtype != call_tensor(c, 0)->dtype)
		return call_fail(c, err, "values are %s, self is %s", dtype_name(values->dtype),
				 dtype_name(call_tensor(c, 0)->dtype));
	for (int d = 0; d < values->rank; d++) {
		int at = d + a.nresult - values->rank;

		if (at < 0 ||
		    (values->size[d] != 1 && values->size[d] != a.result[at] && !(c->dynamic && !values->data)))
			return call_fail(c, err, "values do not broadcast to the indexed part");
	}
	return true;
}

static bool index_put_shape(struct call *c, struct error *err)
{
	if (!index_put_check(c, err))
		return false;
	c->dynamic = false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

static bool index_put(struct call *c, const struct tensor *self, struct error *err)
{
	struct tensor base, offsets, values = *call_tensor(c, 2);
	struct advanced a;
	int more;

	if (!advanced_read(c, &a, err) || !advanced_views(c, &a, self, &base, &offsets, err))
		return false;
	more = a.nresult - values.rank;
	/* broadcast by hand: the walk has the shape of its first tensor */
	for (int d = a.nresult - 1; d >= 0; d--) {
		bool has = d >= more && values.size[d - more] == a.result[d];

		values.stride[d] = has ? values.stride[d - more] : 0;
		values.size[d] = a.result[d];
	}
	values.rank = a.nresult;
	index_move(call_bool(c, 3, false) ? INDEX_ADD : INDEX_PUT, &values, &base, &offsets, 1);
	return true;
}

static bool index_put_kernel(struct call *c, struct error *err)
{
	tensor_copy(c->out[0], call_tensor(c, 0));
	return index_put(c, c->out[0], err);
}

static bool index_put_inplace_kernel(struct call *c, struct error *err)
{
	return index_put(c, call_tensor(c, 0), err);
}

#define PUT_ARGS "self, indices, values, accumulate"
const struct op op_advanced[] = {
	{ "aten.index.Tensor", "aten::index.Tensor_out", "Tl>T", "self, indices", DTYPES_REALB, 0, index_shape,
	  index_kernel },
	{ "aten.index_put.default", "aten::index_put.out", "TlTB>T", PUT_ARGS, DTYPES_REALB, 0, index_put_shape,
	  index_put_kernel },
	{ "aten.index_put_.default", "aten::index_put_", "TlTB>", PUT_ARGS, DTYPES_REALB,
	  OP_MUTATES, index_put_check, index_put_inplace_kernel },
	{ 0 },
};
