#include "core/pass/transposes.h"

#include "core/op/op.h"
#include "core/pass/transposes_rules.h"

#include <string.h>

/* Each node that can is read as "permute(base, perm)": permutes by themselves, others by computing on the bases of
 * their inputs. Nodes that hang together so are a region. In a region, only values that something else reads have to
 * be permuted after all; where those are fewer than the permutes that stand there now, the region is built anew. */

struct form {
	struct node *node;	/* v is its only output */
	struct value *base;	/* NULL: what the node itself will compute, once built */
	int base_form;		/* base is another form's, not built yet; else -1 */
	struct perm perm;
	bool permute;		/* the node is a permute_copy */
	bool must;		/* somebody outside reads v */
	bool leaves;		/* v leaves its group */
	int region;		/* union-find parent: index of a form */
	struct value *built;	/* what computes the base */
};

struct count { int before, after; bool blocked; };

struct mover {
	struct graph *g;
	int group;		/* or -2 */
	struct arena mem;
	vec(struct form) form;	/* node->mark: index + 1 */
	struct count *count;	/* by region */
	vec(struct value *) claimed;	/* bases that an output of their group stands for */
};

static bool looks_at(const struct mover *m, const struct node *n)
{
	return m->group == -2 || n->group == m->group;
}

/* The form of a value, if its producer has one and is of the same group as the reader. */
static struct form *form_of(const struct mover *m, const struct value *v, const struct node *reader)
{
	return v->def && v->def->group == reader->group && looks_at(m, v->def) && v->def->mark > 0 ?
		&m->form.at[v->def->mark - 1] : NULL;
}

static int region_of(const struct mover *m, int i)
{
	while (m->form.at[i].region != i)
		i = m->form.at[i].region = m->form.at[m->form.at[i].region].region;
	return i;
}

static void join(struct mover *m, const struct form *a, const struct form *b)
{
	int x = region_of(m, (int)(a - m->form.at)), y = region_of(m, (int)(b - m->form.at));

	m->form.at[x < y ? y : x].region = x < y ? x : y;
}

/* ---- reading ---- */

static void add_form(struct mover *m, struct node *n, struct form f)
{
	f.node = n;
	f.region = m->form.n;
	vec_push(&m->mem, &m->form, f);
	n->mark = m->form.n;
}

static void read_permute(struct mover *m, struct node *n, const struct perm *p)
{
	struct value *x = node_input(n, 0);
	struct form *from = form_of(m, x, n), f = { .base = x, .base_form = -1, .perm = *p, .permute = true };
	int at = from ? (int)(from - m->form.at) : -1;

	if (from) {
		f.base = from->base;
		f.base_form = from->base ? -1 : from->base_form;
		for (int d = 0; d < p->rank; d++)
			f.perm.at[d] = from->perm.at[p->at[d]];
	}
	add_form(m, n, f);
	if (at >= 0)
		join(m, &m->form.at[m->form.n - 1], &m->form.at[at]);
}

/* Inputs of a node that might move: all tensors must be permuted alike, or such that it does not show. */
struct inputs { struct mover *m; const struct node *node; struct perm perm; bool found, ok; };

static bool one_element(const struct value *v)
{
	return !v->dynamic && dtype_numel(v->rank, v->size) == 1;
}

static void look_for_perm(struct value *v, void *ctx)
{
	struct inputs *in = ctx;
	const struct form *f = form_of(in->m, v, in->node);

	if (!f || perm_is_identity(&f->perm) || one_element(v))
		return;
	in->perm = f->perm;
	in->found = true;
}

/* A constant can be seen in any order of its dimensions. */
static bool can_be_seen(const struct value *v, const struct perm *p)
{
	return v->kind == VALUE_CONSTANT && v->rank <= p->rank && v->dtype != DTYPE_INT4;
}

static void check_input(struct value *v, void *ctx)
{
	struct inputs *in = ctx;
	const struct form *f = form_of(in->m, v, in->node);

	if (f && perm_equal(&f->perm, &in->perm))
		return;
	in->ok = in->ok && (v->scalar || can_be_seen(v, &in->perm) || (one_element(v) && v->rank <= in->perm.rank));
}

static void join_input(struct value *v, void *ctx)
{
	struct inputs *in = ctx;
	struct form *f = form_of(in->m, v, in->node);

	if (f)
		join(in->m, f, &in->m->form.at[in->m->form.n - 1]);
}

static void read_other(struct mover *m, struct node *n)
{
	struct inputs in = { m, n, { 0 }, false, true };
	struct form f = { .base_form = m->form.n };
	struct arg *arg = arena_copy(&m->mem, n->arg, (size_t)n->nargs * sizeof *arg);

	node_each_input(n, look_for_perm, &in);
	if (!in.found)
		return;
	node_each_input(n, check_input, &in);
	if (!in.ok || !perm_moves_through(n, &in.perm, arg, &f.perm, &m->mem))
		return;
	add_form(m, n, f);
	node_each_input(n, join_input, &in);
}

