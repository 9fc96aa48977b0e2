#include "core/xnn/live.h"

#include "core/base/num.h"
#include "core/xnn/live_define.h"
#include "core/xnn/live_memory.h"

#include <pthreadpool.h>
#include <string.h>

struct live_pool {
	pthreadpool_t threads;
	const struct file **file;	/* that weights are packed from */
	int nfiles;
	struct arena mem;
	struct { bool done, ok; struct error why; } trial[XD_COUNT];	/* by datatype of a weight; f16: of a product */
};

struct external {		/* an argument of the call */
	const struct xvalue *value;	/* NULL: the id is not used */
	size_t dim[XMAX_RANK];	/* of the last run */
	int rank;		/* -1: never run */
	void *padded;		/* a copy of the input with bytes behind it */
	size_t padded_bytes;
};

struct live {
	struct arena mem;
	xnn_runtime_t runtime;
	struct external *external;
	struct xnn_external_value *value;	/* what the runtime was set up with */
	int nexternals;
	bool shaped;		/* shapes are those of the last run */
};

static const enum xnn_datatype datatypes[XD_COUNT] = {
	[XD_FP32] = xnn_datatype_fp32, [XD_FP16] = xnn_datatype_fp16, [XD_QINT8] = xnn_datatype_qint8,
	[XD_QUINT8] = xnn_datatype_quint8, [XD_QINT32] = xnn_datatype_qint32, [XD_QCINT8] = xnn_datatype_qcint8,
	[XD_QCINT32] = xnn_datatype_qcint32, [XD_QCINT4] = xnn_datatype_qcint4, [XD_QDINT8] = xnn_datatype_qdint8,
	[XD_QBINT4] = xnn_datatype_qbint4, [XD_QPINT8] = xnn_datatype_qpint8, [XD_INT32] = xnn_datatype_int32,
	[XD_PFP32] = xnn_datatype_pfp32, [XD_BF16] = xnn_datatype_bf16,
};

bool live_pool_open(struct live_pool **out, int threads, struct error *err)
{
	enum xnn_status status = xnn_initialize(live_allocator());
	struct live_pool *p;

	if (status != xnn_status_success)
		return error_set(err, ERROR_RUN, "XNNPACK does not start: %s", live_status(status));
	p = mem_alloc(sizeof *p);
	if (threads > 1)
		p->threads = pthreadpool_create((size_t)threads);
	*out = p;
	return true;
}

void live_pool_close(struct live_pool *p)
{
	if (!p)
		return;
	pthreadpool_destroy(p->threads);
	arena_free(&p->mem);
	mem_free(p);
}

void live_pool_reads(struct live_pool *p, const struct file *f)
{
	const struct file **all = arena_array(&p->mem, (size_t)p->nfiles + 1, sizeof *all);

	for (int i = 0; i < p->nfiles; i++)
		all[i] = p->file[i];
	all[p->nfiles++] = f;
	p->file = all;
}

const char *live_version(void)
{
	return "2024-11";	/* the library has no call for it; this is the header's */
}

const struct live_id *live_id(const struct live_build *b, uint32_t id)
{
	return map_get(&b->id, &id, sizeof id);
}

/* Whether some node reads the bytes when it runs: then the library may read a little past them. */
static bool read_at_run(const struct xgraph *x, const struct xvalue *v)
{
	for (int i = 0; i < x->nnodes; i++) {
		const struct xnode_type *t = &xnode_types[x->node[i].tag];

		for (int f = 0; f < t->nfields; f++)
			if (t->field[f].kind == XF_IN && x->node[i].field[f] == v->id &&
			    !live_is_packed(&x->node[i], f))
				return true;
	}
	return false;
}

static const void *data_of(struct live_build *b, const struct xvalue *v)
{
	uint8_t *copy;

	if (!v->data.data || !read_at_run(b->x, v))
		return v->data.data;
	copy = arena_alloc(b->mem, v->data.bytes + XNN_EXTRA_BYTES);
	return memcpy(copy, v->data.data, v->data.bytes);
}

static enum xnn_status define_value(struct live_build *b, const struct xvalue *v, uint32_t *id)
{
	enum xnn_datatype t = datatypes[v->datatype];
	size_t dim[XMAX_RANK], rank = (size_t)v->rank;
	int32_t zero = v->datatype == XD_QCINT4 || v->datatype == XD_QBINT4 ? 8 : 0;
	const void *data = data_of(b, v);

