/* explain.h - what the parts of --explain share: explain.c tells of nodes, explain_weight.c of stored tensors. */
#ifndef VIEWS_EXPLAIN_H
#define VIEWS_EXPLAIN_H

#include "views/report.h"

/* The tensors that r->explain names, in each method that reads it: to the array, or as text where that is NULL. Those
 * that the result does not have any more are told of as they were. How many there were. */
int explain_weight(struct text *t, json_t *array, const struct report *r);

#endif
