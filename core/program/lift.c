#include "core/program/lifting.h"

#include "core/program/delegates.h"
#include "core/program/states.h"

#include <stdio.h>
#include <string.h>

/* What a file may ask for beyond its size: honest ones are far below it. */
enum { LIFT_SLACK = 1 << 16 };

void lift_rigid(struct lifting *l, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	if (l->g->rigid)
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	l->g->rigid = true;
	l->g->rigid_why = l->at.instruction < 0 ? arena_string(&l->g->mem, why) :
			  arena_printf(&l->g->mem, "instruction %d: %s", l->at.instruction, why);
}

bool lift_spend(struct lifting *l, size_t n)
{
	size_t room = l->p->pte.file_bytes + LIFT_SLACK;

	for (int i = 0; i < l->p->ndata; i++)
		room += l->p->data[i].file_bytes;
	l->p->lifted = n > room - l->p->lifted ? room + 1 : l->p->lifted + n;
	return l->p->lifted <= room ||
	       error_set(l->err, ERROR_FORMAT, "%s: method %.64s: its calls name more list items and delegate nodes "
			 "than a file of %zu bytes can hold", l->p->pte.path, l->pte->name, l->p->pte.file_bytes);
}

struct node *lift_node(struct lifting *l, const struct op *op, const struct arg *arg, int nargs)
{
	struct node *n = graph_node(l->g, NULL, op, arg, nargs);

	n->origin = l->at;
	return n;
}

/* Numbers and strings that the caller must give as they stand in the file. */
static void add_literal_input(struct lifting *l, const struct pte_value *x)
{
	enum dtype t = x->tag == PTE_DOUBLE ? DTYPE_F64 : x->tag == PTE_BOOL ? DTYPE_BOOL : DTYPE_I64;
	struct value *v = graph_value(l->g, VALUE_INPUT, t, 0, NULL);
	struct arg literal = x->tag == PTE_INT ? arg_int(x->i) : x->tag == PTE_BOOL ? arg_bool(x->b) :
			     x->tag == PTE_DOUBLE ? arg_double(x->d) : arg_none();

	if (x->tag == PTE_STRING)
		literal = (struct arg){ .kind = ARG_STRING, .s = arena_string(&l->g->mem, x->s.at) };
	v->scalar = true;
	v->name = arena_printf(&l->g->mem, "input%d", l->g->ninputs);
	graph_add_input(l->g, v, literal);
}

static void add_inputs(struct lifting *l)
{
	for (int i = 0; i < l->pte->ninputs; i++) {
		int32_t at = l->pte->input[i];
		const struct pte_value *x = &l->pte->value[at];
		struct value *v;

		if (x->tag != PTE_TENSOR) {
			add_literal_input(l, x);
			continue;
		}
		v = graph_value(l->g, VALUE_INPUT, DTYPE_F32, 0, NULL);
		lift_type(v, x->tensor);
		v->name = arena_printf(&l->g->mem, "input%d", i);
		graph_add_input(l->g, v, arg_none());
		if (l->slot[at] >= 0)
			lift_rigid(l, "input %d lies in memory that a method keeps from run to run", i);
		lift_written(l, at, v);
	}
}

/* The argument of control flow: shown, nothing more. */
static bool control(struct lifting *l, const char *name, int32_t in, int32_t out)
{
	struct arg a;
	struct node *n;

	l->g->control_flow = true;
	lift_rigid(l, "control flow");
	if (!lift_arg(l, in, &a))
		return false;
	n = lift_node(l, op_opaque(&l->g->mem, name), &a, 1);
	if (out >= 0 && l->pte->value[out].tag == PTE_TENSOR)
		lift_written(l, out, lift_add_output(l, n, out));
	return true;
}

