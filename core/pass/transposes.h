/* transposes.h - cancels permutations: permute after permute, pairs around operators that do not care about
 * layout (axis, pad and slice literals are rewritten), permutes of constants (only the dim order changes).
 * Every step is proved from ranks and literals; nothing else changes. Nodes that hang together are rewritten only if
 * fewer permutes are left than there were; permutes are not looked at across the border of a delegate, and what
 * leaves one stays a value that is made in it. Used on raised delegates, and before fold and linear. */
#ifndef CORE_PASS_TRANSPOSES_H
#define CORE_PASS_TRANSPOSES_H

#include "core/graph/graph.h"

/* Only nodes of `group` are looked at (-2: all nodes). Returns how many nodes went; -1 on failure. */
int transposes_apply(struct graph *g, int group, struct error *err);
/* The same where all nodes of the group stand behind a node (NULL: at the start). */
int transposes_apply_behind(struct graph *g, int group, struct node *behind, struct error *err);

#endif
