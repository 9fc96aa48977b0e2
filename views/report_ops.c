/* --list-ops: the op table. */
#include "views/report.h"

#include "core/op/op.h"
#include "core/xnn/rule.h"

void report_list_ops(struct text *t)
{
	text_styled(t, STYLE_TITLE, "%-44s %-42s %-8s %s", "operator", "kernel in the file", "portable", "XNNPACK");
	text_add(t, "\n");
	for (const struct op *const *f = op_families; *f; f++)
		for (const struct op *o = *f; o->name; o++) {
			const struct xrule *r = xrule_find(o);

			text_add(t, "%-44s %-42s %-8s %s%s%s\n", o->name, o->kernel_name ? o->kernel_name : "-",
				 o->kernel ? "yes" : "no",
				 r ? r->xnode : "-", r && r->constraints && *r->constraints ? ": " : "",
				 r && r->constraints ? r->constraints : "");
		}
}
