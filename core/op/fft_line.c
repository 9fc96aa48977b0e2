#include "core/op/fft_line.h"

#include "core/op/plain.h"

#include <math.h>
#include <string.h>

typedef struct complex_number cpx;

static cpx mul(cpx a, cpx b)
{
	return (cpx){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static cpx add(cpx a, cpx b)
{
	return (cpx){ a.re + b.re, a.im + b.im };
}

static cpx sub(cpx a, cpx b)
{
	return (cpx){ a.re - b.re, a.im - b.im };
}

/* e^(-2 pi i k / n), 0 <= k < n, from the first eighth of the circle: halves and quarters are exact. */
static cpx unit_root(int64_t k, int64_t n)
{
	int64_t a = 8 * k;	/* in parts of pi / 4n */
	bool below = a > 4 * n, left, steep;
	double c, s;

	a = below ? 8 * n - a : a;
	left = a > 2 * n;
	a = left ? 4 * n - a : a;
	steep = a > n;
	a = steep ? 2 * n - a : a;
	c = cos((double)a * (M_PI / 4) / (double)n);
	s = sin((double)a * (M_PI / 4) / (double)n);
	return (cpx){ (steep ? s : c) * (left ? -1 : 1), (steep ? c : s) * (below ? 1 : -1) };
}

/* ---- passes: p transforms of a p-th of the length become one; x and y hold s interleaved lines of p * m ---- */

static void pass_2(const cpx *x, cpx *y, const cpx *root, int64_t m, int64_t s)
{
	for (int64_t q = 0; q < m; q++)
		for (int64_t i = 0; i < s; i++) {
			cpx a = x[i + s * q], b = x[i + s * (q + m)];

			y[i + s * 2 * q] = add(a, b);
			y[i + s * (2 * q + 1)] = mul(sub(a, b), root[q * s]);
		}
}

static void pass_4(const cpx *x, cpx *y, const cpx *root, int64_t m, int64_t s)
{
	for (int64_t q = 0; q < m; q++) {
		const cpx w1 = root[q * s], w2 = root[2 * q * s], w3 = root[3 * q * s];

		for (int64_t i = 0; i < s; i++) {
			cpx a = x[i + s * q], b = x[i + s * (q + m)], c = x[i + s * (q + 2 * m)], d = x[i + s * (q + 3 * m)];
			cpx ac = add(a, c), bd = add(b, d), a_c = sub(a, c), b_d = sub(b, d);
			cpx turned = { b_d.im, -b_d.re };	/* times -i */
			cpx *to = &y[i + s * 4 * q];

			to[0] = add(ac, bd);
			to[s] = mul(add(a_c, turned), w1);
			to[2 * s] = mul(sub(ac, bd), w2);
			to[3 * s] = mul(sub(a_c, turned), w3);
		}
	}
}

static void pass_prime(const cpx *x, cpx *y, const cpx *root, int64_t m, int64_t s, int p)
{
	for (int64_t q = 0; q < m; q++)
		for (int64_t i = 0; i < s; i++)
			for (int k = 0; k < p; k++) {
				cpx sum = x[i + s * q];

				for (int j = 1; j < p; j++)
					sum = add(sum, mul(x[i + s * (q + m * j)], root[j * k % p * m * s]));
				y[i + s * (p * q + k)] = mul(sum, root[q * k * s]);
			}
}

static void run_passes(const struct fft_line *f, cpx *x)
{
	cpx *from = x, *to = f->work;
	int64_t m = f->n, s = 1;

	for (int i = 0; i < f->nfactors; i++) {
		int p = f->factor[i];
		cpx *t = from;

		m /= p;
		if (p == 4)
			pass_4(from, to, f->root, m, s);
		else if (p == 2)
			pass_2(from, to, f->root, m, s);
		else
			pass_prime(from, to, f->root, m, s, p);
		s *= p;
		from = to, to = t;
	}
	if (from != x)
		memcpy(x, from, (size_t)f->n * sizeof *x);
}

/* ---- Bluestein: j k = (j^2 + k^2 - (j - k)^2) / 2 makes it a convolution with a chirp ---- */

static void run_chirp(const struct fft_line *f, cpx *x)
{
	struct fft_line *whole = f->whole;
	double scale = 1 / (double)whole->n;

	memset(f->padded, 0, (size_t)whole->n * sizeof *f->padded);
	for (int64_t i = 0; i < f->n; i++)
		f->padded[i] = mul(x[i], f->chirp[i]);
	fft_line_forward(whole, f->padded);
	for (int64_t i = 0; i < whole->n; i++)
		f->padded[i] = mul(f->padded[i], f->filter[i]);
	fft_line_backward(whole, f->padded);
	for (int64_t i = 0; i < f->n; i++) {
		cpx y = mul(f->padded[i], f->chirp[i]);

		x[i] = (cpx){ y.re * scale, y.im * scale };
	}
}

static bool start_chirp(struct fft_line *f, struct call *c, struct error *err)
{
	int64_t m = 1;

	while (m < 2 * f->n - 1)
		m *= 2;
	f->chirp = plain_scratch(c, f->n, sizeof *f->chirp, err);
	f->filter = f->chirp ? plain_scratch(c, m, sizeof *f->filter, err) : NULL;
	f->padded = f->filter ? plain_scratch(c, m, sizeof *f->padded, err) : NULL;
	f->whole = f->padded ? plain_scratch(c, 1, sizeof *f->whole, err) : NULL;
	if (!f->whole || !fft_line_start(f->whole, c, m, err))
		return false;
	memset(f->filter, 0, (size_t)m * sizeof *f->filter);
	for (int64_t i = 0, square = 0; i < f->n; square = (square + 2 * i + 1) % (2 * f->n), i++) {
		cpx w = unit_root(square, 2 * f->n);

		f->chirp[i] = w;
		f->filter[i] = f->filter[(m - i) % m] = (cpx){ w.re, -w.im };
	}
	fft_line_forward(f->whole, f->filter);
	return true;
}

/* ---- any length ---- */

/* False: a prime factor is too large. */
static bool factorise(struct fft_line *f)
{
	int64_t rest = f->n;

	for (int p = 4; rest > 1 && p <= FFT_PRIME; p = p == 4 ? 2 : p == 2 ? 3 : p + 2)
		for (; rest % p == 0; rest /= p)
			f->factor[f->nfactors++] = p;
	return rest == 1;
}

bool fft_line_start(struct fft_line *f, struct call *c, int64_t n, struct error *err)
{
	*f = (struct fft_line){ .n = n };
	if (!factorise(f)) {
		f->nfactors = 0;
		return start_chirp(f, c, err);
	}
	f->root = plain_scratch(c, n, sizeof *f->root, err);
	f->work = f->root ? plain_scratch(c, n, sizeof *f->work, err) : NULL;
	for (int64_t k = 0; f->work && k < n; k++)
		f->root[k] = unit_root(k, n);
	return f->work;
}

void fft_line_forward(struct fft_line *f, struct complex_number *x)
{
	if (f->chirp)
		run_chirp(f, x);
	else
		run_passes(f, x);
}

static void swap_parts(struct complex_number *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = (cpx){ x[i].im, x[i].re };
}

void fft_line_backward(struct fft_line *f, struct complex_number *x)
{
	swap_parts(x, f->n);
	fft_line_forward(f, x);
	swap_parts(x, f->n);
}
