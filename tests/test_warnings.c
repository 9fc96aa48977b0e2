/* Warnings: what is told of a file that holds something wrong, and what is not told of files that only look so. */
#include "core/format/npy.h"
#include "core/format/xblob.h"
#include "core/session/session.h"
#include "core/xnn/lower.h"
#include "tests/maker.h"
#include "tests/tap.h"
#include "tests/xmake.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { HANDLE = 7, EXPORTERS = 65535, SLOT = 4096 /* bytes between arguments in memory */ };

struct rig {
	struct xmake *x;
	struct maker *m;
	char path[64];
	struct session *s;
	struct error err;
};

static struct rig *rig_new(void)
{
	struct rig *r = mem_alloc(sizeof *r);

	r->x = xmake_new();
	r->m = maker_new();
	return r;
}

static void rig_free(struct rig *r)
{
	session_close(r->s);
	if (*r->path)
		unlink(r->path);
	maker_free(r->m);
	xmake_free(r->x);
	mem_free(r);
}

/* Stored as exporters do: named data under its digest. */
static struct xvalue *stored(struct rig *r, struct xvalue *v)
{
	v->key = data_key(&r->m->mem, "", v->data.data, v->data.bytes);
	vec_push(&r->m->mem, &r->m->named,
		 ((struct pte_named){ .key = v->key, .key_bytes = strlen(v->key), .data = v->data }));
	return v;
}

static struct xvalue *numbers(struct rig *r, const float *at, int rank, const uint32_t *dim)
{
	struct xvalue *v = xmake_static(r->x, XD_FP32, 0, 1, rank, dim);

	if (at)
		memcpy((void *)(uintptr_t)v->data.data, at, v->data.bytes);
	return stored(r, v);
}

static int argument(struct rig *r, const struct xvalue *v, bool channels_last)
{
	static const uint8_t order[] = { 0, 2, 3, 1 };
	int32_t size[6];
	int at;

	for (int d = 0; d < v->rank; d++)
		size[channels_last ? order[d] : d] = (int32_t)v->dim[d];
	at = maker_planned(r->m, DTYPE_F32, 1, v->external_id * SLOT, v->rank, size);
	if (channels_last)
		memcpy(maker_tensor(r->m, at)->dim_order, order, sizeof order);
	return at;
}

/* The delegate in a program of its own, whose arguments are the method's; the last `missing` are not passed. */
static void call(struct rig *r, bool channels_last, int missing)
{
	struct span blob;
	int32_t arg[8];

	if (!xblob_write(&r->x->x, &r->m->mem, &blob, &r->err))
		fail_msg("%s", r->err.text);
	for (int i = 0; i < r->x->x.nvalues; i++) {
		const struct xvalue *v = &r->x->x.value[i];

		if (v->external_id == XNONE || (int)v->external_id >= (int)r->x->x.nexterns - missing)
			continue;
		arg[v->external_id] = argument(r, v, channels_last && v->flags & XFLAG_INPUT);
		(v->flags & XFLAG_INPUT ? maker_in : maker_out)(r->m, arg[v->external_id]);
	}
	maker_delegate(r->m, "XnnpackBackend", blob, (int)r->x->x.nexterns - missing, arg);
}

static void save(struct rig *r)
{
	snprintf(r->path, sizeof r->path, "/tmp/warnings-%d.pte", (int)getpid());
	maker_save(r->m, r->path);
}

static const struct method_facts *look(struct rig *r)
{
	if (!*r->path)
		save(r);
	if (!session_open(&r->s, r->path, NULL, 0, &r->err) || !session_facts(r->s, 0, &r->err))
		fail_msg("%s", r->err.text);
	return &r->s->version[0].facts[0];
}

