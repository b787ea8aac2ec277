// SPDX-License-Identifier: Apache-2.0
// Hints to the compiler about a branch. Only where a hint was measured.
#pragma once

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
