#include "core/format/xblob.h"

#include "core/base/map.h"
#include "core/base/num.h"
#include "core/format/fb.h"
#include "core/format/pieces.h"
#include "core/format/xblob_schema.h"

#include <string.h>

struct writer {
	struct fbb b;
	const struct xgraph *g;
	struct arena *mem;
	vec(fbref) constant;	/* entry 0 is a placeholder */
	struct map constant_of;	/* key -> index */
	struct error *err;
};

/* A constant is an offset, here none (all ones), or a key; its size is not read by the runtime. */
static fbref write_constant(struct writer *w, const char *key, size_t bytes)
{
	fbref k = fbb_string(&w->b, key);

	fbb_put64(&w->b, XCONSTANT_OFFSET, UINT64_MAX, 0);
	fbb_put64(&w->b, XCONSTANT_SIZE, bytes, 0);
	fbb_putref(&w->b, XCONSTANT_KEY, k);
	return fbb_end(&w->b);
}

static uint32_t constant(struct writer *w, const char *key, size_t bytes)
{
	uintptr_t made = (uintptr_t)map_get(&w->constant_of, key, strlen(key));

	if (made)
		return (uint32_t)made;
	vec_push(w->mem, &w->constant, write_constant(w, key, bytes));
	made = (uintptr_t)w->constant.n - 1;
	map_put(&w->constant_of, w->mem, key, strlen(key), (void *)made);
	return (uint32_t)made;
}

/* Values */

static fbref write_tensor(struct writer *w, const struct xvalue *v)
{
	fbref dims = fbb_vector(&w->b, v->dim, (size_t)v->rank, 4, 4);
	size_t bytes = 0;
	uint32_t k = v->key && xvalue_bytes(v, &bytes) ? constant(w, v->key, bytes) : 0;

	fbb_put16(&w->b, XTENSOR_DATATYPE, (uint16_t)v->datatype, XD_INVALID);
	fbb_put32(&w->b, XTENSOR_NUM_DIMS, (uint32_t)v->rank, 0);
	fbb_putref(&w->b, XTENSOR_DIMS, dims);
	fbb_put32(&w->b, XTENSOR_CONSTANT, k, 0);
	fbb_put32(&w->b, XTENSOR_EXTERNAL_ID, v->external_id, 0);
	fbb_put32(&w->b, XTENSOR_FLAGS, v->flags, 0);
	fbb_put32(&w->b, XTENSOR_ID, v->id, 0);
	fbb_put16(&w->b, XTENSOR_DQ_DATATYPE, (uint16_t)v->dq_datatype, XD_INVALID);
	return fbb_end(&w->b);
}

/* The runtime touches `scale` of channel scales unchecked: it is written even when empty. */
static fbref write_channel(struct writer *w, const struct xvalue *v)
{
	uint32_t k = v->scales_key ? constant(w, v->scales_key, (size_t)v->nscales * 4) : 0;
	fbref scale = fbb_vector(&w->b, v->scales.data, k ? 0 : v->nscales, 4, 4);

	fbb_putref(&w->b, XCHANNEL_SCALE, scale);
	fbb_put32(&w->b, XCHANNEL_DIM, (uint32_t)v->channel_dim, 0);
	fbb_put32(&w->b, XCHANNEL_SCALE_INDEX, k, 0);
	fbb_put32(&w->b, XCHANNEL_NUM_SCALES, k ? v->nscales : 0, 0);
	return fbb_end(&w->b);
}

static fbref write_per_tensor(struct writer *w, const struct xvalue *v)
{
	fbb_putf32(&w->b, XPERTENSOR_SCALE, v->scale, 0);
	fbb_put32(&w->b, XPERTENSOR_ZERO_POINT, (uint32_t)v->zero_point, 0);
	return fbb_end(&w->b);
}

static fbref write_token(struct writer *w, const struct xvalue *v)
{
	fbb_put32(&w->b, XTOKEN_NONBATCH_DIMS, (uint32_t)v->nonbatch_dims, 0);
	return fbb_end(&w->b);
}

