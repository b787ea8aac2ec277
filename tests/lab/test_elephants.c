// SPDX-License-Identifier: Apache-2.0
// Elephants and mice of a whole switch: which frames are counted as which, what the policy's
// actions do to them, when an elephant ends, and what forged flows, fragments and full tables do.
#include "tests/lab/bench.h"

#include <stdio.h>
#include <string.h>

#include "dataplane/packet/psn.h"
#include "dataplane/packet/vxlan.h"
#include "dataplane/packet/wire.h"
#include "tests/lab/flow_rows.h"
#include "tests/lab/roce_frame.h"
#include "tests/lab/router.h"

enum { US = 1000, MS = 1000000, LEN = 1000, LINE_NS = 5 * US, MOST = 4096 };

// An elephant sends 10 KB after its first frame, at 1 Gb/s or faster. It is looked at every KiB, so
// nearly with each frame of 1,000 B. One such frame in 8 us is 1 Gb/s.
#define RULE "rate: 1G, bytes: 10KB, age: 1ms, end_age: 1ms"

static struct bench *open(const char *elephants, const char *flows, const char *classes)
{
	char yaml[4096];

	snprintf(yaml, sizeof(yaml),
		 "switch:\n"
		 "  name: lab\n"
		 "  buffer: {size: 4MB, cell: 256B}\n"
		 "  flows: {max: %s}\n"
		 "  elephants: %s\n"
		 "ports:\n"
		 "  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, mtu: 1500,\n"
		 "     profile: x}\n"
		 "fdb:\n"
		 "  - {mac: \"02:00:00:00:00:01\", port: p1}\n"
		 "  - {mac: \"02:00:00:00:00:02\", port: p2}\n"
		 "  - {mac: \"02:00:00:00:00:03\", port: p3}\n"
		 "profiles:\n"
		 "  x:\n"
		 "    dscp_to_class: {default: 0, 24-31: 3}\n"
		 "    classes:\n"
		 "      3: {lossless: on}\n"
		 "%s",
		 flows, elephants, classes);
	return bench_open(yaml, 0);
}

// ---- frames

static uint16_t build(uint8_t out[FRAME_MAX], unsigned from, unsigned to,
		      const struct router_packet *k)
{
	uint16_t len = router_build(out, from, k);

	memcpy(out, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(to + 1)}, 6);
	return len;
}

static const struct router_packet tcp = {.src = "10.0.0.1", .dst = "10.0.0.3", .sport = 5000,
					 .dport = 80, .proto = IP_PROTO_TCP, .len = LEN};

// One frame every gap_ns, n times, from p1 to p3.
static void send_n(struct bench *b, const struct router_packet *k, unsigned n, uint64_t gap_ns)
{
	uint8_t frame[FRAME_MAX];

	for (unsigned i = 0; i < n; i++) {
		bench_send_raw(b, 0, frame, build(frame, 0, 2, k));
		bench_run(b, gap_ns);
	}
}

static struct flow_totals totals(const struct bench *b)
{
	struct flow_totals t;

	switch_flow_totals(b->sw, &t);
	return t;
}

static uint64_t sent(const struct bench *b, unsigned queue)
{
	return ctr_get(&switch_queue_counters(b->sw, 2, queue)->tx_packets);
}

static unsigned events(struct bench *b, enum event_type type, uint64_t *sum)
{
	unsigned n = 0;

	bench_control(b);
	*sum = 0;
	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type == type) {
			n++;
			*sum += b->events[i].b;
		}
	return n;
}

// ---- mice

static void the_first_frames_of_a_flow_are_mice(void **state)
{
	struct bench *b = open("{" RULE ", mice_packets: 3}", "64",
			       "      0: {mice: {class: 5, dscp: 40}}\n");

	(void)state;
	send_n(b, &tcp, 5, 20 * US);
	assert_int_equal(sent(b, 5), 3);
	assert_int_equal(sent(b, 0), 2);
	for (unsigned i = 0; i < 5; i++) {
		const struct ipv4_hdr *ip = (const void *)(b->host[2].rx[i].data + 14);

		assert_int_equal(ip->tos >> 2, i < 3 ? 40 : 0);
		assert_int_equal(router_csum((const void *)ip, sizeof(*ip)), 0);
	}
	assert_int_equal(totals(b).elephants.packets[SIZE_MOUSE], 3);
	assert_int_equal(totals(b).elephants.bytes[SIZE_MOUSE], 3 * LEN);
	// Frames of the class are accounted for where they arrived.
	assert_int_equal(ctr_get(&switch_pg_counters(b->sw, 0, 0)->rx_packets), 5);
	assert_int_equal(ctr_get(&switch_pg_counters(b->sw, 0, 5)->rx_packets), 0);
	bench_close(b);
}

