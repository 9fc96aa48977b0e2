/* pieces.h - the segment area of a .pte or .ptd while it is put together: what is stored where, equal bytes once.
 *
 * Offsets count from the start of the area. Nothing is copied: pieces point to the spans given. */
#ifndef CORE_FORMAT_PIECES_H
#define CORE_FORMAT_PIECES_H

#include "core/base/same.h"
#include "core/format/fb.h"
#include "core/format/pte.h"

enum { SEGMENT_ALIGN = 128, CONSTANT_ALIGN = 16 };

struct pieces {
	struct arena mem;
	vec(struct file_piece) piece;
	uint64_t bytes;
	struct same same;	/* bytes -> where they are */
};

/* Where the span is stored: at a multiple of CONSTANT_ALIGN, which is all that readers of segments ask for. It is
 * added, at a multiple of align, unless equal bytes were placed already. */
uint64_t pieces_place(struct pieces *p, struct span s, size_t align);
/* Adds it in any case; not to be found again. */
uint64_t pieces_append(struct pieces *p, struct span s, size_t align);
/* Zeros up to the next multiple of align. */
void pieces_pad(struct pieces *p, size_t align);

/* The file: tables (from the builder, which is emptied), padding, pieces. */
void pieces_output(struct pte_output *out, struct fbb *b, const uint8_t *tables, size_t bytes, struct pieces *p);
void pieces_free(struct pieces *p);

#endif
