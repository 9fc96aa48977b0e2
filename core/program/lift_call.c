/* Kernel calls as nodes. */
#include "core/program/lifting.h"

#include <string.h>

struct call_lift {
	struct lifting *l;
	struct kernel_call c;
	struct arg *arg;	/* of the functional schema */
	int nargs;
};

/* What an argument letter of the schema takes. Numbers convert as the runtime converts them. */
static bool takes(char letter, const struct arg *a)
{
	bool optional = strchr("tsibl?MAFZ", letter), number = a->kind == ARG_VALUE && a->value->scalar;

	if (a->kind == ARG_NONE)
		return optional;
	switch (letter) {
	case 'T': case 't': return a->kind == ARG_VALUE && !number;
	case 'L': case 'l': case 'A': case 'F': return a->kind == ARG_LIST;
	case 'I': case 'i': case 'M': return a->kind == ARG_INT || a->kind == ARG_BOOL || number;
	case 'B': case 'b': return a->kind == ARG_BOOL || a->kind == ARG_INT || number;
	case 'D': case '?': case 'S': case 's':
		return a->kind == ARG_DOUBLE || a->kind == ARG_INT || a->kind == ARG_BOOL || number;
	case 'Z': return a->kind == ARG_STRING;
	}
	return false;
}

static bool item_fits(char letter, const struct arg *a)
{
	bool number = a->kind == ARG_VALUE && a->value->scalar;

	switch (letter) {
	case 'L': return a->kind == ARG_VALUE && !number;
	case 'l': return a->kind == ARG_NONE || (a->kind == ARG_VALUE && !number);
	case 'A': return a->kind == ARG_INT || a->kind == ARG_BOOL || number;
	case 'F': return a->kind == ARG_DOUBLE || a->kind == ARG_INT;
	}
	return true;
}

static bool fits_schema(const struct op *op, const struct arg *arg)
{
	for (int i = 0; i < op_nargs(op); i++) {
		if (!takes(op->schema[i], &arg[i]))
			return false;
		for (int k = 0; arg[i].kind == ARG_LIST && k < arg[i].list.n; k++)
			if (!item_fits(op->schema[i], &arg[i].list.at[k]))
				return false;
	}
	return true;
}

/* The options are no arguments of a file's call: the dtype is that of the out tensor. */
static bool read_args(struct call_lift *k)
{
	int options = k->c.op ? op_options_arg(k->c.op) : -1;
	const struct pte_value *out = k->c.nouts == 1 ? &k->l->pte->value[k->c.out[0]] : NULL;

	k->nargs = k->c.nargs + (options < 0 ? 0 : CALL_OPTIONS);
	k->arg = arena_array(&k->l->scratch, (size_t)k->nargs, sizeof *k->arg);
	for (int i = 0; i < k->c.nargs; i++)
		if (!lift_arg(k->l, k->c.arg[i], &k->arg[options < 0 || i < options ? i : i + CALL_OPTIONS]))
			return false;
	if (options >= 0 && out && out->tag == PTE_TENSOR)
		k->arg[options] = arg_int(out->tensor->dtype);
	return lift_spend(k->l, (size_t)k->c.nouts);
}

/* The operator without the underscore: what computes the same and leaves its argument alone. */
static const struct op *functional(const struct op *op)
{
	const char *dot = strrchr(op->name, '.');
	char name[128];
	size_t head;

	if (!dot || dot == op->name || dot[-1] != '_' || strlen(op->name) >= sizeof name)
		return NULL;
	head = (size_t)(dot - op->name) - 1;
	memcpy(name, op->name, head);
	strcpy(name + head, dot);
	op = op_find(name);
	return op && op_nouts(op) == 1 ? op : NULL;
}

/* How many arguments are written in place; *last is one of them, *state whether all are state now. */
static int written_args(struct call_lift *k, int *last, bool *state)
{
	int n = 0;

	*state = true;
	for (int i = 0; i < k->c.nargs; i++) {
		struct value *s;

		if (!call_writes(&k->c, i) || k->l->pte->value[k->c.arg[i]].tag != PTE_TENSOR)
			continue;
		s = lift_state(k->l, k->c.arg[i]);
		if (s && k->l->pointed[s->state_slot])
			lift_rigid(k->l, "state is written while a view of it is in use");
		*state = *state && s;
		*last = i;
		n++;
	}
	return n;
}

