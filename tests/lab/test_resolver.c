// SPDX-License-Identifier: Apache-2.0
// Neighbour resolution of a whole switch: what control answers, asks and learns, on the wire.
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/neighbours/resolver.h"
#include "control/observe/fact.h"
#include "control/observe/route_rows.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/wire.h"
#include "tests/lab/router.h"

enum { LOOP_NS = 3000000, TOLD = 8 };

static const char routes[] = "routes:\n"
			     "  - {to: 10.7.0.0/16, via: 10.0.6.77}\n"
			     "  - {to: \"fd00:7::/48\", via: \"fd00:6::77\"}\n";

struct world {
	struct bench *b;
	struct resolver *r;
};

static void turn(struct world *w, unsigned loops)
{
	for (unsigned i = 0; i < loops; i++) {
		bench_control(w->b);
		(void)resolver_poll(w->r, false, w->b->clock.now_ns);
		actor_poke(&w->b->actor);
		bench_run(w->b, LOOP_NS);
	}
}

static unsigned n_changed(const struct world *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->b->n_events; i++)
		n += w->b->events[i].type == EVENT_NEIGHBOUR_MAC;
	return n;
}

static struct world begin(const char *yaml)
{
	struct world w = {.b = router_open(yaml)};

	assert_int_equal(resolver_create(w.b->sw, w.b->clock.now_ns, &w.r), 0);
	turn(&w, 1);
	return w;
}

static void end(struct world *w)
{
	resolver_destroy(w->r);
	bench_close(w->b);
}

// What the host at a port has heard of neighbours since; the frames are then forgotten.
static unsigned heard(struct world *w, unsigned port, struct neighbour_msg out[TOLD])
{
	struct bench_host *h = &w->b->host[port];
	unsigned n = 0;

	for (uint32_t i = 0; i < h->n_rx; i++)
		if (n < TOLD && neighbour_parse(h->rx[i].data, h->rx[i].len, &out[n]))
			n++;
	h->n_rx = 0;
	return n;
}

static struct neighbour_msg host_msg(unsigned port, bool request, const char *sender,
				     const char *target)
{
	struct neighbour_msg m = {.request = request,
				  .sender_mac = {2, 0, 0, 0, 0, (uint8_t)(port + 1)}};

	m.family = strchr(sender, ':') != NULL ? 6 : 4;
	router_ip(sender, m.sender);
	router_ip(target, m.target);
	return m;
}

static void tell(struct world *w, unsigned port, const struct neighbour_msg *m)
{
	uint8_t frame[NEIGHBOUR_MSG_MAX];

	bench_send_raw(w->b, port, frame, neighbour_build(frame, m));
	turn(w, 2);
}

static struct neighbour_msg answer_of(unsigned port, const char *sender, const char *target)
{
	struct neighbour_msg m = host_msg(port, false, sender, target);

	memcpy(m.to_mac, (uint8_t[]){2, 0, 0, 0, 1, (uint8_t)(port + 1)}, 6);
	return m;
}

static void expect_addr(const uint8_t *ip, const char *text)
{
	uint8_t want[16] = {0};

	router_ip(text, want);
	assert_memory_equal(ip, want, sizeof(want));
}

static void the_switch_answers_for_its_own_addresses_only(void **state)
{
	static const struct {
		const char *asks, *target;
		bool answered;
	} rows[] = {
		{"10.0.1.9", "10.0.1.1", true},	  {"0.0.0.0", "10.0.1.1", true},
		{"10.0.1.9", "10.0.1.2", false},  {"10.0.1.9", "10.0.2.1", false},
		{"fd00:1::9", "fd00:1::1", true}, {"fe80::9", "fd00:1::1", true},
		{"fd00:1::9", "fd00:1::2", false}, {"fd00:1::9", "fd00:2::1", false},
	};
	static const uint8_t mac[6] = {2, 0, 0, 0, 1, P1 + 1};
	struct world w = begin(router_routes);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct neighbour_msg m = host_msg(P1, true, rows[i].asks, rows[i].target);
		struct neighbour_msg told[TOLD];
		unsigned n, answers = 0;

		heard(&w, P1, told);
		tell(&w, P1, &m);
		n = heard(&w, P1, told);
		for (unsigned k = 0; k < n; k++) {
			if (told[k].request)
				continue;
			answers++;
			expect_addr(told[k].sender, rows[i].target);
			expect_addr(told[k].target, rows[i].asks);
			assert_memory_equal(told[k].sender_mac, mac, 6);
		}
		if (answers != rows[i].answered)
			fail_msg("%s asks for %s: %u answers", rows[i].asks, rows[i].target,
				 answers);
	}
	end(&w);
}

