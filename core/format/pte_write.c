#include "core/format/pte.h"

#include "core/base/num.h"
#include "core/format/fb.h"
#include "core/format/pieces.h"
#include "core/format/pte_schema.h"

#include <string.h>

struct segment { uint64_t offset, bytes; };

struct writer {
	const struct pte_image *image;
	struct fbb b;
	struct arena mem;
	struct pieces pieces;
	vec(struct segment) segment;
	struct map segment_of;		/* struct segment -> index + 1 */
	uint64_t *constant_at;		/* in the constant segment */
	uint64_t *mutable_at;		/* in the mutable segment */
	uint32_t constant_segment, mutable_segment;
	const char *method;
	struct error *err;
};

static uint32_t add_segment(struct writer *w, uint64_t offset, uint64_t bytes)
{
	struct segment key = { offset, bytes };
	uintptr_t made = (uintptr_t)map_get(&w->segment_of, &key, sizeof key);

	if (made)
		return (uint32_t)(made - 1);
	vec_push(&w->mem, &w->segment, key);
	map_put(&w->segment_of, &w->mem, arena_copy(&w->mem, &key, sizeof key), sizeof key,
		(void *)(uintptr_t)w->segment.n);
	return (uint32_t)(w->segment.n - 1);
}

static uint32_t segment_with(struct writer *w, struct span s)
{
	return add_segment(w, pieces_place(&w->pieces, s, SEGMENT_ALIGN), s.bytes);
}

/* Entry 0 of both lists is a placeholder of no bytes. */
static void place_constants(struct writer *w)
{
	static const uint8_t no_bytes[CONSTANT_ALIGN];
	const struct pte_image *m = w->image;
	uint64_t start;

	w->constant_at = arena_array(&w->mem, (size_t)m->nconstants + 1, sizeof *w->constant_at);
	for (int i = 1; i < m->nconstants; i++)
		w->constant_at[i] = pieces_place(&w->pieces, m->constant[i], CONSTANT_ALIGN);
	/* The runtime takes an empty segment for none, and then refuses the constants of no elements. */
	if (m->nconstants > 1 && !w->pieces.bytes)
		pieces_place(&w->pieces, (struct span){ no_bytes, sizeof no_bytes }, CONSTANT_ALIGN);
	if (m->nconstants > 1)
		w->constant_segment = add_segment(w, 0, w->pieces.bytes);
	w->mutable_at = arena_array(&w->mem, (size_t)m->nmutable + 1, sizeof *w->mutable_at);
	if (m->nmutable < 2)
		return;
	pieces_pad(&w->pieces, SEGMENT_ALIGN);
	start = w->pieces.bytes;
	for (int i = 1; i < m->nmutable; i++)
		w->mutable_at[i] = pieces_append(&w->pieces, m->mutable[i], 1) - start;
	w->mutable_segment = add_segment(w, start, w->pieces.bytes - start);
}

/* Values: each writes its payload table. */

static fbref write_tensor(struct writer *w, const struct pte_tensor *t)
{
	bool external = t->storage == PTE_EXTERNAL || t->storage == PTE_EXTERNAL_MUTABLE;
	bool stored = t->storage == PTE_CONSTANT || t->storage == PTE_MUTABLE;
	bool planned = t->storage == PTE_PLANNED || t->storage == PTE_MUTABLE || t->storage == PTE_EXTERNAL_MUTABLE;
	bool extra = external || t->name || t->device_type || t->device_index;
	fbref sizes = fbb_vector(&w->b, t->size, (size_t)t->rank, 4, 4);
	fbref order = fbb_vector(&w->b, t->dim_order, (size_t)t->rank, 1, 1);
	fbref name = extra ? fbb_string(&w->b, t->name) : 0, allocation = 0;

	if (planned) {
		fbb_put32(&w->b, ALLOCATION_ID, t->memory_id, 0);
		fbb_put32(&w->b, ALLOCATION_LOW, (uint32_t)t->memory_offset, 0);
		fbb_put32(&w->b, ALLOCATION_HIGH, (uint32_t)(t->memory_offset >> 32), 0);
		allocation = fbb_end(&w->b);
	}
	if (extra) {
		fbb_putref(&w->b, EXTRA_NAME, name);
		fbb_put8(&w->b, EXTRA_LOCATION, external ? LOCATION_EXTERNAL : LOCATION_PROGRAM, LOCATION_PROGRAM);
		fbb_put8(&w->b, EXTRA_DEVICE_TYPE, (uint8_t)t->device_type, 0);
		fbb_put8(&w->b, EXTRA_DEVICE_INDEX, (uint8_t)t->device_index, 0);
		fbref table = fbb_end(&w->b);

		fbb_putref(&w->b, TENSOR_EXTRA, table);
	}
	fbb_putref(&w->b, TENSOR_ALLOCATION, allocation);
	fbb_put8(&w->b, TENSOR_SCALAR_TYPE, (uint8_t)t->dtype, 0);
	fbb_putref(&w->b, TENSOR_SIZES, sizes);
	fbb_putref(&w->b, TENSOR_DIM_ORDER, order);
	fbb_put8(&w->b, TENSOR_REQUIRES_GRAD, t->requires_grad, 0);
	fbb_put32(&w->b, TENSOR_DATA_INDEX, stored ? t->data_index : 0, 0);
	fbb_put8(&w->b, TENSOR_LAYOUT, (uint8_t)t->layout, 0);
	fbb_put8(&w->b, TENSOR_DYNAMISM, t->dynamism, PTE_STATIC);
	return fbb_end(&w->b);
}

