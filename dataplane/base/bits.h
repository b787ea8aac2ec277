// SPDX-License-Identifier: Apache-2.0
// Walks over bitmaps of classes, queues and priority groups.
#pragma once

// Runs the body once for each bit of `set`, lowest first; `bit` is its number. `set` is read once,
// before the first body.
#define for_each_bit(bit, set)                                                                     \
	for (unsigned bit, bit##_left = (set);                                                     \
	     bit##_left != 0 && (bit = (unsigned)__builtin_ctz(bit##_left), 1);                    \
	     bit##_left &= bit##_left - 1)
