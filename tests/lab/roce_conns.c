// SPDX-License-Identifier: Apache-2.0
// Connections of hosts that talk RoCEv2 at random: their lives, and what they do with what arrives.
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/psn.h"
#include "dataplane/packet/roce.h"
#include "dataplane/packet/wire.h"
#include "tests/lab/roce_schedule.h"

enum {
	CNP_GAP_NS = 4000,
	HELD_NS = 10000,
	AFAR = 8192, // PSNs: no two lives of a queue pair begin nearer to each other
	CM_TRIES = 4,
};

static uint64_t now(const struct roce_schedule *x)
{
	return x->s.b->clock.now_ns;
}

// ---- answers

static void answer(struct roce_schedule *x, struct roce_conn *c, struct roce_answer a)
{
	struct roce_host *h = &x->host[a.token.back ? c->b : c->a];

	if (h->n == ROCE_ANSWERS)
		return;
	a.token.conn = (uint16_t)(c - x->conn);
	a.token.life = c->life;
	h->answers[(h->first + h->n++) % ROCE_ANSWERS] = a;
	c->in_flight++;
	vtimer_set(&h->wake, now(x));
}

static void acknowledge(struct roce_schedule *x, struct roce_conn *c, uint64_t packet, bool nak)
{
	struct roce_answer a = {.token = {.packet = packet, .n = nak, .back = true},
				.opcode = RC_ACK};

	c->since_ack = 0;
	if (pick(&x->s, 32) != 0)
		answer(x, c, a);
}

static void say_cm(struct roce_schedule *x, struct roce_conn *c, bool back, enum cm_attr attr)
{
	struct roce_answer a = {.token = {.n = (uint16_t)attr, .back = back},
				.opcode = UD_SEND_ONLY};

	answer(x, c, a);
}

// A message of one side states the PSN with which the other side begins. The PSNs of one direction
// are far from those of the other.
struct cm_msg roce_cm_of(const struct roce_schedule *x, const struct roce_conn *c, bool back,
			   enum cm_attr attr)
{
	uint32_t asker = c->life << 8 | (uint32_t)(c - x->conn), other = asker | 1u << 31;
	bool asks = back == c->asks_b, sends = back == c->reads;

	return (struct cm_msg){
		.attr = (uint16_t)attr,
		.local_id = asks ? asker : other,
		.remote_id = attr == CM_REQ ? 0 : asks ? other : asker,
		// DREQ names that of the receiver
		.qpn = roce_qp((attr == CM_DREQ) == back ? c->peer : c->qp),
		.psn = sends ? c->start ^ 0x555555 : c->start,
		.mtu = ROCE_READ_MTU,
	};
}

// ---- lives of connections

static uint16_t linux_sport(uint32_t qp_a, uint32_t qp_b)
{
	uint64_t v = (uint64_t)qp_a * qp_b;

	v ^= v >> 20;
	v ^= v >> 40;
	v &= 0xfffff;
	return (uint16_t)(0xc000 | ((v & 0x3fff) ^ (v >> 14)));
}

// A router takes priority tags alone.
static void draw_tags(struct roce_schedule *x, struct roce_conn *c)
{
	struct schedule *s = &x->s;
	bool vlan = !s->conf.routed && pick(s, 2);

	memset(c->tags, 0, sizeof(c->tags));
	if (pick(s, 4) != 0)
		return;
	c->tags[0] = (struct ipcc_tag){ETYPE_VLAN, (uint16_t)(pick(s, 16) << 12 | (vlan ? 7 : 0))};
	if (s->conf.routed || pick(s, 2))
		return;
	c->tags[1] = (struct ipcc_tag){ETYPE_VLAN, (uint16_t)(pick(s, 16) << 12 | pick(s, 9))};
	if (pick(s, 2))
		c->tags[0].tpid = ETYPE_QINQ;
}

void roce_headers_change(struct roce_schedule *x, struct roce_conn *c)
{
	static const uint8_t dscps[] = {24, 24, 24, 26, 40, 42, 16};
	struct schedule *s = &x->s;

	c->sport = linux_sport(roce_qp(c->qp), roce_qp(c->peer));
	if (pick(s, 3) == 0)
		c->sport = pick(s, 2) ? 49152 : (uint16_t)(49153 + pick(s, 16000));
	c->dscp = dscps[pick(s, sizeof(dscps))];
	c->adapter = (uint8_t)(pick(s, 3) == 0 ? pick(s, 4) : 0);
	c->pkey = pick(s, 3) == 0 ? 0x8001 : BTH_PKEY_DEFAULT;
	draw_tags(x, c);
	c->len = (uint16_t)(ROCE_SHORTEST + pick(s, pick(s, 3) ? 1300 : 200));
}

