/* Partition: who goes into which delegate, and what it must never do. */
#include "core/graph/units.h"
#include "core/pass/partition.h"
#include "core/pass/recompose.h"
#include "core/xnn/rule.h"
#include "tests/lab.h"
#include "tests/tap.h"

#include <time.h>

#define F DTYPE_F32
#define LAB struct lab *lab = lab_new()
#define INPUT(...) V(lab_input(lab, F, SIZES(__VA_ARGS__)))
#define CONST(...) V(lab_constant(lab, F, -1, 1, SIZES(__VA_ARGS__)))
#define RELU(v) lab_node(lab, "aten.relu.default", V(v))
#define SUM(v) lab_node(lab, "aten.cumsum.default", V(v), I(0), NONE)	/* no rule for it */

/* Applies, and checks what must hold after any partition: it can be run in some order, and a second time changes nothing. */
static void apply(struct lab *lab)
{
	struct arena mem = { 0 };
	struct units units;
	struct error err = { 0 };
	struct str before = { 0 }, after = { 0 };

	if (!partition_apply(lab->g, &err) || !graph_check(lab->g, &err) || !graph_units(&units, lab->g, NULL, &mem, &err))
		fail_msg("%s", err.text);
	graph_print(lab->g, &before);
	assert_true(partition_apply(lab->g, &err));
	graph_print(lab->g, &after);
	assert_string_equal(before.text, after.text);
	str_free(&before);
	str_free(&after);
	arena_free(&mem);
}

static int delegates(const struct graph *g)
{
	bool *seen = mem_alloc((size_t)g->ngroups + 1);
	int n = 0;

	for (const struct node *k = g->first; k; k = k->next)
		if (k->group >= 0 && !seen[k->group]) {
			seen[k->group] = true;
			n++;
		}
	mem_free(seen);
	return n;
}

static int left_out(const struct graph *g)
{
	int n = 0;

	for (const struct node *k = g->first; k; k = k->next)
		n += k->group < 0;
	return n;
}

static int count(const struct graph *g, const char *op)
{
	int n = 0;

	for (const struct node *k = g->first; k; k = k->next)
		n += op_is(k->op, op);
	return n;
}

static void unrelated_nodes_share_the_latest_delegate(void **state)
{
	LAB;
	struct value *a = RELU(lab_input(lab, F, SIZES(3))), *b = lab_node(lab, "aten.tanh.default", V(SUM(a)));
	struct value *c = lab_node(lab, "aten.sigmoid.default", INPUT(3));

	lab_output(lab, b);
	lab_output(lab, c);
	apply(lab);
	assert_int_equal(delegates(lab->g), 2);
	assert_int_equal(b->def->group, c->def->group);
	assert_int_not_equal(a->def->group, b->def->group);
	assert_int_equal(left_out(lab->g), 1);
	lab_free(lab);
}

/* a -> portable -> b, and a -> b as well: one delegate of a and b would wait for itself. */
static void no_path_leaves_and_comes_back(void **state)
{
	LAB;
	struct value *a = RELU(lab_input(lab, F, SIZES(3))), *b = lab_node(lab, "aten.add.Tensor", V(a), V(SUM(a)), I(1));

	lab_output(lab, b);
	apply(lab);
	assert_int_not_equal(a->def->group, b->def->group);
	assert_int_equal(delegates(lab->g), 2);
	lab_free(lab);
}

static void alternating_chain_has_a_delegate_a_step(void **state)
{
	LAB;
	struct value *v = lab_input(lab, F, SIZES(3));

	for (int i = 0; i < 5; i++)
		v = SUM(RELU(v));
	lab_output(lab, v);
	apply(lab);
	assert_int_equal(delegates(lab->g), 5);
	lab_free(lab);
}

static struct value *cache(struct lab *lab)
{
	struct value *s = graph_value(lab->g, VALUE_STATE, F, SIZES(3));

	s->state_slot = 0;
	return s;
}

/* Reads before and after a write of the same state may not meet in one delegate. */
static void writes_of_state_part_what_reads_it(void **state)
{
	LAB;
	struct value *s = cache(lab), *before = RELU(s), *after;

	graph_node(lab->g, NULL, op_find("aten.copy_.default"), (struct arg[]){ V(s), INPUT(3), B(false) }, 3);
	after = RELU(s);
	lab_output(lab, before);
	lab_output(lab, after);
	apply(lab);
	assert_int_equal(delegates(lab->g), 2);
	assert_int_not_equal(before->def->group, after->def->group);
	lab_free(lab);
}

static void a_view_of_state_counts_as_the_state(void **state)
{
	LAB;
	struct value *s = cache(lab), *v = lab_node(lab, "aten.view_copy.default", V(s), INTS(1, 3)), *before, *after;

	v->def->group = -1;
	before = RELU(v);
	graph_node(lab->g, NULL, op_find("aten.copy_.default"), (struct arg[]){ V(s), INPUT(3), B(false) }, 3);
	after = RELU(s);
	lab_output(lab, before);
	lab_output(lab, after);
	apply(lab);
	assert_int_not_equal(before->def->group, after->def->group);
	lab_free(lab);
}

static void foreign_groups_stay(void **state)
{
	LAB;
	struct op foreign = { .name = "QnnBackend", .schema = ">", .args = "", .flags = OP_OPAQUE };
	struct value *a = RELU(lab_input(lab, F, SIZES(3))), *b, *c;
	int group = graph_add_group(lab->g, 0);
	struct node *n = graph_node(lab->g, NULL, &foreign, (struct arg[]){ V(a) }, 1);

	b = node_add_output(lab->g, n, F, SIZES(3));
	n->group = group;
	lab->g->group[group].foreign = true;
	c = RELU(b);
	lab_output(lab, c);
	apply(lab);
	assert_int_equal(n->group, group);
	assert_false(lab->g->group[group].changed);
	assert_int_equal(delegates(lab->g), 3);
	lab_free(lab);
}

