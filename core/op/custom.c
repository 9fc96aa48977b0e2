/* The other operators of the language-model libraries: the fast Hadamard transform, the gated delta rule, fallback (a
 * copy) and tile_crop. quantized_moe_ffn stays unknown: its weights are packed for one library's kernels. */
#include "core/op/plain.h"

#include <math.h>
#include <string.h>

/* ---- fast_hadamard_transform: last dimension 2^n or 28 * 2^n, the 2^n part normalised, the 28 not ---- */

static bool hadamard_shape(struct call *c, struct error *err)
{
	struct tensor *in;
	int64_t n;

	if (!call_check(c, err))
		return false;
	in = call_tensor(c, 0);
	if (!tensor_is_default_order(in))
		return call_fail(c, err, "the input is not in the default dim order");
	tensor_set_like(c->out[0], in);
	if (!in->rank || !tensor_numel(in))
		return true;
	n = in->size[in->rank - 1];
	n = n % 28 ? n : n / 28;
	return !(n & (n - 1)) || call_fail(c, err, "%lld is neither a power of two nor 28 times one",
					   (long long)in->size[in->rank - 1]);
}

static void walsh(double *v, int64_t n)
{
	for (int64_t step = 1; step < n; step *= 2)
		for (int64_t i = 0; i < n; i += 2 * step)
			for (int64_t j = i; j < i + step; j++) {
				double x = v[j], y = v[j + step];

				v[j] = x + y;
				v[j + step] = x - y;
			}
	for (int64_t i = 0; i < n; i++)
		v[i] /= sqrt((double)n);
}

/* Williamson's matrix of order 28: circulant blocks a, b, c, d of order 7 and signs in Hamilton's pattern. */
static int hadamard_28(int row, int col)
{
	static const char *const block[4] = { "+------", "++----+", "+-+--+-", "+--++--" };
	static const int8_t which[4][4] = { { 0, 1, 2, 3 }, { 1, 0, 3, 2 }, { 2, 3, 0, 1 }, { 3, 2, 1, 0 } };
	static const int8_t sign[4][4] = { { 1, 1, 1, 1 }, { -1, 1, -1, 1 }, { -1, 1, 1, -1 }, { -1, -1, 1, 1 } };
	int r = row / 7, k = col / 7;

	return (block[(int)which[r][k]][(col % 7 - row % 7 + 7) % 7] == '+' ? 1 : -1) * sign[r][k];
}

/* Multiplies the 28 values v[0], v[step], ... by the matrix. */
static void mix_28(double *v, int64_t step)
{
	double in[28];

	for (int i = 0; i < 28; i++)
		in[i] = v[i * step];
	for (int i = 0; i < 28; i++) {
		double sum = 0;

		for (int j = 0; j < 28; j++)
			sum += hadamard_28(i, j) * in[j];
		v[i * step] = sum;
	}
}

static bool hadamard_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), *out = c->out[0];
	int64_t n = in->rank ? in->size[in->rank - 1] : 0, count = tensor_numel(in), part = n && n % 28 == 0 ? n / 28 : n;
	const double *x = plain_read(c, in, KIND_F64, err);
	double *v = plain_alloc(c, KIND_F64, count, err);

	if (!x || !v)
		return false;
	memcpy(v, x, (size_t)count * sizeof *v);
	for (int64_t i = 0; n && i < count; i += part)
		walsh(v + i, part);
	for (int64_t i = 0; n && part != n && i < count; i += n)
		for (int64_t j = 0; j < part; j++)
			mix_28(v + i + j, part);
	plain_store(out, KIND_F64, v);
	return true;
}

/* ---- gated_delta_rule: (query, key, value, decay, beta, initial_state) ----
 *
 * S = diag(decay) S; S += k (beta (v - S' k))'; o = S' q, token by token. query [B, Hq, T, K], key [B, H, T, K],
 * value [B, H, T, V], decay [B, H, T, K] or [B, H, T], beta [B, H, T], state [B, H, K, V]; H divides Hq. */

static bool check_sizes(const struct tensor *t, int rank, const int64_t *size)
{
	return t->dtype == DTYPE_F32 && t->rank == rank && tensor_is_default_order(t) &&
	       !memcmp(t->size, size, (size_t)rank * sizeof *size);
}

static bool delta_shape(struct call *c, struct error *err)
{
	struct tensor *q, *k, *v;
	int64_t s[4];

	if (!call_check(c, err))
		return false;
	q = call_tensor(c, 0), k = call_tensor(c, 1), v = call_tensor(c, 2);
	if (q->rank != 4 || k->rank != 4 || v->rank != 4 || k->size[1] < 1 || q->size[1] % k->size[1])
		return call_fail(c, err, "query, key and value must be of rank 4, and heads of keys divide those of queries");
	memcpy(s, k->size, sizeof s);
	if (!check_sizes(k, 4, s) || !check_sizes(q, 4, (int64_t[]){ s[0], q->size[1], s[2], s[3] }) ||
	    !check_sizes(v, 4, (int64_t[]){ s[0], s[1], s[2], v->size[3] }) ||
	    !(check_sizes(call_tensor(c, 3), 4, s) || check_sizes(call_tensor(c, 3), 3, s)) ||
	    !check_sizes(call_tensor(c, 4), 3, s) ||
	    !check_sizes(call_tensor(c, 5), 4, (int64_t[]){ s[0], s[1], s[3], v->size[3] }))
		return call_fail(c, err, "the operands do not fit together, or are not f32 in the default dim order");
	tensor_set_type(c->out[0], DTYPE_F32, 4, (int64_t[]){ s[0], q->size[1], s[2], v->size[3] });
	tensor_set_like(c->out[1], call_tensor(c, 5));
	return true;
}

