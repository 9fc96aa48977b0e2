/* Lowering, judged by running: each graph through XNNPACK gives what the portable kernels give. */
#include "core/xnn/lowering.h"
#include "core/xnn/doubt.h"
#include "tests/lab.h"
#include "tests/tap.h"

#include <math.h>

#define LAB struct lab *lab = lab_new()
#define F DTYPE_F32

static void close_to(struct lab *lab, struct xlowered *low, double tolerance)
{
	double d = lab_run(lab, low, 1);

	if (!(d <= tolerance))
		fail_msg("off by %g, tolerance %g", d, tolerance);
}

static void elementwise_operators(void **state)
{
	static const char *const names[] = {
		"aten.abs.default", "aten.ceil.default", "aten.cos.default", "aten.exp.default", "aten.floor.default",
		"aten.hardswish.default", "aten.neg.default", "aten.relu.default", "aten.sigmoid.default", "aten.sin.default",
		"aten.tanh.default", NULL,
	};

	for (int i = 0; names[i]; i++) {
		LAB;

		lab_output(lab, lab_node(lab, names[i], V(lab_input(lab, F, SIZES(3, 5)))));
		close_to(lab, NULL, 1e-5);
		lab_free(lab);
	}
}

static void roots_and_logarithm(void **state)
{
	static const char *const names[] = { "aten.sqrt.default", "aten.rsqrt.default", "aten.log.default", NULL };

	for (int i = 0; names[i]; i++) {
		LAB;
		struct value *x = lab_node(lab, "aten.abs.default", V(lab_input(lab, F, SIZES(4, 4))));

		lab_output(lab, lab_node(lab, names[i], V(x)));
		close_to(lab, NULL, 1e-4);
		lab_free(lab);
	}
}

static void elementwise_with_arguments(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 7));

	lab_output(lab, lab_node(lab, "aten.clamp.default", V(x), D(-0.5), NONE));
	lab_output(lab, lab_node(lab, "aten.hardtanh.default", V(x), D(-0.25), D(0.75)));
	lab_output(lab, lab_node(lab, "aten.leaky_relu.default", V(x), D(0.2)));
	lab_output(lab, lab_node(lab, "aten.pow.Tensor_Scalar", V(x), I(2)));
	lab_output(lab, lab_node(lab, "aten.elu.default", V(x), D(0.7), D(1), D(1)));
	lab_output(lab, lab_node(lab, "aten.gelu.default", V(x), (struct arg){ .kind = ARG_STRING, .s = "none" }));
	close_to(lab, NULL, 1e-4);
	lab_free(lab);
}

static void binary_operators_broadcast(void **state)
{
	static const char *const names[] = { "aten.mul.Tensor", "aten.div.Tensor", "aten.maximum.default", "aten.minimum.default", NULL };

	for (int i = 0; names[i]; i++) {
		LAB;
		struct value *x = lab_input(lab, F, SIZES(2, 3, 4)), *y = lab_constant(lab, F, 1, 2, SIZES(3, 1));

		lab_output(lab, lab_node(lab, names[i], V(x), V(y)));
		lab_output(lab, lab_node(lab, "aten.sub.Tensor", V(y), V(x), I(1)));
		close_to(lab, NULL, 1e-5);
		lab_free(lab);
	}
}

static void an_activation_goes_into_what_it_follows(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = lab_input(lab, F, SIZES(2, 8)), *y = lab_node(lab, "aten.add.Tensor", V(x), V(x), I(1));

	lab_output(lab, lab_node(lab, "aten.hardtanh.default", V(y), D(-1), D(1)));
	close_to(lab, &low, 1e-6);
	assert_int_equal(low.graph.nnodes, 1);
	assert_true(low.graph.node[0].has_min_max);
	lab_free(lab);
}

static void an_activation_stays_when_its_input_is_read_elsewhere(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = lab_input(lab, F, SIZES(2, 8)), *y = lab_node(lab, "aten.add.Tensor", V(x), V(x), I(1));

	lab_output(lab, lab_node(lab, "aten.relu.default", V(y)));
	lab_output(lab, y);
	close_to(lab, &low, 1e-6);
	assert_int_equal(low.graph.nnodes, 2);
	lab_free(lab);
}

static void linear_in_every_layout(void **state)
{
	for (int i = 0; i < 8; i++) {
		LAB;
		struct value *x = i & 1 ? lab_input(lab, F, SIZES(2, 3, 6)) : lab_input(lab, F, SIZES(4, 6));
		struct value *w = lab_constant(lab, F, -1, 1, SIZES(5, 6)), *b = i & 2 ? lab_constant(lab, F, -1, 1, SIZES(5)) : NULL;
		struct xlowered low;

		if (i & 4)
			lab_order(w, "10");
		lab_output(lab, lab_node(lab, "aten.linear.default", V(x), V(w), V(b)));
		close_to(lab, &low, 1e-5);
		assert_int_equal(low.nargs, 2);
		assert_int_equal(low.nnamed, b ? 2 : 1);
		assert_ptr_equal(low.named[0].data.data, w->data);	/* never copied */
		lab_free(lab);
	}
}

