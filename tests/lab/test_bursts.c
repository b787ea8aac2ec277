// SPDX-License-Identifier: Apache-2.0
// What is done to a burst as a whole must be what would have been done to its frames one by one.
#include "dataplane/policy.h"
#include "tests/lab/rig.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/config/config.h"
#include "dataplane/base/rng.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/switch_zones.h"
#include "dataplane/worker.h"

// ---- into the queue

static const char *const policies[] = {
	"      3: {lossless: true, ingress: {alpha: 1, headroom: 20KB}}\n",
	"      3: {lossless: true, ingress: {min: 5KB, alpha: 1/4, headroom: 20KB}}\n"
	"      0: {egress: {min: 3KB, alpha: 1/8}}\n"
	"      1: {ingress: {min: 2KB, static: 30KB}, egress: {min: 9KB, static: 40KB}}\n",
	"      3: {lossless: true, ingress: {min: 20KB, static: 150KB, headroom: 20KB}}\n"
	"      0: {ingress: {static: 900KB}, egress: {alpha: 2}}\n"
	"      1: {ingress: {min: 7KB, alpha: 8}, egress: {static: 900KB}}\n",
	"      3: {lossless: true, ingress: {static: 10KB, headroom: 20KB}}\n"
	"      0: {ingress: {alpha: 128}, egress: {alpha: 1/2}}\n"
	"      1: {ingress: {alpha: 128}, egress: {alpha: 1}}\n",
};

enum { POLICIES = sizeof(policies) / sizeof(policies[0]), ROUNDS = 240 };

static void expect_same_group(const struct rig *a, const struct rig *b, unsigned port, unsigned g)
{
	const struct pg_state *x = switch_pg_state(a->sw, port, g);
	const struct pg_state *y = switch_pg_state(b->sw, port, g);

	assert_int_equal(gauge_get(&x->min_used), gauge_get(&y->min_used));
	assert_int_equal(gauge_get(&x->shared), gauge_get(&y->shared));
	assert_int_equal(gauge_get(&x->headroom), gauge_get(&y->headroom));
	assert_int_equal(pg_in_xoff(x), pg_in_xoff(y));
	for (unsigned reason = 0; reason < N_DROP_REASONS; reason++)
		assert_int_equal(ctr_get(&switch_drops(a->sw, port, g, reason)->packets),
				 ctr_get(&switch_drops(b->sw, port, g, reason)->packets));
}

static void expect_same(const struct rig *a, const struct rig *b)
{
	for (unsigned g = 0; g < N_PGS; g++) {
		for (unsigned port = 0; port < PORTS; port++)
			expect_same_group(a, b, port, g);
		assert_int_equal(
			gauge_get(&switch_queue_counters(a->sw, OUT, g)->length_bytes),
			gauge_get(&switch_queue_counters(b->sw, OUT, g)->length_bytes));
	}
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		assert_int_equal(switch_pool(a->sw, pool).used, switch_pool(b->sw, pool).used);
}

static struct bench_frame some_frame(struct rng *rng, const struct bench_frame *last)
{
	static const uint8_t dscps[] = {24, 24, 0, 8}; // classes 3, 0 and 1
	static const uint16_t lens[] = {64, 256, 257, 700, 1514};
	struct bench_frame f = {.to = OUT, .dscp = last->dscp, .ecn = rng_next(rng) % 4,
				.len = lens[rng_next(rng) % 5]};

	if (rng_next(rng) % 8 == 0 || last->len == 0)
		f.dscp = dscps[rng_next(rng) % 4];
	return f;
}

// The same frames, to one switch in a burst and to the other one by one.
static void one_burst(struct rig *at_once, struct rig *one_by_one, struct rng *rng)
{
	unsigned from = rng_next(rng) % OUT, n = 1 + rng_next(rng) % MOST;
	struct bench_frame f = {0};

	for (unsigned i = 0; i < n; i++) {
		f = some_frame(rng, &f);
		rig_arrive(at_once, from, &f);
		rig_arrive(one_by_one, from, &f);
		rig_step(one_by_one);
	}
	rig_step(at_once);
}

