/* What a rewrite has no business with is carried over: delegates of other backends, unknown operators, control flow,
 * other methods, data that is not ours. Programs are optimised whole, written, and opened again. */
#include "core/session/session.h"
#include "core/xnn/lower.h"
#include "tests/maker.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static const char foreign_blob[] = "bytes of another backend, which reads shared.key";

struct rig {
	struct maker *m;
	char was_path[64], is_path[80];
	struct program *was, *is;
	struct session *s;
};

static int tensor(struct maker *m, uint64_t at)
{
	return maker_planned(m, DTYPE_F32, 1, 64 * at, SHAPE(4, 4));
}

static void setup(struct rig *r)
{
	memset(r, 0, sizeof *r);
	r->m = maker_new();
	strcpy(r->was_path, "/tmp/etinspect-carried-XXXXXX");
	close(mkstemp(r->was_path));
	snprintf(r->is_path, sizeof r->is_path, "%s.out", r->was_path);
}

static void teardown(struct rig *r)
{
	program_close(r->is);
	program_close(r->was);
	session_close(r->s);
	unlink(r->was_path);
	unlink(r->is_path);
	maker_free(r->m);
}

static void optimise(struct rig *r)
{
	static const enum apply_step steps[] = { APPLY_LINEAR, APPLY_FOLD, APPLY_PARTITION };
	struct error err = { 0 };
	bool ok, changed;

	maker_save(r->m, r->was_path);
	ok = session_open(&r->s, r->was_path, NULL, 0, &err) && session_facts(r->s, 0, &err);
	for (int i = 0; ok && i < 3; i++)
		ok = session_apply(r->s, steps[i], &changed, &err) && session_facts(r->s, r->s->current, &err);
	ok = ok && session_write(r->s, r->is_path, true, &err) && program_open(&r->was, r->was_path, NULL, 0, &err) &&
		program_open(&r->is, r->is_path, NULL, 0, &err);
	if (!ok)
		fail_msg("%s", err.text);
}

/* A method in which XNNPACK takes something: relu. */
static void with_relu(struct rig *r)
{
	int x = tensor(r->m, 0), y = tensor(r->m, 1);

	maker_in(r->m, x);
	maker_call(r->m, "aten::relu.out", LIST(x, y, y));
	maker_out(r->m, y);
}

static const struct pte_plan *plan(const struct program *p, const char *name)
{
	for (int i = 0; i < p->pte.nplans; i++)
		if (!strcmp(p->pte.plan[i].name, name))
			return &p->pte.plan[i];
	fail_msg("no method %s", name);
	return NULL;
}

static void same_value(const struct pte_value *a, const struct pte_value *b)
{
	assert_int_equal(a->tag, b->tag);
	if (a->tag == PTE_TENSOR) {
		assert_int_equal(a->tensor->storage, b->tensor->storage);
		assert_int_equal(a->tensor->bytes, b->tensor->bytes);
		assert_int_equal(a->tensor->memory_id, b->tensor->memory_id);
		assert_int_equal(a->tensor->memory_offset, b->tensor->memory_offset);
		if (a->tensor->data)
			assert_memory_equal(a->tensor->data, b->tensor->data, a->tensor->bytes);
	} else if (a->tag == PTE_INT) {
		assert_int_equal(a->i, b->i);
	}
}

static void same_plan(const struct pte_plan *a, const struct pte_plan *b)
{
	assert_int_equal(a->nvalues, b->nvalues);
	for (int i = 0; i < a->nvalues; i++)
		same_value(&a->value[i], &b->value[i]);
	assert_int_equal(a->nbuffers, b->nbuffers);
	assert_memory_equal(a->buffer_bytes, b->buffer_bytes, (size_t)a->nbuffers * sizeof *a->buffer_bytes);
	assert_int_equal(a->chain[0].ninstructions, b->chain[0].ninstructions);
	for (int i = 0; i < a->chain[0].ninstructions; i++) {
		const struct pte_instruction *x = &a->chain[0].instruction[i], *y = &b->chain[0].instruction[i];

		assert_int_equal(x->call, y->call);
		assert_int_equal(x->index, y->index);
		assert_int_equal(x->to, y->to);
		assert_int_equal(x->nargs, y->nargs);
		if (x->nargs)
			assert_memory_equal(x->arg, y->arg, (size_t)x->nargs * sizeof *x->arg);
	}
	for (int i = 0; i < a->noperators; i++) {
		assert_string_equal(a->operator[i].name, b->operator[i].name);
		assert_string_equal(a->operator[i].overload, b->operator[i].overload);
	}
}

