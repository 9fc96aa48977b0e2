/* Bench: a line for each method and module, before and after, with the three engines side by side. */
#include "views/page.h"

#include <math.h>
#include <string.h>

struct bench_line {
	int method, version;
	const char *subject;				/* NULL: the whole method */
	const struct bench_row *engine[ENGINES];	/* NULL: not run */
};

struct bench_lines { struct bench_line *at; int n, cap; };

enum { COL_WHAT, COL_STATE, COL_FILED, COL_PORTABLE, COL_XNNPACK, COL_BAR, COL_GAIN, COL_DIFF };

static const struct column columns[] = {
	{ "what", 15, 2, false }, { "state", 6, 0, false }, { "as filed", 9, 0, true }, { "portable", 9, 0, true },
	{ "xnnpack", 9, 0, true }, { "as filed", 8, 2, false }, { "gain", 7, 0, true }, { "diff", 8, 0, true }, { 0 },
};

static bool same_subject(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static void build(struct page *p, const struct ui *ui)
{
	struct bench_lines l = { 0 };

	for (int i = 0; i < ui->s->nbench; i++) {
		const struct bench_row *b = &ui->s->bench[i];
		int k = 0;

		while (k < l.n && (l.at[k].method != b->method || l.at[k].version != b->version ||
				   !same_subject(l.at[k].subject, b->subject)))
			k++;
		if (k == l.n)
			vec_push(&p->mem, &l, ((struct bench_line){ b->method, b->version, b->subject, { NULL } }));
		l.at[k].engine[b->engine] = b;	/* a later run replaces an earlier */
	}
	p->rows = l.at;
	p->nrows = l.n;
}

static const struct bench_line *line_of(const struct page *p, int row)
{
	return (const struct bench_line *)p->rows + row;
}

static double median(const struct bench_row *b)
{
	return b && !b->failed ? b->stats.median : NAN;
}

/* "SIGSEGV" of a worker that died of one; the pane has all of the sentence. */
static void show_failure(const char *why, struct str *s)
{
	const char *sig = strstr(why, "(SIG");

	if (sig)
		str_addn(s, sig + 1, strcspn(sig + 1, ")"));
	else
		str_add(s, "failed");
}

static void show_ms(const struct bench_row *b, struct str *s)
{
	char n[TEXT_NUMBER];

	if (b && b->failed)
		show_failure(b->failed, s);
	else if (b)
		str_add(s, text_ms(n, b->stats.median));
}

/* How many times faster than the file as it came. */
static double gain(const struct page *p, const struct bench_line *l)
{
	for (int i = 0; i < p->nrows; i++) {
		const struct bench_line *b = line_of(p, i);

		if (!b->version && b->method == l->method && same_subject(b->subject, l->subject))
			return median(b->engine[ENGINE_FILED]) / median(l->engine[ENGINE_FILED]);
	}
	return NAN;
}

static double largest(const struct page *p)
{
	double most = 0;

	for (int i = 0; i < p->nrows; i++)
		most = fmax(most, fmax(0, median(line_of(p, i)->engine[ENGINE_FILED])));
	return most;
}

/* Between before and after for a later version, between portable and XNNPACK for the file; NAN: not compared. */
static double difference(const struct ui *ui, const struct bench_line *l)
{
	const char *pair = l->version ? "before-after" : "portable-xnnpack";
	double d = NAN;

	for (int i = 0; !l->subject && i < ui->s->nverify; i++)
		if (ui->s->verify[i].method == l->method && !strcmp(ui->s->verify[i].pair, pair))
			d = fmax(isnan(d) ? 0 : d, ui->s->verify[i].max_abs_diff);
	return d;
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct bench_line *l = line_of(p, row);
	double x;

	switch (column) {
	case COL_WHAT:
		str_addf(s, "%s%s", l->subject ? "  " : "", l->subject ? l->subject :
			 ui->s->program->method[l->method]->method);
		break;
	case COL_STATE: str_add(s, l->version ? "after" : "before"); break;
	case COL_FILED: show_ms(l->engine[ENGINE_FILED], s); break;
	case COL_PORTABLE: show_ms(l->engine[ENGINE_PORTABLE], s); break;
	case COL_XNNPACK: show_ms(l->engine[ENGINE_XNNPACK], s); break;
	case COL_BAR:
		x = median(l->engine[ENGINE_FILED]);
		if (!isnan(x) && largest(p) > 0)
			ui_bar(ui, x / largest(p), 8, s);
		break;
	case COL_GAIN:
		x = gain(p, l);
		if (!isnan(x) && l->version)
			str_addf(s, x < 10 ? "%.2fx" : "%.0fx", x);
		break;
	case COL_DIFF:
		x = difference(ui, l);
		if (!isnan(x))
			str_addf(s, "%.1e", x);
		break;
	}
}

static double key(const struct page *p, const struct ui *ui, int row, int column)
{
	const struct bench_line *l = line_of(p, row);
	static const int engine[] = { [COL_FILED] = ENGINE_FILED, [COL_PORTABLE] = ENGINE_PORTABLE,
				      [COL_XNNPACK] = ENGINE_XNNPACK,
		[COL_BAR] = ENGINE_FILED };
	double x;

	if (column == COL_GAIN)
		x = gain(p, l);
	else if (column >= COL_FILED && column <= COL_BAR)
		x = median(l->engine[engine[column]]);
	else
		return NAN;
	return isnan(x) ? 1 : -x;
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	const struct bench_line *l = line_of(p, row);

	for (int e = 0; e < ENGINES; e++)
		if (l->engine[e] && l->engine[e]->failed)
			return STYLE_BAD;
	return l->subject ? STYLE_PLAIN : STYLE_TITLE;
}

static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	static const enum engine order[ENGINES] = { ENGINE_PORTABLE, ENGINE_FILED, ENGINE_XNNPACK };
	const struct bench_line *l = line_of(p, row);
	double most = 0;
	char n[4][TEXT_NUMBER];

	for (int e = 0; e < ENGINES; e++)
		most = fmax(most, fmax(0, median(l->engine[e])));
	for (int i = 0; i < ENGINES; i++) {
		const struct bench_row *b = l->engine[order[i]];
		struct str bar = { 0 };

		if (!b)
			continue;
		if (b->failed) {
			text_add(t, "%-9s failed: ", engine_names[order[i]]);
			text_fold(t, 18, 10, b->failed);
			continue;
		}
		ui_bar(ui, most > 0 ? b->stats.median / most : 0, 8, &bar);
		str_addf(&bar, "%*s", 8 - text_columns(str_text(&bar)), "");
		text_add(t, "%-9s %9s %s p90 %s", engine_names[order[i]], text_ms(n[0], b->stats.median),
			 str_text(&bar),
			 text_ms(n[1], b->stats.p90));
		if (!l->subject)
			text_add(t, ", first %s, set-up %s, %d runs", text_ms(n[2], b->first_ms),
				 text_ms(n[3], b->setup_ms), b->stats.runs);
		text_add(t, "\n");
		str_free(&bar);
	}
}

static void facet(const struct page *p, const struct ui *ui, int row, enum facet f, struct str *s)
{
	const char *subject = line_of(p, row)->subject;

	str_add(s, subject ? subject : "");
}

const struct page_ops page_bench = {
	.name = "Bench", .empty = "Nothing was timed yet. Press b: as filed, all portable, and through XNNPACK.",
	.column = columns, .drawn = 1u << COL_BAR, .named = { [COL_BAR] = "bar" }, .build = build, .cell = cell, .key = key, .style = style, .pane = pane, .facet = facet,
	.facets = 1u << FACET_MODULE,
	.hint = "b run  Esc stop  s sort",
};
