#include "core/format/fb.h"
#include "core/base/num.h"
#include "tests/edit.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>

/* The schema of these tests: a table with a field of every kind. */
enum { T_U8, T_I16, T_I32, T_I64, T_F32, T_F64, T_STRING, T_WORDS, T_CHILD, T_CHILDREN, T_BOOL };

static const struct { int64_t n[3]; } words = { { 1, -2, INT64_MIN } };

static fbref leaf(struct fbb *b, int32_t n)
{
	fbb_put32(b, T_I32, (uint32_t)n, 0);
	return fbb_end(b);
}

static fbref everything(struct fbb *b)
{
	fbref string = fbb_string(b, "na\xc3\xafve"), v = fbb_vector(b, words.n, 3, 8, 8), child = leaf(b, -5);
	fbref many[3] = { leaf(b, 1), leaf(b, 2), leaf(b, 1) }, children = fbb_refs(b, many, 3);

	fbb_putref(b, T_CHILDREN, children);
	fbb_put8(b, T_U8, 200, 0);
	fbb_putf64(b, T_F64, -0.0, 0.0);
	fbb_put16(b, T_I16, (uint16_t)-300, 0);
	fbb_putref(b, T_WORDS, v);
	fbb_put64(b, T_I64, (uint64_t)INT64_MIN, 0);
	fbb_put32(b, T_I32, 7, 7);
	fbb_putref(b, T_CHILD, child);
	fbb_putf32(b, T_F32, 1.5f, 0);
	fbb_putref(b, T_STRING, string);
	fbb_put8(b, T_BOOL, true, false);
	return fbb_end(b);
}

static struct edit built(fbref (*make)(struct fbb *), size_t gap)
{
	struct fbb b = { 0 };
	struct edit e;
	uint8_t *data;
	size_t n;

	assert_true(fbb_finish(&b, make(&b), "TEST", gap, &data, &n, NULL));
	edit_open(&e, data, n);
	fbb_free(&b);
	return e;
}

/* Reads the table to its last leaf. */
static bool read_all(struct edit *e, struct error *err)
{
	struct fb fb;
	struct fb_table t, child;
	struct fb_vector v, many;

	if (!fb_open(&fb, e->data, e->bytes, 1000, "a.bin", "TEST", &t, err))
		return false;
	fb_u8(&t, T_U8, 0);
	fb_i16(&t, T_I16, 0);
	fb_i32(&t, T_I32, 0);
	fb_i64(&t, T_I64, 0);
	fb_f32(&t, T_F32, 0);
	fb_f64(&t, T_F64, 0);
	fb_name(&t, T_STRING, NULL);
	fb_bool(&t, T_BOOL, false);
	v = fb_vector(&t, T_WORDS, 8);
	for (uint32_t i = 0; i < v.n; i++)
		fb_i64_at(&v, i);
	child = fb_child(&t, T_CHILD);
	fb_i32(&child, T_I32, 0);
	many = fb_vector(&t, T_CHILDREN, 4);
	for (uint32_t i = 0; i < many.n; i++) {
		child = fb_table_at(&many, i);
		fb_i32(&child, T_I32, 0);
	}
	return fb_ok(&fb);
}

