#include "core/base/mem.h"

#include "core/base/num.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The one piece of state in core that changes: what to do when memory is out, and the tests' hooks. */
static struct {
	void (*handler)(size_t bytes);
	size_t largest;
	long countdown;
} mem;

struct arena_block {
	struct arena_block *next;
	size_t used, bytes;
	_Alignas(64) uint8_t data[];
};

enum { BLOCK_BYTES = 64 * 1024 - 128, ALIGN = 64 };

static bool may_allocate(size_t bytes)
{
	if (bytes > mem.largest)
		mem.largest = bytes;
	return !(mem.countdown && --mem.countdown == 0) && bytes < PTRDIFF_MAX - 2 * ALIGN;
}

static void *fail(size_t bytes)
{
	if (mem.handler)
		mem.handler(bytes);
	abort();
}

/* Tensors of many megabytes take their memory in large pages where the system has them: thousands of faults fewer. */
static void *take(size_t bytes)
{
	enum { LARGE = 2 << 20 };
	size_t align = bytes >= 2 * LARGE ? LARGE : ALIGN, round = (bytes + align) / align * align;
	void *p = aligned_alloc(align, round);

	if (p && align == LARGE)
		madvise(p, round, MADV_HUGEPAGE);	/* only advice */
	return p;
}

void *mem_try(size_t bytes)
{
	void *p = may_allocate(bytes) ? take(bytes) : NULL;

	return p ? memset(p, 0, bytes) : NULL;
}

void mem_done(const void *data, size_t bytes)
{
	enum { PAGE = 4096, WORTH = 1 << 20 };
	uintptr_t from = size_align((uintptr_t)data, PAGE), to = ((uintptr_t)data + bytes) / PAGE * PAGE;

	if (bytes >= WORTH && from < to)
		madvise((void *)from, to - from, MADV_PAGEOUT);	/* only advice: whether it works does not matter */
}

void *mem_alloc(size_t bytes)
{
	void *p = may_allocate(bytes) ? calloc(1, bytes ? bytes : 1) : NULL;

	return p ? p : fail(bytes);
}

void *mem_grow(void *block, size_t bytes)
{
	void *p = may_allocate(bytes) ? realloc(block, bytes ? bytes : 1) : NULL;

	return p ? p : fail(bytes);
}

void mem_free(void *block)
{
	free(block);
}

size_t mem_largest(void)
{
	return mem.largest;
}

void mem_fail_at(long nth)
{
	mem.countdown = nth;
}

void mem_on_failure(void (*handler)(size_t bytes))
{
	mem.handler = handler;
}

static struct arena_block *add_block(struct arena *a, size_t bytes)
{
	/* Large blocks come as fresh pages, so zeroing them costs nothing until they are touched. */
	size_t whole = sizeof(struct arena_block) + bytes;
	struct arena_block *b = may_allocate(bytes) ? take(whole) : NULL;

	if (!b)
		return NULL;
	memset(b, 0, sizeof *b);
	b->bytes = bytes;
	b->next = a->last;
	return a->last = b;
}

void *arena_try(struct arena *a, size_t bytes)
{
	size_t align = bytes >= ALIGN ? ALIGN : 16;
	struct arena_block *b = a->last, *top = a->last;
	size_t at = b ? (b->used + align - 1) / align * align : 0;

	if (!b || at > b->bytes || bytes > b->bytes - at) {
		b = add_block(a, bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES);
		if (!b)
			return NULL;
		if (bytes > BLOCK_BYTES / 4 && top) { /* keep filling the block that was open */
			b->next = top->next;
			top->next = b;
			a->last = top;
		}
		at = 0;
	}
	b->used = at + bytes;
	return memset(b->data + at, 0, bytes);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	void *p = arena_try(a, bytes);

	return p ? p : fail(bytes);
}

void *arena_array(struct arena *a, size_t count, size_t bytes_each)
{
	size_t bytes;

	return __builtin_mul_overflow(count, bytes_each, &bytes) ? fail(SIZE_MAX) : arena_alloc(a, bytes);
}

void *arena_copy(struct arena *a, const void *data, size_t bytes)
{
	void *p = arena_alloc(a, bytes);

	return bytes ? memcpy(p, data, bytes) : p;
}

char *arena_string(struct arena *a, const char *s)
{
	return s ? arena_copy(a, s, strlen(s) + 1) : NULL;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

void arena_free(struct arena *a)
{
	for (struct arena_block *b = a->last, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	a->last = NULL;
}

void arena_join(struct arena *into, struct arena *from)
{
	struct arena_block *first = from->last;

	while (first && first->next)
		first = first->next;
	if (into->last && first) {	/* the block that is open stays so */
		first->next = into->last->next;
		into->last->next = from->last;
	} else if (first) {
		into->last = from->last;
	}
	from->last = NULL;
}

void arena_reset(struct arena *a)
{
	size_t room = 0;

	if (!a->last)
		return;
	if (a->last->next) {	/* one block for all of it */
		for (struct arena_block *b = a->last; b; b = b->next)
			room += b->bytes + ALIGN;
		arena_free(a);
		if (!add_block(a, room))
			return;
	}
	a->last->used = 0;
}

void *vec_grow(struct arena *a, void *at, int n, int *cap, size_t bytes_each)
{
	int more = *cap ? *cap * 2 : 8;
	void *p = arena_array(a, (size_t)more, bytes_each);

	if (n)
		memcpy(p, at, (size_t)n * bytes_each);
	*cap = more;
	return p;
}
