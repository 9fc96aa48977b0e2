/* command.h - the `:` line. What it begins with is a command of its own (the short list of command.c), a request by its
 * name, a key, or an option of the command line, with or without its dashes; more options may follow that.
 *
 * What a line gives points into the arena. A bad line is an error value. */
#ifndef INSPECT_COMMAND_H
#define INSPECT_COMMAND_H

#include "core/base/str.h"
#include "inspect/options.h"
#include "views/request.h"

enum command_kind { COMMAND_NOTHING, COMMAND_REQUEST, COMMAND_OPTIONS, COMMAND_GOTO, COMMAND_SET, COMMAND_WRITE, COMMAND_EXPORT,
		    COMMAND_SEARCH, COMMAND_FILTER };

struct command {
	enum command_kind kind;
	enum request request;
	const char *rest;		/* of the line, behind a command of its own */
	struct options options;		/* those of the line; its run options begin with those that were handed in */
};

bool command_parse(struct command *c, const char *line, const struct keymap *keys, const struct run_options *run,
		   struct arena *a, struct error *err);
void command_free(struct command *c);
/* The line with its last word completed as far as it is certain; NOTE are the words it may become. */
void command_complete(const char *line, struct str *completed, struct str *note);
/* What the last command or option of a line takes and does; nothing if there is none. */
void command_hint(const char *line, struct str *hint);

#endif
