/* The report for machines. Keys may be added, never renamed; every key is there, null when not known. */
#include "views/report.h"

#include "core/op/op.h"

#include <math.h>
#include <sha256.h>
#include <string.h>

static json_t *number(double d)
{
	if (!isfinite(d))
		return json_null();
	return d == rint(d) && fabs(d) < 9e15 ? json_integer((json_int_t)d) : json_real(d);
}

static json_t *measured(double d)
{
	return d >= 0 ? number(d) : json_null();
}

static json_t *count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new_nocheck(object, key, value);
}

static void add(json_t *array, json_t *value)
{
	json_array_append_new(array, value);
}

static json_t *hash(const void *data, size_t bytes)
{
	char hex[SHA256_DIGEST_STRING_LENGTH];

	return data ? json_string(SHA256Data(data, bytes, hex)) : json_null();
}

static json_t *reason(const char *code, const char *sentence)
{
	json_t *o;

	if (!code)
		return json_null();
	o = json_object();
	put(o, "code", report_string(code));
	put(o, "text", report_string(sentence ? sentence : ""));
	return o;
}

static json_t *shape_of(const struct value *v)
{
	json_t *a = json_array();

	for (int d = 0; d < v->rank; d++)
		add(a, json_integer(v->size[d]));
	return a;
}

static json_t *id_of(const struct graph *g, const struct node *n)
{
	char id[512];

	return report_string(node_id(g, n, id, sizeof id));
}

/* A method's parts. */

static json_t *port(const struct graph *g, const struct value *v)
{
	json_t *o = json_object(), *order = json_array();

	put(o, "dtype", report_string(dtype_name(v->dtype)));
	put(o, "shape", shape_of(v));
	for (int d = 0; d < v->rank; d++)
		add(order, json_integer(v->dim_order[d]));
	put(o, "dim_order", order);
	put(o, "dynamic", json_boolean(v->dynamic));
	put(o, "scalar", json_boolean(v->scalar));
	return o;
}

static json_t *ports_in(const struct graph *g)
{
	json_t *a = json_array();

	for (int i = 0; i < g->ninputs; i++)
		add(a, port(g, g->input[i]));
	return a;
}

/* An output may be a literal that the file returns. */
static json_t *ports_out(const struct graph *g)
{
	json_t *a = json_array();

	for (int i = 0; i < g->noutputs; i++) {
		if (g->output[i].kind == ARG_VALUE) {
			add(a, port(g, g->output[i].value));
		} else {
			struct str s = { 0 };
			json_t *o = json_pack("{s:n, s:n, s:n, s:b}", "dtype", "shape", "dim_order", "dynamic", 0);

			look_arg(g, &g->output[i], &s);
			put(o, "literal", report_string(str_text(&s)));
			add(a, o);
			str_free(&s);
		}
	}
	return a;
}

static json_t *delegates(const struct method_facts *f)
{
	json_t *a = json_array();

	for (int i = 0; i < f->ndelegates; i++) {
		json_t *o = json_object();

		put(o, "backend", report_string(f->delegate[i].backend));
		put(o, "nodes", json_integer(f->delegate[i].nodes));
		put(o, "bytes", count(f->delegate[i].bytes));
		add(a, o);
	}
	return a;
}

static json_t *strings(const char *const *at, int n)
{
	json_t *a = json_array();

	for (int i = 0; i < n; i++)
		add(a, report_string(at[i]));
	return a;
}

static json_t *node(const struct report *r, const struct node_row *row)
{
	const struct value *out = row->node->nouts ? row->node->out[0] : NULL;
	json_t *o = json_object(), *cost = json_object();
	bool declined = row->verdict.kind != VERDICT_TAKES;	/* wherever it runs */
	struct str command = { 0 };

	look_command(r->s, look_needs(row->fix), &command);
	put(o, "id", report_string(row->id));
	put(o, "op", report_string(row->node->op->name));
	put(o, "runs", report_string(look_runs(row)));
	put(o, "delegate", row->delegate >= 0 ? json_integer(row->delegate) : json_null());
	put(o, "shape", out ? shape_of(out) : json_null());
	put(o, "dtype", out ? report_string(dtype_name(out->dtype)) : json_null());
	put(o, "module", report_string(row->module ? row->module : ""));
	put(o, "constant_only", json_boolean(row->constant_only));
	put(o, "elided", json_boolean(look_elided(row)));
	put(o, "verdict", report_string(look_verdict(row)));
	put(o, "reason", declined ? reason(row->verdict.code, row->verdict.text) : reason(look_code(row), look_reason(row)));
	put(o, "fix", report_string(row->fix ? row->fix : "none"));
	put(o, "fix_command", command.n ? report_string(str_text(&command)) : json_null());
	put(cost, "flops", number(row->flops));
	put(cost, "bytes", count(row->bytes));
	put(cost, "ms", measured(row->ms));
	put(o, "cost", cost);
	str_free(&command);
	return o;
}

