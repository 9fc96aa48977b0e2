/* Copies of views: each operator is a way to see its first argument with other sizes and strides, and the kernel
 * copies what is seen. Results have the default dim order, as eager's do.
 *
 * Stock kernels move memory as if it were in the default dim order, and refuse a result of another order than the
 * argument's; here any order is copied right. */
#include "core/op/loop.h"

#include <string.h>

/* Makes `v`, which comes as argument 0, the view; checks all arguments. */
typedef bool view_fn(const struct call *c, struct tensor *v, struct error *err);

static void offset_view(struct tensor *v, int64_t elements)
{
	if (v->data)
		v->data = (char *)v->data + elements * (int64_t)dtype_bytes(v->dtype);
}

static bool add_dim(const struct call *c, struct tensor *v, int d, int64_t size, int64_t stride, struct error *err)
{
	if (v->rank == MAX_RANK)
		return call_fail(c, err, "the result would have rank %d, at most %d is possible", MAX_RANK + 1,
				 MAX_RANK);
	for (int i = v->rank++; i > d; i--) {
		v->size[i] = v->size[i - 1];
		v->stride[i] = v->stride[i - 1];
	}
	v->size[d] = size;
	v->stride[d] = stride;
	return true;
}

static bool need_rank(const struct call *c, const struct tensor *t, int rank, struct error *err)
{
	return t->rank >= rank || call_fail(c, err, "rank is %d, at least %d is needed", t->rank, rank);
}

/* Order of dimensions. */

static bool view_permute(const struct call *c, struct tensor *v, struct error *err)
{
	struct tensor in = *v;
	bool seen[MAX_RANK] = { false };
	int64_t dims[MAX_RANK];
	int n = call_ints(c, 1, dims, err);

	if (n < 0)
		return false;
	if (n != in.rank)
		return call_fail(c, err, "%d dimensions are given for rank %d", n, in.rank);
	for (int d = 0; d < n; d++) {
		int64_t from = dims[d] < 0 ? dims[d] + n : dims[d];

		if (from < 0 || from >= n || seen[from])
			return call_fail(c, err, "dimension %lld is out of range or given twice", (long long)dims[d]);
		seen[from] = true;
		v->size[d] = in.size[from];
		v->stride[d] = in.stride[from];
	}
	return true;
}

static void swap_dims(struct tensor *v, int a, int b)
{
	int64_t size = v->size[a], stride = v->stride[a];

	v->size[a] = v->size[b];
	v->stride[a] = v->stride[b];
	v->size[b] = size;
	v->stride[b] = stride;
}

static bool view_transpose(const struct call *c, struct tensor *v, struct error *err)
{
	int a, b;

	if (!call_dim(c, 1, v->rank, &a, err) || !call_dim(c, 2, v->rank, &b, err))
		return false;
	if (v->rank)
		swap_dims(v, a, b);
	return true;
}

static bool view_t(const struct call *c, struct tensor *v, struct error *err)
{
	if (v->rank > 2)
		return call_fail(c, err, "rank is %d, at most 2 is possible", v->rank);
	if (v->rank == 2)
		swap_dims(v, 0, 1);
	return true;
}

/* Sizes of one. */

static bool view_expand(const struct call *c, struct tensor *v, struct error *err)
{
	struct tensor in = *v;
	int64_t size[MAX_RANK];
	int n = call_ints(c, 1, size, err), more = n - in.rank;

	if (n < 0)
		return false;
	if (more < 0)
		return call_fail(c, err, "%d sizes are given for rank %d", n, in.rank);
	v->rank = n;
	for (int d = 0; d < n; d++) {
		int64_t old = d < more ? 1 : in.size[d - more];

		v->size[d] = size[d] == -1 && d >= more ? old : size[d];
		v->stride[d] = d < more || (old == 1 && v->size[d] != 1) ? 0 : in.stride[d - more];
		if (v->size[d] < 0 || (old != 1 && v->size[d] != old))
			return call_fail(c, err, "size %lld in dimension %d does not expand to %lld", (long long)old, d,
					 (long long)size[d]);
	}
	return true;
}

