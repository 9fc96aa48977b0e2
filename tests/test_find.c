/* Expressions: what they find, and which are refused. */
#include "tests/tap.h"
#include "views/find.h"

#include <locale.h>
#include <string.h>

/* The part of text that is found, or NULL. */
static const char *found(const char *expression, const char *text)
{
	static char part[64];
	struct find f = { 0 };
	char why[FIND_WHY_BYTES];
	size_t from, to;
	bool is;

	assert_true(find_set(&f, expression, why));
	is = find_in(&f, text, true, &from, &to);
	find_free(&f);
	if (!is)
		return NULL;
	memcpy(part, text + from, to - from);
	part[to - from] = '\0';
	return part;
}

static void finds(void **state)
{
	assert_string_equal(found("conv", "a Conv2d"), "Conv");
	assert_null(found("Conv", "a conv2d"));
	assert_string_equal(found("c.*v", "a CONV2d"), "CONV");
	assert_string_equal(found("^mm$", "4\nmm\nf32"), "mm");
	assert_null(found("mm.f32", "4\nmm\nf32"));
	assert_string_equal(found("[0-9]{2,3}", "f32[1,1024]"), "32");
	assert_string_equal(found("\\[1,", "f32[1,1024]"), "[1,");
	assert_string_equal(found("a|b+", "xbbb"), "bbb");
	assert_string_equal(found("\u00fc.", "m\u00fc\u7573x"), "\u00fc\u7573");	/* characters, not bytes */
	assert_string_equal(found("m.x", "a m\u7573x"), "m\u7573x");
}

static void goes_on(void **state)
{
	struct find f = { 0 };
	char why[FIND_WHY_BYTES];
	size_t from, to;

	assert_true(find_set(&f, "^a", why));
	assert_true(find_in(&f, "aa", true, &from, &to));
	assert_false(find_in(&f, "a", false, &from, &to));	/* no start of a cell */
	assert_false(find_set(&f, "(", why));
	assert_true(*why);
	assert_true(find_in(&f, "aa", true, &from, &to));	/* what was set stays */
	assert_int_equal(f.serial, 1);
	assert_true(find_set(&f, "", why));
	assert_false(f.set);
	assert_int_equal(f.serial, 2);
	assert_false(find_in(&f, "aa", true, &from, &to));
	find_free(&f);
}

static void refuses(void **state)
{
	static const char *const bad[] = { "(", "[", "a{2", "*a\\", "(a)\\1", "(a{50}){50}", "a{1001}", "a{,2000}", "a{1,999999999999999999}" };
	struct find f = { 0 };
	char why[FIND_WHY_BYTES], longest[300];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_false(find_set(&f, bad[i], why));
		assert_true(*why);
	}
	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	assert_false(find_set(&f, longest, why));
	assert_true(find_set(&f, "a{2,3}b{4}\\\\1", why));
	find_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds), cmocka_unit_test(goes_on), cmocka_unit_test(refuses) };

	setlocale(LC_CTYPE, "C.UTF-8");
	return RUN_TAP(tests);
}
