#include "core/op/op.h"

#include <string.h>

/* The families, in the order in which they are listed. */
#define FAMILIES(X) \
	X(unary) X(binary) X(compare) X(reduce) X(view) X(shape) X(join) X(pad) X(index) X(advanced) X(mask) \
	X(sort) X(factory) X(gemm) X(convolution) X(convolution_backward) X(pool) X(resize) X(grid) X(softmax) \
	X(norm) X(distance) X(fft) X(quant) X(qparams) X(qmixed) X(attention) X(scalar) X(custom)

#define DECLARE(name) extern const struct op op_##name[];
FAMILIES(DECLARE)

#define LIST(name) op_##name,
const struct op *const op_families[] = { FAMILIES(LIST) NULL };

const struct op *op_find(const char *name)
{
	for (const struct op *const *f = op_families; *f; f++)
		for (const struct op *o = *f; o->name; o++)
			if (!strcmp(o->name, name))
				return o;
	return NULL;
}

const struct op *op_find_kernel(const char *kernel_name)
{
	for (const struct op *const *f = op_families; *f; f++)
		for (const struct op *o = *f; o->name; o++)
			if (o->kernel_name && !strcmp(o->kernel_name, kernel_name))
				return o;
	return NULL;
}

const struct op *op_opaque(struct arena *a, const char *kernel_name)
{
	struct op *o = arena_alloc(a, sizeof *o);

	o->name = o->kernel_name = arena_string(a, kernel_name);
	o->schema = ">";
	o->args = "";
	o->flags = OP_OPAQUE;
	return o;
}

int op_nargs(const struct op *op)
{
	return (int)strcspn(op->schema, ">");
}

int op_nouts(const struct op *op)
{
	return (int)strlen(op->schema) - op_nargs(op) - 1;
}

char op_arg_kind(const struct op *op, int i)
{
	return i >= 0 && i < op_nargs(op) ? op->schema[i] : '\0';
}

int op_arg(const struct op *op, const char *name)
{
	size_t n = strlen(name);
	int i = 0;

	for (const char *s = op->args; *s; i++) {
		size_t len = strcspn(s, "!, ");

		if (len == n && !strncmp(s, name, n))
			return i;
		s += len;
		s += strspn(s, "!, ");
	}
	return -1;
}

int op_options_arg(const struct op *op)
{
	return op_arg(op, "pin_memory") >= 0 ? op_arg(op, "dtype") : -1;
}

bool op_writes(const struct op *op, int i)
{
	const char *s = op->args;

	if (!(op->flags & OP_MUTATES))
		return false;
	if (!strchr(s, '!'))
		return i == 0;
	for (; i > 0 && s; i--)
		s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL;
	return s && s[strcspn(s, "!,")] == '!';
}

bool op_is(const struct op *op, const char *name)
{
	return !strcmp(op->name, name);
}

bool op_is_pure(const struct op *op)
{
	return !(op->flags & (OP_RANDOM | OP_MUTATES | OP_OPAQUE));
}

/* The names that the schemas of GEMM rows give these arguments. */
static int first_arg(const struct op *op, const char *const *names)
{
	for (; op->flags & OP_GEMM && *names; names++)
		if (op_arg(op, *names) >= 0)
			return op_arg(op, *names);
	return -1;
}

int op_activation_arg(const struct op *op)
{
	return first_arg(op, (const char *const[]){ "mat1", "input", NULL });
}

int op_weight_arg(const struct op *op)
{
	return first_arg(op, (const char *const[]){ "weight", "mat2", NULL });
}

int op_bias_arg(const struct op *op)
{
	return first_arg(op, (const char *const[]){ "bias", NULL });
}

void tensor_set_strides(struct tensor *t)
{
	uint64_t step = 1;	/* of sizes that nobody has checked yet: wraps */

	for (int i = t->rank - 1; i >= 0; i--) {
		t->stride[t->dim_order[i]] = (int64_t)step;
		step *= (uint64_t)t->size[t->dim_order[i]];
	}
}

int64_t tensor_numel(const struct tensor *t)
{
	return dtype_numel(t->rank, t->size);
}

bool tensor_is_default_order(const struct tensor *t)
{
	for (int d = 0; d < t->rank; d++)
		if (t->dim_order[d] != d)
			return false;
	return true;
}

void tensor_set_type(struct tensor *t, enum dtype dtype, int rank, const int64_t *size)
{
	t->dtype = dtype;
	t->rank = rank;
	for (int d = 0; d < rank; d++) {
		t->size[d] = size[d];
		t->dim_order[d] = (uint8_t)d;
	}
	tensor_set_strides(t);
}

void tensor_type_print(const struct tensor *t, struct str *s)
{
	str_addf(s, "%s[", dtype_name(t->dtype));
	for (int d = 0; d < t->rank; d++)
		str_addf(s, "%s%lld", d ? "," : "", (long long)t->size[d]);
	str_add(s, "]");
}

void tensor_set_like(struct tensor *t, const struct tensor *like)
{
	t->dtype = like->dtype;
	t->rank = like->rank;
	memcpy(t->size, like->size, sizeof t->size);
	memcpy(t->dim_order, like->dim_order, sizeof t->dim_order);
	tensor_set_strides(t);
}