static void matrix_products(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(4, 6)), *w = lab_constant(lab, F, -1, 1, SIZES(6, 5));
	struct value *b = lab_constant(lab, F, -1, 1, SIZES(5)), *y = lab_input(lab, F, SIZES(3, 4, 2));

	lab_output(lab, lab_node(lab, "aten.mm.default", V(x), V(w)));
	lab_output(lab, lab_node(lab, "aten.relu.default", V(lab_node(lab, "aten.addmm.default", V(b), V(x), V(w), I(1), I(1)))));
	lab_output(lab, lab_node(lab, "aten.bmm.default", V(lab_input(lab, F, SIZES(3, 5, 4))), V(y)));
	close_to(lab, NULL, 1e-5);
	lab_free(lab);
}

static void linear_takes_in_batch_norm(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = lab_input(lab, F, SIZES(4, 6)), *w = lab_constant(lab, F, -1, 1, SIZES(5, 6));
	struct value *y = lab_node(lab, "aten.linear.default", V(x), V(w), NONE);

	y = lab_node(lab, "aten._native_batch_norm_legit_no_training.default", V(y), V(lab_constant(lab, F, 0.5, 2, SIZES(5))),
		     V(lab_constant(lab, F, -1, 1, SIZES(5))), V(lab_constant(lab, F, -1, 1, SIZES(5))),
		     V(lab_constant(lab, F, 0.5, 2, SIZES(5))), D(0.1), D(1e-5));
	lab_output(lab, lab_node(lab, "aten.relu.default", V(y)));
	close_to(lab, &low, 1e-5);
	assert_int_equal(low.graph.nnodes, 1);
	lab_free(lab);
}

struct conv_case { int64_t n, in, h, w, out, k, stride, pad, dilation, groups, adjust; bool transposed, one_d; const char *order; };

static struct value *conv_node(struct lab *lab, struct value *x, const struct conv_case *c)
{
	int64_t a = c->transposed ? c->in : c->out, b = (c->transposed ? c->out : c->in) / c->groups;
	struct value *w = c->one_d ? lab_constant(lab, F, -1, 1, SIZES(a, b, c->k)) : lab_constant(lab, F, -1, 1, SIZES(a, b, c->k, c->k));
	struct value *bias = lab_constant(lab, F, -1, 1, SIZES(c->out));

	if (c->order)
		lab_order(w, c->order);
	if (c->one_d)
		return lab_node(lab, "aten.convolution.default", V(x), V(w), V(bias), INTS(c->stride), INTS(c->pad), INTS(c->dilation),
				B(c->transposed), INTS(c->adjust), I(c->groups));
	return lab_node(lab, "aten.convolution.default", V(x), V(w), V(bias), INTS(c->stride, c->stride), INTS(c->pad, c->pad),
			INTS(c->dilation, c->dilation), B(c->transposed), INTS(c->adjust, c->adjust), I(c->groups));
}

static const struct conv_case convs[] = {
	{ 1, 3, 8, 9, 4, 3, 1, 1, 1, 1, 0, false, false, NULL },
	{ 2, 4, 8, 9, 6, 3, 2, 1, 2, 2, 0, false, false, NULL },
	{ 1, 4, 8, 8, 4, 3, 1, 1, 1, 4, 0, false, false, NULL },	/* depthwise */
	{ 1, 4, 8, 8, 8, 3, 2, 1, 1, 4, 0, false, false, NULL },	/* with a multiplier */
	{ 1, 1, 8, 8, 6, 5, 1, 2, 1, 1, 0, false, false, NULL },	/* one channel counts as depthwise */
	{ 1, 3, 8, 9, 4, 3, 1, 1, 1, 1, 0, false, false, "0231" },	/* filter in place */
	{ 1, 4, 8, 8, 4, 3, 1, 1, 1, 4, 0, false, false, "1230" },
	{ 1, 4, 5, 6, 6, 3, 2, 1, 1, 1, 1, true, false, NULL },
	{ 1, 4, 5, 6, 6, 3, 2, 1, 1, 2, 0, true, false, NULL },
	{ 1, 4, 5, 6, 4, 2, 2, 0, 1, 4, 0, true, false, NULL },
	{ 2, 3, 20, 0, 4, 3, 2, 1, 1, 1, 0, false, true, NULL },
	{ 2, 4, 20, 0, 4, 3, 1, 2, 2, 4, 0, false, true, NULL },
	{ 1, 4, 10, 0, 6, 4, 2, 1, 1, 2, 0, true, true, NULL },
	{ 1, 3, 20, 0, 4, 3, 1, 1, 1, 1, 0, false, true, "021" },
};

static void convolutions(void **state)
{
	for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
		const struct conv_case *c = &convs[i];
		LAB;
		struct value *x = c->one_d ? lab_input(lab, F, SIZES(c->n, c->in, c->h)) : lab_input(lab, F, SIZES(c->n, c->in, c->h, c->w));
		struct xlowered low;
		double d;

		lab_output(lab, conv_node(lab, x, c));
		d = lab_run(lab, &low, 1);
		if (!(d < 1e-5))
			fail_msg("convolution %zu is off by %g", i, d);
		if (c->order)
			assert_ptr_equal(low.named[0].data.data, lab->g->value[1]->data);
		lab_free(lab);
	}
}