static void filed_delegates_stay_where_nothing_is_gained(void **state)
{
	LAB;
	struct value *a = RELU(lab_input(lab, F, SIZES(3))), *b = RELU(SUM(a));
	int one = graph_add_group(lab->g, 0), two = graph_add_group(lab->g, 1);

	lab_output(lab, b);
	a->def->group = one;
	b->def->group = two;
	apply(lab);
	assert_int_equal(a->def->group, one);
	assert_int_equal(b->def->group, two);
	assert_false(lab->g->group[one].changed || lab->g->group[two].changed);
	lab_free(lab);
}

/* c might as well run in the later delegate, and the view beside it: that leaves out no call less. */
static void an_elided_view_between_filed_delegates_moves_nothing(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(3)), *a = RELU(x), *c = lab_node(lab, "aten.tanh.default", V(x));
	struct value *v = lab_node(lab, "aten.view_copy.default", V(c), INTS(1, 3)), *b = lab_node(lab, "aten.add.Tensor", V(RELU(v)), V(SUM(a)), I(1));
	int one = graph_add_group(lab->g, 0), two = graph_add_group(lab->g, 1);

	lab_output(lab, b);
	a->def->group = c->def->group = one;
	v->def->origin.kind = ORIGIN_VIEW;
	b->def->group = b->def->arg[0].value->def->group = two;
	apply(lab);
	assert_int_equal(c->def->group, one);
	assert_int_equal(v->def->group, -1);
	assert_false(lab->g->group[one].changed || lab->g->group[two].changed);
	lab_free(lab);
}

static void a_filed_delegate_that_gains_nothing_keeps_its_bytes(void **state)
{
	LAB;
	struct value *a = RELU(lab_input(lab, F, SIZES(3))), *b = RELU(SUM(a)), *c = lab_node(lab, "aten.tanh.default", V(b));
	int one = graph_add_group(lab->g, 0), two = graph_add_group(lab->g, 1);

	lab_output(lab, c);
	a->def->group = one;
	b->def->group = two;	/* c is new: two has to be made anew, one not */
	apply(lab);
	assert_int_equal(a->def->group, one);
	assert_false(lab->g->group[one].changed);
	assert_int_equal(b->def->group, c->def->group);
	assert_int_equal(lab->g->group[b->def->group].filed, -1);
	lab_free(lab);
}

static void filed_delegates_that_can_be_one_are_merged(void **state)
{
	LAB;
	struct value *a = RELU(lab_input(lab, F, SIZES(3))), *b = lab_node(lab, "aten.tanh.default", V(a));

	lab_output(lab, b);
	a->def->group = graph_add_group(lab->g, 0);
	b->def->group = graph_add_group(lab->g, 1);
	apply(lab);
	assert_int_equal(delegates(lab->g), 1);
	lab_free(lab);
}

/* A delegate holding a node that we would refuse is kept as it was filed. */
static void a_filed_delegate_with_a_refused_node_is_pinned(void **state)
{
	LAB;
	struct value *a = RELU(lab_input(lab, F, SIZES(3))), *b = lab_node(lab, "aten.elu.default", V(a), D(1), D(1), D(1));
	int one = graph_add_group(lab->g, 0);

	lab_output(lab, RELU(b));
	a->def->group = b->def->group = one;
	apply(lab);
	assert_int_equal(a->def->group, one);
	assert_int_equal(b->def->group, one);
	assert_false(lab->g->group[one].changed);
	assert_int_equal(delegates(lab->g), 2);
	lab_free(lab);
}

static struct value *conv(struct lab *lab, struct value *w)
{
	return lab_node(lab, "aten.convolution.default", INPUT(1, 2, 8, 8), V(w), NONE, INTS(1, 1), INTS(0, 0), INTS(1, 1), B(false), INTS(0, 0), I(1));
}

static void a_filter_that_others_read_is_not_stored_twice(void **state)
{
	LAB;
	struct value *w = lab_constant(lab, F, -1, 1, SIZES(3, 2, 3, 3)), *y = conv(lab, w);
	struct arena mem = { 0 };
	const char **why;

	lab_output(lab, y);
	lab_output(lab, SUM(w));
	apply(lab);
	assert_int_equal(y->def->group, -1);
	graph_number(lab->g);
	why = partition_left_out(&lab->g, 1, lab->g, &mem);
	assert_non_null(strstr(why[y->def->order], "would be stored twice"));
	arena_free(&mem);
	lab_free(lab);
}

static void a_filter_that_lies_right_is_shared(void **state)
{
	LAB;
	struct value *w = lab_constant(lab, F, -1, 1, SIZES(3, 2, 3, 3)), *y, *z, *v;

	lab_order(w, "0231");
	y = conv(lab, w);
	lab_output(lab, y);
	lab_output(lab, SUM(w));
	v = lab_constant(lab, F, -1, 1, SIZES(10, 4));	/* a tied embedding */
	z = lab_node(lab, "aten.linear.default", INPUT(2, 4), V(v), NONE);
	lab_output(lab, z);
	lab_output(lab, SUM(v));
	apply(lab);
	assert_true(y->def->group >= 0);
	assert_true(z->def->group >= 0);
	lab_free(lab);
}

static void a_filter_that_another_operator_packs_is_not_shared(void **state)
{
	LAB;
	struct value *w = lab_constant(lab, F, -1, 1, SIZES(3, 2, 3, 3)), *y = conv(lab, w), *flat = graph_value(lab->g, VALUE_CONSTANT, F, SIZES(3, 18));

	flat->data = w->data;
	flat->name = "flat";
	lab_output(lab, y);
	lab_output(lab, lab_node(lab, "aten.linear.default", INPUT(2, 18), V(flat), NONE));
	apply(lab);
	assert_int_equal(y->def->group, -1);
	lab_free(lab);
}