static bool lift_instruction(struct lifting *l, const struct pte_instruction *in)
{
	switch (in->call) {
	case PTE_KERNEL: return lift_kernel(l, in);
	case PTE_DELEGATE: return lift_delegate(l, in);
	case PTE_MOVE: return control(l, "executorch::move", in->index, in->to);
	case PTE_JUMP_FALSE: return control(l, "executorch::jump_false", in->index, -1);
	case PTE_FREE: break;
	}
	return true;
}

static bool add_outputs(struct lifting *l)
{
	l->at.instruction = -1;
	for (int i = 0; i < l->pte->noutputs; i++) {
		struct arg a;

		if (!lift_arg(l, l->pte->output[i], &a))
			return false;
		if (a.kind == ARG_LIST) {
			lift_rigid(l, "output %d is a list", i);
			a = arg_none();
		}
		graph_add_output(l->g, a);
	}
	return true;
}

static bool is_training(const struct pte *p)
{
	static const char prefix[] = "__et_training_";

	for (int i = 0; i < p->nplans; i++)
		if (!strncmp(p->plan[i].name, prefix, sizeof prefix - 1))
			return true;
	return false;
}

static void prepare(struct lifting *l)
{
	size_t n = (size_t)l->pte->nvalues, slots = (size_t)l->p->states->nslots;

	call_table_init(&l->calls, l->pte, &l->scratch);
	replay_open(&l->r, l->pte, &l->scratch);
	l->uses = delegate_uses(l->pte, &l->scratch);
	l->slot = l->p->states->slot[l->plan];
	l->own = arena_array(&l->scratch, n, sizeof *l->own);
	l->as_literal = arena_array(&l->scratch, n, sizeof *l->as_literal);
	l->viewed = arena_array(&l->scratch, n, sizeof *l->viewed);
	l->content_of_slot = arena_array(&l->scratch, slots, sizeof *l->content_of_slot);
	l->pointed = arena_array(&l->scratch, slots, sizeof *l->pointed);
	for (size_t i = 0; i < slots; i++)
		l->content_of_slot[i] = -1;
	if (l->p->states->conflict[l->plan])
		lift_rigid(l, "%s", l->p->states->conflict[l->plan]);
}

static bool lift_chains(struct lifting *l)
{
	for (int c = 0; c < l->pte->nchains; c++)
		for (int i = 0; i < l->pte->chain[c].ninstructions; i++) {
			l->at.chain = c;
			l->at.instruction = i;
			if (!work_goes_on(l->p->work, "reading methods", i, l->pte->chain[c].ninstructions, l->err) ||
			    !lift_instruction(l, &l->pte->chain[c].instruction[i]))
				return false;
		}
	return true;
}

static struct graph *lift(struct program *p, int plan, bool as_meant, struct error *err)
{
	struct lifting l = { .p = p, .plan = plan, .pte = &p->pte.plan[plan], .as_meant = as_meant, .err = err };
	bool ok;

	l.at = (struct origin){ .kind = ORIGIN_FILE, .instruction = -1, .delegate = -1, .dnode = -1 };
	l.g = graph_new(l.pte->name);
	l.g->plan = plan;
	l.g->training = is_training(&p->pte);
	prepare(&l);
	lift_hold_states(&l);
	add_inputs(&l);
	ok = lift_chains(&l) && add_outputs(&l);
	if (l.r.clash)
		lift_rigid(&l, "a tensor's memory runs over state");
	lift_name_values(&l);
	graph_number(l.g);
	for (int i = 0; i < l.g->ngroups; i++)
		l.g->group[i].changed = false;
	arena_free(&l.scratch);
	if (ok)
		return l.g;
	graph_free(l.g);
	return NULL;
}

struct graph *lift_method(struct program *p, int plan, struct error *err)
{
	return lift(p, plan, false, err);
}

struct graph *lift_method_as_meant(struct program *p, int plan, struct error *err)
{
	size_t lifted = p->lifted;
	struct graph *g = lift(p, plan, true, err);

	p->lifted = lifted;	/* the same calls once more */
	return g;
}
