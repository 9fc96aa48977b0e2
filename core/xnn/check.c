#include "core/xnn/check.h"

#include <string.h>

#define MAX_XNN_RANK 6

static const char *type_text(struct rule_run *r, const struct value *v)
{
	struct str s = { 0 };
	const char *text;

	value_type_print(v, &s);
	text = arena_string(r->mem, str_text(&s));
	str_free(&s);
	return text;
}

struct operands {
	struct value *scalar, *empty, *dtype, *rank, *first, *mixed;	/* the first that is wrong in this way */
	bool quantized;
	int n;
};

static bool dtype_is_taken(enum dtype t, bool quantized)
{
	return t == DTYPE_F32 || t == DTYPE_F16 ||
	       (quantized && (t == DTYPE_I8 || t == DTYPE_QI8 || t == DTYPE_QU8 || t == DTYPE_QI32));
}

static void note(struct value **at, struct value *v, bool wrong)
{
	if (wrong && !*at)
		*at = v;
}

static void look(struct value *v, void *ctx)
{
	struct operands *o = ctx;

	o->n++;
	note(&o->scalar, v, v->scalar);
	if (v->scalar)
		return;
	note(&o->empty, v, !v->bytes);
	note(&o->dtype, v, !dtype_is_taken(v->dtype, o->quantized));
	note(&o->rank, v, v->rank > MAX_XNN_RANK);
	note(&o->first, v, true);
	note(&o->mixed, v, v->dtype != o->first->dtype);
}

static void check_outputs(struct rule_run *r, bool quantized)
{
	const struct node *n = r->node;
	struct operands o = { .quantized = quantized };

	for (int i = 0; i < n->nouts; i++)
		if (!i || n->out[i]->nuses || n->out[i]->noutputs)
			look(n->out[i], &o);
	rule_check(r, !o.dtype, "outputs are f32 or f16", "dtype", "output is %s, must be f32 or f16",
		   o.dtype ? type_text(r, o.dtype) : "");
	rule_check(r, !o.rank, "outputs have at most 6 dimensions", "rank",
		   "output has %d dimensions, XNNPACK has at most 6", o.rank ? o.rank->rank : 0);
}

static void check_all(struct rule_run *r, bool quantized)
{
	const struct node *n = r->node;
	struct operands o = { .quantized = quantized };

	node_each_input(n, look, &o);
	rule_check(r, !o.scalar, "operands are tensors", "dynamic_shape",
		   "invalid dtype: an argument is a number known only at run time, such as a symbolic size");
	rule_check(r, !o.empty, "inputs are not empty", "shape", "an input is empty: %s",
		   o.empty ? type_text(r, o.empty) : "");
	rule_check(r, !o.dtype, "inputs are f32 or f16", "dtype", "invalid dtype: an input is %s, must be f32 or f16",
		   o.dtype ? type_text(r, o.dtype) : "");
	rule_check(r, !o.mixed, "inputs have one dtype", "mixed_dtypes", "inputs are %s and %s",
		   o.mixed ? dtype_name(o.first->dtype) : "", o.mixed ? dtype_name(o.mixed->dtype) : "");
	rule_check(r, !o.rank, "inputs have at most 6 dimensions", "rank",
		   "an input has %d dimensions, XNNPACK has at most 6", o.rank ? o.rank->rank : 0);
	check_outputs(r, quantized);
}

const char xrule_common[] = "operands are tensors; inputs are not empty; inputs are f32 or f16; inputs have one dtype; "
			    "inputs have at most 6 dimensions; outputs are f32 or f16; "
			    "outputs have at most 6 dimensions";

void check_tensors(struct rule_run *r)
{
	check_all(r, false);
}

void check_quantized_tensors(struct rule_run *r)
{
	check_all(r, true);
}

bool check_rank(struct rule_run *r, const struct value *v, int low, int high)
{
	const char *rule = arena_printf(r->mem, low == high ? "input is %d-D" : "input is %d-D to %d-D", low, high);

	return rule_check(r, v && v->rank >= low && v->rank <= high, rule, "rank",
			  "input has %d dimensions, must have %d%s", v ? v->rank : 0, high,
			  low == high ? "" : " or fewer");
}

bool check_first_output(struct rule_run *r, const char *what)
{
	const struct node *n = r->node;
	bool read = false;

	for (int i = 1; i < n->nouts; i++)
		read |= n->out[i]->nuses || n->out[i]->noutputs;
	return rule_check(r, !read, "only the first output is read", "argument", "%s are used", what);
}

