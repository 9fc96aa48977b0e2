/* Graph: the method in program order, with lanes that show who reads whom; modules can be folded away. */
#include "views/page.h"

#include "core/op/op.h"
#include "views/lanes.h"
#include "views/report.h"

#include <string.h>

enum entry_kind { ENTRY_LEAF, ENTRY_NODE, ENTRY_MODULE };

struct entry {
	enum entry_kind kind;
	const char *id;			/* the node's, or "%name" of a leaf */
	const struct value *leaf;
	const struct node_row *row;	/* of a module: its first */
	int nrows;			/* of a module */
	int *reads, nreads;		/* entries, each once */
	int *users, nusers;
	const char *lane;
	int last;
};

struct entries { struct entry *at; int n, cap; };

/* Settings that outlive the rows: folded modules, and which link of which row is chosen. */
struct graph_state {
	struct { const char **at; int n, cap; } folded;
	bool hide_constants;
	int row, link;
};

enum { COL_AT, COL_GRAPH, COL_NODE, COL_OUTPUT, COL_RUNS, COL_FIX, COL_WHY };

static const struct column columns[] = {
	{ "node", 6, 0, true }, { "graph", 7, 1, false }, { "operator", 14, 3, false }, { "output", 16, 2, false },
	{ "runs on", 9, 0, false }, { "fix", 3, 0, false }, { "why not XNNPACK", 17, 4, false }, { 0 },
};

static struct graph_state *state_of(struct page *p)
{
	if (!p->state)
		p->state = arena_alloc(&p->keep, sizeof(struct graph_state));
	return p->state;
}

static const struct entry *entry_of(const struct page *p, int row)
{
	return (const struct entry *)p->rows + row;
}

/* Building. */

struct build {
	struct page *p;
	const struct ui *ui;
	struct graph_state *st;
	struct entries e;
	int *of_value;		/* entry that makes a value, -1: none yet */
	int *seen;		/* last entry that was noted to read an entry */
};

static int add_entry(struct build *b, struct entry e)
{
	vec_push(&b->p->mem, &b->e, e);
	return b->e.n - 1;
}

static void add_leaf(struct build *b, const struct value *v)
{
	if (b->of_value[v->id] >= 0 || v->kind == VALUE_NODE)
		return;
	if (v->kind == VALUE_CONSTANT && b->st->hide_constants)
		return;
	b->of_value[v->id] = add_entry(b, (struct entry){ .kind = ENTRY_LEAF, .leaf = v,
		.id = arena_printf(&b->p->mem, "%%%s", v->name) });
}

static void leaf_input(struct value *v, void *ctx)
{
	add_leaf(ctx, v);
}

static bool is_folded(const struct graph_state *st, const char *module)
{
	for (int i = 0; module && *module && i < st->folded.n; i++)
		if (!strcmp(st->folded.at[i], module))
			return true;
	return false;
}

static void add_node(struct build *b, const struct node_row *row)
{
	bool folded = is_folded(b->st, row->module);
	struct entry *last = b->e.n ? &b->e.at[b->e.n - 1] : NULL;
	int at;

	if (folded && last && last->kind == ENTRY_MODULE && !strcmp(last->row->module, row->module)) {
		last->nrows++;
		at = b->e.n - 1;
	} else {
		if (!folded)
			node_each_input(row->node, leaf_input, b);
		at = add_entry(b, (struct entry){ .kind = folded ? ENTRY_MODULE : ENTRY_NODE, .row = row, .nrows = 1,
						  .id = row->id });
	}
	for (int i = 0; i < row->node->nouts; i++)
		b->of_value[row->node->out[i]->id] = at;
}

struct links { struct build *b; int at; struct { int *at; int n, cap; } reads; };

static void note_read(struct value *v, void *ctx)
{
	struct links *l = ctx;
	int from = l->b->of_value[v->id];

	if (from < 0 || from == l->at || l->b->seen[from] == l->at)
		return;
	l->b->seen[from] = l->at;
	vec_push(&l->b->p->mem, &l->reads, from);
	l->b->e.at[from].nusers++;
	l->b->e.at[from].last = l->at;
}

static void link_entries(struct build *b)
{
	b->seen = arena_array(&b->p->mem, (size_t)b->e.n, sizeof *b->seen);
	for (int i = 0; i < b->e.n; i++) {
		b->seen[i] = -1;
		b->e.at[i].last = i;
	}
	for (int i = 0; i < b->e.n; i++) {
		struct entry *e = &b->e.at[i];
		struct links l = { .b = b, .at = i };

		for (int k = 0; e->row && k < e->nrows; k++)
			node_each_input(e->row[k].node, note_read, &l);
		e->reads = l.reads.at;
		e->nreads = l.reads.n;
	}
	for (int i = 0; i < b->e.n; i++) {
		b->e.at[i].users = arena_array(&b->p->mem, (size_t)b->e.at[i].nusers, sizeof(int));
		b->e.at[i].nusers = 0;
	}
	for (int i = 0; i < b->e.n; i++)
		for (int k = 0; k < b->e.at[i].nreads; k++) {
			struct entry *from = &b->e.at[b->e.at[i].reads[k]];

			from->users[from->nusers++] = i;
		}
}

