/* File values as graph values: what each tensor holds when an instruction reads it. */
#include "core/program/lifting.h"

#include <string.h>

static const struct pte_tensor *tensor(const struct lifting *l, int32_t v)
{
	return l->pte->value[v].tensor;
}

void lift_type(struct value *v, const struct pte_tensor *t)
{
	v->dtype = t->dtype;
	v->rank = t->rank;
	for (int d = 0; d < t->rank; d++)
		v->size[d] = t->size[d];
	memcpy(v->dim_order, t->dim_order, sizeof v->dim_order);
	v->dynamic = t->dynamism != PTE_STATIC;
	if (!dtype_tensor_bytes(v->dtype, v->rank, v->size, &v->bytes))
		v->bytes = 0;
}

static struct value *new_value(struct lifting *l, enum value_kind kind, int32_t v)
{
	struct value *x = graph_value(l->g, kind, DTYPE_F32, 0, NULL);

	lift_type(x, tensor(l, v));
	x->file_value = v;
	return x;
}

/* Stored bytes: in the program, or in a data file under the tensor's name. `place`: whose bytes they are. */
static void find_bytes(struct lifting *l, struct value *x, int32_t place)
{
	const struct pte_tensor *t = tensor(l, place);
	const struct ptd_entry *e;

	x->data = t->data;
	if (t->name)
		x->name = arena_string(&l->g->mem, t->name);
	if (t->storage != PTE_EXTERNAL && t->storage != PTE_EXTERNAL_MUTABLE)
		return;
	e = program_external(l->p, t, &x->home);
	x->data = e ? e->data.data : NULL;
}

static struct value *new_constant(struct lifting *l, int32_t v, int32_t place)
{
	static const uint8_t nothing[16];
	struct value *x = new_value(l, VALUE_CONSTANT, v);

	find_bytes(l, x, place);
	if (!x->bytes)
		x->data = nothing;
	return x;
}

static struct value *new_state(struct lifting *l, int32_t v, int slot)
{
	struct value *x = new_value(l, VALUE_STATE, v);

	x->state_slot = slot;
	find_bytes(l, x, v);
	return x;
}

/* By content: what it is, and of which slot. */
static void note(struct lifting *l, int content, struct value *made, int slot)
{
	while (l->made.n <= content) {
		vec_push(&l->scratch, &l->made, NULL);
		vec_push(&l->scratch, &l->held_slot, -1);
	}
	l->made.at[content] = made;
	l->held_slot.at[content] = slot;
}

static bool is_held(const struct lifting *l, int content)
{
	return content >= 0 && l->r.content[content].held;
}

static void hold(struct lifting *l, int32_t v, int slot)
{
	int *content = &l->content_of_slot[slot];

	*content = replay_hold(&l->r, v, *content);
	note(l, *content, NULL, slot);
}

void lift_hold_states(struct lifting *l)
{
	for (int v = 0; v < l->pte->nvalues; v++) {
		if (l->slot[v] < 0)
			continue;
		hold(l, v, l->slot[v]);
		/* What it begins with counts even when calls only name other tensors of that memory. */
		if (tensor(l, v)->storage == PTE_MUTABLE || tensor(l, v)->storage == PTE_EXTERNAL_MUTABLE)
			l->own[v] = new_state(l, v, l->slot[v]);
	}
}

struct value *lift_state(struct lifting *l, int32_t v)
{
	int content = -1;
	int32_t place;
	enum replay_kind k = replay_read(&l->r, v, &content, &place);

	return (k == REPLAY_OWN || k == REPLAY_OTHER) && is_held(l, content) ? lift_tensor(l, v) : NULL;
}

/* Memory that nothing we know has written: shown as state, but not to be trusted. */
static struct value *unknown(struct lifting *l, int32_t v, const char *why)
{
	struct value *x = l->own[v];

	lift_rigid(l, "value %d %s", v, why);
	if (!x || x->kind != VALUE_STATE)
		x = new_state(l, v, -1);
	return x;
}

/* The same bytes seen with other sizes: an elided view, as a node. */
static struct value *new_view(struct lifting *l, struct value *base, int32_t v)
{
	const struct op *op = op_find("aten.view_copy.default");
	const struct pte_tensor *t = tensor(l, v);
	int64_t size[MAX_RANK];
	struct arg arg[2];
	struct node *n;

