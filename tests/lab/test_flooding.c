// SPDX-License-Identifier: Apache-2.0
// Flooding and lossless classes: a replicated frame is charged once, and released with its last
// copy. So headroom that is planned for one frame is enough for a flooded one. A lossless class
// that is not flooded drops frames to unknown addresses, and only those.
#include "dataplane/policy.h"
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

enum { UNKNOWN = 30, PROPAGATION_NS = 1500, PAUSES = 10, PAUSE_EVERY_NS = 500000 };

struct load {
	uint16_t len;
	bool broadcast, known;
};

static bool endless(struct bench_host *h, struct bench_frame *out)
{
	const struct load *l = h->source_arg;

	*out = (struct bench_frame){
		.to = l->known ? 1 : UNKNOWN, .dscp = 24, .len = l->len, .broadcast = l->broadcast};
	return true;
}

static struct bench *open_switch(unsigned n_ports, const char *flood)
{
	char classes[128];

	snprintf(classes, sizeof(classes),
		 "      3: {lossless: true, ingress: {headroom: auto}%s}\n", flood);
	return bench_open(lab_yaml(n_ports, "10G", ", cable: 300m", "", classes), PROPAGATION_NS);
}

// Host 1 sends without end, all others pause the class again and again, and all obey PFC at once.
static struct bench *under_pauses(unsigned n_ports, const char *flood, struct load *l)
{
	struct bench *b = open_switch(n_ports, flood);

	b->host[0].source = endless;
	b->host[0].source_arg = l;
	actor_poke(&b->host[0].actor);
	for (unsigned k = 0; k < PAUSES; k++) {
		for (unsigned i = 1; i < n_ports; i++)
			bench_pause(b, i, 1 << 3, 3000);
		bench_run(b, PAUSE_EVERY_NS);
	}
	return b;
}

static void flooded_lossless_frames_do_not_overrun_headroom(void **state)
{
	static const unsigned ports[] = {4, 8, 16};
	struct load loads[] = {
		{.len = 64}, {.len = 300}, {.len = 1500}, {.len = 64, .broadcast = true}};

	(void)state;
	for (unsigned p = 0; p < 3; p++)
		for (unsigned l = 0; l < sizeof(loads) / sizeof(loads[0]); l++) {
			struct bench *b = under_pauses(ports[p], ", flood: on", &loads[l]);
			const struct port_counters *c = switch_port_counters(b->sw, 0);

			assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
			assert_int_equal(bench_drops(b, DROP_NO_MBUF), 0);
			assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 0);
			assert_true(ctr_get(&switch_pfc_tx(b->sw, 0)->stats[3].transitions) >=
				    PAUSES / 4);
			assert_int_equal(ctr_get(&c->replicated),
					 ctr_get(&c->received) * (ports[p] - 2));
			bench_close(b);
		}
}

// But for one probe, which is for one station (unknown_unicast.h).
static void a_lossless_class_is_not_flooded_by_default(void **state)
{
	static const unsigned ports[] = {4, 16};
	struct load loads[] = {{.len = 64}, {.len = 1500, .broadcast = true}};

	(void)state;
	for (unsigned p = 0; p < 2; p++)
		for (unsigned l = 0; l < 2; l++) {
			struct bench *b = under_pauses(ports[p], "", &loads[l]);
			const struct port_counters *c = switch_port_counters(b->sw, 0);

			assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
			assert_int_equal(ctr_get(&c->unknown_probes), !loads[l].broadcast);
			assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN),
					 ctr_get(&c->received) - ctr_get(&c->unknown_probes));
			assert_int_equal(ctr_get(&c->lossless_unknown),
					 bench_drops(b, DROP_LOSSLESS_UNKNOWN));
			assert_int_equal(ctr_get(&c->replicated),
					 ctr_get(&c->unknown_probes) * (ports[p] - 2));
			bench_close(b);
		}
}

static void a_known_address_is_never_refused(void **state)
{
	struct load l = {.len = 300, .known = true};
	struct bench *b = under_pauses(4, "", &l);

	(void)state;
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 0);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->unknown_probes), 0);
	bench_close(b);
}

// A switch that learns, class 3 lossless and not flooded.
static const char learning[] =
	"switch: {name: lab}\n"
	"ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, profile: x}\n"
	"profiles: {x: {classes: {3: {lossless: on}}}}\n";

