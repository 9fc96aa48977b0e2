#include "core/run/input.h"

#include "core/base/map.h"
#include "core/format/npy.h"
#include "core/op/loop.h"

#include <math.h>
#include <string.h>

/* Random numbers: splitmix64 (Steele, Lea and Flood, 2014), one stream an input. */

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double uniform(uint64_t *state)	/* in (0, 1] */
{
	return (double)((next(state) >> 11) + 1) * 0x1p-53;
}

static double normal(uint64_t *state)
{
	double r = sqrt(-2 * log(uniform(state)));

	return r * cos(2 * 3.14159265358979323846 * uniform(state));
}

/* The table that an integer input indexes: followed through operators that only move numbers about. */

struct walk {
	struct arena mem;
	struct map seen;
	vec(const struct value *) stack;
	int64_t bound;		/* INT64_MAX: indexes nothing */
};

static bool only_moves(const struct op *op)
{
	static const char *const names[] = {
		"aten.permute_copy.default", "aten.expand_copy.default", "aten.slice_copy.Tensor", "aten.select_copy.int",
		"aten.clone.default", "aten.cat.default", "aten.repeat.default", "aten.flip.default", "aten.split_copy.Tensor",
		"aten.split_with_sizes_copy.default", "aten.unbind_copy.int", "dim_order_ops._to_dim_order_copy.default",
		"dim_order_ops._clone_dim_order.default", "aten._to_copy.default", NULL,
	};

	for (const char *const *n = names; *n; n++)
		if (op_is(op, *n))
			return true;
	return op->flags & OP_VIEW;
}

static void bounded_by(struct walk *w, const struct value *table, int64_t dim)
{
	dim += dim < 0 ? table->rank : 0;
	if (dim >= 0 && dim < table->rank && table->size[dim] < w->bound)
		w->bound = table->size[dim];
}

/* Every operator that indexes calls its table "self" or "weight" and its positions "index" or "indices". */
static void look_at_use(struct walk *w, const struct node *n, const struct value *v)
{
	int table = op_arg(n->op, "weight") >= 0 ? op_arg(n->op, "weight") : op_arg(n->op, "self");
	int index = op_arg(n->op, "indices") >= 0 ? op_arg(n->op, "indices") : op_arg(n->op, "index");

	if (index >= 0 && index < n->nargs && node_input(n, table)) {
		const struct arg *a = &n->arg[index];

		if (a->kind == ARG_VALUE && a->value == v)
			bounded_by(w, node_input(n, table), node_int(n, op_arg(n->op, "dim"), 0));
		for (int k = 0; a->kind == ARG_LIST && k < a->list.n; k++)
			if (a->list.at[k].kind == ARG_VALUE && a->list.at[k].value == v)
				bounded_by(w, node_input(n, table), k);
	}
	if (!only_moves(n->op))
		return;
	for (int i = 0; i < n->nouts; i++)
		if (!map_get(&w->seen, &n->out[i]->id, sizeof n->out[i]->id)) {
			map_put(&w->seen, &w->mem, &n->out[i]->id, sizeof n->out[i]->id, n->out[i]);
			vec_push(&w->mem, &w->stack, n->out[i]);
		}
}

static int64_t index_bound(const struct value *v)
{
	struct walk w = { .bound = INT64_MAX };

	vec_push(&w.mem, &w.stack, v);
	while (w.stack.n) {
		const struct value *at = w.stack.at[--w.stack.n];

		for (int i = 0; i < at->nuses; i++)
			look_at_use(&w, at->use[i].node, at);
	}
	arena_free(&w.mem);
	return w.bound;
}

static int64_t largest(enum dtype t)
{
	return t == DTYPE_I8 || t == DTYPE_QI8 ? INT8_MAX : t == DTYPE_U8 || t == DTYPE_QU8 ? UINT8_MAX :
	       t == DTYPE_I16 ? INT16_MAX : INT32_MAX;
}

static void fill_random(struct tensor *t, const struct value *v, uint64_t seed)
{
	size_t n = (size_t)tensor_numel(t);
	bool real = dtype_is_float(t->dtype);
	int64_t bound = dtype_is_int(t->dtype) ? index_bound(v) : 2;

	if (bound == INT64_MAX)
		bound = 2;
	if (bound < 1)
		bound = 1;
	if (bound > largest(t->dtype))
		bound = largest(t->dtype);
	for (size_t i = 0; i < n; i++)
		dtype_put(t->dtype, t->data, i, real ? normal(&seed) : (double)(next(&seed) % (uint64_t)bound));
}

/* One input */

struct making {
	const struct graph *g;
	struct arena *mem;
	struct error *err;
	int input;
};

