/* pte.h - an ExecuTorch program (.pte) as structs.
 *
 *   0   u32 root table offset, "ET12"
 *   8   extended header (optional): "eh00", u32 length, u64 program bytes, u64 segment base, u64 segment bytes
 *   ..  program flatbuffer (schema program.fbs, ids as in ExecuTorch 1.5.1)
 *   ..  segments, each at segment base + offset: constants, mutable data, delegate blobs, named data
 *
 * pte_read checks everything a later user relies on: every index, every range, every size product, ranks,
 * dim orders, list payloads; what the stock runtime would crash on or read garbage from is an error here.
 * Strings and bytes point into the file, bytes at any alignment; names are UTF-8 without NUL (the text of a String
 * value may be anything); everything else is in the arena given. All of it may be changed and
 * written again with pte_write. A field is named as in the schema. */
#ifndef CORE_FORMAT_PTE_H
#define CORE_FORMAT_PTE_H

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "core/format/file.h"

struct span { const uint8_t *data; size_t bytes; };

enum pte_tag {
	PTE_NULL = 1, PTE_INT, PTE_BOOL, PTE_DOUBLE, PTE_TENSOR, PTE_STRING, PTE_INT_LIST, PTE_DOUBLE_LIST,
	PTE_BOOL_LIST, PTE_TENSOR_LIST, PTE_OPTIONAL_TENSOR_LIST,
};

enum pte_dynamism { PTE_STATIC = 0, PTE_DYNAMIC_BOUND = 1 };

/* Where a tensor's bytes come from; decided by the rules of the runtime (facts: formats, 1.3). */
enum pte_storage {
	PTE_UNPLANNED,		/* no memory: comes with the input or from an operator */
	PTE_PLANNED,		/* arena memory, undefined at first */
	PTE_CONSTANT,		/* stored bytes: `data` */
	PTE_MUTABLE,		/* arena memory with stored initial bytes: `data` */
	PTE_EXTERNAL,		/* a .ptd holds the bytes, under `name` */
	PTE_EXTERNAL_MUTABLE,
};

struct pte_tensor {
	enum dtype dtype;
	int rank;
	int32_t size[MAX_RANK];		/* upper bounds when dynamic */
	uint8_t dim_order[MAX_RANK];
	uint8_t dynamism;
	bool requires_grad;
	int8_t layout;
	enum pte_storage storage;
	uint32_t data_index;		/* data_buffer_idx; 0: none */
	const uint8_t *data;		/* CONSTANT and MUTABLE: bytes in the file, checked; else NULL */
	size_t bytes;			/* of the whole tensor, from its sizes */
	bool has_allocation;
	uint32_t memory_id;		/* >= 1 */
	uint64_t memory_offset;
	bool has_extra;			/* extra_tensor_info is present: the five fields below */
	uint64_t mutable_segment;	/* mutable_data_segments_idx; the runtime ignores it */
	const char *name;		/* fully_qualified_name, or NULL */
	int8_t location, device_type, device_index;
};

struct pte_value {
	enum pte_tag tag;
	union {
		int64_t i;
		bool b;
		double d;
		struct { const char *at; size_t bytes; } s;
		struct pte_tensor *tensor;
		struct { int32_t *at; int n; } index;	/* INT_LIST, TENSOR_LIST, OPTIONAL_TENSOR_LIST (-1: None) */
		struct { double *at; int n; } doubles;
		struct { uint8_t *at; int n; } bools;
	};
};

enum pte_call { PTE_KERNEL = 1, PTE_DELEGATE, PTE_MOVE, PTE_JUMP_FALSE, PTE_FREE };

struct pte_instruction {
	enum pte_call call;
	int32_t index;	/* KERNEL: operator; DELEGATE: delegate; MOVE: from; JUMP_FALSE: condition; FREE: value */
	int32_t to;		/* MOVE: to; JUMP_FALSE: destination instruction */
	int32_t *arg;		/* KERNEL, DELEGATE: value indices */
	int nargs;
};

struct pte_chain {
	struct pte_instruction *instruction;
	int ninstructions;
};

struct pte_operator { const char *name, *overload; };	/* ("aten::add", "out"); overload may be "" */

struct pte_spec { const char *key; struct span value; };

struct pte_delegate {
	const char *id;		/* "XnnpackBackend" */
	struct span blob;
	bool in_segment;	/* else inline */
	uint32_t index;		/* segment, or entry of backend_delegate_data */
	struct pte_spec *spec;
	int nspecs;
};

struct pte_device { int32_t buffer; int8_t type, index; };

struct pte_plan {
	const char *name;
	const char *input_spec, *output_spec;	/* container_meta_type; may be NULL */
	struct pte_value *value;
	int nvalues;
	int32_t *input, *output;
	int ninputs, noutputs;
	struct pte_chain *chain;
	int nchains;
	struct pte_operator *operator;
	int noperators;
	struct pte_delegate *delegate;
	int ndelegates;
	int64_t *buffer_bytes;			/* non_const_buffer_sizes; entry 0 is reserved */
	int nbuffers;
	struct pte_device *device;
	int ndevices;
	bool has_stacktrace;			/* a chain has one; it is not read, and so lost on writing */
};

struct pte_named { const char *key; size_t key_bytes; struct span data; uint32_t segment; };

struct pte {
	const char *path;
	size_t file_bytes;
	bool has_header;
	uint64_t program_bytes, segment_base, segment_bytes;
	struct pte_plan *plan;
	int nplans;
	struct span *segment;			/* resolved: data in the file */
	int nsegments;
	uint32_t constant_segment;
	uint64_t *constant_offset;		/* of constant_segment; entry 0 is a placeholder */
	int nconstants;				/* 0 or 1: no constants, when not inline */
	bool inline_constants;			/* the old form: constant_buffer */
	struct span *constant;			/* inline form: constant_buffer entries */
	int nmutable;				/* entries of mutable_data_segments[0] */
	struct pte_named *named;
	int nnamed;
	struct map named_by_key;		/* the first entry of each key */
};

/* Reads a mapped file. A file that is something else says what it is. */
bool pte_read(struct pte *pte, const struct file *f, struct arena *a, struct error *err);

/* Named data by key, first entry wins; NULL if not there. */
const struct pte_named *pte_named_find(const struct pte *pte, const char *key, size_t bytes);

/* What pte_write is given: plans as above, in which `data_index` of constants and mutables count into
 * `constant` and `mutable` below (entry 0 a placeholder), delegates' blobs by their bytes, named data by its
 * bytes. Constants, delegate blobs and named data of equal bytes are stored once: a named entry (or blob) that
 * equals a constant lies inside the constant segment. What a tensor is, `storage` says. */
struct pte_image {
	struct pte_plan *plan;
	int nplans;
	struct span *constant;		/* [0] is the placeholder */
	int nconstants;
	struct span *mutable;
	int nmutable;
	struct pte_named *named;	/* key, data */
	int nnamed;
};

/* The image of a program that was read, to be changed and written: it points into PTE. A constant is as long as
 * the largest tensor that uses it; unused ones have no bytes. */
void pte_image(struct pte_image *image, const struct pte *pte, struct arena *a);

/* The written program: header and tables in one block, then pieces (segments and padding) that point into the
 * spans given. Freed with pte_output_free; the pieces only point. */
struct pte_output {
	struct file_piece *piece;
	int npieces;
	size_t bytes;
	void *own;		/* freed by pte_output_free */
};

bool pte_write(struct pte_output *out, const struct pte_image *image, struct error *err);
void pte_output_free(struct pte_output *out);

#endif
