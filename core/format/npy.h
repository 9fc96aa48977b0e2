/* npy.h - NumPy array files, format versions 1 to 3, little-endian, C order ('fortran_order': False). */
#ifndef CORE_FORMAT_NPY_H
#define CORE_FORMAT_NPY_H

#include "core/base/dtype.h"
#include "core/format/file.h"

struct npy {
	enum dtype dtype;
	int rank;
	int64_t size[MAX_RANK];
	const uint8_t *data;	/* in the file */
	size_t bytes;
};

bool npy_read(struct npy *a, const struct file *f, struct error *err);
bool npy_write(const char *path, enum dtype t, int rank, const int64_t *size, const void *data, struct error *err);

#endif
