#include "core/format/pte.h"

#include "core/base/num.h"
#include "core/format/pte_reader.h"
#include "core/format/pte_schema.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool pte_bad(struct pte_reader *r, size_t at, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (!r->method)
		return fb_fail(&r->fb, at, "%s", text);
	if (!r->part)
		return fb_fail(&r->fb, at, "method %.64s: %s", r->method, text);
	return fb_fail(&r->fb, at, "method %.64s: %s %d: %s", r->method, r->part, r->number, text);
}

static uint32_t le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static uint64_t le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static bool read_header(struct pte *p, const struct file *f, struct error *err)
{
	const uint8_t *h = f->data + HEADER_AT;
	uint32_t length;

	p->program_bytes = f->bytes;
	p->has_header = !memcmp(h, "eh00", 4);
	if (!p->has_header)
		return true;
	length = le32(h + 4);
	p->program_bytes = le64(h + 8);
	p->segment_base = le64(h + 16);
	p->segment_bytes = length >= HEADER_LENGTH ? le64(h + 24) : 0;
	if (length < HEADER_LEAST)
		return error_set(err, ERROR_FORMAT, "%s: offset 12: header of %u bytes, at least %d are needed", f->path, length,
				 HEADER_LEAST);
	if (p->program_bytes > f->bytes || HEADER_AT + (uint64_t)length > p->program_bytes)
		return error_set(err, ERROR_FORMAT, "%s: offset 16: program of %" PRIu64 " bytes with a header of %u in a file of %zu",
				 f->path, p->program_bytes, length, f->bytes);
	if (p->segment_base && p->segment_base < p->program_bytes)
		return error_set(err, ERROR_FORMAT, "%s: offset 24: segments start at %" PRIu64 ", inside the program of %" PRIu64
				 " bytes", f->path, p->segment_base, p->program_bytes);
	if (!size_inside(p->segment_base, p->segment_bytes, f->bytes))
		return error_set(err, ERROR_FORMAT, "%s: offset 24: %" PRIu64 " bytes of segments from %" PRIu64
				 " on in a file of %zu: it may be cut short", f->path, p->segment_bytes, p->segment_base, f->bytes);
	return true;
}

/* Segments and the data that lies in them. */

static bool read_segments(struct pte_reader *r, struct fb_table *program)
{
	struct pte *p = r->pte;
	struct fb_vector v = fb_vector(program, PROGRAM_SEGMENTS, 4);

	p->segment = fb_array(&v, r->mem, sizeof *p->segment);
	p->nsegments = (int)v.n;
	for (uint32_t i = 0; p->segment && i < v.n; i++) {
		struct fb_table t = fb_table_at(&v, i);
		uint64_t offset = fb_u64(&t, SEGMENT_OFFSET, 0), bytes = fb_u64(&t, SEGMENT_SIZE, 0);

		if (bytes && !p->segment_base)
			return pte_bad(r, t.at, "segment %u has %" PRIu64 " bytes, but no header says where segments start", i, bytes);
		if (!size_inside(p->segment_base, offset, r->file->bytes)
		    || !size_inside(p->segment_base + offset, bytes, r->file->bytes))
			return pte_bad(r, t.at, "segment %u, %" PRIu64 " bytes at %" PRIu64 " behind %" PRIu64
				       ", lies outside the file of %zu bytes", i, bytes, offset, p->segment_base, r->file->bytes);
		p->segment[i] = (struct span){ r->file->data + p->segment_base + offset, (size_t)bytes };
	}
	return fb_ok(&r->fb);
}

/* The bytes of a table that is nothing but a byte vector. */
static struct span *read_byte_tables(struct pte_reader *r, const struct fb_vector *v)
{
	struct span *s = fb_array(v, r->mem, sizeof *s);

	for (uint32_t i = 0; s && i < v->n; i++) {
		struct fb_table t = fb_table_at(v, i);
		struct fb_vector data = fb_data(&t, BYTES_DATA);

		s[i] = (struct span){ fb_bytes(&data), data.n };
		if (!s[i].data)
			s[i].data = r->file->data;
	}
	return s;
}

static bool read_constants(struct pte_reader *r, struct fb_table *program)
{
	struct pte *p = r->pte;
	struct fb_table seg = fb_child(program, PROGRAM_CONSTANT_SEGMENT);
	struct fb_vector offset = fb_vector(&seg, SUBSEGMENT_OFFSETS, 8);
	struct fb_vector buffer = fb_vector(program, PROGRAM_CONSTANT_BUFFER, 4);

	p->constant_segment = fb_u32(&seg, SUBSEGMENT_INDEX, 0);
	if (buffer.n > 1 ? offset.n > 0 : buffer.n > 0 && offset.n > 1)
		return pte_bad(r, seg.at, "%u constants in constant_segment and %u in constant_buffer, only one may hold any",
			       offset.n, buffer.n);
	p->inline_constants = buffer.n > 0 && !offset.n;
	if (p->inline_constants) {
		p->constant = read_byte_tables(r, &buffer);
		p->nconstants = (int)buffer.n;
		return fb_ok(&r->fb);
	}
	if (offset.n > 1 && p->constant_segment >= (uint32_t)p->nsegments)
		return pte_bad(r, seg.at, "constants in segment %u, the program has %d", p->constant_segment, p->nsegments);
	p->constant_offset = fb_array(&offset, r->mem, sizeof *p->constant_offset);
	p->nconstants = (int)offset.n;
	for (uint32_t i = 0; p->constant_offset && i < offset.n; i++)
		p->constant_offset[i] = fb_u64_at(&offset, i);
	return fb_ok(&r->fb);
}

