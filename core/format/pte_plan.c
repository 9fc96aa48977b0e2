#include "core/format/pte_reader.h"

#include "core/format/pte_schema.h"

#include <inttypes.h>

static bool read_ends(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t)
{
	struct fb_vector in = fb_vector(t, PLAN_INPUTS, 4), out = fb_vector(t, PLAN_OUTPUTS, 4);

	r->part = NULL;
	if (!fb_vector_there(&in) || !fb_vector_there(&out))
		return pte_bad(r, t->at, "no %s", fb_vector_there(&in) ? "outputs" : "inputs");
	plan->input = pte_read_indices(r, &in, 0, plan->nvalues, "input");
	plan->output = pte_read_indices(r, &out, 0, plan->nvalues, "output");
	plan->ninputs = (int)in.n;
	plan->noutputs = (int)out.n;
	for (uint32_t i = 0; fb_ok(&r->fb) && i < in.n; i++)
		if (plan->value[plan->input[i]].tag > PTE_STRING)
			return pte_bad(r, in.at + i * 4, "input %u, value %d, is a list", i, plan->input[i]);
	return fb_ok(&r->fb);
}

static bool read_buffers(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t)
{
	struct fb_vector sizes = fb_vector(t, PLAN_BUFFER_SIZES, 8), devices = fb_vector(t, PLAN_BUFFER_DEVICES, 4);

	if (!fb_vector_there(&sizes))
		return pte_bad(r, t->at, "no non_const_buffer_sizes");
	plan->buffer_bytes = fb_array(&sizes, r->mem, sizeof *plan->buffer_bytes);
	plan->device = fb_array(&devices, r->mem, sizeof *plan->device);
	plan->nbuffers = (int)sizes.n;
	plan->ndevices = (int)devices.n;
	for (uint32_t i = 0; fb_ok(&r->fb) && i < sizes.n; i++) {
		plan->buffer_bytes[i] = fb_i64_at(&sizes, i);
		if (i && plan->buffer_bytes[i] < 0)
			return pte_bad(r, sizes.at + i * 8, "arena %u of %" PRId64 " bytes", i, plan->buffer_bytes[i]);
	}
	for (uint32_t i = 0; fb_ok(&r->fb) && i < devices.n; i++) {
		struct fb_table d = fb_table_at(&devices, i);

		plan->device[i] = (struct pte_device){ fb_i32(&d, DEVICE_BUFFER, 0), fb_i8(&d, DEVICE_TYPE, 0),
						       fb_i8(&d, DEVICE_INDEX, 0) };
		if (plan->device[i].buffer < 0 || plan->device[i].buffer >= plan->nbuffers)
			return pte_bad(r, d.at, "device of arena %d, there are %d", plan->device[i].buffer,
				       plan->nbuffers);
	}
	return fb_ok(&r->fb);
}

static bool read_operators(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t)
{
	struct fb_vector v = fb_vector(t, PLAN_OPERATORS, 4);

	plan->operator = fb_array(&v, r->mem, sizeof *plan->operator);
	plan->noperators = (int)v.n;
	r->part = "operator";
	for (r->number = 0; fb_ok(&r->fb) && r->number < plan->noperators; r->number++) {
		struct fb_table o = fb_table_at(&v, (uint32_t)r->number);
		struct pte_operator *op = &plan->operator[r->number];
		size_t name, overload;

		op->name = fb_name(&o, OPERATOR_NAME, &name);
		op->overload = fb_name(&o, OPERATOR_OVERLOAD, &overload);
		if (!op->name || !name)
			return pte_bad(r, o.at, "operator without a name");
		if (!op->overload)
			op->overload = "";
		if (name + (overload ? 1 + overload : 0) >= 100)
			return pte_bad(r, o.at, "name of %zu bytes, the runtime takes less than 100",
				       name + 1 + overload);
	}
	return fb_ok(&r->fb);
}