// Some of what stands leaves, the same from both.
static void some_leave(struct rig *a, struct rig *b, struct rng *rng)
{
	int32_t room = (int32_t)(rng_next(rng) % 40000);

	a->port[OUT].room = b->port[OUT].room = room;
	a->now_ns += 100000;
	b->now_ns += 100000;
	rig_tx(a, true);
	rig_tx(b, true);
	rig_tx(a, false);
	rig_tx(b, false);
	assert_int_equal(a->port[OUT].n_sent, b->port[OUT].n_sent);
}

static void expect_empty(const struct rig *r)
{
	for (unsigned port = 0; port < PORTS; port++)
		for (unsigned g = 0; g < N_PGS; g++)
			assert_int_equal(pg_used(switch_pg_state(r->sw, port, g)), 0);
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		assert_int_equal(switch_pool(r->sw, pool).used, 0);
	assert_int_equal(switch_balance(r->sw).queued, 0);
}

static void expect_order(const struct rig_port *p)
{
	uint32_t last[PORTS + 1][N_CLASSES] = {{0}};

	for (unsigned i = 0; i < p->n_sent; i++) {
		const struct sent *s = &p->sent[i];

		assert_true(s->seq >= last[s->from][s->cls]);
		last[s->from][s->cls] = s->seq + 1;
	}
}

static void drain(struct rig *r)
{
	uint64_t dropped = switch_balance(r->sw).dropped;

	r->port[OUT].room = AMPLE;
	rig_tx(r, true);
	for (unsigned i = 0; i < 10000 && switch_balance(r->sw).queued != 0; i++) {
		r->now_ns += 1000;
		rig_step(r);
	}
	expect_empty(r);
	assert_int_equal(r->port[OUT].n_sent + dropped, r->seq);
	expect_order(&r->port[OUT]);
}

static void a_burst_is_charged_as_its_frames_one_by_one(void **state)
{
	const struct port_facts facts = {.shaper_burst_ns = 100000};
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	for (unsigned i = 0; i < 4 * POLICIES; i++) {
		const char *yaml = rig_small_buffer(policies[i % POLICIES]);
		struct rig *at_once = rig_open(yaml, &facts, false);
		struct rig *one_by_one = rig_open(yaml, &facts, false);

		rig_tx(at_once, false);
		rig_tx(one_by_one, false);
		for (unsigned n = 0; n < ROUNDS; n++) {
			one_burst(at_once, one_by_one, &rng);
			if (rng_next(&rng) % 4 == 0)
				some_leave(at_once, one_by_one, &rng);
			expect_same(at_once, one_by_one);
		}
		assert_true(switch_balance(at_once->sw).dropped > 10);
		drain(at_once);
		drain(one_by_one);
		rig_close(at_once);
		rig_close(one_by_one);
	}
}

// ---- out of the queue

static const char two_equal[] = "      0: {schedule: {dwrr: 1}}\n      1: {schedule: {dwrr: 1}}\n";

static void a_driver_gets_what_it_has_room_for_and_no_more(void **state)
{
	const struct port_facts facts = {.shaper_burst_ns = 1000000};

	(void)state;
	for (int32_t room = 100; room < 12000; room += 97) {
		struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", two_equal), &facts, false);

		rig_tx(r, false);
		rig_stand(r, 0, 700, 20);
		r->port[OUT].room = room;
		rig_tx(r, true);
		assert_int_equal(r->port[OUT].n_sent, room / 700);
		r->port[OUT].room = AMPLE;
		rig_step(r);
		assert_int_equal(r->port[OUT].n_sent, 20);
		rig_close(r);
	}
}

