/* IR values as XNNPACK values: external ones, layouts, and the transposes between them. */
#include "core/xnn/lowering.h"

#include <string.h>

static const uint32_t to_nhwc[4] = { 0, 2, 3, 1 }, to_nchw[4] = { 0, 3, 1, 2 };

static bool has_layouts(int rank)
{
	return rank == 3 || rank == 4;
}

int layout_rank(enum layout l, int rank)
{
	return l == NHWC && rank == 3 ? 4 : rank;
}

int layout_dim(enum layout l, int rank, int dim)
{
	static const uint8_t at[2][4] = { { 0, 3, 1, 0 }, { 0, 3, 1, 2 } };	/* rank 3: [N, C, L] is [N, L, 1, C] */

	return l == NHWC && has_layouts(rank) ? at[rank - 3][dim] : dim;
}

void layout_sizes(enum layout l, const struct value *v, uint32_t *dim)
{
	dim[0] = 1;
	for (int d = 0; d < layout_rank(l, v->rank); d++)
		dim[d] = 1;
	for (int d = 0; d < v->rank; d++)
		dim[layout_dim(l, v->rank, d)] = (uint32_t)v->size[d];
}

bool reshape_holds(const struct value *v, unsigned fixed, int *inferred)
{
	*inferred = -1;
	if (!v->dynamic)
		return true;
	for (int d = 0; d < v->rank; d++) {
		if (fixed & 1u << d || v->size[d] == 1)
			continue;
		if (*inferred >= 0)
			return false;
		*inferred = d;
	}
	return true;
}

struct xslot *lower_slot(struct xlower *x, const struct value *v)
{
	struct xslot *s = map_get(&x->slot, &v->id, sizeof v->id);

	if (!s) {
		s = arena_alloc(&x->scratch, sizeof *s);
		s->id[NCHW] = s->id[NHWC] = XNONE;
		map_put(&x->slot, &x->scratch, &v->id, sizeof v->id, s);
	}
	return s;
}

static enum xdatatype datatype_of(enum dtype t)
{
	return t == DTYPE_F16 ? XD_FP16 : t == DTYPE_BF16 ? XD_BF16 : t == DTYPE_I8 ? XD_QINT8 : XD_FP32;
}

/* The parameters of an int8 value: those of the node that made it, or that reads it. */
static void set_quant(struct xlower *x, const struct value *v, struct xvalue *to)
{
	const struct node *n = quant_def(v, QUANT_QUANTIZE);
	struct quant_op q;

	for (int i = 0; !n && i < v->nuses; i++)
		if (v->use[i].node->group == x->group && quant_find(v->use[i].node->op, &q) &&
		    q.role == QUANT_DEQUANTIZE)
			n = v->use[i].node;
	if (!n || !quant_find(n->op, &q))
		return;
	to->quant = XQ_TENSOR;
	to->scale = (float)node_double(n, q.scale, 1);
	to->zero_point = (int32_t)node_int(n, q.zero_point, 0);
}

uint32_t lower_out_raw(struct xlower *x, const struct value *v, int rank, const uint32_t *dim)
{
	struct xvalue to = {
		.id = (uint32_t)x->value.n, .datatype = datatype_of(v->dtype), .external_id = XNONE, .rank = rank ? rank : 1,
	};

	to.dim[0] = 1;
	for (int d = 0; d < rank; d++)
		to.dim[d] = dim[d];
	if (to.datatype == XD_QINT8)
		set_quant(x, v, &to);
	vec_push(x->mem, &x->value, to);
	return to.id;
}

static uint32_t make(struct xlower *x, const struct value *v, enum layout l)
{
	uint32_t dim[XMAX_RANK + 1];

	layout_sizes(l, v, dim);
	return lower_out_raw(x, v, layout_rank(l, v->rank), dim);
}

uint32_t lower_out(struct xlower *x, const struct node *n, enum layout l)
{
	const struct value *v = lower_result(x, n);
	struct xslot *s = lower_slot(x, v);

	if (!has_layouts(v->rank))
		l = NCHW;
	s->native = l;
	return s->id[l] = make(x, v, l);
}

void lower_alias(struct xlower *x, const struct node *n, enum layout l, uint32_t id)
{
	struct xslot *s = lower_slot(x, lower_result(x, n));

	s->native = l;
	s->id[l] = id;
}

/* The shape literal that makes [N, L, C] out of [N, L, 1, C] and back; channels (the last) never vary here. */
static bool reshape_3d(struct xlower *x, const struct value *v, uint32_t in, uint32_t out, int rank, struct error *err)
{
	uint32_t shape[4] = { (uint32_t)v->size[0], (uint32_t)v->size[2], 1, (uint32_t)v->size[1] };
	int vary;

	if (!reshape_holds(v, 1 << 1, &vary))
		return error_set(err, ERROR_UNSUPPORTED,
				 "sizes are dynamic in more than one dimension: no reshape to 4-D holds");
	if (vary >= 0)
		shape[vary == 0 ? 0 : 1] = 0;
	if (rank == 3)
		shape[2] = shape[3];
	lower_emit_reshape(x, in, out, shape, rank);
	return true;
}

