/* Memory: the plan as the file holds it. A line a tensor, in the order they are written; the skyline shows the arenas
 * from left to right, after that call: what it wrote, what else is in use, what is free. */
#include "views/page.h"

#include "core/op/op.h"

#include <math.h>
#include <stdlib.h>

enum { CELLS = 23 };	/* of the skyline: bits of a mask */

struct memory { const struct planned *plan; uint32_t *used; /* by tensor: cells in use after its call */ };

enum { COL_NODE, COL_OP, COL_OFFSET, COL_BYTES, COL_IN_USE, COL_PEAK, COL_SKYLINE };

static const struct column columns[] = {
	{ "node", 11, 2, false }, { "operator", 11, 1, false }, { "offset", 9, 0, true }, { "bytes", 7, 0, true },
	{ "in use", 8, 0, true }, { "", 4, 0, false }, { "skyline", CELLS, 0, false }, { 0 },
};

/* Cells that the tensor lies in; arenas stand behind one another. */
static void cells_of(const struct planned *p, const struct planned_tensor *t, int *first, int *last)
{
	double before = (double)t->offset, all = fmax(1, (double)p->arenas);

	for (uint32_t i = 1; i < t->arena; i++)
		before += (double)p->plan->buffer_bytes[i];
	*first = (int)fmin(before / all * CELLS, CELLS - 1);
	*last = (int)fmin(fmax(ceil((before + (double)t->bytes) / all * CELLS) - 1, *first), CELLS - 1);
}

struct sky { const struct planned *p; int in[CELLS]; };	/* tensors in use, by cell */

static void change(struct sky *s, int tensor, int by)
{
	int first, last;

	cells_of(s->p, &s->p->tensor[tensor], &first, &last);
	for (int c = first; c <= last; c++)
		s->in[c] += by;
}

/* Tensors as a list for each step that is the last of theirs. */
static int *list_ends(const struct planned *p, int *next, struct arena *a)
{
	int *ends = arena_array(a, (size_t)p->nsteps, sizeof *ends);

	for (int s = 0; s < p->nsteps; s++)
		ends[s] = -1;
	for (int i = 0; i < p->n; i++) {
		next[i] = ends[p->tensor[i].last];
		ends[p->tensor[i].last] = i;
	}
	return ends;
}

static void find_used(struct memory *m, struct arena *a)
{
	const struct planned *p = m->plan;
	struct arena mem = { 0 };
	int *next = arena_array(&mem, (size_t)p->n, sizeof *next), *ends = list_ends(p, next, &mem), at = 0;
	struct sky sky = { .p = p };

	m->used = arena_array(a, (size_t)p->n, sizeof *m->used);
	for (int s = 0; s < p->nsteps; s++) {
		int from = at;

		for (; at < p->n && p->tensor[at].first == s; at++)
			change(&sky, at, 1);
		for (int i = from; i < at; i++)
			for (int c = 0; c < CELLS; c++)
				m->used[i] |= sky.in[c] ? 1u << c : 0;
		for (int i = ends[s]; i >= 0; i = next[i])
			change(&sky, i, -1);
	}
	arena_free(&mem);
}

static void build(struct page *p, const struct ui *ui)
{
	struct memory *m = arena_alloc(&p->mem, sizeof *m);

	m->plan = &ui_facts(ui)->plan;
	if (m->plan->n)
		find_used(m, &p->mem);
	p->rows = m;
	p->nrows = m->plan->n;
}

static const struct planned *plan_of(const struct page *p)
{
	return ((const struct memory *)p->rows)->plan;
}

static const struct planned_tensor *tensor_of(const struct page *p, int row)
{
	return &plan_of(p)->tensor[row];
}

static uint64_t in_use(const struct page *p, int row)
{
	return plan_of(p)->in_use[tensor_of(p, row)->first];
}

static void print_kind(const struct ui *ui, const struct planned_tensor *t, struct str *s)
{
	const struct node_row *r = look_writer(ui_facts(ui), t);
	char op[64];

	str_add(s, r ? look_op(r->node->op, op, sizeof op) : t->held ? "state" : t->instruction < 0 ? "input" : "call");
}

static void print_offset(const struct planned *p, const struct planned_tensor *t, struct str *s)
{
	char n[TEXT_NUMBER];

	if (p->plan->nbuffers > 2)
		str_addf(s, "%u:", t->arena);
	str_add(s, text_bytes(n, t->offset));
}

static void print_skyline(const struct page *p, const struct ui *ui, int row, struct str *s)
{
	const struct memory *m = p->rows;
	int first, last;

	cells_of(m->plan, tensor_of(p, row), &first, &last);
	for (int c = 0; c < CELLS; c++)
		if (c >= first && c <= last)
			str_add(s, ui->ascii ? "#" : "\u2588");
		else
			str_add(s, m->used[row] >> c & 1 ? ui->ascii ? "=" : "\u2592" : ui->ascii ? "." : "\u00b7");
}

