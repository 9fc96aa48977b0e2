#include "core/pass/recompose.h"

#include "core/op/op.h"
#include "core/xnn/check.h"

#include <string.h>

/* How many nodes are looked at for one question, and how many answers are remembered meanwhile: what both sides of a sum
 * lead to is looked at once. */
enum { MAX_STEPS = 2000, REMEMBERED = 64 };

static void form_add(struct form *f, struct node *n)
{
	f->node[f->nnodes++] = n;
}

static struct node *maker(const struct value *v, const char *op)
{
	return v && v->kind == VALUE_NODE && op_is(v->def->op, op) ? v->def : NULL;
}

/* A dimension's size as known: a number, or dimension `dim` of a value that it is equal to for all runs. */
struct extent { const struct value *v; int dim; int64_t number; };	/* v NULL: number */

/* One question. */
struct asking { int steps; struct { const struct value *v; int dim; struct extent is; } known[REMEMBERED]; };

static struct extent extent_in(const struct value *v, int dim, struct asking *q);

static struct extent extent_in_arg(const struct arg *a, struct asking *q)
{
	const struct node *sym = a->kind == ARG_VALUE ? maker(a->value, "aten.sym_size.int") : NULL;

	if (a->kind == ARG_INT && a->i >= 0)
		return (struct extent){ NULL, 0, a->i };
	if (!sym || !node_input(sym, 0))
		return (struct extent){ a->kind == ARG_VALUE ? a->value : NULL, -1, -1 };
	return extent_in(node_input(sym, 0), (int)node_int(sym, 1, 0), q);
}

static bool extents_equal(struct extent a, struct extent b)
{
	return a.v == b.v && a.dim == b.dim && (a.v || (a.number == b.number && a.number >= 0));
}

/* Whether an operand of an elementwise node leaves this dimension as the first operand has it. */
static bool leaves_dim(const struct value *v, int rank, int dim, struct extent first, struct asking *q)
{
	int d = v ? dim - (rank - v->rank) : -1;

	return d < 0 || v->size[d] == 1 || extents_equal(extent_in(v, d, q), first);
}

/* Operators of one tensor whose first result has its sizes. */
static bool keeps_sizes(const struct op *op)
{
	static const char *const names[] = { "aten._softmax.default", "aten.alias_copy.default", "aten.native_layer_norm.default",
		"dim_order_ops._clone_dim_order.default", "dim_order_ops._to_dim_order_copy.default", NULL };

	for (int i = 0; names[i]; i++)
		if (op_is(op, names[i]))
			return true;
	return false;
}

/* slice_copy of all but as many as are wanted: from the first on, to a size that is never beyond what is there. */
static struct extent extent_of_slice(const struct node *n, int dim, struct extent unknown, struct asking *q)
{
	const struct value *in = node_input(n, 0);
	int64_t at = node_int(n, 1, 0);
	struct extent to;

	if ((at < 0 ? at + in->rank : at) != dim)
		return extent_in(in, dim, q);
	to = n->arg[3].kind == ARG_VALUE ? extent_in_arg(&n->arg[3], q) : unknown;
	return !in->dynamic && !node_int(n, 2, 0) && node_int(n, 4, 1) == 1 && to.v && to.dim >= 0 &&
		to.v->size[to.dim] <= in->size[dim] ? to : unknown;
}

/* Of lookups: as many as there are indices. */
static struct extent extent_of_lookup(const struct value *table, const struct value *index, int dim, struct asking *q)
{
	return dim < index->rank ? extent_in(index, dim, q) : extent_in(table, table->rank - 1, q);
}

/* Through what keeps the size: elementwise operators, linears, permutes, views, lookups. A bound of 1 is the number 1: what is
 * said of runs without elements does not matter. */
static struct extent find_extent(const struct value *v, int dim, struct asking *q)
{
	const struct node *n = v->kind == VALUE_NODE && q->steps++ < MAX_STEPS ? v->def : NULL;
	const struct value *in = n ? node_input(n, 0) : NULL;
	struct extent e = { NULL, 0, v->size[dim] };
	int64_t from[MAX_RANK];
	int count;