// Far from what either key had before, or was announced to have.
static uint32_t draw_start(struct roce_schedule *x, const struct roce_conn *c)
{
	struct roce_truth *there = roce_truth_of(x, c->v6, c->a, c->b, c->qp);
	struct roce_truth *back = roce_truth_of(x, c->v6, c->b, c->a, c->peer);
	uint32_t start;

	do
		start = pick(&x->s, PSN_MASK + 1);
	while (abs(psn_diff(start, there->psn)) < AFAR || abs(psn_diff(start, back->psn)) < AFAR);
	there->psn = back->psn = start;
	return start;
}

void roce_conn_begins(struct roce_schedule *x, struct roce_conn *c)
{
	struct schedule *s = &x->s;

	c->reads = pick(s, 4) == 0;
	c->cm = pick(s, 4) == 0;
	c->asks_b = pick(s, 2);
	roce_headers_change(x, c);
	c->start = draw_start(x, c);
	c->life++;
	roce_life_begins(x, c);
	c->next = c->una = c->top = c->got = c->first = c->asked = 0;
	c->total = 1 + pick(s, pick(s, 4) == 0 ? 20 : 3000);
	c->coalesce = (uint8_t)(1 + pick(s, 16));
	c->nak_sent = false;
	c->since_ack = c->tries = 0;
	c->moved_ns = now(x);
	c->held_until_ns = 0;
	c->state = c->cm ? ROCE_CONNECTING : ROCE_OPEN;
	if (c->cm)
		say_cm(x, c, c->asks_b, CM_REQ);
}

static bool is_quiet(const struct roce_conn *c)
{
	return c->state == ROCE_CLOSED && c->in_flight == 0;
}

// Crosswise: each goes on with the other's sender.
static void change_peers(struct roce_schedule *x, struct roce_conn *c)
{
	struct roce_conn *d = &x->conn[pick(&x->s, x->n_conns)];
	uint8_t a = c->a;
	uint16_t peer = c->peer;

	if (c == d || c->fixed || d->fixed || !is_quiet(d) || d->a == c->b || c->a == d->b)
		return;
	c->a = d->a;
	c->peer = d->peer;
	d->a = a;
	d->peer = peer;
	x->totals->reused++;
}

static void connect_goes_on(struct roce_schedule *x, struct roce_conn *c)
{
	if (now(x) - c->moved_ns < ROCE_TIMEOUT_NS)
		return;
	c->moved_ns = now(x);
	if (++c->tries < CM_TRIES)
		say_cm(x, c, c->asks_b, CM_REQ);
	else
		c->state = pick(&x->s, 2) ? ROCE_OPEN : ROCE_CLOSED;
}

static void end(struct roce_schedule *x, struct roce_conn *c)
{
	bool over = c->una == c->top && c->top >= c->total;

	if (!over && pick(&x->s, 16) != 0)
		return;
	if (c->cm && pick(&x->s, 2))
		say_cm(x, c, pick(&x->s, 2), CM_DREQ);
	c->state = ROCE_CLOSED;
}

void roce_conns_come_and_go(struct roce_schedule *x)
{
	for (unsigned n = 1 + pick(&x->s, 2 + x->n_conns / 2); n != 0; n--) {
		struct roce_conn *c = &x->conn[pick(&x->s, x->n_conns)];

		if (c->state == ROCE_CONNECTING)
			connect_goes_on(x, c);
		else if (c->state == ROCE_OPEN)
			end(x, c);
		if (is_quiet(c) && pick(&x->s, 2)) {
			change_peers(x, c);
			roce_conn_begins(x, c);
		}
	}
}

void roce_all_has_come(struct roce_schedule *x)
{
	for (unsigned i = 0; i < x->n_conns; i++)
		x->conn[i].in_flight = 0;
	for (unsigned h = 0; h < ROCE_HOSTS; h++)
		x->host[h].n = 0;
}

void roce_draw_conns(struct roce_schedule *x)
{
	struct schedule *s = &x->s;
	uint16_t used[ROCE_HOSTS] = {0};

	x->n_conns = 1 + pick(s, ROCE_CONNS);
	for (unsigned i = 0; i < x->n_conns; i++) {
		struct roce_conn *c = &x->conn[i];

		c->b = (uint8_t)(pick(s, 4) ? ROCE_HOSTS - 1 : pick(s, ROCE_HOSTS));
		c->a = (uint8_t)((c->b + 1 + pick(s, ROCE_HOSTS - 1)) % ROCE_HOSTS);
		c->peer = used[c->a]++;
		c->qp = used[c->b]++;
		c->v6 = pick(s, 4) == 0;
		c->fixed = pick(s, 5) == 0;
	}
}

