#include "core/format/fb.h"
#include "core/format/pieces.h"
#include "core/format/xblob.h"
#include "core/format/xblob_schema.h"
#include "tests/edit.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>

#define N(array) ((int)(sizeof (array) / sizeof *(array)))
#define FIXTURES "tests/fixtures/programs/"

/* Values of the graph below. The nodes' outputs come behind them. */
enum { X_IN, X_WEIGHT, X_BIAS, X_CHANNEL, X_GROUP, X_QIN, X_TENSOR, X_HALF, X_FIXED };

static const float floats[64] = { 1, 2, 3 };
static const struct { const char *key; size_t bytes; } stored[] = {
	{ "weight", 4 * 4 * 4 }, { "bias", 16 }, { "qs8", 16 }, { "scale_qs8", 16 }, { "qb4", 32 }, { "scale_qb4", 8 },
};

static struct span lookup(void *ctx, const char *key, size_t n)
{
	for (int i = 0; i < N(stored); i++)
		if (n == strlen(stored[i].key) && !memcmp(key, stored[i].key, n))
			return (struct span){ (const uint8_t *)floats, stored[i].bytes };
	return (struct span){ NULL, 0 };
}

static struct xvalue *add_value(struct xgraph *g, enum xdatatype t, int rank, const uint32_t *dim)
{
	struct xvalue *v = &g->value[g->nvalues];

	*v = (struct xvalue){ .id = (uint32_t)g->nvalues++, .datatype = t, .rank = rank, .external_id = XNONE };
	for (int d = 0; d < rank; d++)
		v->dim[d] = dim[d];
	return v;
}
#define DIMS(...) N(((uint32_t[]){ __VA_ARGS__ })), (uint32_t[]){ __VA_ARGS__ }

static struct xvalue *constant(struct xvalue *v, const char *key)
{
	v->key = key;
	v->data.data = (const uint8_t *)floats;
	assert_true(xvalue_bytes(v, &v->data.bytes));
	return v;
}

static void make_values(struct xgraph *g)
{
	struct xvalue *v;

	v = add_value(g, XD_FP32, DIMS(4, 4, 4, 4));
	v->flags = XFLAG_INPUT;
	v->external_id = 0;
	constant(add_value(g, XD_FP32, DIMS(4, 4)), "weight");
	constant(add_value(g, XD_FP32, DIMS(4)), "bias");
	v = constant(add_value(g, XD_QCINT8, DIMS(4, 4)), "qs8");
	v->quant = XQ_CHANNEL;
	v->nscales = 4;
	v->scales = (struct span){ (const uint8_t *)floats, 16 };
	v->scales_key = "scale_qs8";
	v = constant(add_value(g, XD_QBINT4, DIMS(2, 31)), "qb4");
	v->dim[1] = 32;
	v->data.bytes = 32;
	v->quant = XQ_GROUP;
	v->group_size = 16;
	v->nscales = 4;
	v->scales = (struct span){ (const uint8_t *)floats, 8 };
	v->scales_key = "scale_qb4";
	v = add_value(g, XD_QDINT8, DIMS(4, 4));
	v->quant = XQ_TOKEN;
	v->nonbatch_dims = 1;
	v->flags = XFLAG_INPUT;
	v->external_id = 3;
	v = add_value(g, XD_QINT8, DIMS(4, 4));
	v->quant = XQ_TENSOR;
	v->scale = 0.25f;
	v->zero_point = -3;
	v->flags = XFLAG_INPUT;
	v->external_id = 1;
	v = add_value(g, XD_FP16, DIMS());
	v->flags = XFLAG_INPUT;
	v->external_id = 4;
}

/* A node of each type, every input the first value. */
static void make_node(struct xgraph *g, enum xtag tag, struct arena *a)
{
	const struct xnode_type *type = &xnode_types[tag];
	struct xnode *n = &g->node[g->nnodes++];
	int lists = 0;

	*n = (struct xnode){ .tag = tag, .debug_handle = 100 + tag, .min = -INFINITY, .max = INFINITY };
	if (tag % 2) {
		n->has_min_max = true;
		n->min = 0;
		n->max = tag % 3 ? INFINITY : 6;
	}
	for (int i = 0; i < type->nfields; i++)
		switch (type->field[i].kind) {
		case XF_U32: n->field[i] = (uint32_t)(i * 7 + tag) % 5; break;
		case XF_F32: xnode_set_f32(n, i, 0.125f * (float)tag); break;
		case XF_IN: n->field[i] = type->field[i].optional && tag % 2 ? XNONE : (uint32_t)X_IN; break;
		case XF_OUT: n->field[i] = add_value(g, XD_FP32, DIMS(1, 2))->id; break;
		case XF_UNUSED: n->field[i] = XNONE; break;
		case XF_LIST:
			n->field[i] = (uint32_t)lists;
			n->list[lists].n = 4;
			n->list[lists++].at = arena_copy(a, (uint32_t[]){ 2, 0, 3, 1 }, 16);
		}
	if (tag == X_DEPTHWISE_CONV2D)
		n->field[XC_GROUP_IN] = 1;
}