static const struct warning *warns(struct rig *r, const char *code, const char *id, const char *text)
{
	const struct method_facts *f = look(r);
	const struct warning *w = f->warning;

	if (f->nwarnings != 1 || strcmp(w->code, code) || strcmp(w->id, id) || !strstr(w->text, text))
		fail_msg("%d warnings, the first %s at %s: %s; expected %s at %s: %s", f->nwarnings, f->nwarnings ? w->code : "",
			 f->nwarnings ? w->id : "", f->nwarnings ? w->text : "", code, id, text);
	assert_true(w->max_abs_diff < 0);
	return w;
}

static void is_silent(struct rig *r)
{
	const struct method_facts *f = look(r);

	if (f->nwarnings)
		fail_msg("%s at %s: %s", f->warning->code, f->warning->id, f->warning->text);
	rig_free(r);
}

/* How far off the run is from what was meant. */
static double measured(struct rig *r)
{
	session_measure(r->s);
	return r->s->version[0].facts[0].warning[0].max_abs_diff;
}

/* ---- softmax ---- */

static const uint32_t to_nhwc[] = { 0, 2, 3, 1 }, to_nchw[] = { 0, 3, 1, 2 };

static uint32_t transpose(struct rig *r, uint32_t in, uint32_t out, const uint32_t *perm, uint32_t handle)
{
	struct xnode *n = xmake_node(r->x, X_STATIC_TRANSPOSE, 4, 0, in, out, 0);

	n->field[1] = xmake_list(r->x, n, 0, 4, perm);
	n->debug_handle = handle;
	return out;
}

static uint32_t pool(struct rig *r, uint32_t in)	/* [1, 4, 4, 3] to [1, 2, 2, 3] */
{
	uint32_t out = xmake_inner(r->x, XD_FP32, DIMS(1, 2, 2, 3))->id;

	xmake_node(r->x, X_MAX_POOLING_2D, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, in, out, 64);
	return out;
}

static uint32_t softmax(struct rig *r, uint32_t in, uint32_t out, uint32_t handle)
{
	xmake_node(r->x, X_SOFTMAX, in, out, 0)->debug_handle = handle;
	return out;
}

static uint32_t image(struct rig *r) { return xmake_inner(r->x, XD_FP32, DIMS(1, 2, 2, 3))->id; }

/* transpose -> pool -> softmax -> transpose, as the stock lowering has max_pool2d and softmax(-1). */
static struct rig *pooled_softmax(uint32_t handle)
{
	struct rig *r = rig_new();
	uint32_t x = xmake_input(r->x, XD_FP32, DIMS(1, 3, 4, 4))->id, y = xmake_output(r->x, XD_FP32, DIMS(1, 3, 2, 2))->id;
	uint32_t nhwc = xmake_inner(r->x, XD_FP32, DIMS(1, 4, 4, 3))->id;

	nhwc = pool(r, transpose(r, x, nhwc, to_nhwc, EXPORTERS));
	transpose(r, softmax(r, nhwc, image(r), handle), y, to_nchw, EXPORTERS);
	call(r, false, 0);
	return r;
}

/* softmax over the width of what pooling gives from these inputs, and over its channels: the difference. */
static double softmax_difference(const float *in)	/* [3, 4, 4] */
{
	double pooled[3][2][2], most = 0;

	for (int i = 0; i < 12; i++) {
		const float *at = in + i / 4 * 16 + i / 2 % 2 * 8 + i % 2 * 2;

		pooled[i / 4][i / 2 % 2][i % 2] = fmax(fmax((double)at[0], (double)at[1]), fmax((double)at[4], (double)at[5]));
	}
	for (int i = 0; i < 12; i++) {
		int c = i / 4, h = i / 2 % 2, w = i % 2;
		double e = exp(pooled[c][h][w]), width = exp(pooled[c][h][0]) + exp(pooled[c][h][1]);
		double channels = exp(pooled[0][h][w]) + exp(pooled[1][h][w]) + exp(pooled[2][h][w]);

		most = fmax(most, fabs(e / width - e / channels));
	}
	return most;
}

