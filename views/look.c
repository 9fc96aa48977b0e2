#include "views/look.h"

#include "core/op/op.h"
#include "views/text.h"

#include <stdlib.h>
#include <string.h>

bool look_elided(const struct node_row *r)
{
	return r->node->origin.kind == ORIGIN_VIEW;
}

bool look_declined(const struct node_row *r)
{
	return r->runs == RUNS_PORTABLE && !look_elided(r);
}

const struct node_row *look_row(const struct method_facts *f, const struct node *n)
{
	if (n->order >= 0 && n->order < f->nrows && f->row[n->order].node == n)	/* nobody has numbered them anew */
		return &f->row[n->order];
	for (int i = 0; i < f->nrows; i++)
		if (f->row[i].node == n)
			return &f->row[i];
	return NULL;
}

double look_work(const struct node_row *r)
{
	return r->ms >= 0 ? r->ms * 1e12 : r->flops + (double)r->bytes;
}

const char *look_runs(const struct node_row *r)
{
	static const char *const names[] = { [RUNS_XNNPACK] = "xnnpack", [RUNS_PORTABLE] = "portable",
					     [RUNS_OTHER] = "other" };

	return names[r->runs];
}

const char *look_verdict(const struct node_row *r)
{
	static const char *const names[] = {
		[VERDICT_TAKES] = "takes", [VERDICT_DECLINES] = "declines", [VERDICT_NO_RULE] = "no_rule",
	};

	return names[r->verdict.kind];
}

const char *look_code(const struct node_row *r)
{
	return r->runs == RUNS_PORTABLE ? r->verdict.code : NULL;
}

const char *look_reason(const struct node_row *r)
{
	return r->runs == RUNS_PORTABLE ? r->verdict.text : NULL;
}

const char *look_op(const struct op *op, char *buf, size_t bytes)
{
	const char *name = op->name, *from = name, *to;
	size_t n;

	for (const char *c = name; *c; c++)	/* namespaces: "aten.", "aten::", "dim_order_ops." */
		if (*c == '.' || *c == ':') {
			from = c + 1 + (c[1] == ':');
			break;
		}
	if (*from == '_' && from[1] != '_')
		from++;
	to = strchr(from, '.');
	n = to ? (size_t)(to - from) : strlen(from);
	if (n > 5 && !strncmp(from + n - 5, "_copy", 5))
		n -= 5;
	if (!n)
		from = name, n = strlen(name);
	if (n >= bytes)
		n = bytes - 1;
	memcpy(buf, from, n);
	buf[n] = '\0';
	return buf;
}

static void call_arg(const struct arg *a, struct str *s)
{
	switch (a->kind) {
	case ARG_VALUE: str_add(s, a->value->kind == VALUE_NODE ? ".." : a->value->name); break;
	case ARG_INT: str_addf(s, "%lld", (long long)a->i); break;
	case ARG_DOUBLE: str_addf(s, "%g", a->d); break;
	case ARG_STRING: str_addf(s, "'%s'", a->s); break;
	case ARG_NONE: str_add(s, "None"); break;
	case ARG_BOOL: str_add(s, a->b ? "True" : "False"); break;
	case ARG_LIST:
		str_add(s, "[");
		for (int i = 0; i < a->list.n; i++) {
			str_add(s, i ? "," : "");
			call_arg(&a->list.at[i], s);
		}
		str_add(s, "]");
	}
}

void look_call(const struct node *n, struct str *s)
{
	char name[64];
	bool any = false;

	str_addf(s, "%s(", look_op(n->op, name, sizeof name));
	for (int i = 0; i < n->nargs; i++) {
		if (n->arg[i].kind == ARG_NONE || n->arg[i].kind == ARG_BOOL)
			continue;
		str_add(s, any ? ", " : "");
		call_arg(&n->arg[i], s);
		any = true;
	}
	str_add(s, ")");
}

void look_arg(const struct graph *g, const struct arg *a, struct str *s)
{
	char id[512];

	if (a->kind == ARG_LIST) {
		str_add(s, "[");
		for (int i = 0; i < a->list.n; i++) {
			str_add(s, i ? ", " : "");
			look_arg(g, &a->list.at[i], s);
		}
		str_add(s, "]");
	} else if (a->kind == ARG_VALUE) {
		if (a->value->def)
			str_addf(s, "%s ", node_id(g, a->value->def, id, sizeof id));
		else
			str_addf(s, "%s ", a->value->name);
		value_type_print(a->value, s);
	} else {
		call_arg(a, s);
	}
}

const struct node_row *look_writer(const struct method_facts *f, const struct planned_tensor *t)
{
	return t->by && t->by->order < f->nrows && f->row[t->by->order].node == t->by ? &f->row[t->by->order] : NULL;
}

