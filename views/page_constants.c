/* Constants: what is stored, largest first, with its users, and what is stored more than once. */
#include "views/page.h"

#include "core/op/op.h"

#include <math.h>

enum { COL_BYTES, COL_SHARE, COL_BAR, COL_DTYPE, COL_SHAPE, COL_USERS, COL_METHODS, COL_COPIES, COL_FILE, COL_NAME };

static const struct column columns[] = {
	{ "bytes", 8, 0, true }, { "share", 6, 0, true }, { "", 4, 1, false }, { "dtype", 5, 0, false },
	{ "shape", 12, 1, false }, { "users", 5, 0, true }, { "methods", 7, 0, true }, { "copies", 6, 0, true },
	{ "file", 7, 1, false }, { "name", 10, 3, false }, { 0 },
};

static void build(struct page *p, const struct ui *ui)
{
	double *all = arena_alloc(&p->mem, sizeof *all);	/* bytes of all of them */

	p->nrows = ui_version(ui)->nconstants;
	for (int i = 0; i < p->nrows; i++)
		*all += (double)ui_version(ui)->constant[i].value->bytes;
	p->rows = all;
}

static const struct constant_row *constant_of(const struct ui *ui, int row)
{
	return &ui_version(ui)->constant[row];
}

static double share(const struct page *p, const struct ui *ui, int row)
{
	double all = *(const double *)p->rows;

	return all > 0 ? (double)constant_of(ui, row)->value->bytes / all : 0;
}

static void print_shape(const struct value *v, struct str *s)
{
	str_add(s, "[");
	for (int d = 0; d < v->rank; d++)
		str_addf(s, "%s%lld", d ? "," : "", (long long)v->size[d]);
	str_add(s, "]");
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct constant_row *c = constant_of(ui, row);
	const char *file = look_file(ui->s, c->value->home);
	char n[TEXT_NUMBER];

	switch (column) {
	case COL_BYTES: str_add(s, text_bytes(n, c->value->bytes)); break;
	case COL_SHARE: str_add(s, text_percent(n, share(p, ui, row))); break;
	case COL_BAR: ui_bar(ui, share(p, ui, row), 4, s); break;
	case COL_DTYPE: str_add(s, dtype_name(c->value->dtype)); break;
	case COL_SHAPE: print_shape(c->value, s); break;
	case COL_USERS: str_addf(s, "%d", c->users); break;
	case COL_METHODS: str_addf(s, "%d", c->methods); break;
	case COL_COPIES:
		if (c->copies > 1)
			str_addf(s, "%d", c->copies);
		break;
	case COL_FILE: str_add(s, file ? file : "program"); break;
	case COL_NAME: str_add(s, c->value->name); break;
	}
}

static double key(const struct page *p, const struct ui *ui, int row, int column)
{
	const struct constant_row *c = constant_of(ui, row);

	switch (column) {
	case COL_BYTES: case COL_SHARE: case COL_BAR: return -(double)c->value->bytes;
	case COL_USERS: return -c->users;
	case COL_METHODS: return -c->methods;
	case COL_COPIES: return -c->copies;
	default: return NAN;
	}
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	return constant_of(ui, row)->copies > 1 ? STYLE_WARN : STYLE_PLAIN;
}

/* "stored 3 times: as a, b, c" */
static void print_copies(const struct page *p, const struct ui *ui, const struct constant_row *c, struct text *t)
{
	enum { MOST = 8 };
	struct str s = { 0 };
	int n = 0;

	str_addf(&s, "stored %d times: as", c->copies);
	for (int i = 0; i < p->nrows && n < MOST; i++)
		if (constant_of(ui, i)->same == c->same)
			str_addf(&s, "%s %s", n++ ? "," : "", constant_of(ui, i)->value->name);
	str_add(&s, c->copies > n ? ", ..." : "");
	str_add(&s, ui->s->current ? "" : ". p writes the bytes of one file once");
	text_fold(t, 0, 2, str_text(&s));
	str_free(&s);
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	enum { MOST = 100 };
	const struct constant_row *c = constant_of(ui, row);
	struct str s = { 0 };
	char id[512], n[TEXT_NUMBER];
	int readers = 0;

	str_addf(&s, "%s ", c->value->name);
	value_type_print(c->value, &s);
	str_addf(&s, ", %s bytes", text_exact(n, c->value->bytes));
	if (c->value->folded)
		str_addf(&s, ", made by a fold as %s", c->value->folded);
	if (!c->value->data)
		str_add(&s, "; its data file was not given");
	text_fold(t, 0, 0, str_text(&s));
	if (c->copies > 1)
		print_copies(p, ui, c, t);
	str_clear(&s);
	str_add(&s, "read by");
	for (const struct constant_holder *h = c->holder; h; h = h->next)
		for (int i = 0; i < h->value->nuses && readers < MOST; i++)
			str_addf(&s, "%s %s", readers++ ? "," : "", node_id(h->graph, h->value->use[i].node, id, sizeof id));
	str_add(&s, readers == MOST ? ", ..." : readers ? "" : " nobody: it is an output");
	text_fold(t, 0, 2, str_text(&s));
	str_free(&s);
}

static void facet(const struct page *p, const struct ui *ui, int row, enum facet f, struct str *s)
{
	const struct constant_row *c = constant_of(ui, row);

	for (int i = 0; i < c->value->nuses; i++)
		str_addf(s, "%s\n", c->value->use[i].node->op->name);
}

const struct page_ops page_constants = {
	.name = "Constants", .empty = "The program stores no constants.", .column = columns, .drawn = 1u << COL_BAR, .named = { [COL_BAR] = "bar" },
	.build = build, .cell = cell, .key = key, .style = style, .pane = pane, .facet = facet, .facets = 1u << FACET_OP,
	.hint = "s sort  S the other way",
};
