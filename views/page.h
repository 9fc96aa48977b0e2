/* page.h - a page of the terminal: a list with a cursor, and a pane that explains the line under it.
 *
 * A page is one file that ends in one `const struct page_ops`. It only says what its rows are; it never draws
 * and never changes the session. Scrolling, searching, sorting and drawing exist once (page.c, screen.c). Rows
 * are made by build, in the page's arena, and again whenever the session, the method or the page's own
 * settings change. Cells are plain strings: whoever shows them cleans them. */
#ifndef VIEWS_PAGE_H
#define VIEWS_PAGE_H

#include "views/filter.h"
#include "views/look.h"
#include "views/request.h"
#include "views/theme.h"

enum page_index { PAGE_OVERVIEW, PAGE_GRAPH, PAGE_DECLINED, PAGE_FOLD, PAGE_LINEAR, PAGE_BENCH, PAGE_MEMORY,
		  PAGE_CONSTANTS, PAGE_HELP, PAGE_TEXT, PAGES };
enum { PAGE_TABS = PAGE_HELP };	/* the pages that have a tab */

/* What all pages see. */
struct ui {
	const struct session *s;
	int method;
	bool ascii;		/* the terminal shows ASCII only */
	int width;		/* of the pane, in columns */
	const char *xnnpack;	/* the host's version */
	bool works;		/* something runs in the background: */
	char work[160];		/* what, how far it is, and how long it may take */
	const struct keymap *keys;	/* NULL: the default ones */
	const struct theme *theme;	/* of the screen; NULL: no colours */
	enum page_index help_of;	/* the page that help was asked on */
	const char *text;		/* what the page of text shows; NULL: nothing yet */
	const struct find *find;	/* what to mark on the screen; NULL: nothing */
};

struct column {
	const char *title;	/* NULL ends the list */
	int width;		/* the least */
	int grows;		/* share of what the screen has beyond the least widths */
	bool right;		/* aligned to the right */
};

enum { PAGE_COLUMNS = 10 };

/* What a page made of a request. */
enum page_answer { PAGE_IGNORED, PAGE_DONE, PAGE_REBUILD, PAGE_GO };

struct page {
	const struct page_ops *ops;
	struct arena mem;	/* of what build makes */
	struct arena keep;	/* of what outlives it: settings */
	void *rows;		/* the page's own */
	int nrows;
	int *order;		/* all rows, sorted */
	int *shown, nshown;	/* those of them that pass the filter */
	struct filter filter;
	unsigned hidden;	/* bit C: column C is not shown, and not searched */
	int cursor, top, left;	/* index into shown; first line and column on the screen */
	int pane_top;
	/* of page_find.c; in mem */
	const char **text;	/* of each row; NULL: not asked for yet */
	int *match, nmatches;	/* indexes into shown, of what was searched for last: */
	int match_serial;	/* of the expression, -1: of none */
	char id[256];		/* of the node under the cursor when the rows were last forgotten */
	int sort;		/* column, or -1: the page's own order */
	bool descending;
	int setting;		/* the page's own: grouping and the like */
	void *state;		/* the page's own, in keep */
	struct { enum page_index page; int method; char id[256]; } go;	/* with PAGE_GO: where to, and the node's id */
};

struct page_ops {
	const char *name;
	const char *empty;	/* what to say when there are no rows */
	const struct column *column;
	unsigned drawn;		/* bit C: column C is lines or bars, where nothing is searched */
	void (*build)(struct page *p, const struct ui *ui);	/* sets rows, nrows */
	void (*cell)(const struct page *p, const struct ui *ui, int row, int column, struct str *s);
	const char *named[PAGE_COLUMNS];	/* what the person calls a column whose title does not tell; NULL: by its title */
	const char *(*title)(const struct page *p, const struct ui *ui, int column);	/* NULL: as in column */
	/* What the column is sorted by; NULL: by the text of the cell. NAN: by its text too. */
	double (*key)(const struct page *p, const struct ui *ui, int row, int column);
	enum style (*style)(const struct page *p, const struct ui *ui, int row);	/* NULL: plain */
	void (*pane)(const struct page *p, const struct ui *ui, int row, struct text *t);
	const char *(*node)(const struct page *p, const struct ui *ui, int row);	/* id of the node a row is about */
	enum page_answer (*request)(struct page *p, const struct ui *ui, int row, enum request r);	/* may be NULL */
	/* Adds what a row says of a facet that facets has (bit F: facet F), for the filter, a line each; NULL: text only. */
	void (*facet)(const struct page *p, const struct ui *ui, int row, enum facet f, struct str *s);
	unsigned facets;
	bool (*heads)(const struct page *p, int row);	/* it stands over those that follow it; NULL: none does */
	/* Candidate of the fold or linear plan that a row is, or -1; NULL: never. */
	int (*candidate)(const struct page *p, const struct ui *ui, int row);
	void (*export)(const struct page *p, const struct ui *ui, struct text *t);	/* NULL: titles and lines, as on the screen */
	const char *hint;	/* keys that matter here, for the last line */
};

