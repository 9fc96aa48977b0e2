#include "tests/opcase.h"

#include "core/op/kernel.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>

struct reader {
	const char *at;
	const char *why;	/* what was wrong with the line */
	struct arena mem;
};

static void space(struct reader *r)
{
	while (*r->at == ' ')
		r->at++;
}

static bool take(struct reader *r, const char *word)
{
	space(r);
	if (strncmp(r->at, word, strlen(word)))
		return false;
	r->at += strlen(word);
	return true;
}

static bool read_type(struct reader *r, enum dtype *t)
{
	for (int code = 0; code <= DTYPE_INT4; code++) {
		const char *name = dtype_name(code);
		size_t n = strlen(name);

		if (*name != '?' && !strncmp(r->at, name, n) && r->at[n] == '[') {
			*t = code;
			r->at += n + 1;
			return true;
		}
	}
	return false;
}

static int64_t offset_of(const struct tensor *t, int64_t i)
{
	int64_t offset = 0;

	for (int d = t->rank - 1; d >= 0; d--) {
		offset += i % t->size[d] * t->stride[d];
		i /= t->size[d];
	}
	return offset;
}

static void *tensor_memory(struct reader *r, const struct tensor *t)
{
	size_t bytes = 0;
	uint8_t *data;

	dtype_tensor_bytes(t->dtype, t->rank, t->size, &bytes);
	data = arena_try(&r->mem, bytes);	/* a block of its own: overruns show under ASan */
	memset(data, 0xa5, bytes);
	return data;
}

static void put_int4(struct tensor *t, int64_t i, int v)
{
	int64_t cols = t->size[t->rank - 1], at = i / cols * ((cols + 1) / 2) + i % cols / 2;
	uint8_t *b = (uint8_t *)t->data + at;

	*b = i % cols % 2 ? (uint8_t)((*b & 15) | (v + 8) << 4) : (uint8_t)(0x80 | (v + 8));
}

/* 64-bit integers do not go through double. */
static void put_number(struct reader *r, struct tensor *t, int64_t i)
{
	char *end;

	space(r);
	if (t->dtype == DTYPE_I64)
		((int64_t *)t->data)[offset_of(t, i)] = strtoll(r->at, &end, 10);
	else if (t->dtype == DTYPE_INT4)
		put_int4(t, i, (int)strtol(r->at, &end, 10));
	else
		dtype_put(t->dtype, t->data, (size_t)offset_of(t, i), strtod(r->at, &end));
	if (end == r->at)
		r->why = "a tensor has too few elements";
	r->at = end;
}

static bool is_complex(const struct tensor *t)
{
	return t->dtype == DTYPE_C32 || t->dtype == DTYPE_C64 || t->dtype == DTYPE_C128;
}

/* Complex numbers as pairs: one more dimension, the innermost. */
static struct tensor parts_of(const struct tensor *t)
{
	struct tensor p = *t;

	p.dtype = t->dtype == DTYPE_C32 ? DTYPE_F16 : t->dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
	for (int d = 0; d < t->rank; d++)
		p.stride[d] *= 2;
	p.size[p.rank] = 2;
	p.stride[p.rank++] = 1;
	return p;
}

static struct tensor *read_tensor(struct reader *r)
{
	struct tensor *t = arena_alloc(&r->mem, sizeof *t);

	if (!read_type(r, &t->dtype))
		return NULL;
	while (*r->at != ']') {
		char *end;

		t->dim_order[t->rank] = (uint8_t)t->rank;
		t->size[t->rank++] = strtoll(r->at, &end, 10);
		r->at = end + (*end == ',');
	}
	r->at++;
	if (*r->at == '@') {
		for (int d = 0; d < t->rank; d++)
			t->dim_order[d] = (uint8_t)(*++r->at - '0');
		r->at++;
	}
	tensor_set_strides(t);
	t->data = tensor_memory(r, t);
	if (is_complex(t)) {
		struct tensor parts = parts_of(t);

		for (int64_t i = 0; i < tensor_numel(&parts) && !r->why; i++)
			put_number(r, &parts, i);
		return t;
	}
	for (int64_t i = 0; i < tensor_numel(t) && !r->why; i++)
		put_number(r, t, i);
	return t;
}

