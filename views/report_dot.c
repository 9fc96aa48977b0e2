/* The graphs for Graphviz: delegates are clusters, declined nodes are filled. */
#include "views/report.h"

#include "core/op/op.h"

#include <string.h>

static void label(struct text *t, const char *s)
{
	struct str clean = { 0 };

	text_clean(&clean, s, false);
	for (const char *c = str_text(&clean); *c; c++) {
		if (*c == '"' || *c == '\\')
			str_add(&t->s, "\\");
		str_addn(&t->s, c, 1);
	}
	str_free(&clean);
}

/* A node goes by its id, a leaf by a mark that no id has; both carry the method. */
static void name(struct text *t, const struct graph *g, const struct node *n)
{
	char id[512];

	str_add(&t->s, "\"");
	label(t, node_id(g, n, id, sizeof id));
	str_add(&t->s, "\"");
}

static void leaf_name(struct text *t, const struct graph *g, const struct value *v)
{
	str_add(&t->s, "\"");
	label(t, g->method);
	text_add(t, "%%%d\"", v->id);
}

static void one_node(struct text *t, const struct graph *g, const struct node_row *row)
{
	struct str type = { 0 };
	char op[64];

	if (row->node->nouts)
		value_type_print(row->node->out[0], &type);
	str_add(&t->s, "    ");
	name(t, g, row->node);
	str_add(&t->s, " [label=\"");
	label(t, row->id);
	str_add(&t->s, "\\n");
	label(t, look_op(row->node->op, op, sizeof op));
	str_add(&t->s, "\\n");
	label(t, str_text(&type));
	text_add(t, "\"%s];\n", look_declined(row) ? ", style=filled, fillcolor=\"#f8c0c0\"" :
		 look_elided(row) ? ", style=dotted" : "");
	str_free(&type);
}

struct edges { struct text *t; const struct graph *g; const struct node *to; };

static void edge(struct value *v, void *ctx)
{
	struct edges *e = ctx;

	str_add(&e->t->s, "  ");
	if (v->def)
		name(e->t, e->g, v->def);
	else
		leaf_name(e->t, e->g, v);
	str_add(&e->t->s, " -> ");
	name(e->t, e->g, e->to);
	str_add(&e->t->s, ";\n");
}

static void leaf(struct text *t, const struct graph *g, const struct value *v)
{
	struct str type = { 0 };

	value_type_print(v, &type);
	str_add(&t->s, "  ");
	leaf_name(t, g, v);
	text_add(t, " [shape=%s, label=\"", v->kind == VALUE_INPUT ? "invhouse" : "note");
	label(t, v->name);
	str_add(&t->s, "\\n");
	label(t, str_text(&type));
	str_add(&t->s, "\"];\n");
	str_free(&type);
}

static void cluster(struct text *t, const struct method_facts *f, int d)
{
	if (d >= 0) {
		text_add(t, "  subgraph cluster_%d {\n", d);
		text_add(t, "    label=\"%s %d\"; style=filled; color=\"#c0e0c0\";\n", f->delegate[d].backend, d);
	}
	for (int i = 0; i < f->nrows; i++)
		if (f->row[i].delegate == d)
			one_node(t, f->graph, &f->row[i]);
	if (d >= 0)
		text_add(t, "  }\n");
}

static void graph(struct text *t, const struct method_facts *f)
{
	text_add(t, "digraph \"");
	label(t, f->graph->method);
	str_add(&t->s, "\" {\n  node [shape=box, fontname=monospace];\n");
	for (int d = -1; d < f->ndelegates; d++)
		cluster(t, f, d);
	for (int i = 0; i < f->graph->nvalues; i++) {
		const struct value *value = f->graph->value[i];

		if (value && value->kind != VALUE_NODE && value->nuses)
			leaf(t, f->graph, value);
	}
	for (int i = 0; i < f->nrows; i++)
		node_each_input(f->row[i].node, edge, &(struct edges){ t, f->graph, f->row[i].node });
	text_add(t, "}\n");
}

void report_dot(struct text *t, const struct report *r)
{
	const struct version *v = report_after(r) ? report_after(r) : report_before(r);

	for (int m = 0; m < r->s->program->nmethods; m++)
		if (report_wants(r, v->method[m]->method))
			graph(t, &v->facts[m]);
}
