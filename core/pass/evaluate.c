#include "core/pass/evaluate.h"

#include <string.h>

struct evaluation {
	const struct graph *g;
	struct arena mem;	/* bookkeeping */
	struct arena *keep;	/* bytes of wanted values */
	bool *needed;		/* by value: a node must be run for it */
	bool *wanted;
	int *readers;		/* by value: nodes that still have to read it */
	struct tensor **tensor;	/* by value */
	void **block;		/* by value: to be freed */
	vec(struct value *) todo;
	struct error *err;
};

static void need(struct value *v, void *ctx)
{
	struct evaluation *e = ctx;

	if (e->needed[v->id])
		return;
	e->needed[v->id] = true;
	vec_push(&e->mem, &e->todo, v);
}

static void count_reader(struct value *v, void *ctx)
{
	((struct evaluation *)ctx)->readers[v->id]++;
}

/* Marks the nodes behind the wanted values (mark 1), with a list in place of recursion. */
static void find_nodes(struct evaluation *e)
{
	for (struct node *n = e->g->first; n; n = n->next)
		n->mark = 0;
	while (e->todo.n) {
		struct node *n = e->todo.at[--e->todo.n]->def;

		if (!n || n->mark)
			continue;
		n->mark = 1;
		node_each_input(n, need, e);
		node_each_input(n, count_reader, e);
	}
}

static bool load(struct evaluation *e, const struct value *v)
{
	struct tensor *t;

	if (e->tensor[v->id])
		return true;
	if (v->kind != VALUE_CONSTANT)
		return error_set(e->err, ERROR_RUN, "%s is not a constant", v->name);
	if (!v->data && v->bytes)
		return error_set(e->err, ERROR_RUN, "%s: its data file is missing", v->name);
	t = arena_alloc(&e->mem, sizeof *t);
	tensor_set_type(t, v->dtype, v->rank, v->size);
	memcpy(t->dim_order, v->dim_order, sizeof t->dim_order);
	tensor_set_strides(t);
	t->data = (void *)v->data;	/* kernels write to outputs alone */
	t->capacity = v->bytes;
	e->tensor[v->id] = t;
	return true;
}

static bool make_operand(struct evaluation *e, const struct arg *a, struct operand *o)
{
	const struct tensor *t;

	*o = (struct operand){ .kind = a->kind };
	switch (a->kind) {
	case ARG_NONE: return true;
	case ARG_INT: o->i = a->i; return true;
	case ARG_DOUBLE: o->d = a->d; return true;
	case ARG_BOOL: o->b = a->b; return true;
	case ARG_STRING: o->s = a->s; return true;
	case ARG_LIST:
		o->list.n = a->list.n;
		o->list.at = arena_array(&e->mem, (size_t)a->list.n, sizeof *o->list.at);
		for (int i = 0; i < a->list.n; i++)
			if (!make_operand(e, &a->list.at[i], &o->list.at[i]))
				return false;
		return true;
	case ARG_VALUE: break;
	}
	if (!load(e, a->value))
		return false;
	t = e->tensor[a->value->id];
	if (!a->value->scalar) {
		o->tensor = e->tensor[a->value->id];
		return true;
	}
	o->kind = t->dtype == DTYPE_BOOL ? ARG_BOOL : dtype_is_float(t->dtype) ? ARG_DOUBLE : ARG_INT;
	if (o->kind == ARG_BOOL)
		o->b = *(const uint8_t *)t->data != 0;
	else if (o->kind == ARG_DOUBLE)
		o->d = dtype_get(t->dtype, t->data, 0);
	else
		memcpy(&o->i, t->data, sizeof o->i);
	return true;
}

static bool give_memory(struct evaluation *e, const struct value *v, struct tensor *t)
{
	size_t bytes;

	if (!dtype_tensor_bytes(t->dtype, t->rank, t->size, &bytes))
		return error_set(e->err, ERROR_RUN, "a tensor of more bytes than memory has");
	t->capacity = bytes;
	t->data = e->wanted[v->id] ? arena_try(e->keep, bytes + 1) : (e->block[v->id] = mem_try(bytes + 1));
	return t->data || error_set(e->err, ERROR_MEMORY, "no memory for a tensor of %zu bytes", bytes);
}

static void drop_reader(struct value *v, void *ctx)
{
	struct evaluation *e = ctx;

	if (--e->readers[v->id] || !e->block[v->id])
		return;
	mem_free(e->block[v->id]);
	e->block[v->id] = NULL;
}

static bool run_node(struct evaluation *e, const struct node *n)
{
	struct arena scratch = { 0 };
	struct call c = { .op = n->op, .nargs = n->nargs, .nouts = n->nouts, .scratch = &scratch };
	bool ok = n->op->shape && n->op->kernel && !(n->op->flags & (OP_RANDOM | OP_MUTATES | OP_OPAQUE));
	char id[128];

	if (!ok)
		return error_set(e->err, ERROR_RUN, "%s: %s cannot be computed ahead", node_id(e->g, n, id, sizeof id), n->op->name);
	c.arg = arena_array(&e->mem, (size_t)n->nargs, sizeof *c.arg);
	c.out = arena_array(&e->mem, (size_t)n->nouts, sizeof *c.out);
	for (int i = 0; i < n->nargs && ok; i++)
		ok = make_operand(e, &n->arg[i], &c.arg[i]);
	for (int i = 0; i < n->nouts; i++)
		c.out[i] = e->tensor[n->out[i]->id] = arena_alloc(&e->mem, sizeof **c.out);
	ok = ok && n->op->shape(&c, e->err);
	for (int i = 0; i < n->nouts && ok; i++)
		ok = give_memory(e, n->out[i], c.out[i]);
	ok = ok && n->op->kernel(&c, e->err);
	arena_free(&scratch);
	node_each_input(n, drop_reader, e);
	for (int i = 0; i < n->nouts; i++)
		if (!e->readers[n->out[i]->id] && e->block[n->out[i]->id]) {
			mem_free(e->block[n->out[i]->id]);
			e->block[n->out[i]->id] = NULL;
		}
	return ok;
}

bool evaluate(const struct graph *g, struct value *const *want, int nwant, struct arena *a, struct tensor *out,
	      struct error *err)
{
	struct evaluation e = { .g = g, .keep = a, .err = err };
	size_t n = (size_t)g->nvalues;
	bool ok = true;

	e.needed = arena_array(&e.mem, n, sizeof *e.needed);
	e.wanted = arena_array(&e.mem, n, sizeof *e.wanted);
	e.readers = arena_array(&e.mem, n, sizeof *e.readers);
	e.tensor = arena_array(&e.mem, n, sizeof *e.tensor);
	e.block = arena_array(&e.mem, n, sizeof *e.block);
	for (int i = 0; i < nwant; i++) {
		e.wanted[want[i]->id] = true;
		need(want[i], &e);
	}
	find_nodes(&e);
	for (struct node *x = g->first; x && ok; x = x->next)
		if (x->mark)
			ok = run_node(&e, x);
	for (int i = 0; i < nwant && ok; i++)
		if ((ok = load(&e, want[i])))
			out[i] = *e.tensor[want[i]->id];
	for (size_t i = 0; i < n; i++)
		mem_free(e.block[i]);
	arena_free(&e.mem);
	return ok;
}
