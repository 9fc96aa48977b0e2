/* Tensors from numbers: full, arange, random numbers. Where the call has no dtype, torch's default: f32, or what the
 * numbers are. A number must fit the dtype. */
#include "core/op/loop.h"

#include <math.h>
#include <string.h>

/* Shapes */

static bool set_type(struct call *c, enum dtype t, int rank, const int64_t *size, struct error *err)
{
	if (!dtype_in(t, DTYPES_ALL))
		return call_fail(c, err, "cannot make a tensor of dtype %d", (int)t);
	if (!call_sizes_ok(c, t, rank, size, err))
		return false;
	tensor_set_type(c->out[0], t, rank, size);
	return true;
}

/* Argument 0 are the sizes. */
static bool sized(struct call *c, enum dtype otherwise, struct error *err)
{
	int64_t size[MAX_RANK];
	int n;

	if ((n = call_ints(c, 0, size, err)) < 0)
		return false;
	return set_type(c, call_dtype(c, op_arg(c->op, "dtype"), otherwise), n, size, err);
}

/* The dtype torch gives a number. */
static enum dtype number_dtype(const struct call *c, int i)
{
	return dtype_with_scalar(DTYPE_BOOL, &c->arg[i]);
}

static bool full_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && sized(c, number_dtype(c, 1), err) && call_fits(c, 1, c->out[0]->dtype, err);
}

static bool sized_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && sized(c, DTYPE_F32, err);
}

static bool empty_shape(struct call *c, struct error *err)
{
	int64_t order[MAX_RANK];
	bool seen[MAX_RANK] = { false };
	int arg = op_arg(c->op, "dim_order"), n;

	if (!sized_shape(c, err))
		return false;
	if (!call_has(c, arg))
		return true;
	if ((n = call_ints(c, arg, order, err)) < 0)
		return false;
	for (int i = 0; i < n; i++) {
		if (n != c->out[0]->rank || order[i] < 0 || order[i] >= n || seen[order[i]])
			return call_fail(c, err, "dim_order is no order of %d dimensions", c->out[0]->rank);
		seen[order[i]] = true;
		c->out[0]->dim_order[i] = (uint8_t)order[i];
	}
	tensor_set_strides(c->out[0]);
	return true;
}

static bool random_shape(struct call *c, struct error *err)
{
	return sized_shape(c, err) && (dtype_is_float(c->out[0]->dtype) || call_fail(c, err, "dtype is no float"));
}

