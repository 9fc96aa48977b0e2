#include "inspect/trace.h"

#include "core/op/op.h"
#include "views/report.h"

#include <stdlib.h>
#include <string.h>

/* Nodes one after the other, as they run; times in microseconds. */
static void add_method(json_t *events, const struct session *s, int version, int method, int track)
{
	const struct method_facts *f = &s->version[version].facts[method];
	struct str name = { 0 };
	double at = 0;

	str_addf(&name, "%s, %s", f->graph->method, version ? "after" : "before");
	json_array_append_new(events, json_pack("{s:s, s:s, s:i, s:i, s:{s:o}}", "name", "thread_name", "ph", "M",
						"pid", 1, "tid", track, "args", "name", report_string(str_text(&name))));
	str_free(&name);
	for (int i = 0; i < f->nrows; i++) {
		const struct node_row *r = &f->row[i];

		if (r->ms < 0)
			continue;
		json_array_append_new(events, json_pack("{s:o, s:s, s:s, s:i, s:i, s:f, s:f, s:{s:o, s:o}}", "name",
			report_string(r->node->op->name), "cat", look_runs(r), "ph", "X", "pid", 1, "tid", track,
			"ts", at * 1e3, "dur", r->ms * 1e3, "args", "node", report_string(r->id), "module",
			report_string(r->module ? r->module : "")));
		at += r->ms;
	}
}

bool trace_write(const struct session *s, const char *path, bool replace, struct error *err)
{
	json_t *events = json_array();
	char *text;
	bool fine;

	for (int v = 0; v <= s->current; v += s->current ? s->current : 1)
		for (int m = 0; m < s->program->nmethods; m++)
			add_method(events, s, v, m, m * 2 + (v > 0) + 1);
	text = json_dumps(events, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	json_decref(events);
	fine = text && file_write(path, text, strlen(text), replace, err);
	if (!text)
		error_set(err, ERROR_RUN, "%s: the trace could not be made", path);
	free(text);
	return fine;
}
