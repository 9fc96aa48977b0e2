/* Sessions on real programs: facts, versions, files, runs in workers. */
#include "core/session/session.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

#define DEMO "tests/demo/demo.pte"
#define PROGRAMS "tests/fixtures/programs/"

static struct session *open_session(const char *path, const char *data)
{
	struct session *s;
	struct error err = { 0 };

	if (!session_open(&s, path, &data, data ? 1 : 0, &err) || !session_facts(s, 0, &err))
		fail_msg("%s", err.text);
	s->run.runs = 3;
	s->run.warmup = 1;
	return s;
}

static bool apply(struct session *s, enum apply_step step)
{
	struct error err = { 0 };
	bool changed;

	if (!session_apply(s, step, &changed, &err) || !session_facts(s, s->current, &err))
		fail_msg("%s", err.text);
	return changed;
}

static const struct node_row *row(const struct session *s, int version, const char *id)
{
	struct node_row *r = facts_find(&s->version[version].facts[0], id);

	if (!r)
		fail_msg("no node %s", id);
	return r;
}

static void says(const char *text, const char *what)
{
	if (!text || !strstr(text, what))
		fail_msg("\"%s\" does not say \"%s\"", text ? text : "(nothing)", what);
}

/* The demo: two convolutions whose weights are computed, as weight_norm leaves them. */

static void facts_of_the_demo(void **state)
{
	static const char *const left_out[] = { "aten::sum.IntList_out", "aten::pow.Tensor_Scalar_out", "aten::sum.IntList_out",
		"aten::convolution.out", "aten::pow.Tensor_Scalar_out", "aten::convolution.out" };
	struct session *s = open_session(DEMO, NULL);
	const struct method_facts *f = &s->version[0].facts[0];
	const struct node_row *conv = row(s, 0, "forward/5"), *sum = row(s, 0, "forward/1"), *linear = row(s, 0, "forward/9/5");

	assert_int_equal(f->nleft_out, 6);
	for (int i = 0; i < 6; i++)
		assert_string_equal(f->left_out[i], left_out[i]);
	assert_int_equal(f->ndelegates, 4);
	assert_string_equal(f->delegate[0].backend, "XnnpackBackend");
	assert_int_equal(f->delegate[1].nodes, 3);
	assert_int_equal(conv->runs, RUNS_PORTABLE);
	assert_string_equal(conv->verdict.code, "weight_not_static");
	assert_string_equal(conv->fix, "fold");
	says(conv->story, "computed from constant0 and constant2 by 5 nodes");
	says(conv->story, "It erases 1,792 bytes and adds 1,728");
	assert_false(conv->constant_only);
	assert_string_equal(sum->fix, "fold");
	assert_string_equal(sum->verdict.code, "no_rule");
	assert_string_equal(sum->module, conv->module);
	assert_true(sum->constant_only);
	says(sum->story, "one of 5 nodes that compute the weight of forward/5");
	assert_int_equal(linear->runs, RUNS_XNNPACK);
	assert_int_equal(linear->delegate, 3);
	assert_string_equal(linear->fix, "none");
	assert_string_not_equal(linear->module, conv->module);
	assert_string_equal(f->row[f->worst].id, "forward/8");	/* the heavier convolution */
	assert_true(f->planned_bytes > 0 && f->constant_bytes > 0 && f->external_bytes == 0);
	assert_int_equal(f->nwarnings, 0);
	session_close(s);
}

static void versions_are_a_stack(void **state)
{
	struct session *s = open_session(DEMO, NULL);

	assert_false(session_undo(s));
	assert_false(session_redo(s));
	assert_false(apply(s, APPLY_LINEAR));	/* there is nothing to convert */
	assert_int_equal(s->nversions, 1);
	assert_true(apply(s, APPLY_FOLD));
	assert_false(apply(s, APPLY_FOLD));	/* twice is once */
	assert_true(apply(s, APPLY_PARTITION));
	assert_int_equal(s->current, 2);
	assert_int_equal(s->version[2].facts[0].nleft_out, 0);
	assert_int_equal(s->version[2].facts[0].ndelegates, 1);
	assert_true(s->version[2].emitted.program.bytes <= s->program->file.bytes);
	assert_true(session_undo(s) && session_undo(s));
	assert_int_equal(s->version[0].facts[0].nleft_out, 6);	/* the file is what it was */
	assert_true(session_redo(s));
	assert_string_equal(session_version(s)->applied, "fold");
	assert_true(session_undo(s));
	assert_false(apply(s, APPLY_PARTITION));	/* without a fold there is nothing to gain */
	assert_int_equal(s->nversions, 3);
	s->version[0].fold.fold[0].marked = false;
	assert_true(apply(s, APPLY_FOLD));	/* another way: what was undone is gone */
	assert_int_equal(s->nversions, 2);
	assert_false(session_redo(s));
	session_close(s);
}

