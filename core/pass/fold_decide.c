/* Bytes decide. A source goes only when nobody reads it any more, and who reads it is known only for all folds that
 * share it: these are weighed together. What does not fit as a whole is thinned out. */
#include "core/pass/folding.h"

#include "core/op/op.h"

#include <string.h>

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
	case WHY_SIZE_VARIES: return arena_printf(&f->mem, "the size of %s depends on what its inputs hold", name);
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

/* The first active member with this expression: those with the same store one tensor, and fold or stay together. */
static void find_twins(struct folding *f, struct members m, int *twin)
{
	struct arena mem = { 0 };
	struct map first = { 0 };

	for (int i = 0; i < m.n; i++) {
		const struct candidate *c = &f->list.at[m.at[i]];
		const char *d = expression_digest(f, c->method, c->value);
		int known = (int)(uintptr_t)map_get(&first, d, 64);

		twin[i] = known ? known - 1 : i;
		if (!known)
			map_put(&first, &mem, d, 64, (void *)(uintptr_t)(i + 1));
	}
	arena_free(&mem);
}

struct thinning { struct folding *f; struct members m; int *twin; struct balance b; };

/* Whether the active members fit together; b is for telling why not, and holds no list of tensors. */
static bool fits(struct thinning *t)
{
	weigh(t->f, t->m, &t->b);
	balance_free(&t->b);
	return balance_fits(&t->b);
}

static struct candidate *member(const struct thinning *t, int i)
{
	return &t->f->list.at[t->m.at[i]];
}

static struct source *source(const struct thinning *t, int i, int k)
{
	return &t->f->sources.at[member(t, i)->source[k]];
}

static void drop_twins(struct thinning *t, int first)
{
	for (int i = first; i < t->m.n; i++)
		if (t->twin[i] == first)
			drop(t->f, member(t, i), &t->b);
}

static void activate_twins(struct thinning *t, int first)
{
	for (int i = first; i < t->m.n; i++)
		if (t->twin[i] == first) {
			member(t, i)->active = true;
			member(t, i)->code = member(t, i)->text = NULL;
			member(t, i)->added = member(t, i)->erased = 0;
		}
}

/* The twins that cost most: what they store, less their share in the sources that they read. -1: none is active. */
static int dearest(struct thinning *t)
{
	int worst = -1;
	double most = 0;

	for (int count = 0; count < 2; count++)
		for (int i = 0; i < t->m.n; i++)
			for (int k = 0; t->twin[i] == i && member(t, i)->active && k < member(t, i)->nsources; k++)
				source(t, i, k)->readers = count ? source(t, i, k)->readers + 1 : 0;
	for (int i = 0; i < t->m.n; i++) {
		const struct candidate *c = member(t, i);
		double cost = (double)c->value->bytes;

		if (!c->active || t->twin[i] != i)
			continue;
		for (int k = 0; k < c->nsources; k++)
			cost -= (double)source(t, i, k)->bytes / source(t, i, k)->readers;
		if (worst < 0 || cost > most ||
		    (cost >= most && reads_across(t->f, c) >= reads_across(t->f, member(t, worst)))) {
			worst = i;
			most = cost;
		}
	}
	return worst;
}

/* Takes out the dearest until the others fit. What was taken out too early comes back, as long as something does. */
static void thin_out(struct thinning *t)
{
	bool again = true;

	for (int i; !fits(t) && (i = dearest(t)) >= 0;)
		drop_twins(t, i);
	while (again) {
		again = false;
		for (int i = 0; i < t->m.n; i++) {
			if (t->twin[i] != i || member(t, i)->active)
				continue;
			activate_twins(t, i);
			if (fits(t))
				again = true;
			else
				drop_twins(t, i);
		}
	}
}

static void decide_cluster(struct folding *f, struct members m)
{
	struct arena mem = { 0 };
	struct thinning t = { .f = f, .m = m, .twin = arena_array(&mem, (size_t)m.n, sizeof *t.twin) };

	find_twins(f, m, t.twin);
	thin_out(&t);
	arena_free(&mem);
}

static void decide_group(struct folding *f, const struct fold_group *g)
{
	struct balance b;

	weigh(f, g->all, &b);
	balance_free(&b);
	if (!balance_fits(&b)) {
		for (int i = 0; i < g->nclusters; i++)
			decide_cluster(f, f->clusters.at[g->cluster + i]);
		weigh(f, g->all, &b);
		balance_free(&b);
	}
	for (int i = 0; i < g->all.n; i++)
		if (f->list.at[g->all.at[i]].active) {
			f->list.at[g->all.at[i]].added = b.added;
			f->list.at[g->all.at[i]].erased = b.erased;
			break;
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
	folding_find_groups(f);
	for (int i = 0; i < f->groups.n; i++)
		decide_group(f, &f->groups.at[i]);
}