static void a_softmax_over_channels(void **state)
{
	struct rig *r = pooled_softmax(HANDLE);
	__typeof__(*r->s->run.input) input = { NULL, "/tmp/warnings-input.npy" };
	float in[48];

	for (int i = 0; i < 48; i++)
		in[i] = (float)(i * 37 % 101) / 50 - 1;
	assert_true(npy_write(input.path, DTYPE_F32, 4, (const int64_t[]){ 1, 3, 4, 4 }, in, NULL));
	warns(r, "wrong_result", "forward/0/2", "over the channels");
	r->s->run.input = &input;
	r->s->run.ninputs = 1;
	assert_true(session_can_measure(r->s, 0));
	assert_true(fabs(measured(r) - softmax_difference(in)) < 1e-5);
	assert_false(session_can_measure(r->s, 0));
	unlink(input.path);
	rig_free(r);
}

/* What we write ourselves has no handle there: its program permuted. */
static void a_softmax_of_ours(void **state)
{
	is_silent(pooled_softmax(EXPORTERS));
}

static void a_softmax_in_nchw(void **state)
{
	struct rig *r = rig_new();
	uint32_t x = xmake_input(r->x, XD_FP32, DIMS(1, 3, 4, 4))->id, y = xmake_output(r->x, XD_FP32, DIMS(1, 3, 2, 2))->id;
	uint32_t nhwc = xmake_inner(r->x, XD_FP32, DIMS(1, 4, 4, 3))->id;
	uint32_t nchw = xmake_inner(r->x, XD_FP32, DIMS(1, 3, 2, 2))->id;

	nhwc = pool(r, transpose(r, x, nhwc, to_nhwc, EXPORTERS));
	softmax(r, transpose(r, nhwc, nchw, to_nchw, EXPORTERS), y, HANDLE);
	call(r, false, 0);
	is_silent(r);
}

/* The program's own permutations of an NHWC value leave it in NHWC; one that may be a copy to NCHW proves nothing. */
static void a_softmax_behind_permutations(void **state)
{
	struct rig *r = rig_new();
	uint32_t x = xmake_input(r->x, XD_FP32, DIMS(1, 3, 4, 4))->id, y = xmake_output(r->x, XD_FP32, DIMS(1, 2, 3, 2))->id;
	uint32_t nhwc = xmake_inner(r->x, XD_FP32, DIMS(1, 4, 4, 3))->id;
	uint32_t turned = xmake_inner(r->x, XD_FP32, DIMS(1, 2, 3, 2))->id;

	nhwc = pool(r, transpose(r, x, nhwc, to_nhwc, EXPORTERS));
	softmax(r, transpose(r, nhwc, turned, to_nhwc, HANDLE), y, HANDLE);
	call(r, false, 0);
	warns(r, "wrong_result", "forward/0/3", "over the channels");
	rig_free(r);
	r = rig_new();
	x = xmake_input(r->x, XD_FP32, DIMS(1, 3, 4, 4))->id;
	y = xmake_output(r->x, XD_FP32, DIMS(1, 3, 2, 2))->id;
	nhwc = pool(r, transpose(r, x, xmake_inner(r->x, XD_FP32, DIMS(1, 4, 4, 3))->id, to_nhwc, EXPORTERS));
	softmax(r, transpose(r, nhwc, xmake_inner(r->x, XD_FP32, DIMS(1, 3, 2, 2))->id, to_nchw, HANDLE), y, HANDLE);
	call(r, false, 0);
	is_silent(r);
}

