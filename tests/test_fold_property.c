/* The weight fold on thousands of random programs (tests/seeded.h): what a fold may never do. Seeds are numbered from
 * 1; `test_fold_property N [M]` tries those alone, and prints each program. */
#include "tests/tap.h"

#include "core/pass/fold.h"
#include "core/pass/linear.h"
#include "core/pass/partition.h"
#include "core/program/emit.h"
#include "core/run/exec.h"
#include "core/run/input.h"
#include "tests/seeded.h"

#include <math.h>
#include <sha2.h>
#include <stdlib.h>
#include <unistd.h>

enum { SEEDS = 5000, DELEGATED_EVERY = 8, PARTS_EVERY = 3 };

static uint64_t first_seed = 1, last_seed = SEEDS;
static bool loud;
static char folder[32];	/* in memory where that can be: each file is synced */

/* One seed while it is tried; the first thing that is wrong is told. */
struct trial {
	struct seeded made;
	struct program *p;
	struct graph *g[SEEDED_METHODS];	/* clones, folded */
	int tensors;				/* folded */
	struct arena mem;
	struct tensor **input[SEEDED_METHODS];
	char wrong[1024];
};

static bool wrong(struct trial *t, const char *what, const char *more)
{
	snprintf(t->wrong, sizeof t->wrong, "%s%s%s", what, *more ? ": " : "", more);
	return false;
}

/* ---- outputs ---- */

struct outputs { int n; struct tensor *at; };

static bool run(struct trial *t, const struct program *p, struct graph *g, int method, enum engine engine,
		struct outputs *out)
{
	struct exec_options o = { .engine = engine, .threads = 1 };
	struct error err = { 0 };
	struct exec *e;
	bool ok;

	if (!exec_open(&e, p, g, &o, &err))
		return wrong(t, "does not open", err.text);
	/* twice: what one run leaves in state is seen by the next */
	ok = exec_run(e, t->input[method], g->ninputs, &err) && exec_run(e, t->input[method], g->ninputs, &err);
	out->n = ok ? exec_noutputs(e) : 0;
	out->at = arena_array(&t->mem, (size_t)out->n + 1, sizeof *out->at);
	for (int i = 0; i < out->n; i++) {
		out->at[i] = *exec_output(e, i);
		out->at[i].data = arena_copy(&t->mem, exec_output(e, i)->data,
			(size_t)tensor_numel(exec_output(e, i)) * dtype_bytes(exec_output(e, i)->dtype));
	}
	exec_close(e);
	return ok || wrong(t, "does not run", err.text);
}

static bool same_bits(struct trial *t, const struct outputs *a, const struct outputs *b, const char *what)
{
	for (int i = 0; i < a->n; i++)
		if (a->n != b->n || a->at[i].rank != b->at[i].rank || memcmp(a->at[i].data, b->at[i].data,
		    (size_t)tensor_numel(&a->at[i]) * dtype_bytes(a->at[i].dtype)))
			return wrong(t, "not the same bits", what);
	return true;
}

static bool close_enough(struct trial *t, const struct outputs *a, const struct outputs *b, const char *what)
{
	for (int i = 0; i < a->n; i++)
		for (int64_t k = 0; k < tensor_numel(&a->at[i]); k++) {
			double x = dtype_get(a->at[i].dtype, a->at[i].data, k);
			double y = dtype_get(b->at[i].dtype, b->at[i].data, k);

			if (!(fabs(x - y) <= 1e-3 * fmax(1, fabs(x)))) {
				char both[160];

				snprintf(both, sizeof both, "%s, output %d[%lld]: %g, %g", what, i, (long long)k, x, y);
				return wrong(t, "not close", both);
			}
		}
	return true;
}

/* ---- stored bytes, counted from the file ---- */

struct counting { struct trial *t; struct map seen; uint64_t bytes; };

static void count(struct counting *c, int home, struct span b)
{
	char *key = arena_alloc(&c->t->mem, SHA256_DIGEST_STRING_LENGTH + 16);
	size_t n;

	if (!b.bytes)
		return;
	SHA256Data(b.data, b.bytes, key);
	n = strlen(key) + (size_t)sprintf(key + strlen(key), "/%d", home);
	if (map_get(&c->seen, key, n))
		return;
	map_put(&c->seen, &c->t->mem, key, n, c);
	c->bytes += b.bytes;
}

