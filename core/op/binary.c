/* Functions of two or three operands, broadcast, element by element. A number operand is a rank-0 tensor of the
 * dtype computed in. The result has torch's result type; what is computed in is ExecuTorch's common type, which
 * does not look at ranks (a f16 tensor with a f32 scalar tensor: computed in f32, stored as f16). */
#include "core/op/loop.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* Shapes. Operands are arguments 0 and 1. */

static bool shape_binary(struct call *c, struct error *err)
{
	return call_check(c, err) && call_dtype_in(c, 0, c->op->dtypes, err) && call_dtype_in(c, 1, c->op->dtypes, err) &&
	       call_broadcast(c, "01", call_result_dtype(c, "01"), c->out[0], err);
}

/* Complex numbers only with their like. */
static bool shape_complex(struct call *c, struct error *err)
{
	if (!shape_binary(c, err))
		return false;
	return !dtype_in(c->out[0]->dtype, DTYPES_COMPLEX) || c->op->schema[1] != 'T' ||
	       call_tensor(c, 0)->dtype == call_tensor(c, 1)->dtype ||
	       call_fail(c, err, "the operands are %s and %s", dtype_name(call_tensor(c, 0)->dtype),
			 dtype_name(call_tensor(c, 1)->dtype));
}

static bool shape_intb(struct call *c, struct error *err)
{
	return shape_binary(c, err) &&
	       (!dtype_is_float(c->out[0]->dtype) || call_fail(c, err, "takes no fractions"));
}

/* Alpha must not be a fraction for integers, nor a number for bools. */
static bool shape_alpha(struct call *c, struct error *err)
{
	if (!shape_complex(c, err))
		return false;
	if (!dtype_in(c->out[0]->dtype, DTYPES_FLOAT | DTYPES_COMPLEX) && c->arg[2].kind == ARG_DOUBLE)
		return call_fail(c, err, "alpha is a fraction, the operands are %s", dtype_name(c->out[0]->dtype));
	return true;
}

static bool shape_not_bool(struct call *c, struct error *err)
{
	return shape_binary(c, err) &&
	       (c->out[0]->dtype != DTYPE_BOOL || call_fail(c, err, "does not take two bools"));
}

static bool shape_alpha_not_bool(struct call *c, struct error *err)
{
	return shape_alpha(c, err) && shape_not_bool(c, err);
}

static bool shape_to_float(struct call *c, struct error *err)
{
	if (!shape_binary(c, err))
		return false;
	c->out[0]->dtype = dtype_float(c->out[0]->dtype);
	return true;
}

static bool shape_div(struct call *c, struct error *err)
{
	if (!shape_complex(c, err))
		return false;
	if (!dtype_in(c->out[0]->dtype, DTYPES_COMPLEX))
		c->out[0]->dtype = dtype_float(c->out[0]->dtype);
	return true;
}

static bool shape_mode(struct call *c, struct error *err)
{
	const char *mode = call_string(c, 2);

	if (!call_check(c, err))
		return false;
	if (!call_has(c, 2))
		return shape_to_float(c, err);
	if (strcmp(mode, "trunc") && strcmp(mode, "floor"))
		return call_fail(c, err, "rounding_mode is \"%s\", not trunc or floor", mode);
	return shape_not_bool(c, err);
}

static bool shape_clamp(struct call *c, struct error *err)
{
	if (!call_check(c, err))
		return false;
	if (!call_dtype_in(c, 1, c->op->dtypes, err) || !call_dtype_in(c, 2, c->op->dtypes, err))
		return false;
	if (!call_has(c, 1) && !call_has(c, 2))
		return call_fail(c, err, "neither min nor max is given");
	return call_broadcast(c, "012", call_result_dtype(c, "012"), c->out[0], err) &&
	       (call_tensor(c, 1) || call_fits(c, 1, c->out[0]->dtype, err)) &&
	       (call_tensor(c, 2) || call_fits(c, 2, c->out[0]->dtype, err));
}

