/* live_define.h - nodes of an xgraph as nodes of an xnn_subgraph_t; for live.c. */
#ifndef CORE_XNN_LIVE_DEFINE_H
#define CORE_XNN_LIVE_DEFINE_H

#include "core/base/map.h"
#include "core/format/xgraph.h"
#include "core/xnn/live.h"

#include <xnnpack.h>

struct live_build {
	xnn_subgraph_t subgraph;
	const struct xgraph *x;
	struct arena *mem;
	struct map id;		/* id in x -> struct live_id */
};

struct live_id { uint32_t xnn; const struct xvalue *value; };

const struct live_id *live_id(const struct live_build *b, uint32_t id);	/* NULL: no such value */
bool live_has(const struct xnode *n, struct error *err);	/* whether the library has such a node */
bool live_define(struct live_build *b, const struct xnode *n, struct error *err);

/* live_check.c: what the library would meet with an assertion, or does not have, as an error. */
bool live_check(const struct live_build *b, const struct xnode *n, struct error *err);
bool live_check_value(const struct xvalue *v, struct error *err);
/* Whether XNNPACK packs this input of the node (filter, bias), and so does not read it when it runs. */
bool live_is_packed(const struct xnode *n, int field);

/* live_trial.c: a small linear with weights of this kind, compared with what it must give. f16: one with as many outputs
 * as the kernels that are in doubt make at once; smaller ones have others. */
enum { LIVE_TRIAL_TILE = 64 };
bool live_trial(enum xdatatype d, struct live_pool *pool, struct error *err);
bool live_open_untried(struct live **out, const struct xgraph *x, struct live_pool *pool, struct error *err);

const char *live_status(int status);	/* enum xnn_status as words */

#endif
