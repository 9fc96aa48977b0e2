#include "core/format/pieces.h"
#include "core/format/pte_schema.h"
#include "tests/image.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define FIXTURES "tests/fixtures/programs/"

static void what_was_written_is_read(void **unused)
{
	struct arena a = { 0 };
	struct pte_image m = make_image(&a);
	struct edit e = write_image(&m);
	struct error err = { 0 };
	struct pte p;

	if (!read_bytes(&p, &e, &a, &err))
		fail_msg("%s", err.text);
	assert_int_equal(p.nplans, 2);
	same_plan(&m.plan[0], &p.plan[0]);
	same_plan(&m.plan[1], &p.plan[1]);
	assert_memory_equal(p.plan[0].value[V_WEIGHT].tensor->data, image_weight, sizeof image_weight);
	assert_memory_equal(p.plan[0].value[V_BYTES].tensor->data, image_bytes, 3);
	assert_memory_equal(p.plan[0].value[V_STATE].tensor->data, image_state, sizeof image_state);
	assert_null(p.plan[0].value[V_DYNAMIC].tensor->data);
	assert_int_equal(p.nnamed, 3);
	assert_memory_equal(pte_named_find(&p, "abc", 3)->data.data, image_named, 8);
	assert_null(pte_named_find(&p, "ab", 2));
	edit_free(&e);
	arena_free(&a);
}

static void equal_bytes_are_stored_once(void **unused)
{
	struct arena a = { 0 };
	struct pte_image m = make_image(&a);
	struct edit e = write_image(&m);
	struct pte p;

	assert_true(read_bytes(&p, &e, &a, NULL));
	assert_ptr_equal(pte_named_find(&p, "weight", 6)->data.data, p.plan[0].value[V_WEIGHT].tensor->data);
	assert_ptr_equal(pte_named_find(&p, "copy", 4)->data.data, pte_named_find(&p, "abc", 3)->data.data);
	assert_ptr_equal(p.plan[0].delegate[0].blob.data, p.plan[0].delegate[1].blob.data);
	assert_int_equal(p.plan[0].delegate[0].index, p.plan[0].delegate[1].index);
	edit_free(&e);
	arena_free(&a);
}

/* Twins are looked for by their ends alone. */
static void bytes_that_differ_in_the_middle_stay_apart(void **unused)
{
	uint8_t like[4][300] = { { 0 } };
	uint64_t at[4];
	struct pieces p = { 0 };

	like[1][150] = 1;
	like[2][150] = 2;
	like[3][150] = 1;
	for (int i = 0; i < 4; i++)
		at[i] = pieces_place(&p, (struct span){ like[i], sizeof like[i] }, CONSTANT_ALIGN);
	assert_true(at[0] == 0 && at[1] == 304 && at[2] == 608 && at[3] == 304);
	pieces_free(&p);
}

static void segments_are_aligned_and_not_copied(void **unused)
{
	struct arena a = { 0 };
	struct pte_image m = make_image(&a);
	struct pte_output out;
	struct edit e;
	struct pte p;
	bool pointed = false;

	assert_true(pte_write(&out, &m, NULL));
	for (int i = 0; i < out.npieces; i++)
		pointed |= out.piece[i].data == image_blob && out.piece[i].bytes == sizeof image_blob;
	assert_true(pointed);
	e = output_bytes(&out);
	pte_output_free(&out);
	assert_true(read_bytes(&p, &e, &a, NULL));
	assert_int_equal(p.segment_base % SEGMENT_ALIGN, 0);
	assert_int_equal(p.segment_base + p.segment_bytes, e.bytes);
	assert_int_equal((p.plan[0].delegate[0].blob.data - e.data) % SEGMENT_ALIGN, 0);
	assert_int_equal((pte_named_find(&p, "abc", 3)->data.data - e.data) % SEGMENT_ALIGN, 0);
	for (int i = 1; i < p.nconstants; i++)
		assert_int_equal(p.constant_offset[i] % CONSTANT_ALIGN, 0);
	edit_free(&e);
	arena_free(&a);
}

