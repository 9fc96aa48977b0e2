/* Where values live: constants in their file, state in memory of its own, the rest in one block planned by
 * lifetimes; a view lies where what it looks at lies. */
#include "core/base/num.h"
#include "core/program/memory.h"
#include "core/run/exec_parts.h"

#include <string.h>

static int root_of(const struct exec *e, const struct value *v)
{
	return e->place[v->id].root;
}

static void note_mutations(struct exec *e)
{
	for (const struct node *n = e->graph->first; n; n = n->next)
		for (int i = 0; i < n->nargs; i++)
			if (op_writes(n->op, i) && node_input(n, i))
				e->place[node_input(n, i)->id].mutated = true;
}

/* What is written later must not be seen through a view that looked earlier: such views are copied. */
static bool may_share(const struct exec *e, const struct node *n)
{
	const struct value *in = node_input(n, 0), *out = n->nouts == 1 ? n->out[0] : NULL;

	return n->op->flags & OP_VIEW && in && out && !in->scalar && in->dtype == out->dtype && in->bytes == out->bytes &&
	       value_is_default_order(in) && value_is_default_order(out) && !e->place[out->id].mutated &&
	       !e->place[root_of(e, in)].mutated && e->graph->value[root_of(e, in)]->kind != VALUE_STATE;
}

static void find_views(struct exec *e)
{
	for (int i = 0; i < e->graph->nvalues; i++)
		e->place[i] = (struct place){ .root = i, .last = -1 };
	note_mutations(e);
	for (int i = 0; i < e->nsteps; i++) {
		struct step *s = &e->step[i];

		if (!s->live && may_share(e, s->node)) {
			s->view = true;
			e->place[s->node->out[0]->id].root = root_of(e, node_input(s->node, 0));
		}
	}
}

struct touching { struct exec *e; int step; bool padded; };

static void touch(struct value *v, void *ctx)
{
	struct touching *t = ctx;
	struct place *p = &t->e->place[root_of(t->e, v)];

	if (p->last < 0)
		p->first = t->step;
	p->last = t->step;
	p->padded |= t->padded;
}

static void find_lifetimes(struct exec *e)
{
	const struct graph *g = e->graph;

	for (int i = 0; i < g->ninputs; i++)
		if (g->input[i])
			touch(g->input[i], &(struct touching){ e, 0, false });
	for (int i = 0; i < e->nsteps; i++) {
		struct step *s = &e->step[i];
		struct touching t = { e, i + 1, s->live };

		for (int k = 0; s->live && k < s->nargs; k++)
			if (s->value[k])
				touch(s->value[k], &t);
		if (s->live)
			continue;
		node_each_input(s->node, touch, &t);
		for (int o = 0; o < s->node->nouts; o++)
			touch(s->node->out[o], &t);
	}
	for (int i = 0; i < g->noutputs; i++)
		if (g->output[i].kind == ARG_VALUE)
			touch(g->output[i].value, &(struct touching){ e, e->nsteps + 1, false });
}

bool exec_no_memory(const struct exec *e, size_t bytes, struct error *err)
{
	return error_set(err, ERROR_MEMORY, "%s: %zu bytes are not to be had", e->graph->method, bytes);
}

static bool lives_in_block(const struct exec *e, const struct value *v)
{
	return (v->kind == VALUE_NODE || v->kind == VALUE_INPUT) && root_of(e, v) == v->id && e->place[v->id].last >= 0;
}

static bool plan_block(struct exec *e, struct error *err)
{
	const struct graph *g = e->graph;
	struct arena mem = { 0 };
	struct lifetime *life = arena_array(&mem, (size_t)g->nvalues + 1, sizeof *life);
	uint8_t *block = NULL;
	size_t bytes = 0;
	int n = 0;

	for (int i = 0; i < g->nvalues; i++)
		if (lives_in_block(e, g->value[i]))
			life[n++] = (struct lifetime){ .bytes = g->value[i]->bytes, .first = e->place[i].first, .last = e->place[i].last };
	bytes = memory_plan(life, n, TENSOR_ALIGN);
	if (bytes < SIZE_MAX - OVER_READ)
		block = arena_try(&e->mem, bytes + OVER_READ);
	for (int i = n = 0; block && i < g->nvalues; i++)
		if (lives_in_block(e, g->value[i]))
			e->tensor[i]->data = block + life[n++].offset;
	arena_free(&mem);
	return block || exec_no_memory(e, bytes, err);
}

