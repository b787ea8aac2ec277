// SPDX-License-Identifier: Apache-2.0
// The emulated RoCEv2 NIC: queue pairs of the reliable connection service over one port, with
// ARP, connection management, per-packet pacing, and obedience to PFC. The same code runs live
// (weir-host) and on the virtual wire.
//
// One owner calls everything here: time is an argument that never decreases, luck comes from
// the seed, nothing is allocated or logged after nic_create. It knows IPv4 and untagged frames;
// congestion control is not built: a flow keeps its rate. See requester.h, responder.h, conn.h
// and storm.h for the state machines.
//
//   flow        what a queue pair of the initiator is told to do: messages of one size to one peer
//   class       traffic class and PFC priority 0..7; frames carry DSCP 8 * class and ECT(0)
//   stop/close  a stopped flow posts nothing more; a closed one has taken its connection down
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port.h"
#include "dataplane/qos/pfc.h"
#include "drivers/nic/hist.h"
#include "drivers/nic/requester.h"
#include "drivers/nic/responder.h"
#include "drivers/nic/storm.h"

struct rte_mempool;
struct nic;

enum { NIC_CLASSES = 8, NIC_MAX_QPS = 4096, NIC_MAX_WINDOW = 1 << 20 };
#define NIC_RANDOM_PSN UINT32_MAX

struct nic_config {
	const struct port_ops *ops;
	void *drv;
	struct rte_mempool *pool; // frames to send come from here
	struct port_facts facts; // mac, max_frame, shaper_burst_ns, tx_burst and wakes are used
	uint32_t ip; // host order
	uint64_t speed_bps; // line rate, link overhead of 24 B a frame included
	uint16_t max_qps; // 1..NIC_MAX_QPS
	uint16_t max_peers;
	uint32_t window; // unacknowledged packets per queue pair, 1..NIC_MAX_WINDOW
	uint64_t rto_ns; // retransmission timer
	uint64_t retry_ns; // of ARP and connection management
	uint64_t seed;
	bool listen; // accept connections
	bool deaf; // PFC is counted and not obeyed
	bool verify; // compare received payload with what it must be
};

// window 8192, rto 1 ms, retry 1 ms, 64 queue pairs and peers.
void nic_config_default(struct nic_config *c);

__attribute__((warn_unused_result)) int nic_create(const struct nic_config *c, struct nic **out);
void nic_destroy(struct nic *nic); // NULL is fine

// One loop: receive, act, send. Returns when it next has something to do by itself; UINT64_MAX:
// nothing until a frame arrives.
uint64_t nic_step(struct nic *nic, uint64_t now_ns);

// ---- flows
struct nic_flow {
	uint32_t dst_ip; // host order
	uint8_t op; // enum req_op
	uint8_t cls;
	uint16_t mtu; // path MTU: 256, 512, 1024, 2048 or 4096
	uint32_t msg_bytes;
	uint32_t depth; // messages in flight, 1..REQ_MAX_MSGS; 0: the most
	uint64_t n_messages; // 0: until stopped
	uint64_t interval_ns; // from message to message; 0: one follows the other
	uint64_t rate_bps; // pacing of the queue pair, link overhead included; 0: line rate
	uint64_t start_ns;
	uint32_t first_psn; // of both directions; NIC_RANDOM_PSN
};

// Opens a queue pair to the peer: ARP, then REQ, REP, RTU, then data. *id names it from now on.
// 0, -EINVAL (a value out of range, or the MTU does not fit the port), -ENOSPC (no queue pair
// or peer left).
__attribute__((warn_unused_result)) int nic_flow_add(struct nic *nic, const struct nic_flow *f,
						     uint32_t *id);

void nic_flow_stop(struct nic *nic, uint32_t id);
void nic_flow_close(struct nic *nic, uint32_t id);

// The pacing rate of a flow from now on; 0: line rate.
void nic_flow_set_rate(struct nic *nic, uint32_t id, uint64_t rate_bps);

enum nic_flow_state {
	FLOW_CONNECTING,
	FLOW_UP,
	FLOW_REJECTED, // reason holds the code of the REJ
	FLOW_REFUSED, // by a NAK: reason holds its syndrome
	FLOW_CLOSED,
};

struct nic_flow_status {
	uint8_t state; // enum nic_flow_state
	bool resolved; // the peer answered ARP
	uint16_t reason;
	uint64_t posted, completed; // messages
	uint32_t qpn, peer_qpn;
};
struct nic_flow_status nic_flow_status(const struct nic *nic, uint32_t id);

// ---- storms and faults
void nic_storm_start(struct nic *nic, const struct storm_params *p);
void nic_storm_stop(struct nic *nic, uint64_t now_ns);
bool nic_storm_over(const struct nic *nic);

// ---- numbers
// Data: SEND, WRITE, READ request and READ response; acknowledgements and management are apart.
struct nic_class_stats {
	uint64_t tx_packets, tx_bytes; // data frames sent, retransmissions included
	uint64_t rx_packets, rx_bytes; // data frames received with a good iCRC, in order or not
	uint64_t goodput_bytes; // payload taken in order
	uint64_t ce_marked; // of rx_packets
	uint64_t first_rx_ns, last_rx_ns; // of rx_packets; 0: none
};

struct nic_stats {
	uint64_t tx_frames, rx_frames; // all
	uint64_t acks_sent, acks_received, naks_sent, naks_received;
	uint64_t retransmissions, timeouts, out_of_sequence, duplicates, refused;
	uint64_t messages_posted, messages_completed, bytes_completed; // as initiator
	uint64_t first_post_ns, last_complete_ns; // 0: none
	uint64_t messages_served; // as responder
	uint64_t icrc_errors, payload_errors, malformed, ignored, unknown_qp, cnps;
	uint64_t no_mbuf; // loops in which a frame could not be built
	uint64_t connections_accepted, connections_rejected;
	struct nic_class_stats cls[NIC_CLASSES];
	struct hist completion; // ns from posting to completion
};

// By value: the sums over living queue pairs are made here.
void nic_stats(const struct nic *nic, struct nic_stats *out);
const struct pfc_rx_state *nic_pfc_rx(const struct nic *nic);
const struct pfc_tx_state *nic_pfc_tx(const struct nic *nic);

// What was exchanged with one other address.
struct nic_peer {
	uint32_t ip;
	struct nic_class_stats cls[NIC_CLASSES];
};
uint32_t nic_n_peers(const struct nic *nic);
const struct nic_peer *nic_peer(const struct nic *nic, uint32_t i);
