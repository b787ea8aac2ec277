// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/requester.h"

#include <assert.h>

#include "dataplane/packet/psn.h"
#include "dataplane/packet/wire.h"

static_assert((REQ_MAX_MSGS & (REQ_MAX_MSGS - 1)) == 0, "the ring index is masked");

void req_init(struct requester *r, const struct req_params *p, const struct req_memory *m)
{
	*r = (struct requester){.p = *p, .m = *m};
	if (p->ack_every == 0)
		r->p.ack_every = REQ_ACK_EVERY;
	if (m->again != NULL && p->window > REQ_AGAIN_PKTS)
		r->p.window = REQ_AGAIN_PKTS;
	if (m->again != NULL)
		*m->again = (struct req_again){0};
	if (m->window != NULL)
		reorder_init(m->window, p->first_psn);
}

void req_move(struct requester *r, struct req_msg *msgs, uint32_t n_msgs)
{
	for (uint32_t i = r->head; i != r->tail; i++)
		msgs[i & (n_msgs - 1)] = *req_msg_at(r, i);
	r->m.msgs = msgs;
	r->m.n_msgs = n_msgs;
}

bool req_post(struct requester *r, uint32_t n_bytes, uint64_t tag, uint64_t now_ns)
{
	struct req_msg *m = req_msg_at(r, r->tail);

	if (req_outstanding(r) == r->m.n_msgs)
		return false;
	if (r->next_offset + n_bytes > r->p.region_bytes)
		r->next_offset = 0;
	*m = (struct req_msg){
		.first_seq = r->next_seq,
		.offset = r->next_offset,
		.tag = tag,
		.posted_ns = now_ns,
		.n_bytes = n_bytes,
		.n_pkts = n_bytes == 0 ? 1 : (n_bytes + r->p.mtu - 1) / r->p.mtu,
	};
	r->next_seq += m->n_pkts;
	r->next_offset += n_bytes;
	r->tail++;
	return true;
}

uint64_t req_done_bytes(const struct requester *r)
{
	const struct req_msg *m;
	uint64_t part;

	if (r->head == r->tail || r->p.go_back_0)
		return r->complete_bytes;
	m = req_msg_at(r, r->head);
	if (r->una <= m->first_seq)
		return r->complete_bytes;
	part = (r->una - m->first_seq) * r->p.mtu;
	return r->complete_bytes + (part < m->n_bytes ? part : m->n_bytes);
}

// ---- selective repeat

static uint64_t *again_word(const struct requester *r, uint64_t place)
{
	return &r->m.again->set[place % REQ_AGAIN_PKTS / 64];
}

static bool goes_again(const struct requester *r, uint64_t place)
{
	return *again_word(r, place) >> place % 64 & 1;
}

static void again_add(struct requester *r, uint64_t seq)
{
	struct req_again *a = r->m.again;

	// A ring full of skipped places leaves the packet to the timer.
	if (goes_again(r, seq) || a->n == REQ_AGAIN_PKTS)
		return;
	a->ring[(a->head + a->n++) % REQ_AGAIN_PKTS] = (uint16_t)(seq % REQ_AGAIN_PKTS);
	*again_word(r, seq) |= 1ull << seq % 64;
	r->n_again++;
}

static void again_remove(struct requester *r, uint64_t seq)
{
	struct req_again *a = r->m.again;

	if (!goes_again(r, seq))
		return;
	*again_word(r, seq) &= ~(1ull << seq % 64);
	r->n_again--;
	while (a->n != 0 && !goes_again(r, a->ring[a->head])) {
		a->head = (a->head + 1) % REQ_AGAIN_PKTS;
		a->n--;
	}
}

// NAKs name the packets that go again. READs are requested again instead.
static bool repeats_alone(const struct requester *r)
{
	return r->m.again != NULL && r->p.op != REQ_READ;
}

// The timer has run out. The next n packets of those that may be lost go again.
static void repeat_some(struct requester *r, unsigned n)
{
	if (r->repeat_next < r->una)
		r->repeat_next = r->una;
	for (; n != 0 && r->repeat_next < r->repeat_end; n--)
		again_add(r, r->repeat_next++);
}

// The message that holds a packet, which is not done, at or after message `from`; r->tail: none.
static uint32_t message_of(const struct requester *r, uint64_t seq, uint32_t from)
{
	while (from != r->tail) {
		const struct req_msg *m = req_msg_at(r, from);

		if (seq < m->first_seq + m->n_pkts)
			break;
		from++;
	}
	return from;
}

// What goes next.
struct next {
	struct req_msg *msg;
	uint64_t seq;
};
static struct next next_of(const struct requester *r)
{
	uint64_t seq = r->una;

	if (r->n_again == 0)
		return (struct next){req_msg_at(r, r->cur), r->nxt};
	seq += (r->m.again->ring[r->m.again->head] - seq) % REQ_AGAIN_PKTS;
	return (struct next){req_msg_at(r, message_of(r, seq, r->head)), seq};
}

