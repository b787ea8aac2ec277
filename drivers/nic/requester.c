// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/requester.h"

#include <assert.h>

#include "dataplane/packet/wire.h"
#include "drivers/nic/psn.h"

static_assert((REQ_MAX_MSGS & (REQ_MAX_MSGS - 1)) == 0, "the ring index is masked");

static struct req_msg *msg_at(struct requester *r, uint32_t i)
{
	return &r->msgs[i & (REQ_MAX_MSGS - 1)];
}

static const struct req_msg *msg_at_const(const struct requester *r, uint32_t i)
{
	return &r->msgs[i & (REQ_MAX_MSGS - 1)];
}

void req_init(struct requester *r, const struct req_params *p)
{
	*r = (struct requester){.p = *p};
}

bool req_post(struct requester *r, uint32_t n_bytes, uint64_t now_ns)
{
	const struct req_msg *last = msg_at_const(r, r->tail - 1);
	struct req_msg *m = msg_at(r, r->tail);

	if (req_outstanding(r) == REQ_MAX_MSGS)
		return false;
	if (r->next_offset + n_bytes > r->p.region_bytes)
		r->next_offset = 0;
	*m = (struct req_msg){
		// The slot before the first message is zeroed, and right when the ring was drained.
		.first_seq = last->first_seq + last->n_pkts,
		.offset = r->next_offset,
		.posted_ns = now_ns,
		.n_bytes = n_bytes,
		.n_pkts = n_bytes == 0 ? 1 : (n_bytes + r->p.mtu - 1) / r->p.mtu,
	};
	r->next_offset += n_bytes;
	r->tail++;
	return true;
}

bool req_can_send(const struct requester *r)
{
	const struct req_msg *m = msg_at_const(r, r->cur);

	if (r->failed || r->cur == r->tail)
		return false;
	if (r->p.op != REQ_READ)
		return r->nxt - r->una < r->p.window;
	// One READ may be larger than the window, but then it goes alone.
	return r->cur - r->head < REQ_MAX_READS &&
	       (r->nxt == r->una || m->first_seq + m->n_pkts - r->una <= r->p.window);
}

static uint8_t data_opcode(uint8_t op, bool first, bool last)
{
	static const uint8_t opcode[2][2][2] = { // op, first, last
		[REQ_WRITE] = {{RC_WRITE_MIDDLE, RC_WRITE_LAST}, {RC_WRITE_FIRST, RC_WRITE_ONLY}},
		[REQ_SEND] = {{RC_SEND_MIDDLE, RC_SEND_LAST}, {RC_SEND_FIRST, RC_SEND_ONLY}},
	};

	return opcode[op][first][last];
}

static void peek_read(const struct requester *r, const struct req_msg *m, struct roce_pkt *pkt)
{
	uint32_t done = (uint32_t)(r->nxt - m->first_seq) * r->p.mtu;

	pkt->opcode = RC_READ_REQUEST;
	pkt->ack_req = true;
	pkt->va = r->p.va + m->offset + done;
	pkt->rkey = r->p.rkey;
	pkt->dma_len = m->n_bytes - done;
}

void req_peek(const struct requester *r, struct roce_pkt *pkt, uint64_t *offset)
{
	const struct req_msg *m = msg_at_const(r, r->cur);
	uint32_t k = (uint32_t)(r->nxt - m->first_seq);
	bool last = k + 1 == m->n_pkts;

	*pkt = (struct roce_pkt){.dest_qp = r->p.dest_qp, .psn = psn_add(r->p.first_psn, r->nxt)};
	*offset = m->offset + (uint64_t)k * r->p.mtu;
	if (r->p.op == REQ_READ) {
		peek_read(r, m, pkt);
		return;
	}
	pkt->opcode = data_opcode(r->p.op, k == 0, last);
	pkt->payload_len = last ? m->n_bytes - k * r->p.mtu : r->p.mtu;
	pkt->ack_req = last || (r->nxt + 1) % REQ_ACK_EVERY == 0 ||
		       r->nxt + 1 - r->una == r->p.window;
	pkt->va = r->p.va + m->offset;
	pkt->rkey = r->p.rkey;
	pkt->dma_len = m->n_bytes;
}

void req_sent(struct requester *r, const struct roce_pkt *pkt, uint64_t now_ns)
{
	const struct req_msg *m = msg_at_const(r, r->cur);
	uint64_t end = m->first_seq + m->n_pkts;

	if (r->nxt < r->max)
		r->stats.retransmissions++;
	r->nxt = r->p.op == REQ_READ ? end : r->nxt + 1;
	if (r->nxt == end)
		r->cur++;
	if (r->nxt > r->max)
		r->max = r->nxt;
	if (pkt->ack_req) {
		r->answer_seq = r->nxt;
		r->timer_ns = now_ns;
	}
}

