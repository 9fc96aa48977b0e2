#include "views/lanes.h"

#include "core/base/str.h"

/* No lane ends to the left of a row's own: the own one is the leftmost that ends. */
enum glyph { G_NONE, G_LINE, G_LEAF, G_NODE, G_ENDS, G_READ_LEFT, G_READ_RIGHT, G_CROSS, G_RULE, GLYPHS };

static const char *const utf8[GLYPHS] = { " ", "│", "●", "◆", "┘", "├", "┤", "┼", "─" };
static const char *const ascii7[GLYPHS] = { " ", "|", "o", "*", "'", "|", "|", "+", "-" };

/* A lane holds the row whose result still has readers below. */
struct lanes { int holds[LANES_MAX]; };

static int find(const struct lanes *l, int what)
{
	for (int i = 0; i < LANES_MAX; i++)
		if (l->holds[i] == what)
			return i;
	return -1;
}

/* The lane the row's result takes: the leftmost that ends here, or else the leftmost free one. */
static int place(const struct lanes *l, const struct lane_row *row, int r)
{
	for (int i = 0; i < LANES_MAX; i++)
		if (l->holds[i] >= 0 && row[l->holds[i]].last <= r)
			return i;
	return find(l, -1);
}

static bool reads(const struct lane_row *row, int what)
{
	for (int i = 0; i < row->nreads; i++)
		if (row->reads[i] == what)
			return true;
	return false;
}

static void mark(const struct lanes *l, const struct lane_row *row, int r, int own, enum glyph *g)
{
	int lo = own, hi = own;

	for (int i = 0; i < LANES_MAX; i++) {
		bool read = l->holds[i] >= 0 && reads(&row[r], l->holds[i]);
		bool ends = l->holds[i] >= 0 && row[l->holds[i]].last <= r;

		g[i] = l->holds[i] < 0 ? G_NONE : !read ? G_LINE : i < own ? G_READ_LEFT : ends ? G_ENDS : G_READ_RIGHT;
		if (read && i < lo)
			lo = i;
		if (read && i > hi)
			hi = i;
	}
	for (int i = lo; i <= hi; i++)
		if (i != own)
			g[i] = g[i] == G_NONE ? G_RULE : g[i] == G_LINE ? G_CROSS : g[i];
	g[own] = row[r].leaf ? G_LEAF : G_NODE;
}

const char **lanes_draw(const struct lane_row *row, int n, bool ascii, struct arena *a)
{
	const char **out = arena_array(a, (size_t)n, sizeof *out);
	const char *const *glyph = ascii ? ascii7 : utf8;
	struct lanes l;
	struct str s = { 0 };

	for (int i = 0; i < LANES_MAX; i++)
		l.holds[i] = -1;
	for (int r = 0; r < n; r++) {
		enum glyph g[LANES_MAX] = { 0 };
		int own = place(&l, row, r), end = LANES_MAX;

		str_clear(&s);
		if (own >= 0)
			mark(&l, row, r, own, g);
		while (own >= 0 && end && g[end - 1] == G_NONE)
			end--;
		for (int i = 0; i < end; i++)
			str_add(&s, own < 0 ? i + 1 == end ? "+" : glyph[l.holds[i] < 0 ? G_NONE : G_LINE] :
				glyph[g[i]]);
		out[r] = arena_string(a, str_text(&s));
		for (int i = 0; i < LANES_MAX; i++)
			if (l.holds[i] >= 0 && row[l.holds[i]].last <= r)
				l.holds[i] = -1;
		if (own >= 0)
			l.holds[own] = row[r].last > r ? r : -1;
	}
	str_free(&s);
	return out;
}
