// SPDX-License-Identifier: Apache-2.0
// What a registry does in one poll at its limits: 4,000 hosts, and 999 zones of 256 patterns each.
// The tests count looks at members of zones, and receivers, and judge no time.
#include "tests/unit/inof/world.h"

#include <stdio.h>

#include "control/inof/registry_impl.h"

enum { HOSTS = 4000, ZONES = 999, MOST_A_HOST = 1000, PORTS = WORLD_PORTS };

static struct world w;

static int begin(void **state)
{
	(void)state;
	world_begin(&w, NULL, 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_end(&w);
	return 0;
}

// Host i: one of ten targets, or an initiator.
static struct host_model host(unsigned i)
{
	struct host_model h = world_host(1 + i, i % PORTS, i < 10 ? INOF_TARGET : INOF_INITIATOR);

	h.service.nqn.len = (uint8_t)snprintf(h.service.nqn.text, INOF_NQN_MAX,
					      "nqn.2014-08.org.nvmexpress:host-%u-%u", i % ZONES,
					      i % INOF_MEMBERS);
	return h;
}

static void fill(void)
{
	for (unsigned i = 0; i < HOSTS; i++) {
		struct host_model h = host(i);

		h.unsubscribed = true; // nobody answers here
		world_register(&w, &h, 120);
	}
	inof_poll(w.r, w.now_ns);
	assert_in_range(inof_n_hosts(w.r), HOSTS - 100, HOSTS);
}

static void set_zones(void)
{
	struct inof_zone *z = calloc(ZONES, sizeof(*z));
	struct inof_member m;
	char text[64];

	assert_non_null(z);
	for (unsigned i = 0; i < ZONES; i++) {
		snprintf(z[i].name, sizeof(z[i].name), "z%u", i);
		for (unsigned k = 0; k < INOF_MEMBERS; k++) {
			snprintf(text, sizeof(text), "nqn.2014-08.org.nvmexpress:host-%u-%u%s", i,
				 k, k % 2 ? "*" : "");
			assert_null(inof_member_parse(text, NULL, NULL, &m));
			assert_int_equal(inof_zone_add(&z[i], text, &m), 0);
		}
	}
	assert_int_equal(inof_set_zones(w.r, INOF_ZONES_POLICY, z, ZONES, w.now_ns), 0);
	for (unsigned i = 0; i < ZONES; i++)
		inof_zone_fini(&z[i]);
	free(z);
}

static void a_change_of_zones_looks_at_no_member_for_each_host(void **state)
{
	uint64_t before;

	(void)state;
	fill();
	before = w.r->work;
	set_zones();
	assert_in_range(w.r->work - before, HOSTS / 2, HOSTS * MOST_A_HOST);
}

static void a_host_that_says_the_same_or_comes_and_goes_is_not_placed_again(void **state)
{
	struct host_model h = host(17), again = host(17);
	uint64_t before;

	(void)state;
	set_zones();
	world_register(&w, &h, 120);
	before = w.r->work;
	for (unsigned i = 0; i < 100; i++) {
		world_register(&w, &h, 120);
		inof_link(w.r, h.port, false, w.now_ns);
		inof_link(w.r, h.port, true, w.now_ns);
		world_register(&w, &h, 120);
		inof_fault(w.r, h.port, INOF_PFC_STORM, w.now_ns);
		world_register(&w, &h, 120);
		inof_fault(w.r, h.port, INOF_NO_FAULT, w.now_ns);
		inof_poll(w.r, w.now_ns);
	}
	assert_int_equal(w.r->work, before);
	world_register(&w, &h, 0); // a goodbye
	world_register(&w, &h, 120);
	assert_int_equal(w.r->work, before);
	again.service.nqn.len--;
	world_register(&w, &again, 120);
	assert_in_range(w.r->work - before, 1, MOST_A_HOST);
}

// The caller gives no more frames then: the frames of a poll cost what one has left.
static void registrations_cost_a_bounded_number_of_looks_a_poll(void **state)
{
	uint64_t most = 0;
	unsigned n = 0;

	(void)state;
	set_zones();
	inof_poll(w.r, w.now_ns);
	while (n < HOSTS) {
		uint64_t before = w.r->work;

		while (n < HOSTS && !inof_is_busy(w.r)) {
			struct host_model h = host(n++);

			world_register(&w, &h, 120);
		}
		most = max_u64(most, w.r->work - before);
		inof_poll(w.r, w.now_ns);
		assert_false(inof_is_busy(w.r));
	}
	assert_in_range(most, 1, WORK_A_POLL + MOST_A_HOST);
}

// All receivers must be compared with one host that comes and goes, and not with all others.
static void a_poll_compares_a_bounded_number_of_hosts(void **state)
{
	unsigned polls = 0;

	(void)state;
	for (unsigned i = 0; i < HOSTS; i++) {
		struct host_model h = host(i);

		world_register(&w, &h, 120);
	}
	while (w.r->round.next < INOF_HOSTS || polls == 0) {
		notices_compare(w.r, w.now_ns);
		polls++;
	}
	assert_in_range(polls, 2, 100); // each host is new to each other one
	for (polls = 0; meet(w.r->dirty_zones, w.r->dirty_zones, ZONE_WORDS) || polls == 0; polls++)
		notices_compare(w.r, w.now_ns);
	for (unsigned i = 0; i < 20; i++) {
		struct host_model h = host(1);

		world_register(&w, &h, i % 2 ? 0 : 120);
		notices_compare(w.r, w.now_ns);
		assert_int_equal(w.r->round.next, INOF_HOSTS); // the round is over
	}
}

static void hosts_that_age_out_at_once_leave_some_a_poll(void **state)
{
	unsigned polls = 0;

	(void)state;
	fill();
	w.now_ns += 120 * S;
	while (inof_next_ns(w.r) <= w.now_ns) {
		unsigned before = inof_n_hosts(w.r);

		inof_poll(w.r, w.now_ns);
		assert_in_range(before - inof_n_hosts(w.r), 0, 64);
		polls++;
	}
	assert_int_equal(inof_n_hosts(w.r), PORTS); // the last one of each
	assert_in_range(polls, HOSTS / 64 - 2, HOSTS / 16);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_change_of_zones_looks_at_no_member_for_each_host),
		TEST(a_host_that_says_the_same_or_comes_and_goes_is_not_placed_again),
		TEST(registrations_cost_a_bounded_number_of_looks_a_poll),
		TEST(a_poll_compares_a_bounded_number_of_hosts),
		TEST(hosts_that_age_out_at_once_leave_some_a_poll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
