// SPDX-License-Identifier: Apache-2.0
// The agent on a clock of the test: when it sends, how neighbours come and go, and when what a peer
// says takes effect.
#include "tests/unit/lldp/test.h"

#include <stdio.h>

#define S ((uint64_t)SECOND_NS)

struct world {
	struct lldp_agent *a;
	struct lldp_local local;
	bool off, full; // full: nothing can be sent
	unsigned n_sent, n_events, n_pfc;
	uint8_t last[LLDP_MAX_LEN];
	uint16_t last_len;
	struct event event[64];
	char about[64][LLDP_ABOUT_LEN];
};

static const uint8_t own_mac[6] = {0x02, 1, 1, 1, 1, 1}, host_mac[6] = {0x02, 2, 2, 2, 2, 2};

static bool local(void *arg, unsigned port, struct lldp_local *out)
{
	const struct world *w = arg;

	(void)port;
	*out = w->local;
	out->pfc_possible = out->pdu.dcbx.pfc.enable;
	return !w->off;
}

static bool send_frame(void *arg, unsigned port, const uint8_t *bytes, uint16_t len)
{
	struct world *w = arg;

	(void)port;
	if (w->full)
		return false;
	w->n_sent++;
	memcpy(w->last, bytes, len);
	w->last_len = len;
	return true;
}

static void take_event(void *arg, const struct event *e, const char *about)
{
	struct world *w = arg;

	assert_true(w->n_events < N(w->event));
	w->event[w->n_events] = *e;
	snprintf(w->about[w->n_events++], LLDP_ABOUT_LEN, "%s", about);
}

static void begin(struct world *w, bool up)
{
	static const struct lldp_agent_ops ops = {local, send_frame, take_event};

	*w = (struct world){.local.pdu = {.chassis = {LLDP_CHASSIS_MAC, {own_mac, 6}},
					  .port = {LLDP_PORT_NAME, TEXT("p1")},
					  .system_name = TEXT("sw")}};
	memcpy(w->local.pdu.mac, own_mac, 6);
	w->local.pdu.dcbx.pfc = (struct dcbx_pfc){.given = true, .max = 8, .enable = 0x08};
	assert_int_equal(lldp_agent_create(1, &ops, w, &w->a), 0);
	lldp_local_changed(w->a, 0);
	if (up)
		lldp_link(w->a, 0, true, 0);
}

// Polls at each time at which something is due, up to the end.
static void run(struct world *w, uint64_t end_ns)
{
	uint64_t next_ns;

	while ((next_ns = lldp_next_ns(w->a)) <= end_ns)
		lldp_poll(w->a, next_ns);
	lldp_poll(w->a, end_ns);
}

static struct lldp_pdu host_pdu(uint8_t number)
{
	static uint8_t numbers[256];
	struct lldp_pdu p = {.chassis = {LLDP_CHASSIS_LOCAL, {&numbers[number], 1}},
			     .port = {LLDP_PORT_NAME, TEXT("eth0")},
			     .ttl_s = 121,
			     .system_name = TEXT("host")};

	numbers[number] = number;
	memcpy(p.mac, host_mac, 6);
	return p;
}

static void hear(struct world *w, const struct lldp_pdu *p, uint64_t now_ns)
{
	uint8_t frame[LLDP_MAX_LEN];
	uint16_t len = lldp_build(frame, p, (struct lldp_text){0});

	lldp_receive(w->a, 0, frame, len, now_ns);
}

static void hear_pfc(struct world *w, uint8_t enable, bool willing, uint64_t now_ns)
{
	struct lldp_pdu p = host_pdu(0);

	p.dcbx.pfc = (struct dcbx_pfc){.given = true, .willing = willing, .max = 8,
				       .enable = enable};
	hear(w, &p, now_ns);
}

static unsigned count(const struct world *w, enum event_type type)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_events; i++)
		n += w->event[i].type == type;
	return n;
}

static struct dcbx_view view(const struct world *w)
{
	struct dcbx_view v;

	lldp_dcbx(w->a, 0, &v);
	return v;
}

static void end(struct world *w)
{
	lldp_agent_destroy(w->a);
}

// ---- sending

