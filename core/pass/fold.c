#include "core/pass/folding.h"

#include "core/run/exec.h"

#include <string.h>

/* ---- plan ---- */

/* Marks what folds with another's weight: an inner candidate among it needs no row of its own. */
static void mark_folded(struct folding *f)
{
	for (int i = 0; i < f->list.n; i++)
		for (int k = 0; f->list.at[i].active && k < f->list.at[i].nnodes; k++)
			f->trace[f->list.at[i].method].survives[f->list.at[i].node[k]->order] = true;
}

static bool is_listed(const struct folding *f, const struct candidate *c)
{
	return !(c->inner && f->trace[c->method].survives[c->at->order]);
}

static struct fold make_row(struct fold_plan *p, struct folding *f, const struct candidate *c)
{
	struct fold r = { .method = c->method, .at = c->at, .position = c->position, .folds = c->active,
		.marked = c->active,
		.value = c->value, .nnodes = c->nnodes, .nsources = c->nsources, .home = c->home,
		.bytes_added = c->added, .bytes_erased = c->erased };

	r.code = c->active ? NULL : arena_string(&p->mem, c->code);
	r.text = c->active ? NULL : arena_string(&p->mem, c->text);
	r.node = arena_array(&p->mem, (size_t)c->nnodes, sizeof *r.node);
	r.source = arena_array(&p->mem, (size_t)c->nsources, sizeof *r.source);
	for (int i = 0; i < c->nnodes; i++)
		r.node[i] = c->node[i];
	for (int i = 0; i < c->nsources; i++)
		r.source[i] = f->sources.at[c->source[i]].first;
	if (c->why == WHY_CONSTANT)
		r.name = folded_name(f, c, c->value, &p->mem);
	return r;
}

bool fold_plan(struct fold_plan *p, struct graph *const *g, int ngraphs, struct error *err)
{
	struct folding f;

	(void)err;
	memset(p, 0, sizeof *p);
	folding_open(&f, g, ngraphs);
	folding_decide(&f);
	mark_folded(&f);
	p->fold = arena_array(&p->mem, (size_t)f.list.n, sizeof *p->fold);
	for (int i = 0; i < f.list.n; i++)
		if (is_listed(&f, &f.list.at[i]))
			p->fold[p->nfolds++] = make_row(p, &f, &f.list.at[i]);
	folding_close(&f);
	return true;
}

void fold_plan_free(struct fold_plan *p)
{
	arena_free(&p->mem);
	memset(p, 0, sizeof *p);
}

/* ---- apply ---- */

/* Rows are candidates in the same order, some left out. */
static bool is_row_of(const struct fold *r, const struct candidate *c)
{
	return r->method == c->method && r->at->order == c->at->order && r->value->id == c->value->id &&
		!strcmp(r->position, c->position);
}

static bool take_marks(const struct fold_plan *p, struct folding *f, struct error *err)
{
	int r = 0;

	for (int i = 0; i < f->list.n; i++) {
		struct candidate *c = &f->list.at[i];
		bool row = r < p->nfolds && is_row_of(&p->fold[r], c);

		c->active = c->active && row && p->fold[r].marked;
		r += row;
	}
	return r == p->nfolds || error_set(err, ERROR_REFUSED,
		"the fold was planned on another version of the program");
}

/* One tensor to be stored, in one method. */
struct folded { struct stored what; const char *name; int home; struct tensor tensor; };

struct applying {
	struct folding *f;
	struct arena mem;
	struct map by_digest;		/* the first with this expression */
	struct map made;		/* the constant of an expression, in the method at hand */
	vec(struct folded) list;
	struct error *err;
	int tensors;			/* different ones */
};

static void add_stored(struct applying *a, const struct stored *what)
{
	const struct candidate *c = &a->f->list.at[what->candidate];
	struct folded x = { .what = *what, .home = c->home };

	x.name = folded_name(a->f, c, what->value, &a->mem);
	vec_push(&a->mem, &a->list, x);
}

