/* calls.h - what an instruction of a file reads and writes.
 *
 * A kernel call's arguments are those of the operator's schema, then the out arguments, then the return slot
 * (facts: formats, 1.4). The op table tells how many there are of each; for an operator that has no row, or a
 * call that does not fit its row, the return slot tells: it repeats the out argument, or lists the outs, or
 * names the argument that is written in place, or is a number that gets overwritten. */
#ifndef CORE_PROGRAM_CALLS_H
#define CORE_PROGRAM_CALLS_H

#include "core/format/pte.h"
#include "core/op/op.h"

enum { CALL_OPTIONS = 4 };	/* dtype, layout, device, pin_memory */

struct kernel_call {
	const struct op *op;	/* NULL: unknown, or the call does not fit the row */
	const char *name;	/* "aten::add.out" */
	const int32_t *arg;	/* by schema position, but without the options of op_options_arg */
	int nargs;
	const int32_t *out;	/* values that are written: tensors, or one number */
	int nouts;
	int in_place;		/* of a call without row: the argument that is written, or -1 */
	bool takes_pointer;	/* et_view: the out value is made to point where argument 0 points */
};

/* The row and name of each operator of a plan, looked up once. */
struct call_table {
	const struct pte_plan *plan;
	const struct op **op;
	const char **name;
};

void call_table_init(struct call_table *t, const struct pte_plan *plan, struct arena *a);
struct kernel_call call_read(const struct call_table *t, const struct pte_instruction *in);
/* As call_read for a call whose arguments are not what the row wants: by the return slot alone. */
struct kernel_call call_guess(const struct call_table *t, const struct pte_instruction *in);

/* Argument i is written in place. */
bool call_writes(const struct kernel_call *c, int i);

/* Calls f for each tensor value that value `v` is or lists. */
void call_each_tensor(const struct pte_plan *plan, int32_t v, void (*f)(int32_t v, void *ctx), void *ctx);

#endif
