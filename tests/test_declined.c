/* The Declined page: groups, and what they are sorted by. */
#include "tests/made.h"
#include "tests/tap.h"
#include "views/page.h"

/* The rows of the Declined page, groups as they are called. */
static void assert_declined(const struct page *p, const struct ui *ui, const char *want)
{
	struct str s = { 0 };

	for (int i = 0; i < p->nrows; i++) {
		str_add(&s, i ? " " : "");
		p->ops->cell(p, ui, p->shown[i], 0, &s);
	}
	assert_string_equal(str_text(&s), want);
	str_free(&s);
}

/* By what shapes tell, and by what was measured once it was; each way in groups. */
static void costs(void **state)
{
	static const double ms[] = { -1, 4, 3, -1, -1, 6 };
	static const char *const by_cost[] = { "forward/4", "forward/1", "forward/2" };
	struct session *s = made_session();
	struct ui ui = { .s = s, .width = 79, .xnnpack = "2024-11" };
	struct page p;

	page_open(&p, &page_declined, 0);
	page_build(&p, &ui);
	assert_string_equal(p.ops->title(&p, &ui, 2), "estimate");
	assert_declined(&p, &ui, "weight_not_static   forward/4 no_rule   forward/1 argument   forward/2");
	for (int i = 0; i < 6; i++)
		s->version[0].facts[0].row[i].ms = ms[i];
	s->version[0].facts[0].row[5].module = "head";
	for (int way = 0; way < 2; way++) {
		assert_int_equal(p.ops->request(&p, &ui, 0, REQ_GROUP_BY), PAGE_REBUILD);
		page_build(&p, &ui);
	}
	assert_string_equal(p.ops->title(&p, &ui, 2), "measured");
	assert_declined(&p, &ui, "conv   forward/1   forward/2 head   forward/4");
	assert_int_equal(p.ops->request(&p, &ui, 0, REQ_COST), PAGE_REBUILD);
	page_build(&p, &ui);
	assert_string_equal(p.ops->title(&p, &ui, 2), "estimate");
	assert_declined(&p, &ui, "head   forward/4 conv   forward/1   forward/2");
	p.ops->request(&p, &ui, 0, REQ_GROUP_BY);
	page_build(&p, &ui);
	for (int i = 0; i < 3; i++)
		assert_string_equal(p.ops->node(&p, &ui, i), by_cost[i]);
	page_close(&p);
	made_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(costs) };

	return RUN_TAP(tests);
}
