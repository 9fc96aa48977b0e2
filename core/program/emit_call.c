/* Calls of a plan (facts: formats 1.4, 1.5): kernels with their outs and return slot, delegates. */
#include "core/program/emission.h"

#include "core/format/xblob.h"
#include "core/op/op.h"
#include "core/xnn/lower.h"

#include <string.h>

/* One call being put together. */
struct call_out {
	struct method_out *m;
	const struct node *node;	/* for messages */
	vec(int32_t) arg;
	struct error *err;
	int step;
};

static void touch(struct value *v, void *ctx)
{
	struct call_out *c = ctx;
	struct place *root = &c->m->place[c->m->place[v->id].root];

	if (root->last < 0)
		root->first = c->step;
	root->last = c->step;
}

static void push_arg(struct call_out *c, int index)
{
	vec_push(c->m->e->mem, &c->arg, index);
}

static bool push_tensor(struct call_out *c, struct value *v, bool plain)
{
	int index;

	if (!emit_tensor(c->m, v, plain, &index, c->err))
		return false;
	touch(v, c);
	push_arg(c, index);
	return true;
}

static void push_call(struct call_out *c, enum pte_call call, int index)
{
	struct pte_instruction i = { .call = call, .index = index, .arg = c->arg.at, .nargs = c->arg.n };

	vec_push(c->m->e->mem, &c->m->code, i);
}

/* "aten::add.out" is operator "aten::add", overload "out". */
static int operator_index(struct method_out *m, const char *kernel)
{
	uintptr_t found = (uintptr_t)map_get(&m->operators, kernel, strlen(kernel));
	const char *colon = strstr(kernel, "::"), *dot = strchr(colon ? colon : kernel, '.');
	struct pte_operator o = { kernel, "" };

	if (found)
		return (int)found - 1;
	if (dot) {
		o.name = arena_printf(m->e->mem, "%.*s", (int)(dot - kernel), kernel);
		o.overload = dot + 1;
	}
	vec_push(m->e->mem, &m->operator, o);
	map_put(&m->operators, m->e->mem, kernel, strlen(kernel), (void *)(uintptr_t)m->operator.n);
	return m->operator.n - 1;
}

/* The letter that the value in the file stands for, where there is no schema. */
static char filed_kind(const struct call_out *c, const struct pte_instruction *call, int i)
{
	static const char kinds[] = {
		[PTE_INT_LIST] = 'A', [PTE_DOUBLE_LIST] = 'F', [PTE_BOOL_LIST] = 'O', [PTE_TENSOR_LIST] = 'L',
		[PTE_OPTIONAL_TENSOR_LIST] = 'l',
	};
	enum pte_tag tag = c->m->filed->value[call->arg[i]].tag;

	return tag < sizeof kinds ? kinds[tag] : '\0';
}

static bool push_args(struct call_out *c, const struct pte_instruction *pattern)
{
	const struct node *n = c->node;
	int options = op_options_arg(n->op);

	for (int i = 0; i < n->nargs; i++) {
		int index;

		if (options >= 0 && i >= options && i < options + 4)
			continue;
		if (!emit_arg(c->m, pattern ? filed_kind(c, pattern, i) : op_arg_kind(n->op, i), &n->arg[i],
		    &index, c->err))
			return false;
		push_arg(c, index);
	}
	node_each_input(n, touch, c);
	return true;
}

/* Out arguments and the return slot: one out stands twice; several stand one by one, then as a list; a list of
 * outs stands as two lists; a number stands once; what only writes an argument returns that. */
static bool push_outs(struct call_out *c)
{
	const struct node *n = c->node;
	const char *results = n->op->schema + op_nargs(n->op) + 1;
	int32_t *out = arena_array(c->m->e->mem, (size_t)n->nouts + 1, sizeof *out);
	int list;

	for (int i = 0; i < n->nouts; i++) {
		if (!emit_tensor(c->m, n->out[i], false, &out[i], c->err))
			return false;
		touch(n->out[i], c);
	}
	if (!n->nouts) {
		for (int i = 0; i < n->nargs; i++)
			if (op_writes(n->op, i))
				return push_arg(c, c->arg.at[i]), true;
		return push_arg(c, emit_literal(c->m, (struct pte_value){ .tag = PTE_NULL })), true;
	}
	for (int i = 0; i < n->nouts && *results != 'L'; i++)
		push_arg(c, out[i]);
	if (*results == 'N')
		return true;
	list = n->nouts > 1 || *results == 'L' ? emit_list(c->m, PTE_TENSOR_LIST, out, n->nouts) : out[0];
	if (*results == 'L')
		push_arg(c, list);
	push_arg(c, list);
	return true;
}

