/* What a set of folds costs: the tensors that they store, and the sources that nobody reads any more. */
#include "core/pass/folding.h"

#include <stdlib.h>

struct held_node { int method, candidate; struct node *node; };	/* candidate: the first that holds it */

struct weighing {
	struct folding *f;
	struct balance *b;
	struct arena mem;
	vec(struct held_node) node;	/* expressions of the active members, each node once, in program order */
	struct map seen;		/* digests counted */
};

static int by_place(const void *a, const void *b)
{
	const struct held_node *x = a, *y = b;

	return x->method != y->method ? x->method - y->method : x->node->order - y->node->order;
}

static void add_stored(struct weighing *w, int method, int candidate, struct value *v)
{
	const char *d = expression_digest(w->f, method, v);

	w->f->trace[method].stored[v->id] = true;
	vec_push(&w->b->mem, &w->b->stored, ((struct stored){ method, v, d, candidate }));
	if (map_get(&w->seen, d, 64))
		return;
	map_put(&w->seen, &w->mem, d, 64, w);
	w->b->added += v->bytes;
}

bool reads_across(const struct folding *f, const struct candidate *c)
{
	for (int i = 0; i < c->nsources; i++)
		if (f->sources.at[c->source[i]].across && !f->sources.at[c->source[i]].number)
			return true;
	return false;
}

static void hold_members(struct weighing *w, struct members m)
{
	for (int k = 0; k < m.n; k++) {
		const struct candidate *c = &w->f->list.at[m.at[k]];
		struct trace *t = &w->f->trace[c->method];

		if (!c->active)
			continue;
		for (int i = 0; i < c->nnodes; i++)
			if (!t->inside[c->node[i]->order]++)
				vec_push(&w->mem, &w->node, ((struct held_node){ c->method, m.at[k], c->node[i] }));
		if (!t->stored[c->value->id])
			add_stored(w, c->method, m.at[k], c->value);
		w->b->across |= reads_across(w->f, c);
	}
	if (w->node.n)
		qsort(w->node.at, (size_t)w->node.n, sizeof *w->node.at, by_place);
}

static bool read_after(const struct trace *t, const struct value *v)
{
	for (int i = 0; i < v->nuses; i++) {
		int order = v->use[i].node->order;

		if (!t->dead[order] && (!t->inside[order] || t->survives[order]))
			return true;
	}
	return v->noutputs > 0;
}

/* A node stays when something outside reads it and it is not stored. One with several outputs folds with all of
 * them: those that are read are stored as well. */
static void settle_node(struct weighing *w, const struct held_node *held)
{
	struct trace *t = &w->f->trace[held->method];
	struct node *n = held->node;

	for (int i = 0; i < n->nouts; i++) {
		struct value *v = n->out[i];

		if (t->stored[v->id] || !read_after(t, v))
			continue;
		if (n->nouts == 1)
			t->survives[n->order] = true;
		else
			add_stored(w, held->method, held->candidate, v);
	}
}

static bool erasable(const struct folding *f, const struct source *s)
{
	for (int i = 0; i < s->value.n; i++)
		if (read_after(&f->trace[s->method.at[i]], s->value.at[i]))
			return false;
	return true;
}

static void count_erased(struct weighing *w, struct members m)
{
	for (int i = 0; i < m.n; i++) {
		const struct candidate *c = &w->f->list.at[m.at[i]];

		for (int k = 0; c->active && k < c->nsources; k++) {
			struct source *s = &w->f->sources.at[c->source[k]];

			if (s->epoch != w->f->epoch && erasable(w->f, s))
				w->b->erased += s->bytes;
			s->epoch = w->f->epoch;
		}
	}
}

static void let_go(struct weighing *w)
{
	for (int i = 0; i < w->node.n; i++) {
		struct trace *t = &w->f->trace[w->node.at[i].method];

		t->inside[w->node.at[i].node->order] = 0;
		t->survives[w->node.at[i].node->order] = false;
	}
	for (int i = 0; i < w->b->stored.n; i++)
		w->f->trace[w->b->stored.at[i].method].stored[w->b->stored.at[i].value->id] = false;
	arena_free(&w->mem);
}

void weigh(struct folding *f, struct members m, struct balance *b)
{
	struct weighing w = { .f = f, .b = b };

	*b = (struct balance){ 0 };
	f->epoch++;
	hold_members(&w, m);
	for (int i = w.node.n - 1; i >= 0; i--)	/* readers come later in a method */
		settle_node(&w, &w.node.at[i]);
	count_erased(&w, m);
	let_go(&w);
}

void balance_free(struct balance *b)
{
	arena_free(&b->mem);
}

/* Across methods a fold has to pay: it costs the other methods their own decision. */
bool balance_fits(const struct balance *b)
{
	return b->across ? b->added < b->erased : b->added <= b->erased;
}
