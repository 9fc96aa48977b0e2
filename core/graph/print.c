/* The graph as text, and node ids. */
#include "core/graph/graph.h"

#include "core/op/op.h"

#include <stdio.h>
#include <string.h>

const char *node_id(const struct graph *g, const struct node *n, char *buf, size_t bytes)
{
	const struct origin *o = &n->origin;
	char chain[16] = "", dnode[16] = "", serial[16] = "";

	if (o->chain)
		snprintf(chain, sizeof chain, "c%d.", o->chain);
	if (o->dnode >= 0)
		snprintf(dnode, sizeof dnode, "/%d", o->dnode);
	if (o->kind == ORIGIN_PASS)
		snprintf(serial, sizeof serial, "+%d", o->serial);
	if (o->kind == ORIGIN_VIEW)
		snprintf(buf, bytes, "%s/v%d", g->method, o->serial);
	else
		snprintf(buf, bytes, "%s/%s%d%s%s", g->method, chain, o->instruction, dnode, serial);
	return buf;
}

struct node *graph_find(const struct graph *g, const char *id)
{
	char buf[512];

	for (struct node *n = g->first; n; n = n->next)
		if (!strcmp(node_id(g, n, buf, sizeof buf), id))
			return n;
	return NULL;
}

void value_type_print(const struct value *v, struct str *s)
{
	str_addf(s, "%s[", dtype_name(v->dtype));
	for (int d = 0; d < v->rank; d++)
		str_addf(s, "%s%s%lld", d ? "," : "", v->dynamic ? "<=" : "", (long long)v->size[d]);
	str_add(s, "]");
	if (!value_is_default_order(v)) {
		str_add(s, "/");
		for (int d = 0; d < v->rank; d++)
			str_addf(s, "%s%d", d ? "." : "", v->dim_order[d]);
	}
}

static void print_arg(const struct arg *a, struct str *s)
{
	switch (a->kind) {
	case ARG_NONE: str_add(s, "None"); break;
	case ARG_VALUE: str_addf(s, "%%%d", a->value->id); break;
	case ARG_INT: str_addf(s, "%lld", (long long)a->i); break;
	case ARG_DOUBLE: str_addf(s, "%.9g", a->d); break;
	case ARG_BOOL: str_add(s, a->b ? "True" : "False"); break;
	case ARG_STRING: str_addf(s, "'%s'", a->s); break;
	case ARG_LIST:
		str_add(s, "[");
		for (int i = 0; i < a->list.n; i++) {
			str_add(s, i ? ", " : "");
			print_arg(&a->list.at[i], s);
		}
		str_add(s, "]");
		break;
	}
}

void node_print(const struct graph *g, const struct node *n, struct str *s)
{
	for (int i = 0; i < n->nouts; i++)
		str_addf(s, "%s%%%d", i ? ", " : "", n->out[i]->id);
	str_addf(s, "%s%s(", n->nouts ? " = " : "", n->op->name);
	for (int i = 0; i < n->nargs; i++) {
		str_add(s, i ? ", " : "");
		print_arg(&n->arg[i], s);
	}
	str_add(s, ")");
	for (int i = 0; i < n->nouts; i++) {
		str_add(s, " ");
		value_type_print(n->out[i], s);
	}
	if (n->group >= 0)
		str_addf(s, " @%d", n->group);
}

void graph_print(const struct graph *g, struct str *s)
{
	static const char *const kinds[] = { "input", "constant", "state" };

	str_addf(s, "method %s\n", g->method);
	for (int i = 0; i < g->nvalues; i++) {
		const struct value *v = g->value[i];

		if (v->kind == VALUE_NODE || (!v->nuses && !v->noutputs && v->kind != VALUE_INPUT))
			continue;
		str_addf(s, "  %%%d = %s %s ", v->id, kinds[v->kind], v->name);
		value_type_print(v, s);
		str_add(s, "\n");
	}
	for (const struct node *n = g->first; n; n = n->next) {
		str_add(s, "  ");
		node_print(g, n, s);
		str_add(s, "\n");
	}
	str_add(s, "  return");
	for (int i = 0; i < g->noutputs; i++) {
		str_add(s, " ");
		print_arg(&g->output[i], s);
	}
	str_add(s, "\n");
}