static json_t *nodes(const struct report *r, const struct method_facts *f)
{
	json_t *a = json_array();

	for (int i = 0; i < f->nrows; i++)
		add(a, node(r, &f->row[i]));
	return a;
}

static void fold_after(json_t *o, const struct report *r, const struct version *v, int i)
{
	const struct fold *f = &v->fold.fold[i];
	const struct fold_preview *p = r->preview && v == report_before(r) && r->preview[i].known ? &r->preview[i] :
		NULL;
	uint64_t bytes = v->has_emitted ? v->emitted.program.bytes : r->s->program->file.bytes;
	bool known = v->has_emitted || v == report_before(r);

	put(o, "delegates_before", json_integer(v->facts[f->method].ndelegates));
	put(o, "delegates_after", p ? json_integer(p->delegates_after) : f->folds ? json_null() :
	    json_integer(v->facts[f->method].ndelegates));
	put(o, "file_bytes_before", known ? count(bytes) : json_null());
	put(o, "file_bytes_after", p ? count(p->bytes_after) : f->folds || !known ? json_null() : count(bytes));
}

static json_t *fold(const struct report *r, const struct version *v, int i)
{
	const struct fold *f = &v->fold.fold[i];
	const struct graph *g = v->method[f->method];
	json_t *o = json_object(), *ids = json_array(), *sources = json_array();

	for (int k = 0; k < f->nnodes; k++)
		add(ids, id_of(g, f->node[k]));
	for (int k = 0; k < f->nsources; k++)
		add(sources, report_string(f->source[k]->name));
	put(o, "at", id_of(g, f->at));
	put(o, "position", report_string(f->position));
	put(o, "verdict", report_string(f->folds ? "folds" : "stays"));
	put(o, "reason", f->folds ? json_null() : reason(f->code, f->text));
	put(o, "nodes", ids);
	put(o, "sources", sources);
	put(o, "bytes_erased", count(f->bytes_erased));
	put(o, "bytes_added", count(f->bytes_added));
	put(o, "name", report_string(f->name));
	put(o, "file", report_string(look_file(r->s, f->home)));
	fold_after(o, r, v, i);
	return o;
}

static json_t *folds(const struct report *r, const struct version *v, int method)
{
	json_t *a = json_array();

	for (int i = 0; i < v->fold.nfolds; i++)
		if (v->fold.fold[i].method == method)
			add(a, fold(r, v, i));
	return a;
}

static json_t *linears(const struct version *v, int method)
{
	json_t *a = json_array();

	for (int i = 0; i < v->linear.nlinears; i++) {
		const struct linear *l = &v->linear.linear[i];
		json_t *o;

		if (l->method != method)
			continue;
		o = json_object();
		put(o, "at", id_of(v->method[method], l->at));
		put(o, "op", report_string(l->op));
		put(o, "verdict", report_string(l->converts ? "converts" : "stays"));
		put(o, "reason", l->converts ? json_null() : reason(l->code, l->text));
		add(a, o);
	}
	return a;
}

static json_t *warnings(const struct method_facts *f)
{
	json_t *a = json_array();

	for (int i = 0; i < f->nwarnings; i++) {
		json_t *o = json_object();

		put(o, "node", report_string(f->warning[i].id));
		put(o, "code", report_string(f->warning[i].code));
		put(o, "text", report_string(f->warning[i].text));
		put(o, "max_abs_diff", measured(f->warning[i].max_abs_diff));
		add(a, o);
	}
	return a;
}

