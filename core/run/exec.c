#include "core/run/exec_parts.h"

#include "core/op/loop.h"
#include "core/pass/partition.h"

#include <string.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Opening */

static struct step *add_step(struct exec *e, const struct node *n)
{
	struct step *s = &e->step[e->nsteps++];
	char *id = arena_alloc(&e->mem, WHERE_BYTES);

	*s = (struct step){ .node = n, .id = id };
	node_id(e->graph, n, id, WHERE_BYTES);
	if (e->option.where)
		memcpy(e->option.where, id, WHERE_BYTES);
	return s;
}

static bool add_unit(struct exec *e, const struct unit *u, struct error *err)
{
	bool made = false;

	if (u->group >= 0 && e->option.engine != ENGINE_PORTABLE) {
		struct step *s = add_step(e, u->node[0]);

		if (!exec_open_group(e, u, s, &made, err))
			return false;
		if (!made)
			e->nsteps--;
	}
	for (int i = 0; !made && i < u->nnodes; i++)
		add_step(e, u->node[i]);
	return true;
}

static bool make_steps(struct exec *e, struct error *err)
{
	struct units units;

	if (!graph_units(&units, e->graph, NULL, &e->mem, err))
		return false;
	e->step = arena_array(&e->mem, (size_t)e->graph->nnodes + 1, sizeof *e->step);
	for (int i = 0; i < units.n; i++)
		if (!add_unit(e, &units.at[i], err))
			return false;
	return true;
}

/* A weight that lies in another order than kernels work in, as raised filters do, is put into order once. */
static bool order_weight(struct exec *e, struct step *s, struct tensor **ordered, struct error *err)
{
	int arg = op_weight_arg(s->node->op);
	const struct value *v = node_input(s->node, arg);
	struct tensor *t;

	if (!v || v->kind != VALUE_CONSTANT || value_is_default_order(v) || !dtype_bytes(v->dtype))
		return true;
	if (!ordered[v->id]) {
		t = ordered[v->id] = arena_alloc(&e->mem, sizeof *t);
		tensor_set_type(t, v->dtype, v->rank, v->size);
		t->capacity = v->bytes;
		if (!(t->data = arena_try(&e->mem, v->bytes + OVER_READ)))
			return exec_no_memory(e, v->bytes, err);
		tensor_copy(t, e->tensor[v->id]);
	}
	s->call.arg[arg].tensor = ordered[v->id];
	return true;
}

static bool bind_steps(struct exec *e, struct error *err)
{
	struct tensor **ordered = arena_array(&e->mem, (size_t)e->graph->nvalues, sizeof *ordered);

	for (int i = 0; i < e->nsteps; i++) {
		struct step *s = &e->step[i];

		if (!s->live && (!exec_bind(s, e->graph, e->tensor, &e->mem, err) || !order_weight(e, s, ordered, err)))
			return false;
		s->call.seed = &e->seed;
		map_put(&e->step_of, &e->mem, &s->node, sizeof s->node, s);
		for (int k = 0; s->live && k < s->nargs; k++)
			if (s->value[k])
				s->arg[k] = e->tensor[s->value[k]->id];
	}
	return true;
}

static bool partition_own(struct exec *e, struct error *err)
{
	e->own = graph_clone(e->graph);
	e->graph = e->own;
	return partition_apply(e->own, err);
}

static bool open_exec(struct exec *e, struct error *err)
{
	if (e->graph->rigid)
		return error_set(err, ERROR_UNSUPPORTED, "%s cannot run here: %s", e->graph->method, e->graph->rigid_why);
	if (e->option.engine == ENGINE_XNNPACK && !partition_own(e, err))
		return false;
	if (!make_steps(e, err) || !exec_plan(e, err) || !bind_steps(e, err))
		return false;
	if (e->option.where)
		memset(e->option.where, 0, WHERE_BYTES);
	e->seed = e->option.seed;
	return true;
}

bool exec_open(struct exec **out, const struct program *p, const struct graph *g, const struct exec_options *o,
	       struct error *err)
{
	struct exec *e = mem_alloc(sizeof *e);

	e->program = p;
	e->graph = g;
	e->option = *o;
	if (!open_exec(e, err)) {
		exec_close(e);
		return false;
	}
	*out = e;
	return true;
}

void exec_reset(struct exec *e)
{
	exec_state_reset(e->state);
	e->seed = e->option.seed;
}

void exec_close(struct exec *e)
{
	if (!e)
		return;
	exec_close_groups(e);
	graph_free(e->own);
	exec_state_free(e->own_state);
	arena_free(&e->scratch);
	arena_free(&e->mem);
	mem_free(e);
}

/* Running */

