/* Groups: how many calls outside delegates must come after a node tells which group it is in.
 *
 * Walking from the end, a taken node's level is the largest of its taken users' levels and of 1 + the level behind its
 * other users, where a portable node has the largest level behind it, or -1. A path that leaves a level through a
 * portable node can only reach lower ones, so no group depends on itself; and since each level stands on a path
 * that alternates that often, there cannot be fewer groups. Nodes that depend on nothing join the latest, as the
 * reference does. */
#include "core/graph/units.h"
#include "core/pass/partition_parts.h"
#include "core/xnn/check.h"

#include <string.h>

struct need { int taken, other; };	/* level a unit asks of a taken node and of another before it; 0 and -1: none */

struct slot { struct need writer, readers; };

struct walk {
	struct method *m;
	const int *root;
	int *behind;		/* by node order: level behind a portable or pinned unit */
	struct slot *slot;
	struct need effect;
	struct need sum;	/* of the unit being looked at */
	bool writes;
};

static const struct need nothing = { 0, -1 };

static void add(struct need *sum, struct need n)
{
	sum->taken = n.taken > sum->taken ? n.taken : sum->taken;
	sum->other = n.other > sum->other ? n.other : sum->other;
}

static bool is_taken(const struct method *m, const struct node *n)
{
	return m->role[n->order] == ROLE_TAKEN || m->role[n->order] == ROLE_PART;
}

static struct need need_of(const struct walk *w, const struct node *n)
{
	int level = is_taken(w->m, n) ? w->m->level[n->order] : w->behind[n->order];

	return is_taken(w->m, n) ? (struct need){ level, level } : (struct need){ level + 1, level };
}

static struct slot *slot_of(const struct walk *w, const struct value *v)
{
	const struct value *at = w->m->g->value[w->root[v->id]];

	return at->kind == VALUE_STATE && at->state_slot >= 0 ? &w->slot[at->state_slot] : NULL;
}

/* What must come after: readers of the results, and for state the next writer (and readers, if this one writes). */
static void sum_state(struct value *v, void *ctx)
{
	struct walk *w = ctx;
	struct slot *s = slot_of(w, v);

	if (!s)
		return;
	add(&w->sum, s->writer);
	if (w->writes)
		add(&w->sum, s->readers);
}

static void note_state(struct value *v, void *ctx)
{
	struct walk *w = ctx;
	struct slot *s = slot_of(w, v);

	if (s && w->writes)
		*s = (struct slot){ w->sum, nothing };
	else if (s)
		add(&s->readers, w->sum);
}

static void sum_node(struct walk *w, const struct node *n, int unit_group)
{
	for (int i = 0; i < n->nouts; i++)
		for (int k = 0; k < n->out[i]->nuses; k++)
			if (unit_group < 0 || n->out[i]->use[k].node->group != unit_group)
				add(&w->sum, need_of(w, n->out[i]->use[k].node));
	w->writes = n->op->flags & (OP_MUTATES | OP_OPAQUE);
	node_each_input(n, sum_state, w);
	if (!op_is_pure(n->op))
		add(&w->sum, w->effect);
}

static void settle(struct walk *w, const struct unit *u)
{
	struct need n;

	for (int i = 0; i < u->nnodes; i++) {
		int order = u->node[i]->order;

		if (is_taken(w->m, u->node[i]))
			w->m->level[order] = w->sum.taken;
		else
			w->behind[order] = w->sum.other;
	}
	n = need_of(w, u->node[0]);
	w->sum = n;
	for (int i = 0; i < u->nnodes; i++) {
		w->writes = u->node[i]->op->flags & (OP_MUTATES | OP_OPAQUE);
		node_each_input(u->node[i], note_state, w);
		if (!op_is_pure(u->node[i]->op))
			w->effect = n;
	}
}

static int count_slots(const struct graph *g)
{
	int n = 0;

	for (int i = 0; i < g->nvalues; i++)
		if (g->value[i]->state_slot >= n)
			n = g->value[i]->state_slot + 1;
	return n;
}