static void draw_lanes(struct build *b)
{
	struct lane_row *row = arena_array(&b->p->mem, (size_t)b->e.n, sizeof *row);
	const char **lane;

	for (int i = 0; i < b->e.n; i++)
		row[i] = (struct lane_row){ b->e.at[i].reads, b->e.at[i].nreads, b->e.at[i].last,
					    b->e.at[i].kind == ENTRY_LEAF };
	lane = lanes_draw(row, b->e.n, b->ui->ascii, &b->p->mem);
	for (int i = 0; i < b->e.n; i++)
		b->e.at[i].lane = lane[i];
}

static void build(struct page *p, const struct ui *ui)
{
	const struct method_facts *f = ui_facts(ui);
	struct build b = { .p = p, .ui = ui, .st = state_of(p) };

	b.of_value = arena_array(&p->mem, (size_t)f->graph->nvalues, sizeof *b.of_value);
	for (int i = 0; i < f->graph->nvalues; i++)
		b.of_value[i] = -1;
	for (int i = 0; i < f->graph->ninputs; i++)
		add_leaf(&b, f->graph->input[i]);
	for (int i = 0; i < f->nrows; i++)
		add_node(&b, &f->row[i]);
	link_entries(&b);
	draw_lanes(&b);
	p->rows = b.e.at;
	p->nrows = b.e.n;
}

/* Showing. */

static const char *kind_of(const struct value *v)
{
	static const char *const names[] = { [VALUE_INPUT] = "input", [VALUE_CONSTANT] = "constant",
					     [VALUE_STATE] = "state" };

	return names[v->kind];
}

static void cell_leaf(const struct value *v, int column, struct str *s)
{
	if (column == COL_NODE)
		str_add(s, v->name);
	else if (column == COL_OUTPUT)
		value_type_print(v, s);
	else if (column == COL_RUNS)
		str_add(s, kind_of(v));
}

static void runs_on(const struct node_row *row, struct str *s)
{
	str_add(s, look_elided(row) ? "no cost" : look_runs(row));
	if (row->delegate >= 0)
		str_addf(s, " %d", row->delegate);
}

static const char *fix_key(const struct node_row *row)
{
	unsigned needs = look_declined(row) ? look_needs(row->fix) : 0;

	return needs & NEED_FOLD ? "f" : needs & NEED_LINEAR ? "l" : needs ? "p" : "";
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct entry *e = entry_of(p, row);
	const char *slash;

	if (column == COL_GRAPH) {
		str_add(s, e->lane);
		return;
	}
	if (e->kind == ENTRY_LEAF) {
		cell_leaf(e->leaf, column, s);
		return;
	}
	switch (column) {
	case COL_AT:
		slash = strchr(e->id, '/');
		str_add(s, slash ? slash + 1 : e->id);
		break;
	case COL_NODE:
		if (e->kind == ENTRY_MODULE)
			str_addf(s, "%s: %d nodes", e->row->module, e->nrows);
		else
			look_call(e->row->node, s);
		break;
	case COL_OUTPUT:
		if (e->row[e->nrows - 1].node->nouts)
			value_type_print(e->row[e->nrows - 1].node->out[0], s);
		break;
	case COL_RUNS: runs_on(e->row, s); break;
	case COL_FIX: str_add(s, fix_key(e->row)); break;
	case COL_WHY: str_add(s, look_elided(e->row) || !look_reason(e->row) ? "" : look_reason(e->row)); break;
	}
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	const struct entry *e = entry_of(p, row);

	if (e->kind == ENTRY_LEAF || look_elided(e->row))
		return STYLE_DIM;
	for (int i = 0; i < e->nrows; i++)
		if (look_declined(&e->row[i]))
			return STYLE_BAD;
	return e->row->runs == RUNS_XNNPACK ? STYLE_GOOD : STYLE_WARN;
}

static int link_of(const struct page *p, int row)
{
	const struct graph_state *st = p->state;
	const struct entry *e = entry_of(p, row);

	return st && st->row == row && st->link < e->nreads + e->nusers ? st->link : 0;
}