/* Bytes that may be read from p on, in the mapping of a file that holds it; else 0. */
static size_t readable(const struct file *f, const uint8_t *p)
{
	return f->data && p >= f->data && p < f->data + f->bytes ? (size_t)(f->data + f->bytes - p) : 0;
}

static bool has_padding(const struct exec *e, const struct value *v)
{
	const struct program *p = e->program;
	size_t need = v->bytes + OVER_READ;

	if (p && readable(&p->file, v->data) >= need)
		return true;
	for (int i = 0; p && i < p->ndata; i++)
		if (readable(&p->data_file[i], v->data) >= need)
			return true;
	return false;
}

static bool plan_constant(struct exec *e, const struct value *v, struct error *err)
{
	struct tensor *t = e->tensor[v->id];
	size_t width = dtype_bytes(v->dtype);

	if (!v->data && v->bytes)
		return error_set(err, ERROR_RUN, "%s: %s is in a data file that was not given", e->graph->method, v->name);
	t->data = (void *)(uintptr_t)v->data;	/* never written: exec_bind refuses that */
	if ((!width || (uintptr_t)v->data % width == 0) && (!e->place[v->id].padded || has_padding(e, v)))
		return true;
	t->data = arena_try(&e->mem, v->bytes + OVER_READ);
	if (!t->data)
		return exec_no_memory(e, v->bytes, err);
	if (v->bytes)
		memcpy(t->data, v->data, v->bytes);
	return true;
}

static void set_types(struct exec *e)
{
	struct tensor *all = arena_array(&e->mem, (size_t)e->graph->nvalues, sizeof *all);

	for (int i = 0; i < e->graph->nvalues; i++) {
		const struct value *v = e->graph->value[i];
		struct tensor *t = e->tensor[i] = &all[i];

		tensor_set_type(t, v->dtype, v->rank, v->size);
		memcpy(t->dim_order, v->dim_order, sizeof t->dim_order);
		tensor_set_strides(t);
		t->capacity = v->bytes;
	}
}

static void plan_literals(struct exec *e)
{
	const struct graph *g = e->graph;

	e->literal = arena_array(&e->mem, (size_t)g->noutputs, sizeof *e->literal);
	for (int i = 0; i < g->noutputs; i++) {
		const struct arg *a = &g->output[i];
		struct tensor *t = &e->literal[i];

		if (a->kind != ARG_INT && a->kind != ARG_DOUBLE && a->kind != ARG_BOOL)
			continue;
		tensor_set_type(t, a->kind == ARG_INT ? DTYPE_I64 : a->kind == ARG_DOUBLE ? DTYPE_F64 : DTYPE_BOOL, 0, NULL);
		t->data = arena_copy(&e->mem, a->kind == ARG_BOOL ? (const void *)&a->b : (const void *)&a->i,
				     t->capacity = dtype_bytes(t->dtype));
	}
}

bool exec_plan(struct exec *e, struct error *err)
{
	const struct graph *g = e->graph;

	e->tensor = arena_array(&e->mem, (size_t)g->nvalues, sizeof *e->tensor);
	e->place = arena_array(&e->mem, (size_t)g->nvalues, sizeof *e->place);
	set_types(e);
	find_views(e);
	find_lifetimes(e);
	plan_literals(e);
	if (!plan_block(e, err) || !exec_plan_state(e, err))
		return false;
	for (int i = 0; i < g->nvalues; i++)
		if (g->value[i]->kind == VALUE_CONSTANT && e->place[i].last >= 0 && !plan_constant(e, g->value[i], err))
			return false;
	for (int i = 0; i < g->nvalues; i++)
		e->tensor[i]->data = e->tensor[e->place[i].root]->data;
	return true;
}
