/* Reports of the session made by hand: the text as a person sees it, and every key of the JSON. */
#include "inspect/budget.h"
#include "tests/expect.h"
#include "tests/made.h"
#include "tests/tap.h"
#include "views/report.h"

#include <stdlib.h>
#include <unistd.h>

static struct report report_of(struct session *s)
{
	return (struct report){ .s = s, .xnnpack = "2024-11", .table = "nodes", .by = "module" };
}

static void add_runs(struct session *s)
{
	static const char *const failed = "the worker died of signal 6\x1b[2J";
	static const struct bench_row rows[] = {
		{ 0, "conv", 0, ENGINE_FILED, -1, -1, { 1700, 1730, 1801, 1735, 20, 30 }, 0.945, 4.8, NULL },
		{ 0, NULL, 0, ENGINE_FILED, 5.5, 1900, { 1800, 1830.25, 1901, 1835, 20, 30 }, 1, 4.6, NULL },
		{ 0, NULL, 0, ENGINE_PORTABLE, 0.5, 2000, { 1900, 1930, 2001, 1935, 20, 30 }, 1, 4.3, NULL },
		{ .failed = failed, .engine = ENGINE_XNNPACK },
		{ 0, NULL, 1, ENGINE_FILED, 30, 20, { 8.1, 8.25, 9, 8.3, 0.2, 30 }, 1, 1020, NULL },
	};
	static const struct verify_row checks[] = {
		{ 0, "before-after", 0, 2.5e-6, 1e-5, true }, { 0, "portable-xnnpack", 0, 0.5, 0.25, false },
	};

	s->nbench = s->capbench = (int)(sizeof rows / sizeof *rows);
	s->bench = arena_copy(&s->mem, rows, sizeof rows);
	s->nverify = s->capverify = (int)(sizeof checks / sizeof *checks);
	s->verify = arena_copy(&s->mem, checks, sizeof checks);
}

/* No byte that a terminal would obey, whatever the file says. */
static void assert_harmless(const char *s)
{
	for (; *s; s++)
		assert_true(*s == '\n' || ((unsigned char)*s >= ' ' && *s != 127));
}

static void shows(const char *path, void (*print)(struct text *t, const struct report *r), const struct report *r)
{
	struct text t = { 0 };

	print(&t, r);
	assert_harmless(str_text(&t.s));
	expect_file(path, str_text(&t.s));
	text_free(&t);
}

static void text_of_file(void **state)
{
	struct session *s = made_session();
	struct report r = report_of(s);

	shows("tests/expected/report.txt", report_text, &r);
	made_free(s);
}

static void text_of_result(void **state)
{
	struct session *s = made_session();
	struct report r = report_of(s);
	struct budget budget[] = { { "declined>0", 0, true, true }, { "latency>5 ms", 8.25, true, false } };
	struct change change[] = { { "forward: median ms as filed", 1830.25, 8.25 }, { "bytes of the program", 0, 5 } };

	s->current = 1;
	add_runs(s);
	r.applied = true;
	r.written = "fast.pte";
	r.budget = budget;
	r.nbudgets = 2;
	r.change = change;
	r.nchanges = 2;
	shows("tests/expected/report_result.txt", report_text, &r);
	shows("tests/expected/report.md", report_markdown, &r);
	made_free(s);
}

static void tables(void **state)
{
	static const char *const names[] = { "nodes", "fold", "linear", "bench", "memory", "constants", "warnings" };
	struct session *s = made_session();
	struct report r = report_of(s);
	char path[64];

	add_runs(s);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		r.table = names[i];
		snprintf(path, sizeof path, "tests/expected/%s.csv", names[i]);
		shows(path, report_csv, &r);
	}
	made_free(s);
}

static void dot(void **state)
{
	struct session *s = made_session();
	struct report r = report_of(s);

	shows("tests/expected/graph.dot", report_dot, &r);
	made_free(s);
}

static void explain_all(struct text *t, const struct report *r)
{
	assert_int_equal(explain_text(t, r), 1);
}

static void explained(void **state)
{
	struct session *s = made_session();
	struct report r = report_of(s);
	json_t *array = json_array(), *o;

	r.explain = "convolution";
	shows("tests/expected/explain.txt", explain_all, &r);
	r.explain = "forward/4";
	assert_int_equal(explain_json(array, &r), 1);
	o = json_array_get(array, 0);
	assert_int_equal(json_array_size(json_object_get(o, "rules")), 3);
	assert_int_equal(json_array_size(json_object_get(o, "arguments")), 9);
	assert_string_equal(json_string_value(json_object_get(json_object_get(o, "reason"), "code")), "weight_not_static");
	json_decref(array);
	array = json_array();
	r.explain = "aten.mul.Tensor";	/* both of them */
	assert_int_equal(explain_json(array, &r), 2);
	r.explain = "nothing";
	assert_int_equal(explain_json(array, &r), 0);
	json_decref(array);
	made_free(s);
}

