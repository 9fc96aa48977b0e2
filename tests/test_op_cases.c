/* The generated operator tests themselves: enough of them for every row, in every dtype that the row takes. */
#include "tests/opcase.h"
#include "tests/tap.h"

#include <glob.h>

enum { ROWS = 1024, EACH = 5, ALL = 2000 };

struct tally {
	const struct op *op;
	int cases;
	uint32_t given, taken;
};

struct survey {
	struct tally row[ROWS];
	int rows, cases;
};

static void count(const struct opcase *o, void *ctx)
{
	struct survey *s = ctx;

	s->cases++;
	for (int i = 0; i < s->rows; i++)
		if (s->row[i].op == o->op) {
			s->row[i].cases++;
			s->row[i].given |= o->given;
			s->row[i].taken |= o->taken;
		}
}

static struct survey *survey(void)
{
	static struct survey s;
	glob_t files;

	if (s.rows)
		return &s;
	for (const struct op *const *f = op_families; *f; f++)
		for (const struct op *o = *f; o->name; o++) {
			assert_true(s.rows < ROWS);
			s.row[s.rows++].op = o;
		}
	assert_int_equal(glob("tests/fixtures/*.txt", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++)
		opcase_survey(files.gl_pathv[i], count, &s);
	globfree(&files);
	return &s;
}

/* Of bools alone there are not always so many calls. */
static int wanted(const struct op *op)
{
	return !op->kernel ? 0 : !strncmp(op->schema, "B>", 2) ? 2 : EACH;
}

static void every_row_has_five_cases(void **state)
{
	const struct survey *s = survey();
	int few = 0;

	for (int i = 0; i < s->rows; i++)
		if (s->row[i].cases < wanted(s->row[i].op)) {
			print_message("%s has %d cases\n", s->row[i].op->name, s->row[i].cases);
			few++;
		}
	assert_int_equal(few, 0);
}

static void there_are_two_thousand(void **state)
{
	assert_true(survey()->cases >= ALL);
}

/* tests/dtypes.known: "operator dtype", taken here without a case: the stock kernel refuses it, is in no library of the
 * wheel, or gives other numbers (fixtures/dtypes.py, APART). */
static bool is_known(const char *name, const char *dtype)
{
	FILE *f = fopen("tests/dtypes.known", "r");
	char line[200], want[200];
	bool known = false;

	assert_non_null(f);
	snprintf(want, sizeof want, "%s %s\n", name, dtype);
	while (!known && fgets(line, sizeof line, f))
		known = !strcmp(line, want);
	fclose(f);
	return known;
}

static void every_dtype_taken_has_a_case(void **state)
{
	const struct survey *s = survey();
	int wrong = 0;

	for (int i = 0; i < s->rows; i++)
		for (int t = 0; t < DTYPE_CODES; t++) {
			const struct tally *r = &s->row[i];
			bool missing = (r->taken & ~r->given) >> t & 1;

			if (missing == is_known(r->op->name, dtype_name(t)))
				continue;
			print_message("%s %s: %s\n", r->op->name, dtype_name(t), missing ? "no case" : "known, but not missing");
			wrong++;
		}
	assert_int_equal(wrong, 0);
}

/* What --list-ops tells of a row is what its shape rule takes, in one case or another. */
static void rows_tell_what_they_take(void **state)
{
	const struct survey *s = survey();
	int wrong = 0;

	for (int i = 0; i < s->rows; i++)
		for (int t = 0; t < DTYPE_CODES; t++) {
			const struct tally *r = &s->row[i];
			bool told = dtype_in(t, r->op->dtypes) && dtype_in(t, DTYPES_ALL), taken = r->taken >> t & 1;

			if (told == taken || !r->op->kernel)
				continue;
			print_message("%s %s: %s\n", r->op->name, dtype_name(t), told ? "told, not taken" : "taken, not told");
			wrong++;
		}
	assert_int_equal(wrong, 0);
}

static void dtypes_that_the_others_leave_out(void **state)
{
	opcase_run("tests/fixtures/dtypes.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_five_cases),
		cmocka_unit_test(there_are_two_thousand),
		cmocka_unit_test(every_dtype_taken_has_a_case),
		cmocka_unit_test(rows_tell_what_they_take),
		cmocka_unit_test(dtypes_that_the_others_leave_out),
	};

	return RUN_TAP(tests);
}