/* Unless what reads it later tells: only NHWC is permuted to NCHW. */
static void a_softmax_whose_result_is_permuted(void **state)
{
	struct rig *r = rig_new();
	uint32_t x = xmake_input(r->x, XD_FP32, DIMS(1, 3, 4, 4))->id, y = xmake_output(r->x, XD_FP32, DIMS(1, 2, 3, 2))->id;
	uint32_t turned = xmake_inner(r->x, XD_FP32, DIMS(1, 3, 2, 2))->id, out = xmake_inner(r->x, XD_FP32, DIMS(1, 3, 2, 2))->id;
	uint32_t size = xmake_inner(r->x, XD_FP32, DIMS(1, 3, 2, 2))->id;

	x = pool(r, transpose(r, x, xmake_inner(r->x, XD_FP32, DIMS(1, 4, 4, 3))->id, to_nhwc, EXPORTERS));
	softmax(r, transpose(r, x, turned, to_nchw, HANDLE), out, HANDLE);
	xmake_node(r->x, X_ABS, out, size, 0);
	transpose(r, size, y, to_nchw, EXPORTERS);
	call(r, false, 0);
	warns(r, "wrong_result", "forward/0/3", "over the channels");
	rig_free(r);
}

/* An operator that takes any layout, on two values that are there in NHWC; with one in NCHW nothing is known. */
static struct rig *softmax_of_sum(uint32_t handle)
{
	struct rig *r = rig_new();
	uint32_t x = xmake_input(r->x, XD_FP32, DIMS(1, 3, 4, 4))->id, more = xmake_input(r->x, XD_FP32, DIMS(1, 3, 2, 2))->id;
	uint32_t y = xmake_output(r->x, XD_FP32, DIMS(1, 2, 2, 3))->id, sum;

	x = pool(r, transpose(r, x, xmake_inner(r->x, XD_FP32, DIMS(1, 4, 4, 3))->id, to_nhwc, EXPORTERS));
	more = transpose(r, more, image(r), to_nhwc, handle);
	sum = image(r);
	xmake_node(r->x, X_ADD, x, more, sum, 0);
	softmax(r, sum, y, HANDLE);
	call(r, false, 0);
	return r;
}

static void a_softmax_behind_a_sum(void **state)
{
	struct rig *r = softmax_of_sum(EXPORTERS);

	warns(r, "wrong_result", "forward/0/4", "over the channels");
	rig_free(r);
	is_silent(softmax_of_sum(HANDLE));
}

/* Of one channel, or one column, it is wrong as well; of one of both it is 1 either way. */
static struct rig *softmax_of_pooled(uint32_t width, uint32_t channels)
{
	struct rig *r = rig_new();
	uint32_t x = xmake_input(r->x, XD_FP32, DIMS(1, 4, 2 * width, channels))->id;
	uint32_t y = xmake_output(r->x, XD_FP32, DIMS(1, 2, width, channels))->id;
	uint32_t pooled = xmake_inner(r->x, XD_FP32, DIMS(1, 2, width, channels))->id;

	xmake_node(r->x, X_MAX_POOLING_2D, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, x, pooled, 64);
	softmax(r, pooled, y, HANDLE);
	call(r, false, 0);
	return r;
}

static void a_softmax_of_one(void **state)
{
	static const struct { uint32_t width, channels; } wrong[] = { { 3, 1 }, { 1, 3 } };

	for (int i = 0; i < 2; i++) {
		struct rig *r = softmax_of_pooled(wrong[i].width, wrong[i].channels);

		warns(r, "wrong_result", "forward/0/1", "over the channels");
		rig_free(r);
	}
	is_silent(softmax_of_pooled(1, 1));
}

static struct rig *softmax_of_input(bool channels_last)
{
	struct rig *r = rig_new();
	uint32_t x = xmake_input(r->x, XD_FP32, DIMS(1, 4, 4, 3))->id, y = xmake_output(r->x, XD_FP32, DIMS(1, 4, 4, 3))->id;

	softmax(r, x, y, HANDLE);
	call(r, channels_last, 0);
	return r;
}

static void a_softmax_of_an_input(void **state)
{
	struct rig *r = softmax_of_input(true);

	warns(r, "wrong_result", "forward/0/0", "over the channels");
	rig_free(r);
	is_silent(softmax_of_input(false));
}

/* ---- bias ---- */

