// SPDX-License-Identifier: Apache-2.0
// Inside the NIC: what its files share. nic.c has timers and the loop; nic_qp.c gives queue pairs
// their slots and numbers, opens and closes connections, and has the flows of the owner; nic_rx.c
// takes frames in, and lets them wait where the receiver is slow; nic_tx.c chooses, paces, builds
// and hands out frames, PFC and CNPs among them.
#pragma once

#include "dataplane/base/rng.h"
#include "dataplane/packet/cm.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/parse.h"
#include "dataplane/qos/shaper.h"
#include "drivers/nic/conn.h"
#include "drivers/nic/frames.h"
#include "drivers/nic/nic.h"
#include "drivers/nic/timers.h"

struct rte_mbuf;

enum {
	NIC_RX_BURST = 32,
	NIC_RX_BURSTS = 4, // per loop at most, then PFC and ACKs get their turn
	NIC_TX_BATCH = 8, // frames handed to the driver in one call
	NIC_TX_FRAMES = 32, // per loop at most
	NIC_CTL = 64, // ARP and stateless answers waiting
	NIC_FIRST_MSGS = 8, // room for messages that a flow begins with
};

struct peer {
	struct nic_peer pub;
	uint8_t mac[6];
	bool resolved;
	bool stale; // the next flow asks ARP again
	uint64_t request_ns; // next ARP request; UINT64_MAX: none
};

// Congestion control of a queue pair.
struct qp_cc {
	struct rp_state rp; // as a sender of data
	struct np_state np; // as a receiver
	bool queued; // for a CNP
	uint16_t cnp_sport; // of the marked frame
	uint64_t burst_left; // bytes that need not wait
	uint64_t cnps; // received
};

// What names a connection, of the one that had the slot before.
struct qp_life {
	uint32_t qpn, peer_qpn;
	uint16_t peer; // index
	uint16_t udp_sport;
};

struct qp {
	struct conn conn;
	uint32_t qpn, peer_qpn;
	uint16_t peer; // index
	uint8_t cls;
	uint8_t tos;
	uint16_t mtu;
	struct frame_tag tag;
	bool queued; // in the ready ring of its class
	bool stopped, forgotten; // forgotten: free once it is closed
	uint16_t udp_sport;
	uint32_t tx_psn; // it sends first: what the peer's CM message states
	uint32_t rx_psn; // the peer sends first: what its own CM message states
	uint64_t last_rx_ns;
	struct shaper_params rate;
	struct shaper_state pace;
	struct qp_cc cc;
	struct nic_flow flow; // initiator
	uint64_t posted, completed, next_post_ns;
	uint64_t tx_packets, tx_bytes; // data frames
	// A connection and messages that were made between two loops get the time of the next loop:
	// the connection where `fresh`, the messages from `stamped` on.
	bool fresh;
	uint32_t stamped;
	// The other end, where the connection was made by nic_connect.
	struct nic *far;
	uint32_t far_index;
	struct qp_life before;
	struct roce_template headers; // of its frames to the peer
	struct requester req; // initiator
	struct responder resp; // responder
	bool is_tcp; // then conn is up, req only keeps the list of messages, in bytes
	uint16_t port, peer_port; // of TCP
	uint32_t n_served; // of TCP: messages that have arrived whole
	// Stay with the slot when it is used again.
	struct tcp *tcp; // NULL: the slot never had a TCP connection
	struct req_msg *msgs;
	uint32_t n_msgs;
	struct resp_read *reads;
	struct reorder *window; // of selective repeat, of a responder
	struct req_again *again; // of a requester
};

// Indices of queue pairs, first in first out: round robin is pop, send one, push.
struct ready {
	uint16_t *ring;
	uint32_t head, n;
};

// Congestion control of the whole NIC.
struct nic_cc {
	struct np_gate gate;
	struct ready due; // queue pairs with a CNP to be sent
	uint8_t cnp_cls, cnp_pcp;
};

