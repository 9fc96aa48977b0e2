/* Edits of the demo program: several versions are undone as one step. */
#include "inspect/demo.h"
#include "inspect/edits.h"
#include "tests/tap.h"

static const enum apply_step fold[] = { APPLY_FOLD, APPLY_PARTITION }, partition[] = { APPLY_PARTITION };

static struct session *demo(void)
{
	struct session *s;
	struct error err = { 0 };

	if (!session_open_demo(&s, demo_program, demo_bytes(), &err) || !session_facts(s, 0, &err))
		fail_msg("%s", err.text);
	return s;
}

static bool apply(struct edits *e, struct session *s, const enum apply_step *step, int n)
{
	struct error err = { 0 };
	struct session *draft = session_draft(s);
	int before = s->current;

	if (!edits_apply(draft, step, n, &err))
		fail_msg("%s", err.text);
	session_take(s, draft);
	return edits_note(e, s, before);
}

static void close_all(struct edits *e, struct session *s)
{
	session_close(s);
	arena_free(&e->mem);
}

static void undo_and_redo(void **state)
{
	struct session *s = demo();
	struct edits e = { 0 };
	char words[64];

	assert_false(edits_undo(&e, s));
	assert_false(edits_redo(&e, s));
	assert_true(apply(&e, s, fold, 2));
	assert_int_equal(s->current, 2);
	assert_int_equal(s->version[2].facts[0].nleft_out, 0);
	edits_describe(s, words, sizeof words);
	assert_string_equal(words, "fold, partition");
	assert_false(apply(&e, s, fold, 2));	/* nothing is left to fold */
	assert_true(edits_undo(&e, s));
	assert_int_equal(s->current, 0);
	edits_describe(s, words, sizeof words);
	assert_string_equal(words, "");
	assert_false(edits_undo(&e, s));
	assert_true(edits_redo(&e, s));
	assert_int_equal(s->current, 2);
	assert_false(edits_redo(&e, s));
	close_all(&e, s);
}

/* One mark at a time gives steps of their own; an edit after an undo drops what was undone. */
static void stops(void **state)
{
	struct session *s = demo();
	struct edits e = { 0 };

	assert_int_equal(s->version[0].fold.nfolds, 2);
	s->version[0].fold.fold[1].marked = false;
	assert_true(apply(&e, s, fold, 2));
	assert_int_equal(s->current, 2);
	assert_true(apply(&e, s, fold, 2));	/* the other one */
	assert_int_equal(s->current, 4);
	assert_true(edits_undo(&e, s));
	assert_int_equal(s->current, 2);
	assert_true(edits_undo(&e, s));
	assert_int_equal(s->current, 0);
	assert_true(edits_redo(&e, s));
	assert_int_equal(s->current, 2);
	assert_true(edits_undo(&e, s));
	s->version[0].fold.fold[1].marked = true;
	assert_true(apply(&e, s, fold, 2));
	assert_int_equal(s->current, 2);
	assert_false(edits_redo(&e, s));
	assert_true(edits_undo(&e, s));
	assert_int_equal(s->current, 0);
	close_all(&e, s);
}

/* A draft that is stopped, or dropped when it is done, leaves the session as it was. */
static void drafts(void **state)
{
	struct session *s = demo(), *draft = session_draft(s);
	struct work work = { .stop = true };
	struct edits e = { 0 };
	struct error err = { 0 };

	draft->work = &work;
	assert_false(edits_apply(draft, fold, 2, &err));
	assert_string_equal(err.text, "stopped");
	assert_int_equal(draft->current, 0);
	work.stop = false;
	assert_true(edits_apply(draft, fold, 2, &err));
	assert_int_equal(draft->current, 2);
	work.stop = true;
	assert_false(session_write(draft, "/nowhere/demo.pte", false, &err));
	session_drop(s, draft);
	assert_int_equal(s->current, 0);
	assert_int_equal(s->nversions, 1);
	assert_true(apply(&e, s, fold, 2));
	assert_true(edits_undo(&e, s));
	draft = session_draft(s);	/* it changes nothing: what was undone is still there */
	session_take(s, draft);
	assert_true(edits_redo(&e, s));
	close_all(&e, s);
}

static void unsaved(void **state)
{
	struct session *s = demo();
	struct edits e = { 0 };

	assert_false(edits_unsaved(&e, s));
	apply(&e, s, fold, 2);
	assert_true(edits_unsaved(&e, s));
	e.saved = s->current;
	assert_false(edits_unsaved(&e, s));
	edits_undo(&e, s);
	assert_false(edits_unsaved(&e, s));	/* the file as it came is not lost by leaving */
	s->version[0].fold.fold[1].marked = false;
	apply(&e, s, fold, 2);			/* another version 2 than the one that was written */
	assert_true(edits_unsaved(&e, s));
	close_all(&e, s);
}

static void nothing(void **state)
{
	struct session *s = demo();
	struct edits e = { 0 };

	assert_false(apply(&e, s, partition, 1));
	assert_int_equal(s->current, 0);
	close_all(&e, s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(undo_and_redo), cmocka_unit_test(stops), cmocka_unit_test(drafts), cmocka_unit_test(unsaved), cmocka_unit_test(nothing),
	};

	return RUN_TAP(tests);
}
