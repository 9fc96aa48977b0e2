#include "core/pass/linear.h"

#include "core/op/op.h"
#include "core/pass/folding.h"
#include "core/pass/recompose.h"

#include <string.h>

/* What a dimension of a value on the way back to the weight is to the product x[.., k] * w[k, n]. */
enum label { LABEL_UNIT, LABEL_BATCH, LABEL_K, LABEL_N };

/* A walk from the weight operand to the first producer that does more than layout. Two dimensions are followed
 * by name; all others must be repetition: they come from an expand, or have one element. */
struct walk {
	struct value *at;
	enum label label[MAX_RANK];
	struct value *weight;		/* on the way, [n, k]: nothing but ones came and went since */
	bool dequantize;		/* a dequantise was passed: the weight is what it gives */
};

static bool is_transposed(const struct walk *w)
{
	const struct value *v = w->at;

	if (v->rank != 2)
		return false;
	return (w->label[0] == LABEL_N || v->size[0] == 1) && (w->label[1] == LABEL_K || v->size[1] == 1) &&
		w->label[0] != LABEL_K && w->label[1] != LABEL_N;
}

static bool walk_permute(struct walk *w, const struct node *n)
{
	enum label from[MAX_RANK];
	int64_t dims[MAX_RANK];
	int count;

	if (!node_ints(n, 1, dims, MAX_RANK, &count) || count != w->at->rank)
		return false;
	for (int d = 0; d < count; d++)
		from[dims[d] < 0 ? dims[d] + count : dims[d]] = w->label[d];
	memcpy(w->label, from, sizeof from);
	w->weight = NULL;
	return true;
}

/* A view keeps the two names if their dimensions go through it whole: the same sizes at the end, in front of them
 * repetition only; or the same sizes altogether but for ones. */
static bool walk_view(struct walk *w, const struct value *in)
{
	enum label from[MAX_RANK] = { LABEL_UNIT };
	const struct value *v = w->at;
	int i = in->rank - 1, o = v->rank - 1;

	if (in->dynamic || v->dynamic)
		return false;
	for (; i >= 0 && o >= 0; ) {
		if (w->label[o] == LABEL_BATCH)
			break;
		if (in->size[i] == v->size[o])
			from[i--] = w->label[o--];
		else if (v->size[o] == 1)
			o--;
		else if (in->size[i] == 1)
			i--;
		else
			return false;
	}
	for (int d = o; d >= 0; d--)
		if (w->label[d] != LABEL_BATCH && v->size[d] != 1)
			return false;
	for (; i >= 0; i--)
		from[i] = in->size[i] == 1 ? LABEL_UNIT : LABEL_BATCH;
	memcpy(w->label, from, sizeof from);
	return true;
}

static bool walk_expand(struct walk *w, const struct value *in)
{
	enum label from[MAX_RANK] = { LABEL_UNIT };
	const struct value *v = w->at;
	int more = v->rank - in->rank;

	if (more < 0 || in->dynamic || v->dynamic)
		return false;
	for (int d = 0; d < v->rank; d++) {
		bool repeats = d < more || in->size[d - more] != v->size[d];

		if (repeats && v->size[d] != 1 && w->label[d] != LABEL_BATCH)
			return false;
		if (d >= more)
			from[d - more] = repeats ? LABEL_UNIT : w->label[d];
	}
	memcpy(w->label, from, sizeof from);
	return true;
}

static bool walk_step(struct walk *w)
{
	const struct node *n = w->at->def;
	struct value *in = n ? node_input(n, 0) : NULL;
	bool dequantize = n && n->op->flags & OP_QUANTIZE && in && in->dtype != w->at->dtype &&
		dtype_is_float(w->at->dtype);

	if (!in || n->nouts != 1)
		return false;
	if (dequantize) {
		w->dequantize = true;
	} else if (op_is(n->op, "aten.permute_copy.default") ? !walk_permute(w, n) :
		   op_is(n->op, "aten.expand_copy.default") ? !walk_expand(w, in) :
		   n->op->flags & OP_VIEW ? !walk_view(w, in) : true) {
		return false;
	}
	w->at = in;
	if (!w->dequantize && is_transposed(w))
		w->weight = in;
	return true;
}

static struct walk walk_from(struct value *weight)
{
	struct walk w = { .at = weight };

	w.label[weight->rank - 2] = LABEL_K;
	w.label[weight->rank - 1] = LABEL_N;
	for (int d = 0; d < weight->rank - 2; d++)
		w.label[d] = LABEL_BATCH;
	while (walk_step(&w))
		;
	return w;
}

/* ---- verdicts ---- */

struct look { struct folding *f; int method; struct arena *mem; struct linear *row; };

static bool stay(struct linear *row, const char *code, const char *text)
{
	row->code = code;
	row->text = text;
	return false;
}

