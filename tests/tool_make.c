/* tool_make - writes a program made by hand, for looking at in the terminal and for tests of it.
 *
 *   tool_make posconv FILE    a positional convolution whose weight is computed from v and g at every run
 *   tool_make methods FILE    two methods that store the same matrix twice, each with a product that can be linear
 *   tool_make hostile FILE    names with escape sequences, wide and combining characters, and marks that turn text
 *   tool_make slower FILE     a product that a delegate only slows down, and a table that nothing reads, so that it shrinks
 *   tool_make many N FILE     a chain of N nodes, every third of which XNNPACK has no rule for
 *   tool_make heavy N FILE    the same, and 100 linears that share 16 MB: making delegates of them takes seconds
 *   tool_make wide N FILE     N nodes: one value read by a third of them, all results alive at once, in scattered memory
 *   tool_make linears N FILE  a chain of N linears, each with a weight of its own, an erf behind every second
 *   tool_make computed N FILE a chain of N linears, each with a weight of 64 MB that is computed at every run
 *   tool_make ports N FILE    N inputs, a node for each, N outputs
 */
#include "tests/maker.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>

static const float *numbers(struct maker *m, int n)
{
	float *x = arena_array(&m->mem, (size_t)n, sizeof *x);

	for (int i = 0; i < n; i++)
		x[i] = (float)sin(i * 0.7 + 1) * 0.3f;
	return x;
}

static int planned(struct maker *m, uint64_t *at, int rank, const int32_t *size)
{
	int v = maker_planned(m, DTYPE_F32, 1, *at, rank, size);

	*at += (maker_tensor(m, v)->bytes + 15) / 16 * 16;
	return v;
}

/* conv(x, v * (g / |v|)), the last column dropped, gelu; 64 channels in 4 groups, a kernel of 32. */
static void posconv(struct maker *m)
{
	uint64_t at = 0;
	int v = maker_constant(m, DTYPE_F32, numbers(m, 64 * 16 * 32), SHAPE(64, 16, 32));
	int g = maker_constant(m, DTYPE_F32, numbers(m, 32), SHAPE(1, 1, 32));
	int bias = maker_constant(m, DTYPE_F32, numbers(m, 64), SHAPE(64)), x = planned(m, &at, SHAPE(1, 64, 100));
	int square = planned(m, &at, SHAPE(64, 16, 32)), sum = planned(m, &at, SHAPE(1, 1, 32));
	int norm = planned(m, &at, SHAPE(1, 1, 32)), ratio = planned(m, &at, SHAPE(1, 1, 32));
	int w = planned(m, &at, SHAPE(64, 16, 32)), y = planned(m, &at, SHAPE(1, 64, 101));
	int cut = planned(m, &at, SHAPE(1, 64, 100)), out = planned(m, &at, SHAPE(1, 64, 100));
	int two = maker_double(m, 2), half = maker_double(m, 0.5), dims = maker_ints(m, LIST(0, 1)), yes = maker_bool(m, true);
	int none = maker_none(m), one = maker_ints(m, LIST(1)), pad = maker_ints(m, LIST(16)), zero = maker_ints(m, LIST(0));
	int no = maker_bool(m, false), groups = maker_int(m, 4), dim = maker_int(m, 2), from = maker_int(m, 0);
	int to = maker_int(m, -1), step = maker_int(m, 1), how = maker_string(m, "none");

	maker_in(m, x);
	maker_call(m, "aten::pow.Tensor_Scalar_out", LIST(v, two, square, square));
	maker_call(m, "aten::sum.IntList_out", LIST(square, dims, yes, none, sum, sum));
	maker_call(m, "aten::pow.Tensor_Scalar_out", LIST(sum, half, norm, norm));
	maker_call(m, "aten::div.out", LIST(g, norm, ratio, ratio));
	maker_call(m, "aten::mul.out", LIST(v, ratio, w, w));
	maker_call(m, "aten::convolution.out", LIST(x, w, bias, one, pad, one, no, zero, groups, y, y));
	maker_call(m, "aten::slice_copy.Tensor_out", LIST(y, dim, from, to, step, cut, cut));
	maker_call(m, "aten::gelu.out", LIST(cut, how, out, out));
	maker_out(m, out);
}

static void product(struct maker *m, const char *last)
{
	uint64_t at = 0;
	int w = maker_constant(m, DTYPE_F32, numbers(m, 32 * 16), SHAPE(32, 16)), x = planned(m, &at, SHAPE(4, 16));
	int turned = planned(m, &at, SHAPE(16, 32)), y = planned(m, &at, SHAPE(4, 32)), out = planned(m, &at, SHAPE(4, 32));
	int order = maker_ints(m, LIST(1, 0));

	maker_in(m, x);
	maker_call(m, "aten::permute_copy.out", LIST(w, order, turned, turned));
	maker_call(m, "aten::mm.out", LIST(x, turned, y, y));
	maker_call(m, last, LIST(y, out, out));
	maker_out(m, out);
}

