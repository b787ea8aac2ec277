// SPDX-License-Identifier: Apache-2.0
// The payload an endpoint sends and what a receiver may check it against: byte n of a queue
// pair's data stream is a fixed pseudo-random function of n. The period is prime, so a packet
// swapped with its neighbour, repeated or shifted never looks right, and both ends find the
// bytes by one memcpy or memcmp into a table. Pure; one table per NIC.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	PAYLOAD_PERIOD = 251,
	PAYLOAD_MAX = 9216 - 40, // of the largest TCP segment; path MTUs end at 4096
};

struct payload_table {
	uint8_t bytes[PAYLOAD_PERIOD + PAYLOAD_MAX];
};

static inline void payload_table_init(struct payload_table *t)
{
	for (uint32_t i = 0; i < sizeof(t->bytes); i++)
		t->bytes[i] = (uint8_t)((i % PAYLOAD_PERIOD * 0x9e3779b1u) >> 24);
}

// The n bytes at stream position offset; n at most PAYLOAD_MAX.
static inline const uint8_t *payload_at(const struct payload_table *t, uint64_t offset)
{
	return t->bytes + offset % PAYLOAD_PERIOD;
}

static inline bool payload_ok(const struct payload_table *t, uint64_t offset, const uint8_t *data,
			      uint32_t n)
{
	return n <= PAYLOAD_MAX && memcmp(data, payload_at(t, offset), n) == 0;
}
