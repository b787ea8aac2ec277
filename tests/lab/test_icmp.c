// SPDX-License-Identifier: Apache-2.0
// ICMP of the router: what is answered, how, and how often. Every frame is compared byte by byte.
#include "tests/lab/router.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "dataplane/iface.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_routes.h"

enum { ICMP = 1, ICMP6 = 58, TCP = 6, ECHO = ICMP_ECHO << 8, ECHO6 = ICMP6_ECHO_REQUEST << 8 };

static bool is_v6(const uint8_t *eth)
{
	return eth[12] == 0x86;
}

static unsigned header_len(const uint8_t *eth)
{
	return is_v6(eth) ? 40 : (eth[14] & 0xfu) * 4;
}

// Over the message and, in IPv6, the pseudo header.
static uint16_t icmp_csum(const uint8_t *eth)
{
	uint8_t all[FRAME_MAX + 40] = {0};
	const uint8_t *ip = eth + 14;
	unsigned hlen = header_len(eth), n = be16_get(ip + (is_v6(eth) ? 4 : 2));

	if (!is_v6(eth)) {
		n -= hlen;
		memcpy(all, ip + hlen, n);
		return router_csum(all, n + n % 2);
	}
	memcpy(all, ip + 8, 32);
	be16_put(all + 34, (uint16_t)n);
	all[39] = ICMP6;
	memcpy(all + 40, ip + hlen, n);
	return router_csum(all, 40 + n + n % 2);
}

// A message of ICMP with a right checksum, untagged.
static uint16_t build_icmp(uint8_t *out, const struct router_packet *k)
{
	uint16_t len = router_build(out, P1, k);
	uint8_t *csum = out + 14 + header_len(out) + 2;

	for (unsigned i = 14 + header_len(out) + 8; i < len; i++)
		out[i] = (uint8_t)i;
	be16_put(csum, 0);
	be16_put(csum, icmp_csum(out));
	return len;
}

static const struct bench_rx *last_at(const struct bench *b, unsigned port)
{
	assert_true(b->host[port].n_rx > 0);
	return &b->host[port].rx[b->host[port].n_rx - 1];
}

static void an_echo_request_to_the_router_is_answered(void **state)
{
	static const struct router_packet rows[] = {
		{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO},
		{.src = "10.0.1.2", .dst = "10.0.6.1", .proto = ICMP, .sport = ECHO, .ttl = 1},
		{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO, .len = 1514},
		{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO, .len = 61},
		{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO,
		 .options = true},
		{.src = "fd00:1::2", .dst = "fd00:1::1", .proto = ICMP6, .sport = ECHO6},
		{.src = "fd00:1::2", .dst = "fd00:2::1", .proto = ICMP6, .sport = ECHO6, .ttl = 1},
	};
	struct bench *b = router_open(router_routes);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t sent[FRAME_MAX], want[FRAME_MAX];
		uint16_t len = build_icmp(sent, &rows[i]);
		bool v6 = is_v6(sent);
		unsigned hlen = header_len(sent), addr = v6 ? 16 : 4, src = 14 + (v6 ? 8 : 12);

		bench_send_raw(b, P1, sent, len);
		router_settle(b);
		assert_int_equal(b->host[P1].n_rx, i + 1);
		memcpy(want, sent, len);
		memcpy(want, sent + 6, 6);
		memcpy(want + 6, sent, 6);
		memcpy(want + src, sent + src + addr, addr);
		memcpy(want + src + addr, sent + src, addr);
		want[14 + (v6 ? 7 : 8)] = 64;
		if (!v6) {
			be16_put(want + 24, 0);
			be16_put(want + 24, router_csum(want + 14, hlen));
		}
		want[14 + hlen] = v6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
		be16_put(want + 14 + hlen + 2, 0);
		be16_put(want + 14 + hlen + 2, icmp_csum(want));
		assert_int_equal(last_at(b, P1)->len, len);
		assert_memory_equal(last_at(b, P1)->data, want,
				    len < BENCH_KEEP ? len : BENCH_KEEP);
	}
	bench_close(b);
}

static void a_priority_tag_of_a_ping_ends_at_the_router(void **state)
{
	struct bench *b = router_open(router_routes);

	(void)state;
	router_send(b, P1,
		    &(struct router_packet){.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP,
					    .sport = ECHO, .tag = 0x6000});
	router_settle(b);
	assert_int_equal(last_at(b, P1)->len, 96);
	assert_int_equal(be16_get(last_at(b, P1)->data + 12), 0x0800);
	assert_int_equal(last_at(b, P1)->data[34], ICMP_ECHOREPLY);
	bench_close(b);
}

