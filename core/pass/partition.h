/* partition.h - which nodes run in which delegate.
 *
 * partition_apply puts operators back together that were taken apart (recompose.h), gives every node that
 * XNNPACK takes to a group, and makes as few groups as can be: no path, nor any order of reads and writes of state,
 * leaves a group and comes back. Foreign delegates stay, and so do filed ones that hold a node we would not
 * delegate ourselves. A group whose nodes are exactly those of one filed delegate, unedited, keeps that delegate's
 * bytes; where nothing is gained the graph stays as it is. Pure nodes that nobody reads go.
 *
 * Stored bytes do not grow: a node is left out when a delegate would have to store its filter in another layout
 * while something else goes on reading it as it lies (vectors, biases and statistics, are not counted).
 * Edits graphs in place: give it clones. */
#ifndef CORE_PASS_PARTITION_H
#define CORE_PASS_PARTITION_H

#include "core/graph/graph.h"

bool partition_apply(struct graph *g, struct error *err);
/* The same for all methods of a program: what one reads counts for the bytes of the others. */
bool partition_apply_all(struct graph *const *g, int ngraphs, struct error *err);

/* By group: the first node of a filed delegate that reads a constant stored in the delegate when it runs, or NULL. The
 * stock runtime has freed those bytes by then, unless it packed them (filters and biases): the program may crash.
 * Partitioning makes such a delegate anew, with the constant as an argument. */
const struct node **groups_read_freed(const struct graph *g, struct arena *a);

/* By order of the nodes of `of` (graph_number), which is one of g: why a node that XNNPACK takes is left out all the
 * same, because the file would grow; NULL where it is not. */
const char **partition_left_out(struct graph *const *g, int ngraphs, const struct graph *of, struct arena *a);

#endif
