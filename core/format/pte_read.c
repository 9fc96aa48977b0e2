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
		return error_set(err, ERROR_FORMAT, "%s: offset 12: header of %u bytes, at least %d are needed",
				 f->path, length, HEADER_LEAST);
	if (p->program_bytes > f->bytes || HEADER_AT + (uint64_t)length > p->program_bytes)
		return error_set(err, ERROR_FORMAT,
				 "%s: offset 16: program of %" PRIu64 " bytes with a header of %u in a file of %zu",
				 f->path, p->program_bytes, length, f->bytes);
	if (p->segment_base && p->segment_base < p->program_bytes)
		return error_set(err, ERROR_FORMAT,
				 "%s: offset 24: segments start at %" PRIu64 ", inside the program of %" PRIu64
				 " bytes", f->path, p->segment_base, p->program_bytes);
	if (!size_inside(p->segment_base, p->segment_bytes, f->bytes))
		return error_set(err, ERROR_FORMAT, "%s: offset 24: %" PRIu64 " bytes of segments from %" PRIu64
				 " on in a file of %zu: it may be cut short", f->path, p->segment_bytes,
				 p->segment_base, f->bytes);
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
			return pte_bad(r, t.at,
				       "segment %u has %" PRIu64 " bytes, but no header says where segments start", i,
				       bytes);
		if (!size_inside(p->segment_base, offset, r->file->bytes)
		    || !size_inside(p->segment_base + offset, bytes, r->file->bytes))
			return pte_bad(r, t.at, "segment %u, %" PRIu64 " bytes at %" PRIu64 " behind %" PRIu64
				       ", lies outside the file of %zu bytes", i, bytes, offset, p->segment_base,
				       r->file->bytes);
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
		return pte_bad(r, seg.at,
			       "%u constants in constant_segment and %u in constant_buffer, only one may hold any",
			       offset.n, buffer.n);
	p->inline_constants = buffer.n > 0 && !offset.n;
	if (p->inline_constants) {
		p->constant = read_byte_tables(r, &buffer);
		p->nconstants = (int)buffer.n;
		return fb_ok(&r->fb);
	}
	if (offset.n > 1 && p->constant_segment >= (uint32_t)p->nsegments)
		return pte_bad(r, seg.at, "constants in segment %u, the program has %d", p->constant_segment,
			       p->nsegments);
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
			return pte_bad(r, t.at, "named data %u in segment %u, the program has %d", i, n->segment,
				       p->nsegments);
		n->data = p->segment[n->segment];
		if (!map_get(&p->named_by_key, n->key, n->key_bytes))
			map_put(&p->named_by_key, r->mem, n->key, n->key_bytes, n);
	}
	return fb_ok(&r->fb);
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
	if (!read_segments(r, program) || !read_constants(r, program) || !read_mutable(r, program)
	    || !read_named(r, program))
		return false;
	r->inline_data = read_byte_tables(r, &inline_data);
	r->ninline = (int)inline_data.n;
	p->plan = fb_array(&plans, r->mem, sizeof *p->plan);
	p->nplans = (int)plans.n;
	for (uint32_t i = 0; fb_ok(&r->fb) && i < plans.n; i++)
		if (!pte_read_plan(r, &p->plan[i], fb_table_at(&plans, i)))
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
		return error_set(err, ERROR_FORMAT, "%s: offset 0: %zu bytes, a program has at least %d", f->path,
				 f->bytes, PROGRAM_LEAST);
	return read_header(pte, f, err)
		&& fb_open(&r.fb, f->data, (size_t)pte->program_bytes, 0, f->path, "ET12", &program, err)
		&& read_program(&r, &program);
}

const struct pte_named *pte_named_find(const struct pte *pte, const char *key, size_t bytes)
{
	return map_get(&pte->named_by_key, key, bytes);
}
