/* The story of one stored tensor: where it is, who reads it, what a fold or a conversion makes of it, or why not. */
#include "views/explain.h"

#include "core/op/op.h"

#include <string.h>

struct told { const struct report *r; const struct version *v; int method; const struct value *value; bool gone; };

static bool is_stored(const struct value *v)
{
	return v->kind == VALUE_CONSTANT || v->kind == VALUE_STATE;
}

static const struct value *find(const struct graph *g, const char *name)
{
	for (int i = 0; i < g->nvalues; i++)
		if (is_stored(g->value[i]) && !strcmp(g->value[i]->name, name) &&
		    (g->value[i]->nuses || g->value[i]->noutputs))
			return g->value[i];
	return NULL;
}

static void where_sentence(const struct told *w, struct str *s)
{
	const char *file = look_file(w->r->s, w->value->home);
	char n[TEXT_NUMBER];

	if (w->value->kind == VALUE_STATE) {
		str_addf(s, "%s bytes of state: a method writes it, so nothing that reads it is constant",
			 text_exact(n, w->value->bytes));
		return;
	}
	str_addf(s, "%s bytes in %s%s", text_exact(n, w->value->bytes), file ? file : "the program",
		 w->value->data || !w->value->bytes ? "" : ", which was not given");
	if (w->value->folded)
		str_add(s, "; a fold made it");
}

static void readers_sentence(const struct told *w, struct str *s)
{
	const struct graph *g = w->v->method[w->method];
	char id[512], op[64];

	for (int i = 0; i < w->value->nuses; i++) {
		const struct node *n = w->value->use[i].node;

		str_addf(s, "%s%s (%s)", s->n ? ", " : "", node_id(g, n, id, sizeof id), look_op(n->op, op, sizeof op));
	}
	if (w->value->noutputs)
		str_addf(s, "%sthe caller, as an output of the method", s->n ? ", " : "");
}

static bool reads(const struct fold *f, const struct value *v)
{
	for (int i = 0; i < f->nsources; i++)
		if (f->source[i] == v || (v->data && f->source[i]->data == v->data))
			return true;
	for (int i = 0; i < v->nuses && !f->nsources; i++)	/* of what does not fold, sources are not all known */
		if (v->use[i].node == f->value->def || v->use[i].node == f->at)
			return true;
	return false;
}

static void fold_sentence(const struct told *w, const struct fold *f, struct str *s)
{
	char id[512], op[64], erased[TEXT_NUMBER], added[TEXT_NUMBER];

	str_addf(s, "the %s of %s is computed from it by", f->position,
		 node_id(w->v->method[w->method], f->at, id, sizeof id));
	for (int i = 0; i < f->nnodes && i < 8; i++)
		str_addf(s, "%s %s", i ? "," : "", look_op(f->node[i]->op, op, sizeof op));
	str_add(s, !f->nnodes ? " the method" : f->nnodes > 8 ? ", …" : "");
	if (f->folds)
		str_addf(s, ": it folds, erases %s bytes and adds %s, as %s", text_exact(erased, f->bytes_erased),
			 text_exact(added, f->bytes_added), f->name);
	else
		str_addf(s, ": it stays (%s): %s", f->code, f->text);
}

/* What a product's weight is made of by layout alone. */
static bool is_weight_of(const struct node *n, const struct value *v)
{
	const struct value *at = node_input(n, op_weight_arg(n->op));

	while (at && at->def)
		at = node_input(at->def, 0);
	return at == v;
}

static void linear_sentence(const struct told *w, const struct linear *l, struct str *s)
{
	char id[512];

	str_addf(s, "%s %s", l->op, node_id(w->v->method[w->method], l->at, id, sizeof id));
	if (l->converts)
		str_add(s, " becomes linear");
	else
		str_addf(s, " stays (%s): %s", l->code, l->text);
}

/* A product that reads it as it is. */
static const char *position(const struct node *n, const struct value *v)
{
	if (!(n->op->flags & OP_GEMM))
		return NULL;
	return node_input(n, op_weight_arg(n->op)) == v ? "weight" :
		node_input(n, op_bias_arg(n->op)) == v ? "bias" : NULL;
}

