// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dataplane/packet/edit.h"
#include "dataplane/packet/icrc.h"
#include "source_root.h"
#include "tests/unit/packet/frames.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static bool good(const uint8_t *frame, uint32_t len)
{
	uint8_t *copy = exact_copy(frame, len);
	struct pkt_info info;
	bool ok;

	assert_true(parse(copy, len, &info));
	ok = icrc_check(copy, len, &info);
	free(copy);
	return ok;
}

static void a_real_connectx_cnp_carries_our_icrc(void **state)
{
	(void)state;
	// 82 fd 00 2a on the wire, little-endian.
	assert_int_equal(icrc(cnp_connectx + 14, 56, PKT_IPV4), 0x2a00fd82);
	assert_true(good(cnp_connectx, sizeof(cnp_connectx)));
}

static void a_second_published_cnp_carries_our_icrc(void **state)
{
	uint8_t f[CNP_V4_LEN];
	const uint8_t want[4] = {0xd3, 0x07, 0x70, 0xc1};

	(void)state;
	memcpy(f, cnp_connectx, sizeof(f));
	be16_put(f + 18, 0); // IP id
	be32_put(f + 26, 0xc0a80a0c);
	be32_put(f + 30, 0xc0a80a0a);
	be16_put(f + 24, ipv4_csum(f + 14));
	assert_int_equal(be16_get(f + 24), 0xa488);
	be16_put(f + 34, 0xc123);
	be24_put(f + 47, 0x19f);
	icrc_put(f + 70, icrc(f + 14, 56, PKT_IPV4));
	assert_memory_equal(f + 70, want, 4);
	assert_true(good(f, sizeof(f)));
}

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

// Little-endian pcap, microseconds, Ethernet; the third frame was spoilt on purpose.
static void captured_cnps_are_judged_rightly(void **state)
{
	static const bool want[] = {true, true, false, true};
	FILE *in = fopen(SOURCE_ROOT "/tests/data/cnp_vectors.pcap", "rb");
	uint8_t head[24], f[FRAME_MAX];
	unsigned n = 0;

	(void)state;
	assert_non_null(in);
	assert_int_equal(fread(head, 1, 24, in), 24);
	assert_int_equal(le32(head), 0xa1b2c3d4);
	while (fread(head, 1, 16, in) == 16) {
		uint32_t len = le32(head + 8);

		assert_true(len <= sizeof(f) && n < N(want));
		assert_int_equal(fread(f, 1, len, in), len);
		assert_int_equal(good(f, len), want[n]);
		n++;
	}
	fclose(in);
	assert_int_equal(n, N(want));
}

static const struct frame_spec samples[] = {
	{.opcode = RC_SEND_MIDDLE, .tos = 0x6a, .payload_len = 1024, .dest_qp = 0x10, .psn = 9},
	{.opcode = RC_ACK, .tos = 0x69, .payload_len = 4, .option_words = 10, .seed = 77},
	{.opcode = ROCE_CNP, .tos = 0xc2, .payload_len = 16, .v6 = true, .seed = 3},
	{.opcode = RC_WRITE_ONLY, .payload_len = 20, .v6 = true, .n_tags = 2, .tci = {5, 6}},
	{.opcode = RC_SEND_ONLY, .tos = 2, .n_tags = 1, .tci = {0x6001}},
};

static void marking_and_remarking_do_not_change_the_icrc(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(samples); i++) {
		uint8_t f[FRAME_MAX];
		uint32_t len = frame_roce(f, &samples[i]), l3 = 14 + samples[i].n_tags * 4u;
		enum pkt_kind kind = samples[i].v6 ? PKT_IPV6 : PKT_IPV4;
		uint32_t was = icrc(f + l3, len - l3 - 4, kind);

		assert_true(good(f, len));
		edit_ecn_ce(f + l3, kind);
		assert_int_equal(icrc(f + l3, len - l3 - 4, kind), was);
		for (uint8_t dscp = 0; dscp < 64; dscp++) {
			edit_dscp(f + l3, kind, dscp);
			assert_int_equal(icrc(f + l3, len - l3 - 4, kind), was);
		}
		assert_true(good(f, len));
	}
}

// Bit `bit` of the packet, counted from its IP header, is one that a network may change.
static bool is_masked(const struct frame_spec *s, uint32_t bit)
{
	uint32_t byte = bit / 8, l4 = s->v6 ? 40 : 20 + s->option_words * 4u;

	if (byte == l4 + 6 || byte == l4 + 7 || byte == l4 + 8 + 4)
		return true;
	if (s->v6)
		return byte == 7 || (byte < 4 && !(byte == 0 && bit % 8 >= 4));
	return byte == 1 || byte == 8 || byte == 10 || byte == 11;
}