/* Item indices are 64 bit in an IntList, 32 bit in the others. */
static fbref write_int_list(struct writer *w, const struct pte_value *v)
{
	int64_t *wide = mem_alloc((size_t)v->index.n * sizeof *wide);
	fbref items;

	for (int i = 0; i < v->index.n; i++)
		wide[i] = v->index.at[i];
	items = fbb_vector(&w->b, wide, (size_t)v->index.n, 8, 8);
	mem_free(wide);
	return items;
}

static fbref write_items(struct writer *w, const struct pte_value *v)
{
	switch (v->tag) {
	case PTE_INT_LIST: return write_int_list(w, v);
	case PTE_DOUBLE_LIST: return fbb_vector(&w->b, v->doubles.at, (size_t)v->doubles.n, 8, 8);
	case PTE_BOOL_LIST: return fbb_vector(&w->b, v->bools.at, (size_t)v->bools.n, 1, 1);
	case PTE_STRING: return fbb_stringn(&w->b, v->s.at, v->s.bytes);
	default: return fbb_vector(&w->b, v->index.at, (size_t)v->index.n, 4, 4);
	}
}

static fbref write_payload(struct writer *w, const struct pte_value *v)
{
	fbref items;

	switch (v->tag) {
	case PTE_NULL: break;
	case PTE_INT: fbb_put64(&w->b, SCALAR_VALUE, (uint64_t)v->i, 0); break;
	case PTE_BOOL: fbb_put8(&w->b, SCALAR_VALUE, v->b, 0); break;
	case PTE_DOUBLE: fbb_putf64(&w->b, SCALAR_VALUE, v->d, 0); break;
	case PTE_TENSOR: return write_tensor(w, v->tensor);
	default:
		items = write_items(w, v);
		fbb_putref(&w->b, LIST_ITEMS, items);
	}
	return fbb_end(&w->b);
}

static bool check_value(struct writer *w, int i, const struct pte_value *v)
{
	const struct pte_tensor *t = v->tensor;
	int n;

	if (v->tag < PTE_NULL || v->tag > PTE_OPTIONAL_TENSOR_LIST)
		return error_set(w->err, ERROR_FORMAT, "method %s: value %d is of kind %d", w->method, i, v->tag);
	if (v->tag != PTE_TENSOR || (t->storage != PTE_CONSTANT && t->storage != PTE_MUTABLE))
		return true;
	n = t->storage == PTE_CONSTANT ? w->image->nconstants : w->image->nmutable;
	return (t->data_index >= 1 && t->data_index < (uint32_t)n)
		|| error_set(w->err, ERROR_FORMAT, "method %s: value %d has its bytes in entry %u of %d", w->method, i,
			     t->data_index, n);
}

static bool write_values(struct writer *w, const struct pte_plan *plan, fbref *values)
{
	fbref *ref = arena_array(&w->mem, (size_t)plan->nvalues, sizeof *ref);

	for (int i = 0; i < plan->nvalues; i++) {
		const struct pte_value *v = &plan->value[i];
		fbref payload;

		if (!check_value(w, i, v))
			return false;
		payload = write_payload(w, v);
		fbb_put8(&w->b, EVALUE_TAG, (uint8_t)v->tag, 0);
		fbb_putref(&w->b, EVALUE_VALUE, payload);
		ref[i] = fbb_end(&w->b);
	}
	*values = fbb_refs(&w->b, ref, (size_t)plan->nvalues);
	return true;
}

