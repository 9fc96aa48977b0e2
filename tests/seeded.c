#include "tests/seeded.h"

#include "core/format/ptd.h"
#include "core/op/op.h"
#include "tests/maker_graph.h"
#include "tests/tap.h"

struct shape { int rank; int64_t size[MAX_RANK]; };

/* Stored bytes that methods may share. */
struct thing {
	enum value_kind kind;
	enum dtype dtype;
	struct shape shape;
	const char *name;
	const uint8_t *data;
	size_t bytes;
	int home, slot;
	struct value *in[SEEDED_METHODS];	/* what stands for it there */
};

struct making {
	struct seeded *s;
	uint64_t state;
	vec(struct thing) thing;
	struct graph *g;		/* the method being made */
	int method;
	vec(struct value *) made;	/* in this method: to be used again */
	struct value *input;		/* of the method: [4, 8] */
	int budget;			/* nodes that an expression may still take */
	int slots;
	bool files;			/* the program has data files */
};

static uint64_t draw(struct making *k)
{
	k->state ^= k->state << 13;
	k->state ^= k->state >> 7;
	k->state ^= k->state << 17;
	return k->state;
}

static int pick(struct making *k, int n) { return (int)((draw(k) >> 11) % (uint64_t)n); }
static bool chance(struct making *k, int percent) { return pick(k, 100) < percent; }
static double number(struct making *k) { return (double)(draw(k) >> 11) / 4503599627370496.0 - 1; }	/* -1 to 1 */

static int64_t numel(const struct shape *s)
{
	int64_t n = 1;

	for (int d = 0; d < s->rank; d++)
		n *= s->size[d];
	return n;
}

static bool same_shape(const struct shape *a, int rank, const int64_t *size)
{
	return a->rank == rank && !memcmp(a->size, size, (size_t)rank * sizeof *size);
}

#define S(...) ((struct shape){ sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), { __VA_ARGS__ } })

/* ---- nodes ---- */

static struct value *build_list(struct making *k, const char *op, const struct arg *arg, int n)
{
	struct error err = { 0 };
	struct value *v = op_build(k->g, NULL, op, arg, n, &err);

	if (!v)
		fail_msg("%s: %s", op, err.text);
	k->budget--;
	vec_push(&k->s->mem, &k->made, v);
	return v;
}

#define build(k, op, ...) build_list((k), (op), (const struct arg[]){ __VA_ARGS__ }, \
				     (int)(sizeof((const struct arg[]){ __VA_ARGS__ }) / sizeof(struct arg)))
#define V(v) arg_value(v)
#define I(i) arg_int(i)
#define INTS(at, n) arg_ints(k->g, (at), (n))

/* ---- what is stored ---- */

static struct value *stand_for(struct making *k, int t)
{
	struct thing *x = &k->thing.at[t];
	struct value *v = x->in[k->method];

	/* now and then a second value for the same bytes, as exporters make them */
	if (v && (x->kind == VALUE_STATE || chance(k, 90)))
		return v;
	v = graph_value(k->g, x->kind, x->dtype, x->shape.rank, x->shape.size);
	v->name = x->name;
	v->data = x->data;
	v->home = x->home;
	v->state_slot = x->slot;
	x->in[k->method] = v;
	return v;
}

static int add_thing(struct making *k, enum value_kind kind, enum dtype t, const struct shape *shape)
{
	struct thing x = { .kind = kind, .dtype = t, .shape = *shape, .home = HOME_PROGRAM, .slot = -1 };
	int64_t n = numel(shape);
	uint8_t *data;

	x.bytes = (size_t)n * dtype_bytes(t);
	x.data = data = arena_alloc(&k->s->mem, x.bytes + 8);
	for (int64_t i = 0; i < n; i++)
		dtype_put(t, data, i, t == DTYPE_I8 ? (double)pick(k, 255) - 127 : number(k));
	if (kind == VALUE_STATE)
		x.slot = k->slots++;
	else if (k->files && chance(k, 30))
		x.home = pick(k, SEEDED_FILES);
	x.name = arena_printf(&k->s->mem, "%s%d", kind == VALUE_STATE ? "state" : "source", k->thing.n);
	vec_push(&k->s->mem, &k->thing, x);
	return k->thing.n - 1;
}