static void print_links(const struct page *p, int row, struct text *t)
{
	const struct entry *e = entry_of(p, row);
	struct str s = { 0 };
	int chosen = link_of(p, row);

	str_add(&s, e->nreads ? "reads" : "");
	for (int i = 0; i < e->nreads + e->nusers; i++) {
		const char *id = entry_of(p, i < e->nreads ? e->reads[i] : e->users[i - e->nreads])->id;

		if (i == e->nreads)
			str_addf(&s, "%sread by", e->nreads ? "; " : "");
		id += *id == '%';
		str_addf(&s, i == chosen ? " [%s]" : " %s", id);
	}
	text_fold(t, 0, 0, str_text(&s));
	str_free(&s);
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	const struct entry *e = entry_of(p, row);
	struct str s = { 0 };
	char n[TEXT_NUMBER];

	if (e->kind == ENTRY_LEAF) {
		value_type_print(e->leaf, &s);
		text_add(t, "%s, %s %s, %s\n", e->leaf->name, kind_of(e->leaf), str_text(&s),
			 text_bytes(n, e->leaf->bytes));
		print_links(p, row, t);
	} else if (e->kind == ENTRY_MODULE) {
		text_add(t, "Module %s, %d nodes; z shows them.\n", e->row->module, e->nrows);
		print_links(p, row, t);
	} else {
		look_call(e->row->node, &s);
		text_fold(t, 0, 2, str_text(&s));
		print_links(p, row, t);
		explain_node(t, ui->s, ui_version(ui), ui->method, e->row);
	}
	str_free(&s);
}

static const char *node(const struct page *p, const struct ui *ui, int row)
{
	return entry_of(p, row)->id;
}

/* Requests. */

static enum page_answer choose_link(struct page *p, int row, int dir)
{
	struct graph_state *st = state_of(p);
	int n = entry_of(p, row)->nreads + entry_of(p, row)->nusers, at = link_of(p, row);

	st->row = row;
	st->link = n ? (at + dir + n) % n : 0;
	return PAGE_DONE;
}

static enum page_answer follow(struct page *p, const struct ui *ui, int row)
{
	const struct entry *e = entry_of(p, row);
	int at = link_of(p, row);

	if (!(e->nreads + e->nusers))
		return PAGE_DONE;
	return page_go(p, ui->method, entry_of(p, at < e->nreads ? e->reads[at] : e->users[at - e->nreads])->id);
}

static enum page_answer jump_declined(struct page *p, int dir)
{
	for (int i = p->cursor + dir; i >= 0 && i < p->nshown; i += dir) {
		const struct entry *e = entry_of(p, p->shown[i]);

		for (int k = 0; e->row && k < e->nrows; k++)
			if (look_declined(&e->row[k])) {
				p->cursor = i;
				p->pane_top = 0;
				return PAGE_DONE;
			}
	}
	return PAGE_DONE;
}

static enum page_answer fold_module(struct page *p, int row)
{
	struct graph_state *st = state_of(p);
	const struct entry *e = entry_of(p, row);

	if (!e->row || !e->row->module || !*e->row->module)
		return PAGE_DONE;
	for (int i = 0; i < st->folded.n; i++)
		if (!strcmp(st->folded.at[i], e->row->module)) {
			st->folded.at[i] = st->folded.at[--st->folded.n];
			return PAGE_REBUILD;
		}
	vec_push(&p->keep, &st->folded, arena_string(&p->keep, e->row->module));
	return PAGE_REBUILD;
}

static void facet(const struct page *p, const struct ui *ui, int row, enum facet f, struct str *s)
{
	const struct entry *e = entry_of(p, row);

	for (int i = 0; e->row && i < e->nrows; i++)
		page_row_facet(&e->row[i], f, s);
}

static enum page_answer request(struct page *p, const struct ui *ui, int row, enum request r)
{
	if (row < 0)
		return PAGE_IGNORED;
	switch (r) {
	case REQ_LINK_NEXT: return choose_link(p, row, 1);
	case REQ_LINK_PREV: return choose_link(p, row, -1);
	case REQ_FOLLOW: return follow(p, ui, row);
	case REQ_NEXT_DECLINED: return jump_declined(p, 1);
	case REQ_PREV_DECLINED: return jump_declined(p, -1);
	case REQ_FOLD_MODULE: return fold_module(p, row);
	case REQ_CONSTANTS:
		state_of(p)->hide_constants = !state_of(p)->hide_constants;
		return PAGE_REBUILD;
	default: return PAGE_IGNORED;
	}
}

const struct page_ops page_graph = {
	.name = "Graph", .empty = "The method has no nodes.", .column = columns, .drawn = 1u << COL_GRAPH, .build = build, .cell = cell,
	.style = style,
	.pane = pane, .node = node, .request = request, .facet = facet, .facets = FACETS_OF_NODES,
	.hint = "Enter follow  ] [ declined  z module  c constants",
};
