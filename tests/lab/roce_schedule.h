// SPDX-License-Identifier: Apache-2.0
// A random schedule with RoCEv2 connections (test_random_roce.c): who is connected with whom, what
// hosts really sent, and what must hold of flows, pairs and CNPs after each step of the workers
// besides what schedule.h checks. Judged from outside, by what hosts receive and any user of
// switch.h can read.
//
// The truth about a pair is kept by flow key: the sender's queue pair of the connection that began
// last; until its first data has arrived also of one that the switch may have seen or heard of
// before. Hosts have the addresses of ipcc_bench.h and are known by the number in them, which
// is that of their port until two of them swap ports.
#pragma once

#include "dataplane/packet/cm.h"
#include "dataplane/packet/cnp.h"
#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"
#include "tests/lab/ipcc_bench.h"
#include "tests/lab/schedule_events.h"

enum {
	ROCE_HOSTS = SCHEDULE_PORTS,
	ROCE_CONNS = 32,
	ROCE_QPS = ROCE_CONNS, // of each host
	ROCE_WINDOW = 128, // packets under way
	ROCE_ANSWERS = 512, // that wait at a host
	ROCE_VERSIONS = 4, // of headers, that are remembered
	ROCE_EXPECTED = 16384, // CNPs on their way, of a port
	ROCE_NOBODY = 0xffff,
	ROCE_TIMEOUT_NS = 60000,
	ROCE_SHORTEST = 140, // frame, with all headers and the token
	ROCE_READ_MTU = 1024,
	ROCE_QP_STRANGE = 0x4000, // from here on: no connection's
};

enum roce_state { ROCE_CLOSED, ROCE_CONNECTING, ROCE_OPEN };

// Data go from a to b.
struct roce_conn {
	uint8_t a, b; // hosts
	uint16_t peer, qp; // a's and b's, as roce_qp() counts them
	uint8_t state; // enum roce_state
	bool v6, reads, cm, asks_b; // the data are READ responses; connected by CM, which b began
	bool fixed; // always connected as now: operators know the pair
	uint8_t dscp, coalesce, adapter;
	uint16_t len, sport, pkey;
	struct ipcc_tag tags[2]; // the outermost first
	uint32_t life, in_flight; // its frames that may still arrive somewhere, answers too
	uint32_t start; // PSN of packet 0
	uint64_t next, una, top, total; // sender: next to send, not acknowledged, highest sent + 1
	uint64_t got; // receiver
	uint64_t first, asked; // READ: what was asked for last, and up to where
	bool nak_sent;
	uint8_t since_ack, tries;
	uint64_t moved_ns, cnp_ns, held_until_ns;
};

// What frames of a flow said, from when they arrived.
struct roce_headers {
	uint64_t at_ns;
	uint8_t src_mac[6], dst_mac[6];
	uint16_t sport, pkey;
	struct ipcc_tag tags[2];
	port_no_t port; // by which they came
};

struct roce_truth {
	uint32_t newest; // the sender's queue pair in the last life that began; 0: none
	uint32_t may; // those of lives since the last one of which data passed, a bit each
	uint64_t since_ns; // when the first data of the newest arrived; UINT64_MAX: not yet
	uint64_t sent[SCHEDULE_PORTS]; // frames, whoever sent them
	uint8_t ports; // by which the true sender sent
	uint32_t psn; // that it sent last, or was announced to begin with
	struct roce_headers said[ROCE_VERSIONS];
	unsigned n_said;
};

// A CNP that a host will receive, unless its link goes down: byte by byte, or as the other one; of
// none, whatever else it says, to this queue pair.
struct roce_expected {
	uint64_t t_ns;
	uint32_t qp;
	uint8_t bytes[2][CNP_MAX_LEN];
	uint16_t len[2];
	unsigned n;
	bool came;
};

// What is written near the end of a host's frame: hosts of the test need not read more.
struct roce_token {
	uint16_t conn; // ROCE_NOBODY: a lie
	uint16_t n; // READ request: packets that it asks for; ACK: it is a NAK; CM: enum cm_attr
	uint32_t life;
	uint64_t packet;
	bool back; // from b to a
};

struct roce_answer {
	struct roce_token token;
	uint8_t opcode; // UD_SEND_ONLY: CM
};

struct roce_host {
	struct roce_schedule *x;
	struct vtimer wake;
	struct roce_answer answers[ROCE_ANSWERS]; // a ring
	uint32_t first, n;
	uint32_t idle_of_64; // how often it has nothing to say
	uint8_t frame[IPCC_MAX_LEN];
};

