#include "core/xnn/raising.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool raise_fail(struct raising *r, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return error_set(r->err, ERROR_UNSUPPORTED, "XNNPACK node %d: %s", r->origin.dnode, text);
}

/* ---- nodes ---- */

static struct value *make(struct raising *r, enum origin_kind kind, const char *op, const struct arg *arg, int nargs)
{
	struct value *v;

	for (int i = 0; i < nargs; i++)
		if (arg[i].kind == ARG_VALUE && !arg[i].value)	/* what made it has failed and said why */
			return NULL;
	v = op_build(r->g, NULL, op, arg, nargs, r->err);
	if (!v)
		return NULL;
	v->def->group = r->group;
	v->def->origin = r->origin;
	v->def->origin.kind = kind;
	v->def->origin.doubt = kind == ORIGIN_FILE ? r->origin.doubt : DOUBT_NONE;
	v->def->origin.serial = kind == ORIGIN_FILE ? 0 : ++r->g->serial;
	return v;
}

struct value *raise_main(struct raising *r, const char *op, const struct arg *arg, int nargs)
{
	return make(r, ORIGIN_FILE, op, arg, nargs);
}

struct value *raise_side(struct raising *r, const char *op, const struct arg *arg, int nargs)
{
	return make(r, ORIGIN_PASS, op, arg, nargs);
}

static struct arg some(struct value *v)	/* stays a value when there is none, for make to see */
{
	return (struct arg){ .kind = ARG_VALUE, .value = v };
}

struct value *raise_permute(struct raising *r, struct value *v, const int64_t *perm)
{
	return v ? raise_side(r, "aten.permute_copy.default", ARGS(V(v), arg_ints(r->g, perm, v->rank))) : NULL;
}

struct value *raise_view(struct raising *r, struct value *v, int rank, const int64_t *size)
{
	return raise_side(r, "aten.view_copy.default", ARGS(some(v), arg_ints(r->g, size, rank)));
}

struct value *raise_cast(struct raising *r, struct value *v, enum dtype t)
{
	if (v->dtype == t)
		return v;
	return raise_side(r, "dim_order_ops._to_dim_order_copy.default", ARGS(some(v), I(t), NONE, NONE,
			  NONE, B(false), NONE));
}

struct value *raise_clamp(struct raising *r, struct value *v, float min, float max, bool is_main)
{
	enum origin_kind kind = is_main ? ORIGIN_FILE : ORIGIN_PASS;
	struct arg low = isfinite(min) ? D(min) : NONE, high = isfinite(max) ? D(max) : NONE;

	if (min == 0 && max == INFINITY)
		return make(r, kind, "aten.relu.default", ARGS(some(v)));
	if (low.kind && high.kind)
		return make(r, kind, "aten.hardtanh.default", ARGS(some(v), low, high));
	if (low.kind || high.kind)
		return make(r, kind, "aten.clamp.default", ARGS(some(v), low, high));
	if (min != -INFINITY || max != INFINITY)
		return raise_fail(r, "bounds of %g and %g", (double)min, (double)max), NULL;
	return v;
}

/* ---- values ---- */

static bool dims_of(const struct xvalue *x, int64_t *size)
{
	for (int d = 0; d < x->rank; d++)
		size[d] = x->dim[d];
	return true;
}

static bool seen_so(const struct value *v, int rank, const int64_t *size, const uint8_t *dim_order)
{
	return v && v->rank == rank && !memcmp(v->size, size, (size_t)rank * sizeof *size) &&
	       !memcmp(v->dim_order, dim_order, (size_t)rank);
}

struct value *raise_constant(struct raising *r, uint32_t id, int rank, const int64_t *size, const uint8_t *dim_order)
{
	const struct xvalue *x = &r->x->value[id];
	enum dtype t = raise_dtype(x->datatype);
	struct raised *of = &r->value[id];
	struct value *v;
	size_t bytes;

