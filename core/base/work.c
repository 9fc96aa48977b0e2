#include "core/base/work.h"

#include <stddef.h>

bool work_goes_on(struct work *w, const char *what, int done, int total, struct error *err)
{
	if (!w)
		return true;
	w->what = what;
	w->done = done;
	w->total = total;
	return !w->stop || error_set(err, ERROR_RUN, "stopped");
}
