// SPDX-License-Identifier: Apache-2.0
// Frames for control and of control (switch_punt.h): each reason, its rate, its ring, and what
// takes no buffer. A policy that gives all reasons to control, on the router's bench.
#include <netinet/in.h>
#include <string.h>

#include "dataplane/policy.h"
#include "dataplane/switch_punt.h"
#include "tests/lab/router.h"

enum { ALL = (1 << N_PUNT_REASONS) - 1 };

static void give_all(struct policy *p, void *arg)
{
	(void)arg;
	p->control_sends = true;
	for (unsigned i = 0; i < p->n_ports; i++)
		p->ports[i].punts = ALL;
}

static struct bench *open_all(void)
{
	const struct bench_opts o = {.adjust = give_all};

	return bench_open_with(router_policy("", router_routes), &o);
}

// The one frame that control has; its reason. N_PUNT_REASONS: there is none.
static unsigned only_reason(struct bench *b, struct control_frame *got)
{
	struct control_frame more;

	router_settle(b);
	if (!switch_next_punt(b->sw, ALL, got))
		return N_PUNT_REASONS;
	assert_false(switch_next_punt(b->sw, ALL, &more));
	return got->reason;
}

static unsigned reason_of(struct bench *b, const struct router_packet *k)
{
	struct control_frame got;
	uint8_t sent[FRAME_MAX];
	uint16_t len = router_build(sent, P2, k);
	unsigned reason;

	bench_send_raw(b, P2, sent, len);
	reason = only_reason(b, &got);
	if (reason == N_PUNT_REASONS)
		return reason;
	assert_int_equal(got.port, P2);
	if (k->tag == 0) {
		assert_int_equal(got.len, len);
		assert_memory_equal(got.bytes, sent, len);
	} else {
		assert_int_equal(got.len, len - 4);
		assert_memory_equal(got.bytes + 12, sent + 16, len - 16u);
	}
	return reason;
}

#define P(...) (&(struct router_packet){__VA_ARGS__})

static void frames_of_foreign_vlans_do_not_reach_control(void **state)
{
	struct bench *b = open_all();
	uint8_t arp[64] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 5, 8,
			   6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 10, 0, 2, 2, 0, 0, 0, 0, 0,
			   0, 10, 0, 2, 1};
	struct control_frame got;

	(void)state;
	bench_send_raw(b, P2, arp, sizeof(arp));
	assert_int_equal(only_reason(b, &got), N_PUNT_REASONS);
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.0.2.1",
					.proto = IPPROTO_TCP, .dport = 179, .tag = 5)),
			 N_PUNT_REASONS);
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.9.0.1", .ttl = 1, .tag = 5)),
			 N_PUNT_REASONS);
	assert_int_equal(bench_drops(b, DROP_VLAN_INGRESS), 3);
	arp[15] = 0; // a priority tag
	bench_send_raw(b, P2, arp, sizeof(arp));
	assert_int_equal(only_reason(b, &got), PUNT_NEIGHBOUR);
	bench_close(b);
}

static void frames_to_the_switch_go_to_control_by_reason(void **state)
{
	struct bench *b = open_all();

	(void)state;
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.0.2.1", .proto = IPPROTO_TCP,
					.sport = 40000, .dport = 179)), PUNT_ROUTING);
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.0.2.1", .proto = IPPROTO_TCP,
					.sport = 179, .dport = 40000)), PUNT_ROUTING);
	assert_int_equal(reason_of(b, P(.src = "fd00:2::2", .dst = "fd00:2::1", .dport = 3784)),
			 PUNT_ROUTING);
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.0.2.1", .proto = 89)),
			 PUNT_ROUTING);
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.0.2.1", .proto = IPPROTO_TCP,
					.sport = 40000, .dport = 22)), PUNT_LOCAL);
	// An address of another port is the switch's as well, and a priority tag ends here.
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.0.1.1", .dport = 53)),
			 PUNT_LOCAL);
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.0.2.1", .dport = 3784,
					.tag = 6 << 13)), PUNT_ROUTING);
	// Link-local, both ways.
	assert_int_equal(reason_of(b, P(.src = "fe80::2", .dst = "fe80::1", .dport = 3784)),
			 PUNT_ROUTING);
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.9.0.1", .ttl = 1)), PUNT_TTL);
	// What passes through, and what nobody may forward, stays.
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "10.9.0.1", .dport = 179)),
			 N_PUNT_REASONS);
	assert_int_equal(reason_of(b, P(.src = "10.0.2.2", .dst = "127.0.0.1")), N_PUNT_REASONS);
	assert_int_equal(bench_drops(b, DROP_MARTIAN), 1);
	bench_close(b);
}

static unsigned group_reason(struct bench *b, const uint8_t *mac, const struct router_packet *k)
{
	struct control_frame got;
	uint8_t frame[FRAME_MAX];
	uint16_t len = router_build(frame, P2, k);

	memcpy(frame, mac, 6);
	bench_send_raw(b, P2, frame, len);
	return only_reason(b, &got);
}

