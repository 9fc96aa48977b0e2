#include "core/run/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct stats stats_of(double *ms, int n)
{
	struct stats s = { .runs = n };
	double squares = 0;

	if (n < 1)
		return s;
	qsort(ms, (size_t)n, sizeof *ms, by_value);
	s.min = ms[0];
	s.median = n % 2 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2;
	s.p90 = ms[(9 * (long)n + 9) / 10 - 1];	/* nearest rank: the smallest that 90 % do not exceed */
	for (int i = 0; i < n; i++)
		s.mean += ms[i] / n;
	for (int i = 0; i < n; i++)
		squares += (ms[i] - s.mean) * (ms[i] - s.mean);
	s.sd = n > 1 ? sqrt(squares / (n - 1)) : 0;
	return s;
}
