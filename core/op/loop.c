#include "core/op/loop.h"

#include <complex.h>
#include <string.h>

/* The nest */

void loop_start(struct loop *l, int rank, const int64_t *size)
{
	l->ntensors = l->lead = 0;
	l->free_order = false;
	l->rank = rank;
	memcpy(l->size, size, (size_t)rank * sizeof *size);
}

void loop_add(struct loop *l, const struct tensor *t)
{
	int k = l->ntensors++;

	for (int d = 0; d < l->rank; d++) {
		int at = d - (l->rank - t->rank);

		l->step[k][d] = at < 0 || t->size[at] == 1 ? 0 : t->stride[at];
	}
	l->width[k] = dtype_bytes(t->dtype);
	l->data[k] = t->data;
}

static int64_t magnitude(int64_t n)
{
	return n < 0 ? -n : n;
}

static void drop_dim(struct loop *l, int d)
{
	l->rank--;
	memmove(&l->size[d], &l->size[d + 1], (size_t)(l->rank - d) * sizeof *l->size);
	for (int k = 0; k < l->ntensors; k++)
		memmove(&l->step[k][d], &l->step[k][d + 1], (size_t)(l->rank - d) * sizeof *l->step[k]);
}

static void swap_dims(struct loop *l, int a, int b)
{
	int64_t s = l->size[a];

	l->size[a] = l->size[b];
	l->size[b] = s;
	for (int k = 0; k < l->ntensors; k++) {
		s = l->step[k][a];
		l->step[k][a] = l->step[k][b];
		l->step[k][b] = s;
	}
}

/* Is a walk over d, d + 1 one walk with d + 1's step, for every tensor? */
static bool dims_merge(const struct loop *l, int d)
{
	for (int k = 0; k < l->ntensors; k++)
		if (l->step[k][d] != l->step[k][d + 1] * l->size[d + 1])
			return false;
	return true;
}

static void loop_merge(struct loop *l)
{
	for (int d = l->rank - 1; d >= 0; d--)
		if (l->size[d] == 1)
			drop_dim(l, d);
	for (int i = 1; i < l->rank; i++)	/* outermost first; stable */
		for (int d = i; d > 0 && magnitude(l->step[l->lead][d - 1]) < magnitude(l->step[l->lead][d]); d--)
			swap_dims(l, d - 1, d);
	for (int d = l->rank - 2; d >= 0; d--)
		if (dims_merge(l, d)) {
			l->size[d + 1] *= l->size[d];
			drop_dim(l, d);
		}
	if (l->free_order && l->rank > 1 && l->size[l->rank - 1] < 8 && l->size[l->rank - 2] > 2 * l->size[l->rank - 1])
		swap_dims(l, l->rank - 2, l->rank - 1);
}

/* Next place in the dimensions outside d: false at the end. */
static bool advance(const struct loop *l, int64_t *index, char **p, int d)
{
	for (; d >= 0; d--) {
		bool wraps = ++index[d] == l->size[d];

		for (int k = 0; k < l->ntensors; k++)
			p[k] += (wraps ? l->step[k][d] * (1 - l->size[d]) : l->step[k][d]) * (int64_t)l->width[k];
		if (!wraps)
			return true;
		index[d] = 0;
	}
	return false;
}

void loop_run(struct loop *l, loop_fn *f, void *ctx)
{
	int64_t index[MAX_RANK] = { 0 }, step[LOOP_MAX] = { 0 }, next[LOOP_MAX] = { 0 }, rows = 1, n = 1;
	char *p[LOOP_MAX], *q[LOOP_MAX];
	int last;

	for (int d = 0; d < l->rank; d++)
		if (!l->size[d])
			return;
	loop_merge(l);
	memcpy(p, l->data, sizeof p);
	last = l->rank - 1;
	for (int k = 0; k < l->ntensors && last >= 0; k++) {
		step[k] = l->step[k][last];
		next[k] = last ? l->step[k][last - 1] * (int64_t)l->width[k] : 0;
	}
	n = last >= 0 ? l->size[last] : 1;
	rows = last > 0 ? l->size[last - 1] : 1;
	do {
		memcpy(q, p, sizeof q);
		for (int64_t i = 0; i < rows; i++) {
			f(ctx, q, step, n);
			for (int k = 0; k < LOOP_MAX; k++)
				q[k] += next[k];
		}
	} while (advance(l, index, p, last - 2));
}

/* Conversion */

