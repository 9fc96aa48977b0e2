/* A trial of linears: the 2024 library's int4 kernels give wrong numbers on some CPUs (AVX-512 with VNNI and GFNI), and
 * its f16 kernels on those with AVX-512 FP16 in each whole tile of 64 outputs. So what has such weights is only run
 * after a small linear of that kind came out right. */
#include "core/xnn/live_define.h"

#include <math.h>

enum { ROWS = 3, IN = 64, OUT = 20, GROUP = 32 };

struct trial {
	float in[ROWS * IN + XNN_EXTRA_BYTES], out[ROWS * OUT + XNN_EXTRA_BYTES];
	int8_t weight[OUT * IN];
	uint8_t packed[OUT * IN];	/* as XNNPACK reads it: int8, or int4 two a byte */
	float scale[OUT * IN / GROUP];
	uint16_t scale_bf16[OUT * IN / GROUP];
};

static void fill(struct trial *t, bool int4)
{
	for (int i = 0; i < ROWS * IN; i++)
		t->in[i] = (float)(i * 37 % 101) / 50 - 1;
	for (int i = 0; i < OUT * IN; i++) {
		t->weight[i] = (int8_t)(int4 ? i * 29 % 16 - 8 : i * 29 % 255 - 127);
		if (int4)
			t->packed[i / 2] |= (uint8_t)((t->weight[i] + 8) << (i & 1 ? 4 : 0));
		else
			t->packed[i] = (uint8_t)t->weight[i];
	}
	for (int i = 0; i < OUT * IN / GROUP; i++) {
		t->scale[i] = 0.5f + (float)(i % 4) / 4;
		t->scale_bf16[i] = bf16_from_float(t->scale[i]);
	}
}

/* The activation loses at most half a step of 1/127 in each element. */
static bool is_right(const struct trial *t, enum xdatatype d)
{
	for (int r = 0; r < ROWS; r++)
		for (int o = 0; o < OUT; o++) {
			double sum = 0, size = 0;

			for (int i = 0; i < IN; i++) {
				double w = t->weight[o * IN + i] *
					   (double)t->scale[d == XD_QBINT4 ? (o * IN + i) / GROUP : o];

				sum += w * (double)t->in[r * IN + i];
				size += fabs(w);
			}
			if (!(fabs((double)t->out[r * OUT + o] - sum) < size / 64))
				return false;
		}
	return true;
}

static bool run(const struct xgraph *x, struct tensor *in, struct tensor *out, struct live_pool *pool, struct error *err)
{
	struct live *l;
	bool ok;

	if (!live_open_untried(&l, x, pool, err))
		return false;
	ok = live_run(l, (struct tensor *[]){ in, out }, 2, err);
	live_close(l);
	return ok;
}

static bool run_quantised(struct trial *t, enum xdatatype d, struct live_pool *pool, struct error *err)
{
	struct xvalue v[] = {
		{ .id = 0, .datatype = XD_FP32, .rank = 2, .dim = { ROWS, IN }, .flags = XFLAG_INPUT,
		  .external_id = 0 },
		{ .id = 1, .datatype = XD_QDINT8, .rank = 2, .dim = { ROWS, IN }, .external_id = XNONE,
		  .quant = XQ_TOKEN, .nonbatch_dims = 1 },
		{ .id = 2, .datatype = d, .rank = 2, .dim = { OUT, IN }, .external_id = XNONE,
		  .data = { t->packed, d == XD_QCINT8 ? OUT * IN : OUT * IN / 2 },
		  .quant = d == XD_QBINT4 ? XQ_GROUP : XQ_CHANNEL, .group_size = GROUP,
		  .scales = { d == XD_QBINT4 ? (const uint8_t *)t->scale_bf16 : (const uint8_t *)t->scale,
			      sizeof t->scale } },
		{ .id = 3, .datatype = XD_FP32, .rank = 2, .dim = { ROWS, OUT }, .flags = XFLAG_OUTPUT,
		  .external_id = 1 },
	};
	struct xnode n[] = { { .tag = X_CONVERT, .field = { 0, 1 } },
			     { .tag = X_FULLY_CONNECTED, .field = { 1, 2, XNONE, 3 } } };
	struct xgraph x = { .value = v, .nvalues = 4, .node = n, .nnodes = 2, .nexterns = 2 };
	struct tensor in = { .data = t->in, .capacity = sizeof t->in };
	struct tensor out = { .data = t->out, .capacity = sizeof t->out };

	tensor_set_type(&in, DTYPE_F32, 2, (const int64_t[]){ ROWS, IN });
	tensor_set_type(&out, DTYPE_F32, 2, (const int64_t[]){ ROWS, OUT });
	return run(&x, &in, &out, pool, err);
}