/* State is not counted: nobody folds it, and its first bytes may happen to be those of a constant. */
static uint64_t stored_bytes(struct trial *t, const struct program *p)
{
	struct counting c = { .t = t };

	for (int m = 0; m < p->pte.nplans; m++)
		for (int i = 0; i < p->pte.plan[m].nvalues; i++) {
			const struct pte_value *v = &p->pte.plan[m].value[i];

			if (v->tag == PTE_TENSOR && v->tensor->storage == PTE_CONSTANT)
				count(&c, HOME_PROGRAM, (struct span){ v->tensor->data, v->tensor->bytes });
		}
	for (int i = 0; i < p->pte.nnamed; i++)
		count(&c, HOME_PROGRAM, p->pte.named[i].data);
	for (int d = 0; d < p->ndata; d++)
		for (int i = 0; i < p->data[d].nentries; i++)
			count(&c, d, p->data[d].entry[i].data);
	return c.bytes;
}

/* ---- what a fold has to hold to ---- */

static bool explains_itself(struct trial *t, const struct fold_plan *plan)
{
	for (int i = 0; i < plan->nfolds; i++) {
		const struct fold *f = &plan->fold[i];

		if (!f->folds && (!f->code || !*f->code || !f->text || strlen(f->text) < 10))
			return wrong(t, "a refusal without a reason", f->position);
		if (f->folds && (!f->name || f->code))
			return wrong(t, "a fold without a name", f->position);
	}
	return true;
}

static bool fold(struct trial *t, int *tensors)
{
	struct fold_plan plan;
	struct error err = { 0 };
	bool ok;

	if (!fold_plan(&plan, t->g, t->p->nmethods, &err))
		return wrong(t, "no plan", err.text);
	for (int i = 0; loud && i < plan.nfolds; i++)
		printf("# %s %s: %s (%llu added, %llu erased)\n", plan.fold[i].position, plan.fold[i].value->name,
		       plan.fold[i].folds ? plan.fold[i].name : plan.fold[i].text,
		       (unsigned long long)plan.fold[i].bytes_added, (unsigned long long)plan.fold[i].bytes_erased);
	*tensors = fold_apply(&plan, t->g, t->p->nmethods, &err);
	ok = explains_itself(t, &plan) && (*tensors >= 0 || wrong(t, "not applied", err.text));
	fold_plan_free(&plan);
	for (int m = 0; ok && m < t->p->nmethods; m++)
		ok = graph_check(t->g[m], &err) || wrong(t, "broken graph", err.text);
	return ok;
}

static bool stays_folded(struct trial *t)
{
	struct str before = { 0 }, after = { 0 };
	int tensors;
	bool ok;

	for (int m = 0; m < t->p->nmethods; m++)
		graph_print(t->g[m], &before);
	ok = fold(t, &tensors);
	for (int m = 0; m < t->p->nmethods; m++)
		graph_print(t->g[m], &after);
	if (ok && (tensors || strcmp(str_text(&before), str_text(&after))))
		ok = wrong(t, "folded twice, it changes again", "");
	str_free(&before);
	str_free(&after);
	return ok;
}

/* Writes the graphs, opens what was written, and compares it with the program. */
static bool written_is_the_same(struct trial *t, struct graph *const *g, bool bits, const struct outputs *expect)
{
	char path[64], beside[SEEDED_FILES][64];
	const char *data[SEEDED_FILES] = { t->made.data[0], t->made.data[1] };
	struct program *q = NULL;
	struct emitted e;
	struct error err = { 0 };
	bool ok = true;

	snprintf(path, sizeof path, "%s/written.pte", folder);
	if (!program_emit(&e, t->p, g, &err))
		return wrong(t, "not written", err.text);
	for (int i = 0; i < e.ndata; i++) {
		int d = e.data[i].data;

		snprintf(beside[d], sizeof beside[d], "%s/written.%c.ptd", folder, 'a' + d);
		data[d] = beside[d];
	}
	ok = (emitted_write(&e, t->p, path, true, &err) || wrong(t, "not written", err.text)) &&
		(program_open(&q, path, data, SEEDED_FILES, &err) || wrong(t, "does not open again", err.text));
	emitted_free(&e);
	for (int m = 0; ok && m < q->nmethods; m++) {
		struct outputs out;

		ok = run(t, q, q->method[m], m, bits ? ENGINE_PORTABLE : ENGINE_FILED, &out) &&
			(bits ? same_bits(t, &expect[m], &out, "as written") : close_enough(t, &expect[m], &out, "as written"));
	}
	if (ok && stored_bytes(t, q) > stored_bytes(t, t->p)) {
		char bytes[80];

		snprintf(bytes, sizeof bytes, "stores %llu bytes, %llu before", (unsigned long long)stored_bytes(t, q),
			 (unsigned long long)stored_bytes(t, t->p));
		ok = wrong(t, "larger", bytes);
	}
	if (q)
		program_close(q);
	return ok;
}

