#include "core/graph/graph.h"

#include "core/op/op.h"

#include <string.h>

struct graph *graph_new(const char *method)
{
	struct graph *g = mem_alloc(sizeof *g);

	g->method = arena_string(&g->mem, method);
	return g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	arena_free(&g->mem);
	mem_free(g);
}

#define GROW(g, at, n, cap) \
	((n) == (cap) ? (void)((at) = vec_grow(&(g)->mem, (at), (n), &(cap), sizeof *(at))) : (void)0)

static void set_type(struct value *v, enum dtype t, int rank, const int64_t *size)
{
	v->dtype = t;
	v->rank = rank;
	for (int d = 0; d < rank; d++) {
		v->size[d] = size[d];
		v->dim_order[d] = (uint8_t)d;
	}
	if (!dtype_tensor_bytes(t, rank, size, &v->bytes))
		v->bytes = 0;
}

struct value *graph_value(struct graph *g, enum value_kind kind, enum dtype t, int rank, const int64_t *size)
{
	struct value *v = arena_alloc(&g->mem, sizeof *v);

	GROW(g, g->value, g->nvalues, g->capvalues);
	v->id = g->nvalues;
	g->value[g->nvalues++] = v;
	v->kind = kind;
	v->name = "";
	v->home = HOME_PROGRAM;
	v->state_slot = v->file_value = -1;
	set_type(v, t, rank, size);
	return v;
}

/* Arrays whose room is not kept have room for the next power of two. */
static size_t room(int n)
{
	size_t r = 1;

	while (r < (size_t)n)
		r *= 2;
	return r;
}

static void *one_more(struct graph *g, void *at, int n, size_t bytes_each)
{
	void *bigger;

	if (n & (n - 1))
		return at;
	bigger = arena_array(&g->mem, room(n + 1), bytes_each);
	if (n)
		memcpy(bigger, at, (size_t)n * bytes_each);
	return bigger;
}

void graph_add_input(struct graph *g, struct value *v, struct arg literal)
{
	g->input = one_more(g, g->input, g->ninputs, sizeof *g->input);
	g->input_literal = one_more(g, g->input_literal, g->ninputs, sizeof *g->input_literal);
	g->input[g->ninputs] = v;
	g->input_literal[g->ninputs++] = literal;
}

void graph_add_output(struct graph *g, struct arg a)
{
	g->output = one_more(g, g->output, g->noutputs, sizeof *g->output);
	g->output[g->noutputs++] = a;
	if (a.kind == ARG_VALUE)
		a.value->noutputs++;
}

int graph_add_group(struct graph *g, int filed)
{
	GROW(g, g->group, g->ngroups, g->capgroups);
	g->group[g->ngroups] = (struct group){ .filed = filed };
	return g->ngroups++;
}

struct arg arg_none(void) { return (struct arg){ .kind = ARG_NONE }; }
struct arg arg_value(struct value *v) { return v ? (struct arg){ .kind = ARG_VALUE, .value = v } : arg_none(); }
struct arg arg_int(int64_t i) { return (struct arg){ .kind = ARG_INT, .i = i }; }
struct arg arg_double(double d) { return (struct arg){ .kind = ARG_DOUBLE, .d = d }; }
struct arg arg_bool(bool b) { return (struct arg){ .kind = ARG_BOOL, .b = b }; }

static struct arg arg_list(struct graph *g, int n)
{
	struct arg a = { .kind = ARG_LIST };

	a.list.at = arena_array(&g->mem, (size_t)n, sizeof *a.list.at);
	a.list.n = n;
	return a;
}

struct arg arg_ints(struct graph *g, const int64_t *at, int n)
{
	struct arg a = arg_list(g, n);

	for (int i = 0; i < n; i++)
		a.list.at[i] = arg_int(at[i]);
	return a;
}

struct arg arg_values(struct graph *g, struct value *const *at, int n)
{
	struct arg a = arg_list(g, n);

	for (int i = 0; i < n; i++)
		a.list.at[i] = arg_value(at[i]);
	return a;
}

