/* lift.h - a method of a file as a graph.
 *
 * Kernel calls become functional nodes, XNNPACK delegates are raised (core/xnn/raise.h), elided views are found
 * by replaying the memory plan (a value no instruction writes is a view of what its allocation held last),
 * values that any method writes are state, memory plan and Free calls go. What cannot be lifted (unknown
 * operators, foreign delegates, control flow) becomes opaque nodes, with graph->rigid where the rest cannot be
 * trusted to be complete. Fails only on a file that pte_read should have refused, or memory. */
#ifndef CORE_PROGRAM_LIFT_H
#define CORE_PROGRAM_LIFT_H

#include "core/program/program.h"

struct graph *lift_method(const struct program *p, int plan, struct error *err);

#endif
