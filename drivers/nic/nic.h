// SPDX-License-Identifier: Apache-2.0
// The emulated RoCEv2 NIC: queue pairs of the reliable connection service over one port, with
// ARP, connection management, per-packet pacing, and obedience to PFC. The same code runs live
// (weir-host) and on the virtual wire.
//
// One owner calls everything here: time is an argument that never decreases, luck comes from
// the seed, nothing is logged. Memory is taken by nic_create, by new flows, and where a flow has
// more messages outstanding than ever before. It knows IPv4 and IPv6, untagged and with one 802.1Q
// tag. IPv6 has neither routers nor extension headers to send.
// See requester.h, responder.h, conn.h, dcqcn.h, tcp.h and pausing.h for the state machines.
//
//   flow        what a queue pair of the initiator does: messages of one size to one peer
//   class       traffic class and PFC priority 0..7; frames carry the flow's ECN codepoint and its
//               DSCP, 8 * class unless it names another; class_of_dscp is the class of
//               arriving frames, of those with a tag class_of_pcp. CNPs of a connection with a tag
//               have a PCP of their class; ACKs and all else have that of the data.
//   stop/close  a stopped flow posts nothing more; a closed one has taken its connection down
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port_ops.h"
#include "dataplane/qos/pfc.h"
#include "drivers/nic/addr.h"
#include "drivers/nic/dcqcn.h"
#include "drivers/nic/hist.h"
#include "drivers/nic/pausing.h"
#include "drivers/nic/requester.h"
#include "drivers/nic/responder.h"
#include "drivers/nic/tcp.h"

struct rte_mempool;
struct nic;

enum { NIC_CLASSES = 8, NIC_DSCPS = 64, NIC_MAX_QPS = 4096, NIC_MAX_WINDOW = 1 << 20 };
#define NIC_RANDOM_PSN UINT32_MAX

// What a host may do badly, all off when zero.
struct nic_faults {
	// A slow receiver: frames (all but MAC control) are taken at this rate, counted in bytes of
	// the frame, less what traffic of the host to itself takes. They wait in a buffer; PAUSE is
	// sent for the class of what arrives above xoff, XON for all below xon, and what finds no
	// room is dropped. Bytes of 0: 256 KiB, half of it, half of that (pausing.h).
	uint64_t rx_rate_bps; // 0: as they come
	uint64_t loopback_bps;
	uint32_t rx_buffer_bytes, rx_xoff_bytes, rx_xon_bytes;
	// Queue pairs in the slow receiver's cache (pausing.h), 0: all; what a miss costs.
	uint32_t qp_cache;
	uint64_t qp_miss_ns;
	// What is lost throws its message back to the first packet, as with the older NICs of "RDMA
	// over Commodity Ethernet at Scale" (requester.h, responder.h). Both ends must have it.
	bool go_back_0;
	bool fence; // one SEND in flight per round trip (hidden fence of fast memory registration)
	// A NIC that has paused its peer for so long without a break sends no PAUSE any more, and a
	// storm is over (pausing.h); 0: never.
	uint64_t storm_guard_ns;
};

// Calls out of nic_step, each at the instant of its event. They may post, connect, close and forget
// flows of any NIC, also the flow of the event.
struct nic_done;
struct nic_served;
struct nic_hooks {
	void (*done)(void *arg, const struct nic_done *d); // a message of an initiator is complete
	void (*served)(void *arg, const struct nic_served *s); // a SEND or WRITE arrived whole
	void (*cut)(void *arg, uint64_t now_ns); // a reaction point lowered its rate
	// An LLDP frame came. NULL: such frames are ignored.
	void (*lldp)(void *arg, const uint8_t *frame, uint32_t len, uint64_t now_ns);
	// An untagged frame came of an EtherType that the NIC does not know. NULL: as above.
	void (*other)(void *arg, const uint8_t *frame, uint32_t len, uint64_t now_ns);
	void *arg;
};

// One operation's life (the breakdown of RDMA Estats), ns of the NIC's clock.
struct nic_done {
	uint32_t flow; // id
	uint64_t tag; // of nic_post; else the message's number
	uint32_t n_bytes;
	// When its frames were given to the line; done: the last ACK or READ response arrived.
	uint64_t posted_ns, first_tx_ns, last_tx_ns, done_ns;
};

struct nic_served {
	struct ip_key src_ip;
	uint32_t qpn; // of the responder
	uint64_t tag; // the initiator's, where nic_connect made the connection; else the number
	uint32_t n_bytes;
	uint64_t now_ns;
};

// The UDP source port of a queue pair's frames: as Linux derives it from both numbers, 49152 for
// all, or drawn by each end for itself.
enum nic_sport { NIC_SPORT_LINUX, NIC_SPORT_FIXED, NIC_SPORT_RANDOM, N_NIC_SPORTS };