// Each loop is late by 8 ms, the time of 19.7 frames, and the last one by 100 ms.
static void a_slow_port_keeps_its_rate_when_the_loop_is_late(void **state)
{
	enum { LEN = 1500, LATE_NS = 8000000, LOOPS = 10, MOST_LATE_NS = 10000000 };
	const struct port_facts facts = {.shaper_burst_ns = 200000, .shaper_late_ns = MOST_LATE_NS};
	const uint64_t frame_ns = (LEN + 24) * 8000ull / 30;
	struct rig *r = rig_open(lab_yaml(PORTS, "30M", "", "", two_equal), &facts, false);
	uint64_t start_ns;
	unsigned sent;

	(void)state;
	rig_tx(r, false);
	for (unsigned i = 0; i < 10; i++)
		rig_stand(r, 0, LEN, MOST);
	// What the port may send after a silence is sent.
	rig_tx(r, true);
	start_ns = r->now_ns;
	sent = r->port[OUT].n_sent;
	for (unsigned i = 1; i <= LOOPS; i++) {
		r->now_ns = start_ns + (uint64_t)i * LATE_NS;
		rig_step(r);
		assert_in_range((r->port[OUT].n_sent - sent) * frame_ns, i * LATE_NS - frame_ns,
				i * LATE_NS + frame_ns);
	}
	sent = r->port[OUT].n_sent;
	r->now_ns += 100000000;
	rig_step(r);
	assert_in_range(r->port[OUT].n_sent - sent, 1, MOST_LATE_NS / frame_ns + 1);
	rig_close(r);
}

static void a_driver_gets_no_longer_burst_than_it_takes(void **state)
{
	const struct port_facts facts = {.shaper_burst_ns = 1000000, .tx_burst = 5};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", two_equal), &facts, false);

	(void)state;
	rig_tx(r, false);
	rig_stand(r, 0, 100, 23);
	rig_tx(r, true);
	assert_int_equal(r->port[OUT].n_sent, 23);
	assert_int_equal(r->port[OUT].most_at_once, 5);
	rig_close(r);
}

static void the_speed_of_a_port_holds_however_much_its_driver_takes(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", two_equal), &facts, false);

	(void)state;
	rig_tx(r, false);
	rig_stand(r, 0, 1000 - LINK_OVERHEAD_BYTES, 10);
	rig_tx(r, true);
	for (unsigned n = 1; n <= 10; n++) {
		assert_int_equal(r->port[OUT].n_sent, n);
		r->now_ns += 798; // 1000 B take 800 ns; what is less than one may be saved
		rig_step(r);
		assert_int_equal(r->port[OUT].n_sent, n);
		r->now_ns += 2;
		rig_step(r);
	}
	rig_close(r);
}

// A turn is one frame limit of 1522 B here: two frames, three where some was left.
static void queues_take_turns_within_a_burst(void **state)
{
	const struct port_facts facts = {.shaper_burst_ns = 1000000};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", two_equal), &facts, false);
	const struct sent *s = r->port[OUT].sent;

	(void)state;
	rig_tx(r, false);
	rig_stand(r, 0, 700, 32);
	rig_stand(r, 1, 700, 32);
	rig_tx(r, true);
	assert_int_equal(r->port[OUT].n_sent, MOST);
	for (unsigned i = 3; i < MOST; i++)
		assert_false(s[i].cls == s[i - 1].cls && s[i].cls == s[i - 2].cls &&
			     s[i].cls == s[i - 3].cls);
	rig_close(r);
}

static void a_strict_class_breaks_into_a_turn(void **state)
{
	static const char classes[] = "      0: {schedule: {dwrr: 1}}\n"
				      "      6: {schedule: strict}\n";
	const struct port_facts facts = {.shaper_burst_ns = 1000000};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", classes), &facts, false);

	(void)state;
	r->port[OUT].room = 64;
	rig_stand(r, 0, 64, 10);
	assert_int_equal(r->port[OUT].n_sent, 1); // of a turn of 1522 B
	rig_stand(r, 6, 64, 2);
	r->port[OUT].room = AMPLE;
	rig_step(r);
	assert_int_equal(r->port[OUT].n_sent, 12);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(r->port[OUT].sent[i].cls, i == 1 || i == 2 ? 6 : 0);
	rig_close(r);
}

