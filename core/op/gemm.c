/* linear, mm, bmm, addmm. The stock kernels take default-order operands of one dtype; here the second operand may
 * lie in any dim order, because weights raised from delegates do. linear takes a 1-D input as well. */
#include "core/op/matmul.h"

#include <string.h>

static bool check_operands(struct call *c, int ia, int ib, struct error *err)
{
	struct tensor *a, *b;

	if (!call_check(c, err) || !call_dtype_in(c, ia, DTYPES_REAL, err))
		return false;
	a = call_tensor(c, ia), b = call_tensor(c, ib);
	if (a->dtype != b->dtype)
		return call_fail(c, err, "operands are %s and %s, must be one dtype", dtype_name(a->dtype),
				 dtype_name(b->dtype));
	if (!tensor_is_default_order(a))
		return call_fail(c, err, "the first operand is not in the default dim order");
	return true;
}

static bool check_matrices(struct call *c, int ia, int ib, int rank, struct error *err)
{
	struct tensor *a, *b;

	if (!check_operands(c, ia, ib, err))
		return false;
	a = call_tensor(c, ia), b = call_tensor(c, ib);
	if (a->rank != rank || b->rank != rank)
		return call_fail(c, err, "operands have ranks %d and %d, must be %d", a->rank, b->rank, rank);
	if (a->size[rank - 1] != b->size[rank - 2])
		return call_fail(c, err, "%lld columns meet %lld rows", (long long)a->size[rank - 1],
				 (long long)b->size[rank - 2]);
	if (rank == 3 && a->size[0] != b->size[0])
		return call_fail(c, err, "batches of %lld and %lld", (long long)a->size[0], (long long)b->size[0]);
	return true;
}

static bool mm_shape(struct call *c, struct error *err)
{
	struct tensor *a, *b;

	if (!check_matrices(c, 0, 1, 2, err))
		return false;
	a = call_tensor(c, 0), b = call_tensor(c, 1);
	tensor_set_type(c->out[0], a->dtype, 2, (int64_t[]){ a->size[0], b->size[1] });
	return true;
}

static bool bmm_shape(struct call *c, struct error *err)
{
	struct tensor *a, *b;

	if (!check_matrices(c, 0, 1, 3, err))
		return false;
	a = call_tensor(c, 0), b = call_tensor(c, 1);
	tensor_set_type(c->out[0], a->dtype, 3, (int64_t[]){ a->size[0], a->size[1], b->size[2] });
	return true;
}

static bool addmm_shape(struct call *c, struct error *err)
{
	struct tensor *bias, *a, *b;
	int64_t size[2];

	if (!check_matrices(c, 1, 2, 2, err))
		return false;
	bias = call_tensor(c, 0), a = call_tensor(c, 1), b = call_tensor(c, 2);
	size[0] = a->size[0], size[1] = b->size[1];
	if (bias->dtype != a->dtype)
		return call_fail(c, err, "the bias must be a tensor of %s", dtype_name(a->dtype));
	if (bias->rank > 2)
		return call_fail(c, err, "the bias has rank %d, at most 2 is allowed", bias->rank);
	for (int d = 0; d < bias->rank; d++)
		if (bias->size[d] != 1 && bias->size[d] != size[2 - bias->rank + d])
			return call_fail(c, err, "a bias dimension of %lld does not broadcast to %lld",
					 (long long)bias->size[d], (long long)size[2 - bias->rank + d]);
	tensor_set_type(c->out[0], a->dtype, 2, size);
	return true;
}

static bool linear_shape(struct call *c, struct error *err)
{
	struct tensor *in, *w, *bias;
	int64_t size[MAX_RANK];

	if (!check_operands(c, 0, 1, err))
		return false;
	in = call_tensor(c, 0), w = call_tensor(c, 1), bias = call_tensor(c, 2);
	if (in->rank < 1 || w->rank != 2)
		return call_fail(c, err, "input and weight have ranks %d and %d, must be 1 or more and 2", in->rank, w->rank);
	if (in->size[in->rank - 1] != w->size[1])
		return call_fail(c, err, "the input has %lld features, the weight takes %lld",
				 (long long)in->size[in->rank - 1], (long long)w->size[1]);
	if (bias && (bias->dtype != in->dtype || bias->rank != 1 ||
		     (bias->size[0] != w->size[0] && bias->size[0] != 1)))
		return call_fail(c, err, "the bias must be %s[%lld]", dtype_name(in->dtype), (long long)w->size[0]);
	memcpy(size, in->size, sizeof size);
	size[in->rank - 1] = w->size[0];
	tensor_set_type(c->out[0], in->dtype, in->rank, size);
	return true;
}

/* A matrix operand in the kernel's arithmetic, by strides; read in place when the type agrees. */
static bool read_matrix(struct call *c, const struct tensor *t, enum kind k, struct matrix *m, struct error *err)
{
	int64_t n = tensor_numel(t);
	void *copy;

	m->row = t->stride[t->rank - 2];
	m->col = t->stride[t->rank - 1];
	m->data = t->data;
	if (t->dtype == DTYPE_F32 || t->dtype == DTYPE_F64 || t->dtype == DTYPE_I64)
		return true;
	copy = plain_alloc(c, k, n, err);
	if (copy)
		kind_load(k, copy, t->dtype, t->data, 1, n);
	m->data = copy;
	return copy;
}