static void only_what_is_marked_is_applied(void **state)
{
	struct session *s = open_session(DEMO, NULL);

	assert_int_equal(s->version[0].fold.nfolds, 2);
	s->version[0].fold.fold[0].marked = false;
	assert_true(apply(s, APPLY_FOLD));
	assert_int_equal(s->version[1].fold.nfolds, 1);
	session_undo(s);
	s->version[0].fold.fold[1].marked = false;
	assert_false(apply(s, APPLY_FOLD));
	session_close(s);
}

static void a_version_is_written_and_reads_back(void **state)
{
	struct session *s = open_session(DEMO, NULL), *again;
	char path[] = "/tmp/session-XXXXXX";
	int fd = mkstemp(path);
	struct error err = { 0 };

	assert_true(fd >= 0);
	close(fd);
	apply(s, APPLY_FOLD);
	assert_false(session_write(s, path, false, &err));	/* it is there already */
	if (!session_write(s, path, true, &err))
		fail_msg("%s", err.text);
	again = open_session(path, NULL);
	assert_int_equal(again->program->file.bytes, s->version[1].emitted.program.bytes);
	assert_int_equal(again->version[0].facts[0].nleft_out, s->version[1].facts[0].nleft_out);
	for (int i = 0; i < again->version[0].facts[0].nleft_out; i++)
		assert_string_equal(again->version[0].facts[0].left_out[i], s->version[1].facts[0].left_out[i]);
	assert_int_equal(again->version[0].facts[0].ndelegates, s->version[1].facts[0].ndelegates);
	assert_int_equal(again->version[0].facts[0].planned_bytes, s->version[1].facts[0].planned_bytes);
	session_close(again);
	session_close(s);
	unlink(path);
}

static void before_and_after_are_compared(void **state)
{
	struct session *s = open_session(DEMO, NULL);
	struct error err = { 0 };

	apply(s, APPLY_FOLD);
	apply(s, APPLY_PARTITION);
	if (!session_verify(s, 0, s->current, &err))
		fail_msg("%s", err.text);
	assert_int_equal(s->nverify, 2);
	assert_string_equal(s->verify[0].pair, "before-after");
	assert_string_equal(s->verify[1].pair, "portable-xnnpack");
	for (int i = 0; i < 2; i++)
		assert_true(s->verify[i].ok && s->verify[i].max_abs_diff > 0 && s->verify[i].max_abs_diff < 1e-4);
	s->run.tolerance = 0;
	assert_true(session_verify(s, 0, s->current, &err));
	assert_int_equal(s->nverify, 2);
	assert_false(s->verify[0].ok);
	session_undo(s);
	assert_int_equal(s->nverify, 0);	/* they speak of another version */
	session_close(s);
}

static void state_is_compared_call_by_call(void **state)
{
	struct session *s = open_session(PROGRAMS "counter.pte", NULL);
	struct error err = { 0 };
	struct job job;

	assert_true(session_job(s, 0, 0, &job, &err));
	assert_int_equal(job.calls, 3);
	assert_true(apply(s, APPLY_PARTITION));
	assert_true(session_verify(s, 0, 1, &err));
	for (int i = 0; i < s->nverify; i++)
		assert_true(s->verify[i].ok);
	session_close(s);
}

static double share(const struct session *s, int version, enum engine engine, int *rows)
{
	double sum = 0;

	*rows = 0;
	for (int i = 0; i < s->nbench; i++)
		if (s->bench[i].version == version && s->bench[i].engine == engine && s->bench[i].subject) {
			sum += s->bench[i].share;
			(*rows)++;
		}
	return sum;
}

