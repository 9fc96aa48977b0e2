/* lower.h - a group of nodes as an XNNPACK graph.
 *
 * Chooses the layout of every value (NHWC for convolutions, pooling, resizing and what lies between them, NCHW
 * for reshapes and linears; StaticTranspose where they meet), fuses activations, and stores as static data only
 * what XNNPACK packs: filters and biases of convolutions and linears, and quantisation scales. Any other
 * constant becomes an argument of the call, because the stock runtime frees a delegate's bytes after packing. */
#ifndef CORE_XNN_LOWER_H
#define CORE_XNN_LOWER_H

#include "core/format/xgraph.h"
#include "core/graph/units.h"

struct xlowered {
	struct xgraph graph;		/* external ids: position in `arg` */
	struct value **arg;		/* inputs, then outputs, in the order of the delegate call */
	int nargs, ninputs;
	struct pte_named *named;	/* static data to store: key (SHA-256 hex; scales with "scale_"), bytes */
	int *home;			/* by named entry: enum value_home of the constant whose bytes it holds */
	int nnamed;
};

/* Lowers the nodes of a group, which must all be accepted; memory is the arena's (weights that need another
 * layout are copied there, others point to the constant's bytes). */
bool xnn_lower(struct xlowered *out, const struct graph *g, const struct unit *u, struct arena *a, struct error *err);
/* The same without keys and `named`, for running it here: hashing large weights takes time. */
bool xnn_lower_unkeyed(struct xlowered *out, const struct graph *g, const struct unit *u, struct arena *a,
		       struct error *err);

/* Lower-case hex SHA-256 of bytes, with a prefix, in the arena. */
const char *data_key(struct arena *a, const char *prefix, const void *data, size_t bytes);

#endif