static struct value *stored(struct making *k, enum value_kind kind, enum dtype t, struct shape shape)
{
	int found = -1, seen = 0;

	for (int i = 0; i < k->thing.n; i++)
		if (k->thing.at[i].kind == kind && k->thing.at[i].dtype == t &&
		    same_shape(&shape, k->thing.at[i].shape.rank, k->thing.at[i].shape.size) && !pick(k, ++seen))
			found = i;
	return stand_for(k, found >= 0 && chance(k, 40) ? found : add_thing(k, kind, t, &shape));
}

static struct value *source(struct making *k, struct shape shape)
{
	return stored(k, VALUE_CONSTANT, DTYPE_F32, shape);
}

/* ---- expressions: each gives a value of exactly this shape ---- */

static struct value *expression(struct making *k, struct shape shape);

static const char *const unary[] = {
	"aten.neg.default", "aten.abs.default", "aten.tanh.default", "aten.sigmoid.default", "aten.relu.default",
	"aten.sin.default", "aten.cos.default", "aten.erf.default", "aten.floor.default", "aten.sign.default",
	"aten.clone.default",
};

static struct value *apply_unary(struct making *k, struct shape shape)
{
	const char *op = unary[pick(k, (int)(sizeof unary / sizeof *unary))];
	struct value *v = expression(k, shape);

	return strcmp(op, "aten.clone.default") ? build(k, op, V(v)) : build(k, op, V(v), arg_none());
}

/* Greater than 0.5: what may be divided by, and have its root taken. */
static struct value *positive(struct making *k, struct shape shape)
{
	struct value *v = build(k, "aten.sigmoid.default", V(expression(k, shape)));

	return build(k, "aten.add.Scalar", V(v), arg_double(0.5), I(1));
}

static struct value *root(struct making *k, struct shape shape)
{
	static const char *const op[] = { "aten.sqrt.default", "aten.rsqrt.default", "aten.log.default",
		"aten.reciprocal.default" };

	return build(k, op[pick(k, 4)], V(positive(k, shape)));
}

/* A shape that broadcasts to this one. */
static struct shape narrower(struct making *k, struct shape s)
{
	for (int d = 0; d < s.rank; d++)
		if (chance(k, 30))
			s.size[d] = 1;
	while (s.rank && s.size[0] == 1 && chance(k, 40)) {
		memmove(s.size, s.size + 1, (size_t)--s.rank * sizeof *s.size);
	}
	return s;
}

static struct value *apply_binary(struct making *k, struct shape shape)
{
	struct value *a = expression(k, shape), *b = NULL;
	struct shape other = narrower(k, shape);
	bool swap = chance(k, 50);

	switch (pick(k, 6)) {
	case 0: return build(k, "aten.div.Tensor", V(a), V(positive(k, other)));
	case 1: return build(k, "aten.mul.Scalar", V(a), arg_double(number(k)));
	}
	b = expression(k, other);
	switch (pick(k, 4)) {
	case 0: return build(k, "aten.mul.Tensor", V(swap ? b : a), V(swap ? a : b));
	case 1: return build(k, "aten.sub.Tensor", V(swap ? b : a), V(swap ? a : b), I(1));
	case 2: return build(k, "aten.maximum.default", V(swap ? b : a), V(swap ? a : b));
	default: /* the optimised kernel of the stock runtime multiplies the wrong one when the first is one number */
		return build(k, "aten.add.Tensor", V(swap ? b : a), V(swap ? a : b), I(swap ? 1 : 1 + pick(k, 2)));
	}
}

static struct value *apply_permute(struct making *k, struct shape shape)
{
	int64_t dims[MAX_RANK];
	struct shape from = shape;

	for (int d = 0; d < shape.rank; d++)
		dims[d] = d;
	for (int d = shape.rank - 1; d > 0; d--) {
		int other = pick(k, d + 1);
		int64_t kept = dims[d];

		dims[d] = dims[other];
		dims[other] = kept;
	}
	for (int d = 0; d < shape.rank; d++)
		from.size[dims[d]] = shape.size[d];
	return build(k, "aten.permute_copy.default", V(expression(k, from)), INTS(dims, shape.rank));
}

