#include "core/base/intset.h"

enum { WORD = 64 };

void intset_open(struct intset *s, int bound, struct arena *a)
{
	int n = bound;

	*s = (struct intset){ .nlevels = 0 };
	do {
		n = n / WORD + 1;
		s->words[s->nlevels] = n;
		s->level[s->nlevels++] = arena_array(a, (size_t)n, sizeof **s->level);
	} while (n > 1);
}

void intset_add(struct intset *s, int i)
{
	for (int l = 0; l < s->nlevels; l++, i /= WORD)
		s->level[l][i / WORD] |= (uint64_t)1 << i % WORD;
}

void intset_remove(struct intset *s, int i)
{
	for (int l = 0; l < s->nlevels; l++, i /= WORD)
		if (s->level[l][i / WORD] &= ~((uint64_t)1 << i % WORD))
			return;
}

int intset_next(const struct intset *s, int i)
{
	for (int l = 0; l < s->nlevels && i / WORD < s->words[l]; l++, i = i / WORD + 1) {
		uint64_t bits = s->level[l][i / WORD] & ~(uint64_t)0 << i % WORD;

		if (!bits)
			continue;
		i = i / WORD * WORD + __builtin_ctzll(bits);
		while (l--)
			i = i * WORD + __builtin_ctzll(s->level[l][i]);
		return i;
	}
	return -1;
}

int intset_prev(const struct intset *s, int i)
{
	for (int l = 0; l < s->nlevels && i >= 0; l++, i = i / WORD - 1) {
		uint64_t bits = s->level[l][i / WORD] & ~(uint64_t)0 >> (WORD - 1 - i % WORD);

		if (!bits)
			continue;
		i = i / WORD * WORD + WORD - 1 - __builtin_clzll(bits);
		while (l--)
			i = i * WORD + WORD - 1 - __builtin_clzll(s->level[l][i]);
		return i;
	}
	return -1;
}