static void groups_of_the_link_go_to_control_and_others_do_not(void **state)
{
	static const uint8_t all[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
			     ospf[] = {1, 0, 0x5e, 0, 0, 5}, far[] = {1, 0, 0x5e, 1, 1, 1},
			     v6[] = {0x33, 0x33, 0, 0, 0, 1};
	struct bench *b = open_all();

	(void)state;
	assert_int_equal(group_reason(b, ospf, P(.src = "10.0.2.2", .dst = "224.0.0.5",
						 .proto = 89)), PUNT_ROUTING);
	assert_int_equal(group_reason(b, ospf, P(.src = "10.0.2.2", .dst = "224.0.0.18")),
			 PUNT_LOCAL);
	assert_int_equal(group_reason(b, v6, P(.src = "fe80::2", .dst = "ff02::1")), PUNT_LOCAL);
	assert_int_equal(group_reason(b, all, P(.src = "0.0.0.0", .dst = "255.255.255.255")),
			 PUNT_LOCAL);
	assert_int_equal(group_reason(b, far, P(.src = "10.0.2.2", .dst = "239.1.1.1")),
			 N_PUNT_REASONS);
	assert_int_equal(group_reason(b, v6, P(.src = "fd00:2::2", .dst = "ff05::1")),
			 N_PUNT_REASONS);
	assert_int_equal(bench_drops(b, DROP_NOT_FOR_ROUTER), 2);
	bench_close(b);
}

static unsigned link_local_reason(struct bench *b, uint8_t last, uint16_t type)
{
	struct control_frame got;
	uint8_t frame[60] = {1, 0x80, 0xc2, 0, 0, last, 2, 0, 0, 0, 0, 2};

	be16_put(frame + 12, type);
	bench_send_raw(b, P2, frame, sizeof(frame));
	return only_reason(b, &got);
}

static void lldp_and_lacp_go_to_control_and_are_counted_as_consumed(void **state)
{
	struct bench *b = open_all();
	const struct port_counters *c = switch_port_counters(b->sw, P2);

	(void)state;
	assert_int_equal(link_local_reason(b, 0x0e, ETYPE_LLDP), PUNT_LLDP);
	assert_int_equal(link_local_reason(b, 0x02, ETYPE_SLOW), PUNT_LACP);
	assert_int_equal(link_local_reason(b, 0x03, ETYPE_EAPOL), N_PUNT_REASONS);
	assert_int_equal(ctr_get(&c->lldp), 1);
	assert_int_equal(ctr_get(&c->other_control), 2);
	assert_int_equal(switch_balance(b->sw).consumed, 3);
	bench_close(b);
}

// 250 at once. Each reason and each port has a rate of its own, and none holds a cell.
static void a_flood_of_one_reason_takes_nothing_from_the_others(void **state)
{
	struct bench *b = open_all();
	const struct punt_counters *c = switch_port_counters(b->sw, P2)->punt;
	struct control_frame got;
	unsigned n[N_PUNT_REASONS] = {0};

	(void)state;
	for (unsigned i = 0; i < 400; i++)
		router_send(b, P2, P(.src = "10.0.2.2", .dst = "10.9.0.1", .ttl = 1));
	router_send(b, P2, P(.src = "10.0.2.2", .dst = "10.0.2.1", .dport = 3784));
	bench_run(b, 50000);
	assert_int_equal(switch_pool(b->sw, POOL_INGRESS).used, 0);
	while (switch_next_punt(b->sw, ALL, &got))
		n[got.reason]++;
	assert_int_equal(n[PUNT_ROUTING], 1);
	assert_int_equal(ctr_get(&c[PUNT_TTL].frames), 400);
	assert_int_equal(ctr_get(&c[PUNT_TTL].limited), 150);
	assert_int_equal(n[PUNT_TTL] + ctr_get(&c[PUNT_TTL].lost), 250);
	assert_int_equal(bench_drops(b, DROP_COPP), 150);
	bench_close(b);
}

// Each is one record of the ring, whatever its length.
static void what_control_sends_leaves_at_any_length(void **state)
{
	struct bench *b = open_all();
	static const uint16_t lengths[] = {60, 64, 124, 125, 1000, 1514};
	struct control_frame out = {.port = P5};
	uint8_t frame[FRAME_MAX];

	(void)state;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		out.len = router_build(frame, P5, P(.src = "10.0.5.1", .dst = "10.0.5.2",
						    .len = lengths[i]));
		memcpy(out.bytes, frame, out.len);
		assert_true(switch_send(b->sw, &out, SEND_OTHER));
		actor_poke(&b->actor);
		router_settle(b);
		assert_int_equal(b->host[P5].n_rx, i + 1);
		assert_int_equal(b->host[P5].rx[i].len, out.len);
	}
	assert_int_equal(switch_balance(b->sw).generated, 6);
	bench_close(b);
}

static void what_is_no_frame_is_dropped_and_what_is_too_long_refused(void **state)
{
	struct bench *b = open_all();
	struct control_frame out = {.port = P5, .len = 8};

	(void)state;
	assert_true(switch_send(b->sw, &out, SEND_OTHER));
	actor_poke(&b->actor);
	router_settle(b);
	assert_int_equal(b->host[P5].n_rx, 0);
	assert_int_equal(bench_drops(b, DROP_NO_MBUF), 1);
	out.len = CONTROL_FRAME_MAX + 1;
	assert_false(switch_send(b->sw, &out, SEND_OTHER));
	bench_close(b);
}

#define T(f) cmocka_unit_test(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frames_of_foreign_vlans_do_not_reach_control),
		T(frames_to_the_switch_go_to_control_by_reason),
		T(groups_of_the_link_go_to_control_and_others_do_not),
		T(lldp_and_lacp_go_to_control_and_are_counted_as_consumed),
		T(a_flood_of_one_reason_takes_nothing_from_the_others),
		T(what_control_sends_leaves_at_any_length),
		T(what_is_no_frame_is_dropped_and_what_is_too_long_refused),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
