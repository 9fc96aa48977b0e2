#include "core/program/calls.h"

#include <string.h>

void call_table_init(struct call_table *t, const struct pte_plan *plan, struct arena *a)
{
	t->plan = plan;
	t->op = arena_array(a, (size_t)plan->noperators, sizeof *t->op);
	t->name = arena_array(a, (size_t)plan->noperators, sizeof *t->name);
	for (int i = 0; i < plan->noperators; i++) {
		const struct pte_operator *o = &plan->operator[i];

		t->name[i] = o->overload && *o->overload ? arena_printf(a, "%s.%s", o->name, o->overload) :
			     arena_string(a, o->name);
		t->op[i] = op_find_kernel(t->name[i]);
	}
}

void call_each_tensor(const struct pte_plan *plan, int32_t v, void (*f)(int32_t v, void *ctx), void *ctx)
{
	const struct pte_value *x = &plan->value[v];

	if (x->tag == PTE_TENSOR)
		f(v, ctx);
	else if (x->tag == PTE_TENSOR_LIST || x->tag == PTE_OPTIONAL_TENSOR_LIST)
		for (int i = 0; i < x->index.n; i++)
			if (x->index.at[i] >= 0 && plan->value[x->index.at[i]].tag == PTE_TENSOR)
				f(x->index.at[i], ctx);
}

bool call_writes(const struct kernel_call *c, int i)
{
	return c->op ? op_writes(c->op, i) : i == c->in_place;
}

static const struct pte_value *value_at(const struct call_table *t, const int32_t *arg, int i)
{
	return &t->plan->value[arg[i]];
}

static bool is_number(const struct pte_value *v)
{
	return v->tag == PTE_INT || v->tag == PTE_BOOL || v->tag == PTE_DOUBLE;
}

static bool list_is(const struct pte_value *list, const int32_t *at, int n)
{
	return list->tag == PTE_TENSOR_LIST && list->index.n == n && !memcmp(list->index.at, at, (size_t)n * sizeof *at);
}

/* The call has the row's arguments, in front of the outs that the row's results ask for. */
static bool fits(const struct call_table *t, const struct pte_instruction *in, struct kernel_call *c)
{
	int nargs = op_nargs(c->op) - (op_options_arg(c->op) < 0 ? 0 : CALL_OPTIONS);
	int nouts = op_nouts(c->op), rest = in->nargs - nargs;
	const char *result = c->op->schema + op_nargs(c->op) + 1;
	const int32_t *out = in->arg + nargs;

	c->nargs = nargs;
	c->out = out;
	c->nouts = nouts;
	if (rest < 1)
		return false;
	if (nouts == 0)
		return true;
	if (*result == 'N')
		return rest == 1 && is_number(value_at(t, out, 0));
	if (c->takes_pointer)
		return rest == 1 && nouts == 1 && value_at(t, out, 0)->tag == PTE_TENSOR;
	if (*result == 'L') {
		const struct pte_value *list = value_at(t, out, 0);

		if (list->tag != PTE_TENSOR_LIST)
			return false;
		c->out = list->index.at;
		c->nouts = list->index.n;
		return rest == 2;
	}
	for (int i = 0; i < nouts; i++)
		if (rest < nouts || value_at(t, out, i)->tag != PTE_TENSOR)
			return false;
	return rest == nouts + 1;
}

/* No row: the return slot tells. */
static void guess(const struct call_table *t, const struct pte_instruction *in, struct kernel_call *c)
{
	int n = in->nargs;
	const int32_t *slot = n ? &in->arg[n - 1] : NULL;
	const struct pte_value *v = n ? value_at(t, slot, 0) : NULL;

	c->nargs = n ? n - 1 : 0;
	c->out = NULL;
	c->nouts = 0;
	if (!n || v->tag == PTE_NULL)
		return;
	if (v->tag == PTE_TENSOR_LIST) {
		c->out = v->index.at;
		c->nouts = v->index.n;
		if (n > 1 && in->arg[n - 2] == *slot)
			c->nargs = n - 2;
		else if (v->index.n < n && list_is(v, slot - v->index.n, v->index.n))
			c->nargs = n - 1 - v->index.n;
		return;
	}
	if (v->tag != PTE_TENSOR && !is_number(v))
		return;
	if (n > 1 && in->arg[n - 2] == *slot) {
		c->nargs = n - 2;
	} else {
		for (int i = 0; i < n - 1 && v->tag == PTE_TENSOR; i++)
			if (in->arg[i] == *slot) {
				c->in_place = i;
				return;
			}
	}
	c->out = slot;
	c->nouts = 1;
}

struct kernel_call call_guess(const struct call_table *t, const struct pte_instruction *in)
{
	struct kernel_call c = { .name = t->name[in->index], .arg = in->arg, .in_place = -1 };

	/* The one kernel without a return slot: it computes nothing. */
	c.takes_pointer = !strcmp(c.name, "executorch_prim::et_view.default") && in->nargs > 1 &&
			  value_at(t, in->arg, 0)->tag == PTE_TENSOR;
	guess(t, in, &c);
	return c;
}

struct kernel_call call_read(const struct call_table *t, const struct pte_instruction *in)
{
	struct kernel_call guessed = call_guess(t, in), c = guessed;

	c.op = t->op[in->index];
	c.in_place = -1;
	return c.op && fits(t, in, &c) ? c : guessed;
}
