/* Copies that are more than one view: joining, splitting, padding, repeating, reversing, and copies to another dtype
 * or dim order. Tensors of any dim order are copied right (see view.c). */
#include "core/op/loop.h"

#include <string.h>

/* A part of a tensor along one dimension. */
static struct tensor narrow(struct tensor t, int d, int64_t from, int64_t size)
{
	if (t.data)
		t.data = (char *)t.data + from * t.stride[d] * (int64_t)dtype_bytes(t.dtype);
	t.size[d] = size;
	return t;
}

static struct tensor without(struct tensor t, int d)
{
	t.rank--;
	for (; d < t.rank; d++) {
		t.size[d] = t.size[d + 1];
		t.stride[d] = t.stride[d + 1];
	}
	return t;
}

static bool is_channels_last(const struct tensor *t)
{
	if ((t->rank != 4 && t->rank != 5) || t->dim_order[0] != 0 || t->dim_order[t->rank - 1] != 1)
		return false;
	for (int i = 1; i < t->rank - 1; i++)
		if (t->dim_order[i] != i + 1)
			return false;
	return true;
}

static void set_channels_last(struct tensor *t)
{
	for (int i = 1; i < t->rank; i++)
		t->dim_order[i] = (uint8_t)(i == t->rank - 1 ? 1 : i + 1);
	tensor_set_strides(t);
}

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

		if (!dtype_in(t->dtype, DTYPES_REALB))
			return call_fail(c, err, "tensor %d is %s, which this operator does not take", i, dtype_name(t->dtype));
		dtype = dtype_promote(dtype, t->dtype);
		channels_last &= is_channels_last(t);
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
		set_channels_last(c->out[0]);
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
		part = narrow(*c->out[0], d, at, t->size[d]);
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
		if (!dtype_in(t->dtype, DTYPES_REALB))
			return call_fail(c, err, "tensor %d is %s, which this operator does not take", i, dtype_name(t->dtype));
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
		struct tensor part = without(narrow(*c->out[0], d, i, 1), d);

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
		struct tensor part = narrow(in, d, 0, size);

		if (size < 0 || size > in.size[d])
			return call_fail(c, err, "a part of size %lld is not possible", (long long)size);
		sum += size;
		part = unbind ? without(part, d) : part;
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
		struct tensor part = narrow(in, d, at, size);

		part = last == 1 ? without(part, d) : part;
		tensor_copy(c->out[i], &part);
		at += size;
	}
	return true;
}

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
		    __builtin_add_overflow(size[d], pad[2 * i + 1], &size[d]) || size[d] < 0 || in.size[d] + pad[2 * i] < 0 ||
		    in.size[d] + pad[2 * i + 1] < 0)
			return call_fail(c, err, "paddings %lld and %lld do not fit size %lld", (long long)pad[2 * i],
					 (long long)pad[2 * i + 1], (long long)in.size[d]);
	}
	if (!call_sizes_ok(c, in.dtype, in.rank, size, err))
		return false;
	tensor_set_type(out, in.dtype, in.rank, size);
	if (is_channels_last(&in))
		set_channels_last(out);
	return true;
}

static bool constant_pad_shape(struct call *c, struct error *err)
{
	int64_t pad[2 * MAX_RANK];
	int n;

	return call_check(c, err) && call_dtype_in(c, 0, DTYPES_REALB, err) && pad_shape(c, pad, &n, err) &&
	       call_fits(c, 2, c->out[0]->dtype, err);
}

static bool constant_pad_kernel(struct call *c, struct error *err)
{
	struct tensor in = *call_tensor(c, 0), out = *c->out[0];
	bool padded = false;

	for (int i = 0; i < call_length(c, 1) / 2; i++) {
		int64_t before = call_item(c, 1, 2 * i), after = call_item(c, 1, 2 * i + 1);
		int d = in.rank - 1 - i;

		padded |= before > 0 || after > 0;
		in = narrow(in, d, before < 0 ? -before : 0, in.size[d] + (before < 0 ? before : 0) + (after < 0 ? after : 0));
		out = narrow(out, d, before > 0 ? before : 0, in.size[d]);
	}
	if (padded)
		tensor_fill(c->out[0], &c->arg[2]);
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

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_REALB, err))
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
		dst = narrow(*out, d, i, 1);
		src = narrow(*in, d, from + border_index(c, i - before, size), 1);
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
		cut.data = arena_alloc(c->scratch, (size_t)tensor_numel(&cut) * dtype_bytes(cut.dtype));
		for (int64_t k = 0; k < cut.size[d]; k++) {
			struct tensor dst = narrow(cut, d, k, 1), src = narrow(in, d, border_index(c, k - before, in.size[d]), 1);

			tensor_copy(&dst, &src);
		}
		in = cut;
	}
	for (int d = in.rank - n; d < in.rank; d++)
		if (in.size[d] != out->size[d])
			done = narrow(done, d, call_item(c, 1, 2 * (in.rank - 1 - d)), in.size[d]);
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

/* repeat: the result seen as [r0, s0, r1, s1, ...], where a repetition or a size of one needs no dimension. */

