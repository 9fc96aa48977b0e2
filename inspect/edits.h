/* edits.h - what the pages do to a session: steps that are undone as one, although they push several versions. */
#ifndef INSPECT_EDITS_H
#define INSPECT_EDITS_H

#include "core/session/session.h"

struct edits {
	struct arena mem;
	struct { int *at; int n, cap; } stop;	/* versions that undo and redo land on, ascending; 0 is one */
	int saved;				/* the version that is on disk */
};

/* Applies steps in order, as one edit; on failure nothing has changed. */
bool edits_apply(struct session *s, const enum apply_step *step, int n, struct error *err);
/* Notes the edit that led from version `before` to the current one; false: it changed nothing. */
bool edits_note(struct edits *e, const struct session *s, int before);
bool edits_undo(struct edits *e, struct session *s);	/* false: nothing to undo */
bool edits_redo(struct edits *e, struct session *s);
bool edits_unsaved(const struct edits *e, const struct session *s);
void edits_describe(const struct session *s, char *buf, size_t bytes);	/* "fold, partition", "" for the file itself */

#endif
