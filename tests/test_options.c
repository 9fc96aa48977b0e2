/* The command line: what it gives, and what it refuses with which words. */
#include "inspect/budget.h"
#include "inspect/options.h"
#include "tests/tap.h"

enum { MAX_WORDS = 64 };

/* Parses words separated by spaces; '~' stands for a space inside a word. */
static bool parse(struct options *o, const char *line, struct error *err)
{
	static char buf[512];	/* options point into it */
	char *argv[MAX_WORDS] = { "etinspect" };
	int argc = 1;

	snprintf(buf, sizeof buf, "%s", line);
	for (char *w = strtok(buf, " "); w; w = strtok(NULL, " ")) {
		for (char *c = w; *c; c++)
			*c = *c == '~' ? ' ' : *c;
		argv[argc++] = w;
	}
	memset(err, 0, sizeof *err);
	return options_parse(o, argc, argv, err);
}

static void defaults(void **state)
{
	struct options o;
	struct error err;

	assert_true(parse(&o, "", &err));
	assert_int_equal(o.model.n, 0);
	assert_int_equal(o.run.runs, 30);
	assert_int_equal(o.run.warmup, 4);
	assert_int_equal(o.run.threads, 0);
	assert_true(o.run.max_seconds == 10);
	assert_string_equal(o.by, "module");
	assert_string_equal(o.table, "nodes");
	assert_false(options_batch(&o));
	options_free(&o);
}

static void everything(void **state)
{
	struct options o;
	struct error err;

	assert_true(parse(&o, "--report=json a.pte a1.ptd a2.ptd -ofast.pte --method=decode --method prefill --apply fold,partition "
		"--optimize --by op --runs 5 --warmup=0 --threads 3 --max-time 0.5 --seed 18446744073709551615 --tolerance 1e-2 "
		"--input decode:x.npy --input dir/a:b.npy --shape decode:1=2,3 --verify --bench --fail-on latency>5~ms,warnings "
		"--color=never", &err));
	assert_int_equal(o.format, FORMAT_JSON);
	assert_int_equal(o.model.n, 1);
	assert_string_equal(o.model.at[0].path, "a.pte");
	assert_int_equal(o.model.at[0].data.n, 2);
	assert_string_equal(o.model.at[0].data.at[1], "a2.ptd");
	assert_string_equal(o.output, "fast.pte");
	assert_int_equal(o.method.n, 2);
	assert_string_equal(o.method.at[0], "decode");
	assert_int_equal(o.apply.n, 5);
	assert_int_equal(o.apply.at[0], APPLY_FOLD);
	assert_int_equal(o.apply.at[1], APPLY_PARTITION);
	assert_int_equal(o.apply.at[2], APPLY_LINEAR);
	assert_int_equal(o.apply.at[4], APPLY_PARTITION);
	assert_string_equal(o.by, "op");
	assert_int_equal(o.run.runs, 5);
	assert_int_equal(o.run.warmup, 0);
	assert_int_equal(o.run.threads, 3);
	assert_true(o.run.max_seconds == 0.5 && o.run.tolerance == 1e-2 && o.run.seed == UINT64_MAX);
	assert_int_equal(o.run.ninputs, 2);
	assert_string_equal(o.run.input[0].method, "decode");
	assert_string_equal(o.run.input[0].path, "x.npy");
	assert_null(o.run.input[1].method);
	assert_string_equal(o.run.input[1].path, "dir/a:b.npy");
	assert_int_equal(o.run.nshapes, 1);
	assert_string_equal(o.run.shape[0].method, "decode");
	assert_int_equal(o.run.shape[0].shape.input, 1);
	assert_int_equal(o.run.shape[0].shape.rank, 2);
	assert_int_equal(o.run.shape[0].shape.size[1], 3);
	assert_int_equal(o.fail_on.n, 2);
	assert_int_equal(o.color, COLOR_NEVER);
	assert_true(options_batch(&o));
	options_free(&o);
}

static void files(void **state)
{
	struct options o;
	struct error err;

	assert_true(parse(&o, "a.pte a.ptd - b.pte -- --b.pte b.ptd", &err));
	assert_int_equal(o.model.n, 4);
	assert_int_equal(o.model.at[0].data.n, 1);
	assert_string_equal(o.model.at[1].path, "-");
	assert_int_equal(o.model.at[2].data.n, 0);
	assert_string_equal(o.model.at[3].path, "--b.pte");
	assert_int_equal(o.model.at[3].data.n, 1);
	assert_true(options_batch(&o));	/* several programs: reports */
	options_free(&o);
	assert_true(parse(&o, "only.ptd", &err));	/* taken for a program, so that the reader says what it is */
	assert_string_equal(o.model.at[0].path, "only.ptd");
	assert_false(options_batch(&o));
	options_free(&o);
}

