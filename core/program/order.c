/* One list of calls. A group becomes one call, so nodes that stood between its members may have to move; edges
 * are dataflow, the order of reads and writes of a state, and the order of whatever has effects of its own. */
#include "core/program/emission.h"

#include "core/op/op.h"

#include <stdlib.h>

struct edge { int from, to; };

/* Who touched a state last. */
struct slot { int writer; vec(int) readers; };

struct ordering {
	struct method_out *m;
	struct arena mem;	/* scratch */
	int *unit_of;		/* by node order */
	vec(struct edge) edges;
	struct slot *slot;
	int effect;		/* the last unit with effects, or -1 */
	int unit;		/* the one being looked at */
	bool writes;
};

static void add_edge(struct ordering *o, int from, int to)
{
	if (from >= 0 && from != to)
		vec_push(&o->mem, &o->edges, ((struct edge){ from, to }));
}

static void make_units(struct ordering *o)
{
	struct method_out *m = o->m;
	int *unit = arena_array(&o->mem, (size_t)m->g->ngroups + 1, sizeof *unit);
	int *count = arena_array(&o->mem, (size_t)m->g->nnodes + 1, sizeof *count);

	o->unit_of = arena_array(&o->mem, (size_t)m->g->nnodes + 1, sizeof *o->unit_of);
	m->unit = arena_array(m->e->mem, (size_t)m->g->nnodes + 1, sizeof *m->unit);
	for (struct node *n = m->g->first; n; n = n->next) {
		int u = n->group >= 0 && unit[n->group] ? unit[n->group] - 1 : m->nunits++;

		if (n->group >= 0)
			unit[n->group] = u + 1;
		m->unit[u].group = n->group;
		m->unit[u].key = n->order;	/* of the last member, in the end */
		o->unit_of[n->order] = u;
		count[u]++;
	}
	for (int u = 0; u < m->nunits; u++)
		m->unit[u].node = arena_array(m->e->mem, (size_t)count[u], sizeof *m->unit[u].node);
	for (struct node *n = m->g->first; n; n = n->next) {
		struct unit *u = &m->unit[o->unit_of[n->order]];

		u->node[u->nnodes++] = n;
	}
}

static void touch_slot(struct ordering *o, struct slot *s, bool write)
{
	add_edge(o, s->writer, o->unit);
	if (write) {
		for (int i = 0; i < s->readers.n; i++)
			add_edge(o, s->readers.at[i], o->unit);
		s->readers.n = 0;
		s->writer = o->unit;
	} else {
		vec_push(&o->mem, &s->readers, o->unit);
	}
}

static void look_at_input(struct ordering *o, const struct value *v)
{
	const struct value *root = o->m->g->value[o->m->place[v->id].root];

	if (v->def)
		add_edge(o, o->unit_of[v->def->order], o->unit);
	if (root->kind == VALUE_STATE && root->state_slot >= 0)
		touch_slot(o, &o->slot[root->state_slot], o->writes);
}

static void look_at_arg(struct ordering *o, const struct arg *a)
{
	if (a->kind == ARG_VALUE)
		look_at_input(o, a->value);
	for (int i = 0; a->kind == ARG_LIST && i < a->list.n; i++)
		look_at_arg(o, &a->list.at[i]);
}

static void find_edges(struct ordering *o)
{
	int nslots = 0;

	for (int i = 0; i < o->m->g->nvalues; i++)
		if (o->m->g->value[i]->state_slot >= nslots)
			nslots = o->m->g->value[i]->state_slot + 1;
	o->slot = arena_array(&o->mem, (size_t)nslots + 1, sizeof *o->slot);
	for (int i = 0; i < nslots; i++)
		o->slot[i].writer = -1;
	o->effect = -1;
	for (struct node *n = o->m->g->first; n; n = n->next) {
		o->unit = o->unit_of[n->order];
		for (int i = 0; i < n->nargs; i++) {
			o->writes = op_writes(n->op, i) || n->op->flags & OP_OPAQUE;	/* nobody knows */
			look_at_arg(o, &n->arg[i]);
		}
		if (!op_is_pure(n->op)) {
			add_edge(o, o->effect, o->unit);
			o->effect = o->unit;
		}
	}
}

/* A heap of units that are ready, smallest key first. */
struct heap { int *at; int n; const struct unit *unit; };

static void heap_swap(struct heap *h, int i, int k)
{
	int t = h->at[i];

	h->at[i] = h->at[k];
	h->at[k] = t;
}

static bool heap_less(const struct heap *h, int i, int k)
{
	return h->unit[h->at[i]].key < h->unit[h->at[k]].key;
}

static void heap_push(struct heap *h, int u)
{
	int i = h->n++;

	h->at[i] = u;
	for (; i && heap_less(h, i, (i - 1) / 2); i = (i - 1) / 2)
		heap_swap(h, i, (i - 1) / 2);
}

static int heap_pop(struct heap *h)
{
	int top = h->at[0], i = 0;

	h->at[0] = h->at[--h->n];
	for (int k; (k = 2 * i + 1) < h->n; i = k) {
		if (k + 1 < h->n && heap_less(h, k + 1, k))
			k++;
		if (!heap_less(h, k, i))
			break;
		heap_swap(h, i, k);
	}
	return top;
}

static bool cycle(const struct method_out *m, const int *waits, struct error *err)
{
	char id[128];

	for (int u = 0; u < m->nunits; u++)
		if (waits[u] && m->unit[u].group >= 0)
			return error_set(err, ERROR_REFUSED,
				"%s: its delegate would have to run both before and after another call",
					 node_id(m->g, m->unit[u].node[0], id, sizeof id));
	return error_set(err, ERROR_REFUSED, "%s: calls wait for each other in a circle", m->g->method);
}

/* Kahn's way, the wished order kept where edges allow. */
static bool sort_units(struct ordering *o, struct error *err)
{
	struct method_out *m = o->m;
	size_t n = (size_t)m->nunits + 1;
	int *waits = arena_array(&o->mem, n, sizeof *waits), *start = arena_array(&o->mem, n + 1, sizeof *start);
	int *to = arena_array(&o->mem, (size_t)o->edges.n + 1, sizeof *to), done = 0;
	struct unit *sorted = arena_array(m->e->mem, n, sizeof *sorted);
	struct heap h = { arena_array(&o->mem, n, sizeof *h.at), 0, m->unit };

	for (int i = 0; i < o->edges.n; i++) {
		waits[o->edges.at[i].to]++;
		start[o->edges.at[i].from + 2]++;
	}
	for (size_t u = 2; u <= n; u++)
		start[u] += start[u - 1];
	for (int i = 0; i < o->edges.n; i++)	/* start[u + 1] runs up to the start of u + 1 */
		to[start[o->edges.at[i].from + 1]++] = o->edges.at[i].to;
	for (int u = 0; u < m->nunits; u++)
		if (!waits[u])
			heap_push(&h, u);
	while (h.n) {
		int u = heap_pop(&h);

		sorted[done++] = m->unit[u];
		for (int i = start[u]; i < start[u + 1]; i++)
			if (!--waits[to[i]])
				heap_push(&h, to[i]);
	}
	if (done < m->nunits)
		return cycle(m, waits, err);
	m->unit = sorted;
	return true;
}

bool order_units(struct method_out *m, struct error *err)
{
	struct ordering o = { .m = m };
	bool ok;

	make_units(&o);
	find_edges(&o);
	ok = sort_units(&o, err);
	arena_free(&o.mem);
	return ok;
}
