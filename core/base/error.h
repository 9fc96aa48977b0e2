/* error.h - how core fails: a code and one sentence.
 *
 * An error is filled once, at the deepest place that knows what was found and what was allowed, and
 * then only passed up. Functions that can fail return bool and take a last argument `struct error *`,
 * which may be NULL. error_set returns false, so that a failure is one line: return error_set(err, ...). */
#ifndef CORE_BASE_ERROR_H
#define CORE_BASE_ERROR_H

#include <stdbool.h>

enum error_code {
	ERROR_NONE,
	ERROR_FORMAT,	/* a file is not what it should be; the text gives file and offset */
	ERROR_IO,	/* the system would not read or write */
	ERROR_UNSUPPORTED, /* well-formed, but beyond what we can do */
	ERROR_MISSING,	/* beyond what the XNNPACK installed here can do; the target's can */
	ERROR_RUN,	/* a run failed: bad index, failed worker, XNNPACK status */
	ERROR_MEMORY,	/* a size that a file or a run asked for is not to be had */
	ERROR_REFUSED,	/* we could, but it would not be sound */
};

struct error {
	enum error_code code;
	char text[512];	/* one sentence, no full stop, no control characters */
};

/* Fills err and returns false. Control characters that come in through %s are made '?'. */
bool error_set(struct error *err, enum error_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
