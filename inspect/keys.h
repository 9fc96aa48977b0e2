/* keys.h - keys to requests, from the one list in views/request.h. */
#ifndef INSPECT_KEYS_H
#define INSPECT_KEYS_H

#include "views/request.h"

#include <stdbool.h>
#include <stddef.h>

/* A key as ncurses gives it: a character, or (special) one of its KEY_ codes. */
struct key { int code; bool special; };

/* The key of a name: "j", "^f", "enter", "pgdn"; false if there is none. */
bool key_named(const char *name, size_t bytes, struct key *k);
enum request key_request(struct key k);

#endif
