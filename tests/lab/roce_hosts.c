// SPDX-License-Identifier: Apache-2.0
// Hosts that talk RoCEv2 at random, each of them as its own NIC would; and one that lies.
#include <stddef.h>
#include <string.h>

#include "dataplane/packet/psn.h"
#include "dataplane/packet/roce.h"
#include "dataplane/packet/wire.h"
#include "tests/lab/roce_schedule.h"

enum {
	CNP_DSCP = 48,
	CM_LEN = 400,
	MADE_UP = 40, // from here on: numbers of no host
};

static uint64_t now(const struct roce_schedule *x)
{
	return x->s.b->clock.now_ns;
}

// ---- frames

// What a host says in a frame, in its own or in another's name.
struct words {
	struct ipcc_data d;
	uint8_t dscp;
	bool is_cm;
	struct cm_msg cm;
	struct roce_token token;
};

static void set_tos(uint8_t *l3, bool v6, uint8_t tos)
{
	uint32_t sum = 0;

	if (v6) {
		l3[0] = 0x60 | tos >> 4;
		l3[1] = (uint8_t)(tos << 4 | (l3[1] & 0x0f));
		return;
	}
	l3[1] = tos;
	be16_put(l3 + 10, 0);
	for (unsigned i = 0; i < 20; i += 2)
		sum += be16_get(l3 + i);
	be16_put(l3 + 10, (uint16_t)~(sum % 0xffff));
}

static size_t ext_at(const struct ipcc_data *d)
{
	return 14u + (d->tags[0].tpid != 0 ? 4u : 0u) + (d->tags[1].tpid != 0 ? 4u : 0u) +
	       (d->v6 ? 40u : 20u) + sizeof(struct udp_hdr) + sizeof(struct bth_hdr);
}

// The iCRC is that of other bytes: the switch reads none.
static uint16_t build(uint8_t *frame, const struct words *w)
{
	uint16_t len = ipcc_build(frame, &w->d);
	size_t at = ext_at(&w->d), l3 = at - sizeof(struct bth_hdr) - sizeof(struct udp_hdr) -
					(w->d.v6 ? 40 : 20);

	set_tos(frame + l3, w->d.v6, (uint8_t)(w->dscp << 2 | ECN_ECT0));
	if (w->is_cm) {
		be32_put(frame + at, (uint32_t)CM_QKEY);
		be32_put(frame + at + 4, CM_QP);
		cm_build(frame + at + sizeof(struct deth_hdr), &w->cm);
	} else if (w->d.opcode == RC_READ_REQUEST) {
		be32_put(frame + at + 12, w->token.n * (uint32_t)ROCE_READ_MTU);
	} else {
		frame[at] = w->token.n != 0 ? AETH_NAK : AETH_NO_CREDITS;
	}
	memcpy(frame + roce_token_at(len), &w->token, sizeof(w->token));
	return len;
}

static bool is_of_a_flow(uint8_t opcode)
{
	enum roce_role role = roce_role(opcode, CM_QP + 1);

	return role == ROCE_ROLE_DATA || role == ROCE_ROLE_READ_REQUEST ||
	       role == ROCE_ROLE_READ_RESPONSE;
}

static uint64_t arrival_ns(const struct roce_schedule *x, unsigned port, uint16_t len)
{
	uint64_t mbps = x->s.conf.speed_mbps[port];

	return now(x) + ((len + 24u) * 8000ull + mbps - 1) / mbps + x->s.conf.delay_ns;
}

static void remember(struct roce_schedule *x, const struct words *w, const uint8_t *frame,
		     uint16_t len)
{
	const struct roce_conn *c = &x->conn[w->token.conn];
	unsigned port = x->port_of[w->d.from];
	struct roce_headers h;

	if (!is_of_a_flow(w->d.opcode))
		return;
	memset(&h, 0, sizeof(h));
	h.at_ns = arrival_ns(x, port, len);
	memcpy(h.dst_mac, frame, 6);
	memcpy(h.src_mac, frame + 6, 6);
	h.sport = w->d.sport;
	h.pkey = w->d.pkey;
	memcpy(h.tags, w->d.tags, sizeof(h.tags));
	h.port = (port_no_t)port;
	roce_frame_sent(x, c, w->d.opcode == RC_READ_REQUEST, w->d.psn, &h);
}

