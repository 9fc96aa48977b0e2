/* Values that depend on constants alone, computed once: what a fold stores. */
#include "core/run/exec_parts.h"

#include <string.h>

/* A value of the expression while it is computed. */
struct cell {
	struct tensor tensor;
	enum { UNSEEN, ENTERED, ORDERED } state;	/* of its producer, in the search; told by the first output */
	int readers;		/* nodes of the expression that have yet to read it, and the caller */
	struct cell *root;	/* whose memory it lies in: itself, or what it is a view of */
	int sharers;		/* of a root: cells that still need its memory */
	void *block;		/* mem_free */
	bool wanted;		/* by the caller */
};

struct evaluation {
	const struct graph *g;
	struct arena *out_mem;
	struct value **wanted;
	int nwanted;
	struct arena mem, scratch, call_mem;
	struct cell **cell;		/* by value id; NULL: not of the expression */
	struct tensor **tensor;		/* of those cells */
	vec(struct node *) stack;
	vec(struct node *) order;	/* producers before their readers */
	struct error *err;
	bool ok;
};

static struct cell *cell_of(struct evaluation *e, const struct value *v)
{
	struct cell *c = e->cell[v->id];

	if (c)
		return c;
	c = e->cell[v->id] = arena_alloc(&e->mem, sizeof *c);
	c->root = c;
	e->tensor[v->id] = &c->tensor;
	return c;
}

/* Finding the expression: depth first with a stack of our own. */

static bool no_constant(struct evaluation *e, const struct value *v)
{
	char id[128];

	if (v->def)
		return error_set(e->err, ERROR_RUN, "%s is not computed from constants alone", node_id(e->g, v->def, id, sizeof id));
	return error_set(e->err, ERROR_RUN, "%s is no constant", v->name);
}

static void enter(struct value *v, void *ctx)
{
	struct evaluation *e = ctx;

	cell_of(e, v);
	if (v->kind == VALUE_CONSTANT || !e->ok)
		return;
	if (!v->def || !op_is_pure(v->def->op))
		e->ok = no_constant(e, v);
	else
		vec_push(&e->mem, &e->stack, v->def);
}

static void count_reader(struct value *v, void *ctx)
{
	cell_of(ctx, v)->readers++;
}

static void order_node(struct evaluation *e, struct node *n)
{
	for (int i = 0; i < n->nouts; i++)
		cell_of(e, n->out[i])->state = ORDERED;
	vec_push(&e->mem, &e->order, n);
	node_each_input(n, count_reader, e);
}

static bool find_expression(struct evaluation *e, struct value *wanted)
{
	enter(wanted, e);
	while (e->stack.n && e->ok) {
		struct node *n = e->stack.at[e->stack.n - 1];
		struct cell *c = cell_of(e, n->out[0]);

		if (c->state == UNSEEN) {
			c->state = ENTERED;
			node_each_input(n, enter, e);
			continue;
		}
		e->stack.n--;
		if (c->state == ENTERED)	/* its inputs are all there now */
			order_node(e, n);
	}
	count_reader(wanted, e);
	e->cell[wanted->id]->wanted = true;
	return e->ok;
}

/* Computing it, one node after the other; memory goes as soon as nobody needs it. */

static void release(struct cell *c)
{
	struct cell *root = c->root;

	if (--root->sharers == 0) {
		mem_free(root->block);
		root->block = NULL;
	}
}

static void read_once(struct value *v, void *ctx)
{
	struct evaluation *e = ctx;

	if (--e->cell[v->id]->readers)
		return;
	if (v->kind == VALUE_CONSTANT)
		mem_done(v->data, v->bytes);
	else
		release(e->cell[v->id]);
}

static bool give_constant(struct evaluation *e, const struct value *v)
{
	struct tensor *t = &cell_of(e, v)->tensor;
	size_t width = dtype_bytes(v->dtype);

	tensor_set_type(t, v->dtype, v->rank, v->size);
	memcpy(t->dim_order, v->dim_order, sizeof t->dim_order);
	tensor_set_strides(t);
	t->capacity = v->bytes;
	if (!v->data && v->bytes)
		return error_set(e->err, ERROR_RUN, "%s is in a data file that was not given", v->name);
	t->data = (void *)(uintptr_t)v->data;	/* never written: only pure nodes get here */
	if (v->data && width && (uintptr_t)v->data % width) {
		t->data = arena_try(&e->mem, v->bytes);
		if (!t->data)
			return error_set(e->err, ERROR_MEMORY, "%zu bytes are not to be had", v->bytes);
		memcpy(t->data, v->data, v->bytes);
	}
	return true;
}

