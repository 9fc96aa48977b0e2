/* Choosing columns: a small list over the page. */
#include "inspect/tui_parts.h"

static int count(const struct page_ops *ops)
{
	int n = 0;

	while (ops->column[n].title)
		n++;
	return n;
}

void tui_ask_columns(struct tui *t)
{
	char name[COLUMN_NAME_BYTES];

	if (!page_column_name(tui_here(t)->ops, 0, name)) {
		tui_say(t, false, "this page has no columns to choose");
		return;
	}
	t->popup = (struct screen_popup){ .open = true, .title = "columns", .n = count(tui_here(t)->ops) };
}

void tui_columns_key(struct tui *t, enum request r)
{
	struct screen_popup *p = &t->popup;

	switch (r) {
	case REQ_DOWN: p->at += p->at + 1 < p->n; break;
	case REQ_UP: p->at -= p->at > 0; break;
	case REQ_FIRST: p->at = 0; break;
	case REQ_LAST: p->at = p->n - 1; break;
	case REQ_MARK:
		if (!page_toggle_column(tui_here(t), &t->ui, p->at))
			tui_say(t, false, "one column stays");
		break;
	case REQ_STOP: case REQ_COLUMNS: case REQ_FOLLOW: case REQ_QUIT: case REQ_BACK: p->open = false; break;
	default: break;
	}
}

void tui_draw_columns(struct tui *t)
{
	const struct page *p = tui_here(t);

	for (int c = 0; c < t->popup.n; c++) {
		struct screen_choice *choice = &t->popup.choice[c];

		choice->on = !(p->hidden >> c & 1);
		page_column_name(p->ops, c, choice->name);
	}
	screen_popup(&t->ui, &t->popup);
}
