/* stats.h - timings of repeated runs, in milliseconds. */
#ifndef CORE_RUN_STATS_H
#define CORE_RUN_STATS_H

struct stats { double min, median, p90, mean, sd; int runs; };

/* Sorts ms. */
struct stats stats_of(double *ms, int n);

#endif
