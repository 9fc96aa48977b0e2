/* Quantise and dequantise: by tensor, channel, token, group of a channel, or block (torchao). They all are one thing: a
 * tensor cut into blocks, each with a scale and a zero point. Blocks are walked in memory order, in runs of elements
 * that share parameters, whatever the dim order.
 *
 *   quantise: clamp(round_to_even(float(x * (1 / float(scale)))) + zero_point, quant_min, quant_max)
 *   dequantise: float(x - zero_point) * float(scale)
 * As stock, but for an x that is not a number or beyond int64: clamped here (NaN to quant_min), anything there. */
#include "core/op/plain.h"
#include "core/op/qloop.h"

#include <string.h>

enum { CHUNK = 512 };

/* ---- parameters ---- */

struct params {
	int64_t block[MAX_RANK];	/* sizes of a block, by dimension */
	const double *scale;		/* of each block, blocks in logical order */
	const int64_t *zero;		/* NULL: zeros */
	int64_t min, max;
	bool whole_zero;		/* zero points are added before rounding (per channel group) */
};

/* What argument numbers a row has, and how it cuts blocks. */
struct scheme {
	int scale, zero, min, max, dtype, out_dtype;	/* -1: none */
	bool (*blocks)(struct call *c, int64_t *block, struct error *err);
};

static int64_t count_blocks(const struct tensor *t, const int64_t *block)
{
	int64_t n = 1;

	for (int d = 0; d < t->rank; d++)
		n *= block[d] ? t->size[d] / block[d] : 0;
	return n;
}

static bool whole_tensor(struct call *c, int64_t *block, struct error *err)
{
	memcpy(block, call_tensor(c, 0)->size, sizeof(int64_t[MAX_RANK]));
	return true;
}

/* (input, scales, zero_points, axis, ...) */
static bool by_channel(struct call *c, int64_t *block, struct error *err)
{
	struct tensor *t = call_tensor(c, 0);
	int d;

	if (!call_dim(c, 3, t->rank, &d, err))
		return false;
	memcpy(block, t->size, sizeof t->size);
	block[d] = 1;
	return true;
}

static bool by_token(struct call *c, int64_t *block, struct error *err)
{
	struct tensor *t = call_tensor(c, 0);

	if (t->rank < 1)
		return call_fail(c, err, "the input has no dimensions");
	for (int d = 0; d < t->rank; d++)
		block[d] = d == t->rank - 1 ? t->size[d] : 1;
	return true;
}

/* (input, scales, zero_points, min, max, dtype, group_size, ...) */
static bool by_group(struct call *c, int64_t *block, struct error *err)
{
	struct tensor *t = call_tensor(c, 0), *scale = call_tensor(c, 1);
	int64_t group = call_int(c, 6, 0);

	if (t->rank != 2 || group <= 1)
		return call_fail(c, err, "the input has rank %d and the group size is %lld", t->rank, (long long)group);
	if (group > t->size[1] && scale->rank && scale->size[scale->rank - 1] == 1)
		group = t->size[1];
	if (t->size[1] % group)
		return call_fail(c, err, "groups of %lld do not divide %lld", (long long)group, (long long)t->size[1]);
	block[0] = 1;
	block[1] = group;
	return true;
}

/* torchao: (input, block_size, ...) */
static bool by_block(struct call *c, int64_t *block, struct error *err)
{
	struct tensor *t = call_tensor(c, 0);
	int n = call_ints(c, 1, block, err);

	if (n < 0)
		return false;
	if (n != t->rank)
		return call_fail(c, err, "%d block sizes for rank %d", n, t->rank);
	for (int d = 0; d < n; d++)
		if (block[d] < 1 || (t->size[d] % block[d] && t->size[d]))
			return call_fail(c, err, "blocks of %lld do not divide %lld", (long long)block[d], (long long)t->size[d]);
	return true;
}

/* ---- checks ---- */

static void dtype_range(enum dtype t, int64_t *min, int64_t *max)
{
	int bits = (int)dtype_bytes(t) * 8;
	bool is_signed = t == DTYPE_I8 || t == DTYPE_I16 || t == DTYPE_I32;

	*min = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
	*max = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
}

