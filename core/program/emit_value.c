/* Values of a plan: tensors, literals (each once), lists (behind what they hold). */
#include "core/program/emission.h"

#include "core/base/num.h"
#include "core/op/op.h"

#include <string.h>

static int add_value(struct method_out *m, struct pte_value v, const struct value *of)
{
	vec_push(m->e->mem, &m->value, v);
	vec_push(m->e->mem, &m->value_of, of);
	return m->value.n - 1;
}

int emit_literal(struct method_out *m, struct pte_value v)
{
	struct { enum pte_tag tag; int64_t bits; const char *at; size_t bytes; } key;
	uintptr_t found;
	int index;

	memset(&key, 0, sizeof key);
	key.tag = v.tag;
	if (v.tag == PTE_STRING) {
		key.at = v.s.at;
		key.bytes = v.s.bytes;
	} else if (v.tag == PTE_DOUBLE) {
		memcpy(&key.bits, &v.d, sizeof v.d);
	} else if (v.tag != PTE_NULL) {
		key.bits = v.tag == PTE_BOOL ? v.b : v.i;
	}
	found = (uintptr_t)map_get(&m->literal, &key, sizeof key);
	if (found)
		return (int)found - 1;
	index = add_value(m, v, NULL);
	map_put(&m->literal, m->e->mem, arena_copy(m->e->mem, &key, sizeof key), sizeof key,
		(void *)(uintptr_t)(index + 1));
	return index;
}

int emit_list(struct method_out *m, enum pte_tag tag, const int32_t *at, int n)
{
	size_t bytes = sizeof tag + (size_t)n * sizeof *at;
	uint8_t *key = arena_alloc(m->e->mem, bytes);
	uintptr_t found;
	struct pte_value v = { .tag = tag };
	int index;

	memcpy(key, &tag, sizeof tag);
	if (n)
		memcpy(key + sizeof tag, at, (size_t)n * sizeof *at);
	found = (uintptr_t)map_get(&m->literal, key, bytes);
	if (found)
		return (int)found - 1;
	v.index.at = arena_copy(m->e->mem, at, (size_t)n * sizeof *at);
	v.index.n = n;
	index = add_value(m, v, NULL);
	map_put(&m->literal, m->e->mem, key, bytes, (void *)(uintptr_t)(index + 1));
	return index;
}

/* A run-time number: its value is overwritten, or demanded from the caller. */
static int add_scalar(struct method_out *m, const struct value *v)
{
	struct pte_value n = { .tag = dtype_is_float(v->dtype) ? PTE_DOUBLE : v->dtype == DTYPE_BOOL ? PTE_BOOL :
		PTE_INT };

	for (int i = 0; v->kind == VALUE_INPUT && i < m->g->ninputs; i++)
		if (m->g->input[i] == v) {
			const struct arg *a = &m->g->input_literal[i];

			if (n.tag == PTE_DOUBLE && (a->kind == ARG_DOUBLE || a->kind == ARG_INT))
				n.d = a->kind == ARG_DOUBLE ? a->d : (double)a->i;
			else if (n.tag == PTE_BOOL && a->kind == ARG_BOOL)
				n.b = a->b;
			else if (n.tag == PTE_INT && a->kind == ARG_INT)
				n.i = a->i;
		}
	return add_value(m, n, v);
}

static const struct pte_tensor *filed_tensor(const struct method_out *m, const struct value *v)
{
	return v->file_value >= 0 && m->filed->value[v->file_value].tag == PTE_TENSOR ?
		m->filed->value[v->file_value].tensor : NULL;
}

static bool fill_type(struct pte_tensor *t, const struct value *v, struct error *err)
{
	if (v->dtype >= DTYPE_CODES)
		return error_set(err, ERROR_REFUSED, "%s: a %s tensor cannot stand outside a delegate", v->name,
			dtype_name(v->dtype));
	t->dtype = v->dtype;
	t->rank = v->rank;
	t->bytes = v->bytes;
	t->dynamism = v->dynamic ? PTE_DYNAMIC_BOUND : PTE_STATIC;
	for (int d = 0; d < v->rank; d++) {
		if (v->size[d] > INT32_MAX)
			return error_set(err, ERROR_REFUSED,
				"%s: dimension %d is %lld, a program holds at most %d", v->name, d,
					 (long long)v->size[d], INT32_MAX);
		t->size[d] = (int32_t)v->size[d];
		t->dim_order[d] = v->dim_order[d];
	}
	return true;
}

