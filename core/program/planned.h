/* planned.h - the memory plan of a method as its file holds it: which bytes of which arena each tensor has, and from
 * which call to which.
 *
 * The plan is replayed (replay.h), so a view that no call writes keeps alive what it looks at, and a tensor that is
 * written in place ends where its successor begins. Calls of all chains are counted through, from 1; step 0 is before
 * the first (inputs, state), the last step is when the outputs are read. Of a method with control flow the lives are
 * those of calls in file order. Memory is the arena given; the plan must live as long. */
#ifndef CORE_PROGRAM_PLANNED_H
#define CORE_PROGRAM_PLANNED_H

#include "core/base/work.h"
#include "core/format/pte.h"

struct value;
struct node;

struct planned_tensor {
	int32_t value;			/* in the plan: that which was written */
	uint32_t arena;			/* memory id */
	uint64_t offset, bytes;
	int first, last;		/* steps, both inclusive */
	int chain, instruction;		/* the call that writes it; instruction -1: step 0 */
	bool held;			/* state, or read before anything writes it: it lives all the time */
	/* What it is in the graph; NULL where that is not known. Left to the caller of planned_make. */
	const struct value *is;
	const struct node *by;
};

struct planned {
	const struct pte_plan *plan;
	struct planned_tensor *tensor;	/* by first step, in the order written */
	int n;
	int nsteps;
	uint64_t *in_use;		/* by step: bytes of all tensors that live */
	uint64_t peak;
	int peak_step;			/* the first with the peak */
	uint64_t arenas;		/* bytes of all arenas, as the plan asks for them */
};

/* held[v]: value v is state; NULL: none is. False, with the error "stopped", when work (may be NULL) is to stop. */
bool planned_make(struct planned *p, const struct pte_plan *plan, const bool *held, struct arena *a, struct work *work,
		  struct error *err);

#endif
