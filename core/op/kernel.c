/* Arguments and types of a call: what every shape function is written with. */
#include "core/op/kernel.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool call_fail(const struct call *c, struct error *err, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return error_set(err, ERROR_RUN, "%s: %s", c->op->name, text);
}

/* Schema letters */

static bool is_number(const struct operand *o)
{
	return o->kind == ARG_INT || o->kind == ARG_DOUBLE || o->kind == ARG_BOOL ||
	       (o->kind == ARG_VALUE && o->tensor->rank == 0);
}

static bool is_int(const struct operand *o)
{
	return is_number(o) && o->kind != ARG_DOUBLE && !(o->kind == ARG_VALUE && dtype_is_float(o->tensor->dtype));
}

static bool is_tensor(const struct operand *o)
{
	return o->kind == ARG_VALUE && o->tensor->rank <= MAX_RANK;
}

static bool is_none(const struct operand *o)
{
	return o->kind == ARG_NONE;
}

static bool is_list(const struct operand *o, bool (*item)(const struct operand *), bool gaps)
{
	for (int i = 0; o->kind == ARG_LIST && i < o->list.n; i++)
		if (!item(&o->list.at[i]) && !(gaps && is_none(&o->list.at[i])))
			return false;
	return o->kind == ARG_LIST;
}

static bool fits(char letter, const struct operand *o)
{
	switch (letter) {
	case 'T': return is_tensor(o);
	case 't': return is_tensor(o) || is_none(o);
	case 'L': return is_list(o, is_tensor, false);
	case 'l': return is_list(o, is_tensor, true);
	case 'S': case 'D': return is_number(o);
	case 's': case '?': return is_number(o) || is_none(o);
	case 'I': case 'B': return is_int(o);
	case 'i': case 'b': case 'M': return is_int(o) || is_none(o);
	case 'A': return is_list(o, is_int, false) || is_int(o) || is_none(o);
	case 'F': return is_list(o, is_number, false) || is_none(o);
	case 'Z': return o->kind == ARG_STRING || is_none(o);
	}
	return false;
}

static const char *letter_meaning(char letter)
{
	static const struct { char letter; const char *meaning; } table[] = {
		{ 'T', "a tensor" }, { 't', "a tensor or none" },
		{ 'L', "a list of tensors" }, { 'l', "a list of tensors" },
		{ 'S', "a number" }, { 's', "a number or none" }, { 'D', "a number" }, { '?', "a number or none" },
		{ 'I', "an integer" }, { 'i', "an integer or none" }, { 'M', "an integer or none" },
		{ 'B', "a bool" }, { 'b', "a bool or none" }, { 'Z', "a string" },
		{ 'A', "a list of integers" }, { 'F', "a list of numbers" },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].letter == letter)
			return table[i].meaning;
	return "?";
}

static bool fail_dtype(const struct call *c, int i, enum dtype t, struct error *err)
{
	return call_fail(c, err, "argument %d is %s, which this operator does not take", i, dtype_name(t));
}

/* The first tensor argument, or list of them, has the row's dtypes. */
static bool check_first(const struct call *c, struct error *err)
{
	int i = (int)strcspn(c->op->schema, "TtLl");
	const struct operand *o = i < c->nargs ? &c->arg[i] : NULL;

	if (o && o->kind == ARG_VALUE && !dtype_in(o->tensor->dtype, c->op->dtypes))
		return fail_dtype(c, i, o->tensor->dtype, err);
	for (int k = 0; o && o->kind == ARG_LIST && k < o->list.n; k++)
		if (o->list.at[k].kind == ARG_VALUE && !dtype_in(o->list.at[k].tensor->dtype, c->op->dtypes))
			return fail_dtype(c, i, o->list.at[k].tensor->dtype, err);
	return true;
}

