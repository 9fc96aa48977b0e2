#include "core/program/meant.h"

#include "core/op/op.h"
#include "core/program/lift.h"

/* Element i in logical order, where it lies. */
static size_t place(const struct value *v, int64_t i)
{
	int64_t index[MAX_RANK], at = 0;

	for (int d = v->rank - 1; d >= 0; d--) {
		index[d] = i % v->size[d];
		i /= v->size[d];
	}
	for (int d = 0; d < v->rank; d++)
		at = at * v->size[v->dim_order[d]] + index[v->dim_order[d]];
	return (size_t)at;
}

static bool same_numbers(const struct value *a, const struct value *b)
{
	bool varied = false;	/* zeros, say, prove nothing */
	double first;

	if (a->dtype != b->dtype || !value_same_shape(a, b) || !a->bytes)
		return false;
	first = dtype_get(a->dtype, a->data, 0);
	for (int64_t i = 0, n = dtype_numel(a->rank, a->size); i < n; i++) {
		double x = dtype_get(a->dtype, a->data, place(a, i));

		if (!(x == dtype_get(b->dtype, b->data, place(b, i))))
			return false;
		varied |= x != first;
	}
	return varied;
}

static bool *written_slots(struct graph *const *method, int nmethods, int nslots, struct arena *a)
{
	bool *written = arena_array(a, (size_t)nslots + 1, sizeof *written);

	for (int m = 0; m < nmethods; m++)
		for (const struct node *n = method[m]->first; n; n = n->next) {
			const struct value *v = n->op->flags & OP_MUTATES ? node_input(n, 0) : NULL;

			if (v && v->kind == VALUE_STATE && v->state_slot >= 0 && v->state_slot < nslots)
				written[v->state_slot] = true;
		}
	return written;
}

struct buffers buffers_written(const struct graph *g, struct graph *const *method, int nmethods, struct arena *a)
{
	struct arena scratch = { 0 };
	struct buffers b = { 0 };
	const bool *written;
	int nslots = 0;

	for (int i = 0; i < g->nvalues; i++)
		nslots = g->value[i]->state_slot >= nslots ? g->value[i]->state_slot + 1 : nslots;
	written = written_slots(method, nmethods, nslots, &scratch);
	for (int i = 0; i < g->nvalues; i++) {
		struct value *v = g->value[i];

		if (v->kind == VALUE_STATE && v->data && v->state_slot >= 0 && written[v->state_slot])
			vec_push(a, &b, v);
	}
	arena_free(&scratch);
	return b;
}

struct value *weight_buffer(const struct buffers *b, const struct value *w)
{
	if (!w || w->kind != VALUE_CONSTANT || !w->data || !dtype_is_float(w->dtype))
		return NULL;
	for (int i = 0; i < b->n; i++)
		if (same_numbers(w, b->at[i]))
			return b->at[i];
	return NULL;
}

struct graph *program_as_meant(struct program *p, int plan, struct error *err)
{
	struct graph *g = lift_method_as_meant(p, plan, err);
	struct arena scratch = { 0 };
	struct buffers b = { 0 };

	if (g)
		b = buffers_written(g, p->method, p->nmethods, &scratch);
	for (struct node *n = g ? g->first : NULL; n; n = n->next) {
		int at = n->group >= 0 && n->op->flags & OP_GEMM ? op_weight_arg(n->op) : -1;
		struct value *v = at < 0 ? NULL : weight_buffer(&b, node_input(n, at));

		if (v)
			graph_set_arg(g, n, at, arg_value(v));
	}
	arena_free(&scratch);
	return g;
}
