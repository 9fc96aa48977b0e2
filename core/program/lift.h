/* lift.h - a method of a file as a graph.
 *
 * Kernel calls become functional nodes, XNNPACK delegates are raised (core/xnn/raise.h), elided views are found
 * by replaying the memory plan (a value no instruction writes is a view of what its allocation held last),
 * values that any method writes are state, memory plan and Free calls go. What cannot be lifted (unknown
 * operators, foreign delegates, control flow) becomes opaque nodes, with graph->rigid where the rest cannot be
 * trusted to be complete. Fails only when a data file does not fit the program, or a small file asks for endless
 * nodes.
 *
 * value->file_value is the value's index in the method as filed; a mutable tensor may be several values there, and
 * then is several values of one state slot here. The id of an elided view ("forward/v12") has that index, too. */
#ifndef CORE_PROGRAM_LIFT_H
#define CORE_PROGRAM_LIFT_H

#include "core/program/program.h"

struct graph *lift_method(struct program *p, int plan, struct error *err);
/* The same with doubtful nodes of delegates (core/xnn/doubt.h) as they were meant. For running it portably. */
struct graph *lift_method_as_meant(struct program *p, int plan, struct error *err);

#endif