struct unanswered {
	struct router_packet p;
	enum drop_reason reason;
};

static void none_is_answered(const struct unanswered *rows, unsigned n)
{
	struct bench *b = router_open(router_routes);

	for (unsigned i = 0; i < n; i++) {
		uint64_t before = bench_drops(b, rows[i].reason);

		router_send(b, P1, &rows[i].p);
		router_settle(b);
		if (bench_drops(b, rows[i].reason) != before + 1)
			fail_msg("row %u is not counted as %s", i, drop_info[rows[i].reason].name);
	}
	assert_int_equal(router_received(b), 0);
	bench_close(b);
}

static void what_must_not_be_answered_is_dropped(void **state)
{
	static const struct unanswered rows[] = {
		// To a subnet's broadcast address, another code, a reply, a fragment, another
		// protocol, the other family's ICMP, no whole header.
		{{.src = "10.0.1.2", .dst = "10.0.2.255", .proto = ICMP, .sport = ECHO},
		 DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.2.0", .proto = ICMP, .sport = ECHO},
		 DROP_TO_ROUTER},
		{{.src = "fd00:1::2", .dst = "fd00:2::", .proto = ICMP6, .sport = ECHO6},
		 DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO | 1},
		 DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP}, DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO,
		  .frag = 0x2000},
		 DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO, .frag = 1},
		 DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = TCP, .sport = ECHO},
		 DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP6, .sport = ECHO6},
		 DROP_TO_ROUTER},
		{{.src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO, .len = 41},
		 DROP_TO_ROUTER},
		// Expired: a later fragment, an error message, an answer.
		{{.src = "10.0.1.2", .dst = "10.9.0.1", .ttl = 1, .frag = 1}, DROP_TTL_EXPIRED},
		{{.src = "10.0.1.2", .dst = "10.9.0.1", .ttl = 1, .proto = ICMP,
		  .sport = ICMP_TIME_EXCEEDED << 8},
		 DROP_TTL_EXPIRED},
		{{.src = "fd00:1::2", .dst = "fd00:9::1", .ttl = 1, .proto = ICMP6,
		  .sport = ICMP6_DST_UNREACH << 8},
		 DROP_TTL_EXPIRED},
		// From nobody.
		{{.src = "127.0.0.1", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO},
		 DROP_TO_ROUTER},
		{{.src = "127.0.0.1", .dst = "10.9.0.1", .ttl = 1}, DROP_MARTIAN},
	};

	(void)state;
	none_is_answered(rows, sizeof(rows) / sizeof(rows[0]));
}

static void errors_and_later_fragments_that_are_too_long_are_dropped(void **state)
{
	static const struct unanswered rows[] = {
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415, .frag = 1}, DROP_EGRESS_MTU},
		{{.src = "10.0.1.2",
		  .dst = "10.0.2.2",
		  .len = 1415,
		  .proto = ICMP,
		  .sport = ICMP_TIME_EXCEEDED << 8},
		 DROP_EGRESS_MTU},
		{{.src = "10.0.1.2",
		  .dst = "10.0.2.2",
		  .len = 1415,
		  .proto = ICMP,
		  .sport = ICMP_DEST_UNREACH << 8},
		 DROP_EGRESS_MTU},
		{{.src = "10.0.1.2",
		  .dst = "10.0.2.2",
		  .len = 1415,
		  .proto = ICMP,
		  .sport = 200 << 8},
		 DROP_EGRESS_MTU},
		{{.src = "fd00:1::2",
		  .dst = "fd00:2::2",
		  .len = 1415,
		  .proto = ICMP6,
		  .sport = ICMP6_PACKET_TOO_BIG << 8},
		 DROP_EGRESS_MTU},
	};

	(void)state;
	none_is_answered(rows, sizeof(rows) / sizeof(rows[0]));
}

static void nothing_answers_a_source_that_is_no_station(void **state)
{
	static const struct unanswered rows[] = {
		{{.src = "127.0.0.1", .dst = "10.0.2.2", .len = 1415}, DROP_MARTIAN},
		{{.src = "10.0.1.255", .dst = "10.0.2.2", .len = 1415}, DROP_MARTIAN},
		{{.src = "10.0.3.0", .dst = "10.9.0.1", .ttl = 1}, DROP_MARTIAN},
		{{.src = "10.0.1.255", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO},
		 DROP_MARTIAN},
		{{.src = "10.0.1.1", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO},
		 DROP_MARTIAN},
		{{.src = "fd00:2::1", .dst = "fd00:2::2", .len = 1415}, DROP_MARTIAN},
	};

	(void)state;
	none_is_answered(rows, sizeof(rows) / sizeof(rows[0]));
}

