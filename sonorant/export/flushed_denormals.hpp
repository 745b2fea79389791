// Numbers too small for a float's precision as zeros, as TensorFlow's threads have them (`denormals.py`).
// Part of kernels.cpp.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// While it lives, in its thread.
class FlushedDenormals {
public:
#if defined(__x86_64__)
    FlushedDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }  // of results, and of operands
    ~FlushedDenormals() { _mm_setcsr(before_); }

private:
    unsigned before_;
#elif defined(__aarch64__)
    FlushedDenormals() {
        asm volatile("mrs %0, fpcr" : "=r"(before_));
        asm volatile("msr fpcr, %0" : : "r"(before_ | 1 << 24));
    }
    ~FlushedDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

private:
    uint64_t before_;
#endif
};
