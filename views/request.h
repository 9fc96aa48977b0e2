/* request.h - what a person can ask for, in one list: name, default keys, help. It makes the enum, the keymap
 * (inspect/keys.c) and the help page. Pages see requests, never keys. Keys are separated by spaces. */
#ifndef VIEWS_REQUEST_H
#define VIEWS_REQUEST_H

#define REQUESTS(GROUP, REQ) \
	GROUP("Moving") \
	REQ(DOWN, "j down", "next line") \
	REQ(UP, "k up", "line before") \
	REQ(PAGE_DOWN, "pgdn ^f", "a screen down") \
	REQ(PAGE_UP, "pgup ^b", "a screen up") \
	REQ(FIRST, "home g", "first line") \
	REQ(LAST, "end G", "last line") \
	REQ(SCROLL_LEFT, "<", "scroll the list to the left") \
	REQ(SCROLL_RIGHT, ">", "scroll the list to the right") \
	REQ(PANE_DOWN, "J", "scroll the pane below") \
	REQ(PANE_UP, "K", "scroll the pane back") \
	GROUP("Finding") \
	REQ(SEARCH, "/", "search") \
	REQ(SEARCH_NEXT, "n", "next match") \
	REQ(SEARCH_PREV, "N", "match before") \
	REQ(SORT, "s", "sort by the next column") \
	REQ(SORT_REVERSE, "S", "the other way round") \
	REQ(GROUP_BY, "t", "Declined: group by reason, operator, module, not at all") \
	REQ(FOLLOW, "enter", "go to the node, to the chosen input or user") \
	REQ(BACK, "backspace", "go back") \
	REQ(LINK_NEXT, "right", "Graph: choose the next input or user") \
	REQ(LINK_PREV, "left", "Graph: choose the one before") \
	REQ(NEXT_DECLINED, "]", "Graph: next declined node") \
	REQ(PREV_DECLINED, "[", "Graph: declined node before") \
	REQ(FOLD_MODULE, "z", "Graph: fold the module away, or show it") \
	REQ(CONSTANTS, "c", "Graph: constants hidden or shown") \
	REQ(NEXT_METHOD, "tab", "next method") \
	REQ(PREV_METHOD, "backtab", "method before") \
	GROUP("Fixing") \
	REQ(OPTIMIZE, "o", "fix all that can be: linear, fold, partition") \
	REQ(FOLD, "f", "fold computed weights, and partition again") \
	REQ(LINEAR, "l", "make matrix products linear, and partition again") \
	REQ(PARTITION, "p", "partition again") \
	REQ(MARK, "space", "Fold, Linear: mark a candidate or not") \
	REQ(APPLY, "a", "Fold, Linear: apply the marked ones") \
	REQ(UNDO, "u", "undo") \
	REQ(REDO, "r ^r", "redo") \
	REQ(WRITE, "w", "write the program to a file") \
	GROUP("Running") \
	REQ(BENCH, "b", "time it, before and after, in the background") \
	REQ(STOP, "esc", "stop the run") \
	GROUP("Pages") \
	REQ(PAGE_1, "1", "Overview") \
	REQ(PAGE_2, "2", "Graph") \
	REQ(PAGE_3, "3", "Declined") \
	REQ(PAGE_4, "4", "Fold") \
	REQ(PAGE_5, "5", "Linear") \
	REQ(PAGE_6, "6", "Bench") \
	REQ(PAGE_7, "7", "Memory") \
	REQ(PAGE_8, "8", "Constants") \
	REQ(HELP, "? f1", "this help") \
	REQ(EXPORT, "e", "write this page to a file as text") \
	REQ(REDRAW, "^l", "draw the screen anew") \
	REQ(QUIT, "q", "quit")

enum request {
	REQ_NONE,
#define REQUEST_NOTHING(title)
#define REQUEST_NAME(name, keys, help) REQ_##name,
	REQUESTS(REQUEST_NOTHING, REQUEST_NAME)
#undef REQUEST_NAME
#undef REQUEST_NOTHING
	REQ_COUNT,
};

#endif