struct delta {
	int64_t nk, nv;
	float *state, *change;	/* [nk, nv], [nv] */
};

static void delta_step(const struct delta *d, const float *k, const float *v, const float *decay, bool by_channel, float beta)
{
	memset(d->change, 0, (size_t)d->nv * sizeof *d->change);
	for (int64_t i = 0; i < d->nk; i++) {
		float *row = d->state + i * d->nv, w = decay[by_channel ? i : 0];

		for (int64_t j = 0; j < d->nv; j++) {
			row[j] *= w;
			d->change[j] += row[j] * k[i];
		}
	}
	for (int64_t j = 0; j < d->nv; j++)
		d->change[j] = (v[j] - d->change[j]) * beta;
	for (int64_t i = 0; i < d->nk; i++)
		for (int64_t j = 0; j < d->nv; j++)
			d->state[i * d->nv + j] += k[i] * d->change[j];
}

static void delta_read(const struct delta *d, const float *q, float *out)
{
	memset(out, 0, (size_t)d->nv * sizeof *out);
	for (int64_t i = 0; i < d->nk; i++)
		for (int64_t j = 0; j < d->nv; j++)
			out[j] += d->state[i * d->nv + j] * q[i];
}

static bool delta_kernel(struct call *c, struct error *err)
{
	struct tensor *k = call_tensor(c, 1), *v = call_tensor(c, 2), *decay = call_tensor(c, 3);
	const float *x[5];
	int64_t tokens = k->size[2], heads = k->size[0] * k->size[1], share = call_tensor(c, 0)->size[1] / k->size[1];
	struct delta d = { .nk = k->size[3], .nv = v->size[3], .change = plain_alloc(c, KIND_F32, v->size[3], err) };
	bool by_channel = decay->rank == 4;

	if (!d.change)
		return false;
	for (int i = 0; i < 5; i++)
		x[i] = call_tensor(c, i)->data;
	if (tensor_numel(c->out[1]))
		memcpy(c->out[1]->data, call_tensor(c, 5)->data, (size_t)tensor_numel(c->out[1]) * sizeof(float));
	for (int64_t h = 0; h < heads; h++)
		for (int64_t t = 0; t < tokens; t++) {
			int64_t at = h * tokens + t;

			d.state = (float *)c->out[1]->data + h * d.nk * d.nv;
			delta_step(&d, x[1] + at * d.nk, x[2] + at * d.nv, x[3] + at * (by_channel ? d.nk : 1), by_channel, x[4][at]);
			for (int64_t s = 0; s < share; s++) {
				int64_t q = (h * share + s) * tokens + t;

				delta_read(&d, x[0] + q * d.nk, (float *)c->out[0]->data + q * d.nv);
			}
		}
	return true;
}

/* ---- fallback and tile_crop ---- */

static bool fallback_shape(struct call *c, struct error *err)
{
	if (!call_check(c, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

static bool fallback_kernel(struct call *c, struct error *err)
{
	if (tensor_numel(c->out[0]))
		tensor_copy(c->out[0], call_tensor(c, 0));
	return true;
}

static bool tile_shape(struct call *c, struct error *err)
{
	struct tensor *in;
	int64_t s;

	if (!call_check(c, err) || !call_known(c, 1, err))
		return false;
	in = call_tensor(c, 0), s = call_int(c, 1, 0);
	if (in->rank != 3 || s < 1 || in->size[1] % s || in->size[2] % s || !tensor_is_default_order(in))
		return call_fail(c, err, "tiles of %lld do not divide the image", (long long)s);
	tensor_set_type(c->out[0], in->dtype, 4, (int64_t[]){ in->size[1] / s * (in->size[2] / s), in->size[0], s, s });
	return true;
}

/* [C, H/s, s, W/s, s] seen as [H/s, W/s, C, s, s]. */
static bool tile_kernel(struct call *c, struct error *err)
{
	struct tensor *in = call_tensor(c, 0), from = *in, to;
	int64_t s = call_int(c, 1, 1), h = in->size[1], w = in->size[2];

	if (!tensor_numel(in))
		return true;
	tensor_set_type(&from, in->dtype, 5, (int64_t[]){ h / s, w / s, in->size[0], s, s });
	to = from;
	to.data = c->out[0]->data;
	from.stride[0] = s * w, from.stride[1] = s, from.stride[2] = h * w, from.stride[3] = w, from.stride[4] = 1;
	tensor_copy(&to, &from);
	return true;
}

#define DELTA_ARGS "query, key, value, decay, beta, initial_state"
const struct op op_custom[] = {
	{ "llama.channelwise_gated_delta_rule.default", "llama::channelwise_gated_delta_rule.out", "TTTTTT>TT",
	  DELTA_ARGS, DTYPE_BIT(DTYPE_F32), 0, delta_shape, delta_kernel },
	{ "llama.fallback.default", "llama::fallback.out", "T>T", "input", DTYPES_ANY, 0, fallback_shape,
	  fallback_kernel },
	{ "llama.fast_hadamard_transform.default", "llama::fast_hadamard_transform.out", "T>T", "mat", DTYPES(F16,
	  F32) | DTYPE_BIT(DTYPE_F64), 0, hadamard_shape, hadamard_kernel },
	{ "llama.gated_delta_rule.default", "llama::gated_delta_rule.out", "TTTTTT>TT", DELTA_ARGS,
	  DTYPE_BIT(DTYPE_F32), 0, delta_shape, delta_kernel },
	{ "preprocess.tile_crop.default", "preprocess::tile_crop.out", "TI>T", "input, tile_size", DTYPES_ANY, 0,
	  tile_shape, tile_kernel },
	{ 0 },
};
