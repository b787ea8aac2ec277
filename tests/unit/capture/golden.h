// SPDX-License-Identifier: Apache-2.0
// One capture file with a block of every kind, for the test of its bytes (test_pcapng.c) and for
// tshark's judgement (judge_pcapng.py by way of write_golden.c).
#pragma once

#include "control/capture/pcapng.h"

// The smallest Ethernet frame with something in it that tshark knows: an LLDPDU of three TLVs.
static const uint8_t golden_frame[] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x88, 0xcc,
	0x02, 0x07, 0x04, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x04, 0x02, 0x07, 0x31, 0x06,
	0x02, 0x00, 0x78, 0x00, 0x00,
};
static const uint64_t GOLDEN_T_NS = 1700000000123456789;

static bool golden_write(FILE *out)
{
	const struct pcapng_interface p1 = {.name = "p1", .description = "xdp:sw1",
					    .speed_bps = 100000000000, .snaplen = 1522,
					    .filter = "ether proto 0x88cc"};
	const struct pcapng_interface p2 = {.name = "p2", .snaplen = 1522};
	const struct pcapng_frame in = {.interface = 0, .t_ns = GOLDEN_T_NS, .data = golden_frame,
					.captured = sizeof(golden_frame),
					.len = sizeof(golden_frame), .direction = PCAPNG_INBOUND,
					.queue = PCAPNG_NO_QUEUE, .comment = "dir=in"};
	const struct pcapng_frame sent = {.interface = 1, .t_ns = GOLDEN_T_NS + 1,
					  .data = golden_frame, .captured = 24,
					  .len = sizeof(golden_frame),
					  .direction = PCAPNG_OUTBOUND, .queue = 3,
					  .comment = "dir=out class=3"};
	const struct pcapng_statistics s = {.interface = 1, .t_ns = GOLDEN_T_NS + 2,
					    .begin_ns = GOLDEN_T_NS, .end_ns = GOLDEN_T_NS + 2,
					    .received = 10, .dropped = 1, .accepted = 2,
					    .delivered = 1};

	return pcapng_section(out, "weir") && pcapng_interface(out, &p1) &&
	       pcapng_interface(out, &p2) && pcapng_frame(out, &in) && pcapng_frame(out, &sent) &&
	       pcapng_statistics(out, &s);
}
