/* Calls: operands out of arguments, shapes and kernels at run time. */
#include "core/run/exec_parts.h"

#include <string.h>

struct binding {
	struct step *step;
	struct tensor *const *tensor;
	struct arena *mem;
	vec(struct number) numbers;
};

static bool takes_tensor(char letter)
{
	return letter && strchr("TtLl", letter);
}

static void bind_operand(struct binding *b, char letter, const struct arg *a, struct operand *o)
{
	o->kind = a->kind;
	switch (a->kind) {
	case ARG_NONE: break;
	case ARG_INT: o->i = a->i; break;
	case ARG_DOUBLE: o->d = a->d; break;
	case ARG_BOOL: o->b = a->b; break;
	case ARG_STRING: o->s = a->s; break;
	case ARG_VALUE:
		o->tensor = b->tensor[a->value->id];
		if (a->value->scalar && !takes_tensor(letter))
			vec_push(b->mem, &b->numbers, ((struct number){ o, o->tensor }));
		break;
	case ARG_LIST:
		o->list.n = a->list.n;
		o->list.at = arena_array(b->mem, (size_t)a->list.n, sizeof *o->list.at);
		for (int i = 0; i < a->list.n; i++)
			bind_operand(b, letter, &a->list.at[i], &o->list.at[i]);
		break;
	}
}

bool exec_bind(struct step *s, const struct graph *g, struct tensor *const *tensor, struct arena *a,
	       struct error *err)
{
	const struct node *n = s->node;
	struct binding b = { s, tensor, a, { 0 } };
	char id[128];

	if (n->group >= 0 && g->group[n->group].foreign && g->group[n->group].why)
		return error_set(err, ERROR_UNSUPPORTED, "%s: %s", node_id(g, n, id, sizeof id), g->group[n->group].why);
	if (n->op->flags & OP_OPAQUE || !n->op->shape || (!n->op->kernel && !s->view))
		return error_set(err, ERROR_UNSUPPORTED, "%s: no kernel here for %s", node_id(g, n, id, sizeof id), n->op->name);
	for (int i = 0; i < n->nargs; i++)
		if (op_writes(n->op, i) && node_input(n, i) && node_input(n, i)->kind == VALUE_CONSTANT)
			return error_set(err, ERROR_UNSUPPORTED, "%s: %s would write into a constant",
					 node_id(g, n, id, sizeof id), n->op->name);
	s->call = (struct call){ .op = n->op, .nargs = n->nargs, .nouts = n->nouts };
	s->call.arg = arena_array(a, (size_t)n->nargs, sizeof *s->call.arg);
	s->call.out = arena_array(a, (size_t)n->nouts, sizeof *s->call.out);
	for (int i = 0; i < n->nargs; i++)
		bind_operand(&b, op_arg_kind(n->op, i), &n->arg[i], &s->call.arg[i]);
	for (int i = 0; i < n->nouts; i++)
		s->call.out[i] = tensor[n->out[i]->id];
	s->number = b.numbers.at;
	s->nnumbers = b.numbers.n;
	return true;
}

static void read_number(const struct number *n)
{
	struct operand *o = n->to;

	switch (n->from->dtype) {
	case DTYPE_F64: case DTYPE_F32:
		o->kind = ARG_DOUBLE;
		o->d = dtype_get(n->from->dtype, n->from->data, 0);
		break;
	case DTYPE_BOOL:
		o->kind = ARG_BOOL;
		o->b = *(const uint8_t *)n->from->data;
		break;
	default:
		o->kind = ARG_INT;
		o->i = n->from->dtype == DTYPE_I64 ? *(const int64_t *)n->from->data :
			(int64_t)dtype_get(n->from->dtype, n->from->data, 0);
	}
}

/* Dimensions of size 1 may stand anywhere in an order. */
static bool same_layout(const struct value *v, const struct tensor *t)
{
	int i = 0, k = 0;

	for (;;) {
		while (i < t->rank && t->size[v->dim_order[i]] == 1)
			i++;
		while (k < t->rank && t->size[t->dim_order[k]] == 1)
			k++;
		if (i == t->rank || k == t->rank)
			return i == k;
		if (v->dim_order[i++] != t->dim_order[k++])
			return false;
	}
}

static bool wrong_output(const struct value *v, const struct tensor *t, struct error *err)
{
	struct str got = { 0 }, want = { 0 };

	tensor_type_print(t, &got);
	value_type_print(v, &want);
	error_set(err, ERROR_RUN, "the result is %s, the program has room for %s", str_text(&got), str_text(&want));
	str_free(&got);
	str_free(&want);
	return false;
}

bool exec_check_output(const struct value *v, const struct tensor *t, struct error *err)
{
	size_t bytes;
	bool ok = v->dtype == t->dtype && v->rank == t->rank && dtype_tensor_bytes(t->dtype, t->rank, t->size, &bytes) &&
		  bytes <= v->bytes;

	for (int d = 0; ok && !v->dynamic && d < t->rank; d++)
		ok = t->size[d] == v->size[d];
	if (!ok)
		return wrong_output(v, t, err);
	return !bytes || same_layout(v, t) ||
	       error_set(err, ERROR_RUN, "the result comes in another dim order than the program has for it");
}

void exec_read_numbers(struct step *s)
{
	for (int i = 0; i < s->nnumbers; i++)
		read_number(&s->number[i]);
}

bool exec_call(struct step *s, struct arena *scratch, struct error *err)
{
	struct call *c = &s->call;

	exec_read_numbers(s);
	c->scratch = scratch;
	if (!c->op->shape(c, err))
		return false;
	for (int i = 0; i < c->nouts; i++)
		if (!exec_check_output(s->node->out[i], c->out[i], err))
			return false;
	return s->view || c->op->kernel(c, err);
}
