/* tool_mutate - damages files at random and reads them, in this process: run it under a sanitizer.
 *
 *   tool_mutate SEED COUNT FILE...             reads, lifts, reports, optimises
 *   tool_mutate --to FOLDER SEED COUNT FILE... writes those that open, as <number>.pte
 *
 * Mutation i of a file depends on SEED, i and the file alone. Each must end in time, without a crash, without one
 * block of memory larger than 64 MB + 4 times the file, and without a control character in a report. Exit 0: all
 * did; 1: one did not (its number is printed, and the file is left as mutant.bin). */
#include "core/format/npy.h"
#include "core/format/xblob.h"
#include "core/session/session.h"
#include "views/report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 10, BLOCK_FLOOR = 64 << 20, BLOCK_TIMES = 4 };

struct random { uint64_t s; };

static uint64_t next(struct random *r)	/* splitmix64 */
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static size_t below(struct random *r, size_t n)
{
	return n ? (size_t)(next(r) % n) : 0;
}

/* The mutations. Each works on data of `bytes` and may shorten it. Tables lie in front: half the hits go there. */

struct mutant { uint8_t *data; size_t bytes, tables; const struct file *other; };

static size_t place(struct mutant *m, struct random *r)
{
	return below(r, next(r) % 2 && m->tables < m->bytes ? m->tables : m->bytes);
}

static void flip_bit(struct mutant *m, struct random *r)
{
	m->data[place(m, r)] ^= (uint8_t)(1u << below(r, 8));
}

static void set_byte(struct mutant *m, struct random *r)
{
	static const uint8_t likely[] = { 0, 1, 2, 4, 8, 16, 32, 64, 127, 128, 255 };
	size_t i = below(r, 2 * sizeof likely);

	m->data[place(m, r)] = i < sizeof likely ? likely[i] : (uint8_t)next(r);
}

/* An aligned number becomes another one: a little more, a neighbour's, an extreme. */
static void tweak_word(struct mutant *m, struct random *r)
{
	static const uint32_t likely[] = { 0, 1, UINT32_MAX, INT32_MAX, 0x80000000, 0x7ffffffc, 0xfffffffc, 1000000,
					  65536 };
	size_t at = place(m, r) & ~(size_t)3;
	uint32_t v;

	if (at + 4 > m->bytes)
		return;
	memcpy(&v, m->data + at, 4);
	switch (below(r, 4)) {
	case 0: v += (uint32_t)below(r, 65) - 32; break;
	case 1: v = likely[below(r, sizeof likely / sizeof *likely)]; break;
	case 2: v = (uint32_t)below(r, m->bytes); break;
	case 3: memcpy(&v, m->data + (below(r, m->bytes - 3) & ~(size_t)3), 4); break;
	}
	memcpy(m->data + at, &v, 4);
}

static void tweak_short(struct mutant *m, struct random *r)
{
	size_t at = place(m, r) & ~(size_t)1;
	uint16_t v = (uint16_t)(next(r) % 2 ? below(r, 64) : next(r));

	if (at + 2 <= m->bytes)
		memcpy(m->data + at, &v, 2);
}

static void cut(struct mutant *m, struct random *r)
{
	m->bytes = place(m, r);
}

/* A stretch comes from elsewhere, in this file or another. */
static void splice(struct mutant *m, struct random *r)
{
	const uint8_t *from = next(r) % 2 ? m->data : m->other->data;
	size_t whole = from == m->data ? m->bytes : m->other->bytes, n = 1 + below(r, next(r) % 8 ? 32 : 1024);
	size_t to = place(m, r) & ~(size_t)3, at = below(r, whole) & ~(size_t)3;

	n = n < m->bytes - to ? n : m->bytes - to;
	n = n < whole - at ? n : whole - at;
	memmove(m->data + to, from + at, n);
}

static void (*const mutations[])(struct mutant *, struct random *) = {
	flip_bit, set_byte, tweak_word, tweak_word, tweak_short, splice, cut,
};

static void mutate(struct mutant *m, struct random *r)
{
	int n = 1 + (int)below(r, next(r) % 4 ? 3 : 16);

	for (int i = 0; i < n && m->bytes; i++)
		mutations[below(r, sizeof mutations / sizeof *mutations - (next(r) % 8 != 0))](m, r);
}

/* What reads them. */

static struct span named(void *ctx, const char *key, size_t bytes)
{
	const struct pte_named *n = pte_named_find(ctx, key, bytes);