	if (!v->dynamic || v->size[dim] == 1)
		return e;
	if (in && v == n->out[0] && keeps_sizes(n->op) && in->rank == v->rank)
		return extent_in(in, dim, q);
	if (in && op_is(n->op, "aten.permute_copy.default") && node_ints(n, 1, from, MAX_RANK, &count) &&
	    count == v->rank && from[dim] >= -count && from[dim] < count)
		return extent_in(in, (int)(from[dim] < 0 ? from[dim] + count : from[dim]), q);
	if (in && n->op->flags & OP_ELEMENTWISE && in->rank == v->rank && !node_input(n, 2)) {
		e = extent_in(in, dim, q);
		if (leaves_dim(node_input(n, 1), v->rank, dim, e, q))
			return e;
	}
	if (in && op_is(n->op, "aten.linear.default"))
		return dim == v->rank - 1 ? e : extent_in(in, dim, q);
	if (in && op_is(n->op, "aten.slice_copy.Tensor"))
		return extent_of_slice(n, dim, (struct extent){ v, dim, -1 }, q);
	if (in && op_is(n->op, "aten.embedding.default") && node_input(n, 1))
		return extent_of_lookup(in, node_input(n, 1), dim, q);
	if (in && op_is(n->op, "aten.gather.default") && node_input(n, 2))
		return extent_of_lookup(in, node_input(n, 2), dim, q);
	if (n && (op_is(n->op, "aten.view_copy.default") || op_is(n->op, "aten.expand_copy.default")) && n->arg[1].kind == ARG_LIST && dim < n->arg[1].list.n) {
		e = extent_in_arg(&n->arg[1].list.at[dim], q);
		if (e.v ? e.dim >= 0 : e.number >= 0)
			return e;
	}
	return (struct extent){ v, dim, -1 };
}

static struct extent extent_in(const struct value *v, int dim, struct asking *q)
{
	int at = (v->id + dim) % REMEMBERED;
	struct extent e;

	if (q->known[at].v == v && q->known[at].dim == dim)
		return q->known[at].is;
	e = find_extent(v, dim, q);
	q->known[at].v = v;
	q->known[at].dim = dim;
	q->known[at].is = e;
	return e;
}

static struct extent extent_of(const struct value *v, int dim)
{
	return extent_in(v, dim, &(struct asking){ .steps = 0 });
}

static struct extent extent_of_arg(const struct arg *a)
{
	return extent_in_arg(a, &(struct asking){ .steps = 0 });
}

/* Whether the view gives out rows of `columns` for each row of x: all sizes of x but the last are kept. */
static bool view_restores(const struct node *view, const struct value *x, int64_t columns)
{
	const struct arg *list = &view->arg[1];

	if (list->kind != ARG_LIST || list->list.n != x->rank || list->list.at[x->rank - 1].kind != ARG_INT ||
	    list->list.at[x->rank - 1].i != columns)
		return false;
	if (!x->dynamic)
		return !view->out[0]->dynamic && view->out[0]->rank == x->rank &&
		       !memcmp(view->out[0]->size, x->size, (size_t)(x->rank - 1) * sizeof *x->size);
	for (int d = 0; d < x->rank - 1; d++)
		if (!extents_equal(extent_of_arg(&list->list.at[d]), extent_of(x, d)))
			return false;
	return true;
}

/* Whether view(x, [rows, columns]) leaves the rows of x as they are, whatever the sizes: as many rows as all dimensions
 * of x but the last give, of which one at most is not 1. */
static bool view_keeps_rows(const struct node *view, const struct value *x)
{
	const struct arg *list = &view->arg[1];
	struct extent rows = { NULL, 0, 1 };

	if (list->kind != ARG_LIST || list->list.n != 2)
		return false;
	for (int d = 0; d < x->rank - 1; d++) {
		struct extent e = extent_of(x, d);

		if (!e.v && e.number == 1)
			continue;
		if (rows.v || rows.number != 1)
			return false;
		rows = e;
	}
	return extents_equal(rows, extent_of_arg(&list->list.at[0]));
}

