// SPDX-License-Identifier: Apache-2.0
// The device of a port goes and another one takes its place while the switch runs.
#include "drivers/absent.h"
#include "tests/lab/rig.h"

#include <string.h>

enum { LINKS_NS = 200000000, OLD_FRAMES = 40, QUANTA = 1000 };

static const char one_lossless[] = "      3: {lossless: true, ingress: {headroom: 20KB}}\n";

static const struct switch_port no_device = {.ops = &absent_ops};

static struct rig *open_rig(void)
{
	const struct port_facts facts = {0};

	return rig_open(lab_yaml(PORTS, "10G", "", "", one_lossless), &facts, true);
}

static struct event *look(struct rig *r, unsigned *n)
{
	static struct event events[64];

	r->now_ns += LINKS_NS;
	*n = switch_control_step(r->sw, r->now_ns, events, 64);
	rig_step(r);
	return events;
}

static unsigned n_of(struct rig *r, enum event_type type)
{
	unsigned n, found = 0;
	const struct event *e = look(r, &n);

	for (unsigned i = 0; i < n; i++)
		found += e[i].type == type;
	return found;
}

static void replace(struct rig *r, unsigned port, const struct switch_port *next)
{
	assert_int_equal(switch_replace_device(r->sw, port, next), 0);
	assert_false(switch_device_replaced(r->sw, port));
	rig_step(r);
	assert_true(switch_device_replaced(r->sw, port));
}

static void frames_that_wait_for_a_device_end_with_it(void **state)
{
	struct rig *r = open_rig();
	struct balance b;

	(void)state;
	r->port[OUT].refuses = true;
	rig_stand(r, 0, 100, MOST);
	rig_stand(r, 3, 100, OLD_FRAMES - MOST);
	assert_int_equal(switch_balance(r->sw).queued, OLD_FRAMES);
	replace(r, OUT, &no_device);
	b = switch_balance(r->sw);
	assert_int_equal(b.queued, 0);
	assert_int_equal(b.dropped, OLD_FRAMES);
	r->port[OUT].closed = true;
	for (unsigned i = 0; i < 3; i++) {
		(void)look(r, &(unsigned){0});
		rig_stand(r, 0, 100, 1);
	}
	assert_false(switch_link_up(r->sw, OUT));
	assert_int_equal(r->port[OUT].n_sent, 0);
	rig_close(r);
}

static void a_device_that_comes_carries_frames(void **state)
{
	struct rig *r = open_rig();
	static struct rig_port fresh;
	const struct switch_port next = {.ops = &rig_ops, .drv = &fresh, .facts = r->facts[OUT]};

	(void)state;
	fresh = (struct rig_port){.room = AMPLE};
	replace(r, OUT, &no_device);
	r->port[OUT].closed = true;
	assert_int_equal(n_of(r, EVENT_PORT_GONE), 1);
	assert_true(switch_device_gone(r->sw, OUT));
	replace(r, OUT, &next);
	assert_int_equal(n_of(r, EVENT_LINK_UP) + n_of(r, EVENT_LINK_UP), 1);
	assert_false(switch_device_gone(r->sw, OUT));
	rig_stand(r, 0, 100, 5);
	for (unsigned i = 0; i < 100; i++) {
		r->now_ns += 1000;
		rig_step(r);
	}
	assert_int_equal(fresh.n_sent, 5);
	rig_close(r);
}

static void a_device_that_goes_before_the_next_look_is_reported_again(void **state)
{
	struct rig *r = open_rig();
	static struct rig_port fresh;
	const struct switch_port next = {.ops = &rig_ops, .drv = &fresh, .facts = r->facts[OUT]};

	(void)state;
	fresh = (struct rig_port){.room = AMPLE};
	replace(r, OUT, &no_device);
	r->port[OUT].closed = true;
	assert_int_equal(n_of(r, EVENT_PORT_GONE), 1);
	replace(r, OUT, &next);
	assert_false(switch_device_gone(r->sw, OUT));
	fresh.down = fresh.gone = true;
	assert_int_equal(n_of(r, EVENT_PORT_GONE), 1);
	rig_close(r);
}

