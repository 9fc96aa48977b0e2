/* config.h - what a person has set: keys, colours, columns, the mouse. $XDG_CONFIG_HOME/etinspect/config, else
 * ~/.config/etinspect/config, a line each:
 *
 *     key REQUEST [KEY]...     these keys instead of the default ones; a key is taken from the request that had it
 *     color STYLE WORD...      a foreground, "on" a background, bold, dim, underline, reverse
 *     columns PAGE [NAME]...   these columns of a page alone; none: all
 *     mouse on|off
 *
 * Empty lines and those that begin with '#' say nothing. A bad line is told once and changes nothing; the others count. */
#ifndef INSPECT_CONFIG_H
#define INSPECT_CONFIG_H

#include "core/base/error.h"
#include "core/base/mem.h"
#include "views/page.h"
#include "views/theme.h"

struct config {
	struct arena mem;	/* of the key names */
	struct keymap keys;
	struct theme theme;
	unsigned hidden[PAGES];	/* columns, a bit each */
	bool mouse;
};

/* Defaults, then the file if there is one. False: something in it is bad, "FILE:LINE: ..."; the rest counts. */
bool config_read(struct config *c, struct error *err);
void config_default(struct config *c);
extern const char *const config_words[];	/* what a line may begin with, up to NULL */
bool config_line(struct config *c, const char *line, struct error *err);
void config_free(struct config *c);

#endif
