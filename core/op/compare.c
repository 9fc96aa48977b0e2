/* Comparisons and logic: two operands, broadcast, to bool. */
#include "core/op/loop.h"

#include <math.h>
#include <string.h>

static bool shape_compare(struct call *c, struct error *err)
{
	return call_check(c, err) && call_dtype_in(c, 1, DTYPES_REALB, err) &&
	       call_broadcast(c, "01", DTYPE_BOOL, c->out[0], err);
}

/* Stock kernels compare two dtypes in f32 as soon as one is a float: f64 with f32, too, where eager takes f64. */
static bool apply(struct call *c, row_fn *const *f)
{
	enum dtype common = call_common_dtype(c, "01");
	const struct tensor *a = call_tensor(c, 0), *b = c->op->schema[1] == 'T' ? call_tensor(c, 1) : a;
	struct tensor *in[2];
	enum kind k;

	if (dtype_is_float(common) && a->dtype != b->dtype)
		common = DTYPE_F32;
	k = kind_of(common);
	for (int i = 0; i < 2; i++)
		in[i] = call_operand(c, i, k == KIND_I64 ? common : kind_dtype(k));
	map_run(f, k, KIND_BOOL, NULL, c->out[0], in, 2);
	return true;
}

#define COMPARE(name, expr) \
ROW2(name##_f32, float, uint8_t, expr) \
ROW2(name##_f64, double, uint8_t, expr) \
ROW2(name##_i64, int64_t, uint8_t, expr) \
ROW2(name##_i32, int32_t, uint8_t, expr) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	static row_fn *const f[KINDS] = { name##_f32, name##_f64, name##_i64, [KIND_I32] = name##_i32 }; \
 \
	return apply(c, f); \
}
COMPARE(eq, x == y)
COMPARE(ne, x != y)
COMPARE(lt, x < y)
COMPARE(le, x <= y)
COMPARE(gt, x > y)
COMPARE(ge, x >= y)

/* Logic looks at nothing but truth. */
#define LOGIC_KERNEL(name, expr) \
ROW2(name##_truth, uint8_t, uint8_t, expr) \
static bool name##_kernel(struct call *c, struct error *err) \
{ \
	static row_fn *const f[KINDS] = { [KIND_BOOL] = name##_truth }; \
 \
	map_run(f, KIND_BOOL, KIND_BOOL, NULL, c->out[0], \
		(struct tensor *[]){ call_tensor(c, 0), call_tensor(c, 1) }, 2); \
	return true; \
}
LOGIC_KERNEL(logical_and, x & y)
LOGIC_KERNEL(logical_or, x | y)
LOGIC_KERNEL(logical_xor, x ^ y)

/* allclose: one answer for all elements; equal_nan is not looked at, and infinities are never close. */

static bool shape_allclose(struct call *c, struct error *err)
{
	const struct tensor *a, *b;

	if (!call_check(c, err))
		return false;
	a = call_tensor(c, 0);
	b = call_tensor(c, 1);
	if (a->dtype != b->dtype || a->rank != b->rank || memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size))
		return call_fail(c, err, "the tensors are not of the same dtype and sizes");
	tensor_set_type(c->out[0], DTYPE_BOOL, 0, NULL);
	return true;
}

struct close_run { enum dtype dtype; double rtol, atol; bool close; };

static void close_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	struct close_run *r = ctx;
	double a[LOOP_CHUNK], b[LOOP_CHUNK];
	int64_t width = (int64_t)dtype_bytes(r->dtype);

	for (int64_t at = 0; at < n && r->close; at += LOOP_CHUNK) {
		int64_t len = n - at < LOOP_CHUNK ? n - at : LOOP_CHUNK;

		kind_load(KIND_F64, a, r->dtype, p[0] + at * step[0] * width, step[0], len);
		kind_load(KIND_F64, b, r->dtype, p[1] + at * step[1] * width, step[1], len);
		for (int64_t i = 0; i < len; i++) {
			double off = fabs(a[i] - b[i]);

			r->close &= r->rtol == 0 && r->atol == 0
					    ? a[i] == b[i]
					    : isfinite(off) && off <= r->atol + fabs(r->rtol * b[i]);
		}
	}
}

static bool allclose_kernel(struct call *c, struct error *err)
{
	const struct tensor *a = call_tensor(c, 0);
	bool exact = !dtype_is_float(a->dtype);
	struct close_run r = { a->dtype, exact ? 0 : call_double(c, 2, 1e-5), exact ? 0 : call_double(c, 3, 1e-8),
			       true };
	struct loop l;

	loop_start(&l, a->rank, a->size);
	loop_add(&l, a);
	loop_add(&l, call_tensor(c, 1));
	loop_run(&l, close_row, &r);
	*(uint8_t *)c->out[0]->data = r.close;
	return true;
}

#define PAIR(name) \
	{ "aten." #name ".Tensor", "aten::" #name ".Tensor_out", "TT>T", "self, other", DTYPES_REALB, \
	  OP_ELEMENTWISE, shape_compare, name##_kernel }, \
	{ "aten." #name ".Scalar", "aten::" #name ".Scalar_out", "TS>T", "self, other", DTYPES_REALB, \
	  OP_ELEMENTWISE, shape_compare, name##_kernel }
#define LOGIC(name) \
	{ "aten." #name ".default", "aten::" #name ".out", "TT>T", "self, other", DTYPES_REALB, \
	  OP_ELEMENTWISE, shape_compare, name##_kernel }

const struct op op_compare[] = {
	{ "aten.allclose.Tensor", "aten::allclose.out", "TTDDBB>T",
	  "self, other, rtol, atol, equal_nan, dummy_param", DTYPES_REALB, 0, shape_allclose, allclose_kernel },
	PAIR(eq),
	PAIR(ge),
	PAIR(gt),
	PAIR(le),
	LOGIC(logical_and),
	LOGIC(logical_or),
	LOGIC(logical_xor),
	PAIR(lt),
	PAIR(ne),
	{ 0 },
};
