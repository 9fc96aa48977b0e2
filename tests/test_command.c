/* The `:` line: what it is taken for, what is said of a bad one, and how it is completed. */
#include "inspect/command.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena mem;
static struct error err;

static struct command parse(const char *line, bool fine)
{
	static const struct run_options run = { .runs = 7, .threads = 3 };
	struct keymap keys;
	struct command c;

	keymap_default(&keys);
	memset(&err, 0, sizeof err);
	if (command_parse(&c, line, &keys, &run, &mem, &err) != fine)
		fail_msg("'%s': %s", line, err.text);
	arena_join(&mem, &c.options.mem);
	return c;
}

static void kinds(void **state)
{
	struct command c;

	assert_int_equal(parse("  ", true).kind, COMMAND_NOTHING);
	c = parse("next-declined", true);
	assert_int_equal(c.kind, COMMAND_REQUEST);
	assert_int_equal(c.request, REQ_NEXT_DECLINED);
	assert_int_equal(parse(" bench ", true).request, REQ_BENCH);
	assert_int_equal(parse("q", true).request, REQ_QUIT);
	assert_int_equal(parse("write", true).request, REQ_WRITE);
	c = parse("write  a b.pte ", true);
	assert_int_equal(c.kind, COMMAND_WRITE);
	assert_string_equal(c.rest, "a b.pte");
	assert_int_equal(parse("goto forward/5", true).kind, COMMAND_GOTO);
	assert_int_equal(parse("set color bad red", true).kind, COMMAND_SET);
	assert_int_equal(parse("search conv", true).kind, COMMAND_SEARCH);
	assert_int_equal(parse("filter op:conv", true).kind, COMMAND_FILTER);
	assert_int_equal(parse("export x", true).kind, COMMAND_EXPORT);
	arena_free(&mem);
}

static void options(void **state)
{
	struct command c = parse("apply fold,partition", true);

	assert_int_equal(c.kind, COMMAND_OPTIONS);
	assert_int_equal(c.options.apply.n, 2);
	c = parse("--bench --runs=5 --threads 2", true);
	assert_true(c.options.bench);
	assert_int_equal(c.options.run.runs, 5);
	assert_int_equal(c.options.run.threads, 2);
	c = parse("set max-time 2", true);
	assert_int_equal(c.kind, COMMAND_OPTIONS);
	assert_int_equal(c.options.run.runs, 7);	/* what it was */
	assert_string_equal(parse("-o 'a b.pte'", true).options.output, "a b.pte");
	assert_string_equal(parse("explain \"x y\"", true).options.explain, "x y");
	assert_int_equal(parse("report json", true).options.format, FORMAT_JSON);
	assert_int_equal(parse("report", true).options.format, FORMAT_TEXT);
	assert_int_equal(parse("report --hash", true).options.hash, true);
	assert_int_equal(parse("report=csv", true).options.format, FORMAT_CSV);
	arena_free(&mem);
}

static void bad(void **state)
{
	static const struct { const char *line, *why; } lines[] = {
		{ "nothing", "no command is called 'nothing'; Tab shows those there are" },
		{ "goto", "goto needs a value: NODE" },
		{ "apply fold,x", "--apply takes fold, linear or partition, not 'x'" },
		{ "--nothing", "unknown option --nothing" },
		{ "runs many", "--runs takes a whole number from 1 to 1000000, not 'many'" },
		{ "runs", "--runs needs a value: N" },
		{ "bench x", "'x' is no option" },
		{ "explain 'x", "a ' is not closed" },
		{ "set nothing 1", "there is no 'nothing' to set; Tab shows what there is" },
		{ "- x", "'-' is no option" },
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		parse(lines[i].line, false);
		assert_string_equal(err.text, lines[i].why);
	}
	arena_free(&mem);
}

static void completes(const char *line, const char *want, const char *want_note)
{
	struct str s = { 0 }, note = { 0 };

	command_complete(line, &s, &note);
	assert_string_equal(str_text(&s), want);
	if (want_note)
		assert_string_equal(str_text(&note), want_note);
	str_free(&s);
	str_free(&note);
}

static void completion(void **state)
{
	char dir[] = "/tmp/etinspect-test-XXXXXX", path[64];
	FILE *f;

	completes("got", "goto ", "");
	completes("app", "apply ", "");
	completes("apply ", "apply ", "fold linear partition");
	completes("apply fold,par", "apply fold,partition ", "");
	completes("--app", "--apply ", "");
	completes("ma", "ma", "max-time manual mark");
	completes("bench --max", "bench --max-time ", "");
	completes("bench --by ", "bench --by ", "module op node");
	completes("next-d", "next-declined ", "");
	completes("xyz", "xyz", "nothing begins so");
	completes("set col", "set col", "color columns");
	completes("set thr", "set threads ", "");
	completes("report j", "report json ", "");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/model.pte", dir);
	assert_non_null(f = fopen(path, "w"));
	fclose(f);
	snprintf(path, sizeof path, "write %s/mo", dir);
	{
		char want[80];

		snprintf(want, sizeof want, "write %s/model.pte ", dir);
		completes(path, want, "");
		unlink(want + 6);
	}
	snprintf(path, sizeof path, "%s/model.pte", dir);
	unlink(path);
	rmdir(dir);
}

/* Every option of the command line is completed, with its dashes and without. */
static void all_options(void **state)
{
	for (const struct option_row *r = option_table; r->help; r++) {
		struct str s = { 0 }, note = { 0 }, line = { 0 };

		if (!r->name)
			continue;
		str_addf(&line, "--%s", r->name);
		line.text[--line.n] = '\0';	/* all but its last letter */
		command_complete(str_text(&line), &s, &note);
		assert_true(!strncmp(str_text(&s), str_text(&line), line.n));
		assert_true(strstr(str_text(&note), r->name) || strstr(str_text(&s), r->name));
		str_free(&s);
		str_free(&note);
		str_free(&line);
	}
}

static void hints(void **state)
{
	struct str s = { 0 };

	command_hint("goto ", &s);
	assert_string_equal(str_text(&s), "NODE: to a node in the graph: its id, its number, an operator or a constant");
	str_clear(&s);
	command_hint("bench --runs ", &s);
	assert_string_equal(str_text(&s), "N: timed runs a row (30)");
	str_clear(&s);
	command_hint("ben", &s);
	assert_string_equal(str_text(&s), "");
	str_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds), cmocka_unit_test(options), cmocka_unit_test(bad), cmocka_unit_test(completion),
		cmocka_unit_test(all_options), cmocka_unit_test(hints),
	};

	return RUN_TAP(tests);
}
