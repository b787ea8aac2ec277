// SPDX-License-Identifier: Apache-2.0
// In place of the header of the compiler of this name, which DPDK includes: the vectors that DPDK
// uses on this processor. The compiler's header also has all those that it does not use, up to
// AVX-512, and reading it is half of what it takes to compile a file of the dataplane.
#pragma once

#ifdef __AVX__
#include_next <x86intrin.h>
#else
#include <nmmintrin.h>
#endif
