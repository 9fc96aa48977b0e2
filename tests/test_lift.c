/* Lifting: what a file says in calls, places and offsets, as a graph. */
#include "core/format/xblob.h"
#include "core/op/op.h"
#include "core/program/states.h"
#include "core/xnn/rule.h"
#include "tests/maker.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static struct maker *m;
static struct program *p;
static struct graph *g;
static const float numbers[64] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static int setup(void **state)
{
	m = maker_new();
	p = NULL;
	return 0;
}

static int teardown(void **state)
{
	program_close(p);
	maker_free(m);
	return 0;
}

static void lift(void)
{
	struct error err = { 0 };

	p = maker_open(m, NULL, 0, NULL);
	for (int i = 0; i < p->nmethods; i++)
		if (!graph_check(p->method[i], &err))
			fail_msg("%s", err.text);
	g = p->method[0];
}

/* Lines of graph_print from the first node on. */
static void assert_graph(const struct graph *graph, const char *want)
{
	struct str s = { 0 };
	const char *first;

	graph_print(graph, &s);
	first = strstr(str_text(&s), want);
	if (!first)
		fail_msg("no \"%s\" in\n%s", want, str_text(&s));
	str_free(&s);
}

static int planned(uint64_t offset, int rank, const int32_t *size)
{
	return maker_planned(m, DTYPE_F32, 1, offset, rank, size);
}

static int input(uint64_t offset, int rank, const int32_t *size)
{
	int v = planned(offset, rank, size);

	maker_in(m, v);
	return v;
}

/* ---- calls ---- */

static void arguments_follow_the_schema(void **state)
{
	int x = input(0, SHAPE(2, 3)), w = maker_constant(m, DTYPE_F32, numbers, SHAPE(2, 3)), two = maker_int(m, 2);
	int a = planned(64, SHAPE(2, 3)), b = planned(128, SHAPE(2, 3)), none = maker_none(m), half = maker_double(m, 0.5);

	maker_call(m, "aten::add.out", LIST(x, w, two, a, a));
	maker_call(m, "aten::clamp.out", LIST(a, none, half, b, b));
	maker_out(m, b);
	lift();
	assert_graph(g, "method forward\n  %0 = input input0 f32[2,3]\n  %1 = constant constant0 f32[2,3]\n"
		     "  %2 = aten.add.Tensor(%0, %1, 2) f32[2,3]\n  %3 = aten.clamp.default(%2, None, 0.5) f32[2,3]\n  return %3\n");
	assert_memory_equal(g->value[1]->data, numbers, 24);
	assert_int_equal(g->first->origin.kind, ORIGIN_FILE);
	assert_int_equal(g->last->origin.instruction, 1);
	assert_int_equal(g->last->out[0]->file_value, b);
	assert_false(g->rigid);
}

/* A call's kernel takes the dtype from the out tensor; the functional form names it. */
static void options_come_from_the_out_tensor(void **state)
{
	int size = maker_ints(m, LIST(2, 2)), fill = maker_int(m, 3), out = maker_planned(m, DTYPE_I64, 1, 0, SHAPE(2, 2));
	int f = planned(64, SHAPE(2, 2)), no = maker_bool(m, false), order = maker_ints(m, LIST(0, 1));

	maker_call(m, "aten::full.out", LIST(size, fill, out, out));
	maker_call(m, "dim_order_ops::_to_dim_order_copy.out", LIST(out, no, order, f, f));
	maker_out(m, f);
	lift();
	assert_graph(g, "dim_order_ops._to_dim_order_copy.default(%0, 6, None, None, None, False, [0, 1]) f32[2,2]\n");
	assert_int_equal(g->first->out[0]->dtype, DTYPE_I64);
}

static void several_outs_and_lists(void **state)
{
	int x = input(0, SHAPE(4, 3)), dim = maker_int(m, 0), keep = maker_bool(m, false), v = planned(64, SHAPE(3));
	int i = maker_planned(m, DTYPE_I64, 1, 128, SHAPE(3)), both = maker_list(m, PTE_TENSOR_LIST, LIST(v, i));
	int sizes = maker_ints(m, LIST(1, 3)), a = planned(192, SHAPE(1, 3)), b = planned(256, SHAPE(3, 3));
	int parts = maker_list(m, PTE_TENSOR_LIST, LIST(a, b));

	maker_call(m, "aten::max.dim_max", LIST(x, dim, keep, v, i, both));
	maker_call(m, "aten::split_with_sizes_copy.out", LIST(x, sizes, dim, parts, parts));
	maker_out(m, i);
	maker_out(m, b);
	lift();
	assert_graph(g, "%1, %2 = aten.max.dim(%0, 0, False) f32[3] i64[3]\n"
		     "  %3, %4 = aten.split_with_sizes_copy.default(%0, [1, 3], 0) f32[1,3] f32[3,3]\n  return %2 %4\n");
}

