/* Digests over a description of an expression. Each producer is described once, by its operator, its arguments, and
 * the digests of what it reads, so that the text is as long as the expression has nodes. There are two. In the one
 * that names a tensor, sources stand by name, so that it is the same in every run, whatever they hold. In the one
 * that tells equal expressions, they stand by place: two methods may call different constants "constant0". */
#include "core/pass/folding.h"

#include "core/op/op.h"

#include <sha256.h>
#include <string.h>

enum kind { BY_PLACE, BY_NAME };

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

static const char *leaf_digest(struct folding *f, int method, const struct value *v, enum kind kind)
{
	const struct source *src = &f->sources.at[source_of(f, method, v)];
	struct str s = { 0 };
	const char *d;

	if (kind == BY_NAME)
		str_add(&s, src->first->name);
	else
		str_addf(&s, "%d", source_of(f, method, v));
	describe_type(&s, v);
	d = digest(&f->mem, &s);
	str_free(&s);
	return d;
}

static void describe_arg(struct str *s, const char *const *known, const struct arg *a)
{
	switch (a->kind) {
	case ARG_NONE: str_add(s, "none"); break;
	case ARG_VALUE: str_add(s, "%"); str_add(s, known[a->value->id]); break;
	case ARG_INT: str_addf(s, "%lld", (long long)a->i); break;
	case ARG_DOUBLE: str_addf(s, "%a", a->d); break;
	case ARG_BOOL: str_add(s, a->b ? "true" : "false"); break;
	case ARG_STRING: str_addf(s, "\"%s\"", a->s); break;
	case ARG_LIST:
		str_add(s, "[");
		for (int i = 0; i < a->list.n; i++) {
			str_add(s, i ? "," : "");
			describe_arg(s, known, &a->list.at[i]);
		}
		str_add(s, "]");
		break;
	}
}

static void describe_node(struct folding *f, const char **known, const struct node *n)
{
	struct str s = { 0 };

	str_add(&s, n->op->name);
	str_add(&s, "(");
	for (int i = 0; i < n->nargs; i++) {
		str_add(&s, i ? "," : "");
		describe_arg(&s, known, &n->arg[i]);
	}
	str_add(&s, ")");
	for (int i = 0; i < n->nouts; i++) {
		size_t mark = s.n;

		str_addf(&s, "#%d", i);
		known[n->out[i]->id] = digest(&f->mem, &s);
		s.n = mark;
		s.text[mark] = '\0';
	}
	str_free(&s);
}

struct leaves { struct folding *f; int method; enum kind kind; };

static void describe_leaf(struct value *v, void *ctx)
{
	struct leaves *l = ctx;
	const char **known = l->f->trace[l->method].digest[l->kind];

	if (!v->def && !known[v->id])
		known[v->id] = leaf_digest(l->f, l->method, v, l->kind);
}

static const char *describe(struct folding *f, int method, const struct value *v, enum kind kind)
{
	struct leaves l = { f, method, kind };
	const char **known = f->trace[method].digest[kind];
	struct node **node;
	int n;

	if (known[v->id])
		return known[v->id];
	node = trace_nodes(f, method, v, &n);
	for (int i = 0; i < n; i++)
		if (!known[node[i]->out[0]->id]) {
			node_each_input(node[i], describe_leaf, &l);
			describe_node(f, known, node[i]);
		}
	return known[v->id];
}

const char *expression_digest(struct folding *f, int method, const struct value *v)
{
	return describe(f, method, v, BY_PLACE);
}

/* The first source that is more than a number gives its name. */
const char *folded_name(struct folding *f, const struct candidate *c, const struct value *v, struct arena *a)
{
	const struct source *from = c->nsources ? &f->sources.at[c->source[0]] : NULL;

	for (int i = c->nsources - 1; i >= 0; i--)
		if (!f->sources.at[c->source[i]].number)
			from = &f->sources.at[c->source[i]];
	return arena_printf(a, "%s_prop_%s", from ? from->first->name : "constant",
			    describe(f, c->method, v, BY_NAME));
}
