/* Lowering of operators that move elements, and softmax. */
#include "core/xnn/doubt.h"
#include "core/xnn/lowering.h"

#include <string.h>

/* The value goes on under another name; a dim order is only met where the group's results leave. */
bool lower_same(struct xlower *x, const struct node *n, struct error *err)
{
	const struct value *in = node_input(n, 0);
	enum layout l = lower_layout(x, n);
	uint32_t id;

	if (in->dtype != n->out[0]->dtype)
		return true;	/* a cast of a filter or bias, which the convolution stores as it was */
	if (!lower_in(x, n, in, l, &id, err))
		return false;
	lower_alias(x, n, l, id);
	return true;
}

bool lower_softmax(struct xlower *x, const struct node *n, struct error *err)
{
	uint32_t in;

	if (!lower_in(x, n, node_input(n, 0), NCHW, &in, err))	/* XNNPACK's is along the last dimension in memory */
		return false;
	lower_emit_unary(x, n, X_SOFTMAX, in, lower_out(x, n, NCHW));
	if (!n->origin.doubt)	/* a right one must not read as one that the stock lowering gets wrong */
		x->node.at[x->node.n - 1].debug_handle = NO_HANDLE;
	return true;
}

/* Whether the value's bytes are the same in both layouts. */
static bool layouts_agree(const struct value *v)
{
	return v->rank == 4 && !v->dynamic && (v->size[1] == 1 || v->size[2] * v->size[3] == 1);
}

static bool view_shape(const struct node *n, uint32_t *shape, int *rank)
{
	const struct value *out = n->out[0], *in = node_input(n, 0);
	int64_t size[MAX_RANK];
	int count, at;

	*rank = out->rank ? out->rank : 1;
	shape[0] = 1;
	for (int d = 0; d < out->rank; d++)
		shape[d] = (uint32_t)out->size[d];
	if (!op_is(n->op, "aten.view_copy.default")) {		/* unsqueeze */
		if (!reshape_holds(in, 0, &at))
			return false;
		if (at >= 0)
			shape[at] = 0;
		return true;
	}
	if (!node_ints(n, 1, size, MAX_RANK, &count))
		return false;
	for (int d = 0; d < count; d++)
		shape[d] = size[d] == -1 ? 0 : (uint32_t)size[d];
	return true;
}

bool lower_view(struct xlower *x, const struct node *n, struct error *err)
{
	const struct value *in = node_input(n, 0);
	uint32_t shape[MAX_RANK], id;
	int rank;

	if (!lower_in(x, n, in, layouts_agree(in) ? value_layout(x, in) : NCHW, &id, err))
		return false;
	if (value_same_shape(in, n->out[0]) && !in->dynamic && value_layout(x, in) == NCHW) {
		lower_alias(x, n, NCHW, id);
		return true;
	}
	if (!view_shape(n, shape, &rank))
		return error_set(err, ERROR_UNSUPPORTED, "the new shape does not hold for all sizes");
	lower_emit_reshape(x, id, lower_out(x, n, NCHW), shape, rank);
	return true;
}

/* The permutation as seen in memory, from a layout of the input to one of the output; true when nothing moves. */
static bool physical_perm(const int64_t *dims, int rank, enum layout from, enum layout to, uint32_t *perm)
{
	bool same = true;

	for (int d = 0; d < rank; d++)
		perm[layout_dim(to, rank, d)] = (uint32_t)layout_dim(from, rank, (int)dims[d]);
	for (int d = 0; d < rank; d++)
		same &= perm[d] == (uint32_t)d;
	return same;
}

bool lower_permute(struct xlower *x, const struct node *n, struct error *err)
{
	const struct value *in = node_input(n, 0);
	enum layout from = in->rank == 4 ? value_layout(x, in) : NCHW;
	int64_t dims[MAX_RANK];
	uint32_t perm[MAX_RANK], id;
	int rank;

	if (!node_ints(n, 1, dims, MAX_RANK, &rank) || rank != in->rank || rank > XMAX_RANK)
		return error_set(err, ERROR_UNSUPPORTED, "dims are no permutation");
	for (int d = 0; d < rank; d++)
		dims[d] += dims[d] < 0 ? rank : 0;
	if (!lower_in(x, n, in, from, &id, err))
		return false;
	for (enum layout to = NCHW; to <= (rank == 4 ? NHWC : NCHW); to++)
		if (physical_perm(dims, rank, from, to, perm)) {
			lower_alias(x, n, to, id);
			return true;
		}
	physical_perm(dims, rank, from, NCHW, perm);
	lower_emit_transpose(x, id, lower_out(x, n, NCHW), perm, rank);
	return true;
}

static int concatenate(struct xlower *x, const struct node *n, const uint32_t *in, int count, int axis, uint32_t out)
{
	static const enum xtag tags[] = { X_CONCATENATE2, X_CONCATENATE3, X_CONCATENATE4, X_CONCATENATE5 };
	static const int fields[] = { XK_IN1, XK_IN2, XK_IN3, XK_IN4, XK_IN5 };
	struct xnode *node = lower_node(x, n, tags[count - 2]);

	node->field[XK_AXIS] = (uint32_t)axis;
	for (int i = 0; i < 5; i++)
		node->field[fields[i]] = i < count ? in[i] : XNONE;
	node->field[XK_OUT] = out;
	return count;
}

