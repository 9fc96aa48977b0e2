/* matmul_body.h - the body of matmul.c for one arithmetic; included once each with T (element), SUM (what it is
 * added up in: unsigned for integers, which wrap) and NAME(x) defined. No include guard: that is the point. */

/* Packed operands: A as panels of MR rows [k][MR], B as panels of NR columns [k][NR]; missing rows and columns are 0.
 * TILE is one MR x NR block of C. Loops are over COLS columns at a time, so that the accumulators fit in registers. */
#define TILE_BODY(BYTES) \
	typedef SUM vec __attribute__((vector_size(BYTES), may_alias)); \
	enum { LANES = BYTES / sizeof(SUM), STEP = 2 * LANES }; \
	for (int j = 0; j < NR && j < cols; j += STEP) { \
		vec acc[MR][2]; \
		for (int i = 0; i < MR; i++) { \
			acc[i][0] = *(vec *)(tile + i * NR + j); \
			acc[i][1] = *(vec *)(tile + i * NR + j + LANES); \
		} \
		for (int64_t p = 0; p < k; p++) { \
			vec b0 = *(const vec *)(b + p * NR + j), b1 = *(const vec *)(b + p * NR + j + LANES); \
			_Pragma("GCC unroll 4") \
			for (int i = 0; i < MR; i++) { \
				acc[i][0] += (SUM)a[p * MR + i] * b0; \
				acc[i][1] += (SUM)a[p * MR + i] * b1; \
			} \
		} \
		for (int i = 0; i < MR; i++) { \
			*(vec *)(tile + i * NR + j) = acc[i][0]; \
			*(vec *)(tile + i * NR + j + LANES) = acc[i][1]; \
		} \
	}

static void NAME(tile)(const T *a, const T *b, int64_t k, int cols, T *tile)
{
	TILE_BODY(16)
}

#ifdef __x86_64__
__attribute__((target("avx2")))
static void NAME(tile_avx2)(const T *a, const T *b, int64_t k, int cols, T *tile)
{
	TILE_BODY(32)
}

__attribute__((target("avx512f,avx512dq,prefer-vector-width=512")))
static void NAME(tile_avx512)(const T *a, const T *b, int64_t k, int cols, T *tile)
{
	TILE_BODY(64)
}
#endif
#undef TILE_BODY

typedef void NAME(tile_fn)(const T *a, const T *b, int64_t k, int cols, T *tile);

static NAME(tile_fn) *NAME(tile_best)(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		return NAME(tile_avx512);
	if (__builtin_cpu_supports("avx2"))
		return NAME(tile_avx2);
#endif
	return NAME(tile);
}

static void NAME(pack_a)(const struct matmul *mm, int64_t i0, int64_t m, int64_t k0, int64_t k, T *to)
{
	for (int64_t i = 0; i < m; i += MR, to += MR * k)
		for (int r = 0; r < MR; r++) {
			const T *row = (const T *)mm->a.data + (i0 + i + r) * mm->a.row + k0 * mm->a.col;

			for (int64_t p = 0; p < k; p++)
				to[p * MR + r] = i + r < m ? row[p * mm->a.col] : 0;
		}
}

/* One row of B, n columns from j0, into its panels. */
static void NAME(spread)(const T *row, int64_t n, int64_t k, T *to)
{
	for (int64_t j = 0; j < n; j += NR, row += NR, to += NR * k) {
		if (n - j >= NR) {
			memcpy(to, row, NR * sizeof(T));
		} else {
			memcpy(to, row, (size_t)(n - j) * sizeof(T));
			memset(to + (n - j), 0, (size_t)(NR - (n - j)) * sizeof(T));
		}
	}
}

static void NAME(pack_b)(const struct matmul *mm, int64_t k0, int64_t k, int64_t j0, int64_t n, T *row, T *to)
{
	const T *b = (const T *)mm->b.data + k0 * mm->b.row + j0 * mm->b.col;

	if (mm->fetch || mm->b.col == 1) {
		for (int64_t p = 0; p < k; p++) {
			if (mm->fetch)
				mm->fetch(mm->ctx, k0 + p, j0, n, row);
			NAME(spread)(mm->fetch ? row : b + p * mm->b.row, n, k, to + p * NR);
		}
		return;
	}
	for (int64_t j = 0; j < n; j += NR, to += NR * k)
		for (int c = 0; c < NR; c++) {
			const T *col = b + (j + c) * mm->b.col;

			for (int64_t p = 0; p < k; p++)
				to[p * NR + c] = j + c < n ? col[p * mm->b.row] : 0;
		}
}

