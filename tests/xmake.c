#include "tests/xmake.h"

#include "core/pass/transposes.h"
#include "core/run/exec.h"
#include "core/xnn/live.h"
#include "core/xnn/raise.h"
#include "tests/tap.h"

#include <math.h>

enum { MOST = 64 };

struct xmake *xmake_new(void)
{
	struct xmake *m = mem_alloc(sizeof *m);

	m->x.value = arena_array(&m->mem, MOST, sizeof *m->x.value);
	m->x.node = arena_array(&m->mem, MOST, sizeof *m->x.node);
	m->seed = 4711;
	return m;
}

void xmake_free(struct xmake *m)
{
	graph_free(m->g);
	arena_free(&m->mem);
	mem_free(m);
}

struct xvalue *xmake_inner(struct xmake *m, enum xdatatype t, int rank, const uint32_t *dim)
{
	struct xvalue *v = &m->x.value[m->x.nvalues];

	assert_true(m->x.nvalues < MOST);
	*v = (struct xvalue){ .id = (uint32_t)m->x.nvalues++, .datatype = t, .rank = rank, .external_id = XNONE };
	memcpy(v->dim, dim, (size_t)rank * sizeof *dim);
	return v;
}

static struct xvalue *external(struct xmake *m, uint32_t flag, enum xdatatype t, int rank, const uint32_t *dim)
{
	struct xvalue *v = xmake_inner(m, t, rank, dim);

	v->flags = flag;
	v->external_id = m->x.nexterns++;
	return v;
}

struct xvalue *xmake_input(struct xmake *m, enum xdatatype t, int rank, const uint32_t *dim)
{
	m->nin++;
	return external(m, XFLAG_INPUT, t, rank, dim);
}

struct xvalue *xmake_output(struct xmake *m, enum xdatatype t, int rank, const uint32_t *dim)
{
	return external(m, XFLAG_OUTPUT, t, rank, dim);
}

static double draw(struct xmake *m, double low, double high)
{
	m->seed = m->seed * 1664525u + 1013904223u;
	return low + (high - low) * (m->seed >> 8) / (double)(1 << 24);
}

static enum dtype dtype_of(enum xdatatype t)
{
	switch (t) {
	case XD_FP32: return DTYPE_F32;
	case XD_FP16: return DTYPE_F16;
	case XD_QINT8: case XD_QCINT8: return DTYPE_I8;
	case XD_QUINT8: case XD_QCINT4: case XD_QBINT4: return DTYPE_U8;
	default: return DTYPE_I32;
	}
}

struct xvalue *xmake_static(struct xmake *m, enum xdatatype t, double low, double high, int rank, const uint32_t *dim)
{
	struct xvalue *v = xmake_inner(m, t, rank, dim);
	bool packed = t == XD_QCINT4 || t == XD_QBINT4;
	enum dtype d = dtype_of(t);
	size_t bytes;
	uint8_t *data;

	assert_true(xvalue_bytes(v, &bytes));
	data = arena_alloc(&m->mem, bytes + 64);
	for (size_t i = 0; i < bytes / dtype_bytes(d); i++)
		dtype_put(d, data, i, packed ? floor(draw(m, 0, 256)) : dtype_is_float(d) ? draw(m, low, high) : floor(draw(m, low, high)));
	v->data = (struct span){ data, bytes };
	return v;
}

void xmake_per_tensor(struct xvalue *v, float scale, int32_t zero_point)
{
	v->quant = XQ_TENSOR;
	v->scale = scale;
	v->zero_point = zero_point;
}

void xmake_per_channel(struct xmake *m, struct xvalue *v, int channel_dim, double low, double high)
{
	float *scale = arena_array(&m->mem, v->dim[channel_dim], sizeof *scale);

	v->quant = XQ_CHANNEL;
	v->channel_dim = channel_dim;
	v->nscales = v->dim[channel_dim];
	for (uint32_t i = 0; i < v->nscales; i++)
		scale[i] = (float)draw(m, low, high);
	v->scales = (struct span){ (const uint8_t *)scale, v->nscales * sizeof *scale };
}

struct xnode *xmake_fields(struct xmake *m, enum xtag tag, int count, const uint32_t *field)
{
	struct xnode *n = &m->x.node[m->x.nnodes++];

	assert_true(m->x.nnodes <= MOST);
	*n = (struct xnode){ .tag = tag, .debug_handle = (uint32_t)m->x.nnodes, .min = -INFINITY, .max = INFINITY };
	for (int i = 0; i < xnode_types[tag].nfields; i++)
		n->field[i] = i < count ? field[i] : xnode_types[tag].field[i].kind == XF_UNUSED ? XNONE : 0;
	return n;
}

uint32_t xmake_list(struct xmake *m, struct xnode *n, int which, int count, const uint32_t *at)
{
	n->list[which].at = arena_copy(&m->mem, at, (size_t)count * sizeof *at);
	n->list[which].n = count;
	return (uint32_t)which;
}

/* ---- raising ---- */

static struct pte_tensor *type_of(struct xmake *m, const struct xvalue *x)
{
	struct pte_tensor *t = arena_alloc(&m->mem, sizeof *t);

	t->dtype = dtype_of(x->datatype);
	t->rank = x->rank;
	t->bytes = dtype_bytes(t->dtype);
	for (int d = 0; d < x->rank; d++) {
		t->size[d] = (int32_t)x->dim[d];
		t->dim_order[d] = (uint8_t)d;
		t->bytes *= x->dim[d];
	}
	return t;
}

