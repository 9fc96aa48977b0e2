#include "core/op/plain.h"

#include "core/base/num.h"

#include <string.h>

size_t kind_bytes(enum kind k)
{
	return dtype_bytes(kind_dtype(k));
}

void *plain_scratch(struct call *c, int64_t count, size_t bytes_each, struct error *err)
{
	size_t bytes = 0;
	void *mem = NULL;

	if (count >= 0 && size_mul((size_t)count, bytes_each, &bytes))
		mem = arena_try(c->scratch, bytes ? bytes : 1);
	if (!mem)
		error_set(err, ERROR_MEMORY, "%s: no memory for %lld elements of scratch", c->op->name, (long long)count);
	return mem;
}

void *plain_alloc(struct call *c, enum kind k, int64_t count, struct error *err)
{
	return plain_scratch(c, count, kind_bytes(k), err);
}

/* The plain form of a tensor: its sizes, in the kind's type and the default order. */
static struct tensor plain_form(const struct tensor *t, enum kind k, void *data)
{
	struct tensor p = { .data = data };

	tensor_set_type(&p, kind_dtype(k), t->rank, t->size);
	return p;
}

/* Dimensions of one element may stand anywhere in the order without a byte moving. */
static bool is_plain(const struct tensor *t, enum kind k)
{
	struct tensor p = plain_form(t, k, NULL);

	for (int d = 0; d < t->rank; d++)
		if (t->size[d] != 1 && t->stride[d] != p.stride[d])
			return false;
	return t->dtype == p.dtype;
}

const void *plain_read(struct call *c, const struct tensor *t, enum kind k, struct error *err)
{
	int64_t n = tensor_numel(t);
	struct tensor p;

	if (n && is_plain(t, k))
		return t->data;
	p = plain_form(t, k, plain_alloc(c, k, n, err));
	if (p.data && n)
		tensor_copy(&p, t);
	return p.data;
}

void *plain_out(struct call *c, struct tensor *t, enum kind k, struct error *err)
{
	return tensor_numel(t) && is_plain(t, k) ? t->data : plain_alloc(c, k, tensor_numel(t), err);
}

void plain_store(struct tensor *t, enum kind k, void *data)
{
	struct tensor p = plain_form(t, k, data);

	if (data != t->data && tensor_numel(t))
		tensor_copy(t, &p);
}

static bool is_channels_last(const struct tensor *t)
{
	if (t->rank < 3 || t->dim_order[0] != 0 || t->dim_order[t->rank - 1] != 1)
		return false;
	for (int d = 1; d < t->rank - 1; d++)
		if (t->dim_order[d] != d + 1)
			return false;
	return true;
}

bool call_image_order(const struct call *c, int i, struct error *err)
{
	const struct tensor *t = call_tensor(c, i);

	return tensor_is_default_order(t) || is_channels_last(t) ||
	       call_fail(c, err, "argument %d is neither in the default dim order nor channels last", i);
}
