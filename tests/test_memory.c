/* Memory planning: what lives together never overlaps, and the arena is small. */
#include "tests/tap.h"

#include "core/base/mem.h"
#include "core/program/memory.h"

#include <stdlib.h>
#include <time.h>

enum { ALIGN = 16 };

static bool meet(const struct lifetime *a, const struct lifetime *b)
{
	return a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->bytes &&
		b->offset < a->offset + a->bytes;
}

static void assert_sound(const struct lifetime *l, int n, size_t arena)
{
	for (int i = 0; i < n; i++) {
		assert_true(l[i].fixed || l[i].offset % ALIGN == 0);
		assert_true(l[i].offset + l[i].bytes <= arena);
		for (int k = 0; k < i; k++)
			assert_false(meet(&l[i], &l[k]));
	}
}

/* The most bytes alive at one step: no plan can be smaller. */
static size_t peak(const struct lifetime *l, int n)
{
	size_t most = 0;

	for (int i = 0; i < n; i++) {
		size_t sum = 0;

		for (int k = 0; k < n; k++)
			if (l[k].first <= l[i].first && l[i].first <= l[k].last)
				sum += (l[k].bytes + ALIGN - 1) / ALIGN * ALIGN;
		most = sum > most ? sum : most;
	}
	return most;
}

/* What the exporter does: largest first, each into the first object that is free for its whole life. */
static size_t greedy_objects(const struct lifetime *l, int n)
{
	struct { size_t bytes; bool busy[4000]; } *object = calloc((size_t)n, sizeof *object);
	bool *done = calloc((size_t)n, 1);
	size_t sum = 0;
	int objects = 0;

	for (int k = 0; k < n; k++) {
		int big = -1, o = 0;

		for (int i = 0; i < n; i++)
			if (!done[i] && (big < 0 || l[i].bytes > l[big].bytes))
				big = i;
		done[big] = true;
		for (; o < objects; o++) {
			bool fits = true;

			for (int s = l[big].first; s <= l[big].last; s++)
				fits &= !object[o].busy[s];
			if (fits)
				break;
		}
		if (o == objects) {
			object[objects++].bytes = (l[big].bytes + ALIGN - 1) / ALIGN * ALIGN;
			sum += object[o].bytes;
		}
		for (int s = l[big].first; s <= l[big].last; s++)
			object[o].busy[s] = true;
	}
	free(object);
	free(done);
	return sum;
}

static void chain_needs_two_buffers(void **state)
{
	struct lifetime l[8];

	for (int i = 0; i < 8; i++)
		l[i] = (struct lifetime){ .bytes = 1024, .first = i, .last = i + 1 };
	assert_int_equal(memory_plan(l, 8, ALIGN), 2048);
	assert_sound(l, 8, 2048);
}

static void small_ones_share_a_gap(void **state)
{
	struct lifetime l[] = {	/* 96 lives through; 64 dies at 1, then two of 32 take its place */
		{ .bytes = 96, .first = 0, .last = 3 }, { .bytes = 64, .first = 0, .last = 1 },
		{ .bytes = 32, .first = 2, .last = 3 }, { .bytes = 32, .first = 2, .last = 3 },
	};

	assert_int_equal(memory_plan(l, 4, ALIGN), 160);
	assert_sound(l, 4, 160);
}

static void fixed_offsets_stay(void **state)
{
	struct lifetime l[] = {
		{ .bytes = 32, .first = 0, .last = 9, .fixed = true, .offset = 64 },
		{ .bytes = 64, .first = 1, .last = 2 }, { .bytes = 64, .first = 2, .last = 3 }, { .bytes = 8,
			.first = 3, .last = 3 },
	};
	size_t arena = memory_plan(l, 4, ALIGN);

	assert_int_equal(l[0].offset, 64);
	assert_sound(l, 4, arena);
	assert_int_equal(arena, 160);
}

