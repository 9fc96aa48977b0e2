/* One method: calls in order, arenas by lifetime, values in the exporter's order. */
#include "core/program/emission.h"

#include "core/base/num.h"
#include "core/program/memory.h"
#include "core/program/states.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16 };	/* of planned tensors, as the exporter's */

static bool emit_inputs(struct method_out *m, struct error *err)
{
	m->plan.ninputs = m->g->ninputs;
	m->plan.input = arena_array(m->e->mem, (size_t)m->g->ninputs, sizeof *m->plan.input);
	for (int i = 0; i < m->g->ninputs; i++) {
		const struct value *v = m->g->input[i];
		const struct arg *literal = &m->g->input_literal[i];
		int index;

		if (!v || literal->kind == ARG_STRING) {
			if (!emit_arg(m, '\0', literal, &index, err))
				return false;
		} else if (!emit_tensor(m, v, false, &index, err)) {
			return false;
		}
		m->plan.input[i] = index;
		if (v)
			m->place[v->id].last = m->place[v->id].first = 0;
	}
	return true;
}

static bool emit_outputs(struct method_out *m, struct error *err)
{
	m->plan.noutputs = m->g->noutputs;
	m->plan.output = arena_array(m->e->mem, (size_t)m->g->noutputs, sizeof *m->plan.output);
	for (int i = 0; i < m->g->noutputs; i++) {
		const struct arg *a = &m->g->output[i];
		int index;

		if (!emit_arg(m, '\0', a, &index, err))
			return false;
		m->plan.output[i] = index;
		if (a->kind == ARG_VALUE) {
			struct place *root = &m->place[m->place[a->value->id].root];

			if (root->last < 0)
				root->first = m->code.n + 1;
			root->last = m->code.n + 1;
		}
	}
	return true;
}

/* ---- arenas ---- */

/* A state of this method, all its tensors together. */
struct held {
	int slot;
	uint32_t memory_id;
	uint64_t begin, end;	/* as filed */
	bool fixed;		/* it stays there */
	uint64_t at;		/* where it begins now */
};

struct arenas {
	struct method_out *m;
	struct arena mem;
	vec(struct held) held;
	uint32_t usual;		/* where new tensors go */
	int n;			/* ids */
	bool *state_only;	/* by id, as filed */
	vec(struct lifetime) life;	/* of the arena being planned */
	vec(int) owner;		/* value id; -1 - i: held i */
	uint64_t *offset;	/* by value id, of roots */
	uint32_t *id;
};

static const struct pte_tensor *filed_place(const struct method_out *m, const struct value *v)
{
	const struct pte_value *f = v->file_value >= 0 ? &m->filed->value[v->file_value] : NULL;

	return f && f->tag == PTE_TENSOR && f->tensor->has_allocation ? f->tensor : NULL;
}

/* A tensor of the file that only points to a state, by et_view, lies where that does. */
static const struct pte_tensor *state_place(const struct method_out *m, const struct value *v)
{
	const struct pte_tensor *f = filed_place(m, v);
	const int *slot = m->e->p->states ? m->e->p->states->slot[m->g->plan] : NULL;

	for (int i = 0; slot && !f && i < m->filed->nvalues; i++) {
		const struct pte_value *x = &m->filed->value[i];

		if (slot[i] == v->state_slot && x->tag == PTE_TENSOR && x->tensor->has_allocation && x->tensor->bytes == v->bytes)
			f = x->tensor;
	}
	return f;
}

static bool shared_with_others(const struct method_out *m, int slot)
{
	const struct program *p = m->e->p;

	for (int k = 0; k < p->nmethods; k++)
		for (int i = 0; p->method[k]->plan != m->g->plan && i < p->method[k]->nvalues; i++)
			if (p->method[k]->value[i]->state_slot == slot)
				return true;
	return false;
}

static struct held *find_held(struct arenas *a, int slot)
{
	for (int i = 0; i < a->held.n; i++)
		if (a->held.at[i].slot == slot)
			return &a->held.at[i];
	return NULL;
}

