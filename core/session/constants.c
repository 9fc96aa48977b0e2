#include "core/session/constants.h"

#include "core/base/map.h"
#include "core/base/same.h"

#include <stdlib.h>
#include <string.h>

struct finding {
	struct arena *mem, scratch;
	struct map by_place;		/* bytes, or the name of what has none -> index + 1 */
	struct same same;		/* of each row -> index + 1 of the first with its bytes */
	vec(struct constant_row) row;
	vec(int) first;			/* by row: index of the first with its bytes */
	bool filed;
};

static int index_by_place(const struct finding *f, const struct value *v)
{
	void *at = v->data ? map_get(&f->by_place, &v->data, sizeof v->data) :
		map_get(&f->by_place, v->name, strlen(v->name));

	return (int)(uintptr_t)at - 1;
}

static void put_by_place(struct finding *f, const struct value *v, int index)
{
	void *at = (void *)(uintptr_t)(index + 1);

	if (v->data)
		map_put(&f->by_place, &f->scratch, &v->data, sizeof v->data, at);
	else
		map_put(&f->by_place, &f->scratch, v->name, strlen(v->name), at);
}

static int add_row(struct finding *f, const struct value *v)
{
	int index = f->row.n, first = index;

	if (v->data && v->bytes) {
		void *at = same_find(&f->same, v->data, v->bytes, (void *)(uintptr_t)(index + 1));

		first = at ? (int)(uintptr_t)at - 1 : index;
	}
	if (first != index && !f->filed && f->row.at[first].value->home == v->home)
		return first;
	vec_push(f->mem, &f->row, ((struct constant_row){ .value = v, .same = first == index ? v : f->row.at[first].value }));
	vec_push(&f->scratch, &f->first, first);
	f->row.at[first].copies++;
	return index;
}

static void look_at(struct finding *f, const struct graph *g, const struct value *v)
{
	struct constant_row *c;
	struct constant_holder *h;
	int index;

	if (!v || v->kind != VALUE_CONSTANT || (!v->nuses && !v->noutputs))
		return;
	index = index_by_place(f, v);
	if (index < 0) {
		index = add_row(f, v);
		put_by_place(f, v, index);
	}
	c = &f->row.at[index];
	c->methods += !c->last || c->last->graph != g;
	c->users += v->nuses;
	h = arena_alloc(f->mem, sizeof *h);
	*h = (struct constant_holder){ g, v, NULL };
	*(c->last ? &c->last->next : &c->holder) = h;
	c->last = h;
}

static int larger(const void *a, const void *b)
{
	const struct constant_row *x = a, *y = b;

	if (x->value->bytes != y->value->bytes)
		return x->value->bytes < y->value->bytes ? 1 : -1;
	return strcmp(x->value->name, y->value->name);
}

struct constant_row *constants_find(struct graph *const *method, int nmethods, bool filed, struct arena *a, int *n)
{
	struct finding f = { .mem = a, .filed = filed };

	f.same.mem = &f.scratch;
	for (int m = 0; m < nmethods; m++)
		for (int i = 0; i < method[m]->nvalues; i++)
			look_at(&f, method[m], method[m]->value[i]);
	for (int i = 0; i < f.row.n; i++)
		f.row.at[i].copies = f.row.at[f.first.at[i]].copies;
	if (f.row.n)
		qsort(f.row.at, (size_t)f.row.n, sizeof *f.row.at, larger);
	arena_free(&f.scratch);
	*n = f.row.n;
	return f.row.at;
}
