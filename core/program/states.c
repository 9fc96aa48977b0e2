#include "core/program/states.h"

#include "core/base/map.h"
#include "core/program/calls.h"
#include "core/program/delegates.h"

#include <stdlib.h>
#include <string.h>

struct finder {
	struct program *p;
	struct states *s;
	struct arena scratch;
	int plan;
	const struct pte_plan *pte;
	struct replay r;
	const int *uses;
	bool *known;		/* by value of the plan: state by what the file says of it, or by what was found */
};

static const struct pte_tensor *tensor(const struct finder *f, int32_t v)
{
	return f->pte->value[v].tag == PTE_TENSOR ? f->pte->value[v].tensor : NULL;
}

static void hold(struct finder *f, int32_t v)
{
	f->known[v] = true;
	replay_hold(&f->r, v, -1);
}

/* Read before anything was written there: it holds what the last run left. */
static void see_read(int32_t v, void *ctx)
{
	struct finder *f = ctx;
	int content, place;

	if (tensor(f, v)->bytes && replay_read(&f->r, v, &content, &place) == REPLAY_NOBODY)
		hold(f, place);
}

static void see_write(struct finder *f, int32_t v)
{
	int content = -1, place;
	enum replay_kind k = replay_read(&f->r, v, &content, &place);

	if (k == REPLAY_STORED || ((k == REPLAY_OWN || k == REPLAY_OTHER) && f->r.content[content].held))
		return;
	replay_write(&f->r, v);
}

static void see_kernel(struct finder *f, const struct call_table *t, const struct pte_instruction *in)
{
	struct kernel_call c = call_read(t, in);

	for (int i = 0; i < c.nargs; i++)
		call_each_tensor(f->pte, c.arg[i], see_read, f);
	if (c.takes_pointer && c.nouts == 1) {
		replay_point(&f->r, c.out[0], c.arg[0]);
		return;
	}
	for (int i = 0; i < c.nargs; i++)
		if (call_writes(&c, i) && tensor(f, c.arg[i]))
			see_write(f, c.arg[i]);
	for (int i = 0; i < c.nouts; i++)
		if (tensor(f, c.out[i]))
			see_write(f, c.out[i]);
}

static void see_delegate(struct finder *f, const struct pte_instruction *in)
{
	const struct xgraph *x = delegate_graph(f->p, f->plan, in, NULL);
	bool unsure;

	if (!x) {
		int first = delegate_first_output(&f->r, in, f->uses, &unsure);

		for (int i = 0; i < in->nargs; i++)
			if (tensor(f, in->arg[i]))
				i < first ? see_read(in->arg[i], f) : see_write(f, in->arg[i]);
		return;
	}
	for (int i = 0; i < x->nvalues; i++)
		if (x->value[i].flags & XFLAG_INPUT)
			see_read(in->arg[x->value[i].external_id], f);
	for (int i = 0; i < x->nvalues; i++)
		if (x->value[i].flags & XFLAG_OUTPUT)
			see_write(f, in->arg[x->value[i].external_id]);
}

static bool says_state(const struct pte_tensor *t)
{
	return t->storage == PTE_MUTABLE || t->storage == PTE_EXTERNAL_MUTABLE || (t->has_allocation && t->name);
}

static void find_in_plan(struct finder *f)
{
	struct call_table calls;

	call_table_init(&calls, f->pte, &f->scratch);
	replay_open(&f->r, f->pte, &f->scratch);
	f->uses = delegate_uses(f->pte, &f->scratch);
	for (int v = 0; v < f->pte->nvalues; v++)
		if (tensor(f, v) && !f->r.value[v].input && says_state(tensor(f, v)))
			hold(f, v);
	for (int i = 0; i < f->pte->ninputs; i++)
		if (tensor(f, f->pte->input[i]))
			see_write(f, f->pte->input[i]);
	for (int c = 0; c < f->pte->nchains; c++)
		for (int i = 0; i < f->pte->chain[c].ninstructions; i++) {
			const struct pte_instruction *in = &f->pte->chain[c].instruction[i];

			if (!work_goes_on(f->p->work, "looking for state", i, f->pte->chain[c].ninstructions, NULL))
				return;		/* who called asks again */
			if (in->call == PTE_KERNEL)
				see_kernel(f, &calls, in);
			else if (in->call == PTE_DELEGATE)
				see_delegate(f, in);
			else if (in->call == PTE_MOVE && tensor(f, in->index) && tensor(f, in->to))
				replay_point(&f->r, in->to, in->index);
		}
	for (int i = 0; i < f->pte->noutputs; i++)
		call_each_tensor(f->pte, f->pte->output[i], see_read, f);
}

/* Slots. */

struct slot { int number; size_t bytes; };

struct place_key { uint32_t memory, plan; uint64_t offset; };

struct place { struct place_key key; struct slot *slot; };

struct slots {
	struct arena *mem;
	struct map by_name, by_place;
	vec(struct place) shared;	/* in arenas that methods share */
	int n;
};

