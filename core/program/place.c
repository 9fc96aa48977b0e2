/* Where each value lives. Static views are elided: their value is a second tensor on the same memory or the
 * same stored bytes (facts: formats 1.3, partition 4.1). That is only done where it cannot be told from a copy. */
#include "core/program/emission.h"

#include "core/op/op.h"
#include "core/program/calls.h"

#include <stdlib.h>
#include <string.h>

/* Whether a call makes the value point to another one's memory. */
static bool is_pointed(const struct method_out *m, int32_t index)
{
	struct call_table t;

	call_table_init(&t, m->filed, m->e->mem);
	for (int c = 0; c < m->filed->nchains; c++)
		for (int i = 0; i < m->filed->chain[c].ninstructions; i++) {
			const struct pte_instruction *in = &m->filed->chain[c].instruction[i];
			struct kernel_call k;

			if (in->call != PTE_KERNEL)
				continue;
			k = call_read(&t, in);
			if (k.takes_pointer && k.nouts == 1 && k.out[0] == index)
				return true;
		}
	return false;
}

static bool filed_has_memory(const struct method_out *m, int32_t index)
{
	const struct pte_value *v = &m->filed->value[index];

	return v->tag != PTE_TENSOR || v->tensor->storage != PTE_UNPLANNED || is_pointed(m, index);
}

/* A node's value that is a method output has memory unless the file left it to the caller at all its places. */
static bool output_has_memory(const struct method_out *m, const struct value *v)
{
	for (int i = 0; i < m->g->noutputs; i++)
		if (m->g->output[i].kind == ARG_VALUE && m->g->output[i].value == v &&
		    (i >= m->filed->noutputs || filed_has_memory(m, m->filed->output[i])))
			return true;
	return false;
}

static enum place_kind own_place(const struct method_out *m, const struct value *v)
{
	if (v->scalar)
		return PLACE_NONE;
	switch (v->kind) {
	case VALUE_CONSTANT: return PLACE_BYTES;
	case VALUE_STATE: return PLACE_STATE;
	case VALUE_INPUT: return v->file_value < 0 || filed_has_memory(m, v->file_value) ? PLACE_ARENA : PLACE_NONE;
	case VALUE_NODE: break;
	}
	return !v->noutputs || output_has_memory(m, v) ? PLACE_ARENA : PLACE_NONE;
}

/* Orders of the nodes that write each state, sorted (nodes are visited in order). */
struct writers { vec(int) at; };

static struct writers *find_writers(struct method_out *m, int nslots)
{
	struct writers *w = arena_array(m->e->mem, (size_t)nslots + 1, sizeof *w);

	for (struct node *n = m->g->first; n; n = n->next)
		for (int i = 0; i < n->nargs; i++)
			if (op_writes(n->op, i) && node_input(n, i) && node_input(n, i)->state_slot >= 0)
				vec_push(m->e->mem, &w[node_input(n, i)->state_slot].at, n->order);
	return w;
}

static int count_slots(const struct graph *g)
{
	int n = 0;

	for (int i = 0; i < g->nvalues; i++)
		if (g->value[i]->state_slot >= n)
			n = g->value[i]->state_slot + 1;
	return n;
}

/* Whether something writes the state after order `since` and before the last reader of v. */
static bool written_before_read(const struct writers *w, int since, const struct value *v)
{
	int last = since;

	for (int i = 0; i < v->nuses; i++)
		if (v->use[i].node->order > last)
			last = v->use[i].node->order;
	for (int i = 0; i < w->at.n; i++)
		if (w->at.at[i] > since && w->at.at[i] < last)
			return true;
	return false;
}

static bool same_bytes(const struct value *a, const struct value *b)
{
	return a->dtype == b->dtype && a->bytes == b->bytes && !a->scalar && !b->scalar &&
		value_is_default_order(b) &&
		(a->kind == VALUE_CONSTANT || value_is_default_order(a));
}

/* et_view needs sizes that hold for every run: an operator that reckons them itself stays a call where they vary. */
static bool has_sizes(const struct node *n)
{
	int at = op_arg(n->op, "size");

	return (!node_input(n, 0)->dynamic && !n->out[0]->dynamic) || (at >= 0 && n->arg[at].kind == ARG_LIST);
}

static void place_view(struct method_out *m, const struct node *n, const struct writers *w)
{
	struct value *in = node_input(n, 0), *out = n->nouts == 1 ? n->out[0] : NULL, *root;
	struct place *to;
	bool is_static, elide = false, et_view = false;
	int since;

	if (n->group >= 0 || !(n->op->flags & OP_VIEW) || !in || !out || out->noutputs || !same_bytes(in, out))
		return;
	to = &m->place[out->id];
	root = m->g->value[m->place[in->id].root];
	since = m->place[in->id].since >= 0 ? m->place[in->id].since : n->order;
	is_static = !in->dynamic && !out->dynamic;
	switch (m->place[root->id].kind) {
	case PLACE_BYTES: elide = is_static && root->home == HOME_PROGRAM; break;
	case PLACE_STATE: elide = is_static && !written_before_read(&w[root->state_slot], since, out); break;
	case PLACE_ARENA: elide = is_static; et_view = !is_static && has_sizes(n); break;
	case PLACE_NONE: et_view = has_sizes(n); break;
	}
	if (!elide && !et_view)
		return;
	to->root = root->id;
	to->kind = m->place[root->id].kind;
	to->elided = elide;
	to->et_view = et_view;
	to->since = to->kind == PLACE_STATE ? since : -1;
}

void place_values(struct method_out *m)
{
	struct graph *g = m->g;
	struct writers *w = find_writers(m, count_slots(g));

	m->place = arena_array(m->e->mem, (size_t)g->nvalues, sizeof *m->place);
	for (int i = 0; i < g->nvalues; i++)
		m->place[i] = (struct place){ .kind = own_place(m, g->value[i]), .root = i, .since = -1, .index = -1,
			.plain = -1, .last = -1 };
	for (struct node *n = g->first; n; n = n->next)
		place_view(m, n, w);
}