	if (seen_so(of->stored, rank, size, dim_order))
		return of->stored;
	if (!xvalue_is_constant(x) || t == DTYPE_CODES)
		return raise_fail(r, "value %u of type %s is no constant", id, xdatatype_name(x->datatype)), NULL;
	v = graph_value(r->g, VALUE_CONSTANT, t, rank, size);
	memcpy(v->dim_order, dim_order, (size_t)rank);
	if (t == DTYPE_INT4 && !value_is_default_order(v))
		return raise_fail(r, "4-bit weights in another order than rows"), NULL;
	if (!dtype_tensor_bytes(t, rank, size, &bytes) || (x->data.data && bytes != x->data.bytes))
		return raise_fail(r, "constant %u has %zu bytes, %zu are needed", id, x->data.bytes, bytes), NULL;
	v->data = x->data.data;
	return of->stored = v;
}

struct value *raise_bias(struct raising *r, uint32_t id, int64_t channels)
{
	const struct xvalue *x = &r->x->value[id];
	struct value *v;

	if (!xvalue_is_constant(x) || x->rank == 1 || x->quant)
		return raise_dims(r, id);
	v = graph_value(r->g, VALUE_CONSTANT, raise_dtype(x->datatype), 1, &channels);
	if (v->dtype == DTYPE_CODES || (x->data.data && v->bytes > x->data.bytes))
		return raise_fail(r, "a bias of %zu bytes for %lld channels", x->data.bytes, (long long)channels), NULL;
	v->data = x->data.data;
	return v;
}

static struct value *stored_as_is(struct raising *r, uint32_t id)
{
	const struct xvalue *x = &r->x->value[id];
	int64_t size[XMAX_RANK];

	dims_of(x, size);
	return raise_constant(r, id, x->rank, size, (const uint8_t[]){ 0, 1, 2, 3, 4, 5 });
}

struct value *raise_plain(struct raising *r, uint32_t id)
{
	struct raised *of = &r->value[id];

	if (!of->plain && xvalue_is_constant(&r->x->value[id]))
		of->plain = stored_as_is(r, id);
	if (!of->plain)
		raise_fail(r, "value %u holds nothing", id);
	return of->plain;
}

/* The old way to ask for dynamic quantisation: an f32 input that is read as qdint8, quantised by rows. */
static struct value *quantized_input(struct raising *r, const struct xvalue *x, struct value *plain)
{
	struct xvalue q = *x;
	struct value *integers;

	q.nonbatch_dims = 1;
	return raise_dynamic(r, &q, plain, &integers, false);
}

struct value *raise_real(struct raising *r, uint32_t id)
{
	const struct xvalue *x = &r->x->value[id];
	struct raised *of = &r->value[id];
	struct value *plain = of->real ? NULL : raise_plain(r, id);

	if (plain && x->dq_datatype)
		of->real = quantized_input(r, x, plain);
	else if (plain)
		of->real = x->quant ? raise_dequantize(r, x, plain, x->channel_dim, false) : plain;
	return of->real;
}

struct value *raise_dims(struct raising *r, uint32_t id)
{
	struct value *v = raise_real(r, id);
	int rank = r->x->value[id].rank;

	if (v && v->rank == 0 && rank == 1)
		return raise_view(r, v, 1, (const int64_t[]){ 1 });
	if (v && v->rank != rank)
		return raise_fail(r, "value %u has rank %d, %d is declared", id, v->rank, rank), NULL;
	return v;
}

bool raise_result(struct raising *r, uint32_t id, struct value *real)
{
	const struct xvalue *x = &r->x->value[id];
	enum dtype t = raise_dtype(x->datatype);

	if (!real)
		return false;
	if (real->rank != x->rank && !(real->rank == 0 && x->rank == 1))
		return raise_fail(r, "its result has rank %d, the graph says %d", real->rank, x->rank);
	if (!x->quant) {
		r->value[id].plain = r->value[id].real = real->dtype == t ? real : raise_cast(r, real, t);
		return r->value[id].plain;
	}
	r->value[id].plain = raise_quantize(r, x, real);
	r->value[id].real = NULL;
	return r->value[id].plain;
}

bool raise_clamped(struct raising *r, const struct xnode *n, uint32_t id, struct value *real)
{
	if (real && n->has_min_max && xnode_types[n->tag].has_min_max)
		real = raise_clamp(r, real, n->min, n->max, false);
	return raise_result(r, id, real);
}

/* ---- nodes that cannot be raised ---- */

struct fields { uint32_t in[XMAX_FIELDS], out[XMAX_FIELDS]; int nin, nout; };

