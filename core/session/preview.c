#include "core/session/preview.h"

#include "core/pass/partition.h"

enum { MOST_NODES = 1 << 20 };	/* cloned and partitioned in all */

static uint64_t nodes_of(const struct session *s, const struct version *v)
{
	uint64_t n = 0;

	for (int m = 0; m < s->program->nmethods; m++)
		n += (uint64_t)v->method[m]->nnodes;
	return n;
}

/* The computed value becomes a constant that has bytes of its own, which nobody reads: its address stands for them. */
static void fold_in(struct graph *g, const struct fold *f)
{
	struct value *old = g->value[f->value->id];
	struct value *v = graph_value(g, VALUE_CONSTANT, old->dtype, old->rank, old->size);

	v->name = f->name;
	v->data = (const uint8_t *)f;
	v->home = f->home;
	graph_replace(g, old, v);
	graph_sweep(g);
}

static int count_delegates(const struct graph *g, struct arena *scratch)
{
	bool *seen = arena_array(scratch, (size_t)g->ngroups, sizeof *seen);
	int n = 0;

	for (const struct node *node = g->first; node; node = node->next)
		if (node->group >= 0 && !seen[node->group]) {
			seen[node->group] = true;
			n++;
		}
	return n;
}

static bool preview_fold(struct session *s, const struct version *v, const struct fold *f, struct fold_preview *out,
			 struct arena *scratch, struct error *err)
{
	int n = s->program->nmethods;
	struct graph **clone = arena_array(scratch, (size_t)n, sizeof *clone);
	bool ok;

	for (int m = 0; m < n; m++)
		clone[m] = graph_clone(v->method[m]);
	fold_in(clone[f->method], f);
	ok = partition_apply_all(clone, n, err);
	if (ok)
		*out = (struct fold_preview){ true, count_delegates(clone[f->method], scratch),
			s->program->file.bytes - f->bytes_erased + f->bytes_added };
	for (int m = 0; m < n; m++)
		graph_free(clone[m]);
	return ok;
}

bool preview_folds(struct session *s, int version, struct arena *a, struct fold_preview **out, struct error *err)
{
	const struct version *v = &s->version[version];
	struct arena scratch = { 0 };
	bool ok = true;

	*out = arena_array(a, (size_t)v->fold.nfolds, sizeof **out);
	if (nodes_of(s, v) * (uint64_t)v->fold.nfolds > MOST_NODES)
		return true;
	for (int i = 0; i < v->fold.nfolds && ok; i++)
		if (v->fold.fold[i].folds)
			ok = preview_fold(s, v, &v->fold.fold[i], &(*out)[i], &scratch, err);
	arena_free(&scratch);
	return ok;
}
