#include "inspect/options.h"

#include "inspect/budget.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PUSH(o, list, item) vec_push(&(o)->mem, list, item)

/* Values. */

static bool is_one_of(const char *value, const char *const *words, int *which)
{
	for (*which = 0; words[*which]; ++*which)
		if (!strcmp(words[*which], value))
			return true;
	return false;
}

static bool bad_word(const char *option, const char *value, const char *const *words, struct error *err)
{
	struct str s = { 0 };

	for (int i = 0; words[i]; i++)
		str_addf(&s, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
	error_set(err, ERROR_REFUSED, "--%s takes %s, not '%s'", option, str_text(&s), value);
	str_free(&s);
	return false;
}

static bool choose(const char *option, const char *value, const char *const *words, const char **out, struct error *err)
{
	int which;

	if (!is_one_of(value, words, &which))
		return bad_word(option, value, words, err);
	*out = words[which];
	return true;
}

static bool number(const char *option, const char *value, double min, double max, double *out, struct error *err)
{
	char *end;
	double d = strtod(value, &end);

	if (end == value || *end || !(d >= min && d <= max))
		return error_set(err, ERROR_REFUSED, "--%s takes a number from %g to %g, not '%s'", option, min, max,
				 value);
	*out = d;
	return true;
}

static bool whole(const char *option, const char *value, long min, long max, int *out, struct error *err)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (end == value || *end || errno || n < min || n > max)
		return error_set(err, ERROR_REFUSED, "--%s takes a whole number from %ld to %ld, not '%s'", option,
				 min, max, value);
	*out = (int)n;
	return true;
}

/* Calls f for each word of a comma list; an empty word is an error. */
static bool each_word(struct options *o, const char *option, const char *value,
		      bool (*f)(struct options *o, const char *word, struct error *err), struct error *err)
{
	for (const char *at = value;; at++) {
		size_t n = strcspn(at, ",");
		char *word = arena_copy(&o->mem, at, n + 1);

		word[n] = '\0';
		if (!n)
			return error_set(err, ERROR_REFUSED, "--%s has an empty word in '%s'", option, value);
		if (!f(o, word, err))
			return false;
		at += n;
		if (!*at)
			return true;
	}
}

/* What the options do. */

static const char *const report_words[] = { "text", "json", "markdown", "csv", NULL };
static const char *const table_words[] = { "nodes", "fold", "linear", "bench", "memory", "constants", "warnings", NULL };
static const char *const apply_words[] = { [APPLY_FOLD] = "fold", [APPLY_LINEAR] = "linear",
	[APPLY_PARTITION] = "partition", NULL };
static const char *const by_words[] = { "module", "op", "node", NULL };
static const char *const color_words[] = { [COLOR_AUTO] = "auto", [COLOR_NEVER] = "never",
	[COLOR_ALWAYS] = "always", NULL };

static bool set_method(struct options *o, const char *value, struct error *err)
{
	PUSH(o, &o->method, value);
	return true;
}

static bool set_report(struct options *o, const char *value, struct error *err)
{
	int which = 0;

	if (value && !is_one_of(value, report_words, &which))
		return bad_word("report", value, report_words, err);
	o->format = FORMAT_TEXT + (enum output_format)which;
	return true;
}

static bool set_dot(struct options *o, const char *value, struct error *err)
{
	o->format = FORMAT_DOT;
	return true;
}

static bool set_explain(struct options *o, const char *value, struct error *err)
{
	o->explain = value;
	return true;
}

static bool set_table(struct options *o, const char *value, struct error *err)
{
	o->format = FORMAT_CSV;
	return choose("table", value, table_words, &o->table, err);
}

static bool apply_word(struct options *o, const char *word, struct error *err)
{
	int which;

	if (!is_one_of(word, apply_words, &which))
		return bad_word("apply", word, apply_words, err);
	PUSH(o, &o->apply, (enum apply_step)which);
	return true;
}

static bool set_apply(struct options *o, const char *value, struct error *err)
{
	return each_word(o, "apply", value, apply_word, err);
}

static bool set_optimize(struct options *o, const char *value, struct error *err)
{
	return set_apply(o, "linear,fold,partition", err);
}

static bool set_output(struct options *o, const char *value, struct error *err)
{
	if (!*value)
		return error_set(err, ERROR_REFUSED, "-o takes the name of a file");
	o->output = value;
	return true;
}

static bool set_by(struct options *o, const char *value, struct error *err)
{
	return choose("by", value, by_words, &o->by, err);
}

static bool set_color(struct options *o, const char *value, struct error *err)
{
	int which = COLOR_ALWAYS;

	if (value && !is_one_of(value, color_words, &which))
		return bad_word("color", value, color_words, err);
	o->color = (enum color_mode)which;
	return true;
}

