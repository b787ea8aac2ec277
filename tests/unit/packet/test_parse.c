// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dataplane/packet/parse.h"
#include "tests/unit/packet/frames.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const struct frame_spec samples[] = {
	{.opcode = RC_SEND_MIDDLE, .tos = 0x6a, .payload_len = 64, .dest_qp = 0x123456, .psn = 7},
	{.opcode = RC_WRITE_ONLY, .tos = 0x02, .payload_len = 16, .dest_qp = 1, .psn = 0xffffff,
	 .n_tags = 1, .tci = {0x6005}},
	{.opcode = RC_READ_REQUEST, .tos = 0xff, .payload_len = 16, .dest_qp = 0xffffff, .psn = 1,
	 .n_tags = 2, .tci = {0xa00a, 0x300b}, .option_words = 10, .seed = 3},
	{.opcode = ROCE_CNP, .tos = 0xc2, .payload_len = 16, .dest_qp = 0x19f, .option_words = 1},
	{.opcode = RC_ACK, .tos = 0x68, .payload_len = 4, .dest_qp = 2, .v6 = true, .seed = 9},
	{.opcode = UD_SEND_ONLY, .tos = 0x01, .payload_len = 256, .dest_qp = 1, .v6 = true,
	 .n_tags = 1, .tci = {0xffff}},
	{.opcode = RC_FETCH_ADD, .tos = 0xb8, .payload_len = 28, .v6 = true, .n_tags = 2,
	 .tci = {0x0001, 0xe002}},
};

// Parses a copy that ends exactly at len.
static struct pkt_info parsed(const uint8_t *frame, uint32_t len)
{
	uint8_t *copy = exact_copy(frame, len);
	struct pkt_info info;

	assert_true(parse(copy, len, &info));
	free(copy);
	return info;
}

static void every_field_of_a_roce_frame_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(samples); i++) {
		const struct frame_spec *s = &samples[i];
		uint8_t f[FRAME_MAX];
		uint32_t len = frame_roce(f, s);
		struct pkt_info p = parsed(f, len);
		uint32_t l3 = 14 + s->n_tags * 4u;

		assert_int_equal(p.kind, s->v6 ? PKT_IPV6 : PKT_IPV4);
		assert_int_equal(p.n_tags, s->n_tags);
		assert_int_equal(p.tci, s->tci[0]);
		assert_int_equal(p.inner_tag, s->n_tags == 2 ? 0x81000000 + s->tci[1] : 0);
		assert_int_equal(p.ether_type, s->v6 ? 0x86dd : 0x0800);
		assert_int_equal(p.l3_off, l3);
		assert_int_equal(p.dscp, s->tos >> 2);
		assert_int_equal(p.ecn, s->tos & 3);
		assert_int_equal(p.ip_proto, 17);
		assert_int_equal(p.l4_off, l3 + (s->v6 ? 40u : 20u + s->option_words * 4u));
		assert_int_equal(p.udp_sport, 0xc000 + s->seed);
		assert_int_equal(p.udp_dport, 4791);
		assert_true(p.roce);
		assert_int_equal(p.bth_opcode, s->opcode);
		assert_int_equal(p.bth_dest_qp, s->dest_qp);
		assert_int_equal(p.bth_psn, s->psn);
		assert_true(p.bth_ack_req);
		assert_int_equal(p.reserved_dst, DST_ORDINARY);
		assert_false(p.group_dst || p.fragment || p.bad_l3);
	}
}

static void a_real_cnp_is_understood(void **state)
{
	struct pkt_info p = parsed(cnp_connectx, sizeof(cnp_connectx));

	(void)state;
	assert_int_equal(p.kind, PKT_IPV4);
	assert_int_equal(p.dscp, 48);
	assert_int_equal(p.ecn, ECN_ECT0);
	assert_true(p.roce);
	assert_int_equal(p.bth_opcode, 0x81);
	assert_int_equal(p.bth_dest_qp, 0x118);
	assert_int_equal(p.bth_psn, 0);
	assert_false(p.bth_ack_req);
	assert_int_equal(p.udp_sport, 0);
	assert_int_equal(p.udp_dport, 4791);
}