/* Calls */

static fbref write_instruction(struct writer *w, const struct pte_instruction *in)
{
	bool call = in->call == PTE_KERNEL || in->call == PTE_DELEGATE;
	fbref args = call ? fbb_vector(&w->b, in->arg, (size_t)in->nargs, 4, 4) : 0, table;

	fbb_put32(&w->b, CALL_INDEX, (uint32_t)in->index, 0);
	if (call)
		fbb_putref(&w->b, CALL_ARGS, args);
	else if (in->call != PTE_FREE)
		fbb_put32(&w->b, CALL_TO, (uint32_t)in->to, 0);
	table = fbb_end(&w->b);
	fbb_put8(&w->b, INSTRUCTION_TAG, (uint8_t)in->call, 0);
	fbb_putref(&w->b, INSTRUCTION_CALL, table);
	return fbb_end(&w->b);
}

static fbref write_chains(struct writer *w, const struct pte_plan *plan)
{
	fbref *chain = arena_array(&w->mem, (size_t)plan->nchains, sizeof *chain);

	for (int c = 0; c < plan->nchains; c++) {
		int n = plan->chain[c].ninstructions;
		fbref *ref = arena_array(&w->mem, (size_t)n, sizeof *ref), instructions;

		for (int i = 0; i < n; i++)
			ref[i] = write_instruction(w, &plan->chain[c].instruction[i]);
		instructions = fbb_refs(&w->b, ref, (size_t)n);
		fbb_putref(&w->b, CHAIN_INSTRUCTIONS, instructions);
		chain[c] = fbb_end(&w->b);
	}
	return fbb_refs(&w->b, chain, (size_t)plan->nchains);
}

static fbref write_operators(struct writer *w, const struct pte_plan *plan)
{
	fbref *ref = arena_array(&w->mem, (size_t)plan->noperators, sizeof *ref);

	for (int i = 0; i < plan->noperators; i++) {
		const struct pte_operator *o = &plan->operator[i];
		fbref name = fbb_string(&w->b, o->name);
		fbref overload = o->overload && *o->overload ? fbb_string(&w->b, o->overload) : 0;

		fbb_putref(&w->b, OPERATOR_NAME, name);
		fbb_putref(&w->b, OPERATOR_OVERLOAD, overload);
		ref[i] = fbb_end(&w->b);
	}
	return fbb_refs(&w->b, ref, (size_t)plan->noperators);
}

static fbref write_specs(struct writer *w, const struct pte_delegate *d)
{
	fbref *ref = arena_array(&w->mem, (size_t)d->nspecs, sizeof *ref);

	for (int i = 0; i < d->nspecs; i++) {
		fbref key = fbb_string(&w->b, d->spec[i].key);
		fbref value = fbb_vector(&w->b, d->spec[i].value.data, d->spec[i].value.bytes, 1, 1);

		fbb_putref(&w->b, SPEC_KEY, key);
		fbb_putref(&w->b, SPEC_VALUE, value);
		ref[i] = fbb_end(&w->b);
	}
	return d->nspecs ? fbb_refs(&w->b, ref, (size_t)d->nspecs) : 0;
}

static fbref write_delegates(struct writer *w, const struct pte_plan *plan)
{
	fbref *ref = arena_array(&w->mem, (size_t)plan->ndelegates, sizeof *ref);

	for (int i = 0; i < plan->ndelegates; i++) {
		const struct pte_delegate *d = &plan->delegate[i];
		fbref id = fbb_string(&w->b, d->id), specs = write_specs(w, d), processed;

		fbb_put8(&w->b, PROCESSED_LOCATION, LOCATION_SEGMENT, LOCATION_INLINE);
		fbb_put32(&w->b, PROCESSED_INDEX, segment_with(w, d->blob), 0);
		processed = fbb_end(&w->b);
		fbb_putref(&w->b, DELEGATE_ID, id);
		fbb_putref(&w->b, DELEGATE_PROCESSED, processed);
		fbb_putref(&w->b, DELEGATE_SPECS, specs);
		ref[i] = fbb_end(&w->b);
	}
	return fbb_refs(&w->b, ref, (size_t)plan->ndelegates);
}

/* Plans */