static bool unfolded_is_written_as_it_came(struct trial *t)
{
	struct emitted e;
	struct error err = { 0 };
	size_t at = 0;
	bool ok;

	if (!program_emit(&e, t->p, t->p->method, &err))
		return wrong(t, "not written", err.text);
	ok = e.program.bytes == t->p->file.bytes && !e.ndata;
	for (int i = 0; ok && i < e.program.npieces; at += e.program.piece[i++].bytes)
		ok = !memcmp(t->p->file.data + at, e.program.piece[i].data, e.program.piece[i].bytes);
	emitted_free(&e);
	return ok || wrong(t, "nothing folds, but another file is written", "");
}

static bool delegated_is_close(struct trial *t, const struct outputs *expect)
{
	struct linear_plan plan;
	struct error err = { 0 };
	bool ok = linear_plan(&plan, t->g, t->p->nmethods, &err) &&
		linear_apply(&plan, t->g, t->p->nmethods, &err) >= 0 &&
		partition_apply_all(t->g, t->p->nmethods, &err);

	if (!ok)
		return wrong(t, "not partitioned", err.text);
	linear_plan_free(&plan);
	for (int m = 0; ok && m < t->p->nmethods; m++) {
		struct outputs out;

		ok = run(t, t->p, t->g[m], m, ENGINE_FILED, &out) && close_enough(t, &expect[m], &out, "delegated");
	}
	return ok && written_is_the_same(t, t->g, false, expect);
}

/* ---- in parts ---- */

/* What is stored for constants that somebody reads. */
static uint64_t bytes_in_use(struct trial *t, struct graph *const *g)
{
	struct counting c = { .t = t };

	for (int m = 0; m < t->p->nmethods; m++)
		for (int i = 0; i < g[m]->nvalues; i++) {
			const struct value *v = g[m]->value[i];

			if (v->kind == VALUE_CONSTANT && (v->nuses || v->noutputs))
				count(&c, v->home, (struct span){ v->data, v->bytes });
		}
	return c.bytes;
}

/* Marks by chance; whether the marked ones were applied. What may not be applied alone is refused, and changes
 * nothing. */
static bool fold_some(struct trial *t, struct graph **g, uint64_t chance, bool *applied)
{
	struct fold_plan plan;
	struct error err = { 0 };
	struct str before = { 0 }, after = { 0 };
	uint64_t bytes = bytes_in_use(t, g);
	bool ok = true;

	if (!fold_plan(&plan, g, t->p->nmethods, &err))
		return wrong(t, "no plan", err.text);
	for (int i = 0; i < plan.nfolds; i++)
		plan.fold[i].marked = plan.fold[i].folds && (chance >> i % 64 & 1);
	for (int m = 0; m < t->p->nmethods; m++)
		graph_print(g[m], &before);
	*applied = fold_apply(&plan, g, t->p->nmethods, &err) >= 0;
	for (int m = 0; m < t->p->nmethods; m++)
		graph_print(g[m], &after);
	if (!*applied && (err.code != ERROR_REFUSED || strcmp(str_text(&before), str_text(&after))))
		ok = wrong(t, "some of the folds", err.text);
	if (bytes_in_use(t, g) > bytes)
		ok = wrong(t, "some of the folds", "store more");
	fold_plan_free(&plan);
	str_free(&before);
	str_free(&after);
	return ok;
}

/* Any part first and the rest then is as good as all at once: the same bits, no more bytes, and nothing left to fold
 * that was not refused before. */
