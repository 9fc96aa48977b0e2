/* Overview: each method with its totals, its worst offenders, and what would fix them. */
#include "views/page.h"

#include "core/op/op.h"

#include <string.h>

enum { WORST_SHOWN = 4 };

enum line_kind { LINE_METHOD, LINE_NODES, LINE_WORK, LINE_FIX, LINE_FINE, LINE_SLOW, LINE_MORE, LINE_LEFT_OUT,
		 LINE_DELEGATES,
	LINE_MEMORY, LINE_WARNING };

struct line {
	enum line_kind kind;
	int method;
	const struct node_row *row;		/* LINE_SLOW */
	const struct warning *warning;
	int n;
};

static const struct column columns[] = {
	{ "", 11, 0, false }, { "", 65, 1, false }, { 0 },
};

struct lines { struct line *at; int n, cap; };

static void add(struct page *p, struct lines *l, struct line line)
{
	vec_push(&p->mem, l, line);
}

static void build_method(struct page *p, const struct ui *ui, struct lines *l, int m)
{
	const struct version *v = ui_version(ui);
	const struct method_facts *f = &v->facts[m];
	unsigned needs = 0;
	int n;
	const struct node_row **row = look_declined_rows(f, &p->mem, &n);

	for (int i = 0; i < n; i++)
		needs |= look_needs(row[i]->fix);
	for (enum line_kind k = LINE_METHOD; k <= LINE_WORK; k++)
		add(p, l, (struct line){ .kind = k, .method = m });
	if (needs || !n)
		add(p, l, (struct line){ .kind = n ? LINE_FIX : LINE_FINE, .method = m, .n = (int)needs });
	for (int i = 0; i < n && i < WORST_SHOWN; i++)
		add(p, l, (struct line){ .kind = LINE_SLOW, .method = m, .row = row[i] });
	if (n > WORST_SHOWN)
		add(p, l, (struct line){ .kind = LINE_MORE, .method = m, .n = n - WORST_SHOWN });
	for (enum line_kind k = LINE_LEFT_OUT; k <= LINE_MEMORY; k++)
		add(p, l, (struct line){ .kind = k, .method = m });
	for (int i = 0; i < f->nwarnings; i++)
		add(p, l, (struct line){ .kind = LINE_WARNING, .method = m, .warning = &f->warning[i] });
}

static void build(struct page *p, const struct ui *ui)
{
	struct lines l = { 0 };

	for (int m = 0; m < ui->s->program->nmethods; m++)
		build_method(p, ui, &l, m);
	p->rows = l.at;
	p->nrows = l.n;
}

static const struct line *line_of(const struct page *p, int row)
{
	return (const struct line *)p->rows + row;
}

static void label(const struct line *l, struct str *s)
{
	static const char *const words[] = {
		[LINE_METHOD] = "method", [LINE_NODES] = "  nodes", [LINE_WORK] = "  work",
		[LINE_DELEGATES] = "  delegates",
		[LINE_LEFT_OUT] = "  left out", [LINE_MEMORY] = "  memory", [LINE_WARNING] = "  warning",
		[LINE_SLOW] = "  slow",
		[LINE_MORE] = "", [LINE_FIX] = "  fix", [LINE_FINE] = "  fine",
	};

	str_add(s, words[l->kind]);
}

static void slow(const struct line *l, struct str *s)
{
	char op[64], n[TEXT_NUMBER];

	look_op(l->row->node->op, op, sizeof op);
	str_addf(s, "%-12s %-14s %-10s %s", l->row->id, op,
		 l->row->ms >= 0 ? text_ms(n, l->row->ms) : text_flops(n, l->row->flops),
		 look_reason(l->row) ? look_reason(l->row) : "");
}

static void warned(const struct warning *w, struct str *s)
{
	str_addf(s, "%s at %s", w->code, w->id);
	if (w->max_abs_diff >= 0)
		str_addf(s, ", off by %.3g", w->max_abs_diff);
	str_addf(s, ": %s", w->text);
}

static void left_out(const struct method_facts *f, struct str *s)
{
	str_addf(s, f->nleft_out ? "%d kernel call%s:" : "nothing", f->nleft_out, f->nleft_out == 1 ? "" : "s");
	for (int i = 0; i < f->nleft_out; i++) {
		const char *name = f->left_out[i], *colon = strstr(name, "::");

		str_addf(s, " %.*s", (int)strcspn(colon ? colon + 2 : name, "."), colon ? colon + 2 : name);
	}
}

