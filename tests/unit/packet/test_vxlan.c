// SPDX-License-Identifier: Apache-2.0
// The headers of a VXLAN tunnel, ECN at its ends, and the tables of a VTEP.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/forward/l3.h"
#include "dataplane/forward/vtep.h"
#include "dataplane/packet/tunnel_ecn.h"
#include "dataplane/packet/vxlan.h"

enum { INNER_LEN = 60, ROOM = VXLAN_V6_LEN + INNER_LEN };

// ---- ECN

// Figure 4 of RFC 6040, row by row: inner, outer, result ("drop"), and "!" where it asks for a log.
static const struct {
	uint8_t inner, outer;
	int result; // -1: drop
	bool odd;
} rows[] = {
	{ECN_NOT_ECT, ECN_NOT_ECT, ECN_NOT_ECT, false}, {ECN_NOT_ECT, ECN_ECT0, ECN_NOT_ECT, true},
	{ECN_NOT_ECT, ECN_ECT1, ECN_NOT_ECT, true},     {ECN_NOT_ECT, ECN_CE, -1, true},
	{ECN_ECT0, ECN_NOT_ECT, ECN_ECT0, false},       {ECN_ECT0, ECN_ECT0, ECN_ECT0, false},
	{ECN_ECT0, ECN_ECT1, ECN_ECT1, false},          {ECN_ECT0, ECN_CE, ECN_CE, false},
	{ECN_ECT1, ECN_NOT_ECT, ECN_ECT1, false},       {ECN_ECT1, ECN_ECT0, ECN_ECT1, true},
	{ECN_ECT1, ECN_ECT1, ECN_ECT1, false},          {ECN_ECT1, ECN_CE, ECN_CE, false},
	{ECN_CE, ECN_NOT_ECT, ECN_CE, false},           {ECN_CE, ECN_ECT0, ECN_CE, false},
	{ECN_CE, ECN_ECT1, ECN_CE, true},               {ECN_CE, ECN_CE, ECN_CE, false},
};

static void the_end_of_a_tunnel_follows_each_row_of_rfc_6040(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tunnel_ecn_end e =
			tunnel_ecn_inner(TUNNEL_ECN_RFC6040, rows[i].inner, rows[i].outer);

		assert_int_equal(e.drop, rows[i].result < 0);
		assert_int_equal(e.odd, rows[i].odd);
		if (rows[i].result >= 0)
			assert_int_equal(e.ecn, rows[i].result);
	}
}

static void copy_takes_the_outer_field_and_off_the_inner_field(void **state)
{
	(void)state;
	for (uint8_t in = 0; in < 4; in++)
		for (uint8_t out = 0; out < 4; out++) {
			assert_int_equal(tunnel_ecn_inner(TUNNEL_ECN_COPY, in, out).ecn, out);
			assert_int_equal(tunnel_ecn_inner(TUNNEL_ECN_OFF, in, out).ecn, in);
			assert_false(tunnel_ecn_inner(TUNNEL_ECN_COPY, in, out).drop);
			assert_false(tunnel_ecn_inner(TUNNEL_ECN_OFF, in, out).drop);
		}
}

static void the_begin_of_a_tunnel_copies_the_field_unless_ecn_is_off(void **state)
{
	(void)state;
	for (uint8_t in = 0; in < 4; in++) {
		assert_int_equal(tunnel_ecn_outer(TUNNEL_ECN_RFC6040, in), in);
		assert_int_equal(tunnel_ecn_outer(TUNNEL_ECN_COPY, in), in);
		assert_int_equal(tunnel_ecn_outer(TUNNEL_ECN_OFF, in), ECN_NOT_ECT);
	}
}

// ---- headers

static const uint8_t src6[16] = {0xfd, [15] = 1}, dst6[16] = {0xfd, [15] = 2};

static struct vxlan_outer outer_of(bool v6)
{
	static const uint8_t src[] = {10, 0, 0, 1}, dst[] = {10, 0, 0, 2};

	return (struct vxlan_outer){.v6 = v6, .src = v6 ? src6 : src, .dst = v6 ? dst6 : dst,
				    .dscp = 26, .ecn = ECN_ECT0, .ttl = 64, .sport = 50000,
				    .dport = VXLAN_UDP_PORT, .vni = 0x123456,
				    .inner_len = INNER_LEN};
}

// A UDP packet with this traffic class inside the tunnel.
static void inner_of(uint8_t *frame, bool v6, uint8_t ecn)
{
	memset(frame, 0, INNER_LEN);
	frame[0] = frame[6] = 2;
	be16_put(frame + 12, v6 ? ETYPE_IPV6 : ETYPE_IPV4);
	if (v6) {
		be32_put(frame + 14, 6u << 28 | 26u << 22 | (uint32_t)ecn << 20);
		be16_put(frame + 18, INNER_LEN - 14 - 40);
		frame[20] = 59; // nothing follows
		return;
	}
	frame[14] = 0x45;
	frame[15] = (uint8_t)(26 << 2 | ecn);
	be16_put(frame + 16, INNER_LEN - 14);
	frame[23] = IP_PROTO_UDP;
	for (uint32_t csum = 0; csum < 0xffff && !ipv4_csum_holds(frame + 14); csum++)
		be16_put(frame + 24, (uint16_t)csum);
}