enum kind kind_of(enum dtype t)
{
	if (dtype_in(t, DTYPES_COMPLEX))
		return KIND_C128;
	return t == DTYPE_F64 ? KIND_F64 : dtype_is_float(t) ? KIND_F32 : KIND_I64;
}

enum dtype kind_dtype(enum kind k)
{
	static const enum dtype type[] = { DTYPE_F32, DTYPE_F64, DTYPE_I64, DTYPE_BOOL, DTYPE_I32, DTYPE_C128 };

	return type[k];
}

/* One loop for rows side by side, which vectorises, and one for the rest. */
#define EACH(step, n, at, statement) \
	if ((step) == 1) \
		for (int64_t i = 0; i < (n); i++) { const int64_t at = i; statement; } \
	else \
		for (int64_t i = 0; i < (n); i++) { const int64_t at = i * (step); statement; }

#define LOAD(T, expr) { const T *s = src; EACH(step, n, at, d[i] = (expr)) } break
#define DEFINE_LOAD(name, D) \
static void name(void *dst, enum dtype t, const void *src, int64_t step, int64_t n) \
{ \
	D *d = dst; \
 \
	switch ((int)t) { \
	case DTYPE_U8: case DTYPE_QU8: LOAD(uint8_t, (D)s[at]); \
	case DTYPE_I8: case DTYPE_QI8: LOAD(int8_t, (D)s[at]); \
	case DTYPE_I16: LOAD(int16_t, (D)s[at]); \
	case DTYPE_I32: case DTYPE_QI32: LOAD(int32_t, (D)s[at]); \
	case DTYPE_I64: LOAD(int64_t, (D)s[at]); \
	case DTYPE_F16: LOAD(uint16_t, (D)half_to_float(s[at])); \
	case DTYPE_F32: LOAD(float, (D)s[at]); \
	case DTYPE_F64: LOAD(double, (D)s[at]); \
	case DTYPE_BOOL: LOAD(uint8_t, (D)(s[at] != 0)); \
	case DTYPE_BF16: LOAD(uint16_t, (D)bf16_to_float(s[at])); \
	case DTYPE_U16: LOAD(uint16_t, (D)s[at]); \
	case DTYPE_U32: LOAD(uint32_t, (D)s[at]); \
	case DTYPE_U64: LOAD(uint64_t, (D)s[at]); \
	} \
}
static void load_bool(void *dst, enum dtype t, const void *src, int64_t step, int64_t n)
{
	uint8_t *d = dst;

	switch ((int)t) {
	case DTYPE_U8: case DTYPE_I8: case DTYPE_BOOL: LOAD(uint8_t, s[at] != 0);
	case DTYPE_I16: case DTYPE_U16: LOAD(uint16_t, s[at] != 0);
	case DTYPE_I32: case DTYPE_U32: LOAD(uint32_t, s[at] != 0);
	case DTYPE_I64: case DTYPE_U64: LOAD(uint64_t, s[at] != 0);
	case DTYPE_F16: case DTYPE_BF16: LOAD(uint16_t, (s[at] & 0x7fff) != 0);
	case DTYPE_F32: LOAD(float, s[at] != 0);
	case DTYPE_F64: LOAD(double, s[at] != 0);
	}
}
DEFINE_LOAD(load_f32, float)
DEFINE_LOAD(load_f64, double)
DEFINE_LOAD(load_i64, int64_t)
DEFINE_LOAD(load_i32, int32_t)

/* Small integers go through int32, as a C compiler does on the machines that stock kernels run on. */
#define STORE(T, expr) { T *d = dst; EACH(step, n, at, d[at] = (T)(expr)) } break
#define DEFINE_STORE(name, S, VIA) \
static void name(const void *src, enum dtype t, void *dst, int64_t step, int64_t n) \
{ \
	const S *s = src; \
 \
	switch ((int)t) { \
	case DTYPE_U8: case DTYPE_QU8: STORE(uint8_t, (VIA)s[i]); \
	case DTYPE_I8: case DTYPE_QI8: STORE(int8_t, (VIA)s[i]); \
	case DTYPE_I16: STORE(int16_t, (VIA)s[i]); \
	case DTYPE_I32: case DTYPE_QI32: STORE(int32_t, s[i]); \
	case DTYPE_I64: STORE(int64_t, s[i]); \
	case DTYPE_F16: STORE(uint16_t, half_from_float((float)s[i])); \
	case DTYPE_F32: STORE(float, s[i]); \
	case DTYPE_F64: STORE(double, s[i]); \
	case DTYPE_BOOL: STORE(uint8_t, s[i] != 0); \
	case DTYPE_BF16: STORE(uint16_t, bf16_from_float((float)s[i])); \
	case DTYPE_U16: STORE(uint16_t, (VIA)s[i]); \
	case DTYPE_U32: STORE(uint32_t, (int64_t)s[i]); \
	case DTYPE_U64: STORE(uint64_t, s[i]); \
	} \
}
DEFINE_STORE(store_f32, float, int32_t)
DEFINE_STORE(store_f64, double, int32_t)
DEFINE_STORE(store_i64, int64_t, int64_t)
DEFINE_STORE(store_i32, int32_t, int32_t)
DEFINE_STORE(store_bool, uint8_t, uint8_t)

