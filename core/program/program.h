/* program.h - an opened file with its data files, and its methods as graphs.
 *
 * The program owns the mapping, so all graphs made from it must go before it. A `.ptd` that is not given is no
 * error: constants that live there have data NULL. */
#ifndef CORE_PROGRAM_PROGRAM_H
#define CORE_PROGRAM_PROGRAM_H

#include "core/format/ptd.h"
#include "core/format/xgraph.h"
#include "core/graph/graph.h"

struct program {
	struct arena mem;
	struct file file;
	struct pte pte;
	struct file *data_file;
	struct ptd *data;
	int ndata;
	struct graph **method;		/* as filed; index = plan index */
	int nmethods;
};

bool program_open(struct program **out, const char *path, const char *const *data, int ndata, struct error *err);
/* As program_open for a file that is mapped already (the demo, a memfd); the program takes it over. */
bool program_open_file(struct program **out, struct file file, const char *const *data, int ndata, struct error *err);
void program_close(struct program *p);

/* The XNNPACK graph of a delegate as filed; NULL and an error for another backend's. */
bool program_delegate(const struct program *p, int plan, int delegate, struct xgraph *x, struct arena *a,
		      struct error *err);

#endif