/* Bytes of a constant as its logical sizes run. */
static bool make_plain(struct method_out *m, const struct value *c, struct span *out, struct error *err)
{
	size_t each = dtype_bytes(c->dtype);
	int64_t stride[MAX_RANK], at[MAX_RANK] = { 0 }, step = 1, n = dtype_numel(c->rank, c->size), from = 0;
	uint8_t *to;

	if (value_is_default_order(c) || c->bytes == 0) {
		*out = (struct span){ c->data, c->bytes };
		return true;
	}
	if (!c->data)
		return error_set(err, ERROR_REFUSED, "%s: its bytes are not at hand (no data file given?)", c->name);
	if (!each)
		return error_set(err, ERROR_REFUSED, "%s: its bytes cannot be put in default dim order", c->name);
	to = arena_try(m->e->mem, c->bytes);
	if (!to)
		return error_set(err, ERROR_MEMORY, "%s: no memory for its %zu bytes", c->name, c->bytes);
	*out = (struct span){ to, c->bytes };
	for (int i = c->rank - 1; i >= 0; i--) {
		stride[c->dim_order[i]] = step;
		step *= c->size[c->dim_order[i]];
	}
	for (int64_t i = 0; i < n; i++) {
		memcpy(to + (size_t)i * each, c->data + (size_t)from * each, each);
		for (int d = c->rank - 1; d >= 0; d--) {
			from += stride[d];
			if (++at[d] < c->size[d])
				break;
			from -= at[d] * stride[d];
			at[d] = 0;
		}
	}
	return true;
}

static bool constant_bytes(struct method_out *m, const struct value *root, bool plain, struct span *out,
	struct error *err)
{
	struct place *p = &m->place[root->id];

	*out = (struct span){ root->data, root->bytes };
	if (!plain || value_is_default_order(root))
		return true;
	if (!p->plain_bytes.data && !make_plain(m, root, &p->plain_bytes, err))
		return false;
	*out = p->plain_bytes;
	return true;
}

static bool names_constants(const struct method_out *m)
{
	for (int i = 0; i < m->filed->nvalues; i++)
		if (m->filed->value[i].tag == PTE_TENSOR && m->filed->value[i].tensor->storage == PTE_CONSTANT &&
		    m->filed->value[i].tensor->has_extra && m->filed->value[i].tensor->name)
			return true;
	return false;
}

static void keep_filed_marks(struct method_out *m, const struct value *v, struct pte_tensor *t)
{
	const struct pte_tensor *f = filed_tensor(m, v);

	if (f) {
		t->requires_grad = f->requires_grad;
		t->layout = f->layout;
		t->has_extra = f->has_extra && v->kind != VALUE_NODE;
		t->mutable_segment = f->mutable_segment;
		t->name = f->name;
		t->device_type = f->device_type;
		t->device_index = f->device_index;
	} else if (v->folded && names_constants(m)) {
		t->has_extra = true;
		t->name = v->folded;
	}
	if (t->dtype != DTYPE_F32 && t->requires_grad)
		t->requires_grad = dtype_is_float(t->dtype);
}

static bool fill_constant(struct method_out *m, const struct value *v, const struct value *root, bool plain,
			  struct pte_tensor *t, struct error *err)
{
	struct span bytes;

	if (!constant_bytes(m, root, plain, &bytes, err))
		return false;
	if (plain)
		for (int d = 0; d < t->rank; d++)
			t->dim_order[d] = (uint8_t)d;
	keep_filed_marks(m, v, t);
	if (root->home != HOME_PROGRAM) {
		t->storage = PTE_EXTERNAL;
		t->has_extra = true;
		t->location = 1;
		return emit_data_tensor(m->e, v, bytes, t->dim_order, m->g->method, &t->name, err);
	}
	if (!bytes.data && bytes.bytes)
		return error_set(err, ERROR_REFUSED, "%s: its bytes are not at hand", root->name);
	t->storage = PTE_CONSTANT;
	t->data_index = store_constant(&m->e->store, bytes);
	t->data = bytes.data;
	return true;
}

