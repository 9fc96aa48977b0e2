/* The rows that a page shows: all of them in their order, or those that pass its filter. */
#include "views/page.h"

#include "core/op/op.h"

#include <string.h>

struct at { struct page *p; const struct ui *ui; int row; };

static void facet(void *ctx, enum facet f, struct str *s)
{
	struct at *at = ctx;

	if (f == FACET_TEXT)
		str_add(s, page_text(at->p, at->ui, at->row));
	else
		at->p->ops->facet(at->p, at->ui, at->row, f, s);
}

/* A row that heads others stays with any of them. */
static void keep_heads(const struct page *p, unsigned char *keep)
{
	int head = -1;

	for (int i = 0; p->ops->heads && i < p->nrows; i++) {
		if (p->ops->heads(p, i))
			head = i;
		else if (keep[i] && head >= 0)
			keep[head] = 1;
	}
}

void page_show(struct page *p, const struct ui *ui)
{
	unsigned char *keep;

	p->match_serial = -1;
	p->nshown = 0;
	if (!p->filter.n) {
		if (p->nrows)
			memcpy(p->shown, p->order, (size_t)p->nrows * sizeof *p->shown);
		p->nshown = p->nrows;
		return;
	}
	keep = mem_alloc((size_t)p->nrows + 1);
	for (int i = 0; i < p->nrows; i++)
		keep[i] = filter_passes(&p->filter, facet, &(struct at){ p, ui, i });
	keep_heads(p, keep);
	for (int i = 0; i < p->nrows; i++)
		if (keep[p->order[i]])
			p->shown[p->nshown++] = p->order[i];
	mem_free(keep);
}

void page_to_row(struct page *p, int row)
{
	int line = 0;

	for (int i = 0; row >= 0 && i < p->nrows && p->order[i] != row; i++)
		line += line < p->nshown && p->shown[line] == p->order[i];
	page_to_line(p, line);
}

bool page_filter(struct page *p, const struct ui *ui, const char *words, char why[FIND_WHY_BYTES])
{
	int row = page_row(p);

	if (!filter_set(&p->filter, words, p->ops->facets | 1u << FACET_TEXT, p->ops->name, why))
		return false;
	page_show(p, ui);
	page_to_row(p, row);
	return true;
}

bool page_unhide(struct page *p, const struct ui *ui, const char *id)
{
	char none[FIND_WHY_BYTES];

	for (int i = 0; p->filter.n && p->ops->node && i < p->nrows; i++) {
		const char *at = p->ops->node(p, ui, i);

		if (at && !strcmp(at, id))
			return page_filter(p, ui, "", none) && page_to_node(p, ui, id);
	}
	return false;
}

void page_row_facet(const struct node_row *row, enum facet f, struct str *s)
{
	const char *code = look_elided(row) ? NULL : look_code(row), *reason = look_elided(row) ? NULL : look_reason(row);

	str_add(s, s->n ? "\n" : "");
	switch (f) {
	case FACET_OP: str_add(s, row->node->op->name); break;
	case FACET_REASON: str_addf(s, "%s\n%s", code ? code : "", reason ? reason : ""); break;
	case FACET_MODULE: str_add(s, row->module ? row->module : ""); break;
	case FACET_DELEGATE:
		if (row->delegate >= 0)
			str_addf(s, "%d", row->delegate);
		else
			str_add(s, "none");
		break;
	default: break;
	}
}