static struct value *apply_view(struct making *k, struct shape shape)
{
	struct shape from = { .rank = 1, .size = { numel(&shape) } };

	for (int64_t d = 2; d <= 4 && chance(k, 60); d++)
		if (from.size[0] % d == 0) {
			from = (struct shape){ 2, { from.size[0] / d, d } };
			break;
		}
	return build(k, "aten.view_copy.default", V(expression(k, from)), INTS(shape.size, shape.rank));
}

static struct value *apply_slice(struct making *k, struct shape shape)
{
	int d = pick(k, shape.rank);
	int64_t before = pick(k, 3), behind = pick(k, 3);
	struct shape from = shape;

	from.size[d] += before + behind;
	return build(k, "aten.slice_copy.Tensor", V(expression(k, from)), I(d), I(before), I(before + shape.size[d]), I(1));
}

/* Parts of one tensor; the others may be weights later. */
static struct value *apply_split(struct making *k, struct shape shape)
{
	int d = pick(k, shape.rank), parts = 2 + pick(k, 2), which = pick(k, parts);
	struct shape from = shape;
	struct value *v;

	if (chance(k, 40)) {
		int64_t sizes[4];

		from.size[d] = 0;
		for (int i = 0; i < parts; i++)
			from.size[d] += sizes[i] = i == which ? shape.size[d] : 1 + pick(k, 2);
		v = build(k, "aten.split_with_sizes_copy.default", V(expression(k, from)), INTS(sizes, parts), I(d));
	} else {
		from.size[d] *= parts;
		v = build(k, "aten.split_copy.Tensor", V(expression(k, from)), I(shape.size[d]), I(d));
	}
	for (int i = 1; i < v->def->nouts; i++)
		vec_push(&k->s->mem, &k->made, v->def->out[i]);
	return v->def->out[which];
}

/* The shape with one more dimension, of n, at d. */
static struct shape deeper(struct shape s, int d, int64_t n)
{
	memmove(s.size + d + 1, s.size + d, (size_t)(s.rank - d) * sizeof *s.size);
	s.size[d] = n;
	s.rank++;
	return s;
}

static struct value *apply_select(struct making *k, struct shape shape)
{
	int d = pick(k, shape.rank + 1), n = 1 + pick(k, 3);
	struct value *from = expression(k, deeper(shape, d, n)), *v;

	if (chance(k, 50))
		return build(k, "aten.select_copy.int", V(from), I(d), I(pick(k, n)));
	v = build(k, "aten.unbind_copy.int", V(from), I(d));
	for (int i = 1; i < v->def->nouts; i++)
		vec_push(&k->s->mem, &k->made, v->def->out[i]);
	return v->def->out[pick(k, n)];
}

static struct value *apply_expand(struct making *k, struct shape shape)
{
	struct shape from = shape;

	from.size[pick(k, shape.rank)] = 1;
	return build(k, "aten.expand_copy.default", V(expression(k, from)), INTS(shape.size, shape.rank), arg_bool(false));
}

static struct value *apply_cat(struct making *k, struct shape shape)
{
	int d = pick(k, shape.rank);
	struct shape a = shape, b = shape;
	struct value *part[2];

	if (shape.size[d] < 2)
		return expression(k, shape);
	a.size[d] = 1 + pick(k, (int)shape.size[d] - 1);
	b.size[d] = shape.size[d] - a.size[d];
	part[0] = expression(k, a);
	part[1] = expression(k, b);
	return build(k, "aten.cat.default", arg_values(k->g, part, 2), I(d));
}

static struct value *apply_reduction(struct making *k, struct shape shape)
{
	int64_t d = pick(k, shape.rank + 1);
	struct value *from = expression(k, deeper(shape, (int)d, 1 + pick(k, 3))), *v;

	switch (pick(k, 4)) {
	case 0: return build(k, "aten.sum.dim_IntList", V(from), INTS(&d, 1), arg_bool(false), arg_none());
	case 1: return build(k, "aten.mean.dim", V(from), INTS(&d, 1), arg_bool(false), arg_none());
	case 2: return build(k, "aten.amax.default", V(from), INTS(&d, 1), arg_bool(false));
	default:
		v = build(k, "aten.max.dim", V(from), I(d), arg_bool(false));
		return v;
	}
}