static void what_was_built_is_read(void **state)
{
	struct edit e = built(everything, 0);
	struct error err;
	struct fb fb;
	struct fb_table t, child;
	struct fb_vector v;
	size_t n;

	assert_true(fb_open(&fb, e.data, e.bytes, 0, "a.bin", "TEST", &t, &err));
	assert_int_equal(fb_u8(&t, T_U8, 0), 200);
	assert_int_equal(fb_i16(&t, T_I16, 0), -300);
	assert_int_equal(fb_i32(&t, T_I32, 7), 7);
	assert_false(fb_has(&t, T_I32));
	assert_true(fb_has(&t, T_I16));
	assert_true(fb_i64(&t, T_I64, 0) == INT64_MIN);
	assert_true(fb_f32(&t, T_F32, 0) == 1.5f);
	assert_true(signbit(fb_f64(&t, T_F64, 0)));
	assert_true(fb_bool(&t, T_BOOL, false));
	assert_string_equal(fb_name(&t, T_STRING, &n), "na\xc3\xafve");
	assert_int_equal(n, 6);
	v = fb_vector(&t, T_WORDS, 8);
	assert_int_equal(v.n, 3);
	assert_int_equal(v.at % 8, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(fb_i64_at(&v, i) == words.n[i]);
	assert_true(fb_i64_at(&v, 3) == 0);
	child = fb_child(&t, T_CHILD);
	assert_int_equal(fb_i32(&child, T_I32, 0), -5);
	v = fb_vector(&t, T_CHILDREN, 4);
	child = fb_table_at(&v, 1);
	assert_int_equal(fb_i32(&child, T_I32, 0), 2);
	child = fb_child(&t, 90);
	assert_int_equal(child.at, 0);
	assert_int_equal(fb_i32(&child, T_I32, 44), 44);
	v = fb_vector(&child, 3, 4);
	assert_false(fb_vector_there(&v));
	assert_true(fb_ok(&fb));
	edit_free(&e);
}

static fbref lonely(struct fbb *b)
{
	return leaf(b, 5);
}

static void a_table_may_come_first(void **state)
{
	struct edit e = built(lonely, 0);
	struct error err;
	struct fb fb;
	struct fb_table t;

	assert_true(fb_open(&fb, e.data, e.bytes, 0, "a.bin", "TEST", &t, &err));
	assert_int_equal(fb_i32(&t, T_I32, 0), 5);
	assert_true(fb_ok(&fb));
	edit_free(&e);
}

static fbref twice(struct fbb *b)
{
	fbref one = everything(b), two = everything(b);

	assert_int_equal(one, two);
	return one;
}

static void equal_parts_are_stored_once(void **state)
{
	struct edit a = built(everything, 0), b = built(twice, 0);

	assert_int_equal(a.bytes, b.bytes);
	assert_memory_equal(a.data, b.data, a.bytes);
	edit_free(&a);
	edit_free(&b);
}

static void a_gap_moves_the_root_alone(void **state)
{
	struct edit a = built(everything, 0), b = built(everything, 32);
	struct error err;

	assert_int_equal(b.bytes, a.bytes + 32);
	assert_int_equal(b.data[0], a.data[0] + 32);
	for (int i = 8; i < 40; i++)
		assert_int_equal(b.data[i], 0);
	assert_memory_equal(b.data + 40, a.data + 8, a.bytes - 8);
	assert_true(read_all(&b, &err));
	edit_free(&a);
	edit_free(&b);
}

static void damage_is_an_error(void **state)
{
	static const struct damage row[] = {
		{ "leads outside", { END }, REF(T_CHILD, 0) },
		{ "leads outside", { END }, REF(T_CHILD, -1) },
		{ "leads outside", { END }, REF(T_CHILD, 1 << 20) },
		{ "leads outside", { END }, REF(T_STRING, 0x7ffffffe) },
		{ "leads outside", { END }, REF(T_STRING, 2) },
		{ "elements of 8 bytes does not fit", { END }, COUNT(T_WORDS, 1000) },
		{ "elements of 8 bytes does not fit", { END }, COUNT(T_WORDS, -1) },
		{ "elements of 1 bytes does not fit", { END }, COUNT(T_STRING, 0xfffffffb) },
		{ "has no NUL", { END }, COUNT(T_STRING, 5) },
		{ "holds a NUL", { END }, ITEM(T_STRING, 1, 1, 0) },
		{ "not UTF-8", { END }, ITEM(T_STRING, 3, 1, 'x') },
		{ "not UTF-8", { END }, ITEM(T_STRING, 2, 1, 0xc0) },
		{ "not UTF-8", { END }, ITEM(T_STRING, 0, 1, 0x80) },
		{ "not UTF-8", { END }, ITEM(T_STRING, 5, 1, 0xf4) },
		{ "vtable at", { END }, EDIT_SOFF, .value = 1 << 30 },
		{ "vtable at", { END }, EDIT_SOFF, .value = -(1 << 30) },
		{ "vtable at", { END }, EDIT_SOFF, .value = 1 },
		{ "vtable of 3 bytes", { END }, EDIT_VTABLE, .value = 3 },
		{ "vtable of 2 bytes", { END }, EDIT_VTABLE, .value = 2 },
		{ "vtable of 65534 bytes", { END }, EDIT_VTABLE, .value = 65534 },
		{ "table of 65535 bytes", { END }, EDIT_SIZE, .value = 65535 },
		{ "table of 0 bytes", { END }, EDIT_SIZE, .value = 0 },
		{ "field 3 at", { END }, EDIT_FIELD, T_I64, .value = 60000 },
		{ "field 3 at", { END }, EDIT_FIELD, T_I64, .value = 6 },
		{ "field 3 at", { END }, EDIT_FIELD, T_I64, .value = 3 },
		{ "vtable at", { T_CHILDREN, 2, END }, EDIT_SOFF, .value = 1 << 30 },
	};
	struct error err;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct edit e = built(everything, 0);

		assert_true(read_all(&e, &err));
		edit_apply(&e, &row[i]);
		assert_false(read_all(&e, &err));
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_int_equal(strncmp(err.text, "a.bin: offset 1", 15), 0);
		if (!strstr(err.text, row[i].error))
			fail_msg("row %zu: \"%s\" does not say \"%s\"", i, err.text, row[i].error);
		edit_free(&e);
	}
}