static void a_frame_leaves_with_the_link_and_then_every_30_s(void **state)
{
	struct world w;

	(void)state;
	begin(&w, false);
	run(&w, 100 * S);
	assert_int_equal(w.n_sent, 0);
	lldp_link(w.a, 0, true, 100 * S);
	assert_int_equal(w.n_sent, 1);
	run(&w, 130 * S - 1);
	assert_int_equal(w.n_sent, 1);
	run(&w, 130 * S);
	assert_int_equal(w.n_sent, 2);
	run(&w, 220 * S);
	assert_int_equal(w.n_sent, 5);
	end(&w);
}

static void a_new_neighbour_gets_four_frames_a_second_apart(void **state)
{
	const struct lldp_pdu h = host_pdu(0);
	struct world w;

	(void)state;
	begin(&w, true);
	run(&w, 10 * S);
	w.n_sent = 0;
	hear(&w, &h, 10 * S);
	assert_int_equal(w.n_sent, 1);
	for (unsigned i = 1; i < 4; i++) {
		run(&w, (10 + i) * S - 1);
		assert_int_equal(w.n_sent, i);
		run(&w, (10 + i) * S);
		assert_int_equal(w.n_sent, i + 1);
	}
	run(&w, 43 * S - 1);
	assert_int_equal(w.n_sent, 4);
	run(&w, 43 * S);
	assert_int_equal(w.n_sent, 5);
	hear(&w, &h, 44 * S); // known
	run(&w, 50 * S);
	assert_int_equal(w.n_sent, 5);
	end(&w);
}

static void a_local_change_is_sent_at_once(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	run(&w, 10 * S);
	lldp_local_changed(w.a, 10 * S);
	assert_int_equal(w.n_sent, 1); // nothing has changed
	w.local.pdu.dcbx.pfc.enable = 0x18;
	lldp_local_changed(w.a, 10 * S);
	assert_int_equal(w.n_sent, 2);
	end(&w);
}

static void credit_limits_changes_to_five_in_a_row_and_one_a_second(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	run(&w, 10 * S);
	w.n_sent = 0;
	for (unsigned i = 0; i < 50; i++) {
		w.local.pdu.dcbx.pfc.enable ^= 0x10;
		lldp_local_changed(w.a, 10 * S);
	}
	assert_int_equal(w.n_sent, 5);
	for (unsigned i = 0; i < 50; i++) {
		w.local.pdu.dcbx.pfc.enable ^= 0x10;
		lldp_local_changed(w.a, 10 * S + i * (S / 10));
	}
	assert_int_equal(w.n_sent, 5 + 4);
	end(&w);
}

static void a_frame_that_found_no_room_is_tried_again(void **state)
{
	struct world w;

	(void)state;
	begin(&w, false);
	w.full = true;
	lldp_link(w.a, 0, true, S);
	assert_int_equal(w.n_sent, 0);
	assert_int_equal(lldp_counters(w.a, 0)->sent, 0);
	w.full = false;
	lldp_poll(w.a, S + 1);
	assert_int_equal(w.n_sent, 1);
	assert_int_equal(lldp_counters(w.a, 0)->sent, 1);
	end(&w);
}

static void the_last_frame_has_ttl_0(void **state)
{
	struct lldp_pdu p;
	struct world w;

	(void)state;
	begin(&w, true);
	assert_int_equal(lldp_parse(w.last, w.last_len, &p), LLDP_OK);
	assert_int_equal(p.ttl_s, 121);
	lldp_shutdown(w.a);
	assert_int_equal(w.n_sent, 2);
	assert_int_equal(lldp_parse(w.last, w.last_len, &p), LLDP_OK);
	assert_int_equal(p.ttl_s, 0);
	assert_memory_equal(p.port.id.at, "p1", 2);
	end(&w);
}

