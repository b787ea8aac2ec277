// SPDX-License-Identifier: Apache-2.0
// The sending half of a reliable connection queue pair (InfiniBand Architecture volume 1, 9.7):
// cuts messages into packets, bounds what is unacknowledged, goes back to the packet that a NAK
// names, and retransmits when the timer runs out. Pure: time is an argument, packets are plain
// values. Called by the owner of the NIC. It paces nothing and knows no frames, addresses or
// ports.
//
//   seq    0 ........ una ............. nxt ............. max
//             done         in flight        to be sent        (64-bit packet counts; the PSN of
//                                           again             packet seq is first_psn + seq)
//
//   new data:     nxt = max, both grow        ACK p:            una = p + 1
//   NAK p, timer: nxt = una (go-back-N)       READ response p:  una = p + 1 if p is una, else
//                                                               once per gap nxt = una
//
// Selective repeat (`again`): a NAK names one missing packet, which goes again before all else, in
// the order of the NAKs. It acknowledges nothing. The timer repeats the packet una, and each ACK
// then two more of those that may be lost: most of them may be held at the responder, and the
// queue that lost them may be full. The responder must know (responder.h). Of READs the timer goes
// back to una, and the requester keeps the window (reorder.h): it holds responses behind a gap,
// and requests single packets again.
//
// With go_back_0 the older NICs' way: what is lost throws its message back to its first packet,
// under the PSNs it had: una = nxt = the message's first. Acknowledgements from before, of packets
// that are to be sent again, then count no more. With a fence a message waits until those before it
// are complete.
//
// The timer runs while a packet that requests an answer is unanswered; it counts from the last such
// packet or the last progress, whichever is later.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drivers/nic/frames.h"
#include "drivers/nic/reorder.h"

enum {
	REQ_MAX_MSGS = 128, // outstanding messages; a power of two
	REQ_ACK_EVERY = 16, // packets per AckReq within a message, by default
	REQ_MAX_ACK_EVERY = 256,
	REQ_MAX_READS = 16, // outstanding READ requests, the responder's resources
	REQ_MAX_MSG_BYTES = 1 << 30,
	REQ_AGAIN_PKTS = REORDER_PKTS, // window of selective repeat: what the responder can hold
};

enum req_op { REQ_WRITE, REQ_SEND, REQ_READ };

struct req_params {
	uint8_t op; // enum req_op
	bool go_back_0, fence;
	uint16_t mtu; // path MTU
	uint16_t ack_every; // packets per AckReq within a message; 0: REQ_ACK_EVERY
	uint32_t window; // unacknowledged packets
	uint64_t rto_ns;
	uint32_t first_psn;
	uint32_t dest_qp;
	uint32_t rkey;
	uint64_t va; // where the peer's region begins
	uint64_t region_bytes; // messages follow one another through it and wrap
};

struct req_msg {
	uint64_t first_seq;
	uint64_t offset; // stream position of its first byte
	uint64_t tag; // the caller's
	uint64_t posted_ns;
	uint64_t first_tx_ns; // when its first packet left for the first time
	uint64_t last_tx_ns; // when its last packet left, for the last time
	uint32_t n_bytes;
	uint32_t n_pkts;
};

struct req_stats {
	uint64_t retransmissions, timeouts, naks, acks, read_gaps, duplicates, ignored;
};

// Packets that go again, first in first out. Packet n has place n % REQ_AGAIN_PKTS.
struct req_again {
	uint64_t set[REQ_AGAIN_PKTS / 64];
	uint16_t ring[REQ_AGAIN_PKTS]; // places; one that is not in the set any more is skipped
	uint32_t head, n;
};

// Memory of the caller.
struct req_memory {
	struct req_msg *msgs; // outstanding messages, a ring
	uint32_t n_msgs; // its size, a power of two up to REQ_MAX_MSGS
	struct req_stats *stats; // only added to; many requesters may share one
	struct req_again *again; // NULL: go-back-N
	struct reorder *window; // of READs with selective repeat; NULL: go-back-N
};

