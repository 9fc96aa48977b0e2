/* theme.h - colours and attributes of what is shown; plain data, so that the configuration can set it without a
 * terminal. Colours are those of xterm, 0 to 255; a terminal with fewer gets the nearest it has. */
#ifndef VIEWS_THEME_H
#define VIEWS_THEME_H

#include "views/text.h"

/* The styles of text, the line under the cursor, and what was searched for. */
enum { THEME_CURSOR = STYLES, THEME_MATCH, THEME_ITEMS };
enum { THEME_BOLD = 1, THEME_DIM = 2, THEME_UNDERLINE = 4, THEME_REVERSE = 8 };

struct theme {
	struct theme_item { short fg, bg; unsigned attributes; /* THEME_ */ } item[THEME_ITEMS];	/* -1: the terminal's */
};

void theme_default(struct theme *t);
int theme_find(const char *name, size_t n);	/* "bad", "cursor"; -1: none */
extern const char *const theme_names[THEME_ITEMS];
/* Sets an item from words: a foreground, a background after "on", attributes. "red", "bright-blue on 236 bold". False:
 * WORD is the one that is not known. */
bool theme_set(struct theme_item *item, const char *words, struct str *word);
short theme_nearest(short color, int colors);	/* of a terminal with 8 or more */

#endif
