/* cost.h - what a node costs by its shapes alone: arithmetic and traffic. Upper bounds where sizes vary. */
#ifndef CORE_SESSION_COST_H
#define CORE_SESSION_COST_H

#include "core/graph/graph.h"

/* A multiplication and an addition are two. Views and copies compute nothing. */
double cost_flops(const struct node *n);
/* Bytes of the tensors it reads, each as often as it is read, and of those it makes; a view moves none. */
uint64_t cost_bytes(const struct node *n);

#endif
