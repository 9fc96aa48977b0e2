#include "views/find.h"

#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 1000 };	/* the product of all counts in braces; an expression is as large as that */

static bool refuse(char *why, const char *text)
{
	snprintf(why, FIND_WHY_BYTES, "%s", text);
	return false;
}

/* An expression that would be too large, or slow beyond any bound. */
static bool is_bounded(const char *s, char *why)
{
	long product = 1;

	for (; *s; s++) {
		char *end;
		long n, most = 1;

		if (*s == '\\' && s[1]) {
			s++;
			if (*s >= '1' && *s <= '9')
				return refuse(why, "back-references are not taken");
			continue;
		}
		if (*s != '{')
			continue;
		for (const char *at = s + 1; isdigit((unsigned char)*at) || *at == ','; at = end) {
			n = strtol(at + (*at == ','), &end, 10);
			most = n > most ? n : most;
			if (end == at + (*at == ','))
				break;
		}
		product = most > REPEATS ? REPEATS + 1 : product * most;
		if (product > REPEATS)
			return refuse(why, "too many repetitions");
	}
	return true;
}

static bool is_ascii(const char *s)
{
	while (*s && (unsigned char)*s < 0x80)
		s++;
	return !*s;
}

static int compile(regex_t *regex, const char *expression, bool capitals, char *why)
{
	int bad = regcomp(regex, expression, REG_EXTENDED | REG_NEWLINE | (capitals ? 0 : REG_ICASE));

	if (bad)
		regerror(bad, regex, why, FIND_WHY_BYTES);
	return bad;
}

static int compile_ascii(regex_t *regex, const char *expression, bool capitals, char *why)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = c ? uselocale(c) : (locale_t)0;
	int bad = compile(regex, expression, capitals, why);

	if (c) {
		uselocale(before);
		freelocale(c);
	}
	return bad;
}

bool find_set(struct find *f, const char *expression, char why[FIND_WHY_BYTES])
{
	struct find new = { .set = true, .serial = f->serial + 1, .is_ascii = is_ascii(expression) };

	why[0] = '\0';
	if (!*expression) {
		find_free(f);
		f->serial++;
		return true;
	}
	if (strlen(expression) >= sizeof f->plain)
		return refuse(why, "too long");
	if (!is_bounded(expression, why))
		return false;
	for (const char *c = expression; *c; c++)
		new.capitals = new.capitals || isupper((unsigned char)*c);
	if (compile(&new.wide, expression, new.capitals, why))
		return false;
	if (new.is_ascii && compile_ascii(&new.ascii, expression, new.capitals, why)) {
		regfree(&new.wide);
		return false;
	}
	if (new.is_ascii && !expression[strcspn(expression, "\\^$.[]()|*+?{}")])
		strcpy(new.plain, expression);
	find_free(f);
	*f = new;
	return true;
}

/* In UTF-8 too no byte of a longer character is ASCII. */
static bool plain_in(const struct find *f, const char *text, size_t *from, size_t *to)
{
	const char *at = f->capitals ? strstr(text, f->plain) : strcasestr(text, f->plain);

	if (!at)
		return false;
	*from = (size_t)(at - text);
	*to = *from + strlen(f->plain);
	return true;
}

bool find_in(const struct find *f, const char *text, bool start, size_t *from, size_t *to)
{
	regmatch_t m;

	if (!f->set)
		return false;
	if (*f->plain)
		return plain_in(f, text, from, to);
	if (regexec(f->is_ascii && is_ascii(text) ? &f->ascii : &f->wide, text, 1, &m, start ? 0 : REG_NOTBOL))
		return false;
	*from = (size_t)m.rm_so;
	*to = (size_t)m.rm_eo;
	return true;
}

void find_free(struct find *f)
{
	if (f->set)
		regfree(&f->wide);
	if (f->set && f->is_ascii)
		regfree(&f->ascii);
	*f = (struct find){ .serial = f->serial };
}
