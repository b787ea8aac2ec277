// SPDX-License-Identifier: Apache-2.0
// Two NICs at the ends of a virtual wire: the line is full, nothing is lost, a storm stops one
// class.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <rte_mbuf.h>

#include "drivers/nic/nic.h"
#include "drivers/wire/wire.h"
#include "tests/eal.h"

enum { POOL = 4095, N_FLOWS = 6 };
static const uint64_t speed = 40000000000;

struct pair {
	struct vclock clock;
	struct wire *wire;
	struct actor actor[2];
	struct nic *nic[2];
	uint32_t flows[N_FLOWS];
};

static struct rte_mempool *pool;

static uint64_t step(void *arg, uint64_t now_ns)
{
	return nic_step(arg, now_ns);
}

static void pair_up(struct pair *p)
{
	const struct wire_conf conf = {.speed_bps = speed, .delay_ns = 1000};

	vclock_init(&p->clock);
	assert_int_equal(wire_create(&p->clock, &conf, &p->wire), 0);
	for (unsigned i = 0; i < 2; i++) {
		const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(i + 1)};
		struct nic_config c;

		nic_config_default(&c);
		c.ops = &wire_ops;
		c.drv = wire_end(p->wire, i);
		c.pool = pool;
		c.facts = wire_facts(wire_end(p->wire, i), mac);
		c.ip = ip_key_v4(1 + i);
		c.speed_bps = speed;
		c.listen = i == 1;
		c.verify = true;
		c.seed = i;
		assert_int_equal(nic_create(&c, &p->nic[i]), 0);
		actor_init(&p->actor[i], &p->clock, step, p->nic[i]);
		wire_end_attach(wire_end(p->wire, i), &p->actor[i]);
	}
	for (unsigned i = 0; i < N_FLOWS; i++) {
		const struct nic_flow f = {.dst_ip = ip_key_v4(2), .cls = i & 1 ? 5 : 3,
					   .msg_bytes = 65536, .mtu = 1024,
					   .first_psn = NIC_RANDOM_PSN};

		assert_int_equal(nic_flow_add(p->nic[0], &f, &p->flows[i]), 0);
	}
	actor_poke(&p->actor[0]);
}

static void pair_down(struct pair *p)
{
	for (unsigned i = 0; i < 2; i++)
		nic_destroy(p->nic[i]);
	wire_destroy(p->wire);
	vclock_fini(&p->clock);
	assert_int_equal(rte_mempool_avail_count(pool), POOL);
}

static struct nic_stats stats(const struct pair *p, unsigned side)
{
	struct nic_stats s;

	s = *nic_stats_now(p->nic[side]);
	return s;
}

// Link bytes of a class that arrived at side 1.
static uint64_t arrived(const struct pair *p, unsigned cls)
{
	struct nic_stats s = stats(p, 1);

	return s.cls[cls].rx_bytes + s.cls[cls].rx_packets * 24;
}

static void line_is_full_and_nothing_is_lost(void **state)
{
	struct nic_stats a, b;
	struct pair p;
	uint64_t before;

	(void)state;
	pair_up(&p);
	assert_int_equal(vclock_run_until(&p.clock, 1000000), 0);
	before = arrived(&p, 3) + arrived(&p, 5);
	assert_int_equal(vclock_run_until(&p.clock, 11000000), 0);
	// 40 Gb/s for 10 ms are 50 MB.
	assert_in_range(arrived(&p, 3) + arrived(&p, 5) - before, 49950000, 50050000);
	for (unsigned i = 0; i < N_FLOWS; i++)
		nic_flow_stop(p.nic[0], p.flows[i]);
	actor_poke(&p.actor[0]);
	assert_int_equal(vclock_run_until(&p.clock, 20000000), 0);
	a = stats(&p, 0);
	b = stats(&p, 1);
	assert_int_equal(a.messages_posted, a.messages_completed);
	assert_int_equal(a.retransmissions + a.timeouts + b.out_of_sequence + b.payload_errors, 0);
	assert_int_equal(a.cls[3].tx_packets, b.cls[3].rx_packets);
	pair_down(&p);
}

static void storm_over_the_wire_stops_its_class(void **state)
{
	const struct storm_params storm = {.classes = 1u << 3, .quanta = 65535,
					   .start_ns = 2000000, .every_ns = 400000,
					   .for_ns = 2000000};
	struct pair p;
	uint64_t three, five;

	(void)state;
	pair_up(&p);
	nic_storm_start(p.nic[1], &storm);
	actor_poke(&p.actor[1]);
	assert_int_equal(vclock_run_until(&p.clock, 2010000), 0);
	three = arrived(&p, 3);
	five = arrived(&p, 5);
	assert_int_equal(vclock_run_until(&p.clock, 3990000), 0);
	assert_int_equal(arrived(&p, 3), three);
	assert_true(arrived(&p, 5) - five > 9800000); // 1.98 ms at 40 Gb/s are 9.9 MB
	assert_int_equal(vclock_run_until(&p.clock, 5000000), 0);
	assert_true(arrived(&p, 3) - three > 2000000);
	pair_down(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_is_full_and_nothing_is_lost),
		cmocka_unit_test(storm_over_the_wire_stops_its_class),
	};
	char *argv[] = {(char[]){"test"}, (char[]){"--no-huge"}, (char[]){"--no-shconf"},
			(char[]){"--no-pci"}, (char[]){"--no-telemetry"}, (char[]){"-m"},
			(char[]){"64"}, (char[]){"--log-level=4"}};

	if (eal_init_unbound(8, argv) < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("wire", POOL, 0, 0, 4096 + 512, 0);
	if (pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
