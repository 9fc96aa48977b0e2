/* Fold: every weight or bias that is computed, whether it folds, and what that erases and adds. */
#include "views/page.h"

#include "core/op/op.h"

#include <math.h>

enum { COL_MARK, COL_AT, COL_OP, COL_VERDICT, COL_NODES, COL_ERASED, COL_ADDED, COL_WHY };

static const struct column columns[] = {
	{ "", 3, 0, false }, { "at", 14, 1, false }, { "what", 16, 1, false }, { "verdict", 7, 0, false },
	{ "nodes", 5, 0, true },
	{ "erases", 9, 0, true }, { "adds", 9, 0, true }, { "why it stays", 8, 4, false }, { 0 },
};

/* Rows are numbers of folds in the plan. */
static void build(struct page *p, const struct ui *ui)
{
	const struct fold_plan *plan = &ui_version(ui)->fold;
	int *row = arena_array(&p->mem, (size_t)plan->nfolds, sizeof *row);

	for (int i = 0; i < plan->nfolds; i++)
		if (plan->fold[i].method == ui->method)
			row[p->nrows++] = i;
	p->rows = row;
}

static int candidate(const struct page *p, const struct ui *ui, int row)
{
	return ((const int *)p->rows)[row];
}

static const struct fold *fold_of(const struct page *p, const struct ui *ui, int row)
{
	return &ui_version(ui)->fold.fold[candidate(p, ui, row)];
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct fold *f = fold_of(p, ui, row);
	char buf[512], n[TEXT_NUMBER];

	switch (column) {
	case COL_MARK: str_add(s, !f->folds ? "" : f->marked ? "[x]" : "[ ]"); break;
	case COL_AT: str_add(s, node_id(ui_version(ui)->method[f->method], f->at, buf, sizeof buf)); break;
	case COL_OP: str_addf(s, "%s of %s", f->position, look_op(f->at->op, buf, 64)); break;
	case COL_VERDICT: str_add(s, f->folds ? "folds" : "stays"); break;
	case COL_NODES: str_addf(s, "%d", f->nnodes); break;
	case COL_ERASED: str_add(s, text_bytes(n, f->bytes_erased)); break;
	case COL_ADDED: str_add(s, text_bytes(n, f->bytes_added)); break;
	case COL_WHY: str_add(s, f->folds ? "" : f->text ? f->text : f->code); break;
	}
}

static double key(const struct page *p, const struct ui *ui, int row, int column)
{
	const struct fold *f = fold_of(p, ui, row);

	return column == COL_NODES ? -f->nnodes : column == COL_ERASED ? -(double)f->bytes_erased :
		column == COL_ADDED ? -(double)f->bytes_added : NAN;
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	return fold_of(p, ui, row)->folds ? STYLE_GOOD : STYLE_WARN;
}

/* "conv.weight_v f32[8,4]" and so on, on the left; what is in its place, on the right. */
static void before_after(const struct ui *ui, const struct fold *f, struct text *t)
{
	const struct graph *g = ui_version(ui)->method[f->method];
	int lines = f->nsources + (f->nnodes > 4 ? 5 : f->nnodes) + 1;
	struct str left = { 0 }, right = { 0 };
	char id[512], n[TEXT_NUMBER];

	for (int i = 0; i < lines; i++) {
		int k = i - f->nsources;

		str_clear(&left);
		str_clear(&right);
		if (k < 0) {
			str_addf(&left, "%s ", f->source[i]->name);
			value_type_print(f->source[i], &left);
		} else if (k < f->nnodes && (k < 4 || f->nnodes == 4)) {
			str_addf(&left, "%s ", node_id(g, f->node[k], id, sizeof id));
			look_call(f->node[k], &left);
		} else if (i + 1 < lines) {
			str_addf(&left, "and %d more nodes", f->nnodes - 4);
		} else {
			str_addf(&left, "%s bytes", text_exact(n, f->bytes_erased));
			str_addf(&right, "%s bytes", text_exact(n, f->bytes_added));
		}
		if (!i && f->value) {
			str_add(&right, "one constant ");
			value_type_print(f->value, &right);
		}
		ui_beside(ui, str_text(&left), str_text(&right), t);
	}
	str_free(&left);
	str_free(&right);
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	const struct fold *f = fold_of(p, ui, row);
	struct str s = { 0 };
	char op[64];

	look_op(f->at->op, op, sizeof op);
	if (f->folds) {
		str_addf(&s, "The %s of %s is computed by %d node%s from constants alone. Folded, it is one constant. "
			 "f folds all that are marked, space marks.", f->position, op, f->nnodes,
			 f->nnodes == 1 ? "" : "s");
		text_fold(t, 0, 0, str_text(&s));
	} else {
		str_addf(&s, "The %s of %s stays computed (%s): %s.", f->position, op, f->code ? f->code : "",
			 f->text ? f->text : "");
		text_fold(t, 0, 0, str_text(&s));
	}
	before_after(ui, f, t);
	str_free(&s);
}

/* The row of the GEMM has the same id as the node itself. */
static const char *node(const struct page *p, const struct ui *ui, int row)
{
	const struct node_row *at = look_row(ui_facts(ui), fold_of(p, ui, row)->at);

	return at ? at->id : NULL;
}

static void facet(const struct page *p, const struct ui *ui, int row, enum facet f, struct str *s)
{
	const struct fold *c = fold_of(p, ui, row);
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

const struct page_ops page_fold = {
	.name = "Fold", .empty = "No weight or bias of this method is computed from anything: there is nothing to fold.",
	.column = columns, .named = { [COL_MARK] = "mark" }, .build = build, .cell = cell, .key = key, .style = style, .pane = pane, .node = node,
	.request = request,
	.candidate = candidate, .facet = facet, .facets = FACETS_OF_NODES,
	 .hint = "space mark  a apply marked  u undo  Enter show in the graph",
};
