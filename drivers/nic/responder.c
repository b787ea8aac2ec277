// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/responder.h"

#include <string.h>

#include "dataplane/packet/psn.h"
#include "dataplane/packet/wire.h"

void resp_init(struct responder *r, const struct resp_params *p, const struct resp_memory *m)
{
	*r = (struct responder){.p = *p, .epsn = p->first_psn, .m = *m};
	if (m->window != NULL)
		reorder_init(m->window, p->first_psn);
}

static enum resp_verdict refuse_with_nak(struct responder *r, uint8_t code)
{
	r->m.stats->refused++;
	r->dead = true;
	r->nak_due = true;
	r->nak_code = code;
	return RESP_REFUSED;
}

static bool region_ok(const struct responder *r, const struct roce_pkt *pkt)
{
	return pkt->rkey == r->p.rkey && pkt->va >= r->p.va && pkt->dma_len <= r->p.region_bytes &&
	       pkt->va - r->p.va <= r->p.region_bytes - pkt->dma_len;
}

static uint32_t packets_of(const struct responder *r, uint32_t n_bytes)
{
	return n_bytes == 0 ? 1 : (n_bytes - 1) / r->p.mtu + 1;
}

// Drops the response packets at and after psn: they are requested again.
static void cut_reads(struct responder *r, uint32_t psn)
{
	while (r->n_reads != 0) {
		struct resp_read *last = &r->m.reads[r->n_reads - 1];
		int32_t keep = psn_diff(psn, last->psn);

		if (keep > 0) {
			if ((uint32_t)keep < last->n_pkts) {
				last->n_pkts = (uint32_t)keep;
				last->n_bytes = (uint32_t)keep * r->p.mtu;
			}
			return;
		}
		r->n_reads--;
	}
}

static enum resp_verdict queue_read(struct responder *r, const struct roce_pkt *pkt)
{
	if (r->n_reads >= r->m.max_reads)
		return refuse_with_nak(r, NAK_INVALID_REQUEST);
	r->m.reads[r->n_reads++] = (struct resp_read){
		.offset = pkt->va - r->p.va,
		.psn = pkt->psn,
		.n_pkts = packets_of(r, pkt->dma_len),
		.n_bytes = pkt->dma_len,
	};
	return RESP_READ;
}

static bool is_one_packet(const struct resp_read *j)
{
	return j->n_pkts == 1 && !j->started;
}

// The latest READ goes ahead of longer ones: the requester has what they still send behind it, up
// to its window, and waits for this packet.
static void move_ahead(struct responder *r)
{
	const struct resp_read latest = r->m.reads[r->n_reads - 1];
	uint32_t at = 0;

	while (at < r->n_reads - 1 && is_one_packet(&r->m.reads[at]))
		at++;
	memmove(&r->m.reads[at + 1], &r->m.reads[at],
		(r->n_reads - 1 - at) * sizeof(*r->m.reads));
	r->m.reads[at] = latest;
}

static enum resp_verdict on_duplicate(struct responder *r, const struct roce_pkt *pkt)
{
	bool repeat = r->m.window != NULL && pkt->dma_len <= r->p.mtu;
	enum resp_verdict v;

	r->m.stats->duplicates++;
	if (roce_op_of(pkt->opcode)->kind != ROCE_READ_REQ) {
		r->ack_due = true;
		return RESP_DUPLICATE;
	}
	if (!region_ok(r, pkt))
		return refuse_with_nak(r, NAK_REMOTE_ACCESS);
	if (!repeat)
		cut_reads(r, pkt->psn);
	// The other half of the queue is for READs that come for the first time.
	if (r->m.window != NULL && r->n_reads >= r->m.max_reads / 2)
		return RESP_DUPLICATE; // the requester asks again
	v = queue_read(r, pkt);
	if (repeat && v == RESP_READ)
		move_ahead(r);
	return v;
}

static enum resp_verdict on_read_request(struct responder *r, const struct roce_pkt *pkt)
{
	if (r->msg_kind != ROCE_OTHER || pkt->payload_len != 0)
		return refuse_with_nak(r, NAK_INVALID_REQUEST);
	if (!region_ok(r, pkt))
		return refuse_with_nak(r, NAK_REMOTE_ACCESS);
	r->epsn = psn_add(r->epsn, packets_of(r, pkt->dma_len));
	if (r->m.window != NULL) {
		reorder_init(r->m.window, r->epsn); // it may have jumped over packets
		r->nak_due = r->trim_ahead = false;
	}
	r->msn++;
	r->m.stats->messages++;
	return queue_read(r, pkt);
}

