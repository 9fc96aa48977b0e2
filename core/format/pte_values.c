#include "core/format/pte_reader.h"

#include "core/base/num.h"
#include "core/format/pte_schema.h"

#include <inttypes.h>
#include <string.h>

int32_t *pte_read_indices(struct pte_reader *r, const struct fb_vector *v, int32_t least, int32_t limit,
			  const char *items)
{
	int32_t *index = fb_array(v, r->mem, sizeof *index);

	for (uint32_t i = 0; index && i < v->n; i++) {
		index[i] = fb_i32_at(v, i);
		if (index[i] < least || index[i] >= limit)
			return pte_bad(r, v->at + i * 4, "%s %u is %d, allowed are %d to %d", items, i, index[i], least,
				       limit - 1), NULL;
	}
	return index;
}

/* Numbers: the payload is one field. */

static bool read_null(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	return true;
}

static bool read_int(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	v->i = fb_i64(t, SCALAR_VALUE, 0);
	return true;
}

static bool read_bool(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	v->b = fb_bool(t, SCALAR_VALUE, false);
	return true;
}

static bool read_double(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	v->d = fb_f64(t, SCALAR_VALUE, 0);
	return true;
}

static bool read_string(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	v->s.at = fb_string(t, SCALAR_VALUE, &v->s.bytes);
	return v->s.at || pte_bad(r, t->at, "string without text");
}

/* Lists */

static bool items(struct pte_reader *r, struct fb_table *t, size_t width, struct fb_vector *v)
{
	*v = fb_vector(t, LIST_ITEMS, width);
	return fb_vector_there(v) || pte_bad(r, t->at, "list without items");
}

/* Items are indices of values, each an Int, which may come before the list or after it. */
static bool read_int_list(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	struct fb_vector list;
	int32_t *at;

	if (!items(r, t, 8, &list) || !(at = fb_array(&list, r->mem, sizeof *at)))
		return false;
	for (uint32_t i = 0; i < list.n; i++) {
		int64_t index = fb_i64_at(&list, i);

		if (index < 0 || index >= plan->nvalues)
			return pte_bad(r, list.at + i * 8, "item %u is value %" PRId64 ", there are %d", i, index,
				       plan->nvalues);
		at[i] = (int32_t)index;
	}
	v->index.at = at;
	v->index.n = (int)list.n;
	return true;
}

static bool read_double_list(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	struct fb_vector list;

	if (!items(r, t, 8, &list) || !(v->doubles.at = fb_array(&list, r->mem, sizeof *v->doubles.at)))
		return false;
	for (uint32_t i = 0; i < list.n; i++)
		v->doubles.at[i] = fb_f64_at(&list, i);
	v->doubles.n = (int)list.n;
	return true;
}

static bool read_bool_list(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	struct fb_vector list;

	if (!items(r, t, 1, &list) || !(v->bools.at = fb_array(&list, r->mem, 1)))
		return false;
	for (uint32_t i = 0; i < list.n; i++)
		v->bools.at[i] = fb_bytes(&list)[i] != 0;
	v->bools.n = (int)list.n;
	return true;
}

/* The runtime resolves these while it reads values, so that every item must come before the list. */
static bool read_tensor_list(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	struct fb_vector list;

	if (!items(r, t, 4, &list))
		return false;
	v->index.at = pte_read_indices(r, &list, v->tag == PTE_TENSOR_LIST ? 0 : -1, (int32_t)(v - plan->value),
				       "item");
	v->index.n = (int)list.n;
	return v->index.at != NULL;
}

/* Tensors */

static bool read_shape(struct pte_reader *r, struct fb_table *t, struct pte_tensor *x)
{
	struct fb_vector sizes = fb_vector(t, TENSOR_SIZES, 4), order = fb_vector(t, TENSOR_DIM_ORDER, 1);
	int64_t size[MAX_RANK];
	unsigned seen = 0;

	if (!fb_vector_there(&sizes) || !fb_vector_there(&order))
		return pte_bad(r, t->at, "tensor without %s", fb_vector_there(&sizes) ? "dim_order" : "sizes");
	if (sizes.n > MAX_RANK || order.n != sizes.n)
		return pte_bad(r, sizes.at,
			       "tensor of rank %u with a dim_order of %u entries; at most rank %d, and as many",
			       sizes.n, order.n, MAX_RANK);
	x->rank = (int)sizes.n;
	for (uint32_t d = 0; d < sizes.n; d++) {
		size[d] = x->size[d] = fb_i32_at(&sizes, d);
		x->dim_order[d] = fb_bytes(&order)[d];
		if (x->dim_order[d] < sizes.n)
			seen |= 1u << x->dim_order[d];
	}
	if (seen != (1u << sizes.n) - 1)
		return pte_bad(r, order.at, "dim_order is no permutation of 0 to %d", x->rank - 1);
	if (!dtype_tensor_bytes(x->dtype, x->rank, size, &x->bytes))
		return pte_bad(r, sizes.at, "sizes are negative or their product does not fit in 64 bits");
	return true;
}