static void methods(struct maker *m)
{
	product(m, "aten::relu.out");
	maker_method(m, "score");
	product(m, "aten::erf.out");
}

static void hostile(struct maker *m)
{
	static const char *const names[] = {
		"\033[2J\033[31mred.weight", "\347\225\263\343\201\277\350\276\274\343\201\277.\351\207\215\343\201\277",
		"cafe\314\201.weight", "odd\302\233.bytes", "\342\200\256turned.round", "two\nlines\ttab.\rweight",
	};
	uint64_t at = 0;
	int x = planned(m, &at, SHAPE(8)), y = x;

	maker_in(m, x);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		int w = maker_external(m, DTYPE_F32, names[i], SHAPE(8)), one = maker_int(m, 1), to = planned(m, &at, SHAPE(8));

		maker_call(m, i % 2 ? "aten::sub.out" : "aten::add.out", LIST(y, w, one, to, to));
		y = to;
	}
	maker_out(m, y);
}

static void many(struct maker *m, int n)
{
	int v[2] = { maker_planned(m, DTYPE_F32, 1, 0, SHAPE(4, 4)), maker_planned(m, DTYPE_F32, 1, 64, SHAPE(4, 4)) };
	int x = maker_planned(m, DTYPE_F32, 1, 128, SHAPE(4, 4)), from = x;

	maker_in(m, x);
	for (int i = 0; i < n; i++) {
		maker_call(m, i % 3 ? "aten::sigmoid.out" : "aten::erf.out", LIST(from, v[i % 2], v[i % 2]));
		from = v[i % 2];
	}
	maker_out(m, from);
}

static void heavy(struct maker *m, int n)
{
	enum { SIDE = 2048 };
	int weight = maker_constant(m, DTYPE_F32, numbers(m, SIDE * SIDE), SHAPE(SIDE, SIDE)), none = maker_none(m);
	int v[2] = { maker_planned(m, DTYPE_F32, 2, 0, SHAPE(1, SIDE)), maker_planned(m, DTYPE_F32, 2, 4 * SIDE, SHAPE(1, SIDE)) };

	many(m, n);
	maker_in(m, v[0]);
	for (int i = 0; i < 100; i++) {
		maker_call(m, "aten::linear.out", LIST(v[0], weight, none, v[1], v[1]));
		maker_call(m, "aten::erf.out", LIST(v[1], v[0], v[0]));
	}
	maker_out(m, v[0]);
}

static void computed(struct maker *m, int n)
{
	enum { SIDE = 4096 };
	uint64_t at = 0;
	int w = planned(m, &at, SHAPE(SIDE, SIDE)), row[2] = { planned(m, &at, SHAPE(1, SIDE)), planned(m, &at, SHAPE(1, SIDE)) };
	int x = planned(m, &at, SHAPE(1, SIDE)), from = x, none = maker_none(m);

	maker_in(m, x);
	for (int i = 0; i < n; i++) {
		float *data = malloc(SIDE * SIDE * sizeof *data);	/* the system has it back when we end */
		float scale = 0.5f;

		for (int k = 0; k < SIDE * SIDE; k++)
			data[k] = (float)((k * 2654435761u + (unsigned)i * 97u) >> 20) / 262144 - 0.0078125f;
		maker_call(m, "aten::mul.out", LIST(maker_constant(m, DTYPE_F32, data, SHAPE(SIDE, SIDE)),
			maker_constant(m, DTYPE_F32, arena_copy(&m->mem, &scale, sizeof scale), SHAPE(1)), w, w));
		maker_call(m, "aten::linear.out", LIST(from, w, none, row[i % 2], row[i % 2]));
		from = row[i % 2];
	}
	maker_out(m, from);
}

/* A row times a matrix that is an input: XNNPACK packs the matrix first, which takes longer than one row does. The
 * table that nothing reads goes. */
static void slower(struct maker *m)
{
	uint64_t at = 0;
	int x = planned(m, &at, SHAPE(1, 1, 512)), by = planned(m, &at, SHAPE(1, 512, 512)), y = planned(m, &at, SHAPE(1, 1, 512));

	maker_constant(m, DTYPE_F32, numbers(m, 50000), SHAPE(50000));
	maker_in(m, x);
	maker_in(m, by);
	maker_call(m, "aten::bmm.out", LIST(x, by, y, y));
	maker_out(m, y);
}