// Whether a packet may follow what came before, by opcode and length.
static bool fits_message(const struct responder *r, const struct roce_op *op, uint32_t len)
{
	if (op->first != (r->msg_kind == ROCE_OTHER) || (!op->first && r->msg_kind != op->kind))
		return false;
	if (!op->last)
		return len == r->p.mtu;
	return len <= r->p.mtu && (op->first || len != 0);
}

static enum resp_verdict take_in_order(struct responder *r, const struct roce_pkt *pkt,
				       uint64_t *offset)
{
	const struct roce_op *op = roce_op_of(pkt->opcode);

	if (!fits_message(r, op, pkt->payload_len))
		return refuse_with_nak(r, NAK_INVALID_REQUEST);
	if (op->kind == ROCE_WRITE && op->first) {
		if (!region_ok(r, pkt))
			return refuse_with_nak(r, NAK_REMOTE_ACCESS);
		r->offset = pkt->va - r->p.va;
		r->left = pkt->dma_len;
	}
	if (op->kind == ROCE_WRITE) {
		if (pkt->payload_len > r->left || (op->last && pkt->payload_len != r->left))
			return refuse_with_nak(r, NAK_INVALID_REQUEST);
		r->left -= pkt->payload_len;
	}
	if (op->first)
		r->msg_psn = r->epsn;
	*offset = r->offset;
	r->offset += pkt->payload_len;
	r->msg_bytes = pkt->payload_len + (op->first ? 0 : r->msg_bytes);
	r->epsn = psn_add(r->epsn, 1);
	r->msg_kind = op->last ? ROCE_OTHER : op->kind;
	if (op->last) {
		r->msn++;
		r->m.stats->messages++;
	}
	r->ack_due |= pkt->ack_req;
	return RESP_TAKEN;
}

// Whether the message under way begins anew with this packet.
static bool starts_over(const struct responder *r, const struct roce_pkt *pkt)
{
	return r->p.go_back_0 && r->msg_kind != ROCE_OTHER && pkt->psn == r->msg_psn &&
	       roce_op_of(pkt->opcode)->first && !roce_op_of(pkt->opcode)->last;
}

// The expected packet will not come by itself.
static void open_gap(struct responder *r)
{
	r->gap_open = true;
	r->nak_due = true;
	r->nak_code = NAK_PSN_SEQUENCE;
	r->trim_ahead = false;
}

// ---- selective repeat

static void window_changed(struct responder *r)
{
	const struct reorder *w = r->m.window;

	r->trim_ahead = w->n_held + w->n_asked != 0;
	r->nak_due = reorder_asks(w);
	r->nak_code = NAK_PSN_SEQUENCE;
}

static enum resp_verdict hold_behind_gap(struct responder *r, const struct roce_pkt *pkt)
{
	bool is_new, read = roce_op_of(pkt->opcode)->kind == ROCE_READ_REQ;

	if (read && !r->gap_open && !r->trim_ahead)
		open_gap(r);
	if (read || psn_diff(pkt->psn, r->epsn) >= REORDER_PKTS)
		return RESP_GAP;
	is_new = reorder_hold(r->m.window, r->epsn, pkt);
	window_changed(r);
	r->m.stats->duplicates += !is_new;
	return is_new ? RESP_HELD : RESP_DUPLICATE;
}

bool resp_take_held(struct responder *r, struct roce_pkt *pkt, uint64_t *offset)
{
	bool taken;

	if (r->m.window == NULL || r->dead || !r->trim_ahead ||
	    !reorder_take(r->m.window, r->epsn, pkt))
		return false;
	taken = take_in_order(r, pkt, offset) == RESP_TAKEN;
	if (taken)
		window_changed(r);
	return taken;
}

void resp_on_trimmed(struct responder *r, uint32_t psn)
{
	int32_t diff = psn_diff(psn, r->epsn);

	if (r->dead || diff < 0)
		return;
	if (r->m.window != NULL) {
		if (diff < REORDER_PKTS)
			reorder_trimmed(r->m.window, r->epsn, psn);
		window_changed(r);
	} else if (diff == 0) {
		open_gap(r); // also where the packet had been asked for: it was cut once more
	} else if (!r->trim_ahead || psn_diff(psn, r->trim_psn) < 0) {
		r->trim_ahead = true;
		r->trim_psn = psn;
	}
}

