/* Verdicts: every rule takes what XNNPACK takes, and says why not where it does not. */
#include "core/pass/recompose.h"
#include "core/xnn/check.h"
#include "tests/lab.h"
#include "tests/tap.h"

#define F DTYPE_F32
#define LAB struct lab *lab = lab_new()
#define INPUT(...) V(lab_input(lab, F, SIZES(__VA_ARGS__)))
#define CONST(...) V(lab_constant(lab, F, -1, 1, SIZES(__VA_ARGS__)))
#define TEXT(t) ((struct arg){ .kind = ARG_STRING, .s = t })

struct asked {
	const char *op, *rule;
};

/* Every rule that the tests below asked of an operator. */
static vec(struct asked) asked;
static struct arena asked_mem;

static bool was_asked(const char *op, const char *rule, size_t n)
{
	for (int i = 0; i < asked.n; i++)
		if (!strcmp(asked.at[i].op, op) && !strncmp(asked.at[i].rule, rule, n) && !asked.at[i].rule[n])
			return true;
	return false;
}

static void record(const struct graph *g, const struct node *n)
{
	struct verdict v = rule_judge(g, n, &asked_mem);

	for (int i = 0; i < v.nchecks; i++)
		if (!was_asked(n->op->name, v.check[i].rule, strlen(v.check[i].rule))) {
			vec_push(&asked_mem, &asked, ((struct asked){ n->op->name, v.check[i].rule }));
		}
}

/* The verdict on the node that makes v; text may be the part that matters. code NULL: taken. */
static void expect(struct lab *lab, struct value *v, const char *code, const char *text)
{
	struct arena a = { 0 };
	struct verdict got = xnn_verdict(lab->g, v->def, &a);

	record(lab->g, v->def);
	if ((!code) != (got.kind == VERDICT_TAKES) || (code && (strcmp(got.code, code) || !strstr(got.text, text))))
		fail_msg("%s: %s (%s), expected %s (%s)", v->def->op->name, got.code ? got.code : "taken", got.text ? got.text : "", code, text);
	assert_true(got.nchecks > 0);
	arena_free(&a);
}

#define TAKES(op, ...) do { LAB; expect(lab, lab_node(lab, op, __VA_ARGS__), NULL, NULL); lab_free(lab); } while (0)
#define DECLINES(code, text, op, ...) \
	do { LAB; expect(lab, lab_node(lab, op, __VA_ARGS__), code, text); lab_free(lab); } while (0)

static void what_all_rules_ask(void **state)
{
	LAB;
	struct value *i = lab_input(lab, DTYPE_I64, SIZES(2)), *h = lab_input(lab, DTYPE_F16, SIZES(2)), *none, *d;

	expect(lab, lab_node(lab, "aten.abs.default", V(i)), "dtype", "i64[2], must be f32 or f16");
	expect(lab, lab_node(lab, "aten.mul.Tensor", V(h), INPUT(2)), "mixed_dtypes", "f16 and f32");
	expect(lab, lab_node(lab, "aten.relu.default", V(h)), NULL, NULL);
	none = lab_input(lab, F, SIZES(0, 4));
	expect(lab, lab_node(lab, "aten.relu.default", V(none)), "shape", "empty");
	expect(lab, lab_node(lab, "aten.relu.default", INPUT(1, 1, 1, 1, 1, 1, 2)), "rank", "7 dimensions");
	expect(lab, lab_node(lab, "aten.relu.default", INPUT(1, 1, 1, 1, 1, 2)), NULL, NULL);
	d = lab_node(lab, "aten.sum.dim_IntList", INPUT(2, 3), INTS(1), B(false), NONE);
	expect(lab, d, "no_rule", "no XNNPACK rule for aten.sum.dim_IntList");
	lab_free(lab);
}

static void every_check_is_recorded(void **state)
{
	LAB;
	struct arena a = { 0 };
	struct value *v = lab_node(lab, "aten.avg_pool2d.default", INPUT(1, 1, 4, 4), INTS(2, 2), INTS(2, 2), INTS(1, 1), B(true), B(true), I(3));
	struct verdict got = xnn_verdict(lab->g, v->def, &a);
	int failed = 0;

	for (int i = 0; i < got.nchecks; i++) {
		failed += !got.check[i].ok;
		assert_true(got.check[i].ok == !got.check[i].found);
		assert_non_null(got.check[i].rule);
	}
	assert_int_equal(failed, 3);	/* ceil mode, counted padding, divisor */
	assert_string_equal(got.text, "ceil mode is not supported");
	arena_free(&a);
	lab_free(lab);
}

