// SPDX-License-Identifier: Apache-2.0
// What all fuzz targets share: the two functions that libFuzzer calls, a reader that takes an input
// apart and never ends, and a check that stops the process. The same target is linked with
// libFuzzer (scripts/fuzz) and with replay.c (the unit suite). One thread. A target keeps nothing
// from one input to the next, so that a finding repeats with its input alone. A target that is dear
// to make is made once and restored (world.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Before the first input. 0.
int LLVMFuzzerInitialize(int *argc, char ***argv);
// One input, in a heap block of its own. 0, or it does not return.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct fuzz_in {
	const uint8_t *at;
	size_t left;
};

// What an input holds no longer reads as zeros.
static inline uint8_t fuzz_u8(struct fuzz_in *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t fuzz_u16(struct fuzz_in *in)
{
	unsigned high = fuzz_u8(in);

	return (uint16_t)(high << 8 | fuzz_u8(in));
}

static inline uint32_t fuzz_u32(struct fuzz_in *in)
{
	uint32_t high = fuzz_u16(in);

	return high << 16 | fuzz_u16(in);
}

// 0 to 2^63, small values as likely as large ones: six bits of exponent, ten of mantissa.
static inline uint64_t fuzz_log(struct fuzz_in *in)
{
	unsigned v = fuzz_u16(in), shift = v & 63;

	return shift < 10 ? (v >> 6) >> (10 - shift) : (uint64_t)(v >> 6) << (shift - 10);
}

// Up to n bytes of the input, as many as are left.
static inline const uint8_t *fuzz_take(struct fuzz_in *in, size_t *n)
{
	const uint8_t *p = in->at;

	if (*n > in->left)
		*n = in->left;
	in->at += *n;
	in->left -= *n;
	return p;
}

__attribute__((noreturn)) static inline void fuzz_fail(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

#define FUZZ_CHECK(cond) ((cond) ? (void)0 : fuzz_fail(#cond, __FILE__, __LINE__))

// A copy in a block that ends with the last byte, so that a sanitizer sees a read beyond it.
static inline void *fuzz_exact(const void *data, size_t len)
{
	uint8_t *p = malloc(len == 0 ? 1 : len);

	FUZZ_CHECK(p != NULL);
	if (len != 0)
		memcpy(p, data, len);
	return p;
}