static void a_pause_makes_the_next_frames_mice_again(void **state)
{
	struct bench *b = open("{" RULE ", mice_packets: 3}", "64",
			       "      0: {mice: {class: 5}}\n");

	(void)state;
	send_n(b, &tcp, 5, 20 * US);
	bench_run(b, MS - 40 * US); // not quite the age
	send_n(b, &tcp, 1, 20 * US);
	assert_int_equal(sent(b, 5), 3);
	bench_run(b, MS);
	send_n(b, &tcp, 5, 20 * US);
	assert_int_equal(sent(b, 5), 6);
	assert_int_equal(sent(b, 0), 5);
	bench_close(b);
}

#define V4 .src = "10.0.0.1", .dst = "10.0.0.3"
#define V6 .src = "fd00::1", .dst = "fd00::3"

static void every_flow_has_its_own_mice(void **state)
{
	static const struct router_packet k[] = {
		{V4, .sport = 1, .dport = 2, .proto = IP_PROTO_TCP},
		{V4, .sport = 1, .dport = 2, .proto = IP_PROTO_UDP},
		{V4, .sport = 2, .dport = 2, .proto = IP_PROTO_TCP},
		{V4, .sport = 1, .dport = 3, .proto = IP_PROTO_TCP},
		{.src = "10.0.0.2", .dst = "10.0.0.3", .sport = 1, .dport = 2,
		 .proto = IP_PROTO_TCP},
		{V6, .sport = 1, .dport = 2, .proto = IP_PROTO_TCP},
		{V6, .sport = 1, .dport = 2, .proto = IP_PROTO_UDP},
		{.src = "fd00::1", .dst = "fd00::4", .sport = 1, .dport = 2, .proto = IP_PROTO_UDP},
		{V4, .qp = 7},
		{V4, .sport = 9, .dport = 2, .proto = IP_PROTO_TCP, .options = true},
		{V4, .sport = 8, .dport = 2, .proto = IP_PROTO_TCP, .tag = 1},
	};
	enum { N = sizeof(k) / sizeof(k[0]) };
	struct bench *b = open("{" RULE ", mice_packets: 1}", "64",
			       "      0: {mice: {class: 5}}\n");
	struct rows all;

	(void)state;
	for (unsigned i = 0; i < 3 * N; i++)
		send_n(b, &k[i % N], 1, 10 * US);
	assert_int_equal(sent(b, 5), N);
	assert_int_equal(sent(b, 0), 2 * N);
	all = walk(b);
	assert_int_equal(all.n, N);
	for (unsigned i = 0; i < N; i++) {
		const struct flow_row *r = &all.row[i];

		assert_int_equal(r->packets, 3);
		assert_int_equal(r->way.in_port, 0);
		assert_int_equal(r->way.out_port, 2);
		assert_int_equal(r->way.kind, k[i].qp != 0		       ? FLOW_DATA
					      : k[i].proto == IP_PROTO_TCP ? FLOW_TCP
									   : FLOW_UDP);
		assert_int_equal(flow_key_has_ports(&r->key), k[i].qp == 0);
		if (k[i].qp == 0) {
			assert_int_equal(flow_key_sport(&r->key), k[i].sport);
			assert_int_equal(flow_key_dport(&r->key), k[i].dport);
		}
	}
	// Pairing knows the one of RoCEv2 only.
	assert_int_equal(totals(b).pairing.n_unpaired, 1);
	bench_close(b);
}

