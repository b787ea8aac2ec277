// SPDX-License-Identifier: Apache-2.0
// Hosts that do badly, on a wire: they start messages over, take frames slowly, pause for too long,
// fence their SENDs.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/lab/nic/pair.h"

static const uint64_t gbps = 1000000000;
enum { CLASS = 3 };

static struct pair_conf wire40(void)
{
	return (struct pair_conf){.speed_bps = 40 * gbps, .delay_ns = 1000};
}

// ---- go-back-0

// Per mille of what the line can carry that came to stay at side 1 in 20 ms.
static uint64_t goodput_permille(uint8_t op, uint32_t msg_bytes, bool go_back_0)
{
	struct pair_conf conf = wire40();
	struct pair p;
	uint64_t good, line = 40 * 20000000ull / 8 * 1024 / (1024 + 58 + 24);

	for (unsigned i = 0; i < 2; i++)
		conf.faults[i].go_back_0 = go_back_0;
	pair_up(&p, &conf);
	// READ data comes to side 0.
	p.end[op == REQ_READ ? 0 : 1].lose_every = 256;
	pair_connect(&p, 0, (struct nic_flow){.op = op, .cls = CLASS, .msg_bytes = msg_bytes});
	pair_run(&p, 20000000);
	good = pair_stats(&p, op == REQ_READ ? 0 : 1)->cls[CLASS].goodput_bytes;
	assert_true(good >= pair_stats(&p, 0)->bytes_completed);
	pair_down(&p);
	return good * 1000 / line;
}

static void go_back_n_hardly_feels_a_loss_in_256(void **state)
{
	(void)state;
	for (uint8_t op = REQ_WRITE; op <= REQ_READ; op++)
		assert_in_range(goodput_permille(op, 4 << 20, false), 850, 990);
}

static void go_back_0_gets_no_4_mb_message_through(void **state)
{
	(void)state;
	for (uint8_t op = REQ_WRITE; op <= REQ_READ; op++)
		assert_int_equal(goodput_permille(op, 4 << 20, true), 0);
}

static void go_back_0_gets_short_messages_through(void **state)
{
	(void)state;
	for (uint8_t op = REQ_WRITE; op <= REQ_READ; op++)
		assert_in_range(goodput_permille(op, 16384, true), 800, 990);
}

static void messages_started_over_arrive_once_and_whole(void **state)
{
	struct pair_conf conf = wire40();
	struct pair p;

	(void)state;
	conf.whole = true;
	conf.faults[0].go_back_0 = conf.faults[1].go_back_0 = true;
	for (uint8_t op = REQ_WRITE; op <= REQ_READ; op++) {
		const struct nic_stats *to;
		uint32_t id;

		pair_up(&p, &conf);
		p.end[0].lose_every = 97;
		p.end[1].lose_every = 101;
		id = pair_connect(&p, 0, (struct nic_flow){.op = op, .cls = CLASS,
							   .msg_bytes = 50001, .n_messages = 200});
		pair_run(&p, 50000000);
		assert_int_equal(nic_flow_status(p.nic[0], id).completed, 200);
		assert_int_equal(nic_flow_status(p.nic[0], id).acked_bytes, 200 * 50001);
		to = pair_stats(&p, op == REQ_READ ? 0 : 1);
		assert_int_equal(to->cls[CLASS].goodput_bytes, 200 * 50001);
		assert_int_equal(pair_stats(&p, 1)->messages_served, 200);
		assert_int_equal(to->payload_errors, 0);
		assert_true(pair_stats(&p, 0)->retransmissions > 2000);
		pair_down(&p);
	}
}

// Only one end is old: slower than go-back-N, or as fast, but nothing is stuck. (A period of loss
// that divides the message would hit the same packet again and again.)
static void one_old_nic_gets_its_messages_through(void **state)
{
	(void)state;
	for (unsigned old = 0; old < 2; old++) {
		struct pair_conf conf = wire40();
		struct pair p;

		conf.whole = true;
		conf.faults[old].go_back_0 = true;
		pair_up(&p, &conf);
		p.end[1].lose_every = 214;
		pair_connect(&p, 0, (struct nic_flow){.op = REQ_SEND, .cls = CLASS,
						      .msg_bytes = 1 << 20, .n_messages = 3});
		pair_run(&p, 100000000);
		assert_int_equal(pair_stats(&p, 0)->messages_completed, 3);
		assert_int_equal(pair_stats(&p, 1)->cls[CLASS].goodput_bytes, 3 << 20);
		assert_int_equal(pair_stats(&p, 1)->payload_errors, 0);
		pair_down(&p);
	}
}

// ---- fence

static uint64_t messages_in_1_ms(uint8_t op, bool fence)
{
	struct pair_conf conf = wire40();
	struct pair p;
	uint64_t n;

	conf.faults[0].fence = fence;
	pair_up(&p, &conf);
	pair_connect(&p, 0, (struct nic_flow){.op = op, .cls = CLASS, .msg_bytes = 1000});
	pair_run(&p, 1000000);
	n = pair_stats(&p, 0)->messages_completed;
	pair_down(&p);
	return n;
}