static struct xgraph make_graph(struct arena *a)
{
	struct xgraph g = { arena_array(a, 100, sizeof *g.value), 0, arena_array(a, X_TAGS, sizeof *g.node), 0, 5 };

	make_values(&g);
	for (enum xtag t = X_ADD; t < X_TAGS; t++)
		make_node(&g, t, a);
	g.value[g.nvalues - 1].flags = XFLAG_OUTPUT;
	g.value[g.nvalues - 1].external_id = 2;
	return g;
}

static void same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void same_value(const struct xvalue *a, const struct xvalue *b)
{
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->datatype, b->datatype);
	assert_int_equal(a->rank, b->rank);
	assert_memory_equal(a->dim, b->dim, sizeof a->dim);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->external_id, b->external_id);
	assert_int_equal(a->dq_datatype, b->dq_datatype);
	assert_int_equal(a->data.bytes, b->data.bytes);
	assert_ptr_equal(a->data.data, b->data.data);
	same_text(a->key, b->key);
	assert_int_equal(a->quant, b->quant);
	assert_true(a->scale == b->scale);
	assert_int_equal(a->zero_point, b->zero_point);
	assert_int_equal(a->channel_dim, b->channel_dim);
	assert_int_equal(a->group_size, b->group_size);
	assert_int_equal(a->nonbatch_dims, b->nonbatch_dims);
	assert_int_equal(a->scales.bytes, b->scales.bytes);
	assert_ptr_equal(a->scales.data, b->scales.data);
	same_text(a->scales_key, b->scales_key);
	assert_int_equal(a->nscales, b->nscales);
}

static void same_graph(const struct xgraph *a, const struct xgraph *b)
{
	assert_int_equal(a->nvalues, b->nvalues);
	assert_int_equal(a->nnodes, b->nnodes);
	assert_int_equal(a->nexterns, b->nexterns);
	for (int i = 0; i < a->nvalues; i++)
		same_value(&a->value[i], &b->value[i]);
	for (int i = 0; i < a->nnodes; i++) {
		const struct xnode *x = &a->node[i], *y = &b->node[i];

		assert_int_equal(x->tag, y->tag);
		assert_int_equal(x->debug_handle, y->debug_handle);
		assert_int_equal(x->has_min_max, y->has_min_max);
		assert_true(x->min == y->min && x->max == y->max);
		assert_memory_equal(x->field, y->field, sizeof x->field);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(x->list[k].n, y->list[k].n);
			if (x->list[k].n)
				assert_memory_equal(x->list[k].at, y->list[k].at, (size_t)x->list[k].n * 4);
		}
	}
}

static void every_node_and_value_comes_back(void **unused)
{
	struct arena a = { 0 };
	struct xgraph g = make_graph(&a), h;
	struct error err = { 0 };
	struct span blob;

	assert_true(xblob_write(&g, &a, &blob, &err));
	if (!xblob_read(&h, blob, 0, "a.pte", lookup, NULL, &a, &err))
		fail_msg("%s", err.text);
	same_graph(&g, &h);
	assert_int_equal(blob.bytes % 16, 0);
	assert_memory_equal(blob.data + 4, "XH00\x1e\0\x20\0\0\0", 10);
	arena_free(&a);
}

static void real_delegates_survive_a_rewrite(void **unused)
{
	static const char *const name[] = { "linear", "conv_qs8", "linear_int4" };

	for (int i = 0; i < N(name); i++) {
		struct arena a = { 0 };
		struct file f;
		struct pte p;
		struct xgraph g, h;
		struct span blob;
		struct error err = { 0 };
		const struct pte_delegate *d;

		assert_true(file_open(&f, arena_printf(&a, FIXTURES "%s.pte", name[i]), &err) && pte_read(&p, &f, &a,
			&err));
		d = &p.plan[0].delegate[0];
		assert_string_equal(d->id, "XnnpackBackend");
		if (!xblob_read(&g, d->blob, 0, name[i], (xblob_lookup *)NULL, NULL, &a, &err))
			fail_msg("%s", err.text);
		assert_true(g.nnodes > 0);
		assert_true(xblob_write(&g, &a, &blob, &err));
		assert_true(blob.bytes <= d->blob.bytes);
		assert_true(xblob_read(&h, blob, 0, name[i], NULL, NULL, &a, &err));
		same_graph(&g, &h);
		file_close(&f);
		arena_free(&a);
	}
}