/* [4, 3] times [3, 5] and a bias. */
static struct rig *linear_with_bias(int rank, const uint32_t *dim)
{
	struct rig *r = rig_new();
	struct xvalue *x = xmake_input(r->x, XD_FP32, DIMS(4, 3)), *y = xmake_output(r->x, XD_FP32, DIMS(4, 5));
	struct xvalue *w = numbers(r, NULL, DIMS(3, 5)), *b = numbers(r, NULL, rank, dim);

	xmake_node(r->x, X_FULLY_CONNECTED, x->id, w->id, b->id, y->id, 1);
	call(r, false, 0);
	return r;
}

static void a_bias_of_two_dimensions(void **state)
{
	struct rig *r = linear_with_bias(DIMS(4, 5));
	const float *b = (const float *)(const void *)r->x->x.value[3].data.data;
	double want = 0, got;

	for (int i = 0; i < 20; i++)	/* XNNPACK adds the first row to all */
		want = fmax(want, fabs((double)b[i] - (double)b[i % 5]));
	warns(r, "wrong_result", "forward/0/0", "adds its first numbers to every row");
	got = measured(r);
	assert_true(fabs(got - want) < 1e-5);
	rig_free(r);
}

static void a_short_bias(void **state)
{
	struct rig *r = linear_with_bias(DIMS(1));

	assert_false(warns(r, "wrong_result", "forward/0/0", "past its end")->measurable);
	assert_false(session_can_measure(r->s, 0));
	rig_free(r);
}

static void a_bias_that_fits(void **state)
{
	is_silent(linear_with_bias(DIMS(5)));
	is_silent(linear_with_bias(DIMS(1, 5)));
}

/* ---- scales ---- */

enum { WIDE = 32 };

/* A linear without a handle: [2, 32] times weight [4, 32], and scaled afterwards or not. */
static struct rig *linear_of(const float *weight, uint32_t handle, bool scaled)
{
	struct rig *r = rig_new();
	struct xvalue *x = xmake_input(r->x, XD_FP32, DIMS(2, WIDE));
	struct xvalue *s = scaled ? xmake_input(r->x, XD_FP32, DIMS(1, 4)) : NULL;
	struct xvalue *y = xmake_output(r->x, XD_FP32, DIMS(2, 4)), *w = numbers(r, weight, DIMS(4, WIDE));
	struct xvalue *product = scaled ? xmake_inner(r->x, XD_FP32, DIMS(2, 4)) : y;

	xmake_node(r->x, X_FULLY_CONNECTED, x->id, w->id, XNONE, product->id, 0)->debug_handle = handle;
	if (scaled)
		xmake_node(r->x, X_MULTIPLY, product->id, s->id, y->id, 0);
	call(r, false, 0);
	return r;
}

/* Whole numbers from -range to range, each row touching it. */
static void integers(float *w, int range)
{
	for (int i = 0; i < 4 * WIDE; i++)
		w[i] = (float)(i % WIDE == 3 ? -range : i * 29 % (2 * range + 1) - range);
}

static void a_weight_without_its_scales(void **state)
{
	static const int ranges[] = { 7, 8, 127, 128 };
	float w[4 * WIDE];

	for (int i = 0; i < 4; i++) {
		struct rig *r;

		integers(w, ranges[i]);
		r = linear_of(w, EXPORTERS, false);
		assert_false(warns(r, "wrong_result", "forward/0/0", "loses the scales")->measurable);
		rig_free(r);
	}
}

static void weights_of_whole_numbers_that_are_right(void **state)
{
	float w[4 * WIDE];

	integers(w, 7);
	is_silent(linear_of(w, HANDLE, false));
	is_silent(linear_of(w, EXPORTERS, true));
	for (int i = 0; i < 4 * WIDE; i++)
		w[i] = (float)i;
	is_silent(linear_of(w, EXPORTERS, false));
	integers(w, 7);
	w[WIDE + 3] = 5;	/* one row that does not reach the end */
	for (int i = WIDE; i < 2 * WIDE; i++)
		w[i] = fminf(fmaxf(w[i], -5), 5);
	is_silent(linear_of(w, EXPORTERS, false));
	integers(w, 7);
	w[4 * WIDE - 1] = 0.5f;
	is_silent(linear_of(w, EXPORTERS, false));
	memset(w, 0, sizeof w);
	is_silent(linear_of(w, EXPORTERS, false));
}

