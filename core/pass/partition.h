/* partition.h - which nodes run in which delegate.
 *
 * partition_apply gives every node XNNPACK takes to a group and merges groups as far as no path leaves a
 * group and comes back (facts: partition, 1.4); foreign delegates and opaque nodes stay as they are. Decomposed
 * forms (linear as permute + addmm, hardswish, max_pool2d with unread indices, ...) are put back together
 * first (recompose.h). Edits g in place: give it a clone. A group whose nodes are exactly those of one filed
 * delegate, unedited, keeps that delegate's bytes. Refuses (leaves out) what would add tensor bytes. */
#ifndef CORE_PASS_PARTITION_H
#define CORE_PASS_PARTITION_H

#include "core/graph/graph.h"

bool partition_apply(struct graph *g, struct error *err);

#endif
