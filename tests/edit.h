/* edit.h - damage to flatbuffers, for tests: a table is found by its path, then one field of it is changed. New
 * vtables go behind the end, so nothing else moves. The bytes are the test's own; edit_free frees them. */
#ifndef TESTS_EDIT_H
#define TESTS_EDIT_H

#include "core/format/file.h"
#include "core/format/pte.h"

enum { CHILD = -1, END = -2, MAX_PATH = 16 };

struct edit {
	uint8_t *data;
	size_t bytes;
};

enum edit_kind {
	EDIT_DROP,	/* the field is absent */
	EDIT_SET,	/* a scalar field that is stored gets `value`, `width` bytes */
	EDIT_ALIAS,	/* a field that is absent reads the bytes of field `value`, which are not its default */
	EDIT_ITEM,	/* element `index` of a vector field gets `value`, `width` bytes */
	EDIT_COUNT,	/* the count of a vector field or string becomes `value` */
	EDIT_REF,	/* the offset of a table, vector or string field becomes `value` */
	EDIT_SOFF,	/* the table's own offset to its vtable becomes `value` */
	EDIT_VTABLE,	/* the size of its vtable becomes `value` */
	EDIT_SIZE,	/* the table size in its vtable becomes `value` */
	EDIT_FIELD,	/* the place of the field in the table becomes `value` */
};

struct damage {
	const char *error;	/* what the message must contain */
	int path[MAX_PATH];	/* field, index or CHILD, field, ..., END; from the root */
	enum edit_kind kind;
	int field, index, width;
	int64_t value;
};

/* Rows are written { error, { path, END }, DROP(field) }. */
#define DROP(f) EDIT_DROP, .field = f
#define SET(f, w, v) EDIT_SET, .field = f, .width = w, .value = v
#define ALIAS(f, other) EDIT_ALIAS, .field = f, .value = other
#define ITEM(f, i, w, v) EDIT_ITEM, .field = f, .index = i, .width = w, .value = v
#define COUNT(f, v) EDIT_COUNT, .field = f, .value = v
#define REF(f, v) EDIT_REF, .field = f, .value = v

void edit_open(struct edit *e, const uint8_t *data, size_t bytes);	/* copies a flatbuffer */
void edit_apply(struct edit *e, const struct damage *d);
void edit_free(struct edit *e);

/* A program or data file around other tables: header, segments moved behind them. Free with edit_free. */
struct edit edit_rebuild_pte(const struct file *f, const struct pte *p, const struct edit *tables);

/* The output of a writer as one block. */
struct edit output_bytes(struct pte_output *out);

#endif
