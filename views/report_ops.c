/* --list-ops: the op table. */
#include "views/report.h"

#include "core/op/op.h"
#include "core/xnn/rule.h"

static const struct { unsigned precision; const char *name; } precisions[] = {
	{ PRECISION_FLOAT, "float" }, { PRECISION_STATIC, "static int8" }, { PRECISION_DYNAMIC, "dynamic int8" },
};

static const struct { const char *key, *title, *rules; } lists[] = {
	{ "every_operator", "XNNPACK takes an operator where, beyond its row,", xrule_common },
	{ "quantized_weight", "and, for a quantised weight,", xrule_quantized },
};

/* The next of "one; two", or "" at the end. */
static const char *next_rule(const char *rules, int *n)
{
	const char *end = strstr(rules, "; ");

	*n = end ? (int)(end - rules) : (int)strlen(rules);
	return end ? end + 2 : rules + *n;
}

static void precisions_text(struct text *t, const struct xrule *r)
{
	struct str s = { 0 };

	for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
		if (r && r->precisions & precisions[i].precision)
			str_addf(&s, "%s%s", s.n ? ", " : "", precisions[i].name);
	text_add(t, " %-31s", s.n ? str_text(&s) : "-");
	str_free(&s);
}

/* Sets that have a name, larger ones first. */
static const struct { uint32_t set; const char *name, *means; } dtype_sets[] = {
	{ DTYPES_ALL, "all", "float, int, bool, unsigned, complex" },
	{ DTYPES_FLOAT, "float", "f16, bf16, f32, f64" },
	{ DTYPES_INT, "int", "u8, i8, i16, i32, i64" },
	{ DTYPES_BOOL, "bool", NULL },
	{ DTYPES_UNSIGNED, "unsigned", "u16, u32, u64" },
	{ DTYPES_COMPLEX, "complex", "c32, c64, c128" },
};

static void dtypes_text(struct text *t, uint32_t set)
{
	struct str s = { 0 };

	for (size_t i = 0; i < sizeof dtype_sets / sizeof *dtype_sets; i++)
		if (!(dtype_sets[i].set & ~set)) {
			str_addf(&s, "%s%s", s.n ? ", " : "", dtype_sets[i].name);
			set &= ~dtype_sets[i].set;
		}
	for (int d = 0; d < DTYPE_CODES; d++)
		if (dtype_in(d, set & DTYPES_ALL))
			str_addf(&s, "%s%s", s.n ? ", " : "", dtype_name(d));
	text_add(t, " %-26s", s.n ? str_text(&s) : "-");
	str_free(&s);
}

static void row_text(struct text *t, const struct op *o)
{
	const struct xrule *r = xrule_find(o);

	text_add(t, "%-51s %-54s %-4s", o->name, o->kernel_name ? o->kernel_name : "-", o->kernel ? "yes" : "no");
	dtypes_text(t, o->dtypes);
	text_add(t, " %-41s", r ? r->xnode : "-");
	precisions_text(t, r);
	text_add(t, " %s\n", r && *r->constraints ? r->constraints : "-");
}

void list_ops_text(struct text *t)
{
	text_styled(t, STYLE_TITLE, "%-51s %-54s %-4s %-26s %-41s %-31s %s", "operator", "portable kernel", "here",
		    "dtypes", "XNNPACK node", "precisions", "constraints");
	text_add(t, "\n");
	for (const struct op *const *f = op_families; *f; f++)
		for (const struct op *o = *f; o->name; o++)
			row_text(t, o);
	text_add(t, "\n");
	text_add(t, "dtypes of the first tensor that the portable kernel is given\n");
	for (size_t i = 0; i < sizeof dtype_sets / sizeof *dtype_sets; i++)
		if (dtype_sets[i].means)
			text_add(t, "  %s: %s\n", dtype_sets[i].name, dtype_sets[i].means);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		text_add(t, "\n");
		text_add(t, "%s\n", lists[i].title);
		for (const char *at = lists[i].rules, *next; *at; at = next) {
			int n;

			next = next_rule(at, &n);
			text_add(t, "  %.*s\n", n, at);
		}
	}
}

static json_t *rules_json(const char *rules)
{
	json_t *a = json_array();

	for (const char *next; *rules; rules = next) {
		int n;

		next = next_rule(rules, &n);
		json_array_append_new(a, json_stringn(rules, (size_t)n));
	}
	return a;
}

static json_t *precisions_json(const struct xrule *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
		if (r->precisions & precisions[i].precision)
			json_array_append_new(a, report_string(precisions[i].name));
	return a;
}

static json_t *dtypes_json(uint32_t set)
{
	json_t *a = json_array();

	for (int d = 0; d < DTYPE_CODES; d++)
		if (dtype_in(d, set & DTYPES_ALL))
			json_array_append_new(a, report_string(dtype_name(d)));
	return a;
}

static json_t *row_json(const struct op *o)
{
	const struct xrule *r = xrule_find(o);
	json_t *xnnpack = json_null();

	if (r)
		xnnpack = json_pack("{s:s, s:o, s:o}", "node", r->xnode, "precisions", precisions_json(r), "constraints",
				    rules_json(r->constraints));
	return json_pack("{s:s, s:o, s:b, s:o, s:o}", "op", o->name, "kernel", report_string(o->kernel_name), "runs_here",
			 (int)!!o->kernel, "dtypes", dtypes_json(o->dtypes), "xnnpack", xnnpack);
}

json_t *list_ops_json(void)
{
	json_t *ops = json_array(), *xnnpack = json_object();

	for (const struct op *const *f = op_families; *f; f++)
		for (const struct op *o = *f; o->name; o++)
			json_array_append_new(ops, row_json(o));
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		json_object_set_new(xnnpack, lists[i].key, rules_json(lists[i].rules));
	return json_pack("{s:s, s:o, s:o}", "schema", REPORT_SCHEMA, "ops", ops, "xnnpack", xnnpack);
}