static unsigned events_of(const struct bench *b, enum event_type type, const struct event **last)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type == type) {
			n++;
			*last = &b->events[i];
		}
	return n;
}

static void a_frame_that_is_refused_still_teaches_its_source(void **state)
{
	struct bench *b = bench_open(learning, 0);
	struct bench_frame f = {.to = 1, .dscp = 24, .len = 100};
	const struct event *e = NULL;

	(void)state;
	bench_inject(b, 0, &f, 4);
	bench_control(b);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 3); // the first was a probe
	bench_run(b, 10000);
	assert_int_equal(b->host[1].n_rx, 1);
	assert_int_equal(events_of(b, EVENT_LOSSLESS_DROP, &e), 0);
	assert_int_equal(events_of(b, EVENT_LOSSLESS_UNKNOWN, &e), 1);
	assert_int_equal(e->port, 0);
	assert_int_equal(e->cls, 3);
	assert_int_equal(e->b, 0x020000000002);
	f.to = 0;
	bench_inject(b, 1, &f, 1); // host 1 is known by now, and so is host 2 soon
	bench_run(b, 10000);
	bench_control(b);
	assert_int_equal(b->host[0].n_rx, 1);
	f.to = 1;
	bench_inject(b, 0, &f, 1);
	bench_run(b, 10000);
	assert_int_equal(b->host[1].n_rx, 2);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 3);
	bench_run(b, 1000000000);
	f.to = 2;
	bench_inject(b, 0, &f, 2);
	bench_control(b);
	assert_int_equal(events_of(b, EVENT_LOSSLESS_UNKNOWN, &e), 2); // one a second
	f.dscp = 0;
	bench_run(b, 10000);
	b->host[2].n_rx = 0;
	bench_inject(b, 0, &f, 1); // a lossy class is flooded
	bench_run(b, 10000);
	assert_int_equal(b->host[2].n_rx, 1);
	bench_close(b);
}

// Control has not looked yet. Not to the port itself, not when the link is down, not for ever.
static void an_address_that_was_just_heard_is_not_unknown(void **state)
{
	struct bench *b = bench_open(learning, 0);
	struct bench_frame f = {.broadcast = true, .len = 100};

	(void)state;
	bench_inject(b, 1, &f, 1);
	f = (struct bench_frame){.to = 1, .dscp = 24, .len = 100};
	bench_inject(b, 0, &f, 2);
	bench_run(b, 10000);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 0);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->unknown_probes), 0);
	assert_int_equal(b->host[1].n_rx, 2);
	assert_int_equal(b->host[2].n_rx, 1); // the broadcast
	bench_inject(b, 1, &f, 2); // the first is a probe
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 1);
	bench_run(b, 400000000); // control is late
	bench_inject(b, 0, &f, 2);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 1);
	bench_run(b, 200000000);
	bench_inject(b, 0, &f, 2); // the first is a probe here too
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 2);
	bench_close(b);
}

// A thousand new addresses at p3 are more than the switch remembers.
static void a_flood_of_addresses_takes_no_address_that_another_port_just_heard(void **state)
{
	struct bench *b = bench_open(learning, 0);
	struct bench_frame f = {.broadcast = true, .len = 100};
	uint8_t frame[64];

	(void)state;
	bench_inject(b, 1, &f, 1);
	bench_build(frame, 2, &(struct bench_frame){.to = UNKNOWN, .len = sizeof(frame)});
	for (unsigned i = 0; i < 1000; i++) {
		frame[9] = (uint8_t)(i >> 8);
		frame[10] = (uint8_t)i;
		bench_send_raw(b, 2, frame, sizeof(frame));
	}
	bench_run(b, 100000);
	bench_inject(b, 3, &f, 1);
	f = (struct bench_frame){.to = 1, .dscp = 24, .len = 100};
	bench_inject(b, 0, &f, 1); // reported before the flood
	f.to = 3;
	bench_inject(b, 0, &f, 1); // and after it
	bench_run(b, 10000);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 0);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->unknown_probes), 0);
	bench_close(b);
}

