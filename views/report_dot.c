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

static void one_node(struct text *t, int m, const struct node_row *row)
{
	struct str type = { 0 };
	char op[64];

	if (row->node->nouts)
		value_type_print(row->node->out[0], &type);
	text_add(t, "    m%dn%d [label=\"", m, row->node->order);
	label(t, row->id);
	str_add(&t->s, "\\n");
	label(t, look_op(row->node->op, op, sizeof op));
	str_add(&t->s, "\\n");
	label(t, str_text(&type));
	text_add(t, "\"%s];\n", look_declined(row) ? ", style=filled, fillcolor=\"#f8c0c0\"" : look_elided(row) ? ", style=dotted" : "");
	str_free(&type);
}

struct edges { struct text *t; int m, to; };

static void edge(struct value *v, void *ctx)
{
	struct edges *e = ctx;

	if (v->def)
		text_add(e->t, "  m%dn%d -> m%dn%d;\n", e->m, v->def->order, e->m, e->to);
	else
		text_add(e->t, "  m%dv%d -> m%dn%d;\n", e->m, v->id, e->m, e->to);
}

static void leaf(struct text *t, int m, const struct value *v)
{
	struct str type = { 0 };

	value_type_print(v, &type);
	text_add(t, "  m%dv%d [shape=%s, label=\"", m, v->id, v->kind == VALUE_INPUT ? "invhouse" : "note");
	label(t, v->name);
	str_add(&t->s, "\\n");
	label(t, str_text(&type));
	str_add(&t->s, "\"];\n");
	str_free(&type);
}

static void graph(struct text *t, const struct version *v, int m)
{
	const struct method_facts *f = &v->facts[m];

	text_add(t, "digraph \"");
	label(t, f->graph->method);
	str_add(&t->s, "\" {\n  node [shape=box, fontname=monospace];\n");
	for (int d = -1; d < f->ndelegates; d++) {
		if (d >= 0)
			text_add(t, "  subgraph cluster_%d {\n    label=\"%s %d\"; style=filled; color=\"#c0e0c0\";\n", d, f->delegate[d].backend, d);
		for (int i = 0; i < f->nrows; i++)
			if (f->row[i].delegate == d)
				one_node(t, m, &f->row[i]);
		if (d >= 0)
			text_add(t, "  }\n");
	}
	for (int i = 0; i < f->graph->nvalues; i++) {
		const struct value *value = f->graph->value[i];

		if (value && value->kind != VALUE_NODE && value->nuses)
			leaf(t, m, value);
	}
	for (int i = 0; i < f->nrows; i++)
		node_each_input(f->row[i].node, edge, &(struct edges){ t, m, f->row[i].node->order });
	text_add(t, "}\n");
}

void report_dot(struct text *t, const struct report *r)
{
	const struct version *v = report_after(r) ? report_after(r) : report_before(r);

	for (int m = 0; m < r->s->program->nmethods; m++)
		if (report_wants(r, v->method[m]->method))
			graph(t, v, m);
}