static bool fill_state(struct method_out *m, const struct value *v, struct pte_tensor *t, struct error *err)
{
	const struct pte_tensor *f = filed_tensor(m, v);
	struct span bytes;

	if (!f)
		return error_set(err, ERROR_REFUSED, "%s: a state that the file does not hold", v->name);
	if (!f->has_allocation) {	/* it was made to point there */
		t->storage = PTE_PLANNED;
		t->has_allocation = true;
		return true;
	}
	*t = *f;
	bytes = (struct span){ f->data, f->bytes };
	if (f->storage == PTE_MUTABLE)
		t->data_index = store_mutable(&m->e->store, bytes);
	return f->storage != PTE_EXTERNAL_MUTABLE ||
		emit_data_tensor(m->e, v, (struct span){ v->data, v->bytes }, v->dim_order, m->g->method,
			&t->name, err);
}

static bool fill_tensor(struct method_out *m, const struct value *v, bool plain, struct pte_tensor *t,
	struct error *err)
{
	const struct place *p = &m->place[v->id];
	const struct value *root = m->g->value[p->root];

	if (!fill_type(t, v, err))
		return false;
	if (v->kind == VALUE_STATE)
		return fill_state(m, v, t, err);
	if (p->kind == PLACE_BYTES)
		return fill_constant(m, v, root, plain || v != root, t, err);
	keep_filed_marks(m, v, t);
	t->storage = p->kind == PLACE_NONE ? PTE_UNPLANNED : PTE_PLANNED;
	t->has_allocation = p->kind != PLACE_NONE;
	return true;
}

/* Kernels read constants in default dim order, unless the file gave them this one in another. */
static bool wants_plain(const struct method_out *m, const struct value *v)
{
	const struct pte_tensor *f = filed_tensor(m, v);

	return v->kind == VALUE_CONSTANT && !value_is_default_order(v) &&
		!(f && f->rank == v->rank && !memcmp(f->dim_order, v->dim_order, (size_t)v->rank));
}

bool emit_tensor(struct method_out *m, const struct value *v, bool plain, int *index, struct error *err)
{
	struct place *p = &m->place[v->id];
	int *known;
	struct pte_value t = { .tag = PTE_TENSOR };

	plain = plain && wants_plain(m, v);
	known = plain ? &p->plain : &p->index;
	if (*known < 0 && v->scalar) {
		*known = add_scalar(m, v);
	} else if (*known < 0) {
		t.tensor = arena_alloc(m->e->mem, sizeof *t.tensor);
		if (!fill_tensor(m, v, plain, t.tensor, err))
			return false;
		*known = add_value(m, t, v);
	}
	*index = *known;
	return true;
}

static bool emit_items(struct method_out *m, char kind, const struct arg *a, int32_t *at, struct error *err)
{
	for (int i = 0; i < a->list.n; i++) {
		int index;

		if (kind == 'l' && a->list.at[i].kind == ARG_NONE)
			index = -1;
		else if (!emit_arg(m, kind, &a->list.at[i], &index, err))
			return false;
		at[i] = index;
	}
	return true;
}

static bool emit_doubles(struct method_out *m, const struct arg *a, int *index, struct error *err)
{
	struct pte_value v = { .tag = PTE_DOUBLE_LIST };

	v.doubles.at = arena_array(m->e->mem, (size_t)a->list.n, sizeof *v.doubles.at);
	v.doubles.n = a->list.n;
	for (int i = 0; i < a->list.n; i++) {
		const struct arg *x = &a->list.at[i];

		if (x->kind != ARG_DOUBLE && x->kind != ARG_INT)
			return error_set(err, ERROR_REFUSED, "%s: a list of numbers holds something else",
				m->g->method);
		v.doubles.at[i] = x->kind == ARG_DOUBLE ? x->d : (double)x->i;
	}
	*index = add_value(m, v, NULL);
	return true;
}