static bool set_runs(struct options *o, const char *value, struct error *err)
{
	return whole("runs", value, 1, 1000000, &o->run.runs, err);
}

static bool set_warmup(struct options *o, const char *value, struct error *err)
{
	return whole("warmup", value, 0, 1000000, &o->run.warmup, err);
}

static bool set_max_time(struct options *o, const char *value, struct error *err)
{
	return number("max-time", value, 0.001, 86400, &o->run.max_seconds, err);
}

static bool set_threads(struct options *o, const char *value, struct error *err)
{
	return whole("threads", value, 1, 1024, &o->run.threads, err);
}

static bool set_tolerance(struct options *o, const char *value, struct error *err)
{
	return number("tolerance", value, 0, HUGE_VAL, &o->run.tolerance, err);
}

static bool set_seed(struct options *o, const char *value, struct error *err)
{
	char *end;

	errno = 0;
	o->run.seed = strtoull(value, &end, 10);
	if (end == value || *end || errno || *value == '-')
		return error_set(err, ERROR_REFUSED, "--seed takes a whole number, not '%s'", value);
	return true;
}

/* "METHOD:" in front of a file; a colon behind a slash belongs to the path. */
static bool set_input(struct options *o, const char *value, struct error *err)
{
	struct run_options *r = &o->run;
	size_t n = strcspn(value, ":/");
	bool named = value[n] == ':' && n > 0;

	if (r->ninputs == o->capinputs)
		r->input = vec_grow(&o->mem, r->input, r->ninputs, &o->capinputs, sizeof *r->input);
	r->input[r->ninputs].method = named ? arena_printf(&o->mem, "%.*s", (int)n, value) : NULL;
	r->input[r->ninputs].path = named ? value + n + 1 : value;
	if (!*r->input[r->ninputs++].path)
		return error_set(err, ERROR_REFUSED, "--input takes [METHOD:]FILE.npy, not '%s'", value);
	return true;
}

static bool read_shape(struct input_shape *shape, const char *text)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (end == text || *end != '=' || n < 0 || n > 10000)
		return false;
	shape->input = (int)n;
	for (text = end + 1; shape->rank < MAX_RANK; text = end + 1) {
		n = strtoll(text, &end, 10);
		if (end == text || errno || n < 0 || (*end && *end != ','))
			return false;
		shape->size[shape->rank++] = n;
		if (!*end)
			return true;
	}
	return false;
}

static bool set_shape(struct options *o, const char *value, struct error *err)
{
	struct run_options *r = &o->run;
	const char *equals = strchr(value, '='), *colon = NULL;

	for (const char *c = value; equals && c < equals; c++)
		if (*c == ':')
			colon = c;
	if (r->nshapes == o->capshapes)
		r->shape = vec_grow(&o->mem, r->shape, r->nshapes, &o->capshapes, sizeof *r->shape);
	memset(&r->shape[r->nshapes], 0, sizeof *r->shape);
	r->shape[r->nshapes].method = colon ? arena_printf(&o->mem, "%.*s", (int)(colon - value), value) : NULL;
	if (!read_shape(&r->shape[r->nshapes++].shape, colon ? colon + 1 : value))
		return error_set(err, ERROR_REFUSED,
				 "--shape takes [METHOD:]INPUT=SIZE,SIZE,... (inputs count from 0), not '%s'", value);
	return true;
}

static bool fail_on_word(struct options *o, const char *word, struct error *err)
{
	struct budget_rule rule;

	PUSH(o, &o->fail_on, word);
	return budget_parse(&rule, word, err);
}

static bool set_fail_on(struct options *o, const char *value, struct error *err)
{
	return each_word(o, "fail-on", value, fail_on_word, err);
}

#define SET(name, what) \
	static bool set_##name(struct options *o, const char *value, struct error *err) { o->name = what; return true; }
#define FLAG(name) SET(name, true)
#define TEXT(name) SET(name, value)
FLAG(force) FLAG(allow_worse) FLAG(bench) FLAG(verify) FLAG(hash) FLAG(help) FLAG(version) FLAG(list_ops) FLAG(manual)
TEXT(trace) TEXT(baseline)

