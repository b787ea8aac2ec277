// SPDX-License-Identifier: Apache-2.0
// ARP (RFC 826, RFC 5227) and neighbour solicitations and advertisements (RFC 4861, over Ethernet
// RFC 2464) as one message: a station asks who has an address, or says that it has it. Reads and
// writes whole frames. Checks lengths, checksum, hop limit and options. Pure; any thread.
// control/daemon decides whom to answer and what to keep.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { NEIGHBOUR_MSG_MAX = 86, NEIGHBOUR_MSG_MIN = 60 };

struct neighbour_msg {
	uint8_t family; // 4: ARP, 6: neighbour discovery
	bool request; // asks for target; else: says that `sender` is at sender_mac
	bool has_mac; // sender_mac is set; always in ARP
	bool solicited; // answer: somebody had asked (ARP: it is addressed to one station)
	bool overrides; // answer: replaces what is known (ARP: always)
	bool from_host; // built: an advertisement says that no router speaks
	uint8_t sender_mac[6];
	// Network order, IPv4 in the first four bytes. sender is zero in a probe for duplicates.
	// The target of an answer is the station that asked. Zero: no station asked, and the answer
	// goes to all.
	uint8_t sender[16], target[16];
	// Where to send it. Zero: all stations that may have the target.
	uint8_t to_mac[6];
	// Read: who sent the frame, which is not sender_mac where a proxy answers.
	uint8_t from_mac[6];
};

// Not a group, and not zero.
bool is_station_mac(const uint8_t *mac);

// frame: untagged. False when it is no such message, or is one that must be ignored.
bool neighbour_parse(const uint8_t *frame, uint32_t len, struct neighbour_msg *out);

// Writes up to NEIGHBOUR_MSG_MAX bytes and returns how many. sender_mac, sender and target say it
// all; sender_mac is also the source of the frame.
uint16_t neighbour_build(uint8_t *out, const struct neighbour_msg *m);
