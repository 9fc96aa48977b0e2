/* tui.h - the terminal pages: keys to requests, requests to pages, edits and runs. */
#ifndef INSPECT_TUI_H
#define INSPECT_TUI_H

#include "inspect/options.h"

/* Runs until the person quits; the terminal is as it was afterwards. Returns the exit status. */
int tui_run(struct session *s, const struct options *o);

#endif
