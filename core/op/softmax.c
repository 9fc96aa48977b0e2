/* softmax and log_softmax. Computed in float (double for f64), sums in sixteen lanes.
 *
 * The stock kernels take a channels-last input and walk its memory as if the order were the default one: over another
 * dimension than was asked for. That is what a program gets there, and so here. */
#include "core/op/clones.h"
#include "core/op/plain.h"
#include "core/op/vmath.h"

#include <math.h>
#include <string.h>

static bool softmax_shape(struct call *c, struct error *err)
{
	int dim;

	if (!call_check(c, err) || !call_image_order(c, 0, err) ||
	    !call_dim(c, 1, call_tensor(c, 0)->rank, &dim, err))
		return false;
	if (call_bool(c, 2, false))
		return call_fail(c, err, "half_to_float is not supported on CPUs");
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

#define EXP(T) _Generic((T)0, float: vmath_expf, double: exp)
#define LOG(T) _Generic((T)0, float: logf, double: log)

/* In sixteen lanes, whose order of adding up is the same on every machine. */
#define ROW_MAX_BODY(T) \
	T lane[16], max = x[0]; \
	int64_t j = 0; \
	for (int l = 0; l < 16; l++) \
		lane[l] = x[0]; \
	for (; j + 16 <= n; j += 16) \
		for (int l = 0; l < 16; l++) \
			lane[l] = x[j + l] < lane[l] ? lane[l] : x[j + l]; \
	for (int l = 0; l < 16; l++) \
		max = lane[l] < max ? max : lane[l]; \
	for (; j < n; j++) \
		max = x[j] < max ? max : x[j]; \
	return max;

#define ROW_SUM_BODY(T) \
	T lane[16] = { 0 }, sum = 0; \
	int64_t j = 0; \
	for (; j + 16 <= n; j += 16) \
		for (int l = 0; l < 16; l++) \
			lane[l] += x[j + l]; \
	for (; j < n; j++) \
		lane[j & 15] += x[j]; \
	for (int l = 0; l < 16; l++) \
		sum += lane[l]; \
	return sum;

CLONES static float row_max_f32(const float *x, int64_t n) { ROW_MAX_BODY(float) }
CLONES static float row_sum_f32(const float *x, int64_t n) { ROW_SUM_BODY(float) }
CLONES static double row_max_f64(const double *x, int64_t n) { ROW_MAX_BODY(double) }
CLONES static double row_sum_f64(const double *x, int64_t n) { ROW_SUM_BODY(double) }

/* Scratch: n results of exp, for log_softmax, which does not keep them. */
#define SOFTMAX_ROW_BODY(T, SFX) \
	T max = row_max_##SFX(x, n), sum; \
	T *e = logs ? scratch : y; \
	for (int64_t j = 0; j < n; j++) \
		e[j] = EXP(T)(x[j] - max); \
	sum = row_sum_##SFX(e, n); \
	if (logs) \
		sum = LOG(T)(sum); \
	if (logs) \
		for (int64_t j = 0; j < n; j++) \
			y[j] = x[j] - max - sum; \
	else \
		for (int64_t j = 0; j < n; j++) \
			y[j] = e[j] / sum;

/* The same for INNER columns side by side; scratch holds their maxima and sums. */
#define SOFTMAX_COLUMNS_BODY(T) \
	T *max = scratch, *sum = max + inner; \
	memcpy(max, x, (size_t)inner * sizeof(T)); \
	memset(sum, 0, (size_t)inner * sizeof(T)); \
	for (int64_t i = 1; i < n; i++) \
		for (int64_t j = 0; j < inner; j++) \
			max[j] = x[i * inner + j] < max[j] ? max[j] : x[i * inner + j]; \
	for (int64_t i = 0; i < n; i++) \
		for (int64_t j = 0; j < inner; j++) { \
			T e = EXP(T)(x[i * inner + j] - max[j]); \
			sum[j] += e; \
			y[i * inner + j] = logs ? x[i * inner + j] - max[j] : e; \
		} \
	for (int64_t j = 0; j < inner && logs; j++) \
		sum[j] = LOG(T)(sum[j]); \
	for (int64_t i = 0; i < n; i++) \
		for (int64_t j = 0; j < inner; j++) \
			y[i * inner + j] = logs ? y[i * inner + j] - sum[j] : y[i * inner + j] / sum[j];

CLONES static void softmax_row_f32(const float *restrict x, int64_t n, float *restrict y, float *restrict scratch, bool logs)
{
	SOFTMAX_ROW_BODY(float, f32)
}

CLONES static void softmax_columns_f32(const float *restrict x, int64_t n, int64_t inner, float *restrict y,
				       float *restrict scratch, bool logs)
{
	SOFTMAX_COLUMNS_BODY(float)
}

static void softmax_row_f64(const double *restrict x, int64_t n, double *restrict y, double *restrict scratch, bool logs)
{
	SOFTMAX_ROW_BODY(double, f64)
}

static void softmax_columns_f64(const double *restrict x, int64_t n, int64_t inner, double *restrict y,
				double *restrict scratch, bool logs)
{
	SOFTMAX_COLUMNS_BODY(double)
}

static void softmax_slab(enum kind k, const void *x, int64_t n, int64_t inner, void *y, void *scratch, bool logs)
{
	if (inner == 1 && k == KIND_F32)
		softmax_row_f32(x, n, y, scratch, logs);
	else if (inner == 1)
		softmax_row_f64(x, n, y, scratch, logs);
	else if (k == KIND_F32)
		softmax_columns_f32(x, n, inner, y, scratch, logs);
	else
		softmax_columns_f64(x, n, inner, y, scratch, logs);
}

/* The memory of a tensor as if it had the default order. */
static struct tensor as_default(const struct tensor *t)
{
	struct tensor flat = { .data = t->data };

	tensor_set_type(&flat, t->dtype, t->rank, t->size);
	return flat;
}

static bool softmax_run(struct call *c, bool logs, struct error *err)
{
	struct tensor in = as_default(call_tensor(c, 0)), out = as_default(c->out[0]);
	enum kind k = kind_of(in.dtype);
	const char *x = plain_read(c, &in, k, err);
	char *y = plain_out(c, &out, k, err), *scratch;
	int64_t n, inner, slab;
	int dim;

	if (!x || !y || !call_dim(c, 1, in.rank, &dim, err))
		return false;
	n = in.rank ? in.size[dim] : 1;
	inner = in.rank ? dtype_numel(in.rank - dim - 1, in.size + dim + 1) : 1;
	slab = n * inner;
	scratch = plain_alloc(c, k, n > 2 * inner ? n : 2 * inner, err);
	if (!scratch)
		return false;
	for (int64_t i = 0; slab && i < tensor_numel(&in) / slab; i++)
		softmax_slab(k, x + (size_t)(i * slab) * kind_bytes(k), n, inner, y + (size_t)(i * slab) * kind_bytes(k),
			     scratch, logs);
	plain_store(&out, k, y);
	return true;
}

static bool softmax_kernel(struct call *c, struct error *err)
{
	return softmax_run(c, false, err);
}

static bool log_softmax_kernel(struct call *c, struct error *err)
{
	return softmax_run(c, true, err);
}

const struct op op_softmax[] = {
	{ "aten._log_softmax.default", "aten::_log_softmax.out", "TIB>T", "self, dim, half_to_float", DTYPES_FLOAT,
	  0, softmax_shape, log_softmax_kernel },
	{ "aten._softmax.default", "aten::_softmax.out", "TIB>T", "self, dim, half_to_float", DTYPES_FLOAT, 0,
	  softmax_shape, softmax_kernel },
	{ 0 },
};