static void convolutions_of_one_filter_share_it(void **state)
{
	LAB;
	struct value *w = lab_constant(lab, F, -1, 1, SIZES(3, 2, 3, 3)), *y = conv(lab, w), *z = conv(lab, w);

	lab_output(lab, y);
	lab_output(lab, z);
	apply(lab);
	assert_true(y->def->group >= 0 && z->def->group >= 0);
	lab_free(lab);
}

static void other_methods_count(void **state)
{
	LAB;
	struct lab *other = lab_new();
	struct value *w = lab_constant(lab, F, -1, 1, SIZES(3, 2, 3, 3)), *y = conv(lab, w), *v;
	struct graph *g[2] = { lab->g, other->g };
	struct error err = { 0 };

	lab_output(lab, y);
	v = graph_value(other->g, VALUE_CONSTANT, F, SIZES(3, 2, 3, 3));
	v->data = w->data;
	v = node_add_output(other->g, graph_node(other->g, NULL, op_find("aten.cumsum.default"), (struct arg[]){ V(v), I(0), NONE }, 3), F, SIZES(3, 2, 3, 3));
	lab_output(other, v);
	assert_true(partition_apply_all(g, 2, &err));
	assert_int_equal(y->def->group, -1);
	lab_free(other);
	lab_free(lab);
}

static void data_that_is_not_at_hand_is_not_packed(void **state)
{
	LAB;
	struct value *w = lab_constant(lab, F, -1, 1, SIZES(3, 4)), *y = lab_node(lab, "aten.linear.default", INPUT(2, 4), V(w), NONE);

	w->data = NULL;
	lab_output(lab, y);
	apply(lab);
	assert_int_equal(y->def->group, -1);
	lab_free(lab);
}

static struct value *dq(struct lab *lab, struct value *v, double scale)
{
	return lab_node(lab, "quantized_decomposed.dequantize_per_tensor.default", V(v), D(scale), I(0), I(-128), I(127), I(DTYPE_I8), NONE);
}

static struct value *quant(struct lab *lab, struct value *v, double scale)
{
	return lab_node(lab, "quantized_decomposed.quantize_per_tensor.default", V(v), D(scale), I(0), I(-128), I(127), I(DTYPE_I8));
}

/* Both linears read the integers behind one dequantise node; they are in different delegates, so each has its own. */
static void dequantise_nodes_are_copied_into_each_delegate(void **state)
{
	LAB;
	struct value *x = lab_input(lab, DTYPE_I8, SIZES(3, 4)), *d = dq(lab, x, 0.1), *y, *z, *back;
	struct value *w = dq(lab, lab_constant(lab, DTYPE_I8, -128, 128, SIZES(4, 4)), 0.02), *shifted;

	y = quant(lab, lab_node(lab, "aten.linear.default", V(d), V(w), NONE), 0.5);
	back = dq(lab, y, 0.5);
	shifted = lab_node(lab, "aten.add.Tensor", V(SUM(back)), V(d), I(1));
	z = quant(lab, lab_node(lab, "aten.linear.default", V(dq(lab, quant(lab, shifted, 0.1), 0.1)), V(w), NONE), 0.5);
	lab_output(lab, z);
	apply(lab);
	assert_int_equal(delegates(lab->g), 2);
	assert_int_equal(left_out(lab->g), 1);
	assert_int_equal(count(lab->g, "quantized_decomposed.dequantize_per_tensor.default"), 6);	/* d and w twice */
	for (const struct node *n = lab->g->first; n; n = n->next)
		for (int i = 0; op_is(n->op, "aten.linear.default") && i < 2; i++)
			assert_int_equal(n->arg[i].value->def->group, n->group);
	lab_free(lab);
}

static void a_weight_that_is_also_read_as_floats_is_dequantised_outside_too(void **state)
{
	LAB;
	struct value *scale = lab_node(lab, "quantized_decomposed.choose_qparams.tensor", INPUT(2, 4), I(-128), I(127), D(1e-7), I(DTYPE_I8));
	struct value *x = lab->g->value[0], *zero = scale->def->out[1], *q, *w, *y;

	q = lab_node(lab, "quantized_decomposed.quantize_per_tensor.tensor", V(x), V(scale), V(zero), I(-128), I(127), I(DTYPE_I8));
	q = lab_node(lab, "quantized_decomposed.dequantize_per_tensor.tensor", V(q), V(scale), V(zero), I(-128), I(127), I(DTYPE_I8), NONE);
	w = lab_node(lab, "quantized_decomposed.dequantize_per_channel.default", V(lab_constant(lab, DTYPE_I8, -128, 128, SIZES(3, 4))),
		     V(lab_constant(lab, F, 0.01, 0.1, SIZES(3))), NONE, I(0), I(-128), I(127), I(DTYPE_I8), NONE);
	y = lab_node(lab, "aten.linear.default", V(q), V(w), NONE);
	lab_output(lab, y);
	lab_output(lab, SUM(w));
	lab_output(lab, SUM(scale));
	apply(lab);
	assert_true(y->def->group >= 0);
	assert_int_equal(y->def->arg[1].value->def->group, y->def->group);
	assert_int_equal(count(lab->g, "quantized_decomposed.dequantize_per_channel.default"), 2);
	assert_int_equal(left_out(lab->g), 4);	/* the sums, and for them the weight and the parameters */
	lab_free(lab);
}