void req_peek(const struct requester *r, struct roce_pkt *pkt, uint64_t *offset)
{
	static const uint8_t opcode[2][2][2] = { // op, first, last
		[REQ_WRITE] = {{RC_WRITE_MIDDLE, RC_WRITE_LAST}, {RC_WRITE_FIRST, RC_WRITE_ONLY}},
		[REQ_SEND] = {{RC_SEND_MIDDLE, RC_SEND_LAST}, {RC_SEND_FIRST, RC_SEND_ONLY}},
	};
	const struct next next = next_of(r);
	const struct req_msg *m = next.msg;
	uint32_t k = (uint32_t)(next.seq - m->first_seq), done = k * r->p.mtu;
	bool last = k + 1 == m->n_pkts;

	*pkt = (struct roce_pkt){
		.opcode = RC_READ_REQUEST,
		.ack_req = true,
		.dest_qp = r->p.dest_qp,
		.psn = psn_add(r->p.first_psn, next.seq),
		.va = r->p.va + m->offset,
		.rkey = r->p.rkey,
		.dma_len = m->n_bytes,
	};
	*offset = m->offset + (uint64_t)k * r->p.mtu;
	if (r->p.op == REQ_READ) {
		pkt->va += done;
		pkt->dma_len -= done;
		if (r->n_again != 0 && pkt->dma_len > r->p.mtu)
			pkt->dma_len = r->p.mtu;
		return;
	}
	pkt->opcode = opcode[r->p.op][k == 0][last];
	pkt->payload_len = last ? m->n_bytes - done : r->p.mtu;
	pkt->ack_req = last || r->n_again != 0 || (uint32_t)(r->nxt + 1) % r->p.ack_every == 0 ||
		       r->nxt + 1 - r->una == r->p.window;
}

static void sent_again(struct requester *r, uint64_t now_ns)
{
	const struct next next = next_of(r);

	again_remove(r, next.seq);
	r->m.stats->retransmissions++;
	if (next.seq + 1 == next.msg->first_seq + next.msg->n_pkts)
		next.msg->last_tx_ns = now_ns;
	if (r->answer_seq <= next.seq)
		r->answer_seq = next.seq + 1;
	r->timer_ns = now_ns;
}

void req_sent(struct requester *r, const struct roce_pkt *pkt, uint64_t now_ns)
{
	struct req_msg *m = req_msg_at(r, r->cur);
	uint64_t end = m->first_seq + m->n_pkts;

	if (r->n_again != 0) {
		sent_again(r, now_ns);
		return;
	}
	if (r->nxt < r->max)
		r->m.stats->retransmissions++;
	else if (r->nxt == m->first_seq)
		m->first_tx_ns = now_ns;
	r->nxt = r->p.op == REQ_READ ? end : r->nxt + 1;
	if (r->nxt == end) {
		m->last_tx_ns = now_ns;
		r->cur++;
	}
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
	r->cur = message_of(r, r->nxt, from);
}

// Packets from seq on go again. All messages before its own are complete.
static void go_back(struct requester *r, uint64_t seq)
{
	r->nxt = seq;
	for (uint64_t i = seq; r->n_again != 0; i++)
		again_remove(r, i);
	seek(r, r->head);
	if (!r->p.go_back_0 || r->cur == r->tail)
		return;
	r->nxt = req_msg_at(r, r->cur)->first_seq;
	if (r->una > r->nxt)
		r->una = r->nxt;
}

// Packets below seq have arrived.
static void advance(struct requester *r, uint64_t seq, uint64_t now_ns)
{
	if (seq <= r->una)
		return;
	for (uint64_t i = r->una; r->n_again != 0 && i < seq; i++)
		again_remove(r, i);
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
	r->m.stats->naks++;
	if ((syndrome & AETH_VALUE_MASK) != NAK_PSN_SEQUENCE) {
		r->failed = true;
		r->failed_syndrome = syndrome;
		return;
	}
	if (seq < r->una) {
		r->m.stats->ignored++;
		return;
	}
	if (repeats_alone(r)) {
		if (seq < r->nxt) // else it goes anyway
			again_add(r, seq);
		r->timer_ns = now_ns;
		return;
	}
	// A NAK of a READ request does not acknowledge the responses to the requests before it.
	if (r->p.op != REQ_READ)
		advance(r, seq, now_ns);
	r->timer_ns = now_ns;
	go_back(r, seq);
}

void req_on_ack(struct requester *r, const struct roce_pkt *pkt, uint64_t now_ns)
{
	int64_t seq = seq_of(r, pkt->psn);

	if (seq < 0 || r->failed || (r->p.go_back_0 && (uint64_t)seq >= r->nxt)) {
		r->m.stats->ignored++;
		return;
	}
	switch (pkt->syndrome & AETH_KIND_MASK) {
	case AETH_ACK:
		r->m.stats->acks++;
		// READs are complete when their data is here; an ACK proves nothing about it.
		if (r->p.op != REQ_READ)
			advance(r, (uint64_t)seq + 1, now_ns);
		repeat_some(r, 2);
		break;
	case AETH_NAK:
		on_nak(r, (uint64_t)seq, pkt->syndrome, now_ns);
		break;
	default: // receiver not ready: this endpoint's peers always are, the timer covers others
		r->m.stats->ignored++;
	}
}