bool call_check(const struct call *c, struct error *err)
{
	int want = op_nargs(c->op);

	if (c->nargs != want)
		return call_fail(c, err, "%d arguments, expected %d", c->nargs, want);
	for (int i = 0; i < want; i++)
		if (!fits(c->op->schema[i], &c->arg[i]))
			return call_fail(c, err, "argument %d is not %s", i, letter_meaning(c->op->schema[i]));
	return check_first(c, err);
}

/* Reading */

static bool operand_known(const struct operand *o)
{
	if (o->kind == ARG_VALUE)
		return o->tensor->data;
	for (int i = 0; o->kind == ARG_LIST && i < o->list.n; i++)
		if (!operand_known(&o->list.at[i]))
			return false;
	return true;
}

bool call_known(const struct call *c, int i, struct error *err)
{
	return operand_known(&c->arg[i]) || call_fail(c, err, "argument %d is known at run time only", i);
}

static int64_t operand_int(const struct operand *o, int64_t otherwise)
{
	switch (o->kind) {
	case ARG_INT: return o->i;
	case ARG_BOOL: return o->b;
	case ARG_DOUBLE: return (int64_t)o->d;
	case ARG_VALUE:
		if (o->tensor->data && o->tensor->dtype == DTYPE_I64)
			return *(const int64_t *)o->tensor->data;
		return o->tensor->data ? (int64_t)dtype_get(o->tensor->dtype, o->tensor->data, 0) : otherwise;
	default: return otherwise;
	}
}

static double operand_double(const struct operand *o, double otherwise)
{
	switch (o->kind) {
	case ARG_INT: return (double)o->i;
	case ARG_BOOL: return o->b;
	case ARG_DOUBLE: return o->d;
	case ARG_VALUE: return o->tensor->data ? dtype_get(o->tensor->dtype, o->tensor->data, 0) : otherwise;
	default: return otherwise;
	}
}

bool call_has(const struct call *c, int i)
{
	return i >= 0 && i < c->nargs && c->arg[i].kind != ARG_NONE;
}

struct tensor *call_tensor(const struct call *c, int i)
{
	return call_has(c, i) && c->arg[i].kind == ARG_VALUE ? c->arg[i].tensor : NULL;
}

int64_t call_int(const struct call *c, int i, int64_t otherwise)
{
	return i >= 0 && i < c->nargs ? operand_int(&c->arg[i], otherwise) : otherwise;
}

double call_double(const struct call *c, int i, double otherwise)
{
	return i >= 0 && i < c->nargs ? operand_double(&c->arg[i], otherwise) : otherwise;
}

bool call_bool(const struct call *c, int i, bool otherwise)
{
	return call_int(c, i, otherwise) != 0;
}

const char *call_string(const struct call *c, int i)
{
	return call_has(c, i) && c->arg[i].kind == ARG_STRING ? c->arg[i].s : "";
}

enum dtype call_dtype(const struct call *c, int i, enum dtype otherwise)
{
	return (enum dtype)call_int(c, i, otherwise);
}

int call_length(const struct call *c, int i)
{
	if (!call_has(c, i))
		return 0;
	return c->arg[i].kind == ARG_LIST ? c->arg[i].list.n : 1;
}

static const struct operand *item(const struct call *c, int i, int k)
{
	return c->arg[i].kind == ARG_LIST ? &c->arg[i].list.at[k] : &c->arg[i];
}

int64_t call_item(const struct call *c, int i, int k)
{
	return operand_int(item(c, i, k), 0);
}

double call_item_double(const struct call *c, int i, int k)
{
	return operand_double(item(c, i, k), 0);
}

struct tensor *call_item_tensor(const struct call *c, int i, int k)
{
	const struct operand *o = item(c, i, k);

	return o->kind == ARG_VALUE ? o->tensor : NULL;
}

int call_ints(const struct call *c, int i, int64_t *at, struct error *err)
{
	int n = call_length(c, i);

	if (n > MAX_RANK) {
		call_fail(c, err, "argument %d has %d numbers, at most %d are possible", i, n, MAX_RANK);
		return -1;
	}
	if (n && !call_known(c, i, err))
		return -1;
	for (int k = 0; k < n; k++)
		at[k] = call_item(c, i, k);
	return n;
}

