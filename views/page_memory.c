/* Memory: what is alive after each node, as a skyline; the peak is marked. Counted from the lives of the values
 * here, before any planning, so that views of the same bytes are not counted twice. */
#include "views/page.h"

#include "core/op/op.h"

#include <math.h>
#include <stdlib.h>

struct moment { const struct node_row *row; uint64_t alive; };
struct memory { struct moment *at; uint64_t peak; int *last; };	/* last: by value id, the row that reads it last */

enum { COL_NODE, COL_OP, COL_ALIVE, COL_PEAK, COL_SKYLINE };

static const struct column columns[] = {
	{ "node", 15, 1, false }, { "operator", 14, 1, false }, { "alive", 9, 0, true }, { "", 4, 0, false },
	{ "skyline", 32, 3, false }, { 0 },
};

struct reads { int *last, row; };

static void note(struct value *v, void *ctx)
{
	struct reads *r = ctx;

	if (r->last[v->id] < r->row)
		r->last[v->id] = r->row;
}

/* Bytes of its own: a result that is neither an elided view nor an output of the method. */
static bool counts(const struct value *v)
{
	return v->kind == VALUE_NODE && v->def->origin.kind != ORIGIN_VIEW;
}

static void build(struct page *p, const struct ui *ui)
{
	const struct method_facts *f = ui_facts(ui);
	struct memory *m = arena_alloc(&p->mem, sizeof *m);
	int64_t *change = arena_array(&p->mem, (size_t)f->nrows + 2, sizeof *change);
	int64_t alive = 0;

	m->at = arena_array(&p->mem, (size_t)f->nrows, sizeof *m->at);
	m->last = arena_array(&p->mem, (size_t)f->graph->nvalues, sizeof *m->last);
	for (int i = 0; i < f->nrows; i++) {
		for (int k = 0; k < f->row[i].node->nouts; k++)
			m->last[f->row[i].node->out[k]->id] = f->row[i].node->out[k]->noutputs ? f->nrows - 1 : i;
		node_each_input(f->row[i].node, note, &(struct reads){ m->last, i });
	}
	for (int i = f->nrows - 1; i >= 0; i--)	/* a view keeps what it looks at alive */
		if (look_elided(&f->row[i]) && f->row[i].node->nouts && node_input(f->row[i].node, 0)) {
			int *base = &m->last[node_input(f->row[i].node, 0)->id],
				view = m->last[f->row[i].node->out[0]->id];

			*base = *base > view ? *base : view;
		}
	for (int i = 0; i < f->nrows; i++)
		for (int k = 0; k < f->row[i].node->nouts; k++) {
			const struct value *v = f->row[i].node->out[k];

			if (counts(v)) {
				change[i] += (int64_t)v->bytes;
				change[(m->last[v->id] > i ? m->last[v->id] : i) + 1] -= (int64_t)v->bytes;
			}
		}
	for (int i = 0; i < f->nrows; i++) {
		alive += change[i];
		m->at[i] = (struct moment){ &f->row[i], (uint64_t)alive };
		if (m->at[i].alive > m->peak)
			m->peak = m->at[i].alive;
	}
	p->rows = m;
	p->nrows = f->nrows;
}

static const struct moment *moment_of(const struct page *p, int row)
{
	return &((const struct memory *)p->rows)->at[row];
}

static uint64_t peak_of(const struct page *p)
{
	return ((const struct memory *)p->rows)->peak;
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct moment *m = moment_of(p, row);
	char op[64], n[TEXT_NUMBER];

	switch (column) {
	case COL_NODE: str_add(s, m->row->id); break;
	case COL_OP: str_add(s, look_op(m->row->node->op, op, sizeof op)); break;
	case COL_ALIVE: str_add(s, text_bytes(n, m->alive)); break;
	case COL_PEAK: str_add(s, m->alive && m->alive == peak_of(p) ? "peak" : ""); break;
	case COL_SKYLINE:
		if (peak_of(p))
			ui_bar(ui, (double)m->alive / (double)peak_of(p), 32, s);
		break;
	}
}

static double key(const struct page *p, const struct ui *ui, int row, int column)
{
	return column == COL_ALIVE || column == COL_SKYLINE ? -(double)moment_of(p, row)->alive : NAN;
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	return moment_of(p, row)->alive && moment_of(p, row)->alive == peak_of(p) ? STYLE_WARN : STYLE_PLAIN;
}

static int larger(const void *a, const void *b)
{
	const struct value *x = *(const struct value *const *)a, *y = *(const struct value *const *)b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : x->id - y->id;
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	const struct method_facts *f = ui_facts(ui);
	const struct memory *m = p->rows;
	const struct value **alive;
	struct arena mem = { 0 };
	struct str s = { 0 };
	char id[512], a[TEXT_NUMBER], b[TEXT_NUMBER];
	int n = 0;

	alive = arena_array(&mem, (size_t)f->graph->nvalues, sizeof *alive);
	for (int i = 0; i <= row; i++)
		for (int k = 0; k < f->row[i].node->nouts; k++)
			if (counts(f->row[i].node->out[k]) && (i == row || m->last[f->row[i].node->out[k]->id] >= row))
				alive[n++] = f->row[i].node->out[k];
	if (n)
		qsort(alive, (size_t)n, sizeof *alive, larger);
	text_add(t, "%s alive after this node, %s planned in the file. The largest:\n", text_bytes(a, m->at[row].alive),
		 text_bytes(b, f->planned_bytes));
	for (int i = 0; i < n && i < 4; i++) {
		str_clear(&s);
		value_type_print(alive[i], &s);
		text_add(t, "%9s  %s of %s\n", text_bytes(a, alive[i]->bytes), str_text(&s),
			 node_id(f->graph, alive[i]->def, id, sizeof id));
	}
	str_free(&s);
	arena_free(&mem);
}

static const char *node(const struct page *p, const struct ui *ui, int row)
{
	return moment_of(p, row)->row->id;
}

const struct page_ops page_memory = {
	.name = "Memory", .empty = "The method has no nodes.", .column = columns, .build = build, .cell = cell,
	.key = key,
	.style = style, .pane = pane, .node = node, .hint = "s sort",
};
