#include "inspect/demo.h"

extern const unsigned char demo_program_end[];

__asm__(".section .rodata\n"
	".balign 64\n"
	".global demo_program, demo_program_end\n"
	"demo_program:\n"
	".incbin \"tests/demo/demo.pte\"\n"
	"demo_program_end:\n"
	".byte 0\n"
	".previous\n");

size_t demo_bytes(void)
{
	return (size_t)(demo_program_end - demo_program);
}
