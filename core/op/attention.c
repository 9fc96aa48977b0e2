/* Attention as language models export it: llama::custom_sdpa, custom_quantized_sdpa and sdpa_with_kv_cache, and the cache
 * updates beside them. Tensors are [batch, sequence, heads, size] (quantised ones may have heads first). Softmax is over
 * whole rows in float; stock does it block by block and rounds the weights of half inputs in between.
 *
 * A row that may see nothing is a NaN, as in stock. Without a mask the keys are those up to start_pos + sequence length;
 * causal rows see the keys up to their own position. */
#include "core/op/matmul.h"
#include "core/op/vmath.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 64 };	/* query rows at a time */

struct attention {
	int64_t batch, heads, kv_heads, rows, keys, all_keys, size, start;
	int seq, head;			/* which dimensions they are */
	bool causal;
	float scale;
	const float *q, *k, *v, *mask;	/* plain; mask: [rows, keys] or NULL */
	float *out, *scores;		/* scores: [BLOCK, keys] */
};

/* ---- checks: (query, key, value, start_pos, attn_mask, dropout_p, is_causal, scale, ...) ---- */

struct attention_args { int query, key, value, start, mask; };	/* causal and scale stand two and three behind the mask */

static bool check_heads(struct call *c, const struct attention *a, const struct tensor *k, const struct tensor *v,
			struct error *err)
{
	if (k->size[0] != a->batch || v->size[0] != a->batch || k->size[3] != a->size || v->size[3] != a->size ||
	    v->size[a->head] != a->kv_heads || v->size[a->seq] != a->all_keys)
		return call_fail(c, err, "query, key and value do not fit together");
	if (a->kv_heads < 1 || a->heads % a->kv_heads)
		return call_fail(c, err, "%lld heads of keys for %lld of queries", (long long)a->kv_heads, (long long)a->heads);
	if (a->keys > a->all_keys)
		return call_fail(c, err, "positions %lld to %lld of %lld keys", (long long)a->start, (long long)a->keys,
				 (long long)a->all_keys);
	return true;
}

static bool check_mask(struct call *c, const struct attention *a, int i, struct error *err)
{
	struct tensor *mask = call_tensor(c, i);

	if (!mask)
		return true;
	if (a->causal)
		return call_fail(c, err, "a mask, and causal at the same time");
	if (mask->dtype != DTYPE_F32 || mask->rank != 2 || !tensor_is_default_order(mask) || mask->size[0] != a->rows ||
	    mask->size[1] != a->keys)
		return call_fail(c, err, "the mask must be f32[%lld,%lld]", (long long)a->rows, (long long)a->keys);
	return true;
}

/* What only a run knows (start_pos) is checked when the kernel reads it again. */
static bool read_attention(struct call *c, const struct attention_args *at, bool heads_first, struct attention *a,
			   struct error *err)
{
	struct tensor *q = call_tensor(c, at->query), *k = call_tensor(c, at->key), *v = call_tensor(c, at->value);

	if (q->rank != 4 || k->rank != 4 || v->rank != 4 || k->dtype != q->dtype || v->dtype != q->dtype)
		return call_fail(c, err, "query, key and value must be of rank 4 and one dtype");
	if (!tensor_is_default_order(q) || !tensor_is_default_order(k) || !tensor_is_default_order(v))
		return call_fail(c, err, "query, key and value must have the default dim order");
	*a = (struct attention){ .seq = heads_first ? 2 : 1, .head = heads_first ? 1 : 2, .batch = q->size[0],
				 .size = q->size[3], .start = call_int(c, at->start, 0) };
	if (a->start < 0 || a->start > k->size[a->seq])
		return call_fail(c, err, "position %lld of %lld", (long long)a->start, (long long)k->size[a->seq]);
	a->rows = q->size[a->seq], a->heads = q->size[a->head], a->kv_heads = k->size[a->head], a->all_keys = k->size[a->seq];
	a->keys = call_has(c, at->mask) ? a->all_keys : a->start + a->rows;
	a->causal = call_bool(c, at->mask + 2, false);
	a->scale = (float)call_double(c, at->mask + 3, a->size ? 1 / sqrt((double)a->size) : 1);
	return check_heads(c, a, k, v, err) && check_mask(c, a, at->mask, err);
}

/* ---- the loop ---- */

