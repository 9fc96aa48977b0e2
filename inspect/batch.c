#include "inspect/batch.h"

#include "core/xnn/live.h"
#include "inspect/budget.h"
#include "inspect/demo.h"
#include "inspect/trace.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct models { struct model_path *at; int n, cap; };

struct batch {
	const struct options *o;
	struct arena mem;
	struct models models;
	bool array;	/* JSON: more than one report */
	bool deaf;	/* nobody reads standard output any more */
	int printed;
	int status;
};

static void complain(struct batch *b, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void complain(struct batch *b, int status, const char *fmt, ...)
{
	struct text line = { 0 };
	struct str words = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_addv(&words, fmt, ap);
	va_end(ap);
	text_add(&line, "etinspect: %s\n", str_text(&words));
	fputs(str_text(&line.s), stderr);
	text_free(&line);
	str_free(&words);
	if (status > b->status)
		b->status = status;
}

bool batch_print(const char *text, int *status)
{
	if (fputs(text, stdout) != EOF && !fflush(stdout))
		return true;
	if (errno != EPIPE) {
		fprintf(stderr, "etinspect: standard output: %s\n", strerror(errno));
		*status = EXIT_RUN;
	}
	return false;
}

static void put(struct batch *b, const char *text)
{
	b->deaf = b->deaf || !batch_print(text, &b->status);
}

/* Progress: on a terminal only, on a line that is wiped again. */

static void progress(void *ctx, const char *what, double part)
{
	struct text line = { 0 };

	if (!isatty(STDERR_FILENO))
		return;
	if (part < 1)
		text_add(&line, "%.60s %3.0f %%", what, part * 100);
	fprintf(stderr, "\r%s\033[K", str_text(&line.s));
	fflush(stderr);
	text_free(&line);
}

/* Which files. */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct model_path *)a)->path, ((const struct model_path *)b)->path);
}

static void add_folder(struct batch *b, const char *path)
{
	DIR *d = opendir(path);
	int first = b->models.n;

	if (!d) {
		complain(b, EXIT_READ, "%s: %s", path, strerror(errno));
		return;
	}
	for (struct dirent *e; (e = readdir(d));) {
		size_t n = strlen(e->d_name);

		if (n > 4 && !strcmp(e->d_name + n - 4, ".pte"))
			vec_push(&b->mem, &b->models,
				 ((struct model_path){ .path = arena_printf(&b->mem, "%s/%s", path, e->d_name) }));
	}
	closedir(d);
	if (b->models.n == first)
		complain(b, EXIT_READ, "%s: a folder without a .pte file", path);
	else
		qsort(b->models.at + first, (size_t)(b->models.n - first), sizeof *b->models.at, by_path);
}

static bool find_models(struct batch *b)
{
	struct stat st;

	for (int i = 0; i < b->o->model.n; i++) {
		const struct model_path *m = &b->o->model.at[i];

		if (strcmp(m->path, "-") && stat(m->path, &st) == 0 && S_ISDIR(st.st_mode)) {
			b->array = true;
			add_folder(b, m->path);
		} else {
			vec_push(&b->mem, &b->models, *m);
		}
	}
	b->array = b->array || b->models.n > 1;
	if (b->models.n > 1 && (b->o->output || b->o->trace)) {
		complain(b, EXIT_USAGE, "%s needs exactly one program, not %d; see etinspect --help",
			 b->o->output ? "-o" : "--trace",
			 b->models.n);
		return false;
	}
	return true;
}

/* One program. */

static bool has_method(const struct session *s, const char *name, struct error *err)
{
	struct str list = { 0 };
	bool found = !name;

	for (int m = 0; m < s->program->nmethods && !found; m++) {
		found = !strcmp(s->program->method[m]->method, name);
		str_addf(&list, "%s%s", m ? ", " : "", s->program->method[m]->method);
	}
	if (!found)
		error_set(err, ERROR_REFUSED, "%s: no method '%s'; it has %s", look_path(s), name, str_text(&list));
	str_free(&list);
	return found;
}