static bool convert_3d(struct xlower *x, const struct value *v, struct xslot *s, enum layout l, struct error *err)
{
	uint32_t dim[3] = { (uint32_t)v->size[0], (uint32_t)v->size[2], (uint32_t)v->size[1] };
	static const uint32_t swap[3] = { 0, 2, 1 };
	uint32_t nlc = lower_out_raw(x, v, 3, dim), to = make(x, v, l);

	if (l == NHWC) {
		lower_emit_transpose(x, s->id[NCHW], nlc, swap, 3);
		s->id[NHWC] = to;
		return reshape_3d(x, v, nlc, to, 4, err);
	}
	if (!reshape_3d(x, v, s->id[NHWC], nlc, 3, err))
		return false;
	lower_emit_transpose(x, nlc, to, swap, 3);
	s->id[NCHW] = to;
	return true;
}

static bool convert(struct xlower *x, const struct value *v, struct xslot *s, enum layout l, struct error *err)
{
	uint32_t to;

	if (v->rank == 3)
		return convert_3d(x, v, s, l, err);
	to = make(x, v, l);
	lower_emit_transpose(x, s->id[!l], to, l == NHWC ? to_nhwc : to_nchw, 4);
	s->id[l] = to;
	return true;
}

static bool is_order(const struct value *v, const uint32_t *order)
{
	for (int d = 0; d < v->rank; d++)
		if (v->dim_order[d] != order[d])
			return false;
	return true;
}

enum layout value_layout(struct xlower *x, const struct value *v)
{
	const struct xslot *s = lower_slot(x, v);

	if (s->id[NCHW] != XNONE || s->id[NHWC] != XNONE)
		return s->native;
	return v->rank == 4 && is_order(v, to_nhwc) ? NHWC : NCHW;
}

/* An argument of the delegate call: its shape is that of its bytes in memory. */
static bool external_input(struct xlower *x, const struct value *v, struct xslot *s, struct error *err)
{
	uint32_t dim[XMAX_RANK], perm[XMAX_RANK], raw;

	if (v->rank > XMAX_RANK)
		return error_set(err, ERROR_UNSUPPORTED,
				 "an argument of the delegate has %d dimensions, at most 6 are possible", v->rank);
	for (int d = 0; d < v->rank; d++) {
		dim[d] = (uint32_t)v->size[v->dim_order[d]];
		perm[v->dim_order[d]] = (uint32_t)d;
	}
	raw = lower_out_raw(x, v, v->rank, dim);
	x->value.at[raw].flags = XFLAG_INPUT;
	x->value.at[raw].external_id = (uint32_t)x->arg.n;
	vec_push(x->mem, &x->arg, (struct value *)v);
	if (value_is_default_order(v)) {
		s->id[NCHW] = raw;
	} else if (v->rank == 4 && is_order(v, to_nhwc)) {
		s->native = NHWC;
		s->id[NHWC] = raw;
	} else {
		s->id[NCHW] = make(x, v, NCHW);
		lower_emit_transpose(x, raw, s->id[NCHW], perm, v->rank);
	}
	return true;
}

/* A dequantise node is made when someone wants the float. */
static bool emit_dequantize(struct xlower *x, const struct node *dq, struct xslot *s, struct error *err)
{
	const struct value *from = node_input(dq, 0);
	enum layout l = value_layout(x, from);
	struct quant_op q;
	uint32_t in;

	if (!quant_find(dq->op, &q) || q.role != QUANT_DEQUANTIZE || q.scheme != SCHEME_TENSOR)
		return error_set(err, ERROR_UNSUPPORTED, "%s has no XNNPACK form of its own", dq->op->name);
	if (!lower_in(x, dq, from, l, &in, err))
		return false;
	s->native = l;
	s->id[l] = make(x, dq->out[0], l);
	lower_emit_unary(x, dq, X_CONVERT, in, s->id[l]);
	return true;
}

static bool first_use(struct xlower *x, const struct value *v, struct xslot *s, struct error *err)
{
	char id[128];

	if (v->kind != VALUE_NODE || v->def->group != x->group)
		return external_input(x, v, s, err);
	if (quant_def(v, QUANT_DEQUANTIZE))
		return emit_dequantize(x, v->def, s, err);
	return error_set(err, ERROR_UNSUPPORTED, "the value of %s is part of another XNNPACK node",
			 node_id(x->graph, v->def, id, sizeof id));
}