static void mask_row(const struct attention *a, float *s, int64_t row)
{
	int64_t seen = a->causal ? a->start + row + 1 : a->keys;

	for (int64_t j = 0; j < a->keys; j++)
		s[j] = j < seen ? s[j] * a->scale + (a->mask ? a->mask[row * a->keys + j] : 0) : -INFINITY;
}

static void softmax_row(float *s, int64_t n)
{
	float max = -INFINITY, sum = 0;

	for (int64_t j = 0; j < n; j++)
		max = s[j] > max ? s[j] : max;
	for (int64_t j = 0; j < n; j++) {
		s[j] = max == -INFINITY ? 0 : vmath_expf(s[j] - max);
		sum += s[j];
	}
	for (int64_t j = 0; j < n; j++)
		s[j] /= sum;
}

/* Element strides of head and sequence in a tensor of this many heads and positions. */
static void strides_of(const struct attention *a, int64_t heads, int64_t positions, int64_t *head, int64_t *seq)
{
	*head = a->head == 2 ? a->size : positions * a->size;
	*seq = a->head == 2 ? heads * a->size : a->size;
}

static bool attend_block(struct call *c, const struct attention *a, struct matmul *mm, int64_t batch, int64_t head, int64_t row,
			 struct error *err)
{
	int64_t n = a->rows - row < BLOCK ? a->rows - row : BLOCK, kv = head / (a->heads / a->kv_heads);
	int64_t qh, qs, kh, ks, at_q, at_k;

	strides_of(a, a->heads, a->rows, &qh, &qs);
	strides_of(a, a->kv_heads, a->all_keys, &kh, &ks);
	at_q = batch * a->rows * a->heads * a->size + head * qh + row * qs;
	at_k = batch * a->all_keys * a->kv_heads * a->size + kv * kh;
	mm->m = n, mm->n = a->keys, mm->k = a->size;
	mm->a = (struct matrix){ a->q + at_q, qs, 1 };
	mm->b = (struct matrix){ a->k + at_k, 1, ks };
	mm->c = a->scores, mm->c_row = a->keys, mm->c_col = 1;
	if (!matmul_run(c, mm, err))
		return false;
	for (int64_t i = 0; i < n; i++) {
		mask_row(a, a->scores + i * a->keys, row + i);
		softmax_row(a->scores + i * a->keys, a->keys);
	}
	mm->n = a->size, mm->k = a->keys;
	mm->a = (struct matrix){ a->scores, a->keys, 1 };
	mm->b = (struct matrix){ a->v + at_k, ks, 1 };
	mm->c = a->out + at_q, mm->c_row = qs;
	return matmul_run(c, mm, err);
}

static bool attend(struct call *c, struct attention *a, struct tensor *mask, struct error *err)
{
	struct matmul mm = { .kind = KIND_F32 };

	a->mask = mask ? plain_read(c, mask, KIND_F32, err) : NULL;
	a->out = plain_out(c, c->out[0], KIND_F32, err);
	a->scores = plain_alloc(c, KIND_F32, BLOCK * a->keys, err);
	if ((mask && !a->mask) || !a->out || !a->scores)
		return false;
	for (int64_t b = 0; b < a->batch; b++)
		for (int64_t h = 0; h < a->heads; h++)
			for (int64_t row = 0; row < a->rows; row += BLOCK)
				if (!attend_block(c, a, &mm, b, h, row, err))
					return false;
	plain_store(c->out[0], KIND_F32, a->out);
	return true;
}

static const struct attention_args plain_args = { 0, 1, 2, 3, 4 }, cached_args = { 0, 3, 4, 5, 7 };