// Who sends no ports is in no flow.
static void fragments_and_other_protocols_keep_their_class(void **state)
{
	static const struct router_packet k[] = {
		{V4, .proto = IP_PROTO_TCP, .frag = IPV4_MF},
		{V4, .proto = IP_PROTO_TCP, .frag = 100},
		{V4, .proto = IP_PROTO_TCP, .frag = 100, .tag = 1},
		{V4, .proto = 47},
		{V6, .proto = IP_PROTO_FRAGMENT},
	};
	enum { N = sizeof(k) / sizeof(k[0]) };
	struct bench *b = open("{" RULE "}", "64",
			       "      0: {mice: {class: 5}}\n");

	(void)state;
	for (unsigned i = 0; i < N; i++)
		send_n(b, &k[i], 2, 10 * US);
	assert_int_equal(sent(b, 0), 2 * N);
	assert_int_equal(sent(b, 5), 0);
	assert_int_equal(totals(b).used, 0);
	bench_close(b);
}

// ---- elephants

static void a_flow_is_an_elephant_from_the_frame_that_completes_its_bytes(void **state)
{
	struct bench *b = open("{" RULE ", mice_packets: 0}", "64",
			       "      0: {elephants: {class: 1}}\n");
	uint64_t sum;

	(void)state;
	send_n(b, &tcp, 10, LINE_NS); // 1.6 Gb/s
	assert_int_equal(sent(b, 1), 0);
	assert_int_equal(totals(b).elephants.now, 0);
	assert_int_equal(walk(b).row[0].size, SIZE_PLAIN);
	send_n(b, &tcp, 10, LINE_NS);
	assert_int_equal(sent(b, 0), 10);
	assert_int_equal(sent(b, 1), 10);
	assert_int_equal(totals(b).elephants.now, 1);
	assert_int_equal(totals(b).elephants.began, 1);
	assert_int_equal(totals(b).elephants.packets[SIZE_ELEPHANT], 10);
	for (unsigned port = 0; port < 3; port++) {
		const struct flow_port *fp = switch_flow_port(b->sw, port);

		assert_int_equal(gauge_get(&fp->elephants), port == 0);
		assert_int_equal(ctr_get(&fp->elephant_packets), port == 0 ? 10 : 0);
		assert_int_equal(ctr_get(&fp->elephant_bytes), port == 0 ? 10 * LEN : 0);
	}
	assert_int_equal(walk(b).row[0].size, SIZE_ELEPHANT);
	assert_int_equal(walk(b).row[0].bytes, 20 * LEN);
	assert_int_equal(events(b, EVENT_ELEPHANTS, &sum), 1);
	assert_int_equal(sum, 1);
	bench_close(b);
}

static void a_slow_flow_is_never_an_elephant(void **state)
{
	struct bench *b = open("{" RULE "}", "64",
			       "      0: {elephants: {class: 1}}\n");

	(void)state;
	send_n(b, &tcp, 200, 8 * US + 100); // 988 Mb/s
	assert_int_equal(totals(b).elephants.began, 0);
	assert_int_equal(sent(b, 1), 0);
	bench_close(b);
}

// The end rate is half of the rate: 500 Mb/s is a frame in 16 us.
static void an_elephant_stays_one_above_its_end_rate_and_ends_below(void **state)
{
	struct bench *b = open("{" RULE "}", "64",
			       "      0: {elephants: {class: 1}}\n");
	uint64_t sum;

	(void)state;
	send_n(b, &tcp, 20, LINE_NS);
	send_n(b, &tcp, 100, 14 * US);
	assert_int_equal(totals(b).elephants.now, 1);
	assert_int_equal(totals(b).elephants.ended, 0);
	send_n(b, &tcp, 100, 18 * US);
	assert_int_equal(totals(b).elephants.now, 0);
	assert_int_equal(gauge_get(&switch_flow_port(b->sw, 0)->elephants), 0);
	assert_int_equal(totals(b).elephants.ended, 1);
	assert_int_equal(totals(b).elephants.began, 1);
	assert_int_equal(walk(b).row[0].size, SIZE_PLAIN);
	// At most one event a second, and the worker must have something to do.
	bench_run(b, 1000ull * MS);
	send_n(b, &tcp, 1, LINE_NS);
	assert_int_equal(events(b, EVENT_ELEPHANTS_OVER, &sum), 1);
	assert_int_equal(sum, 1);
	bench_close(b);
}

