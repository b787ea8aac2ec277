// SPDX-License-Identifier: Apache-2.0
// Inside the NIC: what its four files share. nic.c owns queue pairs, timers and the loop;
// nic_rx.c takes frames in; nic_tx.c chooses, builds and hands out frames; nic_cm.c opens and
// closes connections.
#pragma once

#include "dataplane/packet/parse.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/rng.h"
#include "drivers/nic/cm.h"
#include "drivers/nic/conn.h"
#include "drivers/nic/nic.h"
#include "drivers/nic/payload.h"
#include "drivers/nic/timers.h"

struct rte_mbuf;

enum {
	NIC_RX_BURST = 32,
	NIC_RX_BURSTS = 4, // per loop at most, then PFC and ACKs get their turn
	NIC_TX_BATCH = 8, // frames handed to the driver in one call
	NIC_TX_FRAMES = 32, // per loop at most
	NIC_CTL = 64, // ARP and stateless answers waiting
	NIC_NO_QP = 0xffff,
};

struct peer {
	struct nic_peer pub;
	uint8_t mac[6];
	bool resolved;
	uint64_t ask_ns; // next ARP request; UINT64_MAX: none
};

struct qp {
	struct conn conn;
	uint32_t qpn, peer_qpn;
	uint16_t peer; // index
	uint8_t cls;
	uint8_t tos;
	uint16_t mtu;
	bool queued; // in the ready ring of its class
	bool stopped;
	uint16_t udp_sport;
	uint32_t own_psn, peer_psn; // first of each direction
	uint64_t last_rx_ns;
	struct shaper_params rate;
	struct shaper_state pace;
	struct nic_flow flow; // initiator
	uint64_t posted, completed, next_post_ns;
	struct requester req; // initiator
	struct responder resp; // responder
};

// Indices of queue pairs, first in first out: round robin is pop, send one, push.
struct ready {
	uint16_t *ring;
	uint32_t head, n;
};

struct held {
	struct rte_mbuf *m;
	uint8_t cls;
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
	unsigned next_class;
	struct timers timers; // by queue pair
	uint64_t arp_next_ns;

	struct held held[NIC_TX_BATCH]; // built and refused by the driver
	uint32_t n_held;
	struct rte_mbuf *ctl[NIC_CTL]; // class 0
	uint32_t ctl_head, n_ctl;

	struct payload_table payload;
	struct nic_stats stats;
	struct peer *peers;
	struct qp *qps;
};

// ---- nic.c To be called after anything happened to a queue pair: posts, queues it for
// sending, sets its timer.
void qp_update(struct nic *nic, struct qp *qp);
struct qp *qp_by_number(struct nic *nic, uint32_t n, uint32_t (*number)(const struct qp *));
struct qp *qp_alloc(struct nic *nic);
void qp_free(struct nic *nic, struct qp *qp); // keeps its counts
uint32_t qp_qpn(const struct qp *qp);
uint32_t qp_local_id(const struct qp *qp);
static inline uint32_t qp_index(const struct nic *nic, const struct qp *qp)
{
	return (uint32_t)(qp - nic->qps);
}
// Index of the peer, made if need be; -1 when the table is full.
int peer_find(struct nic *nic, uint32_t ip, bool make);
void peer_resolved(struct nic *nic, struct peer *peer, const uint8_t mac[6]);
void qp_set_rate(struct nic *nic, struct qp *qp, uint64_t rate_bps);
bool mtu_fits(const struct nic *nic, uint16_t mtu);

// What a queue pair would send now.
enum qp_send { QP_NOTHING, QP_LATER, QP_CM, QP_ANSWER, QP_REQUEST };
enum qp_send qp_next_send(const struct nic *nic, const struct qp *qp);

// ---- nic_rx.c
// True when the driver may have more.
bool nic_receive(struct nic *nic);

// ---- nic_tx.c
// Sends what may go; returns when to try again, UINT64_MAX: only when something happens.
uint64_t nic_send(struct nic *nic);
// mac: zero in a request.
void nic_send_arp(struct nic *nic, uint16_t op, uint32_t ip, const uint8_t mac[6]);
struct rte_mbuf *nic_alloc(struct nic *nic, uint32_t len);
void nic_ctl_push(struct nic *nic, struct rte_mbuf *m);

// ---- nic_cm.c
struct roce_pkt;
struct roce_addr;
void nic_on_cm(struct nic *nic, const struct roce_pkt *pkt, const struct roce_addr *from);
void cm_fill(const struct nic *nic, const struct qp *qp, struct cm_msg *m);
