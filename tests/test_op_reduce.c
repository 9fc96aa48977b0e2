/* The reduce family against results of the stock kernels. */
#include "tests/opcase.h"
#include "tests/tap.h"

static void reduce(void **state) { opcase_run("tests/fixtures/reduce.txt"); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reduce),
	};

	return RUN_TAP(tests);
}