/* Complex numbers: the parts of a complex dtype, or a real number with no imaginary part. Rare, so element by element. */

static enum dtype part_dtype(enum dtype t)
{
	return t == DTYPE_C32 ? DTYPE_F16 : t == DTYPE_C64 ? DTYPE_F32 : t == DTYPE_C128 ? DTYPE_F64 : t;
}

static void load_c128(void *dst, enum dtype t, const void *src, int64_t step, int64_t n)
{
	enum dtype part = part_dtype(t);
	double complex *d = dst;

	for (int64_t i = 0; i < n; i++) {
		double v[2] = { 0 };

		load_f64(v, part, (const char *)src + i * step * (int64_t)dtype_bytes(t), 1, part == t ? 1 : 2);
		d[i] = CMPLX(v[0], v[1]);
	}
}

static void store_c128(const void *src, enum dtype t, void *dst, int64_t step, int64_t n)
{
	enum dtype part = part_dtype(t);
	const double complex *s = src;

	for (int64_t i = 0; i < n; i++)
		store_f64((double[]){ creal(s[i]), cimag(s[i]) }, part, (char *)dst + i * step * (int64_t)dtype_bytes(t), 1,
			  part == t ? 1 : 2);
}

void kind_load(enum kind k, void *dst, enum dtype t, const void *src, int64_t step, int64_t n)
{
	static void (*const load[])(void *, enum dtype, const void *, int64_t, int64_t) = {
		load_f32, load_f64, load_i64, load_bool, load_i32, load_c128,
	};

	load[k](dst, t, src, step, n);
}

void kind_store(enum kind k, const void *src, enum dtype t, void *dst, int64_t step, int64_t n)
{
	static void (*const store[])(const void *, enum dtype, void *, int64_t, int64_t) = {
		store_f32, store_f64, store_i64, store_bool, store_i32, store_c128,
	};

	store[k](src, t, dst, step, n);
}

/* Elementwise */

struct map {
	row_fn *f;
	void *ctx;
	enum kind k, r;
	enum dtype out, in[LOOP_MAX];
	int nin;
};

/* Inputs that are rows of the right kind are read in place, the rest through a buffer; likewise the output. */
static void map_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	_Alignas(64) char buf[LOOP_MAX][LOOP_CHUNK * 8];
	struct map *m = ctx;
	const int64_t chunk = m->k == KIND_C128 ? LOOP_CHUNK / 2 : LOOP_CHUNK;
	const void *in[LOOP_MAX];
	bool direct_out = m->out == kind_dtype(m->r) && (step[0] == 1 || n == 1);

	for (int64_t at = 0; at < n; at += chunk) {
		int64_t len = n - at < chunk ? n - at : chunk;
		char *out = p[0] + at * step[0] * (int64_t)dtype_bytes(m->out);

		for (int k = 0; k < m->nin; k++) {
			const char *src = p[k + 1] + at * step[k + 1] * (int64_t)dtype_bytes(m->in[k]);

			in[k] = buf[k];
			if (m->in[k] == kind_dtype(m->k) && step[k + 1] == 1)
				in[k] = src;
			else if (step[k + 1] || !at)	/* a broadcast number is spread once */
				kind_load(m->k, buf[k], m->in[k], src, step[k + 1], len);
		}
		m->f(direct_out ? out : buf[LOOP_MAX - 1], in, len, m->ctx);
		if (!direct_out)
			kind_store(m->r, buf[LOOP_MAX - 1], m->out, out, step[0], len);
	}
}

static bool is_narrow(enum dtype t)
{
	return t == DTYPE_I32 || t == DTYPE_I16 || t == DTYPE_I8 || t == DTYPE_U8 || t == DTYPE_BOOL;
}

/* 32 bits are enough for integers that come from no more and go to no more: both wrap alike. */
static enum kind narrow_kind(row_fn *const *f, enum kind k, const struct tensor *out, struct tensor *const *in, int nin)
{
	bool narrow = k == KIND_I64 && f[KIND_I32] && is_narrow(out->dtype);

