/* The report as GitHub tables, for a comment on a pull request. */
#include "views/report.h"

#include "core/op/op.h"

#include <string.h>

/* A cell: cleaned, with what would end it or start markup defused. */
static void cell(struct text *t, const char *s)
{
	struct str clean = { 0 };

	text_clean(&clean, s ? s : "", false);
	str_add(&t->s, " ");
	for (const char *c = str_text(&clean); *c; c++) {
		if (strchr("|\\`*_<>[]", *c))
			str_add(&t->s, "\\");
		str_addn(&t->s, c, 1);
	}
	str_add(&t->s, " |");
	str_free(&clean);
}

static void head(struct text *t, const char *const *title)
{
	str_add(&t->s, "|");
	for (int i = 0; title[i]; i++)
		str_addf(&t->s, " %s |", title[i]);
	str_add(&t->s, "\n|");
	for (int i = 0; title[i]; i++)
		str_add(&t->s, "---|");
	str_add(&t->s, "\n");
}

static void command(struct text *t, const struct report *r, unsigned needs)
{
	struct str s = { 0 };

	look_command(r->s, needs, &s);
	if (s.n) {
		text_add(t, "\n");
		text_add(t, "    %s\n", str_text(&s));
	}
	str_free(&s);
}

static void summary(struct text *t, const struct report *r, const struct version *v)
{
	head(t, (const char *const[]){ "method", "nodes", "in XNNPACK", "delegates", "left out", "work in XNNPACK",
				       "planned memory", NULL });
	for (int m = 0; m < r->s->program->nmethods; m++) {
		const struct method_facts *f = &v->facts[m];
		struct totals sum = look_totals(v, m);
		char a[TEXT_NUMBER], b[TEXT_NUMBER];

		if (!report_wants(r, f->graph->method))
			continue;
		str_add(&t->s, "|");
		cell(t, f->graph->method);
		text_add(t, " %d | %d | %d | %d | %s | %s |\n", sum.nodes, sum.xnnpack, f->ndelegates, f->nleft_out,
			 text_percent(a, sum.flops > 0 ? sum.xnnpack_flops / sum.flops : -1),
			 text_bytes(b, f->planned_bytes));
	}
}

static void declined(struct text *t, const struct report *r, const struct version *v)
{
	struct arena mem = { 0 };
	bool any = false;

	for (int m = 0; m < r->s->program->nmethods; m++) {
		int n;
		const struct node_row **row;

		if (!report_wants(r, v->method[m]->method))
			continue;
		row = look_declined_rows(&v->facts[m], &mem, &n);
		if (n && !any) {
			text_add(t, "\n");
			head(t, (const char *const[]){ "declined", "operator", "work", "why", "fix", NULL });
		}
		for (int i = 0; i < n; i++) {
			char work[TEXT_NUMBER];

			any = true;
			str_add(&t->s, "|");
			cell(t, row[i]->id);
			cell(t, row[i]->node->op->name);
			cell(t, row[i]->ms >= 0 ? text_ms(work, row[i]->ms) : text_flops(work, row[i]->flops));
			cell(t, look_reason(row[i]));
			cell(t, row[i]->fix);
			str_add(&t->s, "\n");
		}
	}
	arena_free(&mem);
}

static void warnings(struct text *t, const struct report *r, const struct version *v)
{
	bool any = false;

	for (int m = 0; m < r->s->program->nmethods; m++)
		for (int i = 0; report_wants(r, v->method[m]->method) && i < v->facts[m].nwarnings; i++) {
			const struct warning *w = &v->facts[m].warning[i];

			if (!any) {
				text_add(t, "\n");
				head(t, (const char *const[]){ "warning", "at", "off by", "what is wrong", NULL });
			}
			any = true;
			str_add(&t->s, "|");
			cell(t, w->code);
			cell(t, w->id);
			if (w->max_abs_diff >= 0)
				text_add(t, " %.3g |", w->max_abs_diff);
			else
				cell(t, "");
			cell(t, w->text);
			str_add(&t->s, "\n");
		}
}