static bool has_transpose_upstream(struct folding *f, int method, const struct value *v)
{
	int n;
	struct node **node = trace_nodes(f, method, v, &n);

	for (int i = 0; i < n; i++)
		if (op_is(node[i]->op, "aten.permute_copy.default"))
			return true;
	return false;
}

static bool fine_bias(const struct node *n, struct linear *row)
{
	const struct value *bias = node_input(n, op_bias_arg(n->op));

	if (!op_is(n->op, "aten.addmm.default"))
		return true;
	if (node_double(n, 3, 1) != 1 || node_double(n, 4, 1) != 1)
		return stay(row, "scaled", "alpha or beta is not 1");
	return (bias && bias->rank == 1 && bias->size[0] == n->out[0]->size[1]) ||
		stay(row, "bias_shape", "the bias is not one number for each output");
}

/* A quantised weight needs a quantised activation: otherwise the dequantise would be lost on XNNPACK. */
static bool is_dequantized(const struct value *v)
{
	while (v && v->def && v->def->op->flags & OP_VIEW)
		v = node_input(v->def, 0);
	return v && v->def && v->def->op->flags & OP_QUANTIZE;
}

static bool decide(struct folding *f, int method, const struct node *n, struct linear *row)
{
	struct value *weight = node_input(n, op_weight_arg(n->op)), *x = node_input(n, op_activation_arg(n->op));
	struct walk w;

	if (f->training)
		return stay(row, "training", "the program trains: an optimizer writes its parameters");
	if (f->trace[method].g->rigid)
		return stay(row, "control_flow", "the method holds what cannot be rewritten");
	if (!weight || !x || weight->rank < 2)
		return stay(row, "not_a_transpose", "the second operand is no matrix");
	if (trace_why(f, method, weight) >= WHY_NOT_CONSTANT)
		return stay(row, "weight_not_static", "the second operand is known only when the program runs");
	if (!fine_bias(n, row))
		return false;
	w = walk_from(weight);
	if (w.weight)
		return !w.dequantize || is_dequantized(x) ||
			stay(row, "weight_only_quant", "the weight is quantised, the activation is not");
	if (w.at->kind == VALUE_CONSTANT && w.at->rank > 1 && w.label[w.at->rank - 1] == LABEL_N)
		return stay(row, "transpose_folded",
			"the constant holds the transposed weight already: it is lowered as it is");
	if (w.at->def && has_transpose_upstream(f, method, w.at))
		return stay(row, "transpose_upstream",
			"the transpose lies upstream of the operator that computes the weight");
	return stay(row, "not_a_transpose", "no transpose lies between the weight and the product");
}

/* A product inside a delegate is XNNPACK's already; a bmm is worth more as a linear if its weight is stored. */
static bool is_candidate(const struct graph *g, const struct node *n)
{
	bool bmm = op_is(n->op, "aten.bmm.default");
	struct value *weight = node_input(n, op_weight_arg(n->op));

	if (!bmm && !op_is(n->op, "aten.mm.default") && !op_is(n->op, "aten.addmm.default"))
		return false;
	if (n->group < 0)
		return true;
	return bmm && !g->group[n->group].foreign && weight && weight->rank > 1 &&
		walk_from(weight).at->kind == VALUE_CONSTANT;
}

static const char *short_name(const struct op *op)
{
	return op_is(op, "aten.bmm.default") ? "bmm" : op_is(op, "aten.mm.default") ? "mm" : "addmm";
}

/* The 1-D constant, as long as a row, that the product's only reader adds to it, perhaps through a view: what it is
 * added to has rows of the same length then, so rows stayed whole. */
static struct node *bias_after(const struct node *n, struct value **bias, struct node **view)
{
	const struct value *v = n->out[0];
	struct node *next;
	int64_t columns = v->size[v->rank - 1];

	*view = NULL;
	for (int hops = 0; hops < 2; hops++) {
		if (v->nuses != 1 || v->noutputs)
			return NULL;
		next = v->use[0].node;
		if (op_is(next->op, "aten.add.Tensor"))
			break;
		if (hops || !op_is(next->op, "aten.view_copy.default") || v->dynamic || next->out[0]->dynamic)
			return NULL;
		*view = next;
		v = next->out[0];
	}
	if (!op_is(next->op, "aten.add.Tensor") || node_double(next, 2, 1) != 1 || next->group != n->group ||
	    (*view && (*view)->group != n->group))
		return NULL;
	*bias = node_input(next, 0) == v ? node_input(next, 1) : node_input(next, 0);
	if (!*bias || (*bias)->kind != VALUE_CONSTANT || (*bias)->rank != 1 || (*bias)->size[0] != columns ||
	    (*bias)->dtype != v->dtype || !value_same_shape(next->out[0], v))
		return NULL;
	return next;
}

static void describe(const struct node *n, struct linear *row)
{
	struct value *bias = NULL;
	struct node *view;

	row->weight = walk_from(node_input(n, op_weight_arg(n->op))).weight;
	if (op_is(n->op, "aten.addmm.default"))
		bias = node_input(n, op_bias_arg(n->op));
	else if (op_is(n->op, "aten.bmm.default"))
		row->add = bias_after(n, &bias, &view);
	row->bias = row->add || op_is(n->op, "aten.addmm.default") ? bias : NULL;
}

