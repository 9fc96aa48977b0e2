#include "tests/opcase.h"
#include "tests/tap.h"

#include "core/op/fft_line.h"

#include <math.h>

static void fourier_transforms(void **state)
{
	opcase_run("tests/fixtures/fft.txt");
}

/* By definition, of a line with known numbers; the largest difference of any result. */
static double against_the_sum(int64_t n)
{
	struct arena mem = { 0 };
	struct call c = { .op = op_find("aten._fft_r2c.default"), .scratch = &mem };
	struct error err = { 0 };
	struct fft_line f;
	struct complex_number *x = arena_array(&mem, (size_t)n, sizeof *x), *y = arena_array(&mem, (size_t)n, sizeof *y);
	double worst = 0;

	assert_true(fft_line_start(&f, &c, n, &err));
	for (int64_t i = 0; i < n; i++)
		x[i] = y[i] = (struct complex_number){ (double)(i * i % 11) - 5, (double)(i * 7 % 13) - 6 };
	fft_line_forward(&f, y);
	for (int64_t k = 0; k < n; k += n < 100 ? 1 : 97) {
		double re = 0, im = 0;

		for (int64_t j = 0; j < n; j++) {
			double a = -2 * M_PI * (double)(j * k % n) / (double)n;

			re += x[j].re * cos(a) - x[j].im * sin(a);
			im += x[j].re * sin(a) + x[j].im * cos(a);
		}
		worst = fmax(worst, hypot(y[k].re - re, y[k].im - im));
	}
	fft_line_backward(&f, y);
	for (int64_t i = 0; i < n; i++)
		worst = fmax(worst, hypot(y[i].re / (double)n - x[i].re, y[i].im / (double)n - x[i].im));
	arena_free(&mem);
	return worst / sqrt((double)n);
}

static void any_length(void **state)
{
	static const int64_t more[] = { 128, 243, 400, 961, 1000, 1009, 1023, 2018, 4096, 6007 };

	for (int64_t n = 1; n <= 80; n++)
		assert_true(against_the_sum(n) < 1e-12);
	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		assert_true(against_the_sum(more[i]) < 1e-11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fourier_transforms),
		cmocka_unit_test(any_length),
	};

	return RUN_TAP(tests);
}
