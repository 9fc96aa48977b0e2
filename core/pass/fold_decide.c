/* Bytes decide. Folds that share a source or a producer are weighed together: a source goes only when nobody reads
 * it any more, and who reads it is known only for the group. What does not fit as a whole is thinned out. */
#include "core/pass/folding.h"

#include "core/op/op.h"

#include <stdlib.h>
#include <string.h>

/* ---- the balance of a group ---- */

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

static void hold_members(struct weighing *w, int group)
{
	for (int i = group; i >= 0; i = w->f->list.at[i].next) {
		const struct candidate *c = &w->f->list.at[i];
		struct trace *t = &w->f->trace[c->method];

		if (!c->active)
			continue;
		for (int k = 0; k < c->nnodes; k++)
			if (!t->inside[c->node[k]->order]++)
				vec_push(&w->mem, &w->node, ((struct held_node){ c->method, i, c->node[k] }));
		if (!t->stored[c->value->id])
			add_stored(w, c->method, i, c->value);
		for (int k = 0; k < c->nsources; k++)
			w->b->across |= w->f->sources.at[c->source[k]].across &&
				!w->f->sources.at[c->source[k]].number;
	}
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
 * them: those that are read are stored as well. A number cannot be stored. */
static void settle_node(struct weighing *w, const struct held_node *held)
{
	struct trace *t = &w->f->trace[held->method];
	struct node *n = held->node;

	for (int i = 0; i < n->nouts; i++) {
		struct value *v = n->out[i];

		if (t->stored[v->id] || !read_after(t, v))
			continue;
		if (n->nouts == 1 || v->scalar)
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

static void count_erased(struct weighing *w, int group)
{
	bool *seen = arena_array(&w->mem, (size_t)w->f->sources.n + 1, sizeof *seen);

	for (int i = group; i >= 0; i = w->f->list.at[i].next) {
		const struct candidate *c = &w->f->list.at[i];

		for (int k = 0; c->active && k < c->nsources; k++) {
			const struct source *s = &w->f->sources.at[c->source[k]];

			if (!seen[c->source[k]] && erasable(w->f, s))
				w->b->erased += s->bytes;
			seen[c->source[k]] = true;
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

void weigh(struct folding *f, int group, struct balance *b)
{
	struct weighing w = { .f = f, .b = b };

	*b = (struct balance){ 0 };
	hold_members(&w, group);
	for (int i = w.node.n - 1; i >= 0; i--)	/* readers come later in a method */
		settle_node(&w, &w.node.at[i]);
	count_erased(&w, group);
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

/* ---- groups ---- */

static int find_root(int *parent, int i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

static void join(int *parent, int *owner, int i)
{
	if (*owner)
		parent[find_root(parent, i)] = find_root(parent, *owner - 1);
	else
		*owner = i + 1;
}

static void link_members(struct folding *f, int *parent, int *first, int *last)	/* scratch by root: number + 1 */
{
	for (int i = 0; i < f->list.n; i++) {
		int root = find_root(parent, i);

		if (!f->list.at[i].active)
			continue;
		if (!first[root])
			first[root] = i + 1;
		else
			f->list.at[last[root] - 1].next = i;
		last[root] = i + 1;
		f->list.at[i].group = first[root] - 1;
	}
}

static void make_groups(struct folding *f)
{
	struct arena mem = { 0 };
	int *parent = arena_array(&mem, (size_t)f->list.n + 1, sizeof *parent);
	int *by_source = arena_array(&mem, (size_t)f->sources.n + 1, sizeof *by_source);
	int **by_node = arena_array(&mem, (size_t)f->ntraces + 1, sizeof *by_node);

	for (int m = 0; m < f->ntraces; m++)
		by_node[m] = arena_array(&mem, (size_t)f->trace[m].g->nnodes + 1, sizeof **by_node);
	for (int i = 0; i < f->list.n; i++)
		parent[i] = i;
	for (int i = 0; i < f->list.n; i++) {
		const struct candidate *c = &f->list.at[i];

		for (int k = 0; c->active && k < c->nnodes; k++)
			join(parent, &by_node[c->method][c->node[k]->order], i);
		for (int k = 0; c->active && k < c->nsources; k++)
			join(parent, &by_source[c->source[k]], i);
	}
	link_members(f, parent, arena_array(&mem, (size_t)f->list.n + 1, sizeof(int)),
		     arena_array(&mem, (size_t)f->list.n + 1, sizeof(int)));
	arena_free(&mem);
}

/* ---- verdicts ---- */

static const struct { const char *code, *text; } refusals[] = {
	{ "training", "the program trains: an optimizer writes its parameters" },
	{ "control_flow", "the method has control flow, which is left as it is" },
	{ "opaque", "the method holds what cannot be rewritten" },
	{ "unlocks_nothing", "the multiplication itself depends on constants alone and feeds no weight" },
};
enum { R_TRAINING, R_CONTROL_FLOW, R_RIGID, R_INNER };

static const char *why_text(struct folding *f, const struct candidate *c)
{
	const struct value *v = f->trace[c->method].culprit[c->value->id];
	const char *name = v && *v->name ? v->name : v && v->def ? v->def->op->name : "a value";

	switch (c->why) {
	case WHY_NO_KERNEL: return arena_printf(&f->mem, "%s has no kernel here", name);
	case WHY_DATA_MISSING: return arena_printf(&f->mem, "the data file of %s was not given", name);
	case WHY_OPAQUE: return arena_printf(&f->mem, "it is computed by %s, which is not known here", name);
	case WHY_FACTORY: return arena_printf(&f->mem,
		"%s fills a tensor from a number: stored, it would only take bytes", name);
	case WHY_QUANTIZED: return arena_printf(&f->mem,
		"it is quantised: %s is computed from the stored integers", name);
	case WHY_IMPURE: return arena_printf(&f->mem, "it depends on %s, which gives something else each time", name);
	case WHY_BUFFER: return arena_printf(&f->mem, "it depends on %s, which a method writes", name);
	default: return arena_printf(&f->mem, "it depends on %s, which is known only when the program runs", name);
	}
}

static void refuse_at_once(struct folding *f, struct candidate *c)
{
	const struct graph *g = f->trace[c->method].g;
	int r = f->training ? R_TRAINING : g->control_flow ? R_CONTROL_FLOW : g->rigid ? R_RIGID :
		c->inner ? R_INNER : -1;

	if (r >= 0) {
		c->code = refusals[r].code;
		c->text = refusals[r].text;
	} else if (c->why != WHY_CONSTANT) {
		c->code = why_code(c->why);
		c->text = why_text(f, c);
	} else if (c->code) {	/* tags_differ */
		c->text = "the constants that it is computed from live in different files";
	}
}

static bool reads_across(const struct folding *f, const struct candidate *c)
{
	for (int i = 0; i < c->nsources; i++)
		if (f->sources.at[c->source[i]].across && !f->sources.at[c->source[i]].number)
			return true;
	return false;
}

static void drop(struct folding *f, struct candidate *c, const struct balance *b)
{
	bool across = reads_across(f, c);

	c->active = false;
	c->added = b->added;
	c->erased = b->erased;
	c->code = across ? "shared_across_methods" : "would_grow";
	c->text = across ?
		arena_printf(&f->mem,
			"another method reads its constants as well: folding would store %llu bytes and erase %llu",
			     (unsigned long long)b->added, (unsigned long long)b->erased) :
		arena_printf(&f->mem, "folding would store %llu bytes and erase %llu", (unsigned long long)b->added,
			     (unsigned long long)b->erased);
}

/* The member that costs most: what it stores, less its share in the sources that it reads. */
static struct candidate *dearest(struct folding *f, int group)
{
	struct arena mem = { 0 };
	int *readers = arena_array(&mem, (size_t)f->sources.n + 1, sizeof *readers);
	struct candidate *worst = NULL;
	int64_t most = 0;

	for (int i = group; i >= 0; i = f->list.at[i].next)
		for (int k = 0; f->list.at[i].active && k < f->list.at[i].nsources; k++)
			readers[f->list.at[i].source[k]]++;
	for (int i = group; i >= 0; i = f->list.at[i].next) {
		struct candidate *c = &f->list.at[i];
		int64_t cost = (int64_t)c->value->bytes;

		if (!c->active)
			continue;
		for (int k = 0; k < c->nsources; k++)
			cost -= (int64_t)f->sources.at[c->source[k]].bytes / readers[c->source[k]];
		if (!worst || cost > most || (cost == most && reads_across(f, c) >= reads_across(f, worst))) {
			worst = c;
			most = cost;
		}
	}
	arena_free(&mem);
	return worst;
}

static struct candidate *first_active(struct folding *f, int group)
{
	for (int i = group; i >= 0; i = f->list.at[i].next)
		if (f->list.at[i].active)
			return &f->list.at[i];
	return NULL;
}

/* Whether the active members fit together; b is for telling why not, and holds no list of tensors. */
static bool fits(struct folding *f, int group, struct balance *b)
{
	weigh(f, group, b);
	balance_free(b);
	return balance_fits(b);
}

/* Takes out the dearest until the others fit. */
static void thin_out(struct folding *f, int group)
{
	struct balance b;

	while (first_active(f, group) && !fits(f, group, &b))
		drop(f, dearest(f, group), &b);
}

/* What was taken out too early comes back, one by one: the dearest of all may cost nothing beside those that are left,
 * and alone. */
static bool take_back(struct folding *f, int group)
{
	bool any = false;
	struct balance b;

	for (int i = group; i >= 0; i = f->list.at[i].next) {
		struct candidate *c = &f->list.at[i];

		if (c->active)
			continue;
		c->active = true;
		if (fits(f, group, &b)) {
			c->code = c->text = NULL;
			c->added = c->erased = 0;
			any = true;
		} else {
			drop(f, c, &b);
		}
	}
	return any;
}

static void decide_group(struct folding *f, int group)
{
	struct candidate *first;
	struct balance b;

	thin_out(f, group);
	while (take_back(f, group))
		;
	first = first_active(f, group);
	if (first && fits(f, group, &b)) {
		first->added = b.added;
		first->erased = b.erased;
	}
}

/* In a data file a tensor is found by name alone: two that would have the same one both stay as they are. */
static void refuse_clashes(struct folding *f)
{
	struct arena mem = { 0 };
	struct map named = { 0 };

	for (int i = 0; i < f->list.n; i++) {
		struct candidate *c = &f->list.at[i], *other;
		const char *name;

		if (!c->active || c->home == HOME_PROGRAM)
			continue;
		name = folded_name(f, c, c->value, &mem);
		other = map_get(&named, name, strlen(name));
		if (!other) {
			map_put(&named, &mem, name, strlen(name), c);
		} else if (strcmp(expression_digest(f, c->method, c->value),
				  expression_digest(f, other->method, other->value))) {
			c->active = other->active = false;
			c->code = other->code = "name_clash";
			c->text = other->text = arena_printf(&f->mem,
				"two different tensors, of %s and of %s, would have one name",
				f->trace[other->method].g->method, f->trace[c->method].g->method);
		}
	}
	arena_free(&mem);
}

void folding_decide(struct folding *f)
{
	for (int i = 0; i < f->list.n; i++) {
		refuse_at_once(f, &f->list.at[i]);
		f->list.at[i].active = !f->list.at[i].code;
	}
	refuse_clashes(f);
	make_groups(f);
	for (int i = 0; i < f->list.n; i++)
		if (f->list.at[i].group == i)
			decide_group(f, i);
}
