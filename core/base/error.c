#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 8192 };

/* Of what is too long (names of files are) the middle goes: the end says what was wrong. */
static void shorten(char *to, size_t room, const char *text, size_t n)
{
	size_t head = room / 3, tail = room - head - 4;

	if (n < room) {
		memcpy(to, text, n + 1);
		return;
	}
	memcpy(to, text, head);
	memcpy(to + head, "...", 3);
	memcpy(to + head + 3, text + n - tail, tail + 1);
}

bool error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
	char text[LONGEST];
	va_list ap;

	if (!err)
		return false;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	shorten(err->text, sizeof err->text, text, strlen(text));
	for (char *c = err->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	return false;
}
