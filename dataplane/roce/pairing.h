// SPDX-License-Identifier: Apache-2.0
// Pairing: which queue pair of the sender belongs to a flow. A data frame names the receiver's
// queue pair, and a CNP must name the sender's. This module learns the pair from frames that pass
// the switch, and says how it knows. It rather knows no pair than a wrong one: a flow without a
// pair is never sent a CNP. Pure; memory is the caller's. The worker that owns the flow's port of
// arrival calls it. All answers leave by that port, so that worker sees them.
//
//   source   evidence                                                         trust
//   static   an operator's statement                                          as stated
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
//                    contradiction: PSN jump, ACK of a PSN not sent, DREQ,
//                    another queue pair that can only belong to this flow, age
//
// Causality. An ACK to queue pair q for PSN p cannot belong to a flow that has not sent p in this
// life of its queue pair: q is ruled out for that flow. The same holds for a flow whose life began
// more than FLOW_JUMP behind p. If the flow sent p lately, that is a match. After k matches q is
// paired with the flow, if it is the only candidate left. Flows that have a pair are no candidates,
// unless the pair is an operator's. This is certain if every flow between the two addresses is in
// the table. It is not certain, and ACKs do not pair there for as long as flows live, if
//   - the table refused a flow;
//   - a flow left the table with packets unanswered;
//   - a flow has no slot;
//   - an ACK fits no flow.
// On routed ports answers may take another way than data. There ACKs pair only if data and answers
// have the same UDP source port, and no other connection between the two addresses has that port.
//
// READ. The first response has the PSN of its request. If only one queue pair asked for that PSN,
// the two are a pair. If several did, the next PSN decides, or the one after it.
//
// CM. Messages count for flows that enter and leave by the ports that the messages of both sides
// came in by. A new connection starts where its messages say. A connection that was idle goes on
// where it stopped.
//
// An answer counts only if it came in by the port that the flow leaves by, and leaves by the port
// that the flow came in by. Other answers are forged, or of another path.
//
// Another life. A gap or rewind of a flow without a pair may belong to another connection, so all
// that was ruled out for the flow is void. A flow with a pair begins another life only with a PSN
// that no requester sends in one life: see flow.h.
//
// Cases that no device in the middle can distinguish. In these a pair may be wrong until the next
// answer:
//   - a forger at the port of the receiver or of the sender, who does what they would do;
//   - a queue pair used again before its time wait is over, with packets or answers of its former
//     life still under way;
//   - a queue pair whose new life begins with the PSN that was due next, or among the PSNs under
//     way or up to 64 ahead of them, or among the last 1,024 that were sent (a retransmission) and
//     not within 64 of the first. With random first PSNs that is one in 2^24 times so many;
//   - a connection of which no CM message passed here, if an earlier connection was announced to
//     begin with the same PSN, and never did;
//   - addresses that mean different hosts in different VLANs; a host whose frames enter by two
//     bridged ports at once; bridged ports with routers behind them, which split what two hosts
//     send.
//
// Every call does a bounded amount of work, whatever is sent. An ACK is compared with at most
// PAIR_TESTS flows, and passes by up to 256 more at one word each. With more than 64 flows between
// two addresses it walks 16 words of bits. One entry of each table is checked for its age. When a
// table is full, flows stay unpaired.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/packet/roce.h"
#include "dataplane/roce/flow.h"

enum {
	PAIR_TESTS = 8, // flows that one ACK is compared with; the next ACK goes on behind them
	PAIR_MAX_BETWEEN = 1024, // flows and reverse queue pairs between two addresses
	// A PSN counts as sent lately for one to two of these times: PAIR_LATELY_NS and twice the
	// time that frames stay in the queue by which the flow leaves, at most PAIR_LATELY_MOST_NS.
	PAIR_LATELY_NS = 10000000,
	PAIR_LATELY_MOST_NS = 1000000000,
	PAIR_KNOWN_AGE_S = 30, // of a connection that CM stated, without a frame
};