/* ---- a buffer as weight ---- */

/* [2, 4] times a weight [4, 4] in a delegate, which is the state as filed; the state is written or not. */
static struct rig *linear_of_buffer(bool written, float change)
{
	struct rig *r = rig_new();
	struct xvalue *x = xmake_input(r->x, XD_FP32, DIMS(2, 4)), *y = xmake_output(r->x, XD_FP32, DIMS(2, 4));
	struct xvalue *w = numbers(r, NULL, DIMS(4, 4));
	float was[16];
	int32_t state, more, one, sum, no;

	xmake_node(r->x, X_FULLY_CONNECTED, x->id, w->id, XNONE, y->id, 0);
	memcpy(was, w->data.data, sizeof was);
	was[15] += change;
	state = maker_mutable(r->m, DTYPE_F32, was, 1, 3 * SLOT, SHAPE(4, 4));
	more = maker_constant(r->m, DTYPE_F32, (const float[16]){ 1, 2, 3 }, SHAPE(4, 4));
	sum = maker_planned(r->m, DTYPE_F32, 1, 4 * SLOT, SHAPE(4, 4));
	one = maker_int(r->m, 1);
	no = maker_bool(r->m, false);
	call(r, false, 0);
	maker_call(r->m, "aten::add.out", LIST(state, more, one, sum, sum));
	if (written)
		maker_call(r->m, "aten::copy_", LIST(state, sum, no, state));
	else
		maker_out(r->m, sum);
	return r;
}

static void a_buffer_as_weight(void **state)
{
	struct rig *r = linear_of_buffer(true, 0);

	assert_true(warns(r, "wrong_result", "forward/0/0", "which packs a weight once")->measurable);
	assert_true(measured(r) > 0.1);		/* from the second call on */
	rig_free(r);
	is_silent(linear_of_buffer(false, 0));
	is_silent(linear_of_buffer(true, 1));
}

/* ---- delegates that do not load, or crash ---- */

static void arguments_that_are_missing(void **state)
{
	struct rig *r = rig_new();
	struct xvalue *x = xmake_input(r->x, XD_FP32, DIMS(2, 3)), *y = xmake_output(r->x, XD_FP32, DIMS(2, 3));
	struct xvalue *more = xmake_output(r->x, XD_FP32, DIMS(2, 3));

	xmake_node(r->x, X_ABS, x->id, y->id, 0);
	xmake_node(r->x, X_NEGATE, x->id, more->id, 0);
	call(r, false, 1);
	warns(r, "will_crash", "forward/0", "takes 3 arguments and is called with 2");
	rig_free(r);
}

/* Unsigned integers that the stock lowering writes as signed ones. */
static void integers_without_their_sign(void **state)
{
	for (int t = DTYPE_U8; t <= DTYPE_I8; t++) {
		struct rig *r = rig_new();
		struct xvalue *x = xmake_input(r->x, XD_QINT8, DIMS(2, 3)), *y = xmake_output(r->x, XD_QINT8, DIMS(2, 3));
		int in = maker_planned(r->m, (enum dtype)t, 1, 0, SHAPE(2, 3)), out = maker_planned(r->m, (enum dtype)t, 1, 64, SHAPE(2, 3));
		struct span blob;

		xmake_per_tensor(x, 0.5f, 100);
		xmake_per_tensor(y, 0.5f, 100);
		xmake_node(r->x, X_COPY, x->id, y->id, 0);
		assert_true(xblob_write(&r->x->x, &r->m->mem, &blob, &r->err));
		maker_in(r->m, in);
		maker_out(r->m, out);
		maker_delegate(r->m, "XnnpackBackend", blob, LIST(in, out));
		if (t == DTYPE_I8) {
			is_silent(r);
		} else {
			warns(r, "wrong_result", "forward/0", "argument 0 of the delegate is u8, which XNNPACK takes for qint8");
			rig_free(r);
		}
	}
}

