/* Reductions to values: sum, mean, prod, max, min, any, var. Indices and running sums are in scan.c.
 *
 * Accumulated in f32, f64 or int64 by the result's dtype, in a few lanes along a row, so a sum is a little more
 * exact than the plain loop of the stock kernels (which accumulates var and prod of halves in halves, too). */
#include "core/op/plain.h"
#include "core/op/reduce.h"
#include "core/op/scan.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#define REDUCTION(name, first, f, i, join_f, join_i, begin_f, begin_i) \
REDUCE_KIND(name##_f32, float, begin_f, f, join_f) \
REDUCE_KIND(name##_f64, double, begin_f, f, join_f) \
REDUCE_KIND(name##_i64, int64_t, begin_i, i, join_i) \
static const struct reduction name##_reduction = { \
	{ name##_f32_one, name##_f64_one, name##_i64_one }, \
	{ name##_f32_few, name##_f64_few, name##_i64_few }, \
	{ name##_f32_many, name##_f64_many, name##_i64_many }, first \
};

#define WRAP(a, op, b) ((uint64_t)(a) op (uint64_t)(b))
#define NANMAX(a, x) (((x) != (x)) | ((x) > (a)) ? (x) : (a))	/* | so that it vectorises */
#define NANMIN(a, x) (((x) != (x)) | ((x) < (a)) ? (x) : (a))
REDUCE_KIND(sum_f32, float, 0, a + x, a + x)
REDUCE_KIND(sum_f64, double, 0, a + x, a + x)
REDUCE_KIND(sum_i64, int64_t, 0, WRAP(a, +, x), WRAP(a, +, x))
REDUCE_KIND(sum_c128, double complex, 0, a + x, a + x)
static const struct reduction sum_reduction = {
	{ sum_f32_one, sum_f64_one, sum_i64_one, [KIND_C128] = sum_c128_one },
	{ sum_f32_few, sum_f64_few, sum_i64_few, [KIND_C128] = sum_c128_few },
	{ sum_f32_many, sum_f64_many, sum_i64_many, [KIND_C128] = sum_c128_many }, 0
};
REDUCTION(prod, 1, a * x, WRAP(a, *, x), a * x, WRAP(a, *, x), 1, 1)
/* of narrow integers in int32 */
#define EXTREME(name, better, first, least, narrow) \
REDUCE_KIND(name##_f32, float, first, better(a, x), better(a, x)) \
REDUCE_KIND(name##_f64, double, first, better(a, x), better(a, x)) \
REDUCE_KIND(name##_i64, int64_t, least, better(a, x), better(a, x)) \
REDUCE_KIND(name##_i32, int32_t, narrow, better(a, x), better(a, x)) \
static const struct reduction name##_reduction = { \
	{ name##_f32_one, name##_f64_one, name##_i64_one, [KIND_I32] = name##_i32_one }, \
	{ name##_f32_few, name##_f64_few, name##_i64_few, [KIND_I32] = name##_i32_few }, \
	{ name##_f32_many, name##_f64_many, name##_i64_many, [KIND_I32] = name##_i32_many }, first \
};
EXTREME(max, NANMAX, -INFINITY, INT64_MIN, INT32_MIN)
EXTREME(min, NANMIN, INFINITY, INT64_MAX, INT32_MAX)
/* squares of the distances from the mean */
REDUCTION(square, 0, a + (x - m) * (x - m), a + (x - m) * (x - m), a + x, a + x, 0, 0)

REDUCE_KIND(any_truth, uint8_t, 0, a | x, a | x)
static const struct reduction any_reduction = {
	{ [KIND_BOOL] = any_truth_one }, { [KIND_BOOL] = any_truth_few }, { [KIND_BOOL] = any_truth_many }, 0
};

/* The engine */

struct reduce_run {
	const struct reduction *f;
	enum kind kind;
	const struct tensor *self;
	const bool *reduced;		/* dimensions of self */
	const struct tensor *mean;	/* as the accumulators, or NULL */
	struct tensor *out;		/* serves for the accumulators if it lies as they do; or NULL */
	struct tensor acc;		/* the result: self's rank and dim order, size 1 where reduced, dtype of the kind */
	enum dtype in;
	int64_t columns;		/* a row of the loop is a matrix with so many columns */
};

/* Whole matrix rows at a time, through a buffer unless they are of the kind already. */
static void reduce_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	_Alignas(64) char buf[LOOP_CHUNK * KIND_BYTES];
	const struct reduce_run *r = ctx;
	const int64_t columns = r->columns, in_width = (int64_t)dtype_bytes(r->in);
	const bool many = columns > LANES / 2;
	reduce_fn *f = (columns == 1 ? r->f->one : many ? r->f->many : r->f->few)[r->kind];
	const int64_t width = (int64_t)dtype_bytes(kind_dtype(r->kind));

	if (r->in == kind_dtype(r->kind) && step[0] == 1) {
		f(p[1], p[0], r->mean ? p[2] : NULL, columns == 1 ? n : n / columns, columns, 1);
		return;
	}
	for (int64_t at = 0, len; at < n; at += len) {
		int64_t column = many ? at % columns : 0;
		int64_t most = many ? columns - column : LOOP_CHUNK / columns * columns;

		len = many && most > LOOP_CHUNK ? LOOP_CHUNK : most;
		len = n - at < len ? n - at : len;
		kind_load(r->kind, buf, r->in, p[0] + at * step[0] * in_width, step[0], len);
		f(p[1] + column * width, buf, r->mean ? p[2] + column * width : NULL, many ? 1 : len / columns,
		  many ? len : columns, 1);
	}
}

/* The memory of `in` from the inside: a run of kept dimensions, then one of reduced dimensions: a matrix of rows *
 * columns. The rest stays, as dimensions of the loop. */
struct matrix { int64_t rows, columns; };

static struct matrix inner_matrix(const struct tensor *in, const bool *reduced, bool *inside)
{
	struct matrix m = { 1, 1 };
	int i = in->rank - 1;

	for (; i >= 0 && (!reduced[in->dim_order[i]] || in->size[in->dim_order[i]] == 1); i--) {
		m.columns *= in->size[in->dim_order[i]];
		inside[in->dim_order[i]] = true;
	}
	for (; i >= 0 && (reduced[in->dim_order[i]] || in->size[in->dim_order[i]] == 1); i--) {
		m.rows *= in->size[in->dim_order[i]];
		inside[in->dim_order[i]] = true;
	}
	return m;
}

/* The dimensions that are not inside, and one more for the matrix. */
static struct tensor outside(const struct tensor *t, const bool *inside, int64_t size, int64_t stride)
{
	struct tensor o = *t;

	o.rank = 0;
	for (int d = 0; d < t->rank; d++)
		if (!inside[d]) {
			o.size[o.rank] = t->size[d];
			o.stride[o.rank++] = t->stride[d];
		}
	o.size[o.rank] = size;
	o.stride[o.rank++] = stride;
	return o;
}

/* Many short sums: the reduced dimensions go outside in a loop that an imaginary tensor leads, and what is kept makes
 * the rows. */
static void turn(struct loop *l, const struct tensor *acc, const bool *reduced)
{
	struct tensor order = *acc;

	for (int d = 0; d < acc->rank; d++)
		if (reduced[d]) {
			order.size[d] = l->size[d];
			order.stride[d] = (INT64_C(1) << 24) * l->step[0][d];
		}
	l->lead = l->ntensors;
	loop_add(l, &order);
	l->width[l->lead] = 0;	/* nobody looks at its memory */
}

static void turned_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	_Alignas(64) char buf[LOOP_CHUNK * KIND_BYTES];
	const struct reduce_run *r = ctx;
	const int64_t width = (int64_t)dtype_bytes(kind_dtype(r->kind)), in_width = (int64_t)dtype_bytes(r->in);

	if (r->in == kind_dtype(r->kind)) {
		r->f->many[r->kind](p[1], p[0], r->mean ? p[2] : NULL, 1, n, step[0]);
		return;
	}
	for (int64_t at = 0; at < n; at += LOOP_CHUNK) {
		int64_t len = n - at < LOOP_CHUNK ? n - at : LOOP_CHUNK;

		kind_load(r->kind, buf, r->in, p[0] + at * step[0] * in_width, step[0], len);
		r->f->many[r->kind](p[1] + at * width, buf, r->mean ? p[2] + at * width : NULL, 1, len, 1);
	}
}

/* One accumulator for each output. */
static bool make_accumulators(struct call *c, struct reduce_run *r, struct error *err)
{
	struct operand first = { .kind = ARG_DOUBLE, .d = r->f->start };
	struct tensor *acc = &r->acc;

	*acc = *r->self;
	acc->dtype = kind_dtype(r->kind);
	for (int d = 0; d < acc->rank; d++)
		acc->size[d] = r->reduced[d] ? 1 : acc->size[d];
	tensor_set_strides(acc);
	if (r->out && r->out->dtype == acc->dtype && tensor_is_default_order(acc))
		acc->data = r->out->data;
	else if (!(acc->data = plain_scratch(c, tensor_numel(acc), KIND_BYTES, err)))
		return false;
	if ((r->kind == KIND_I64 || r->kind == KIND_I32) && isinf(first.d)) {
		int64_t min, max;

		dtype_limits(r->self->dtype, &min, &max);
		first = (struct operand){ .kind = ARG_INT, .i = first.d < 0 ? min : max };
	}
	tensor_fill(acc, &first);
	return true;
}

static bool reduce(struct call *c, struct reduce_run *r, struct error *err)
{
	bool inside[MAX_RANK] = { false }, turned;
	struct matrix m = inner_matrix(r->self, r->reduced, inside);
	struct tensor from, to, with;
	struct loop l;

	if (!make_accumulators(c, r, err))
		return false;
	turned = m.columns == 1 && m.rows <= 16 && tensor_numel(&r->acc) > 8;
	r->in = r->self->dtype;
	r->columns = m.columns;
	from = turned ? *r->self : outside(r->self, inside, m.rows * m.columns, 1);
	to = turned ? r->acc : outside(&r->acc, inside, 1, 0);
	loop_start(&l, from.rank, from.size);
	loop_add(&l, &from);
	loop_add(&l, &to);
	if (r->mean) {
		with = turned ? *r->mean : outside(r->mean, inside, 1, 0);
		loop_add(&l, &with);
	}
	if (turned)
		turn(&l, &r->acc, r->reduced);
	loop_run(&l, turned ? turned_row : reduce_row, r);
	return true;
}

/* Copies an accumulator to an output that has the reduced dimensions as 1 or not at all. */
static void put_result(struct tensor *out, const struct tensor *acc, const bool *reduced)
{
	struct tensor view = *acc;

	if (acc->data == out->data)
		return;
	view.rank = 0;
	for (int d = 0; d < acc->rank; d++)
		if (out->rank == acc->rank || !reduced[d]) {
			view.size[view.rank] = acc->size[d];
			view.stride[view.rank++] = acc->stride[d];
		}
	tensor_copy(out, &view);
}

static int64_t reduced_numel(const struct tensor *in, const bool *reduced)
{
	int64_t n = 1;

	for (int d = 0; d < in->rank; d++)
		n *= reduced[d] ? in->size[d] : 1;
	return n;
}

static void divide(struct tensor *acc, double by)
{
	for (int64_t i = 0, n = tensor_numel(acc); i < n; i++)
		if (acc->dtype == DTYPE_F32)
			((float *)acc->data)[i] /= (float)by;
		else
			((double *)acc->data)[i] /= by;
}

/* Shapes */

bool scan_reduced_type(const struct call *c, const bool *reduced, bool keep, enum dtype t, struct tensor *out,
		       struct error *err)
{
	const struct tensor *in = call_tensor(c, 0);
	int64_t size[MAX_RANK];
	int rank = 0;

	for (int d = 0; d < in->rank; d++)
		if (!reduced[d] || keep)
			size[rank++] = reduced[d] ? 1 : in->size[d];
	tensor_set_type(out, t, rank, size);
	return true;
}

/* The dimensions that the row's dim argument marks; a row without one reduces all. */
static bool marked_dims(struct call *c, bool *reduced, struct error *err)
{
	int dim = op_arg(c->op, "dim");

	if (dim < 0)
		return memset(reduced, 1, MAX_RANK * sizeof *reduced), true;
	return call_dims(c, dim, call_tensor(c, 0)->rank, reduced, err);
}

static bool shape_reduce(struct call *c, enum dtype t, struct error *err)
{
	bool reduced[MAX_RANK];
	int keep = op_arg(c->op, "keepdim");

	return marked_dims(c, reduced, err) &&
	       scan_reduced_type(c, reduced, keep >= 0 && call_bool(c, keep, false), t, c->out[0], err);
}

/* The dtype argument, if there is one, else integers are summed in i64. Complex numbers stay (and have no product). */
static bool shape_sum(struct call *c, struct error *err)
{
	enum dtype t;

	if (!call_check(c, err))
		return false;
	t = call_tensor(c, 0)->dtype;
	if (dtype_in(t, DTYPES_COMPLEX))
		return shape_reduce(c, t, err);
	t = call_dtype(c, op_arg(c->op, "dtype"), dtype_is_float(t) ? t : DTYPE_I64);
	if (!dtype_in(t, DTYPES_REALB))
		return call_fail(c, err, "cannot sum to %s", dtype_name(t));
	return shape_reduce(c, t, err);
}

static bool shape_mean(struct call *c, struct error *err)
{
	enum dtype t;

	if (!call_check(c, err))
		return false;
	t = call_dtype(c, op_arg(c->op, "dtype"), call_tensor(c, 0)->dtype);
	if (!dtype_is_float(t))
		return call_fail(c, err, "the mean of %s is no fraction", dtype_name(t));
	return shape_reduce(c, t, err);
}

/* There must be something to choose from; the largest of all is -inf where there is nothing, as in stock kernels. */
static bool shape_extreme(struct call *c, struct error *err)
{
	bool reduced[MAX_RANK];
	const struct tensor *in;

	if (!call_check(c, err) || !marked_dims(c, reduced, err))
		return false;
	in = call_tensor(c, 0);
	if (op_arg(c->op, "dim") >= 0 && in->rank && !reduced_numel(in, reduced))
		return call_fail(c, err, "nothing to choose from: a reduced dimension has size 0");
	return shape_reduce(c, in->dtype, err);
}

/* u8 stays u8, everything else gives bool. An empty list of dimensions means none here. */
static bool shape_any(struct call *c, struct error *err)
{
	enum dtype t;

	if (!call_check(c, err))
		return false;
	t = call_tensor(c, 0)->dtype == DTYPE_U8 ? DTYPE_U8 : DTYPE_BOOL;
	if (c->op->schema[1] == 'A' && call_has(c, 1) && !call_length(c, 1)) {
		tensor_set_type(c->out[0], t, call_tensor(c, 0)->rank, call_tensor(c, 0)->size);
		return true;
	}
	return shape_reduce(c, t, err);
}

static bool shape_var(struct call *c, struct error *err)
{
	if (!call_check(c, err) || !shape_reduce(c, call_tensor(c, 0)->dtype, err))
		return false;
	if (c->nouts > 1)
		tensor_set_like(c->out[1], c->out[0]);
	return true;
}

/* Kernels */

static bool reduce_kernel(struct call *c, const struct reduction *f, struct error *err)
{
	bool reduced[MAX_RANK];
	struct reduce_run r = { .f = f, .kind = kind_of(c->out[0]->dtype), .self = call_tensor(c, 0), .reduced = reduced,
				.out = c->out[0] };

	if (f->one[KIND_I32] && r.kind == KIND_I64 && r.self->dtype != DTYPE_I64)
		r.kind = KIND_I32;
	if (!marked_dims(c, reduced, err) || !reduce(c, &r, err))
		return false;
	put_result(c->out[0], &r.acc, reduced);
	return true;
}

#define KERNEL(name) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	return reduce_kernel(c, &name##_reduction, err); \
}
KERNEL(sum)
KERNEL(prod)
KERNEL(max)
KERNEL(min)

static bool any_kernel(struct call *c, struct error *err)
{
	bool reduced[MAX_RANK] = { false };
	struct reduce_run r = { .f = &any_reduction, .kind = KIND_BOOL, .self = call_tensor(c, 0), .reduced = reduced,
				.out = c->out[0] };

	if (!(c->op->schema[1] == 'A' && call_has(c, 1) && !call_length(c, 1)) && !marked_dims(c, reduced, err))
		return false;
	if (!reduce(c, &r, err))
		return false;
	put_result(c->out[0], &r.acc, reduced);
	return true;
}

static bool mean_kernel(struct call *c, struct error *err)
{
	bool reduced[MAX_RANK];
	struct reduce_run r = { .f = &sum_reduction, .kind = kind_of(c->out[0]->dtype), .self = call_tensor(c, 0),
				.reduced = reduced, .out = c->out[0] };

	if (!marked_dims(c, reduced, err) || !reduce(c, &r, err))
		return false;
	divide(&r.acc, (double)reduced_numel(r.self, reduced));
	put_result(c->out[0], &r.acc, reduced);
	return true;
}

/* Two passes, as the stock kernels. Too few elements for the correction give NaN (eager: inf or NaN). */
static bool var_kernel(struct call *c, struct error *err)
{
	int unbiased = op_arg(c->op, "unbiased"), correction = op_arg(c->op, "correction");
	const struct tensor *self = call_tensor(c, 0);
	bool reduced[MAX_RANK];
	struct reduce_run sum = { .f = &sum_reduction, .kind = kind_of(self->dtype), .self = self, .reduced = reduced,
				  .out = c->nouts > 1 ? c->out[1] : NULL };
	struct reduce_run square = { .f = &square_reduction, .kind = sum.kind, .self = self, .reduced = reduced,
				     .mean = &sum.acc, .out = c->out[0] };
	double n, less;

	if (!marked_dims(c, reduced, err) || !reduce(c, &sum, err))
		return false;
	n = (double)reduced_numel(self, reduced);
	less = unbiased >= 0 ? call_bool(c, unbiased, true) : call_double(c, correction, 1);
	divide(&sum.acc, n - less > 0 ? n : NAN);
	if (!reduce(c, &square, err))
		return false;
	divide(&square.acc, n - less > 0 ? n - less : NAN);
	put_result(c->out[0], &square.acc, reduced);
	if (c->nouts > 1)
		put_result(c->out[1], &sum.acc, reduced);
	return true;
}

const struct op op_reduce[] = {
	{ "aten.amax.default", "aten::amax.out", "TAB>T", "self, dim, keepdim", DTYPES_REALB, 0, shape_extreme,
	  max_kernel },
	{ "aten.amin.default", "aten::amin.out", "TAB>T", "self, dim, keepdim", DTYPES_REALB, 0, shape_extreme,
	  min_kernel },
	{ "aten.any.default", "aten::any.all_out", "T>T", "self", DTYPES_REALB, 0, shape_any, any_kernel },
	{ "aten.any.dim", "aten::any.out", "TIB>T", "self, dim, keepdim", DTYPES_REALB, 0, shape_any, any_kernel },
	{ "aten.any.dims", "aten::any.dims_out", "TAB>T", "self, dim, keepdim", DTYPES_REALB, 0, shape_any,
	  any_kernel },
	{ "aten.argmax.default", "aten::argmax.out", "TiB>T", "self, dim, keepdim", DTYPES_REAL, 0,
	  scan_argmax_shape, scan_argmax },
	{ "aten.argmin.default", "aten::argmin.out", "TiB>T", "self, dim, keepdim", DTYPES_REAL, 0,
	  scan_argmax_shape, scan_argmin },
	{ "aten.cumsum.default", "aten::cumsum.out", "TIM>T", "self, dim, dtype", DTYPES_REALB, 0,
	  scan_cumsum_shape, scan_cumsum },
	{ "aten.max.default", "aten::max.unary_out", "T>T", "self", DTYPES_REALB, 0, shape_extreme, max_kernel },
	{ "aten.max.dim", "aten::max.dim_max", "TIB>TT", "self, dim, keepdim", DTYPES_REALB, 0, scan_max_shape,
	  scan_max },
	{ "aten.mean.default", "aten::mean.dtype_out", "TM>T", "self, dtype", DTYPES_REALB, 0, shape_mean,
	  mean_kernel },
	{ "aten.mean.dim", "aten::mean.out", "TABM>T", "self, dim, keepdim, dtype", DTYPES_REALB, 0, shape_mean,
	  mean_kernel },
	{ "aten.min.default", "aten::min.unary_out", "T>T", "self", DTYPES_REALB, 0, shape_extreme, min_kernel },
	{ "aten.min.dim", "aten::min.dim_min", "TIB>TT", "self, dim, keepdim", DTYPES_REALB, 0, scan_max_shape,
	  scan_min },
	{ "aten.prod.default", "aten::prod.out", "TM>T", "self, dtype", DTYPES_REALB, 0, shape_sum, prod_kernel },
	{ "aten.prod.dim_int", "aten::prod.int_out", "TIBM>T", "self, dim, keepdim, dtype", DTYPES_REALB, 0,
	  shape_sum, prod_kernel },
	{ "aten.sum.dim_IntList", "aten::sum.IntList_out", "TABM>T", "self, dim, keepdim, dtype",
	  DTYPES_REALB | DTYPES_COMPLEX, 0, shape_sum, sum_kernel },
	{ "aten.var.correction", "aten::var.correction_out", "TAsB>T", "self, dim, correction, keepdim", DTYPES_FLOAT,
	  0, shape_var, var_kernel },
	{ "aten.var.dim", "aten::var.out", "TABB>T", "self, dim, unbiased, keepdim", DTYPES_FLOAT, 0, shape_var,
	  var_kernel },
	{ "aten.var_mean.correction", "aten::var_mean.correction_out", "TAsB>TT", "self, dim, correction, keepdim",
	  DTYPES_FLOAT, 0, shape_var, var_kernel },
	{ 0 },
};
