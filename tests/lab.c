#include "tests/lab.h"

#include "core/xnn/live.h"
#include "tests/tap.h"

#include <math.h>

struct lab *lab_new(void)
{
	struct lab *lab = mem_alloc(sizeof *lab);

	lab->g = graph_new("forward");
	lab->seed = 12345;
	return lab;
}

void lab_free(struct lab *lab)
{
	graph_free(lab->g);
	mem_free(lab);
}

static double draw(struct lab *lab, double low, double high)
{
	lab->seed = lab->seed * 1664525u + 1013904223u;
	return low + (high - low) * (lab->seed >> 8) / (double)(1 << 24);
}

struct value *lab_input(struct lab *lab, enum dtype t, int rank, const int64_t *size)
{
	struct value *v = graph_value(lab->g, VALUE_INPUT, t, rank, size);

	graph_add_input(lab->g, v, arg_none());
	return v;
}

struct value *lab_constant(struct lab *lab, enum dtype t, double low, double high, int rank, const int64_t *size)
{
	struct value *v = graph_value(lab->g, VALUE_CONSTANT, t, rank, size);
	void *data = arena_alloc(&lab->g->mem, v->bytes + 16);

	for (int64_t i = 0; i < dtype_numel(rank, size); i++)
		dtype_put(t, data, (size_t)i, dtype_is_float(t) ? draw(lab, low, high) : floor(draw(lab, low, high)));
	v->data = data;
	v->name = arena_printf(&lab->g->mem, "constant%d", v->id);
	return v;
}

struct value *lab_numbers(struct lab *lab, enum dtype t, const double *number, int rank, const int64_t *size)
{
	struct value *v = lab_constant(lab, t, 0, 0, rank, size);

	for (int64_t i = 0; i < dtype_numel(rank, size); i++)
		dtype_put(t, (void *)(uintptr_t)v->data, (size_t)i, number[i]);
	return v;
}

void lab_order(struct value *v, const char *order)
{
	for (int d = 0; d < v->rank; d++)
		v->dim_order[d] = (uint8_t)(order[d] - '0');
}

struct value *lab_make(struct lab *lab, const char *op, const struct arg *arg, int n)
{
	struct error err = { 0 };
	struct value *v = op_build(lab->g, NULL, op, arg, n, &err);

	if (!v && !lab->lenient)
		fail_msg("%s: %s", op, err.text);
	return v;
}

void lab_output(struct lab *lab, struct value *v)
{
	graph_add_output(lab->g, arg_value(v));
}

/* The portable run */

struct run { struct lab *lab; struct arena mem; struct tensor **tensor; double scale; };

static struct tensor *tensor_new(struct run *r, const struct value *v, const int64_t *size)
{
	struct tensor *t = arena_alloc(&r->mem, sizeof *t);
	size_t bytes;

	tensor_set_type(t, v->dtype, v->rank, size);
	memcpy(t->dim_order, v->dim_order, sizeof t->dim_order);
	tensor_set_strides(t);
	assert_true(dtype_tensor_bytes(t->dtype, t->rank, t->size, &bytes));
	t->capacity = bytes + 16;
	t->data = arena_alloc(&r->mem, t->capacity);
	return t;
}

static struct tensor *tensor_of(struct run *r, struct value *v)
{
	struct tensor *t = r->tensor[v->id];
	int64_t size[MAX_RANK];

	if (t)
		return t;
	memcpy(size, v->size, sizeof size);
	if (v->dynamic && v->kind == VALUE_INPUT)
		size[0] = (int64_t)ceil((double)size[0] * r->scale);
	t = r->tensor[v->id] = tensor_new(r, v, size);
	if (v->kind == VALUE_CONSTANT)
		memcpy(t->data, v->data, v->bytes);
	else if (v->kind == VALUE_INPUT)
		for (int64_t i = 0; i < tensor_numel(t); i++)
			dtype_put(t->dtype, t->data, (size_t)i, dtype_is_float(t->dtype) ? draw(r->lab, -2, 2) :
									 floor(draw(r->lab, -100, 100)));
	return t;
}

static struct operand operand_of(struct run *r, const struct arg *a)
{
	struct operand o = { .kind = a->kind };

	if (a->kind == ARG_VALUE) {
		o.tensor = tensor_of(r, a->value);
	} else if (a->kind == ARG_LIST) {
		o.list.n = a->list.n;
		o.list.at = arena_array(&r->mem, (size_t)a->list.n + 1, sizeof *o.list.at);
		for (int i = 0; i < a->list.n; i++)
			o.list.at[i] = operand_of(r, &a->list.at[i]);
	} else if (a->kind == ARG_DOUBLE) {
		o.d = a->d;
	} else if (a->kind == ARG_BOOL) {
		o.b = a->b;
	} else if (a->kind == ARG_STRING) {
		o.s = a->s;
	} else {
		o.i = a->i;
	}
	return o;
}

