/* Statistics of timings, and the machine's description. */
#include "core/run/cpu.h"
#include "core/run/stats.h"
#include "tests/tap.h"

static void near(double a, double b)
{
	if (a - b > 1e-12 || b - a > 1e-12)
		fail_msg("%.15g is not %.15g", a, b);
}

static void of_ten(void **state)
{
	double ms[] = { 10, 1, 9, 2, 8, 3, 7, 4, 6, 5 };
	struct stats s = stats_of(ms, 10);

	assert_int_equal(s.runs, 10);
	near(s.min, 1);
	near(s.median, 5.5);
	near(s.p90, 9);		/* nine of ten are no larger */
	near(s.mean, 5.5);
	near(s.sd, 3.02765035409749);
	near(ms[9], 10);	/* sorted */
}

static void ranks_are_whole(void **state)
{
	double ms[31];

	for (int n = 1; n <= 31; n++) {
		int rank = 1;

		for (int i = 0; i < n; i++)
			ms[i] = n - i;
		while (10 * rank < 9 * n)
			rank++;
		near(stats_of(ms, n).p90, rank);
	}
}

static void of_one_and_none(void **state)
{
	double ms[] = { 3 };
	struct stats s = stats_of(ms, 1);

	near(s.median, 3);
	near(s.p90, 3);
	near(s.sd, 0);
	s = stats_of(NULL, 0);
	assert_int_equal(s.runs, 0);
	near(s.mean, 0);
}

static void this_machine(void **state)
{
	struct cpu c;

	cpu_read(&c);
	assert_true(c.cores >= 1);
	assert_true(*c.name);
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		assert_non_null(strstr(c.isa, "avx2"));
	else
		assert_null(strstr(c.isa, "avx2"));
#endif
	print_message("# %s | %s | %s | %d cores\n", c.name, c.isa, c.caches, c.cores);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_ten),
		cmocka_unit_test(ranks_are_whole),
		cmocka_unit_test(of_one_and_none),
		cmocka_unit_test(this_machine),
	};

	return RUN_TAP(tests);
}
