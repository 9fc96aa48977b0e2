#include "inspect/command.h"

#include "inspect/config.h"
#include "inspect/keys.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

struct command_row { const char *name, *value, *help; enum command_kind kind; };

static const struct command_row table[] = {
	{ "goto", "NODE", "to a node in the graph: its id, its number, an operator or a constant", COMMAND_GOTO },
	{ "set", "NAME VALUE", "a line of the configuration, or an option for the runs to come", COMMAND_SET },
	{ "write", "FILE", "write the program", COMMAND_WRITE },
	{ "export", "FILE", "write this page as text", COMMAND_EXPORT },
	{ "search", "EXPRESSION", "search this page", COMMAND_SEARCH },
	{ "filter", "WORDS", "filter this page", COMMAND_FILTER },
};

static const char blanks[] = " \t";

static const struct command_row *find_command(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strlen(table[i].name) == n && !memcmp(table[i].name, name, n))
			return &table[i];
	return NULL;
}

/* The option a word begins with, with its dashes or (bare) without. */
static const struct option_row *find_option(const char *word, size_t n, bool bare)
{
	const char *equals = memchr(word, '=', n);

	n = equals ? (size_t)(equals - word) : n;
	if (n > 2 && !memcmp(word, "--", 2))
		return option_find(word + 2, n - 2);
	for (const struct option_row *r = option_table; n == 2 && *word == '-' && r->help; r++)
		if (r->letter == word[1])
			return r;
	return bare ? option_find(word, n) : NULL;
}

/* Words. */

struct words { char **at; int n, cap; };

/* As a shell splits them: quotes keep blanks. */
static bool split(struct words *w, const char *line, struct arena *a, struct error *err)
{
	for (line += strspn(line, blanks); *line; line += strspn(line, blanks)) {
		struct str s = { 0 };
		char quote = 0;

		for (; *line && (quote || !strchr(blanks, *line)); line++) {
			if (quote ? *line == quote : *line == '\'' || *line == '"')
				quote = quote ? 0 : *line;
			else
				str_addn(&s, line, 1);
		}
		vec_push(a, w, arena_string(a, str_text(&s)));
		str_free(&s);
		if (quote)
			return error_set(err, ERROR_REFUSED, "a %c is not closed", quote);
	}
	return true;
}

static bool parse_options(struct command *c, const char *line, const struct run_options *run, struct arena *a, struct error *err)
{
	struct words w = { 0 };
	const struct option_row *first;

	c->kind = COMMAND_OPTIONS;
	c->options = (struct options){ .by = "module", .table = "nodes", .run = *run };
	c->options.run.input = NULL;
	c->options.run.shape = NULL;
	c->options.run.ninputs = c->options.run.nshapes = 0;
	if (!split(&w, line, a, err))
		return false;
	first = find_option(w.at[0], strlen(w.at[0]), true);
	if (w.at[0][0] != '-')
		w.at[0] = arena_printf(a, "--%s", w.at[0]);
	if (w.n > 1 && first && first->value && !strncmp(first->value, "[=", 2) && w.at[1][0] != '-' && !strchr(w.at[0], '=')) {
		w.at[1] = arena_printf(a, "--%s=%s", first->name, w.at[1]);	/* "report json" */
		w.at++;
		w.n--;
	}
	return options_add(&c->options, w.n, w.at, err);
}

/* A line of the configuration is left as it is. */
static bool parse_set(struct command *c, const struct run_options *run, struct arena *a, struct error *err)
{
	size_t n = strcspn(c->rest, blanks);

	c->kind = COMMAND_SET;
	for (int i = 0; config_words[i]; i++)
		if (strlen(config_words[i]) == n && !memcmp(config_words[i], c->rest, n))
			return true;
	if (!find_option(c->rest, n, true))
		return error_set(err, ERROR_REFUSED, "there is no '%.*s' to set; Tab shows what there is", (int)n, c->rest);
	return parse_options(c, c->rest, run, a, err);
}

static enum request request_of(const char *word, size_t n, const struct keymap *keys)
{
	const struct request_row *r = request_find(word, n);
	struct key k;

	return r ? r->request : key_named(word, n, &k) ? key_request(keys, k) : REQ_NONE;
}

bool command_parse(struct command *c, const char *line, const struct keymap *keys, const struct run_options *run,
		   struct arena *a, struct error *err)
{
	const struct command_row *own;
	size_t n;

	*c = (struct command){ .kind = COMMAND_NOTHING };
	line += strspn(line, blanks);
	n = strcspn(line, blanks);
	if (!n)
		return true;
	own = find_command(line, n);
	c->rest = arena_string(a, line + n + strspn(line + n, blanks));
	for (size_t end = strlen(c->rest); end && strchr(blanks, c->rest[end - 1]); end--)
		((char *)c->rest)[end - 1] = '\0';
	c->request = *c->rest ? REQ_NONE : request_of(line, n, keys);
	if (c->request) {
		c->kind = COMMAND_REQUEST;
		return true;
	}
	if (own && !*c->rest)
		return error_set(err, ERROR_REFUSED, "%s needs a value: %s", own->name, own->value);
	if (own && own->kind == COMMAND_SET)
		return parse_set(c, run, a, err);
	if (own) {
		c->kind = own->kind;
		return true;
	}
	if (*line != '-' && !find_option(line, n, true))
		return error_set(err, ERROR_REFUSED, "no command is called '%.*s'; Tab shows those there are", (int)n, line);
	return parse_options(c, line, run, a, err);
}