static bool hold_state(struct arenas *a, const struct value *v, struct error *err)
{
	const struct pte_tensor *f = state_place(a->m, v);
	struct held *h = find_held(a, v->state_slot);
	uint64_t end;

	if (!f)
		return error_set(err, ERROR_REFUSED, "%s: a state without memory", v->name);
	end = f->memory_offset + f->bytes;
	if (h && h->memory_id != f->memory_id)
		return error_set(err, ERROR_REFUSED, "%s: a state in two arenas, %u and %u", v->name,
			h->memory_id, f->memory_id);
	if (h) {
		h->begin = f->memory_offset < h->begin ? f->memory_offset : h->begin;
		h->end = end > h->end ? end : h->end;
		return true;
	}
	vec_push(&a->mem, &a->held, ((struct held){ v->state_slot, f->memory_id, f->memory_offset, end,
		a->state_only[f->memory_id] || shared_with_others(a->m, v->state_slot), f->memory_offset }));
	return true;
}

static void look_at_filed_arenas(struct arenas *a)
{
	const struct pte_plan *f = a->m->filed;
	bool *state = arena_array(&a->mem, (size_t)f->nvalues, sizeof *state), *other;

	a->n = f->nbuffers > 2 ? f->nbuffers : 2;
	a->state_only = arena_array(&a->mem, (size_t)a->n + 1, sizeof *a->state_only);
	other = arena_array(&a->mem, (size_t)a->n + 1, sizeof *other);
	for (int i = 0; i < a->m->g->nvalues; i++)
		if (a->m->g->value[i]->kind == VALUE_STATE && a->m->g->value[i]->file_value >= 0)
			state[a->m->g->value[i]->file_value] = true;
	for (int i = 0; i < f->nvalues; i++)
		if (f->value[i].tag == PTE_TENSOR && f->value[i].tensor->has_allocation) {
			uint32_t id = f->value[i].tensor->memory_id;

			(state[i] ? a->state_only : other)[id] = true;
		}
	for (int id = a->n - 1; id > 0; id--) {
		a->state_only[id] &= !other[id];
		if (other[id])
			a->usual = (uint32_t)id;
	}
	if (!a->usual)
		a->usual = a->state_only[1] ? (uint32_t)a->n++ : 1;
}

static void add_life(struct arenas *a, struct lifetime l, int owner)
{
	vec_push(&a->mem, &a->life, l);
	vec_push(&a->mem, &a->owner, owner);
}

static void collect(struct arenas *a, uint32_t id)
{
	struct method_out *m = a->m;

	a->life.n = a->owner.n = 0;
	for (int i = 0; i < a->held.n; i++) {
		const struct held *h = &a->held.at[i];

		if (h->memory_id == id)
			add_life(a, (struct lifetime){ .bytes = h->end - h->begin, .first = 0, .last = m->code.n + 1,
				.fixed = h->fixed, .offset = h->begin }, -1 - i);
	}
	for (int i = 0; i < m->g->nvalues; i++) {
		const struct value *v = m->g->value[i];
		const struct pte_tensor *f = filed_place(m, v);

		if (m->place[i].kind == PLACE_ARENA && m->place[i].root == i && m->place[i].last >= 0 &&
		    (f && !a->state_only[f->memory_id] ? f->memory_id : a->usual) == id)
			add_life(a, (struct lifetime){ .bytes = v->bytes, .first = m->place[i].first,
				.last = m->place[i].last }, i);
	}
}

static bool plan_arena(struct arenas *a, uint32_t id, int64_t *bytes, struct error *err)
{
	size_t size;

	collect(a, id);
	size = memory_plan(a->life.at, a->life.n, ALIGN);
	if (size > INT64_MAX - ALIGN)
		return error_set(err, ERROR_MEMORY, "%s: its tensors do not fit in memory", a->m->g->method);
	*bytes = (int64_t)size_align(size, ALIGN);
	for (int i = 0; i < a->life.n; i++) {
		int o = a->owner.at[i];

		if (o < 0) {
			a->held.at[-1 - o].at = a->life.at[i].offset;
		} else {
			a->offset[o] = a->life.at[i].offset;
			a->id[o] = id;
		}
	}
	return true;
}

