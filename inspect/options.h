/* options.h - the command line.
 *
 * One table (options.c) is the parsing, the --help text and, in the terminal, the completion of the `:` line.
 * Everything an option gives lives in the arena of struct options or in argv. Bad usage is an error value. */
#ifndef INSPECT_OPTIONS_H
#define INSPECT_OPTIONS_H

#include "core/session/session.h"

enum output_format { FORMAT_AUTO, FORMAT_TEXT, FORMAT_JSON, FORMAT_MARKDOWN, FORMAT_CSV, FORMAT_DOT };
enum color_mode { COLOR_AUTO, COLOR_NEVER, COLOR_ALWAYS };

struct names { const char **at; int n, cap; };

struct model_path {
	const char *path;	/* "-": standard input */
	struct names data;	/* the .ptd files that followed it */
};

struct options {
	struct arena mem;
	struct { struct model_path *at; int n, cap; } model;
	bool help, version, list_ops, manual;
	enum output_format format;
	enum color_mode color;
	struct names method;
	struct { enum apply_step *at; int n, cap; } apply;
	const char *output;
	bool force, allow_worse, bench, verify, hash;
	const char *by;		/* "module", "op", "node" */
	const char *table;	/* "nodes", "fold", "linear", "bench", "constants" */
	const char *explain, *trace, *baseline;
	struct names fail_on;	/* one rule each */
	struct run_options run;	/* threads 0: all cores */
	int capinputs, capshapes;
};

struct option_row {
	const char *name;	/* without dashes; NULL: a heading of --help, which is `help` */
	char letter;		/* of the short form, or 0 */
	const char *value;	/* what it takes, "FILE"; "[=FORMAT]" when it may be left out; NULL: nothing */
	const char *help;
	bool (*set)(struct options *o, const char *value, struct error *err);
};

extern const struct option_row option_table[];	/* ends with an empty row */
const char *const *option_words(const struct option_row *r);	/* what its value may be, up to NULL; NULL: anything */
const struct option_row *option_find(const char *name, size_t n);

/* Defaults, then argv[1..]. The options must be freed in any case. */
bool options_parse(struct options *o, int argc, char **argv, struct error *err);
/* More options, of the `:` line: no files, and what does not go together is for the caller. */
bool options_add(struct options *o, int argc, char **argv, struct error *err);
void options_free(struct options *o);
/* True when the command line asks for work or for a report, so that nothing interactive may start. */
bool options_batch(const struct options *o);
void options_help(struct str *s);	/* the text of --help */

#endif
