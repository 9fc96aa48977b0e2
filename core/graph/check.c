/* The invariants of graph.h, for tests and after every pass in debug runs. */
#include "core/graph/graph.h"

#include "core/op/op.h"

struct check {
	const struct graph *g;
	const struct node *node;
	int *seen;		/* by value id: how often it stands in arguments */
	struct error *err;
	bool ok;
};

static bool wrong(struct check *c, const char *what, int id)
{
	char buf[128];

	if (c->ok)
		error_set(c->err, ERROR_FORMAT, "%s: %s (value %d)",
			  c->node ? node_id(c->g, c->node, buf, sizeof buf) : c->g->method, what, id);
	return c->ok = false;
}

static void check_input(struct value *v, void *ctx)
{
	struct check *c = ctx;

	if (v->id < 0 || v->id >= c->g->nvalues || c->g->value[v->id] != v) {
		wrong(c, "an argument of another graph", v->id);
		return;
	}
	c->seen[v->id]++;
	if (v->kind == VALUE_NODE && (!v->def || v->def->mark != 1))
		wrong(c, "used before it is made", v->id);
}

static void check_node(struct check *c, struct node *n)
{
	c->node = n;
	if (n->prev ? n->prev->next != n : c->g->first != n)
		wrong(c, "list of nodes is broken", -1);
	if (n->group < -1 || n->group >= c->g->ngroups)
		wrong(c, "group out of range", -1);
	if (n->op->flags & OP_MUTATES && n->nouts != op_nouts(n->op))
		wrong(c, "a mutating node with outputs that its row has not", -1);
	node_each_input(n, check_input, c);
	for (int i = 0; i < n->nouts; i++)
		if (n->out[i]->kind != VALUE_NODE || n->out[i]->def != n)
			wrong(c, "output with another producer", n->out[i]->id);
	n->mark = 1;
}

static void check_value(struct check *c, const struct value *v)
{
	size_t bytes;

	if (!dtype_tensor_bytes(v->dtype, v->rank, v->size, &bytes) || bytes != v->bytes)
		wrong(c, "bytes do not match sizes", v->id);
	if (v->nuses != c->seen[v->id])
		wrong(c, "list of users is wrong", v->id);
	if (v->kind != VALUE_NODE && v->def)
		wrong(c, "an input, constant or state with a producer", v->id);
	for (int d = 0, have = 0; d < v->rank; d++) {
		if (v->dim_order[d] >= v->rank || have & 1 << v->dim_order[d])
			wrong(c, "dim order is no permutation", v->id);
		have |= 1 << v->dim_order[d];
	}
}

bool graph_check(const struct graph *g, struct error *err)
{
	struct arena mem = { 0 };
	struct check c = { g, NULL, arena_array(&mem, (size_t)g->nvalues + 1, sizeof(int)), err, true };
	int outputs = 0, counted = 0;

	for (struct node *n = g->first; n; n = n->next)
		n->mark = 0;
	for (struct node *n = g->first; n && c.ok; n = n->next)
		check_node(&c, n);
	c.node = NULL;
	for (int i = 0; i < g->noutputs && c.ok; i++)
		if (g->output[i].kind == ARG_VALUE) {
			const struct value *v = g->output[i].value;

			outputs++;
			if (v->kind == VALUE_NODE && !v->def)
				wrong(&c, "an output that nothing makes", v->id);
		}
	for (int i = 0; i < g->nvalues && c.ok; i++) {
		check_value(&c, g->value[i]);
		counted += g->value[i]->noutputs;
	}
	if (c.ok && counted != outputs)
		wrong(&c, "count of method outputs is wrong", -1);
	arena_free(&mem);
	return c.ok;
}