const struct option_row option_table[] = {
	{ .help = "Looking" },
	{ "report", 0, "[=FORMAT]", "print a report and exit: text, json, markdown or csv", set_report },
	{ "method", 0, "NAME", "one method only (repeatable; default all)", set_method },
	{ "explain", 0, "NODE", "one node in full, by id or by operator name: every rule with its outcome; or "
	  "what becomes of one constant, by name",
	  set_explain },
	{ "table", 0, "NAME", "as CSV: nodes, fold, linear, bench, memory, constants or warnings", set_table },
	{ "dot", 0, NULL, "the graph for Graphviz", set_dot },
	{ "hash", 0, NULL, "SHA-256 of the files and of each constant in the report", set_hash },
	{ "color", 0, "[=WHEN]", "never, auto or always; NO_COLOR is honoured", set_color },
	{ .help = "Fixing" },
	{ "apply", 0, "LIST", "any of fold, linear, partition, in the order given", set_apply },
	{ "optimize", 0, NULL, "the same as --apply linear,fold,partition", set_optimize },
	{ "output", 'o', "FILE", "write the resulting program", set_output },
	{ "force", 0, NULL, "replace FILE if it is there", set_force },
	{ "allow-worse", 0, NULL, "write it even if it is larger or slower", set_allow_worse },
	{ .help = "Running" },
	{ "bench", 0, NULL, "time each method as filed, all portable, and through XNNPACK", set_bench },
	{ "verify", 0, NULL, "compare outputs: before and after, portable and XNNPACK; with it and --bench, nodes that are "
	  "known to come out wrong are measured", set_verify },
	{ "by", 0, "WHAT", "rows of the bench table: module, op or node", set_by },
	{ "runs", 0, "N", "timed runs a row (30)", set_runs },
	{ "warmup", 0, "N", "runs before those (4)", set_warmup },
	{ "max-time", 0, "SECONDS", "of the timed runs of a row (10)", set_max_time },
	{ "threads", 0, "N", "threads of XNNPACK (all cores)", set_threads },
	{ "tolerance", 0, "X", "largest difference that --verify allows (0.001); where activations are quantised as the "
	  "method runs, 1 % of the largest output is allowed if that is more", set_tolerance },
	{ "input", 0, "[METHOD:]FILE", "a .npy file for the next input (default: seeded random numbers)", set_input },
	{ "shape", 0, "[METHOD:]I=D,D", "size of input I where it is dynamic (default: its upper bound)", set_shape },
	{ "seed", 0, "N", "of the random inputs (0)", set_seed },
	{ "trace", 0, "FILE", "write a Chrome trace of a bench run", set_trace },
	{ .help = "Guarding" },
	{ "fail-on", 0, "LIST", "exit 1 on any of declined>N, foldable, bytes>N, growth>P%, latency>N ms, diff>X, "
	  "warnings (any at all), regression>P%", set_fail_on },
	{ "baseline", 0, "OLD.json", "compare with an earlier JSON report", set_baseline },
	{ .help = "About" },
	{ "list-ops", 0, NULL, "the operator table: portable kernel, dtypes, XNNPACK node, precisions and constraints; with "
	  "--report=json as JSON", set_list_ops },
	{ "version", 0, NULL, "our version, the XNNPACK here, and the runtime whose rules apply", set_version },
	{ "manual", 0, NULL, "the manual page: etinspect --manual | man -l -", set_manual },
	{ "help", 'h', NULL, "this text", set_help },
	{ 0 },
};

const char *const *option_words(const struct option_row *r)
{
	static const struct { const char *name; const char *const *words; } all[] = {
		{ "report", report_words }, { "table", table_words }, { "apply", apply_words }, { "by", by_words },
		{ "color", color_words },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].name, r->name))
			return all[i].words;
	return NULL;
}

const struct option_row *option_find(const char *name, size_t n)
{
	for (const struct option_row *r = option_table; r->help; r++)
		if (r->name && strlen(r->name) == n && !memcmp(r->name, name, n))
			return r;
	return NULL;
}

static const struct option_row *find_letter(char c)
{
	for (const struct option_row *r = option_table; r->help; r++)
		if (r->letter && r->letter == c)
			return r;
	return NULL;
}

/* Parsing. */

static bool is_data(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && !strcmp(path + n - 4, ".ptd");
}

/* A .ptd belongs to the program before it; the first file is always taken for a program. */
static void add_file(struct options *o, const char *path)
{
	if (o->model.n && is_data(path))
		PUSH(o, &o->model.at[o->model.n - 1].data, path);
	else
		PUSH(o, &o->model, (struct model_path){ .path = path });
}

