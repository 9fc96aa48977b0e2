/* Delegates: a group of nodes as one XNNPACK graph on this host. */
#include "core/run/exec_parts.h"
#include "core/run/cpu.h"
#include "core/xnn/lower.h"
#include "core/xnn/split.h"

#include <string.h>

/* The group cannot go through XNNPACK here: its nodes run portably, and this is told. */
static bool note_missing(struct exec *e, const struct step *s, const struct error *why)
{
	const char *text = arena_printf(&e->mem, "%s: %s", s->id, why->text);

	vec_push(&e->mem, &e->missing, text);
	return true;
}

static bool filed_graph(struct exec *e, const struct group *g, struct xgraph *x, struct step *s, struct error *err)
{
	s->nargs = g->nargs;
	s->value = g->arg;
	return program_delegate(e->program, e->graph->plan, g->filed, x, &e->mem, err);
}

static bool lowered_graph(struct exec *e, const struct unit *u, struct xgraph *x, struct step *s, struct error *err)
{
	struct xlowered low = { 0 };

	if (!xnn_lower_unkeyed(&low, e->graph, u, &e->mem, err))
		return false;
	*x = low.graph;
	s->nargs = low.nargs;
	s->value = low.arg;
	return true;
}

static bool tensor_dtype(enum xdatatype d, enum dtype *t)
{
	static const struct { enum xdatatype datatype; enum dtype dtype; } table[] = {
		{ XD_FP32, DTYPE_F32 }, { XD_FP16, DTYPE_F16 }, { XD_BF16, DTYPE_BF16 }, { XD_QINT8, DTYPE_I8 },
		{ XD_QUINT8, DTYPE_U8 }, { XD_QINT32, DTYPE_I32 }, { XD_INT32, DTYPE_I32 },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].datatype == d) {
			*t = table[i].dtype;
			return true;
		}
	return false;
}

/* An argument that nothing in the graph reads still has to be there, as large as the delegate says. */
static bool stand_in(struct exec *e, const struct xvalue *x, struct tensor **out, struct error *err)
{
	struct tensor *t = *out = arena_alloc(&e->mem, sizeof *t);
	int64_t size[XMAX_RANK];
	enum dtype dtype;

	for (int d = 0; d < x->rank; d++)
		size[d] = x->dim[d];
	if (!tensor_dtype(x->datatype, &dtype))
		return error_set(err, ERROR_UNSUPPORTED, "a delegate argument of datatype %d", (int)x->datatype);
	tensor_set_type(t, dtype, x->rank, size);
	if (!dtype_tensor_bytes(dtype, x->rank, size, &t->capacity) ||
	    !(t->data = arena_try(&e->mem, t->capacity + OVER_READ)))
		return error_set(err, ERROR_MEMORY, "an unread delegate argument is too large");
	return true;
}

static bool find_arguments(struct exec *e, const struct xgraph *x, struct step *s, struct error *err)
{
	s->arg = arena_array(&e->mem, (size_t)s->nargs, sizeof *s->arg);
	s->written = arena_array(&e->mem, (size_t)s->nargs, sizeof *s->written);
	for (int i = 0; i < x->nvalues; i++) {
		const struct xvalue *v = &x->value[i];

		if (v->external_id == XNONE)
			continue;
		if (v->external_id >= (uint32_t)s->nargs)
			return error_set(err, ERROR_RUN, "the delegate has %d arguments, its graph asks for number %u", s->nargs,
					 v->external_id);
		s->written[v->external_id] |= (v->flags & XFLAG_OUTPUT) != 0;
		if (!s->value[v->external_id] && !stand_in(e, v, &s->arg[v->external_id], err))
			return false;
	}
	return true;
}

static bool open_pool(struct exec *e, struct error *err)
{
	struct cpu cpu;

	if (e->pool)
		return true;
	cpu_read(&cpu);
	e->cache_bytes = cpu.l2_bytes;
	if (!live_pool_open(&e->pool, e->option.threads, err))
		return false;
	if (e->program)
		live_pool_reads(e->pool, &e->program->file);
	for (int i = 0; e->program && i < e->program->ndata; i++)
		live_pool_reads(e->pool, &e->program->data_file[i]);
	return true;
}

static bool open_live(struct exec *e, struct xgraph *x, struct step *s, struct error *err)
{
	struct arena packed = { 0 };
	bool dynamic = false, ok;

	for (int i = 0; i < s->nargs; i++)
		dynamic |= s->value[i] && s->value[i]->dynamic;
	if (!live_supports(x, NULL, err))
		return false;
	xnn_split(x, e->cache_bytes, dynamic, &e->mem, &packed);
	ok = live_open(&s->live, x, e->pool, false, err);
	arena_free(&packed);
	return ok;
}

bool exec_open_group(struct exec *e, const struct unit *u, struct step *s, bool *made, struct error *err)
{
	const struct group *g = &e->graph->group[u->group];
	struct xgraph *x = arena_alloc(&e->mem, sizeof *x);
	struct error why = { 0 };

	*made = false;
	if (g->foreign)		/* another backend's, or broken: the same call tells why */
		return program_delegate(e->program, e->graph->plan, g->filed, x, &e->mem, err);
	if (!open_pool(e, err))
		return false;
	*made = (g->filed >= 0 && !g->changed ? filed_graph(e, g, x, s, &why) : lowered_graph(e, u, x, s, &why)) &&
		find_arguments(e, x, s, &why) && open_live(e, x, s, &why);
	if (*made || why.code != ERROR_MEMORY)
		return *made || note_missing(e, s, &why);
	if (err)
		*err = why;
	return false;
}

bool exec_run_group(const struct exec *e, struct step *s, struct error *err)
{
	if (!live_run(s->live, s->arg, s->nargs, err))
		return false;
	for (int i = 0; i < s->nargs; i++)
		if (s->written[i] && s->value[i] && !exec_check_output(s->value[i], s->arg[i], err))
			return false;
	return true;
}

void exec_close_groups(struct exec *e)
{
	for (int i = 0; i < e->nsteps; i++)
		if (e->step[i].live)
			live_close(e->step[i].live);
	if (e->pool)
		live_pool_close(e->pool);
}
