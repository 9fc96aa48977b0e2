#include "tests/made.h"

#include "core/op/op.h"

#include <string.h>

enum { FACTS_ROWS = 8 };

static struct value *out(struct graph *g, struct node *n, int rank, const int64_t *size)
{
	return node_add_output(g, n, DTYPE_F32, rank, size);
}

static struct node *add(struct graph *g, const char *op, const struct arg *arg, int nargs, int instruction, int dnode, int delegate)
{
	struct node *n = graph_node(g, NULL, op_find(op), arg, nargs);

	n->origin = (struct origin){ ORIGIN_FILE, 0, instruction, delegate, dnode, 0, 0, 0 };
	n->group = delegate;
	return n;
}

static struct value *constant(struct graph *g, const char *name, const int64_t *size)
{
	struct value *v = graph_value(g, VALUE_CONSTANT, DTYPE_F32, 3, size);

	v->name = name;
	v->data = arena_alloc(&g->mem, v->bytes);
	return v;
}

/* conv(x, v * (g / |v|)), with the norm over the first two dimensions. */
static struct graph *made_graph(void)
{
	static const int64_t weight[] = { 1024, 64, 128 }, one[] = { 1, 1, 128 }, x_size[] = { 1, 1024, 500 };
	struct graph *g = graph_new("forward");
	struct value *v, *gain, *bias, *x = graph_value(g, VALUE_INPUT, DTYPE_F32, 3, x_size), *square, *sum, *norm, *ratio, *w;
	int64_t zero = 0, dims[] = { 0, 1 }, ones[] = { 1 }, pad[] = { 64 };
	struct node *n;

	x->name = "x";
	graph_add_input(g, x, arg_none());
	v = constant(g, "conv.\x1b[31mweight_v", weight);	/* a hostile name */
	gain = constant(g, "conv.weight_g", one);
	bias = constant(g, "conv.bias", (const int64_t[]){ 1, 1, 1024 });
	graph_add_group(g, 0);
	graph_add_group(g, 1);
	n = add(g, "aten.mul.Tensor", (struct arg[]){ arg_value(v), arg_value(v) }, 2, 0, 0, 0);
	square = out(g, n, 3, weight);
	n = add(g, "aten.sum.dim_IntList", (struct arg[]){ arg_value(square), arg_ints(g, dims, 2), arg_bool(true), arg_none() }, 4, 1, -1, -1);
	sum = out(g, n, 3, one);
	n = add(g, "aten.pow.Tensor_Scalar", (struct arg[]){ arg_value(sum), arg_double(0.5) }, 2, 2, -1, -1);
	norm = out(g, n, 3, one);
	n = add(g, "aten.div.Tensor", (struct arg[]){ arg_value(gain), arg_value(norm) }, 2, 3, 0, 1);
	ratio = out(g, n, 3, one);
	n = add(g, "aten.mul.Tensor", (struct arg[]){ arg_value(v), arg_value(ratio) }, 2, 3, 1, 1);
	w = out(g, n, 3, weight);
	n = add(g, "aten.convolution.default", (struct arg[]){ arg_value(x), arg_value(w), arg_value(bias), arg_ints(g, ones, 1),
		arg_ints(g, pad, 1), arg_ints(g, ones, 1), arg_bool(false), arg_ints(g, &zero, 1), arg_int(16) }, 9, 4, -1, -1);
	graph_add_output(g, arg_value(out(g, n, 3, (const int64_t[]){ 1, 1024, 501 })));
	graph_number(g);
	return g;
}

static struct graph *folded_graph(void)
{
	static const int64_t weight[] = { 1024, 64, 128 }, x_size[] = { 1, 1024, 500 };
	struct graph *g = graph_new("forward");
	struct value *w, *bias, *x = graph_value(g, VALUE_INPUT, DTYPE_F32, 3, x_size);
	int64_t zero = 0, ones[] = { 1 }, pad[] = { 64 };
	struct node *n;

