/* The memory plan as the file holds it: lives of tensors by replay, and that what lives together never overlaps. */
#include "core/program/planned.h"
#include "core/session/session.h"
#include "tests/maker.h"
#include "tests/tap.h"

#include <glob.h>

static struct maker *m;

static int setup(void **state)
{
	m = maker_new();
	return 0;
}

static int teardown(void **state)
{
	maker_free(m);
	return 0;
}

static int planned(uint64_t offset, int rank, const int32_t *size)
{
	return maker_planned(m, DTYPE_F32, 1, offset, rank, size);
}

/* "offset+bytes:first-last", a '*' behind those that are held. */
static void assert_plan(const bool *held, const char *want)
{
	struct program *p = maker_open(m, NULL, 0, NULL);
	struct arena mem = { 0 };
	struct planned plan;
	struct str s = { 0 };

	assert_true(planned_make(&plan, &p->pte.plan[0], held, &mem, NULL, NULL));
	for (int i = 0; i < plan.n; i++) {
		const struct planned_tensor *t = &plan.tensor[i];

		str_addf(&s, "%s%d+%d:%d-%d%s", i ? " " : "", (int)t->offset, (int)t->bytes, t->first, t->last, t->held ? "*" : "");
	}
	str_addf(&s, "; %d at %d", (int)plan.peak, plan.peak_step);
	assert_string_equal(str_text(&s), want);
	str_free(&s);
	arena_free(&mem);
	program_close(p);
}

static void from_the_call_that_writes_to_the_last_that_reads(void **state)
{
	int x = planned(0, SHAPE(4)), one = maker_int(m, 1), a = planned(16, SHAPE(4)), b = planned(32, SHAPE(4)), c = planned(0, SHAPE(4));

	maker_in(m, x);
	maker_call(m, "aten::add.out", LIST(x, x, one, a, a));
	maker_call(m, "aten::add.out", LIST(a, x, one, b, b));
	maker_call(m, "aten::mul.out", LIST(b, b, c, c));	/* where x was */
	maker_out(m, c);
	assert_plan(NULL, "0+16:0-2 16+16:1-2 32+16:2-3 0+16:3-4; 48 at 2");
}

static void a_view_keeps_what_it_looks_at(void **state)
{
	int x = planned(0, SHAPE(2, 6)), seen = planned(0, SHAPE(12)), one = maker_int(m, 1), a = planned(48, SHAPE(4)), b = planned(64, SHAPE(12));

	maker_in(m, x);
	maker_call(m, "aten::full_like.out", LIST(a, one, a, a));	/* a is read before anything writes it */
	maker_call(m, "aten::add.out", LIST(seen, seen, one, b, b));
	maker_out(m, b);
	assert_plan(NULL, "0+48:0-2 48+16:0-3* 64+48:2-3; 112 at 2");
}

static void in_place_one_ends_where_the_next_begins(void **state)
{
	int x = planned(0, SHAPE(4)), one = maker_int(m, 1), a = planned(16, SHAPE(4));

	maker_in(m, x);
	maker_call(m, "aten::add.out", LIST(x, x, one, a, a));
	maker_call(m, "aten::add_.Tensor", LIST(a, x, one, a));
	maker_out(m, a);
	assert_plan(NULL, "0+16:0-2 16+16:1-1 16+16:2-3; 32 at 1");
}

static void state_lives_all_the_time(void **state)
{
	int x = planned(0, SHAPE(4)), keep = planned(16, SHAPE(4)), no = maker_bool(m, false), a = planned(32, SHAPE(4));

	maker_in(m, x);
	maker_call(m, "aten::abs.out", LIST(x, a, a));
	maker_call(m, "aten::copy_", LIST(keep, a, no, keep));
	assert_plan((const bool[]){ false, true, false, false }, "16+16:0-3* 0+16:0-1 32+16:1-2; 48 at 1");
}

static bool apart(const struct planned_tensor *a, const struct planned_tensor *b)
{
	return a->arena != b->arena || a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset ||
	       a->last < b->first || b->last < a->first;
}

static int check_plan(const char *path, const struct method_facts *f)
{
	const struct planned *p = &f->plan;
	int known = 0;

	for (int i = 0; i < p->n; i++) {
		const struct planned_tensor *t = &p->tensor[i];

		known += t->is || t->by;
		assert_true(t->first <= t->last && t->last < p->nsteps && (!i || p->tensor[i - 1].first <= t->first));
		assert_true(t->offset + t->bytes <= (uint64_t)p->plan->buffer_bytes[t->arena]);
		for (int k = 0; k < i; k++)
			if (!apart(t, &p->tensor[k]) && !f->graph->control_flow)
				fail_msg("%s, %s: values %d and %d overlap", path, f->graph->method, (int)t->value, (int)p->tensor[k].value);
	}
	assert_true(p->peak <= p->arenas && p->arenas == f->planned_bytes);
	return p->n - known;
}

/* The exporter's plans and ours. */
static void nothing_that_lives_together_overlaps(void **state)
{
	glob_t g;

	assert_int_equal(glob("tests/fixtures/programs/*.pte", 0, NULL, &g), 0);
	assert_int_equal(glob("tests/demo/demo.pte", GLOB_APPEND, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		static const enum apply_step steps[] = { APPLY_LINEAR, APPLY_FOLD, APPLY_PARTITION };
		struct session *s;
		struct error err = { 0 };
		bool changed;

		if (!session_open(&s, g.gl_pathv[i], NULL, 0, &err) || !session_facts(s, 0, &err))
			fail_msg("%s: %s", g.gl_pathv[i], err.text);
		for (int k = 0; k < 3; k++)
			session_apply(s, steps[k], &changed, &err);
		if (!session_facts(s, s->current, &err))
			fail_msg("%s: %s", g.gl_pathv[i], err.text);
		for (int method = 0; method < s->program->nmethods; method++) {
			check_plan(g.gl_pathv[i], &s->version[0].facts[method]);
			assert_int_equal(check_plan(g.gl_pathv[i], &s->version[s->current].facts[method]), 0);
		}
		session_close(s);
	}
	globfree(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(from_the_call_that_writes_to_the_last_that_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(a_view_keeps_what_it_looks_at, setup, teardown),
		cmocka_unit_test_setup_teardown(in_place_one_ends_where_the_next_begins, setup, teardown),
		cmocka_unit_test_setup_teardown(state_lives_all_the_time, setup, teardown),
		cmocka_unit_test(nothing_that_lives_together_overlaps),
	};

	return RUN_TAP(tests);
}
