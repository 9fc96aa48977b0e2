/* Constants: what is stored, largest first, with its users. */
#include "views/page.h"

#include <math.h>

enum { COL_BYTES, COL_SHARE, COL_BAR, COL_TYPE, COL_USERS, COL_METHODS, COL_FILE, COL_NAME };

static const struct column columns[] = {
	{ "bytes", 9, 0, true }, { "share", 6, 0, true }, { "", 8, 0, false }, { "type", 18, 1, false },
	{ "users", 5, 0, true },
	{ "methods", 7, 0, true }, { "file", 8, 1, false }, { "name", 10, 3, false }, { 0 },
};

static void build(struct page *p, const struct ui *ui)
{
	p->rows = look_constants(ui->s, ui_version(ui), &p->mem, &p->nrows);
}

static const struct constant_row *constant_of(const struct page *p, int row)
{
	return (const struct constant_row *)p->rows + row;
}

static double share(const struct page *p, int row)
{
	double all = 0;

	for (int i = 0; i < p->nrows; i++)
		all += (double)constant_of(p, i)->value->bytes;
	return all > 0 ? (double)constant_of(p, row)->value->bytes / all : 0;
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct constant_row *c = constant_of(p, row);
	char n[TEXT_NUMBER];

	switch (column) {
	case COL_BYTES: str_add(s, text_bytes(n, c->value->bytes)); break;
	case COL_SHARE: str_add(s, text_percent(n, share(p, row))); break;
	case COL_BAR: ui_bar(ui, share(p, row), 8, s); break;
	case COL_TYPE: value_type_print(c->value, s); break;
	case COL_USERS: str_addf(s, "%d", c->users); break;
	case COL_METHODS: str_addf(s, "%d", c->methods); break;
	case COL_FILE: str_add(s, c->file ? c->file : "program"); break;
	case COL_NAME: str_add(s, c->value->name); break;
	}
}

static double key(const struct page *p, const struct ui *ui, int row, int column)
{
	const struct constant_row *c = constant_of(p, row);

	return column <= COL_BAR ? -(double)c->value->bytes : column == COL_USERS ? -c->users :
		column == COL_METHODS ? -c->methods : NAN;
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	const struct constant_row *c = constant_of(p, row);
	struct str s = { 0 };
	char id[512], n[TEXT_NUMBER];

	str_addf(&s, "%s, %s bytes", c->value->name, text_exact(n, c->value->bytes));
	if (c->value->folded)
		str_addf(&s, ", made by a fold as %s", c->value->folded);
	if (!c->value->data)
		str_add(&s, "; its data file was not given");
	text_fold(t, 0, 0, str_text(&s));
	str_clear(&s);
	str_addf(&s, "read in %s by", c->graph->method);
	for (int i = 0; i < c->value->nuses; i++)
		str_addf(&s, "%s %s", i ? "," : "", node_id(c->graph, c->value->use[i].node, id, sizeof id));
	text_fold(t, 0, 2, str_text(&s));
	str_free(&s);
}

const struct page_ops page_constants = {
	.name = "Constants", .empty = "The program stores no constants.", .column = columns, .drawn = 1u << COL_BAR, .build = build,
	.cell = cell, .key = key,
	.pane = pane, .hint = "s sort  S the other way",
};
