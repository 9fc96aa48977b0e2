/* The stored bytes of a program: each content once, whatever it is read as. */
#include "core/program/store.h"
#include "tests/tap.h"

static const uint8_t bytes[64] = { 1, 2, 3 }, equal[64] = { 1, 2, 3 }, other[64] = { 3, 2, 1 };

static struct span span(const uint8_t *data, size_t n) { return (struct span){ data, n }; }

static void equal_contents_are_one(void **state)
{
	struct arena mem = { 0 };
	struct store s;

	store_init(&s, &mem);
	assert_int_equal(store_constant(&s, span(bytes, 64)), 1);
	assert_int_equal(store_constant(&s, span(equal, 64)), 1);
	assert_int_equal(store_constant(&s, span(other, 64)), 2);
	assert_ptr_equal(store_bytes(&s, span(equal, 64)).data, bytes);
	assert_int_equal(s.bytes, 128);
	arena_free(&mem);
}

/* A constant, what a state begins with, and a delegate's data: three places to stand, the same bytes. */
static void all_uses_share(void **state)
{
	struct arena mem = { 0 };
	struct error err = { 0 };
	struct store s;

	store_init(&s, &mem);
	assert_int_equal(store_mutable(&s, span(bytes, 64)), 1);
	assert_int_equal(store_mutable(&s, span(equal, 64)), 1);
	assert_int_equal(store_constant(&s, span(equal, 64)), 1);
	assert_true(store_named(&s, "key", 3, span(equal, 64), &err));
	assert_true(store_named(&s, "key", 3, span(bytes, 64), &err));
	assert_int_equal(s.named.n, 1);
	assert_ptr_equal(s.named.at[0].data.data, s.constant.at[1].data);
	assert_ptr_equal(s.mutable.at[1].data, s.constant.at[1].data);
	assert_int_equal(s.bytes, 64);
	assert_false(store_named(&s, "key", 3, span(other, 64), &err));
	assert_non_null(strstr(err.text, "two different contents"));
	arena_free(&mem);
}

/* A tensor over the first bytes of another one, whichever comes first. */
static void a_part_lies_in_the_whole(void **state)
{
	struct arena mem = { 0 };
	struct store s;

	store_init(&s, &mem);
	assert_int_equal(store_constant(&s, span(bytes, 16)), 1);
	assert_int_equal(store_constant(&s, span(bytes, 64)), 1);
	assert_int_equal(s.constant.at[1].bytes, 64);
	assert_int_equal(store_constant(&s, span(bytes, 32)), 1);
	assert_int_equal(s.constant.at[1].bytes, 64);
	assert_int_equal(store_mutable(&s, span(bytes, 16)), 1);
	assert_int_equal(store_mutable(&s, span(bytes, 64)), 1);
	assert_int_equal(s.mutable.at[1].bytes, 64);
	assert_int_equal(s.bytes, 64);
	arena_free(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_contents_are_one),
		cmocka_unit_test(all_uses_share),
		cmocka_unit_test(a_part_lies_in_the_whole),
	};

	return RUN_TAP(tests);
}
