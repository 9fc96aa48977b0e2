/* State: memory that methods keep from run to run, by slot. */
#include "core/run/exec_parts.h"

#include <string.h>

struct exec_state *exec_state_new(void)
{
	return mem_alloc(sizeof(struct exec_state));
}

void exec_state_free(struct exec_state *s)
{
	if (!s)
		return;
	arena_free(&s->mem);
	mem_free(s);
}

void exec_state_reset(struct exec_state *s)
{
	for (int i = 0; i < s->slot.n; i++) {
		struct state *k = &s->slot.at[i];

		if (k->data)
			memset(k->data, 0, k->bytes);
		if (k->initial)
			memcpy(k->data, k->initial, k->initial_bytes);
	}
}

static bool note_state(struct exec *e, const struct value *v, struct error *err)
{
	struct state *k;

	if (v->state_slot < 0)
		return error_set(err, ERROR_RUN, "%s: state %s has no slot", e->graph->method, v->name);
	while (e->state->slot.n <= v->state_slot)
		vec_push(&e->state->mem, &e->state->slot, ((struct state){ 0 }));
	k = &e->state->slot.at[v->state_slot];
	if (v->bytes > k->bytes && k->data)
		return error_set(err, ERROR_RUN, "%s: state %s has %zu bytes, another method keeps %zu there",
				 e->graph->method, v->name, v->bytes, k->bytes);
	if (v->bytes > k->bytes)
		k->bytes = v->bytes;
	if (v->data && v->bytes > k->initial_bytes) {
		k->initial = v->data;
		k->initial_bytes = v->bytes;
	}
	return true;
}

bool exec_plan_state(struct exec *e, struct error *err)
{
	const struct graph *g = e->graph;

	e->state = e->option.state;
	if (!e->state)
		e->state = e->own_state = exec_state_new();
	for (int i = 0; i < g->nvalues; i++)
		if (g->value[i]->kind == VALUE_STATE && !note_state(e, g->value[i], err))
			return false;
	for (int i = 0; i < g->nvalues; i++) {
		const struct value *v = g->value[i];
		struct state *k = v->kind == VALUE_STATE ? &e->state->slot.at[v->state_slot] : NULL;

		if (k && !k->data && !(k->data = arena_try(&e->state->mem, k->bytes + OVER_READ)))
			return exec_no_memory(e, k->bytes, err);
		if (k && k->initial && !k->begun) {
			memcpy(k->data, k->initial, k->initial_bytes);
			k->begun = true;
		}
		if (k)
			e->tensor[i]->data = k->data;
	}
	return true;
}
