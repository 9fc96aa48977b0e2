/* What is wrong with a method as it stands: delegates that compute something else than was meant, or do not load;
 * bytes stored twice; what this machine lacks. Of weights a few bytes are read, and more only of suspects. */
#include "core/session/facts_parts.h"

#include "core/op/op.h"
#include "core/pass/partition.h"
#include "core/session/weights.h"
#include "core/xnn/doubt.h"
#include "core/xnn/live.h"
#include "core/xnn/raise.h"

#include <string.h>

static void warn(struct making_facts *m, const struct node_row *r, const char *code, const char *text)
{
	facts_warn(m->f, m->mem, (struct warning){ r->node, r->id, code, text, -1, false });
}

static const struct node_row *row_of(const struct making_facts *m, const struct node *n)
{
	return &m->f->row[n->order];
}

/* ---- delegates that cannot be used ---- */

static void warn_wrong(struct making_facts *m, const struct node_row *r, const char *text, bool measurable)
{
	facts_warn(m->f, m->mem, (struct warning){ r->node, r->id, "wrong_result", text, -1, measurable });
}

/* The stock lowering writes unsigned integers as signed ones, and the runtime hands over bytes unseen. */
static void warn_of_types(struct making_facts *m, const struct node_row *r, const struct xgraph *x)
{
	const struct group *g = &m->g->group[r->node->group];

	for (int i = 0; i < x->nvalues; i++) {
		const struct value *v = x->value[i].external_id == XNONE ? NULL : g->arg[x->value[i].external_id];

		if (v && !v->scalar && v->dtype != raise_dtype(x->value[i].datatype)) {
			warn_wrong(m, r, arena_printf(m->mem, "argument %u of the delegate is %s, which XNNPACK takes for %s: the stock "
				"runtime does not compare them, and the bytes mean something else; quantised activations must be int8",
				x->value[i].external_id, dtype_name(v->dtype), xdatatype_name(x->value[i].datatype)), false);
			return;
		}
	}
}

/* Arguments that the call lacks: the stock runtime reads on past their list. */
static void warn_of_call(struct making_facts *m, const struct node_row *r, const struct xgraph *x)
{
	int nargs = m->g->group[r->node->group].nargs;

	if ((uint32_t)nargs < x->nexterns)
		warn(m, r, "will_crash", arena_printf(m->mem, "the delegate takes %u arguments and is called with %d, so that the "
			"stock runtime reads past their list; the stock lowering does that where a delegate holds a buffer, reads it as "
			"a weight and updates it", x->nexterns, nargs));
	else
		warn_of_types(m, r, x);
}

static void warn_of_delegate(struct making_facts *m, const struct node_row *r)
{
	const struct program *p = m->s->program;
	int filed = m->g->group[r->node->group].filed;
	struct error err = { 0 };
	struct xgraph x;

	if (filed < 0)
		return;
	if (program_delegate(p, m->g->plan, filed, &x, &m->scratch, &err))
		warn_of_call(m, r, &x);
	else if (strcmp(p->pte.plan[m->g->plan].delegate[filed].id, "XnnpackBackend"))
		warn(m, r, "backend_missing",
		     arena_printf(m->mem, "this delegate is for %s: it runs only where that backend is built in",
				  p->pte.plan[m->g->plan].delegate[filed].id));
	else
		warn(m, r, "will_not_load", arena_string(m->mem, err.text));
}

/* What a delegate as filed reads after the runtime freed it: told at the node that reads it. */
static void warn_of_freed(struct making_facts *m)
{
	const struct node **freed = groups_read_freed(m->g, &m->scratch);

	for (int i = 0; i < m->g->ngroups; i++) {
		const struct node *n = freed[i];

		/* A node that could not be raised: whether it packs what it reads is not known. */
		if (n && !(n->op->flags & OP_OPAQUE))
			warn(m, row_of(m, n), "will_crash",
			     "it reads a constant that is stored inside its delegate, and the stock runtime frees those bytes once the "
			     "weights are packed: loaded from a file, the program may crash; --apply partition makes the delegate anew");
	}
}

/* ---- nodes that compute something else than was meant ---- */

/* Whole numbers that are scaled afterwards are as somebody wanted them. */
static bool is_scaled(const struct node *n)
{
	for (int i = 0; i < n->out[0]->nuses; i++) {
		const struct node *user = n->out[0]->use[i].node;

		if (op_is(user->op, "aten.mul.Tensor") || op_is(user->op, "aten.div.Tensor"))
			return true;
	}
	return false;
}