static void the_icrc_covers_exactly_the_invariant_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(samples); i++) {
		const struct frame_spec *s = &samples[i];
		uint8_t f[FRAME_MAX];
		uint32_t len = frame_roce(f, s), l3 = 14 + s->n_tags * 4u, end = len - l3 - 4;
		enum pkt_kind kind = s->v6 ? PKT_IPV6 : PKT_IPV4;
		uint32_t was = icrc(f + l3, end, kind);

		for (uint32_t bit = 0; bit < end * 8; bit++) {
			uint8_t *at = &f[l3 + bit / 8], flip = (uint8_t)(1 << bit % 8);

			if (!s->v6 && bit < 4) // the header length decides where things are
				continue;
			*at ^= flip;
			if ((icrc(f + l3, end, kind) == was) != is_masked(s, bit))
				fail_msg("sample %zu: bit %u of byte %u", i, bit % 8, bit / 8);
			*at ^= flip;
		}
	}
}

static void every_wrong_bit_of_the_icrc_itself_is_seen(void **state)
{
	(void)state;
	for (uint32_t bit = 0; bit < 32; bit++) {
		uint8_t f[CNP_V4_LEN];

		memcpy(f, cnp_connectx, sizeof(f));
		f[70 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(good(f, sizeof(f)));
	}
}

static void padding_does_not_move_the_icrc(void **state)
{
	for (size_t i = 0; i < N(samples); i++) {
		uint8_t f[FRAME_MAX];
		uint32_t len = frame_roce(f, &samples[i]);

		memset(f + len, 0x77, 8);
		for (uint32_t pad = 0; pad <= 8; pad++)
			assert_true(good(f, len + pad));
	}
	(void)state;
}

static void a_packet_too_short_for_an_icrc_has_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(samples); i++) {
		uint8_t f[FRAME_MAX];
		uint32_t whole = frame_roce(f, &samples[i]), l3 = 14 + samples[i].n_tags * 4u;
		uint32_t hlen = samples[i].v6 ? 40 : 20 + samples[i].option_words * 4u;

		for (uint32_t l4_len = 0; l4_len < 24; l4_len++) {
			be16_put(f + l3 + (samples[i].v6 ? 4 : 2),
				 (uint16_t)(l4_len + (samples[i].v6 ? 0 : hlen)));
			assert_false(good(f, l3 + hlen + l4_len));
			assert_false(good(f, whole));
		}
	}
}

static void a_frame_shorter_than_its_description_has_none(void **state)
{
	uint8_t *cut = exact_copy(cnp_connectx, CNP_V4_LEN - 1);
	struct pkt_info info;

	(void)state;
	assert_true(parse(cnp_connectx, CNP_V4_LEN, &info));
	assert_false(icrc_check(cut, CNP_V4_LEN - 1, &info));
	free(cut);
}

static void an_extension_header_is_covered(void **state)
{
	const struct frame_spec s = {.opcode = RC_SEND_ONLY, .v6 = true, .payload_len = 8};
	uint8_t plain[FRAME_MAX], f[FRAME_MAX];
	uint32_t len = frame_roce(plain, &s) + 8;
	struct pkt_info info;

	(void)state;
	memcpy(f, plain, 54);
	memcpy(f + 54, (const uint8_t[8]){IP_PROTO_UDP, 0, 1, 4}, 8); // PadN
	memcpy(f + 62, plain + 54, len - 62);
	f[14 + 6] = IP_PROTO_DEST_OPTS;
	be16_put(f + 18, (uint16_t)(len - 54));
	assert_true(parse(f, len, &info));
	assert_true(info.roce);
	assert_false(icrc_check(f, len, &info)); // made for the packet without it
	// Computed apart from this code, from the standard's text.
	memcpy(f + len - 4, (const uint8_t[4]){0xb5, 0x56, 0xeb, 0xb2}, 4);
	assert_true(icrc_check(f, len, &info));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_real_connectx_cnp_carries_our_icrc),
		cmocka_unit_test(a_second_published_cnp_carries_our_icrc),
		cmocka_unit_test(captured_cnps_are_judged_rightly),
		cmocka_unit_test(marking_and_remarking_do_not_change_the_icrc),
		cmocka_unit_test(the_icrc_covers_exactly_the_invariant_bits),
		cmocka_unit_test(every_wrong_bit_of_the_icrc_itself_is_seen),
		cmocka_unit_test(padding_does_not_move_the_icrc),
		cmocka_unit_test(a_packet_too_short_for_an_icrc_has_none),
		cmocka_unit_test(a_frame_shorter_than_its_description_has_none),
		cmocka_unit_test(an_extension_header_is_covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
