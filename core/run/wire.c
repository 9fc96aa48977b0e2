#include "core/run/wire.h"

#include <string.h>

static void put_bytes(struct wire_out *w, const void *p, size_t n)
{
	if (w->cap - w->n < n) {
		w->cap = 2 * w->cap + n + 256;
		w->data = mem_grow(w->data, w->cap);
	}
	if (n)
		memcpy(w->data + w->n, p, n);
	w->n += n;
}

void wire_put(struct wire_out *w, uint64_t v)
{
	put_bytes(w, &v, sizeof v);
}

void wire_put_double(struct wire_out *w, double v)
{
	put_bytes(w, &v, sizeof v);
}

void wire_put_text(struct wire_out *w, const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;

	wire_put(w, n);
	put_bytes(w, s, n);
}

void wire_free(struct wire_out *w)
{
	mem_free(w->data);
	*w = (struct wire_out){ 0 };
}

static const void *get_bytes(struct wire_in *w, uint64_t n)
{
	const uint8_t *p = w->data + w->at;

	if (w->bad || n > w->n - w->at) {
		w->bad = true;
		return NULL;
	}
	w->at += n;
	return p;
}

uint64_t wire_get(struct wire_in *w)
{
	const void *p = get_bytes(w, sizeof(uint64_t));
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof v);
	return v;
}

double wire_get_double(struct wire_in *w)
{
	const void *p = get_bytes(w, sizeof(double));
	double v = 0;

	if (p)
		memcpy(&v, p, sizeof v);
	return v;
}

const char *wire_get_text(struct wire_in *w)
{
	uint64_t n = wire_get(w);
	const char *s = n ? get_bytes(w, n) : NULL;

	if (s && s[n - 1])
		w->bad = true;
	return w->bad ? NULL : s;
}

int wire_get_count(struct wire_in *w, size_t least_bytes_each)
{
	uint64_t n = wire_get(w);

	if (w->bad || n > (w->n - w->at) / least_bytes_each || n > INT32_MAX) {
		w->bad = true;
		return 0;
	}
	return (int)n;
}

static void put_texts(struct wire_out *w, const char *const *s, int n)
{
	wire_put(w, (uint64_t)n);
	for (int i = 0; i < n; i++)
		wire_put_text(w, s[i]);
}

static const char **get_texts(struct wire_in *w, int *n, struct arena *a)
{
	const char **s;

	*n = wire_get_count(w, sizeof(uint64_t));
	s = arena_array(a, (size_t)*n, sizeof *s);
	for (int i = 0; i < *n; i++)
		s[i] = wire_get_text(w);
	return s;
}

void wire_put_job(struct wire_out *w, const struct job *j)
{
	wire_put_text(w, j->path);
	wire_put(w, j->fd >= 0);
	put_texts(w, j->data, j->ndata);
	wire_put_text(w, j->method);
	wire_put(w, j->engine);
	wire_put(w, (uint64_t)j->threads);
	wire_put(w, (uint64_t)j->warmup);
	wire_put(w, (uint64_t)j->runs);
	wire_put_double(w, j->max_seconds);
	wire_put(w, (uint64_t)j->calls);
	wire_put(w, j->outputs);
	wire_put(w, j->node_times);
	wire_put(w, j->as_meant);
	wire_put(w, j->seed);
	put_texts(w, j->npy, j->nnpy);
	wire_put(w, (uint64_t)j->nshapes);
	for (int i = 0; i < j->nshapes; i++) {
		wire_put(w, (uint64_t)j->shape[i].input);
		wire_put(w, (uint64_t)j->shape[i].rank);
		for (int d = 0; d < MAX_RANK; d++)
			wire_put(w, (uint64_t)j->shape[i].size[d]);
	}
}

static int get_int(struct wire_in *w, int most)
{
	uint64_t v = wire_get(w);

	if (v > (uint64_t)most)
		w->bad = true;
	return w->bad ? 0 : (int)v;
}

static struct input_shape *get_shapes(struct wire_in *w, int *n, struct arena *a)
{
	struct input_shape *s;

	*n = wire_get_count(w, (2 + MAX_RANK) * sizeof(uint64_t));
	s = arena_array(a, (size_t)*n, sizeof *s);
	for (int i = 0; i < *n; i++) {
		s[i].input = get_int(w, INT32_MAX);
		s[i].rank = get_int(w, MAX_RANK);
		for (int d = 0; d < MAX_RANK; d++)
			s[i].size[d] = (int64_t)wire_get(w);
	}
	return s;
}

bool wire_get_job(struct wire_in *w, struct job *j, struct arena *a)
{
	*j = (struct job){ 0 };
	j->path = wire_get_text(w);
	j->fd = get_int(w, 1) - 1;
	j->data = get_texts(w, &j->ndata, a);
	j->method = wire_get_text(w);
	j->engine = (enum engine)get_int(w, ENGINES - 1);
	j->threads = get_int(w, INT32_MAX);
	j->warmup = get_int(w, INT32_MAX);
	j->runs = get_int(w, INT32_MAX);
	j->max_seconds = wire_get_double(w);
	j->calls = get_int(w, INT32_MAX);
	j->outputs = get_int(w, 1);
	j->node_times = get_int(w, 1);
	j->as_meant = get_int(w, 1);
	j->seed = wire_get(w);
	j->npy = get_texts(w, &j->nnpy, a);
	j->shape = get_shapes(w, &j->nshapes, a);
	return !w->bad && j->path && j->method && w->at == w->n;
}

void wire_put_result(struct wire_out *w, const struct job_result *r)
{
	wire_put_double(w, r->setup_ms);
	wire_put_double(w, r->first_ms);
	wire_put_double(w, r->stats.min);
	wire_put_double(w, r->stats.median);
	wire_put_double(w, r->stats.p90);
	wire_put_double(w, r->stats.mean);
	wire_put_double(w, r->stats.sd);
	wire_put(w, (uint64_t)r->stats.runs);
	wire_put(w, (uint64_t)r->noutputs);
	wire_put(w, (uint64_t)r->ncalls);
	wire_put(w, (uint64_t)r->nnodes);
	for (int i = 0; i < r->nnodes; i++) {
		wire_put_text(w, r->node[i].id);
		wire_put_double(w, r->node[i].ms);
	}
	put_texts(w, r->missing, r->nmissing);
}

/* Texts are copied: the message goes. */
bool wire_get_result(struct wire_in *w, struct job_result *r)
{
	r->setup_ms = wire_get_double(w);
	r->first_ms = wire_get_double(w);
	r->stats.min = wire_get_double(w);
	r->stats.median = wire_get_double(w);
	r->stats.p90 = wire_get_double(w);
	r->stats.mean = wire_get_double(w);
	r->stats.sd = wire_get_double(w);
	r->stats.runs = get_int(w, INT32_MAX);
	r->noutputs = get_int(w, INT32_MAX);
	r->ncalls = get_int(w, INT32_MAX);
	r->nnodes = wire_get_count(w, 2 * sizeof(uint64_t));
	r->node = arena_array(&r->mem, (size_t)r->nnodes, sizeof *r->node);
	for (int i = 0; i < r->nnodes; i++) {
		r->node[i].id = arena_string(&r->mem, wire_get_text(w));
		r->node[i].ms = wire_get_double(w);
		if (!r->node[i].id)
			w->bad = true;
	}
	r->missing = get_texts(w, &r->nmissing, &r->mem);
	for (int i = 0; i < r->nmissing; i++)
		r->missing[i] = r->missing[i] ? arena_string(&r->mem, r->missing[i]) : "";
	return !w->bad && w->at == w->n;
}
