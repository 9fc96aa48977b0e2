/* Quantised forms: which operators quantise, and which quantised weights XNNPACK has a form for. */
#include "core/xnn/check.h"

#include <string.h>

/* The argument numbers depend on the schema of the row alone, so they are looked up by name (quant_args). */
static const struct { const char *op; enum quant_role role; enum quant_scheme scheme; } ops[] = {
	{ "quantized_decomposed.quantize_per_tensor.default", QUANT_QUANTIZE, SCHEME_TENSOR },
	{ "quantized_decomposed.dequantize_per_tensor.default", QUANT_DEQUANTIZE, SCHEME_TENSOR },
	{ "quantized_decomposed.quantize_per_tensor.tensor", QUANT_QUANTIZE, SCHEME_DYNAMIC },
	{ "quantized_decomposed.dequantize_per_tensor.tensor", QUANT_DEQUANTIZE, SCHEME_DYNAMIC },
	{ "quantized_decomposed.quantize_per_channel.default", QUANT_QUANTIZE, SCHEME_CHANNEL },
	{ "quantized_decomposed.dequantize_per_channel.default", QUANT_DEQUANTIZE, SCHEME_CHANNEL },
	{ "quantized_decomposed.quantize_per_channel_group.default", QUANT_QUANTIZE, SCHEME_GROUP },
	{ "quantized_decomposed.dequantize_per_channel_group.default", QUANT_DEQUANTIZE, SCHEME_GROUP },
	{ "quantized_decomposed.quantize_per_token.default", QUANT_QUANTIZE, SCHEME_TOKEN },
	{ "quantized_decomposed.dequantize_per_token.default", QUANT_DEQUANTIZE, SCHEME_TOKEN },
	{ "torchao.quantize_affine.default", QUANT_QUANTIZE, SCHEME_AFFINE },
	{ "torchao.dequantize_affine.default", QUANT_DEQUANTIZE, SCHEME_AFFINE },
	{ "quantized_decomposed.choose_qparams.tensor", QUANT_CHOOSE, SCHEME_DYNAMIC },
	{ "quantized_decomposed.choose_qparams_per_token_asymmetric.default", QUANT_CHOOSE, SCHEME_TOKEN },
	{ "torchao.choose_qparams_affine.default", QUANT_CHOOSE, SCHEME_AFFINE },
};

static int arg_of(const struct op *op, const char *const *names)
{
	for (; *names; names++)
		if (op_arg(op, *names) >= 0)
			return op_arg(op, *names);
	return -1;
}

#define ARG(op, ...) arg_of((op), (const char *const[]){ __VA_ARGS__, NULL })

bool quant_find(const struct op *op, struct quant_op *q)
{
	*q = (struct quant_op){ .role = QUANT_NONE };
	if (!(op->flags & OP_QUANTIZE))
		return false;
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (op_is(op, ops[i].op)) {
			q->role = ops[i].role;
			q->scheme = ops[i].scheme;
			q->scale = ARG(op, "scale", "scales");
			q->zero_point = ARG(op, "zero_point", "zero_points");
			q->low = ARG(op, "quant_min");
			q->high = ARG(op, "quant_max");
			q->detail = ARG(op, "axis", "group_size", "block_size");
			return true;
		}
	return false;
}

const struct node *quant_def(const struct value *v, enum quant_role role)
{
	struct quant_op q;

	return v && v->kind == VALUE_NODE && quant_find(v->def->op, &q) && q.role == role ? v->def : NULL;
}

bool quant_is_dynamic(const struct node *n)
{
	struct quant_op q;
	const struct value *scale = quant_find(n->op, &q) ? node_input(n, q.scale) : NULL;

	return scale && quant_def(scale, QUANT_CHOOSE) != NULL;
}

/* Affine blocks: [1, in] is one scale a channel, [1, g] groups; XNNPACK holds int4 in groups always. */
static void read_block(const struct node *dq, int arg, struct weight_quant *w)
{
	const struct value *v = w->data;
	int64_t block[MAX_RANK], whole = 1;
	int n;

	w->kind = WEIGHT_OTHER;
	if (!node_ints(dq, arg, block, MAX_RANK, &n) || n != v->rank || n < 2 || block[0] != 1)
		return;
	for (int d = 1; d < n; d++)
		whole &= block[d] == v->size[d];
	w->axis = 0;
	w->group_size = (int)block[1];
	if (w->int4 && n == 2)
		w->kind = WEIGHT_GROUP;
	else if (whole)
		w->kind = WEIGHT_CHANNEL;
	else if (n == 2)
		w->kind = WEIGHT_GROUP;
}