static void give(struct value *v, void *ctx)
{
	struct evaluation *e = ctx;

	if (v->kind == VALUE_CONSTANT && !e->cell[v->id]->tensor.data && e->ok)
		e->ok = give_constant(e, v);
}

static bool give_memory(struct evaluation *e, const struct value *v, struct tensor *t)
{
	struct cell *c = e->cell[v->id];

	if (!dtype_tensor_bytes(t->dtype, t->rank, t->size, &t->capacity))
		return error_set(e->err, ERROR_MEMORY, "a result has no size");
	c->sharers = 1;
	t->data = c->wanted ? arena_try(e->out_mem, t->capacity + OVER_READ) :
		(c->block = mem_try(t->capacity + OVER_READ));
	return t->data || error_set(e->err, ERROR_MEMORY, "%zu bytes are not to be had", t->capacity);
}

/* A view needs no copy unless the caller keeps it. */
static bool share(struct evaluation *e, const struct step *s)
{
	const struct value *in = node_input(s->node, 0), *out = s->node->out[0];
	const struct tensor *from = in ? e->tensor[in->id] : NULL;
	struct tensor *to = s->call.out[0];

	if (!(s->node->op->flags & OP_VIEW) || s->node->nouts != 1 || !in || e->cell[out->id]->wanted ||
	    from->dtype != to->dtype ||
	    tensor_numel(from) != tensor_numel(to) || !tensor_is_default_order(from) || !tensor_is_default_order(to))
		return false;
	to->data = from->data;
	to->capacity = from->capacity;
	e->cell[out->id]->root = e->cell[in->id]->root;
	e->cell[out->id]->root->sharers++;
	return true;
}

static bool compute(struct evaluation *e, struct step *s)
{
	const struct node *n = s->node;

	node_each_input(n, give, e);
	if (!e->ok)
		return false;
	exec_read_numbers(s);
	s->call.scratch = &e->scratch;
	if (!n->op->shape(&s->call, e->err))
		return false;
	if (share(e, s))
		return true;
	for (int i = 0; i < n->nouts; i++)
		if (!exec_check_output(n->out[i], s->call.out[i], e->err) || !give_memory(e, n->out[i], s->call.out[i]))
			return false;
	return n->op->kernel(&s->call, e->err);
}

static bool run_node(struct evaluation *e, struct node *n)
{
	struct step s = { .node = n };
	bool ok = exec_bind(&s, e->g, e->tensor, &e->call_mem, e->err) && compute(e, &s);

	arena_reset(&e->scratch);
	arena_reset(&e->call_mem);
	if (!ok)
		return false;
	for (int i = 0; i < n->nouts; i++)
		if (!e->cell[n->out[i]->id]->readers)
			release(e->cell[n->out[i]->id]);
	node_each_input(n, read_once, e);
	return true;
}

static bool evaluate(struct evaluation *e)
{
	for (int i = 0; i < e->nwanted; i++)
		if (!find_expression(e, e->wanted[i]) ||
		    (e->wanted[i]->kind == VALUE_CONSTANT && !give_constant(e, e->wanted[i])))
			return false;
	for (int i = 0; i < e->order.n; i++)
		if (!work_goes_on(e->g->work, "folding", i, e->order.n, e->err) || !run_node(e, e->order.at[i]))
			return false;
	return true;
}

/* What is stored already is copied. */
static bool hand_over(struct evaluation *e, const struct value *v, struct tensor *out)
{
	*out = *e->tensor[v->id];
	if (v->kind != VALUE_CONSTANT)
		return true;
	out->data = arena_try(e->out_mem, v->bytes + OVER_READ);
	if (!out->data)
		return error_set(e->err, ERROR_MEMORY, "%zu bytes are not to be had", v->bytes);
	memcpy(out->data, v->data, v->bytes);
	return true;
}

bool exec_constants(const struct graph *g, struct value **v, int n, struct arena *a, struct tensor *out,
		    struct error *err)
{
	struct evaluation e = { .g = g, .out_mem = a, .wanted = v, .nwanted = n, .err = err, .ok = true };
	bool ok;

	e.cell = arena_array(&e.mem, (size_t)g->nvalues, sizeof *e.cell);
	e.tensor = arena_array(&e.mem, (size_t)g->nvalues, sizeof *e.tensor);
	ok = evaluate(&e);
	for (int i = 0; ok && i < n; i++)
		ok = hand_over(&e, v[i], &out[i]);
	for (int i = 0; i < g->nvalues; i++)
		if (e.cell[i])
			mem_free(e.cell[i]->block);
	arena_free(&e.call_mem);
	arena_free(&e.scratch);
	arena_free(&e.mem);
	return ok;
}
