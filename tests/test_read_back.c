/* What is written is read back before it is handed out. Here the writers are replaced by some that err. */
#include "core/format/xblob.h"
#include "core/pass/partition.h"
#include "core/program/emit.h"
#include "core/xnn/lower.h"
#include "tests/maker.h"
#include "tests/tap.h"
#include "tests/xmake.h"

#include <sys/mman.h>
#include <unistd.h>

bool __real_pte_write(struct pte_output *out, const struct pte_image *image, struct error *err);
bool __real_xblob_write(const struct xgraph *x, struct arena *mem, struct span *blob, struct error *err);
bool __wrap_pte_write(struct pte_output *out, const struct pte_image *image, struct error *err);
bool __wrap_xblob_write(const struct xgraph *x, struct arena *mem, struct span *blob, struct error *err);

/* What the next writer does wrong. */
static size_t flip;		/* this byte of the tables, 0: none */
static struct span instead;	/* these bytes for a delegate */
static size_t tables;		/* how many bytes there are to flip */

bool __wrap_pte_write(struct pte_output *out, const struct pte_image *image, struct error *err)
{
	bool ok = __real_pte_write(out, image, err);

	tables = ok ? out->piece[0].bytes : 0;
	if (ok && flip) {
		uint8_t *own = mem_alloc(tables);

		memcpy(own, out->piece[0].data, tables);
		own[flip] ^= 1;
		mem_free(out->own);
		out->own = own;
		out->piece[0].data = own;
	}
	return ok;
}

bool __wrap_xblob_write(const struct xgraph *x, struct arena *mem, struct span *blob, struct error *err)
{
	if (!instead.data)
		return __real_xblob_write(x, mem, blob, err);
	*blob = instead;
	return true;
}

/* relu(x * w), erf outside: a delegate, a kernel, a constant, two tensors in memory. */
static struct program *open_program(struct maker *m)
{
	static const float numbers[16] = { 1, 2, 3 };
	int x = maker_planned(m, DTYPE_F32, 1, 0, SHAPE(4, 4)), y = maker_planned(m, DTYPE_F32, 1, 64, SHAPE(4, 4));
	int z = maker_planned(m, DTYPE_F32, 1, 128, SHAPE(4, 4)), w = maker_constant(m, DTYPE_F32, numbers, SHAPE(4, 4));

	maker_in(m, x);
	maker_call(m, "aten::mul.out", LIST(x, w, y, y));
	maker_call(m, "aten::relu.out", LIST(y, z, z));
	maker_call(m, "aten::erf.out", LIST(z, y, y));
	maker_out(m, y);
	return maker_open(m, NULL, 0, NULL);
}

static void reopen(struct program **p, const struct emitted *e)
{
	int fd = memfd_create("emitted", MFD_CLOEXEC);
	struct error err = { 0 };
	struct file file;

	for (int i = 0; i < e->program.npieces; i++)
		assert_int_equal(write(fd, e->program.piece[i].data, e->program.piece[i].bytes), e->program.piece[i].bytes);
	assert_true(file_open_fd(&file, fd, "emitted", &err));
	close(fd);
	if (!program_open_file(p, file, NULL, 0, &err))
		fail_msg("what was handed out does not open: %s", err.text);
}

/* The graph, and where its tensors lie, as text. */
static char *look(struct arena *a, const struct emitted *e)
{
	struct str s = { 0 };
	struct program *p;
	char *text;

	reopen(&p, e);
	graph_print(p->method[0], &s);
	for (int i = 0; i < p->pte.plan[0].nvalues; i++)
		if (p->pte.plan[0].value[i].tag == PTE_TENSOR)
			str_addf(&s, "%u %llu\n", p->pte.plan[0].value[i].tensor->memory_id,
				 (unsigned long long)p->pte.plan[0].value[i].tensor->memory_offset);
	text = arena_string(a, s.text);
	str_free(&s);
	program_close(p);
	return text;
}

/* Whichever bit of the tables is wrong, what is handed out is what was meant. */
static void a_wrong_bit_is_found_or_means_nothing(void **state)
{
	struct maker *m = maker_new();
	struct program *p = open_program(m);
	struct graph *g = graph_clone(p->method[0]);
	struct error err = { 0 };
	struct emitted out;
	const char *meant;
	size_t n, found = 0;

	assert_true(partition_apply_all(&g, 1, &err));
	flip = 0;
	assert_true(program_emit(&out, p, &g, &err));
	meant = look(&m->mem, &out);
	emitted_free(&out);
	n = tables;
	for (flip = 8; flip < n; flip++) {
		if (!program_emit(&out, p, &g, &err)) {
			found++;
			continue;
		}
		assert_string_equal(look(&m->mem, &out), meant);
		emitted_free(&out);
	}
	flip = 0;
	assert_true(found > n / 2);
	graph_free(g);
	program_close(p);
	maker_free(m);
}

/* A delegate that would read what the runtime has freed by then, or that is none at all, is not written. */
static void a_wrong_delegate_is_found(void **state)
{
	struct maker *m = maker_new();
	struct xmake *x = xmake_new();
	struct program *p;
	struct graph *g;
	struct xvalue *in = xmake_input(x, XD_FP32, DIMS(4, 4)), *out = xmake_output(x, XD_FP32, DIMS(4, 4));
	struct xvalue *stored = xmake_static(x, XD_FP32, -1, 1, DIMS(4, 4));
	struct error err = { 0 };
	struct emitted e;
	struct span adds;

	stored->key = data_key(&m->mem, "", stored->data.data, stored->data.bytes);
	vec_push(&m->mem, &m->named, ((struct pte_named){ .key = stored->key, .key_bytes = 64, .data = stored->data }));
	p = open_program(m);
	g = graph_clone(p->method[0]);
	assert_true(partition_apply_all(&g, 1, &err));
	xmake_node(x, X_ADD, in->id, stored->id, out->id, 0);
	assert_true(__real_xblob_write(&x->x, &m->mem, &adds, &err));
	instead = adds;
	assert_false(program_emit(&e, p, &g, &err));
	assert_non_null(strstr(err.text, "stored in it and read at run time"));
	instead = (struct span){ (const uint8_t *)"no delegate, but bytes of some length", 37 };
	assert_false(program_emit(&e, p, &g, &err));
	instead = (struct span){ 0 };
	assert_true(program_emit(&e, p, &g, &err));
	emitted_free(&e);
	graph_free(g);
	program_close(p);
	xmake_free(x);
	maker_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_bit_is_found_or_means_nothing),
		cmocka_unit_test(a_wrong_delegate_is_found),
	};

	return RUN_TAP(tests);
}