struct pairing_counters {
	ctr_t paired[N_PAIR_SOURCES]; // pairs made
	ctr_t dropped_jump, dropped_ack, dropped_rival, dropped_dreq, dropped_age, dropped_static;
	// Answers that came in by another port than the flow leaves by, and data that came in by
	// another port than the flow.
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
	port_no_t in_port; // by which the answer came in
	port_no_t left_by; // the port it leaves by, which is the flow's port of arrival
	uint16_t udp_sport;
	bool one_way; // data and answers can only pass here: both ports are bridged
	// Returns how long the latest frame of a queue of in_port stayed there; NULL: not known.
	uint64_t (*stay_ns)(const void *port, uint8_t queue);
	const void *port; // for stay_ns
};

struct pairing; // pairing_impl.h

// Bytes of memory for a flow table of n_flows entries.
size_t pairing_bytes(uint32_t n_flows);
// mem: pairing_bytes, zeroed, on a cache line. flows: the table of the same worker.
struct pairing *pairing_init(void *mem, struct flow_table *flows, uint32_t seed);
void pairing_set_params(struct pairing *p, const struct pair_params *params);
// Any thread may read the counters.
const struct pairing_counters *pairing_counters(const struct pairing *p);

// ---- the flow table reports its flows; id: of the entry

// A flow begins. Its way and the fields of a CNP are set, and its first packet is counted.
// Datagrams count too: they have no pair, but a CNP may be for one of them.
void pairing_flow_begun(struct pairing *p, uint32_t id, uint64_t now_ns);
// The way of the flow became known, or changed.
void pairing_flow_way(struct pairing *p, uint32_t id, uint64_t now_ns);
// The flow leaves by another port than before; called before pairing_flow_way. Answers from the old
// port may not have been the receiver's.
void pairing_flow_turned(struct pairing *p, uint32_t id, uint64_t now_ns);
// A packet of the flow came in by another port than the flow. Any host can send it, so it counts as
// a refused packet and as wrong_port.
void pairing_flow_elsewhere(struct pairing *p, const struct flow_key *k, uint64_t now_ns);
// The table had no room for the flow of a packet: not all flows between its addresses are known.
void pairing_flow_refused(struct pairing *p, const struct flow_key *k, uint64_t now_ns);
// The flow is about to leave the table.
void pairing_flow_gone(struct pairing *p, uint32_t id);
// The kind of the flow has changed, and its space of PSNs has not.
void pairing_flow_kind(struct pairing *p, uint32_t id);
// The PSN of the flow jumped: another connection may use the queue pair.
void pairing_flow_jumped(struct pairing *p, uint32_t id, uint64_t now_ns);
// A first READ response of the flow passed, in the direction of its data.
void pairing_read_response(struct pairing *p, uint32_t id, const struct roce_msg *m,
			   uint64_t now_ns);

// ---- frames that are evidence

// An ACK, NAK, CNP or READ request leaves by one of the worker's ports.
void pairing_answer(struct pairing *p, const struct pair_answer *a, uint64_t now_ns);
// A management message enters (arrives true) or leaves by one of the worker's ports.
void pairing_management(struct pairing *p, const struct pair_answer *a, bool arrives,
			uint64_t now_ns);

// ---- orders of an operator

// States a pair, which replaces what was known. qp FLOW_NONE: forgets the pair of the key, whatever
// its source. False: no room, or there was neither a flow nor a pair of the key.
bool pairing_order(struct pairing *p, const struct known_pair *k, uint64_t now_ns);

// ---- for control, which reads while the worker writes: the result may be out of date

// Reverse queue pairs between the flow's addresses that could still be its own: 0 unknown, 1 under
// examination, n ambiguous.
uint32_t pairing_candidates(const struct pairing *p, uint32_t id);
// Why the flow is unpaired, in a few words: "no answer seen", "several candidates", ...
const char *pairing_reason(const struct pairing *p, uint32_t id);