/* w = g v / |v|, the norm over all dimensions but the first. */
static struct value *apply_weight_norm(struct making *k, struct shape shape)
{
	int64_t dims[MAX_RANK];
	struct shape rows = shape;
	struct value *v = expression(k, shape), *n;

	if (shape.rank < 2)
		return v;
	for (int d = 1; d < shape.rank; d++) {
		dims[d - 1] = d;
		rows.size[d] = 1;
	}
	n = build(k, "aten.mul.Tensor", V(v), V(v));
	n = build(k, "aten.sum.dim_IntList", V(n), INTS(dims, shape.rank - 1), arg_bool(true), arg_none());
	n = build(k, "aten.sqrt.default", V(build(k, "aten.add.Scalar", V(n), arg_double(1), I(1))));
	n = build(k, "aten.div.Tensor", V(expression(k, rows)), V(n));
	return build(k, "aten.mul.Tensor", V(v), V(n));
}

static struct value *apply_product(struct making *k, struct shape shape)
{
	int64_t inner = 1 + pick(k, 4);

	if (shape.rank != 2)
		return expression(k, shape);
	return build(k, "aten.mm.default", V(expression(k, S(shape.size[0], inner))),
		     V(expression(k, S(inner, shape.size[1]))));
}

static struct value *apply_number(struct making *k, struct shape shape)
{
	struct value *one = source(k, (struct shape){ 0 }), *n = build(k, "aten._local_scalar_dense.default", V(one));

	k->made.n--;	/* no tensor: not to be used again */
	return build(k, "aten.mul.Scalar", V(expression(k, shape)), V(n));
}

/* What does not fold. */
static struct value *apply_obstacle(struct making *k, struct shape shape)
{
	struct value *v;
	int64_t dims[2] = { 0, 1 };

	switch (pick(k, 4)) {
	case 0:	/* state */
		return numel(&shape) > 512 ? source(k, shape) : stored(k, VALUE_STATE, DTYPE_F32, shape);
	case 1:	/* quantised */
		return build(k, "quantized_decomposed.dequantize_per_tensor.default",
			     V(stored(k, VALUE_CONSTANT, DTYPE_I8, shape)), arg_double(0.0078125), I(3), I(-128), I(127),
			     I(DTYPE_I8), arg_none());
	case 2:	/* a fill */
		v = expression(k, shape);
		return build(k, "aten.mul.Tensor", V(v), V(build(k, "aten.full_like.default", V(v), arg_double(number(k)),
			arg_none(), arg_none(), arg_none(), arg_none(), arg_none())));
	default: /* the input */
		v = build(k, "aten.mean.dim", V(k->input), INTS(dims, 2), arg_bool(false), arg_none());
		return build(k, "aten.mul.Tensor", V(expression(k, shape)), V(v));
	}
}

static struct value *used_again(struct making *k, const struct shape *shape)
{
	struct value *found = NULL;
	int seen = 0;

	for (int i = 0; i < k->made.n; i++)
		if (k->made.at[i]->dtype == DTYPE_F32 && same_shape(shape, k->made.at[i]->rank, k->made.at[i]->size) &&
		    !pick(k, ++seen))
			found = k->made.at[i];
	return found;
}

static struct value *expression(struct making *k, struct shape shape)
{
	static struct value *(*const some[])(struct making *, struct shape) = {
		apply_unary, apply_unary, apply_binary, apply_binary, apply_binary, apply_permute, apply_permute,
		apply_view, apply_slice, apply_split, apply_select, apply_expand, apply_cat, apply_reduction,
		apply_weight_norm, apply_product, apply_number, root,
	};
	struct value *again = chance(k, 15) ? used_again(k, &shape) : NULL;

