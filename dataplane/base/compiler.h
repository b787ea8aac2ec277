// SPDX-License-Identifier: Apache-2.0
// Notes for the compiler.
#pragma once

// A caller that drops the result is wrong.
#define must_check __attribute__((warn_unused_result))

// Hints about a branch. Only where a hint was measured.
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

// Quick ways change what a frame costs, and nothing else. A build for tests leaves them out, and
// is compared with the other one frame by frame (tests/lab/quick_ways.py). It compiles only those
// files a second time that meson.build names as quick: it says WEIR_QUICK_WAYS to them. In any
// other file the compiler refuses what has a quick way.
#ifdef WEIR_QUICK_WAYS
enum { QUICK_WAYS = WEIR_QUICK_WAYS };
#else
__attribute__((error("meson.build does not name this file as quick"))) int quick_ways(void);
#define QUICK_WAYS quick_ways()
#endif

// The compiler inlines the function into each caller. The caller's constants then remove most of
// its code.
#define force_inline inline __attribute__((always_inline))