struct nic_config {
	const struct port_ops *ops;
	void *drv;
	struct rte_mempool *pool; // frames to send come from here
	struct port_facts facts; // mac, max_frame, shaper_burst_ns, tx_burst and wakes are used
	struct ip_key ip, ip6; // own addresses; zero: none of the family
	struct frame_tag tag; // of requests for addresses
	bool any_vlan; // connections of every VLAN are accepted; else only of the tag's
	uint64_t speed_bps; // line rate, link overhead of 24 B a frame included
	uint16_t max_qps; // 1..NIC_MAX_QPS
	uint16_t max_peers;
	uint32_t window; // unacknowledged packets per queue pair, 1..NIC_MAX_WINDOW
	uint64_t rto_ns; // retransmission timer
	uint64_t retry_ns; // of ARP and connection management
	uint64_t seed;
	bool listen; // accept connections
	bool ignore_pause; // PFC is counted and not obeyed
	bool whole_link; // the NIC obeys and sends 802.3x PAUSE, for all classes, and not PFC
	bool verify; // compare received payload with what it must be
	// Only missing packets are sent again, where both ends have it (reorder.h).
	bool selective;
	uint8_t udp_sport; // enum nic_sport
	uint8_t class_of_dscp[NIC_DSCPS]; // of received frames and of CNPs
	uint8_t class_of_pcp[NIC_CLASSES]; // of received frames with a tag; of CNPs the reverse
	uint64_t trimmed_dscps; // bitmap: a cut frame with one of them was trimmed by a switch
	// Bytes stored of a data frame, at least ROCE_MAX_HEADERS + FRAME_MAX_EXTRA; 0: all of it.
	uint16_t snap;
	struct cc_config cc; // dcqcn.h
	struct nic_faults faults;
	struct nic_hooks hooks;
};

// DSCP 8 * c to 8 * c + 7 and PCP c are class c.
static inline void nic_default_classes(struct nic_config *c)
{
	for (unsigned d = 0; d < NIC_DSCPS; d++)
		c->class_of_dscp[d] = (uint8_t)(d / (NIC_DSCPS / NIC_CLASSES));
	for (uint8_t pcp = 0; pcp < NIC_CLASSES; pcp++)
		c->class_of_pcp[pcp] = pcp;
}

// window 8192, rto 1 ms, retry 1 ms, 64 queue pairs and peers; nic_default_classes.
void nic_config_default(struct nic_config *c);

// The PCP of tagged frames that class_of_pcp takes for a class: of several its own number, or else
// the lowest; -1: there is none.
static inline int nic_pcp_of_class(const uint8_t class_of_pcp[NIC_CLASSES], uint8_t cls)
{
	int pcp = 0;

	if (class_of_pcp[cls] == cls)
		return cls;
	while (pcp < NIC_CLASSES && class_of_pcp[pcp] != cls)
		pcp++;
	return pcp < NIC_CLASSES ? pcp : -1;
}

__attribute__((warn_unused_result)) int nic_create(const struct nic_config *c, struct nic **out);
void nic_destroy(struct nic *nic); // NULL is fine
// More DSCPs of trimmed frames.
void nic_add_trimmed_dscps(struct nic *nic, uint64_t dscps);

// One loop: receive, act, send. Returns when it next has something to do by itself; UINT64_MAX:
// nothing until a frame arrives.
uint64_t nic_step(struct nic *nic, uint64_t now_ns);

// ---- flows
// The ECN codepoint of a flow's frames (RFC 3168). CNPs are always ECT(0).
enum nic_ecn { NIC_ECT0, NIC_ECT1, NIC_NOT_ECT, N_NIC_ECNS };
extern const char *const nic_ecn_words[N_NIC_ECNS + 1]; // "ect0", ...; the last is NULL

struct nic_flow {
	struct ip_key dst_ip;
	struct frame_tag tag;
	struct frame_tag far_tag; // nic_connect: of the responder's frames
	uint8_t op; // enum req_op
	uint8_t cls;
	bool has_dscp; // else 8 * cls
	uint8_t dscp;
	uint8_t ecn; // enum nic_ecn
	uint16_t mtu; // path MTU: 256, 512, 1024, 2048 or 4096; nic_connect takes any that fits
	uint32_t msg_bytes;
	uint32_t depth; // messages in flight, 1..REQ_MAX_MSGS; 0: the most
	uint64_t n_messages; // 0: until stopped
	bool manual; // messages are posted by nic_post only; msg_bytes and interval_ns are unused
	uint64_t interval_ns; // from message to message; 0: one follows the other
	uint64_t rate_bps; // pacing of the queue pair, link overhead included; 0: line rate
	uint64_t start_ns;
	uint32_t first_psn; // of the initiator's packets; NIC_RANDOM_PSN
	uint16_t ack_every; // packets per ACK within a message, up to REQ_MAX_ACK_EVERY; 0: 16
	// nic_connect: queue pair numbers of both ends, as those of a connection that was closed.
	// 0: any.
	uint32_t qpn, peer_qpn;
	bool cc_off; // CNPs do not slow it; with nic_connect at both ends
	// nic_connect: a TCP connection in place of a queue pair (tcp.h). op, first_psn, ack_every
	// and cc_off are unused, mtu is the largest segment; the NIC fills tcp.mss and tcp.stream.
	// Both ends know each other's port; the handshake is on the wire.
	bool is_tcp;
	struct tcp_params tcp;
};

