/* Static data of a delegate: filters, biases and scales, in the layout XNNPACK packs from. */
#include "core/xnn/lowering.h"

#include <string.h>

void value_strides(const struct value *v, int64_t *stride)
{
	int64_t step = 1;

	for (int i = v->rank - 1; i >= 0; i--) {
		stride[v->dim_order[i]] = step;
		step *= v->size[v->dim_order[i]];
	}
}

bool layout_is_dense(const struct layout_of *l)
{
	int64_t step = 1;

	for (int d = l->rank - 1; d >= 0; d--) {
		if (l->size[d] != 1 && l->stride[d] != step)
			return false;
		step *= l->size[d];
	}
	return true;
}

#define ROW(T) for (int64_t i = 0; i < n; i++) ((T *)to)[i] = ((const T *)from)[i * step]
static void gather_row(uint8_t *to, const uint8_t *from, int64_t n, int64_t step, size_t each)
{
	if (each == 4)
		ROW(uint32_t);
	else if (each == 2)
		ROW(uint16_t);
	else
		ROW(uint8_t);
}
#undef ROW

static uint8_t *gather(uint8_t *to, const uint8_t *from, const struct layout_of *l, int d, size_t each)
{
	if (d + 1 == l->rank) {
		gather_row(to, from, l->size[d], l->stride[d], each);
		return to + l->size[d] * (int64_t)each;
	}
	for (int64_t i = 0; i < l->size[d]; i++)
		to = gather(to, from + i * l->stride[d] * (int64_t)each, l, d + 1, each);
	return to;
}

bool static_gather(struct xlower *x, const struct value *from, const struct layout_of *l, struct span *out,
		   struct error *err)
{
	uint8_t *to;

	if (!from->data)
		return error_set(err, ERROR_UNSUPPORTED, "the bytes of %s are not at hand (no data file given?)",
				 from->name);
	*out = (struct span){ from->data, from->bytes };
	if (layout_is_dense(l))
		return true;
	to = arena_try(x->mem, from->bytes);
	if (!to)
		return error_set(err, ERROR_MEMORY, "no memory for %zu bytes of %s", from->bytes, from->name);
	*out = (struct span){ to, from->bytes };
	gather(to, from->data, l, 0, dtype_bytes(from->dtype));
	return true;
}

static const char *named(struct xlower *x, const char *prefix, struct span data, int home)
{
	const char *key;

	if (!x->keys)
		return "";
	key = data_key(x->mem, prefix, data.data, data.bytes);
	for (int i = 0; i < x->named.n; i++)
		if (!strcmp(x->named.at[i].key, key))
			return x->named.at[i].key;
	vec_push(x->mem, &x->named, ((struct pte_named){ .key = key, .key_bytes = strlen(key), .data = data }));
	vec_push(x->mem, &x->home, home);
	return key;
}

uint32_t lower_static(struct xlower *x, int home, struct xvalue v)
{
	/* What XNNPACK knows of it decides whether two are the same. */
	struct { const void *data, *scales; float scale; uint32_t dim[XMAX_RANK], rank, datatype; } place;
	uint32_t *at;

	memset(&place, 0, sizeof place);
	place.data = v.data.data;
	place.scales = v.scales.data;
	place.scale = v.scale;
	memcpy(place.dim, v.dim, sizeof place.dim);
	place.rank = (uint32_t)v.rank;
	place.datatype = v.datatype;
	at = map_get(&x->shared, &place, sizeof place);
	if (at)
		return *at;
	v.id = (uint32_t)x->value.n;
	v.external_id = XNONE;
	v.key = named(x, "", v.data, home);
	if (v.scales.data)
		v.scales_key = named(x, "scale_", v.scales, home);
	vec_push(x->mem, &x->value, v);
	at = arena_copy(&x->scratch, &v.id, sizeof v.id);
	map_put(&x->shared, &x->scratch, arena_copy(&x->scratch, &place, sizeof place), sizeof place, at);
	return v.id;
}

static void *copy_space(struct xlower *x, const struct value *from, size_t count, size_t each, struct error *err)
{
	void *to = arena_try(x->mem, count * each);

	if (!to)
		error_set(err, ERROR_MEMORY, "no memory for %zu numbers of %s", count, from->name);
	return to;
}

static bool at_hand(const struct value *v, struct error *err)
{
	return v->data || error_set(err, ERROR_UNSUPPORTED, "the bytes of %s are not at hand (no data file given?)",
				    v->name);
}

bool static_scaled(struct xlower *x, const struct value *from, const struct layout_of *l, const double *scale,
		   int64_t channels, bool channel_last, struct span *out, struct error *err)
{
	int64_t n = dtype_numel(from->rank, from->size), each = channels ? n / channels : 1;
	struct span plain;
	void *to;

	if (!static_gather(x, from, l, &plain, err) ||
	    !(to = copy_space(x, from, (size_t)n, dtype_bytes(from->dtype), err)))
		return false;
	for (int64_t i = 0; i < n; i++)
		dtype_put(from->dtype, to, (size_t)i, dtype_get(from->dtype, plain.data, (size_t)i) *
			  scale[channel_last ? i % channels : i / each]);
	*out = (struct span){ to, plain.bytes };
	return true;
}

bool static_as(struct xlower *x, const struct value *from, enum dtype t, struct span *out, struct error *err)
{
	int64_t n = dtype_numel(from->rank, from->size);
	void *to;

	if (!at_hand(from, err))
		return false;
	*out = (struct span){ from->data, from->bytes };
	if (from->dtype == t)
		return true;
	if (!(to = copy_space(x, from, (size_t)n, dtype_bytes(t), err)))
		return false;
	for (int64_t i = 0; i < n; i++)
		dtype_put(t, to, (size_t)i, dtype_get(from->dtype, from->data, (size_t)i));
	*out = (struct span){ to, (size_t)n * dtype_bytes(t) };
	return true;
}

bool static_int4(struct xlower *x, const struct value *from, struct span *out, struct error *err)
{
	int64_t rows = from->size[0], n = from->size[1], pitch = (n + 1) / 2;
	uint8_t *to;

	if (!at_hand(from, err))
		return false;
	*out = (struct span){ from->data, from->bytes };
	if (from->dtype == DTYPE_INT4)
		return true;
	if (!(to = copy_space(x, from, (size_t)rows, (size_t)pitch, err)))
		return false;
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < 2 * pitch; c++) {
			int v = c < n ? ((const int8_t *)from->data)[r * n + c] : 0;

			to[r * pitch + c / 2] |= (uint8_t)(((v + 8) & 15) << (c & 1 ? 4 : 0));
		}
	*out = (struct span){ to, (size_t)(rows * pitch) };
	return true;
}

bool static_widen(struct xlower *x, const char *name, struct span *data, struct error *err)
{
	size_t n = data->bytes / sizeof(uint16_t);
	float *to = arena_try(x->mem, n * sizeof *to);

	if (!to)
		return error_set(err, ERROR_MEMORY, "no memory for %zu numbers of %s", n, name);
	for (size_t i = 0; i < n; i++)
		to[i] = (float)dtype_get(DTYPE_F16, data->data, i);
	*data = (struct span){ (const uint8_t *)to, n * sizeof *to };
	return true;
}
