// SPDX-License-Identifier: Apache-2.0
// Whose queue pair is it? A data frame names the receiver's queue pair; a CNP needs the sender's.
// This module learns which belongs to which from what passes the switch, and says how it knows. It
// would rather not know than be wrong: a flow without a pair is never sent a CNP. Pure; memory is
// the caller's. Called by the worker that owns the flow's port of arrival, to which all answers
// come, since they leave by that port.
//
//   source   what is seen                                                     trust
//   static   an operator said so                                              as said
//   cm       REQ and REP (or RTU) of connection management, both ways         exact
//   read     a READ request's PSN is that of its first response               exact if it is alone
//   ack      ACKs and NAKs: elimination by causality, then k matches          certain if complete
//   cnp      the receiver's CNP while the flow is being marked                a match, never more
//
//                   data frame                  one candidate left,
//   (no entry) ------------------> [unpaired] ------------------------> [paired: source]
//                                     ^  |  ACKs eliminate                     |
//                                     |  v                                     |
//                                  [candidates(n)]                             |
//                                     ^                                        |
//                                     +----------------------------------------+
//                    contradiction: PSN jump, ACK of what was never sent, DREQ,
//                    another queue pair that can only belong to this flow, age
//
// Causality. An ACK to queue pair q for PSN p cannot belong to a flow that has not sent p in this
// life of its queue pair: q is not that flow's (`eliminated`). Nor to one whose life began more
// than FLOW_JUMP behind p. A p among what the flow sent lately is a match. q is paired with the
// sole flow that is left, after k matches; flows that have a pair are no candidates, except where
// it is an operator's. That is certain as long as every flow between the two addresses is in the
// table. Where one was refused, has left it unanswered, or has no slot, or where an ACK fits no
// flow at all, it is not, for as long as flows live: ACKs do not pair there. On routed ports
// answers may come another way than data went. There ACKs pair only if data and answers have the
// same UDP source port, and no other connection between the two addresses has that port.
//
// READ. The first response has the PSN of its request. Where one queue pair alone asked for that
// PSN they are a pair; where several did, the next PSN decides, or the one after it.
//
// CM. Messages count for flows that enter and leave by the ports the messages of both sides came in
// by. A connection that is new starts where its messages say; one that was idle goes on where it
// was.
//
// An answer counts only if it came in by the port the flow leaves by, and leaves by the port the
// flow came in by: others are forged, or of another path.
//
// Another life. A gap or rewind of a flow without a pair may be another connection's: whatever was
// ruled out of it is void. Of a flow with a pair only what no requester does in one life: see
// flow.h.
//
// What nobody in the middle can tell, and so may be told wrong until the next answer comes:
//   - a forger behind the very port of the receiver, or of the sender, who does what they would do;
//   - a queue pair used anew before its time wait is over, with packets or answers of its former
//     life still under way;
//   - one whose new life begins with the very PSN that was due next, or among those under way or up
//     to 64 ahead of them, or among the last 1,024 that were sent (a retransmission) and not within
//     64 of the first: one in 2^24 times so many, where PSNs start at random;
//   - a connection of which no CM message passed here, where one before it was announced to begin
//     with the same PSN, and never did;
//   - addresses that mean different hosts in different VLANs; a host whose frames enter by two
//     bridged ports at once; bridged ports with routers behind them, which split what two hosts
//     send.
//
// Every call does a bounded amount of work, whatever is sent: at most PAIR_TESTS flows are looked
// at for an ACK (of up to 256 more one word is), 16 words of bits are gone through where there are
// more than 64 flows between two addresses, and one old entry of each table is looked for. Tables
// that are full leave flows unpaired.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/counter.h"
#include "dataplane/packet/roce.h"
#include "dataplane/roce/flow.h"

struct cm_msg;

enum {
	PAIR_TESTS = 8, // flows that one ACK is held against; the next one goes on behind them
	PAIR_MAX_BETWEEN = 1024, // flows and reverse queue pairs between two addresses
	// PSNs sent within one to two of these count as a match: this, and twice as long as frames
	// stay in the queue by which the flow leaves, but no more than the most.
	PAIR_LATELY_NS = 10000000,
	PAIR_LATELY_MOST_NS = 1000000000,
	PAIR_KNOWN_AGE_S = 30, // connections that CM told of, without a frame
};

