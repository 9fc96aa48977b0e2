/* filter.h - which rows a page shows. Words, all of which must hold:
 *
 *     conv            a cell of the row matches
 *     op:mm|bmm       the operator matches
 *     reason:rank     the reason matches, its code or its sentence
 *     module:layer.3  the module's name matches
 *     delegate:0      it runs in that delegate; delegate:none: in none
 *     !op:copy        it does not
 *
 * Each is an expression of find.h. A filter owns what it was made of. */
#ifndef VIEWS_FILTER_H
#define VIEWS_FILTER_H

#include "core/base/str.h"
#include "views/find.h"

enum facet { FACET_TEXT, FACET_OP, FACET_REASON, FACET_MODULE, FACET_DELEGATE, FACETS };
/* What a row that is a node has. */
enum { FACETS_OF_NODES = 1 << FACET_OP | 1 << FACET_REASON | 1 << FACET_MODULE | 1 << FACET_DELEGATE };
enum { FILTER_TERMS = 8, FILTER_BYTES = 256 };

struct filter {
	char words[FILTER_BYTES];	/* as they were given; "": all rows are shown */
	struct filter_term { enum facet facet; bool not; struct find find; } term[FILTER_TERMS];
	int n;
};

/* KNOWN has bit F set where rows have facet F, NAME is the page's. False: WHY says what is wrong, and nothing changes. */
bool filter_set(struct filter *f, const char *words, unsigned known, const char *name, char why[FIND_WHY_BYTES]);
/* Whether a row passes; facet adds what the row says of a facet, a line each. */
bool filter_passes(const struct filter *f, void (*facet)(void *row, enum facet facet, struct str *s), void *row);
void filter_free(struct filter *f);

#endif
