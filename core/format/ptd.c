#include "core/format/ptd.h"

#include "core/base/num.h"
#include "core/format/fb.h"
#include "core/format/pieces.h"
#include "core/format/pte_schema.h"

#include <inttypes.h>
#include <string.h>

enum { DATA_VERSION, DATA_SEGMENTS, DATA_NAMED };			/* FlatTensor */
enum { NAMED_LAYOUT = NAMED_SEGMENT + 1 };				/* its NamedData has one field more */
enum { LAYOUT_SCALAR_TYPE, LAYOUT_SIZES, LAYOUT_DIM_ORDER };
enum { PTD_HEADER_LENGTH = 40, PTD_HEADER_PADDED = 48 };

struct header { uint32_t length; uint64_t at, bytes, base, segment_bytes; };

static bool read_header(struct header *h, const struct file *f, struct error *err)
{
	if (f->bytes < PROGRAM_LEAST)
		return error_set(err, ERROR_FORMAT, "%s: offset 0: %zu bytes, a data file has at least %d", f->path,
				 f->bytes, PROGRAM_LEAST);
	if (memcmp(f->data + HEADER_AT, "FH01", 4))
		return error_set(err, ERROR_FORMAT, "%s: offset 8: header is \"%.4s\", not \"FH01\"", f->path,
				 (const char *)f->data + HEADER_AT);
	memcpy(&h->length, f->data + 12, 4);
	memcpy(&h->at, f->data + 16, 8);
	memcpy(&h->bytes, f->data + 24, 8);
	memcpy(&h->base, f->data + 32, 8);
	memcpy(&h->segment_bytes, f->data + 40, 8);
	if (h->length < PTD_HEADER_LENGTH)
		return error_set(err, ERROR_FORMAT, "%s: offset 12: header of %u bytes, at least %d are needed",
				 f->path, h->length, PTD_HEADER_LENGTH);
	if (!size_inside(h->at, h->bytes, f->bytes) || HEADER_AT + (uint64_t)h->length > h->at + h->bytes)
		return error_set(err, ERROR_FORMAT,
				 "%s: offset 16: tables of %" PRIu64 " bytes at %" PRIu64 " in a file of %zu",
				 f->path, h->bytes, h->at, f->bytes);
	if ((h->base && h->base < h->at + h->bytes) || !size_inside(h->base, h->segment_bytes, f->bytes))
		return error_set(err, ERROR_FORMAT, "%s: offset 32: %" PRIu64 " bytes of segments from %" PRIu64
				 " on, behind tables of %" PRIu64 ", in a file of %zu", f->path, h->segment_bytes,
				 h->base,
				 h->at + h->bytes, f->bytes);
	return true;
}

static bool read_layout(struct fb_table *t, struct ptd_entry *e)
{
	struct fb_table layout = fb_child(t, NAMED_LAYOUT);
	struct fb_vector sizes = fb_vector(&layout, LAYOUT_SIZES, 4), order = fb_vector(&layout, LAYOUT_DIM_ORDER, 1);
	int8_t type = fb_i8(&layout, LAYOUT_SCALAR_TYPE, 0);
	int64_t size[MAX_RANK];
	unsigned seen = 0;
	size_t bytes;

	if (!layout.at)
		return true;
	if (type < 0 || type >= DTYPE_CODES || sizes.n > MAX_RANK || order.n != sizes.n)
		return fb_fail(t->fb, layout.at,
			       "scalar type %d, rank %u, dim_order of %u entries; allowed are types to %d, rank to %d",
			       type, sizes.n, order.n, DTYPE_CODES - 1, MAX_RANK);
	e->has_layout = true;
	e->dtype = (enum dtype)type;
	e->rank = (int)sizes.n;
	for (uint32_t d = 0; d < sizes.n; d++) {
		size[d] = e->size[d] = fb_i32_at(&sizes, d);
		e->dim_order[d] = fb_bytes(&order)[d];
		if (e->dim_order[d] < sizes.n)
			seen |= 1u << e->dim_order[d];
	}
	if (seen != (1u << sizes.n) - 1)
		return fb_fail(t->fb, order.at, "dim_order is no permutation of 0 to %d", e->rank - 1);
	if (!dtype_tensor_bytes(e->dtype, e->rank, size, &bytes))
		return fb_fail(t->fb, sizes.at, "sizes are negative or their product does not fit in 64 bits");
	return bytes <= e->data.bytes
		|| fb_fail(t->fb, layout.at, "tensor of %zu bytes in a segment of %zu", bytes, e->data.bytes);
}