static void a_frame_without_ethernet_header_is_refused(void **state)
{
	(void)state;
	for (uint32_t len = 0; len < 14; len++) {
		uint8_t *copy = exact_copy(cnp_connectx, len);
		struct pkt_info info;

		assert_false(parse(copy, len, &info));
		free(copy);
	}
}

// What a frame cut at len can still tell: each layer needs its header whole, and IP its length.
static void a_cut_frame_is_one_of_the_layer_below(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(samples); i++) {
		uint8_t f[FRAME_MAX];
		uint32_t whole = frame_roce(f, &samples[i]);

		for (uint32_t len = 14; len < whole; len++) {
			struct pkt_info p = parsed(f, len);
			uint32_t tags = (len - 14) / 4;

			tags = tags < samples[i].n_tags ? tags : samples[i].n_tags;
			assert_int_equal(p.kind, PKT_OTHER);
			assert_int_equal(p.n_tags, tags);
			assert_int_equal(p.l3_off, 14 + tags * 4);
			assert_int_equal(p.bad_l3, tags == samples[i].n_tags);
			assert_int_equal(p.dscp, 0);
			assert_int_equal(p.l4_off, 0);
			assert_false(p.roce);
		}
	}
}

// Here the packet is short and honest about it, in a frame that is padded.
static void a_short_packet_keeps_its_ip_layer(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(samples); i++) {
		uint8_t f[FRAME_MAX];
		uint32_t whole = frame_roce(f, &samples[i]);
		struct pkt_info full = parsed(f, whole);
		uint8_t *l3 = f + full.l3_off;
		uint32_t hlen = (uint32_t)full.l4_off - full.l3_off;

		for (uint32_t room = 0; room < 24; room++) {
			be16_put(l3 + (samples[i].v6 ? 4 : 2),
				 (uint16_t)(room + (samples[i].v6 ? 0 : hlen)));
			struct pkt_info p = parsed(f, whole);

			assert_int_equal(p.kind, full.kind);
			assert_int_equal(p.dscp, full.dscp);
			assert_int_equal(p.l4_off, room < 8 ? 0 : full.l4_off);
			assert_int_equal(p.udp_dport, room < 8 ? 0 : 4791);
			assert_int_equal(p.roce, room >= 20);
			// Nor is anything read behind the packet's own end.
			parsed(f, full.l4_off + room);
		}
	}
}

static void an_ip_header_that_does_not_hold_is_no_ip(void **state)
{
	static const struct {
		const char *what;
		bool v6;
		uint8_t at, value; // byte of the IP header
	} rows[] = {
		{"version 6 in EtherType 0x0800", false, 0, 0x65},
		{"version 0", false, 0, 0x05},
		{"header length of 16 bytes", false, 0, 0x44},
		{"header length 0", false, 0, 0x40},
		{"total length 19", false, 3, 19},
		{"total length 0", false, 3, 0},
		{"total length beyond the frame by one", false, 3, 61},
		{"total length beyond the frame by far", false, 2, 0xff},
		{"version 4 in EtherType 0x86dd", true, 0, 0x40},
		{"payload length beyond the frame by one", true, 5, 41},
		{"payload length beyond the frame by far", true, 4, 0xff},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		const struct frame_spec s = {.v6 = rows[i].v6, .opcode = ROCE_CNP, .tos = 0xc2,
					     .payload_len = 16};
		uint8_t f[FRAME_MAX];
		uint32_t len = frame_roce(f, &s);

		f[14 + rows[i].at] = rows[i].value;
		struct pkt_info p = parsed(f, len);

		if (!p.bad_l3 || p.kind != PKT_OTHER || p.dscp || p.ecn || p.l4_off || p.roce)
			fail_msg("%s was taken for IP", rows[i].what);
	}
}

