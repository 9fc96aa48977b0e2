/* XNNPACK graphs on the library of this host: shapes that change, padding, and what it must not be asked. */
#include "core/xnn/live.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>

struct machine { struct live_pool *pool; struct live *live; };

static struct xvalue external(uint32_t id, uint32_t flags, uint32_t number, int rank, const uint32_t *dim)
{
	struct xvalue v = { .id = id, .datatype = XD_FP32, .rank = rank, .flags = flags, .external_id = number };

	memcpy(v.dim, dim, (size_t)rank * sizeof *dim);
	return v;
}

#define IN(id, ...) external(id, XFLAG_INPUT, id, (int)(sizeof(uint32_t[]){ __VA_ARGS__ } / 4), (uint32_t[]){ __VA_ARGS__ })
#define OUT(id, ...) external(id, XFLAG_OUTPUT, id, (int)(sizeof(uint32_t[]){ __VA_ARGS__ } / 4), (uint32_t[]){ __VA_ARGS__ })

static struct xvalue weight(uint32_t id, const float *data, int rank, const uint32_t *dim)
{
	struct xvalue v = external(id, 0, XNONE, rank, dim);

	v.data = (struct span){ (const uint8_t *)data, sizeof(float) };
	for (int d = 0; d < rank; d++)
		v.data.bytes *= dim[d];
	return v;
}

static struct machine start(const struct xgraph *x)
{
	struct machine m = { 0 };
	struct error err = { 0 };

	if (!live_supports(x, NULL, &err) || !live_pool_open(&m.pool, 1, &err) || !live_open(&m.live, x, m.pool, false, &err))
		fail_msg("%s", err.text);
	return m;
}

static void stop(struct machine m)
{
	live_close(m.live);
	live_pool_close(m.pool);
}

static struct tensor tensor(float *data, size_t floats, int rank, const int64_t *size)
{
	struct tensor t = { .data = data, .capacity = floats * sizeof *data };

	tensor_set_type(&t, DTYPE_F32, rank, size);
	return t;
}

/* y = relu(x W + b), W [2, 3] */
static const float w23[] = { 1, 2, 3, 4, 5, 6 }, b2[] = { 10, -100 };

static void shapes_may_change_from_run_to_run(void **state)
{
	struct xvalue v[] = { IN(0, 4, 3), OUT(1, 4, 2), weight(2, w23, 2, (uint32_t[]){ 2, 3 }), weight(3, b2, 1, (uint32_t[]){ 2 }) };
	struct xnode n = { .tag = X_FULLY_CONNECTED, .field = { 0, 2, 3, 1 }, .has_min_max = true, .max = INFINITY };
	struct xgraph x = { .value = v, .nvalues = 4, .node = &n, .nnodes = 1, .nexterns = 2 };
	struct machine m = start(&x);
	float in[16 + 4], out[16];
	struct error err = { 0 };

	for (int rows = 4; rows > 0; rows--) {
		struct tensor a = tensor(in, 20, 2, (int64_t[]){ rows, 3 }), b = tensor(out, 16, 2, (int64_t[]){ 9, 9 });

		for (int i = 0; i < 12; i++)
			in[i] = (float)i;
		if (!live_run(m.live, (struct tensor *[]){ &a, &b }, 2, &err))
			fail_msg("%s", err.text);
		assert_int_equal(b.size[0], rows);
		assert_int_equal(b.size[1], 2);
		for (int r = 0; r < rows; r++) {
			float *o = out + 2 * r, i = (float)(3 * r), sum = 1 * i + 2 * (i + 1) + 3 * (i + 2) + 10;

			assert_true(o[0] == sum);
			assert_true(o[1] == fmaxf(0, 4 * i + 5 * (i + 1) + 6 * (i + 2) - 100));
		}
		b.capacity = 4;		/* fails after the shapes were set; the next run must set them again */
		a.size[0] = 3;
		assert_false(live_run(m.live, (struct tensor *[]){ &a, &b }, 2, &err));
		b.capacity = sizeof out;
		assert_true(live_run(m.live, (struct tensor *[]){ &a, &b }, 2, &err));
		assert_int_equal(b.size[0], 3);
		assert_true(out[4] == 1 * 6 + 2 * 7 + 3 * 8 + 10);
	}
	stop(m);
}