static void a_dynamic_chain_is_copied_whole(void **state)
{
	LAB;
	struct value *x = RELU(lab_input(lab, F, SIZES(4, 4))), *scale = lab_node(lab, "quantized_decomposed.choose_qparams.tensor", V(x), I(-128), I(127), D(1e-7), I(DTYPE_I8));
	struct value *zero = scale->def->out[1], *q, *d, *w, *y, *z;

	q = lab_node(lab, "quantized_decomposed.quantize_per_tensor.tensor", V(x), V(scale), V(zero), I(-128), I(127), I(DTYPE_I8));
	d = lab_node(lab, "quantized_decomposed.dequantize_per_tensor.tensor", V(q), V(scale), V(zero), I(-128), I(127), I(DTYPE_I8), NONE);
	w = lab_node(lab, "quantized_decomposed.dequantize_per_channel.default", V(lab_constant(lab, DTYPE_I8, -128, 128, SIZES(4, 4))),
		     V(lab_constant(lab, F, 0.01, 0.1, SIZES(4))), NONE, I(0), I(-128), I(127), I(DTYPE_I8), NONE);
	y = SUM(lab_node(lab, "aten.linear.default", V(d), V(w), NONE));
	z = lab_node(lab, "aten.linear.default", V(d), V(w), NONE);
	lab_output(lab, lab_node(lab, "aten.add.Tensor", V(y), V(z), I(1)));
	y = SUM(SUM(y));
	z = lab_node(lab, "aten.mul.Tensor", V(RELU(y)), V(z));
	lab_output(lab, SUM(z));
	apply(lab);
	for (const struct node *n = lab->g->first; n; n = n->next) {
		const struct node *dq, *qn;

		if (!op_is(n->op, "aten.linear.default"))
			continue;
		dq = n->arg[0].value->def;
		qn = dq->arg[0].value->def;
		assert_int_equal(dq->group, n->group);
		assert_int_equal(qn->group, n->group);
		assert_ptr_equal(qn->arg[1].value->def, dq->arg[1].value->def);
	}
	assert_int_equal(count(lab->g, "quantized_decomposed.quantize_per_tensor.tensor"), 2);
	lab_free(lab);
}

/* Recomposing */

static struct value *permuted(struct lab *lab, struct value *w)
{
	return lab_node(lab, "aten.permute_copy.default", V(w), INTS(1, 0));
}

static void linears_are_put_together(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 3, 4)), *w = lab_constant(lab, F, -1, 1, SIZES(5, 4)), *v;
	struct error err = { 0 };

	v = lab_node(lab, "aten.view_copy.default", V(x), INTS(6, 4));
	v = lab_node(lab, "aten.addmm.default", CONST(5), V(v), V(permuted(lab, w)), I(1), I(1));
	lab_output(lab, lab_node(lab, "aten.view_copy.default", V(v), INTS(2, 3, 5)));
	v = lab_node(lab, "aten.mm.default", INPUT(2, 4), V(permuted(lab, w)));
	lab_output(lab, v);
	v = lab_node(lab, "aten.permute_copy.default", INPUT(2, 4, 3), INTS(0, 2, 1));
	v = lab_node(lab, "aten.bmm.default", V(lab_node(lab, "aten.expand_copy.default", V(v), INTS(2, 3, 4), B(false))),
		     V(lab_node(lab, "aten.expand_copy.default", V(permuted(lab, w)), INTS(2, 4, 5), B(false))));
	lab_output(lab, lab_node(lab, "aten.add.Tensor", V(v), CONST(5), I(1)));
	assert_int_equal(recompose_apply(lab->g, &err), 3);
	assert_true(graph_check(lab->g, &err));
	assert_int_equal(count(lab->g, "aten.linear.default"), 3);
	assert_int_equal(lab->g->nnodes, 4);
	assert_int_equal(lab->g->output[0].value->rank, 3);
	assert_true(lab_run(lab, NULL, 1) < 1e-5);
	lab_free(lab);
}

/* bmm over the batches of x, which views make one dimension of and several again. */
static struct value *batched(struct lab *lab, struct value *x, struct value *repeated)
{
	struct value *v = lab_node(lab, "aten.expand_copy.default", V(x), INTS(2, 3, 3, 4), B(false));

	v = lab_node(lab, "aten.bmm.default", V(lab_node(lab, "aten.view_copy.default", V(v), INTS(6, 3, 4))),
		     V(lab_node(lab, "aten.view_copy.default", V(repeated), INTS(6, 4, 5))));
	return lab_node(lab, "aten.view_copy.default", V(v), INTS(2, 3, 3, 5));
}

static void linears_of_several_batches_are_put_together(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 3, 3, 4)), *w = permuted(lab, lab_constant(lab, F, -1, 1, SIZES(5, 4))), *v;
	struct error err = { 0 };

	w = lab_node(lab, "aten.expand_copy.default", V(w), INTS(2, 3, 4, 5), B(false));
	v = lab_node(lab, "aten.add.Tensor", V(batched(lab, x, w)), CONST(5), I(1));
	lab_output(lab, v);
	assert_int_equal(xnn_verdict(lab->g, v->def, &lab->g->mem).kind, VERDICT_TAKES);
	assert_int_equal(recompose_apply(lab->g, &err), 1);
	assert_true(graph_check(lab->g, &err));
	assert_int_equal(lab->g->nnodes, 1);
	assert_true(lab_run(lab, NULL, 1) < 1e-5);
	lab_free(lab);
}

