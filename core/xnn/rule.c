#include "core/xnn/rule.h"

#include "core/op/op.h"
#include "core/pass/recompose.h"
#include "core/xnn/check.h"

#include <stdio.h>
#include <string.h>

extern const struct xrule rules_elementwise[], rules_gemm[], rules_convolution[], rules_pool[], rules_shape[],
	rules_quant[];

const struct xrule *const xrule_families[] = {
	rules_elementwise, rules_gemm, rules_convolution, rules_pool, rules_shape, rules_quant, NULL,
};

const struct xrule *xrule_find(const struct op *op)
{
	for (const struct xrule *const *f = xrule_families; *f; f++)
		for (const struct xrule *x = *f; x->op; x++)
			if (!strcmp(x->op, op->name))
				return x;
	return NULL;
}

static const char *format(struct arena *a, const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof text, fmt, ap);
	return arena_string(a, text);
}

bool rule_check(struct rule_run *r, bool ok, const char *rule, const char *code, const char *fmt, ...)
{
	struct rule_check c = { rule, code, ok, NULL };
	va_list ap;

	va_start(ap, fmt);
	if (!ok)
		c.found = format(r->mem, fmt, ap);
	va_end(ap);
	vec_push(r->mem, &r->checks, c);
	return ok;
}

static struct verdict conclude(const struct rule_run *r)
{
	struct verdict v = { VERDICT_TAKES, NULL, NULL, r->checks.at, r->checks.n };

	for (int i = 0; i < r->checks.n && v.kind == VERDICT_TAKES; i++)
		if (!r->checks.at[i].ok) {
			v.code = r->checks.at[i].code;
			v.text = r->checks.at[i].found;
			v.kind = strcmp(v.code, "no_rule") ? VERDICT_DECLINES : VERDICT_NO_RULE;
		}
	return v;
}

struct verdict rule_judge(const struct graph *g, const struct node *n, struct arena *a)
{
	struct rule_run r = { .graph = g, .node = n, .mem = a };
	const struct xrule *rule = xrule_find(n->op);

	if (rule_check(&r, rule, "XNNPACK has a rule for it", "no_rule", "no XNNPACK rule for %s", n->op->name))
		rule->accept(&r, n);
	return conclude(&r);
}

struct verdict form_verdict(const struct graph *g, const struct form *f, struct arena *a)
{
	struct node *last = f->node[f->nnodes - 1];
	struct node whole = {	/* the operator as it was, for the rule's eyes only */
		.op = op_find(f->op), .arg = (struct arg *)f->arg, .nargs = f->nargs, .out = last->out, .nouts = 1,
		.group = last->group, .origin = last->origin,
	};

	if (!whole.op)
		return (struct verdict){ .kind = VERDICT_NO_RULE, .code = "no_rule", .text = f->op };
	return rule_judge(g, &whole, a);
}

/* A part of a form has the form's verdict where that takes it; where not, only the anchor speaks for the form. */
static struct verdict judge_form(const struct graph *g, const struct node *n, const struct form *f, struct arena *a)
{
	struct verdict v = form_verdict(g, f, a);
	struct rule_run r = { .graph = g, .node = n, .mem = a };

	if (v.kind != VERDICT_TAKES && n != f->anchor)
		return rule_judge(g, n, a);
	rule_check(&r, true, arena_printf(a, "it is a part of %s, taken apart by the exporter", f->op), "no_rule", " ");
	for (int i = 0; i < v.nchecks; i++)
		vec_push(a, &r.checks, v.check[i]);
	return conclude(&r);
}

struct verdict xnn_verdict(const struct graph *g, const struct node *n, struct arena *a)
{
	struct form f;

	return recompose_part(g, n, &f) ? judge_form(g, n, &f, a) : rule_judge(g, n, a);
}
