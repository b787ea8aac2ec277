// SPDX-License-Identifier: Apache-2.0
// On an idle fabric a message takes as long as ideal.h says, to the nanosecond of rounding at each
// link, and a slowdown is 1.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/lab/ideal.h"
#include "drivers/nic/requester.h"
#include "world.h"

static const char *root;

// One host link of 10G over 10 m, one of 40G over 5 m; a chain of three switches between, the links
// of which differ. h1 and h2 share a switch; h3 is behind three.
static const char fabric[] = "switches: {\"s[1-3]\": {ports: 3}}\n"
			     "hosts: {\"h[1-3]\": {}}\n"
			     "links:\n"
			     "  - {between: [h1, s1.p1], speed: 40G, length: 5m}\n"
			     "  - {between: [h2, s1.p2], speed: 10G, length: 10m}\n"
			     "  - {between: [s1.p3, s2.p1], speed: 25G, delay: 3us}\n"
			     "  - {between: [s2.p2, s3.p1], speed: 100G, length: 1km}\n"
			     "  - {between: [h3, s3.p2], speed: 40G, length: 100m}\n";

// Neither earlier by more than `under`, nor later by more than `over`, in nanoseconds.
struct tolerance {
	uint32_t under, over;
};

static void takes_about_its_ideal_time(const char *of, const char *flow, uint32_t n_done,
				       struct tolerance most)
{
	char yaml[2048];
	struct world w;

	snprintf(yaml, sizeof(yaml), "%sflows:\n  - {%s}\n", of, flow);
	world_create(&w, root, yaml);
	world_run(&w, 50000000);
	assert_int_equal(traffic_n_done(w.t), n_done);
	for (uint64_t i = 0; i < n_done; i++) {
		const struct traffic_done *d = traffic_done(w.t, i);
		uint64_t ideal = traffic_ideal_ns(w.t, d), took = d->done_ns - d->posted_ns;

		if (took + most.under < ideal || took > ideal + most.over)
			fail_msg("%s: %u B took %" PRIu64 " ns, ideally %" PRIu64, flow, d->n_bytes,
				 took, ideal);
	}
	world_destroy(&w);
}

static void takes_its_ideal_time(const char *flow, uint32_t n_done, uint32_t most_over_ns)
{
	takes_about_its_ideal_time(fabric, flow, n_done, (struct tolerance){0, most_over_ns});
}

static void a_message_alone_takes_its_ideal_time(void **state)
{
	static const char *const sizes[] = {"1",    "64",   "999",   "1000", "1001",   "1024B",
					    "4097", "16KB", "100KB", "1MB",  "3000001"};
	static const char *const ways[] = {"from: h1, to: h2", "from: h2, to: h1",
					   "from: h1, to: h3", "from: h3, to: h2"};
	static const char *const ops[] = {"write", "send", "read"};
	char flow[256];

	(void)state;
	for (unsigned i = 0; i < 11; i++) {
		for (unsigned k = 0; k < 4; k++) {
			// Each link rounds up to a nanosecond, there and back: two or four links.
			snprintf(flow, sizeof(flow), "%s, size: %s, count: 3, mtu: %s, op: %s",
				 ways[k], sizes[i], i % 2 ? "1000" : "1024", ops[(i + k) % 3]);
			takes_its_ideal_time(flow, 3, k < 2 ? 4 : 8);
		}
	}
}

static void a_message_with_a_tag_or_over_ipv6_takes_its_ideal_time(void **state)
{
	static const char *const more[] = {"vlan: 0", "ip6: on", "vlan: 0, pcp: 5, ip6: on"};
	static const char *const ops[] = {"write", "send", "read"};
	char flow[256];

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		snprintf(flow, sizeof(flow), "from: h1, to: h3, size: 100KB, count: 3, op: %s, %s",
			 ops[i % 3], more[i / 3]);
		takes_its_ideal_time(flow, 3, 8);
	}
}

// The frames of h1 have a tag as far as s2, which removes it for h2 and puts it on those of h2.
static void a_tag_counts_on_the_links_that_have_it(void **state)
{
	static const char vlans[] =
		"override: {vlans: [{id: 9}], ports: [{name: \"p[1-2]\", vlan: {tagged: [9]}}, "
		"{name: p3, vlan: {untagged: 9}}]}\n"
		"switches: {\"s[1-2]\": {ports: 3}}\n"
		"hosts: {h1: {vlan: 9}, h2: {}}\n"
		"links:\n"
		"  - {between: [h1, s1.p1], speed: 40G, length: 5m}\n"
		"  - {between: [s1.p2, s2.p1], speed: 25G, delay: 3us}\n"
		"  - {between: [h2, s2.p3], speed: 10G, length: 10m}\n";
	static const char *const ways[] = {"from: h1, to: h2", "from: h2, to: h1"};
	static const char *const ops[] = {"write", "send", "read"};
	char flow[256];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		snprintf(flow, sizeof(flow), "%s, size: 10KB, count: 3, op: %s", ways[i % 2],
			 ops[i / 2]);
		takes_about_its_ideal_time(vlans, flow, 3, (struct tolerance){0, 6});
	}
}

