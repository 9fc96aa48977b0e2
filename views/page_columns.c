/* The columns of a page: their names, and which are shown. */
#include "views/page.h"

#include <stdio.h>
#include <string.h>

bool page_column_name(const struct page_ops *ops, int column, char *buf)
{
	const char *name = ops->named[column] ? ops->named[column] : ops->column[column].title;

	snprintf(buf, COLUMN_NAME_BYTES, "%s", name);
	for (char *c = buf; *c; c++)
		if (*c == ' ')
			*c = '-';
	return *buf != '\0';
}

static int find(const struct page_ops *ops, const char *word, size_t n)
{
	char name[COLUMN_NAME_BYTES];

	for (int c = 0; ops->column[c].title; c++)
		if (page_column_name(ops, c, name) && strlen(name) == n && !memcmp(name, word, n))
			return c;
	return -1;
}

bool page_columns_parse(const struct page_ops *ops, const char *words, unsigned *hidden, struct str *word)
{
	unsigned shown = 0;

	for (const char *at = words + strspn(words, " \t"); *at; at += strspn(at, " \t")) {
		size_t n = strcspn(at, " \t");
		int c = find(ops, at, n);

		if (c < 0) {
			str_addn(word, at, n);
			return false;
		}
		shown |= 1u << c;
		at += n;
	}
	*hidden = shown ? ~shown : 0;
	return true;
}

bool page_toggle_column(struct page *p, const struct ui *ui, int column)
{
	unsigned all = 0, to = p->hidden ^ 1u << column;
	int row = page_row(p);

	for (int c = 0; p->ops->column[c].title; c++)
		all |= 1u << c;
	if (!(all & ~to))
		return false;
	p->hidden = to;
	page_stale(p);
	page_show(p, ui);	/* the filter looks at what is shown */
	page_to_row(p, row);
	return true;
}