static bool full_like_shape(struct call *c, struct error *err)
{
	int64_t format;

	if (!call_check(c, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	c->out[0]->dtype = call_dtype(c, 2, c->out[0]->dtype);
	if (!dtype_in(c->out[0]->dtype, DTYPES_ALL))
		return call_fail(c, err, "cannot make a tensor of dtype %d", (int)c->out[0]->dtype);
	format = call_int(c, 6, 1);	/* contiguous or preserve */
	if (format < 0 || format > 1)
		return call_fail(c, err, "memory format %lld is not possible", (long long)format);
	if (format == 0)
		tensor_set_type(c->out[0], c->out[0]->dtype, c->out[0]->rank, c->out[0]->size);
	return call_fits(c, 1, c->out[0]->dtype, err);
}

static bool fill_shape(struct call *c, struct error *err)
{
	if (!call_check(c, err) || !call_dtype_in(c, 1, DTYPES_REALB, err))
		return false;
	if (call_tensor(c, 1) && call_tensor(c, 1)->rank && c->op->schema[1] == 'T')
		return call_fail(c, err, "value has rank %d, not 0", call_tensor(c, 1)->rank);
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return call_fits(c, 1, c->out[0]->dtype, err);
}

static bool scalar_tensor_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && set_type(c, call_dtype(c, 1, DTYPE_F32), 0, NULL, err) &&
	       call_fits(c, 0, c->out[0]->dtype, err);
}

/* (end) or (start, end, step): computed in double, whatever the dtype is. */
static void arange_numbers(const struct call *c, double *start, double *end, double *step)
{
	bool range = c->op->schema[1] == 'S';

	*start = range ? call_double(c, 0, 0) : 0;
	*end = call_double(c, range ? 1 : 0, 0);
	*step = range ? call_double(c, 2, 1) : 1;
}

static bool arange_shape(struct call *c, struct error *err)
{
	double start, end, step, n;
	enum dtype t = DTYPE_I64;
	int numbers;

	if (!call_check(c, err))
		return false;
	numbers = c->op->schema[1] == 'S' ? 3 : 1;
	for (int i = 0; i < numbers; i++) {
		if (!call_known(c, i, err))
			return false;
		t = number_dtype(c, i) == DTYPE_F32 ? DTYPE_F32 : t;
	}
	arange_numbers(c, &start, &end, &step);
	n = ceil((end - start) / step);
	if (!(n >= 0) || n > 9e15)
		return call_fail(c, err, "there are no numbers from %g to %g in steps of %g", start, end, step);
	t = call_dtype(c, op_arg(c->op, "dtype"), t);
	return (dtype_in(t, DTYPES_REAL) || call_fail(c, err, "cannot count in dtype %d", (int)t)) &&
	       set_type(c, t, 1, &(int64_t){ (int64_t)n }, err);
}

/* Kernels */

static bool full_kernel(struct call *c, struct error *err)
{
	tensor_fill(c->out[0], &c->arg[c->op->schema[0] == 'S' ? 0 : 1]);
	return true;
}

static bool zeros_kernel(struct call *c, struct error *err)
{
	memset(c->out[0]->data, 0, (size_t)tensor_numel(c->out[0]) * dtype_bytes(c->out[0]->dtype));
	return true;
}

static bool ones_kernel(struct call *c, struct error *err)
{
	tensor_fill(c->out[0], &(struct operand){ .kind = ARG_INT, .i = 1 });
	return true;
}

static bool arange_kernel(struct call *c, struct error *err)
{
	double start, end, step, v[LOOP_CHUNK];
	struct tensor *out = c->out[0];
	size_t width = dtype_bytes(out->dtype);

	arange_numbers(c, &start, &end, &step);
	for (int64_t at = 0; at < out->size[0]; at += LOOP_CHUNK) {
		int64_t n = out->size[0] - at < LOOP_CHUNK ? out->size[0] - at : LOOP_CHUNK;

		for (int i = 0; i < (int)n; i++)
			v[i] = start + ((double)at + i) * step;
		kind_store(KIND_F64, v, out->dtype, (char *)out->data + (size_t)at * width, 1, n);
	}
	return true;
}

/* Random numbers: splitmix64. The stock kernels draw from the system, so nobody can expect a certain sequence. */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static double uniform(uint64_t *state)	/* [0, 1) */
{
	return (double)(next_random(state) >> 11) * 0x1p-53;
}

static double normal(uint64_t *state)
{
	double u = 1 - uniform(state);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * uniform(state));
}

static bool draw(struct call *c, double (*next)(uint64_t *))
{
	struct tensor *out = c->out[0];
	size_t width = dtype_bytes(out->dtype);

	for (int64_t i = 0, n = tensor_numel(out); i < n; i++) {
		double v = next(c->seed);

		kind_store(KIND_F64, &v, out->dtype, (char *)out->data + (size_t)i * width, 1, 1);
	}
	return true;
}

static bool rand_kernel(struct call *c, struct error *err)
{
	return draw(c, uniform);
}

static bool randn_kernel(struct call *c, struct error *err)
{
	return draw(c, normal);
}

/* native_dropout(input, p, train): the result and what was kept. Stock kernels do not scale by 1 / (1 - p), as eager
 * does. */