static void folds(struct text *t, const struct report *r, const struct version *v)
{
	char id[512], n[TEXT_NUMBER];

	if (v->fold.nfolds) {
		text_add(t, "\n");
		head(t, (const char *const[]){ "fold at", "position", "verdict", "erased", "added", "why it stays",
					       NULL });
	}
	for (int i = 0; i < v->fold.nfolds; i++) {
		const struct fold *f = &v->fold.fold[i];

		str_add(&t->s, "|");
		cell(t, node_id(v->method[f->method], f->at, id, sizeof id));
		cell(t, f->position);
		cell(t, f->folds ? "folds" : "stays");
		cell(t, text_exact(n, f->bytes_erased));
		cell(t, text_exact(n, f->bytes_added));
		cell(t, f->folds ? "" : f->text);
		str_add(&t->s, "\n");
	}
}

static void bench(struct text *t, const struct report *r)
{
	char n[4][TEXT_NUMBER];

	if (r->s->nbench) {
		text_add(t, "\n");
		head(t, (const char *const[]){ "method", r->by, "state", "engine", "median", "p90", "first", "set-up",
					       NULL });
	}
	for (int i = 0; i < r->s->nbench; i++) {
		const struct bench_row *b = &r->s->bench[i];

		str_add(&t->s, "|");
		cell(t, r->s->program->method[b->method]->method);
		cell(t, b->subject);
		cell(t, report_state(r, b));
		cell(t, engine_names[b->engine]);
		cell(t, b->failed ? "failed" : text_ms(n[0], b->stats.median));
		cell(t, b->failed ? b->failed : text_ms(n[1], b->stats.p90));
		cell(t, b->failed ? "" : text_ms(n[2], b->first_ms));
		cell(t, b->failed ? "" : text_ms(n[3], b->setup_ms));
		str_add(&t->s, "\n");
	}
}

static void checks(struct text *t, const struct report *r)
{
	if (r->s->nverify) {
		text_add(t, "\n");
		head(t, (const char *const[]){ "method", "outputs of", "output", "largest difference", "ok", NULL });
	}
	for (int i = 0; i < r->s->nverify; i++) {
		const struct verify_row *w = &r->s->verify[i];

		str_add(&t->s, "|");
		cell(t, r->s->program->method[w->method]->method);
		text_add(t, " %s | %d | %.3g | %s |\n", w->pair, w->output, w->max_abs_diff, w->ok ? "ok" : "FAILS");
	}
	if (r->nbudgets) {
		text_add(t, "\n");
		head(t, (const char *const[]){ "budget", "value", "ok", NULL });
	}
	for (int i = 0; i < r->nbudgets; i++) {
		str_add(&t->s, "|");
		cell(t, r->budget[i].rule);
		text_add(t, " %g | %s |\n", r->budget[i].value, r->budget[i].ok ? "ok" : "broken");
	}
}

void report_markdown(struct text *t, const struct report *r)
{
	const struct version *before = report_before(r), *after = r->s->current ? report_after(r) : NULL;
	char n[TEXT_NUMBER];

	str_add(&t->s, "###");
	cell(t, look_path(r->s));
	t->s.n -= 2;	/* the cell's end */
	text_add(t, ", %s\n\n", text_bytes(n, r->s->program->file.bytes));
	summary(t, r, before);
	declined(t, r, before);
	command(t, r, look_needs_of_version(before, r->s->program->nmethods));
	folds(t, r, before);
	warnings(t, r, before);
	if (after) {
		text_add(t, "\n");
		text_add(t, "After --apply: %s\n\n",
			 text_bytes(n, after->has_emitted ? after->emitted.program.bytes : r->s->program->file.bytes));
		summary(t, r, after);
		declined(t, r, after);
		warnings(t, r, after);
	}
	bench(t, r);
	checks(t, r);
}
