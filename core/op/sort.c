/* topk and sort. Elements are compared by a 64-bit key that has their order (NaN above all), so that one sort serves
 * every dtype; equal elements keep their order. */
#include "core/op/clones.h"
#include "core/op/plain.h"

#include <string.h>

struct item { int64_t key, index; };

/* Keys */

/* Keys of at most LOOP_CHUNK elements; descending turns their order around. Without branches, to vectorise. */
CLONES static void float_keys(int64_t *key, const double *v, int64_t n, bool descending)
{
	const int64_t flip = -(int64_t)descending;

	for (int64_t i = 0; i < n; i++) {
		int64_t bits, ordered;
		double x = v[i] + 0.0;	/* both zeros are one */

		memcpy(&bits, &x, 8);
		ordered = bits ^ (bits < 0 ? INT64_MAX : 0);
		key[i] = (x != x ? INT64_MAX : ordered) ^ flip;
	}
}

static void make_keys(int64_t *key, enum dtype t, const char *data, int64_t stride, int64_t n, bool descending)
{
	double floats[LOOP_CHUNK];

	if (dtype_is_float(t)) {
		kind_load(KIND_F64, floats, t, data, stride, n);
		float_keys(key, floats, n, descending);
		return;
	}
	kind_load(KIND_I64, key, t, data, stride, n);
	for (int64_t i = 0; i < n; i++)
		key[i] ^= -(int64_t)descending;
}

static bool before(const struct item *a, const struct item *b)
{
	return a->key < b->key || (a->key == b->key && a->index < b->index);
}

/* Both sorts are stable, work between two arrays, and return the one with the result. */

static struct item *merge_sort(struct item *a, struct item *b, int64_t n)	/* runs of 1, 2, 4, ... */
{
	for (int64_t run = 1; run < n; run *= 2) {
		struct item *swap = a;

		for (int64_t at = 0; at < n; at += 2 * run) {
			int64_t i = at, mid = at + run < n ? at + run : n, j = mid, end = mid + run < n ? mid + run : n;

			for (int64_t k = at; k < end; k++)
				b[k] = j >= end || (i < mid && a[i].key <= a[j].key) ? a[i++] : a[j++];
		}
		a = b;
		b = swap;
	}
	return a;
}

static struct item *radix_sort(struct item *a, struct item *b, int64_t n)	/* byte by byte, the lowest first */
{
	for (int shift = 0; shift < 64; shift += 8) {
		uint64_t sign = shift == 56 ? 0x80 : 0;
		int64_t start[257] = { 0 };
		struct item *swap = a;

		for (int64_t i = 0; i < n; i++)
			start[(((uint64_t)a[i].key >> shift & 0xff) ^ sign) + 1]++;
		if (start[(((uint64_t)a[0].key >> shift & 0xff) ^ sign) + 1] == n)
			continue;	/* all the same */
		for (int v = 0; v < 256; v++)
			start[v + 1] += start[v];
		for (int64_t i = 0; i < n; i++)
			b[start[((uint64_t)a[i].key >> shift & 0xff) ^ sign]++] = a[i];
		a = b;
		b = swap;
	}
	return a;
}

/* The k first of n, in order: a heap of the best so far with the worst on top. */
static void sift(struct item *heap, int64_t n, int64_t at)
{
	for (;;) {
		int64_t child = 2 * at + 1;
		struct item swap = heap[at];

		if (child + 1 < n && before(&heap[child], &heap[child + 1]))
			child++;
		if (child >= n || !before(&heap[at], &heap[child]))
			return;
		heap[at] = heap[child];
		heap[child] = swap;
		at = child;
	}
}

/* n more elements, which come after all that were seen. */
static int64_t choose_more(struct item *heap, int64_t have, int64_t k, const int64_t *key, int64_t at, int64_t n)
{
	int64_t i = 0;

	for (; i < n && have < k; i++) {
		heap[have++] = (struct item){ key[i], at + i };
		for (int64_t up = k / 2; have == k && up >= 0; up--)
			sift(heap, k, up);
	}
	for (; i < n; i++)
		if (key[i] < heap[0].key) {
			heap[0] = (struct item){ key[i], at + i };
			sift(heap, k, 0);
		}
	return have;
}

static void order_heap(struct item *item, int64_t k)
{
	for (int64_t i = k - 1; i > 0; i--) {
		struct item swap = item[0];

		item[0] = item[i];
		item[i] = swap;
		sift(item, i, 0);
	}
}

/* Rows: tensors are values, indices and self, all without the dimension. */

struct sort_run {
	enum dtype dtype;
	int64_t n, k, stride, value_stride, index_stride;
	bool descending;
	struct item *item, *other;
};