/* out = alpha * out + beta * bias, the bias broadcast to rows x cols. */
#define ADD_BIAS(T, SUM) \
	for (int64_t i = 0; i < rows; i++) { \
		const T *b = (const T *)bias + i * row_step; \
		T *o = (T *)out + i * cols; \
		for (int64_t j = 0; j < cols; j++) \
			o[j] = (T)((SUM)o[j] * (SUM)(T)alpha + (SUM)b[j * col_step] * (SUM)(T)beta); \
	}

static void add_bias(enum kind k, void *out, int64_t rows, int64_t cols, const void *bias, int64_t row_step,
		     int64_t col_step, double alpha, double beta)
{
	switch (k) {
	case KIND_F32: ADD_BIAS(float, float) break;
	case KIND_F64: ADD_BIAS(double, double) break;
	default: ADD_BIAS(int64_t, uint64_t) break;
	}
}

/* BATCH products of [m, k] and [k, n]; B steps through its dimension 0. */
static bool multiply(struct call *c, const struct tensor *a, const struct tensor *b, int64_t batch, int64_t m, int64_t n,
		     int64_t k, struct matmul *mm, void *out, struct error *err)
{
	size_t bytes = kind_bytes(mm->kind), b_step = b->rank == 3 ? (size_t)b->stride[0] * bytes : 0;

	mm->m = m, mm->n = n, mm->k = k, mm->c_row = n, mm->c_col = 1;
	mm->a.data = plain_read(c, a, mm->kind, err);
	mm->a.row = k, mm->a.col = 1;
	if (!mm->a.data)
		return false;
	for (int64_t i = 0; i < batch; i++) {
		mm->c = (char *)out + (size_t)(i * m * n) * bytes;
		if (!matmul_run(c, mm, err))
			return false;
		mm->a.data = (const char *)mm->a.data + (size_t)(m * k) * bytes;
		mm->b.data = (const char *)mm->b.data + b_step;
	}
	return true;
}

static bool mm_kernel(struct call *c, struct error *err)
{
	struct tensor *a = call_tensor(c, 0), *b = call_tensor(c, 1), *out = c->out[0];
	struct matmul mm = { .kind = kind_of(a->dtype) };
	int64_t batch = a->rank == 3 ? a->size[0] : 1;
	void *sums = plain_out(c, out, mm.kind, err);

	if (!sums || !read_matrix(c, b, mm.kind, &mm.b, err) ||
	    !multiply(c, a, b, batch, a->size[a->rank - 2], b->size[b->rank - 1], a->size[a->rank - 1], &mm, sums, err))
		return false;
	plain_store(out, mm.kind, sums);
	return true;
}

static bool addmm_kernel(struct call *c, struct error *err)
{
	struct tensor *bias = call_tensor(c, 0), *a = call_tensor(c, 1), *b = call_tensor(c, 2), *out = c->out[0];
	struct matmul mm = { .kind = kind_of(a->dtype) };
	int64_t m = a->size[0], n = b->size[1];
	const void *add = plain_read(c, bias, mm.kind, err);
	void *sums = plain_out(c, out, mm.kind, err);

	if (!add || !sums || !read_matrix(c, b, mm.kind, &mm.b, err) ||
	    !multiply(c, a, b, 1, m, n, a->size[1], &mm, sums, err))
		return false;
	add_bias(mm.kind, sums, m, n, add, bias->rank == 2 && bias->size[0] != 1 ? bias->size[1] : 0,
		 bias->rank && bias->size[bias->rank - 1] != 1, call_double(c, 4, 1), call_double(c, 3, 1));
	plain_store(out, mm.kind, sums);
	return true;
}

static bool linear_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *w = call_tensor(c, 1), *bias = call_tensor(c, 2), *out = c->out[0];
	struct matmul mm = { .kind = kind_of(in->dtype) };
	int64_t k = w->size[1], n = w->size[0], m = dtype_numel(in->rank - 1, in->size);
	const void *add = bias ? plain_read(c, bias, mm.kind, err) : NULL;
	void *sums = plain_out(c, out, mm.kind, err);

	if ((bias && !add) || !sums || !read_matrix(c, w, mm.kind, &mm.b, err))
		return false;
	mm.b = (struct matrix){ mm.b.data, mm.b.col, mm.b.row };
	if (!multiply(c, in, w, 1, m, n, k, &mm, sums, err))
		return false;
	if (bias)
		add_bias(mm.kind, sums, m, n, add, 0, bias->size[0] != 1, 1, 1);
	plain_store(out, mm.kind, sums);
	return true;
}

const struct op op_gemm[] = {
	{ "aten.linear.default", "aten::linear.out", "TTt>T", "input, weight, bias", DTYPES_REAL, OP_GEMM,
	  linear_shape, linear_kernel },
	{ "aten.mm.default", "aten::mm.out", "TT>T", "mat1, mat2", DTYPES_REAL, OP_GEMM, mm_shape, mm_kernel },
	{ "aten.addmm.default", "aten::addmm.out", "TTTSS>T", "bias, mat1, mat2, beta, alpha", DTYPES_REAL, OP_GEMM,
	  addmm_shape, addmm_kernel },
	{ "aten.bmm.default", "aten::bmm.out", "TT>T", "mat1, mat2", DTYPES_REAL, OP_GEMM, bmm_shape, mm_kernel },
	{ 0 },
};