static void fixtures_survive_a_rewrite(void **unused)
{
	static const char *const name[] = { "add", "linear", "portable", "branch", "counter", "external", "dynamic",
					   "conv_qs8",
		"linear_int4" };

	for (int i = 0; i < N(name); i++) {
		struct arena a = { 0 };
		char *path = arena_printf(&a, FIXTURES "%s.pte", name[i]);
		struct edit once, twice;
		struct file f;
		struct pte p, q;
		struct pte_image m;
		struct error err = { 0 };

		if (!file_open(&f, path, &err) || !pte_read(&p, &f, &a, &err))
			fail_msg("%s", err.text);
		pte_image(&m, &p, &a);
		once = write_image(&m);
		assert_true(once.bytes <= f.bytes);
		if (!read_bytes(&q, &once, &a, &err))
			fail_msg("%s", err.text);
		same_plan(&p.plan[0], &q.plan[0]);
		for (int v = 0; v < p.plan[0].nvalues; v++)
			if (p.plan[0].value[v].tag == PTE_TENSOR && p.plan[0].value[v].tensor->data)
				assert_memory_equal(p.plan[0].value[v].tensor->data, q.plan[0].value[v].tensor->data,
						    p.plan[0].value[v].tensor->bytes);
		assert_int_equal(p.nnamed, q.nnamed);
		for (int n = 0; n < p.nnamed; n++) {
			assert_string_equal(p.named[n].key, q.named[n].key);
			assert_int_equal(p.named[n].data.bytes, q.named[n].data.bytes);
			assert_memory_equal(p.named[n].data.data, q.named[n].data.data, p.named[n].data.bytes);
		}
		pte_image(&m, &q, &a);
		twice = write_image(&m);
		assert_int_equal(once.bytes, twice.bytes);
		assert_memory_equal(once.data, twice.data, once.bytes);
		edit_free(&once);
		edit_free(&twice);
		file_close(&f);
		arena_free(&a);
	}
}

/* The form of old exporters: no header, no segments, constants and delegates inside the tables. */
static struct edit old_program(bool both, size_t constant_bytes)
{
	static const uint64_t offsets[2] = { 0, 0 };
	static const int32_t size[1] = { 6 }, at[1] = { 0 };
	static const int64_t sizes[1] = { 0 };
	static const uint8_t order[1] = { 0 };
	struct fbb b = { 0 };
	fbref value, sizes_ref, order_ref, values, ends, chain, chains, buffers, plan, plans, empty, delegate, data,
	segment = 0, v, name;
	struct edit e;
	uint8_t *bytes;
	size_t n;

