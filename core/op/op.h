/* op.h - the op table: everything we know of an operator, one row each.
 *
 * A row stands in core/op/<family>.c and nowhere else. It is named as in the edge dialect
 * ("aten.add.Tensor"); `kernel_name` is the out-variant that a file calls ("aten::add.out"). Arguments are
 * those of the functional schema, in its order, every default written out; a file's call has the out arguments
 * and the return slot behind them.
 *
 * The schema string, one letter an argument, '>' and one letter a result:
 *   T tensor   t optional tensor   L list of tensors   l list of optional tensors   S scalar (int, float, bool)
 *   s optional scalar   I int   i optional int   D float   B bool   b optional bool   A int list (or optional)
 *   F optional float list   Z string   M memory format, dtype, layout or device (an int or none)   ? optional float
 *   results: T tensor   N run-time number (symbolic size, item())   L list of tensors: shape sets the call's nouts,
 *   and new outs when the caller gave another number of them (a run then fails)
 *
 * shape computes the type of each output from the arguments: dtype, rank, sizes, dim order. It is used on
 * upper bounds when a graph is built and on actual sizes when it runs, and checks all arguments (so a kernel
 * may trust them). kernel computes; outputs have memory for the sizes that shape gave. Both are pure functions
 * of the call and fail with one sentence. Semantics are those of ExecuTorch's portable kernels. */
#ifndef CORE_OP_OP_H
#define CORE_OP_OP_H

#include "core/graph/graph.h"

/* A tensor at run time. Dense: strides follow from sizes and dim order. */
struct tensor {
	enum dtype dtype;
	int rank;
	int64_t size[MAX_RANK];
	uint8_t dim_order[MAX_RANK];
	int64_t stride[MAX_RANK];	/* in elements, derived: tensor_set_strides */
	void *data;			/* NULL while only shapes are computed */
	size_t capacity;		/* bytes behind data */
};

void tensor_set_strides(struct tensor *t);
int64_t tensor_numel(const struct tensor *t);
bool tensor_is_default_order(const struct tensor *t);
/* Sets dtype, rank, sizes and the default dim order. */
void tensor_set_type(struct tensor *t, enum dtype dtype, int rank, const int64_t *size);
void tensor_set_like(struct tensor *t, const struct tensor *like);	/* dtype, sizes and dim order of another */
void tensor_type_print(const struct tensor *t, struct str *s);	/* "f32[1,1024,500]" */

/* An argument at run time: as struct arg, with tensors for values and numbers for run-time scalars. */
struct operand {
	enum arg_kind kind;	/* ARG_VALUE: a tensor */
	union {
		struct tensor *tensor;
		int64_t i;
		double d;
		bool b;
		const char *s;
		struct { struct operand *at; int n; } list;
	};
};

struct call {
	const struct op *op;
	struct operand *arg;
	int nargs;
	struct tensor **out;	/* 'N' results are rank-0 tensors of i64, f64 or bool */
	int nouts;
	bool dynamic;		/* set by shape: sizes depend on the elements of inputs, too */
	struct arena *scratch;	/* emptied after the call */
	uint64_t *seed;		/* state of the random operators */
};

typedef bool call_fn(struct call *c, struct error *err);

enum op_flag {
	OP_ELEMENTWISE = 1,	/* out[i] depends on in[i] only (after broadcasting): layout may move through it */
	OP_VIEW = 2,		/* same bytes, other sizes: may be elided when planning memory */
	OP_FACTORY = 4,		/* makes a tensor from numbers alone */
	OP_RANDOM = 8,		/* never folded, never merged */
	OP_MUTATES = 16,	/* writes state: the arguments that op_writes names; may have results as well */
	OP_QUANTIZE = 32,	/* (de)quantise or choose qparams: never folded */
	OP_OPAQUE = 64,		/* unknown operator, foreign delegate, control flow: shown, kept, not run */
	OP_CHECK = 128,		/* only checks: no result that matters */
	OP_GEMM = 256,		/* has a weight position: linear, convolution, addmm, mm, bmm */
};

