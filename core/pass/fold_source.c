/* Stored bytes and who reads them. Two values stand for the same source when their bytes are the same: by place,
 * or, for more than one number, by content (a delegate keeps its own copy under another key). Contents are only
 * compared where lengths and samples agree, so that looking does not read the weights. */
#include "core/pass/folding.h"

#include "core/program/store.h"

struct finding {
	struct folding *f;
	struct arena mem;
	struct map lengths;	/* of what candidates read: no other constant matters */
	struct map by_place;	/* key below -> source number + 1 */
	struct store *store;	/* by home + 1 */
	int nstores;
};

struct place_key { const void *at; size_t bytes; int64_t home; };

static void note_length(struct value *v, void *ctx)
{
	struct finding *s = ctx;

	if (v->kind == VALUE_CONSTANT)
		map_put(&s->lengths, &s->mem, arena_copy(&s->mem, &v->bytes, sizeof v->bytes), sizeof v->bytes, s);
}

static void note_homes(struct finding *s)
{
	for (int m = 0; m < s->f->ntraces; m++)
		for (int i = 0; i < s->f->trace[m].g->nvalues; i++)
			if (s->f->trace[m].g->value[i]->home + 2 > s->nstores)
				s->nstores = s->f->trace[m].g->value[i]->home + 2;
	s->store = arena_array(&s->mem, (size_t)s->nstores, sizeof *s->store);
	for (int i = 0; i < s->nstores; i++)
		store_init(&s->store[i], &s->mem);
}

static const void *identity(struct finding *s, const struct value *v, bool number)
{
	struct span b = { v->data, v->bytes };

	if (!v->data || !v->bytes)
		return v;
	return number ? v->data : store_bytes(&s->store[v->home + 1], b).data;
}

static void add_value(struct finding *s, int method, struct value *v)
{
	struct folding *f = s->f;
	bool number = v->rank == 0 || dtype_numel(v->rank, v->size) == 1;
	struct place_key key = { identity(s, v, number), v->bytes, v->home };
	int n = (int)(uintptr_t)map_get(&s->by_place, &key, sizeof key);

	if (!n) {
		vec_push(&f->mem, &f->sources, ((struct source){ .first = v, .bytes = v->bytes, .home = v->home,
			.number = number }));
		n = f->sources.n;
		map_put(&s->by_place, &s->mem, arena_copy(&s->mem, &key, sizeof key), sizeof key,
			(void *)(uintptr_t)n);
	}
	f->trace[method].source[v->id] = n - 1;
	vec_push(&f->mem, &f->sources.at[n - 1].value, v);
	vec_push(&f->mem, &f->sources.at[n - 1].method, method);
}

/* A value without readers is no read. */
static void see_across(const struct folding *f, struct source *s)
{
	int reader = -1;

	for (int i = 0; i < s->value.n; i++)
		if (trace_is_read(&f->trace[s->method.at[i]], s->value.at[i])) {
			s->across |= reader >= 0 && reader != s->method.at[i];
			reader = s->method.at[i];
		}
}

void folding_find_sources(struct folding *f)
{
	struct finding s = { .f = f };

	for (int i = 0; i < f->list.n; i++)
		for (int k = 0; k < f->list.at[i].nnodes; k++)
			node_each_input(f->list.at[i].node[k], note_length, &s);
	note_homes(&s);
	for (int m = 0; m < f->ntraces; m++)
		for (int i = 0; i < f->trace[m].g->nvalues; i++) {
			struct value *v = f->trace[m].g->value[i];

			if (v->kind == VALUE_CONSTANT && map_get(&s.lengths, &v->bytes, sizeof v->bytes))
				add_value(&s, m, v);
		}
	for (int i = 0; i < f->sources.n; i++)
		see_across(f, &f->sources.at[i]);
	arena_free(&s.mem);
}

int source_of(const struct folding *f, int method, const struct value *v)
{
	return f->trace[method].source[v->id];
}