static void a_gateway_is_asked_for_before_any_frame_needs_it(void **state)
{
	static const struct {
		const char *gateway, *own, *src, *dst;
	} rows[] = {
		{"10.0.6.77", "10.0.6.1", "10.0.1.2", "10.7.0.1"},
		{"fd00:6::77", "fd00:6::1", "fd00:1::2", "fd00:7::1"},
	};
	struct world w = begin(routes);
	struct neighbour_msg told[TOLD];

	(void)state;
	assert_int_equal(heard(&w, P6, told), 2);
	for (unsigned i = 0; i < 2; i++) {
		struct neighbour_msg m = answer_of(P6, rows[i].gateway, rows[i].own);

		assert_true(told[i].request);
		expect_addr(told[i].target, rows[i].gateway);
		expect_addr(told[i].sender, rows[i].own);
		tell(&w, P6, &m);
		router_send(w.b, P1, &(struct router_packet){.src = rows[i].src,
							     .dst = rows[i].dst});
		turn(&w, 1);
		assert_int_equal(w.b->host[P6].n_rx, 1);
		w.b->host[P6].n_rx = 0;
	}
	assert_int_equal(bench_drops(w.b, DROP_NO_NEIGHBOUR), 0);
	end(&w);
}

static void a_frame_to_an_unknown_station_makes_control_ask(void **state)
{
	struct world w = begin(routes);
	struct neighbour_msg told[TOLD], m = answer_of(P2, "10.0.2.50", "10.0.2.1");
	const struct router_packet p = {.src = "10.0.1.2", .dst = "10.0.2.50"};

	(void)state;
	router_send(w.b, P1, &p);
	turn(&w, 2);
	assert_int_equal(heard(&w, P2, told), 1);
	expect_addr(told[0].target, "10.0.2.50");
	tell(&w, P2, &m);
	router_send(w.b, P1, &p);
	turn(&w, 1);
	assert_int_equal(w.b->host[P2].n_rx, 2);
	assert_int_equal(bench_drops(w.b, DROP_NO_NEIGHBOUR), 0);
	end(&w);
}

// Neither the switch's own address, nor one of another subnet, nor a static one can be claimed.
static void what_may_not_be_claimed_is_ignored(void **state)
{
	static const char *const claims[] = {"10.0.1.1", "10.0.2.77", "192.0.2.1", "10.0.1.2"};
	struct world w = begin(routes);
	struct json_object *rows, *data;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct neighbour_msg m = host_msg(P1, true, claims[i], "10.0.1.1");

		m.sender_mac[5] = 0x66;
		tell(&w, P1, &m);
	}
	data = rows_of_neighbours(w.r, w.b->sw, P1, w.b->clock.now_ns);
	assert_true(json_object_object_get_ex(data, "neighbours", &rows));
	assert_int_equal(json_object_array_length(rows), 2); // the static ones
	assert_null(strstr(json_object_to_json_string(data), ":66"));
	json_object_put(data);
	end(&w);
}

// The next hop of a route: its first address is news to nobody, another one is said.
static void a_next_hop_with_another_mac_address_is_said(void **state)
{
	struct world w = begin(routes);
	struct neighbour_msg m = answer_of(P6, "10.0.6.77", "10.0.6.1");
	const struct event *e = w.b->events;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		tell(&w, P6, &m);
		assert_int_equal(n_changed(&w), 0);
	}
	m.sender_mac[5] = 0x66;
	for (unsigned i = 0; i < 3; i++) { // again and again: one record a second
		tell(&w, P6, &m);
		m.sender_mac[5]++;
	}
	assert_int_equal(n_changed(&w), 1);
	for (; e->type != EVENT_NEIGHBOUR_MAC; e++)
		;
	assert_int_equal(e->port, P6);
	assert_int_equal(e->a, 0x0a00064d);
	assert_int_equal(e->b, 0x020000000066ull);
	end(&w);
}