static struct value *norm_node(struct lab *lab, struct value *x, int64_t c)
{
	return lab_node(lab, "aten._native_batch_norm_legit_no_training.default", V(x), V(lab_constant(lab, F, 0.5, 2, SIZES(c))),
			V(lab_constant(lab, F, -1, 1, SIZES(c))), V(lab_constant(lab, F, -1, 1, SIZES(c))),
			V(lab_constant(lab, F, 0.5, 2, SIZES(c))), D(0.1), D(1e-5));
}

static void convolutions_take_in_batch_norm_and_activation(void **state)
{
	for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
		const struct conv_case *c = &convs[i];
		LAB;
		struct value *x = c->one_d ? lab_input(lab, F, SIZES(c->n, c->in, c->h)) : lab_input(lab, F, SIZES(c->n, c->in, c->h, c->w));
		struct xlowered low;
		double d;

		lab_output(lab, lab_node(lab, "aten.relu.default", V(norm_node(lab, conv_node(lab, x, c), c->out))));
		d = lab_run(lab, &low, 1);
		if (!(d < 1e-4))
			fail_msg("convolution %zu is off by %g", i, d);
		assert_int_equal(lab_count(&low, X_CLAMP), 0);
		assert_int_equal(lab_count(&low, X_CONV2D) + lab_count(&low, X_DEPTHWISE_CONV2D) + lab_count(&low, X_CONV_TRANSPOSE_2D), 1);
		lab_free(lab);
	}
}

static void batch_norm_alone(void **state)
{
	LAB;

	lab_output(lab, norm_node(lab, lab_input(lab, F, SIZES(2, 5)), 5));
	lab_output(lab, norm_node(lab, lab_input(lab, F, SIZES(2, 5, 7)), 5));
	lab_output(lab, norm_node(lab, lab_input(lab, F, SIZES(2, 5, 3, 4)), 5));
	close_to(lab, NULL, 1e-5);
	lab_free(lab);
}

/* Two transposes, at the ends, however long the chain. */
static void layout_is_kept_between_images(void **state)
{
	LAB;
	struct xlowered low;
	struct conv_case c = convs[0];
	struct value *x = lab_input(lab, F, SIZES(1, 3, 8, 8)), *y, *z;

	y = conv_node(lab, x, &c);
	y = lab_node(lab, "aten.mul.Tensor", V(y), V(lab_node(lab, "aten.sigmoid.default", V(y))));
	c.in = 4;
	z = lab_node(lab, "aten.add.Tensor", V(conv_node(lab, y, &c)), V(y), I(1));
	z = lab_node(lab, "aten.cat.default", VALUES(z, y), I(1));
	z = lab_node(lab, "aten.slice_copy.Tensor", V(z), I(1), I(1), I(6), I(1));
	z = lab_node(lab, "aten.constant_pad_nd.default", V(z), INTS(1, 2, 0, 1), D(0.5));
	lab_output(lab, lab_node(lab, "aten.max_pool2d.default", V(z), INTS(2, 2), INTS(2, 2), INTS(0, 0), INTS(1, 1), B(false)));
	close_to(lab, &low, 1e-5);
	assert_int_equal(lab_count(&low, X_STATIC_TRANSPOSE), 2);
	lab_free(lab);
}

static void layout_is_kept_between_1d_convolutions(void **state)
{
	LAB;
	struct xlowered low;
	struct conv_case c = { 1, 4, 20, 0, 4, 3, 1, 1, 1, 1, 0, false, true, NULL };
	struct value *x = lab_input(lab, F, SIZES(1, 4, 20)), *y = conv_node(lab, x, &c);

	y = lab_node(lab, "aten.leaky_relu.default", V(y), D(0.1));
	y = lab_node(lab, "aten.add.Tensor", V(conv_node(lab, y, &c)), V(x), I(1));
	y = lab_node(lab, "aten.mul.Tensor", V(y), V(lab_constant(lab, F, 1, 2, SIZES(4, 1))));
	lab_output(lab, lab_node(lab, "aten.add.Tensor", V(y), V(lab_constant(lab, F, 1, 2, SIZES(1))), I(1)));
	close_to(lab, &low, 1e-5);
	assert_int_equal(lab_count(&low, X_STATIC_TRANSPOSE), 3);	/* in, out, and of the factor */
	lab_free(lab);
}

static void channels_last_passes_without_transposes(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = lab_input(lab, F, SIZES(1, 3, 8, 8)), *y;

	lab_order(x, "0231");
	y = conv_node(lab, x, &convs[0]);
	lab_order(y, "0231");
	lab_output(lab, y);
	close_to(lab, &low, 1e-5);
	assert_int_equal(lab_count(&low, X_STATIC_TRANSPOSE), 0);
	lab_free(lab);
}

static void other_dim_orders_are_transposed_at_the_border(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 3, 4)), *y = lab_input(lab, F, SIZES(2, 3, 4, 5));

	lab_order(x, "201");
	lab_order(y, "3120");
	lab_output(lab, lab_node(lab, "aten.relu.default", V(x)));
	lab_output(lab, lab_node(lab, "aten.tanh.default", V(y)));
	close_to(lab, NULL, 1e-5);
	lab_free(lab);
}

