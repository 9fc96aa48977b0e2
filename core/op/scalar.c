/* Numbers at run time: sizes of tensors, elements, and the arithmetic of executorch_prim. A result is a rank-0 tensor
 * of i64, f64 or bool. Stock kernels abort on types and on zero divisors; here these are errors. */
#include "core/op/loop.h"

#include <math.h>

/* Operands */

static enum dtype type_of(const struct operand *o)
{
	enum dtype t = o->kind == ARG_VALUE ? o->tensor->dtype : o->kind == ARG_BOOL ? DTYPE_BOOL : DTYPE_I64;

	return o->kind == ARG_DOUBLE || dtype_is_float(t) ? DTYPE_F64 : t == DTYPE_BOOL ? DTYPE_BOOL : DTYPE_I64;
}

static void put_int(struct call *c, int64_t v)
{
	kind_store(KIND_I64, &v, c->out[0]->dtype, c->out[0]->data, 1, 1);
}

static void put_double(struct call *c, double v)
{
	kind_store(KIND_F64, &v, c->out[0]->dtype, c->out[0]->data, 1, 1);
}

static bool result(struct call *c, enum dtype t)
{
	tensor_set_type(c->out[0], t, 0, NULL);
	return true;
}

/* All operands must be of these types, from argument `from` on. */
static bool types_in(struct call *c, int from, bool bools, bool doubles, struct error *err)
{
	for (int i = from; i < c->nargs; i++) {
		enum dtype t = type_of(&c->arg[i]);

		if ((t == DTYPE_BOOL && !bools) || (t == DTYPE_F64 && !doubles))
			return call_fail(c, err, "operand %d is %s, which this operator does not take", i,
					 dtype_name(t));
	}
	return true;
}

/* Shapes: the type of the result */

static bool number_shape(struct call *c, struct error *err)	/* double if one is */
{
	enum dtype t = DTYPE_I64;

	if (!call_check(c, err) || !types_in(c, 0, false, true, err))
		return false;
	for (int i = 0; i < c->nargs; i++)
		t = type_of(&c->arg[i]) == DTYPE_F64 ? DTYPE_F64 : t;
	return result(c, t);
}

static bool int_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && types_in(c, 0, false, false, err) && result(c, DTYPE_I64);
}

static bool truediv_shape(struct call *c, struct error *err)
{
	return number_shape(c, err) && result(c, DTYPE_F64);
}

static bool compare_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && types_in(c, 0, true, true, err) && result(c, DTYPE_BOOL);
}

static bool not_shape(struct call *c, struct error *err)
{
	return call_check(c, err) &&
	       (type_of(&c->arg[0]) == DTYPE_BOOL || call_fail(c, err, "the operand is no bool")) &&
	       result(c, DTYPE_BOOL);
}

static bool to_float_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && result(c, DTYPE_F64);
}

static bool to_int_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && result(c, DTYPE_I64);
}

static bool rounding_shape(struct call *c, struct error *err)
{
	return call_check(c, err) &&
	       (type_of(&c->arg[0]) == DTYPE_F64 || call_fail(c, err, "the operand is no fraction")) &&
	       result(c, DTYPE_I64);
}

static bool ite_shape(struct call *c, struct error *err)
{
	enum dtype t;

	if (!call_check(c, err))
		return false;
	t = type_of(&c->arg[1]);
	if (type_of(&c->arg[0]) != DTYPE_BOOL)
		return call_fail(c, err, "the condition is no bool");
	if (t != type_of(&c->arg[2]))	/* the type of the result would depend on the condition */
		t = call_known(c, 0, NULL) ? type_of(&c->arg[call_bool(c, 0, true) ? 1 : 2]) : DTYPE_F64;
	return result(c, t);
}

/* Kernels */

#define NUMBER(name, op) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	if (c->out[0]->dtype == DTYPE_F64) \
		put_double(c, call_double(c, 0, 0) op call_double(c, 1, 0)); \
	else \
		put_int(c, (int64_t)((uint64_t)call_int(c, 0, 0) op (uint64_t)call_int(c, 1, 0))); \
	return true; \
}
NUMBER(add, +)
NUMBER(sub, -)
NUMBER(mul, *)

