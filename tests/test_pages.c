/* Pages without a terminal: their rows as text, moving, sorting, searching, lanes, and keys. */
#include "inspect/keys.h"
#include "tests/expect.h"
#include "tests/made.h"
#include "tests/tap.h"
#include "views/lanes.h"
#include "views/page.h"

#include <ctype.h>
#include <ncurses.h>
#include <stdlib.h>

static struct ui ui_of(struct session *s)
{
	return (struct ui){ .s = s, .width = 79, .xnnpack = "2024-11" };
}

static void add_bench(struct session *s)
{
	static const struct bench_row rows[] = {
		{ 0, NULL, 0, ENGINE_FILED, 5.5, 1900, { 1800, 1830.25, 1901, 1835, 20, 30 }, 1, 4.6, NULL },
		{ 0, NULL, 0, ENGINE_PORTABLE, 0.5, 2000, { 1900, 1930, 2001, 1935, 20, 30 }, 1, 4.3, NULL },
		{ .failed = "the worker died", .engine = ENGINE_XNNPACK },
		{ 0, NULL, 1, ENGINE_FILED, 30, 20, { 8.1, 8.25, 9, 8.3, 0.2, 30 }, 1, 1020, NULL },
	};

	s->nbench = s->capbench = 4;
	s->bench = arena_copy(&s->mem, rows, sizeof rows);
}

/* Each page as `e` exports it, with the pane of its last row. */
static void exported(void **state)
{
	struct session *s = made_session();
	struct ui ui = ui_of(s);

	add_bench(s);
	for (int i = 0; i < PAGES; i++) {
		struct page p;
		struct text t = { .width = 79 };
		char path[64];

		page_open(&p, page_table[i], 0);
		page_build(&p, &ui);
		page_export(&p, &ui, &t);
		page_move(&p, &ui, REQ_LAST, 10);
		text_add(&t, "\n");
		if (page_row(&p) >= 0)
			p.ops->pane(&p, &ui, page_row(&p), &t);
		snprintf(path, sizeof path, "tests/expected/page_%s.txt", p.ops->name);
		for (char *c = path; *c; c++)
			*c = (char)tolower(*c);
		expect_file(path, str_text(&t.s));
		text_free(&t);
		page_close(&p);
	}
	made_free(s);
}

/* All columns of a page fit on a screen of 80, beside the cursor's mark. */
static void widths(void **state)
{
	for (int i = 0; i < PAGES; i++) {
		int sum = 1, n = 0, wide[PAGE_COLUMNS];
		struct page p;

		page_open(&p, page_table[i], 0);
		for (; p.ops->column[n].title; n++)
			sum += p.ops->column[n].width + 1;
		assert_in_range(n, 1, PAGE_COLUMNS);
		assert_in_range(sum, 2, 80 + 1);	/* the last column ends without a blank */
		page_widths(&p, 200, wide);
		for (sum = 0; n--;)
			sum += wide[n] + 1;
		assert_in_range(sum, 1, 200);
		page_close(&p);
	}
}

static void moving(void **state)
{
	struct session *s = made_session();
	struct ui ui = ui_of(s);
	struct page p;

	page_open(&p, &page_graph, 0);
	page_build(&p, &ui);
	assert_int_equal(p.nrows, 10);
	assert_true(page_move(&p, &ui, REQ_UP, 4));
	assert_int_equal(p.cursor, 0);
	page_move(&p, &ui, REQ_PAGE_DOWN, 4);
	page_scroll(&p, 4);
	assert_int_equal(p.cursor, 4);
	assert_int_equal(p.top, 1);
	page_move(&p, &ui, REQ_LAST, 4);
	page_scroll(&p, 4);
	assert_int_equal(p.cursor, 9);
	assert_int_equal(p.top, 6);
	page_scroll(&p, 20);	/* a larger screen */
	assert_int_equal(p.top, 0);
	assert_false(page_move(&p, &ui, REQ_FOLD, 4));
	assert_true(page_to_node(&p, &ui, "forward/2"));
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/2");
	assert_false(page_to_node(&p, &ui, "forward/77"));
	page_forget(&p, &ui);
	page_build(&p, &ui);	/* the cursor comes back */
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/2");
	s->current = 1;		/* where that node is gone */
	page_build(&p, &ui);
	assert_int_equal(p.nrows, 4);
	assert_in_range(p.cursor, 0, 3);
	page_close(&p);
	made_free(s);
}

