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

#include "tests/unit/roce/pairing_sim.h"

// ---- lies, from a port that is not the receiver's

static void forge_cm(struct world *w, uint32_t pair)
{
	struct end from = w->from[pair], to = w->to[pair];
	struct cm_msg m = {.attr = CM_REQ, .mtu = 1024};

	from.port = to.port = 200;
	if (chance(w, 512))
		from.port = w->from[pair].port;
	m.local_id = below(w, 4);
	m.qpn = chance(w, 512) ? below(w, 64) : w->conns[below(w, w->n_conns)].peer;
	bench_cm(&w->b, from, w->to[pair], &m);
	m = (struct cm_msg){.attr = CM_REP, .local_id = 7, .remote_id = m.local_id};
	m.qpn = w->conns[below(w, w->n_conns)].qp;
	m.psn = below(w, PSN_MASK);
	bench_cm(&w->b, to, w->from[pair], &m);
}

// From the true port, as a broken host sends it: cut short, with a turned PSN, or anything.
static void mangle_cm(struct world *w, const struct conn *c)
{
	const struct cm_msg m = {.attr = chance(w, 512) ? CM_REQ : CM_REP, .local_id = below(w, 8),
				 .remote_id = 8 + below(w, 8), .qpn = c->qp,
				 .psn = below(w, PSN_MASK + 1)};
	struct answer a = {.from = w->to[c->pair], .to = w->from[c->pair], .qp = CM_QP,
			   .role = ROCE_ROLE_MANAGEMENT, .mad_len = 1 + below(w, CM_MAD_LEN)};

	cm_build(a.mad, &m);
	for (unsigned n = below(w, 16); n != 0; n--)
		a.mad[16 + below(w, 60)] ^= (uint8_t)(1 + below(w, 255));
	bench_answer(&w->b, &a);
}

// Addresses that nobody has.
static void forge_flow(struct world *w)
{
	struct data d = {.to = w->to[0], .kind = FLOW_DATA};

	d.from.ip = 0xac100000 + below(w, 1 << 16);
	d.qp = below(w, MAX_QP);
	bench_data(&w->b, &d);
}

static void forge_answers(struct world *w, const struct conn *c)
{
	static const uint8_t roles[] = {ROCE_ROLE_ACK, ROCE_ROLE_ACK, ROCE_ROLE_CNP,
					ROCE_ROLE_READ_REQUEST};
	struct answer a = {.from = w->to[c->pair], .to = w->from[c->pair], .qp = c->peer,
			   .routed = w->routed[c->pair]};

	a.from.port = 201;
	a.role = roles[below(w, 4)];
	if (chance(w, 512))
		a.qp = below(w, 64);
	a.psn = psn_add(c->start, c->seen_top + below(w, 32));
	for (unsigned n = below(w, 8); n != 0; n--, a.psn = psn_add(a.psn, 1))
		bench_answer(&w->b, &a);
}

static void forge(struct world *w)
{
	const struct conn *c = &w->conns[below(w, w->n_conns)];
	uint32_t what = below(w, 11);

	if (what == 10)
		mangle_cm(w, c);
	else if (what < 2)
		forge_cm(w, c->pair);
	else if (what < 3)
		forge_flow(w);
	else
		forge_answers(w, c);
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
		uint32_t cm_id = c->qp << 8 | (c->life & 0xff);
		const struct cm_msg dreq = {.attr = CM_DREQ, .local_id = cm_id,
					    .remote_id = ~cm_id, .qpn = c->qp};

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
	assert_true(paired * 10 > bytes || last_seed - first_seed < 50);
}

// n queue pairs between two addresses, all from PSN 0, one ACK for 16 packets, some of them lost.
// Returns the share of packets whose flow had its pair, in 1/1000, of the second half of `each`
// rounds.
static uint32_t share_of(struct world *w, uint32_t n, bool lock_step, uint32_t each)
{
	uint64_t paired = 0, all = 0;

	memset(w, 0, sizeof(*w));
	rng_init(&w->rng, n);
	w->from_zero = true;
	w->lock_step = lock_step;
	w->loss_acks = 5;
	w->n_pairs = 1;
	w->from[0] = (struct end){.ip = 0x0a000001, .port = 0};
	w->to[0] = (struct end){.ip = 0x0a000101, .port = 100};
	bench_open(&w->b, 4096, 0, 1);
	w->n_conns = n;
	for (uint32_t i = 0; i < n; i++) {
		w->conns[i] = (struct conn){.qp = 16 + i, .peer = 3000 + i};
		open_conn(w, &w->conns[i]);
		w->conns[i].coalesce = 16;
	}
	for (uint32_t s = 0; s < each * n; s++) {
		if (s == each * n / 2) {
			paired = w->paired_bytes;
			all = w->bytes;
		}
		send_some(w, lock_step ? s % n : below(w, n));
		run_events(w, w->b.now_ns + 300);
	}
	bench_close(&w->b);
	return (uint32_t)((w->paired_bytes - paired) * 1000 / (w->bytes - all));
}

static void flows_of_different_rates_are_paired(void **state)
{
	static const struct {
		uint32_t n, each, least;
		bool lock_step;
	} t[] = {{1, 60, 990, false},  {4, 100, 950, false}, {16, 200, 950, false},
		 {64, 400, 950, false}, {1, 60, 990, true},   {4, 400, 0, true},
		 {16, 400, 0, true}};
	struct world *w = malloc(sizeof(*w));

	(void)state;
	assert_non_null(w);
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint32_t share = share_of(w, t[i].n, t[i].lock_step, t[i].each);

		print_message("%u queue pairs%s: %u of 1000 packets\n", t[i].n,
			      t[i].lock_step ? " in lock step" : "", share);
		assert_in_range(share, t[i].least, 1000);
	}
	free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_flow_ever_has_a_pair_that_is_not_its_own),
		cmocka_unit_test(flows_of_different_rates_are_paired),
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
