/* What a timed run says: rows for the method and for its parts, and measured times of nodes. */
#include "core/session/session_parts.h"

#include "core/base/map.h"
#include "core/op/op.h"
#include "core/pass/partition.h"

#include <string.h>

static void add_row(struct session *s, struct bench_row row)
{
	if (s->nbench == s->capbench)
		s->bench = vec_grow(&s->mem, s->bench, s->nbench, &s->capbench, sizeof *s->bench);
	s->bench[s->nbench++] = row;
}

struct part { const char *subject; double ms, flops; };

/* One job's node times, spread over the rows of the facts that the worker's ids speak of. */
struct spreading {
	const struct method_facts *f;
	const struct graph *g;		/* what was run: f's graph, or a clone of it, partitioned anew */
	bool grouped;			/* delegates were run as such */
	struct arena mem;
	struct map node_of, row_of;	/* by id */
	int *reported;			/* by group: how many of its nodes have a time of their own */
	double *ms;			/* by row */
};

static void fill_maps(struct spreading *p)
{
	char buf[512];

	for (struct node *n = p->g->first; n; n = n->next) {
		const char *id = arena_string(&p->mem, node_id(p->g, n, buf, sizeof buf));

		map_put(&p->node_of, &p->mem, id, strlen(id), n);
	}
	for (int i = 0; i < p->f->nrows; i++)
		map_put(&p->row_of, &p->mem, p->f->row[i].id, strlen(p->f->row[i].id), &p->f->row[i]);
}

/* A node that a pass made, "forward/6+1", counts for the one in whose place it stands. */
static const struct node_row *row_of(const struct spreading *p, const struct node *n)
{
	char id[512];
	const struct node_row *r;
	char *plus;

	node_id(p->g, n, id, sizeof id);
	while (!(r = map_get(&p->row_of, id, strlen(id))) && (plus = strrchr(id, '+')))
		*plus = '\0';
	return r;
}

static void add_ms(struct spreading *p, const struct node *n, double ms)
{
	const struct node_row *r = row_of(p, n);

	if (r)
		p->ms[r - p->f->row] += ms;
}

static double weight_of(const struct spreading *p, const struct node *n)
{
	const struct node_row *r = row_of(p, n);

	return r ? 1 + r->flops + (double)r->bytes : 1;
}

/* XNNPACK runs a delegate as a whole; its time is shared out by what its nodes compute and move. */
static void spread_groups(struct spreading *p, const double *group_ms)
{
	double *whole = arena_array(&p->mem, (size_t)p->g->ngroups, sizeof *whole);

	for (const struct node *n = p->g->first; n; n = n->next)
		if (n->group >= 0)
			whole[n->group] += weight_of(p, n);
	for (const struct node *n = p->g->first; n; n = n->next)
		if (n->group >= 0 && group_ms[n->group] > 0)
			add_ms(p, n, group_ms[n->group] * weight_of(p, n) / whole[n->group]);
}

static const struct node *node_of(const struct spreading *p, const char *id)
{
	return map_get(&p->node_of, id, strlen(id));
}

static void spread(struct spreading *p, const struct job_result *r)
{
	double *group_ms = arena_array(&p->mem, (size_t)p->g->ngroups, sizeof *group_ms);

	fill_maps(p);
	p->reported = arena_array(&p->mem, (size_t)p->g->ngroups, sizeof *p->reported);
	p->ms = arena_array(&p->mem, (size_t)p->f->nrows, sizeof *p->ms);
	for (int i = 0; i < r->nnodes; i++) {
		const struct node *n = node_of(p, r->node[i].id);

		if (n && n->group >= 0)
			p->reported[n->group]++;
	}
	for (int i = 0; i < r->nnodes; i++) {
		const struct node *n = node_of(p, r->node[i].id);

		if (n && p->grouped && n->group >= 0 && p->reported[n->group] == 1)
			group_ms[n->group] = r->node[i].ms;
		else if (n)
			add_ms(p, n, r->node[i].ms);
	}
	spread_groups(p, group_ms);
}

static const char *subject_of(const struct node_row *r, const char *by)
{
	return !strcmp(by, "op") ? r->node->op->name : !strcmp(by, "node") ? r->id : *r->module ? r->module : "(no module)";
}

/* The row whose id stands in a sentence as a word of its own, or NULL. */
static const struct node_row *named_in(const struct method_facts *f, const char *sentence)
{
	struct str word = { 0 };
	const struct node_row *found = NULL;

	for (const char *at = sentence; *at && !found;) {
		size_t n = strcspn(at, " :,()");

		if (n) {
			str_clear(&word);
			str_addn(&word, at, n);
			found = facts_find(f, str_text(&word));
		}
		at += n + (at[n] != '\0');
	}
	str_free(&word);
	return found;
}

