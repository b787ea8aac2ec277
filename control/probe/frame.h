// SPDX-License-Identifier: Apache-2.0
// The frames of weir-probe: UDP in IPv4 with the number of the trial and of the frame, so that each
// loss is known by its number. Builds and recognises them; decides nothing. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	PROBE_LEN_MIN = 64, // without FCS
	PROBE_LEN_MAX = 1514,
	PROBE_NO_TAG = -1,
	// Of all frames that are sent: WRED marks them and drops none of them, so that it does not
	// end a queue before the buffer does.
	PROBE_ECT0 = 2,
};

struct probe_frame {
	uint8_t dst[6], src[6];
	uint8_t cls; // of the probe; the device maps DSCP or PCP
	uint8_t dscp, ecn;
	int vlan; // PROBE_NO_TAG: the frame has no tag
	uint16_t len; // without FCS, PROBE_LEN_MIN..PROBE_LEN_MAX
	uint32_t trial, seq;
};

// Writes f->len bytes.
void probe_frame_build(uint8_t *out, const struct probe_frame *f);

// False: not a frame of a probe. Fills cls, ecn, trial, seq.
bool probe_frame_parse(const uint8_t *frame, uint32_t len, struct probe_frame *f);