static bool view_unsqueeze(const struct call *c, struct tensor *v, struct error *err)
{
	int d;

	return call_dim(c, 1, v->rank + 1, &d, err) && add_dim(c, v, d, 1, 0, err);
}

/* One dimension or some: those of size 1 go. No dimensions: nothing goes. */
static bool view_squeeze(const struct call *c, struct tensor *v, struct error *err)
{
	bool marked[MAX_RANK] = { false };

	if (call_length(c, 1) && !call_dims(c, 1, v->rank, marked, err))
		return false;
	for (int d = v->rank - 1; d >= 0; d--)
		if (marked[d] && v->size[d] == 1)
			*v = tensor_without(*v, d);
	return true;
}

/* Parts. */

static bool view_select(const struct call *c, struct tensor *v, struct error *err)
{
	int64_t at;
	int d;

	if (!need_rank(c, v, 1, err) || !call_dim(c, 1, v->rank, &d, err))
		return false;
	at = call_int(c, 2, 0);
	if (at < -v->size[d] || at >= v->size[d])
		return call_fail(c, err, "index %lld is out of range for size %lld", (long long)at,
				 (long long)v->size[d]);
	offset_view(v, (at < 0 ? at + v->size[d] : at) * v->stride[d]);
	*v = tensor_without(*v, d);
	return true;
}

static int64_t clamp_index(int64_t i, int64_t size)
{
	i += i < 0 ? size : 0;
	return i < 0 ? 0 : i > size ? size : i;
}

/* (self, dim, start, end, step); used by slice_scatter as well, with the first of these at `at`. */
static bool slice_at(const struct call *c, struct tensor *v, int at, struct error *err)
{
	int64_t start, end, step;
	int d;

	if (!need_rank(c, v, 1, err) || !call_dim(c, at, v->rank, &d, err) || !call_known(c, at + 1, err) ||
	    !call_known(c, at + 2, err) || !call_known(c, at + 3, err))
		return false;
	step = call_int(c, at + 3, 1);
	if (step < 1)
		return call_fail(c, err, "step is %lld, at least 1 is needed", (long long)step);
	start = clamp_index(call_int(c, at + 1, 0), v->size[d]);
	end = clamp_index(call_int(c, at + 2, v->size[d]), v->size[d]);
	offset_view(v, start * v->stride[d]);
	v->size[d] = end > start ? (end - start - 1) / step + 1 : 0;
	v->stride[d] *= v->size[d] > 1 ? step : 1;
	return true;
}

static bool view_slice(const struct call *c, struct tensor *v, struct error *err)
{
	return slice_at(c, v, 1, err);
}

static bool view_narrow(const struct call *c, struct tensor *v, struct error *err)
{
	int64_t start, length;
	int d;

	if (!need_rank(c, v, 1, err) || !call_dim(c, 1, v->rank, &d, err) || !call_known(c, 3, err))
		return false;
	start = call_int(c, 2, 0);
	start += start < 0 ? v->size[d] : 0;
	length = call_int(c, 3, 0);
	if (start < 0 || length < 0 || start > v->size[d] || length > v->size[d] - start)
		return call_fail(c, err, "%lld elements from %lld are not in a dimension of size %lld",
				 (long long)length, (long long)start, (long long)v->size[d]);
	offset_view(v, start * v->stride[d]);
	v->size[d] = length;
	return true;
}

static bool view_diagonal(const struct call *c, struct tensor *v, struct error *err)
{
	int64_t offset, rows, cols, stride, n;
	int a, b;

	if (!need_rank(c, v, 2, err) || !call_known(c, 1, err) || !call_dim(c, 2, v->rank, &a, err) ||
	    !call_dim(c, 3, v->rank, &b, err))
		return false;
	if (a == b)
		return call_fail(c, err, "dim1 and dim2 are the same");
	offset = call_int(c, 1, 0);
	rows = v->size[a];
	cols = v->size[b];
	if (offset > cols || offset < -rows)
		n = 0;
	else if (offset >= 0)
		n = rows < cols - offset ? rows : cols - offset;
	else
		n = rows + offset < cols ? rows + offset : cols;
	if (n)
		offset_view(v, offset > 0 ? offset * v->stride[b] : -offset * v->stride[a]);
	stride = v->stride[a] + v->stride[b];
	*v = tensor_without(*v, a > b ? a : b);
	*v = tensor_without(*v, a > b ? b : a);
	return add_dim(c, v, v->rank, n, stride, err);
}