	sizes_ref = fbb_vector(&b, size, 1, 4, 4);
	order_ref = fbb_vector(&b, order, 1, 1, 1);
	fbb_put8(&b, TENSOR_SCALAR_TYPE, DTYPE_F32, 0);
	fbb_putref(&b, TENSOR_SIZES, sizes_ref);
	fbb_putref(&b, TENSOR_DIM_ORDER, order_ref);
	fbb_put32(&b, TENSOR_DATA_INDEX, 1, 0);
	value = fbb_end(&b);
	fbb_put8(&b, EVALUE_TAG, PTE_TENSOR, 0);
	fbb_putref(&b, EVALUE_VALUE, value);
	value = fbb_end(&b);
	values = fbb_refs(&b, &value, 1);
	ends = fbb_vector(&b, at, 1, 4, 4);
	v = fbb_refs(&b, NULL, 0);
	fbb_putref(&b, CHAIN_INSTRUCTIONS, v);
	chain = fbb_end(&b);
	chains = fbb_refs(&b, &chain, 1);
	buffers = fbb_vector(&b, sizes, 1, 8, 8);
	fbb_put8(&b, PROCESSED_LOCATION, LOCATION_SEGMENT, LOCATION_SEGMENT);
	delegate = fbb_end(&b);
	name = fbb_string(&b, "Old");
	fbb_putref(&b, DELEGATE_ID, name);
	fbb_putref(&b, DELEGATE_PROCESSED, delegate);
	delegate = fbb_end(&b);
	delegate = fbb_refs(&b, &delegate, 1);
	name = fbb_string(&b, "forward");
	fbb_putref(&b, PLAN_NAME, name);
	fbb_putref(&b, PLAN_VALUES, values);
	fbb_putref(&b, PLAN_INPUTS, ends);
	fbb_putref(&b, PLAN_OUTPUTS, ends);
	fbb_putref(&b, PLAN_CHAINS, chains);
	fbb_putref(&b, PLAN_DELEGATES, delegate);
	fbb_putref(&b, PLAN_BUFFER_SIZES, buffers);
	plan = fbb_end(&b);
	plans = fbb_refs(&b, &plan, 1);
	empty = fbb_end(&b);
	v = fbb_vector(&b, image_weight, constant_bytes, 1, 16);
	fbb_putref(&b, BYTES_DATA, v);
	data = fbb_end(&b);
	buffers = fbb_refs(&b, (fbref[]){ empty, data }, 2);
	v = fbb_vector(&b, image_blob, sizeof image_blob, 1, 16);
	fbb_putref(&b, BYTES_DATA, v);
	data = fbb_end(&b);
	data = fbb_refs(&b, &data, 1);
	if (both) {
		v = fbb_vector(&b, offsets, 2, 8, 8);
		fbb_putref(&b, SUBSEGMENT_OFFSETS, v);
		segment = fbb_end(&b);
	}
	fbb_putref(&b, PROGRAM_PLANS, plans);
	fbb_putref(&b, PROGRAM_CONSTANT_BUFFER, buffers);
	fbb_putref(&b, PROGRAM_DELEGATE_DATA, data);
	fbb_putref(&b, PROGRAM_CONSTANT_SEGMENT, segment);
	assert_true(fbb_finish(&b, fbb_end(&b), "ET12", 0, &bytes, &n, NULL));
	edit_open(&e, bytes, n);
	fbb_free(&b);
	return e;
}

static void the_old_form_is_read(void **unused)
{
	struct arena a = { 0 };
	struct edit e = old_program(false, sizeof image_weight), again;
	struct error err = { 0 };
	struct pte_image m;
	struct pte p, q;

	if (!read_bytes(&p, &e, &a, &err))
		fail_msg("%s", err.text);
	assert_false(p.has_header);
	assert_true(p.inline_constants);
	assert_memory_equal(p.plan[0].value[0].tensor->data, image_weight, sizeof image_weight);
	assert_false(p.plan[0].delegate[0].in_segment);
	assert_memory_equal(p.plan[0].delegate[0].blob.data, image_blob, sizeof image_blob);
	pte_image(&m, &p, &a);
	again = write_image(&m);
	assert_true(read_bytes(&q, &again, &a, &err));
	assert_false(q.inline_constants);
	assert_true(q.has_header);
	assert_true(q.plan[0].delegate[0].in_segment);
	assert_memory_equal(q.plan[0].value[0].tensor->data, image_weight, sizeof image_weight);
	same_plan(&p.plan[0], &q.plan[0]);
	edit_free(&e);
	edit_free(&again);

	e = old_program(false, sizeof image_weight - 1);
	assert_false(read_bytes(&p, &e, &a, &err));
	assert_non_null(strstr(err.text, "24 bytes of constant 1 at 0 of a segment of 23"));
	edit_free(&e);
	e = old_program(true, sizeof image_weight);
	assert_false(read_bytes(&p, &e, &a, &err));
	assert_non_null(strstr(err.text, "only one may hold any"));
	edit_free(&e);
	arena_free(&a);
}

static void a_program_without_data_has_no_header(void **unused)
{
	struct arena a = { 0 };
	struct pte_image m = make_image(&a);
	struct edit e;
	struct pte p;

	m.plan++;
	m.nplans = 1;
	m.nconstants = m.nmutable = m.nnamed = 0;
	e = write_image(&m);
	assert_true(read_bytes(&p, &e, &a, NULL));
	assert_false(p.has_header);
	assert_int_equal(p.nsegments, 0);
	assert_int_equal(p.nconstants, 1);
	edit_free(&e);
	arena_free(&a);
}