// How classes leave: by turns of several frames, by rate, strict; with marks of every kind.
static const char *const departures[] = {
	"      3: {lossless: true, schedule: {dwrr: 3}, wred: {ecn: on, kmin: 20KB, kmax: 60KB,"
	" pmax: 50%, mark_at: dequeue}}\n"
	"      0: {schedule: {dwrr: 1}, wred: {ecn: on, kmin: 5KB, kmax: 30KB, pmax: 20%,"
	" weight: 3, mark_at: dequeue}}\n"
	"      1: {schedule: {dwrr: 2}}\n",
	"      3: {lossless: true, schedule: {dwrr: 3}, wred: {ecn: on, kmin: 30KB, kmax: 31KB,"
	" pmax: 100%, mark_at: dequeue}}\n"
	"      0: {schedule: {dwrr: 1}, wred: {ecn: on, kmin: 5KB, kmax: 50KB, pmax: 50%,"
	" not_ect: drop, mark_at: dequeue}}\n"
	"      1: {schedule: strict}\n",
	"      3: {lossless: true, schedule: {dwrr: 1}, wred: {ecn: on, kmin: 9KB, kmax: 40KB,"
	" pmax: 30%, mark_at: enqueue}}\n"
	"      0: {schedule: {dwrr: 1}, max_rate: 400M}\n"
	"      1: {schedule: {dwrr: 4}, min_rate: 400M}\n",
};

static uint64_t marked(const struct rig *r)
{
	uint64_t n = 0;

	for (unsigned q = 0; q < N_QUEUES; q++)
		n += ctr_get(&switch_queue_counters(r->sw, OUT, q)->ecn_marked);
	return n;
}

// A driver that takes one frame at a time forms no runs.
static void a_burst_leaves_as_its_frames_one_by_one(void **state)
{
	static const unsigned n_departures = sizeof(departures) / sizeof(departures[0]);
	const struct port_facts many = {.shaper_burst_ns = 100000};
	const struct port_facts one = {.shaper_burst_ns = 100000, .tx_burst = 1};
	struct rng rng;

	(void)state;
	rng_init(&rng, 12);
	for (unsigned i = 0; i < 4 * n_departures; i++) {
		const char *yaml = rig_small_buffer(departures[i % n_departures]);
		struct rig *at_once = rig_open(yaml, &many, false);
		struct rig *one_by_one = rig_open(yaml, &one, false);

		rig_tx(at_once, false);
		rig_tx(one_by_one, false);
		for (unsigned n = 0; n < ROUNDS; n++) {
			one_burst(at_once, one_by_one, &rng);
			if (rng_next(&rng) % 3 != 0)
				continue;
			some_leave(at_once, one_by_one, &rng);
			expect_same(at_once, one_by_one);
		}
		assert_memory_equal(at_once->port[OUT].sent, one_by_one->port[OUT].sent,
				    at_once->port[OUT].n_sent * sizeof(struct sent));
		assert_true(marked(at_once) > 10);
		assert_int_equal(marked(at_once), marked(one_by_one));
		assert_true(at_once->port[OUT].most_at_once > 10);
		drain(at_once);
		drain(one_by_one);
		rig_close(at_once);
		rig_close(one_by_one);
	}
}

// ---- what others hold

static const char *two_workers(const char *size, const char *headroom)
{
	static char text[4096];
	char classes[256];

	snprintf(classes, sizeof(classes),
		 "      3: {lossless: true, ingress: {static: 100KB, headroom: %s}}\n"
		 "      0: {ingress: {static: 7MB}, egress: {static: 7MB}}\n",
		 headroom);
	snprintf(text, sizeof(text), "switch: {name: lab, workers: 2, buffer: {size: %s%s", size,
		 strstr(lab_yaml(PORTS, "10G", "", "", classes), ", cell"));
	return text;
}

static uint64_t refused(const struct rig *r, unsigned port)
{
	return ctr_get(&switch_drops(r->sw, port, 0, DROP_INGRESS_POOL)->packets);
}

static void reload(struct rig *r, const char *yaml)
{
	struct policy *next = rig_compile(r, yaml), *old;
	uint64_t token;

	memcpy(next->name, switch_policy(r->sw)->name, sizeof(next->name));
	switch_publish(r->sw, next, &old, &token);
	rig_step(r);
	rig_step(r);
	assert_true(switch_grace_over(r->sw, token));
	policy_destroy(old);
}

static void let_leave(struct rig *r)
{
	rig_tx(r, true);
	while (switch_balance(r->sw).queued != 0) {
		r->port[OUT].n_sent = 0;
		r->now_ns += 100000;
		rig_step(r);
	}
}