/* ---- f16 ---- */

struct half_trial { uint16_t in[ROWS * IN + XNN_EXTRA_BYTES], out[ROWS * LIVE_TRIAL_TILE + XNN_EXTRA_BYTES], weight[LIVE_TRIAL_TILE * IN]; };

static void fill_half(struct half_trial *t)
{
	for (int i = 0; i < ROWS * IN; i++)
		dtype_put(DTYPE_F16, t->in, (size_t)i, i * 37 % 101 / 50.0 - 1);
	for (int i = 0; i < LIVE_TRIAL_TILE * IN; i++)
		dtype_put(DTYPE_F16, t->weight, (size_t)i, i * 29 % 255 / 127.0 - 1);
}

/* Sums are kept in f16, so each may round anew. */
static bool half_is_right(const struct half_trial *t)
{
	for (int r = 0; r < ROWS; r++)
		for (int o = 0; o < LIVE_TRIAL_TILE; o++) {
			double sum = 0, size = 0;

			for (int i = 0; i < IN; i++) {
				double term = dtype_get(DTYPE_F16, t->in, (size_t)(r * IN + i)) *
					dtype_get(DTYPE_F16, t->weight, (size_t)(o * IN + i));

				sum += term;
				size += fabs(term);
			}
			if (!(fabs(dtype_get(DTYPE_F16, t->out, (size_t)(r * LIVE_TRIAL_TILE + o)) - sum) < size / 64))
				return false;
		}
	return true;
}

static bool run_half(struct half_trial *t, struct live_pool *pool, struct error *err)
{
	struct xvalue v[] = {
		{ .id = 0, .datatype = XD_FP16, .rank = 2, .dim = { ROWS, IN }, .flags = XFLAG_INPUT, .external_id = 0 },
		{ .id = 1, .datatype = XD_FP16, .rank = 2, .dim = { LIVE_TRIAL_TILE, IN }, .external_id = XNONE,
		  .data = { (const uint8_t *)t->weight, sizeof t->weight } },
		{ .id = 2, .datatype = XD_FP16, .rank = 2, .dim = { ROWS, LIVE_TRIAL_TILE }, .flags = XFLAG_OUTPUT, .external_id = 1 },
	};
	struct xnode n = { .tag = X_FULLY_CONNECTED, .field = { 0, 1, XNONE, 2 } };
	struct xgraph x = { .value = v, .nvalues = 3, .node = &n, .nnodes = 1, .nexterns = 2 };
	struct tensor in = { .data = t->in, .capacity = sizeof t->in }, out = { .data = t->out, .capacity = sizeof t->out };

	tensor_set_type(&in, DTYPE_F16, 2, (const int64_t[]){ ROWS, IN });
	tensor_set_type(&out, DTYPE_F16, 2, (const int64_t[]){ ROWS, LIVE_TRIAL_TILE });
	return run(&x, &in, &out, pool, err);
}

static bool try_half(struct live_pool *pool, struct error *err)
{
	struct half_trial *t = mem_alloc(sizeof *t);
	bool ok;

	fill_half(t);
	ok = run_half(t, pool, err) &&
	     (half_is_right(t) || error_set(err, ERROR_UNSUPPORTED, "this XNNPACK computes f16 products wrongly on this CPU"));
	mem_free(t);
	return ok;
}

static bool try_quantised(enum xdatatype d, struct live_pool *pool, struct error *err)
{
	struct trial *t = mem_alloc(sizeof *t);
	bool ok;

	fill(t, d != XD_QCINT8);
	ok = run_quantised(t, d, pool, err) &&
	     (is_right(t, d) || error_set(err, ERROR_UNSUPPORTED, "this XNNPACK computes %s weights wrongly on this CPU",
					  d == XD_QCINT8 ? "int8" : "int4"));
	mem_free(t);
	return ok;
}

bool live_trial(enum xdatatype d, struct live_pool *pool, struct error *err)
{
	return d == XD_FP16 ? try_half(pool, err) : try_quantised(d, pool, err);
}
