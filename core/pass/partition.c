#include "core/pass/partition_parts.h"

#include "core/pass/recompose.h"
#include "core/pass/restate.h"
#include "core/format/xgraph.h"
#include "core/xnn/check.h"

#include <string.h>

/* A view that the file elides costs nothing where it is: none of the calls left out. */
static bool is_elided(const struct node *n)
{
	return n->group < 0 && n->origin.kind == ORIGIN_VIEW;
}

/* Whether the groups may stay as they are: all calls that are taken are in one, nothing else is, and there cannot be
 * fewer. */
static bool nothing_to_gain(struct partition *p, const struct method *m)
{
	bool *seen = arena_array(&p->mem, (size_t)m->g->ngroups + 1, sizeof *seen);
	bool *used = arena_array(&p->mem, (size_t)m->nlevels + 1, sizeof *used);
	int groups = 0, levels = 0;

	for (const struct node *n = m->g->first; n; n = n->next) {
		int level = m->level[n->order];

		if (m->role[n->order] == ROLE_PINNED || (level < 0 && n->group < 0) || is_elided(n))
			continue;
		if (level < 0 || n->group < 0)
			return false;
		groups += !seen[n->group];
		levels += !used[level];
		seen[n->group] = used[level] = true;
	}
	return levels >= groups;
}

struct assign {
	struct partition *p;
	struct method *m;
	struct map clones;	/* { node, group } -> struct node */
	int *group;		/* by level */
};

/* What may be copied into n's group: what is taken anyway, and what a quantised convolution or linear takes along. */
static bool may_fetch(const struct assign *x, const struct node *n, const struct node *d)
{
	const struct xrule *rule = xrule_find(n->op);
	enum role r = x->m->role[d->order];

	return r == ROLE_TAKEN || r == ROLE_PART || ((rule->tag == X_FULLY_CONNECTED || rule->tag == X_CONV2D) &&
						     gemm_of(n).quantized);
}


/* Levels that are exactly one filed group keep it; the others, and empty ones, get -1. */
static void keep_filed(struct assign *x)
{
	const struct graph *g = x->m->g;
	int *in_group = arena_array(&x->p->mem, (size_t)g->ngroups + 1, sizeof *in_group);
	int *in_level = arena_array(&x->p->mem, (size_t)x->m->nlevels + 1, sizeof *in_level);

	x->group = arena_array(&x->p->mem, (size_t)x->m->nlevels + 1, sizeof *x->group);
	for (const struct node *n = g->first; n; n = n->next) {
		int l = x->m->level[n->order];

		if (n->group >= 0)
			in_group[n->group]++;
		if (l < 0)
			continue;
		x->group[l] = !in_level[l] || x->group[l] == n->group ? n->group : -1;
		in_level[l]++;
	}
	for (int l = 0; l < x->m->nlevels; l++) {
		int group = x->group[l];

		if (!in_level[l] || (group >= 0 && (in_group[group] != in_level[l] || g->group[group].filed < 0 ||
				   g->group[group].changed)))
			x->group[l] = -1;
	}
}

static struct node *clone_into(struct assign *x, struct node *n, int group, struct node *before)
{
	struct { const struct node *node; int64_t group; } key = { n, group };
	struct node *c = map_get(&x->clones, &key, sizeof key);
	struct graph *g = x->m->g;

	if (c)
		return c;
	c = graph_node(g, before, n->op, n->arg, n->nargs);
	c->origin = n->origin;
	c->origin.kind = ORIGIN_PASS;
	c->origin.serial = ++g->serial;
	for (int i = 0; i < n->nouts; i++) {
		const struct value *from = n->out[i];
		struct value *v = node_add_output(g, c, from->dtype, from->rank, from->size);

		v->dynamic = from->dynamic;
		v->scalar = from->scalar;
		memcpy(v->dim_order, from->dim_order, sizeof v->dim_order);
	}
	graph_set_group(g, c, group);
	map_put(&x->clones, &x->p->mem, arena_copy(&x->p->mem, &key, sizeof key), sizeof key, c);
	return c;
}

/* Quantisation nodes that stand elsewhere and that n needs beside it get a copy here: dequantise, and behind a
 * dynamic one its quantise and choose-qparams nodes; casts of filters; and the padding of quantised images. */
static void fetch(struct assign *x, struct node *n, int arg, int depth)
{
	struct value *v = node_input(n, arg);
	struct node *d = v && v->kind == VALUE_NODE ? v->def : NULL, *c;
	bool pad = d && n->op->flags & OP_GEMM && gemm_of(n).pad == d;
	int k = 0;

	if (!d || d->group == n->group || !(d->op->flags & OP_QUANTIZE || cast_source(v, d->group) || pad))
		return;
	if (!depth && (quant_def(v, QUANT_QUANTIZE) || !may_fetch(x, n, d)))
		return;		/* a quantise node elsewhere: its integers come as an argument */
	c = clone_into(x, d, n->group, n);
	while (d->out[k] != v)
		k++;
	graph_set_arg(x->m->g, n, arg, arg_value(c->out[k]));
	if (pad)
		fetch(x, c, 0, 0);
	if (depth < 2 && (depth || (c->op->flags & OP_QUANTIZE && quant_is_dynamic(c))))
		for (int i = 0; i < c->nargs; i++)
			fetch(x, c, i, depth + 1);
}

