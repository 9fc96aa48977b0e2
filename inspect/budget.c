#include "inspect/budget.h"

#include "inspect/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values, of the result where there is one. False: not known. */

static const struct version *judged(const struct report *r)
{
	return report_after(r) ? report_after(r) : report_before(r);
}

static bool each_method(const struct report *r, double *value, double (*f)(const struct version *v, int m))
{
	*value = 0;
	for (int m = 0; m < r->s->program->nmethods; m++)
		if (report_wants(r, r->s->program->method[m]->method))
			*value += f(judged(r), m);
	return true;
}

static double declined_of(const struct version *v, int m)
{
	return v->facts[m].nleft_out;
}

static double foldable_of(const struct version *v, int m)
{
	return look_totals(v, m).folds;
}

static double warnings_of(const struct version *v, int m)
{
	return v->facts[m].nwarnings;
}

static bool declined(const struct report *r, double *value)
{
	return each_method(r, value, declined_of);
}

static bool foldable(const struct report *r, double *value)
{
	return each_method(r, value, foldable_of);
}

static bool warnings(const struct report *r, double *value)
{
	return each_method(r, value, warnings_of);
}

static bool bytes(const struct report *r, double *value)
{
	const struct version *v = judged(r);

	*value = (double)(v->has_emitted ? v->emitted.program.bytes : r->s->program->file.bytes);
	return true;
}

static bool growth(const struct report *r, double *value)
{
	bytes(r, value);
	*value = (*value / (double)r->s->program->file.bytes - 1) * 100;
	return true;
}

/* The slowest method as filed; a method that failed to run has no latency. */
static bool latency(const struct report *r, double *value)
{
	bool known = false;

	*value = 0;
	for (int i = 0; i < r->s->nbench; i++) {
		const struct bench_row *b = &r->s->bench[i];

		if (b->subject || b->version != (report_after(r) ? r->s->current : 0) || b->engine != ENGINE_FILED ||
		    !report_wants(r, r->s->program->method[b->method]->method))
			continue;
		if (b->failed)
			return false;
		*value = fmax(*value, b->stats.median);
		known = true;
	}
	return known;
}

static bool diff(const struct report *r, double *value)
{
	*value = 0;
	for (int i = 0; i < r->s->nverify; i++) {
		double d = r->s->verify[i].max_abs_diff;

		if (report_wants(r, r->s->program->method[r->s->verify[i].method]->method))
			*value = isnan(d) ? INFINITY : fmax(*value, d);
	}
	return r->s->nverify > 0;
}

/* The largest growth, in percent, of any number of the comparison. */
static bool regression(const struct report *r, double *value)
{
	*value = -INFINITY;
	for (int i = 0; i < r->nchanges; i++) {
		const struct change *c = &r->change[i];

		if (c->before > 0)
			*value = fmax(*value, (c->now / c->before - 1) * 100);
		else
			*value = fmax(*value, c->now > 0 ? INFINITY : 0);
	}
	return r->nchanges > 0;
}

enum need { NEED_NOTHING, NEED_APPLY, NEED_BENCH, NEED_VERIFY, NEED_BASELINE };

struct budget_row {
	const char *name;
	bool has_limit;
	const char *unit;	/* that may follow the number */
	enum need need;
	bool (*value)(const struct report *r, double *value);
};

static const struct budget_row budget_rows[] = {
	{ "declined", true, "", NEED_NOTHING, declined },
	{ "foldable", false, "", NEED_NOTHING, foldable },
	{ "bytes", true, "", NEED_NOTHING, bytes },
	{ "growth", true, "%", NEED_APPLY, growth },
	{ "latency", true, "ms", NEED_BENCH, latency },
	{ "diff", true, "", NEED_VERIFY, diff },
	{ "warnings", false, "", NEED_NOTHING, warnings },
	{ "regression", true, "%", NEED_BASELINE, regression },
};

bool budget_parse(struct budget_rule *rule, const char *text, struct error *err)
{
	size_t n = strcspn(text, ">");
	const char *number = text[n] ? text + n + 1 : NULL;
	char *end;

	for (size_t i = 0; i < sizeof budget_rows / sizeof *budget_rows; i++) {
		const struct budget_row *row = &budget_rows[i];

		if (strlen(row->name) != n || memcmp(row->name, text, n))
			continue;
		*rule = (struct budget_rule){ row, 0 };
		if (!row->has_limit)
			return number ? error_set(err, ERROR_REFUSED, "--fail-on %s takes no number", row->name) : true;
		if (!number)
			return error_set(err, ERROR_REFUSED, "--fail-on %s needs a limit, as in %s>10", row->name,
					 row->name);
		rule->limit = strtod(number, &end);
		while (*end == ' ')
			end++;
		if (end == number || isnan(rule->limit) || (*end && strcmp(end, row->unit)))
			return error_set(err, ERROR_REFUSED, "--fail-on %s>N takes a number%s%s, not '%s'", row->name,
					 *row->unit ? " of " : "", row->unit, number);
		return true;
	}
	return error_set(err, ERROR_REFUSED, "--fail-on knows no budget '%s'", text);
}

bool budget_possible(const struct budget_rule *rule, const struct options *o, struct error *err)
{
	static const char *const wanted[] = {
		[NEED_APPLY] = "--apply or --optimize", [NEED_BENCH] = "--bench", [NEED_VERIFY] = "--verify",
		[NEED_BASELINE] = "--baseline",
	};
	bool have = true;

	switch (rule->row->need) {
	case NEED_NOTHING: break;
	case NEED_APPLY: have = o->apply.n > 0; break;
	case NEED_BENCH: have = o->bench; break;
	case NEED_VERIFY: have = o->verify || o->apply.n > 0; break;
	case NEED_BASELINE: have = o->baseline != NULL; break;
	}
	return have || error_set(err, ERROR_REFUSED, "--fail-on %s needs %s", rule->row->name, wanted[rule->row->need]);
}

bool budget_check(struct report *r, const char *const *text, int n, struct arena *a)
{
	struct budget *b = arena_array(a, (size_t)n, sizeof *b);
	bool fine = true;

	for (int i = 0; i < n; i++) {
		struct budget_rule rule;

		b[i].rule = text[i];
		if (!budget_parse(&rule, text[i], NULL))
			continue;	/* was refused with the options */
		b[i].known = rule.row->value(r, &b[i].value);
		b[i].ok = b[i].known && b[i].value <= rule.limit;
		fine = fine && b[i].ok;
	}
	r->budget = b;
	r->nbudgets = n;
	return fine;
}