static void missing_keys_leave_constants_without_data(void **unused)
{
	struct arena a = { 0 };
	struct xgraph g = make_graph(&a), h;
	struct span blob;

	assert_true(xblob_write(&g, &a, &blob, NULL));
	assert_true(xblob_read(&h, blob, 0, "a", NULL, NULL, &a, NULL));
	assert_null(h.value[X_WEIGHT].data.data);
	assert_int_equal(h.value[X_WEIGHT].data.bytes, 64);
	assert_true(xvalue_is_constant(&h.value[X_WEIGHT]));
	assert_false(xvalue_is_constant(&h.value[X_IN]));
	assert_null(h.value[X_CHANNEL].scales.data);
	assert_string_equal(h.value[X_CHANNEL].scales_key, "scale_qs8");
	arena_free(&a);
}

static void graphs_that_cannot_be_stored_are_refused(void **unused)
{
	static const char *const error[] = { "value 1 has bytes but no key", "value 4 has group scales but no key",
		"value 3 has no scales", "value 1 of type invalid and rank 2", "node 1 is of kind 99" };
	struct arena a = { 0 };
	struct span blob;
	struct error err;

	for (int i = 0; i < N(error); i++) {
		struct xgraph g = make_graph(&a);

		switch (i) {
		case 0: g.value[X_WEIGHT].key = NULL; break;
		case 1: g.value[X_GROUP].scales_key = NULL; break;
		case 2: g.value[X_CHANNEL].scales_key = NULL; g.value[X_CHANNEL].scales.data = NULL; break;
		case 3: g.value[X_WEIGHT].datatype = XD_INVALID; break;
		case 4: g.node[1].tag = 99; break;
		}
		assert_false(xblob_write(&g, &a, &blob, &err));
		assert_non_null(strstr(err.text, error[i]));
	}
	arena_free(&a);
}

static void shared_scales_may_stand_in_the_blob(void **unused)
{
	struct arena a = { 0 };
	struct xgraph g = make_graph(&a), h;
	struct span blob;

	g.value[X_CHANNEL].scales_key = NULL;
	assert_true(xblob_write(&g, &a, &blob, NULL));
	assert_true(xblob_read(&h, blob, 0, "a", lookup, NULL, &a, NULL));
	assert_null(h.value[X_CHANNEL].scales_key);
	assert_memory_equal(h.value[X_CHANNEL].scales.data, floats, 16);
	arena_free(&a);
}

/* Values and nodes by position in the graph above. */
#define PLAIN(i) XGRAPH_VALUES, i, XVALUE_TABLE, CHILD
#define QUANTIZED(i) XGRAPH_VALUES, i, XVALUE_TABLE, CHILD, XQUANTIZED_TENSOR, CHILD
#define PARAMS(i) XGRAPH_VALUES, i, XVALUE_TABLE, CHILD, XQUANTIZED_PARAMS, CHILD
#define NODE(tag) XGRAPH_NODES, (tag) - 1
#define FIELDS(tag) XGRAPH_NODES, (tag) - 1, XNODE_TABLE, CHILD

