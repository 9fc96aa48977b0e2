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

/* Whether n takes v as filter or bias, or hands it to such as do (dequantised, cast). */
static bool packs(const struct node *n, const struct value *v)
{
	struct gemm m;

	if (n->op->flags & OP_GEMM && op_weight_arg(n->op) >= 0 && !op_is(n->op, "aten.bmm.default")) {
		m = gemm_of(n);
		return m.act != v && (node_input(n, op_weight_arg(n->op)) == v || m.weight == v || m.bias == v ||
				      node_input(n, op_bias_arg(n->op)) == v);
	}
	if (!n->nouts || !(quant_def(n->out[0], QUANT_DEQUANTIZE) || cast_source(n->out[0], n->group)))
		return false;
	if (v != node_input(n, 0))
		return true;		/* scales and zero points belong to the value */
	for (int i = 0; i < n->out[0]->nuses; i++)
		if (n->out[0]->use[i].node->group != n->group || !packs(n->out[0]->use[i].node, n->out[0]))
			return false;
	return !n->out[0]->noutputs;
}

struct argument { const struct value *value; int64_t group; };

struct freed {
	struct map argument;		/* struct argument: constants that a group is called with */
	const struct node **node;	/* by group */
	const struct node *at;
};

static bool keeps_its_bytes(const struct group *group)
{
	return group->filed >= 0 && !group->foreign && !group->changed;
}

static void note_arguments(struct freed *f, const struct graph *g, struct arena *a)
{
	for (int i = 0; i < g->ngroups; i++)
		for (int k = 0; keeps_its_bytes(&g->group[i]) && k < g->group[i].nargs; k++) {
			struct argument key = { g->group[i].arg[k], i };

			if (key.value && key.value->kind == VALUE_CONSTANT)
				map_put(&f->argument, a, arena_copy(a, &key, sizeof key), sizeof key, f);
		}
}

static void look_for_freed(struct value *v, void *ctx)
{
	struct freed *f = ctx;
	struct argument key = { v, f->at->group };

	if (v->kind == VALUE_CONSTANT && !packs(f->at, v) && !map_get(&f->argument, &key, sizeof key))
		f->node[f->at->group] = f->at;
}

const struct node **groups_read_freed(const struct graph *g, struct arena *a)
{
	struct freed f = { .node = arena_array(a, (size_t)g->ngroups + 1, sizeof *f.node) };
	struct arena scratch = { 0 };

	note_arguments(&f, g, &scratch);
	for (const struct node *n = g->first; n; n = n->next) {
		if (n->group < 0 || f.node[n->group] || !keeps_its_bytes(&g->group[n->group]))
			continue;
		f.at = n;
		node_each_input(n, look_for_freed, &f);
	}
	for (const struct node *n = g->first; n; n = n->next)
		if (n->group >= 0 && n->op->flags & OP_OPAQUE)
			f.node[n->group] = NULL;	/* it could not be lowered again */
	arena_free(&scratch);
	return f.node;
}

/* Static data that is not there (no .ptd given) cannot be packed. */
static bool data_is_there(const struct node *n)
{
	struct gemm g;

	if (op_is(n->op, "aten._native_batch_norm_legit_no_training.default"))
		return at_hand(node_input(n, 1)) && at_hand(node_input(n, 2)) && at_hand(node_input(n, 3)) &&
		       at_hand(node_input(n, 4));
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
	const struct node **freed = groups_read_freed(m->g, &p->mem);

	for (int i = 0; i < m->g->ngroups; i++)
		if (m->repair && freed[i])
			m->g->group[i].changed = true;
	graph_number(m->g);
	m->role = arena_array(&p->mem, (size_t)m->g->nnodes + 1, sizeof *m->role);
	for (const struct node *n = m->g->first; n; n = n->next) {
		if (!work_goes_on(m->g->work, "asking XNNPACK's rules", n->order, m->g->nnodes, NULL))
			return;		/* who called asks again */
		m->role[n->order] = judge(p, m->g, n);
	}
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