/* a_i = sigmoid(x), b_i = erf(a_i), sum += b_i from the last to the first; erf(sum) is the next x. Delegates may not
 * have more than some thousand arguments. */
static void wide(struct maker *m, int n)
{
	enum { MOST = 3000 };
	int x = maker_planned(m, DTYPE_F32, 1, 0, SHAPE(4, 4)), *b = arena_array(&m->mem, MOST, sizeof *b), one = maker_int(m, 1);

	maker_in(m, x);
	for (int done = 0, width; done < n; done += 3 * width + 1) {
		int base = done / 3 * 2, sum = x;

		width = (n - done) / 3 + 1 < MOST ? (n - done) / 3 + 1 : MOST;
		for (int i = 0; i < width; i++) {
			uint64_t at = (uint64_t)(base + 1 + i * 7919 % width) * 128;	/* a prime: every place once, unless it divides */
			int a = maker_planned(m, DTYPE_F32, 1, at, SHAPE(4, 4));

			b[i] = maker_planned(m, DTYPE_F32, 1, at + 64, SHAPE(4, 4));
			maker_call(m, "aten::sigmoid.out", LIST(x, a, a));
			maker_call(m, "aten::erf.out", LIST(a, b[i], b[i]));
		}
		for (int i = width - 1; i >= 0; i--) {
			int to = maker_planned(m, DTYPE_F32, 1, (uint64_t)(base + width + 1 + i % 2) * 128, SHAPE(4, 4));

			maker_call(m, "aten::add.out", LIST(sum, b[i], one, to, to));
			sum = to;
		}
		x = maker_planned(m, DTYPE_F32, 1, (uint64_t)(base + width + 3) * 128, SHAPE(4, 4));
		maker_call(m, "aten::erf.out", LIST(sum, x, x));
	}
	maker_out(m, x);
}

static void linears(struct maker *m, int n)
{
	int v[2] = { maker_planned(m, DTYPE_F32, 1, 0, SHAPE(2, 16)), maker_planned(m, DTYPE_F32, 1, 128, SHAPE(2, 16)) };
	int x = maker_planned(m, DTYPE_F32, 1, 256, SHAPE(2, 16)), from = x, none = maker_none(m), calls = 0;

	maker_in(m, x);
	for (int i = 0; i < n; i++) {
		float w[16 * 16];
		int to = v[calls++ % 2];

		for (int k = 0; k < 16 * 16; k++)
			w[k] = (float)sin(i + k * 0.7) * 0.2f;
		maker_call(m, "aten::linear.out", LIST(from, maker_constant(m, DTYPE_F32, w, SHAPE(16, 16)), none, to, to));
		if (i % 2) {
			from = to;
			to = v[calls++ % 2];
			maker_call(m, "aten::erf.out", LIST(from, to, to));
		}
		from = to;
	}
	maker_out(m, from);
}

static void ports(struct maker *m, int n)
{
	for (int i = 0; i < n; i++) {
		int x = maker_planned(m, DTYPE_F32, 1, (uint64_t)i * 32, SHAPE(4)), y = maker_planned(m, DTYPE_F32, 1, (uint64_t)i * 32 + 16, SHAPE(4));

		maker_in(m, x);
		maker_call(m, i % 2 ? "aten::sigmoid.out" : "aten::erf.out", LIST(x, y, y));
		maker_out(m, y);
	}
}

static const struct { const char *name; void (*make)(struct maker *m, int n); } sized[] = {
	{ "many", many }, { "heavy", heavy }, { "wide", wide }, { "linears", linears }, { "ports", ports },
	{ "computed", computed },
};

static bool make_sized(struct maker *m, const char *kind, int n)
{
	for (size_t i = 0; i < sizeof sized / sizeof *sized; i++)
		if (!strcmp(kind, sized[i].name))
			return sized[i].make(m, n), true;
	return false;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[1] : "";
	struct maker *m = maker_new();

	if (!strcmp(kind, "posconv")) {
		posconv(m);
	} else if (!strcmp(kind, "methods")) {
		methods(m);
	} else if (!strcmp(kind, "hostile")) {
		hostile(m);
	} else if (!strcmp(kind, "slower")) {
		slower(m);
	} else if (argc != 4 || !make_sized(m, kind, atoi(argv[2]))) {
		fprintf(stderr, "usage: tool_make posconv|methods|hostile|slower FILE, or\n"
			"tool_make many|heavy|wide|linears|computed|ports N FILE\n");
		return 2;
	}
	maker_save(m, argv[argc - 1]);
	maker_free(m);
	return 0;
}