static fbref write_group(struct writer *w, const struct xvalue *v)
{
	uint32_t k = constant(w, v->scales_key, (size_t)v->nscales * 2);

	fbb_put32(&w->b, XGROUP_DIM, (uint32_t)v->channel_dim, 0);
	fbb_put32(&w->b, XGROUP_SIZE, (uint32_t)v->group_size, 0);
	fbb_put32(&w->b, XGROUP_SCALE_INDEX, k, 0);
	fbb_put32(&w->b, XGROUP_NUM_SCALES, v->nscales, 0);
	return fbb_end(&w->b);
}

static fbref (*const write_quant[])(struct writer *, const struct xvalue *) = {
	[XQ_CHANNEL] = write_channel, [XQ_TENSOR] = write_per_tensor, [XQ_TOKEN] = write_token,
	[XQ_GROUP] = write_group,
};

static bool check_value(struct writer *w, const struct xvalue *v)
{
	size_t bytes;

	if (v->data.data && !v->key)
		return error_set(w->err, ERROR_FORMAT, "XNNPACK value %u has bytes but no key to store them under",
				 v->id);
	if (v->quant == XQ_GROUP && !v->scales_key)
		return error_set(w->err, ERROR_FORMAT,
				 "XNNPACK value %u has group scales but no key to store them under", v->id);
	if (v->quant == XQ_CHANNEL && !v->scales_key && !v->scales.data)
		return error_set(w->err, ERROR_FORMAT, "XNNPACK value %u has no scales", v->id);
	if (v->rank > XMAX_RANK || !xvalue_bytes(v, &bytes))
		return error_set(w->err, ERROR_FORMAT, "XNNPACK value %u of type %s and rank %d cannot be stored",
				 v->id,
				 xdatatype_name(v->datatype), v->rank);
	return true;
}

static fbref write_value(struct writer *w, const struct xvalue *v)
{
	fbref tensor = write_tensor(w, v), params;

	if (v->quant) {
		params = write_quant[v->quant](w, v);
		fbb_putref(&w->b, XQUANTIZED_TENSOR, tensor);
		fbb_put8(&w->b, XQUANTIZED_TAG, (uint8_t)v->quant, XQ_NONE);
		fbb_putref(&w->b, XQUANTIZED_PARAMS, params);
		tensor = fbb_end(&w->b);
	}
	fbb_put8(&w->b, XVALUE_TAG, v->quant ? XVALUE_QUANTIZED : XVALUE_PLAIN, 0);
	fbb_putref(&w->b, XVALUE_TABLE, tensor);
	return fbb_end(&w->b);
}

/* Nodes */

static fbref write_fields(struct writer *w, const struct xnode *n)
{
	const struct xnode_type *type = &xnode_types[n->tag];
	fbref list[2];

	for (int i = 0; i < type->nfields; i++)
		if (type->field[i].kind == XF_LIST)
			list[n->field[i]] = fbb_vector(&w->b, xnode_list(n, i)->at, (size_t)xnode_list(n, i)->n, 4, 4);
	for (int i = 0; i < type->nfields; i++)
		if (type->field[i].kind == XF_LIST)
			fbb_putref(&w->b, i, list[n->field[i]]);
		else
			fbb_put32(&w->b, i, type->field[i].kind == XF_UNUSED ? XNONE : n->field[i], 0);
	return fbb_end(&w->b);
}

static fbref write_node(struct writer *w, const struct xnode *n)
{
	fbref fields = write_fields(w, n), clamp = 0;

	if (n->has_min_max) {
		fbb_putf32(&w->b, XMINMAX_MIN, n->min, 0);
		fbb_putf32(&w->b, XMINMAX_MAX, n->max, 0);
		clamp = fbb_end(&w->b);
	}
	fbb_put8(&w->b, XNODE_TAG, (uint8_t)n->tag, 0);
	fbb_putref(&w->b, XNODE_TABLE, fields);
	fbb_put32(&w->b, XNODE_DEBUG_HANDLE, n->debug_handle, 0);
	fbb_putref(&w->b, XNODE_MIN_MAX, clamp);
	return fbb_end(&w->b);
}

