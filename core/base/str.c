#include "core/base/str.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

static void reserve(struct str *s, size_t more)
{
	if (s->n + more + 1 <= s->cap)
		return;
	s->cap = (s->n + more + 1) * 2;
	s->text = mem_grow(s->text, s->cap);
}

void str_addn(struct str *s, const char *text, size_t n)
{
	reserve(s, n);
	memcpy(s->text + s->n, text, n);
	s->n += n;
	s->text[s->n] = '\0';
}

void str_add(struct str *s, const char *text)
{
	str_addn(s, text, strlen(text));
}

void str_addv(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(s->text ? s->text + s->n : NULL, s->cap - s->n, fmt, again);	/* mostly it has the room */
	va_end(again);
	if ((size_t)n >= s->cap - s->n) {
		reserve(s, (size_t)n);
		vsnprintf(s->text + s->n, (size_t)n + 1, fmt, ap);
	}
	s->n += (size_t)n;
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_addv(s, fmt, ap);
	va_end(ap);
}

const char *str_text(const struct str *s)
{
	return s->text ? s->text : "";
}

void str_clear(struct str *s)
{
	s->n = 0;
	if (s->text)
		s->text[0] = '\0';
}

void str_free(struct str *s)
{
	mem_free(s->text);
	*s = (struct str){ 0 };
}
