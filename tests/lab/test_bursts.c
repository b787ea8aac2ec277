// SPDX-License-Identifier: Apache-2.0
// Ports of a driver that gives a burst of frames at once, takes as many as it has room for, and
// sees PFC before the frame is received. What is done to a burst as a whole must be what would
// have been done to its frames one by one.
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/config/config.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/rng.h"
#include "dataplane/worker.h"

enum { PORTS = 3, OUT = PORTS - 1, MOST = 32, KEPT = 8192, START_NS = 1000000, AMPLE = 1000000000 };

// ---- the driver

struct sent {
	uint16_t len;
	uint8_t from, cls;
	uint32_t seq;
};

struct port {
	struct rte_mbuf *waiting[MOST];
	unsigned n_waiting;
	int32_t room; // bytes
	bool sees_pfc;
	struct port_pause word[N_CLASSES];
	struct sent sent[KEPT];
	unsigned n_sent, n_pfc, most_at_once;
};

static uint16_t port_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct port *p = drv;
	uint16_t got = p->n_waiting < n ? (uint16_t)p->n_waiting : n;

	memcpy(pkts, p->waiting, got * sizeof(pkts[0]));
	p->n_waiting -= got;
	return got;
}

static int32_t port_room(void *drv)
{
	return ((struct port *)drv)->room;
}

static void port_send(struct port *p, const struct rte_mbuf *m)
{
	struct bench_rx rx = {0};

	memcpy(rx.data, rte_pktmbuf_mtod(m, const void *), 60);
	if (rx.data[12] == 0x88) {
		p->n_pfc++;
		return;
	}
	assert_true((int32_t)m->pkt_len <= p->room);
	p->room -= (int32_t)m->pkt_len;
	assert_true(p->n_sent < KEPT);
	p->sent[p->n_sent++] = (struct sent){.len = (uint16_t)m->pkt_len, .from = rx.data[11],
					     .cls = rx.data[15] >> 5, .seq = bench_seq(&rx)};
}

static uint16_t port_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct port *p = drv;

	for (uint16_t i = 0; i < n; i++) {
		port_send(p, pkts[i]);
		rte_pktmbuf_free(pkts[i]);
	}
	p->most_at_once = n > p->most_at_once ? n : p->most_at_once;
	return n;
}

static uint32_t port_pending(void *drv)
{
	(void)drv;
	return 0;
}

static bool port_pause(void *drv, unsigned cls, struct port_pause *out)
{
	struct port *p = drv;

	*out = p->word[cls];
	return p->sees_pfc;
}

static void port_stats(void *drv, struct port_drv_stats *out)
{
	(void)drv;
	*out = (struct port_drv_stats){0};
}

static bool port_up(void *drv)
{
	(void)drv;
	return true;
}

static const struct port_ops port_ops = {
	.rx = port_rx,
	.tx_room = port_room,
	.tx = port_tx,
	.tx_pending = port_pending,
	.pause = port_pause,
	.stats = port_stats,
	.link_up = port_up,
};

// ---- a switch of one worker between such ports

struct rig {
	struct weir_switch *sw;
	struct port port[PORTS];
	struct port_facts facts[PORTS];
	uint64_t now_ns;
	uint32_t seq;
};

static struct policy *compile(const struct rig *r, const char *yaml)
{
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;

	if (config_parse("bursts.yaml", yaml, strlen(yaml), &c, &d) != 0 ||
	    config_compile(c, r->facts, &p, &d) != 0)
		fail_msg("%s", d.n != 0 ? d.lines[0] : "the policy does not compile");
	config_destroy(c);
	diags_fini(&d);
	return p;
}

static void step(struct rig *r)
{
	worker_step(switch_worker(r->sw, 0), r->now_ns);
}

static struct rig *rig_open(const char *yaml, const struct port_facts *facts, bool sees_pfc)
{
	static unsigned n_opened;
	struct rig *r = calloc(1, sizeof(*r));
	struct switch_port ports[PORTS];
	struct policy *policy;
	struct event events[8];

	assert_non_null(r);
	r->now_ns = START_NS;
	for (unsigned i = 0; i < PORTS; i++) {
		r->facts[i] = *facts;
		r->facts[i].max_frame = 9216;
		r->facts[i].pfc_rx = r->facts[i].pfc_tx = true;
		r->port[i].room = AMPLE;
		r->port[i].sees_pfc = sees_pfc;
		r->port[i].word[3].seq = 7;
		ports[i] = (struct switch_port){
			.ops = &port_ops, .drv = &r->port[i], .facts = r->facts[i]};
	}
	policy = compile(r, yaml);
	snprintf(policy->name, sizeof(policy->name), "burst%u", n_opened++);
	assert_int_equal(
		switch_create(policy, ports, rte_mempool_lookup("bench"), 1, &r->sw), 0);
	switch_control_step(r->sw, r->now_ns, events, 8);
	step(r);
	return r;
}