bool batch_has_methods(const struct options *o, const struct session *s, struct error *err)
{
	for (int i = 0; i < o->method.n; i++)
		if (!has_method(s, o->method.at[i], err))
			return false;
	for (int i = 0; i < o->run.ninputs; i++)
		if (!has_method(s, o->run.input[i].method, err))
			return false;
	for (int i = 0; i < o->run.nshapes; i++)
		if (!has_method(s, o->run.shape[i].method, err))
			return false;
	return true;
}

static bool apply_steps(struct batch *b, struct session *s, struct error *err)
{
	for (int i = 0; i < b->o->apply.n; i++) {
		bool changed;

		if (!session_apply(s, b->o->apply.at[i], &changed, err))
			return false;
	}
	if ((b->o->apply.n || b->o->output) && !session_emit(s, s->current, err))
		return false;
	return session_facts(s, s->current, err);
}

static bool run(struct batch *b, struct session *s, struct report *r, struct error *err)
{
	const struct options *o = b->o;

	if (o->bench) {
		if (!session_bench(s, 0, o->by, progress, NULL, err))
			return false;
		if (s->current && !session_bench(s, s->current, o->by, progress, NULL, err))
			return false;
	}
	if (o->bench || o->verify)
		session_measure(s);
	if (o->verify)
		return session_verify(s, 0, s->current, err);
	/* A change is always tried out; that it cannot be run here is told, and no error unless --verify. */
	if (s->current && !session_verify(s, 0, s->current, err)) {
		if (err->code == ERROR_MEMORY)
			return false;
		r->not_verified = arena_string(&b->mem, err->text);
		err->code = ERROR_NONE;
	}
	return true;
}

/* How a method ran as filed; NULL: it did not. */
static const struct stats *filed_stats(const struct session *s, int version, int method)
{
	for (int i = 0; i < s->nbench; i++) {
		const struct bench_row *row = &s->bench[i];

		if (row->version == version && row->method == method && !row->subject &&
		    row->engine == ENGINE_FILED && !row->failed)
			return &row->stats;
	}
	return NULL;
}

/* The first method that became slower, or -1. Runs of one program differ too: slower is more than 5 %, and beyond those. */
static int slower_method(const struct session *s)
{
	for (int m = 0; m < s->program->nmethods; m++) {
		const struct stats *was = filed_stats(s, 0, m), *is = filed_stats(s, s->current, m);

		if (s->version[s->current].method[m] != s->version[0].method[m] && was && is &&
		    is->median > fmax(was->p90, 1.05 * was->median))
			return m;
	}
	return -1;
}

static uint64_t bytes_of(const struct session *s, int version)
{
	const struct emitted *e = &s->version[version].emitted;
	uint64_t sum = version ? e->program.bytes : s->program->file.bytes;

	for (int d = 0; d < s->program->ndata; d++) {
		uint64_t bytes = s->program->data_file[d].bytes;

		for (int i = 0; version && i < e->ndata; i++)
			if (e->data[i].data == d)
				bytes = e->data[i].file.bytes;
		sum += bytes;
	}
	return sum;
}

/* Why the result may not be written; NULL: it may. */
static const char *why_not_written(struct batch *b, const struct session *s, const struct report *r)
{
	uint64_t before = bytes_of(s, 0), after = bytes_of(s, s->current);
	int slower = b->o->allow_worse || !s->current ? -1 : slower_method(s);

	if (r->failed)
		return r->failed;
	for (int i = 0; i < s->nverify; i++)
		if (!s->verify[i].ok && (b->o->verify || !strcmp(s->verify[i].pair, "before-after")))
			return arena_printf(&b->mem, "output %d of %s, %s, differs by %g, tolerance %g",
					    s->verify[i].output,
					    s->program->method[s->verify[i].method]->method, s->verify[i].pair,
					    s->verify[i].max_abs_diff, s->run.tolerance);
	if (!b->o->allow_worse && s->current && after > before)
		return arena_printf(&b->mem, "it would be larger, %llu bytes instead of %llu; --allow-worse writes it",
				    (unsigned long long)after, (unsigned long long)before);
	if (slower >= 0)
		return arena_printf(&b->mem, "%s would be slower, %.3g ms instead of %.3g; --allow-worse writes it",
				    s->program->method[slower]->method, filed_stats(s, s->current, slower)->median,
				    filed_stats(s, 0, slower)->median);
	return NULL;
}

