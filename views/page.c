#include "views/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

const struct page_ops *const page_table[PAGES] = {
	&page_overview, &page_graph, &page_declined, &page_fold, &page_linear, &page_bench, &page_memory,
	&page_constants,
	&page_help, &page_lines,
};

const struct version *ui_version(const struct ui *ui)
{
	return &ui->s->version[ui->s->current];
}

const struct method_facts *ui_facts(const struct ui *ui)
{
	return &ui_version(ui)->facts[ui->method];
}

/* A bar of WIDTH columns, in eighths of a column where the terminal has them. */
void ui_bar(const struct ui *ui, double part, int width, struct str *s)
{
	static const char *const eighth[] = { "", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a",
					      "\u2589" };
	int eighths = (int)lround(fmin(fmax(part, 0), 1) * width * 8);

	if (part > 0 && !eighths)
		eighths = 1;
	if (ui->ascii)
		eighths = (eighths + 4) / 8 * 8;
	for (int i = 0; i < eighths / 8; i++)
		str_add(s, ui->ascii ? "#" : "\u2588");
	str_add(s, eighth[eighths % 8]);
}

static void trim(struct str *s)
{
	while (s->n && s->text[s->n - 1] == ' ')
		s->text[--s->n] = '\0';
}

void ui_beside(const struct ui *ui, const char *before, const char *after, struct text *t)
{
	struct str clean = { 0 }, line = { 0 };
	int half = (ui->width - 3) / 2;

	text_clean(&clean, before, false);
	ui_pad(&line, str_text(&clean), half, false, ui->ascii);
	str_addf(&line, " %s ", ui->ascii ? "|" : "\u2502");
	str_clear(&clean);
	text_clean(&clean, after, false);
	ui_pad(&line, str_text(&clean), half, false, ui->ascii);
	trim(&line);
	text_add(t, "%s\n", str_text(&line));
	str_free(&clean);
	str_free(&line);
}

enum page_answer page_go(struct page *p, int method, const char *id)
{
	p->go.page = PAGE_GRAPH;
	p->go.method = method;
	snprintf(p->go.id, sizeof p->go.id, "%s", id ? id : "");
	return PAGE_GO;
}

void page_open(struct page *p, const struct page_ops *ops, unsigned hidden)
{
	*p = (struct page){ .ops = ops, .hidden = hidden, .sort = -1, .match_serial = -1 };
}

void page_close(struct page *p)
{
	arena_free(&p->mem);
	arena_free(&p->keep);
	filter_free(&p->filter);
}

int page_row(const struct page *p)
{
	return p->cursor < p->nshown ? p->shown[p->cursor] : -1;
}

/* Sorting. */

struct sort_item { int row; double key; const char *text; };

static int by_key(const struct sort_item *a, const struct sort_item *b)
{
	if (!isnan(a->key) && !isnan(b->key))
		return (a->key > b->key) - (a->key < b->key);
	return strcmp(a->text, b->text);
}

static int ascending(const void *a, const void *b)
{
	const struct sort_item *x = a, *y = b;
	int c = by_key(x, y);

	return c ? c : x->row - y->row;
}

static int descending(const void *a, const void *b)
{
	const struct sort_item *x = a, *y = b;
	int c = by_key(y, x);

	return c ? c : x->row - y->row;
}

static void sort_rows(struct page *p, const struct ui *ui)
{
	struct sort_item *item = arena_array(&p->mem, (size_t)p->nrows, sizeof *item);
	struct str s = { 0 };

	for (int i = 0; i < p->nrows; i++) {
		item[i] = (struct sort_item){ i, p->ops->key ? p->ops->key(p, ui, i, p->sort) : NAN, "" };
		if (!isnan(item[i].key))
			continue;
		str_clear(&s);
		p->ops->cell(p, ui, i, p->sort, &s);
		item[i].text = arena_string(&p->mem, str_text(&s));
	}
	qsort(item, (size_t)p->nrows, sizeof *item, p->descending ? descending : ascending);
	for (int i = 0; i < p->nrows; i++)
		p->order[i] = item[i].row;
	str_free(&s);
}

void page_forget(struct page *p, const struct ui *ui)
{
	const char *at = p->ops->node && page_row(p) >= 0 ? p->ops->node(p, ui, page_row(p)) : NULL;

	if (p->nrows)
		snprintf(p->id, sizeof p->id, "%s", at ? at : "");
	arena_free(&p->mem);
	p->nrows = p->nshown = 0;
	p->rows = NULL;
	p->match = NULL;
	page_stale(p);
}

void page_build(struct page *p, const struct ui *ui)
{
	page_forget(p, ui);
	p->ops->build(p, ui);
	p->shown = arena_array(&p->mem, (size_t)p->nrows, sizeof *p->shown);
	p->order = arena_array(&p->mem, (size_t)p->nrows, sizeof *p->order);
	for (int i = 0; i < p->nrows; i++)
		p->order[i] = i;
	if (p->sort >= 0)
		sort_rows(p, ui);
	page_show(p, ui);
	if (p->cursor >= p->nshown)
		p->cursor = p->nshown ? p->nshown - 1 : 0;
	if (*p->id)
		page_to_node(p, ui, p->id);
	p->pane_top = 0;
}

bool page_to_node(struct page *p, const struct ui *ui, const char *id)
{
	const char *at = p->ops->node && page_row(p) >= 0 ? p->ops->node(p, ui, page_row(p)) : NULL;

	if (at && !strcmp(at, id))
		return true;
	for (int i = 0; p->ops->node && i < p->nshown; i++) {
		at = p->ops->node(p, ui, p->shown[i]);
		if (at && !strcmp(at, id)) {
			p->cursor = i;
			p->pane_top = 0;
			return true;
		}
	}
	return false;
}