/* Sets of dtypes: a bit each, the last for INT4. */
#define DTYPE_BIT(t) (UINT32_C(1) << ((t) == DTYPE_INT4 ? 31 : (t)))
#define DTYPES(a, b) (DTYPE_BIT(DTYPE_##a) | DTYPE_BIT(DTYPE_##b))
#define DTYPES_FLOAT (DTYPES(F16, BF16) | DTYPES(F32, F64))
#define DTYPES_INT (DTYPES(U8, I8) | DTYPES(I16, I32) | DTYPE_BIT(DTYPE_I64))
#define DTYPES_BOOL DTYPE_BIT(DTYPE_BOOL)
#define DTYPES_UNSIGNED (DTYPES(U16, U32) | DTYPE_BIT(DTYPE_U64))	/* only copied */
#define DTYPES_COMPLEX (DTYPES(C32, C64) | DTYPE_BIT(DTYPE_C128))
#define DTYPES_QUANTIZED (DTYPES(U8, I8) | DTYPES(I16, U16) | DTYPE_BIT(DTYPE_I32))	/* what values are quantised to */
#define DTYPES_REAL (DTYPES_FLOAT | DTYPES_INT)
#define DTYPES_REALB (DTYPES_REAL | DTYPES_BOOL)
#define DTYPES_INTB (DTYPES_INT | DTYPES_BOOL)
#define DTYPES_ALL (DTYPES_REALB | DTYPES_UNSIGNED | DTYPES_COMPLEX)
#define DTYPES_ANY UINT32_MAX	/* nothing looks at the elements */

bool dtype_in(enum dtype t, uint32_t set);

struct op {
	const char *name;		/* "aten.add.Tensor" */
	const char *kernel_name;	/* "aten::add.out"; NULL when no stock kernel takes it */
	const char *schema;		/* "TTS>T" */
	const char *args;		/* "self, other, alpha"; "cache!" is state that is written; no mark: argument 0 is */
	uint32_t dtypes;		/* of the first tensor argument, or list of them; 0: there is none */
	unsigned flags;
	call_fn *shape;			/* NULL only for opaque rows */
	call_fn *kernel;		/* NULL: no kernel here */
};

/* The families, in the order --list-ops prints them. Each ends with an empty row. */
extern const struct op *const op_families[];	/* NULL-terminated */

const struct op *op_find(const char *name);			/* by edge name; NULL if unknown */
const struct op *op_find_kernel(const char *kernel_name);	/* by "aten::add.out" */
/* A row for an operator we do not know, in the arena; results are taken from the call in the file. */
const struct op *op_opaque(struct arena *a, const char *kernel_name);

int op_nargs(const struct op *op);
int op_nouts(const struct op *op);
char op_arg_kind(const struct op *op, int i);
/* Index of the argument with this name ("weight"), or -1. */
int op_arg(const struct op *op, const char *name);
/* Where the four arguments dtype, layout, device, pin_memory start, or -1. Only the functional form has them: a file's
 * call leaves them out, and its kernel takes the dtype from the out tensor. */
int op_options_arg(const struct op *op);
bool op_writes(const struct op *op, int i);	/* argument i of a mutating row is written */
bool op_is(const struct op *op, const char *name);
bool op_is_pure(const struct op *op);	/* no random, mutating or opaque row */

/* GEMM rows: argument numbers of activation, weight and bias, -1 where there is none. */
int op_activation_arg(const struct op *op);
int op_weight_arg(const struct op *op);
int op_bias_arg(const struct op *op);

/* Computes the output types of a node by its row's shape and sets (or makes) its outputs accordingly.
 * The outputs are dynamic if any input is. */
bool op_infer(struct graph *g, struct node *n, struct error *err);
/* graph_node + op_infer; the usual way for a pass to make a node. Returns its first output, NULL on failure. */
struct value *op_build(struct graph *g, struct node *before, const char *name, const struct arg *arg, int nargs,
		       struct error *err);

#endif