	for (int i = 0; i < nin; i++)
		narrow = narrow && is_narrow(in[i]->dtype);
	return narrow ? KIND_I32 : k;
}

void map_run(row_fn *const *f, enum kind k, enum kind r, void *ctx, struct tensor *out,
	     struct tensor *const *in, int nin)
{
	enum kind n = narrow_kind(f, k, out, in, nin);
	struct map m = { .f = f[n], .ctx = ctx, .k = n, .r = r == k ? n : r, .out = out->dtype, .nin = nin };
	struct loop l;

	loop_start(&l, out->rank, out->size);
	loop_add(&l, out);
	for (int i = 0; i < nin; i++) {
		loop_add(&l, in[i]);
		m.in[i] = in[i]->dtype;
	}
	loop_run(&l, map_row, &m);
}

/* Copies */

struct pair { uint64_t half[2]; };

#define COPY(T) { \
	T *d = (T *)p[0]; const T *s = (const T *)p[1]; \
	if (step[0] == 1 && !step[1]) { \
		const T v = *s; \
		for (int64_t i = 0; i < n; i++) d[i] = v; \
	} else { \
		for (int64_t i = 0; i < n; i++) d[i * step[0]] = s[i * step[1]]; \
	} } break

static void copy_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	size_t width = *(const size_t *)ctx;

	if (step[0] == 1 && step[1] == 1) {
		memcpy(p[0], p[1], (size_t)n * width);
		return;
	}
	switch (width) {
	case 1: COPY(uint8_t);
	case 2: COPY(uint16_t);
	case 4: COPY(uint32_t);
	case 8: COPY(uint64_t);
	case 16: COPY(struct pair);
	}
}

static void convert_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	_Alignas(64) char buf[LOOP_CHUNK * KIND_BYTES];
	const enum dtype *t = ctx;
	enum kind k = kind_of(t[0]) == KIND_C128 ? KIND_C128 : kind_of(t[1]);

	for (int64_t at = 0; at < n; at += LOOP_CHUNK) {
		int64_t len = n - at < LOOP_CHUNK ? n - at : LOOP_CHUNK;

		kind_load(k, buf, t[1], p[1] + at * step[1] * (int64_t)dtype_bytes(t[1]), step[1], len);
		kind_store(k, buf, t[0], p[0] + at * step[0] * (int64_t)dtype_bytes(t[0]), step[0], len);
	}
}

void tensor_copy(const struct tensor *dst, const struct tensor *src)
{
	enum dtype t[2] = { dst->dtype, src->dtype };
	size_t width = dtype_bytes(dst->dtype);
	struct loop l;

	loop_start(&l, dst->rank, dst->size);
	loop_add(&l, dst);
	loop_add(&l, src);
	l.free_order = true;
	if (t[0] == t[1])
		loop_run(&l, copy_row, &width);
	else
		loop_run(&l, convert_row, t);
}

void scalar_put(enum dtype t, void *at, const struct operand *v)
{
	static const enum dtype type[] = { [ARG_INT] = DTYPE_I64, [ARG_DOUBLE] = DTYPE_F64, [ARG_BOOL] = DTYPE_BOOL };
	enum dtype from = v->kind == ARG_VALUE ? v->tensor->dtype : type[v->kind];
	const void *src = v->kind == ARG_VALUE ? v->tensor->data : (const void *)&v->i;

	if (src && v->kind != ARG_NONE)
		convert_row((enum dtype[]){ t, from }, (char *[]){ at, (char *)src }, (int64_t[]){ 1, 1 }, 1);
}

struct tensor *call_operand(const struct call *c, int i, enum dtype t)
{
	struct tensor *n;

	if (!call_has(c, i) || (call_tensor(c, i) && strchr("Tt", c->op->schema[i])))
		return call_tensor(c, i);
	n = arena_alloc(c->scratch, sizeof *n);
	tensor_set_type(n, t, 0, NULL);
	n->data = arena_alloc(c->scratch, KIND_BYTES);
	n->capacity = KIND_BYTES;
	scalar_put(t, n->data, &c->arg[i]);
	return n;
}

void tensor_fill(const struct tensor *dst, const struct operand *value)
{
	struct tensor one = { .dtype = dst->dtype };
	char at[16] = { 0 };

	scalar_put(dst->dtype, at, value);
	one.data = at;
	tensor_copy(dst, &one);
}