/* Whether what the view gives has rows of `columns`, too. */
static bool view_keeps_columns(const struct node *view, int64_t columns)
{
	const struct arg *list = &view->arg[1], *last = list->kind == ARG_LIST && list->list.n > 1 ? &list->list.at[list->list.n - 1] : NULL;

	return last && last->kind == ARG_INT && last->i == columns;
}

/* What a view_copy reads that leaves the last `kept` dimensions as they are; NULL when v is none, or sizes vary. */
static struct value *before_view(const struct value *v, int kept)
{
	struct node *view = maker(v, "aten.view_copy.default");
	struct value *in = view ? node_input(view, 0) : NULL;

	if (!in || in->dynamic || v->dynamic || in->rank < kept || v->rank < kept)
		return NULL;
	for (int d = 1; d <= kept; d++)
		if (in->size[in->rank - d] != v->size[v->rank - d])
			return NULL;
	return in;
}

/* x is view(X, [rows, in]) and all that reads the product is a view. With sizes kept on the way back, the numbers of
 * elements on both sides prove that rows of x are rows of X, and both views go; else the first may be known to keep
 * rows: it goes, and the other one has the same bytes to view. Else the first may give the sizes of the second at once. */
static void strip_views(struct form *f, struct node *mm, int64_t out)
{
	struct node *view = maker(f->arg[0].value, "aten.view_copy.default");
	struct node *back = (struct node *)only_user(mm->out[0]);
	struct value *x = view ? node_input(view, 0) : NULL;
	bool restores;

	form_add(f, mm);
	if (!x || !back || !op_is(back->op, "aten.view_copy.default") || x->rank < 2)
		return;
	restores = view_restores(back, x, out);
	if (!restores && !(x->dynamic ? view_keeps_rows(view, x) : quant_def(x, QUANT_DEQUANTIZE) && before_view(view->out[0], 1))) {
		if (x->dynamic && view_keeps_columns(back, out) && only_user(view->out[0])) {
			f->turned = view;
			form_add(f, back);
		}
		return;
	}
	f->arg[0] = arg_value(x);
	f->node[f->nnodes - 1] = view;
	form_add(f, mm);
	if (restores)
		form_add(f, back);
	f->viewed = !restores;
}

static bool is_swap(const struct node *permute)
{
	int64_t dims[2];
	int n;

	return node_ints(permute, 1, dims, 2, &n) && n == 2 && (dims[0] == 1 || dims[0] == -1) &&
	       (dims[1] == 0 || dims[1] == -2);
}

/* The operand of a commutative node beside `one`. */
static struct value *other_operand(const struct node *n, const struct value *one)
{
	return node_input(n, 0) == one ? node_input(n, 1) : node_input(n, 1) == one ? node_input(n, 0) : NULL;
}

/* What an expand_copy reads; NULL when v is none, or sizes are not known. */
static struct value *expanded(struct value *v, struct form *f)
{
	struct node *n = maker(v, "aten.expand_copy.default");

	if (!n || !node_input(n, 0) || v->dynamic)
		return NULL;
	form_add(f, n);
	return node_input(n, 0);
}

/* The weight [n, k] that a batched product reads as [.., k, n]: its permute, repeated for every batch. */
static struct value *match_repeated(struct value *wide, struct form *f)
{
	struct value *in = before_view(wide, 2), *v;
	struct node *permute;

	if (in)
		form_add(f, wide->def);
	in = in ? in : wide;
	v = expanded(in, f);
	permute = maker(v, "aten.permute_copy.default");
	if (!permute || v->rank != 2 || !is_swap(permute) || !node_input(permute, 0) ||
	    v->size[0] != in->size[in->rank - 2] || v->size[1] != in->size[in->rank - 1])
		return NULL;
	form_add(f, permute);
	return node_input(permute, 0);
}

/* The expand of an activation to the sizes that it has is none. */
static struct value *before_same_expand(struct value *x, struct form *f)
{
	struct node *n = maker(x, "aten.expand_copy.default");
	struct value *in = n ? node_input(n, 0) : NULL;

