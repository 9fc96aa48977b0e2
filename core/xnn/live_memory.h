/* live_memory.h - memory for XNNPACK, which takes one allocator for the whole process.
 *
 * Packing reads all weights of a graph before any of its memory can be had back. Weights of a mapped file need not be
 * resident once they are packed: as each piece of packed memory is asked for, the pages read so far are given back. */
#ifndef CORE_XNN_LIVE_MEMORY_H
#define CORE_XNN_LIVE_MEMORY_H

#include "core/format/file.h"

#include <xnnpack.h>

const struct xnn_allocator *live_allocator(void);
/* Between these two, weights come from the n files. */
void live_packing_begins(const struct file *const *file, int n);
void live_packing_ends(void);

#endif