// The reload moves cells from headroom into the pool, of a worker that receives nothing then. The
// other worker sees them.
static void a_reload_that_moves_headroom_overfills_no_pool(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(two_workers("8MB", "1900KB"), &facts, false);
	const struct bench_frame lossless = {.to = OUT, .dscp = 24, .len = 1500};
	const struct bench_frame lossy = {.to = OUT, .len = 1500};

	(void)state;
	rig_tx(r, false);
	for (unsigned i = 0; i < 40; i++) {
		for (unsigned k = 0; k < MOST; k++)
			rig_arrive(r, 0, &lossless);
		rig_step(r);
	}
	reload(r, two_workers("8MB", "20KB"));
	while (refused(r, 1) == 0) {
		rig_arrive(r, 1, &lossy);
		r->now_ns += 1300;
		worker_step(switch_worker(r->sw, 1), r->now_ns);
	}
	assert_in_range(switch_pool(r->sw, POOL_INGRESS).used,
			switch_pool(r->sw, POOL_INGRESS).size - 6,
			switch_pool(r->sw, POOL_INGRESS).size);
	let_leave(r);
	rig_close(r);
}

// The workers fill the pool one after the other.
static void a_watermark_of_several_workers_is_no_more_than_the_pool(void **state)
{
	const struct port_facts facts = {0};
	const struct bench_frame lossy = {.to = OUT, .len = 1500};
	struct rig *r = rig_open(two_workers("8MB", "20KB"), &facts, false);
	struct pool_use u = switch_pool(r->sw, POOL_INGRESS);
	uint64_t size = u.size, peak = 0;

	(void)state;
	for (unsigned port = 0; port < 2; port++) {
		uint64_t dropped = switch_balance(r->sw).dropped;

		rig_tx(r, false);
		while (switch_balance(r->sw).dropped == dropped) {
			rig_arrive(r, port, &lossy);
			r->now_ns += 1300;
			rig_step(r);
		}
		u = switch_pool(r->sw, POOL_INGRESS);
		assert_true(u.used > size / 2);
		peak = u.used > peak ? u.used : peak;
		let_leave(r);
	}
	u = switch_pool(r->sw, POOL_INGRESS);
	assert_in_range(u.max, peak, size);
	reload(r, two_workers("7MB", "20KB"));
	u = switch_pool(r->sw, POOL_INGRESS);
	assert_true(u.size < peak);
	assert_in_range(u.max, peak, size);
	switch_clear_watermarks(r->sw);
	rig_step(r);
	assert_int_equal(switch_pool(r->sw, POOL_INGRESS).max, 0);
	rig_close(r);
}

// ---- a burst that loses frames before they are forwarded

// The sender has one address that shares a zone with the receiver, and one that does not. Each
// frame has a length of its own, and the tags of those that stay are still the right ones.
static void a_burst_loses_only_the_frames_that_a_zone_forbids(void **state)
{
	static const char yaml[] =
		"switch: {name: lab}\n"
		"ports:\n"
		"  - {name: \"p[1-2]\", device: \"wire:[1-2]\", speed: 10G, "
		"vlan: {untagged: 10, tagged: 20}}\n"
		"  - {name: p3, device: \"wire:3\", speed: 10G, vlan: {untagged: 20, tagged: 10}}\n"
		"vlans: [{id: 10}, {id: 20}]\n"
		"fdb: [{mac: \"02:00:00:00:00:03\", port: p3, vlan: 10}, "
		"{mac: \"02:00:00:00:00:03\", port: p3, vlan: 20}]\n";
	enum { STRANGER = 9, TAG = 4 };
	static const uint16_t zones[] = {0, 1};
	const struct zone_station s[] = {{{2, 0, 0, 0, 0, 1}, ZONE_INITIATOR, {0}, &zones[0], 1},
					 {{2, 0, 0, 0, 0, 3}, ZONE_TARGET, {0}, &zones[0], 1},
					 {{2, [5] = STRANGER}, ZONE_INITIATOR, {0}, &zones[1], 1}};
	const struct port_facts facts = {.shaper_burst_ns = 100000};
	struct rig *r = rig_open(yaml, &facts, false);
	const struct rig_port *out = &r->port[OUT];
	unsigned first = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 9);
	assert_int_equal(switch_set_zones(r->sw, s, 3), 0);
	r->port[OUT].room = AMPLE;
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned n = 1 + rng_next(&rng) % MOST, passed = 0;
		uint16_t want[MOST];

		for (unsigned i = 0; i < n; i++) {
			struct bench_frame f = {.to = OUT, .len = (uint16_t)(100 + 10 * i),
						.tagged = rng_next(&rng) % 2, .vid = 20,
						.ipv6 = rng_next(&rng) % 3 == 0,
						.as = rng_next(&rng) % 3 == 0 ? STRANGER : 0};

			f.ether_type = rng_next(&rng) % 4 == 0 ? 0x8915 : 0;
			rig_arrive(r, 0, &f);
			if (f.as == 0)
				want[passed++] = (uint16_t)(f.tagged ? f.len - TAG : f.len + TAG);
		}
		r->now_ns += 1000000;
		rig_step(r);
		assert_int_equal(out->n_sent - first, passed);
		for (unsigned i = 0; i < passed; i++)
			assert_int_equal(out->sent[first + i].len, want[i]);
		first = out->n_sent;
	}
	rig_close(r);
}

