/* raise.h - an XNNPACK graph as nodes of the IR: the same operators as outside delegates.
 *
 * An NHWC node becomes permute_copy [0,3,1,2] -> op -> permute_copy [0,2,3,1] (core/pass/transposes cancels the
 * pairs); an OHWI filter is the OIHW one in another dim order; fused min and max become clamp (relu, hardtanh);
 * quantised values keep their integers behind quantize and dequantize nodes. */
#ifndef CORE_XNN_RAISE_H
#define CORE_XNN_RAISE_H

#include "core/format/xgraph.h"
#include "core/graph/graph.h"

/* Adds the nodes to g, each with group and origin {.., dnode}. arg[i]: the value of external id i for inputs; for
 * outputs the made value is put there. type[i]: the tensor that argument i is in the file, for outputs in another
 * dim order or of rank 0. Each output is a value of its own, made in the group. Node types that cannot be raised
 * (SDPA, ArgMaxPooling2d) become opaque nodes. as_meant: doubtful nodes (doubt.h) as the program said. Fails, and
 * leaves g as it was, when the graph and the arguments of the call contradict each other. */
bool xnn_raise(struct graph *g, const struct xgraph *x, struct value **arg, const struct pte_tensor *const *type,
	       int nargs, int group, struct origin origin, bool as_meant, struct error *err);

/* The dtype of a tensor that XNNPACK has as t; DTYPE_CODES: none. */
enum dtype raise_dtype(enum xdatatype t);

/* Takes out what only makes the same integers again, quantize(dequantize(x)) with the same parameters, and what nobody
 * reads of the nodes that raising put beside the delegate's own. For nodes of one group that all stand behind a node
 * (NULL: at the start). */
void xnn_raise_tidy(struct graph *g, int group, struct node *behind);

#endif