static void nothing_and_empty_tensors(void **state)
{
	struct lifetime l[] = { { .bytes = 0, .first = 0, .last = 5 }, { .bytes = 16, .first = 0, .last = 5 } };

	assert_int_equal(memory_plan(NULL, 0, ALIGN), 0);
	assert_int_equal(memory_plan(l, 2, ALIGN), 16);
}

static void sizes_that_do_not_fit(void **state)
{
	struct lifetime l[] = { { .bytes = SIZE_MAX - 8, .first = 0, .last = 1 }, { .bytes = 64, .first = 0,
		.last = 1 } };

	assert_true(memory_plan(l, 2, ALIGN) == SIZE_MAX);
}

static void random_plans(void **state)
{
	enum { N = 300 };
	struct lifetime l[N];

	srand(7);
	for (int round = 0; round < 60; round++) {
		int n = 1 + (int)((unsigned)rand() % N);
		size_t arena;

		for (int i = 0; i < n; i++) {
			int first = rand() % 200, span = rand() % 10 ? rand() % 6 : rand() % 200;

			l[i] = (struct lifetime){ .bytes = (size_t)rand() % 5000, .first = first,
				.last = first + span };
		}
		arena = memory_plan(l, n, ALIGN);
		assert_sound(l, n, arena);
		assert_true(arena <= greedy_objects(l, n));
		assert_true(arena <= peak(l, n) * 5 / 4);
	}
}

/* As in a transformer: few sizes, short lives, some long ones. Placing the largest first is often not the best. */
static void a_search_finds_what_the_orders_miss(void **state)
{
	enum { N = 24, ROUNDS = 100 };
	struct lifetime l[N];
	int least = 0;

	srand(5);
	for (int round = 0; round < ROUNDS; round++) {
		size_t arena;

		for (int i = 0; i < N; i++)
			l[i] = (struct lifetime){ .bytes = 576u * (1u + (unsigned)rand() % 4), .first = i / 2,
				.last = i / 2 + (rand() % 6 ? 1 + rand() % 3 : 8) };
		arena = memory_plan(l, N, ALIGN);
		assert_sound(l, N, arena);
		least += arena == peak(l, N);
	}
	assert_true(least >= 98);	/* the orders reach 74 */
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void many_tensors(void **state)
{
	enum { N = 50000 };
	struct lifetime *l = mem_alloc(N * sizeof *l);
	double t0 = seconds();
	size_t arena;

	srand(3);
	for (int i = 0; i < N; i++)
		l[i] = (struct lifetime){ .bytes = 64u + (unsigned)rand() % 4096, .first = i,
			.last = i + 1 + rand() % 40 };
	arena = memory_plan(l, N, ALIGN);
	assert_true(arena < 200000);
	for (int i = 0; i < N; i++)	/* so many live together that the short way is taken */
		l[i] = (struct lifetime){ .bytes = i % 50 ? 64u + (unsigned)rand() % 4096 : 0, .first = i, .last = i + 1000 + rand() % 2000 };
	l[N - 1] = (struct lifetime){ .bytes = 4096, .first = 0, .last = N, .fixed = true, .offset = 40 };
	arena = memory_plan(l, N, ALIGN);
	assert_true(arena < 2000u * 2600);	/* 2,000 live at once, of 2,100 bytes each */
	for (int i = 0; i + 4000 <= N; i += 1500)
		assert_sound(&l[i], 4000, arena);
	for (int i = 0; i < N - 1; i++)
		assert_false(meet(&l[i], &l[N - 1]));
	assert_true(seconds() - t0 < 10);
	mem_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain_needs_two_buffers), cmocka_unit_test(small_ones_share_a_gap),
		cmocka_unit_test(fixed_offsets_stay), cmocka_unit_test(nothing_and_empty_tensors),
		cmocka_unit_test(sizes_that_do_not_fit), cmocka_unit_test(random_plans),
		cmocka_unit_test(a_search_finds_what_the_orders_miss), cmocka_unit_test(many_tensors),
	};

	return RUN_TAP(tests);
}
