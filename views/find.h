/* find.h - what a person looks for: a POSIX extended regular expression. Capitals count only where it has one itself.
 *
 * Text is what a row shows, a line a cell: `^` and `$` are the ends of a cell, and nothing matches across them. What
 * could take for ever (back-references, repetitions of repetitions) is refused. A find owns its expression. */
#ifndef VIEWS_FIND_H
#define VIEWS_FIND_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct find {
	bool set;		/* there is an expression; all zero: none */
	int serial;		/* another one for each expression, so that results can be kept */
	/* its own */
	regex_t wide, ascii;	/* of the person's locale, and of ASCII: many times faster where the text is no more */
	char plain[256];	/* the expression, when it is nothing but text: faster still */
	bool capitals, is_ascii;	/* is_ascii: the expression is */
};

enum { FIND_WHY_BYTES = 128 };

/* False: it is no expression, and WHY says why; what was set stays. An empty one clears it. */
bool find_set(struct find *f, const char *expression, char why[FIND_WHY_BYTES]);
/* The first match from text on, a range in bytes; false: none. START: the text begins where a cell does. */
bool find_in(const struct find *f, const char *text, bool start, size_t *from, size_t *to);
void find_free(struct find *f);

#endif