	if (!in || x->dynamic || !value_same_shape(in, x))
		return x;
	form_add(f, n);
	return in;
}

/* More than one dimension of batches went into one by a view, and the view behind the product brings them back. */
static struct node *match_batches(const struct node *bmm, struct value **x, struct form *f)
{
	struct value *in = before_view(*x, 2);
	struct node *back = (struct node *)only_user(bmm->out[0]);

	if (!in || !back || !op_is(back->op, "aten.view_copy.default") ||
	    !view_restores(back, in, bmm->out[0]->size[2]))
		return NULL;
	form_add(f, (*x)->def);
	*x = in;
	return back;
}

/* A linear on a transposed activation: bmm(expand(x), expand(permute(w))) [+ bias]. The expand of x changes nothing;
 * that of the weight repeats it for every batch. */
static bool match_bmm(struct node *bmm, struct form *f)
{
	struct value *x = node_input(bmm, 0), *wide = node_input(bmm, 1), *weight, *out = bmm->out[0];
	const struct node *add;
	struct node *back;

	*f = (struct form){ .op = "aten.linear.default", .nargs = 3, .anchor = bmm };
	weight = wide ? match_repeated(wide, f) : NULL;
	if (!x || !weight)
		return false;
	back = match_batches(bmm, &x, f);
	f->arg[0] = arg_value(before_same_expand(x, f));
	f->arg[1] = arg_value(weight);
	f->arg[2] = arg_none();
	form_add(f, bmm);
	if (back) {
		form_add(f, back);
		out = back->out[0];
	}
	add = only_user(out);
	if (add && op_is(add->op, "aten.add.Tensor") && node_double(add, 2, 1) == 1) {
		struct value *bias = other_operand(add, out);

		if (bias && bias->kind == VALUE_CONSTANT && bias->rank == 1 && bias->size[0] == bmm->out[0]->size[2] &&
		    value_same_shape(add->out[0], out)) {
			f->arg[2] = arg_value(bias);
			form_add(f, (struct node *)add);
		}
	}
	return true;
}

static bool match_linear(struct node *mm, struct form *f)
{
	const struct value *weight = node_input(mm, op_weight_arg(mm->op)), *bias = node_input(mm, op_bias_arg(mm->op));
	struct node *permute = maker(weight, "aten.permute_copy.default");
	int64_t out = mm->out[0]->size[1];

	if (op_is(mm->op, "aten.bmm.default"))
		return match_bmm(mm, f);
	if (op_is(mm->op, "aten.addmm.default")) {
		if (node_double(mm, 3, 1) != 1 || node_double(mm, 4, 1) != 1 || !bias || bias->rank != 1 ||
		    bias->size[0] != out)
			return false;
	} else if (!op_is(mm->op, "aten.mm.default")) {
		return false;
	}
	if (!permute || !is_swap(permute) || !node_input(permute, 0) || node_input(permute, 0)->rank != 2)
		return false;
	*f = (struct form){ .op = "aten.linear.default", .nargs = 3, .anchor = mm };
	f->arg[0] = arg_value(node_input(mm, op_activation_arg(mm->op)));
	f->arg[1] = arg_value(node_input(permute, 0));
	f->arg[2] = arg_value((struct value *)bias);
	if (!f->arg[0].value)
		return false;
	form_add(f, permute);
	strip_views(f, mm, out);
	return true;
}

static bool weight_is_stored(const struct value *w)
{
	struct weight_quant q;

	return w->kind == VALUE_CONSTANT || (weight_quant_of(w, &q) && q.data->kind == VALUE_CONSTANT);
}

/* A constant number, perhaps converted to float first; the conversion joins the form. */
static bool is_number(struct value *v, double number, struct form *f)
{
	struct node *cast = maker(v, "dim_order_ops._to_dim_order_copy.default");
	const struct value *c = cast ? node_input(cast, 0) : v;

	if (!c || c->kind != VALUE_CONSTANT || !c->data || dtype_numel(c->rank, c->size) != 1 ||
	    dtype_get(c->dtype, c->data, 0) != number)
		return false;
	if (cast)
		form_add(f, cast);
	return true;
}