static bool add_group(struct applying *a, const struct fold_group *g)
{
	struct balance b;
	bool ok;

	weigh(a->f, g->all, &b);
	ok = balance_fits(&b) || error_set(a->err, ERROR_REFUSED,
		"these folds would store %llu bytes and erase %llu: others of the same constants are not marked",
		(unsigned long long)b.added, (unsigned long long)b.erased);
	for (int i = 0; ok && i < b.stored.n; i++)
		add_stored(a, &b.stored.at[i]);
	balance_free(&b);
	return ok;
}

/* Computes what a method stores first; equal expressions of later methods take its bytes. */
static bool compute(struct applying *a, int method)
{
	struct graph *g = a->f->trace[method].g;
	vec(struct value *) value = { 0 };
	vec(int) at = { 0 };
	struct tensor *made;

	for (int i = 0; i < a->list.n; i++) {
		const struct stored *x = &a->list.at[i].what;

		if (x->method != method || map_get(&a->by_digest, x->digest, 64))
			continue;
		map_put(&a->by_digest, &a->mem, x->digest, 64, (void *)(uintptr_t)(i + 1));
		vec_push(&a->mem, &value, x->value);
		vec_push(&a->mem, &at, i);
	}
	made = arena_array(&a->mem, (size_t)value.n + 1, sizeof *made);
	if (value.n && !exec_constants(g, value.at, value.n, &g->mem, made, a->err))
		return false;
	for (int i = 0; i < value.n; i++)
		a->list.at[at.at[i]].tensor = made[i];
	a->tensors += value.n;
	return true;
}

static bool same_type(const struct tensor *t, const struct value *v)
{
	return t->dtype == v->dtype && t->rank == v->rank &&
		!memcmp(t->size, v->size, (size_t)t->rank * sizeof *t->size);
}

static bool replace(struct applying *a, struct folded *x)
{
	struct graph *g = a->f->trace[x->what.method].g;
	struct value *v = x->what.value, *c;
	const struct tensor *t = &a->list.at[(uintptr_t)map_get(&a->by_digest, x->what.digest, 64) - 1].tensor;

	if (!same_type(t, v))
		return error_set(a->err, ERROR_RUN, "%s: computed ahead it has another type than the file says",
			x->name);
	c = map_get(&a->made, x->what.digest, 64);
	if (c) {	/* an equal expression of this method: one tensor serves both */
		graph_replace(g, v, c);
		return true;
	}
	c = graph_value(g, VALUE_CONSTANT, t->dtype, t->rank, t->size);
	memcpy(c->dim_order, t->dim_order, sizeof c->dim_order);
	c->data = t->data;
	c->home = x->home;
	c->name = c->folded = arena_string(&g->mem, x->name);
	graph_replace(g, v, c);
	map_put(&a->made, &a->mem, x->what.digest, 64, c);
	return true;
}

static bool replace_all(struct applying *a, int method)
{
	bool any = false;

	a->made = (struct map){ 0 };
	for (int i = 0; i < a->list.n; i++) {
		if (a->list.at[i].what.method != method)
			continue;
		if (!replace(a, &a->list.at[i]))
			return false;
		any = true;
	}
	if (any)
		graph_sweep(a->f->trace[method].g);
	return true;
}

static bool apply_all(struct applying *a)
{
	for (int i = 0; i < a->f->groups.n; i++)
		if (!add_group(a, &a->f->groups.at[i]))
			return false;
	for (int m = 0; m < a->f->ntraces; m++)
		if (!compute(a, m))
			return false;
	for (int m = 0; m < a->f->ntraces; m++)
		if (!replace_all(a, m))
			return false;
	return true;
}

int fold_apply(const struct fold_plan *p, struct graph **g, int ngraphs, struct error *err)
{
	struct folding f;
	struct applying a = { .f = &f, .err = err };
	bool ok;

	folding_open(&f, g, ngraphs);
	folding_decide(&f);
	ok = take_marks(p, &f, err) && apply_all(&a);
	arena_free(&a.mem);
	folding_close(&f);
	return ok ? a.tensors : -1;
}
