/* Names of folded tensors: a digest over a description of the expression. Each producer is described once, by its
 * operator, its arguments, and the digests of what it reads, so that the text is as long as the expression has
 * nodes; what a source holds, where it lies and how values are numbered does not matter. */
#include "core/pass/folding.h"

#include "core/op/op.h"

#include <sha256.h>
#include <string.h>

static const char *digest(struct arena *a, const struct str *text)
{
	char hex[SHA256_DIGEST_STRING_LENGTH];

	SHA256Data((const uint8_t *)str_text(text), text->n, hex);
	return arena_string(a, hex);
}

static void describe_type(struct str *s, const struct value *v)
{
	str_addf(s, ":%s[", dtype_name(v->dtype));
	for (int d = 0; d < v->rank; d++)
		str_addf(s, d ? ",%lld" : "%lld", (long long)v->size[d]);
	str_add(s, "]");
	for (int d = 0; d < v->rank && !value_is_default_order(v); d++)
		str_addf(s, d ? ",%d" : "/%d", v->dim_order[d]);
}

static const char *leaf_digest(struct folding *f, int method, const struct value *v)
{
	const struct source *src = &f->sources.at[source_of(f, method, v)];
	struct str s = { 0 };
	const char *d;

	str_add(&s, src->first->name);
	describe_type(&s, v);
	d = digest(&f->mem, &s);
	str_free(&s);
	return d;
}

static void describe_arg(struct str *s, const struct trace *t, const struct arg *a)
{
	switch (a->kind) {
	case ARG_NONE: str_add(s, "none"); break;
	case ARG_VALUE: str_add(s, "%"); str_add(s, t->digest[a->value->id]); break;
	case ARG_INT: str_addf(s, "%lld", (long long)a->i); break;
	case ARG_DOUBLE: str_addf(s, "%a", a->d); break;
	case ARG_BOOL: str_add(s, a->b ? "true" : "false"); break;
	case ARG_STRING: str_addf(s, "\"%s\"", a->s); break;
	case ARG_LIST:
		str_add(s, "[");
		for (int i = 0; i < a->list.n; i++) {
			str_add(s, i ? "," : "");
			describe_arg(s, t, &a->list.at[i]);
		}
		str_add(s, "]");
		break;
	}
}

static void describe_node(struct folding *f, struct trace *t, const struct node *n)
{
	struct str s = { 0 };

	str_add(&s, n->op->name);
	str_add(&s, "(");
	for (int i = 0; i < n->nargs; i++) {
		str_add(&s, i ? "," : "");
		describe_arg(&s, t, &n->arg[i]);
	}
	str_add(&s, ")");
	for (int i = 0; i < n->nouts; i++) {
		size_t mark = s.n;

		str_addf(&s, "#%d", i);
		t->digest[n->out[i]->id] = digest(&f->mem, &s);
		s.n = mark;
		s.text[mark] = '\0';
	}
	str_free(&s);
}

struct leaves { struct folding *f; int method; };

static void describe_leaf(struct value *v, void *ctx)
{
	struct leaves *l = ctx;
	struct trace *t = &l->f->trace[l->method];

	if (!v->def && !t->digest[v->id])
		t->digest[v->id] = leaf_digest(l->f, l->method, v);
}

const char *expression_digest(struct folding *f, int method, const struct value *v)
{
	struct trace *t = &f->trace[method];
	struct node **node;
	int n;

	if (t->digest[v->id])
		return t->digest[v->id];
	node = trace_nodes(f, method, v, &n);
	for (int i = 0; i < n; i++)
		if (!t->digest[node[i]->out[0]->id]) {
			node_each_input(node[i], describe_leaf, &(struct leaves){ f, method });
			describe_node(f, t, node[i]);
		}
	return t->digest[v->id];
}

/* The first source that is more than a number gives its name. */
const char *folded_name(struct folding *f, const struct candidate *c, const struct value *v, struct arena *a)
{
	const struct source *from = c->nsources ? &f->sources.at[c->source[0]] : NULL;

	for (int i = c->nsources - 1; i >= 0; i--)
		if (!f->sources.at[c->source[i]].number)
			from = &f->sources.at[c->source[i]];
	return arena_printf(a, "%s_prop_%s", from ? from->first->name : "constant", expression_digest(f, c->method, v));
}
