/* loading.h - a program is opened in a thread; if that takes a moment, a screen shows how far it is, and Esc or q ends it. */
#ifndef INSPECT_LOADING_H
#define INSPECT_LOADING_H

#include "inspect/options.h"

/* The session with its facts, and the terminal open or not yet. NULL: the terminal is as it was; *status is the exit
 * status, and *err says why unless the person wanted to leave. */
struct session *loading_run(const struct options *o, int *status, struct error *err);

#endif
