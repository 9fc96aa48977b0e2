/* keys.h - keys to requests, by the keymap of views/request.h. */
#ifndef INSPECT_KEYS_H
#define INSPECT_KEYS_H

#include "views/request.h"

/* A key as ncurses gives it: a character, or (special) one of its KEY_ codes. */
struct key { int code; bool special; };

/* The key of a name: "j", "^f", "enter", "pgdn", "f1"; false if there is none. */
bool key_named(const char *name, size_t bytes, struct key *k);
bool key_is(struct key pressed, const char *names);	/* one of names, separated by spaces */
enum request key_request(const struct keymap *map, struct key pressed);

#endif
