#include "core/run/cpu.h"

#include <cpuinfo.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Strongest first; the first few that the machine has say what matrix code may run. On other machines cpuinfo
 * answers false to all. */
#define FEATURES(X) \
	X(x86, amx_bf16) X(x86, amx_int8) X(x86, avx512fp16) X(x86, avx512bf16) X(x86, avx512vnni) X(x86, avx512bw) \
	X(x86, avx512f) X(x86, avxvnni) X(x86, avx2) X(x86, fma3) X(x86, f16c) X(x86, avx) X(x86, sse4_1) X(x86, ssse3) \
	X(arm, sme2) X(arm, sme) X(arm, sve2) X(arm, sve) X(arm, i8mm) X(arm, bf16) X(arm, neon_dot) X(arm, fp16_arith) \
	X(arm, neon)

struct feature { const char *name; bool (*has)(void); };

#define ASK(arch, name) static bool has_##name(void) { return cpuinfo_has_##arch##_##name(); }
FEATURES(ASK)
#undef ASK

#define ROW(arch, name) { #name, has_##name },
static const struct feature features[] = { FEATURES(ROW) };
#undef ROW

static void append(char *to, size_t bytes, const char *separator, const char *word)
{
	size_t n = strlen(to);

	if (n + strlen(separator) + strlen(word) < bytes)
		snprintf(to + n, bytes - n, "%s%s", n ? separator : "", word);
}

static void read_isa(struct cpu *c)
{
	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if (features[i].has())
			append(c->isa, sizeof c->isa, " ", features[i].name);
}

static void add_cache(struct cpu *c, const char *name, const struct cpuinfo_cache *cache)
{
	char word[64];
	double kib;

	if (!cache || !cache->size)
		return;
	kib = cache->size / 1024.0;
	if (kib < 1024)
		snprintf(word, sizeof word, "%s %.4g KiB", name, kib);
	else
		snprintf(word, sizeof word, "%s %.4g MiB", name, kib / 1024);
	append(c->caches, sizeof c->caches, ", ", word);
}

static void read_caches(struct cpu *c)
{
	const struct cpuinfo_processor *p = cpuinfo_get_processors_count() ? cpuinfo_get_processor(0) : NULL;

	if (!p)
		return;
	c->l2_bytes = p->cache.l2 ? p->cache.l2->size : 0;
	add_cache(c, "L1d", p->cache.l1d);
	add_cache(c, "L2", p->cache.l2);
	add_cache(c, "L3", p->cache.l3);
	add_cache(c, "L4", p->cache.l4);
}

static int allowed_cores(void)
{
	cpu_set_t *set;
	int most = 1024, n = 0;

	for (; most <= 1 << 20; most *= 2) {	/* the kernel refuses a set smaller than its own */
		size_t bytes = CPU_ALLOC_SIZE(most);

		if (!(set = CPU_ALLOC(most)))
			break;
		if (!sched_getaffinity(0, bytes, set))
			n = CPU_COUNT_S(bytes, set);
		CPU_FREE(set);
		if (n)
			break;
	}
	return n ? n : 1;
}

void cpu_read(struct cpu *c)
{
	*c = (struct cpu){ .name = "unknown CPU", .cores = allowed_cores() };
	if (!cpuinfo_initialize())
		return;
	if (cpuinfo_get_packages_count())
		snprintf(c->name, sizeof c->name, "%s", cpuinfo_get_package(0)->name);
	read_isa(c);
	read_caches(c);
}