/* One row of a weight, repeated for all that is summed over, is no weight of a linear. */
static void a_weight_that_is_repeated_within_stays(void **state)
{
	LAB;
	struct value *w = permuted(lab, lab_constant(lab, F, -1, 1, SIZES(5, 1)));
	struct error err = { 0 };

	w = lab_node(lab, "aten.expand_copy.default", V(w), INTS(2, 3, 4, 5), B(false));
	lab_output(lab, batched(lab, lab_input(lab, F, SIZES(2, 3, 3, 4)), w));
	assert_int_equal(recompose_apply(lab->g, &err), 0);
	lab_free(lab);
}

/* A view between a dequantise node and its product goes: what reads the product is a view as well. */
static void a_view_of_what_is_dequantised_goes(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(3, 1, 4)), *w = lab_constant(lab, DTYPE_I8, -127, 128, SIZES(6, 4)), *scale, *v;
	struct error err = { 0 };

	scale = lab_node(lab, "quantized_decomposed.choose_qparams.tensor", V(x), I(-128), I(127), D(1e-7), I(DTYPE_I8));
	v = lab_node(lab, "quantized_decomposed.quantize_per_tensor.tensor", V(x), V(scale), V(scale->def->out[1]), I(-128), I(127), I(DTYPE_I8));
	v = lab_node(lab, "quantized_decomposed.dequantize_per_tensor.tensor", V(v), V(scale), V(scale->def->out[1]), I(-128), I(127),
		     I(DTYPE_I8), NONE);
	v = lab_node(lab, "aten.view_copy.default", V(v), INTS(3, 4));
	w = lab_node(lab, "quantized_decomposed.dequantize_per_channel.default", V(w), V(lab_constant(lab, F, 0.01, 0.1, SIZES(6))), NONE, I(0),
		     I(-127), I(127), I(DTYPE_I8), NONE);
	v = lab_node(lab, "aten.mm.default", V(v), V(permuted(lab, w)));
	lab_output(lab, lab_node(lab, "aten.view_copy.default", V(v), INTS(3, 2, 3)));
	assert_int_equal(recompose_apply(lab->g, &err), 1);
	assert_int_equal(count(lab->g, "aten.view_copy.default"), 1);
	lab_free(lab);
}

static void what_is_no_linear_stays(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(6, 4)), *w = lab_constant(lab, F, -1, 1, SIZES(4, 4)), *v;
	struct error err = { 0 };

	v = lab_node(lab, "aten.permute_copy.default", V(w), INTS(0, 1));	/* moves nothing */
	lab_output(lab, lab_node(lab, "aten.mm.default", V(x), V(v)));
	v = permuted(lab, lab_node(lab, "aten.relu.default", V(w)));		/* not stored */
	lab_output(lab, lab_node(lab, "aten.mm.default", V(x), V(v)));
	lab_output(lab, lab_node(lab, "aten.addmm.default", CONST(4), V(x), V(permuted(lab, w)), I(2), I(1)));
	lab_output(lab, lab_node(lab, "aten.addmm.default", CONST(6, 4), V(x), V(permuted(lab, w)), I(1), I(1)));
	assert_int_equal(recompose_apply(lab->g, &err), 0);
	lab_free(lab);
}

/* The views around a product fold only when rows stay rows. */
static void views_that_mix_rows_stay(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 6, 2)), *w = lab_constant(lab, F, -1, 1, SIZES(5, 4)), *v;
	struct error err = { 0 };

	v = lab_node(lab, "aten.view_copy.default", V(x), INTS(6, 4));
	v = lab_node(lab, "aten.mm.default", V(v), V(permuted(lab, w)));
	lab_output(lab, lab_node(lab, "aten.view_copy.default", V(v), INTS(2, 3, 5)));
	assert_int_equal(recompose_apply(lab->g, &err), 1);
	assert_int_equal(count(lab->g, "aten.view_copy.default"), 2);
	assert_true(lab_run(lab, NULL, 1) < 1e-5);
	lab_free(lab);
}

static struct value *varying(struct value *v)
{
	v->dynamic = true;
	return v;
}

/* v seen as [rows, ...], where rows is known at run time. */
static struct value *rows_of(struct lab *lab, struct value *v, struct value *rows, int rank, const int64_t *size)
{
	struct value *view = varying(lab_node(lab, "aten.view_copy.default", V(v), arg_ints(lab->g, size, rank)));
	struct arg item[4], list = { .kind = ARG_LIST, .list = { item, rank } };

	for (int d = 0; d < rank; d++)
		item[d] = d ? I(size[d]) : V(rows);
	graph_set_arg(lab->g, view->def, 1, list);
	return view;
}

/* A product of rows whose columns are then split: its linear reads the tensor that the rows are of, where the first view
 * is known to keep them. The size of dimension `counted` of the input is the number of rows. */
static int linears_of_varying_rows(int rows, int others, int counted)
{
	LAB;
	struct value *x = varying(lab_input(lab, F, SIZES(rows, others, 4))), *w = lab_constant(lab, F, -1, 1, SIZES(6, 4)), *v, *n;
	struct error err = { 0 };
	int views;

	n = lab_node(lab, "aten.sym_size.int", V(x), I(counted));
	v = varying(lab_node(lab, "aten.permute_copy.default", V(x), INTS(1, 0, 2)));
	v = varying(lab_node(lab, "aten.native_layer_norm.default", V(v), INTS(4), CONST(4), CONST(4), D(1e-5)));
	v = varying(lab_node(lab, "aten.add.Tensor", V(v), V(varying(lab_node(lab, "aten.permute_copy.default", V(x), INTS(1, 0, 2)))), I(1)));
	v = rows_of(lab, v, n, SIZES(rows * others, 4));
	v = varying(lab_node(lab, "aten.mm.default", V(v), V(permuted(lab, w))));
	lab_output(lab, rows_of(lab, v, n, SIZES(rows * others, 2, 3)));
	assert_int_equal(recompose_apply(lab->g, &err), 1);
	assert_true(graph_check(lab->g, &err));
	views = count(lab->g, "aten.view_copy.default");
	lab_free(lab);
	return views;
}