extern const struct page_ops page_overview, page_graph, page_declined, page_fold, page_linear, page_bench, page_memory,
	page_constants, page_help, page_lines;
extern const struct page_ops *const page_table[PAGES];

void page_open(struct page *p, const struct page_ops *ops, unsigned hidden);
void page_close(struct page *p);
/* Makes the rows anew and keeps the cursor on its node, or else on its line. */
void page_build(struct page *p, const struct ui *ui);
/* Drops the rows; to be called on every page before a version may go, as rows point into it. */
void page_forget(struct page *p, const struct ui *ui);
/* Moving, scrolling and sorting; HEIGHT is the number of lines of the list. True if it was one of these. */
bool page_move(struct page *p, const struct ui *ui, enum request r, int height);
void page_to_line(struct page *p, int line);	/* index into shown */
void page_sort(struct page *p, const struct ui *ui, int column, bool descending);	/* -1: the page's own order */
void page_scroll(struct page *p, int height);	/* so that the cursor is on the screen */
int page_row(const struct page *p);		/* under the cursor, or -1 */
bool page_to_node(struct page *p, const struct ui *ui, const char *id);
void page_widths(const struct page *p, int width, int *out);	/* of each column; -1: hidden */
/* One line as it is shown, cleaned, padded to the widths; row -1: the titles. */
void page_line(const struct page *p, const struct ui *ui, int row, const int *width, struct str *s);
void page_export(const struct page *p, const struct ui *ui, struct text *t);

/* Columns (page_columns.c). */
enum { COLUMN_NAME_BYTES = 32 };
/* How a person writes it, "runs-on"; false: it has no name, and the page's columns are not to be chosen. */
bool page_column_name(const struct page_ops *ops, int column, char *buf);
/* Hides all columns but those of the words. False: WORD is one that is none. */
bool page_columns_parse(const struct page_ops *ops, const char *words, unsigned *hidden, struct str *word);
/* Hides a column or shows it again; false: it is the last one. */
bool page_toggle_column(struct page *p, const struct ui *ui, int column);

/* Filtering (page_filter.c). */
void page_show(struct page *p, const struct ui *ui);	/* sets shown anew, from order and filter */
/* Sets the filter ("": none); the cursor stays on its row if that passes. False: WHY says what is wrong with it. */
bool page_filter(struct page *p, const struct ui *ui, const char *words, char why[FIND_WHY_BYTES]);
/* Drops a filter that hides the node, and goes there; false: it is not that. */
bool page_unhide(struct page *p, const struct ui *ui, const char *id);
void page_to_row(struct page *p, int row);	/* or the next one that is shown; -1: the first line */
void page_row_facet(const struct node_row *row, enum facet f, struct str *s);

/* Finding (page_find.c). */
/* What a row says: its cells, cleaned, a line each; kept with the rows. */
const char *page_text(struct page *p, const struct ui *ui, int row);
void page_stale(struct page *p);	/* cells have changed although the rows have not */
/* Goes to the first line that matches after line FROM (dir 1) or before it (-1), round the end. */
struct found { int n, of; bool round; /* past the end */ };	/* which match it is, from 1, and of how many; 0: none */
struct found page_search(struct page *p, const struct ui *ui, const struct find *f, int from, int dir);
/* Where ui->find matches in the line of a row, in columns of the line. */
enum { PAGE_MARKS = 64 };
struct page_mark { int from, to; };
struct page_marks { struct page_mark at[PAGE_MARKS]; int n; };
void page_marks(const struct page *p, const struct ui *ui, int row, const int *width, struct page_marks *m);

/* Common to pages. */
/* Answers that FOLLOW leads to a node in the graph; "" or NULL: to the graph alone. */
enum page_answer page_go(struct page *p, int method, const char *id);
const struct version *ui_version(const struct ui *ui);
const struct method_facts *ui_facts(const struct ui *ui);
/* Adds cleaned text padded or cut to WIDTH columns; a cut is marked. */
void ui_pad(struct str *out, const char *s, int width, bool right, bool ascii);
/* A line of what is there before, and of what is after: side by side, each cut to its half. */
void ui_beside(const struct ui *ui, const char *before, const char *after, struct text *t);
void ui_bar(const struct ui *ui, double part, int width, struct str *s);

#endif