static struct operand read_number(struct reader *r)
{
	size_t n = strcspn(r->at, " ;>,)\n");
	struct operand o = { .kind = ARG_INT };
	char *end;

	o.i = strtoll(r->at, &end, 10);
	if (end != r->at + n) {
		o.kind = ARG_DOUBLE;
		o.d = strtod(r->at, &end);
	}
	if (end != r->at + n || !n)
		r->why = "not a number";
	r->at += n;
	return o;
}

static struct operand read_operand(struct reader *r)
{
	struct operand o = { 0 };

	if (take(r, "none"))
		return o;
	if (take(r, "true") || take(r, "false")) {
		o.kind = ARG_BOOL;
		o.b = r->at[-2] == 'u';
		return o;
	}
	if (take(r, "'")) {
		size_t n = strcspn(r->at, "'");
		char *s = arena_alloc(&r->mem, n + 1);

		memcpy(s, r->at, n);
		r->at += n + 1;
		o.kind = ARG_STRING;
		o.s = s;
		return o;
	}
	if (take(r, "(")) {
		o.kind = ARG_LIST;
		o.list.at = arena_array(&r->mem, 64, sizeof *o.list.at);
		while (!take(r, ")") && !r->why && o.list.n < 64) {
			o.list.at[o.list.n++] = read_operand(r);
			take(r, ",");
		}
		return o;
	}
	o.tensor = read_tensor(r);
	o.kind = ARG_VALUE;
	return o.tensor ? o : read_number(r);
}

static void forget_data(struct reader *r, struct operand *o)
{
	if (o->kind == ARG_VALUE) {
		o->tensor = arena_copy(&r->mem, o->tensor, sizeof *o->tensor);
		o->tensor->data = NULL;
	}
	if (o->kind == ARG_LIST) {
		o->list.at = arena_copy(&r->mem, o->list.at, (size_t)o->list.n * sizeof *o->list.at);
		for (int i = 0; i < o->list.n; i++)
			forget_data(r, &o->list.at[i]);
	}
}

/* The same call on types alone, as when a graph is built: it must pass, and bound what comes of the run. */
static void check_bound(struct reader *r, const struct call *run)
{
	struct tensor out[64] = { { 0 } }, *outs[64];
	struct error err = { 0 };
	struct call c = *run;

	c.arg = arena_copy(&r->mem, run->arg, (size_t)c.nargs * sizeof *c.arg);
	c.nouts = op_nouts(c.op);
	c.out = outs;
	for (int i = 0; i < 64; i++)
		outs[i] = &out[i];
	for (int i = 0; i < c.nargs; i++)
		forget_data(r, &c.arg[i]);
	if (!c.op->shape(&c, &err)) {
		if (!strstr(err.text, "run time only"))
			r->why = "shape without data";
		return;
	}
	if (c.nouts != run->nouts)
		r->why = "number of results without data";
	for (int i = 0; i < c.nouts && !r->why; i++) {
		if (c.out[i]->dtype != run->out[i]->dtype || c.out[i]->rank != run->out[i]->rank)
			r->why = "type without data";
		for (int d = 0; d < c.out[i]->rank; d++)
			if (c.out[i]->size[d] < run->out[i]->size[d])
				r->why = "sizes without data";
	}
}

static bool call_line(struct reader *r, struct call *c, struct error *err)
{
	c->scratch = &r->mem;
	if (!c->op->shape(c, err))
		return false;
	check_bound(r, c);
	for (int i = 0; i < c->nouts; i++)
		c->out[i]->data = tensor_memory(r, c->out[i]);
	if (!c->op->kernel) {
		r->why = "no kernel";
		return true;
	}
	return c->op->kernel(c, err);
}