/* What a node reads: the integers behind a dequantise node where it computes on int8. */
static const struct value *operand(struct xlower *x, const struct node *n, const struct value *v)
{
	const struct xmember *m = lower_member(x, n);
	const struct node *dq = m && m->quantized ? quant_def(v, QUANT_DEQUANTIZE) : NULL;

	return dq && dq->group == x->group ? node_input(dq, 0) : v;
}

bool lower_in(struct xlower *x, const struct node *n, const struct value *v, enum layout l, uint32_t *id,
	      struct error *err)
{
	struct xslot *s;

	v = operand(x, n, v);
	if (!has_layouts(v->rank))
		l = NCHW;
	s = lower_slot(x, v);
	if (s->id[NCHW] == XNONE && s->id[NHWC] == XNONE && !first_use(x, v, s, err))
		return false;
	if (s->id[l] == XNONE && !convert(x, v, s, l, err))
		return false;
	*id = s->id[l];
	return true;
}

bool lower_in_broadcast(struct xlower *x, const struct node *n, const struct value *v, int rank, enum layout l,
			uint32_t *id, struct error *err)
{
	uint32_t shape[4] = { 1, 1, 1, 1 }, wide[4], in;
	struct value as;

	v = operand(x, n, v);
	if (dtype_numel(v->rank, v->size) == 1)
		l = value_layout(x, v);
	if (v->rank == rank || l == NCHW)
		return lower_in(x, NULL, v, l, id, err);
	if (!lower_in(x, NULL, v, NCHW, &in, err))
		return false;
	as = *v;
	as.rank = rank;		/* leading ones, then the layout; for both in one transpose, as a shape of rank 4 */
	for (int d = 0; d < rank; d++) {
		as.size[d] = d < rank - v->rank ? 1 : v->size[d - (rank - v->rank)];
		shape[d] = (uint32_t)as.size[d];
	}
	layout_sizes(NHWC, &as, wide);
	*id = lower_out_raw(x, v, 4, shape);
	lower_emit_reshape(x, in, *id, shape, 4);
	in = *id;
	*id = lower_out_raw(x, v, 4, wide);
	lower_emit_transpose(x, in, *id, to_nhwc, 4);	/* [1, C, L, 1] is [1, L, 1, C] just as well */
	return true;
}

struct look { struct xlower *x; int rank; bool any, all; };

static void look_at(struct value *v, void *ctx)
{
	struct look *k = ctx;
	const struct node *dq = quant_def(v, QUANT_DEQUANTIZE);

	if (dq && dq->group == k->x->group)
		v = node_input(dq, 0);
	if (v->rank == k->rank)
		k->any |= value_layout(k->x, v) == NHWC;
	else
		k->all &= v->rank < k->rank && !v->dynamic;
	if (v->rank == 3 && k->rank == 3)
		k->all &= reshape_holds(v, 1 << 1, &(int){ 0 });
}

enum layout lower_layout(struct xlower *x, const struct node *n)
{
	struct look k = { x, n->out[0]->rank, false, true };

	if (!has_layouts(k.rank))
		return NCHW;
	node_each_input(n, look_at, &k);
	return k.any && k.all ? NHWC : NCHW;
}

static bool memory_order(struct xlower *x, const struct value *v, uint32_t *id, struct error *err)
{
	uint32_t dim[XMAX_RANK], perm[XMAX_RANK], in;

	if (value_is_default_order(v))
		return lower_in(x, NULL, v, NCHW, id, err);
	if (v->rank == 4 && is_order(v, to_nhwc))
		return lower_in(x, NULL, v, NHWC, id, err);
	if (!lower_in(x, NULL, v, NCHW, &in, err))
		return false;
	for (int d = 0; d < v->rank; d++) {
		perm[d] = v->dim_order[d];
		dim[d] = (uint32_t)v->size[perm[d]];
	}
	*id = lower_out_raw(x, v, v->rank, dim);
	lower_emit_transpose(x, in, *id, perm, v->rank);
	return true;
}

bool lower_output(struct xlower *x, const struct value *v, uint32_t *id, struct error *err)
{
	if (!memory_order(x, v, id, err))
		return false;
	if (x->value.at[*id].flags) {	/* an argument passed through, or two results that are one */
		struct xvalue like = x->value.at[*id];
		uint32_t copy = lower_out_raw(x, v, like.rank, like.dim);

		lower_emit_unary(x, NULL, X_COPY, *id, copy);
		*id = copy;
	}
	x->value.at[*id].flags = XFLAG_OUTPUT;
	return true;
}

bool lower_quantize(struct xlower *x, const struct node *n, struct error *err)
{
	enum layout l = lower_layout(x, n);
	uint32_t in;

	if (!lower_in(x, n, node_input(n, 0), l, &in, err))
		return false;
	lower_emit_unary(x, n, X_CONVERT, in, lower_out(x, n, l));
	return true;
}

bool lower_quant_part(struct xlower *x, const struct node *n, struct error *err)
{
	return true;	/* made where it is read: emit_dequantize, or by the convolution or linear */
}
