/* A smaller placement by trial: whatever reaches the top of the arena trades its turn with something that was placed
 * before it and lives at the same time; what makes the arena no larger stays. The numbers drawn are always the same. */
#include "core/program/memory_parts.h"

#include "core/base/num.h"

#include <string.h>

struct search {
	struct planner *p;
	int *order, *turn;	/* lifetime by turn, turn by lifetime */
	size_t *offset, bytes;	/* the best placement so far */
	int *pick, npicks;	/* scratch */
	uint64_t seed;
};

static int draw(struct search *s, int n)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (int)((s->seed >> 33) % (uint64_t)n);
}

static bool may_move(const struct planner *p, int i)
{
	return !p->life[i].fixed && p->life[i].bytes;
}

static int draw_at_top(struct search *s)
{
	s->npicks = 0;
	for (int i = 0; i < s->p->n; i++)
		if (may_move(s->p, i) && s->offset[i] + s->p->life[i].bytes == s->bytes)
			s->pick[s->npicks++] = i;
	return s->npicks ? s->pick[draw(s, s->npicks)] : -1;
}

static int draw_before(struct search *s, int i)
{
	const struct planner *p = s->p;

	s->npicks = 0;
	for (int k = 0; k < s->turn[i]; k++) {
		int o = s->order[k];

		if (may_move(p, o) && p->first[o] <= p->last[i] && p->first[i] <= p->last[o])
			s->pick[s->npicks++] = o;
	}
	return s->npicks ? s->pick[draw(s, s->npicks)] : -1;
}

static void trade(struct search *s, int a, int b)
{
	int turn = s->turn[a];

	s->turn[a] = s->turn[b];
	s->turn[b] = turn;
	s->order[s->turn[a]] = a;
	s->order[s->turn[b]] = b;
}

static void keep(struct search *s)
{
	s->bytes = s->p->bytes;
	memcpy(s->offset, s->p->offset, (size_t)s->p->n * sizeof *s->offset);
}

static void try_trade(struct search *s)
{
	int a = draw_at_top(s), b = a < 0 ? -1 : draw_before(s, a), c = b < 0 ? -1 : draw_before(s, b);

	if (b < 0)
		return;
	if (c >= 0 && draw(s, 2))	/* what stands in the way of that may be what matters */
		a = c;
	trade(s, a, b);
	memory_place(s->p, s->order);
	if (s->p->bytes <= s->bytes)
		keep(s);
	else
		trade(s, a, b);
}

void memory_search(struct planner *p, int *order, size_t bound, uint64_t trials)
{
	size_t n = (size_t)p->n;
	struct search s = { .p = p, .order = order, .seed = 1 };

	s.turn = arena_array(&p->mem, n, sizeof *s.turn);
	s.pick = arena_array(&p->mem, n, sizeof *s.pick);
	s.offset = arena_array(&p->mem, n, sizeof *s.offset);
	for (int k = 0; k < p->n; k++)
		s.turn[order[k]] = k;
	memory_place(p, order);
	keep(&s);
	while (trials-- && size_align(s.bytes, p->align) > bound)
		try_trade(&s);
	p->bytes = s.bytes;
	memcpy(p->offset, s.offset, n * sizeof *p->offset);
}
