/* partition_parts.h - what the files of the partition pass share.
 *
 * partition.c runs the steps, partition_role.c says what each node may do, partition_bytes.c leaves out what would
 * store bytes twice, partition_level.c makes groups. */
#ifndef CORE_PASS_PARTITION_PARTS_H
#define CORE_PASS_PARTITION_PARTS_H

#include "core/base/map.h"
#include "core/op/op.h"
#include "core/pass/partition.h"

enum role {
	ROLE_PORTABLE,
	ROLE_TAKEN,	/* goes into a delegate */
	ROLE_PART,	/* a quantisation node that goes along with the convolutions and linears that read it */
	ROLE_PINNED,	/* stays in the group it is in */
};

struct method {
	struct graph *g;
	bool repair;		/* delegates that read what the runtime has freed are made anew */
	enum role *role;	/* by node order */
	int *level;		/* by node order: groups of taken nodes, 0 the latest; -1: none */
	int nlevels;
};

struct partition {
	struct arena mem, scratch;
	struct method *method;
	int nmethods;
	struct map readers;	/* bytes of a constant -> struct readers */
};

void role_find(struct partition *p, struct method *m);
void role_settle(struct method *m);	/* parts stay with what takes them along: portable where not all readers do */
/* Takes back nodes whose filter something else goes on reading in another layout. */
void bytes_leave_out(struct partition *p);
const char *bytes_would_grow(const struct partition *p, const struct method *m, const struct node *n, struct arena *a);
bool level_find(struct partition *p, struct method *m, struct error *err);

#endif