/* A token, its kind and its place, each looked up and all added, make the rows of a product. */
static int linears_of_looked_up_rows(int from)
{
	LAB;
	struct value *x = varying(lab_input(lab, DTYPE_I64, SIZES(1, 5))), *w = lab_constant(lab, F, -1, 1, SIZES(6, 4)), *v, *n, *at;
	struct error err = { 0 };
	struct arg item[2] = { I(1) }, list = { .kind = ARG_LIST, .list = { item, 2 } };
	int views;

	n = lab_node(lab, "aten.sym_size.int", V(x), I(1));
	item[1] = V(n);
	at = varying(lab_node(lab, "aten.slice_copy.Tensor", V(lab_constant(lab, DTYPE_I64, 0, 0, SIZES(1, 8))), I(1), I(from),
			      I(from + 5), I(1)));
	graph_set_arg(lab->g, at->def, 3, V(n));
	v = varying(lab_node(lab, "aten.gather.default", V(lab_constant(lab, DTYPE_I64, 0, 0, SIZES(1, 8))), I(1), V(at), B(false)));
	v = varying(lab_node(lab, "aten.expand_copy.default", V(v), INTS(1, 5), B(false)));
	graph_set_arg(lab->g, v->def, 1, list);
	v = varying(lab_node(lab, "aten.embedding.default", CONST(3, 4), V(v), I(-1), B(false), B(false)));
	v = varying(lab_node(lab, "aten.add.Tensor", V(varying(lab_node(lab, "aten.embedding.default", CONST(9, 4), V(x), I(-1), B(false),
		B(false)))), V(v), I(1)));
	v = varying(lab_node(lab, "aten.add.Tensor", V(v), V(varying(lab_node(lab, "aten.embedding.default", CONST(8, 4), V(at), I(-1),
		B(false), B(false)))), I(1)));
	for (int i = 0; i < 40; i++)	/* as many residual layers: each could be looked at twice as often as the one before */
		v = varying(lab_node(lab, "aten.add.Tensor", V(v), V(varying(RELU(v))), I(1)));
	v = rows_of(lab, v, n, SIZES(5, 4));
	v = varying(lab_node(lab, "aten.mm.default", V(v), V(permuted(lab, w))));
	lab_output(lab, rows_of(lab, v, n, SIZES(5, 2, 3)));
	assert_int_equal(recompose_apply(lab->g, &err), 1);
	assert_true(graph_check(lab->g, &err));
	views = count(lab->g, "aten.view_copy.default");
	lab_free(lab);
	return views;
}

/* Heads put together for a product, and its result given another rank: the first view does both. */
static void a_view_before_takes_over_from_the_one_behind(void **state)
{
	LAB;
	struct value *x = varying(lab_input(lab, F, SIZES(1, 2, 5, 2))), *w = lab_constant(lab, F, -1, 1, SIZES(6, 4)), *v, *n;
	struct arg item[3] = { I(1), NONE, I(6) }, list = { .kind = ARG_LIST, .list = { item, 3 } };
	struct error err = { 0 };

	item[1] = V(n = lab_node(lab, "aten.sym_size.int", V(x), I(2)));
	v = varying(lab_node(lab, "aten.permute_copy.default", V(x), INTS(0, 2, 1, 3)));
	v = varying(lab_node(lab, "aten.mm.default", V(rows_of(lab, v, n, SIZES(5, 4))), V(permuted(lab, w))));
	v = varying(lab_node(lab, "aten.view_copy.default", V(v), INTS(1, 5, 6)));
	graph_set_arg(lab->g, v->def, 1, list);
	lab_output(lab, v);
	assert_int_equal(recompose_apply(lab->g, &err), 1);
	assert_true(graph_check(lab->g, &err));
	assert_int_equal(count(lab->g, "aten.view_copy.default"), 1);
	v = lab->g->output[0].value;
	assert_true(op_is(v->def->op, "aten.linear.default"));
	assert_int_equal(v->rank, 3);
	assert_int_equal(node_input(v->def, 0)->size[2], 4);
	assert_ptr_equal(node_input(v->def, 0)->def->arg[1].list.at[1].value, n);
	assert_true(v->dynamic && node_input(v->def, 0)->dynamic);
	lab_free(lab);
}

static void views_before_varying_linears_go(void **state)
{
	assert_int_equal(linears_of_looked_up_rows(0), 1);
	assert_int_equal(linears_of_looked_up_rows(1), 2);	/* their number is not known */
	assert_int_equal(linears_of_varying_rows(5, 1, 0), 1);
	assert_int_equal(linears_of_varying_rows(1, 5, 1), 1);
	assert_int_equal(linears_of_varying_rows(5, 1, 1), 2);	/* another number: nothing is known of the rows */
	assert_int_equal(linears_of_varying_rows(5, 5, 0), 2);
}

static struct value *hardswish(struct lab *lab, struct value *x, double three, double six)
{
	struct value *c3 = lab_numbers(lab, DTYPE_I64, (double[]){ three }, 0, NULL), *c6 = lab_numbers(lab, F, (double[]){ six }, 0, NULL), *v;

	c3 = lab_node(lab, "dim_order_ops._to_dim_order_copy.default", V(c3), I(F), NONE, NONE, NONE, B(false), INTS());
	v = lab_node(lab, "aten.add.Tensor", V(x), V(c3), I(1));
	v = lab_node(lab, "aten.clamp.default", V(v), I(0), NONE);
	v = lab_node(lab, "aten.clamp.default", V(v), NONE, I(6));
	v = lab_node(lab, "aten.mul.Tensor", V(x), V(v));
	return lab_node(lab, "aten.div.Tensor", V(v), V(c6));
}

