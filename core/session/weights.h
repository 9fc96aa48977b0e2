/* weights.h - what the bytes of constants give away. Of each constant a few bytes are read; all of them only where they
 * look suspicious so far. */
#ifndef CORE_SESSION_WEIGHTS_H
#define CORE_SESSION_WEIGHTS_H

#include "core/program/program.h"

/* w, f32 [out, in], holds nothing but whole numbers that fill the range of int4 or int8 in each row that is not zero:
 * what quantisation leaves when its scales are lost. */
bool weight_is_quantized(const struct value *w);

/* A constant whose bytes stand in the files a second time. */
struct stored_twice {
	const struct value *again, *first;
	const struct node *reader, *first_reader;	/* the first ones; of `again` in method `at` */
	const struct graph *first_method;
};

/* Those of method `at` that are not met before, in it or in the methods before it. Constants of less than 1 kB are not
 * counted. Memory is the arena's. */
struct stored_twice *weights_stored_twice(const struct program *p, struct graph *const *method, int at, struct arena *a,
					  int *n);

#endif
