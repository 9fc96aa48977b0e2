#include "core/program/planned.h"

#include "core/format/xblob.h"
#include "core/program/calls.h"
#include "core/program/delegates.h"
#include "core/program/replay.h"

#include <string.h>

struct planning {
	struct planned *p;
	struct arena *mem, scratch;
	struct replay r;
	struct call_table calls;
	const int *uses;
	struct blob { bool read, *written; uint32_t nexterns; } *blob;	/* by delegate; written NULL: it does not tell */
	vec(struct planned_tensor) tensor;
	vec(int) of_content;	/* its tensor, or -1 */
	int step, chain, instruction;
};

static bool in_arena(const struct planning *k, int32_t v)
{
	const struct pte_value *x = &k->p->plan->value[v];
	const struct pte_tensor *t = x->tag == PTE_TENSOR ? k->p->plan->value[k->r.value[v].place].tensor : NULL;

	return t && t->has_allocation && t->bytes && t->memory_id < (uint32_t)k->p->plan->nbuffers;
}

static void add_tensor(struct planning *k, int32_t v, int content, bool held)
{
	const struct pte_tensor *t = k->p->plan->value[k->r.value[v].place].tensor;

	while (k->of_content.n <= content)
		vec_push(&k->scratch, &k->of_content, -1);
	k->of_content.at[content] = k->tensor.n;
	vec_push(k->mem, &k->tensor, ((struct planned_tensor){ .value = v, .arena = t->memory_id, .offset = t->memory_offset,
		.bytes = t->bytes, .first = held ? 0 : k->step, .last = k->step, .chain = k->chain,
		.instruction = held ? -1 : k->instruction, .held = held }));
}

static struct planned_tensor *tensor_of(struct planning *k, int content)
{
	int i = content >= 0 && content < k->of_content.n ? k->of_content.at[content] : -1;

	return i < 0 ? NULL : &k->tensor.at[i];
}

static void touch(struct planning *k, int content)
{
	struct planned_tensor *t = tensor_of(k, content);

	if (t)
		t->last = k->step;
}

/* What lies in the bytes of v. */
static void each_content(struct planning *k, int32_t v, void (*f)(struct planning *k, int content))
{
	const struct pte_tensor *t = k->p->plan->value[k->r.value[v].place].tensor;
	const struct replay_memory *m = &k->r.memory[t->memory_id];

	for (const struct replay_extent *x = replay_first_after(m, t->memory_offset);
	     x && x->begin < t->memory_offset + t->bytes; x = replay_next(m, x))
		f(k, x->content);
}

static void hold(struct planning *k, int32_t v)
{
	add_tensor(k, v, replay_hold(&k->r, v, -1), true);
}

static void read_tensor(int32_t v, void *ctx)
{
	struct planning *k = ctx;
	int content = -1;
	int32_t place;

	if (!in_arena(k, v))
		return;
	switch (replay_read(&k->r, v, &content, &place)) {
	case REPLAY_STORED: break;
	case REPLAY_OWN: case REPLAY_OTHER: touch(k, content); break;
	case REPLAY_NOBODY: hold(k, v); break;
	case REPLAY_MIXED: each_content(k, v, touch); break;
	}
}

/* Read by the call that writes over it: it ends where that begins. */
static void end_before(struct planning *k, int content)
{
	struct planned_tensor *t = tensor_of(k, content);

	if (t && t->last == k->step && t->first < k->step)
		t->last--;
}

static void write_tensor(int32_t v, void *ctx)
{
	struct planning *k = ctx;
	int content = -1;
	int32_t place;
	enum replay_kind kind;

	if (!in_arena(k, v))
		return;
	kind = replay_read(&k->r, v, &content, &place);
	if ((kind == REPLAY_OWN || kind == REPLAY_OTHER) && k->r.content[content].held) {
		touch(k, content);
		return;
	}
	if (kind == REPLAY_OWN || kind == REPLAY_OTHER)
		end_before(k, content);
	add_tensor(k, v, replay_write(&k->r, v), false);
}

static void each(struct planning *k, int32_t v, void (*f)(int32_t v, void *ctx))
{
	call_each_tensor(k->p->plan, v, f, k);
}

static void kernel(struct planning *k, const struct pte_instruction *in)
{
	struct kernel_call c = call_read(&k->calls, in);

	for (int i = 0; i < c.nargs; i++)
		each(k, c.arg[i], read_tensor);
	if (c.takes_pointer) {
		replay_point(&k->r, c.out[0], c.arg[0]);
		return;
	}
	for (int i = 0; i < c.nargs; i++)
		if (call_writes(&c, i))
			each(k, c.arg[i], write_tensor);
	for (int i = 0; i < c.nouts; i++)
		each(k, c.out[i], write_tensor);
}

static struct span no_data(void *ctx, const char *key, size_t bytes)
{
	return (struct span){ 0 };
}

static void read_blob(struct planning *k, const struct pte_delegate *d, struct blob *b)
{
	struct xgraph x;
	struct error why = { 0 };

	b->read = true;
	if (!d->id || strcmp(d->id, "XnnpackBackend") ||
	    !xblob_read(&x, d->blob, 0, "", no_data, NULL, &k->scratch, &why))
		return;
	b->nexterns = x.nexterns;
	b->written = arena_array(&k->scratch, x.nexterns, sizeof *b->written);
	for (int i = 0; i < x.nvalues; i++)
		if (x.value[i].flags & XFLAG_OUTPUT)
			b->written[x.value[i].external_id] = true;
}