static bool read_specs(struct pte_reader *r, struct pte_delegate *d, struct fb_table *t)
{
	struct fb_vector v = fb_vector(t, DELEGATE_SPECS, 4);

	d->spec = fb_array(&v, r->mem, sizeof *d->spec);
	d->nspecs = (int)v.n;
	for (uint32_t i = 0; fb_ok(&r->fb) && i < v.n; i++) {
		struct fb_table s = fb_table_at(&v, i);
		struct fb_vector value = fb_data(&s, SPEC_VALUE);

		d->spec[i] = (struct pte_spec){ fb_name(&s, SPEC_KEY, NULL), { fb_bytes(&value), value.n } };
		if (!d->spec[i].key || !fb_vector_there(&value))
			return pte_bad(r, s.at, "compile spec %u without a %s", i, d->spec[i].key ? "value" : "key");
	}
	return fb_ok(&r->fb);
}

static bool read_delegate(struct pte_reader *r, struct pte_delegate *d, struct fb_table t)
{
	struct fb_table processed = fb_child(&t, DELEGATE_PROCESSED);
	int8_t location = fb_i8(&processed, PROCESSED_LOCATION, LOCATION_INLINE);
	int n = location == LOCATION_SEGMENT ? r->pte->nsegments : r->ninline;

	d->id = fb_name(&t, DELEGATE_ID, NULL);
	d->index = fb_u32(&processed, PROCESSED_INDEX, 0);
	if (!d->id || !processed.at)
		return pte_bad(r, t.at, "delegate without %s", d->id ? "data" : "an id");
	if (location != LOCATION_INLINE && location != LOCATION_SEGMENT)
		return pte_bad(r, processed.at, "data location %d, allowed are 0 (inline) and 1 (segment)", location);
	if (d->index >= (uint32_t)n)
		return pte_bad(r, processed.at, "data in %s %u, the program has %d",
			       location == LOCATION_SEGMENT ? "segment" : "inline entry", d->index, n);
	d->in_segment = location == LOCATION_SEGMENT;
	d->blob = d->in_segment ? r->pte->segment[d->index] : r->inline_data[d->index];
	return read_specs(r, d, &t);
}

static bool read_delegates(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t)
{
	struct fb_vector v = fb_vector(t, PLAN_DELEGATES, 4);

	r->part = NULL;
	if (!fb_vector_there(&v))
		return pte_bad(r, t->at, "no delegates vector");
	plan->delegate = fb_array(&v, r->mem, sizeof *plan->delegate);
	plan->ndelegates = (int)v.n;
	r->part = "delegate";
	for (r->number = 0; fb_ok(&r->fb) && r->number < plan->ndelegates; r->number++)
		if (!read_delegate(r, &plan->delegate[r->number], fb_table_at(&v, (uint32_t)r->number)))
			return false;
	return fb_ok(&r->fb);
}

/* Instructions: how each kind is read, and what its indices may be. */

static bool value_index(struct pte_reader *r, const struct pte_plan *plan, size_t at, int32_t index)
{
	return (index >= 0 && index < plan->nvalues)
		|| pte_bad(r, at, "value %d, the method has %d", index, plan->nvalues);
}

static bool read_call(struct pte_reader *r, const struct pte_plan *plan, const struct pte_chain *chain,
		      struct fb_table *t, struct pte_instruction *in)
{
	struct fb_vector args = fb_vector(t, CALL_ARGS, 4);
	bool kernel = in->call == PTE_KERNEL;
	int n = kernel ? plan->noperators : plan->ndelegates;

	if (in->index < 0 || in->index >= n)
		return pte_bad(r, t->at, "%s %d, the method has %d", kernel ? "operator" : "delegate", in->index, n);
	if (!fb_vector_there(&args))
		return pte_bad(r, t->at, "call without args");
	in->arg = pte_read_indices(r, &args, 0, plan->nvalues, "argument");
	in->nargs = (int)args.n;
	return in->arg != NULL;
}

static bool read_move(struct pte_reader *r, const struct pte_plan *plan, const struct pte_chain *chain,
		      struct fb_table *t, struct pte_instruction *in)
{
	in->to = fb_i32(t, CALL_TO, 0);
	return value_index(r, plan, t->at, in->index) && value_index(r, plan, t->at, in->to);
}

/* A destination right behind the last instruction ends the chain; one further on would as well, silently. */
static bool read_jump(struct pte_reader *r, const struct pte_plan *plan, const struct pte_chain *chain,
		      struct fb_table *t, struct pte_instruction *in)
{
	const struct pte_value *v;

