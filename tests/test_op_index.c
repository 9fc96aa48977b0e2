/* The index, mask and sort families against results of the stock kernels. */
#include "tests/opcase.h"
#include "tests/tap.h"

static void by_index(void **state) { opcase_run("tests/fixtures/index.txt"); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_index),
	};

	return RUN_TAP(tests);
}