/* An XNNPACK blob tells what is written; for others the rule of delegates.h, where it has to guess: as it does. */
static void delegate(struct planning *k, const struct pte_instruction *in)
{
	struct blob *b = &k->blob[in->index];
	bool known, unsure;
	int first = 0;

	if (!b->read)
		read_blob(k, &k->p->plan->delegate[in->index], b);
	known = b->written && b->nexterns <= (uint32_t)in->nargs;
	if (!known)
		first = delegate_first_output(&k->r, in, k->uses, &unsure);
	for (int writes = 0; writes < 2; writes++)
		for (int i = 0; i < in->nargs; i++)
			if ((known ? (uint32_t)i < b->nexterns && b->written[i] : i >= first) == writes)
				each(k, in->arg[i], writes ? write_tensor : read_tensor);
}

static void call(struct planning *k, const struct pte_instruction *in)
{
	switch (in->call) {
	case PTE_KERNEL: kernel(k, in); break;
	case PTE_DELEGATE: delegate(k, in); break;
	case PTE_MOVE:
		each(k, in->index, read_tensor);
		each(k, in->to, write_tensor);
		break;
	case PTE_JUMP_FALSE: each(k, in->index, read_tensor); break;
	case PTE_FREE: break;
	}
}

static void begin(struct planning *k, const bool *held)
{
	const struct pte_plan *plan = k->p->plan;

	k->instruction = -1;
	for (int v = 0; v < plan->nvalues; v++) {
		const struct pte_tensor *t = plan->value[v].tag == PTE_TENSOR ? plan->value[v].tensor : NULL;
		int content = -1;
		int32_t place;

		if (!t || !in_arena(k, v) ||
		    !((held && held[v]) || t->storage == PTE_MUTABLE || t->storage == PTE_EXTERNAL_MUTABLE))
			continue;
		if (replay_read(&k->r, v, &content, &place) == REPLAY_NOBODY)
			hold(k, v);
	}
	for (int i = 0; i < plan->ninputs; i++)
		each(k, plan->input[i], write_tensor);
}

static bool run(struct planning *k, struct work *work, struct error *err)
{
	const struct pte_plan *plan = k->p->plan;

	for (k->chain = 0; k->chain < plan->nchains; k->chain++)
		for (k->instruction = 0; k->instruction < plan->chain[k->chain].ninstructions; k->instruction++) {
			if (!work_goes_on(work, "replaying the memory plan", k->instruction,
					  plan->chain[k->chain].ninstructions, err))
				return false;
			k->step++;
			call(k, &plan->chain[k->chain].instruction[k->instruction]);
		}
	k->step++;
	for (int i = 0; i < plan->noutputs; i++)
		each(k, plan->output[i], read_tensor);
	return true;
}

static void count(struct planned *p, struct arena *a)
{
	int64_t *change, alive = 0;

	for (int i = 0; i < p->n; i++)
		if (p->tensor[i].held)
			p->tensor[i].last = p->nsteps - 1;
	change = arena_array(a, (size_t)p->nsteps + 1, sizeof *change);
	for (int i = 0; i < p->n; i++) {
		change[p->tensor[i].first] += (int64_t)p->tensor[i].bytes;
		change[p->tensor[i].last + 1] -= (int64_t)p->tensor[i].bytes;
	}
	p->in_use = arena_array(a, (size_t)p->nsteps, sizeof *p->in_use);
	for (int s = 0; s < p->nsteps; s++) {
		alive += change[s];
		p->in_use[s] = (uint64_t)alive;
		if (p->in_use[s] > p->peak) {
			p->peak = p->in_use[s];
			p->peak_step = s;
		}
	}
}

/* What was held only once a call read it stands behind what was written before: in order of steps again. */
static void sort_by_first(struct planning *k)
{
	struct planned_tensor *sorted = arena_array(k->mem, (size_t)k->tensor.n, sizeof *sorted);
	int n = 0;

	for (int at_start = 1; at_start >= 0; at_start--)
		for (int i = 0; i < k->tensor.n; i++)
			if ((k->tensor.at[i].first == 0) == at_start)
				sorted[n++] = k->tensor.at[i];
	k->p->tensor = sorted;
	k->p->n = n;
}

bool planned_make(struct planned *p, const struct pte_plan *plan, const bool *held, struct arena *a, struct work *work,
		  struct error *err)
{
	struct planning k = { .p = p, .mem = a };
	bool ok;

	*p = (struct planned){ .plan = plan };
	for (int i = 1; i < plan->nbuffers; i++)
		p->arenas += (uint64_t)plan->buffer_bytes[i];
	replay_open(&k.r, plan, &k.scratch);
	call_table_init(&k.calls, plan, &k.scratch);
	k.uses = delegate_uses(plan, &k.scratch);
	k.blob = arena_array(&k.scratch, (size_t)plan->ndelegates, sizeof *k.blob);
	begin(&k, held);
	ok = run(&k, work, err);
	p->nsteps = k.step + 1;
	sort_by_first(&k);
	count(p, a);
	arena_free(&k.scratch);
	return ok;
}
