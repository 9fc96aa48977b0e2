/* xblob.h - the XNNPACK delegate's blob, bytes <-> struct xgraph.
 *
 *   0   4 zero bytes, "XH00", u16 header length 30, u32 tables offset, u32 tables bytes, u32 constants offset,
 *       u64 their bytes
 *   32  flatbuffer "XN01" ("XN00" is read as well), padded to 16
 *   ..  constant data (empty in today's exports: constants are named data, under the SHA-256 of their bytes)
 *   Without "XH00" the whole blob is the flatbuffer and constants are in its constant_buffer.
 *
 * xblob_read checks ids, flags, external ids, ranks, permutations, that nodes come in an order in which every value
 * is written once and before it is read, and that every constant is as long as its tensor needs (a constant shorter
 * than that makes the stock runtime read past it). Ids become indices: value[i].id == i. A key that `lookup` does not
 * find is no error here: the value then has a key and no data. */
#ifndef CORE_FORMAT_XBLOB_H
#define CORE_FORMAT_XBLOB_H

#include "core/format/xgraph.h"

/* Finds the bytes of a named key: in the .ptd files first, then in the program. data NULL: not there. */
typedef struct span xblob_lookup(void *ctx, const char *key, size_t key_bytes);

/* `name` and `base` place the blob in messages: file name and its offset there. */
bool xblob_read(struct xgraph *g, struct span blob, size_t base, const char *name, xblob_lookup *lookup, void *ctx,
		struct arena *a, struct error *err);

/* Writes a blob with header; constants by key (x->key; the caller stores the bytes as named data). */
bool xblob_write(const struct xgraph *g, struct arena *a, struct span *blob, struct error *err);

#endif