static void symbolic_numbers_stay_values(void **state)
{
	int x = input(0, SHAPE(8, 6)), dim = maker_int(m, 0), n = maker_int(m, 0), two = maker_int(m, 2), three = maker_int(m, 3);
	int out = planned(256, SHAPE(8, 2, 3)), size = maker_list(m, PTE_INT_LIST, LIST(n, two, three));

	maker_tensor(m, x)->dynamism = maker_tensor(m, out)->dynamism = PTE_DYNAMIC_BOUND;
	maker_call(m, "aten::sym_size.int", LIST(x, dim, n));
	maker_call(m, "aten::view_copy.out", LIST(x, size, out, out));
	maker_out(m, out);
	lift();
	assert_graph(g, "%1 = aten.sym_size.int(%0, 0) i64[]\n  %2 = aten.view_copy.default(%0, [%1, 2, 3]) f32[<=8,<=2,<=3]\n");
	assert_true(g->first->out[0]->scalar);
	assert_false(g->rigid);
}

/* The literal in the file is what the last run left: nothing can be said of it. */
static void numbers_read_too_early(void **state)
{
	int x = input(0, SHAPE(8, 6)), dim = maker_int(m, 0), n = maker_int(m, 4), out = planned(256, SHAPE(8, 6));

	maker_call(m, "aten::add.out", LIST(x, x, n, out, out));
	maker_call(m, "aten::sym_size.int", LIST(x, dim, n));
	maker_out(m, out);
	lift();
	assert_true(g->rigid);
	assert_non_null(strstr(g->rigid_why, "before it is computed"));
}

static void inputs_and_outputs_of_all_kinds(void **state)
{
	int x = input(0, SHAPE(2)), w = maker_constant(m, DTYPE_F32, numbers, SHAPE(3)), five = maker_int(m, 5), out = planned(64, SHAPE(2));

	maker_in(m, five);
	maker_in(m, maker_double(m, 0.25));
	maker_call(m, "aten::add.out", LIST(x, x, five, out, out));
	maker_out(m, out);
	maker_out(m, w);
	maker_out(m, x);
	maker_out(m, five);
	lift();
	assert_int_equal(g->ninputs, 3);
	assert_int_equal(g->input_literal[1].i, 5);
	assert_true(g->input_literal[2].d == 0.25);
	assert_true(g->input[1]->scalar);
	assert_graph(g, "aten.add.Tensor(%0, %0, 5) f32[2]\n  return %3 %4 %0 5\n");
	assert_int_equal(g->value[4]->kind, VALUE_CONSTANT);
}

/* ---- elided views ---- */

static void equal_places_are_views_of_what_was_written_last(void **state)
{
	int x = input(0, SHAPE(2, 6)), seen = planned(0, SHAPE(3, 4)), a = planned(64, SHAPE(3, 4)), b = planned(0, SHAPE(4, 3));
	int one = maker_int(m, 1), seen_b = planned(0, SHAPE(12)), c = planned(64, SHAPE(12));

	maker_call(m, "aten::add.out", LIST(seen, seen, one, a, a));		/* x as [3, 4] */
	maker_call(m, "aten::permute_copy.out", LIST(a, maker_ints(m, LIST(1, 0)), b, b));	/* over the input */
	maker_call(m, "aten::add.out", LIST(seen_b, seen_b, one, c, c));	/* b as [12], not x */
	maker_out(m, c);
	(void)x;
	lift();
	assert_graph(g, "  %1 = aten.view_copy.default(%0, [3, 4]) f32[3,4]\n  %2 = aten.add.Tensor(%1, %1, 1) f32[3,4]\n"
		     "  %3 = aten.permute_copy.default(%2, [1, 0]) f32[4,3]\n  %4 = aten.view_copy.default(%3, [12]) f32[12]\n"
		     "  %5 = aten.add.Tensor(%4, %4, 1) f32[12]\n  return %5\n");
	assert_int_equal(g->first->origin.kind, ORIGIN_VIEW);
	assert_int_equal(g->first->origin.serial, seen);
	assert_false(g->rigid);
}