/* An input whose memory ends with it is copied, for XNNPACK reads past it. */
static void inputs_may_end_with_their_memory(void **state)
{
	struct xvalue v[] = { IN(0, 1, 7), OUT(1, 1, 7) };
	struct xnode n = { .tag = X_TANH, .field = { 0, 1 } };
	struct xgraph x = { .value = v, .nvalues = 2, .node = &n, .nnodes = 1, .nexterns = 2 };
	struct machine m = start(&x);
	float *in = malloc(7 * sizeof *in), *out = malloc(7 * sizeof *out);
	struct tensor a = tensor(in, 7, 2, (int64_t[]){ 1, 7 }), b = tensor(out, 7, 2, (int64_t[]){ 1, 7 });
	struct error err = { 0 };

	for (int times = 0; times < 3; times++) {
		for (int i = 0; i < 7; i++)
			in[i] = (float)(i + times) / 4;
		assert_true(live_run(m.live, (struct tensor *[]){ &a, &b }, 2, &err));
		for (int i = 0; i < 7; i++)
			assert_true(fabsf(out[i] - tanhf(in[i])) < 1e-5f);
	}
	free(in);
	free(out);
	stop(m);
}

static void wrong_arguments_are_errors_of_the_run(void **state)
{
	struct xvalue v[] = { IN(0, 2, 3), IN(1, 2, 3), OUT(2, 2, 3) };
	struct xnode n = { .tag = X_ADD, .field = { 0, 1, 2 } };
	struct xgraph x = { .value = v, .nvalues = 3, .node = &n, .nnodes = 1, .nexterns = 3 };
	struct machine m = start(&x);
	float f[32] = { 0 }, out[16];
	struct tensor a = tensor(f, 32, 2, (int64_t[]){ 2, 3 }), b = tensor(f, 32, 2, (int64_t[]){ 4, 5 }), c = tensor(out, 16, 2, (int64_t[]){ 2, 3 });
	struct error err = { 0 };

	assert_false(live_run(m.live, (struct tensor *[]){ &a, &a }, 2, &err));
	assert_non_null(strstr(err.text, "takes 3 arguments"));
	assert_false(live_run(m.live, (struct tensor *[]){ &a, &b, &c }, 3, &err));	/* do not broadcast */
	c.capacity = 20;
	assert_false(live_run(m.live, (struct tensor *[]){ &a, &a, &c }, 3, &err));
	assert_non_null(strstr(err.text, "needs more than its 20 bytes"));
	c.capacity = sizeof out;
	f[4] = 2;
	assert_true(live_run(m.live, (struct tensor *[]){ &a, &a, &c }, 3, &err));	/* and it goes on working */
	assert_true(out[4] == 4);
	stop(m);
}

static void channels_last_tensors_are_seen_as_they_lie(void **state)
{
	struct xvalue v[] = { IN(0, 1, 2, 2, 3), OUT(1, 1, 1, 1, 3) };
	struct xnode n = { .tag = X_GLOBAL_AVG_POOLING_2D, .field = { 0, 1, 0x40 } };
	struct xgraph x = { .value = v, .nvalues = 2, .node = &n, .nnodes = 1, .nexterns = 2 };
	struct machine m = start(&x);
	float in[16] = { 1, 2, 3, 1, 2, 3, 1, 2, 3, 5, 6, 7 }, out[8];
	struct tensor a = tensor(in, 16, 4, (int64_t[]){ 1, 3, 2, 2 }), b = tensor(out, 8, 4, (int64_t[]){ 1, 3, 1, 1 });
	struct error err = { 0 };

	memcpy(a.dim_order, (uint8_t[]){ 0, 2, 3, 1 }, 4);
	memcpy(b.dim_order, (uint8_t[]){ 0, 2, 3, 1 }, 4);
	if (!live_run(m.live, (struct tensor *[]){ &a, &b }, 2, &err))
		fail_msg("%s", err.text);
	assert_int_equal(b.size[1], 3);
	assert_true(out[0] == 2 && out[1] == 3 && out[2] == 4);
	stop(m);
}

static void refused(const struct xgraph *x, const char *text)
{
	struct error err = { 0 };

	if (live_supports(x, NULL, &err) || !strstr(err.text, text))
		fail_msg("%s, expected: %s", err.text, text);
}

