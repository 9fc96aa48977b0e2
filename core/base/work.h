/* work.h - long work, seen from outside: how far it is, and whether it is to stop.
 *
 * One thread works and asks work_goes_on between two steps; another reads what is noted, and sets stop. Where
 * nobody looks on, the work is NULL. */
#ifndef CORE_BASE_WORK_H
#define CORE_BASE_WORK_H

#include "core/base/error.h"

struct work {
	_Atomic bool stop;
	const char *_Atomic what;	/* "writing calls"; NULL: nothing was noted yet */
	_Atomic int done, total;		/* steps; total 0: not known */
};

/* Notes where the work is. False when it is to stop, with the error "stopped". */
bool work_goes_on(struct work *w, const char *what, int done, int total, struct error *err);

#endif