// An elephant that pauses for longer than `age`, and for less than `end_age`, goes on as one.
static void a_pause_within_its_end_age_ends_no_elephant(void **state)
{
	struct bench *b = open("{rate: 1G, bytes: 10KB, age: 1ms, end_age: 20ms, mice_packets: 3}",
			       "64", "      0: {elephants: {class: 1}, mice: {class: 5}}\n");

	(void)state;
	send_n(b, &tcp, 20, LINE_NS);
	assert_int_equal(totals(b).elephants.now, 1);
	for (unsigned i = 0; i < 20; i++) {
		bench_run(b, 4 * MS);
		send_n(b, &tcp, 640, LINE_NS); // 711 Mb/s with the pause
	}
	assert_int_equal(totals(b).elephants.began, 1);
	assert_int_equal(totals(b).elephants.ended, 0);
	assert_int_equal(sent(b, 5), 3);
	bench_run(b, 20 * MS);
	send_n(b, &tcp, 3, LINE_NS);
	assert_int_equal(totals(b).elephants.ended, 1);
	assert_int_equal(sent(b, 5), 6);
	bench_close(b);
}

// Nothing arrives, and the switch looks all the same.
static void a_silent_elephant_ends(void **state)
{
	struct bench *b = open("{" RULE "}", "64",
			       "      0: {elephants: {class: 1}}\n");

	(void)state;
	send_n(b, &tcp, 20, LINE_NS);
	assert_int_equal(totals(b).elephants.now, 1);
	bench_run(b, MS + MS / 8);
	assert_int_equal(totals(b).elephants.now, 0);
	bench_close(b);
}

static void an_entry_that_leaves_the_table_is_no_elephant_any_more(void **state)
{
	struct bench *b = open("{rate: 1G, bytes: 10KB, age: 10s, end_age: 10s}", "64, age: 5ms",
			       "      0: {elephants: {class: 1}}\n");
	const struct router_packet other = {V4, .proto = 47};

	(void)state;
	send_n(b, &tcp, 20, LINE_NS);
	assert_int_equal(totals(b).elephants.now, 1);
	for (unsigned i = 0; i < 20; i++) // ageing looks when the worker has something to do
		send_n(b, &other, 1, MS);
	assert_int_equal(totals(b).used, 0);
	assert_int_equal(totals(b).elephants.now, 0);
	assert_int_equal(totals(b).elephants.ended, 1);
	send_n(b, &tcp, 20, LINE_NS);
	assert_int_equal(totals(b).elephants.now, 1);
	bench_close(b);
}

static void a_policy_without_elephants_ends_them_and_acts_on_nothing(void **state)
{
	struct bench *b = open("{" RULE "}", "64",
			       "      0: {elephants: {class: 1}}\n");

	(void)state;
	send_n(b, &tcp, 20, LINE_NS);
	assert_int_equal(sent(b, 1), 10);
	bench_publish(b, "switch:\n"
			 "  name: lab\n"
			 "  buffer: {size: 4MB, cell: 256B}\n"
			 "  flows: {max: 64}\n"
			 "ports:\n"
			 "  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, mtu: 1500,\n"
			 "     profile: x}\n"
			 "fdb:\n"
			 "  - {mac: \"02:00:00:00:00:03\", port: p3}\n"
			 "profiles: {x: {classes: {0: {elephants: {class: 1}}}}}\n");
	assert_int_equal(totals(b).elephants.now, 0);
	send_n(b, &tcp, 20, LINE_NS);
	assert_int_equal(sent(b, 1), 10);
	assert_int_equal(totals(b).elephants.packets[SIZE_ELEPHANT], 10);
	assert_int_equal(walk(b).n, 1); // until it is old
	assert_int_equal(walk(b).row[0].packets, 20);
	bench_close(b);
}

// ---- several elephants

// Each of the flows sends a frame at about the rate of the line, n times.
static void send_all(struct bench *b, const struct router_packet *k, unsigned n_flows, unsigned n)
{
	for (unsigned i = 0; i < n * n_flows; i++)
		send_n(b, &k[i % n_flows], 1, LINE_NS / 3);
}