// Finds the message that holds nxt. Messages at and after `from` are candidates.
static void seek(struct requester *r, uint32_t from)
{
	r->cur = from;
	while (r->cur != r->tail) {
		const struct req_msg *m = msg_at_const(r, r->cur);

		if (r->nxt < m->first_seq + m->n_pkts)
			return;
		r->cur++;
	}
}

static void go_back(struct requester *r, uint64_t seq)
{
	r->nxt = seq;
	seek(r, r->head);
}

// Packets below seq have arrived.
static void advance(struct requester *r, uint64_t seq, uint64_t now_ns)
{
	if (seq <= r->una)
		return;
	r->una = seq;
	r->timer_ns = now_ns;
	r->gap_open = false;
	if (r->nxt < r->una) {
		r->nxt = r->una;
		seek(r, r->cur);
	}
}

// Serial PSN to packet count, relative to una; -1 if it was never sent.
static int64_t seq_of(const struct requester *r, uint32_t psn)
{
	int64_t seq = (int64_t)r->una + psn_diff(psn, psn_add(r->p.first_psn, r->una));

	return seq >= 0 && (uint64_t)seq < r->max ? seq : -1;
}

static void on_nak(struct requester *r, uint64_t seq, uint8_t syndrome, uint64_t now_ns)
{
	r->stats.naks++;
	if ((syndrome & AETH_VALUE_MASK) != NAK_PSN_SEQUENCE) {
		r->failed = true;
		r->failed_syndrome = syndrome;
		return;
	}
	if (seq < r->una) {
		r->stats.ignored++;
		return;
	}
	// A lost READ request says nothing of the responses to those before it.
	if (r->p.op != REQ_READ)
		advance(r, seq, now_ns);
	r->timer_ns = now_ns;
	go_back(r, seq);
}

void req_on_ack(struct requester *r, const struct roce_pkt *pkt, uint64_t now_ns)
{
	int64_t seq = seq_of(r, pkt->psn);

	if (seq < 0 || r->failed) {
		r->stats.ignored++;
		return;
	}
	switch (pkt->syndrome & AETH_KIND_MASK) {
	case AETH_ACK:
		r->stats.acks++;
		// READs are complete when their data is here; an ACK proves nothing about it.
		if (r->p.op != REQ_READ)
			advance(r, (uint64_t)seq + 1, now_ns);
		break;
	case AETH_NAK:
		on_nak(r, (uint64_t)seq, pkt->syndrome, now_ns);
		break;
	default: // receiver not ready: this endpoint's peers always are, the timer covers others
		r->stats.ignored++;
	}
}

enum req_read_verdict req_on_read(struct requester *r, const struct roce_pkt *pkt, uint64_t now_ns,
				  uint64_t *offset)
{
	const struct req_msg *m = msg_at_const(r, r->head);
	int64_t seq = seq_of(r, pkt->psn);
	uint32_t done;

	if (r->p.op != REQ_READ || r->failed || seq < (int64_t)r->una) {
		r->stats.ignored++;
		return REQ_READ_IGNORED;
	}
	if ((uint64_t)seq > r->una) {
		if (!r->gap_open) {
			r->gap_open = true;
			r->stats.read_gaps++;
			go_back(r, r->una);
		}
		return REQ_READ_GAP;
	}
	done = (uint32_t)(r->una - m->first_seq) * r->p.mtu;
	if (pkt->payload_len != (m->n_bytes - done < r->p.mtu ? m->n_bytes - done : r->p.mtu)) {
		r->stats.ignored++;
		return REQ_READ_IGNORED;
	}
	*offset = m->offset + done;
	advance(r, (uint64_t)seq + 1, now_ns);
	return REQ_READ_TAKEN;
}

bool req_complete(struct requester *r, struct req_msg *out)
{
	const struct req_msg *m = msg_at_const(r, r->head);

	if (r->head == r->tail || r->una < m->first_seq + m->n_pkts)
		return false;
	*out = *m;
	r->head++;
	return true;
}

uint64_t req_deadline(const struct requester *r)
{
	return !r->failed && r->una < r->answer_seq ? r->timer_ns + r->p.rto_ns : UINT64_MAX;
}

void req_on_timer(struct requester *r, uint64_t now_ns)
{
	if (now_ns < req_deadline(r))
		return;
	r->stats.timeouts++;
	r->gap_open = false;
	r->timer_ns = now_ns;
	r->answer_seq = r->una; // stopped until a packet asks again
	go_back(r, r->una);
}
