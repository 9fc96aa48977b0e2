/* batch.h - everything that is done without the pages: open, apply, run, write, report, judge. */
#ifndef INSPECT_BATCH_H
#define INSPECT_BATCH_H

#include "inspect/options.h"

enum exit_status { EXIT_FINE, EXIT_BUDGET, EXIT_USAGE, EXIT_READ, EXIT_RUN };

/* Opens a program, or (m NULL) the demo, with the run options of the command line. work: who looks on, or NULL. */
bool batch_open(const struct options *o, const struct model_path *m, struct work *work, struct session **s,
		struct error *err);

/* The program has all methods that the options name. */
bool batch_has_methods(const struct options *o, const struct session *s, struct error *err);

/* Writes to standard output at once. False: it would not take it; *status is set and it is told, unless only the
 * reader went away. */
bool batch_print(const char *text, int *status);

/* All programs of the command line, one report each on standard output. Returns the exit status. */
int batch_run(const struct options *o);

#endif
