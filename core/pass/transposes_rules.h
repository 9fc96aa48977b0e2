/* transposes_rules.h - how operators behave under a permutation of their input's dimensions.
 *
 * Throughout, v = permute(u, p) means: dimension d of v is dimension p[d] of u. */
#ifndef CORE_PASS_TRANSPOSES_RULES_H
#define CORE_PASS_TRANSPOSES_RULES_H

#include "core/graph/graph.h"

struct perm { int rank; uint8_t at[MAX_RANK]; };

bool perm_is_identity(const struct perm *p);
bool perm_equal(const struct perm *a, const struct perm *b);
/* The permutation of a permute_copy node; false when it is no literal. */
bool perm_of_node(const struct node *n, struct perm *p);

/* n computes op(v, ...) with every tensor input v = permute(u, p), or such that the permutation does not show (one
 * element). If op(u, ...) with other literals gives what n gives, permuted: sets out to that permutation and rewrites
 * the literals in arg, a copy of n's arguments (lists that change are made in the arena). */
bool perm_moves_through(const struct node *n, const struct perm *p, struct arg *arg, struct perm *out, struct arena *a);

/* n gives the same when v = permute(u, p) is replaced by u. */
bool perm_does_not_matter(const struct node *n, const struct value *v, const struct perm *p);

#endif