static fbref write_container(struct writer *w, const struct pte_plan *plan)
{
	fbref in = fbb_string(&w->b, plan->input_spec), out = fbb_string(&w->b, plan->output_spec);

	if (!in && !out)
		return 0;
	fbb_putref(&w->b, CONTAINER_INPUTS, in);
	fbb_putref(&w->b, CONTAINER_OUTPUTS, out);
	return fbb_end(&w->b);
}

static fbref write_devices(struct writer *w, const struct pte_plan *plan)
{
	fbref *ref = arena_array(&w->mem, (size_t)plan->ndevices, sizeof *ref);

	for (int i = 0; i < plan->ndevices; i++) {
		fbb_put32(&w->b, DEVICE_BUFFER, (uint32_t)plan->device[i].buffer, 0);
		fbb_put8(&w->b, DEVICE_TYPE, (uint8_t)plan->device[i].type, 0);
		fbb_put8(&w->b, DEVICE_INDEX, (uint8_t)plan->device[i].index, 0);
		ref[i] = fbb_end(&w->b);
	}
	return plan->ndevices ? fbb_refs(&w->b, ref, (size_t)plan->ndevices) : 0;
}

static bool write_plan(struct writer *w, const struct pte_plan *plan, fbref *made)
{
	struct fbb *b = &w->b;
	fbref name, container, values, inputs, outputs, chains, operators, delegates, sizes, devices;

	w->method = plan->name;
	if (!plan->name || !plan->nchains || !plan->nbuffers)
		return error_set(w->err, ERROR_FORMAT,
				 "method %s has %d chains and %d arenas, and must have a name and one of each",
				 plan->name ? plan->name : "without a name", plan->nchains, plan->nbuffers);
	if (!write_values(w, plan, &values))
		return false;
	name = fbb_string(b, plan->name);
	container = write_container(w, plan);
	inputs = fbb_vector(b, plan->input, (size_t)plan->ninputs, 4, 4);
	outputs = fbb_vector(b, plan->output, (size_t)plan->noutputs, 4, 4);
	chains = write_chains(w, plan);
	operators = plan->noperators ? write_operators(w, plan) : 0;
	delegates = write_delegates(w, plan);
	sizes = fbb_vector(b, plan->buffer_bytes, (size_t)plan->nbuffers, 8, 8);
	devices = write_devices(w, plan);
	fbb_putref(b, PLAN_NAME, name);
	fbb_putref(b, PLAN_CONTAINER, container);
	fbb_putref(b, PLAN_VALUES, values);
	fbb_putref(b, PLAN_INPUTS, inputs);
	fbb_putref(b, PLAN_OUTPUTS, outputs);
	fbb_putref(b, PLAN_CHAINS, chains);
	fbb_putref(b, PLAN_OPERATORS, operators);
	fbb_putref(b, PLAN_DELEGATES, delegates);
	fbb_putref(b, PLAN_BUFFER_SIZES, sizes);
	fbb_putref(b, PLAN_BUFFER_DEVICES, devices);
	*made = fbb_end(b);
	return true;
}

/* The program */

static fbref write_offsets(struct writer *w, uint32_t segment, const uint64_t *at, int n)
{
	fbref offsets = fbb_vector(&w->b, at, (size_t)n, 8, 8);

	fbb_put32(&w->b, SUBSEGMENT_INDEX, segment, 0);
	fbb_putref(&w->b, SUBSEGMENT_OFFSETS, offsets);
	return fbb_end(&w->b);
}

static fbref write_named(struct writer *w)
{
	fbref *ref = arena_array(&w->mem, (size_t)w->image->nnamed, sizeof *ref);

	for (int i = 0; i < w->image->nnamed; i++) {
		const struct pte_named *n = &w->image->named[i];
		fbref key = fbb_stringn(&w->b, n->key, n->key_bytes);

		fbb_putref(&w->b, NAMED_KEY, key);
		fbb_put32(&w->b, NAMED_SEGMENT, segment_with(w, n->data), 0);
		ref[i] = fbb_end(&w->b);
	}
	return w->image->nnamed ? fbb_refs(&w->b, ref, (size_t)w->image->nnamed) : 0;
}

static fbref write_segments(struct writer *w)
{
	fbref *ref = arena_array(&w->mem, (size_t)w->segment.n, sizeof *ref);

	for (int i = 0; i < w->segment.n; i++) {
		fbb_put64(&w->b, SEGMENT_OFFSET, w->segment.at[i].offset, 0);
		fbb_put64(&w->b, SEGMENT_SIZE, w->segment.at[i].bytes, 0);
		ref[i] = fbb_end(&w->b);
	}
	return w->segment.n ? fbb_refs(&w->b, ref, (size_t)w->segment.n) : 0;
}

