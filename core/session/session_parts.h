/* session_parts.h - what the parts of a session share. session.c keeps versions and applies steps,
 * session_emit.c turns versions into files, session_run.c runs them. */
#ifndef CORE_SESSION_SESSION_PARTS_H
#define CORE_SESSION_SESSION_PARTS_H

#include "core/session/session.h"

/* A version as files in memory, for workers: the program and the data files that changed. */
struct files_of_version {
	int program;			/* descriptor, or -1: the path will do */
	int *data;			/* descriptors */
	int ndata;
	const char **path;		/* of all data files, as a child can open them */
	struct program *reopened;	/* the program as a worker sees it: its nodes have other ids */
	struct method_facts *facts;	/* of that */
	struct arena mem;
};

/* A file in memory with these bytes; -1: error. */
int pieces_in_memory(const struct file_piece *piece, int n, struct error *err);
void files_close(struct files_of_version *f);	/* NULL is fine */
/* Makes them if they are not there yet. */
bool session_files(struct session *s, int version, struct files_of_version **out, struct error *err);
/* The facts by whose node ids a worker speaks of this version. */
bool session_worker_facts(struct session *s, int version, const struct method_facts **facts, struct error *err);

/* Who looks on at the graphs that the version has of its own. */
void session_look_on(struct session *s, int version, struct work *w);

bool session_plan(struct session *s, int version, struct error *err);

#endif
