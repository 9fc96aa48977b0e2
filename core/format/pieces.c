#include "core/format/pieces.h"

#include "core/base/num.h"

static const uint8_t zeros[SEGMENT_ALIGN];

void pieces_pad(struct pieces *p, size_t align)
{
	size_t pad = (size_t)(size_align(p->bytes, align) - p->bytes);

	if (pad)
		vec_push(&p->mem, &p->piece, ((struct file_piece){ zeros, pad }));
	p->bytes += pad;
}

uint64_t pieces_append(struct pieces *p, struct span s, size_t align)
{
	uint64_t at;

	if (s.bytes)
		pieces_pad(p, align);
	at = p->bytes;
	if (s.bytes)
		vec_push(&p->mem, &p->piece, ((struct file_piece){ s.data, s.bytes }));
	p->bytes += s.bytes;
	return at;
}

uint64_t pieces_place(struct pieces *p, struct span s, size_t align)
{
	uint64_t *at = arena_alloc(&p->mem, sizeof *at), *same;

	p->same.mem = &p->mem;
	same = s.bytes ? same_find(&p->same, s.data, s.bytes, at) : NULL;
	if (same)
		return *same;
	*at = pieces_append(p, s, align);
	return *at;
}

void pieces_output(struct pte_output *out, struct fbb *b, const uint8_t *tables, size_t bytes, struct pieces *p)
{
	size_t base = size_align(bytes, SEGMENT_ALIGN), pad = p->bytes ? base - bytes : 0;
	struct file_piece *piece = mem_alloc(((size_t)p->piece.n + 2) * sizeof *piece);
	int n = 0;

	piece[n++] = (struct file_piece){ tables, bytes };
	if (pad)
		piece[n++] = (struct file_piece){ zeros, pad };
	for (int i = 0; i < p->piece.n; i++)
		piece[n++] = p->piece.at[i];
	*out = (struct pte_output){ piece, n, bytes + pad + p->bytes, fbb_take(b) };
	pieces_free(p);
}

void pieces_free(struct pieces *p)
{
	arena_free(&p->mem);
	*p = (struct pieces){ 0 };
}

void pte_output_free(struct pte_output *out)
{
	mem_free(out->piece);
	mem_free(out->own);
	*out = (struct pte_output){ 0 };
}