static bool match_clamps(struct value *v, struct form *f, struct value **in)
{
	float min, max;
	struct node *n;

	for (int i = 0; i < 2; i++, v = node_input(n, 0)) {
		n = maker(v, "aten.clamp.default");
		if (!n || !only_user(v) || !activation_bounds(n, &min, &max) || (i == 0 ? max != 6 : min != 0))
			return false;
		form_add(f, n);
		if (i == 0 && min == 0)		/* both bounds at once */
			break;
	}
	*in = node_input(n, 0);
	return *in && only_user(*in);
}

/* f16 is computed in f32: the cast before and the one behind belong to the form. */
static void match_casts(const struct node *last, struct value *x, struct form *f)
{
	struct node *to = maker(x, "dim_order_ops._to_dim_order_copy.default");
	const struct node *from = only_user(last->out[0]);
	struct value *half = to ? node_input(to, 0) : NULL;

	if (!half || half->dtype != DTYPE_F16 || x->dtype != DTYPE_F32 || !from || from->op != to->op ||
	    from->out[0]->dtype != half->dtype || memcmp(half->dim_order, from->out[0]->dim_order, sizeof half->dim_order))
		return;
	f->arg[0] = arg_value(half);
	form_add(f, to);
	form_add(f, (struct node *)from);
}

static bool match_hardswish(struct node *div, struct form *f)
{
	struct node *mul = maker(node_input(div, 0), "aten.mul.Tensor"), *add;

	for (int i = 0; mul && i < 2; i++) {
		struct value *x = node_input(mul, i), *sum;

		*f = (struct form){ .op = "aten.hardswish.default", .nargs = 1, .anchor = div };
		if (!x || !only_user(mul->out[0]) || !is_number(node_input(div, 1), 6, f) ||
		    !match_clamps(node_input(mul, 1 - i), f, &sum))
			continue;
		add = maker(sum, "aten.add.Tensor");
		if (!add || node_double(add, 2, 1) != 1 || !other_operand(add, x) ||
		    !is_number(other_operand(add, x), 3, f) || !value_same_shape(x, div->out[0]) ||
		    x->dtype != div->out[0]->dtype)
			continue;
		f->arg[0] = arg_value(x);
		form_add(f, add);
		form_add(f, mul);
		form_add(f, div);
		match_casts(div, x, f);
		return true;
	}
	return false;
}

/* The slope: one number, or one for each index of dimension 1. */
static bool match_slope(struct value *w, const struct value *x, struct form *f)
{
	struct node *view = maker(w, "aten.view_copy.default");
	int64_t n = dtype_numel(w->rank, w->size);

	if (w->rank > 1 && (w->rank != x->rank || n != w->size[1]))
		return false;
	if (w->rank == 1 && n != 1)
		return false;		/* along the last dimension: no slope of channels */
	if (view && only_user(w) && node_input(view, 0) && node_input(view, 0)->kind == VALUE_CONSTANT &&
	    node_input(view, 0)->rank == 1) {
		form_add(f, view);
		f->arg[1] = arg_value(node_input(view, 0));
		return true;
	}
	if (w->kind != VALUE_CONSTANT || (w->rank > 1 && w->home != HOME_PROGRAM))
		return false;		/* a .ptd fixes the shape it is read with */
	f->arg[1] = arg_value(w);
	f->slope = w->rank > 1 ? w : NULL;
	return true;
}

static bool match_prelu(struct node *where, struct form *f)
{
	struct node *gt = maker(node_input(where, 0), "aten.gt.Scalar");
	struct node *mul = maker(node_input(where, 2), "aten.mul.Tensor");
	struct value *x = node_input(where, 1), *w = mul && x ? other_operand(mul, x) : NULL;

	*f = (struct form){ .op = "aten.prelu.default", .nargs = 2, .anchor = where };
	if (!gt || !w || node_input(gt, 0) != x || node_double(gt, 1, 1) != 0 || !only_user(gt->out[0]) ||
	    !only_user(mul->out[0]) || x->rank < 2 || !value_same_shape(x, where->out[0]) || !match_slope(w, x, f))
		return false;
	f->arg[0] = arg_value(x);
	form_add(f, gt);
	form_add(f, mul);
	form_add(f, where);
	return true;
}

