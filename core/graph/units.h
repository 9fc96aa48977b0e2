/* units.h - what becomes one call when a graph is run or written: a node outside groups, or a whole group.
 *
 * A group's nodes may lie apart in the list, so others may have to move: units come in an order that keeps
 * dataflow, the order of reads and writes of each state, and the order of everything that has effects of its own;
 * apart from that each stands where its last node stood. Fails when a group would have to run both before and
 * after something else. */
#ifndef CORE_GRAPH_UNITS_H
#define CORE_GRAPH_UNITS_H

#include "core/graph/graph.h"

struct unit {
	int group;		/* or -1 */
	struct node **node;	/* in program order */
	int nnodes;
	int key;		/* where it would like to be */
};

struct units { struct unit *at; int n; };

/* root[id]: the value in whose memory value id lies (a view of state reads state); NULL: each in its own.
 * Numbers the nodes. Memory is the arena's. */
bool graph_units(struct units *out, const struct graph *g, const int *root, struct arena *a, struct error *err);

#endif