struct pairing_counters {
	ctr_t paired[N_PAIR_SOURCES]; // how often
	ctr_t dropped_jump, dropped_ack, dropped_rival, dropped_dreq, dropped_age, dropped_static;
	// Answers that came in by another port than the flow leaves by, data by another than it
	// comes in by.
	ctr_t wrong_port;
	ctr_t eliminations, matches;
	ctr_t crowded; // more flows or queue pairs between two addresses than are followed
	ctr_t cm_seen, cm_refused; // management messages; those that contradict or have no room
	gauge_t n_paired; // flows now
	gauge_t n_unpaired; // flows now that need a pair and have none
};

// An answer on its way back to the sender of a flow: its addresses are the flow's swapped.
struct pair_answer {
	const struct roce_msg *msg;
	const uint8_t *l3; // of the answer
	uint8_t kind; // enum pkt_kind
	uint8_t in_port; // where it came in
	uint8_t left_by; // where it leaves, which is where the flow it answers comes in
	uint16_t udp_sport;
	bool one_way; // data and answers can only pass here (both ports are bridged)
	// How long the latest frame of a queue of in_port stayed there; NULL: not known.
	uint64_t (*stay_ns)(const void *port, uint8_t queue);
	const void *port; // for stay_ns
};

struct pairing; // pairing.c

size_t pairing_bytes(uint32_t n_flows);
// flows: the shard's. Aligned memory of pairing_bytes, zeroed.
struct pairing *pairing_init(void *mem, struct flow_table *flows, uint32_t seed);
void pairing_set_params(struct pairing *p, const struct pair_params *params);
const struct pairing_counters *pairing_counters(const struct pairing *p);

// A flow was begun: `way` and the fields of a CNP are set, its first packet is counted. Flows of
// datagrams are told too: they have no pair, but a CNP may be for one of them.
void pairing_flow_begun(struct pairing *p, uint32_t id, uint64_t now_ns);
// Its way was found, or changed.
void pairing_flow_way(struct pairing *p, uint32_t id, uint64_t now_ns);
// It leaves by another port than before, which is told first: whoever answered there may not have
// been the receiver.
void pairing_flow_turned(struct pairing *p, uint32_t id, uint64_t now_ns);
// A packet of a flow that came in by another port than the flow does. It is nobody's: as a refused
// one, and counted as wrong_port.
void pairing_flow_elsewhere(struct pairing *p, const struct flow_key *k, uint64_t now_ns);
// A packet whose flow the table had no room for: between its addresses not all flows are known.
void pairing_flow_refused(struct pairing *p, const struct flow_key *k, uint64_t now_ns);
// It is about to leave the table.
void pairing_flow_gone(struct pairing *p, uint32_t id);
// The kind of the flow has changed, and its space of PSNs has not.
void pairing_flow_kind(struct pairing *p, uint32_t id);
// Its PSN jumped: whoever had the queue pair is gone.
void pairing_flow_jumped(struct pairing *p, uint32_t id, uint64_t now_ns);
// A first read response of the flow passed, in the direction of its data.
void pairing_read_response(struct pairing *p, uint32_t id, const struct roce_msg *m,
			   uint64_t now_ns);

// ACK, NAK, CNP or READ request that leaves by one of the worker's ports.
void pairing_answer(struct pairing *p, const struct pair_answer *a, uint64_t now_ns);

// A management message that enters (arrives true) or leaves by one of the worker's ports.
void pairing_management(struct pairing *p, const struct pair_answer *a, bool arrives,
			uint64_t now_ns);

// An operator's word; it replaces whatever was known. qp FLOW_NONE: forget the pair of the key,
// whatever its source. False: no room, or the table has neither a flow nor a pair of the key.
bool pairing_order(struct pairing *p, const struct known_pair *k, uint64_t now_ns);

// ---- for those who look (control; racy, a number of the moment)
// Reverse queue pairs between the flow's addresses that could still be its own: 0 unknown, 1 under
// examination, n ambiguous.
uint32_t pairing_candidates(const struct pairing *p, uint32_t id);
// Why it is unpaired, in a few words: "no answer seen", "3 candidates", "UDP source port", ...
const char *pairing_reason(const struct pairing *p, uint32_t id);