static void a_header_longer_than_its_packet_is_no_ip(void **state)
{
	uint8_t f[14 + 20];

	(void)state;
	memcpy(f, cnp_connectx, sizeof(f));
	be16_put(f + 16, 20);
	assert_int_equal(parsed(f, sizeof(f)).kind, PKT_IPV4);
	f[14] = 0x46;
	assert_true(parsed(f, sizeof(f)).bad_l3);
}

static void padding_behind_the_packet_is_not_its_payload(void **state)
{
	const struct frame_spec s = {.opcode = RC_SEND_ONLY};
	uint8_t f[FRAME_MAX];
	uint32_t len = frame_roce(f, &s);

	(void)state;
	memset(f + len, 0xa5, 6);
	struct pkt_info a = parsed(f, len), b = parsed(f, len + 6);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void tags_are_stepped_over_up_to_two(void **state)
{
	static const struct {
		uint16_t tpid[3];
		uint8_t n, want_tags;
		uint16_t want_type;
		uint8_t want_kind;
		uint32_t want_inner;
	} rows[] = {
		{{0x8100}, 1, 1, 0x0800, PKT_IPV4, 0},
		{{0x88a8}, 1, 1, 0x0800, PKT_IPV4, 0},
		{{0x9100}, 1, 1, 0x0800, PKT_IPV4, 0},
		{{0x88a8, 0x8100}, 2, 2, 0x0800, PKT_IPV4, 0x8100a124},
		{{0x9100, 0x88a8}, 2, 2, 0x0800, PKT_IPV4, 0x88a8a124},
		{{0x8100, 0x9100}, 2, 2, 0x0800, PKT_IPV4, 0x9100a124},
		{{0x8100, 0x8100}, 2, 2, 0x0800, PKT_IPV4, 0x8100a124},
		{{0x88a8, 0x8100, 0x8100}, 3, 2, 0x8100, PKT_OTHER, 0x8100a124},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		uint8_t f[CNP_V4_LEN + 12];
		unsigned off = 12;

		memcpy(f, cnp_connectx, 12);
		for (unsigned t = 0; t < rows[i].n; t++, off += 4) {
			be16_put(f + off, rows[i].tpid[t]);
			be16_put(f + off + 2, (uint16_t)(0xa123 + t));
		}
		memcpy(f + off, cnp_connectx + 12, CNP_V4_LEN - 12);
		struct pkt_info p = parsed(f, off + CNP_V4_LEN - 12);

		assert_int_equal(p.n_tags, rows[i].want_tags);
		assert_int_equal(p.tci, 0xa123);
		assert_int_equal(p.inner_tag, rows[i].want_inner);
		assert_int_equal(p.ether_type, rows[i].want_type);
		assert_int_equal(p.kind, rows[i].want_kind);
		assert_int_equal(p.l3_off, 14 + 4 * rows[i].want_tags);
		assert_int_equal(p.dscp, rows[i].want_kind == PKT_IPV4 ? 48 : 0);
		assert_false(p.bad_l3);
	}
}

static void destination_addresses_are_told_apart(void **state)
{
	static const struct {
		uint8_t dst[6];
		bool group;
		enum reserved_dst reserved;
	} rows[] = {
		{{0x02, 0, 0, 0, 0, 1}, false, DST_ORDINARY},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, true, DST_ORDINARY},
		{{0x01, 0x00, 0x5e, 0, 0, 1}, true, DST_ORDINARY},
		{{0x01, 0x80, 0xc2, 0, 0, 0x00}, true, DST_STP},
		{{0x01, 0x80, 0xc2, 0, 0, 0x01}, true, DST_LINK_LOCAL},
		{{0x01, 0x80, 0xc2, 0, 0, 0x0f}, true, DST_LINK_LOCAL},
		{{0x01, 0x80, 0xc2, 0, 0, 0x10}, true, DST_ORDINARY},
		{{0x01, 0x80, 0xc2, 0, 1, 0x01}, true, DST_ORDINARY},
		{{0x01, 0x80, 0xc3, 0, 0, 0x01}, true, DST_ORDINARY},
		{{0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcd}, true, DST_ORDINARY}, // PVST+
		{{0xcf, 0, 0, 0, 0, 0}, true, DST_LOOPBACK},
		{{0xcf, 0, 0, 0, 0, 1}, true, DST_ORDINARY},
		{{0x00, 0x80, 0xc2, 0, 0, 0x01}, false, DST_ORDINARY},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		uint8_t f[CNP_V4_LEN];

		memcpy(f, cnp_connectx, sizeof(f));
		memcpy(f, rows[i].dst, 6);
		struct pkt_info p = parsed(f, sizeof(f));
		assert_int_equal(p.group_dst, rows[i].group);
		assert_int_equal(p.reserved_dst, rows[i].reserved);
	}
}

