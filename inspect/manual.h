/* manual.h - the manual page, made of the option table, the list of requests and the names of colours. */
#ifndef INSPECT_MANUAL_H
#define INSPECT_MANUAL_H

#include "core/base/str.h"

void manual_print(struct str *s);	/* man(7) source */

#endif