static void what_the_library_lacks_or_would_die_of(void **state)
{
	struct xvalue v[] = { IN(0, 1, 8, 8, 2), OUT(1, 1, 8, 8, 2), IN(2, 3, 3) };
	struct xnode n = { .tag = X_MAX_POOLING_2D, .field = { 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1 } };
	struct xgraph x = { .value = v, .nvalues = 3, .node = &n, .nnodes = 1, .nexterns = 3 };
	struct xlist swap = { (uint32_t[]){ 0, 2, 1 }, 3 }, twice = { (uint32_t[]){ 0, 1, 1, 3 }, 4 };

	refused(&x, "window of one element");
	n = (struct xnode){ .tag = X_MAX_POOLING_2D, .field = { 1, 1, 1, 1, 3, 3, 1, 1, 2, 2, 0, 1 } };
	refused(&x, "padding meets dilation");
	n = (struct xnode){ .tag = X_SDPA };
	refused(&x, "has no ScaledDotProductAttention");
	n = (struct xnode){ .tag = X_ADD, .field = { 0, 2, 1 } };
	refused(&x, "do not broadcast");
	n = (struct xnode){ .tag = X_ADD, .field = { 0, 99, 1 } };
	refused(&x, "not there");
	n = (struct xnode){ .tag = X_STATIC_TRANSPOSE, .field = { 3, 0, 0, 1 }, .list = { swap } };
	refused(&x, "3 numbers for 4 dimensions");
	n = (struct xnode){ .tag = X_STATIC_TRANSPOSE, .field = { 4, 0, 0, 1 }, .list = { twice } };
	refused(&x, "is none");
	n = (struct xnode){ .tag = X_CLAMP, .field = { 0, 1 }, .has_min_max = true, .min = 1, .max = 1 };
	refused(&x, "bounds");
	n = (struct xnode){ .tag = X_FULLY_CONNECTED, .field = { 0, 2, XNONE, 1 } };
	refused(&x, "do not fit");
	n = (struct xnode){ .tag = X_CONV2D, .field = { [XC_KERNEL_H] = 3, [XC_KERNEL_W] = 3, [XC_GROUPS] = 1, [XC_IN] = 0, [XC_FILTER] = 2,
		[XC_BIAS] = XNONE, [XC_OUT] = 1 } };
	refused(&x, "do not fit");
	v[0].datatype = XD_BF16;
	n = (struct xnode){ .tag = X_ABS, .field = { 0, 1 } };
	refused(&x, "bf16");
}

/* What the trial says must be true: if it passes, int4 linears of other sizes come out right. */
static void int4_is_right_or_refused(void **state)
{
	enum { ROWS = 5, WIDTH = 96, OUTS = 33 };
	static uint8_t packed[OUTS * WIDTH / 2];
	static uint16_t scale[OUTS * WIDTH / 32];
	static float in[ROWS * WIDTH + 4], out[ROWS * OUTS + 4];
	struct xvalue v[] = { IN(0, ROWS, WIDTH), OUT(1, ROWS, OUTS),
		{ .id = 2, .datatype = XD_QDINT8, .rank = 2, .dim = { ROWS, WIDTH }, .external_id = XNONE, .quant = XQ_TOKEN, .nonbatch_dims = 1 },
		{ .id = 3, .datatype = XD_QBINT4, .rank = 2, .dim = { OUTS, WIDTH }, .external_id = XNONE, .quant = XQ_GROUP, .group_size = 32,
		  .data = { packed, sizeof packed }, .scales = { (uint8_t *)scale, sizeof scale } } };
	struct xnode n[] = { { .tag = X_CONVERT, .field = { 0, 2 } }, { .tag = X_FULLY_CONNECTED, .field = { 2, 3, XNONE, 1 } } };
	struct xgraph x = { .value = v, .nvalues = 4, .node = n, .nnodes = 2, .nexterns = 2 };
	struct tensor a = tensor(in, ROWS * WIDTH + 4, 2, (int64_t[]){ ROWS, WIDTH }), b = tensor(out, ROWS * OUTS + 4, 2, (int64_t[]){ ROWS, OUTS });
	struct error err = { 0 };
	struct live_pool *pool;
	struct live *live;

	for (size_t i = 0; i < sizeof packed; i++)
		packed[i] = (uint8_t)(i * 7 % 251);
	for (size_t i = 0; i < sizeof scale / sizeof *scale; i++)
		scale[i] = bf16_from_float(0.25f + (float)(i % 3));
	for (int i = 0; i < ROWS * WIDTH; i++)
		in[i] = sinf((float)i);
	assert_true(live_pool_open(&pool, 1, &err));
	if (!live_open(&live, &x, pool, false, &err)) {
		assert_non_null(strstr(err.text, "int4 weights wrongly"));
		live_pool_close(pool);
		return;
	}
	assert_true(live_run(live, (struct tensor *[]){ &a, &b }, 2, &err));
	for (int r = 0; r < ROWS; r++)
		for (int o = 0; o < OUTS; o++) {
			double sum = 0, size = 0;

			for (int i = 0; i < WIDTH; i++) {
				int at = o * WIDTH + i, q = (packed[at / 2] >> (at & 1 ? 4 : 0) & 15) - 8;
				double w = q * (double)bf16_to_float(scale[at / 32]);

				sum += w * (double)in[r * WIDTH + i];
				size += fabs(w);
			}
			assert_true(fabs((double)out[r * OUTS + o] - sum) < size / 64);
		}
	live_close(live);
	live_pool_close(pool);
}

