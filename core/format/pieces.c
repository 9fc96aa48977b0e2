#include "core/format/pieces.h"

#include "core/base/num.h"

#include <string.h>

static const uint8_t zeros[SEGMENT_ALIGN];

/* Chunks are looked up by their length and samples from end to end, so that weights are read in full only against a
 * likely twin, and small ones that differ in a name seldom are. */
enum { SAMPLES = 64 };

struct chunk_key { uint64_t bytes, sample[SAMPLES]; };

struct chunk {
	struct chunk_key key;
	struct span data;
	uint64_t at;
	struct chunk *next;	/* of the same key */
};

static void make_key(struct chunk_key *k, struct span s)
{
	size_t each = sizeof *k->sample;

	memset(k, 0, sizeof *k);
	k->bytes = s.bytes;
	if (s.bytes && s.bytes <= sizeof k->sample)
		memcpy(k->sample, s.data, s.bytes);
	for (size_t i = 0; i < SAMPLES && s.bytes > sizeof k->sample; i++)
		memcpy(&k->sample[i], s.data + (s.bytes - each) / (SAMPLES - 1) * i, each);
}

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
	struct chunk_key key;
	struct chunk *first, *c;

	make_key(&key, s);
	first = map_get(&p->chunk, &key, sizeof key);
	for (c = first; c; c = c->next)
		if (c->data.data == s.data || !s.bytes || !memcmp(c->data.data, s.data, s.bytes))
			return c->at;
	c = arena_alloc(&p->mem, sizeof *c);
	*c = (struct chunk){ key, s, pieces_append(p, s, align), NULL };
	if (first) {
		c->next = first->next;
		first->next = c;
	} else {
		map_put(&p->chunk, &p->mem, &c->key, sizeof c->key, c);
	}
	return c->at;
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
