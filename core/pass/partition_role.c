#include "core/pass/partition_parts.h"
#include "core/xnn/check.h"

/* A group that stays whole: another backend's, or one with a node that we would not delegate. An edited one is
 * taken apart, unless a node of it has no kernel outside. */
static void find_pinned(struct partition *p, const struct method *m, bool *pinned)
{
	for (const struct node *n = m->g->first; n; n = n->next) {
		const struct group *group = n->group >= 0 ? &m->g->group[n->group] : NULL;

		if (!group || pinned[n->group])
			continue;
		if (group->foreign || (m->role[n->order] == ROLE_PORTABLE && (!group->changed || !n->op->kernel_name)))
			pinned[n->group] = true;
	}
}

static bool at_hand(const struct value *v)
{
	return !v || v->kind != VALUE_CONSTANT || v->data;
}

/* Static data that is not there (no .ptd given) cannot be packed. */
static bool data_is_there(const struct node *n)
{
	struct gemm g;

	if (op_is(n->op, "aten._native_batch_norm_legit_no_training.default"))
		return at_hand(node_input(n, 1)) && at_hand(node_input(n, 2)) && at_hand(node_input(n, 3)) && at_hand(node_input(n, 4));
	if (!(n->op->flags & OP_GEMM) || op_weight_arg(n->op) < 0)
		return true;
	g = gemm_of(n);
	return at_hand(g.weight) && at_hand(g.bias) && at_hand(g.quant.data) && at_hand(g.quant.scales) &&
	       at_hand(g.bias_quant.data) && at_hand(g.bias_quant.scales);
}

static enum role judge(struct partition *p, const struct graph *g, const struct node *n)
{
	const struct xrule *rule = xrule_find(n->op);
	enum role r = ROLE_PORTABLE;

	if (rule && rule_judge(g, n, &p->scratch).kind == VERDICT_TAKES && data_is_there(n))
		r = rule->flags & XRULE_PART ? ROLE_PART : ROLE_TAKEN;
	arena_free(&p->scratch);
	return r;
}

void role_find(struct partition *p, struct method *m)
{
	bool *pinned = arena_array(&p->mem, (size_t)m->g->ngroups + 1, sizeof *pinned);

	graph_number(m->g);
	m->role = arena_array(&p->mem, (size_t)m->g->nnodes + 1, sizeof *m->role);
	for (const struct node *n = m->g->first; n; n = n->next)
		m->role[n->order] = judge(p, m->g, n);
	find_pinned(p, m, pinned);
	for (const struct node *n = m->g->first; n; n = n->next)
		if (n->group >= 0 && pinned[n->group])
			m->role[n->order] = ROLE_PINNED;
}

static bool readers_take(const struct method *m, const struct node *n)
{
	for (int i = 0; i < n->nouts; i++) {
		if (n->out[i]->noutputs)
			return false;
		for (int k = 0; k < n->out[i]->nuses; k++) {
			const struct node *user = n->out[i]->use[k].node;
			enum role r = m->role[user->order];

			if (r != ROLE_PART && !(r == ROLE_TAKEN && user->op->flags & OP_GEMM))
				return false;
		}
	}
	return true;
}

void role_settle(struct method *m)
{
	for (const struct node *n = m->g->last; n; n = n->prev)
		if (m->role[n->order] == ROLE_PART && !readers_take(m, n))
			m->role[n->order] = ROLE_PORTABLE;
}
