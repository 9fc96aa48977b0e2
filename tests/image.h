/* image.h - a program made by hand that holds every kind of value, instruction and storage, for tests. */
#ifndef TESTS_IMAGE_H
#define TESTS_IMAGE_H

#include "tests/edit.h"

/* Its values, by number. */
enum {
	V_WEIGHT, V_BYTES, V_STATE, V_DYNAMIC, V_BARE, V_EXTERNAL, V_EXTERNAL_STATE, V_SEVEN, V_MINUS, V_TRUE, V_HALF,
	V_TEXT, V_NONE, V_INTS, V_DOUBLES, V_BOOLS, V_TENSORS, V_OPTIONALS, V_NHWC, V_FLAG, V_COUNT,
};

extern const float image_weight[6], image_state[2];
extern const uint8_t image_bytes[3], image_blob[20], image_named[8];

struct pte_image make_image(struct arena *a);
struct edit write_image(const struct pte_image *m);
bool read_bytes(struct pte *p, const struct edit *e, struct arena *a, struct error *err);	/* as "a.pte" */
void same_plan(const struct pte_plan *a, const struct pte_plan *b);	/* asserts it */

#define N(array) ((int)(sizeof (array) / sizeof *(array)))

#endif