static void write_output(struct batch *b, struct session *s, struct report *r)
{
	struct error err = { 0 };
	sigset_t all, old;

	if (!b->o->output)
		return;
	r->not_written = why_not_written(b, s, r);
	if (!r->not_written) {
		sigfillset(&all);	/* Ctrl-C leaves a whole file or none, and nothing beside it */
		sigprocmask(SIG_BLOCK, &all, &old);
		if (session_write(s, b->o->output, b->o->force, &err))
			r->written = b->o->output;
		else
			r->not_written = arena_string(&b->mem, err.text);
		sigprocmask(SIG_SETMASK, &old, NULL);
	}
	if (r->not_written)
		complain(b, EXIT_RUN, "%s not written: %s", b->o->output, r->not_written);
}

/* Printing. */

static bool color_wanted(const struct options *o)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (o->color != COLOR_AUTO)
		return o->color == COLOR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}

static void print_json(struct batch *b, json_t *j)
{
	char *s = json_dumps(j, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));

	put(b, !b->array ? "" : b->printed ? ",\n" : "[\n");
	put(b, s ? s : "null");
	put(b, b->array ? "" : "\n");
	b->printed++;
	free(s);
	json_decref(j);
}

static void print_explained(struct batch *b, const struct report *r)
{
	int n;

	if (b->o->format == FORMAT_JSON) {
		json_t *array = json_array();

		n = explain_json(array, r);
		print_json(b, array);
	} else {
		struct text t = { .color = color_wanted(b->o) };

		n = explain_text(&t, r);
		put(b, str_text(&t.s));
		text_free(&t);
	}
	if (!n)
		complain(b, EXIT_USAGE, "%s: no node, operator or constant '%s'", look_path(r->s), r->explain);
}

static void print_report(struct batch *b, const struct report *r)
{
	struct text t = { .color = color_wanted(b->o) };

	if (r->explain) {
		print_explained(b, r);
		return;
	}
	if (b->printed && b->o->format <= FORMAT_MARKDOWN)
		text_add(&t, "\n");
	switch (b->o->format) {
	case FORMAT_JSON: print_json(b, report_json(r)); break;
	case FORMAT_MARKDOWN: report_markdown(&t, r); break;
	case FORMAT_CSV: report_csv(&t, r); break;
	case FORMAT_DOT: report_dot(&t, r); break;
	default: report_text(&t, r);
	}
	if (b->o->format != FORMAT_JSON) {
		put(b, str_text(&t.s));
		b->printed++;
	}
	text_free(&t);
}

static void judge(struct batch *b, struct report *r)
{
	const struct session *s = r->s;
	struct error err = { 0 };

	if (b->o->baseline && !baseline_read(r, b->o->baseline, &b->mem, &err))
		complain(b, EXIT_READ, "%s", err.text);
	budget_check(r, b->o->fail_on.at, b->o->fail_on.n, &b->mem);
	for (int i = 0; i < r->nbudgets; i++)
		if (!r->budget[i].ok)
			complain(b, EXIT_BUDGET, "%s: budget %s is broken: %s", look_path(s), r->budget[i].rule,
				 r->budget[i].known ?
				 arena_printf(&b->mem, "%g", r->budget[i].value) : "the value is not known");
	for (int i = 0; b->o->verify && i < s->nverify; i++)
		if (!s->verify[i].ok)
			complain(b, EXIT_RUN, "%s: output %d of %s, %s, differs by %g, tolerance %g", look_path(s),
				 s->verify[i].output,
				 s->program->method[s->verify[i].method]->method, s->verify[i].pair,
				 s->verify[i].max_abs_diff,
				 s->run.tolerance);
}

