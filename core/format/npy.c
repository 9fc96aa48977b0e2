#include "core/format/npy.h"

#include "core/base/num.h"
#include "core/base/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* bf16 has no descr of its own: it is written as raw 2-byte items, as ml_dtypes does. */
static const struct { char descr[4]; enum dtype type; } descrs[] = {
	{ "<f4", DTYPE_F32 }, { "<f8", DTYPE_F64 }, { "<f2", DTYPE_F16 }, { "<i8", DTYPE_I64 }, { "<i4", DTYPE_I32 },
	{ "<i2", DTYPE_I16 }, { "|i1", DTYPE_I8 }, { "|u1", DTYPE_U8 }, { "|b1", DTYPE_BOOL }, { "<u2", DTYPE_U16 },
	{ "<u4", DTYPE_U32 }, { "<u8", DTYPE_U64 }, { "<V2", DTYPE_BF16 }, { "|V2", DTYPE_BF16 },
};

struct header { const struct file *f; const char *text; size_t at, end; struct error *err; };

static bool bad(const struct header *h, const char *what)
{
	return error_set(h->err, ERROR_FORMAT, "%s: offset %zu: %s", h->f->path, h->at, what);
}

/* Points h->at behind "'KEY':" and the blanks that follow; false when the key is not there. */
static bool find_key(struct header *h, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = h->at; i + n + 3 <= h->end; i++)
		if (h->text[i] == '\'' && !memcmp(h->text + i + 1, key, n) && !memcmp(h->text + i + 1 + n, "':", 2)) {
			for (h->at = i + n + 3; h->at < h->end && h->text[h->at] == ' ';)
				h->at++;
			return true;
		}
	return bad(h, "the header lacks descr, fortran_order or shape");
}

static bool starts(const struct header *h, const char *s)
{
	size_t n = strlen(s);

	return size_inside(h->at, n, h->end) && !memcmp(h->text + h->at, s, n);
}

static bool read_descr(struct header *h, struct npy *a)
{
	if (!find_key(h, "descr"))
		return false;
	for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++)
		if (h->at + 5 <= h->end && h->text[h->at] == '\'' && !memcmp(h->text + h->at + 1, descrs[i].descr, 3)
		    && h->text[h->at + 4] == '\'') {
			a->dtype = descrs[i].type;
			return true;
		}
	return bad(h, "dtype is none of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 V2 (bf16), little-endian");
}

static bool read_size(struct header *h, int64_t *size)
{
	size_t first = h->at;

	for (*size = 0; h->at < h->end && h->text[h->at] >= '0' && h->text[h->at] <= '9'; h->at++)
		if (__builtin_mul_overflow(*size, 10, size)
		    || __builtin_add_overflow(*size, h->text[h->at] - '0', size))
			return bad(h, "size does not fit in 64 bits");
	return h->at > first || bad(h, "shape is no tuple of sizes");
}

static bool read_shape(struct header *h, struct npy *a)
{
	if (!find_key(h, "shape"))
		return false;
	if (!starts(h, "("))
		return bad(h, "shape is no tuple");
	for (h->at++; !starts(h, ")");) {
		if (a->rank == MAX_RANK)
			return bad(h, "more than 16 dimensions");
		if (!read_size(h, &a->size[a->rank++]))
			return false;
		while (starts(h, ",") || starts(h, " "))
			h->at++;
	}
	return true;
}

bool npy_read(struct npy *a, const struct file *f, struct error *err)
{
	struct header h = { .f = f, .text = (const char *)f->data, .err = err };
	size_t wide = f->bytes > 6 && f->data[6] == 1 ? 2 : 4, start, bytes, length = 0;

	*a = (struct npy){ 0 };
	if (file_kind(f->data, f->bytes) != FILE_NPY)
		return file_not(f, "a NumPy array (.npy)", err);
	if (f->bytes < 8 + wide || f->data[6] < 1 || f->data[6] > 3)
		return error_set(err, ERROR_FORMAT, "%s: offset 6: format version is not 1, 2 or 3", f->path);
	memcpy(&length, f->data + 8, wide);
	if (!size_inside(8 + wide, length, f->bytes))
		return error_set(err, ERROR_FORMAT, "%s: offset 8: header of %zu bytes in a file of %zu", f->path,
				 length, f->bytes);
	start = h.end = 8 + wide + length;
	h.at = 8 + wide;
	if (!read_descr(&h, a))
		return false;
	h.at = 8 + wide;
	if (!find_key(&h, "fortran_order") || !starts(&h, "False"))
		return bad(&h, "fortran_order must be False");
	h.at = 8 + wide;
	if (!read_shape(&h, a))
		return false;
	if (!dtype_tensor_bytes(a->dtype, a->rank, a->size, &bytes) || bytes > f->bytes - start)
		return error_set(err, ERROR_FORMAT, "%s: offset %zu: %zu bytes of data are fewer than the shape needs",
				 f->path, start, f->bytes - start);
	a->data = f->data + start;
	a->bytes = bytes;
	return true;
}

bool npy_write(const char *path, enum dtype t, int rank, const int64_t *size, const void *data, struct error *err)
{
	struct str s = { 0 };
	size_t bytes, i = 0;
	bool ok;

	while (i < sizeof descrs / sizeof *descrs && descrs[i].type != t)
		i++;
	if (i == sizeof descrs / sizeof *descrs || !dtype_tensor_bytes(t, rank, size, &bytes))
		return error_set(err, ERROR_UNSUPPORTED, "%s: %s tensors have no NumPy form", path, dtype_name(t));
	str_addn(&s, "\x93NUMPY\1\0\0\0", 10);
	str_addf(&s, "{'descr': '%s', 'fortran_order': False, 'shape': (", descrs[i].descr);
	for (int d = 0; d < rank; d++)
		str_addf(&s, "%s%" PRId64 "%s", d ? " " : "", size[d], d < rank - 1 || rank == 1 ? "," : "");
	str_add(&s, "), }");
	while ((s.n + 1) % 64)
		str_add(&s, " ");
	str_add(&s, "\n");
	s.text[8] = (char)((s.n - 10) & 255);
	s.text[9] = (char)((s.n - 10) >> 8);
	ok = file_write_pieces(path, (struct file_piece[]){ { s.text, s.n }, { data, bytes } }, 2, true, err);
	str_free(&s);
	return ok;
}
