/* matmul.h - C = A B, the loop under linear, mm, bmm, addmm and convolution. One thread, blocked and packed.
 *
 * Every element of C is summed in the order of k with separate multiply and add, so that the result is that of the
 * plain triple loop (the stock portable kernels'), bit for bit, whatever the machine's vectors. The one exception:
 * fewer than four rows against a B whose columns are contiguous (a matrix times a vector) are dot products of sixteen
 * partial sums, on every machine the same. Integers wrap. */
#ifndef CORE_OP_MATMUL_H
#define CORE_OP_MATMUL_H

#include "core/op/plain.h"

struct matrix {
	const void *data;
	int64_t row, col;	/* strides in elements */
};

/* Writes B[k][j .. j + n) to ROW; for a B that is never stored (the patches of a convolution). */
typedef void matmul_fetch(const void *ctx, int64_t k, int64_t j, int64_t n, void *row);

struct matmul {
	enum kind kind;
	int64_t m, n, k;
	struct matrix a;	/* [m, k] */
	struct matrix b;	/* [k, n]; not used when fetch is there */
	matmul_fetch *fetch;
	const void *ctx;
	void *c;		/* [m, n], overwritten */
	int64_t c_row, c_col;	/* strides in elements */
	void *work;		/* scratch, NULL at first; kept for the next run with this struct */
	int64_t work_count;
};

bool matmul_run(struct call *call, struct matmul *mm, struct error *err);

#endif
