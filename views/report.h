/* report.h - a session as text for people and for machines. The contract of the JSON is schema "etinspect/1".
 *
 * A report is read only; what is to be said beyond the session (budgets, comparisons, what was written) is
 * made by the program and handed in. Writers add to a struct text; JSON is a jansson object. */
#ifndef VIEWS_REPORT_H
#define VIEWS_REPORT_H

#include "core/session/preview.h"
#include "views/look.h"
#include "views/text.h"

#include <jansson.h>

#define REPORT_VERSION "0.1.0"
#define REPORT_SCHEMA "etinspect/1"
#define REPORT_RULES "executorch 1.5.1"

struct budget { const char *rule; double value; bool known, ok; };

/* One number then and now, for --baseline. */
struct change { const char *what; double before, now; };

struct report {
	const struct session *s;
	const char *xnnpack;			/* the host's, "2024-11" */
	const char *const *method;		/* only these; none: all */
	int nmethods;
	const char *table;			/* for CSV */
	const char *by;				/* what a bench row's subject is */
	const char *explain;			/* a node's id, an operator's name or a constant's */
	bool hash;
	bool applied;				/* --apply was given, even if it changed nothing */
	const struct fold_preview *preview;	/* of version 0's folds, or NULL */
	const struct budget *budget;
	int nbudgets;
	const struct change *change;
	int nchanges;
	const char *written, *not_written;	/* -o: where it was written, or why not */
	const char *failed;			/* the run that was asked for and did not come to an end: why */
	const char *not_verified;		/* why the outputs were not compared, or NULL */
};

bool report_wants(const struct report *r, const char *method);
const struct version *report_before(const struct report *r);	/* the file */
const struct version *report_after(const struct report *r);	/* the result of --apply, or NULL */
const char *report_state(const struct report *r, const struct bench_row *b);	/* "before", "after" */

void report_text(struct text *t, const struct report *r);
void report_markdown(struct text *t, const struct report *r);
void report_csv(struct text *t, const struct report *r);
void report_dot(struct text *t, const struct report *r);
json_t *report_json(const struct report *r);
/* A name as in the file, broken UTF-8 replaced (JSON escapes the rest); null for NULL. */
json_t *report_string(const char *s);

/* --explain; how many nodes matched. */
int explain_text(struct text *t, const struct report *r);
int explain_json(json_t *array, const struct report *r);
/* The page's pane and --explain share this: everything known of one node. */
void explain_node(struct text *t, const struct session *s, const struct version *v, int method,
		  const struct node_row *row);

/* --list-ops: the op table, and what XNNPACK asks of its operators. */
void list_ops_text(struct text *t);
json_t *list_ops_json(void);

#endif
