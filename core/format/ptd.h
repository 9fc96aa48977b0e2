/* ptd.h - a FlatTensor data file (.ptd): named tensors outside the program.
 *
 *   0   u32 root table offset, "FT01"
 *   8   header: "FH01", u32 length >= 40, u64 offset of tables (48), u64 their bytes, u64 segment base,
 *       u64 segment bytes
 *   ..  flatbuffer (schema flat_tensor.fbs), then segments, each on 128
 *
 * The flatbuffer starts at byte 0, the header lies inside it. Keys and bytes point into the file. */
#ifndef CORE_FORMAT_PTD_H
#define CORE_FORMAT_PTD_H

#include "core/format/pte.h"

struct ptd_entry {
	const char *key;
	size_t key_bytes;
	struct span data;
	bool has_layout;	/* entries for delegates may have none */
	enum dtype dtype;
	int rank;
	int32_t size[MAX_RANK];
	uint8_t dim_order[MAX_RANK];
};

struct ptd {
	const char *path;
	size_t file_bytes;
	struct ptd_entry *entry;
	int nentries;
	struct map entry_by_key;	/* the first entry of each key */
};

bool ptd_read(struct ptd *ptd, const struct file *f, struct arena *a, struct error *err);
const struct ptd_entry *ptd_find(const struct ptd *ptd, const char *key, size_t bytes);	/* first wins */
bool ptd_write(struct pte_output *out, const struct ptd_entry *entry, int n, struct error *err);

#endif