static void elementwise(void **state)
{
	TAKES("aten.add.Tensor", INPUT(2), INPUT(2), I(1));
	DECLINES("argument", "alpha is 2, must be 1", "aten.add.Tensor", INPUT(2), INPUT(2), I(2));
	DECLINES("argument", "alpha is 0.5", "aten.sub.Tensor", INPUT(2), INPUT(2), D(0.5));
	TAKES("aten.pow.Tensor_Scalar", INPUT(2), I(2));
	DECLINES("argument", "exponent must be 2, is 0.5", "aten.pow.Tensor_Scalar", INPUT(2), D(0.5));
	DECLINES("argument", "the real number 2", "aten.pow.Tensor_Scalar", INPUT(2), D(2));
	DECLINES("argument", "is 3", "aten.pow.Tensor_Scalar", INPUT(2), I(3));
	TAKES("aten.gelu.default", INPUT(2), TEXT("none"));
	DECLINES("argument", "approximate is 'tanh'", "aten.gelu.default", INPUT(2), TEXT("tanh"));
	DECLINES("no_rule", "switched off", "aten.elu.default", INPUT(2), D(1), D(1), D(1));
	TAKES("aten.clamp.default", INPUT(2), D(0), NONE);
	DECLINES("argument", "bounds", "aten.clamp.default", INPUT(2), D(1), D(1));
	TAKES("aten.hardtanh.default", INPUT(2), D(0), D(6));
	DECLINES("argument", "bounds", "aten.hardtanh.default", INPUT(2), D(6), D(0));
	TAKES("aten.prelu.default", INPUT(1, 3, 2, 2), CONST(3));
	DECLINES("rank", "must have 4", "aten.prelu.default", INPUT(1, 3, 2), CONST(3));
	DECLINES("weight_not_static", "its weight is an input", "aten.prelu.default", INPUT(1, 3, 2, 2), INPUT(3));
	DECLINES("no_rule", "no XNNPACK rule for aten.mul.Scalar", "aten.mul.Scalar", INPUT(2), D(2));
}

static void half_gelu(void **state)
{
	LAB;

	expect(lab, lab_node(lab, "aten.gelu.default", V(lab_input(lab, DTYPE_F16, SIZES(2))), TEXT("none")), "dtype", "f16");
	lab_free(lab);
}

static void shapes(void **state)
{
	TAKES("aten.permute_copy.default", INPUT(2, 3), INTS(1, 0));
	TAKES("aten.unsqueeze_copy.default", INPUT(2, 3), I(-1));
	TAKES("aten.unsqueeze_copy.default", INPUT(2, 3), I(2));
	DECLINES("argument", "unsqueeze at 0", "aten.unsqueeze_copy.default", INPUT(2, 3), I(0));
	TAKES("aten.view_copy.default", INPUT(2, 3), INTS(3, -1));
	TAKES("aten.slice_copy.Tensor", INPUT(6), I(0), I(1), I(4), I(1));
	DECLINES("argument", "step is 2", "aten.slice_copy.Tensor", INPUT(6), I(0), I(0), I(6), I(2));
	DECLINES("shape", "slice is empty", "aten.slice_copy.Tensor", INPUT(6), I(0), I(4), I(4), I(1));
	TAKES("aten.constant_pad_nd.default", INPUT(2, 3), INTS(1, 2), D(3));
	DECLINES("argument", "negative padding", "aten.constant_pad_nd.default", INPUT(2, 3), INTS(-1, 2), D(3));
	TAKES("aten._softmax.default", INPUT(2, 3), I(1), B(false));
	TAKES("aten._softmax.default", INPUT(2, 3), I(-1), B(false));
	DECLINES("argument", "dim is 0, must be the last (1)", "aten._softmax.default", INPUT(2, 3), I(0), B(false));
}

static void cat_needs_two(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2)), *y = lab_input(lab, F, SIZES(2));

	expect(lab, lab_node(lab, "aten.cat.default", VALUES(x, y), I(0)), NULL, NULL);
	expect(lab, lab_node(lab, "aten.cat.default", VALUES(x, y, x, x, x, x, y), I(0)), NULL, NULL);
	expect(lab, lab_node(lab, "aten.cat.default", VALUES(x, x), I(0)), "argument", "needs at least 2 different tensors, has 1");
	lab_free(lab);
}

static void dim_orders(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(1, 2, 3, 4));

	expect(lab, lab_node(lab, "dim_order_ops._to_dim_order_copy.default", V(x), NONE, NONE, NONE, NONE, B(false), INTS(0, 2, 3, 1)), NULL, NULL);
	expect(lab, lab_node(lab, "dim_order_ops._to_dim_order_copy.default", V(x), I(DTYPE_F16), NONE, NONE, NONE, B(false), INTS(0, 1, 2, 3)),
	       "dtype", "dtype conversion from f32 to f16");
	expect(lab, lab_node(lab, "dim_order_ops._clone_dim_order.default", V(x), B(false), INTS(0, 1, 2, 3)), NULL, NULL);
	expect(lab, lab_node(lab, "dim_order_ops._clone_dim_order.default", V(x), B(false), INTS(0, 2, 3, 1)), "memory_format", "dim order");
	expect(lab, lab_node(lab, "aten.clone.default", V(x), NONE), NULL, NULL);
	lab_free(lab);
}

