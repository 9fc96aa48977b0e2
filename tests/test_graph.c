/* The IR by itself: edits keep users, groups and order right. */
#include "core/graph/graph.h"
#include "core/op/op.h"
#include "tests/tap.h"

static const struct op add = { .name = "test.add", .schema = "TT>T", .args = "self, other" };
static const struct op cat = { .name = "test.cat", .schema = "LI>T", .args = "tensors, dim" };
static const struct op draw = { .name = "test.rand", .schema = "A>T", .args = "size", .flags = OP_RANDOM };
static const int64_t size[] = { 2, 3 };

static struct value *make_add(struct graph *g, struct value *a, struct value *b)
{
	return node_add_output(g, graph_node(g, NULL, &add, (struct arg[]){ arg_value(a), arg_value(b) }, 2), DTYPE_F32, 2, size);
}

static struct graph *diamond(void)	/* x -> a, b -> c */
{
	struct graph *g = graph_new("forward");
	struct value *x = graph_value(g, VALUE_INPUT, DTYPE_F32, 2, size);
	struct value *w = graph_value(g, VALUE_CONSTANT, DTYPE_F32, 2, size);
	struct value *a, *b;

	graph_add_input(g, x, arg_none());
	a = make_add(g, x, w);
	b = make_add(g, x, x);
	graph_add_output(g, arg_value(make_add(g, a, b)));
	return g;
}

static void check(struct graph *g)
{
	struct error err = { 0 };

	if (!graph_check(g, &err))
		fail_msg("%s", err.text);
}

static void users_count_every_place(void **state)
{
	struct graph *g = diamond();

	check(g);
	assert_int_equal(g->value[0]->nuses, 3);
	assert_int_equal(g->value[1]->nuses, 1);
	graph_replace(g, g->value[0], g->value[1]);
	assert_int_equal(g->value[0]->nuses, 0);
	assert_int_equal(g->value[1]->nuses, 4);
	check(g);
	graph_free(g);
}

static void lists_hold_users_too(void **state)
{
	struct graph *g = diamond();
	struct value *a = g->first->out[0], *b = g->first->next->out[0];
	struct arg arg[] = { arg_values(g, (struct value *[]){ a, b, a }, 3), arg_int(0) };
	struct node *n = graph_node(g, NULL, &cat, arg, 2);

	node_add_output(g, n, DTYPE_F32, 2, (int64_t[]){ 6, 3 });
	assert_int_equal(a->nuses, 3);
	graph_replace_in(g, n, a, b);
	assert_int_equal(a->nuses, 1);
	assert_int_equal(b->nuses, 4);
	check(g);
	graph_free(g);
}

static void sweep_takes_what_nobody_reads(void **state)
{
	struct graph *g = diamond();
	struct value *dead = make_add(g, g->value[0], g->value[0]);

	make_add(g, dead, dead);
	node_add_output(g, graph_node(g, NULL, &draw, (struct arg[]){ arg_ints(g, size, 2) }, 1), DTYPE_F32, 2, size);
	assert_int_equal(graph_sweep(g), 2);
	assert_int_equal(g->nnodes, 4);	/* the random draw stays: it moves the generator */
	check(g);
	graph_free(g);
}

static void clone_is_whole_and_apart(void **state)
{
	struct graph *g = diamond(), *c;
	struct str a = { 0 }, b = { 0 };

	g->first->group = graph_add_group(g, 0);
	c = graph_clone(g);
	graph_print(g, &a);
	graph_print(c, &b);
	assert_string_equal(a.text, b.text);
	graph_replace(c, c->value[0], c->value[1]);
	check(c);
	check(g);
	assert_int_equal(g->value[0]->nuses, 3);
	assert_false(g->group[0].changed);
	assert_true(c->group[0].changed);
	graph_free(g);
	check(c);
	graph_free(c);
	str_free(&a);
	str_free(&b);
}

static void edits_mark_the_delegate_they_touch(void **state)
{
	struct graph *g = diamond();
	struct node *a = g->first, *b = a->next, *c = b->next;

	graph_add_group(g, 0);
	graph_add_group(g, 1);
	a->group = 0;
	c->group = 1;
	graph_set_arg(g, b, 1, arg_value(g->value[1]));	/* outside both, reads no output of theirs */
	assert_false(g->group[0].changed || g->group[1].changed);
	graph_set_arg(g, b, 1, arg_value(a->out[0]));	/* now delegate 0 has one more reader outside */
	assert_true(g->group[0].changed);
	assert_false(g->group[1].changed);
	graph_set_group(g, c, -1);
	assert_true(g->group[1].changed);
	check(g);
	graph_free(g);
}

static void check_sees_what_is_wrong(void **state)
{
	struct graph *g = diamond();
	struct error err = { 0 };

	graph_move(g, g->last, g->first);
	assert_false(graph_check(g, &err));
	assert_non_null(strstr(err.text, "used before it is made"));
	graph_move(g, g->first, NULL);
	check(g);
	g->value[0]->size[0] = 7;
	assert_false(graph_check(g, &err));
	assert_non_null(strstr(err.text, "bytes"));
	graph_free(g);
}

static void ids_lead_back_to_the_file(void **state)
{
	struct graph *g = diamond();
	struct node *n = g->first;
	char buf[64];

	n->origin = (struct origin){ .kind = ORIGIN_FILE, .instruction = 3, .delegate = 0, .dnode = 2 };
	assert_string_equal(node_id(g, n, buf, sizeof buf), "forward/3/2");
	assert_ptr_equal(graph_find(g, "forward/3/2"), n);
	n->origin.dnode = -1;
	assert_string_equal(node_id(g, n, buf, sizeof buf), "forward/3");
	n->origin = (struct origin){ .kind = ORIGIN_VIEW, .serial = 12, .dnode = -1 };
	assert_string_equal(node_id(g, n, buf, sizeof buf), "forward/v12");
	assert_null(graph_find(g, "forward/99"));
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_count_every_place),
		cmocka_unit_test(lists_hold_users_too),
		cmocka_unit_test(sweep_takes_what_nobody_reads),
		cmocka_unit_test(clone_is_whole_and_apart),
		cmocka_unit_test(edits_mark_the_delegate_they_touch),
		cmocka_unit_test(check_sees_what_is_wrong),
		cmocka_unit_test(ids_lead_back_to_the_file),
	};

	return RUN_TAP(tests);
}