static json_t *method(const struct report *r, const struct version *v, int m)
{
	const struct method_facts *f = &v->facts[m];
	json_t *o = json_object(), *memory = json_object();

	put(o, "name", report_string(f->graph->method));
	put(o, "inputs", ports_in(f->graph));
	put(o, "outputs", ports_out(f->graph));
	put(o, "training", json_boolean(f->graph->training));
	put(o, "control_flow", json_boolean(f->graph->control_flow));
	put(o, "delegates", delegates(f));
	put(o, "left_out", strings(f->left_out, f->nleft_out));
	put(o, "nodes", nodes(r, f));
	put(o, "fold", folds(r, v, m));
	put(o, "linear", linears(v, m));
	put(o, "warnings", warnings(f));
	put(memory, "planned_bytes", count(f->planned_bytes));
	put(memory, "peak_bytes", count(f->plan.peak));
	put(memory, "constant_bytes", count(f->constant_bytes));
	put(memory, "external_bytes", count(f->external_bytes));
	put(o, "memory", memory);
	return o;
}

static json_t *methods(const struct report *r, const struct version *v)
{
	json_t *a = json_array();

	for (int m = 0; m < r->s->program->nmethods; m++)
		if (report_wants(r, v->method[m]->method))
			add(a, method(r, v, m));
	return a;
}

/* The rest. */

static json_t *tool(const struct report *r)
{
	json_t *o = json_object();

	put(o, "version", report_string(REPORT_VERSION));
	put(o, "xnnpack", report_string(r->xnnpack));
	put(o, "rules", report_string(REPORT_RULES));
	put(o, "cpu", report_string(r->s->cpu.name));
	put(o, "isa", report_string(r->s->cpu.isa));
	put(o, "caches", report_string(r->s->cpu.caches));
	put(o, "cores", json_integer(r->s->cpu.cores));
	put(o, "threads", json_integer(r->s->run.threads));
	return o;
}

static json_t *one_file(const struct report *r, const char *path, const struct file *f)
{
	json_t *o = json_object();

	put(o, "path", report_string(path));
	put(o, "bytes", count(f->bytes));
	if (r->hash)
		put(o, "sha256", hash(f->data, f->bytes));
	return o;
}

static json_t *files(const struct report *r)
{
	const struct program *p = r->s->program;
	json_t *o = one_file(r, look_path(r->s), &p->file), *data = json_array();

	for (int i = 0; i < p->ndata; i++)
		add(data, one_file(r, r->s->data_path[i], &p->data_file[i]));
	put(o, "data", data);
	return o;
}

static json_t *constants(const struct report *r)
{
	const struct version *v = report_before(r);
	json_t *a = json_array();

	for (int i = 0; i < v->nconstants; i++) {
		const struct constant_row *c = &v->constant[i];
		json_t *o = json_object();

		put(o, "name", report_string(c->value->name));
		put(o, "dtype", report_string(dtype_name(c->value->dtype)));
		put(o, "shape", shape_of(c->value));
		put(o, "bytes", count(c->value->bytes));
		put(o, "users", json_integer(c->users));
		put(o, "methods", json_integer(c->methods));
		put(o, "file", report_string(look_file(r->s, c->value->home)));
		put(o, "copies", json_integer(c->copies));
		if (r->hash)
			put(o, "sha256", hash(c->value->data, c->value->bytes));
		add(a, o);
	}
	return a;
}

static json_t *numbers(const int *at, int n)
{
	json_t *a = json_array();

	for (int i = 0; i < n; i++)
		add(a, json_integer(at[i]));
	return a;
}

/* Of methods whose calls are not those of the file: which calls of the file each does the work of. */
static json_t *calls(const struct report *r, const struct version *v)
{
	json_t *a = json_array();

	for (int i = 0; v->has_emitted && i < v->emitted.nmoved; i++) {
		const struct call_map *map = &v->emitted.moved[i];
		json_t *o, *was = json_array();

		if (!report_wants(r, map->method))
			continue;
		for (int c = 0; c < map->ncalls; c++)
			add(was, numbers(map->call[c].was, map->call[c].n));
		o = json_object();
		put(o, "method", report_string(map->method));
		put(o, "was", was);
		put(o, "gone", numbers(map->gone, map->ngone));
		add(a, o);
	}
	return a;
}

