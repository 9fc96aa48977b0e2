/* clones.h - CLONES before a static function with a hot loop makes the compiler build it for the vector units of
 * today's machines too, and take the best one when the program is loaded. No build flag contracts a * b + c, so all
 * of them give the same bits. Sanitizers run before such choices can be made: they get the plain one. */
#ifndef CORE_OP_CLONES_H
#define CORE_OP_CLONES_H

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

#endif