	for (int d = 0; d < v->rank; d++)
		dim[d] = v->dim[d];
	switch (v->quant) {
	case XQ_TENSOR:
		return xnn_define_quantized_tensor_value(b->subgraph, t, v->zero_point, v->scale, rank, dim, data,
							 v->external_id, v->flags, id);
	case XQ_CHANNEL:
		return xnn_define_channelwise_quantized_tensor_value_v2(b->subgraph, t, zero,
									(const float *)(const void *)v->scales.data,
									rank, (size_t)v->channel_dim, dim, data,
									v->external_id, v->flags, id);
	case XQ_GROUP:
		return xnn_define_blockwise_quantized_tensor_value(b->subgraph, t, zero,
								   (const uint16_t *)(const void *)v->scales.data,
								   rank, (size_t)v->channel_dim,
								   (size_t)v->group_size, dim, data, v->external_id,
								   v->flags, id);
	case XQ_TOKEN:
		return xnn_define_dynamically_quantized_tensor_value(b->subgraph, t, rank, (size_t)v->nonbatch_dims,
								     dim, v->external_id, v->flags, id);
	default:
		return xnn_define_tensor_value(b->subgraph, t, rank, dim, data, v->external_id, v->flags, id);
	}
}

/* The old way to ask for a dynamically quantised input: convert it on entry. */
static enum xnn_status define_convert(struct live_build *b, const struct xvalue *v, uint32_t *id)
{
	size_t dim[XMAX_RANK];
	uint32_t from = *id;
	enum xnn_status status;

	for (int d = 0; d < v->rank; d++)
		dim[d] = v->dim[d];
	status = xnn_define_dynamically_quantized_tensor_value(b->subgraph, xnn_datatype_qdint8, (size_t)v->rank, 1,
							       dim, XNN_INVALID_VALUE_ID, 0, id);
	if (status != xnn_status_success)
		return status;
	return xnn_define_unary(b->subgraph, xnn_unary_convert, NULL, from, *id, 0);
}

/* Scales may lie unaligned in a file. */
static const struct xvalue *aligned(struct live_build *b, const struct xvalue *v)
{
	struct xvalue *copy;

	if (!((uintptr_t)v->scales.data & 3))
		return v;
	copy = arena_copy(b->mem, v, sizeof *v);
	copy->scales.data = arena_copy(b->mem, v->scales.data, v->scales.bytes);
	return copy;
}

static bool define_values(struct live_build *b, struct error *err)
{
	for (int i = 0; i < b->x->nvalues; i++) {
		const struct xvalue *v = aligned(b, &b->x->value[i]);
		struct live_id *id = arena_alloc(b->mem, sizeof *id);
		enum xnn_status status;

		if (live_id(b, v->id))		/* the first definition wins */
			continue;
		if (!live_check_value(v, err))
			return false;
		status = define_value(b, v, &id->xnn);
		if (status == xnn_status_success && v->dq_datatype == XD_QINT8)
			status = define_convert(b, v, &id->xnn);
		if (status != xnn_status_success)
			return error_set(err, ERROR_UNSUPPORTED, "this XNNPACK refuses a value: %s",
					 live_status(status));
		id->value = v;
		map_put(&b->id, b->mem, &b->x->value[i].id, sizeof v->id, id);
	}
	return true;
}

bool live_supports(const struct xgraph *x, int *node, struct error *err)
{
	struct arena mem = { 0 };
	struct live_build b = { .x = x, .mem = &mem };
	bool ok = true;

	for (int i = 0; ok && i < x->nvalues; i++) {
		struct live_id *id = arena_alloc(&mem, sizeof *id);

		id->value = &x->value[i];
		ok = live_check_value(id->value, err);
		if (!live_id(&b, id->value->id))
			map_put(&b.id, &mem, &id->value->id, sizeof id->value->id, id);
	}
	if (node)
		*node = -1;
	for (int i = 0; ok && i < x->nnodes; i++) {
		ok = live_has(&x->node[i], err) && live_check(&b, &x->node[i], err);
		if (node && !ok)
			*node = i;
	}
	arena_free(&mem);
	return ok;
}

static bool build(struct live_build *b, struct error *err)
{
	enum xnn_status status = xnn_create_subgraph(b->x->nexterns, 0, &b->subgraph);

	if (status != xnn_status_success)
		return error_set(err, ERROR_RUN, "no XNNPACK subgraph: %s", live_status(status));
	if (!define_values(b, err))
		return false;
	for (int i = 0; i < b->x->nnodes; i++)
		if (!live_define(b, &b->x->node[i], err))
			return false;
	return true;
}