static bool read_extra(struct pte_reader *r, struct fb_table *t, struct pte_tensor *x)
{
	struct fb_table extra = fb_child(t, TENSOR_EXTRA);

	if (!extra.at)
		return true;
	x->has_extra = true;
	x->mutable_segment = fb_u64(&extra, EXTRA_MUTABLE_SEGMENT, 0);
	x->name = fb_name(&extra, EXTRA_NAME, NULL);
	x->location = fb_i8(&extra, EXTRA_LOCATION, LOCATION_PROGRAM);
	x->device_type = fb_i8(&extra, EXTRA_DEVICE_TYPE, 0);
	x->device_index = fb_i8(&extra, EXTRA_DEVICE_INDEX, 0);
	if (x->location != LOCATION_PROGRAM && x->location != LOCATION_EXTERNAL)
		return pte_bad(r, extra.at, "tensor data location %d, allowed are 0 and 1", x->location);
	if (x->location == LOCATION_EXTERNAL && !x->name)
		return pte_bad(r, extra.at, "external tensor without a name");
	return true;
}

static bool read_allocation(struct pte_reader *r, const struct pte_plan *plan, struct fb_table *t, struct pte_tensor *x)
{
	struct fb_table a = fb_child(t, TENSOR_ALLOCATION);

	if (!a.at)
		return true;
	x->has_allocation = true;
	x->memory_id = fb_u32(&a, ALLOCATION_ID, 0);
	x->memory_offset = (uint64_t)fb_u32(&a, ALLOCATION_HIGH, 0) << 32 | fb_u32(&a, ALLOCATION_LOW, 0);
	if (x->memory_id < 1 || x->memory_id >= (uint32_t)plan->nbuffers)
		return pte_bad(r, a.at, "memory_id %u; the method has %d arenas, of which 0 is reserved", x->memory_id,
			       plan->nbuffers);
	if (!size_inside(x->memory_offset, x->bytes, (uint64_t)plan->buffer_bytes[x->memory_id]))
		return pte_bad(r, a.at, "%zu bytes planned at %" PRIu64 " of arena %u, which has %" PRId64, x->bytes,
			       x->memory_offset, x->memory_id, plan->buffer_bytes[x->memory_id]);
	return true;
}

/* Finds the stored bytes of a constant or of an initial state. */
static bool find_data(struct pte_reader *r, size_t at, struct pte_tensor *x)
{
	const struct pte *p = r->pte;
	bool state = x->storage == PTE_MUTABLE;
	int n = state ? p->nmutable : p->nconstants;
	struct span where;
	uint64_t offset;

	if (x->data_index >= (uint32_t)n)
		return pte_bad(r, at, "%s %u, the program has %d", state ? "mutable data" : "constant", x->data_index,
			       n);
	if (!state && p->inline_constants) {
		where = p->constant[x->data_index];
		offset = 0;
	} else {
		where = p->segment[state ? r->mutable_segment : p->constant_segment];
		offset = state ? fb_u64_at(&r->mutable_offset, x->data_index) : p->constant_offset[x->data_index];
	}
	if (!size_inside(offset, x->bytes, where.bytes))
		return pte_bad(r, at, "%zu bytes of %s %u at %" PRIu64 " of a segment of %zu", x->bytes,
			       state ? "mutable data" : "constant", x->data_index, offset, where.bytes);
	x->data = where.data + offset;
	return true;
}

