/* constants.h - the constants that a version of a program stores, and which of them are the same bytes.
 *
 * Stored bytes are one constant wherever they are read; what lies in a missing data file goes by its name. Of the
 * file as it came equal bytes may be stored several times. A later version is written anew: what one file would hold
 * twice it holds once, so that is one constant. */
#ifndef CORE_SESSION_CONSTANTS_H
#define CORE_SESSION_CONSTANTS_H

#include "core/graph/graph.h"

/* A value of a method that is the constant. */
struct constant_holder { const struct graph *graph; const struct value *value; struct constant_holder *next; };

struct constant_row {
	const struct value *value;
	struct constant_holder *holder, *last;	/* methods in order; the first holds `value` */
	int users, methods;
	int copies;			/* how many constants hold these bytes; 1: it alone */
	const struct value *same;	/* the first of them: itself, if it is that */
};

/* Largest first, in the arena. filed: they are those of the file. */
struct constant_row *constants_find(struct graph *const *method, int nmethods, bool filed, struct arena *a, int *n);

#endif
