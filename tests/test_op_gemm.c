#include "tests/opcase.h"
#include "tests/tap.h"

#include "core/op/matmul.h"

static void products_and_linear(void **state)
{
	opcase_run("tests/fixtures/gemm.txt");
}

static void convolutions(void **state)
{
	opcase_run("tests/fixtures/convolution.txt");
}

/* What matmul.h promises: beyond every block size, strided and ragged, to the last bit of the plain loop. */
static void matmul_equals_the_plain_loop(void **state)
{
	enum { M = 133, N = 517, K = 259 };
	struct arena mem = { 0 };
	float *a = arena_array(&mem, M * K, 4), *b = arena_array(&mem, K * N, 4), *c = arena_array(&mem, M * N, 4);
	struct call call = { .op = op_find("aten.mm.default"), .scratch = &mem };
	struct matmul mm = { .kind = KIND_F32, .m = M, .n = N, .k = K, .c = c, .c_row = N, .c_col = 1 };
	uint32_t r = 1;

	for (int i = 0; i < M * K; i++)
		a[i] = (float)(int)((r = r * 1664525 + 1013904223) >> 8) / 1e6f - 8;
	for (int i = 0; i < K * N; i++)
		b[i] = (float)(int)((r = r * 1664525 + 1013904223) >> 8) / 1e6f - 8;
	for (int layout = 0; layout < 4; layout++) {
		mm.a = layout & 1 ? (struct matrix){ a, 1, M } : (struct matrix){ a, K, 1 };
		mm.b = layout & 2 ? (struct matrix){ b, 1, K } : (struct matrix){ b, N, 1 };
		mm.c_row = layout == 3 ? 1 : N, mm.c_col = layout == 3 ? M : 1;
		assert_true(matmul_run(&call, &mm, NULL));
		for (int i = 0; i < M; i += 3)
			for (int j = 0; j < N; j++) {
				float sum = 0;

				for (int k = 0; k < K; k++)
					sum += a[i * mm.a.row + k * mm.a.col] * b[k * mm.b.row + j * mm.b.col];
				assert_true(sum == c[i * mm.c_row + j * mm.c_col]);
			}
	}
	arena_free(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_and_linear),
		cmocka_unit_test(convolutions),
		cmocka_unit_test(matmul_equals_the_plain_loop),
	};

	return RUN_TAP(tests);
}
