#include "core/format/xblob.h"

#include "core/base/dtype.h"
#include "core/base/map.h"
#include "core/base/num.h"
#include "core/format/fb.h"
#include "core/format/xblob_schema.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct reader {
	struct fb fb;
	struct xgraph *g;
	struct arena *mem;
	xblob_lookup *lookup;
	void *ctx;
	bool has_header;
	struct span region;		/* constant data behind the flatbuffer */
	struct fb_vector constant;	/* constant_data, or constant_buffer without a header */
	struct map index_of_id;		/* id in the file -> value */
	uint32_t *file_id;
	uint8_t *made;			/* per value: it holds something by now */
	uint8_t external[XMAX_EXTERNS];
};

/* The container */

static bool open_with_header(struct reader *r, struct span blob, size_t base, const char *name, struct fb_table *root,
			     struct error *err)
{
	uint32_t at, bytes, data_at;
	uint64_t data_bytes;

	if (blob.bytes < XHEADER_BYTES)
		return error_set(err, ERROR_FORMAT, "%s: offset %zu: XNNPACK blob of %zu bytes, its header has %d",
				 name, base,
				 blob.bytes, XHEADER_BYTES);
	memcpy(&at, blob.data + 10, 4);
	memcpy(&bytes, blob.data + 14, 4);
	memcpy(&data_at, blob.data + 18, 4);
	memcpy(&data_bytes, blob.data + 22, 8);
	if (!size_inside(at, bytes, blob.bytes) || !size_inside(data_at, data_bytes, blob.bytes)
	    || data_at < (uint64_t)at + bytes)
		return error_set(err, ERROR_FORMAT,
				 "%s: offset %zu: XNNPACK blob of %zu bytes has tables of %u at %u and constants of %"
				 PRIu64 " at %u", name, base + 10, blob.bytes, bytes, at, data_bytes, data_at);
	r->has_header = true;
	r->region = (struct span){ blob.data + data_at, (size_t)data_bytes };
	return fb_open(&r->fb, blob.data + at, bytes, base + at, name, NULL, root, err);
}

static bool open_blob(struct reader *r, struct span blob, size_t base, const char *name, struct fb_table *root,
		      struct error *err)
{
	bool ok = blob.bytes >= 8 && !memcmp(blob.data + 4, "XH00", 4)
		? open_with_header(r, blob, base, name, root, err)
		: fb_open(&r->fb, blob.data, blob.bytes, base, name, NULL, root, err);

	if (!ok)
		return false;
	if (memcmp(r->fb.data + 4, "XN00", 4) && memcmp(r->fb.data + 4, "XN01", 4))
		return fb_fail(&r->fb, 4, "XNNPACK blob with identifier \"%.4s\", known are XN00 and XN01",
			       (const char *)r->fb.data + 4);
	return true;
}

/* Constants */

static bool find_in_region(struct reader *r, struct fb_table *t, uint32_t k, struct span *data)
{
	uint64_t offset = fb_u64(t, XCONSTANT_OFFSET, 0), size = fb_u64(t, XCONSTANT_SIZE, 0);

	if (!size_inside(offset, size, r->region.bytes))
		return fb_fail(&r->fb, t->at, "constant %u, %" PRIu64 " bytes at %" PRIu64 " of a region of %zu", k,
			       size, offset, r->region.bytes);
	*data = (struct span){ r->region.data + offset, (size_t)size };
	return true;
}

static bool find_constant(struct reader *r, uint32_t k, size_t need, struct span *data, const char **key)
{
	struct fb_table t = fb_table_at(&r->constant, k);
	size_t key_bytes;

	if (k >= r->constant.n)
		return fb_fail(&r->fb, r->constant.at, "constant %u, the blob has %u", k, r->constant.n);
	*key = NULL;
	if (!r->has_header) {
		struct fb_vector v = fb_data(&t, XBUFFER_STORAGE);

		*data = (struct span){ fb_bytes(&v), v.n };
		if (!data->data)
			return fb_fail(&r->fb, t.at, "constant %u has no bytes", k);
	} else if (fb_has(&t, XCONSTANT_KEY)) {
		*key = fb_name(&t, XCONSTANT_KEY, &key_bytes);
		if (*key && r->lookup)
			*data = r->lookup(r->ctx, *key, key_bytes);
	} else if (!find_in_region(r, &t, k, data)) {
		return false;
	}
	if (data->data && data->bytes < need)
		return fb_fail(&r->fb, t.at, "constant %u has %zu bytes, its tensor needs %zu", k, data->bytes, need);
	data->bytes = need;
	return fb_ok(&r->fb);
}

