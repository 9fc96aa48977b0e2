/* The configuration: what each line sets, and what is said of a bad one. */
#include "inspect/config.h"
#include "inspect/keys.h"
#include "tests/tap.h"

#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct key q = { 'q', false }, j = { 'j', false }, down = { KEY_DOWN, true };

static void keys(void **state)
{
	struct config c;
	struct error err = { 0 };

	config_default(&c);
	assert_true(config_line(&c, "key quit Q ^x", &err));
	assert_int_equal(key_request(&c.keys, q), REQ_NONE);
	assert_int_equal(key_request(&c.keys, (struct key){ 'Q', false }), REQ_QUIT);
	assert_int_equal(key_request(&c.keys, (struct key){ 24, false }), REQ_QUIT);
	assert_true(config_line(&c, "  key\tpage-down  j  ", &err));	/* taken from `down` */
	assert_int_equal(key_request(&c.keys, j), REQ_PAGE_DOWN);
	assert_int_equal(key_request(&c.keys, down), REQ_DOWN);
	assert_string_equal(c.keys.keys[REQ_DOWN], "down");
	assert_true(config_line(&c, "key down", &err));
	assert_int_equal(key_request(&c.keys, down), REQ_NONE);
	assert_true(config_line(&c, "key down down down", &err));
	assert_int_equal(key_request(&c.keys, down), REQ_DOWN);
	config_free(&c);
}

static void colors(void **state)
{
	struct config c;
	struct error err = { 0 };

	config_default(&c);
	assert_int_equal(c.theme.item[STYLE_BAD].fg, 1);
	assert_true(config_line(&c, "color bad bright-blue on 236 bold underline", &err));
	assert_int_equal(c.theme.item[STYLE_BAD].fg, 12);
	assert_int_equal(c.theme.item[STYLE_BAD].bg, 236);
	assert_int_equal(c.theme.item[STYLE_BAD].attributes, THEME_BOLD | THEME_UNDERLINE);
	assert_true(config_line(&c, "color cursor on default reverse dim", &err));
	assert_int_equal(c.theme.item[THEME_CURSOR].bg, -1);
	assert_int_equal(c.theme.item[THEME_CURSOR].attributes, THEME_REVERSE | THEME_DIM);
	config_free(&c);
}

static void columns(void **state)
{
	struct config c;
	struct error err = { 0 };

	config_default(&c);
	assert_int_equal(c.hidden[PAGE_GRAPH], 0);
	assert_true(config_line(&c, "columns Graph operator\truns-on  why-not-XNNPACK", &err));
	assert_int_equal(c.hidden[PAGE_GRAPH] & 0x7f, 0x7f & ~(1u << 2 | 1u << 4 | 1u << 6));
	assert_true(config_line(&c, "columns Fold mark at", &err));
	assert_int_equal(c.hidden[PAGE_FOLD] & 0xff, 0xfc);
	assert_true(config_line(&c, "columns Bench bar", &err));	/* not the times of the same title */
	assert_int_equal(c.hidden[PAGE_BENCH] & 0xff, 0xff & ~(1u << 5));
	assert_false(config_line(&c, "columns Fold mark nowhere", &err));
	assert_string_equal(err.text, "Fold has no column 'nowhere'");
	assert_int_equal(c.hidden[PAGE_FOLD] & 0xff, 0xfc);
	assert_true(config_line(&c, "columns Fold", &err));
	assert_int_equal(c.hidden[PAGE_FOLD], 0);
	assert_false(config_line(&c, "columns fold mark", &err));
	config_free(&c);
}

static void nearest(void **state)
{
	assert_int_equal(theme_nearest(-1, 8), -1);
	assert_int_equal(theme_nearest(5, 8), 5);
	assert_int_equal(theme_nearest(12, 8), 4);
	assert_int_equal(theme_nearest(12, 16), 12);
	assert_int_equal(theme_nearest(196, 256), 196);
	assert_int_equal(theme_nearest(196, 8), 1);	/* the cube's red */
	assert_int_equal(theme_nearest(196, 16), 9);
	assert_int_equal(theme_nearest(16 + 36 * 5 + 6 * 5, 8), 3);
	assert_int_equal(theme_nearest(232, 8), 0);
	assert_int_equal(theme_nearest(255, 8), 7);
}

static void bad_lines(void **state)
{
	static const struct { const char *line, *text; } bad[] = {
		{ "keys quit q", "a line begins with key, color, columns or mouse, not 'keys'" },
		{ "key leave q", "no request is called 'leave'; etinspect --manual lists them" },
		{ "key", "no request is called ''; etinspect --manual lists them" },
		{ "key quit ctrl-q", "no key is called 'ctrl-q'" },
		{ "color worst red", "color takes plain, title, good, bad, warn, dim, cursor or match, not 'worst'" },
		{ "color bad pink", "no colour or attribute is called 'pink'" },
		{ "color bad 256", "no colour or attribute is called '256'" },
		{ "color bad 99999999999", "no colour or attribute is called '99999999999'" },
		{ "mouse maybe", "mouse takes on or off, not 'maybe'" },
	};
	struct config c;

	config_default(&c);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error err = { 0 };

		assert_false(config_line(&c, bad[i].line, &err));
		assert_string_equal(err.text, bad[i].text);
	}
	assert_int_equal(key_request(&c.keys, q), REQ_QUIT);	/* nothing was changed */
	assert_int_equal(c.theme.item[STYLE_BAD].fg, 1);
	config_free(&c);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The first bad line is told with its place, the good ones count; where the file is looked for. */
static void files(void **state)
{
	char dir[] = "/tmp/etinspect-config-XXXXXX", path[64], want[200];
	struct config c;
	struct error err = { 0 };

	assert_non_null(mkdtemp(dir));
	setenv("XDG_CONFIG_HOME", dir, 1);
	assert_true(config_read(&c, &err));	/* there is none */
	config_free(&c);
	snprintf(path, sizeof path, "%s/etinspect", dir);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/etinspect/config", dir);
	write_file(path, "# mine\n\nmouse off\nkey stay q\ncolor bad pink\nkey quit x");
	assert_false(config_read(&c, &err));
	snprintf(want, sizeof want, "%s:4: no request is called 'stay'; etinspect --manual lists them", path);
	assert_string_equal(err.text, want);
	assert_false(c.mouse);
	assert_int_equal(key_request(&c.keys, (struct key){ 'x', false }), REQ_QUIT);
	config_free(&c);
	write_file(path, "");
	assert_true(config_read(&c, &err));
	assert_true(c.mouse);
	config_free(&c);
	unlink(path);
	mkdir(path, 0755);
	assert_false(config_read(&c, &err));
	config_free(&c);
	setenv("XDG_CONFIG_HOME", "etinspect", 1);	/* relative: as if unset */
	setenv("HOME", dir, 1);
	assert_true(config_read(&c, &err));
	config_free(&c);
	rmdir(path);
	snprintf(path, sizeof path, "%s/.config", dir);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/.config/etinspect", dir);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/.config/etinspect/config", dir);
	write_file(path, "mouse off\n");
	assert_true(config_read(&c, &err));
	assert_false(c.mouse);
	config_free(&c);
	unlink(path);
	for (int i = 0; i < 2; i++) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	snprintf(path, sizeof path, "%s/etinspect", dir);
	rmdir(path);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys), cmocka_unit_test(colors), cmocka_unit_test(columns), cmocka_unit_test(nearest), cmocka_unit_test(bad_lines),
		cmocka_unit_test(files),
	};

	return RUN_TAP(tests);
}
