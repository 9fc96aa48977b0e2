/* demo.h - the program built into the binary, for a first look without a file. */
#ifndef INSPECT_DEMO_H
#define INSPECT_DEMO_H

#include <stddef.h>

extern const unsigned char demo_program[];
size_t demo_bytes(void);

#endif