static struct value *as_dtype(struct lab *lab, struct value *v, enum dtype t)
{
	return lab_node(lab, "dim_order_ops._to_dim_order_copy.default", V(v), I(t), NONE, NONE, NONE, B(false), INTS(0, 1));
}

static void hardswish_of_halves_is_put_together(void **state)
{
	LAB;
	struct value *v = as_dtype(lab, hardswish(lab, as_dtype(lab, lab_input(lab, DTYPE_F16, SIZES(2, 5)), F), 3, 6), DTYPE_F16);
	struct error err = { 0 };

	lab_output(lab, v);
	lab_output(lab, as_dtype(lab, hardswish(lab, as_dtype(lab, lab_input(lab, DTYPE_F64, SIZES(2, 5)), F), 3, 6), DTYPE_F64));
	assert_int_equal(xnn_verdict(lab->g, v->def, &lab->g->mem).kind, VERDICT_TAKES);
	assert_int_equal(recompose_apply(lab->g, &err), 2);
	assert_int_equal(count(lab->g, "dim_order_ops._to_dim_order_copy.default"), 2);
	assert_string_equal(lab->g->output[0].value->def->op->name, "aten.hardswish.default");
	assert_int_equal(lab->g->output[0].value->dtype, DTYPE_F16);
	lab_free(lab);
}

static struct value *quantized(struct lab *lab, struct value *v, double scale)
{
	v = lab_node(lab, "quantized_decomposed.quantize_per_tensor.default", V(v), D(scale), I(3), I(-128), I(127), I(DTYPE_I8));
	return lab_node(lab, "quantized_decomposed.dequantize_per_tensor.default", V(v), D(scale), I(3), I(-128), I(127), I(DTYPE_I8), NONE);
}

static void what_is_quantised_again_is_not(void **state)
{
	LAB;
	struct value *v = quantized(lab, lab_input(lab, F, SIZES(2, 3)), 0.1);

	v = lab_node(lab, "dim_order_ops._clone_dim_order.default", V(v), B(false), NONE);
	v = quantized(lab, v, 0.1);
	lab_output(lab, quantized(lab, v, 0.2));
	apply(lab);
	assert_int_equal(lab->g->nnodes, 4);
	lab_free(lab);
}

/* XNNPACK has no squeeze, and an unsqueeze at the end only: as view_copy they do not part a delegate. */
static void a_view_in_the_middle_parts_no_delegate(void **state)
{
	LAB;
	struct value *a = RELU(lab_input(lab, F, SIZES(3, 1, 4))), *b = lab_node(lab, "aten.squeeze_copy.dims", V(a), INTS(1));

	lab_output(lab, RELU(lab_node(lab, "aten.unsqueeze_copy.default", V(RELU(b)), I(0))));
	apply(lab);
	assert_int_equal(delegates(lab->g), 1);
	assert_int_equal(left_out(lab->g), 0);
	assert_int_equal(count(lab->g, "aten.view_copy.default"), 2);
	lab_free(lab);
}

static void a_view_that_xnnpack_would_not_take_stays_what_it_is(void **state)
{
	LAB;
	struct value *a = lab_input(lab, DTYPE_I64, SIZES(3, 4)), *x = lab_input(lab, F, SIZES(3, 4)), *b, *c;

	x->dynamic = true;
	b = lab_node(lab, "aten.unsqueeze_copy.default", V(a), I(0));
	c = lab_node(lab, "aten.unsqueeze_copy.default", V(x), I(0));
	c->dynamic = true;
	lab_output(lab, b);
	lab_output(lab, c);
	apply(lab);
	assert_int_equal(count(lab->g, "aten.unsqueeze_copy.default"), 2);
	assert_int_equal(left_out(lab->g), 2);
	lab_free(lab);
}

/* At the edge of a delegate a view costs nothing outside, and a copy inside. */
static void a_view_at_the_edge_stays_outside(void **state)
{
	LAB;
	struct value *first = lab_node(lab, "aten.unsqueeze_copy.default", INPUT(3, 4), I(0)), *last;

	first->def->origin.kind = ORIGIN_VIEW;
	last = lab_node(lab, "aten.squeeze_copy.dims", V(RELU(first)), INTS(0));
	lab_output(lab, SUM(last));
	apply(lab);
	assert_int_equal(delegates(lab->g), 1);
	assert_int_equal(left_out(lab->g), 3);
	assert_int_equal(count(lab->g, "aten.view_copy.default"), 2);
	lab_free(lab);
}

/* Where the view would be a call of its own: of an input that may have no memory, of state, for the caller, of sizes
 * that are known only at run time. */
static void a_view_that_is_not_free_goes_along(void **state)
{
	LAB;
	struct value *s = graph_value(lab->g, VALUE_STATE, F, 2, (int64_t[]){ 3, 4 });
	struct value *a = lab_node(lab, "aten.view_copy.default", V(s), INTS(4, 3));
	struct value *b = lab_node(lab, "aten.unsqueeze_copy.default", INPUT(3, 4), I(0)), *x = lab_input(lab, F, SIZES(3, 4)), *c;

	s->name = "state";
	s->state_slot = 0;
	a->def->origin.kind = ORIGIN_VIEW;
	x->dynamic = true;
	c = RELU(x);
	c->dynamic = true;
	c = lab_node(lab, "aten.view_copy.default", V(c), INTS(-1));
	c->dynamic = true;
	lab_output(lab, lab_node(lab, "aten.view_copy.default", V(RELU(a)), INTS(12)));
	lab_output(lab, RELU(b));
	lab_output(lab, SUM(c));
	apply(lab);
	assert_int_equal(left_out(lab->g), 1);
	assert_int_equal(delegates(lab->g), 1);
	lab_free(lab);
}