static void control_frames_are_known_by_ether_type(void **state)
{
	static const struct {
		uint16_t type;
		uint8_t n_tags, kind;
	} rows[] = {
		{0x8808, 0, PKT_MAC_CONTROL}, {0x8808, 1, PKT_MAC_CONTROL}, {0x88cc, 0, PKT_LLDP},
		{0x88cc, 1, PKT_LLDP},	      {0x8809, 0, PKT_SLOW},	    {0x88a7, 1, PKT_INOF},
		{0x0806, 0, PKT_OTHER},	      {0x0026, 0, PKT_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		const struct frame_spec s = {.n_tags = rows[i].n_tags, .tci = {0x6001}};
		uint8_t f[64] = {0};
		uint32_t off = frame_l2(f, &s, rows[i].type);
		struct pkt_info p = parsed(f, 60);

		assert_int_equal(p.kind, rows[i].kind);
		assert_int_equal(p.ether_type, rows[i].type);
		assert_int_equal(p.l3_off, off);
		assert_false(p.bad_l3);
	}
}

// Behind more tags than the parser steps over, too: another switch may take tags off.
static void mac_control_is_found_behind_any_number_of_tags(void **state)
{
	static const uint16_t tpids[] = {0x8100, 0x88a8, 0x9100};
	uint8_t f[128] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};

	(void)state;
	for (uint32_t n = 0; n <= 20; n++) {
		uint32_t type_at = 12 + 4 * n;

		for (uint32_t i = 0; i < n; i++)
			be16_put((struct be16 *)(f + 12 + 4 * i), tpids[i % N(tpids)]);
		be16_put((struct be16 *)(f + type_at), 0x8808);
		assert_int_equal(parsed(f, type_at + 2).kind, PKT_MAC_CONTROL);
		if (n != 0) // cut off
			assert_int_equal(parsed(f, type_at + 1).kind, PKT_OTHER);
		be16_put((struct be16 *)(f + type_at), 0x8807);
		assert_int_equal(parsed(f, type_at + 2).kind, PKT_OTHER);
	}
}

static void only_the_first_fragment_has_a_transport(void **state)
{
	static const struct {
		uint16_t frag;
		bool later;
	} rows[] = {
		{0, false}, {IPV4_DF, false}, {IPV4_MF, false}, {1, true}, {IPV4_MF | 185, true},
		{0x1fff, true},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		uint8_t f[CNP_V4_LEN];

		memcpy(f, cnp_connectx, sizeof(f));
		be16_put(f + 20, rows[i].frag);
		struct pkt_info p = parsed(f, sizeof(f));
		assert_int_equal(p.kind, PKT_IPV4);
		assert_int_equal(p.dscp, 48);
		assert_int_equal(p.fragment, rows[i].later);
		assert_int_equal(p.roce, !rows[i].later);
		assert_int_equal(p.ip_proto, rows[i].later ? 0 : 17);
		assert_int_equal(p.l4_off, rows[i].later ? 0 : 34);
		assert_int_equal(p.udp_dport, rows[i].later ? 0 : 4791);
	}
}

static void other_transports_have_an_offset_and_no_ports(void **state)
{
	uint8_t f[CNP_V4_LEN];

	(void)state;
	memcpy(f, cnp_connectx, sizeof(f));
	f[23] = 6;
	struct pkt_info p = parsed(f, sizeof(f));
	assert_int_equal(p.ip_proto, 6);
	assert_int_equal(p.l4_off, 34);
	assert_int_equal(p.udp_dport, 0);
	assert_false(p.roce);
}

