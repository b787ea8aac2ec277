// SPDX-License-Identifier: Apache-2.0
// MAC control frames on the wire (IEEE 802.3 Annex 31B and 31D): reads and builds PFC and 802.3x
// PAUSE. Pure; decides nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	PFC_FRAME_LEN = 60, // without FCS, zero padded
	PFC_MIN_RX_LEN = 34, // address, type, opcode, vector, eight times
	MAC_CTRL_OPCODE_PAUSE = 0x0001,
	MAC_CTRL_OPCODE_PFC = 0x0101,
};

// Class-enable vector and the eight times; time[c] counts only where the bit of c is set.
struct pfc_times {
	uint8_t enable;
	uint16_t quanta[8];
};

enum mac_ctrl {
	MAC_CTRL_PFC,
	MAC_CTRL_PFC_MISADDRESSED, // to another address than 01:80:c2:00:00:01: never obeyed
	MAC_CTRL_PAUSE_8023X, // of the whole link
	MAC_CTRL_MALFORMED, // truncated
	MAC_CTRL_OTHER, // another opcode
};

// frame: a whole untagged frame of EtherType 0x8808, len bytes. *out is filled for MAC_CTRL_PFC,
// and for MAC_CTRL_PAUSE_8023X with its time for all classes.
// PFC has one destination, 01:80:c2:00:00:01 (802.3 31D.1), which no bridge forwards. So PFC to
// that address comes from the neighbour itself; PFC to another address may come from anywhere.
enum mac_ctrl mac_ctrl_parse(const uint8_t *frame, uint32_t len, struct pfc_times *out);

// Writes PFC_FRAME_LEN bytes to out.
void pfc_frame_build(uint8_t out[PFC_FRAME_LEN], const uint8_t src_mac[6],
		     const struct pfc_times *times);
// The same of 802.3x PAUSE, with the longest of the times.
void pause_frame_build(uint8_t out[PFC_FRAME_LEN], const uint8_t src_mac[6],
		       const struct pfc_times *times);
