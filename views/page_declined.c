/* Declined: the nodes XNNPACK does not run, grouped by reason, operator or module, heaviest first. */
#include "views/page.h"

#include "core/op/op.h"
#include "views/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A group's line has no node. */
struct declined { const struct node_row *row; const char *group; int n; double work, flops, ms, share; };
struct declined_rows { struct declined *at; int n, cap; };

enum { BY_REASON, BY_OPERATOR, BY_MODULE, BY_NOTHING, WAYS };
enum { COL_NODE, COL_OP, COL_COST, COL_SHARE, COL_FIX, COL_WHY };

static const struct column columns[] = {
	{ "node", 15, 1, false }, { "operator", 14, 1, false }, { "cost", 11, 0, true }, { "share", 6, 0, true },
	{ "fix", 9, 0, false }, { "why", 18, 4, false }, { 0 },
};

static const char *group_of(const struct page *p, const struct node_row *row)
{
	switch (p->setting) {
	case BY_REASON: return look_code(row) ? look_code(row) : "no_rule";
	case BY_OPERATOR: return row->node->op->name;
	case BY_MODULE: return row->module && *row->module ? row->module : "(no module)";
	default: return "";
	}
}

static void add_cost(struct declined *d, const struct node_row *row)
{
	d->n++;
	d->work += look_work(row);
	d->flops += row->flops;
	if (row->ms >= 0)
		d->ms = (d->ms < 0 ? 0 : d->ms) + row->ms;
}

static int heaviest_group(const void *a, const void *b)
{
	const struct declined *x = a, *y = b;

	return x->work != y->work ? (x->work < y->work) - (x->work > y->work) : strcmp(x->group, y->group);
}

static double whole(const struct ui *ui)
{
	const struct method_facts *f = ui_facts(ui);
	double sum = 0;

	for (int i = 0; i < f->nrows; i++)
		if (!look_elided(&f->row[i]))
			sum += look_work(&f->row[i]);
	return sum;
}

static void build(struct page *p, const struct ui *ui)
{
	struct declined_rows groups = { 0 }, all = { 0 };
	double work = whole(ui);
	int n;
	const struct node_row **row = look_declined_rows(ui_facts(ui), &p->mem, &n);

	for (int i = 0; i < n; i++) {
		const char *name = group_of(p, row[i]);
		int g = 0;

		while (g < groups.n && strcmp(groups.at[g].group, name))
			g++;
		if (g == groups.n)
			vec_push(&p->mem, &groups, ((struct declined){ .group = name, .ms = -1 }));
		add_cost(&groups.at[g], row[i]);
	}
	if (groups.n)
		qsort(groups.at, (size_t)groups.n, sizeof *groups.at, heaviest_group);
	for (int g = 0; g < groups.n; g++) {
		if (p->setting != BY_NOTHING)
			vec_push(&p->mem, &all, groups.at[g]);
		for (int i = 0; i < n; i++)
			if (!strcmp(group_of(p, row[i]), groups.at[g].group))
				vec_push(&p->mem, &all,
					 ((struct declined){ row[i], groups.at[g].group, 1, look_work(row[i]),
							     row[i]->flops,
					 row[i]->ms, 0 }));
	}
	for (int i = 0; i < all.n; i++)
		all.at[i].share = work > 0 ? all.at[i].work / work : 0;
	p->rows = all.at;
	p->nrows = all.n;
}

static const struct declined *declined_of(const struct page *p, int row)
{
	return (const struct declined *)p->rows + row;
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct declined *d = declined_of(p, row);
	char buf[64], n[TEXT_NUMBER];

	switch (column) {
	case COL_NODE:
		if (d->row)
			str_addf(s, "%s%s", p->setting == BY_NOTHING ? "" : "  ", d->row->id);
		else
			str_add(s, d->group);
		break;
	case COL_OP:
		if (d->row)
			str_add(s, look_op(d->row->node->op, buf, sizeof buf));
		else
			str_addf(s, "%d node%s", d->n, d->n == 1 ? "" : "s");
		break;
	case COL_COST: str_add(s, d->ms >= 0 ? text_ms(n, d->ms) : text_flops(n, d->flops)); break;
	case COL_SHARE: str_add(s, text_percent(n, d->share)); break;
	case COL_FIX: str_add(s, d->row && d->row->fix ? d->row->fix : ""); break;
	case COL_WHY: str_add(s, d->row && look_reason(d->row) ? look_reason(d->row) : ""); break;
	}
}

static double key(const struct page *p, const struct ui *ui, int row, int column)
{
	return column == COL_COST || column == COL_SHARE ? -declined_of(p, row)->work : NAN;
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	return declined_of(p, row)->row ? STYLE_PLAIN : STYLE_TITLE;
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	static const char *const by[WAYS] = { "reason", "operator", "module", "cost alone" };
	const struct declined *d = declined_of(p, row);

	if (!d->row) {
		text_add(t, "%d node%s: %s. Grouped by %s; t groups another way.\n", d->n, d->n == 1 ? "" : "s",
			 d->group, by[p->setting]);
		if (p->sort < 0 && d[1].row->story)	/* the heaviest of the group is next */
			text_fold(t, 0, 0, d[1].row->story);
		return;
	}
	if (d->row->story && *d->row->story)
		text_fold(t, 0, 0, d->row->story);
	else if (look_reason(d->row))
		text_fold(t, 0, 0, look_reason(d->row));
	explain_node(t, ui->s, ui_version(ui), ui->method, d->row);
}

static const char *node(const struct page *p, const struct ui *ui, int row)
{
	return declined_of(p, row)->row ? declined_of(p, row)->row->id : NULL;
}

static enum page_answer request(struct page *p, const struct ui *ui, int row, enum request r)
{
	if (r == REQ_GROUP_BY) {
		p->setting = (p->setting + 1) % WAYS;
		return PAGE_REBUILD;
	}
	if (r != REQ_FOLLOW || row < 0 || !declined_of(p, row)->row)
		return PAGE_IGNORED;
	return page_go(p, ui->method, declined_of(p, row)->row->id);
}

const struct page_ops page_declined = {
	.name = "Declined", .empty = "Nothing is declined: XNNPACK runs all of this method.", .column = columns,
	.build = build,
	.cell = cell, .key = key, .style = style, .pane = pane, .node = node, .request = request,
	.hint = "Enter show in the graph  t group  o fix all",
};