void command_free(struct command *c)
{
	options_free(&c->options);
}

/* Completing. */

struct candidates { struct arena mem; const char **at; int n, cap; const char *prefix; };

static void candidate(struct candidates *c, const char *before, const char *word)
{
	const char *whole = arena_printf(&c->mem, "%s%s", before, word);

	if (strncmp(whole, c->prefix, strlen(c->prefix)))
		return;
	for (int i = 0; i < c->n; i++)
		if (!strcmp(c->at[i], whole))
			return;
	vec_push(&c->mem, c, whole);
}

static void options_named(struct candidates *c, const char *dashes)
{
	for (const struct option_row *r = option_table; r->help; r++)
		if (r->name)
			candidate(c, dashes, r->name);
}

static void first_words(struct candidates *c)
{
	char name[REQUEST_NAME_BYTES];

	if (*c->prefix == '-') {
		options_named(c, "--");
		return;
	}
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		candidate(c, "", table[i].name);
	options_named(c, "");
	for (int i = 0; i < request_rows && *c->prefix; i++) {	/* they are many: of what is begun only */
		if (!request_table[i].name)
			continue;
		request_name(&request_table[i], name);
		candidate(c, "", name);
	}
}

static void files(struct candidates *c)
{
	char *pattern = arena_printf(&c->mem, "%s*", c->prefix);
	glob_t g;

	if (glob(pattern, GLOB_MARK, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc; i++)
			candidate(c, "", g.gl_pathv[i]);
	globfree(&g);
}

/* Values of an option: those it lists (each of a comma list), or files. */
static void values(struct candidates *c, const struct option_row *r)
{
	const char *const *words = option_words(r), *comma = strrchr(c->prefix, ',');
	char *before = arena_printf(&c->mem, "%.*s", comma ? (int)(comma + 1 - c->prefix) : 0, c->prefix);

	for (int i = 0; words && words[i]; i++)
		candidate(c, before, words[i]);
	if (!words && r->value && strstr(r->value, "FILE"))
		files(c);
}

static void set_words(struct candidates *c)
{
	for (int i = 0; config_words[i]; i++)
		candidate(c, "", config_words[i]);
	options_named(c, "");
}

/* The last word but one of the N bytes of line: its option, or NULL. */
static const struct option_row *option_before(const char *line, size_t n)
{
	size_t end = n, start;

	while (end && strchr(blanks, line[end - 1]))
		end--;
	for (start = end; start && !strchr(blanks, line[start - 1]);)
		start--;
	return find_option(line + start, end - start, start == 0);
}

static void find_candidates(struct candidates *c, const char *line, size_t at)
{
	size_t first = strcspn(line, blanks), rest = first + strspn(line + first, blanks);
	const struct command_row *own = find_command(line, first);
	const struct option_row *before;

	if (!at) {
		first_words(c);
	} else if (own && own->kind == COMMAND_SET && at == rest) {
		set_words(c);
	} else if (own && (own->kind == COMMAND_WRITE || own->kind == COMMAND_EXPORT)) {
		files(c);
	} else if (!own) {
		before = option_before(line, at);
		if (before && before->value && *c->prefix != '-')
			values(c, before);
		else
			options_named(c, "--");
	}
}

void command_complete(const char *line, struct str *completed, struct str *note)
{
	size_t skip = strspn(line, blanks), at = strlen(line), common;
	struct candidates c = { .mem = { 0 } };

	while (at > skip && !strchr(blanks, line[at - 1]))
		at--;
	c.prefix = line + at;
	find_candidates(&c, line + skip, at - skip);
	str_addn(completed, line, at);
	if (!c.n) {
		str_add(completed, line + at);
		str_add(note, "nothing begins so");
	} else {
		common = strlen(c.at[0]);
		for (int i = 1; i < c.n; i++)
			for (size_t k = 0; k < common; k++)
				if (c.at[i][k] != c.at[0][k])
					common = k;
		str_addn(completed, c.at[0], common);
		if (c.n == 1 && c.at[0][common - 1] != '/')
			str_add(completed, " ");
		for (int i = 0; c.n > 1 && i < c.n; i++)
			str_addf(note, "%s%s", i ? " " : "", c.at[i]);
	}
	arena_free(&c.mem);
}

void command_hint(const char *line, struct str *hint)
{
	size_t n;
	const struct command_row *own;
	const struct option_row *r = NULL;

	line += strspn(line, blanks);
	n = strcspn(line, blanks);
	own = find_command(line, n);
	if (own && line[n]) {
		str_addf(hint, "%s: %s", own->value, own->help);
		return;
	}
	for (const char *at = line; *at; at += strspn(at, blanks)) {
		n = strcspn(at, blanks);
		if (at[n])	/* it is whole */
			r = find_option(at, n, at == line) ? find_option(at, n, at == line) : r;
		at += n;
	}
	if (r)
		str_addf(hint, "%s%s%s", r->value ? r->value : "", r->value ? ": " : "", r->help);
}
