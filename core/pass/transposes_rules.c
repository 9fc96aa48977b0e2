#include "core/pass/transposes_rules.h"

#include "core/op/op.h"

#include <string.h>

bool perm_is_identity(const struct perm *p)
{
	for (int d = 0; d < p->rank; d++)
		if (p->at[d] != d)
			return false;
	return true;
}

bool perm_equal(const struct perm *a, const struct perm *b)
{
	return a->rank == b->rank && !memcmp(a->at, b->at, (size_t)a->rank);
}

/* A dimension as written, negative ones from the end; -1: out of range. */
static int dimension(int64_t d, int rank)
{
	d += d < 0 ? rank : 0;
	return d >= 0 && d < rank ? (int)d : -1;
}

bool perm_of_node(const struct node *n, struct perm *p)
{
	int64_t dims[MAX_RANK];
	unsigned seen = 0;

	if (!op_is(n->op, "aten.permute_copy.default") || !node_input(n, 0) ||
	    !node_ints(n, 1, dims, MAX_RANK, &p->rank) || p->rank != node_input(n, 0)->rank)
		return false;
	for (int d = 0; d < p->rank; d++) {
		int at = dimension(dims[d], p->rank);

		if (at < 0 || seen & 1u << at)
			return false;
		seen |= 1u << at;
		p->at[d] = (uint8_t)at;
	}
	return true;
}

/* ---- operators with literals ---- */

typedef bool move_fn(const struct node *n, const struct perm *p, struct arg *arg, struct perm *out, struct arena *a);

static bool move_same(const struct node *n, const struct perm *p, struct arg *arg, struct perm *out, struct arena *a)
{
	*out = *p;
	return n->out[0]->rank == p->rank;
}

/* A copy in the dim order that its input has. */
static bool move_clone(const struct node *n, const struct perm *p, struct arg *arg, struct perm *out, struct arena *a)
{
	return n->nargs > 2 && n->arg[2].kind == ARG_NONE && move_same(n, p, arg, out, a);
}

/* (tensors, dim) and (self, dim, ...) */
static bool move_dim(const struct node *n, const struct perm *p, struct arg *arg, struct perm *out, struct arena *a)
{
	int d = n->arg[1].kind == ARG_INT ? dimension(n->arg[1].i, p->rank) : -1;

	if (d < 0)
		return false;
	arg[1] = arg_int(p->at[d]);
	return move_same(n, p, arg, out, a);
}

static struct arg int_list(struct arena *a, const int64_t *at, int n)
{
	struct arg list = { .kind = ARG_LIST };

	list.list.n = n;
	list.list.at = arena_array(a, (size_t)n, sizeof *list.list.at);
	for (int i = 0; i < n; i++)
		list.list.at[i] = arg_int(at[i]);
	return list;
}

/* (self, pad, value): before and after, last dimension first */
static bool move_pad(const struct node *n, const struct perm *p, struct arg *arg, struct perm *out, struct arena *a)
{
	int64_t from[2 * MAX_RANK], to[2 * MAX_RANK] = { 0 };
	int count;

	if (!node_ints(n, 1, from, 2 * MAX_RANK, &count) || count % 2 || count > 2 * p->rank)
		return false;
	for (int i = 0; i < count; i += 2) {
		int d = p->at[p->rank - 1 - i / 2], k = 2 * (p->rank - 1 - d);

		to[k] = from[i];
		to[k + 1] = from[i + 1];
	}
	arg[1] = int_list(a, to, 2 * p->rank);
	return move_same(n, p, arg, out, a);
}

/* (self, dims, keepdim, ...): the dimensions that stay keep their order among each other in u. */
static bool move_reduce(const struct node *n, const struct perm *p, struct arg *arg, struct perm *out, struct arena *a)
{
	int64_t dims[MAX_RANK];
	bool gone[MAX_RANK] = { false };
	int count, keep = (int)node_int(n, 2, 0);

	if (!node_ints(n, 1, dims, MAX_RANK, &count) || !count)
		return false;
	for (int i = 0; i < count; i++) {
		int d = dimension(dims[i], p->rank);

		if (d < 0)
			return false;
		dims[i] = p->at[d];
		gone[p->at[d]] = !keep;
	}
	arg[1] = int_list(a, dims, count);
	out->rank = 0;
	for (int d = 0; d < p->rank; d++) {
		int place = 0;

		for (int u = 0; u < p->at[d]; u++)
			place += !gone[u];
		if (!gone[p->at[d]])
			out->at[out->rank++] = (uint8_t)place;
	}
	return out->rank == n->out[0]->rank;
}

static const struct { const char *op; move_fn *move; } moves[] = {
	{ "aten.cat.default", move_dim },
	{ "aten.slice_copy.Tensor", move_dim },
	{ "aten.constant_pad_nd.default", move_pad },
	{ "aten.mean.dim", move_reduce },
	{ "aten.sum.dim_IntList", move_reduce },
	{ "aten.amax.default", move_reduce },
	{ "aten.amin.default", move_reduce },
	{ "dim_order_ops._clone_dim_order.default", move_clone },
	{ "quantized_decomposed.quantize_per_tensor.default", move_same },
	{ "quantized_decomposed.quantize_per_tensor.tensor", move_same },
	{ "quantized_decomposed.dequantize_per_tensor.default", move_same },
	{ "quantized_decomposed.dequantize_per_tensor.tensor", move_same },
};

bool perm_moves_through(const struct node *n, const struct perm *p, struct arg *arg, struct perm *out, struct arena *a)
{
	if (n->nouts != 1 || !op_is_pure(n->op))
		return false;
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
		if (op_is(n->op, moves[i].op))
			return moves[i].move(n, p, arg, out, a);
	return n->op->flags & OP_ELEMENTWISE && move_same(n, p, arg, out, a);
}

/* ---- operators that do not look ---- */

/* Dimensions of more than one element keep their order: the same elements in the same order in memory. */
static bool only_moves_ones(const struct value *v, const struct perm *p)
{
	int last = -1;

	for (int d = 0; d < p->rank; d++)
		if (v->size[d] != 1 || v->dynamic) {
			if (p->at[d] < last)
				return false;
			last = p->at[d];
		}
	return true;
}

bool perm_does_not_matter(const struct node *n, const struct value *v, const struct perm *p)
{
	if (op_is(n->op, "quantized_decomposed.choose_qparams.tensor"))
		return true;
	return op_is(n->op, "aten.view_copy.default") && value_is_default_order(v) && only_moves_ones(v, p);
}
