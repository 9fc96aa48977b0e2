/* cpu.h - what machine this is, by cpuinfo. */
#ifndef CORE_RUN_CPU_H
#define CORE_RUN_CPU_H

#include <stddef.h>

struct cpu {
	char name[128];		/* "Intel Xeon ..." */
	char isa[128];		/* "avx512vnni avx512f fma3": the most telling features, strongest first */
	char caches[128];	/* "L1d 48 KiB, L2 2 MiB, L3 32 MiB" */
	size_t l2_bytes;	/* of one core; 0: not known */
	int cores;		/* logical, that this process may use */
};

void cpu_read(struct cpu *c);

#endif