/* Dimensions */

static bool wrap_dim(const struct call *c, int64_t d, int rank, int *dim, struct error *err)
{
	int n = rank ? rank : 1;

	if (d < -n || d >= n)
		return call_fail(c, err, "dimension %lld is out of range for rank %d", (long long)d, rank);
	*dim = (int)(d < 0 ? d + n : d);
	return true;
}

bool call_dim(const struct call *c, int i, int rank, int *dim, struct error *err)
{
	return call_known(c, i, err) && wrap_dim(c, call_int(c, i, 0), rank, dim, err);
}

bool call_dims(const struct call *c, int i, int rank, bool *marked, struct error *err)
{
	int64_t at[MAX_RANK];
	int n = call_ints(c, i, at, err), d = 0;

	if (n < 0)
		return false;
	for (int k = 0; k < MAX_RANK; k++)
		marked[k] = !n;
	for (int k = 0; k < n; k++) {
		if (!wrap_dim(c, at[k], rank, &d, err))
			return false;
		if (marked[d])
			return call_fail(c, err, "dimension %d is given twice", d);
		marked[d] = true;
	}
	return true;
}

/* Dtypes */

bool dtype_in(enum dtype t, uint32_t set)
{
	return (t < DTYPE_CODES || t == DTYPE_INT4) && set & DTYPE_BIT(t);
}

bool call_dtype_in(const struct call *c, int i, uint32_t set, struct error *err)
{
	const struct tensor *t = call_tensor(c, i);

	return !t || dtype_in(t->dtype, set) || fail_dtype(c, i, t->dtype, err);
}

/* A number stands for its category alone, unless it is a tensor argument of rank 0. */
static bool stands_for_tensor(const struct call *c, int i)
{
	return c->arg[i].kind == ARG_VALUE && strchr("Tt", c->op->schema[i]);
}

void dtype_limits(enum dtype t, int64_t *min, int64_t *max)
{
	int bits = (int)dtype_bytes(t) * 8;
	bool has_sign = t != DTYPE_U8 && t != DTYPE_U16 && t != DTYPE_U32 && t != DTYPE_U64;

	*max = t == DTYPE_BOOL ? 1 : t == DTYPE_U64 ? INT64_MAX : (int64_t)((UINT64_C(1) << (bits - has_sign)) - 1);
	*min = t == DTYPE_BOOL || !has_sign ? 0 : -*max - 1;
}

bool call_fits(const struct call *c, int i, enum dtype t, struct error *err)
{
	double v = call_double(c, i, 0), max = t == DTYPE_F16 ? 65504 : t == DTYPE_F64 ? DBL_MAX : FLT_MAX, min = -max;
	int64_t low, high;

	if (t == DTYPE_BOOL || dtype_in(t, DTYPES_COMPLEX) || !call_has(c, i) || stands_for_tensor(c, i))
		return true;
	if (!dtype_is_float(t)) {
		dtype_limits(t, &low, &high);
		min = (double)low;
		max = (double)high;
	}
	return (v >= min && v <= max) || (dtype_is_float(t) && !isfinite(v)) ||
	       call_fail(c, err, "%g is not in the range of %s", v, dtype_name(t));
}

/* bool < integers < floats < complex; 0 for what does not promote. */
static int category(enum dtype t)
{
	if (dtype_in(t, DTYPES_COMPLEX))
		return 4;
	return dtype_is_float(t) ? 3 : dtype_is_int(t) ? 2 : t == DTYPE_BOOL ? 1 : 0;
}

