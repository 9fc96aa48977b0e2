/* Moving elements by index: gather and scatter, select by list, embedding, advanced indexing.
 *
 * All are one walk: over a shape, an element of `other` goes to or comes from base + offset, where the offsets have
 * been made from the index tensors and checked, so that a bad index is an error before anything is moved. */
#include "core/op/loop.h"

#include <string.h>

/* Offsets */

struct offsets_run {
	enum dtype dtype;
	int64_t size, stride;
	bool wrap;		/* -1 is the last */
	bool bad;
	int64_t worst;		/* one that is out of range */
};

static void offsets_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	struct offsets_run *r = ctx;
	int64_t *out = (int64_t *)p[0], index[LOOP_CHUNK], width = (int64_t)dtype_bytes(r->dtype);

	for (int64_t at = 0; at < n; at += LOOP_CHUNK) {
		int64_t len = n - at < LOOP_CHUNK ? n - at : LOOP_CHUNK;

		kind_load(KIND_I64, index, r->dtype, p[1] + at * step[1] * width, step[1], len);
		for (int64_t i = 0; i < len; i++) {
			int64_t k = index[i] + (r->wrap && index[i] < 0 ? r->size : 0);

			if (k < 0 || k >= r->size) {
				r->bad = true;
				r->worst = index[i];
				continue;
			}
			out[(at + i) * step[0]] += k * r->stride;
		}
	}
}

/* Adds to the offsets those of one more index tensor, broadcast. */
static bool add_offsets(const struct call *c, struct tensor *offsets, const struct tensor *index, int64_t size,
			int64_t stride, bool wrap, struct error *err)
{
	struct offsets_run r = { .dtype = index->dtype, .size = size, .stride = stride, .wrap = wrap };
	struct loop l;

	loop_start(&l, offsets->rank, offsets->size);
	loop_add(&l, offsets);
	loop_add(&l, index);
	loop_run(&l, offsets_row, &r);
	return !r.bad || call_fail(c, err, "index %lld is out of range for size %lld", (long long)r.worst, (long long)size);
}

static struct tensor new_offsets(struct call *c, int rank, const int64_t *size)
{
	struct tensor t = { .dtype = DTYPE_I64 };

	tensor_set_type(&t, DTYPE_I64, rank, size);
	t.data = arena_alloc(c->scratch, (size_t)tensor_numel(&t) * 8 + 8);
	return t;
}

/* The walk. Tensors: other, base, offsets. */

enum move { TAKE, PUT, ADD };

struct move_run {
	enum move how;
	enum dtype dtype;	/* of both */
	size_t width;
};

#define MOVE(T) { \
	T *o = (T *)p[0], *b = (T *)p[1]; \
	if (r->how == TAKE) \
		for (int64_t i = 0; i < n; i++) o[i * step[0]] = b[i * step[1] + at[i * step[2]]]; \
	else \
		for (int64_t i = 0; i < n; i++) b[i * step[1] + at[i * step[2]]] = o[i * step[0]]; } break

/* Sums are rounded to the dtype at every step. */
static void add_one(enum dtype t, void *to, const void *from)
{
	enum kind k = kind_of(t);
	union { float f; double d; uint64_t i; } a, b;

	kind_load(k, &a, t, to, 1, 1);
	kind_load(k, &b, t, from, 1, 1);
	if (k == KIND_F32)
		a.f += b.f;
	else if (k == KIND_F64)
		a.d += b.d;
	else
		a.i += b.i;
	kind_store(k, &a, t, to, 1, 1);
}

static void move_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	const struct move_run *r = ctx;
	const int64_t *at = (const int64_t *)p[2];
	int64_t width = (int64_t)r->width;

	if (!step[2] && step[0] == 1 && step[1] == 1 && r->how != ADD) {	/* one index for the whole row */
		char *base = p[1] + at[0] * width;

		memcpy(r->how == TAKE ? p[0] : base, r->how == TAKE ? base : p[0], (size_t)(n * width));
		return;
	}
	if (r->how == ADD && r->dtype == DTYPE_F32) {
		float *base = (float *)p[1];
		const float *other = (const float *)p[0];

		for (int64_t i = 0; i < n; i++)
			base[i * step[1] + at[i * step[2]]] += other[i * step[0]];
		return;
	}
	if (r->how == ADD) {
		for (int64_t i = 0; i < n; i++)
			add_one(r->dtype, p[1] + (i * step[1] + at[i * step[2]]) * width, p[0] + i * step[0] * width);
		return;
	}
	switch (r->width) {
	case 1: MOVE(uint8_t);
	case 2: MOVE(uint16_t);
	case 4: MOVE(uint32_t);
	case 8: MOVE(uint64_t);
	}
}