static void a_reload_takes_gateways_and_neighbours_with_it(void **state)
{
	static const char other[] = "routes: [{to: 10.7.0.0/16, via: 10.0.5.77}]\n";
	struct world w = begin(routes);
	struct neighbour_msg told[TOLD];

	(void)state;
	bench_publish(w.b, router_policy("", other));
	resolver_new_policy(w.r, w.b->clock.now_ns);
	heard(&w, P6, told);
	turn(&w, 1);
	assert_int_equal(heard(&w, P5, told), 1);
	expect_addr(told[0].target, "10.0.5.77");
	turn(&w, 4000 / 3); // four seconds: then the old gateways are asked for no more
	turn(&w, 1);
	assert_int_equal(heard(&w, P6, told), 4); // two more questions for each of two
	turn(&w, 6000 / 3);
	assert_int_equal(heard(&w, P6, told), 0);
	assert_true(heard(&w, P5, told) > 0);
	end(&w);
}

// ---- a flood on one port

enum { STATIONS = 100, SOURCES = 9000, FLOOD_A_TURN = 300 };

static struct {
	struct neighbour_msg asked[512];
	unsigned n;
} questions; // to the stations of P4, which answer late

static void note_question(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	struct neighbour_msg m;

	(void)h;
	if (neighbour_parse(frame, len, &m) && m.request && questions.n < 512)
		questions.asked[questions.n++] = m;
}

static void solicit(struct world *w, unsigned port, unsigned source)
{
	struct neighbour_msg m = host_msg(port, true, "fd00:3::", "fd00:3::1");
	uint8_t frame[NEIGHBOUR_MSG_MAX];

	be16_put(m.sender + 14, (uint16_t)(0x1000 + source));
	m.sender_mac[3] = (uint8_t)(source >> 8);
	m.sender_mac[4] = (uint8_t)source;
	bench_send_raw(w->b, port, frame, neighbour_build(frame, &m));
}

static void answer_all(struct world *w)
{
	uint8_t frame[NEIGHBOUR_MSG_MAX];

	for (unsigned i = 0; i < questions.n; i++) {
		struct neighbour_msg *q = &questions.asked[i];
		struct neighbour_msg m = {.family = q->family,
					  .sender_mac = {2, 0, 0, 4, 0, q->target[3]}};

		memcpy(m.sender, q->target, sizeof(m.sender));
		memcpy(m.target, q->sender, sizeof(m.target));
		memcpy(m.to_mac, q->sender_mac, sizeof(m.to_mac));
		bench_send_raw(w->b, P4, frame, neighbour_build(frame, &m));
	}
	questions.n = 0;
}

// The flood comes first in each turn of control, and what it can fill is full when others speak.
static void flooded_turns(struct world *w, unsigned loops, unsigned a_turn)
{
	static unsigned source;

	for (unsigned i = 0; i < loops; i++) {
		bench_control(w->b);
		w->b->n_events = 0;
		(void)resolver_poll(w->r, false, w->b->clock.now_ns);
		actor_poke(&w->b->actor);
		for (unsigned k = 0; k < a_turn; k++)
			solicit(w, P3, source++ % SOURCES);
		bench_run(w->b, LOOP_NS / 3);
		answer_all(w);
		bench_run(w->b, LOOP_NS - LOOP_NS / 3);
		w->b->host[P3].n_rx = w->b->host[P4].n_rx = w->b->host[P1].n_rx = 0;
	}
}

static unsigned neighbours_in_state(struct world *w, unsigned port, const char *state)
{
	struct json_object *data = rows_of_neighbours(w->r, w->b->sw, (int)port,
						       w->b->clock.now_ns);
	struct json_object *rows, *v;
	unsigned n = 0;

	assert_true(json_object_object_get_ex(data, "neighbours", &rows));
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		json_object_object_get_ex(json_object_array_get_idx(rows, i), "state", &v);
		n += strcmp(json_object_get_string(v), state) == 0;
	}
	json_object_put(data);
	return n;
}