/* Every key of the contract, by path; [] steps into the first element. */
static const char *const keys[] = {
	"schema", "tool.version", "tool.xnnpack", "tool.rules", "tool.cpu", "tool.isa", "tool.caches", "tool.cores", "tool.threads",
	"file.path", "file.bytes", "file.data", "methods[].name", "methods[].inputs[].dtype", "methods[].inputs[].shape",
	"methods[].inputs[].dim_order", "methods[].inputs[].dynamic", "methods[].outputs[].dtype", "methods[].training",
	"methods[].control_flow", "methods[].delegates[].backend", "methods[].delegates[].nodes", "methods[].delegates[].bytes",
	"methods[].left_out[]", "methods[].nodes[].id", "methods[].nodes[].op", "methods[].nodes[].runs", "methods[].nodes[].delegate",
	"methods[].nodes[].shape", "methods[].nodes[].dtype", "methods[].nodes[].module", "methods[].nodes[].constant_only",
	"methods[].nodes[].verdict", "methods[].nodes[].reason", "methods[].nodes[].fix", "methods[].nodes[].fix_command",
	"methods[].nodes[].cost.flops", "methods[].nodes[].cost.bytes", "methods[].nodes[].cost.ms", "methods[].fold[].at",
	"methods[].fold[].position", "methods[].fold[].verdict", "methods[].fold[].reason", "methods[].fold[].nodes[]",
	"methods[].fold[].sources[]", "methods[].fold[].bytes_erased", "methods[].fold[].bytes_added", "methods[].fold[].name",
	"methods[].fold[].file", "methods[].fold[].delegates_before", "methods[].fold[].delegates_after",
	"methods[].fold[].file_bytes_before", "methods[].fold[].file_bytes_after", "methods[].linear", "methods[].warnings[].node",
	"methods[].warnings[].code", "methods[].warnings[].text", "methods[].warnings[].max_abs_diff",
	"methods[].memory.planned_bytes", "methods[].memory.constant_bytes", "methods[].memory.external_bytes", "result.applied[]",
	"result.bytes", "result.lost", "result.calls", "result.methods[].nodes[].id", "bench[].method", "bench[].module", "bench[].state",
	"bench[].engine", "bench[].setup_ms", "bench[].first_ms", "bench[].min_ms", "bench[].median_ms", "bench[].p90_ms",
	"bench[].mean_ms", "bench[].sd_ms", "bench[].runs", "bench[].share", "bench[].gflops", "bench[].failed", "verify[].method",
	"verify[].pair", "verify[].output", "verify[].max_abs_diff", "verify[].max_rel_diff", "verify[].ok", "budgets[].rule",
	"budgets[].value", "budgets[].ok",
};

static json_t *walk(json_t *o, const char *path)
{
	while (o && *path) {
		char key[64];
		size_t n = strcspn(path, ".[");

		snprintf(key, sizeof key, "%.*s", (int)n, path);
		o = json_object_get(o, key);
		path += n;
		if (!strncmp(path, "[]", 2)) {
			o = json_array_get(o, 0);
			path += 2;
		}
		path += *path == '.';
	}
	return o;
}

static void json_keys(void **state)
{
	struct session *s = made_session();
	struct report r = report_of(s);
	struct budget budget = { "declined>0", 0, true, true };
	json_t *j;
	char *text;

	s->current = 1;
	add_runs(s);
	r.applied = true;
	r.budget = &budget;
	r.nbudgets = 1;
	j = report_json(&r);
	text = json_dumps(j, JSON_ENSURE_ASCII);
	json_decref(j);
	assert_harmless(text);
	j = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(j);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!walk(j, keys[i]))
			fail_msg("no %s", keys[i]);
	assert_string_equal(json_string_value(walk(j, "schema")), "etinspect/1");
	assert_string_equal(json_string_value(walk(j, "tool.rules")), "executorch 1.5.1");
	assert_int_equal(json_integer_value(walk(j, "file.bytes")), 33564000);
	assert_int_equal(json_array_size(walk(j, "methods[].delegates")), 2);
	assert_string_equal(json_string_value(walk(j, "methods[].left_out[]")), "aten::sum.IntList_out");
	assert_true(json_is_null(walk(j, "methods[].nodes[].reason")));	/* XNNPACK has it */
	assert_int_equal(json_integer_value(walk(j, "methods[].fold[].bytes_erased")), 33554944);
	assert_int_equal(json_integer_value(walk(j, "methods[].fold[].bytes_added")), 33554432);
	assert_string_equal(json_string_value(walk(j, "methods[].fold[].sources[]")), "conv.\x1b[31mweight_v");	/* as in the file */
	assert_int_equal(json_integer_value(walk(j, "result.bytes")), 33559000);
	assert_int_equal(json_array_size(walk(j, "result.methods[].left_out")), 0);
	assert_int_equal(json_integer_value(walk(j, "bench[].median_ms")), 1730);
	json_decref(j);
	made_free(s);
}

