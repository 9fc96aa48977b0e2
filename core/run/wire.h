/* wire.h - what parent and worker say to each other, as bytes.
 *
 *   1. a message is u64 kind, u64 length, then `length` bytes
 *   2. parent to child: one WIRE_JOB. Child to parent: WIRE_PROGRESS as it goes, WIRE_OUTPUT for each output of
 *      each call, and one WIRE_RESULT or WIRE_FAILED as the last
 *   3. numbers are 8 bytes of this machine; a text is its length + 1 and its bytes with the NUL (0: NULL)
 *
 * Both ends are the same executable. Reading checks every length all the same: the first thing wrong makes all
 * that follows read as nothing, and `bad` tells. */
#ifndef CORE_RUN_WIRE_H
#define CORE_RUN_WIRE_H

#include "core/run/worker.h"

enum wire_kind { WIRE_JOB = 1, WIRE_PROGRESS, WIRE_OUTPUT, WIRE_RESULT, WIRE_FAILED, WIRE_KINDS };

struct wire_head { uint64_t kind, bytes; };

/* In front of an output's bytes. */
struct wire_tensor {
	uint64_t there;		/* 0: the method returns nothing here */
	uint64_t dtype, rank, bytes;
	int64_t size[MAX_RANK];
	uint8_t dim_order[MAX_RANK];
	uint8_t pad[80];	/* to 256: the bytes that follow are as aligned as the message */
};

/* What the child is doing, in memory that outlives it. */
struct wire_where {
	char stage[WHERE_BYTES];	/* "running" */
	char at[WHERE_BYTES];		/* "forward/3": exec_options.where */
};

struct wire_out { uint8_t *data; size_t n, cap; };

void wire_put(struct wire_out *w, uint64_t v);
void wire_put_double(struct wire_out *w, double v);
void wire_put_text(struct wire_out *w, const char *s);
void wire_free(struct wire_out *w);

struct wire_in { const uint8_t *data; size_t n, at; bool bad; };

uint64_t wire_get(struct wire_in *w);
int wire_get_count(struct wire_in *w, size_t least_bytes_each);	/* of items that must still be there */
double wire_get_double(struct wire_in *w);
const char *wire_get_text(struct wire_in *w);	/* in the message */

void wire_put_job(struct wire_out *w, const struct job *job);
/* Everything but data's bytes is in the arena or the message. fd is whether there is one: 0 or -1. */
bool wire_get_job(struct wire_in *w, struct job *job, struct arena *a);
void wire_put_result(struct wire_out *w, const struct job_result *r);
bool wire_get_result(struct wire_in *w, struct job_result *r);

#endif