/* Quantisation parameters; t is the table of the kind. */

static bool read_channel(struct reader *r, struct fb_table *t, struct xvalue *v)
{
	struct fb_vector scale = fb_vector(t, XCHANNEL_SCALE, 4);
	uint32_t k = fb_u32(t, XCHANNEL_SCALE_INDEX, 0), n = k ? fb_u32(t, XCHANNEL_NUM_SCALES, 0) : scale.n;

	v->channel_dim = fb_i32(t, XCHANNEL_DIM, 0);
	if (v->channel_dim < 0 || v->channel_dim >= v->rank)
		return fb_fail(&r->fb, t->at, "channel_dim %d of a value of rank %d", v->channel_dim, v->rank);
	v->nscales = v->dim[v->channel_dim];
	if (n < v->nscales)
		return fb_fail(&r->fb, t->at, "%u scales for %u channels", n, v->nscales);
	if (k)
		return find_constant(r, k, (size_t)v->nscales * 4, &v->scales, &v->scales_key);
	v->scales = (struct span){ fb_bytes(&scale), (size_t)v->nscales * 4 };
	return fb_vector_there(&scale) || fb_fail(&r->fb, t->at, "no scales");
}

static bool read_per_tensor(struct reader *r, struct fb_table *t, struct xvalue *v)
{
	static const struct { enum xdatatype type; int32_t least, most; } range[] = {
		{ XD_QINT8, -128, 127 }, { XD_QUINT8, 0, 255 }, { XD_QINT32, 0, 0 },
	};

	v->scale = fb_f32(t, XPERTENSOR_SCALE, 0);
	v->zero_point = fb_i32(t, XPERTENSOR_ZERO_POINT, 0);
	if (!(v->scale > 0) || !isnormal(v->scale))
		return fb_fail(&r->fb, t->at, "scale %g, it must be a positive number", (double)v->scale);
	for (size_t i = 0; i < sizeof range / sizeof *range; i++)
		if (range[i].type == v->datatype && (v->zero_point < range[i].least || v->zero_point > range[i].most))
			return fb_fail(&r->fb, t->at, "zero point %d of type %s, allowed are %d to %d", v->zero_point,
				       xdatatype_name(v->datatype), range[i].least, range[i].most);
	return true;
}

static bool read_token(struct reader *r, struct fb_table *t, struct xvalue *v)
{
	v->nonbatch_dims = fb_i32(t, XTOKEN_NONBATCH_DIMS, 0);
	return (v->nonbatch_dims >= 0 && v->nonbatch_dims <= v->rank)
		|| fb_fail(&r->fb, t->at, "%d dimensions outside the batch in a value of rank %d", v->nonbatch_dims,
			   v->rank);
}

/* The old form has f32 scales; the runtime converts them. */
static void convert_scales(struct reader *r, const struct fb_vector *scale, struct xvalue *v)
{
	uint16_t *b = fb_array(scale, r->mem, 2);
	float f;

	for (uint32_t i = 0; b && i < v->nscales; i++) {
		memcpy(&f, fb_bytes(scale) + (size_t)i * 4, 4);
		b[i] = bf16_from_float(f);
	}
	v->scales = (struct span){ (const uint8_t *)b, (size_t)v->nscales * 2 };
}

static bool read_group(struct reader *r, struct fb_table *t, struct xvalue *v)
{
	struct fb_vector scale = fb_vector(t, XGROUP_SCALE, 4);
	uint32_t k = fb_u32(t, XGROUP_SCALE_INDEX, 0), n = k ? fb_u32(t, XGROUP_NUM_SCALES, 0) : scale.n;
	uint64_t numel = v->rank == 2 ? (uint64_t)v->dim[0] * v->dim[1] : 0;

	v->channel_dim = fb_i32(t, XGROUP_DIM, 0);
	v->group_size = fb_i32(t, XGROUP_SIZE, 0);
	if (v->datatype != XD_QBINT4 || v->rank != 2 || v->channel_dim < 0 || v->channel_dim > 1)
		return fb_fail(&r->fb, t->at,
			       "groups over channel_dim %d of a %s value of rank %d, allowed is a qbint4 matrix",
			       v->channel_dim, xdatatype_name(v->datatype), v->rank);
	if (v->group_size <= 0 || numel % (uint32_t)v->group_size || numel / (uint32_t)v->group_size > n)
		return fb_fail(&r->fb, t->at, "%u scales for %" PRIu64 " elements in groups of %d", n, numel,
			       v->group_size);
	v->nscales = (uint32_t)(numel / (uint32_t)v->group_size);
	if (k)
		return find_constant(r, k, (size_t)v->nscales * 2, &v->scales, &v->scales_key);
	convert_scales(r, &scale, v);
	return fb_ok(&r->fb);
}

