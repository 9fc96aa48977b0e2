/* emit.h - graphs as a program file again.
 *
 * Methods that did not change are carried over value by value; changed ones are emitted anew: delegates whose
 * group did not change keep their bytes, others are lowered, remaining nodes become out-variant kernel calls,
 * static views are elided, memory is planned anew, constants are stored once by content. A constant that a
 * kernel reads in another dim order than the default is stored in default order. Emitted programs obey every
 * rule of facts (formats, 7) and are read back with pte_read before they are handed out. */
#ifndef CORE_PROGRAM_EMIT_H
#define CORE_PROGRAM_EMIT_H

#include "core/program/program.h"

/* What the calls of a method were in the file, so that a profile of the new program can be read against what was
 * recorded of the old one: that goes by call numbers. */
struct call_map {
	const char *method;
	struct call_from { int *was, n; } *call;	/* by new call: the calls whose work it does, sorted */
	int ncalls;
	int *gone, ngone;	/* calls whose work nothing does any more */
	int moved;		/* calls that have another number, or share one */
	int delegates_anew;	/* delegates with nodes that had debug ids in a delegate of the file: numbered anew */
};

struct emitted {
	struct arena mem;
	struct pte_output program;
	const struct pte_plan *plan;	/* by method, as written */
	/* By method: what each value of its plan is in the graph, or NULL; NULL: it is as filed. */
	const struct value *const **value_of;
	struct { int data; struct pte_output file; } *data;	/* .ptd files that changed: number in program->data */
	int ndata;
	const char **lost;	/* "debug handles of forward: ..." */
	int nlost;
	struct call_map *moved;	/* of methods whose calls are not those of the file */
	int nmoved;
	uint64_t tensor_bytes;	/* stored, wherever they end, shared content once */
	uint64_t planned_bytes;	/* all arenas of all methods */
	struct work *work;	/* who looks on while it is written, or NULL */
};

/* method[i]: the graph for plan i; the program's own graph (p->method[i]) means: unchanged. When nothing
 * changed the output is the input, byte for byte. */
bool program_emit(struct emitted *out, const struct program *p, struct graph *const *method, struct error *err);
/* All methods unchanged, but the file written anew: each content is stored once. */
bool program_emit_anew(struct emitted *out, const struct program *p, struct error *err);
void emitted_free(struct emitted *e);

/* Writes it: PATH, and changed data files as <stem of PATH>.<name>.ptd. All or nothing. */
bool emitted_write(const struct emitted *e, const struct program *p, const char *path, bool replace,
		   struct error *err);

#endif