	in->to = fb_i32(t, CALL_TO, 0);
	if (!value_index(r, plan, t->at, in->index))
		return false;
	if (in->to < 0 || in->to > chain->ninstructions)
		return pte_bad(r, t->at, "jump to instruction %d, the chain has %d", in->to, chain->ninstructions);
	v = &plan->value[in->index];
	return v->tag == PTE_BOOL || (v->tag == PTE_TENSOR && v->tensor->dtype == DTYPE_BOOL)
		|| pte_bad(r, t->at, "jump on value %d, which is no bool", in->index);
}

static bool read_free(struct pte_reader *r, const struct pte_plan *plan, const struct pte_chain *chain,
		      struct fb_table *t, struct pte_instruction *in)
{
	if (!value_index(r, plan, t->at, in->index))
		return false;
	return plan->value[in->index].tag == PTE_TENSOR
		|| pte_bad(r, t->at, "free of value %d, which is no tensor", in->index);
}

static bool (*const read_instruction[])(struct pte_reader *, const struct pte_plan *, const struct pte_chain *,
					struct fb_table *, struct pte_instruction *) = {
	[PTE_KERNEL] = read_call, [PTE_DELEGATE] = read_call, [PTE_MOVE] = read_move, [PTE_JUMP_FALSE] = read_jump,
	[PTE_FREE] = read_free,
};

static bool read_chain(struct pte_reader *r, struct pte_plan *plan, struct pte_chain *c, struct fb_table t)
{
	struct fb_vector v = fb_vector(&t, CHAIN_INSTRUCTIONS, 4);

	if (!fb_vector_there(&v))
		return pte_bad(r, t.at, "chain without instructions");
	c->instruction = fb_array(&v, r->mem, sizeof *c->instruction);
	c->ninstructions = (int)v.n;
	plan->has_stacktrace |= fb_has(&t, CHAIN_STACKTRACE);
	r->part = "instruction";
	for (r->number = 0; fb_ok(&r->fb) && r->number < c->ninstructions; r->number++) {
		struct pte_instruction *in = &c->instruction[r->number];
		struct fb_table i = fb_table_at(&v, (uint32_t)r->number), call = fb_child(&i, INSTRUCTION_CALL);
		uint8_t tag = fb_u8(&i, INSTRUCTION_TAG, 0);

		if (tag < PTE_KERNEL || tag > PTE_FREE || !call.at)
			return pte_bad(r, i.at, "instruction of kind %u%s, allowed are kinds 1 to %d with a table", tag,
				       call.at ? "" : " without a table", PTE_FREE);
		in->call = (enum pte_call)tag;
		in->index = fb_i32(&call, CALL_INDEX, 0);
		if (!read_instruction[tag](r, plan, c, &call, in))
			return false;
	}
	return fb_ok(&r->fb);
}

static bool read_chains(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t)
{
	struct fb_vector v = fb_vector(t, PLAN_CHAINS, 4);

	r->part = NULL;
	if (!v.n)
		return pte_bad(r, t->at, "no chains");
	plan->chain = fb_array(&v, r->mem, sizeof *plan->chain);
	plan->nchains = (int)v.n;
	for (uint32_t i = 0; fb_ok(&r->fb) && i < v.n; i++) {
		r->part = NULL;
		if (!read_chain(r, plan, &plan->chain[i], fb_table_at(&v, i)))
			return false;
	}
	return fb_ok(&r->fb);
}

bool pte_read_plan(struct pte_reader *r, struct pte_plan *plan, struct fb_table t)
{
	struct fb_table container = fb_child(&t, PLAN_CONTAINER);

	r->method = r->part = NULL;
	plan->name = fb_name(&t, PLAN_NAME, NULL);
	if (!plan->name)
		return pte_bad(r, t.at, "method without a name");
	r->method = plan->name;
	plan->input_spec = fb_name(&container, CONTAINER_INPUTS, NULL);
	plan->output_spec = fb_name(&container, CONTAINER_OUTPUTS, NULL);
	return read_buffers(r, plan, &t) && pte_read_values(r, plan, &t) && read_ends(r, plan, &t)
		&& read_operators(r, plan, &t) && read_delegates(r, plan, &t) && read_chains(r, plan, &t);
}