static double element(const struct tensor *t, int64_t i)
{
	return t->dtype == DTYPE_I64 ? (double)((const int64_t *)t->data)[offset_of(t, i)] :
				       dtype_get(t->dtype, t->data, (size_t)offset_of(t, i));
}

static double tolerance_of(enum dtype t)
{
	return t == DTYPE_F64 ? 1e-10 : t == DTYPE_F32 ? 2e-6 : t == DTYPE_F16 ? 2e-3 : t == DTYPE_BF16 ? 1.6e-2 : 0;
}

static void compare(struct reader *r, const struct tensor *got, const struct tensor *want, double tol)
{
	if (got->dtype != want->dtype || got->rank != want->rank) {
		r->why = "dtype or rank of a result";
		return;
	}
	for (int d = 0; d < want->rank; d++) {
		if (got->size[d] != want->size[d])
			r->why = "size of a result";
		if (got->dim_order[d] != want->dim_order[d])
			r->why = "dim order of a result";
	}
	if (is_complex(want) && !r->why) {
		struct tensor got_parts = parts_of(got), want_parts = parts_of(want);

		memcpy(got_parts.dim_order, want_parts.dim_order, sizeof want_parts.dim_order);
		compare(r, &got_parts, &want_parts, tol);
		return;
	}
	if (tol < 0)
		tol = tolerance_of(want->dtype);
	for (int64_t i = 0; i < tensor_numel(want) && !r->why; i++) {
		double a = element(got, i), b = element(want, i);

		if (a == b || (isnan(a) && isnan(b)))
			continue;
		if (!(fabs(a - b) <= tol * fmax(1, fabs(b)))) {
			print_message("element %lld is %.9g, expected %.9g\n", (long long)i, a, b);
			r->why = "an element of a result";
		}
	}
}

static void check_results(struct reader *r, struct call *c, double tol)
{
	struct tensor *result[64 + 32];
	int n = 0;

	for (int i = 0; i < c->nouts; i++)
		result[n++] = c->out[i];
	for (int i = 0; i < c->nargs; i++)
		if (op_writes(c->op, i))
			result[n++] = c->arg[i].tensor;
	for (int i = 0; !r->why && *r->at && *r->at != '\n'; i++) {
		struct operand want = read_operand(r);
		struct tensor *got = i < n ? result[i] : NULL;

		if (!want.tensor || !got)
			r->why = "results";
		else if (!r->why)
			compare(r, got, want.tensor, tol);
		take(r, ";");
		space(r);
	}
}

/* Arguments of a call of a row, and its results' places. */
struct line {
	struct call call;
	struct operand arg[32];
	struct tensor out[64], *outs[64];
	uint64_t seed;
	double tol;	/* negative: by dtype */
};

/* Reads up to the '>'; NULL, or what is wrong. */
static const char *read_line(struct reader *r, const char *text, struct line *l)
{
	struct call *c = &l->call;
	char name[128];
	int n = 0;

	*l = (struct line){ .call = { .arg = l->arg, .out = l->outs, .seed = &l->seed }, .seed = 1, .tol = -1 };
	r->at = text;
	if (take(r, "~"))
		l->tol = strtod(r->at, (char **)&r->at);
	if (sscanf(r->at, " %127s%n", name, &n) != 1 || !(c->op = op_find(name)))
		return "no such operator";
	r->at += n;
	while (take(r, ";") && !r->why && c->nargs < 32)
		c->arg[c->nargs++] = read_operand(r);
	if (!take(r, ">") || r->why)
		return r->why ? r->why : "syntax";
	if (c->nargs != op_nargs(c->op))
		return "number of arguments";
	for (c->nouts = 0; c->nouts < op_nouts(c->op); c->nouts++)
		l->outs[c->nouts] = &l->out[c->nouts];
	return NULL;
}