/* The graph */

/* Ids of the values with this flag. 1.5.1 goes by the flags alone; other releases read these lists. */
static fbref write_ids(struct writer *w, uint32_t flag)
{
	vec(uint32_t) ids = { 0 };

	for (int i = 0; i < w->g->nvalues; i++)
		if (w->g->value[i].flags & flag)
			vec_push(w->mem, &ids, w->g->value[i].id);
	return fbb_vector(&w->b, ids.at, (size_t)ids.n, 4, 4);
}

static uint32_t count_externs(const struct xgraph *g)
{
	uint32_t n = g->nexterns;

	for (int i = 0; i < g->nvalues; i++)
		if (g->value[i].external_id != XNONE && g->value[i].external_id >= n)
			n = g->value[i].external_id + 1;
	return n;
}

static bool write_graph(struct writer *w, fbref *root)
{
	const struct xgraph *g = w->g;
	fbref *value = arena_array(w->mem, (size_t)g->nvalues, sizeof *value);
	fbref *node = arena_array(w->mem, (size_t)g->nnodes, sizeof *node);
	fbref values, nodes, constants, inputs, outputs, version;

	vec_push(w->mem, &w->constant, write_constant(w, NULL, 0));
	for (int i = 0; i < g->nvalues; i++) {
		if (!check_value(w, &g->value[i]))
			return false;
		value[i] = write_value(w, &g->value[i]);
	}
	for (int i = 0; i < g->nnodes; i++) {
		if (g->node[i].tag < X_ADD || g->node[i].tag >= X_TAGS)
			return error_set(w->err, ERROR_FORMAT, "XNNPACK node %d is of kind %d", i, g->node[i].tag);
		node[i] = write_node(w, &g->node[i]);
	}
	values = fbb_refs(&w->b, value, (size_t)g->nvalues);
	nodes = fbb_refs(&w->b, node, (size_t)g->nnodes);
	constants = fbb_refs(&w->b, w->constant.at, (size_t)w->constant.n);
	inputs = write_ids(w, XFLAG_INPUT);
	outputs = write_ids(w, XFLAG_OUTPUT);
	version = fbb_string(&w->b, "0");
	fbb_putref(&w->b, XGRAPH_VERSION, version);
	fbb_putref(&w->b, XGRAPH_NODES, nodes);
	fbb_putref(&w->b, XGRAPH_VALUES, values);
	fbb_put32(&w->b, XGRAPH_NUM_EXTERNS, count_externs(g), 0);
	fbb_putref(&w->b, XGRAPH_INPUT_IDS, inputs);
	fbb_putref(&w->b, XGRAPH_OUTPUT_IDS, outputs);
	fbb_putref(&w->b, XGRAPH_CONSTANT_DATA, constants);
	*root = fbb_end(&w->b);
	return true;
}

/* Header, tables, no constant data behind them. */
static bool finish(struct writer *w, fbref root, struct span *blob)
{
	uint32_t at = XHEADER_PADDED, length, data_at;
	uint16_t header = XHEADER_BYTES;
	uint8_t *tables, *out;
	size_t bytes;

	if (!fbb_finish(&w->b, root, "XN01", 0, &tables, &bytes, w->err))
		return false;
	length = (uint32_t)bytes;
	data_at = (uint32_t)size_align(at + bytes, CONSTANT_ALIGN);
	out = arena_alloc(w->mem, data_at);
	memcpy(out + 4, "XH00", 4);
	memcpy(out + 8, &header, 2);
	memcpy(out + 10, &at, 4);
	memcpy(out + 14, &length, 4);
	memcpy(out + 18, &data_at, 4);
	memcpy(out + at, tables, bytes);
	*blob = (struct span){ out, data_at };
	return true;
}

bool xblob_write(const struct xgraph *g, struct arena *a, struct span *blob, struct error *err)
{
	struct writer w = { .g = g, .mem = a, .err = err };
	fbref root = 0;
	bool ok = write_graph(&w, &root) && finish(&w, root, blob);

	fbb_free(&w.b);
	return ok;
}