static void warn_of_scales(struct making_facts *m, const struct node_row *r)
{
	const struct node *n = r->node;
	const struct value *w = op_is(n->op, "aten.linear.default") ? node_input(n, op_weight_arg(n->op)) : NULL;

	/* The stock lowering loses scales in linears that its own pass puts together: these have no handle. */
	if (w && (n->origin.debug_handle == NO_HANDLE || !n->origin.debug_handle) && weight_is_quantized(w) && !is_scaled(n))
		warn_wrong(m, r, "its weight is whole numbers that fill the range of int4 or int8 in every row, in f32: the stock "
			   "lowering loses the scales of a weight that is quantised while its input is not, and the results are off by "
			   "orders of magnitude; the file no longer holds the scales: quantise the activations as well, or none", false);
}

static void warn_of_buffer(struct making_facts *m, const struct node_row *r)
{
	const struct value *w = r->node->op->flags & OP_GEMM ? node_input(r->node, op_weight_arg(r->node->op)) : NULL;
	const struct value *v = weight_buffer(&m->buffers, w);

	if (v)
		warn_wrong(m, r, arena_printf(m->mem, "its weight is what the buffer %s held when the file was made, stored in the "
			   "delegate; the program writes that buffer, and XNNPACK, which packs a weight once, never sees it",
			   v->name), true);
}

static void warn_of_results(struct making_facts *m, const struct node_row *r)
{
	const struct origin *o = &r->node->origin;

	if (o->doubt && o->kind == ORIGIN_FILE)
		warn_wrong(m, r, doubt_text((enum doubt)o->doubt), o->doubt != DOUBT_SHORT_BIAS);
	warn_of_scales(m, r);
	warn_of_buffer(m, r);
}

/* ---- what is merely a pity ---- */

/* The row of that node of a delegate; the first of the delegate where it has none. */
static const struct node_row *row_of_delegate(const struct making_facts *m, int group, int dnode)
{
	const struct unit *u = m->unit_of_group[group];

	for (int i = 0; u && i < u->nnodes; i++)
		if (u->node[i]->origin.kind == ORIGIN_FILE && u->node[i]->origin.dnode == dnode)
			return row_of(m, u->node[i]);
	return u ? row_of(m, u->node[0]) : NULL;
}

static void warn_of_host(struct making_facts *m)
{
	for (int i = 0; i < m->g->ngroups; i++) {
		const struct group *g = &m->g->group[i];
		const struct node_row *r;
		struct error why = { 0 };
		struct xgraph x;
		int node;

		if (g->filed < 0 || g->foreign || g->changed ||
		    !program_delegate(m->s->program, m->g->plan, g->filed, &x, &m->scratch, NULL) ||
		    live_supports(&x, &node, &why) || why.code != ERROR_MISSING)
			continue;
		r = row_of_delegate(m, i, node);
		if (r)
			warn(m, r, "xnnpack_missing", arena_string(m->mem, why.text));
	}
}

/* Of the file as it is; what is written of later versions is told when it is opened. */
static void warn_of_copies(struct making_facts *m)
{
	const struct program *p = m->s->program;
	struct stored_twice *twice;
	char id[512];
	int n;

	if (m->s->plan != &p->pte.plan[m->s->at])
		return;
	twice = weights_stored_twice(p, m->s->method, m->s->at, &m->scratch, &n);
	for (int i = 0; i < n; i++) {
		const struct stored_twice *t = &twice[i];

		warn(m, row_of(m, t->reader), "duplicate_bytes", arena_printf(m->mem, "%s, %zu bytes, is stored a second time: "
			"%s of %s is the same bytes; written anew with --apply partition, they are stored once", t->again->name,
			t->again->bytes, t->first->name, node_id(t->first_method, t->first_reader, id, sizeof id)));
	}
}

void facts_find_warnings(struct making_facts *m)
{
	graph_number(m->g);
	m->buffers = buffers_written(m->g, m->s->method, m->s->nmethods, &m->scratch);
	warn_of_freed(m);
	for (int i = 0; i < m->f->nrows; i++) {
		const struct node_row *r = &m->f->row[i];

		if (r->node->group >= 0 && m->g->group[r->node->group].foreign)
			warn_of_delegate(m, r);
		else if (r->node->group >= 0)
			warn_of_results(m, r);
		else if (r->runs == RUNS_PORTABLE && r->node->op->flags & OP_OPAQUE)
			warn(m, r, "kernel_missing", arena_printf(m->mem, "%s is no operator of the stock runtime: the program loads only "
				"where its kernel is registered", r->node->op->name));
	}
	warn_of_host(m);
	warn_of_copies(m);
}
