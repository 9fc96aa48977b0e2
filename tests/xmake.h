/* xmake.h - XNNPACK graphs made by hand, and what they compute: on the host's library, and raised, by portable
 * kernels. */
#ifndef TESTS_XMAKE_H
#define TESTS_XMAKE_H

#include "core/format/xgraph.h"
#include "core/graph/graph.h"
#include "core/op/op.h"

struct xmake {
	struct arena mem;
	struct xgraph x;
	int nin;		/* external ids so far; inputs are made first */
	uint32_t seed;
	struct graph *g;	/* the raised graph of the last xmake_raise */
};

#define DIMS(...) (int)(sizeof(uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t)), (const uint32_t[]){ __VA_ARGS__ }

struct xmake *xmake_new(void);
void xmake_free(struct xmake *m);
struct xvalue *xmake_inner(struct xmake *m, enum xdatatype t, int rank, const uint32_t *dim);
struct xvalue *xmake_input(struct xmake *m, enum xdatatype t, int rank, const uint32_t *dim);
struct xvalue *xmake_output(struct xmake *m, enum xdatatype t, int rank, const uint32_t *dim);
/* Random numbers from low to high, integers whole; 4-bit types packed. */
struct xvalue *xmake_static(struct xmake *m, enum xdatatype t, double low, double high, int rank, const uint32_t *dim);
void xmake_per_tensor(struct xvalue *v, float scale, int32_t zero_point);
void xmake_per_channel(struct xmake *m, struct xvalue *v, int channel_dim, double low, double high);

/* A node with its fields in schema order; min and max may be set afterwards. XNONE where there is no value. */
#define xmake_node(m, tag, ...) xmake_fields((m), (tag), (int)(sizeof(uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t)), \
					     (const uint32_t[]){ __VA_ARGS__ })
struct xnode *xmake_fields(struct xmake *m, enum xtag tag, int n, const uint32_t *field);
uint32_t xmake_list(struct xmake *m, struct xnode *n, int which, int count, const uint32_t *at);	/* gives which */

/* Raises the graph into m->g; false and an error when it is refused. tidy: permutes cancelled, as lifting does. */
bool xmake_raise(struct xmake *m, bool tidy, struct error *err);
/* Runs both on the same random inputs (sizes of dynamic inputs are the declared ones), as raised and tidied; the
 * largest difference of an output, relative to the larger of 1 and what the library gives. Fails the test on an
 * error. */
double xmake_compare(struct xmake *m);
/* The library runs the graph before the change, raised is what it is afterwards: the same in another form. */
double xmake_compare_changed(struct xmake *m, void (*change)(struct xmake *m));
/* Nodes of m->g with this operator. */
int xmake_count(const struct xmake *m, const char *op);

#endif