static void read_scheme(const struct node *dq, const struct quant_op *q, struct weight_quant *w)
{
	w->scales = node_input(dq, q->scale);
	switch (q->scheme) {
	case SCHEME_TENSOR:
		w->kind = WEIGHT_TENSOR;
		w->scale = node_double(dq, q->scale, 0);
		w->zero_point = node_int(dq, q->zero_point, 0);
		return;
	case SCHEME_CHANNEL:
		w->kind = WEIGHT_CHANNEL;
		w->axis = (int)node_int(dq, q->detail, 0);
		w->axis += w->axis < 0 ? w->data->rank : 0;
		return;
	case SCHEME_GROUP:
		w->kind = WEIGHT_GROUP;
		w->group_size = (int)node_int(dq, q->detail, 0);
		return;
	case SCHEME_AFFINE:
		read_block(dq, q->detail, w);
		return;
	default:
		w->kind = WEIGHT_OTHER;
	}
}

bool weight_quant_of(const struct value *weight, struct weight_quant *w)
{
	const struct node *dq = quant_def(weight, QUANT_DEQUANTIZE);
	struct quant_op q;

	memset(w, 0, sizeof *w);
	if (!dq)
		return false;
	quant_find(dq->op, &q);
	w->dequantize = dq;
	w->data = node_input(dq, 0);
	if (!w->data)
		return false;
	w->int4 = w->data->dtype == DTYPE_INT4 ||
		  (node_int(dq, q.low, -128) == -8 && node_int(dq, q.high, 127) == 7);
	if (q.zero_point >= 0)
		w->zero_points = node_input(dq, q.zero_point);
	read_scheme(dq, &q, w);
	return true;
}

/* Zero points of weights are not stored in a delegate: they must be 0. Values not at hand are taken to be. */
static bool zero_points_are_zero(const struct weight_quant *w)
{
	const struct value *z = w->zero_points;

	if (w->zero_point)
		return false;
	if (!z || z->kind != VALUE_CONSTANT || !z->data || !dtype_bytes(z->dtype))
		return true;
	for (int64_t i = 0, n = dtype_numel(z->rank, z->size); i < n; i++)
		if (dtype_get(z->dtype, z->data, (size_t)i) != 0)
			return false;
	return true;
}

static void check_groups(struct rule_run *r, const struct weight_quant *w)
{
	const struct value *v = w->data;
	int64_t g = w->group_size;

	if (!rule_check(r, w->int4, "groupwise weights are int4", "quant_params",
			"int8 weights in groups of %lld are not supported", (long long)g))
		return;
	rule_check(r, v->rank == 2, "a groupwise weight is 2-D", "rank",
		   "groupwise weight has %d dimensions, must have 2", v->rank);
	if (v->rank == 2)
		rule_check(r, g > 0 && g % 32 == 0 && v->size[1] % g == 0,
			   "groups are multiples of 32 that divide the row", "quant_params",
			   "int4 group size is %lld for rows of %lld, must be a multiple of 32 that divides them",
			   (long long)g, (long long)v->size[1]);
}

static void check_scales(struct rule_run *r, const struct weight_quant *w)
{
	const struct value *v = w->data, *s = w->scales;
	int64_t want = w->kind == WEIGHT_CHANNEL ? v->size[w->axis < v->rank ? w->axis : 0] :
						   dtype_numel(v->rank, v->size) / (w->group_size ? w->group_size : 1);

	if (check_static(r, s, "weight scale"))
		rule_check(r, dtype_numel(s->rank, s->size) == want, "one scale a channel or group", "quant_params",
			   "weight has %lld scales, must have %lld", (long long)dtype_numel(s->rank, s->size),
			   (long long)want);
}

void check_weight_quant(struct rule_run *r, const struct weight_quant *w)
{
	const struct value *v = w->data;

	if (!rule_check(r, v->dtype == DTYPE_I8 || v->dtype == DTYPE_INT4, "weight is int8 or int4", "quant_params",
			"weight is %s: unsigned and wide quantisation is not supported", dtype_name(v->dtype)))
		return;
	if (!check_static(r, v, "weight"))
		return;
	if (!rule_check(r, w->kind != WEIGHT_OTHER, "weight is quantised per tensor, channel or group", "quant_params",
			"weight is quantised in blocks XNNPACK has no form for"))
		return;
	rule_check(r, zero_points_are_zero(w), "zero points of the weight are 0", "quant_params",
		   "weight has zero points other than 0");
	if (w->kind == WEIGHT_GROUP)
		check_groups(r, w);
	if (w->kind != WEIGHT_TENSOR)
		check_scales(r, w);
}
