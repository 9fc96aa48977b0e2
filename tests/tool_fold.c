/* tool_fold - how long the fold of a program takes beside copying the constants that it reads, three times.
 *
 *   tool_fold FILE [ROUNDS]
 *
 * Both take turns; printed is {"fold_ms", "copies_ms", "ratio", "bytes"} with medians, and the median of the ratios. */
#include "core/pass/fold.h"
#include "core/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *why)
{
	fprintf(stderr, "tool_fold: %s\n", why);
	exit(1);
}

/* Plan and apply, on clones. */
static double fold_once(const struct program *p)
{
	struct graph **g = calloc((size_t)p->nmethods, sizeof(struct graph *));
	struct fold_plan plan;
	struct error err = { 0 };
	double begin, end;

	for (int i = 0; i < p->nmethods; i++)
		g[i] = graph_clone(p->method[i]);
	begin = now_ms();
	if (!fold_plan(&plan, g, p->nmethods, &err) || fold_apply(&plan, g, p->nmethods, &err) <= 0)
		die(*err.text ? err.text : "nothing folds");
	end = now_ms();
	fold_plan_free(&plan);
	for (int i = 0; i < p->nmethods; i++)
		graph_free(g[i]);
	free(g);
	return end - begin;
}

/* Into memory that is there already. */
static double copy_thrice(const struct fold_plan *plan, char *to)
{
	double begin = now_ms();

	for (int i = 0; i < plan->nfolds; i++)
		for (int k = 0; plan->fold[i].folds && k < plan->fold[i].nsources; k++)
			for (int n = 0; n < 3; n++) {
				memcpy(to, plan->fold[i].source[k]->data, plan->fold[i].source[k]->bytes);
				__asm__ volatile("" : : "r"(to) : "memory");
			}
	return now_ms() - begin;
}

static size_t source_bytes(const struct fold_plan *plan, size_t *largest)
{
	size_t sum = 0;

	for (int i = 0; i < plan->nfolds; i++)
		for (int k = 0; plan->fold[i].folds && k < plan->fold[i].nsources; k++) {
			size_t bytes = plan->fold[i].source[k]->bytes;

			sum += bytes;
			*largest = bytes > *largest ? bytes : *largest;
		}
	return sum;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *x, int n)
{
	qsort(x, (size_t)n, sizeof *x, by_size);
	return x[n / 2];
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	double *fold = calloc((size_t)rounds + 1, sizeof *fold), *copies = calloc((size_t)rounds + 1, sizeof *copies);
	double *ratio = calloc((size_t)rounds + 1, sizeof *ratio);
	struct program *p;
	struct fold_plan plan;
	struct error err = { 0 };
	size_t largest = 0, bytes;
	char *buffer;

	if (argc < 2 || rounds < 1)
		die("usage: tool_fold FILE [ROUNDS]");
	if (!program_open(&p, argv[1], NULL, 0, &err) || !fold_plan(&plan, p->method, p->nmethods, &err))
		die(err.text);
	bytes = source_bytes(&plan, &largest);
	buffer = malloc(largest + 1);
	memset(buffer, 1, largest);
	for (int i = 0; i < rounds; i++) {
		copies[i] = copy_thrice(&plan, buffer);
		fold[i] = fold_once(p);
		ratio[i] = fold[i] / copies[i];
	}
	printf("{\"fold_ms\": %.3f, \"copies_ms\": %.3f, \"ratio\": %.3f, \"bytes\": %zu}\n", median(fold, rounds),
	       median(copies, rounds), median(ratio, rounds), bytes);
	fold_plan_free(&plan);
	program_close(p);
	return 0;
}