/* Weight: one number, or one for each channel (dimension 1). */
static bool shape_prelu(struct call *c, struct error *err)
{
	const struct tensor *self, *weight;
	int64_t channels;

	if (!call_check(c, err))
		return false;
	self = call_tensor(c, 0);
	weight = call_tensor(c, 1);
	channels = self->rank > 1 ? self->size[1] : 1;
	if (weight->rank > 1 || weight->dtype != self->dtype ||
	    (tensor_numel(weight) != 1 && tensor_numel(weight) != channels))
		return call_fail(c, err, "weight must have 1 or %lld elements of %s", (long long)channels,
				 dtype_name(self->dtype));
	tensor_set_like(c->out[0], self);
	return true;
}

/* Kernels */

static bool apply(struct call *c, row_fn *const *f, enum kind k, enum kind r, void *ctx, int nin)
{
	struct tensor *in[LOOP_MAX];
	enum dtype common = call_common_dtype(c, "01");
	/* a number takes the common dtype first, as in stock kernels: 300 added to i8 is 44 */
	enum dtype t = k != KIND_F32 && k != KIND_F64 && !dtype_is_float(common) ? common : kind_dtype(k);

	for (int i = 0; i < nin; i++)
		in[i] = call_operand(c, i, t);
	map_run(f, k, r, ctx, c->out[0], in, nin);
	return true;
}