/* A value read after others wrote its memory is what they wrote. */
static void a_value_does_not_outlive_its_memory(void **state)
{
	int x = input(0, SHAPE(4)), one = maker_int(m, 1), a = planned(64, SHAPE(4)), b = planned(64, SHAPE(4)), c = planned(128, SHAPE(4));

	maker_call(m, "aten::add.out", LIST(x, x, one, a, a));
	maker_call(m, "aten::mul.out", LIST(x, x, b, b));
	maker_call(m, "aten::add.out", LIST(a, x, one, c, c));
	maker_out(m, c);
	lift();
	assert_graph(g, "%2 = aten.mul.Tensor(%0, %0) f32[4]\n  %3 = aten.add.Tensor(%2, %0, 1) f32[4]\n");
	assert_false(g->rigid);
}

static void parts_of_tensors_are_not_guessed(void **state)
{
	int x = input(0, SHAPE(8)), half = planned(0, SHAPE(4)), one = maker_int(m, 1), out = planned(64, SHAPE(4));

	(void)x;
	maker_call(m, "aten::add.out", LIST(half, half, one, out, out));
	maker_out(m, out);
	lift();
	assert_true(g->rigid);
	assert_string_equal(g->rigid_why, "instruction 0: value 1 reads memory that parts of several tensors hold");
}

/* What is left of a tensor that was written over is a part of it, whatever its size. */
static void rests_of_tensors_are_not_guessed(void **state)
{
	int x = input(0, SHAPE(8)), one = maker_int(m, 1), y = input(64, SHAPE(4)), over = planned(16, SHAPE(4)), rest = planned(0, SHAPE(4));
	int out = planned(128, SHAPE(4));

	(void)x;
	maker_call(m, "aten::add.out", LIST(y, y, one, over, over));
	maker_call(m, "aten::add.out", LIST(rest, over, one, out, out));
	maker_out(m, out);
	lift();
	assert_true(g->rigid);
}

static void other_types_are_not_views(void **state)
{
	int x = input(0, SHAPE(4)), bits = maker_planned(m, DTYPE_I32, 1, 0, SHAPE(4)), out = maker_planned(m, DTYPE_I32, 1, 64, SHAPE(4));

	(void)x;
	maker_call(m, "aten::abs.out", LIST(bits, out, out));
	maker_out(m, out);
	lift();
	assert_true(g->rigid);
	assert_non_null(strstr(g->rigid_why, "another type"));
}

/* How much of it there is, only a run knows. */
static void dynamic_memory_has_no_elided_views(void **state)
{
	int x = input(0, SHAPE(2, 6)), seen = planned(0, SHAPE(12)), out = planned(64, SHAPE(12));

	maker_tensor(m, x)->dynamism = PTE_DYNAMIC_BOUND;
	maker_call(m, "aten::abs.out", LIST(seen, out, out));
	maker_out(m, out);
	lift();
	assert_true(g->rigid);
	assert_non_null(strstr(g->rigid_why, "only a run knows"));
}

static void one_constant_in_two_shapes(void **state)
{
	int x = input(0, SHAPE(2, 3)), w = maker_constant(m, DTYPE_F32, numbers, SHAPE(2, 3)), flat = maker_again(m, w, SHAPE(6));
	int one = maker_int(m, 1), a = planned(64, SHAPE(2, 3)), b = planned(128, SHAPE(6));

	maker_call(m, "aten::add.out", LIST(x, w, one, a, a));
	maker_call(m, "aten::add.out", LIST(flat, flat, one, b, b));
	maker_out(m, a);
	maker_out(m, b);
	lift();
	assert_graph(g, "%1 = constant constant0 f32[2,3]\n  %3 = constant constant1 f32[6]\n");
	assert_ptr_equal(g->value[1]->data, g->value[3]->data);
}

static void et_view_points(void **state)
{
	int x = input(0, SHAPE(6)), size = maker_ints(m, LIST(2, 3)), view = maker_bare(m, DTYPE_F32, SHAPE(2, 3)), one = maker_int(m, 1);
	int a = planned(64, SHAPE(2, 3)), b = planned(0, SHAPE(2, 3)), c = planned(128, SHAPE(2, 3));

	maker_call(m, "executorch_prim::et_view.default", LIST(x, size, view));
	maker_call(m, "aten::add.out", LIST(view, view, one, a, a));
	maker_call(m, "aten::mul.out", LIST(a, a, b, b));		/* where x was, and so where view points */
	maker_call(m, "aten::add.out", LIST(view, a, one, c, c));
	maker_out(m, c);
	lift();
	assert_graph(g, "%1 = aten.view_copy.default(%0, [2, 3]) f32[2,3]\n  %2 = aten.add.Tensor(%1, %1, 1) f32[2,3]\n"
		     "  %3 = aten.mul.Tensor(%2, %2) f32[2,3]\n  %4 = aten.add.Tensor(%3, %2, 1) f32[2,3]\n");
	assert_int_equal(g->first->origin.kind, ORIGIN_FILE);
}