	return n ? n->data : (struct span){ NULL, 0 };
}

/* A program that is read holds what it says, so everything in it can be touched and written. */
static bool use_program(const struct pte *p, const struct file *f, struct arena *a)
{
	struct pte_image image;
	struct pte_output out;
	struct xgraph x;
	struct error err;
	struct file again = { .path = "again" };
	struct pte q;
	uint8_t *block;
	size_t at = 0;
	bool ok;

	for (int i = 0; i < p->nplans; i++)
		for (int d = 0; d < p->plan[i].ndelegates; d++) {
			struct span blob = p->plan[i].delegate[d].blob;

			xblob_read(&x, blob, (size_t)(blob.data - f->data), f->path, named, (void *)p, a, &err);
		}
	pte_image(&image, p, a);
	if (!pte_write(&out, &image, &err))
		return true;	/* two methods of one name, say */
	if (!(block = mem_try(out.bytes)))
		abort();
	for (int i = 0; i < out.npieces; at += out.piece[i++].bytes)
		memcpy(block + at, out.piece[i].data, out.piece[i].bytes);
	again.data = block;
	again.bytes = out.bytes;
	ok = pte_read(&q, &again, a, &err);
	if (!ok)
		printf("written again it does not read: %s\n", err.text);
	mem_free(block);
	pte_output_free(&out);
	return ok;
}

/* What the reports say of it. */

static bool is_clean(const char *what, const char *s)
{
	for (; *s; s++)
		if (((unsigned char)*s < ' ' && *s != '\n') || *s == 127) {
			printf("the %s report holds byte %d\n", what, *s);
			return false;
		}
	return true;
}

static bool say_all(struct session *s, bool applied)
{
	struct report r = { .s = s, .xnnpack = "none", .table = "nodes", .by = "module", .applied = applied };
	struct text t = { 0 };
	struct arena mem = { 0 };
	struct fold_preview *preview;
	struct error err;
	char *json;
	json_t *j;
	bool ok = preview_folds(s, 0, &mem, &preview, &err);

	if (ok)
		r.preview = preview;
	j = report_json(&r);
	json = json_dumps(j, JSON_ENSURE_ASCII | JSON_INDENT(1));
	json_decref(j);
	report_text(&t, &r);
	report_markdown(&t, &r);
	report_dot(&t, &r);
	report_csv(&t, &r);
	r.explain = "*";
	for (int m = 0; m < s->program->nmethods; m++)
		for (int i = 0; i < s->version[s->current].facts[m].nrows && i < 100; i++)
			explain_node(&t, s, &s->version[s->current], m, &s->version[s->current].facts[m].row[i]);
	ok = json && is_clean("JSON", json) && is_clean("text", str_text(&t.s));
	free(json);
	text_free(&t);
	arena_free(&mem);
	return ok;
}

/* What an error may be, and whether it says anything. */
static bool told(const struct error *err)
{
	if (err->code != ERROR_NONE && *err->text)
		return is_clean("error", err->text);
	printf("refused without a reason\n");
	return false;
}

static bool optimize(struct session *s)
{
	static const enum apply_step steps[] = { APPLY_LINEAR, APPLY_FOLD, APPLY_PARTITION };
	struct error err = { 0 };
	bool changed;

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		if (!session_apply(s, steps[i], &changed, &err))
			return told(&err);
	for (int m = 0; m < s->program->nmethods; m++)
		if (!graph_check(s->version[s->current].method[m], &err)) {
			printf("optimised, method %d is not sound: %s\n", m, err.text);
			return false;
		}
	if (!session_facts(s, s->current, &err))
		return told(&err);
	return say_all(s, true);
}

/* Methods of what was read are lifted, and are sound; reports can be given, and the whole be optimised. */
static bool use_session(const struct file *f)
{
	struct session *s;
	struct error err = { 0 };
	bool ok = true;

	if (!session_open_demo(&s, f->data, f->bytes, &err))
		return told(&err);
	for (int i = 0; ok && i < s->program->nmethods; i++)
		if (!graph_check(s->program->method[i], &err)) {
			printf("lifted, method %d is not sound: %s\n", i, err.text);
			ok = false;
		}
	ok = ok && (session_facts(s, 0, &err) ? say_all(s, false) && optimize(s) : told(&err));
	session_close(s);
	return ok;
}

