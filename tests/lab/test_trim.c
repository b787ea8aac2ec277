// SPDX-License-Identifier: Apache-2.0
// Packet trimming of a whole switch. The rows of SONiC's packet trimming test plan come first, by
// its numbers; docs/trimming.md has those that need something that the switch does not have.
#include "dataplane/qos/pg.h"
#include "dataplane/qos/shaper.h"
#include "tests/lab/bench.h"

#include <stdio.h>
#include <string.h>

#include <rte_mbuf.h>

#include "control/config/impair.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_impair.h"
#include "tests/lab/router.h"

enum {
	MS = 1000000,
	CELL = 256,
	FULL = 5, // frames of FILL bytes that queue 0 takes
	FILL = 1000, // bytes: 4 cells
	BYTES = 1400, // of a frame that is to be trimmed
	STORED = 2000, // of a longer one, bytes in memory
	OUT = 2, // port
};

static char yaml_text[4096];

struct setup {
	const char *trim; // keys of switch.trim, or NULL: none
	const char *discard; // of class 0
	const char *egress; // limit of class 0: 20 cells
	const char *classes; // more rows
	const char *profile; // more keys of the profile of p1 and p3
	const char *other; // keys of the profile of p2 and p4
};

static const struct setup usual = {
	.trim = "dscp: 48",
	.discard = "trim",
	.egress = "static: 5120",
};

static const char *yaml(const struct setup *s)
{
	char trim[256] = "";

	if (s->trim != NULL)
		snprintf(trim, sizeof(trim), "  trim: {%s}\n", s->trim);
	snprintf(yaml_text, sizeof(yaml_text),
		 "switch:\n"
		 "  name: lab\n"
		 "  buffer: {size: 1MB, cell: 256B}\n%s"
		 "ports:\n"
		 "  - {name: p1, device: \"wire:w1\", speed: 10G, mtu: 9000, profile: x}\n"
		 "  - {name: p2, device: \"wire:w2\", speed: 10G, mtu: 9000, profile: y}\n"
		 "  - {name: p3, device: \"wire:w3\", speed: 10G, mtu: 9000, profile: x}\n"
		 "  - {name: p4, device: \"wire:w4\", speed: 10G, mtu: 9000, profile: y}\n"
		 "fdb:\n"
		 "  - {mac: \"02:00:00:00:00:01\", port: p1}\n"
		 "  - {mac: \"02:00:00:00:00:02\", port: p2}\n"
		 "  - {mac: \"02:00:00:00:00:03\", port: p3}\n"
		 "  - {mac: \"02:00:00:00:00:04\", port: p4}\n"
		 "profiles:\n"
		 "  x:\n"
		 "%s"
		 "    classes:\n"
		 "      0: {egress: {%s, discard: %s}}\n"
		 "%s"
		 "  y:\n"
		 "%s"
		 "    classes:\n"
		 "      0: {egress: {%s, discard: %s}}\n"
		 "%s",
		 trim, s->profile != NULL ? s->profile : "", s->egress, s->discard,
		 s->classes != NULL ? s->classes : "", s->other != NULL ? s->other : "",
		 s->egress, s->discard, s->classes != NULL ? s->classes : "");
	return yaml_text;
}

static struct bench *open(const struct setup *s)
{
	return bench_open(yaml(s), 0);
}

static struct bench *open_trim(const char *trim)
{
	struct setup s = usual;

	s.trim = trim;
	return open(&s);
}

// n frames from the host of p1, and time in which the last one can leave.
static void give(struct bench *b, const struct bench_frame *f, unsigned n)
{
	bench_inject(b, 0, f, n);
	bench_run(b, 20000);
}

// ---- congestion: queue 0 of a port is stopped and full

static void congest(struct bench *b, unsigned port)
{
	struct bench_frame f = {.to = port, .len = FILL};

	bench_tx(b, port, 0, false);
	give(b, &f, FULL);
	assert_int_equal(b->host[port].n_rx, 0);
}

static void end_congestion(struct bench *b, unsigned port)
{
	bench_tx(b, port, 0, true);
	bench_run(b, MS);
}

// ---- numbers

static const struct queue_counters *queue(const struct bench *b, unsigned port, unsigned q)
{
	return switch_queue_counters(b->sw, port, q);
}

// Counters of queue q of a port; what was trimmed has ended or waits.
static void check(const struct bench *b, unsigned port, unsigned q, uint64_t trimmed, uint64_t sent,
		  uint64_t dropped)
{
	const struct queue_counters *c = queue(b, port, q);

	assert_int_equal(ctr_get(&c->trimmed), trimmed);
	assert_int_equal(ctr_get(&c->trim_sent), sent);
	assert_int_equal(ctr_get(&c->trim_dropped), dropped);
}