/* Argument *i, which starts with a dash. */
static bool parse_option(struct options *o, int argc, char **argv, int *i, struct error *err)
{
	const char *word = argv[*i], *value = NULL;
	bool is_long = word[1] == '-';
	size_t n = is_long ? strcspn(word + 2, "=") : 1;
	const struct option_row *r = is_long ? option_find(word + 2, n) : find_letter(word[1]);

	if (!r)
		return error_set(err, ERROR_REFUSED, "unknown option %.*s", (int)(n + 1 + is_long), word);
	if (is_long && word[2 + n] == '=')
		value = word + 3 + n;
	else if (!is_long && word[2])
		value = word + 2;
	if (value && !r->value)
		return error_set(err, ERROR_REFUSED, "--%s takes no value", r->name);
	if (!value && r->value && strncmp(r->value, "[=", 2)) {
		if (*i + 1 >= argc)
			return error_set(err, ERROR_REFUSED, "--%s needs a value: %s", r->name, r->value);
		value = argv[++*i];
	}
	return r->set(o, value, err);
}

static bool check_together(const struct options *o, struct error *err)
{
	int stdins = 0;

	for (int i = 0; i < o->model.n; i++)
		stdins += !strcmp(o->model.at[i].path, "-");
	if (stdins > 1)
		return error_set(err, ERROR_REFUSED, "standard input can be read once only");
	if (o->output && o->model.n != 1)
		return error_set(err, ERROR_REFUSED, "-o needs exactly one program");
	if (o->trace && !o->bench)
		return error_set(err, ERROR_REFUSED, "--trace needs --bench");
	for (int i = 0; i < o->fail_on.n; i++) {
		struct budget_rule rule;

		if (!budget_parse(&rule, o->fail_on.at[i], err) || !budget_possible(&rule, o, err))
			return false;
	}
	return true;
}

bool options_parse(struct options *o, int argc, char **argv, struct error *err)
{
	bool only_files = false;

	*o = (struct options){ .by = "module", .table = "nodes",
		.run = { .warmup = 4, .runs = 30, .max_seconds = 10, .tolerance = 1e-3 } };
	for (int i = 1; i < argc; i++) {
		if (only_files || argv[i][0] != '-' || !argv[i][1])
			add_file(o, argv[i]);
		else if (!strcmp(argv[i], "--"))
			only_files = true;
		else if (!parse_option(o, argc, argv, &i, err))
			return false;
	}
	return o->help || o->version || o->list_ops || o->manual || check_together(o, err);
}

bool options_add(struct options *o, int argc, char **argv, struct error *err)
{
	for (int i = 0; i < argc; i++) {
		if (argv[i][0] != '-' || !argv[i][1])
			return error_set(err, ERROR_REFUSED, "'%s' is no option", argv[i]);
		if (!parse_option(o, argc, argv, &i, err))
			return false;
	}
	return true;
}

void options_free(struct options *o)
{
	arena_free(&o->mem);
}

bool options_batch(const struct options *o)
{
	return o->format != FORMAT_AUTO || o->apply.n || o->output || o->bench || o->verify || o->explain ||
		o->fail_on.n ||
		o->baseline || o->hash || o->model.n > 1;
}

/* Help. */

static void help_row(struct str *s, const struct option_row *r)
{
	char left[64];
	int n;

	if (r->letter)
		n = snprintf(left, sizeof left, "  -%c, --%s", r->letter, r->name);
	else
		n = snprintf(left, sizeof left, "  --%s", r->name);
	if (r->value)
		snprintf(left + n, sizeof left - (size_t)n, "%s%s", r->value[0] == '[' && r->value[1] == '=' ? "" :
			 " ", r->value);
	str_addf(s, "%-26s", left);
	for (const char *at = r->help; *at;) {	/* folded at 80 columns */
		size_t fit = strlen(at);

		if (fit > 53)
			for (fit = 53; fit > 1 && at[fit] != ' ';)
				fit--;
		str_addf(s, "%*s%.*s\n", at == r->help ? 0 : 26, "", (int)fit, at);
		at += fit;
		at += *at == ' ';
	}
}

void options_help(struct str *s)
{
	str_add(s, "Usage: etinspect [OPTION]... [MODEL.pte [DATA.ptd]...]\n\n"
		"Says for every node of an ExecuTorch program whether XNNPACK runs it and, if\n"
		"not, why and what would fix it; fixes it, proves the fix by running both, and\n"
		"writes a new program. Without options it opens the terminal pages; without a\n"
		"file, on a small program of its own. MODEL may be a folder, or - for standard\n"
		"input.\n");
	for (const struct option_row *r = option_table; r->help; r++) {
		if (r->name)
			help_row(s, r);
		else
			str_addf(s, "\n%s:\n", r->help);
	}
	str_add(s, "\nExit status: 0 fine; 1 a --fail-on budget is broken; 2 bad usage; 3 a file\n"
		"cannot be read; 4 a run or a write failed.\n"
		"\nExamples:\n"
		"  etinspect model.pte\n"
		"  etinspect --report model.pte\n"
		"  etinspect --optimize -o fast.pte --bench model.pte\n");
}
