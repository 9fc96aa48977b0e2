#include "core/format/pieces.h"
#include "core/format/ptd.h"
#include "core/format/pte_schema.h"
#include "tests/edit.h"
#include "tests/tap.h"

#include <stdlib.h>

#define N(array) ((int)(sizeof (array) / sizeof *(array)))

enum { DATA_VERSION, DATA_SEGMENTS, DATA_NAMED };	/* flat_tensor.fbs */
enum { NAMED_LAYOUT = 2 };
enum { LAYOUT_SCALAR_TYPE, LAYOUT_SIZES, LAYOUT_DIM_ORDER };

static const float weight[6] = { 1, 2, 3, 4, 5, 6 };
static const uint8_t raw[5] = { 9, 8, 7, 6, 5 };

static const struct ptd_entry entries[] = {
	{ .key = "fc.weight", .key_bytes = 9, .data = { (const uint8_t *)weight, sizeof weight }, .has_layout = true,
	  .dtype = DTYPE_F32, .rank = 2, .size = { 2, 3 }, .dim_order = { 1, 0 } },
	{ .key = "raw", .key_bytes = 3, .data = { raw, sizeof raw } },
	{ .key = "twin", .key_bytes = 4, .data = { (const uint8_t *)weight, sizeof weight } },
	{ .key = "scalar", .key_bytes = 6, .data = { (const uint8_t *)weight, 4 }, .has_layout = true,
	 .dtype = DTYPE_F32 },
};

static struct edit write_entries(int n)
{
	struct pte_output out;
	struct error err = { 0 };
	struct edit e;

	if (!ptd_write(&out, entries, n, &err))
		fail_msg("%s", err.text);
	e = output_bytes(&out);
	pte_output_free(&out);
	return e;
}

static bool read_bytes(struct ptd *p, const struct edit *e, struct arena *a, struct error *err)
{
	struct file f = { .path = "a.ptd", .data = e->data, .bytes = e->bytes };

	return ptd_read(p, &f, a, err);
}

static void what_was_written_is_read(void **unused)
{
	struct arena a = { 0 };
	struct error err = { 0 };

	for (int n = 0; n <= N(entries); n++) {
		struct edit e = write_entries(n);
		struct ptd p;

		if (!read_bytes(&p, &e, &a, &err))
			fail_msg("%d entries: %s", n, err.text);
		assert_int_equal(p.nentries, n);
		for (int i = 0; i < n; i++) {
			const struct ptd_entry *x = ptd_find(&p, entries[i].key, entries[i].key_bytes);

			assert_ptr_equal(x, &p.entry[i]);
			assert_int_equal(x->data.bytes, entries[i].data.bytes);
			assert_memory_equal(x->data.data, entries[i].data.data, x->data.bytes);
			assert_int_equal(x->has_layout, entries[i].has_layout);
			assert_int_equal(x->dtype, entries[i].dtype);
			assert_int_equal(x->rank, entries[i].rank);
			assert_memory_equal(x->size, entries[i].size, sizeof x->size);
			assert_memory_equal(x->dim_order, entries[i].dim_order, sizeof x->dim_order);
			assert_int_equal((x->data.data - e.data) % SEGMENT_ALIGN, 0);
		}
		assert_null(ptd_find(&p, "fc", 2));
		if (n > 2)
			assert_ptr_equal(p.entry[0].data.data, p.entry[2].data.data);
		edit_free(&e);
	}
	arena_free(&a);
}

static void a_real_file_is_read(void **unused)
{
	struct arena a = { 0 };
	struct file f;
	struct ptd p;
	struct pte_output out;
	const struct ptd_entry *e;

	assert_true(file_open(&f, "tests/fixtures/programs/external.ptd", NULL));
	assert_true(ptd_read(&p, &f, &a, NULL));
	e = ptd_find(&p, "weight", 6);
	assert_non_null(e);
	assert_int_equal(e->dtype, DTYPE_F32);
	assert_int_equal(e->rank, 2);
	assert_int_equal(e->size[0], 3);
	assert_int_equal(e->size[1], 4);
	assert_int_equal(e->data.bytes, 48);
	assert_true(ptd_write(&out, p.entry, p.nentries, NULL));
	assert_true(out.bytes <= f.bytes);
	pte_output_free(&out);
	file_close(&f);
	arena_free(&a);
}

static void twice_the_same_name_is_not_written(void **unused)
{
	struct ptd_entry two[2] = { entries[0], entries[0] };
	struct pte_output out;
	struct error err;

	assert_false(ptd_write(&out, two, 2, &err));
	assert_string_equal(err.text, "two entries of the data file are named fc.weight");
}

