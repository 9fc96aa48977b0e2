/* Lowering of random graphs: whatever operators and layouts meet, XNNPACK gives what the portable kernels give. */
#include "tests/lab.h"
#include "tests/tap.h"

#define F DTYPE_F32

enum { GRAPHS = 2000, STEPS = 14, POOL = 40 };

struct maker {
	struct lab *lab;
	uint64_t seed;
	struct value *pool[POOL];
	int n;
};

static int pick(struct maker *m, int below)
{
	m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
	return (int)((m->seed >> 33) % (uint64_t)below);
}

static struct value *any(struct maker *m)
{
	return m->pool[m->n > 4 && pick(m, 3) ? m->n - 1 - pick(m, 4) : pick(m, m->n)];
}

static struct value *constant_like(struct maker *m, const struct value *v)
{
	int64_t size[4] = { 1, 1, 1, 1 };
	int rank = v->rank;
	struct lab *lab = m->lab;

	switch (pick(m, 5)) {
	case 0: return lab_constant(lab, F, 0.5, 1.5, 0, size);
	case 1: return lab_constant(lab, F, 0.5, 1.5, 1, &v->size[rank - 1]);
	case 2:
		size[0] = v->size[rank > 1 ? 1 : 0];
		return lab_constant(lab, F, 0.5, 1.5, rank > 1 ? rank - 1 : 1, size);
	case 3:
		size[1] = rank > 1 ? v->size[1] : 1;
		return lab_constant(lab, F, 0.5, 1.5, rank, size);
	default: return lab_constant(lab, F, 0.5, 1.5, rank, v->size);
	}
}

static struct value *twin(struct maker *m, const struct value *v)
{
	for (int i = 0, at = pick(m, m->n); i < m->n; i++) {
		struct value *w = m->pool[(at + i) % m->n];

		if (value_same_shape(v, w) && w != v)
			return w;
	}
	return NULL;
}

static struct value *elementwise(struct maker *m, struct value *v)
{
	static const char *const unary[] = { "aten.tanh.default", "aten.sigmoid.default", "aten.relu.default", "aten.abs.default", "aten.neg.default" };
	static const char *const binary[] = { "aten.mul.Tensor", "aten.maximum.default", "aten.minimum.default", "aten.div.Tensor" };
	struct lab *lab = m->lab;
	struct value *w = pick(m, 2) ? twin(m, v) : NULL;
	bool swap = pick(m, 2);
	int k = pick(m, 12);

	if (k < 5)
		return lab_node(lab, unary[k], V(v));
	if (k == 5)
		return lab_node(lab, "aten.hardtanh.default", V(v), D(-0.5), D(0.75));
	if (k < 9 || w) {
		w = w ? w : constant_like(m, v);
		return lab_node(lab, k & 1 ? "aten.add.Tensor" : "aten.sub.Tensor", V(swap ? w : v), V(swap ? v : w), I(1));
	}
	w = constant_like(m, v);
	return lab_node(lab, binary[k % 4], V(v), V(w));
}

static struct value *move(struct maker *m, struct value *v)
{
	static const int64_t perms[][4] = { { 0, 2, 3, 1 }, { 0, 3, 1, 2 }, { 1, 0, 3, 2 }, { 0, 1, 3, 2 }, { 3, 2, 1, 0 } };
	struct lab *lab = m->lab;
	struct value *w = twin(m, v);
	int dim = pick(m, v->rank);
	int64_t p[4] = { 0, 1, 2, 3 };

	switch (pick(m, 5)) {
	case 0:
		if (v->rank == 4)
			memcpy(p, perms[pick(m, 5)], sizeof p);
		else
			for (int i = 0; i < v->rank; i++)
				p[i] = v->rank - 1 - i;
		return lab_node(lab, "aten.permute_copy.default", V(v), arg_ints(lab->g, p, v->rank));
	case 1:
		if (w && dtype_numel(v->rank, v->size) < 4000)
			return lab_node(lab, "aten.cat.default", VALUES(v, w, v), I(dim));
		return lab_node(lab, "aten.view_copy.default", V(v), INTS(v->size[0], -1));
	case 2:
		if (v->size[dim] < 3)
			return NULL;
		return lab_node(lab, "aten.slice_copy.Tensor", V(v), I(dim), I(1), I(v->size[dim] - 1), I(1));
	case 3:
		if (dtype_numel(v->rank, v->size) > 4000)
			return NULL;
		return v->rank > 1 ? lab_node(lab, "aten.constant_pad_nd.default", V(v), INTS(1, 0, 0, 2), D(0.5)) :
				     lab_node(lab, "aten.constant_pad_nd.default", V(v), INTS(1, 2), D(0.5));
	default:
		return v->rank < 4 ? lab_node(lab, "aten.unsqueeze_copy.default", V(v), I(-1)) :
				     lab_node(lab, "aten.view_copy.default", V(v), INTS(v->size[0], v->size[1] * v->size[2], -1));
	}
}

static struct value *norm(struct maker *m, struct value *v)
{
	struct lab *lab = m->lab;
	int64_t *c = &v->size[1];

	return lab_node(lab, "aten._native_batch_norm_legit_no_training.default", V(v), V(lab_constant(lab, F, 0.5, 1, 1, c)),
			V(lab_constant(lab, F, -1, 1, 1, c)), V(lab_constant(lab, F, -1, 1, 1, c)), V(lab_constant(lab, F, 0.5, 2, 1, c)), D(0.1), D(1e-5));
}