static bool sdpa_shape(struct call *c, struct error *err)
{
	struct attention a;

	if (!call_check(c, err) || !read_attention(c, &plain_args, false, &a, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

static bool sdpa_kernel(struct call *c, struct error *err)
{
	struct attention a;

	if (!read_attention(c, &plain_args, false, &a, err))
		return false;
	a.q = plain_read(c, call_tensor(c, 0), KIND_F32, err);
	a.k = plain_read(c, call_tensor(c, 1), KIND_F32, err);
	a.v = plain_read(c, call_tensor(c, 2), KIND_F32, err);
	return a.q && a.k && a.v && attend(c, &a, call_tensor(c, 4), err);
}

/* ---- quantised: ... q_zero_points, q_scales, k_..., v_..., is_seq_at_dim_2; int8 with parameters for each row ---- */

static bool check_row_params(struct call *c, int tensor, int zero, struct error *err)
{
	struct tensor *t = call_tensor(c, tensor), *z = call_tensor(c, zero), *s = call_tensor(c, zero + 1);
	bool ok = z && s && z->dtype == DTYPE_I8 && s->dtype == DTYPE_F32 && z->rank == 4 && s->rank == 4;

	for (int d = 0; ok && d < 4; d++)
		ok = z->size[d] == (d < 3 ? t->size[d] : 1) && s->size[d] == z->size[d];
	return ok || call_fail(c, err, "argument %d needs a zero point and a scale for each row", tensor);
}

static bool quantized_shape(struct call *c, struct error *err)
{
	struct attention a;

	if (!call_check(c, err))
		return false;
	if (!read_attention(c, &plain_args, call_bool(c, 14, false), &a, err) || !check_row_params(c, 0, 8, err) ||
	    !check_row_params(c, 1, 10, err) || !check_row_params(c, 2, 12, err))
		return false;
	tensor_set_type(c->out[0], DTYPE_F32, 4, call_tensor(c, 0)->size);
	return true;
}

static const float *dequantized(struct call *c, int tensor, int zero, struct error *err)
{
	struct tensor *t = call_tensor(c, tensor);
	const int8_t *q = t->data;
	const int64_t *z = plain_read(c, call_tensor(c, zero), KIND_I64, err);
	const float *s = plain_read(c, call_tensor(c, zero + 1), KIND_F32, err);
	float *f = plain_alloc(c, KIND_F32, tensor_numel(t), err);

	if (!z || !s || !f)
		return NULL;
	for (int64_t i = 0; i < tensor_numel(t); i++)
		f[i] = (float)(q[i] - z[i / t->size[3]]) * s[i / t->size[3]];
	return f;
}

static bool quantized_kernel(struct call *c, struct error *err)
{
	struct attention a;

	if (!read_attention(c, &plain_args, call_bool(c, 14, false), &a, err))
		return false;
	a.q = dequantized(c, 0, 8, err);
	a.k = dequantized(c, 1, 10, err);
	a.v = dequantized(c, 2, 12, err);
	return a.q && a.k && a.v && attend(c, &a, call_tensor(c, 4), err);
}

/* ---- caches: [batch, positions, heads, size] ---- */

static bool check_cache(struct call *c, int value, int cache, struct error *err)
{
	struct tensor *v = call_tensor(c, value), *k = call_tensor(c, cache);

	if (v->rank != 4 || k->rank != 4 || !dtype_bytes(v->dtype) || dtype_bytes(v->dtype) != dtype_bytes(k->dtype) ||
	    !tensor_is_default_order(v) || !tensor_is_default_order(k) || v->size[0] != k->size[0] ||
	    v->size[2] != k->size[2] || v->size[3] != k->size[3])
		return call_fail(c, err, "the value does not fit the cache");
	return true;
}

static bool check_range(struct call *c, int64_t start, int64_t n, int64_t positions, struct error *err)
{
	return (start >= 0 && start < positions && n <= positions - start) ||
	       call_fail(c, err, "%lld positions from %lld do not fit a cache of %lld", (long long)n, (long long)start,
			 (long long)positions);
}

/* Position i of batch b of the value goes to position `to` of the cache. */
static void put_position(const struct tensor *v, struct tensor *cache, int64_t b, int64_t i, int64_t to)
{
	size_t bytes = (size_t)(v->size[2] * v->size[3]) * dtype_bytes(v->dtype);

	if (bytes)
		memcpy((char *)cache->data + (size_t)(b * cache->size[1] + to) * bytes,
		       (const char *)v->data + (size_t)(b * v->size[1] + i) * bytes, bytes);
}

static bool put_from(struct call *c, int value, int cache, int64_t start, struct error *err)
{
	struct tensor *v = call_tensor(c, value), *k = call_tensor(c, cache);

	if (!check_range(c, start, v->size[1], k->size[1], err))
		return false;
	for (int64_t b = 0; b < v->size[0]; b++)
		for (int64_t i = 0; i < v->size[1]; i++)
			put_position(v, k, b, i, start + i);
	return true;
}

/* The result of an update is a placeholder that nobody reads. */
static bool update_shape(struct call *c, struct error *err)
{
	if (!call_check(c, err) || !check_cache(c, 0, 1, err))
		return false;
	tensor_set_type(c->out[0], call_tensor(c, 0)->dtype, 1, (int64_t[]){ 1 });
	return true;
}

static bool update_kernel(struct call *c, struct error *err)
{
	memset(c->out[0]->data, 0, dtype_bytes(c->out[0]->dtype));
	return put_from(c, 0, 1, call_int(c, 2, 0), err);
}

static bool update_indices_shape(struct call *c, struct error *err)
{
	struct tensor *v, *index;

	if (!update_shape(c, err))
		return false;
	v = call_tensor(c, 0), index = call_tensor(c, 3);
	if (index->dtype != DTYPE_I64 || index->rank != 2 || index->size[0] != v->size[0] || index->size[1] != v->size[1])
		return call_fail(c, err, "indices must be i64[%lld,%lld]", (long long)v->size[0], (long long)v->size[1]);
	return true;
}

static bool update_indices_kernel(struct call *c, struct error *err)
{
	struct tensor *v = call_tensor(c, 0), *cache = call_tensor(c, 1);
	const int64_t *index = plain_read(c, call_tensor(c, 3), KIND_I64, err);

	if (!index)
		return false;
	for (int64_t i = 0; i < v->size[0] * v->size[1]; i++)
		if (!check_range(c, index[i], 1, cache->size[1], err))
			return false;
	memset(c->out[0]->data, 0, dtype_bytes(c->out[0]->dtype));
	for (int64_t b = 0; b < v->size[0]; b++)
		for (int64_t i = 0; i < v->size[1]; i++)
			put_position(v, cache, b, i, index[b * v->size[1] + i]);
	return true;
}

/* (query, key, value, key_cache!, value_cache!, start_pos, seq_len, attn_mask, dropout_p, is_causal, scale) */
static bool cached_shape(struct call *c, struct error *err)
{
	struct attention a;

	if (!call_check(c, err) || !check_cache(c, 1, 3, err) ||
	    !check_cache(c, 2, 4, err) || !read_attention(c, &cached_args, false, &a, err))
		return false;
	tensor_set_like(c->out[0], call_tensor(c, 0));
	return true;
}

static bool cached_kernel(struct call *c, struct error *err)
{
	int64_t start = call_int(c, 5, 0);
	struct attention a;

	if (!read_attention(c, &cached_args, false, &a, err) ||
	    !check_range(c, start, call_int(c, 6, 0), call_tensor(c, 3)->size[1], err) ||
	    !put_from(c, 1, 3, start, err) || !put_from(c, 2, 4, start, err))
		return false;
	a.q = plain_read(c, call_tensor(c, 0), KIND_F32, err);
	a.k = plain_read(c, call_tensor(c, 3), KIND_F32, err);
	a.v = plain_read(c, call_tensor(c, 4), KIND_F32, err);
	return a.q && a.k && a.v && attend(c, &a, call_tensor(c, 7), err);
}

#define SDPA_ARGS "query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale"
const struct op op_attention[] = {
	{ "llama.custom_sdpa.default", "llama::custom_sdpa.out", "TTTItDB?>T", SDPA_ARGS, DTYPES(F16,
	  BF16) | DTYPE_BIT(DTYPE_F32), 0, sdpa_shape, sdpa_kernel },
	{ "llama.custom_quantized_sdpa.default", "llama::custom_quantized_sdpa.out", "TTTItDB?ttttttB>T",
	  SDPA_ARGS ", q_zero_points, q_scales, k_zero_points, k_scales, v_zero_points, v_scales, is_seq_at_dim_2",
	  DTYPE_BIT(DTYPE_I8), 0, quantized_shape, quantized_kernel },
	{ "llama.sdpa_with_kv_cache.default", "llama::sdpa_with_kv_cache.out", "TTTTTIItDB?>T",
	  "query, key, value, key_cache!, value_cache!, start_pos, seq_len, attn_mask, drpout_p, is_causal, scale",
	  DTYPES(F16, BF16) | DTYPE_BIT(DTYPE_F32), OP_MUTATES, cached_shape, cached_kernel },
	{ "llama.update_cache.default", "llama::update_cache.out", "TTI>T", "value, cache!, start_pos", DTYPES_ANY,
	  OP_MUTATES, update_shape, update_kernel },
	{ "llama.update_cache_with_indices.default", "llama::update_cache_with_indices.out", "TTIT>T",
	  "value, cache!, start_pos, indices", DTYPES_ANY, OP_MUTATES, update_indices_shape, update_indices_kernel },
	{ 0 },
};