static void send_to_stations(struct world *w)
{
	char dst[32];

	for (unsigned i = 0; i < STATIONS; i++) {
		snprintf(dst, sizeof(dst), "10.0.4.%u", 100 + i);
		router_send(w->b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = dst});
	}
	router_send(w->b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.7.0.1"});
}

static uint64_t port_drops(const struct world *w, unsigned port, enum drop_reason reason)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < N_CLASSES; c++)
		n += ctr_get(&switch_drops(w->b->sw, port, c, reason)->packets);
	return n;
}

// Solicitations from 9,000 sources on P3, faster than control looks; 100 stations and a next hop
// on P4. The next hop is asked again after 30 s, in the middle of the flood.
static void a_flood_on_one_port_takes_nothing_from_another(void **state)
{
	struct world w = begin("routes: [{to: 10.7.0.0/16, via: 10.0.4.77}]\n");
	struct neighbour_msg told[TOLD], m = answer_of(P4, "10.0.4.77", "10.0.4.1");
	uint64_t before;

	(void)state;
	assert_int_equal(heard(&w, P4, told), 1);
	tell(&w, P4, &m);
	w.b->host[P4].on_rx = note_question;
	flooded_turns(&w, 100, FLOOD_A_TURN);
	send_to_stations(&w);
	flooded_turns(&w, 10, FLOOD_A_TURN);
	assert_int_equal(neighbours_in_state(&w, P4, "reachable"), STATIONS + 1);
	flooded_turns(&w, 28000 / 3, 0);
	flooded_turns(&w, 5000 / 3, FLOOD_A_TURN);
	assert_int_equal(neighbours_in_state(&w, P4, "reachable"), STATIONS + 1);
	before = bench_drops(w.b, DROP_NO_NEIGHBOUR);
	send_to_stations(&w);
	bench_run(w.b, LOOP_NS);
	assert_int_equal(w.b->host[P4].n_rx, STATIONS + 1);
	assert_int_equal(bench_drops(w.b, DROP_NO_NEIGHBOUR), before);
	assert_int_equal(ctr_get(&switch_port_counters(w.b->sw, P4)->punt[PUNT_ANSWER].lost), 0);
	assert_int_equal(port_drops(&w, P4, DROP_COPP), 0);
	assert_in_range(port_drops(&w, P3, DROP_COPP), 400000, 600000);
	end(&w);
}

// ---- rows

static void compare(struct json_object *data, unsigned list)
{
	const struct fact_list *l = &fact_lists[list];
	struct json_object *rows, *row, *v;

	assert_true(json_object_object_get_ex(data, l->list, &rows));
	for (size_t k = 0; k < l->n; k++) {
		bool shown = false;

		for (size_t i = 0; !l->single && i < json_object_array_length(rows); i++) {
			row = json_object_array_get_idx(rows, i);
			shown |= json_object_object_get_ex(row, l->rows[k].key, &v);
		}
		if (!shown && !(l->single && json_object_object_get_ex(rows, l->rows[k].key, &v)))
			fail_msg("%s.%s is never shown", l->list, l->rows[k].key);
	}
}

static void every_fact_of_routes_and_neighbours_is_shown(void **state)
{
	struct world w = begin(router_routes);
	struct json_object *r = rows_of_routes(w.r, w.b->sw, -1);
	struct json_object *n = rows_of_neighbours(w.r, w.b->sw, -1, w.b->clock.now_ns);

	(void)state;
	compare(r, FACTS_ROUTES);
	compare(n, FACTS_NEIGHBOURS);
	compare(n, FACTS_NEIGHBOUR_TOTALS);
	json_object_put(r);
	json_object_put(n);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_switch_answers_for_its_own_addresses_only),
		cmocka_unit_test(a_gateway_is_asked_for_before_any_frame_needs_it),
		cmocka_unit_test(a_frame_to_an_unknown_station_makes_control_ask),
		cmocka_unit_test(what_may_not_be_claimed_is_ignored),
		cmocka_unit_test(a_next_hop_with_another_mac_address_is_said),
		cmocka_unit_test(a_reload_takes_gateways_and_neighbours_with_it),
		cmocka_unit_test(a_flood_on_one_port_takes_nothing_from_another),
		cmocka_unit_test(every_fact_of_routes_and_neighbours_is_shown),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
