#include "core/pass/restate.h"

#include "core/op/op.h"
#include "core/xnn/check.h"

#include <string.h>

/* The same bytes under other sizes, which hold for every run. */
static bool is_static_view(const struct node *n)
{
	const struct value *in = node_input(n, 0), *out = n->nouts == 1 ? n->out[0] : NULL;

	return n->op->flags & OP_VIEW && in && out && !in->scalar && !in->dynamic && !out->dynamic && in->dtype == out->dtype &&
	       in->bytes == out->bytes && value_is_default_order(in) && value_is_default_order(out);
}

/* `by` computes what the old value is; false, and it is gone again, when XNNPACK would not take it. */
static bool put_in_place(struct graph *g, struct value *by, struct value *old)
{
	struct arena mem = { 0 };
	bool takes = rule_judge(g, by->def, &mem).kind == VERDICT_TAKES;

	arena_free(&mem);
	if (!takes || !value_same_shape(by, old)) {
		graph_remove(g, by->def);
		return false;
	}
	by->def->origin = old->def->origin;
	by->def->origin.kind = old->def->origin.kind == ORIGIN_VIEW ? ORIGIN_VIEW : ORIGIN_PASS;
	by->def->origin.serial = ++g->serial;
	graph_replace(g, old, by);
	return true;
}

static bool restate_view(struct graph *g, struct node *n, struct error *err)
{
	struct value *old = n->out[0], *by;
	struct arg arg[] = { n->arg[0], arg_ints(g, old->size, old->rank) };

	by = op_build(g, n, "aten.view_copy.default", arg, 2, err);
	if (!by)
		return false;
	if (put_in_place(g, by, old))
		graph_remove(g, n);
	return true;
}

static bool is_same_copy(const struct node *n)
{
	const struct value *in = node_input(n, 0), *out = n->nouts == 1 ? n->out[0] : NULL;

	return (op_is(n->op, "dim_order_ops._clone_dim_order.default") || op_is(n->op, "aten.clone.default") ||
		op_is(n->op, "aten.alias_copy.default")) &&
	       in && out && in->dtype == out->dtype && !memcmp(in->dim_order, out->dim_order, (size_t)out->rank);
}

static bool same_parameters(const struct node *q, const struct node *dq)
{
	struct quant_op a, b;

	return quant_find(q->op, &a) && quant_find(dq->op, &b) && a.scheme == SCHEME_TENSOR && b.scheme == SCHEME_TENSOR &&
	       node_double(q, a.scale, 0) == node_double(dq, b.scale, 0) &&
	       node_int(q, a.zero_point, 0) == node_int(dq, b.zero_point, 0) && node_int(q, a.low, 0) == -128 &&
	       node_int(q, a.high, 0) == 127;
}

/* The integers that a quantise node makes again. */
static struct value *same_integers(const struct node *q)
{
	const struct node *n = quant_def(q->nouts ? q->out[0] : NULL, QUANT_QUANTIZE);
	struct value *in = n ? node_input(n, 0) : NULL, *from;

	while (in && in->kind == VALUE_NODE && in->def->group < 0 && is_same_copy(in->def))
		in = node_input(in->def, 0);
	n = quant_def(in, QUANT_DEQUANTIZE);
	from = n && n->group < 0 && same_parameters(q, n) ? node_input(n, 0) : NULL;
	return from && from->kind == VALUE_NODE && from->dtype == DTYPE_I8 && q->out[0]->dtype == DTYPE_I8 &&
		       !memcmp(from->dim_order, q->out[0]->dim_order, (size_t)from->rank) ? from : NULL;
}

bool restate_apply(struct graph *g, struct error *err)
{
	bool ok = true, unread = false;

	for (struct node *n = g->first, *next; n && ok; n = next) {
		next = n->next;
		if (n->group < 0 && is_static_view(n) && !op_is(n->op, "aten.view_copy.default") &&
		    !op_is(n->op, "executorch_prim.et_view.default"))
			ok = restate_view(g, n, err);
	}
	for (struct node *n = g->first; n; n = n->next) {
		struct value *integers = n->group < 0 && n->op->flags & OP_QUANTIZE ? same_integers(n) : NULL;

		if (integers) {
			graph_replace(g, n->out[0], integers);
			unread = true;
		}
	}
	if (unread)
		graph_sweep(g);
	return ok;
}