// Two ports report the same address: the station has moved.
static void of_two_ports_that_heard_an_address_the_latest_counts(void **state)
{
	(void)state;
	for (unsigned first = 2; first < 4; first++) {
		struct bench *b = bench_open(learning, 0);
		struct bench_frame f = {.broadcast = true, .len = 100, .as = 77};
		unsigned last = 5 - first;

		bench_inject(b, first, &f, 1);
		bench_run(b, 10000);
		bench_inject(b, last, &f, 1);
		bench_run(b, 10000);
		b->host[first].n_rx = b->host[last].n_rx = 0;
		f = (struct bench_frame){.to = 76, .dscp = 24, .len = 100};
		bench_inject(b, 0, &f, 1);
		bench_run(b, 10000);
		assert_int_equal(b->host[first].n_rx, 0);
		assert_int_equal(b->host[last].n_rx, 1);
		bench_close(b);
	}
}

// ---- groups that the policy names

enum { GROUP_A = 1, GROUP_B, GROUP_PORTS = 6 };

// A frame of host `from` to a group, with its VLAN if it is not 0.
static void send_to_group(struct bench *b, unsigned from, uint8_t group, uint8_t dscp, uint16_t vid)
{
	uint8_t raw[100];
	struct bench_frame f = {
		.dscp = dscp, .len = sizeof(raw), .tagged = vid != 0, .vid = vid, .pcp = 3};

	bench_build(raw, from, &f);
	memcpy(raw, (uint8_t[]){1, 0, 0x5e, 0, 0, group}, 6);
	f.raw = raw;
	bench_inject(b, from, &f, 1);
	bench_run(b, 10000);
}

// The hosts that got a frame since the last call, one digit a frame: "24".
static const char *receivers(struct bench *b)
{
	static char text[64];
	size_t n = 0;

	for (unsigned i = 0; i < b->n_ports; i++)
		for (; b->host[i].n_rx != 0 && n + 1 < sizeof(text); b->host[i].n_rx--)
			text[n++] = (char)('1' + i);
	text[n] = '\0';
	return text;
}

static const char with_group[] =
	"      3: {lossless: true, ingress: {headroom: auto}}\n"
	"multicast: [{mac: \"01:00:5e:00:00:01\", ports: [p2, p4, p5]}]\n";

static void a_group_of_the_policy_gets_its_frames_at_its_ports_only(void **state)
{
	struct bench *b = bench_open(lab_yaml(GROUP_PORTS, "10G", "", "", with_group), 0);

	(void)state;
	for (unsigned dscp = 0; dscp <= 24; dscp += 24) {
		send_to_group(b, 0, GROUP_A, (uint8_t)dscp, 0);
		assert_string_equal(receivers(b), "245");
		send_to_group(b, 3, GROUP_A, (uint8_t)dscp, 0); // a member
		assert_string_equal(receivers(b), "25");
	}
	send_to_group(b, 0, GROUP_B, 0, 0); // not named
	assert_string_equal(receivers(b), "23456");
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 0);
	send_to_group(b, 0, GROUP_B, 24, 0);
	assert_string_equal(receivers(b), "");
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 1);
	bench_publish(b, lab_yaml(GROUP_PORTS, "10G", "", "",
				  "      3: {lossless: true, ingress: {headroom: auto}}\n"));
	send_to_group(b, 0, GROUP_A, 0, 0);
	assert_string_equal(receivers(b), "23456");
	bench_close(b);
}

static void a_group_is_of_its_vlan(void **state)
{
	static const char yaml[] =
		"switch: {name: lab}\n"
		"ports: [{name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, profile: x,\n"
		"  vlan: {tagged: [10, 20]}}]\n"
		"vlans: [{id: 10}, {id: 20}]\n"
		"multicast:\n"
		"  - {mac: \"01:00:5e:00:00:01\", vlan: 20, ports: [p4]}\n"
		"  - {mac: \"01:00:5e:00:00:01\", vlan: 10, ports: [p2, p3]}\n"
		"profiles: {x: {}}\n";
	struct bench *b = bench_open(yaml, 0);

	(void)state;
	send_to_group(b, 0, GROUP_A, 0, 10);
	assert_string_equal(receivers(b), "23");
	send_to_group(b, 0, GROUP_A, 0, 20);
	assert_string_equal(receivers(b), "4");
	send_to_group(b, 0, GROUP_B, 0, 20);
	assert_string_equal(receivers(b), "234");
	bench_close(b);
}