static void every_cut_is_an_error(void **state)
{
	struct edit e = built(everything, 0);
	struct error err;
	size_t whole = e.bytes - 1;	/* the last byte is padding behind a string */

	/* Read from a block of just that size, so that a sanitizer sees any step beyond it. */
	for (size_t n = 0; n < whole; n++) {
		struct edit cut;

		edit_open(&cut, e.data, n);
		assert_false(read_all(&cut, &err));
		edit_free(&cut);
	}
	edit_free(&e);
}

static void a_bad_start_is_an_error(void **state)
{
	static const struct { uint32_t root; const char *id, *error; } row[] = {
		{ 0, "TEST", "table lies outside" }, { 3, "TEST", "table lies outside" }, { 1 << 30, "TEST",
			"table lies outside" },
		{ 20, "NONE", "identifier is \"NONE\", not \"TEST\"" },
	};
	struct error err;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct edit e = built(everything, 0);

		memcpy(e.data, &row[i].root, 4);
		memcpy(e.data + 4, row[i].id, 4);
		assert_false(read_all(&e, &err));
		assert_non_null(strstr(err.text, row[i].error));
		edit_free(&e);
	}
}

static void sizes_out_of_range_are_errors(void **state)
{
	static const struct { size_t bytes; const char *error; } row[] = {
		{ 0, "0 bytes are too few" }, { 7, "7 bytes are too few" }, { (size_t)1 << 31, "at most 2147483647 are allowed" },
	};
	struct edit e = built(everything, 0);
	struct error err;
	struct fb fb;
	struct fb_table t;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		assert_false(fb_open(&fb, e.data, row[i].bytes, 0, "a", "TEST", &t, &err));
		assert_non_null(strstr(err.text, row[i].error));
	}
	edit_free(&e);
}

