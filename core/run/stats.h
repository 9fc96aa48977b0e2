/* stats.h - timings of repeated runs, in milliseconds. */
#ifndef CORE_RUN_STATS_H
#define CORE_RUN_STATS_H

struct stats { double min, median, p90, mean, sd; int runs; };

/* Sorts ms. The 90th percentile is by nearest rank, the deviation that of a sample; all 0 without runs. */
struct stats stats_of(double *ms, int n);

#endif
