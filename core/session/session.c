#include "core/session/session_parts.h"
#include "core/session/weights.h"

#include "core/op/op.h"
#include "core/pass/partition.h"

#include <string.h>
#include <unistd.h>

/* Opening */

static void push_version(struct session *s, struct version v)
{
	if (s->nversions == s->capversions)
		s->version = vec_grow(&s->mem, s->version, s->nversions, &s->capversions, sizeof *s->version);
	s->version[s->nversions++] = v;
}

static struct session *new_session(struct program *p)
{
	struct session *s = mem_alloc(sizeof *s);

	s->program = p;
	s->in_memory = !p->file.map;
	cpu_read(&s->cpu);
	s->run = (struct run_options){ .threads = s->cpu.cores, .warmup = 4, .runs = 30, .max_seconds = 10,
		.tolerance = 1e-3 };
	push_version(s, (struct version){ .method = p->method });
	return s;
}

bool session_open_watched(struct session **out, const char *path, const char *const *data, int ndata, struct work *work,
			  struct error *err)
{
	struct program *p;
	struct file file;
	const char **paths;

	if (!file_open(&file, path, err) || !program_open_watched(&p, file, data, ndata, work, err))
		return false;
	*out = new_session(p);
	paths = arena_array(&(*out)->mem, (size_t)ndata, sizeof *paths);
	for (int i = 0; i < ndata; i++)
		paths[i] = arena_string(&(*out)->mem, data[i]);
	(*out)->data_path = paths;
	(*out)->ndata_paths = ndata;
	return true;
}

bool session_open(struct session **out, const char *path, const char *const *data, int ndata, struct error *err)
{
	return session_open_watched(out, path, data, ndata, NULL, err);
}

bool session_open_demo(struct session **out, const void *bytes, size_t n, struct error *err)
{
	struct file_piece piece = { bytes, n };
	struct program *p;
	struct file f;
	int fd = pieces_in_memory(&piece, 1, err);
	bool ok = fd >= 0 && file_open_fd(&f, fd, "the demo", err) && program_open_file(&p, f, NULL, 0, err);

	if (fd >= 0)
		close(fd);
	if (!ok)
		return false;
	*out = new_session(p);
	(*out)->in_memory = true;
	return true;
}

/* Versions */

static bool owns(const struct session *s, int version, int method)
{
	return version > 0 && s->version[version].method[method] != s->version[version - 1].method[method];
}

void session_look_on(struct session *s, int version, struct work *w)
{
	for (int m = 0; m < s->program->nmethods; m++)
		if (owns(s, version, m))
			s->version[version].method[m]->work = w;
}

static void drop_plans(struct version *v)
{
	if (v->has_plans) {
		fold_plan_free(&v->fold);
		linear_plan_free(&v->linear);
	}
	v->has_plans = false;
}

static void drop_version(struct session *s)
{
	int last = s->nversions - 1;
	struct version *v = &s->version[last];

	drop_plans(v);
	files_close(v->files);
	if (v->has_emitted)
		emitted_free(&v->emitted);
	arena_free(&v->mem);
	for (int m = 0; m < s->program->nmethods; m++)
		if (owns(s, last, m))
			graph_free(v->method[m]);
	s->nversions--;
}

/* What was measured of versions from here on means nothing any more, and what was compared even less. */
static void forget_runs(struct session *s, int from)
{
	int n = 0;

	s->nverify = 0;
	for (int i = 0; i < s->nbench; i++)
		if (s->bench[i].version < from)
			s->bench[n++] = s->bench[i];
	s->nbench = n;
}

void session_close(struct session *s)
{
	if (!s)
		return;
	while (s->nversions)
		drop_version(s);
	program_close(s->program);
	arena_free(&s->mem);
	mem_free(s);
}

struct version *session_version(struct session *s)
{
	return &s->version[s->current];
}

bool session_undo(struct session *s)
{
	if (!s->current)
		return false;
	s->current--;
	s->nverify = 0;
	return true;
}

bool session_redo(struct session *s)
{
	if (s->current + 1 >= s->nversions)
		return false;
	s->current++;
	s->nverify = 0;
	return true;
}