bool linear_plan(struct linear_plan *p, struct graph *const *g, int ngraphs, struct error *err)
{
	struct folding f;
	vec(struct linear) rows = { 0 };

	(void)err;
	memset(p, 0, sizeof *p);
	folding_open_traces(&f, g, ngraphs);
	for (int m = 0; m < ngraphs; m++)
		for (struct node *n = g[m]->first; n; n = n->next)
			if (is_candidate(g[m], n)) {
				struct linear row = { .method = m, .at = n, .op = short_name(n->op) };

				row.converts = row.marked = decide(&f, m, n, &row);
				if (row.converts)
					describe(n, &row);
				vec_push(&p->mem, &rows, row);
			}
	folding_close(&f);
	p->linear = rows.at;
	p->nlinears = rows.n;
	return true;
}

void linear_plan_free(struct linear_plan *p)
{
	arena_free(&p->mem);
	memset(p, 0, sizeof *p);
}

/* ---- apply ---- */

/* What a batched product reads may have gone through an expand to the sizes that it has. */
static struct value *without_copies(struct value *v)
{
	while (v->def && node_input(v->def, 0) && !v->dynamic && !node_input(v->def, 0)->dynamic &&
	       (op_is(v->def->op, "aten.expand_copy.default") || op_is(v->def->op, "aten.view_copy.default")) &&
	       value_same_shape(v, node_input(v->def, 0)) && v->dtype == node_input(v->def, 0)->dtype)
		v = node_input(v->def, 0);
	return v;
}

static bool convert_bmm(struct graph *g, struct node *n, struct value *weight, struct error *err)
{
	struct value *x = without_copies(node_input(n, op_activation_arg(n->op))), *bias = NULL, *out;
	struct node *view, *add = bias_after(n, &bias, &view);

	out = op_build(g, n, "aten.linear.default",
		       (struct arg[]){ arg_value(x), arg_value(weight), arg_value(add ? bias : NULL) }, 3, err);
	if (!out)
		return false;
	out->def->origin = n->origin;
	out->def->origin.kind = ORIGIN_PASS;
	out->def->origin.serial = ++g->serial;
	graph_set_group(g, out->def, n->group);
	out->dynamic = n->out[0]->dynamic;
	graph_replace(g, n->out[0], out);
	if (add)
		graph_replace(g, add->out[0], view ? view->out[0] : out);
	return true;
}

static bool convert(struct graph *g, struct node *n, struct error *err)
{
	struct walk w = walk_from(node_input(n, op_weight_arg(n->op)));
	struct value *weight = w.weight, *permuted = node_input(n, op_weight_arg(n->op));
	struct form f;

	if (op_is(n->op, "aten.bmm.default"))	/* more dimensions of batches than one come back with the form */
		return recompose_match(g, n, &f) && f.arg[0].value->rank > n->out[0]->rank ?
			recompose_linear(g, n, err) : convert_bmm(g, n, weight, err);
	if (!permuted->def || !op_is(permuted->def->op, "aten.permute_copy.default") ||
	    node_input(permuted->def, 0) != weight) {
		struct value *t = op_build(g, n, "aten.permute_copy.default",
			(struct arg[]){ arg_value(weight), arg_ints(g, (const int64_t[]){ 1, 0 }, 2) }, 2, err);

		if (!t)
			return false;
		graph_replace_in(g, n, permuted, t);
	}
	return recompose_linear(g, n, err);
}

static struct node **nodes_by_order(const struct graph *g, struct arena *a)
{
	struct node **at = arena_array(a, (size_t)g->nnodes + 1, sizeof *at), **next = at;

	for (struct node *n = g->first; n; n = n->next)
		*next++ = n;
	return at;
}

static bool convert_all(const struct linear_plan *p, struct graph *g, int method, int *made, struct error *err)
{
	struct arena mem = { 0 };
	struct node **at = nodes_by_order(g, &mem);
	int nodes = g->nnodes, before = *made;
	bool ok = true;

	for (int i = 0; i < p->nlinears && ok; i++) {
		const struct linear *l = &p->linear[i];

		if (l->method != method || !l->converts || !l->marked)
			continue;
		ok = l->at->order < nodes && at[l->at->order]->op == l->at->op ? convert(g, at[l->at->order], err) :
			error_set(err, ERROR_REFUSED, "the conversion was planned on another version of the program");
		++*made;
	}
	if (ok && *made > before)
		graph_sweep(g);
	arena_free(&mem);
	return ok;
}

int linear_apply(const struct linear_plan *p, struct graph **g, int ngraphs, struct error *err)
{
	int made = 0;

	for (int m = 0; m < ngraphs; m++)
		if (!convert_all(p, g[m], m, &made, err))
			return -1;
	return made;
}
