#include "core/op/scan.h"

#include "core/op/clones.h"
#include "core/op/plain.h"

#include <string.h>

/* Functors: keep the best so far with its index. A NaN is better than all, and stays. */

typedef void best_fn(void *best, int64_t *index, const void *x, int64_t at, int64_t n);

enum { LANES = 16, BLOCK = 64 };

#define BEST(name, T, op) \
/* The best of n elements but NaN, and whether there is one */ \
CLONES static T name##_peak(const T *restrict p, int64_t n, bool *nan) \
{ \
	T lane[LANES], best = p[0]; \
	uint8_t bad[LANES] = { 0 }, any = 0; \
	int64_t i = 0; \
 \
	for (int l = 0; l < LANES; l++) \
		lane[l] = best; \
	for (; i + LANES <= n; i += LANES) \
		for (int l = 0; l < LANES; l++) { \
			lane[l] = p[i + l] op lane[l] ? p[i + l] : lane[l]; \
			bad[l] |= p[i + l] != p[i + l]; \
		} \
	for (int l = 0; l < LANES; l++) { \
		best = best != best || lane[l] op best ? lane[l] : best; \
		any |= bad[l]; \
	} \
	for (; i < n; i++) { \
		best = p[i] op best ? p[i] : best; \
		any |= p[i] != p[i]; \
	} \
	*nan = any || p[0] != p[0]; \
	return best; \
} \
/* The first place of a value that is there, or of a NaN */ \
CLONES static int64_t name##_find(const T *restrict p, int64_t n, T v, bool nan) \
{ \
	int64_t i = 0; \
 \
	for (; !nan && i + BLOCK <= n; i += BLOCK) { \
		uint8_t any = 0; \
 \
		for (int l = 0; l < BLOCK; l++) \
			any |= p[i + l] == v; \
		if (any) \
			break; \
	} \
	while (nan ? p[i] == p[i] : p[i] != v) \
		i++; \
	return i; \
} \
/* n elements, the first with index at, against one best */ \
static void name##_along(void *best, int64_t *index, const void *in, int64_t at, int64_t n) \
{ \
	T *b = best, peak; \
	bool nan; \
 \
	if (*b != *b) \
		return; \
	peak = name##_peak(in, n, &nan); \
	if (nan || peak op *b) { \
		*index = at + name##_find(in, n, peak, nan); \
		*b = ((const T *)in)[*index - at]; \
	} \
} \
/* n elements, all with index at, against n bests */ \
static void name##_across(void *best, int64_t *index, const void *in, int64_t at, int64_t n) \
{ \
	const T *restrict p = in; \
	T *restrict b = best; \
 \
	for (int64_t i = 0; i < n; i++) { \
		bool better = b[i] == b[i] && (p[i] != p[i] || p[i] op b[i]); \
 \
		b[i] = better ? p[i] : b[i]; \
		index[i] = better ? at : index[i]; \
	} \
}

struct chooser { best_fn *along[KINDS], *across[KINDS]; };