static void verdict_sentence(const struct told *w, const struct node_row *row, const char *as, struct str *s)
{
	str_addf(s, "as the %s of %s: %s", as, row->id, look_verdict(row));
	if (row->delegate >= 0)
		str_addf(s, ", in delegate %d", row->delegate);
	if (look_code(row))
		str_addf(s, " (%s): %s", look_code(row), look_reason(row) ? look_reason(row) : "");
}

/* Calls for each sentence there is to say, with what it is about. */
typedef void say_fn(void *ctx, const char *about, const char *sentence);

static void tell(const struct told *w, say_fn *say, void *ctx)
{
	const struct method_facts *facts = &w->v->facts[w->method];
	struct str s = { 0 };

	if (w->gone)
		say(ctx, "gone", "the result does not hold it any more; this is what the file says of it");
	where_sentence(w, &s);
	say(ctx, "stored", str_text(&s));
	str_clear(&s);
	readers_sentence(w, &s);
	say(ctx, "read by", str_text(&s));
	for (int i = 0; i < w->v->fold.nfolds; i++) {
		str_clear(&s);
		if (w->v->fold.fold[i].method != w->method || !reads(&w->v->fold.fold[i], w->value))
			continue;
		fold_sentence(w, &w->v->fold.fold[i], &s);
		say(ctx, "fold", str_text(&s));
	}
	for (int i = 0; i < w->v->linear.nlinears; i++) {
		str_clear(&s);
		if (w->v->linear.linear[i].method != w->method || !is_weight_of(w->v->linear.linear[i].at, w->value))
			continue;
		linear_sentence(w, &w->v->linear.linear[i], &s);
		say(ctx, "linear", str_text(&s));
	}
	for (int i = 0; i < facts->nrows; i++) {
		const char *as = position(facts->row[i].node, w->value);

		str_clear(&s);
		if (!as)
			continue;
		verdict_sentence(w, &facts->row[i], as, &s);
		say(ctx, "verdict", str_text(&s));
	}
	str_free(&s);
}

static void say_text(void *ctx, const char *about, const char *sentence)
{
	struct text *t = ctx;

	text_add(t, "  %-10s", about);
	text_fold(t, 12, 12, sentence);
}

static void say_json(void *ctx, const char *about, const char *sentence)
{
	json_array_append_new(ctx, json_pack("{s:o, s:o}", "about", report_string(about), "text", report_string(sentence)));
}

static void title(const struct told *w, struct text *t)
{
	struct str type = { 0 };

	value_type_print(w->value, &type);
	text_styled(t, STYLE_TITLE, "%s  %s  of %s\n", w->value->name, str_text(&type), w->v->method[w->method]->method);
	str_free(&type);
}

static json_t *story(const struct told *w)
{
	json_t *said = json_array(), *o = json_object();
	struct str type = { 0 };

	value_type_print(w->value, &type);
	tell(w, say_json, said);
	json_object_set_new(o, "constant", report_string(w->value->name));
	json_object_set_new(o, "method", report_string(w->v->method[w->method]->method));
	json_object_set_new(o, "type", report_string(str_text(&type)));
	json_object_set_new(o, "story", said);
	str_free(&type);
	return o;
}

static int explain_in(struct text *t, json_t *array, const struct report *r, const struct version *v, bool gone)
{
	int n = 0;

	for (int m = 0; m < r->s->program->nmethods; m++) {
		struct told w = { r, v, m, NULL, gone };

		if (!report_wants(r, v->method[m]->method) || !(w.value = find(v->method[m], r->explain)))
			continue;
		n++;
		if (array) {
			json_array_append_new(array, story(&w));
			continue;
		}
		if (t->s.n)
			text_add(t, "\n");
		title(&w, t);
		tell(&w, say_text, t);
	}
	return n;
}

int explain_weight(struct text *t, json_t *array, const struct report *r)
{
	const struct version *after = report_after(r);
	int n = after ? explain_in(t, array, r, after, false) : 0;

	return n ? n : explain_in(t, array, r, report_before(r), after != NULL);
}