static struct words words_of(struct roce_schedule *x, const struct roce_conn *c, uint8_t opcode,
			     struct roce_token token)
{
	token.conn = (uint16_t)(c - x->conn);
	token.life = c->life;
	return (struct words){
		.d = {.from = token.back ? c->b : c->a, .to = token.back ? c->a : c->b,
		      .qp = roce_qp(token.back ? c->peer : c->qp),
		      .psn = psn_add(c->start, token.packet), .len = c->len, .v6 = c->v6,
		      .tags = {c->tags[0], c->tags[1]}, .opcode = opcode, .sport = c->sport,
		      .pkey = c->pkey, .routed = x->s.conf.routed, .adapter = c->adapter},
		.dscp = c->dscp,
		.token = token,
	};
}

// ---- sending

static bool is_free(const struct bench_host *h, uint8_t dscp)
{
	const struct bench *b = h->bench;
	unsigned cls = b->policy->ports[h - b->host].classify.dscp_to_class[dscp];

	return b->clock.now_ns < h->pause_from_ns[cls] || b->clock.now_ns >= h->pause_until_ns[cls];
}

static bool ask(struct roce_schedule *x, struct roce_conn *c, struct roce_token *t)
{
	bool all = c->got == c->top;

	if (all ? c->top >= c->total : now(x) - c->moved_ns < ROCE_TIMEOUT_NS)
		return false;
	if (all)
		c->top += 1 + pick(&x->s, 16);
	c->moved_ns = now(x);
	*t = (struct roce_token){.n = (uint16_t)(c->top - c->got), .packet = c->got, .back = true};
	return true;
}

static bool send_more(struct roce_schedule *x, struct roce_conn *c, struct roce_token *t)
{
	if (c->una == c->top)
		c->moved_ns = now(x);
	else if (now(x) - c->moved_ns >= ROCE_TIMEOUT_NS) {
		c->next = c->una;
		c->moved_ns = now(x);
	}
	// Lost before it came here.
	c->next += pick(&x->s, 256) == 0 && c->next + 1 < c->total;
	if (c->next >= c->total || c->next >= c->una + ROCE_WINDOW)
		return false;
	*t = (struct roce_token){.packet = c->next++};
	c->top = c->next > c->top ? c->next : c->top;
	return true;
}

static uint8_t response_opcode(const struct roce_conn *c, uint64_t packet)
{
	bool first = packet == c->first, last = packet + 1 == c->asked;

	if (first)
		return last ? RC_READ_RESPONSE_ONLY : RC_READ_RESPONSE_FIRST;
	return last ? RC_READ_RESPONSE_LAST : RC_READ_RESPONSE_MIDDLE;
}

// What the host has to send for the connection, if anything.
static bool goes_on(struct roce_schedule *x, struct roce_conn *c, unsigned who, struct words *w)
{
	static const uint8_t opcodes[] = {RC_SEND_MIDDLE, RC_SEND_ONLY, RC_WRITE_MIDDLE};
	uint8_t opcode = opcodes[c->life % sizeof(opcodes)];
	struct roce_token t = {.packet = c->next};

	if (c->state != ROCE_OPEN || now(x) < c->held_until_ns)
		return false;
	if (c->reads && who == c->b && ask(x, c, &t))
		opcode = RC_READ_REQUEST;
	else if (c->reads && who == c->a && c->next < c->asked)
		opcode = response_opcode(c, c->next++);
	else if (c->reads || who != c->a || !send_more(x, c, &t))
		return false;
	c->in_flight++;
	*w = words_of(x, c, opcode, t);
	return true;
}