// ---- receiving

static void take_cm(struct roce_schedule *x, struct roce_conn *c, bool back, enum cm_attr attr)
{
	if (attr == CM_REQ && c->state != ROCE_CLOSED)
		say_cm(x, c, !back, CM_REP);
	if (attr == CM_REP && c->state == ROCE_CONNECTING) {
		say_cm(x, c, !back, CM_RTU);
		c->state = ROCE_OPEN;
		c->moved_ns = now(x);
	}
	if (attr == CM_DREQ)
		say_cm(x, c, !back, CM_DREP);
}

static void take_data(struct roce_schedule *x, struct roce_conn *c, uint64_t packet)
{
	if (packet > c->got) {
		if (!c->nak_sent)
			acknowledge(x, c, c->got, true);
		c->nak_sent = true;
		return;
	}
	if (packet < c->got) {
		acknowledge(x, c, c->got - 1, false);
		return;
	}
	c->got++;
	c->nak_sent = false;
	if (++c->since_ack >= c->coalesce || c->got >= c->total)
		acknowledge(x, c, packet, false);
}

static void take_response(struct roce_schedule *x, struct roce_conn *c, uint64_t packet)
{
	if (packet != c->got)
		return;
	c->una = ++c->got;
	c->moved_ns = now(x);
}

static void take_ack(struct roce_schedule *x, struct roce_conn *c, uint64_t packet, bool nak)
{
	uint64_t una = nak ? packet : packet + 1;

	if (una > c->una) {
		c->una = una;
		c->moved_ns = now(x);
	}
	if (c->next < c->una || (nak && packet >= c->una && packet < c->next))
		c->next = c->una;
}

static void take(struct roce_schedule *x, const struct pkt_info *info, const uint8_t *frame,
		 uint16_t len)
{
	struct roce_token t;
	struct roce_conn *c;
	const struct roce_answer cnp = {.token = {.back = true}, .opcode = ROCE_CNP};

	memcpy(&t, frame + roce_token_at(len), sizeof(t));
	if (t.conn >= x->n_conns || x->conn[t.conn].life != t.life)
		return;
	c = &x->conn[t.conn];
	c->in_flight -= c->in_flight != 0;
	if (info->bth_opcode == UD_SEND_ONLY)
		take_cm(x, c, t.back, t.n);
	if (c->state != ROCE_OPEN)
		return;
	switch (roce_role(info->bth_opcode, info->bth_dest_qp)) {
	case ROCE_ROLE_DATA:
		take_data(x, c, t.packet);
		break;
	case ROCE_ROLE_READ_RESPONSE:
		take_response(x, c, t.packet);
		break;
	case ROCE_ROLE_READ_REQUEST:
		c->first = c->next = t.packet;
		c->asked = t.packet + t.n;
		return;
	case ROCE_ROLE_ACK:
		take_ack(x, c, t.packet, t.n != 0);
		return;
	case ROCE_ROLE_CNP:
		c->held_until_ns = now(x) + HELD_NS;
		return;
	default:
		return;
	}
	if (info->ecn == ECN_CE && now(x) - c->cnp_ns >= CNP_GAP_NS) {
		c->cnp_ns = now(x);
		answer(x, c, cnp);
	}
}

// A CNP by the switch has no word of ours in it.
static bool is_of_the_switch(const struct pkt_info *info, const uint8_t *frame, uint16_t len)
{
	static const uint8_t zeros[CNP_PAYLOAD_LEN];

	return info->bth_opcode == ROCE_CNP && len < ROCE_SHORTEST &&
	       memcmp(frame + len - ROCE_ICRC_LEN - sizeof(zeros), zeros, sizeof(zeros)) == 0;
}

void roce_receive(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	struct roce_schedule *x = h->source_arg;
	unsigned port = (unsigned)(h - h->bench->host);
	struct pkt_info info;

	if (!parse(frame, len, &info) || !info.roce)
		return;
	if (is_of_the_switch(&info, frame, len))
		roce_cnp_came(x, port, frame, len);
	else if (len >= ROCE_SHORTEST && frame[5] == x->who[port] + 1)
		take(x, &info, frame, len);
}