/* One scale and zero point a block; what may be unknown while shapes are computed is asked for again by read_params. */
static bool check_params(struct call *c, const struct scheme *s, struct error *err)
{
	struct tensor *scale = call_tensor(c, s->scale), *zero = s->zero >= 0 ? call_tensor(c, s->zero) : NULL;
	int64_t block[MAX_RANK], n;

	if (!s->blocks(c, block, err))
		return false;
	n = count_blocks(call_tensor(c, 0), block);
	if (scale && c->op->schema[s->scale] == 'T' && (!dtype_is_float(scale->dtype) || tensor_numel(scale) != n))
		return call_fail(c, err, "%lld scales of %s for %lld blocks", (long long)tensor_numel(scale),
				 dtype_name(scale->dtype), (long long)n);
	if (zero && strchr("Tt", c->op->schema[s->zero]) &&
	    (tensor_numel(zero) != n || !(dtype_is_int(zero->dtype) || dtype_is_float(zero->dtype))))
		return call_fail(c, err, "%lld zero points of %s for %lld blocks", (long long)tensor_numel(zero),
				 dtype_name(zero->dtype), (long long)n);
	return true;
}

/* ARG_VALUE where a plain number stands in the schema is a run-time scalar. */
static const double *read_scales(struct call *c, int i, struct error *err)
{
	double *one;

	if (c->op->schema[i] == 'T')
		return plain_read(c, call_tensor(c, i), KIND_F64, err);
	one = plain_alloc(c, KIND_F64, 1, err);
	if (one)
		*one = call_double(c, i, 1);
	return one;
}

static const int64_t *read_zeros(struct call *c, int i, struct error *err)
{
	int64_t *one;

	if (strchr("Tt", c->op->schema[i]))
		return plain_read(c, call_tensor(c, i), KIND_I64, err);
	one = plain_alloc(c, KIND_I64, 1, err);
	if (one)
		*one = call_int(c, i, 0);
	return one;
}

static bool read_params(struct call *c, const struct scheme *s, enum dtype quantized, struct params *p, struct error *err)
{
	*p = (struct params){ 0 };
	dtype_range(quantized, &p->min, &p->max);
	p->min = call_int(c, s->min, p->min);
	p->max = call_int(c, s->max, p->max);
	if (!s->blocks(c, p->block, err) || !(p->scale = read_scales(c, s->scale, err)))
		return false;
	if (s->zero >= 0 && call_has(c, s->zero) && !(p->zero = read_zeros(c, s->zero, err)))
		return false;
	return true;
}

/* ---- runs ---- */

/* Elements [at, at + n) in memory; element i has the parameters of block + i * step. */
typedef void run_fn(void *ctx, const struct params *p, int64_t at, int64_t n, int64_t block, int64_t step);

/* Calls f for each run: of one block (step 0), or a row of one-element blocks. */
static void each_run(const struct tensor *t, const struct params *p, run_fn *f, void *ctx)
{
	int64_t step[MAX_RANK], at[MAX_RANK] = { 0 }, run = 1, blocks = 1, numel = tensor_numel(t), inner = 0;
	int d = t->rank - 1;

	for (int i = t->rank - 1; i >= 0; i--) {	/* parameters are in logical order */
		step[i] = blocks;
		blocks *= t->size[i] / p->block[i];
	}
	for (; d >= 0; d--) {				/* whole dimensions from the innermost out, and part of one more */
		run *= p->block[t->dim_order[d]];
		if (p->block[t->dim_order[d]] != t->size[t->dim_order[d]])
			break;
	}
	if (run == 1 && d >= 0) {
		run = t->size[t->dim_order[d]];
		inner = step[t->dim_order[d--]];
	}
	for (int64_t i = 0; i < numel; i += run) {
		int64_t block = 0;

		for (int e = 0; e <= d; e++)
			block += at[e] / (e == d && !inner ? 1 : p->block[t->dim_order[e]]) * step[t->dim_order[e]];
		f(ctx, p, i, run, block, inner);
		for (int e = d; e >= 0; e--) {
			int dim = t->dim_order[e];

			if (++at[e] < t->size[dim] / (e == d && !inner ? p->block[dim] : 1))
				break;
			at[e] = 0;
		}
	}
}