/* Moving. */

static void next_sort(struct page *p, const struct ui *ui)
{
	int n;

	for (n = p->sort + 1; p->ops->column[n].title && p->hidden >> n & 1;)
		n++;
	page_sort(p, ui, p->ops->column[n].title ? n : -1, false);
}

void page_sort(struct page *p, const struct ui *ui, int column, bool descends)
{
	p->sort = column;
	p->descending = descends;
	page_build(p, ui);
}

void page_to_line(struct page *p, int line)
{
	int last = p->nshown ? p->nshown - 1 : 0, to = line < 0 ? 0 : line > last ? last : line;

	if (to != p->cursor)
		p->pane_top = 0;
	p->cursor = to;
}

bool page_move(struct page *p, const struct ui *ui, enum request r, int height)
{
	int last = p->nshown ? p->nshown - 1 : 0, to = p->cursor;

	switch (r) {
	case REQ_DOWN: to++; break;
	case REQ_UP: to--; break;
	case REQ_PAGE_DOWN: to += height; break;
	case REQ_PAGE_UP: to -= height; break;
	case REQ_FIRST: to = 0; break;
	case REQ_LAST: to = last; break;
	case REQ_SCROLL_LEFT: p->left = p->left > 8 ? p->left - 8 : 0; return true;
	case REQ_SCROLL_RIGHT: p->left += p->left < 400 ? 8 : 0; return true;
	case REQ_PANE_DOWN: p->pane_top++; return true;
	case REQ_PANE_UP: p->pane_top -= p->pane_top > 0; return true;
	case REQ_SORT: next_sort(p, ui); return true;
	case REQ_SORT_REVERSE:
		page_sort(p, ui, p->sort, !p->descending);
		return true;
	default: return false;
	}
	page_to_line(p, to);
	return true;
}

void page_scroll(struct page *p, int height)
{
	if (p->cursor < p->top)
		p->top = p->cursor;
	if (height > 0 && p->cursor >= p->top + height)
		p->top = p->cursor - height + 1;
	if (p->top > 0 && p->top + height > p->nshown)	/* no empty lines while rows are above */
		p->top = p->nshown > height ? p->nshown - height : 0;
}

/* Lines. */

void page_widths(const struct page *p, int width, int *out)
{
	int least = 0, shares = 0;

	for (int c = 0; p->ops->column[c].title; c++) {
		bool hidden = p->hidden >> c & 1;

		out[c] = hidden ? -1 : p->ops->column[c].width;
		least += out[c] + 1;
		shares += hidden ? 0 : p->ops->column[c].grows;
	}
	for (int c = 0; p->ops->column[c].title && least < width && shares; c++) {
		int more;

		if (out[c] < 0)
			continue;
		more = (width - least) * p->ops->column[c].grows / shares;
		out[c] += more;
		least += more;
		shares -= p->ops->column[c].grows;
	}
}

void ui_pad(struct str *out, const char *s, int width, bool right, bool ascii)
{
	int columns = text_columns(s);
	size_t n;

	if (columns <= width) {
		str_addf(out, "%*s%s%*s", right ? width - columns : 0, "", s, right ? 0 : width - columns, "");
		return;
	}
	for (columns = 0; *s; s += n) {
		int w = wcwidth((wchar_t)text_rune(s, &n));

		w = w < 0 ? 1 : w;
		if (columns + w > width - 1)
			break;
		str_addn(out, s, n);
		columns += w;
	}
	str_add(out, ascii ? "~" : "\u2026");
	str_addf(out, "%*s", width - 1 - columns, "");
}

void page_line(const struct page *p, const struct ui *ui, int row, const int *width, struct str *s)
{
	struct str cell = { 0 }, clean = { 0 };

	for (int c = 0; p->ops->column[c].title; c++) {
		const struct column *col = &p->ops->column[c];

		if (width[c] < 0)
			continue;
		str_clear(&cell);
		str_clear(&clean);
		if (row >= 0)
			p->ops->cell(p, ui, row, c, &cell);
		else
			str_addf(&cell, "%s%s", p->ops->title ? p->ops->title(p, ui, c) : col->title, p->sort != c ? "" : p->descending ? " v" : " ^");
		text_clean(&clean, str_text(&cell), false);
		ui_pad(s, str_text(&clean), width[c], col->right, ui->ascii);
		str_add(s, " ");
	}
	str_free(&cell);
	str_free(&clean);
}

void page_export(const struct page *p, const struct ui *ui, struct text *t)
{
	int width[PAGE_COLUMNS];
	struct str line = { 0 };

	if (p->ops->export) {
		p->ops->export(p, ui, t);
		return;
	}
	text_add(t, "%s of %s, %s\n", p->ops->name, look_path(ui->s), ui_facts(ui)->graph->method);
	if (p->filter.n)
		text_add(t, "filter %s: %d of %d\n", p->filter.words, p->nshown, p->nrows);
	text_add(t, "\n");
	page_widths(p, 140, width);
	for (int i = -1; i < p->nshown; i++) {
		str_clear(&line);
		page_line(p, ui, i < 0 ? -1 : p->shown[i], width, &line);
		trim(&line);
		text_add(t, "%s\n", str_text(&line));
	}
	if (!p->nrows)
		text_add(t, "%s\n", p->ops->empty);
	str_free(&line);
}