static enum resp_verdict in_order(struct responder *r, const struct roce_pkt *pkt,
				  uint64_t *offset)
{
	enum resp_verdict v = roce_op_of(pkt->opcode)->kind == ROCE_READ_REQ
				      ? on_read_request(r, pkt)
				      : take_in_order(r, pkt, offset);

	if (r->m.window == NULL && r->trim_ahead && !r->dead &&
	    psn_diff(r->epsn, r->trim_psn) >= 0) {
		r->trim_ahead = false;
		if (r->epsn == r->trim_psn)
			open_gap(r);
	}
	return v;
}

enum resp_verdict resp_on_request(struct responder *r, const struct roce_pkt *pkt, uint64_t *offset)
{
	int32_t diff;

	if (r->dead)
		return RESP_REFUSED;
	if (starts_over(r, pkt)) {
		r->epsn = r->msg_psn;
		r->offset -= r->msg_bytes;
		r->msg_kind = ROCE_OTHER;
	}
	diff = psn_diff(pkt->psn, r->epsn);
	if (diff < 0)
		return on_duplicate(r, pkt);
	if (diff > 0) {
		r->m.stats->out_of_sequence++;
		if (r->m.window != NULL)
			return hold_behind_gap(r, pkt);
		if (!r->gap_open)
			open_gap(r);
		return RESP_GAP;
	}
	r->gap_open = false;
	// A NAK that has not left yet would name a packet that is here.
	r->nak_due = false;
	if (r->m.window != NULL && r->trim_ahead) {
		reorder_came(r->m.window, r->epsn);
		window_changed(r);
	}
	return in_order(r, pkt, offset);
}

static bool naks_selectively(const struct responder *r)
{
	return r->m.window != NULL && !r->dead && r->m.window->n_due != 0;
}

static uint32_t nak_psn(const struct responder *r)
{
	return naks_selectively(r) ? reorder_due(r->m.window, r->epsn) : r->epsn;
}

void resp_peek(const struct responder *r, struct roce_pkt *pkt, uint64_t *offset)
{
	static const uint8_t opcode[2][2] = { // first, last
		{RC_READ_RESPONSE_MIDDLE, RC_READ_RESPONSE_LAST},
		{RC_READ_RESPONSE_FIRST, RC_READ_RESPONSE_ONLY},
	};
	const struct resp_read *job = &r->m.reads[0];

	*pkt = (struct roce_pkt){.dest_qp = r->p.dest_qp, .msn = r->msn & PSN_MASK,
				 .syndrome = AETH_ACK | AETH_NO_CREDITS};
	*offset = 0;
	if (r->nak_due || r->ack_due) {
		pkt->opcode = RC_ACK;
		// An ACK names the last packet taken, a NAK a missing one.
		pkt->psn = r->nak_due ? nak_psn(r) : psn_add(r->epsn, PSN_MASK);
		if (r->nak_due)
			pkt->syndrome = (uint8_t)(AETH_NAK | r->nak_code);
		return;
	}
	pkt->opcode = opcode[!job->started][job->n_pkts == 1];
	pkt->psn = job->psn;
	pkt->payload_len = job->n_bytes < r->p.mtu ? job->n_bytes : r->p.mtu;
	*offset = job->offset;
}

void resp_sent(struct responder *r, const struct roce_pkt *pkt)
{
	struct resp_read *job = &r->m.reads[0];

	if (pkt->opcode != RC_ACK) {
		job->started = true;
		job->psn = psn_add(job->psn, 1);
		job->offset += pkt->payload_len;
		job->n_bytes -= pkt->payload_len;
		if (--job->n_pkts == 0)
			memmove(job, job + 1, --r->n_reads * sizeof(*job));
	} else if (r->nak_due && naks_selectively(r)) {
		reorder_asked(r->m.window, pkt->psn);
		window_changed(r);
		r->m.stats->naks++;
	} else if (r->nak_due) {
		// A NAK acknowledges like an ACK.
		r->nak_due = r->ack_due = false;
		r->m.stats->naks++;
	} else {
		r->ack_due = false;
		r->m.stats->acks++;
	}
}
