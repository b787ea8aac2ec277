// SPDX-License-Identifier: Apache-2.0
// Frames of a lossless class that is not flooded, to a station that the switch does not know
// (unknown_unicast.h): by its stale address after a flap, and else some of them as probes.
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

#include "dataplane/base/units.h"
#include "dataplane/unknown_unicast.h"

enum { LOSSLESS = 24, MS = 1000000 };

static const char learning[] =
	"switch: {name: lab, mac_age: 60s}\n"
	"ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, profile: x}\n"
	"profiles: {x: {classes: {3: {lossless: on}}}}\n";
static const char with_vlans[] =
	"switch: {name: lab}\n"
	"vlans: [{id: 7, flood: off}]\n"
	"ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, profile: x,\n"
	"     vlan: {untagged: 7}}\n"
	"profiles: {x: {classes: {3: {lossless: on}}}}\n";

static unsigned events_of(const struct bench *b, enum event_type type)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n_events; i++)
		n += b->events[i].type == type;
	return n;
}

static const struct port_counters *counters(const struct bench *b, unsigned port)
{
	return switch_port_counters(b->sw, port);
}

// The host says something that no other host receives.
static void speak(struct bench *b, unsigned from, uint8_t as)
{
	struct bench_frame f = {.to = 0, .len = 100, .as = as};

	bench_inject(b, from, &f, 1);
	bench_run(b, MS);
	bench_control(b);
}

static void send(struct bench *b, unsigned to, uint8_t dscp, unsigned n)
{
	struct bench_frame f = {.to = to, .dscp = dscp, .len = 200};

	bench_inject(b, 0, &f, n);
	bench_run(b, MS);
	bench_control(b);
}

static void set_link(struct bench *b, unsigned port, bool up)
{
	wire_set_up(b->host[port].wire, up);
	bench_run(b, 500 * MS); // the bench looks at links each 100 ms
	bench_control(b);
	bench_run(b, MS);
}

static void expect_rx(struct bench *b, unsigned at2, unsigned at3, unsigned at4)
{
	const unsigned want[3] = {at2, at3, at4};

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(b->host[i + 1].n_rx, want[i]);
		b->host[i + 1].n_rx = 0;
	}
}

static struct bench *opened(const char *yaml)
{
	struct bench *b = bench_open(yaml, 0);

	bench_run(b, 100 * MS);
	bench_control(b);
	speak(b, 0, 0);
	speak(b, 1, 0);
	for (unsigned i = 0; i < 4; i++)
		b->host[i].n_rx = 0;
	b->n_events = 0;
	return b;
}

static void a_flap_takes_no_lossless_frame_of_a_silent_receiver(void **state)
{
	struct bench *b = opened(learning);

	(void)state;
	set_link(b, 1, false);
	send(b, 1, LOSSLESS, 3); // the first is a probe, which p2 does not get
	expect_rx(b, 0, 1, 1);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 2);
	set_link(b, 1, true);
	send(b, 1, LOSSLESS, 1000);
	expect_rx(b, 1000, 0, 0);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 2);
	assert_int_equal(gauge_get(&switch_fdb_port(b->sw, 1)->c.learnt), 0);
	send(b, 1, 0, 2); // a lossy class is flooded, as to any unknown address
	expect_rx(b, 2, 2, 2);
	b->n_events = 0;
	speak(b, 1, 0); // it is known again
	assert_int_equal(events_of(b, EVENT_MAC_LEARNED), 1);
	send(b, 1, 0, 2);
	expect_rx(b, 2, 0, 0);
	bench_close(b);
}

static void a_stale_address_ends_where_its_station_speaks(void **state)
{
	struct bench *b = opened(learning);

	(void)state;
	set_link(b, 1, false);
	set_link(b, 1, true);
	speak(b, 2, 2); // as host 2, at p3
	assert_int_equal(events_of(b, EVENT_MAC_MOVED), 0);
	send(b, 1, LOSSLESS, 5);
	expect_rx(b, 0, 5, 0);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 0);
	bench_close(b);
}

static void a_stale_address_ages_like_others(void **state)
{
	struct bench *b = opened(learning);

	(void)state;
	set_link(b, 1, false);
	set_link(b, 1, true);
	bench_run(b, 50ull * SECOND_NS);
	send(b, 1, LOSSLESS, 5);
	expect_rx(b, 5, 0, 0);
	b->n_events = 0;
	speak(b, 0, 0); // so that it does not age
	for (unsigned i = 0; i < 100; i++) { // a few hundred places a step
		bench_run(b, 200 * MS);
		bench_control(b);
	}
	send(b, 1, LOSSLESS, 5);
	expect_rx(b, 1, 1, 1); // a probe
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 4);
	assert_int_equal(events_of(b, EVENT_MAC_AGED), 0);
	bench_close(b);
}

