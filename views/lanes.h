/* lanes.h - the lines beside a list of nodes that show who reads whom, as `git log --graph` draws commits. */
#ifndef VIEWS_LANES_H
#define VIEWS_LANES_H

#include "core/base/mem.h"

#include <stdbool.h>

enum { LANES_MAX = 12 };

/* One row of the list: the rows it reads (all before it), whether it is a leaf (a constant or an input), and
 * the last row that reads it (its own number: nobody). */
struct lane_row { const int *reads; int nreads; int last; bool leaf; };

/* A string of at most LANES_MAX columns for each row, in the arena. Rows that find no lane get a '+' at the end. */
const char **lanes_draw(const struct lane_row *row, int n, bool ascii, struct arena *a);

#endif
