#include "core/xnn/split.h"

#include <math.h>
#include <string.h>

/* Columns that a kernel computes at once are 32 at most; fewer rows than a few of its tiles are not worth it. */
enum { COLUMNS = 32, FEW_ROWS = 24, MOST_JOINED = 5 };

struct split {
	const struct xgraph *x;
	size_t cache;
	bool dynamic;
	struct arena *mem, *packed;
	vec(struct xvalue) value;
	vec(struct xnode) node;
	uint32_t next_id;
};

/* A GEMM: for each of `groups`, [rows, k] times [k, columns], the filter stored as [groups, columns, k]. */
struct gemm_shape {
	const struct xvalue *filter, *bias, *out;
	int filter_field, bias_field, out_field;
	size_t groups, columns, k, rows;
};

static const struct xvalue *value_of(const struct split *s, const struct xnode *n, int field)
{
	return n->field[field] == XNONE ? NULL : xgraph_value(s->x, n->field[field]);
}

static size_t product(const uint32_t *dim, int n)
{
	size_t p = 1;

	for (int d = 0; d < n; d++)
		p *= dim[d];
	return p;
}

static bool shape_of(const struct split *s, const struct xnode *n, struct gemm_shape *g)
{
	bool conv = n->tag == X_CONV2D;

	if (!conv && (n->tag != X_FULLY_CONNECTED || n->field[XFC_FLAGS]))
		return false;
	g->filter_field = conv ? XC_FILTER : XFC_FILTER;
	g->bias_field = conv ? XC_BIAS : XFC_BIAS;
	g->out_field = conv ? XC_OUT : XFC_OUT;
	g->filter = value_of(s, n, g->filter_field);
	g->bias = value_of(s, n, g->bias_field);
	g->out = value_of(s, n, g->out_field);
	if (!g->filter || !g->out || g->filter->datatype != XD_FP32 || g->out->datatype != XD_FP32 || g->out->rank < 2 ||
	    (g->bias && g->bias->datatype != XD_FP32) || !g->filter->data.data || (g->bias && !g->bias->data.data))
		return false;
	g->groups = conv ? n->field[XC_GROUPS] : 1;
	g->columns = conv ? n->field[XC_GROUP_OUT] : g->filter->dim[0];
	g->k = product(g->filter->dim + 1, g->filter->rank - 1);
	g->rows = product(g->out->dim, g->out->rank - 1);
	return g->filter->dim[0] == g->groups * g->columns &&
	       g->filter->data.bytes >= g->groups * g->columns * g->k * sizeof(float) &&
	       (!g->bias || g->bias->data.bytes >= g->groups * g->columns * sizeof(float));
}

/* Columns of a part; all of them: do not split. */
static size_t part_of(const struct split *s, const struct gemm_shape *g)
{
	size_t bytes = g->k * sizeof(float), part = bytes ? s->cache / 2 / bytes / COLUMNS * COLUMNS : 0;

	if (!bytes || g->columns * bytes <= s->cache / 2 || g->rows < FEW_ROWS || (g->groups > 1 && s->dynamic))
		return g->columns;
	if (part < COLUMNS)
		part = COLUMNS;
	return part < g->columns ? part : g->columns;
}

static uint32_t add_value(struct split *s, const struct xvalue *like)
{
	struct xvalue v = *like;

	v.id = s->next_id++;
	v.flags = 0;
	v.external_id = XNONE;
	vec_push(s->mem, &s->value, v);
	return v.id;
}

/* Columns [at, at + n) of every group, as bytes of their own where they do not lie together. */
static struct span columns_of(struct split *s, const struct gemm_shape *g, const uint8_t *data, size_t column_bytes, size_t at, size_t n)
{
	struct span out = { data + at * column_bytes, n * column_bytes };
	uint8_t *to;

	if (g->groups == 1)
		return out;
	to = arena_try(s->packed, g->groups * n * column_bytes);
	for (size_t k = 0; to && k < g->groups; k++)
		memcpy(to + k * n * column_bytes, data + (k * g->columns + at) * column_bytes, n * column_bytes);
	return (struct span){ to, g->groups * n * column_bytes };
}

static bool add_constant(struct split *s, const struct gemm_shape *g, const struct xvalue *from, size_t column_bytes, size_t at,
			 size_t n, uint32_t *id)
{
	struct xvalue v = *from;

	v.data = columns_of(s, g, from->data.data, column_bytes, at, n);
	v.dim[0] = (uint32_t)(g->groups * n);
	v.key = NULL;
	*id = add_value(s, &v);
	return v.data.data;
}

static bool add_part(struct split *s, const struct xnode *n, const struct gemm_shape *g, size_t at, size_t columns, uint32_t *out)
{
	struct xnode part = *n;
	struct xvalue v = *g->out;

	if (!add_constant(s, g, g->filter, g->k * sizeof(float), at, columns, &part.field[g->filter_field]) ||
	    (g->bias && !add_constant(s, g, g->bias, sizeof(float), at, columns, &part.field[g->bias_field])))
		return false;
	v.dim[v.rank - 1] = (uint32_t)(g->groups * columns);
	part.field[g->out_field] = *out = add_value(s, &v);
	if (n->tag == X_CONV2D)
		part.field[XC_GROUP_OUT] = (uint32_t)columns;
	vec_push(s->mem, &s->node, part);
	return true;
}

static struct xnode plain_node(enum xtag tag, uint32_t debug_handle)
{
	return (struct xnode){ .tag = tag, .debug_handle = debug_handle, .min = -INFINITY, .max = INFINITY };
}

