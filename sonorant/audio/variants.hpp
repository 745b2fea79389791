// Loops compiled for AVX2 and FMA, some for AVX-512 too, and for any x86-64, between which the loader picks; elsewhere
// (arm64) once. PORTABLE has what is for any: the tests build a MODULE of that.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(PORTABLE)
#define FAST __attribute__((target_clones("arch=x86-64-v3", "default")))
#define FASTEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))  // for AVX-512 too
#define TARGET(arch) __attribute__((target(arch)))  // of one of several functions of a name
__attribute__((target("arch=x86-64-v3"))) static const char* variant() { return "x86-64-v3"; }
__attribute__((target("default"))) static const char* variant() { return "portable"; }
#else
#define FAST
#define FASTEST
static const char* variant() { return "portable"; }
#endif
#ifndef MODULE
#define MODULE kernels
#endif
#define INLINE inline __attribute__((always_inline))

typedef float Eight __attribute__((vector_size(32)));    // a register of AVX2
typedef float Sixteen __attribute__((vector_size(64)));  // of AVX-512
