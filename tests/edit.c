#include "tests/edit.h"

#include "core/base/num.h"
#include "tests/tap.h"

#include <stdlib.h>

static uint32_t get32(const struct edit *e, size_t at)
{
	uint32_t v;

	assert_true(at + 4 <= e->bytes);
	memcpy(&v, e->data + at, 4);
	return v;
}

static uint16_t get16(const struct edit *e, size_t at)
{
	uint16_t v;

	assert_true(at + 2 <= e->bytes);
	memcpy(&v, e->data + at, 2);
	return v;
}

static void set(struct edit *e, size_t at, int64_t v, size_t width)
{
	assert_true(at + width <= e->bytes);
	memcpy(e->data + at, &v, width);
}

static size_t vtable_of(const struct edit *e, size_t table)
{
	return table - (size_t)(int64_t)(int32_t)get32(e, table);
}

/* Where the field lies, or 0. */
static size_t field_at(const struct edit *e, size_t table, int field)
{
	size_t vtable = vtable_of(e, table), slot = 4 + 2 * (size_t)field;
	uint16_t v = slot < get16(e, vtable) ? get16(e, vtable + slot) : 0;

	return v ? table + v : 0;
}

static size_t follow(const struct edit *e, size_t at)
{
	assert_int_not_equal(at, 0);
	return at + get32(e, at);
}

static size_t find(const struct edit *e, const int *path)
{
	size_t table = get32(e, 0);

	for (; path[0] != END; path += 2) {
		size_t to = follow(e, field_at(e, table, path[0]));

		if (path[1] != CHILD) {
			assert_true((uint32_t)path[1] < get32(e, to));
			to = follow(e, to + 4 + 4 * (size_t)path[1]);
		}
		table = to;
	}
	return table;
}

/* Gives the table a vtable of its own with room for the field; returns where the field's entry is. */
static size_t own_vtable(struct edit *e, size_t table, int field)
{
	size_t old = vtable_of(e, table), n = get16(e, old), more = 4 + 2 * ((size_t)field + 1);
	size_t at = size_align(e->bytes, 8), whole = more > n ? more : n;

	e->data = realloc(e->data, at + size_align(whole, 8));
	memset(e->data + e->bytes, 0, at + size_align(whole, 8) - e->bytes);
	e->bytes = at + size_align(whole, 8);
	memcpy(e->data + at, e->data + old, n);
	set(e, at, (int64_t)whole, 2);
	set(e, table, (int64_t)table - (int64_t)at, 4);
	return at + 4 + 2 * (size_t)field;
}

void edit_open(struct edit *e, const uint8_t *data, size_t bytes)
{
	e->data = malloc(bytes);
	memcpy(e->data, data, bytes);
	e->bytes = bytes;
}

void edit_apply(struct edit *e, const struct damage *d)
{
	size_t table = find(e, d->path), at;

	switch (d->kind) {
	case EDIT_DROP:
		set(e, own_vtable(e, table, d->field), 0, 2);
		break;
	case EDIT_ALIAS:
		assert_int_equal(field_at(e, table, d->field), 0);
		at = field_at(e, table, (int)d->value);
		assert_int_not_equal(at, 0);
		set(e, own_vtable(e, table, d->field), (int64_t)(at - table), 2);
		break;
	case EDIT_SET:
		assert_int_not_equal(field_at(e, table, d->field), 0);
		set(e, field_at(e, table, d->field), d->value, (size_t)d->width);
		break;
	case EDIT_ITEM:
		at = follow(e, field_at(e, table, d->field));
		assert_true((uint32_t)d->index < get32(e, at));
		set(e, at + 4 + (size_t)d->index * (size_t)d->width, d->value, (size_t)d->width);
		break;
	case EDIT_COUNT:
		set(e, follow(e, field_at(e, table, d->field)), d->value, 4);
		break;
	case EDIT_REF:
		assert_int_not_equal(field_at(e, table, d->field), 0);
		set(e, field_at(e, table, d->field), d->value, 4);
		break;
	case EDIT_SOFF:
		set(e, table, d->value, 4);
		break;
	case EDIT_VTABLE:
		set(e, own_vtable(e, table, 0) - 4, d->value, 2);
		break;
	case EDIT_SIZE:
		set(e, own_vtable(e, table, 0) - 2, d->value, 2);
		break;
	case EDIT_FIELD:
		set(e, own_vtable(e, table, d->field), d->value, 2);
		break;
	}
}

void edit_free(struct edit *e)
{
	free(e->data);
	e->data = NULL;
}

struct edit edit_rebuild_pte(const struct file *f, const struct pte *p, const struct edit *tables)
{
	size_t from = (size_t)p->segment_base, base = size_align(tables->bytes, 128);
	size_t rest = p->has_header ? f->bytes - from : 0;
	struct edit out = { calloc(1, base + rest), p->has_header ? base + rest : tables->bytes };

	memcpy(out.data, tables->data, tables->bytes);
	if (p->has_header) {
		memcpy(out.data + base, f->data + from, rest);
		set(&out, 16, (int64_t)tables->bytes, 8);
		set(&out, 24, (int64_t)base, 8);
	}
	return out;
}

struct edit output_bytes(struct pte_output *out)
{
	struct edit e = { malloc(out->bytes ? out->bytes : 1), 0 };

	for (int i = 0; i < out->npieces; i++) {
		memcpy(e.data + e.bytes, out->piece[i].data, out->piece[i].bytes);
		e.bytes += out->piece[i].bytes;
	}
	assert_int_equal(e.bytes, out->bytes);
	return e;
}