static void rig_close(struct rig *r)
{
	struct balance x = switch_balance(r->sw);
	struct policy *policy = (struct policy *)(uintptr_t)switch_policy(r->sw);

	assert_int_equal(x.received + x.generated + x.replicated,
			 x.transmitted + x.consumed + x.dropped + x.queued);
	switch_destroy(r->sw);
	policy_destroy(policy);
	free(r);
}

static void arrive(struct rig *r, unsigned from, const struct bench_frame *f)
{
	struct port *p = &r->port[from];
	struct rte_mbuf *m = rte_pktmbuf_alloc(rte_mempool_lookup("bench"));
	struct bench_frame numbered = *f;

	assert_non_null(m);
	assert_true(p->n_waiting < MOST);
	numbered.seq = r->seq++;
	rte_pktmbuf_append(m, bench_build(rte_pktmbuf_mtod(m, uint8_t *), from, &numbered));
	p->waiting[p->n_waiting++] = m;
}

static void tx(struct rig *r, bool on)
{
	switch_set_tx(r->sw, OUT, -1, on);
	step(r);
}

// n frames of a class stand in the queue towards OUT.
static void stand(struct rig *r, uint8_t cls, uint16_t len, unsigned n)
{
	const struct bench_frame f = {.to = OUT, .dscp = (uint8_t)(8 * cls), .len = len};

	for (unsigned i = 0; i < n; i++)
		arrive(r, 0, &f);
	step(r);
}

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

static const char *small_buffer(const char *classes)
{
	char *text = (char *)(uintptr_t)lab_yaml(PORTS, "10G", "", "", classes);

	memcpy(strstr(text, "4MB"), "1MB", 3);
	return text;
}

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
	struct bench_frame f = {.to = OUT, .dscp = last->dscp,
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
		arrive(at_once, from, &f);
		arrive(one_by_one, from, &f);
		step(one_by_one);
	}
	step(at_once);
}

// Some of what stands leaves, the same from both.
static void some_leave(struct rig *a, struct rig *b, struct rng *rng)
{
	int32_t room = (int32_t)(rng_next(rng) % 40000);

	a->port[OUT].room = b->port[OUT].room = room;
	a->now_ns += 100000;
	b->now_ns += 100000;
	tx(a, true);
	tx(b, true);
	tx(a, false);
	tx(b, false);
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

static void expect_order(const struct port *p)
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
	tx(r, true);
	for (unsigned i = 0; i < 10000 && switch_balance(r->sw).queued != 0; i++) {
		r->now_ns += 1000;
		step(r);
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
		const char *yaml = small_buffer(policies[i % POLICIES]);
		struct rig *at_once = rig_open(yaml, &facts, false);
		struct rig *one_by_one = rig_open(yaml, &facts, false);

		tx(at_once, false);
		tx(one_by_one, false);
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

		tx(r, false);
		stand(r, 0, 700, 20);
		r->port[OUT].room = room;
		tx(r, true);
		assert_int_equal(r->port[OUT].n_sent, room / 700);
		r->port[OUT].room = AMPLE;
		step(r);
		assert_int_equal(r->port[OUT].n_sent, 20);
		rig_close(r);
	}
}

static void a_driver_gets_no_longer_burst_than_it_takes(void **state)
{
	const struct port_facts facts = {.shaper_burst_ns = 1000000, .tx_burst = 5};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", two_equal), &facts, false);

	(void)state;
	tx(r, false);
	stand(r, 0, 100, 23);
	tx(r, true);
	assert_int_equal(r->port[OUT].n_sent, 23);
	assert_int_equal(r->port[OUT].most_at_once, 5);
	rig_close(r);
}

