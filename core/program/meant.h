/* meant.h - a method as its program was before the stock lowering got nodes of it wrong, as far as the file still shows
 * it: doubtful nodes (core/xnn/doubt.h) put right, and weights that are a buffer the program writes read from there. For
 * running it portably beside the method as filed, and telling how far the two are apart. */
#ifndef CORE_PROGRAM_MEANT_H
#define CORE_PROGRAM_MEANT_H

#include "core/program/program.h"

/* The caller frees it, before the program. */
struct graph *program_as_meant(struct program *p, int plan, struct error *err);

/* States of g that have a first content and that one of the methods writes. Memory is the arena's. */
struct buffers { struct value **at; int n, cap; };
struct buffers buffers_written(const struct graph *g, struct graph *const *method, int nmethods, struct arena *a);

/* The one of them that w, a weight stored in a delegate of g, was when the file was made: the same sizes and the same
 * numbers as its first ones. XNNPACK packs weights once and sees no change. NULL: none. Reads as many numbers as are
 * equal. */
struct value *weight_buffer(const struct buffers *b, const struct value *w);

#endif
