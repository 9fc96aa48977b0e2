/* str.h - a string that grows. The text is always NUL-terminated; str_free gives the memory back. */
#ifndef CORE_BASE_STR_H
#define CORE_BASE_STR_H

#include <stdarg.h>
#include <stddef.h>

struct str {
	char *text;	/* NULL until something is added: use str_text */
	size_t n, cap;
};

void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3), nonnull(2)));
void str_addv(struct str *s, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0), nonnull(2)));
const char *str_text(const struct str *s);	/* "" when empty */
void str_clear(struct str *s);
void str_free(struct str *s);

#endif