	for (int d = 0; d < t->rank; d++)
		size[d] = t->size[d];
	arg[0] = arg_value(base);
	arg[1] = arg_ints(l->g, size, t->rank);
	n = lift_node(l, op ? op : op_opaque(&l->g->mem, "aten::view_copy.out"), arg, 2);
	n->origin.kind = ORIGIN_VIEW;
	n->origin.serial = l->viewed[v] ? l->pte->nvalues + ++l->g->serial : v;
	l->viewed[v] = true;
	return lift_add_output(l, n, v);
}

static bool same_layout(const struct value *base, const struct pte_tensor *t)
{
	for (int d = 0; d < base->rank; d++)
		if (base->rank != t->rank || base->size[d] != t->size[d] || base->dim_order[d] != t->dim_order[d])
			return false;
	return base->rank == t->rank;
}

static bool in_order(const struct pte_tensor *t)
{
	for (int d = 0; d < t->rank; d++)
		if (t->dim_order[d] != d)
			return false;
	return true;
}

/* v's memory holds `base`, which was written as another value. */
static struct value *other(struct lifting *l, struct value *base, int32_t v)
{
	const struct pte_tensor *t = tensor(l, v);

	if (!base || base->dtype != t->dtype)
		return unknown(l, v, "reads memory that holds another type");
	if (base->dynamic || t->dynamism != PTE_STATIC)
		return unknown(l, v, "is a view of sizes that only a run knows");
	if (same_layout(base, t))
		return base;
	if (!value_is_default_order(base) || !in_order(t))
		return unknown(l, v, "is a view across dim orders");
	return new_view(l, base, v);
}

struct value *lift_tensor(struct lifting *l, int32_t v)
{
	int content = -1, slot;
	int32_t place;

	switch (replay_read(&l->r, v, &content, &place)) {
	case REPLAY_STORED:
		if (!l->own[v])
			l->own[v] = new_constant(l, v, place);
		return l->own[v];
	case REPLAY_OWN:
		if (!l->own[v] && is_held(l, content))
			l->own[v] = new_state(l, v, l->held_slot.at[content]);
		return l->own[v];
	case REPLAY_OTHER:
		slot = l->held_slot.at[content];
		l->own[v] = slot >= 0 ? new_state(l, v, slot) : other(l, l->made.at[content], v);
		replay_settle(&l->r, v, content);
		return l->own[v];
	case REPLAY_NOBODY:
		if (!tensor(l, v)->bytes && !l->own[v])
			l->own[v] = new_constant(l, v, v);
		if (!tensor(l, v)->bytes)
			return l->own[v];
		return l->own[v] = unknown(l, v, "is read before anything writes it");
	case REPLAY_MIXED:
		break;
	}
	return l->own[v] = unknown(l, v, "reads memory that parts of several tensors hold");
}

struct value *lift_add_output(struct lifting *l, struct node *n, int32_t v)
{
	struct value *x = node_add_output(l->g, n, DTYPE_F32, 0, NULL);
	const struct pte_value *f = &l->pte->value[v];

	x->file_value = v;
	if (f->tag == PTE_TENSOR) {
		lift_type(x, f->tensor);
		return x;
	}
	x->scalar = true;
	x->dtype = f->tag == PTE_DOUBLE ? DTYPE_F64 : f->tag == PTE_BOOL ? DTYPE_BOOL : DTYPE_I64;
	x->bytes = dtype_bytes(x->dtype);
	return x;
}

/* The one way to write state is to copy into it. */
static void copy_into(struct lifting *l, struct value *state, struct value *made)
{
	const struct op *op = op_find("aten.copy_.default");
	struct node *n = lift_node(l, op ? op : op_opaque(&l->g->mem, "aten::copy_"),
				   (struct arg[]){ arg_value(state), arg_value(made), arg_bool(false) }, 3);

	n->origin.kind = ORIGIN_PASS;
	n->origin.serial = ++l->g->serial;
	made->file_value = -1;
}

static void number_written(struct lifting *l, int32_t v, struct value *made)
{
	if (l->as_literal[v])
		lift_rigid(l, "number %d is read before it is computed", v);
	l->own[v] = made;
}

