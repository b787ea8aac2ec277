// SPDX-License-Identifier: Apache-2.0
// One host sends frames from addresses without end. What the switch says of others, and does about
// their storms, stays as it is without the flood.
#include "dataplane/forward/fdb.h"
#include "tests/lab/storm_bench.h"

#include <stdio.h>

enum {
	TURN_NS = 100000, // of control; a thousand addresses arrive meanwhile
	TURN_EVENTS = 256, // records that the daemon takes in a turn
};

struct flood {
	uint8_t frame[64];
	uint32_t n;
};

// Each frame has another source; they go to host 2, whose address is known.
static bool another_source(struct bench_host *h, struct bench_frame *out)
{
	struct flood *f = h->source_arg;
	uint32_t n = f->n++;

	bench_build(f->frame, 0, &(struct bench_frame){.to = 1, .len = 64});
	for (unsigned i = 0; i < 4; i++)
		f->frame[8 + i] = (uint8_t)(n * 2654435761u >> 8 * i);
	f->frame[7] = 0x77;
	*out = (struct bench_frame){.raw = f->frame, .len = 64};
	return true;
}

static void flood_from(struct bench *b, unsigned host, struct flood *f)
{
	b->host[host].source = another_source;
	b->host[host].source_arg = f;
	actor_poke(&b->host[host].actor);
}

// What control has said, by type; at most TURN_EVENTS records a turn, as in the daemon.
struct heard {
	unsigned n[N_EVENT_TYPES], learned_most; // records of one turn
	uint64_t learned; // addresses
};

static void one_turn(struct bench *b, struct heard *h)
{
	struct event events[TURN_EVENTS];
	unsigned n, learned = 0;

	bench_run(b, TURN_NS);
	n = switch_control_step(b->sw, b->clock.now_ns, events, TURN_EVENTS);
	for (unsigned i = 0; i < n; i++) {
		h->n[events[i].type]++;
		if (events[i].type == EVENT_MAC_LEARNED) {
			learned++;
			h->learned += 1 + event_mac_more(events[i].b);
		}
	}
	h->learned_most = learned > h->learned_most ? learned : h->learned_most;
	actor_poke(&b->actor);
}

static void turns(struct bench *b, unsigned ms, struct heard *h)
{
	for (unsigned i = 0; i < ms * (MS / TURN_NS); i++)
		one_turn(b, h);
}

static void storms_are_found_and_escalate_while_a_host_makes_up_addresses(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open(&s);
	struct flood flood = {{0}, 0};
	struct heard h = {{0}, 0, 0};

	(void)state;
	flood_from(b, 0, &flood);
	turns(b, 2, &h);
	for (unsigned i = 0; i < LIMIT; i++) {
		expect_status(b, 2, 3, WATCHDOG_OPERATIONAL);
		bench_pause(b, 2, BIT3, SHORT_QUANTA);
		turns(b, 3, &h);
		assert_int_equal(h.n[EVENT_STORM], i + 1);
		assert_int_equal(h.n[EVENT_STORM_LIMIT], i + 1 == LIMIT);
	}
	expect_status(b, 2, 3, WATCHDOG_IS_PFC_OFF);
	assert_true(flood.n > 100000);
	assert_int_equal(switch_events_lost(b->sw), 0);
	b->host[0].source = NULL;
	bench_close(b);
}

static void a_flood_makes_one_record_a_turn_that_says_how_many(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open(&s);
	struct flood flood = {{0}, 0};
	struct heard h = {{0}, 0, 0};

	(void)state;
	flood_from(b, 0, &flood);
	for (unsigned i = 0; i < 5; i++)
		one_turn(b, &h);
	assert_int_equal(h.learned_most, 1);
	assert_true(h.learned > 3000);
	assert_int_equal(h.learned, ctr_get(&switch_fdb_port(b->sw, 0)->c.added));
	b->host[0].source = NULL;
	bench_close(b);
}