/* What is said where there is no report to give. */
static void no_report(struct batch *b, int status, const char *path, const struct error *err)
{
	complain(b, status, "%s", err->text);
	if (b->o->format == FORMAT_JSON)
		print_json(b, json_pack("{s:s, s:{s:o, s:n, s:[]}, s:o}", "schema", REPORT_SCHEMA, "file", "path",
					report_string(path),
			   "bytes", "data", "error", report_string(err->text)));
}

static void one_session(struct batch *b, struct session *s)
{
	const struct options *o = b->o;
	struct error err = { 0 };
	struct fold_preview *preview = NULL;
	struct report r = { .s = s, .xnnpack = live_version(), .method = o->method.at, .nmethods = o->method.n,
			    .table = o->table,
		.by = o->by, .explain = o->explain, .hash = o->hash, .applied = o->apply.n > 0 };

	if (!batch_has_methods(o, s, &err)) {
		no_report(b, EXIT_USAGE, look_path(s), &err);
		return;
	}
	if (!session_facts(s, 0, &err) || !apply_steps(b, s, &err) ||
	    (o->format <= FORMAT_JSON && !preview_folds(s, 0, &b->mem, &preview, &err))) {
		no_report(b, EXIT_RUN, look_path(s), &err);
		return;
	}
	r.preview = preview;
	if (!run(b, s, &r, &err) || (o->trace && !trace_write(s, o->trace, o->force, &err))) {
		if (!o->output)		/* else it is told why nothing is written */
			complain(b, EXIT_RUN, "%s", err.text);
		r.failed = arena_string(&b->mem, err.text);
	}
	judge(b, &r);
	write_output(b, s, &r);
	print_report(b, &r);
}

bool batch_open(const struct options *o, const struct model_path *m, struct work *work, struct session **s,
		struct error *err)
{
	int threads = o->run.threads;

	if (!m) {
		if (!session_open_demo(s, demo_program, demo_bytes(), err))
			return false;
	} else if (!session_open_watched(s, m->path, m->data.at, m->data.n, work, err)) {
		return false;
	}
	(*s)->run = o->run;
	(*s)->run.threads = threads ? threads : (*s)->cpu.cores;
	(*s)->run.method = o->method.at;
	(*s)->run.nmethods = o->method.n;
	return true;
}

static void one_model(struct batch *b, const struct model_path *m)
{
	struct session *s;
	struct error err = { 0 };

	if (!batch_open(b->o, m, NULL, &s, &err)) {
		no_report(b, err.code == ERROR_MEMORY ? EXIT_RUN : EXIT_READ, m ? m->path : "", &err);
		return;
	}
	one_session(b, s);
	session_close(s);
}

static void on_interrupt(int sig)
{
	if (isatty(STDERR_FILENO) && write(STDERR_FILENO, "\r\033[K", 4) < 0)
		_exit(128 + sig);
	signal(sig, SIG_DFL);
	raise(sig);
}

int batch_run(const struct options *o)
{
	struct batch b = { .o = o };

	json_set_alloc_funcs(mem_alloc, mem_free);
	signal(SIGINT, on_interrupt);
	signal(SIGTERM, on_interrupt);
	if (find_models(&b)) {
		for (int i = 0; i < b.models.n && !b.deaf; i++)
			one_model(&b, &b.models.at[i]);
		if (!o->model.n)
			one_model(&b, NULL);
		if (b.array && o->format == FORMAT_JSON)
			put(&b, b.printed ? "\n]\n" : "[]\n");
	}
	arena_free(&b.mem);
	return b.status;
}