/* ---- state ---- */

static void memory_that_is_read_first_is_state(void **state)
{
	int x = input(0, SHAPE(4)), s = planned(64, SHAPE(4)), one = maker_int(m, 1), a = planned(128, SHAPE(4)), no = maker_bool(m, false);

	maker_call(m, "aten::add.out", LIST(x, s, one, a, a));
	maker_call(m, "aten::copy_", LIST(s, a, no, s));
	maker_out(m, a);
	lift();
	assert_graph(g, "%1 = state state0 f32[4]\n  %2 = aten.add.Tensor(%0, %1, 1) f32[4]\n  aten.copy_.default(%1, %2, False)\n  return %2\n");
	assert_int_equal(g->value[1]->state_slot, 0);
	assert_null(g->value[1]->data);
	assert_int_equal(p->states->nslots, 1);
}

static void writing_state_is_copying_into_it(void **state)
{
	int counter = maker_mutable(m, DTYPE_F32, numbers, 1, 0, SHAPE(2)), one = maker_int(m, 1), flat = planned(0, SHAPE(1, 2));

	maker_call(m, "aten::add.out", LIST(counter, counter, one, counter, counter));
	maker_out(m, flat);
	lift();
	assert_graph(g, "%0 = state state0 f32[2]\n  %2 = state state1 f32[1,2]\n  %1 = aten.add.Tensor(%0, %0, 1) f32[2]\n"
		     "  aten.copy_.default(%0, %1, False)\n  return %2\n");
	assert_int_equal(g->value[0]->state_slot, g->value[2]->state_slot);	/* one memory, seen in two shapes */
	assert_memory_equal(g->value[0]->data, numbers, 8);
	assert_int_equal(g->last->origin.kind, ORIGIN_PASS);
}

static void in_place_on_a_temporary_makes_a_new_one(void **state)
{
	int x = input(0, SHAPE(4)), one = maker_int(m, 1), a = planned(64, SHAPE(4)), no = maker_bool(m, false), b = planned(128, SHAPE(4));

	maker_call(m, "aten::add.out", LIST(x, x, one, a, a));
	maker_call(m, "aten::copy_", LIST(a, x, no, a));
	maker_call(m, "aten::add.out", LIST(a, a, one, b, b));
	maker_out(m, b);
	lift();
	assert_graph(g, "%2 = aten.copy.default(%1, %0, False) f32[4]\n  %3 = aten.add.Tensor(%2, %2, 1) f32[4]\n");
	assert_false(g->rigid);
}

static void writing_a_callers_memory_is_rigid(void **state)
{
	int x = maker_bare(m, DTYPE_F32, SHAPE(4)), y = input(0, SHAPE(4)), no = maker_bool(m, false);

	maker_in(m, x);
	maker_call(m, "aten::copy_", LIST(x, y, no, x));
	maker_out(m, x);
	lift();
	assert_true(g->rigid);
	assert_non_null(strstr(g->rigid_why, "caller"));
}