static void a_vlan_that_is_not_flooded_has_no_probes(void **state)
{
	struct bench *b = opened(with_vlans);
	uint64_t before = bench_drops(b, DROP_NO_EGRESS);

	(void)state;
	set_link(b, 1, false);
	set_link(b, 1, true);
	send(b, 1, LOSSLESS, 5);
	send(b, 1, 0, 5);
	expect_rx(b, 10, 0, 0);
	send(b, 2, LOSSLESS, 5);
	send(b, 2, 0, 5);
	expect_rx(b, 0, 0, 0);
	assert_int_equal(bench_drops(b, DROP_NO_EGRESS), before + 10);
	assert_int_equal(ctr_get(&counters(b, 0)->unknown_probes), 0);
	bench_close(b);
}

// A frame each 10 ms for two seconds: ten probes a second, in the lossy class, and an alarm after
// the first second.
static void a_station_that_nobody_knows_gets_ten_probes_a_second(void **state)
{
	struct bench *b = opened(learning);
	struct bench_frame f = {.to = 2, .dscp = LOSSLESS, .len = 200};

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		assert_int_equal(events_of(b, EVENT_LOSSLESS_UNREACHABLE), i > 101);
		bench_inject(b, 0, &f, 1);
		bench_control(b);
		bench_run(b, 10 * MS);
	}
	assert_int_equal(ctr_get(&counters(b, 0)->unknown_probes), 20);
	assert_int_equal(ctr_get(&counters(b, 0)->lossless_unknown), 180);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 2, 7)->tx_packets), 20);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 2, 3)->tx_packets), 0);
	expect_rx(b, 20, 20, 20);
	speak(b, 2, 0); // as an answer to a probe does
	send(b, 2, LOSSLESS, 100);
	expect_rx(b, 0, 100, 0);
	assert_int_equal(events_of(b, EVENT_LOSSLESS_UNREACHABLE), 1);
	bench_close(b);
}

// Each frame is for another address.
static void a_port_sends_a_hundred_probes_a_second(void **state)
{
	struct bench *b = opened(learning);
	uint8_t frame[64] = {2, 0, 0, 9, 0, 0, 2, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, LOSSLESS << 2};

	(void)state;
	frame[17] = sizeof(frame) - 14;
	for (unsigned i = 0; i < 3000; i++) {
		frame[4] = (uint8_t)(i >> 8);
		frame[5] = (uint8_t)i;
		bench_send_raw(b, 0, frame, sizeof(frame));
		bench_run(b, MS);
		if (i % 100 == 99)
			bench_control(b);
	}
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN),
			 3000 - ctr_get(&counters(b, 0)->unknown_probes));
	// The bucket holds a hundred, and gets a hundred a second.
	assert_in_range(ctr_get(&counters(b, 0)->unknown_probes), 395, 401);
	assert_int_equal(events_of(b, EVENT_LOSSLESS_UNREACHABLE), 0);
	bench_close(b);
}

static void a_group_has_no_probe(void **state)
{
	struct bench *b = opened(learning);
	struct bench_frame f = {.broadcast = true, .dscp = LOSSLESS, .len = 200};

	(void)state;
	bench_inject(b, 0, &f, 5);
	bench_run(b, MS);
	expect_rx(b, 0, 0, 0);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 5);
	bench_close(b);
}

static void a_port_without_a_lossy_class_has_no_probe(void **state)
{
	static const char all_lossless[] =
		"switch: {name: lab}\n"
		"ports:\n"
		"  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, profile: x}\n"
		"profiles: {x: {classes: {0: {lossless: on}, 1: {lossless: on}, 2: {lossless: on}, "
		"3: {lossless: on}, 4: {lossless: on}, 5: {lossless: on}, 6: {lossless: on}, "
		"7: {lossless: on}}}}\n";
	struct bench *b = bench_open(all_lossless, 0);

	(void)state;
	send(b, 2, LOSSLESS, 5);
	expect_rx(b, 0, 0, 0);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 5);
	bench_close(b);
}

// What the switch before has written down (control/daemon/fdb_file.h).
static void an_address_from_before_the_start_is_stale(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 3};
	struct bench *b = opened(learning);

	(void)state;
	switch_fdb_stale(b->sw, mac, 0, 2, b->clock.now_ns);
	switch_fdb_stale(b->sw, (uint8_t[]){2, 0, 0, 0, 0, 2}, 0, 3, b->clock.now_ns); // known
	send(b, 2, LOSSLESS, 5);
	expect_rx(b, 0, 5, 0);
	send(b, 1, LOSSLESS, 5);
	expect_rx(b, 5, 0, 0);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flap_takes_no_lossless_frame_of_a_silent_receiver),
		cmocka_unit_test(a_stale_address_ends_where_its_station_speaks),
		cmocka_unit_test(a_stale_address_ages_like_others),
		cmocka_unit_test(a_vlan_that_is_not_flooded_has_no_probes),
		cmocka_unit_test(a_station_that_nobody_knows_gets_ten_probes_a_second),
		cmocka_unit_test(a_port_sends_a_hundred_probes_a_second),
		cmocka_unit_test(a_group_has_no_probe),
		cmocka_unit_test(a_port_without_a_lossy_class_has_no_probe),
		cmocka_unit_test(an_address_from_before_the_start_is_stale),
	};

	return cmocka_run_group_tests_name("lab_unknown", tests, bench_eal, NULL);
}
