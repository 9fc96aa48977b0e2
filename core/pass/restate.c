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

bool restate_apply(struct graph *g, struct error *err)
{
	bool ok = true;

	for (struct node *n = g->first, *next; n && ok; n = next) {
		next = n->next;
		if (n->group < 0 && is_static_view(n) && !op_is(n->op, "aten.view_copy.default") &&
		    !op_is(n->op, "executorch_prim.et_view.default"))
			ok = restate_view(g, n, err);
	}
	return ok;
}
