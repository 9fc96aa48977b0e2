/* emission.h - what the parts of emit share: a method on its way from a graph to a plan.
 *
 * place.c decides where each value lives (its own memory, that of the value it is a view of, stored bytes),
 * core/graph/units.h makes one list of calls out of nodes and groups, emit_value.c and emit_call.c write values and
 * calls, emit_method.c drives them and plans the arenas, emit.c does whole programs. Memory is the emission's arena. */
#ifndef CORE_PROGRAM_EMISSION_H
#define CORE_PROGRAM_EMISSION_H

#include "core/graph/units.h"
#include "core/program/emit.h"
#include "core/program/store.h"

/* A .ptd while the program that needs it is written. */
struct data_file {
	bool *was_needed, *needed;	/* by entry: by the program as filed, by the new one */
	vec(struct ptd_entry) added;
};

struct added { int home; struct ptd_entry entry; const char *by; /* who put it there, for messages */ };

struct emission {
	struct arena *mem;
	const struct program *p;
	struct store store;
	struct data_file *data;		/* one a .ptd */
	struct map added;		/* key -> struct added, in any of them */
	bool *named_was_needed;		/* by entry of pte.named: an XNNPACK delegate as filed reads it */
	bool *named_needed;		/* and one that is kept */
	uint64_t blob_bytes;		/* constants inside the blobs of kept delegates */
	struct map counted;		/* those blobs, by pointer */
	const struct value *const **value_of;	/* by method, of emitted ones: what its values are */
	bool changed;			/* tables are written anew: a method is not as filed, or that was asked for */
};

enum place_kind {
	PLACE_NONE,	/* no memory of its own: a number, or memory that the caller brings */
	PLACE_ARENA,
	PLACE_BYTES,	/* stored bytes: a constant or a view of one */
	PLACE_STATE,
};

/* Where a value lives; by value id. */
struct place {
	enum place_kind kind;
	int root;		/* the value whose memory this is: itself, or what it is a view of */
	bool elided;		/* a static view: its node makes no call */
	bool et_view;		/* its node becomes executorch_prim::et_view */
	int since;		/* root is state: the order of the node that looked at it */
	int index;		/* in the plan's values, or -1 */
	int plain;		/* a constant stored in default dim order for kernels: its index, or -1 */
	struct span plain_bytes;	/* of a constant: its bytes in default order, once made */
	int first, last;	/* of a root: steps it must live through; last < 0: never read or written */
};

struct method_out {
	struct emission *e;
	struct graph *g;
	const struct pte_plan *filed;
	struct place *place;
	struct units units;
	struct pte_plan plan;			/* the result */
	vec(struct pte_value) value;
	vec(const struct value *) value_of;	/* by plan value: the graph's, or NULL */
	vec(struct pte_instruction) code;
	vec(struct pte_operator) operator;
	vec(struct pte_delegate) delegate;
	struct map literal, operators;
	int *delegate_of;			/* by filed delegate: its new number, or -1 */
	vec(struct call_from) from;		/* by call in code */
	int delegates_anew;
};

/* place.c */
void place_values(struct method_out *m);

/* emit_value.c */
bool emit_tensor(struct method_out *m, const struct value *v, bool plain, int *index, struct error *err);
bool emit_arg(struct method_out *m, char kind, const struct arg *a, int *index, struct error *err);
int emit_literal(struct method_out *m, struct pte_value v);
int emit_list(struct method_out *m, enum pte_tag tag, const int32_t *at, int n);

/* emit_call.c */
bool emit_unit(struct method_out *m, const struct unit *u, struct error *err);

/* emit_data.c: bytes that are found by key: named data of the program, entries of .ptd files. */
void emit_data_init(struct emission *e);
/* A delegate of the file is kept: so is what it reads by key. */
void emit_data_delegate(struct emission *e, const struct pte_plan *filed, int delegate);
/* A plan of the file is kept: so is what its tensors and delegates read. */
void emit_data_plan(struct emission *e, const struct pte_plan *filed);
/* An external constant: finds its entry, or adds one, for method `by`; *name is the key. */
bool emit_data_tensor(struct emission *e, const struct value *v, struct span bytes, const uint8_t *dim_order,
		      const char *by, const char **name, struct error *err);
/* A delegate's static data, in the program or in a .ptd. */
bool emit_data_named(struct emission *e, const struct pte_named *n, int home, struct error *err);
/* What the file's delegates read and no delegate reads any more goes; all other named data stays. */
bool emit_data_keep_named(struct emission *e, struct error *err);
/* The entries of a .ptd as the new program needs it; false if they are those of the file. */
bool emit_data_entries(struct emission *e, int data, struct ptd_entry **entry, int *n);

/* emit_method.c */
bool emit_method(struct emission *e, struct graph *g, const struct pte_plan *filed, struct pte_plan *plan,
		 struct call_map *map, struct error *err);

/* emit_calls.c: which calls of the file the new ones come from. */
void emit_calls_note(struct method_out *m, const struct unit *u);
void emit_calls_map(struct method_out *m, struct call_map *map);

#endif