static void set_allocation(struct pte_tensor *t, uint32_t id, uint64_t offset)
{
	t->has_allocation = true;
	t->memory_id = id;
	t->memory_offset = offset;
}

static void place_state_tensor(struct arenas *a, const struct value *state, struct pte_tensor *t)
{
	const struct held *h = find_held(a, state->state_slot);

	set_allocation(t, h->memory_id, state_place(a->m, state)->memory_offset - h->begin + h->at);
}

static void set_allocations(struct arenas *a)
{
	struct method_out *m = a->m;

	for (int i = 0; i < m->value.n; i++) {
		const struct value *v = m->value_of.at[i];
		const struct place *p = v ? &m->place[v->id] : NULL;

		if (!v || m->value.at[i].tag != PTE_TENSOR)
			continue;
		if (p->kind == PLACE_ARENA)
			set_allocation(m->value.at[i].tensor, a->id[p->root], a->offset[p->root]);
		else if (p->kind == PLACE_STATE)
			place_state_tensor(a, m->g->value[p->root], m->value.at[i].tensor);
	}
}

static bool used_states(struct arenas *a, struct error *err)
{
	for (int i = 0; i < a->m->value.n; i++) {
		const struct value *v = a->m->value_of.at[i];

		if (v && a->m->place[v->id].kind == PLACE_STATE &&
		    !hold_state(a, a->m->g->value[a->m->place[v->id].root], err))
			return false;
	}
	return true;
}

static bool plan_arenas(struct arenas *a, struct error *err)
{
	struct method_out *m = a->m;

	look_at_filed_arenas(a);
	a->offset = arena_array(&a->mem, (size_t)m->g->nvalues, sizeof *a->offset);
	a->id = arena_array(&a->mem, (size_t)m->g->nvalues, sizeof *a->id);
	if (!used_states(a, err))
		return false;
	m->plan.nbuffers = a->n;
	m->plan.buffer_bytes = arena_array(m->e->mem, (size_t)a->n, sizeof *m->plan.buffer_bytes);
	m->plan.buffer_bytes[0] = m->filed->nbuffers ? m->filed->buffer_bytes[0] : 0;
	for (int id = 1; id < a->n; id++) {
		if (!plan_arena(a, (uint32_t)id, &m->plan.buffer_bytes[id], err))
			return false;
		if (a->state_only[id])	/* other methods may look at the same memory: its size stays */
			m->plan.buffer_bytes[id] = m->filed->buffer_bytes[id];
	}
	set_allocations(a);
	return true;
}

/* ---- the plan ---- */

struct rank { int group, key, index; };	/* group 0: stored values, 1: inputs, 2: the rest */

static int by_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	return x->group != y->group ? x->group - y->group : x->key != y->key ? (x->key < y->key ? -1 : 1) :
		x->index - y->index;
}

static void rank_values(struct method_out *m, struct rank *rank)
{
	for (int i = 0; i < m->value.n; i++) {
		const struct value *v = m->value_of.at[i];

		rank[i] = v && (v->kind == VALUE_CONSTANT || v->kind == VALUE_STATE) ?
			(struct rank){ 0, v->file_value >= 0 ? v->file_value : INT32_MAX, i } :
				(struct rank){ 2, 0, i };
	}
	for (int k = 0; k < m->plan.ninputs; k++)
		rank[m->plan.input[k]] = (struct rank){ 1, k, m->plan.input[k] };
}

static void renumber(const int *to, int32_t *at, int n)
{
	for (int i = 0; i < n; i++)
		if (at[i] >= 0)
			at[i] = to[at[i]];
}