static void fetch_list(struct assign *x, struct node *n, int arg)
{
	for (int i = 0; n->arg[arg].kind == ARG_LIST && i < n->arg[arg].list.n; i++) {
		struct value *v = n->arg[arg].list.at[i].kind == ARG_VALUE ? n->arg[arg].list.at[i].value : NULL;
		const struct node *d = quant_def(v, QUANT_DEQUANTIZE);

		if (d && d->group != n->group && !quant_is_dynamic(d) && may_fetch(x, n, d))
			graph_replace_in(x->m->g, n, v, clone_into(x, (struct node *)d, n->group, n)->out[0]);
	}
}

static void assign_groups(struct assign *x)
{
	struct graph *g = x->m->g;
	struct node **taken = arena_array(&x->p->mem, (size_t)g->nnodes + 1, sizeof *taken);
	int ntaken = 0;

	keep_filed(x);
	for (struct node *n = g->first; n; n = n->next) {
		int level = x->m->level[n->order];

		if (x->m->role[n->order] == ROLE_PINNED)
			continue;
		if (level >= 0 && x->group[level] < 0) {
			x->group[level] = graph_add_group(g, -1);
			g->group[x->group[level]].changed = true;
		}
		graph_set_group(g, n, level >= 0 ? x->group[level] : -1);
		if (level >= 0)
			taken[ntaken++] = n;
	}
	for (int i = 0; i < ntaken; i++)
		for (int k = 0; !(taken[i]->op->flags & OP_QUANTIZE) && k < taken[i]->nargs; k++) {
			fetch(x, taken[i], k, 0);
			fetch_list(x, taken[i], k);
		}
}

/* Quantisation nodes whose readers all got a copy. */
static void sweep_quantize(struct graph *g)
{
	for (struct node *n = g->last, *prev; n; n = prev) {
		bool read = false;

		prev = n->prev;
		for (int i = 0; i < n->nouts; i++)
			read |= n->out[i]->nuses || n->out[i]->noutputs;
		if (n->op->flags & OP_QUANTIZE && !read)
			graph_remove(g, n);
	}
}

bool partition_apply_all(struct graph *const *g, int ngraphs, struct error *err)
{
	struct partition p = { .nmethods = 0 };
	bool ok = true;

	p.method = arena_array(&p.mem, (size_t)ngraphs + 1, sizeof *p.method);
	for (int i = 0; ok && i < ngraphs; i++) {
		if (g[i]->rigid)
			continue;
		graph_sweep(g[i]);	/* XNNPACK's graphs hold nothing that nobody reads, and it shapes no delegate */
		p.method[p.nmethods].g = g[i];
		p.method[p.nmethods].repair = true;
		ok = work_goes_on(g[i]->work, "partitioning", i, ngraphs, err) &&
			recompose_apply(g[i], err) >= 0 && restate_apply(g[i], err);
		role_find(&p, &p.method[p.nmethods++]);
		ok = ok && work_goes_on(g[i]->work, "partitioning", i, ngraphs, err);
	}
	if (ok)
		bytes_leave_out(&p);
	for (int i = 0; ok && i < p.nmethods; i++) {
		struct assign x = { &p, &p.method[i], { 0 }, NULL };

		ok = work_goes_on(p.method[i].g->work, "partitioning", i, p.nmethods, err) &&
			level_find(&p, &p.method[i], err);
		if (ok && !nothing_to_gain(&p, &p.method[i])) {
			assign_groups(&x);
			sweep_quantize(p.method[i].g);
		}
	}
	arena_free(&p.mem);
	return ok;
}

bool partition_apply(struct graph *g, struct error *err)
{
	return partition_apply_all(&g, 1, err);
}

const char **partition_left_out(struct graph *const *g, int ngraphs, const struct graph *of, struct arena *a)
{
	struct partition p = { .nmethods = ngraphs };
	const char **why = NULL;

	p.method = arena_array(&p.mem, (size_t)ngraphs + 1, sizeof *p.method);
	for (int i = 0; i < ngraphs; i++) {
		p.method[i].g = g[i];
		role_find(&p, &p.method[i]);
	}
	bytes_leave_out(&p);
	for (int i = 0; i < ngraphs; i++) {
		if (g[i] != of)
			continue;
		why = arena_array(a, (size_t)of->nnodes + 1, sizeof *why);
		for (const struct node *n = of->first; n; n = n->next)
			why[n->order] = bytes_would_grow(&p, &p.method[i], n, a);
	}
	arena_free(&p.mem);
	return why;
}
