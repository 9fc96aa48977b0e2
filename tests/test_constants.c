/* What is stored, and what is stored more than once. */
#include "core/base/same.h"
#include "core/session/constants.h"
#include "tests/lab.h"
#include "tests/tap.h"

#include <stdlib.h>

static void equal_bytes_are_found(void **state)
{
	static const char *const piece[] = { "a", "b", "a", "", "ab", "", "ab", "a" };
	static const int want[] = { -1, -1, 0, -1, -1, 3, 4, 0 };
	int number[8];
	struct arena mem = { 0 };
	struct same s = { .mem = &mem };

	for (int i = 0; i < 8; i++) {
		int *found = same_find(&s, (const uint8_t *)piece[i], strlen(piece[i]), &number[i]);

		assert_int_equal(found ? (int)(found - number) : -1, want[i]);
	}
	arena_free(&mem);
}

/* Thousands of pieces that are equal where a few bytes are looked at: each differs in one place, and all stand twice. */
static void few_bytes_do_not_tell(void **state)
{
	enum { PIECES = 5000, BYTES = 1000 };
	uint8_t *data = calloc(2 * PIECES, BYTES);
	struct arena mem = { 0 };
	struct same s = { .mem = &mem };

	for (int i = 0; i < 2 * PIECES; i++)
		memcpy(data + i * BYTES + 100, &(int){ i % PIECES }, sizeof(int));
	for (int i = 0; i < 2 * PIECES; i++) {
		uint8_t *at = data + i * BYTES, *found = same_find(&s, at, BYTES, at);

		assert_ptr_equal(found, i < PIECES ? NULL : at - PIECES * BYTES);
	}
	free(data);
	arena_free(&mem);
}

static struct value *copy_of(struct lab *lab, const struct value *v, const char *name)
{
	struct value *w = graph_value(lab->g, VALUE_CONSTANT, v->dtype, v->rank, v->size);

	w->data = arena_copy(&lab->g->mem, v->data, v->bytes);
	w->name = name;
	return w;
}

static void print(const struct constant_row *c, int n, struct str *s)
{
	str_clear(s);
	for (int i = 0; i < n; i++)
		str_addf(s, "%s%s:%d users, %d methods, %d copies of %s", i ? "; " : "", c[i].value->name, c[i].users, c[i].methods,
			 c[i].copies, c[i].same->name);
}

/* Of the file three are stored; of what is written of it, two: the copies of one file are stored once. */
static void copies_are_counted(void **state)
{
	struct lab *lab = lab_new();
	struct value *x = lab_input(lab, DTYPE_F32, SIZES(4)), *a = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(4));
	struct value *b = copy_of(lab, a, "b"), *c = lab_constant(lab, DTYPE_F32, -1, 1, SIZES(2, 4)), *elsewhere = copy_of(lab, a, "d");
	struct graph *both[] = { lab->g, lab->g };
	struct arena mem = { 0 };
	struct str s = { 0 };
	int n;
	struct constant_row *row;

	a->name = "a";
	c->name = "c";
	elsewhere->home = 0;
	a->home = b->home = c->home = HOME_PROGRAM;
	lab_node(lab, "aten.add.Tensor", V(x), V(a), I(1));
	lab_node(lab, "aten.add.Tensor", V(x), V(b), I(1));
	lab_node(lab, "aten.mul.Tensor", V(c), V(b));
	lab_node(lab, "aten.mul.Tensor", V(x), V(elsewhere));
	row = constants_find(both, 1, true, &mem, &n);
	print(row, n, &s);
	assert_string_equal(str_text(&s), "c:1 users, 1 methods, 1 copies of c; a:1 users, 1 methods, 3 copies of a; "
			    "b:2 users, 1 methods, 3 copies of a; d:1 users, 1 methods, 3 copies of a");
	row = constants_find(both, 1, false, &mem, &n);
	print(row, n, &s);
	assert_string_equal(str_text(&s), "c:1 users, 1 methods, 1 copies of c; a:3 users, 1 methods, 2 copies of a; "
			    "d:1 users, 1 methods, 2 copies of a");
	str_free(&s);
	arena_free(&mem);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_bytes_are_found), cmocka_unit_test(few_bytes_do_not_tell), cmocka_unit_test(copies_are_counted),
	};

	return RUN_TAP(tests);
}