static const struct damage bad[] = {
	{ "graph without values", { END }, DROP(XGRAPH_VALUES) },
	{ "graph without nodes", { END }, DROP(XGRAPH_NODES) },
	{ "num_externs 4097", { END }, SET(XGRAPH_NUM_EXTERNS, 4, 4097) },
	{ "external id 4, num_externs is 4", { END }, SET(XGRAPH_NUM_EXTERNS, 4, 4) },
	{ "constant 1, the blob has 1", { END }, COUNT(XGRAPH_CONSTANT_DATA, 1) },
	{ "constant 1, the blob has 0", { END }, DROP(XGRAPH_CONSTANT_DATA) },
	{ "constant 1, 64 bytes at 18446744073709551615", { XGRAPH_CONSTANT_DATA, 1, END }, DROP(XCONSTANT_KEY) },
	/* values */
	{ "value of kind 3", { XGRAPH_VALUES, X_IN, END }, SET(XVALUE_TAG, 1, 3) },
	{ "value of kind 0", { XGRAPH_VALUES, X_IN, END }, DROP(XVALUE_TAG) },
	{ "value of kind 1 without a table", { XGRAPH_VALUES, X_IN, END }, DROP(XVALUE_TABLE) },
	{ "value of kind 2 without a table", { XGRAPH_VALUES, X_CHANNEL, XVALUE_TABLE, CHILD, END },
	 DROP(XQUANTIZED_TENSOR) },
	{ "datatype 0", { PLAIN(X_IN), END }, DROP(XTENSOR_DATATYPE) },
	{ "datatype 15", { PLAIN(X_IN), END }, SET(XTENSOR_DATATYPE, 2, 15) },
	{ "datatype -1", { PLAIN(X_IN), END }, SET(XTENSOR_DATATYPE, 2, -1) },
	{ "value of type qint8 without quantisation", { PLAIN(X_IN), END }, SET(XTENSOR_DATATYPE, 2, XD_QINT8) },
	{ "dq_datatype", { PLAIN(X_IN), END }, ALIAS(XTENSOR_DQ_DATATYPE, XTENSOR_DATATYPE) },
	{ "num_dims 9 with 4 dims", { PLAIN(X_IN), END }, SET(XTENSOR_NUM_DIMS, 4, 9) },
	{ "num_dims 4 with 7 dims", { PLAIN(X_IN), END }, COUNT(XTENSOR_DIMS, 7) },
	{ "constant 99, the blob has 7", { PLAIN(X_WEIGHT), END }, SET(XTENSOR_CONSTANT, 4, 99) },
	{ "constant 1 has 64 bytes, its tensor needs 80", { PLAIN(X_WEIGHT), END }, ITEM(XTENSOR_DIMS, 0, 4, 5) },
	{ ", num_externs is 5", { PLAIN(X_IN), END }, ALIAS(XTENSOR_EXTERNAL_ID, XTENSOR_DIMS) },
	{ "external id 0 has two values", { QUANTIZED(X_TENSOR), END }, DROP(XTENSOR_EXTERNAL_ID) },
	{ "external id 0 with flags 0", { PLAIN(X_WEIGHT), END }, DROP(XTENSOR_EXTERNAL_ID) },
	{ "external id 0 with flags 0", { PLAIN(X_IN), END }, DROP(XTENSOR_FLAGS) },
	{ "flags 0x5", { PLAIN(X_IN), END }, SET(XTENSOR_FLAGS, 4, 5) },
	{ "external id 4294967295 with flags", { PLAIN(X_HALF), END }, SET(XTENSOR_EXTERNAL_ID, 4, -1) },
	/* quantisation */
	{ "quantisation of kind 0", { XGRAPH_VALUES, X_CHANNEL, XVALUE_TABLE, CHILD, END }, DROP(XQUANTIZED_TAG) },
	{ "quantisation of kind 5", { XGRAPH_VALUES, X_CHANNEL, XVALUE_TABLE, CHILD, END }, SET(XQUANTIZED_TAG, 1, 5) },
	{ "quantisation of kind 1", { XGRAPH_VALUES, X_CHANNEL, XVALUE_TABLE, CHILD, END }, DROP(XQUANTIZED_PARAMS) },
	{ "3 scales for 4 channels", { PARAMS(X_CHANNEL), END }, SET(XCHANNEL_NUM_SCALES, 4, 3) },
	{ "0 scales for 4 channels", { PARAMS(X_CHANNEL), END }, DROP(XCHANNEL_SCALE_INDEX) },
	{ "constant 9, the blob has 7", { PARAMS(X_CHANNEL), END }, SET(XCHANNEL_SCALE_INDEX, 4, 9) },
	{ "channel_dim", { PARAMS(X_CHANNEL), END }, ALIAS(XCHANNEL_DIM, XCHANNEL_NUM_SCALES) },
	{ "scale 0, it must be a positive number", { PARAMS(X_TENSOR), END }, DROP(XPERTENSOR_SCALE) },
	{ "scale -1, it must", { PARAMS(X_TENSOR), END }, SET(XPERTENSOR_SCALE, 4, 0xbf800000) },
	{ "it must be a positive number", { PARAMS(X_TENSOR), END }, SET(XPERTENSOR_SCALE, 4, 0x7fc00000) },
	{ "it must be a positive number", { PARAMS(X_TENSOR), END }, SET(XPERTENSOR_SCALE, 4, 0x7f800000) },
	{ "zero point 128 of type qint8", { PARAMS(X_TENSOR), END }, SET(XPERTENSOR_ZERO_POINT, 4, 128) },
	{ "zero point -129 of type qint8", { PARAMS(X_TENSOR), END }, SET(XPERTENSOR_ZERO_POINT, 4, -129) },
	{ "3 dimensions outside the batch", { PARAMS(X_QIN), END }, SET(XTOKEN_NONBATCH_DIMS, 4, 3) },
	{ "-1 dimensions outside the batch", { PARAMS(X_QIN), END }, SET(XTOKEN_NONBATCH_DIMS, 4, -1) },
	{ "in groups of 0", { PARAMS(X_GROUP), END }, DROP(XGROUP_SIZE) },
	{ "in groups of 7", { PARAMS(X_GROUP), END }, SET(XGROUP_SIZE, 4, 7) },
	{ "4 scales for 64 elements in groups of 8", { PARAMS(X_GROUP), END }, SET(XGROUP_SIZE, 4, 8) },
	{ "groups over channel_dim 0 of a qcint4 value", { QUANTIZED(X_GROUP), END }, SET(XTENSOR_DATATYPE, 2,
		XD_QCINT4) },
	{ "groups over channel_dim", { PARAMS(X_GROUP), END }, ALIAS(XGROUP_DIM, XGROUP_SIZE) },
	/* nodes */
	{ "node of kind 0", { NODE(X_ADD), END }, DROP(XNODE_TAG) },
	{ "node of kind 48", { NODE(X_ADD), END }, SET(XNODE_TAG, 1, X_TAGS) },
	{ "node of kind 1 without a table", { NODE(X_ADD), END }, DROP(XNODE_TABLE) },
	{ "output_id 1000 is no value", { FIELDS(X_ADD), END }, SET(XB_OUT, 4, 1000) },
	{ "output_id 1 is written twice, or a constant", { FIELDS(X_ADD), END }, SET(XB_OUT, 4, X_WEIGHT) },
	{ "output_id 0 is written twice, or a constant", { FIELDS(X_ADD), END }, DROP(XB_OUT) },
	{ "output_id 8 is written twice", { FIELDS(X_FULLY_CONNECTED), END }, SET(XFC_OUT, 4, X_FIXED) },
	{ "perm is no permutation", { FIELDS(X_STATIC_TRANSPOSE), END }, ITEM(1, 0, 4, 0) },
	{ "perm is no permutation", { FIELDS(X_STATIC_TRANSPOSE), END }, ITEM(1, 0, 4, 99) },
	{ "perm has 3 entries for an input of rank 4", { FIELDS(X_STATIC_TRANSPOSE), END }, COUNT(1, 3) },
	{ "sizes has 0 entries for an input of rank 4", { FIELDS(X_STATIC_SLICE), END }, DROP(2) },
	{ "pre_paddings has 0 entries", { FIELDS(X_STATIC_CONSTANT_PAD), END }, DROP(0) },
	{ "list of 7 entries", { FIELDS(X_STATIC_RESHAPE), END }, COUNT(1, 7) },
	{ "group_input_channels is 0", { FIELDS(X_DEPTHWISE_CONV2D), END }, DROP(XC_GROUP_IN) },
};

