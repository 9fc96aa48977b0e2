/* Text: what a line of commands printed, a report, a table, a node explained; a row a line. */
#include "views/page.h"

#include <string.h>

static const struct column columns[] = { { "", 78, 1, false }, { 0 } };

static void build(struct page *p, const struct ui *ui)
{
	vec(const char *) line = { 0 };

	for (const char *at = ui->text ? ui->text : ""; *at; at += *at == '\n') {
		size_t n = strcspn(at, "\n");

		vec_push(&p->mem, &line, arena_printf(&p->mem, "%.*s", (int)n, at));
		at += n;
	}
	p->rows = line.at;
	p->nrows = line.n;
}

static const char *line_of(const struct page *p, int row)
{
	return ((const char *const *)p->rows)[row];
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	str_add(s, line_of(p, row));
}

/* All of a line that the screen may cut. */
static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	text_fold(t, 0, 0, line_of(p, row));
}

static void export(const struct page *p, const struct ui *ui, struct text *t)
{
	for (int i = 0; i < p->nshown; i++)
		text_add(t, "%s\n", line_of(p, p->shown[i]));
}

const struct page_ops page_lines = {
	.name = "Text", .empty = "Nothing was printed yet: : takes the options of the command line.", .column = columns,
	.build = build, .cell = cell, .pane = pane, .export = export, .hint = "backspace back  e write to a file",
};