static bool dropout_shape(struct call *c, struct error *err)
{
	double p;

	if (!call_check(c, err))
		return false;
	p = call_double(c, 1, 0);
	if (!(p >= 0 && p <= 1))
		return call_fail(c, err, "the probability is %g, not from 0 to 1", p);
	tensor_set_like(c->out[0], call_tensor(c, 0));
	tensor_set_like(c->out[1], call_tensor(c, 0));
	c->out[1]->dtype = DTYPE_BOOL;
	return true;
}

static bool dropout_kernel(struct call *c, struct error *err)
{
	struct tensor *out = c->out[0];
	uint8_t *kept = c->out[1]->data;
	double p = call_double(c, 1, 0);
	bool train = call_bool(c, 2, true);
	size_t width = dtype_bytes(out->dtype);

	tensor_copy(out, call_tensor(c, 0));
	for (int64_t i = 0, n = tensor_numel(out); i < n; i++) {	/* both lie in the same order */
		kept[i] = !train || p == 0 || uniform(c->seed) >= p;
		if (!kept[i])
			memset((char *)out->data + (size_t)i * width, 0, width);
	}
	return true;
}

#define OPTIONS ", dtype, layout, device, pin_memory"
const struct op op_factory[] = {
	{ "aten.arange.default", "aten::arange.out", "SMMMb>T", "end" OPTIONS, 0,
	  OP_FACTORY, arange_shape, arange_kernel },
	{ "aten.arange.start_step", "aten::arange.start_out", "SSSMMMb>T", "start, end, step" OPTIONS, 0,
	  OP_FACTORY, arange_shape, arange_kernel },
	{ "aten.empty.memory_format", "aten::empty.out", "AMMMbM>T", "size" OPTIONS ", memory_format", 0,
	  OP_FACTORY, sized_shape, zeros_kernel },
	{ "aten.fill.Scalar", "aten::fill.Scalar_out", "TS>T", "self, value", DTYPES_REALB, OP_ELEMENTWISE,
	  fill_shape, full_kernel },
	{ "aten.fill.Tensor", "aten::fill.Tensor_out", "TT>T", "self, value", DTYPES_REALB, OP_ELEMENTWISE,
	  fill_shape, full_kernel },
	{ "aten.full.default", "aten::full.out", "ASMMMb>T", "size, fill_value" OPTIONS, 0,
	  OP_FACTORY, full_shape, full_kernel },
	{ "aten.full_like.default", "aten::full_like.out", "TSMMMbM>T",
	  "self, fill_value" OPTIONS ", memory_format", DTYPES_ALL, OP_ELEMENTWISE, full_like_shape, full_kernel },
	{ "aten.native_dropout.default", "aten::native_dropout.out", "TDb>TT", "input, p, train", DTYPES_FLOAT,
	  OP_RANDOM, dropout_shape, dropout_kernel },
	{ "aten.ones.default", "aten::ones.out", "AMMMb>T", "size" OPTIONS, 0, OP_FACTORY, sized_shape,
	  ones_kernel },
	{ "aten.rand.default", "aten::rand.out", "AMMMb>T", "size" OPTIONS, 0, OP_RANDOM, random_shape,
	  rand_kernel },
	{ "aten.randn.default", "aten::randn.out", "AMMMb>T", "size" OPTIONS, 0, OP_RANDOM, random_shape,
	  randn_kernel },
	{ "aten.scalar_tensor.default", "aten::scalar_tensor.out", "SMMMb>T", "s" OPTIONS, 0,
	  OP_FACTORY, scalar_tensor_shape, full_kernel },
	{ "aten.zeros.default", "aten::zeros.out", "AMMMb>T", "size" OPTIONS, 0, OP_FACTORY, sized_shape,
	  zeros_kernel },
	{ "dim_order_ops._empty_dim_order.default", "dim_order_ops::_empty_dim_order.out", "AMMMbA>T",
	  "size" OPTIONS ", dim_order", 0, OP_FACTORY, empty_shape, zeros_kernel },
	{ 0 },
};