static json_t *result(const struct report *r)
{
	const struct version *v = report_after(r);
	json_t *o = json_object(), *applied = json_array();

	for (int i = 1; i <= r->s->current; i++)
		add(applied, report_string(r->s->version[i].applied));
	put(o, "applied", applied);
	put(o, "bytes", count(v->has_emitted ? v->emitted.program.bytes : r->s->program->file.bytes));
	put(o, "lost", strings(v->has_emitted ? v->emitted.lost : NULL, v->has_emitted ? v->emitted.nlost : 0));
	put(o, "calls", calls(r, v));
	put(o, "methods", methods(r, v));
	put(o, "written", report_string(r->written));
	put(o, "not_written", report_string(r->not_written));
	return o;
}

static json_t *bench(const struct report *r)
{
	json_t *a = json_array();

	for (int i = 0; i < r->s->nbench; i++) {
		const struct bench_row *b = &r->s->bench[i];
		const char *name = r->s->program->method[b->method]->method;
		bool ran = !b->failed;
		json_t *o;

		if (!report_wants(r, name))
			continue;
		o = json_object();
		put(o, "method", report_string(name));
		put(o, r->by, report_string(b->subject));
		put(o, "state", report_string(report_state(r, b)));
		put(o, "engine", report_string(engine_names[b->engine]));
		put(o, "setup_ms", ran ? measured(b->setup_ms) : json_null());
		put(o, "first_ms", ran ? measured(b->first_ms) : json_null());
		put(o, "min_ms", ran ? measured(b->stats.min) : json_null());
		put(o, "median_ms", ran ? measured(b->stats.median) : json_null());
		put(o, "p90_ms", ran ? measured(b->stats.p90) : json_null());
		put(o, "mean_ms", ran ? measured(b->stats.mean) : json_null());
		put(o, "sd_ms", ran ? measured(b->stats.sd) : json_null());
		put(o, "runs", json_integer(ran ? b->stats.runs : 0));
		put(o, "share", ran ? measured(b->share) : json_null());
		put(o, "gflops", ran ? measured(b->gflops) : json_null());
		put(o, "failed", report_string(b->failed));
		add(a, o);
	}
	return a;
}

static json_t *verify(const struct report *r)
{
	json_t *a = json_array();

	for (int i = 0; i < r->s->nverify; i++) {
		const struct verify_row *w = &r->s->verify[i];
		json_t *o;

		if (!report_wants(r, r->s->program->method[w->method]->method))
			continue;
		o = json_object();
		put(o, "method", report_string(r->s->program->method[w->method]->method));
		put(o, "pair", report_string(w->pair));
		put(o, "output", json_integer(w->output));
		put(o, "max_abs_diff", number(w->max_abs_diff));
		put(o, "max_rel_diff", number(w->max_rel_diff));
		put(o, "ok", json_boolean(w->ok));
		add(a, o);
	}
	return a;
}

static json_t *changes(const struct report *r)
{
	json_t *a = json_array();

	for (int i = 0; i < r->nchanges; i++) {
		json_t *o = json_object();

		put(o, "what", report_string(r->change[i].what));
		put(o, "before", number(r->change[i].before));
		put(o, "now", number(r->change[i].now));
		add(a, o);
	}
	return a;
}

static json_t *budgets(const struct report *r)
{
	json_t *a = json_array();

	for (int i = 0; i < r->nbudgets; i++) {
		json_t *o = json_object();

		put(o, "rule", report_string(r->budget[i].rule));
		put(o, "value", r->budget[i].known ? number(r->budget[i].value) : json_null());
		put(o, "ok", json_boolean(r->budget[i].ok));
		add(a, o);
	}
	return a;
}

json_t *report_json(const struct report *r)
{
	json_t *o = json_object();

	put(o, "schema", report_string(REPORT_SCHEMA));
	put(o, "tool", tool(r));
	put(o, "file", files(r));
	put(o, "methods", methods(r, report_before(r)));
	put(o, "constants", constants(r));
	if (report_after(r))
		put(o, "result", result(r));
	put(o, "bench", bench(r));
	put(o, "verify", verify(r));
	put(o, "not_verified", report_string(r->not_verified));
	if (r->nchanges)
		put(o, "baseline", changes(r));
	put(o, "budgets", budgets(r));
	put(o, "error", report_string(r->failed));
	return o;
}
