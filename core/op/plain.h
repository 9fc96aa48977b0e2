/* plain.h - tensors as plain arrays in the default dim order, in the kind that a kernel computes in.
 *
 * Kernels that load each element many times (matmul, convolution, pooling, normalisation) are written once for
 * float, double and int64_t on such arrays; half and bfloat16 are computed in float and rounded once, at the end. An
 * array is the tensor's own memory where type and order agree, else a copy in the call's scratch arena: never write to
 * what plain_read gave. What plain_out gave is filled by the kernel and stored by plain_store. */
#ifndef CORE_OP_PLAIN_H
#define CORE_OP_PLAIN_H

#include "core/op/loop.h"

size_t kind_bytes(enum kind k);

const void *plain_read(struct call *c, const struct tensor *t, enum kind k, struct error *err);	/* NULL: no memory */
void *plain_out(struct call *c, struct tensor *t, enum kind k, struct error *err);
void plain_store(struct tensor *t, enum kind k, void *data);
/* Scratch of COUNT elements, not NULL unless the error is filled. */
void *plain_alloc(struct call *c, enum kind k, int64_t count, struct error *err);
void *plain_scratch(struct call *c, int64_t count, size_t bytes_each, struct error *err);

/* Tensor argument i is in the default order or channels last, which is what stock image kernels take. */
bool call_image_order(const struct call *c, int i, struct error *err);

#endif