static void read_node(struct mover *m, struct node *n)
{
	struct perm p;

	if (n->nouts == 1 && perm_of_node(n, &p))
		read_permute(m, n, &p);
	else
		read_other(m, n);
}

/* ---- what it would cost ---- */

static bool leaves(const struct graph *g, const struct node *n)
{
	const struct value *v = n->out[0];

	if (v->noutputs)
		return true;
	for (int i = 0; i < v->nuses; i++)
		if (v->use[i].node->group != n->group)
			return true;
	for (int i = 0; n->group >= 0 && i < g->group[n->group].nargs; i++)
		if (g->group[n->group].arg[i] == v)
			return true;
	return false;
}

static bool must_exist(const struct mover *m, const struct form *f)
{
	const struct value *v = f->node->out[0];

	for (int i = 0; i < v->nuses; i++) {
		const struct node *reader = v->use[i].node;

		if (reader->group != f->node->group || (!reader->mark && !perm_does_not_matter(reader, v, &f->perm)))
			return true;
	}
	return f->leaves;
}

/* An output of a delegate must stay a value of its own, made there: the base may not be one already. */
static bool blocks(struct mover *m, const struct form *f)
{
	struct value *root = f->base ? f->base : m->form.at[f->base_form].node->out[0];
	const struct node *def = root->def;

	if (!f->leaves || f->node->group < 0 || !perm_is_identity(&f->perm))
		return false;
	if (f->base && (!def || def->group != f->node->group || def->nouts != 1 || leaves(m->g, def)))
		return true;
	for (int i = 0; i < m->claimed.n; i++)
		if (m->claimed.at[i] == root)
			return true;
	vec_push(&m->mem, &m->claimed, root);
	return false;
}

static void count_form(struct mover *m, struct form *f)
{
	struct count *c = &m->count[region_of(m, (int)(f - m->form.at))];

	f->leaves = leaves(m->g, f->node);
	f->must = must_exist(m, f);
	c->before += f->permute;
	c->after += f->must && !perm_is_identity(&f->perm);
	c->blocked |= blocks(m, f);
}

static bool is_built(const struct mover *m, const struct form *f)
{
	const struct count *c = &m->count[region_of(m, (int)(f - m->form.at))];

	return c->after < c->before && !c->blocked;
}

/* ---- building ---- */

static struct value *base_of(const struct mover *m, const struct form *f)
{
	return f->base ? f->base : m->form.at[f->base_form].built;
}

/* A constant of the permuted shape, read without its permutation: other sizes, another dim order, the same bytes. */
static struct value *seen_without(struct mover *m, struct value *c, const struct perm *p)
{
	int64_t size[MAX_RANK];
	int missing = p->rank - c->rank;
	struct value *v;

	for (int d = 0; d < p->rank; d++)
		size[p->at[d]] = d < missing ? 1 : c->size[d - missing];
	v = graph_value(m->g, VALUE_CONSTANT, c->dtype, p->rank, size);
	for (int d = 0; d < p->rank; d++)
		v->dim_order[d] = p->at[d < missing ? d : missing + c->dim_order[d - missing]];
	v->name = c->name;
	v->data = c->data;
	v->home = c->home;
	v->folded = c->folded;
	return v;
}

static struct arg without_perm(struct mover *m, const struct node *n, const struct arg *a, const struct perm *p)
{
	struct arg list = *a;

	if (a->kind == ARG_LIST) {
		list.list.at = arena_array(&m->mem, (size_t)a->list.n, sizeof *a);
		for (int i = 0; i < a->list.n; i++)
			list.list.at[i] = without_perm(m, n, &a->list.at[i], p);
		return list;
	}
	if (a->kind != ARG_VALUE || a->value->scalar)
		return *a;
	if (form_of(m, a->value, n) && perm_equal(&form_of(m, a->value, n)->perm, p))
		return arg_value(base_of(m, form_of(m, a->value, n)));
	return one_element(a->value) || a->value->kind != VALUE_CONSTANT ? *a : arg_value(seen_without(m, a->value, p));
}

static bool has_type_of(const struct value *made, const struct value *v, const struct perm *p)
{
	if (made->rank != v->rank || made->dtype != v->dtype || !value_is_default_order(made) ||
	    !value_is_default_order(v))
		return false;
	for (int d = 0; d < v->rank; d++)
		if (made->size[p->at[d]] != v->size[d] && !v->dynamic)
			return false;
	return true;
}

