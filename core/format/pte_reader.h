/* pte_reader.h - what the files of the program reader share: pte_read.c (container, segments,
 * data), pte_plan.c (a method) and pte_values.c (its values). */
#ifndef CORE_FORMAT_PTE_READER_H
#define CORE_FORMAT_PTE_READER_H

#include "core/format/fb.h"
#include "core/format/pte.h"

struct pte_reader {
	const struct file *file;
	struct arena *mem;
	struct pte *pte;
	struct fb fb;
	uint32_t mutable_segment;
	struct fb_vector mutable_offset;	/* of mutable_data_segments[0] */
	struct span *inline_data;		/* backend_delegate_data */
	int ninline;
	/* Where we are, for messages: "method forward: value 12: ". */
	const char *method;
	const char *part;
	int number;
};

/* Fails with the place in front. Returns false. */
bool pte_bad(struct pte_reader *r, size_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

bool pte_read_plan(struct pte_reader *r, struct pte_plan *plan, struct fb_table t);

/* Reads plan->value; plan->buffer_bytes must be there. */
bool pte_read_values(struct pte_reader *r, struct pte_plan *plan, struct fb_table *plan_table);

/* A vector of i32 copied, each least <= item < limit. `items` says what they are, for the message. */
int32_t *pte_read_indices(struct pte_reader *r, const struct fb_vector *v, int32_t least, int32_t limit,
			  const char *items);

#endif