/* The values of budgets, of the file and of the result. */
static void budgets(void **state)
{
	static const char *const rules[] = { "declined>2", "declined>3", "foldable", "warnings", "bytes>33563999", "bytes>33564000",
		"latency>1800 ms", "latency>1900ms", "diff>0.4", "diff>0.5", "growth>0%" };
	static const bool before[] = { false, true, false, false, false, true, false, true, false, true, true };
	struct session *s = made_session();
	struct report r = report_of(s);
	struct arena mem = { 0 };

	add_runs(s);
	assert_false(budget_check(&r, rules, 11, &mem));
	for (int i = 0; i < 11; i++)
		assert_int_equal(r.budget[i].ok, before[i]);
	s->current = 1;
	r.applied = true;
	assert_true(budget_check(&r, (const char *const[]){ "declined>0", "foldable", "latency>9", "bytes>33559000", "growth>0%" }, 5, &mem));
	assert_false(budget_check(&r, (const char *const[]){ "latency>8" }, 1, &mem));
	arena_free(&mem);
	made_free(s);
}

/* What was measured says more than what was counted. */
static void heaviest_first(void **state)
{
	struct session *s = made_session();
	struct method_facts *f = s->version[0].facts;
	struct arena mem = { 0 };
	const struct node_row **row;
	int n;

	row = look_declined_rows(f, &mem, &n);
	assert_int_equal(n, 3);
	assert_string_equal(row[0]->id, "forward/4");
	for (int i = 0; i < f->nrows; i++)
		f->row[i].ms = i == 2 ? 20 : 1;
	row = look_declined_rows(f, &mem, &n);
	assert_string_equal(row[0]->id, "forward/2");
	arena_free(&mem);
	made_free(s);
}

static void baseline(void **state)
{
	struct session *s = made_session();
	struct report r = report_of(s);
	struct arena mem = { 0 };
	struct error err = { 0 };
	char path[] = "/tmp/etinspect-test-XXXXXX";
	json_t *old, *both = json_array();

	close(mkstemp(path));
	add_runs(s);
	s->program->file.path = "other.pte";
	json_array_append_new(both, report_json(&r));
	s->program->file.path = "old place/pos conv.pte";
	old = report_json(&r);
	json_object_set_new(json_object_get(old, "file"), "bytes", json_integer(100));
	json_array_append_new(both, old);
	s->program->file.path = "dir/pos conv.pte";
	json_dump_file(both, path, 0);
	s->current = 1;
	r.applied = true;
	assert_true(baseline_read(&r, path, &mem, &err));
	assert_int_equal(r.nchanges, 3);
	assert_string_equal(r.change[0].what, "bytes of the program");
	assert_true(r.change[0].before == 100 && r.change[0].now == 33559000);
	assert_true(r.change[1].before == 3 && r.change[1].now == 0);
	assert_true(r.change[2].before == 1830.25 && r.change[2].now == 8.25);
	assert_false(budget_check(&r, (const char *const[]){ "regression>5%" }, 1, &mem));
	assert_true(budget_check(&r, (const char *const[]){ "regression>99999999%" }, 1, &mem));
	json_decref(both);
	both = json_pack("{s:s}", "schema", "etinspect/9");
	json_dump_file(both, path, 0);
	assert_false(baseline_read(&r, path, &mem, &err));
	assert_non_null(strstr(err.text, "holds no report of dir/pos conv.pte with schema etinspect/1"));
	json_decref(both);
	remove(path);
	assert_false(baseline_read(&r, path, &mem, &err));
	arena_free(&mem);
	made_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_file), cmocka_unit_test(text_of_result), cmocka_unit_test(tables), cmocka_unit_test(dot),
		cmocka_unit_test(explained), cmocka_unit_test(json_keys), cmocka_unit_test(budgets), cmocka_unit_test(baseline),
		cmocka_unit_test(heaviest_first),
	};

	return RUN_TAP(tests);
}