#define CHOOSER(name, op) \
BEST(name##_f32, float, op) \
BEST(name##_f64, double, op) \
BEST(name##_i64, int64_t, op) \
BEST(name##_i32, int32_t, op) \
static const struct chooser name = { \
	{ name##_f32_along, name##_f64_along, name##_i64_along, [KIND_I32] = name##_i32_along }, \
	{ name##_f32_across, name##_f64_across, name##_i64_across, [KIND_I32] = name##_i32_across } \
};
CHOOSER(largest, >)
CHOOSER(smallest, <)

/* Rows of outputs: tensors are self without the reduced dimension, the index, and the value (if wanted). */
struct choose_run {
	const struct chooser *f;
	enum dtype in;
	enum kind kind;
	int64_t size, stride;	/* of the reduced dimension */
	bool values;
};

static void choose_along(const struct choose_run *r, const char *in, void *best, int64_t *index)
{
	_Alignas(64) char buf[LOOP_CHUNK * 8];
	enum kind k = r->kind;
	int64_t width = (int64_t)dtype_bytes(r->in) * r->stride;

	kind_load(k, best, r->in, in, 1, 1);
	*index = 0;
	if (r->in == kind_dtype(k) && r->stride == 1) {
		r->f->along[k](best, index, in, 0, r->size);
		return;
	}
	for (int64_t at = 0; at < r->size; at += LOOP_CHUNK) {
		int64_t len = r->size - at < LOOP_CHUNK ? r->size - at : LOOP_CHUNK;

		kind_load(k, buf, r->in, in + at * width, r->stride, len);
		r->f->along[k](best, index, buf, at, len);
	}
}

static void choose_across(const struct choose_run *r, const char *in, void *best, int64_t *index, int64_t n)
{
	_Alignas(64) char buf[LOOP_CHUNK * 8];
	enum kind k = r->kind;
	int64_t width = (int64_t)dtype_bytes(r->in) * r->stride;

	kind_load(k, best, r->in, in, 1, n);
	memset(index, 0, (size_t)n * sizeof *index);
	for (int64_t at = 1; at < r->size; at++) {
		const void *x = in + at * width;

		if (r->in != kind_dtype(k)) {
			kind_load(k, buf, r->in, x, 1, n);
			x = buf;
		}
		r->f->across[k](best, index, x, at, n);
	}
}

static void choose_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	_Alignas(64) char best[LOOP_CHUNK * 8];
	int64_t index[LOOP_CHUNK];
	const struct choose_run *r = ctx;
	enum kind k = r->kind;
	int64_t width = (int64_t)dtype_bytes(r->in);
	int64_t chunk = step[0] == 1 && n >= 8 ? LOOP_CHUNK : 1;

	for (int64_t at = 0; at < n; at += chunk) {
		int64_t len = n - at < chunk ? n - at : chunk;

		if (chunk > 1)
			choose_across(r, p[0] + at * step[0] * width, best, index, len);
		else
			choose_along(r, p[0] + at * step[0] * width, best, index);
		kind_store(KIND_I64, index, DTYPE_I64, p[1] + at * step[1] * 8, step[1], len);
		if (r->values)
			kind_store(k, best, r->in, p[2] + at * step[2] * width, step[2], len);
	}
}

/* Argument 0 as seen when dimension dim is gone; dim < 0: all its elements in logical order are the dimension. */
static bool without_dim(struct call *c, struct tensor *in, int dim, struct choose_run *r, struct error *err)
{
	*in = *call_tensor(c, 0);
	if (dim < 0 && !tensor_is_default_order(in)) {
		struct tensor copy = *in;

		tensor_set_type(&copy, in->dtype, in->rank, in->size);
		copy.data = plain_scratch(c, tensor_numel(in), dtype_bytes(in->dtype), err);
		if (!copy.data)
			return false;
		tensor_copy(&copy, in);
		*in = copy;
	}
	r->size = dim < 0 ? tensor_numel(in) : in->rank ? in->size[dim] : 1;
	r->stride = dim < 0 || !in->rank ? 1 : in->stride[dim];
	for (int d = 0; d < in->rank; d++)
		if (dim < 0 || d == dim)
			in->size[d] = 1;
	return true;
}

/* An output as if it had kept the reduced dimension. */
static struct tensor with_dim(const struct tensor *out, int rank, int dim)
{
	struct tensor t = *out;

	for (int d = 0; d < rank && out->rank < rank; d++) {
		int from = d - (dim >= 0 && d > dim);

		t.size[d] = d == dim || dim < 0 ? 1 : out->size[from];
		t.stride[d] = d == dim || dim < 0 ? 0 : out->stride[from];
	}
	t.rank = rank;
	return t;
}

static bool choose(struct call *c, const struct chooser *f, struct tensor *index, struct tensor *value,
		   struct error *err)
{
	struct choose_run r = { .f = f, .in = call_tensor(c, 0)->dtype, .values = value };
	struct tensor in, out;
	struct loop l;
	int dim = -1;

	r.kind = r.in == DTYPE_I64 || dtype_is_float(r.in) ? kind_of(r.in) : KIND_I32;
	if (call_has(c, 1) && !call_dim(c, 1, call_tensor(c, 0)->rank, &dim, err))
		return false;
	if (!without_dim(c, &in, dim, &r, err))
		return false;
	loop_start(&l, in.rank, in.size);
	loop_add(&l, &in);
	out = with_dim(index, in.rank, dim);
	loop_add(&l, &out);
	if (value) {
		out = with_dim(value, in.rank, dim);
		loop_add(&l, &out);
	}
	loop_run(&l, choose_row, &r);
	return true;
}

static bool choose_shape(struct call *c, struct tensor *out, enum dtype t, struct error *err)
{
	const struct tensor *in = call_tensor(c, 0);
	bool reduced[MAX_RANK];
	int64_t n = 1;

	if (!call_dims(c, 1, in->rank, reduced, err))
		return false;
	for (int d = 0; d < in->rank; d++)
		n *= reduced[d] ? in->size[d] : 1;
	if (!n)
		return call_fail(c, err, "nothing to choose from: a reduced dimension has size 0");
	return scan_reduced_type(c, reduced, call_bool(c, 2, false), t, out, err);
}

bool scan_argmax_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && choose_shape(c, c->out[0], DTYPE_I64, err);
}

bool scan_argmax(struct call *c, struct error *err)
{
	return choose(c, &largest, c->out[0], NULL, err);
}

bool scan_argmin(struct call *c, struct error *err)
{
	return choose(c, &smallest, c->out[0], NULL, err);
}

bool scan_max_shape(struct call *c, struct error *err)
{
	return call_check(c, err) && choose_shape(c, c->out[0], call_tensor(c, 0)->dtype, err) &&
	       choose_shape(c, c->out[1], DTYPE_I64, err);
}

bool scan_max(struct call *c, struct error *err)
{
	return choose(c, &largest, c->out[1], c->out[0], err);
}

bool scan_min(struct call *c, struct error *err)
{
	return choose(c, &smallest, c->out[1], c->out[0], err);
}

/* Running sums */

bool scan_cumsum_shape(struct call *c, struct error *err)
{
	const struct tensor *in;
	enum dtype t;
	int d;

	if (!call_check(c, err))
		return false;
	in = call_tensor(c, 0);
	t = call_dtype(c, 2, dtype_is_float(in->dtype) ? in->dtype : DTYPE_I64);
	if (!dtype_in(t, DTYPES_REALB))
		return call_fail(c, err, "cannot sum to %s", dtype_name(t));
	tensor_set_type(c->out[0], t, in->rank, in->size);
	return call_dim(c, 1, in->rank, &d, err);
}

struct cumsum_run {
	enum dtype in, out;
	int64_t size, in_stride, out_stride;
};

static float round_as(enum dtype t, float v)
{
	if (t == DTYPE_F16)
		return half_to_float(half_from_float(v));
	return t == DTYPE_BF16 ? bf16_to_float(bf16_from_float(v)) : v;
}

/* n lines, of which the next starts so many bytes on. Sums of halves are rounded at every step, as in stock kernels. */
typedef void cumsum_fn(const struct cumsum_run *r, const char *in, int64_t in_next, char *out, int64_t out_next,
		       int64_t n);

#define CUMSUM(name, T, kind, ROUND) \
static void name##_plain(const struct cumsum_run *r, const char *in, int64_t in_next, char *out, int64_t out_next, \
			 int64_t n) \
{ \
	for (; n > 0; n--, in += in_next, out += out_next) { \
		const T *p = (const T *)in; \
		T *q = (T *)out, sum = *p; \
 \
		*q = sum; \
		for (int64_t i = 1; i < r->size; i++) \
			q[i * r->out_stride] = sum = p[i * r->in_stride] + sum; \
	} \
} \
static void name(const struct cumsum_run *r, const char *in, int64_t in_next, char *out, int64_t out_next, int64_t n) \
{ \
	int64_t in_step = r->in_stride * (int64_t)dtype_bytes(r->in); \
	int64_t out_step = r->out_stride * (int64_t)dtype_bytes(r->out); \
	T x[LOOP_CHUNK]; \
 \
	for (; n > 0; n--, in += in_next, out += out_next) { \
		T sum = 0; \
 \
		for (int64_t at = 0; at < r->size; at += LOOP_CHUNK) { \
			int64_t len = r->size - at < LOOP_CHUNK ? r->size - at : LOOP_CHUNK; \
 \
			kind_load(kind, x, r->in, in + at * in_step, r->in_stride, len); \
			for (int64_t i = 0; i < len; i++) \
				x[i] = sum = (T)ROUND(at + i ? x[i] + sum : x[i]); \
			kind_store(kind, x, r->out, out + at * out_step, r->out_stride, len); \
		} \
	} \
}
#define ROUND_HALVES(v) (r->out == DTYPE_F32 ? (v) : round_as(r->out, v))
CUMSUM(cumsum_f32, float, KIND_F32, ROUND_HALVES)
CUMSUM(cumsum_f64, double, KIND_F64, )
CUMSUM(cumsum_i64, uint64_t, KIND_I64, )

static void cumsum_row(void *ctx, char *const *p, const int64_t *step, int64_t n)
{
	static cumsum_fn *const sum[] = { cumsum_f32, cumsum_f64, cumsum_i64 };
	static cumsum_fn *const plain[] = { cumsum_f32_plain, cumsum_f64_plain, cumsum_i64_plain };
	const struct cumsum_run *r = ctx;
	enum kind k = kind_of(r->out);
	bool is_plain = r->in == r->out && r->out == kind_dtype(k);

	if (r->size)
		(is_plain ? plain : sum)[k](r, p[1], step[1] * (int64_t)dtype_bytes(r->in), p[0],
					    step[0] * (int64_t)dtype_bytes(r->out), n);
}

ROW2(add_f32, float, float, x + y)
ROW2(add_f64, double, double, x + y)
ROW2(add_i64, int64_t, int64_t, (uint64_t)x + (uint64_t)y)

/* Slice by slice: each is the slice before and one more of self. For dimensions that are not the innermost. */
static void cumsum_slices(struct tensor out, struct tensor in, int d)
{
	static row_fn *const add[KINDS] = { add_f32, add_f64, add_i64 };
	enum kind k = kind_of(out.dtype);
	int64_t n = in.size[d], in_step = in.stride[d] * (int64_t)dtype_bytes(in.dtype);
	int64_t out_step = out.stride[d] * (int64_t)dtype_bytes(out.dtype);

	in.size[d] = out.size[d] = 1;
	for (int64_t i = 0; i < n; i++) {
		struct tensor before = out;

		if (!i) {
			tensor_copy(&out, &in);
			continue;
		}
		in.data = (char *)in.data + in_step;
		out.data = (char *)out.data + out_step;
		map_run(add, k, k, NULL, &out, (struct tensor *[]){ &in, &before }, 2);
	}
}

bool scan_cumsum(struct call *c, struct error *err)
{
	struct cumsum_run r = { .in = call_tensor(c, 0)->dtype, .out = c->out[0]->dtype };
	struct tensor in = *call_tensor(c, 0), out = *c->out[0];
	struct loop l;
	int d;

	if (!call_dim(c, 1, in.rank, &d, err))
		return false;
	if (in.rank && in.stride[d] >= 64) {
		cumsum_slices(out, in, d);
		return true;
	}
	r.size = in.rank ? in.size[d] : 1;
	r.in_stride = in.rank ? in.stride[d] : 1;
	r.out_stride = in.rank ? out.stride[d] : 1;
	if (in.rank)
		in.size[d] = out.size[d] = in.size[d] ? 1 : 0;
	loop_start(&l, in.rank, in.size);
	loop_add(&l, &out);
	loop_add(&l, &in);
	loop_run(&l, cumsum_row, &r);
	return true;
}