static void dynamic_sizes(void **state)
{
	LAB;
	struct value *x = graph_value(lab->g, VALUE_INPUT, F, SIZES(8, 6)), *n, *y;

	x->dynamic = true;
	graph_add_input(lab->g, x, arg_none());
	expect(lab, lab_node(lab, "aten.relu.default", V(x)), NULL, NULL);
	expect(lab, lab_node(lab, "aten.view_copy.default", V(x), INTS(-1, 3)), NULL, NULL);
	expect(lab, lab_node(lab, "aten.slice_copy.Tensor", V(x), I(0), I(0), I(2), I(1)), "dynamic_shape", "a slice needs static sizes");
	expect(lab, lab_node(lab, "aten.unsqueeze_copy.default", V(x), I(-1)), "dynamic_shape", "more than one dimension");
	y = graph_value(lab->g, VALUE_INPUT, F, SIZES(8, 1));
	y->dynamic = true;
	expect(lab, lab_node(lab, "aten.unsqueeze_copy.default", V(y), I(-1)), NULL, NULL);
	n = graph_value(lab->g, VALUE_INPUT, DTYPE_I64, 0, NULL);
	n->scalar = true;
	y = lab_node(lab, "aten.relu.default", V(x));
	y = node_add_output(lab->g, graph_node(lab->g, NULL, op_find("aten.view_copy.default"),
					       (struct arg[]){ V(y), arg_values(lab->g, (struct value *[]){ n, n }, 2) }, 2), F, 2, x->size);
	expect(lab, y, "dynamic_shape", "invalid dtype");
	lab_free(lab);
}

static void pooling(void **state)
{
	TAKES("aten.avg_pool2d.default", INPUT(1, 1, 4, 4), INTS(2, 2), INTS(), INTS(0), B(false), B(true), NONE);
	TAKES("aten.avg_pool2d.default", INPUT(1, 1, 4, 4), INTS(2, 2), INTS(), INTS(1), B(false), B(false), I(4));
	DECLINES("argument", "is counted in the average", "aten.avg_pool2d.default", INPUT(1, 1, 4, 4), INTS(2, 2), INTS(), INTS(1), B(false), B(true), NONE);
	DECLINES("argument", "divisor override 3", "aten.avg_pool2d.default", INPUT(1, 1, 4, 4), INTS(2, 2), INTS(), INTS(0), B(false), B(true), I(3));
	DECLINES("rank", "3 dimensions, must have 4", "aten.avg_pool2d.default", INPUT(1, 4, 4), INTS(2, 2), INTS(), INTS(0), B(false), B(true), NONE);
	TAKES("aten.max_pool2d.default", INPUT(1, 1, 4, 4), INTS(2, 2), INTS(2), INTS(1), INTS(1), B(true));
	DECLINES("argument", "stride 3 exceeds the window's 2", "aten.max_pool2d.default", INPUT(1, 1, 9, 9), INTS(2, 2), INTS(3, 3), INTS(0), INTS(1), B(false));
	DECLINES("rank", "must have 4", "aten.max_pool2d.default", INPUT(1, 4, 4), INTS(2, 2), INTS(2), INTS(0), INTS(1), B(false));
	TAKES("aten.max_pool2d_with_indices.default", INPUT(1, 1, 4, 4), INTS(2, 2), INTS(2), INTS(1), INTS(1), B(true));
	TAKES("aten.max.dim", INPUT(1, 2, 3, 4), I(3), B(true));
	DECLINES("argument", "dim is -1, must be 2 or 3", "aten.max.dim", INPUT(1, 2, 3, 4), I(-1), B(true));
	DECLINES("argument", "keepdim", "aten.max.dim", INPUT(1, 2, 3, 4), I(2), B(false));
	DECLINES("argument", "dim is 1, must be 2 or 3", "aten.max.dim", INPUT(1, 2, 3, 4), I(1), B(true));
	DECLINES("rank", "must have 4", "aten.max.dim", INPUT(2, 3, 4), I(2), B(true));
	TAKES("aten.mean.dim", INPUT(1, 2, 3, 4), INTS(-1, -2), B(true), NONE);
	DECLINES("argument", "two innermost", "aten.mean.dim", INPUT(1, 2, 3, 4), INTS(1, 2), B(true), NONE);
	DECLINES("argument", "keepdim", "aten.mean.dim", INPUT(1, 2, 3, 4), INTS(2, 3), B(false), NONE);
	DECLINES("rank", "must have 4", "aten.mean.dim", INPUT(2, 3, 4), INTS(1, 2), B(true), NONE);
	DECLINES("dtype", "a dtype is given", "aten.mean.dim", INPUT(1, 2, 3, 4), INTS(2, 3), B(true), I(F));
	TAKES("aten.upsample_bilinear2d.vec", INPUT(1, 2, 3, 4), INTS(6, 8), B(false), NONE);
}

