#include "core/xnn/lower.h"

#include "core/xnn/doubt.h"
#include "core/xnn/lowering.h"

#include <sha2.h>
#include <string.h>

const char *data_key(struct arena *a, const char *prefix, const void *data, size_t bytes)
{
	char hex[SHA256_DIGEST_STRING_LENGTH];

	return arena_printf(a, "%s%s", prefix, SHA256Data(data, bytes, hex));
}

struct xnode *lower_node(struct xlower *x, const struct node *n, enum xtag tag)
{
	struct xnode node = { .tag = tag, .debug_handle = NO_HANDLE };

	if (n && n->origin.debug_handle)
		node.debug_handle = n->origin.debug_handle;
	vec_push(x->mem, &x->node, node);
	return &x->node.at[x->node.n - 1];
}

void lower_list(struct xlower *x, struct xnode *node, int field, const uint32_t *at, int count)
{
	int k = node->list[0].at ? 1 : 0;

	node->field[field] = (uint32_t)k;
	node->list[k].at = arena_array(x->mem, (size_t)(count ? count : 1), sizeof *at);
	memcpy(node->list[k].at, at, (size_t)count * sizeof *at);
	node->list[k].n = count;
}

void lower_emit_unary(struct xlower *x, const struct node *n, enum xtag tag, uint32_t in, uint32_t out)
{
	struct xnode *node = lower_node(x, n, tag);

	node->field[XU_IN] = in;
	node->field[XU_OUT] = out;
}

static void emit_shape(struct xlower *x, enum xtag tag, uint32_t in, uint32_t out, const uint32_t *list, int rank)
{
	struct xnode *node = lower_node(x, NULL, tag);

	node->field[XT_RANK] = (uint32_t)rank;
	lower_list(x, node, XT_PERM, list, rank);
	node->field[XT_IN] = in;
	node->field[XT_OUT] = out;
}

void lower_emit_transpose(struct xlower *x, uint32_t in, uint32_t out, const uint32_t *perm, int rank)
{
	emit_shape(x, X_STATIC_TRANSPOSE, in, out, perm, rank);
}

void lower_emit_reshape(struct xlower *x, uint32_t in, uint32_t out, const uint32_t *shape, int rank)
{
	emit_shape(x, X_STATIC_RESHAPE, in, out, shape, rank);
}

static bool collect(struct xlower *x, const struct unit *u, struct error *err)
{
	char id[128];

	for (int i = 0; i < u->nnodes; i++) {
		struct node *n = u->node[i];
		struct xmember m = { .node = n };

		m.rule = xrule_find(n->op);
		if (!m.rule || !m.rule->lower)
			return error_set(err, ERROR_UNSUPPORTED, "%s: %s has no XNNPACK form",
					 node_id(x->graph, n, id, sizeof id), n->op->name);
		n->mark = x->member.n;
		vec_push(&x->scratch, &x->member, m);
	}
	return true;
}

static bool emit_members(struct xlower *x, struct error *err)
{
	struct error why = { 0 };
	char id[128];

	for (int i = 0; i < x->member.n; i++) {
		const struct xmember *m = &x->member.at[i];

		if (!m->absorbed && !m->rule->lower(x, m->node, &why))
			return error_set(err, why.code, "%s (%s): %s", node_id(x->graph, m->node, id, sizeof id),
					 m->node->op->name, why.text);
	}
	return true;
}

static bool is_result(const struct xlower *x, const struct value *v)
{
	if (v->noutputs)
		return true;
	for (int i = 0; i < v->nuses; i++)
		if (v->use[i].node->group != x->group)
			return true;
	return false;
}

static bool emit_outputs(struct xlower *x, int *noutputs, struct error *err)
{
	vec(struct value *) out = { 0 };
	uint32_t *id;

	for (int i = 0; i < x->member.n; i++)
		for (int k = 0; k < x->member.at[i].node->nouts; k++)
			if (is_result(x, x->member.at[i].node->out[k]))
				vec_push(&x->scratch, &out, x->member.at[i].node->out[k]);
	id = arena_array(&x->scratch, (size_t)out.n + 1, sizeof *id);
	for (int i = 0; i < out.n; i++)		/* may still ask for an input: external ids come last */
		if (!lower_output(x, out.at[i], &id[i], err))
			return false;
	for (int i = 0; i < out.n; i++) {
		x->value.at[id[i]].external_id = (uint32_t)x->arg.n;
		vec_push(x->mem, &x->arg, out.at[i]);
	}
	*noutputs = out.n;
	return out.n || error_set(err, ERROR_UNSUPPORTED, "nobody reads what the delegate computes");
}

static void hand_over(struct xlower *x, struct xlowered *out, int ninputs)
{
	out->graph = (struct xgraph){
		.value = x->value.at, .nvalues = x->value.n, .node = x->node.at, .nnodes = x->node.n,
		.nexterns = (uint32_t)x->arg.n,
	};
	out->arg = x->arg.at;
	out->nargs = x->arg.n;
	out->ninputs = ninputs;
	out->named = x->named.at;
	out->nnamed = x->named.n;
	out->home = x->home.at;
}

static bool lower(struct xlowered *out, const struct graph *g, const struct unit *u, bool keys, struct arena *a,
		  struct error *err)
{
	struct xlower x = { .graph = g, .group = u->group, .keys = keys, .mem = a };
	bool ok = collect(&x, u, err);
	int noutputs = 0;

	memset(out, 0, sizeof *out);
	if (ok)
		lower_plan(&x);
	ok = ok && emit_members(&x, err) && emit_outputs(&x, &noutputs, err);
	if (ok)
		hand_over(&x, out, x.arg.n - noutputs);
	arena_free(&x.scratch);
	return ok;
}

bool xnn_lower(struct xlowered *out, const struct graph *g, const struct unit *u, struct arena *a, struct error *err)
{
	return lower(out, g, u, true, a, err);
}

bool xnn_lower_unkeyed(struct xlowered *out, const struct graph *g, const struct unit *u, struct arena *a,
		       struct error *err)
{
	return lower(out, g, u, false, a, err);
}