struct held {
	struct rte_mbuf *m;
	uint8_t cls;
};

// The slow receiver.
struct slow {
	bool on;
	uint8_t paused; // classes that it has paused at the peer
	struct rxbuf_params p;
	struct rxbuf b;
	struct guard guard;
	struct qp_cache cache;
	struct rte_mbuf **ring; // frames that wait
	uint32_t size, head, n;
};

struct nic {
	struct nic_config cfg;
	struct rng rng;
	uint64_t now_ns;
	uint32_t qp_mask; // of a QPN or communication id: its index
	uint32_t n_peers;
	uint16_t ip_id;
	uint32_t cm_psn;

	struct shaper_params line;
	struct shaper_state line_state;
	struct pfc_params pfc;
	struct pfc_rx_state pfc_rx;
	struct pfc_tx_state pfc_tx;
	uint32_t pause_seq[NIC_CLASSES]; // last seen of the driver's early PFC
	struct storm storm;

	struct ready ready[NIC_CLASSES];
	uint8_t ready_classes; // bitmap: those with a queue pair in their ring
	unsigned next_class;
	struct timers timers; // by queue pair
	uint64_t arp_next_ns;
	struct nic_cc cc;

	struct held held[NIC_TX_BATCH]; // built and refused by the driver
	uint32_t n_held;
	struct rte_mbuf *ctl[NIC_CTL]; // class 0
	uint32_t ctl_head, n_ctl;

	struct slow slow;
	struct payload_table payload;
	struct nic_stats stats; // and what queue pairs add up to since the last fold
	struct req_stats req_stats;
	struct resp_stats resp_stats;
	uint16_t *free_qps; // a stack of slots that were used before
	uint32_t n_free_qps, n_used_qps; // slots from n_used_qps on never were
	struct peer *peers;
	struct qp *qps;
};

static inline uint32_t qp_index(const struct nic *nic, const struct qp *qp)
{
	return (uint32_t)(qp - nic->qps);
}

// The queue pair in the slot that a number or a communication id names, which the caller compares;
// NULL: the slot is free.
static inline struct qp *qp_at(struct nic *nic, uint32_t n)
{
	uint32_t i = n & nic->qp_mask;

	return i < nic->cfg.max_qps && nic->qps[i].conn.state != CONN_FREE ? &nic->qps[i] : NULL;
}

// Turns in a ready ring.
static inline void ready_push(const struct nic *nic, struct ready *r, uint32_t index)
{
	uint32_t at = r->head + r->n++;

	r->ring[at < nic->cfg.max_qps ? at : at - nic->cfg.max_qps] = (uint16_t)index;
}
static inline void ready_pop(const struct nic *nic, struct ready *r)
{
	if (++r->head == nic->cfg.max_qps)
		r->head = 0;
	r->n--;
}

// What a queue pair would send now.
enum qp_send { QP_NOTHING, QP_LATER, QP_CM, QP_ANSWER, QP_REQUEST, QP_TCP };

static inline bool pace_ready(const struct nic *nic, const struct qp *qp)
{
	struct shaper_state s = qp->pace;

	if (qp->rate.q24_per_byte == 0 || qp->cc.burst_left != 0)
		return true;
	shaper_update(&qp->rate, &s, nic->now_ns);
	return shaper_ready(&qp->rate, &s);
}

static inline enum qp_send qp_next_send(const struct nic *nic, const struct qp *qp)
{
	struct tcp_seg s;

	if (qp->conn.state == CONN_FREE || !nic->peers[qp->peer].resolved)
		return QP_NOTHING;
	if (qp->conn.due != 0 && !qp->is_tcp)
		return QP_CM;
	if (qp->conn.state != CONN_UP)
		return QP_NOTHING;
	if (qp->is_tcp && !tcp_next(qp->tcp, &s))
		return QP_NOTHING;
	if (qp->is_tcp)
		return s.len == 0 || pace_ready(nic, qp) ? QP_TCP : QP_LATER;
	if (!qp->conn.initiator && resp_can_send(&qp->resp)) {
		if (qp->resp.ack_due || qp->resp.nak_due)
			return QP_ANSWER;
		return pace_ready(nic, qp) ? QP_ANSWER : QP_LATER;
	}
	if (qp->conn.initiator && req_can_send(&qp->req))
		return pace_ready(nic, qp) ? QP_REQUEST : QP_LATER;
	return QP_NOTHING;
}