static void fence_lets_one_send_out_per_round_trip(void **state)
{
	(void)state;
	// 1082 B of the line, an ACK of 86 B, 1 us each way: 2234 ns.
	assert_in_range(messages_in_1_ms(REQ_SEND, true), 1000000 / 2236, 1000000 / 2233);
	assert_true(messages_in_1_ms(REQ_SEND, false) > 4000);
	assert_int_equal(messages_in_1_ms(REQ_WRITE, true), messages_in_1_ms(REQ_WRITE, false));
}

// ---- slow receiver

static void slow_receiver_takes_at_its_rate_and_pauses(void **state)
{
	struct pair_conf conf = wire40();
	const struct pfc_class_stats *tx;
	const struct nic_stats *s;
	struct pair p;
	uint64_t bytes;

	(void)state;
	conf.faults[1].rx_rate_bps = 12 * gbps;
	conf.faults[1].loopback_bps = 2 * gbps;
	pair_up(&p, &conf);
	pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = CLASS, .msg_bytes = 1 << 20});
	pair_run(&p, 2000000);
	bytes = pair_stats(&p, 1)->cls[CLASS].rx_bytes;
	pair_run(&p, 12000000);
	s = pair_stats(&p, 1);
	// 10 Gb/s for 10 ms are 12.5 MB.
	assert_in_range(s->cls[CLASS].rx_bytes - bytes, 12500000 - 1100, 12500000 + 1100);
	assert_int_equal(s->rx_dropped, 0);
	// 128 KiB, and what comes within 2 us and two frames.
	assert_in_range(s->rx_buffer_max_bytes, 131072, 131072 + 10000 + 2 * 1100);
	tx = &nic_pfc_tx(p.nic[1])->stats[CLASS];
	assert_true(ctr_get(&tx->transitions) > 50 && ctr_get(&tx->frames) > 100);
	for (unsigned c = 0; c < 8; c++)
		if (c != CLASS)
			assert_int_equal(ctr_get(&nic_pfc_tx(p.nic[1])->stats[c].frames), 0);
	assert_int_equal(pair_stats(&p, 0)->retransmissions, 0);
	pair_down(&p);
}

static void pause_of_a_slow_receiver_is_refreshed(void **state)
{
	struct pair_conf conf = wire40();
	const struct pfc_class_stats *tx;
	struct pair p;

	(void)state;
	// 64 KiB take 5.2 ms; a PAUSE lasts 839 us.
	conf.faults[1].rx_rate_bps = gbps / 10;
	pair_up(&p, &conf);
	pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = CLASS, .msg_bytes = 1 << 20});
	pair_run(&p, 5000000);
	tx = &nic_pfc_tx(p.nic[1])->stats[CLASS];
	assert_int_equal(ctr_get(&tx->transitions), 1);
	assert_int_equal(ctr_get(&tx->frames), 1 + (5000000 - 27000) / 419424);
	assert_int_equal(pair_stats(&p, 1)->rx_dropped, 0);
	pair_down(&p);
}

static void sender_that_ignores_pause_overruns_a_slow_receiver(void **state)
{
	struct pair_conf conf = wire40();
	const struct nic_stats *s;
	struct pair p;

	(void)state;
	conf.faults[1].rx_rate_bps = 10 * gbps;
	pair_up(&p, &conf);
	nic_ignore_pause(p.nic[0], true);
	pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = CLASS, .msg_bytes = 1 << 20});
	pair_run(&p, 2000000);
	s = pair_stats(&p, 1);
	assert_true(s->rx_dropped > 100);
	assert_true(s->rx_buffer_max_bytes <= 256 * 1024);
	assert_true(pair_stats(&p, 0)->retransmissions > 100);
	pair_down(&p);
}

static void receiver_that_is_slow_no_more_resumes_its_peer_at_once(void **state)
{
	const struct nic_faults none = {0};
	struct pair_conf conf = wire40();
	struct pair p;
	uint64_t before;

	(void)state;
	conf.faults[1].rx_rate_bps = gbps / 100;
	pair_up(&p, &conf);
	pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = CLASS, .msg_bytes = 1 << 16});
	pair_run(&p, 1000000);
	assert_int_equal(nic_pfc_rx(p.nic[0])->paused, 1 << CLASS);
	assert_int_equal(nic_set_faults(p.nic[1], &none), 0);
	pair_poke(&p, 1);
	pair_run(&p, 1002000);
	assert_int_equal(nic_pfc_rx(p.nic[0])->paused, 0);
	before = pair_stats(&p, 1)->cls[CLASS].rx_bytes;
	pair_run(&p, 2002000);
	assert_in_range(pair_stats(&p, 1)->cls[CLASS].rx_bytes - before, 4800000, 4950000);
	assert_int_equal(pair_stats(&p, 0)->retransmissions, 0);
	pair_down(&p);
}

