/* The view and shape families against results of the stock kernels. */
#include "tests/opcase.h"
#include "tests/tap.h"

static void view(void **state) { opcase_run("tests/fixtures/view.txt"); }
static void shape(void **state) { opcase_run("tests/fixtures/shape.txt"); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(view),
		cmocka_unit_test(shape),
	};

	return RUN_TAP(tests);
}