static void constants_that_were_freed(void **state)
{
	struct rig *r = rig_new();
	struct xvalue *x = xmake_input(r->x, XD_FP32, DIMS(2, 3)), *y = xmake_output(r->x, XD_FP32, DIMS(2, 3));

	xmake_node(r->x, X_ADD, x->id, numbers(r, NULL, DIMS(2, 3))->id, y->id, 0);
	call(r, false, 0);
	warns(r, "will_crash", "forward/0/0", "frees those bytes");
	rig_free(r);
}

static struct rig *delegate_of(const char *backend, const char *blob)
{
	struct rig *r = rig_new();
	int x = maker_planned(r->m, DTYPE_F32, 1, 0, SHAPE(4)), y = maker_planned(r->m, DTYPE_F32, 1, 64, SHAPE(4));

	maker_in(r->m, x);
	maker_delegate(r->m, backend, (struct span){ (const uint8_t *)blob, strlen(blob) }, LIST(x, y));
	maker_out(r->m, y);
	return r;
}

static void delegates_that_nobody_reads(void **state)
{
	struct rig *r = delegate_of("XnnpackBackend", "this is no XNNPACK graph at all, whatever it may be");

	warns(r, "will_not_load", "forward/0", "");
	rig_free(r);
	r = delegate_of("CoreMLBackend", "some other graph");
	warns(r, "backend_missing", "forward/0", "CoreMLBackend");
	rig_free(r);
}

static void a_kernel_that_nobody_knows(void **state)
{
	struct rig *r = rig_new();
	int x = maker_planned(r->m, DTYPE_F32, 1, 0, SHAPE(4)), y = maker_planned(r->m, DTYPE_F32, 1, 64, SHAPE(4));

	maker_in(r->m, x);
	maker_call(r->m, "mine::twist.out", LIST(x, y, y));
	maker_out(r->m, y);
	warns(r, "kernel_missing", "forward/0", "mine::twist.out");
	rig_free(r);
}

/* ---- what the host lacks ---- */

static void a_window_of_one_element(void **state)
{
	struct rig *r = rig_new();
	struct xvalue *x = xmake_input(r->x, XD_FP32, DIMS(1, 4, 4, 3)), *y = xmake_output(r->x, XD_FP32, DIMS(1, 2, 2, 3));

	xmake_node(r->x, X_MAX_POOLING_2D, 0, 0, 0, 0, 1, 1, 2, 2, 1, 1, x->id, y->id, 64);
	call(r, false, 0);
	warns(r, "xnnpack_missing", "forward/0/0", "a window of one element");
	rig_free(r);
}

/* ---- bytes stored twice ---- */

enum { MOST = 256 };

/* x + a + b + c, or x modulo them, which XNNPACK has not; each of n numbers: 0, 1, 2, ... with the numbers given in place `at`. Our own writer stores
 * equal bytes once, so they are made equal in the file. */
static struct rig *sums(bool add, int n, int at, const float *number)
{
	struct rig *r = rig_new();
	int x = maker_planned(r->m, DTYPE_F32, 1, 0, SHAPE(n)), one = maker_int(r->m, 1), last = x;
	float data[3][MOST], file[2 * SLOT];
	size_t bytes;
	FILE *f;

