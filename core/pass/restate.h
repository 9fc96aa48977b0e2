/* restate.h - operators that XNNPACK lacks, said with ones that it has, where both do the same.
 *
 *   squeeze, unsqueeze, ...   view_copy, where sizes are static: between nodes of a delegate they no longer part it
 *   quantize(dequantize(i))   i, where both have the same parameters; copies that are left out of delegates may stand
 *                             between
 *
 * Only what XNNPACK then takes is restated, and only nodes outside delegates. */
#ifndef CORE_PASS_RESTATE_H
#define CORE_PASS_RESTATE_H

#include "core/graph/graph.h"

bool restate_apply(struct graph *g, struct error *err);

#endif
