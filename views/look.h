/* look.h - what pages and reports ask of a session alike. Nothing here changes it. */
#ifndef VIEWS_LOOK_H
#define VIEWS_LOOK_H

#include "core/session/session.h"

/* A view that the exporter elided: it is in the list, and costs nothing at run time. */
bool look_elided(const struct node_row *r);
/* A call outside delegates that XNNPACK does not get. */
bool look_declined(const struct node_row *r);
/* The row of a node; NULL: it is none of the method's. */
const struct node_row *look_row(const struct method_facts *f, const struct node *n);
/* How heavy a node is, to sort by: measured time, or else what is computed and moved. */
double look_work(const struct node_row *r);
const char *look_runs(const struct node_row *r);	/* "xnnpack", "portable", "other" */
const char *look_verdict(const struct node_row *r);	/* "takes", "declines", "no_rule" */
/* Why it is not in a delegate: code and sentence, or NULL when it is. */
const char *look_code(const struct node_row *r);
const char *look_reason(const struct node_row *r);

/* "convolution" of "aten.convolution.default". */
const char *look_op(const struct op *op, char *buf, size_t bytes);
/* "mul(v, ..)": names of inputs and constants, literals; what another node makes is "..". */
void look_call(const struct node *n, struct str *s);
/* An argument alone: "[1, 2]", "weight", "%7 of forward/6". */
void look_arg(const struct graph *g, const struct arg *a, struct str *s);

/* A tensor of the memory plan: the row of the node that writes it, or NULL; whose it is ("forward/6", "input0", or
 * "value 7" where that is not known); its type as the file has it, "f32[1,2]". */
const struct node_row *look_writer(const struct method_facts *f, const struct planned_tensor *t);
void look_owner(const struct method_facts *f, const struct planned_tensor *t, struct str *s);
void look_tensor(const struct pte_tensor *t, struct str *s);

struct totals {
	int nodes;		/* elided views are not counted */
	int xnnpack, portable, other;
	int folds, linears;	/* candidates that can be applied */
	double flops, xnnpack_flops;
	double ms, xnnpack_ms;	/* measured; ms < 0 if not */
};
struct totals look_totals(const struct version *v, int method);

/* The rows of a method that are declined, heaviest first; in the arena. */
const struct node_row **look_declined_rows(const struct method_facts *f, struct arena *a, int *n);

/* Bit i set: --apply has to hold that step. */
enum { NEED_FOLD = 1, NEED_LINEAR = 2, NEED_PARTITION = 4 };
unsigned look_needs(const char *fix);
unsigned look_needs_of_version(const struct version *v, int nmethods);
void look_steps(unsigned needs, struct str *out);	/* "--apply fold,partition" */
/* "etinspect --apply fold,partition -o model.fast.pte model.pte"; nothing for no needs. */
void look_command(const struct session *s, unsigned needs, struct str *out);

/* "model.fast.pte" for any/model.pte: in the working directory. */
void look_fast_name(const char *path, struct str *out);

const char *look_file(const struct session *s, int home);	/* name of a data file, NULL for the program */
const char *look_path(const struct session *s);
bool look_is_demo(const struct session *s);	/* it has no file that a command could name */

#endif
