#include "core/format/pte_schema.h"
#include "tests/image.h"
#include "tests/tap.h"

#include <stdlib.h>

/* Every one of these is accepted by the stock runtime and must be an error here, or crashes or aborts it. */
#define PLAN PROGRAM_PLANS, 0
#define VALUE(i) PROGRAM_PLANS, 0, PLAN_VALUES, i, EVALUE_VALUE, CHILD
#define INSTRUCTION(i) PROGRAM_PLANS, 0, PLAN_CHAINS, 0, CHAIN_INSTRUCTIONS, i
#define CALL(i) INSTRUCTION(i), INSTRUCTION_CALL, CHILD
#define PROCESSED PLAN, PLAN_DELEGATES, 0, DELEGATE_PROCESSED, CHILD

static const struct damage bad[] = {
	/* the program */
	{ "program version", { END }, ALIAS(PROGRAM_VERSION, PROGRAM_PLANS) },
	{ "no methods", { END }, DROP(PROGRAM_PLANS) },
	{ "no methods", { END }, COUNT(PROGRAM_PLANS, 0) },
	{ "constants in segment 0, the program has 0", { END }, DROP(PROGRAM_SEGMENTS) },
	{ "mutable data in segment 88, the program has 5", { PROGRAM_MUTABLE_SEGMENTS, 0, END }, SET(SUBSEGMENT_INDEX,
		4, 88) },
	{ "lies outside the file", { PROGRAM_SEGMENTS, 1, END }, SET(SEGMENT_OFFSET, 8, 1 << 20) },
	{ "lies outside the file", { PROGRAM_SEGMENTS, 1, END }, SET(SEGMENT_OFFSET, 8, -64) },
	{ "lies outside the file", { PROGRAM_SEGMENTS, 1, END }, SET(SEGMENT_SIZE, 8, 1 << 20) },
	{ "lies outside the file", { PROGRAM_SEGMENTS, 1, END }, SET(SEGMENT_SIZE, 8, -1) },
	{ "24 bytes of constant 1 at 18446744073709551600", { PROGRAM_CONSTANT_SEGMENT, CHILD, END },
	 ITEM(SUBSEGMENT_OFFSETS, 1, 8, -16) },
	{ "24 bytes of constant 1 at 16", { PROGRAM_CONSTANT_SEGMENT, CHILD, END }, ITEM(SUBSEGMENT_OFFSETS, 1, 8,
		16) },
	{ "mutable data 1 at 18446744073709551615", { PROGRAM_MUTABLE_SEGMENTS, 0, END }, ITEM(SUBSEGMENT_OFFSETS, 1,
		8, -1) },
	{ "mutable data 1, the program has 0", { END }, DROP(PROGRAM_MUTABLE_SEGMENTS) },
	{ "named data 1 has no key", { PROGRAM_NAMED_DATA, 1, END }, DROP(NAMED_KEY) },
	{ "named data 0 in segment 99", { PROGRAM_NAMED_DATA, 0, END }, SET(NAMED_SEGMENT, 4, 99) },
	/* a method */
	{ "method without a name", { PLAN, END }, DROP(PLAN_NAME) },
	{ "method forward: no values", { PLAN, END }, DROP(PLAN_VALUES) },
	{ "no inputs", { PLAN, END }, DROP(PLAN_INPUTS) },
	{ "no outputs", { PLAN, END }, DROP(PLAN_OUTPUTS) },
	{ "no chains", { PLAN, END }, DROP(PLAN_CHAINS) },
	{ "no chains", { PLAN, END }, COUNT(PLAN_CHAINS, 0) },
	{ "no delegates vector", { PLAN, END }, DROP(PLAN_DELEGATES) },
	{ "no non_const_buffer_sizes", { PLAN, END }, DROP(PLAN_BUFFER_SIZES) },
	{ "arena 1 of -1 bytes", { PLAN, END }, ITEM(PLAN_BUFFER_SIZES, 1, 8, -1) },
	{ "device of arena 3", { PLAN, PLAN_BUFFER_DEVICES, 0, END }, SET(DEVICE_BUFFER, 4, 3) },
	{ "device of arena -1", { PLAN, PLAN_BUFFER_DEVICES, 0, END }, SET(DEVICE_BUFFER, 4, -1) },
	{ "method forward: input 0 is 20", { PLAN, END }, ITEM(PLAN_INPUTS, 0, 4, V_COUNT) },
	{ "input 0 is -1", { PLAN, END }, ITEM(PLAN_INPUTS, 0, 4, -1) },
	{ "input 1, value 13, is a list", { PLAN, END }, ITEM(PLAN_INPUTS, 1, 4, V_INTS) },
	{ "output 1 is 1000", { PLAN, END }, ITEM(PLAN_OUTPUTS, 1, 4, 1000) },
	{ "operator 1: operator without a name", { PLAN, PLAN_OPERATORS, 1, END }, DROP(OPERATOR_NAME) },
	/* values */
	{ "value of kind 0", { PLAN, PLAN_VALUES, V_SEVEN, END }, DROP(EVALUE_TAG) },
	{ "value of kind 12", { PLAN, PLAN_VALUES, V_SEVEN, END }, SET(EVALUE_TAG, 1, 12) },
	{ "value of kind 2 without a table", { PLAN, PLAN_VALUES, V_SEVEN, END }, DROP(EVALUE_VALUE) },
	{ "value 11: string without text", { VALUE(V_TEXT), END }, DROP(SCALAR_VALUE) },
	{ "has no NUL", { VALUE(V_TEXT), END }, COUNT(SCALAR_VALUE, 4) },
	{ "value 13: list without items", { VALUE(V_INTS), END }, DROP(LIST_ITEMS) },
	{ "value 14: list without items", { VALUE(V_DOUBLES), END }, DROP(LIST_ITEMS) },
	{ "value 15: list without items", { VALUE(V_BOOLS), END }, DROP(LIST_ITEMS) },
	{ "value 16: list without items", { VALUE(V_TENSORS), END }, DROP(LIST_ITEMS) },
	{ "item 1 is value 20, there are 20", { VALUE(V_INTS), END }, ITEM(LIST_ITEMS, 1, 8, V_COUNT) },
	{ "item 1 is value -1, there are 20", { VALUE(V_INTS), END }, ITEM(LIST_ITEMS, 1, 8, -1) },
	{ "item 1 is value 4294967303", { VALUE(V_INTS), END }, ITEM(LIST_ITEMS, 1, 8, ((int64_t)1 << 32) + 7) },
	{ "value 13: item 0, value 9, is no Int", { VALUE(V_INTS), END }, ITEM(LIST_ITEMS, 0, 8, V_TRUE) },
	{ "value 16: item 0 is 18, allowed are 0 to 15", { VALUE(V_TENSORS), END }, ITEM(LIST_ITEMS, 0, 4, V_NHWC) },
	{ "value 16: item 0 is -1", { VALUE(V_TENSORS), END }, ITEM(LIST_ITEMS, 0, 4, -1) },
	{ "value 16: item 0, value 7, is no Tensor", { VALUE(V_TENSORS), END }, ITEM(LIST_ITEMS, 0, 4, V_SEVEN) },
	{ "value 17: item 0 is -2", { VALUE(V_OPTIONALS), END }, ITEM(LIST_ITEMS, 0, 4, -2) },
	{ "value 17: item 0 is 18", { VALUE(V_OPTIONALS), END }, ITEM(LIST_ITEMS, 0, 4, V_NHWC) },
	{ "value 17: item 0, value 9, is no Tensor", { VALUE(V_OPTIONALS), END }, ITEM(LIST_ITEMS, 0, 4, V_TRUE) },
	/* tensors */
	{ "tensor without sizes", { VALUE(V_WEIGHT), END }, DROP(TENSOR_SIZES) },
	{ "tensor without dim_order", { VALUE(V_WEIGHT), END }, DROP(TENSOR_DIM_ORDER) },
	{ "scalar type 30", { VALUE(V_WEIGHT), END }, SET(TENSOR_SCALAR_TYPE, 1, 30) },
	{ "scalar type -1", { VALUE(V_WEIGHT), END }, SET(TENSOR_SCALAR_TYPE, 1, -1) },
	{ "storage offset", { VALUE(V_WEIGHT), END }, ALIAS(TENSOR_STORAGE_OFFSET, TENSOR_SIZES) },
	{ "shape dynamism 2", { VALUE(V_DYNAMIC), END }, SET(TENSOR_DYNAMISM, 1, 2) },
	{ "shape dynamism -1", { VALUE(V_DYNAMIC), END }, SET(TENSOR_DYNAMISM, 1, -1) },
	{ "sizes are negative", { VALUE(V_BARE), END }, ITEM(TENSOR_SIZES, 0, 4, -1) },
	{ "value 18: tensor of rank 4 with a dim_order of 3", { VALUE(V_NHWC), END }, COUNT(TENSOR_DIM_ORDER, 3) },
	{ "tensor of rank 17", { VALUE(V_NHWC), END }, COUNT(TENSOR_SIZES, 17) },
	{ "dim_order is no permutation of 0 to 3", { VALUE(V_NHWC), END }, ITEM(TENSOR_DIM_ORDER, 1, 1, 3) },
	{ "dim_order is no permutation of 0 to 3", { VALUE(V_NHWC), END }, ITEM(TENSOR_DIM_ORDER, 1, 1, 200) },
	{ "external tensor without a name", { VALUE(V_EXTERNAL), TENSOR_EXTRA, CHILD, END }, DROP(EXTRA_NAME) },
	{ "tensor data location 2", { VALUE(V_EXTERNAL), TENSOR_EXTRA, CHILD, END }, SET(EXTRA_LOCATION, 1, 2) },
	{ "memory_id 0; the method has 3 arenas", { VALUE(V_NHWC), TENSOR_ALLOCATION, CHILD, END },
	 DROP(ALLOCATION_ID) },
	{ "memory_id 3; the method has 3 arenas", { VALUE(V_NHWC), TENSOR_ALLOCATION, CHILD, END }, SET(ALLOCATION_ID,
		4, 3) },
	{ "24 bytes planned at 105 of arena 1", { VALUE(V_DYNAMIC), TENSOR_ALLOCATION, CHILD, END },
	 SET(ALLOCATION_LOW, 4, 105) },
	{ "96 bytes planned at 12884901888 of arena 2", { VALUE(V_NHWC), TENSOR_ALLOCATION, CHILD, END },
	 SET(ALLOCATION_HIGH, 4, 3) },
	{ "constant 3, the program has 3", { VALUE(V_WEIGHT), END }, SET(TENSOR_DATA_INDEX, 4, 3) },
	{ "400 bytes of constant 2", { VALUE(V_BYTES), END }, ITEM(TENSOR_SIZES, 0, 4, 400) },
	{ "mutable data 2, the program has 2", { VALUE(V_STATE), END }, SET(TENSOR_DATA_INDEX, 4, 2) },
	/* delegates */
	{ "delegate without an id", { PLAN, PLAN_DELEGATES, 0, END }, DROP(DELEGATE_ID) },
	{ "delegate without data", { PLAN, PLAN_DELEGATES, 1, END }, DROP(DELEGATE_PROCESSED) },
	{ "data location 2", { PROCESSED, END }, SET(PROCESSED_LOCATION, 1, 2) },
	{ "data in inline entry 2, the program has 0", { PROCESSED, END }, DROP(PROCESSED_LOCATION) },
	{ "data in segment 44, the program has 5", { PROCESSED, END }, SET(PROCESSED_INDEX, 4, 44) },
	{ "compile spec 0 without a key", { PLAN, PLAN_DELEGATES, 0, DELEGATE_SPECS, 0, END }, DROP(SPEC_KEY) },
	{ "compile spec 0 without a value", { PLAN, PLAN_DELEGATES, 0, DELEGATE_SPECS, 0, END }, DROP(SPEC_VALUE) },
	/* instructions */
	{ "chain without instructions", { PLAN, PLAN_CHAINS, 0, END }, DROP(CHAIN_INSTRUCTIONS) },
	{ "instruction 0: instruction of kind 0", { INSTRUCTION(0), END }, DROP(INSTRUCTION_TAG) },
	{ "instruction of kind 6", { INSTRUCTION(0), END }, SET(INSTRUCTION_TAG, 1, 6) },
	{ "instruction of kind 1 without a table", { INSTRUCTION(0), END }, DROP(INSTRUCTION_CALL) },
	{ "operator 2, the method has 2", { CALL(0), END }, SET(CALL_INDEX, 4, 2) },
	{ "operator -1, the method has 2", { CALL(0), END }, SET(CALL_INDEX, 4, -1) },
	{ "call without args", { CALL(0), END }, DROP(CALL_ARGS) },
	{ "argument 2 is -1, allowed are 0 to 19", { CALL(0), END }, ITEM(CALL_ARGS, 2, 4, -1) },
	{ "argument 2 is 20", { CALL(0), END }, ITEM(CALL_ARGS, 2, 4, V_COUNT) },
	{ "call without args", { CALL(1), END }, DROP(CALL_ARGS) },
	{ "delegate 2, the method has 2", { CALL(2), END }, SET(CALL_INDEX, 4, 2) },
	{ "delegate -1, the method has 2", { CALL(2), END }, SET(CALL_INDEX, 4, -1) },
	{ "instruction 3: value 20, the method has 20", { CALL(3), END }, SET(CALL_INDEX, 4, V_COUNT) },
	{ "instruction 3: value -1, the method has 20", { CALL(3), END }, SET(CALL_TO, 4, -1) },
	{ "instruction 4: value 20, the method has 20", { CALL(4), END }, SET(CALL_INDEX, 4, V_COUNT) },
	{ "jump on value 7, which is no bool", { CALL(4), END }, SET(CALL_INDEX, 4, V_SEVEN) },
	{ "jump on value 3, which is no bool", { CALL(4), END }, SET(CALL_INDEX, 4, V_DYNAMIC) },
	{ "jump to instruction 8, the chain has 7", { CALL(4), END }, SET(CALL_TO, 4, 8) },
	{ "jump to instruction -1, the chain has 7", { CALL(4), END }, SET(CALL_TO, 4, -1) },
	{ "free of value 7, which is no tensor", { CALL(6), END }, SET(CALL_INDEX, 4, V_SEVEN) },
	{ "instruction 6: value -9, the method has 20", { CALL(6), END }, SET(CALL_INDEX, 4, -9) },
	/* strings */
	{ "holds a NUL", { PLAN, END }, ITEM(PLAN_NAME, 2, 1, 0) },
	{ "not UTF-8", { PLAN, END }, ITEM(PLAN_NAME, 2, 1, 0xff) },
};

