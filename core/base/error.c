#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>

bool error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return false;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	for (char *c = err->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	return false;
}