// Of a group, and of a frame that is flooded to all ports.
static void a_frame_that_only_dead_links_may_carry_is_dropped_as_port_down(void **state)
{
	static const char *const kinds[] = {with_group, "      3: {lossless: true, flood: on}\n"};

	(void)state;
	for (unsigned flooded = 0; flooded < 2; flooded++) {
		struct bench *b =
			bench_open(lab_yaml(GROUP_PORTS, "10G", "", "", kinds[flooded]), 0);

		for (unsigned port = 1; port < GROUP_PORTS - 1; port++) {
			send_to_group(b, 0, GROUP_A, 24, 0);
			assert_int_equal(bench_drops(b, DROP_PORT_DOWN), 0);
			wire_set_up(b->host[port].wire, false);
			bench_run(b, 200000000);
			bench_control(b);
		}
		send_to_group(b, 0, GROUP_A, 24, 0);
		assert_int_equal(bench_drops(b, DROP_PORT_DOWN), !flooded);
		wire_set_up(b->host[GROUP_PORTS - 1].wire, false);
		bench_run(b, 200000000);
		bench_control(b);
		send_to_group(b, 0, GROUP_A, 24, 0);
		assert_int_equal(bench_drops(b, DROP_PORT_DOWN), 2 - flooded);
		assert_int_equal(bench_drops(b, DROP_NO_EGRESS), 0);
		bench_close(b);
	}
}

static void a_group_without_another_member_has_no_egress(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(GROUP_PORTS, "10G", "", "",
			 "      3: {lossless: true}\n"
			 "multicast: [{mac: \"01:00:5e:00:00:01\", ports: [p1]}]\n"), 0);

	(void)state;
	wire_set_up(b->host[1].wire, false);
	bench_run(b, 200000000);
	bench_control(b);
	send_to_group(b, 0, GROUP_A, 24, 0);
	assert_int_equal(bench_drops(b, DROP_NO_EGRESS), 1);
	assert_int_equal(bench_drops(b, DROP_PORT_DOWN), 0);
	bench_close(b);
}

static bool endless_group(struct bench_host *h, struct bench_frame *out)
{
	static uint8_t raw[300];

	*out = (struct bench_frame){.dscp = 24, .len = sizeof(raw)};
	bench_build(raw, 0, out);
	memcpy(raw, (uint8_t[]){1, 0, 0x5e, 0, 0, GROUP_A}, 6);
	out->raw = raw;
	(void)h;
	return true;
}

static void storm_control_takes_no_lossless_frame_of_a_group(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(GROUP_PORTS, "10G", ", storm_control: {multicast: 1}", "", with_group), 0);
	enum { FRAMES = 400 };

	(void)state;
	for (unsigned i = 0; i < FRAMES; i++) {
		send_to_group(b, 0, GROUP_A, 24, 0);
		assert_string_equal(receivers(b), "245");
	}
	assert_int_equal(bench_drops(b, DROP_STORM_CONTROL), 0);
	for (unsigned i = 0; i < FRAMES; i++)
		send_to_group(b, 0, GROUP_A, 0, 0);
	assert_true(bench_drops(b, DROP_STORM_CONTROL) > 0);
	bench_close(b);
}

// Its members pause again and again. The memory of copies was planned for the group.
static void a_lossless_group_loses_nothing_under_pauses(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(GROUP_PORTS, "10G", ", cable: 300m", "", with_group), PROPAGATION_NS);
	const struct port_counters *c = switch_port_counters(b->sw, 0);

	(void)state;
	b->host[0].source = endless_group;
	actor_poke(&b->host[0].actor);
	for (unsigned k = 0; k < PAUSES; k++) {
		for (unsigned i = 1; i < GROUP_PORTS; i++)
			bench_pause(b, i, 1 << 3, 3000);
		bench_run(b, PAUSE_EVERY_NS);
	}
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
	assert_int_equal(bench_drops(b, DROP_NO_MBUF), 0);
	assert_true(ctr_get(&switch_pfc_tx(b->sw, 0)->stats[3].transitions) >= PAUSES / 4);
	assert_int_equal(ctr_get(&c->replicated), ctr_get(&c->received) * 2);
	bench_close(b);
}