/* One method reads what the other writes: by place in a shared arena, and by name. */
static void state_is_shared_between_methods(void **state)
{
	int x = input(0, SHAPE(4)), s = maker_planned(m, DTYPE_F32, 2, 32, SHAPE(4)), one = maker_int(m, 1), a = planned(64, SHAPE(4));
	int named = planned(128, SHAPE(2)), no;

	maker_tensor(m, named)->has_extra = true;
	maker_tensor(m, named)->name = "cache.k";
	maker_call(m, "aten::add.out", LIST(x, s, one, a, a));
	maker_out(m, a);
	maker_out(m, named);
	maker_method(m, "write");
	x = input(0, SHAPE(4));
	s = maker_planned(m, DTYPE_F32, 2, 32, SHAPE(4));
	named = maker_planned(m, DTYPE_F32, 1, 64, SHAPE(2));
	maker_tensor(m, named)->has_extra = true;
	maker_tensor(m, named)->name = "cache.k";
	no = maker_bool(m, false);
	maker_call(m, "aten::abs.out", LIST(x, s, s));		/* a plain out tensor here, but state there */
	maker_call(m, "aten::copy_", LIST(named, maker_constant(m, DTYPE_F32, numbers, SHAPE(2)), no, named));
	maker_method(m, "peek");
	s = maker_planned(m, DTYPE_F32, 2, 32, SHAPE(4));
	named = planned(64, SHAPE(2));
	maker_tensor(m, named)->has_extra = true;
	maker_tensor(m, named)->name = "cache.k";
	maker_call(m, "aten::abs.out", LIST(maker_constant(m, DTYPE_F32, numbers, SHAPE(2)), named, named));
	maker_out(m, s);
	lift();
	assert_graph(p->method[2], "aten.abs.default(%0) f32[2]\n  aten.copy_.default(%2, %1, False)\n  return %3\n");
	assert_int_equal(p->method[2]->value[3]->state_slot, p->method[0]->value[1]->state_slot);
	assert_graph(p->method[0], "%2 = aten.add.Tensor(%0, %1, 1) f32[4]\n  return %2 %3\n");
	assert_graph(p->method[1], "%1 = aten.abs.default(%0) f32[4]\n  aten.copy_.default(%2, %1, False)\n  aten.copy_.default(%3, %4, False)\n");
	assert_int_equal(p->method[0]->value[1]->state_slot, p->method[1]->value[2]->state_slot);
	assert_int_equal(p->method[0]->value[3]->state_slot, p->method[1]->value[3]->state_slot);
	assert_string_equal(p->method[0]->value[3]->name, "cache.k");
	assert_int_equal(p->states->nslots, 2);
}

/* Arena 1 is each method's own. */
static void equal_offsets_in_private_arenas_share_nothing(void **state)
{
	int s = planned(0, SHAPE(4)), a = planned(64, SHAPE(4)), x;

	maker_call(m, "aten::abs.out", LIST(s, a, a));
	maker_out(m, a);
	maker_method(m, "other");
	x = input(64, SHAPE(4));
	s = planned(0, SHAPE(4));
	maker_call(m, "aten::abs.out", LIST(x, s, s));
	maker_out(m, s);
	lift();
	assert_graph(p->method[1], "%1 = aten.abs.default(%0) f32[4]\n  return %1\n");
	assert_int_equal(p->states->nslots, 1);
}

/* Stored bytes and memory of its own: a buffer that methods write, though this one writes it before it reads it. */
static void stored_bytes_in_memory_are_state(void **state)
{
	int x = input(0, SHAPE(4)), s = maker_mutable(m, DTYPE_F32, numbers, 1, 64, SHAPE(4)), a = planned(128, SHAPE(4));

	maker_call(m, "aten::abs.out", LIST(x, s, s));
	maker_call(m, "aten::abs.out", LIST(s, a, a));
	maker_out(m, a);
	lift();
	assert_int_equal(p->states->nslots, 1);
	assert_graph(g, "aten.copy_.default(");
}

/* What lies over a part of another method's state is nothing that can be told apart. */
static void memory_over_a_part_of_state_is_rigid(void **state)
{
	int s = maker_planned(m, DTYPE_F32, 2, 32, SHAPE(4)), a = planned(64, SHAPE(4)), x;

	maker_call(m, "aten::abs.out", LIST(s, a, a));
	maker_out(m, a);
	maker_method(m, "other");
	x = input(0, SHAPE(2));
	s = maker_planned(m, DTYPE_F32, 2, 40, SHAPE(2));
	maker_call(m, "aten::abs.out", LIST(x, s, s));
	maker_out(m, s);
	lift();
	assert_false(p->method[0]->rigid);
	assert_true(p->method[1]->rigid);
}

static void state_that_is_run_over_is_rigid(void **state)
{
	int x = input(0, SHAPE(4)), s = maker_mutable(m, DTYPE_F32, numbers, 1, 64, SHAPE(4)), over = planned(72, SHAPE(4)), one = maker_int(m, 1);

	maker_call(m, "aten::add.out", LIST(x, s, one, over, over));
	maker_out(m, over);
	lift();
	assert_true(g->rigid);
}

/* ---- what we do not know ---- */

