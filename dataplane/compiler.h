// SPDX-License-Identifier: Apache-2.0
// Notes for the compiler.
#pragma once

// A caller that drops the result is wrong.
#define must_check __attribute__((warn_unused_result))

// Hints about a branch. Only where a hint was measured.
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