bool check_static_shape(struct rule_run *r, const struct value *v, const char *why)
{
	return rule_check(r, v && !v->dynamic, "sizes are static", "dynamic_shape", "sizes are dynamic (%s): %s",
			  v && v->dynamic ? type_text(r, v) : "", why);
}

bool node_ints_spread(const struct node *n, int arg, int64_t otherwise, int64_t *at, int count)
{
	int have;

	if (arg >= 0 && arg < n->nargs && n->arg[arg].kind == ARG_INT) {
		at[0] = n->arg[arg].i;
		have = 1;
	} else if (arg < 0 || arg >= n->nargs || n->arg[arg].kind == ARG_NONE) {
		have = 0;
	} else if (!node_ints(n, arg, at, count, &have)) {
		return false;
	}
	if (have > 1 && have < count)
		return false;
	for (int i = have; i < count; i++)
		at[i] = have ? at[0] : otherwise;
	return true;
}

const struct node *only_user(const struct value *v)
{
	return v->nuses == 1 && !v->noutputs ? v->use[0].node : NULL;
}

/* What a value is computed from: constants alone, or things known only at run time. */
struct origins {
	struct arena *mem;
	struct map seen;
	vec(const struct node *) todo;
	int nodes, constants;
	const struct node *runtime;	/* one that is impure */
	const struct value *outside;	/* an input or state it depends on */
};

static void trace(struct value *v, void *ctx)
{
	struct origins *o = ctx;

	if (map_get(&o->seen, &v, sizeof v))
		return;
	map_put(&o->seen, o->mem, arena_copy(o->mem, &v, sizeof v), sizeof v, v);
	if (v->kind == VALUE_CONSTANT)
		o->constants++;
	else if (v->kind != VALUE_NODE)
		o->outside = v;
	else if (!map_get(&o->seen, &v->def, sizeof v->def)) {
		map_put(&o->seen, o->mem, arena_copy(o->mem, &v->def, sizeof v->def), sizeof v->def, v);
		o->nodes++;
		if (!op_is_pure(v->def->op))
			o->runtime = v->def;
		vec_push(o->mem, &o->todo, v->def);
	}
}

static void trace_all(struct origins *o, const struct value *v)
{
	trace((struct value *)v, o);
	while (o->todo.n && !o->outside && !o->runtime)
		node_each_input(o->todo.at[--o->todo.n], trace, o);
}

/* What makes it vary: an input, a buffer, or a node with a will of its own. */
static const char *cause_text(struct rule_run *r, const struct origins *o)
{
	char id[128];

	if (o->outside && o->outside->kind == VALUE_STATE)
		return arena_printf(r->mem, "the buffer %s, which the program writes", o->outside->name);
	if (o->outside)
		return arena_printf(r->mem, "the input %s", o->outside->name);
	return arena_printf(r->mem, "%s (%s)", o->runtime->op->name, node_id(r->graph, o->runtime, id, sizeof id));
}

static const char *computed_text(struct rule_run *r, const struct value *v, const char *what)
{
	struct arena mem = { 0 };
	struct origins o = { .mem = &mem };
	char id[128];
	const char *text;

	trace_all(&o, v);
	node_id(r->graph, v->def, id, sizeof id);
	if (o.outside || o.runtime)
		text = arena_printf(r->mem, "its %s is computed at run time from %s, last by %s (%s)", what,
				    cause_text(r, &o), v->def->op->name, id);
	else
		text = arena_printf(r->mem, "its %s is computed from %d parameter%s by %d node%s, last by %s (%s)",
				    what, o.constants, o.constants == 1 ? "" : "s", o.nodes,
				    o.nodes == 1 ? "" : "s", v->def->op->name, id);
	arena_free(&mem);
	return text;
}

bool check_static(struct rule_run *r, const struct value *v, const char *what)
{
	const char *rule = arena_printf(r->mem, "%s is a static parameter", what);
	const char *code = strcmp(what, "bias") ? "weight_not_static" : "bias_not_static";

	if (!v)
		return rule_check(r, false, rule, code, "%s is missing", what);
	if (v->kind == VALUE_STATE)
		return rule_check(r, false, rule, "weight_is_buffer",
				  "its %s is the buffer %s, which the program writes", what, v->name);
	if (v->kind == VALUE_INPUT)
		return rule_check(r, false, rule, code, "its %s is an input of the method", what);
	if (v->kind == VALUE_NODE)
		return rule_check(r, false, rule, code, "%s", computed_text(r, v, what));
	return rule_check(r, true, rule, code, " ");
}