bool recompose_match(const struct graph *g, struct node *n, struct form *f)
{
	if (n->op->flags & OP_GEMM)
		return match_linear(n, f) && weight_is_stored(f->arg[1].value);
	if (op_is(n->op, "aten.div.Tensor"))
		return match_hardswish(n, f);
	return op_is(n->op, "aten.where.self") && match_prelu(n, f);
}

static bool holds(const struct form *f, const struct node *n)
{
	for (int i = 0; i < f->nnodes; i++)
		if (f->node[i] == n)
			return true;
	return false;
}

/* Symbolic sizes and casts that only the form reads. */
static bool only_serves(const struct form *f, const struct node *n)
{
	for (int i = 0; i < n->nouts; i++) {
		if (n->out[i]->noutputs || !n->out[i]->nuses)
			return false;
		for (int k = 0; k < n->out[i]->nuses; k++)
			if (!holds(f, n->out[i]->use[k].node))
				return false;
	}
	return n->nouts > 0;
}

/* Operators that the forms consist of: nothing else is walked through. */
static bool may_be_part(const struct op *op)
{
	static const char *const names[] = {
		"aten.permute_copy.default", "aten.view_copy.default", "aten.mm.default", "aten.addmm.default", "aten.add.Tensor",
		"aten.clamp.default", "aten.mul.Tensor", "aten.div.Tensor", "aten.gt.Scalar", "aten.where.self", "aten.bmm.default",
		"aten.expand_copy.default",
		"dim_order_ops._to_dim_order_copy.default", "aten.sym_size.int", NULL,
	};

	if (op->flags & OP_QUANTIZE || !strncmp(op->name, "executorch_prim.", 16))
		return true;
	for (int i = 0; names[i]; i++)
		if (op_is(op, names[i]))
			return true;
	return false;
}

static bool part_from(const struct graph *g, const struct node *n, struct node *at, int depth, int *budget, struct form *f)
{
	if (--*budget < 0 || !may_be_part(at->op))
		return false;
	if (at->group == n->group && recompose_match(g, at, f) && (holds(f, n) || only_serves(f, n)))
		return true;
	for (int i = 0; depth && i < at->nouts; i++)
		for (int k = 0; k < at->out[i]->nuses && k < 4; k++)
			if (part_from(g, n, at->out[i]->use[k].node, depth - 1, budget, f))
				return true;
	return false;
}

/* What comes behind the anchor: a view, a bias, a cast back. */
static bool part_behind(const struct graph *g, const struct node *n, struct form *f)
{
	const struct node *at = n;

	for (int hops = 0; hops < 2; hops++) {
		const struct value *v = node_input(at, 0);

		at = v && v->kind == VALUE_NODE && may_be_part(at->op) ? v->def : NULL;
		if (!at)
			return false;
		if (at->group == n->group && recompose_match(g, (struct node *)at, f) && holds(f, n))
			return true;
	}
	return false;
}

bool recompose_part(const struct graph *g, const struct node *n, struct form *f)
{
	int budget = MAX_STEPS;

	if (!part_from(g, n, (struct node *)n, 6, &budget, f) && !part_behind(g, n, f))
		return false;
	for (int i = 0; i < f->nnodes; i++)
		if (f->node[i]->group != n->group)
			return false;
	return true;
}

