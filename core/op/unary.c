/* Functions of one tensor, element by element. Integers are computed in float where stock kernels do, which
 * above 2^24 is not exact (ceil, floor, trunc; the same as eager only below). */
#include "core/op/loop.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* Shapes */

static bool shape_same(struct call *c, struct error *err)
{
	if (!call_check(c, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

/* The absolute value of a complex number is real. */
static bool shape_abs(struct call *c, struct error *err)
{
	static const enum dtype part[] = { DTYPE_F16, DTYPE_F32, DTYPE_F64 };

	if (!shape_same(c, err))
		return false;
	if (dtype_in(c->out[0]->dtype, DTYPES_COMPLEX))
		c->out[0]->dtype = part[c->out[0]->dtype - DTYPE_C32];
	return true;
}

static bool shape_to_float(struct call *c, struct error *err)
{
	if (!shape_same(c, err))
		return false;
	c->out[0]->dtype = dtype_float(c->out[0]->dtype);
	return true;
}

static bool shape_to_bool(struct call *c, struct error *err)
{
	if (!shape_same(c, err))
		return false;
	c->out[0]->dtype = DTYPE_BOOL;
	return true;
}

static bool shape_hardtanh(struct call *c, struct error *err)
{
	return shape_same(c, err) && call_fits(c, 1, c->out[0]->dtype, err) &&
	       call_fits(c, 2, c->out[0]->dtype, err);
}

static bool shape_leaky_relu(struct call *c, struct error *err)
{
	return shape_same(c, err) && call_fits(c, 1, c->out[0]->dtype, err);
}

static bool shape_gelu(struct call *c, struct error *err)
{
	const char *how = call_string(c, 1);

	return shape_same(c, err) &&
	       (!strcmp(how, "none") || !strcmp(how, "tanh") ||
		call_fail(c, err, "approximate is \"%s\", not none or tanh", how));
}

static bool shape_glu(struct call *c, struct error *err)
{
	int d;

	if (!shape_same(c, err) || !call_dim(c, 1, call_tensor(c, 0)->rank, &d, err))
		return false;
	if (!c->out[0]->rank || c->out[0]->size[d] % 2)
		return call_fail(c, err, "dimension %d cannot be halved", d);
	c->out[0]->size[d] /= 2;
	tensor_set_strides(c->out[0]);
	return true;
}

/* Kernels */

/* Runs a functor on self and the numbers that follow it. */
static bool apply(struct call *c, row_fn *const *f, enum kind k, enum kind r)
{
	struct tensor *in[LOOP_MAX] = { call_tensor(c, 0) };
	int n = 1;

	for (; n < c->nargs && strchr("S?", c->op->schema[n]); n++)
		in[n] = call_operand(c, n, kind_dtype(k));
	map_run(f, k, r, NULL, c->out[0], in, n);
	return true;
}

static enum kind float_kind(const struct call *c)
{
	return call_tensor(c, 0)->dtype == DTYPE_F64 ? KIND_F64 : KIND_F32;
}

/* Computed in float for every dtype but f64. */
#define FLOAT1(name, f, d) \
ROW1(name##_f32, float, float, f) \
ROW1(name##_f64, double, double, d) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	return apply(c, (row_fn *const[KINDS]){ name##_f32, name##_f64 }, float_kind(c), float_kind(c)); \
}

/* Computed in the dtype's own kind. */
#define REAL1(name, f, d, i) \
ROW1(name##_f32, float, float, f) \
ROW1(name##_f64, double, double, d) \
ROW1(name##_i64, int64_t, int64_t, i) \
ROW1(name##_i32, int32_t, int32_t, i) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	enum kind k = kind_of(call_tensor(c, 0)->dtype); \
 \
	return apply(c, (row_fn *const[KINDS]){ name##_f32, name##_f64, name##_i64, [KIND_I32] = name##_i32 }, k, k); \
}

#define BOOL1(name, f, d) \
ROW1(name##_f32, float, uint8_t, f) \
ROW1(name##_f64, double, uint8_t, d) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	return apply(c, (row_fn *const[KINDS]){ name##_f32, name##_f64 }, float_kind(c), KIND_BOOL); \
}

FLOAT1(acos, acosf(x), acos(x))
FLOAT1(acosh, acoshf(x), acosh(x))
FLOAT1(asin, asinf(x), asin(x))
FLOAT1(asinh, asinhf(x), asinh(x))
FLOAT1(atan, atanf(x), atan(x))
FLOAT1(atanh, atanhf(x), atanh(x))
FLOAT1(ceil, ceilf(x), ceil(x))
FLOAT1(cos, cosf(x), cos(x))
FLOAT1(cosh, coshf(x), cosh(x))
FLOAT1(erf, erff(x), erf(x))
FLOAT1(exp, expf(x), exp(x))
FLOAT1(expm1, expm1f(x), expm1(x))
FLOAT1(floor, floorf(x), floor(x))
FLOAT1(log, logf(x), log(x))
FLOAT1(log10, log10f(x), log10(x))
FLOAT1(log1p, log1pf(x), log1p(x))
FLOAT1(log2, log2f(x), log2(x))
FLOAT1(reciprocal, 1 / x, 1 / x)
FLOAT1(rsqrt, 1 / sqrtf(x), 1 / sqrt(x))
FLOAT1(sigmoid, 1 / (1 + expf(-x)), 1 / (1 + exp(-x)))
FLOAT1(sin, sinf(x), sin(x))
FLOAT1(sinh, sinhf(x), sinh(x))
FLOAT1(sqrt, sqrtf(x), sqrt(x))
FLOAT1(tan, tanf(x), tan(x))
FLOAT1(tanh, tanhf(x), tanh(x))
FLOAT1(trunc, truncf(x), trunc(x))
FLOAT1(hardswish, x * fminf(fmaxf(x + 3, 0), 6) / 6, x * fmin(fmax(x + 3, 0), 6) / 6)

REAL1(neg, -x, -x, -(uint64_t)x)
REAL1(relu, x < 0 ? 0 : x, x < 0 ? 0 : x, x < 0 ? 0 : x)	/* a NaN stays */
REAL1(round, rintf(x), rint(x), x)
REAL1(sign, x != x ? x : (x > 0) - (x < 0), x != x ? x : (x > 0) - (x < 0), (x > 0) - (x < 0))

ROW1(abs_f32, float, float, fabsf(x))
ROW1(abs_f64, double, double, fabs(x))
ROW1(abs_i64, int64_t, int64_t, x < 0 ? -(uint64_t)x : (uint64_t)x)
ROW1(abs_i32, int32_t, int32_t, x < 0 ? -(uint32_t)x : (uint32_t)x)
ROW1(abs_c128, double complex, double, cabs(x))
ROW1(conj_c128, double complex, double complex, conj(x))

static bool abs_kernel(struct call *c, struct error *err)
{
	static row_fn *const abs[KINDS] = { abs_f32, abs_f64, abs_i64, [KIND_I32] = abs_i32, [KIND_C128] = abs_c128 };
	enum kind k = kind_of(call_tensor(c, 0)->dtype);

	return apply(c, abs, k, k == KIND_C128 ? KIND_F64 : k);
}

static bool conj_kernel(struct call *c, struct error *err)
{
	return apply(c, (row_fn *const[KINDS]){ [KIND_C128] = conj_c128 }, KIND_C128, KIND_C128);
}

BOOL1(isinf, isinf(x) != 0, isinf(x) != 0)
BOOL1(isnan, x != x, x != x)

ROW1(bitwise_not_i64, int64_t, int64_t, ~x)
ROW1(not_truth, uint8_t, uint8_t, !x)
static row_fn *const not_functor[KINDS] = { [KIND_I64] = bitwise_not_i64, [KIND_BOOL] = not_truth };

static bool logical_not_kernel(struct call *c, struct error *err)
{
	return apply(c, not_functor, KIND_BOOL, KIND_BOOL);
}

static bool bitwise_not_kernel(struct call *c, struct error *err)
{
	enum kind k = c->out[0]->dtype == DTYPE_BOOL ? KIND_BOOL : KIND_I64;

	return apply(c, not_functor, k, k);
}

/* x: self, y: min, z: max. A NaN stays. */
ROW3(hardtanh_f32, float, float, x < y ? y : x > z ? z : x)
ROW3(hardtanh_f64, double, double, x < y ? y : x > z ? z : x)
ROW3(hardtanh_i64, int64_t, int64_t, x < y ? y : x > z ? z : x)

static bool hardtanh_kernel(struct call *c, struct error *err)
{
	enum kind k = kind_of(c->out[0]->dtype);

	return apply(c, (row_fn *const[KINDS]){ hardtanh_f32, hardtanh_f64, hardtanh_i64 }, k, k);
}

ROW2(leaky_relu_f32, float, float, x >= 0 ? x : x * y)
ROW2(leaky_relu_f64, double, double, x >= 0 ? x : x * y)

static bool leaky_relu_kernel(struct call *c, struct error *err)
{
	return apply(c, (row_fn *const[KINDS]){ leaky_relu_f32, leaky_relu_f64 }, float_kind(c), float_kind(c));
}

/* (self, alpha, scale, input_scale) */
#define ELU_ROW(name, T, expm1) \
static void name(void *out, const void *const *in, int64_t n, void *ctx) \
{ \
	const T *a = in[0], *alpha = in[1], *scale = in[2], *input_scale = in[3]; \
	T *o = out; \
 \
	for (int64_t i = 0; i < n; i++) \
		o[i] = a[i] <= 0 ? expm1(a[i] * input_scale[i]) * (alpha[i] * scale[i]) : a[i] * scale[i]; \
}
ELU_ROW(elu_f32, float, expm1f)
ELU_ROW(elu_f64, double, expm1)

static bool elu_kernel(struct call *c, struct error *err)
{
	return apply(c, (row_fn *const[KINDS]){ elu_f32, elu_f64 }, float_kind(c), float_kind(c));
}

/* Infinities apart: there inf - inf and 0 * inf lurk. */
ROW1(gelu_f32, float, float, isinf(x) ? (x > 0 ? x : 0) : 0.5f * x * (1 + erff(x * (float)M_SQRT1_2)))
ROW1(gelu_f64, double, double, isinf(x) ? (x > 0 ? x : 0) : 0.5 * x * (1 + erf(x * M_SQRT1_2)))
#define GELU_INNER (M_SQRT2 * M_2_SQRTPI * 0.5)
ROW1(gelu_tanh_f32, float, float, isinf(x) ? (x > 0 ? x : 0) :
     0.5f * x * (1 + tanhf((float)GELU_INNER * (x + 0.044715f * x * x * x))))
ROW1(gelu_tanh_f64, double, double, isinf(x) ? (x > 0 ? x : 0) :
     0.5 * x * (1 + tanh(GELU_INNER * (x + 0.044715 * x * x * x))))

static bool gelu_kernel(struct call *c, struct error *err)
{
	static row_fn *const none[KINDS] = { gelu_f32, gelu_f64 };
	static row_fn *const approximate[KINDS] = { gelu_tanh_f32, gelu_tanh_f64 };

	return apply(c, !strcmp(call_string(c, 1), "tanh") ? approximate : none, float_kind(c), float_kind(c));
}

ROW1(logit_f32, float, float, logf(x / (1 - x)))
ROW1(logit_f64, double, double, log(x / (1 - x)))
#define INSIDE(x, eps) ((x) < (eps) ? (eps) : (x) > 1 - (eps) ? 1 - (eps) : (x))
ROW2(logit_eps_f32, float, float, logf(INSIDE(x, y) / (1 - INSIDE(x, y))))
ROW2(logit_eps_f64, double, double, log(INSIDE(x, y) / (1 - INSIDE(x, y))))

static bool logit_kernel(struct call *c, struct error *err)
{
	static row_fn *const plain[KINDS] = { logit_f32, logit_f64 };
	static row_fn *const clamped[KINDS] = { logit_eps_f32, logit_eps_f64 };
	enum kind k = float_kind(c);
	struct tensor *in[2] = { call_tensor(c, 0), call_operand(c, 1, kind_dtype(k)) };

	map_run(in[1] ? clamped : plain, k, k, NULL, c->out[0], in, in[1] ? 2 : 1);
	return true;
}

ROW2(glu_f32, float, float, x * (1 / (1 + expf(-y))))
ROW2(glu_f64, double, double, x * (1 / (1 + exp(-y))))

static bool glu_kernel(struct call *c, struct error *err)
{
	struct tensor first = *call_tensor(c, 0), second;
	enum kind k = kind_of(first.dtype);
	int d = (int)call_int(c, 1, 0);

	d += d < 0 ? first.rank : 0;
	first.size[d] /= 2;
	second = first;
	second.data = (char *)first.data + first.size[d] * first.stride[d] * (int64_t)dtype_bytes(first.dtype);
	map_run((row_fn *const[KINDS]){ glu_f32, glu_f64 }, k, k, NULL, c->out[0],
		(struct tensor *[]){ &first, &second }, 2);
	return true;
}

#define ROW_OF(name, dtypes, shape) \
	{ "aten." #name ".default", "aten::" #name ".out", "T>T", "self", dtypes, OP_ELEMENTWISE, shape, name##_kernel }

const struct op op_unary[] = {
	{ "aten._conj_physical.default", "aten::_conj_physical.out", "T>T", "self", DTYPES_COMPLEX, OP_ELEMENTWISE,
	  shape_same, conj_kernel },
	ROW_OF(abs, DTYPES_REAL | DTYPES_COMPLEX, shape_abs),
	ROW_OF(acos, DTYPES_REALB, shape_to_float),
	ROW_OF(acosh, DTYPES_REALB, shape_to_float),
	ROW_OF(asin, DTYPES_REALB, shape_to_float),
	ROW_OF(asinh, DTYPES_REALB, shape_to_float),
	ROW_OF(atan, DTYPES_REALB, shape_to_float),
	ROW_OF(atanh, DTYPES_REALB, shape_to_float),
	ROW_OF(bitwise_not, DTYPES_INTB, shape_same),
	ROW_OF(ceil, DTYPES_REAL, shape_same),
	ROW_OF(cos, DTYPES_REALB, shape_to_float),
	ROW_OF(cosh, DTYPES_REALB, shape_to_float),
	{ "aten.elu.default", "aten::elu.out", "TSSS>T", "self, alpha, scale, input_scale", DTYPES_FLOAT,
	  OP_ELEMENTWISE, shape_same, elu_kernel },
	ROW_OF(erf, DTYPES_REALB, shape_to_float),
	ROW_OF(exp, DTYPES_REALB, shape_to_float),
	ROW_OF(expm1, DTYPES_REALB, shape_to_float),
	ROW_OF(floor, DTYPES_REAL, shape_same),
	{ "aten.gelu.default", "aten::gelu.out", "TZ>T", "self, approximate", DTYPES_FLOAT, OP_ELEMENTWISE,
	  shape_gelu, gelu_kernel },
	{ "aten.glu.default", "aten::glu.out", "TI>T", "self, dim", DTYPES_FLOAT, 0, shape_glu, glu_kernel },
	{ "aten.hardswish.default", NULL, "T>T", "self", DTYPES_FLOAT, OP_ELEMENTWISE, shape_same, hardswish_kernel },
	{ "aten.hardtanh.default", "aten::hardtanh.out", "TSS>T", "self, min_val, max_val", DTYPES_REAL,
	  OP_ELEMENTWISE, shape_hardtanh, hardtanh_kernel },
	ROW_OF(isinf, DTYPES_REALB, shape_to_bool),
	ROW_OF(isnan, DTYPES_REALB, shape_to_bool),
	{ "aten.leaky_relu.default", "aten::leaky_relu.out", "TS>T", "self, negative_slope", DTYPES_FLOAT,
	  OP_ELEMENTWISE, shape_leaky_relu, leaky_relu_kernel },
	ROW_OF(log, DTYPES_REALB, shape_to_float),
	ROW_OF(log10, DTYPES_REALB, shape_to_float),
	ROW_OF(log1p, DTYPES_REALB, shape_to_float),
	ROW_OF(log2, DTYPES_REALB, shape_to_float),
	ROW_OF(logical_not, DTYPES_REALB, shape_to_bool),
	{ "aten.logit.default", "aten::logit.out", "T?>T", "self, eps", DTYPES_REALB, OP_ELEMENTWISE,
	  shape_to_float, logit_kernel },
	ROW_OF(neg, DTYPES_REAL, shape_same),
	ROW_OF(reciprocal, DTYPES_REALB, shape_to_float),
	ROW_OF(relu, DTYPES_REAL, shape_same),
	ROW_OF(round, DTYPES_REAL, shape_same),
	ROW_OF(rsqrt, DTYPES_REALB, shape_to_float),
	ROW_OF(sigmoid, DTYPES_REALB, shape_to_float),
	ROW_OF(sign, DTYPES_REALB, shape_same),
	ROW_OF(sin, DTYPES_REALB, shape_to_float),
	ROW_OF(sinh, DTYPES_REALB, shape_to_float),
	ROW_OF(sqrt, DTYPES_REALB, shape_to_float),
	ROW_OF(tan, DTYPES_REALB, shape_to_float),
	ROW_OF(tanh, DTYPES_REALB, shape_to_float),
	ROW_OF(trunc, DTYPES_REAL, shape_same),
	{ 0 },
};