struct requester {
	struct req_params p;
	uint64_t una, nxt, max; // packet counts, see above
	uint64_t next_seq; // of the next message
	uint64_t next_offset; // stream position of the next message
	uint64_t answer_seq; // a packet below this has requested an answer
	uint64_t timer_ns; // when it was last (re)started
	uint64_t complete_bytes; // of messages that were taken out
	uint32_t head, tail, cur; // messages: oldest incomplete, end, the one that holds nxt
	uint32_t n_again; // packets in the set of `again`
	uint64_t repeat_next, repeat_end; // after a timeout: packets that go again as ACKs come
	bool gap_open; // the packets of the gap at una have been requested again
	bool failed; // the responder refused: the syndrome is the reason
	uint8_t failed_syndrome;
	struct req_memory m;
};

void req_init(struct requester *r, const struct req_params *p, const struct req_memory *m);

// Moves outstanding messages to a larger ring; the old one is the caller's again.
void req_move(struct requester *r, struct req_msg *msgs, uint32_t n_msgs);

// Adds a message of n_bytes (at most REQ_MAX_MSG_BYTES); false: the ring is full.
bool req_post(struct requester *r, uint32_t n_bytes, uint64_t tag, uint64_t now_ns);

// The message with a number (they count from 0, in 32 bits) that is outstanding.
static inline struct req_msg *req_msg_at(const struct requester *r, uint32_t number)
{
	return &r->m.msgs[number & (r->m.n_msgs - 1)];
}

// Messages posted and not complete.
static inline uint32_t req_outstanding(const struct requester *r)
{
	return r->tail - r->head;
}

// True when no posted packet is left to be sent (all are in flight or done).
static inline bool req_all_sent(const struct requester *r)
{
	return r->cur == r->tail;
}

// Payload that is done: acknowledged, or READ and here. With go_back_0: of complete messages.
uint64_t req_done_bytes(const struct requester *r);

// Bytes of the oldest message if it is complete, else 0.
uint32_t req_head_complete_bytes(const struct requester *r);

// Whether the window lets a packet go now.
static inline bool req_can_send(const struct requester *r)
{
	const struct req_msg *m;

	if (r->n_again != 0 && !r->failed)
		return true;
	if (r->failed || r->cur == r->tail || (r->p.fence && r->cur != r->head))
		return false;
	if (r->p.op != REQ_READ)
		return r->nxt - r->una < r->p.window;
	// One READ may be larger than the window, but then it goes alone.
	m = req_msg_at(r, r->cur);
	return r->cur - r->head < REQ_MAX_READS &&
	       (r->nxt == r->una || m->first_seq + m->n_pkts - r->una <= r->p.window);
}

// The packet to send next, only if req_can_send; changes nothing. *offset: stream position of
// its payload, whose bytes the caller supplies (pkt->payload stays NULL).
void req_peek(const struct requester *r, struct roce_pkt *pkt, uint64_t *offset);

// That packet has left.
void req_sent(struct requester *r, const struct roce_pkt *pkt, uint64_t now_ns);

// An ACK or NAK arrived.
void req_on_ack(struct requester *r, const struct roce_pkt *pkt, uint64_t now_ns);

enum req_read_verdict { REQ_READ_TAKEN, REQ_READ_HELD, REQ_READ_GAP, REQ_READ_IGNORED };

// A READ response arrived; *offset is set when it is taken.
enum req_read_verdict req_on_read(struct requester *r, const struct roce_pkt *pkt, uint64_t now_ns,
				  uint64_t *offset);

// After REQ_READ_TAKEN: takes the next response that was held and is in order now; false: there is
// none. pkt has no payload. To be called until false.
bool req_take_held(struct requester *r, struct roce_pkt *pkt, uint64_t now_ns, uint64_t *offset);

// A READ response arrived trimmed: its payload is lost.
void req_on_trimmed(struct requester *r, uint32_t psn);

// Whether the oldest message is complete.
static inline bool req_head_complete(const struct requester *r)
{
	const struct req_msg *m;

	if (r->head == r->tail)
		return false;
	m = req_msg_at(r, r->head);
	return r->una >= m->first_seq + m->n_pkts;
}

// Takes the oldest message out when it is complete. To be called until false after each event.
bool req_complete(struct requester *r, struct req_msg *out);

// When the retransmission timer runs out; UINT64_MAX when it does not run.
static inline uint64_t req_deadline(const struct requester *r)
{
	return !r->failed && r->una < r->answer_seq ? r->timer_ns + r->p.rto_ns : UINT64_MAX;
}

// Acts on a timer that has run out; does nothing before its time.
void req_on_timer(struct requester *r, uint64_t now_ns);