/* NULL: as expected. */
static const char *run_line(struct reader *r, const char *text, struct error *err)
{
	struct line l;
	const char *wrong = read_line(r, text, &l);
	bool ok;

	if (wrong)
		return wrong;
	ok = call_line(r, &l.call, err);
	if (take(r, "error"))
		return ok ? "it ran, an error was expected" : NULL;
	if (!ok)
		return err->text;
	space(r);
	check_results(r, &l.call, l.tol);
	return r->why;
}

void opcase_run(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t cap = 0;
	char *line = NULL;
	int wrong = 0, run = 0;

	assert_non_null(f);
	for (int at = 1; getline(&line, &cap, f) > 0; at++) {
		struct reader r = { 0 };
		struct error err = { 0 };
		const char *why;

		if (*line == '#' || *line == '\n')
			continue;
		why = run_line(&r, line, &err);
		run++;
		if (why && ++wrong < 20)
			print_message("%s:%d: %s: %.60s\n", path, at, why, line);
		arena_free(&r.mem);
	}
	free(line);
	fclose(f);
	assert_true(run > 0);
	assert_int_equal(wrong, 0);
}

/* The first tensor among arguments, or in a list of them. */
static const struct tensor *first_tensor(const struct operand *o, int n)
{
	const struct tensor *t = NULL;

	for (int i = 0; i < n && !t; i++)
		t = o[i].kind == ARG_VALUE ? o[i].tensor : o[i].kind == ARG_LIST ? first_tensor(o[i].list.at, o[i].list.n) : NULL;
	return t;
}

static void change_dtype(struct operand *o, int n, enum dtype from, enum dtype to)
{
	for (int i = 0; i < n; i++) {
		if (o[i].kind == ARG_VALUE && o[i].tensor->dtype == from)
			o[i].tensor->dtype = to;
		if (o[i].kind == ARG_LIST)
			change_dtype(o[i].list.at, o[i].list.n, from, to);
	}
}

/* Whether the row takes the line's types with one dtype in place of another. */
static bool takes(struct reader *r, const char *text, enum dtype from, enum dtype to)
{
	struct line l;
	struct error err = { 0 };

	read_line(r, text, &l);
	for (int i = 0; i < l.call.nargs; i++)
		forget_data(r, &l.call.arg[i]);
	change_dtype(l.arg, l.call.nargs, from, to);
	for (int i = 0; i < l.call.nargs && l.call.op->flags & OP_QUANTIZE; i++)	/* an argument tells the dtype again */
		if (op_arg_kind(l.call.op, i) == 'M' && l.arg[i].kind == ARG_INT && l.arg[i].i == (int64_t)from)
			l.arg[i].i = to;
	l.call.scratch = &r->mem;
	return l.call.op->shape(&l.call, &err);
}

void opcase_survey(const char *path, void (*seen)(const struct opcase *o, void *ctx), void *ctx)
{
	FILE *f = fopen(path, "r");
	size_t cap = 0;
	char *text = NULL;

	assert_non_null(f);
	while (getline(&text, &cap, f) > 0) {
		struct reader r = { 0 };
		struct line l;
		struct opcase o = { 0 };
		const struct tensor *first;

		if (*text == '#' || *text == '\n')
			continue;
		assert_null(read_line(&r, text, &l));
		o.op = l.call.op;
		o.works = !take(&r, "error");
		first = first_tensor(l.arg, l.call.nargs);
		for (int t = 0; first && o.works && t < DTYPE_CODES; t++)
			if (dtype_in(t, DTYPES_ALL) && takes(&r, text, first->dtype, t))
				o.taken |= UINT32_C(1) << t;
		if (first && o.works && first->dtype < DTYPE_CODES)
			o.given = UINT32_C(1) << first->dtype;
		seen(&o, ctx);
		arena_free(&r.mem);
	}
	free(text);
	fclose(f);
}
