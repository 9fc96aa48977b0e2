/* module.h - which module of the model a node belongs to.
 *
 * Where the file names its constants ("block.conv.weight"), a module is the path in front of the last word, and a
 * node belongs to that of the constants it reads. Where it does not, each node with a weight (linear, convolution,
 * matmul) is a module of its own, called by its operator and a number, as tracers do. In both, what only computes a
 * weight belongs to the node that reads the weight, and what follows belongs to the module it follows. */
#ifndef CORE_SESSION_MODULE_H
#define CORE_SESSION_MODULE_H

#include "core/graph/graph.h"

/* By order of the nodes (graph_number is called); "" where there is none. constant[id]: the value depends on
 * constants alone. */
const char **module_names(const struct graph *g, const bool *constant, struct arena *a);

#endif