/* More than five go five by five: the first five, then that and four more, and so on. */
static void cat_chain(struct xlower *x, const struct node *n, uint32_t *in, int count, int axis, uint32_t out)
{
	while (count > 5) {
		const struct xvalue like = x->value.at[in[0]];
		uint32_t dim[XMAX_RANK], part;

		memcpy(dim, like.dim, sizeof dim);
		for (int i = 1; i < 5; i++)
			dim[axis] += x->value.at[in[i]].dim[axis];
		part = lower_out_raw(x, lower_result(x, n), like.rank, dim);
		concatenate(x, n, in, 5, axis, part);
		in[0] = part;
		memmove(in + 1, in + 5, (size_t)(count - 5) * sizeof *in);
		count -= 4;
	}
	concatenate(x, n, in, count, axis, out);
}

bool lower_cat(struct xlower *x, const struct node *n, struct error *err)
{
	const struct arg *list = &n->arg[0];
	int rank = n->out[0]->rank, dim = (int)node_int(n, 1, 0);
	enum layout l = lower_layout(x, n);
	uint32_t *in;

	if (list->kind != ARG_LIST || list->list.n < 2)
		return error_set(err, ERROR_UNSUPPORTED, "needs at least 2 tensors");
	in = arena_array(&x->scratch, (size_t)list->list.n, sizeof *in);
	for (int i = 0; i < list->list.n; i++)
		if (!lower_in(x, n, list->list.at[i].value, l, &in[i], err))
			return false;
	dim = layout_dim(l, rank, dim < 0 ? dim + rank : dim);
	cat_chain(x, n, in, list->list.n, dim, lower_out(x, n, l));
	return true;
}

/* Integers in, integers of the same parameters out: the zero that XNNPACK pads with is theirs. */
static void keep_integers(struct xlower *x, uint32_t in, uint32_t out)
{
	const struct xvalue *from = &x->value.at[in];
	struct xvalue *to = &x->value.at[out];

	to->datatype = from->datatype;
	to->quant = from->quant;
	to->scale = from->scale;
	to->zero_point = from->zero_point;
}

bool lower_pad(struct xlower *x, const struct node *n, struct error *err)
{
	const struct value *in = node_input(n, 0);
	uint32_t pre[XMAX_RANK] = { 0 }, post[XMAX_RANK] = { 0 }, id, out;
	bool integers = lower_member(x, n)->quantized;		/* for a convolution, which reads NHWC */
	enum layout l = integers ? NHWC : lower_layout(x, n);
	int64_t pad[2 * MAX_RANK];
	struct xnode *node;
	int count;

	if (!node_ints(n, 1, pad, 2 * MAX_RANK, &count) || count > 2 * in->rank)
		return error_set(err, ERROR_UNSUPPORTED, "padding is not literal");
	if (!lower_in(x, n, in, l, &id, err))
		return false;
	for (int i = 0; i < count / 2; i++) {	/* last dimension first */
		int d = layout_dim(l, in->rank, in->rank - 1 - i);

		pre[d] = (uint32_t)pad[2 * i];
		post[d] = (uint32_t)pad[2 * i + 1];
	}
	out = lower_out(x, n, l);
	if (integers)
		keep_integers(x, id, out);
	node = lower_node(x, n, X_STATIC_CONSTANT_PAD);
	lower_list(x, node, XPAD_PRE, pre, layout_rank(l, in->rank));
	lower_list(x, node, XPAD_POST, post, layout_rank(l, in->rank));
	xnode_set_f32(node, XPAD_VALUE, (float)node_double(n, 2, 0));
	node->field[XPAD_IN] = id;
	node->field[XPAD_OUT] = out;
	return true;
}

bool lower_slice(struct xlower *x, const struct node *n, struct error *err)
{
	const struct value *in = node_input(n, 0);
	uint32_t offset[XMAX_RANK] = { 0 }, size[XMAX_RANK + 1], id, out;
	enum layout l = lower_layout(x, n);
	int64_t dim = node_int(n, 1, 0), start = node_int(n, 2, 0);
	struct xnode *node;

	if (in->dynamic || node_int(n, 4, 1) != 1)
		return error_set(err, ERROR_UNSUPPORTED, "a slice needs static sizes and step 1");
	if (!lower_in(x, n, in, l, &id, err))
		return false;
	dim += dim < 0 ? in->rank : 0;
	start += start < 0 ? in->size[dim] : 0;
	start = start < 0 ? 0 : start > in->size[dim] ? in->size[dim] : start;
	offset[layout_dim(l, in->rank, (int)dim)] = (uint32_t)start;
	layout_sizes(l, n->out[0], size);
	out = lower_out(x, n, l);
	node = lower_node(x, n, X_STATIC_SLICE);
	node->field[XS_RANK] = (uint32_t)layout_rank(l, in->rank);
	lower_list(x, node, XS_OFFSETS, offset, layout_rank(l, in->rank));
	lower_list(x, node, XS_SIZES, size, layout_rank(l, in->rank));
	node->field[XS_IN] = id;
	node->field[XS_OUT] = out;
	return true;
}
