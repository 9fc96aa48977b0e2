/* maker_graph.h - a method made out of a graph, as plainly as can be: every value has memory of its own, no view is
 * elided, nothing is delegated. It knows nothing of core/program's way to write, which it is there to test. */
#ifndef TESTS_MAKER_GRAPH_H
#define TESTS_MAKER_GRAPH_H

#include "core/graph/graph.h"
#include "tests/maker.h"

/* A method of the graph's name; the graph must live until the program is written. Constants with the same `data` are
 * stored once; those at home in a data file are external, found by name. State of equal slots is shared. */
void maker_graph(struct maker *m, const struct graph *g);

#endif
