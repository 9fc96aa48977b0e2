#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/intset.h"
#include "core/base/map.h"
#include "core/base/num.h"
#include "core/base/str.h"
#include "tests/tap.h"

#include <stdlib.h>

static void arena_blocks_are_zeroed_and_aligned(void **state)
{
	struct arena a = { 0 };

	for (size_t n = 1; n < 200000; n = n * 3 + 1) {
		uint8_t *p = arena_alloc(&a, n);

		assert_int_equal((uintptr_t)p % (n >= 64 ? 64 : 16), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xa5, n);
	}
	arena_free(&a);
}

static void a_large_block_does_not_end_the_open_one(void **state)
{
	struct arena a = { 0 };
	char *first = arena_alloc(&a, 16), *large = arena_alloc(&a, 1 << 20), *second = arena_alloc(&a, 16);

	assert_non_null(large);
	assert_ptr_equal(first + 16, second);
	arena_free(&a);
}

static void a_reset_arena_has_room_for_the_same_again(void **state)
{
	struct arena a = { 0 };

	for (int round = 0; round < 3; round++) {
		for (size_t n = 1; n < 300000; n = n * 2 + 1) {
			uint8_t *p = arena_try(&a, n);

			assert_non_null(p);
			assert_int_equal(p[0] | p[n - 1], 0);
			memset(p, 0xa5, n);
		}
		mem_fail_at(0);
		arena_reset(&a);
		mem_fail_at(1);		/* from now on, any allocation is one too many */
	}
	mem_fail_at(0);
	arena_free(&a);
}

static void map_finds_what_was_put(void **state)
{
	struct arena a = { 0 };
	struct map m = { 0 };
	char *key[1000];

	for (int i = 0; i < 1000; i++) {
		key[i] = arena_printf(&a, "key %d", i);
		map_put(&m, &a, key[i], strlen(key[i]), key[i]);
	}
	for (int i = 0; i < 1000; i++)
		assert_ptr_equal(map_get(&m, key[i], strlen(key[i])), key[i]);
	assert_null(map_get(&m, "key", 3));
	assert_int_equal(m.n, 1000);
	map_put(&m, &a, "key 7", 5, key[8]);
	assert_ptr_equal(map_get(&m, "key 7", 5), key[8]);
	assert_int_equal(m.n, 1000);
	arena_free(&a);
}

/* Against a plain array, with bounds on both sides of what a word of bits holds. */
static void intset_finds_neighbours(void **state)
{
	static const int bound[] = { 0, 1, 63, 64, 65, 4095, 4096, 4097, 9000 };

	srand(4);
	for (size_t k = 0; k < sizeof bound / sizeof *bound; k++) {
		struct arena a = { 0 };
		struct intset s;
		bool *there = arena_array(&a, (size_t)bound[k] + 1, sizeof *there);

		intset_open(&s, bound[k], &a);
		for (int round = 0; round < 300; round++) {
			int i = bound[k] ? rand() % bound[k] : 0, from = rand() % (bound[k] + 2) - 1, next = from < 0 ? 0 : from, prev = from;

			if (bound[k] && round % 3) {
				intset_add(&s, i);
				there[i] = true;
			} else if (bound[k]) {
				intset_remove(&s, i);
				there[i] = false;
			}
			while (next < bound[k] && !there[next])
				next++;
			while (prev >= 0 && !there[prev])
				prev--;
			assert_int_equal(intset_next(&s, from < 0 ? 0 : from), next < bound[k] ? next : -1);
			assert_int_equal(intset_prev(&s, from), prev);
		}
		arena_free(&a);
	}
}

static void sizes_do_not_wrap(void **state)
{
	size_t n;
	int64_t big[2] = { INT64_MAX / 2, 3 }, negative[1] = { -1 }, odd[2] = { 3, 5 };

	assert_false(size_mul(SIZE_MAX / 2, 3, &n));
	assert_false(dtype_tensor_bytes(DTYPE_F32, 2, big, &n));
	assert_false(dtype_tensor_bytes(DTYPE_F32, 1, negative, &n));
	assert_true(dtype_tensor_bytes(DTYPE_INT4, 2, odd, &n));
	assert_int_equal(n, 9);
	assert_false(size_inside(8, SIZE_MAX, 100));
	assert_true(size_inside(100, 0, 100));
}

static void halves_round_to_nearest_even(void **state)
{
	for (unsigned h = 0; h < 65536; h++) {
		float f = half_to_float((uint16_t)h);

		if (f == f)
			assert_int_equal(half_from_float(f), h);
	}
	assert_int_equal(half_from_float(65520.0f), 0x7c00);
	assert_int_equal(half_from_float(65519.0f), 0x7bff);
	assert_int_equal(half_from_float(2049.0f), half_from_float(2048.0f));
	assert_int_equal(half_from_float(2051.0f), half_from_float(2052.0f));
	assert_int_equal(half_from_float(5.9604645e-8f), 1);
	assert_int_equal(half_from_float(2.9e-8f), 0);
	assert_int_equal(bf16_from_float(1.00390625f), 0x3f80);
}

static void errors_hold_no_control_characters(void **state)
{
	struct error e;

	assert_false(error_set(&e, ERROR_FORMAT, "name %s", "a\x1b[2Jb"));
	assert_string_equal(e.text, "name a?[2Jb");
	assert_false(error_set(NULL, ERROR_IO, "nobody listens"));
}

static void strings_grow(void **state)
{
	struct str s = { 0 };

	assert_string_equal(str_text(&s), "");
	for (int i = 0; i < 1000; i++)
		str_addf(&s, "%d,", i);
	assert_int_equal(strlen(s.text), s.n);
	assert_int_equal(s.n, 3890);
	str_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_blocks_are_zeroed_and_aligned),
		cmocka_unit_test(a_large_block_does_not_end_the_open_one),
		cmocka_unit_test(a_reset_arena_has_room_for_the_same_again),
		cmocka_unit_test(map_finds_what_was_put),
		cmocka_unit_test(intset_finds_neighbours),
		cmocka_unit_test(sizes_do_not_wrap),
		cmocka_unit_test(halves_round_to_nearest_even),
		cmocka_unit_test(errors_hold_no_control_characters),
		cmocka_unit_test(strings_grow),
	};

	return RUN_TAP(tests);
}