/* All have the shape of `other` (base and offsets by broadcasting). Writes go in the order of the offsets: the last wins. */
static void move(enum move how, const struct tensor *other, const struct tensor *base, const struct tensor *offsets)
{
	struct move_run r = { .how = how, .dtype = base->dtype, .width = dtype_bytes(base->dtype) };
	struct loop l;

	loop_start(&l, other->rank, other->size);
	loop_add(&l, other);
	loop_add(&l, base);
	loop_add(&l, offsets);
	l.lead = how == TAKE ? 0 : 2;
	loop_run(&l, move_row, &r);
}

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

	if (!call_dtype_in(c, 0, DTYPES_REALB, err) || !call_dim(c, 1, call_tensor(c, 0)->rank, &d, err))
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
	return src->dtype == call_tensor(c, 0)->dtype || call_fail(c, err, "src is %s, self is %s", dtype_name(src->dtype),
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
	if (!call_check(c, err) || !along_shape(c, call_tensor(c, 3), err) || !call_fits(c, 3, call_tensor(c, 0)->dtype, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

/* Moves between `base` (self, or what becomes of it) and `other` by the index of argument 2. */
static bool move_along(struct call *c, enum move how, const struct tensor *self, const struct tensor *with, struct error *err)
{
	struct tensor index = at_least_1d(*call_tensor(c, 2)), base = at_least_1d(*self), other = at_least_1d(*with), offsets;
	int64_t size, stride;
	int d;

	if (!tensor_numel(&index))
		return true;
	if (!call_dim(c, 1, base.rank, &d, err))
		return false;
	size = base.size[d];
	stride = base.stride[d];
	offsets = new_offsets(c, index.rank, index.size);
	if (!add_offsets(c, &offsets, &index, size, stride, false, err))
		return false;
	base.size[d] = 1;
	for (int k = 0; k < index.rank; k++) {	/* only what the index covers; nothing is broadcast */
		base.size[k] = k == d ? 1 : index.size[k];
		other.size[k] = index.size[k];
	}
	move(how, &other, &base, &offsets);
	return true;
}

static bool gather_kernel(struct call *c, struct error *err)
{
	return move_along(c, TAKE, call_tensor(c, 0), c->out[0], err);
}

static bool scatter_kernel(struct call *c, struct error *err)
{
	tensor_copy(c->out[0], call_tensor(c, 0));
	return move_along(c, PUT, c->out[0], call_tensor(c, 3), err);
}

static bool scatter_value_kernel(struct call *c, struct error *err)
{
	struct tensor value = *call_operand(c, 3, c->out[0]->dtype), index = at_least_1d(*call_tensor(c, 2));

	tensor_copy(c->out[0], call_tensor(c, 0));
	value.rank = index.rank;
	for (int d = 0; d < index.rank; d++)
		value.size[d] = index.size[d], value.stride[d] = 0;
	return move_along(c, PUT, c->out[0], &value, err);
}

static bool scatter_add_kernel(struct call *c, struct error *err)
{
	tensor_copy(c->out[0], call_tensor(c, 0));
	return move_along(c, ADD, c->out[0], call_tensor(c, 3), err);
}

/* index_select and embedding: a list of indices in one dimension. */

static bool is_index(const struct tensor *t)
{
	return t->dtype == DTYPE_I64 || t->dtype == DTYPE_I32;
}

static bool index_select_shape(struct call *c, struct error *err)
{
	const struct tensor *self, *index;
	int64_t size[MAX_RANK];
	int d;

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_REALB, err) ||
	    !call_dim(c, 1, call_tensor(c, 0)->rank, &d, err))
		return false;
	self = call_tensor(c, 0);
	index = call_tensor(c, 2);
	if (!is_index(index) || index->rank > 1 || (!self->rank && tensor_numel(index) != 1))
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
	int d;

	if (!call_dim(c, 1, base.rank, &d, err))
		return false;
	offsets = new_offsets(c, 1, index.size);
	if (!add_offsets(c, &offsets, &index, base.size[d], base.stride[d], false, err))
		return false;
	base.size[d] = 1;
	for (int k = 0; k < out.rank; k++) {	/* as [1, .., n, .., 1] */
		offsets.size[k] = k == d ? out.size[d] : 1;
		offsets.stride[k] = k == d;
	}
	offsets.rank = out.rank;
	move(TAKE, &out, &base, &offsets);
	return true;
}

static bool embedding_shape(struct call *c, struct error *err)
{
	const struct tensor *weight, *index;
	int64_t size[MAX_RANK + 1];

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_ALL, err))
		return false;
	weight = call_tensor(c, 0);
	index = call_tensor(c, 1);
	if (weight->rank != 2 || !is_index(index))
		return call_fail(c, err, "weight has rank %d, indices are %s: they must be 2, and i64 or i32", weight->rank,
				 dtype_name(index->dtype));
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
	struct tensor offsets = new_offsets(c, index->rank, index->size), row = *weight;

	if (!add_offsets(c, &offsets, index, weight->size[0], weight->stride[0], false, err))
		return false;
	row.rank = 1;
	row.size[0] = weight->size[1];
	row.stride[0] = weight->stride[1];
	offsets.size[offsets.rank] = 1;
	offsets.stride[offsets.rank++] = 0;
	move(TAKE, c->out[0], &row, &offsets);
	return true;
}