static void fix(unsigned needs, struct str *s)
{
	if ((needs & NEED_FOLD) && (needs & NEED_LINEAR))
		str_add(s, "press o: linear, fold and partition, all that can be done here");
	else
		str_addf(s, needs & NEED_FOLD ? "press f: fold the computed weights, and partition again" :
			 needs & NEED_LINEAR ? "press l: make the products linear, and partition again" :
			 "press p: partition again");
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct line *l = line_of(p, row);
	const struct version *v = ui_version(ui);
	const struct method_facts *f = &v->facts[l->method];
	struct totals t = look_totals(v, l->method);
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER];
	uint64_t bytes = 0;

	if (!column) {
		label(l, s);
		return;
	}
	switch (l->kind) {
	case LINE_METHOD: str_addf(s, "%s%s", f->graph->method, f->graph->control_flow ? " (control flow)" : ""); break;
	case LINE_NODES:
		str_addf(s, "%d: %d in XNNPACK, %d portable, %d other", t.nodes, t.xnnpack, t.portable, t.other);
		break;
	case LINE_WORK:
		if (t.flops > 0)
			str_addf(s, "%s, %s of it in XNNPACK", text_flops(a, t.flops),
				 text_percent(b, t.xnnpack_flops / t.flops));
		else
			str_add(s, "moves data, computes nothing");
		if (t.ms >= 0)
			str_addf(s, "; %s measured, %s in XNNPACK", text_ms(a, t.ms),
				 text_percent(b, t.ms > 0 ? t.xnnpack_ms / t.ms : 0));
		break;
	case LINE_DELEGATES:
		for (int i = 0; i < f->ndelegates; i++)
			bytes += f->delegate[i].bytes;
		str_addf(s, "%d, %s", f->ndelegates, text_bytes(a, bytes));
		break;
	case LINE_LEFT_OUT: left_out(f, s); break;
	case LINE_MEMORY:
		str_addf(s, "%s planned, %s of constants", text_bytes(a, f->planned_bytes),
			 text_bytes(b, f->constant_bytes));
		if (f->external_bytes)
			str_addf(s, ", %s in data files", text_bytes(c, f->external_bytes));
		break;
	case LINE_WARNING: warned(l->warning, s); break;
	case LINE_SLOW: slow(l, s); break;
	case LINE_MORE: str_addf(s, "and %d lighter one%s, page 3", l->n, l->n == 1 ? "" : "s"); break;
	case LINE_FIX: fix((unsigned)l->n, s); break;
	case LINE_FINE: str_add(s, "no kernel call is left outside delegates"); break;
	}
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	switch (line_of(p, row)->kind) {
	case LINE_METHOD: return STYLE_TITLE;
	case LINE_SLOW: return STYLE_BAD;
	case LINE_WARNING: return STYLE_WARN;
	case LINE_FIX: case LINE_FINE: return STYLE_GOOD;
	default: return STYLE_PLAIN;
	}
}

static const struct node_row *worst_of(const struct method_facts *f)
{
	const struct node_row *worst = NULL;

	for (int i = 0; i < f->nrows; i++)
		if (look_declined(&f->row[i]) && (!worst || look_work(&f->row[i]) > look_work(worst)))
			worst = &f->row[i];
	return worst;
}

static void pane_slow(const struct ui *ui, const struct node_row *row, struct text *t)
{
	struct str s = { 0 };
	char op[64];

	str_addf(&s, "%s, %s: %s", row->id, look_op(row->node->op, op, sizeof op),
		 row->story && *row->story ? row->story : look_reason(row) ? look_reason(row) :
		 "XNNPACK does not run it");
	text_fold(t, 0, 0, str_text(&s));
	str_clear(&s);
	look_command(ui->s, look_needs(row->fix), &s);
	if (s.n)
		text_add(t, "$ %s\n", str_text(&s));
	str_free(&s);
}

static void pane_method(const struct ui *ui, int m, struct text *t)
{
	const struct graph *g = ui_version(ui)->method[m];
	const struct node_row *worst = worst_of(ui_version(ui)->facts + m);
	struct str s = { 0 };

	str_addf(&s, "%s takes ", g->method);
	for (int i = 0; i < g->ninputs; i++) {
		str_add(&s, i ? ", " : "");
		value_type_print(g->input[i], &s);
	}
	str_add(&s, g->ninputs ? " and gives " : "nothing and gives ");
	for (int i = 0; i < g->noutputs; i++) {
		str_add(&s, i ? ", " : "");
		look_arg(g, &g->output[i], &s);
	}
	text_fold(t, 0, 0, str_text(&s));
	if (g->rigid && g->rigid_why)
		text_fold(t, 0, 0, g->rigid_why);
	str_free(&s);
	if (worst)
		pane_slow(ui, worst, t);
}

static void pane_warning(const struct warning *w, struct text *t)
{
	struct str s = { 0 };

	warned(w, &s);
	text_fold(t, 0, 0, str_text(&s));
	str_free(&s);
	if (w->measurable)
		text_add(t, w->max_abs_diff < 0 ? "b runs it beside what was meant, and tells how far off it is.\n" :
			 "That is the method's outputs, beside what was meant.\n");
	text_add(t, "Enter goes to the node in the graph.\n");
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	const struct line *l = line_of(p, row);
	struct str s = { 0 };

	switch (l->kind) {
	case LINE_SLOW:
		pane_slow(ui, l->row, t);
		text_add(t, "Enter goes to the node in the graph.\n");
		break;
	case LINE_WARNING: pane_warning(l->warning, t); break;
	case LINE_FIX:
		text_add(t, "Then w writes the program, and b times it. The same from a shell:\n");
		look_command(ui->s, (unsigned)l->n, &s);
		break;
	default: pane_method(ui, l->method, t);
	}
	if (s.n)
		text_add(t, "$ %s\n", str_text(&s));
	str_free(&s);
}

static const char *node_of(const struct line *l)
{
	return l->row ? l->row->id : l->warning ? l->warning->id : NULL;
}

/* A method's first line goes by the method's name, so that Tab finds it. */
static const char *node(const struct page *p, const struct ui *ui, int row)
{
	const struct line *l = line_of(p, row);

	return l->kind == LINE_METHOD ? ui_version(ui)->method[l->method]->method : node_of(l);
}

static enum page_answer request(struct page *p, const struct ui *ui, int row, enum request r)
{
	if (r != REQ_FOLLOW || row < 0)
		return PAGE_IGNORED;
	return page_go(p, line_of(p, row)->method, node_of(line_of(p, row)));
}

const struct page_ops page_overview = {
	.name = "Overview", .empty = "The program has no methods.", .column = columns, .build = build, .cell = cell,
	.style = style,
	.pane = pane, .node = node, .request = request, .hint = "Enter go there  o fix all  b bench  w write",
};
