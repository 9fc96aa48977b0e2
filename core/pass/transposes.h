/* transposes.h - cancels permutations: permute after permute, pairs around operators that do not care about
 * layout (axis, pad and slice literals are rewritten), permutes of constants (only the dim order changes).
 * Every step is proved from ranks and literals; nothing else changes. Used on raised delegates, and before
 * fold and linear. */
#ifndef CORE_PASS_TRANSPOSES_H
#define CORE_PASS_TRANSPOSES_H

#include "core/graph/graph.h"

/* Only nodes of `group` are looked at (-2: all nodes). Returns how many nodes went; -1 on failure. */
int transposes_apply(struct graph *g, int group, struct error *err);

#endif