static void softmax_is_along_the_last_dimension_after_a_convolution(void **state)
{
	LAB;
	struct value *y = conv_node(lab, lab_input(lab, F, SIZES(1, 3, 8, 8)), &convs[0]);

	lab_output(lab, lab_node(lab, "aten._softmax.default", V(y), I(-1), B(false)));
	close_to(lab, NULL, 1e-5);
	lab_free(lab);
}

/* A handle makes a softmax of NHWC read as one that the stock lowering gets wrong (core/xnn/doubt.h): only such keep it. */
static void a_softmax_has_no_handle(void **state)
{
	for (int doubt = DOUBT_NONE; doubt <= DOUBT_SOFTMAX; doubt++) {
		LAB;
		struct xlowered low;
		struct value *y = conv_node(lab, lab_input(lab, F, SIZES(1, 3, 8, 8)), &convs[0]);

		y = lab_node(lab, "aten._softmax.default", V(lab_node(lab, "aten.permute_copy.default", V(y), INTS(0, 2, 3, 1))), I(-1), B(false));
		y->def->origin.debug_handle = 9;
		y->def->origin.doubt = doubt;
		lab_output(lab, y);
		close_to(lab, &low, 1e-5);
		for (int i = 0; i < low.graph.nnodes; i++)
			if (low.graph.node[i].tag == X_SOFTMAX)
				assert_int_equal(low.graph.node[i].debug_handle, doubt ? 9 : NO_HANDLE);
		assert_int_equal(lab_count(&low, X_SOFTMAX), 1);
		lab_free(lab);
	}
}

/* A shared filter cannot take in the batch norm of one of its readers: it would be stored twice. */
static void a_shared_filter_keeps_out_batch_norm(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = lab_input(lab, F, SIZES(1, 3, 8, 8)), *w = lab_constant(lab, F, -1, 1, SIZES(4, 3, 3, 3)), *y[2];

	for (int i = 0; i < 2; i++)
		y[i] = lab_node(lab, "aten.convolution.default", V(x), V(w), NONE, INTS(1, 1), INTS(i, i), INTS(1, 1), B(false), INTS(0, 0), I(1));
	lab_output(lab, norm_node(lab, y[0], 4));
	lab_output(lab, y[1]);
	close_to(lab, &low, 1e-5);
	assert_int_equal(lab_count(&low, X_CONV2D), 2);
	assert_int_equal(lab_count(&low, X_DEPTHWISE_CONV2D), 1);
	assert_int_equal(low.nnamed, 3);	/* the filter once, scale and shift of the norm */
	lab_free(lab);
}

/* Of an operand with fewer dimensions and sizes not known no shape can be written down: the sum is taken in NCHW. */
static void an_operand_of_unknown_size_broadcasts_as_it_is(void **state)
{
	for (int i = 1; i <= 8; i += 7) {
		LAB;
		struct value *y = conv_node(lab, lab_input(lab, F, SIZES(1, 3, 8, 8)), &convs[0]), *v = graph_value(lab->g, VALUE_INPUT, F, SIZES(8));

		v->dynamic = true;
		graph_add_input(lab->g, v, arg_none());
		lab_output(lab, lab_node(lab, "aten.add.Tensor", V(y), V(v), I(1)));
		if (!(lab_run(lab, NULL, i / 8.0) < 1e-5))
			fail_msg("off with %d of 8", i);
		lab_free(lab);
	}
}

static void bounds_out_of_order_are_not_taken_in(void **state)
{
	LAB;
	struct xlowered low;
	struct error err = { 0 };
	struct value *x = lab_input(lab, F, SIZES(2, 8)), *y = lab_node(lab, "aten.add.Tensor", V(x), V(x), I(1));

	lab_output(lab, lab_node(lab, "aten.clamp.default", V(y), D(1), D(1)));
	graph_add_group(lab->g, -1);
	for (struct node *n = lab->g->first; n; n = n->next)
		n->group = 0;
	assert_true(lab_lower(lab, &low, 0, &err));
	assert_int_equal(low.graph.nnodes, 2);
	assert_false(low.graph.node[0].has_min_max);
	lab_free(lab);
}

static void pooling(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(1, 3, 9, 10));

	lab_output(lab, lab_node(lab, "aten.max_pool2d.default", V(x), INTS(3, 2), INTS(2, 2), INTS(1, 1), INTS(1, 1), B(false)));
	lab_output(lab, lab_node(lab, "aten.max_pool2d_with_indices.default", V(x), INTS(3, 3), INTS(2, 2), INTS(0, 0), INTS(1, 1), B(true)));
	lab_output(lab, lab_node(lab, "aten.max_pool2d.default", V(x), INTS(2, 2), INTS(2, 2), INTS(1, 1), INTS(1, 1), B(true)));
	lab_output(lab, lab_node(lab, "aten.max_pool2d.default", V(x), INTS(3, 2), INTS(2, 2), INTS(0, 0), INTS(2, 1), B(false)));
	lab_output(lab, lab_node(lab, "aten.avg_pool2d.default", V(x), INTS(3, 3), INTS(2, 1), INTS(1, 0), B(false), B(false), NONE));
	lab_output(lab, lab_node(lab, "aten.avg_pool2d.default", V(x), INTS(2, 2), INTS(2, 2), INTS(0, 0), B(false), B(true), NONE));
	lab_output(lab, lab_node(lab, "aten.mean.dim", V(x), INTS(-1, -2), B(true), NONE));
	lab_output(lab, lab_node(lab, "aten.max.dim", V(x), I(3), B(true)));
	lab_output(lab, lab_node(lab, "aten.max.dim", V(x), I(2), B(true)));
	close_to(lab, NULL, 1e-5);
	lab_free(lab);
}