static void the_sender_of_an_expired_frame_learns_where(void **state)
{
	static const struct {
		struct router_packet p;
		const char *from;
		unsigned quoted;
	} rows[] = {
		{{.src = "10.0.1.2", .dst = "10.9.0.1", .ttl = 1}, "10.0.1.1", 86},
		{{.src = "10.0.1.2", .dst = "10.9.0.1", .ttl = 1, .len = 1514}, "10.0.1.1", 548},
		{{.src = "10.4.4.4", .dst = "10.9.0.1", .ttl = 1, .qp = 5}, "10.0.1.1", 86},
		{{.src = "10.0.1.2", .dst = "10.9.0.1", .ttl = 1, .proto = ICMP, .sport = ECHO},
		 "10.0.1.1", 86},
		{{.src = "fd00:1::2", .dst = "fd00:9::1", .ttl = 1, .len = 80}, "fd00:1::1", 66},
		{{.src = "fd00:1::2", .dst = "fd00:9::1", .ttl = 1, .len = 1514}, "fd00:1::1",
		 1232},
	};
	struct bench *b = router_open(router_routes);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t sent[FRAME_MAX], ip[16];
		uint16_t len = router_build(sent, P1, &rows[i].p);
		bool v6 = is_v6(sent);
		unsigned addr = v6 ? 16 : 4, src = 14 + (v6 ? 8 : 12), hlen = v6 ? 40 : 20;
		const uint8_t *got;

		bench_send_raw(b, P1, sent, len);
		router_settle(b);
		assert_int_equal(b->host[P1].n_rx, i + 1);
		assert_int_equal(last_at(b, P1)->len, 14 + hlen + 8 + rows[i].quoted);
		got = last_at(b, P1)->data;
		assert_memory_equal(got, sent + 6, 6);
		assert_memory_equal(got + 6, sent, 6);
		router_ip(rows[i].from, ip);
		assert_memory_equal(got + src, ip, addr);
		assert_memory_equal(got + src + addr, sent + src, addr);
		assert_int_equal(got[14 + (v6 ? 7 : 8)], 64);
		assert_int_equal(got[14 + hlen], v6 ? ICMP6_TIME_EXCEEDED : ICMP_TIME_EXCEEDED);
		assert_int_equal(got[14 + hlen + 1], 0);
		if (!v6)
			assert_int_equal(router_csum(got + 14, 20), 0);
		if (last_at(b, P1)->len <= BENCH_KEEP) {
			assert_int_equal(icmp_csum(got), 0);
			assert_memory_equal(got + 14 + hlen + 8, sent + 14, rows[i].quoted);
		}
	}
	assert_int_equal(router_received(b), sizeof(rows) / sizeof(rows[0]));
	bench_close(b);
}

// ---- path MTU

static uint8_t newest[FRAME_MAX];
static uint16_t newest_len;

static void keep_newest(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	(void)h;
	memcpy(newest, frame, len);
	newest_len = len;
}

// What p1 got is the error, whole, about the frame that its host has sent.
static void is_too_big(const uint8_t *sent, unsigned quoted, uint32_t mtu)
{
	bool v6 = is_v6(sent);
	unsigned addr = v6 ? 16 : 4, src = 14 + (v6 ? 8 : 12), hlen = v6 ? 40 : 20;
	const uint8_t *icmp = newest + 14 + hlen;
	uint8_t own[16];

	assert_int_equal(newest_len, 14 + hlen + 8 + quoted);
	assert_memory_equal(newest, sent + 6, 6);
	assert_memory_equal(newest + 6, sent, 6);
	router_ip(v6 ? "fd00:1::1" : "10.0.1.1", own);
	assert_memory_equal(newest + src, own, addr);
	assert_memory_equal(newest + src + addr, sent + src, addr);
	assert_int_equal(icmp[0], v6 ? ICMP6_PACKET_TOO_BIG : ICMP_DEST_UNREACH);
	assert_int_equal(icmp[1], v6 ? 0 : ICMP_FRAG_NEEDED);
	assert_int_equal(be32_get(icmp + 4), mtu);
	assert_memory_equal(icmp + 8, sent + 14, quoted);
	assert_int_equal(icmp_csum(newest), 0);
	if (!v6)
		assert_int_equal(router_csum(newest + 14, 20), 0);
}