static bool repeat_shape(struct call *c, struct error *err)
{
	int64_t size[MAX_RANK];
	int n, more, rank = 0;
	const struct tensor *in;

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_ALL, err) || (n = call_ints(c, 1, size, err)) < 0)
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

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_ALL, err) ||
	    !call_dims(c, 1, call_tensor(c, 0)->rank, marked, err))
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

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_ALL, err))
		return false;
	in = call_tensor(c, 0);
	if ((n = call_ints(c, 1, shifts, err)) < 0 || (m = call_ints(c, 2, dims, err)) < 0)
		return false;
	if (!in->rank || !n || n != m)
		return call_fail(c, err, "%d shifts of %d dimensions at rank %d", n, m, in->rank);
	for (int i = 0; i < m; i++)
		if (dims[i] < -in->rank || dims[i] >= in->rank)
			return call_fail(c, err, "dimension %lld is out of range for rank %d", (long long)dims[i], in->rank);
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
	dst = narrow(*out, d, shift[d], head);
	src = narrow(*in, d, 0, head);
	roll_dim(&dst, &src, d + 1, shift);
	dst = narrow(*out, d, 0, shift[d]);
	src = narrow(*in, d, head, shift[d]);
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
	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_REALB, err))
		return false;
	if (call_tensor(c, 0)->rank < 2)
		return call_fail(c, err, "rank is %d, at least 2 is needed", call_tensor(c, 0)->rank);
	tensor_set_type(c->out[0], call_tensor(c, 0)->dtype, call_tensor(c, 0)->rank, call_tensor(c, 0)->size);
	return true;
}

static bool tril_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	int64_t rows = in->size[in->rank - 2], cols = in->size[in->rank - 1], diagonal = call_int(c, 1, 0), n = tensor_numel(in);
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

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_ALL, err) || !call_known(c, 1, err))
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
	if (is_channels_last(in))
		set_channels_last(c->out[0]);
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
			return call_fail(c, err, "memory format %lld at rank %d is not possible", (long long)f, out->rank);
		for (int d = 0; d < out->rank && f != 1; d++)
			out->dim_order[d] = (uint8_t)d;
		tensor_set_strides(out);
		if (f > 1)
			set_channels_last(out);
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

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_ALL, err))
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

	if (!call_check(c, err) || !call_dtype_in(c, 0, DTYPES_ALL, err) || !call_dtype_in(c, 1, DTYPES_ALL, err))
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

#define PAD "self, padding"
#define TO "self, dtype, layout, device, pin_memory, non_blocking, "
const struct op op_shape[] = {
	{ "aten._to_copy.default", "aten::_to_copy.out", "TMMMbBM>T", TO "memory_format", 0, to_shape, to_kernel },
	{ "aten.cat.default", "aten::cat.out", "LI>T", "tensors, dim", 0, cat_shape, cat_kernel },
	{ "aten.clone.default", "aten::clone.out", "TM>T", "self, memory_format", 0, to_shape, to_kernel },
	{ "aten.constant_pad_nd.default", "aten::constant_pad_nd.out", "TAS>T", "self, pad, value", 0, constant_pad_shape, constant_pad_kernel },
	{ "aten.copy.default", "aten::copy.out", "TTB>T", "self, src, non_blocking", 0, copy_shape, copy_kernel },
	{ "aten.copy_.default", "aten::copy_", "TTB>", "self, src, non_blocking", OP_MUTATES, copy_check, copy_inplace_kernel },
	{ "aten.flip.default", "aten::flip.out", "TA>T", "self, dims", 0, flip_shape, flip_kernel },
	{ "aten.pixel_shuffle.default", "aten::pixel_shuffle.out", "TI>T", "self, upscale_factor", 0, pixel_shuffle_shape, pixel_shuffle_kernel },
	{ "aten.pixel_unshuffle.default", "aten::pixel_unshuffle.out", "TI>T", "self, downscale_factor", 0, pixel_unshuffle_shape, pixel_unshuffle_kernel },
	{ "aten.reflection_pad1d.default", "aten::reflection_pad1d.out", "TA>T", PAD, 0, border_pad_shape, border_pad_kernel },
	{ "aten.reflection_pad2d.default", "aten::reflection_pad2d.out", "TA>T", PAD, 0, border_pad_shape, border_pad_kernel },
	{ "aten.reflection_pad3d.default", "aten::reflection_pad3d.out", "TA>T", PAD, 0, border_pad_shape, border_pad_kernel },
	{ "aten.repeat.default", "aten::repeat.out", "TA>T", "self, repeats", 0, repeat_shape, repeat_kernel },
	{ "aten.replication_pad1d.default", "aten::replication_pad1d.out", "TA>T", PAD, 0, border_pad_shape, border_pad_kernel },
	{ "aten.replication_pad2d.default", "aten::replication_pad2d.out", "TA>T", PAD, 0, border_pad_shape, border_pad_kernel },
	{ "aten.replication_pad3d.default", "aten::replication_pad3d.out", "TA>T", PAD, 0, border_pad_shape, border_pad_kernel },
	{ "aten.roll.default", "aten::roll.out", "TAA>T", "self, shifts, dims", 0, roll_shape, roll_kernel },
	{ "aten.split_copy.Tensor", "aten::split_copy.Tensor_out", "TII>L", "self, split_size, dim", 0, split_shape, split_kernel },
	{ "aten.split_with_sizes_copy.default", "aten::split_with_sizes_copy.out", "TAI>L", "self, split_sizes, dim", 0, split_shape, split_kernel },
	{ "aten.stack.default", "aten::stack.out", "LI>T", "tensors, dim", 0, stack_shape, stack_kernel },
	{ "aten.tril.default", "aten::tril.out", "TI>T", "self, diagonal", 0, tril_shape, tril_kernel },
	{ "aten.unbind_copy.int", "aten::unbind_copy.int_out", "TI>L", "self, dim", 0, split_shape, split_kernel },
	{ "dim_order_ops._clone_dim_order.default", "dim_order_ops::_clone_dim_order.out", "TBA>T", "self, non_blocking, dim_order", 0, to_shape, to_kernel },
	{ "dim_order_ops._to_dim_order_copy.default", "dim_order_ops::_to_dim_order_copy.out", "TMMMbBA>T", TO "dim_order", 0, to_shape, to_kernel },
	{ 0 },
};
