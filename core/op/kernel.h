/* kernel.h - what shape rules and kernels are written with: arguments, checks, type promotion, broadcasting.
 *
 * A shape function starts with call_check, which holds every argument against its letter in the schema,
 * and the first tensor against the row's dtypes; the
 * readers below then take arguments as they are. A number may be unknown while shapes are computed (a symbolic
 * size): what decides an output's type is asked for with call_known first. Data movement is in loop.h. */
#ifndef CORE_OP_KERNEL_H
#define CORE_OP_KERNEL_H

#include "core/op/op.h"

/* "aten.add.Tensor: <sentence>". Returns false. */
bool call_fail(const struct call *c, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool call_check(const struct call *c, struct error *err);
/* True if argument i and all its parts are numbers that we have. */
bool call_known(const struct call *c, int i, struct error *err);

/* Arguments that call_check has passed. What is none, unknown, or not there (i < 0) reads as `otherwise`. */
bool call_has(const struct call *c, int i);	/* there, and not none */
struct tensor *call_tensor(const struct call *c, int i);	/* NULL: none */
int64_t call_int(const struct call *c, int i, int64_t otherwise);
double call_double(const struct call *c, int i, double otherwise);
bool call_bool(const struct call *c, int i, bool otherwise);
const char *call_string(const struct call *c, int i);	/* "" for none */
enum dtype call_dtype(const struct call *c, int i, enum dtype otherwise);
/* Lists: none has length 0. */
int call_length(const struct call *c, int i);
int64_t call_item(const struct call *c, int i, int k);
double call_item_double(const struct call *c, int i, int k);
struct tensor *call_item_tensor(const struct call *c, int i, int k);
/* A list of at most MAX_RANK numbers; its length, or -1 with an error. */
int call_ints(const struct call *c, int i, int64_t *at, struct error *err);

/* Reads argument i as a dimension of a tensor of this rank; -1 is the last. Rank 0 has dimension 0. */
bool call_dim(const struct call *c, int i, int rank, int *dim, struct error *err);
/* Argument i is a list of dimensions (or one number); marks them. None and [] mark all. */
bool call_dims(const struct call *c, int i, int rank, bool *marked, struct error *err);

/* A tensor argument is none, or of one of these dtypes. call_check has asked it of the first one. */
bool call_dtype_in(const struct call *c, int i, uint32_t set, struct error *err);

/* The smallest and largest value of an integer dtype or bool. */
void dtype_limits(enum dtype t, int64_t *min, int64_t *max);
/* Number i, unless it is none or a tensor, is a value that dtype t can hold (infinities and NaN for floats). */
bool call_fits(const struct call *c, int i, enum dtype t, struct error *err);

/* Promotion. dtype_promote: of two tensors, as c10::promoteTypes. dtype_with_scalar: of a tensor dtype and a
 * number. call_result_dtype: torch's result_type of arguments (tensors, optional tensors, numbers) - tensors of
 * rank 0 and numbers give only their category. The i-th of `args` is a decimal digit of a string: "01". */
enum dtype dtype_promote(enum dtype a, enum dtype b);
enum dtype dtype_with_scalar(enum dtype t, const struct operand *scalar);
enum dtype call_result_dtype(const struct call *c, const char *args);
/* The dtype that stock kernels compute in: rank does not matter to them. */
enum dtype call_common_dtype(const struct call *c, const char *args);
enum dtype dtype_float(enum dtype t);	/* floats stay, the rest becomes f32 */

/* Broadcasts the tensors among these arguments; gives `out` that shape, the dtype, and the dim order that
 * torch's iterator would choose (that of the first operand that is not broadcast decides). */
bool call_broadcast(const struct call *c, const char *args, enum dtype dtype, struct tensor *out, struct error *err);
/* A tensor argument, or a number made a rank-0 tensor of dtype t in scratch. NULL: none. */
struct tensor *call_operand(const struct call *c, int i, enum dtype t);

/* Views: a part along one dimension; without a dimension (of size 1, or the first of it). */
struct tensor tensor_narrow(struct tensor t, int dim, int64_t from, int64_t size);
struct tensor tensor_without(struct tensor t, int dim);
/* Rank 4 or 5 with the channels innermost: 0, 2, 3, 1. */
bool tensor_is_channels_last(const struct tensor *t);
void tensor_set_channels_last(struct tensor *t);

/* For an L result: makes the call have n outputs. */
void call_outs(struct call *c, int n);
/* Sets sizes, keeping dtype; the dim order is that of `like` if the rank is the same, else the default. */
void tensor_reshape(struct tensor *t, int rank, const int64_t *size, const struct tensor *like);
/* Checks that the sizes make an addressable tensor. */
bool call_sizes_ok(const struct call *c, enum dtype t, int rank, const int64_t *size, struct error *err);

#endif