/* The same of f16: whole tiles of 64 outputs, and less. */
static void f16_is_right_or_refused(void **state)
{
	enum { ROWS = 5, WIDTH = 24, OUTS = 150 };
	static uint16_t weight[OUTS * WIDTH], in[ROWS * WIDTH + 16], out[ROWS * OUTS + 16];
	struct xvalue v[] = { IN(0, ROWS, WIDTH), OUT(1, ROWS, OUTS),
		{ .id = 2, .datatype = XD_FP16, .rank = 2, .dim = { OUTS, WIDTH }, .external_id = XNONE,
		  .data = { (uint8_t *)weight, sizeof weight } } };
	struct xnode n = { .tag = X_FULLY_CONNECTED, .field = { 0, 2, XNONE, 1 } };
	struct xgraph x = { .value = v, .nvalues = 3, .node = &n, .nnodes = 1, .nexterns = 2 };
	struct tensor a = { .data = in, .capacity = sizeof in }, b = { .data = out, .capacity = sizeof out };
	struct error err = { 0 };
	struct live_pool *pool;
	struct live *live;

	v[0].datatype = v[1].datatype = XD_FP16;
	tensor_set_type(&a, DTYPE_F16, 2, (int64_t[]){ ROWS, WIDTH });
	tensor_set_type(&b, DTYPE_F16, 2, (int64_t[]){ ROWS, OUTS });
	for (int i = 0; i < OUTS * WIDTH; i++)
		dtype_put(DTYPE_F16, weight, (size_t)i, cos(i));
	for (int i = 0; i < ROWS * WIDTH; i++)
		dtype_put(DTYPE_F16, in, (size_t)i, sin(i));
	assert_true(live_pool_open(&pool, 1, &err));
	if (!live_open(&live, &x, pool, false, &err)) {
		assert_non_null(strstr(err.text, "f16 products wrongly"));
		live_pool_close(pool);
		return;
	}
	assert_true(live_run(live, (struct tensor *[]){ &a, &b }, 2, &err));
	for (int r = 0; r < ROWS; r++)
		for (int o = 0; o < OUTS; o++) {
			double sum = 0;

			for (int i = 0; i < WIDTH; i++)
				sum += dtype_get(DTYPE_F16, in, (size_t)(r * WIDTH + i)) *
					dtype_get(DTYPE_F16, weight, (size_t)(o * WIDTH + i));
			assert_true(fabs(dtype_get(DTYPE_F16, out, (size_t)(r * OUTS + o)) - sum) < 0.1);
		}
	live_close(live);
	live_pool_close(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_may_change_from_run_to_run),
		cmocka_unit_test(inputs_may_end_with_their_memory),
		cmocka_unit_test(wrong_arguments_are_errors_of_the_run),
		cmocka_unit_test(channels_last_tensors_are_seen_as_they_lie),
		cmocka_unit_test(what_the_library_lacks_or_would_die_of),
		cmocka_unit_test(int4_is_right_or_refused),
		cmocka_unit_test(f16_is_right_or_refused),
	};

	return RUN_TAP(tests);
}