static void unknown_operators_keep_their_arguments(void **state)
{
	int x = input(0, SHAPE(4)), three = maker_int(m, 3), a = planned(64, SHAPE(4)), b = planned(128, SHAPE(2)), c = planned(192, SHAPE(2));
	int both = maker_list(m, PTE_TENSOR_LIST, LIST(b, c)), s = maker_mutable(m, DTYPE_F32, numbers, 1, 256, SHAPE(4)), one = maker_int(m, 1);
	int n = maker_int(m, 0), none = maker_none(m), d = planned(320, SHAPE(4));

	maker_call(m, "my::one.out", LIST(x, three, a, a));
	maker_call(m, "my::two.outs", LIST(a, b, c, both));
	maker_call(m, "my::in_place_", LIST(s, a, s));
	maker_call(m, "my::number", LIST(a, n));
	maker_call(m, "my::nothing", LIST(a, none));
	maker_call(m, "aten::add.out", LIST(a, a, one, d, d));
	maker_out(m, d);
	lift();
	assert_graph(g, "%2 = my::one.out(%1, 3) f32[4]\n  %3, %4 = my::two.outs(%2) f32[2] f32[2]\n  my::in_place_(%0, %2)\n"
		     "  %5 = my::number(%2) i64[]\n  my::nothing(%2)\n  %6 = aten.add.Tensor(%2, %2, 1) f32[4]\n");
	assert_true(g->first->op->flags & OP_OPAQUE);
	assert_false(g->rigid);
}

/* The row's schema and shape rule decide whether a call is what its name says. */
static void calls_that_do_not_fit_their_row_are_opaque(void **state)
{
	int x = input(0, SHAPE(4)), list = maker_ints(m, LIST(1)), a = planned(64, SHAPE(4)), b = planned(128, SHAPE(5)), one = maker_int(m, 1);
	int n = maker_int(m, 0);

	maker_call(m, "aten::add.out", LIST(x, x, list, a, a));		/* a list for a number */
	maker_call(m, "aten::add.out", LIST(x, x, one, b, b));		/* [4] + [4] is not [5] */
	maker_call(m, "aten::add.out", LIST(x, x, a, a));		/* an argument short */
	maker_call(m, "aten::add.out", LIST(x, x, one, a, a, a));	/* and one more */
	maker_call(m, "aten::sym_size.int", LIST(x, one, n));
	maker_call(m, "aten::add.out", LIST(x, n, one, b, b));		/* a number for a tensor */
	maker_out(m, a);
	maker_out(m, b);
	lift();
	assert_graph(g, "%4 = aten::add.out(%0, %0, 1, %3) f32[4]\n");
	assert_graph(g, " = aten::add.out(%0, %5, 1) f32[5]\n");
	assert_graph(g, "%1 = aten::add.out(%0, %0, [1]) f32[4]\n  %2 = aten::add.out(%0, %0, 1) f32[5]\n  %3 = aten::add.out(%0, %0) f32[4]\n");
}

static void control_flow_is_shown(void **state)
{
	int x = input(0, SHAPE(4)), flag = maker_planned(m, DTYPE_BOOL, 1, 64, SHAPE(1)), a = planned(128, SHAPE(4)), out = maker_bare(m, DTYPE_F32, SHAPE(4));

	maker_in(m, flag);
	maker_jump(m, PTE_JUMP_FALSE, flag, 2);
	maker_call(m, "aten::abs.out", LIST(x, a, a));
	maker_jump(m, PTE_MOVE, a, out);
	maker_out(m, out);
	lift();
	assert_graph(g, "  executorch::jump_false(%1)\n  %2 = aten.abs.default(%0) f32[4]\n  %3 = executorch::move(%2) f32[4]\n  return %3\n");
	assert_true(g->control_flow);
	assert_true(g->rigid);
}

static const uint8_t secret[] = "bytes of another backend";

static void foreign_delegates_are_one_node(void **state)
{
	int x = input(0, SHAPE(2, 6)), seen = planned(0, SHAPE(3, 4)), a = planned(64, SHAPE(3, 4)), b = planned(128, SHAPE(4)), one = maker_int(m, 1);

	(void)x;
	maker_call(m, "aten::abs.out", LIST(seen, a, a));
	maker_delegate(m, "SomeBackend", (struct span){ secret, sizeof secret }, LIST(seen, a, b));
	maker_call(m, "aten::add.out", LIST(b, b, one, maker_planned(m, DTYPE_F32, 1, 256, SHAPE(4)), m->value.n - 1));
	maker_out(m, m->value.n - 1);
	lift();
	assert_graph(g, "%3 = SomeBackend(%1, %2) f32[4] @0\n  %4 = aten.add.Tensor(%3, %3, 1) f32[4]\n");
	assert_true(g->group[0].foreign);
	assert_false(g->group[0].changed);
	assert_non_null(strstr(g->group[0].why, "SomeBackend"));
	assert_int_equal(g->group[0].nargs, 3);
	assert_false(g->rigid);
}

/* ---- XNNPACK ---- */

