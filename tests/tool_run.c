/* tool_run - runs a program with our own engines; the same words as the etrun of the conformance suite.
 *
 *   tool_run MODEL.pte [--engine filed|portable|xnnpack] [--data X.ptd]... [--threads N] [--repeat N] [--tol X]
 *            [--call METHOD] [--in A.npy]... [--expect B.npy]... [--call METHOD ...]...
 *
 * Calls run in order; state carries over from call to call of a method. Prints one JSON line as etrun does.
 * Exit 0: ran, and all as expected; 1: an error, or too far off; 2: bad use. */
#include "core/format/npy.h"
#include "core/run/exec.h"
#include "core/run/input.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_CALLS = 64, MAX_FILES = 64 };

struct run_call { const char *method, *in[MAX_FILES], *expect[MAX_FILES]; int nin, nexpect; };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int fail(const char *step, const struct error *err)
{
	printf("{\"ok\":false,\"step\":\"%s\",\"error\":\"%s\"}\n", step, err->text);
	return 1;
}

/* Largest absolute difference, or -1 when the two are not comparable. Element order is logical in both. */
static double compare(const struct tensor *t, const char *path, struct error *err)
{
	struct file f;
	struct npy e;
	double worst = 0;

	if (!file_open(&f, path, err) || !npy_read(&e, &f, err))
		return -1;
	if (t->dtype != e.dtype || t->rank != e.rank || memcmp(t->size, e.size, (size_t)e.rank * sizeof *e.size)) {
		error_set(err, ERROR_RUN, "dtype or shape is not that of %s", path);
		return -1;
	}
	for (int64_t i = 0, n = tensor_numel(t); i < n; i++) {
		int64_t rest = i, at = 0;
		double a, b;

		for (int d = t->rank - 1; d >= 0; d--) {
			at += rest % t->size[d] * t->stride[d];
			rest /= t->size[d];
		}
		a = dtype_get(t->dtype, t->data, (size_t)at);
		b = dtype_get(e.dtype, e.data, (size_t)i);
		if (a == b || (isnan(a) && isnan(b)))
			continue;
		worst = isnan(a - b) ? INFINITY : fmax(worst, fabs(a - b));
	}
	file_close(&f);
	return worst;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static struct run_call call[MAX_CALLS];
	const char *model = NULL, *data[MAX_FILES];
	int ncalls = 0, ndata = 0, repeat = 1;
	double tol = 1e-3, diff = 0, first = 0, load, t0, *ms;
	struct exec_options opt = { .engine = ENGINE_FILED, .threads = 1, .state = exec_state_new() };
	struct exec **exec;
	struct program *p;
	struct arena mem = { 0 };
	struct error err = { 0 };

	call[0].method = "forward";
	for (int i = 1; i < argc; i++) {
		struct run_call *c = &call[ncalls ? ncalls - 1 : 0];
		const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(a, "--call") && ncalls < MAX_CALLS) call[ncalls++].method = v;
		else if (!strcmp(a, "--in") && c->nin < MAX_FILES) c->in[c->nin++] = v;
		else if (!strcmp(a, "--expect") && c->nexpect < MAX_FILES) c->expect[c->nexpect++] = v;
		else if (!strcmp(a, "--data") && ndata < MAX_FILES) data[ndata++] = v;
		else if (!strcmp(a, "--threads")) opt.threads = atoi(v);
		else if (!strcmp(a, "--repeat")) repeat = atoi(v);
		else if (!strcmp(a, "--tol")) tol = atof(v);
		else if (!strcmp(a, "--engine")) {
			while ((int)opt.engine < ENGINES && strcmp(engine_names[opt.engine], v))
				opt.engine++;
		} else if (a[0] != '-' && !model) { model = a; continue; }
		else return 2;
		i++;
	}
	if (!model || (int)opt.engine >= ENGINES || repeat < 1)
		return 2;
	ncalls += !ncalls;
	t0 = now_ms();
	if (!program_open(&p, model, data, ndata, &err))
		return fail("open", &err);
	exec = arena_array(&mem, (size_t)p->nmethods, sizeof *exec);
	for (int c = 0; c < ncalls; c++) {
		int m = 0;

		while (m < p->nmethods && strcmp(p->method[m]->method, call[c].method))
			m++;
		if (m == p->nmethods) {
			error_set(&err, ERROR_RUN, "no method %s", call[c].method);
			return fail("method", &err);
		}
		if (!exec[m] && !exec_open(&exec[m], p, p->method[m], &opt, &err))
			return fail("set-up", &err);
	}
	load = now_ms() - t0;
	ms = arena_array(&mem, (size_t)repeat, sizeof *ms);
	for (int c = 0; c < ncalls; c++) {
		struct tensor **in;
		struct exec *e;
		int m = 0;

		while (strcmp(p->method[m]->method, call[c].method))
			m++;
		e = exec[m];
		if (!input_make(&in, p->method[m], call[c].in, call[c].nin, NULL, 0, 0, &mem, &err))
			return fail("input", &err);
		t0 = now_ms();
		if (!exec_run(e, in, p->method[m]->ninputs, &err))
			return fail("execute", &err);
		first = now_ms() - t0;
		if (call[c].nexpect && call[c].nexpect != exec_noutputs(e)) {
			error_set(&err, ERROR_RUN, "%d outputs", exec_noutputs(e));
			return fail("number of outputs", &err);
		}
		for (int k = 0; k < call[c].nexpect; k++) {
			double d = compare(exec_output(e, k), call[c].expect[k], &err);

			if (d < 0)
				return fail("output", &err);
			diff = fmax(diff, d);
		}
		ms[0] = first;
		for (int r = 0; c + 1 == ncalls && repeat > 1 && r < repeat; r++) {
			t0 = now_ms();
			if (!exec_run(e, in, p->method[m]->ninputs, &err))
				return fail("execute", &err);
			ms[r] = now_ms() - t0;
		}
	}
	for (int m = 0; m < p->nmethods; m++)
		for (int i = 0; exec[m] && i < exec_nmissing(exec[m]); i++)
			fprintf(stderr, "missing: %s\n", exec_missing(exec[m], i));
	qsort(ms, (size_t)repeat, sizeof *ms, by_value);
	printf("{\"ok\":%s,\"load_ms\":%.3f,\"first_ms\":%.3f,\"min_ms\":%.4f,\"median_ms\":%.4f,\"max_abs_diff\":%g}\n",
	       diff <= tol ? "true" : "false", load, first, ms[0], ms[repeat / 2], diff);
	for (int m = 0; m < p->nmethods; m++)
		exec_close(exec[m]);
	exec_state_free(opt.state);
	program_close(p);
	arena_free(&mem);
	return diff <= tol ? 0 : 1;
}
