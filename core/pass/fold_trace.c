/* What is constant, and which weights and biases are computed. */
#include "core/pass/folding.h"

#include "core/op/op.h"
#include "core/xnn/check.h"

#include <stdlib.h>
#include <string.h>

/* Makers of tensors out of numbers that are no mere fill: inside an expression they fold with it. */
static const char *const not_fills[] = {
	"aten.arange.default", "aten.arange.start", "aten.arange.start_step", "aten.linspace.default",
	"aten.scalar_tensor.default", NULL,
};

/* Fills that take the shape from a tensor. */
static const char *const like_fills[] = {
	"aten.full_like.default", "aten.ones_like.default", "aten.zeros_like.default", "aten.empty_like.default",
	"aten.new_full.default", "aten.new_ones.default", "aten.new_zeros.default", "aten.new_empty.default",
	"aten.fill.Scalar", "aten.fill.Tensor", NULL,
};

static bool is_among(const struct op *op, const char *const *names)
{
	while (*names && !op_is(op, *names))
		names++;
	return *names;
}

static bool is_fill(const struct op *op)
{
	return op->flags & OP_FACTORY ? !is_among(op, not_fills) : is_among(op, like_fills);
}

static const char *const why_codes[] = {
	[WHY_UNKNOWN] = "", [WHY_CONSTANT] = "", [WHY_SIZE_VARIES] = "size_varies",
	[WHY_NO_KERNEL] = "no_kernel", [WHY_DATA_MISSING] = "data_missing",
	[WHY_OPAQUE] = "opaque", [WHY_FACTORY] = "factory", [WHY_QUANTIZED] = "quantized", [WHY_IMPURE] = "impure",
	[WHY_NOT_CONSTANT] = "not_constant", [WHY_BUFFER] = "buffer",
};

const char *why_code(enum why w)
{
	return why_codes[w];
}

static enum why why_op(const struct op *op)
{
	return op->flags & OP_OPAQUE ? WHY_OPAQUE : op->flags & (OP_RANDOM | OP_MUTATES) ? WHY_IMPURE :
		op->flags & OP_QUANTIZE ? WHY_QUANTIZED : is_fill(op) ? WHY_FACTORY :
		!op->kernel || !op->shape ? WHY_NO_KERNEL : WHY_CONSTANT;
}

static enum why why_leaf(const struct value *v)
{
	return v->kind == VALUE_INPUT ? WHY_NOT_CONSTANT : v->kind == VALUE_STATE ? WHY_BUFFER :
		v->data || !v->bytes ? WHY_CONSTANT : WHY_DATA_MISSING;
}

/* ---- walks ---- */

struct walk {
	struct trace *t;
	struct arena *mem;
	vec(struct node *) stack;
	bool waits;		/* an input is not known yet */
	enum why why;
	const struct value *culprit;
};

static void look_at_input(struct value *v, void *ctx)
{
	struct walk *w = ctx;

	if (w->t->why[v->id] == WHY_UNKNOWN && !v->def) {
		w->t->why[v->id] = v->kind == VALUE_NODE ? WHY_NOT_CONSTANT : why_leaf(v);
		w->t->culprit[v->id] = v;
	}
	if (w->t->why[v->id] == WHY_UNKNOWN) {
		vec_push(w->mem, &w->stack, v->def);
		w->waits = true;
	} else if (w->t->why[v->id] > w->why) {
		w->why = w->t->why[v->id];
		w->culprit = w->t->culprit[v->id];
	}
}

/* One node: its own reason and those of its inputs. False: inputs come first, they are on the stack now. */
static bool settle_node(struct walk *w, struct node *n)
{
	w->waits = false;
	w->why = why_op(n->op);
	w->culprit = n->nouts ? n->out[0] : NULL;
	node_each_input(n, look_at_input, w);
	if (w->waits)
		return false;
	for (int i = 0; i < n->nouts; i++) {
		bool varies = w->why == WHY_CONSTANT && n->out[i]->dynamic;

		w->t->why[n->out[i]->id] = varies ? WHY_SIZE_VARIES : w->why;
		w->t->culprit[n->out[i]->id] = varies ? n->out[i] : w->culprit;
	}
	return true;
}

enum why trace_why(struct folding *f, int method, const struct value *v)
{
	struct arena mem = { 0 };
	struct trace *t = &f->trace[method];
	struct walk w = { .t = t, .mem = &mem };

	look_at_input((struct value *)v, &w);
	while (w.stack.n) {
		struct node *n = w.stack.at[w.stack.n - 1];

		if ((n->nouts && t->why[n->out[0]->id] != WHY_UNKNOWN) || settle_node(&w, n))
			w.stack.n--;
	}
	arena_free(&mem);
	return t->why[v->id];
}

struct collecting { struct trace *t; struct arena *mem; vec(struct node *) found; };

static void collect(struct value *v, void *ctx)
{
	struct collecting *c = ctx;

	if (!v->def || c->t->seen[v->def->order] == c->t->epoch)
		return;
	c->t->seen[v->def->order] = c->t->epoch;
	vec_push(c->mem, &c->found, v->def);
}