static void note_externals(struct live *l, const struct xgraph *x)
{
	l->nexternals = (int)x->nexterns;
	l->external = arena_array(&l->mem, x->nexterns + 1, sizeof *l->external);
	l->value = arena_array(&l->mem, x->nexterns + 1, sizeof *l->value);
	for (int i = x->nvalues - 1; i >= 0; i--)
		if (x->value[i].external_id < x->nexterns) {
			l->external[x->value[i].external_id].value = &x->value[i];
			l->external[x->value[i].external_id].rank = -1;
		}
}

static bool open_runtime(struct live **out, const struct xgraph *x, struct live_pool *pool, bool profile,
			 struct error *err)
{
	struct live *l = mem_alloc(sizeof *l);
	struct live_build b = { .x = x, .mem = &l->mem };
	enum xnn_status status = xnn_status_success;
	bool ok = build(&b, err);

	if (ok) {
		live_packing_begins(pool->file, pool->nfiles);
		status = xnn_create_runtime_v2(b.subgraph, pool->threads, profile ? XNN_FLAG_BASIC_PROFILING : 0,
					       &l->runtime);
		live_packing_ends();
		ok = status == xnn_status_success ||
		     error_set(err, ERROR_UNSUPPORTED, "this XNNPACK does not make the runtime: %s", live_status(status));
	}
	if (b.subgraph)
		xnn_delete_subgraph(b.subgraph);
	note_externals(l, x);
	*out = ok ? l : NULL;
	if (!ok)
		live_close(l);
	return ok;
}

bool live_open_untried(struct live **out, const struct xgraph *x, struct live_pool *pool, struct error *err)
{
	return open_runtime(out, x, pool, false, err);
}

static bool trial_passes(enum xdatatype d, struct live_pool *pool, struct error *err)
{
	if (!pool->trial[d].done) {
		pool->trial[d].done = true;
		pool->trial[d].ok = live_trial(d, pool, &pool->trial[d].why);
	}
	return pool->trial[d].ok || error_set(err, pool->trial[d].why.code, "%s", pool->trial[d].why.text);
}

/* One with a whole tile of outputs; depthwise convolutions have kernels of their own. */
static bool is_half_product(const struct xgraph *x, const struct xnode *n)
{
	int out = n->tag == X_CONV2D || n->tag == X_CONV_TRANSPOSE_2D ? XC_OUT : n->tag == X_FULLY_CONNECTED ? XFC_OUT :
		n->tag == X_BATCH_MATMUL ? XB_OUT : -1;
	const struct xvalue *v = out < 0 ? NULL : xgraph_value(x, n->field[out]);

	return v && v->datatype == XD_FP16 && v->rank && v->dim[v->rank - 1] >= LIVE_TRIAL_TILE;
}

/* Weights of a kind that came out wrong before are not run. */
static bool trials_pass(const struct xgraph *x, struct live_pool *pool, struct error *err)
{
	for (int i = 0; i < x->nvalues; i++) {
		enum xdatatype d = x->value[i].datatype;

		if ((d == XD_QCINT4 || d == XD_QBINT4 || d == XD_QCINT8) && !trial_passes(d, pool, err))
			return false;
	}
	for (int i = 0; i < x->nnodes; i++)
		if (is_half_product(x, &x->node[i]))
			return trial_passes(XD_FP16, pool, err);
	return true;
}

bool live_open(struct live **out, const struct xgraph *x, struct live_pool *pool, bool profile, struct error *err)
{
	return trials_pass(x, pool, err) && open_runtime(out, x, pool, profile, err);
}
void live_close(struct live *l)
{
	if (!l)
		return;
	if (l->runtime)
		xnn_delete_runtime(l->runtime);
	for (int i = 0; i < l->nexternals; i++)
		mem_free(l->external[i].padded);
	arena_free(&l->mem);
	mem_free(l);
}

/* Sizes in memory order, as XNNPACK sees them; a number is one element. */
static int memory_sizes(const struct tensor *t, size_t *dim)
{
	dim[0] = 1;
	for (int d = 0; d < t->rank; d++)
		dim[d] = (size_t)t->size[t->dim_order[d]];
	return t->rank ? t->rank : 1;
}

