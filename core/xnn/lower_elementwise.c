/* Lowering of operators that work element by element: in whatever layout their inputs have. */
#include "core/xnn/lowering.h"

static bool unary(struct xlower *x, const struct node *n, enum xtag tag, struct error *err)
{
	enum layout l = lower_layout(x, n);
	uint32_t in;

	if (!lower_in(x, n, node_input(n, 0), l, &in, err))
		return false;
	lower_emit_unary(x, n, tag, in, lower_out(x, n, l));
	return true;
}

bool lower_unary(struct xlower *x, const struct node *n, struct error *err)
{
	return unary(x, n, (enum xtag)lower_member(x, n)->rule->tag, err);
}

bool lower_clamp(struct xlower *x, const struct node *n, struct error *err)
{
	struct xnode *node;

	if (!unary(x, n, X_CLAMP, err))
		return false;
	node = &x->node.at[x->node.n - 1];
	node->has_min_max = true;
	return activation_bounds(n, &node->min, &node->max) ||
	       error_set(err, ERROR_UNSUPPORTED, "bounds are no numbers");
}

static bool with_number(struct xlower *x, const struct node *n, enum xtag tag, double number, struct error *err)
{
	enum layout l = lower_layout(x, n);
	struct xnode *node;
	uint32_t in, out;

	if (!lower_in(x, n, node_input(n, 0), l, &in, err))
		return false;
	out = lower_out(x, n, l);
	node = lower_node(x, n, tag);
	xnode_set_f32(node, XL_SLOPE, (float)number);
	node->field[XL_IN] = in;
	node->field[XL_OUT] = out;
	return true;
}

bool lower_leaky_relu(struct xlower *x, const struct node *n, struct error *err)
{
	return with_number(x, n, X_LEAKY_RELU, node_double(n, 1, 0.01), err);
}

bool lower_elu(struct xlower *x, const struct node *n, struct error *err)
{
	if (node_double(n, 2, 1) != 1 || node_double(n, 3, 1) != 1)
		return error_set(err, ERROR_UNSUPPORTED, "scale and input_scale of elu must be 1");
	return with_number(x, n, X_ELU, node_double(n, 1, 1), err);
}

static bool binary(struct xlower *x, const struct node *n, enum xtag tag, enum layout l, struct error *err)
{
	int rank = n->out[0]->rank;
	uint32_t in1, in2, out;
	struct xnode *node;

	if (!lower_in_broadcast(x, n, node_input(n, 0), rank, l, &in1, err) ||
	    !lower_in_broadcast(x, n, node_input(n, 1), rank, l, &in2, err))
		return false;
	out = lower_out(x, n, l);
	node = lower_node(x, n, tag);
	node->field[XB_IN1] = in1;
	node->field[XB_IN2] = in2;
	node->field[XB_OUT] = out;
	lower_bounds(x, n, node);
	return true;
}

bool lower_binary(struct xlower *x, const struct node *n, struct error *err)
{
	return binary(x, n, (enum xtag)lower_member(x, n)->rule->tag, lower_layout(x, n), err);
}

/* The slope is [C], along the last dimension in NHWC; one element goes with any layout. */
bool lower_prelu(struct xlower *x, const struct node *n, struct error *err)
{
	const struct value *in = node_input(n, 0), *slope = node_input(n, 1);
	uint32_t a, b, out;
	struct xnode *node;

	if (in->rank != 4)
		return error_set(err, ERROR_UNSUPPORTED, "input has %d dimensions, must have 4", in->rank);
	if (!lower_in(x, n, in, NHWC, &a, err) || !lower_in(x, n, slope, slope->rank == 4 ? NHWC : NCHW, &b, err))
		return false;
	if (slope->rank != 4 && slope->rank != 1)
		return error_set(err, ERROR_UNSUPPORTED, "slope has %d dimensions, must have 1", slope->rank);
	out = lower_out(x, n, NHWC);
	node = lower_node(x, n, X_PRELU);
	node->field[XB_IN1] = a;
	node->field[XB_IN2] = b;
	node->field[XB_OUT] = out;
	return true;
}
