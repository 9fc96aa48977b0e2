/* Linear: matrix products that could be linear again, and why the others cannot. */
#include "views/page.h"

#include "core/op/op.h"


enum { COL_MARK, COL_AT, COL_OP, COL_OUTPUT, COL_VERDICT, COL_WHY };

static const struct column columns[] = {
	{ "", 3, 0, false }, { "at", 14, 1, false }, { "product", 7, 0, false }, { "output", 18, 1, false },
	{ "verdict", 8, 0, false }, { "why it stays", 23, 4, false }, { 0 },
};

static void build(struct page *p, const struct ui *ui)
{
	const struct linear_plan *plan = &ui_version(ui)->linear;
	int *row = arena_array(&p->mem, (size_t)plan->nlinears, sizeof *row);

	for (int i = 0; i < plan->nlinears; i++)
		if (plan->linear[i].method == ui->method)
			row[p->nrows++] = i;
	p->rows = row;
}

static int candidate(const struct page *p, const struct ui *ui, int row)
{
	return ((const int *)p->rows)[row];
}

static const struct linear *linear_of(const struct page *p, const struct ui *ui, int row)
{
	return &ui_version(ui)->linear.linear[candidate(p, ui, row)];
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct linear *l = linear_of(p, ui, row);
	char id[512];

	switch (column) {
	case COL_MARK: str_add(s, !l->converts ? "" : l->marked ? "[x]" : "[ ]"); break;
	case COL_AT: str_add(s, node_id(ui_version(ui)->method[l->method], l->at, id, sizeof id)); break;
	case COL_OP: str_add(s, l->op); break;
	case COL_OUTPUT:
		if (l->at->nouts)
			value_type_print(l->at->out[0], s);
		break;
	case COL_VERDICT: str_add(s, l->converts ? "converts" : "stays"); break;
	case COL_WHY: str_add(s, l->converts ? "" : l->text ? l->text : l->code); break;
	}
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	return linear_of(p, ui, row)->converts ? STYLE_GOOD : STYLE_WARN;
}

/* From the weight on to the product, and the add behind it. */
enum { PATH = 16 };

static int path_of(const struct linear *l, const struct node **at)
{
	const struct node *back[PATH];
	const struct value *v = node_input(l->at, op_weight_arg(l->at->op));
	int n = 0, count = 0;

	for (; v && v != l->weight && v->def && n < PATH - 2; v = node_input(v->def, 0))
		back[n++] = v->def;
	while (n)
		at[count++] = back[--n];
	at[count++] = l->at;
	if (l->add)
		at[count++] = l->add;
	return count;
}

/* Something beside the product reads what it makes: it is needed still. */
static bool stays(const struct linear *l, const struct node *n)
{
	return n != l->at && n != l->add && (n->out[0]->nuses > 1 || n->out[0]->noutputs);
}

static void print_linear(const struct linear *l, struct str *s)
{
	const struct value *x = node_input(l->at, op_activation_arg(l->at->op));

	str_addf(s, "linear(%s, %s", x && !x->def ? x->name : "..", l->weight->def ? ".." : l->weight->name);
	if (l->bias)
		str_addf(s, ", %s", l->bias->def ? ".." : l->bias->name);
	str_add(s, ") ");
	value_type_print((l->add ? l->add : l->at)->out[0], s);
}

static void before_after(const struct ui *ui, const struct linear *l, struct text *t)
{
	const struct graph *g = ui_version(ui)->method[l->method];
	const struct node *path[PATH];
	int n = path_of(l, path), goes = 0, kept = n;
	struct str left = { 0 }, right = { 0 };
	char id[512];

	while (kept && !stays(l, path[kept - 1]))	/* what one that stays reads, stays */
		kept--;
	str_addf(&left, "%s ", l->weight->def ? node_id(g, l->weight->def, id, sizeof id) : l->weight->name);
	value_type_print(l->weight, &left);
	ui_beside(ui, str_text(&left), str_text(&left), t);
	for (int i = 0; i < n; i++) {
		str_clear(&left);
		str_clear(&right);
		str_addf(&left, "%s ", node_id(g, path[i], id, sizeof id));
		look_call(path[i], &left);
		goes += i >= kept;
		if (i < kept)
			str_add(&right, "stays: others read it");
		else if (i == n - 1)
			print_linear(l, &right);
		ui_beside(ui, str_text(&left), str_text(&right), t);
	}
	str_clear(&left);
	str_addf(&left, "%d node%s", goes, goes == 1 ? "" : "s");
	ui_beside(ui, str_text(&left), "1 node", t);
	str_free(&left);
	str_free(&right);
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	const struct linear *l = linear_of(p, ui, row);
	const struct graph *g = ui_version(ui)->method[l->method];
	struct str s = { 0 };

	if (l->converts)
		str_addf(&s, "This %s reads its weight through one transpose: it is a linear. l makes all that are marked linear, "
			 "space marks.", l->op);
	else
		str_addf(&s, "This %s stays (%s): %s.", l->op, l->code ? l->code : "", l->text ? l->text : "");
	text_fold(t, 0, 0, str_text(&s));
	if (l->converts)
		before_after(ui, l, t);
	for (int i = 0; i < l->at->nargs && i < 3 && !l->converts; i++) {
		str_clear(&s);
		str_addf(&s, "argument %d: ", i);
		look_arg(g, &l->at->arg[i], &s);
		text_fold(t, 0, 2, str_text(&s));
	}
	str_free(&s);
}

static const char *node(const struct page *p, const struct ui *ui, int row)
{
	const struct node_row *at = look_row(ui_facts(ui), linear_of(p, ui, row)->at);

	return at ? at->id : NULL;
}

static void facet(const struct page *p, const struct ui *ui, int row, enum facet f, struct str *s)
{
	const struct linear *c = linear_of(p, ui, row);
	const struct node_row *at = look_row(ui_facts(ui), c->at);

	if (f == FACET_REASON)
		str_addf(s, "%s\n%s", c->code ? c->code : "", c->text ? c->text : "");
	else if (at)
		page_row_facet(at, f, s);
}

static enum page_answer request(struct page *p, const struct ui *ui, int row, enum request r)
{
	if (r != REQ_FOLLOW || row < 0)
		return PAGE_IGNORED;
	return page_go(p, ui->method, node(p, ui, row));
}

const struct page_ops page_linear = {
	.name = "Linear", .empty = "The method has no matrix products outside linear operators.", .column = columns, .named = { [COL_MARK] = "mark" },
	.build = build,
	.cell = cell, .style = style, .pane = pane, .node = node, .request = request, .candidate = candidate, .facet = facet, .facets = FACETS_OF_NODES,
	
	.hint = "space mark  a apply marked  u undo  Enter show in the graph",
};