/* The runtime looks at entry 0 alone. */
static bool read_mutable(struct pte_reader *r, struct fb_table *program)
{
	struct fb_vector v = fb_vector(program, PROGRAM_MUTABLE_SEGMENTS, 4);
	struct fb_table first = fb_table_at(&v, 0);

	r->mutable_segment = fb_u32(&first, SUBSEGMENT_INDEX, 0);
	r->mutable_offset = fb_vector(&first, SUBSEGMENT_OFFSETS, 8);
	r->pte->nmutable = (int)r->mutable_offset.n;
	if (r->mutable_offset.n > 1 && r->mutable_segment >= (uint32_t)r->pte->nsegments)
		return pte_bad(r, first.at, "mutable data in segment %u, the program has %d", r->mutable_segment,
			       r->pte->nsegments);
	return fb_ok(&r->fb);
}

static bool read_named(struct pte_reader *r, struct fb_table *program)
{
	struct pte *p = r->pte;
	struct fb_vector v = fb_vector(program, PROGRAM_NAMED_DATA, 4);

	p->named = fb_array(&v, r->mem, sizeof *p->named);
	p->nnamed = (int)v.n;
	for (uint32_t i = 0; p->named && i < v.n; i++) {
		struct fb_table t = fb_table_at(&v, i);
		struct pte_named *n = &p->named[i];

		n->key = fb_name(&t, NAMED_KEY, &n->key_bytes);
		n->segment = fb_u32(&t, NAMED_SEGMENT, 0);
		if (!n->key)
			return pte_bad(r, t.at, "named data %u has no key", i);
		if (n->segment >= (uint32_t)p->nsegments)
			return pte_bad(r, t.at, "named data %u in segment %u, the program has %d", i, n->segment, p->nsegments);
		n->data = p->segment[n->segment];
		if (!map_get(&p->named_by_key, n->key, n->key_bytes))
			map_put(&p->named_by_key, r->mem, n->key, n->key_bytes, n);
	}
	return fb_ok(&r->fb);
}

/* Parts of a plan */

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
			return pte_bad(r, d.at, "device of arena %d, there are %d", plan->device[i].buffer, plan->nbuffers);
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
			return pte_bad(r, o.at, "name of %zu bytes, the runtime takes less than 100", name + 1 + overload);
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
	return plan->value[in->index].tag == PTE_TENSOR || pte_bad(r, t->at, "free of value %d, which is no tensor", in->index);
}

static bool (*const read_instruction[])(struct pte_reader *, const struct pte_plan *, const struct pte_chain *,
					struct fb_table *, struct pte_instruction *) = {
	[PTE_KERNEL] = read_call, [PTE_DELEGATE] = read_call, [PTE_MOVE] = read_move, [PTE_JUMP_FALSE] = read_jump,
	[PTE_FREE] = read_free,
};

static bool read_chain(struct pte_reader *r, const struct pte_plan *plan, struct pte_chain *c, struct fb_table t)
{
	struct fb_vector v = fb_vector(&t, CHAIN_INSTRUCTIONS, 4);

	if (!fb_vector_there(&v))
		return pte_bad(r, t.at, "chain without instructions");
	c->instruction = fb_array(&v, r->mem, sizeof *c->instruction);
	c->ninstructions = (int)v.n;
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

static bool read_plan(struct pte_reader *r, struct pte_plan *plan, struct fb_table t)
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

static bool read_program(struct pte_reader *r, struct fb_table *program)
{
	struct pte *p = r->pte;
	struct fb_vector plans = fb_vector(program, PROGRAM_PLANS, 4);
	struct fb_vector inline_data = fb_vector(program, PROGRAM_DELEGATE_DATA, 4);
	uint32_t version = fb_u32(program, PROGRAM_VERSION, 0);

	if (version)
		return pte_bad(r, program->at, "program version %u, only 0 is known", version);
	if (!plans.n)
		return pte_bad(r, program->at, "the program has no methods");
	if (!read_segments(r, program) || !read_constants(r, program) || !read_mutable(r, program) || !read_named(r, program))
		return false;
	r->inline_data = read_byte_tables(r, &inline_data);
	r->ninline = (int)inline_data.n;
	p->plan = fb_array(&plans, r->mem, sizeof *p->plan);
	p->nplans = (int)plans.n;
	for (uint32_t i = 0; fb_ok(&r->fb) && i < plans.n; i++)
		if (!read_plan(r, &p->plan[i], fb_table_at(&plans, i)))
			return false;
	return fb_ok(&r->fb);
}

bool pte_read(struct pte *pte, const struct file *f, struct arena *a, struct error *err)
{
	struct error unheard;
	struct pte_reader r = { .file = f, .mem = a, .pte = pte };
	struct fb_table program;

	*pte = (struct pte){ .path = f->path, .file_bytes = f->bytes };
	err = err ? err : &unheard;
	if (file_kind(f->data, f->bytes) != FILE_PTE)
		return file_not(f, "an ExecuTorch program (.pte, identifier \"ET12\")", err);
	if (f->bytes < PROGRAM_LEAST)
		return error_set(err, ERROR_FORMAT, "%s: offset 0: %zu bytes, a program has at least %d", f->path, f->bytes,
				 PROGRAM_LEAST);
	return read_header(pte, f, err)
		&& fb_open(&r.fb, f->data, (size_t)pte->program_bytes, 0, f->path, "ET12", &program, err)
		&& read_program(&r, &program);
}

const struct pte_named *pte_named_find(const struct pte *pte, const char *key, size_t bytes)
{
	return map_get(&pte->named_by_key, key, bytes);
}