/* Stored values first, then inputs, then what calls make: lists stay behind the tensors they hold. */
static void sort_values(struct method_out *m)
{
	int n = m->value.n, *to = arena_array(m->e->mem, (size_t)n, sizeof *to);
	struct rank *rank = arena_array(m->e->mem, (size_t)n, sizeof *rank);
	const struct value **value_of = arena_array(m->e->mem, (size_t)n, sizeof *value_of);

	rank_values(m, rank);
	qsort(rank, (size_t)n, sizeof *rank, by_rank);
	m->plan.value = arena_array(m->e->mem, (size_t)n, sizeof *m->plan.value);
	m->plan.nvalues = n;
	for (int i = 0; i < n; i++) {
		m->plan.value[i] = m->value.at[rank[i].index];
		value_of[i] = m->value_of.at[rank[i].index];
		to[rank[i].index] = i;
	}
	m->e->value_of[m->g->plan] = value_of;
	for (int i = 0; i < n; i++) {
		enum pte_tag t = m->plan.value[i].tag;

		if (t == PTE_INT_LIST || t == PTE_TENSOR_LIST || t == PTE_OPTIONAL_TENSOR_LIST)
			renumber(to, m->plan.value[i].index.at, m->plan.value[i].index.n);
	}
	for (int i = 0; i < m->code.n; i++)
		renumber(to, m->code.at[i].arg, m->code.at[i].nargs);
	renumber(to, m->plan.input, m->plan.ninputs);
	renumber(to, m->plan.output, m->plan.noutputs);
}

static void finish_plan(struct method_out *m)
{
	struct pte_chain *chain = arena_alloc(m->e->mem, sizeof *chain);

	*chain = (struct pte_chain){ m->code.at, m->code.n };
	m->plan.name = m->filed->name;
	m->plan.input_spec = m->filed->input_spec;
	m->plan.output_spec = m->filed->output_spec;
	m->plan.chain = chain;
	m->plan.nchains = 1;
	m->plan.operator = m->operator.at;
	m->plan.noperators = m->operator.n;
	m->plan.delegate = m->delegate.at;
	m->plan.ndelegates = m->delegate.n;
	m->plan.device = m->filed->device;
	m->plan.ndevices = m->filed->ndevices;
}

static bool may_change(const struct method_out *m, struct error *err)
{
	if (m->g->rigid)
		return error_set(err, ERROR_REFUSED, "%s cannot be written anew: %s", m->g->method, m->g->rigid_why);
	for (int i = 0; i < m->filed->ndevices; i++)
		if (m->filed->device[i].type)
			return error_set(err, ERROR_REFUSED,
				"%s cannot be written anew: arena %d is on another device",
					 m->g->method, m->filed->device[i].buffer);
	return true;
}

/* States are kept, read or not: another method may look at the same memory. */
static bool emit_states(struct method_out *m, struct error *err)
{
	for (int i = 0; i < m->g->nvalues; i++) {
		int index;

		if (m->g->value[i]->kind == VALUE_STATE && !emit_tensor(m, m->g->value[i], false, &index, err))
			return false;
	}
	return true;
}

static bool order_units(struct method_out *m, struct error *err)
{
	int *root = arena_array(m->e->mem, (size_t)m->g->nvalues, sizeof *root);

	for (int i = 0; i < m->g->nvalues; i++)
		root[i] = m->place[i].root;
	return graph_units(&m->units, m->g, root, m->e->mem, err);
}

static bool emit_parts(struct method_out *m, struct arenas *a, struct error *err)
{
	place_values(m);
	if (!order_units(m, err) || !emit_states(m, err) || !emit_inputs(m, err))
		return false;
	for (int i = 0; i < m->units.n; i++)
		if (!work_goes_on(m->g->work, "making calls", i, m->units.n, err) || !emit_unit(m, &m->units.at[i], err))
			return false;
	return emit_outputs(m, err) && plan_arenas(a, err);
}

bool emit_method(struct emission *e, struct graph *g, const struct pte_plan *filed, struct pte_plan *plan,
		 struct call_map *map, struct error *err)
{
	struct method_out m = { .e = e, .g = g, .filed = filed };
	struct arenas a = { .m = &m };
	bool ok;

	graph_number(g);
	m.delegate_of = arena_array(e->mem, (size_t)filed->ndelegates, sizeof *m.delegate_of);
	for (int i = 0; i < filed->ndelegates; i++)
		m.delegate_of[i] = -1;
	ok = may_change(&m, err) && emit_parts(&m, &a, err);
	arena_free(&a.mem);
	if (!ok)
		return false;
	sort_values(&m);
	finish_plan(&m);
	*plan = m.plan;
	emit_calls_map(&m, map);
	return true;
}