#define COMPARE(name, op) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	if (type_of(&c->arg[0]) == DTYPE_F64 || type_of(&c->arg[1]) == DTYPE_F64) \
		put_int(c, call_double(c, 0, 0) op call_double(c, 1, 0)); \
	else \
		put_int(c, call_int(c, 0, 0) op call_int(c, 1, 0)); \
	return true; \
}
COMPARE(eq, ==)
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)

/* Integer division: truncated (.int), or floored (.Scalar). The rest of mod is the truncated one in both. */
static bool divide_ints(struct call *c, bool floored, bool rest, struct error *err)
{
	int64_t a = call_int(c, 0, 0), b = call_int(c, 1, 0);

	if (!b)
		return call_fail(c, err, "integer division by zero");
	if (b == -1)
		put_int(c, rest ? 0 : (int64_t)-(uint64_t)a);
	else
		put_int(c, rest ? a % b : a / b - (floored && a % b && (a < 0) != (b < 0)));
	return true;
}

static bool floordiv_int_kernel(struct call *c, struct error *err)
{
	return divide_ints(c, false, false, err);
}

static bool mod_kernel(struct call *c, struct error *err)
{
	return divide_ints(c, false, true, err);
}

static bool floordiv_kernel(struct call *c, struct error *err)
{
	double a = call_double(c, 0, 0), b = call_double(c, 1, 0), mod, div;

	if (c->out[0]->dtype == DTYPE_I64)
		return divide_ints(c, true, false, err);
	mod = fmod(a, b);
	div = (a - mod) / b;
	if (b == 0)
		div = signbit(a) ? -INFINITY : INFINITY;
	else if (mod != 0 && signbit(b) != signbit(mod))
		div--;
	put_double(c, div);
	return true;
}

static bool truediv_kernel(struct call *c, struct error *err)
{
	put_double(c, call_double(c, 0, 0) / call_double(c, 1, 0));
	return true;
}

static bool neg_kernel(struct call *c, struct error *err)
{
	if (c->out[0]->dtype == DTYPE_F64)
		put_double(c, -call_double(c, 0, 0));
	else
		put_int(c, (int64_t)-(uint64_t)call_int(c, 0, 0));
	return true;
}

static bool max_kernel(struct call *c, struct error *err)
{
	int64_t a = call_int(c, 0, 0), b = call_int(c, 1, 0);

	put_int(c, a > b ? a : b);
	return true;
}

static bool min_kernel(struct call *c, struct error *err)
{
	int64_t a = call_int(c, 0, 0), b = call_int(c, 1, 0);

	put_int(c, a < b ? a : b);
	return true;
}

static bool not_kernel(struct call *c, struct error *err)
{
	put_int(c, !call_bool(c, 0, false));
	return true;
}

/* The chosen operand as a number of the result's type; conversions of one number, too. */
static bool convert(struct call *c, int i)
{
	if (type_of(&c->arg[i]) == DTYPE_F64)
		put_double(c, call_double(c, i, 0));
	else
		put_int(c, call_int(c, i, 0));
	return true;
}

static bool convert_kernel(struct call *c, struct error *err)
{
	return convert(c, 0);
}

static bool ite_kernel(struct call *c, struct error *err)
{
	return convert(c, call_bool(c, 0, true) ? 1 : 2);
}

#define ROUNDING(name, f) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	put_int(c, (int64_t)f(call_double(c, 0, 0))); \
	return true; \
}
ROUNDING(ceil, ceil)
ROUNDING(round, rint)	/* half to even */
ROUNDING(trunc, trunc)

/* Of tensors */

static bool sym_size_shape(struct call *c, struct error *err)
{
	int d;

	return call_check(c, err) && (call_tensor(c, 0)->rank || call_fail(c, err, "rank is 0")) &&
	       call_dim(c, 1, call_tensor(c, 0)->rank, &d, err) && result(c, DTYPE_I64);
}

static bool sym_size_kernel(struct call *c, struct error *err)
{
	int d;

	if (!call_dim(c, 1, call_tensor(c, 0)->rank, &d, err))
		return false;
	put_int(c, call_tensor(c, 0)->size[d]);
	return true;
}