static uint64_t waiting(const struct bench *b, unsigned port)
{
	return gauge_get(&switch_port_counters(b->sw, port)->trims);
}

static uint64_t dropped(const struct bench *b, unsigned port, unsigned cls, enum drop_reason why)
{
	return ctr_get(&switch_drops(b->sw, port, cls, why)->packets);
}

static uint64_t charged(const struct bench *b, unsigned port)
{
	return gauge_get(&switch_pg_state(b->sw, port, 0)->shared);
}

// ---- frames

static unsigned dscp_of(const struct bench_rx *rx)
{
	const uint8_t *l3 = rx->data + 14;

	return l3[0] >> 4 == 4 ? l3[1] >> 2 : (be16_get(l3) >> 6) & 0x3f;
}

// The latest frame that the host of a port received.
static const struct bench_rx *latest(const struct bench *b, unsigned port)
{
	assert_true(b->host[port].n_rx != 0);
	return &b->host[port].rx[b->host[port].n_rx - 1];
}

static void send_packet(struct bench *b, const struct router_packet *k, uint8_t *frame)
{
	uint16_t len = router_build(frame, 0, k);

	memcpy(frame, (uint8_t[]){2, 0, 0, 0, 0, OUT + 1}, 6);
	bench_send_raw(b, 0, frame, len);
	bench_run(b, 10000);
}

#define V4 .src = "10.0.0.1", .dst = "10.0.0.3", .sport = 7, .dport = 9, .len = BYTES
#define V6 .src = "fd00::1", .dst = "fd00::3", .sport = 7, .dport = 9, .len = BYTES