/* What only moves a pointer becomes a copy where the pointer may not be shared. */
static const char *kernel_of(const struct op *op)
{
	return op_is(op, "executorch_prim.et_view.default") ? "aten::view_copy.out" : op->kernel_name;
}

static bool emit_kernel(struct call_out *c)
{
	char id[128];

	if (!kernel_of(c->node->op))
		return error_set(c->err, ERROR_REFUSED, "%s: no kernel of the stock runtime computes %s",
				 node_id(c->m->g, c->node, id, sizeof id), c->node->op->name);
	if (!push_args(c, NULL) || !push_outs(c))
		return false;
	push_call(c, PTE_KERNEL, operator_index(c->m, kernel_of(c->node->op)));
	return true;
}

/* et_view(self, size, out): out gets self's memory; the size list is read when it runs. */
static bool emit_et_view(struct call_out *c)
{
	struct value *in = node_input(c->node, 0), *out = c->node->out[0];
	struct arg *item = arena_array(c->m->e->mem, (size_t)out->rank, sizeof *item);
	struct arg size = { .kind = ARG_LIST, .list = { item, out->rank } };
	int sizes = op_arg(c->node->op, "size"), index;

	for (int d = 0; d < out->rank; d++)
		item[d] = arg_int(out->size[d]);
	if (sizes >= 0 && c->node->arg[sizes].kind == ARG_LIST)
		size = c->node->arg[sizes];
	if (!push_tensor(c, in, true) || !emit_arg(c->m, 'A', &size, &index, c->err))
		return false;
	push_arg(c, index);
	node_each_input(c->node, touch, c);
	if (!push_tensor(c, out, false))
		return false;
	push_call(c, PTE_KERNEL, operator_index(c->m, "executorch_prim::et_view.default"));
	return true;
}

/* ---- operators without a row: the call in the file is the pattern ---- */

static const struct pte_instruction *filed_call(const struct call_out *c)
{
	const struct origin *o = &c->node->origin;
	const struct pte_plan *f = c->m->filed;

	return o->kind == ORIGIN_FILE && o->chain < f->nchains && o->instruction < f->chain[o->chain].ninstructions ?
		&f->chain[o->chain].instruction[o->instruction] : NULL;
}

/* Behind the arguments: outs by their number in the file, lists of outs, an argument that is written in place. */
static bool push_filed_tail(struct call_out *c, const struct pte_instruction *call, int32_t filed)
{
	const struct node *n = c->node;
	const struct pte_value *v = &c->m->filed->value[filed];
	int32_t *item;

	for (int i = 0; i < n->nargs; i++)
		if (call->arg[i] == filed && v->tag == PTE_TENSOR)
			return push_arg(c, c->arg.at[i]), true;
	for (int i = 0; i < n->nouts; i++)
		if (n->out[i]->file_value == filed)
			return push_tensor(c, n->out[i], false);
	if (v->tag == PTE_NULL)
		return push_arg(c, emit_literal(c->m, *v)), true;
	if (v->tag != PTE_TENSOR_LIST || v->index.n != n->nouts)
		return error_set(c->err, ERROR_UNSUPPORTED, "%s: a call of %s in a form that cannot be written anew",
				 c->m->g->method, n->op->name);
	item = arena_array(c->m->e->mem, (size_t)n->nouts, sizeof *item);
	for (int i = 0; i < n->nouts; i++) {
		int index;

		if (!emit_tensor(c->m, n->out[i], false, &index, c->err))
			return false;
		touch(n->out[i], c);
		item[i] = index;
	}
	return push_arg(c, emit_list(c->m, PTE_TENSOR_LIST, item, n->nouts)), true;
}

static bool emit_opaque(struct call_out *c)
{
	const struct pte_instruction *call = filed_call(c);

	if (!call || call->call != PTE_KERNEL || call->nargs <= c->node->nargs)
		return error_set(c->err, ERROR_UNSUPPORTED, "%s: %s has no call in the file to follow",
			c->m->g->method, c->node->op->name);
	if (!push_args(c, call))
		return false;
	for (int i = c->node->nargs; i < call->nargs; i++)
		if (!push_filed_tail(c, call, call->arg[i]))
			return false;
	push_call(c, PTE_KERNEL, operator_index(c->m, c->node->op->kernel_name));
	return true;
}

static bool emit_node(struct call_out *c)
{
	const struct value *out = c->node->nouts == 1 ? c->node->out[0] : NULL;

	if (out && c->m->place[out->id].elided)
		return true;
	if (out && c->m->place[out->id].et_view)
		return emit_et_view(c);
	return c->node->op->flags & OP_OPAQUE ? emit_opaque(c) : emit_kernel(c);
}

