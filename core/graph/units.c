#include "core/graph/units.h"

#include "core/op/op.h"

struct edge { int from, to; };

/* Who touched a state last. */
struct slot { int writer; vec(int) readers; };

struct ordering {
	const struct graph *g;
	const int *root;
	struct units *units;
	struct arena *mem;	/* of the result */
	struct arena scratch;
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
		vec_push(&o->scratch, &o->edges, ((struct edge){ from, to }));
}

static void make_units(struct ordering *o)
{
	size_t most = (size_t)o->g->nnodes + 1;
	int *unit = arena_array(&o->scratch, (size_t)o->g->ngroups + 1, sizeof *unit);
	int *count = arena_array(&o->scratch, most, sizeof *count);
	struct units *u = o->units;

	o->unit_of = arena_array(&o->scratch, most, sizeof *o->unit_of);
	u->at = arena_array(o->mem, most, sizeof *u->at);
	u->n = 0;
	for (struct node *n = o->g->first; n; n = n->next) {
		int k = n->group >= 0 && unit[n->group] ? unit[n->group] - 1 : u->n++;

		if (n->group >= 0)
			unit[n->group] = k + 1;
		u->at[k].group = n->group;
		u->at[k].key = n->order;
		o->unit_of[n->order] = k;
		count[k]++;
	}
	for (int k = 0; k < u->n; k++)
		u->at[k].node = arena_array(o->mem, (size_t)count[k], sizeof *u->at[k].node);
	for (struct node *n = o->g->first; n; n = n->next) {
		struct unit *k = &u->at[o->unit_of[n->order]];

		k->node[k->nnodes++] = n;
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
		vec_push(&o->scratch, &s->readers, o->unit);
	}
}

static void look_at_input(struct ordering *o, const struct value *v)
{
	const struct value *at = o->root ? o->g->value[o->root[v->id]] : v;

	if (v->def)
		add_edge(o, o->unit_of[v->def->order], o->unit);
	if (at->kind == VALUE_STATE && at->state_slot >= 0)
		touch_slot(o, &o->slot[at->state_slot], o->writes);
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

	for (int i = 0; i < o->g->nvalues; i++)
		if (o->g->value[i]->state_slot >= nslots)
			nslots = o->g->value[i]->state_slot + 1;
	o->slot = arena_array(&o->scratch, (size_t)nslots + 1, sizeof *o->slot);
	for (int i = 0; i < nslots; i++)
		o->slot[i].writer = -1;
	o->effect = -1;
	for (struct node *n = o->g->first; n; n = n->next) {
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

static bool circle(const struct ordering *o, const int *waits, struct error *err)
{
	char id[128];

	for (int u = 0; u < o->units->n; u++)
		if (waits[u] && o->units->at[u].group >= 0)
			return error_set(err, ERROR_REFUSED, "%s: its delegate would have to run both before and after another call",
					 node_id(o->g, o->units->at[u].node[0], id, sizeof id));
	return error_set(err, ERROR_REFUSED, "%s: calls wait for each other in a circle", o->g->method);
}

/* Kahn's way, the wished order kept where edges allow. */
static bool sort_units(struct ordering *o, struct error *err)
{
	struct units *units = o->units;
	size_t n = (size_t)units->n + 1;
	int *waits = arena_array(&o->scratch, n, sizeof *waits), *start = arena_array(&o->scratch, n + 1, sizeof *start);
	int *to = arena_array(&o->scratch, (size_t)o->edges.n + 1, sizeof *to), done = 0;
	struct unit *sorted = arena_array(o->mem, n, sizeof *sorted);
	struct heap h = { arena_array(&o->scratch, n, sizeof *h.at), 0, units->at };

	for (int i = 0; i < o->edges.n; i++) {
		waits[o->edges.at[i].to]++;
		start[o->edges.at[i].from + 2]++;
	}
	for (size_t u = 2; u <= n; u++)
		start[u] += start[u - 1];
	for (int i = 0; i < o->edges.n; i++)	/* start[u + 1] runs up to the start of u + 1 */
		to[start[o->edges.at[i].from + 1]++] = o->edges.at[i].to;
	for (int u = 0; u < units->n; u++)
		if (!waits[u])
			heap_push(&h, u);
	while (h.n) {
		int u = heap_pop(&h);

		sorted[done++] = units->at[u];
		for (int i = start[u]; i < start[u + 1]; i++)
			if (!--waits[to[i]])
				heap_push(&h, to[i]);
	}
	if (done < units->n)
		return circle(o, waits, err);
	units->at = sorted;
	return true;
}

bool graph_units(struct units *out, const struct graph *g, const int *root, struct arena *a, struct error *err)
{
	struct ordering o = { .g = g, .root = root, .units = out, .mem = a };
	bool ok;

	graph_number(g);
	make_units(&o);
	find_edges(&o);
	ok = sort_units(&o, err);
	arena_free(&o.scratch);
	return ok;
}
