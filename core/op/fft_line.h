/* fft_line.h - the discrete Fourier transform of one line of numbers, of any length, in double.
 *
 * Forward: y[k] = sum of x[j] e^(-2 pi i j k / n), not scaled. O(n log n): Stockham passes, one a factor, where no
 * prime factor is large; else as a convolution of a length that is a power of two (Bluestein 1970). */
#ifndef CORE_OP_FFT_LINE_H
#define CORE_OP_FFT_LINE_H

#include "core/op/kernel.h"

struct complex_number {
	double re, im;
};

enum { FFT_FACTORS = 64, FFT_PRIME = 31 };

struct fft_line {
	int64_t n;
	int factor[FFT_FACTORS], nfactors;	/* each 4, or a prime up to FFT_PRIME; none: Bluestein */
	struct complex_number *root;		/* [n]: e^(-2 pi i k / n) */
	struct complex_number *work;		/* [n] */
	/* Bluestein: [n] e^(-pi i k^2 / n), and the transform [m] of what the line is convolved with. */
	struct complex_number *chirp, *filter, *padded;
	struct fft_line *whole;			/* of length m */
};

/* For lines of n >= 1 numbers; memory is the call's scratch. */
bool fft_line_start(struct fft_line *f, struct call *c, int64_t n, struct error *err);
void fft_line_forward(struct fft_line *f, struct complex_number *x);
void fft_line_backward(struct fft_line *f, struct complex_number *x);	/* e^(+2 pi i j k / n), not scaled */

#endif
