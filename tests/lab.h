/* lab.h - small graphs made by hand, and their nodes run both ways: by portable kernels, and as one XNNPACK delegate. */
#ifndef TESTS_LAB_H
#define TESTS_LAB_H

#include "core/op/op.h"
#include "core/xnn/lower.h"

struct lab {
	struct graph *g;
	uint32_t seed;
	bool lenient;	/* lab_node gives NULL where the operator does not take its arguments; else that fails the test */
};

#define V(v) arg_value(v)
#define I(i) arg_int(i)
#define D(d) arg_double(d)
#define B(b) arg_bool(b)
#define NONE arg_none()
#define INTS(...) arg_ints(lab->g, (const int64_t[]){ __VA_ARGS__ }, (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)))
#define VALUES(...) arg_values(lab->g, (struct value *const[]){ __VA_ARGS__ }, \
			       (int)(sizeof(struct value *[]){ __VA_ARGS__ } / sizeof(struct value *)))
#define SIZES(...) (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (const int64_t[]){ __VA_ARGS__ }

struct lab *lab_new(void);
void lab_free(struct lab *lab);
struct value *lab_input(struct lab *lab, enum dtype t, int rank, const int64_t *size);
/* Random numbers from low to high, in the value's dim order (set by lab_order before they are looked at). */
struct value *lab_constant(struct lab *lab, enum dtype t, double low, double high, int rank, const int64_t *size);
struct value *lab_numbers(struct lab *lab, enum dtype t, const double *number, int rank, const int64_t *size);
void lab_order(struct value *v, const char *order);	/* "0231" */
#define lab_node(lab, op, ...) lab_make((lab), (op), (const struct arg[]){ __VA_ARGS__ }, \
					(int)(sizeof(struct arg[]){ __VA_ARGS__ } / sizeof(struct arg)))
struct value *lab_make(struct lab *lab, const char *op, const struct arg *arg, int n);
void lab_output(struct lab *lab, struct value *v);
/* Puts every node in one group, lowers it and runs it here; the largest difference of an output from what the
 * portable kernels give, relative to the larger of 1 and the expected magnitude. Fails the test on any error.
 * *low gets the lowered graph (memory of the lab's graph) if it is not NULL. scale: sizes of dynamic inputs as run,
 * a part of their bounds in dimension 0 (1: whole). */
double lab_run(struct lab *lab, struct xlowered *low, double scale);
/* xnn_lower of the nodes of a group, in the lab's memory. */
bool lab_lower(struct lab *lab, struct xlowered *low, int group, struct error *err);
/* How many nodes of a type the lowered graph has. */
int lab_count(const struct xlowered *low, enum xtag tag);

#endif
