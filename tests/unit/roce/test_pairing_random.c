// SPDX-License-Identifier: Apache-2.0
// Hosts that talk over a switch, with the truth at hand: who is connected with whom. Packets and
// answers are lost, held up, overtaken, coalesced and made up; queue pairs are closed and used
// anew, crosswise; flows age, the table is too small, paths are one-sided. After each step no flow
// may have a pair that is not its own.
//
//   test_roce_pairing_random [--seeds FIRST-LAST]
//
// What is left out, because nobody in the middle of a network could tell:
//   - a queue pair that is used anew while packets or answers of its former life are on their way
//     (the standard's time wait forbids it);
//   - one whose new PSNs go on exactly where the old ones stood, or among those that nobody has
//     acknowledged (one in 2^24 times the window).
#include <stdio.h>

#include "dataplane/rng.h"
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
	const struct cm_msg req = {.attr = CM_REQ, .local_id = id, .qpn = c->peer, .psn = c->start,
				   .mtu = 1024};
	const struct cm_msg rep = {.attr = CM_REP, .local_id = ~id, .remote_id = id, .qpn = c->qp,
				   .psn = 77};
	bool late = chance(w, w->late_acks);

	if (!late && !chance(w, w->loss_acks))
		bench_cm(&w->b, from, to, &req);
	if (chance(w, w->loss_acks))
		return;
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
	if (ahead == 0)
		return true;
	if (f->acked == FLOW_NONE || psn_diff(psn, f->acked) <= 0)
		return false;
	return ahead < 0 || (ahead < FLOW_JUMP && psn_diff(psn, f->acked) != ahead + 1);
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
	const struct answer a = {.from = w->to[c->pair], .to = w->from[c->pair], .qp = c->peer,
				 .psn = psn_add(c->start, c->next), .sport = c->sport,
				 .role = ROCE_ROLE_READ_REQUEST, .routed = w->routed[c->pair]};

	if (c->reads && c->next == c->asked) {
		if (chance(w, w->loss_acks))
			return false;
		if (!c->hidden_acks)
			bench_answer(&w->b, &a);
		check_all(w);
		if (chance(w, w->loss_acks))
			return false;
		c->first = c->next;
		c->asked = c->next + 1 + (w->lock_step ? 3 : below(w, 16));
	}
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

	if (c->una < c->top && w->b.now_ns - c->moved_ns > (1 + w->n_conns / 8) * (uint64_t)TIMEOUT_NS) {
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

// ---- lies, from a port that is not the receiver's

static void forge_cm(struct world *w, uint32_t pair)
{
	struct end from = w->from[pair], to = w->to[pair];
	uint32_t qp = w->conns[below(w, w->n_conns)].qp;
	struct cm_msg m = {.attr = CM_REQ, .local_id = below(w, 4), .qpn = below(w, 64), .mtu = 1024};

	from.port = to.port = 200;
	if (chance(w, 512))
		from.port = w->from[pair].port;
	if (chance(w, 512))
		m.qpn = w->conns[below(w, w->n_conns)].peer;
	bench_cm(&w->b, from, w->to[pair], &m);
	m = (struct cm_msg){.attr = CM_REP, .local_id = 7, .remote_id = m.local_id, .qpn = qp,
			    .psn = below(w, PSN_MASK)};
	bench_cm(&w->b, to, w->from[pair], &m);
}

static void forge(struct world *w)
{
	const struct conn *c = &w->conns[below(w, w->n_conns)];
	struct answer a = {.from = w->to[c->pair], .to = w->from[c->pair],
			   .qp = chance(w, 512) ? c->peer : below(w, 64),
			   .psn = psn_add(c->start, c->seen_top + below(w, 32)),
			   .role = chance(w, 600)	 ? ROCE_ROLE_ACK
				   : chance(w, 500) ? ROCE_ROLE_CNP
						    : ROCE_ROLE_READ_REQUEST,
			   .routed = w->routed[c->pair]};
	struct data d = {.from = w->from[c->pair], .to = w->to[c->pair], .kind = FLOW_DATA};

	if (chance(w, 200)) {
		forge_cm(w, c->pair);
	} else if (chance(w, 100)) {
		// Addresses that nobody has.
		d.from.ip = 0xac100000 + below(w, 1 << 16);
		d.qp = below(w, MAX_QP);
		bench_data(&w->b, &d);
	} else {
		a.from.port = 201;
		for (unsigned n = below(w, 8); n != 0; n--, a.psn = psn_add(a.psn, 1))
			bench_answer(&w->b, &a);
	}
	check_all(w);
}

// ---- a world

static void make_conns(struct world *w, uint32_t most)
{
	for (uint32_t i = 0; i < w->n_pairs; i++) {
		uint32_t n = 1 + below(w, most);

		w->from[i] = (struct end){.ip = 0x0a000001 + i, .port = (uint8_t)i};
		w->to[i] = (struct end){.ip = 0x0a000101 + i, .port = (uint8_t)(100 + i)};
		w->routed[i] = chance(w, 300);
		for (uint32_t j = 0; j < n && w->n_conns < MAX_CONNS; j++) {
			struct conn *c = &w->conns[w->n_conns++];

			c->pair = i;
			c->qp = 16 + j;
			c->peer = 1000 + 7 * j;
			c->cm = chance(w, w->by_cm);
			c->reads = chance(w, w->by_reads);
			c->hidden_data = w->routed[i] && chance(w, 200);
			c->hidden_acks = w->routed[i] && chance(w, 200);
			open_conn(w, c);
		}
	}
}

static void set_troubles(struct world *w)
{
	static const uint32_t rates[] = {0, 0, 0, 1, 5, 20, 100};
	uint32_t *const all[] = {&w->loss_before, &w->loss_behind, &w->loss_acks, &w->late_acks,
				 &w->close, &w->forge, &w->twice};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		*all[i] = rates[below(w, 7)];
	w->from_zero = chance(w, 600);
	w->lock_step = chance(w, 200);
	w->sport = chance(w, 700);
	w->ages = chance(w, 300);
	w->by_cm = chance(w, 300) ? 512 : 0;
	w->by_reads = chance(w, 300) ? 1 + below(w, 1024) : 0;
}

static void step(struct world *w, uint32_t i)
{
	struct conn *c = &w->conns[i];

	if (c->open && chance(w, w->close)) {
		const struct cm_msg dreq = {.attr = CM_DREQ, .local_id = c->qp << 8 | (c->life & 0xff),
					    .remote_id = ~(c->qp << 8 | (c->life & 0xff)),
					    .qpn = c->qp};

		c->open = false;
		c->idle_ns = w->b.now_ns;
		if (c->cm && chance(w, 700))
			bench_cm(&w->b, w->from[c->pair], w->to[c->pair], &dreq);
	}
	if (c->open)
		send_some(w, i);
	else
		reopen(w, i);
	if (chance(w, w->forge))
		forge(w);
}

// Some rest: flows age, while others go on.
static void rest(struct world *w)
{
	if (!w->ages || !chance(w, 20))
		return;
	run_events(w, w->b.now_ns + 2000000 + below(w, 4000000));
	bench_age(&w->b);
	check_all(w);
}

static void run_world(struct world *w, uint64_t seed, uint32_t steps)
{
	static const uint32_t most[] = {2, 4, 16, 64, 64};
	uint32_t size;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	rng_init(&w->rng, seed);
	w->n_pairs = 1 + below(w, MAX_PAIRS);
	size = chance(w, 800) ? 4096 : 16;
	bench_open(&w->b, size, 5000000, rng_next(&w->rng));
	set_troubles(w);
	make_conns(w, most[below(w, 5)]);
	for (uint32_t s = 0; s < steps; s++) {
		if (w->lock_step)
			step(w, s % w->n_conns);
		else
			step(w, below(w, w->n_conns));
		run_events(w, w->b.now_ns + 200 + below(w, 2000));
		bench_age(&w->b);
		rest(w);
	}
	bench_close(&w->b);
}

static uint64_t first_seed = 1, last_seed = 150;

static void no_flow_ever_has_a_pair_that_is_not_its_own(void **state)
{
	struct world *w = malloc(sizeof(*w));
	uint64_t bytes = 0, paired = 0;

	(void)state;
	assert_non_null(w);
	for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
		run_world(w, seed, 3000);
		bytes += w->bytes;
		paired += w->paired_bytes;
	}
	print_message("paired: %llu of %llu packets, whatever went wrong\n",
		      (unsigned long long)paired, (unsigned long long)bytes);
	free(w);
	assert_true(paired * 10 > bytes);
}

