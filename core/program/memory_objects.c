/* The exporter's plan, so that ours is never larger: objects as large as their first tensor, one behind the
 * other; a tensor goes to the first object that is free for its life, else behind what meets it there. */
#include "core/program/memory_parts.h"

#include "core/base/num.h"

struct object {
	size_t at, bytes;
	int asked;		/* who asked last, as its turn; 0: nobody */
	size_t end;		/* for that one: where what it meets here ends */
};

struct objects {
	struct planner *p;
	struct object *at;
	int n;
	int *of;		/* by lifetime */
};

static void ask(struct objects *o, int life, int turn)
{
	struct planner *p = o->p;

	memory_find_near(p, life);
	for (int k = 0; k < p->nnear; k++) {
		int i = p->near[k];
		struct object *object = &o->at[o->of[i]];
		size_t end;

		if (p->life[i].fixed)
			continue;
		end = p->offset[i] - object->at + size_align(p->life[i].bytes, p->align);
		if (object->asked != turn)
			object->end = 0;
		object->asked = turn;
		object->end = end > object->end ? end : object->end;
	}
}

/* Of the objects before a free one, all meet it: no more are looked at than it has neighbours, and one. */
static struct object *pick(struct objects *o, int life, int turn, size_t *at)
{
	size_t bytes = size_align(o->p->life[life].bytes, o->p->align);
	struct object *behind = NULL;

	ask(o, life, turn);
	*at = 0;
	for (struct object *object = o->at; object < o->at + o->n; object++) {
		if (object->asked != turn) {
			*at = 0;
			return object;
		}
		if (!behind && size_inside(object->end, bytes, object->bytes)) {
			behind = object;
			*at = object->end;
		}
	}
	return behind;
}

static void place(struct objects *o, int life, int turn)
{
	struct planner *p = o->p;
	size_t at;
	struct object *object = pick(o, life, turn, &at);

	if (!object) {
		object = &o->at[o->n++];
		*object = (struct object){ .at = size_align(p->bytes, p->align), .bytes = size_align(p->life[life].bytes, p->align) };
	}
	o->of[life] = (int)(object - o->at);
	memory_put(p, life, object->at + at);
}

void memory_place_in_objects(struct planner *p)
{
	const int *order = memory_order(p, BY_SIZE);
	struct objects o = { p, arena_array(&p->mem, (size_t)p->n, sizeof *o.at), 0, arena_array(&p->mem, (size_t)p->n, sizeof *o.of) };

	memory_start(p);
	for (int k = 0; k < p->n; k++)
		if (p->life[order[k]].fixed)
			memory_put(p, order[k], p->life[order[k]].offset);
		else
			place(&o, order[k], k + 1);
}