static bool read_segment(const struct file *f, const struct header *h, struct fb_table t, struct span *s)
{
	uint64_t offset = fb_u64(&t, SEGMENT_OFFSET, 0), bytes = fb_u64(&t, SEGMENT_SIZE, 0);

	if ((bytes && !h->base) || !size_inside(h->base, offset, f->bytes)
	    || !size_inside(h->base + offset, bytes, f->bytes))
		return fb_fail(t.fb, t.at,
			       "segment of %" PRIu64 " bytes at %" PRIu64 " behind %" PRIu64 " in a file of %zu", bytes,
			       offset, h->base, f->bytes);
	*s = (struct span){ f->data + h->base + offset, (size_t)bytes };
	return true;
}

static bool read_entries(struct ptd *ptd, const struct file *f, const struct header *h, struct fb_table *root,
			 struct arena *a)
{
	struct fb *fb = root->fb;
	struct fb_vector segments = fb_vector(root, DATA_SEGMENTS, 4), named = fb_vector(root, DATA_NAMED, 4);
	struct span *segment;

	if (!fb_vector_there(&segments) || !fb_vector_there(&named) || fb_u32(root, DATA_VERSION, 0))
		return fb_fail(fb, root->at, "version %u %s segments and %s named data, allowed is version 0 with both",
			       fb_u32(root, DATA_VERSION, 0), fb_vector_there(&segments) ? "with" : "without",
			       fb_vector_there(&named) ? "with" : "without");
	segment = fb_array(&segments, a, sizeof *segment);
	ptd->entry = fb_array(&named, a, sizeof *ptd->entry);
	for (uint32_t i = 0; fb_ok(fb) && i < segments.n; i++)
		read_segment(f, h, fb_table_at(&segments, i), &segment[i]);
	for (uint32_t i = 0; fb_ok(fb) && i < named.n; i++) {
		struct fb_table t = fb_table_at(&named, i);
		struct ptd_entry *e = &ptd->entry[ptd->nentries++];
		uint32_t k = fb_u32(&t, NAMED_SEGMENT, 0);

		e->key = fb_name(&t, NAMED_KEY, &e->key_bytes);
		if (!e->key || k >= segments.n)
			return fb_fail(fb, t.at, "entry %u %s in segment %u of %u", i,
				       e->key ? "is" : "has no key and is", k, segments.n);
		e->data = segment[k];
		if (!read_layout(&t, e))
			return false;
		if (!map_get(&ptd->entry_by_key, e->key, e->key_bytes))
			map_put(&ptd->entry_by_key, a, e->key, e->key_bytes, e);
	}
	return fb_ok(fb);
}

bool ptd_read(struct ptd *ptd, const struct file *f, struct arena *a, struct error *err)
{
	struct error unheard;
	struct fb fb;
	struct fb_table root;
	struct header h = { 0 };

	*ptd = (struct ptd){ .path = f->path, .file_bytes = f->bytes };
	err = err ? err : &unheard;
	if (file_kind(f->data, f->bytes) != FILE_PTD)
		return file_not(f, "a data file (.ptd, identifier \"FT01\")", err);
	return read_header(&h, f, err)
		&& fb_open(&fb, f->data, (size_t)(h.at + h.bytes), 0, f->path, "FT01", &root, err)
		&& read_entries(ptd, f, &h, &root, a);
}

