#include "views/screen.h"

#include <ncurses.h>
#include <string.h>
#include <wchar.h>

/* From top to bottom: title, tabs, rule, column titles, list, rule, pane, last line. */
enum { FIXED_LINES = 6, LEAST_LINES = 5, LEAST_COLUMNS = 20, MARGIN = 1 };

void screen_colors(const struct theme *theme)
{
	if (!has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (short i = 0; i < THEME_ITEMS; i++)
		init_pair(i + 1, theme_nearest(theme->item[i].fg, COLORS), theme_nearest(theme->item[i].bg, COLORS));
}

static attr_t attribute(const struct ui *ui, int item)
{
	static const struct theme none = { { [STYLE_TITLE] = { -1, -1, THEME_BOLD }, [STYLE_DIM] = { -1, -1, THEME_DIM },
					     [THEME_CURSOR] = { -1, -1, THEME_REVERSE },
					     [THEME_MATCH] = { -1, -1, THEME_UNDERLINE } } };
	const struct theme_item *t = ui->theme ? &ui->theme->item[item] : &none.item[item];
	attr_t a = A_NORMAL;

	if (ui->theme && has_colors() && (t->fg >= 0 || t->bg >= 0))
		a |= (attr_t)COLOR_PAIR(item + 1);
	a |= t->attributes & THEME_BOLD ? A_BOLD : 0;
	a |= t->attributes & THEME_DIM ? A_DIM : 0;
	a |= t->attributes & THEME_UNDERLINE ? A_UNDERLINE : 0;
	return a | (t->attributes & THEME_REVERSE ? A_REVERSE : 0);
}

/* A row's style with the cursor on it: the colours of the cursor, if it has any, are instead of the row's. */
static attr_t under_cursor(const struct ui *ui, attr_t row)
{
	attr_t cursor = attribute(ui, THEME_CURSOR);

	return cursor & A_COLOR ? cursor | (row & ~A_COLOR) : cursor | row;
}

/* Cleaned text from column SKIP on, cut at WIDTH columns; returns the columns used. */
static int put(int y, int x, int skip, int width, attr_t attr, bool ascii, const char *s)
{
	int columns = 0;
	size_t n;

	attrset(attr);
	move(y, x);
	for (; *s; s += n) {
		uint32_t rune = text_rune(s, &n);
		int w = wcwidth((wchar_t)rune);

		w = w < 0 ? 1 : w;
		if (columns + w > skip + width)
			break;
		columns += w;
		if (columns <= skip || (columns == skip + w && !w))
			continue;
		if (ascii && rune > 0x7e)
			addch('?');
		else
			addnstr(s, (int)n);
	}
	attrset(A_NORMAL);
	return columns > skip ? columns - skip : 0;
}

static int put_clean(int y, int x, int width, attr_t attr, bool ascii, const char *s)
{
	struct str clean = { 0 };
	int columns;

	text_clean(&clean, s, false);
	columns = put(y, x, 0, width, attr, ascii, str_text(&clean));
	str_free(&clean);
	return columns;
}

static void rule(int y, bool ascii)
{
	for (int x = 0; x < COLS; x++)
		put(y, x, 0, 1, A_NORMAL, ascii, ascii ? "-" : "\u2500");
}

static void draw_title(const struct ui *ui, const struct screen_title *title)
{
	const char *path = look_path(ui->s), *slash = strrchr(path, '/');
	struct str left = { 0 }, right = { 0 };
	char n[TEXT_NUMBER];
	int w;

	str_addf(&left, "etinspect  %s  %s  %s", slash ? slash + 1 : path, text_bytes(n, ui->s->program->file.bytes),
		 ui_facts(ui)->graph->method);
	if (ui->s->program->nmethods > 1)
		str_addf(&left, " (%d of %d)", ui->method + 1, ui->s->program->nmethods);
	if (*title->state)
		str_addf(&left, "  [%s%s]", title->state, title->unsaved ? ", not written" : "");
	str_addf(&right, "XNNPACK %s  %d thread%s", ui->xnnpack, ui->s->run.threads, ui->s->run.threads == 1 ? "" :
		 "s");
	put_clean(0, 0, COLS, A_BOLD, ui->ascii, str_text(&left));
	w = text_columns(str_text(&right));
	if (text_columns(str_text(&left)) + 2 + w <= COLS)
		put_clean(0, COLS - w, w, A_NORMAL, ui->ascii, str_text(&right));
	str_free(&left);
	str_free(&right);
}

/* The text of tab I (PAGE_HELP: the last); all names show only where there is room for them. */
static void tab_text(const struct page *p, int i, char *buf, size_t bytes)
{
	bool here = page_table[i] == p->ops;
	int all = 0;

	for (int k = 0; k < PAGE_TABS; k++)
		all += 3 + (int)strlen(page_table[k]->name);
	if (i == PAGE_HELP)
		snprintf(buf, bytes, "?");
	else
		snprintf(buf, bytes, here || all + 1 <= COLS ? "%d %s" : "%d", i + 1, page_table[i]->name);
}

static void draw_tabs(const struct ui *ui, const struct page *p)
{
	char tab[32];

	for (int i = 0, x = 0; i <= PAGE_HELP && x < COLS; i++) {
		tab_text(p, i, tab, sizeof tab);
		x += put(1, x, 0, COLS - x, page_table[i] == p->ops ? A_REVERSE : A_NORMAL, ui->ascii, tab) + 1;
	}
}

/* In the rule above the list. */
static void draw_filter(const struct ui *ui, const struct page *p)
{
	struct str s = { 0 };
	char shown[TEXT_NUMBER], all[TEXT_NUMBER];
	int room = COLS - 8;

	if (!p->filter.n)
		return;
	str_addf(&s, "   %s of %s ", text_exact(shown, (uint64_t)p->nshown), text_exact(all, (uint64_t)p->nrows));
	room -= (int)s.n + 6;
	put_clean(2, 2, 9, A_BOLD, ui->ascii, " filter: ");
	room = put_clean(2, 11, room > 0 ? room : 0, A_BOLD, ui->ascii, p->filter.words);
	put_clean(2, 11 + room, COLS - 11 - room, A_BOLD, ui->ascii, str_text(&s) + 1);
	str_free(&s);
}

static int pane_height(int lines)
{
	int rest = lines - FIXED_LINES;

	return rest < 4 ? 0 : rest / 3 < 14 ? rest / 3 : 14;
}

int screen_list_height(int lines)
{
	int pane = pane_height(lines), h = pane ? lines - FIXED_LINES - pane : lines - FIXED_LINES + 1;

	return h > 0 ? h : 0;
}

/* What was searched for, in a line that is drawn already. */
static void draw_marks(const struct ui *ui, const struct page *p, int y, int row, const int *width)
{
	attr_t a = attribute(ui, THEME_MATCH);
	struct page_marks m;

	page_marks(p, ui, row, width, &m);
	for (int i = 0; i < m.n; i++) {
		int from = m.at[i].from > p->left ? m.at[i].from - p->left : 0, to = m.at[i].to - p->left;

		to = to < COLS - MARGIN ? to : COLS - MARGIN;
		if (to > from)
			mvchgat(y, MARGIN + from, to - from, a & ~A_COLOR, PAIR_NUMBER(a), NULL);
	}
}

static void draw_list(const struct ui *ui, const struct page *p, int height)
{
	int width[PAGE_COLUMNS];
	struct str line = { 0 };

	page_widths(p, COLS - MARGIN, width);
	page_line(p, ui, -1, width, &line);
	put(3, MARGIN, p->left, COLS - MARGIN, A_BOLD, ui->ascii, str_text(&line));
	for (int i = 0; i < height && p->top + i < p->nshown; i++) {
		int row = p->shown[p->top + i];
		bool here = p->top + i == p->cursor;
		attr_t a = attribute(ui, p->ops->style ? p->ops->style(p, ui, row) : STYLE_PLAIN);

		str_clear(&line);
		page_line(p, ui, row, width, &line);
		if (here)
			put(4 + i, 0, 0, 1, A_BOLD, ui->ascii, ">");
		put(4 + i, MARGIN, p->left, COLS - MARGIN, here ? under_cursor(ui, a) : a, ui->ascii, str_text(&line));
		draw_marks(ui, p, 4 + i, row, width);
	}
	if (!p->nshown && height)
		put_clean(4, MARGIN, COLS - MARGIN, A_NORMAL, ui->ascii, p->nrows ? "No line passes the filter." : p->ops->empty);
	str_free(&line);
}

static void draw_pane(const struct ui *ui, struct page *p, int y, int height)
{
	struct text t = { .width = COLS - 1 };
	int row = page_row(p), lines = 0;
	const char *s;

	if (row >= 0 && p->ops->pane)
		p->ops->pane(p, ui, row, &t);
	s = str_text(&t.s);
	for (const char *c = s; *c; c++)
		lines += *c == '\n';
	if (p->pane_top > lines - height)
		p->pane_top = lines > height ? lines - height : 0;
	for (int i = 0; i < p->pane_top + height && *s; i++) {
		size_t n = strcspn(s, "\n");
		struct str line = { 0 };

		str_addn(&line, s, n);
		if (i >= p->pane_top)
			put(y + i - p->pane_top, 0, 0, COLS, A_NORMAL, ui->ascii, str_text(&line));
		str_free(&line);
		s += n;
		s += *s == '\n';
	}
	if (p->pane_top + height < lines)
		put(y - 1, COLS - 10, 0, 8, A_NORMAL, ui->ascii, " J more ");
	text_free(&t);
}

/* The part of the answer that has the cursor, and at the right what there is to say about it. */
static void draw_prompt(const struct ui *ui, const struct screen_bottom *b, int y)
{
	int w = text_columns(b->prompt), room = COLS - w - 1, at, skip, used;
	struct str clean = { 0 }, before = { 0 };

	put_clean(y, 0, COLS, A_BOLD, ui->ascii, b->prompt);
	if (room > 0) {
		str_addn(&clean, b->answer, b->at);
		text_clean(&before, str_text(&clean), false);
		str_clear(&clean);
		text_clean(&clean, b->answer, false);
		at = text_columns(str_text(&before));
		skip = at > room ? at - room : 0;
		used = put(y, w, skip, room, A_NORMAL, ui->ascii, str_text(&clean));
		room -= used + 3;
		if (b->note && *b->note && room > 0) {
			int n = text_columns(b->note) < room ? text_columns(b->note) : room;

			put_clean(y, COLS - 1 - n, n, attribute(ui, b->bad ? STYLE_BAD : STYLE_DIM), ui->ascii, b->note);
		}
		w += at - skip;
	}
	move(y, w < COLS ? w : COLS - 1);
	str_free(&clean);
	str_free(&before);
}

static void draw_bottom(const struct ui *ui, const struct page *p, const struct screen_bottom *b)
{
	char work[160], right[64] = "";
	int y = LINES - 1, w;

	if (b->prompt) {
		draw_prompt(ui, b, y);
		return;
	}
	if (p->nshown)
		snprintf(right, sizeof right, "%d of %d ", p->cursor + 1, p->nshown);
	if (ui->works && !(b->bad && b->message && *b->message)) {	/* what failed is told over what goes on */
		snprintf(work, sizeof work, "%.120s.  Esc stops", ui->work);
		put_clean(y, 0, COLS, A_BOLD, ui->ascii, work);
	} else if (b->message && *b->message) {
		put_clean(y, 0, COLS, b->bad ? attribute(ui, STYLE_BAD) | A_BOLD : A_BOLD, ui->ascii, b->message);
		if (text_columns(b->message) + (int)strlen(right) + 2 > COLS)
			return;
	} else {
		snprintf(work, sizeof work, "%s  ? help  q quit", p->ops->hint);
		put(y, 0, 0, COLS, A_DIM, ui->ascii, work);
		if ((int)(strlen(work) + strlen(right)) + 2 > COLS)
			return;
	}
	w = (int)strlen(right);
	if (w < COLS / 2)
		put(y, COLS - w, 0, w, A_NORMAL, ui->ascii, right);
}

static struct screen_hit hit_tab(const struct page *p, int x)
{
	char tab[32];

	for (int i = 0; i <= PAGE_HELP; i++) {
		tab_text(p, i, tab, sizeof tab);
		if (x >= 0 && x < (int)strlen(tab))
			return (struct screen_hit){ HIT_TAB, i };
		x -= (int)strlen(tab) + 1;
	}
	return (struct screen_hit){ HIT_NOTHING, 0 };
}

static struct screen_hit hit_title(const struct page *p, int x)
{
	int width[PAGE_COLUMNS];

	page_widths(p, COLS - MARGIN, width);
	x -= MARGIN - p->left;
	for (int c = 0; x >= 0 && p->ops->column[c].title; c++) {
		if (x < width[c])
			return (struct screen_hit){ HIT_TITLE, c };
		x -= width[c] + 1;
	}
	return (struct screen_hit){ HIT_NOTHING, 0 };
}

struct screen_hit screen_hit(const struct page *p, int y, int x)
{
	int list = screen_list_height(LINES), pane = pane_height(LINES);

	if (y == 1)
		return hit_tab(p, x);
	if (y == 3)
		return hit_title(p, x);
	if (y >= 4 && y < 4 + list && p->top + y - 4 < p->nshown)
		return (struct screen_hit){ HIT_ROW, p->top + y - 4 };
	if (y >= 5 + list && y < 5 + list + pane)
		return (struct screen_hit){ HIT_PANE, 0 };
	return (struct screen_hit){ HIT_NOTHING, 0 };
}

void screen_draw(const struct ui *ui, struct page *p, const struct screen_title *title,
		 const struct screen_bottom *bottom)
{
	int list = screen_list_height(LINES), pane = pane_height(LINES);

	erase();
	if (LINES < LEAST_LINES || COLS < LEAST_COLUMNS) {
		put(0, 0, 0, COLS, A_NORMAL, ui->ascii, "too small");
		refresh();
		return;
	}
	page_scroll(p, list);
	draw_title(ui, title);
	draw_tabs(ui, p);
	rule(2, ui->ascii);
	draw_filter(ui, p);
	draw_list(ui, p, list);
	if (pane) {
		rule(4 + list, ui->ascii);
		draw_pane(ui, p, 5 + list, pane);
	}
	draw_bottom(ui, p, bottom);
	curs_set(bottom->prompt != NULL);
	if (!bottom->prompt)
		move(LINES - 1, COLS - 1);
	refresh();
}

static void popup_line(const struct ui *ui, int y, int x, int width, attr_t a, const char *text)
{
	struct str s = { 0 };

	ui_pad(&s, text, width, false, ui->ascii);
	put(y, x, 0, width, a, ui->ascii, str_text(&s));
	str_free(&s);
}

void screen_popup(const struct ui *ui, const struct screen_popup *p)
{
	int width = (int)strlen(p->title) + 2, lines = LINES - 4 < p->n ? LINES - 4 : p->n, top, x;
	char line[COLUMN_NAME_BYTES + 8];

	for (int i = 0; i < p->n; i++)
		width = (int)strlen(p->choice[i].name) + 6 > width ? (int)strlen(p->choice[i].name) + 6 : width;
	if (lines < 1 || width + 2 > COLS)
		return;
	top = p->at < lines ? 0 : p->at - lines + 1;
	x = (COLS - width) / 2;
	snprintf(line, sizeof line, " %s", p->title);
	popup_line(ui, 2, x, width, A_REVERSE | A_BOLD, line);
	for (int i = 0; i < lines; i++) {
		const struct screen_choice *c = &p->choice[top + i];

		snprintf(line, sizeof line, "%c[%c] %s", top + i == p->at ? '>' : ' ', c->on ? 'x' : ' ', c->name);
		popup_line(ui, 3 + i, x, width, top + i == p->at ? A_BOLD | A_UNDERLINE : A_REVERSE, line);
	}
	move(LINES - 1, COLS - 1);
	refresh();
}

void screen_draw_loading(const char *path, const char *what, double part, bool ascii)
{
	const char *slash = strrchr(path, '/');
	struct ui ui = { .ascii = ascii };
	struct str s = { 0 };

	erase();
	str_addf(&s, "etinspect  %s", slash ? slash + 1 : path);
	put_clean(0, 0, COLS, A_BOLD, ascii, str_text(&s));
	str_clear(&s);
	str_addf(&s, "opening: %s", what);
	put_clean(2, 0, COLS, A_NORMAL, ascii, str_text(&s));
	str_clear(&s);
	ui_bar(&ui, part, COLS - 1, &s);
	put(3, 0, 0, COLS, A_NORMAL, ascii, str_text(&s));
	put(LINES - 1, 0, 0, COLS, A_DIM, ascii, "Esc or q stops");
	move(LINES - 1, COLS - 1);
	refresh();
	str_free(&s);
}
