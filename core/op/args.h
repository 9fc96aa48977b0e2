/* args.h - arguments of a call by number, as kernels and shape rules want them.
 *
 * An absent argument (ARG_NONE, or beyond what was given) reads as the default. The integer readers fail on what is
 * no literal number: a size that only a run knows. */
#ifndef CORE_OP_ARGS_H
#define CORE_OP_ARGS_H

#include "core/op/op.h"

struct tensor *args_tensor(const struct call *c, int i);	/* NULL: none */
double args_double(const struct call *c, int i, double otherwise);
int64_t args_int(const struct call *c, int i, int64_t otherwise);
bool args_bool(const struct call *c, int i, bool otherwise);
bool args_given(const struct call *c, int i);
/* Up to MAX numbers; *n is how many there are; none when the argument is absent. */
bool args_ints(const struct call *c, int i, int64_t *at, int max, int *n, struct error *err);
bool args_doubles(const struct call *c, int i, double *at, int max, int *n, struct error *err);
/* error_set with the operator's name in front. */
bool args_fail(const struct call *c, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
