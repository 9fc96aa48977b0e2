#include "core/op/args.h"

#include <stdio.h>

static const struct operand *operand(const struct call *c, int i)
{
	return i >= 0 && i < c->nargs && c->arg[i].kind != ARG_NONE ? &c->arg[i] : NULL;
}

bool args_given(const struct call *c, int i)
{
	return operand(c, i);
}

struct tensor *args_tensor(const struct call *c, int i)
{
	const struct operand *o = operand(c, i);

	return o && o->kind == ARG_VALUE ? o->tensor : NULL;
}

static bool number(const struct operand *o, double *d, int64_t *i)
{
	switch (o->kind) {
	case ARG_INT: *i = o->i; *d = (double)o->i; return true;
	case ARG_BOOL: *i = o->b; *d = o->b; return true;
	case ARG_DOUBLE:
		*d = o->d;
		*i = o->d >= -9.2e18 && o->d <= 9.2e18 ? (int64_t)o->d : 0;
		return true;
	default: return false;
	}
}

double args_double(const struct call *c, int i, double otherwise)
{
	const struct operand *o = operand(c, i);
	int64_t n;
	double d;

	return o && number(o, &d, &n) ? d : otherwise;
}

int64_t args_int(const struct call *c, int i, int64_t otherwise)
{
	const struct operand *o = operand(c, i);
	int64_t n;
	double d;

	return o && number(o, &d, &n) ? n : otherwise;
}

bool args_bool(const struct call *c, int i, bool otherwise)
{
	return args_int(c, i, otherwise) != 0;
}

static bool numbers(const struct call *c, int i, int64_t *ints, double *doubles, int max, int *n, struct error *err)
{
	const struct operand *o = operand(c, i), *at = o;
	double d;
	int64_t v;

	*n = 0;
	if (!o)
		return true;
	*n = 1;
	if (o->kind == ARG_LIST) {
		at = o->list.at;
		*n = o->list.n;
	}
	if (*n > max)
		return args_fail(c, err, "argument %d holds %d numbers, at most %d fit", i, *n, max);
	for (int k = 0; k < *n; k++) {
		if (!number(&at[k], &d, &v))
			return args_fail(c, err, "argument %d is not a list of known numbers", i);
		if (ints)
			ints[k] = v;
		else
			doubles[k] = d;
	}
	return true;
}

bool args_ints(const struct call *c, int i, int64_t *at, int max, int *n, struct error *err)
{
	return numbers(c, i, at, NULL, max, n, err);
}

bool args_doubles(const struct call *c, int i, double *at, int max, int *n, struct error *err)
{
	return numbers(c, i, NULL, at, max, n, err);
}

bool args_fail(const struct call *c, struct error *err, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return error_set(err, ERROR_RUN, "%s: %s", c->op->name, text);
}