static const struct damage bad[] = {
	{ "version", { END }, ALIAS(DATA_VERSION, DATA_SEGMENTS) },
	{ "without segments", { END }, DROP(DATA_SEGMENTS) },
	{ "without named data", { END }, DROP(DATA_NAMED) },
	{ "segment of 1048576 bytes at 0", { DATA_SEGMENTS, 0, END }, SET(SEGMENT_SIZE, 8, 1 << 20) },
	{ "segment of 18446744073709551615 bytes", { DATA_SEGMENTS, 0, END }, SET(SEGMENT_SIZE, 8, -1) },
	{ "segment of 5 bytes at 18446744073709551615", { DATA_SEGMENTS, 1, END }, SET(SEGMENT_OFFSET, 8, -1) },
	{ "entry 0 has no key", { DATA_NAMED, 0, END }, DROP(NAMED_KEY) },
	{ "entry 1 is in segment 4 of 4", { DATA_NAMED, 1, END }, SET(NAMED_SEGMENT, 4, 4) },
	{ "scalar type 30", { DATA_NAMED, 0, NAMED_LAYOUT, CHILD, END }, SET(LAYOUT_SCALAR_TYPE, 1, 30) },
	{ "dim_order of 0 entries", { DATA_NAMED, 0, NAMED_LAYOUT, CHILD, END }, DROP(LAYOUT_DIM_ORDER) },
	{ "no permutation of 0 to 1", { DATA_NAMED, 0, NAMED_LAYOUT, CHILD, END }, ITEM(LAYOUT_DIM_ORDER, 0, 1, 0) },
	{ "sizes are negative", { DATA_NAMED, 0, NAMED_LAYOUT, CHILD, END }, ITEM(LAYOUT_SIZES, 0, 4, -2) },
	{ "tensor of 36 bytes in a segment of 24", { DATA_NAMED, 0, NAMED_LAYOUT, CHILD, END }, ITEM(LAYOUT_SIZES, 0,
		4, 3) },
};

static void damage_is_an_error(void **unused)
{
	struct arena a = { 0 };
	struct edit good = write_entries(N(entries));
	struct error err;
	struct ptd p;
	uint64_t bytes, base;

	memcpy(&bytes, good.data + 24, 8);
	memcpy(&base, good.data + 32, 8);
	for (int i = 0; i < N(bad); i++) {
		struct edit tables, e;

		edit_open(&tables, good.data, (size_t)bytes + 48);
		edit_apply(&tables, &bad[i]);
		e = (struct edit){ calloc(1, 1024 + good.bytes), 1024 + good.bytes - (size_t)base };
		memcpy(e.data, tables.data, tables.bytes);
		memcpy(e.data + 1024, good.data + base, good.bytes - (size_t)base);
		memcpy(e.data + 24, &(uint64_t){ tables.bytes - 48 }, 8);
		memcpy(e.data + 32, &(uint64_t){ 1024 }, 8);
		if (read_bytes(&p, &e, &a, &err))
			fail_msg("row %d: read, though it should say \"%s\"", i, bad[i].error);
		assert_int_equal(strncmp(err.text, "a.ptd: offset ", 14), 0);
		if (!strstr(err.text, bad[i].error))
			fail_msg("row %d: \"%s\" does not say \"%s\"", i, err.text, bad[i].error);
		edit_free(&tables);
		edit_free(&e);
	}
	edit_free(&good);
	arena_free(&a);
}

static const struct { const char *error; size_t at; int width; int64_t value; } head[] = {
	{ "identifier \"FT02\"", 7, 1, '2' },
	{ "header is \"FH02\", not \"FH01\"", 11, 1, '2' },
	{ "header of 39 bytes, at least 40", 12, 4, 39 },
	{ "tables of", 12, 4, -1 },
	{ "tables of", 16, 8, -1 },
	{ "tables of", 24, 8, 1 << 20 },
	{ "segments from 10 on", 32, 8, 10 },
	{ "segment of 24 bytes at 0 behind 0", 32, 8, 0 },
	{ "segments from 18446744073709551615 on", 32, 8, -1 },
	{ "18446744073709551615 bytes of segments", 40, 8, -1 },
	{ "table lies outside", 0, 4, 1 << 20 },
};

static void headers_are_checked(void **unused)
{
	struct arena a = { 0 };
	struct edit good = write_entries(N(entries)), e;
	struct error err;
	struct ptd p;

	for (int i = 0; i < N(head); i++) {
		edit_open(&e, good.data, good.bytes);
		memcpy(e.data + head[i].at, &head[i].value, (size_t)head[i].width);
		assert_false(read_bytes(&p, &e, &a, &err));
		if (!strstr(err.text, head[i].error))
			fail_msg("row %d: \"%s\" does not say \"%s\"", i, err.text, head[i].error);
		edit_free(&e);
	}
	for (size_t n = 0; n < good.bytes; n++) {
		edit_open(&e, good.data, n);
		assert_false(read_bytes(&p, &e, &a, &err));
		assert_int_equal(n >= 8 && n < 64, strstr(err.text, "a data file has at least 64") != NULL);
		edit_free(&e);
	}
	edit_free(&good);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(a_real_file_is_read),
		cmocka_unit_test(twice_the_same_name_is_not_written),
		cmocka_unit_test(damage_is_an_error),
		cmocka_unit_test(headers_are_checked),
	};

	return RUN_TAP(tests);
}