static void told(void *ctx, const char *what, double part)
{
	double *last = ctx;

	if (part < *last || part > 1)
		*last = 2;
	else
		*last = part;
}

static void a_bench_has_rows_for_all_and_parts(void **state)
{
	static const char *const by[] = { "module", "op", "node" };
	struct error err = { 0 };
	double last = 0;
	int rows[3];

	for (int k = 0; k < 3; k++) {
		struct session *s = open_session(DEMO, NULL);

		apply(s, APPLY_FOLD);
		if (!session_bench(s, 0, by[k], told, &last, &err) || (k == 0 && !session_bench(s, 1, by[k], NULL, NULL, &err)))
			fail_msg("%s", err.text);
		assert_true(last == 1);
		last = 0;
		for (int e = 0; e < ENGINES; e++) {
			double sum = share(s, 0, (enum engine)e, &rows[k]);

			assert_true(sum > 0.999 && sum < 1.001);
			assert_true(k || share(s, 1, (enum engine)e, &rows[k]) > 0.999);
		}
		assert_true(row(s, 0, "forward/5")->ms > 0);
		assert_true(row(s, 0, "forward/9/5")->ms > 0);
		session_close(s);
	}
	assert_true(rows[0] < rows[2] && rows[1] < rows[2]);
}

/* Partitioning puts a linear in the place of its parts: its time counts for the node in whose place it stands. */
static void times_find_the_node_in_whose_place_they_are(void **state)
{
	struct session *s = open_session(PROGRAMS "portable.pte", NULL);
	struct error err = { 0 };
	bool found = false;

	assert_true(session_bench(s, 0, "node", NULL, NULL, &err));
	for (int i = 0; i < s->nbench; i++)
		found |= s->bench[i].engine == ENGINE_XNNPACK && s->bench[i].subject && !strcmp(s->bench[i].subject, "forward/1");
	assert_true(found);
	session_close(s);
}

static void what_fails_is_a_row_too(void **state)
{
	struct session *s = open_session(PROGRAMS "branch.pte", NULL);
	struct error err = { 0 };

	assert_true(session_bench(s, 0, "module", NULL, NULL, &err));
	assert_int_equal(s->nbench, ENGINES);
	for (int i = 0; i < s->nbench; i++)
		says(s->bench[i].failed, "control flow");
	session_close(s);
}

static void a_missing_data_file_is_no_error_for_looking(void **state)
{
	struct session *s = open_session(PROGRAMS "external.pte", NULL);
	struct error err = { 0 };

	assert_int_equal(s->version[0].facts[0].external_bytes, 48);
	assert_true(session_bench(s, 0, NULL, NULL, NULL, &err));
	says(s->bench[0].failed, "in a data file that was not given");
	session_close(s);
	s = open_session(PROGRAMS "external.pte", PROGRAMS "external.ptd");
	assert_true(session_bench(s, 0, NULL, NULL, NULL, &err));
	assert_null(s->bench[0].failed);
	apply(s, APPLY_LINEAR);
	apply(s, APPLY_PARTITION);
	assert_true(session_verify(s, 0, s->current, &err));
	for (int i = 0; i < s->nverify; i++)
		assert_true(s->verify[i].ok);
	session_close(s);
}

static void other_things_than_kernels_are_other(void **state)
{
	struct session *s = open_session(PROGRAMS "branch.pte", NULL);
	const struct node_row *add = row(s, 0, "forward/4");

	assert_int_equal(row(s, 0, "forward/2")->runs, RUNS_OTHER);
	assert_int_equal(add->runs, RUNS_PORTABLE);
	assert_string_equal(add->verdict.code, "not_partitioned");
	assert_string_equal(add->fix, "re-export");	/* we cannot rewrite it */
	assert_false(apply(s, APPLY_PARTITION));
	session_close(s);
	s = open_session(PROGRAMS "portable.pte", NULL);
	assert_string_equal(row(s, 0, "forward/1")->fix, "partition");
	assert_string_equal(row(s, 0, "forward/0")->fix, "partition");	/* its permute goes with the linear */
	session_close(s);
}

