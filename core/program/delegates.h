/* delegates.h - which arguments of a delegate call are written.
 *
 * An XNNPACK blob tells. For another backend the rule is "inputs, then outputs": an argument that holds something
 * is an input and so are those before it; what nothing wrote before and something reads afterwards is an output. */
#ifndef CORE_PROGRAM_DELEGATES_H
#define CORE_PROGRAM_DELEGATES_H

#include "core/program/program.h"
#include "core/program/replay.h"

/* First of the arguments that are outputs of a foreign delegate; sets *unsure when it had to guess. uses: how often
 * each value stands in the plan's instructions and outputs. */
int delegate_first_output(const struct replay *r, const struct pte_instruction *in, const int *uses, bool *unsure);
/* uses[v] for delegate_first_output. */
int *delegate_uses(const struct pte_plan *plan, struct arena *a);
/* The XNNPACK graph that a call goes to; NULL and an error when it cannot be read, or the call lacks arguments. */
const struct xgraph *delegate_graph(const struct program *p, int plan, const struct pte_instruction *in,
				    struct error *err);

#endif
