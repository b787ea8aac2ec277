// SPDX-License-Identifier: Apache-2.0
// What a compiler is told about a branch. Only where it was measured.
#pragma once

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
