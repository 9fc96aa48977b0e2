/* preview.h - what one fold alone would give, were the program partitioned again afterwards. Nothing is evaluated
 * and no weight is looked at: the folded tensor stands in as a constant without bytes. */
#ifndef CORE_SESSION_PREVIEW_H
#define CORE_SESSION_PREVIEW_H

#include "core/session/session.h"

struct fold_preview {
	bool known;		/* else the fold stays, or the program is too large to try each one */
	int delegates_after;	/* of the method */
	uint64_t bytes_after;	/* of the file: tensor bytes counted, tables taken to stay as large */
};

/* One for each fold of the version's plan, in the arena. */
bool preview_folds(struct session *s, int version, struct arena *a, struct fold_preview **out, struct error *err);

#endif