static struct value *convolution(struct maker *m, struct value *v)
{
	static const char *const orders[] = { "0123", "0231", "1230" };
	struct lab *lab = m->lab;
	bool depthwise = pick(m, 3) == 0, wide = v->rank == 4;
	int64_t in = v->size[1], out = depthwise ? in * (1 + pick(m, 2)) : 1 + pick(m, 6), k = 1 + 2 * pick(m, 2), pad = k / 2;
	struct value *w = wide ? lab_constant(lab, F, -0.5, 0.5, SIZES(out, depthwise ? 1 : in, k, k)) :
				 lab_constant(lab, F, -0.5, 0.5, SIZES(out, depthwise ? 1 : in, k));
	struct value *bias = pick(m, 2) ? lab_constant(lab, F, -1, 1, SIZES(out)) : NULL;

	if (wide)
		lab_order(w, orders[pick(m, 3)]);
	if (wide)
		v = lab_node(lab, "aten.convolution.default", V(v), V(w), V(bias), INTS(1, 1), INTS(pad, pad), INTS(1, 1), B(false), INTS(0, 0),
			     I(depthwise ? in : 1));
	else
		v = lab_node(lab, "aten.convolution.default", V(v), V(w), V(bias), INTS(1), INTS(pad), INTS(1), B(false), INTS(0), I(depthwise ? in : 1));
	return !v || pick(m, 3) ? v : norm(m, v);
}

static struct value *image(struct maker *m, struct value *v)
{
	struct lab *lab = m->lab;

	if (v->rank == 4 && v->size[2] > 1 && v->size[3] > 1)
		switch (pick(m, 6)) {
		case 0: return lab_node(lab, "aten.max_pool2d.default", V(v), INTS(2, 2), INTS(1, 2), INTS(0, 1), INTS(1, 1), B(pick(m, 2)));
		case 1: return lab_node(lab, "aten.avg_pool2d.default", V(v), INTS(2, 2), INTS(1, 1), INTS(0, 0), B(false), B(true), NONE);
		case 2: return lab_node(lab, "aten.mean.dim", V(v), INTS(2, 3), B(true), NONE);
		case 3:
			if (dtype_numel(4, v->size) < 2000)
				return lab_node(lab, "aten.upsample_bilinear2d.vec", V(v), INTS(v->size[2] + 2, v->size[3] * 2), B(pick(m, 2)), NONE);
			break;
		case 4: return lab_node(lab, "aten.prelu.default", V(v), V(lab_constant(lab, F, 0.1, 0.9, SIZES(v->size[1]))));
		}
	return v->rank > 2 ? convolution(m, v) : v->rank == 2 ? norm(m, v) : NULL;
}

static struct value *last_dim(struct maker *m, struct value *v)
{
	struct lab *lab = m->lab;
	int64_t in = v->size[v->rank - 1];
	struct value *w = lab_constant(lab, F, -0.5, 0.5, SIZES(1 + pick(m, 6), in));

	if (pick(m, 2))
		lab_order(w, "10");
	if (!value_is_default_order(v))		/* the stock kernels take memory for default order there */
		return NULL;
	return pick(m, 3) ? lab_node(lab, "aten.linear.default", V(v), V(w), NONE) :
			    lab_node(lab, "aten._softmax.default", V(v), I(-1), B(false));
}

static void add_input(struct maker *m)
{
	static const char *const orders[] = { "0123", "0123", "0231", "3102" };
	struct lab *lab = m->lab;
	struct value *v;

	switch (pick(m, 4)) {
	case 0: v = lab_input(lab, F, SIZES(2, 5)); break;
	case 1: v = lab_input(lab, F, SIZES(2, 4, 9)); break;
	default:
		v = lab_input(lab, F, SIZES(1 + pick(m, 2), 3, 5, 6));
		lab_order(v, orders[pick(m, 4)]);
	}
	m->pool[m->n++] = v;
}

static void make_graph(struct maker *m)
{
	for (int i = 0; i < 1 + pick(m, 3); i++)
		add_input(m);
	for (int i = 0; i < STEPS && m->n < POOL; i++) {
		struct value *v = any(m), *made;
		int k = pick(m, 10);

		if (!v->rank)
			continue;
		made = k < 4 ? elementwise(m, v) : k < 6 ? move(m, v) : k < 9 ? image(m, v) : last_dim(m, v);
		if (made)
			m->pool[m->n++] = made;
	}
	for (int i = 0; i < m->n; i++)
		if (m->pool[i]->kind == VALUE_NODE && (!m->pool[i]->nuses || !pick(m, 6)))
			lab_output(m->lab, m->pool[i]);
}

static void random_graphs(void **state)
{
	int ran = 0;

	for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
		struct maker m = { .lab = lab_new(), .seed = seed * 7919 };
		struct str s = { 0 };
		double d;

		m.lab->lenient = true;
		make_graph(&m);
		if (m.lab->g->noutputs) {
			d = lab_run(m.lab, NULL, 1);
			ran++;
			if (!(d < 2e-3)) {
				graph_print(m.lab->g, &s);
				for (char *line = strtok(s.text, "\n"); line; line = strtok(NULL, "\n"))
					print_message("# %s\n", line);
				fail_msg("graph %d is off by %g", (int)seed, d);
			}
		}
		lab_free(m.lab);
	}
	assert_true(ran > GRAPHS * 9 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_graphs) };

	return RUN_TAP(tests);
}