static bool read_tensor(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t, struct pte_value *v)
{
	struct pte_tensor *x = v->tensor = arena_alloc(r->mem, sizeof *x);
	int8_t type = fb_i8(t, TENSOR_SCALAR_TYPE, 0), dynamism = fb_i8(t, TENSOR_DYNAMISM, PTE_STATIC);
	int32_t offset = fb_i32(t, TENSOR_STORAGE_OFFSET, 0);

	if (type < 0 || type >= DTYPE_CODES)
		return pte_bad(r, t->at, "scalar type %d, allowed are 0 to %d", type, DTYPE_CODES - 1);
	if (dynamism != PTE_STATIC && dynamism != PTE_DYNAMIC_BOUND)
		return pte_bad(r, t->at, "shape dynamism %d, allowed are 0 (static) and 1 (bounded)", dynamism);
	if (offset)
		return pte_bad(r, t->at, "storage offset %d, only 0 is allowed", offset);
	x->dtype = (enum dtype)type;
	x->dynamism = (uint8_t)dynamism;
	x->requires_grad = fb_bool(t, TENSOR_REQUIRES_GRAD, false);
	x->layout = fb_i8(t, TENSOR_LAYOUT, 0);
	x->data_index = fb_u32(t, TENSOR_DATA_INDEX, 0);
	if (!read_shape(r, t, x) || !read_extra(r, t, x) || !read_allocation(r, plan, t, x))
		return false;
	if (x->location == LOCATION_EXTERNAL)
		x->storage = x->has_allocation ? PTE_EXTERNAL_MUTABLE : PTE_EXTERNAL;
	else if (x->data_index)
		x->storage = x->has_allocation ? PTE_MUTABLE : PTE_CONSTANT;
	else
		x->storage = x->has_allocation ? PTE_PLANNED : PTE_UNPLANNED;
	return (x->storage != PTE_CONSTANT && x->storage != PTE_MUTABLE) || find_data(r, t->at, x);
}

static bool (*const read_payload[])(struct pte_reader *, struct pte_plan *, struct fb_table *, struct pte_value *) = {
	[PTE_NULL] = read_null, [PTE_INT] = read_int, [PTE_BOOL] = read_bool, [PTE_DOUBLE] = read_double,
	[PTE_TENSOR] = read_tensor, [PTE_STRING] = read_string, [PTE_INT_LIST] = read_int_list,
	[PTE_DOUBLE_LIST] = read_double_list, [PTE_BOOL_LIST] = read_bool_list, [PTE_TENSOR_LIST] = read_tensor_list,
	[PTE_OPTIONAL_TENSOR_LIST] = read_tensor_list,
};

static bool read_value(struct pte_reader *r, struct pte_plan *plan, struct fb_table t, struct pte_value *v)
{
	uint8_t tag = fb_u8(&t, EVALUE_TAG, 0);
	struct fb_table payload = fb_child(&t, EVALUE_VALUE);

	if (!fb_ok(&r->fb))
		return false;
	if (tag < PTE_NULL || tag > PTE_OPTIONAL_TENSOR_LIST || !payload.at)
		return pte_bad(r, t.at, "value of kind %u%s, allowed are kinds 1 to %d with a table", tag,
			       payload.at ? "" : " without a table", PTE_OPTIONAL_TENSOR_LIST);
	v->tag = (enum pte_tag)tag;
	return read_payload[tag](r, plan, &payload, v) && fb_ok(&r->fb);
}

/* What the items of lists are can be asked only when all values are read. */
static bool check_lists(struct pte_reader *r, const struct pte_plan *plan, const struct fb_vector *values)
{
	for (int i = 0; i < plan->nvalues; i++) {
		const struct pte_value *v = &plan->value[i];
		bool optional = v->tag == PTE_OPTIONAL_TENSOR_LIST, ints = v->tag == PTE_INT_LIST;

		if (!optional && !ints && v->tag != PTE_TENSOR_LIST)
			continue;
		r->number = i;
		for (int k = 0; k < v->index.n; k++) {
			int32_t at = v->index.at[k];
			enum pte_tag tag = at < 0 ? PTE_NULL : plan->value[at].tag;

			if (tag != (ints ? PTE_INT : PTE_TENSOR) && !(optional && tag == PTE_NULL))
				return pte_bad(r, values->at + (size_t)i * 4, "item %d, value %d, is no %s", k, at,
					       ints ? "Int" : "Tensor");
		}
	}
	return true;
}

bool pte_read_values(struct pte_reader *r, struct pte_plan *plan, struct fb_table *t)
{
	struct fb_vector values = fb_vector(t, PLAN_VALUES, 4);

	if (!fb_vector_there(&values))
		return pte_bad(r, t->at, "no values");
	plan->value = fb_array(&values, r->mem, sizeof *plan->value);
	plan->nvalues = (int)values.n;
	r->part = "value";
	for (r->number = 0; plan->value && r->number < plan->nvalues; r->number++)
		if (!read_value(r, plan, fb_table_at(&values, (uint32_t)r->number), &plan->value[r->number]))
			return false;
	return fb_ok(&r->fb) && check_lists(r, plan, &values);
}
