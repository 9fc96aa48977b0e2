/* Delegate calls: XNNPACK's are raised to nodes, others are one opaque node. */
#include "core/program/lifting.h"

#include "core/pass/transposes.h"
#include "core/program/delegates.h"
#include "core/xnn/raise.h"

static bool is_tensor(const struct lifting *l, int32_t v)
{
	return l->pte->value[v].tag == PTE_TENSOR;
}

static void set_group_args(struct lifting *l, int group, struct value **arg, int n)
{
	l->g->group[group].arg = arena_copy(&l->g->mem, arg, (size_t)n * sizeof *arg);
	l->g->group[group].nargs = n;
}

/* One opaque node: inputs, then outputs. is_out: by argument. */
static bool lift_whole(struct lifting *l, const struct pte_instruction *in, int group, const bool *is_out,
		       const struct error *why)
{
	const char *id = l->pte->delegate[in->index].id;
	struct value **value = arena_array(&l->scratch, (size_t)in->nargs, sizeof *value);
	struct arg *arg = arena_array(&l->scratch, (size_t)in->nargs, sizeof *arg);
	struct node *n;
	int nargs = 0;

	for (int i = 0; i < in->nargs; i++)
		if (!is_out[i]) {
			if (!lift_arg(l, in->arg[i], &arg[nargs]))
				return false;
			value[i] = arg[nargs].kind == ARG_VALUE ? arg[nargs].value : NULL;
			nargs++;
		}
	n = lift_node(l, op_opaque(&l->g->mem, id ? id : "?"), arg, nargs);
	n->group = group;
	l->g->group[group].foreign = true;
	l->g->group[group].why = arena_string(&l->g->mem, why->text);
	for (int i = 0; i < in->nargs; i++)
		if (is_out[i])
			value[i] = lift_add_output(l, n, in->arg[i]);
	for (int i = 0; i < in->nargs; i++)
		if (is_out[i])
			lift_written(l, in->arg[i], value[i]);
	set_group_args(l, group, value, in->nargs);
	return true;
}

/* Outputs by what the blob says; arguments that it does not know are read by nobody. */
static bool *outputs_of(struct lifting *l, const struct xgraph *x, const struct pte_instruction *in)
{
	bool *out = arena_array(&l->scratch, (size_t)in->nargs, sizeof *out), unsure;

	if (x) {
		for (int i = 0; i < x->nvalues; i++)
			if (x->value[i].flags & XFLAG_OUTPUT)
				out[x->value[i].external_id] = true;
		return out;
	}
	for (int i = delegate_first_output(&l->r, in, l->uses, &unsure); i < in->nargs; i++)
		out[i] = is_tensor(l, in->arg[i]);
	if (unsure)
		lift_rigid(l, "inputs and outputs of a delegate of %s cannot be told apart", l->pte->delegate[in->index].id);
	return out;
}

/* Bytes inside a delegate lie in the blob, in named data, or in a data file. */
static void find_homes(struct lifting *l, int first)
{
	for (int i = first; i < l->g->nvalues; i++) {
		struct value *v = l->g->value[i];

		if (v->kind == VALUE_CONSTANT)
			v->home = v->data ? program_home(l->p, v->data) : 0;
	}
}

static bool raise(struct lifting *l, const struct xgraph *x, const struct pte_instruction *in, int group,
		  const bool *is_out, struct error *why)
{
	size_t n = (size_t)in->nargs;
	struct value **value = arena_array(&l->scratch, n, sizeof *value);
	const struct pte_tensor **type = arena_array(&l->scratch, n, sizeof *type);
	struct node *last;
	int first;

	for (int i = 0; i < in->nargs; i++) {
		type[i] = is_tensor(l, in->arg[i]) ? l->pte->value[in->arg[i]].tensor : NULL;
		if (type[i] && !is_out[i])
			value[i] = lift_tensor(l, in->arg[i]);
	}
	first = l->g->nvalues;
	last = l->g->last;
	if (!xnn_raise(l->g, x, value, type, in->nargs, group, l->at, l->as_meant, why))
		return false;
	find_homes(l, first);
	set_group_args(l, group, value, in->nargs);
	transposes_apply_behind(l->g, group, last, NULL);
	xnn_raise_tidy(l->g, group, last);
	for (int i = 0; i < in->nargs; i++)
		if (is_out[i])
			lift_written(l, in->arg[i], l->g->group[group].arg[i]);
	return true;
}

/* What raising costs in nodes and in filters that have to be copied. */
static size_t cost(const struct xgraph *x)
{
	size_t n = (size_t)x->nnodes;

	for (int i = 0; i < x->nnodes; i++)
		if (x->node[i].tag == X_CONV_TRANSPOSE_2D && x->node[i].field[XC_GROUPS] > 1)
			n += x->value[x->node[i].field[XC_FILTER]].data.bytes;
	return n;
}

bool lift_delegate(struct lifting *l, const struct pte_instruction *in)
{
	struct error why = { 0 };
	const struct xgraph *x = delegate_graph(l->p, l->plan, in, &why);
	int group = graph_add_group(l->g, in->index);
	bool *is_out = outputs_of(l, x, in), ok;

	if (!lift_spend(l, (size_t)in->nargs) || (x && !lift_spend(l, cost(x))))
		return false;
	l->at.delegate = in->index;
	ok = (x && raise(l, x, in, group, is_out, &why)) || lift_whole(l, in, group, is_out, &why);
	l->at.delegate = -1;
	return ok;
}