static bool parts_are_the_same(struct trial *t, uint64_t seed, const struct outputs *expect)
{
	struct graph *g[SEEDED_METHODS] = { NULL };
	bool applied, ok = true;

	for (int m = 0; m < t->p->nmethods; m++)
		g[m] = graph_clone(t->p->method[m]);
	for (uint64_t part = 0; ok && part < 3; part++)
		ok = fold_some(t, g, part < 2 ? seed * 0x9e3779b97f4a7c15u >> part : UINT64_MAX, &applied);
	if (ok && !applied)
		ok = wrong(t, "the rest does not fold", "");
	for (int m = 0; ok && m < t->p->nmethods; m++) {
		struct outputs out;

		ok = run(t, t->p, g[m], m, ENGINE_PORTABLE, &out) && same_bits(t, &expect[m], &out, "folded in parts");
	}
	ok = ok && written_is_the_same(t, g, true, expect);
	for (int m = 0; m < t->p->nmethods; m++)
		graph_free(g[m]);
	return ok;
}

/* ---- one seed ---- */

static bool open_trial(struct trial *t, uint64_t seed)
{
	struct error err = { 0 };

	seeded_make(&t->made, seed, folder);
	if (!program_open(&t->p, t->made.program, t->made.data, SEEDED_FILES, &err))
		return wrong(t, "does not open", err.text);
	for (int m = 0; m < t->p->nmethods; m++) {
		struct str s = { 0 };

		graph_print(t->p->method[m], &s);
		if (loud)
			printf("%s\n", str_text(&s));
		str_free(&s);
		t->g[m] = graph_clone(t->p->method[m]);
		if (!input_make(&t->input[m], t->g[m], NULL, 0, NULL, 0, seed, &t->mem, &err))
			return wrong(t, "no inputs", err.text);
	}
	return true;
}

static bool compare(struct trial *t, uint64_t seed)
{
	struct outputs before[SEEDED_METHODS], after;

	for (int m = 0; m < t->p->nmethods; m++)
		if (!run(t, t->p, t->p->method[m], m, ENGINE_PORTABLE, &before[m]))
			return false;
	if (!fold(t, &t->tensors))
		return false;
	for (int m = 0; m < t->p->nmethods; m++)
		if (!run(t, t->p, t->g[m], m, ENGINE_PORTABLE, &after) || !same_bits(t, &before[m], &after, "folded"))
			return false;
	if (!(t->tensors ? written_is_the_same(t, t->g, true, before) : unfolded_is_written_as_it_came(t)))
		return false;
	if (t->tensors > 1 && seed % PARTS_EVERY == 0 && !parts_are_the_same(t, seed, before))
		return false;
	return stays_folded(t) && (seed % DELEGATED_EVERY || delegated_is_close(t, before));
}

static bool try_seed(uint64_t seed, int *tensors)
{
	struct trial t = { .tensors = 0 };
	bool ok = open_trial(&t, seed) && compare(&t, seed);

	if (!ok)
		printf("# seed %llu: %s\n", (unsigned long long)seed, t.wrong);
	*tensors += t.tensors > 0 ? t.tensors : 0;
	for (int m = 0; m < SEEDED_METHODS; m++)
		graph_free(t.g[m]);
	if (t.p)
		program_close(t.p);
	seeded_free(&t.made);
	arena_free(&t.mem);
	return ok;
}

static void remove_files(void)
{
	static const char *const name[] = { "program.pte", "a.ptd", "b.ptd", "written.pte", "written.a.ptd", "written.b.ptd" };
	char path[64];

	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, name[i]);
		unlink(path);
	}
	rmdir(folder);
}

static void a_fold_changes_no_bit_and_adds_no_byte(void **state)
{
	int failed = 0, tensors = 0;

	snprintf(folder, sizeof folder, "%s/fold-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert_non_null(mkdtemp(folder));
	for (uint64_t seed = first_seed; seed <= last_seed; seed++)
		failed += !try_seed(seed, &tensors);
	remove_files();
	printf("# %d tensors folded\n", tensors);
	assert_int_equal(failed, 0);
	assert_true(loud || tensors > SEEDS / 2);	/* or nothing was tried */
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_fold_changes_no_bit_and_adds_no_byte) };

	if (argc > 1) {
		first_seed = last_seed = strtoull(argv[1], NULL, 10);
		last_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : first_seed;
		loud = argc == 2;
	}
	return RUN_TAP(tests);
}