// Said when the table is full and when it has room again, however many addresses come and go.
static void a_full_table_is_said_once(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open(&s);
	struct flood flood = {{0}, 0};
	struct heard h = {{0}, 0, 0};

	(void)state;
	flood_from(b, 0, &flood);
	turns(b, 5, &h);
	assert_int_equal(h.n[EVENT_FDB_FULL], 1);
	assert_int_equal(h.n[EVENT_FDB_ROOM], 0);
	assert_int_equal(gauge_get(&switch_fdb_port(b->sw, 0)->c.learnt), 16384 - 3);
	assert_int_equal(ctr_get(&switch_fdb_port(b->sw, 0)->c.refused), 0);
	assert_true(ctr_get(&switch_fdb_port(b->sw, 0)->c.evicted) > 10000);
	b->host[0].source = NULL;
	wire_set_up(b->host[0].wire, false);
	switch_links_changed(b->sw);
	turns(b, 1, &h);
	assert_int_equal(h.n[EVENT_FDB_FULL], 1);
	assert_int_equal(h.n[EVENT_FDB_ROOM], 1);
	bench_close(b);
}

// ---- a table of static addresses

enum { FDB_PLACES = 16384 };

// As many static addresses as there are places, all at p2.
static struct bench *open_full_of_static(void)
{
	static const char ports[] =
		"switch: {name: br}\n"
		"ports: [{name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G}]\n"
		"fdb:\n";
	static char yaml[FDB_PLACES * 48 + sizeof(ports)];
	size_t n = (size_t)snprintf(yaml, sizeof(yaml), "%s", ports);

	for (unsigned i = 0; i < FDB_PLACES; i++)
		n += (size_t)snprintf(yaml + n, sizeof(yaml) - n,
				      "- {mac: \"02:01:00:00:%02x:%02x\", port: p2}\n", i >> 8,
				      i & 0xff);
	return bench_open(yaml, 0);
}

static void send_to_static(struct bench *b, unsigned host, unsigned i)
{
	uint8_t f[64];

	bench_build(f, host, &(struct bench_frame){.to = 1, .len = sizeof(f)});
	f[1] = 0x01;
	f[2] = f[3] = 0;
	f[4] = (uint8_t)(i >> 8);
	f[5] = (uint8_t)i;
	bench_send_raw(b, host, f, sizeof(f));
}

static void a_table_full_of_static_addresses_refuses_learned_ones(void **state)
{
	struct bench *b = open_full_of_static();
	struct heard h = {{0}, 0, 0};

	(void)state;
	for (unsigned i = 0; i < FDB_PLACES; i += FDB_PLACES / 16)
		send_to_static(b, 0, i);
	turns(b, 2, &h);
	for (unsigned port = 0; port < 3; port++) {
		const struct fdb_port_counters *c = &switch_fdb_port(b->sw, port)->c;

		assert_int_equal(gauge_get(&c->learnt), 0);
		assert_int_equal(ctr_get(&c->evicted), 0);
		assert_true(port == 0 ? ctr_get(&c->refused) > 0 : ctr_get(&c->refused) == 0);
	}
	assert_int_equal(h.n[EVENT_MAC_LEARNED], 0);
	for (unsigned i = 0; i < FDB_PLACES; i++) {
		send_to_static(b, 0, i);
		bench_run(b, TURN_NS / 100);
	}
	turns(b, 1, &h);
	assert_int_equal(b->host[1].n_rx, FDB_PLACES + 16);
	assert_int_equal(b->host[2].n_rx, 0); // no frame was flooded
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(storms_are_found_and_escalate_while_a_host_makes_up_addresses),
		cmocka_unit_test(a_flood_makes_one_record_a_turn_that_says_how_many),
		cmocka_unit_test(a_full_table_is_said_once),
		cmocka_unit_test(a_table_full_of_static_addresses_refuses_learned_ones),
	};

	return cmocka_run_group_tests_name("mac flood", tests, bench_eal, NULL);
}