static void the_speed_of_a_port_holds_however_much_its_driver_takes(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", two_equal), &facts, false);

	(void)state;
	tx(r, false);
	stand(r, 0, 1000 - LINK_OVERHEAD_BYTES, 10);
	tx(r, true);
	for (unsigned n = 1; n <= 10; n++) {
		assert_int_equal(r->port[OUT].n_sent, n);
		r->now_ns += 798; // 1000 B take 800 ns; what is less than one may be saved
		step(r);
		assert_int_equal(r->port[OUT].n_sent, n);
		r->now_ns += 2;
		step(r);
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
	tx(r, false);
	stand(r, 0, 700, 32);
	stand(r, 1, 700, 32);
	tx(r, true);
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
	stand(r, 0, 64, 10);
	assert_int_equal(r->port[OUT].n_sent, 1); // of a turn of 1522 B
	stand(r, 6, 64, 2);
	r->port[OUT].room = AMPLE;
	step(r);
	assert_int_equal(r->port[OUT].n_sent, 12);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(r->port[OUT].sent[i].cls, i == 1 || i == 2 ? 6 : 0);
	rig_close(r);
}

// ---- PFC that is seen early

enum { QUANTA = 1000, QUANTA_NS = 51200 };

static void word(struct rig *r, unsigned cls, uint32_t n_frames, uint16_t quanta)
{
	r->port[OUT].word[cls].seq += n_frames;
	r->port[OUT].word[cls].quanta = quanta;
	step(r);
}

static void pfc_arrives(struct rig *r, uint8_t enable, uint16_t quanta)
{
	struct port *p = &r->port[OUT];
	struct rte_mbuf *m = rte_pktmbuf_alloc(rte_mempool_lookup("bench"));
	struct pfc_times t = {.enable = enable};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, PORTS};

	assert_non_null(m);
	for (unsigned c = 0; c < N_CLASSES; c++)
		t.quanta[c] = enable >> c & 1 ? quanta : 0;
	pfc_frame_build((uint8_t *)rte_pktmbuf_append(m, PFC_FRAME_LEN), mac, &t);
	p->waiting[p->n_waiting++] = m;
	step(r);
}

static const char one_lossless[] = "      3: {lossless: true, ingress: {headroom: 20KB}}\n";

static void a_word_pauses_once_and_its_frame_not_again(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", one_lossless), &facts, true);
	const struct pfc_rx_state *rx = switch_pfc_rx(r->sw, OUT);

	(void)state;
	assert_false(switch_queue_paused(r->sw, OUT, 3)); // the word of before is old news
	word(r, 3, 1, QUANTA);
	assert_true(switch_queue_paused(r->sw, OUT, 3));
	r->now_ns += QUANTA_NS / 2;
	pfc_arrives(r, 1 << 3 | 1 << 4, QUANTA);
	assert_int_equal(ctr_get(&rx->ignored_lossy), 1);
	r->now_ns += QUANTA_NS / 2 - 1;
	step(r);
	assert_true(switch_queue_paused(r->sw, OUT, 3));
	r->now_ns++;
	step(r);
	assert_false(switch_queue_paused(r->sw, OUT, 3));
	assert_int_equal(ctr_get(&rx->stats[3].frames), 1);
	rig_close(r);
}

static void an_early_xon_is_not_undone_by_the_frame_of_a_pause(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", one_lossless), &facts, true);

	(void)state;
	word(r, 3, 1, QUANTA);
	stand(r, 3, 100, 3);
	assert_int_equal(r->port[OUT].n_sent, 0);
	word(r, 3, 1, 0);
	assert_int_equal(r->port[OUT].n_sent, 1);
	pfc_arrives(r, 1 << 3, QUANTA);
	assert_false(switch_queue_paused(r->sw, OUT, 3));
	word(r, 3, 5, QUANTA); // five frames since the last look
	assert_int_equal(ctr_get(&switch_pfc_rx(r->sw, OUT)->stats[3].frames), 7);
	assert_int_equal(ctr_get(&switch_port_counters(r->sw, OUT)->early_pauses), 7);
	rig_close(r);
}

static void a_word_from_before_its_class_was_lossless_is_old_news(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", one_lossless), &facts, true);
	static const char both[] = "      3: {lossless: true}\n      5: {lossless: true}\n";
	struct policy *old;
	uint64_t token;

	(void)state;
	word(r, 5, 3, QUANTA);
	assert_false(switch_queue_paused(r->sw, OUT, 5));
	switch_publish(r->sw, compile(r, lab_yaml(PORTS, "10G", "", "", both)), &old, &token);
	step(r);
	step(r);
	assert_true(switch_grace_over(r->sw, token));
	policy_destroy(old);
	assert_false(switch_queue_paused(r->sw, OUT, 5));
	word(r, 5, 1, QUANTA);
	assert_true(switch_queue_paused(r->sw, OUT, 5));
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_charged_as_its_frames_one_by_one),
		cmocka_unit_test(a_driver_gets_what_it_has_room_for_and_no_more),
		cmocka_unit_test(a_driver_gets_no_longer_burst_than_it_takes),
		cmocka_unit_test(the_speed_of_a_port_holds_however_much_its_driver_takes),
		cmocka_unit_test(queues_take_turns_within_a_burst),
		cmocka_unit_test(a_strict_class_breaks_into_a_turn),
		cmocka_unit_test(a_word_pauses_once_and_its_frame_not_again),
		cmocka_unit_test(an_early_xon_is_not_undone_by_the_frame_of_a_pause),
		cmocka_unit_test(a_word_from_before_its_class_was_lossless_is_old_news),
	};

	return cmocka_run_group_tests_name("bursts", tests, bench_eal, NULL);
}
