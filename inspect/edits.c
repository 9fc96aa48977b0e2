#include "inspect/edits.h"

#include <stdio.h>

static void back_to(struct session *s, int version)
{
	while (s->current > version && session_undo(s))
		;
}

bool edits_apply(struct session *s, const enum apply_step *step, int n, struct error *err)
{
	int before = s->current;
	bool fine = true, changed;

	for (int i = 0; i < n && fine; i++)
		fine = session_apply(s, step[i], &changed, err);
	if (!fine || !session_facts(s, s->current, err)) {
		back_to(s, before);
		return false;
	}
	return true;
}

bool edits_note(struct edits *e, const struct session *s, int before)
{
	if (s->current == before)
		return false;
	while (e->stop.n && e->stop.at[e->stop.n - 1] > before)	/* were undone, and are gone */
		e->stop.n--;
	vec_push(&e->mem, &e->stop, s->current);
	if (e->saved > before)
		e->saved = -1;	/* what is on disk was undone, and cannot come back */
	return true;
}

bool edits_undo(struct edits *e, struct session *s)
{
	int to = 0;

	for (int i = 0; i < e->stop.n && e->stop.at[i] < s->current; i++)
		to = e->stop.at[i];
	if (!s->current)
		return false;
	back_to(s, to);
	return true;
}

bool edits_redo(struct edits *e, struct session *s)
{
	for (int i = 0; i < e->stop.n; i++)
		if (e->stop.at[i] > s->current) {
			while (s->current < e->stop.at[i] && session_redo(s))
				;
			return true;
		}
	return false;
}

bool edits_unsaved(const struct edits *e, const struct session *s)
{
	return s->current != e->saved && s->current != 0;
}

void edits_describe(const struct session *s, char *buf, size_t bytes)
{
	size_t n = 0;

	*buf = '\0';
	for (int i = 1; i <= s->current && n < bytes; i++)
		n += (size_t)snprintf(buf + n, bytes - n, "%s%s", i > 1 ? ", " : "", s->version[i].applied);
}