static void indices_that_are_read(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(1, 2, 4, 4));
	struct value *y = lab_node(lab, "aten.max_pool2d_with_indices.default", V(x), INTS(2, 2), INTS(2), INTS(0), INTS(1), B(false));

	expect(lab, y, NULL, NULL);
	lab_output(lab, y->def->out[1]);
	expect(lab, y, "argument", "the indices are used");
	y = lab_node(lab, "aten.max.dim", V(x), I(2), B(true));
	lab_output(lab, y->def->out[1]);
	expect(lab, y, "argument", "the indices are used");
	lab_free(lab);
}

static void linears(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 4)), *w = lab_constant(lab, F, -1, 1, SIZES(3, 4)), *b = lab_constant(lab, F, -1, 1, SIZES(3));
	struct value *g = lab_constant(lab, F, -1, 1, SIZES(3, 1)), *s = graph_value(lab->g, VALUE_STATE, F, SIZES(3, 4)), *v;

	s->state_slot = 0;
	s->name = "cache";
	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(w), V(b)), NULL, NULL);
	expect(lab, lab_node(lab, "aten.linear.default", V(x), INPUT(3, 4), NONE), "weight_not_static", "its weight is an input");
	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(s), NONE), "weight_is_buffer", "the buffer cache");
	v = lab_node(lab, "aten.mul.Tensor", V(lab_node(lab, "aten.sigmoid.default", V(w))), V(g));
	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(v), NONE), "weight_not_static", "its weight is computed from 2 parameters by 2 nodes");
	v = lab_node(lab, "aten.mul.Tensor", V(s), V(g));
	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(v), NONE), "weight_not_static", "at run time from the buffer cache");
	v = lab_node(lab, "aten.relu.default", V(b));
	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(w), V(v)), "bias_not_static", "its bias is computed from 1 parameter by 1 node");
	lab_free(lab);
}

static void addmm(void **state)
{
	TAKES("aten.mm.default", INPUT(2, 4), CONST(4, 3));
	DECLINES("weight_not_static", "its weight is an input", "aten.mm.default", INPUT(2, 4), INPUT(4, 3));
	TAKES("aten.addmm.default", CONST(3), INPUT(2, 4), CONST(4, 3), I(1), I(1));
	DECLINES("argument", "alpha is 2", "aten.addmm.default", CONST(3), INPUT(2, 4), CONST(4, 3), I(1), I(2));
	DECLINES("argument", "beta is 0.5", "aten.addmm.default", CONST(3), INPUT(2, 4), CONST(4, 3), D(0.5), I(1));
	DECLINES("shape", "must be 1-D with 3", "aten.addmm.default", CONST(2, 3), INPUT(2, 4), CONST(4, 3), I(1), I(1));
	DECLINES("shape", "must be 1-D with 3", "aten.addmm.default", CONST(1), INPUT(2, 4), CONST(4, 3), I(1), I(1));
	TAKES("aten.bmm.default", INPUT(2, 3, 4), INPUT(2, 4, 3));
}

#define CONV_OF(lab, x, w, b, dims, transposed, groups) \
	lab_node(lab, "aten.convolution.default", x, w, b, dims(1), dims(0), dims(1), B(transposed), dims(0), I(groups))
#define CONV(lab, x, w, dims) CONV_OF(lab, x, w, NONE, dims, false, 1)
#define ONE(i) INTS(i)
#define TWO(i) INTS(i, i)
#define THREE(i) INTS(i, i, i)

static void convolutions(void **state)
{
	LAB;

	expect(lab, CONV(lab, INPUT(1, 2, 8), CONST(3, 2, 3), ONE), NULL, NULL);
	expect(lab, CONV(lab, INPUT(1, 2, 8, 8), CONST(3, 2, 3, 3), TWO), NULL, NULL);
	expect(lab, CONV(lab, INPUT(1, 2, 8, 8), INPUT(3, 2, 3, 3), TWO), "weight_not_static", "its weight is an input");
	expect(lab, node_add_output(lab->g, graph_node(lab->g, NULL, op_find("aten.convolution.default"),
		(struct arg[]){ INPUT(1, 2, 8, 8, 8), CONST(3, 2, 3, 3, 3), NONE, THREE(1), THREE(0), THREE(1), B(false), THREE(0), I(1) }, 9),
		F, SIZES(1, 3, 6, 6, 6)), "rank", "convolution is 3-D");
	expect(lab, CONV_OF(lab, INPUT(1, 2, 8, 8), CONST(3, 2, 3, 3), INPUT(3), TWO, false, 1), "bias_not_static", "its bias is an input");
	lab_free(lab);
}

