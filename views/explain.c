/* One node in full: where it came from, its arguments, the verdict with every rule, and what would fix it. */
#include "views/explain.h"

#include "core/op/op.h"

#include <stdio.h>
#include <string.h>

static void row_of(struct text *t, const char *label, const char *sentence)
{
	text_add(t, "  %-10s", label);
	text_fold(t, 12, 12, sentence);
}

/* Name of argument i in the schema's list "self, other, alpha". */
static void arg_name(const struct op *op, int i, char *buf, size_t bytes)
{
	const char *s = op->args;
	size_t n;

	while (i-- > 0 && *s) {
		s += strcspn(s, ",");
		s += strspn(s, ", ");
	}
	n = strcspn(s, ", ");
	snprintf(buf, bytes, "%.*s", (int)n, s);
}

static void origin_sentence(const struct node *n, struct str *s)
{
	const struct origin *o = &n->origin;

	if (o->kind == ORIGIN_VIEW)
		str_add(s, "a view that the exporter elided: no call in the file, no cost");
	else if (o->kind == ORIGIN_PASS)
		str_addf(s, "made here, in place of instruction %d", o->instruction);
	else if (o->dnode >= 0)
		str_addf(s, "node %d of delegate %d, called by instruction %d", o->dnode, o->delegate, o->instruction);
	else
		str_addf(s, "instruction %d", o->instruction);
	if (o->kind == ORIGIN_FILE && o->chain)
		str_addf(s, " of chain %d", o->chain);
	if (o->debug_handle)
		str_addf(s, ", debug handle %u", o->debug_handle);
}

static void explain_args(struct text *t, const struct graph *g, const struct node *n)
{
	struct str s = { 0 };
	char name[64];

	for (int i = 0; i < n->nargs; i++) {
		arg_name(n->op, i, name, sizeof name);
		str_clear(&s);
		if (*name)
			str_addf(&s, "%s = ", name);
		look_arg(g, &n->arg[i], &s);
		row_of(t, i ? "" : "arguments", str_text(&s));
	}
	str_free(&s);
}

static void explain_users(struct text *t, const struct graph *g, const struct node *n)
{
	struct str s = { 0 };
	char id[512];

	for (int i = 0; i < n->nouts; i++) {
		value_type_print(n->out[i], &s);
		row_of(t, i ? "" : "result", str_text(&s));
		str_clear(&s);
	}
	for (int i = 0; i < n->nouts; i++)
		for (int k = 0; k < n->out[i]->nuses; k++)
			str_addf(&s, "%s%s", s.n ? ", " : "", node_id(g, n->out[i]->use[k].node, id, sizeof id));
	for (int i = 0; i < n->nouts; i++)
		if (n->out[i]->noutputs)
			str_addf(&s, "%sthe caller, as an output of the method", s.n ? ", " : "");
	row_of(t, "read by", s.n ? str_text(&s) : "nobody");
	str_free(&s);
}

static void explain_rules(struct text *t, const struct node_row *row)
{
	for (int i = 0; i < row->verdict.nchecks; i++) {
		const struct rule_check *c = &row->verdict.check[i];
		struct str s = { 0 };

		str_addf(&s, "%s%s%s", c->rule, c->ok ? "" : ": ", c->ok || !c->found ? "" : c->found);
		text_add(t, "  %-10s", i ? "" : "rules");
		text_styled(t, c->ok ? STYLE_GOOD : STYLE_BAD, "%-7s", c->ok ? "ok" : "FAILS");
		text_fold(t, 19, 19, str_text(&s));
		str_free(&s);
	}
	if (!row->verdict.nchecks)
		row_of(t, "rules", row->verdict.kind == VERDICT_NO_RULE ? "XNNPACK has no rule for this operator" :
		       "none");
}

static const struct fold *fold_at(const struct version *v, const struct node *n)
{
	for (int i = 0; i < v->fold.nfolds; i++)
		if (v->fold.fold[i].at == n)
			return &v->fold.fold[i];
	return NULL;
}

static void explain_fix(struct text *t, const struct session *s, const struct version *v, const struct node_row *row)
{
	const struct fold *f = fold_at(v, row->node);
	struct str line = { 0 };
	char a[TEXT_NUMBER], b[TEXT_NUMBER];

	if (f) {
		str_addf(&line, "the %s is computed by %d nodes: a fold erases %s bytes and adds %s", f->position,
			 f->nnodes,
			 text_exact(a, f->bytes_erased), text_exact(b, f->bytes_added));
		if (!f->folds)
			str_addf(&line, "; it stays: %s (%s)", f->text ? f->text : "", f->code ? f->code : "");
		row_of(t, "fold", str_text(&line));
		str_clear(&line);
	}
	look_command(s, look_needs(row->fix), &line);
	row_of(t, "fix", row->fix ? row->fix : "none");
	if (line.n)
		text_add(t, "  %-10s%s\n", "", str_text(&line));
	str_free(&line);
}