static void resizing(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(1, 3, 4, 5));

	lab_output(lab, lab_node(lab, "aten.upsample_bilinear2d.vec", V(x), INTS(8, 11), B(false), NONE));
	lab_output(lab, lab_node(lab, "aten.upsample_bilinear2d.vec", V(x), INTS(9, 9), B(true), NONE));
	close_to(lab, NULL, 1e-5);
	lab_free(lab);
}

static void prelu_along_the_channels(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = lab_input(lab, F, SIZES(2, 3, 4, 5)), *w = lab_constant(lab, F, 0.1, 0.9, SIZES(3));

	lab_output(lab, lab_node(lab, "aten.prelu.default", V(x), V(w)));
	lab_output(lab, lab_node(lab, "aten.prelu.default", V(x), V(lab_constant(lab, F, 0.1, 0.9, SIZES(1)))));
	close_to(lab, &low, 1e-5);
	assert_int_equal(low.nnamed, 0);	/* slopes are read at run time: arguments, not data of the delegate */
	lab_free(lab);
}

static void shapes(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 3, 4)), *y = lab_node(lab, "aten.permute_copy.default", V(x), INTS(2, 0, -2)), *part[11];

	lab_output(lab, y);
	lab_output(lab, lab_node(lab, "aten.view_copy.default", V(y), INTS(4, -1)));
	lab_output(lab, lab_node(lab, "aten.unsqueeze_copy.default", V(x), I(-1)));
	lab_output(lab, lab_node(lab, "aten.constant_pad_nd.default", V(x), INTS(1, 0, 0, 2), D(-1)));
	lab_output(lab, lab_node(lab, "aten.slice_copy.Tensor", V(x), I(-1), I(-3), I(100), I(1)));
	lab_output(lab, lab_node(lab, "aten._softmax.default", V(x), I(2), B(false)));
	for (int i = 0; i < 11; i++)
		part[i] = lab_node(lab, "aten.mul.Tensor", V(x), V(lab_constant(lab, F, 1, 2, 0, NULL)));
	lab_output(lab, lab_node(lab, "aten.cat.default", arg_values(lab->g, part, 11), I(-2)));
	close_to(lab, NULL, 1e-5);
	lab_free(lab);
}

static void a_permutation_to_nhwc_and_back_costs_nothing(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = lab_input(lab, F, SIZES(2, 8, 8, 3)), *y = lab_node(lab, "aten.permute_copy.default", V(x), INTS(0, 3, 1, 2));

	y = conv_node(lab, y, &convs[0]);
	lab_output(lab, lab_node(lab, "aten.permute_copy.default", V(y), INTS(0, 2, 3, 1)));
	close_to(lab, &low, 1e-5);
	assert_int_equal(low.graph.nnodes, 1);
	lab_free(lab);
}

static void results_that_are_one_value_get_a_copy(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 3)), *y = lab_node(lab, "aten.relu.default", V(x));

	lab_output(lab, y);
	lab_output(lab, lab_node(lab, "dim_order_ops._clone_dim_order.default", V(y), B(false), NONE));
	lab_output(lab, lab_node(lab, "dim_order_ops._clone_dim_order.default", V(x), B(false), NONE));
	close_to(lab, NULL, 0);
	lab_free(lab);
}

static void constants_read_at_run_time_are_arguments(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = lab_input(lab, F, SIZES(2, 6)), *w = lab_constant(lab, F, -1, 1, SIZES(6, 6));
	struct value *y = lab_node(lab, "aten.linear.default", V(x), V(w), NONE);

	lab_output(lab, lab_node(lab, "aten.mul.Tensor", V(y), V(lab_node(lab, "aten.slice_copy.Tensor", V(w), I(0), I(0), I(2), I(1)))));
	close_to(lab, &low, 1e-5);
	assert_int_equal(low.ninputs, 2);
	assert_int_equal(low.nnamed, 1);
	for (int i = 0; i < low.graph.nvalues; i++)
		if (low.graph.value[i].data.data)
			assert_int_equal(low.graph.value[i].external_id, XNONE);
	lab_free(lab);
}

