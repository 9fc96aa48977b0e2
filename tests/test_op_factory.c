/* The factory and scalar families against results of the stock kernels. */
#include "tests/opcase.h"
#include "tests/tap.h"

#include "core/op/op.h"

static void factory(void **state) { opcase_run("tests/fixtures/factory.txt"); }

static void random_numbers_have_their_moments(void **state)
{
	static float out[100000];
	const char *name[] = { "aten.rand.default", "aten.randn.default" };
	uint64_t seed = 7;

	for (int k = 0; k < 2; k++) {
		struct operand size = { .kind = ARG_INT, .i = 100000 };
		struct operand arg[5] = { { .kind = ARG_LIST, .list = { &size, 1 } } };
		struct tensor t = { 0 }, *outs[] = { &t };
		struct call c = { .op = op_find(name[k]), .arg = arg, .nargs = 5, .out = outs, .nouts = 1, .seed = &seed };
		double mean = 0, square = 0;

		assert_true(c.op->shape(&c, NULL));
		assert_int_equal(t.dtype, DTYPE_F32);
		t.data = out;
		assert_true(c.op->kernel(&c, NULL));
		for (int i = 0; i < 100000; i++) {
			mean += out[i] / 1e5;
			square += out[i] * (double)out[i] / 1e5;
			assert_true(k || (out[i] >= 0 && out[i] <= 1));
		}
		assert_true(mean > (k ? -0.02 : 0.49) && mean < (k ? 0.02 : 0.51));
		assert_true(square > (k ? 0.97 : 0.32) && square < (k ? 1.03 : 0.35));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(factory),
		cmocka_unit_test(random_numbers_have_their_moments),
	};

	return RUN_TAP(tests);
}