static void reshape(struct split *s, const struct xnode *n, uint32_t in, uint32_t out, const uint32_t *dim, int rank)
{
	struct xnode r = plain_node(X_STATIC_RESHAPE, n->debug_handle);

	r.list[0].at = arena_copy(s->mem, dim, (size_t)rank * sizeof *dim);
	r.list[0].n = rank;
	r.field[0] = (uint32_t)rank;
	r.field[2] = in;
	r.field[3] = out;
	vec_push(s->mem, &s->node, r);
}

/* A part of a grouped convolution as [.., groups, columns]. */
static uint32_t apart(struct split *s, const struct xnode *n, const struct gemm_shape *g, uint32_t part, size_t columns)
{
	struct xvalue v = *g->out;
	uint32_t id;

	v.dim[v.rank - 1] = (uint32_t)g->groups;
	v.dim[v.rank++] = (uint32_t)columns;
	id = add_value(s, &v);
	reshape(s, n, part, id, v.dim, v.rank);
	return id;
}

static size_t last_dim(const struct split *s, uint32_t id)
{
	for (int i = s->value.n - 1; i >= 0; i--)
		if (s->value.at[i].id == id)
			return s->value.at[i].dim[s->value.at[i].rank - 1];
	return 0;
}

/* Joins along the last dimension, a few at a time; the last node writes `out`. */
static void join(struct split *s, const struct xnode *n, uint32_t *part, size_t nparts, const struct xvalue *like, uint32_t out)
{
	static const enum xtag tags[] = { 0, 0, X_CONCATENATE2, X_CONCATENATE3, X_CONCATENATE4, X_CONCATENATE5 };
	static const int in[] = { XK_IN1, XK_IN2, XK_IN3, XK_IN4, XK_IN5 };

	while (nparts > 1) {
		size_t made = 0;

		for (size_t at = 0; at < nparts; ) {
			size_t count = nparts - at < MOST_JOINED ? nparts - at : MOST_JOINED;
			struct xnode c = plain_node(tags[count], n->debug_handle);
			struct xvalue v = *like;

			c.field[XK_AXIS] = (uint32_t)v.rank - 1;
			c.field[XK_IN3] = c.field[XK_IN4] = c.field[XK_IN5] = XNONE;
			v.dim[v.rank - 1] = 0;
			for (size_t i = 0; i < count; i++) {
				c.field[in[i]] = part[at + i];
				v.dim[v.rank - 1] += (uint32_t)last_dim(s, part[at + i]);
			}
			at += count;
			if (count == 1) {
				part[made++] = part[at - 1];
				continue;
			}
			c.field[XK_OUT] = part[made++] = nparts == count ? out : add_value(s, &v);
			vec_push(s->mem, &s->node, c);
		}
		nparts = made;
	}
}

/* The parts' outputs, ready to be joined; false: no memory. */
static bool add_parts(struct split *s, const struct xnode *n, const struct gemm_shape *g, size_t columns, uint32_t *part)
{
	for (size_t at = 0; at < g->columns; at += columns, part++) {
		size_t here = g->columns - at < columns ? g->columns - at : columns;

		if (!add_part(s, n, g, at, here, part))
			return false;
		if (g->groups > 1)
			*part = apart(s, n, g, *part, here);
	}
	return true;
}

static void join_parts(struct split *s, const struct xnode *n, const struct gemm_shape *g, uint32_t *part, size_t count)
{
	struct xvalue whole = *g->out;
	uint32_t id;

	if (g->groups == 1) {
		join(s, n, part, count, &whole, whole.id);
		return;
	}
	whole.dim[whole.rank - 1] = (uint32_t)g->groups;
	whole.dim[whole.rank++] = (uint32_t)g->columns;
	id = add_value(s, &whole);
	join(s, n, part, count, &whole, id);
	reshape(s, n, id, g->out->id, g->out->dim, g->out->rank);
}

static bool split_node(struct split *s, const struct xnode *n)
{
	int values = s->value.n, nodes = s->node.n;
	struct gemm_shape g;
	size_t columns, count;
	uint32_t *part;

	if (!shape_of(s, n, &g) || (columns = part_of(s, &g)) >= g.columns || (g.groups > 1 && g.out->rank >= XMAX_RANK))
		return false;
	count = (g.columns + columns - 1) / columns;
	part = arena_array(s->mem, count, sizeof *part);
	if (!add_parts(s, n, &g, columns, part)) {
		s->value.n = values;
		s->node.n = nodes;
		return false;
	}
	join_parts(s, n, &g, part, count);
	return true;
}

int xnn_split(struct xgraph *x, size_t cache_bytes, bool dynamic, struct arena *a, struct arena *packed)
{
	struct split s = { .x = x, .cache = cache_bytes, .dynamic = dynamic, .mem = a, .packed = packed };
	int done = 0;

	if (!cache_bytes)
		return 0;
	for (int i = 0; i < x->nvalues; i++) {
		vec_push(a, &s.value, x->value[i]);
		if (x->value[i].id >= s.next_id)
			s.next_id = x->value[i].id + 1;
	}
	if (s.next_id >= UINT32_MAX / 2)	/* no room for ids of our own */
		return 0;
	for (int i = 0; i < x->nnodes; i++)
		if (split_node(&s, &x->node[i]))
			done++;
		else
			vec_push(a, &s.node, x->node[i]);
	if (done) {
		x->value = s.value.at;
		x->nvalues = s.value.n;
		x->node = s.node.at;
		x->nnodes = s.node.n;
	}
	return done;
}