static void following(void **state)
{
	struct session *s = made_session();
	struct ui ui = ui_of(s);
	struct page p;

	page_open(&p, &page_graph, 0);
	page_build(&p, &ui);
	page_to_node(&p, &ui, "forward/4");
	assert_int_equal(p.ops->request(&p, &ui, page_row(&p), REQ_FOLLOW), PAGE_GO);
	assert_string_equal(p.go.id, "%x");
	p.ops->request(&p, &ui, page_row(&p), REQ_LINK_NEXT);
	assert_int_equal(p.ops->request(&p, &ui, page_row(&p), REQ_FOLLOW), PAGE_GO);
	assert_string_equal(p.go.id, "forward/3/1");
	page_to_node(&p, &ui, "forward/3/1");
	p.ops->request(&p, &ui, page_row(&p), REQ_LINK_PREV);	/* round: the user */
	p.ops->request(&p, &ui, page_row(&p), REQ_FOLLOW);
	assert_string_equal(p.go.id, "forward/4");
	p.ops->request(&p, &ui, page_row(&p), REQ_PREV_DECLINED);
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/2");
	p.ops->request(&p, &ui, page_row(&p), REQ_NEXT_DECLINED);
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/4");
	assert_int_equal(p.ops->request(&p, &ui, page_row(&p), REQ_FOLD_MODULE), PAGE_REBUILD);
	page_build(&p, &ui);
	assert_int_equal(p.nrows, 2);	/* the input and the module */
	assert_int_equal(p.ops->request(&p, &ui, 1, REQ_FOLD_MODULE), PAGE_REBUILD);
	assert_int_equal(p.ops->request(&p, &ui, 0, REQ_CONSTANTS), PAGE_REBUILD);
	page_build(&p, &ui);
	assert_int_equal(p.nrows, 7);
	page_close(&p);
	made_free(s);
}

static void sorting(void **state)
{
	struct session *s = made_session();
	struct ui ui = ui_of(s);
	struct page p;
	struct str cell = { 0 };

	page_open(&p, &page_constants, 0);
	page_build(&p, &ui);
	while (p.sort != 9)	/* names */
		page_move(&p, &ui, REQ_SORT, 4);
	p.ops->cell(&p, &ui, p.shown[1], 9, &cell);
	assert_string_equal(str_text(&cell), "conv.bias");
	page_move(&p, &ui, REQ_SORT_REVERSE, 4);
	str_clear(&cell);
	p.ops->cell(&p, &ui, p.shown[0], 9, &cell);
	assert_string_equal(str_text(&cell), "conv.weight_g");
	page_move(&p, &ui, REQ_SORT, 4);	/* past the last: the page's own order */
	assert_int_equal(p.sort, -1);
	assert_int_equal(p.shown[2], 2);
	str_free(&cell);
	page_close(&p);
	made_free(s);
}

static struct found search(struct page *p, const struct ui *ui, const char *expression, int from, int dir)
{
	struct find f = { 0 };
	char why[FIND_WHY_BYTES];
	struct found found;

	assert_true(find_set(&f, expression, why));
	page_stale(p);
	found = page_search(p, ui, &f, from, dir);
	find_free(&f);
	return found;
}