static struct value *input_of(struct xmake *m, const struct pte_tensor *t)
{
	int64_t size[MAX_RANK];
	struct value *v;

	for (int d = 0; d < t->rank; d++)
		size[d] = t->size[d];
	v = graph_value(m->g, VALUE_INPUT, t->dtype, t->rank, size);
	graph_add_input(m->g, v, arg_none());
	return v;
}

bool xmake_raise(struct xmake *m, bool tidy, struct error *err)
{
	struct value **arg = arena_array(&m->mem, m->x.nexterns, sizeof *arg);
	const struct pte_tensor **type = arena_array(&m->mem, m->x.nexterns, sizeof *type);
	int group;

	graph_free(m->g);
	m->g = graph_new("forward");
	group = graph_add_group(m->g, 0);
	for (int i = 0; i < m->x.nvalues; i++) {
		const struct xvalue *x = &m->x.value[i];

		if (x->external_id != XNONE)
			type[x->external_id] = type_of(m, x);
		if (x->flags & XFLAG_INPUT)
			arg[x->external_id] = input_of(m, type[x->external_id]);
	}
	if (!xnn_raise(m->g, &m->x, arg, type, (int)m->x.nexterns, group, (struct origin){ .delegate = 0, .dnode = -1 }, false, err))
		return false;
	m->g->group[group].arg = arena_copy(&m->g->mem, arg, m->x.nexterns * sizeof *arg);
	m->g->group[group].nargs = (int)m->x.nexterns;
	if (tidy) {
		assert_true(transposes_apply(m->g, group, err) >= 0);
		xnn_raise_tidy(m->g, group, NULL);
	}
	for (int i = 0; i < (int)m->x.nexterns; i++)
		if (!(i < m->nin))
			graph_add_output(m->g, arg_value(m->g->group[group].arg[i]));
	return true;
}

int xmake_count(const struct xmake *m, const char *op)
{
	int count = 0;

	for (const struct node *n = m->g->first; n; n = n->next)
		count += op_is(n->op, op);
	return count;
}

/* ---- running ---- */

static struct tensor *tensor_of(struct xmake *m, const struct xvalue *x, bool random)
{
	struct tensor *t = arena_alloc(&m->mem, sizeof *t);
	int64_t size[MAX_RANK];

	for (int d = 0; d < x->rank; d++)
		size[d] = x->dim[d];
	tensor_set_type(t, dtype_of(x->datatype), x->rank, size);
	t->capacity = (size_t)tensor_numel(t) * dtype_bytes(t->dtype) + 64;
	t->data = arena_alloc(&m->mem, t->capacity);
	for (int64_t i = 0; random && i < tensor_numel(t); i++)
		dtype_put(t->dtype, t->data, (size_t)i, dtype_is_float(t->dtype) ? draw(m, -2, 2) : floor(draw(m, -100, 100)));
	return t;
}

static double difference(const struct tensor *got, const struct tensor *want)
{
	double worst = 0;

	assert_int_equal(got->dtype, want->dtype);
	assert_int_equal(got->rank, want->rank);
	for (int d = 0; d < got->rank; d++)
		assert_int_equal(got->size[d], want->size[d]);
	assert_true(tensor_is_default_order(got));
	for (int64_t i = 0; i < tensor_numel(want); i++) {
		double a = dtype_get(got->dtype, got->data, (size_t)i), b = dtype_get(want->dtype, want->data, (size_t)i);

		worst = fmax(worst, a == b ? 0 : fabs(a - b) / fmax(1, fabs(b)));
	}
	return worst;
}

static void run_live(struct xmake *m, struct tensor **arg)
{
	struct error err = { 0 };
	struct live_pool *pool;
	struct live *live;

	if (!live_pool_open(&pool, 1, &err) || !live_open(&live, &m->x, pool, false, &err) ||
	    !live_run(live, arg, (int)m->x.nexterns, &err))
		fail_msg("%s", err.text);
	live_close(live);
	live_pool_close(pool);
}

static double run_raised(struct xmake *m, struct tensor **arg, bool tidy)
{
	const struct exec_options options = { .engine = ENGINE_PORTABLE, .threads = 1 };
	struct error err = { 0 };
	struct exec *e;
	double worst = 0;

	if (!xmake_raise(m, tidy, &err) || !graph_check(m->g, &err) || !exec_open(&e, NULL, m->g, &options, &err) ||
	    !exec_run(e, arg, m->nin, &err))
		fail_msg("%s", err.text);
	for (int i = 0; i < exec_noutputs(e); i++)
		worst = fmax(worst, difference(exec_output(e, i), arg[m->nin + i]));
	exec_close(e);
	return worst;
}

double xmake_compare(struct xmake *m)
{
	return xmake_compare_changed(m, NULL);
}

double xmake_compare_changed(struct xmake *m, void (*change)(struct xmake *m))
{
	struct tensor **arg = arena_array(&m->mem, m->x.nexterns, sizeof *arg);
	double worst;

	for (int i = 0; i < m->x.nvalues; i++)
		if (m->x.value[i].external_id != XNONE)
			arg[m->x.value[i].external_id] = tensor_of(m, &m->x.value[i], m->x.value[i].flags & XFLAG_INPUT);
	run_live(m, arg);
	if (change)
		change(m);
	worst = run_raised(m, arg, false);
	return fmax(worst, run_raised(m, arg, true));
}
