/* One table of the report as CSV (RFC 4180, but lines end in a newline alone). */
#include "views/report.h"

#include "core/op/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A field and its comma: cleaned, and quoted when it has to be. */
static void field(struct text *t, const char *s)
{
	struct str clean = { 0 };
	const char *c;

	text_clean(&clean, s ? s : "", false);
	c = str_text(&clean);
	if (!c[strcspn(c, "\",")]) {
		str_add(&t->s, c);
	} else {
		str_add(&t->s, "\"");
		for (; *c; c++)
			str_addn(&t->s, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
		str_add(&t->s, "\"");
	}
	str_add(&t->s, ",");
	str_free(&clean);
}

static void fieldf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fieldf(struct text *t, const char *fmt, ...)
{
	char buf[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	field(t, buf);
}

static void end(struct text *t)
{
	t->s.text[t->s.n - 1] = '\n';	/* in place of the last comma */
}

static void type(struct text *t, const struct value *v)
{
	struct str s = { 0 };

	if (v)
		value_type_print(v, &s);
	field(t, str_text(&s));
	str_free(&s);
}

static void nodes(struct text *t, const struct report *r, const struct version *v, int m)
{
	const struct method_facts *f = &v->facts[m];

	for (int i = 0; i < f->nrows; i++) {
		const struct node_row *row = &f->row[i];

		field(t, f->graph->method);
		field(t, row->id);
		field(t, row->node->op->name);
		field(t, look_runs(row));
		fieldf(t, "%d", row->delegate);
		type(t, row->node->nouts ? row->node->out[0] : NULL);
		field(t, row->module);
		field(t, row->constant_only ? "yes" : "no");
		field(t, look_verdict(row));
		field(t, look_code(row));
		field(t, look_reason(row));
		field(t, row->fix);
		fieldf(t, "%.0f", row->flops);
		fieldf(t, "%llu", (unsigned long long)row->bytes);
		if (row->ms >= 0)
			fieldf(t, "%.6g", row->ms);
		else
			field(t, "");
		end(t);
	}
}

static void folds(struct text *t, const struct report *r, const struct version *v, int m)
{
	char id[512];

	for (int i = 0; i < v->fold.nfolds; i++) {
		const struct fold *f = &v->fold.fold[i];

		if (f->method != m)
			continue;
		field(t, v->method[m]->method);
		field(t, node_id(v->method[m], f->at, id, sizeof id));
		field(t, f->position);
		field(t, f->folds ? "folds" : "stays");
		field(t, f->folds ? "" : f->code);
		field(t, f->folds ? "" : f->text);
		fieldf(t, "%d", f->nnodes);
		fieldf(t, "%llu", (unsigned long long)f->bytes_erased);
		fieldf(t, "%llu", (unsigned long long)f->bytes_added);
		field(t, f->name);
		field(t, look_file(r->s, f->home));
		end(t);
	}
}

static void linears(struct text *t, const struct report *r, const struct version *v, int m)
{
	char id[512];

	for (int i = 0; i < v->linear.nlinears; i++) {
		const struct linear *l = &v->linear.linear[i];

		if (l->method != m)
			continue;
		field(t, v->method[m]->method);
		field(t, node_id(v->method[m], l->at, id, sizeof id));
		field(t, l->op);
		field(t, l->converts ? "converts" : "stays");
		field(t, l->converts ? "" : l->code);
		field(t, l->converts ? "" : l->text);
		end(t);
	}
}

static void bench(struct text *t, const struct report *r, const struct version *v, int m)
{
	for (int i = 0; i < r->s->nbench; i++) {
		const struct bench_row *b = &r->s->bench[i];

		if (b->method != m)
			continue;
		field(t, v->method[m]->method);
		field(t, b->subject);
		field(t, report_state(r, b));
		field(t, engine_names[b->engine]);
		for (int k = 0; k < 7; k++) {
			const double ms[] = { b->setup_ms, b->first_ms, b->stats.min, b->stats.median, b->stats.p90,
					      b->stats.mean,
				b->stats.sd };

			if (b->failed || ms[k] < 0)
				field(t, "");
			else
				fieldf(t, "%.6g", ms[k]);
		}
		fieldf(t, "%d", b->failed ? 0 : b->stats.runs);
		fieldf(t, "%.4g", b->failed ? 0 : b->share);
		fieldf(t, "%.4g", b->failed ? 0 : b->gflops);
		field(t, b->failed);
		end(t);
	}
}

static void constants(struct text *t, const struct report *r, const struct version *v)
{
	for (int i = 0; i < v->nconstants; i++) {
		const struct constant_row *c = &v->constant[i];

		field(t, c->value->name);
		type(t, c->value);
		fieldf(t, "%llu", (unsigned long long)c->value->bytes);
		fieldf(t, "%d", c->users);
		fieldf(t, "%d", c->methods);
		field(t, look_file(r->s, c->value->home));
		fieldf(t, "%d", c->copies);
		end(t);
	}
}

static void warnings(struct text *t, const struct report *r, const struct version *v, int m)
{
	for (int i = 0; i < v->facts[m].nwarnings; i++) {
		const struct warning *w = &v->facts[m].warning[i];

		field(t, v->method[m]->method);
		field(t, w->id);
		field(t, w->code);
		if (w->max_abs_diff >= 0)
			fieldf(t, "%.9g", w->max_abs_diff);
		else
			field(t, NULL);
		field(t, w->text);
		end(t);
	}
}

static void memory(struct text *t, const struct report *r, const struct version *v, int m)
{
	const struct method_facts *f = &v->facts[m];

	for (int i = 0; i < f->plan.n; i++) {
		const struct planned_tensor *x = &f->plan.tensor[i];
		struct str s = { 0 };

		look_owner(f, x, &s);
		field(t, v->method[m]->method);
		field(t, str_text(&s));
		str_clear(&s);
		look_tensor(f->plan.plan->value[x->value].tensor, &s);
		field(t, str_text(&s));
		fieldf(t, "%u", x->arena);
		fieldf(t, "%llu", (unsigned long long)x->offset);
		fieldf(t, "%llu", (unsigned long long)x->bytes);
		fieldf(t, "%d", x->first - 1);
		fieldf(t, "%d", x->last - 1);
		fieldf(t, "%llu", (unsigned long long)f->plan.in_use[x->first]);
		end(t);
		str_free(&s);
	}
}

static const struct {
	const char *name, *head;
	void (*rows)(struct text *t, const struct report *r, const struct version *v, int m);
} tables[] = {
	{ "nodes", "method,id,op,runs,delegate,type,module,constant_only,verdict,code,reason,fix,flops,bytes,ms",
	  nodes },
	{ "fold", "method,at,position,verdict,code,reason,nodes,bytes_erased,bytes_added,name,file", folds },
	{ "linear", "method,at,op,verdict,code,reason", linears },
	{ "bench", "method,subject,state,engine,setup_ms,first_ms,min_ms,median_ms,p90_ms,mean_ms,sd_ms,runs,share,gflops,failed", bench },
	{ "warnings", "method,node,code,max_abs_diff,text", warnings },
	{ "memory", "method,tensor,type,arena,offset,bytes,first_call,last_call,in_use", memory },
	{ "constants", "name,type,bytes,users,methods,file,copies", NULL },
};

void report_csv(struct text *t, const struct report *r)
{
	const struct version *v = report_after(r) ? report_after(r) : report_before(r);

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		if (strcmp(tables[i].name, r->table))
			continue;
		text_add(t, "%s\n", tables[i].head);
		if (!tables[i].rows)
			constants(t, r, v);
		for (int m = 0; tables[i].rows && m < r->s->program->nmethods; m++)
			if (report_wants(r, v->method[m]->method))
				tables[i].rows(t, r, v, m);
	}
}
