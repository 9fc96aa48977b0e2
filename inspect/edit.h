/* edit.h - what the pages do to a session: steps that are undone as one, although they push several versions. */
#ifndef INSPECT_EDIT_H
#define INSPECT_EDIT_H

#include "core/session/session.h"

struct edits {
	struct arena mem;
	struct { int *at; int n, cap; } stop;	/* versions that undo and redo land on, ascending; 0 is one */
	int saved;				/* the version that is on disk */
};

/* Applies steps in order, as one edit. *changed: whether anything did; on failure nothing has. */
bool edit_apply(struct edits *e, struct session *s, const enum apply_step *step, int n, bool *changed, struct error *err);
bool edit_undo(struct edits *e, struct session *s);	/* false: nothing to undo */
bool edit_redo(struct edits *e, struct session *s);
bool edit_unsaved(const struct edits *e, const struct session *s);
void edit_describe(const struct session *s, char *buf, size_t bytes);	/* "fold, partition", "" for the file itself */

#endif