// Opens a queue pair to the peer: ARP, then REQ, REP, RTU, then data. *id names it from now on.
// 0, -EINVAL (a value out of range, or the MTU does not fit the port), -ENOSPC (no queue pair
// or peer left).
__attribute__((warn_unused_result)) int nic_flow_add(struct nic *nic, const struct nic_flow *f,
						     uint32_t *id);

// The same without a frame on the wire, for a world that knows both ends: the queue pairs of both
// NICs are up at once, the initiator's at `nic`, which must be stepped afterwards. Both NICs must
// live until the flow is closed. 0, -EINVAL (as above, f->dst_ip is not the responder's address, or
// one does not know the other's: nic_peer_set on both), -ENOSPC (one has no queue pair left, or the
// wanted number is in use).
__attribute__((warn_unused_result)) int nic_connect(struct nic *nic, const struct nic_flow *f,
						    struct nic *responder, uint32_t *id);

bool nic_is_full(const struct nic *nic); // it has no queue pair left

// An address that needs no ARP. 0, or -ENOSPC.
__attribute__((warn_unused_result)) int nic_peer_set(struct nic *nic, struct ip_key ip,
						     const uint8_t mac[6]);

// The next nic_flow_add() to this address asks ARP again, because the station may have moved, or
// switches may have forgotten it. Flows that exist keep its MAC address.
void nic_peer_ask_again(struct nic *nic, struct ip_key ip);

// Posts a message of n_bytes on a manual flow. 0, -EAGAIN (`depth` are outstanding, or the
// connection is not up), -EINVAL (not a manual flow, or too long). The owner of the NIC must step
// it afterwards (poke the actor), unless called from a hook of the same NIC; that step is the time
// of posting.
__attribute__((warn_unused_result)) int nic_post(struct nic *nic, uint32_t id, uint32_t n_bytes,
						 uint64_t tag);

void nic_flow_stop(struct nic *nic, uint32_t id);
// Takes the connection down; one that nic_connect made is gone at both ends without a frame, and
// its frames under way find no queue pair (unknown_qp).
void nic_flow_close(struct nic *nic, uint32_t id);
// Gives the id of a closed or rejected flow back, for a flow to come. While the peer has not
// answered that the connection is closed, the id is not given to another flow.
void nic_flow_forget(struct nic *nic, uint32_t id);

// For tests: the pacing rate of a flow from now on; 0: line rate.
void nic_flow_set_rate(struct nic *nic, uint32_t id, uint64_t rate_bps);

enum nic_flow_state {
	NIC_FLOW_CONNECTING,
	NIC_FLOW_UP,
	NIC_FLOW_REJECTED, // reason holds the code of the REJ
	NIC_FLOW_REFUSED, // by a NAK: reason holds its syndrome
	NIC_FLOW_CLOSED,
};

struct nic_flow_status {
	uint8_t state; // enum nic_flow_state
	bool resolved; // the peer answered ARP
	uint16_t reason;
	uint64_t posted, completed; // messages
	uint32_t qpn, peer_qpn;
	uint64_t acked_bytes; // payload acknowledged in order
	// Of the end that sends the data: of a READ the responder, where nic_connect made the
	// connection.
	uint64_t tx_packets, tx_bytes; // data frames sent, retransmissions included
	uint64_t rate_bps; // what the reaction point allows now; 0: the line
	uint32_t alpha_ppm; // its estimate of congestion at the last step; 1 before any CNP
	uint64_t cnps; // received
	struct nic_tcp_status {
		uint32_t cwnd_bytes, ssthresh_bytes;
		uint64_t srtt_ns, rto_ns;
		struct tcp_stats stats;
	} tcp; // of TCP
};
struct nic_flow_status nic_flow_status(const struct nic *nic, uint32_t id);

// Whether queue pair qpn of this NIC is, now, the one joined with queue pair peer_qpn of the other
// address. LATE: it was, and the number is not in use since.
enum nic_pair { NIC_PAIR_WRONG, NIC_PAIR_LATE, NIC_PAIR_RIGHT };
enum nic_pair nic_pair_now(const struct nic *nic, uint32_t qpn, struct ip_key peer_ip,
			   uint32_t peer_qpn);