static void an_early_pause_of_a_new_device_is_old_news(void **state)
{
	struct rig *r = open_rig();
	static struct rig_port fresh;
	const struct switch_port next = {.ops = &rig_ops, .drv = &fresh, .facts = r->facts[OUT]};

	(void)state;
	fresh = (struct rig_port){.room = AMPLE, .sees_pfc = true};
	fresh.word[3] = (struct port_pause){.seq = 9, .quanta = QUANTA};
	replace(r, OUT, &next);
	assert_true(switch_link_up(r->sw, OUT));
	rig_step(r);
	assert_false(switch_queue_paused(r->sw, OUT, 3));
	fresh.word[3].seq++;
	rig_step(r);
	assert_true(switch_queue_paused(r->sw, OUT, 3));
	rig_close(r);
}

static void pfc_leaves_with_the_mac_address_of_the_new_device(void **state)
{
	struct rig *r = open_rig();
	static struct rig_port fresh;
	struct switch_port next = {.ops = &rig_ops, .drv = &fresh, .facts = r->facts[0]};

	(void)state;
	fresh = (struct rig_port){.room = AMPLE};
	memcpy(next.facts.mac, "\x02\xaa\xbb\xcc\xdd\xee", 6);
	replace(r, 0, &next);
	rig_tx(r, false);
	for (unsigned i = 0; i < 5000 && fresh.n_pfc == 0; i++) {
		const struct bench_frame f = {.to = OUT, .dscp = 24, .len = 1000};
		struct rig_port *at = &r->port[0];

		rig_arrive(r, 0, &f);
		memcpy(fresh.waiting, at->waiting, sizeof(fresh.waiting));
		fresh.n_waiting = at->n_waiting;
		at->n_waiting = 0;
		rig_step(r);
	}
	assert_int_not_equal(fresh.n_pfc, 0);
	assert_memory_equal(fresh.pfc_mac, next.facts.mac, 6);
	rig_close(r);
}

static uint64_t missed(const struct rig *r)
{
	struct port_drv_stats now;

	switch_drv_stats(r->sw, OUT, &now);
	return now.rx_missed;
}

static void the_numbers_of_a_port_go_on_with_its_next_device(void **state)
{
	struct rig *r = open_rig();
	static struct rig_port fresh;
	const struct switch_port next = {.ops = &rig_ops, .drv = &fresh, .facts = r->facts[OUT]};

	(void)state;
	fresh = (struct rig_port){.room = AMPLE};
	r->port[OUT].stats.rx_missed = 5;
	assert_int_equal(n_of(r, EVENT_RX_MISSED), 1);
	replace(r, OUT, &no_device);
	assert_int_equal(missed(r), 5);
	assert_int_equal(n_of(r, EVENT_RX_MISSED), 0);
	replace(r, OUT, &next);
	assert_int_equal(missed(r), 5);
	fresh.stats.rx_missed = 3;
	assert_int_equal(missed(r), 8);
	assert_int_equal(n_of(r, EVENT_RX_MISSED), 1);
	replace(r, OUT, &no_device);
	assert_int_equal(missed(r), 8);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_that_wait_for_a_device_end_with_it),
		cmocka_unit_test(a_device_that_comes_carries_frames),
		cmocka_unit_test(a_device_that_goes_before_the_next_look_is_reported_again),
		cmocka_unit_test(an_early_pause_of_a_new_device_is_old_news),
		cmocka_unit_test(pfc_leaves_with_the_mac_address_of_the_new_device),
		cmocka_unit_test(the_numbers_of_a_port_go_on_with_its_next_device),
	};

	return cmocka_run_group_tests_name("device", tests, bench_eal, NULL);
}
