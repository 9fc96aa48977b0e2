#include "core/xnn/live_memory.h"

#include <stdlib.h>

enum { WORTH = 1 << 20 };

/* What the process's one allocator has to know. */
static struct { const struct file *const *file; int nfiles; } packing;

static void forget_read(void)
{
	for (int i = 0; i < packing.nfiles; i++)
		file_forget(packing.file[i]);
}

static void *allocate(void *context, size_t size)
{
	return malloc(size);
}

static void *reallocate(void *context, void *pointer, size_t size)
{
	return realloc(pointer, size);
}

static void deallocate(void *context, void *pointer)
{
	free(pointer);
}

static void *aligned_allocate(void *context, size_t alignment, size_t size)
{
	void *p = NULL;

	if (size >= WORTH)
		forget_read();
	return posix_memalign(&p, alignment, size) ? NULL : p;
}

const struct xnn_allocator *live_allocator(void)
{
	static const struct xnn_allocator allocator = { NULL, allocate, reallocate, deallocate, aligned_allocate, deallocate };

	return &allocator;
}

void live_packing_begins(const struct file *const *file, int n)
{
	packing.file = file;
	packing.nfiles = n;
}

void live_packing_ends(void)
{
	forget_read();
	packing.nfiles = 0;
}