// The last one of the list takes the place of the first one, and then ends itself.
static void elephants_end_one_by_one(void **state)
{
	struct bench *b = open("{" RULE "}", "64",
			       "      0: {elephants: {class: 1}}\n");
	struct router_packet k[3] = {tcp, tcp, tcp};
	uint64_t as_elephant;

	(void)state;
	for (uint16_t i = 0; i < 3; i++)
		k[i].sport = (uint16_t)(5000 + i);
	send_all(b, k, 3, 20);
	assert_int_equal(totals(b).elephants.now, 3);
	send_all(b, k + 1, 2, 400); // without the first one
	assert_int_equal(totals(b).elephants.now, 2);
	send_all(b, k + 1, 1, 800); // and without the last one
	assert_int_equal(totals(b).elephants.now, 1);
	assert_int_equal(totals(b).elephants.ended, 2);
	as_elephant = sent(b, 1);
	send_all(b, k + 1, 1, 10);
	assert_int_equal(sent(b, 1), as_elephant + 10);
	bench_run(b, MS + MS / 8);
	assert_int_equal(totals(b).elephants.now, 0);
	assert_int_equal(totals(b).elephants.ended, 3);
	bench_close(b);
}

// A round of looks ends all that are silent.
static void silent_elephants_end_together(void **state)
{
	struct bench *b = open("{" RULE "}", "64",
			       "      0: {elephants: {class: 1}}\n");
	struct router_packet k[3] = {tcp, tcp, tcp};

	(void)state;
	for (uint16_t i = 0; i < 3; i++)
		k[i].sport = (uint16_t)(5000 + i);
	send_all(b, k, 3, 20);
	bench_run(b, MS + 90 * US);
	assert_int_equal(totals(b).elephants.now, 0);
	assert_int_equal(totals(b).elephants.ended, 3);
	bench_close(b);
}

static void elephants_are_reported_once_a_second(void **state)
{
	struct bench *b = open("{rate: 1G, bytes: 10KB, age: 10s, end_age: 10s}", "64",
			       "      0: {elephants: {class: 1}}\n");
	struct router_packet k = tcp;
	uint64_t sum;

	(void)state;
	for (uint16_t i = 0; i < 3; i++) {
		k.sport = (uint16_t)(5000 + i);
		send_n(b, &k, 20, LINE_NS);
	}
	assert_int_equal(totals(b).elephants.began, 3);
	assert_int_equal(events(b, EVENT_ELEPHANTS, &sum), 1);
	assert_int_equal(sum, 1);
	bench_run(b, 1000ull * MS);
	send_n(b, &k, 1, LINE_NS);
	assert_int_equal(events(b, EVENT_ELEPHANTS, &sum), 2);
	assert_int_equal(sum, 3);
	bench_close(b);
}

static void a_worker_follows_4096_elephants(void **state)
{
	struct bench *b = open("{rate: 1G, bytes: 10KB, age: 10s, end_age: 10s}", "16384",
			       "      0: {elephants: {class: 1}}\n");
	struct router_packet k = tcp;

	(void)state;
	for (uint16_t i = 0; i < MOST; i++) {
		k.sport = (uint16_t)(5000 + i);
		send_n(b, &k, 12, LINE_NS);
	}
	assert_int_equal(totals(b).elephants.now, MOST);
	assert_int_equal(totals(b).elephants.refused, 0);
	k.sport++;
	send_n(b, &k, 12, LINE_NS);
	assert_int_equal(totals(b).elephants.now, MOST);
	assert_true(totals(b).elephants.refused > 0);
	assert_int_equal(totals(b).elephants.packets[SIZE_ELEPHANT], 2 * MOST);
	bench_close(b);
}

// ---- lossless classes

static void send_roce(struct bench *b, uint32_t psn)
{
	struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY, .qp = 9, .psn = psn,
			 .ecn = ECN_ECT0, .payload = LEN - 14 - 20 - 40};
	uint8_t frame[FRAME_MAX];

	bench_send_raw(b, 0, frame, roce_build(frame, &r));
	bench_run(b, LINE_NS);
}