static void sort_one(const struct sort_run *r, char *value, int64_t *index, const char *self)
{
	struct item *item = r->item;
	size_t width = dtype_bytes(r->dtype);
	bool few = r->k < r->n / 8;
	int64_t key[LOOP_CHUNK], have = 0;

	for (int64_t at = 0; at < r->n; at += LOOP_CHUNK) {
		int64_t n = r->n - at < LOOP_CHUNK ? r->n - at : LOOP_CHUNK;

		make_keys(key, r->dtype, self + at * r->stride * (int64_t)width, r->stride, n, r->descending);
		if (few)
			have = choose_more(item, have, r->k, key, at, n);
		for (int64_t i = 0; i < n && !few; i++)
			item[at + i] = (struct item){ key[i], at + i };
	}
	if (few)
		order_heap(item, r->k);
	else
		item = (r->n < 256 ? merge_sort : radix_sort)(item, r->other, r->n);
	for (int64_t i = 0; i < r->k; i++) {
		memcpy(value + (size_t)(i * r->value_stride) * width,
		       self + (size_t)(item[i].index * r->stride) * width, width);
		index[i * r->index_stride] = item[i].index;
	}
}

static void sort_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	const struct sort_run *r = ctx;
	int64_t width = (int64_t)dtype_bytes(r->dtype);

	for (int64_t i = 0; i < n; i++)
		sort_one(r, p[0] + i * step[0] * width, (int64_t *)p[1] + i * step[1], p[2] + i * step[2] * width);
}

static bool sort_along(struct call *c, int dim_arg, int64_t k, bool descending, struct error *err)
{
	struct tensor t[3] = { *c->out[0], *c->out[1], *call_tensor(c, 0) };
	struct sort_run r = { .dtype = t[2].dtype, .n = 1, .k = k, .descending = descending };
	struct loop l;
	int d;

	if (!call_dim(c, dim_arg, t[2].rank, &d, err))
		return false;
	if (t[2].rank) {
		r.n = t[2].size[d];
		r.stride = t[2].stride[d];
		r.value_stride = t[0].stride[d];
		r.index_stride = t[1].stride[d];
	}
	r.k = k < r.n ? k : r.n;
	if (!r.k)
		return true;
	r.item = plain_scratch(c, r.n, sizeof *r.item, err);
	r.other = plain_scratch(c, r.n, sizeof *r.other, err);
	if (!r.item || !r.other)
		return false;
	for (int i = 0; i < 3; i++)
		if (t[2].rank)
			t[i].size[d] = 1;
	loop_start(&l, t[2].rank, t[2].size);
	for (int i = 0; i < 3; i++)
		loop_add(&l, &t[i]);
	loop_run(&l, sort_row, &r);
	return true;
}

/* (self, k, dim, largest, sorted). Always sorted; which of equal elements are taken is ours to say: the first. */

static bool topk_shape(struct call *c, struct error *err)
{
	int64_t size[MAX_RANK], k;
	const struct tensor *self;
	int d;

	if (!call_check(c, err) || !call_known(c, 1, err) ||
	    !call_dim(c, 2, call_tensor(c, 0)->rank, &d, err))
		return false;
	self = call_tensor(c, 0);
	k = call_int(c, 1, 0);
	if (k < 0 || k > (self->rank ? self->size[d] : 1))
		return call_fail(c, err, "k is %lld, the dimension has %lld", (long long)k,
				 (long long)(self->rank ? self->size[d] : 1));
	memcpy(size, self->size, sizeof size);
	size[d] = k;
	tensor_set_type(c->out[0], self->dtype, self->rank, size);
	tensor_set_type(c->out[1], DTYPE_I64, self->rank, size);
	return true;
}

static bool topk_kernel(struct call *c, struct error *err)
{
	return sort_along(c, 2, c->out[0]->rank ? call_int(c, 1, 0) : 1, call_bool(c, 3, true), err);
}

/* (self, dim, descending) and (self, stable, dim, descending). No stock kernel has these names. */

static bool sort_shape(struct call *c, struct error *err)
{
	int d;

	if (!call_check(c, err) || !call_dim(c, op_arg(c->op, "dim"), call_tensor(c, 0)->rank, &d, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	tensor_set_like(c->out[1], call_tensor(c, 0));
	c->out[1]->dtype = DTYPE_I64;
	return true;
}

static bool sort_kernel(struct call *c, struct error *err)
{
	return sort_along(c, op_arg(c->op, "dim"), INT64_MAX, call_bool(c, op_arg(c->op, "descending"), false), err);
}

const struct op op_sort[] = {
	{ "aten.sort.default", "aten::sort.values", "TIB>TT", "self, dim, descending", DTYPES_REALB, 0, sort_shape,
	  sort_kernel },
	{ "aten.sort.stable", "aten::sort.values_stable", "TbIB>TT", "self, stable, dim, descending", DTYPES_REALB,
	  0, sort_shape, sort_kernel },
	{ "aten.topk.default", "aten::topk.values", "TIIBB>TT", "self, k, dim, largest, sorted", DTYPES_REAL,
	  0, topk_shape, topk_kernel },
	{ 0 },
};