static uint32_t una_psn(const struct requester *r)
{
	return psn_add(r->p.first_psn, r->una);
}

// Whether the response has the length of the packet seq of message m.
static bool fits_read(const struct requester *r, const struct req_msg *m, uint64_t seq,
		      const struct roce_pkt *pkt)
{
	uint32_t left = m->n_bytes - (uint32_t)(seq - m->first_seq) * r->p.mtu;

	return pkt->payload_len == (left < r->p.mtu ? left : r->p.mtu);
}

static void ask_for_missing(struct requester *r)
{
	struct reorder *w = r->m.window;

	while (w != NULL && reorder_asks(w)) {
		uint32_t psn = reorder_due(w, una_psn(r));

		again_add(r, r->una + (uint32_t)psn_diff(psn, una_psn(r)));
		reorder_asked(w, psn);
	}
}

static enum req_read_verdict hold_read(struct requester *r, const struct roce_pkt *pkt,
				       uint64_t seq)
{
	const struct req_msg *m = req_msg_at(r, message_of(r, seq, r->head));

	if (seq - r->una >= REORDER_PKTS)
		return REQ_READ_GAP;
	if (!fits_read(r, m, seq, pkt)) {
		r->m.stats->ignored++;
		return REQ_READ_IGNORED;
	}
	if (!reorder_hold(r->m.window, una_psn(r), pkt)) {
		r->m.stats->duplicates++;
		return REQ_READ_IGNORED;
	}
	again_remove(r, seq);
	ask_for_missing(r);
	return REQ_READ_HELD;
}

bool req_take_held(struct requester *r, struct roce_pkt *pkt, uint64_t now_ns, uint64_t *offset)
{
	const struct req_msg *m;

	if (r->m.window == NULL || r->failed || !reorder_take(r->m.window, una_psn(r), pkt))
		return false;
	m = req_msg_at(r, message_of(r, r->una, r->head));
	*offset = m->offset + (r->una - m->first_seq) * r->p.mtu;
	advance(r, r->una + 1, now_ns);
	ask_for_missing(r);
	return true;
}

void req_on_trimmed(struct requester *r, uint32_t psn)
{
	int64_t seq = seq_of(r, psn);

	if (r->m.window == NULL || r->failed || seq < (int64_t)r->una ||
	    (uint64_t)seq - r->una >= REORDER_PKTS)
		return;
	reorder_trimmed(r->m.window, una_psn(r), psn);
	ask_for_missing(r);
}

enum req_read_verdict req_on_read(struct requester *r, const struct roce_pkt *pkt, uint64_t now_ns,
				  uint64_t *offset)
{
	const struct req_msg *m = req_msg_at(r, r->head);
	int64_t seq = seq_of(r, pkt->psn);

	if (r->p.op != REQ_READ || r->failed || seq < 0) {
		r->m.stats->ignored++;
		return REQ_READ_IGNORED;
	}
	if ((uint64_t)seq < r->una) {
		r->m.stats->duplicates++;
		return REQ_READ_IGNORED;
	}
	if ((uint64_t)seq > r->una && r->m.window != NULL)
		return hold_read(r, pkt, (uint64_t)seq);
	if ((uint64_t)seq > r->una) {
		if (!r->gap_open) {
			r->gap_open = true;
			r->m.stats->read_gaps++;
			go_back(r, r->una);
		}
		return REQ_READ_GAP;
	}
	if (!fits_read(r, m, r->una, pkt)) {
		r->m.stats->ignored++;
		return REQ_READ_IGNORED;
	}
	*offset = m->offset + (r->una - m->first_seq) * r->p.mtu;
	if (r->m.window != NULL && r->m.window->n_held + r->m.window->n_asked != 0)
		reorder_came(r->m.window, pkt->psn);
	advance(r, (uint64_t)seq + 1, now_ns);
	ask_for_missing(r);
	return REQ_READ_TAKEN;
}

uint32_t req_head_complete_bytes(const struct requester *r)
{
	return req_head_complete(r) ? req_msg_at(r, r->head)->n_bytes : 0;
}

bool req_complete(struct requester *r, struct req_msg *out)
{
	const struct req_msg *m = req_msg_at(r, r->head);

	if (!req_head_complete(r))
		return false;
	*out = *m;
	r->complete_bytes += m->n_bytes;
	r->head++;
	return true;
}

void req_on_timer(struct requester *r, uint64_t now_ns)
{
	if (now_ns < req_deadline(r))
		return;
	r->m.stats->timeouts++;
	r->gap_open = false;
	r->timer_ns = now_ns;
	if (repeats_alone(r)) {
		r->repeat_next = r->una;
		r->repeat_end = r->nxt;
		repeat_some(r, 1);
	} else {
		go_back(r, r->una);
	}
	r->answer_seq = r->una; // stopped until a packet requests an ACK again
}
