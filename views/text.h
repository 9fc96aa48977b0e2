/* text.h - text for people, and the one place where strings of a file are made harmless.
 *
 * Whatever is added is cleaned: control characters (C0, C1, DEL), broken UTF-8 and the marks that reorder text
 * become '?', so that a hostile name can neither move the cursor nor fake a line. Only the '\n' of our own
 * formats passes, and the colours, which are asked for by style and never come out of a string. */
#ifndef VIEWS_TEXT_H
#define VIEWS_TEXT_H

#include "core/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum style { STYLE_PLAIN, STYLE_TITLE, STYLE_GOOD, STYLE_BAD, STYLE_WARN, STYLE_DIM, STYLES };

struct text {
	struct str s;
	bool color;	/* with SGR sequences */
	int width;	/* columns that text_fold keeps to; 0: 80 */
};

/* Adds s to out, cleaned. With lines, '\n' is kept. */
void text_clean(struct str *out, const char *s, bool lines);
/* Adds s to out as valid UTF-8, broken bytes as '?', control characters kept: for JSON, which escapes them. */
void text_utf8(struct str *out, const char *s);

/* A line of ours. Newlines that end the format are kept; any other, and those of arguments, become '?'. */
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_styled(struct text *t, enum style style, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A sentence folded to the width, from column AT on; every further line starts at INDENT. Ends with a newline. */
void text_fold(struct text *t, int at, int indent, const char *sentence);
void text_free(struct text *t);

/* The next code point of s and its length in *n; U+FFFD and 1 for a broken byte, 0 at the end. */
uint32_t text_rune(const char *s, size_t *n);
int text_columns(const char *s);	/* columns on a screen, of cleaned text */

/* Numbers, into buf; they return it. */
enum { TEXT_NUMBER = 32 };
const char *text_bytes(char *buf, uint64_t bytes);	/* "33.6 MB", "512 B" */
const char *text_exact(char *buf, uint64_t n);		/* "33,554,944" */
const char *text_flops(char *buf, double flops);	/* "16.8 GFLOP", "" for none */
const char *text_ms(char *buf, double ms);		/* "12.3 ms", "1.24 s" */
const char *text_percent(char *buf, double part);	/* of 1: "97 %", "0.3 %" */

/* A word as a POSIX shell must be given it. */
void text_shell(struct str *out, const char *word);

#endif