static void note_group(void *arg, const struct fdb_row *r)
{
	char *text = arg;

	if (r->mac[0] == 1)
		sprintf(text + strlen(text), "%02x p%u%s ", r->mac[5], r->port + 1u,
			r->is_static ? " static" : "");
}

static void a_group_is_shown_with_its_ports(void **state)
{
	struct bench *b = bench_open(lab_yaml(GROUP_PORTS, "10G", "", "", with_group), 0);
	char text[256] = "";

	(void)state;
	switch_fdb_walk(b->sw, 0, note_group, text);
	assert_string_equal(text, "01 p2 static 01 p4 static 01 p5 static ");
	bench_close(b);
}

static uint64_t charged(const struct bench *b)
{
	return pg_used(switch_pg_state(b->sw, 0, 3)) + pg_used(switch_pg_state(b->sw, 0, 0));
}

// Ten copies leave by a port, or are lost with the link of p2.
static void ten_copies_end(struct bench *b, unsigned port)
{
	if (port == 1) {
		wire_set_up(b->host[1].wire, false);
		bench_run(b, 200000000);
		bench_control(b);
	} else {
		bench_tx(b, port, -1, true);
	}
	bench_run(b, 100000);
	if (port == 1)
		assert_int_equal(bench_drops(b, DROP_PORT_DOWN), 10);
	else
		assert_int_equal(b->host[port].n_rx, 10);
}

