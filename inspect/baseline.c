/* An earlier JSON report against this session. */
#include "inspect/budget.h"

#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static bool has_text(json_t *o, const char *key, const char *value)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && !strcmp(s, value);
}

static json_t *find_report(json_t *root, const char *path)
{
	if (json_is_object(root))
		return root;
	if (json_array_size(root) == 1)
		return json_array_get(root, 0);
	for (size_t i = 0; i < json_array_size(root); i++) {
		json_t *o = json_array_get(root, i);

		if (!strcmp(base_name(json_string_value(json_object_get(json_object_get(o, "file"), "path"))),
			    base_name(path)))
			return o;
	}
	return NULL;
}

/* What a report says of the program it ends with: the result of --apply, or else the file. */
static json_t *judged(json_t *report)
{
	json_t *result = json_object_get(report, "result");

	return json_is_object(result) ? result : report;
}

static json_t *find_method(json_t *report, const char *name)
{
	json_t *methods = json_object_get(judged(report), "methods");

	for (size_t i = 0; i < json_array_size(methods); i++) {
		if (has_text(json_array_get(methods, i), "name", name))
			return json_array_get(methods, i);
	}
	return NULL;
}

static double old_median(json_t *report, const char *method)
{
	json_t *bench = json_object_get(report, "bench");
	const char *state = judged(report) == report ? "before" : "after";

	for (size_t i = 0; i < json_array_size(bench); i++) {
		json_t *o = json_array_get(bench, i), *median = json_object_get(o, "median_ms");
		bool whole = !json_is_string(json_object_get(o, "module")) &&
			!json_is_string(json_object_get(o, "op")) &&
			!json_is_string(json_object_get(o, "node"));

		if (whole && has_text(o, "method", method) && has_text(o, "state", state) &&
		    has_text(o, "engine", "filed"))
			return json_is_number(median) ? json_number_value(median) : -1;
	}
	return -1;
}

static double new_median(const struct report *r, int method)
{
	for (int i = 0; i < r->s->nbench; i++) {
		const struct bench_row *b = &r->s->bench[i];

		if (b->method == method && !b->subject && !b->failed && b->engine == ENGINE_FILED &&
		    b->version == (report_after(r) ? r->s->current : 0))
			return b->stats.median;
	}
	return -1;
}

static json_t *read_json(const char *path, struct error *err)
{
	struct file f;
	json_error_t bad;
	json_t *root;

	if (!file_open(&f, path, err))
		return NULL;
	root = json_loadb((const char *)f.data, f.bytes, 0, &bad);
	if (!root)
		error_set(err, ERROR_FORMAT, "%s: line %d: %s", path, bad.line, bad.text);
	file_close(&f);
	return root;
}

bool baseline_read(struct report *r, const char *path, struct arena *a, struct error *err)
{
	const struct version *v = report_after(r) ? report_after(r) : report_before(r);
	vec(struct change) list = { 0 };
	json_t *root = read_json(path, err), *old, *n;
	const char *schema;

	if (!root)
		return false;
	old = find_report(root, look_path(r->s));
	schema = json_string_value(json_object_get(old, "schema"));
	if (!schema || strcmp(schema, REPORT_SCHEMA)) {
		json_decref(root);
		return error_set(err, ERROR_FORMAT, "%s: holds no report of %s with schema %s", path, look_path(r->s),
				 REPORT_SCHEMA);
	}
	n = judged(old) == old ? json_object_get(json_object_get(old, "file"), "bytes") :
		json_object_get(judged(old), "bytes");
	vec_push(a, &list, ((struct change){ "bytes of the program", json_number_value(n),
		 (double)(v->has_emitted ? v->emitted.program.bytes : r->s->program->file.bytes) }));
	for (int m = 0; m < r->s->program->nmethods; m++) {
		const char *name = r->s->program->method[m]->method;
		json_t *was = find_method(old, name);
		double before = old_median(old, name), now = new_median(r, m);

		if (!was || !report_wants(r, name))
			continue;
		vec_push(a, &list, ((struct change){ arena_printf(a, "%s: kernel calls left out", name),
			 (double)json_array_size(json_object_get(was, "left_out")), v->facts[m].nleft_out }));
		if (before >= 0 && now >= 0)
			vec_push(a, &list, ((struct change){ arena_printf(a, "%s: median ms as filed", name), before,
							     now }));
	}
	json_decref(root);
	r->change = list.at;
	r->nchanges = list.n;
	return true;
}
