#include "views/filter.h"

#include <stdio.h>
#include <string.h>

static const char *const names[FACETS] = { "", "op", "reason", "module", "delegate" };

static enum facet facet_of(const char **word)
{
	for (int f = FACET_TEXT + 1; f < FACETS; f++) {
		size_t n = strlen(names[f]);

		if (!strncmp(*word, names[f], n) && (*word)[n] == ':') {
			*word += n + 1;
			return (enum facet)f;
		}
	}
	return FACET_TEXT;
}

/* Half a word, "op:" or "!", asks for nothing yet. */
static bool add_term(struct filter *f, const char *word, unsigned known, const char *name, char *why)
{
	struct filter_term t = { .not = *word == '!' };
	char whole[FILTER_BYTES + 8];

	word += t.not;
	t.facet = facet_of(&word);
	if (!(known >> t.facet & 1)) {
		snprintf(why, FIND_WHY_BYTES, "%s: rows of %s have none", names[t.facet], name);
		return false;
	}
	if (!*word)
		return true;
	if (f->n == FILTER_TERMS) {
		snprintf(why, FIND_WHY_BYTES, "at most %d words", FILTER_TERMS);
		return false;
	}
	snprintf(whole, sizeof whole, t.facet == FACET_DELEGATE ? "^(%s)$" : "%s", word);
	if (!find_set(&t.find, whole, why))
		return false;
	f->term[f->n++] = t;
	return true;
}

bool filter_set(struct filter *f, const char *words, unsigned known, const char *name, char why[FIND_WHY_BYTES])
{
	struct filter new = { .n = 0 };
	char word[FILTER_BYTES];

	why[0] = '\0';
	if (strlen(words) >= sizeof new.words) {
		snprintf(why, FIND_WHY_BYTES, "too long");
		return false;
	}
	strcpy(new.words, words);
	for (const char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		memcpy(word, at, n);
		word[n] = '\0';
		if (!add_term(&new, word, known, name, why)) {
			filter_free(&new);
			return false;
		}
		at += n;
	}
	if (!new.n)
		new.words[0] = '\0';
	filter_free(f);
	*f = new;
	return true;
}

bool filter_passes(const struct filter *f, void (*facet)(void *row, enum facet facet, struct str *s), void *row)
{
	struct str s = { 0 };
	bool passes = true;

	for (int i = 0; i < f->n && passes; i++) {
		size_t from, to;

		str_clear(&s);
		facet(row, f->term[i].facet, &s);
		passes = find_in(&f->term[i].find, str_text(&s), true, &from, &to) != f->term[i].not;
	}
	str_free(&s);
	return passes;
}

void filter_free(struct filter *f)
{
	for (int i = 0; i < f->n; i++)
		find_free(&f->term[i].find);
	*f = (struct filter){ .n = 0 };
}
