/* Programs that are legal and nasty: what they compute when run as they stand, partitioned anew, and written anew.
 * Each stands for a program that the stock runtime runs, found by running random ones both ways. */
#include "core/op/op.h"
#include "core/pass/partition.h"
#include "core/program/emit.h"
#include "core/run/exec.h"
#include "tests/maker.h"
#include "tests/tap.h"

static struct maker *m;
static const float numbers[4] = { 1, 2, -3, 4 };

static int setup(void **state)
{
	m = maker_new();
	return 0;
}

static int teardown(void **state)
{
	maker_free(m);
	return 0;
}

static int planned(uint64_t offset, int rank, const int32_t *size)
{
	return maker_planned(m, DTYPE_F32, 1, offset, rank, size);
}

static int input(uint64_t offset)
{
	int v = planned(offset, SHAPE(4));

	maker_in(m, v);
	return v;
}

/* Output 0 of call after call with the same input numbers, against what is expected of each. */
static void runs(const struct program *p, enum engine engine, int calls, const float *want)
{
	struct exec_options o = { .engine = engine, .threads = 1 };
	struct tensor in = { 0 }, *ins[4] = { &in, &in, &in, &in };
	struct exec *e;
	struct error err = { 0 };

	tensor_set_type(&in, DTYPE_F32, 1, (const int64_t[]){ 4 });
	in.data = (void *)numbers;
	if (!exec_open(&e, p, p->method[0], &o, &err))
		fail_msg("%s: %s", engine_names[engine], err.text);
	for (int c = 0; c < calls; c++) {
		const struct tensor *out;

		if (!exec_run(e, ins, p->method[0]->ninputs, &err))
			fail_msg("%s: %s", engine_names[engine], err.text);
		out = exec_output(e, 0);
		for (int64_t i = 0; i < tensor_numel(out); i++, want++)
			if (((const float *)out->data)[i] != *want)
				fail_msg("%s: call %d, number %d is %g, not %g", engine_names[engine], c, (int)i,
					 ((const float *)out->data)[i], *want);
	}
	exec_close(e);
}

static struct program *written_anew(struct program *p, bool partition, struct emitted *out)
{
	struct graph *g = graph_clone(p->method[0]);
	struct file f = { .path = "again" };
	struct program *again;
	struct error err = { 0 };
	uint8_t *bytes;

	if ((partition && !partition_apply(g, &err)) || !program_emit(out, p, &g, &err))
		fail_msg("%s", err.text);
	f.data = bytes = mem_try(out->program.bytes + FILE_SLACK);
	for (int i = 0; i < out->program.npieces; f.bytes += out->program.piece[i++].bytes)
		memcpy(bytes + f.bytes, out->program.piece[i].data, out->program.piece[i].bytes);
	if (!program_open_file(&again, f, NULL, 0, &err))
		fail_msg("%s", err.text);
	graph_free(g);
	return again;
}

static void computes(int calls, const float *want)
{
	struct program *p = maker_open(m, NULL, 0, NULL);

	for (enum engine e = 0; e < ENGINES; e++)
		runs(p, e, calls, want);
	for (int partition = 0; partition < 2; partition++) {
		struct emitted out;
		struct program *again = written_anew(p, partition, &out);

		for (enum engine e = 0; e < ENGINES; e++)
			runs(again, e, calls, want);
		program_close(again);
		emitted_free(&out);
	}
	program_close(p);
}

/* A node that nobody reads, beside one that somebody does: XNNPACK's graphs must not hold it. */
static void dead_nodes(void **state)
{
	int x = input(0), dead = planned(64, SHAPE(4)), y = planned(128, SHAPE(4));
	struct program *p, *again;
	struct emitted out;

	maker_call(m, "aten::sigmoid.out", LIST(x, dead, dead));
	maker_call(m, "aten::neg.out", LIST(x, y, y));
	maker_out(m, y);
	computes(1, (const float[]){ -1, -2, 3, -4 });
	p = maker_open(m, NULL, 0, NULL);
	again = written_anew(p, true, &out);
	assert_int_equal(again->method[0]->nnodes, 1);
	assert_true(again->method[0]->first->group >= 0);
	program_close(again);
	emitted_free(&out);
	program_close(p);
}

/* An output that points into other memory by et_view has none of its own in the file; the caller brings none. */
static void a_pointer_is_an_output(void **state)
{
	int x = input(0), y = planned(64, SHAPE(4)), two = maker_ints(m, LIST(2, 2)), view = maker_bare(m, DTYPE_F32, SHAPE(2, 2));
	struct program *p, *again;
	struct emitted out;
	const struct pte_plan *plan;

	maker_call(m, "aten::neg.out", LIST(x, y, y));
	maker_call(m, "executorch_prim::et_view.default", LIST(y, two, view));
	maker_out(m, view);
	computes(1, (const float[]){ -1, -2, 3, -4 });
	p = maker_open(m, NULL, 0, NULL);
	again = written_anew(p, true, &out);
	plan = &again->pte.plan[0];
	assert_int_equal(plan->ndelegates, 1);
	assert_true(plan->value[plan->output[0]].tensor->has_allocation);
	program_close(again);
	emitted_free(&out);
	program_close(p);
}

