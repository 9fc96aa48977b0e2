/* The report for people: what is slow and the command that fixes it first, then everything by method. */
#include "views/report.h"

#include "core/op/op.h"

#include <math.h>
#include <string.h>

enum { DECLINED_MAX = 40 };

static const char *plural(int n)
{
	return n == 1 ? "" : "s";
}

static void heading(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void heading(struct text *t, const char *fmt, ...)
{
	struct str line = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_addv(&line, fmt, ap);
	va_end(ap);
	text_add(t, "\n");
	text_styled(t, STYLE_TITLE, "%s", str_text(&line));
	text_add(t, "\n");
	str_free(&line);
}

/* "  label     sentence", folded. */
static void field(struct text *t, enum style style, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void field(struct text *t, enum style style, const char *label, const char *fmt, ...)
{
	struct str line = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_addv(&line, fmt, ap);
	va_end(ap);
	text_styled(t, style, "  %-10s", label);
	text_fold(t, 12, 12, str_text(&line));
	str_free(&line);
}

static void value_type(const struct value *v, struct str *s)
{
	if (v->scalar)
		str_addf(s, "%s number", dtype_name(v->dtype));
	else
		value_type_print(v, s);
}

/* The first lines. */

static double work_of(const struct version *v, int nmethods)
{
	double work = 0;

	for (int m = 0; m < nmethods; m++)
		for (int i = 0; i < v->facts[m].nrows; i++)
			if (!look_elided(&v->facts[m].row[i]))
				work += look_work(&v->facts[m].row[i]);
	return work;
}

static const struct node_row *worst_row(const struct report *r, const struct version *v, const struct graph **g)
{
	const struct node_row *worst = NULL;

	for (int m = 0; m < r->s->program->nmethods; m++) {
		const struct method_facts *f = &v->facts[m];

		if (!report_wants(r, f->graph->method))
			continue;
		for (int i = 0; i < f->nrows; i++)
			if (look_declined(&f->row[i]) && (!worst || look_work(&f->row[i]) > look_work(worst))) {
				worst = &f->row[i];
				*g = f->graph;
			}
	}
	return worst;
}

static void headline(struct text *t, const struct report *r)
{
	const struct version *v = report_before(r);
	const struct graph *g = NULL;
	const struct node_row *worst = worst_row(r, v, &g);
	struct str command = { 0 };
	char n[TEXT_NUMBER], p[TEXT_NUMBER], op[64];
	double all = work_of(v, r->s->program->nmethods);

	text_styled(t, STYLE_TITLE, "%s", look_path(r->s));
	text_add(t, "  %s, %d method%s\n\n", text_bytes(n, r->s->program->file.bytes), r->s->program->nmethods,
		 plural(r->s->program->nmethods));
	if (!worst) {
		field(t, STYLE_GOOD, "Fine:", "no kernel call is left outside delegates.");
		return;
	}
	field(t, STYLE_BAD, "Slow:", "%s, %s, runs outside XNNPACK: %s of the %s.", worst->id,
	      look_op(worst->node->op, op, sizeof op), text_percent(p, all > 0 ? look_work(worst) / all : 0),
	      worst->ms >= 0 ? "measured time" : "estimated work");
	if (worst->story && *worst->story)
		field(t, STYLE_PLAIN, "Why:", "%s", worst->story);
	else if (look_reason(worst))
		field(t, STYLE_PLAIN, "Why:", "%s", look_reason(worst));
	look_command(r->s, look_needs_of_version(v, r->s->program->nmethods), &command);
	if (command.n) {
		text_styled(t, STYLE_GOOD, "  %-10s", "Fix:");
		text_add(t, "%s\n", str_text(&command));
	} else {
		field(t, STYLE_WARN, "Fix:", "%s", worst->fix && !strcmp(worst->fix, "re-export") ?
		      "nothing that can be done to the file; the model has to be exported again." : "none known.");
	}
	str_free(&command);
}

/* A method. */

static void section_values(struct text *t, const struct graph *g)
{
	struct str s = { 0 };

	for (int i = 0; i < g->ninputs; i++) {
		str_add(&s, i ? ", " : "");
		value_type(g->input[i], &s);
	}
	field(t, STYLE_PLAIN, "inputs", "%s", g->ninputs ? str_text(&s) : "none");
	str_clear(&s);
	for (int i = 0; i < g->noutputs; i++) {
		str_add(&s, i ? ", " : "");
		if (g->output[i].kind == ARG_VALUE)
			value_type(g->output[i].value, &s);
		else
			look_arg(g, &g->output[i], &s);
	}
	field(t, STYLE_PLAIN, "outputs", "%s", g->noutputs ? str_text(&s) : "none");
	str_free(&s);
}

static void section_totals(struct text *t, const struct version *v, int method)
{
	struct totals sum = look_totals(v, method);
	const struct method_facts *f = &v->facts[method];
	char a[TEXT_NUMBER], b[TEXT_NUMBER];

	field(t, STYLE_PLAIN, "nodes", "%d: %d in XNNPACK delegates, %d portable, %d other", sum.nodes, sum.xnnpack,
	      sum.portable, sum.other);
	if (sum.flops > 0)
		field(t, STYLE_PLAIN, "work", "%s, %s of it in XNNPACK", text_flops(a, sum.flops),
		      text_percent(b, sum.xnnpack_flops / sum.flops));
	if (sum.ms >= 0)
		field(t, STYLE_PLAIN, "time", "%s measured, %s of it in XNNPACK", text_ms(a, sum.ms),
		      text_percent(b, sum.ms > 0 ? sum.xnnpack_ms / sum.ms : 0));
	if (f->graph->rigid)
		field(t, STYLE_WARN, "limits", "%s", f->graph->rigid_why ? f->graph->rigid_why :
		      "cannot be rewritten or run here");
}

static void section_delegates(struct text *t, const struct method_facts *f)
{
	char n[TEXT_NUMBER];

	if (!f->ndelegates)
		field(t, STYLE_PLAIN, "delegates", "none");
	for (int i = 0; i < f->ndelegates; i++)
		field(t, STYLE_PLAIN, i ? "" : "delegates", "%d: %s, %d node%s, %s", i, f->delegate[i].backend,
		      f->delegate[i].nodes, plural(f->delegate[i].nodes), text_bytes(n, f->delegate[i].bytes));
}

static void section_left_out(struct text *t, const struct method_facts *f)
{
	struct str s = { 0 };

	if (f->nleft_out)
		str_addf(&s, "%d kernel call%s: ", f->nleft_out, plural(f->nleft_out));
	for (int i = 0; i < f->nleft_out;) {	/* runs of the same kernel once */
		int n = 1;

		while (i + n < f->nleft_out && !strcmp(f->left_out[i], f->left_out[i + n]))
			n++;
		str_addf(&s, "%s%s", i ? ", " : "", f->left_out[i]);
		if (n > 1)
			str_addf(&s, " (%d times)", n);
		i += n;
	}
	field(t, f->nleft_out ? STYLE_WARN : STYLE_PLAIN, "left out", "%s", f->nleft_out ? str_text(&s) : "nothing");
	str_free(&s);
}

static void section_memory(struct text *t, const struct method_facts *f)
{
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER];

	field(t, STYLE_PLAIN, "memory", "%s planned, %s of constants%s%s%s", text_bytes(a, f->planned_bytes),
	      text_bytes(b, f->constant_bytes), f->external_bytes ? ", " : "",
	      f->external_bytes ? text_bytes(c, f->external_bytes) : "",
	      f->external_bytes ? " in data files" : "");
}

static void declined_node(struct text *t, const struct report *r, const struct node_row *row)
{
	struct str s = { 0 }, command = { 0 };
	char n[TEXT_NUMBER];
	const char *name = row->node->op->name;

	text_styled(t, STYLE_TITLE, "  %s", row->id);
	if (row->node->nouts)
		value_type(row->node->out[0], &s);
	if (row->ms >= 0)
		text_ms(n, row->ms);
	else
		text_flops(n, row->flops);
	text_add(t, "  %s  %s  %s%s%s\n", name, str_text(&s), n, row->module && *row->module ? "  in " : "",
		 row->module ? row->module : "");
	field(t, STYLE_BAD, "  why", "%s (%s)", look_reason(row) ? look_reason(row) : "XNNPACK does not run it",
	      look_code(row) ? look_code(row) : "no_rule");
	look_steps(look_needs(row->fix), &command);
	if (command.n) {
		text_styled(t, STYLE_GOOD, "  %-10s", "  fix");
		text_add(t, "%s: %s\n", row->fix, str_text(&command));
	} else {
		field(t, STYLE_DIM, "  fix", "%s", row->fix &&
		      !strcmp(row->fix, "re-export") ? "re-export the model" : "none");
	}
	str_free(&s);
	str_free(&command);
}

static void section_declined(struct text *t, const struct report *r, const struct method_facts *f)
{
	struct arena mem = { 0 };
	int n;
	const struct node_row **row = look_declined_rows(f, &mem, &n);

	if (n)
		heading(t, "Declined in %s: %d node%s that XNNPACK does not run, heaviest first", f->graph->method, n,
			plural(n));
	for (int i = 0; i < n && i < DECLINED_MAX; i++)
		declined_node(t, r, row[i]);
	if (n > DECLINED_MAX)
		text_add(t, "  and %d lighter; --table nodes lists all\n", n - DECLINED_MAX);
	arena_free(&mem);
}

static void fold_sources(const struct fold *f, struct str *s)
{
	for (int i = 0; i < f->nsources; i++)
		str_addf(s, "%s%s", !i ? "" : i + 1 == f->nsources ? " and " : ", ", f->source[i]->name);
}

static void one_fold(struct text *t, const struct report *r, const struct graph *g, const struct fold *f)
{
	struct str from = { 0 };
	const struct fold_preview *p = r->preview ? &r->preview[f - report_before(r)->fold.fold] : NULL;
	char id[512], op[64], a[TEXT_NUMBER], b[TEXT_NUMBER];

	fold_sources(f, &from);
	text_styled(t, STYLE_TITLE, "  %s", node_id(g, f->at, id, sizeof id));
	text_add(t, "  %s of %s: ", f->position, look_op(f->at->op, op, sizeof op));
	text_styled(t, f->folds ? STYLE_GOOD : STYLE_WARN, "%s\n", f->folds ? "folds" : "stays");
	field(t, STYLE_PLAIN, "  from", "%s by %d constant-only node%s", f->nsources ? str_text(&from) :
	      "no constant", f->nnodes,
	      plural(f->nnodes));
	if (f->folds) {
		field(t, STYLE_PLAIN, "  bytes", "erases %s, adds %s", text_exact(a, f->bytes_erased),
		      text_exact(b, f->bytes_added));
		if (f->name)
			field(t, STYLE_PLAIN, "  name", "%s", f->name);
		if (p && p->known)
			field(t, STYLE_PLAIN, "  then",
			      "%d delegate%s after --apply fold,partition of this one alone", p->delegates_after,
			      plural(p->delegates_after));
	} else {
		field(t, STYLE_WARN, "  why", "%s (%s)", f->text ? f->text : "", f->code ? f->code : "");
		if (f->bytes_erased || f->bytes_added)
			field(t, STYLE_PLAIN, "  bytes", "would erase %s and add %s", text_exact(a, f->bytes_erased),
			      text_exact(b, f->bytes_added));
	}
	str_free(&from);
}

static void section_folds(struct text *t, const struct report *r, const struct version *v, int method)
{
	int n = 0;

	for (int i = 0; i < v->fold.nfolds; i++)
		n += v->fold.fold[i].method == method;
	if (n)
		heading(t, "Fold in %s: %d candidate%s", v->method[method]->method, n, plural(n));
	for (int i = 0; i < v->fold.nfolds; i++)
		if (v->fold.fold[i].method == method)
			one_fold(t, r, v->method[method], &v->fold.fold[i]);
}

static void section_linears(struct text *t, const struct version *v, int method)
{
	const struct graph *g = v->method[method];
	char id[512];
	int n = 0;

	for (int i = 0; i < v->linear.nlinears; i++) {
		const struct linear *l = &v->linear.linear[i];

		if (l->method != method)
			continue;
		if (!n++)
			heading(t, "Linear in %s: matrix products that could be linear again", g->method);
		text_styled(t, STYLE_TITLE, "  %s", node_id(g, l->at, id, sizeof id));
		text_add(t, "  %s: ", l->op);
		text_styled(t, l->converts ? STYLE_GOOD : STYLE_WARN, "%s\n", l->converts ? "converts" : "stays");
		if (!l->converts)
			field(t, STYLE_WARN, "  why", "%s (%s)", l->text ? l->text : "", l->code ? l->code : "");
	}
}

static void section_warnings(struct text *t, const struct method_facts *f)
{
	if (f->nwarnings)
		heading(t, "Warnings in %s", f->graph->method);
	for (int i = 0; i < f->nwarnings; i++) {
		const struct warning *w = &f->warning[i];

		text_styled(t, STYLE_WARN, "  %s", w->code);
		text_add(t, "%s%s", w->id ? " at " : "", w->id ? w->id : "");
		if (w->max_abs_diff >= 0)
			text_add(t, ", off by %.3g", w->max_abs_diff);
		text_add(t, "\n");
		text_add(t, "    ");
		text_fold(t, 4, 4, w->text);
	}
}

static void method_text(struct text *t, const struct report *r, const struct version *v, int method)
{
	const struct method_facts *f = &v->facts[method];

	heading(t, "Method %s%s%s", f->graph->method, f->graph->training ? ", of a training program" : "",
		f->graph->control_flow ? ", with control flow" : "");
	section_values(t, f->graph);
	section_totals(t, v, method);
	section_delegates(t, f);
	section_left_out(t, f);
	section_memory(t, f);
	section_declined(t, r, f);
	section_folds(t, r, v, method);
	section_linears(t, v, method);
	section_warnings(t, f);
}

/* After --apply. */

struct sums { int delegates, left_out; uint64_t planned, bytes, tensors; };

static struct sums sums_of(const struct report *r, const struct version *v)
{
	struct sums s = { .bytes = v->has_emitted ? v->emitted.program.bytes : r->s->program->file.bytes };

	for (int m = 0; m < r->s->program->nmethods; m++) {
		s.delegates += v->facts[m].ndelegates;
		s.left_out += v->facts[m].nleft_out;
		s.planned += v->facts[m].planned_bytes;
	}
	return s;
}

static void before_after(struct text *t, const char *what, uint64_t before, uint64_t after)
{
	char a[TEXT_NUMBER], b[TEXT_NUMBER];

	text_add(t, "  %-34s %18s %18s\n", what, text_exact(a, before), text_exact(b, after));
}

static void section_result(struct text *t, const struct report *r)
{
	const struct version *v = report_after(r);
	struct sums b = sums_of(r, report_before(r)), a;
	struct str steps = { 0 };

	if (!v)
		return;
	if (!r->s->current) {
		heading(t, "Result: nothing to apply; the program is as it was");
		return;
	}
	a = sums_of(r, v);
	for (int i = 1; i <= r->s->current; i++)
		str_addf(&steps, "%s%s", i > 1 ? ", " : "", r->s->version[i].applied);
	heading(t, "Result of applying %s", str_text(&steps));
	str_free(&steps);
	text_add(t, "  %-34s %18s %18s\n", "", "before", "after");
	before_after(t, "bytes of the program", b.bytes, a.bytes);
	before_after(t, "delegates", (uint64_t)b.delegates, (uint64_t)a.delegates);
	before_after(t, "kernel calls left out", (uint64_t)b.left_out, (uint64_t)a.left_out);
	before_after(t, "bytes of planned memory", b.planned, a.planned);
	for (int i = 0; v->has_emitted && i < v->emitted.nlost; i++)
		field(t, STYLE_WARN, "lost", "%s", v->emitted.lost[i]);
	for (int m = 0; m < r->s->program->nmethods; m++)
		if (report_wants(r, v->method[m]->method)) {
			section_declined(t, r, &v->facts[m]);
			section_warnings(t, &v->facts[m]);
		}
}

/* Running. */

static void bench_row(struct text *t, const struct report *r, const struct bench_row *b)
{
	char ms[4][TEXT_NUMBER], share[TEXT_NUMBER];
	const char *method = r->s->program->method[b->method]->method;

	text_add(t, "  %-24.24s %-7s %-9s", b->subject ? b->subject : method, report_state(r, b),
		 engine_names[b->engine]);
	if (b->failed) {
		text_styled(t, STYLE_BAD, " failed: ");
		text_fold(t, 54, 12, b->failed);
		return;
	}
	text_add(t, " %9s %9s", text_ms(ms[0], b->stats.median), text_ms(ms[1], b->stats.p90));
	if (b->subject)
		text_add(t, " %8s\n", text_percent(share, b->share));
	else
		text_add(t, " %8s %8s\n", text_ms(ms[2], b->first_ms), text_ms(ms[3], b->setup_ms));
}

static void section_bench(struct text *t, const struct report *r)
{
	const struct run_options *o = &r->s->run;
	bool rows = false;

	if (!r->s->nbench)
		return;
	heading(t, "Bench, %d runs after %d warm-ups, %d thread%s", o->runs, o->warmup, o->threads, plural(o->threads));
	if (*r->s->cpu.name)
		field(t, STYLE_DIM, "on", "%s; %s; %s", r->s->cpu.name, r->s->cpu.isa, r->s->cpu.caches);
	field(t, STYLE_DIM, "note", "portable kernels here are our own, mostly faster than those of the runtime");
	text_add(t, "  %-24s %-7s %-9s %9s %9s %8s %8s\n", "", "state", "engine", "median", "p90", "first", "set-up");
	for (int i = 0; i < r->s->nbench; i++) {
		if (r->s->bench[i].subject)
			rows = true;
		else if (report_wants(r, r->s->program->method[r->s->bench[i].method]->method))
			bench_row(t, r, &r->s->bench[i]);
	}
	if (rows)
		text_add(t, "  by %-21s %-7s %-9s %9s %9s %8s\n", r->by, "state", "engine", "median", "p90", "share");
	for (int i = 0; rows && i < r->s->nbench; i++)
		if (r->s->bench[i].subject && report_wants(r, r->s->program->method[r->s->bench[i].method]->method))
			bench_row(t, r, &r->s->bench[i]);
}

static void section_verify(struct text *t, const struct report *r)
{
	if (r->not_verified) {
		heading(t, "Outputs were not compared");
		field(t, STYLE_WARN, "why", "%s", r->not_verified);
	}
	if (!r->s->nverify)
		return;
	heading(t, "Outputs compared, tolerance %g", r->s->run.tolerance);
	for (int i = 0; i < r->s->nverify; i++) {
		const struct verify_row *w = &r->s->verify[i];

		if (!report_wants(r, r->s->program->method[w->method]->method))
			continue;
		text_add(t, "  %-20.20s output %d, %-17s largest difference %.3g ",
			 r->s->program->method[w->method]->method,
			 w->output, w->pair, w->max_abs_diff);
		text_styled(t, w->ok ? STYLE_GOOD : STYLE_BAD, "%s\n", w->ok ? "ok" : "FAILS");
	}
}

static void section_end(struct text *t, const struct report *r)
{
	if (r->nchanges) {
		heading(t, "Against the baseline");
		text_add(t, "  %-38s %13s %13s\n", "", "then", "now");
	}
	for (int i = 0; i < r->nchanges; i++) {
		const struct change *c = &r->change[i];

		text_add(t, "  %-38.38s %13.10g %13.10g", c->what, c->before, c->now);
		if (c->before > 0)
			text_add(t, " %+8.1f%%", (c->now / c->before - 1) * 100);
		text_add(t, "\n");
	}
	if (r->nbudgets)
		heading(t, "Budgets");
	for (int i = 0; i < r->nbudgets; i++) {
		text_styled(t, r->budget[i].ok ? STYLE_GOOD : STYLE_BAD, "  %-8s", r->budget[i].ok ? "ok" : "broken");
		text_add(t, "%s: ", r->budget[i].rule);
		if (r->budget[i].known)
			text_add(t, "%g\n", r->budget[i].value);
		else
			text_add(t, "not known\n");
	}
	if (r->written || r->not_written)
		text_add(t, "\n");
	if (r->written)
		text_styled(t, STYLE_GOOD, "Written to %s\n", r->written);
	if (r->not_written)
		text_styled(t, STYLE_BAD, "Not written: %s\n", r->not_written);
}

void report_text(struct text *t, const struct report *r)
{
	headline(t, r);
	for (int m = 0; m < r->s->program->nmethods; m++)
		if (report_wants(r, r->s->program->method[m]->method))
			method_text(t, r, report_before(r), m);
	section_result(t, r);
	section_bench(t, r);
	section_verify(t, r);
	section_end(t, r);
}
