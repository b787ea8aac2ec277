// SPDX-License-Identifier: Apache-2.0
// Values as people write them: quantities with units, ranges in names.
// Exact integer arithmetic, no float. Control thread only; pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/base/port_no.h"

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

// True with *out, or false with *why, a text without the value. Decimals below the
// base unit are cut off.
bool unit_parse(enum unit_kind kind, const char *text, int64_t *out, const char **why);

// A power of two within -8..7 as its exponent: "1/8", "0.125", "2". Else false with the text of
// the mistake in why.
bool unit_parse_alpha(const char *text, int64_t *log2_out, char *why, size_t why_len);

// "1/8", "1", "2".
void unit_print_alpha(int log2, char *out, size_t out_len);

// The shortest exact way to write n, which is not negative: "500KB", "40G", "10us", "2.5m", "50%".
// Returns out.
const char *unit_print(enum unit_kind kind, int64_t n, char *out, size_t out_len);

// The same in memory of the caller's block.
enum { UNIT_TEXT_LEN = 32 };
#define UNIT_TEXT(kind, n) unit_print(kind, n, (char[UNIT_TEXT_LEN]){""}, UNIT_TEXT_LEN)

// ---- ranges in names: "p[1-3]" is p1, p2, p3; "eth[01-02,7]" is eth01, eth02, eth07
// Several ranges in one text run in step.
// No port, device, address, host, switch or end of a cable has a longer name.
enum { EXPAND_MAX = POLICY_MAX_PORTS, EXPAND_NAME_LEN = 127 };

struct expansion {
	char items[EXPAND_MAX][EXPAND_NAME_LEN + 1];
	unsigned n;
	bool ranged; // the text holds a range
};

// False with *why.
bool expand(const char *text, struct expansion *out, const char **why);
