/* Placements that need no neighbours. */
#include "core/program/memory_parts.h"

#include "core/base/num.h"

#include <stdlib.h>
#include <string.h>

/* For programs in which too many tensors live together: in order of time, from a list of free ranges. */
struct free_list { struct range *at; int n; size_t top; };

static void free_add(struct free_list *f, struct range r)
{
	int i = f->n;

	while (i && f->at[i - 1].at > r.at)
		i--;
	if (i && f->at[i - 1].end == r.at) {
		f->at[--i].end = r.end;
	} else {
		memmove(&f->at[i + 1], &f->at[i], (size_t)(f->n++ - i) * sizeof *f->at);
		f->at[i] = r;
	}
	if (i + 1 < f->n && f->at[i].end == f->at[i + 1].at) {
		f->at[i].end = f->at[i + 1].end;
		f->n--;
		memmove(&f->at[i + 1], &f->at[i + 2], (size_t)(f->n - i - 1) * sizeof *f->at);
	}
	if (f->n && f->at[f->n - 1].end == f->top)	/* free up to the top: the top comes down */
		f->top = f->at[--f->n].at;
}

static size_t free_take(struct free_list *f, size_t bytes)
{
	int best = -1;
	size_t at;

	for (int i = 0; i < f->n; i++)
		if (f->at[i].end - f->at[i].at >= bytes &&
		    (best < 0 || f->at[i].end - f->at[i].at < f->at[best].end - f->at[best].at))
			best = i;
	if (best < 0) {
		at = f->top;
		f->top += bytes;
		return at;
	}
	at = f->at[best].at;
	f->at[best].at += bytes;
	if (f->at[best].at == f->at[best].end)
		memmove(&f->at[best], &f->at[best + 1], (size_t)(--f->n - best) * sizeof *f->at);
	return at;
}

static void free_until(struct planner *p, struct free_list *f, const int *end, int *gone, int step)
{
	for (; p->last[end[*gone]] < step; ++*gone) {
		int i = end[*gone];

		if (!p->life[i].fixed && p->life[i].bytes)
			free_add(f, (struct range){ p->offset[i], p->offset[i] + size_align(p->life[i].bytes, p->align) });
	}
}

void memory_place_by_time(struct planner *p)
{
	int *start = memory_order(p, BY_START), *end = memory_order(p, BY_END), gone = 0;
	struct free_list f = { arena_array(&p->mem, (size_t)p->n + 1, sizeof *f.at), 0, 0 };

	p->bytes = 0;
	for (int k = 0; k < p->n; k++) {
		int i = start[k];

		if (!p->life[i].fixed)
			free_until(p, &f, end, &gone, p->first[i]);
		p->offset[i] = p->life[i].fixed ? p->life[i].offset : free_take(&f, size_align(p->life[i].bytes,
			p->align));
		if (p->offset[i] + p->life[i].bytes > p->bytes)
			p->bytes = p->offset[i] + p->life[i].bytes;
		if (p->life[i].fixed && size_align(p->bytes, p->align) > f.top)
			f.top = size_align(p->bytes, p->align);
	}
}

/* The exporter's plan, so that ours is never larger: objects as large as their first tensor, one behind the
 * other; a tensor goes to the first object that is free for its life, else behind what meets it there. */
struct object { size_t at, bytes; struct link *held; };

static size_t object_end(const struct planner *p, const struct object *o, int i)
{
	size_t end = 0;

	for (const struct link *l = o->held; l; l = l->next)
		if (p->first[l->life] <= p->last[i] && p->first[i] <= p->last[l->life]) {
			size_t e = p->offset[l->life] - o->at + size_align(p->life[l->life].bytes, p->align);

			end = e > end ? e : end;
		}
	return end;
}

static struct object *pick_object(struct planner *p, struct object *object, int nobjects, int i, size_t *at)
{
	struct object *behind = NULL;

	for (struct object *o = object; o < object + nobjects; o++) {
		size_t end = object_end(p, o, i);

		if (!end) {
			*at = 0;
			return o;
		}
		if (!behind && size_inside(end, size_align(p->life[i].bytes, p->align), o->bytes)) {
			behind = o;
			*at = end;
		}
	}
	return behind;
}

void memory_place_in_objects(struct planner *p)
{
	const int *order = memory_order(p, BY_SIZE);
	struct object *object = arena_array(&p->mem, (size_t)p->n, sizeof *object);
	int nobjects = 0;

	p->bytes = 0;
	for (int k = 0; k < p->n; k++) {
		int i = order[k];
		size_t at = 0;
		struct link *held;
		struct object *o = p->life[i].fixed ? NULL : pick_object(p, object, nobjects, i, &at);

		if (p->life[i].fixed) {
			p->offset[i] = p->life[i].offset;
			if (p->offset[i] + p->life[i].bytes > p->bytes)
				p->bytes = size_align(p->offset[i] + p->life[i].bytes, p->align);
			continue;
		}
		if (!o) {
			o = &object[nobjects++];
			*o = (struct object){ p->bytes, size_align(p->life[i].bytes, p->align), NULL };
			p->bytes += o->bytes;
		}
		p->offset[i] = o->at + at;
		held = arena_alloc(&p->mem, sizeof *held);
		*held = (struct link){ i, o->held };
		o->held = held;
	}
}

