/* screen.h - one page on the terminal. Drawing is a pure function of the model, the page's position and the
 * size of the screen; the terminal must be open (inspect/terminal.h). */
#ifndef VIEWS_SCREEN_H
#define VIEWS_SCREEN_H

#include "views/page.h"

/* The last line: a question being answered, or what there is to say; else the hint of the page. */
struct screen_bottom {
	const char *prompt;	/* "Write to: ", NULL: none */
	const char *answer;	/* typed so far */
	size_t at;		/* of the cursor in it, in bytes */
	const char *note;	/* what there is to say about that, at its right */
	const char *message;
	bool bad;		/* the message, or the note, is about something that failed */
};

struct screen_title {
	const char *state;	/* "fold, partition" when edited, or "" */
	bool unsaved;
};

void screen_colors(const struct theme *theme);	/* once, after the terminal was opened; then ui has the theme too */
int screen_list_height(int lines);	/* of a screen with that many lines */
/* What is drawn at line Y, column X: a tab (n: its page), a column's title (n: the column), a line of the list (n: index
 * into shown), the pane. */
struct screen_hit { enum { HIT_NOTHING, HIT_TAB, HIT_TITLE, HIT_ROW, HIT_PANE } what; int n; };
struct screen_hit screen_hit(const struct page *p, int y, int x);
/* A list over the page, of what is on and what is not; drawn after it. */
struct screen_choice { char name[COLUMN_NAME_BYTES]; bool on; };
struct screen_popup { bool open; const char *title; struct screen_choice choice[PAGE_COLUMNS]; int n, at; };
void screen_popup(const struct ui *ui, const struct screen_popup *p);
void screen_draw(const struct ui *ui, struct page *p, const struct screen_title *title,
		 const struct screen_bottom *bottom);
/* While a program is opened: its name, what is being done, and how much of that is done, 0 to 1. */
void screen_draw_loading(const char *path, const char *what, double part, bool ascii);

#endif