static void damaged(const struct edit *good, const struct damage *d, struct edit *out, struct arena *a)
{
	struct file f = { .path = "a.pte", .data = good->data, .bytes = good->bytes };
	struct edit tables;
	struct pte p;

	assert_true(pte_read(&p, &f, a, NULL));
	edit_open(&tables, good->data, (size_t)p.program_bytes);
	edit_apply(&tables, d);
	*out = edit_rebuild_pte(&f, &p, &tables);
	edit_free(&tables);
}

static void damage_is_an_error(void **unused)
{
	struct arena a = { 0 };
	struct pte_image m = make_image(&a);
	struct edit good = write_image(&m), e;
	struct error err;
	struct pte p;

	for (int i = 0; i < N(bad); i++) {
		damaged(&good, &bad[i], &e, &a);
		if (read_bytes(&p, &e, &a, &err))
			fail_msg("row %d: read, though it should say \"%s\"", i, bad[i].error);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_int_equal(strncmp(err.text, "a.pte: offset ", 14), 0);
		assert_null(strstr(err.text, "(null)"));
		if (!strstr(err.text, bad[i].error))
			fail_msg("row %d: \"%s\" does not say \"%s\"", i, err.text, bad[i].error);
		edit_free(&e);
	}
	edit_free(&good);
	arena_free(&a);
}