static struct span damaged(struct span good, const struct damage *d, struct arena *a)
{
	struct edit e;
	struct span out;
	uint32_t at, bytes;
	uint8_t *p;

	memcpy(&at, good.data + 10, 4);
	memcpy(&bytes, good.data + 14, 4);
	edit_open(&e, good.data + at, bytes);
	edit_apply(&e, d);
	p = arena_alloc(a, at + e.bytes);
	memcpy(p, good.data, at);
	memcpy(p + at, e.data, e.bytes);
	bytes = (uint32_t)e.bytes;
	memcpy(p + 14, &bytes, 4);
	bytes += at;
	memcpy(p + 18, &bytes, 4);
	out = (struct span){ p, at + e.bytes };
	edit_free(&e);
	return out;
}

static void damage_is_an_error(void **unused)
{
	struct arena a = { 0 };
	struct xgraph g = make_graph(&a), h;
	struct span good;
	struct error err;

	assert_true(xblob_write(&g, &a, &good, NULL));
	for (int i = 0; i < N(bad); i++) {
		if (xblob_read(&h, damaged(good, &bad[i], &a), 4000, "a.pte", lookup, NULL, &a, &err))
			fail_msg("row %d: read, though it should say \"%s\"", i, bad[i].error);
		assert_int_equal(strncmp(err.text, "a.pte: offset ", 14), 0);
		assert_true(atoi(err.text + 14) >= 4032);
		if (!strstr(err.text, bad[i].error))
			fail_msg("row %d: \"%s\" does not say \"%s\"", i, err.text, bad[i].error);
	}
	arena_free(&a);
}

static const struct { const char *error; size_t at; int width; int64_t value; } head[] = {
	{ "identifier \"XN02\"", 39, 1, '2' },
	{ NULL, 39, 1, '0' },
	{ "table lies outside", 7, 1, '1' },
	{ NULL, 8, 2, 99 },
	{ "tables of", 10, 4, -1 },
	{ "tables of", 14, 4, -1 },
	{ "too few for a flatbuffer", 14, 4, 7 },
	{ "constants of 0 at 0", 18, 4, 0 },
	{ "constants of 0 at 4294967295", 18, 4, -1 },
	{ "constants of 18446744073709551615 at", 22, 8, -1 },
	{ "constants of 1 at", 22, 8, 1 },
};

static void headers_are_checked(void **unused)
{
	struct arena a = { 0 };
	struct xgraph g = make_graph(&a), h;
	struct span good;
	struct error err;

	assert_true(xblob_write(&g, &a, &good, NULL));
	for (int i = 0; i < N(head); i++) {
		uint8_t *p = arena_copy(&a, good.data, good.bytes);
		bool ok;

		memcpy(p + head[i].at, &head[i].value, (size_t)head[i].width);
		ok = xblob_read(&h, (struct span){ p, good.bytes }, 0, "a", lookup, NULL, &a, &err);
		if (ok != !head[i].error)
			fail_msg("row %d: %s", i, ok ? "read" : err.text);
		if (!ok && !strstr(err.text, head[i].error))
			fail_msg("row %d: \"%s\" does not say \"%s\"", i, err.text, head[i].error);
	}
	for (size_t n = 0; n < good.bytes - 15; n++) {
		struct span cut = { arena_copy(&a, good.data, n), n };

		assert_false(xblob_read(&h, cut, 0, "a", lookup, NULL, &a, &err));
		assert_int_equal(n >= 8 && n < 30, strstr(err.text, "its header has 30") != NULL);
	}
	arena_free(&a);
}

