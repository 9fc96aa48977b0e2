/* What would help a node, and its story in one or two sentences. */
#include "core/session/facts_parts.h"

#include "core/op/op.h"

#include <stdio.h>
#include <string.h>

static void put(struct making_facts *m, struct map *map, const struct node *const *node, const void *what)
{
	map_put(map, &m->scratch, node, sizeof *node, (void *)(uintptr_t)what);
}

static const void *get(const struct map *map, const struct node *n)
{
	return map_get(map, &n, sizeof n);
}

/* A candidate that folds goes before one that stays, a weight before a bias. */
static bool tells_more(const struct fold *a, const struct fold *b)
{
	return !b || (a->folds != b->folds ? a->folds : !strcmp(a->position, "weight"));
}

void facts_find_plans(struct making_facts *m)
{
	for (int i = 0; i < m->s->fold->nfolds; i++) {
		const struct fold *f = &m->s->fold->fold[i];

		if (f->method != m->s->at)
			continue;
		if (tells_more(f, get(&m->fold_at, f->at)))
			put(m, &m->fold_at, &f->at, f);
		for (int k = 0; k < f->nnodes; k++)
			if (tells_more(f, get(&m->fold_in, f->node[k])))
				put(m, &m->fold_in, &f->node[k], f);
	}
	for (int i = 0; i < m->s->linear->nlinears; i++)
		if (m->s->linear->linear[i].method == m->s->at)
			put(m, &m->linear_at, &m->s->linear->linear[i].at, &m->s->linear->linear[i]);
}

/* Refusals that another export of the same model would not meet. */
static bool export_matters(const char *code)
{
	static const char *const codes[] = {
		"argument", "dynamic_shape", "memory_format", "quant_params", "mixed_dtypes", "weight_is_buffer", NULL,
	};

	for (const char *const *c = codes; code && *c; c++)
		if (!strcmp(*c, code))
			return true;
	return false;
}

/* The only thing in the way is that its weight or bias is computed. */
static const struct rule_check *refused_besides(const struct node_row *r)	/* NULL: so it is */
{
	for (int i = 0; i < r->verdict.nchecks; i++) {
		const struct rule_check *c = &r->verdict.check[i];

		if (!c->ok && strcmp(c->code, "weight_not_static") && strcmp(c->code, "bias_not_static"))
			return c;
	}
	return NULL;
}

/* The fold that it belongs to, unless XNNPACK takes what reads the weight without: a linear and its permute. */
static const struct fold *needed_fold(const struct making_facts *m, const struct node_row *r)
{
	const struct fold *f = get(&m->fold_in, r->node);

	return f && !(r->verdict.kind == VERDICT_TAKES && m->f->row[f->at->order].verdict.kind == VERDICT_TAKES) ? f : NULL;
}

void facts_fix(struct making_facts *m, struct node_row *r)
{
	const struct fold *at = get(&m->fold_at, r->node), *in = needed_fold(m, r);
	const struct linear *linear = get(&m->linear_at, r->node);

	r->fix = "none";
	if (r->runs != RUNS_PORTABLE || r->node->origin.kind == ORIGIN_VIEW)
		return;
	if (m->g->rigid)
		r->fix = r->verdict.kind == VERDICT_NO_RULE ? "none" : "re-export";
	else if (in && in->folds)
		r->fix = "fold";
	else if (r->verdict.kind == VERDICT_TAKES)
		r->fix = strcmp(r->verdict.code, "would_grow") ? "partition" : "none";
	else if (linear && linear->converts)
		r->fix = "linear";
	else if (at && at->folds && !refused_besides(r))
		r->fix = "fold";
	else if (r->verdict.kind == VERDICT_DECLINES && export_matters(r->verdict.code))
		r->fix = "re-export";
}

/* Stories */

static void number(struct str *s, uint64_t n)	/* 33,554,432 */
{
	char digits[32];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);

	for (int i = 0; i < len; i++)
		str_addf(s, "%s%c", i && (len - i) % 3 == 0 ? "," : "", digits[i]);
}

static void bytes_of(struct str *s, const struct fold *f)
{
	str_add(s, " It erases ");
	number(s, f->bytes_erased);
	str_add(s, " bytes and adds ");
	number(s, f->bytes_added);
	str_add(s, ".");
}