// The first message waits for the handshake: a round trip of SYNs, 66 bytes each.
static void a_tcp_message_alone_takes_its_ideal_time(void **state)
{
	static const char *const sizes[] = {"1", "1460", "1461", "14600"};

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned far = 0; far < 2; far++) {
			char yaml[2048];
			struct world w;

			snprintf(yaml, sizeof(yaml),
				 "%sflows:\n  - {from: h1, to: %s, class: 0, tcp: newreno, size: "
				 "%sB, count: 3, interval: 1ms}\n",
				 fabric, far ? "h3" : "h2", sizes[i]);
			world_create(&w, root, yaml);
			world_run(&w, 50000000);
			assert_int_equal(traffic_n_done(w.t), 3);
			for (uint64_t n = 0; n < 3; n++) {
				const struct traffic_done *d = traffic_done(w.t, n);
				uint64_t took = d->done_ns - d->posted_ns;
				uint64_t ideal = traffic_ideal_ns(w.t, d);

				assert_in_range(took, n == 0 ? ideal + 100 : ideal,
						n == 0 ? 3 * ideal + 2000 : ideal + 8);
			}
			world_destroy(&w);
		}
}

static void a_paced_message_takes_its_ideal_time(void **state)
{
	(void)state;
	// The pacer lets a queue pair be late by two frames of 1157 B at line rate: 2 * 231 ns.
	takes_about_its_ideal_time(fabric, "from: h1, to: h3, size: 100KB, count: 2, rate: 5G", 2,
				   (struct tolerance){463, 8});
	takes_its_ideal_time("from: h1, to: h2, size: 100KB, count: 2, rate: 20G", 2, 8);
}

// By hand: 1000 B in a WRITE of one packet are 1074 B and 24 on the wire, an ACK 62 + 24; 40G and
// 10G; cables of 5 m and 10 m take 26 and 51 ns.
static void the_ideal_is_what_a_pencil_says(void **state)
{
	static const struct ideal_path path = {.n = 2,
					       .links = {{40000000000, 26}, {10000000000, 51}}};
	struct ideal_message m = {.op = REQ_WRITE, .mtu = 1024, .n_bytes = 1000};

	(void)state;
	// 1098 * 8 / 40 = 219.6; + 26 + 878.4 + 51 = 1175
	assert_int_equal(ideal_arrival_ns(&path, &m), 1175);
	// 86 * 8 / 10 = 68.8 + 51 + 17.2 + 26 = 163
	assert_int_equal(ideal_complete_ns(&path, &m), 1175 + 163);
	// Three packets of 1024, 1024 and 952: the slow link is busy from the first one's arrival.
	// First 1122 B: 224.4 + 26, then 897.6 + 884.8 + (952 + 82) * 0.8 = 827.2, + 51 = 2911
	m.n_bytes = 3000;
	assert_int_equal(ideal_arrival_ns(&path, &m), 2911);
	// The request of a READ: RETH, 78 + 24 - 4 = 98 B: 19.6 + 26 + 78.4 + 51 = 175; the
	// response comes back with AETH, 1000 + 86 B: 868.8 + 51 + 217.2 + 26 = 1163.
	m = (struct ideal_message){.op = REQ_READ, .mtu = 1024, .n_bytes = 1000};
	assert_int_equal(ideal_arrival_ns(&path, &m), 175 + 1163);
	assert_int_equal(ideal_complete_ns(&path, &m), 175 + 1163);
}

static void requests_and_storage_take_their_ideal_time(void **state)
{
	static const char *const flows[] = {
		"pattern: request, from: h1, to: h3, size: 10KB, count: 3, think: 5us",
		"pattern: request, from: h2, to: h1, size: 1, count: 3, request: 3000",
		"pattern: storage, from: h1, to: h3, size: 4KB, count: 8, think: 50us",
		"pattern: storage, from: h1, to: h3, size: 60KB, count: 8, think: 50us",
		"pattern: storage, from: h1, to: h2, size: 300KB, count: 8",
	};

	(void)state;
	// An ACK may go ahead of an answer: a frame of 86 B, on 10G.
	for (unsigned i = 0; i < sizeof(flows) / sizeof(flows[0]); i++)
		takes_its_ideal_time(flows[i], i < 2 ? 3 : 8, 300);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ideal_is_what_a_pencil_says),
		cmocka_unit_test(a_message_alone_takes_its_ideal_time),
		cmocka_unit_test(a_message_with_a_tag_or_over_ipv6_takes_its_ideal_time),
		cmocka_unit_test(a_tag_counts_on_the_links_that_have_it),
		cmocka_unit_test(a_tcp_message_alone_takes_its_ideal_time),
		cmocka_unit_test(a_paced_message_takes_its_ideal_time),
		cmocka_unit_test(requests_and_storage_take_their_ideal_time),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