static void cell(const struct page *p, const struct ui *ui, int row, int column, struct str *s)
{
	const struct planned_tensor *t = tensor_of(p, row);
	char n[TEXT_NUMBER];

	switch (column) {
	case COL_NODE: look_owner(ui_facts(ui), t, s); break;
	case COL_OP: print_kind(ui, t, s); break;
	case COL_OFFSET: print_offset(plan_of(p), t, s); break;
	case COL_BYTES: str_add(s, text_bytes(n, t->bytes)); break;
	case COL_IN_USE: str_add(s, text_bytes(n, in_use(p, row))); break;
	case COL_PEAK: str_add(s, in_use(p, row) == plan_of(p)->peak ? "peak" : ""); break;
	case COL_SKYLINE: print_skyline(p, ui, row, s); break;
	}
}

static double key(const struct page *p, const struct ui *ui, int row, int column)
{
	const struct planned_tensor *t = tensor_of(p, row);

	switch (column) {
	case COL_OFFSET: case COL_SKYLINE: return (double)t->arena * 0x1p64 + (double)t->offset;
	case COL_BYTES: return -(double)t->bytes;
	case COL_IN_USE: return -(double)in_use(p, row);
	default: return NAN;
	}
}

static enum style style(const struct page *p, const struct ui *ui, int row)
{
	return in_use(p, row) == plan_of(p)->peak ? STYLE_WARN : STYLE_PLAIN;
}

static int larger(const void *a, const void *b)
{
	const struct planned_tensor *x = *(const struct planned_tensor *const *)a, *y = *(const struct planned_tensor *const *)b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : (x > y) - (x < y);
}

static void print_life(const struct planned *p, const struct planned_tensor *t, struct str *s)
{
	if (t->first)
		str_addf(s, ", from call %d", t->first - 1);
	else
		str_add(s, ", from the start");
	if (t->last == p->nsteps - 1)
		str_add(s, " to the end");
	else if (t->last)
		str_addf(s, " to call %d", t->last - 1);
}

static void print_tensor(const struct page *p, const struct ui *ui, const struct planned_tensor *t, struct text *text)
{
	const struct planned *plan = plan_of(p);
	const struct pte_value *v = &plan->plan->value[t->value];
	struct str s = { 0 };
	char n[2][TEXT_NUMBER];

	str_addf(&s, "%9s  at %s", text_bytes(n[0], t->bytes), text_exact(n[1], t->offset));
	if (plan->plan->nbuffers > 2)
		str_addf(&s, " of arena %u", t->arena);
	str_add(&s, "  ");
	look_tensor(v->tensor, &s);
	str_add(&s, " of ");
	look_owner(ui_facts(ui), t, &s);
	if (t->held)
		str_add(&s, ", always");
	else if (t->first && t->first == t->last)
		str_addf(&s, ", call %d", t->first - 1);
	else
		print_life(plan, t, &s);
	text_add(text, "%s\n", str_text(&s));
	str_free(&s);
}

/* The row's tensor, and the largest of the others that live at its call. */
static void pane(const struct page *p, const struct ui *ui, int row, struct text *t)
{
	enum { MOST = 12 };
	const struct planned *plan = plan_of(p);
	const struct planned_tensor *own = tensor_of(p, row), **alive;
	struct arena mem = { 0 };
	char n[3][TEXT_NUMBER];
	int count = 0;

	alive = arena_array(&mem, (size_t)plan->n, sizeof *alive);
	for (int i = 0; i < plan->n; i++)
		if (plan->tensor[i].first <= own->first && plan->tensor[i].last >= own->first)
			alive[count++] = &plan->tensor[i];
	qsort(alive, (size_t)count, sizeof *alive, larger);
	text_add(t, "%s of %s in use here, by %d tensor%s; at the peak %s. ", text_bytes(n[0], in_use(p, row)),
		 text_bytes(n[1], plan->arenas), count, count == 1 ? "" : "s", text_bytes(n[2], plan->peak));
	text_add(t, "%s\n", ui_facts(ui)->graph->control_flow ? "Calls in file order: jumps are not followed." :
		 "The largest:");
	for (int i = 0; i < count && i < MOST; i++)
		print_tensor(p, ui, alive[i], t);
	arena_free(&mem);
}

static const char *node(const struct page *p, const struct ui *ui, int row)
{
	const struct node_row *r = look_writer(ui_facts(ui), tensor_of(p, row));

	return r ? r->id : NULL;
}

static enum page_answer request(struct page *p, const struct ui *ui, int row, enum request r)
{
	if (r != REQ_FOLLOW || row < 0)
		return PAGE_IGNORED;
	return page_go(p, ui->method, node(p, ui, row));
}

const struct page_ops page_memory = {
	.name = "Memory", .empty = "The method plans no memory.", .column = columns, .drawn = 1u << COL_SKYLINE, .build = build,
	.named = { [COL_PEAK] = "peak" }, .cell = cell,
	.key = key, .style = style, .pane = pane, .node = node, .request = request,
	.hint = "Enter show in the graph  s sort",
};
