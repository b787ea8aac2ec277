// SPDX-License-Identifier: Apache-2.0
// How captured frames travel from the daemon to weirctl: a record and its bytes, one after
// another without gaps, the whole as one base64 text in a JSON answer (base64url of RFC 4648
// without padding, whose letters JSON need not escape). Both ends are on one machine, so numbers
// are in its byte order. Used by control/daemon/capture.c and control/ctl/capture.c; pure.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CAPTURE_HAS_QUEUE = 1, CAPTURE_MARKED = 2, CAPTURE_TRIMMED = 4 }; // flags
enum { CAPTURE_MAX_FILTER = 1000 }; // bytes of a filter's text

struct capture_record {
	uint64_t t_ns; // since 1970, UTC
	uint32_t len, captured; // bytes of the frame, and of those that follow here
	uint32_t queue_bytes;
	uint16_t port; // index in the policy
	uint8_t direction; // enum tap_direction
	uint8_t cls, queue, flags, reason; // as in struct tap_meta
	uint8_t trim_queue; // likewise
	uint8_t spare[4];
};
static_assert(sizeof(struct capture_record) == 32, "no hidden gap");

#define BASE64_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

static inline size_t base64_len(size_t n_bytes)
{
	return (n_bytes * 4 + 2) / 3;
}

// Writes base64_len(n) characters, no end.
static inline void base64_encode(char *out, const uint8_t *in, size_t n)
{
	static const char digit[] = BASE64_DIGITS;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i < 3 ? n - i : 3;
		uint32_t v = (uint32_t)in[i] << 16;

		if (left > 1)
			v |= (uint32_t)in[i + 1] << 8;
		if (left > 2)
			v |= in[i + 2];
		for (size_t k = 0; k < left + 1; k++)
			*out++ = digit[v >> (18 - 6 * k) & 63];
	}
}

// Writes n * 3 / 4 bytes; false for a text that is none of base64_encode's.
static inline bool base64_decode(uint8_t *out, const char *in, size_t n)
{
	static const char digit[] = BASE64_DIGITS;
	uint8_t value[256]; // of a digit, plus one
	uint32_t v = 0;

	memset(value, 0, sizeof(value));
	for (unsigned i = 0; i < 64; i++)
		value[(uint8_t)digit[i]] = (uint8_t)(i + 1);
	for (size_t i = 0; i < n; i++) {
		uint8_t known = value[(uint8_t)in[i]];

		if (known == 0)
			return false;
		v = v << 6 | (known - 1u);
		if (i % 4 != 0)
			*out++ = (uint8_t)(v >> (6 - 2 * (i % 4)));
	}
	return n % 4 != 1;
}