static void udp_to_another_port_is_not_roce(void **state)
{
	uint8_t f[CNP_V4_LEN];

	(void)state;
	memcpy(f, cnp_connectx, sizeof(f));
	be16_put(f + 34, 4791); // as a source port it means nothing
	be16_put(f + 36, 4790);
	struct pkt_info p = parsed(f, sizeof(f));
	assert_int_equal(p.udp_sport, 4791);
	assert_int_equal(p.udp_dport, 4790);
	assert_false(p.roce);
}

// ---- IPv6 extension headers

struct ext {
	uint8_t type, len_field;
	uint16_t size;
	uint16_t second; // bytes 2 and 3: the offset of a fragment header
};

// An IPv6 RoCE frame with a chain between IP and UDP; returns its length. `last` ends the chain.
static uint32_t frame_with_ext(uint8_t *f, const struct ext *chain, unsigned n, uint8_t last)
{
	const struct frame_spec s = {.v6 = true, .opcode = RC_SEND_ONLY, .tos = 0x6a,
				     .payload_len = 8, .dest_qp = 5};
	uint8_t plain[FRAME_MAX];
	uint32_t len = frame_roce(plain, &s), off = 54;

	memset(f, 0, FRAME_MAX);
	memcpy(f, plain, 54);
	f[14 + 6] = n ? chain[0].type : last;
	for (unsigned i = 0; i < n; i++) {
		f[off] = i + 1 < n ? chain[i + 1].type : last;
		f[off + 1] = chain[i].len_field;
		be16_put(f + off + 2, chain[i].second);
		off += chain[i].size;
	}
	memcpy(f + off, plain + 54, len - 54);
	len += off - 54;
	be16_put(f + 18, (uint16_t)(len - 54));
	return len;
}

static void extension_headers_are_walked_to_the_transport(void **state)
{
	static const struct {
		struct ext chain[PARSE_MAX_EXT];
		unsigned n;
	} rows[] = {
		{{{0, 0, 8, 0}}, 1},
		{{{0, 3, 32, 0}}, 1},
		{{{43, 2, 24, 0}}, 1},
		{{{60, 0, 8, 0}}, 1},
		{{{51, 4, 24, 0}}, 1}, // (4 + 2) words
		{{{51, 0, 8, 0}}, 1},
		{{{44, 0xff, 8, 0x0001}}, 1}, // first fragment; its second byte is reserved
		{{{0, 1, 16, 0}, {60, 0, 8, 0}, {43, 1, 16, 0}, {44, 0, 8, 0}, {51, 4, 24, 0},
		  {60, 2, 24, 0}}, 6},
		{{{0, 0, 8, 0}, {60, 0, 8, 0}, {60, 0, 8, 0}, {60, 0, 8, 0}, {60, 0, 8, 0},
		  {60, 0, 8, 0}, {60, 0, 8, 0}, {60, 0, 8, 0}}, 8},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		uint8_t f[FRAME_MAX];
		uint32_t len = frame_with_ext(f, rows[i].chain, rows[i].n, 17), off = 54;

		for (unsigned k = 0; k < rows[i].n; k++)
			off += rows[i].chain[k].size;
		struct pkt_info p = parsed(f, len);
		assert_int_equal(p.kind, PKT_IPV6);
		assert_int_equal(p.ip_proto, 17);
		assert_int_equal(p.l4_off, off);
		assert_true(p.roce);
		assert_int_equal(p.bth_dest_qp, 5);
		assert_false(p.fragment);

		// Every shorter packet ends somewhere in the chain, which is then not walked past.
		for (uint32_t cut = 54; cut < len; cut++) {
			be16_put(f + 18, (uint16_t)(cut - 54));
			p = parsed(f, cut);
			assert_int_equal(p.kind, PKT_IPV6);
			assert_int_equal(p.dscp, 26);
			assert_int_equal(p.l4_off, cut < off + 8 ? 0 : off);
			assert_int_equal(p.roce, cut >= off + 20);
		}
	}
}