// The queue marks green frames above 300 KB and red ones at any length: only elephants are marked.
// All of them leave by one queue, in order.
static void an_elephant_in_a_lossless_class_is_coloured_and_stays_in_order(void **state)
{
	struct bench *b = bench_open(
		"switch:\n"
		"  name: lab\n"
		"  buffer: {size: 4MB, cell: 256B}\n"
		"  flows: {max: 64}\n"
		"  elephants: {" RULE ", mice_packets: 0}\n"
		"ports:\n"
		"  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, mtu: 1500,\n"
		"     profile: x}\n"
		"fdb:\n"
		"  - {mac: \"02:00:00:00:00:03\", port: p3}\n"
		"profiles:\n"
		"  x:\n"
		"    dscp_to_class: {default: 0, 24-31: 3}\n"
		"    classes:\n"
		"      3:\n"
		"        lossless: on\n"
		"        wred: {ecn: on, kmin: 300KB, kmax: 300KB, pmax: 100%, mark_at: enqueue,\n"
		"               red: {kmin: 0B, kmax: 0B, pmax: 100%}}\n"
		"        elephants: {color: red}\n", 0);

	(void)state;
	bench_tx(b, 2, -1, false);
	for (uint32_t i = 0; i < 40; i++)
		send_roce(b, i);
	bench_tx(b, 2, -1, true);
	bench_run(b, MS);
	assert_int_equal(b->host[2].n_rx, 40);
	assert_int_equal(sent(b, 3), 40);
	for (uint32_t i = 0; i < 40; i++) {
		const uint8_t *frame = b->host[2].rx[i].data;

		assert_int_equal(be24_get((const void *)(frame + 14 + 20 + 8 + 9)), i); // PSN
		assert_int_equal(frame[15] & 3, i < 10 ? ECN_ECT0 : ECN_CE);
	}
	bench_close(b);
}

// A frame that is sent again after a pause begins a flowlet too.
static void a_rewind_after_a_pause_is_a_mouse(void **state)
{
	struct bench *b = open("{" RULE ", mice_packets: 3}", "64", "");

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		send_roce(b, i);
	assert_int_equal(totals(b).elephants.packets[SIZE_MOUSE], 3);
	bench_run(b, MS);
	for (uint32_t i = 2; i < 7; i++)
		send_roce(b, i);
	assert_int_equal(totals(b).elephants.packets[SIZE_MOUSE], 6);
	bench_close(b);
}

// ---- routes, and flows that share a bucket

// A router looks at the class in which a frame leaves, as a bridge does.
static void a_mouse_that_is_routed_leaves_in_its_class(void **state)
{
	struct bench *b = bench_open(
		"switch: {name: r, buffer: {size: 4MB, cell: 256B}, elephants: {mice_packets: 3}}\n"
		"ports:\n"
		"  - {name: \"p[1-3]\", device: \"wire:[1-3]\", speed: 10G, mtu: 1500,\n"
		"     ip: [\"10.0.[1-3].1/24\"], profile: x}\n"
		"neighbours: [{ip: 10.0.3.2, mac: \"02:00:00:00:00:03\"}]\n"
		"profiles: {x: {classes: {0: {mice: {class: 5, dscp: 40}}}}}\n", 0);
	const struct router_packet k = {.src = "10.0.1.2", .dst = "10.0.3.2", .sport = 5000,
					.dport = 80, .proto = IP_PROTO_TCP, .len = LEN};

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		router_send(b, 0, &k);
		bench_run(b, 20 * US);
	}
	assert_int_equal(sent(b, 5), 3);
	assert_int_equal(sent(b, 0), 2);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(b->host[2].rx[i].data[15], i < 3 ? 40 << 2 : 0);
	bench_close(b);
}

