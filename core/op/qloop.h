/* qloop.h - rows of elements quantised and dequantised with one pair of parameters, typed so that they vectorise. */
#ifndef CORE_OP_QLOOP_H
#define CORE_OP_QLOOP_H

#include "core/op/loop.h"

struct qparam {
	float inverse;		/* 1 / scale */
	int32_t zero;
	int64_t min, max;
	bool whole_zero;	/* the zero point is added before rounding, not after */
};

/* n floats, multiplied by q->inverse, to an integer type of at most 32 bits. */
void qloop_quantize(enum dtype t, const float *x, void *to, int64_t n, const struct qparam *q);
/* n integers to float: (q - zero) * scale, differences wrapping at 32 bits as in stock. Element i has the parameters at
 * i * step; zero may be NULL. */
void qloop_dequantize(enum dtype t, const void *q, float *to, int64_t n, const int64_t *zero, const double *scale, int64_t step);

#endif