static void a_port_without_lldp_says_goodbye_and_neither_sends_nor_listens(void **state)
{
	const struct lldp_pdu h = host_pdu(0);
	struct lldp_pdu p;
	struct world w;

	(void)state;
	begin(&w, true);
	hear(&w, &h, 0);
	w.off = true;
	w.n_sent = 0;
	lldp_local_changed(w.a, S);
	assert_int_equal(w.n_sent, 1);
	assert_int_equal(lldp_parse(w.last, w.last_len, &p), LLDP_OK);
	assert_int_equal(p.ttl_s, 0);
	assert_memory_equal(p.chassis.id.at, own_mac, 6);
	w.n_sent = 0;
	assert_null(lldp_neighbour(w.a, 0, 0));
	hear(&w, &h, S);
	run(&w, 100 * S);
	lldp_shutdown(w.a);
	assert_int_equal(w.n_sent, 0);
	assert_null(lldp_neighbour(w.a, 0, 0));
	assert_int_equal(lldp_counters(w.a, 0)->received, 1);
	assert_int_equal(view(&w).state, DCBX_OFF);
	end(&w);
}

// ---- neighbours

static void a_neighbour_comes_and_goes_with_an_event_each(void **state)
{
	struct lldp_pdu h = host_pdu(0);
	struct world w;

	(void)state;
	begin(&w, true);
	hear(&w, &h, S);
	hear(&w, &h, 2 * S);
	assert_int_equal(count(&w, EVENT_LLDP_NEW), 1);
	assert_string_equal(w.about[0], "host");
	assert_int_equal(lldp_neighbour(w.a, 0, 0)->since_ns, S);
	assert_int_equal(lldp_neighbour(w.a, 0, 0)->end_ns, 123 * S);
	h.ttl_s = 0;
	hear(&w, &h, 3 * S);
	assert_int_equal(count(&w, EVENT_LLDP_GONE), 1);
	assert_null(lldp_neighbour(w.a, 0, 0));
	assert_int_equal(lldp_counters(w.a, 0)->aged, 0);
	end(&w);
}

static void a_silent_neighbour_is_gone_when_its_time_is_over(void **state)
{
	struct lldp_pdu h = host_pdu(0);
	struct world w;

	(void)state;
	begin(&w, true);
	h.ttl_s = 20;
	hear(&w, &h, S);
	run(&w, 21 * S - 1);
	assert_int_equal(count(&w, EVENT_LLDP_GONE), 0);
	run(&w, 21 * S);
	assert_int_equal(count(&w, EVENT_LLDP_GONE), 1);
	assert_int_equal(lldp_counters(w.a, 0)->aged, 1);
	end(&w);
}

static void a_link_that_goes_down_has_no_neighbours(void **state)
{
	struct lldp_pdu a = host_pdu(0), b = host_pdu(1);
	struct world w;

	(void)state;
	begin(&w, true);
	hear(&w, &a, S);
	hear(&w, &b, S);
	lldp_link(w.a, 0, false, 2 * S);
	assert_int_equal(count(&w, EVENT_LLDP_GONE), 2);
	assert_null(lldp_neighbour(w.a, 0, 0));
	end(&w);
}

static void a_thousand_neighbours_fill_eight_places(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	for (unsigned i = 0; i < 1000; i++) {
		struct lldp_pdu p = host_pdu((uint8_t)(i & 0xff));
		char name[8];

		p.port.id = (struct lldp_text){(const uint8_t *)name,
					       (uint16_t)snprintf(name, sizeof(name), "%u", i)};
		hear(&w, &p, S);
	}
	assert_non_null(lldp_neighbour(w.a, 0, LLDP_NEIGHBOURS - 1));
	assert_null(lldp_neighbour(w.a, 0, LLDP_NEIGHBOURS));
	assert_int_equal(lldp_counters(w.a, 0)->too_many, 1000 - LLDP_NEIGHBOURS);
	assert_int_equal(count(&w, EVENT_LLDP_NEW), LLDP_NEIGHBOURS);
	assert_int_equal(w.n_sent, 2);
	end(&w);
}

static void what_is_no_pdu_and_what_is_our_own_is_counted(void **state)
{
	static const uint8_t junk[60] = {1, 0x80, 0xc2};
	struct world w;

	(void)state;
	begin(&w, true);
	lldp_receive(w.a, 0, junk, sizeof(junk), S);
	lldp_receive(w.a, 0, w.last, w.last_len, S);
	assert_int_equal(lldp_counters(w.a, 0)->received, 2);
	assert_int_equal(lldp_counters(w.a, 0)->malformed, 1);
	assert_int_equal(lldp_counters(w.a, 0)->own, 1);
	assert_null(lldp_neighbour(w.a, 0, 0));
	end(&w);
}