static void batch_norm(void **state)
{
	LAB;
	struct value *v = lab_node(lab, "aten._native_batch_norm_legit_no_training.default", INPUT(1, 3, 2, 2), CONST(3), NONE, CONST(3), CONST(3), D(0.1), D(1e-5));

	expect(lab, v, NULL, NULL);
	v = lab_node(lab, "aten._native_batch_norm_legit_no_training.default", INPUT(1, 3, 2, 2), CONST(3), NONE, INPUT(3), CONST(3), D(0.1), D(1e-5));
	expect(lab, v, "weight_not_static", "running mean is an input");
	v = lab_node(lab, "aten._native_batch_norm_legit_no_training.default", INPUT(1, 3, 2), CONST(3), INPUT(3), CONST(3), CONST(3), D(0.1), D(1e-5));
	expect(lab, v, "bias_not_static", "its bias is an input");
	lab_free(lab);
}

/* int8 behind a dequantise node, with one scale. */
static struct value *dq(struct lab *lab, struct value *v, double scale, int zero)
{
	return lab_node(lab, "quantized_decomposed.dequantize_per_tensor.default", V(v), D(scale), I(zero), I(-128), I(127), I(DTYPE_I8), NONE);
}

static struct value *quant(struct lab *lab, struct value *v, double scale, int zero)
{
	return lab_node(lab, "quantized_decomposed.quantize_per_tensor.default", V(v), D(scale), I(zero), I(-128), I(127), I(DTYPE_I8));
}

static void static_quantisation(void **state)
{
	LAB;
	struct value *x = dq(lab, lab_input(lab, DTYPE_I8, SIZES(2, 4)), 0.1, 3), *w = dq(lab, lab_constant(lab, DTYPE_I8, -128, 128, SIZES(3, 4)), 0.02, 0);
	struct value *v = lab_node(lab, "aten.linear.default", V(x), V(w), NONE);

	expect(lab, v, "quant_params", "output is not quantised");
	quant(lab, v, 0.2, 0);
	expect(lab, v, NULL, NULL);
	expect(lab, w, NULL, NULL);		/* goes along with it */
	expect(lab, x, NULL, NULL);
	expect(lab, dq(lab, x->def->arg[0].value, 0.2, 3), "quant_params", "read with different scales");
	v = lab_node(lab, "aten.linear.default", INPUT(2, 4), V(w), NONE);
	expect(lab, v, "quant_params", "weight-only quantisation");
	v = lab_node(lab, "aten.linear.default", V(x), V(dq(lab, lab_constant(lab, DTYPE_I8, -128, 128, SIZES(3, 4)), 0.02, 5)), NONE);
	quant(lab, v, 0.2, 0);
	expect(lab, v, "quant_params", "zero points other than 0");
	lab_free(lab);
}

static void slices_of_integers(void **state)
{
	LAB;
	struct value *x = dq(lab, lab_input(lab, DTYPE_I8, SIZES(2, 4)), 0.1, 3), *v;

	v = lab_node(lab, "aten.slice_copy.Tensor", V(x), I(1), I(0), I(2), I(1));
	quant(lab, v, 0.2, 3);
	expect(lab, v, "quant_params", "before and after the slice differs");
	lab_free(lab);
}

/* int8 or, in -8..7, int4 weights with a scale for each index of an axis. */
static struct value *channel_weight(struct lab *lab, int64_t axis, int low, int high, int rank, const int64_t *size)
{
	struct value *scale = lab_constant(lab, F, 0.01, 0.1, 1, &size[axis]);

	return lab_node(lab, "quantized_decomposed.dequantize_per_channel.default", V(lab_constant(lab, DTYPE_I8, low, high, rank, size)),
			V(scale), NONE, I(axis), I(low), I(high - 1), I(DTYPE_I8), NONE);
}

static void int8_bias(struct lab *lab, struct value *x, const char *code, const char *text)
{
	struct value *w = dq(lab, lab_constant(lab, DTYPE_I8, -128, 128, SIZES(3, 4)), 0.02, 0), *b, *v;

	b = lab_node(lab, "quantized_decomposed.dequantize_per_tensor.default", V(lab_constant(lab, DTYPE_I32, -9, 9, SIZES(3))), D(0.002), I(0),
		     I(INT32_MIN), I(INT32_MAX), I(DTYPE_I32), NONE);
	v = lab_node(lab, "aten.linear.default", V(x), V(w), V(b));
	quant(lab, v, 0.2, 0);
	expect(lab, v, code, text);
}

