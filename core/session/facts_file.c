/* What stands in the file: delegate calls, kernel calls, bytes. */
#include "core/session/facts_parts.h"

#include "core/op/op.h"
#include "core/program/states.h"

#include <string.h>

bool facts_number_delegates(struct making_facts *m, struct error *err)
{
	struct units units;
	int calls = 0;

	m->call_of_group = arena_array(m->mem, (size_t)m->g->ngroups, sizeof *m->call_of_group);
	m->unit_of_group = arena_array(m->mem, (size_t)m->g->ngroups, sizeof *m->unit_of_group);
	for (int i = 0; i < m->g->ngroups; i++)
		m->call_of_group[i] = -1;
	if (!graph_units(&units, m->g, NULL, &m->scratch, err))
		return false;
	for (int i = 0; i < units.n; i++)
		if (units.at[i].group >= 0) {
			m->call_of_group[units.at[i].group] = calls++;
			m->unit_of_group[units.at[i].group] = &units.at[i];
		}
	return true;
}

/* Bytes of constants that a delegate stores: weights and biases of its nodes, each once. */

struct stored { struct making_facts *m; struct map seen; uint64_t *bytes; /* by delegate call */ };

static void add_stored(struct stored *s, const struct node *n, int arg)
{
	const struct value *v = node_input(n, arg);
	int call = s->m->call_of_group[n->group];
	uint64_t *key;

	/* Behind a dequantise node lie the integers that are stored. */
	while (v && v->def && v->def->group == n->group && v->def->op->flags & OP_QUANTIZE)
		v = node_input(v->def, 0);
	if (!v || v->kind != VALUE_CONSTANT)
		return;
	key = arena_alloc(&s->m->scratch, 2 * sizeof *key);
	key[0] = (uint64_t)call;
	key[1] = (uint64_t)v->id;
	if (map_get(&s->seen, key, 2 * sizeof *key))
		return;
	map_put(&s->seen, &s->m->scratch, key, 2 * sizeof *key, (void *)(uintptr_t)v);
	s->bytes[call] += v->bytes;
}

static void find_delegates(struct making_facts *m)
{
	const struct pte_plan *p = m->s->plan;
	struct method_facts *f = m->f;
	struct stored s = { .m = m };
	int n = 0;

	for (int c = 0; c < p->nchains; c++)
		for (int i = 0; i < p->chain[c].ninstructions; i++)
			n += p->chain[c].instruction[i].call == PTE_DELEGATE;
	f->delegate = arena_array(m->mem, (size_t)n, sizeof *f->delegate);
	for (int c = 0; c < p->nchains; c++)
		for (int i = 0; i < p->chain[c].ninstructions; i++) {
			const struct pte_instruction *in = &p->chain[c].instruction[i];

			if (in->call == PTE_DELEGATE)
				f->delegate[f->ndelegates++] = (struct delegate_row){ p->delegate[in->index].id, 0,
					p->delegate[in->index].blob.bytes };
		}
	s.bytes = arena_array(&m->scratch, (size_t)n + (size_t)m->g->ngroups, sizeof *s.bytes);
	for (const struct node *x = m->g->first; x; x = x->next)
		if (x->group >= 0 && x->op->flags & OP_GEMM) {
			add_stored(&s, x, op_weight_arg(x->op));
			add_stored(&s, x, op_bias_arg(x->op));
		}
	for (int k = 0; k < m->g->ngroups; k++)
		if (m->call_of_group[k] >= 0 && m->call_of_group[k] < n) {
			f->delegate[m->call_of_group[k]].nodes = m->unit_of_group[k]->nnodes;
			f->delegate[m->call_of_group[k]].bytes += s.bytes[m->call_of_group[k]];
		}
}

static void find_left_out(struct making_facts *m)
{
	const struct pte_plan *p = m->s->plan;
	int n = 0;

	for (int c = 0; c < p->nchains; c++)
		n += p->chain[c].ninstructions;
	m->f->left_out = arena_array(m->mem, (size_t)n, sizeof *m->f->left_out);
	for (int c = 0; c < p->nchains; c++)
		for (int i = 0; i < p->chain[c].ninstructions; i++) {
			const struct pte_instruction *in = &p->chain[c].instruction[i];
			const struct pte_operator *o = in->call == PTE_KERNEL ? &p->operator[in->index] : NULL;

			if (o)
				m->f->left_out[m->f->nleft_out++] = o->overload && *o->overload ?
					arena_printf(m->mem, "%s.%s", o->name, o->overload) : o->name;
		}
}