// The whole frame; returns its length.
static unsigned tunnel_frame(uint8_t frame[ROOM], bool v6, bool inner_v6, uint8_t ecn)
{
	struct vxlan_outer o = outer_of(v6);

	vxlan_write(frame, &o);
	inner_of(frame + vxlan_overhead(v6), inner_v6, ecn);
	return vxlan_overhead(v6) + INNER_LEN;
}

static enum vxlan_fault read_at(const uint8_t *frame, unsigned len, unsigned stored,
				struct vxlan_found *out)
{
	struct pkt_info pkt;

	assert_true(parse(frame, len, &pkt));
	assert_true(vxlan_is(&pkt, VXLAN_UDP_PORT));
	return vxlan_read(frame, stored, pkt.l3_off, &pkt, out);
}

static void what_is_written_is_read_again(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		uint8_t frame[ROOM];
		unsigned len = tunnel_frame(frame, v6, false, ECN_ECT0);
		struct vxlan_found in;
		struct pkt_info pkt;

		assert_int_equal(len, INNER_LEN + (v6 ? 70 : 50));
		assert_int_equal(read_at(frame, len, len, &in), VXLAN_OK);
		assert_int_equal(in.vni, 0x123456);
		assert_int_equal(in.off, v6 ? 70 : 50);
		assert_int_equal(in.len, INNER_LEN);
		parse(frame, len, &pkt);
		assert_int_equal(pkt.dscp, 26);
		assert_int_equal(pkt.ecn, ECN_ECT0);
		assert_int_equal(pkt.udp_sport, 50000);
		assert_true(v6 || ipv4_csum_holds(frame + ETH_HLEN_));
		assert_int_equal(frame[v6 ? 21 : 22], 64);
	}
}

static void each_fault_has_its_name(void **state)
{
	enum { UDP = ETH_HLEN_ + 20, VX = UDP + 8 };
	static const struct {
		unsigned at;
		uint8_t value[2];
		enum vxlan_fault fault;
	} faults[] = {
		{ETH_HLEN_ + 6, {0x20, 0}, VXLAN_FRAGMENT},
		{UDP + 4, {0, 15}, VXLAN_TRUNCATED},
		{UDP + 4, {0, 16 + INNER_LEN + 1}, VXLAN_TRUNCATED},
		{UDP + 4, {0, 16 + 13}, VXLAN_INNER_RUNT},
		{UDP + 4, {0, 16 + 14}, VXLAN_OK},
		{VX, {0x00, 0}, VXLAN_FLAGS},
		{VX, {0x0c, 0}, VXLAN_FLAGS}, // GPE
		{VX, {0x88, 0}, VXLAN_FLAGS}, // GBP
		{VX + 2, {0, 1}, VXLAN_FLAGS},
		{VX, {0x08, 0}, VXLAN_OK},
	};
	struct vxlan_found in;

	(void)state;
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint8_t frame[ROOM];
		unsigned len = tunnel_frame(frame, false, false, ECN_ECT0);

		memcpy(frame + faults[i].at, faults[i].value, 2);
		assert_int_equal(read_at(frame, len, len, &in), faults[i].fault);
	}
}

static void no_byte_that_is_not_stored_is_read(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		unsigned overhead = vxlan_overhead(v6);

		for (unsigned stored = overhead - 16; stored <= overhead + ETH_HLEN_; stored++) {
			uint8_t frame[ROOM], *cut = malloc(stored);
			unsigned len = tunnel_frame(frame, v6, false, ECN_ECT0);
			enum vxlan_fault fault;
			struct vxlan_found in;
			struct pkt_info pkt;

			assert_true(parse(frame, len, &pkt));
			memcpy(cut, frame, stored);
			fault = vxlan_read(cut, stored, pkt.l3_off, &pkt, &in);
			assert_int_equal(fault, stored < overhead ? VXLAN_TRUNCATED
					 : stored < overhead + ETH_HLEN_ ? VXLAN_INNER_RUNT
									  : VXLAN_OK);
			free(cut);
		}
	}
}

static void flows_have_their_own_source_port(void **state)
{
	uint8_t frame[INNER_LEN];
	unsigned differ = 0;
	uint16_t first = 0;

	(void)state;
	inner_of(frame, false, ECN_ECT0);
	for (unsigned i = 0; i < 64; i++) {
		struct pkt_info pkt;
		uint16_t sport;

		be16_put(frame + 34, (uint16_t)(1000 + i)); // UDP source port
		parse(frame, INNER_LEN, &pkt);
		sport = vxlan_sport(frame, INNER_LEN, &pkt);
		assert_true(sport >= 49152);
		assert_int_equal(vxlan_sport(frame, INNER_LEN, &pkt), sport);
		differ += i > 0 && sport != first;
		first = i == 0 ? sport : first;
	}
	assert_int_equal(differ, 63);
}

// ---- the inner header, marked in transit

