// SPDX-License-Identifier: Apache-2.0
// The first frames to a station whose MAC address is asked for: how many wait, how long, in which
// order they leave, and what ends their wait.
#include "control/config/config.h"
#include "dataplane/policy.h"
#include "tests/lab/router.h"

static void send_of_len(struct bench *b, unsigned from, uint16_t len)
{
	const char *src = from == P1 ? "10.0.1.2" : "10.0.3.2";

	router_send(b, from, &(struct router_packet){.src = src, .dst = "10.7.0.1", .len = len});
}

// The frames of a port beyond its share are dropped, and another port has a share of its own.
static void first_frames_wait_for_their_next_hop_in_order(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 6};
	struct bench *b = router_open(router_routes);
	const struct bench_rx *rx;

	(void)state;
	for (uint16_t i = 0; i < POLICY_PORT_WAITING + 2; i++)
		send_of_len(b, P1, (uint16_t)(100 + i));
	router_settle(b);
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 2);
	send_of_len(b, P3, 300);
	router_settle(b);
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 2);
	assert_int_equal(switch_balance(b->sw).queued, POLICY_PORT_WAITING + 1);
	assert_int_equal(router_received(b), 0);

	router_neighbour(b, P6, "10.0.6.77", mac);
	send_of_len(b, P1, 200);
	router_settle(b);
	assert_int_equal(router_received(b), POLICY_PORT_WAITING + 2);
	assert_int_equal(b->host[P6].n_rx, POLICY_PORT_WAITING + 2);
	rx = b->host[P6].rx;
	for (unsigned i = 0, at = 0; i < b->host[P6].n_rx; i++)
		if (rx[i].len < 300)
			assert_int_equal(rx[i].len, at++ < POLICY_PORT_WAITING ? 99 + at : 200);
	assert_int_equal(switch_balance(b->sw).queued, 0);
	bench_close(b);
}

static void a_frame_waits_no_longer_than_its_time(void **state)
{
	struct bench *b = router_open(router_routes);

	(void)state;
	send_of_len(b, P1, 100);
	bench_run(b, 399000000);
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 0);
	assert_int_equal(switch_balance(b->sw).queued, 1);
	bench_run(b, 2000000);
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 1);
	assert_int_equal(switch_balance(b->sw).queued, 0);
	// One that waits at the end is freed, as bench_close() sees.
	send_of_len(b, P1, 100);
	router_settle(b);
	bench_close(b);
}

static void a_new_policy_ends_the_wait(void **state)
{
	struct bench *b = router_open(router_routes);

	(void)state;
	send_of_len(b, P1, 100);
	router_settle(b);
	bench_publish(b, router_policy("", router_routes));
	router_settle(b);
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 1);
	assert_int_equal(switch_balance(b->sw).queued, 0);
	bench_close(b);
}

// The kernel's routes come in batches (control/linux). Ports and classes are the same in each.
static void other_routes_alone_do_not_end_the_wait(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 3};
	struct bench *b = router_open(router_routes);
	struct policy *next;

	(void)state;
	send_of_len(b, P1, 100);
	router_settle(b);
	next = bench_compile(b, router_policy("", router_routes));
	next->only_routes = true;
	policy_destroy(bench_publish_compiled(b, next));
	router_settle(b);
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 0);
	assert_int_equal(switch_balance(b->sw).queued, 1);
	// The frame takes the way of the new routes.
	next = bench_compile(b, router_policy("", "routes: [{to: 10.7.0.0/16, via: 10.0.3.77}]\n"));
	next->only_routes = true;
	policy_destroy(bench_publish_compiled(b, next));
	router_neighbour(b, P3, "10.0.3.77", mac);
	send_of_len(b, P1, 200);
	router_settle(b);
	assert_int_equal(b->host[P3].n_rx, 2);
	assert_int_equal(switch_balance(b->sw).queued, 0);
	bench_close(b);
}

#define T(f) cmocka_unit_test(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(first_frames_wait_for_their_next_hop_in_order),
		T(a_frame_waits_no_longer_than_its_time),
		T(a_new_policy_ends_the_wait),
		T(other_routes_alone_do_not_end_the_wait),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