static bool says_data(struct roce_schedule *x, struct bench_host *h, unsigned who, struct words *w)
{
	unsigned first = pick(&x->s, x->n_conns);

	for (unsigned i = 0; i < x->n_conns; i++) {
		struct roce_conn *c = &x->conn[(first + i) % x->n_conns];

		if ((c->a == who || c->b == who) && is_free(h, c->dscp) && goes_on(x, c, who, w))
			return true;
	}
	return false;
}

static bool says_answer(struct roce_schedule *x, const struct bench_host *h, unsigned who,
			struct words *w)
{
	struct roce_host *host = &x->host[who];
	const struct roce_answer *a = &host->answers[host->first];
	const struct roce_conn *c;
	uint8_t dscp;

	if (host->n == 0)
		return false;
	c = &x->conn[a->token.conn];
	dscp = a->opcode == RC_ACK ? c->dscp : a->opcode == ROCE_CNP ? CNP_DSCP : 0;
	if (!is_free(h, dscp))
		return false;
	*w = words_of(x, c, a->opcode, a->token);
	w->dscp = dscp;
	w->d.len = ROCE_SHORTEST;
	if (a->opcode == UD_SEND_ONLY) {
		w->is_cm = true;
		w->cm = roce_cm_of(x, c, a->token.back, a->token.n);
		w->d.qp = CM_QP;
		w->d.len = CM_LEN;
	}
	// Nobody waits any more for what he said in another life.
	w->token.life = a->token.life;
	host->first = (host->first + 1) % ROCE_ANSWERS;
	host->n--;
	return true;
}

static void says_datagram(struct roce_schedule *x, unsigned who, struct words *w)
{
	*w = (struct words){
		.d = {.from = who, .to = (who + 1 + pick(&x->s, ROCE_HOSTS - 1)) % ROCE_HOSTS,
		      .qp = ROCE_QP_STRANGE + pick(&x->s, 4), .len = 200, .sport = 49152,
		      .opcode = UD_SEND_ONLY, .v6 = pick(&x->s, 2), .routed = x->s.conf.routed},
		.dscp = 24,
		.token = {.conn = ROCE_NOBODY},
	};
}

// ---- lies: what docs/ipcc.md says that nobody need believe

// In the name of either end of a connection, by one who sits at neither's port.
static void lie_about(struct roce_schedule *x, const struct roce_conn *c, struct words *w)
{
	static const uint8_t opcodes[] = {RC_ACK, RC_ACK, ROCE_CNP, RC_READ_REQUEST,
					  RC_SEND_MIDDLE, RC_READ_RESPONSE_FIRST, UD_SEND_ONLY};
	static const uint16_t attrs[] = {CM_REQ, CM_REP, CM_DREQ};
	struct schedule *s = &x->s;
	uint8_t opcode = opcodes[pick(s, sizeof(opcodes))];
	enum roce_role role = roce_role(opcode, 0);
	bool back = role != ROCE_ROLE_DATA && role != ROCE_ROLE_READ_RESPONSE;
	struct roce_token t = {.back = back, .n = (uint16_t)pick(s, 2),
			       .packet = c->una + pick(s, pick(s, 2) ? ROCE_WINDOW : 1 << 20)};

	if (opcode == UD_SEND_ONLY)
		t.back = pick(s, 2);
	*w = words_of(x, c, opcode, t);
	// Another queue pair of those two, or one that neither has.
	if (pick(s, 3) == 0)
		w->d.qp = pick(s, 2) ? roce_qp(pick(s, ROCE_QPS)) : ROCE_QP_STRANGE + pick(s, 8);
	if (opcode == UD_SEND_ONLY) {
		w->is_cm = true;
		w->cm = roce_cm_of(x, c, t.back, attrs[pick(s, 3)]);
		if (pick(s, 2))
			w->cm.qpn = roce_qp(pick(s, ROCE_QPS));
		w->d.qp = CM_QP;
		w->d.len = CM_LEN;
	}
}

