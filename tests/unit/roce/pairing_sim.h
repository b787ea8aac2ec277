// SPDX-License-Identifier: Apache-2.0
// Connections with their packets and answers on the way, as one switch sees them, and the truth
// about who is connected with whom. What goes wrong, and how often, is the test's to say.
#pragma once

#include "dataplane/base/rng.h"
#include "tests/unit/roce/pairing_bench.h"

enum {
	MAX_PAIRS = 4,
	MAX_CONNS = 1100,
	MAX_EVENTS = 1 << 15,
	MAX_QP = 1 << 14,
	QUIET_NS = 400000, // a queue pair is not used anew before
	TIMEOUT_NS = 300000,
};

struct conn {
	uint32_t pair; // of addresses
	uint32_t qp, peer; // receiver's, sender's
	uint32_t start; // PSN of packet 0
	uint32_t life;
	uint64_t next, una, top; // sender: next to send, not acknowledged, highest sent + 1
	uint64_t got; // receiver
	uint64_t seen_top; // by the switch + 1
	uint64_t moved_ns, idle_ns; // progress; closed: since
	unsigned in_flight;
	uint16_t sport;
	uint8_t coalesce, since_ack;
	bool nak_sent, open;
	bool hidden_data, hidden_acks; // go another way
	bool cm, reads; // connected by CM; the data are READ responses
	uint64_t first, asked; // READ: what was asked for last, and up to where
	uint8_t speed;
};

enum kind { AT_RECEIVER, ANSWER_AT_SWITCH, ANSWER_AT_SENDER };

struct event {
	uint64_t at_ns;
	uint32_t conn, life;
	uint64_t packet;
	uint64_t order; // of those at the same time
	uint8_t kind;
	bool nak;
};

struct world {
	struct bench b;
	struct rng rng;
	uint64_t seed;
	struct end from[MAX_PAIRS], to[MAX_PAIRS];
	bool routed[MAX_PAIRS];
	uint32_t n_pairs, n_conns;
	struct conn conns[MAX_CONNS];
	// The sender's queue pair by the receiver's: of the connection, and of the data seen last.
	uint32_t truth[MAX_PAIRS][MAX_QP], seen[MAX_PAIRS][MAX_QP];
	struct event heap[MAX_EVENTS];
	uint32_t n_events;
	uint64_t pushed;
	// what goes wrong, in 1/1024
	uint32_t loss_before, loss_behind, loss_acks, late_acks, close, forge, twice;
	uint32_t by_cm, by_reads;
	bool lock_step, from_zero, sport, ages;
	uint64_t checked; // sum of paired[] when all were checked
	uint64_t bytes, paired_bytes, late_bytes, late_paired;
};

static uint32_t below(struct world *w, uint32_t n)
{
	return (uint32_t)((uint64_t)rng_next(&w->rng) * n >> 32);
}

static bool chance(struct world *w, uint32_t of_1024)
{
	return below(w, 1024) < of_1024;
}

// ---- events