static bool wrong(const struct making *m, const char *path, const struct tensor *t)
{
	struct str got = { 0 }, want = { 0 };

	tensor_type_print(t, &got);
	value_type_print(m->g->input[m->input], &want);
	error_set(m->err, ERROR_RUN, "%s: input %d: %s%s %s, the program takes %s", m->g->method, m->input,
		  path ? path : str_text(&got), path ? " holds" : "", path ? str_text(&got) : "asked for", str_text(&want));
	str_free(&got);
	str_free(&want);
	return false;
}

static bool sizes_fit(const struct making *m, int rank, const int64_t *size)
{
	const struct value *v = m->g->input[m->input];

	for (int d = 0; d < v->rank && rank == v->rank; d++)
		if (size[d] < 0 || size[d] > v->size[d] || (!v->dynamic && size[d] != v->size[d]))
			return false;
	return rank == v->rank;
}

static bool give_memory(const struct making *m, struct tensor *t)
{
	/* XNNPACK may read a little past the end of what it is given. */
	if (dtype_tensor_bytes(t->dtype, t->rank, t->size, &t->capacity) &&
	    (t->data = arena_try(m->mem, t->capacity + 128)))
		return true;
	return error_set(m->err, ERROR_MEMORY, "%s: input %d does not fit in memory", m->g->method, m->input);
}

static bool from_array(const struct making *m, const char *path, const struct npy *a, struct tensor *t)
{
	struct tensor src = { 0 };

	tensor_set_type(&src, a->dtype, a->rank, a->size);
	if (a->dtype != t->dtype || !sizes_fit(m, a->rank, a->size))
		return wrong(m, path, &src);
	memcpy(t->size, a->size, sizeof t->size);
	tensor_set_strides(t);
	if (!give_memory(m, t) || !give_memory(m, &src))
		return false;
	memcpy(src.data, a->data, src.capacity);	/* in the file it may lie at any address */
	tensor_copy(t, &src);
	return true;
}

/* The number or string that the file demands. */
static bool from_literal(const struct making *m, struct tensor *t)
{
	const struct arg *a = &m->g->input_literal[m->input];

	if (!give_memory(m, t))
		return false;
	if (a->kind == ARG_INT && t->dtype == DTYPE_I64)
		*(int64_t *)t->data = a->i;
	else
		dtype_put(t->dtype, t->data, 0, a->kind == ARG_DOUBLE ? a->d : a->kind == ARG_BOOL ? a->b : (double)a->i);
	return true;
}

static bool from_file(const struct making *m, const char *path, struct tensor *t)
{
	struct file f;
	struct npy a;
	bool ok;

	if (!file_open(&f, path, m->err))
		return false;
	ok = npy_read(&a, &f, m->err) && from_array(m, path, &a, t);
	file_close(&f);
	return ok;
}

static bool at_random(const struct making *m, const struct input_shape *shape, int nshapes, uint64_t seed,
		      struct tensor *t)
{
	struct tensor asked = { 0 };

	for (int k = 0; k < nshapes; k++) {
		if (shape[k].input != m->input)
			continue;
		tensor_set_type(&asked, t->dtype, shape[k].rank, shape[k].size);
		if (!sizes_fit(m, asked.rank, asked.size))
			return wrong(m, NULL, &asked);
		memcpy(t->size, shape[k].size, sizeof t->size);
		tensor_set_strides(t);
	}
	if (!give_memory(m, t))
		return false;
	fill_random(t, m->g->input[m->input], seed ^ (uint64_t)m->input << 32);
	return true;
}

bool input_make(struct tensor ***out, const struct graph *g, const char *const *npy, int nnpy,
		const struct input_shape *shape, int nshapes, uint64_t seed, struct arena *a, struct error *err)
{
	struct making m = { g, a, err, 0 };

	if (nnpy > g->ninputs)
		return error_set(err, ERROR_RUN, "%s: %d input files given, the program takes %d", g->method, nnpy, g->ninputs);
	for (int k = 0; k < nshapes; k++)
		if (shape[k].input < 0 || shape[k].input >= g->ninputs)
			return error_set(err, ERROR_RUN, "%s: no input %d to give a size to", g->method, shape[k].input);
	*out = arena_array(a, (size_t)g->ninputs, sizeof **out);
	for (; m.input < g->ninputs; m.input++) {
		const struct value *v = g->input[m.input];
		enum arg_kind literal = g->input_literal[m.input].kind;
		const char *path = m.input < nnpy ? npy[m.input] : NULL;
		struct tensor *t;

		if (!v || literal == ARG_STRING)
			continue;	/* there is nothing to give */
		t = (*out)[m.input] = arena_alloc(a, sizeof *t);
		tensor_set_type(t, v->dtype, v->rank, v->size);
		memcpy(t->dim_order, v->dim_order, sizeof t->dim_order);
		tensor_set_strides(t);
		if (path ? !from_file(&m, path, t) : literal != ARG_NONE ? !from_literal(&m, t) :
		    !at_random(&m, shape, nshapes, seed, t))
			return false;
	}
	return true;
}