/* Windows of `size`, `step` apart: one more dimension. */
static bool view_unfold(const struct call *c, struct tensor *v, struct error *err)
{
	int64_t size, step, stride;
	int d;

	if (!call_dim(c, 1, v->rank, &d, err) || !call_known(c, 2, err) || !call_known(c, 3, err))
		return false;
	size = call_int(c, 2, 0);
	step = call_int(c, 3, 0);
	if (!v->rank && !add_dim(c, v, 0, 1, 1, err))
		return false;
	if (size < 0 || size > v->size[d] || step < 1)
		return call_fail(c, err, "windows of %lld, %lld apart, do not fit in size %lld", (long long)size,
				 (long long)step, (long long)v->size[d]);
	stride = v->stride[d];
	v->size[d] = (v->size[d] - size) / step + 1;
	v->stride[d] *= step;
	return add_dim(c, v, v->rank, size, stride, err);
}

/* Any strides over the elements as they lie in memory. */
static bool view_as_strided(const struct call *c, struct tensor *v, struct error *err)
{
	int64_t numel = tensor_numel(v), last, size[MAX_RANK], stride[MAX_RANK];
	int n = call_ints(c, 1, size, err), m = call_ints(c, 2, stride, err);
	bool empty = false;

	if (n < 0 || m < 0 || !call_known(c, 3, err))
		return false;
	if (n != m)
		return call_fail(c, err, "%d sizes and %d strides", n, m);
	last = call_int(c, 3, 0);
	if (last < 0)
		return call_fail(c, err, "storage_offset is negative");
	offset_view(v, last);
	for (int d = 0; d < n; d++) {
		if (size[d] < 0 || stride[d] < 0)
			return call_fail(c, err, "a size or stride is negative");
		empty |= !size[d];
	}
	for (int d = 0; d < n && !empty; d++) {
		int64_t reach;

		if (__builtin_mul_overflow(size[d] - 1, stride[d], &reach) ||
		    __builtin_add_overflow(last, reach, &last))
			last = INT64_MAX;
	}
	if (!empty && last >= numel)
		return call_fail(c, err, "element %lld is asked for, there are %lld", (long long)last,
				 (long long)numel);
	v->rank = n;
	memcpy(v->size, size, sizeof size);
	memcpy(v->stride, stride, sizeof stride);
	return true;
}

/* Complex numbers as pairs. */
static bool view_as_real(const struct call *c, struct tensor *v, struct error *err)
{
	static const enum dtype part[] = { DTYPE_F16, DTYPE_F32, DTYPE_F64 };

	v->dtype = part[v->dtype - DTYPE_C32];
	for (int d = 0; d < v->rank; d++)
		v->stride[d] *= 2;
	return add_dim(c, v, v->rank, 2, 1, err);
}

/* Shape and kernel of each. */

static bool view_shape(struct call *c, view_fn *view, struct error *err)
{
	struct tensor v;

	if (!call_check(c, err))
		return false;
	v = *call_tensor(c, 0);
	if (!dtype_bytes(v.dtype))
		return call_fail(c, err, "self is %s, which this operator does not take", dtype_name(v.dtype));
	if (!view(c, &v, err) || !call_sizes_ok(c, v.dtype, v.rank, v.size, err))
		return false;
	tensor_set_type(c->out[0], v.dtype, v.rank, v.size);
	return true;
}

