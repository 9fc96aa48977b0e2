#include "core/session/weights.h"

#include "core/base/map.h"
#include "core/base/same.h"

#include <math.h>
#include <string.h>

enum { FEW_NUMBERS = 64, FEW_BYTES = 1024 };

/* The largest magnitude of a row of whole numbers; < 0: some are none. */
static double row_range(const struct value *w, int64_t row)
{
	double most = 0;

	for (int64_t i = 0; i < w->size[1]; i++) {
		double x = dtype_get(w->dtype, w->data, (size_t)(row * w->size[1] + i));

		if (!(fabs(x) <= 128 && x == floor(x)))
			return -1;
		most = fmax(most, fabs(x));
	}
	return most;
}

bool weight_is_quantized(const struct value *w)
{
	double least = 128, most = 0;

	if (w->kind != VALUE_CONSTANT || !w->data || w->dtype != DTYPE_F32 || w->rank != 2 || !value_is_default_order(w) ||
	    w->size[0] < 2 || dtype_numel(2, w->size) < FEW_NUMBERS)
		return false;
	for (int64_t r = 0; r < w->size[0]; r++) {
		double range = row_range(w, r);

		if (range < 0)
			return false;
		if (range > 0) {
			least = fmin(least, range);
			most = fmax(most, range);
		}
		if (most > 0 && !(least >= 127 || (least >= 7 && most <= 8)))
			return false;
	}
	return most > 0;
}

/* Stored twice */

struct seen {
	const struct value *v;
	const struct graph *g;
	const struct node *reader;
};

struct looking {
	const struct program *p;
	struct arena *mem, scratch;
	struct map at;			/* bytes that were looked at */
	struct same same;		/* of bytes -> struct seen */
	const struct graph *g;
	const struct node *n;
	bool counts;
	vec(struct stored_twice) found;
};

static bool lies_in(const struct file *f, const struct value *v)
{
	return f->data && (uintptr_t)v->data >= (uintptr_t)f->data && (uintptr_t)v->data - (uintptr_t)f->data < f->bytes;
}

static bool is_filed(const struct program *p, const struct value *v)
{
	bool filed = lies_in(&p->file, v);

	for (int i = 0; i < p->ndata; i++)
		filed |= lies_in(&p->data_file[i], v);
	return filed;
}

static void look_at_constant(struct value *v, void *ctx)
{
	struct looking *l = ctx;
	const struct seen *first;
	struct seen *seen;

	if (v->kind != VALUE_CONSTANT || !v->data || v->bytes < FEW_BYTES || !is_filed(l->p, v) ||
	    map_get(&l->at, &v->data, sizeof v->data))
		return;
	map_put(&l->at, &l->scratch, arena_copy(&l->scratch, &v->data, sizeof v->data), sizeof v->data, v);
	seen = arena_alloc(&l->scratch, sizeof *seen);
	*seen = (struct seen){ v, l->g, l->n };
	first = same_find(&l->same, v->data, v->bytes, seen);
	if (first && l->counts)
		vec_push(l->mem, &l->found, ((struct stored_twice){ v, first->v, l->n, first->reader, first->g }));
}

struct stored_twice *weights_stored_twice(const struct program *p, struct graph *const *method, int at, struct arena *a,
					  int *n)
{
	struct looking l = { .p = p, .mem = a };

	l.same.mem = &l.scratch;
	for (int m = 0; m <= at; m++) {
		l.g = method[m];
		l.counts = m == at;
		for (l.n = l.g->first; l.n; l.n = l.n->next)
			node_each_input(l.n, look_at_constant, &l);
	}
	arena_free(&l.scratch);
	*n = l.found.n;
	return l.found.at;
}
