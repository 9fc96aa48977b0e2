#include "core/session/cost.h"

#include "core/op/op.h"

#include <string.h>

static double numel(const struct value *v)
{
	double n = 1;

	for (int d = 0; v && d < v->rank; d++)
		n *= (double)v->size[d];
	return v ? n : 0;
}

static double largest_input(const struct node *n)
{
	double most = 0;

	for (int i = 0; i < n->nargs; i++)
		if (node_input(n, i) && numel(node_input(n, i)) > most)
			most = numel(node_input(n, i));
	return most;
}

/* Elements of each filter times the positions it is laid on. */
static double convolution(const struct node *n)
{
	const struct value *in = node_input(n, op_activation_arg(n->op)), *w = node_input(n, op_weight_arg(n->op));
	bool transposed = node_int(n, op_arg(n->op, "transposed"), 0);

	return !in || !w || w->rank < 2 || !w->size[0] ? 0 :
	       2 * numel(transposed ? in : n->out[0]) * numel(w) / (double)w->size[0];
}

static double matmul(const struct node *n)
{
	const struct value *in = node_input(n, op_activation_arg(n->op));

	return in && in->rank ? 2 * numel(n->out[0]) * (double)in->size[in->rank - 1] : 0;
}

static double window(const struct node *n)
{
	int64_t size[3];
	int count;
	double area = 1;

	if (!node_ints(n, op_arg(n->op, "kernel_size"), size, 3, &count))
		return 0;
	for (int i = 0; i < count; i++)
		area *= (double)size[i];
	return area * (count == 1 ? area : 1);
}

/* Operators that move numbers and compute none, told by what their names end in. */
static bool only_moves(const struct op *op)
{
	static const char *const words[] = {
		"_copy.", ".clone.", "_clone_", "_to_copy.", ".cat.", ".stack.", ".repeat", ".expand", ".permute",
		".constant_pad_nd.", ".pixel_", ".embedding.", ".index", ".gather.", ".select", ".slice", ".split", ".flip.",
		".roll.", ".full", ".empty", ".arange.", ".copy_", ".scatter", ".upsample_nearest", "sym_size", NULL,
	};

	for (const char *const *w = words; *w; w++)
		if (strstr(op->name, *w))
			return true;
	return op->flags & (OP_VIEW | OP_FACTORY | OP_OPAQUE);
}

double cost_flops(const struct node *n)
{
	double area;

	if (!n->nouts || only_moves(n->op))
		return 0;
	if (n->op->flags & OP_GEMM)
		return op_arg(n->op, "stride") >= 0 ? convolution(n) : matmul(n);
	if (n->op->flags & OP_ELEMENTWISE)
		return numel(n->out[0]);
	area = window(n);
	return area > 0 ? area * numel(n->out[0]) : numel(n->out[0]) > largest_input(n) ? numel(n->out[0]) : largest_input(n);
}

static void add_bytes(struct value *v, void *ctx)
{
	*(uint64_t *)ctx += v->bytes;
}

uint64_t cost_bytes(const struct node *n)
{
	uint64_t bytes = 0;

	if (n->op->flags & OP_VIEW)
		return 0;
	node_each_input(n, add_bytes, &bytes);
	for (int i = 0; i < n->nouts; i++)
		bytes += n->out[i]->bytes;
	return bytes;
}