/* The tensor that holds what state begins with is in no call; the calls name another one of the same memory. */
static void state_under_another_name(void **state)
{
	int x = input(0), y = planned(64, SHAPE(4)), one = maker_int(m, 1), no = maker_bool(m, false), s;

	maker_mutable(m, DTYPE_F32, numbers, 1, 128, SHAPE(4));
	s = planned(128, SHAPE(4));
	maker_call(m, "aten::add.out", LIST(x, s, one, y, y));
	maker_call(m, "aten::copy_", LIST(s, y, no, s));
	maker_out(m, y);
	computes(3, (const float[]){ 2, 4, -6, 8, 3, 6, -9, 12, 4, 8, -12, 16 });
}

/* State seen through a pointer: it lies where the state does. */
static void a_pointer_to_state(void **state)
{
	int x = input(0), s = maker_mutable(m, DTYPE_F32, numbers, 1, 128, SHAPE(4)), two = maker_ints(m, LIST(2, 2));
	int view = maker_bare(m, DTYPE_F32, SHAPE(2, 2)), y = planned(64, SHAPE(2, 2)), no = maker_bool(m, false);

	maker_call(m, "executorch_prim::et_view.default", LIST(s, two, view));
	maker_call(m, "aten::neg.out", LIST(view, y, y));
	maker_call(m, "aten::copy_", LIST(s, x, no, s));
	maker_out(m, y);
	computes(2, (const float[]){ -1, -2, 3, -4, -1, -2, 3, -4 });
}

/* State that only dead calls read stays, and may be read from outside. */
static void dead_readers_of_state(void **state)
{
	int x = input(0), s = maker_mutable(m, DTYPE_F32, numbers, 1, 128, SHAPE(4)), dead = planned(64, SHAPE(4)), y = planned(192, SHAPE(4));
	struct program *p, *again;
	struct emitted out;

	maker_call(m, "aten::neg.out", LIST(s, dead, dead));
	maker_call(m, "aten::abs.out", LIST(x, y, y));
	maker_out(m, y);
	computes(2, (const float[]){ 1, 2, 3, 4, 1, 2, 3, 4 });
	p = maker_open(m, NULL, 0, NULL);
	again = written_anew(p, true, &out);
	assert_int_equal(again->pte.nmutable, 2);
	program_close(again);
	emitted_free(&out);
	program_close(p);
}

/* One piece of memory, read as what was written there last, under three shapes. */
static void one_memory_many_tensors(void **state)
{
	int x = input(0), y = planned(64, SHAPE(4)), again = planned(64, SHAPE(2, 2)), z = planned(128, SHAPE(2, 2));
	int over = planned(64, SHAPE(4)), all = planned(192, SHAPE(2, 2)), last = planned(64, SHAPE(2, 2));
	int one = maker_int(m, 1);

	maker_call(m, "aten::neg.out", LIST(x, y, y));
	maker_call(m, "aten::abs.out", LIST(again, z, z));		/* of -x */
	maker_call(m, "aten::add.out", LIST(x, y, one, over, over));	/* onto itself: 0 */
	maker_call(m, "aten::add.out", LIST(last, z, one, all, all));
	maker_out(m, all);
	maker_out(m, all);
	maker_out(m, x);
	computes(2, (const float[]){ 1, 2, 3, 4, 1, 2, 3, 4 });
}

/* Constants of no elements, and none of any. */
static void constants_without_bytes(void **state)
{
	int x = input(0), none = maker_constant(m, DTYPE_F32, numbers, SHAPE(0)), list = maker_list(m, PTE_TENSOR_LIST, LIST(x, none));
	int y = planned(64, SHAPE(4)), zero = maker_int(m, 0);
	struct program *p;

	maker_call(m, "aten::cat.out", LIST(list, zero, y, y));
	maker_out(m, y);
	computes(1, numbers);
	p = maker_open(m, NULL, 0, NULL);
	assert_true(p->pte.nconstants == 2 && p->pte.segment_bytes);	/* the runtime takes an empty segment for none */
	program_close(p);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(dead_nodes), T(a_pointer_is_an_output), T(state_under_another_name), T(a_pointer_to_state), T(dead_readers_of_state),
		T(one_memory_many_tensors), T(constants_without_bytes),
	};

	return RUN_TAP(tests);
}