struct roce_totals {
	uint64_t cnps, by_source[N_PAIR_SOURCES], capped, muted, refused, dropped, aged, evicted,
		elephants;
	uint64_t reused, forged, swaps, rows, paired_rows, vanished;
};

struct roce_schedule {
	struct schedule s; // first
	struct roce_host host[ROCE_HOSTS];
	uint8_t port_of[ROCE_HOSTS], who[SCHEDULE_PORTS];
	struct roce_conn conn[ROCE_CONNS];
	bool rough; // pauses, links, TX off
	bool swapped; // hosts do not sit where they began
	unsigned n_conns, forger; // SCHEDULE_PORTS: nobody lies
	struct roce_truth truth[2][ROCE_HOSTS][ROCE_HOSTS][ROCE_QPS];
	// As the next policies say.
	uint32_t flows_max;
	bool elephants; // are looked for
	uint64_t age_ns;
	struct pair_params pairing;
	struct ipcc_params ipcc[N_QUEUES];
	struct cnp_params cnp;
	bool pairs_told[ROCE_CONNS]; // by policy, of fixed connections
	struct watchdog_params watchdog;
	// judging
	struct roce_expected *expected[SCHEDULE_PORTS];
	uint32_t n_expected[SCHEDULE_PORTS], first_expected[SCHEDULE_PORTS];
	uint64_t cut_ns[SCHEDULE_PORTS]; // what was sent by then never comes
	uint64_t still_ns[SCHEDULE_PORTS][N_QUEUES]; // paused with frames in it; 0: not
	uint64_t told_ns[SCHEDULE_PORTS][2][ROCE_HOSTS][ROCE_HOSTS][ROCE_QPS]; // by a CNP there
	double credit[SCHEDULE_PORTS];
	uint64_t credit_ns[SCHEDULE_PORTS];
	struct roce_totals *totals;
};

static inline struct roce_schedule *roce_of(struct schedule *s)
{
	return (struct roce_schedule *)s;
}

static inline uint32_t roce_qp(unsigned nth)
{
	return 0x11 + nth * 0x107;
}

// Of the flow from one host to a queue pair of another.
static inline struct roce_truth *roce_truth_of(struct roce_schedule *x, bool v6, unsigned from,
					       unsigned to, unsigned qp)
{
	return &x->truth[v6][from][to][qp];
}

// Where the token is in a host's frame.
static inline size_t roce_token_at(uint16_t len)
{
	return len - ROCE_ICRC_LEN - sizeof(struct roce_token);
}

// ---- connections (roce_conns.c)
// They are drawn, all closed.
void roce_draw_conns(struct roce_schedule *x);
void roce_conn_begins(struct roce_schedule *x, struct roce_conn *c);
// What one of the sides says of it.
struct cm_msg roce_cm_of(const struct roce_schedule *x, const struct roce_conn *c, bool back,
			 enum cm_attr attr);
// A host's bench_host.on_rx.
void roce_receive(struct bench_host *h, const uint8_t *frame, uint16_t len);
// From now on the frames of a connection say something else beside their queue pairs.
void roce_headers_change(struct roce_schedule *x, struct roce_conn *c);
// Those that may: some begin, with new peers where that is allowed, some end.
void roce_conns_come_and_go(struct roce_schedule *x);
// Nothing is on its way any more, nor waits at a host.
void roce_all_has_come(struct roce_schedule *x);

// ---- hosts (roce_hosts.c)
// Hosts of the bench, which is open, begin to talk.
void roce_hosts_open(struct roce_schedule *x);
void roce_hosts_close(struct roce_schedule *x);

// ---- judging (roce_schedule.c)
void roce_after_step(struct bench *b); // in place of schedule_after_step
void roce_life_begins(struct roce_schedule *x, const struct roce_conn *c);
// A frame of a flow of the true sender is on its way to the switch.
void roce_frame_sent(struct roce_schedule *x, const struct roce_conn *c, bool back, uint32_t psn,
		     const struct roce_headers *h);
void roce_cnp_came(struct roce_schedule *x, unsigned port, const uint8_t *frame, uint16_t len);
// The policy is another one.
void roce_new_policy(struct roce_schedule *x);
// Flows and totals, after each event.
void roce_check_flows(struct roce_schedule *x);
// The link of a port goes down now.
void roce_link_goes(struct roce_schedule *x, unsigned port);
// All has arrived: each CNP that was recorded came.
void roce_check_all_came(struct roce_schedule *x);
