#include "tests/opcase.h"
#include "tests/tap.h"

static void the_quantised_library(void **state)
{
	opcase_run("tests/fixtures/quant.txt");
}

static void what_has_no_stock_kernel(void **state)
{
	opcase_run("tests/fixtures/quant_eager.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_quantised_library),
		cmocka_unit_test(what_has_no_stock_kernel),
	};

	return RUN_TAP(tests);
}
