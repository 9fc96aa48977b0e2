/* opcase.h - operator tests as text, one call a line, made by tests/fixtures/opcase.py.
 *
 *   aten.mm.default ; f32[2,2] 1 2 3 4 ; f32[2,1] 5 6 > f32[2,1] 17 39
 *
 * Arguments are separated by ';', results stand behind '>' in the same form, or the word `error`. A tensor is its type
 * and sizes, '@' and the dim order unless it is the default one, and its elements in logical order (complex ones as
 * pairs). Numbers with a
 * point, an exponent, inf and nan are floats; true, false and none; 'text'; lists are ( a , b ). The
 * arguments that an operator writes stand behind its results, as they are after the call. A line may begin with ~TOL, the
 * difference allowed, relative to the larger of 1 and the expected magnitude. '#' begins a comment. */
#ifndef TESTS_OPCASE_H
#define TESTS_OPCASE_H

#include "core/op/op.h"

/* Runs every line of a file; fails the test with the first line that is wrong after printing all of them. */
void opcase_run(const char *path);

/* What a line says of its row. Sets of dtypes have a bit each. */
struct opcase {
	const struct op *op;
	bool works;		/* results stand behind '>', no error */
	uint32_t given;		/* the dtype of the first tensor argument, when it works */
	uint32_t taken;		/* what the row takes in its place, by its shape rule, among DTYPES_ALL */
};

void opcase_survey(const char *path, void (*seen)(const struct opcase *o, void *ctx), void *ctx);

#endif