static struct arg copy_arg(struct graph *g, const struct arg *from)
{
	struct arg a = *from;

	if (from->kind == ARG_LIST) {
		a = arg_list(g, from->list.n);
		for (int i = 0; i < from->list.n; i++)
			a.list.at[i] = copy_arg(g, &from->list.at[i]);
	} else if (from->kind == ARG_STRING) {
		a.s = arena_string(&g->mem, from->s);
	}
	return a;
}

static void each_value(const struct arg *a, void (*f)(struct value *, void *), void *ctx)
{
	if (a->kind == ARG_VALUE)
		f(a->value, ctx);
	else if (a->kind == ARG_LIST)
		for (int i = 0; i < a->list.n; i++)
			each_value(&a->list.at[i], f, ctx);
}

void node_each_input(const struct node *n, void (*f)(struct value *v, void *ctx), void *ctx)
{
	for (int i = 0; i < n->nargs; i++)
		each_value(&n->arg[i], f, ctx);
}

struct use_edit { struct graph *g; struct node *node; };

static void add_use(struct value *v, void *ctx)
{
	struct use_edit *e = ctx;

	GROW(e->g, v->use, v->nuses, v->capuses);
	v->use[v->nuses++] = (struct use){ e->node };
}

static void drop_use(struct value *v, void *ctx)
{
	struct use_edit *e = ctx;

	for (int i = v->nuses - 1; i >= 0; i--)
		if (v->use[i].node == e->node) {
			v->use[i] = v->use[--v->nuses];
			return;
		}
}

static void touch(struct graph *g, const struct node *n)
{
	if (n->group >= 0)
		g->group[n->group].changed = true;
}

/* A value that starts or stops being read outside its producer's delegate changes that delegate's outputs. */
static void touch_def(struct graph *g, const struct value *v)
{
	if (v->def)
		touch(g, v->def);
}

static void link_before(struct graph *g, struct node *n, struct node *before)
{
	n->next = before;
	n->prev = before ? before->prev : g->last;
	*(n->prev ? &n->prev->next : &g->first) = n;
	*(before ? &before->prev : &g->last) = n;
}

static void unlink_node(struct graph *g, struct node *n)
{
	*(n->prev ? &n->prev->next : &g->first) = n->next;
	*(n->next ? &n->next->prev : &g->last) = n->prev;
}

struct node *graph_node(struct graph *g, struct node *before, const struct op *op, const struct arg *arg, int nargs)
{
	struct node *n = arena_alloc(&g->mem, sizeof *n);

	n->op = op;
	n->group = -1;
	n->nargs = nargs;
	n->arg = arena_array(&g->mem, (size_t)nargs, sizeof *n->arg);
	for (int i = 0; i < nargs; i++)
		n->arg[i] = copy_arg(g, &arg[i]);
	n->origin = (struct origin){ .kind = ORIGIN_PASS, .delegate = -1, .dnode = -1, .serial = ++g->serial };
	node_each_input(n, add_use, &(struct use_edit){ g, n });
	link_before(g, n, before);
	g->nnodes++;
	return n;
}

struct value *node_add_output(struct graph *g, struct node *n, enum dtype t, int rank, const int64_t *size)
{
	struct value *v = graph_value(g, VALUE_NODE, t, rank, size);
	n->out = one_more(g, n->out, n->nouts, sizeof *n->out);
	n->out[n->nouts++] = v;
	v->def = n;
	return v;
}

void graph_remove(struct graph *g, struct node *n)
{
	node_each_input(n, drop_use, &(struct use_edit){ g, n });
	for (int i = 0; i < n->nargs; i++)
		if (node_input(n, i))
			touch_def(g, node_input(n, i));
	touch(g, n);
	for (int i = 0; i < n->nouts; i++)
		n->out[i]->def = NULL;
	unlink_node(g, n);
	g->nnodes--;
}

void graph_move(struct graph *g, struct node *n, struct node *before)
{
	if (n == before || n->next == before)
		return;
	unlink_node(g, n);
	link_before(g, n, before);
}