static void the_order_of_nodes_is_checked(void **unused)
{
	struct arena a = { 0 };
	struct xgraph g = make_graph(&a), h;
	struct error err;
	struct span blob;

	g.node[2].field[XU_IN] = g.node[3].field[XU_OUT];
	assert_true(xblob_write(&g, &a, &blob, NULL));
	assert_false(xblob_read(&h, blob, 0, "a", lookup, NULL, &a, &err));
	assert_non_null(strstr(err.text, "is read before it is written"));
	g = make_graph(&a);
	g.nnodes--;
	assert_true(xblob_write(&g, &a, &blob, NULL));
	assert_false(xblob_read(&h, blob, 0, "a", lookup, NULL, &a, &err));
	assert_non_null(strstr(err.text, "output 55 is never written"));
	g = make_graph(&a);
	g.node[0].field[XB_IN2] = 1000;
	assert_true(xblob_write(&g, &a, &blob, NULL));
	assert_false(xblob_read(&h, blob, 0, "a", lookup, NULL, &a, &err));
	assert_non_null(strstr(err.text, "input2_id 1000 is no value"));
	g = make_graph(&a);
	g.value[X_WEIGHT].flags = XFLAG_OUTPUT;
	g.value[X_WEIGHT].external_id = 5;
	assert_true(xblob_write(&g, &a, &blob, NULL));
	assert_false(xblob_read(&h, blob, 0, "a", lookup, NULL, &a, &err));
	assert_non_null(strstr(err.text, "constant is an argument of the call as well"));
	arena_free(&a);
}

/* Ids are free: read, they are positions; of two equal ones the first counts. */
static void ids_become_positions(void **unused)
{
	struct arena a = { 0 };
	struct xgraph g = make_graph(&a), h;
	struct span blob;

	g.value[X_WEIGHT].id = 7000000;
	g.value[X_BIAS].id = 7000000;
	g.node[0].field[XB_IN2] = 7000000;
	assert_ptr_equal(xgraph_value(&g, 7000000), &g.value[X_WEIGHT]);
	assert_null(xgraph_value(&g, 7000001));
	assert_true(xblob_write(&g, &a, &blob, NULL));
	assert_true(xblob_read(&h, blob, 0, "a", lookup, NULL, &a, NULL));
	assert_int_equal(h.node[0].field[XB_IN2], X_WEIGHT);
	for (int i = 0; i < h.nvalues; i++)
		assert_ptr_equal(xgraph_value(&h, (uint32_t)i), &h.value[i]);
	arena_free(&a);
}

/* One Copy of a constant, in the forms that the stock runtime reads and we do not write. */
static fbref old_value(struct fbb *b, uint32_t constant_index, uint32_t id, uint32_t external, uint32_t flags)
{
	static const uint32_t dim[1] = { 4 };
	fbref dims = fbb_vector(b, dim, 1, 4, 4), v;

	fbb_put16(b, XTENSOR_DATATYPE, XD_FP32, 0);
	fbb_put32(b, XTENSOR_NUM_DIMS, 1, 0);
	fbb_putref(b, XTENSOR_DIMS, dims);
	fbb_put32(b, XTENSOR_CONSTANT, constant_index, 0);
	fbb_put32(b, XTENSOR_EXTERNAL_ID, external, 0);
	fbb_put32(b, XTENSOR_FLAGS, flags, 0);
	fbb_put32(b, XTENSOR_ID, id, 0);
	v = fbb_end(b);
	fbb_put8(b, XVALUE_TAG, XVALUE_PLAIN, 0);
	fbb_putref(b, XVALUE_TABLE, v);
	return fbb_end(b);
}

static fbref old_node(struct fbb *b)
{
	fbref n;

	fbb_put32(b, XU_IN, 5, 0);
	fbb_put32(b, XU_OUT, 6, 0);
	n = fbb_end(b);
	fbb_put8(b, XNODE_TAG, X_COPY, 0);
	fbb_putref(b, XNODE_TABLE, n);
	return fbb_end(b);
}

