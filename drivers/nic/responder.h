// SPDX-License-Identifier: Apache-2.0
// The receiving half of a reliable connection queue pair (InfiniBand Architecture volume 1, 9.7
// and 9.9): takes packets in PSN order only, requests the missing one once per gap (NAK),
// acknowledges, and serves READ requests. Pure: plain packets in, a verdict out. Called by the
// owner of the NIC.
//
//                      psn = epsn: take, epsn + 1
//             +------+
//             v      |        psn after epsn: NAK(epsn)
//          [in order] ---------------------------------> [gap: NAK sent] --+ psn after epsn:
//                ^                                              |          | nothing more
//                +----------------------------------------------+ <--------+
//                               psn = epsn
//   psn before epsn: a duplicate. SEND, WRITE: acknowledged again. READ: served again from there.
//
// A packet that a switch has trimmed overtakes packets before it. NAK(its PSN) is due once those
// before it are here. A NAK forgets the trimmed packets of before: the requester sends all from its
// PSN on again.
//
// With a window (selective repeat, reorder.h), for a requester that repeats the packets that a NAK
// names and no other: a packet behind a gap is held until those before it are here. Then a NAK
// names one missing packet, and acknowledges nothing. READ requests are not held: a NAK names the
// first missing one. A READ request of one packet that comes again is for this packet alone.
//
// With go_back_0, for a requester that starts a message over: the first packet of the message under
// way, coming again, begins it anew. (To any other responder it is a duplicate like those behind
// it, and the message goes on where it was.)
//
// Answers leave in this order: NAK or ACK (one for all that arrived meanwhile), then READ data.
// A refusal (NAK other than sequence error) ends the queue pair.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/psn.h"
#include "drivers/nic/frames.h"
#include "drivers/nic/reorder.h"

enum { RESP_MAX_READS = 32 }; // twice what a requester has outstanding: room to cut one in two

struct resp_params {
	uint16_t mtu;
	uint32_t first_psn; // the requester's
	uint32_t dest_qp; // the requester's, for the answers
	uint32_t rkey;
	uint64_t va; // our region, rkey guards it
	uint64_t region_bytes;
	bool go_back_0;
};

struct resp_read {
	uint64_t offset;
	uint32_t psn; // of the next response packet
	uint32_t n_pkts; // left
	uint32_t n_bytes; // left
	bool started;
};

struct resp_stats {
	uint64_t out_of_sequence, duplicates, naks, acks, refused, messages;
};

// Memory of the caller.
struct resp_memory {
	struct resp_read *reads; // READ requests that wait
	uint32_t max_reads; // up to RESP_MAX_READS; 0: READs are refused
	struct resp_stats *stats; // only added to; many responders may share one
	struct reorder *window; // NULL: go-back-N
};

struct responder {
	struct resp_params p;
	uint32_t epsn; // expected next
	uint32_t msg_psn; // of the first packet of the message under way
	uint32_t msn; // messages finished
	uint64_t offset; // stream position of the next payload byte
	uint32_t left; // bytes left of a WRITE
	uint32_t msg_bytes; // taken of the message under way, or of the last
	uint8_t msg_kind; // enum roce_kind of the message under way, ROCE_OTHER: none
	bool gap_open, ack_due, nak_due, dead;
	// The packet trim_psn was trimmed, and packets before it are on their way. With a window:
	// something is in it.
	bool trim_ahead;
	uint32_t trim_psn;
	uint8_t nak_code; // enum nak_code
	uint32_t n_reads;
	struct resp_memory m;
};

enum resp_verdict {
	RESP_TAKEN, // payload is in order; it belongs at *offset of the stream
	RESP_READ, // a READ request was queued
	RESP_HELD, // behind a gap
	RESP_DUPLICATE,
	RESP_GAP,
	RESP_REFUSED,
};

void resp_init(struct responder *r, const struct resp_params *p, const struct resp_memory *m);

// A SEND, WRITE or READ request arrived. *offset is set for RESP_TAKEN.
enum resp_verdict resp_on_request(struct responder *r, const struct roce_pkt *pkt,
				  uint64_t *offset);

// After RESP_TAKEN: takes the next packet that was held and is in order now; false: there is none.
// pkt has no payload. To be called until false.
bool resp_take_held(struct responder *r, struct roce_pkt *pkt, uint64_t *offset);

// A SEND, WRITE or READ request arrived trimmed: its payload is lost.
void resp_on_trimmed(struct responder *r, uint32_t psn);

// Whether an answer waits to be sent.
static inline bool resp_can_send(const struct responder *r)
{
	return r->nak_due || r->ack_due || r->n_reads != 0;
}

// The quick way of resp_on_request: a packet in the middle of a SEND or WRITE (kind) that asks for
// no acknowledgement. True: it was taken, and no answer waits. False: nothing has changed.
static inline bool resp_take_middle(struct responder *r, uint8_t kind, uint32_t psn, uint32_t len)
{
	if (psn != r->epsn || kind != r->msg_kind || len != r->p.mtu || resp_can_send(r) ||
	    r->gap_open || r->trim_ahead || r->dead || r->p.go_back_0 ||
	    (kind == ROCE_WRITE && len > r->left))
		return false;
	if (kind == ROCE_WRITE)
		r->left -= len;
	r->offset += len;
	r->msg_bytes += len;
	r->epsn = psn_add(r->epsn, 1);
	return true;
}

// The answer to send next, only if resp_can_send; changes nothing. *offset as in req_peek.
void resp_peek(const struct responder *r, struct roce_pkt *pkt, uint64_t *offset);

// That answer has left.
void resp_sent(struct responder *r, const struct roce_pkt *pkt);
