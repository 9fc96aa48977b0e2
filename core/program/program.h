/* program.h - an opened file with its data files, and its methods as graphs.
 *
 * The program owns the mapping, so all graphs made from it must go before it. A `.ptd` that is not given is no
 * error: constants that live there have data NULL. */
#ifndef CORE_PROGRAM_PROGRAM_H
#define CORE_PROGRAM_PROGRAM_H

#include "core/format/ptd.h"
#include "core/format/xgraph.h"
#include "core/graph/graph.h"

/* A delegate of a method, read once. */
struct program_delegate {
	struct xgraph x;
	struct error *why;		/* NULL: x is good; else why there is none */
};

struct program {
	struct arena mem;
	struct file file;
	struct pte pte;
	struct file *data_file;
	struct ptd *data;
	int ndata;
	struct graph **method;		/* as filed; index = plan index */
	int nmethods;
	struct program_delegate **delegate;	/* by plan and delegate number */
	struct states *states;		/* core/program/states.h: what methods keep from run to run */
	struct work *work;		/* who looks on while it is opened, or NULL */
	size_t lifted;			/* nodes and list items made so far: a small file may ask for endless ones */
};

bool program_open(struct program **out, const char *path, const char *const *data, int ndata, struct error *err);
/* As program_open for a file that is mapped already (the demo, a memfd); the program takes it over. */
bool program_open_file(struct program **out, struct file file, const char *const *data, int ndata, struct error *err);
/* The same, with somebody who looks on and may stop it: then the error is "stopped". */
bool program_open_watched(struct program **out, struct file file, const char *const *data, int ndata, struct work *work,
			  struct error *err);
void program_close(struct program *p);

/* The XNNPACK graph of a delegate as filed, its values and nodes copied into the arena; an error for another
 * backend's, and for a blob that is broken. */
bool program_delegate(const struct program *p, int plan, int delegate, struct xgraph *x, struct arena *a,
		      struct error *err);

/* Where stored bytes lie: the number of the data file they are in, HOME_PROGRAM for all others. */
int program_home(const struct program *p, const void *data);
/* The entry of an external tensor; NULL when no data file has it. *home: which one has it. */
const struct ptd_entry *program_external(const struct program *p, const struct pte_tensor *t, int *home);

#endif
