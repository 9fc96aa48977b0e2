/* Operators that move elements, and softmax. */
#include "core/xnn/check.h"
#include "core/xnn/lowering.h"

#include <string.h>

static void accept_plain(struct rule_run *r, const struct node *n)
{
	check_tensors(r);
}

static void accept_cat(struct rule_run *r, const struct node *n)
{
	const struct arg *list = n->nargs && n->arg[0].kind == ARG_LIST ? &n->arg[0] : NULL;
	int distinct = 0;

	check_tensors(r);
	for (int i = 0; list && i < list->list.n; i++) {
		int k = 0;

		while (k < i && list->list.at[k].value != list->list.at[i].value)
			k++;
		distinct += k == i;
	}
	rule_check(r, distinct >= 2, "two or more different inputs", "argument",
		   "needs at least 2 different tensors, has %d", distinct);
}

static void accept_dim_order(struct rule_run *r, const struct node *n)
{
	const struct value *in = node_input(n, 0), *out = n->nouts ? n->out[0] : NULL;

	if (cast_source(out, n->group) && part_of_gemm(n, r->graph, r->mem)) {
		rule_check(r, true, "a convolution takes it along", "dtype", " ");
		return;
	}
	check_tensors(r);
	rule_check(r, in && out && in->dtype == out->dtype, "dtype stays", "dtype",
		   "dtype conversion from %s to %s is not supported", in ? dtype_name(in->dtype) : "?",
		   out ? dtype_name(out->dtype) : "?");
}

static void accept_clone(struct rule_run *r, const struct node *n)
{
	const struct value *in = node_input(n, 0), *out = n->nouts ? n->out[0] : NULL;

	accept_dim_order(r, n);
	rule_check(r, in && out && in->rank == out->rank && !memcmp(in->dim_order, out->dim_order, (size_t)in->rank),
		   "dim order stays", "memory_format", "the copy changes the dim order");
}

static void accept_pad(struct rule_run *r, const struct node *n)
{
	int64_t pad[2 * MAX_RANK];
	int count;
	bool literal = node_ints(n, 1, pad, 2 * MAX_RANK, &count), negative = false;

	check_tensors(r);
	if (!rule_check(r, literal, "padding is literal", "argument", "padding is known only at run time"))
		return;
	for (int i = 0; i < count; i++)
		negative |= pad[i] < 0;
	rule_check(r, !negative, "padding is not negative", "argument", "negative padding (a crop) is not supported");
}

static void check_slice_quant(struct rule_run *r, const struct node *n)
{
	const struct node *dq = quant_def(node_input(n, 0), QUANT_DEQUANTIZE), *q = quantized_output(n);
	struct quant_op a, b;

	if (!dq || !q || !quant_find(dq->op, &a) || !quant_find(q->op, &b))
		return;
	rule_check(r, a.scheme == b.scheme && node_double(dq, a.scale, 0) == node_double(q, b.scale, 0) &&
		   node_int(dq, a.zero_point, 0) == node_int(q, b.zero_point, 0),
		   "quantisation before and after is the same", "quant_params",
		   "quantisation before and after the slice differs");
}

static void accept_slice(struct rule_run *r, const struct node *n)
{
	int64_t step = node_int(n, 4, 1);
	const struct value *out = n->nouts ? n->out[0] : NULL;

	check_tensors(r);
	rule_check(r, step == 1, "step is 1", "argument", "step is %lld, must be 1", (long long)step);
	check_slice_quant(r, n);
	if (check_static_shape(r, node_input(n, 0), "a slice needs static sizes"))
		rule_check(r, out && out->bytes, "the slice is not empty", "shape", "the slice is empty");
	for (int i = 1; i < 4 && i < n->nargs; i++)
		rule_check(r, n->arg[i].kind != ARG_VALUE, "bounds are literal", "dynamic_shape",
			   "a bound is known only at run time");
}

static void accept_unsqueeze(struct rule_run *r, const struct node *n)
{
	const struct value *in = node_input(n, 0);
	int64_t dim = node_int(n, 1, 0);
	int at;

	check_tensors(r);
	rule_check(r, in && (dim == -1 || dim == in->rank), "the new dimension is the last", "argument",
		   "unsqueeze at %lld is not supported, only a new last dimension", (long long)dim);
	rule_check(r, in && reshape_holds(in, 0, &at), "the shape holds for all sizes", "dynamic_shape",
		   "sizes are dynamic in more than one dimension: the reshape would not hold");
}

static void accept_view(struct rule_run *r, const struct node *n)
{
	int64_t size[MAX_RANK];
	int count, inferred = 0;
	bool literal = node_ints(n, 1, size, MAX_RANK, &count);

	check_tensors(r);
	if (!rule_check(r, literal, "the new sizes are literal", "dynamic_shape",
			"invalid dtype: a new size is known only at run time"))
		return;
	for (int i = 0; i < count; i++)
		inferred += size[i] == -1;
	rule_check(r, inferred <= 1, "at most one size is inferred", "argument", "%d sizes are to be inferred",
		   inferred);
}

static void accept_softmax(struct rule_run *r, const struct node *n)
{
	const struct value *in = node_input(n, 0);
	int64_t dim = node_int(n, 1, -1);

	check_tensors(r);
	rule_check(r, in && (dim == -1 || dim == in->rank - 1), "dim is the last", "argument",
		   "dim is %lld, must be the last (%d)", (long long)dim, in ? in->rank - 1 : -1);
	rule_check(r, n->nouts && in && n->out[0]->dtype == in->dtype, "dtype stays", "dtype",
		   "softmax changes the dtype");
}

enum { F = PRECISION_FLOAT, FS = F | PRECISION_STATIC };

const struct xrule rules_shape[] = {
	{ "aten.cat.default", "Concatenate2 to 5", FS, "two or more different inputs", accept_cat, lower_cat, 0,
	  XRULE_SAME_QUANT },
	{ "aten.clone.default", "none", F, "dtype stays; dim order stays", accept_clone, lower_same, 0,
	  XRULE_SAME_QUANT },
	{ "dim_order_ops._clone_dim_order.default", "none", F, "dtype stays; dim order stays", accept_clone, lower_same, 0,
	  XRULE_SAME_QUANT },
	{ "dim_order_ops._to_dim_order_copy.default", "StaticTranspose, or none", FS, "dtype stays",
	  accept_dim_order, lower_same, 0, XRULE_SAME_QUANT },
	{ "aten.constant_pad_nd.default", "StaticConstantPad", F, "padding is literal; padding is not negative",
	  accept_pad, lower_pad, 0, 0 },
	{ "aten.permute_copy.default", "StaticTranspose", FS, "", accept_plain, lower_permute, 0, XRULE_SAME_QUANT },
	{ "aten.slice_copy.Tensor", "StaticSlice", FS,
	  "step is 1; sizes are static; the slice is not empty; bounds are literal; "
	  "static: quantisation before and after is the same", accept_slice, lower_slice, 0, XRULE_SAME_QUANT },
	{ "aten._softmax.default", "Softmax", F, "dim is the last; dtype stays", accept_softmax, lower_softmax, 0, 0 },
	{ "aten.unsqueeze_copy.default", "StaticReshape", FS,
	  "the new dimension is the last; the shape holds for all sizes", accept_unsqueeze, lower_view, 0,
	  XRULE_SAME_QUANT },
	{ "aten.view_copy.default", "StaticReshape", FS,
	  "the new sizes are literal; at most one size is inferred", accept_view, lower_view, 0, XRULE_SAME_QUANT },
	{ 0 },
};
