/* aten.convolution_backward (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
 * output_padding, groups, output_mask): the gradients of a 2-D convolution, as stock has it. What the mask leaves out is
 * an empty tensor. */
#include "core/op/conv.h"
#include "core/op/plain.h"

#include <string.h>

static bool masked_in(struct call *c, int i)
{
	return call_item(c, 10, i) != 0;
}

static bool check_operands(struct call *c, struct error *err)
{
	struct tensor *grad, *in, *w;

	if (!call_check(c, err) || !call_dtype_in(c, 1, DTYPES_FLOAT, err) || !call_known(c, 10, err))
		return false;
	grad = call_tensor(c, 0), in = call_tensor(c, 1), w = call_tensor(c, 2);
	if (in->rank != 4 || w->rank != 4 || grad->rank != 4 || call_length(c, 10) != 3)
		return call_fail(c, err, "only 2-D convolutions, with a mask of three");
	if (grad->dtype != in->dtype || w->dtype != in->dtype)
		return call_fail(c, err, "gradient, input and weight must be of one dtype");
	return call_image_order(c, 0, err) && call_image_order(c, 1, err);
}

static bool backward_shape(struct call *c, struct error *err)
{
	struct tensor *grad, *in, *w, out;
	struct conv_args a;

	if (!check_operands(c, err) || !conv_read_args(c, 4, 2, &a, err))
		return false;
	grad = call_tensor(c, 0), in = call_tensor(c, 1), w = call_tensor(c, 2);
	if (a.transposed)
		return call_fail(c, err, "no gradients of transposed convolutions");
	if (!conv_output(c, &a, in, w, &out, err))
		return false;
	if (memcmp(out.size, grad->size, 4 * sizeof *out.size))
		return call_fail(c, err, "the gradient does not have the output's sizes");
	for (int i = 0; i < 3; i++)
		tensor_set_type(c->out[i], in->dtype, 1, (int64_t[]){ 0 });
	if (masked_in(c, 0))
		tensor_set_like(c->out[0], in);
	if (masked_in(c, 1))
		tensor_set_like(c->out[1], w);
	if (masked_in(c, 2))
		tensor_set_type(c->out[2], in->dtype, 1, (int64_t[]){ w->size[0] });
	return true;
}

/* One output channel against one input channel: sizes of planes [in, out], kernel, and where they lie. */
struct planes {
	int64_t in[2], out[2], k[2];
	const struct conv_args *a;
};

/* For each tap and output position o, with the input position i it meets: F. */
#define EACH_TAP(F) \
	for (int64_t ky = 0; ky < p->k[0]; ky++) \
		for (int64_t kx = 0; kx < p->k[1]; kx++) \
			for (int64_t oy = 0; oy < p->out[0]; oy++) { \
				int64_t iy = oy * p->a->stride[0] + ky * p->a->dilation[0] - p->a->pad[0]; \
				int64_t ix = kx * p->a->dilation[1] - p->a->pad[1], step = p->a->stride[1]; \
				int64_t tap = ky * p->k[1] + kx; \
				if (iy < 0 || iy >= p->in[0]) \
					continue; \
				for (int64_t ox = 0; ox < p->out[1]; ox++, ix += step) \
					if (ix >= 0 && ix < p->in[1]) { \
						int64_t o = oy * p->out[1] + ox, i = iy * p->in[1] + ix; \
						F; \
					} \
			}

#define GRADIENTS(T, name) \
static void name(const struct planes *p, const T *grad, const T *in, const T *w, T *grad_in, T *grad_w) \
{ \
	if (grad_in) \
		EACH_TAP(grad_in[i] += grad[o] * w[tap]) \
	if (grad_w) \
		EACH_TAP(grad_w[tap] += grad[o] * in[i]) \
}
GRADIENTS(float, gradients_f32)
GRADIENTS(double, gradients_f64)

static void *at(enum kind k, const void *data, int64_t i)
{
	return data ? (char *)(uintptr_t)data + (size_t)i * kind_bytes(k) : NULL;
}

static void sum_bias(enum kind k, const struct tensor *grad, const void *g, void *bias)
{
	int64_t channels = grad->size[1], plane = grad->size[2] * grad->size[3];

	for (int64_t i = 0; i < grad->size[0] * channels; i++)
		for (int64_t j = 0; j < plane; j++)
			if (k == KIND_F32)
				((float *)bias)[i % channels] += ((const float *)g)[i * plane + j];
			else
				((double *)bias)[i % channels] += ((const double *)g)[i * plane + j];
}

static bool backward_kernel(struct call *c, struct error *err)
{
	struct tensor *grad = call_tensor(c, 0), *in = call_tensor(c, 1), *w = call_tensor(c, 2);
	enum kind k = kind_of(in->dtype);
	const void *g = plain_read(c, grad, k, err), *x = plain_read(c, in, k, err), *f = plain_read(c, w, k, err);
	int64_t ni = in->size[1], no = w->size[0], plane_in = in->size[2] * in->size[3], plane_out = grad->size[2] * grad->size[3];
	int64_t taps = w->size[2] * w->size[3], each = w->size[1];
	struct conv_args a;
	struct planes p = { { in->size[2], in->size[3] }, { grad->size[2], grad->size[3] }, { w->size[2], w->size[3] }, &a };
	void *to[3];

	if (!g || !x || !f || !conv_read_args(c, 4, 2, &a, err))
		return false;
	for (int i = 0; i < 3; i++) {
		if (!(to[i] = plain_out(c, c->out[i], k, err)))
			return false;
		memset(to[i], 0, (size_t)tensor_numel(c->out[i]) * kind_bytes(k));
	}
	for (int64_t b = 0; b < in->size[0]; b++)
		for (int64_t oc = 0; oc < no; oc++)
			for (int64_t ic = 0; ic < each; ic++) {
				int64_t from = (b * ni + oc / (no / a.groups) * each + ic) * plane_in, tap = (oc * each + ic) * taps;
				const void *go = at(k, g, (b * no + oc) * plane_out);

				if (k == KIND_F32)
					gradients_f32(&p, go, at(k, x, from), at(k, f, tap), at(k, masked_in(c, 0) ? to[0] : NULL, from),
						      at(k, masked_in(c, 1) ? to[1] : NULL, tap));
				else
					gradients_f64(&p, go, at(k, x, from), at(k, f, tap), at(k, masked_in(c, 0) ? to[0] : NULL, from),
						      at(k, masked_in(c, 1) ? to[1] : NULL, tap));
			}
	if (masked_in(c, 2))
		sum_bias(k, grad, g, to[2]);
	for (int i = 0; i < 3; i++)
		plain_store(c->out[i], k, to[i]);
	return true;
}

const struct op op_convolution_backward[] = {
	{ "aten.convolution_backward.default", "aten::convolution_backward.out", "TTTAAAABAIA>TTT",
	  "grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask",
	  DTYPES_FLOAT, 0, backward_shape, backward_kernel },
	{ 0 },
};