static bool reshape_input(struct live *l, uint32_t id, const struct tensor *t, bool *changed, struct error *err)
{
	struct external *e = &l->external[id];
	size_t dim[MAX_RANK];
	int rank = memory_sizes(t, dim);
	enum xnn_status status;

	if (t->rank > XMAX_RANK)
		return error_set(err, ERROR_RUN, "argument %u of the delegate has %d dimensions", id, t->rank);
	if (rank == e->rank && !memcmp(dim, e->dim, (size_t)rank * sizeof *dim))
		return true;
	status = xnn_reshape_external_value(l->runtime, id, (size_t)rank, dim);
	if (status != xnn_status_success)
		return error_set(err, ERROR_RUN, "argument %u of the delegate does not take its shape: %s", id,
				 live_status(status));
	memcpy(e->dim, dim, (size_t)rank * sizeof *dim);
	e->rank = rank;
	return *changed = true;
}

static bool resize_output(struct live *l, uint32_t id, struct tensor *t, struct error *err)
{
	size_t dim[XMAX_RANK], rank = 0, bytes;
	int64_t size[MAX_RANK];

	if (xnn_get_external_value_shape(l->runtime, id, &rank, dim) != xnn_status_success || rank > XMAX_RANK)
		return error_set(err, ERROR_RUN, "result %u of the delegate has no shape", id);
	if ((int)rank != (t->rank ? t->rank : 1))
		return error_set(err, ERROR_RUN, "result %u of the delegate has %zu dimensions, its tensor %d", id,
				 rank, t->rank);
	for (int d = 0; d < t->rank; d++)
		size[t->dim_order[d]] = (int64_t)dim[d];
	if (!dtype_tensor_bytes(t->dtype, t->rank, size, &bytes) || bytes > t->capacity)
		return error_set(err, ERROR_RUN, "result %u of the delegate needs more than its %zu bytes", id,
				 t->capacity);
	memcpy(t->size, size, (size_t)t->rank * sizeof *size);
	tensor_set_strides(t);
	return true;
}

/* XNNPACK may read up to XNN_EXTRA_BYTES past an input. */
static void *readable(struct external *e, const struct tensor *t)
{
	size_t bytes = (size_t)tensor_numel(t) * dtype_bytes(t->dtype);

	if (t->capacity >= bytes + XNN_EXTRA_BYTES)
		return t->data;
	if (e->padded_bytes < bytes + XNN_EXTRA_BYTES) {
		mem_free(e->padded);
		e->padded_bytes = bytes + XNN_EXTRA_BYTES;
		e->padded = mem_try(e->padded_bytes);
		if (!e->padded)
			e->padded_bytes = 0;
	}
	return e->padded ? memcpy(e->padded, t->data, bytes) : NULL;
}

static bool set_up(struct live *l, struct tensor *const *arg, bool changed, struct error *err)
{
	size_t n = 0;

	for (int i = 0; i < l->nexternals; i++) {
		struct external *e = &l->external[i];
		void *data;

		if (!e->value)
			continue;
		data = e->value->flags & XFLAG_INPUT ? readable(e, arg[i]) : arg[i]->data;
		if (!data)
			return error_set(err, ERROR_MEMORY, "no memory for argument %d of the delegate", i);
		changed |= l->value[n].data != data;
		l->value[n++] = (struct xnn_external_value){ (uint32_t)i, data };
	}
	return !changed || xnn_setup_runtime_v2(l->runtime, n, l->value) == xnn_status_success ||
	       error_set(err, ERROR_RUN, "XNNPACK does not take the arguments of the delegate");
}

bool live_run(struct live *l, struct tensor *const *arg, int nargs, struct error *err)
{
	bool changed = !l->shaped;
	enum xnn_status status;

	if (nargs < l->nexternals)
		return error_set(err, ERROR_RUN, "the delegate takes %d arguments, it is given %d", l->nexternals,
				 nargs);
	l->shaped = false;
	for (int i = 0; i < l->nexternals; i++)
		if (l->external[i].value && l->external[i].value->flags & XFLAG_INPUT &&
		    !reshape_input(l, (uint32_t)i, arg[i], &changed, err))
			return false;
	if (changed && (status = xnn_reshape_runtime(l->runtime)) != xnn_status_success)
		return error_set(err, ERROR_RUN, "the delegate does not take the shapes of its arguments: %s",
				 live_status(status));
	for (int i = 0; i < l->nexternals; i++)
		if (l->external[i].value && l->external[i].value->flags & XFLAG_OUTPUT &&
		    !resize_output(l, (uint32_t)i, arg[i], err))
			return false;
	if (!set_up(l, arg, changed, err))
		return false;
	l->shaped = true;
	status = xnn_invoke_runtime(l->runtime);
	return status == xnn_status_success ||
	       error_set(err, ERROR_RUN, "the delegate does not run: %s", live_status(status));
}