// ---- DCBX

static void a_host_with_the_same_pfc_agrees_at_once(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	assert_int_equal(view(&w).state, DCBX_SILENT);
	hear_pfc(&w, 0x08, false, S);
	assert_int_equal(view(&w).state, DCBX_AGREED);
	assert_int_equal(count(&w, EVENT_DCBX_AGREED), 1);
	assert_int_equal(count(&w, EVENT_DCBX_MISMATCH), 0);
	assert_int_equal(count(&w, EVENT_DCBX_PFC), 0);
	end(&w);
}

static void a_difference_is_an_event_after_two_seconds(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	hear_pfc(&w, 0x10, false, S);
	assert_int_equal(view(&w).state, DCBX_MISMATCH);
	run(&w, 3 * S - 1);
	assert_int_equal(count(&w, EVENT_DCBX_MISMATCH), 0);
	run(&w, 3 * S);
	assert_int_equal(count(&w, EVENT_DCBX_MISMATCH), 1);
	assert_int_equal(w.event[w.n_events - 1].a, 0x10 | 0x08 << 8);
	assert_int_equal(view(&w).active, 0x08); // `mode: on` keeps PFC
	end(&w);
}

static void a_willing_host_that_follows_in_time_is_no_mismatch(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	hear_pfc(&w, 0x00, true, S);
	hear_pfc(&w, 0x08, true, 2 * S);
	run(&w, 60 * S);
	assert_int_equal(count(&w, EVENT_DCBX_MISMATCH), 0);
	assert_int_equal(count(&w, EVENT_DCBX_AGREED), 1);
	end(&w);
}

static void auto_has_no_pfc_until_the_host_has_it_too(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	w.local.pfc_auto = true;
	lldp_local_changed(w.a, 0);
	assert_int_equal(view(&w).active, 0);
	assert_int_equal(lldp_pfc_allowed(w.a, 0, true), 0);
	assert_int_equal(lldp_pfc_allowed(w.a, 0, false), 0xff);
	hear_pfc(&w, 0x18, false, S);
	assert_int_equal(view(&w).oper, 0x08); // what the switch says
	run(&w, 3 * S);
	assert_int_equal(view(&w).active, 0x08);
	assert_int_equal(lldp_pfc_allowed(w.a, 0, true), 0x18);
	assert_int_equal(count(&w, EVENT_DCBX_PFC), 1);
	assert_int_equal(w.event[w.n_events - 1].b, DCBX_PFC_BY_AUTO);
	lldp_link(w.a, 0, false, 20 * S); // nothing crosses it
	run(&w, 60 * S);
	assert_int_equal(view(&w).active, 0x08);
	lldp_link(w.a, 0, true, 60 * S);
	run(&w, 62 * S - 1);
	assert_int_equal(view(&w).active, 0x08);
	run(&w, 62 * S); // its host has not spoken
	assert_int_equal(view(&w).active, 0);
	assert_int_equal(count(&w, EVENT_DCBX_PFC), 2);
	end(&w);
}

static void a_willing_switch_follows_and_says_so(void **state)
{
	struct lldp_pdu p;
	struct world w;

	(void)state;
	begin(&w, true);
	w.local.pdu.dcbx.pfc.enable = 0x18;
	w.local.pdu.dcbx.pfc.willing = true;
	lldp_local_changed(w.a, 0);
	hear_pfc(&w, 0x10, false, S);
	assert_int_equal(view(&w).state, DCBX_AGREED);
	assert_int_equal(view(&w).active, 0x10);
	assert_int_equal(count(&w, EVENT_DCBX_PFC), 1);
	assert_int_equal(w.event[w.n_events - 1].a, 0x10 | 0x18 << 8);
	assert_int_equal(w.event[w.n_events - 1].b, DCBX_PFC_BY_WILLING);
	assert_int_equal(lldp_parse(w.last, w.last_len, &p), LLDP_OK);
	assert_int_equal(p.dcbx.pfc.enable, 0x10);
	lldp_link(w.a, 0, false, 20 * S);
	lldp_link(w.a, 0, true, 20 * S);
	run(&w, 22 * S); // it follows nobody any more
	assert_int_equal(view(&w).active, 0x18);
	assert_int_equal(w.event[w.n_events - 1].type, EVENT_DCBX_PFC);
	assert_int_equal(w.event[w.n_events - 1].b, DCBX_PFC_BY_WILLING);
	end(&w);
}