static void biases_of_integers(void **state)
{
	LAB;

	int8_bias(lab, dq(lab, lab_input(lab, DTYPE_I8, SIZES(2, 4)), 0.1, 3), NULL, NULL);
	int8_bias(lab, lab_input(lab, F, SIZES(2, 4)), "quant_params", "bias is quantised, activation and weight are not");
	lab_free(lab);
}

static void unsigned_quantisation(void **state)
{
	LAB;
	struct value *x = lab_node(lab, "quantized_decomposed.dequantize_per_tensor.default", V(lab_input(lab, DTYPE_U8, SIZES(2, 4))), D(0.1), I(3), I(0), I(255), I(DTYPE_U8), NONE);

	expect(lab, x, "dtype", "u8");
	expect(lab, lab_node(lab, "quantized_decomposed.quantize_per_tensor.default", INPUT(2), D(0.1), I(3), I(0), I(255), I(DTYPE_U8)), "dtype", "u8");
	expect(lab, quant(lab, lab_input(lab, F, SIZES(2)), 0.1, 0), NULL, NULL);
	lab_free(lab);
}

static void zeros_around_a_quantised_image(void **state)
{
	static const struct { double fill; int64_t channels; const char *code; } at[] = { { 0, 0, NULL }, { 1, 0, "quant_params" }, { 0, 1, "quant_params" } };

	for (int i = 0; i < 3; i++) {
		LAB;
		struct value *x = dq(lab, quant(lab, lab_input(lab, F, SIZES(1, 4, 6, 7)), 0.1, 3), 0.1, 3);
		struct value *w = dq(lab, lab_constant(lab, DTYPE_I8, -127, 128, SIZES(8, 4 + at[i].channels, 2, 2)), 0.1, 0), *v;

		v = lab_node(lab, "aten.constant_pad_nd.default", V(x), INTS(0, 1, 1, 0, 0, at[i].channels), D(at[i].fill));
		v = lab_node(lab, "aten.convolution.default", V(v), V(w), NONE, INTS(1, 1), INTS(0, 0), INTS(1, 1), B(false), INTS(0, 0), I(1));
		lab_output(lab, quant(lab, v, 0.2, 0));
		expect(lab, v, at[i].code, "weight-only");
		lab_free(lab);
	}
}

/* XNNPACK saturates where int8 ends; a dequantise node has nothing to saturate. */
static void narrow_ranges(void **state)
{
	LAB;
	struct arg x = V(lab_input(lab, DTYPE_I8, SIZES(2)));

	expect(lab, lab_node(lab, "quantized_decomposed.dequantize_per_tensor.default", x, D(0.1), I(0), I(-127), I(127), I(DTYPE_I8), NONE), NULL, NULL);
	expect(lab, lab_node(lab, "quantized_decomposed.quantize_per_tensor.default", INPUT(2), D(0.1), I(0), I(-127), I(127), I(DTYPE_I8)), "quant_params",
	       "-127 to 127");
	lab_free(lab);
}

static struct value *dynamic_activation(struct lab *lab, struct value *x)
{
	struct value *scale = lab_node(lab, "quantized_decomposed.choose_qparams.tensor", V(x), I(-128), I(127), D(1e-7), I(DTYPE_I8));
	struct value *zero = scale->def->out[1];
	struct value *q = lab_node(lab, "quantized_decomposed.quantize_per_tensor.tensor", V(x), V(scale), V(zero), I(-128), I(127), I(DTYPE_I8));

	return lab_node(lab, "quantized_decomposed.dequantize_per_tensor.tensor", V(q), V(scale), V(zero), I(-128), I(127), I(DTYPE_I8), NONE);
}

static struct value *group_weight(struct lab *lab, int64_t out, int64_t in, int64_t group, int low, int high)
{
	return lab_node(lab, "quantized_decomposed.dequantize_per_channel_group.default", V(lab_constant(lab, DTYPE_I8, low, high, SIZES(out, in))),
			V(lab_constant(lab, F, 0.01, 0.1, SIZES(out, in / group))), NONE, I(low), I(high - 1), I(DTYPE_I8), I(group), NONE);
}