static struct place_key place_key(const struct pte_tensor *t, int plan)
{
	return (struct place_key){ t->memory_id, t->memory_id < 2 ? (uint32_t)plan : 0, t->memory_offset };
}

static struct slot *find_slot(struct slots *s, const struct pte_tensor *t, int plan)
{
	struct place_key *key = arena_alloc(s->mem, sizeof *key);
	struct slot *slot = t->name ? map_get(&s->by_name, t->name, strlen(t->name)) : NULL;

	*key = place_key(t, plan);
	if (!slot && t->has_allocation)
		slot = map_get(&s->by_place, key, sizeof *key);
	if (!slot) {
		slot = arena_alloc(s->mem, sizeof *slot);
		*slot = (struct slot){ s->n++, t->bytes };
	}
	if (t->name)
		map_put(&s->by_name, s->mem, t->name, strlen(t->name), slot);
	if (t->has_allocation && !map_get(&s->by_place, key, sizeof *key)) {
		map_put(&s->by_place, s->mem, key, sizeof *key, slot);
		if (t->memory_id >= 2)
			vec_push(s->mem, &s->shared, ((struct place){ *key, slot }));
	}
	return slot;
}

static void conflict(struct finder *f, int32_t v, const char *what)
{
	if (!f->s->conflict[f->plan])
		f->s->conflict[f->plan] = arena_printf(&f->p->mem, "value %d %s", v, what);
}

static int compare_places(const void *a, const void *b)
{
	const struct place_key *x = &((const struct place *)a)->key, *y = &((const struct place *)b)->key;

	return x->memory != y->memory ? (x->memory < y->memory ? -1 : 1) :
	       x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : 0;
}

/* The state of any method that lies in these bytes, the last one that starts at or before their end. */
static const struct place *find_shared(const struct slots *s, const struct pte_tensor *t)
{
	struct place_key key = place_key(t, 0);
	int low = 0, high = s->shared.n;

	key.offset += t->bytes - 1;
	while (low < high) {
		int mid = low + (high - low) / 2;

		if (compare_places(&s->shared.at[mid], &(struct place){ key, NULL }) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || s->shared.at[low - 1].key.memory != t->memory_id ||
	    s->shared.at[low - 1].key.offset + s->shared.at[low - 1].slot->bytes <= t->memory_offset)
		return NULL;
	return &s->shared.at[low - 1];
}

/* A tensor that lies where another method keeps state is that state. */
static void share(struct finder *f, const struct slots *s, int32_t v)
{
	const struct pte_tensor *t = tensor(f, v);
	const struct place *found = t && t->has_allocation && t->memory_id >= 2 && t->bytes ? find_shared(s, t) : NULL;

	if (!found || f->s->slot[f->plan][v] >= 0)
		return;
	if (f->r.value[v].input || found->key.offset != t->memory_offset || found->slot->bytes != t->bytes)
		conflict(f, v, "lies over state of another method");
	else
		f->s->slot[f->plan][v] = found->slot->number;
}

static void give_slots(struct finder *f, struct slots *s)
{
	int *number = arena_array(&f->p->mem, (size_t)f->pte->nvalues, sizeof *number);

	f->s->slot[f->plan] = number;
	for (int v = 0; v < f->pte->nvalues; v++) {
		struct slot *slot = f->known[v] ? find_slot(s, tensor(f, v), f->plan) : NULL;

		number[v] = slot ? slot->number : -1;
		if (slot && slot->bytes != tensor(f, v)->bytes)
			conflict(f, v, "is state of another size elsewhere");
	}
}

void states_find(struct program *p)
{
	struct states *s = p->states = arena_alloc(&p->mem, sizeof *s);
	struct arena mem = { 0 };
	struct slots slots = { .mem = &mem };
	struct finder *f = arena_array(&mem, (size_t)p->pte.nplans, sizeof *f);

	s->slot = arena_array(&p->mem, (size_t)p->pte.nplans, sizeof *s->slot);
	s->conflict = arena_array(&p->mem, (size_t)p->pte.nplans, sizeof *s->conflict);
	for (int i = 0; i < p->pte.nplans; i++) {
		f[i] = (struct finder){ .p = p, .s = s, .plan = i, .pte = &p->pte.plan[i] };
		f[i].known = arena_array(&f[i].scratch, (size_t)f[i].pte->nvalues, sizeof *f[i].known);
		find_in_plan(&f[i]);
		give_slots(&f[i], &slots);
	}
	if (slots.shared.n)
		qsort(slots.shared.at, (size_t)slots.shared.n, sizeof *slots.shared.at, compare_places);
	for (int i = 0; i < p->pte.nplans; i++) {
		for (int v = 0; slots.shared.n && v < f[i].pte->nvalues; v++)
			share(&f[i], &slots, v);
		arena_free(&f[i].scratch);
	}
	s->nslots = slots.n;
	arena_free(&mem);
}
