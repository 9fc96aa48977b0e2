/* Types of new nodes: the row's shape function on the upper bounds. */
#include "core/op/op.h"

#include <string.h>

struct meta_call {
	struct call call;
	struct arena mem;
	bool dynamic;
};

/* Sizes that may depend on a symbolic number are dynamic, too. */
static struct operand meta_operand(struct meta_call *m, const struct arg *a)
{
	struct operand o = { .kind = a->kind };

	switch (a->kind) {
	case ARG_NONE: break;
	case ARG_INT: o.i = a->i; break;
	case ARG_DOUBLE: o.d = a->d; break;
	case ARG_BOOL: o.b = a->b; break;
	case ARG_STRING: o.s = a->s; break;
	case ARG_VALUE:
		m->dynamic |= a->value->dynamic || (a->value->scalar && !(m->call.op->flags & OP_ELEMENTWISE));
		o.tensor = arena_alloc(&m->mem, sizeof *o.tensor);
		o.tensor->dtype = a->value->dtype;
		o.tensor->rank = a->value->rank;
		memcpy(o.tensor->size, a->value->size, sizeof o.tensor->size);
		memcpy(o.tensor->dim_order, a->value->dim_order, sizeof o.tensor->dim_order);
		tensor_set_strides(o.tensor);
		break;
	case ARG_LIST:
		o.list.n = a->list.n;
		o.list.at = arena_array(&m->mem, (size_t)a->list.n, sizeof *o.list.at);
		for (int i = 0; i < a->list.n; i++)
			o.list.at[i] = meta_operand(m, &a->list.at[i]);
		break;
	}
	return o;
}

static void set_output(struct graph *g, struct node *n, int i, const struct tensor *t, bool dynamic)
{
	struct value *v = i < n->nouts ? n->out[i] : node_add_output(g, n, t->dtype, t->rank, t->size);

	v->dtype = t->dtype;
	v->rank = t->rank;
	memcpy(v->size, t->size, sizeof v->size);
	memcpy(v->dim_order, t->dim_order, sizeof v->dim_order);
	v->dynamic = dynamic;
	v->scalar = n->op->schema[op_nargs(n->op) + 1] == 'N';
	if (!dtype_tensor_bytes(v->dtype, v->rank, v->size, &v->bytes))
		v->bytes = 0;
}

bool op_infer(struct graph *g, struct node *n, struct error *err)
{
	struct meta_call m = { .call = { .op = n->op, .nargs = n->nargs, .nouts = op_nouts(n->op) } };
	struct tensor *out = arena_array(&m.mem, (size_t)m.call.nouts, sizeof *out);
	bool ok;

	m.call.scratch = &m.mem;
	m.call.arg = arena_array(&m.mem, (size_t)n->nargs, sizeof *m.call.arg);
	m.call.out = arena_array(&m.mem, (size_t)m.call.nouts, sizeof *m.call.out);
	for (int i = 0; i < n->nargs; i++)
		m.call.arg[i] = meta_operand(&m, &n->arg[i]);
	for (int i = 0; i < m.call.nouts; i++)
		m.call.out[i] = &out[i];
	ok = n->op->shape ? n->op->shape(&m.call, err) :
			    error_set(err, ERROR_UNSUPPORTED, "%s: no shape rule", n->op->name);
	for (int i = 0; ok && i < m.call.nouts; i++)
		set_output(g, n, i, m.call.out[i], m.dynamic || m.call.dynamic);
	arena_free(&m.mem);
	return ok;
}

struct value *op_build(struct graph *g, struct node *before, const char *name, const struct arg *arg, int nargs,
		       struct error *err)
{
	const struct op *op = op_find(name);
	struct node *n;

	if (!op) {
		error_set(err, ERROR_UNSUPPORTED, "no operator %s", name);
		return NULL;
	}
	n = graph_node(g, before, op, arg, nargs);
	if (!op_infer(g, n, err)) {
		graph_remove(g, n);
		return NULL;
	}
	return n->nouts ? n->out[0] : NULL;
}