/* Advanced indexing, self[i, :, j, mask]: argument 1 has for each dimension an index, a mask over one or more
 * dimensions (bool or u8: the places that are true), or nothing. The shape of the indices, broadcast, stands in place
 * of the indexed dimensions if these are adjacent, else in front. */

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

	if (!mask && !is_index(index))
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
		return call_fail(c, err, "the result would have rank %d, at most %d is possible", d + a->rank, MAX_RANK);
	for (int k = 0; k <= self->rank; k++) {
		for (int i = 0; k == a->first && i < a->rank; i++)
			a->result[a->nresult++] = a->size[i];
		if (k < self->rank && !a->indexed[k])
			a->result[a->nresult++] = self->size[k];
	}
	return call_sizes_ok(c, self->dtype, a->nresult, a->result, err);
}

/* A mask as offsets of its true elements. */
static struct tensor mask_offsets(struct call *c, const struct tensor *mask, const int64_t *stride)
{
	int64_t n = count_true(mask), at[MAX_RANK] = { 0 }, offset = 0;
	struct tensor t = new_offsets(c, 1, &n);
	int64_t *out = t.data;

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
	return t;
}

/* Offsets over the shape of the indices, and self without the indexed dimensions, both as they stand in the result. */
static bool advanced_views(struct call *c, const struct advanced *a, const struct tensor *self, struct tensor *base,
			   struct tensor *offsets, struct error *err)
{
	struct tensor all = new_offsets(c, a->rank, a->size);
	int d = 0;

	for (int i = 0; i < call_length(c, 1); i++) {
		const struct tensor *index = call_item_tensor(c, 1, i);
		struct tensor list;

		if (index && is_mask(index)) {
			list = mask_offsets(c, index, &self->stride[d]);
			if (!add_offsets(c, &all, &list, INT64_MAX, 1, false, err))
				return false;
			d += index->rank;
			continue;
		}
		if (index && !add_offsets(c, &all, index, self->size[d], self->stride[d], true, err))
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

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_REALB, err) || !advanced_read(c, &a, err))
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
	move(TAKE, c->out[0], &base, &offsets);
	return true;
}

/* (self, indices, values, accumulate) */
static bool index_put_check(struct call *c, struct error *err)
{
	const struct tensor *values;
	struct advanced a;

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_REALB, err) || !advanced_read(c, &a, err))
		return false;
	values = call_tensor(c, 2);
	if (values->dtype != call_tensor(c, 0)->dtype)
		return call_fail(c, err, "values are %s, self is %s", dtype_name(values->dtype),
				 dtype_name(call_tensor(c, 0)->dtype));
	for (int d = 0; d < values->rank; d++) {
		int at = d + a.nresult - values->rank;

		if (at < 0 || (values->size[d] != 1 && values->size[d] != a.result[at] && !(c->dynamic && !values->data)))
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
	for (int d = a.nresult - 1; d >= 0; d--) {	/* broadcast by hand: the walk has the shape of its first tensor */
		bool has = d >= more && values.size[d - more] == a.result[d];

		values.stride[d] = has ? values.stride[d - more] : 0;
		values.size[d] = a.result[d];
	}
	values.rank = a.nresult;
	move(call_bool(c, 3, false) ? ADD : PUT, &values, &base, &offsets);
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
const struct op op_index[] = {
	{ "aten.embedding.default", "aten::embedding.out", "TTIBB>T", "weight, indices, padding_idx, scale_grad_by_freq, sparse", 0, embedding_shape, embedding_kernel },
	{ "aten.gather.default", "aten::gather.out", "TITB>T", "self, dim, index, sparse_grad", 0, gather_shape, gather_kernel },
	{ "aten.index.Tensor", "aten::index.Tensor_out", "Tl>T", "self, indices", 0, index_shape, index_kernel },
	{ "aten.index_put.default", "aten::index_put.out", "TlTB>T", PUT_ARGS, 0, index_put_shape, index_put_kernel },
	{ "aten.index_put_.default", "aten::index_put_", "TlTB>", PUT_ARGS, OP_MUTATES, index_put_check, index_put_inplace_kernel },
	{ "aten.index_select.default", "aten::index_select.out", "TIT>T", "self, dim, index", 0, index_select_shape, index_select_kernel },
	{ "aten.scatter.src", "aten::scatter.src_out", "TITT>T", "self, dim, index, src", 0, scatter_shape, scatter_kernel },
	{ "aten.scatter.value", "aten::scatter.value_out", "TITS>T", "self, dim, index, value", 0, scatter_shape, scatter_value_kernel },
	{ "aten.scatter_add.default", "aten::scatter_add.out", "TITT>T", "self, dim, index, src", 0, scatter_shape, scatter_add_kernel },
	{ 0 },
};
