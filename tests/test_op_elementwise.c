/* The unary, binary and compare families against results of the stock kernels. */
#include "tests/opcase.h"
#include "tests/tap.h"

static void unary(void **state) { opcase_run("tests/fixtures/unary.txt"); }
static void binary(void **state) { opcase_run("tests/fixtures/binary.txt"); }
static void compare(void **state) { opcase_run("tests/fixtures/compare.txt"); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unary),
		cmocka_unit_test(binary),
		cmocka_unit_test(compare),
	};

	return RUN_TAP(tests);
}