const struct ptd_entry *ptd_find(const struct ptd *ptd, const char *key, size_t bytes)
{
	return map_get(&ptd->entry_by_key, key, bytes);
}

static fbref write_layout(struct fbb *b, const struct ptd_entry *e)
{
	fbref sizes = fbb_vector(b, e->size, (size_t)e->rank, 4, 4);
	fbref order = fbb_vector(b, e->dim_order, (size_t)e->rank, 1, 1);

	if (!e->has_layout)
		return 0;
	fbb_put8(b, LAYOUT_SCALAR_TYPE, (uint8_t)e->dtype, 0);
	fbb_putref(b, LAYOUT_SIZES, sizes);
	fbb_putref(b, LAYOUT_DIM_ORDER, order);
	return fbb_end(b);
}

static fbref write_segment(struct fbb *b, uint64_t offset, uint64_t bytes)
{
	fbb_put64(b, SEGMENT_OFFSET, offset, 0);
	fbb_put64(b, SEGMENT_SIZE, bytes, 0);
	return fbb_end(b);
}

/* Each entry has a segment of its own; those of equal bytes lie at the same place. */
static fbref write_tables(struct fbb *b, struct pieces *p, const struct ptd_entry *entry, int n)
{
	fbref *segment = arena_array(&p->mem, (size_t)n, sizeof *segment);
	fbref *named = arena_array(&p->mem, (size_t)n, sizeof *named), segments, entries;

	for (int i = 0; i < n; i++) {
		const struct ptd_entry *e = &entry[i];
		fbref layout = write_layout(b, e), key = fbb_stringn(b, e->key, e->key_bytes);

		segment[i] = write_segment(b, pieces_place(p, e->data, SEGMENT_ALIGN), e->data.bytes);
		fbb_putref(b, NAMED_KEY, key);
		fbb_put32(b, NAMED_SEGMENT, (uint32_t)i, 0);
		fbb_putref(b, NAMED_LAYOUT, layout);
		named[i] = fbb_end(b);
	}
	segments = fbb_refs(b, segment, (size_t)n);
	entries = fbb_refs(b, named, (size_t)n);
	fbb_putref(b, DATA_SEGMENTS, segments);
	fbb_putref(b, DATA_NAMED, entries);
	return fbb_end(b);
}

static bool check_entries(const struct ptd_entry *entry, int n, struct arena *a, struct error *err)
{
	struct map seen = { 0 };

	for (int i = 0; i < n; i++) {
		if (map_get(&seen, entry[i].key, entry[i].key_bytes))
			return error_set(err, ERROR_FORMAT, "two entries of the data file are named %s", entry[i].key);
		map_put(&seen, a, entry[i].key, entry[i].key_bytes, (void *)&entry[i]);
	}
	return true;
}

bool ptd_write(struct pte_output *out, const struct ptd_entry *entry, int n, struct error *err)
{
	struct fbb b = { 0 };
	struct pieces p = { 0 };
	uint32_t length = PTD_HEADER_LENGTH;
	uint64_t field[4] = { PTD_HEADER_PADDED };
	uint8_t *tables;
	size_t bytes;
	bool ok = check_entries(entry, n, &p.mem, err)
		&& fbb_finish(&b, write_tables(&b, &p, entry, n), "FT01", PTD_HEADER_PADDED - HEADER_AT, &tables,
			      &bytes, err);

	if (ok) {
		field[1] = bytes - PTD_HEADER_PADDED;
		field[2] = p.bytes ? size_align(bytes, SEGMENT_ALIGN) : bytes;
		field[3] = p.bytes;
		memcpy(tables + HEADER_AT, "FH01", 4);
		memcpy(tables + HEADER_AT + 4, &length, 4);
		memcpy(tables + HEADER_AT + 8, field, sizeof field);
		pieces_output(out, &b, tables, bytes, &p);
	}
	fbb_free(&b);
	pieces_free(&p);
	return ok;
}