static void refusals(void **state)
{
	static const struct { const char *line, *words; } bad[] = {
		{ "--bogus", "unknown option --bogus" },
		{ "--bogus=3", "unknown option --bogus" },
		{ "-x", "unknown option -x" },
		{ "--report=xml", "--report takes text, json, markdown or csv, not 'xml'" },
		{ "--runs", "--runs needs a value: N" },
		{ "--runs 0", "--runs takes a whole number from 1 to 1000000, not '0'" },
		{ "--runs 3x", "--runs takes a whole number from 1 to 1000000, not '3x'" },
		{ "--threads 99999999999999999999", "--threads takes a whole number from 1 to 1024, not '99999999999999999999'" },
		{ "--tolerance nan", "--tolerance takes a number from 0 to inf, not 'nan'" },
		{ "--seed -1", "--seed takes a whole number, not '-1'" },
		{ "--bench=3", "--bench takes no value" },
		{ "--apply fold,,linear", "--apply has an empty word in 'fold,,linear'" },
		{ "--apply fuse", "--apply takes fold, linear or partition, not 'fuse'" },
		{ "--by size", "--by takes module, op or node, not 'size'" },
		{ "--table weights", "--table takes nodes, fold, linear, bench, memory, constants or warnings, not 'weights'" },
		{ "--shape 0", "--shape takes [METHOD:]INPUT=SIZE,SIZE,... (inputs count from 0), not '0'" },
		{ "--shape 0=", "--shape takes [METHOD:]INPUT=SIZE,SIZE,... (inputs count from 0), not '0='" },
		{ "--shape 0=1,-2", "--shape takes [METHOD:]INPUT=SIZE,SIZE,... (inputs count from 0), not '0=1,-2'" },
		{ "--input decode:", "--input takes [METHOD:]FILE.npy, not 'decode:'" },
		{ "--fail-on slow", "--fail-on knows no budget 'slow'" },
		{ "--fail-on declined", "--fail-on declined needs a limit, as in declined>10" },
		{ "--fail-on foldable>3", "--fail-on foldable takes no number" },
		{ "--fail-on bytes>3%", "--fail-on bytes>N takes a number, not '3%'" },
		{ "--fail-on latency>3", "--fail-on latency needs --bench" },
		{ "--fail-on growth>3%", "--fail-on growth needs --apply or --optimize" },
		{ "--fail-on diff>3", "--fail-on diff needs --verify" },
		{ "--fail-on regression>3%", "--fail-on regression needs --baseline" },
		{ "- -", "standard input can be read once only" },
		{ "-o x.pte", "-o needs exactly one program" },
		{ "-o x.pte a.pte b.pte", "-o needs exactly one program" },
		{ "-o", "--output needs a value: FILE" },
		{ "--trace t.json a.pte", "--trace needs --bench" },
	};
	struct options o;
	struct error err;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_false(parse(&o, bad[i].line, &err));
		assert_string_equal(err.text, bad[i].words);
		options_free(&o);
	}
}

/* Every option is in the help, which keeps to 80 columns. */
static void help(void **state)
{
	struct str s = { 0 };
	char dashed[64];

	options_help(&s);
	for (const struct option_row *r = option_table; r->help; r++) {
		if (!r->name)
			continue;
		snprintf(dashed, sizeof dashed, "--%s", r->name);
		assert_non_null(strstr(str_text(&s), dashed));
		assert_ptr_equal(option_find(r->name, strlen(r->name)), r);
	}
	for (const char *at = str_text(&s); *at; at += *at == '\n') {
		assert_in_range(strcspn(at, "\n"), 0, 80);
		at += strcspn(at, "\n");
	}
	str_free(&s);
}

/* Options that only look never start a report by themselves. */
static void batch(void **state)
{
	struct options o;
	struct error err;
	const char *const work[] = { "--report", "--apply fold", "--optimize", "-o x a.pte", "--bench", "--verify", "--explain x",
		"--dot", "--table fold", "--hash", "--fail-on foldable", "--baseline x" };

	for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
		assert_true(parse(&o, work[i], &err));
		assert_true(options_batch(&o));
		options_free(&o);
	}
	assert_true(parse(&o, "--threads 2 --seed 3 --color=never --method forward a.pte", &err));
	assert_false(options_batch(&o));
	options_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults), cmocka_unit_test(everything), cmocka_unit_test(files), cmocka_unit_test(refusals),
		cmocka_unit_test(help), cmocka_unit_test(batch),
	};

	return RUN_TAP(tests);
}