static bool (*const read_quant[])(struct reader *, struct fb_table *, struct xvalue *) = {
	[XQ_CHANNEL] = read_channel, [XQ_TENSOR] = read_per_tensor, [XQ_TOKEN] = read_token, [XQ_GROUP] = read_group,
};

/* Values */

static bool read_dims(struct reader *r, struct fb_table *t, struct xvalue *v)
{
	struct fb_vector dims = fb_vector(t, XTENSOR_DIMS, 4);
	uint32_t rank = fb_u32(t, XTENSOR_NUM_DIMS, 0);

	if (dims.n > XMAX_RANK || rank != dims.n)
		return fb_fail(&r->fb, t->at, "num_dims %u with %u dims, allowed are as many, up to %d", rank, dims.n,
			       XMAX_RANK);
	v->rank = (int)dims.n;
	for (uint32_t d = 0; d < dims.n; d++)
		v->dim[d] = fb_u32_at(&dims, d);
	return true;
}

/* An argument of the delegate call: flags and external id come together, and no two values share one. */
static bool check_external(struct reader *r, struct fb_table *t, struct xvalue *v, uint32_t nexterns)
{
	if (v->flags & ~(uint32_t)(XFLAG_INPUT | XFLAG_OUTPUT))
		return fb_fail(&r->fb, t->at, "flags %#x, allowed are 1 (input) and 2 (output)", v->flags);
	if (!v->flags != (v->external_id == XNONE))
		return fb_fail(&r->fb, t->at, "external id %u with flags %u: only inputs and outputs have one",
			       v->external_id, v->flags);
	if (v->external_id == XNONE)
		return true;
	if (v->external_id >= nexterns)
		return fb_fail(&r->fb, t->at, "external id %u, num_externs is %u", v->external_id, nexterns);
	if (r->external[v->external_id]++)
		return fb_fail(&r->fb, t->at, "external id %u has two values", v->external_id);
	if (r->g->nexterns <= v->external_id)
		r->g->nexterns = v->external_id + 1;
	return !xvalue_is_constant(v) || fb_fail(&r->fb, t->at, "constant is an argument of the call as well");
}

static bool read_tensor(struct reader *r, struct fb_table *t, struct xvalue *v, uint32_t nexterns)
{
	int16_t type = fb_i16(t, XTENSOR_DATATYPE, 0), dq = fb_i16(t, XTENSOR_DQ_DATATYPE, 0);
	uint32_t k = fb_u32(t, XTENSOR_CONSTANT, 0);
	size_t bytes;

	if (type <= XD_INVALID || type >= XD_COUNT)
		return fb_fail(&r->fb, t->at, "datatype %d, allowed are 1 to %d", type, XD_COUNT - 1);
	v->datatype = (enum xdatatype)type;
	v->dq_datatype = (enum xdatatype)dq;
	v->external_id = fb_u32(t, XTENSOR_EXTERNAL_ID, 0);
	v->flags = fb_u32(t, XTENSOR_FLAGS, 0);
	v->id = fb_u32(t, XTENSOR_ID, 0);
	if (dq && (dq != XD_QINT8 || !(v->flags & XFLAG_INPUT)))
		return fb_fail(&r->fb, t->at, "dq_datatype %d, allowed is 3 (qint8) on an input", dq);
	if (!read_dims(r, t, v))
		return false;
	if (!xvalue_bytes(v, &bytes))
		return fb_fail(&r->fb, t->at, "the product of the dims does not fit in 64 bits");
	return (!k || find_constant(r, k, bytes, &v->data, &v->key)) && check_external(r, t, v, nexterns);
}

static bool read_value(struct reader *r, struct fb_table t, struct xvalue *v, uint32_t nexterns)
{
	uint8_t tag = fb_u8(&t, XVALUE_TAG, 0), quant = XQ_NONE;
	struct fb_table tensor = fb_child(&t, XVALUE_TABLE), params = { .fb = &r->fb };

	if (tag == XVALUE_QUANTIZED) {
		struct fb_table q = tensor;

		quant = fb_u8(&q, XQUANTIZED_TAG, 0);
		params = fb_child(&q, XQUANTIZED_PARAMS);
		tensor = fb_child(&q, XQUANTIZED_TENSOR);
		if (quant < XQ_CHANNEL || quant > XQ_GROUP || !params.at)
			return fb_fail(&r->fb, q.at, "quantisation of kind %u, allowed are 1 to %d", quant, XQ_GROUP);
	}
	if ((tag != XVALUE_PLAIN && tag != XVALUE_QUANTIZED) || !tensor.at)
		return fb_fail(&r->fb, t.at, "value of kind %u%s, allowed are 1 and 2", tag,
			       tensor.at ? "" : " without a table");
	if (!read_tensor(r, &tensor, v, nexterns))
		return false;
	v->quant = (enum xquant)quant;
	if (quant)
		return read_quant[quant](r, &params, v);
	return (v->datatype == XD_FP32 || v->datatype == XD_FP16 || v->datatype == XD_BF16 || v->datatype == XD_INT32
		|| v->datatype == XD_PFP32)
		|| fb_fail(&r->fb, tensor.at, "value of type %s without quantisation", xdatatype_name(v->datatype));
}

