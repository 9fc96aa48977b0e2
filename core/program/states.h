/* states.h - the state of a program: memory that lives from run to run.
 *
 * A tensor is state if it has memory and stored bytes; if it has memory and a name (exporters name only what methods
 * share); if an instruction reads or changes it where nothing in the method has written; or if another method's
 * state lies in the same place of an arena that methods share (memory ids from 2 on), or has its name. Equal slots
 * are one piece of memory, in all methods. */
#ifndef CORE_PROGRAM_STATES_H
#define CORE_PROGRAM_STATES_H

#include "core/program/program.h"

struct states {
	int **slot;		/* by plan and value; -1: not state */
	int nslots;
	const char **conflict;	/* by plan: why the state of this method cannot be told apart, or NULL */
};

void states_find(struct program *p);

#endif