#define VIEW(name) \
static bool name##_shape(struct call *c, struct error *err) \
{ \
	return view_shape(c, view_##name, err); \
} \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	struct tensor v = *call_tensor(c, 0); \
 \
	if (!view_##name(c, &v, err)) \
		return false; \
	tensor_copy(c->out[0], &v); \
	return true; \
}
VIEW(permute)
VIEW(transpose)
VIEW(t)
VIEW(expand)
VIEW(unsqueeze)
VIEW(squeeze)
VIEW(select)
VIEW(slice)
VIEW(narrow)
VIEW(diagonal)
VIEW(unfold)
VIEW(as_strided)
VIEW(as_real)

/* As it is, dim order included. */
static bool same_shape(struct call *c, struct error *err)
{
	if (!call_check(c, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

static bool same_kernel(struct call *c, struct error *err)
{
	tensor_copy(c->out[0], call_tensor(c, 0));
	return true;
}

/* The elements in logical order, under other sizes. */

static bool view_copy_shape(struct call *c, struct error *err)
{
	const struct tensor *in;
	int64_t size[MAX_RANK], known = 1;
	int n, infer = -1;

	if (!call_check(c, err) || (n = call_ints(c, 1, size, err)) < 0)
		return false;
	in = call_tensor(c, 0);
	for (int d = 0; d < n; d++) {
		if (size[d] == -1 && infer >= 0)
			return call_fail(c, err, "more than one size is -1");
		if (size[d] < -1 || (size[d] >= 0 && __builtin_mul_overflow(known, size[d], &known)))
			return call_fail(c, err, "size %lld in dimension %d is not possible", (long long)size[d], d);
		infer = size[d] == -1 ? d : infer;
	}
	if (infer >= 0)
		size[infer] = known ? tensor_numel(in) / known : 0;
	if (known * (infer >= 0 ? size[infer] : 1) != tensor_numel(in))
		return call_fail(c, err, "%lld elements do not fit the sizes asked for", (long long)tensor_numel(in));
	tensor_set_type(c->out[0], in->dtype, n, size);
	return true;
}

static bool view_copy_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), out = *c->out[0];

	tensor_set_type(&out, in->dtype, in->rank, in->size);
	tensor_copy(&out, in);
	return true;
}

/* slice_scatter and select_scatter: self with src in place of a part. */

static bool view_slice_scatter(const struct call *c, struct tensor *v, struct error *err)
{
	return slice_at(c, v, 2, err);
}

static bool view_select_scatter(const struct call *c, struct tensor *v, struct error *err)
{
	int64_t at = call_int(c, 3, 0);
	int d;

	if (!need_rank(c, v, 1, err) || !call_dim(c, 2, v->rank, &d, err))
		return false;
	if (at < -v->size[d] || at >= v->size[d])
		return call_fail(c, err, "index %lld is out of range for size %lld", (long long)at,
				 (long long)v->size[d]);
	offset_view(v, (at < 0 ? at + v->size[d] : at) * v->stride[d]);
	*v = tensor_without(*v, d);
	return true;
}

static bool scatter_shape(struct call *c, view_fn *view, struct error *err)
{
	const struct tensor *src;
	struct tensor v;

	if (!call_check(c, err) || !call_dtype_in(c, 1, DTYPES_REALB, err))
		return false;
	v = *call_tensor(c, 0);
	src = call_tensor(c, 1);
	tensor_set_like(c->out[0], &v);
	if (!view(c, &v, err))
		return false;
	if (src->rank != v.rank || memcmp(src->size, v.size, (size_t)v.rank * sizeof *v.size))
		return call_fail(c, err, "src has not the sizes of the part it replaces");
	return true;
}

static bool scatter_kernel(struct call *c, view_fn *view, struct error *err)
{
	struct tensor part = *c->out[0];

	tensor_copy(c->out[0], call_tensor(c, 0));
	if (!view(c, &part, err))
		return false;
	tensor_copy(&part, call_tensor(c, 1));
	return true;
}

static bool slice_scatter_shape(struct call *c, struct error *err)
{
	return scatter_shape(c, view_slice_scatter, err);
}

static bool slice_scatter_kernel(struct call *c, struct error *err)
{
	return scatter_kernel(c, view_slice_scatter, err);
}

static bool select_scatter_shape(struct call *c, struct error *err)
{
	return scatter_shape(c, view_select_scatter, err);
}

static bool select_scatter_kernel(struct call *c, struct error *err)
{
	return scatter_kernel(c, view_select_scatter, err);
}

const struct op op_view[] = {
	{ "aten.alias_copy.default", "aten::alias_copy.out", "T>T", "self", DTYPES_ANY, OP_VIEW, same_shape,
	  same_kernel },
	{ "aten.as_strided_copy.default", "aten::as_strided_copy.out", "TAAi>T",
	  "self, size, stride, storage_offset", DTYPES_ANY, 0, as_strided_shape, as_strided_kernel },
	{ "aten.detach_copy.default", "aten::detach_copy.out", "T>T", "self", DTYPES_ANY, OP_VIEW, same_shape,
	  same_kernel },
	{ "aten.diagonal_copy.default", "aten::diagonal_copy.out", "TIII>T", "self, offset, dim1, dim2", DTYPES_ANY,
	  0, diagonal_shape, diagonal_kernel },
	{ "aten.expand_copy.default", "aten::expand_copy.out", "TAB>T", "self, size, implicit", DTYPES_ANY,
	  0, expand_shape, expand_kernel },
	{ "aten.lift_fresh_copy.default", "aten::lift_fresh_copy.out", "T>T", "self", DTYPES_ANY,
	  OP_VIEW, same_shape, same_kernel },
	{ "aten.narrow_copy.default", "aten::narrow_copy.out", "TIII>T", "self, dim, start, length", DTYPES_ANY,
	  0, narrow_shape, narrow_kernel },
	{ "aten.permute_copy.default", "aten::permute_copy.out", "TA>T", "self, dims", DTYPES_ANY,
	  0, permute_shape, permute_kernel },
	{ "aten.select_copy.int", "aten::select_copy.int_out", "TII>T", "self, dim, index", DTYPES_ANY,
	  0, select_shape, select_kernel },
	{ "aten.select_scatter.default", "aten::select_scatter.out", "TTII>T", "self, src, dim, index", DTYPES_REALB,
	  0, select_scatter_shape, select_scatter_kernel },
	{ "aten.slice_copy.Tensor", "aten::slice_copy.Tensor_out", "TIiiI>T", "self, dim, start, end, step", DTYPES_ANY,
	  0, slice_shape, slice_kernel },
	{ "aten.slice_scatter.default", "aten::slice_scatter.out", "TTIiiI>T",
	  "self, src, dim, start, end, step", DTYPES_REALB, 0, slice_scatter_shape, slice_scatter_kernel },
	{ "aten.squeeze_copy.dim", "aten::squeeze_copy.dim_out", "TI>T", "self, dim", DTYPES_ANY,
	  OP_VIEW, squeeze_shape, squeeze_kernel },
	{ "aten.squeeze_copy.dims", "aten::squeeze_copy.dims_out", "TA>T", "self, dim", DTYPES_ANY,
	  OP_VIEW, squeeze_shape, squeeze_kernel },
	{ "aten.t_copy.default", "aten::t_copy.out", "T>T", "self", DTYPES_ANY, 0, t_shape, t_kernel },
	{ "aten.transpose_copy.int", "aten::transpose_copy.int_out", "TII>T", "self, dim0, dim1", DTYPES_ANY,
	  0, transpose_shape, transpose_kernel },
	{ "aten.unfold_copy.default", "aten::unfold_copy.out", "TIII>T", "self, dimension, size, step", DTYPES_ANY,
	  0, unfold_shape, unfold_kernel },
	{ "aten.unsqueeze_copy.default", "aten::unsqueeze_copy.out", "TI>T", "self, dim", DTYPES_ANY,
	  OP_VIEW, unsqueeze_shape, unsqueeze_kernel },
	{ "aten.view_as_real_copy.default", "aten::view_as_real_copy.out", "T>T", "self", DTYPES_COMPLEX,
	  0, as_real_shape, as_real_kernel },
	{ "aten.view_copy.default", "aten::view_copy.out", "TA>T", "self, size", DTYPES_ANY,
	  OP_VIEW, view_copy_shape, view_copy_kernel },
	/* to and from other devices; there are none here, so these are shown and never run */
	{ "et_copy._d2h_copy.default", "et_copy::_d2h_copy.out", "T>T", "self", DTYPES_ANY, 0, same_shape, NULL },
	{ "et_copy._h2d_copy.default", "et_copy::_h2d_copy.out", "T>T", "self", DTYPES_ANY, 0, same_shape, NULL },
	{ "executorch_prim.et_view.default", "executorch_prim::et_view.default", "TA>T", "self, size", DTYPES_ANY,
	  OP_VIEW, view_copy_shape, view_copy_kernel },
	{ 0 },
};