	x->name = "x";
	graph_add_input(g, x, arg_none());
	w = constant(g, "conv.weight_v_prop", weight);
	bias = constant(g, "conv.bias", (const int64_t[]){ 1, 1, 1024 });
	graph_add_group(g, -1);
	n = add(g, "aten.convolution.default", (struct arg[]){ arg_value(x), arg_value(w), arg_value(bias), arg_ints(g, ones, 1),
		arg_ints(g, pad, 1), arg_ints(g, ones, 1), arg_bool(false), arg_ints(g, &zero, 1), arg_int(16) }, 9, 4, -1, 0);
	graph_add_output(g, arg_value(out(g, n, 3, (const int64_t[]){ 1, 1024, 501 })));
	graph_number(g);
	return g;
}

static const struct rule_check conv_checks[] = {
	{ "input and output are f32", "dtype", true, NULL },
	{ "weight is a static parameter", "weight_not_static", false, "weight is computed by aten.mul.Tensor at forward/3/1" },
	{ "1-D or 2-D", "rank", true, NULL },
};

/* What differs from row to row of the facts of made_graph. */
static const struct {
	bool constant_only;
	struct verdict verdict;
	const char *fix;
	double flops;
	const char *story;
} made_rows[] = {
	{ true, { .kind = VERDICT_TAKES }, "none", 8388608, NULL },
	{ true, { .kind = VERDICT_NO_RULE, .code = "no_rule", .text = "XNNPACK has no rule for sum" }, "fold", 8388608,
	  "Computes a weight; the fold removes it." },
	{ true, { .kind = VERDICT_DECLINES, .code = "argument", .text = "exponent is \"0.5\", XNNPACK takes 2" }, "fold", 128,
	  "Computes a weight; the fold removes it." },
	{ true, { .kind = VERDICT_TAKES }, "none", 128, NULL },
	{ true, { .kind = VERDICT_TAKES }, "none", 8388608, NULL },
	{ false, { .kind = VERDICT_DECLINES, .code = "weight_not_static", .text = "its weight is computed by aten.mul.Tensor",
	  .check = conv_checks, .nchecks = 3 }, "fold", 8405385216.0,
	  "Its weight is computed from conv.\x1b[31mweight_v and conv.weight_g by nodes that read constants alone. "
	  "A fold stores it, and XNNPACK takes the convolution." },
};

/* The memory plan: the input, and what forward/2 and forward/4 write. */
static void make_plan(struct arena *a, struct method_facts *f, const struct graph *g)
{
	static struct pte_tensor x = { .dtype = DTYPE_F32, .rank = 3, .size = { 1, 1024, 500 } };
	static struct pte_tensor norm = { .dtype = DTYPE_F32, .rank = 3, .size = { 1, 1, 128 } };
	static struct pte_tensor out = { .dtype = DTYPE_F32, .rank = 3, .size = { 1, 1024, 501 }, .dynamism = PTE_DYNAMIC_BOUND };
	static struct pte_value value[] = { { PTE_TENSOR, .tensor = &x }, { PTE_TENSOR, .tensor = &norm }, { PTE_TENSOR, .tensor = &out } };
	static int64_t buffer[] = { 0, 71303168 };
	static const struct pte_plan plan = { .value = value, .nvalues = 3, .buffer_bytes = buffer, .nbuffers = 2 };
	static const uint64_t in_use[] = { 2048000, 2048000, 2048512, 2048512, 2048512, 4100096, 2052096 };
	static const struct planned_tensor tensors[] = { { 0, 1, 0, 2048000, 0, 5, 0, -1, false, NULL, NULL },
		{ 1, 1, 2048000, 512, 3, 4, 0, 2, false, NULL, NULL }, { 2, 1, 35651584, 2052096, 5, 6, 0, 4, false, NULL, NULL } };

	f->plan = (struct planned){ &plan, arena_copy(a, tensors, sizeof tensors), 3, 7, arena_copy(a, in_use, sizeof in_use), 4100096, 5,
		71303168 };
	f->plan.tensor[0].is = g->input[0];
	f->plan.tensor[1].by = f->row[2].node;
	f->plan.tensor[2].by = f->row[5].node;
}