/* Arguments of a delegate that keeps its bytes. False when one of its call in the file has no value any more. */
static bool filed_arguments(const struct group *g, struct value ***out, int *nout)
{
	*out = g->arg;
	*nout = g->nargs;
	for (int i = 0; i < g->nargs; i++)
		if (!g->arg[i])
			return false;
	return g->arg;
}

static bool read_outside(const struct value *v, int group)
{
	for (int k = 0; k < v->nuses; k++)
		if (v->use[k].node->group != group)
			return true;
	return v->noutputs > 0;
}

/* Every value that is made in the group and read outside must be among the arguments. */
static bool covers_outputs(const struct unit *u, struct value *const *arg, int nargs)
{
	for (int i = 0; i < u->nnodes; i++)
		for (int o = 0; o < u->node[i]->nouts; o++) {
			const struct value *v = u->node[i]->out[o];
			bool there = !read_outside(v, u->group);

			for (int k = 0; k < nargs && !there; k++)
				there = arg[k] == v;
			if (!there)
				return false;
		}
	return true;
}

static bool push_delegate_call(struct call_out *c, struct value *const *arg, int nargs, int delegate)
{
	for (int i = 0; i < nargs; i++)
		if (!push_tensor(c, arg[i], false))
			return false;
	push_call(c, PTE_DELEGATE, delegate);
	return true;
}

static int keep_delegate(struct method_out *m, int filed)
{
	if (m->delegate_of[filed] < 0) {
		m->delegate_of[filed] = m->delegate.n;
		vec_push(m->e->mem, &m->delegate, m->filed->delegate[filed]);
	}
	return m->delegate_of[filed];
}

static bool emit_foreign(struct call_out *c, const struct unit *u)
{
	const struct node *n = u->node[0];

	for (int i = 0; i < n->nargs; i++)
		if (n->arg[i].kind != ARG_VALUE)
			return error_set(c->err, ERROR_UNSUPPORTED, "%s: a delegate argument that is no value",
				c->m->g->method);
		else if (!push_tensor(c, n->arg[i].value, false))
			return false;
	for (int i = 0; i < n->nouts; i++)
		if (!push_tensor(c, n->out[i], false))
			return false;
	push_call(c, PTE_DELEGATE, keep_delegate(c->m, c->m->g->group[u->group].filed));
	return true;
}

/* New delegates get the compile specs that the file's XNNPACK delegates have. */
static struct pte_delegate new_delegate(const struct method_out *m, struct span blob)
{
	struct pte_delegate d = { .id = "XnnpackBackend", .blob = blob, .in_segment = true };

	for (int i = 0; i < m->filed->ndelegates; i++)
		if (!strcmp(m->filed->delegate[i].id, d.id)) {
			d.spec = m->filed->delegate[i].spec;
			d.nspecs = m->filed->delegate[i].nspecs;
			break;
		}
	return d;
}

static bool had_ids(const struct unit *u)
{
	for (int i = 0; i < u->nnodes; i++)
		if (u->node[i]->origin.delegate >= 0)
			return true;
	return false;
}

static bool emit_lowered(struct call_out *c, const struct unit *u)
{
	struct method_out *m = c->m;
	struct xlowered x = { 0 };
	struct span blob;

	if (!xnn_lower(&x, m->g, u, m->e->mem, c->err) || !xblob_write(&x.graph, m->e->mem, &blob, c->err))
		return false;
	for (int i = 0; i < x.nnamed; i++)
		if (!emit_data_named(m->e, &x.named[i], x.home ? x.home[i] : HOME_PROGRAM, c->err))
			return false;
	vec_push(m->e->mem, &m->delegate, new_delegate(m, blob));
	m->delegates_anew += had_ids(u);
	return push_delegate_call(c, x.arg, x.nargs, m->delegate.n - 1);
}

static bool emit_group(struct call_out *c, const struct unit *u)
{
	const struct group *g = &c->m->g->group[u->group];
	struct value **arg;
	int nargs;

	if (g->foreign)
		return emit_foreign(c, u);
	if (g->filed >= 0 && !g->changed && filed_arguments(g, &arg, &nargs) && covers_outputs(u, arg, nargs)) {
		emit_data_delegate(c->m->e, c->m->filed, g->filed);
		return push_delegate_call(c, arg, nargs, keep_delegate(c->m, g->filed));
	}
	return emit_lowered(c, u);
}

bool emit_unit(struct method_out *m, const struct unit *u, struct error *err)
{
	struct call_out c = { .m = m, .node = u->node[0], .err = err, .step = m->code.n + 1 };

	if (!(u->group < 0 ? emit_node(&c) : emit_group(&c, u)))
		return false;
	emit_calls_note(m, u);
	return true;
}