/* A view may be elided: what reads it reads the state behind it, when it runs. */
static int *find_roots(struct partition *p, const struct graph *g)
{
	int *root = arena_array(&p->mem, (size_t)g->nvalues + 1, sizeof *root);

	for (int i = 0; i < g->nvalues; i++)
		root[i] = i;
	for (const struct node *n = g->first; n; n = n->next)
		if (n->op->flags & OP_VIEW && node_input(n, 0) && n->nouts)
			root[n->out[0]->id] = root[node_input(n, 0)->id];
	return root;
}

/* Only pinned groups are units of their own here: the others are what is to be found. */
static bool find_units(struct partition *p, struct method *m, const int *root, struct units *units, struct error *err)
{
	int *was = arena_array(&p->mem, (size_t)m->g->nnodes + 1, sizeof *was);
	bool ok;

	for (struct node *n = m->g->first; n; n = n->next) {
		was[n->order] = n->group;
		if (m->role[n->order] != ROLE_PINNED)
			n->group = -1;
	}
	ok = graph_units(units, m->g, root, &p->mem, err);
	for (struct node *n = m->g->first; n; n = n->next)
		n->group = was[n->order];
	return ok;
}

/* A view that is elided costs nothing where it is: it only goes into a delegate that it would lie in the middle of,
 * between nodes that run there. One that the file does not elide may be of an input without memory, or of state:
 * there it would be a call. */
static bool is_free_view(const struct method *m, const int *root, const struct node *n)
{
	const struct value *in = n->op->flags & OP_VIEW && n->group < 0 ? node_input(n, 0) : NULL;
	enum value_kind kind = in ? m->g->value[root[in->id]]->kind : VALUE_STATE;

	return in && m->level[n->order] >= 0 && !n->out[0]->noutputs && !in->dynamic && !n->out[0]->dynamic &&
	       kind != VALUE_STATE && (n->origin.kind == ORIGIN_VIEW || kind == VALUE_NODE);
}

static bool is_read_in_level(const struct method *m, const struct node *n)
{
	for (int i = 0; i < n->out[0]->nuses; i++)
		if (m->level[n->out[0]->use[i].node->order] == m->level[n->order])
			return true;
	return false;
}

static void leave_free_views(struct method *m, const int *root)
{
	for (const struct node *n = m->g->first; n; n = n->next) {
		const struct value *in = node_input(n, 0);

		if (is_free_view(m, root, n) && !(in->def && m->level[in->def->order] == m->level[n->order]))
			m->level[n->order] = -1;
	}
	for (const struct node *n = m->g->last; n; n = n->prev)
		if (is_free_view(m, root, n) && !is_read_in_level(m, n))
			m->level[n->order] = -1;
}

bool level_find(struct partition *p, struct method *m, struct error *err)
{
	int nslots = count_slots(m->g);
	struct walk w = { .m = m, .effect = nothing };
	struct units units;

	m->level = arena_array(&p->mem, (size_t)m->g->nnodes + 1, sizeof *m->level);
	w.behind = arena_array(&p->mem, (size_t)m->g->nnodes + 1, sizeof *w.behind);
	w.slot = arena_array(&p->mem, (size_t)nslots + 1, sizeof *w.slot);
	for (int i = 0; i < nslots; i++)
		w.slot[i] = (struct slot){ nothing, nothing };
	w.root = find_roots(p, m->g);
	if (!find_units(p, m, w.root, &units, err))
		return false;
	for (int i = units.n - 1; i >= 0; i--) {
		w.sum = nothing;
		for (int k = 0; k < units.at[i].nnodes; k++)
			sum_node(&w, units.at[i].node[k], units.at[i].group);
		settle(&w, &units.at[i]);
	}
	for (const struct node *n = m->g->first; n; n = n->next)
		if (!is_taken(m, n))
			m->level[n->order] = -1;
	leave_free_views(m, w.root);
	m->nlevels = 0;
	for (const struct node *n = m->g->first; n; n = n->next)
		if (m->level[n->order] >= m->nlevels)
			m->nlevels = m->level[n->order] + 1;
	return true;
}
