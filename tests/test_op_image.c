#include "tests/opcase.h"
#include "tests/tap.h"

#include "core/op/vmath.h"

#include <math.h>

static void pooling_and_resampling(void **state)
{
	opcase_run("tests/fixtures/pool.txt");
}

static void softmax_norms_and_distances(void **state)
{
	opcase_run("tests/fixtures/norm.txt");
}

static void expf_is_within_an_ulp(void **state)
{
	for (float x = -103.9f; x < 88.7f; x += 0.00097f) {
		double want = exp((double)x), got = (double)vmath_expf(x);
		double ulp = ldexp(1, (int)fmax(floor(log2(want)), -126) - 23);

		assert_true(fabs(got - want) <= ulp);
	}
	assert_true(vmath_expf(-INFINITY) == 0 && vmath_expf(-200) == 0 && vmath_expf(0) == 1);
	assert_true(isinf(vmath_expf(INFINITY)) && isinf(vmath_expf(89.5f)) && isnan(vmath_expf(NAN)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pooling_and_resampling),
		cmocka_unit_test(softmax_norms_and_distances),
		cmocka_unit_test(expf_is_within_an_ulp),
	};

	return RUN_TAP(tests);
}