// Nothing goes wrong; n queue pairs between two addresses. Returns the share of packets whose flow
// had its pair, in 1/1000, of those after the first `from` of a flow.
static uint32_t share_of(struct world *w, uint32_t n, bool lock_step, uint32_t loss_acks,
			 uint32_t each)
{
	uint64_t paired = 0, all = 0;

	memset(w, 0, sizeof(*w));
	rng_init(&w->rng, n);
	w->from_zero = true;
	w->lock_step = lock_step;
	w->loss_acks = loss_acks;
	w->n_pairs = 1;
	w->from[0] = (struct end){.ip = 0x0a000001, .port = 0};
	w->to[0] = (struct end){.ip = 0x0a000101, .port = 100};
	bench_open(&w->b, 4096, 0, 1);
	for (uint32_t i = 0; i < n; i++) {
		w->conns[i] = (struct conn){.qp = 16 + i, .peer = 3000 + i};
		w->n_conns++;
		open_conn(w, &w->conns[i]);
		w->conns[i].coalesce = 16;
	}
	for (uint32_t s = 0; s < each * n; s++) {
		uint64_t before = w->paired_bytes, bytes = w->bytes;

		send_some(w, lock_step ? s % n : below(w, n));
		run_events(w, w->b.now_ns + 300);
		if (0)
			print_message("n %u step %u: paired %llu of %u\n", n, s, (unsigned long long)gauge_get(&pairing_counters(w->b.p)->n_paired), n);
		if (s > n * each / 2) {
			paired += w->paired_bytes - before;
			all += w->bytes - bytes;
		}
	}
	{ const struct pairing_counters*c=pairing_counters(w->b.p);
	print_message("m %lu el %lu wp %lu dj %lu da %lu dr %lu age %lu paired %lu crowd %lu now %lu %s rew %lu gaps %lu\n",ctr_get(&c->matches),ctr_get(&c->eliminations),ctr_get(&c->wrong_port),ctr_get(&c->dropped_jump),ctr_get(&c->dropped_ack),ctr_get(&c->dropped_rival),ctr_get(&c->dropped_age),ctr_get(&c->paired[PAIR_ACK]), ctr_get(&c->crowded),gauge_get(&c->n_paired), pairing_reason(w->b.p, 0), ctr_get(&w->b.t.flows[0].rewinds), ctr_get(&w->b.t.flows[0].gaps)); }
	bench_close(&w->b);
	return all == 0 ? 0 : (uint32_t)(paired * 1000 / all);
}

static void shares(void **state)
{
	struct world *w = malloc(sizeof(*w));
	(void)state;
	for (unsigned lock = 0; lock < 2; lock++)
	for (uint32_t n = 1; n <= 1024; n *= 4)
		print_message("n %u lock %u: %u\n", n, lock, share_of(w, n, lock, 0, n >= 256 ? 100 : 400));
	free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_flow_ever_has_a_pair_that_is_not_its_own),
		cmocka_unit_test(shares),
	};
	unsigned long long first, last;

	if (argc == 3 && strcmp(argv[1], "--seeds") == 0 &&
	    sscanf(argv[2], "%llu-%llu", &first, &last) == 2) {
		first_seed = first;
		last_seed = last;
	} else if (argc != 1) {
		fprintf(stderr, "usage: %s [--seeds FIRST-LAST]\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests_name("pairing_random", tests, NULL, NULL);
}