/* A table that refers to one vector from many places describes more than any file holds. */
static void endless_sharing_is_refused(void **state)
{
	enum { BYTES = 1 << 20, REFS = 1000 };
	struct fbb b = { 0 };
	struct fb fb;
	struct fb_table t;
	struct error err;
	uint8_t *data, *big = calloc(1, BYTES);
	fbref vec_ref = fbb_vector(&b, big, BYTES, 1, 1);
	size_t n, all = 0;

	fbb_putref(&b, T_WORDS, vec_ref);
	assert_true(fbb_finish(&b, fbb_end(&b), "TEST", 0, &data, &n, NULL));
	assert_true(fb_open(&fb, data, n, 0, "a", "TEST", &t, &err));
	for (int i = 0; i < REFS && fb_ok(&fb); i++) {
		struct fb_vector v = fb_vector(&t, T_WORDS, 1);

		all += v.n;
	}
	assert_false(fb_ok(&fb));
	assert_non_null(strstr(err.text, "shared vectors and strings add up to more than"));
	assert_true(all >= 20 * BYTES && all <= 26 * BYTES);

	assert_true(fb_open(&fb, data, n, 0, "a", "TEST", &t, &err));
	for (int i = 0; i < REFS; i++)
		fb_data(&t, T_WORDS);
	assert_true(fb_ok(&fb));
	fbb_free(&b);
	free(big);
}

static void too_many_tables_are_refused(void **state)
{
	struct edit e = built(everything, 0);
	struct fb fb;
	struct fb_table t;
	struct error err;
	int n = 1;

	assert_true(fb_open(&fb, e.data, e.bytes, 0, "a", "TEST", &t, &err));
	for (; fb_ok(&fb) && n < 2000000; n++)
		fb_child(&t, T_CHILD);
	assert_int_equal(n, 1000001);
	assert_string_equal(strstr(err.text, "more"), "more than 1000000 tables");
	edit_free(&e);
}

static void arrays_beyond_reason_are_refused(void **state)
{
	struct edit e = built(everything, 0);
	struct arena a = { 0 };
	struct fb fb;
	struct fb_table t;
	struct fb_vector v;
	struct error err;

	assert_true(fb_open(&fb, e.data, e.bytes, 0, "a", "TEST", &t, &err));
	v = fb_vector(&t, T_WORDS, 8);
	assert_non_null(fb_array(&v, &a, 1000));
	assert_null(fb_array(&v, &a, 64 << 20));
	assert_non_null(strstr(err.text, "a vector of 3 entries is more than this file can mean"));
	edit_free(&e);
	arena_free(&a);
}

static void what_cannot_be_addressed_is_not_built(void **state)
{
	struct fbb b = { 0 };
	struct error err;
	uint8_t *data;
	size_t n;

	assert_int_equal(fbb_vector(&b, NULL, (size_t)1 << 40, 8, 8), 0);
	assert_false(fbb_finish(&b, leaf(&b, 1), "TEST", 0, &data, &n, &err));
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	fbb_free(&b);
}

static void the_first_error_stays(void **state)
{
	struct edit e = built(everything, 0);
	struct fb fb;
	struct fb_table t;
	struct error err;

	assert_true(fb_open(&fb, e.data, e.bytes, 5, "a", "TEST", &t, &err));
	assert_false(fb_fail(&fb, 2, "first %d", 1));
	assert_false(fb_fail(&fb, 3, "second"));
	assert_string_equal(err.text, "a: offset 7: first 1");
	assert_int_equal(fb_u8(&t, T_U8, 3), 3);
	edit_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_built_is_read),
		cmocka_unit_test(a_table_may_come_first),
		cmocka_unit_test(equal_parts_are_stored_once),
		cmocka_unit_test(a_gap_moves_the_root_alone),
		cmocka_unit_test(damage_is_an_error),
		cmocka_unit_test(every_cut_is_an_error),
		cmocka_unit_test(a_bad_start_is_an_error),
		cmocka_unit_test(sizes_out_of_range_are_errors),
		cmocka_unit_test(endless_sharing_is_refused),
		cmocka_unit_test(too_many_tables_are_refused),
		cmocka_unit_test(arrays_beyond_reason_are_refused),
		cmocka_unit_test(what_cannot_be_addressed_is_not_built),
		cmocka_unit_test(the_first_error_stays),
	};

	return RUN_TAP(tests);
}