// IPv4 and IPv6 with TCP and UDP; a tag; options; a first and a later fragment; VXLAN on its way.
static const struct router_packet kinds[] = {
	{V4, .proto = IP_PROTO_TCP},
	{V4, .proto = IP_PROTO_UDP},
	{V6, .proto = IP_PROTO_TCP},
	{V6, .proto = IP_PROTO_UDP},
	{V4, .tag = 0x2001},
	{V6, .tag = 0x2001},
	{V4, .options = true},
	{V4, .frag = IPV4_MF},
	{V4, .frag = IPV4_MF | 100},
	{V4, .qp = 5},
	{.src = "10.0.0.1", .dst = "10.0.0.3", .sport = 7, .dport = 4789, .len = BYTES},
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

// What the cut must make of a frame of the kind, but for its end: found without the code of the
// switch.
static void expect_headers(const struct router_packet *k, uint8_t *frame, unsigned size,
			   unsigned dscp, bool exact)
{
	unsigned l3 = k->tag != 0 ? 18 : 14, hlen = k->options ? 24 : 20;
	bool v6 = strchr(k->dst, ':') != NULL, udp = k->proto != IP_PROTO_TCP && k->frag == 0;
	uint8_t *ip = frame + l3;

	if (v6) {
		hlen = 40;
		ip[0] = (uint8_t)(0x60 | dscp >> 2);
		ip[1] = (uint8_t)((dscp & 3) << 6 | (ip[1] & 0x3f));
		if (exact)
			be16_put(ip + 4, (uint16_t)(size - l3 - hlen));
	} else {
		ip[1] = (uint8_t)(dscp << 2 | (ip[1] & 3));
		if (exact)
			be16_put(ip + 2, (uint16_t)(size - l3));
		be16_put(ip + 10, 0);
		be16_put(ip + 10, router_csum(ip, hlen));
	}
	if (udp && exact)
		be16_put(ip + hlen + 4, (uint16_t)(size - l3 - hlen));
}

static void check_kinds(const char *lengths)
{
	char trim[64];
	struct bench *b;

	snprintf(trim, sizeof(trim), "dscp: 48, lengths: %s", lengths);
	b = open_trim(trim);
	congest(b, OUT);
	for (unsigned i = 0; i < N_KINDS; i++) {
		uint8_t frame[FRAME_MAX];

		send_packet(b, &kinds[i], frame);
		expect_headers(&kinds[i], frame, 128, 48, strcmp(lengths, "exact") == 0);
		assert_int_equal(b->host[OUT].n_rx, i + 1);
		assert_int_equal(latest(b, OUT)->len, 128);
		assert_memory_equal(latest(b, OUT)->data, frame, 128);
	}
	check(b, OUT, 0, N_KINDS, N_KINDS, 0);
	assert_int_equal(ctr_get(&queue(b, OUT, 0)->trim_cut_bytes), N_KINDS * (BYTES - 128));
	assert_int_equal(ctr_get(&queue(b, OUT, 6)->tx_bytes), N_KINDS * 128);
	bench_close(b);
}

// Plan 2: packet size after trimming, ipv4_tcp, ipv4_udp, ipv6_tcp, ipv6_udp.
static void trimmed_frames_have_size_and_headers(void **state)
{
	(void)state;
	check_kinds("exact");
	check_kinds("keep");
}

// A frame of which the first bytes are in memory, as in the fabrics of weir-lab.
static void send_jumbo(struct bench *b, uint16_t len)
{
	struct bench_frame f = {.to = OUT, .len = len < STORED ? len : STORED};
	struct rte_mbuf *m;
	uint8_t *ip;

	bench_send(b, 0, &f);
	m = b->host[0].queue[b->host[0].q_tail - 1];
	m->pkt_len = len;
	ip = rte_pktmbuf_mtod_offset(m, uint8_t *, 14);
	be16_put(ip + 2, (uint16_t)(len - 14));
	be16_put(ip + 10, 0);
	be16_put(ip + 10, router_csum(ip, 20));
	be16_put(ip + 24, (uint16_t)(len - 34));
}

// Plan 2: the least size, 256, and 4084 with frames of 5,000 bytes; plan 1: the limits of `size`.
static void every_size_is_exact(void **state)
{
	static const struct {
		const char *trim;
		uint16_t size, len;
	} t[] = {{"dscp: 48, size: 64", 64, 1500},	{"dscp: 48, size: 256", 256, 1500},
		 {"dscp: 48, size: 4084", 4084, 5000},	{"dscp: 48, size: 9014", 9013, 9013},
		 {"dscp: 48, size: 1499", 1499, 1500},	{"dscp: 48, size: 9238", 9014, 9014},
		 {"dscp: 48", 128, 129},		{"dscp: 48, lengths: keep", 128, 9014}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bench *b = open_trim(t[i].trim);

		congest(b, OUT);
		send_jumbo(b, t[i].len);
		bench_run(b, MS);
		assert_int_equal(b->host[OUT].n_rx, 1);
		assert_int_equal(latest(b, OUT)->len, t[i].size);
		assert_int_equal(dscp_of(latest(b, OUT)), 48);
		end_congestion(b, OUT);
		bench_close(b);
	}
}

// Plan 3: DSCP, also of a frame that is no longer than `size`, and which is left whole.
static void frames_not_longer_than_size_are_whole(void **state)
{
	struct bench_frame f = {.to = OUT, .len = 100};
	struct bench *b = open_trim("dscp: 48, size: 256");

	(void)state;
	congest(b, OUT);
	for (unsigned v6 = 0; v6 < 2; v6++) {
		uint8_t sent[128];

		f.ipv6 = v6 != 0;
		f.dscp = 7; // class 0, too
		bench_build(sent, 0, &f);
		give(b, &f, 1);
		assert_int_equal(latest(b, OUT)->len, 100);
		assert_int_equal(dscp_of(latest(b, OUT)), 48);
		// The lengths of a whole frame were right.
		assert_memory_equal(latest(b, OUT)->data + 16, sent + 16, v6 ? 84 : 8);
	}
	f.len = 256;
	give(b, &f, 1);
	assert_int_equal(latest(b, OUT)->len, 256);
	check(b, OUT, 0, 3, 3, 0);
	assert_int_equal(ctr_get(&queue(b, OUT, 0)->trim_cut_bytes), 0);
	bench_close(b);
}

// Plan 3: asymmetric DSCP; each port has its own, and other frames of the port keep theirs.
static void dscp_of_a_class_differs_by_port(void **state)
{
	struct setup s = usual;
	struct bench_frame f = {.len = BYTES};
	struct bench *b;

	(void)state;
	s.trim = "dscp: from_class, class: 5, queue: 6";
	s.profile = "    remark: {dscp: {5: 10}}\n";
	s.other = "    remark: {dscp: {5: 20}}\n";
	b = open(&s);
	for (f.to = OUT; f.to <= OUT + 1; f.to++) {
		congest(b, f.to);
		f.dscp = 0;
		give(b, &f, 1);
		assert_int_equal(dscp_of(latest(b, f.to)), f.to == OUT ? 10 : 20);
		assert_int_equal(latest(b, f.to)->len, 128);
		f.dscp = 8;
		give(b, &f, 1);
		assert_int_equal(dscp_of(latest(b, f.to)), 8);
		assert_int_equal(latest(b, f.to)->len, BYTES);
		assert_int_equal(ctr_get(&queue(b, f.to, 6)->tx_packets), 1);
		check(b, f.to, 0, 1, 1, 0);
	}
	bench_close(b);
}

// Plan 1: `queue_index` N and `dynamic`.
static void queue_is_static_or_follows_the_dscp(void **state)
{
	static const struct {
		const char *trim, *profile;
		unsigned queue, dscp;
	} t[] = {
		{"dscp: 48, queue: 6", "", 6, 48},
		{"dscp: 48, queue: 1", "", 1, 48},
		{"dscp: 48, queue: auto", "", 6, 48},
		{"dscp: 0, queue: 7", "", 7, 0},
		{"dscp: 63, queue: auto", "", 7, 63},
		{"dscp: 48", "    dscp_to_class: {48: 2}\n", 2, 48},
		{"dscp: 48", "    class_to_queue: {6: 5}\n", 5, 48},
		{"dscp: from_class, class: 5", "    remark: {dscp: {5: 10}}\n", 5, 10},
		{"dscp: from_class, class: 5, queue: 7", "    remark: {dscp: {5: 10}}\n", 7, 10},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bench_frame f = {.to = OUT, .len = BYTES};
		struct setup s = usual;
		struct bench *b;

		s.trim = t[i].trim;
		s.profile = s.other = t[i].profile;
		b = open(&s);
		congest(b, OUT);
		give(b, &f, 1);
		assert_int_equal(ctr_get(&queue(b, OUT, t[i].queue)->tx_packets), 1);
		assert_int_equal(dscp_of(latest(b, OUT)), t[i].dscp);
		check(b, OUT, 0, 1, 1, 0);
		bench_close(b);
	}
}

// Plan 4: limits of a queue that are fixed, and those that follow the pool.
static void static_and_dynamic_limits_trim(void **state)
{
	static const char *const egress[] = {"static: 5120", "alpha: 1/64", "alpha: 1",
					     "min: 5120, static: 0"};

	(void)state;
	for (size_t i = 0; i < sizeof(egress) / sizeof(egress[0]); i++) {
		struct bench_frame f = {.to = OUT, .len = FILL};
		struct setup s = usual;
		struct bench *b;
		unsigned n = 0;

		s.egress = egress[i];
		b = open(&s);
		bench_tx(b, OUT, 0, false);
		for (; b->host[OUT].n_rx == 0; n++)
			give(b, &f, 1);
		assert_int_equal(gauge_get(&queue(b, OUT, 0)->length_packets), n - 1);
		check(b, OUT, 0, 1, 1, 0);
		end_congestion(b, OUT);
		bench_close(b);
	}
}

// Plan 6: trimmed frames leave by a lossless queue, and their group stays a lossy one.
static void trimmed_frames_leave_by_a_lossless_queue(void **state)
{
	struct bench_frame f = {.to = OUT, .len = BYTES};
	struct setup s = usual;
	struct bench *b;

	(void)state;
	s.trim = "dscp: 48, queue: 4";
	s.classes = "      4: {lossless: on}\n";
	b = open(&s);
	congest(b, OUT);
	bench_pause(b, OUT, 1 << 4, 65535);
	bench_run(b, 1000);
	give(b, &f, 10);
	assert_int_equal(b->host[OUT].n_rx, 0); // PAUSE of class 4 holds them
	assert_int_equal(waiting(b, OUT), 10);
	bench_pause(b, OUT, 1 << 4, 0);
	bench_run(b, MS);
	assert_int_equal(b->host[OUT].n_rx, 10);
	assert_int_equal(ctr_get(&queue(b, OUT, 4)->tx_packets), 10);
	assert_int_equal(b->host[0].n_pfc, 0);
	check(b, OUT, 0, 10, 10, 0);
	bench_close(b);
}

// Plan 8 and 12: the policy is loaded again, and another one, while trimmed frames wait.
static void a_new_policy_acts_at_once(void **state)
{
	struct bench_frame f = {.to = OUT, .len = BYTES};
	struct setup s = usual, other = usual;
	struct bench *b = open(&s);

	(void)state;
	congest(b, OUT);
	bench_tx(b, OUT, 6, false);
	give(b, &f, 2);
	bench_publish(b, yaml(&s));
	give(b, &f, 2);
	other.trim = "dscp: 40, size: 256, lengths: keep, queue: 3";
	bench_publish(b, yaml(&other));
	give(b, &f, 2);
	assert_int_equal(b->host[OUT].n_rx, 2);
	assert_int_equal(latest(b, OUT)->len, 256);
	assert_int_equal(dscp_of(latest(b, OUT)), 40);
	assert_int_equal(be16_get(latest(b, OUT)->data + 16), BYTES - 14);
	other.trim = NULL;
	other.discard = "drop";
	bench_publish(b, yaml(&other)); // trimmed frames of before still count
	give(b, &f, 1);
	check(b, OUT, 0, 6, 2, 0);
	assert_int_equal(dropped(b, OUT, 0, DROP_EGRESS_TAIL), 1);
	bench_tx(b, OUT, 6, true);
	bench_run(b, MS);
	check(b, OUT, 0, 6, 6, 0);
	assert_int_equal(waiting(b, OUT), 0);
	bench_close(b);
}

static void set_link(struct bench *b, unsigned port, bool up)
{
	wire_set_up(b->host[port].wire, up);
	switch_links_changed(b->sw);
	bench_control(b);
	bench_run(b, MS);
}

// Plan 9: the port goes down and up ten times.
static void a_port_that_flaps_trims_afterwards(void **state)
{
	struct bench_frame f = {.to = OUT, .len = BYTES};
	struct bench *b = open(&usual);

	(void)state;
	for (unsigned i = 1; i <= 10; i++) {
		congest(b, OUT);
		bench_tx(b, OUT, 6, false);
		give(b, &f, 3);
		check(b, OUT, 0, 4 * i - 1, i - 1, 3 * (i - 1));
		set_link(b, OUT, false);
		check(b, OUT, 0, 4 * i - 1, i - 1, 3 * i); // what waits is dropped
		assert_int_equal(waiting(b, OUT), 0);
		set_link(b, OUT, true);
		bench_tx(b, OUT, 0, true);
		bench_tx(b, OUT, 6, true);
		congest(b, OUT);
		give(b, &f, 1);
		assert_int_equal(b->host[OUT].n_rx, 1);
		check(b, OUT, 0, 4 * i, i, 3 * i);
		end_congestion(b, OUT);
		b->host[OUT].n_rx = 0;
	}
	// Dropped trimmed frames count where they were trimmed, by their bytes then.
	assert_int_equal(dropped(b, OUT, 0, DROP_PORT_DOWN), 10 * (FULL + 3));
	assert_int_equal(ctr_get(&queue(b, OUT, 6)->dropped_packets), 0);
	bench_close(b);
}

// Plan 7 has ACLs, which the switch does not have: another class does what DISABLE_TRIM does.
// Plan 10: trim, drop, trim, ten times.
static void trimming_goes_on_and_off(void **state)
{
	struct bench_frame f = {.to = OUT, .len = BYTES};
	struct setup drop = usual;
	struct bench *b = open(&usual);

	(void)state;
	drop.discard = "drop";
	congest(b, OUT);
	for (unsigned i = 1; i <= 10; i++) {
		give(b, &f, 1);
		bench_publish(b, yaml(&drop));
		give(b, &f, 1);
		bench_publish(b, yaml(&usual));
		check(b, OUT, 0, i, i, 0);
		assert_int_equal(dropped(b, OUT, 0, DROP_EGRESS_TAIL), i);
	}
	bench_close(b);
}

// Plan 13: counters of queue, port and switch.
static void counters_are_of_the_queue_that_was_full(void **state)
{
	struct setup s = usual;
	struct bench_frame f = {.to = OUT, .len = BYTES};
	struct bench *b;

	(void)state;
	// The trim queue takes two trimmed frames; a third is dropped.
	s.classes = "      1: {egress: {static: 5120, discard: trim}}\n"
		    "      6: {egress: {static: 512}}\n";
	b = open(&s);
	congest(b, OUT);
	give(b, &f, 100);
	check(b, OUT, 0, 100, 100, 0);
	bench_tx(b, OUT, 1, false);
	f.dscp = 8;
	f.len = FILL;
	give(b, &f, FULL + 100);
	check(b, OUT, 1, 100, 100, 0);
	check(b, OUT, 0, 100, 100, 0);
	assert_int_equal(ctr_get(&queue(b, OUT, 6)->tx_packets), 200);
	congest(b, OUT + 1);
	f = (struct bench_frame){.to = OUT + 1, .len = BYTES};
	give(b, &f, 100);
	bench_tx(b, OUT + 1, 6, false);
	give(b, &f, 100);
	check(b, OUT + 1, 0, 200, 100, 98);
	assert_int_equal(waiting(b, OUT + 1), 2);
	check(b, OUT + 1, 6, 0, 0, 0);
	assert_int_equal(dropped(b, OUT + 1, 0, DROP_EGRESS_TAIL), 98);
	assert_int_equal(ctr_get(&switch_drops(b->sw, OUT + 1, 0, DROP_EGRESS_TAIL)->bytes),
			 98 * 128);
	assert_int_equal(ctr_get(&queue(b, OUT + 1, 0)->dropped_packets), 98);
	assert_int_equal(ctr_get(&queue(b, OUT + 1, 6)->dropped_packets), 0);
	bench_close(b);
}

// ---- beyond the plan

// The cells of the part that was cut are free at once, the rest when the frame leaves.
static void cells_of_the_cut_are_free(void **state)
{
	struct bench_frame f = {.to = OUT, .len = BYTES}; // 6 cells
	struct bench *b = open(&usual);

	(void)state;
	congest(b, OUT);
	bench_tx(b, OUT, 6, false);
	assert_int_equal(charged(b, 0), FULL * 4);
	for (unsigned i = 1; i <= 3; i++) {
		give(b, &f, 1);
		bench_run(b, 1000);
		assert_int_equal(charged(b, 0), FULL * 4 + i);
		bench_check_held(b);
	}
	assert_int_equal(switch_pool(b->sw, POOL_EGRESS_LOSSY).used, FULL * 4 + 3);
	f.len = 200; // one cell before and after
	f.dscp = 1;
	give(b, &f, 1);
	bench_run(b, 1000);
	assert_int_equal(charged(b, 0), FULL * 4 + 4);
	bench_tx(b, OUT, 6, true);
	end_congestion(b, OUT);
	assert_int_equal(charged(b, 0), 0);
	assert_int_equal(switch_pool(b->sw, POOL_EGRESS_LOSSY).used, 0);
	bench_close(b);
}

// A rule of impairment sends each frame of the port twice. The copy is no trimmed frame. The check
// is made while trimmed frames wait: a port without such frames counts none that leave.
static void a_copy_of_a_trimmed_frame_is_not_counted(void **state)
{
	struct bench_frame f = {.to = OUT, .len = BYTES};
	struct impair_rule r = {.for_ns = 1000ull * MS, .direction = IMPAIR_OUT};
	struct bench *b = open(&usual);
	struct impair_mistake why;
	uint64_t wait;
	uint32_t id;

	(void)state;
	assert_true(impair_parse_match("every 1", &r, &why));
	assert_true(impair_parse_action("duplicate", &r, &why));
	congest(b, OUT);
	assert_int_equal(switch_impair_add(b->sw, OUT, &r, &id), 0);
	bench_control(b);
	bench_tx(b, OUT, 6, false);
	give(b, &f, 100);
	bench_tx(b, OUT, 6, true);
	bench_run(b, 6000);
	bench_tx(b, OUT, 6, false);
	wait = gauge_get(&queue(b, OUT, 6)->length_packets);
	assert_in_range(wait, 10, 90);
	assert_int_equal(waiting(b, OUT), wait);
	check(b, OUT, 0, 100, 100 - wait, 0);
	bench_tx(b, OUT, 6, true);
	bench_run(b, MS);
	check(b, OUT, 0, 100, 100, 0);
	assert_int_equal(waiting(b, OUT), 0);
	assert_int_equal(b->host[OUT].n_rx, 200);
	bench_close(b);
}

// Every byte that arrived was sent, was dropped, or was cut.
static void bytes_balance(void **state)
{
	struct setup s = usual;
	uint64_t in = FULL * FILL, out;
	struct bench *b;

	(void)state;
	s.classes = "      6: {egress: {static: 1024}}\n";
	b = open(&s);
	congest(b, OUT);
	for (unsigned i = 0; i < 40; i++) {
		struct bench_frame f = {.to = OUT, .len = (uint16_t)(64 + 90 * i)};

		if (i == 20)
			bench_tx(b, OUT, 6, false);
		give(b, &f, 1);
		in += f.len;
	}
	bench_tx(b, OUT, 6, true);
	end_congestion(b, OUT);
	out = ctr_get(&switch_port_counters(b->sw, OUT)->tx_bytes) +
	      ctr_get(&switch_drops(b->sw, OUT, 0, DROP_EGRESS_TAIL)->bytes) +
	      ctr_get(&queue(b, OUT, 0)->trim_cut_bytes);
	assert_int_equal(in, out);
	check(b, OUT, 0, 40, 24, 16);
	bench_close(b);
}

// Frames at some 4 Gb/s. Of those trimmed, 1 % of 10 Gb/s takes a part; and 512 frames go
// ahead of it.
static void trimmed_frames_keep_to_their_share(void **state)
{
	enum { ROUNDS = 200, WIRE = 128 + LINK_OVERHEAD_BYTES };
	struct bench_frame f = {.to = OUT, .len = BYTES};
	struct setup s = usual, all = usual;
	const struct queue_counters *q;
	struct bench *b;
	uint64_t sent, may;

	(void)state;
	s.trim = "dscp: 48, share: 1%";
	b = open(&s);
	q = queue(b, OUT, 0);
	congest(b, OUT);
	bench_run(b, 10 * MS);
	may = b->clock.now_ns;
	for (unsigned i = 0; i < ROUNDS; i++)
		give(b, &f, 10);
	may = 512 + (b->clock.now_ns - may) / 80 / WIRE; // 100 Mb/s
	sent = ctr_get(&q->trim_sent);
	assert_in_range(sent, may - 3, may + 3);
	check(b, OUT, 0, 10 * ROUNDS, sent, 10 * ROUNDS - sent);
	assert_int_equal(dropped(b, OUT, 0, DROP_EGRESS_TAIL), 10 * ROUNDS - sent);
	assert_int_equal(ctr_get(&q->trim_cut_bytes), sent * (BYTES - 128));
	assert_int_equal(charged(b, 0), FULL * 4); // what was dropped has no cells
	bench_publish(b, yaml(&all));
	for (unsigned i = 0; i < ROUNDS; i++)
		give(b, &f, 10);
	check(b, OUT, 0, 20 * ROUNDS, sent + 10 * ROUNDS, 10 * ROUNDS - sent);
	end_congestion(b, OUT);
	bench_close(b);
}

static void ecn_of_a_trimmed_frame_stays(void **state)
{
	struct bench *b = open(&usual);

	(void)state;
	congest(b, OUT);
	for (uint8_t ecn = 0; ecn < 4; ecn++)
		for (unsigned v6 = 0; v6 < 2; v6++) {
			struct bench_frame f = {.to = OUT, .len = BYTES, .ecn = ecn,
						.ipv6 = v6 != 0};
			const uint8_t *l3;

			give(b, &f, 1);
			l3 = latest(b, OUT)->data + 14;
			assert_int_equal(v6 ? l3[1] >> 4 & 3 : l3[1] & 3, ecn);
		}
	bench_close(b);
}

// Frames to groups, flooded ones, frames that are not IP, and an IP header that the cut would hit.
static void other_frames_are_dropped(void **state)
{
	struct bench_frame broadcast = {.broadcast = true, .len = BYTES};
	struct bench_frame unknown = {.to = 40, .len = BYTES};
	struct bench_frame other = {.to = OUT, .len = BYTES, .ether_type = 0x88b5};
	struct bench_frame long_header = {.to = OUT, .len = BYTES};
	struct bench *b = open_trim("dscp: 48, size: 64");
	uint8_t raw[BYTES];

	(void)state;
	congest(b, OUT);
	give(b, &broadcast, 1);
	give(b, &unknown, 1);
	give(b, &other, 1);
	bench_build(raw, 0, &long_header);
	raw[14] = 0x4f; // 60 bytes
	bench_send_raw(b, 0, raw, BYTES);
	bench_run(b, MS);
	check(b, OUT, 0, 0, 0, 0);
	assert_int_equal(dropped(b, OUT, 0, DROP_EGRESS_TAIL), 4);
	assert_int_equal(b->host[1].n_rx, 2);
	// The only way of a frame to a group.
	set_link(b, 1, false);
	set_link(b, 3, false);
	give(b, &broadcast, 1);
	check(b, OUT, 0, 0, 0, 0);
	assert_int_equal(dropped(b, OUT, 0, DROP_EGRESS_TAIL), 5);
	bench_close(b);
}

static void wred_drops_are_drops(void **state)
{
	struct bench_frame f = {.to = OUT, .len = BYTES};
	struct setup s = usual;
	struct bench *b;

	(void)state;
	s.classes = "      1: {egress: {static: 50KB, discard: trim}, "
		    "wred: {ecn: on, kmin: 0, kmax: 1KB, pmax: 100%, mark_at: enqueue}}\n";
	b = open(&s);
	bench_tx(b, OUT, 1, false);
	f.dscp = 8;
	give(b, &f, 3);
	assert_true(dropped(b, OUT, 1, DROP_WRED) >= 1);
	check(b, OUT, 1, 0, 0, 0);
	f.ecn = ECN_ECT0; // is marked, until the queue is full
	give(b, &f, 50);
	assert_true(ctr_get(&queue(b, OUT, 1)->trimmed) != 0);
	assert_true(b->host[OUT].n_rx != 0);
	bench_close(b);
}

// Frames that leave in another class than they arrived in, as the first frames of a flow do here,
// are trimmed as frames of that class. Their account is that of their arrival.
static void the_class_of_departure_decides(void **state)
{
	static const struct router_packet k = {V4, .proto = IP_PROTO_TCP};
	struct setup s = usual;
	uint8_t frame[FRAME_MAX];
	struct bench *b;

	(void)state;
	s.trim = "dscp: 48}\n  elephants: {rate: 1G, mice_packets: 4";
	s.discard = "drop}, mice: {class: 1";
	s.classes = "      1: {egress: {static: 3072, discard: trim}}\n"; // two frames
	b = open(&s);
	bench_tx(b, OUT, 0, false);
	bench_tx(b, OUT, 1, false);
	for (unsigned i = 0; i < 4; i++)
		send_packet(b, &k, frame);
	check(b, OUT, 1, 2, 2, 0); // the third and the fourth
	bench_tx(b, OUT, 1, true);
	bench_run(b, MS);
	for (unsigned i = 0; i < 20; i++)
		send_packet(b, &k, frame);
	check(b, OUT, 1, 2, 2, 0);
	check(b, OUT, 0, 0, 0, 0);
	assert_true(dropped(b, OUT, 0, DROP_EGRESS_TAIL) > 0);
	assert_int_equal(ctr_get(&switch_pg_counters(b->sw, 0, 0)->rx_packets), 24);
	end_congestion(b, OUT);
	assert_int_equal(charged(b, 0), 0);
	bench_close(b);
}

// PCP follows the class where the port writes it.
static void tags_follow_the_class(void **state)
{
	(void)state;
	for (unsigned remarks = 0; remarks < 2; remarks++) {
		struct bench_frame f = {.to = OUT, .len = BYTES, .tagged = true, .pcp = 1,
					.vid = 0};
		struct setup s = usual;
		struct bench *b;

		s.trim = "dscp: 48, queue: 5"; // of class 5
		s.profile = remarks ? "    remark: {pcp: class}\n" : "";
		b = open(&s);
		congest(b, OUT);
		give(b, &f, 1);
		assert_int_equal(latest(b, OUT)->len, 128);
		assert_int_equal(latest(b, OUT)->data[14] >> 5, remarks ? 5 : 1);
		assert_int_equal(latest(b, OUT)->data[19] >> 2, 48);
		bench_close(b);
	}
}

// The next switch knows an exact frame as IP. A frame with the old lengths is a truncated packet.
static void the_next_switch_sees_the_lengths(void **state)
{
	(void)state;
	for (unsigned exact = 0; exact < 2; exact++) {
		struct bench_frame f = {.to = OUT, .len = BYTES};
		struct bench *b = open_trim(exact ? "dscp: 48" : "dscp: 48, lengths: keep");
		uint8_t again[128];

		congest(b, OUT);
		give(b, &f, 1);
		memcpy(again, latest(b, OUT)->data, sizeof(again));
		again[5] = 2; // to the host of p2
		bench_send_raw(b, 0, again, sizeof(again));
		bench_run(b, MS);
		assert_int_equal(ctr_get(&queue(b, 1, exact ? 6 : 0)->tx_packets), 1);
		assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->bad_l3), !exact);
		bench_close(b);
	}
}