static void old_tables(struct fbb *b, bool header, uint64_t offset, size_t bytes)
{
	fbref values[2] = { old_value(b, 1, 5, XNONE, 0), old_value(b, 0, 6, 0, XFLAG_OUTPUT) }, node = old_node(b);
	fbref xvalues = fbb_refs(b, values, 2), xnodes = fbb_refs(b, &node, 1), empty = fbb_end(b), entry, v, all;

	if (header) {
		fbb_put64(b, XCONSTANT_OFFSET, offset, 0);
		fbb_put64(b, XCONSTANT_SIZE, bytes, 0);
	} else if (bytes) {
		v = fbb_vector(b, floats, bytes, 1, 16);
		fbb_putref(b, XBUFFER_STORAGE, v);
	}
	entry = fbb_end(b);
	all = fbb_refs(b, (fbref[]){ empty, entry }, 2);
	fbb_putref(b, XGRAPH_VALUES, xvalues);
	fbb_putref(b, XGRAPH_NODES, xnodes);
	fbb_put32(b, XGRAPH_NUM_EXTERNS, 1, 0);
	fbb_putref(b, header ? XGRAPH_CONSTANT_DATA : XGRAPH_CONSTANT_BUFFER, all);
}

static struct span old_blob(bool header, uint64_t offset, size_t bytes, struct arena *a)
{
	struct fbb b = { 0 };
	uint32_t at = header ? XHEADER_PADDED : 0, length, data_at;
	uint64_t data_bytes = 64;
	struct span s;
	uint8_t *data, *out;
	size_t n;

	old_tables(&b, header, offset, bytes);
	assert_true(fbb_finish(&b, fbb_end(&b), "XN00", 0, &data, &n, NULL));
	length = (uint32_t)n;
	data_at = at + length;
	out = arena_alloc(a, data_at + 64);
	memcpy(out + at, data, n);
	if (header) {
		memcpy(out + 4, "XH00", 4);
		memcpy(out + 10, &at, 4);
		memcpy(out + 14, &length, 4);
		memcpy(out + 18, &data_at, 4);
		memcpy(out + 22, &data_bytes, 8);
		memcpy(out + data_at, floats, 64);
	}
	s = (struct span){ out, data_at + (header ? 64 : 0) };
	fbb_free(&b);
	return s;
}

static void constants_in_the_blob_are_read(void **unused)
{
	static const struct { bool header; uint64_t offset; size_t bytes; const char *error; } row[] = {
		{ false, 0, 16, NULL }, { true, 0, 16, NULL }, { true, 48, 16, NULL }, { true, 0, 64, NULL },
		{ false, 0, 0, "constant 1 has no bytes" },
		{ false, 0, 15, "constant 1 has 15 bytes, its tensor needs 16" },
		{ true, 0, 15, "constant 1 has 15 bytes, its tensor needs 16" },
		{ true, 49, 16, "16 bytes at 49 of a region of 64" },
		{ true, UINT64_MAX, 16, "16 bytes at 18446744073709551615 of a region" },
		{ true, UINT64_MAX - 8, 16, "16 bytes at 18446744073709551607 of a region" },
	};
	struct arena a = { 0 };
	struct error err;
	struct xgraph g;

	for (int i = 0; i < N(row); i++) {
		struct span blob = old_blob(row[i].header, row[i].offset, row[i].bytes, &a);
		bool ok = xblob_read(&g, blob, 0, "a", lookup, NULL, &a, &err);

		if (ok != !row[i].error)
			fail_msg("row %d: %s", i, ok ? "read" : err.text);
		if (!ok) {
			assert_non_null(strstr(err.text, row[i].error));
			continue;
		}
		assert_int_equal(g.value[0].data.bytes, 16);
		assert_memory_equal(g.value[0].data.data, (const uint8_t *)floats + row[i].offset, 16);
		assert_int_equal(g.node[0].field[XU_IN], 0);
		assert_int_equal(g.node[0].field[XU_OUT], 1);
	}
	arena_free(&a);
}

/* The old form of group scales: f32 inside the tables, read as bf16. */
static void old_group_scales_are_converted(void **unused)
{
	static const uint32_t dim[2] = { 2, 32 };
	static const float scale[4] = { 1, 0.5f, -2, 1.0f / 3 };
	static const uint16_t bf16[4] = { 0x3f80, 0x3f00, 0xc000, 0x3eab };
	struct arena a = { 0 };
	struct fbb b = { 0 };
	struct xgraph g;
	struct error err = { 0 };
	fbref dims = fbb_vector(&b, dim, 2, 4, 4), scales = fbb_vector(&b, scale, 4, 4, 4), tensor, params, v, none;
	uint8_t *data;
	size_t n;

	fbb_put16(&b, XTENSOR_DATATYPE, XD_QBINT4, 0);
	fbb_put32(&b, XTENSOR_NUM_DIMS, 2, 0);
	fbb_putref(&b, XTENSOR_DIMS, dims);
	fbb_put32(&b, XTENSOR_EXTERNAL_ID, XNONE, 0);
	tensor = fbb_end(&b);
	fbb_putref(&b, XGROUP_SCALE, scales);
	fbb_put32(&b, XGROUP_SIZE, 16, 0);
	params = fbb_end(&b);
	fbb_putref(&b, XQUANTIZED_TENSOR, tensor);
	fbb_put8(&b, XQUANTIZED_TAG, XQ_GROUP, 0);
	fbb_putref(&b, XQUANTIZED_PARAMS, params);
	v = fbb_end(&b);
	fbb_put8(&b, XVALUE_TAG, XVALUE_QUANTIZED, 0);
	fbb_putref(&b, XVALUE_TABLE, v);
	v = fbb_end(&b);
	v = fbb_refs(&b, &v, 1);
	none = fbb_refs(&b, NULL, 0);
	fbb_putref(&b, XGRAPH_VALUES, v);
	fbb_putref(&b, XGRAPH_NODES, none);
	assert_true(fbb_finish(&b, fbb_end(&b), "XN00", 0, &data, &n, NULL));
	if (!xblob_read(&g, (struct span){ data, n }, 0, "a", lookup, NULL, &a, &err))
		fail_msg("%s", err.text);
	assert_int_equal(g.value[0].nscales, 4);
	assert_int_equal(g.value[0].scales.bytes, 8);
	assert_memory_equal(g.value[0].scales.data, bf16, 8);
	fbb_free(&b);
	arena_free(&a);
}

