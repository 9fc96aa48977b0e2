/* made.h - a session made by hand, for tests of what shows sessions: a positional convolution whose weight is
 * computed from v and g, as the exporter leaves it, and (version 1) as it is after fold and partition. Numbers
 * are invented; hostile strings stand where a file could put them. */
#ifndef TESTS_MADE_H
#define TESTS_MADE_H

#include "core/session/session.h"

struct session *made_session(void);
void made_free(struct session *s);

#endif