static bool write_program(struct writer *w, fbref *root)
{
	const struct pte_image *m = w->image;
	fbref *plan = arena_array(&w->mem, (size_t)m->nplans, sizeof *plan), mutable = 0;
	fbref plans, segments, constants, named;

	place_constants(w);
	for (int i = 0; i < m->nplans; i++) {
		for (int k = 0; k < i; k++)
			if (m->plan[i].name && !strcmp(m->plan[i].name, m->plan[k].name))
				return error_set(w->err, ERROR_FORMAT, "two methods are named %s", m->plan[i].name);
		if (!write_plan(w, &m->plan[i], &plan[i]))
			return false;
	}
	plans = fbb_refs(&w->b, plan, (size_t)m->nplans);
	constants = write_offsets(w, w->constant_segment, w->constant_at, m->nconstants > 1 ? m->nconstants : 1);
	if (m->nmutable > 1) {
		mutable = write_offsets(w, w->mutable_segment, w->mutable_at, m->nmutable);
		mutable = fbb_refs(&w->b, &mutable, 1);
	}
	named = write_named(w);
	segments = write_segments(w);
	fbb_putref(&w->b, PROGRAM_PLANS, plans);
	fbb_putref(&w->b, PROGRAM_SEGMENTS, segments);
	fbb_putref(&w->b, PROGRAM_CONSTANT_SEGMENT, constants);
	fbb_putref(&w->b, PROGRAM_MUTABLE_SEGMENTS, mutable);
	fbb_putref(&w->b, PROGRAM_NAMED_DATA, named);
	*root = fbb_end(&w->b);
	return true;
}

/* Without segment data there is no header, as in the exporter's files. */
static bool finish(struct writer *w, struct pte_output *out, fbref root)
{
	bool header = w->pieces.bytes > 0;
	uint32_t length = HEADER_LENGTH;
	uint8_t *tables;
	size_t bytes;
	uint64_t field[3];

	if (!fbb_finish(&w->b, root, "ET12", header ? HEADER_LENGTH : 0, &tables, &bytes, w->err))
		return false;
	if (bytes < PROGRAM_LEAST)
		return error_set(w->err, ERROR_FORMAT, "a program of %zu bytes; the runtime takes %d and more", bytes,
				 PROGRAM_LEAST);
	if (header) {
		field[0] = bytes;
		field[1] = size_align(bytes, SEGMENT_ALIGN);
		field[2] = w->pieces.bytes;
		memcpy(tables + HEADER_AT, "eh00", 4);
		memcpy(tables + HEADER_AT + 4, &length, 4);
		memcpy(tables + HEADER_AT + 8, field, sizeof field);
	}
	pieces_output(out, &w->b, tables, bytes, &w->pieces);
	return true;
}

bool pte_write(struct pte_output *out, const struct pte_image *image, struct error *err)
{
	struct writer w = { .image = image, .err = err };
	fbref root = 0;
	bool ok = write_program(&w, &root) && finish(&w, out, root);

	fbb_free(&w.b);
	pieces_free(&w.pieces);
	arena_free(&w.mem);
	return ok;
}

void pte_image(struct pte_image *image, const struct pte *pte, struct arena *a)
{
	*image = (struct pte_image){ pte->plan, pte->nplans, NULL, pte->nconstants, NULL, pte->nmutable, pte->named,
				    pte->nnamed };
	image->constant = arena_array(a, (size_t)pte->nconstants, sizeof *image->constant);
	image->mutable = arena_array(a, (size_t)pte->nmutable, sizeof *image->mutable);
	for (int p = 0; p < pte->nplans; p++)
		for (int i = 0; i < pte->plan[p].nvalues; i++) {
			const struct pte_value *v = &pte->plan[p].value[i];
			struct span *s = v->tag == PTE_TENSOR && v->tensor->storage == PTE_CONSTANT ? image->constant
												    : image->mutable;

			if (v->tag != PTE_TENSOR || !v->tensor->data)
				continue;
			s += v->tensor->data_index;
			if (!s->data || v->tensor->bytes > s->bytes)
				*s = (struct span){ v->tensor->data, v->tensor->bytes };
		}
}