static void make_facts(struct arena *a, struct method_facts *f, const struct graph *g, bool folded)
{
	int i = 0;
	char id[64];

	*f = (struct method_facts){ .graph = g, .worst = folded ? -1 : 5, .planned_bytes = folded ? 4096000 : 71303168,
		.constant_bytes = 33558528 };
	f->row = arena_array(a, FACTS_ROWS, sizeof *f->row);
	for (const struct node *n = g->first; n; n = n->next, i++) {
		int k = folded ? 5 : i;

		f->row[i] = (struct node_row){ .node = n, .id = arena_string(a, node_id(g, n, id, sizeof id)),
			.runs = n->group < 0 ? RUNS_PORTABLE : RUNS_XNNPACK, .delegate = n->group, .module = "conv",
			.constant_only = made_rows[k].constant_only, .verdict = made_rows[k].verdict, .fix = made_rows[k].fix,
			.flops = made_rows[k].flops, .bytes = 1000, .ms = -1, .story = made_rows[k].story };
		if (folded)
			f->row[i].verdict = (struct verdict){ .kind = VERDICT_TAKES }, f->row[i].fix = "none", f->row[i].story = NULL;
	}
	f->nrows = i;
	f->ndelegates = folded ? 1 : 2;
	f->delegate = arena_array(a, 2, sizeof *f->delegate);
	f->delegate[0] = (struct delegate_row){ "XnnpackBackend", 1, folded ? 33555000 : 352 };
	f->delegate[1] = (struct delegate_row){ "XnnpackBackend", 2, 480 };
	if (folded)
		return;
	make_plan(a, f, g);
	f->left_out = arena_array(a, 3, sizeof *f->left_out);
	f->left_out[0] = "aten::sum.IntList_out";
	f->left_out[1] = "aten::pow.Tensor_Scalar_out";
	f->left_out[2] = "aten::convolution.out";
	f->nleft_out = 3;
	f->warning = arena_alloc(a, sizeof *f->warning);
	*f->warning = (struct warning){ g->last, f->row[5].id, "wrong_result", "an invented warning with a \r control character", 0.25, true };
	f->nwarnings = 1;
}

static void make_fold(struct arena *a, struct version *v)
{
	struct graph *g = v->method[0];
	struct fold *f = arena_alloc(a, sizeof *f);

	*f = (struct fold){ .at = g->last, .position = "weight", .folds = true, .value = g->last->arg[1].value, .nnodes = 5,
		.nsources = 2, .bytes_erased = 33554944, .bytes_added = 33554432, .home = HOME_PROGRAM, .marked = true,
		.name = "conv.weight_v_prop_0000000000000000000000000000000000000000000000000000000000000000" };
	f->node = arena_array(a, 5, sizeof *f->node);
	f->source = arena_array(a, 2, sizeof *f->source);
	for (struct node *n = g->first; n != g->last; n = n->next)
		f->node[n->order] = n;
	f->source[0] = g->value[1];
	f->source[1] = g->value[2];
	v->fold.fold = f;
	v->fold.nfolds = 1;
}

struct session *made_session(void)
{
	struct session *s = mem_alloc(sizeof *s);
	struct arena *a = &s->mem;
	struct program *p = arena_alloc(a, sizeof *p);

	p->file = (struct file){ .path = "dir/pos conv.pte", .bytes = 33564000 };
	p->method = arena_array(a, 1, sizeof *p->method);
	p->method[0] = made_graph();
	p->nmethods = 1;
	s->program = p;
	s->run = (struct run_options){ .threads = 2, .warmup = 4, .runs = 30, .max_seconds = 10, .tolerance = 1e-3 };
	strcpy(s->cpu.name, "A Processor");
	strcpy(s->cpu.isa, "avx2 fma3");
	strcpy(s->cpu.caches, "L1d 32 KiB");
	s->cpu.cores = 2;
	s->version = arena_array(a, 2, sizeof *s->version);
	s->nversions = 2;
	for (int i = 0; i < 2; i++) {
		struct version *v = &s->version[i];

		v->method = arena_array(a, 1, sizeof *v->method);
		v->method[0] = i ? folded_graph() : p->method[0];
		v->applied = i ? "fold" : NULL;
		v->facts = arena_alloc(a, sizeof *v->facts);
		v->has_facts = true;
		make_facts(a, v->facts, v->method[0], i);
		v->constant = constants_find(v->method, 1, !i, a, &v->nconstants);
	}
	s->version[1].has_emitted = true;
	s->version[1].emitted.program.bytes = 33559000;
	make_fold(a, &s->version[0]);
	return s;
}

void made_free(struct session *s)
{
	graph_free(s->version[0].method[0]);
	graph_free(s->version[1].method[0]);
	arena_free(&s->mem);
	mem_free(s);
}