void graph_set_arg(struct graph *g, struct node *n, int i, struct arg a)
{
	struct use_edit e = { g, n };

	if (node_input(n, i))
		touch_def(g, node_input(n, i));
	each_value(&n->arg[i], drop_use, &e);
	n->arg[i] = copy_arg(g, &a);
	each_value(&n->arg[i], add_use, &e);
	if (node_input(n, i))
		touch_def(g, node_input(n, i));
	touch(g, n);
}

void graph_set_group(struct graph *g, struct node *n, int group)
{
	if (n->group == group)
		return;
	touch(g, n);
	n->group = group;
	touch(g, n);
}

static bool swap_value(struct arg *a, struct value *old, struct value *by)
{
	bool found = false;

	if (a->kind == ARG_VALUE && a->value == old) {
		a->value = by;
		return true;
	}
	if (a->kind == ARG_LIST)
		for (int i = 0; i < a->list.n; i++)
			found |= swap_value(&a->list.at[i], old, by);
	return found;
}

void graph_replace_in(struct graph *g, struct node *n, struct value *old, struct value *by)
{
	struct use_edit e = { g, n };
	bool found = false;

	node_each_input(n, drop_use, &e);
	for (int i = 0; i < n->nargs; i++)
		found |= swap_value(&n->arg[i], old, by);
	node_each_input(n, add_use, &e);
	if (found) {
		touch(g, n);
		touch_def(g, old);
		touch_def(g, by);
	}
}

static void swap_group_arg(struct graph *g, const struct value *old, struct value *by)
{
	struct group *k = old->def && old->def->group >= 0 ? &g->group[old->def->group] : NULL;

	for (int i = 0; k && i < k->nargs; i++)
		if (k->arg[i] == old)
			k->arg[i] = by;
}

void graph_replace(struct graph *g, struct value *old, struct value *by)
{
	if (old == by)
		return;
	swap_group_arg(g, old, by);
	for (int left = old->nuses; left > 0 && old->nuses; left--)
		graph_replace_in(g, old->use[old->nuses - 1].node, old, by);
	for (int i = 0; i < g->noutputs; i++)
		if (g->output[i].kind == ARG_VALUE && g->output[i].value == old) {
			g->output[i].value = by;
			old->noutputs--;
			by->noutputs++;
			touch_def(g, old);
			touch_def(g, by);
		}
}

static bool unread(const struct node *n)
{
	for (int i = 0; i < n->nouts; i++)
		if (n->out[i]->nuses || n->out[i]->noutputs)
			return false;
	return true;
}

int graph_sweep(struct graph *g)
{
	int removed = 0;

	for (struct node *n = g->last, *prev; n; n = prev) {	/* users come after: one pass backwards is enough */
		prev = n->prev;
		if (n->nouts && op_is_pure(n->op) && unread(n)) {
			graph_remove(g, n);
			removed++;
		}
	}
	return removed;
}

void graph_number(const struct graph *g)
{
	int i = 0;

	for (struct node *n = g->first; n; n = n->next)
		n->order = i++;
}

static struct arg clone_arg(struct graph *g, const struct arg *from)
{
	struct arg a = copy_arg(g, from);

	if (a.kind == ARG_VALUE)
		a.value = g->value[a.value->id];
	else if (a.kind == ARG_LIST)
		for (int i = 0; i < a.list.n; i++)
			a.list.at[i] = clone_arg(g, &from->list.at[i]);
	return a;
}

static void clone_node(struct graph *g, const struct node *from)
{
	struct node *n = arena_alloc(&g->mem, sizeof *n);

	*n = *from;
	n->arg = arena_array(&g->mem, (size_t)n->nargs, sizeof *n->arg);
	for (int i = 0; i < n->nargs; i++)
		n->arg[i] = clone_arg(g, &from->arg[i]);
	n->out = arena_array(&g->mem, room(n->nouts), sizeof *n->out);
	for (int i = 0; i < n->nouts; i++) {
		n->out[i] = g->value[from->out[i]->id];
		n->out[i]->def = n;
	}
	node_each_input(n, add_use, &(struct use_edit){ g, n });
	link_before(g, n, NULL);
}