static void dynamic_sizes(void **state)
{
	for (int i = 1; i <= 3; i++) {
		LAB;
		struct value *x = graph_value(lab->g, VALUE_INPUT, F, SIZES(9, 6)), *y;

		x->dynamic = true;
		graph_add_input(lab->g, x, arg_none());
		y = lab_node(lab, "aten.linear.default", V(x), V(lab_constant(lab, F, -1, 1, SIZES(4, 6))), NONE);
		y = lab_node(lab, "aten._softmax.default", V(norm_node(lab, y, 4)), I(-1), B(false));
		lab_output(lab, lab_node(lab, "aten.view_copy.default", V(y), INTS(-1, 2, 2)));
		if (!(lab_run(lab, NULL, i / 3.0) < 1e-5))
			fail_msg("off at %d/3 of the bound", i);
		lab_free(lab);
	}
}

static void halves(void **state)
{
	LAB;
	struct value *x = lab_input(lab, DTYPE_F16, SIZES(2, 6));

	lab_output(lab, lab_node(lab, "aten.linear.default", V(x), V(lab_constant(lab, DTYPE_F16, -1, 1, SIZES(4, 6))),
				 V(lab_constant(lab, DTYPE_F16, -1, 1, SIZES(4)))));
	lab_output(lab, lab_node(lab, "aten.add.Tensor", V(x), V(x), I(1)));
	close_to(lab, NULL, 5e-3);
	lab_free(lab);
}

/* Quantised graphs run from float to float; both ways may differ by a step of the output. */

static struct value *dq(struct lab *lab, struct value *v, double scale, int zero)
{
	return lab_node(lab, "quantized_decomposed.dequantize_per_tensor.default", V(v), D(scale), I(zero), I(-128), I(127), I(DTYPE_I8), NONE);
}

static struct value *requant(struct lab *lab, struct value *v, double scale, int zero)
{
	return dq(lab, lab_node(lab, "quantized_decomposed.quantize_per_tensor.default", V(v), D(scale), I(zero), I(-128), I(127), I(DTYPE_I8)),
		  scale, zero);
}

static struct value *dq_channel(struct lab *lab, struct value *w, int axis)
{
	return lab_node(lab, "quantized_decomposed.dequantize_per_channel.default", V(w), V(lab_constant(lab, F, 0.005, 0.02, SIZES(w->size[axis]))),
			NONE, I(axis), I(-128), I(127), I(DTYPE_I8), NONE);
}

static void int8_linears_and_convolutions(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = requant(lab, lab_input(lab, F, SIZES(4, 6)), 0.02, 5), *i = requant(lab, lab_input(lab, F, SIZES(1, 4, 6, 7)), 0.02, -3);
	struct value *w = lab_constant(lab, DTYPE_I8, -127, 128, SIZES(5, 6)), *b = lab_constant(lab, F, -1, 1, SIZES(5)), *v;

	v = lab_node(lab, "aten.linear.default", V(x), V(dq(lab, w, 0.01, 0)), V(b));
	lab_output(lab, requant(lab, v, 0.05, 2));
	w = lab_constant(lab, DTYPE_I8, -127, 128, SIZES(5, 6));
	lab_order(w, "10");
	v = lab_node(lab, "aten.linear.default", V(x), V(dq_channel(lab, w, 0)), V(b));
	lab_output(lab, requant(lab, v, 0.05, 2));
	v = lab_node(lab, "aten.relu.default", V(lab_node(lab, "aten.linear.default", V(x), V(dq_channel(lab, w, 0)), V(b))));
	lab_output(lab, requant(lab, v, 0.05, -128));
	w = lab_constant(lab, DTYPE_I8, -127, 128, SIZES(8, 4, 3, 3));
	b = lab_constant(lab, F, -1, 1, SIZES(8));
	v = lab_node(lab, "aten.convolution.default", V(i), V(dq_channel(lab, w, 0)), V(b), INTS(1, 1), INTS(1, 1), INTS(1, 1), B(false), INTS(0, 0), I(1));
	lab_output(lab, requant(lab, lab_node(lab, "aten.relu.default", V(v)), 0.1, -128));
	w = lab_constant(lab, DTYPE_I8, -127, 128, SIZES(4, 1, 3, 3));
	v = lab_node(lab, "aten.convolution.default", V(i), V(dq_channel(lab, w, 0)), NONE, INTS(1, 1), INTS(0, 0), INTS(1, 1), B(false), INTS(0, 0), I(4));
	lab_output(lab, requant(lab, v, 0.1, 0));
	close_to(lab, &low, 0.1001);
	assert_int_equal(lab_count(&low, X_FULLY_CONNECTED), 3);
	assert_int_equal(lab_count(&low, X_CONV2D), 1);
	assert_int_equal(lab_count(&low, X_DEPTHWISE_CONV2D), 1);
	assert_int_equal(lab_count(&low, X_CONVERT), 2 + 5);	/* the inputs in, the results out */
	assert_int_equal(lab_count(&low, X_CLAMP), 0);
	lab_free(lab);
}

/* Zeros around an int8 image are the integers that stand for 0. */
static void int8_images_are_padded_as_integers(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = requant(lab, lab_input(lab, F, SIZES(1, 4, 6, 7)), 0.02, -3), *w = lab_constant(lab, DTYPE_I8, -127, 128, SIZES(8, 4, 2, 2)), *v;

	v = lab_node(lab, "aten.constant_pad_nd.default", V(x), INTS(0, 1, 1, 0), D(0));
	v = lab_node(lab, "aten.convolution.default", V(v), V(dq_channel(lab, w, 0)), NONE, INTS(1, 1), INTS(0, 0), INTS(1, 1), B(false), INTS(0, 0), I(1));
	lab_output(lab, requant(lab, v, 0.1, -7));
	close_to(lab, &low, 0.1001);
	assert_int_equal(lab_count(&low, X_STATIC_CONSTANT_PAD), 1);
	assert_int_equal(lab_count(&low, X_CONVERT), 2);
	lab_free(lab);
}