static void hardswish_is_put_together(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(4, 5));
	struct error err = { 0 };

	lab_output(lab, hardswish(lab, x, 3, 6));
	lab_output(lab, hardswish(lab, x, 3, 5));	/* another function */
	assert_int_equal(recompose_apply(lab->g, &err), 1);
	assert_int_equal(count(lab->g, "aten.hardswish.default"), 1);
	assert_int_equal(lab->g->nnodes, 7);
	assert_true(graph_check(lab->g, &err));
	lab_free(lab);
}

static void prelu_is_put_together(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 3, 4, 5)), *w = lab_constant(lab, F, 0.1, 0.9, SIZES(1, 3, 1, 1)), *v;
	struct error err = { 0 };

	v = lab_node(lab, "aten.mul.Tensor", V(w), V(x));
	lab_output(lab, lab_node(lab, "aten.where.self", V(lab_node(lab, "aten.gt.Scalar", V(x), I(0))), V(x), V(v)));
	v = lab_node(lab, "aten.mul.Tensor", CONST(5), V(x));	/* along the width: no prelu */
	lab_output(lab, lab_node(lab, "aten.where.self", V(lab_node(lab, "aten.gt.Scalar", V(x), I(0))), V(x), V(v)));
	v = lab_node(lab, "aten.mul.Tensor", CONST(1, 1, 1, 5), V(x));
	lab_output(lab, lab_node(lab, "aten.where.self", V(lab_node(lab, "aten.gt.Scalar", V(x), I(0))), V(x), V(v)));
	assert_int_equal(recompose_apply(lab->g, &err), 1);
	assert_int_equal(lab->g->nnodes, 7);
	v = lab->g->output[0].value;
	assert_string_equal(v->def->op->name, "aten.prelu.default");
	assert_int_equal(v->def->arg[1].value->rank, 1);
	assert_ptr_equal(v->def->arg[1].value->data, w->data);
	lab_free(lab);
}

#ifdef __SANITIZE_ADDRESS__
enum { SLOWER = 5 };
#else
enum { SLOWER = 1 };
#endif

/* Of this process: other work on the machine does not count. */
static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fifty_thousand_nodes_in_a_second(void **state)
{
	LAB;
	struct value *v = lab_input(lab, F, SIZES(3)), *skip = v;
	struct error err = { 0 };
	double t;

	for (int i = 0; i < 16667; i++) {
		v = lab_node(lab, "aten.add.Tensor", V(RELU(v)), V(skip), I(1));
		if (i % 3 == 0)
			skip = v;
		v = i % 2 ? SUM(v) : RELU(v);
	}
	lab_output(lab, v);
	t = seconds();
	assert_true(partition_apply(lab->g, &err));
	t = seconds() - t;
	assert_true(delegates(lab->g) > 1000);
	if (t > SLOWER)
		fail_msg("%d nodes took %.2f s", lab->g->nnodes, t);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unrelated_nodes_share_the_latest_delegate),
		cmocka_unit_test(no_path_leaves_and_comes_back),
		cmocka_unit_test(alternating_chain_has_a_delegate_a_step),
		cmocka_unit_test(writes_of_state_part_what_reads_it),
		cmocka_unit_test(a_view_of_state_counts_as_the_state),
		cmocka_unit_test(foreign_groups_stay),
		cmocka_unit_test(filed_delegates_stay_where_nothing_is_gained),
		cmocka_unit_test(an_elided_view_between_filed_delegates_moves_nothing),
		cmocka_unit_test(a_filed_delegate_that_gains_nothing_keeps_its_bytes),
		cmocka_unit_test(filed_delegates_that_can_be_one_are_merged),
		cmocka_unit_test(a_filed_delegate_with_a_refused_node_is_pinned),
		cmocka_unit_test(a_filter_that_others_read_is_not_stored_twice),
		cmocka_unit_test(a_filter_that_lies_right_is_shared),
		cmocka_unit_test(a_filter_that_another_operator_packs_is_not_shared),
		cmocka_unit_test(convolutions_of_one_filter_share_it),
		cmocka_unit_test(other_methods_count),
		cmocka_unit_test(data_that_is_not_at_hand_is_not_packed),
		cmocka_unit_test(dequantise_nodes_are_copied_into_each_delegate),
		cmocka_unit_test(a_weight_that_is_also_read_as_floats_is_dequantised_outside_too),
		cmocka_unit_test(a_dynamic_chain_is_copied_whole),
		cmocka_unit_test(linears_are_put_together),
		cmocka_unit_test(linears_of_several_batches_are_put_together),
		cmocka_unit_test(a_weight_that_is_repeated_within_stays),
		cmocka_unit_test(a_view_of_what_is_dequantised_goes),
		cmocka_unit_test(what_is_no_linear_stays),
		cmocka_unit_test(views_that_mix_rows_stay),
		cmocka_unit_test(views_before_varying_linears_go),
		cmocka_unit_test(a_view_before_takes_over_from_the_one_behind),
		cmocka_unit_test(a_view_in_the_middle_parts_no_delegate),
		cmocka_unit_test(a_view_that_xnnpack_would_not_take_stays_what_it_is),
		cmocka_unit_test(a_view_at_the_edge_stays_outside),
		cmocka_unit_test(a_view_that_is_not_free_goes_along),
		cmocka_unit_test(what_is_quantised_again_is_not),
		cmocka_unit_test(hardswish_is_put_together),
		cmocka_unit_test(hardswish_of_halves_is_put_together),
		cmocka_unit_test(prelu_is_put_together),
		cmocka_unit_test(fifty_thousand_nodes_in_a_second),
	};

	return RUN_TAP(tests);
}
