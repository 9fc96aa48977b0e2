/* Declined: the nodes XNNPACK does not run, grouped by reason, operator or module, heaviest first. */
#include "views/page.h"

#include "core/base/map.h"
#include "core/op/op.h"
#include "views/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A group's line has no node. work: what it is sorted by, measured time or an estimate of shapes. */
struct declined { const struct node_row *row; const char *group; int in, n; double work, flops, ms; };
struct declined_rows { struct declined *at; int n, cap; };
struct declined_page { struct declined *at; bool measured; double whole; };

enum { BY_REASON, BY_OPERATOR, BY_MODULE, BY_NOTHING, WAYS };
enum { WAY = 3, ESTIMATED = 4 };	/* bits of the setting: one of the ways, and that times are not wanted */
enum { COL_NODE, COL_OP, COL_COST, COL_SHARE, COL_FIX, COL_WHY };

static const struct column columns[] = {
	{ "node", 15, 1, false }, { "operator", 14, 1, false }, { "estimate", 11, 0, true }, { "share", 6, 0, true },
	{ "fix", 9, 0, false }, { "why", 18, 4, false }, { 0 },
};

static const char *group_of(const struct page *p, const struct node_row *row)
{
	switch (p->setting & WAY) {
	case BY_REASON: return look_code(row) ? look_code(row) : "no_rule";
	case BY_OPERATOR: return row->node->op->name;
	case BY_MODULE: return row->module && *row->module ? row->module : "(no module)";
	default: return "";
	}
}

static bool any_measured(const struct method_facts *f)
{
	for (int i = 0; i < f->nrows; i++)
		if (f->row[i].ms >= 0)
			return true;
	return false;
}

static double work_of(const struct declined_page *d, const struct node_row *row)
{
	return d->measured ? fmax(row->ms, 0) : row->flops + (double)row->bytes;
}

static int heaviest(const void *a, const void *b)
{
	const struct declined *x = a, *y = b;

	return x->work != y->work ? (x->work < y->work) - (x->work > y->work) : strcmp(x->group, y->group);
}

/* By group, and in it the heaviest first; `in` is the rank of the group by now. */
static int in_groups(const void *a, const void *b)
{
	const struct declined *x = a, *y = b;

	return x->in != y->in ? x->in - y->in : x->work != y->work ? (x->work < y->work) - (x->work > y->work) :
		x->row->node->order - y->row->node->order;
}

static void add_cost(struct declined *group, const struct declined *d)
{
	group->n++;
	group->work += d->work;
	group->flops += d->flops;
	if (d->ms >= 0)
		group->ms = fmax(group->ms, 0) + d->ms;
}

/* Every declined node, and the groups they fall into, heaviest first. */
static struct declined_rows collect(struct page *p, const struct ui *ui, struct declined_page *d, struct declined_rows *groups)
{
	const struct method_facts *f = ui_facts(ui);
	struct declined_rows rows = { 0 };
	struct map by_name = { 0 };
	int *rank;

	for (int i = 0; i < f->nrows; i++) {
		const struct node_row *row = &f->row[i];
		const char *name = group_of(p, row);
		uintptr_t g;

		d->whole += look_elided(row) ? 0 : work_of(d, row);
		if (!look_declined(row))
			continue;
		g = (uintptr_t)map_get(&by_name, name, strlen(name) + 1);
		if (!g) {
			int in = groups->n;

			vec_push(&p->mem, groups, ((struct declined){ .group = name, .in = in, .ms = -1 }));
			g = (uintptr_t)in + 1;
			map_put(&by_name, &p->mem, name, strlen(name) + 1, (void *)g);
		}
		vec_push(&p->mem, &rows, ((struct declined){ row, name, (int)g - 1, 1, work_of(d, row), row->flops, row->ms }));
		add_cost(&groups->at[g - 1], &rows.at[rows.n - 1]);
	}
	if (!rows.n)
		return rows;
	qsort(groups->at, (size_t)groups->n, sizeof *groups->at, heaviest);
	rank = arena_array(&p->mem, (size_t)groups->n, sizeof *rank);
	for (int i = 0; i < groups->n; i++)
		rank[groups->at[i].in] = i;
	for (int i = 0; i < rows.n; i++)
		rows.at[i].in = rank[rows.at[i].in];
	qsort(rows.at, (size_t)rows.n, sizeof *rows.at, in_groups);
	return rows;
}

static void build(struct page *p, const struct ui *ui)
{
	struct declined_page *d = arena_alloc(&p->mem, sizeof *d);
	struct declined_rows groups = { 0 }, rows, all = { 0 };

	d->measured = !(p->setting & ESTIMATED) && any_measured(ui_facts(ui));
	rows = collect(p, ui, d, &groups);
	for (int i = 0; i < rows.n; i++) {
		if ((p->setting & WAY) != BY_NOTHING && (!i || rows.at[i].in != rows.at[i - 1].in))
			vec_push(&p->mem, &all, groups.at[rows.at[i].in]);
		vec_push(&p->mem, &all, rows.at[i]);
	}
	d->at = all.at;
	p->rows = d;
	p->nrows = all.n;
}

static const struct declined_page *page_of(const struct page *p)
{
	return p->rows;
}

static const struct declined *declined_of(const struct page *p, int row)
{
	return page_of(p)->at + row;
}

static const char *title(const struct page *p, const struct ui *ui, int column)
{
	return column == COL_COST && p->rows && page_of(p)->measured ? "measured" : columns[column].title;
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct declined *d = declined_of(p, row);
	const struct declined_page *all = page_of(p);
	char buf[64], n[TEXT_NUMBER];

	switch (column) {
	case COL_NODE:
		if (d->row)
			str_addf(s, "%s%s", (p->setting & WAY) == BY_NOTHING ? "" : "  ", d->row->id);
		else
			str_add(s, d->group);
		break;
	case COL_OP:
		if (d->row)
			str_add(s, look_op(d->row->node->op, buf, sizeof buf));
		else
			str_addf(s, "%d node%s", d->n, d->n == 1 ? "" : "s");
		break;
	case COL_COST: str_add(s, all->measured ? text_ms(n, d->ms) : text_flops(n, d->flops)); break;
	case COL_SHARE: str_add(s, text_percent(n, all->whole > 0 ? d->work / all->whole : 0)); break;
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
	struct str s = { 0 };

	if (!d->row) {
		str_addf(&s, "%d node%s: %s. By %s, heaviest first %s.", d->n, d->n == 1 ? "" : "s", d->group,
			 by[p->setting & WAY], page_of(p)->measured ? "as measured; m takes the estimate" :
			 any_measured(ui_facts(ui)) ? "by shapes; m takes what was measured" : "by shapes; b measures");
		text_fold(t, 0, 0, str_text(&s));
		str_free(&s);
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

static void facet(const struct page *p, const struct ui *ui, int row, enum facet f, struct str *s)
{
	if (declined_of(p, row)->row)
		page_row_facet(declined_of(p, row)->row, f, s);
}

static bool heads(const struct page *p, int row)
{
	return !declined_of(p, row)->row;
}

static enum page_answer request(struct page *p, const struct ui *ui, int row, enum request r)
{
	if (r == REQ_GROUP_BY) {
		p->setting = (p->setting & ESTIMATED) | ((p->setting + 1) & WAY);
		return PAGE_REBUILD;
	}
	if (r == REQ_COST) {
		p->setting ^= ESTIMATED;
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
	.title = title, .facet = facet, .facets = FACETS_OF_NODES, .heads = heads,
	.hint = "Enter graph  t group  m measured or not  o fix all",
};
