/* request.h - what a person can ask for, in one list: name, default keys, the pages it is for, help. It makes the
 * enum, the keymap (inspect/keys.c), the names in the configuration and on the `:` line, the help page and the manual.
 * Pages see requests, never keys. Keys are separated by spaces, and so are pages; no page: on all of them. */
#ifndef VIEWS_REQUEST_H
#define VIEWS_REQUEST_H

#include "core/base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define REQUESTS(GROUP, REQ) \
	GROUP("Moving") \
	REQ(DOWN, "j down", "", "next line") \
	REQ(UP, "k up", "", "line before") \
	REQ(PAGE_DOWN, "pgdn ^f", "", "a screen down") \
	REQ(PAGE_UP, "pgup ^b", "", "a screen up") \
	REQ(FIRST, "home g", "", "first line") \
	REQ(LAST, "end G", "", "last line") \
	REQ(SCROLL_LEFT, "<", "", "scroll the list to the left") \
	REQ(SCROLL_RIGHT, ">", "", "scroll the list to the right") \
	REQ(PANE_DOWN, "J", "", "scroll the pane below") \
	REQ(PANE_UP, "K", "", "scroll the pane back") \
	GROUP("Finding") \
	REQ(SEARCH, "/", "", "search by a regular expression, as one types") \
	REQ(SEARCH_NEXT, "n", "", "next match") \
	REQ(SEARCH_PREV, "N", "", "match before") \
	REQ(FILTER, "&", "", "filter: words, op: reason: module: delegate:") \
	REQ(SORT, "s", "", "sort by the next column") \
	REQ(SORT_REVERSE, "S", "", "the other way round") \
	REQ(COLUMNS, "|", "", "choose the columns") \
	REQ(GROUP_BY, "t", "Declined", "group by reason, operator, module, not at all") \
	REQ(COST, "m", "Declined", "cost as measured, or estimated by shapes") \
	REQ(FOLLOW, "enter", "", "go to the node, to the chosen input or user") \
	REQ(BACK, "backspace", "", "go back") \
	REQ(LINK_NEXT, "right", "Graph", "choose the next input or user") \
	REQ(LINK_PREV, "left", "Graph", "choose the one before") \
	REQ(NEXT_DECLINED, "]", "Graph", "next declined node") \
	REQ(PREV_DECLINED, "[", "Graph", "declined node before") \
	REQ(FOLD_MODULE, "z", "Graph", "fold the module away, or show it") \
	REQ(CONSTANTS, "c", "Graph", "constants hidden or shown") \
	REQ(NEXT_METHOD, "tab", "", "next method") \
	REQ(PREV_METHOD, "backtab", "", "method before") \
	GROUP("Fixing") \
	REQ(OPTIMIZE, "o", "", "fix all that can be: linear, fold, partition") \
	REQ(FOLD, "f", "", "fold computed weights, and partition again") \
	REQ(LINEAR, "l", "", "make matrix products linear, and partition again") \
	REQ(PARTITION, "p", "", "partition again") \
	REQ(MARK, "space", "Fold Linear", "mark a candidate or not") \
	REQ(APPLY, "a", "Fold Linear", "apply the marked ones") \
	REQ(UNDO, "u", "", "undo") \
	REQ(REDO, "r ^r", "", "redo") \
	REQ(WRITE, "w", "", "write the program to a file") \
	GROUP("Running") \
	REQ(BENCH, "b", "", "time it, before and after, in the background") \
	REQ(STOP, "esc", "", "stop what runs, drop the filter, the marks") \
	GROUP("Pages") \
	REQ(PAGE_1, "1", "", "Overview") \
	REQ(PAGE_2, "2", "", "Graph") \
	REQ(PAGE_3, "3", "", "Declined") \
	REQ(PAGE_4, "4", "", "Fold") \
	REQ(PAGE_5, "5", "", "Linear") \
	REQ(PAGE_6, "6", "", "Bench") \
	REQ(PAGE_7, "7", "", "Memory") \
	REQ(PAGE_8, "8", "", "Constants") \
	REQ(HELP, "? f1", "", "this help") \
	REQ(EXPORT, "e", "", "write this page to a file as text") \
	REQ(COMMAND, ":", "", "a command, or any option of the command line") \
	REQ(REDRAW, "^l", "", "draw the screen anew") \
	REQ(QUIT, "q", "", "quit")

enum request {
	REQ_NONE,
#define REQUEST_NOTHING(title)
#define REQUEST_NAME(name, keys, pages, help) REQ_##name,
	REQUESTS(REQUEST_NOTHING, REQUEST_NAME)
#undef REQUEST_NAME
#undef REQUEST_NOTHING
	REQ_COUNT,
};

/* The list as a table, for those who walk it; headings of groups have REQ_NONE and their title as help. */
struct request_row {
	enum request request;
	const char *name;	/* "PAGE_DOWN"; NULL: a heading */
	const char *keys, *pages, *help;
};
extern const struct request_row request_table[];
extern const int request_rows;
const struct request_row *request_find(const char *name, size_t n);	/* NULL: none */
enum { REQUEST_NAME_BYTES = 32 };
void request_name(const struct request_row *r, char *buf);	/* "page-down", as a person writes it */
void request_help(const struct request_row *r, struct str *s);	/* "Fold, Linear: apply the marked ones" */
bool request_is_for(const struct request_row *r, const char *page);	/* it is one of the page's own */

/* The keys as they are now, names separated by spaces; they point into the list or into the configuration. */
struct keymap { const char *keys[REQ_COUNT]; };
void keymap_default(struct keymap *k);

#endif
