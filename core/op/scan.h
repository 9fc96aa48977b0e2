/* scan.h - reductions that go through one dimension in order: where the largest is, running sums. Their rows are
 * in reduce.c. */
#ifndef CORE_OP_SCAN_H
#define CORE_OP_SCAN_H

#include "core/op/loop.h"

/* The type of argument 0 with some dimensions reduced, in the default dim order. */
bool scan_reduced_type(const struct call *c, const bool *reduced, bool keep, enum dtype t, struct tensor *out,
		       struct error *err);

/* (self, dim or none, keepdim): the index of the first largest or smallest; a NaN is both. */
call_fn scan_argmax_shape, scan_argmax, scan_argmin;
/* (self, dim, keepdim): the same with its value. */
call_fn scan_max_shape, scan_max, scan_min;
/* (self, dim, dtype) */
call_fn scan_cumsum_shape, scan_cumsum;

#endif
