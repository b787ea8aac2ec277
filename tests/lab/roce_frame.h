// SPDX-License-Identifier: Apache-2.0
// RoCEv2 frames of every role between hosts of the bench: the one at port n is 10.0.0.(n + 1),
// fd00::(n + 1), 02:00:00:00:00:(n + 1). Without an iCRC.
#pragma once

#include "tests/lab/router.h"

enum { ROCE_DSCP = 24 };

struct roce {
	unsigned from, to; // ports of the hosts
	bool v6, tagged;
	uint8_t opcode, ecn;
	uint8_t dscp; // 0: ROCE_DSCP
	uint8_t syndrome; // of an AETH
	uint32_t qp, psn, read_bytes;
	uint16_t sport, payload;
};

// Returns its length.
uint16_t roce_build(uint8_t out[FRAME_MAX], const struct roce *r);