/* What the runtime takes, and so do we. */
static const struct damage fine[] = {
	{ "77 in the reserved arena", { PLAN, END }, ITEM(PLAN_BUFFER_SIZES, 0, 8, 77) },
	{ "no chain of instructions", { PLAN, PLAN_CHAINS, 0, END }, COUNT(CHAIN_INSTRUCTIONS, 0) },
	{ "no container", { PLAN, END }, DROP(PLAN_CONTAINER) },
	{ "jump behind the end", { CALL(4), END }, SET(CALL_TO, 4, 7) },
	{ "no specs", { PLAN, PLAN_DELEGATES, 0, END }, DROP(DELEGATE_SPECS) },
	{ "overlapping segments", { PROGRAM_SEGMENTS, 2, END }, SET(SEGMENT_OFFSET, 8, 1) },
	{ "list item without a value", { VALUE(V_OPTIONALS), END }, ITEM(LIST_ITEMS, 2, 4, -1) },
	{ "size 0", { VALUE(V_BARE), END }, ITEM(TENSOR_SIZES, 0, 4, 0) },
	{ "stack trace", { PLAN, PLAN_CHAINS, 0, END }, ALIAS(CHAIN_STACKTRACE, CHAIN_INSTRUCTIONS) },
	{ "placeholder offset", { PROGRAM_CONSTANT_SEGMENT, CHILD, END }, ITEM(SUBSEGMENT_OFFSETS, 0, 8, -1) },
};