static void sources_of(struct str *s, const struct fold *f)
{
	enum { NAMED = 4 };

	for (int i = 0; i < f->nsources && i < NAMED; i++)
		str_addf(s, "%s%s", i ? i + 1 == f->nsources ? " and " : ", " : "", f->source[i]->name);
	if (f->nsources > NAMED)
		str_addf(s, " and %d more", f->nsources - NAMED);
	if (!f->nsources)
		str_add(s, "numbers");
}

static void story_of_gemm(struct str *s, const struct fold *f, const struct rule_check *besides)
{
	str_addf(s, "Its %s is computed", f->position);
	if (f->nnodes) {
		str_add(s, " from ");
		sources_of(s, f);
		str_addf(s, " by %d node%s", f->nnodes, f->nnodes == 1 ? "" : "s");
	}
	if (f->folds) {
		str_add(s, ", at every run anew. A fold computes it once and stores it; ");
		if (besides)
			str_addf(s, "XNNPACK declines this node all the same: %s.", besides->found);
		else
			str_add(s, "then XNNPACK takes this node.");
		bytes_of(s, f);
	} else {
		str_addf(s, ", and that cannot be folded: %s.", f->text ? f->text : f->code);
	}
}

static void story_of_producer(struct making_facts *m, struct str *s, const struct fold *f)
{
	char id[512];

	if (f->nnodes > 1)
		str_addf(s, "It is one of %d nodes that compute", f->nnodes);
	else
		str_add(s, "It computes");
	str_addf(s, " the %s of %s from constants alone, at every run anew.", f->position,
		 node_id(m->g, f->at, id, sizeof id));
	if (f->folds)
		str_addf(s, " A fold removes %s.", f->nnodes > 1 ? "them" : "it");
	else
		str_addf(s, " That stays: %s.", f->text ? f->text : f->code);
}

static void story_of_portable(struct making_facts *m, struct str *s, const struct node_row *r)
{
	const struct fold *at = get(&m->fold_at, r->node), *in = needed_fold(m, r);
	const struct linear *linear = get(&m->linear_at, r->node);

	if (r->node->origin.kind == ORIGIN_VIEW)
		str_add(s, "A view of bytes that lie there already: it costs nothing.");
	else if (at && r->verdict.kind == VERDICT_DECLINES)
		story_of_gemm(s, at, refused_besides(r));
	else if (in)
		story_of_producer(m, s, in);
	else if (r->verdict.kind == VERDICT_TAKES && !strcmp(r->verdict.code, "not_partitioned"))
		str_add(s, m->g->rigid ? "XNNPACK would take it, but this method cannot be rewritten." :
			"XNNPACK would take it; the file was lowered without. Partitioning puts it into a delegate.");
	else if (linear && linear->converts)
		str_addf(s, "XNNPACK declines it as it stands: %s. It is a linear with its weight transposed; converted back, "
			 "XNNPACK takes it.", r->verdict.text);
	else
		str_addf(s, "%s: %s.", r->verdict.kind == VERDICT_TAKES ? "XNNPACK would take it, but it stays outside" :
			 "XNNPACK does not run it", r->verdict.text ? r->verdict.text : r->verdict.code);
	if (m->g->rigid && r->verdict.kind != VERDICT_NO_RULE)
		str_addf(s, " The method stays as it is: %s.", m->g->rigid_why);
}

static void story_of_cost(struct making_facts *m, struct str *s, const struct node_row *r)
{
	double part = m->work > 0 ? (r->flops + (double)r->bytes) / m->work : 0;

	if (r->node->origin.kind != ORIGIN_VIEW && part >= 0.05)
		str_addf(s, " By its shapes it is %.0f %% of the method's work.", part * 100);
}

void facts_story(struct making_facts *m, struct node_row *r)
{
	const struct fold *in = get(&m->fold_in, r->node);
	struct str s = { 0 };

	if (r->runs == RUNS_OTHER && r->node->group >= 0)
		str_addf(&s, "A delegate that is shown and kept, but not opened: %s.",
			 m->g->group[r->node->group].why ? m->g->group[r->node->group].why : "its backend is another one");
	else if (r->runs == RUNS_OTHER)
		str_add(&s, "Control flow: shown and kept, never rewritten.");
	else if (r->runs == RUNS_PORTABLE)
		story_of_portable(m, &s, r);
	else if (in)
		story_of_producer(m, &s, in);
	else
		str_addf(&s, "XNNPACK runs it, in delegate %d.", r->delegate);
	if (r->runs == RUNS_PORTABLE)
		story_of_cost(m, &s, r);
	r->story = arena_string(m->mem, str_text(&s));
	str_free(&s);
}