// The one's complement sum of the UDP datagram and its pseudo header: 0xffff if the checksum holds.
static uint32_t udp_sum(const uint8_t *l3, bool v6)
{
	const uint8_t *udp = l3 + (v6 ? 40 : 20);
	uint32_t len = be16_get(udp + 4), sum = len + IP_PROTO_UDP;

	for (unsigned i = 0; i < (v6 ? 32 : 8); i += 2)
		sum += be16_get(l3 + (v6 ? 8 : 12) + i);
	for (unsigned i = 0; i < len; i += 2)
		sum += be16_get(udp + i);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void the_inner_header_is_marked_and_all_checksums_hold(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 8; kind++) {
		bool v6 = kind & 1, inner_v6 = kind & 2, summed = kind & 4;
		uint8_t frame[ROOM], *l3 = frame + ETH_HLEN_;
		unsigned len = tunnel_frame(frame, v6, inner_v6, ECN_ECT0);
		uint8_t *inner = frame + vxlan_overhead(v6), *csum = l3 + (v6 ? 46 : 26);
		struct pkt_info pkt;

		if (summed)
			be16_put(csum, (uint16_t)~udp_sum(l3, v6));
		assert_true(vxlan_mark_inner(l3, len - ETH_HLEN_, len - ETH_HLEN_,
					     VXLAN_UDP_PORT));
		parse(inner, INNER_LEN, &pkt);
		assert_int_equal(pkt.ecn, ECN_CE);
		assert_int_equal(pkt.dscp, 26);
		assert_true(inner_v6 || ipv4_csum_holds(inner + ETH_HLEN_));
		if (summed)
			assert_int_equal(udp_sum(l3, v6), 0xffff);
		else
			assert_int_equal(be16_get(csum), 0);
	}
}

static void only_an_ecn_capable_frame_in_a_tunnel_is_marked(void **state)
{
	static const uint8_t ecn[] = {ECN_NOT_ECT, ECN_CE};
	uint8_t frame[ROOM], before[ROOM];
	unsigned len;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		len = tunnel_frame(frame, false, false, ecn[i]);
		memcpy(before, frame, len);
		assert_false(vxlan_mark_inner(frame + ETH_HLEN_, len - ETH_HLEN_, len - ETH_HLEN_,
					      VXLAN_UDP_PORT));
		assert_memory_equal(frame, before, len);
	}
	len = tunnel_frame(frame, false, false, ECN_ECT0);
	assert_false(vxlan_mark_inner(frame + ETH_HLEN_, len - ETH_HLEN_, len - ETH_HLEN_, 4790));
	assert_false(vxlan_mark_inner(frame + ETH_HLEN_, len - ETH_HLEN_, VXLAN_V4_LEN,
				      VXLAN_UDP_PORT));
	be16_put(frame + VXLAN_V4_LEN + 12, ETYPE_ARP);
	assert_false(vxlan_mark_inner(frame + ETH_HLEN_, len - ETH_HLEN_, len - ETH_HLEN_,
				      VXLAN_UDP_PORT));
}

// ---- tables

static void every_vni_and_peer_of_a_full_table_is_found(void **state)
{
	struct vtep *v = calloc(1, sizeof(*v));
	uint8_t other[16] = {10, 1, 0, 1};

	(void)state;
	v->n_vnis = VTEP_MAX_VNIS;
	v->n_peers = VTEP_MAX_PEERS;
	for (unsigned i = 0; i < VTEP_MAX_VNIS; i++)
		v->vnis[i] = (struct vtep_vni){.vni = 7 * i + 1, .vid = (uint16_t)(i + 1)};
	for (unsigned i = 0; i < VTEP_MAX_PEERS; i++)
		memcpy(v->peers[i], (const uint8_t[4]){10, 0, 0, (uint8_t)(i + 1)}, 4);
	vtep_index(v);
	for (unsigned i = 0; i < VTEP_MAX_VNIS; i++) {
		assert_ptr_equal(vtep_vni_of(v, 7 * i + 1), &v->vnis[i]);
		assert_null(vtep_vni_of(v, 7 * i + 2));
		assert_ptr_equal(vtep_vni_of_vlan(v, i + 1), &v->vnis[i]);
	}
	for (unsigned i = 0; i < VTEP_MAX_PEERS; i++)
		assert_int_equal(vtep_peer_of(v, v->peers[i]), i);
	assert_int_equal(vtep_peer_of(v, other), VTEP_NONE);
	assert_null(vtep_vni_of_vlan(v, VTEP_MAX_VNIS + 1));
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_tunnel_follows_each_row_of_rfc_6040),
		cmocka_unit_test(copy_takes_the_outer_field_and_off_the_inner_field),
		cmocka_unit_test(the_begin_of_a_tunnel_copies_the_field_unless_ecn_is_off),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(each_fault_has_its_name),
		cmocka_unit_test(no_byte_that_is_not_stored_is_read),
		cmocka_unit_test(flows_have_their_own_source_port),
		cmocka_unit_test(the_inner_header_is_marked_and_all_checksums_hold),
		cmocka_unit_test(only_an_ecn_capable_frame_in_a_tunnel_is_marked),
		cmocka_unit_test(every_vni_and_peer_of_a_full_table_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