static int by_order(const void *a, const void *b)
{
	const struct node *const *x = a, *const *y = b;

	return ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

struct node **trace_nodes(struct folding *f, int method, const struct value *v, int *n)
{
	struct collecting c = { .t = &f->trace[method], .mem = &f->mem };

	c.t->epoch++;
	collect((struct value *)v, &c);
	for (int i = 0; i < c.found.n; i++)
		node_each_input(c.found.at[i], collect, &c);
	qsort(c.found.at, (size_t)c.found.n, sizeof *c.found.at, by_order);
	*n = c.found.n;
	return c.found.at;
}

/* ---- candidates ---- */

/* A delegate's own weights: quantised integers that it stores, and f32 that it casts. */
static bool is_static_already(const struct node *at, const struct value *v)
{
	const struct value *from = node_input(v->def, 0);

	return cast_source(v, at->group) || (at->group >= 0 && v->def->group == at->group &&
		v->def->op->flags & OP_QUANTIZE && from && from->kind == VALUE_CONSTANT);
}

static struct candidate *add_candidate(struct folding *f, int method, struct node *at, const char *position,
	struct value *v)
{
	struct candidate c = { .method = method, .at = at, .position = position, .value = v };

	c.why = trace_why(f, method, v);
	c.inner = at->nouts && trace_why(f, method, at->out[0]) == WHY_CONSTANT;
	vec_push(&f->mem, &f->list, c);
	return &f->list.at[f->list.n - 1];
}

/* Operators that only give the same numbers another shape or order. */
static bool moves_only(const struct op *op)
{
	return op->flags & OP_VIEW || op_is(op, "aten.permute_copy.default") || op_is(op, "aten.expand_copy.default");
}

/* The 2-D weight under a bmm, if it is computed by more than layout: what expand and view make 3-D of it. */
static struct value *weight_of_bmm(struct value *v)
{
	struct value *flat, *under;

	while (v && v->def && v->rank > 2 &&
	       (v->def->op->flags & OP_VIEW || op_is(v->def->op, "aten.expand_copy.default")))
		v = node_input(v->def, 0);
	flat = v && v->rank == 2 && v->kind == VALUE_NODE ? v : NULL;
	for (under = flat; under && under->def && moves_only(under->def->op);)
		under = node_input(under->def, 0);
	return under && under->kind == VALUE_NODE ? flat : NULL;
}

static void look_at_position(struct folding *f, int method, struct node *n, int arg, const char *position)
{
	struct value *v = node_input(n, arg);

	if (v && v->rank == 3 && op_is(n->op, "aten.bmm.default"))
		v = weight_of_bmm(v);
	if (v && v->kind == VALUE_NODE && v->def && !is_static_already(n, v))
		add_candidate(f, method, n, position, v);
}

static void find_candidates(struct folding *f)
{
	for (int m = 0; m < f->ntraces; m++)
		for (struct node *n = f->trace[m].g->first; n; n = n->next)
			if (n->op->flags & OP_GEMM && !f->trace[m].dead[n->order]) {
				look_at_position(f, m, n, op_weight_arg(n->op), "weight");
				look_at_position(f, m, n, op_bias_arg(n->op), "bias");
			}
}

/* ---- homes ---- */

enum { HOME_NONE = -3, HOME_MIXED = -2 };	/* numbers only; sources in several files */

static int join_homes(int a, int b)
{
	return a == HOME_NONE ? b : b == HOME_NONE || a == b ? a : HOME_MIXED;
}

struct homes { struct folding *f; int method; int *home; int joined; };	/* of the values of one expression */

/* A single number of the program goes with anything; one in a data file may be part of an adapter. */
static int home_of(const struct homes *h, const struct value *v)
{
	int home = v->def ? h->home[v->id] : h->f->sources.at[source_of(h->f, h->method, v)].home;

	return home == HOME_PROGRAM && dtype_numel(v->rank, v->size) == 1 ? HOME_NONE : home;
}

static void join_input(struct value *v, void *ctx)
{
	struct homes *h = ctx;

	h->joined = join_homes(h->joined, home_of(h, v));
}

/* Where the sources of each value of an expression live. */
static void find_homes(struct homes *h, const struct candidate *c)
{
	for (int i = 0; i < c->nnodes; i++) {
		h->joined = HOME_NONE;
		node_each_input(c->node[i], join_input, h);
		for (int o = 0; o < c->node[i]->nouts; o++)
			h->home[c->node[i]->out[o]->id] = h->joined;
	}
}

struct source_list { struct folding *f; int method; vec(int) found; };

static void add_source(struct value *v, void *ctx)
{
	struct source_list *l = ctx;
	int s;

	if (v->def)
		return;
	s = source_of(l->f, l->method, v);
	for (int i = 0; i < l->found.n; i++)
		if (l->found.at[i] == s)
			return;
	vec_push(&l->f->mem, &l->found, s);
}

static void find_expression(struct folding *f, struct candidate *c)
{
	struct source_list l = { .f = f, .method = c->method };

	if (!c->node)
		c->node = trace_nodes(f, c->method, c->value, &c->nnodes);
	for (int i = 0; i < c->nnodes; i++)
		node_each_input(c->node[i], add_source, &l);
	c->source = l.found.at;
	c->nsources = l.found.n;
}

struct splitting { struct folding *f; struct homes *h; const struct candidate *of; vec(struct value *) found; };

/* An input of a node whose sources disagree: either it disagrees itself, and its own node is looked at later, or it
 * is a largest part that agrees. */
static void split_input(struct value *v, void *ctx)
{
	struct splitting *s = ctx;

	if (!v->def || home_of(s->h, v) == HOME_MIXED || home_of(s->h, v) == HOME_NONE || v->scalar)
		return;
	for (int i = 0; i < s->found.n; i++)
		if (s->found.at[i] == v)
			return;
	vec_push(&s->f->mem, &s->found, v);
}

/* Sources in different files keep apart; what comes from one of them alone may still fold there. */
static void split_by_home(struct folding *f, struct homes *h, int index)
{
	struct candidate c = f->list.at[index];
	struct splitting s = { .f = f, .h = h, .of = &c };

	for (int i = 0; i < c.nnodes; i++)
		if (c.node[i]->nouts && h->home[c.node[i]->out[0]->id] == HOME_MIXED)
			node_each_input(c.node[i], split_input, &s);
	for (int i = 0; i < s.found.n; i++) {
		struct candidate *part = add_candidate(f, c.method, c.at, c.position, s.found.at[i]);

		find_expression(f, part);
		part->home = h->home[s.found.at[i]->id];
	}
}

static void settle_home(struct folding *f, struct homes *h, int index)
{
	struct candidate *c = &f->list.at[index];
	int home;

	find_expression(f, c);
	find_homes(h, c);
	home = h->home[c->value->id];
	c->home = home == HOME_NONE && c->nsources ? f->sources.at[c->source[0]].home :
		home == HOME_NONE ? HOME_PROGRAM : home;
	if (home != HOME_MIXED)
		return;
	c->code = "tags_differ";
	split_by_home(f, h, index);
}

static void find_expressions(struct folding *f)
{
	int n = f->list.n;
	struct homes h = { .f = f };

	for (int i = 0; i < n; i++)
		if (f->list.at[i].why == WHY_CONSTANT) {
			h.method = f->list.at[i].method;
			h.home = f->trace[h.method].home;
			settle_home(f, &h, i);
		}
}

bool trace_is_read(const struct trace *t, const struct value *v)
{
	for (int i = 0; i < v->nuses; i++)
		if (!t->dead[v->use[i].node->order])
			return true;
	return v->noutputs > 0;
}

static void find_dead(struct trace *t)
{
	for (struct node *n = t->g->last; n; n = n->prev) {	/* readers come later */
		bool dead = n->nouts && op_is_pure(n->op);

		for (int i = 0; i < n->nouts && dead; i++)
			dead = !trace_is_read(t, n->out[i]);
		t->dead[n->order] = dead;
	}
}

static void open_trace(struct folding *f, struct trace *t, struct graph *g)
{
	size_t values = (size_t)g->nvalues, nodes = (size_t)g->nnodes + 1;

	graph_number(g);
	t->g = g;
	t->why = arena_array(&f->mem, values, sizeof *t->why);
	t->culprit = arena_array(&f->mem, values, sizeof *t->culprit);
	for (int i = 0; i < 2; i++)
		t->digest[i] = arena_array(&f->mem, values, sizeof **t->digest);
	t->home = arena_array(&f->mem, values, sizeof *t->home);
	t->source = arena_array(&f->mem, values, sizeof *t->source);
	for (size_t i = 0; i < values; i++)
		t->source[i] = -1;
	t->dead = arena_array(&f->mem, nodes, sizeof *t->dead);
	find_dead(t);
	t->inside = arena_array(&f->mem, nodes, sizeof *t->inside);
	t->survives = arena_array(&f->mem, nodes, sizeof *t->survives);
	t->stored = arena_array(&f->mem, values, sizeof *t->stored);
	t->seen = arena_array(&f->mem, nodes, sizeof *t->seen);
}

void folding_open_traces(struct folding *f, struct graph *const *g, int ngraphs)
{
	memset(f, 0, sizeof *f);
	f->ntraces = ngraphs;
	f->trace = arena_array(&f->mem, (size_t)ngraphs, sizeof *f->trace);
	for (int m = 0; m < ngraphs; m++) {
		open_trace(f, &f->trace[m], g[m]);
		f->training |= g[m]->training;
	}
}

void folding_open(struct folding *f, struct graph *const *g, int ngraphs)
{
	folding_open_traces(f, g, ngraphs);
	find_candidates(f);
	for (int i = 0; i < f->list.n; i++)
		if (f->list.at[i].why == WHY_CONSTANT)
			f->list.at[i].node = trace_nodes(f, f->list.at[i].method, f->list.at[i].value,
				&f->list.at[i].nnodes);
	folding_find_sources(f);
	find_expressions(f);
}

void folding_close(struct folding *f)
{
	arena_free(&f->mem);
}