void look_owner(const struct method_facts *f, const struct planned_tensor *t, struct str *s)
{
	const struct node_row *r = look_writer(f, t);

	if (r)
		str_add(s, r->id);
	else if (t->is)
		str_add(s, t->is->name);
	else
		str_addf(s, "value %d", (int)t->value);
}

void look_tensor(const struct pte_tensor *t, struct str *s)
{
	str_addf(s, "%s[", dtype_name(t->dtype));
	for (int d = 0; d < t->rank; d++)
		str_addf(s, "%s%s%d", d ? "," : "", t->dynamism == PTE_STATIC ? "" : "<=", (int)t->size[d]);
	str_add(s, "]");
}

struct totals look_totals(const struct version *v, int method)
{
	const struct method_facts *f = &v->facts[method];
	struct totals t = { .ms = -1 };

	for (int i = 0; i < f->nrows; i++) {
		const struct node_row *r = &f->row[i];

		if (look_elided(r))
			continue;
		t.nodes++;
		t.xnnpack += r->runs == RUNS_XNNPACK;
		t.portable += r->runs == RUNS_PORTABLE;
		t.other += r->runs == RUNS_OTHER;
		t.flops += r->flops;
		t.xnnpack_flops += r->runs == RUNS_XNNPACK ? r->flops : 0;
		if (r->ms >= 0) {
			t.ms = (t.ms < 0 ? 0 : t.ms) + r->ms;
			t.xnnpack_ms += r->runs == RUNS_XNNPACK ? r->ms : 0;
		}
	}
	for (int i = 0; i < v->fold.nfolds; i++)
		t.folds += v->fold.fold[i].method == method && v->fold.fold[i].folds;
	for (int i = 0; i < v->linear.nlinears; i++)
		t.linears += v->linear.linear[i].method == method && v->linear.linear[i].converts;
	return t;
}

static int heavier(const void *a, const void *b)
{
	const struct node_row *x = *(const struct node_row *const *)a, *y = *(const struct node_row *const *)b;
	double wx = look_work(x), wy = look_work(y);

	return wx != wy ? (wx < wy) - (wx > wy) : (x > y) - (x < y);
}

const struct node_row **look_declined_rows(const struct method_facts *f, struct arena *a, int *n)
{
	const struct node_row **row = arena_array(a, (size_t)f->nrows, sizeof *row);

	*n = 0;
	for (int i = 0; i < f->nrows; i++)
		if (look_declined(&f->row[i]))
			row[(*n)++] = &f->row[i];
	qsort(row, (size_t)*n, sizeof *row, heavier);
	return row;
}

unsigned look_needs(const char *fix)
{
	if (!fix)
		return 0;
	return !strcmp(fix, "fold") ? NEED_FOLD | NEED_PARTITION :
		!strcmp(fix, "linear") ? NEED_LINEAR | NEED_PARTITION :
		!strcmp(fix, "partition") ? NEED_PARTITION : 0;
}

unsigned look_needs_of_version(const struct version *v, int nmethods)
{
	unsigned needs = 0;

	for (int m = 0; m < nmethods; m++)
		for (int i = 0; i < v->facts[m].nrows; i++)
			if (look_declined(&v->facts[m].row[i]))
				needs |= look_needs(v->facts[m].row[i].fix);
	return needs;
}

void look_fast_name(const char *path, struct str *out)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot;

	if (!strcmp(path, "-"))
		name = "model";
	if (!strncmp(name, "the ", 4))	/* the demo has no file */
		name += 4;
	dot = strrchr(name, '.');
	str_addn(out, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
	str_add(out, ".fast.pte");
}

void look_steps(unsigned needs, struct str *out)
{
	if ((needs & NEED_FOLD) && (needs & NEED_LINEAR))
		str_add(out, "--optimize");
	else if (needs)
		str_addf(out, "--apply %spartition", needs & NEED_FOLD ? "fold," : needs & NEED_LINEAR ? "linear," :
			 "");
}

void look_command(const struct session *s, unsigned needs, struct str *out)
{
	const char *path = look_path(s);
	struct str name = { 0 };

	if (!needs)
		return;
	str_add(out, "etinspect ");
	look_steps(needs, out);
	look_fast_name(path, &name);
	str_add(out, " -o ");
	text_shell(out, str_text(&name));
	if (!look_is_demo(s)) {
		str_add(out, " ");
		text_shell(out, path);
	}
	for (int i = 0; i < s->ndata_paths; i++) {
		str_add(out, " ");
		text_shell(out, s->data_path[i]);
	}
	str_free(&name);
}

bool look_is_demo(const struct session *s)
{
	return s->in_memory && strcmp(look_path(s), "-");
}

const char *look_path(const struct session *s)
{
	return s->program->file.path;
}

const char *look_file(const struct session *s, int home)
{
	const char *path, *slash;

	if (home < 0 || home >= s->ndata_paths)
		return NULL;
	path = s->data_path[home];
	slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}