static void the_charge_lasts_until_the_last_copy_is_gone(void **state)
{
	static const unsigned orders[][3] = {{2, 1, 3}, {2, 3, 1}, {1, 2, 3},
					     {1, 3, 2}, {3, 1, 2}, {3, 2, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct bench *b = open_switch(4, ", flood: on");
		struct bench_frame f = {.to = UNKNOWN, .dscp = 24, .len = 600};
		const struct queue_counters *q = switch_queue_counters(b->sw, 3, 3);

		for (unsigned port = 1; port < 4; port++)
			bench_tx(b, port, -1, false);
		bench_inject(b, 0, &f, 10);
		for (unsigned k = 0; k < 3; k++) {
			assert_int_equal(charged(b), 10 * 3);
			assert_int_equal(switch_copies(b->sw), 10 * (3 - k));
			ten_copies_end(b, orders[i][k]);
			bench_check_held(b);
		}
		assert_int_equal(charged(b), 0);
		assert_int_equal(switch_copies(b->sw), 0);
		// How long a copy has waited is known to its record.
		if (orders[i][0] == 1 || orders[i][2] == 3)
			assert_in_range(gauge_get(&q->residence_max_ns), 200000000, 300000000);
		bench_close(b);
	}
}

// Tail drop at one port, a frame that is too long at another, in a lossy class.
static void copies_that_are_dropped_hold_nothing(void **state)
{
	static const char yaml[] =
		"switch: {name: lab}\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:a\", speed: 10G, mtu: 3000, profile: x}\n"
		"  - {name: p2, device: \"wire:d\", speed: 10G, mtu: 3000, profile: x}\n"
		"  - {name: p3, device: \"wire:b\", speed: 10G, mtu: 1500, profile: x}\n"
		"  - {name: p4, device: \"wire:c\", speed: 10G, mtu: 3000, profile: x}\n"
		"profiles: {x: {classes: {0: {egress: {static: 5KB}}}}}\n";
	struct bench *b = bench_open(yaml, 0);
	struct bench_frame f = {.broadcast = true, .len = 2000};

	(void)state;
	bench_tx(b, 1, -1, false);
	bench_inject(b, 0, &f, 10); // 8 cells each; 19 cells fit into the queue
	bench_run(b, 10000);
	assert_int_equal(bench_drops(b, DROP_EGRESS_MTU), 10);
	assert_int_equal(bench_drops(b, DROP_EGRESS_TAIL), 8);
	assert_int_equal(b->host[3].n_rx, 10);
	assert_int_equal(charged(b), 2 * 8);
	assert_int_equal(switch_copies(b->sw), 2);
	bench_tx(b, 1, -1, true);
	bench_run(b, 10000);
	assert_int_equal(charged(b), 0);
	assert_int_equal(switch_copies(b->sw), 0);
	bench_close(b);
}

// The pool of frames has one for each cell: a storm of broadcasts must leave those of other frames.
static void copies_never_take_more_frames_than_there_are_cells(void **state)
{
	struct bench *b =
		bench_open(lab_yaml(16, "10G", "", "", "      0: {egress: {static: 4MB}}\n"), 0);
	struct bench_frame f = {.broadcast = true, .len = 64};
	uint32_t cells = b->policy->buffer.ingress_pool_cells;

	(void)state;
	for (unsigned port = 1; port < 16; port++)
		bench_tx(b, port, -1, false);
	bench_inject(b, 0, &f, cells / 31 - 1);
	assert_int_equal(bench_drops(b, DROP_INGRESS_POOL), 0);
	bench_inject(b, 0, &f, 100);
	assert_true(bench_drops(b, DROP_INGRESS_POOL) >= 98);
	assert_true(switch_balance(b->sw).queued <= cells);
	assert_int_equal(switch_copies(b->sw), 15 * charged(b));
	bench_close(b);
}

// One port does not drain, and the egress limit of its lossy queue is as high as it goes.
static void copies_leave_room_for_the_frames_of_others(void **state)
{
	struct bench *b = bench_open(lab_yaml(4, "10G", "", "",
					      "      0: {egress: {static: 4MB}}\n"
					      "      3: {lossless: true}\n"),
				     0);
	struct bench_frame storm = {.broadcast = true, .len = 64}, f = {.to = 3, .len = 1500};
	uint32_t cells = b->policy->buffer.ingress_pool_cells;

	(void)state;
	bench_tx(b, 1, -1, false);
	for (uint32_t i = 0; i < 2 * cells; i += 100) {
		bench_inject(b, 0, &storm, 100);
		bench_run(b, 1000000);
	}
	assert_true(bench_drops(b, DROP_INGRESS_POOL) > 0);
	assert_in_range(switch_copies(b->sw), cells / 4, cells / 3 + 1);
	b->host[3].n_rx = 0;
	bench_inject(b, 2, &f, 1);
	f.dscp = 24;
	bench_inject(b, 2, &f, 1);
	bench_run(b, 1000000);
	assert_int_equal(b->host[3].n_rx, 2);
	assert_false(pg_in_xoff(switch_pg_state(b->sw, 2, 3)));
	bench_close(b);
}

// Frames of one lossy class fill the pool, copies of another class are there, and no lossless class
// is flooded: then XON waits for no copy.
static void copies_of_lossy_classes_delay_no_xon(void **state)
{
	struct bench *b =
		bench_open(lab_yaml(4, "10G", "", "",
				    "      0: {egress: {static: 4MB}}\n"
				    "      3: {lossless: true, ingress: {headroom: 20KB}}\n"),
			   0);
	struct bench_frame storm = {.broadcast = true, .len = 64};
	struct bench_frame fill = {.to = 1, .len = 64}, f = {.to = 3, .dscp = 24, .len = 1500};
	const struct pg_state *pg = switch_pg_state(b->sw, 2, 3);

	(void)state;
	bench_tx(b, 1, -1, false);
	bench_inject(b, 0, &storm, 1);
	while (bench_drops(b, DROP_INGRESS_POOL) == 0)
		bench_inject(b, 0, &fill, 100);
	bench_tx(b, 3, 3, false);
	for (unsigned i = 0; !pg_in_xoff(pg) && i < 4; i++)
		bench_inject(b, 2, &f, 1);
	assert_true(pg_in_xoff(pg));
	bench_tx(b, 3, 3, true);
	bench_run(b, 1000000);
	assert_false(pg_in_xoff(pg));
	bench_close(b);
}

static void let_a_frame_out(struct bench *b, unsigned first)
{
	for (unsigned port = first; port < 4; port++) {
		bench_tx(b, port, -1, true);
		bench_run(b, 1);
		bench_tx(b, port, -1, false);
	}
	bench_run(b, 1000);
}

// Two ports fill the pool with copies. The first one's group could leave XOFF by its own threshold.
static void no_group_leaves_xoff_while_copies_fill_the_pool(void **state)
{
	struct bench *b =
		bench_open(lab_yaml(4, "10G", "", "",
				    "      3: {lossless: true, flood: on, ingress: {static: "
				    "3MB, headroom: 20KB}}\n"),
			   0);
	struct bench_frame f = {.to = UNKNOWN, .dscp = 24, .len = 64};
	const struct pg_state *pg = switch_pg_state(b->sw, 0, 3);
	uint64_t in_pool;

	(void)state;
	for (unsigned port = 0; port < 4; port++)
		bench_tx(b, port, -1, false);
	while (!pg_in_xoff(pg))
		bench_inject(b, 0, &f, 1);
	bench_inject(b, 1, &f, 30);
	assert_true(pg_in_xoff(switch_pg_state(b->sw, 1, 3)));
	assert_int_equal(gauge_get(&pg->headroom), 1);
	let_a_frame_out(b, 1);
	assert_int_equal(gauge_get(&pg->headroom), 0);
	in_pool = switch_pool(b->sw, POOL_INGRESS).used + switch_copies(b->sw);
	assert_true(in_pool > b->policy->buffer.ingress_pool_cells);
	assert_true(pg_in_xoff(pg));
	for (unsigned k = 0; k < 31; k++)
		let_a_frame_out(b, 1);
	assert_false(pg_in_xoff(pg));
	assert_int_equal(bench_drops(b, DROP_NO_MBUF), 0);
	bench_close(b);
}

// The address is known, but its port has left the VLAN: it is not unknown.
static void an_address_in_another_vlan_is_not_unknown(void **state)
{
	static const char yaml[] =
		"switch: {name: lab}\n"
		"vlans: [{id: 1}, {id: 2}]\n"
		"ports:\n"
		"  - {name: \"p[1-2]\", device: \"wire:w[1-2]\", speed: 10G, profile: x}\n"
		"  - {name: p3, device: \"wire:w3\", speed: 10G, profile: x,\n"
		"     vlan: {untagged: %u}}\n"
		"profiles: {x: {classes: {3: {lossless: on}}}}\n";
	struct bench_frame f = {.to = 0, .len = 100};
	char text[512];
	struct bench *b;

	(void)state;
	snprintf(text, sizeof(text), yaml, 1);
	b = bench_open(text, 0);
	bench_inject(b, 2, &f, 1);
	bench_control(b);
	snprintf(text, sizeof(text), yaml, 2);
	bench_publish(b, text);
	f.to = 2;
	f.dscp = 24;
	bench_inject(b, 0, &f, 1);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 0);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->unknown_probes), 0);
	assert_int_equal(bench_drops(b, DROP_NO_EGRESS), 1);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flooded_lossless_frames_do_not_overrun_headroom),
		cmocka_unit_test(a_lossless_class_is_not_flooded_by_default),
		cmocka_unit_test(a_known_address_is_never_refused),
		cmocka_unit_test(a_frame_that_is_refused_still_teaches_its_source),
		cmocka_unit_test(an_address_that_was_just_heard_is_not_unknown),
		cmocka_unit_test(
			a_flood_of_addresses_takes_no_address_that_another_port_just_heard),
		cmocka_unit_test(of_two_ports_that_heard_an_address_the_latest_counts),
		cmocka_unit_test(a_group_of_the_policy_gets_its_frames_at_its_ports_only),
		cmocka_unit_test(a_group_is_of_its_vlan),
		cmocka_unit_test(a_frame_that_only_dead_links_may_carry_is_dropped_as_port_down),
		cmocka_unit_test(a_group_without_another_member_has_no_egress),
		cmocka_unit_test(storm_control_takes_no_lossless_frame_of_a_group),
		cmocka_unit_test(a_lossless_group_loses_nothing_under_pauses),
		cmocka_unit_test(a_group_is_shown_with_its_ports),
		cmocka_unit_test(the_charge_lasts_until_the_last_copy_is_gone),
		cmocka_unit_test(copies_that_are_dropped_hold_nothing),
		cmocka_unit_test(copies_never_take_more_frames_than_there_are_cells),
		cmocka_unit_test(copies_leave_room_for_the_frames_of_others),
		cmocka_unit_test(copies_of_lossy_classes_delay_no_xon),
		cmocka_unit_test(no_group_leaves_xoff_while_copies_fill_the_pool),
		cmocka_unit_test(an_address_in_another_vlan_is_not_unknown),
	};

	return cmocka_run_group_tests_name("lab_flooding", tests, bench_eal, NULL);
}