// ---- copies

// Copies of one frame for two peers of a tunnel leave by one port, side by side.
static void copies_for_peers_behind_one_port_free_the_cells_of_their_frame(void **state)
{
	static const char yaml[] =
		"switch: {name: v, buffer: {size: 1MB}}\n"
		"vlans: [{id: 100}]\n"
		"ports:\n"
		"  - {name: \"p[1-2]\", device: \"wire:[1-2]\", speed: 10G, vlan: {untagged: "
		"100}}\n"
		"  - {name: p3, device: \"wire:3\", speed: 10G, mtu: 1550, ip: [10.0.3.1/24]}\n"
		"neighbours:\n"
		"  - {ip: 10.0.3.2, mac: \"02:00:00:00:00:03\"}\n"
		"  - {ip: 10.0.3.4, mac: \"02:00:00:00:00:04\"}\n"
		"vxlan: {source: 10.0.3.1, vnis: {7: {vlan: 100, peers: [10.0.3.2, 10.0.3.4]}}}\n";
	const struct bench_frame f = {.broadcast = true, .len = 300};
	const struct port_facts facts = {.shaper_burst_ns = 100000};
	struct rte_mempool *frames = rte_mempool_lookup("bench");
	unsigned before = rte_mempool_avail_count(frames);
	struct rig *r = rig_open(yaml, &facts, false);

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		rig_arrive(r, 0, &f);
	rig_step(r);
	assert_int_equal(r->port[1].n_sent, 4);
	assert_int_equal(r->port[OUT].n_sent, 2 * 4);
	assert_int_equal(pg_used(switch_pg_state(r->sw, 0, 0)), 0);
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		assert_int_equal(switch_pool(r->sw, pool).used, 0);
	assert_int_equal(switch_copies(r->sw), 0);
	rig_close(r);
	assert_int_equal(rte_mempool_avail_count(frames), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_charged_as_its_frames_one_by_one),
		cmocka_unit_test(a_driver_gets_what_it_has_room_for_and_no_more),
		cmocka_unit_test(a_slow_port_keeps_its_rate_when_the_loop_is_late),
		cmocka_unit_test(a_driver_gets_no_longer_burst_than_it_takes),
		cmocka_unit_test(the_speed_of_a_port_holds_however_much_its_driver_takes),
		cmocka_unit_test(queues_take_turns_within_a_burst),
		cmocka_unit_test(a_strict_class_breaks_into_a_turn),
		cmocka_unit_test(a_burst_leaves_as_its_frames_one_by_one),
		cmocka_unit_test(a_reload_that_moves_headroom_overfills_no_pool),
		cmocka_unit_test(a_watermark_of_several_workers_is_no_more_than_the_pool),
		cmocka_unit_test(a_burst_loses_only_the_frames_that_a_zone_forbids),
		cmocka_unit_test(copies_for_peers_behind_one_port_free_the_cells_of_their_frame),
	};

	return cmocka_run_group_tests_name("bursts", tests, bench_eal, NULL);
}