	if (again)
		return again;
	if (k->budget <= 0 || chance(k, 20) || numel(&shape) > 4096 || shape.rank > 4)
		return source(k, shape);
	if (shape.rank == 0)
		return chance(k, 50) ? source(k, shape) : apply_unary(k, shape);
	k->budget--;
	return chance(k, 3) ? apply_obstacle(k, shape) : some[pick(k, (int)(sizeof some / sizeof *some))](k, shape);
}

/* ---- GEMMs ---- */

static struct value *weight(struct making *k, struct shape shape)
{
	k->budget = 1 + pick(k, 8);
	return expression(k, shape);
}

static struct value *bias(struct making *k, int64_t n)
{
	if (chance(k, 30))
		return NULL;
	k->budget = pick(k, 4);
	return expression(k, S(n));
}

static struct value *transposed(struct making *k, struct value *v)
{
	return build(k, "aten.permute_copy.default", V(v), INTS(((int64_t[]){ 1, 0 }), 2));
}

/* x: [4, 8] */
static struct value *matrix(struct making *k, struct value *x)
{
	int64_t rows = x->size[0], in = x->size[1], out = 2 + pick(k, 8);
	struct value *w, *b;

	switch (pick(k, 4)) {
	case 0:
		w = weight(k, S(out, in));
		b = bias(k, out);
		return build(k, "aten.linear.default", V(x), V(w), b ? V(b) : arg_none());
	case 1:
		w = chance(k, 60) ? transposed(k, weight(k, S(out, in))) : weight(k, S(in, out));
		return build(k, "aten.mm.default", V(x), V(w));
	case 2:
		w = chance(k, 60) ? transposed(k, weight(k, S(out, in))) : weight(k, S(in, out));
		b = bias(k, out);
		if (!b)
			b = chance(k, 50) ? source(k, S(out)) : weight(k, S(rows, out));
		return build(k, "aten.addmm.default", V(b), V(x), V(w), I(chance(k, 85) ? 1 : 2), I(chance(k, 85) ? 1 : 2));
	default:
		w = chance(k, 60) ? transposed(k, weight(k, S(out, in))) : weight(k, S(in, out));
		w = build(k, "aten.expand_copy.default", V(w), INTS(((int64_t[]){ 1, in, out }), 3), arg_bool(false));
		x = build(k, "aten.view_copy.default", V(x), INTS(((int64_t[]){ 1, rows, in }), 3));
		x = build(k, "aten.bmm.default", V(x), V(w));
		return build(k, "aten.view_copy.default", V(x), INTS(((int64_t[]){ rows, out }), 2));
	}
}

/* x: [4, n] as [1, 4, n] and so on: 1, 2 or 3 spatial dimensions, some of size 1. */
static struct value *convolution(struct making *k, struct value *x)
{
	int spatial = 1 + pick(k, 3), groups = chance(k, 30) ? (int)x->size[0] : 1;
	bool transpose = spatial < 3 && chance(k, 25);
	int64_t in = x->size[0], each = 1 + pick(k, 3), out = each * (groups > 1 ? groups : 2);
	struct shape as = { spatial + 2, { 1, in, x->size[1], 1, 1 } }, w = { spatial + 2, { out, in / groups, 1, 1, 1 } };
	int64_t ones[3] = { 1, 1, 1 }, zeros[3] = { 0, 0, 0 };
	struct value *b;

	w.size[2] = 1 + pick(k, 3);
	if (transpose) {
		w.size[0] = in;
		w.size[1] = out / groups;
	}
	x = build(k, "aten.view_copy.default", V(x), INTS(as.size, as.rank));
	b = bias(k, out);
	x = build(k, "aten.convolution.default", V(x), V(weight(k, w)), b ? V(b) : arg_none(), INTS(ones, spatial),
		  INTS(zeros, spatial), INTS(ones, spatial), arg_bool(transpose), INTS(zeros, spatial), I(groups));
	return build(k, "aten.view_copy.default", V(x), INTS(((int64_t[]){ x->size[1], x->size[2] }), 2));
}

/* Somebody outside reads part of an expression. */
static void look_from_outside(struct making *k)
{
	struct value *v = k->made.n ? k->made.at[pick(k, k->made.n)] : NULL;

	if (v && v->dtype == DTYPE_F32 && !v->noutputs)
		graph_add_output(k->g, V(chance(k, 50) ? v : build(k, "aten.neg.default", V(v))));
}