static struct fields fields_of(const struct xnode *n)
{
	const struct xnode_type *type = &xnode_types[n->tag];
	struct fields f = { .nin = 0 };

	for (int i = 0; i < type->nfields; i++)
		if (type->field[i].kind == XF_IN && n->field[i] != XNONE)
			f.in[f.nin++] = n->field[i];
		else if (type->field[i].kind == XF_OUT)
			f.out[f.nout++] = n->field[i];
	return f;
}

static bool raise_opaque(struct raising *r, const struct xnode *n)
{
	struct fields f = fields_of(n);
	struct arg arg[XMAX_FIELDS];
	int64_t size[XMAX_RANK];
	const char *name;
	struct node *made;

	for (int i = 0; i < f.nin; i++) {
		struct value *v = raise_plain(r, f.in[i]);

		if (!v)
			return false;
		arg[i] = V(v);
	}
	name = arena_printf(&r->mem, "xnnpack::%s", xnode_types[n->tag].name);
	made = graph_node(r->g, NULL, op_opaque(&r->g->mem, name), arg, f.nin);
	made->group = r->group;
	made->origin = r->origin;
	for (int i = 0; i < f.nout; i++) {
		const struct xvalue *x = &r->x->value[f.out[i]];
		enum dtype t = raise_dtype(x->datatype);

		dims_of(x, size);
		r->value[f.out[i]] = (struct raised){ 0 };
		r->value[f.out[i]].plain = node_add_output(r->g, made, t == DTYPE_CODES ? DTYPE_U8 : t, x->rank, size);
	}
	return true;
}

static void forget_removed(struct value **v)
{
	if (*v && (*v)->kind == VALUE_NODE && !(*v)->def)
		*v = NULL;
}

static void undo_to(struct graph *g, struct node *last)
{
	while (g->last != last)
		graph_remove(g, g->last);
}

static bool raise_node(struct raising *r, const struct xnode *n)
{
	const struct raise_rule *rule = &raise_rules[n->tag];
	struct fields f = fields_of(n);
	struct node *last = r->g->last;

	r->node = n;
	if (rule->raise && rule->raise(r, n))
		return true;
	undo_to(r->g, last);
	for (int i = 0; i < f.nin; i++) {
		forget_removed(&r->value[f.in[i]].real);
		forget_removed(&r->value[f.in[i]].plain);
	}
	for (int i = 0; i < f.nout; i++)
		r->value[f.out[i]] = (struct raised){ 0 };
	return raise_opaque(r, n);
}

/* ---- arguments of the call ---- */

static struct value *reorder(struct raising *r, struct value *v, const int64_t *order)
{
	return raise_side(r, "dim_order_ops._to_dim_order_copy.default",
			  ARGS(some(v), NONE, NONE, NONE, NONE, B(false), arg_ints(r->g, order, v ? v->rank : 0)));
}

/* XNNPACK sees an argument's sizes in memory order; what is computed from it has the default dim order. */
static struct value *in_memory_order(struct raising *r, struct value *v)
{
	int64_t perm[MAX_RANK], plain[MAX_RANK];

	if (value_is_default_order(v))
		return v;
	for (int d = 0; d < v->rank; d++) {
		perm[d] = v->dim_order[d];
		plain[d] = d;
	}
	return raise_permute(r, reorder(r, v, plain), perm);
}

static bool raise_input(struct raising *r, uint32_t id)
{
	const struct xvalue *x = &r->x->value[id];
	struct value *v = r->arg[x->external_id];

	if (!v || v->scalar)
		return error_set(r->err, ERROR_FORMAT, "argument %u of the delegate is no tensor", x->external_id);
	if (v->dtype != raise_dtype(x->datatype))
		return error_set(r->err, ERROR_FORMAT, "argument %u of the delegate is %s, it takes %s", x->external_id,
				 dtype_name(v->dtype), xdatatype_name(x->datatype));
	if (v->rank != x->rank && !(v->rank == 0 && x->rank == 1))
		return error_set(r->err, ERROR_FORMAT, "argument %u of the delegate has rank %d, it takes %d", x->external_id, v->rank,
				 x->rank);
	r->value[id].plain = in_memory_order(r, v);
	return r->value[id].plain;
}

