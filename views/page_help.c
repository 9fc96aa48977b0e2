/* Help: every request with its keys. */
#include "views/page.h"

#include <string.h>

struct help { const char *keys, *text; };

static const struct help rows[] = {
#define HELP_GROUP(title) { NULL, title },
#define HELP_REQUEST(name, keys, help) { keys, help },
	REQUESTS(HELP_GROUP, HELP_REQUEST)
#undef HELP_REQUEST
#undef HELP_GROUP
};

static const struct column columns[] = {
	{ "keys", 14, 0, false }, { "what they do", 62, 1, false }, { 0 },
};

static void build(struct page *p, const struct ui *ui)
{
	p->nrows = (int)(sizeof rows / sizeof *rows);
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct help *h = &rows[row];

	if (!column)
		str_add(s, h->keys ? h->keys : h->text);
	else if (h->keys)
		str_add(s, h->text);
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	return rows[row].keys ? STYLE_PLAIN : STYLE_TITLE;
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	text_fold(t, 0, 0, "Nodes that XNNPACK does not run are slow. Overview names the worst and what fixes it: mostly a fold (f), "
		"a linear conversion (l) or another partition (p); o does all three. b times before and after. w writes the "
		"program. u takes a step back. In key names ^ is Ctrl.");
}

const struct page_ops page_help = {
	.name = "Help", .empty = "", .column = columns, .build = build, .cell = cell, .style = style, .pane = pane,
	.hint = "backspace or 1-8 leaves the help",
};