/* Nodes name values by ids of any size; from here on an id is the value's index. */
static bool read_values(struct reader *r, struct fb_table *graph)
{
	struct fb_vector v = fb_vector(graph, XGRAPH_VALUES, 4);
	uint32_t nexterns = fb_u32(graph, XGRAPH_NUM_EXTERNS, 0);
	struct xgraph *g = r->g;

	if (!fb_vector_there(&v))
		return fb_fail(&r->fb, graph->at, "XNNPACK graph without values");
	if (nexterns > XMAX_EXTERNS)
		return fb_fail(&r->fb, graph->at, "num_externs %u, at most %d are allowed", nexterns, XMAX_EXTERNS);
	g->value = fb_array(&v, r->mem, sizeof *g->value);
	r->file_id = fb_array(&v, r->mem, sizeof *r->file_id);
	r->made = fb_array(&v, r->mem, 1);
	for (uint32_t i = 0; fb_ok(&r->fb) && i < v.n; i++) {
		struct xvalue *x = &g->value[g->nvalues++];

		if (!read_value(r, fb_table_at(&v, i), x, nexterns))
			return false;
		r->file_id[i] = x->id;
		x->id = i;
		r->made[i] = xvalue_is_constant(x) || (x->flags & XFLAG_INPUT);
		if (!map_get(&r->index_of_id, &r->file_id[i], 4))
			map_put(&r->index_of_id, r->mem, &r->file_id[i], 4, x);
	}
	return fb_ok(&r->fb);
}

/* Nodes */

static const struct xvalue *first_input(const struct reader *r, const struct xnode *n)
{
	const struct xnode_type *type = &xnode_types[n->tag];

	for (int i = 0; i < type->nfields; i++)
		if (type->field[i].kind == XF_IN && n->field[i] != XNONE)
			return &r->g->value[n->field[i]];
	return NULL;
}

static bool check_lists(struct reader *r, struct fb_table *t, const struct xnode *n)
{
	int rank = first_input(r, n)->rank;

	for (int i = 0; i < xnode_types[n->tag].nfields; i++)
		if (xnode_types[n->tag].field[i].kind == XF_LIST && xnode_list(n, i)->n != rank)
			return fb_fail(&r->fb, t->at, "%s has %d entries for an input of rank %d",
				       xnode_types[n->tag].field[i].name,
				       xnode_list(n, i)->n, rank);
	return true;
}

static bool check_permutation(struct reader *r, struct fb_table *t, const struct xnode *n)
{
	const struct xlist *perm = &n->list[0];
	unsigned seen = 0;

	if (!check_lists(r, t, n))
		return false;
	for (int i = 0; i < perm->n; i++)
		if (perm->at[i] < (uint32_t)perm->n)
			seen |= 1u << perm->at[i];
	return seen == (1u << perm->n) - 1 || fb_fail(&r->fb, t->at, "perm is no permutation of 0 to %d", perm->n - 1);
}

static bool check_depthwise(struct reader *r, struct fb_table *t, const struct xnode *n)
{
	return n->field[XC_GROUP_IN] || fb_fail(&r->fb, t->at,
						"group_input_channels is 0 (the runtime would divide by it)");
}

static bool (*const check_node[X_TAGS])(struct reader *, struct fb_table *, const struct xnode *) = {
	[X_STATIC_TRANSPOSE] = check_permutation, [X_STATIC_CONSTANT_PAD] = check_lists, [X_STATIC_SLICE] = check_lists,
	[X_DEPTHWISE_CONV2D] = check_depthwise,
};

static bool read_list(struct reader *r, struct fb_table *t, int id, struct xlist *list)
{
	struct fb_vector v = fb_vector(t, id, 4);

	if (v.n > XMAX_RANK)
		return fb_fail(&r->fb, t->at, "list of %u entries, at most %d are allowed", v.n, XMAX_RANK);
	list->at = arena_array(r->mem, v.n, 4);
	list->n = (int)v.n;
	for (uint32_t i = 0; i < v.n; i++)
		list->at[i] = fb_u32_at(&v, i);
	return true;
}