	maker_in(r->m, x);
	for (int i = 0; i < 3; i++) {
		int y = maker_planned(r->m, DTYPE_F32, 1, (uint64_t)(i + 1) * SLOT, SHAPE(n)), k;

		for (int j = 0; j < n; j++)
			data[i][j] = (float)(j + i * MOST);
		k = maker_constant(r->m, DTYPE_F32, data[i], SHAPE(n));
		if (add)
			maker_call(r->m, "aten::add.out", LIST(last, k, one, y, y));
		else
			maker_call(r->m, "aten::fmod.Tensor_out", LIST(last, k, y, y));
		last = y;
	}
	maker_out(r->m, last);
	save(r);
	f = fopen(r->path, "r+");
	bytes = fread(file, 1, sizeof file, f);
	for (size_t i = 0; i + (size_t)n <= bytes / sizeof *file; i++)
		for (int k = 0; k < 3; k++)
			if (!memcmp(file + i, data[k], (size_t)n * sizeof *file)) {
				memcpy(file + i, data[0], (size_t)n * sizeof *file);
				file[i + (size_t)at] = number[k];
			}
	rewind(f);
	fwrite(file, 1, bytes, f);
	fclose(f);
	return r;
}

static void bytes_that_are_stored_twice(void **state)
{
	struct rig *r = sums(true, MOST, 100, (const float[]){ 5, 6, 5 });	/* in no sample */

	warns(r, "duplicate_bytes", "forward/2", "constant2, 1024 bytes, is stored a second time: constant0 of forward/0");
	rig_free(r);
	r = sums(true, MOST, 0, (const float[]){ 5, 5, 5 });
	assert_int_equal(look(r)->nwarnings, 2);
	rig_free(r);
	is_silent(sums(true, MOST - 1, 0, (const float[]){ 5, 5, 5 }));	/* too small to matter */
}

/* No node of it can be partitioned, and still partitioning writes it anew. */
static void bytes_that_are_stored_twice_go(void **state)
{
	for (int copies = 0; copies < 2; copies++) {
		struct rig *r = sums(false, MOST, 0, copies ? (const float[]){ 5, 5, 5 } : (const float[]){ 5, 6, 7 });
		bool changed;

		look(r);
		assert_true(session_apply(r->s, APPLY_PARTITION, &changed, &r->err));
		assert_int_equal(changed, copies);
		assert_true(session_emit(r->s, r->s->current, &r->err));
		assert_int_equal(session_version(r->s)->emitted.tensor_bytes, copies ? 1024 : 3072);
		if (copies)
			assert_true(session_version(r->s)->emitted.program.bytes + 2048 <= r->s->program->file.bytes);
		assert_int_equal(session_version(r->s)->emitted.nlost, 0);
		assert_true(session_apply(r->s, APPLY_PARTITION, &changed, &r->err));
		assert_false(changed);
		rig_free(r);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_softmax_over_channels), cmocka_unit_test(a_softmax_of_ours), cmocka_unit_test(a_softmax_in_nchw),
		cmocka_unit_test(a_softmax_behind_permutations), cmocka_unit_test(a_softmax_whose_result_is_permuted), cmocka_unit_test(a_softmax_behind_a_sum),
		cmocka_unit_test(a_softmax_of_an_input), cmocka_unit_test(a_softmax_of_one),
		cmocka_unit_test(a_bias_of_two_dimensions), cmocka_unit_test(a_short_bias), cmocka_unit_test(a_bias_that_fits),
		cmocka_unit_test(a_weight_without_its_scales), cmocka_unit_test(weights_of_whole_numbers_that_are_right),
		cmocka_unit_test(a_buffer_as_weight), cmocka_unit_test(arguments_that_are_missing),
		cmocka_unit_test(integers_without_their_sign),
		cmocka_unit_test(constants_that_were_freed), cmocka_unit_test(delegates_that_nobody_reads),
		cmocka_unit_test(a_kernel_that_nobody_knows), cmocka_unit_test(a_window_of_one_element),
		cmocka_unit_test(bytes_that_are_stored_twice), cmocka_unit_test(bytes_that_are_stored_twice_go),
	};

	if (argc > 1 && !strcmp(argv[1], "--worker"))
		return worker_main();
	return RUN_TAP(tests);
}