static void searching(void **state)
{
	struct session *s = made_session();
	struct ui ui = ui_of(s);
	struct page p;
	struct found f;

	page_open(&p, &page_graph, 0);
	page_build(&p, &ui);
	f = search(&p, &ui, "sum\\(", 0, 1);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.of, 1);
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/1");
	assert_int_equal(search(&p, &ui, "Sum", 0, 1).n, 0);	/* a capital counts */
	f = search(&p, &ui, "^mul", p.cursor, 1);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.of, 2);
	assert_false(f.round);
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/3/1");
	f = search(&p, &ui, "^mul", p.cursor, 1);
	assert_true(f.round);
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/0/0");
	f = search(&p, &ui, "^mul", p.cursor, -1);
	assert_true(f.round);
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/3/1");
	assert_int_equal(search(&p, &ui, "^mul", p.cursor, -1).n, 1);
	assert_int_equal(search(&p, &ui, "^mul", p.cursor - 1, 1).n, 1);	/* at the cursor itself */
	assert_int_equal(search(&p, &ui, "nowhere", 0, 1).n, 0);
	assert_int_equal(search(&p, &ui, "", 0, 1).n, 0);
	assert_int_equal(search(&p, &ui, "mul.*portable", 0, 1).n, 0);	/* not from cell to cell */
	page_close(&p);
	page_open(&p, &page_linear, 0);	/* no rows */
	page_build(&p, &ui);
	assert_int_equal(search(&p, &ui, "mul", 0, 1).n, 0);
	assert_int_equal(page_row(&p), -1);
	page_close(&p);
	made_free(s);
}

/* What stands at the marks of a line is what was searched for. */
static void marking(void **state)
{
	struct session *s = made_session();
	struct ui ui = ui_of(s);
	struct find f = { 0 };
	struct page p;
	struct page_marks m;
	struct str line = { 0 };
	char why[FIND_WHY_BYTES];
	int width[PAGE_COLUMNS];

	ui.ascii = true;	/* a byte is a column */
	page_open(&p, &page_graph, 0);
	page_build(&p, &ui);
	page_widths(&p, 79, width);
	assert_true(page_to_node(&p, &ui, "forward/2"));
	page_line(&p, &ui, page_row(&p), width, &line);
	page_marks(&p, &ui, page_row(&p), width, &m);
	assert_int_equal(m.n, 0);
	ui.find = &f;
	page_marks(&p, &ui, page_row(&p), width, &m);
	assert_int_equal(m.n, 0);
	assert_true(find_set(&f, "p|^2$", why));
	page_marks(&p, &ui, page_row(&p), width, &m);
	assert_true(m.n > 2);
	assert_int_equal(m.at[0].to, width[0]);	/* the number, at the right of its column */
	for (int i = 0; i < m.n; i++) {
		assert_int_equal(m.at[i].to - m.at[i].from, 1);
		if (i && m.at[i].to < 20)
			assert_int_equal(str_text(&line)[m.at[i].from], 'p');
	}
	assert_true(find_set(&f, "x*", why));	/* matches nothing everywhere */
	page_marks(&p, &ui, page_row(&p), width, &m);
	for (int i = 0; i < m.n; i++)
		assert_true(m.at[i].to > m.at[i].from);
	find_free(&f);
	str_free(&line);
	page_close(&p);
	made_free(s);
}

static int passing(struct page *p, const struct ui *ui, const char *words)
{
	char why[FIND_WHY_BYTES];

	if (!page_filter(p, ui, words, why)) {
		assert_true(*why);
		return -1;
	}
	assert_true(p->nshown == 0 || (p->cursor >= 0 && p->cursor < p->nshown));
	return p->nshown;
}