static void the_demo_needs_no_file(void **state)
{
	struct session *s;
	struct error err = { 0 };
	struct file f;
	struct job job;

	assert_true(file_open(&f, DEMO, &err));
	assert_true(session_open_demo(&s, f.data, f.bytes, &err));
	file_close(&f);
	assert_true(session_job(s, 0, 0, &job, &err));
	assert_true(job.fd >= 0);
	assert_true(session_verify(s, 0, 0, &err));
	assert_int_equal(s->nverify, 1);
	assert_true(s->verify[0].ok);
	session_close(s);
}

static void options_reach_the_job(void **state)
{
	struct session *s = open_session(DEMO, NULL);
	struct error err = { 0 };
	struct job job;
	__typeof__(*s->run.input) input[] = { { NULL, "a.npy" }, { "backward", "b.npy" }, { "forward", "c.npy" } };
	__typeof__(*s->run.shape) shape[] = { { "backward", { 0, 1, { 1 } } }, { "forward", { 2, 1, { 5 } } } };

	s->run.input = input;
	s->run.ninputs = 3;
	s->run.shape = shape;
	s->run.nshapes = 2;
	s->run.seed = 7;
	assert_true(session_job(s, 0, 0, &job, &err));
	assert_int_equal(job.nnpy, 2);
	assert_string_equal(job.npy[1], "c.npy");
	assert_int_equal(job.nshapes, 1);
	assert_int_equal(job.shape[0].input, 2);
	assert_int_equal(job.seed, 7);
	assert_int_equal(job.calls, 1);
	assert_int_equal(job.fd, -1);
	session_close(s);
}

static void a_stop_ends_a_bench(void **state)
{
	struct session *s = open_session(DEMO, NULL);
	struct error err = { 0 };
	int stop = 1;

	s->stop = &stop;
	assert_false(session_bench(s, 0, NULL, NULL, NULL, &err));
	assert_string_equal(err.text, "stopped");
	assert_false(session_verify(s, 0, 0, &err));
	assert_string_equal(err.text, "stopped");
	session_close(s);
}

/* An error that names a node is one of its module, too. */
static void a_failure_is_in_the_row_of_its_module(void **state)
{
	static const char why[] = "the portable worker died (SIGSEGV) while running forward/7/1: a line";
	struct session *s = open_session(DEMO, NULL);

	session_add_failure(s, 0, 0, "module", ENGINE_PORTABLE, why);
	assert_int_equal(s->nbench, 2);
	assert_null(s->bench[0].subject);
	assert_string_equal(s->bench[1].subject, row(s, 0, "forward/7/1")->module);
	assert_string_equal(s->bench[1].failed, why);
	session_add_failure(s, 0, 0, "node", ENGINE_FILED, "forward/5: no kernel here for x");
	assert_int_equal(s->nbench, 4);
	assert_string_equal(s->bench[3].subject, "forward/5");
	session_add_failure(s, 0, 0, NULL, ENGINE_FILED, "forward/5: no kernel here for x");
	session_add_failure(s, 0, 0, "module", ENGINE_FILED, "forward/55: stopped");
	assert_int_equal(s->nbench, 6);
	session_close(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_of_the_demo),
		cmocka_unit_test(versions_are_a_stack),
		cmocka_unit_test(only_what_is_marked_is_applied),
		cmocka_unit_test(a_version_is_written_and_reads_back),
		cmocka_unit_test(before_and_after_are_compared),
		cmocka_unit_test(state_is_compared_call_by_call),
		cmocka_unit_test(a_bench_has_rows_for_all_and_parts),
		cmocka_unit_test(times_find_the_node_in_whose_place_they_are),
		cmocka_unit_test(what_fails_is_a_row_too), cmocka_unit_test(a_failure_is_in_the_row_of_its_module),
		cmocka_unit_test(a_missing_data_file_is_no_error_for_looking),
		cmocka_unit_test(other_things_than_kernels_are_other),
		cmocka_unit_test(the_demo_needs_no_file),
		cmocka_unit_test(options_reach_the_job),
		cmocka_unit_test(a_stop_ends_a_bench),
	};

	if (argc > 1 && !strcmp(argv[1], "--worker"))
		return worker_main();
	return RUN_TAP(tests);
}
