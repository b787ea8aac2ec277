// SPDX-License-Identifier: Apache-2.0
// How long a message or operation would take with the fabric to itself: what the time it really
// took is divided by to get its slowdown. Exact for switches that store and forward and add
// nothing, as those of the lab do: frame after frame through the links of a shortest way, each
// with its headers, gap and propagation, then the acknowledgement (of a READ: the request before)
// on the way back. Frames of different length queue behind each other as they do in the fabric.
// Pure.
//
//   end(k, l) = max(end(k - 1, l), end(k, l - 1) + delay(l - 1)) + time(k, l)      frame k, link l
//
// Not in it: ECMP (of equal ways the first is taken), faults, other traffic, congestion control,
// the handshake of TCP.
#pragma once

#include "control/lab/scenario.h"

struct ideal;
struct lab_flow;
struct traffic_done;

__attribute__((warn_unused_result)) int ideal_create(const struct scenario *sc, struct ideal **out);
void ideal_destroy(struct ideal *i); // NULL is fine

enum { IDEAL_MAX_LINKS = 64 };

// The links from one host to another, in order.
struct ideal_path {
	uint32_t n;
	struct {
		uint64_t speed_bps, delay_ns;
		uint32_t sw; // that sends by it; of the first link none
		uint32_t out, in; // ports of switches that send by it, and that receive
		uint32_t extra, extra_back; // of frame_extra, of frames on this link and back
	} links[IDEAL_MAX_LINKS];
};

// Finds a way for untagged frames over IPv4; n 0: there is none.
void ideal_find(struct ideal *i, uint32_t from, uint32_t to, struct ideal_path *path);

// One message: who posts, to whom, what, in packets of mtu bytes, paced at pace_bps (of the NIC
// or the flow).
struct ideal_message {
	uint8_t op; // enum req_op
	bool is_tcp; // segments in place of RDMA packets; op is unused
	uint16_t mtu;
	uint32_t n_bytes;
	uint64_t pace_bps;
};

// For tests: from the posting until all of it has arrived at the other end, without an
// acknowledgement; of a READ, until the last response is there.
uint64_t ideal_arrival_ns(const struct ideal_path *path, const struct ideal_message *m);

// Until the poster knows that it is complete.
uint64_t ideal_complete_ns(const struct ideal_path *path, const struct ideal_message *m);

// A whole operation of a flow, from its posting until it counts as done. Policies say where frames
// have tags.
struct fabric;
uint64_t ideal_op_ns(struct ideal *i, const struct fabric *fabric, const struct lab_flow *f,
		     const struct traffic_done *d);

// The retransmission timer of hosts without the key `rto`. Policies are compiled. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int ideal_rto(const struct fabric *f, uint64_t *out);