static void count_memory(struct making_facts *m)
{
	struct map seen = { 0 };

	for (int i = 1; i < m->s->plan->nbuffers; i++)
		m->f->planned_bytes += (uint64_t)m->s->plan->buffer_bytes[i];
	for (int i = 0; i < m->g->nvalues; i++) {
		const struct value *v = m->g->value[i];
		const void *key = v->data ? (const void *)&v->data : v->name;
		size_t bytes = v->data ? sizeof v->data : strlen(v->name) + 1;

		if (v->kind != VALUE_CONSTANT || (!v->nuses && !v->noutputs) || map_get(&seen, key, bytes))
			continue;
		map_put(&seen, &m->scratch, key, bytes, (void *)(uintptr_t)v);
		*(v->home == HOME_PROGRAM ? &m->f->constant_bytes : &m->f->external_bytes) += v->bytes;
	}
}

/* Which values of the plan are state: as filed what its replay found (states.h), else what was written as such. */
static bool *find_held(struct making_facts *m)
{
	const struct states *states = m->s->program->states;
	bool *held = arena_array(&m->scratch, (size_t)m->s->plan->nvalues, sizeof *held);

	for (int i = 0; i < m->s->plan->nvalues; i++)
		held[i] = m->s->value_of ? m->s->value_of[i] && m->s->value_of[i]->kind == VALUE_STATE :
			states && states->slot[m->g->plan][i] >= 0;
	return held;
}

/* Of a file's value that several calls write, one is known. */
static bool is_that(const struct value *v, const struct planned_tensor *t, bool filed)
{
	return v && (v->kind == VALUE_NODE) == (t->instruction >= 0) &&
	       (!filed || !v->def || (v->def->origin.chain == t->chain && v->def->origin.instruction == t->instruction));
}

/* By value of the plan: what it is in the graph. */
static const struct value *const *values_of_plan(struct making_facts *m)
{
	const struct value **of;

	if (m->s->value_of)
		return m->s->value_of;
	of = arena_array(&m->scratch, (size_t)m->s->plan->nvalues, sizeof *of);
	for (int i = 0; i < m->g->nvalues; i++) {
		int filed = m->g->value[i]->file_value;

		if (filed >= 0 && filed < m->s->plan->nvalues)
			of[filed] = m->g->value[i];
	}
	return of;
}

/* Nodes by instruction of the first chain as filed; the last one that such a call became. */
static const struct node **nodes_of_calls(struct making_facts *m)
{
	int n = m->s->value_of || !m->s->plan->nchains ? 0 : m->s->plan->chain[0].ninstructions;
	const struct node **at = arena_array(&m->scratch, (size_t)n, sizeof *at);

	for (const struct node *x = m->g->first; x && n; x = x->next)
		if (x->origin.kind == ORIGIN_FILE && !x->origin.chain && x->origin.instruction >= 0 && x->origin.instruction < n)
			at[x->origin.instruction] = x;
	return at;
}

static bool find_plan(struct making_facts *m, struct error *err)
{
	const struct value *const *of = values_of_plan(m);
	const struct node **at = nodes_of_calls(m);

	if (!planned_make(&m->f->plan, m->s->plan, find_held(m), m->mem, m->g->work, err))
		return false;
	for (int i = 0; i < m->f->plan.n; i++) {
		struct planned_tensor *t = &m->f->plan.tensor[i];

		if (is_that(of[t->value], t, !m->s->value_of))
			t->is = of[t->value];
		t->by = t->is && t->is->def ? t->is->def : !m->s->value_of && t->instruction >= 0 && !t->chain ?
			at[t->instruction] : NULL;
	}
	return true;
}

bool facts_of_file(struct making_facts *m, struct error *err)
{
	find_delegates(m);
	find_left_out(m);
	count_memory(m);
	return find_plan(m, err);
}