// A change of PFC is a new policy, which says the same of each port.
static void a_host_that_flaps_causes_an_event_in_ten_seconds(void **state)
{
	const struct lldp_pdu silent = host_pdu(0);
	struct world w;

	(void)state;
	begin(&w, true);
	w.local.pfc_auto = true;
	lldp_local_changed(w.a, 0);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t now_ns = S + i * (S / 10);

		if (i / 25 % 2 == 0)
			hear_pfc(&w, 0x08, false, now_ns);
		else
			hear(&w, &silent, now_ns);
		lldp_poll(w.a, now_ns);
		lldp_local_changed(w.a, now_ns);
	}
	assert_int_equal(lldp_counters(w.a, 0)->dcbx_changes, 40);
	assert_in_range(count(&w, EVENT_DCBX_PFC), 2, 10);
	assert_in_range(count(&w, EVENT_DCBX_AGREED), 1, 5);
	run(&w, 120 * S); // the last one counts
	assert_int_equal(view(&w).active, 0);
	end(&w);
}

static void a_link_that_flaps_does_not_end_the_damping(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	w.local.pdu.dcbx.pfc.enable = 0x18;
	w.local.pfc_auto = w.local.pdu.dcbx.pfc.willing = true;
	lldp_local_changed(w.a, 0);
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t now_ns = S + i * (S / 30);

		w.n_events = 0; // its neighbour comes and goes
		lldp_link(w.a, 0, false, now_ns);
		lldp_link(w.a, 0, true, now_ns + S / 120);
		hear_pfc(&w, i % 2 == 0 ? 0x08 : 0x10, false, now_ns + S / 60);
		lldp_local_changed(w.a, now_ns + S / 60);
		w.n_pfc += count(&w, EVENT_DCBX_PFC);
	}
	assert_in_range(w.n_pfc, 2, 11);
	end(&w);
}

static void of_several_peers_none_counts(void **state)
{
	struct lldp_pdu p = host_pdu(1);
	struct world w;

	(void)state;
	begin(&w, true);
	w.local.pfc_auto = true;
	lldp_local_changed(w.a, 0);
	hear_pfc(&w, 0x08, false, S);
	assert_int_equal(view(&w).active, 0x08);
	hear(&w, &p, 15 * S); // speaks no DCBX
	assert_int_equal(view(&w).state, DCBX_AGREED);
	p.dcbx.pfc = (struct dcbx_pfc){.given = true, .enable = 0x08};
	hear(&w, &p, 16 * S);
	assert_int_equal(view(&w).state, DCBX_SEVERAL);
	assert_int_equal(view(&w).active, 0);
	p.ttl_s = 0;
	hear(&w, &p, 40 * S);
	assert_int_equal(view(&w).state, DCBX_AGREED);
	end(&w);
}

static void cee_is_named(void **state)
{
	static const uint8_t cee[] = {0xfe, 5, 0x00, 0x1b, 0x21, 2, 0};
	const struct lldp_pdu p = host_pdu(0);
	uint8_t frame[LLDP_MAX_LEN];
	struct world w;

	(void)state;
	begin(&w, true);
	lldp_receive(w.a, 0, frame,
		     lldp_build(frame, &p, (struct lldp_text){cee, sizeof(cee)}), S);
	assert_int_equal(view(&w).state, DCBX_OLD);
	assert_int_equal(lldp_counters(w.a, 0)->cee, 1);
	assert_int_equal(lldp_counters(w.a, 0)->unknown_tlvs, 1);
	end(&w);
}

static void another_policy_takes_effect_undamped(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	hear_pfc(&w, 0x08, false, S);
	w.local.pfc_auto = true;
	w.local.pdu.dcbx.pfc.willing = true;
	w.local.pdu.dcbx.pfc.enable = 0x18;
	lldp_local_changed(w.a, S + 1);
	assert_int_equal(view(&w).active, 0x08);
	assert_true(view(&w).follows);
	assert_int_equal(lldp_pfc_allowed(w.a, 0, false), 0x08);
	end(&w);
}

