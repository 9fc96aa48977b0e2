/* Stored bytes: a filter that goes into a delegate in another layout must have no reader that keeps the old one. */
#include "core/pass/partition_parts.h"
#include "core/xnn/check.h"

struct reader { const struct method *m; const struct node *node; };	/* node NULL: a result of the method */
struct readers { vec(struct reader) at; };

struct note { struct partition *p; struct reader reader; };

static void note_reader(struct value *v, void *ctx)
{
	struct note *k = ctx;
	struct readers *r;

	if (v->kind != VALUE_CONSTANT || !v->data)
		return;
	r = map_get(&k->p->readers, &v->data, sizeof v->data);
	if (!r) {
		r = arena_alloc(&k->p->mem, sizeof *r);
		map_put(&k->p->readers, &k->p->mem, arena_copy(&k->p->mem, &v->data, sizeof v->data),
			sizeof v->data, r);
	}
	vec_push(&k->p->mem, &r->at, k->reader);
}

static void note_readers(struct partition *p)
{
	for (int i = 0; i < p->nmethods; i++) {
		const struct method *m = &p->method[i];

		for (const struct node *n = m->g->first; n; n = n->next)
			node_each_input(n, note_reader, &(struct note){ p, { m, n } });
		for (int k = 0; k < m->g->noutputs; k++)
			if (m->g->output[k].kind == ARG_VALUE)
				note_reader(m->g->output[k].value, &(struct note){ p, { m, NULL } });
	}
}

static const struct value *filter_of(const struct node *n)
{
	struct gemm g;

	if (!(n->op->flags & OP_GEMM) || op_is(n->op, "aten.bmm.default"))
		return NULL;
	g = gemm_of(n);
	return g.quantized ? g.quant.data : g.weight;
}

/* Whether the other node, in a delegate of its own or this one, stores the filter in the same way. */
static bool stores_same(const struct reader *r, const struct node *n, const uint8_t *data)
{
	const struct node *other = r->node;
	const struct value *w = filter_of(other);

	if (r->m->role[other->order] == ROLE_PORTABLE || other->op != n->op || !w || w->data != data ||
	    node_input(other, op_activation_arg(other->op)) == w)
		return false;
	return !op_is(n->op, "aten.convolution.default") ||
	       (node_int(n, 6, 0) == node_int(other, 6, 0) && node_int(n, 8, 1) == node_int(other, 8, 1));
}

static bool reader_is_fine(const struct reader *r, const struct node *n, const uint8_t *data)
{
	const struct node *dq = r->node;
	struct quant_op q;

	if (!dq)
		return false;
	if (!(dq->nouts && cast_source(dq->out[0], dq->group)) &&
	    (!quant_find(dq->op, &q) || q.role != QUANT_DEQUANTIZE))
		return stores_same(r, n, data);
	if (dq->out[0]->noutputs)
		return false;
	for (int i = 0; i < dq->out[0]->nuses; i++)
		if (!stores_same(&(struct reader){ r->m, dq->out[0]->use[i].node }, n, data))
			return false;
	return true;
}

const char *bytes_would_grow(const struct partition *p, const struct method *m, const struct node *n, struct arena *a)
{
	const struct value *w = filter_of(n);
	const struct readers *r = NULL;
	char id[128];

	if (w && w->kind == VALUE_CONSTANT && w->data)
		r = map_get(&p->readers, &w->data, sizeof w->data);
	if (!r || w->rank < 2 || static_keeps_bytes(n, w))
		return NULL;
	if (w->dtype == DTYPE_F16 && node_int(n, 6, 0) && op_is(n->op, "aten.convolution.default"))
		return a ? arena_printf(a, "its weight %s (%zu bytes) would be stored as f32, which XNNPACK's transposed "
					   "convolution needs", w->name, w->bytes) : "";
	for (int i = 0; i < r->at.n; i++) {
		const struct reader *other = &r->at.at[i];

		if (reader_is_fine(other, n, w->data))
			continue;
		if (!a)
			return "";
		return arena_printf(a, "its weight %s (%zu bytes) would be stored twice: %s reads it in another layout",
				    w->name, w->bytes, other->node ? node_id(other->m->g, other->node, id, sizeof id) :
								     "the method's output");
	}
	return NULL;
}

void bytes_leave_out(struct partition *p)
{
	note_readers(p);
	for (int i = 0; i < p->nmethods; i++)
		role_settle(&p->method[i]);
	for (bool again = true; again;) {
		again = false;
		for (int i = 0; i < p->nmethods; i++) {
			struct method *m = &p->method[i];

			for (const struct node *n = m->g->first; n; n = n->next)
				if (m->role[n->order] == ROLE_TAKEN && bytes_would_grow(p, m, n, NULL)) {
					m->role[n->order] = ROLE_PORTABLE;
					again = true;
				}
			role_settle(m);
		}
	}
}
