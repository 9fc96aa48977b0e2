/* Text that may be shown: hostile strings, folding, numbers, words for a shell. */
#include "tests/tap.h"
#include "views/text.h"

static void cleaned(void **state)
{
	static const struct { const char *in, *out; } rows[] = {
		{ "plain", "plain" },
		{ "a\tb\nc\x1b[31m", "a?b?c?[31m" },
		{ "\x7f", "?" },
		{ "\xc2\x9b" "31m", "?31m" },			/* CSI as one C1 character */
		{ "caf\xc3\xa9 \xe2\x94\x82", "caf\xc3\xa9 \xe2\x94\x82" },
		{ "\xff\xfe", "??" },
		{ "\xc3", "?" },
		{ "\xc0\xaf", "??" },				/* overlong */
		{ "\xe0\x80\xaf", "???" },
		{ "\xed\xa0\x80", "???" },			/* surrogate */
		{ "\xf4\x90\x80\x80", "????" },			/* beyond U+10FFFF */
		{ "x\xe2\x80\xae" "fdp.exe", "x?fdp.exe" },	/* right-to-left override */
		{ "\xe2\x81\xa6", "?" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
	};
	struct str s = { 0 };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		str_clear(&s);
		text_clean(&s, rows[i].in, false);
		assert_string_equal(str_text(&s), rows[i].out);
	}
	str_clear(&s);
	text_clean(&s, "a\nb", true);
	assert_string_equal(str_text(&s), "a\nb");
	str_clear(&s);
	text_utf8(&s, "a\x1b\xff\x7f");
	assert_string_equal(str_text(&s), "a\x1b??");
	str_free(&s);
}

static void formats(void **state)
{
	struct text t = { 0 };

	text_add(&t, "%s: %d\n", "na\nme\r", 3);
	assert_string_equal(str_text(&t.s), "na?me?: 3\n");
	text_free(&t);
	t = (struct text){ .color = true };
	text_styled(&t, STYLE_BAD, "%s", "\x1b[0m");
	assert_string_equal(str_text(&t.s), "\x1b[31m?[0m\x1b[0m");
	text_free(&t);
	t = (struct text){ 0 };
	text_styled(&t, STYLE_BAD, "red");
	assert_string_equal(str_text(&t.s), "red");
	text_free(&t);
}

static void folded(void **state)
{
	struct text t = { .width = 20 };

	text_fold(&t, 4, 4, "words that do not fit in twenty columns");
	assert_string_equal(str_text(&t.s), "words that do\n    not fit in\n    twenty columns\n");
	text_free(&t);
	t = (struct text){ .width = 10 };
	text_fold(&t, 0, 2, "averyverylongword and on");	/* is not cut */
	assert_string_equal(str_text(&t.s), "averyverylongword\n  and on\n");
	text_free(&t);
	t = (struct text){ 0 };
	text_fold(&t, 0, 0, "");
	assert_string_equal(str_text(&t.s), "\n");
	text_free(&t);
}

static void numbers(void **state)
{
	char b[TEXT_NUMBER];

	assert_string_equal(text_bytes(b, 0), "0 B");
	assert_string_equal(text_bytes(b, 999), "999 B");
	assert_string_equal(text_bytes(b, 1000), "1 kB");
	assert_string_equal(text_bytes(b, 1024), "1.02 kB");
	assert_string_equal(text_bytes(b, 33563968), "33.6 MB");
	assert_string_equal(text_bytes(b, 999999), "1.00 MB");
	assert_string_equal(text_bytes(b, UINT64_MAX), "18447 PB");
	assert_string_equal(text_exact(b, 0), "0");
	assert_string_equal(text_exact(b, 999), "999");
	assert_string_equal(text_exact(b, 33554944), "33,554,944");
	assert_string_equal(text_exact(b, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(text_ms(b, 12.34), "12.3 ms");
	assert_string_equal(text_ms(b, 1240), "1.24 s");
	assert_string_equal(text_ms(b, 0.0421), "42.1 us");
	assert_string_equal(text_ms(b, -1), "-");
	assert_string_equal(text_flops(b, 0), "");
	assert_string_equal(text_flops(b, 8405385216.0), "8.41 GFLOP");
	assert_string_equal(text_percent(b, 0), "0 %");
	assert_string_equal(text_percent(b, 1), "100 %");
	assert_string_equal(text_percent(b, 0.99999), "99.9 %");
	assert_string_equal(text_percent(b, 0.00001), "<0.1 %");
	assert_string_equal(text_percent(b, 0.034), "3.4 %");
	assert_string_equal(text_percent(b, 0.5), "50 %");
}

static void shell(void **state)
{
	struct str s = { 0 };

	text_shell(&s, "dir/a-b_1.pte");
	text_shell(&s, "");
	text_shell(&s, "it's $(x)");
	assert_string_equal(str_text(&s), "dir/a-b_1.pte'''it'\\''s $(x)'");
	str_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cleaned), cmocka_unit_test(formats), cmocka_unit_test(folded), cmocka_unit_test(numbers),
		cmocka_unit_test(shell),
	};

	return RUN_TAP(tests);
}