static void the_sender_of_a_frame_that_is_too_long_learns_the_mtu(void **state)
{
	enum { DF = 0x4000, MF = 0x2000 };
	static const struct {
		struct router_packet p;
		unsigned quoted;
	} rows[] = {
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415, .frag = DF}, 548},
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1514, .proto = TCP, .frag = DF},
		 548},
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415},
		 548}, // the router has no other way
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415, .frag = MF}, 548},
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415, .options = true}, 548},
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1419, .tag = 0x6000}, 548},
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415, .proto = ICMP, .sport = ECHO},
		 548},
		{{.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415, .proto = ICMP},
		 548}, // a reply
		{{.src = "fd00:1::2", .dst = "fd00:2::2", .len = 1415}, 1232},
		{{.src = "fd00:1::2",
		  .dst = "fd00:2::2",
		  .len = 1415,
		  .proto = ICMP6,
		  .sport = ECHO6},
		 1232},
	};
	enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };
	struct bench *b = router_open(router_routes);
	const struct port_counters *c = switch_port_counters(b->sw, P1);

	(void)state;
	b->host[P1].on_rx = keep_newest;
	for (unsigned i = 0; i < N_ROWS; i++) {
		uint8_t sent[FRAME_MAX];
		uint16_t len = router_build(sent, P1, &rows[i].p);

		bench_send_raw(b, P1, sent, len);
		router_settle(b);
		assert_int_equal(b->host[P1].n_rx, i + 1);
		if (rows[i].p.tag != 0)
			memmove(sent + 12, sent + 16, len - 16u);
		is_too_big(sent, rows[i].quoted, 1400);
	}
	assert_int_equal(router_received(b), N_ROWS);
	assert_int_equal(bench_drops(b, DROP_EGRESS_MTU), 0);
	assert_int_equal(ctr_get(&c->routed_too_long), N_ROWS);
	// What fits passes.
	router_send(b, P1,
		    &(struct router_packet){.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1414});
	router_send(b, P1,
		    &(struct router_packet){.src = "fd00:1::2", .dst = "fd00:2::2", .len = 1414});
	router_settle(b);
	assert_int_equal(b->host[P2].n_rx, 2);
	assert_int_equal(ctr_get(&c->routed_too_long), N_ROWS);
	bench_close(b);
}

// RoCE reads no ICMP.
static void a_roce_frame_that_is_too_long_has_no_answer(void **state)
{
	struct bench *b = router_open(router_routes);

	(void)state;
	router_send(b, P1,
		    &(struct router_packet){
			    .src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415, .qp = 7});
	router_settle(b);
	assert_int_equal(router_received(b), 0);
	assert_int_equal(bench_drops(b, DROP_EGRESS_MTU), 1);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, P1)->routed_too_long), 1);
	bench_close(b);
}

static void a_frame_that_has_waited_for_its_next_hop_may_be_too_long(void **state)
{
	static const uint8_t mac[] = {2, 0, 0, 0, 0, 2};
	struct bench *b = router_open(router_routes);
	uint8_t sent[FRAME_MAX];
	uint16_t len = router_build(
		sent, P1,
		&(struct router_packet){
			.src = "10.0.1.2", .dst = "10.0.2.9", .len = 1415, .frag = 0x4000});

	(void)state;
	b->host[P1].on_rx = keep_newest;
	bench_send_raw(b, P1, sent, len);
	router_settle(b);
	assert_int_equal(b->host[P1].n_rx, 0);
	router_neighbour(b, P2, "10.0.2.9", mac);
	router_send(b, P1, &(struct router_packet){.src = "10.0.1.2", .dst = "10.0.2.9"});
	router_settle(b);
	assert_int_equal(b->host[P2].n_rx, 1);
	assert_int_equal(b->host[P1].n_rx, 1);
	is_too_big(sent, 548, 1400);
	bench_close(b);
}