static void faults_out_of_range_are_refused(void **state)
{
	static const struct nic_faults bad[] = {
		{.rx_rate_bps = 10, .loopback_bps = 10},
		{.rx_rate_bps = 10, .rx_buffer_bytes = 1000, .rx_xoff_bytes = 1000},
		{.rx_rate_bps = 10, .rx_xoff_bytes = 1000, .rx_xon_bytes = 1001},
	};
	const struct pair_conf conf = wire40();
	struct pair p;

	(void)state;
	pair_up(&p, &conf);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(nic_set_faults(p.nic[0], &bad[i]), -EINVAL);
	pair_down(&p);
}

// ---- the storm guard

static void guard_ends_a_storm(void **state)
{
	const struct storm_params storm = {.classes = 1u << CLASS, .quanta = 65535,
					   .start_ns = 1000000, .every_ns = 100000,
					   .for_ns = UINT64_MAX};
	struct pair_conf conf = wire40();
	struct pair p;

	(void)state;
	conf.faults[1].storm_guard_ns = 10000000;
	pair_up(&p, &conf);
	pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = CLASS, .msg_bytes = 1 << 16});
	nic_storm_start(p.nic[1], &storm);
	pair_poke(&p, 1);
	pair_run(&p, 10990000);
	assert_false(nic_storm_over(p.nic[1]));
	pair_run(&p, 20000000);
	assert_true(nic_storm_over(p.nic[1]));
	// 1.0, 1.1, ... 10.9 ms; the last runs out by itself.
	assert_int_equal(ctr_get(&nic_pfc_tx(p.nic[1])->stats[CLASS].frames), 100);
	assert_int_equal(pair_stats(&p, 1)->storm_guard_trips, 1);
	assert_int_equal(nic_pfc_rx(p.nic[0])->paused, 0);
	assert_in_range(ctr_get(&nic_pfc_rx(p.nic[0])->stats[CLASS].duration_ns),
			9900000 + 838000, 9900000 + 840000);
	// It is for good.
	nic_storm_start(p.nic[1], &storm);
	pair_poke(&p, 1);
	pair_run(&p, 21000000);
	assert_int_equal(ctr_get(&nic_pfc_tx(p.nic[1])->stats[CLASS].frames), 100);
	pair_down(&p);
}

static void guard_lets_pauses_with_breaks_pass(void **state)
{
	struct pair_conf conf = wire40();
	struct pair p;

	(void)state;
	conf.faults[1].rx_rate_bps = 10 * gbps;
	conf.faults[1].storm_guard_ns = 1000000;
	pair_up(&p, &conf);
	pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = CLASS, .msg_bytes = 1 << 20});
	pair_run(&p, 20000000);
	assert_int_equal(pair_stats(&p, 1)->storm_guard_trips, 0);
	assert_int_equal(pair_stats(&p, 1)->rx_dropped, 0);
	pair_down(&p);
}

static void guarded_receiver_drops_rather_than_pauses_for_ever(void **state)
{
	struct pair_conf conf = wire40();
	struct pair p;

	(void)state;
	conf.faults[1].rx_rate_bps = gbps / 100;
	conf.faults[1].storm_guard_ns = 3000000;
	pair_up(&p, &conf);
	pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = CLASS, .msg_bytes = 1 << 20});
	pair_run(&p, 3000000);
	assert_int_equal(pair_stats(&p, 1)->rx_dropped, 0);
	pair_run(&p, 5000000);
	assert_int_equal(pair_stats(&p, 1)->storm_guard_trips, 1);
	assert_int_equal(nic_pfc_rx(p.nic[0])->paused, 0);
	assert_true(pair_stats(&p, 1)->rx_dropped > 100);
	pair_down(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(go_back_n_hardly_feels_a_loss_in_256),
		cmocka_unit_test(go_back_0_gets_no_4_mb_message_through),
		cmocka_unit_test(go_back_0_gets_short_messages_through),
		cmocka_unit_test(messages_started_over_arrive_once_and_whole),
		cmocka_unit_test(one_old_nic_gets_its_messages_through),
		cmocka_unit_test(fence_lets_one_send_out_per_round_trip),
		cmocka_unit_test(slow_receiver_takes_at_its_rate_and_pauses),
		cmocka_unit_test(pause_of_a_slow_receiver_is_refreshed),
		cmocka_unit_test(sender_that_ignores_pause_overruns_a_slow_receiver),
		cmocka_unit_test(receiver_that_is_slow_no_more_resumes_its_peer_at_once),
		cmocka_unit_test(faults_out_of_range_are_refused),
		cmocka_unit_test(guard_ends_a_storm),
		cmocka_unit_test(guard_lets_pauses_with_breaks_pass),
		cmocka_unit_test(guarded_receiver_drops_rather_than_pauses_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