static bool read_all(const struct file *f, int *read)
{
	struct arena a = { 0 };
	struct pte p;
	struct ptd d;
	struct npy n;
	struct xgraph x;
	struct error err = { 0 };
	bool ok = true;

	if (pte_read(&p, f, &a, &err)) {
		++*read;
		ok = use_program(&p, f, &a) && use_session(f);
	} else if (err.code == ERROR_NONE || !*err.text) {
		printf("refused without a reason\n");
		ok = false;
	}
	*read += ptd_read(&d, f, &a, &err);
	npy_read(&n, f, &err);
	*read += xblob_read(&x, (struct span){ f->data, f->bytes }, 0, f->path, NULL, NULL, &a, &err);
	arena_free(&a);
	return ok;
}

/* Which one it is, when it ends us. */
static struct { const struct file *file; const char *path; long number; } trying;

static void tell(void)
{
	printf("mutation %ld of %s\n", trying.number, trying.path);
	fflush(stdout);
	file_write("mutant.bin", trying.file->data, trying.file->bytes, true, NULL);
}

static void too_long(int sig)
{
	printf("takes more than %d seconds\n", SECONDS);
	tell();
	abort();
}

void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct mutant make(const struct file *f, const struct file *other, uint64_t seed)
{
	struct random r = { seed };
	struct mutant m = { malloc(f->bytes + 1), f->bytes, 0, other };

	memcpy(m.data, f->data, f->bytes);
	m.tables = f->bytes < 65536 ? f->bytes / 2 + 1 : 65536;
	mutate(&m, &r);
	return m;
}

static bool write_one(const char *folder, long i, struct mutant m)
{
	struct session *s;
	struct error err;
	char path[4096];
	bool ok = true;

	snprintf(path, sizeof path, "%s/%06ld.pte", folder, i);
	if (session_open_demo(&s, m.data, m.bytes, &err)) {
		session_close(s);
		ok = file_write(path, m.data, m.bytes, true, &err);
	}
	if (!ok)
		fprintf(stderr, "%s\n", err.text);
	free(m.data);
	return ok;
}

static bool try_one(const struct file *f, struct mutant m, long i, int *read, double *slowest)
{
	struct file g = { .path = f->path };
	double start = now(), took;
	bool ok;

	/* A block of just this size, so that a step beyond it is seen. */
	g.data = memcpy(malloc(m.bytes + 1), m.data, m.bytes);
	g.data = realloc((void *)g.data, m.bytes ? m.bytes : 1);
	g.bytes = m.bytes;
	trying.file = &g;
	trying.path = f->path;
	trying.number = i;
	alarm(SECONDS);
	ok = read_all(&g, read);
	alarm(0);
	took = now() - start;
	*slowest = took > *slowest ? took : *slowest;
	if (mem_largest() > BLOCK_FLOOR + BLOCK_TIMES * f->bytes) {
		printf("asked for a block of %zu bytes, the file has %zu\n", mem_largest(), f->bytes);
		ok = false;
	}
	if (!ok)
		tell();
	free(m.data);
	free((void *)g.data);
	return ok;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 2 && !strcmp(argv[1], "--to") ? argv[2] : NULL;
	char **arg = argv + (folder ? 3 : 1);
	int nfiles = argc - (int)(arg - argv) - 2, read = 0;
	long count = nfiles > 0 ? strtol(arg[1], NULL, 10) : 0;
	uint64_t seed = nfiles > 0 ? strtoull(arg[0], NULL, 10) : 0;
	struct file *f = calloc((size_t)argc, sizeof *f);
	double slowest = 0;
	struct error err;

	if (nfiles < 1) {
		fprintf(stderr, "usage: tool_mutate [--to FOLDER] SEED COUNT FILE...\n");
		return 2;
	}
	for (int i = 0; i < nfiles; i++)
		if (!file_open(&f[i], arg[2 + i], &err)) {
			fprintf(stderr, "%s\n", err.text);
			return 2;
		}
	signal(SIGALRM, too_long);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(tell);
	for (long i = 0; i < count; i++) {
		const struct file *one = &f[i % nfiles];
		struct mutant m = make(one, &f[(size_t)(i / nfiles + i) % (size_t)nfiles], seed * 1000003 + (uint64_t)i);

		if (folder ? !write_one(folder, i, m) : !try_one(one, m, i, &read, &slowest))
			_exit(1);
	}
	if (!folder)
		printf("%ld mutations, %d read, slowest %.3f s, largest block %zu bytes\n", count, read, slowest,
		       mem_largest());
	for (int i = 0; i < nfiles; i++)
		file_close(&f[i]);
	free(f);
	return 0;
}
