// SPDX-License-Identifier: Apache-2.0
// Random schedules on the virtual wire: traffic of all classes and sizes, pauses, TX-disable, links
// down and up. However it goes: the balance is exact (bench_close), nothing is stuck, and no
// lossless frame is lost while every host obeys PFC. Replay one schedule with `lab_random SEED`.
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

#include <stdlib.h>

#include "dataplane/rng.h"

enum { SEEDS = 30, EVENTS = 150, PORTS = 5 };

static uint64_t only_seed;

struct script {
	struct rng rng;
	bool silent; // sources stop
};

static unsigned pick(struct script *s, unsigned n)
{
	return rng_next(&s->rng) % n;
}

static bool traffic(struct bench_host *h, struct bench_frame *out)
{
	struct script *s = h->source_arg;

	if (s->silent)
		return false;
	*out = (struct bench_frame){
		.to = pick(s, 4) == 0 ? pick(s, PORTS + 1) : PORTS - 1,
		.dscp = (uint8_t)pick(s, 64),
		.ecn = (uint8_t)pick(s, 4),
		.len = (uint16_t)(80 + pick(s, pick(s, 2) ? 1430 : 200)),
		.tagged = pick(s, 10) == 0,
		.vid = 7,
		.ipv6 = pick(s, 3) == 0,
		.broadcast = pick(s, 50) == 0,
	};
	return true;
}

static void random_event(struct bench *b, struct script *s, bool links)
{
	unsigned port = pick(s, PORTS);

	switch (pick(s, 8)) {
	case 0:
		bench_pause(b, port, (uint8_t)rng_next(&s->rng), (uint16_t)pick(s, 65536));
		break;
	case 1:
		bench_pause(b, port, 0xff, 0);
		break;
	case 2:
		bench_tx(b, port, pick(s, 2) ? -1 : (int)pick(s, 8), pick(s, 2));
		break;
	case 3:
		wire_set_up(b->host[port].wire, !links || pick(s, 3) != 0);
		break;
	case 4:
		bench_control(b);
		b->n_events = 0;
		actor_poke(&b->actor);
		break;
	default:
		bench_run(b, pick(s, 200000));
	}
}

static void everything_on(struct bench *b, struct script *s)
{
	s->silent = true;
	for (unsigned p = 0; p < PORTS; p++) {
		wire_set_up(b->host[p].wire, true);
		bench_tx(b, p, -1, true);
		for (int q = 0; q < 8; q++)
			bench_tx(b, p, q, true);
	}
	for (unsigned i = 0; i < 5; i++) {
		bench_run(b, 200000000);
		bench_control(b);
		b->n_events = 0;
		actor_poke(&b->actor);
	}
	bench_run(b, 1000000);
}

static void nothing_is_left(const struct bench *b, uint64_t seed)
{
	uint64_t lost = seed % 2 ? 0 : bench_drops(b, DROP_HEADROOM);
	uint64_t used = 0;

	for (unsigned p = 0; p < PORTS; p++)
		for (unsigned g = 0; g < 8; g++)
			used += pg_used(switch_pg_state(b->sw, p, g)) +
				pg_in_xoff(switch_pg_state(b->sw, p, g));
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		used += switch_pool(b->sw, pool).used;
	if (used != 0 || switch_balance(b->sw).queued != 0 || lost != 0)
		fail_msg("seed %lu: %lu cells in use, %lu frames queued, %lu lossless drops; "
			 "replay: "
			 "lab_random %lu",
			 seed, used, switch_balance(b->sw).queued, lost, seed);
	for (unsigned p = 0; p < PORTS; p++)
		assert_int_equal(switch_pfc_tx(b->sw, p)->paused, 0);
}

static void run_schedule(uint64_t seed)
{
	static const char classes[] =
		"      3: {lossless: true, ingress: {alpha: 1/16}, wred: {ecn: on, kmin: 20KB, "
		"kmax: "
		"200KB, pmax: 10%}}\n"
		"      5: {lossless: true, ingress: {min: 3KB, alpha: 1/4}}\n"
		"      1: {egress: {alpha: 1/8}, wred: {ecn: on, kmin: 5KB, kmax: 50KB, pmax: 50%, "
		"mark_at: enqueue, weight: 3}}\n"
		"      6: {schedule: strict, max_rate: 1G}\n";
	struct bench *b = bench_open(lab_yaml(PORTS, "10G", "", "", classes), seed % 3000);
	struct script s = {0};

	rng_init(&s.rng, seed);
	for (unsigned p = 0; p < PORTS; p++) {
		b->host[p].source = traffic;
		b->host[p].source_arg = &s;
		actor_poke(&b->host[p].actor);
	}
	for (unsigned i = 0; i < EVENTS; i++)
		random_event(b, &s, seed % 2);
	everything_on(b, &s);
	nothing_is_left(b, seed);
	bench_close(b);
}

static void random_schedules_end_balanced_with_nothing_stuck(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		if (only_seed == 0 || only_seed == seed)
			run_schedule(seed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_schedules_end_balanced_with_nothing_stuck),
	};

	if (argc > 1)
		only_seed = strtoull(argv[1], NULL, 10);
	return cmocka_run_group_tests_name("random", tests, bench_eal, NULL);
}