static void what_the_runtime_takes_is_read(void **unused)
{
	struct arena a = { 0 };
	struct pte_image m = make_image(&a);
	struct edit good = write_image(&m), e;
	struct error err;
	struct pte p;

	for (int i = 0; i < N(fine); i++) {
		damaged(&good, &fine[i], &e, &a);
		if (!read_bytes(&p, &e, &a, &err))
			fail_msg("%s: %s", fine[i].error, err.text);
		assert_int_equal(p.plan->has_stacktrace, !strcmp(fine[i].error, "stack trace"));
		edit_free(&e);
	}
	edit_free(&good);
	arena_free(&a);
}

/* Bytes of the header and around it. error NULL: must be read. */
static const struct { const char *error; size_t at; int width; int64_t value; } head[] = {
	{ "offset 4: identifier \"ET11\"", 7, 1, '1' },
	{ "offset 12: header of 23 bytes, at least 24", 12, 4, 23 },
	{ NULL, 12, 4, 24 },
	{ NULL, 12, 4, 40 },
	{ "offset 16: program of", 12, 4, -1 },
	{ "offset 16: program of 7 bytes", 16, 8, 7 },
	{ "offset 16: program of 0 bytes", 16, 8, 0 },
	{ "offset 16: program of 72057594037927935 bytes", 16, 8, ((int64_t)1 << 56) - 1 },
	{ "offset 16: program of 18446744073709551615 bytes", 16, 8, -1 },
	{ "offset 24: segments start at 64, inside the program", 24, 8, 64 },
	{ "but no header says where segments start", 24, 8, 0 },
	{ "of segments from 1099511627776 on", 24, 8, (int64_t)1 << 40 },
	{ "of segments from 18446744073709551615 on", 24, 8, -1 },
	{ "offset 24: 18446744073709551615 bytes of segments", 32, 8, -1 },
	{ "offset 24: 100000 bytes of segments", 32, 8, 100000 },
	{ NULL, 32, 8, 0 },
	{ NULL, 32, 8, 1 },
	{ "no header says where segments start", 8, 1, 'E' },
	{ "no header says where segments start", 11, 1, '1' },
	{ "table lies outside", 0, 4, 0 },
	{ "offset 4: vtable at", 0, 4, 4 },
	{ "table lies outside", 0, 4, 0x7fffffff },
	{ "table lies outside", 0, 4, 0x61 },
};