static void dynamic_quantisation(void **state)
{
	LAB;
	struct value *x = dynamic_activation(lab, lab_input(lab, F, SIZES(2, 64)));
	struct value *w = lab_node(lab, "quantized_decomposed.dequantize_per_channel.default", V(lab_constant(lab, DTYPE_I8, -128, 128, SIZES(3, 64))),
				   V(lab_constant(lab, F, 0.01, 0.1, SIZES(3))), NONE, I(0), I(-128), I(127), I(DTYPE_I8), NONE);

	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(w), NONE), NULL, NULL);
	expect(lab, x, NULL, NULL);
	expect(lab, x->def->arg[0].value, NULL, NULL);
	expect(lab, w, NULL, NULL);
	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(group_weight(lab, 3, 64, 32, -8, 8)), NONE), NULL, NULL);
	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(group_weight(lab, 3, 64, 16, -8, 8)), NONE), "quant_params", "int4 group size is 16");
	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(group_weight(lab, 3, 64, 32, -128, 128)), NONE), "quant_params", "int8 weights in groups of 32");
	expect(lab, lab_node(lab, "aten.linear.default", INPUT(2, 64), V(group_weight(lab, 3, 64, 32, -8, 8)), NONE), "quant_params",
	       "weight-only quantisation");
	w = lab_node(lab, "aten.permute_copy.default", V(group_weight(lab, 3, 64, 32, -8, 8)), INTS(1, 0));
	expect(lab, lab_node(lab, "aten.addmm.default", CONST(3), INPUT(2, 64), V(w), I(1), I(1)), "quant_params", "weight-only quantisation");
	w = dq(lab, lab_constant(lab, DTYPE_I8, -128, 128, SIZES(3, 64)), 0.02, 0);
	expect(lab, lab_node(lab, "aten.linear.default", V(x), V(w), NONE), "quant_params", "it is per tensor");
	lab_free(lab);
}

static void axes_of_scales(void **state)
{
	LAB;
	struct value *x = dynamic_activation(lab, lab_input(lab, F, SIZES(2, 64)));
	struct value *w = channel_weight(lab, 1, -128, 128, SIZES(64, 3)), *four = channel_weight(lab, 1, -8, 8, SIZES(64, 3));

	expect(lab, lab_node(lab, "aten.mm.default", V(x), V(w)), NULL, NULL);
	expect(lab, lab_node(lab, "aten.addmm.default", CONST(3), V(x), V(w), I(1), I(1)), NULL, NULL);
	expect(lab, lab_node(lab, "aten.mm.default", V(x), V(four)), "quant_params", "an int4 weight must be [out, in]");
	expect(lab, lab_node(lab, "aten.addmm.default", CONST(3), V(x), V(four), I(1), I(1)), "quant_params", "an int4 weight must be [out, in]");
	w = channel_weight(lab, 0, -128, 128, SIZES(64, 3));
	expect(lab, lab_node(lab, "aten.mm.default", V(x), V(w)), "quant_params", "a scale for each index of axis 0, must be 1");
	lab_free(lab);
}

static void convolutions_of_integers(void **state)
{
	LAB;
	struct value *x = dynamic_activation(lab, lab_input(lab, F, SIZES(1, 2, 8, 8)));

	expect(lab, CONV(lab, V(x), V(channel_weight(lab, 0, -128, 128, SIZES(3, 2, 3, 3))), TWO), NULL, NULL);
	expect(lab, CONV_OF(lab, V(x), V(channel_weight(lab, 0, -128, 128, SIZES(4, 1, 3, 3))), NONE, TWO, false, 2), "quant_params",
	       "dynamic quantisation of a depthwise convolution");
	expect(lab, CONV_OF(lab, V(x), V(channel_weight(lab, 0, -128, 128, SIZES(2, 3, 3, 3))), NONE, TWO, true, 1), "quant_params",
	       "transposed convolution per channel has 1 groups and axis 0");
	expect(lab, CONV(lab, V(x), V(channel_weight(lab, 0, -8, 8, SIZES(3, 2, 3, 3))), TWO), "quant_params", "must be int8 per tensor or channel");
	lab_free(lab);
}

/* Rows that only go along: alone, they have no rule. */
static void parts_alone(void **state)
{
	LAB;

	for (const struct xrule *const *f = xrule_families; *f; f++)
		for (const struct xrule *x = *f; x->op; x++)
			if (x->flags & XRULE_PART) {
				struct node n = { .op = op_find(x->op), .group = -1 };

				record(lab->g, &n);
			}
	lab_free(lab);
}

static void a_dequantise_node_alone_has_no_rule(void **state)
{
	LAB;
	struct value *w = group_weight(lab, 3, 64, 32, -8, 8);

	expect(lab, w, "no_rule", "on its own");
	lab_output(lab, lab_node(lab, "aten.relu.default", V(w)));
	expect(lab, w, "no_rule", "on its own");
	lab_free(lab);
}