/* One method writes what others read. */
static void write_state(struct making *k)
{
	for (int i = 0; i < k->thing.n; i++) {
		struct thing *x = &k->thing.at[i];

		if (x->kind == VALUE_STATE && x->in[k->method] && chance(k, 50)) {
			struct value *next = build(k, "aten.mul.Scalar", V(x->in[k->method]), arg_double(0.5));
			struct error err = { 0 };
			struct arg arg[] = { V(x->in[k->method]), V(next), arg_bool(false) };

			if (!op_infer(k->g, graph_node(k->g, NULL, op_find("aten.copy_.default"), arg, 3), &err))
				fail_msg("%s", err.text);
		}
	}
}

static void make_method(struct making *k, int method)
{
	struct value *x;
	int gemms = 1 + pick(k, 4);

	k->method = method;
	k->g = k->s->g[method] = graph_new(method ? "decode" : "forward");
	memset(&k->made, 0, sizeof k->made);
	k->input = graph_value(k->g, VALUE_INPUT, DTYPE_F32, 2, (int64_t[]){ 4, 8 });
	k->input->name = "input0";
	graph_add_input(k->g, k->input, arg_none());
	for (int i = 0; i < gemms; i++) {
		x = k->input;
		x = chance(k, 65) ? matrix(k, x) : convolution(k, x);
		x = chance(k, 50) ? build(k, "aten.relu.default", V(x)) : x;
		if (!x->noutputs)
			graph_add_output(k->g, V(x));
		if (chance(k, 15))
			look_from_outside(k);
	}
	write_state(k);
}

/* ---- files ---- */

static void write_data(struct making *k, int home)
{
	static const uint8_t spare[4];	/* the stock runtime takes no empty data file */
	struct pte_output out;
	struct error err = { 0 };
	vec(struct ptd_entry) entry = { 0 };

	for (int i = 0; i < k->thing.n; i++) {
		const struct thing *x = &k->thing.at[i];
		struct ptd_entry e = { .key = x->name, .key_bytes = strlen(x->name), .data = { x->data, x->bytes },
			.has_layout = true, .dtype = x->dtype, .rank = x->shape.rank };

		for (int d = 0; d < e.rank; d++) {
			e.size[d] = (int32_t)x->shape.size[d];
			e.dim_order[d] = (uint8_t)d;
		}
		if (x->kind == VALUE_CONSTANT && x->home == home)
			vec_push(&k->s->mem, &entry, e);
	}
	vec_push(&k->s->mem, &entry, ((struct ptd_entry){ .key = home ? "spare.b" : "spare.a", .key_bytes = 7,
		.data = { spare, sizeof spare } }));
	if (!ptd_write(&out, entry.at, entry.n, &err) ||
	    !file_write_pieces(k->s->data[home], out.piece, out.npieces, true, &err))
		fail_msg("%s", err.text);
	pte_output_free(&out);
}

static void write_files(struct making *k, const char *folder)
{
	struct seeded *s = k->s;
	struct maker *m = maker_new();

	s->program = arena_printf(&s->mem, "%s/program.pte", folder);
	for (int i = 0; i < s->n; i++)
		maker_graph(m, s->g[i]);
	maker_save(m, s->program);
	for (int i = 0; i < SEEDED_FILES; i++) {
		s->data[i] = arena_printf(&s->mem, "%s/%c.ptd", folder, 'a' + i);
		write_data(k, i);
	}
	maker_free(m);
}

void seeded_make(struct seeded *s, uint64_t seed, const char *folder)
{
	struct making k = { .s = s, .state = seed * 0x9E3779B97F4A7C15u + 0x1234567u };

	memset(s, 0, sizeof *s);
	for (int i = 0; i < 8; i++)
		draw(&k);
	k.files = chance(&k, 30);
	s->n = 1 + chance(&k, 40);
	for (int m = 0; m < s->n; m++)
		make_method(&k, m);
	write_files(&k, folder);
}

void seeded_free(struct seeded *s)
{
	for (int m = 0; m < s->n; m++)
		graph_free(s->g[m]);
	arena_free(&s->mem);
}