static void filtering(void **state)
{
	struct session *s = made_session();
	struct ui ui = ui_of(s);
	struct page p;

	page_open(&p, &page_graph, 0);
	page_build(&p, &ui);
	page_to_node(&p, &ui, "forward/2");
	assert_int_equal(passing(&p, &ui, "op:mul"), 2);
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/3/1");	/* the next that is shown */
	assert_int_equal(passing(&p, &ui, "!op:mul"), 8);
	assert_int_equal(passing(&p, &ui, "op:mul op:sum"), 0);
	assert_int_equal(page_row(&p), -1);
	assert_int_equal(passing(&p, &ui, "op:mul|sum"), 3);
	assert_int_equal(passing(&p, &ui, "constant"), 3);
	assert_int_equal(passing(&p, &ui, "op:"), 10);	/* not yet a word */
	assert_int_equal(passing(&p, &ui, "reason:no_rule"), 1);
	assert_int_equal(passing(&p, &ui, "delegate:none op:."), 3);
	assert_int_equal(passing(&p, &ui, "delegate:0"), 1);
	assert_int_equal(passing(&p, &ui, "delegate:9"), 0);
	assert_int_equal(passing(&p, &ui, "op:("), -1);
	assert_int_equal(p.nshown, 0);	/* nothing has changed */
	assert_int_equal(passing(&p, &ui, "a a a a a a a a a"), -1);
	assert_int_equal(passing(&p, &ui, "op:conv"), 1);
	page_build(&p, &ui);	/* it is kept */
	assert_int_equal(p.nshown, 1);
	page_to_line(&p, 5);
	assert_int_equal(p.cursor, 0);
	assert_false(page_to_node(&p, &ui, "forward/2"));
	assert_true(page_unhide(&p, &ui, "forward/2"));
	assert_int_equal(p.nshown, 10);
	assert_string_equal(p.ops->node(&p, &ui, page_row(&p)), "forward/2");
	assert_false(page_unhide(&p, &ui, "forward/2"));
	page_close(&p);

	page_open(&p, &page_declined, 0);	/* the heads of what passes stay */
	page_build(&p, &ui);
	assert_int_equal(passing(&p, &ui, "op:conv"), 2);
	assert_ptr_not_equal(p.ops->heads, NULL);
	assert_true(p.ops->heads(&p, p.shown[0]));
	page_close(&p);

	page_open(&p, &page_fold, 0);
	page_build(&p, &ui);
	assert_int_equal(passing(&p, &ui, "op:conv"), p.nrows);
	assert_int_equal(passing(&p, &ui, "op:mm"), 0);
	page_close(&p);

	page_open(&p, &page_constants, 0);
	page_build(&p, &ui);
	assert_int_equal(passing(&p, &ui, "bias"), 1);
	assert_int_equal(passing(&p, &ui, "reason:x"), -1);
	assert_int_equal(passing(&p, &ui, "op:conv"), 1);
	page_close(&p);
	made_free(s);
}

/* A hidden column takes no room, is not searched, and is no step of sorting; the last one stays. */
static void choosing(void **state)
{
	struct session *s = made_session();
	struct ui ui = ui_of(s);
	struct page p;
	struct str line = { 0 };
	int width[PAGE_COLUMNS], n;

	page_open(&p, &page_graph, 0);
	page_build(&p, &ui);
	assert_int_equal(search(&p, &ui, "^f32", 0, 1).n > 0, true);
	assert_true(page_toggle_column(&p, &ui, 3));
	assert_int_equal(search(&p, &ui, "^f32", 0, 1).n, 0);
	page_widths(&p, 79, width);
	assert_int_equal(width[3], -1);
	page_line(&p, &ui, -1, width, &line);
	assert_null(strstr(str_text(&line), "output"));
	assert_int_equal(text_columns(str_text(&line)), 79);
	for (n = 0; n < 6; n++) {
		page_move(&p, &ui, REQ_SORT, 4);
		assert_int_not_equal(p.sort, 3);
	}
	page_move(&p, &ui, REQ_SORT, 4);
	assert_int_equal(p.sort, -1);
	for (int c = 0; c < 6; c++)
		if (c != 3)
			assert_true(page_toggle_column(&p, &ui, c));
	assert_false(page_toggle_column(&p, &ui, 6));
	assert_true(page_toggle_column(&p, &ui, 3));
	assert_true(page_toggle_column(&p, &ui, 6));
	str_free(&line);
	page_close(&p);
	made_free(s);
}

