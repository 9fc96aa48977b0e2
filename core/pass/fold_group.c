/* Which folds hang together. A group shares sources, or producers, which have sources themselves: it is weighed as a
 * whole. Most groups hang together by single numbers alone, a scale that many weights are multiplied with; what shares
 * more than those is a cluster. */
#include "core/pass/folding.h"

#include <stdlib.h>

static int find_root(int *parent, int i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

/* The lower one is the root, so that roots are first members. */
static void join(int *parent, int a, int b)
{
	a = find_root(parent, a);
	b = find_root(parent, b);
	parent[a < b ? b : a] = a < b ? a : b;
}

/* By candidate: the first that it shares a source with, directly or by others. */
static int *join_by_sources(const struct folding *f, bool numbers, struct arena *a)
{
	int *parent = arena_array(a, (size_t)f->list.n + 1, sizeof *parent);
	int *reader = arena_array(a, (size_t)f->sources.n + 1, sizeof *reader);	/* by source: candidate + 1 */

	for (int i = 0; i < f->list.n; i++)
		parent[i] = i;
	for (int i = 0; i < f->list.n; i++) {
		const struct candidate *c = &f->list.at[i];

		for (int k = 0; c->active && k < c->nsources; k++) {
			if (f->sources.at[c->source[k]].number && !numbers)
				continue;
			if (reader[c->source[k]])
				join(parent, reader[c->source[k]] - 1, i);
			reader[c->source[k]] = i + 1;
		}
	}
	for (int i = 0; i < f->list.n; i++)
		parent[i] = find_root(parent, i);
	return parent;
}

struct place { int group, cluster, candidate; };

static int by_group(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->group != y->group ? x->group - y->group :
		x->cluster != y->cluster ? x->cluster - y->cluster : x->candidate - y->candidate;
}

void folding_find_groups(struct folding *f)
{
	struct arena mem = { 0 };
	const int *group = join_by_sources(f, true, &mem), *cluster = join_by_sources(f, false, &mem);
	vec(struct place) places = { 0 };
	int *member;

	for (int i = 0; i < f->list.n; i++)
		if (f->list.at[i].active)
			vec_push(&mem, &places, ((struct place){ group[i], cluster[i], i }));
	if (places.n)
		qsort(places.at, (size_t)places.n, sizeof *places.at, by_group);
	member = arena_array(&f->mem, (size_t)places.n + 1, sizeof *member);
	for (int i = 0; i < places.n; i++) {
		const struct place *p = &places.at[i];
		bool first = !i || p[-1].group != p->group;

		member[i] = p->candidate;
		if (first)
			vec_push(&f->mem, &f->groups, ((struct fold_group){ .all = { &member[i], 0 }, .cluster = f->clusters.n }));
		if (first || p[-1].cluster != p->cluster)
			vec_push(&f->mem, &f->clusters, ((struct members){ &member[i], 0 }));
		f->groups.at[f->groups.n - 1].nclusters = f->clusters.n - f->groups.at[f->groups.n - 1].cluster;
		f->groups.at[f->groups.n - 1].all.n++;
		f->clusters.at[f->clusters.n - 1].n++;
	}
	arena_free(&mem);
}