// The MTU of the VLAN counts, also for a frame that has waited. The answer has the sender's tag.
static void a_frame_longer_than_the_mtu_of_its_vlan_is_answered_with_it(void **state)
{
	static const char policy[] =
		"switch: {buffer: {size: 4MB, cell: 256B}}\n"
		"ports:\n"
		"  - {name: p1, device: \"wire:1\", speed: 10G, vlan: {untagged: none, "
		"tagged: [100]}}\n"
		"  - {name: p2, device: \"wire:2\", speed: 10G, vlan: {untagged: 200}}\n"
		"vlans:\n"
		"  - {id: 100, ip: 10.0.100.1/24, mac: \"02:00:00:00:01:01\"}\n"
		"  - {id: 200, ip: 10.0.200.1/24, mtu: 1400}\n"
		"fdb:\n"
		"  - {mac: \"02:00:00:00:00:01\", port: p1, vlan: 100}\n"
		"  - {mac: \"02:00:00:00:00:02\", port: p2, vlan: 200}\n";
	static const uint8_t mac[] = {2, 0, 0, 0, 0, 2}, tag[] = {0x81, 0, 0, 100};
	struct router_packet k = {.src = "10.0.100.9", .dst = "10.0.200.9", .tag = 100};
	struct bench *b = bench_open(policy, 0);
	uint8_t own[4];

	(void)state;
	router_ip("10.0.100.1", own);
	b->host[P1].on_rx = keep_newest;
	k.len = 1419;
	router_send(b, P1, &k);
	router_settle(b);
	assert_int_equal(b->host[P1].n_rx, 0);
	router_neighbour(b, IFACE_SVI + 1, "10.0.200.9", mac);
	for (unsigned i = 1; i <= 2; i++) {
		k.len = 1418; // fits, and lets the frame that waits go on
		router_send(b, P1, &k);
		router_settle(b);
		assert_int_equal(b->host[P2].n_rx, i);
		assert_int_equal(b->host[P1].n_rx, i);
		assert_int_equal(newest_len, 14 + 4 + 576);
		assert_memory_equal(newest + 12, tag, sizeof(tag));
		assert_memory_equal(newest + 30, own, sizeof(own));
		assert_int_equal(be16_get(newest + 38), ICMP_DEST_UNREACH << 8 | ICMP_FRAG_NEEDED);
		assert_int_equal(be32_get(newest + 42), 1400);
		memset(newest, 0, sizeof(newest));
		k.len = 1419;
		if (i == 1)
			router_send(b, P1, &k);
	}
	bench_close(b);
}

// 250 at once, then 1,000 a second; ARP has a rate of its own.
static void a_flood_of_pings_is_policed_and_leaves_arp_alone(void **state)
{
	struct bench *b = router_open(router_routes);
	struct control_frame got;

	(void)state;
	for (unsigned i = 0; i < 400; i++)
		router_send(b, P1,
			    &(struct router_packet){.src = "10.0.1.2", .dst = "10.0.1.1",
						    .proto = ICMP, .sport = ECHO});
	bench_send(b, P1,
		   &(struct bench_frame){.broadcast = true, .len = 60, .ether_type = ETYPE_ARP});
	bench_run(b, 50000);
	assert_int_equal(b->host[P1].n_rx, 250);
	assert_int_equal(bench_drops(b, DROP_COPP), 150);
	assert_true(switch_next_punt(b->sw, NEIGHBOUR_REASONS, &got));
	bench_close(b);
}

// Errors and answers to pings share the rate.
static void a_flood_of_frames_that_are_too_long_is_policed(void **state)
{
	struct bench *b = router_open(router_routes);

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		router_send(
			b, P1,
			&(struct router_packet){
				.src = "10.0.1.2", .dst = "10.0.2.2", .len = 1415, .frag = 0x4000});
	router_send(b, P1,
		    &(struct router_packet){
			    .src = "10.0.1.2", .dst = "10.0.1.1", .proto = ICMP, .sport = ECHO});
	router_settle(b);
	assert_in_range(b->host[P1].n_rx, 250, 251);
	assert_int_equal(bench_drops(b, DROP_COPP), 301 - b->host[P1].n_rx);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, P1)->routed_too_long), 300);
	bench_close(b);
}

#define T(f) cmocka_unit_test(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_echo_request_to_the_router_is_answered),
		T(a_priority_tag_of_a_ping_ends_at_the_router),
		T(what_must_not_be_answered_is_dropped),
		T(errors_and_later_fragments_that_are_too_long_are_dropped),
		T(nothing_answers_a_source_that_is_no_station),
		T(the_sender_of_an_expired_frame_learns_where),
		T(the_sender_of_a_frame_that_is_too_long_learns_the_mtu),
		T(a_roce_frame_that_is_too_long_has_no_answer),
		T(a_frame_that_has_waited_for_its_next_hop_may_be_too_long),
		T(a_frame_longer_than_the_mtu_of_its_vlan_is_answered_with_it),
		T(a_flood_of_pings_is_policed_and_leaves_arp_alone),
		T(a_flood_of_frames_that_are_too_long_is_policed),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