static void NAME(move_tile)(const struct matmul *mm, int64_t i, int64_t j, T *tile, bool out)
{
	int64_t m = mm->m - i < MR ? mm->m - i : MR, n = mm->n - j < NR ? mm->n - j : NR;

	for (int64_t r = 0; r < m; r++) {
		T *c = (T *)mm->c + (i + r) * mm->c_row + j * mm->c_col, *t = tile + r * NR;

		if (mm->c_col == 1)
			memcpy(out ? c : t, out ? t : c, (size_t)n * sizeof(T));
		else
			for (int64_t s = 0; s < n; s++)
				*(out ? c + s * mm->c_col : t + s) = *(out ? t + s : c + s * mm->c_col);
	}
}

/* C[i0 .. i0 + m)[j0 .. j0 + n) += packed A times packed B; the first block of k starts from zero. */
static void NAME(block)(const struct matmul *mm, int64_t i0, int64_t m, int64_t j0, int64_t n, int64_t k, bool first,
			const T *a, const T *b)
{
	NAME(tile_fn) *tile_fn = NAME(tile_best)();
	_Alignas(64) T tile[MR * NR];

	for (int64_t j = 0; j < n; j += NR)
		for (int64_t i = 0; i < m; i += MR) {
			memset(tile, 0, sizeof tile);
			if (!first)
				NAME(move_tile)(mm, i0 + i, j0 + j, tile, false);
			tile_fn(a + i * k, b + j * k, k, (int)(n - j < NR ? n - j : NR), tile);
			NAME(move_tile)(mm, i0 + i, j0 + j, tile, true);
		}
}

static void NAME(blocked)(const struct matmul *mm)
{
	int64_t kc = mm->k < KC ? mm->k : KC, mc = mm->m < MC ? (mm->m + MR - 1) / MR * MR : MC;
	T *row = mm->work, *a = row + NC, *b = a + ALIGN(mc * kc);

	for (int64_t j = 0; j < mm->n; j += NC)
		for (int64_t p = 0; p < mm->k; p += KC) {
			int64_t n = mm->n - j < NC ? mm->n - j : NC, k = mm->k - p < KC ? mm->k - p : KC;

			NAME(pack_b)(mm, p, k, j, n, row, b);
			for (int64_t i = 0; i < mm->m; i += MC) {
				int64_t m = mm->m - i < MC ? mm->m - i : MC;

				NAME(pack_a)(mm, i, m, p, k, a);
				NAME(block)(mm, i, m, j, n, k, !p, a, b);
			}
		}
}

/* Few rows, rows of B contiguous: c[j] += a[k] * B[k][j]. */
static void NAME(rows)(const struct matmul *mm)
{
	for (int64_t i = 0; i < mm->m; i++) {
		const T *a = (const T *)mm->a.data + i * mm->a.row;

		for (int64_t j0 = 0; j0 < mm->n; j0 += 1024) {
			T sum[1024] = { 0 };
			int64_t n = mm->n - j0 < 1024 ? mm->n - j0 : 1024;

			for (int64_t p = 0; p < mm->k; p++) {
				const T *b = (const T *)mm->b.data + p * mm->b.row + j0;
				SUM x = (SUM)a[p * mm->a.col];

				for (int64_t j = 0; j < n; j++)
					sum[j] = (T)((SUM)sum[j] + x * (SUM)b[j]);
			}
			for (int64_t j = 0; j < n; j++)
				((T *)mm->c)[i * mm->c_row + (j0 + j) * mm->c_col] = sum[j];
		}
	}
}

static T NAME(dot)(const T *a, const T *b, int64_t k)
{
	SUM sum[16] = { 0 };
	int64_t p = 0;

	for (; p + 16 <= k; p += 16)
		for (int l = 0; l < 16; l++)
			sum[l] += (SUM)a[p + l] * (SUM)b[p + l];
	for (; p < k; p++)
		sum[p & 15] += (SUM)a[p] * (SUM)b[p];
	for (int w = 8; w; w /= 2)
		for (int l = 0; l < w; l++)
			sum[l] += sum[l + w];
	return (T)sum[0];
}

/* Few rows, columns of B contiguous. */
static void NAME(dots)(const struct matmul *mm)
{
	for (int64_t j = 0; j < mm->n; j++)
		for (int64_t i = 0; i < mm->m; i++)
			((T *)mm->c)[i * mm->c_row + j * mm->c_col] =
				NAME(dot)((const T *)mm->a.data + i * mm->a.row,
					  (const T *)mm->b.data + j * mm->b.col, mm->k);
}

#undef T
#undef SUM
#undef NAME