/* Facts */

bool session_plan(struct session *s, int version, struct error *err)
{
	struct version *v = &s->version[version];
	int n = s->program->nmethods;

	if (v->has_plans)
		return true;
	if (!fold_plan(&v->fold, v->method, n, err))
		return false;
	if (!linear_plan(&v->linear, v->method, n, err)) {
		fold_plan_free(&v->fold);
		return false;
	}
	v->has_plans = true;
	return true;
}

static bool make_facts(struct session *s, int version, struct error *err)
{
	struct version *v = &s->version[version];
	int n = s->program->nmethods;

	if (!session_plan(s, version, err) || (version > 0 && !session_emit(s, version, err)))
		return false;
	v->facts = arena_array(&v->mem, (size_t)n, sizeof *v->facts);
	for (int m = 0; m < n; m++) {
		struct facts_source source = { s->program, v->method, n, m,
			version ? &v->emitted.plan[m] : &s->program->pte.plan[m],
			version ? v->emitted.value_of[m] : NULL, &v->fold, &v->linear };

		if (!facts_make(&v->facts[m], &source, &v->mem, err))
			return false;
	}
	v->constant = constants_find(v->method, n, !version, &v->mem, &v->nconstants);
	return true;
}

bool session_facts(struct session *s, int version, struct error *err)
{
	struct version *v = &s->version[version];

	if (v->has_facts)
		return true;
	for (int m = 0; m < s->program->nmethods && !version; m++)
		v->method[m]->work = s->work;
	v->has_facts = make_facts(s, version, err);
	for (int m = 0; m < s->program->nmethods && !version; m++)
		v->method[m]->work = NULL;
	return v->has_facts;
}

/* Applying */

struct step {
	const char *name;
	bool (*apply)(struct version *v, struct graph **g, int n, struct error *err);
};

static bool apply_fold(struct version *v, struct graph **g, int n, struct error *err)
{
	return fold_apply(&v->fold, g, n, err) >= 0;
}

static bool apply_linear(struct version *v, struct graph **g, int n, struct error *err)
{
	return linear_apply(&v->linear, g, n, err) >= 0;
}

static bool apply_partition(struct version *v, struct graph **g, int n, struct error *err)
{
	return partition_apply_all(g, n, err);
}

static const struct step steps[] = {
	[APPLY_FOLD] = { "fold", apply_fold }, [APPLY_LINEAR] = { "linear", apply_linear },
	[APPLY_PARTITION] = { "partition", apply_partition },
};

static bool same_arg(const struct arg *a, const struct arg *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case ARG_NONE: return true;
	case ARG_VALUE: return a->value->id == b->value->id;
	case ARG_INT: return a->i == b->i;
	case ARG_DOUBLE: return !memcmp(&a->d, &b->d, sizeof a->d);
	case ARG_BOOL: return a->b == b->b;
	case ARG_STRING: return !strcmp(a->s, b->s);
	case ARG_LIST:
		for (int i = 0; i < a->list.n && a->list.n == b->list.n; i++)
			if (!same_arg(&a->list.at[i], &b->list.at[i]))
				return false;
		return a->list.n == b->list.n;
	}
	return false;
}

static bool same_node(const struct node *a, const struct node *b)
{
	if (a->op != b->op || a->group != b->group || a->nargs != b->nargs || a->nouts != b->nouts)
		return false;
	for (int i = 0; i < a->nargs; i++)
		if (!same_arg(&a->arg[i], &b->arg[i]))
			return false;
	for (int i = 0; i < a->nouts; i++)
		if (a->out[i]->id != b->out[i]->id)
			return false;
	return true;
}

/* A clone that nothing was done to. */
static bool same_graph(const struct graph *a, const struct graph *b)
{
	const struct node *x = a->first, *y = b->first;

	if (a->nnodes != b->nnodes || a->noutputs != b->noutputs)
		return false;
	for (int i = 0; i < a->noutputs; i++)
		if (!same_arg(&a->output[i], &b->output[i]))
			return false;
	for (; x && y; x = x->next, y = y->next)
		if (!same_node(x, y) || (x->group >= 0 && a->group[x->group].changed != b->group[y->group].changed))
			return false;
	return x == y;
}