static void a_ninth_extension_header_ends_the_walk(void **state)
{
	struct ext chain[PARSE_MAX_EXT + 1];
	uint8_t f[FRAME_MAX];

	(void)state;
	for (unsigned i = 0; i < N(chain); i++)
		chain[i] = (struct ext){60, 0, 8, 0};
	struct pkt_info p = parsed(f, frame_with_ext(f, chain, N(chain), 17));
	assert_int_equal(p.kind, PKT_IPV6);
	assert_int_equal(p.ip_proto, 60);
	assert_int_equal(p.l4_off, 0);
	assert_false(p.roce || p.bad_l3);
}

static void a_later_ipv6_fragment_has_no_transport(void **state)
{
	static const struct ext chain[] = {{0, 0, 8, 0}, {44, 0, 8, 0x0008}};
	uint8_t f[FRAME_MAX];
	struct pkt_info p;

	(void)state;
	p = parsed(f, frame_with_ext(f, chain, N(chain), 17));
	assert_int_equal(p.kind, PKT_IPV6);
	assert_int_equal(p.dscp, 26);
	assert_true(p.fragment);
	assert_int_equal(p.ip_proto, 0);
	assert_int_equal(p.l4_off, 0);
	assert_false(p.roce);
}

static void no_next_header_is_not_an_extension(void **state)
{
	uint8_t f[FRAME_MAX];
	struct pkt_info p;

	(void)state;
	p = parsed(f, frame_with_ext(f, NULL, 0, 59));
	assert_int_equal(p.kind, PKT_IPV6);
	assert_int_equal(p.ip_proto, 59);
	assert_false(p.roce || p.bad_l3);
}

// ---- opcodes

static void all_but_acknowledgements_and_notifications_are_data(void **state)
{
	static const uint8_t not_data[] = {0x11, 0x12, 0x15, 0x81};

	(void)state;
	for (unsigned op = 0; op <= 0x17; op++) {
		bool want = true;

		for (size_t i = 0; i < N(not_data); i++)
			want &= op != not_data[i];
		assert_int_equal(roce_is_data((uint8_t)op), want);
		// The same operations of the XRC transport.
		assert_int_equal(roce_is_data((uint8_t)(0xa0 | op)), want);
	}
	assert_true(roce_is_data(UD_SEND_ONLY));
	assert_true(roce_is_data(UD_SEND_ONLY_IMM));
	assert_true(roce_is_data(0x21)); // UC SEND middle shares its low bits with nothing else
	assert_false(roce_is_data(ROCE_CNP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_a_roce_frame_is_found),
		cmocka_unit_test(a_real_cnp_is_understood),
		cmocka_unit_test(a_frame_without_ethernet_header_is_refused),
		cmocka_unit_test(a_cut_frame_is_one_of_the_layer_below),
		cmocka_unit_test(a_short_packet_keeps_its_ip_layer),
		cmocka_unit_test(an_ip_header_that_does_not_hold_is_no_ip),
		cmocka_unit_test(a_header_longer_than_its_packet_is_no_ip),
		cmocka_unit_test(padding_behind_the_packet_is_not_its_payload),
		cmocka_unit_test(tags_are_stepped_over_up_to_two),
		cmocka_unit_test(destination_addresses_are_told_apart),
		cmocka_unit_test(control_frames_are_known_by_ether_type),
		cmocka_unit_test(mac_control_is_found_behind_any_number_of_tags),
		cmocka_unit_test(only_the_first_fragment_has_a_transport),
		cmocka_unit_test(other_transports_have_an_offset_and_no_ports),
		cmocka_unit_test(udp_to_another_port_is_not_roce),
		cmocka_unit_test(extension_headers_are_walked_to_the_transport),
		cmocka_unit_test(a_ninth_extension_header_ends_the_walk),
		cmocka_unit_test(a_later_ipv6_fragment_has_no_transport),
		cmocka_unit_test(no_next_header_is_not_an_extension),
		cmocka_unit_test(all_but_acknowledgements_and_notifications_are_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