/* 0 and 1 are leaves; 2 reads both; 3 reads 0 alone and ends it; 4 reads 2 and 3. */
static void lanes(void **state)
{
	static const int r2[] = { 0, 1 }, r3[] = { 0 }, r4[] = { 2, 3 };
	static const struct lane_row rows[] = { { NULL, 0, 3, true }, { NULL, 0, 2, true }, { r2, 2, 4, false }, { r3, 1, 4, false },
		{ r4, 2, 4, false } };
	static const char *const want[] = { "o", "|o", "|*", "*|", "*'" };
	struct arena mem = { 0 };
	const char **got = lanes_draw(rows, 5, true, &mem);

	for (int i = 0; i < 5; i++)
		assert_string_equal(got[i], want[i]);
	arena_free(&mem);
}

static void many_lanes(void **state)
{
	struct lane_row rows[40];
	int reads[40];
	struct arena mem = { 0 };
	const char **got;

	for (int i = 0; i < 40; i++) {
		reads[i] = i;
		rows[i] = (struct lane_row){ NULL, 0, 39, true };
	}
	rows[39].reads = reads;
	rows[39].nreads = 39;
	got = lanes_draw(rows, 40, true, &mem);
	for (int i = 0; i < 40; i++)
		assert_in_range(strlen(got[i]), 1, LANES_MAX);
	assert_string_equal(got[20], "|||||||||||+");
	arena_free(&mem);
}

/* Every key of the list has a name that is known, and no key is given twice. */
static void keymap(void **state)
{
	struct keymap map;
	struct key k;

	keymap_default(&map);
	for (int r = REQ_NONE + 1; r < REQ_COUNT; r++)
		for (const char *at = map.keys[r]; *at; at += strspn(at, " ")) {
			size_t n = strcspn(at, " ");

			assert_true(key_named(at, n, &k));
			assert_int_equal(key_request(&map, k), r);	/* the first that has it */
			at += n;
		}
	assert_int_equal(key_request(&map, (struct key){ '\n', false }), REQ_FOLLOW);
	assert_int_equal(key_request(&map, (struct key){ KEY_ENTER, true }), REQ_FOLLOW);
	assert_int_equal(key_request(&map, (struct key){ 127, false }), REQ_BACK);
	assert_int_equal(key_request(&map, (struct key){ '~', false }), REQ_NONE);
	assert_int_equal(key_request(&map, (struct key){ 'j', true }), REQ_NONE);
	assert_int_equal(key_request(&map, (struct key){ KEY_F(1), true }), REQ_HELP);
	assert_false(key_named("nokey", 5, &k));
	assert_false(key_named("f13", 3, &k));
	assert_false(key_named("^", 0, &k));
	assert_true(key_named("\u00e4", 2, &k));
	assert_int_equal(k.code, 0xe4);
	assert_true(key_named("^j", 2, &k));	/* which is Enter */
	assert_int_equal(k.code, '\r');
}

/* Every request has a name of its own that is found, pages that exist, and a word of help. */
static void requests(void **state)
{
	for (int i = 0; i < request_rows; i++) {
		const struct request_row *r = &request_table[i];
		char name[REQUEST_NAME_BYTES];
		size_t known = 0;

		assert_true(*r->help);
		if (!r->name)
			continue;
		request_name(r, name);
		assert_ptr_equal(request_find(name, strlen(name)), r);
		for (int p = 0; p < PAGES; p++)
			known += request_is_for(r, page_table[p]->name) ? strlen(page_table[p]->name) + 1 : 0;
		assert_int_equal(known, *r->pages ? strlen(r->pages) + 1 : 0);
	}
	assert_null(request_find("nothing", 7));
	assert_null(request_find("sort-", 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exported), cmocka_unit_test(widths), cmocka_unit_test(moving), cmocka_unit_test(following),
		cmocka_unit_test(sorting), cmocka_unit_test(searching), cmocka_unit_test(marking), cmocka_unit_test(filtering), cmocka_unit_test(choosing), cmocka_unit_test(lanes), cmocka_unit_test(many_lanes),
		cmocka_unit_test(keymap), cmocka_unit_test(requests),
	};

	return RUN_TAP(tests);
}
