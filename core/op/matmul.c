#include "core/op/matmul.h"

#include <string.h>

/* A tile of MR x NR sums; packed blocks of A (MC x KC) and B (KC x NC) that stay in the second-level cache. */
enum { MR = 4, NR = 32, MC = 128, KC = 256, NC = 512, FEW_ROWS = 4 };
#define ALIGN(count) (((count) + 15) & ~(int64_t)15)	/* packed B is loaded in whole vectors */

#define T float
#define SUM float
#define NAME(x) x##_f32
#include "core/op/matmul_body.h"

#define T double
#define SUM double
#define NAME(x) x##_f64
#include "core/op/matmul_body.h"

#define T int64_t
#define SUM uint64_t
#define NAME(x) x##_i64
#include "core/op/matmul_body.h"

static const struct {
	void (*blocked)(const struct matmul *mm);
	void (*rows)(const struct matmul *mm);
	void (*dots)(const struct matmul *mm);
} by_kind[] = {
	[KIND_F32] = { blocked_f32, rows_f32, dots_f32 },
	[KIND_F64] = { blocked_f64, rows_f64, dots_f64 },
	[KIND_I64] = { blocked_i64, rows_i64, dots_i64 },
};

/* C = A B is C' = B' A': few columns become few rows. */
static struct matmul transposed(const struct matmul *mm)
{
	struct matmul t = *mm;

	t.m = mm->n, t.n = mm->m;
	t.a = (struct matrix){ mm->b.data, mm->b.col, mm->b.row };
	t.b = (struct matrix){ mm->a.data, mm->a.col, mm->a.row };
	t.c_row = mm->c_col, t.c_col = mm->c_row;
	return t;
}

static void zero(const struct matmul *mm)
{
	size_t bytes = kind_bytes(mm->kind);

	for (int64_t i = 0; i < mm->m; i++)
		for (int64_t j = 0; j < mm->n; j++)
			memset((char *)mm->c + (size_t)(i * mm->c_row + j * mm->c_col) * bytes, 0, bytes);
}

/* Room for a row of B and packed blocks of both operands. */
static bool get_work(struct call *call, struct matmul *mm, struct error *err)
{
	int64_t kc = mm->k < KC ? mm->k : KC, mc = mm->m < MC ? (mm->m + MR - 1) / MR * MR : MC;
	int64_t nc = mm->n < NC ? (mm->n + NR - 1) / NR * NR : NC, count = NC + ALIGN(mc * kc) + kc * nc;

	if (mm->work && mm->work_count >= count)
		return true;
	mm->work = plain_alloc(call, mm->kind, count, err);
	mm->work_count = count;
	return mm->work;
}

bool matmul_run(struct call *call, struct matmul *mm, struct error *err)
{
	struct matmul t;

	if (!mm->k || !mm->m || !mm->n) {
		zero(mm);
		return true;
	}
	if (!mm->fetch && mm->n < FEW_ROWS && mm->n < mm->m) {
		t = transposed(mm);
		mm = &t;
	}
	if (!mm->fetch && mm->m < FEW_ROWS && mm->b.col == 1)
		by_kind[mm->kind].rows(mm);
	else if (!mm->fetch && mm->m < FEW_ROWS && mm->a.col == 1 && mm->b.row == 1)
		by_kind[mm->kind].dots(mm);
	else if (get_work(call, mm, err))
		by_kind[mm->kind].blocked(mm);
	else
		return false;
	return true;
}
