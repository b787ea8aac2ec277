// SPDX-License-Identifier: Apache-2.0
// Notes for the compiler.
#pragma once

// A caller that drops the result is wrong.
#define must_check __attribute__((warn_unused_result))

// Hints about a branch. Only where a hint was measured.
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
// Quick ways change what a frame costs, and nothing else. A build for tests leaves them out, and is
// compared with the others frame by frame (tests/lab/quick_ways.py).
#ifdef WEIR_WITHOUT_QUICK_WAYS
enum { QUICK_WAYS = 0 };
#else
enum { QUICK_WAYS = 1 };
#endif

// The compiler inlines the function into each caller. The caller's constants then remove most of
// its code.
#define force_inline inline __attribute__((always_inline))