/* And the symbolic sizes it alone read. */
static bool remove_unread(struct graph *g, struct node *n)
{
	struct value *in[16];
	int count = 0;

	for (int i = 0; i < n->nouts; i++)
		if (n->out[i]->nuses || n->out[i]->noutputs)
			return false;
	for (int i = 0; i < n->nargs && count < 16; i++) {
		if (node_input(n, i))
			in[count++] = node_input(n, i);
		for (int k = 0; n->arg[i].kind == ARG_LIST && k < n->arg[i].list.n && count < 16; k++)
			if (n->arg[i].list.at[k].kind == ARG_VALUE)
				in[count++] = n->arg[i].list.at[k].value;
	}
	graph_remove(g, n);
	for (int i = 0; i < count; i++)
		if (in[i]->scalar && in[i]->kind == VALUE_NODE && in[i]->def && op_is_pure(in[i]->def->op))
			remove_unread(g, in[i]->def);
	return true;
}

static struct value *slope_of(struct graph *g, const struct value *w)
{
	struct value *v = graph_value(g, VALUE_CONSTANT, w->dtype, 1, &w->size[1]);

	v->data = w->data;
	v->name = w->name;
	v->home = w->home;
	v->folded = w->folded;
	return v;
}

/* view(X, [rows, in]) where view(product, [..., out]) is read: view(X, [..., in]). */
static bool turn_view(struct graph *g, struct form *f, struct node *back, struct error *err)
{
	int n = back->arg[1].list.n;
	struct arg item[MAX_RANK], list = { .kind = ARG_LIST, .list = { item, n } };
	int64_t size[MAX_RANK];
	struct value *v;

	memcpy(item, back->arg[1].list.at, (size_t)n * sizeof *item);
	memcpy(size, back->out[0]->size, (size_t)n * sizeof *size);
	size[n - 1] = f->arg[0].value->size[1];
	item[n - 1] = arg_int(size[n - 1]);
	v = op_build(g, back, f->turned->op->name, (struct arg[]){ f->turned->arg[0], arg_ints(g, size, n) }, 2, err);
	if (!v)
		return false;
	graph_set_arg(g, v->def, 1, list);
	v->dynamic = true;
	v->def->origin = f->turned->origin;
	f->arg[0] = arg_value(v);
	form_add(f, f->turned);
	return true;
}

static bool compose(struct graph *g, struct form *f, struct error *err)
{
	struct node *last = f->node[f->nnodes - 1];
	struct value *out, *old = last->out[0];

	if (f->turned && !turn_view(g, f, last, err))
		return false;
	if (f->slope)
		f->arg[1] = arg_value(slope_of(g, f->slope));
	out = op_build(g, last, f->op, f->arg, f->nargs, err);
	if (!out)
		return false;
	if ((!f->viewed && !value_same_shape(out, old)) || out->dtype != old->dtype) {
		graph_remove(g, out->def);
		return error_set(err, ERROR_UNSUPPORTED, "%s has another type than what it replaces", f->op);
	}
	out->dynamic = old->dynamic;
	if (!f->viewed)
		memcpy(out->dim_order, old->dim_order, sizeof out->dim_order);
	out->def->origin = f->anchor->origin;
	out->def->origin.kind = ORIGIN_PASS;
	out->def->origin.serial = ++g->serial;
	graph_replace(g, old, out);
	for (int left = f->nnodes; left > 0; left--)	/* users go before what they read */
		for (int i = 0; i < f->nnodes; i++)
			if (f->node[i] && remove_unread(g, f->node[i]))
				f->node[i] = NULL;
	return true;
}

bool recompose_linear(struct graph *g, struct node *mm, struct error *err)
{
	struct form f;

	if (!match_linear(mm, &f))
		return error_set(err, ERROR_REFUSED, "%s is not a linear taken apart", mm->op->name);
	return compose(g, &f, err);
}

int recompose_apply(struct graph *g, struct error *err)
{
	struct arena mem = { 0 };
	int made = 0;

	for (struct node *n = g->first, *next; n && made >= 0; n = next) {
		struct form f;

		next = n->next;
		if (!recompose_match(g, n, &f) || form_verdict(g, &f, &mem).kind != VERDICT_TAKES)
			continue;
		while (next && holds(&f, next))
			next = next->next;
		made = compose(g, &f, err) ? made + 1 : -1;
	}
	arena_free(&mem);
	return made;
}