/* A linear as the exporter decomposes it: its parts have the verdict of the whole. */
static void parts_of_a_linear(void **state)
{
	LAB;
	struct value *x = lab_input(lab, F, SIZES(2, 3, 4)), *w = lab_constant(lab, F, -1, 1, SIZES(5, 4));
	struct value *v = lab_node(lab, "aten.view_copy.default", V(x), INTS(6, 4)), *p = lab_node(lab, "aten.permute_copy.default", V(w), INTS(1, 0));
	struct value *y = lab_node(lab, "aten.addmm.default", CONST(5), V(v), V(p), I(1), I(1)), *z;

	z = lab_node(lab, "aten.view_copy.default", V(y), INTS(2, 3, 5));
	lab_output(lab, z);
	expect(lab, p, NULL, NULL);
	expect(lab, y, NULL, NULL);
	expect(lab, z, NULL, NULL);
	z = lab_node(lab, "aten.permute_copy.default", V(lab_node(lab, "aten.relu.default", V(w))), INTS(1, 0));
	expect(lab, lab_node(lab, "aten.mm.default", INPUT(2, 4), V(z)), "weight_not_static", "from 1 parameter by 2 nodes, last by aten.permute_copy");
	p->def->group = graph_add_group(lab->g, 0);	/* as filed: the exporter delegated the permute, and not the product */
	expect(lab, y, "weight_not_static", "computed from 1 parameter by 1 node");
	lab_free(lab);
}

/* Whether the rule stands in a list of them, as it is or behind a condition. */
static bool is_listed(const char *rules, const char *rule)
{
	size_t n = strlen(rule);

	for (const char *at = rules; (at = strstr(at, rule)); at++)
		if ((at == rules || at[-2] == ';' || at[-2] == ':') && (!at[n] || at[n] == ';'))
			return true;
	return false;
}

static int never_asked(const char *op, const char *rules)
{
	int wrong = 0;

	for (const char *end; *rules; rules = *end ? end + 2 : end) {
		const char *rule = rules;

		end = strstr(rules, "; ") ? strstr(rules, "; ") : rules + strlen(rules);
		for (const char *p = rules; p < end; p++)
			rule = *p == ':' ? p + 2 : rule;
		if (was_asked(op, rule, (size_t)(end - rule)))
			continue;
		print_message("%s: nothing asks \"%.*s\"\n", op, (int)(end - rule), rule);
		wrong++;
	}
	return wrong;
}

/* --list-ops tells what the checks ask, in their words: all of it, and nothing else. */
static void constraints_are_what_is_asked(void **state)
{
	int wrong = never_asked("aten.relu.default", xrule_common) + never_asked("aten.linear.default", xrule_quantized);

	for (const struct xrule *const *f = xrule_families; *f; f++)
		for (const struct xrule *x = *f; x->op; x++)
			wrong += never_asked(x->op, x->constraints);
	for (int i = 0; i < asked.n; i++) {
		const struct op *op = op_find(asked.at[i].op);
		const struct xrule *x = xrule_find(op);
		const char *rule = asked.at[i].rule;

		if (!x || is_listed(xrule_common, rule) || is_listed(x->constraints, rule) ||
		    (op->flags & OP_GEMM && is_listed(xrule_quantized, rule)) || !strcmp(rule, "XNNPACK has a rule for it"))
			continue;
		print_message("%s: \"%s\" is asked, and no constraint\n", op->name, rule);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_all_rules_ask),
		cmocka_unit_test(every_check_is_recorded),
		cmocka_unit_test(elementwise),
		cmocka_unit_test(half_gelu),
		cmocka_unit_test(shapes),
		cmocka_unit_test(cat_needs_two),
		cmocka_unit_test(dim_orders),
		cmocka_unit_test(dynamic_sizes),
		cmocka_unit_test(pooling),
		cmocka_unit_test(indices_that_are_read),
		cmocka_unit_test(linears),
		cmocka_unit_test(addmm),
		cmocka_unit_test(convolutions),
		cmocka_unit_test(batch_norm),
		cmocka_unit_test(static_quantisation),
		cmocka_unit_test(slices_of_integers),
		cmocka_unit_test(biases_of_integers),
		cmocka_unit_test(unsigned_quantisation),
		cmocka_unit_test(narrow_ranges),
		cmocka_unit_test(zeros_around_a_quantised_image),
		cmocka_unit_test(dynamic_quantisation),
		cmocka_unit_test(axes_of_scales),
		cmocka_unit_test(convolutions_of_integers),
		cmocka_unit_test(parts_alone),
		cmocka_unit_test(a_dequantise_node_alone_has_no_rule),
		cmocka_unit_test(parts_of_a_linear),
		cmocka_unit_test(constraints_are_what_is_asked),
	};

	return RUN_TAP(tests);
}
