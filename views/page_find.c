/* Finding in a page: the text of its rows, the lines that match, and where in a line. */
#include "views/page.h"

#include <string.h>

static void fill_text(struct page *p, const struct ui *ui)
{
	struct str raw = { 0 }, s = { 0 };

	p->text = arena_array(&p->mem, (size_t)p->nrows, sizeof *p->text);
	for (int row = 0; row < p->nrows; row++) {
		str_clear(&s);
		for (int c = 0; p->ops->column[c].title; c++) {
			if ((p->ops->drawn | p->hidden) >> c & 1)
				continue;
			str_clear(&raw);
			p->ops->cell(p, ui, row, c, &raw);
			str_add(&s, s.n ? "\n" : "");
			text_clean(&s, str_text(&raw), false);
		}
		p->text[row] = arena_copy(&p->mem, str_text(&s), s.n + 1);
	}
	str_free(&raw);
	str_free(&s);
}

const char *page_text(struct page *p, const struct ui *ui, int row)
{
	if (!p->text)
		fill_text(p, ui);
	return p->text[row];
}

void page_stale(struct page *p)
{
	p->text = NULL;
	p->match_serial = -1;
}

static void find_matches(struct page *p, const struct ui *ui, const struct find *f)
{
	size_t from, to;

	if (p->match_serial == f->serial)
		return;
	p->match_serial = f->serial;
	if (!p->match)
		p->match = arena_array(&p->mem, (size_t)p->nrows, sizeof *p->match);
	p->nmatches = 0;
	for (int i = 0; i < p->nshown; i++)
		if (find_in(f, page_text(p, ui, p->shown[i]), true, &from, &to))
			p->match[p->nmatches++] = i;
}

struct found page_search(struct page *p, const struct ui *ui, const struct find *f, int from, int dir)
{
	struct found found = { 0 };
	int low = 0, high;

	if (!f->set)
		return found;
	find_matches(p, ui, f);
	found.of = high = p->nmatches;
	if (!found.of)
		return found;
	while (low < high) {	/* the first match behind `from`, or at it when going back */
		int middle = (low + high) / 2;

		if (p->match[middle] > from - (dir < 0))
			high = middle;
		else
			low = middle + 1;
	}
	low -= dir < 0;
	found.round = low < 0 || low >= found.of;
	found.n = (low + found.of) % found.of + 1;
	page_to_line(p, p->match[found.n - 1]);
	return found;
}

/* Columns of the first N bytes. */
static int columns_of(const char *s, size_t n)
{
	struct str part = { 0 };
	int columns;

	str_addn(&part, s, n);
	columns = text_columns(str_text(&part));
	str_free(&part);
	return columns;
}

static void mark_cell(const char *cell, const struct find *f, int x, int width, bool right, struct page_marks *m)
{
	int all = text_columns(cell), shift = right && all < width ? width - all : 0;
	size_t at = 0, from, to;

	while (m->n < PAGE_MARKS && find_in(f, cell + at, at == 0, &from, &to)) {
		int begin = shift + columns_of(cell, at + from), end = shift + columns_of(cell, at + to);

		if (begin < width && end > begin)
			m->at[m->n++] = (struct page_mark){ x + begin, x + (end < width ? end : width) };
		at += to > from ? to : from + 1;
		if (!cell[at - 1] || !cell[at])
			break;
	}
}

void page_marks(const struct page *p, const struct ui *ui, int row, const int *width, struct page_marks *m)
{
	struct str raw = { 0 }, cell = { 0 };
	int x = 0;

	m->n = 0;
	for (int c = 0; ui->find && ui->find->set && p->ops->column[c].title; x += width[c++] + 1) {
		if (width[c] < 0 || p->ops->drawn >> c & 1)
			continue;
		str_clear(&raw);
		str_clear(&cell);
		p->ops->cell(p, ui, row, c, &raw);
		text_clean(&cell, str_text(&raw), false);
		mark_cell(str_text(&cell), ui->find, x, width[c], p->ops->column[c].right, m);
	}
	str_free(&raw);
	str_free(&cell);
}