static bool sooner(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void push(struct world *w, struct event e)
{
	uint32_t i = w->n_events++;

	assert_true(w->n_events <= MAX_EVENTS);
	e.order = w->pushed++;
	for (; i != 0 && sooner(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = e;
	w->conns[e.conn].in_flight++;
}

static struct event pop(struct world *w)
{
	struct event top = w->heap[0], last = w->heap[--w->n_events];
	uint32_t i = 0, c;

	for (; (c = 2 * i + 1) < w->n_events; i = c) {
		if (c + 1 < w->n_events && sooner(&w->heap[c + 1], &w->heap[c]))
			c++;
		if (!sooner(&w->heap[c], &last))
			break;
		w->heap[i] = w->heap[c];
	}
	w->heap[i] = last;
	w->conns[top.conn].in_flight--;
	return top;
}

// ---- truth

static void fail_seed(const struct world *w, uint32_t id, const char *what)
{
	const struct flow *f = &w->b.t.flows[id];

	fail_msg("seed %llu: flow %u to queue pair %u: %s: has %u by source %u",
		 (unsigned long long)w->seed, id, flow_key_qp(&f->key), what,
		 bench_pair(&w->b, id).qp, bench_pair(&w->b, id).source);
}

static void check_flow(const struct world *w, uint32_t id)
{
	const struct flow *f = &w->b.t.flows[id];
	struct flow_pair pair = bench_pair(&w->b, id);
	uint32_t i = 0;

	if (f->key.w[4] == 0 || pair.source == PAIR_NONE)
		return;
	while (i < w->n_pairs && w->from[i].ip != f->key.w[0] >> 32)
		i++;
	if (i == w->n_pairs)
		fail_seed(w, id, "nobody ever sent it");
	if (w->truth[i][flow_key_qp(&f->key)] != pair.qp)
		fail_seed(w, id, "a wrong pair");
}

static void check_all(struct world *w)
{
	const struct pairing_counters *c = pairing_counters(w->b.p);
	uint64_t sum = 0, n = 0;

	for (unsigned s = 0; s < N_PAIR_SOURCES; s++)
		sum += ctr_get(&c->paired[s]);
	if (sum == w->checked)
		return;
	w->checked = sum;
	for (uint32_t id = 0; id < w->b.t.n_used; id++) {
		check_flow(w, id);
		n += bench_pair(&w->b, id).source != PAIR_NONE;
	}
	assert_int_equal(n, gauge_get(&c->n_paired));
}

// ---- connections

static uint16_t sport_of(const struct world *w, const struct conn *c)
{
	uint64_t v = (uint64_t)c->qp * c->peer;

	if (!w->sport)
		return 49152;
	v ^= v >> 20;
	v ^= v >> 40;
	v &= 0xfffff;
	return (uint16_t)(0xc000 | ((v & 0x3fff) ^ (v >> 14)));
}

// Told of by CM, with all that can happen to messages.
static void say_cm(struct world *w, const struct conn *c)
{
	struct end from = w->from[c->pair], to = w->to[c->pair];
	uint32_t id = c->qp << 8 | (c->life & 0xff);
	// A side states the PSN of the other's requests.
	const struct cm_msg req = {.attr = CM_REQ, .local_id = id, .qpn = c->peer,
				   .psn = c->reads ? c->start : 77, .mtu = 1024};
	const struct cm_msg rep = {.attr = CM_REP, .local_id = ~id, .remote_id = id, .qpn = c->qp,
				   .psn = c->reads ? 77 : c->start};
	bool late = chance(w, w->late_acks);

	if (!late && !chance(w, w->loss_acks))
		bench_cm(&w->b, from, to, &req);
	// It is sent again until it has come.
	w->truth[c->pair][c->qp] = c->peer;
	bench_cm(&w->b, to, from, &rep);
	if (late || chance(w, w->twice))
		bench_cm(&w->b, from, to, &req);
	if (chance(w, w->twice))
		bench_cm(&w->b, to, from, &rep);
	check_all(w);
}

static void open_conn(struct world *w, struct conn *c)
{
	c->start = w->from_zero ? 0 : below(w, PSN_MASK + 1);
	c->next = c->una = c->top = c->got = c->seen_top = 0;
	c->since_ack = 0;
	c->asked = 0;
	c->nak_sent = false;
	c->moved_ns = w->b.now_ns;
	c->sport = sport_of(w, c);
	c->coalesce = (uint8_t)(1 + below(w, 16));
	c->speed = w->lock_step ? 4 : (uint8_t)(1 + below(w, 16));
	c->life++;
	c->open = true;
	if (c->cm)
		say_cm(w, c);
}

static bool is_quiet(const struct world *w, const struct conn *c)
{
	return !c->open && c->in_flight == 0 && w->b.now_ns - c->idle_ns > QUIET_NS;
}

// Closed ones begin again, often with each other's queue pairs.
static void reopen(struct world *w, uint32_t i)
{
	struct conn *c = &w->conns[i], *d;

	if (!is_quiet(w, c))
		return;
	d = &w->conns[below(w, w->n_conns)];
	if (d != c && d->pair == c->pair && is_quiet(w, d)) {
		uint32_t peer = d->peer;

		d->peer = c->peer;
		c->peer = peer;
		open_conn(w, d);
	}
	open_conn(w, c);
}

// A new life that nobody could tell from the old one: its packets are not seen as long as that
// holds.
static bool nobody_could_tell(const struct world *w, const struct conn *c, uint32_t psn)
{
	struct flow_key k = flow_key_v4(w->from[c->pair].ip, w->to[c->pair].ip, c->qp, KEY_FLOW);
	uint32_t id = flow_find(&w->b.t, &k, w->b.now_ns);
	const struct flow *f = &w->b.t.flows[id];
	int32_t ahead;

	if (w->seen[c->pair][c->qp] == c->peer || id == FLOW_NONE || c->seen_top != 0)
		return false;
	ahead = psn_diff(psn, flow_expected(gauge_get(&f->last)));
	if (ahead == 0 || (ahead < 0 && flow_sends_again(f, psn)))
		return true;
	if (f->acked == FLOW_NONE || ahead > 64)
		return false;
	if (ahead > 0)
		return psn_diff(psn, f->acked) != ahead + 1;
	return psn_diff(psn, f->acked) > 0;
}

static void see_data(struct world *w, struct conn *c, uint64_t packet)
{
	const struct data d = {.from = w->from[c->pair], .to = w->to[c->pair], .qp = c->qp,
			       .psn = psn_add(c->start, packet), .sport = c->sport,
			       .kind = c->reads ? FLOW_READ_RESPONSES : FLOW_DATA,
			       .first = c->reads && packet == c->first};
	uint32_t id;

	if (c->hidden_data || nobody_could_tell(w, c, d.psn))
		return;
	w->truth[c->pair][c->qp] = w->seen[c->pair][c->qp] = c->peer;
	if (packet + 1 > c->seen_top)
		c->seen_top = packet + 1;
	id = bench_data(&w->b, &d);
	w->bytes++;
	w->late_bytes += packet > 2000;
	if (id == FLOW_NONE)
		return;
	check_flow(w, id);
	w->paired_bytes += bench_pair(&w->b, id).source != PAIR_NONE;
	w->late_paired += packet > 2000 && bench_pair(&w->b, id).source != PAIR_NONE;
}

// The receiver asks for some more. False: that was lost.
static bool ask_for(struct world *w, struct conn *c)
{
	uint32_t n = 1 + (w->lock_step ? 3 : below(w, 16));
	const struct answer a = {.from = w->to[c->pair], .to = w->from[c->pair], .qp = c->peer,
				 .psn = psn_add(c->start, c->next), .sport = c->sport,
				 .read_bytes = n * (c->qp % 2 ? 256 : 4096),
				 .role = ROCE_ROLE_READ_REQUEST, .routed = w->routed[c->pair]};

	if (!c->reads || c->next != c->asked)
		return true;
	if (chance(w, w->loss_acks))
		return false;
	if (!c->hidden_acks)
		bench_answer(&w->b, &a);
	check_all(w);
	if (chance(w, w->loss_acks))
		return false;
	c->first = c->next;
	c->asked = c->next + n;
	return true;
}

static void send_one(struct world *w, uint32_t i)
{
	struct conn *c = &w->conns[i];
	uint64_t packet = c->next;

	if (!ask_for(w, c))
		return;
	c->next++;

	if (c->next > c->top)
		c->top = c->next;
	if (chance(w, w->loss_before))
		return;
	see_data(w, c, packet);
	if (chance(w, w->loss_behind))
		return;
	push(w, (struct event){.at_ns = w->b.now_ns + 2000, .conn = i, .life = c->life,
			       .packet = packet, .kind = AT_RECEIVER});
}

static void send_some(struct world *w, uint32_t i)
{
	struct conn *c = &w->conns[i];
	unsigned n = w->lock_step ? 4 : 1 + below(w, c->speed);
	uint64_t timeout_ns = (1 + w->n_conns / 8) * (uint64_t)TIMEOUT_NS;

	if (c->una < c->top && w->b.now_ns - c->moved_ns > timeout_ns) {
		c->next = c->asked = c->una;
		c->moved_ns = w->b.now_ns;
	}
	if (c->una == c->top)
		c->moved_ns = w->b.now_ns;
	while (n-- != 0 && c->next < c->una + 128)
		send_one(w, i);
}

static void answer(struct world *w, uint32_t i, uint64_t packet, bool nak)
{
	struct conn *c = &w->conns[i];
	uint64_t at_ns = w->b.now_ns + 1000;

	c->since_ack = 0;
	if (c->reads) {
		c->una = c->got; // it knows by itself what it has
		c->moved_ns = w->b.now_ns;
		return;
	}
	if (chance(w, w->loss_acks))
		return;
	if (chance(w, w->late_acks))
		at_ns += below(w, 100000);
	push(w, (struct event){.at_ns = at_ns, .conn = i, .life = c->life, .packet = packet,
			       .kind = ANSWER_AT_SWITCH, .nak = nak});
	if (chance(w, w->twice))
		push(w, (struct event){.at_ns = at_ns + 700, .conn = i, .life = c->life,
				       .packet = packet, .kind = ANSWER_AT_SWITCH, .nak = nak});
}

static void receive(struct world *w, const struct event *e)
{
	struct conn *c = &w->conns[e->conn];

	if (e->packet > c->got) {
		if (!c->nak_sent)
			answer(w, e->conn, c->got, true);
		c->nak_sent = true;
		return;
	}
	if (e->packet < c->got) {
		answer(w, e->conn, c->got - 1, false);
		return;
	}
	c->got++;
	c->nak_sent = false;
	if (++c->since_ack >= c->coalesce || below(w, 64) == 0)
		answer(w, e->conn, c->got - 1, false);
}

static void pass_answer(struct world *w, struct event e)
{
	struct conn *c = &w->conns[e.conn];
	const struct answer a = {.from = w->to[c->pair], .to = w->from[c->pair], .qp = c->peer,
				 .psn = psn_add(c->start, e.packet), .sport = c->sport,
				 .role = e.nak ? ROCE_ROLE_NAK : ROCE_ROLE_ACK,
				 .routed = w->routed[c->pair]};

	if (!c->hidden_acks)
		bench_answer(&w->b, &a);
	if (chance(w, w->loss_acks))
		return;
	e.at_ns = w->b.now_ns + 1000;
	e.kind = ANSWER_AT_SENDER;
	push(w, e);
}

static void sender_hears(struct world *w, const struct event *e)
{
	struct conn *c = &w->conns[e->conn];
	uint64_t una = e->nak ? e->packet : e->packet + 1;

	if (una > c->una) {
		c->una = una;
		c->moved_ns = w->b.now_ns;
	}
	if (c->next < c->una)
		c->next = c->una;
	if (e->nak && e->packet >= c->una && e->packet < c->next)
		c->next = e->packet;
}

static void run_events(struct world *w, uint64_t until_ns)
{
	while (w->n_events != 0 && w->heap[0].at_ns <= until_ns) {
		struct event e = pop(w);

		w->b.now_ns = e.at_ns > w->b.now_ns ? e.at_ns : w->b.now_ns;
		if (e.kind == AT_RECEIVER)
			receive(w, &e);
		else if (e.kind == ANSWER_AT_SWITCH)
			pass_answer(w, e);
		else
			sender_hears(w, &e);
		check_all(w);
	}
	w->b.now_ns = until_ns;
}
