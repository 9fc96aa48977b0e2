/* budget.h - limits for CI (--fail-on), and the comparison with an earlier report (--baseline). */
#ifndef INSPECT_BUDGET_H
#define INSPECT_BUDGET_H

#include "views/report.h"

struct options;

struct budget_row;

struct budget_rule {
	const struct budget_row *row;
	double limit;
};

/* "declined>3", "foldable", "latency>5 ms". */
bool budget_parse(struct budget_rule *rule, const char *text, struct error *err);
/* Whether the options make the value known at all: latency needs --bench, and so on. */
bool budget_possible(const struct budget_rule *rule, const struct options *o, struct error *err);

/* Fills r->budget (in the arena) for rules, each as it was given. False when one is broken or not known. */
bool budget_check(struct report *r, const char *const *rule, int n, struct arena *a);

/* Reads an earlier JSON report and fills r->change for the same program: the object whose file has the name
 * of ours, or the only one. */
bool baseline_read(struct report *r, const char *path, struct arena *a, struct error *err);

#endif