/* The value that leaves: in the dim order and rank that the file gives the argument. */
static struct value *in_file_order(struct raising *r, struct value *v, const struct pte_tensor *t)
{
	int64_t perm[MAX_RANK], order[MAX_RANK];
	bool plain = true;

	if (v->rank == 1 && t->rank == 0)
		return raise_view(r, v, 0, NULL);
	if (v->rank == 0 && t->rank == 1)
		return raise_view(r, v, 1, (const int64_t[]){ 1 });
	for (int d = 0; d < t->rank && v->rank == t->rank; d++) {
		order[d] = t->dim_order[d];
		perm[t->dim_order[d]] = d;
		plain = plain && t->dim_order[d] == d;
	}
	if (plain || v->rank != t->rank)
		return v;
	return reorder(r, raise_permute(r, v, perm), order);
}

static bool same_type(const struct value *v, const struct pte_tensor *t)
{
	if (v->rank != t->rank || v->dtype != t->dtype)
		return false;
	for (int d = 0; d < t->rank; d++)
		if (v->dim_order[d] != t->dim_order[d] ||
		    (!v->dynamic && t->dynamism == PTE_STATIC && v->size[d] != t->size[d]))
			return false;
	return true;
}

/* A static tensor takes no other sizes than its own, however the value came about. */
static void settle_sizes(struct value *v, const struct pte_tensor *t)
{
	if (!v->dynamic || t->dynamism != PTE_STATIC)
		return;
	for (int d = 0; d < t->rank; d++)
		v->size[d] = t->size[d];
	v->dynamic = false;
	v->bytes = t->bytes;
}

/* Every value that is no input is the result of a node of its own, and so is every output. */
static bool raise_output(struct raising *r, uint32_t id)
{
	const struct xvalue *x = &r->x->value[id];
	const struct pte_tensor *t = r->type[x->external_id];
	struct value *v = r->value[id].plain;

	if (v)
		v = in_file_order(r, v, t);
	if (!v)
		return false;
	if (!same_type(v, t))
		return error_set(r->err, ERROR_FORMAT, "argument %u of the delegate is not what it makes", x->external_id);
	settle_sizes(v, t);
	r->arg[x->external_id] = v;
	return true;
}

static bool raise_all(struct raising *r)
{
	const enum doubt *doubt;

	for (int i = 0; i < r->x->nvalues; i++) {
		const struct xvalue *x = &r->x->value[i];

		if (x->external_id != XNONE && (x->external_id >= (uint32_t)r->nargs || !r->type[x->external_id]))
			return error_set(r->err, ERROR_FORMAT, "the delegate's argument %u is no tensor", x->external_id);
		if (x->flags == (XFLAG_INPUT | XFLAG_OUTPUT))
			return error_set(r->err, ERROR_FORMAT, "value %d is input and output", i);
		if (x->flags & XFLAG_INPUT && !raise_input(r, (uint32_t)i))
			return false;
	}
	doubt = xnn_doubts(r->x, r->type, &r->mem);
	for (int i = 0; i < r->x->nnodes; i++) {
		r->origin.dnode = i;
		r->origin.doubt = (int)doubt[i];
		r->origin.debug_handle = r->x->node[i].debug_handle;
		if (!raise_node(r, &r->x->node[i]))
			return false;
	}
	for (int i = 0; i < r->x->nvalues; i++)
		if (r->x->value[i].flags & XFLAG_OUTPUT && !raise_output(r, (uint32_t)i))
			return false;
	return true;
}

bool xnn_raise(struct graph *g, const struct xgraph *x, struct value **arg, const struct pte_tensor *const *type,
	       int nargs, int group, struct origin origin, bool as_meant, struct error *err)
{
	struct error unheard;
	struct raising r = { .g = g, .x = x, .arg = arg, .type = type, .nargs = nargs, .group = group, .origin = origin,
			     .as_meant = as_meant, .err = err ? err : &unheard };
	struct node *last = g->last;
	bool ok;

	r.value = arena_array(&r.mem, (size_t)x->nvalues, sizeof *r.value);
	ok = raise_all(&r);
	if (!ok)
		undo_to(g, last);
	arena_free(&r.mem);
	return ok;
}
