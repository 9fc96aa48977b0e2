#include "core/program/delegates.h"

const struct xgraph *delegate_graph(const struct program *p, int plan, const struct pte_instruction *in,
				    struct error *err)
{
	const struct program_delegate *d = &p->delegate[plan][in->index];

	if (d->why) {
		error_set(err, d->why->code, "%s", d->why->text);
		return NULL;
	}
	if ((uint32_t)in->nargs < d->x.nexterns) {
		error_set(err, ERROR_FORMAT, "%s: delegate %d wants %u arguments, it is called with %d", p->pte.path,
			  in->index, d->x.nexterns, in->nargs);
		return NULL;
	}
	for (int i = 0; i < d->x.nvalues; i++) {
		uint32_t id = d->x.value[i].external_id;

		if (id != XNONE && p->pte.plan[plan].value[in->arg[id]].tag != PTE_TENSOR) {
			error_set(err, ERROR_FORMAT, "%s: argument %u of delegate %d is no tensor", p->pte.path, id,
				  in->index);
			return NULL;
		}
	}
	return &d->x;
}

static void count_value(const struct pte_plan *plan, int32_t v, int *uses)
{
	const struct pte_value *x = &plan->value[v];

	uses[v]++;
	if (x->tag == PTE_TENSOR_LIST || x->tag == PTE_OPTIONAL_TENSOR_LIST)
		for (int i = 0; i < x->index.n && uses[v] == 1; i++)	/* once is enough to know that it is read */
			if (x->index.at[i] >= 0)
				uses[x->index.at[i]]++;
}

int *delegate_uses(const struct pte_plan *plan, struct arena *a)
{
	int *uses = arena_array(a, (size_t)plan->nvalues, sizeof *uses);

	for (int c = 0; c < plan->nchains; c++)
		for (int i = 0; i < plan->chain[c].ninstructions; i++) {
			const struct pte_instruction *in = &plan->chain[c].instruction[i];

			for (int k = 0; k < in->nargs; k++)
				count_value(plan, in->arg[k], uses);
		}
	for (int i = 0; i < plan->noutputs; i++)
		count_value(plan, plan->output[i], uses);
	return uses;
}

int delegate_first_output(const struct replay *r, const struct pte_instruction *in, const int *uses, bool *unsure)
{
	int first = 0;

	*unsure = false;
	for (int i = 0; i < in->nargs; i++) {
		int content, place;

		if (r->plan->value[in->arg[i]].tag != PTE_TENSOR) {
			first = i + 1;
			continue;
		}
		switch (replay_read(r, in->arg[i], &content, &place)) {
		case REPLAY_OWN: case REPLAY_STORED:
			first = i + 1;
			break;
		case REPLAY_OTHER: case REPLAY_MIXED:	/* a view of what is there, or memory used again */
			*unsure |= uses[in->arg[i]] < 2;
			if (uses[in->arg[i]] < 2)
				first = i + 1;
			break;
		case REPLAY_NOBODY:
			break;
		}
	}
	return first;
}