/* An id of the file as index of a value. What is read must hold something; what is written must not. */
static bool resolve(struct reader *r, struct fb_table *t, const struct xfield *f, uint32_t *id)
{
	const struct xvalue *v = map_get(&r->index_of_id, id, 4);

	if (f->optional && *id == XNONE)
		return true;
	if (!v)
		return fb_fail(&r->fb, t->at, "%s %u is no value", f->name, *id);
	if (f->kind == XF_IN ? !r->made[v->id] : r->made[v->id])
		return fb_fail(&r->fb, t->at, "%s %u is %s", f->name, *id,
			       f->kind == XF_IN ? "read before it is written"
			       : "written twice, or a constant or an input");
	*id = v->id;
	return true;
}

static bool read_fields(struct reader *r, struct fb_table *t, struct xnode *n)
{
	const struct xnode_type *type = &xnode_types[n->tag];
	int lists = 0;

	for (int i = 0; i < type->nfields; i++) {
		const struct xfield *f = &type->field[i];

		n->field[i] = fb_u32(t, i, 0);		/* f32 as its bits */
		if (f->kind == XF_UNUSED) {
			n->field[i] = XNONE;
		} else if (f->kind == XF_LIST) {
			n->field[i] = (uint32_t)lists++;
			if (!read_list(r, t, i, &n->list[n->field[i]]))
				return false;
		} else if ((f->kind == XF_IN || f->kind == XF_OUT) && !resolve(r, t, f, &n->field[i])) {
			return false;
		}
	}
	for (int i = 0; i < type->nfields; i++)
		if (type->field[i].kind == XF_OUT)
			r->made[n->field[i]] = true;
	return fb_ok(&r->fb) && (!check_node[n->tag] || check_node[n->tag](r, t, n));
}

static bool read_node(struct reader *r, struct fb_table t, struct xnode *n)
{
	uint8_t tag = fb_u8(&t, XNODE_TAG, 0);
	struct fb_table fields = fb_child(&t, XNODE_TABLE), clamp = fb_child(&t, XNODE_MIN_MAX);

	if (tag < X_ADD || tag >= X_TAGS || !fields.at)
		return fb_fail(&r->fb, t.at, "XNNPACK node of kind %u%s, known are 1 to %d", tag,
			       fields.at ? "" : " without a table", X_TAGS - 1);
	n->tag = (enum xtag)tag;
	n->debug_handle = fb_u32(&t, XNODE_DEBUG_HANDLE, 0);
	n->has_min_max = clamp.at;
	n->min = clamp.at ? fb_f32(&clamp, XMINMAX_MIN, 0) : -INFINITY;
	n->max = clamp.at ? fb_f32(&clamp, XMINMAX_MAX, 0) : INFINITY;
	return read_fields(r, &fields, n);
}

static bool read_nodes(struct reader *r, struct fb_table *graph)
{
	struct fb_vector v = fb_vector(graph, XGRAPH_NODES, 4);
	struct xgraph *g = r->g;

	if (!fb_vector_there(&v))
		return fb_fail(&r->fb, graph->at, "XNNPACK graph without nodes");
	g->node = fb_array(&v, r->mem, sizeof *g->node);
	for (uint32_t i = 0; fb_ok(&r->fb) && i < v.n; i++)
		if (!read_node(r, fb_table_at(&v, i), &g->node[g->nnodes++]))
			return false;
	for (int i = 0; fb_ok(&r->fb) && i < g->nvalues; i++)
		if (g->value[i].flags & XFLAG_OUTPUT && !r->made[i])
			return fb_fail(&r->fb, graph->at, "output %u is never written", r->file_id[i]);
	return fb_ok(&r->fb);
}

bool xblob_read(struct xgraph *g, struct span blob, size_t base, const char *name, xblob_lookup *lookup, void *ctx,
		struct arena *a, struct error *err)
{
	struct error unheard;
	struct reader r = { .g = g, .mem = a, .lookup = lookup, .ctx = ctx };
	struct fb_table graph;

	*g = (struct xgraph){ 0 };
	if (!open_blob(&r, blob, base, name, &graph, err ? err : &unheard))
		return false;
	r.constant = fb_vector(&graph, r.has_header ? XGRAPH_CONSTANT_DATA : XGRAPH_CONSTANT_BUFFER, 4);
	return read_values(&r, &graph) && read_nodes(&r, &graph);
}