static bool input_fits(const struct value *v, const struct tensor *t)
{
	if (t->dtype != v->dtype || t->rank != v->rank)
		return false;
	for (int d = 0; d < t->rank; d++)
		if (t->size[d] < 0 || t->size[d] > v->size[d] || (!v->dynamic && t->size[d] != v->size[d]))
			return false;
	return true;
}

static bool wrong_input(const struct exec *e, int i, const struct tensor *t, struct error *err)
{
	struct str got = { 0 }, want = { 0 };

	if (t)
		tensor_type_print(t, &got);
	value_type_print(e->graph->input[i], &want);
	error_set(err, ERROR_RUN, "%s: input %d is %s, the program takes %s", e->graph->method, i, t ? got.text : "missing",
		  str_text(&want));
	str_free(&got);
	str_free(&want);
	return false;
}

static double literal_number(const struct arg *a)
{
	return a->kind == ARG_DOUBLE ? a->d : a->kind == ARG_BOOL ? a->b : (double)a->i;
}

/* The runtime takes no other number than the one in the file. */
static bool take_number(struct exec *e, int i, const struct tensor *given, struct error *err)
{
	const struct arg *a = &e->graph->input_literal[i];
	struct tensor *t = e->tensor[e->graph->input[i]->id];

	if (given && (given->rank || dtype_get(given->dtype, given->data, 0) != literal_number(a)))
		return error_set(err, ERROR_RUN, "%s: input %d must be %g", e->graph->method, i, literal_number(a));
	if (a->kind == ARG_INT && t->dtype == DTYPE_I64)
		*(int64_t *)t->data = a->i;
	else
		dtype_put(t->dtype, t->data, 0, literal_number(a));
	return true;
}

static bool take_input(struct exec *e, int i, const struct tensor *given, struct error *err)
{
	const struct value *v = e->graph->input[i];
	enum arg_kind literal = e->graph->input_literal[i].kind;
	struct tensor *t;

	if (!v || literal == ARG_STRING)
		return true;
	if (literal != ARG_NONE)
		return take_number(e, i, given, err);
	if (!given || !input_fits(v, given))
		return wrong_input(e, i, given, err);
	t = e->tensor[v->id];
	memcpy(t->size, given->size, sizeof t->size);
	tensor_set_strides(t);
	if (!memcmp(t->dim_order, given->dim_order, (size_t)t->rank)) {
		size_t bytes = 0;

		dtype_tensor_bytes(t->dtype, t->rank, t->size, &bytes);
		if (bytes)
			memcpy(t->data, given->data, bytes);
	} else {
		tensor_copy(t, given);
	}
	return true;
}

static bool run_step(struct exec *e, struct step *s, struct error *err)
{
	if (s->live)
		return exec_run_group(e, s, err);
	if (!exec_call(s, &e->scratch, err))
		return false;
	arena_reset(&e->scratch);
	return true;
}

static bool failed_at(const struct step *s, const struct error *why, struct error *err)
{
	return error_set(err, why->code, "%s: %s", s->id, why->text);
}

static bool run_steps(struct exec *e, struct error *err)
{
	struct error why = { 0 };

	for (int i = 0; i < e->nsteps; i++) {
		struct step *s = &e->step[i];
		uint64_t t = e->option.time_nodes ? now_ns() : 0;

		if (e->option.where)
			memcpy(e->option.where, s->id, WHERE_BYTES);
		if (!run_step(e, s, &why))
			return failed_at(s, &why, err);
		if (e->option.time_nodes)
			s->ns = now_ns() - t;
	}
	if (e->option.where)
		memset(e->option.where, 0, WHERE_BYTES);
	return true;
}

bool exec_run(struct exec *e, struct tensor *const *input, int ninputs, struct error *err)
{
	if (ninputs != e->graph->ninputs)
		return error_set(err, ERROR_RUN, "%s: %d inputs given, the program takes %d", e->graph->method, ninputs,
				 e->graph->ninputs);
	for (int i = 0; i < ninputs; i++)
		if (!take_input(e, i, input[i], err))
			return false;
	return run_steps(e, err);
}

/* Looking */

const struct tensor *exec_output(const struct exec *e, int i)
{
	const struct arg *a = &e->graph->output[i];

	if (a->kind == ARG_VALUE)
		return e->tensor[a->value->id];
	return e->literal[i].data ? &e->literal[i] : NULL;
}

int exec_noutputs(const struct exec *e)
{
	return e->graph->noutputs;
}

const struct graph *exec_graph(const struct exec *e)
{
	return e->graph;
}

uint64_t exec_node_ns(const struct exec *e, const struct node *n)
{
	const struct step *s = map_get(&e->step_of, &n, sizeof n);

	return s ? s->ns : 0;
}

int exec_nmissing(const struct exec *e)
{
	return e->missing.n;
}

const char *exec_missing(const struct exec *e, int i)
{
	return e->missing.at[i];
}
