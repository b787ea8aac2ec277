// SPDX-License-Identifier: Apache-2.0
// Features of a queue over a window of time. Thresholds are chosen by them. Computed from two
// snapshots of counters that only grow. Pure; no DPDK.
//
//   feature        from                                            unit
//   utilisation    bytes that left / bytes that the link carries   0 to 1
//   marked_use     the same, over the looks since which frames     0 to 1; 1 if none were marked
//                  were marked: what the marks cost
//   delay_mean_ns  time in the switch of all frames that left      ns
//   delay_p99_ns   the same: the histogram of the queue            ns, rounded up by 1/4 at most
//   mark_share     frames that were marked / frames that left      0 to 1
//   queue_bytes    mean length, at each look of control            bytes
//   pauses         PAUSEs that the switch sent for the queue       count
//   paused_share   time for which the peer paused the queue        0 to 1
//   flows          flows that sent through the queue               count; UNKNOWN without a table
//                  in the time of one round through the table
//   elephants      share of their bytes that large flows sent      0 to 1; UNKNOWN likewise
//   fairness       Jain's index of what each of them sent: 1 if    0 to 1; UNKNOWN likewise
//                  all sent as much as each other, low if most
//                  bytes are from a few of them
//
// The delay is no sample: each frame is counted, also between two looks. The RTT of the senders is
// not known to a switch, so it is no feature.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ECN_RESIDENCE_MAX = 192 };
#define ECN_UNKNOWN (-1.0)

// Sums since the start of the switch. Times are in the clock of the switch.
struct ecn_snapshot {
	uint64_t t_ns;
	uint64_t tx_packets, tx_bytes, marked, pauses, paused_ns;
	uint64_t length_sum, lengths; // of the queue, at the looks so far
	// Of the times from look to look in which frames were marked.
	uint64_t marked_bytes, marked_ns;
	uint64_t residence[ECN_RESIDENCE_MAX]; // frames by time in the switch
	// Of the flow table. Places that were looked at, flows there that had sent since the look
	// before, and what they had sent; 0: no table.
	uint64_t places, flows, flow_bytes, elephant_bytes;
	// Sum of the squares of what each flow had sent. Exact, as windows are differences of it.
	unsigned __int128 flow_squares;
	uint64_t table; // places of the whole table
};

struct ecn_features {
	double utilisation, marked_use;
	double delay_mean_ns, delay_p99_ns, mark_share, queue_bytes, paused_share;
	double flows, elephants, fairness;
	uint64_t packets, pauses;
};

// bucket_max: the longest time of each of n buckets (switch.h). speed_bps: of the link, or of the
// queue where its max_rate is lower.
struct ecn_features ecn_features_between(const struct ecn_snapshot *from,
					 const struct ecn_snapshot *to, uint64_t speed_bps,
					 uint64_t (*bucket_max)(unsigned), unsigned n);
