// SPDX-License-Identifier: Apache-2.0
// Quantities with units, as people write them in a policy: exact integer arithmetic, no float.
// Control thread only; pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unit_kind {
	UNIT_BYTES, // B KB MB GB (1000) KiB MiB GiB (1024); none: bytes
	UNIT_RATE, // bps K M G; none: bits per second
	UNIT_TIME, // ns us ms s, in nanoseconds
	UNIT_LENGTH, // m km, in centimetres
	UNIT_PERCENT, // %, in millionths
	UNIT_COUNT, // a whole number
	UNIT_QP, // a whole number, also hexadecimal
	UNIT_RATIO, // a number without unit, in millionths
};

// True with *out; else false with *why set to what is wrong (no value in it). Decimals below the
// base unit are cut off.
bool unit_parse(enum unit_kind kind, const char *text, int64_t *out, const char **why);

// A power of two within -8..7 as its exponent: "1/8", "0.125", "2". Else false with the text of
// the mistake in why.
bool unit_parse_alpha(const char *text, int64_t *log2_out, char *why, size_t why_len);

// "1/8", "1", "2".
void unit_print_alpha(int log2, char *out, size_t out_len);

// The shortest exact way to write n: "500KB", "40G", "10us", "5m", "50%". Returns out.
const char *unit_print(enum unit_kind kind, int64_t n, char *out, size_t out_len);

// The same in memory of the caller's block.
enum { UNIT_TEXT_LEN = 32 };
#define UNIT_TEXT(kind, n) unit_print(kind, n, (char[UNIT_TEXT_LEN]){""}, UNIT_TEXT_LEN)