static void headers_are_checked(void **unused)
{
	struct arena a = { 0 };
	struct pte_image m = make_image(&a);
	struct edit good = write_image(&m);
	struct error err;
	struct pte p;

	for (int i = 0; i < N(head); i++) {
		struct edit e;
		bool ok;

		edit_open(&e, good.data, good.bytes);
		memcpy(e.data + head[i].at, &head[i].value, (size_t)head[i].width);
		ok = read_bytes(&p, &e, &a, &err);
		if (ok != !head[i].error)
			fail_msg("row %d: %s", i, ok ? "read" : err.text);
		if (!ok && !strstr(err.text, head[i].error))
			fail_msg("row %d: \"%s\" does not say \"%s\"", i, err.text, head[i].error);
		edit_free(&e);
	}
	edit_free(&good);
	arena_free(&a);
}

static void cuts_and_tails(void **unused)
{
	struct arena a = { 0 };
	struct pte_image m = make_image(&a);
	struct edit good = write_image(&m), e;
	struct error err;
	struct pte p;

	for (size_t n = 0; n < good.bytes; n++) {
		edit_open(&e, good.data, n);
		assert_false(read_bytes(&p, &e, &a, &err));
		assert_int_equal(err.code, ERROR_FORMAT);
		edit_free(&e);
	}
	assert_true(read_bytes(&p, &good, &a, &err));
	e = (struct edit){ calloc(1, good.bytes + 100), good.bytes + 100 };
	memcpy(e.data, good.data, good.bytes);
	assert_true(read_bytes(&p, &e, &a, &err));
	edit_free(&e);
	edit_free(&good);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_is_an_error),
		cmocka_unit_test(what_the_runtime_takes_is_read),
		cmocka_unit_test(headers_are_checked),
		cmocka_unit_test(cuts_and_tails),
	};

	return RUN_TAP(tests);
}
