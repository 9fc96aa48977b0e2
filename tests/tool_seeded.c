/* tool_seeded - writes random programs whose weights are computed (tests/seeded.h), and an input for them.
 *
 *   tool_seeded FOLDER FIRST LAST
 *
 * FOLDER/<seed>/ gets program.pte, a.ptd, b.ptd and input.npy, f32[4,8], which every method takes. */
#include "core/format/npy.h"
#include "tests/seeded.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool write_seed(const char *folder, uint64_t seed)
{
	struct seeded s;
	struct arena mem = { 0 };
	struct error err = { 0 };
	const char *at = arena_printf(&mem, "%s/%llu", folder, (unsigned long long)seed);
	float input[32];
	bool ok;

	mkdir(at, 0777);
	seeded_make(&s, seed, at);
	for (int i = 0; i < 32; i++)
		input[i] = (float)((seed * 7 + (uint64_t)i * 29) % 64) / 32 - 1;
	ok = npy_write(arena_printf(&mem, "%s/input.npy", at), DTYPE_F32, 2, (int64_t[]){ 4, 8 }, input, &err);
	seeded_free(&s);
	arena_free(&mem);
	if (!ok)
		fprintf(stderr, "tool_seeded: %s\n", err.text);
	return ok;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: tool_seeded FOLDER FIRST LAST\n");
		return 2;
	}
	for (uint64_t seed = strtoull(argv[2], NULL, 10); seed <= strtoull(argv[3], NULL, 10); seed++)
		if (!write_seed(argv[1], seed))
			return 1;
	return 0;
}