void session_add_failure(struct session *s, int version, int method, const char *by, enum engine engine, const char *why)
{
	struct bench_row row = { .method = method, .version = version, .engine = engine, .failed = arena_string(&s->mem, why) };
	const struct method_facts *facts;
	const struct node_row *at = NULL;

	if (by && session_worker_facts(s, version, &facts, NULL))
		at = named_in(&facts[method], why);
	add_row(s, row);
	if (at) {
		row.subject = arena_string(&s->mem, subject_of(at, by));
		add_row(s, row);
	}
}

static void add_parts(struct session *s, const struct spreading *p, const char *by, struct bench_row whole)
{
	struct arena mem = { 0 };
	struct map index = { 0 };
	vec(struct part) parts = { 0 };
	double sum = 0;

	for (int i = 0; i < p->f->nrows; i++) {
		const struct node_row *r = &p->f->row[i];
		const char *subject = subject_of(r, by);
		uintptr_t at = (uintptr_t)map_get(&index, subject, strlen(subject));

		if (!at) {
			vec_push(&mem, &parts, ((struct part){ .subject = subject }));
			map_put(&index, &mem, subject, strlen(subject), (void *)(at = (uintptr_t)parts.n));
		}
		parts.at[at - 1].ms += p->ms[i];
		parts.at[at - 1].flops += r->flops;
		sum += p->ms[i];
	}
	for (int i = 0; i < parts.n; i++) {
		struct bench_row row = { .method = whole.method, .version = whole.version, .engine = whole.engine };
		double ms = parts.at[i].ms;

		row.subject = arena_string(&s->mem, parts.at[i].subject);
		row.stats = (struct stats){ ms, ms, ms, ms, 0, whole.stats.runs };
		row.share = sum > 0 ? ms / sum : 0;
		row.gflops = ms > 0 ? parts.at[i].flops / ms / 1e6 : 0;
		if (ms > 0)
			add_row(s, row);
	}
	arena_free(&mem);
}

static void keep_times(struct session *s, const struct spreading *p, int method)
{
	struct method_facts *f = &s->version[0].facts[method];

	for (int i = 0; i < f->nrows; i++)
		f->row[i].ms = f->row[i].node->origin.kind == ORIGIN_VIEW && !p->ms[i] ? -1 : p->ms[i];
	f->worst = facts_worst(f);
}

/* Told when the file was opened, perhaps of another node of the same delegate. */
static bool is_known(const struct warning *w, const struct node *node, const char *id, const char *text)
{
	return !strcmp(w->code, "xnnpack_missing") && (!strcmp(w->id, id) ||
	       (node && w->node && node->group >= 0 && node->group == w->node->group && !strcmp(w->text, text)));
}

/* "forward/3: this XNNPACK has no ...". */
static void warn_missing(struct session *s, struct version *v, int method, const struct job_result *r)
{
	struct method_facts *f = &v->facts[method];

	for (int i = 0; i < r->nmissing; i++) {
		const char *colon = strstr(r->missing[i], ": ");
		const char *id = colon ? arena_printf(&v->mem, "%.*s", (int)(colon - r->missing[i]), r->missing[i]) : f->graph->method;
		const struct node_row *row = facts_find(f, id);
		const char *text = arena_string(&v->mem, colon ? colon + 2 : r->missing[i]);
		bool known = false;

		for (int k = 0; k < f->nwarnings && !known; k++)
			known = is_known(&f->warning[k], row ? row->node : NULL, id, text);
		if (!known)
			facts_warn(f, &v->mem, (struct warning){ row ? row->node : NULL, id, "xnnpack_missing",
				text, -1, false });
	}
}

static double flops_of(const struct method_facts *f)
{
	double sum = 0;

	for (int i = 0; i < f->nrows; i++)
		sum += f->row[i].flops;
	return sum;
}

bool session_add_bench(struct session *s, int version, int method, const char *by, const struct job *job,
		       const struct job_result *r, struct error *err)
{
	const struct method_facts *facts;
	struct spreading p = { .grouped = job->engine != ENGINE_PORTABLE };
	struct bench_row row = { .method = method, .version = version, .engine = job->engine, .setup_ms = r->setup_ms,
		.first_ms = r->first_ms, .stats = r->stats, .share = 1 };
	struct graph *again = NULL;
	bool ok = session_facts(s, version, err) && session_worker_facts(s, version, &facts, err);

	if (!ok)
		return false;
	p.f = &facts[method];
	p.g = p.f->graph;
	if (job->engine == ENGINE_XNNPACK) {	/* what exec does to it */
		p.g = again = graph_clone(p.g);
		ok = partition_apply(again, err);
	}
	if (ok) {
		row.gflops = r->stats.median > 0 ? flops_of(p.f) / r->stats.median / 1e6 : 0;
		add_row(s, row);
		warn_missing(s, &s->version[version], method, r);
		if (r->nnodes)
			spread(&p, r);
		if (r->nnodes && !version && job->engine == ENGINE_FILED)
			keep_times(s, &p, method);
		if (r->nnodes && by)
			add_parts(s, &p, by, row);
	}
	graph_free(again);
	arena_free(&p.mem);
	return ok;
}