// The memory that nearly each step of a NIC needs. For a caller whose NICs are more than the caches
// hold: nic_memory_fetch asks the processor for this memory.
struct nic_memory {
	const struct nic *nic;
	const void *heap, *due_ns;
};
struct nic_memory nic_memory(const struct nic *nic);
void nic_memory_fetch(const struct nic_memory *m);

// ---- storms and faults
// From now on; the storm guard is as if it had never acted. 0, -EINVAL (loopback leaves no rate, or
// the bytes are not xon <= xoff < buffer), -ENOMEM. The NIC must be stepped afterwards.
__attribute__((warn_unused_result)) int nic_set_faults(struct nic *nic,
						       const struct nic_faults *f);
void nic_ignore_pause(struct nic *nic, bool ignore);
// From now on the NIC obeys and sends PFC in these classes only; before, in all.
void nic_set_pfc(struct nic *nic, uint8_t classes);
// Sends an untagged frame of control, ahead of data, in class 0. False: there is no room.
bool nic_send_frame(struct nic *nic, const uint8_t *bytes, uint16_t len);
void nic_storm_start(struct nic *nic, const struct storm_params *p);
void nic_storm_stop(struct nic *nic, uint64_t now_ns);
bool nic_storm_over(const struct nic *nic);

// Why the NIC sent its last PAUSE of a class; *since_ns: when the storm began.
enum nic_pausing { NIC_PAUSES_NOT, NIC_PAUSES_BY_STORM, NIC_PAUSES_SLOWLY };
enum nic_pausing nic_pausing(const struct nic *nic, unsigned cls, uint64_t *since_ns);

// ---- numbers
// Data: SEND, WRITE, READ request and READ response; acknowledgements and management are apart.
struct nic_class_stats {
	uint64_t tx_packets, tx_bytes; // data frames sent, retransmissions included
	uint64_t rx_packets, rx_bytes; // data frames received with a good iCRC, in order or not
	uint64_t goodput_bytes; // payload taken in order; with go_back_0: of whole messages
	uint64_t ce_marked; // of rx_packets
	uint64_t first_rx_ns, last_rx_ns; // of rx_packets; 0: none
};

struct nic_stats {
	uint64_t tx_frames, rx_frames; // all
	uint64_t acks_sent, acks_received, naks_sent, naks_received;
	uint64_t retransmissions, timeouts, out_of_sequence, refused;
	uint64_t duplicates; // packets received that had been accepted before
	uint64_t fast_retransmits, ece_received; // of TCP: recoveries begun, ACKs with ECE
	uint64_t tcp_timeouts, tcp_duplicates; // of timeouts and duplicates the ones of TCP
	uint64_t messages_posted, messages_completed, bytes_completed; // as initiator
	uint64_t first_post_ns, last_complete_ns; // 0: none
	uint64_t messages_served; // as responder
	uint64_t rx_trimmed; // frames that a switch had cut; else they count as icrc_errors
	uint64_t icrc_errors, payload_errors, malformed, ignored, unknown_qp;
	uint64_t cnps_received, cnps_sent; // as reaction and as notification point
	// CNPs that were not obeyed: for a queue pair that there is not, of another peer, or with
	// another UDP source port than that of its data. Late: the queue pair was there, before.
	uint64_t cnps_wrong, cnps_late;
	uint64_t rate_cuts; // times that a reaction point lowered its rate
	uint64_t rx_dropped; // slow receiver: its buffer was full
	uint64_t rx_buffer_max_bytes; // of it, the most that waited
	uint64_t storm_missed; // PAUSE frames of a storm that were due while the NIC was late
	uint64_t storm_guard_trips;
	uint64_t no_mbuf; // loops in which a frame could not be built
	uint64_t connections_accepted, connections_rejected;
	struct nic_class_stats cls[NIC_CLASSES];
	// ns of completed messages: from posting to completion, and its parts: from posting to the
	// first packet's departure, to the last one's, to completion.
	struct hist completion, waiting, sending, network;
};

// Holds until the next call of anything else.
const struct nic_stats *nic_stats_now(struct nic *nic);
const struct pfc_rx_state *nic_pfc_rx(const struct nic *nic);
const struct pfc_tx_state *nic_pfc_tx(const struct nic *nic);

// What was exchanged with one other address.
struct nic_peer {
	struct ip_key ip;
	struct nic_class_stats cls[NIC_CLASSES];
};
uint32_t nic_n_peers(const struct nic *nic);
const struct nic_peer *nic_peer(const struct nic *nic, uint32_t i);