static void int8_between_operators(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = requant(lab, lab_input(lab, F, SIZES(1, 3, 6, 6)), 0.02, 5), *y = requant(lab, lab_input(lab, F, SIZES(1, 3, 6, 6)), 0.03, -7), *v;

	v = requant(lab, lab_node(lab, "aten.relu.default", V(lab_node(lab, "aten.add.Tensor", V(x), V(y), I(1)))), 0.04, -20);
	v = requant(lab, lab_node(lab, "aten.max_pool2d.default", V(v), INTS(2, 2), INTS(2, 2), INTS(0, 0), INTS(1, 1), B(false)), 0.04, -20);
	v = requant(lab, lab_node(lab, "aten.mul.Tensor", V(v), V(v)), 0.1, -128);
	v = requant(lab, lab_node(lab, "aten.mean.dim", V(v), INTS(2, 3), B(true), NONE), 0.02, -100);
	lab_output(lab, requant(lab, lab_node(lab, "aten.view_copy.default", V(v), INTS(1, 3)), 0.02, -100));
	close_to(lab, &low, 0.0601);
	assert_int_equal(lab_count(&low, X_CONVERT), 3);	/* two in, one out: all between is int8 */
	lab_free(lab);
}

/* A pool between other scales is computed as float, not mislabelled. */
static void int8_with_other_scales_goes_through_float(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = requant(lab, lab_input(lab, F, SIZES(1, 3, 6, 6)), 0.02, 5);

	x = lab_node(lab, "aten.max_pool2d.default", V(x), INTS(2, 2), INTS(2, 2), INTS(0, 0), INTS(1, 1), B(false));
	lab_output(lab, requant(lab, x, 0.05, 1));
	close_to(lab, &low, 0.0501);
	assert_int_equal(lab_count(&low, X_CONVERT), 4);
	lab_free(lab);
}

static void int8_comes_and_goes_as_arguments(void **state)
{
	LAB;
	struct value *x = lab_input(lab, DTYPE_I8, SIZES(2, 6)), *w = lab_constant(lab, DTYPE_I8, -127, 128, SIZES(5, 6)), *v;

	v = lab_node(lab, "aten.linear.default", V(dq(lab, x, 0.02, 3)), V(dq(lab, w, 0.01, 0)), NONE);
	lab_output(lab, lab_node(lab, "quantized_decomposed.quantize_per_tensor.default", V(v), D(0.1), I(-4), I(-128), I(127), I(DTYPE_I8)));
	close_to(lab, NULL, 1);		/* in steps */
	lab_free(lab);
}

static struct value *dynamic_activation(struct lab *lab, struct value *x)
{
	struct value *scale = lab_node(lab, "quantized_decomposed.choose_qparams_per_token_asymmetric.default", V(x), I(DTYPE_I8)), *q;
	struct value *zero = scale->def->out[1];

	q = lab_node(lab, "quantized_decomposed.quantize_per_token.default", V(x), V(scale), V(zero), I(-128), I(127), I(DTYPE_I8));
	return lab_node(lab, "quantized_decomposed.dequantize_per_token.default", V(q), V(scale), V(zero), I(-128), I(127), I(DTYPE_I8), I(F));
}

static void int8_activations_chosen_at_run_time(void **state)
{
	LAB;
	struct xlowered low;
	struct value *x = dynamic_activation(lab, lab_input(lab, F, SIZES(4, 64)));
	struct value *a = lab_constant(lab, DTYPE_I8, -127, 128, SIZES(5, 64)), *b = lab_constant(lab, DTYPE_I8, -127, 128, SIZES(3, 64));

	lab_output(lab, lab_node(lab, "aten.linear.default", V(x), V(dq_channel(lab, a, 0)), V(lab_constant(lab, F, -1, 1, SIZES(5)))));
	lab_output(lab, lab_node(lab, "aten.relu.default", V(lab_node(lab, "aten.linear.default", V(x), V(dq_channel(lab, b, 0)), NONE))));
	close_to(lab, &low, 0.02);
	assert_int_equal(lab_count(&low, X_CONVERT), 1);	/* for both */
	lab_free(lab);
}