static inline bool nic_is_mine(const struct nic *nic, struct ip_key ip)
{
	return !ip_key_is_zero(ip) &&
	       (ip_key_same(ip, nic->cfg.ip) || ip_key_same(ip, nic->cfg.ip6));
}

// The class of a frame that arrives.
static inline uint8_t nic_class_of(const struct nic *nic, const struct frame_tag *tag, uint8_t dscp)
{
	return tag->on ? nic->cfg.class_of_pcp[tag->pcp] : nic->cfg.class_of_dscp[dscp];
}

// ---- nic.c
// To be called after anything happened to a queue pair: posts, queues it for sending, sets its
// timer.
void qp_update(struct nic *nic, struct qp *qp);
// Index of the peer, made if need be; -1 when the table is full.
int peer_find(struct nic *nic, struct ip_key ip, bool make);
void peer_resolved(struct nic *nic, struct peer *peer, const uint8_t mac[6]);

// ---- nic_qp.c
void qp_free(struct nic *nic, struct qp *qp);
void qp_unqueued(struct nic *nic, struct qp *qp); // it was taken out of the ready ring
bool qp_message_room(struct qp *qp); // for one more; false: there is no memory
// Whether a CNP names a queue pair in use, comes from its peer, and has the UDP source port of its
// data; else the CNP is counted.
bool nic_cnp_fits(struct nic *nic, const struct roce_pkt *pkt, const struct frame_addr *from);
void nic_on_cm(struct nic *nic, const struct roce_pkt *pkt, const struct frame_addr *from);
void cm_fill(const struct nic *nic, const struct qp *qp, struct cm_msg *m); // the message due

// ---- nic_rx.c
bool nic_receive(struct nic *nic); // true when the driver may have more

// ---- nic_tx.c
// Sends what may go; returns when to try again, UINT64_MAX: only when something happens.
uint64_t nic_send(struct nic *nic);
// Whether nic_send has nothing to do: the usual case of a receiver.
static inline bool nic_send_idle(const struct nic *nic)
{
	return (nic->n_held | nic->n_ctl | nic->ready_classes | nic->cc.due.n) == 0 &&
	       (nic->pfc_rx.paused | nic->slow.b.want | nic->slow.paused) == 0 &&
	       nic->storm.next_ns == UINT64_MAX && nic->cfg.ops->pause == NULL;
}
// Sends the request of a queue pair that has the only turn: as nic_send, where it was idle.
uint64_t nic_send_request(struct nic *nic, struct qp *qp);
// Queue a message of ARP or neighbour discovery, or an answer for which no queue pair is kept. Of
// the message family, request, target and to_mac are set.
void nic_send_neighbour(struct nic *nic, struct neighbour_msg *msg, const struct frame_tag *tag);
void nic_send_cm(struct nic *nic, const struct frame_addr *to, const struct cm_msg *m);
void qp_repace(struct nic *nic, struct qp *qp); // the flow's rate has changed
void qp_cc_on_timer(struct nic *nic, struct qp *qp);
void qp_cc_on_cnp(struct nic *nic, struct qp *qp);
void qp_cc_on_ce(struct nic *nic, struct qp *qp, uint16_t udp_sport);
void qp_cc_free(struct nic *nic, struct qp *qp);
// Counts for the NIC what a call changed of a TCP connection.
void nic_count_tcp(struct nic *nic, const struct tcp *t, const struct tcp_stats *before);