struct graph *graph_clone(const struct graph *from)
{
	struct graph *g = mem_alloc(sizeof *g);

	*g = *from;
	g->mem = (struct arena){ 0 };
	g->first = g->last = NULL;
	g->method = arena_string(&g->mem, from->method);
	g->rigid_why = arena_string(&g->mem, from->rigid_why);
	g->capvalues = from->nvalues;
	g->value = arena_array(&g->mem, (size_t)g->nvalues, sizeof *g->value);
	for (int i = 0; i < g->nvalues; i++) {
		struct value *v = g->value[i] = arena_copy(&g->mem, from->value[i], sizeof *v);

		v->name = arena_string(&g->mem, v->name);
		v->folded = arena_string(&g->mem, v->folded);
		v->use = NULL;
		v->nuses = v->capuses = 0;
		v->def = NULL;
	}
	g->input = arena_array(&g->mem, room(g->ninputs), sizeof *g->input);
	g->input_literal = arena_array(&g->mem, room(g->ninputs), sizeof *g->input_literal);
	for (int i = 0; i < g->ninputs; i++) {
		g->input[i] = g->value[from->input[i]->id];
		g->input_literal[i] = clone_arg(g, &from->input_literal[i]);
	}
	g->output = arena_array(&g->mem, room(g->noutputs), sizeof *g->output);
	for (int i = 0; i < g->noutputs; i++)
		g->output[i] = clone_arg(g, &from->output[i]);
	g->capgroups = from->ngroups;
	g->group = arena_copy(&g->mem, from->group, (size_t)g->ngroups * sizeof *g->group);
	for (int i = 0; i < g->ngroups; i++) {
		struct group *k = &g->group[i];

		k->why = arena_string(&g->mem, k->why);
		k->arg = arena_copy(&g->mem, k->arg, (size_t)k->nargs * sizeof *k->arg);
		for (int a = 0; a < k->nargs; a++)
			k->arg[a] = k->arg[a] ? g->value[k->arg[a]->id] : NULL;
	}
	for (const struct node *n = from->first; n; n = n->next)
		clone_node(g, n);
	return g;
}

struct value *node_input(const struct node *n, int i)
{
	return i >= 0 && i < n->nargs && n->arg[i].kind == ARG_VALUE ? n->arg[i].value : NULL;
}

int64_t node_int(const struct node *n, int i, int64_t otherwise)
{
	if (i < 0 || i >= n->nargs)
		return otherwise;
	return n->arg[i].kind == ARG_INT ? n->arg[i].i : n->arg[i].kind == ARG_BOOL ? n->arg[i].b : otherwise;
}

double node_double(const struct node *n, int i, double otherwise)
{
	return i >= 0 && i < n->nargs && n->arg[i].kind == ARG_DOUBLE ? n->arg[i].d :
	       i >= 0 && i < n->nargs && (n->arg[i].kind == ARG_INT || n->arg[i].kind == ARG_BOOL) ?
	       (double)node_int(n, i, 0) : otherwise;
}

bool node_ints(const struct node *n, int i, int64_t *at, int max, int *count)
{
	const struct arg *a = i >= 0 && i < n->nargs ? &n->arg[i] : NULL;

	*count = 0;
	if (!a || a->kind != ARG_LIST || a->list.n > max)
		return false;
	for (int k = 0; k < a->list.n; k++) {
		if (a->list.at[k].kind != ARG_INT)
			return false;
		at[k] = a->list.at[k].i;
	}
	*count = a->list.n;
	return true;
}

bool value_is_static(const struct value *v)
{
	return !v->dynamic;
}

bool value_is_default_order(const struct value *v)
{
	for (int d = 0; d < v->rank; d++)
		if (v->dim_order[d] != d)
			return false;
	return true;
}

bool value_same_shape(const struct value *a, const struct value *b)
{
	return a->rank == b->rank && !memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size);
}
