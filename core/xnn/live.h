/* live.h - an XNNPACK graph on the host's libXNNPACK. Only the worker process may call this: a subgraph that
 * the library's assertions reject aborts the process. live_open checks what it can first. Only live_supports and
 * live_version, which call nothing of the library, are for all. */
#ifndef CORE_XNN_LIVE_H
#define CORE_XNN_LIVE_H

#include "core/format/xgraph.h"
#include "core/op/op.h"

struct live;
struct live_pool;	/* threads */

bool live_pool_open(struct live_pool **pool, int threads, struct error *err);	/* also initialises XNNPACK */
void live_pool_close(struct live_pool *pool);
/* Weights lie in this mapped file, which must stay: its pages are given back while they are packed. */
void live_pool_reads(struct live_pool *pool, const struct file *f);

/* Creates the subgraph and the runtime (packs the weights). data behind x must stay. */
bool live_open(struct live **out, const struct xgraph *x, struct live_pool *pool, bool profile, struct error *err);
/* Runs: arg[i] is the tensor of external id i; shapes of inputs are taken from the tensors (memory order), the
 * outputs are resized and must have capacity for it. */
bool live_run(struct live *l, struct tensor *const *arg, int nargs, struct error *err);
void live_close(struct live *l);

/* Whether this host's library has the nodes and datatypes, and they fit together; if not, why (the caller runs it
 * portably). ERROR_MISSING: the target's library has it (warning `xnnpack_missing`). *node, unless NULL: which it is, or
 * -1: a value. */
bool live_supports(const struct xgraph *x, int *node, struct error *err);
const char *live_version(void);	/* "2024-11" */

#endif
