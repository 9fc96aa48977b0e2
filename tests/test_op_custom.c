#include "tests/opcase.h"
#include "tests/tap.h"

#include "core/op/op.h"

static void language_model_operators(void **state)
{
	opcase_run("tests/fixtures/custom.txt");
}

static void rows_say_what_they_write(void **state)
{
	const struct op *update = op_find("llama.update_cache.default"), *sdpa = op_find("llama.sdpa_with_kv_cache.default");

	assert_true(op_writes(update, 1) && !op_writes(update, 0) && !op_writes(update, 2));
	assert_true(op_writes(sdpa, 3) && op_writes(sdpa, 4) && !op_writes(sdpa, 0) && !op_writes(sdpa, 10));
	assert_int_equal(op_arg(sdpa, "value_cache"), 4);
	assert_int_equal(op_arg(sdpa, "scale"), 10);
	assert_false(op_writes(op_find("aten.mm.default"), 0));
}

/* Names are found by linear search: a second row of one name would never be reached. */
static void no_operator_has_two_rows(void **state)
{
	for (const struct op *const *f = op_families; *f; f++)
		for (const struct op *o = *f; o->name; o++) {
			int commas = 0;

			assert_ptr_equal(op_find(o->name), o);
			for (const char *s = o->args; *s; s++)
				commas += *s == ',';
			assert_int_equal(op_nargs(o), *o->args ? commas + 1 : 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(language_model_operators),
		cmocka_unit_test(rows_say_what_they_write),
		cmocka_unit_test(no_operator_has_two_rows),
	};

	return RUN_TAP(tests);
}
