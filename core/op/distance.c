/* Distances between rows: _cdist_forward (x1, x2, p, compute_mode) and _pdist_forward (self, p). The norms of stock:
 * p = 0 counts what differs, 1, 2 and infinity go without pow. */
#include "core/op/clones.h"
#include "core/op/plain.h"

#include <math.h>

static bool check_p(struct call *c, int i, struct error *err)
{
	return call_known(c, i, err) && (call_double(c, i, 0) >= 0 || call_fail(c, err, "p must not be negative"));
}

/* Sizes of the dimensions before the last two, broadcast. */
static bool broadcast_batch(struct call *c, const struct tensor *a, const struct tensor *b, int *rank, int64_t *size,
			    struct error *err)
{
	*rank = a->rank > b->rank ? a->rank : b->rank;
	for (int d = 0; d < *rank - 2; d++) {
		int da = d - (*rank - a->rank), db = d - (*rank - b->rank);
		int64_t sa = da < 0 ? 1 : a->size[da], sb = db < 0 ? 1 : b->size[db];

		if (sa != sb && sa != 1 && sb != 1)
			return call_fail(c, err, "batches of %lld and %lld do not broadcast", (long long)sa, (long long)sb);
		size[d] = sa == 1 ? sb : sa;
	}
	return true;
}

static bool cdist_shape(struct call *c, struct error *err)
{
	struct tensor *a, *b;
	int64_t size[MAX_RANK], mode;
	int rank;

	if (!call_check(c, err) || !check_p(c, 2, err))
		return false;
	a = call_tensor(c, 0), b = call_tensor(c, 1), mode = call_int(c, 3, 0);
	if (a->dtype != b->dtype || a->rank < 2 || b->rank < 2 || a->size[a->rank - 1] != b->size[b->rank - 1])
		return call_fail(c, err, "operands must be matrices of one dtype with rows of one length");
	if (mode < 0 || mode > 2)
		return call_fail(c, err, "compute mode %lld is not one of 0, 1, 2", (long long)mode);
	if (!tensor_is_default_order(a) || !tensor_is_default_order(b))
		return call_fail(c, err, "operands must be in the default dim order");
	if (!broadcast_batch(c, a, b, &rank, size, err))
		return false;
	size[rank - 2] = a->size[a->rank - 2];
	size[rank - 1] = b->size[b->rank - 2];
	tensor_set_type(c->out[0], a->dtype, rank, size);
	return true;
}

static bool pdist_shape(struct call *c, struct error *err)
{
	struct tensor *in;
	int64_t n;

	if (!call_check(c, err) || !check_p(c, 1, err))
		return false;
	in = call_tensor(c, 0);
	if (in->rank != 2 || !tensor_is_default_order(in))
		return call_fail(c, err, "the input must be a matrix in the default dim order");
	n = in->size[0];
	if (n > INT32_MAX)
		return call_fail(c, err, "%lld rows are too many", (long long)n);
	tensor_set_type(c->out[0], in->dtype, 1, (int64_t[]){ n ? n * (n - 1) / 2 : 0 });
	return true;
}

/* Sums in eight lanes, the same on every machine. */
#define LANES(T, TERM) \
	do { \
		T lane[8] = { 0 }; \
		int64_t i = 0; \
		for (; i + 8 <= n; i += 8) \
			for (int l = 0; l < 8; l++) { \
				T d = a[i + l] - b[i + l]; \
				lane[l] += (TERM); \
			} \
		for (; i < n; i++) { \
			T d = a[i] - b[i]; \
			lane[i & 7] += (TERM); \
		} \
		for (int l = 0; l < 8; l++) \
			sum += lane[l]; \
	} while (0)

#define DISTANCE(T, name, abs_, pow_, sqrt_) \
CLONES static double name(const T *a, const T *b, int64_t n, double p) \
{ \
	T sum = 0; \
	if (p == 0) \
		LANES(T, d != 0); \
	else if (p == 1) \
		LANES(T, abs_(d)); \
	else if (p == 2) \
		LANES(T, d * d); \
	else if (isinf(p)) \
		for (int64_t i = 0; i < n; i++) { \
			T d = abs_(a[i] - b[i]); \
			sum = sum < d ? d : sum; \
		} \
	else \
		LANES(T, pow_(abs_(d), (T)p)); \
	return p == 2 ? sqrt_(sum) : p == 0 || p == 1 || isinf(p) ? sum : pow_(sum, (T)(1 / p)); \
}
DISTANCE(float, distance_f32, fabsf, powf, sqrtf)
DISTANCE(double, distance_f64, fabs, pow, sqrt)

/* From row i of a to row j of b, rows of n. */
static void put_distance(enum kind k, const void *a, int64_t i, const void *b, int64_t j, int64_t n, double p, void *out,
			 int64_t at)
{
	if (k == KIND_F32)
		((float *)out)[at] = (float)distance_f32((const float *)a + i * n, (const float *)b + j * n, n, p);
	else
		((double *)out)[at] = distance_f64((const double *)a + i * n, (const double *)b + j * n, n, p);
}

/* Which batch of a broadcast operand belongs to batch i of the output. */
static int64_t batch_of(const struct tensor *t, const struct tensor *out, int64_t i)
{
	int64_t at = 0, step = 1;

	for (int d = out->rank - 3, e = t->rank - 3; e >= 0; d--, e--) {
		if (t->size[e] != 1)
			at += i % out->size[d] * step;
		step *= t->size[e];
		i /= out->size[d];
	}
	return at;
}

static bool cdist_kernel(struct call *c, struct error *err)
{
	struct tensor *a = call_tensor(c, 0), *b = call_tensor(c, 1), *out = c->out[0];
	enum kind k = kind_of(a->dtype);
	const void *x = plain_read(c, a, k, err), *y = plain_read(c, b, k, err);
	void *o = plain_out(c, out, k, err);
	double p = call_double(c, 2, 0);
	int64_t rows = out->size[out->rank - 2], cols = out->size[out->rank - 1], n = a->size[a->rank - 1];

	if (!x || !y || !o)
		return false;
	for (int64_t at = 0; at < tensor_numel(out); ) {
		int64_t batch = at / (rows * cols), i = batch_of(a, out, batch) * rows, j = batch_of(b, out, batch) * cols;

		for (int64_t row = 0; row < rows; row++)
			for (int64_t col = 0; col < cols; col++)
				put_distance(k, x, i + row, y, j + col, n, p, o, at++);
	}
	plain_store(out, k, o);
	return true;
}

static bool pdist_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0);
	enum kind k = kind_of(in->dtype);
	const void *x = plain_read(c, in, k, err);
	void *o = plain_out(c, c->out[0], k, err);
	int64_t at = 0;

	if (!x || !o)
		return false;
	for (int64_t i = 0; i < in->size[0]; i++)
		for (int64_t j = i + 1; j < in->size[0]; j++)
			put_distance(k, x, i, x, j, in->size[1], call_double(c, 1, 0), o, at++);
	plain_store(c->out[0], k, o);
	return true;
}

const struct op op_distance[] = {
	{ "aten._cdist_forward.default", "aten::_cdist_forward.out", "TTDi>T", "x1, x2, p, compute_mode",
	  DTYPES_FLOAT, 0, cdist_shape, cdist_kernel },
	{ "aten._pdist_forward.default", "aten::_pdist_forward.out", "TD>T", "self, p", DTYPES_FLOAT, 0,
	  pdist_shape, pdist_kernel },
	{ 0 },
};