/* Argument `at` is written in place and is not state: what the operator makes of it is a new tensor. */
static bool in_place(struct call_lift *k, int at)
{
	struct lifting *l = k->l;
	const struct op *op = k->c.op ? functional(k->c.op) : NULL;
	struct node *n;

	if (!op || k->c.nouts || op_nargs(op) != k->nargs || !fits_schema(op, k->arg)) {
		lift_rigid(l, "%s writes a tensor in place that is not state", k->c.name);
		op = op_opaque(&l->g->mem, k->c.name);
	}
	n = lift_node(l, op, k->arg, k->nargs);
	lift_written(l, k->c.arg[at], lift_add_output(l, n, k->c.arg[at]));
	return true;
}

/* et_view: `out` points to the same memory from now on. Of state with fixed sizes it is that state. */
static bool take_pointer(struct call_lift *k)
{
	const struct op *view = op_find("aten.view_copy.default");
	struct lifting *l = k->l;
	int32_t v = k->c.out[0];
	struct value *state = lift_state(l, k->c.arg[0]);
	int content = -1;
	int32_t place;
	enum replay_kind kind;
	struct node *n;

	replay_point(&l->r, v, k->c.arg[0]);
	l->own[v] = NULL;
	if (state && l->pte->value[v].tensor->dynamism == PTE_STATIC && l->pte->value[v].tensor->bytes == state->bytes)
		return true;
	if (state)
		l->pointed[state->state_slot] = true;
	if (!view || k->nargs != 2 || !fits_schema(view, k->arg))
		view = op_opaque(&l->g->mem, k->c.name);
	n = lift_node(l, view, k->arg, k->nargs);
	l->own[v] = lift_add_output(l, n, v);
	kind = replay_read(&l->r, v, &content, &place);
	if (kind == REPLAY_OTHER || kind == REPLAY_OWN)
		replay_settle(&l->r, v, content);
	return true;
}

static bool has_numbers(const struct arg *a, int n)
{
	for (int i = 0; i < n; i++)
		if ((a[i].kind == ARG_VALUE && a[i].value->scalar) ||
		    (a[i].kind == ARG_LIST && has_numbers(a[i].list.at, a[i].list.n)))
			return true;
	return false;
}

static bool same_type(const struct value *v, const struct pte_tensor *t)
{
	for (int d = 0; d < v->rank; d++)
		if (v->rank != t->rank || v->size[d] != t->size[d])
			return false;
	return v->rank == t->rank && v->dtype == t->dtype;
}

/* The row's shape rule must give what the file says, or the node is not what its row says. What depends on
 * run-time numbers, or is of other sizes then, is taken as it stands in the file. */
static void check_types(struct call_lift *k, struct node *n)
{
	bool fits = op_infer(k->l->g, n, NULL) && n->nouts == k->c.nouts, dynamic = false;

	while (n->nouts > k->c.nouts)
		n->out[--n->nouts]->def = NULL;
	for (int i = 0; i < n->nouts; i++) {
		const struct pte_value *f = &k->l->pte->value[k->c.out[i]];

		if (f->tag != PTE_TENSOR)
			continue;
		dynamic |= n->out[i]->dynamic || f->tensor->dynamism != PTE_STATIC;
		fits = fits && same_type(n->out[i], f->tensor);
		lift_type(n->out[i], f->tensor);
	}
	if (!fits && !dynamic && !has_numbers(n->arg, n->nargs))
		n->op = op_opaque(&k->l->g->mem, k->c.name);
}

static bool out_of_place(struct call_lift *k)
{
	struct lifting *l = k->l;
	struct node *n = lift_node(l, k->c.op ? k->c.op : op_opaque(&l->g->mem, k->c.name), k->arg, k->nargs);
	struct value **out = arena_array(&l->scratch, (size_t)k->c.nouts, sizeof *out);

	for (int i = 0; i < k->c.nouts; i++)
		out[i] = lift_add_output(l, n, k->c.out[i]);
	if (k->c.op)
		check_types(k, n);
	for (int i = 0; i < k->c.nouts; i++)
		lift_written(l, k->c.out[i], out[i]);
	return true;
}

bool lift_kernel(struct lifting *l, const struct pte_instruction *in)
{
	struct call_lift k = { .l = l, .c = call_read(&l->calls, in) };
	bool state;
	int at = 0;

	if (!read_args(&k))
		return false;
	if (k.c.op && !fits_schema(k.c.op, k.arg)) {
		k.c = call_guess(&l->calls, in);
		if (!read_args(&k))
			return false;
	}
	if (k.c.takes_pointer && k.c.nouts == 1 && l->pte->value[k.c.out[0]].tag == PTE_TENSOR)
		return take_pointer(&k);
	return written_args(&k, &at, &state) && !state ? in_place(&k, at) : out_of_place(&k);
}