// 60 flows by turns in a table of few buckets: many pairs of them share one, and some have no place
// in either of their two. Each flow that has a place has its own mice and bytes.
static void flows_of_one_bucket_have_their_own_mice(void **state)
{
	enum { FLOWS = 60, FRAMES = 4 };
	struct bench *b = open("{" RULE ", mice_packets: 3}", "64",
			       "      0: {mice: {class: 5}}\n");
	struct router_packet k = tcp;
	struct rows rows;

	(void)state;
	for (unsigned i = 0; i < FRAMES; i++)
		for (uint16_t flow = 0; flow < FLOWS; flow++) {
			k.sport = (uint16_t)(5000 + flow);
			send_n(b, &k, 1, US);
		}
	rows = walk(b);
	assert_in_range(rows.n, 8, FLOWS);
	for (unsigned i = 0; i < rows.n; i++) {
		assert_int_equal(rows.row[i].packets, FRAMES);
		assert_int_equal(rows.row[i].bytes, FRAMES * LEN);
	}
	assert_int_equal(totals(b).refused, (FLOWS - rows.n) * FRAMES);
	assert_int_equal(totals(b).elephants.packets[SIZE_MOUSE], rows.n * 3);
	assert_in_range(sent(b, 5), rows.n * 3, rows.n * 3 + rows.n / 8);
	bench_close(b);
}

// ---- forgery

// A host forges flows. Its port has the whole table of a worker here. Flows that are in it go on.
static void forged_flows_that_fill_the_table_do_no_harm_to_known_ones(void **state)
{
	enum { ROOM = 8 };
	char max[16];
	struct router_packet forged = tcp;
	struct bench *b;

	(void)state;
	snprintf(max, sizeof(max), "%u", ROOM * bench_workers());
	b = open("{" RULE ", mice_packets: 2}", max,
		 "      0: {mice: {class: 5}, elephants: {class: 1}}\n");
	send_n(b, &tcp, 1, LINE_NS);
	for (unsigned i = 1; i <= 50; i++) {
		forged.sport = (uint16_t)(6000 + i);
		send_n(b, &forged, 1, LINE_NS);
	}
	assert_int_equal(totals(b).used, ROOM);
	assert_int_equal(totals(b).refused, 50 - (ROOM - 1));
	// A frame of no flow keeps its class, and is of no size.
	assert_int_equal(sent(b, 5), ROOM);
	assert_int_equal(sent(b, 0), 50 - (ROOM - 1));
	assert_int_equal(totals(b).elephants.packets[SIZE_MOUSE], ROOM);
	send_n(b, &tcp, 40, LINE_NS);
	assert_int_equal(totals(b).elephants.now, 1);
	bench_close(b);
}

// The same addresses and ports from another port, while the flow goes on: none of the flow's.
static void frames_of_the_same_ports_by_another_port_are_of_no_flow(void **state)
{
	struct bench *b = open("{" RULE ", mice_packets: 5}", "64",
			       "      0: {mice: {class: 5}}\n");
	uint8_t frame[FRAME_MAX];

	(void)state;
	send_n(b, &tcp, 1, LINE_NS);
	for (unsigned i = 0; i < 10; i++) {
		bench_send_raw(b, 1, frame, build(frame, 1, 2, &tcp));
		bench_run(b, LINE_NS);
	}
	if (bench_workers() == 1) { // else the other port's worker has a flow of its own
		assert_int_equal(sent(b, 5), 1);
		assert_int_equal(walk(b).n, 1);
	}
	send_n(b, &tcp, 3, LINE_NS);
	assert_int_equal(walk(b).row[0].packets, 4);
	bench_close(b);
}

// ---- beside a tunnel and a guard, with a tag and without