static void texts_of_neighbours_are_printable(void **state)
{
	static const uint8_t ip6[17] = {2, 0xfd, [16] = 1};
	static const struct {
		struct lldp_id id;
		bool chassis;
		const char *text;
	} rows[] = {
		{{LLDP_CHASSIS_MAC, {own_mac, 6}}, true, "02:01:01:01:01:01"},
		{{LLDP_PORT_MAC, {own_mac, 6}}, false, "02:01:01:01:01:01"},
		{{LLDP_PORT_NAME, TEXT("eth0")}, false, "eth0"},
		{{LLDP_PORT_NAME, TEXT("a\n\x1b[2J\xff")}, false, "a??[2J?"},
		{{LLDP_CHASSIS_ADDRESS, TEXT("\x01\x0a\x00\x00\x01")}, true, "10.0.0.1"},
		{{LLDP_CHASSIS_ADDRESS, {ip6, 17}}, true, "fd00::1"},
		{{LLDP_CHASSIS_ADDRESS, TEXT("\x07z")}, true, "?z"},
		{{LLDP_CHASSIS_MAC, TEXT("odd")}, true, "odd"},
	};
	char out[LLDP_ABOUT_LEN];

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		lldp_id_print(&rows[i].id, rows[i].chassis, out);
		assert_string_equal(out, rows[i].text);
	}
}

static void a_link_that_comes_back_has_pfc_as_before(void **state)
{
	struct world w;

	(void)state;
	begin(&w, true);
	w.local.pfc_auto = true;
	lldp_local_changed(w.a, 0);
	hear_pfc(&w, 0x08, false, S);
	assert_int_equal(view(&w).active, 0x08);
	hear_pfc(&w, 0x08, false, 60 * S);
	for (unsigned i = 70; i < 76; i += 3) {
		lldp_link(w.a, 0, false, i * S);
		lldp_link(w.a, 0, true, (i + 1) * S);
		run(&w, (i + 3) * S - 1);
		hear_pfc(&w, 0x08, false, (i + 3) * S - 1);
		assert_int_equal(view(&w).active, 0x08);
	}
	assert_int_equal(count(&w, EVENT_DCBX_PFC), 1);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_leaves_with_the_link_and_then_every_30_s),
		cmocka_unit_test(a_new_neighbour_gets_four_frames_a_second_apart),
		cmocka_unit_test(a_local_change_is_sent_at_once),
		cmocka_unit_test(a_link_that_comes_back_has_pfc_as_before),
		cmocka_unit_test(credit_limits_changes_to_five_in_a_row_and_one_a_second),
		cmocka_unit_test(a_frame_that_found_no_room_is_tried_again),
		cmocka_unit_test(the_last_frame_has_ttl_0),
		cmocka_unit_test(a_port_without_lldp_says_goodbye_and_neither_sends_nor_listens),
		cmocka_unit_test(a_neighbour_comes_and_goes_with_an_event_each),
		cmocka_unit_test(a_silent_neighbour_is_gone_when_its_time_is_over),
		cmocka_unit_test(a_link_that_goes_down_has_no_neighbours),
		cmocka_unit_test(a_thousand_neighbours_fill_eight_places),
		cmocka_unit_test(what_is_no_pdu_and_what_is_our_own_is_counted),
		cmocka_unit_test(a_host_with_the_same_pfc_agrees_at_once),
		cmocka_unit_test(a_difference_is_an_event_after_two_seconds),
		cmocka_unit_test(a_willing_host_that_follows_in_time_is_no_mismatch),
		cmocka_unit_test(auto_has_no_pfc_until_the_host_has_it_too),
		cmocka_unit_test(a_willing_switch_follows_and_says_so),
		cmocka_unit_test(a_host_that_flaps_causes_an_event_in_ten_seconds),
		cmocka_unit_test(a_link_that_flaps_does_not_end_the_damping),
		cmocka_unit_test(of_several_peers_none_counts),
		cmocka_unit_test(cee_is_named),
		cmocka_unit_test(another_policy_takes_effect_undamped),
		cmocka_unit_test(texts_of_neighbours_are_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
