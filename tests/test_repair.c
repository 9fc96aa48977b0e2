/* Delegates that read a stored constant at run time, which the stock runtime has freed by then, are made anew with
 * the constant as an argument, and the constant is still stored once. */
#include "core/format/xblob.h"
#include "core/pass/partition.h"
#include "core/program/emit.h"
#include "core/xnn/lower.h"
#include "tests/maker.h"
#include "tests/tap.h"
#include "tests/xmake.h"

#include <sys/mman.h>
#include <unistd.h>

enum { SIDE = 4, BYTES = SIDE * SIDE * 4 };

struct rig {
	struct xmake *x;
	struct maker *m;
	struct xvalue *weight;
	struct program *was, *is;
	struct graph *g;
	struct emitted out;
	struct error err;
};

static void setup(struct rig *r)
{
	memset(r, 0, sizeof *r);
	r->x = xmake_new();
	r->m = maker_new();
}

static void teardown(struct rig *r)
{
	program_close(r->is);
	emitted_free(&r->out);
	graph_free(r->g);
	program_close(r->was);
	maker_free(r->m);
	xmake_free(r->x);
}

static struct xvalue *input(struct rig *r) { return xmake_input(r->x, XD_FP32, DIMS(SIDE, SIDE)); }
static struct xvalue *result(struct rig *r) { return xmake_output(r->x, XD_FP32, DIMS(SIDE, SIDE)); }

/* Stored as exporters do: named data under its digest. */
static struct xvalue *stored(struct rig *r)
{
	struct xvalue *v = xmake_static(r->x, XD_FP32, -1, 1, DIMS(SIDE, SIDE));

	v->key = data_key(&r->m->mem, "", v->data.data, v->data.bytes);
	vec_push(&r->m->mem, &r->m->named, ((struct pte_named){ .key = v->key, .key_bytes = strlen(v->key), .data = v->data }));
	return v;
}

/* The program around the delegate: one input, then its outputs. */
static void open_program(struct rig *r)
{
	struct span blob;
	int32_t arg[8];
	int n = (int)r->x->x.nexterns;

	assert_true(xblob_write(&r->x->x, &r->m->mem, &blob, &r->err));
	for (int i = 0; i < n; i++) {
		arg[i] = maker_planned(r->m, DTYPE_F32, 1, (uint64_t)i * BYTES, SHAPE(SIDE, SIDE));
		(i < r->x->nin ? maker_in : maker_out)(r->m, arg[i]);
	}
	maker_delegate(r->m, "XnnpackBackend", blob, n, arg);
	r->was = maker_open(r->m, NULL, 0, NULL);
}

static void reopen(struct rig *r)
{
	int fd = memfd_create("emitted", MFD_CLOEXEC);
	struct file file;

	for (int i = 0; i < r->out.program.npieces; i++)
		assert_int_equal(write(fd, r->out.program.piece[i].data, r->out.program.piece[i].bytes), r->out.program.piece[i].bytes);
	assert_true(file_open_fd(&file, fd, "emitted", &r->err));
	close(fd);
	assert_true(program_open_file(&r->is, file, NULL, 0, &r->err));
}

static void repair(struct rig *r)
{
	open_program(r);
	r->g = graph_clone(r->was->method[0]);
	if (!partition_apply_all(&r->g, 1, &r->err) || !program_emit(&r->out, r->was, &r->g, &r->err))
		fail_msg("%s", r->err.text);
	reopen(r);
}

/* The one delegate of the written program. */
static struct xgraph written(struct rig *r)
{
	struct xgraph x;

	assert_int_equal(r->is->pte.plan[0].ndelegates, 1);
	assert_true(program_delegate(r->is, 0, 0, &x, &r->m->mem, &r->err));
	return x;
}

static void is_repaired(struct rig *r)
{
	struct xgraph x = written(r);

	assert_non_null(xgraph_read_unpacked(&r->x->x));
	assert_null(xgraph_read_unpacked(&x));
	assert_int_equal(r->out.tensor_bytes, BYTES);
	assert_int_equal(r->is->pte.plan[0].chain[0].instruction[0].nargs, (int)r->x->x.nexterns + 1);
}

/* Packed by a linear, and copied to an output. */
static void a_weight_that_is_copied_as_well(void **state)
{
	struct rig r;
	struct xvalue *x, *w, *a, *b;

	setup(&r);
	x = input(&r);
	w = stored(&r);
	a = result(&r);
	b = result(&r);
	xmake_node(r.x, X_FULLY_CONNECTED, x->id, w->id, XNONE, a->id, 0);
	xmake_node(r.x, X_COPY, w->id, b->id, 0);
	repair(&r);
	is_repaired(&r);
	assert_int_equal(r.is->pte.nnamed, 1);
	teardown(&r);
}

static void an_elementwise_operand(void **state)
{
	struct rig r;
	struct xvalue *x, *w;

	setup(&r);
	x = input(&r);
	w = stored(&r);
	xmake_node(r.x, X_ADD, x->id, w->id, result(&r)->id, 0);
	repair(&r);
	is_repaired(&r);
	assert_int_equal(r.is->pte.nnamed, 0);
	teardown(&r);
}

/* Nothing to repair: not a byte changes. */
static void a_filter_stays(void **state)
{
	struct rig r;
	struct xvalue *x, *w;

	setup(&r);
	x = input(&r);
	w = stored(&r);
	xmake_node(r.x, X_FULLY_CONNECTED, x->id, w->id, XNONE, result(&r)->id, 0);
	repair(&r);
	assert_null(xgraph_read_unpacked(&r.x->x));
	assert_false(r.g->group[0].changed);
	assert_int_equal(r.is->pte.plan[0].delegate[0].blob.bytes, r.was->pte.plan[0].delegate[0].blob.bytes);
	assert_memory_equal(r.is->pte.plan[0].delegate[0].blob.data, r.was->pte.plan[0].delegate[0].blob.data,
			    r.was->pte.plan[0].delegate[0].blob.bytes);
	teardown(&r);
}

/* A node that has no operator here cannot be made anew. */
static void what_is_not_understood_stays(void **state)
{
	struct rig r;
	struct xvalue *x, *w, *a;

	setup(&r);
	x = input(&r);
	w = stored(&r);
	a = xmake_inner(r.x, XD_FP32, DIMS(SIDE, SIDE));
	xmake_node(r.x, X_ADD, x->id, w->id, a->id, 0);
	xmake_node(r.x, X_FULLY_CONNECTED, a->id, w->id, XNONE, result(&r)->id, 0x100);
	repair(&r);
	assert_false(r.g->group[0].changed);
	assert_int_equal(r.is->pte.plan[0].delegate[0].blob.bytes, r.was->pte.plan[0].delegate[0].blob.bytes);
	teardown(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_weight_that_is_copied_as_well),
		cmocka_unit_test(an_elementwise_operand),
		cmocka_unit_test(a_filter_stays),
		cmocka_unit_test(what_is_not_understood_stays),
	};

	return RUN_TAP(tests);
}
