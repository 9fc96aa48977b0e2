#include "core/session/facts_parts.h"

#include "core/op/op.h"
#include "core/pass/partition.h"
#include "core/session/cost.h"
#include "core/session/module.h"

#include <string.h>

struct looking { const bool *constant; bool all; };

static void look_at_input(struct value *v, void *ctx)
{
	struct looking *l = ctx;

	l->all &= l->constant[v->id];
}

static void find_constants(struct making_facts *m)
{
	m->constant = arena_array(m->mem, (size_t)m->g->nvalues, sizeof *m->constant);
	for (int i = 0; i < m->g->nvalues; i++)
		m->constant[i] = m->g->value[i]->kind == VALUE_CONSTANT;
	for (const struct node *n = m->g->first; n; n = n->next) {
		struct looking l = { m->constant, op_is_pure(n->op) };

		node_each_input(n, look_at_input, &l);
		for (int i = 0; i < n->nouts; i++)
			m->constant[n->out[i]->id] = l.all;
	}
}

/* What a kernel call of the file became; control flow is no call of a kernel. */
static bool is_kernel_call(const struct making_facts *m, const struct node *n)
{
	const struct pte_plan *filed = &m->s->program->pte.plan[m->g->plan];
	const struct origin *o = &n->origin;

	return o->kind != ORIGIN_FILE || o->chain >= filed->nchains ||
	       o->instruction >= filed->chain[o->chain].ninstructions ||
	       filed->chain[o->chain].instruction[o->instruction].call == PTE_KERNEL;
}

static enum runs_on runs_on(const struct making_facts *m, const struct node *n)
{
	if (n->group >= 0)
		return m->g->group[n->group].foreign ? RUNS_OTHER : RUNS_XNNPACK;
	return n->op->flags & OP_OPAQUE && !is_kernel_call(m, n) ? RUNS_OTHER : RUNS_PORTABLE;
}

static void judge(struct making_facts *m, struct node_row *r, const char *const *left_out)
{
	r->verdict = xnn_verdict(m->g, r->node, m->mem);
	if (r->verdict.kind != VERDICT_TAKES || r->runs != RUNS_PORTABLE)
		return;
	r->verdict.code = left_out[r->node->order] ? "would_grow" : "not_partitioned";
	r->verdict.text = left_out[r->node->order] ? left_out[r->node->order] :
			  "XNNPACK would take it: the file was lowered without";
}

static void make_row(struct making_facts *m, const struct node *n, struct node_row *r)
{
	char id[512];

	*r = (struct node_row){ .node = n, .runs = runs_on(m, n), .ms = -1, .delegate = -1, .fix = "none" };
	r->id = arena_string(m->mem, node_id(m->g, n, id, sizeof id));
	if (n->group >= 0)
		r->delegate = m->call_of_group[n->group];
	r->constant_only = n->nouts && m->constant[n->out[0]->id];
	r->flops = cost_flops(n);
	r->bytes = n->origin.kind == ORIGIN_VIEW ? 0 : cost_bytes(n);
	m->work += r->flops + (double)r->bytes;
}

static bool make_rows(struct making_facts *m, struct error *err)
{
	const char **module = module_names(m->g, m->constant, m->mem);
	const char **left_out = partition_left_out(m->s->method, m->s->nmethods, m->g, m->mem);

	graph_number(m->g);
	m->f->row = arena_array(m->mem, (size_t)m->g->nnodes, sizeof *m->f->row);
	for (const struct node *n = m->g->first; n; n = n->next) {
		struct node_row *r = &m->f->row[m->f->nrows++];

		if (!work_goes_on(m->g->work, "judging nodes", n->order, m->g->nnodes, err))
			return false;
		make_row(m, n, r);
		r->module = module[n->order];
		judge(m, r, left_out);
	}
	for (int i = 0; i < m->f->nrows; i++) {	/* row i is that of the node of order i */
		if (!work_goes_on(m->g->work, "looking for what helps", i, m->f->nrows, err))
			return false;
		facts_fix(m, &m->f->row[i]);
		facts_story(m, &m->f->row[i]);
	}
	return true;
}

int facts_worst(const struct method_facts *f)
{
	double most = -1;
	int worst = -1;

	for (int i = 0; i < f->nrows; i++) {
		const struct node_row *r = &f->row[i];
		double work = r->ms >= 0 ? r->ms * 1e12 : r->flops + (double)r->bytes;

		if (r->runs == RUNS_PORTABLE && r->node->origin.kind != ORIGIN_VIEW && work > most) {
			most = work;
			worst = i;
		}
	}
	return worst;
}

struct node_row *facts_find(const struct method_facts *f, const char *id)
{
	for (int i = 0; i < f->nrows; i++)
		if (!strcmp(f->row[i].id, id))
			return &f->row[i];
	return NULL;
}

void facts_warn(struct method_facts *f, struct arena *a, struct warning w)
{
	if (f->nwarnings == f->capwarnings)
		f->warning = vec_grow(a, f->warning, f->nwarnings, &f->capwarnings, sizeof *f->warning);
	f->warning[f->nwarnings++] = w;
}

bool facts_make(struct method_facts *f, const struct facts_source *s, struct arena *a, struct error *err)
{
	struct making_facts m = { .f = f, .s = s, .g = s->method[s->at], .mem = a };
	bool ok;

	*f = (struct method_facts){ .graph = m.g };
	find_constants(&m);
	facts_find_plans(&m);
	ok = facts_number_delegates(&m, err) && make_rows(&m, err) && facts_of_file(&m, err) &&
		work_goes_on(m.g->work, "looking for what is wrong", 0, 0, err);
	if (ok) {
		facts_find_warnings(&m);
		f->worst = facts_worst(f);
	}
	arena_free(&m.scratch);
	return ok;
}