/* What node f computes, on the bases of its inputs. */
static bool build(struct mover *m, struct form *f)
{
	struct node *n = f->node, *made;
	struct inputs in = { m, n, { 0 }, false, true };
	struct arg *arg = arena_copy(&m->mem, n->arg, (size_t)n->nargs * sizeof *arg);
	struct perm out;

	node_each_input(n, look_for_perm, &in);
	perm_moves_through(n, &in.perm, arg, &out, &m->mem);
	for (int i = 0; i < n->nargs; i++)
		arg[i] = without_perm(m, n, &arg[i], &in.perm);
	made = graph_node(m->g, n, n->op, arg, n->nargs);
	made->group = n->group;
	made->origin = n->origin;
	if (!op_infer(m->g, made, NULL) || !has_type_of(made->out[0], n->out[0], &f->perm)) {
		graph_remove(m->g, made);
		return false;
	}
	f->built = made->out[0];
	for (int d = 0; d < f->perm.rank; d++)
		f->built->size[f->perm.at[d]] = n->out[0]->size[d];
	f->built->dynamic = n->out[0]->dynamic;
	f->built->bytes = n->out[0]->bytes;
	return true;
}

static void unbuild(struct mover *m, int region, int last)
{
	for (int i = last; i >= region; i--)
		if (m->form.at[i].built && region_of(m, i) == region) {
			graph_remove(m->g, m->form.at[i].built->def);
			m->form.at[i].built = NULL;
		}
}

/* A region in which one node cannot be built stays as it is. */
static void build_regions(struct mover *m)
{
	for (int i = 0; i < m->form.n; i++) {
		struct form *f = &m->form.at[i];

		if (f->permute || !is_built(m, f) || build(m, f))
			continue;
		m->count[region_of(m, i)].blocked = true;
		unbuild(m, region_of(m, i), i);
	}
}

/* The permuted value, for readers outside the region. */
static struct value *permuted(struct mover *m, const struct form *f)
{
	struct value *base = base_of(m, f), *v = f->node->out[0], *made;
	int64_t dims[MAX_RANK];

	if (perm_is_identity(&f->perm))
		return base;
	for (int d = 0; d < f->perm.rank; d++)
		dims[d] = f->perm.at[d];
	made = op_build(m->g, f->node, "aten.permute_copy.default", (struct arg[]){ arg_value(base),
			arg_ints(m->g, dims, f->perm.rank) }, 2, NULL);
	if (!made)
		return NULL;
	made->def->group = f->node->group;
	made->def->origin = f->node->origin;
	if (!f->permute) {
		made->def->origin.kind = ORIGIN_PASS;
		made->def->origin.serial = ++m->g->serial;
	}
	memcpy(made->size, v->size, sizeof made->size);
	made->dynamic = v->dynamic;
	made->bytes = v->bytes;
	return made;
}

static void replace_careless(struct mover *m, const struct form *f)
{
	struct value *v = f->node->out[0];

	for (int i = v->nuses - 1; i >= 0; i = i < v->nuses ? i - 1 : v->nuses - 1) {
		struct node *reader = v->use[i].node;

		if (reader->group == f->node->group && !reader->mark && perm_does_not_matter(reader, v, &f->perm))
			graph_replace_in(m->g, reader, v, base_of(m, f));
	}
}

static void replace(struct mover *m, struct form *f)
{
	struct value *v = f->node->out[0], *by;

	replace_careless(m, f);
	if (!f->must || !(by = permuted(m, f)))
		return;
	if (by->file_value < 0 && by->kind == VALUE_NODE)
		by->file_value = v->file_value;
	graph_replace(m->g, v, by);
}

static int finish(struct mover *m)
{
	int before = m->g->nnodes, gone = 0;

	for (int i = 0; i < m->form.n; i++)
		gone -= m->form.at[i].built != NULL;
	for (int i = 0; i < m->form.n; i++)
		if (is_built(m, &m->form.at[i]))
			replace(m, &m->form.at[i]);
	for (int i = m->form.n - 1; i >= 0; i--)
		if (is_built(m, &m->form.at[i]) && !m->form.at[i].node->out[0]->nuses)
			graph_remove(m->g, m->form.at[i].node);
	return before + gone - m->g->nnodes;
}

int transposes_apply_behind(struct graph *g, int group, struct node *behind, struct error *err)
{
	struct mover m = { .g = g, .group = group };
	struct node *first = behind ? behind->next : g->first;
	int gone;

	for (struct node *n = first; n; n = n->next)
		n->mark = 0;
	for (struct node *n = first; n; n = n->next)
		if (looks_at(&m, n))
			read_node(&m, n);
	m.count = arena_array(&m.mem, (size_t)m.form.n, sizeof *m.count);
	for (int i = 0; i < m.form.n; i++)
		count_form(&m, &m.form.at[i]);
	build_regions(&m);
	gone = finish(&m);
	arena_free(&m.mem);
	return gone;
}

int transposes_apply(struct graph *g, int group, struct error *err)
{
	return transposes_apply_behind(g, group, NULL, err);
}