#define BINARY_ROWS(name, f, d, i) \
ROW2(name##_f32, float, float, f) \
ROW2(name##_f64, double, double, d) \
ROW2(name##_i64, int64_t, int64_t, i) \
ROW2(name##_i32, int32_t, int32_t, i)

#define BINARY(name, f, d, i) \
BINARY_ROWS(name, f, d, i) \
static row_fn *const name##_functor[KINDS] = { name##_f32, name##_f64, name##_i64, [KIND_I32] = name##_i32 };

#define BINARY_COMPLEX(name, op) \
BINARY_ROWS(name, x op y, x op y, WRAP(x, op, y)) \
ROW2(name##_c128, double complex, double complex, x op y) \
static row_fn *const name##_functor[KINDS] = { \
	name##_f32, name##_f64, name##_i64, [KIND_I32] = name##_i32, [KIND_C128] = name##_c128 \
};

/* In unsigned arithmetic integers wrap. */
#define WRAP(a, op, b) ((uint64_t)(a) op (uint64_t)(b))
BINARY_COMPLEX(add, +)
BINARY_COMPLEX(mul, *)
ROW3(add_alpha_c128, double complex, double complex, x + z * y)
BINARY(sub, x - y, x - y, WRAP(x, -, y))
BINARY(rsub, y - x, y - x, WRAP(y, -, x))
ROW3(add_alpha_f32, float, float, x + z * y)
ROW3(add_alpha_f64, double, double, x + z * y)
ROW3(add_alpha_i64, int64_t, int64_t, WRAP(x, +, WRAP(z, *, y)))
ROW3(sub_alpha_f32, float, float, x - z * y)
ROW3(sub_alpha_f64, double, double, x - z * y)
ROW3(sub_alpha_i64, int64_t, int64_t, WRAP(x, -, WRAP(z, *, y)))
ROW3(rsub_alpha_f32, float, float, y - z * x)
ROW3(rsub_alpha_f64, double, double, y - z * x)
ROW3(rsub_alpha_i64, int64_t, int64_t, WRAP(y, -, WRAP(z, *, x)))

/* A NaN on either side stays. */
BINARY(maximum, x != x || x > y ? x : y, x != x || x > y ? x : y, x > y ? x : y)
BINARY(minimum, x != x || x < y ? x : y, x != x || x < y ? x : y, x < y ? x : y)

static bool common_kernel(struct call *c, row_fn *const *f)
{
	enum kind k = kind_of(call_common_dtype(c, "01"));

	return apply(c, f, k, k, NULL, 2);
}

static bool alpha_kernel(struct call *c, row_fn *const *plain, row_fn *const *scaled)
{
	enum kind k = kind_of(call_common_dtype(c, "01"));

	if (call_double(c, 2, 1) == 1)
		return apply(c, plain, k, k, NULL, 2);
	return apply(c, scaled, k, k, NULL, 3);
}

static bool add_kernel(struct call *c, struct error *err)
{
	static row_fn *const scaled[KINDS] = {
		add_alpha_f32, add_alpha_f64, add_alpha_i64, [KIND_C128] = add_alpha_c128,
	};

	return alpha_kernel(c, add_functor, scaled);
}

static bool sub_kernel(struct call *c, struct error *err)
{
	static row_fn *const scaled[KINDS] = { sub_alpha_f32, sub_alpha_f64, sub_alpha_i64 };

	return alpha_kernel(c, sub_functor, scaled);
}

static bool rsub_kernel(struct call *c, struct error *err)
{
	static row_fn *const scaled[KINDS] = { rsub_alpha_f32, rsub_alpha_f64, rsub_alpha_i64 };

	return alpha_kernel(c, rsub_functor, scaled);
}

static bool mul_kernel(struct call *c, struct error *err)
{
	return common_kernel(c, mul_functor);
}

static bool maximum_kernel(struct call *c, struct error *err)
{
	return common_kernel(c, maximum_functor);
}

static bool minimum_kernel(struct call *c, struct error *err)
{
	return common_kernel(c, minimum_functor);
}

/* Floating point whatever the operands are. */
#define FLOAT2(name, f, d) \
ROW2(name##_f32, float, float, f) \
ROW2(name##_f64, double, double, d) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	static row_fn *const f2[KINDS] = { name##_f32, name##_f64 }; \
	enum kind k = kind_of(dtype_float(call_common_dtype(c, "01"))); \
 \
	return apply(c, f2, k, k, NULL, 2); \
}
ROW2(div_f32, float, float, x / y)
ROW2(div_f64, double, double, x / y)
ROW2(div_c128, double complex, double complex, x / y)

static bool div_kernel(struct call *c, struct error *err)
{
	static row_fn *const div[KINDS] = { div_f32, div_f64, [KIND_C128] = div_c128 };
	enum dtype t = c->out[0]->dtype;
	enum kind k = dtype_in(t, DTYPES_COMPLEX) ? KIND_C128 : kind_of(dtype_float(call_common_dtype(c, "01")));

	return apply(c, div, k, k, NULL, 2);
}

FLOAT2(atan2, atan2f(x, y), atan2(x, y))

/* Division with rounding. The integer rows note a zero divisor in ctx, which ends the run with an error. */

static double floored(double a, double b)
{
	double mod = fmod(a, b), div;

	if (b == 0)
		return signbit(a) ? -INFINITY : INFINITY;
	div = (a - mod) / b;
	return mod != 0 && signbit(b) != signbit(mod) ? div - 1 : div;
}

static float flooredf(float a, float b)
{
	float mod = fmodf(a, b), div;

	if (b == 0)
		return signbit(a) ? -INFINITY : INFINITY;
	div = (a - mod) / b;
	return mod != 0 && signbit(b) != signbit(mod) ? div - 1 : div;
}

static int64_t divide(int64_t a, int64_t b, bool floored, bool *zero)
{
	if (!b)
		return *zero = true, 0;
	if (b == -1)
		return (int64_t)-(uint64_t)a;
	return a / b - (floored && a % b && (a < 0) != (b < 0));
}

static int64_t modulo(int64_t a, int64_t b, bool *zero)
{
	if (!b)
		return *zero = true, 0;
	return b == -1 ? 0 : a % b;
}

/* The rest of stock kernels goes through a float, of doubles too. */
#define REMAINDER(fmod, x, y) \
	({ float rem = (float)fmod(x, y); ((x) < 0) != ((y) < 0) && rem != 0 ? (float)(rem + (y)) : rem; })

BINARY(trunc_divide, truncf(x / y), trunc(x / y), divide(x, y, false, ctx))
BINARY(floor_divide, flooredf(x, y), floored(x, y), divide(x, y, true, ctx))
BINARY(remainder, REMAINDER(fmodf, x, y), REMAINDER(fmod, x, y), modulo(x, y, ctx))

static bool dividing_kernel(struct call *c, row_fn *const *f, struct error *err)
{
	enum kind k = kind_of(call_common_dtype(c, "01"));
	bool zero = false;

	apply(c, f, k, k, &zero, 2);
	return !zero || call_fail(c, err, "integer division by zero");
}

static bool div_mode_kernel(struct call *c, struct error *err)
{
	if (!call_has(c, 2))
		return div_kernel(c, err);
	return dividing_kernel(c, *call_string(c, 2) == 't' ? trunc_divide_functor : floor_divide_functor, err);
}

static bool floor_divide_kernel(struct call *c, struct error *err)
{
	return dividing_kernel(c, floor_divide_functor, err);
}

static bool remainder_kernel(struct call *c, struct error *err)
{
	return dividing_kernel(c, remainder_functor, err);
}

/* Integers go through double. */
static enum kind wide_kind(const struct call *c)
{
	return kind_of(call_common_dtype(c, "01")) == KIND_F32 ? KIND_F32 : KIND_F64;
}

ROW2(fmod_f32, float, float, fmodf(x, y))
ROW2(fmod_f64, double, double, fmod(x, y))

static bool fmod_kernel(struct call *c, struct error *err)
{
	static row_fn *const f[KINDS] = { fmod_f32, fmod_f64 };

	if (!dtype_is_float(call_common_dtype(c, "01")) && c->arg[1].kind != ARG_VALUE && !call_int(c, 1, 0))
		return call_fail(c, err, "integer division by zero");
	return apply(c, f, wide_kind(c), wide_kind(c), NULL, 2);
}

ROW2(pow_f32, float, float, powf(x, y))
ROW2(pow_f64, double, double, pow(x, y))
ROW1(square_f32, float, float, x * x)
ROW1(square_f64, double, double, x * x)

static bool pow_kernel(struct call *c, struct error *err)
{
	static row_fn *const any[KINDS] = { pow_f32, pow_f64 };
	static row_fn *const square[KINDS] = { square_f32, square_f64 };

	if (c->arg[1].kind != ARG_VALUE && call_double(c, 1, 0) == 2)
		return apply(c, square, wide_kind(c), wide_kind(c), NULL, 1);
	return apply(c, any, wide_kind(c), wide_kind(c), NULL, 2);
}

/* Bits. A shift by as much as the width or more, or by less than nothing, gives 0 (left), or the sign (right);
 * the language leaves it open. */
static int64_t shift(int64_t x, int64_t by, bool left)
{
	if (left)
		return by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by);
	return by < 0 || by > 63 ? x < 0 ? -1 : 0 : x >> by;
}

#define BITS(name, expr) \
ROW2(name##_i64, int64_t, int64_t, expr) \
ROW2(name##_i32, int32_t, int32_t, expr) \
ROW2(name##_truth, uint8_t, uint8_t, expr) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	static row_fn *const f[KINDS] = { \
		[KIND_I64] = name##_i64, [KIND_BOOL] = name##_truth, [KIND_I32] = name##_i32 \
	}; \
	enum kind k = call_common_dtype(c, "01") == DTYPE_BOOL ? KIND_BOOL : KIND_I64; \
 \
	return apply(c, f, k, k, NULL, 2); \
}
BITS(bitwise_and, x & y)
BITS(bitwise_or, x | y)
BITS(bitwise_xor, x ^ y)
BITS(bitwise_left_shift, shift(x, y, true))
BITS(bitwise_right_shift, shift(x, y, false))

/* x: self, y: min, z: max. A NaN in any stays, self's first. */
#define CLAMP_LOW(x, y) ((x) != (x) ? (x) : (y) != (y) || (x) < (y) ? (y) : (x))
#define CLAMP_HIGH(x, y) ((x) != (x) ? (x) : (y) != (y) || (x) > (y) ? (y) : (x))
#define CLAMP(T, suffix) \
ROW2(clamp_low_##suffix, T, T, CLAMP_LOW(x, y)) \
ROW2(clamp_high_##suffix, T, T, CLAMP_HIGH(x, y)) \
ROW3(clamp_##suffix, T, T, ({ T low = CLAMP_LOW(x, y); CLAMP_HIGH(low, z); }))
CLAMP(float, f32)
CLAMP(double, f64)
CLAMP(int64_t, i64)

static bool clamp_kernel(struct call *c, struct error *err)
{
	static row_fn *const low[KINDS] = { clamp_low_f32, clamp_low_f64, clamp_low_i64 };
	static row_fn *const high[KINDS] = { clamp_high_f32, clamp_high_f64, clamp_high_i64 };
	static row_fn *const both[KINDS] = { clamp_f32, clamp_f64, clamp_i64 };
	enum dtype common = call_common_dtype(c, "012");
	enum kind k = kind_of(common);
	enum dtype t = k == KIND_I64 ? common : kind_dtype(k);
	struct tensor *self = call_tensor(c, 0), *min = call_operand(c, 1, t), *max = call_operand(c, 2, t);

	if (min && max)
		map_run(both, k, k, NULL, c->out[0], (struct tensor *[]){ self, min, max }, 3);
	else
		map_run(min ? low : high, k, k, NULL, c->out[0], (struct tensor *[]){ self, min ? min : max }, 2);
	return true;
}

ROW2(prelu_f32, float, float, x > 0 ? x : x * y)
ROW2(prelu_f64, double, double, x > 0 ? x : x * y)

static bool prelu_kernel(struct call *c, struct error *err)
{
	struct tensor *self = call_tensor(c, 0), weight = *call_tensor(c, 1);
	int64_t size[MAX_RANK];
	enum kind k = kind_of(self->dtype);

	for (int d = 0; d < self->rank; d++)
		size[d] = d == 1 ? tensor_numel(&weight) : 1;
	if (self->rank)
		tensor_set_type(&weight, weight.dtype, self->rank, size);
	map_run((row_fn *const[KINDS]){ prelu_f32, prelu_f64 }, k, k, NULL, c->out[0],
		(struct tensor *[]){ self, &weight }, 2);
	return true;
}

#define E OP_ELEMENTWISE
const struct op op_binary[] = {
	{ "aten.add.Tensor", "aten::add.out", "TTS>T", "self, other, alpha", DTYPES_REALB | DTYPES_COMPLEX, E,
	  shape_alpha, add_kernel },
	{ "aten.add.Scalar", "aten::add.Scalar_out", "TSS>T", "self, other, alpha", DTYPES_REALB | DTYPES_COMPLEX,
	  E, shape_alpha, add_kernel },
	{ "aten.atan2.default", "aten::atan2.out", "TT>T", "self, other", DTYPES_REALB, E, shape_to_float,
	  atan2_kernel },
	{ "aten.bitwise_and.Tensor", "aten::bitwise_and.Tensor_out", "TT>T", "self, other", DTYPES_INTB,
	  E, shape_intb, bitwise_and_kernel },
	{ "aten.bitwise_and.Scalar", "aten::bitwise_and.Scalar_out", "TS>T", "self, other", DTYPES_INTB,
	  E, shape_intb, bitwise_and_kernel },
	{ "aten.bitwise_left_shift.Tensor", "aten::bitwise_left_shift.Tensor_out", "TT>T", "self, other", DTYPES_INTB,
	  E, shape_intb, bitwise_left_shift_kernel },
	{ "aten.bitwise_left_shift.Tensor_Scalar", "aten::bitwise_left_shift.Tensor_Scalar_out", "TS>T",
	  "self, other", DTYPES_INTB, E, shape_intb, bitwise_left_shift_kernel },
	{ "aten.bitwise_or.Tensor", "aten::bitwise_or.Tensor_out", "TT>T", "self, other", DTYPES_INTB,
	  E, shape_intb, bitwise_or_kernel },
	{ "aten.bitwise_or.Scalar", "aten::bitwise_or.Scalar_out", "TS>T", "self, other", DTYPES_INTB,
	  E, shape_intb, bitwise_or_kernel },
	{ "aten.bitwise_right_shift.Tensor", "aten::bitwise_right_shift.Tensor_out", "TT>T", "self, other", DTYPES_INTB,
	  E, shape_intb, bitwise_right_shift_kernel },
	{ "aten.bitwise_right_shift.Tensor_Scalar", "aten::bitwise_right_shift.Tensor_Scalar_out", "TS>T",
	  "self, other", DTYPES_INTB, E, shape_intb, bitwise_right_shift_kernel },
	{ "aten.bitwise_xor.Tensor", "aten::bitwise_xor.Tensor_out", "TT>T", "self, other", DTYPES_INTB,
	  E, shape_intb, bitwise_xor_kernel },
	{ "aten.bitwise_xor.Scalar", "aten::bitwise_xor.Scalar_out", "TS>T", "self, other", DTYPES_INTB,
	  E, shape_intb, bitwise_xor_kernel },
	{ "aten.clamp.default", "aten::clamp.out", "Tss>T", "self, min, max", DTYPES_REALB, E, shape_clamp,
	  clamp_kernel },
	{ "aten.clamp.Tensor", "aten::clamp.Tensor_out", "Ttt>T", "self, min, max", DTYPES_REALB, E, shape_clamp,
	  clamp_kernel },
	{ "aten.div.Tensor", "aten::div.out", "TT>T", "self, other", DTYPES_REALB | DTYPES_COMPLEX, E, shape_div,
	  div_kernel },
	{ "aten.div.Tensor_mode", "aten::div.out_mode", "TTZ>T", "self, other, rounding_mode", DTYPES_REALB,
	  E, shape_mode, div_mode_kernel },
	{ "aten.div.Scalar", "aten::div.Scalar_out", "TS>T", "self, other", DTYPES_REALB | DTYPES_COMPLEX, E,
	  shape_div, div_kernel },
	{ "aten.div.Scalar_mode", "aten::div.Scalar_mode_out", "TSZ>T", "self, other, rounding_mode", DTYPES_REALB,
	  E, shape_mode, div_mode_kernel },
	{ "aten.floor_divide.default", "aten::floor_divide.out", "TT>T", "self, other", DTYPES_REALB,
	  E, shape_not_bool, floor_divide_kernel },
	{ "aten.fmod.Tensor", "aten::fmod.Tensor_out", "TT>T", "self, other", DTYPES_REALB, E, shape_not_bool,
	  fmod_kernel },
	{ "aten.fmod.Scalar", "aten::fmod.Scalar_out", "TS>T", "self, other", DTYPES_REALB, E, shape_not_bool,
	  fmod_kernel },
	{ "aten.maximum.default", "aten::maximum.out", "TT>T", "self, other", DTYPES_REALB, E, shape_binary,
	  maximum_kernel },
	{ "aten.minimum.default", "aten::minimum.out", "TT>T", "self, other", DTYPES_REALB, E, shape_binary,
	  minimum_kernel },
	{ "aten.mul.Tensor", "aten::mul.out", "TT>T", "self, other", DTYPES_REALB | DTYPES_COMPLEX, E,
	  shape_complex, mul_kernel },
	{ "aten.mul.Scalar", "aten::mul.Scalar_out", "TS>T", "self, other", DTYPES_REALB | DTYPES_COMPLEX, E,
	  shape_complex, mul_kernel },
	{ "aten.pow.Tensor_Tensor", "aten::pow.Tensor_Tensor_out", "TT>T", "self, exponent", DTYPES_REALB,
	  E, shape_not_bool, pow_kernel },
	{ "aten.pow.Tensor_Scalar", "aten::pow.Tensor_Scalar_out", "TS>T", "self, exponent", DTYPES_REALB,
	  E, shape_not_bool, pow_kernel },
	{ "aten.pow.Scalar", "aten::pow.Scalar_out", "ST>T", "self, exponent", DTYPES_REALB, E, shape_not_bool,
	  pow_kernel },
	{ "aten.prelu.default", NULL, "TT>T", "self, weight", DTYPES_FLOAT, 0, shape_prelu, prelu_kernel },
	{ "aten.remainder.Tensor", "aten::remainder.Tensor_out", "TT>T", "self, other", DTYPES_REALB,
	  E, shape_not_bool, remainder_kernel },
	{ "aten.remainder.Scalar", "aten::remainder.Scalar_out", "TS>T", "self, other", DTYPES_REALB,
	  E, shape_not_bool, remainder_kernel },
	{ "aten.rsub.Scalar", "aten::rsub.Scalar_out", "TSS>T", "self, other, alpha", DTYPES_REALB,
	  E, shape_alpha_not_bool, rsub_kernel },
	{ "aten.sub.Tensor", "aten::sub.out", "TTS>T", "self, other, alpha", DTYPES_REALB, E, shape_alpha_not_bool,
	  sub_kernel },
	{ "aten.sub.Scalar", "aten::sub.Scalar_out", "TSS>T", "self, other, alpha", DTYPES_REALB,
	  E, shape_alpha_not_bool, sub_kernel },
	{ 0 },
};
