#include "core/session/module.h"

#include "core/base/map.h"
#include "core/op/op.h"

#include <stdlib.h>
#include <string.h>

struct naming {
	const struct graph *g;
	const bool *constant;
	struct arena *mem;
	struct arena scratch;
	struct map counts;	/* operator -> how many modules are called by it */
	const char **name;	/* by order; NULL: not known yet */
	bool named;		/* the file has names */
	const char *found;	/* while a node's inputs are looked at */
};

static bool is_filed_name(const struct value *v)
{
	return (v->kind == VALUE_CONSTANT || v->kind == VALUE_STATE) && strchr(v->name, '.');
}

static const char *module_of_name(struct naming *m, const char *name)
{
	const char *parametrized = strstr(name, ".parametrizations."), *end = strrchr(name, '.');

	if (parametrized)
		end = parametrized;
	return arena_printf(m->mem, "%.*s", (int)(end ? end - name : 0), name);
}

static void look_for_name(struct value *v, void *ctx)
{
	struct naming *m = ctx;

	if (m->found)
		return;
	if (is_filed_name(v))
		m->found = module_of_name(m, v->name);
	else if (v->def && m->constant[v->id])	/* computed from constants, which stand before it */
		m->found = m->name[v->def->order];
}

/* "convolution", "convolution_1", ... */
static const char *numbered(struct naming *m, const struct op *op)
{
	const char *from = strchr(op->name, '.') ? strchr(op->name, '.') + 1 : op->name;
	char *word = arena_printf(&m->scratch, "%.*s", (int)strcspn(from, "."), from);
	uintptr_t n = (uintptr_t)map_get(&m->counts, word, strlen(word));

	map_put(&m->counts, &m->scratch, word, strlen(word), (void *)(n + 1));
	return n ? arena_printf(m->mem, "%s_%d", word, (int)n) : arena_string(m->mem, word);
}

static bool depends_on_inputs(const struct naming *m, const struct node *n)
{
	for (int i = 0; i < n->nouts; i++)
		if (m->constant[n->out[i]->id])
			return false;
	return true;
}

static void begin_modules(struct naming *m)
{
	for (const struct node *n = m->g->first; n; n = n->next) {
		m->found = NULL;
		if (m->named)
			node_each_input(n, look_for_name, m);
		else if (n->op->flags & OP_GEMM && depends_on_inputs(m, n))
			m->found = numbered(m, n->op);
		m->name[n->order] = m->found;
	}
}

/* Backwards: what computes a weight is its reader's. */
static void pull_in_weights(struct naming *m)
{
	for (const struct node *n = m->g->last; n; n = n->prev)
		for (int i = 0; i < n->nouts && !depends_on_inputs(m, n); i++)
			for (int k = 0; k < n->out[i]->nuses && !m->name[n->order]; k++)
				m->name[n->order] = m->name[n->out[i]->use[k].node->order];
}

static void look_at_producer(struct value *v, void *ctx)
{
	struct naming *m = ctx;

	if (!m->found && v->def && !m->constant[v->id])
		m->found = m->name[v->def->order];
}

static void follow_on(struct naming *m)
{
	for (const struct node *n = m->g->first; n; n = n->next) {
		m->found = NULL;
		if (!m->name[n->order])
			node_each_input(n, look_at_producer, m);
		if (!m->name[n->order])
			m->name[n->order] = m->found ? m->found : "";
	}
}

const char **module_names(const struct graph *g, const bool *constant, struct arena *a)
{
	struct naming m = { .g = g, .constant = constant, .mem = a };

	graph_number(g);
	m.name = arena_array(a, (size_t)g->nnodes, sizeof *m.name);
	for (int i = 0; i < g->nvalues; i++)
		m.named |= g->value[i]->nuses && is_filed_name(g->value[i]);
	begin_modules(&m);
	pull_in_weights(&m);
	follow_on(&m);
	arena_free(&m.scratch);
	return m.name;
}