static void bad_images_are_not_written(void **unused)
{
	struct arena a = { 0 };
	struct pte_output out;
	struct error err;

	for (int i = 0; i < 6; i++) {
		static const char *const error[] = { "value 0 has its bytes in entry 3 of 3",
						    "value 2 has its bytes in entry 0 of 2",
			"value 7 is of kind 12", "without a name", "two methods are named other", "has 0 chains" };
		struct pte_image m = make_image(&a);

		switch (i) {
		case 0: m.plan->value[V_WEIGHT].tensor->data_index = 3; break;
		case 1: m.plan->value[V_STATE].tensor->data_index = 0; break;
		case 2: m.plan->value[V_SEVEN].tag = 12; break;
		case 3: m.plan[1].name = NULL; break;
		case 4: m.plan[0].name = "other"; break;
		case 5: m.plan[1].nchains = 0; break;
		}
		assert_false(pte_write(&out, &m, &err));
		if (!strstr(err.text, error[i]))
			fail_msg("row %d: \"%s\" does not say \"%s\"", i, err.text, error[i]);
	}
	arena_free(&a);
}

static void long_operator_names_are_refused(void **unused)
{
	char name[101] = { 0 };
	struct arena a = { 0 };
	struct error err;
	struct pte p;

	for (int i = 0; i < 2; i++) {
		struct pte_image m = make_image(&a);
		struct pte_operator op[2] = { m.plan->operator[0], { name, "out" } };
		struct edit e;

		memset(name, 'x', sizeof name - 1);
		name[95 + i] = '\0';
		m.plan->operator = op;
		e = write_image(&m);
		assert_int_equal(read_bytes(&p, &e, &a, &err), i == 0);
		edit_free(&e);
	}
	assert_non_null(strstr(err.text, "name of 100 bytes, the runtime takes less than 100"));
	arena_free(&a);
}

/* A tensor of 6 GB: its pages are neither read nor written. */
static void a_large_program_is_not_touched(void **unused)
{
	enum { GB = 1 << 30 };
	size_t bytes = (size_t)6 * GB;
	uint8_t *big = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct arena a = { 0 };
	struct pte_image m = make_image(&a);
	struct span constants[] = { { NULL, 0 }, { big, bytes }, { image_bytes, 3 } };
	struct pte_output out;
	struct rusage before, after;
	struct file f;
	struct pte p;
	struct error err = { 0 };
	FILE *tmp = tmpfile();
	bool ok;

	m.plan[0].value[V_WEIGHT].tensor->size[0] = (1 << 29) - 1;
	m.constant = constants;
	assert_true(big != MAP_FAILED && pte_write(&out, &m, &err));
	for (int i = 0; i < out.npieces; i++)
		if (out.piece[i].bytes < GB)
			assert_int_equal(fwrite(out.piece[i].data, 1, out.piece[i].bytes, tmp), out.piece[i].bytes);
		else
			assert_int_equal(fseeko(tmp, (off_t)out.piece[i].bytes, SEEK_CUR), 0);
	fflush(tmp);
	getrusage(RUSAGE_SELF, &before);
	ok = file_open_fd(&f, fileno(tmp), "a.pte", &err) && pte_read(&p, &f, &a, &err);
	getrusage(RUSAGE_SELF, &after);
	if (!ok)
		fail_msg("%s", err.text);
	assert_int_equal(f.bytes, out.bytes);
	assert_true(after.ru_minflt - before.ru_minflt + after.ru_majflt - before.ru_majflt < 200);
	assert_true(p.plan[0].value[V_WEIGHT].tensor->bytes > (size_t)5 * GB);
	file_close(&f);
	fclose(tmp);
	munmap(big, bytes);
	pte_output_free(&out);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(equal_bytes_are_stored_once),
		cmocka_unit_test(bytes_that_differ_in_the_middle_stay_apart),
		cmocka_unit_test(segments_are_aligned_and_not_copied),
		cmocka_unit_test(fixtures_survive_a_rewrite),
		cmocka_unit_test(the_old_form_is_read),
		cmocka_unit_test(a_program_without_data_has_no_header),
		cmocka_unit_test(bad_images_are_not_written),
		cmocka_unit_test(a_large_program_is_not_touched),
		cmocka_unit_test(long_operator_names_are_refused),
	};

	return RUN_TAP(tests);
}