// By a sender that there is not: it takes a place in the table.
static void lie_in_nobodys_name(struct roce_schedule *x, struct words *w)
{
	says_datagram(x, 0, w);
	w->d.from = MADE_UP + pick(&x->s, 150);
	w->d.opcode = RC_SEND_MIDDLE;
}

static bool says_lie(struct roce_schedule *x, unsigned who, struct words *w)
{
	const struct roce_conn *c = &x->conn[pick(&x->s, x->n_conns)];

	if (who != x->forger || pick(&x->s, 8) != 0)
		return false;
	if (pick(&x->s, 4) == 0)
		lie_in_nobodys_name(x, w);
	else if (c->a != who && c->b != who)
		lie_about(x, c, w);
	else
		return false;
	w->token.conn = ROCE_NOBODY;
	x->totals->forged++;
	return true;
}

// Whose flow it seems to be. The liar's own station sent it, or the other one's where that does
// not change where answers go.
static void send_lie(struct roce_schedule *x, unsigned who, const struct words *w, uint8_t *frame)
{
	if (x->s.conf.learned || w->d.from >= MADE_UP || pick(&x->s, 2)) {
		memcpy(frame + 6, (uint8_t[]){2, 0, 0, 0, 0}, 5);
		frame[11] = (uint8_t)(who + 1);
	}
	if (x->s.conf.routed)
		frame[5] = (uint8_t)(who + 1);
	for (unsigned qp = 0; w->d.from < ROCE_HOSTS && qp < ROCE_QPS; qp++)
		if (roce_qp(qp) == w->d.qp && is_of_a_flow(w->d.opcode))
			roce_truth_of(x, w->d.v6, w->d.from, w->d.to, qp)->sent[x->port_of[who]]++;
}

// ---- the next frame

static bool rests(struct roce_schedule *x, unsigned who)
{
	vtimer_set(&x->host[who].wake, now(x) + 300 + pick(&x->s, 4000));
	return false;
}

static bool speak(struct bench_host *h, struct bench_frame *out)
{
	struct roce_schedule *x = h->source_arg;
	unsigned port = (unsigned)(h - h->bench->host), who = x->who[port];
	struct roce_host *host = &x->host[who];
	struct words w;

	if (x->s.silent || x->s.quiet[port])
		return false;
	if (pick(&x->s, 64) < host->idle_of_64)
		return rests(x, who);
	if (pick(&x->s, 64) == 0)
		return schedule_traffic(h, out);
	if (pick(&x->s, 100) == 0)
		says_datagram(x, who, &w);
	else if (!says_lie(x, who, &w) && !says_answer(x, h, who, &w) && !says_data(x, h, who, &w))
		return rests(x, who);
	*out = (struct bench_frame){.raw = host->frame, .len = build(host->frame, &w),
				    .dscp = w.dscp};
	if (w.token.conn != ROCE_NOBODY)
		remember(x, &w, host->frame, out->len);
	else if (w.d.from != who)
		send_lie(x, who, &w, host->frame);
	return true;
}

static void wakes(void *arg, uint64_t now_ns)
{
	struct roce_host *h = arg;
	struct roce_schedule *x = h->x;

	(void)now_ns;
	actor_poke(&x->s.b->host[x->port_of[h - x->host]].actor);
}

void roce_hosts_open(struct roce_schedule *x)
{
	static const uint8_t idle[] = {0, 0, 1, 8, 30, 60};

	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		struct bench_host *h = &x->s.b->host[p];

		x->host[p].x = x;
		x->host[p].idle_of_64 = idle[pick(&x->s, sizeof(idle))];
		vtimer_init(&x->host[p].wake, &x->s.b->clock, wakes, &x->host[p]);
		h->source = speak;
		h->source_arg = x;
		h->on_rx = roce_receive;
	}
	for (unsigned i = 0; i < x->n_conns; i++)
		if (pick(&x->s, 4) != 0)
			roce_conn_begins(x, &x->conn[i]);
}

void roce_hosts_close(struct roce_schedule *x)
{
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		vtimer_cancel(&x->host[p].wake);
}
