/* terminal.h - the terminal as a whole: opened for the pages, and given back as it was, whatever ends us. */
#ifndef INSPECT_TERMINAL_H
#define INSPECT_TERMINAL_H

#include "core/base/error.h"

/* Both ends are a terminal that can be drawn on (TERM is set and not "dumb"). */
bool terminal_usable(void);
bool terminal_is_utf8(void);	/* after setlocale */
bool terminal_open(struct error *err);	/* may be called when it is open */
void terminal_mouse(bool on);	/* presses and the wheel come as KEY_MOUSE */
void terminal_close(void);	/* may be called when it is not open */
/* What came since it was asked last: SIGINT, or a signal that ends us; 0: nothing. */
int terminal_signal(void);

#endif