/* Not run: some hosts have no int4 that can be trusted. */
static void int4_weights_are_packed_two_a_byte(void **state)
{
	LAB;
	struct xlowered low;
	struct error err = { 0 };
	struct value *x = dynamic_activation(lab, lab_input(lab, F, SIZES(4, 64))), *w = lab_constant(lab, DTYPE_I8, -8, 8, SIZES(3, 64));
	const struct xvalue *filter = NULL;
	struct value *d = lab_node(lab, "quantized_decomposed.dequantize_per_channel_group.default", V(w), V(lab_constant(lab, F, 0.01, 0.1, SIZES(3, 2))),
				   NONE, I(-8), I(7), I(DTYPE_I8), I(32), NONE);

	lab_output(lab, lab_node(lab, "aten.linear.default", V(x), V(d), NONE));
	graph_add_group(lab->g, -1);
	for (struct node *n = lab->g->first; n; n = n->next)
		n->group = 0;
	if (!lab_lower(lab, &low, 0, &err))
		fail_msg("%s", err.text);
	for (int i = 0; i < low.graph.nvalues; i++)
		if (low.graph.value[i].datatype == XD_QBINT4)
			filter = &low.graph.value[i];
	assert_non_null(filter);
	assert_int_equal(filter->data.bytes, 3 * 32);
	assert_int_equal(filter->group_size, 32);
	assert_int_equal(filter->nscales, 6);
	assert_int_equal(filter->scales.bytes, 6 * 2);
	for (int i = 0; i < 3 * 64; i++)
		assert_int_equal((filter->data.data[i / 2] >> (i & 1 ? 4 : 0) & 15) - 8, ((const int8_t *)w->data)[i]);
	for (int i = 0; i < low.nnamed; i++) {
		const char *key = low.named[i].key;
		bool scale = !strncmp(key, "scale_", 6);

		assert_int_equal(strlen(key), scale ? 70 : 64);
		assert_string_equal(key + (scale ? 6 : 0), data_key(&lab->g->mem, "", low.named[i].data.data, low.named[i].data.bytes));
	}
	lab_free(lab);
}

static void the_key_is_the_sha256(void **state)
{
	struct arena a = { 0 };

	assert_string_equal(data_key(&a, "scale_", "abc", 3), "scale_ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	arena_free(&a);
}

static void what_cannot_be_lowered_says_why(void **state)
{
	LAB;
	struct xlowered low;
	struct error err = { 0 };
	struct value *v = lab_node(lab, "aten.cumsum.default", V(lab_input(lab, F, SIZES(3))), I(0), NONE);

	lab_output(lab, v);
	v->def->group = graph_add_group(lab->g, -1);
	assert_false(lab_lower(lab, &low, 0, &err));
	assert_non_null(strstr(err.text, "aten.cumsum.default has no XNNPACK form"));
	v->def->group = -1;
	v = lab_node(lab, "aten.linear.default", V(lab_input(lab, F, SIZES(2, 3))), V(lab_input(lab, F, SIZES(4, 3))), NONE);
	lab_output(lab, v);
	v->def->group = 0;
	assert_false(lab_lower(lab, &low, 0, &err));
	assert_non_null(strstr(err.text, "the weight is no constant"));
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elementwise_operators),
		cmocka_unit_test(roots_and_logarithm),
		cmocka_unit_test(elementwise_with_arguments),
		cmocka_unit_test(binary_operators_broadcast),
		cmocka_unit_test(an_activation_goes_into_what_it_follows),
		cmocka_unit_test(an_activation_stays_when_its_input_is_read_elsewhere),
		cmocka_unit_test(linear_in_every_layout),
		cmocka_unit_test(matrix_products),
		cmocka_unit_test(linear_takes_in_batch_norm),
		cmocka_unit_test(convolutions),
		cmocka_unit_test(convolutions_take_in_batch_norm_and_activation),
		cmocka_unit_test(batch_norm_alone),
		cmocka_unit_test(layout_is_kept_between_images),
		cmocka_unit_test(layout_is_kept_between_1d_convolutions),
		cmocka_unit_test(channels_last_passes_without_transposes),
		cmocka_unit_test(other_dim_orders_are_transposed_at_the_border),
		cmocka_unit_test(softmax_is_along_the_last_dimension_after_a_convolution),
		cmocka_unit_test(a_softmax_has_no_handle),
		cmocka_unit_test(a_shared_filter_keeps_out_batch_norm),
		cmocka_unit_test(an_operand_of_unknown_size_broadcasts_as_it_is),
		cmocka_unit_test(bounds_out_of_order_are_not_taken_in),
		cmocka_unit_test(pooling),
		cmocka_unit_test(resizing),
		cmocka_unit_test(prelu_along_the_channels),
		cmocka_unit_test(shapes),
		cmocka_unit_test(a_permutation_to_nhwc_and_back_costs_nothing),
		cmocka_unit_test(results_that_are_one_value_get_a_copy),
		cmocka_unit_test(constants_read_at_run_time_are_arguments),
		cmocka_unit_test(dynamic_sizes),
		cmocka_unit_test(halves),
		cmocka_unit_test(int8_linears_and_convolutions),
		cmocka_unit_test(int8_images_are_padded_as_integers),
		cmocka_unit_test(int8_between_operators),
		cmocka_unit_test(int8_with_other_scales_goes_through_float),
		cmocka_unit_test(int8_comes_and_goes_as_arguments),
		cmocka_unit_test(int8_activations_chosen_at_run_time),
		cmocka_unit_test(int4_weights_are_packed_two_a_byte),
		cmocka_unit_test(the_key_is_the_sha256),
		cmocka_unit_test(what_cannot_be_lowered_says_why),
	};

	return RUN_TAP(tests);
}
