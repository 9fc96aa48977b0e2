/* Calls of the file and calls as written. An ETDump names a call by its number, an ETRecord knows debug handles by
 * it (facts: formats 1.5, 5); so the map from one to the other is all that it takes to read an old one. */
#include "core/program/emission.h"

#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static int calls_in_file(const struct pte_plan *filed)
{
	return filed->nchains ? filed->chain[0].ninstructions : 0;
}

/* Called behind the unit's emission: an elided view has no call, and its handle goes. */
void emit_calls_note(struct method_out *m, const struct unit *u)
{
	struct call_from from = { arena_array(m->e->mem, (size_t)u->nnodes, sizeof *from.was), 0 };
	int n = 0;

	if (m->from.n == m->code.n)
		return;
	for (int i = 0; i < u->nnodes; i++) {
		const struct origin *o = &u->node[i]->origin;

		if (o->kind != ORIGIN_VIEW && !o->chain && o->instruction >= 0 && o->instruction < calls_in_file(m->filed))
			from.was[n++] = o->instruction;
	}
	qsort(from.was, (size_t)n, sizeof *from.was, by_number);
	for (int i = 0; i < n; i++)
		if (!i || from.was[i] != from.was[from.n - 1])
			from.was[from.n++] = from.was[i];
	vec_push(m->e->mem, &m->from, from);
}

void emit_calls_map(struct method_out *m, struct call_map *map)
{
	int filed = calls_in_file(m->filed);
	bool *there = arena_array(m->e->mem, (size_t)filed, sizeof *there);

	*map = (struct call_map){ .method = m->filed->name, .call = m->from.at, .ncalls = m->from.n,
		.delegates_anew = m->delegates_anew, .gone = arena_array(m->e->mem, (size_t)filed, sizeof *map->gone) };
	for (int c = 0; c < map->ncalls; c++)
		for (int i = 0; i < map->call[c].n; i++) {
			int was = map->call[c].was[i];

			map->moved += !there[was] && (was != c || map->call[c].n > 1);
			there[was] = true;
		}
	for (int i = 0; i < filed; i++)
		if (!there[i])
			map->gone[map->ngone++] = i;
}