static bool sym_numel_kernel(struct call *c, struct error *err)
{
	put_int(c, tensor_numel(call_tensor(c, 0)));
	return true;
}

/* item(): the first element. Halves, which stock kernels do not read, too. */
static bool item_shape(struct call *c, struct error *err)
{
	const struct tensor *t;

	if (!call_check(c, err))
		return false;
	t = call_tensor(c, 0);
	if (!tensor_numel(t))
		return call_fail(c, err, "the tensor has no element");
	return result(c, dtype_is_float(t->dtype) ? DTYPE_F64 : t->dtype == DTYPE_BOOL ? DTYPE_BOOL : DTYPE_I64);
}

static bool item_kernel(struct call *c, struct error *err)
{
	struct tensor first = *call_tensor(c, 0);

	first.rank = 0;
	tensor_copy(c->out[0], &first);
	return true;
}

#define PRIM(name, schema, args, shape, kernel) \
	{ "executorch_prim." name, "executorch_prim::" name, schema, args, 0, 0, shape, kernel }

const struct op op_scalar[] = {
	{ "aten._local_scalar_dense.default", "aten::_local_scalar_dense", "T>N", "self", DTYPES_REALB, 0,
	  item_shape, item_kernel },
	{ "aten.sym_numel.default", "aten::sym_numel", "T>N", "self", DTYPES_ANY, 0, to_int_shape, sym_numel_kernel },
	{ "aten.sym_size.int", "aten::sym_size.int", "TI>N", "self, dim", DTYPES_ANY, 0, sym_size_shape,
	  sym_size_kernel },
	PRIM("add.Scalar", "SS>N", "a, b", number_shape, add_kernel),
	PRIM("ceil.Scalar", "S>N", "a", rounding_shape, ceil_kernel),
	PRIM("eq.Scalar", "SS>N", "a, b", compare_shape, eq_kernel),
	/* writes element `index` of a tensor that grows; only ever inside control flow, which we do not run */
	{ "executorch_prim.et_copy_index.tensor", "executorch_prim::et_copy_index.tensor", "TTI>",
	  "copy_to, copy_from, index", DTYPES_ANY, OP_MUTATES | OP_OPAQUE, NULL, NULL },
	PRIM("floordiv.Scalar", "SS>N", "a, b", number_shape, floordiv_kernel),
	PRIM("floordiv.int", "II>N", "a, b", int_shape, floordiv_int_kernel),
	PRIM("ge.Scalar", "SS>N", "a, b", compare_shape, ge_kernel),
	PRIM("gt.Scalar", "SS>N", "a, b", compare_shape, gt_kernel),
	PRIM("le.Scalar", "SS>N", "a, b", compare_shape, le_kernel),
	PRIM("lt.Scalar", "SS>N", "a, b", compare_shape, lt_kernel),
	PRIM("mod.Scalar", "II>N", "a, b", int_shape, mod_kernel),
	PRIM("mod.int", "II>N", "a, b", int_shape, mod_kernel),
	PRIM("mul.Scalar", "SS>N", "a, b", number_shape, mul_kernel),
	PRIM("neg.Scalar", "S>N", "a", number_shape, neg_kernel),
	PRIM("round.Scalar", "S>N", "a", rounding_shape, round_kernel),
	PRIM("sub.Scalar", "SS>N", "a, b", number_shape, sub_kernel),
	PRIM("sym_float.Scalar", "S>N", "a", to_float_shape, convert_kernel),
	PRIM("sym_int.Scalar", "S>N", "a", to_int_shape, convert_kernel),
	PRIM("sym_ite.Scalar", "SSS>N", "b, t, f", ite_shape, ite_kernel),
	PRIM("sym_max.Scalar", "SS>N", "a, b", int_shape, max_kernel),
	PRIM("sym_min.Scalar", "SS>N", "a, b", int_shape, min_kernel),
	PRIM("sym_not.Scalar", "B>N", "a", not_shape, not_kernel),
	PRIM("trunc.Scalar", "S>N", "a", rounding_shape, trunc_kernel),
	PRIM("truediv.Scalar", "SS>N", "a, b", truediv_shape, truediv_kernel),
	{ 0 },
};