void explain_node(struct text *t, const struct session *s, const struct version *v, int method,
		  const struct node_row *row)
{
	const struct graph *g = v->method[method];
	struct str line = { 0 };
	char n[TEXT_NUMBER];

	text_styled(t, STYLE_TITLE, "%s  %s\n", row->id, row->node->op->name);
	if (row->story && *row->story)
		row_of(t, "in short", row->story);
	origin_sentence(row->node, &line);
	row_of(t, "from", str_text(&line));
	if (row->module && *row->module)
		row_of(t, "module", row->module);
	str_clear(&line);
	str_add(&line, look_runs(row));
	if (row->delegate >= 0)
		str_addf(&line, ", delegate %d", row->delegate);
	if (row->constant_only)
		str_add(&line, "; depends on constants alone");
	if (row->flops > 0)
		str_addf(&line, "; %s", text_flops(n, row->flops));
	if (row->ms >= 0)
		str_addf(&line, "; %s", text_ms(n, row->ms));
	row_of(t, "runs on", str_text(&line));
	explain_args(t, g, row->node);
	explain_users(t, g, row->node);
	str_clear(&line);
	str_add(&line, look_verdict(row));
	if (row->verdict.code)
		str_addf(&line, " (%s): %s", row->verdict.code, row->verdict.text ? row->verdict.text : "");
	row_of(t, "verdict", str_text(&line));
	explain_rules(t, row);
	explain_fix(t, s, v, row);
	str_free(&line);
}

/* By id, by the operator's whole name, or by its short one. */
static bool is_meant(const char *what, const struct node_row *row)
{
	char op[64];

	return !strcmp(what, row->id) || !strcmp(what, row->node->op->name) ||
		!strcmp(what, look_op(row->node->op, op, sizeof op)) ||
		(row->node->op->kernel_name && !strcmp(what, row->node->op->kernel_name));
}

int explain_text(struct text *t, const struct report *r)
{
	const struct version *v = report_after(r) ? report_after(r) : report_before(r);
	int n = 0;

	for (int m = 0; m < r->s->program->nmethods; m++)
		for (int i = 0; report_wants(r, v->method[m]->method) && i < v->facts[m].nrows; i++)
			if (is_meant(r->explain, &v->facts[m].row[i])) {
				if (n++)
					text_add(t, "\n");
				explain_node(t, r->s, v, m, &v->facts[m].row[i]);
			}
	return n + explain_weight(t, NULL, r);
}

/* JSON. */

static json_t *checks(const struct node_row *row)
{
	json_t *a = json_array();

	for (int i = 0; i < row->verdict.nchecks; i++) {
		const struct rule_check *c = &row->verdict.check[i];
		json_t *o = json_object();

		json_object_set_new(o, "rule", report_string(c->rule));
		json_object_set_new(o, "ok", json_boolean(c->ok));
		json_object_set_new(o, "code", c->ok ? json_null() : report_string(c->code));
		json_object_set_new(o, "found", c->ok ? json_null() : report_string(c->found));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *args(const struct graph *g, const struct node *n)
{
	json_t *a = json_array();
	struct str s = { 0 };
	char name[64];

	for (int i = 0; i < n->nargs; i++) {
		json_t *o = json_object();

		str_clear(&s);
		look_arg(g, &n->arg[i], &s);
		arg_name(n->op, i, name, sizeof name);
		json_object_set_new(o, "name", report_string(name));
		json_object_set_new(o, "value", report_string(str_text(&s)));
		json_array_append_new(a, o);
	}
	str_free(&s);
	return a;
}

static json_t *explained(const struct report *r, const struct graph *g, const struct node_row *row)
{
	json_t *o = json_object();
	struct str s = { 0 };

	origin_sentence(row->node, &s);
	json_object_set_new(o, "id", report_string(row->id));
	json_object_set_new(o, "op", report_string(row->node->op->name));
	json_object_set_new(o, "from", report_string(str_text(&s)));
	json_object_set_new(o, "module", report_string(row->module ? row->module : ""));
	json_object_set_new(o, "runs", report_string(look_runs(row)));
	json_object_set_new(o, "delegate", row->delegate >= 0 ? json_integer(row->delegate) : json_null());
	json_object_set_new(o, "constant_only", json_boolean(row->constant_only));
	json_object_set_new(o, "arguments", args(g, row->node));
	json_object_set_new(o, "verdict", report_string(look_verdict(row)));
	json_object_set_new(o, "reason", row->verdict.code ? json_pack("{s:o, s:o}", "code",
		report_string(row->verdict.code), "text",
		report_string(row->verdict.text ? row->verdict.text : "")) : json_null());
	json_object_set_new(o, "rules", checks(row));
	json_object_set_new(o, "story", report_string(row->story));
	json_object_set_new(o, "fix", report_string(row->fix ? row->fix : "none"));
	str_clear(&s);
	look_command(r->s, look_needs(row->fix), &s);
	json_object_set_new(o, "fix_command", s.n ? report_string(str_text(&s)) : json_null());
	str_free(&s);
	return o;
}

int explain_json(json_t *array, const struct report *r)
{
	const struct version *v = report_after(r) ? report_after(r) : report_before(r);
	int n = 0;

	for (int m = 0; m < r->s->program->nmethods; m++)
		for (int i = 0; report_wants(r, v->method[m]->method) && i < v->facts[m].nrows; i++)
			if (is_meant(r->explain, &v->facts[m].row[i])) {
				json_array_append_new(array, explained(r, v->method[m], &v->facts[m].row[i]));
				n++;
			}
	return n + explain_weight(NULL, array, r);
}
