/* recompose.h - puts operators back together that the exporter's decomposition took apart.
 *
 * Each form is proved on the dataflow (facts: partition, 4.2): linear, hardswish, prelu. Values that something
 * else reads stay. recompose_linears is also the linear conversion's means to write what it decided. */
#ifndef CORE_PASS_RECOMPOSE_H
#define CORE_PASS_RECOMPOSE_H

#include "core/graph/graph.h"

int recompose_apply(struct graph *g, struct error *err);	/* how many, -1 on failure */

#endif
