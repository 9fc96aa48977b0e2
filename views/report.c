#include "views/report.h"

#include <string.h>

bool report_wants(const struct report *r, const char *method)
{
	for (int i = 0; i < r->nmethods; i++)
		if (!strcmp(r->method[i], method))
			return true;
	return !r->nmethods;
}

const struct version *report_before(const struct report *r)
{
	return &r->s->version[0];
}

const struct version *report_after(const struct report *r)
{
	return r->applied ? &r->s->version[r->s->current] : NULL;
}

const char *report_state(const struct report *r, const struct bench_row *b)
{
	return b->version ? "after" : "before";
}

json_t *report_string(const char *s)
{
	struct str clean = { 0 };
	json_t *j;

	if (!s)
		return json_null();
	text_utf8(&clean, s);
	j = json_string(str_text(&clean));
	str_free(&clean);
	return j;
}
