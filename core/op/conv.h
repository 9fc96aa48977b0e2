/* conv.h - what convolution and its gradient share: their arguments. */
#ifndef CORE_OP_CONV_H
#define CORE_OP_CONV_H

#include "core/op/kernel.h"

enum { CONV_SPATIAL = 3 };

struct conv_args {
	int nd;		/* spatial dimensions */
	int64_t stride[CONV_SPATIAL], pad[CONV_SPATIAL], dilation[CONV_SPATIAL], out_pad[CONV_SPATIAL], groups;
	bool transposed;
};

/* Reads stride, padding, dilation, transposed, output_padding and groups, which are arguments FIRST and on. One number
 * in a list stands for all dimensions. */
bool conv_read_args(struct call *c, int first, int nd, struct conv_args *a, struct error *err);

/* The output sizes of input and weight, groups and channels checked. */
bool conv_output(struct call *c, const struct conv_args *a, const struct tensor *in, const struct tensor *w, struct tensor *out,
		 struct error *err);

#endif
