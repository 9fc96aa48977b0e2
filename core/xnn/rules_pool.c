/* Pooling, reductions that XNNPACK does as pooling, and resizing: all work on 4-D images. */
#include "core/xnn/check.h"
#include "core/xnn/lowering.h"

enum { KERNEL = 1, STRIDE, PADDING };				/* avg_pool2d and max_pool2d */
enum { AVG_CEIL = 4, AVG_COUNT_PAD, AVG_DIVISOR };		/* avg_pool2d */
enum { MAX_DILATION = 4, MAX_CEIL };				/* max_pool2d */

static bool read_window(struct rule_run *r, const struct node *n, int64_t *kernel, int64_t *stride, int64_t *pad)
{
	bool ok = node_ints_spread(n, KERNEL, 0, kernel, 2) && node_ints_spread(n, STRIDE, 0, stride, 2) &&
		  node_ints_spread(n, PADDING, 0, pad, 2);

	for (int i = 0; ok && i < 2; i++)
		stride[i] = stride[i] ? stride[i] : kernel[i];
	return rule_check(r, ok, "window, stride and padding are literals", "argument",
			  "window, stride or padding is no literal pair");
}

static void accept_avg_pool(struct rule_run *r, const struct node *n)
{
	int64_t kernel[2], stride[2], pad[2], divisor = node_int(n, AVG_DIVISOR, 0);

	check_tensors(r);
	check_rank(r, node_input(n, 0), 4, 4);
	if (!read_window(r, n, kernel, stride, pad))
		return;
	rule_check(r, !node_int(n, AVG_CEIL, 0), "no ceil mode", "argument", "ceil mode is not supported");
	rule_check(r, !node_int(n, AVG_COUNT_PAD, 1) || (!pad[0] && !pad[1]),
		   "padding is not counted in the average", "argument",
		   "padding %lld, %lld is counted in the average (count_include_pad)", (long long)pad[0],
		   (long long)pad[1]);
	rule_check(r, !divisor || divisor == kernel[0] * kernel[1], "no divisor override", "argument",
		   "divisor override %lld is not the window's %lld elements", (long long)divisor,
		   (long long)(kernel[0] * kernel[1]));
}

static void accept_max_pool(struct rule_run *r, const struct node *n)
{
	int64_t kernel[2], stride[2], pad[2];
	const struct value *in = node_input(n, 0);

	check_first_output(r, "the indices");	/* they are integers: what is wrong is that they are read */
	check_tensors(r);
	check_rank(r, in, 4, 4);
	if (!read_window(r, n, kernel, stride, pad))
		return;
	for (int i = 0; i < 2; i++)
		rule_check(r, stride[i] <= kernel[i], i ? "stride is within the window's width" :
							  "stride is within the window's height",
			   "argument", "stride %lld exceeds the window's %lld", (long long)stride[i],
			   (long long)kernel[i]);
	if (node_int(n, MAX_CEIL, 0))
		check_static_shape(r, in, "ceil mode needs static sizes");
}

static void accept_max_dim(struct rule_run *r, const struct node *n)
{
	const struct value *in = node_input(n, 0);
	int64_t dim = node_int(n, 1, 0);

	if (!check_rank(r, in, 4, 4) || !check_first_output(r, "the indices"))
		return;
	check_tensors(r);
	rule_check(r, dim == 2 || dim == 3, "dim is 2 or 3", "argument", "dim is %lld, must be 2 or 3", (long long)dim);
	rule_check(r, node_int(n, 2, 0), "keepdim is true", "argument", "keepdim must be true");
	check_static_shape(r, in, "the window is the whole dimension");
}

static void accept_mean(struct rule_run *r, const struct node *n)
{
	const struct value *in = node_input(n, 0);
	int64_t dim[MAX_RANK];
	int count, have = 0;

	check_tensors(r);
	if (!check_rank(r, in, 4, 4))
		return;
	rule_check(r, n->nargs < 4 || n->arg[3].kind == ARG_NONE, "no dtype is given", "dtype", "a dtype is given");
	if (!node_ints(n, 1, dim, MAX_RANK, &count))
		count = 0;
	for (int i = 0; i < count; i++)
		have |= 1 << (dim[i] < 0 ? dim[i] + 4 : dim[i]);
	rule_check(r, count == 2 && have == (1 << 2 | 1 << 3), "reduces height and width", "argument",
		   "mean must be over the two innermost dimensions of a 4-D tensor");
	rule_check(r, node_int(n, 2, 0), "keepdim is true", "argument", "keepdim must be true");
}

static void accept_upsample(struct rule_run *r, const struct node *n)
{
	check_tensors(r);
	check_rank(r, node_input(n, 0), 4, 4);
	check_static_shape(r, n->nouts ? n->out[0] : NULL, "the output size is written into the delegate");
}

enum { F = PRECISION_FLOAT, FS = F | PRECISION_STATIC };

#define LITERALS "window, stride and padding are literals"
#define STRIDES "only the first output is read; input is 4-D; " LITERALS "; stride is within the window's height; " \
		"stride is within the window's width; in ceil mode: sizes are static"

const struct xrule rules_pool[] = {
	{ "aten.avg_pool2d.default", "AvgPooling2d", F,
	  "input is 4-D; " LITERALS "; no ceil mode; padding is not counted in the average; no divisor override",
	  accept_avg_pool, lower_avg_pool, 0, 0 },
	{ "aten.max_pool2d.default", "MaxPooling2d", FS, STRIDES, accept_max_pool, lower_max_pool,
	  X_MAX_POOLING_2D, XRULE_SAME_QUANT },
	{ "aten.max_pool2d_with_indices.default", "MaxPooling2d", FS, STRIDES, accept_max_pool, lower_max_pool,
	  X_MAX_POOLING_2D, XRULE_SAME_QUANT },
	{ "aten.max.dim", "MaxPooling2d", F,
	  "input is 4-D; only the first output is read; dim is 2 or 3; keepdim is true; sizes are static",
	  accept_max_dim, lower_max_dim, 0, 0 },
	{ "aten.mean.dim", "GlobalAvgPooling2d", FS,
	  "input is 4-D; no dtype is given; reduces height and width; keepdim is true", accept_mean, lower_mean, 0, 0 },
	{ "aten.upsample_bilinear2d.vec", "StaticResizeBilinear2D", F, "input is 4-D; sizes are static",
	  accept_upsample, lower_upsample, 0, 0 },
	{ 0 },
};