enum dtype dtype_promote(enum dtype a, enum dtype b)
{
	if (a == b)
		return a;
	if (category(a) != category(b))
		return category(a) > category(b) ? a : b;
	if (dtype_is_float(a))	/* the two halves have no common half */
		return dtype_bytes(a) == dtype_bytes(b) ? DTYPE_F32 : dtype_bytes(a) > dtype_bytes(b) ? a : b;
	if (dtype_bytes(a) == 1 && dtype_bytes(b) == 1)	/* u8 with i8 */
		return DTYPE_I16;
	return dtype_bytes(a) > dtype_bytes(b) ? a : b;
}

static enum dtype scalar_dtype(const struct operand *o)
{
	if (o->kind == ARG_VALUE)
		return dtype_is_float(o->tensor->dtype) ? DTYPE_F32 : o->tensor->dtype;
	return o->kind == ARG_DOUBLE ? DTYPE_F32 : o->kind == ARG_BOOL ? DTYPE_BOOL : DTYPE_I64;
}

enum dtype dtype_with_scalar(enum dtype t, const struct operand *scalar)
{
	enum dtype s = scalar_dtype(scalar);

	return category(s) > category(t) ? s : t;
}

enum dtype call_result_dtype(const struct call *c, const char *args)
{
	int best[3] = { -1, -1, -1 };	/* tensors with dimensions, rank 0, numbers */
	int result = -1;

	for (; *args; args++) {
		int i = *args - '0';
		const struct operand *o = &c->arg[i];
		bool tensor = stands_for_tensor(c, i);
		int *b = &best[!tensor ? 2 : o->tensor->rank ? 0 : 1];
		enum dtype t = tensor ? o->tensor->dtype : scalar_dtype(o);

		if (o->kind != ARG_NONE)
			*b = *b < 0 ? (int)t : (int)dtype_promote((enum dtype)*b, t);
	}
	for (int k = 2; k >= 0; k--)
		if (best[k] >= 0)
			result = result >= 0 && category((enum dtype)result) > category((enum dtype)best[k]) ?
				 result : best[k];
	return (enum dtype)result;
}

enum dtype call_common_dtype(const struct call *c, const char *args)
{
	int t = -1;

	for (const char *p = args; *p; p++)
		if (stands_for_tensor(c, *p - '0')) {
			enum dtype u = c->arg[*p - '0'].tensor->dtype;

			t = t < 0 ? (int)u : (int)dtype_promote((enum dtype)t, u);
		}
	for (const char *p = args; *p; p++)
		if (!stands_for_tensor(c, *p - '0') && call_has(c, *p - '0'))
			t = (int)dtype_with_scalar((enum dtype)t, &c->arg[*p - '0']);
	return (enum dtype)t;
}

enum dtype dtype_float(enum dtype t)
{
	return dtype_is_float(t) ? t : DTYPE_F32;
}

/* Shapes */

void tensor_reshape(struct tensor *t, int rank, const int64_t *size, const struct tensor *like)
{
	tensor_set_type(t, t->dtype, rank, size);
	if (like && like->rank == rank) {
		memcpy(t->dim_order, like->dim_order, sizeof t->dim_order);
		tensor_set_strides(t);
	}
}

struct tensor tensor_narrow(struct tensor t, int dim, int64_t from, int64_t size)
{
	if (t.data)
		t.data = (char *)t.data + from * t.stride[dim] * (int64_t)dtype_bytes(t.dtype);
	t.size[dim] = size;
	return t;
}

struct tensor tensor_without(struct tensor t, int dim)
{
	t.rank--;
	for (; dim < t.rank; dim++) {
		t.size[dim] = t.size[dim + 1];
		t.stride[dim] = t.stride[dim + 1];
	}
	return t;
}

bool tensor_is_channels_last(const struct tensor *t)
{
	if ((t->rank != 4 && t->rank != 5) || t->dim_order[0] != 0 || t->dim_order[t->rank - 1] != 1)
		return false;
	for (int i = 1; i < t->rank - 1; i++)
		if (t->dim_order[i] != i + 1)
			return false;
	return true;
}

