/* facts_parts.h - what the parts of the facts share. facts.c makes rows, facts_fix.c decides what would help and
 * tells the story, facts_file.c says what is in the file: delegates, calls, bytes; facts_warn.c what is wrong with it. */
#ifndef CORE_SESSION_FACTS_PARTS_H
#define CORE_SESSION_FACTS_PARTS_H

#include "core/base/map.h"
#include "core/graph/units.h"
#include "core/program/meant.h"
#include "core/session/facts.h"

struct making_facts {
	struct method_facts *f;
	const struct facts_source *s;
	const struct graph *g;
	struct arena *mem, scratch;
	bool *constant;			/* by value id: depends on constants alone */
	struct map fold_at;		/* GEMM -> its fold; of two, the weight's */
	struct map fold_in;		/* producer of a weight -> a fold it belongs to */
	struct map linear_at;
	int *call_of_group;		/* number of its delegate call, or -1 */
	const struct unit **unit_of_group;	/* NULL: no node is in it */
	struct buffers buffers;		/* states that the program writes */
	double work;			/* of all nodes, to compare with */
};

/* facts_fix.c */
void facts_find_plans(struct making_facts *m);
void facts_fix(struct making_facts *m, struct node_row *r);
void facts_story(struct making_facts *m, struct node_row *r);

/* facts_file.c */
bool facts_number_delegates(struct making_facts *m, struct error *err);
bool facts_of_file(struct making_facts *m, struct error *err);

/* facts_warn.c */
void facts_find_warnings(struct making_facts *m);

#endif