// Plan 2: the TTL of a routed frame.
static void routed_frames_are_trimmed(void **state)
{
	static const char routed[] =
		"switch:\n"
		"  name: lab\n"
		"  buffer: {size: 1MB, cell: 256B}\n"
		"  trim: {dscp: 48}\n"
		"ports:\n"
		"  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, profile: x,\n"
		"     ip: [\"10.0.[1-3].1/24\"]}\n"
		"neighbours:\n"
		"  - {ip: 10.0.3.9, mac: \"02:00:00:00:00:03\"}\n"
		"profiles:\n"
		"  x: {classes: {0: {egress: {static: 5120, discard: trim}}}}\n";
	struct router_packet k = {.src = "10.0.1.9", .dst = "10.0.3.9", .sport = 1, .dport = 2,
				  .len = FILL, .ttl = 9};
	struct bench *b = bench_open(routed, 0);
	const uint8_t *ip;

	(void)state;
	bench_tx(b, OUT, 0, false);
	for (unsigned i = 0; i <= FULL; i++) {
		router_send(b, 0, &k);
		bench_run(b, 10000);
	}
	ip = latest(b, OUT)->data + 14;
	assert_int_equal(latest(b, OUT)->len, 128);
	assert_int_equal(ip[8], 8);
	assert_int_equal(ip[1] >> 2, 48);
	assert_int_equal(be16_get(ip + 2), 114);
	assert_int_equal(router_csum(ip, 20), 0);
	check(b, OUT, 0, 1, 1, 0);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trimmed_frames_have_size_and_headers),
		cmocka_unit_test(every_size_is_exact),
		cmocka_unit_test(frames_not_longer_than_size_are_whole),
		cmocka_unit_test(dscp_of_a_class_differs_by_port),
		cmocka_unit_test(queue_is_static_or_follows_the_dscp),
		cmocka_unit_test(static_and_dynamic_limits_trim),
		cmocka_unit_test(trimmed_frames_leave_by_a_lossless_queue),
		cmocka_unit_test(a_new_policy_acts_at_once),
		cmocka_unit_test(a_port_that_flaps_trims_afterwards),
		cmocka_unit_test(trimming_goes_on_and_off),
		cmocka_unit_test(counters_are_of_the_queue_that_was_full),
		cmocka_unit_test(cells_of_the_cut_are_free),
		cmocka_unit_test(a_copy_of_a_trimmed_frame_is_not_counted),
		cmocka_unit_test(bytes_balance),
		cmocka_unit_test(trimmed_frames_keep_to_their_share),
		cmocka_unit_test(ecn_of_a_trimmed_frame_stays),
		cmocka_unit_test(other_frames_are_dropped),
		cmocka_unit_test(wred_drops_are_drops),
		cmocka_unit_test(the_class_of_departure_decides),
		cmocka_unit_test(tags_follow_the_class),
		cmocka_unit_test(the_next_switch_sees_the_lengths),
		cmocka_unit_test(routed_frames_are_trimmed),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