/* ---- quantise ---- */

static bool check_quantized_range(struct call *c, const struct scheme *s, enum dtype t, struct error *err)
{
	int64_t min, max;

	dtype_range(t, &min, &max);
	if (call_int(c, s->min, min) < min || call_int(c, s->max, max) > max)
		return call_fail(c, err, "the range %lld to %lld is not that of %s", (long long)call_int(c, s->min, min),
				 (long long)call_int(c, s->max, max), dtype_name(t));
	return true;
}

static bool quantize_check(struct call *c, const struct scheme *s, struct error *err)
{
	enum dtype t;

	if (!call_check(c, err) || !call_known(c, s->dtype, err) || !check_params(c, s, err))
		return false;
	t = call_dtype(c, s->dtype, DTYPE_I8);
	if (!dtype_in(t, DTYPES_QUANTIZED))
		return call_fail(c, err, "%s is no type to quantise to", dtype_name(t));
	if (!check_quantized_range(c, s, t, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	c->out[0]->dtype = t;
	return true;
}

struct ends {
	const struct tensor *in, *out;
};

/* Scaled x: the product of a float and an element, in float. */
static void scaled(enum dtype t, const void *x, float scale, float *to, int64_t n)
{
	double wide[CHUNK];

	if (t != DTYPE_F64) {
		kind_load(KIND_F32, to, t, x, 1, n);
		for (int64_t i = 0; i < n; i++)
			to[i] *= scale;
		return;
	}
	kind_load(KIND_F64, wide, t, x, 1, n);
	for (int64_t i = 0; i < n; i++)
		to[i] = (float)((double)scale * wide[i]);
}

static void quantize_run(void *ctx, const struct params *p, int64_t at, int64_t n, int64_t block, int64_t step)
{
	const struct ends *e = ctx;
	enum dtype from = e->in->dtype, to = e->out->dtype;
	const char *x = (const char *)e->in->data + (size_t)at * dtype_bytes(from);
	char *y = (char *)e->out->data + (size_t)at * dtype_bytes(to);
	int64_t most = step ? 1 : from == DTYPE_F32 ? n : CHUNK;
	float chunk[CHUNK];

	for (int64_t i = 0; i < n; i += most, block += step) {
		int64_t len = n - i < most ? n - i : most;
		struct qparam q = { 1.0f / (float)p->scale[block], p->zero ? (int32_t)p->zero[block] : 0, p->min, p->max, p->whole_zero };
		const float *f = from == DTYPE_F32 ? (const float *)x + i : chunk;

		if (from != DTYPE_F32) {
			scaled(from, x + (size_t)i * dtype_bytes(from), q.inverse, chunk, len);
			q.inverse = 1;
		}
		qloop_quantize(to, f, y + (size_t)i * dtype_bytes(to), len, &q);
	}
}

static bool quantize_run_all(struct call *c, const struct scheme *s, bool whole_zero, struct error *err)
{
	struct ends e = { call_tensor(c, 0), c->out[0] };
	struct params p;

	if (!read_params(c, s, e.out->dtype, &p, err))
		return false;
	p.whole_zero = whole_zero;
	if (tensor_numel(e.in))
		each_run(e.in, &p, quantize_run, &e);
	return true;
}

/* ---- dequantise ---- */

static bool dequantize_check(struct call *c, const struct scheme *s, struct error *err)
{
	struct tensor *in;
	enum dtype t, to;

	if (!call_check(c, err) || !call_known(c, s->dtype, err) || !call_known(c, s->out_dtype, err) || !check_params(c, s, err))
		return false;
	in = call_tensor(c, 0);
	t = call_dtype(c, s->dtype, in->dtype);
	to = call_dtype(c, s->out_dtype, DTYPE_F32);
	if (in->dtype == DTYPE_INT4 ? !in->rank || !tensor_is_default_order(in) : t != in->dtype)
		return call_fail(c, err, "cannot dequantise %s as %s", dtype_name(in->dtype), dtype_name(t));
	if (!dtype_is_float(to))
		return call_fail(c, err, "cannot dequantise to %s", dtype_name(to));
	if (call_int(c, s->min, 0) > call_int(c, s->max, INT64_MAX))
		return call_fail(c, err, "quant_min is above quant_max");
	tensor_set_like(c->out[0], in);
	c->out[0]->dtype = to;
	return true;
}

static void dequantize_run(void *ctx, const struct params *p, int64_t at, int64_t n, int64_t block, int64_t step)
{
	const struct ends *e = ctx;
	enum dtype from = e->in->dtype, to = e->out->dtype;
	const char *q = (const char *)e->in->data + (size_t)at * dtype_bytes(from);
	char *y = (char *)e->out->data + (size_t)at * dtype_bytes(to);
	int64_t most = to == DTYPE_F32 ? n : CHUNK;
	float chunk[CHUNK];

	for (int64_t i = 0; i < n; i += most) {
		int64_t len = n - i < most ? n - i : most, b = block + i * step;
		float *f = to == DTYPE_F32 ? (float *)y : chunk;

		qloop_dequantize(from, q + (size_t)i * dtype_bytes(from), f, len, p->zero ? p->zero + b : NULL, p->scale + b, step);
		if (to != DTYPE_F32)
			kind_store(KIND_F32, f, to, y + (size_t)i * dtype_bytes(to), 1, len);
	}
}

/* 4-bit values as bytes. */
static bool unpack(struct call *c, const struct tensor *in, struct tensor *bytes, struct error *err)
{
	int64_t cols = in->size[in->rank - 1], n = tensor_numel(in), row = (cols + 1) / 2;
	int8_t *to = arena_try(c->scratch, (size_t)(n ? n : 1));

	if (!to)
		return error_set(err, ERROR_MEMORY, "%s: no memory for %lld elements of scratch", c->op->name, (long long)n);
	*bytes = *in;
	bytes->dtype = DTYPE_I8;
	bytes->data = to;
	for (int64_t i = 0; i < n; i++) {
		uint8_t b = ((const uint8_t *)in->data)[i / cols * row + i % cols / 2];

		to[i] = (int8_t)((i % cols % 2 ? b >> 4 : b & 15) - 8);
	}
	return true;
}

/* Stock stops the process where an int8 zero point is outside the range; so does this run. */
static bool check_zeros(struct call *c, const struct params *p, int64_t n, struct error *err)
{
	for (int64_t i = 0; p->zero && i < n; i++)
		if (p->zero[i] < p->min || p->zero[i] > p->max)
			return call_fail(c, err, "zero point %lld is not between %lld and %lld", (long long)p->zero[i],
					 (long long)p->min, (long long)p->max);
	return true;
}

static bool dequantize_run_all(struct call *c, const struct scheme *s, bool zeros_in_range, struct error *err)
{
	struct tensor unpacked, *in = call_tensor(c, 0);
	struct ends e = { in, c->out[0] };
	struct params p;

	if (!read_params(c, s, in->dtype == DTYPE_INT4 ? DTYPE_I8 : in->dtype, &p, err) ||
	    (zeros_in_range && !check_zeros(c, &p, count_blocks(in, p.block), err)))
		return false;
	if (in->dtype == DTYPE_INT4) {
		if (!unpack(c, in, &unpacked, err))
			return false;
		e.in = &unpacked;
	}
	if (tensor_numel(in))
		each_run(e.in, &p, dequantize_run, &e);
	return true;
}

/* ---- rows ---- */

#define QUANTIZE(name, whole, ...) \
static const struct scheme name##_scheme = { __VA_ARGS__ }; \
static bool name##_shape(struct call *c, struct error *err) { return quantize_check(c, &name##_scheme, err); } \
static bool name##_kernel(struct call *c, struct error *err) { return quantize_run_all(c, &name##_scheme, whole, err); }

#define DEQUANTIZE(name, zeros, ...) \
static const struct scheme name##_scheme = { __VA_ARGS__ }; \
static bool name##_shape(struct call *c, struct error *err) { return dequantize_check(c, &name##_scheme, err); } \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	return dequantize_run_all(c, &name##_scheme, zeros && call_tensor(c, 0)->dtype == DTYPE_I8, err); \
}

QUANTIZE(q_tensor, false, 1, 2, 3, 4, 5, -1, whole_tensor)
QUANTIZE(q_channel, false, 1, 2, 4, 5, 6, -1, by_channel)
QUANTIZE(q_token, false, 1, 2, 3, 4, 5, -1, by_token)
QUANTIZE(q_group, true, 1, 2, 3, 4, 5, -1, by_group)
QUANTIZE(q_affine, false, 2, 3, 5, 6, 4, -1, by_block)
DEQUANTIZE(dq_tensor, false, 1, 2, 3, 4, 5, 6, whole_tensor)
DEQUANTIZE(dq_channel, true, 1, 2, 4, 5, 6, 7, by_channel)
DEQUANTIZE(dq_token, true, 1, 2, 3, 4, 5, 6, by_token)
DEQUANTIZE(dq_group, false, 1, 2, 3, 4, 5, 7, by_group)
DEQUANTIZE(dq_affine, false, 2, 3, 5, 6, 4, 7, by_block)

#define QD(op) "quantized_decomposed." op
#define QDK(op) "quantized_decomposed::" op
#define ROW(name, kernel_name, schema, args, dtypes, f) \
	{ name, kernel_name, schema, args, dtypes, OP_QUANTIZE, f##_shape, f##_kernel }
#define STORED (DTYPES_QUANTIZED | DTYPE_BIT(DTYPE_INT4))

const struct op op_quant[] = {
	ROW(QD("quantize_per_tensor.default"), QDK("quantize_per_tensor.out"), "TDIIIM>T",
	    "input, scale, zero_point, quant_min, quant_max, dtype", DTYPES_FLOAT, q_tensor),
	ROW(QD("quantize_per_tensor.tensor"), QDK("quantize_per_tensor.Tensor_out"), "TTTIIM>T",
	    "input, scale, zero_point, quant_min, quant_max, dtype", DTYPES_FLOAT, q_tensor),
	ROW(QD("quantize_per_channel.default"), QDK("quantize_per_channel.out"), "TTTIIIM>T",
	    "input, scales, zero_points, axis, quant_min, quant_max, dtype", DTYPES_FLOAT, q_channel),
	ROW(QD("quantize_per_token.default"), QDK("quantize_per_token.out"), "TTTIIM>T",
	    "input, scales, zero_points, quant_min, quant_max, dtype", DTYPES_FLOAT, q_token),
	ROW(QD("quantize_per_channel_group.default"), NULL, "TTTIIMI>T",
	    "input, scales, zero_points, quant_min, quant_max, dtype, group_size", DTYPES_FLOAT, q_group),
	ROW(QD("dequantize_per_tensor.default"), QDK("dequantize_per_tensor.out"), "TDIIIMM>T",
	    "input, scale, zero_point, quant_min, quant_max, dtype, out_dtype", STORED, dq_tensor),
	ROW(QD("dequantize_per_tensor.tensor"), QDK("dequantize_per_tensor.Tensor_out"), "TTTIIMM>T",
	    "input, scale, zero_point, quant_min, quant_max, dtype, out_dtype", STORED, dq_tensor),
	ROW(QD("dequantize_per_channel.default"), QDK("dequantize_per_channel.out"), "TTtIIIMM>T",
	    "input, scales, zero_points, axis, quant_min, quant_max, dtype, out_dtype", STORED, dq_channel),
	ROW(QD("dequantize_per_token.default"), QDK("dequantize_per_token.out"), "TTTIIMM>T",
	    "input, scales, zero_points, quant_min, quant_max, dtype, output_dtype", STORED, dq_token),
	ROW(QD("dequantize_per_channel_group.default"), NULL, "TTtIIMIM>T",
	    "input, scales, zero_points, quant_min, quant_max, dtype, group_size, output_dtype", STORED, dq_group),
	ROW("torchao.quantize_affine.default", NULL, "TATtMss>T",
	    "input, block_size, scale, zero_point, output_dtype, quant_min, quant_max", DTYPES_FLOAT, q_affine),
	ROW("torchao.dequantize_affine.default", NULL, "TATtMssM>T",
	    "input, block_size, scale, zero_point, input_dtype, quant_min, quant_max, output_dtype", STORED, dq_affine),
	{ 0 },
};