void tensor_set_channels_last(struct tensor *t)
{
	for (int i = 1; i < t->rank; i++)
		t->dim_order[i] = (uint8_t)(i == t->rank - 1 ? 1 : i + 1);
	tensor_set_strides(t);
}

void call_outs(struct call *c, int n)
{
	struct tensor *t;

	if (n == c->nouts)
		return;
	t = arena_array(c->scratch, (size_t)n, sizeof *t);
	c->out = arena_array(c->scratch, (size_t)n, sizeof *c->out);
	c->nouts = n;
	for (int i = 0; i < n; i++)
		c->out[i] = &t[i];
}

bool call_sizes_ok(const struct call *c, enum dtype t, int rank, const int64_t *size, struct error *err)
{
	size_t bytes;

	if (rank > MAX_RANK)
		return call_fail(c, err, "the result would have rank %d, at most %d is possible", rank, MAX_RANK);
	for (int d = 0; d < rank; d++)
		if (size[d] < 0)
			return call_fail(c, err, "the result would have size %lld in dimension %d",
					 (long long)size[d], d);
	return dtype_tensor_bytes(t, rank, size, &bytes) || call_fail(c, err, "the result is too large");
}

/* The stride of dimension d of the result in operand t: 0 where broadcast. */
static int64_t stride_in(const struct tensor *t, const struct tensor *out, int d)
{
	int at = d - (out->rank - t->rank);

	return at < 0 || (t->size[at] == 1 && out->size[d] != 1) ? 0 : t->stride[at];
}

/* Should dimension a lie inside (after) b? >0 yes, <0 no, 0 the operands do not say. */
static int compare_dims(struct tensor *const *t, int n, const struct tensor *out, int a, int b)
{
	for (int k = 0; k < n; k++) {
		int64_t sa = stride_in(t[k], out, a), sb = stride_in(t[k], out, b);

		if (!sa || !sb)
			continue;
		if (sa != sb)
			return sa < sb ? -1 : 1;
		if (out->size[a] > out->size[b])
			return 1;
	}
	return 0;
}

static void choose_dim_order(struct tensor *const *t, int n, struct tensor *out)
{
	int perm[MAX_RANK];	/* innermost first */

	for (int d = 0; d < out->rank; d++)
		perm[d] = out->rank - 1 - d;
	for (int i = 1; i < out->rank; i++)
		for (int at = i, j = i - 1; j >= 0; j--) {
			int cmp = compare_dims(t, n, out, perm[j], perm[at]);

			if (cmp < 0)
				break;
			if (cmp > 0) {
				int swap = perm[j];

				perm[j] = perm[at];
				perm[at] = swap;
				at = j;
			}
		}
	for (int d = 0; d < out->rank; d++)
		out->dim_order[d] = (uint8_t)perm[out->rank - 1 - d];
	tensor_set_strides(out);
}

bool call_broadcast(const struct call *c, const char *args, enum dtype dtype, struct tensor *out, struct error *err)
{
	struct tensor *in[10];
	int64_t size[MAX_RANK];
	int n = 0, rank = 0;

	for (; *args && n < 10; args++)
		if (stands_for_tensor(c, *args - '0'))
			in[n++] = c->arg[*args - '0'].tensor;
	for (int k = 0; k < n; k++)
		rank = in[k]->rank > rank ? in[k]->rank : rank;
	for (int d = 0; d < rank; d++) {
		size[d] = 1;
		for (int k = 0; k < n; k++) {
			int at = d - (rank - in[k]->rank);
			int64_t s = at < 0 ? 1 : in[k]->size[at];

			if (s != 1 && size[d] != 1 && s != size[d])
				return call_fail(c, err, "sizes %lld and %lld in dimension %d do not broadcast",
						 (long long)size[d], (long long)s, d);
			size[d] = s != 1 ? s : size[d];
		}
	}
	if (!call_sizes_ok(c, dtype, rank, size, err))
		return false;
	tensor_set_type(out, dtype, rank, size);
	choose_dim_order(in, n, out);
	return true;
}