static void a_mouse_has_its_dscp_in_both_headers_of_a_tunnel(void **state)
{
	static const char yaml[] =
		"switch: {name: lab, flows: {max: 64}, elephants: {" RULE "}}\n"
		"vlans: [{id: 100}]\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:1\", speed: 10G, vlan: {untagged: 100}, profile: "
		"x}\n"
		"  - {name: p2, device: \"wire:2\", speed: 10G, vlan: {untagged: none, tagged: "
		"100}, profile: x}\n"
		"  - {name: p3, device: \"wire:3\", speed: 10G, mtu: 1550, ip: [10.0.3.1/24]}\n"
		"neighbours: [{ip: 10.0.3.2, mac: \"02:00:00:00:00:03\"}]\n"
		"fdb: [{mac: \"02:00:00:00:00:09\", vlan: 100, port: 10.0.3.2}]\n"
		"vxlan: {source: 10.0.3.1, vnis: {7: {vlan: 100, peers: [10.0.3.2]}}}\n"
		"profiles: {x: {classes: {0: {mice: {dscp: 40}}}}}\n";

	(void)state;
	for (unsigned from = 0; from < 2; from++) {
		const struct bench_frame f = {.to = 8, .len = 200, .tagged = from == 1, .vid = 100,
					      .dscp = 7};
		struct bench *b = bench_open(yaml, 0);

		bench_send(b, from, &f);
		bench_run(b, MS);
		assert_int_equal(b->host[2].n_rx, 1);
		assert_int_equal(b->host[2].rx[0].data[15] >> 2, 40);
		assert_int_equal(b->host[2].rx[0].data[VXLAN_V4_LEN + 15] >> 2, 40);
		bench_close(b);
	}
}

static void a_guard_knows_a_mouse_by_the_dscp_with_which_it_arrived(void **state)
{
	static const char yaml[] =
		"switch: {name: lab, flows: {max: 64}, elephants: {" RULE "}}\n"
		"ports:\n"
		"  - {name: \"p[1-2]\", device: \"wire:[1-2]\", speed: 10G, profile: x, guard: "
		"{group: up, remap: [{dscp: 7, to_class: 2, to_dscp: 16}]}}\n"
		"fdb: [{mac: \"02:00:00:00:00:02\", port: p2}]\n"
		"profiles: {x: {classes: {0: {mice: {dscp: 40}}}}}\n";
	struct bench *b = bench_open(yaml, 0);
	struct bench_frame f = {.to = 1, .len = 200, .vid = 7, .dscp = 7};

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		f.tagged = n == 1;
		bench_send(b, 0, &f);
		bench_run(b, MS);
		assert_int_equal(b->host[1].n_rx, n + 1);
		assert_int_equal(b->host[1].rx[n].data[f.tagged ? 19 : 15] >> 2, 16);
		assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 1, 2)->tx_packets), n + 1);
	}
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mouse_that_is_routed_leaves_in_its_class),
		cmocka_unit_test(flows_of_one_bucket_have_their_own_mice),
		cmocka_unit_test(the_first_frames_of_a_flow_are_mice),
		cmocka_unit_test(a_pause_makes_the_next_frames_mice_again),
		cmocka_unit_test(every_flow_has_its_own_mice),
		cmocka_unit_test(fragments_and_other_protocols_keep_their_class),
		cmocka_unit_test(a_flow_is_an_elephant_from_the_frame_that_completes_its_bytes),
		cmocka_unit_test(a_slow_flow_is_never_an_elephant),
		cmocka_unit_test(an_elephant_stays_one_above_its_end_rate_and_ends_below),
		cmocka_unit_test(a_pause_within_its_end_age_ends_no_elephant),
		cmocka_unit_test(a_silent_elephant_ends),
		cmocka_unit_test(an_entry_that_leaves_the_table_is_no_elephant_any_more),
		cmocka_unit_test(a_policy_without_elephants_ends_them_and_acts_on_nothing),
		cmocka_unit_test(elephants_end_one_by_one),
		cmocka_unit_test(silent_elephants_end_together),
		cmocka_unit_test(elephants_are_reported_once_a_second),
		cmocka_unit_test(a_worker_follows_4096_elephants),
		cmocka_unit_test(a_rewind_after_a_pause_is_a_mouse),
		cmocka_unit_test(an_elephant_in_a_lossless_class_is_coloured_and_stays_in_order),
		cmocka_unit_test(forged_flows_that_fill_the_table_do_no_harm_to_known_ones),
		cmocka_unit_test(frames_of_the_same_ports_by_another_port_are_of_no_flow),
		cmocka_unit_test(a_mouse_has_its_dscp_in_both_headers_of_a_tunnel),
		cmocka_unit_test(a_guard_knows_a_mouse_by_the_dscp_with_which_it_arrived),
	};

	return cmocka_run_group_tests_name("elephants", tests, bench_eal, NULL);
}