/* Clones that were not changed go; their place takes the graph that they came from. Whether any stayed. */
static bool settle(struct graph **clone, struct graph *const *from, int n)
{
	bool changed = false;

	for (int m = 0; m < n; m++)
		if (same_graph(clone[m], from[m])) {
			graph_free(clone[m]);
			clone[m] = from[m];
		} else {
			changed = true;
		}
	return changed;
}

static bool has_copies(struct session *s)
{
	struct arena mem = { 0 };
	int n = 0;

	for (int m = 0; m < s->program->nmethods && !n; m++)
		weights_stored_twice(s->program, s->program->method, m, &mem, &n);
	arena_free(&mem);
	return n > 0;
}

/* A program that needs no other partition may still hold weights twice; written anew, it holds them once. */
static bool store_once(struct session *s, struct version *made)
{
	enum { WORTH = 1024 };

	*made = (struct version){ .method = s->program->method, .applied = steps[APPLY_PARTITION].name };
	made->has_emitted = has_copies(s) && program_emit_anew(&made->emitted, s->program, NULL);
	if (made->has_emitted && made->emitted.program.bytes + WORTH <= s->program->file.bytes)
		return true;
	if (made->has_emitted)
		emitted_free(&made->emitted);
	return false;
}

static void push_applied(struct session *s, struct version made)
{
	while (s->nversions > s->current + 1)
		drop_version(s);
	forget_runs(s, s->nversions);
	push_version(s, made);
	s->current++;
}

bool session_apply(struct session *s, enum apply_step step, bool *changed, struct error *err)
{
	int n = s->program->nmethods;
	struct graph **clone = arena_array(&s->mem, (size_t)n, sizeof *clone);
	struct version *v = session_version(s), made;

	*changed = false;
	if (!session_plan(s, s->current, err))
		return false;
	for (int m = 0; m < n; m++)
		(clone[m] = graph_clone(v->method[m]))->work = s->work;
	if (!steps[step].apply(v, clone, n, err)) {
		for (int m = 0; m < n; m++)
			graph_free(clone[m]);
		return false;
	}
	*changed = settle(clone, v->method, n);
	for (int m = 0; *changed && m < n; m++)
		clone[m]->work = NULL;
	made = (struct version){ .method = clone, .applied = steps[step].name };
	if (!*changed && step == APPLY_PARTITION && !s->current)
		*changed = store_once(s, &made);
	if (*changed)
		push_applied(s, made);
	return true;
}

/* Drafts */

struct session *session_draft(const struct session *s)
{
	struct session *d = mem_alloc(sizeof *d);

	*d = *s;
	d->mem = (struct arena){ 0 };
	d->nversions = d->capversions = s->current + 1;
	d->version = arena_copy(&d->mem, s->version, (size_t)d->nversions * sizeof *d->version);
	d->bench = NULL;
	d->verify = NULL;
	d->nbench = d->capbench = d->nverify = d->capverify = 0;
	return d;
}

void session_take(struct session *s, struct session *draft)
{
	int shared = s->current + 1;

	if (draft->nversions > shared) {
		while (s->nversions > shared)
			drop_version(s);
		forget_runs(s, shared);
	}
	arena_join(&s->mem, &draft->mem);
	if (draft->nversions > shared) {
		s->version = draft->version;
		s->nversions = draft->nversions;
		s->capversions = draft->capversions;
	} else {	/* what was undone is still there; the shared ones may have been emitted */
		memcpy(s->version, draft->version, (size_t)shared * sizeof *s->version);
	}
	s->current = draft->current;
	mem_free(draft);
}

void session_drop(const struct session *s, struct session *draft)
{
	while (draft->nversions > s->current + 1)
		drop_version(draft);
	for (int i = 0; i < draft->nversions; i++)
		if (draft->version[i].has_emitted && !s->version[i].has_emitted)
			emitted_free(&draft->version[i].emitted);
	arena_free(&draft->mem);
	mem_free(draft);
}
