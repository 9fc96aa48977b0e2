/* split.h - filters that the host's cache cannot hold, as several smaller ones.
 *
 * For every few rows of output the 2024 library goes through all the packed weights of a group; the target's picks
 * tiles that stay in cache (its xnn_gemm_best_tile_size). To take as long here as there, a convolution or linear whose
 * weights outgrow the cache is split by output channels, and the parts are put side by side again. Each element
 * is the same sum, rounded otherwise at most. Only for running on this host; nothing of it is ever written. */
#ifndef CORE_XNN_SPLIT_H
#define CORE_XNN_SPLIT_H

#include "core/format/xgraph.h"

/* cache_bytes: of the second level. dynamic: sizes may be smaller when it runs. Nodes and values are in the arena; filters
 * that had to be gathered are in `packed`, which may go once the runtime is made. How many nodes were split. */
int xnn_split(struct xgraph *x, size_t cache_bytes, bool dynamic, struct arena *a, struct arena *packed);

#endif
