/* mem.h - memory: blocks, and arenas whose blocks die together.
 *
 * Bookkeeping (nodes, names, tables) comes from mem_alloc or an arena: those never return NULL. When the
 * system has no memory left they call the handler that the program set; it must not return (the program
 * restores the terminal, writes one line and exits; a test jumps back). What a file or a run decides the
 * size of (tensors, file images) comes from mem_try, which may return NULL: an ordinary error.
 * All memory is zeroed. Arena memory is aligned to 64 bytes from 64 bytes on, else to 16. */
#ifndef CORE_BASE_MEM_H
#define CORE_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t bytes);
void *mem_grow(void *block, size_t bytes);	/* realloc; the new part is not zeroed */
void *mem_try(size_t bytes);			/* NULL when there is none; 64-aligned; mem_free */
void mem_free(void *block);
/* Large mapped bytes are done with for now: the system may take their pages; what they hold stays. */
void mem_done(const void *data, size_t bytes);

/* The largest single block asked for so far; tests hold it against the size of the file. */
size_t mem_largest(void);
/* Makes the Nth allocation from now fail (0: none); for tests. */
void mem_fail_at(long nth);
void mem_on_failure(void (*handler)(size_t bytes));

struct arena {
	struct arena_block *last;
};

void *arena_alloc(struct arena *a, size_t bytes);
void *arena_array(struct arena *a, size_t count, size_t bytes_each);
void *arena_copy(struct arena *a, const void *data, size_t bytes);
void *arena_try(struct arena *a, size_t bytes);	/* as mem_try, but dies with the arena */
char *arena_string(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3), nonnull(2)));
void arena_free(struct arena *a);
/* What is in `from` lives on in `into`; `from` is empty then. */
void arena_join(struct arena *into, struct arena *from);
/* Empties it, but keeps the room: doing the same again asks the system for nothing. */
void arena_reset(struct arena *a);

/* A growing array in an arena: vec(int) v = {0}; vec_push(a, &v, 3); v.at[0], v.n. */
#define vec(T) struct { T *at; int n, cap; }
#define vec_push(a, v, item) \
	((v)->n == (v)->cap ? (void)((v)->at = vec_grow((a), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at)) : (void)0, \
	 (v)->at[(v)->n++] = (item))
void *vec_grow(struct arena *a, void *at, int n, int *cap, size_t bytes_each);

#endif
