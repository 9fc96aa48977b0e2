#include "tests/maker_graph.h"

#include "core/op/op.h"
#include "tests/tap.h"

enum { MEMORY_OF_STATE = 2, STATE_ROOM = 4096 };	/* bytes that a slot may take */

struct making {
	struct maker *m;
	const struct graph *g;
	int *index;		/* by value: its number in the file, or -1 */
	uint64_t offset;
};

static void copy_size(const struct value *v, int32_t *size)
{
	for (int d = 0; d < v->rank; d++)
		size[d] = (int32_t)v->size[d];
}

/* Where the bytes of v are stored, as number + 1; 0: nowhere yet. */
static uintptr_t *place_of(struct making *k, const struct value *v)
{
	struct { const void *data; size_t bytes; } key = { v->data, v->bytes };
	uintptr_t *place = map_get(&k->m->shared, &key, sizeof key);

	if (!place) {
		place = arena_alloc(&k->m->mem, sizeof *place);
		map_put(&k->m->shared, &k->m->mem, arena_copy(&k->m->mem, &key, sizeof key), sizeof key, place);
	}
	return place;
}

/* Tensor `at` was just made of v and its bytes stored, the last of *stored: they go if another value has them. */
static int share(struct making *k, const struct value *v, int at, int *stored)
{
	uintptr_t *place = place_of(k, v);
	struct pte_tensor *t = maker_tensor(k->m, at);

	if (*place) {
		--*stored;
		t->data_index = (uint32_t)*place - 1;
	}
	*place = t->data_index + 1;
	t->has_extra = true;
	t->name = v->name;
	return at;
}

static int make_constant(struct making *k, const struct value *v, const int32_t *size)
{
	if (v->home != HOME_PROGRAM)
		return maker_external(k->m, v->dtype, v->name, v->rank, size);
	return share(k, v, maker_constant(k->m, v->dtype, v->data, v->rank, size), &k->m->constant.n);
}

static int make_state(struct making *k, const struct value *v, const int32_t *size)
{
	uint64_t offset = (uint64_t)v->state_slot * STATE_ROOM;

	assert_true(v->bytes <= STATE_ROOM);
	return share(k, v, maker_mutable(k->m, v->dtype, v->data, MEMORY_OF_STATE, offset, v->rank, size), &k->m->mutable.n);
}

static int make_value(struct making *k, const struct value *v)
{
	int32_t size[MAX_RANK];
	int at;

	if (k->index[v->id] >= 0)
		return k->index[v->id];
	copy_size(v, size);
	if (v->scalar)
		at = dtype_is_float(v->dtype) ? maker_double(k->m, 0) : v->dtype == DTYPE_BOOL ?
			maker_bool(k->m, false) : maker_int(k->m, 0);
	else if (v->kind == VALUE_CONSTANT)
		at = make_constant(k, v, size);
	else if (v->kind == VALUE_STATE)
		at = make_state(k, v, size);
	else {
		at = maker_planned(k->m, v->dtype, 1, k->offset, v->rank, size);
		k->offset += (v->bytes + 15) / 16 * 16;
	}
	return k->index[v->id] = at;
}

static int make_arg(struct making *k, char letter, const struct arg *a)
{
	int32_t at[64];

	switch (a->kind) {
	case ARG_NONE: return maker_none(k->m);
	case ARG_VALUE: return make_value(k, a->value);
	case ARG_INT: return letter == 'D' ? maker_double(k->m, (double)a->i) : maker_int(k->m, a->i);
	case ARG_DOUBLE: return maker_double(k->m, a->d);
	case ARG_BOOL: return maker_bool(k->m, a->b);
	case ARG_STRING: return maker_string(k->m, a->s);
	case ARG_LIST: break;
	}
	assert_true(a->list.n <= 64);
	for (int i = 0; i < a->list.n; i++)
		at[i] = make_arg(k, letter, &a->list.at[i]);
	return maker_list(k->m, letter == 'L' ? PTE_TENSOR_LIST : PTE_INT_LIST, a->list.n, at);
}

/* Arguments, outs, what is returned. */
static void make_call(struct making *k, const struct node *n)
{
	int32_t arg[64];
	int count = 0, options = op_options_arg(n->op), list;
	const char *results = n->op->schema + op_nargs(n->op) + 1;

	for (int i = 0; i < n->nargs; i++)
		if (options < 0 || i < options || i >= options + 4)
			arg[count++] = make_arg(k, op_arg_kind(n->op, i), &n->arg[i]);
	if (!n->nouts) {
		arg[count++] = make_value(k, node_input(n, 0));	/* copy_: what it writes */
		maker_call(k->m, n->op->kernel_name, count, arg);
		return;
	}
	for (int i = 0; i < n->nouts; i++)
		arg[count + i] = make_value(k, n->out[i]);
	list = n->nouts > 1 || *results == 'L' ? maker_list(k->m, PTE_TENSOR_LIST, n->nouts, arg + count) : arg[count];
	count = *results == 'L' ? count : count + n->nouts;
	if (*results == 'L')
		arg[count++] = list;
	if (*results != 'N')
		arg[count++] = list;
	maker_call(k->m, n->op->kernel_name, count, arg);
}

void maker_graph(struct maker *m, const struct graph *g)
{
	struct making k = { .m = m, .g = g };

	k.index = arena_array(&m->mem, (size_t)g->nvalues, sizeof *k.index);
	for (int i = 0; i < g->nvalues; i++)
		k.index[i] = -1;
	if (m->plan.n == 1 && !m->value.n)	/* the one that is begun */
		m->plan.at[0].name = g->method;
	else
		maker_method(m, g->method);
	for (int i = 0; i < g->ninputs; i++)
		maker_in(m, make_value(&k, g->input[i]));
	for (const struct node *n = g->first; n; n = n->next)
		make_call(&k, n);
	for (int i = 0; i < g->noutputs; i++)
		maker_out(m, make_value(&k, g->output[i].value));
}
