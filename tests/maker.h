/* maker.h - programs made by hand, value by value and call by call, written and opened again. */
#ifndef TESTS_MAKER_H
#define TESTS_MAKER_H

#include "core/program/program.h"

struct maker {
	struct arena mem;
	vec(struct pte_plan) plan;
	vec(struct span) constant, mutable;
	vec(struct pte_named) named;
	struct map shared;	/* of maker_graph: contents by where they lie */
	/* of the method being made */
	vec(struct pte_value) value;
	vec(int32_t) input, output;
	vec(struct pte_instruction) code;
	vec(struct pte_operator) operator;
	vec(struct pte_delegate) delegate;
	int64_t arena[8];	/* sizes of memory 0 to 7 */
	int narenas;
};

struct maker *maker_new(void);
void maker_free(struct maker *m);
/* Starts a method, ending the one before. */
void maker_method(struct maker *m, const char *name);

#define SHAPE(...) (int)(sizeof((int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)), (const int32_t[]){ __VA_ARGS__ }
#define LIST(...) (int)(sizeof((int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)), (const int32_t[]){ __VA_ARGS__ }

/* Values; each returns its number. */
struct pte_tensor *maker_tensor(struct maker *m, int v);	/* to change it */
int maker_planned(struct maker *m, enum dtype t, uint32_t memory, uint64_t offset, int rank, const int32_t *size);
int maker_constant(struct maker *m, enum dtype t, const void *data, int rank, const int32_t *size);
int maker_again(struct maker *m, int constant, int rank, const int32_t *size);	/* the same index, other sizes */
int maker_mutable(struct maker *m, enum dtype t, const void *data, uint32_t memory, uint64_t offset, int rank, const int32_t *size);
int maker_external(struct maker *m, enum dtype t, const char *name, int rank, const int32_t *size);
int maker_bare(struct maker *m, enum dtype t, int rank, const int32_t *size);	/* no memory */
int maker_int(struct maker *m, int64_t i);
int maker_bool(struct maker *m, bool b);
int maker_double(struct maker *m, double d);
int maker_string(struct maker *m, const char *s);
int maker_none(struct maker *m);
int maker_ints(struct maker *m, int n, const int32_t *at);	/* makes the numbers, too */
int maker_list(struct maker *m, enum pte_tag tag, int n, const int32_t *value);	/* of values */

void maker_in(struct maker *m, int v);
void maker_out(struct maker *m, int v);
/* "aten::add.out" */
void maker_call(struct maker *m, const char *kernel, int n, const int32_t *arg);
void maker_delegate(struct maker *m, const char *id, struct span blob, int n, const int32_t *arg);
void maker_jump(struct maker *m, enum pte_call call, int from, int to);

/* The program; fails the test when there is an error, unless err is given. */
struct program *maker_open(struct maker *m, const char *const *data, int ndata, struct error *err);

/* Writes the program to a file, over one that is there. */
void maker_save(struct maker *m, const char *path);

#endif