static void sizes_of_values(void **unused)
{
	static const struct { enum xdatatype t; uint32_t dim[2]; size_t bytes; } row[] = {
		{ XD_FP32, { 3, 5 }, 60 }, { XD_FP16, { 3, 5 }, 30 }, { XD_BF16, { 3, 5 }, 30 }, { XD_QINT8, { 3, 5 },
			15 },
		{ XD_QCINT4, { 3, 5 }, 9 }, { XD_QBINT4, { 3, 6 }, 9 }, { XD_QCINT32, { 3, 5 }, 60 }, { XD_INT32, { 0,
			5 }, 0 },
	};
	struct xvalue huge = { .datatype = XD_FP32, .rank = 3, .dim = { UINT32_MAX, UINT32_MAX, 2 } };
	size_t bytes;

	for (int i = 0; i < N(row); i++) {
		struct xvalue v = { .datatype = row[i].t, .rank = 2, .dim = { row[i].dim[0], row[i].dim[1] } };

		assert_true(xvalue_bytes(&v, &bytes));
		assert_int_equal(bytes, row[i].bytes);
	}
	assert_false(xvalue_bytes(&huge, &bytes));
}

/* What a node reads as filter or bias it packs; everything else stored is read at run time. */
static void constants_are_packed_or_read_at_run_time(void **unused)
{
	static const struct { enum xtag tag; int field; } packed[] = {
		{ X_FULLY_CONNECTED, XFC_FILTER }, { X_FULLY_CONNECTED, XFC_BIAS }, { X_CONV2D, XC_FILTER }, { X_CONV2D, XC_BIAS },
		{ X_DEPTHWISE_CONV2D, XC_FILTER }, { X_DEPTHWISE_CONV2D, XC_BIAS }, { X_CONV_TRANSPOSE_2D, XC_FILTER },
		{ X_CONV_TRANSPOSE_2D, XC_BIAS },
	};

	for (int tag = 1; tag < X_TAGS; tag++)
		for (int k = 0; k < xnode_types[tag].nfields; k++) {
			struct xvalue value[] = { { .id = 0 }, { .id = 1, .data = { (const uint8_t *)"abcd", 4 } } };
			struct xnode n = { .tag = (enum xtag)tag };
			struct xgraph g = { value, 2, &n, 1, 0 };
			bool filter = false;

			if (xnode_types[tag].field[k].kind != XF_IN)
				continue;
			n.field[k] = 1;
			for (int i = 0; i < N(packed); i++)
				filter |= packed[i].tag == n.tag && packed[i].field == k;
			assert_ptr_equal(xgraph_read_unpacked(&g), filter ? NULL : &value[1]);
			value[1].data.data = NULL;
			assert_null(xgraph_read_unpacked(&g));
			value[1].key = "in named data";
			assert_ptr_equal(xgraph_read_unpacked(&g), filter ? NULL : &value[1]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_node_and_value_comes_back),
		cmocka_unit_test(real_delegates_survive_a_rewrite),
		cmocka_unit_test(missing_keys_leave_constants_without_data),
		cmocka_unit_test(graphs_that_cannot_be_stored_are_refused),
		cmocka_unit_test(shared_scales_may_stand_in_the_blob),
		cmocka_unit_test(damage_is_an_error),
		cmocka_unit_test(headers_are_checked),
		cmocka_unit_test(the_order_of_nodes_is_checked),
		cmocka_unit_test(ids_become_positions),
		cmocka_unit_test(constants_in_the_blob_are_read),
		cmocka_unit_test(old_group_scales_are_converted),
		cmocka_unit_test(sizes_of_values),
		cmocka_unit_test(constants_are_packed_or_read_at_run_time),
	};

	return RUN_TAP(tests);
}