static int emit_bools(struct method_out *m, const struct arg *a)
{
	struct pte_value v = { .tag = PTE_BOOL_LIST };

	v.bools.at = arena_array(m->e->mem, (size_t)a->list.n, sizeof *v.bools.at);
	v.bools.n = a->list.n;
	for (int i = 0; i < a->list.n; i++)
		v.bools.at[i] = a->list.at[i].kind == ARG_BOOL ? a->list.at[i].b : a->list.at[i].i != 0;
	return add_value(m, v, NULL);
}

static bool holds_tensor(const struct arg *a)
{
	for (int i = 0; i < a->list.n; i++)
		if (a->list.at[i].kind == ARG_VALUE && !a->list.at[i].value->scalar)
			return true;
	return false;
}

static bool emit_list_arg(struct method_out *m, char kind, const struct arg *a, int *index, struct error *err)
{
	const struct arg *first = a->list.n ? &a->list.at[0] : NULL;
	enum pte_tag tag;
	int32_t *at;

	if (kind == 'F' || (kind == '\0' && first && first->kind == ARG_DOUBLE))
		return emit_doubles(m, a, index, err);
	if (kind == 'O' || (first && first->kind == ARG_BOOL)) {
		*index = emit_bools(m, a);
		return true;
	}
	tag = kind == 'L' ? PTE_TENSOR_LIST : kind == 'l' ? PTE_OPTIONAL_TENSOR_LIST :
		kind == '\0' && holds_tensor(a) ? PTE_TENSOR_LIST : PTE_INT_LIST;
	at = arena_array(m->e->mem, (size_t)a->list.n, sizeof *at);
	if (!emit_items(m, kind == 'A' ? 'I' : kind, a, at, err))
		return false;
	*index = emit_list(m, tag, at, a->list.n);
	return true;
}

/* A literal as the schema wants it: numbers made int, float or bool by the letter; '\0' leaves them alone. */
static bool literal_value(char kind, const struct arg *a, struct pte_value *v)
{
	bool to_double = kind == 'D' || kind == '?', to_bool = kind == 'B' || kind == 'b';
	bool to_int = kind == 'I' || kind == 'i' || kind == 'M';

	switch (a->kind) {
	case ARG_NONE: *v = (struct pte_value){ .tag = PTE_NULL }; return true;
	case ARG_STRING: *v = (struct pte_value){ .tag = PTE_STRING, .s = { a->s, strlen(a->s) } }; return true;
	case ARG_DOUBLE: *v = (struct pte_value){ .tag = PTE_DOUBLE, .d = a->d }; return !to_int && !to_bool;
	case ARG_INT:
		*v = to_double ? (struct pte_value){ .tag = PTE_DOUBLE, .d = (double)a->i } :
			to_bool ? (struct pte_value){ .tag = PTE_BOOL, .b = a->i != 0 } :
				(struct pte_value){ .tag = PTE_INT, .i = a->i };
		return true;
	case ARG_BOOL:
		*v = to_int ? (struct pte_value){ .tag = PTE_INT, .i = a->b } :
			(struct pte_value){ .tag = PTE_BOOL, .b = a->b };
		return !to_double;
	default: return false;
	}
}

/* Kinds are the letters of op.h, and 'O' for a list of bools; '\0' goes by what the argument is. */
bool emit_arg(struct method_out *m, char kind, const struct arg *a, int *index, struct error *err)
{
	struct pte_value v;

	if (a->kind == ARG_VALUE)
		return emit_tensor(m, a->value, true, index, err);
	if (a->kind == ARG_LIST)
		return emit_list_arg(m, kind, a, index, err);
	if (kind == 'A' && a->kind == ARG_INT)	/* one number where a list is wanted */
		return emit_list_arg(m, kind, &(struct arg){ .kind = ARG_LIST, .list = { (struct arg *)a, 1 } },
			index, err);
	if (!literal_value(kind, a, &v))
		return error_set(err, ERROR_REFUSED, "%s: an argument of the wrong kind", m->g->method);
	*index = emit_literal(m, v);
	return true;
}
