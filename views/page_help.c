/* Help: the requests of the page it was opened on, then all of them, with their keys. */
#include "views/page.h"

#include <string.h>

/* A line is a request, or a heading. */
struct help { const struct request_row *request; const char *heading; };
struct helps { struct help *at; int n, cap; };

enum { COL_KEYS, COL_WHAT, COL_NAME };

static const struct column columns[] = {
	{ "keys", 14, 0, false }, { "what they do", 47, 1, false }, { "name", 15, 0, false }, { 0 },
};

static void build(struct page *p, const struct ui *ui)
{
	const char *page = page_table[ui->help_of]->name;
	struct helps l = { 0 };

	for (int i = 0; i < request_rows; i++) {
		if (!request_table[i].name || !request_is_for(&request_table[i], page))
			continue;
		if (!l.n)
			vec_push(&p->mem, &l, ((struct help){ .heading = arena_printf(&p->mem, "On %s", page) }));
		vec_push(&p->mem, &l, ((struct help){ .request = &request_table[i] }));
	}
	for (int i = 0; i < request_rows; i++)
		vec_push(&p->mem, &l, (request_table[i].name ? (struct help){ .request = &request_table[i] } :
				       (struct help){ .heading = request_table[i].help }));
	p->rows = l.at;
	p->nrows = l.n;
}

static const struct help *help_of(const struct page *p, int row)
{
	return (const struct help *)p->rows + row;
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct help *h = help_of(p, row);
	char name[REQUEST_NAME_BYTES];

	if (h->heading) {
		str_add(s, column == COL_KEYS ? h->heading : "");
	} else if (column == COL_KEYS) {
		str_add(s, ui->keys ? ui->keys->keys[h->request->request] : h->request->keys);
	} else if (column == COL_WHAT) {
		request_help(h->request, s);
	} else {
		request_name(h->request, name);
		str_add(s, name);
	}
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	return help_of(p, row)->heading ? STYLE_TITLE : STYLE_PLAIN;
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	text_fold(t, 0, 0, "Nodes that XNNPACK does not run are slow. Overview names the worst and what fixes it: mostly a fold (f), "
		"a linear conversion (l) or another partition (p); o does all three. b times before and after. w writes the "
		"program. u takes a step back. In key names ^ is Ctrl; the names are for the configuration, see the manual.");
}

const struct page_ops page_help = {
	.name = "Help", .empty = "", .column = columns, .build = build, .cell = cell, .style = style, .pane = pane,
	.hint = "backspace or 1-8 leaves the help",
};