static void run_node(struct run *r, struct node *n)
{
	struct call c = { .op = n->op, .nargs = n->nargs, .nouts = n->nouts, .scratch = &r->mem, .seed = &(uint64_t){ 1 } };
	struct error err = { 0 };

	c.arg = arena_array(&r->mem, (size_t)n->nargs + 1, sizeof *c.arg);
	c.out = arena_array(&r->mem, (size_t)n->nouts + 1, sizeof *c.out);
	for (int i = 0; i < n->nargs; i++)
		c.arg[i] = operand_of(r, &n->arg[i]);
	for (int i = 0; i < n->nouts; i++)
		c.out[i] = tensor_of(r, n->out[i]);
	if (!n->op->shape(&c, &err) || !n->op->kernel || !n->op->kernel(&c, &err))
		fail_msg("%s: %s", n->op->name, err.text);
}

static double element(const struct tensor *t, int64_t i)
{
	int64_t at = 0;

	for (int d = t->rank - 1; d >= 0; d--) {
		at += i % t->size[d] * t->stride[d];
		i /= t->size[d];
	}
	return dtype_get(t->dtype, t->data, (size_t)at);
}

static double difference(const struct tensor *got, const struct tensor *want)
{
	double worst = 0;

	assert_int_equal(got->rank, want->rank);
	for (int d = 0; d < got->rank; d++)
		assert_int_equal(got->size[d], want->size[d]);
	for (int64_t i = 0; i < tensor_numel(want); i++) {
		double a = element(got, i), b = element(want, i);

		if (a == b || (isnan(a) && isnan(b)))
			continue;
		worst = fmax(worst, isnan(a) || isnan(b) ? INFINITY : fabs(a - b) / fmax(1, fabs(b)));
	}
	return worst;
}

bool lab_lower(struct lab *lab, struct xlowered *low, int group, struct error *err)
{
	struct unit u = { group, arena_array(&lab->g->mem, (size_t)lab->g->nnodes, sizeof *u.node), 0, 0 };

	for (struct node *n = lab->g->first; n; n = n->next)
		if (n->group == group)
			u.node[u.nnodes++] = n;
	return xnn_lower(low, lab->g, &u, &lab->g->mem, err);
}

double lab_run(struct lab *lab, struct xlowered *low, double scale)
{
	struct run r = { .lab = lab, .scale = scale };
	int group = graph_add_group(lab->g, -1);
	struct live_pool *pool;
	struct live *live;
	struct xlowered own;
	struct error err = { 0 };
	struct tensor **arg;
	double worst = 0;

	low = low ? low : &own;
	r.tensor = arena_array(&r.mem, (size_t)lab->g->nvalues, sizeof *r.tensor);
	for (struct node *n = lab->g->first; n; n = n->next) {
		n->group = group;
		run_node(&r, n);
	}
	if (!graph_check(lab->g, &err) || !lab_lower(lab, low, group, &err) || !live_supports(&low->graph, NULL, &err) ||
	    !live_pool_open(&pool, 1, &err) || !live_open(&live, &low->graph, pool, false, &err))
		fail_msg("%s", err.text);
	arg = arena_array(&r.mem, (size_t)low->nargs, sizeof *arg);
	for (int i = 0; i < low->nargs; i++)
		arg[i] = i < low->ninputs ? tensor_of(&r, low->arg[i]) : tensor_new(&r, low->arg[i], low->arg[i]->size);
	for (int times = 0; times < 2; times++)		/* the second run has nothing to set up */
		if (!live_run(live, arg, low->nargs, &err))
			fail_msg("%s", err.text);
	for (int i = low->ninputs; i < low->nargs; i++) {
		double d = difference(arg[i], tensor_of(&r, low->arg[i]));

		if (d > 1e-2)
			print_message("# %s is off by %g\n", low->arg[i]->def->op->name, d);
		worst = fmax(worst, d);
	}
	live_close(live);
	live_pool_close(pool);
	arena_free(&r.mem);
	return worst;
}

int lab_count(const struct xlowered *low, enum xtag tag)
{
	int n = 0;

	for (int i = 0; i < low->graph.nnodes; i++)
		n += low->graph.node[i].tag == tag;
	return n;
}
