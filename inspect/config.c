#include "inspect/config.h"

#include "core/format/file.h"
#include "inspect/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BYTES = 1 << 20 };

static const char blanks[] = " \t\r";

void config_default(struct config *c)
{
	*c = (struct config){ .mouse = true };
	keymap_default(&c->keys);
	theme_default(&c->theme);
}

void config_free(struct config *c)
{
	arena_free(&c->mem);
}

/* Keys. */

/* The names without those that mean the key. */
static const char *without(struct arena *a, const char *names, struct key k)
{
	struct str left = { 0 };
	const char *kept;

	for (const char *at = names; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		struct key own;

		if (!key_named(at, n, &own) || own.code != k.code || own.special != k.special) {
			str_add(&left, left.n ? " " : "");
			str_addn(&left, at, n);
		}
		at += n;
	}
	kept = arena_string(a, str_text(&left));
	str_free(&left);
	return kept;
}

static bool set_key(struct config *c, const char *words, struct error *err)
{
	size_t n = strcspn(words, blanks);
	const struct request_row *r = request_find(words, n);
	struct str names = { 0 };
	struct key k;

	if (!r)
		return error_set(err, ERROR_REFUSED, "no request is called '%.*s'; etinspect --manual lists them", (int)n, words);
	words += n;
	for (const char *at = words + strspn(words, blanks); *at; at += strspn(at, blanks)) {
		n = strcspn(at, blanks);
		if (!key_named(at, n, &k)) {
			str_free(&names);
			return error_set(err, ERROR_REFUSED, "no key is called '%.*s'", (int)n, at);
		}
		str_add(&names, names.n ? " " : "");
		str_addn(&names, at, n);
		at += n;
	}
	for (const char *at = str_text(&names); *at; at += strspn(at, " ")) {
		n = strcspn(at, " ");
		key_named(at, n, &k);
		for (int i = REQ_NONE + 1; i < REQ_COUNT; i++)
			if (key_is(k, c->keys.keys[i]))
				c->keys.keys[i] = without(&c->mem, c->keys.keys[i], k);
		at += n;
	}
	c->keys.keys[r->request] = arena_string(&c->mem, str_text(&names));
	str_free(&names);
	return true;
}

static bool set_color(struct config *c, const char *words, struct error *err)
{
	size_t n = strcspn(words, blanks);
	int item = theme_find(words, n);
	struct str bad = { 0 };

	if (item < 0)
		return error_set(err, ERROR_REFUSED, "color takes plain, title, good, bad, warn, dim, cursor or match, not '%.*s'",
				 (int)n, words);
	if (theme_set(&c->theme.item[item], words + n, &bad))
		return true;
	error_set(err, ERROR_REFUSED, "no colour or attribute is called '%s'", str_text(&bad));
	str_free(&bad);
	return false;
}

static bool set_mouse(struct config *c, const char *words, struct error *err)
{
	if (strcmp(words, "on") && strcmp(words, "off"))
		return error_set(err, ERROR_REFUSED, "mouse takes on or off, not '%s'", words);
	c->mouse = !strcmp(words, "on");
	return true;
}

static bool set_columns(struct config *c, const char *words, struct error *err)
{
	size_t n = strcspn(words, blanks);
	struct str bad = { 0 };
	bool fine;

	for (int i = 0; i < PAGES; i++) {
		if (strlen(page_table[i]->name) != n || memcmp(page_table[i]->name, words, n))
			continue;
		fine = page_columns_parse(page_table[i], words + n, &c->hidden[i], &bad) ||
			error_set(err, ERROR_REFUSED, "%s has no column '%s'", page_table[i]->name, str_text(&bad));
		str_free(&bad);
		return fine;
	}
	return error_set(err, ERROR_REFUSED, "columns takes the name of a page first, not '%.*s'", (int)n, words);
}

const char *const config_words[] = { "key", "color", "mouse", "columns", NULL };

bool config_line(struct config *c, const char *line, struct error *err)
{
	static bool (*const set[])(struct config *c, const char *words, struct error *err) = {
		set_key, set_color, set_mouse, set_columns
	};
	char text[512];
	size_t n = strlen(line);

	line += strspn(line, blanks);
	n = strlen(line);
	while (n && strchr(blanks, line[n - 1]))
		n--;
	if (!n || *line == '#')
		return true;
	if (n >= sizeof text)
		return error_set(err, ERROR_REFUSED, "a line has at most %zu bytes", sizeof text - 1);
	memcpy(text, line, n);
	text[n] = '\0';
	n = strcspn(text, blanks);
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		if (strlen(config_words[i]) == n && !memcmp(config_words[i], text, n))
			return set[i](c, text + n + strspn(text + n, blanks), err);
	return error_set(err, ERROR_REFUSED, "a line begins with key, color, columns or mouse, not '%.*s'", (int)n, text);
}

/* The file. */

static bool path_of(char *path, size_t bytes)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n;

	if (base && *base == '/')	/* a relative one says nothing, so the specification of XDG */
		n = snprintf(path, bytes, "%s/etinspect/config", base);
	else if (home && *home)
		n = snprintf(path, bytes, "%s/.config/etinspect/config", home);
	else
		return false;
	return n > 0 && (size_t)n < bytes;
}

static bool read_lines(struct config *c, const char *path, const char *text, size_t bytes, struct error *err)
{
	bool fine = true;
	int number = 0;

	for (size_t at = 0; at < bytes; at++) {
		const char *end = memchr(text + at, '\n', bytes - at);
		size_t n = end ? (size_t)(end - text) - at : bytes - at;
		struct error why = { 0 };
		struct str line = { 0 };

		number++;
		str_addn(&line, text + at, n);
		if (!config_line(c, str_text(&line), &why) && fine)
			fine = error_set(err, why.code, "%s:%d: %s", path, number, why.text);
		str_free(&line);
		at += n;
	}
	return fine;
}

bool config_read(struct config *c, struct error *err)
{
	char path[PATH_MAX];
	struct stat st;
	struct file f;
	bool fine;

	config_default(c);
	if (!path_of(path, sizeof path) || (stat(path, &st) && (errno == ENOENT || errno == ENOTDIR)))
		return true;
	if (stat(path, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > MAX_BYTES))
		return error_set(err, ERROR_REFUSED, "%s: not a file of at most 1 MB", path);
	if (!file_open(&f, path, err))
		return false;
	fine = read_lines(c, path, (const char *)f.data, f.bytes, err);
	file_close(&f);
	return fine;
}