/* One method becomes a delegate; beside it stand control flow, and what no backend here takes. */
static void other_methods_and_control_flow(void **state)
{
	static const float numbers[16] = { 1, 2, 3 };
	struct rig r;
	int x, y, w, flag, stays;

	setup(&r);
	with_relu(&r);
	maker_method(r.m, "branches");
	x = tensor(r.m, 0);
	y = tensor(r.m, 3);
	w = maker_constant(r.m, DTYPE_F32, numbers, SHAPE(4, 4));
	flag = maker_planned(r.m, DTYPE_BOOL, 1, 1024, SHAPE(1));
	stays = maker_bool(r.m, false);
	maker_in(r.m, x);
	maker_in(r.m, flag);
	maker_jump(r.m, PTE_JUMP_FALSE, flag, 3);
	maker_call(r.m, "aten::relu.out", LIST(x, y, y));
	maker_jump(r.m, PTE_JUMP_FALSE, stays, 4);
	maker_call(r.m, "aten::mul.out", LIST(x, w, y, y));
	maker_call(r.m, "aten::sigmoid.out", LIST(y, y, y));
	maker_out(r.m, y);
	maker_method(r.m, "none");
	x = tensor(r.m, 2);
	y = tensor(r.m, 5);
	maker_in(r.m, x);
	maker_call(r.m, "aten::erf.out", LIST(x, y, y));
	maker_out(r.m, y);
	optimise(&r);
	assert_int_equal(plan(r.is, "forward")->ndelegates, 1);
	same_plan(plan(r.was, "branches"), plan(r.is, "branches"));
	same_plan(plan(r.was, "none"), plan(r.is, "none"));
	teardown(&r);
}

/* x -> foreign -> relu -> my::op -> relu -> a second foreign one: between them XNNPACK gets its own. */
static void foreign_delegates_and_unknown_operators(void **state)
{
	struct rig r;
	struct span blob = { (const uint8_t *)foreign_blob, sizeof foreign_blob }, second = { (const uint8_t *)"second", 7 };
	const struct pte_plan *p;
	const struct pte_instruction *c;
	int x, v[5], none, list;

	setup(&r);
	vec_push(&r.m->mem, &r.m->named, ((struct pte_named){ .key = "shared.key", .key_bytes = 10, .data = { (const uint8_t *)"data", 4 } }));
	vec_push(&r.m->mem, &r.m->named, ((struct pte_named){ .key = "nobody's", .key_bytes = 8, .data = { (const uint8_t *)"more", 4 } }));
	x = tensor(r.m, 0);
	for (int i = 0; i < 5; i++)
		v[i] = tensor(r.m, (uint64_t)i + 1);
	maker_in(r.m, x);
	maker_delegate(r.m, "QnnBackend", blob, LIST(x, v[0]));
	maker_call(r.m, "aten::relu.out", LIST(v[0], v[1], v[1]));
	none = maker_none(r.m);
	list = maker_list(r.m, PTE_OPTIONAL_TENSOR_LIST, LIST(-1, v[1]));
	maker_call(r.m, "my::op.out", LIST(v[1], none, list, v[2], v[2]));
	maker_call(r.m, "aten::relu.out", LIST(v[2], v[3], v[3]));
	maker_delegate(r.m, "OpenvinoBackend", second, LIST(v[3], v[4]));
	maker_out(r.m, v[4]);
	optimise(&r);
	p = plan(r.is, "forward");
	assert_int_equal(p->ndelegates, 4);
	assert_int_equal(p->chain[0].ninstructions, 5);
	c = p->chain[0].instruction;
	for (int i = 0; i < 5; i++)
		assert_int_equal(c[i].call, i == 2 ? PTE_KERNEL : PTE_DELEGATE);
	assert_string_equal(p->delegate[c[0].index].id, "QnnBackend");
	assert_int_equal(p->delegate[c[0].index].blob.bytes, blob.bytes);
	assert_memory_equal(p->delegate[c[0].index].blob.data, blob.data, blob.bytes);
	assert_string_equal(p->delegate[c[1].index].id, "XnnpackBackend");
	assert_string_equal(p->delegate[c[4].index].id, "OpenvinoBackend");
	assert_memory_equal(p->delegate[c[4].index].blob.data, second.data, second.bytes);
	assert_int_equal(c[0].arg[0], p->input[0]);
	assert_int_equal(c[0].arg[1], c[1].arg[0]);
	assert_string_equal(p->operator[c[2].index].name, "my::op");
	assert_int_equal(c[2].nargs, 5);
	assert_int_equal(c[2].arg[0], c[1].arg[1]);
	assert_int_equal(p->value[c[2].arg[1]].tag, PTE_NULL);
	assert_int_equal(p->value[c[2].arg[2]].tag, PTE_OPTIONAL_TENSOR_LIST);
	assert_int_equal(p->value[c[2].arg[2]].index.at[0], -1);
	assert_int_equal(p->value[c[2].arg[2]].index.at[1], c[1].arg[1]);
	assert_int_equal(c[4].arg[1], p->output[0]);
	assert_int_equal(r.is->pte.nnamed, 2);
	assert_memory_equal(pte_named_find(&r.is->pte, "shared.key", 10)->data.data, "data", 4);
	assert_memory_equal(pte_named_find(&r.is->pte, "nobody's", 8)->data.data, "more", 4);
	teardown(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_methods_and_control_flow),
		cmocka_unit_test(foreign_delegates_and_unknown_operators),
	};

	return RUN_TAP(tests);
}