void lift_written(struct lifting *l, int32_t v, struct value *made)
{
	struct value *state, *before = l->own[v];
	int content = -1;
	int32_t place;
	enum replay_kind k;

	if (l->pte->value[v].tag != PTE_TENSOR) {
		number_written(l, v, made);
		return;
	}
	state = lift_state(l, v);
	if (state && made->kind == VALUE_NODE) {
		copy_into(l, state, made);
		if (l->pointed[state->state_slot])
			lift_rigid(l, "state is written while a view of it is in use");
		return;
	}
	k = replay_read(&l->r, v, &content, &place);
	if (made->kind == VALUE_NODE && k == REPLAY_STORED)
		lift_rigid(l, "writes a constant");
	if (made->kind == VALUE_NODE && l->r.value[place].input && !tensor(l, place)->has_allocation)
		lift_rigid(l, "writes an input, which may be the caller's memory");
	if (before && before->file_value == v)
		before->file_value = -1;
	made->file_value = v;
	note(l, replay_write(&l->r, v), made, -1);
	l->own[v] = made;
}

/* Arguments. */

static struct arg number(struct lifting *l, int32_t v)
{
	const struct pte_value *x = &l->pte->value[v];

	if (l->own[v])
		return arg_value(l->own[v]);
	l->as_literal[v] = true;
	return x->tag == PTE_INT ? arg_int(x->i) : x->tag == PTE_BOOL ? arg_bool(x->b) : arg_double(x->d);
}

static bool new_list(struct lifting *l, struct arg *a, int n)
{
	*a = (struct arg){ .kind = ARG_LIST };
	a->list.n = n;
	a->list.at = arena_array(&l->scratch, (size_t)n, sizeof *a->list.at);
	return lift_spend(l, (size_t)n);
}

bool lift_arg(struct lifting *l, int32_t v, struct arg *a)
{
	const struct pte_value *x = &l->pte->value[v];

	*a = arg_none();
	switch (x->tag) {
	case PTE_NULL:
		return true;
	case PTE_INT: case PTE_BOOL: case PTE_DOUBLE:
		*a = number(l, v);
		return true;
	case PTE_STRING:
		*a = (struct arg){ .kind = ARG_STRING, .s = x->s.at };
		return true;
	case PTE_TENSOR:
		*a = arg_value(lift_tensor(l, v));
		return true;
	case PTE_DOUBLE_LIST:
		if (!new_list(l, a, x->doubles.n))
			return false;
		for (int i = 0; i < x->doubles.n; i++)
			a->list.at[i] = arg_double(x->doubles.at[i]);
		return true;
	case PTE_BOOL_LIST:
		if (!new_list(l, a, x->bools.n))
			return false;
		for (int i = 0; i < x->bools.n; i++)
			a->list.at[i] = arg_bool(x->bools.at[i]);
		return true;
	case PTE_INT_LIST: case PTE_TENSOR_LIST: case PTE_OPTIONAL_TENSOR_LIST:
		if (!new_list(l, a, x->index.n))
			return false;
		for (int i = 0; i < x->index.n; i++) {
			int32_t at = x->index.at[i];

			if (at >= 0 && l->pte->value[at].tag == PTE_TENSOR)
				a->list.at[i] = arg_value(lift_tensor(l, at));
			else if (at >= 0 && l->pte->value[at].tag != PTE_NULL)
				a->list.at[i] = number(l, at);
		}
		return true;
	}
	return true;
}

/* Names. */

struct naming { struct graph *g; int constants, states; };

static void name_value(struct value *v, void *ctx)
{
	struct naming *n = ctx;

	if (*v->name || (v->kind != VALUE_CONSTANT && v->kind != VALUE_STATE))
		return;
	v->name = v->kind == VALUE_CONSTANT ? arena_printf(&n->g->mem, "constant%d", n->constants++) :
		  arena_printf(&n->g->mem, "state%d", n->states++);
}

void lift_name_values(struct lifting *l)
{
	struct naming naming = { .g = l->g };

	for (const struct node *n = l->g->first; n; n = n->next)
		node_each_input(n, name_value, &naming);
	for (int i = 0; i < l->g->noutputs; i++)
		if (l->g->output[i].kind == ARG_VALUE)
			name_value(l->g->output[i].value, &naming);
}
