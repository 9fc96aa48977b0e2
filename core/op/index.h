/* index.h - the walk behind all operators that move elements by index: over a shape, an element of `other` goes to or
 * comes from base + offset. The offsets have been made from the index tensors and checked before, so that a bad index
 * is an error before anything is moved. */
#ifndef CORE_OP_INDEX_H
#define CORE_OP_INDEX_H

#include "core/op/loop.h"

bool index_is_list(const struct tensor *t);	/* i64 or i32 */

/* Makes offsets of this shape, in scratch, all 0. */
bool index_offsets(struct call *c, struct tensor *offsets, int rank, const int64_t *size, struct error *err);
/* Adds index * stride of one more index tensor, broadcast; an index must lie in [0, size), or with wrap in
 * [-size, size). */
bool index_offsets_add(const struct call *c, struct tensor *offsets, const struct tensor *index, int64_t size,
		       int64_t stride, bool wrap, struct error *err);

/* Offsets of one index tensor, and what they must be multiplied with: an i64 index serves as it is. */
bool index_offsets_of(struct call *c, const struct tensor *index, int64_t size, int64_t stride, struct tensor *offsets,
		      int64_t *scale, struct error *err);

enum index_move { INDEX_TAKE, INDEX_PUT, INDEX_ADD };
/* All have the shape of `other` (base and offsets by broadcasting), and one dtype. Writes go in the order of the
 * offsets: the last wins. */
void index_move(enum index_move how, const struct tensor *other, const struct tensor *base,
		const struct tensor *offsets, int64_t scale);

#endif
