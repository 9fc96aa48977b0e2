/* plain.h - tensors as plain arrays in the default dim order, in the arithmetic that a kernel computes in.
 *
 * Kernels that need many loads of each element (matmul, convolution, pooling, normalisation) are written once for
 * float, double and int64_t; half and bfloat16 are computed in float and rounded once, at the end. An array is the
 * tensor's own memory where type and order agree, else a copy in the call's scratch arena: never write to what
 * plain_read gave. What plain_out gave is filled by the kernel and stored by plain_store. */
#ifndef CORE_OP_PLAIN_H
#define CORE_OP_PLAIN_H

#include "core/op/op.h"

enum plain { PLAIN_F32, PLAIN_F64, PLAIN_I64 };

enum plain plain_of(enum dtype t);
size_t plain_bytes(enum plain p);

const void *plain_read(struct call *c, const struct tensor *t, enum plain p, struct error *err);	/* NULL: no memory */
void *plain_out(struct call *c, struct tensor *t, enum plain p, struct error *err);
void plain_store(struct tensor *t, enum plain p, const void *data);
/* Scratch of COUNT elements, not NULL unless the error is filled. */
void *plain_alloc(struct call *c, enum plain p, int64_t count, struct error *err);

/* Contiguous conversion of N elements of DTYPE from and to an array. */
void plain_load(enum plain p, void *to, enum dtype t, const void *from, int64_t n);
void plain_save(enum plain p, const void *from, enum dtype t, void *to, int64_t n);

#endif
