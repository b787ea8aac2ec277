// SPDX-License-Identifier: Apache-2.0
// What the XDP program and its loader must agree on: names, counter slots and the two records they
// share. Read by the BPF compiler too, so it includes nothing but the kernel's integer types. The
// names of program and maps are also how a later start knows a program left behind by an earlier
// one.
#pragma once

#include <linux/types.h>

#define WEIR_XDP_PROG "weir_xdp"
#define WEIR_XDP_PROG_LONG "weir_xdp_long" // frames of several buffers
#define WEIR_XDP_XSKS "weir_xsks"
#define WEIR_XDP_COUNTS "weir_counts"
#define WEIR_XDP_RULES "weir_rules"
#define WEIR_XDP_PAUSE "weir_pause"

// What may be kept for the host's stack. A number here is a bit of weir_xdp_rules.keep and the
// counter of the frames that went there because of it.
#define WEIR_KEEP_LLDP 0
#define WEIR_KEEP_LACP 1
#define WEIR_KEEP_ARP 2
#define WEIR_KEEP_ICMP 3
#define WEIR_KEEP_TCP 4
#define WEIR_KEEP_UDP 5
#define WEIR_N_KEEPS 6

#define WEIR_XDP_PFC 6 // PFC frames whose times went into the pause words
#define WEIR_XDP_OTHER_QUEUE 7 // frames on a receive queue that is not polled: lost
#define WEIR_XDP_NO_SOCKET 8 // frames while no socket was bound: lost
#define WEIR_XDP_MERGED 9 // several segments in one frame, longer than a port receives: lost
#define WEIR_XDP_N_COUNTS 10

#define WEIR_N_CLASSES 8

// Written by the control thread, also while frames pass. A frame that meets a half-written record
// is steered by the old rule or by the new one.
struct weir_xdp_rules {
	__u32 keep; // 1 << WEIR_KEEP_*
	__u8 mac[6]; // the port's own address: icmp, tcp and udp are kept only from frames to it
	__u8 unused[2];
	__u32 longest; // frame that the socket receives, in bytes
	__u64 tcp[1024], udp[1024]; // a bit for each port number
};

// One word for each class, so that a reader never sees half of it: the number of PFC frames that
// enabled the class in the low 32 bits, the time that the last of them gave in the 16 above.
struct weir_xdp_pause {
	__u64 word[WEIR_N_CLASSES];
};
