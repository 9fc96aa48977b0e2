/* trace.h - the measured times of nodes as a Chrome trace (the JSON array format of chrome://tracing). */
#ifndef INSPECT_TRACE_H
#define INSPECT_TRACE_H

#include "core/session/session.h"

/* One track for each method, before and after. */
bool trace_write(const struct session *s, const char *path, bool replace, struct error *err);

#endif
