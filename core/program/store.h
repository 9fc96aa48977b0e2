/* store.h - the stored bytes of a program that is being written: each content once.
 *
 * Constants are numbered as pte_image wants them (0 is the placeholder). Equal bytes get equal pointers, so that
 * pte_write lets a delegate's named data and a constant share their place. Spans are not copied. */
#ifndef CORE_PROGRAM_STORE_H
#define CORE_PROGRAM_STORE_H

#include "core/base/same.h"
#include "core/format/pte.h"

struct content;

struct store {
	struct arena *mem;
	struct map by_pointer;		/* where bytes start -> content */
	struct same same;		/* bytes -> content */
	struct content *empty;		/* of no bytes, or NULL */
	struct map by_key;		/* named data -> entry number + 1 */
	vec(struct span) constant;
	vec(struct span) mutable;
	vec(struct pte_named) named;
	uint64_t bytes;			/* of all contents */
};

void store_init(struct store *s, struct arena *mem);
/* The span that stands for these bytes from now on. */
struct span store_bytes(struct store *s, struct span b);
uint32_t store_constant(struct store *s, struct span b);
uint32_t store_mutable(struct store *s, struct span b);
/* False when other bytes have this key already. */
bool store_named(struct store *s, const char *key, size_t key_bytes, struct span b, struct error *err);
struct span store_find_named(const struct store *s, const char *key, size_t key_bytes);	/* no data: not there */

#endif