/* abs of a [2, 3] and of a scalar, in one delegate. */
static struct span abs_blob(void)
{
	static const uint32_t dim[2][XMAX_RANK] = { { 2, 3 }, { 1 } };
	struct xvalue value[4] = { 0 };
	struct xnode node[2] = { 0 };
	struct xgraph x = { value, 4, node, 2, 4 };
	struct error err = { 0 };
	struct span blob;

	for (uint32_t i = 0; i < 4; i++) {
		value[i] = (struct xvalue){ .id = i, .datatype = XD_FP32, .rank = 2 - (int)(i % 2), .flags = i < 2 ? XFLAG_INPUT : XFLAG_OUTPUT,
					    .external_id = i };
		memcpy(value[i].dim, dim[i % 2], sizeof value[i].dim);
	}
	for (uint32_t i = 0; i < 2; i++)
		node[i] = (struct xnode){ .tag = X_ABS, .debug_handle = 40 + i, .min = -INFINITY, .max = INFINITY, .field = { i, i + 2 } };
	if (!xblob_write(&x, &m->mem, &blob, &err))
		fail_msg("%s", err.text);
	return blob;
}

static void delegates_are_raised(void **state)
{
	int x = input(0, SHAPE(2, 3)), s = input(32, 0, NULL), a = planned(64, SHAPE(2, 3)), b = planned(96, 0, NULL), one = maker_int(m, 1);
	int sum = planned(128, SHAPE(2, 3));

	maker_delegate(m, "XnnpackBackend", abs_blob(), LIST(x, s, a, b));
	maker_call(m, "aten::add.out", LIST(a, b, one, sum, sum));
	maker_out(m, sum);
	lift();
	assert_graph(g, "%2 = aten.abs.default(%0) f32[2,3] @0\n  %3 = aten.abs.default(%1) f32[] @0\n  %4 = aten.add.Tensor(%2, %3, 1) f32[2,3]\n");
	assert_int_equal(g->first->next->origin.dnode, 1);
	assert_int_equal(g->first->next->origin.debug_handle, 41);
	assert_int_equal(g->first->origin.delegate, 0);
	assert_int_equal(g->ngroups, 1);
	assert_int_equal(g->group[0].filed, 0);
	assert_false(g->group[0].changed);
	assert_int_equal(g->group[0].nargs, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(g->group[0].arg[i]->file_value, ((int[]){ x, s, a, b })[i]);
}

/* Channels-last arguments: XNNPACK sees their memory, the graph sees their sizes. */
static void arguments_in_other_dim_orders(void **state)
{
	int x = input(0, SHAPE(3, 2)), s = input(32, 0, NULL), a = planned(64, SHAPE(3, 2)), b = planned(96, 0, NULL);

	memcpy(maker_tensor(m, x)->dim_order, (uint8_t[]){ 1, 0 }, 2);
	memcpy(maker_tensor(m, a)->dim_order, (uint8_t[]){ 1, 0 }, 2);
	maker_delegate(m, "XnnpackBackend", abs_blob(), LIST(x, s, a, b));
	maker_out(m, a);
	lift();
	assert_int_equal(g->output[0].value->size[0], 3);
	assert_int_equal(g->output[0].value->dim_order[0], 1);
	assert_false(g->group[0].foreign);
	for (const struct node *n = g->first; n; n = n->next) {
		if (op_is(n->op, "aten.abs.default"))
			assert_int_equal(n->out[0]->dim_order[0], n->arg[0].value->dim_order[0]);
		assert_int_equal(xnn_verdict(g, n, &g->mem).kind, VERDICT_TAKES);
	}
}

static void delegates_that_contradict_their_call_are_opaque(void **state)
{
	int x = maker_planned(m, DTYPE_I32, 1, 0, SHAPE(2, 3)), s = input(32, 0, NULL), a = planned(64, SHAPE(2, 3)), b = planned(96, 0, NULL);
	int y = input(160, SHAPE(2, 3)), c = planned(192, SHAPE(2, 4));

	maker_in(m, x);
	maker_delegate(m, "XnnpackBackend", abs_blob(), LIST(x, s, a, b));	/* i32 where f32 is taken */
	maker_delegate(m, "XnnpackBackend", abs_blob(), LIST(y, s, c, b));	/* [2, 4] where [2, 3] is made */
	maker_delegate(m, "XnnpackBackend", abs_blob(), LIST(y, s, a));		/* an argument short */
	maker_delegate(m, "XnnpackBackend", (struct span){ secret, sizeof secret }, LIST(y, a));
	maker_out(m, a);
	maker_out(m, c);
	lift();
	assert_graph(g, "  %3, %4 = XnnpackBackend(%2, %0) f32[2,3] f32[] @0\n");
	assert_int_equal(g->ngroups, 4);
	for (int i = 0; i < 4; i++)
		assert_true(g->group[i].foreign);
	assert_non_null(strstr(g->group[0].why, "argument 0"));
	assert_non_null(strstr(g->group[1].why, "argument 2"));
	assert_non_null(strstr(g->group[2].why, "wants 4 arguments"));
}

/* A few bytes of file could ask for any number of nodes. */
static void endless_requests_are_refused(void **state)
{
	struct error err = { 0 };
	int32_t one = maker_int(m, 1), *many = arena_array(&m->mem, 20000, sizeof *many);
	int list;

	for (int i = 0; i < 20000; i++)
		many[i] = one;
	list = maker_list(m, PTE_INT_LIST, 20000, many);
	for (int i = 0; i < 100; i++)
		maker_call(m, "my::op", LIST(list, list, list, list, one));
	assert_null(maker_open(m, NULL, 0, &err));
	assert_non_null(strstr(err.text, "can hold"));
}

/* ---- data files ---- */

static char data_path[] = "/tmp/lift-test-XXXXXX";

static void write_data(enum dtype t, int rows)
{
	struct ptd_entry e = { .key = "fc.weight", .key_bytes = 9, .data = { (const uint8_t *)numbers, (size_t)rows * 3 * 4 }, .has_layout = true,
			       .dtype = t, .rank = 2, .size = { rows, 3 }, .dim_order = { 0, 1 } };
	struct pte_output out;
	struct error err = { 0 };

	if (!ptd_write(&out, &e, 1, &err) || !file_write_pieces(data_path, out.piece, out.npieces, true, &err))
		fail_msg("%s", err.text);
	pte_output_free(&out);
}

static void external_constants(void **state)
{
	const char *data[] = { data_path };
	struct error err = { 0 };
	int x = input(0, SHAPE(2, 3)), w = maker_external(m, DTYPE_F32, "fc.weight", SHAPE(2, 3)), one = maker_int(m, 1), out = planned(64, SHAPE(2, 3));

	close(mkstemp(data_path));
	maker_call(m, "aten::add.out", LIST(x, w, one, out, out));
	maker_out(m, out);
	lift();						/* without the data file: shape and name, no bytes */
	assert_string_equal(g->value[1]->name, "fc.weight");
	assert_null(g->value[1]->data);
	assert_int_equal(g->value[1]->home, 0);
	program_close(p);
	write_data(DTYPE_F32, 2);
	p = maker_open(m, data, 1, NULL);
	assert_memory_equal(p->method[0]->value[1]->data, numbers, 24);
	assert_int_equal(p->method[0]->value[1]->home, 0);
	program_close(p);
	write_data(DTYPE_F32, 4);
	p = maker_open(m, data, 1, &err);
	assert_null(p);
	assert_non_null(strstr(err.text, "fc.weight"));
	write_data(DTYPE_F32, 2);
	p = maker_open(m, (const char *[]){ data_path, data_path }, 2, &err);
	assert_null(p);					/* one key in two files */
	unlink(data_path);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(arguments_follow_the_schema), T(options_come_from_the_out_tensor), T(several_outs_and_lists), T(symbolic_numbers_stay_values),
		T(numbers_read_too_early), T(inputs_and_outputs_of_all_kinds), T(equal_places_are_views_of_what_was_written_last),
		T(a_value_does_not_outlive_its_memory), T(parts_of_tensors_are_not_guessed), T(rests_of_tensors_are_not_guessed),
		T(other_types_are_not_views), T(dynamic_memory_has_no_elided_views), T(one_constant_in_two_shapes), T(et_view_points), T(memory_that_is_read_first_is_state),
		T(writing_state_is_copying_into_it), T(in_place_on_a_temporary_makes_a_new_one), T(writing_a_callers_memory_is_rigid),
		T(state_is_shared_between_methods), T(equal_offsets_in_private_arenas_share_nothing), T(state_that_is_run_over_is_rigid), T(stored_bytes_in_memory_are_state),
		T(memory_over_a_part_of_state_is_rigid),
		T(unknown_operators_keep_their_arguments), T(calls_that_do_not_fit_their_row_are_opaque), T(control_flow_is_shown),
		T(foreign_delegates_are_one_node), T(delegates_are_raised), T(arguments_in_other_dim_orders),
		T(delegates_that_contradict_their_call_are_opaque), T(endless_requests_are_refused), T(external_constants),
	};

	return RUN_TAP(tests);
}
