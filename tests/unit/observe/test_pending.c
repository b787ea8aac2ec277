// SPDX-License-Identifier: Apache-2.0
// When a request that takes time is answered. The functions of switch.h that it asks are defined
// here over plain numbers, so that every step can be held still.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "control/daemon/pending.h"
#include "dataplane/policy.h"

enum { REQUEST = 7 };
static const uint64_t T0 = 1000000000;

struct weir_switch {
	struct policy *policy;
	struct port_counters port;
	uint64_t acked; // latest request acknowledged
	uint64_t queued;
};

const struct policy *switch_policy(const struct weir_switch *sw)
{
	return sw->policy;
}

const struct port_counters *switch_port_counters(const struct weir_switch *sw, unsigned port)
{
	assert_int_equal(port, 0);
	return &sw->port;
}

bool switch_request_done(const struct weir_switch *sw, uint64_t request)
{
	return sw->acked >= request;
}

struct balance switch_balance(const struct weir_switch *sw)
{
	return (struct balance){.queued = sw->queued};
}

static void begin(struct weir_switch *sw, struct pending *p, enum pending_kind kind)
{
	static struct policy one_port = {.n_ports = 1};

	*sw = (struct weir_switch){.policy = &one_port};
	pending_start(p, kind, REQUEST, T0);
}

static void tx_off_waits_for_the_owner(void **state)
{
	struct weir_switch sw;
	struct pending p;

	(void)state;
	begin(&sw, &p, PENDING_TX);
	sw.acked = REQUEST - 1;
	assert_int_equal(pending_step(&p, &sw, T0), PENDING_WAIT);
	assert_int_equal(pending_step(&p, &sw, T0 + ACK_TIMEOUT_NS - 1), PENDING_WAIT);
	assert_int_equal(pending_step(&p, &sw, T0 + ACK_TIMEOUT_NS), PENDING_TIMEOUT);
	assert_false(p.acked);
}

static void tx_off_waits_for_what_the_driver_holds(void **state)
{
	struct weir_switch sw;
	struct pending p;

	(void)state;
	begin(&sw, &p, PENDING_TX);
	sw.acked = REQUEST;
	gauge_set(&sw.port.tx_bytes, 10000);
	gauge_set(&sw.port.tx_pending_bytes, 3000);
	assert_int_equal(pending_step(&p, &sw, T0), PENDING_WAIT);
	gauge_set(&sw.port.tx_pending_bytes, 1);
	assert_int_equal(pending_step(&p, &sw, T0 + 1), PENDING_WAIT);
	gauge_set(&sw.port.tx_pending_bytes, 0);
	assert_int_equal(pending_step(&p, &sw, T0 + 2), PENDING_DONE);
}

// Queue 3 was stopped with 3000 B in the driver; other queues never let it run empty.
static void tx_off_is_done_when_a_busy_driver_has_sent_what_it_held(void **state)
{
	struct weir_switch sw;
	struct pending p;

	(void)state;
	begin(&sw, &p, PENDING_TX);
	sw.acked = REQUEST;
	gauge_set(&sw.port.tx_bytes, 10000);
	gauge_set(&sw.port.tx_pending_bytes, 3000);
	assert_int_equal(pending_step(&p, &sw, T0), PENDING_WAIT);
	gauge_set(&sw.port.tx_bytes, 15999); // of these, 2000 B are still inside
	gauge_set(&sw.port.tx_pending_bytes, 3000);
	assert_int_equal(pending_step(&p, &sw, T0 + 1), PENDING_WAIT);
	gauge_set(&sw.port.tx_bytes, 16000);
	assert_int_equal(pending_step(&p, &sw, T0 + 2), PENDING_DONE);
}

static void tx_off_gives_up_on_a_driver_that_never_sends(void **state)
{
	struct weir_switch sw;
	struct pending p;

	(void)state;
	begin(&sw, &p, PENDING_TX);
	sw.acked = REQUEST;
	gauge_set(&sw.port.tx_pending_bytes, 60);
	assert_int_equal(pending_step(&p, &sw, T0), PENDING_WAIT);
	assert_int_equal(pending_step(&p, &sw, T0 + DRAIN_TIMEOUT_NS - 1), PENDING_WAIT);
	assert_int_equal(pending_step(&p, &sw, T0 + DRAIN_TIMEOUT_NS), PENDING_TIMEOUT);
	assert_true(p.acked);
}

static void tx_on_needs_the_owner_only(void **state)
{
	struct weir_switch sw;
	struct pending p;

	(void)state;
	begin(&sw, &p, PENDING_TX);
	p.on = true;
	gauge_set(&sw.port.tx_pending_bytes, 60);
	assert_int_equal(pending_step(&p, &sw, T0), PENDING_WAIT);
	sw.acked = REQUEST;
	assert_int_equal(pending_step(&p, &sw, T0 + 1), PENDING_DONE);
}

static void quiesce_waits_for_queues_and_drivers(void **state)
{
	struct weir_switch sw;
	struct pending p;

	(void)state;
	begin(&sw, &p, PENDING_QUIESCE);
	sw.acked = REQUEST;
	sw.queued = 1;
	assert_int_equal(pending_step(&p, &sw, T0), PENDING_WAIT);
	sw.queued = 0;
	gauge_set(&sw.port.tx_pending_bytes, 60);
	assert_int_equal(pending_step(&p, &sw, T0 + 1), PENDING_WAIT);
	gauge_set(&sw.port.tx_pending_bytes, 0);
	assert_int_equal(pending_step(&p, &sw, T0 + 2), PENDING_DONE);
}

static void quiesce_answers_even_if_something_stays_queued(void **state)
{
	struct weir_switch sw;
	struct pending p;

	(void)state;
	begin(&sw, &p, PENDING_QUIESCE);
	sw.acked = REQUEST;
	sw.queued = 1;
	assert_int_equal(pending_step(&p, &sw, T0 + 5), PENDING_WAIT);
	assert_int_equal(pending_step(&p, &sw, T0 + 5 + DRAIN_TIMEOUT_NS), PENDING_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tx_off_waits_for_the_owner),
		cmocka_unit_test(tx_off_waits_for_what_the_driver_holds),
		cmocka_unit_test(tx_off_is_done_when_a_busy_driver_has_sent_what_it_held),
		cmocka_unit_test(tx_off_gives_up_on_a_driver_that_never_sends),
		cmocka_unit_test(tx_on_needs_the_owner_only),
		cmocka_unit_test(quiesce_waits_for_queues_and_drivers),
		cmocka_unit_test(quiesce_answers_even_if_something_stays_queued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
